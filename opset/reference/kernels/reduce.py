"""Kernels of reductions along axes: sums, products, extremes and their indices; and of running sums and products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from opset.reference.numerics.arrays import Array
from opset.reference.numerics.memory import reserve_reduced
from opset.reference.numerics.small_floats import rounded_once
from opset.reference.registration import KernelContext, kernel

Axes = tuple[int, ...] | None
Reduction = Callable[[Array, Axes, bool], Array]


def _reduce(ufunc: Any, x: Array, axes: Axes, keep: bool, **options: Any) -> Array:
    """Return a reduction of x by a ufunc along axes, all of them for None."""
    return ufunc.reduce(x, axes, keepdims=keep, **options)


def sum_of(x: Array, axes: Axes, keep: bool) -> Array:
    """Return sums in the type of `x`; integers wrap around."""
    # Along no axes nothing is added, not even 0, which would be another number than -0.0.
    return x if axes == () else _reduce(np.add, x, axes, keep, dtype=x.dtype)


def mean_of(x: Array, axes: Axes, keep: bool) -> Array:
    """Return means; for integers, the quotient of the exact sum, truncated towards zero."""
    count = x.size if axes is None else int(np.prod([x.shape[axis] for axis in axes]))
    if x.dtype.kind == "f":
        return np.divide(sum_of(x, axes, keep), x.dtype.type(count))
    wide = np.uint64 if x.dtype.kind == "u" else np.int64
    total, divisor = _reduce(np.add, x, axes, keep, dtype=wide), wide(count)
    round_up = (total < 0) & (total % divisor != 0)
    return (total // divisor + round_up).astype(x.dtype)


def _limits(dtype: np.dtype[Any]) -> tuple[object, object]:
    """Return the lowest and the highest value of a type, infinities for floats."""
    if dtype.kind == "b":
        return False, True
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min, limits.max
    return dtype.type(-np.inf), dtype.type(np.inf)


def log_sum_exp_of(x: Array, axes: Axes, keep: bool) -> Array:
    """Return logarithms of sums of exponentials; the maximum is subtracted first, so that nothing overflows."""

    def compute(wide: Array) -> Array:
        highest = _reduce(np.maximum, wide, axes, True, initial=-np.inf)
        highest = np.where(np.isfinite(highest), highest, wide.dtype.type(0))
        result = np.log(sum_of(np.exp(wide - highest), axes, keep))
        return result + highest.reshape(result.shape)

    return _compute_in_double(x, compute)


def _compute_in_double(x: Array, compute: Callable[[Array], Array]) -> Array:
    """Return the result of `compute`, for integers computed in double and truncated."""
    return compute(x) if x.dtype.kind == "f" else compute(x.astype(np.float64)).astype(x.dtype)


# Integers wrap around. NaN is an extreme; of no elements, the extremes are the limits of the type.
_REDUCTIONS: dict[str, Reduction] = {
    "ReduceL1": lambda x, axes, keep: sum_of(np.abs(x), axes, keep),
    "ReduceL2": lambda x, axes, keep: _compute_in_double(x, lambda wide: np.sqrt(sum_of(wide * wide, axes, keep))),
    "ReduceLogSum": lambda x, axes, keep: _compute_in_double(x, lambda wide: np.log(sum_of(wide, axes, keep))),
    "ReduceLogSumExp": log_sum_exp_of,
    "ReduceMax": lambda x, axes, keep: _reduce(np.maximum, x, axes, keep, initial=_limits(x.dtype)[0]),
    "ReduceMean": mean_of,
    "ReduceMin": lambda x, axes, keep: _reduce(np.minimum, x, axes, keep, initial=_limits(x.dtype)[1]),
    "ReduceProd": lambda x, axes, keep: _reduce(np.multiply, x, axes, keep, dtype=x.dtype),
    "ReduceSum": sum_of,
    "ReduceSumSquare": lambda x, axes, keep: sum_of(x * x, axes, keep),
}
_BY_FLOATS = ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp")


def _register(operator: str, reduction: Reduction, since: int) -> None:
    """Register a reduction, whose axes became an input with version `since`; before, they were an attribute."""

    def reduce_axes(data: Array, axes: Axes, keepdims: int, context: KernelContext) -> Array:
        reserve_reduced(data, axes, context)
        if data.dtype.kind != "f" and operator in _BY_FLOATS:
            context.reserve(5 * data.size, np.float64)
        return reduction(data, axes, keepdims != 0)

    @kernel(operator, since=since)
    @rounded_once
    def by_input(
        data: Array, axes: Array | None = None, *, keepdims: int, noop_with_empty_axes: int, context: KernelContext
    ) -> Array:
        if axes is None or not axes.size:
            return reduce_axes(data, () if noop_with_empty_axes else None, keepdims, context)
        return reduce_axes(data, tuple([axis % data.ndim for axis in axes.tolist()]), keepdims, context)

    @kernel(operator)
    @rounded_once
    def by_attribute(data: Array, *, axes: Axes, keepdims: int, context: KernelContext) -> Array:
        chosen = tuple([axis % data.ndim for axis in axes]) if axes else None
        return reduce_axes(data, chosen, keepdims, context)


for _name, _reduction in _REDUCTIONS.items():
    _register(_name, _reduction, 13 if _name == "ReduceSum" else 18)


def _register_index(operator: str, find: Callable[..., Array]) -> None:
    """Register a search for the index of an extreme; NaN counts as one."""

    @kernel(operator)
    def index_of_extreme(data: Array, *, axis: int, keepdims: int, select_last_index: int = 0) -> Array:
        if data.dtype == ml_dtypes.bfloat16:  # numpy does not count NaN as an extreme there
            data = data.astype(np.float32)
        if select_last_index:
            index = data.shape[axis] - 1 - find(np.flip(data, axis), axis)
        else:
            index = find(data, axis)
        return np.asarray(np.expand_dims(index, axis) if keepdims else index, np.int64)


_register_index("ArgMax", np.argmax)
_register_index("ArgMin", np.argmin)


def _register_accumulation(operator: str, since: int, ufunc: np.ufunc, identity: int) -> None:
    """Register running results of a ufunc along an axis, from `identity` if exclusive."""

    @kernel(operator, since=since)
    @rounded_once
    def accumulate(x: Array, axis: Array, *, exclusive: int, reverse: int) -> Array:
        along = int(axis.item()) % x.ndim
        ordered = np.flip(x, along) if reverse else x
        if exclusive:
            results = np.full_like(x, identity)
            leading = (slice(None),) * along
            ufunc.accumulate(ordered[(*leading, slice(0, -1))], along, x.dtype, out=results[(*leading, slice(1, None))])
        else:
            results = ufunc.accumulate(ordered, along, x.dtype)
        return np.flip(results, along) if reverse else results


_register_accumulation("CumSum", 11, np.add, 0)
_register_accumulation("CumProd", 26, np.multiply, 1)
