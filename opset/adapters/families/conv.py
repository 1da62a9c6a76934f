"""Lowerings of Col2Im, DeformConv and the convolution with a state."""

from __future__ import annotations

import math
from typing import NamedTuple

from opset.adapters.building.positions import (
    Size,
    difference,
    integers_below,
    integers_of,
    product,
    quotient,
    size_name,
    sizes_of,
    sum_along,
    sum_of,
    vector_of,
)
from opset.adapters.building.shared import cast, fill_value, need_size, unsqueeze, vector_length, working_type
from opset.adapters.limits import MAX_DIMENSIONS, MAX_WINDOW
from opset.model.elements import NUMBERS
from opset.model.types import MAX_CONSTANT
from opset.version_converter.registration import lower, refuses
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

X, WEIGHT, BIAS, PAST = range(4)
OFFSET = 2
"""The position at which DeformConv has its offsets."""
SUMMED = {
    **dict.fromkeys(("float16", "bfloat16"), "float"),
    **dict.fromkeys(("int8", "int16", "uint8", "uint16"), "int32"),
    "uint32": "int64",
}
"""Types with the wider types in which their elements are added: casting back keeps the low bits."""


@lower("CausalConvWithState", since=27)
def causal_conv_with_state_lowered(op: Builder, node: Node) -> Result:
    """Put the state before the input, and convolve each channel by itself."""
    element = node.need_element(X)
    activation = node.attr("activation")
    channels = need_size(node, WEIGHT, 0)
    width = need_size(node, WEIGHT, 2)
    if width < 1:
        raise Refusal("C103", "the kernel has no elements")
    shape = node.shape(X)
    if shape is not None and 0 in shape:
        raise Refusal("C204", "the input is empty, which Conv does not take")
    wide = working_type(element)
    past = node.input(PAST)
    whole = node.input(X)
    if past:
        whole = op.Concat(past, whole, axis=2)
    elif width > 1:
        whole = op.Pad(whole, op.const([0, 0, width - 1, 0, 0, 0]))
    inputs = [cast(op, name, element, wide) if name else "" for name in (whole, *node.inputs[WEIGHT:PAST])]
    y = op.Conv(*inputs, group=channels, kernel_shape=[width])
    if activation != "none":
        y = op.Mul(y, op.Sigmoid(y))
    present = ""
    if node.output(1):
        start = 1 - width if width > 1 else 2**63 - 1
        present = op.Slice(whole, op.const([start]), op.const([2**63 - 1]), op.const([2]))
    return cast(op, y, wide, element), present


class WindowAttributes(NamedTuple):
    """Attributes of a sliding window, with a number for each spatial axis."""

    strides: list[int]
    dilations: list[int]
    begins: list[int]
    ends: list[int]


def _windows_of(node: Node, rank: int) -> WindowAttributes:
    """Return the attributes with their defaults; raise Refusal C103 for a wrong length, C204 for a large number."""
    strides, dilations = (node.ints(name) or [1] * rank for name in ("strides", "dilations"))
    pads = node.ints("pads") or [0] * 2 * rank
    if (len(strides), len(dilations), len(pads)) != (rank, rank, 2 * rank):
        raise Refusal("C103", f"strides, dilations or pads are not those of {rank} spatial dimensions")
    if max(*strides, *dilations, *pads) > MAX_WINDOW:
        raise Refusal("C204", f"strides, dilations or pads are above {MAX_WINDOW}")
    return WindowAttributes(strides, dilations, pads[:rank], pads[rank:])


@lower("Col2Im", since=18)
@refuses(
    "C204",
    "this number of spatial dimensions has no plain expression",
    "there are no elements",
)
def col2im_lowered(op: Builder, node: Node) -> Result:
    """Gather, axis by axis, the windows' elements that fall on each element of the image, and add them."""
    element = node.need_element(0)
    rank = vector_length(node, 1) or vector_length(node, 2)
    if element in ("bool", "string", "complex64", "complex128"):
        raise Refusal("C202", f"elements of {element} cannot be added", label="elements of this type cannot be added")
    if not rank:
        raise Refusal("C207", "it is not known how many dimensions the image has", "give 'image_shape' a fixed length")
    if rank > MAX_DIMENSIONS:
        label = "this number of spatial dimensions has no plain expression"
        raise Refusal("C204", f"{rank} spatial dimensions have no plain expression", label=label)
    windows = _windows_of(node, rank)
    image, block = integers_of(op, node, 1, rank), integers_of(op, node, 2, rank)
    if any(isinstance(size, int) and size < 1 for size in (*image, *block)) or 0 in (node.shape(0) or ()):
        raise Refusal("C204", "there are no elements", "drop the node")
    area = product(op, block)
    if max(size for size in (0, area, *image, *block) if isinstance(size, int)) > MAX_WINDOW:
        raise Refusal("C204", f"the image or the block has a size above {MAX_WINDOW}")
    counts = [_count_windows(op, windows, axis, image[axis], block[axis]) for axis in range(rank)]
    batch, columns = sizes_of(op, node, 0, [0, 1])
    channels = quotient(op, columns, area)
    wide = SUMMED.get(element, element)
    x = cast(op, node.input(0), element, wide)
    # The block's and the windows' dimension of each axis become one.
    x = op.Reshape(x, vector_of(op, [batch, channels, *block, *counts]))
    x = op.Transpose(x, perm=[0, 1, *(2 + half * rank + axis for axis in range(rank) for half in (0, 1))])
    x = op.Reshape(x, vector_of(op, [0, 0, *(product(op, pair) for pair in zip(block, counts, strict=True))]))
    nothing = fill_value(op, wide)
    for axis in range(rank):
        index, is_valid, several = _window_elements(op, node, windows, axis, (image[axis], block[axis], counts[axis]))
        x = op.Gather(x, index, axis=axis + 2)
        if is_valid:
            first = 1 + several
            behind = rank - 1 - axis
            if behind:
                is_valid = unsqueeze(op, is_valid, list(range(first, first + behind)))
            x = op.Where(is_valid, x, nothing)
        if several:
            x = sum_along(op, x, [axis + 2])
    return cast(op, x, wide, element)


