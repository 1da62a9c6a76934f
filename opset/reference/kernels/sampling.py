"""Kernels of GridSample, which interpolates images at the points of a grid, and of AffineGrid, which makes grids."""

from __future__ import annotations

import itertools
import math

import numpy as np

from opset.reference.numerics.arrays import Array, zero_of
from opset.reference.numerics.shapes import dims_of
from opset.reference.numerics.small_floats import rounded_once
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints.violation import Violation

CUBIC = -0.75
"""The coefficient of the cubic kernel, for which GridSample has no attribute."""


@kernel("GridSample", since=16)
@rounded_once
def grid_sample_16(
    x: Array, grid: Array, *, align_corners: int, mode: str, padding_mode: str, context: KernelContext
) -> Array:
    """Return the values of x at the points of `grid`, interpolated."""
    rank = x.ndim - 2
    if mode != "nearest" and x.dtype.kind not in "fiuc":
        raise Violation("C4", f"mode '{mode}' of elements that cannot be averaged")
    batch, channels, *sizes = x.shape
    output = grid.shape[1:-1]
    count = math.prod(output)
    taps = {"nearest": 1, "linear": 2, "bilinear": 2}.get(mode, 4)
    context.reserve(batch * channels * count, x.dtype)
    context.reserve(count * (rank + 1) * taps + channels * count, np.float64)
    context.reserve(count * taps**rank, np.int8)  # bounds the loop over neighbors, too
    if batch * channels * count and not math.prod(sizes) and padding_mode != "zeros":
        raise Violation("C5", f"X of {x.shape}")
    dtype = np.result_type(x.dtype, np.float32 if x.dtype.itemsize <= 4 else np.float64)
    precision = np.float64 if np.float64 in (x.dtype, grid.dtype) else np.float32
    result = np.full((batch, channels, count), zero_of(x.dtype if mode == "nearest" else dtype))
    if result.size and math.prod(sizes):
        for image in range(batch):
            points = grid[image].reshape(-1, rank)
            axes = [
                _neighbors(points[:, rank - 1 - axis].astype(precision), size, taps, align_corners, padding_mode)
                for axis, size in enumerate(sizes)
            ]
            _interpolate(x[image], axes, result[image], context)
    if x.dtype.kind in "iu" and mode != "nearest":
        limits = np.iinfo(x.dtype)
        result = np.clip(result, limits.min, limits.max)
    return result.reshape(batch, channels, *output).astype(x.dtype, copy=False)


Neighbors = tuple[Array, Array, Array]
"""Along one axis, for each point: the indices of its neighbors, their weights, and whether they are inside; each is
(taps, points)."""


def _interpolate(image: Array, axes: list[Neighbors], result: Array, context: KernelContext) -> None:
    """Add the weighted neighbors of each point in an image (C, *sizes) to `result` (C, points); copy a single one."""
    channels, *sizes = image.shape
    values = image.reshape(channels, -1)
    taps, count = axes[0][0].shape
    for corner in itertools.product(range(taps), repeat=len(axes)):
        context.check_time()
        index, inside = np.zeros(count, np.int64), np.ones(count, bool)
        for size, tap, (indices, _, valid) in zip(sizes, corner, axes, strict=True):
            index = index * size + indices[tap]
            inside &= valid[tap]
        neighbors = values[:, index]
        if not inside.all():
            neighbors[:, ~inside] = zero_of(image.dtype)
        if taps == 1:
            result[...] = neighbors
        else:
            weight: Array = math.prod(weights[tap] for tap, (_, weights, _) in zip(corner, axes, strict=True))
            result += neighbors * weight.astype(np.result_type(weight, np.float32))


def _neighbors(at: Array, size: int, taps: int, align_corners: int, padding_mode: str) -> Neighbors:
    """Return the neighbors along an axis of points with coordinates from -1 to 1."""
    half = at.dtype.type(0.5)
    at = (at + 1) * half * at.dtype.type(size - 1) if align_corners else ((at + 1) * at.dtype.type(size) - 1) * half
    low, high = (0, size - 1) if align_corners else (-0.5, size - 0.5)
    # NaN and infinity are outside, and points far outside are clipped: how far they are makes no difference.
    at = np.where(np.isfinite(at), at, low - 1 if padding_mode == "border" else -2.0 * size - 8).astype(at.dtype)
    if padding_mode == "border" and taps < 4:
        at = np.clip(at, 0, size - 1)
    if padding_mode == "reflection":
        at = _reflect(at, low, high)
    else:
        at = np.clip(at, -8.0, size + 8.0)
    if taps == 1:
        first = np.rint(at)
        weights = np.ones((1, len(at)), at.dtype)
    else:
        first = np.floor(at) - (taps // 2 - 1)
        part = at - np.floor(at)
        weights = np.stack((1 - part, part)) if taps == 2 else cubic_weights(part, CUBIC)
    indices = first.astype(np.int64) + np.arange(taps)[:, None]
    if padding_mode == "reflection":
        indices = np.rint(_reflect(indices.astype(np.float64), low, high)).astype(np.int64)
    valid = (indices >= 0) & (indices < size)
    if padding_mode != "zeros":
        valid[...] = True
    return np.clip(indices, 0, size - 1), weights, valid


def _reflect(at: Array, low: float, high: float) -> Array:
    """Return coordinates reflected at `low` and `high` until they are between them."""
    length = high - low
    if not length:
        return np.full_like(at, low)
    distance = np.abs(at - low)
    turns, rest = np.divmod(distance, length)
    reflected: Array = np.where(turns % 2 == 0, rest + low, high - rest).astype(at.dtype)
    return reflected


def cubic_weights(part: Array, a: float) -> Array:
    """Return the weights of the four neighbors of points that are `part` after the second of them (Keys 1981)."""
    steps = np.stack((part + 1, part, 1 - part, 2 - part))
    return cubic(steps, a).astype(part.dtype)


def cubic(distance: Array, a: float) -> Array:
    """Return the cubic convolution kernel with coefficient a at nonnegative distances from its center."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    result: Array = np.where(distance <= 1, near, np.where(distance < 2, far, 0))
    return result


@kernel("AffineGrid", since=20)
@rounded_once
def affine_grid_20(theta: Array, size: Array, *, align_corners: int, context: KernelContext) -> Array:
    """Return `theta` applied to each point of a uniform grid over [-1, 1], innermost dimension first, extended by 1."""
    shape = tuple(dims_of(size))
    rank = len(shape) - 2
    if len(theta) != shape[0]:
        raise Violation("C2", f"theta of {theta.shape}, size {shape}")
    count = math.prod(shape[2:])
    context.reserve((shape[0] + 1) * count * (rank + 1), theta.dtype)
    axes = [_uniform_grid(length, bool(align_corners), theta.dtype) for length in shape[:1:-1]]
    points = np.ones((count, rank + 1), theta.dtype)
    for axis, coordinates in enumerate(axes):
        points[:, axis] = np.broadcast_to(coordinates.reshape(-1, *[1] * axis), shape[2:]).reshape(-1)
    return (points @ theta.swapaxes(1, 2)).reshape(shape[0], *shape[2:], rank)


def _uniform_grid(count: int, align_corners: bool, dtype: np.dtype) -> Array:
    """Return the coordinates of `count` elements in [-1, 1]: from end to end, or the centers of equal parts."""
    steps = np.arange(count, dtype=dtype) * 2
    if align_corners:
        return steps / dtype.type(max(count - 1, 1)) - 1
    return (steps + 1) / dtype.type(max(count, 1)) - 1
