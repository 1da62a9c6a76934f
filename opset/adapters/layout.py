"""Reshaping, padding, slicing, splitting, tiling: what moved from attributes to inputs, axes that may be negative."""

from __future__ import annotations

import math
from typing import Any

from opset.adapters import down, up
from opset.adapters.shared import (
    BFLOAT16,
    INTEGERS_OF_32_BITS,
    SMALL_FLOATS,
    SMALL_INTEGERS,
    constant_ints,
    distinct_axes,
    float16,
    float32,
    need_size,
    nonnegative,
    positive_axis,
    through,
)
from opset.opsets.values import MAX_CONSTANT, NUMBERS
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

FLOATS = ("float16", "float", "double")

down("Flatten", "Split", since=11)(nonnegative("axis"))
down("Pad", since=13)(through({"bool": "uint8"}))
down("Flatten", "Pad", "Squeeze", "Transpose", "Unsqueeze", since=21)(through(SMALL_FLOATS))
down("ReverseSequence", since=28)(through(BFLOAT16))


@up("Concat", since=4)
def concat_states_axis(op: Builder, node: Node) -> Result:
    """An absent axis meant 1 and has to be given now."""
    return None if node.has("axis") else op.same(node, axis=1)


@down("Concat", since=11)
def concat_nonnegative_axis(op: Builder, node: Node) -> Result:
    """All inputs have one rank, so any of them tells which axis a negative one is."""
    axis = node.attr("axis")
    if axis >= 0:
        return None
    ranks = (node.rank(index) for index in range(len(node.proto.input)))
    rank = next((rank for rank in ranks if rank is not None), None)
    return op.same(node, axis=positive_axis(axis, node.need_rank(0) if rank is None else rank))


@down("Squeeze", since=11)
def squeeze_nonnegative_axes(op: Builder, node: Node) -> Result:
    """Axes could not count from the end; their order has no meaning."""
    return _front_axes(op, node, 0)


@down("Unsqueeze", since=11)
def unsqueeze_nonnegative_axes(op: Builder, node: Node) -> Result:
    """Axes could not count from the end of the result, whose rank is the input's and that of the new axes."""
    return _front_axes(op, node, len(node.attr("axes")))


def _front_axes(op: Builder, node: Node, extra_rank: int) -> Result:
    axes = node.attr("axes", [])
    if all(axis >= 0 for axis in axes):
        return None
    return op.same(node, axes=sorted(distinct_axes(axes, node.need_rank(0) + extra_rank)))


def _regroup(groups: int, size: int) -> list[int]:
    """Give the order that brings channels, read as (size, groups), into that of (groups, size)."""
    return [inner * groups + group for group in range(groups) for inner in range(size)]


def _block_channels(node: Node, divided: bool) -> tuple[int, int]:
    """Give how many places a block has, and how many channels each of them gets (or has, if `divided`)."""
    places = node.attr("blocksize") ** 2
    channels = need_size(node, 0, 1)
    if places == 0 or (divided and channels % places):
        raise Refusal("C103", f"{channels} channels cannot be spread over blocks of {places}")
    channels //= places if divided else 1
    if channels * places > MAX_CONSTANT:
        raise Refusal("C204", f"the order of {channels * places} channels is too long for a constant")
    return places, channels


@down("DepthToSpace", since=11)
def depth_to_space_in_old_order(op: Builder, node: Node) -> Result:
    """Only the channel order DCR was there; channels in the order CRD are brought into it first."""
    if node.attr("mode") != "CRD":
        return None
    places, depth = _block_channels(node, divided=True)
    order = op.const(_regroup(places, depth))
    return op.same(node, inputs=[op.Gather(node.input(0), order, axis=1)], drop=["mode"])


@down("SpaceToDepth", since=28)
def space_to_depth_in_old_order(op: Builder, node: Node) -> Result:
    """Only the channel order DCR was there; the result's channels are brought from it into the order CRD."""
    if node.attr("mode") != "CRD":
        return None
    places, depth = _block_channels(node, divided=False)
    (y,) = op.same(node, outputs=[op.fresh("DCR")], drop=["mode"])
    return op.Gather(y, op.const(_regroup(depth, places)), axis=1)


@up("Pad", since=2)
def pad_renames_pads(op: Builder, node: Node) -> Result:
    """Only the name changed; the order is that of version 1's text, whose example was corrected to it."""
    return op.same(node, drop=["paddings"], pads=node.attr("paddings"))


@down("Pad", since=2)
def pad_renames_paddings(op: Builder, node: Node) -> Result:
    """The attribute had another name, and could not remove elements."""
    if any(count < 0 for count in node.attr("pads")):
        raise Refusal("C204", "negative pads remove elements, which version 1 cannot", "use a Slice")
    return op.same(node, drop=["pads"], paddings=node.attr("pads"))


