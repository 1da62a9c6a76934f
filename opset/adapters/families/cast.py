"""Lowerings of conversions between element types that have no attribute for the type."""

from __future__ import annotations

import math

from opset.adapters.building.shared import INTEGERS, cast
from opset.model.elements import ELEMENTS, NUMBERS
from opset.version_converter.registration import in_place, lower
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

X, LIKE = range(2)
WHOLE = INTEGERS | {"bool", "int4", "uint4", "int2", "uint2"}
"""Types between which a Cast keeps the lowest bits."""
FLOATS = {"float16": (10, 31), "bfloat16": (7, 255), "float": (23, 255), "double": (52, 2047)}
"""Bits of the fraction, and the exponent of infinity and NaN."""


@lower("CastLike", since=15)
@in_place
def cast_like_lowered(op: Builder, node: Node) -> Result:
    """Cast to the type of the second input, which has to be known; its values do not matter."""
    stated = {name: node.attr(name) for name in ("saturate", "round_mode") if node.has(name)}
    return op.Cast(node.input(X), to=NUMBERS[node.need_element(LIKE)], **stated)


@lower("BitCast", since=26)
def bit_cast_lowered(op: Builder, node: Node) -> Result:
    """Cast between integers of one width, which keeps all bits, and compute the float that bits represent.

    No operator shows the bits of a NaN, so casts of floats to integers are refused.
    """
    element = node.need_element(X)
    made = ELEMENTS[node.attr("to")]
    target = made.name
    if ELEMENTS[NUMBERS[element]].bits != made.bits:
        raise Refusal("C103", f"'input' is {element}, and 'to' is no type of the same width")
    if element == target:
        return op.Identity(node.input(X))
    if {element, target} <= WHOLE:
        return op.Cast(node.input(X), to=NUMBERS[target])
    if target in FLOATS and element in INTEGERS:
        return _float_of_bits(op, node, target)
    why = f"it takes the bits of {element} as {target}; before version 26 nothing shows which bits a NaN has"
    label = "it takes the bits of a float; before version 26 nothing shows which bits a NaN has"
    raise Refusal("C204", why, "compute the value by arithmetic", label=label)


def _float_of_bits(op: Builder, node: Node, element: str) -> str:
    """Return the float of bits, its sign times its fraction times a power of two from a table, which is exact."""
    digits, largest = FLOATS[element]
    bits = ELEMENTS[NUMBERS[element]].bits
    whole, number = ("int64", "double") if bits == 64 else ("int32", "float")
    x = op.Cast(op.Cast(node.input(X), to=NUMBERS[f"int{bits}"]), to=NUMBERS[whole])
    negative = op.Less(x, op.const(0, whole))
    lowest = op.const(-(2 ** (bits - 1)), whole)
    rest = op.Where(negative, op.Sub(x, lowest), x)
    one = op.const(2**digits, whole)
    exponent = op.Div(rest, one)
    fraction = op.Sub(rest, op.Mul(exponent, one))
    powers = [2.0 ** (max(power, 1) - largest // 2 - digits) for power in range(largest)]
    scale = op.Gather(op.const([*powers, math.inf], number), op.Cast(exponent, to=NUMBERS["int64"]))
    normal = op.Cast(exponent, to=NUMBERS["bool"])
    significand = op.Where(normal, op.Add(fraction, one), fraction)
    value = op.Mul(op.Cast(significand, to=NUMBERS[number]), scale)
    no_number = op.Greater(rest, op.const(largest * 2**digits, whole))
    value = op.Where(no_number, op.const(math.nan, number), value)
    # Where may lose the sign of zeros; a product does not.
    sign = op.Sub(op.const(1.0, number), op.Mul(op.const(2.0, number), op.Cast(negative, to=NUMBERS[number])))
    value = op.Mul(value, sign)
    return cast(op, value, number, element)
