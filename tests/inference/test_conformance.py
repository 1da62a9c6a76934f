"""The node tests of the standard, small models and graphs in the style of exporters.

What is inferred of them is true, and never less than what the onnx package infers. `python -m
tests.conformance.inference` runs all of them, the archive and large models, too.
"""

import pytest

from tests.conformance.inference import job, sources

CASES = [
    case for _, case in sources(["node", "models", "graphs"], None, "") if not case.name.startswith("light/")
]
PARTS = 16


def outcome(number):
    """Return what becomes of a case; the places that it is at are for those who watch a process."""
    steps = job(CASES, (number, True))
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value


@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_inferred_is_true_and_never_less(part):
    faults = [fault for number in range(part, len(CASES), PARTS) for fault in outcome(number).faults]
    assert [fault for fault in faults if not fault.known] == []
