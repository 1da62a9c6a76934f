"""Kernels of conversions between element types."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from opset.model.arrays import DTYPES
from opset.model.elements import ELEMENTS, NUMBERS
from opset.reference.numerics.arrays import Array
from opset.reference.numerics.conversion import NARROW_FLOATS, NARROW_INTS, convert_numbers
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints.violation import Violation

_NUMERAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|[+-]?inf|nan", re.ASCII | re.IGNORECASE)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_LOW_64 = (1 << 64) - 1
_DIGITS = 18  # of a number that is read at once: reading one takes time with the square of its digits
_BLOCK = 1 << 14  # elements between two checks of the time


@kernel("Cast", since=6)
def cast_6(x: Array, *, to: int, saturate: int = 1, round_mode: str = "up", context: KernelContext) -> Array:
    """Return x converted to the type with the number `to`."""
    return as_type(x, DTYPES[to], saturate, round_mode, context)


@kernel("Cast")
def cast_1(x: Array, *, to: str, context: KernelContext) -> Array:
    """Return x converted to the type with the name `to`."""
    return as_type(x, DTYPES[NUMBERS[to.lower()]], 1, "up", context)


@kernel("CastLike")
def cast_like_15(x: Array, like: Array, *, saturate: int = 1, round_mode: str = "up", context: KernelContext) -> Array:
    """Return x converted to the type of another tensor."""
    return as_type(x, like.dtype, saturate, round_mode, context)


@kernel("BitCast")
def bit_cast_26(x: Array, *, to: int) -> Array:
    """Return the bits of x as elements of the type with the number `to`."""
    target = DTYPES[to]
    source = next(number for number, dtype in DTYPES.items() if dtype == x.dtype)
    if ELEMENTS[source].bits != ELEMENTS[to].bits:
        raise Violation("C2", f"{ELEMENTS[source].bits} bits, {ELEMENTS[to].bits} in the target type")
    if x.dtype in NARROW_INTS or target in NARROW_INTS:
        # In memory each element takes a whole byte, whose upper bits extend the sign.
        codes = x.astype(np.int8).view(np.uint8) if x.dtype in NARROW_INTS else x.view(np.uint8)
        codes = codes & np.uint8((1 << ELEMENTS[to].bits) - 1)
        return codes.astype(target) if target in NARROW_INTS else codes.view(target)
    return x.view(np.uint8).astype(bool) if target.kind == "b" else x.view(target)


def as_type(x: Array, dtype: np.dtype[Any], saturate: int, round_mode: str, context: KernelContext) -> Array:
    """Return numbers or strings converted to another type, strings as well; see `convert_numbers`."""
    if x.dtype == dtype:
        return x
    # A string takes about 60 bytes; narrow floats are rounded as doubles.
    size = dtype.itemsize
    if dtype.kind == "O":
        size = 64
    elif dtype in NARROW_FLOATS and x.dtype.itemsize > 2:
        size = 32
    context.reserve(x.size * size, np.uint8)
    if x.dtype.kind == "O":
        return _parse_numbers(x, dtype, saturate, round_mode, context)
    if dtype.kind == "O":
        return _format_numbers(x, context)
    return convert_numbers(x, dtype, bool(saturate), round_mode)


def _format_numbers(x: Array, context: KernelContext) -> Array:
    """Return each number in plain digits, the fewest that identify it in its type; bool as 1 and 0."""
    if x.dtype.kind == "b":
        x = x.astype(np.int8)
    elif x.dtype in NARROW_FLOATS:
        x = x.astype(np.float32)
    write = _format_number if x.dtype.kind == "f" else str
    texts = np.empty(x.size, object)
    for start in range(0, x.size, _BLOCK):
        context.check_time()
        texts[start : start + _BLOCK] = [write(number) for number in x.reshape(-1)[start : start + _BLOCK]]
    return texts.reshape(x.shape)


def _format_number(number: Any) -> str:
    """Return a float in plain digits, or as NaN, INF or -INF."""
    if math.isfinite(number):
        return np.format_float_positional(number, trim="-")
    if math.isnan(number):
        return "NaN"
    return "INF" if number > 0 else "-INF"


def _parse_numbers(texts: Array, dtype: np.dtype[Any], saturate: int, round_mode: str, context: KernelContext) -> Array:
    """Return strings parsed as numbers; integers out of range keep their lowest bits."""
    integral = dtype.kind in "iu" or dtype in NARROW_INTS
    read: Any = _parse_integer if integral else _parse_float
    numbers = np.empty(texts.size, np.uint64 if integral else np.float64)
    for start in range(0, texts.size, _BLOCK):
        context.check_time()
        numbers[start : start + _BLOCK] = [read(text) for text in texts.reshape(-1)[start : start + _BLOCK]]
    return convert_numbers(numbers.reshape(texts.shape), dtype, bool(saturate), round_mode)


def _parse_float(text: Any) -> float:
    """Return the number in a string. Raises Violation C1 if it is no numeral."""
    if not isinstance(text, str) or not _NUMERAL.fullmatch(text):
        raise Violation("C1", f"{text[:40]!r}")
    return float(text)


def _parse_integer(text: Any) -> int:
    """Return the lowest 64 bits of the number in a string. Raises Violation C1 if it is no finite numeral."""
    if isinstance(text, str) and _INTEGER.fullmatch(text):
        return _low_bits(text)
    number = _parse_float(text)
    if not math.isfinite(number):
        raise Violation("C1", f"{text[:40]!r} as an integer")
    return int(number) & _LOW_64


def _low_bits(text: str) -> int:
    """Return the lowest 64 bits of a whole number in decimal digits, in time linear in their number."""
    digits, number = text.lstrip("+-"), 0
    for start in range(0, len(digits), _DIGITS):
        part = digits[start : start + _DIGITS]
        number = (number * 10 ** len(part) + int(part)) & _LOW_64
    return -number & _LOW_64 if text[0] == "-" else number
