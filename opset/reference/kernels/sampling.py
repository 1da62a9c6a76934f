"""Kernels of GridSample, which reads images at given places, and of AffineGrid, which makes such places."""

from __future__ import annotations

import itertools
import math

import numpy as np

from opset.reference.numerics.arrays import Array
from opset.reference.numerics.shapes import dims_of
from opset.reference.numerics.small_floats import rounded_once
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints import Violation

CUBIC = -0.75
"""The coefficient of the cubic kernel, which GridSample has no attribute for."""


@kernel("GridSample", since=16)
@rounded_once
def grid_sample_16(
    x: Array, grid: Array, *, align_corners: int, mode: str, padding_mode: str, context: KernelContext
) -> Array:
    """Return the values of x at the places of `grid`, interpolated."""
    rank = x.ndim - 2
    fits = grid.ndim == x.ndim and grid.shape[-1] == rank and grid.shape[0] == x.shape[0]
    if rank < 1 or not fits or (context.version < 20 and rank != 2):
        raise Violation("C1", f"X of {x.shape}, grid of {grid.shape}")
    modes = ("bilinear", "nearest", "bicubic") if context.version < 20 else ("linear", "nearest", "cubic")
    if mode not in modes:
        raise Violation("C2", f"mode '{mode}'")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise Violation("C3", f"padding_mode '{padding_mode}'")
    if mode != "nearest" and x.dtype.kind not in "fiuc":
        raise Violation("C4", f"mode '{mode}' of elements that cannot be averaged")
    batch, channels, *sizes = x.shape
    output = grid.shape[1:-1]
    count = math.prod(output)
    taps = {"nearest": 1, "linear": 2, "bilinear": 2}.get(mode, 4)
    context.reserve(batch * channels * count, x.dtype)
    context.reserve(count * (rank + 1) * taps + channels * count, np.float64)
    context.reserve(count * taps**rank, np.int8)  # bounds the loop over neighbours, too
    kind = np.result_type(x.dtype, np.float32 if x.dtype.itemsize <= 4 else np.float64)
    result = np.zeros((batch, channels, count), x.dtype if mode == "nearest" else kind)
    if x.dtype == object:
        result[...] = ""
    if not result.size:
        return result.reshape(batch, channels, *output).astype(x.dtype)
    if not math.prod(sizes):
        if padding_mode != "zeros":
            raise Violation("C5", f"X of {x.shape}")
        return result.reshape(batch, channels, *output).astype(x.dtype)
    for image in range(batch):
        axes = [
            _neighbours(grid[image, ..., rank - 1 - axis].reshape(-1), size, taps, align_corners, padding_mode)
            for axis, size in enumerate(sizes)
        ]
        values = x[image].reshape(channels, -1)
        for corner in itertools.product(range(taps), repeat=rank):
            context.check_time()
            place, inside, weight = np.zeros(count, np.int64), np.ones(count, bool), None
            for size, step, (places, weights, valid) in zip(sizes, corner, axes, strict=True):
                place = place * size + places[step]
                inside &= valid[step]
                if taps > 1:
                    weight = weights[step] if weight is None else weight * weights[step]
            seen = values[:, place]
            if not inside.all():
                seen[:, ~inside] = result.dtype.type(0) if x.dtype != object else ""
            if weight is None:
                result[image] = seen
            else:
                result[image] += seen * weight.astype(np.result_type(weight, np.float32))
    if x.dtype.kind in "iu" and mode != "nearest":
        limits = np.iinfo(x.dtype)
        result = np.clip(result, limits.min, limits.max)
    return result.reshape(batch, channels, *output).astype(x.dtype, copy=False)


