"""Slice, Split and Pad: attributes that became inputs, and axes and modes that were added."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from opset.adapters.building.positions import (
    Size,
    as_vector,
    at_least,
    at_most,
    difference,
    integers_below,
    integers_of,
    numbers_of_axes,
    product,
    size_name,
    sizes_of,
    spread_over_axes,
    sum_of,
    vector_of,
)
from opset.adapters.building.shared import (
    FLOATS,
    INTEGERS_OF_32_BITS,
    SMALL_INTEGERS,
    cast,
    constant_ints,
    distinct_axes,
    float16,
    float32,
    need_dims,
    need_size,
    negative_mask,
    positive_axis,
)
from opset.model.elements import NUMBERS
from opset.model.types import MAX_CONSTANT
from opset.version_converter.registration import down, refuses, up
from opset.version_converter.rewrite import Builder, Node, Refusal, Result


@up("Pad", since=11)
def pad_11_up(op: Builder, node: Node) -> Result:
    """Write the pads as an input, and the value as a scalar of the type of the data, by default 0."""
    inputs = [node.input(0), op.const(node.attr("pads"))]
    value = node.attr("value")
    if node.attr("mode") == "constant" and (value != 0 or math.copysign(1.0, value) < 0):
        element = node.need_element(0)
        inputs.append(op.const(float16(value) if element == "float16" else value, element))
    return op.copy(node, inputs=inputs, drop=["pads", "value"])


@down("Pad", since=11)
def pad_11_down(op: Builder, node: Node) -> Result:
    """Write known pads, and a value that float holds, as attributes; pad small integers as floats.

    Anything else is padded by gathering.
    """
    element = node.need_element(0)
    wide = element if element in FLOATS else {**SMALL_INTEGERS, **INTEGERS_OF_32_BITS}.get(element)
    if wide is None or node.constant(1) is None:
        return _pad_by_gathering(op, node, integers_of(op, node, 1, 2 * node.need_rank(0)))
    attributes: dict[str, Any] = {"pads": constant_ints(node, 1)}
    if node.attr("mode") == "constant" and node.input(2):
        constant = node.constant(2)
        if constant is not None and len(constant.values) != 1:
            raise Refusal("C103", f"the input 'constant_value' has {len(constant.values)} values")
        value = constant.values[0] if constant is not None else None
        if value is None or (float32(value) != value and not math.isnan(value)):
            return _pad_by_gathering(op, node, attributes["pads"])
        attributes["value"] = value
    if wide == element:
        return op.copy(node, inputs=[node.input(0)], **attributes)
    x = op.Cast(node.input(0), to=NUMBERS[wide])
    y = op.copy(node, inputs=[x], outputs=[op.fresh("wide")], **attributes)
    return op.Cast(y, to=NUMBERS[element])


def _pad_by_gathering(op: Builder, node: Node, pads: Sequence[Size]) -> Result:
    """Return the data padded by gathering along one axis after the other, from an axis with the constant appended."""
    mode = node.attr("mode")
    sizes = sizes_of(op, node, 0)
    y = node.input(0)
    if len(pads) != 2 * len(sizes):
        raise Refusal("C103", f"there are {len(pads)} pads for {len(sizes)} axes")
    value = ""
    if mode == "constant":
        element = node.need_element(0)
        zero = {"bool": False, "string": ""}.get(element, 0)
        value = op.Reshape(node.input(2) or op.const(zero, element), op.const([1] * len(sizes)))
    for axis, size in enumerate(sizes):
        before = pads[axis]
        after = pads[axis + len(sizes)]
        if before == after == 0:
            continue
        if mode == "constant":
            fill = op.Expand(value, vector_of(op, [*sizes[:axis], 1, *sizes[axis + 1 :]]))
            y = op.Concat(y, fill, axis=axis)
        added = [at_least(op, pad, 0) for pad in (before, after)]
        first, last = (difference(op, kept, pad) for kept, pad in zip(added, (before, after), strict=True))
        whole = difference(op, difference(op, size, first), last)
        sizes[axis] = sum_of(op, sum_of(op, whole, added[0]), added[1])
        positions = op.Sub(integers_below(op, sizes[axis]), size_name(op, added[0]))
        source = _source_indices(op, mode, positions, size_name(op, whole))
        if first != 0:
            source = op.Add(source, size_name(op, first))
        if mode == "constant":
            # The constant is at the end of the axis.
            outside = op.Or(op.Less(positions, op.const(0)), op.Not(op.Less(positions, size_name(op, whole))))
            source = op.Where(outside, size_name(op, size), source)
        y = op.Gather(y, source, axis=axis)
    return y if y != node.input(0) else op.Identity(y)


def _source_indices(op: Builder, mode: str, positions: str, size: str) -> str:
    """Return the indices of the elements to copy to positions, which are counted from the first element of the data."""
    if mode == "constant":
        return positions
    zero = op.const(0)
    one = op.const(1)
    if mode == "edge":
        return str(at_most(op, at_least(op, positions, zero), op.Sub(size, one)))
    if mode == "wrap":
        return op.Mod(positions, size)
    # Forwards and backwards again, without repeating either end.
    turn = op.Mul(op.Sub(size, one), op.const(2))
    forwards = op.Mod(positions, size_name(op, at_least(op, turn, 1)))
    return str(at_most(op, forwards, op.Sub(turn, forwards)))


@down("Pad", since=18)
def pad_18_down(op: Builder, node: Node) -> Result:
    """Write pads for all axes: 0 for each axis that is not listed."""
    if not node.input(3):
        return None
    rank = node.need_rank(0)
    if node.constant(3) is None:
        return op.copy(node, inputs=[node.input(0), _pads_of_all_axes(op, node, rank), node.input(2)])
    axes = distinct_axes(constant_ints(node, 3), rank)
    indices = {axis: index for index, axis in enumerate(axes)}
    zero = 2 * len(axes)
    order = [indices.get(axis, zero) for axis in range(rank)]
    order += [indices[axis] + len(axes) if axis in indices else zero for axis in range(rank)]
    if node.constant(1) is None:
        pads = op.Gather(op.Concat(node.input(1), op.const([0]), axis=0), op.const(order))
    else:
        pads_of_axes = constant_ints(node, 1)
        if len(pads_of_axes) != zero:
            raise Refusal("C103", f"there are {len(pads_of_axes)} pads for {len(axes)} axes")
        pads = op.const([[*pads_of_axes, 0][index] for index in order])
    return op.copy(node, inputs=[node.input(0), pads, node.input(2)])


def _pads_of_all_axes(op: Builder, node: Node, rank: int) -> str:
    """Return the pads of all axes, if the axes of the stated pads are computed at run time."""
    numbers = numbers_of_axes(op, node, 3, rank)
    halves = op.Reshape(node.input(1), op.const([2, -1]))
    return op.Concat(*[spread_over_axes(op, op.Gather(halves, op.const(half)), numbers) for half in (0, 1)], axis=0)


@down("Pad", since=19)
@refuses(
    "C204",
    "an axis of size 0 cannot be wrapped",
    "negative pads are not defined for the mode wrap",
)
def pad_19_down(op: Builder, node: Node) -> Result:
    """Gather known or computed indices for the mode `wrap`, which version 19 added."""
    if node.attr("mode") != "wrap":
        return None
    shape = need_dims(node, 0)
    rank = len(shape)
    if node.constant(1) is None or (node.input(3) and node.constant(3) is None):
        computed = _pads_of_all_axes(op, node, rank) if node.input(3) else node.input(1)
        return _pad_by_gathering(op, node, [op.Gather(computed, op.const(index)) for index in range(2 * rank)])
    axes = distinct_axes(constant_ints(node, 3), rank) if node.input(3) else list(range(rank))
    pads = constant_ints(node, 1)
    if len(pads) != 2 * len(axes):
        raise Refusal("C103", f"there are {len(pads)} pads for {len(axes)} axes")
    if any(count < 0 for count in pads):
        raise Refusal("C204", "negative pads are not defined for the mode wrap")
    pads_by_axis = {axis: (before, after) for axis, before, after in zip(axes, pads, pads[len(axes) :], strict=False)}
    y = node.input(0)
    for axis, (before, after) in pads_by_axis.items():
        size = shape[axis]
        if not isinstance(size, int) or before + size + after > MAX_CONSTANT:
            return _pad_by_gathering(
                op, node, [pads_by_axis.get(other_axis, (0, 0))[end] for end in (0, 1) for other_axis in range(rank)]
            )
        if not size and (before or after):
            label = "an axis of size 0 cannot be wrapped"
            raise Refusal("C204", f"axis {axis} cannot be wrapped: its size is 0", label=label)
    for axis, (before, after) in pads_by_axis.items():
        if before or after:
            size = need_size(node, 0, axis)
            y = op.Gather(y, op.const([position % size for position in range(-before, size + after)]), axis=axis)
    return y


@up("Slice", since=10)
def slice_10_up(op: Builder, node: Node) -> Result:
    """Write bounds and axes as inputs; before 10, absent axes are the first ones, as many as there are bounds."""
    starts, ends = node.attr("starts"), node.attr("ends")
    axes = node.attr("axes", list(range(len(starts))))
    inputs = [node.input(0), op.const(starts), op.const(ends), op.const(axes)]
    return op.copy(node, inputs=inputs, drop=["starts", "ends", "axes"])


@down("Slice", since=10)
@refuses(
    "C204",
    "slicing backwards ends at the last element, or in some runtimes at the first",
    "the indices are too many for a constant",
    "the first element is not defined when slicing backwards from beyond the end",
)
def slice_10_down(op: Builder, node: Node) -> Result:
    """Write known bounds as attributes; gather elements with steps other than 1, and between computed bounds."""
    if any(node.input(index) and node.constant(index) is None for index in range(1, 5)):
        return _slice_at_run_time(op, node)
    starts, ends = constant_ints(node, 1), constant_ints(node, 2)
    axes = constant_ints(node, 3) if node.input(3) else list(range(len(starts)))
    steps = constant_ints(node, 4) if node.input(4) else [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise Refusal("C103", "the inputs 'starts', 'ends', 'axes' and 'steps' differ in length")
    plain = [index for index, step in enumerate(steps) if step == 1]
    if len(plain) == len(steps):
        stated = axes if node.input(3) else None
        return op.copy(node, inputs=[node.input(0)], starts=starts, ends=ends, axes=stated)
    y = node.input(0)
    if plain:
        bounds: dict[str, Any] = {
            name: [values[index] for index in plain]
            for name, values in (("starts", starts), ("ends", ends), ("axes", axes))
        }
        y = op.copy(node, inputs=[y], outputs=[op.fresh("sliced")], **bounds)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step != 1:
            size = sizes_of(op, node, 0)[positive_axis(axis, node.need_rank(0))]
            if isinstance(size, int):
                y = op.Gather(y, op.const(_slice_indices(start, end, step, size)), axis=axis)
            elif step == 0 or (step < 0 and (start < -1 or end in (2**31 - 1, 2**63 - 1))):
                need_size(node, 0, axis)
            else:
                y = op.Gather(y, _computed_indices(op, size, start, end, step), axis=axis)
    return y


def _slice_at_run_time(op: Builder, node: Node) -> Result:
    """Return the elements between bounds that are computed, gathered along one axis after the other."""
    rank = node.need_rank(0)
    sizes = sizes_of(op, node, 0)
    stated = node.constant(3)
    count = len(stated.values) if stated is not None else None
    if not node.input(3):
        for index in (1, 2):
            shape = node.shape(index)
            size = 1 if shape == () else shape and shape[0]
            count = size if count is None and isinstance(size, int) else count
    if count is None:
        numbers = numbers_of_axes(op, node, 3, rank) if node.input(3) else _numbers_of_first_axes(op, node, rank)
        stated_too = op.Cast(op.Cast(numbers, to=NUMBERS["bool"]), to=NUMBERS["int64"])
        other = op.Sub(op.const(1), stated_too)
        vectors = [
            cast(op, as_vector(op, node, node.input(index)), node.element(index), "int64")
            for index in (1, 2, 4)
            if node.input(index)
        ]
        whole = [spread_over_axes(op, vector, numbers) for vector in vectors]
        whole[1] = op.Add(whole[1], op.Mul(other, vector_of(op, sizes)))
        if len(whole) > 2:
            whole[2] = op.Add(whole[2], other)
        parts: list[list[Size]] = [[op.Gather(vector, op.const(axis)) for axis in range(rank)] for vector in whole]
        axes = list(range(rank))
    else:
        if count > rank:
            raise Refusal("C103", f"{count} axes are sliced, and the rank is {rank}")
        parts = [integers_of(op, node, index, count) for index in (1, 2, 4) if node.input(index)]
        axes = [int(axis) for axis in stated.values] if stated is not None else list(range(count))
    steps = parts[2] if len(parts) > 2 else [1] * len(axes)
    y = node.input(0)
    for axis, start, end, step in zip(distinct_axes(axes, rank), parts[0], parts[1], steps, strict=True):
        y = op.Gather(y, _computed_indices(op, sizes[axis], start, end, step), axis=axis)
    return y


def _numbers_of_first_axes(op: Builder, node: Node, rank: int) -> str:
    """Return for each axis its number among as many first ones as there are starts, from 1 on, or 0."""
    is_sliced = op.Less(op.const(list(range(rank))), op.Size(node.input(1)))
    return str(op.Mul(op.const(list(range(1, rank + 1))), op.Cast(is_sliced, to=NUMBERS["int64"])))


def _computed_indices(op: Builder, size: Size, start: Size, end: Size, step: Size) -> str:
    """Return the indices of a slice whose axis has a computed size or bound; raise Refusal C103 for a step of 0."""
    if step == 0:
        raise Refusal("C103", "a step is 0")
    backwards: Size = int(step < 0) if isinstance(step, int) else negative_mask(op, step)
    # Backwards, the first element is at most the last one, and the end may be before the first one.
    highest = difference(op, size, backwards)
    lowest = difference(op, 0, backwards)
    first = at_most(op, at_least(op, _from_front(op, start, size), 0), highest) if start != 0 or step != 1 else 0
    bound = at_most(op, at_least(op, _from_front(op, end, size), lowest), highest)
    if step == 1:
        count = difference(op, bound, first)
    else:
        span = difference(op, bound, first)
        toward = sum_of(op, step, difference(op, product(op, [2, backwards]), 1)) if isinstance(step, int) else None
        if toward is None:
            sign = op.Sub(op.const(1), op.Mul(op.const(2), size_name(op, backwards)))
            toward = op.Sub(size_name(op, step), sign)
        count = op.Div(size_name(op, sum_of(op, span, toward)), size_name(op, step))
    indices = integers_below(op, at_least(op, count, 0))
    if step != 1:
        indices = op.Mul(indices, size_name(op, step))
    return indices if first == 0 else op.Add(indices, size_name(op, first))


def _from_front(op: Builder, index: Size, size: Size) -> Size:
    """Return an index counted from the front."""
    if isinstance(index, int):
        return sum_of(op, index, size) if index < 0 else index
    return op.Where(op.Less(index, op.const(0)), op.Add(index, size_name(op, size)), index)


def _slice_indices(start: int, end: int, step: int, size: int) -> list[int]:
    """Return the indices of a slice with a step other than 1; raise Refusal C103 or C204 if they are not defined."""
    if step == 0:
        raise Refusal("C103", "a step is 0")
    if step < 0 and start < -size:
        label = "the first element is not defined when slicing backwards from beyond the end"
        why = f"the first element is not defined when slicing {size} elements backwards from {start}"
        raise Refusal("C204", why, label=label)
    if step < 0 and end in (2**31 - 1, 2**63 - 1):
        label = "slicing backwards ends at the last element, or in some runtimes at the first"
        why = f"slicing backwards to {end} ends at the last element, or in some runtimes at the first"
        raise Refusal("C204", why, label=label)
    indices = range(*slice(start, end, step).indices(size))
    if len(indices) > MAX_CONSTANT:
        label = "the indices are too many for a constant"
        raise Refusal("C204", f"{len(indices)} indices are too many for a constant", label=label)
    return list(indices)


@down("Slice", since=11)
def slice_11_down(op: Builder, node: Node) -> Result:
    """Count negative axes from the front, since axes could not be negative."""
    if not node.input(3):
        return None
    if node.constant(3) is None:
        axes = node.input(3)
        element = node.need_element(3)
        wide = cast(op, axes, element, "int64")
        front = cast(op, op.Add(wide, op.Mul(negative_mask(op, wide), op.const(node.need_rank(0)))), "int64", element)
        return op.copy(node, inputs=[*node.inputs[:3], front, *node.inputs[4:]])
    axis_numbers = constant_ints(node, 3)
    if all(axis >= 0 for axis in axis_numbers):
        return None
    front = op.const(distinct_axes(axis_numbers, node.need_rank(0)), node.need_constant(3).element)
    inputs = list(node.inputs)
    inputs[3] = front
    return op.copy(node, inputs=inputs)


@up("Split", since=2)
@refuses("C204", "`axis` is absent, and version 1 does not say what that means")
def split_2_up(op: Builder, node: Node) -> Result:
    """Write sizes that are an input as the attribute; refuse an absent axis, which version 1 leaves open."""
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
            raise Refusal("C103", "the input 'split' holds a value that is no size")
        attributes["split"] = [int(size) for size in sizes]
    return op.copy(node, inputs=[node.input(0)], **attributes) if attributes else None


@down("Split", since=2)
def split_2_down(op: Builder, node: Node) -> Result:
    """State the axis, whose default version 1 leaves open."""
    node.need_element(0)
    return op.copy(node, axis=node.attr("axis"))


@down("Split", since=13)
def split_13_down(op: Builder, node: Node) -> Result:
    """Slice parts whose sizes are computed at run time; known sizes become the attribute."""
    if not node.input(1) or node.constant(1) is not None:
        return None
    sizes = as_vector(op, node, node.input(1))
    axis = op.const([node.attr("axis")])
    parts = []
    end = op.const([0])
    for index in range(len(node.outputs)):
        start = end
        end = op.Add(end, op.Gather(sizes, op.const([index])))
        parts.append(op.Slice(node.input(0), start, end, axis))
    return parts


@up("Split", since=18)
def split_18_up(op: Builder, node: Node) -> Result:
    """State the number of outputs if no sizes are given: there are as many equal parts."""
    return None if node.input(1) else op.copy(node, inputs=[node.input(0)], num_outputs=len(node.outputs))


@down("Split", since=18)
def split_18_down(op: Builder, node: Node) -> Result:
    """State all sizes if the last part is smaller, or may be: before 18, parts had to be equal."""
    number = node.attr("num_outputs")
    count = len(node.outputs)
    if node.input(1):
        return None
    if number != count:
        raise Refusal("C103", f"'num_outputs' is {number}, and there are {count} outputs")
    x = node.input(0)
    if number == 1:
        return op.copy(node, inputs=[x], drop=["num_outputs"])
    shape = node.shape(0)
    axis = node.attr("axis")
    if axis < 0 or shape is not None:
        axis = positive_axis(axis, node.need_rank(0))
    size = shape[axis] if shape is not None else None
    if isinstance(size, int):
        if size % number == 0:
            return op.copy(node, inputs=[x], drop=["num_outputs"])
        part = -(-size // number)
        last = size - part * (number - 1)
        if last >= 0:
            return op.copy(node, inputs=[x, op.const([part] * (number - 1) + [last])], drop=["num_outputs"])
    # Sizes that do not fit, as in a branch that never runs, may fail only when the node runs, as before.
    if op.final < 13:
        return _split_at_run_time(op, x, axis, number)
    whole = op.Gather(op.Shape(x), op.const([axis]))
    part = op.Div(op.Add(whole, op.const([number - 1])), op.const([number]))
    last_part = op.Sub(whole, op.Mul(part, op.const([number - 1])))
    return op.copy(node, inputs=[x, op.Concat(*[part] * (number - 1), last_part, axis=0)], drop=["num_outputs"])


def _split_at_run_time(op: Builder, x: str, axis: int, number: int) -> list[str]:
    """Return parts of a computed size, the last one smaller; the rank need not be known."""
    whole = op.Gather(op.Shape(x), op.const(axis))
    part = op.Div(op.Add(whole, op.const(number - 1)), op.const(number))
    ends = [op.const(0), part, *(op.Mul(part, op.const(at)) for at in range(2, number)), whole]
    if op.final >= 10:
        ends = [op.Reshape(vector, op.const([1])) for vector in ends]
        return [op.Slice(x, *bounds, op.const([axis])) for bounds in pairwise(ends)]
    numbers = [op.Add(integers_below(op, op.Sub(end, start)), start) for start, end in pairwise(ends)]
    return [op.Gather(x, vector, axis=axis) for vector in numbers]
