"""Functions that adapters of several families share."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable

from opset.errors import safe_text
from opset.model.elements import FLOAT8, NUMBERS
from opset.version_converter.rewrite import FIX_SIZES, Builder, Node, Refusal

# Types by one that holds each of their values.
BFLOAT16 = {"bfloat16": "float"}
SMALL_FLOATS = dict.fromkeys(FLOAT8, "float")
SMALL_INTEGERS = dict.fromkeys(("int8", "int16", "uint8", "uint16"), "float")
INTEGERS_OF_32_BITS = dict.fromkeys(("int32", "uint32"), "double")
FLOATS = ("float16", "float", "double")
"""The floats of early versions."""
INTEGERS = frozenset(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"))
ML = "ai.onnx.ml"
LISTS = {"string": "strings", "int64": "int64s", "float": "floats"}
"""Types that keys and values may have, with the endings of their list attributes."""
UNIFORM = 7
"""Version from which all created operators of the default domain broadcast, and name types by numbers."""


def working(element: str) -> str:
    """Return the type that kernels compute floats in: DOUBLE for DOUBLE, FLOAT for narrower ones."""
    return "double" if element == "double" else "float"


def cast(op: Builder, x: str, here: str | None, there: str) -> str:
    """Return a value of one type, which need not be known, as another one, itself where the two are the same."""
    return x if here == there else op.Cast(x, to=NUMBERS[there])


def positive_axis(axis: int, rank: int) -> int:
    """Return an axis counted from the front. Raises Refusal C103 where the tensor has no such axis."""
    if not -rank <= axis < rank:
        raise Refusal("C103", f"axis {axis} is out of range for rank {rank}")
    return axis % rank if rank else axis


def float32(value: float) -> float:
    """Return the FLOAT nearest to a number, infinite beyond its range."""
    return _rounded(value, "f")


def float16(value: float) -> float:
    """Return the FLOAT16 nearest to a number, infinite beyond its range."""
    return _rounded(value, "e")


def _rounded(value: float, code: str) -> float:
    try:
        return float(struct.unpack(code, struct.pack(code, float(value)))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def unsqueeze(op: Builder, x: str, axes: list[int]) -> str:
    """Return a value with dimensions of 1 inserted."""
    return str(op.Unsqueeze(x, axes=axes))


def nearest(op: Builder, x: str, element: str) -> str:
    """Return floats rounded to the nearest integer, ties to even, without Round.

    It is the next integer above, less 1 where that is too far: by more than half, or by half from an even number.
    Negative numbers above -1 become -0.0 so, as they should.
    """
    half = op.const(0.5, element, [])
    two = op.const(2.0, element, [])
    above = op.Ceil(x)
    distance = op.Sub(above, x)
    odd = op.Less(op.Mul(op.Floor(op.Div(above, two)), two), above)
    far = op.Or(op.Greater(distance, half), op.And(op.Not(op.Less(distance, half)), odd))
    return str(op.Sub(above, op.Cast(far, to=NUMBERS[element])))


def zero(op: Builder, element: str) -> str:
    """Return the scalar of a type that operators fill with: zero, false, or the empty string."""
    return op.const({"bool": False, "string": "", "complex64": 0j, "complex128": 0j}.get(element, 0), element, [])


def is_negative(op: Builder, x: str) -> str:
    """Return 1 for negative integers and 0 for others, as int64: FLOAT keeps every sign, and Less takes it always."""
    number = op.Cast(x, to=NUMBERS["float"])
    return op.Cast(op.Less(number, op.const(0.0, "float", [])), to=NUMBERS["int64"])


def count_of(node: Node, index: int) -> int | None:
    """Return the number of elements of a vector, 0 where the input is absent, None where it is not known."""
    if not node.input(index):
        return 0
    constant = node.constant(index)
    shape = node.shape(index)
    if constant is not None:
        return len(constant.values)
    size = shape[0] if shape is not None and len(shape) == 1 else None
    return size if isinstance(size, int) and size >= 0 else None


def need_size(node: Node, index: int, axis: int) -> int:
    """Return the size of an input along an axis. Raises Refusal C103 for a wrong axis, C207 for an unknown size."""
    node.need_rank(index)
    size = (node.shape(index) or ())[positive_axis(axis, node.need_rank(index))]
    if not isinstance(size, int) or size < 0:
        raise Refusal(
            "C207",
            f"the size of '{safe_text(node.input(index))}' along axis {axis} is not known",
            FIX_SIZES,
        )
    return size


def constant_ints(node: Node, index: int) -> list[int]:
    """Return a constant input that the operator declares as integers. Raises Refusal C205 where it is no constant."""
    return [int(value) for value in node.need_constant(index).values]


def distinct_axes(axes: Iterable[int], rank: int) -> list[int]:
    """Return axes counted from the front. Raises Refusal C103 where one is out of range or a duplicate."""
    found = [positive_axis(axis, rank) for axis in axes]
    if len(set(found)) < len(found):
        raise Refusal("C103", f"the axes {found} have a duplicate")
    return found


def need_uniform(node: Node) -> None:
    """Raise Refusal C201 where created operators of the default domain would be older than version 7."""
    version = node.values.versions.get("", UNIFORM)
    if version < UNIFORM:
        raise Refusal("C201", f"it takes operators of ai.onnx {UNIFORM} or newer, and the model has {version}")
