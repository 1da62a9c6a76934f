"""Kernels of Resize and Upsample: axes are resized one after the other, as weighted sums of elements.

Coordinates are computed in single precision, in which scales are given and runtimes compute, so that a coordinate that
is meant to be an integer is one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from opset.reference.kernels.sampling import cubic
from opset.reference.numerics.arrays import Array
from opset.reference.numerics.small_floats import rounded_once
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints.violation import Violation

F32 = np.float32


class Method(NamedTuple):
    """The attributes of Resize; attributes that a version lacks have the values that correspond to it."""

    mode: str
    coordinates: str
    nearest_mode: str
    cubic_coeff_a: float
    exclude_outside: int
    extrapolation_value: float
    antialias: int


class Axis(NamedTuple):
    """One axis to resize: its number, sizes, scale, and the region that tf_crop_and_resize crops."""

    number: int
    size: int
    output: int
    scale: float
    start: float
    end: float


@kernel("Upsample")
@rounded_once
def upsample_1(x: Array, *, height_scale: float, mode: str, width_scale: float, context: KernelContext) -> Array:
    """Return images enlarged in height and width."""
    method = "linear" if mode == "bilinear" else mode
    return _resize_by_division(x, (1.0, 1.0, height_scale, width_scale), method, context)


@kernel("Upsample", since=7)
@rounded_once
def upsample_7(x: Array, *, mode: str, scales: Sequence[float], context: KernelContext) -> Array:
    """Return a tensor enlarged along all axes."""
    return _resize_by_division(x, scales, mode, context)


@kernel("Upsample", since=9)
@kernel("Resize", since=10)
@rounded_once
def resize_10(x: Array, scales: Array, *, mode: str, context: KernelContext) -> Array:
    """Return a tensor resized along all axes."""
    return _resize_by_division(x, scales.reshape(-1).tolist(), mode, context)


def _resize_by_division(x: Array, scales: Sequence[float], mode: str, context: KernelContext) -> Array:
    """Return x resized as before version 11: coordinates are divided by the scale."""
    axes = [
        Axis(index, size, math.floor(F32(size) * F32(scale)), scale, 0, 1)
        for index, (size, scale) in enumerate(zip(x.shape, scales, strict=True))
    ]
    for down in (True, False):
        # As in the standard's test cases, the nearest element is the one above if an axis shrinks, else the one below.
        rounding = "ceil" if down else "floor"
        chosen = [axis for axis in axes if (axis.scale < 1) == down]
        x = _resize(x, chosen, Method(mode, "asymmetric", rounding, 0.0, 0, 0.0, 0), context)
    return x


@kernel("Resize", since=11)
@rounded_once
def resize_11(
    x: Array,
    roi: Array | None = None,
    scales: Array | None = None,
    sizes: Array | None = None,
    *,
    antialias: int = 0,
    axes: Sequence[int] | None = None,
    coordinate_transformation_mode: str,
    cubic_coeff_a: float,
    exclude_outside: int,
    extrapolation_value: float,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str,
    nearest_mode: str,
    context: KernelContext,
) -> Array:
    """Return x resized along each of `axes`, by `scales` or to `sizes`; in version 11 the unused one is empty."""
    method = Method(
        mode,
        coordinate_transformation_mode,
        nearest_mode,
        cubic_coeff_a,
        exclude_outside,
        extrapolation_value,
        antialias,
    )
    crop = coordinate_transformation_mode == "tf_crop_and_resize"
    indices = [axis % x.ndim for axis in axes] if axes else list(range(x.ndim))
    count = len(indices)
    factors = [] if scales is None else scales.reshape(-1).tolist()
    wanted = [] if sizes is None else sizes.reshape(-1).tolist()
    if bool(factors) == bool(wanted) and indices:
        raise Violation("C5", f"{len(factors)} scales and {len(wanted)} sizes")
    if len(factors or wanted) != count:
        raise Violation("C1", f"{len(factors or wanted)} for {count} axes")
    starts, ends = [0.0] * count, [1.0] * count
    if crop:
        region = [] if roi is None else roi.reshape(-1).astype(F32).tolist()
        if len(region) != 2 * count or not all(map(math.isfinite, region)):
            raise Violation("C6", f"roi {region}, {count} axes")
        starts, ends = region[:count], region[count:]
    lengths = [x.shape[index] for index in indices]
    if wanted:
        outputs = _fit_sizes(lengths, wanted, keep_aspect_ratio_policy)
    else:
        outputs = [
            (max(math.floor(F32(length) * F32(end - start) * F32(scale)), 0), scale)
            for length, scale, start, end in zip(lengths, factors, starts, ends, strict=True)
        ]
    resized = [
        Axis(index, length, output, scale, start, end)
        for index, length, (output, scale), start, end in zip(indices, lengths, outputs, starts, ends, strict=True)
    ]
    return _resize(x, resized, method, context)


def _fit_sizes(lengths: Sequence[int], wanted: Sequence[int], policy: str) -> list[tuple[int, float]]:
    """Return the output size and the scale of each axis, for wanted sizes under a policy for the aspect ratio."""
    if policy != "stretch" and all(lengths):
        ratios = [F32(want) / F32(length) for want, length in zip(wanted, lengths, strict=True)]
        common = min(ratios) if policy == "not_larger" else max(ratios)
        return [(math.floor(F32(length) * common + F32(0.5)), float(common)) for length in lengths]
    return [(want, want / length if length else 1.0) for want, length in zip(wanted, lengths, strict=True)]


_ROUNDINGS: dict[str, Callable[[Array], Array]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "round_prefer_ceil": lambda at: np.floor(at + F32(0.5)),
    "round_prefer_floor": lambda at: np.ceil(at - F32(0.5)),
}


def _resize(x: Array, axes: Sequence[Axis], method: Method, context: KernelContext) -> Array:
    """Return x resized along the axes, in the order of their ratios of output to input size."""
    crop = method.coordinates == "tf_crop_and_resize"
    axes = [
        axis for axis in axes if axis.output != axis.size or axis.scale != 1 or (axis.start, axis.end) != (0.0, 1.0)
    ]
    if any(axis.size == 0 < axis.output for axis in axes):
        raise Violation("C7", f"shape {x.shape}")
    shape = list(x.shape)
    for axis in axes:
        shape[axis.number] = axis.output
    context.reserve(math.prod(shape), x.dtype)
    if not math.prod(shape):
        return np.zeros(shape, x.dtype)
    dtype, source = x.dtype, x
    outside: Array | None = None
    if method.mode != "nearest":
        if dtype.kind not in "fiuc":
            raise Violation("C4", f"mode '{method.mode}'")
        # Integers are truncated at the end, so results that are exact have to stay exact.
        x = x.astype(np.float64 if dtype.kind in "iu" else dtype, copy=False)
    for axis in sorted(axes, key=lambda axis: axis.output / axis.size):
        context.reserve(axis.output * 16, F32)
        at = _coordinates(axis, method.coordinates)
        if crop:
            outside_axis = (at < 0) | (at > axis.size - 1)
            outside_axis = outside_axis.reshape(-1, *[1] * (x.ndim - 1 - axis.number))
            outside = outside_axis if outside is None else outside | outside_axis
        if method.mode == "nearest":
            indices = np.clip(_ROUNDINGS[method.nearest_mode](at), 0, axis.size - 1).astype(np.int64)
            x = x.take(indices, axis.number)
        else:
            x = _interpolate(x, axis, at, method, context)
    if outside is not None and outside.any():
        x = np.where(outside, np.asarray(method.extrapolation_value).astype(x.dtype), x)
    if x.dtype != dtype and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        x = np.clip(np.rint(x) if method.antialias else x, limits.min, limits.max)
    return x.astype(dtype, copy=x is source)


def _coordinates(axis: Axis, mode: str) -> Array:
    """Return the coordinate in the input of each element of the output."""
    _, size, count, ratio, start, end = axis
    positions, scale = np.arange(count, dtype=F32), F32(ratio)
    last = F32(size - 1)
    match mode:
        case "asymmetric":
            return positions / scale
        case "pytorch_half_pixel" if count <= 1:
            return np.zeros(count, F32)
        case "half_pixel" | "pytorch_half_pixel":
            return (positions + F32(0.5)) / scale - F32(0.5)
        case "half_pixel_symmetric":
            center = F32(size) / 2
            shift = center * (1 - F32(count) / (scale * F32(size)))
            return shift + (positions + F32(0.5)) / scale - F32(0.5)
        case "align_corners":
            return positions * last / F32(max(count - 1, 1))
        case "tf_half_pixel_for_nn":
            return (positions + F32(0.5)) / scale
    if count <= 1:
        return np.full(count, F32(0.5) * F32(start + end) * last, F32)
    return F32(start) * last + positions * (F32(end) - F32(start)) * last / F32(count - 1)


def _interpolate(x: Array, axis: Axis, at: Array, method: Method, context: KernelContext) -> Array:
    """Return x interpolated along an axis at coordinates, by a linear or cubic kernel."""
    neighbors, weights = _weigh_neighbors(at, axis, method, context)
    outside = (neighbors < 0) | (neighbors >= axis.size)
    if method.exclude_outside:
        weights = np.where(outside, 0, weights)
        sums = weights.sum(0)
        weights = weights / np.where(sums == 0, 1, sums)
    neighbors = np.clip(neighbors, 0, axis.size - 1)
    weights = weights.astype(np.float64 if x.dtype.itemsize > 4 and x.dtype.kind != "c" else F32)
    shape = (*x.shape[: axis.number], axis.output, *x.shape[axis.number + 1 :])
    context.reserve(2 * math.prod(shape) + 2 * x.size, x.dtype)
    result = np.full(shape, -0.0, x.dtype)  # a sum of nothing: adding it changes no sign of a zero
    if len(neighbors) > axis.output:
        for position in range(axis.output):
            context.check_time()
            part = x.take(neighbors[:, position], axis.number)
            target = result.swapaxes(0, axis.number)[position, ...]  # a view also of one element
            target += np.tensordot(part.swapaxes(0, axis.number), weights[:, position], (0, 0))
        return result
    trailing = [1] * (x.ndim - 1 - axis.number)
    for indices, weight in zip(neighbors, weights, strict=True):
        context.check_time()
        part = x.take(indices, axis.number)
        part *= weight.reshape(-1, *trailing)
        result += part
    return result


def _weigh_neighbors(at: Array, axis: Axis, method: Method, context: KernelContext) -> tuple[Array, Array]:
    """Return the neighbors of each coordinate and their weights, both as (neighbors, coordinates)."""
    at = at.astype(np.float64)
    shrinks = bool(method.antialias) and axis.scale < 1
    stretch = axis.scale if shrinks else 1.0
    radius = 2 if method.mode == "cubic" else 1
    reach = math.ceil(radius / stretch)
    # Beyond the reach of the kernel only the edge contributes.
    at = np.clip(at, -2.0 * reach, axis.size + 2.0 * reach)
    context.reserve(2 * reach * len(at) * 4, np.float64)
    low = np.floor(at)
    neighbors = low.astype(np.int64) + np.arange(1 - reach, reach + 1)[:, None]
    distance = np.abs(neighbors - at) * stretch
    if method.mode == "cubic":
        weights = cubic(distance, method.cubic_coeff_a)
    else:
        weights = np.maximum(1 - distance, 0)
    if shrinks:
        weights /= weights.sum(0)
    return neighbors, weights
