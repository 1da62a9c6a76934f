"""Checks the graphs of If, Loop, Scan and SequenceMap against the numbers of inputs and outputs of their node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opset.schemas.constraints.violation import Violation


def can_take(graph: Any, count: int) -> bool:
    """Whether a GraphProto can be run with `count` inputs.

    Inputs with a default, which IR version 3 listed with the others, are either all given or all left out.
    """
    defaults = {each.name for each in graph.initializer} | {each.values.name for each in graph.sparse_initializer}
    return count in (len(graph.input), sum(each.name not in defaults for each in graph.input))


def passed_count(op_type: str, version: int, inputs: int) -> int | None:
    """Return how many values a node with `inputs` inputs passes to each of its graphs; None for another operator.

    Before version 9, a Scan has the lengths of its samples as first input.
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
    """Check the graphs of a node against its numbers of inputs and outputs; an operator without graphs passes.

    Args:
        version: A version of the domain.
        graphs: The GraphProtos of the node by the names of their attributes.
        scans: `num_scan_inputs` of a Scan; without it, a Scan passes.
        strict: Whether each graph has exactly the outputs that the node takes; runtimes accept more, and a branch of
            an If that lacks some and never runs.

    Raises:
        Violation: A graph takes another number of inputs than the node passes, or gives fewer outputs than it needs
            (of an If, all branches do), or with `strict` more, or `scans` does not fit the inputs.
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
    elif op_type == "Scan" and scans is not None:
        states, words = passed - scans, f"{passed} inputs, {scans} of them scanned"
        if scans < 1 or states < 0:
            raise Violation("C1", words)
        _check_bodies("C1", words, graphs, passed, max(states, outputs), exact)


def _check_bodies(
    label: str, passed: str, graphs: Mapping[str, Any], inputs: int, least: int, exact: int | None
) -> None:
    """Raise Violation if a graph cannot take `inputs` inputs, has fewer outputs than `least`, or not `exact` ones."""
    for body in graphs.values():
        given = len(body.output)
        if not can_take(body, inputs) or given < least:
            raise Violation(label, f"{passed}, a body of {len(body.input)} inputs and {given} outputs")
        if exact is not None and given != exact:
            raise Violation(label, f"a body of {given} outputs, and the node takes {exact} of it")
