"""Every regular expression of the package takes steps in proportion to the text, counted by a matcher of our own."""

import re
from functools import cache
from pathlib import Path

import pytest

import opset
from judges.hostile.patterns import LINEAR, METHODS, Matcher, Use, growth, uses
from tests.bounds import THOROUGH

DECIDED = {"docgen/api:_NO_VALUE": "it reads the defaults of our own functions"}
"""Patterns that may take longer, with the reason."""


SHARES = 8


@cache
def all_uses():
    """Return the patterns of the package, each with each method that it is called with once."""
    return [*{each[1:]: each for each in uses(Path(opset.__file__).parent)}.values()]


@pytest.mark.parametrize("share", range(SHARES))
def test_steps_grow_with_the_text(share):
    grown = {use: growth(use, THOROUGH) for use in all_uses()[share::SHARES]}
    wrong = {use.place: text for use, (rate, text) in grown.items() if (rate < LINEAR) is (use.place in DECIDED)}
    assert wrong == {}


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", "fullmatch"),
        (r"(a+)+b", "match"),
        (r"\d+x", "search"),
        (r"(\w+)\)", "findall"),
        (r"<.*>", "sub"),
    ],
)
def test_what_grows_faster_is_seen(pattern, method):
    assert growth(Use("", pattern, 0, method), THOROUGH)[0] > LINEAR


@pytest.mark.parametrize("pattern", [r"(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", r"[a-z]+0", r"(?:a|b)*c", r"(?=a)\w{3,}$"])
def test_what_is_linear_is_not_seen(pattern):
    assert growth(Use("", pattern, 0, "match"))[0] < LINEAR


@pytest.mark.parametrize("text", ["", "a", "ab0", "a.b-c", '"x\\"y"', "1.5e-3", "tensor(float)", "# c\n x", "'''a"])
def test_it_matches_as_python_does(text):
    for use in all_uses():
        if use.method in ("match", "fullmatch"):
            matcher = Matcher(use.pattern, use.flags, text)
            ends = [*matcher._ends(matcher._items, 0)]
            found = re.compile(use.pattern, use.flags).match(text)
            assert (ends[0] if ends else None) == (found.end() if found else None), use


def test_all_methods_are_known():
    assert {each.method for each in all_uses()} <= {*METHODS}
    assert len(all_uses()) > 80
