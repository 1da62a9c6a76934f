"""Floats narrower than float32: computed in float32, and rounded once."""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np

from opset.reference.registration import Function

SMALL_FLOATS = frozenset(
    np.dtype(kind)
    for kind in (
        *(np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2),
        *(ml_dtypes.float8_e5m2fnuz, ml_dtypes.float8_e8m0fnu, ml_dtypes.float4_e2m1fn),
        *(ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn),
    )
)


def rounded_once(function: Function) -> Function:
    """Wrap a kernel so that small floats are computed in float32, and its float32 results have the first input's type.

    A sum in half precision loses digits that a runtime, which accumulates in a wider type, keeps. The standard does not
    define the order of additions, so the value to compare with is the one nearest to the exact result.
    """

    @functools.wraps(function)
    def wrapper(*inputs: Any, **attributes: Any) -> Any:
        first = next((each.dtype for each in inputs if isinstance(each, np.ndarray)), None)
        if first not in SMALL_FLOATS:
            return function(*inputs, **attributes)
        results = function(*map(_widened, inputs), **attributes)
        if isinstance(results, tuple):
            return tuple(_rounded(each, first) for each in results)
        return _rounded(results, first)

    return wrapper


def _widened(value: Any) -> Any:
    return value.astype(np.float32) if isinstance(value, np.ndarray) and value.dtype in SMALL_FLOATS else value


def _rounded(value: Any, dtype: Any) -> Any:
    return value.astype(dtype) if isinstance(value, np.ndarray | np.generic) and value.dtype == np.float32 else value
