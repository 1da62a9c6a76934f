"""Floats narrower than float32: computed in float32, and rounded once."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from opset.model.arrays import DTYPES
from opset.model.elements import ELEMENTS
from opset.reference.registration import Function

SMALL_FLOATS = frozenset(
    DTYPES[element.number] for element in ELEMENTS.values() if "float" in element.name and element.bits <= 16
)


def is_float(value: Any) -> bool:
    """Whether a value is a tensor of floats, small ones included."""
    return isinstance(value, np.ndarray) and (value.dtype.kind == "f" or value.dtype in SMALL_FLOATS)


def rounded_once(function: Function) -> Function:
    """Wrap a kernel so that small floats are computed in float32, and its float32 results have the first input's type.

    A sum in half precision loses digits that a runtime, which accumulates in a wider type, keeps. The standard does not
    define the order of additions, so the value to compare with is the one nearest to the exact result.
    """

    @functools.wraps(function)
    def wrapper(*inputs: Any, **attributes: Any) -> Any:
        first = next((value.dtype for value in inputs if isinstance(value, np.ndarray)), None)
        if first not in SMALL_FLOATS:
            return function(*inputs, **attributes)
        if (context := attributes.get("context")) is not None:
            context.reserve(2 * sum(value.size for value in inputs if is_float(value)), np.float32)
        results = function(*map(widen, inputs), **attributes)
        if isinstance(results, tuple):
            return tuple(_round(value, first) for value in results)
        return _round(results, first)

    return wrapper


def widen(value: Any) -> Any:
    """Return small floats as float32, other values unchanged."""
    return value.astype(np.float32) if isinstance(value, np.ndarray) and value.dtype in SMALL_FLOATS else value


def _round(value: Any, dtype: Any) -> Any:
    """Return float32 values in a small float type, other values unchanged."""
    return value.astype(dtype) if isinstance(value, np.ndarray | np.generic) and value.dtype == np.float32 else value
