"""Kernels that pool or select boxes of an image: MaxRoiPool, RoiAlign and NonMaxSuppression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opset.reference.numerics.arrays import Array
from opset.reference.numerics.small_floats import rounded_once
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints.violation import Violation


@kernel("MaxRoiPool")
@rounded_once
def max_roi_pool_1(
    x: Array, rois: Array, *, pooled_shape: Sequence[int], spatial_scale: float, context: KernelContext
) -> Array:
    """Return the maximum of each cell of each region, 0 for a cell without elements.

    The corners of a region are rounded to integers, halves away from zero; the region includes both.
    """
    images = _image_indices(rois[:, 0], x.shape[0])
    context.reserve(len(rois) * x.shape[1] * math.prod(pooled_shape), x.dtype)
    result = np.zeros((len(rois), x.shape[1], *pooled_shape), x.dtype)
    scaled = _check_finite(rois[:, 1:] * rois.dtype.type(spatial_scale))
    corners = np.copysign(np.floor(np.abs(scaled) + 0.5), scaled)
    if not result.size:
        return result
    context.reserve(128 * sum(pooled_shape), np.uint8)
    for region, image in enumerate(images):
        left, top, right, bottom = map(int, corners[region])
        rows = _cell_bounds(top, bottom, pooled_shape[0], x.shape[2], x.dtype)
        columns = _cell_bounds(left, right, pooled_shape[1], x.shape[3], x.dtype)
        for row, (first, stop) in enumerate(rows):
            context.check_time()
            if first >= stop:
                continue
            maxima = x[image, :, first:stop].max(1)
            for column, (begin, end) in enumerate(columns):
                if begin < end:
                    result[region, :, row, column] = maxima[:, begin:end].max(1)
    return result


def _cell_bounds(first: int, last: int, count: int, size: int, dtype: np.dtype[Any]) -> list[tuple[int, int]]:
    """Return the begin and end of each of the cells that divide [first, last], clipped to the image."""
    step = dtype.type(max(last - first + 1, 1)) / dtype.type(count)
    edges = np.arange(count + 1, dtype=dtype) * step
    begins, ends = np.floor(edges[:-1]) + first, np.ceil(edges[1:]) + first
    return [(int(b), int(e)) for b, e in zip(np.clip(begins, 0, size), np.clip(ends, 0, size), strict=True)]


def _image_indices(images: Array, batch: int) -> list[int]:
    """Return the indices of images as integers. Raises Violation C3 if one is out of range."""
    if not np.all((images >= 0) & (images < batch)):
        raise Violation("C3", f"indices {images.tolist()[:8]}, {batch} images")
    return [int(image) for image in images]


def _check_finite(corners: Array) -> Array:
    """Return the corners. Raises Violation C4 if one is infinite or NaN."""
    if not np.isfinite(corners).all():
        raise Violation("C4", f"corners {corners.ravel()[:8].tolist()}")
    return corners


@kernel("RoiAlign")
@rounded_once
def roi_align_10(
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

    Points more than one element outside the image are 0, nearer ones are moved to its edge. Regions that are not
    shifted by half an element are at least one element wide and high. The maximum is taken over the four neighbors of
    each point, each times its weight, as in the standard's test cases and in runtimes, though its text differs.
    """
    images = _image_indices(batch_indices, x.shape[0])
    context.reserve(len(rois) * x.shape[1] * output_height * output_width, x.dtype)
    result = np.zeros((len(rois), x.shape[1], output_height, output_width), x.dtype)
    half_pixel = coordinate_transformation_mode == "half_pixel"
    scaled = _check_finite(rois * rois.dtype.type(spatial_scale)) - rois.dtype.type(0.5 if half_pixel else 0)
    for region, image in enumerate(images):
        context.check_time()
        left, top, right, bottom = scaled[region]
        rows = _sample_points(top, bottom, half_pixel, output_height, sampling_ratio, x.shape[2], context)
        columns = _sample_points(left, right, half_pixel, output_width, sampling_ratio, x.shape[3], context)
        if not rows[0].size or not columns[0].size or not x.shape[1]:
            continue
        result[region] = _align_region(x[image], rows, columns, mode, context)
    return result


