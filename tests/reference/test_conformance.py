"""The node test cases of the standard, and its small models, on the reference evaluator, each at its own opset."""

import re
from functools import cache

from judges.conformance.evaluator import WRONG, judged, selected


@cache
def cases():
    """Return the cases but whole image networks, which take a second each (`python -m judges evaluator`)."""
    return [case for case in selected(["node", "models"], None, "") if not case.name.startswith("light/")]


def known(case):
    return any(re.fullmatch(pattern, case.name) for pattern in WRONG)


def test_every_case_that_is_right_in_itself_passes():
    failures = {case.name: why for case in cases() if not known(case) and (why := judged(case, "opset"))}
    assert failures == {}


def test_every_case_that_is_listed_as_wrong_fails():
    assert [case.name for case in cases() if known(case) and not judged(case, "opset")] == []
