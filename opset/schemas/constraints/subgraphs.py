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
        version: A version of the domain; before 9, a Scan has the lengths of its samples as first input.
        graphs: The GraphProtos of the node by the names of their attributes.
        scans: `num_scan_inputs` of a Scan; without it, a Scan passes.
        strict: Whether each branch of an If needs all outputs; runtimes accept a branch that lacks some and never runs.

    Raises:
        Violation: A graph takes another number of inputs than the node passes, or gives fewer outputs than it needs
            (of an If, all branches do), or `scans` does not fit the inputs.
    """
    if op_type == "If":
        for name, graph in graphs.items():
            if not can_take(graph, 0):
                raise Violation("C3", f"{name} has {len(graph.input)} inputs, and none is given")
        lacking = [len(graph.output) < outputs for graph in graphs.values()]
        if graphs and (any(lacking) if strict else all(lacking)):
            counts = " and ".join(str(len(graph.output)) for graph in graphs.values())
            raise Violation("C2", f"the branch has {counts} outputs, and the node {outputs}")
    elif op_type == "Loop":
        states = max(inputs - 2, 0)
        _check_bodies("C3", f"{states} carried values", graphs, states + 2, max(states, outputs) + 1)
    elif op_type == "SequenceMap":
        _check_bodies("C2", f"{inputs} inputs", graphs, inputs, outputs)
    elif op_type == "Scan" and scans is not None:
        passed = inputs if version >= 9 else inputs - 1
        states, words = passed - scans, f"{passed} inputs, {scans} of them scanned"
        if scans < 1 or states < 0:
            raise Violation("C1", words)
        _check_bodies("C1", words, graphs, passed, max(states, outputs))


def _check_bodies(label: str, passed: str, graphs: Mapping[str, Any], inputs: int, outputs: int) -> None:
    for body in graphs.values():
        if not can_take(body, inputs) or len(body.output) < outputs:
            raise Violation(label, f"{passed}, a body of {len(body.input)} inputs and {len(body.output)} outputs")
