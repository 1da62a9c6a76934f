"""Element types of tensors: one table, from which every other list of them is derived. Numpy is not needed for it."""

from __future__ import annotations

from typing import Final, NamedTuple


class SmallFloat(NamedTuple):
    """The layout of a float of at most 8 bits: sizes of exponent and mantissa, bias, and which patterns are special."""

    exponent: int
    mantissa: int
    bias: int
    special: str = ""


class Element(NamedTuple):
    """An element type of tensors.

    - `number`: its value in TensorProto.DataType; `name`: its spelling in type strings;
    - `bits`: the size of one element, 0 for strings, which differ in size;
    - `field`: the field of TensorProto that holds elements if raw_data does not;
    - `dtype`: the name in numpy, or in ml_dtypes;
    - `ir_version`: the IR version that introduced the type;
    - `code`: the format character of the struct module, "" if it has none;
    - `small_float`: the layout of a float of at most 8 bits;
    - `opset`: the first one of the standard's operator set whose operators take the type.
    """

    number: int
    name: str
    bits: int
    field: str
    dtype: str
    ir_version: int = 1
    code: str = ""
    small_float: SmallFloat | None = None
    opset: int = 1


POWER: Final = "power of two without a sign, last is nan"
STRING: Final = 8
BOOL: Final = 9

_TABLE: Final = (
    Element(1, "float", 32, "float_data", "float32", code="f"),
    Element(2, "uint8", 8, "int32_data", "uint8", code="B"),
    Element(3, "int8", 8, "int32_data", "int8", code="b"),
    Element(4, "uint16", 16, "int32_data", "uint16", code="H"),
    Element(5, "int16", 16, "int32_data", "int16", code="h"),
    Element(6, "int32", 32, "int32_data", "int32", code="i"),
    Element(7, "int64", 64, "int64_data", "int64", code="q"),
    Element(STRING, "string", 0, "string_data", "object"),
    Element(BOOL, "bool", 8, "int32_data", "bool", code="?"),
    Element(10, "float16", 16, "int32_data", "float16", code="e"),
    Element(11, "double", 64, "double_data", "float64", code="d"),
    Element(12, "uint32", 32, "uint64_data", "uint32", code="I"),
    Element(13, "uint64", 64, "uint64_data", "uint64", code="Q"),
    Element(14, "complex64", 64, "float_data", "complex64", code="f"),
    Element(15, "complex128", 128, "double_data", "complex128", code="d"),
    Element(16, "bfloat16", 16, "int32_data", "bfloat16", 4, opset=13),
    Element(
        17, "float8e4m3fn", 8, "int32_data", "float8_e4m3fn", 9,
        small_float=SmallFloat(4, 3, 7, "last is nan"), opset=19,
    ),
    Element(
        18, "float8e4m3fnuz", 8, "int32_data", "float8_e4m3fnuz", 9,
        small_float=SmallFloat(4, 3, 8, "negative zero is nan"), opset=19,
    ),
    Element(
        19, "float8e5m2", 8, "int32_data", "float8_e5m2", 9,
        small_float=SmallFloat(5, 2, 15, "ieee"), opset=19,
    ),
    Element(
        20, "float8e5m2fnuz", 8, "int32_data", "float8_e5m2fnuz", 9,
        small_float=SmallFloat(5, 2, 16, "negative zero is nan"), opset=19,
    ),
    Element(21, "uint4", 4, "int32_data", "uint4", 10, opset=21),
    Element(22, "int4", 4, "int32_data", "int4", 10, opset=21),
    Element(23, "float4e2m1", 4, "int32_data", "float4_e2m1fn", 11, small_float=SmallFloat(2, 1, 1), opset=23),
    Element(
        24, "float8e8m0", 8, "int32_data", "float8_e8m0fnu", 12,
        small_float=SmallFloat(8, 0, 127, POWER), opset=24,
    ),
    Element(25, "uint2", 2, "int32_data", "uint2", 13, opset=25),
    Element(26, "int2", 2, "int32_data", "int2", 13, opset=25),
    Element(27, "float6e2m3", 6, "int32_data", "float6_e2m3fn", 14, small_float=SmallFloat(2, 3, 1), opset=28),
    Element(28, "float6e3m2", 6, "int32_data", "float6_e3m2fn", 14, small_float=SmallFloat(3, 2, 3), opset=28),
)  # fmt: skip

ELEMENTS: Final = {element.number: element for element in _TABLE}
"""Every element type by its number in TensorProto.DataType."""
NUMBERS: Final = {element.name: element.number for element in _TABLE}
"""The number of every element type by its name: `NUMBERS["float"]` is 1."""
FLOAT8: Final = frozenset(
    each.name for each in _TABLE if each.bits == 8 and each.small_float and each.small_float.special != POWER
)
"""The floats of 8 bits that have a mantissa."""
CONSTANT_FORMS: Final = {
    "value_float": "float",
    "value_floats": "float",
    "value_int": "int64",
    "value_ints": "int64",
    "value_string": "string",
    "value_strings": "string",
}
"""Attributes of Constant that hold numbers and texts, with the element types that these have."""


def element_name(number: int) -> str | None:
    """Return the name of an element type by its number, None for a number that is not known."""
    element = ELEMENTS.get(number)
    return element.name if element is not None else None
