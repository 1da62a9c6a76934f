"""Kernels of operators that move, join and repeat elements without changing them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opset.inference.building.shapes import concat_shapes, expand_shape
from opset.reference.numerics.arrays import Array, zero_of
from opset.reference.numerics.shapes import dims_of
from opset.reference.registration import KernelContext, kernel


# -- shapes --
@kernel("Shape", since=15)
def shape_15(x: Array, *, start: int, end: int | None) -> Array:
    """Return the dimensions from `start` to `end`, clamped as in a Python slice."""
    return np.array(x.shape[start:end], np.int64)


@kernel("Shape")
def shape_1(x: Array) -> Array:
    """Return all dimensions."""
    return np.array(x.shape, np.int64)


@kernel("Size")
def size_1(x: Array) -> Array:
    """Return the number of elements."""
    return np.array(x.size, np.int64)


# -- order --
@kernel("Transpose")
def transpose_1(x: Array, *, perm: Sequence[int] | None) -> Array:
    """Return x with its dimensions in the order `perm`, by default reversed."""
    return x.transpose(perm)


@kernel("DepthToSpace")
def depth_to_space_1(x: Array, *, blocksize: int, mode: str = "DCR") -> Array:
    """Return x with channels rearranged into blocks of height and width."""
    count, channels, height, width = x.shape
    depth = channels // (blocksize * blocksize)
    if mode == "DCR":
        blocks = x.reshape(count, blocksize, blocksize, depth, height, width).transpose(0, 3, 4, 1, 5, 2)
    else:  # CRD
        blocks = x.reshape(count, depth, blocksize, blocksize, height, width).transpose(0, 1, 4, 2, 5, 3)
    return blocks.reshape(count, depth, height * blocksize, width * blocksize)


@kernel("SpaceToDepth")
def space_to_depth_1(x: Array, *, blocksize: int, mode: str = "DCR") -> Array:
    """Return x with blocks of height and width rearranged into channels."""
    count, channels, height, width = x.shape
    height, width = height // blocksize, width // blocksize
    blocks = x.reshape(count, channels, height, blocksize, width, blocksize)
    blocks = blocks.transpose((0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4))
    return blocks.reshape(count, channels * blocksize * blocksize, height, width)


@kernel("ReverseSequence")
def reverse_sequence_10(x: Array, lengths: Array, *, batch_axis: int, time_axis: int, context: KernelContext) -> Array:
    """Return x with the first elements of each sequence reversed along time, as many as its length says."""
    if not x.size:
        return x
    batch, time = x.shape[batch_axis], x.shape[time_axis]
    context.reserve(3 * batch * time, np.int64)
    steps = np.arange(time)
    order = np.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)
    sequences = np.arange(batch)
    return x[sequences[:, None], order] if batch_axis == 0 else x[order.T, sequences]


@kernel("Trilu")
def trilu_14(x: Array, k: Array | None = None, *, upper: int) -> Array:
    """Return the upper or lower triangle of each matrix, diagonal k included."""
    if not x.size:
        return x
    rows, columns = x.shape[-2:]
    diagonal = min(max(int(k.item()), -rows), columns) if k is not None else 0
    below = np.tri(rows, columns, diagonal - 1 if upper else diagonal, dtype=bool)
    return np.where(below != bool(upper), x, zero_of(x.dtype))


# -- parts --
@kernel("Concat", since=4)
def concat_4(*inputs: Array, axis: int, context: KernelContext) -> Array:
    """Return the inputs joined along `axis`."""
    axis %= inputs[0].ndim
    shape: Any = concat_shapes([x.shape for x in inputs], axis)
    context.reserve(math.prod(shape), inputs[0].dtype)
    return np.concatenate(inputs, axis)


@kernel("Concat")
def concat_1(*inputs: Array, axis: int | None, context: KernelContext) -> Array:
    """Return the inputs joined along `axis`, 1 if it is absent."""
    return concat_4(*inputs, axis=1 if axis is None else axis, context=context)


# -- repetition --
@kernel("Tile", since=6)
def tile_6(x: Array, repeats: Array | Sequence[int], *, context: KernelContext) -> Array:
    """Return x repeated along each dimension."""
    counts = dims_of(repeats)
    context.reserve(x.size * math.prod(counts), x.dtype)
    return np.tile(x, counts)


@kernel("Tile")
def tile_1(x: Array, tiles: Array, axis: Array, *, context: KernelContext) -> Array:
    """Return x repeated along one dimension; count and dimension are floats with integral values."""
    repeats = [1] * x.ndim
    repeats[int(axis.item())] = int(tiles.item())
    return tile_6(x, repeats, context=context)


@kernel("Expand")
def expand_8(x: Array, shape: Array, *, context: KernelContext) -> Array:
    """Return x and a shape broadcast together."""
    result: Any = expand_shape(x.shape, tuple(dims_of(shape)))
    context.reserve(math.prod(result), x.dtype)
    return np.broadcast_to(x, result)
