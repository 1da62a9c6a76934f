"""Conversion between numeric element types by the rules of Cast, for every kernel that converts.

numpy and ml_dtypes convert between most types as the standard says. They lack, and this module adds, saturation to
float 8, one rounding from 64 bits to narrow floats, float8e8m0, and pairs of narrow types.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from opset.model.arrays import DTYPES
from opset.model.elements import ELEMENTS, FLOAT8, NUMBERS
from opset.reference.numerics.arrays import Array
from opset.reference.numerics.small_floats import SMALL_FLOATS

_SATURATING = frozenset(DTYPES[NUMBERS[name]] for name in FLOAT8)
E8M0 = np.dtype(ml_dtypes.float8_e8m0fnu)
NARROW_INTS = frozenset(
    DTYPES[element.number] for element in ELEMENTS.values() if "int" in element.name and element.bits < 8
)
NARROW_FLOATS = SMALL_FLOATS - {np.dtype(np.float16)}
_MODES = ("up", "down", "nearest")
_STICKY = 0x800
_WIDE = frozenset(np.dtype(kind) for kind in (np.float64, np.int32, np.uint32, np.int64, np.uint64))


def convert_numbers(x: Array, dtype: np.dtype[Any], saturate: bool = True, round_mode: str = "up") -> Array:
    """Return numbers as another numeric type or bool.

    - integers and bool to integers keep the lowest bits; floats to integers are truncated toward zero, and the result
      of one that is out of range, which the standard leaves open, is numpy's;
    - to floats rounds to nearest, ties to even; out of range becomes infinite, or the largest value of a type without;
    - to float 8 types, out of range and infinite become the largest value if `saturate`, else infinite or NaN;
    - to float8e8m0: see `_as_power`.

    `round_mode` is up, down or nearest. Strings are not numbers: see opset.reference.kernels.cast.
    """
    if x.dtype == dtype:
        return x
    if x.dtype in NARROW_INTS:
        x = x.astype(np.int8)
    elif x.dtype in NARROW_FLOATS:
        x = x.astype(np.float32)
    if dtype in NARROW_INTS:
        wide = x.astype(np.int64) if x.dtype.kind == "f" else x
        return wide.astype(np.int8).astype(dtype)
    if dtype not in NARROW_FLOATS:
        return x.astype(dtype)
    if dtype == E8M0:
        return _as_power(_as_double(x), saturate, round_mode)
    values = _round_to(_as_double(x), dtype) if x.dtype in _WIDE else x.astype(np.float32)
    if dtype in _SATURATING and saturate:
        largest = float(_float_format(dtype).max)
        values = np.clip(values, -largest, largest)
    return values.astype(dtype)


def _float_format(dtype: np.dtype[Any]) -> Any:
    """Return the limits of a float type."""
    return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]


def _as_double(x: Array) -> Array:
    """Return numbers as float64; integers that it cannot represent keep a sticky bit for the rounding that follows."""
    if x.dtype.itemsize < 8 or x.dtype.kind == "f":
        return x.astype(np.float64)
    # The lower 12 bits of integers with more than 53 become one sticky bit, so that truncation makes no tie.
    low = x & x.dtype.type(2 * _STICKY - 1)
    joined = x - low + (low != 0).astype(x.dtype) * x.dtype.type(_STICKY)
    exact = (x >> x.dtype.type(53)) + (x.dtype.kind == "i") * (x < 0) == 0
    return np.where(exact, x, joined).astype(np.float64)


def _round_to(x: Array, dtype: np.dtype[Any]) -> Array:
    """Return float64 numbers rounded to the precision of a narrow float, without regard to its range."""
    form = _float_format(dtype)
    exponent = np.maximum(np.frexp(x)[1] - 1, int(form.minexp)) - int(form.nmant)
    return np.where(np.isfinite(x), np.ldexp(np.rint(np.ldexp(x, -exponent)), exponent), x)


def _as_power(x: Array, saturate: bool, round_mode: str) -> Array:
    """Return float64 numbers as float8e8m0, powers of two from 2**-127 to 2**127.

    Numbers outside, zero and infinity included, become the nearest of these if `saturate`, else NaN. Negative numbers,
    which the standard leaves open, become NaN.
    """
    assert round_mode in _MODES
    least, largest = 2.0**-127, 2.0**127
    inside = x >= 0 if saturate else (x >= least) & (x <= largest)
    fraction, exponent = np.frexp(np.clip(np.where(inside, x, 1.0), least, largest))
    # fraction is in [0.5, 1): the powers around have exponent - 1 and exponent.
    above = {"up": fraction > 0.5, "down": np.zeros_like(inside), "nearest": fraction >= 0.75}[round_mode]
    codes = np.where(inside, exponent - 1 + above + 127, 255)
    return codes.astype(np.uint8).view(E8M0)
