"""Kernels of elementwise functions of one input: arithmetic, trigonometry, rounding, tests and limits."""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np

from opset.reference.numerics.arrays import Array
from opset.reference.numerics.error_function import erf
from opset.reference.numerics.small_floats import rounded_once
from opset.reference.registration import Function, kernel

# Operators that are numpy functions for every type; for small floats, numpy and ml_dtypes round the result once.
_UFUNCS: dict[str, Any] = {
    "Abs": np.absolute,
    "Acos": np.arccos,
    "Acosh": np.arccosh,
    "Asin": np.arcsin,
    "Asinh": np.arcsinh,
    "Atan": np.arctan,
    "Atanh": np.arctanh,
    "BitwiseNot": np.invert,
    "Ceil": np.ceil,
    "Cos": np.cos,
    "Cosh": np.cosh,
    "Exp": np.exp,
    "Floor": np.floor,
    "IsNaN": np.isnan,
    "Log": np.log,
    "Neg": np.negative,
    "Not": np.logical_not,
    "Reciprocal": np.reciprocal,
    "Round": np.rint,
    "Sin": np.sin,
    "Sinh": np.sinh,
    "Sqrt": np.sqrt,
    "Tan": np.tan,
    "Tanh": np.tanh,
}


def _kernel_of(ufunc: Any) -> Function:
    """Return the kernel that applies a ufunc."""

    def function(x: Array) -> Array:
        return ufunc(x)

    return function


for _name, _ufunc in _UFUNCS.items():
    kernel(_name)(_kernel_of(_ufunc))


@kernel("Erf")
@rounded_once
def erf_9(x: Array) -> Array:
    """Return the error function; for integers, which versions before 13 take, truncated."""
    if x.dtype.kind in "iu":
        return erf(x.astype(np.float64)).astype(x.dtype)
    return erf(x)


@kernel("Sign")
@rounded_once
def sign_9(x: Array) -> Array:
    """Return -1, 0 or 1; zero of either sign gives 0, which is not so for bfloat16 itself."""
    return np.sign(x)


@kernel("IsInf")
def is_inf_10(x: Array, *, detect_negative: int, detect_positive: int) -> Array:
    """Return a mask of the infinities of a sign to detect."""
    is_infinite = np.isinf(x)
    if not detect_negative:
        is_infinite = is_infinite & ~np.signbit(x)
    if not detect_positive:
        is_infinite = is_infinite & np.signbit(x)
    return is_infinite


@kernel("Clip", since=11)
def clip_11(x: Array, lower: Array | None = None, upper: Array | None = None) -> Array:
    """Return min(upper, max(x, lower)); an absent bound is the last finite value of the type."""
    return _limit(x, lower, upper)


@kernel("Clip")
def clip_1(x: Array, *, min: float | None, max: float | None) -> Array:
    """Return x limited by the attributes; an absent bound is the last finite value of the type."""
    return _limit(x, *(None if bound is None else x.dtype.type(bound) for bound in (min, max)))


def _limit(x: Array, lower: Any, upper: Any) -> Array:
    """Return min(upper, max(x, lower)); a bound that is NaN limits nothing, as every comparison with it is false."""
    bounds = [
        absent if bound is None else x.dtype.type(infinity) if np.isnan(bound) else bound
        for bound, absent, infinity in zip((lower, upper), _finite_range(x.dtype), (-np.inf, np.inf), strict=True)
    ]
    # numpy converts bfloat16 to float32, which changes no value.
    return np.clip(x, *bounds).astype(x.dtype, copy=False)


@functools.cache
def _finite_range(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return the least and the greatest finite value of a type."""
    info: Any = np.iinfo if dtype.kind in "iu" else ml_dtypes.finfo
    limits = info(dtype)
    return dtype.type(limits.min), dtype.type(limits.max)
