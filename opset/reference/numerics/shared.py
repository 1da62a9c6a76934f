"""What kernels of several families share."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from opset.reference.registration import Function, KernelContext
from opset.schemas.constraints import Violation

Array = NDArray[Any]

# Float types that are computed in float32 and rounded once at the end.
SMALL_FLOATS = frozenset(
    np.dtype(kind)
    for kind in (
        *(np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2),
        *(ml_dtypes.float8_e5m2fnuz, ml_dtypes.float8_e8m0fnu, ml_dtypes.float4_e2m1fn),
        *(ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn),
    )
)

MOST_DIMENSIONS = 64
"""Dimensions that an array of numpy has at most."""


def positive_axis(axis: int, rank: int, label: str) -> int:
    """Return an axis counted from the front. Raises Violation of `label` where the tensor has no such axis."""
    if not -rank <= axis < rank:
        raise Violation(label, f"axis {axis}, rank {rank}")
    return axis % rank


def sizes_of(given: Array | Sequence[int]) -> list[int]:
    """Return the sizes of dimensions. Raises ValueError where they are more than the dimensions that an array can have.

    Products and messages of a million sizes would take long, and no limit would have been asked.
    """
    count = given.size if isinstance(given, np.ndarray) else len(given)
    if count > MOST_DIMENSIONS:
        raise ValueError(f"there are {count:,} sizes, and arrays have at most {MOST_DIMENSIONS} dimensions")
    return [int(each) for each in np.ravel(given)] if isinstance(given, np.ndarray) else list(given)


def reserve_reduced(x: Array, axes: Collection[int] | None, context: KernelContext) -> None:
    """Reserve what a reduction along axes gives: of an empty tensor it may be more elements than there are."""
    if not x.size and axes is not None:
        context.reserve(2 * math.prod(size for axis, size in enumerate(x.shape) if axis not in axes), np.float64)


def rounded_once(function: Function) -> Function:
    """Wrap a kernel so that small floats are computed in float32; results in float32 are then of the first's type.

    Adding up in half precision loses what a runtime, which adds in a wider type, does not; the standard asks for no
    order of additions, so the nearest to the exact result is the one to compare with.
    """

    @functools.wraps(function)
    def wrapper(*inputs: Any, **attributes: Any) -> Any:
        first = next((each.dtype for each in inputs if isinstance(each, np.ndarray)), None)
        if first not in SMALL_FLOATS:
            return function(*inputs, **attributes)
        results = function(*map(_widened, inputs), **attributes)
        if isinstance(results, tuple):
            return tuple(_narrowed(each, first) for each in results)
        return _narrowed(results, first)

    return wrapper


def _widened(value: Any) -> Any:
    return value.astype(np.float32) if isinstance(value, np.ndarray) and value.dtype in SMALL_FLOATS else value


def _narrowed(value: Any, dtype: Any) -> Any:
    return value.astype(dtype) if isinstance(value, np.ndarray | np.generic) and value.dtype == np.float32 else value


class Tensors(list[Array]):
    """A sequence that knows how many bytes its tensors have, so that one more is counted without all others.

    Sequences are made of plain lists too; only what grows or shrinks one by one has to be quick.
    """

    __slots__ = ("size",)

    def __init__(self, tensors: Iterable[Array], size: int) -> None:
        super().__init__(tensors)
        self.size = size


def size_of(value: Any) -> int:
    """Return the bytes of a value's arrays and texts; a map counts 64 for each entry."""
    if value.__class__ is np.ndarray:
        return value.nbytes + sum(map(sys.getsizeof, value.ravel())) if value.dtype.hasobject else value.nbytes
    if isinstance(value, list):
        return value.size if isinstance(value, Tensors) else sum(map(size_of, value))
    if isinstance(value, dict):
        return 64 * len(value)
    return int(getattr(value, "nbytes", 0))
