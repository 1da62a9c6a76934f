"""The node tests of the standard, small models and graphs in the style of exporters.

What is inferred of them is true, and never less than what the onnx package infers. `python -m judges inference` runs
all of them, the archive and large models, too.
"""

from functools import cache

import pytest

from judges.conformance.inference import job, sources

PARTS = 16


@cache
def cases():
    """Return the cases, which take ten seconds to make: not while tests are collected.

    Of function bodies, which have three quarters of all nodes, there is one for each chain of nodes: the others differ
    in sizes and element types, which the cases of the operators in them vary.
    """
    found = [case for _, case in sources(["node", "models", "graphs"], None, "") if not case.name.startswith("light/")]
    return [*{chain(case) if "_expanded" in case.name else id(case): case for case in reversed(found)}.values()]


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
