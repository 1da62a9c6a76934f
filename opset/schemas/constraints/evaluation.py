"""The evaluation of expressions and conditions of constraints, with a table of the values that names stand for.

evaluate(parse_expression("rank(X) - 1"), {"rank": {"X": 3}.get})           2
is_met(parse_condition("0 <= x < rank(X)"), 3, {"rank": {"X": 3}.get})      False
is_met(parse_condition("0 <= x < rank(X)"), 3, {})                          None: the rank is unknown
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from opset.schemas.constraints.grammar import Expression

Table = Mapping[str, Callable[..., Any]]
"""By an operator of grammar.NAMED, the function that returns the value of a name, None if it is unknown."""
_NUMBER = (int, float)


class Algebra(NamedTuple):
    """The comparisons and functions on sizes: on numbers, or in inference on symbolic sizes.

    A comparison returns None if it is undecided.
    """

    equal: Callable[[Any, Any], bool | None]
    at_most: Callable[[Any, Any], bool | None]
    less: Callable[[Any, Any], bool | None]
    combine: Callable[..., Any]
    """Applies a function to sizes; None if the result is not known."""
    symbol: type = int
    """The type of sizes that are no numbers."""


def _combine_numbers(function: Callable[..., Any], *numbers: Any) -> Any:
    """Return `function(*numbers)`; None if the result is too large for a float."""
    try:
        return function(*numbers)
    except OverflowError:  # of a product of many sizes and a fraction
        return None


NUMBERS = Algebra(operator.eq, operator.le, operator.lt, _combine_numbers)
"""The algebra of sizes that are all numbers."""


def evaluate(expression: Expression, table: Table, algebra: Algebra = NUMBERS) -> Any:
    """Return the value of an expression such as `rank(X) - 1`; None if it is unknown.

    A quotient is unknown if the divisor may be 0.

    Args:
        expression: The parsed expression.
        table: Functions that look up names, by operator: for `rank(X)`, the function at "rank" is called with "X".
            A function returns None for an unknown value. A name for which there is no function is unknown.
        algebra: Computes with symbolic sizes, such as N.
    """
    kind, operands = expression
    if kind == "constant":
        return operands[0]
    if kind not in _OPERATIONS:
        find = table.get(kind)
        return None if find is None else find(operands[0], *[evaluate(part, table, algebra) for part in operands[1:]])
    values = [evaluate(operand, table, algebra) for operand in operands]
    if kind == "//" and compare("=", values[1], 0, algebra) is not False:
        return None
    return combine(_OPERATIONS[kind], values, algebra)


def is_met(condition: Expression, value: Any, table: Table, algebra: Algebra = NUMBERS) -> bool | None:
    """Return whether a value meets a condition such as `>= 2`; None if that is undecided.

    Args:
        condition: The parsed condition.
        value: The value; None if it is unknown.
        table: Functions that look up names, by operator: for `rank(X)`, the function at "rank" is called with "X".
            A function returns None for an unknown value. A name for which there is no function is unknown.
        algebra: Compares symbolic sizes, such as N.
    """
    kind, operands = condition
    if kind in ("or", "and", "chain"):
        return decide((is_met(operand, value, table, algebra) for operand in operands), kind == "or")
    return compare(kind, value, evaluate(operands[0], table, algebra), algebra)


def compare(sign: str, value: Any, bound: Any, algebra: Algebra = NUMBERS) -> bool | None:
    """Return whether `value sign bound` is true, such as `3 >= 2`; None if it is undecided.

    It is undecided if `value` or `bound` is None (unknown), if only one of them is text, or if the algebra cannot tell.
    Two texts are compared only by "=" and "!="; any other sign gives None.

    `sign` is "=", "!=", "<", "<=", ">", ">=" or "multiple": `value` is a multiple of `bound`.
    """
    if isinstance(value, _NUMBER) and isinstance(bound, _NUMBER):
        return _COMPARISONS[sign](NUMBERS, value, bound)
    if isinstance(value, str) and isinstance(bound, str):
        return (value == bound) is (sign == "=") if sign in ("=", "!=") else None
    of_algebra = (int, algebra.symbol)
    both_fit = isinstance(value, of_algebra) and isinstance(bound, of_algebra)
    return _COMPARISONS[sign](algebra, value, bound) if both_fit else None


def combine(function: Callable[..., Any], values: Sequence[Any], algebra: Algebra = NUMBERS) -> Any:
    """Return `function(*values)`; None if a value is unknown, or the result cannot be computed.

    Numbers are computed directly, and symbolic sizes by `algebra`. The result is also None if a float meets a symbolic
    size.
    """
    if all(isinstance(value, _NUMBER) for value in values):
        return NUMBERS.combine(function, *values)
    all_fit = all(isinstance(value, (int, algebra.symbol)) for value in values)
    return algebra.combine(function, *values) if all_fit else None


def decide(results: Iterable[bool | None], decisive: bool) -> bool | None:
    """Return `any(results)` if `decisive` is True, `all(results)` if it is False; None if the answer is undecided.

    A result of None is undecided: it may be True or False. For example, `any` of True and None is True, but `any` of
    False and None is undecided.
    """
    is_undecided = False
    for result in results:
        if result is decisive:
            return decisive
        is_undecided = is_undecided or result is None
    return None if is_undecided else not decisive


def _is_other(algebra: Algebra, value: Any, bound: Any) -> bool | None:
    """Return whether two sizes differ; None if the algebra cannot tell."""
    is_equal = algebra.equal(value, bound)
    return None if is_equal is None else not is_equal


def _is_multiple(algebra: Algebra, value: Any, divisor: Any) -> bool | None:
    """Return whether the size `value` is a multiple of the size `divisor`.

    The result is None if that is undecided, or if `divisor` may be 0 or negative.
    """
    if algebra.less(0, divisor) is not True:
        return None
    return compare("=", algebra.combine(operator.mod, value, divisor), 0, algebra)


_COMPARISONS: dict[str, Callable[[Algebra, Any, Any], bool | None]] = {
    "=": lambda algebra, value, bound: algebra.equal(value, bound),
    "!=": _is_other,
    "<": lambda algebra, value, bound: algebra.less(value, bound),
    "<=": lambda algebra, value, bound: algebra.at_most(value, bound),
    ">": lambda algebra, value, bound: algebra.less(bound, value),
    ">=": lambda algebra, value, bound: algebra.at_most(bound, value),
    "multiple": _is_multiple,
}
_OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "negative": operator.neg,
}