Points = tuple[Array, Array, Array, Array]


def _sample_points(
    first: np.floating[Any],
    last: np.floating[Any],
    half_pixel: bool,
    cells: int,
    ratio: int,
    size: int,
    context: KernelContext,
) -> Points:
    """Return the two neighbors of each cell's points along an axis, and their weights, each as (cells, points)."""
    kind = first.dtype.type
    length = last - first if half_pixel else max(last - first, kind(1))
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


def _align_region(image: Array, rows: Points, columns: Points, mode: str, context: KernelContext) -> Array:
    """Return the cells (C, rows, columns) of one region of an image (C, H, W)."""
    channels, count = len(image), rows[0].shape[1] * columns[0].shape[1]
    if mode == "avg" and np.isfinite(image).all():
        # Averaging is separable: one matrix of weights for each axis. Weights of 0 would spread infinity and NaN.
        down, across = map(_mean_weights, (rows, columns), image.shape[1:])
        context.reserve(channels * down.shape[0] * image.shape[2], image.dtype)
        return down @ image @ across.T
    # The neighbors, their weights, both multiplied, and the result so far.
    context.reserve(4 * channels * len(rows[0]) * len(columns[0]) * count, image.dtype)
    shape = (channels, len(rows[0]), len(columns[0]), count)
    combined = np.full(shape, 0 if mode == "avg" else -np.inf, image.dtype)
    combine = np.add if mode == "avg" else np.maximum
    for row, row_weight in ((rows[0], rows[2]), (rows[1], rows[3])):
        for column, column_weight in ((columns[0], columns[2]), (columns[1], columns[3])):
            neighbors = image[:, row[:, None, :, None], column[None, :, None, :]]
            weighted = neighbors * (row_weight[:, None, :, None] * column_weight[None, :, None, :])
            combine(combined, weighted.reshape(shape), out=combined)
    return combined.mean(3) if mode == "avg" else combined.max(3)


def _mean_weights(points: Points, size: int) -> Array:
    """Return the weights of the elements along an axis that make the mean of each cell's points, as (cells, size)."""
    low, high, low_weight, high_weight = points
    result = np.zeros((len(low), size), low_weight.dtype)
    cells = np.arange(len(low))[:, None]
    np.add.at(result, (cells, low), low_weight)
    np.add.at(result, (cells, high), high_weight)
    return result / result.dtype.type(low.shape[1])


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
    """Return (batch, class, box) of the selected boxes by descending score; of equal scores, the first box wins."""
    max_boxes = 0 if max_output_boxes_per_class is None else max_output_boxes_per_class.item()
    max_iou = 0 if iou_threshold is None else iou_threshold.item()
    selected: list[tuple[int, int, int]] = []
    if not scores.size:
        return np.zeros((0, 3), np.int64)
    first, second = boxes[..., :2], boxes[..., 2:]
    if center_point_box:
        lows, highs = first - second / 2, first + second / 2
    else:
        lows, highs = np.minimum(first, second), np.maximum(first, second)
    for batch, (low, high) in enumerate(zip(lows, highs, strict=True)):
        context.reserve(16 * len(low), np.float64)
        areas = np.prod(high - low, axis=1)
        for label, score in enumerate(scores[batch]):
            context.check_time()
            order = np.argsort(-score, kind="stable")
            if score_threshold is not None:
                order = order[score[order] > score_threshold.item()]
            count = 0
            while len(order) and count < max_boxes:
                context.check_time()
                context.reserve(128 * len(selected), np.uint8)
                best, order = order[0], order[1:]
                selected.append((batch, label, int(best)))
                count += 1
                sides = np.minimum(high[best], high[order]) - np.maximum(low[best], low[order])
                intersection = np.prod(np.maximum(sides, 0), axis=1)
                union = areas[best] + areas[order] - intersection
                # As runtimes do: a product with the threshold may be rounded to the other side.
                overlap = np.divide(intersection, union, out=np.zeros_like(union), where=intersection > 0)
                order = order[~(overlap > max_iou)]
    return np.array(selected, np.int64).reshape(-1, 3)
