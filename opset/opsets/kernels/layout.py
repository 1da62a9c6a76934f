"""Kernels of operators that move, join, cut and repeat elements and change none of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from opset.opsets.kernels import Call, Violation, kernel
from opset.opsets.kernels import pad as pad  # kernels of this family, too
from opset.opsets.kernels.axes import front_axis, positive_axes, zero_of
from opset.opsets.kernels.shared import Array, positive_axis, sizes_of


@kernel("Identity")
def identity(x: Any) -> Any:
    """Give x."""
    return x


# -- shapes --


@kernel("Shape", since=15)
def shape(x: Array, *, start: int, end: int | None) -> Array:
    """Give the dimensions from start up to end, both clamped as Python's slices are."""
    return np.array(x.shape[start:end], np.int64)


@kernel("Shape")
def whole_shape(x: Array) -> Array:
    """Give all dimensions."""
    return np.array(x.shape, np.int64)


@kernel("Size")
def size(x: Array) -> Array:
    """Give the number of elements."""
    return np.array(x.size, np.int64)


@kernel("Reshape", since=5)
def reshape(x: Array, shape: Array, *, allowzero: int = 0) -> Array:
    """Give the elements in another shape, in which one dimension may be left to find and others taken over."""
    return _reshaped(x, sizes_of(shape), bool(allowzero))


@kernel("Reshape")
def reshape_by_attribute(x: Array, *, shape: Sequence[int] | None) -> Array:
    """Give `reshape`, the shape an attribute; an absent one is the same as an empty one."""
    return _reshaped(x, sizes_of(shape or ()), False)


def _reshaped(x: Array, dims: list[int], zeros: bool) -> Array:
    wanted = list(dims)
    if dims.count(-1) > 1 or any(each < -1 for each in dims):
        raise Violation("C1", f"shape {dims}")
    if zeros:
        if 0 in dims and -1 in dims:
            raise Violation("C4", f"shape {dims}")
    else:
        for place, each in enumerate(dims):
            if each == 0:
                if place >= x.ndim:
                    raise Violation("C2", f"shape {dims}, rank {x.ndim}")
                dims[place] = x.shape[place]
    if -1 in dims:
        known = math.prod(each for each in dims if each != -1)
        if not known or x.size % known:
            raise Violation("C3", f"{x.size} elements, shape {wanted}")
        dims[dims.index(-1)] = x.size // known
    elif math.prod(dims) != x.size:
        raise Violation("C3", f"{x.size} elements, shape {wanted}")
    return x.reshape(dims)


@kernel("Flatten", since=11)
def flatten(x: Array, *, axis: int) -> Array:
    """Give a matrix, its rows the dimensions before axis."""
    if not -x.ndim <= axis <= x.ndim:
        raise Violation("C1", f"axis {axis}, rank {x.ndim}")
    axis += x.ndim * (axis < 0)
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


@kernel("Flatten")
def flatten_from_front(x: Array, *, axis: int) -> Array:
    """Give `flatten`, axis counted from the front."""
    front_axis(axis, x.ndim + 1, "C1")
    return flatten(x, axis=axis)


@kernel("Squeeze", since=13)
def squeeze(x: Array, axes: Array | None = None) -> Array:
    """Give x without the dimensions `axes`, or without any of size one."""
    return _squeezed(x, None if axes is None else positive_axes(axes.reshape(-1).tolist(), x.ndim, "C1"))


@kernel("Squeeze", since=11)
def squeeze_by_attribute(x: Array, *, axes: Sequence[int] | None) -> Array:
    """Give `squeeze`, axes an attribute."""
    return _squeezed(x, None if axes is None else positive_axes(axes, x.ndim, "C1"))


@kernel("Squeeze")
def squeeze_from_front(x: Array, *, axes: Sequence[int] | None) -> Array:
    """Give `squeeze`, axes an attribute and counted from the front."""
    return _squeezed(x, None if axes is None else [front_axis(axis, x.ndim, "C1") for axis in axes])


def _squeezed(x: Array, axes: Iterable[int] | None) -> Array:
    gone = {axis for axis, size in enumerate(x.shape) if size == 1} if axes is None else set(axes)
    if any(x.shape[axis] != 1 for axis in gone):
        raise Violation("C2", f"axes {sorted(gone)}, shape {list(x.shape)}")
    return x.reshape([size for axis, size in enumerate(x.shape) if axis not in gone])