@up("Pad", since=11)
def pad_attributes_to_inputs(op: Builder, node: Node) -> Result:
    """The pads become an input, and the value a scalar of the type of the data, which is 0 where it is absent."""
    inputs = [node.input(0), op.const(node.attr("pads"))]
    value = node.attr("value")
    if node.attr("mode") == "constant" and (value != 0 or math.copysign(1.0, value) < 0):
        element = node.need_element(0)
        inputs.append(op.const(float16(value) if element == "float16" else value, element, []))
    return op.same(node, inputs=inputs, drop=["pads", "value"])


@down("Pad", since=11)
def pad_inputs_to_attributes(op: Builder, node: Node) -> Result:
    """Known pads and a value that FLOAT holds become attributes; small integers are padded as floats that hold them."""
    element = node.need_element(0)
    wide = element if element in FLOATS else {**SMALL_INTEGERS, **INTEGERS_OF_32_BITS}.get(element)
    if wide is None:
        raise Refusal("C202", f"version 2 of Pad takes floats, and none of them holds every {element}")
    attributes: dict[str, Any] = {"pads": constant_ints(node, 1)}
    if node.attr("mode") == "constant" and node.input(2):
        values = node.need_constant(2).values
        if len(values) != 1:
            raise Refusal("C103", f"the input 'constant_value' has {len(values)} values")
        if float32(values[0]) != values[0] and not math.isnan(values[0]):
            raise Refusal("C204", f"the value {values[0]} has no equal among FLOATs, and the attribute is one")
        attributes["value"] = values[0]
    if wide == element:
        return op.same(node, inputs=[node.input(0)], **attributes)
    x = op.Cast(node.input(0), to=NUMBERS[wide])
    (y,) = op.same(node, inputs=[x], outputs=[op.fresh("wide")], **attributes)
    return op.Cast(y, to=NUMBERS[element])


@down("Pad", since=18)
def pad_all_axes(op: Builder, node: Node) -> Result:
    """Pads had to speak of all axes: those of other axes are 0."""
    if not node.input(3):
        return None
    rank = node.need_rank(0)
    axes = distinct_axes(constant_ints(node, 3), rank)
    places = {axis: place for place, axis in enumerate(axes)}
    nothing = 2 * len(axes)
    order = [places.get(axis, nothing) for axis in range(rank)]
    order += [places[axis] + len(axes) if axis in places else nothing for axis in range(rank)]
    if node.constant(1) is None:
        pads = op.Gather(op.Concat(node.input(1), op.const([0]), axis=0), op.const(order), axis=0)
    else:
        given = constant_ints(node, 1)
        if len(given) != nothing:
            raise Refusal("C103", f"there are {len(given)} pads for {len(axes)} axes")
        pads = op.const([[*given, 0][place] for place in order])
    return op.same(node, inputs=[node.input(0), pads, node.input(2)])


@down("Pad", since=19)
def pad_without_wrap(op: Builder, node: Node) -> Result:
    """The mode `wrap` is new; with known sizes and pads, it takes elements at known places."""
    if node.attr("mode") != "wrap":
        return None
    rank = node.need_rank(0)
    axes = distinct_axes(constant_ints(node, 3), rank) if node.input(3) else list(range(rank))
    pads = constant_ints(node, 1)
    if len(pads) != 2 * len(axes):
        raise Refusal("C103", f"there are {len(pads)} pads for {len(axes)} axes")
    if any(count < 0 for count in pads):
        raise Refusal("C204", "what negative pads mean under the mode wrap is not defined")
    y = node.input(0)
    for axis, before, after in zip(axes, pads, pads[len(axes) :], strict=False):
        if not before and not after:
            continue
        size = need_size(node, 0, axis)
        if not size or before + size + after > MAX_CONSTANT:
            raise Refusal("C204", f"axis {axis} cannot be wrapped: size {size}, pads {before} and {after}")
        y = op.Gather(y, op.const([place % size for place in range(-before, size + after)]), axis=axis)
    return y


@down("Reshape", since=14)
def reshape_without_allowzero(op: Builder, node: Node) -> Result:
    """A 0 always meant the input's size at that place; an empty result is made by broadcasting a 0 to the shape.

    Such a result needs an empty input, which `-1` takes to a 0 anywhere.
    """
    if not node.attr("allowzero"):
        return op.same(node, drop=["allowzero"]) if node.has("allowzero") else None
    if node.constant(1) is None:
        return _reshape_at_run_time(op, node)
    shape = constant_ints(node, 1)
    if 0 not in shape:
        return op.same(node, drop=["allowzero"])
    if -1 in shape:
        raise Refusal("C103", "with allowzero 1, 'shape' holds a 0 and a -1")
    empty = [-1 if place == shape.index(0) else 1 for place in range(len(shape))]
    outputs = [op.fresh("empty")]
    (y,) = op.same(node, inputs=[node.input(0), op.const(empty)], outputs=outputs, drop=["allowzero"])
    return op.Expand(y, node.input(1))


