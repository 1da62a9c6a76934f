"""Kernels of the pooling family that look at boxes of a picture rather than at windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opset.reference.numerics.arrays import Array
from opset.reference.numerics.small_floats import rounded_once
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints import Violation


@kernel("MaxRoiPool")
@rounded_once
def max_roi_pool_1(
    x: Array, rois: Array, *, pooled_shape: Sequence[int], spatial_scale: float, context: KernelContext
) -> Array:
    """Return the maximum of each cell of each region, 0 where a cell holds no element.

    A region's corners are rounded to whole elements, halves away from zero, and both belong to it.
    """
    if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 5:
        raise Violation("C1", f"X of {x.shape}, rois of {rois.shape}")
    if len(pooled_shape) != 2 or min(pooled_shape) < 1:
        raise Violation("C2", f"pooled_shape {tuple(pooled_shape)}")
    images = _whole(rois[:, 0], x.shape[0])
    context.reserve(len(rois) * x.shape[1] * math.prod(pooled_shape), x.dtype)
    result = np.zeros((len(rois), x.shape[1], *pooled_shape), x.dtype)
    scaled = _finite(rois[:, 1:] * rois.dtype.type(spatial_scale), "C4")
    corners = np.copysign(np.floor(np.abs(scaled) + 0.5), scaled)
    if not result.size:
        return result
    context.reserve(128 * sum(pooled_shape), np.uint8)
    for number, image in enumerate(images):
        left, top, right, bottom = map(int, corners[number])
        rows = _cells(top, bottom, pooled_shape[0], x.shape[2], x.dtype)
        columns = _cells(left, right, pooled_shape[1], x.shape[3], x.dtype)
        for row, (first, stop) in enumerate(rows):
            context.check_time()
            if first >= stop:
                continue
            tallest = x[image, :, first:stop].max(1)
            for column, (begin, end) in enumerate(columns):
                if begin < end:
                    result[number, :, row, column] = tallest[:, begin:end].max(1)
    return result


def _cells(first: int, last: int, count: int, size: int, dtype: np.dtype[Any]) -> list[tuple[int, int]]:
    """Return where each of the cells from `first` to `last` begins and ends, as far as it is within the image."""
    step = dtype.type(max(last - first + 1, 1)) / dtype.type(count)
    edges = np.arange(count + 1, dtype=dtype) * step
    begins, ends = np.floor(edges[:-1]) + first, np.ceil(edges[1:]) + first
    return [(int(b), int(e)) for b, e in zip(np.clip(begins, 0, size), np.clip(ends, 0, size), strict=True)]


def _whole(images: Array, batch: int) -> list[int]:
    """Return indices of images. Raises Violation C3."""
    if not np.all((images >= 0) & (images < batch)):
        raise Violation("C3", f"indices {images.tolist()[:8]}, {batch} images")
    return [int(image) for image in images]


def _finite(corners: Array, label: str) -> Array:
    """Return the corners back. Raises Violation where one is infinite or no number."""
    if not np.isfinite(corners).all():
        raise Violation(label, f"corners {corners.ravel()[:8].tolist()}")
    return corners


@kernel("RoiAlign", since=16)
@kernel("RoiAlign", since=10)
@rounded_once
def roi_align_16(
    x: Array,
    rois: Array,
    batch_indices: Array,
    *,
    coordinate_transformation_mode: str = "output_half_pixel",
    mode: str,
    output_height: int,
    output_width: int,
    sampling_ratio: int,
    spatial_scale: float,
    context: KernelContext,
) -> Array:
    """Return the mean or maximum of points sampled in each cell of each region.

    Points more than an element outside the image are 0, those less far outside are moved to its edge. Regions that are
    not moved by half an element are at least one element wide and high. The maximum is that of all four elements beside
    each point, each times its weight: so say the standard's test cases and runtimes, though not its text.
    """
    if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 4 or batch_indices.shape != rois.shape[:1]:
        raise Violation("C1", f"X of {x.shape}, rois of {rois.shape}, batch_indices of {batch_indices.shape}")
    if min(output_height, output_width) < 1 or sampling_ratio < 0:
        raise Violation("C2", f"cells {output_height} x {output_width}, sampling_ratio {sampling_ratio}")
    if mode not in ("avg", "max") or coordinate_transformation_mode not in ("half_pixel", "output_half_pixel"):
        raise Violation("C5", f"mode {mode}, coordinate_transformation_mode {coordinate_transformation_mode}")
    images = _whole(batch_indices, x.shape[0])
    context.reserve(len(rois) * x.shape[1] * output_height * output_width, x.dtype)
    result = np.zeros((len(rois), x.shape[1], output_height, output_width), x.dtype)
    half = coordinate_transformation_mode == "half_pixel"
    scaled = _finite(rois * rois.dtype.type(spatial_scale), "C4") - rois.dtype.type(0.5 if half else 0)
    for number, image in enumerate(images):
        context.check_time()
        left, top, right, bottom = scaled[number]
        rows = _points(top, bottom, half, output_height, sampling_ratio, x.shape[2], context)
        columns = _points(left, right, half, output_width, sampling_ratio, x.shape[3], context)
        if not rows[0].size or not columns[0].size or not x.shape[1]:
            continue
        result[number] = _aligned(x[image], rows, columns, mode, context)
    return result


Points = tuple[Array, Array, Array, Array]


def _points(
    first: np.floating[Any],
    last: np.floating[Any],
    half: bool,
    cells: int,
    ratio: int,
    size: int,
    context: KernelContext,
) -> Points:
    """For the points of each cell along an axis: the two elements beside it and their weights, (cells, points)."""
    kind = first.dtype.type
    length = last - first if half else max(last - first, kind(1))
    step = length / kind(cells)
    count = ratio or max(math.ceil(step), 0)
    context.reserve(cells * count * 4, np.int64)
    at = (np.arange(count, dtype=first.dtype) + kind(0.5)) * (step / kind(max(count, 1)))
    at = first + np.arange(cells, dtype=first.dtype)[:, None] * step + at
    inside = (at >= -1) & (at <= size)
    at = np.clip(at, 0, max(size - 1, 0))
    low = at.astype(np.int64)
    high = np.minimum(low + 1, max(size - 1, 0))
    part = at - low
    return low, high, np.where(inside, 1 - part, 0).astype(at.dtype), np.where(inside, part, 0).astype(at.dtype)


def _aligned(image: Array, rows: Points, columns: Points, mode: str, context: KernelContext) -> Array:
    """Return the cells (C, rows, columns) of one region of an image (C, H, W)."""
    channels, count = len(image), rows[0].shape[1] * columns[0].shape[1]
    if mode == "avg":
        # The mean of products is the product of means: one matrix for each axis.
        up, across = (_matrix(points, size) for points, size in zip((rows, columns), image.shape[1:], strict=True))
        context.reserve(channels * up.shape[0] * image.shape[2], image.dtype)
        return up @ image @ across.T
    context.reserve(channels * len(rows[0]) * len(columns[0]) * count, image.dtype)
    greatest = np.full((channels, len(rows[0]), len(columns[0]), count), -np.inf, image.dtype)
    for place, weight in ((rows[0], rows[2]), (rows[1], rows[3])):
        for across_place, across_weight in ((columns[0], columns[2]), (columns[1], columns[3])):
            corner = image[:, place[:, None, :, None], across_place[None, :, None, :]]
            corner *= weight[:, None, :, None] * across_weight[None, :, None, :]
            np.maximum(greatest, corner.reshape(greatest.shape), out=greatest)
    return greatest.max(3)


def _matrix(points: Points, size: int) -> Array:
    """Return the mean of each cell's points as weights of the elements along the axis, (cells, size)."""
    low, high, low_weight, high_weight = points
    result = np.zeros((len(low), size), low_weight.dtype)
    cells = np.arange(len(low))[:, None]
    np.add.at(result, (cells, low), low_weight)
    np.add.at(result, (cells, high), high_weight)
    result /= result.dtype.type(low.shape[1])
    return result