@kernel("Unsqueeze", since=13)
def unsqueeze(x: Array, axes: Array) -> Array:
    """Give x with dimensions of one at the places `axes` of the result."""
    rank = x.ndim + axes.size
    return _unsqueezed(x, positive_axes(axes.reshape(-1).tolist(), rank, "C1"))


@kernel("Unsqueeze", since=11)
def unsqueeze_by_attribute(x: Array, *, axes: Sequence[int]) -> Array:
    """Give `unsqueeze`, axes an attribute."""
    return _unsqueezed(x, positive_axes(axes, x.ndim + len(axes), "C1"))


@kernel("Unsqueeze")
def unsqueeze_from_front(x: Array, *, axes: Sequence[int]) -> Array:
    """Give `unsqueeze`, axes an attribute and counted from the front."""
    rank = x.ndim + len(axes)
    return _unsqueezed(x, [front_axis(axis, rank, "C1") for axis in axes])


def _unsqueezed(x: Array, axes: Sequence[int]) -> Array:
    new = set(axes)
    if len(new) < len(axes):
        raise Violation("C2", f"axes {list(axes)}")
    sizes = iter(x.shape)
    return x.reshape([1 if axis in new else next(sizes) for axis in range(x.ndim + len(axes))])


# -- order --


@kernel("Transpose")
def transpose(x: Array, *, perm: Sequence[int] | None) -> Array:
    """Give x with its dimensions in the order perm, or the reverse order."""
    if perm is not None and sorted(perm) != list(range(x.ndim)):
        raise Violation("C1", f"perm {list(perm)}, rank {x.ndim}")
    return x.transpose(perm)


@kernel("DepthToSpace")
def depth_to_space(x: Array, *, blocksize: int, mode: str = "DCR") -> Array:
    """Give x with blocks of channels moved to height and width."""
    count, channels, height, width = _image(x, blocksize)
    depth, rest = divmod(channels, blocksize * blocksize)
    if rest:
        raise Violation("C3", f"{channels} channels, blocksize {blocksize}")
    if mode == "DCR":
        blocks = x.reshape(count, blocksize, blocksize, depth, height, width).transpose(0, 3, 4, 1, 5, 2)
    elif mode == "CRD":
        blocks = x.reshape(count, depth, blocksize, blocksize, height, width).transpose(0, 1, 4, 2, 5, 3)
    else:
        raise Violation("C4", f"mode {mode!r}")
    return blocks.reshape(count, depth, height * blocksize, width * blocksize)


@kernel("SpaceToDepth")
def space_to_depth(x: Array, *, blocksize: int, mode: str = "DCR") -> Array:
    """Give x with blocks of height and width moved to the channels."""
    count, channels, height, width = _image(x, blocksize)
    if height % blocksize or width % blocksize:
        raise Violation("C3", f"height {height}, width {width}, blocksize {blocksize}")
    height, width = height // blocksize, width // blocksize
    blocks = x.reshape(count, channels, height, blocksize, width, blocksize)
    if mode == "DCR":
        blocks = blocks.transpose(0, 3, 5, 1, 2, 4)
    elif mode == "CRD":
        blocks = blocks.transpose(0, 1, 3, 5, 2, 4)
    else:
        raise Violation("C4", f"mode {mode!r}")
    return blocks.reshape(count, channels * blocksize * blocksize, height, width)


def _image(x: Array, blocksize: int) -> tuple[int, ...]:
    if x.ndim != 4:
        raise Violation("C1", f"rank {x.ndim}")
    if blocksize < 1:
        raise Violation("C2", f"blocksize {blocksize}")
    return x.shape


@kernel("ReverseSequence")
def reverse_sequence(x: Array, lengths: Array, *, batch_axis: int, time_axis: int, run: Call) -> Array:
    """Give x with the first elements in time of each sequence reversed, as many as its length says."""
    if {batch_axis, time_axis} != {0, 1} or x.ndim < 2:
        raise Violation("C1", f"batch_axis {batch_axis}, time_axis {time_axis}, rank {x.ndim}")
    batch, time = x.shape[batch_axis], x.shape[time_axis]
    if lengths.shape != (batch,):
        raise Violation("C2", f"{list(lengths.shape)} lengths, {batch} sequences")
    if lengths.size and not 0 <= lengths.min() <= lengths.max() <= time:
        raise Violation("C3", f"lengths from {lengths.min()} to {lengths.max()}, dimension of time {time}")
    if not x.size:
        return x
    run.reserve(3 * batch * time, np.int64)
    steps = np.arange(time)
    order = np.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)
    which = np.arange(batch)
    return x[which[:, None], order] if batch_axis == 0 else x[order.T, which]


