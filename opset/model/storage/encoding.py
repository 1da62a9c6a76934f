"""Elements of tensors as Python objects to and from bytes, without numpy, and the sizes of tensors' data.

Bytes are always in the form of raw_data: one element after the other, the least significant byte first; types of 2, 4
and 6 bits form one stream of bits, the first element in the lowest bits of the first byte.
"""

from __future__ import annotations

import math
import struct
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final

from opset.errors import Finding, ModelError, quote
from opset.model.elements import ELEMENTS, POWER, STRING
from opset.model.limits import MAX_ENCODED

_BFLOAT16: Final = 16


def tensor_label(tensor: Any) -> str:
    """Return the name of a tensor in messages."""
    return f"tensor {quote(tensor.name)}"


def tensor_error(tensor: Any, why: str) -> ModelError:
    """Return the error M206 for a tensor whose data does not fit its dims and type."""
    return ModelError(
        Finding("M206", "the size of a tensor's data does not fit its dims and type", tensor_label(tensor), why)
    )


def element_bits(data_type: int) -> int:
    """Return the size of one element in bits; raise ModelError M206 for STRING and unknown types."""
    element = ELEMENTS.get(data_type)
    if element is None or not element.bits:
        raise ModelError(Finding("M206", "the element type has no size", why=_why_no_size(data_type)))
    return element.bits


def _why_no_size(data_type: int) -> str:
    """Return the reason why elements of a type have no size."""
    return "strings differ in size" if data_type == STRING else f"{data_type} is no element type"


def element_count(tensor: Any) -> int:
    """Return the product of a tensor's dims; raise ModelError M206 if one is negative or the product is absurd."""
    dims = tensor.dims[:]
    if any(dim < 0 for dim in dims):
        raise tensor_error(tensor, f"its dims {_shown_dims(dims)} hold a negative number")
    count = 0 if 0 in dims else 1
    for dim in dims:
        count *= dim
        if count > MAX_ENCODED:
            raise tensor_error(tensor, f"its dims {_shown_dims(dims)} ask for more elements than any file holds")
    return count


def _shown_dims(dims: list[int]) -> str:
    """Return dims for a message."""
    return str(dims) if len(dims) <= 8 else f"{str(dims[:8])[:-1]}, …]"


