"""Clip, whose bounds became inputs, and elementwise functions to which types were added."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from opset.adapters.building.shared import (
    INTEGERS,
    INTEGERS_OF_32_BITS,
    SMALL_INTEGERS,
    cast,
    float16,
    float32,
    round_to_even,
    select_by_mask,
    working_type,
)
from opset.model.elements import NUMBERS
from opset.version_converter.registration import down, lower, up
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

LARGEST = {"float16": 65504.0, "float": float32(2.0**128 - 2.0**104), "double": math.nextafter(math.inf, 0.0)}
"""Largest finite value of each type that Clip took before version 12."""
SIDES = (("min", 1, -1.0), ("max", 2, 1.0))


@up("Clip", since=6)
def clip_6_up(op: Builder, node: Node) -> Result:
    """State absent bounds for float16: they were the limits of the type, and since 6 are the limits of float."""
    if node.has("min") and node.has("max"):
        return None
    element = node.need_element(0)
    if element == "double":
        raise Refusal("C204", "a bound is absent, and the limit of DOUBLE fits no attribute", "state both bounds")
    if element == "float16":
        limits: dict[str, Any] = {name: sign * LARGEST[element] for name, _, sign in SIDES if not node.has(name)}
        return op.copy(node, drop=["consumed_inputs"], **limits)
    return None


@up("Clip", since=11)
def clip_11_up(op: Builder, node: Node) -> Result:
    """Write the bounds as scalars of the element type; for float, leave out bounds that equal its limits.

    Rounding a bound to float16 changes no result: limiting first and rounding afterwards is the same.
    """
    element = node.need_element(0)
    inputs = [node.input(0)]
    for name, _, sign in SIDES:
        value = node.attr(name)
        if element == "float" and value == sign * LARGEST["float"]:
            inputs.append("")
        else:
            inputs.append(op.const(float16(value) if element == "float16" else value, element))
    return op.copy(node, inputs=inputs, drop=["min", "max"])


@down("Clip", since=11)
def clip_11_down(op: Builder, node: Node) -> Result:
    """Write constant bounds that float holds as attributes; otherwise, compute the definition of Clip by Max and Min.

    They also do so for a `min` above `max`, which was not defined. A bound that is NaN limits nothing.
    """
    element = node.need_element(0)
    bounds = [_bound_of(node, index, sign * LARGEST[element], sign * math.inf) for _, index, sign in SIDES]
    stated: dict[str, Any] = {
        name: value
        for (name, index, _), value in zip(SIDES, bounds, strict=True)
        if node.input(index) or element != "float"
    }
    if all(float32(value) == value for value in bounds) and bounds[0] <= bounds[1]:
        return op.copy(node, inputs=[node.input(0)], **stated)
    lowest, highest = (
        _name_of_bound(op, node, index, bound, sign * math.inf)
        for (_, index, sign), bound in zip(SIDES, bounds, strict=True)
    )
    return op.Min(op.Max(node.input(0), lowest), highest)


def _bound_of(node: Node, index: int, absent: float, infinity: float) -> float:
    """Return a bound, NaN if it is not constant; `absent` is its value if there is none, `infinity` if it is NaN."""
    if not node.input(index):
        return absent
    constant = node.constant(index)
    if constant is None or len(constant.values) != 1:
        return math.nan
    bound = float(constant.values[0])
    return infinity if math.isnan(bound) else bound


def _name_of_bound(op: Builder, node: Node, index: int, bound: float, infinity: float) -> str:
    """Return the name of a bound, or `infinity` if it is NaN: that limits nothing, where Max and Min would give NaN."""
    element = node.need_element(0)
    if math.isnan(bound):
        return str(op.Where(op.IsNaN(node.input(index)), op.const(infinity, element), node.input(index)))
    return str(op.const(bound, element))


@down("Clip", since=12)
def clip_12_down(op: Builder, node: Node) -> Result:
    """Limit integers as floats that hold them, integers of 64 bits by comparisons; an absent bound limits nothing."""
    element = node.element(0)
    if element is None or element not in INTEGERS:
        return None
    x = node.input(0)
    bounds = [node.input(1), node.input(2)]
    if not any(bounds):
        return op.Identity(x)
    wide = {**SMALL_INTEGERS, **INTEGERS_OF_32_BITS}.get(element)
    if wide is None:
        for bound, compare in zip(bounds, (op.Less, op.Greater), strict=True):
            if bound:
                x = op.Where(compare(x, bound), bound, x)
        return x
    inputs = [op.Cast(x, to=NUMBERS[wide])]
    for index, (bound, limit) in enumerate(zip(bounds, (-math.inf, math.inf), strict=True), 1):
        constant = node.constant(index)
        if bound and constant is None:
            inputs.append(op.Cast(bound, to=NUMBERS[wide]))
        else:
            values = [float(value) for value in constant.values] if constant is not None else [limit]
            inputs.append(op.const(values, wide, constant.dims if constant is not None else []))
    y = op.copy(node, inputs=inputs, outputs=[op.fresh("wide")])
    return op.Cast(y, to=NUMBERS[element])


@lower("BitwiseNot", since=18)
def bitwise_not_lowered(op: Builder, node: Node) -> Result:
    """Subtract from the number whose bits are all set."""
    element = node.need_element(0)
    ones = 2 ** int(element.removeprefix("uint")) - 1 if element.startswith("u") else -1
    return op.Sub(op.const(ones, element), node.input(0))


@lower("IsNaN", since=9)
def is_nan_lowered(op: Builder, node: Node) -> Result:
    """Negate that a number is below 1 or above 0: every number is, and NaN is neither."""
    x = node.input(0)
    element = node.need_element(0)
    return op.Not(op.Or(op.Less(x, op.const(1.0, element)), op.Greater(x, op.const(0.0, element))))


@lower("IsInf", since=10)
def is_inf_lowered(op: Builder, node: Node) -> Result:
    """Compare with the largest finite numbers; NaN is neither above nor below."""
    x = node.input(0)
    element = node.need_element(0)
    positive, negative = node.attr("detect_positive"), node.attr("detect_negative")
    if not positive and not negative:
        return op.Less(x, x)
    if positive and negative:
        x = op.Abs(x)
    limit = op.const(LARGEST[element] if positive else -LARGEST[element], element)
    return op.Greater(x, limit) if positive else op.Less(x, limit)


@lower("Sign", since=9)
def sign_lowered(op: Builder, node: Node) -> Result:
    """Subtract "less than 0" from "greater than 0", both as numbers; NaN stays, as its power of 1 does."""
    x = node.input(0)
    element = node.need_element(0)
    number = "float" if element in INTEGERS else element
    if element in INTEGERS:
        # FLOAT keeps the sign of every integer.
        x = op.Cast(x, to=NUMBERS[number])
    zero = op.const(0.0, number)
    above = op.Greater(x, zero)
    below = op.Less(x, zero)
    sign = op.Sub(*(op.Cast(mask, to=NUMBERS[number]) for mask in (above, below)))
    if element in INTEGERS:
        return op.Cast(sign, to=NUMBERS[element])
    neither = op.Not(op.Or(above, op.Less(x, op.const(1.0, number))))
    return op.Mul(sign, op.Pow(x, op.Cast(neither, to=NUMBERS[number])))


@lower("Round", since=11)
def round_lowered(op: Builder, node: Node) -> Result:
    """Round halves to even numbers; numbers from -0.5 to 0 give -0.0."""
    return round_to_even(op, node.input(0), node.need_element(0))


@lower("Erf", since=9)
def erf_lowered(op: Builder, node: Node) -> Result:
    """Compute as the kernel does: `x + x * P(x * x)` near 0, `1 - exp(Q(abs(x) - 1.25))` beyond, 1 from some x on."""
    from opset.reference.numerics.error_function_fit import BORDER, FITTED

    element = node.need_element(0)
    near, far, end = FITTED["float64" if element == "double" else "float32"]

    def formula(m: _DoubleFunctions, x: str) -> str:
        distance = op.Abs(x)
        # The lesser of the distance and the end: Min takes FLOAT alone at version 7.
        bounded = op.Sub(m.const(end), op.Relu(op.Sub(m.const(end), distance)))
        beyond = op.Exp(m.polynomial(far, op.Sub(bounded, m.const(BORDER))))
        outer = op.Mul(m.sign(x), op.Sub(m.const(1), beyond))
        inner = op.Add(x, op.Mul(x, m.polynomial(near, op.Mul(x, x))))
        return m.either(op.Greater(distance, m.const(BORDER)), outer, inner)

    return _compute_in_double(op, node, formula, element == "double")


@lower("Sinh", "Cosh", "Asinh", "Acosh", "Atanh", since=9)
def hyperbolic_lowered(op: Builder, node: Node) -> Result:
    """Compute the definition by exponents and logarithms, and a series near 0, because these cancel out there."""
    return _compute_in_double(op, node, HYPERBOLIC[node.op_type], False)


class _DoubleFunctions:
    """Functions of DOUBLE, in operators of version 7."""

    def __init__(self, op: Builder) -> None:
        self.op = op

    def const(self, value: float) -> str:
        """Return the name of a scalar."""
        return self.op.const(float(value), "double")

    def polynomial(self, coefficients: Sequence[float], x: str) -> str:
        """Return the values of a polynomial, whose coefficients begin with the constant term."""
        *rest, last = map(self.const, coefficients)
        return reduce(lambda value, coefficient: self.op.Add(self.op.Mul(value, x), coefficient), reversed(rest), last)

    def sign(self, x: str) -> str:
        """Return 1, -1 or 0; NaN gives 0 as well."""
        signs = self.op.Greater(x, self.const(0)), self.op.Less(x, self.const(0))
        return str(self.op.Sub(*(self.op.Cast(mask, to=NUMBERS["double"]) for mask in signs)))

    def either(self, mask: str, x: str, y: str) -> str:
        """Return the elements of x if the mask is true, else the elements of y."""
        return select_by_mask(self.op, mask, x, y, "double")

    def odd(self, x: str, border: float, series: Sequence[float], outer: str) -> str:
        """Return an odd function that is `x` times a series of squares near 0, and `outer` beyond."""
        inner = self.op.Mul(x, self.polynomial(series, self.op.Mul(x, x)))
        return self.either(self.op.Less(self.op.Abs(x), self.const(border)), inner, outer)


Formula = Callable[[_DoubleFunctions, str], str]
"""A function of DOUBLE."""


def _compute_in_double(op: Builder, node: Node, formula: Formula, exact: bool) -> str:
    """Return a function of floats, computed in DOUBLE; raise Refusal C202 for integers, and DOUBLE unless `exact`."""
    element = node.need_element(0)
    if element in INTEGERS or (element == "double" and not exact):
        label = "before version 9, nothing is exact enough for this element type"
        why = f"before version 9, nothing is exact enough for {element}"
        raise Refusal("C202", why, "cast the input to FLOAT", label=label)
    y = formula(_DoubleFunctions(op), cast(op, node.input(0), element, "double"))
    # FLOAT16 is rounded from FLOAT, as the kernel does.
    rounded = working_type(element)
    return cast(op, cast(op, y, "double", rounded), rounded, element)


def _sinh(m: _DoubleFunctions, x: str) -> str:
    """Return the hyperbolic sine."""
    op = m.op
    outer = op.Mul(op.Sub(op.Exp(x), op.Exp(op.Neg(x))), m.const(0.5))
    return m.odd(x, 0.25, [1, 1 / 6, 1 / 120, 1 / 5040, 1 / 362880], outer)


def _cosh(m: _DoubleFunctions, x: str) -> str:
    """Return the hyperbolic cosine."""
    op = m.op
    return str(op.Mul(op.Add(op.Exp(x), op.Exp(op.Neg(x))), m.const(0.5)))


def _asinh(m: _DoubleFunctions, x: str) -> str:
    """Return the inverse hyperbolic sine."""
    op = m.op
    root = op.Sqrt(op.Add(op.Mul(x, x), m.const(1)))
    return m.odd(x, 2**-8, [1, -1 / 6, 3 / 40], op.Mul(m.sign(x), op.Log(op.Add(op.Abs(x), root))))


def _acosh(m: _DoubleFunctions, x: str) -> str:
    """Return the inverse hyperbolic cosine, NaN below 1."""
    op = m.op
    one = m.const(1)
    # Two roots, so that everything below 1 is NaN.
    root = op.Mul(op.Sqrt(op.Sub(x, one)), op.Sqrt(op.Add(x, one)))
    return str(op.Log(op.Add(x, root)))


def _atanh(m: _DoubleFunctions, x: str) -> str:
    """Return the inverse hyperbolic tangent."""
    op = m.op
    one = m.const(1)
    outer = op.Mul(op.Log(op.Div(op.Add(one, x), op.Sub(one, x))), m.const(0.5))
    return m.odd(x, 2**-5, [1, 1 / 3, 1 / 5, 1 / 7], outer)


HYPERBOLIC: dict[str, Formula] = {"Sinh": _sinh, "Cosh": _cosh, "Asinh": _asinh, "Acosh": _acosh, "Atanh": _atanh}