@kernel("Trilu")
def trilu(x: Array, k: Array | None = None, *, upper: int) -> Array:
    """Give the upper or lower triangle of each matrix, up to and with the diagonal k."""
    if x.ndim < 2:
        raise Violation("C1", f"rank {x.ndim}")
    if k is not None and k.size != 1:
        raise Violation("C2", f"{k.size} values")
    if not x.size:
        return x
    rows, columns = x.shape[-2:]
    diagonal = min(max(int(k.item()), -rows), columns) if k is not None else 0
    below = np.tri(rows, columns, diagonal - 1 if upper else diagonal, dtype=bool)
    return np.where(below != bool(upper), x, zero_of(x.dtype))


# -- parts --


@kernel("Concat", since=4)
def concat(*inputs: Array, axis: int, run: Call) -> Array:
    """Give the inputs joined along axis."""
    return _joined(inputs, positive_axis(axis, inputs[0].ndim, "C1"), run)


@kernel("Concat")
def concat_along_columns(*inputs: Array, axis: int | None, run: Call) -> Array:
    """Give `concat`, axis 1 where it is left out."""
    return _joined(inputs, positive_axis(1 if axis is None else axis, inputs[0].ndim, "C1"), run)


def _joined(inputs: Sequence[Array], axis: int, run: Call) -> Array:
    first = inputs[0].shape
    for each in inputs:
        if each.ndim != len(first) or each.shape[:axis] != first[:axis] or each.shape[axis + 1 :] != first[axis + 1 :]:
            raise Violation("C2", f"shapes {list(first)} and {list(each.shape)}, axis {axis}")
    run.reserve(sum(each.size for each in inputs), inputs[0].dtype)
    return np.concatenate(inputs, axis)


@kernel("Split", since=18)
def split(x: Array, sizes: Array | None = None, *, axis: int, num_outputs: int | None, run: Call) -> tuple[Array, ...]:
    """Give x cut along axis into parts of these sizes, or into num_outputs parts of which the last is the smallest."""
    axis = positive_axis(axis, x.ndim, "C1")
    if (sizes is None) == (num_outputs is None):
        raise Violation("C3", "neither is" if sizes is None else "both are")
    if num_outputs is None:
        assert sizes is not None
        return _parts(x, sizes.reshape(-1).tolist(), axis, run)
    total = x.shape[axis]
    each = -(-total // num_outputs) if num_outputs > 0 else 0
    last = total - each * (num_outputs - 1)
    if num_outputs < 1 or last < 0:
        raise Violation("C2", f"num_outputs {num_outputs}, dimension {total}")
    if num_outputs != run.outputs:
        raise Violation("C2", f"num_outputs {num_outputs}, {run.outputs} outputs")
    return _parts(x, [each] * (num_outputs - 1) + [last], axis, run)


@kernel("Split", since=13)
def split_by_outputs(x: Array, sizes: Array | None = None, *, axis: int, run: Call) -> tuple[Array, ...]:
    """Give x cut along axis into parts of these sizes, or into as many equal parts as there are outputs."""
    return _cut(x, sizes, positive_axis(axis, x.ndim, "C1"), run)


@kernel("Split")
def split_by_attribute(
    x: Array, sizes: Array | None = None, *, axis: int | None, split: Sequence[int] | None, run: Call
) -> tuple[Array, ...]:
    """Give `split_by_outputs`, the sizes an attribute or an input of version 1, axis 0 if left out."""
    return _cut(x, sizes if split is None else split, positive_axis(axis or 0, x.ndim, "C1"), run)


def _cut(x: Array, sizes: Array | Sequence[int] | None, axis: int, run: Call) -> tuple[Array, ...]:
    if sizes is not None:
        return _parts(x, [int(each) for each in np.reshape(sizes, -1)], axis, run)
    each, rest = divmod(x.shape[axis], run.outputs)
    if rest:
        raise Violation("C2", f"{run.outputs} outputs, dimension {x.shape[axis]}")
    return _parts(x, [each] * run.outputs, axis, run)


def _parts(x: Array, sizes: list[int], axis: int, run: Call) -> tuple[Array, ...]:
    if any(each < 0 for each in sizes) or sum(sizes) != x.shape[axis]:
        raise Violation("C2", f"sizes {sizes}, dimension {x.shape[axis]}")
    if len(sizes) != run.outputs:
        raise Violation("C2", f"{len(sizes)} parts, {run.outputs} outputs")
    ends = np.cumsum(sizes)[:-1]
    return tuple(np.split(x, ends, axis))


@kernel("Slice", since=10)
def slice_(x: Array, starts: Array, ends: Array, axes: Array | None = None, steps: Array | None = None) -> Array:
    """Give the elements from starts up to ends by steps."""
    places = positive_axes(range(starts.size) if axes is None else _list(axes), x.ndim, "C2")
    return _sliced(x, _list(starts), _list(ends), places, None if steps is None else _list(steps))


@kernel("Slice")
def slice_by_attributes(
    x: Array, *, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int] | None
) -> Array:
    """Give the elements from starts up to ends, along the first dimensions where no axes are given."""
    places = positive_axes(range(len(starts)) if axes is None else axes, x.ndim, "C2")
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
    """Give the slice between bounds as they are clamped: a start before the front is the front, backwards as well."""
    start += size * (start < 0)
    end += size * (end < 0)
    if step > 0:
        return slice(min(max(start, 0), size), min(max(end, 0), size), step)
    start, end = min(max(start, 0), size - 1), min(max(end, -1), size - 1)
    if end >= start or not size:
        return slice(0, 0)
    return slice(start, end if end >= 0 else None, step)


