"""Tile, Expand, Shape, DepthToSpace, SpaceToDepth, Trilu and ReverseSequence: orders of channels, counts by axis."""

from __future__ import annotations

from opset.adapters.building.positions import (
    integers_below,
    merge_first_axes,
    reshape_exactly,
    size_name,
    sizes_of,
    vector_along,
)
from opset.adapters.building.shared import FLOATS, constant_ints, fill_value, need_size, negative_mask, positive_axis
from opset.model.elements import NUMBERS
from opset.model.types import MAX_CONSTANT
from opset.version_converter.registration import down, lower, refuses, up
from opset.version_converter.rewrite import Builder, Node, Refusal, Result


def _regrouping_order(groups: int, size: int) -> list[int]:
    """Return the order that rearranges channels from (size, groups) to (groups, size)."""
    return [inner * groups + group for group in range(groups) for inner in range(size)]


def _block_channels(node: Node, divided: bool) -> tuple[int, int]:
    """Return the elements of a block, and the channels of each element, `divided` or not; raise Refusal if none fit."""
    area = node.attr("blocksize") ** 2
    channels = need_size(node, 0, 1)
    if divided and channels % area:
        raise Refusal("C103", f"{channels} channels cannot be spread over blocks of {area} elements")
    channels //= area if divided else 1
    if channels * area > MAX_CONSTANT:
        label = "the order of the channels is too long for a constant"
        raise Refusal("C204", f"the order of {channels * area} channels is too long for a constant", label=label)
    return area, channels


@down("DepthToSpace", since=11)
@refuses("C204", "the order of the channels is too long for a constant")
def depth_to_space_11_down(op: Builder, node: Node) -> Result:
    """Reorder CRD channels to DCR, the only order before 11."""
    if node.attr("mode") != "CRD":
        return None
    area, depth = _block_channels(node, divided=True)
    order = op.const(_regrouping_order(area, depth))
    return op.copy(node, inputs=[op.Gather(node.input(0), order, axis=1)], drop=["mode"])


@down("SpaceToDepth", since=28)
@refuses("C204", "the order of the channels is too long for a constant")
def space_to_depth_28_down(op: Builder, node: Node) -> Result:
    """Reorder the channels of the result from DCR, the only order before 28, to CRD."""
    if node.attr("mode") != "CRD":
        return None
    area, depth = _block_channels(node, divided=False)
    y = op.copy(node, outputs=[op.fresh("DCR")], drop=["mode"])
    return op.Gather(y, op.const(_regrouping_order(depth, area)), axis=1)


@down("Shape", since=15)
def shape_15_down(op: Builder, node: Node) -> Result:
    """Select from the whole shape: known sizes become constants, since runtimes infer less through a Slice."""
    start, end = node.attr("start"), node.attr("end")
    if start == 0 and end is None:
        return op.copy(node, drop=["start"]) if node.has("start") else None
    sizes = node.shape(0)
    if sizes is not None:
        axes = range(len(sizes))[start:end]
        selected = [sizes[axis] for axis in axes]
        if all(isinstance(size, int) for size in selected):
            op.release(node.input(0))
            return op.const(selected)
        shape = op.copy(node, outputs=[op.fresh("shape")], drop=["start", "end"])
        return op.Gather(shape, op.const(list(axes)))
    shape = op.copy(node, outputs=[op.fresh("shape")], drop=["start", "end"])
    return op.Slice(shape, op.const([start]), op.const([2**63 - 1 if end is None else end]), op.const([0]))


@up("Tile", since=6)
def tile_6_up(op: Builder, node: Node) -> Result:
    """Replace count and axis, of the type of the data, by a count for each axis."""
    counts = []
    for index in (1, 2):
        values = node.need_constant(index).values
        if len(values) != 1 or not 0 <= values[0] < 2**63 or values[0] != int(values[0]):
            raise Refusal("C103", f"the input '{node.schema.inputs[index].name}' is no single whole number")
        counts.append(int(values[0]))
    tiles, axis = counts
    rank = node.need_rank(0)
    positive_axis(axis, rank)
    return op.copy(
        node, inputs=[node.input(0), op.const([tiles if other_axis == axis else 1 for other_axis in range(rank)])]
    )


@down("Tile", since=6)
@refuses("C204", "a count is no number that every float type holds")
def tile_6_down(op: Builder, node: Node) -> Result:
    """Tile each axis by a node of its own, with count and axis of the type of the data."""
    element = node.need_element(0)
    if element not in FLOATS:
        label = "version 1 of Tile takes floats alone"
        raise Refusal("C202", f"version 1 of Tile takes floats, not {element}", label=label)
    y = node.input(0)
    for axis, count in enumerate(constant_ints(node, 1)):
        if not 0 <= count <= 2048:
            label = "a count is no number that every float type holds"
            raise Refusal("C204", f"the count {count} is no number that every float type holds", label=label)
        if count != 1:
            y = op.Tile(y, op.const(count, element), op.const(axis, element))
    return y