def _reshape_at_run_time(op: Builder, node: Node) -> Result:
    """Do the same for a shape that is computed: it may or may not hold a 0, which only an empty input allows."""
    x = node.shape(0)
    if x is not None and all(isinstance(size, int) and size > 0 for size in x):
        return op.same(node, drop=["allowzero"])
    wanted, one, none = node.input(1), op.const(1), op.const([0])
    zero = op.Cast(op.Equal(wanted, none), to=NUMBERS["int64"])
    first = op.Mul(zero, op.Cast(op.Equal(op.CumSum(zero, op.const(0)), one), to=NUMBERS["int64"]))
    # A shape without dimensions has no largest element; with a 0 more it has.
    empty = op.Cast(op.ReduceMax(op.Concat(zero, none, axis=0), axes=[0], keepdims=1), to=NUMBERS["bool"])
    over_zero = op.Where(empty, op.Sub(one, op.Add(first, first)), wanted)
    outputs = [op.fresh("reshaped")]
    (y,) = op.same(node, inputs=[node.input(0), over_zero], outputs=outputs, drop=["allowzero"])
    return op.Expand(y, op.Where(empty, wanted, one))


@down("Shape", since=15)
def shape_then_slice(op: Builder, node: Node) -> Result:
    """A part of the shape is what Slice takes from the whole one with the same bounds."""
    start, end = node.attr("start"), node.attr("end")
    if start == 0 and end is None:
        return op.same(node, drop=["start"]) if node.has("start") else None
    (shape,) = op.same(node, outputs=[op.fresh("shape")], drop=["start", "end"])
    return op.Slice(shape, op.const([start]), op.const([2**63 - 1 if end is None else end]), op.const([0]))


@up("Slice", since=10)
def slice_attributes_to_inputs(op: Builder, node: Node) -> Result:
    """Bounds become inputs. Absent axes meant the first ones, as many as there are bounds; now they mean all."""
    starts, ends = node.attr("starts"), node.attr("ends")
    axes = node.attr("axes", list(range(len(starts))))
    inputs = [node.input(0), op.const(starts), op.const(ends), op.const(axes)]
    return op.same(node, inputs=inputs, drop=["starts", "ends", "axes"])


