"""The text of a verification: what was run, each output with its differences and tolerance, and what to know."""

from dataclasses import replace

import pytest

from opset.errors import FindingList
from opset.verification.report import FirstDifference, OutputComparison, Verification, VerifiedRun, verification_lines

OUTPUT = OutputComparison(
    name="y", after="y", verdict="same", absolute=0.0, relative=0.0, ulps=0.0, elements=6, nan_before=0, nan_after=0,
    rtol=0.0, atol=None, longest_sum=1, varies=True,
)  # fmt: skip
RUN = VerifiedRun("drawn with seed 0", 0, {}, "same")


def lines(outputs=(), runs=(RUN,), first=None, notes=()):
    return [*verification_lines(Verification("a", "b", "it", "same", runs, outputs, first, notes, FindingList()))]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "y: same"),
        ({"after": "z"}, "y (z after): same"),
        ({"elements": 0, "absolute": 1.0, "rtol": 0.1}, "y: same"),
        ({"absolute": 0.125, "relative": 0.5, "ulps": 3.0}, "y: same, by 0.12 at most (0.5 relative, 3 ulp)"),
        ({"absolute": "inf", "relative": "inf", "ulps": "inf"}, "y: same, by inf at most (inf relative, inf ulp)"),
        ({"rtol": 0.25}, "y: same; allowed 2.5e-01 relative"),
        ({"rtol": 0.25, "relative": 0.25}, "y: same; allowed 2.5e-01 relative"),
        ({"rtol": 0.25, "relative": 0.5}, "y: same; allowed 2.5e-01 relative or of the median"),
        ({"rtol": 0.25, "relative": 0.5, "atol": 1.0}, "y: same; allowed 2.5e-01 relative, 1.0e+00 absolute"),
        ({"rtol": 0.25, "relative": 0.5, "verdict": "different"}, "y: different; allowed 2.5e-01 relative"),
        ({"rtol": 0.25, "relative": "inf"}, "y: same; allowed 2.5e-01 relative"),
        ({"atol": 1.0}, "y: same; allowed 0.0e+00 relative, 1.0e+00 absolute"),
        ({"rtol": 0.25, "longest_sum": 4000}, "y: same; allowed 2.5e-01 relative, sums of 4,000"),
        ({"nan_before": 2}, "y: same; NaN in 2 and 0 of 6"),
        ({"nan_after": 3}, "y: same; NaN in 0 and 3 of 6"),
    ],
)
def test_an_output_is_a_line(changes, text):
    assert lines([replace(OUTPUT, **changes)])[1:] == [f"  {text}"]


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        ([], "no runs"),
        ([RUN], "1 run"),
        ([RUN, replace(RUN, verdict="different"), replace(RUN, verdict="not compared", sizes={"N": 9})], "2 runs"),
        ([replace(RUN, sizes={"N": 2, "M": 3}), RUN, replace(RUN, sizes={"N": 4}), replace(RUN, sizes={"N": 4})],
         "4 runs (N=2 M=3; N=4)"),
    ],
)  # fmt: skip
def test_runs_are_counted_with_their_sizes(runs, text):
    assert lines(runs=runs) == [f"  verified with it: same, {text}"]


def test_why_and_where_and_notes_follow():
    outputs = [replace(OUTPUT, verdict="different", why="\x1b[2J")]
    first = FirstDifference("b", "node 'b' (Add)", "node 'b' (Mul)", "2.0 instead of 1.0")
    assert lines(outputs, first=first, notes=["one", "two"]) == [
        "  verified with it: same, 1 run",
        "  y: different",
        r"    \x1b[2J",
        "  first difference: b, 2.0 instead of 1.0",
        "    before  node 'b' (Add)",
        "    after   node 'b' (Mul)",
        "  note: one",
        "  note: two",
    ]
