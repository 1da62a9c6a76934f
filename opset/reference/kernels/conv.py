"""Kernels of convolutions: columns of windows, a block of them at a time, multiplied by the filters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from opset.reference.numerics.arrays import Array
from opset.reference.numerics.shapes import dims_of
from opset.reference.numerics.small_floats import rounded_once
from opset.reference.numerics.windows import (
    AUTO_PADS,
    Ints,
    Windows,
    add_windows,
    interior,
    padded,
    same_pads,
    tap_index,
    window_attributes,
    window_view,
    windows_over,
)
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints import Violation

BLOCK = 1 << 20
"""Elements of columns that are made at a time: as many as a processor's cache is likely to hold."""


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
    """Return the sum over input channels and filter elements of X times W, for each filter and place."""
    filters, channels = _checked(x, w, kernel_shape, group)
    if channels != w.shape[1] * group:
        raise Violation("C5", f"{channels} channels, {w.shape[1]} in a filter, {group} groups")
    if filters % group:
        raise Violation("C6", f"{filters} filters, {group} groups")
    bias = _bias(b, filters)
    windows = windows_over(x.shape, w.shape[2:], strides, dilations, pads, auto_pad)
    return convolved(padded(x, windows.begins, windows.ends, context), w, bias, group, windows, context)


def _checked(x: Array, w: Array, kernel_shape: Ints, group: int) -> tuple[int, int]:
    """Return how many there are of the first dimension of W and of channels of X."""
    if x.ndim != w.ndim or x.ndim < 3:
        raise Violation("C1", f"rank {x.ndim}, filters of rank {w.ndim}")
    if kernel_shape and tuple(kernel_shape) != w.shape[2:]:
        raise Violation("C2", f"kernel_shape {tuple(kernel_shape)}, filters of {w.shape[2:]}")
    if group < 1:
        raise Violation("C5", f"{group} groups")
    return w.shape[0], x.shape[1]


def _bias(b: Array | None, filters: int) -> Array | None:
    if b is not None and b.shape != (filters,):
        raise Violation("C7", f"shape {b.shape}, {filters} output channels")
    return b