def _count_windows(op: Builder, windows: WindowAttributes, axis: int, image: Size, block: Size) -> Size:
    """Return the number of windows along an axis; raise Refusal C103 if there is none."""
    stride = windows.strides[axis]
    dilation = windows.dilations[axis]
    reach = product(op, [difference(op, block, 1), dilation])
    room = difference(op, sum_of(op, image, windows.begins[axis] + windows.ends[axis] - 1), reach)
    if isinstance(room, int):
        if room < 0:
            raise Refusal("C103", f"a block of {block} is larger than the image along axis {axis}")
        return room // stride + 1
    return op.Add(room if stride == 1 else op.Div(room, op.const(stride)), op.const(1))


def _window_elements(
    op: Builder, node: Node, windows: WindowAttributes, axis: int, sizes: tuple[Size, Size, Size]
) -> tuple[str, str, bool]:
    """Return the elements that fall on each element along an axis, which are valid ("" for all), and if several may."""
    # The first two are tensors (taps, elements), or vectors if windows do not overlap, so that there is one tap.
    size, block, count = sizes
    stride = windows.strides[axis]
    dilation = windows.dilations[axis]
    begin = windows.begins[axis]
    if isinstance(size, int) and isinstance(block, int) and isinstance(count, int) and block * size <= MAX_CONSTANT:
        node.charge(block * size)
        taps_of_elements: list[list[int]] = []
        for at in range(size):
            starts = ((tap, at + begin - tap * dilation) for tap in range(block))
            taps_of_elements.append(
                [
                    tap * count + start // stride
                    for tap, start in starts
                    if start >= 0 and start % stride == 0 and start // stride < count
                ]
            )
        depth = max(1, *map(len, taps_of_elements))
        flat = [indices[row] if row < len(indices) else -1 for row in range(depth) for indices in taps_of_elements]
        dims = [depth, size] if depth > 1 else [size]
        is_valid = "" if min(flat) >= 0 else op.const([index >= 0 for index in flat], "bool", dims)
        return op.const([max(index, 0) for index in flat], dims=dims), is_valid, depth > 1
    taps = op.Reshape(integers_below(op, block), op.const([-1, 1]))
    elements = op.Add(integers_below(op, size), op.const(begin))
    start = op.Sub(elements, op.Mul(taps, op.const(dilation)))
    window = start if stride == 1 else op.Div(start, op.const(stride))
    outside = op.Or(op.Less(start, op.const(0)), op.Not(op.Less(window, size_name(op, count))))
    if stride > 1:
        outside = op.Or(outside, op.Not(op.Equal(op.Mul(window, op.const(stride)), start)))
    index = op.Add(op.Mul(taps, size_name(op, count)), window)
    return op.Where(outside, op.const(0), index), op.Not(outside), True


