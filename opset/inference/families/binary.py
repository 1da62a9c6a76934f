"""Shapes and elements of arithmetic, comparisons and logic of several inputs."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from functools import partial
from typing import Any

from opset.inference.building.agreement import attribute_if_known, unify_shape
from opset.inference.building.call import Call, Element
from opset.inference.building.dimensions import Dim, at_most, equal, less, maximum, minimum
from opset.inference.building.elements import (
    broadcast_elements,
    broadcast_shape,
    extreme_element,
    map_and_round,
    map_elements,
    round_to_single,
)
from opset.inference.building.types import Shape
from opset.inference.registration import data, infer
from opset.inference.rules.elementwise import broadcast_shapes
from opset.schemas.constraints.violation import Violation

ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Pow")
_FLOATS = ("float16", "float", "double", "bfloat16")
LOGIC = ("And", "Or", "Xor", "Equal", "Greater", "Less")


@infer(*ARITHMETIC, *LOGIC)
def add_1(call: Call) -> Shape:
    """Return the output shape of arithmetic, comparisons and logic before version 7, such as Add: the shape of A.

    Without the attribute `broadcast`, B must have the same shape, and its numbers replace symbolic sizes of A. With
    `broadcast`, the shape of B must be a part of A's that begins at the attribute `axis`, by default the last part. A
    size of 1 in B always fits. Raises Violation C1 if the shapes certainly do not fit, Unknown if the rank of A is
    unknown.
    """
    shape = call.require_shape(0)
    other = call.shape(1)
    if other is None:
        return shape
    if not call.attribute("broadcast"):
        return unify_shape(call, 1, shape, "C1")
    last = len(shape) - len(other)
    axis = call.attribute("axis")
    start = last if axis is None or axis == -len(other) else axis
    if not 0 <= start <= last:
        if last >= 0 and not any(isinstance(size, int) and size != 1 for size in other):
            return shape  # one element goes with every axis
        raise Violation("C1", f"B of shape {list(other)} does not fit into {list(shape)} from axis {start} on")
    for wanted, size in zip(shape[start:], other, strict=False):
        if size != 1:
            call.same(wanted, size, "C1", "a size")
    return shape


@infer("Mod")
def mod_10(call: Call) -> Shape:
    """Return the shape to which A and B broadcast. Raises Unknown if a rank is unknown.

    Raises Violation C1 if A and B cannot be broadcast, C4 for floats if the attribute `fmod` is 0.
    """
    if attribute_if_known(call, "fmod") == 0 and call.dtype(0) in _FLOATS:
        raise Violation("C4", f"fmod is 0, and the type is {call.dtype(0)}")
    return broadcast_shapes(call.require_shape(0), call.require_shape(1))


def _divide(a: Any, b: Any) -> Element:
    """Return a / b, or None if the quotient is unknown.

    - Of two integers, the quotient is truncated toward zero.
    - Of a symbolic operand and a float, it is known only if `b` is 1.0.
    - Of a symbolic operand and no float, it is known only if `a` and `b` are certainly at least 0.

    Raises ZeroDivisionError for a divisor of 0.
    """
    quotient: Element
    if isinstance(a, float) or isinstance(b, float):
        if isinstance(a, Dim) or isinstance(b, Dim):
            quotient = a if b == 1 else None
        else:
            quotient = a / b
    elif isinstance(a, int) and isinstance(b, int):
        quotient = -(-a // b) if (a < 0) != (b < 0) else a // b
    else:
        quotient = a // b if at_most(0, a) and at_most(0, b) else None
    return quotient


def _multiply(a: Any, b: Any) -> Element:
    """Return a * b, or None for a symbolic size times a float that is no whole number, such as 0.5.

    A whole float beside a symbolic size is taken as an integer.
    """
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Dim) and isinstance(other, float):
            return one * int(other) if other.is_integer() else None
    product: Element = a * b
    return product


def _add(a: Any, b: Any) -> Element:
    """Return a + b; a whole float beside a symbolic size is taken as an integer.

    Raises TypeError for a fraction beside a symbolic size.
    """
    if isinstance(a, Dim) or isinstance(b, Dim):
        a, b = (int(x) if isinstance(x, float) and x.is_integer() else x for x in (a, b))
    total: Element = a + b
    return total


def _raise_to_power(a: Any, b: Any) -> Element:
    """Return a ** b, or None if it is unknown.

    - If `a` is symbolic, the power is known only for `b` 1 or 2.
    - If `a` or `b` is a float, or `b` is negative, it is known only if it is exact in single precision: libraries may
      round differently.
    - For two integers, it is unknown if `b` is above 64.

    Raises TypeError if only `b` is symbolic, OverflowError if a float is beyond single precision.
    """
    if isinstance(a, Dim):
        if b == 1:
            return a
        return a * a if b == 2 else None
    if isinstance(a, float) or isinstance(b, float) or b < 0:
        return _exact_power(a, b)
    result = a**b if b <= 64 else None
    return result if isinstance(result, int) else None


def _exact_power(a: float, b: float) -> Element:
    """Return a ** b as a float if it is exact in single precision, else None, as libraries may round differently.

    The result is also None if `a` is not finite, if `b` is not whole or not from -64 to 64, and for 0 to a negative
    power. Raises OverflowError if the power is too large for single precision.
    """
    if not (math.isfinite(a) and float(b).is_integer() and abs(b) <= 64) or not (a or b >= 0):
        return None
    result = math.pow(a, b)
    return result if Fraction(a) ** int(b) == Fraction(round_to_single(result)) else None


@data("Mod")
def mod_10_data(call: Call) -> Any:
    """Return a % b for each pair of elements of the inputs, broadcast together; None if an input is unknown.

    The result has the sign of b. If the attribute `fmod` is 1, it has the sign of a. It is None for a pair in these
    cases:

    - a or b is unknown;
    - b is 0;
    - variables decide the result;
    - `fmod` is 1, a and b are no floats, and one of them may be negative.
    """

    def fmod(a: Any, b: Any) -> Element:
        """Return the remainder with the sign of `a`; None for integers and sizes that may be negative."""
        if isinstance(a, float):
            return math.fmod(a, b)
        result: Element = a % b
        return result if at_most(0, a) and at_most(0, b) else None

    return map_and_round(fmod if call.attribute("fmod") else operator.mod, call)


def _comparison(symbolic: Any, plain: Any) -> Any:
    """Return a function of two elements, which compares them by `symbolic` if one is a symbolic size, else by `plain`.

    Both are functions of two arguments, such as `less` and `operator.lt`. The function returns a bool, or None if
    variables decide the result.
    """

    def compare(a: Any, b: Any) -> Element:
        """Return whether the comparison holds, or None if variables decide."""
        result: Element = symbolic(a, b) if isinstance(a, Dim) or isinstance(b, Dim) else bool(plain(a, b))
        return result

    return compare


_NUMERIC = {
    "Add": _add,
    "Sub": lambda a, b: _add(a, -b),
    "Mul": _multiply,
    "Div": _divide,
    "Pow": _raise_to_power,
    "Max": lambda *given: extreme_element(maximum, max, given),
    "Min": lambda *given: extreme_element(minimum, min, given),
    "Sum": lambda first, *more: sum(more, start=first),
}
_LOGICAL = {
    "And": lambda a, b: bool(a and b),
    "Or": lambda a, b: bool(a or b),
    "Xor": lambda a, b: bool(a) != bool(b),
    "Equal": _comparison(equal, operator.eq),
    "Less": _comparison(less, operator.lt),
    "LessOrEqual": _comparison(at_most, operator.le),
    "Greater": _comparison(lambda a, b: less(b, a), operator.gt),
    "GreaterOrEqual": _comparison(lambda a, b: at_most(b, a), operator.ge),
}
# Versions before 7 (8 of variadic operators) broadcast by attributes or not at all.
for _name, _function in _NUMERIC.items():
    data(_name, since=7)(partial(map_and_round, _function))
for _name, _function in _LOGICAL.items():
    data(_name, since=7)(partial(lambda function, call: map_elements(call, function), _function))


@data("Where")
def where_9_data(call: Call) -> Any:
    """Return for each element of Where's output the one that the condition selects; None if an input is unknown.

    The inputs are broadcast together. An element is None if it is unknown, or if it is not known which of two different
    elements is selected.
    """
    constants = [constant for index in range(3) if (constant := call.constant(index)) is not None]
    if len(constants) < 3:
        return None
    shape = broadcast_shape([constant.dims for constant in constants])
    rows = zip(*(broadcast_elements(constant, shape) for constant in constants), strict=True)

    def select(condition: Element, x: Element, y: Element) -> Element:
        """Return `x` or `y` by the condition, or None if it is unknown and they differ."""
        if x == y:
            return x
        if condition is None:
            return None
        return x if condition else y

    return tuple(select(*row) for row in rows)