def convolved(x: Array, w: Array, bias: Array | None, group: int, windows: Windows, context: KernelContext) -> Array:
    """Return the convolution of a padded tensor."""
    batch, channels = x.shape[:2]
    filters, each, output = w.shape[0], channels // group, windows.output
    context.reserve(batch * filters * math.prod(output), x.dtype)
    result = np.empty((batch, group, filters // group, *output), x.dtype)
    if not result.size:
        return result.reshape(batch, filters, *output)
    matrix = w.reshape(group, filters // group, -1)
    addend = None if bias is None else bias.reshape(group, -1, 1)
    if math.prod(windows.kernel) == 1:
        # What a window of one element sees needs no columns, at most a copy without the elements between strides.
        seen = x[tap_index(windows, (0,) * len(output))].reshape(batch, group, each, -1)
        flat = result.reshape(batch, group, filters // group, -1)
        np.matmul(matrix, seen, out=flat)
        if addend is not None:
            flat += addend
        return flat.reshape(batch, filters, *output)
    view = window_view(x, windows)
    view = view.reshape(batch, group, each, *view.shape[2:]) if group > 1 else view[:, None]
    elements = channels * math.prod(windows.kernel)
    kernel_axes = (slice(None),) * (2 + len(output))
    buffer = np.empty(0, x.dtype)
    for images, *places in _blocks((batch, *output), max(BLOCK // max(elements, 1), 1)):
        context.check_time()
        part = view[(images, *kernel_axes, *places)]
        if part.size > buffer.size:
            context.reserve(part.size, x.dtype)
            buffer = np.empty(part.size, x.dtype)
        columns = buffer[: part.size]
        np.copyto(columns.reshape(part.shape), part)
        target = result[(images, slice(None), slice(None), *places)]
        # A view, as all that `_blocks` cuts is contiguous but for the first axis that has more than one element.
        flat = target.reshape(*target.shape[:3], -1)
        np.matmul(matrix, columns.reshape(len(flat), group, matrix.shape[-1], -1), out=flat)
        if addend is not None:
            flat += addend
    return result.reshape(batch, filters, *output)


def _blocks(shape: Sequence[int], most: int) -> Iterator[tuple[slice, ...]]:
    """Yield parts of an array of this shape, which together are all of it, of at most so many elements each."""
    steps, room = [1] * len(shape), most
    for axis in reversed(range(len(shape))):
        if not shape[axis]:
            return
        count = -(-shape[axis] // max(min(room, shape[axis]), 1))
        steps[axis] = -(-shape[axis] // count)  # parts of the same size
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
    """Return the sum of the filters put at the places of X, each times the element there.

    Version 1 contradicts itself on which side gets the odd element of padding; runtimes do as version 11 says.
    """
    channels, given = _checked(x, w, kernel_shape, group)
    if channels != given or given % group:
        raise Violation("C5", f"{given} channels, filters for {channels}, {group} groups")
    windows, shape = _spread(x, w, auto_pad, dilations, output_padding, output_shape, pads, strides)
    filters = w.shape[1] * group
    bias = _bias(b, filters)
    sizes = [begin + size + end for begin, size, end in zip(windows.begins, shape, windows.ends, strict=True)]
    batch = x.shape[0]
    context.reserve(batch * filters * math.prod(sizes), x.dtype)
    context.reserve(batch * filters * math.prod(x.shape[2:]), x.dtype)
    result = np.zeros((batch, filters, *sizes), x.dtype)
    values = x.reshape(batch, group, channels // group, math.prod(x.shape[2:]))
    turned = w.reshape(group, channels // group, w.shape[1], *w.shape[2:]).swapaxes(1, 2)
    for tap in np.ndindex(windows.kernel) if values.size and turned.size else ():
        context.check_time()
        part = np.matmul(np.ascontiguousarray(turned[(..., *tap)]), values)
        target = result[tap_index(windows, tap)]
        target += part.reshape(target.shape)
    result = result[interior(windows.begins, shape)]
    return result if bias is None else result + bias.reshape(-1, *[1] * len(shape))


def _spread(
    x: Array, w: Array, auto_pad: str, dilations: Ints, output_padding: Ints, output_shape: Ints, pads: Ints,
    strides: Ints,
) -> tuple[Windows, tuple[int, ...]]:  # fmt: skip
    """Return where the filters lie in the uncut result, and the spatial shape of the cut one.

    The uncut result has at least as many elements as the pads and the shape together.
    """
    kernel, rank = w.shape[2:], x.ndim - 2
    strides, dilations, pads = window_attributes(kernel, strides, dilations, pads)
    output_padding = tuple(output_padding or (0,) * rank)
    if len(output_padding) != rank or min(output_padding) < 0:
        raise Violation("C2", f"output_padding {output_padding}")
    if auto_pad not in AUTO_PADS and auto_pad:
        raise Violation("C3", f"auto_pad '{auto_pad}'")
    wanted = tuple(output_shape) if output_shape else None
    if wanted is not None and len(wanted) == rank + 2:
        wanted = wanted[2:]
    if wanted is not None and (len(wanted) != rank or min(wanted) < 0):
        raise Violation("C6", f"output_shape {wanted}, {rank} spatial axes")
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
    """Return the image whose windows are the columns of x, elements that several windows share added up."""
    image, block = (tuple(dims_of(each)) for each in (image_shape, block_shape))
    if len(image) != len(block) or not image or min(image) < 0:
        raise Violation("C1", f"image of {image}, blocks of {block}")
    windows = windows_over((0, 0, *image), block, strides, dilations, pads)
    elements, places = math.prod(block), math.prod(windows.output)
    if x.ndim != 3 or x.shape[1] % elements or x.shape[2] != places:
        raise Violation("C3", f"{places} places of blocks of {elements} elements")
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
    """Return each channel convolved with its own filter, which ends at the current position, and the last positions."""
    if x.ndim != 3 or weight.ndim != 3 or weight.shape[:2] != (x.shape[1], 1) or not weight.shape[2]:
        raise Violation("C1", f"input {x.shape}, weight {weight.shape}")
    batch, channels, length = x.shape
    state = weight.shape[2] - 1
    if past is None:
        context.reserve(batch * channels * (state + length), x.dtype)
        past = np.zeros((batch, channels, state), x.dtype)
    if past.shape != (batch, channels, state):
        raise Violation("C2", f"past_state {past.shape}, expected {(batch, channels, state)}")
    if bias is not None and bias.shape != (channels,):
        raise Violation("C3", f"bias {bias.shape}, {channels} channels")
    if activation not in ("none", "silu", "swish"):
        raise Violation("C4", f"activation '{activation}'")
    whole = np.concatenate((past, x), axis=2)
    present = whole[:, :, length:].copy()
    if not length:
        return x, present
    windows = windows_over(whole.shape, weight.shape[2:], None, None, None)
    result = convolved(whole, weight, bias, channels, windows, context) if x.size else x
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
    """Return the convolution of what each window's points, moved by `offset` and times `mask`, are interpolated to."""
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
    context.reserve(batch * filters * math.prod(windows.output), x.dtype)
    context.reserve(channels * points * 2 + (offset_group * points << rank), np.int64)
    result = np.empty((batch, group, filters // group, math.prod(windows.output)), x.dtype)
    matrix = w.reshape(group, filters // group, -1)
    for image in range(batch):
        moved = offset[image].reshape(offset_group, elements, rank, *windows.output)
        columns = _sampled(x[image], moved, windows, context)
        if mask is not None:
            columns *= mask[image].reshape(offset_group, 1, elements, *windows.output)
        np.matmul(matrix, columns.reshape(group, matrix.shape[-1], -1), out=result[image])
    if b is not None:
        result += b.reshape(group, -1, 1)
    return result.reshape(batch, filters, *windows.output)


def _sampled(image: Array, moved: Array, windows: Windows, context: KernelContext) -> Array:
    """Return what an image (C, D1, ..., Dn) is at all points: (offset groups, channels of each, elements, *output)."""
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
        context.check_time()
        place, weight = np.zeros(lows[0].shape, np.int64), np.ones(lows[0].shape, image.dtype)
        for size, low, part, step in zip(sizes, lows, parts, corner, strict=True):
            inside = (low + step >= 0) & (low + step < size)
            place = place * size + np.where(inside, low + step, 0)
            weight *= np.where(inside, part if step else 1 - part, 0)
        for number in range(groups):
            result[number] += values[number][:, place[number]] * weight[number]
    return result
