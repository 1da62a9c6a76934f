"""Kernels of convolutions: columns of windows, computed in blocks, multiplied by the filters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from opset.reference.numerics.arrays import Array
from opset.reference.numerics.products import matrix_product, multiply
from opset.reference.numerics.shapes import dims_of
from opset.reference.numerics.small_floats import rounded_once
from opset.reference.numerics.windows import (
    Ints,
    Windows,
    add_windows,
    interior_index,
    pad_spatial,
    same_pads,
    tap_index,
    window_attributes,
    window_view,
    windows_over,
)
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints.violation import Violation

BLOCK = 1 << 20
"""Elements of a block of columns: as many as a processor's cache is likely to hold."""


@kernel("Conv")
@rounded_once
def conv_1(
    x: Array,
    w: Array,
    b: Array | None = None,
    *,
    auto_pad: str,
    dilations: Ints,
    group: int,
    kernel_shape: Ints,
    pads: Ints,
    strides: Ints,
    context: KernelContext,
) -> Array:
    """Return the convolution of x with the filters w: for each filter and window, the sum of their products."""
    windows = windows_over(x.shape, w.shape[2:], strides, dilations, pads, auto_pad)
    return convolve(pad_spatial(x, windows.begins, windows.ends, context), w, b, group, windows, context)


