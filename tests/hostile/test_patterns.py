"""Every regular expression of the package takes steps in proportion to the text, counted by a matcher of our own."""

import re
from pathlib import Path

import pytest

import opset
from judges.hostile.patterns import LINEAR, METHODS, Matcher, Use, growth, uses
from tests.bounds import THOROUGH

USES = {each[1:]: each for each in uses(Path(opset.__file__).parent)}
DECIDED = {"docgen/api:_NO_VALUE": "it reads the defaults of our own functions"}
"""Patterns that may take longer, with the reason."""


@pytest.mark.parametrize("key", USES, ids=lambda key: f"{USES[key].place} {key[2]}")
def test_steps_grow_with_the_text(key):
    grown, text = growth(USES[key], THOROUGH)
    assert (grown < LINEAR) is (USES[key].place not in DECIDED), text


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
    for use in USES.values():
        if use.method in ("match", "fullmatch"):
            matcher = Matcher(use.pattern, use.flags, text)
            ends = [*matcher._ends(matcher._items, 0)]
            found = re.compile(use.pattern, use.flags).match(text)
            assert (ends[0] if ends else None) == (found.end() if found else None), use


def test_all_methods_are_known():
    assert {each.method for each in USES.values()} <= {*METHODS}
    assert len(USES) > 80