@lower("DeformConv", since=19)
@refuses(
    "C204",
    "this number of spatial dimensions has no plain expression",
    "a kernel, or a number of channels, of this size has no plain expression",
)
def deform_conv_lowered(op: Builder, node: Node) -> Result:
    """Gather the neighbors of each moved point, add them weighted, and multiply these columns by the filters."""
    element = node.need_element(X)
    rank = node.need_rank(X) - 2
    channels = need_size(node, X, 1)
    filters = need_size(node, WEIGHT, 0)
    group = node.attr("group")
    moves = node.attr("offset_group")
    if rank > MAX_DIMENSIONS:
        label = "this number of spatial dimensions has no plain expression"
        raise Refusal("C204", f"{rank} spatial dimensions have no plain expression", label=label)
    if rank < 1 or node.need_rank(WEIGHT) != rank + 2 or node.need_rank(OFFSET) != rank + 2:
        raise Refusal("C103", "X, W and offset have different ranks, or no spatial dimensions")
    windows = _windows_of(node, rank)
    kernel = [need_size(node, WEIGHT, axis) for axis in range(2, rank + 2)]
    if channels % group or filters % group or channels % moves:
        raise Refusal("C103", f"{channels} channels or {filters} filters cannot be divided into the groups")
    batch, *lengths = sizes_of(op, node, X, [0, *range(2, rank + 2)])
    outputs = sizes_of(op, node, OFFSET, range(2, rank + 2))
    if 0 in (batch, channels, filters, *kernel, *lengths, *outputs):
        raise Refusal("C204", "there are no elements", "drop the node")
    wide = working_type(element)
    area = math.prod(kernel)
    if max(area, moves) > MAX_CONSTANT or max(channels, filters) > MAX_WINDOW:
        raise Refusal("C204", "a kernel, or a number of channels, of this size has no plain expression")
    x, w, offset, bias, mask = (cast(op, node.input(i), element, wide) if node.input(i) else "" for i in range(5))
    offset = op.Reshape(offset, vector_of(op, [batch, moves, area, rank, *outputs]))
    # Each image is written as rows of an offset group's channels; the rows of all groups and images follow one another.
    channels_per_group = channels // moves
    x = op.Reshape(x, vector_of(op, [batch, moves, channels_per_group, -1]))
    rows = op.Reshape(op.Transpose(x, perm=[0, 1, 3, 2]), op.const([-1, channels_per_group]))
    index = op.Mul(op.Reshape(integers_below(op, batch), op.const([-1, 1, 1])), op.const(moves))
    index = op.Add(index, op.const(list(range(moves)), dims=[moves, 1]))
    inside = weight = ""
    for axis in range(rank):
        start = _kernel_positions(op, windows, axis, kernel, outputs, wide)
        moved = op.Add(op.Gather(offset, op.const(axis), axis=3), start)
        moved = op.Reshape(moved, vector_of(op, [1, batch, moves, -1]))
        number, part, is_inside = _neighbors_of(op, moved, lengths[axis], wide)
        # The dimensions are the neighbors along each axis, then images, offset groups and points.
        dims = vector_of(op, [*(2 if at == axis else 1 for at in range(rank)), batch, moves, -1])
        number, part, is_inside = (op.Reshape(tensor, dims) for tensor in (number, part, is_inside))
        index = op.Add(op.Mul(index, size_name(op, lengths[axis])), number)
        weight = op.Mul(weight, part) if weight else part
        inside = op.And(inside, is_inside) if inside else is_inside
    values = op.Gather(rows, index)
    values = op.Where(unsqueeze(op, inside, [rank + 3]), values, fill_value(op, wide))
    columns = op.Mul(values, unsqueeze(op, weight, [rank + 3]))
    for _ in range(rank):
        columns = sum_along(op, columns, [0])
    if mask:
        columns = op.Mul(columns, op.Reshape(mask, vector_of(op, [batch, moves, -1, 1])))
    columns = op.Reshape(columns, vector_of(op, [batch, moves, area, -1, channels_per_group]))
    columns = op.Transpose(columns, perm=[0, 1, 4, 2, 3])
    columns = op.Reshape(columns, vector_of(op, [batch, group, channels // group * area, -1]))
    y = op.MatMul(op.Reshape(w, op.const([group, filters // group, channels // group * area])), columns)
    y = op.Reshape(y, vector_of(op, [batch, filters, *outputs]))
    if bias:
        y = op.Add(y, op.Reshape(bias, op.const([filters, *[1] * rank])))
    return cast(op, y, wide, element)


def _kernel_positions(
    op: Builder, windows: WindowAttributes, axis: int, kernel: list[int], outputs: list[Size], element: str
) -> str:
    """Return the position along an axis of each kernel element, and window: (elements, 1, ..., windows, ..., 1)."""
    rank = len(kernel)
    count = outputs[axis]
    below = math.prod(kernel[axis + 1 :])
    within = [
        float(number // below % kernel[axis] * windows.dilations[axis] - windows.begins[axis])
        for number in range(math.prod(kernel))
    ]
    taps = op.const(within, element, [len(within), *[1] * rank])
    behind = [1] * (rank - 1 - axis)
    starts = op.Mul(
        op.Cast(integers_below(op, count), to=NUMBERS[element]), op.const(float(windows.strides[axis]), element)
    )
    return op.Add(taps, op.Reshape(starts, op.const([-1, *behind])))


def _neighbors_of(op: Builder, at: str, length: Size, element: str) -> tuple[str, str, str]:
    """Return the neighbors below and above each point, their weights, and which are inside; NaN and far ones read 0."""
    one, first, below, outside = (op.const(value, element) for value in (1.0, 0.0, -1.0, -2.0))
    size = op.const(float(length), element) if isinstance(length, int) else op.Cast(length, to=NUMBERS[element])
    at = op.Where(op.And(op.Greater(at, below), op.Less(at, size)), at, outside)
    low = op.Floor(at)
    part = op.Sub(at, low)
    number = op.Add(low, op.const([0.0, 1.0], element, [2, 1, 1, 1]))
    last = op.Sub(size, one)
    inside = op.Not(op.Or(op.Less(number, first), op.Greater(number, last)))
    number = op.Cast(op.Min(op.Max(number, first), last), to=NUMBERS["int64"])
    return number, op.Concat(op.Sub(one, part), part, axis=0), inside
