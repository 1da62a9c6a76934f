"""The difference of two models as text: applied to the one, it gives the other, with a few lines around each change."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opset
from opset.model.text import difference
from opset.model.text.difference import AROUND, _unified_lines, changed_blocks, text_difference
from tests.bounds import draws, growth

LINES = st.lists(st.sampled_from("abcdefgh"), max_size=16) | st.lists(st.integers(0, 40).map(str), max_size=30)


def applied(old, lines):
    """Return a text after a unified diff, whose counts and lines around have to be right."""
    new, position = [], 0
    for line in lines:
        if match := re.fullmatch(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@", line):
            start = int(match[1]) - 1
            assert position <= start <= len(old)
            new += old[position:start]
            position = start
            assert len(new) == int(match[3]) - 1
            continue
        if line[0] in " -":
            assert old[position] == line[1:]
            position += 1
        if line[0] in " +":
            new.append(line[1:])
    return new + old[position:]


@settings(max_examples=draws(200))
@given(LINES, LINES)
def test_the_difference_of_two_texts_gives_the_other(old, new):
    lines = [*_unified_lines(old, new)]
    assert applied(old, lines) == new
    assert bool(lines) == (old != new)
    hunks = "\n".join(lines).split("@@ -")[1:]
    for hunk in hunks:
        (old_count, new_count), body = re.findall(r",(\d+)", hunk)[:2], hunk.split("\n")[1:]
        body = [line for line in body if line]
        assert sum(line[0] in " -" for line in body) == int(old_count)
        assert sum(line[0] in " +" for line in body) == int(new_count)
        unchanged = re.split("[-+]", "".join(line[0] for line in body))
        assert len(unchanged[0]) <= AROUND and len(unchanged[-1]) <= AROUND
        assert all(len(each) <= 2 * AROUND for each in unchanged)


def test_a_block_is_no_larger_than_what_differs():
    assert [*changed_blocks("arKr", "brKr")] == [(0, 1, 0, 1)]
    assert [*changed_blocks("rKra", "rKrb")] == [(3, 4, 3, 4)]
    assert [*changed_blocks("ab", "ab")] == [] and [*changed_blocks("", "a")] == [(0, 0, 0, 1)]
    assert [*changed_blocks("aXbYc", "aZbYWc")] == [(1, 2, 1, 2), (4, 4, 4, 5)]


def test_lines_that_stay_are_compared_once():
    def compared(size):
        lines = [*map(str, range(size))]
        return lambda: [*changed_blocks(lines, [*lines, "end"])]

    assert growth(compared, 50, 4) < 2


@pytest.mark.parametrize(("old", "new"), [("axyb", "xyabxy"), ("xyabxy", "axyb")])
def test_lines_that_occur_once_decide_what_is_the_same(old, new):
    blocks = [*changed_blocks(old, new)]
    assert all("a" not in old[start:stop] and "b" not in old[start:stop] for start, stop, _, _ in blocks)


def test_hunks_have_three_lines_around_and_are_joined_when_they_meet():
    old = [*map(str, range(20))]
    joined = ["0", "one", *old[2:8], "eight", *old[9:15], "fifteen", *old[16:]]
    assert [line for line in _unified_lines(old, joined) if line[0] in "@-+"] == [
        "@@ -1,19 +1,19 @@", "-1", "+one", "-8", "+eight", "-15", "+fifteen",
    ]  # fmt: skip
    apart = ["0", "one", *old[2:9], "nine", *old[10:]]
    assert [line for line in _unified_lines(old, apart) if line[0] in "@-+"] == [
        "@@ -1,5 +1,5 @@", "-1", "+one", "@@ -7,7 +7,7 @@", "-9", "+nine",
    ]  # fmt: skip
    assert [*_unified_lines(old, [*old[:19], "end"])] == ["@@ -17,4 +17,4 @@", " 16", " 17", " 18", "-19", "+end"]
    assert [line[:2] for line in _unified_lines(old, ["x", *old[1:10], "y", *old[11:]])].count("@@") == 2


def test_long_differences_are_cut(monkeypatch):
    text = (
        '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) {{ a = {} (x) b = {} (a) y = {} (b) }}'
    )
    one, other = (opset.load(opset.parse_model(text.format(*[name] * 3))) for name in ("Neg", "Abs"))
    assert text_difference(one, one, "m.onnx") == []
    whole = text_difference(one, other, "m.onnx")
    assert whole[:2] == ["--- m.onnx", "+++ m.onnx, mended"] and "-  a = Neg (x)" in whole and "+  y = Abs (b)" in whole
    monkeypatch.setattr(difference, "MOST_LINES", 4)
    assert text_difference(one, other, "m.onnx") == [*whole[:6], f"… {len(whole) - 6} more lines"]
