"""The node tests of the standard, small models and graphs in the style of exporters.

What is inferred of them is true, and never less than what the onnx package infers. `python -m judges inference` runs
all of them, the archive and large models, too.
"""

from functools import cache

from judges.conformance.coverage import covering
from judges.conformance.inference import job, sources
from tests.bounds import THOROUGH


@cache
def cases():
    """Return the cases, which take ten seconds to make: not while tests are collected, and in one process alone.

    Of the node tests, these have something that no smaller one has: attributes, inputs and outputs of a node at its
    version, choices, types and ranks at any. Function bodies, which have three quarters of all nodes, are left to the
    judge: their operators are those of other cases. So are five of six of the node tests.
    """
    found = [each for each in sources(["node", "models", "graphs"], None, "") if not each[1].name.startswith("light/")]
    if THOROUGH:
        return [case for _, case in found]
    nodes = [case for group, case in reversed(found) if group == "node" and "_expanded" not in case.name]
    chosen = [*covering(nodes, lambda case: case.model, each_version=False)][::6]
    return [*chosen, *(case for group, case in found if group != "node")]


def outcome(number):
    """Return what becomes of a case; the places that it is at are for those who watch a process."""
    steps = job(cases(), (number, True))
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value


def test_what_is_inferred_is_true_and_never_less():
    faults = [fault for number in range(len(cases())) for fault in outcome(number).faults]
    assert [fault for fault in faults if not fault.known] == []