def data_size(tensor: Any) -> int:
    """Return how many bytes a tensor's data has by its dims and type; raise ModelError M206 if these say nothing."""
    element = ELEMENTS.get(tensor.data_type)
    if element is None or not element.bits:
        raise tensor_error(tensor, _why_no_size(tensor.data_type))
    return -(-element_count(tensor) * element.bits // 8)


def _is_complex(data_type: int) -> bool:
    """Whether a type is complex."""
    return ELEMENTS[data_type].name.startswith("complex")


def _is_power(data_type: int) -> bool:
    """Whether a type has powers of two alone."""
    small_float = ELEMENTS[data_type].small_float
    return small_float is not None and small_float.special == POWER


def decode(data_type: int, data: bytes, count: int) -> list[Any]:
    """Return elements as int, float, bool or complex.

    Args:
        data_type: Any TensorProto.DataType but STRING.
        data: Bytes in the form of raw_data, of exactly the size of `count` elements.
    """
    code = ELEMENTS[data_type].code
    if _is_complex(data_type):
        parts = struct.unpack(f"<{2 * count}{code}", data)
        return [complex(real, imaginary) for real, imaginary in zip(parts[::2], parts[1::2], strict=True)]
    if code:
        return list(struct.unpack(f"<{count}{code}", data))
    if data_type == _BFLOAT16:
        wide = bytearray(4 * count)
        wide[2::4], wide[3::4] = data[::2], data[1::2]
        return list(struct.unpack(f"<{count}f", wide))
    table, bits = pattern_values(data_type), ELEMENTS[data_type].bits
    padded, mask = data + b"\0", (1 << bits) - 1
    ends = ((position >> 3, position & 7) for position in range(0, count * bits, bits))
    return [table[(padded[byte] | padded[byte + 1] << 8) >> shift & mask] for byte, shift in ends]


def encode(data_type: int, values: Sequence[Any]) -> bytes:
    """Return elements as bytes in the form of raw_data: the inverse of `decode`.

    Args:
        data_type: Any TensorProto.DataType but STRING.
        values: The elements; a float is rounded to the nearest that the type has, ties to even.

    Raises:
        ValueError, OverflowError, struct.error: If a value is beyond the type's range.
        TypeError: If a value is no number.
    """
    code = ELEMENTS[data_type].code
    if _is_complex(data_type):
        parts = [part for value in map(complex, values) for part in (value.real, value.imag)]
        return struct.pack(f"<{len(parts)}{code}", *parts)
    if code:
        return struct.pack(f"<{len(values)}{code}", *values)
    if data_type == _BFLOAT16:
        return struct.pack(f"<{len(values)}H", *map(_bfloat16_pattern, values))
    return pack((_pattern(data_type, value) for value in values), ELEMENTS[data_type].bits)


def pack(patterns: Iterable[int], bits: int) -> bytes:
    """Return patterns of at most 8 bits as one stream of bits."""
    out = bytearray()
    held = filled = 0
    for pattern in patterns:
        held |= (pattern & (1 << bits) - 1) << filled
        filled += bits
        if filled >= 8:
            out.append(held & 0xFF)
            held, filled = held >> 8, filled - 8
    if filled:
        out.append(held)
    return bytes(out)


@cache
def pattern_values(data_type: int) -> tuple[Any, ...]:
    """Return the value of every bit pattern of a type of at most 8 bits, in order."""
    element = ELEMENTS[data_type]
    if element.small_float is None:
        half = 1 << element.bits - 1
        return (*range(half), *(range(half, 2 * half) if element.name.startswith("u") else range(-half, 0)))
    exponent_bits, mantissa_bits, bias, special = element.small_float
    if special == POWER:
        return (*(math.ldexp(1.0, pattern - bias) for pattern in range((1 << exponent_bits) - 1)), math.nan)
    positive = []
    for pattern in range(1 << exponent_bits + mantissa_bits):
        exponent, mantissa = pattern >> mantissa_bits, pattern & (1 << mantissa_bits) - 1
        if special == "ieee" and exponent == (1 << exponent_bits) - 1:
            positive.append(math.nan if mantissa else math.inf)
        else:
            mantissa += (1 << mantissa_bits) if exponent else 0
            positive.append(math.ldexp(mantissa, max(exponent, 1) - bias - mantissa_bits))
    if special == "last is nan":
        positive[-1] = math.nan
    negative = [-value for value in positive]
    if special == "negative zero is nan":
        negative[0] = math.nan
    return (*positive, *negative)


@cache
def _nonnegative_numbers(data_type: int) -> tuple[list[float], list[int]]:
    """Return the numbers of a small float type that are not below zero, ascending, and their bit patterns."""
    table = pattern_values(data_type)
    patterns = range(len(table) if _is_power(data_type) else len(table) // 2)
    numeric = [pattern for pattern in patterns if not math.isnan(table[pattern])]
    return [table[pattern] for pattern in numeric], numeric


def _pattern(data_type: int, value: Any) -> int:
    """Return the bit pattern of the nearest number in a type of at most 8 bits; raise ValueError out of range."""
    table = pattern_values(data_type)
    if ELEMENTS[data_type].small_float is None:
        if value not in table:
            raise ValueError(f"{value} is out of range")
        return table.index(value)
    value = float(value)
    if math.isnan(value):
        nans = [pattern for pattern, known in enumerate(table) if math.isnan(known)]
        if not nans:
            raise ValueError("the type has no NaN")
        return nans[0]
    numbers, patterns = _nonnegative_numbers(data_type)
    size = abs(value)
    at = bisect_left(numbers, size)
    if at == len(numbers) or numbers[at] == math.inf != size or (_is_power(data_type) and value not in numbers):
        raise ValueError(f"{value} is out of range")
    if numbers[at] != size:
        below, above = size - numbers[at - 1], numbers[at] - size
        at -= below < above or (below == above and patterns[at - 1] % 2 == 0)
    if math.copysign(1, value) > 0:
        return patterns[at]
    negative = patterns[at] + len(table) // 2
    return patterns[at] if math.isnan(table[negative]) else negative


def _bfloat16_pattern(value: Any) -> int:
    """Return the upper half of the FLOAT that a value rounds to, in one rounding; raise OverflowError out of range."""
    value = float(value)
    if math.isnan(value):
        return 0x7FC0
    if math.isfinite(value):
        step = max(math.frexp(value)[1], -125) - 8  # 8 bits of precision, down to the subnormal numbers
        value = math.copysign(math.ldexp(round(math.ldexp(value, -step)), step), value)
    return int.from_bytes(struct.pack("<f", value)[2:], "little")