def _neighbours(at: Array, size: int, taps: int, align_corners: int, padding_mode: str) -> tuple[Array, Array, Array]:
    """Return for positions from -1 to 1 the elements beside them along an axis, their weights, and which there are.

    Each is (taps, positions).
    """
    at = at.astype(np.float64 if at.dtype == np.float64 else np.float32)
    half = at.dtype.type(0.5)
    at = (at + 1) * half * at.dtype.type(size - 1) if align_corners else ((at + 1) * at.dtype.type(size) - 1) * half
    low, high = (0, size - 1) if align_corners else (-0.5, size - 0.5)
    # What is no number is nowhere, and what is far away is no nearer for being exact.
    at = np.where(np.isfinite(at), at, low - 1 if padding_mode == "border" else -2.0 * size - 8).astype(at.dtype)
    if padding_mode == "border" and taps < 4:
        at = np.clip(at, 0, size - 1)
    if padding_mode == "reflection":
        at = _reflected(at, low, high)
    else:
        at = np.clip(at, -8.0, size + 8.0)
    if taps == 1:
        first = np.rint(at)
        weights = np.ones((1, len(at)), at.dtype)
    else:
        first = np.floor(at) - (taps // 2 - 1)
        part = at - np.floor(at)
        weights = np.stack((1 - part, part)) if taps == 2 else cubic_weights(part, CUBIC)
    places = first.astype(np.int64) + np.arange(taps)[:, None]
    if padding_mode == "reflection":
        places = np.rint(_reflected(places.astype(np.float64), low, high)).astype(np.int64)
    valid = (places >= 0) & (places < size)
    if padding_mode != "zeros":
        valid[...] = True
    return np.clip(places, 0, size - 1), weights, valid


def _reflected(at: Array, low: float, high: float) -> Array:
    """Return positions reflected at `low` and `high` until they lie between them."""
    length = high - low
    if not length:
        return np.full_like(at, low)
    distance = np.abs(at - low)
    turns, rest = np.divmod(distance, length)
    reflected: Array = np.where(turns % 2 == 0, rest + low, high - rest).astype(at.dtype)
    return reflected


def cubic_weights(part: Array, a: float) -> Array:
    """Return the weights of the four elements around points that lie `part` behind the second of them (Keys 1981)."""
    steps = np.stack((part + 1, part, 1 - part, 2 - part))
    return cubic(steps, a).astype(part.dtype)


def cubic(distance: Array, a: float) -> Array:
    """Return the cubic convolution kernel with coefficient a at distances from its centre, none of them negative."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    result: Array = np.where(distance <= 1, near, np.where(distance < 2, far, 0))
    return result


@kernel("AffineGrid", since=20)
@rounded_once
def affine_grid_20(theta: Array, size: Array, *, align_corners: int, context: KernelContext) -> Array:
    """Return each position of an even grid over [-1, 1], innermost dimension first, extended by 1, times `theta`."""
    shape = tuple(dims_of(size))
    rank = len(shape) - 2
    if rank not in (2, 3) or min(shape) < 0:
        raise Violation("C1", f"size {shape}")
    if theta.shape != (shape[0], rank, rank + 1):
        raise Violation("C2", f"theta of {theta.shape}, size {shape}")
    count = math.prod(shape[2:])
    context.reserve((shape[0] + 1) * count * (rank + 1), theta.dtype)
    axes = [_even(length, bool(align_corners), theta.dtype) for length in shape[:1:-1]]
    places = np.ones((count, rank + 1), theta.dtype)
    for axis, at in enumerate(axes):
        whole = np.broadcast_to(at.reshape(-1, *[1] * axis), shape[2:])
        places[:, axis] = whole.reshape(-1)
    return (places @ theta.swapaxes(1, 2)).reshape(shape[0], *shape[2:], rank)


def _even(count: int, align_corners: bool, dtype: np.dtype) -> Array:
    """Return the positions of `count` elements in [-1, 1]: its ends and between, or the middles of equal parts."""
    steps = np.arange(count, dtype=dtype) * 2
    if align_corners:
        return steps / dtype.type(max(count - 1, 1)) - 1
    return (steps + 1) / dtype.type(max(count, 1)) - 1
