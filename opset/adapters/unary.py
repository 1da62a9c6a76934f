"""Clip, whose bounds became inputs, and elementwise functions to which types were added."""

from __future__ import annotations

import math
from typing import Any

from opset.adapters.shared import (
    INTEGERS,
    INTEGERS_OF_32_BITS,
    SMALL_INTEGERS,
    float16,
    float32,
    nearest,
)
from opset.model.elements import NUMBERS
from opset.version_converter.registration import down, lower, up
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

LARGEST = {"float16": 65504.0, "float": float32(2.0**128 - 2.0**104), "double": math.nextafter(math.inf, 0.0)}
"""Largest finite value of each type that Clip took before version 12."""
SIDES = (("min", 1, -1.0), ("max", 2, 1.0))


@up("Clip", since=6)
def clip_6_up(op: Builder, node: Node) -> Result:
    """An absent bound was the limit of the type, and is that of FLOAT now, so it has to be stated for FLOAT16."""
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
    """The bounds become scalars of the element type; for FLOAT, those that equal its limits are left out.

    Rounding a bound to FLOAT16 changes no result: limiting first and rounding afterwards is the same.
    """
    element = node.need_element(0)
    inputs = [node.input(0)]
    for name, _, sign in SIDES:
        value = node.attr(name)
        if element == "float" and value == sign * LARGEST["float"]:
            inputs.append("")
        else:
            inputs.append(op.const(float16(value) if element == "float16" else value, element, []))
    return op.copy(node, inputs=inputs, drop=["min", "max"])


@down("Clip", since=11)
def clip_11_down(op: Builder, node: Node) -> Result:
    """Constant bounds that FLOAT holds become attributes; otherwise Max and Min compute the definition of Clip.

    They also do so for a `min` above `max`, which was not defined.
    """
    element = node.need_element(0)
    bounds = [_bound(node, index, sign * LARGEST[element]) for _, index, sign in SIDES]
    stated: dict[str, Any] = {
        name: value
        for (name, index, _), value in zip(SIDES, bounds, strict=True)
        if node.input(index) or element != "float"
    }
    if all(float32(value) == value for value in bounds) and bounds[0] <= bounds[1]:
        return op.copy(node, inputs=[node.input(0)], **stated)
    lowest, highest = (node.input(index) or op.const(sign * LARGEST[element], element, []) for _, index, sign in SIDES)
    return op.Min(op.Max(node.input(0), lowest), highest)


def _bound(node: Node, index: int, absent: float) -> float:
    """Return a bound, NaN where it is not constant."""
    if not node.input(index):
        return absent
    constant = node.constant(index)
    return float(constant.values[0]) if constant is not None and len(constant.values) == 1 else math.nan


@down("Clip", since=12)
def clip_12_down(op: Builder, node: Node) -> Result:
    """Integers are limited as floats that hold them, 64-bit ones by comparisons; an absent bound limits nothing."""
    element = node.element(0)
    if element is None or element not in INTEGERS:
        return None
    x, bounds = node.input(0), [node.input(1), node.input(2)]
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
    (y,) = op.copy(node, inputs=inputs, outputs=[op.fresh("wide")])
    return op.Cast(y, to=NUMBERS[element])


@lower("BitwiseNot", since=18)
def bitwise_not_lowered(op: Builder, node: Node) -> Result:
    """Subtract from the number of which all bits are set."""
    element = node.need_element(0)
    ones = 2 ** int(element.removeprefix("uint")) - 1 if element.startswith("u") else -1
    return op.Sub(op.const(ones, element, []), node.input(0))


@lower("IsNaN", since=9)
def is_nan_lowered(op: Builder, node: Node) -> Result:
    """Every number is below 1 or above 0, and NaN is neither."""
    x, element = node.input(0), node.need_element(0)
    return op.Not(op.Or(op.Less(x, op.const(1.0, element, [])), op.Greater(x, op.const(0.0, element, []))))


@lower("IsInf", since=10)
def is_inf_lowered(op: Builder, node: Node) -> Result:
    """Compare with the largest finite numbers; NaN is neither above nor below."""
    x, element = node.input(0), node.need_element(0)
    positive, negative = node.attr("detect_positive"), node.attr("detect_negative")
    if not positive and not negative:
        return op.Less(x, x)
    if positive and negative:
        x = op.Abs(x)
    limit = op.const(LARGEST[element] if positive else -LARGEST[element], element, [])
    return op.Greater(x, limit) if positive else op.Less(x, limit)


@lower("Sign", since=9)
def sign_lowered(op: Builder, node: Node) -> Result:
    """Subtract "less than 0" from "greater than 0", both as numbers; NaN stays, as its power of 1 does."""
    x, element = node.input(0), node.need_element(0)
    number = "float" if element in INTEGERS else element
    if element in INTEGERS:
        # FLOAT keeps the sign of every integer.
        x = op.Cast(x, to=NUMBERS[number])
    zero = op.const(0.0, number, [])
    above, below = op.Greater(x, zero), op.Less(x, zero)
    sign = op.Sub(*(op.Cast(each, to=NUMBERS[number]) for each in (above, below)))
    if element in INTEGERS:
        return op.Cast(sign, to=NUMBERS[element])
    neither = op.Not(op.Or(above, op.Less(x, op.const(1.0, number, []))))
    return op.Mul(sign, op.Pow(x, op.Cast(neither, to=NUMBERS[number])))


@lower("Round", since=11)
def round_lowered(op: Builder, node: Node) -> Result:
    """Round halves to even numbers; numbers from -0.5 to 0 give -0.0."""
    return nearest(op, node.input(0), node.need_element(0))
