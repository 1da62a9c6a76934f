"""Kernels of operators that read or write elements at indices, or select them by value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opset.inference.building.shapes import check_indices_shape, check_updates_shape, shape_of_slices
from opset.reference.numerics.arrays import Array
from opset.reference.numerics.small_floats import SMALL_FLOATS
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints.violation import Violation


def _check_range(indices: Array, size: int, label: str, least: int | None = None) -> None:
    """Raise Violation of `label` if an index is not from `least`, by default -size, to size - 1."""
    least = -size if least is None else least
    if indices.size and not least <= indices.min() <= indices.max() < size:
        raise Violation(label, f"indices from {indices.min()} to {indices.max()}, dimension {size}")


# -- reading --


@kernel("Gather", since=11)
def gather_11(x: Array, indices: Array, *, axis: int, context: KernelContext) -> Array:
    """Return the slices of x along `axis` at the indices."""
    axis %= x.ndim
    _check_range(indices, x.shape[axis], "C2")
    return _take(x, indices, axis, context)


@kernel("Gather")
def gather_1(x: Array, indices: Array, *, axis: int, context: KernelContext) -> Array:
    """Return the slices of x along `axis` at the indices, none of which is negative."""
    _check_range(indices, x.shape[axis], "C2", 0)
    return gather_11(x, indices, axis=axis, context=context)


def _take(x: Array, indices: Array, axis: int, context: KernelContext) -> Array:
    """Return the slices of x along an axis at the indices."""
    shape = x.shape[:axis] + indices.shape + x.shape[axis + 1 :]
    context.reserve(math.prod(shape), x.dtype)
    if not math.prod(shape):  # numpy refuses to take from an empty dimension, and is slow with empty slices
        return np.empty(shape, x.dtype)
    return x.take(indices.reshape(-1), axis).reshape(shape)


@kernel("GatherElements")
def gather_elements_11(x: Array, indices: Array, *, axis: int) -> Array:
    """Return for each index the element at its own coordinates, with the index as the coordinate along `axis`."""
    axis = _check_elements(x, indices, axis)
    return x[_coordinates(indices, axis)] if indices.size else np.empty(indices.shape, x.dtype)


def _check_elements(x: Array, indices: Array, axis: int) -> int:
    """Return the axis counted from the front. Raises Violation C2 or C3 if indices do not fit x."""
    axis %= x.ndim
    check_indices_shape(x.shape, indices.shape, axis)
    _check_range(indices, x.shape[axis], "C3")
    return axis


def _coordinates(indices: Array, axis: int) -> tuple[Array, ...]:
    """Return the coordinates of each element, with the index as the coordinate along the axis."""
    coordinates = list(np.ogrid[tuple(slice(size) for size in indices.shape)])
    coordinates[axis] = indices
    return tuple(coordinates)


@kernel("GatherND")
def gather_nd_11(x: Array, indices: Array, *, batch_dims: int = 0, context: KernelContext) -> Array:
    """Return the slices at index tuples, within the leading dimensions that x and the indices share."""
    shape: Any = shape_of_slices(x.shape, indices.shape, batch_dims, indices.shape[-1])
    tuples = _tuple_coordinates(x.shape[batch_dims:], indices, "C4")
    context.reserve(math.prod(shape), x.dtype)
    rank = indices.ndim - 1
    shared = [
        np.arange(size).reshape((-1,) + (1,) * (rank - 1 - axis)) for axis, size in enumerate(x.shape[:batch_dims])
    ]
    coordinates: Any = (*shared, *tuples, ...)  # with ..., the result is an array also at rank 0
    return x[coordinates]


def _tuple_coordinates(shape: Sequence[int], indices: Array, label: str) -> tuple[Array, ...]:
    """Return coordinates of index tuples, an array for each axis. Raises Violation of `label` for one out of range."""
    tuples = tuple(indices[..., axis] for axis in range(indices.shape[-1]))
    for coordinates, size in zip(tuples, shape, strict=False):
        _check_range(coordinates, size, label)
    return tuples


@kernel("Compress")
def compress_9(x: Array, condition: Array, *, axis: int | None, context: KernelContext) -> Array:
    """Return the slices along `axis`, or the elements, whose condition is true."""
    selected = np.flatnonzero(condition)
    return x.reshape(-1)[selected] if axis is None else _take(x, selected, axis % x.ndim, context)


@kernel("NonZero")
def non_zero_9(x: Array, *, context: KernelContext) -> Array:
    """Return the coordinates of elements that are not zero, in one row for each dimension."""
    context.reserve(2 * int(np.count_nonzero(x)) * x.ndim, np.int64)
    return np.ascontiguousarray(np.argwhere(x).T, np.int64)


# -- writing --


@kernel("Scatter", since=11)
@kernel("ScatterElements")
def scatter_11(x: Array, indices: Array, updates: Array, *, axis: int, reduction: str = "none") -> Array:
    """Return x with each update written to, or combined with, the element at its coordinates."""
    axis = _check_elements(x, indices, axis)
    return _write_updates(x, _coordinates(indices, axis), updates, reduction) if indices.size else x


@kernel("Scatter")
def scatter_9(x: Array, indices: Array, updates: Array, *, axis: int) -> Array:
    """Return x with each update written to the element at its coordinates; no index is negative."""
    _check_range(indices, x.shape[axis], "C3", 0)
    return scatter_11(x, indices, updates, axis=axis)


@kernel("ScatterND")
def scatter_nd_11(x: Array, indices: Array, updates: Array, *, reduction: str = "none") -> Array:
    """Return x with each update written to, or combined with, the slice at its index tuple."""
    check_updates_shape(x.shape, indices.shape, indices.shape[-1], updates.shape)
    return _write_updates(x, _tuple_coordinates(x.shape, indices, "C3"), updates, reduction)


_REDUCTIONS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def _write_updates(x: Array, coordinates: tuple[Array, ...], updates: Array, reduction: str) -> Array:
    """Return a copy of x with updates written to coordinates, or combined one by one with the elements there."""
    if reduction == "none":
        output = x.copy()
        output[coordinates] = updates
        return output
    if x.dtype in SMALL_FLOATS:
        return _write_updates(x.astype(np.float32), coordinates, updates.astype(np.float32), reduction).astype(x.dtype)
    output = x.copy()
    _REDUCTIONS[reduction].at(output, coordinates, updates)
    return output


# -- classes --


@kernel("OneHot", since=11)
def one_hot_11(indices: Array, depth: Array, values: Array, *, axis: int, context: KernelContext) -> Array:
    """Return the on value at the indices along a new axis, else the off value; negative indices count from the end."""
    whole = indices.astype(np.int64)
    return one_hot_9(np.where(whole < 0, whole + int(depth.item()), whole), depth, values, axis=axis, context=context)


@kernel("OneHot")
def one_hot_9(indices: Array, depth: Array, values: Array, *, axis: int, context: KernelContext) -> Array:
    """Return the on value at the indices along a new axis, else the off value; the axis -1 is the last one."""
    axis %= indices.ndim + 1
    count = int(depth.item())
    context.reserve(count, np.int64)
    context.reserve(indices.size * count, bool)
    context.reserve(indices.size * count, values.dtype)
    classes = np.arange(count).reshape((-1,) + (1,) * (indices.ndim - axis))
    return np.where(np.expand_dims(indices.astype(np.int64), axis) == classes, values[1:], values[:1])


# -- order --


@kernel("TopK", since=10)
def top_k_10(
    x: Array, k: Array, *, axis: int, largest: int = 1, sorted: int = 1, context: KernelContext
) -> tuple[Array, Array]:
    """Return the k largest or smallest elements along `axis` and their indices, always sorted."""
    axis %= x.ndim
    size, count = x.shape[axis], int(k.item())
    if not x.size or not count:
        shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
        return np.empty(shape, x.dtype), np.empty(shape, np.int64)
    context.reserve(3 * x.size, np.int64)
    keys = x.astype(np.float32) if x.dtype in SMALL_FLOATS else x
    if largest:
        # Sorted from last to first, so that of equal elements the first precedes once the order is reversed.
        order = size - 1 - np.flip(np.flip(keys, axis).argsort(axis, kind="stable"), axis)
    else:
        order = keys.argsort(axis, kind="stable")
    indices = np.ascontiguousarray(order.take(range(count), axis), np.int64)
    return np.take_along_axis(x, indices, axis), indices


@kernel("TopK")
def top_k_1(x: Array, *, k: int, axis: int, context: KernelContext) -> tuple[Array, Array]:
    """Return the k largest elements along `axis` and their indices."""
    return top_k_10(x, np.array(k), axis=axis, context=context)


@kernel("Unique")
def unique_11(x: Array, *, axis: int | None, sorted: int, context: KernelContext) -> tuple[Array, Array, Array, Array]:
    """Return distinct elements or slices, their first indices, the one that each input equals, and their counts."""
    if axis is not None:
        axis %= x.ndim
    context.reserve(6 * max(x.size, 0 if axis is None else x.shape[axis]), np.int64)
    keys = x.astype(np.float32) if x.dtype in SMALL_FLOATS else x
    first, inverse, counts = _find_distinct(keys, axis)
    if not sorted:
        order = first.argsort()
        first, counts, rank = first[order], counts[order], np.empty_like(order)
        rank[order] = np.arange(len(order))
        inverse = rank[inverse]
    values = x.reshape(-1)[first] if axis is None else _take(x, first, axis, context)
    return values, first.astype(np.int64), inverse.astype(np.int64), counts.astype(np.int64)


def _find_distinct(x: Array, axis: int | None) -> tuple[Array, Array, Array]:
    """Return the first index of each distinct element or slice, the inverse, and counts, in ascending order."""
    _, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    if axis is None:
        return first, inverse.reshape(-1), counts
    # Elements are replaced by their ranks, which compare as they do, whatever the type; slices by rows of ranks.
    width = math.prod(x.shape[:axis] + x.shape[axis + 1 :])
    rows = np.moveaxis(inverse.reshape(x.shape), axis, 0).reshape(x.shape[axis], width)
    # Big-endian bytes of non-negative numbers compare as the numbers do, and rows as their bytes.
    words = np.ascontiguousarray(rows, ">i8").view(f"V{8 * width}").reshape(-1) if rows.size else np.arange(len(rows))
    order = words.argsort(kind="stable")
    ranked = rows[order]
    begins = np.ones(len(rows), bool)
    begins[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
    inverse = np.empty(len(rows), np.int64)
    inverse[order] = begins.cumsum() - 1
    return order[begins], inverse, np.bincount(inverse, minlength=int(begins.sum()))
