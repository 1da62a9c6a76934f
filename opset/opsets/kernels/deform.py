"""The kernel of DeformConv, a convolution whose windows see points between elements."""

from __future__ import annotations

import itertools
import math

import numpy as np

from opset.opsets.kernels import Call, Violation, kernel
from opset.opsets.kernels.shared import Array, rounded_once
from opset.opsets.kernels.windows import Ints, Windows, windows_over


@kernel("DeformConv", since=19)
@rounded_once
def deform_conv(
    x: Array,
    w: Array,
    offset: Array,
    b: Array | None = None,
    mask: Array | None = None,
    *,
    dilations: Ints,
    group: int,
    kernel_shape: Ints,
    offset_group: int,
    pads: Ints,
    strides: Ints,
    run: Call,
) -> Array:
    """Give the convolution of what each window's points, moved by `offset` and times `mask`, are interpolated to."""
    if x.ndim != w.ndim or x.ndim < 3:
        raise Violation("C1", f"rank {x.ndim}, filters of rank {w.ndim}")
    if kernel_shape and tuple(kernel_shape) != w.shape[2:]:
        raise Violation("C2", f"kernel_shape {tuple(kernel_shape)}, filters of {w.shape[2:]}")
    batch, channels, filters = *x.shape[:2], w.shape[0]
    if group < 1 or channels != w.shape[1] * group:
        raise Violation("C5", f"{channels} channels, {w.shape[1]} in a filter, {group} groups")
    if filters % group:
        raise Violation("C6", f"{filters} filters, {group} groups")
    if b is not None and b.shape != (filters,):
        raise Violation("C7", f"shape {b.shape}, {filters} output channels")
    if offset_group < 1 or channels % offset_group:
        raise Violation("C3", f"{channels} channels, offset_group {offset_group}")
    windows = windows_over(x.shape, w.shape[2:], strides, dilations, pads)
    elements, rank = math.prod(windows.kernel), x.ndim - 2
    expected = (batch, offset_group * elements * rank, *windows.output)
    if offset.shape != expected:
        raise Violation("C8", f"offset of {offset.shape}, expected {expected}")
    if mask is not None and mask.shape != (batch, offset_group * elements, *windows.output):
        raise Violation("C9", f"mask of {mask.shape}, expected {(batch, offset_group * elements, *windows.output)}")
    points = elements * math.prod(windows.output)
    run.reserve(batch * filters * math.prod(windows.output), x.dtype)
    run.reserve(channels * points * 2 + (offset_group * points << rank), np.int64)
    result = np.empty((batch, group, filters // group, math.prod(windows.output)), x.dtype)
    matrix = w.reshape(group, filters // group, -1)
    for image in range(batch):
        moved = offset[image].reshape(offset_group, elements, rank, *windows.output)
        columns = _sampled(x[image], moved, windows, run)
        if mask is not None:
            columns *= mask[image].reshape(offset_group, 1, elements, *windows.output)
        np.matmul(matrix, columns.reshape(group, matrix.shape[-1], -1), out=result[image])
    if b is not None:
        result += b.reshape(group, -1, 1)
    return result.reshape(batch, filters, *windows.output)


def _sampled(image: Array, moved: Array, windows: Windows, run: Call) -> Array:
    """Give what an image (C, D1, ..., Dn) is at all points: (offset groups, channels of each, elements, *output)."""
    groups, elements, rank, *output = moved.shape
    sizes, values = image.shape[1:], image.reshape(groups, image.shape[0] // groups, math.prod(image.shape[1:]))
    lows, parts = [], []
    taps = np.indices(windows.kernel).reshape(rank, -1)
    for axis in range(rank):
        starts = np.arange(output[axis]) * windows.strides[axis] - windows.begins[axis]
        within = taps[axis] * windows.dilations[axis]
        whole = within.reshape(-1, *[1] * rank) + starts.reshape(-1, *[1] * (rank - axis - 1))
        at = moved[:, :, axis] + whole.astype(moved.dtype)
        # What is far outside reads zero wherever it is; so are points that are no numbers.
        at = np.where((at > -1) & (at < sizes[axis]), at, -1)
        lows.append(np.floor(at).astype(np.int64))
        parts.append(at - lows[-1])
    result = np.zeros((*values.shape[:2], elements, *output), image.dtype)
    for corner in itertools.product((0, 1), repeat=rank):
        run.check_time()
        place, weight = np.zeros(lows[0].shape, np.int64), np.ones(lows[0].shape, image.dtype)
        for size, low, part, step in zip(sizes, lows, parts, corner, strict=True):
            inside = (low + step >= 0) & (low + step < size)
            place = place * size + np.where(inside, low + step, 0)
            weight *= np.where(inside, part if step else 1 - part, 0)
        for number in range(groups):
            result[number] += values[number][:, place[number]] * weight[number]
    return result
