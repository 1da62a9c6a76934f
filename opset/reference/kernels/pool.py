"""Kernels of pooling: maxima, means and norms of sliding windows or of whole channels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opset.reference.numerics.arrays import Array
from opset.reference.numerics.memory import reserve_reduced
from opset.reference.numerics.shapes import dims_of
from opset.reference.numerics.small_floats import rounded_once
from opset.reference.numerics.windows import Ints, Windows, reduce_windows, taps, window_attributes, windows_over
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints.violation import Violation


@kernel("MaxPool")
@rounded_once
def max_pool_1(
    x: Array,
    *,
    auto_pad: str,
    ceil_mode: int = 0,
    dilations: Ints = None,
    kernel_shape: Sequence[int],
    pads: Ints,
    storage_order: int = 0,
    strides: Ints,
    context: KernelContext,
) -> Any:
    """Return the maximum of each window, NaN if it holds one, and the flat index of the first maximum."""
    windows = windows_over(x.shape, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode=ceil_mode)
    if context.wants(1):
        return _maxima_and_indices(x, windows, storage_order, context)
    return reduce_windows(np.maximum, x, windows, _lowest_value(x.dtype), context)


def _lowest_value(dtype: Any) -> Any:
    """Return the lowest value of a type, minus infinity for floats."""
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _maxima_and_indices(x: Array, windows: Windows, storage_order: int, context: KernelContext) -> tuple[Array, Array]:
    """Return the maxima and their flat indices, -1 for a window without elements."""
    spatial = x.shape[2:]
    count = math.prod(spatial)
    context.reserve(x.size + count, np.int64)
    numbers: Array = np.arange(count).reshape(spatial if storage_order == 0 else spatial[::-1])
    indices: Array = np.broadcast_to(numbers if storage_order == 0 else numbers.transpose(), x.shape)
    # From the last axis on, so that the first of equal maxima in row-major order wins.
    for axis in reversed(range(2, x.ndim)):
        kernel, stride, dilation, begin, _, count = (field[axis - 2] for field in windows)
        shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
        context.reserve(2 * math.prod(shape), np.int64)
        maxima, maxima_indices = np.full(shape, _lowest_value(x.dtype), x.dtype), np.full(shape, -1)
        leading: tuple[Any, ...] = (slice(None),) * axis
        for some_windows, elements in taps(x.shape[axis], kernel, stride, dilation, begin, count):
            context.check_time()
            value = x[(*leading, elements)]
            best, best_index = maxima[(*leading, some_windows)], maxima_indices[(*leading, some_windows)]
            better = (value > best) | (best_index < 0) | (np.isnan(value) & ~np.isnan(best))
            np.copyto(best, value, where=better)
            np.copyto(best_index, indices[(*leading, elements)], where=better)
        x, indices = maxima, maxima_indices
    channel_starts = np.arange(math.prod(x.shape[:2])).reshape(*x.shape[:2], *[1] * len(spatial)) * math.prod(spatial)
    return x, np.where(indices < 0, -1, indices + channel_starts)


@kernel("AveragePool")
@rounded_once
def average_pool_1(
    x: Array,
    *,
    auto_pad: str,
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    dilations: Ints = None,
    kernel_shape: Sequence[int],
    pads: Ints,
    strides: Ints,
    context: KernelContext,
) -> Array:
    """Return the mean of each window; elements beyond the padding never count."""
    windows = windows_over(x.shape, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode=ceil_mode)
    context.reserve(4 * max(windows.output) + math.prod(windows.output), np.int64)
    sums = reduce_windows(np.add, x, windows, 0, context)
    counts = np.ones((), x.dtype)
    for size, extent, stride, dilation, begin, end, count in zip(x.shape[2:], *windows, strict=True):
        starts = np.arange(count) * stride - begin
        low, high = (-begin, size + end) if count_include_pad else (0, size)
        # The n of the window's elements for which low <= start + n * dilation < high.
        first = np.maximum(-((starts - low) // dilation), 0)
        stop = np.minimum(-((starts - high) // dilation), extent)
        counts = np.multiply.outer(counts, np.maximum(stop - first, 0).astype(x.dtype))
    means: Array = sums / counts
    return means


@kernel("LpPool")
@rounded_once
def lp_pool_1(
    x: Array,
    *,
    auto_pad: str,
    ceil_mode: int = 0,
    dilations: Ints = None,
    kernel_shape: Sequence[int],
    p: float,
    pads: Ints,
    strides: Ints,
    context: KernelContext,
) -> Array:
    """Return the p-norm of each window. Version 1 leaves the meaning of an absent `kernel_shape` open."""
    windows = windows_over(x.shape, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode=ceil_mode)
    return _root(reduce_windows(np.add, _powers(x, p), windows, 0, context), p)


def _powers(x: Array, p: float) -> Array:
    """Return `abs(x) ** p`."""
    if p == 2:
        return np.square(x)
    powers: Array = np.abs(x)
    return powers if p == 1 else powers ** x.dtype.type(p)


def _root(sums: Array, p: float) -> Array:
    """Return `sums ** (1 / p)`."""
    if p == 1:
        return sums
    return np.sqrt(sums) if p == 2 else sums ** sums.dtype.type(1 / p)


def _channel_rows(x: Array, context: KernelContext) -> tuple[Array, tuple[int, ...]]:
    """Return the elements of each channel as one row, and the shape of an output with one value for each channel."""
    reserve_reduced(x, range(2, x.ndim), context)
    return x.reshape(*x.shape[:2], math.prod(x.shape[2:])), (*x.shape[:2], *[1] * (x.ndim - 2))


@kernel("GlobalAveragePool")
@rounded_once
def global_average_pool_1(x: Array, *, context: KernelContext) -> Array:
    """Return the mean of each channel, NaN of an empty one."""
    rows, shape = _channel_rows(x, context)
    means: Array = rows.sum(2) / rows.dtype.type(rows.shape[2])
    return means.reshape(shape)


@kernel("GlobalMaxPool")
@rounded_once
def global_max_pool_1(x: Array, *, context: KernelContext) -> Array:
    """Return the maximum of each channel, minus infinity of an empty one."""
    rows, shape = _channel_rows(x, context)
    return rows.max(2, initial=-np.inf).reshape(shape)


@kernel("GlobalLpPool")
@rounded_once
def global_lp_pool_1(x: Array, *, p: float, context: KernelContext) -> Array:
    """Return the p-norm of each channel."""
    rows, shape = _channel_rows(x, context)
    return _root(_powers(rows, p).sum(2), p).reshape(shape)


@kernel("MaxUnpool", since=9)
def max_unpool_9(
    x: Array,
    indices: Array,
    output_shape: Array | None = None,
    *,
    kernel_shape: Sequence[int],
    pads: Ints,
    strides: Ints,
    context: KernelContext,
) -> Array:
    """Return zeros, but the values of x at the positions of the flat output that `indices` lists."""
    rank = x.ndim - 2
    strides, _, pads = window_attributes(kernel_shape, strides, None, pads)
    axes = zip(x.shape[2:], strides, kernel_shape, pads[:rank], pads[rank:], strict=True)
    inferred = [(size - 1) * stride + window - begin - end for size, stride, window, begin, end in axes]
    shape = (*x.shape[:2], *inferred)
    if output_shape is not None:
        shape = tuple(dims_of(output_shape))
        if shape[:2] != x.shape[:2]:
            raise Violation("C4", f"output_shape {shape}, values of {x.shape}")
    if min(shape) < 0:
        raise Violation("C4", f"the output would be of {shape}")
    count = math.prod(shape)
    context.reserve(count, x.dtype)
    if indices.size and not 0 <= indices.min() <= indices.max() < count:
        raise Violation("C5", f"indices from {indices.min()} to {indices.max()}, {count} elements")
    result = np.zeros(count, x.dtype)
    result[indices.reshape(-1)] = x.reshape(-1)
    return result.reshape(shape)
