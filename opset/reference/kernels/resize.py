"""Kernels of Resize and Upsample: each axis by itself, as weighted sums of elements.

Coordinates are computed in single precision, as scales are given and runtimes do: it lets a coordinate that is meant to
be whole come out whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from opset.reference.kernels.sampling import cubic
from opset.reference.numerics.arrays import Array
from opset.reference.numerics.small_floats import rounded_once
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints import Violation

F32 = np.float32


class Method(NamedTuple):
    """How elements are found: the attributes of Resize, with those of later versions at what they were before."""

    mode: str
    coordinates: str
    nearest_mode: str
    cubic_coeff_a: float
    exclude_outside: int
    extrapolation_value: float
    antialias: int


class Axis(NamedTuple):
    """One axis that is resized: its number, sizes, scale, and the region that tf_crop_and_resize takes."""

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
    if x.ndim != 4:
        raise Violation("C5", f"rank {x.ndim}")
    method = "linear" if mode == "bilinear" else mode
    return _by_division(x, (1.0, 1.0, height_scale, width_scale), method, True, context)


@kernel("Upsample", since=7)
@rounded_once
def upsample_7(x: Array, *, mode: str, scales: Sequence[float], context: KernelContext) -> Array:
    """Return a tensor enlarged in all dimensions."""
    return _by_division(x, scales, mode, True, context)


@kernel("Upsample", since=9)
@rounded_once
def upsample_9(x: Array, scales: Array, *, mode: str, context: KernelContext) -> Array:
    """Return a tensor enlarged in all dimensions."""
    return _by_division(x, scales.reshape(-1).tolist(), mode, True, context)


@kernel("Resize", since=10)
@rounded_once
def resize_10(x: Array, scales: Array, *, mode: str, context: KernelContext) -> Array:
    """Return a tensor resized in all dimensions."""
    return _by_division(x, scales.reshape(-1).tolist(), mode, False, context)


def _by_division(x: Array, scales: Sequence[float], mode: str, only_larger: bool, context: KernelContext) -> Array:
    """Return x resized as before version 11: coordinates are divided by the scale.

    The nearest element is the one below where an axis grows, and the one above where it shrinks, by the standard's own
    test cases.
    """
    if len(scales) != x.ndim:
        raise Violation("C1", f"{len(scales)} scales, rank {x.ndim}")
    least = 1.0 if only_larger else 0.0
    if not all(math.isfinite(scale) and scale >= least and scale > 0 for scale in scales):
        raise Violation("C2", f"scales {list(scales)}")
    axes = [
        Axis(number, size, math.floor(F32(size) * F32(scale)), scale, 0, 1)
        for number, (size, scale) in enumerate(zip(x.shape, scales, strict=True))
    ]
    for down in (True, False):
        rounding = "ceil" if down else "floor"
        chosen = [axis for axis in axes if (axis.scale < 1) == down]
        x = _resized(x, chosen, Method(mode, "asymmetric", rounding, 0.0, 0, 0.0, 0), context)
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
    """Return x resized along each of `axes`, by `scales` or to `sizes`; version 11 says by empty inputs which it is."""
    method = Method(
        mode, coordinate_transformation_mode, nearest_mode, cubic_coeff_a, exclude_outside, extrapolation_value,
        antialias,
    )  # fmt: skip
    numbers = [axis % x.ndim for axis in axes] if axes else list(range(x.ndim))
    if len(set(numbers)) != len(numbers):
        raise Violation("C8", f"axes {list(axes or ())}")
    factors = [] if scales is None else scales.reshape(-1).tolist()
    wanted = [] if sizes is None else sizes.reshape(-1).tolist()
    if bool(factors) == bool(wanted) and numbers:
        raise Violation("C5", f"{len(factors)} scales and {len(wanted)} sizes")
    if len(factors or wanted) != len(numbers):
        raise Violation("C1", f"{len(factors or wanted)} for {len(numbers)} axes")
    if not all(math.isfinite(scale) and scale > 0 for scale in factors) or min(wanted, default=0) < 0:
        raise Violation("C2", f"scales {factors}, sizes {wanted}")
    region = [0.0] * len(numbers) + [1.0] * len(numbers)
    if coordinate_transformation_mode == "tf_crop_and_resize":
        region = [] if roi is None else roi.reshape(-1).astype(F32).tolist()
        if len(region) != 2 * len(numbers) or not all(map(math.isfinite, region)):
            raise Violation("C6", f"roi {region}, {len(numbers)} axes")
    lengths = [x.shape[number] for number in numbers]
    if wanted:
        pairs = _sized(lengths, wanted, keep_aspect_ratio_policy)
    else:
        crop = coordinate_transformation_mode == "tf_crop_and_resize"
        spans = [end - start if crop else 1.0 for start, end in zip(region, region[len(numbers) :], strict=False)]
        pairs = [
            (max(math.floor(F32(length) * F32(span) * F32(scale)), 0), scale)
            for length, scale, span in zip(lengths, factors, spans, strict=True)
        ]
    bounds = zip(region, region[len(numbers) :], strict=False)
    resized = [
        Axis(number, length, output, scale, start, end)
        for number, length, (output, scale), (start, end) in zip(numbers, lengths, pairs, bounds, strict=True)
    ]
    return _resized(x, resized, method, context)


def _sized(lengths: Sequence[int], wanted: Sequence[int], policy: str) -> list[tuple[int, float]]:
    """Return output sizes and scales for the sizes that are wanted."""
    if policy != "stretch" and all(lengths):
        ratios = [F32(want) / F32(length) for want, length in zip(wanted, lengths, strict=True)]
        common = min(ratios) if policy == "not_larger" else max(ratios)
        return [(math.floor(F32(length) * common + F32(0.5)), float(common)) for length in lengths]
    return [(want, want / length if length else 1.0) for want, length in zip(wanted, lengths, strict=True)]


def _resized(x: Array, axes: Sequence[Axis], method: Method, context: KernelContext) -> Array:
    """Return x resized along the axes, those that shrink most first."""
    crop = method.coordinates == "tf_crop_and_resize"
    axes = [axis for axis in axes if axis.output != axis.size or axis.scale != 1 or crop]
    if any(axis.size == 0 < axis.output for axis in axes):
        raise Violation("C7", f"shape {x.shape}")
    shape = list(x.shape)
    for axis in axes:
        shape[axis.number] = axis.output
    context.reserve(math.prod(shape), x.dtype)
    if not math.prod(shape):
        return np.zeros(shape, x.dtype)
    kind, source = x.dtype, x
    outside: Array | None = None
    if method.mode != "nearest":
        if kind.kind not in "fiuc":
            raise Violation("C4", f"mode '{method.mode}'")
        # Integers are cut off at the end, so what is exact has to stay so.
        x = x.astype(np.float64 if kind.kind in "iu" else kind, copy=False)
    for axis in sorted(axes, key=lambda axis: axis.output / axis.size):
        context.reserve(axis.output * 16, F32)
        at = _coordinates(axis, method.coordinates)
        if crop:
            beyond = (at < 0) | (at > axis.size - 1)
            beyond = beyond.reshape(-1, *[1] * (x.ndim - 1 - axis.number))
            outside = beyond if outside is None else outside | beyond
        if method.mode == "nearest":
            x = x.take(_nearest(at, axis.size, method.nearest_mode), axis.number)
        else:
            x = _interpolated(x, axis, at, method, context)
    if outside is not None and outside.any():
        x = np.where(outside, np.asarray(method.extrapolation_value).astype(x.dtype), x)
    if x.dtype != kind and kind.kind in "iu":
        limits = np.iinfo(kind)
        x = np.clip(np.rint(x) if method.antialias else x, limits.min, limits.max)
    return x.astype(kind, copy=x is source)


def _coordinates(axis: Axis, mode: str) -> Array:
    """Return the coordinate in the input of each element of the output."""
    _, size, count, ratio, start, end = axis
    places, scale = np.arange(count, dtype=F32), F32(ratio)
    last = F32(size - 1)
    match mode:
        case "asymmetric":
            return places / scale
        case "pytorch_half_pixel" if count <= 1:
            return np.zeros(count, F32)
        case "half_pixel" | "pytorch_half_pixel":
            return (places + F32(0.5)) / scale - F32(0.5)
        case "half_pixel_symmetric":
            centre = F32(size) / 2
            shift = centre * (1 - F32(count) / (scale * F32(size)))
            return shift + (places + F32(0.5)) / scale - F32(0.5)
        case "align_corners":
            return places * last / F32(max(count - 1, 1))
        case "tf_half_pixel_for_nn":
            return (places + F32(0.5)) / scale
    if count <= 1:
        return np.full(count, F32(0.5) * F32(start + end) * last, F32)
    return F32(start) * last + places * (F32(end) - F32(start)) * last / F32(count - 1)


def _nearest(at: Array, size: int, rounding: str) -> Array:
    match rounding:
        case "floor":
            at = np.floor(at)
        case "ceil":
            at = np.ceil(at)
        case "round_prefer_ceil":
            at = np.floor(at + F32(0.5))
        case _:
            at = np.ceil(at - F32(0.5))
    return np.clip(at, 0, size - 1).astype(np.int64)


def _interpolated(x: Array, axis: Axis, at: Array, method: Method, context: KernelContext) -> Array:
    """Return x interpolated along an axis at these coordinates, by a linear or cubic kernel."""
    places, weights = _kernel(at, axis, method, context)
    outside = (places < 0) | (places >= axis.size)
    if method.exclude_outside:
        weights = np.where(outside, 0, weights)
        sums = weights.sum(0)
        weights = weights / np.where(sums == 0, 1, sums)
    places = np.clip(places, 0, axis.size - 1)
    weights = weights.astype(np.float64 if x.dtype.itemsize > 4 and x.dtype.kind != "c" else F32)
    shape = (*x.shape[: axis.number], axis.output, *x.shape[axis.number + 1 :])
    context.reserve(2 * math.prod(shape) + 2 * x.size, x.dtype)
    result = np.zeros(shape, x.dtype)
    if len(places) > axis.output:
        for number in range(axis.output):
            context.check_time()
            part = x.take(places[:, number], axis.number)
            target = result.swapaxes(0, axis.number)[number]
            target += np.tensordot(part.swapaxes(0, axis.number), weights[:, number], (0, 0))
        return result
    trailing = [1] * (x.ndim - 1 - axis.number)
    for place, weight in zip(places, weights, strict=True):
        context.check_time()
        part = x.take(place, axis.number)
        part *= weight.reshape(-1, *trailing)
        result += part
    return result


def _kernel(at: Array, axis: Axis, method: Method, context: KernelContext) -> tuple[Array, Array]:
    """Return for each coordinate the elements that count and their weights, both (elements, coordinates)."""
    at = at.astype(np.float64)
    shrinks = bool(method.antialias) and axis.scale < 1
    stretch = axis.scale if shrinks else 1.0
    radius = 2 if method.mode == "cubic" else 1
    reach = math.ceil(radius / stretch)
    # Beyond the reach of the kernel everything is the edge.
    at = np.clip(at, -2.0 * reach, axis.size + 2.0 * reach)
    context.reserve(2 * reach * len(at) * 4, np.float64)
    low = np.floor(at)
    places = low.astype(np.int64) + np.arange(1 - reach, reach + 1)[:, None]
    distance = np.abs(places - at) * stretch
    if method.mode == "cubic":
        weights = cubic(distance, method.cubic_coeff_a)
    else:
        weights = np.maximum(1 - distance, 0)
    if shrinks:
        weights /= weights.sum(0)
    return places, weights