@kernel("NonMaxSuppression", since=10)
def non_max_suppression_10(
    boxes: Array,
    scores: Array,
    max_output_boxes_per_class: Array | None = None,
    iou_threshold: Array | None = None,
    score_threshold: Array | None = None,
    *,
    center_point_box: int,
    context: KernelContext,
) -> Array:
    """Return (batch, class, box) of the boxes that are taken, by falling score; of equal scores the first box."""
    if boxes.ndim != 3 or scores.ndim != 3 or boxes.shape != (scores.shape[0], scores.shape[2], 4):
        raise Violation("C1", f"boxes of {boxes.shape}, scores of {scores.shape}")
    most = _single(max_output_boxes_per_class, 0)
    overlap = _single(iou_threshold, 0)
    least = _single(score_threshold, -np.inf)
    if not 0 <= overlap <= 1:
        raise Violation("C3", f"iou_threshold {overlap}")
    if center_point_box not in (0, 1):
        raise Violation("C4", f"center_point_box {center_point_box}")
    taken: list[tuple[int, int, int]] = []
    if not scores.size:
        return np.zeros((0, 3), np.int64)
    for batch, corners in enumerate(_corners(boxes, center_point_box)):
        low, high = corners[:, :2], corners[:, 2:]
        areas = np.prod(high - low, axis=1)
        for label, score in enumerate(scores[batch]):
            context.check_time()
            order = np.argsort(-score, kind="stable")
            order = order[score[order] >= least]
            chosen = 0
            while len(order) and chosen < most:
                context.check_time()
                context.reserve(128 * len(taken), np.uint8)
                best, order = order[0], order[1:]
                taken.append((batch, label, int(best)))
                chosen += 1
                sides = np.minimum(high[best], high[order]) - np.maximum(low[best], low[order])
                common = np.prod(np.maximum(sides, 0), axis=1)
                order = order[~(common > overlap * (areas[best] + areas[order] - common))]
    return np.array(taken, np.int64).reshape(-1, 3)


def _single(value: Array | None, default: float) -> float:
    """Return the value of an input that holds one number. Raises Violation C2."""
    if value is None:
        return default
    if value.size != 1:
        raise Violation("C2", f"{value.size} values")
    return float(value.reshape(-1)[0])


def _corners(boxes: Array, center_point_box: int) -> Array:
    """Return boxes as (low, low, high, high)."""
    if center_point_box:
        middle, half = boxes[..., :2], boxes[..., 2:] / 2
        return np.concatenate((middle - half, middle + half), axis=-1)
    first, second = boxes[..., :2], boxes[..., 2:]
    return np.concatenate((np.minimum(first, second), np.maximum(first, second)), axis=-1)
