"""Functions that adapters of several families share."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from typing import Any

from opset.errors import safe_text
from opset.model.elements import FLOAT8, NUMBERS
from opset.model.types import Shape
from opset.version_converter.rewrite import FIX_SIZES, Builder, Node, Refusal

# Types by one that holds each of their values.
BFLOAT16 = {"bfloat16": "float"}
SMALL_FLOATS = dict.fromkeys(FLOAT8, "float")
SMALL_INTEGERS = dict.fromkeys(("int8", "int16", "uint8", "uint16"), "float")
INTEGERS_OF_32_BITS = dict.fromkeys(("int32", "uint32"), "double")
FLOATS = ("float16", "float", "double")
"""The floats of early versions."""
INTEGERS = frozenset(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"))
WIDE_INTEGERS = {"int8": "int32", "int16": "int32", "uint8": "int32", "uint16": "int64"}
"""Types with wider ones that hold sums and products of two integers; casting back wraps as the small type does."""
ML = "ai.onnx.ml"
LISTS = {"string": "strings", "int64": "int64s", "float": "floats"}
"""Types that keys and values may have, with the endings of their list attributes."""
UNIFORM = 7
"""Version from which all created operators of the default domain broadcast, and name types by numbers."""


def working_type(element: str) -> str:
    """Return the type in which kernels compute floats: DOUBLE for DOUBLE, FLOAT for narrower types."""
    return "double" if element == "double" else "float"


def cast(op: Builder, x: str, source: str | None, target: str) -> str:
    """Return a value cast to the target type; it is returned unchanged if its type, None if unknown, is the target."""
    return x if source == target else op.Cast(x, to=NUMBERS[target])


def positive_axis(axis: int, rank: int) -> int:
    """Return an axis counted from the front; raise Refusal C103 if the tensor has no such axis."""
    if not -rank <= axis < rank:
        raise Refusal("C103", f"axis {axis} is out of range for rank {rank}")
    return axis % rank if rank else axis


def float32(value: float) -> float:
    """Return the FLOAT nearest to a number, infinite beyond its range."""
    return _round_to(value, "f")


def float16(value: float) -> float:
    """Return the FLOAT16 nearest to a number, infinite beyond its range."""
    return _round_to(value, "e")


def _round_to(value: float, code: str) -> float:
    """Return a number rounded to a format of `struct`, infinite beyond its range."""
    try:
        return float(struct.unpack(code, struct.pack(code, float(value)))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def unsqueeze(op: Builder, x: str, axes: list[int]) -> str:
    """Return a value with dimensions of 1 inserted."""
    return str(op.Unsqueeze(x, axes=axes))


def round_to_even(op: Builder, x: str, element: str) -> str:
    """Return floats rounded to the nearest integer, ties to even, without Round.

    The result is the next integer above, less 1 if that is too far: by more than half, or by half from an even number.
    So negative numbers above -1 become -0.0, as they should.
    """
    half = op.const(0.5, element)
    two = op.const(2.0, element)
    above = op.Ceil(x)
    distance = op.Sub(above, x)
    odd = op.Less(op.Mul(op.Floor(op.Div(above, two)), two), above)
    far = op.Or(op.Greater(distance, half), op.And(op.Not(op.Less(distance, half)), odd))
    return str(op.Sub(above, op.Cast(far, to=NUMBERS[element])))


def fill_value(op: Builder, element: str) -> str:
    """Return the scalar that operators fill a tensor of a type with: zero, false, or the empty string."""
    return op.const({"bool": False, "string": "", "complex64": 0j, "complex128": 0j}.get(element, 0), element)


def negative_mask(op: Builder, x: str) -> str:
    """Return int64 numbers: 1 for negative integers, 0 for others.

    FLOAT keeps every sign, and every version of Less takes it.
    """
    number = op.Cast(x, to=NUMBERS["float"])
    return op.Cast(op.Less(number, op.const(0.0, "float")), to=NUMBERS["int64"])


def vector_length(node: Node, index: int) -> int | None:
    """Return the length of a vector, 0 if the input is absent, None if the length is not known."""
    if not node.input(index):
        return 0
    constant = node.constant(index)
    shape = node.shape(index)
    if constant is not None:
        return len(constant.values)
    size = shape[0] if shape is not None and len(shape) == 1 else None
    return size if isinstance(size, int) and size >= 0 else None


def known_size(node: Node, index: int, axis: int) -> int | None:
    """Return the size of an input along an axis, None if it is not known, or there is no such axis."""
    shape = node.shape(index)
    size = shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None
    return size if isinstance(size, int) else None


def need_dims(node: Node, index: int) -> Shape:
    """Return the shape of an input, in which sizes may be open; raise Refusal C207 if its rank is not known."""
    return node.shape(index) or (None,) * node.need_rank(index)


def need_size(node: Node, index: int, axis: int) -> int:
    """Return the size of an input along an axis; raise Refusal C103 for a wrong axis, C207 for an unknown size."""
    shape = need_dims(node, index)
    size = shape[positive_axis(axis, len(shape))]
    if not isinstance(size, int) or size < 0:
        label = f"the size of `{node.formal(index)}` along an axis is not known"
        why = f"the size of '{safe_text(node.input(index))}' along axis {axis} is not known"
        raise Refusal("C207", why, FIX_SIZES, label=label)
    return size


def constant_ints(node: Node, index: int) -> list[int]:
    """Return the values of a constant input as integers; raise Refusal C205 if it is no constant."""
    return [int(value) for value in node.need_constant(index).values]


def need_value(node: Node, index: int) -> Any:
    """Return the one element of a constant input; raise Refusal C205 if it is no constant, C103 if it has not one."""
    values = node.need_constant(index).values
    if len(values) != 1:
        raise Refusal("C103", f"the input '{node.formal(index)}' has {len(values):,} values, and should have one")
    return values[0]


def distinct_axes(axes: Iterable[int], rank: int) -> list[int]:
    """Return axes counted from the front; raise Refusal C103 if one is out of range or a duplicate."""
    positive = [positive_axis(axis, rank) for axis in axes]
    if len(set(positive)) < len(positive):
        raise Refusal("C103", f"the axes {positive} have a duplicate")
    return positive


def need_uniform_operators(node: Node) -> None:
    """Raise Refusal C201 for a default domain before version 7, in which created operators would need other forms."""
    version = node.values.versions.get("", UNIFORM)
    if version < UNIFORM:
        label = f"it takes operators of ai.onnx {UNIFORM} or newer"
        why = f"it takes operators of ai.onnx {UNIFORM} or newer, and the model has {version}"
        raise Refusal("C201", why, label=label)


def select_by_mask(op: Builder, condition: str, x: str, y: str, element: str) -> str:
    """Return bools or numbers, x if a condition is true, else y, without the operator Where.

    Integers are multiplied by 0 or 1 and added; floats are raised to the power of 0 or 1 and multiplied: a power of 0
    is 1, even of infinities and NaN, and DOUBLE holds the power of 1 with bits to spare.
    """
    other = op.Not(condition)
    if element == "bool":
        return str(op.Or(op.And(condition, x), op.And(other, y)))
    wide = WIDE_INTEGERS.get(element, element) if element in INTEGERS else "double"
    kept = [
        (op.Mul if element in INTEGERS else op.Pow)(cast(op, value, element, wide), op.Cast(mask, to=NUMBERS[wide]))
        for mask, value in ((condition, x), (other, y))
    ]
    return cast(op, (op.Add if element in INTEGERS else op.Mul)(*kept), wide, element)
