"""Checks the graphs of If, Loop, Scan and SequenceMap against the numbers of inputs and outputs of their node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opset.schemas.constraints.violation import Violation


def can_take(graph: Any, count: int) -> bool:
    """Whether a GraphProto can be called with `count` inputs.

    Graph inputs that are also initializers have a default. A call gives values for all graph inputs, or
    only for those without a default.
    """
    defaults = {each.name for each in graph.initializer} | {each.values.name for each in graph.sparse_initializer}
    return count in (len(graph.input), sum(each.name not in defaults for each in graph.input))


def passed_count(op_type: str, version: int, inputs: int) -> int | None:
    """Return how many values a node passes to each of its subgraphs; None for an operator without subgraphs.

    Args:
        op_type: The name of the operator.
        version: The opset of ai.onnx; below 9, the first input of Scan is not passed to its subgraph.
        inputs: The number of inputs of the node. A Loop passes the iteration number and the condition even if the node
            has no inputs for them.
    """
    counts = {"If": 0, "Loop": max(inputs - 2, 0) + 2, "SequenceMap": inputs, "Scan": inputs - (version < 9)}
    return counts.get(op_type)


def check_graphs(
    op_type: str,
    version: int,
    inputs: int,
    outputs: int,
    graphs: Mapping[str, Any],
    scans: int | None = None,
    strict: bool = False,
) -> None:
    """Raise Violation if a subgraph of a node takes a wrong number of inputs, or has a wrong number of outputs.

    Only nodes of If, Loop, Scan and SequenceMap are checked.

    Args:
        op_type: The name of the operator.
        version: The opset of ai.onnx.
        inputs: The number of the node's inputs.
        outputs: The number of its outputs.
        graphs: The GraphProtos of the node by the names of their attributes.
        scans: `num_scan_inputs` of a Scan; if it is None, a Scan is not checked.
        strict: Whether surplus outputs of a subgraph are wrong, as the standard says. If False, they are accepted, and
            only one branch of an If needs enough outputs.
    """
    passed = passed_count(op_type, version, inputs)
    if passed is None:
        return
    exact = outputs if strict else None
    if op_type == "If":
        for name, graph in graphs.items():
            if not can_take(graph, passed):
                raise Violation("C3", f"{name} has {len(graph.input)} inputs, and none is given")
        given = [len(graph.output) for graph in graphs.values()]
        if given and ({*given} != {outputs} if strict else max(given) < outputs):
            counts = " and ".join(map(str, given))
            raise Violation("C2", f"the branch has {counts} outputs, and the node {outputs}")
    elif op_type == "Loop":
        words = f"{passed - 2} carried values"
        _check_bodies("C3", words, graphs, passed, max(passed - 2, outputs) + 1, outputs + 1 if strict else None)
    elif op_type == "SequenceMap":
        _check_bodies("C2", f"{inputs} inputs", graphs, passed, outputs, exact)
    elif scans is not None:  # it is a Scan
        states, words = passed - scans, f"{passed} inputs, {scans} of them scanned"
        if scans < 1 or states < 0:
            raise Violation("C1", words)
        _check_bodies("C1", words, graphs, passed, max(states, outputs), exact)


def _check_bodies(
    label: str, passed: str, graphs: Mapping[str, Any], inputs: int, least: int, exact: int | None
) -> None:
    """Raise Violation for the constraint `label` if a graph cannot take the inputs, or has a wrong number of outputs.

    Args:
        label: The label of the constraint, such as "C1".
        passed: The beginning of the message: what the node passes to the graphs.
        graphs: The GraphProtos by the names of their attributes.
        inputs: The number of inputs that each graph gets.
        least: The smallest number of outputs that a graph may have.
        exact: The number of outputs that each graph must have; None if any number from `least` on is right.
    """
    for body in graphs.values():
        given = len(body.output)
        if not can_take(body, inputs) or given < least:
            raise Violation(label, f"{passed}, a body of {len(body.input)} inputs and {given} outputs")
        if exact is not None and given != exact:
            raise Violation(label, f"a body of {given} outputs, and the node takes {exact} of it")
