"""Ranges of attributes: comparisons with numbers and with the rank of an input.

    > 0                         0 <= x <= 1                        >= -1 and != 0
    -rank <= x < rank           0 <= x < rank(data)                -rank(indices) - 1 <= x <= rank(indices)

A comparison is an operator with a bound, or a chain around `x`; several are joined by `and`. `rank` is the rank of the
first input, `rank(NAME)` the rank of the input NAME.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from operator import ge, gt, le, lt, ne
from typing import NamedTuple

from opset.schemas.constraints.patterns import Expression, parse_tests

AXIS_RANGE = "-rank <= x < rank"
"""The range of an axis, unless it declares one that depends on a rank."""

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge, "!=": ne}


class Bound(NamedTuple):
    """A number, or `sign` times the rank of an input (`of` its name, "" for the first input) plus a number."""

    number: float
    sign: int = 0
    input: str = ""


class Comparison(NamedTuple):
    """A comparison of a value with a bound: `x < bound`."""

    operator: str
    bound: Bound

    def holds(self, value: float, ranks: Mapping[str, int | None]) -> bool:
        """Whether a value passes the comparison; True if the rank of the bound is unknown."""
        limit = self.bound.number
        if self.bound.sign:
            rank = ranks.get(self.bound.input)
            if rank is None:
                return True
            limit += self.bound.sign * rank
        return _COMPARISONS[self.operator](value, limit)


@lru_cache(maxsize=1024)
def parse_range(text: str) -> tuple[Comparison, ...]:
    """Return the comparisons of a range. Raises ValueError if the text is no range."""
    wrong = f"{text[:80]!r} is no comparison such as '>= 0' or '0 <= x < rank'"
    try:
        tests = parse_tests(text)
    except ValueError as error:
        raise ValueError(wrong) from error
    if any(each.operator not in _COMPARISONS for each in tests):
        raise ValueError(wrong)
    return tuple([Comparison(each.operator, _bound_of(each.bounds[0], text)) for each in tests])


def _bound_of(expression: Expression, text: str) -> Bound:
    kind, operands = expression
    if kind == "number":
        return Bound(operands[0])
    if kind == "rank" or (kind == "name" and operands[0] == "rank"):
        return Bound(0, 1, operands[0] if kind == "rank" else "")
    if kind in ("negative", "+", "-"):
        number, sign, of = _bound_of(operands[0], text)
        if kind == "negative":
            return Bound(-number, -sign, of)
        offset = _bound_of(operands[1], text)
        if not offset.sign:
            return Bound(number + offset.number if kind == "+" else number - offset.number, sign, of)
    raise ValueError(f"a bound in {text!r} is neither a number nor a rank")


def ranks_of(comparisons: Iterable[Comparison]) -> set[str]:
    """Return the inputs on whose ranks comparisons depend, "" for the first input."""
    return {each.bound.input for each in comparisons if each.bound.sign}
