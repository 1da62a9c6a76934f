"""Names and changes that are the same but for numbers, as in the layers of a transformer, as one with a count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from opset.errors import KEPT

SIGNS: Final = {"added": "+", "removed": "-", "changed": "~"}
"""The sign of each change, in text and on pages."""
_NUMBER: Final = re.compile(r"\d+", re.ASCII)
_MOST_RANGES: Final = 6
_LONGEST_NUMBER: Final = 18


class Detail(NamedTuple):
    """One respect in which a node or another part changed, and both states; "" is none."""

    part: str
    before: str
    after: str


@dataclass(frozen=True)
class StructureChange:
    """A change of the structure, or several that are the same but for a number in their names.

    `kind` is "node", "weight", "output", "function", "metadata" or "body"; `body` is the graph or function. `places`
    has the place of each of `count` changes, the first thousand of many, and the details of the first. `numbers`
    has the number in which the names differ: "0-23"; it is "" if they differ in more than one, or there is one change.
    """

    change: Literal["added", "removed", "changed"]
    kind: str
    body: str
    details: Sequence[Detail]
    places: Sequence[str]
    count: int = 1
    numbers: str = ""

    @property
    def place(self) -> str:
        """The first place, and how often there is one like it: "node 'layer.0' (Add), x 24: 0-23"."""
        return repeat_text(self.places[0], self.places[-1], self.count, self.numbers)


class FoldedName(NamedTuple):
    """A name, or several that are the same but for numbers: the first and the last of them, and their indices.

    `numbers` has the number in which they differ: "0-23"; it is "" if they differ in more than one, or there is one.
    """

    first: str
    last: str
    indices: Sequence[int]
    numbers: str = ""

    def __str__(self) -> str:
        return repeat_text(self.first, self.last, len(self.indices), self.numbers)


def repeat_text(first: str, last: str, count: int, numbers: str) -> str:
    """Return a name, and how often there is one like it: "layer.0, x 24: 0-23"."""
    if count == 1:
        return first
    return f"{first}, x {count:,}{f': {numbers}' if numbers else f', to {last}'}"


def fold_names(names: Iterable[str]) -> list[FoldedName]:
    """Return names with those merged that differ in numbers alone, in the order of the first ones."""
    groups: dict[str, list[int]] = {}
    names = [*names]
    for index, name in enumerate(names):
        groups.setdefault(_without_numbers(name), []).append(index)
    return [
        FoldedName(names[each[0]], names[each[-1]], each, _varying_numbers([names[index] for index in each]))
        for each in groups.values()
    ]


def fold_changes(changes: Iterable[StructureChange]) -> list[StructureChange]:
    """Return changes with those merged that differ in numbers of their names alone, in the order of the first ones."""
    groups: dict[object, list[StructureChange]] = {}
    for each in changes:
        details = tuple(tuple(map(_without_numbers, detail)) for detail in each.details)
        key = each.change, each.kind, _without_numbers(each.body), _without_numbers(each.places[0]), details
        groups.setdefault(key, []).append(each)
    return [_merge_group(group) for group in groups.values()]


def _without_numbers(text: str) -> str:
    """Return a text with each of its numbers replaced by 0."""
    return _NUMBER.sub("0", text)


def _merge_group(group: Sequence[StructureChange]) -> StructureChange:
    """Return several changes as one."""
    if len(group) == 1:
        return group[0]
    numbers = _varying_numbers([f"{each.body} {each.places[0]}" for each in group])
    places = [each.places[0] for each in group[:KEPT]]
    return replace(group[0], places=places, count=len(group), numbers=numbers)


def _varying_numbers(names: Sequence[str]) -> str:
    """Return the number in which names differ, as ranges; "" if they differ in more than one, or in none."""
    columns = [*zip(*map(_NUMBER.findall, names), strict=True)]
    varying = [column for column in columns if len({*column}) > 1]
    same = bool(varying) and all(column == varying[0] for column in varying)
    return _ranges(varying[0]) if same and max(map(len, varying[0])) <= _LONGEST_NUMBER else ""


def _ranges(numbers: Sequence[str]) -> str:
    """Return numbers as ranges, "0-10, 12", or "" if they are no few ranges."""
    ranges: list[list[int]] = []
    for number in sorted({*map(int, numbers)}):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    if len(ranges) > _MOST_RANGES:
        return ""
    return ", ".join(f"{first}-{last}" if first < last else str(first) for first, last in ranges)