@down("Slice", since=10)
def slice_inputs_to_attributes(op: Builder, node: Node) -> Result:
    """Known bounds become attributes. Other steps than 1 take elements at known places, if the size is known."""
    starts, ends = constant_ints(node, 1), constant_ints(node, 2)
    axes = constant_ints(node, 3) if node.input(3) else list(range(len(starts)))
    steps = constant_ints(node, 4) if node.input(4) else [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise Refusal("C103", "the inputs 'starts', 'ends', 'axes' and 'steps' differ in length")
    plain = [place for place, step in enumerate(steps) if step == 1]
    if len(plain) == len(steps):
        stated = axes if node.input(3) else None
        return op.same(node, inputs=[node.input(0)], starts=starts, ends=ends, axes=stated)
    y = node.input(0)
    if plain:
        bounds: dict[str, Any] = {
            name: [values[place] for place in plain]
            for name, values in (("starts", starts), ("ends", ends), ("axes", axes))
        }
        (y,) = op.same(node, inputs=[y], outputs=[op.fresh("sliced")], **bounds)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step != 1:
            places = _places(start, end, step, need_size(node, 0, axis))
            y = op.Gather(y, op.const(places), axis=axis)
    return y


def _places(start: int, end: int, step: int, size: int) -> list[int]:
    if step == 0:
        raise Refusal("C103", "a step is 0")
    if step < 0 and start < -size:
        raise Refusal("C204", f"where slicing backwards from {start} begins in {size} elements is not defined")
    if step < 0 and end in (2**31 - 1, 2**63 - 1):
        raise Refusal("C204", f"slicing backwards to {end} is to the last element, or to some runtimes to the first")
    places = range(*slice(start, end, step).indices(size))
    if len(places) > MAX_CONSTANT:
        raise Refusal("C204", f"the places of {len(places)} elements are too many for a constant")
    return list(places)


@down("Slice", since=11)
def slice_nonnegative_axes(op: Builder, node: Node) -> Result:
    """Axes could not count from the end."""
    if not node.input(3):
        return None
    axes = constant_ints(node, 3)
    if all(axis >= 0 for axis in axes):
        return None
    front = op.const(distinct_axes(axes, node.need_rank(0)), node.need_constant(3).element)
    inputs = list(node.proto.input)
    inputs[3] = front
    return op.same(node, inputs=inputs)


@up("Split", since=2)
def split_sizes_to_attribute(op: Builder, node: Node) -> Result:
    """Sizes could be an input of the type of the data. What an absent axis meant was not said."""
    attributes: dict[str, Any] = {}
    if not node.has("axis"):
        if node.rank(0) != 1:
            raise Refusal("C204", "'axis' is absent, and version 1 does not say what that means", "state the axis")
        attributes["axis"] = 0
    if node.input(1):
        if node.has("split"):
            raise Refusal("C103", "sizes are given twice, as an input and as an attribute")
        sizes = node.need_constant(1).values
        if not all(isinstance(size, (int, float)) and 0 <= size < 2**63 and size == int(size) for size in sizes):
            raise Refusal("C103", "the input 'split' holds what is no size")
        attributes["split"] = [int(size) for size in sizes]
    return op.same(node, inputs=[node.input(0)], **attributes) if attributes else None


@down("Split", since=2)
def split_states_axis(op: Builder, node: Node) -> Result:
    """What an absent axis meant was not said."""
    node.need_element(0)
    return op.same(node, axis=node.attr("axis"))


@up("Split", since=18)
def split_states_number(op: Builder, node: Node) -> Result:
    """Without sizes, the number of outputs said how many equal parts there are; now an attribute does."""
    return None if node.input(1) else op.same(node, inputs=[node.input(0)], num_outputs=len(node.proto.output))


@down("Split", since=18)
def split_states_sizes(op: Builder, node: Node) -> Result:
    """Parts had to be equal. Where the last one is smaller, or that is not known, all sizes are given."""
    number, count = node.attr("num_outputs"), len(node.proto.output)
    if node.input(1):
        if number is not None:
            raise Refusal("C103", "the input 'split' and the attribute 'num_outputs' are given both")
        return None
    if number != count:
        raise Refusal("C103", f"'num_outputs' is {number}, and there are {count} outputs")
    x = node.input(0)
    if number == 1:
        return op.same(node, inputs=[x], drop=["num_outputs"])
    shape, axis = node.shape(0), node.attr("axis")
    if axis < 0 or shape is not None:
        axis = positive_axis(axis, node.need_rank(0))
    known = shape is not None and isinstance(shape[axis], int)
    if known or node.final < 13:
        size = need_size(node, 0, axis)
        if size % number == 0:
            return op.same(node, inputs=[x], drop=["num_outputs"])
        part = -(-size // number)
        last = size - part * (number - 1)
        if last >= 0:
            return op.same(node, inputs=[x, op.const([part] * (number - 1) + [last])], drop=["num_outputs"])
        if node.final < 13:
            raise Refusal("C103", f"{size} elements cannot be split into {number} parts, the last one smaller")
    # Sizes that do not fit, as in a branch that is never taken, show when the node runs, as they did before.
    whole = op.Gather(op.Shape(x), op.const([axis]), axis=0)
    each = op.Div(op.Add(whole, op.const([number - 1])), op.const([number]))
    rest = op.Sub(whole, op.Mul(each, op.const([number - 1])))
    return op.same(node, inputs=[x, op.Concat(*[each] * (number - 1), rest, axis=0)], drop=["num_outputs"])


@up("Tile", since=6)
def tile_one_axis_to_all(op: Builder, node: Node) -> Result:
    """Count and axis, of the type of the data, become a count for each axis."""
    given = []
    for index in (1, 2):
        values = node.need_constant(index).values
        if len(values) != 1 or not 0 <= values[0] < 2**63 or values[0] != int(values[0]):
            raise Refusal("C103", f"the input '{node.schema.inputs[index].name}' is no single whole number")
        given.append(int(values[0]))
    tiles, axis = given
    rank = node.need_rank(0)
    positive_axis(axis, rank)
    return op.same(node, inputs=[node.input(0), op.const([tiles if place == axis else 1 for place in range(rank)])])


@down("Tile", since=6)
def tile_axis_by_axis(op: Builder, node: Node) -> Result:
    """Each axis takes a node of its own, with count and axis of the type of the data."""
    element = node.need_element(0)
    if element not in FLOATS:
        raise Refusal("C202", f"version 1 of Tile takes floats, not {element}")
    y = node.input(0)
    for axis, count in enumerate(constant_ints(node, 1)):
        if not 0 <= count <= 2048:
            raise Refusal("C204", f"the count {count} is no number that every float type holds")
        if count != 1:
            y = op.Tile(y, op.const(count, element, []), op.const(axis, element, []))
    return y
