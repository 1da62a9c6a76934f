"""Comparison of results that a kernel computes from the same values in two types, if both types hold them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from opset.reference.comparison import tolerance_of
from opset.reference.example_models import value_of
from opset.schemas.example import ExampleValue

_WHOLE = 2.0**53


def compare_results(want: Any, have: Any, tolerance: float) -> tuple[str, bool]:
    """Compare results of two types, as far as both types hold their values.

    Args:
        want: result in the type to compare with.
        have: result in the other type.
        tolerance: relative tolerance that is allowed at least.

    Returns:
        How the results differ, with `{}` for the number of the output ("" if they do not), and whether values other
        than 0 were compared.
    """
    if want.shape != have.shape:
        return f"output {{}} has the shape {list(have.shape)}, and {list(want.shape)}", True
    rtol = max(_tolerance(want.dtype), _tolerance(have.dtype), tolerance)
    wide, got, comparable = _comparable_values(want, have)
    with np.errstate(all="ignore"):
        near = rtol * max(float(np.max(np.abs(wide), initial=0.0, where=comparable)), 1.0)
        wrong = comparable & ~(np.abs(wide - got) <= near)
    if wrong.any():
        first = int(wrong.argmax())
        return f"element {first} of output {{}} is {got.flat[first]:g}, and it is {wide.flat[first]:g}", True
    return "", bool(np.any(comparable & (wide != 0)))


def _limits(dtype: np.dtype[Any]) -> tuple[int, int] | None:
    """Return the least and the greatest number of an integer type, None for other types."""
    try:
        limits: Any = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
    except ValueError:
        return None
    return limits.min, limits.max


def _tolerance(dtype: np.dtype[Any]) -> float:
    """Return the tolerance for a result that is rounded to a type: a unit of its last digit at least."""
    usual = tolerance_of(dtype)
    if dtype.kind == "b" or _limits(dtype) is not None:
        return usual
    details: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return max(usual, float(details.eps))


def _comparable_values(want: Any, have: Any) -> tuple[Any, Any, Any]:
    """Return two results as doubles, and a mask of the values that both types hold and no limit has changed."""
    with np.errstate(all="ignore"):
        wide, got = want.astype(np.float64), have.astype(np.float64)
        comparable = np.isfinite(wide) & (np.abs(wide) < _WHOLE)
        for array in (want, have):
            limits = _limits(array.dtype)
            if limits is not None:  # near the greatest number, a result may be wrapped or cut off
                comparable &= (np.abs(wide) <= limits[1] // 2) & (wide >= limits[0])
            if array.dtype.kind == "b":
                comparable &= (wide == 0) | (wide == 1)
        if _limits(have.dtype) is not None:
            comparable &= wide == np.floor(wide)
        elif have.dtype.kind != "b":
            comparable &= np.isfinite(wide.astype(have.dtype).astype(np.float64))
    return wide, got, comparable


def retype_tensor(value: ExampleValue, type_: str) -> ExampleValue | None:
    """Return a tensor in another type with the same values, None if that type does not have them."""
    array = value_of(value).real
    with np.errstate(all="ignore"):
        exact = array.astype(np.float64)
        target = value_of(ExampleValue(type_, 0, ())).dtype
        if not np.array_equal(exact.astype(target).astype(np.float64), exact, equal_nan=True):
            return None
    number_type: Any = float
    if type_ == "tensor(bool)":
        number_type = bool
    elif "int" in type_:
        number_type = int
    return ExampleValue(type_, [*map(number_type, exact.ravel())], array.shape)
