"""Types, shapes and elements of conversions between element types."""

from __future__ import annotations

import math
import struct
from typing import Any

from opset.inference.building.agreement import dtype_of_attribute
from opset.inference.building.call import Call, Element
from opset.inference.building.dimensions import Dim, at_most, equal
from opset.inference.building.elements import apply_to_elements, round_to_type
from opset.inference.building.types import Type, tensor
from opset.inference.registration import data, infer
from opset.model.elements import ELEMENTS, NUMBERS
from opset.schemas.constraints.violation import Violation

_INTEGERS = frozenset("int64 int32 int16 int8 uint64 uint32 uint16 uint8".split())
_HOLD_SIZES = frozenset("int64 int32 float double".split())
_CODES = {name: ELEMENTS[NUMBERS[name]].code for name in (*_INTEGERS, "bool", "float16", "float", "double")}


@infer("Cast")
def cast_1(call: Call) -> Type:
    """Return the type with the input's shape and the element type that the attribute `to` names.

    If the input's rank is unknown, the shape is None, and the reason is added to `call.doubts`.
    """
    return _type_of_result(call, dtype_of_attribute(call, "to"))


@infer("CastLike")
def cast_like_15(call: Call) -> Type:
    """Return the type with the first input's shape and the second input's element type; each is None if unknown.

    If the rank is unknown, the reason is added to `call.doubts`.
    """
    return _type_of_result(call, call.dtype(1))


def _type_of_result(call: Call, target: str | None) -> Type:
    """Return the type with the first input's shape and the element type `target`, which is None if unknown.

    If the rank is unknown, the shape is None, and the reason is added to `call.doubts`.
    """
    shape = call.shape(0)
    if shape is None:
        call.doubt("the rank of input is not known")
    return tensor(target, shape)


@infer("BitCast")
def bit_cast_26(call: Call) -> Type:
    """Return the type with the input's shape and the element type that the attribute `to` names.

    Raises Violation C2 if the two element types differ in their number of bits. If the rank is unknown, the shape is
    None, and the reason is added to `call.doubts`.
    """
    source = call.dtype(0)
    target = dtype_of_attribute(call, "to")
    if source is not None and target is not None:
        source_bits, target_bits = (
            ELEMENTS[NUMBERS[dtype]].bits if dtype != "string" else 0 for dtype in (source, target)
        )
        if source_bits != target_bits:
            raise Violation("C2", f"{source} has {source_bits} bits, {target} {target_bits}")
    return _type_of_result(call, target)


@data("Cast")
def cast_1_data(call: Call) -> Any:
    """Return the input's elements converted to the type that the attribute `to` names, or None if they are unknown.

    An element is None if it is unknown, or if it has no certain value in the new type, such as NaN as an integer.
    """
    return _convert_elements(call, dtype_of_attribute(call, "to"))


@data("CastLike")
def cast_like_15_data(call: Call) -> Any:
    """Return the first input's elements converted to the second input's element type, or None if they are unknown.

    An element is None if it is unknown, or if it has no certain value in the new type, such as NaN as an integer.
    """
    return _convert_elements(call, call.dtype(1))


def _convert_elements(call: Call, target: str | None) -> Any:
    """Return the first input's elements converted to the element type `target`, or None if they are unknown.

    An element is None if it is unknown, or if it has no certain value in the new type, such as NaN as an integer.
    """
    elements = call.elements(0)
    if elements is None:
        return None
    return tuple(apply_to_elements(lambda known: _convert_element(known, target), element) for element in elements)


def _convert_element(element: Any, target: str | None) -> Element:
    """Return an element converted to the element type `target`, or None if the result is unknown.

    Integers wrap around: 257 becomes 1 in int8. Floats are rounded to float types; in integer types, they lose their
    fraction, and give None if out of range. An integer that double does not hold exactly gives None in narrower float
    types. Strings, and a `target` of None, give None.

    A symbolic size is unchanged in int64, int32, float and double, and in uint32 and uint64 if it is certainly not
    negative. In bool, it is True if it is certainly not 0. Otherwise, it gives None.

    Raises ValueError for NaN, and OverflowError for infinity, in an integer type.
    """
    if isinstance(element, str | bytes):
        return None
    if isinstance(element, Dim):
        if target == "bool":
            return True if equal(element, 0) is False else None
        # Sizes are assumed to be exact in float; in narrower types they need not be.
        fits = target in _HOLD_SIZES or (target in ("uint32", "uint64") and at_most(0, element))
        return element if fits else None
    if target in _INTEGERS:
        return _lowest_bits(element, target) if isinstance(element, int) else round_to_type(math.trunc(element), target)
    if isinstance(element, int) and target != "bool" and float(element) != element:
        return float(element) if target == "double" else None  # else it would be rounded twice
    return round_to_type(element, target)


def _lowest_bits(number: int, target: str) -> int:
    """Return a number wrapped around into the range of the integer type `target`; for int8, 257 becomes 1."""
    bits = ELEMENTS[NUMBERS[target]].bits
    low = number % (1 << bits)
    return low - (1 << bits) if target[0] == "i" and low >> (bits - 1) else low


@data("BitCast")
def bit_cast_26_data(call: Call) -> Any:
    """Return the input's elements with their bits read as the type that the attribute `to` names.

    The result is None if the elements are unknown, or for types other than integers of 8 to 64 bits, bool, float16,
    float and double. An element is None if it is unknown or NaN. A symbolic size is unchanged if both types are
    integers and it is certainly not negative, else None.
    """
    elements = call.elements(0)
    source = call.dtype(0)
    target = dtype_of_attribute(call, "to")
    if elements is None or source not in _CODES or target not in _CODES:
        return None

    def recast(element: Any) -> Element:
        """Return an element with its bits read as the type `target`, or None if they are unknown."""
        if isinstance(element, Dim):
            return element if {source, target} <= _INTEGERS and at_most(0, element) else None
        held = round_to_type(element, source)
        if held is None or held != held:  # not every NaN has the same bits
            return None
        element_of_bits: Element = struct.unpack(f"<{_CODES[target]}", struct.pack(f"<{_CODES[source]}", held))[0]
        return element_of_bits

    return tuple(apply_to_elements(recast, element) for element in elements)