@lower("Trilu", since=14)
def trilu_lowered(op: Builder, node: Node) -> Result:
    """Select by the distance of each element from the main diagonal."""
    element = node.need_element(0)
    rank = node.need_rank(0)
    if rank < 2:
        raise Refusal("C103", f"the input has {rank} dimensions, too few for a matrix")
    rows, columns = (integers_below(op, size) for size in sizes_of(op, node, 0)[-2:])
    distance = op.Sub(columns, vector_along(op, rows, 0, 2))
    diagonal = node.input(1) or op.const(0)
    outside = op.Less(distance, diagonal) if node.attr("upper") else op.Greater(distance, diagonal)
    return op.Where(outside, fill_value(op, element), node.input(0))


@lower("Expand", since=8)
def expand_lowered(op: Builder, node: Node) -> Result:
    """Repeat dimensions of 1 by Tile, as often as the shape says."""
    x = node.input(0)
    rank = node.rank(0)
    length = (node.shape(1) or (None,))[0]
    if rank == 0 and not isinstance(length, int):
        return _fill_shape(op, x, node.input(1))
    if rank is None or not isinstance(length, int):
        return _expand_to_any_rank(op, x, node.input(1))
    whole = max(rank, length)
    if whole == 0:
        return op.Identity(x)
    if whole > rank:
        x = op.Unsqueeze(x, axes=list(range(op.charge_elements(whole - rank))))
    shape = node.input(1)
    if whole > length:
        shape = op.Concat(op.const([1] * op.charge_elements(whole - length)), shape, axis=0)
    one = op.const([1])
    sizes = sizes_of(op, node, 0)
    if all(isinstance(size, int) for size in sizes):
        stretched = op.const([1] * op.charge_elements(whole - rank) + [int(size == 1) for size in sizes])
    else:
        stretched = op.Cast(op.Equal(op.Shape(x), one), to=NUMBERS["int64"])
    return op.Tile(x, op.Add(one, op.Mul(stretched, op.Sub(shape, one))))


def _expand_to_any_rank(op: Builder, x: str, shape: str) -> str:
    """Return an expanded value if ranks are not known: the shorter shape gets dimensions of 1 before it."""
    # One more dimension of 1 comes last, so that there is one to repeat, and every 0 in the shape copies a 0.
    one = op.const([1])
    sizes = op.Shape(x)
    more = op.Sub(op.Shape(shape), op.Shape(sizes))
    negative = negative_mask(op, more)
    ahead = op.Mul(more, op.Sub(one, negative))
    of_shape = op.Mul(more, op.Sub(op.const([0]), negative))
    sizes = op.Concat(op.Tile(one, ahead), sizes, one, axis=0)
    target = op.Concat(op.Tile(one, of_shape), shape, one, axis=0)
    stretched = op.Cast(op.Equal(sizes, one), to=NUMBERS["int64"])
    y = op.Tile(reshape_exactly(op, x, sizes, None), op.Add(one, op.Mul(stretched, op.Sub(target, one))))
    return str(op.Reshape(y, op.Slice(op.Shape(y), starts=[0], ends=[-1])))


def _fill_shape(op: Builder, x: str, shape: str) -> str:
    """Return a tensor filled with a scalar, in a shape of any length; the added dimension of 1 is one to repeat."""
    one = op.const([1])
    counts = op.Concat(shape, one, axis=0)
    ones = op.Tile(one, op.Shape(counts))
    return str(op.Reshape(op.Tile(op.Reshape(x, ones), counts), shape))


@lower("ReverseSequence", since=10)
def reverse_sequence_lowered(op: Builder, node: Node) -> Result:
    """Gather each element of the first two axes from its sequence: backwards up to the length, in place after it."""
    batch, time = node.attr("batch_axis"), node.attr("time_axis")
    if {batch, time} != {0, 1} or node.need_rank(0) < 2:
        raise Refusal("C103", "the batch and the time are the first two axes")
    sizes = sizes_of(op, node, 0)[:2]
    steps = vector_along(op, integers_below(op, sizes[time]), time, 2)
    lengths = vector_along(op, node.input(1), batch, 2)
    order = op.Where(op.Less(steps, lengths), op.Sub(op.Sub(lengths, op.const(1)), steps), steps)
    sequences = vector_along(op, integers_below(op, sizes[batch]), batch, 2)
    first, second = (order, sequences) if time == 0 else (sequences, order)
    return op.Gather(merge_first_axes(op, node, 0, 2), op.Add(op.Mul(first, size_name(op, sizes[1])), second))