@kernel("CenterCropPad")
def center_crop_pad(x: Array, shape: Array, *, axes: Sequence[int] | None, run: Call) -> Array:
    """Give x cropped and padded with zeros about its centre."""
    sizes = sizes_of(shape)
    places = range(x.ndim) if axes is None else positive_axes(axes, x.ndim, "C2")
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
    run.reserve(math.prod(result), x.dtype)
    output = np.full(result, zero_of(x.dtype))
    output[tuple(put)] = x[tuple(taken)]
    return output


# -- repetition --


@kernel("Tile", since=6)
def tile(x: Array, repeats: Array, *, run: Call) -> Array:
    """Give x repeated along each dimension."""
    return _tiled(x, sizes_of(repeats), run)


@kernel("Tile")
def tile_along_axis(x: Array, tiles: Array, axis: Array, *, run: Call) -> Array:
    """Give x repeated along one dimension; count and dimension are floats that hold integers."""
    count, place = float(tiles.item()), float(axis.item())
    if not count.is_integer() or not place.is_integer():
        raise Violation("C2", f"tiles {count}, axis {place}")
    repeats = [1] * x.ndim
    repeats[front_axis(int(place), x.ndim, "C1")] = int(count)
    return _tiled(x, repeats, run)


def _tiled(x: Array, repeats: list[int], run: Call) -> Array:
    if len(repeats) != x.ndim:
        raise Violation("C1", f"{len(repeats)} repeats, rank {x.ndim}")
    if any(each < 0 for each in repeats):
        raise Violation("C2", f"repeats {repeats}")
    run.reserve(x.size * math.prod(repeats), x.dtype)
    return np.tile(x, repeats)


@kernel("Expand")
def expand(x: Array, shape: Array, *, run: Call) -> Array:
    """Give x broadcast with a shape."""
    dims = sizes_of(shape)
    if any(each < 0 for each in dims):
        raise Violation("C1", f"shape {dims}")
    rank = max(x.ndim, len(dims))
    pairs = list(zip((1,) * (rank - x.ndim) + x.shape, [1] * (rank - len(dims)) + dims, strict=True))
    if any(have != want and 1 not in (have, want) for have, want in pairs):
        raise Violation("C2", f"shapes {list(x.shape)} and {dims}")
    result = [want if have == 1 else have for have, want in pairs]
    run.reserve(math.prod(result), x.dtype)
    return np.broadcast_to(x, result)
