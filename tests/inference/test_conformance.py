"""The node tests of the standard, small models and graphs in the style of exporters.

What is inferred of them is true, and never less than what the onnx package infers. `python -m judges inference` runs
all of them, the archive and large models, too.
"""

from functools import cache

import pytest

from judges.conformance.coverage import covering
from judges.conformance.inference import job, sources
from tests.bounds import THOROUGH

PARTS = 16


@cache
def cases():
    """Return the cases, which take ten seconds to make: not while tests are collected.

    Of the node tests and function bodies, these have something that no smaller one has: attributes, inputs and outputs
    of a node at its version, choices, types and ranks at any. Bodies have three quarters of all nodes, and of those
    with the same chain of nodes there is one.
    """
    found = [each for each in sources(["node", "models", "graphs"], None, "") if not each[1].name.startswith("light/")]
    if THOROUGH:
        return [case for _, case in found]
    nodes = [case for group, case in found if group == "node"]
    chains = {chain(case) if "_expanded" in case.name else id(case): case for case in reversed(nodes)}
    chosen = covering(chains.values(), lambda case: case.model, each_version=False)
    return [*chosen, *(case for group, case in found if group != "node")]


def chain(case):
    """Return the operators of a case's nodes, each with the names of its attributes."""
    return tuple((node.op_type, *sorted(each.name for each in node.attribute)) for node in case.model.graph.node)


def outcome(number):
    """Return what becomes of a case; the places that it is at are for those who watch a process."""
    steps = job(cases(), (number, True))
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value


@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_inferred_is_true_and_never_less(part):
    faults = [fault for number in range(part, len(cases()), PARTS) for fault in outcome(number).faults]
    assert [fault for fault in faults if not fault.known] == []
