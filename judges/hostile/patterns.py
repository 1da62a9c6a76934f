"""Regular expressions run by a matcher that counts its steps, so that growth is measured without a clock.

It backtracks as Python's does, without the shortcuts that make single cases quicker.
"""

from __future__ import annotations

import ast
import itertools
import re
import re._constants as sre
import re._parser as parser
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

SMALL, FACTOR = 16, 4
LINEAR = 1.6
"""Growth, divided by that of the text, from which on a pattern is not linear."""
MOST = 300_000
"""Steps at which a pattern is given up."""
SEARCHES = ("search", "finditer", "findall", "sub", "subn", "split", "scanner")
METHODS = ("match", "fullmatch", *SEARCHES)
CALL = re.compile(rf"\b(?:re|[A-Z0-9_]+)\s*\.\s*(?:{'|'.join(METHODS)})\s*\(")
"""What every file that uses a pattern has: most files have none, and need not be parsed."""
SUFFIXES = ("", "\0", "!")


class TooMany(Exception):
    """More steps were taken than MOST."""


class Use(NamedTuple):
    """A pattern and a method that it is called with."""

    place: str
    pattern: str
    flags: int
    method: str


class Matcher:
    """Matches one pattern against one text, and counts steps."""

    def __init__(self, pattern: str, flags: int, text: str) -> None:
        self.text, self.steps = text, 0
        self._flags = flags
        self._items = list(parser.parse(pattern, flags))

    def run(self, method: str) -> int:
        """Return the steps that a method takes. Raises TooMany."""
        end = len(self.text)
        if method == "fullmatch":
            any(stop == end for stop in self._ends(self._items, 0))
            return self.steps
        at = 0
        while at <= end:
            stop = next(self._ends(self._items, at), None)
            if method not in SEARCHES or (method == "search" and stop is not None):
                break
            at = at + 1 if stop is None or stop == at else stop
        return self.steps

    def _ends(self, items: Sequence[Any], at: int) -> Iterator[int]:
        """Yield where matches of items from a position end, in the order in which they are tried."""
        self.steps += 1
        if self.steps > MOST:
            raise TooMany
        if not items:
            yield at
            return
        (kind, value), rest = items[0], items[1:]
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            yield from self._repeated(kind, *value, rest, at)
        elif kind is sre.SUBPATTERN:
            for end in self._ends(list(value[3]), at):
                yield from self._ends(rest, end)
        elif kind is sre.BRANCH:
            for branch in value[1]:
                for end in self._ends(list(branch), at):
                    yield from self._ends(rest, end)
        elif kind in (sre.ASSERT, sre.ASSERT_NOT):
            ahead, inner = value
            start = at if ahead > 0 else at - inner.getwidth()[0]
            holds = start >= 0 and next(self._ends(list(inner), start), None) is not None
            if holds is (kind is sre.ASSERT):
                yield from self._ends(rest, at)
        elif kind is sre.AT:
            if self._is_at(value, at):
                yield from self._ends(rest, at)
        elif at < len(self.text) and self._is_one(kind, value, self.text[at]):
            yield from self._ends(rest, at + 1)

    def _repeated(self, kind: Any, least: int, most: int, inner: Any, rest: Sequence[Any], at: int) -> Iterator[int]:
        items = list(inner)
        if len(items) == 1 and items[0][0] in (sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN):
            count = 0
            while count < most and at + count < len(self.text) and self._is_one(*items[0], self.text[at + count]):
                count += 1
            self.steps += count
            counts = range(count, least - 1, -1) if kind is sre.MAX_REPEAT else range(least, count + 1)
            for each in counts:
                yield from self._ends(rest, at + each)
            return
        open_ends = [(0, at, self._ends(items, at))]
        # Without recursion, as a text may be long: the deepest repetition is tried first.
        while open_ends:
            number, place, ends = open_ends[-1]
            end = next(ends, None) if number < most else None
            if end is None:
                open_ends.pop()
                if number >= least:
                    yield from self._ends(rest, place)
            elif end > place or number < least:
                open_ends.append((number + 1, end, self._ends(items, end)))

    def _is_one(self, kind: Any, value: Any, character: str) -> bool:
        self.steps += 1
        if kind is sre.LITERAL or kind is sre.NOT_LITERAL:
            same = chr(value) == character or (self._flags & re.IGNORECASE and chr(value).lower() == character.lower())
            return bool(same) is (kind is sre.LITERAL)
        if kind is sre.ANY:
            return character != "\n" or bool(self._flags & re.DOTALL)
        assert kind is sre.IN, kind
        negative = value[0][0] is sre.NEGATE
        return negative is not any(_is_in(each, character, self._flags) for each in value)

    def _is_at(self, kind: Any, at: int) -> bool:
        text = self.text
        if kind in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING):
            return at == 0 or (kind is sre.AT_BEGINNING and bool(self._flags & re.M) and text[at - 1] == "\n")
        if kind in (sre.AT_END, sre.AT_END_STRING):
            line = kind is sre.AT_END and text[at : at + 1] == "\n" and (self._flags & re.M or at + 1 == len(text))
            return at == len(text) or bool(line)
        around = [0 <= each < len(text) and (text[each].isalnum() or text[each] == "_") for each in (at - 1, at)]
        return (around[0] != around[1]) is (kind is sre.AT_BOUNDARY)