def convolve(x: Array, w: Array, bias: Array | None, group: int, windows: Windows, context: KernelContext) -> Array:
    """Return the convolution of a padded tensor, computed in blocks of windows."""
    batch, channels = x.shape[:2]
    filters, channels_of_group, output = w.shape[0], channels // group, windows.output
    context.reserve(batch * filters * math.prod(output), x.dtype)
    result = np.empty((batch, group, filters // group, *output), x.dtype)
    if not result.size:
        return result.reshape(batch, filters, *output)
    if not channels:
        result[:] = 0 if bias is None else bias.reshape(group, -1, *[1] * len(output))
        return result.reshape(batch, filters, *output)
    matrix = w.reshape(group, filters // group, -1)
    addend = None if bias is None else bias.reshape(group, -1, 1)
    if math.prod(windows.kernel) == 1:
        # Windows of one element need no columns, at most a copy without the elements that strides skip.
        elements_of_windows = x[tap_index(windows, (0,) * len(output))].reshape(batch, group, channels_of_group, -1)
        flat = result.reshape(batch, group, filters // group, -1)
        multiply(matrix, elements_of_windows, flat, context)
        if addend is not None:
            flat += addend
        return flat.reshape(batch, filters, *output)
    view = window_view(x, windows)
    view = view.reshape(batch, group, channels_of_group, *view.shape[2:]) if group > 1 else view[:, None]
    elements = channels * math.prod(windows.kernel)
    kernel_axes = (slice(None),) * (2 + len(output))
    buffer = np.empty(0, x.dtype)
    for images, *spatial in _blocks((batch, *output), max(BLOCK // max(elements, 1), 1)):
        part = view[(images, *kernel_axes, *spatial)]
        if part.size > buffer.size:
            context.reserve(part.size, x.dtype)
            buffer = np.empty(part.size, x.dtype)
        columns = buffer[: part.size]
        np.copyto(columns.reshape(part.shape), part)
        target = result[(images, slice(None), slice(None), *spatial)]
        # A view: blocks are contiguous, except along the first axis with more than one element.
        flat = target.reshape(*target.shape[:3], -1)
        multiply(matrix, columns.reshape(len(flat), group, matrix.shape[-1], -1), flat, context)
        if addend is not None:
            flat += addend
    return result.reshape(batch, filters, *output)


def _blocks(shape: Sequence[int], most: int) -> Iterator[tuple[slice, ...]]:
    """Yield slices that divide an array of this shape into blocks with at most `most` elements each."""
    steps, room = [1] * len(shape), most
    for axis in reversed(range(len(shape))):
        if not shape[axis]:
            return
        count = -(-shape[axis] // max(min(room, shape[axis]), 1))
        steps[axis] = -(-shape[axis] // count)  # blocks of equal size
        room = room // shape[axis] if steps[axis] == shape[axis] else 0
    counts = [-(-size // step) for size, step in zip(shape, steps, strict=True)]
    for index in np.ndindex(*counts):
        yield tuple(slice(at * step, (at + 1) * step) for at, step in zip(index, steps, strict=True))


@kernel("ConvTranspose")
@rounded_once
def conv_transpose_1(
    x: Array,
    w: Array,
    b: Array | None = None,
    *,
    auto_pad: str,
    dilations: Ints,
    group: int,
    kernel_shape: Ints,
    output_padding: Ints,
    output_shape: Ints,
    pads: Ints,
    strides: Ints,
    context: KernelContext,
) -> Array:
    """Return the sum of the filters placed at the positions of x, each multiplied by the element there.

    Version 1 contradicts itself about the side that gets the odd element of padding; runtimes follow version 11.
    """
    channels, filters = x.shape[1], w.shape[1] * group
    windows, shape = _transpose_windows(x, w, auto_pad, dilations, output_padding, output_shape, pads, strides)
    sizes = [begin + size + end for begin, size, end in zip(windows.begins, shape, windows.ends, strict=True)]
    batch = x.shape[0]
    context.reserve(batch * filters * math.prod(sizes), x.dtype)
    context.reserve(batch * filters * math.prod(x.shape[2:]), x.dtype)
    result = np.zeros((batch, filters, *sizes), x.dtype)
    values = x.reshape(batch, group, channels // group, math.prod(x.shape[2:]))
    transposed = w.reshape(group, channels // group, w.shape[1], *w.shape[2:]).swapaxes(1, 2)
    if values.size and transposed.size:
        for tap in np.ndindex(windows.kernel):
            context.check_time()
            part = matrix_product(np.ascontiguousarray(transposed[(..., *tap)]), values, context)
            target = result[tap_index(windows, tap)]
            target += part.reshape(target.shape)
    result = result[interior_index(windows.begins, shape)]
    return result if b is None else result + b.reshape(-1, *[1] * len(shape))


def _transpose_windows(
    x: Array,
    w: Array,
    auto_pad: str,
    dilations: Ints,
    output_padding: Ints,
    output_shape: Ints,
    pads: Ints,
    strides: Ints,
) -> tuple[Windows, tuple[int, ...]]:
    """Return the windows of the filters in the result before pads are cut off, and the spatial shape after it."""
    kernel, rank = w.shape[2:], x.ndim - 2
    strides, dilations, pads = window_attributes(kernel, strides, dilations, pads)
    output_padding = tuple(output_padding or (0,) * rank)
    wanted = tuple(output_shape) if output_shape else None
    if wanted is not None and len(wanted) == rank + 2:
        wanted = wanted[2:]
    if wanted is None and auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        wanted = tuple(size * step for size, step in zip(x.shape[2:], strides, strict=True))
    begins, ends, shape = [], [], []
    for axis, size in enumerate(x.shape[2:]):
        full = strides[axis] * (size - 1) + output_padding[axis] + (kernel[axis] - 1) * dilations[axis] + 1
        begin, end = (pads[axis], pads[axis + rank]) if auto_pad != "VALID" else (0, 0)
        if wanted is not None:
            begin, end = same_pads(max(full - wanted[axis], 0), auto_pad)
        shape.append(full - begin - end if wanted is None else wanted[axis])
        if shape[-1] < 0:
            raise Violation("C4", f"{full} elements less pads of {begin} and {end} on spatial axis {axis}")
        begins.append(begin)
        ends.append(max(full - begin - shape[-1], 0))
    return Windows(kernel, strides, dilations, tuple(begins), tuple(ends), x.shape[2:]), tuple(shape)


@kernel("Col2Im", since=18)
@rounded_once
def col2im_18(
    x: Array,
    image_shape: Array,
    block_shape: Array,
    *,
    dilations: Ints,
    pads: Ints,
    strides: Ints,
    context: KernelContext,
) -> Array:
    """Return the image whose windows are the columns of x; elements of overlapping windows are added."""
    if x.dtype.hasobject:
        raise Violation("C5", "input holds strings")
    image, block = (tuple(dims_of(shape)) for shape in (image_shape, block_shape))
    windows = windows_over((0, 0, *image), block, strides, dilations, pads)
    elements, count = math.prod(block), math.prod(windows.output)
    if x.shape[1] % elements or x.shape[2] != count:
        raise Violation("C3", f"{count} blocks of {elements} elements")
    batch, channels = x.shape[0], x.shape[1] // elements
    columns = x.reshape(batch, channels, *block, *windows.output)
    return add_windows(columns, windows, (batch, channels, *image), context)


@kernel("CausalConvWithState", since=27)
@rounded_once
def causal_conv_with_state_27(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    past: Array | None = None,
    *,
    activation: str,
    context: KernelContext,
) -> tuple[Array, Array]:
    """Return each channel convolved with its own filter, which ends at the current position, and the new state."""
    batch, channels, length = x.shape
    state = weight.shape[2] - 1
    if past is None:
        context.reserve(batch * channels * (state + length), x.dtype)
        past = np.zeros((batch, channels, state), x.dtype)
    whole = np.concatenate((past, x), axis=2)
    present = whole[:, :, length:].copy()
    if not length:
        return x, present
    windows = windows_over(whole.shape, weight.shape[2:], None, None, None)
    result = convolve(whole, weight, bias, channels, windows, context) if x.size else x
    if activation != "none":
        result = result / (1 + np.exp(-result))
    return result, present


@kernel("DeformConv", since=19)
@rounded_once
def deform_conv_19(
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
    context: KernelContext,
) -> Array:
    """Return the convolution of values interpolated at each window's points, moved by `offset` and times `mask`."""
    batch, channels, filters = *x.shape[:2], w.shape[0]
    windows = windows_over(x.shape, w.shape[2:], strides, dilations, pads)
    elements, rank = math.prod(windows.kernel), x.ndim - 2
    expected = (batch, offset_group * elements * rank, *windows.output)
    if offset.shape != expected:
        raise Violation("C8", f"offset of {offset.shape}, expected {expected}")
    if mask is not None and mask.shape != (batch, offset_group * elements, *windows.output):
        raise Violation("C9", f"mask of {mask.shape}, expected {(batch, offset_group * elements, *windows.output)}")
    points = elements * math.prod(windows.output)
    context.reserve(batch * filters * math.prod(windows.output), x.dtype)
    context.reserve(channels * points * 2 + (offset_group * points << rank), np.int64)
    context.reserve(channels * (math.prod(x.shape[2:]) + 1), x.dtype)
    result = np.empty((batch, group, filters // group, math.prod(windows.output)), x.dtype)
    matrix = w.reshape(group, filters // group, -1)
    for image in range(batch):
        moved = offset[image].reshape(offset_group, elements, rank, *windows.output)
        columns = _sample_image(x[image], moved, windows, context)
        if mask is not None:
            columns *= mask[image].reshape(offset_group, 1, elements, *windows.output)
        multiply(matrix, columns.reshape(group, matrix.shape[-1], -1), result[image], context)
    if b is not None:
        result += b.reshape(group, -1, 1)
    return result.reshape(batch, filters, *windows.output)


def _sample_image(image: Array, moved: Array, windows: Windows, context: KernelContext) -> Array:
    """Return an image (C, D1, ..., Dn) interpolated at points, as (offset groups, channels, elements, *output)."""
    groups, elements, rank, *output = moved.shape
    sizes, count = image.shape[1:], math.prod(image.shape[1:])
    values = np.zeros((groups, image.shape[0] // groups, count + 1), image.dtype)
    values[:, :, :count] = image.reshape(groups, -1, count)  # the last one is for points outside
    lows, parts = [], []
    taps = np.indices(windows.kernel).reshape(rank, -1)
    for axis in range(rank):
        starts = np.arange(output[axis]) * windows.strides[axis] - windows.begins[axis]
        within = taps[axis] * windows.dilations[axis]
        whole = within.reshape(-1, *[1] * rank) + starts.reshape(-1, *[1] * (rank - axis - 1))
        at = moved[:, :, axis] + whole.astype(moved.dtype)
        # Points far outside read zero, and so do those that are NaN.
        at = np.where((at > -1) & (at < sizes[axis]), at, -2)
        lows.append(np.floor(at).astype(np.int64))
        parts.append(at - lows[-1])
    result = np.zeros((*values.shape[:2], elements, *output), image.dtype)
    for corner in itertools.product((0, 1), repeat=rank):
        context.check_time()
        index, weight = np.zeros(lows[0].shape, np.int64), np.ones(lows[0].shape, image.dtype)
        inside = np.ones(lows[0].shape, np.bool_)
        for size, low, part, step in zip(sizes, lows, parts, corner, strict=True):
            inside &= (low + step >= 0) & (low + step < size)
            index = index * size + low + step
            weight *= part if step else 1 - part
        index = np.where(inside, index, count)
        for number in range(groups):
            result[number] += values[number][:, index[number]] * weight[number]
    return result
