"""Kernels of Split, Slice, Pad and CenterCropPad."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opset.inference.building.shapes import complete_parts, equal_parts, pad_shape
from opset.reference.numerics.arrays import Array, zero_of
from opset.reference.numerics.shapes import dims_of
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints.violation import Violation


@kernel("Split", since=18)
def split_18(
    x: Array, sizes: Array | None = None, *, axis: int, num_outputs: int | None, context: KernelContext
) -> tuple[Array, ...]:
    """Return x split along `axis` into parts of these sizes, or into `num_outputs` parts, the last the smallest."""
    if sizes is None and num_outputs != context.outputs:
        raise Violation("C2", f"num_outputs {num_outputs}, {context.outputs} outputs")
    return _split(x, sizes, axis % x.ndim, context, last_smaller=True)


@kernel("Split", since=13)
def split_13(x: Array, sizes: Array | None = None, *, axis: int, context: KernelContext) -> tuple[Array, ...]:
    """Return x split along `axis` into parts of these sizes, or into as many equal parts as there are outputs."""
    return _split(x, sizes, axis % x.ndim, context)


@kernel("Split")
def split_1(
    x: Array, sizes: Array | None = None, *, axis: int | None, split: Sequence[int] | None, context: KernelContext
) -> tuple[Array, ...]:
    """Return x split by the sizes in an attribute, or in the input of version 1; the default of `axis` is 0."""
    return _split(x, sizes if split is None else split, (axis or 0) % x.ndim, context)


def _split(
    x: Array, stated: Array | Sequence[int] | None, axis: int, context: KernelContext, last_smaller: bool = False
) -> tuple[Array, ...]:
    """Return x split along an axis into parts of these sizes, of which one may be inferred, or into equal parts."""
    sizes: Any
    if stated is None:
        sizes = equal_parts(x.shape[axis], context.outputs, last_smaller=last_smaller)
    else:
        sizes = [int(size) for size in np.reshape(stated, -1)]
        if len(sizes) != context.outputs:
            raise Violation("C2", f"{len(sizes)} parts, {context.outputs} outputs")
        sizes = complete_parts(sizes, x.shape[axis], "C2")
    return tuple(np.split(x, np.cumsum(sizes)[:-1], axis))


@kernel("Slice", since=10)
def slice_10(x: Array, starts: Array, ends: Array, axes: Array | None = None, steps: Array | None = None) -> Array:
    """Return the elements from `starts` up to `ends` by `steps`."""
    sliced = range(starts.size) if axes is None else _as_list(axes)
    return _slice(x, _as_list(starts), _as_list(ends), sliced, [1] * starts.size if steps is None else _as_list(steps))


@kernel("Slice")
def slice_1(x: Array, *, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int] | None) -> Array:
    """Return the elements from `starts` up to `ends`, along the first dimensions if `axes` is absent."""
    return _slice(x, starts, ends, range(len(starts)) if axes is None else axes, [1] * len(starts))


def _as_list(values: Array) -> list[int]:
    """Return integers of a tensor in a flat list."""
    integers: list[int] = values.reshape(-1).tolist()
    return integers


def _slice(x: Array, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Sequence[int]) -> Array:
    """Return the elements of x from starts up to ends by steps, along axes."""
    parts: list[Any] = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        parts[axis] = _bound_slice(start, end, step, x.shape[axis])
    return x[(*parts, ...)]  # an array also of rank 0


def _bound_slice(start: int, end: int, step: int, size: int) -> slice:
    """Return the slice between bounds: a start before the first element is the first, backwards as well."""
    start += size * (start < 0)
    end += size * (end < 0)
    if step > 0:
        return slice(max(start, 0), max(end, 0), step)
    return slice(max(start, 0), end if end >= 0 else None, step)


@kernel("CenterCropPad")
def center_crop_pad_18(x: Array, shape: Array, *, axes: Sequence[int] | None, context: KernelContext) -> Array:
    """Return x cropped or zero-padded about its center."""
    sizes = dims_of(shape)
    resized = range(x.ndim) if axes is None else [axis % x.ndim for axis in axes]
    source, target = [slice(None)] * x.ndim, [slice(None)] * x.ndim
    shape_out = list(x.shape)
    for axis, wanted in zip(resized, sizes, strict=True):
        size, shape_out[axis] = x.shape[axis], wanted
        begin = abs(size - wanted) // 2
        if size > wanted:
            source[axis] = slice(begin, begin + wanted)
        else:
            target[axis] = slice(begin, begin + size)
    context.reserve(math.prod(shape_out), x.dtype)
    result = np.full(shape_out, zero_of(x.dtype))
    result[tuple(target)] = x[tuple(source)]
    return result


@kernel("Pad", since=11)
def pad_11(
    x: Array, pads: Array, value: Array | None = None, axes: Array | None = None, *, mode: str, context: KernelContext
) -> Array:
    """Return x with elements added or removed at both ends of axes."""
    stated = range(x.ndim) if axes is None else [axis % x.ndim for axis in _as_list(axes)]
    fill = zero_of(x.dtype) if value is None else value.reshape(())
    return _pad(x, _as_list(pads), stated, mode, fill, context)


@kernel("Pad", since=2)
def pad_2(x: Array, *, pads: Sequence[int], mode: str, value: float, context: KernelContext) -> Array:
    """Return x with elements added or removed at both ends of all axes."""
    return _pad(x, pads, range(x.ndim), mode, np.array(value).astype(x.dtype), context)


@kernel("Pad")
def pad_1(x: Array, *, paddings: Sequence[int], mode: str, value: float, context: KernelContext) -> Array:
    """Return x with elements added at both ends of all axes."""
    result: Array = pad_2(x, pads=paddings, mode=mode, value=value, context=context)
    return result


def _pad(x: Array, pads: Sequence[int], axes: Sequence[int], mode: str, value: Array, context: KernelContext) -> Array:
    """Return x with elements added (positive pads) or removed (negative ones) at both ends of axes."""
    shape: Any = pad_shape(x.shape, pads, axes, mode)
    kept: list[Any] = [slice(None)] * x.ndim
    added = [(0, 0)] * x.ndim
    for axis, begin, end in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        kept[axis] = slice(max(-begin, 0), x.shape[axis] + min(end, 0))
        added[axis] = max(begin, 0), max(end, 0)
    x = x[(*kept, ...)]
    context.reserve(math.prod(shape), x.dtype)
    if mode == "constant":
        result = np.full(shape, value)
        result[tuple(slice(begin, begin + size) for (begin, _), size in zip(added, x.shape, strict=True))] = x
        return result
    for axis, (begin, end) in enumerate(added):
        size = x.shape[axis]
        if not (begin or end):
            continue
        if math.prod(shape):  # numpy takes long to take empty slices
            context.reserve(begin + size + end, np.int64)
            x = x.take(_source_indices(np.arange(-begin, size + end), size, mode), axis)
    return x.reshape(shape)


def _source_indices(positions: Array, size: int, mode: str) -> Array:
    """Return the indices of the elements to copy to positions, which are counted from the first element of the data."""
    if mode == "edge" or size == 1:
        return positions.clip(0, size - 1)
    if mode == "wrap":
        return positions % size
    # Forwards and backwards again, without repeating either end.
    positions = positions % (2 * size - 2)
    return np.minimum(positions, 2 * size - 2 - positions)