CATEGORIES: dict[Any, Callable[[str], bool]] = {
    sre.CATEGORY_DIGIT: str.isdigit,
    sre.CATEGORY_SPACE: str.isspace,
    sre.CATEGORY_WORD: lambda each: each.isalnum() or each == "_",
    sre.CATEGORY_NOT_DIGIT: lambda each: not each.isdigit(),
    sre.CATEGORY_NOT_SPACE: lambda each: not each.isspace(),
    sre.CATEGORY_NOT_WORD: lambda each: not (each.isalnum() or each == "_"),
}


def _is_in(item: tuple[Any, Any], character: str, flags: int) -> bool:
    kind, value = item
    cases = {character, character.lower(), character.upper()} if flags & re.IGNORECASE else {character}
    if kind is sre.LITERAL:
        return chr(value) in cases
    if kind is sre.RANGE:
        return any(value[0] <= ord(each) <= value[1] for each in cases if len(each) == 1)
    return kind is sre.CATEGORY and CATEGORIES[value](character)


# Texts on which a pattern may take long


def letters(pattern: str) -> list[str]:
    """Return characters that a pattern tells apart."""
    usual = "a0 .\"'\n"
    own = [each for each in pattern if not each.isalnum() and each not in "\\[]()?*+|^${}:"]
    return [*dict.fromkeys([*usual, *own])][:8]


def sample(items: Any) -> str:
    """Return a short text that a pattern may begin to match."""
    parts = []
    for kind, value in items:
        if kind is sre.LITERAL:
            parts.append(chr(value))
        elif kind is sre.IN:
            parts.append(next((each for each in "a0 .-/" if any(_is_in(part, each, 0) for part in value)), "a"))
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            parts.append(sample(value[2]) * max(value[0], 1 if value[1] else 0))
        elif kind is sre.SUBPATTERN:
            parts.append(sample(value[3]))
        elif kind is sre.BRANCH:
            parts.append(sample(value[1][0]))
        elif kind in (sre.ANY, sre.NOT_LITERAL):
            parts.append("a")
    return "".join(parts)[:200]


def growth(use: Use, thorough: bool = True) -> tuple[float, str]:
    """Return how much more steps a text of FACTOR times the length takes at most, divided by FACTOR, and the text.

    What grows faster once, as where a bounded repetition ends, has to grow faster again. No text is looked for beyond
    the first that is not LINEAR. Ends of texts take turns unless this is `thorough`.
    """
    whole = sample(parser.parse(use.pattern, use.flags))
    prefixes = [*dict.fromkeys(["", *(whole[:end] for end in (1, len(whole) // 2, len(whole) - 1))])]
    own = letters(use.pattern)
    pumps = [*own, *map("".join, itertools.permutations(own[:5], 2)), whole]
    worst = (0.0, "")
    for number, (pump, prefix, suffix) in enumerate(itertools.product(filter(None, pumps), prefixes, SUFFIXES)):
        is_turn = thorough or number % len(SUFFIXES) == number // len(SUFFIXES) % len(SUFFIXES)
        if not is_turn or (len(pump) == 2 and prefix and suffix):
            continue
        grown, before = float("inf"), 0
        for times in (1, FACTOR, FACTOR**2):
            try:
                steps = Matcher(use.pattern, use.flags, prefix + pump * (SMALL * times) + suffix).run(use.method)
            except TooMany:
                break
            grown, before = min(grown, steps / before / FACTOR if before else grown), steps
            if grown < LINEAR:
                break
        worst = max(worst, (grown, repr((prefix, pump, suffix))))
        if grown >= LINEAR:
            break
    return worst


# The patterns of the package


def uses(root: Path) -> Iterator[Use]:
    """Yield every pattern of a package with each method that it is called with."""
    for path in sorted(root.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not CALL.search(text):
            continue
        place = path.relative_to(root).with_suffix("").as_posix()
        for node in ast.walk(ast.parse(text)):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            owner, method = node.func.value, node.func.attr
            if not isinstance(owner, ast.Name) or method not in METHODS:
                continue
            if owner.id == "re" and isinstance(node.args[0], ast.Constant):
                yield Use(f"{place}:{method}", text_of(node.args[0].value), 0, method)
            elif owner.id == "re":
                module = sys.modules.get(_module(root, path)) or import_module(_module(root, path))
                found = getattr(module, getattr(node.args[0], "id", ""), None)
                if isinstance(found, str):
                    yield Use(f"{place}:{node.args[0].id}", found, 0, method)  # type: ignore[attr-defined]
            elif owner.id.strip("_").isupper():
                found = getattr(import_module(_module(root, path)), owner.id, None)
                if isinstance(found, re.Pattern):
                    yield Use(f"{place}:{owner.id}", text_of(found.pattern), found.flags & ~re.UNICODE, method)


def text_of(pattern: str | bytes) -> str:
    """Return a pattern as text."""
    return pattern if isinstance(pattern, str) else pattern.decode("latin-1")


def _module(root: Path, path: Path) -> str:
    return ".".join((root.name, *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
