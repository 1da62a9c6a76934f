"""Ranges that attributes declare: comparisons with numbers and with the rank of an input.

    > 0                         0 <= x <= 1                        >= -1 and != 0
    -rank <= x < rank           0 <= x < rank(data)                -rank(indices) - 1 <= x <= rank(indices)

A comparison is an operator with a bound, or a chain around `x`; several are joined by `and`. `rank` is the rank of the
first input, `rank(NAME)` that of the input NAME.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from operator import ge, gt, le, lt, ne
from typing import NamedTuple

AXIS_RANGE = "-rank <= x < rank"
"""The range of an axis that declares no other one by rank."""

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge, "!=": ne}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}
_NUMBER = r"-?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:[eE][-+]?[0-9]{1,3})?"
_RANK = r"(-?)rank(?:\(([A-Za-z_][A-Za-z0-9_]*)\))?(?: ([-+]) ([0-9]{1,9}))?"
_BOUND = re.compile(rf"({_NUMBER})|{_RANK}")
_OPERATOR = re.compile(r" *(<=|>=|!=|<|>) *")
MAX_LENGTH = 200


class Bound(NamedTuple):
    """A number, or `sign` times the rank of an input (`of` its name, "" for the first input) plus a number."""

    number: float
    sign: int = 0
    of: str = ""


class Comparison(NamedTuple):
    """What a value is compared with, and how: `x < bound`."""

    operator: str
    bound: Bound

    def holds(self, value: float, ranks: Mapping[str, int | None]) -> bool:
        """Whether a value meets the comparison; True where the rank that decides it is not known."""
        limit = self.bound.number
        if self.bound.sign:
            rank = ranks.get(self.bound.of)
            if rank is None:
                return True
            limit += self.bound.sign * rank
        return _COMPARISONS[self.operator](value, limit)


@lru_cache(maxsize=1024)
def parse_range(text: str) -> tuple[Comparison, ...]:
    """Return the comparisons of a range. Raises ValueError that names the part that is none."""
    if len(text) > MAX_LENGTH:
        raise ValueError(f"a range has at most {MAX_LENGTH} characters")
    return tuple(each for part in text.split(" and ") for each in _comparisons(part.strip()))


def _comparisons(part: str) -> Iterable[Comparison]:
    pieces = _OPERATOR.split(part)
    operands, operators = pieces[::2], pieces[1::2]
    if len(operators) == 1 and not operands[0]:
        return [Comparison(operators[0], _bound(operands[1]))]
    if len(operators) in (1, 2) and operands.count("x") == 1:
        if len(operators) == 1 and operands[0] == "x":
            return [Comparison(operators[0], _bound(operands[1]))]
        if operands[1] == "x":
            first = Comparison(_MIRRORED[operators[0]], _bound(operands[0]))
            return [first, *(Comparison(operators[1], _bound(each)) for each in operands[2:])]
    raise ValueError(f"{part!r} is no comparison such as '>= 0' or '0 <= x < rank'")


def _bound(text: str) -> Bound:
    match = _BOUND.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is neither a number nor a rank")
    number, minus, of, sign, offset = match.groups()
    if number is not None:
        return Bound(float(number) if re.search("[.eE]", number) else int(number))
    return Bound(int(f"{sign or ''}{offset or 0}"), -1 if minus else 1, of or "")


def ranks_of(comparisons: Iterable[Comparison]) -> set[str]:
    """Return the inputs on whose ranks comparisons depend, "" for the first input."""
    return {each.bound.of for each in comparisons if each.bound.sign}
