"""Kernels of operators that cut parts out of tensors, or pad them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opset.reference.numerics.arrays import Array, zero_of
from opset.reference.numerics.axes import normalised_axes, normalised_axis
from opset.reference.numerics.shapes import dims_of
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints import Violation


@kernel("Split", since=18)
def split_18(
    x: Array, sizes: Array | None = None, *, axis: int, num_outputs: int | None, context: KernelContext
) -> tuple[Array, ...]:
    """X cut along axis into parts of these sizes, or into num_outputs parts of which the last is the smallest."""
    axis = normalised_axis(axis, x.ndim, "C1")
    if (sizes is None) == (num_outputs is None):
        raise Violation("C3", "neither is" if sizes is None else "both are")
    if num_outputs is None:
        assert sizes is not None
        return _parts(x, sizes.reshape(-1).tolist(), axis, context)
    total = x.shape[axis]
    each = -(-total // num_outputs) if num_outputs > 0 else 0
    last = total - each * (num_outputs - 1)
    if num_outputs < 1 or last < 0:
        raise Violation("C2", f"num_outputs {num_outputs}, dimension {total}")
    if num_outputs != context.outputs:
        raise Violation("C2", f"num_outputs {num_outputs}, {context.outputs} outputs")
    return _parts(x, [each] * (num_outputs - 1) + [last], axis, context)


@kernel("Split", since=13)
def split_13(x: Array, sizes: Array | None = None, *, axis: int, context: KernelContext) -> tuple[Array, ...]:
    """Return x cut along axis into parts of these sizes, or into as many equal parts as there are outputs."""
    return _cut(x, sizes, normalised_axis(axis, x.ndim, "C1"), context)


@kernel("Split")
def split_1(
    x: Array, sizes: Array | None = None, *, axis: int | None, split: Sequence[int] | None, context: KernelContext
) -> tuple[Array, ...]:
    """Return `split_by_outputs`, the sizes an attribute or an input of version 1, axis 0 if left out."""
    return _cut(x, sizes if split is None else split, normalised_axis(axis or 0, x.ndim, "C1"), context)


def _cut(x: Array, sizes: Array | Sequence[int] | None, axis: int, context: KernelContext) -> tuple[Array, ...]:
    if sizes is not None:
        return _parts(x, [int(each) for each in np.reshape(sizes, -1)], axis, context)
    each, rest = divmod(x.shape[axis], context.outputs)
    if rest:
        raise Violation("C2", f"{context.outputs} outputs, dimension {x.shape[axis]}")
    return _parts(x, [each] * context.outputs, axis, context)


def _parts(x: Array, sizes: list[int], axis: int, context: KernelContext) -> tuple[Array, ...]:
    if any(each < 0 for each in sizes) or sum(sizes) != x.shape[axis]:
        raise Violation("C2", f"sizes {sizes}, dimension {x.shape[axis]}")
    if len(sizes) != context.outputs:
        raise Violation("C2", f"{len(sizes)} parts, {context.outputs} outputs")
    ends = np.cumsum(sizes)[:-1]
    return tuple(np.split(x, ends, axis))


@kernel("Slice", since=10)
def slice_10(x: Array, starts: Array, ends: Array, axes: Array | None = None, steps: Array | None = None) -> Array:
    """Return the elements from starts up to ends by steps."""
    places = normalised_axes(range(starts.size) if axes is None else _list(axes), x.ndim, "C2")
    return _sliced(x, _list(starts), _list(ends), places, None if steps is None else _list(steps))


@kernel("Slice")
def slice_1(
    x: Array, *, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int] | None
) -> Array:
    """Return the elements from starts up to ends, along the first dimensions where no axes are given."""
    places = normalised_axes(range(len(starts)) if axes is None else axes, x.ndim, "C2")
    return _sliced(x, starts, ends, places, None)


def _list(values: Array) -> list[int]:
    found: list[int] = values.reshape(-1).tolist()
    return found


def _sliced(
    x: Array, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Sequence[int] | None
) -> Array:
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise Violation("C1", f"{len(starts)} starts, {len(ends)} ends, {len(axes)} axes, {len(steps)} steps")
    if len(set(axes)) < len(axes):
        raise Violation("C3", f"axes {list(axes)}")
    if 0 in steps:
        raise Violation("C4", f"steps {list(steps)}")
    parts: list[Any] = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        parts[axis] = _bounded(start, end, step, x.shape[axis])
    return x[(*parts, ...)]  # an array also of rank 0


def _bounded(start: int, end: int, step: int, size: int) -> slice:
    """Return the slice between bounds as they are clamped: a start before the front is the front, backwards as well."""
    start += size * (start < 0)
    end += size * (end < 0)
    if step > 0:
        return slice(min(max(start, 0), size), min(max(end, 0), size), step)
    start, end = min(max(start, 0), size - 1), min(max(end, -1), size - 1)
    if end >= start or not size:
        return slice(0, 0)
    return slice(start, end if end >= 0 else None, step)


@kernel("CenterCropPad")
def center_crop_pad_18(x: Array, shape: Array, *, axes: Sequence[int] | None, context: KernelContext) -> Array:
    """Return x cropped and padded with zeros about its centre."""
    sizes = dims_of(shape)
    places = range(x.ndim) if axes is None else normalised_axes(axes, x.ndim, "C2")
    if len(sizes) != len(places):
        raise Violation("C1", f"{len(sizes)} sizes for {len(places)} axes")
    if len(set(places)) < len(places):
        raise Violation("C3", f"axes {list(places)}")
    if any(each < 0 for each in sizes):
        raise Violation("C4", f"shape {sizes}")
    taken, put = [slice(None)] * x.ndim, [slice(None)] * x.ndim
    result = list(x.shape)
    for axis, wanted in zip(places, sizes, strict=True):
        have, result[axis] = x.shape[axis], wanted
        begin = abs(have - wanted) // 2
        if have > wanted:
            taken[axis] = slice(begin, begin + wanted)
        else:
            put[axis] = slice(begin, begin + have)
    context.reserve(math.prod(result), x.dtype)
    output = np.full(result, zero_of(x.dtype))
    output[tuple(put)] = x[tuple(taken)]
    return output


_MODES = ("constant", "reflect", "edge")


@kernel("Pad", since=11)
def pad_11(
    x: Array, pads: Array, value: Array | None = None, axes: Array | None = None, *, mode: str, context: KernelContext
) -> Array:
    """Return x with elements added at both ends of axes, or removed."""
    places = range(x.ndim) if axes is None else normalised_axes(axes.reshape(-1).tolist(), x.ndim, "C2")
    if mode not in _MODES and (mode != "wrap" or context.version < 19):
        raise Violation("C4", f"mode {mode!r}")
    if value is None:
        value = zero_of(x.dtype)
    elif value.size != 1:
        raise Violation("C5", f"{value.size} values")
    return _padded(x, pads.reshape(-1).tolist(), places, mode, value.reshape(()), context)


@kernel("Pad", since=2)
def pad_2(x: Array, *, pads: Sequence[int], mode: str, value: float, context: KernelContext) -> Array:
    """Return `pad` of all axes, the number of elements and the value attributes."""
    if mode not in _MODES:
        raise Violation("C4", f"mode {mode!r}")
    return _padded(x, pads, range(x.ndim), mode, np.array(value).astype(x.dtype), context)


@kernel("Pad")
def pad_1(x: Array, *, paddings: Sequence[int], mode: str, value: float, context: KernelContext) -> Array:
    """Return `pad_by_attributes`, where nothing can be removed."""
    if any(each < 0 for each in paddings):
        raise Violation("C2", f"paddings {list(paddings)}")
    result: Array = pad_2(x, pads=paddings, mode=mode, value=value, context=context)
    return result


def _padded(
    x: Array, pads: Sequence[int], axes: Sequence[int], mode: str, value: Array, context: KernelContext
) -> Array:
    if len(pads) != 2 * len(axes):
        raise Violation("C1", f"{len(pads)} pads for {len(axes)} axes")
    if len(set(axes)) < len(axes):
        raise Violation("C2", f"axes {list(axes)}")
    kept: list[Any] = [slice(None)] * x.ndim
    added = [(0, 0)] * x.ndim
    for axis, begin, end in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        size = x.shape[axis]
        if size + min(begin, 0) + min(end, 0) < 0:
            raise Violation("C3", f"pads {begin} and {end}, dimension {size}")
        kept[axis] = slice(max(-begin, 0), size + min(end, 0))
        added[axis] = max(begin, 0), max(end, 0)
    x = x[(*kept, ...)]
    shape = [size + sum(each) for size, each in zip(x.shape, added, strict=True)]
    context.reserve(math.prod(shape), x.dtype)
    if mode == "constant":
        output = np.full(shape, value)
        output[tuple(slice(begin, begin + size) for (begin, _), size in zip(added, x.shape, strict=True))] = x
        return output
    for axis, (begin, end) in enumerate(added):
        if begin or end:
            size = x.shape[axis]
            if not size:
                raise Violation("C6", f"axis {axis}, mode {mode}")
            if not math.prod(shape):  # numpy takes long to take empty slices
                continue
            context.reserve(begin + size + end, np.int64)
            x = x.take(_sources(np.arange(-begin, size + end), size, mode), axis)
    return x.reshape(shape)


def _sources(places: Array, size: int, mode: str) -> Array:
    """Return the positions in the data that positions of the result, counted from the data's first, are copied from."""
    if mode == "edge" or size == 1:
        return places.clip(0, size - 1)
    if mode == "wrap":
        return places % size
    # There and back again, without either end twice.
    places = places % (2 * size - 2)
    return np.minimum(places, 2 * size - 2 - places)
