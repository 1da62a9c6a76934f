"""Slice, Split and Pad: attributes that became inputs, and axes and modes that were added."""

from __future__ import annotations

import math
from typing import Any

from opset.adapters.shared import (
    INTEGERS_OF_32_BITS,
    SMALL_INTEGERS,
    constant_ints,
    distinct_axes,
    float16,
    float32,
    need_size,
    positive_axis,
)
from opset.model.elements import NUMBERS
from opset.model.types import MAX_CONSTANT
from opset.version_converter.registration import down, up
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

FLOATS = ("float16", "float", "double")


@up("Pad", since=11)
def pad_11_up(op: Builder, node: Node) -> Result:
    """The pads become an input, and so does the value, a scalar of the type of the data, by default 0."""
    inputs = [node.input(0), op.const(node.attr("pads"))]
    value = node.attr("value")
    if node.attr("mode") == "constant" and (value != 0 or math.copysign(1.0, value) < 0):
        element = node.need_element(0)
        inputs.append(op.const(float16(value) if element == "float16" else value, element, []))
    return op.copy(node, inputs=inputs, drop=["pads", "value"])


@down("Pad", since=11)
def pad_11_down(op: Builder, node: Node) -> Result:
    """Known pads and a value that FLOAT holds become attributes; small integers are padded as floats."""
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
            raise Refusal("C204", f"the value {values[0]} is no FLOAT, and the attribute is one")
        attributes["value"] = values[0]
    if wide == element:
        return op.copy(node, inputs=[node.input(0)], **attributes)
    x = op.Cast(node.input(0), to=NUMBERS[wide])
    (y,) = op.copy(node, inputs=[x], outputs=[op.fresh("wide")], **attributes)
    return op.Cast(y, to=NUMBERS[element])


@down("Pad", since=18)
def pad_18_down(op: Builder, node: Node) -> Result:
    """There were pads for all axes: those of the other axes are 0."""
    if not node.input(3):
        return None
    rank = node.need_rank(0)
    axes = distinct_axes(constant_ints(node, 3), rank)
    indices = {axis: index for index, axis in enumerate(axes)}
    zero = 2 * len(axes)
    order = [indices.get(axis, zero) for axis in range(rank)]
    order += [indices[axis] + len(axes) if axis in indices else zero for axis in range(rank)]
    if node.constant(1) is None:
        pads = op.Gather(op.Concat(node.input(1), op.const([0]), axis=0), op.const(order), axis=0)
    else:
        given = constant_ints(node, 1)
        if len(given) != zero:
            raise Refusal("C103", f"there are {len(given)} pads for {len(axes)} axes")
        pads = op.const([[*given, 0][index] for index in order])
    return op.copy(node, inputs=[node.input(0), pads, node.input(2)])


@down("Pad", since=19)
def pad_19_down(op: Builder, node: Node) -> Result:
    """The mode `wrap` was added; with known sizes and pads, it gathers known indices."""
    if node.attr("mode") != "wrap":
        return None
    rank = node.need_rank(0)
    axes = distinct_axes(constant_ints(node, 3), rank) if node.input(3) else list(range(rank))
    pads = constant_ints(node, 1)
    if len(pads) != 2 * len(axes):
        raise Refusal("C103", f"there are {len(pads)} pads for {len(axes)} axes")
    if any(count < 0 for count in pads):
        raise Refusal("C204", "negative pads are not defined for the mode wrap")
    y = node.input(0)
    for axis, before, after in zip(axes, pads, pads[len(axes) :], strict=False):
        if not before and not after:
            continue
        size = need_size(node, 0, axis)
        if not size or before + size + after > MAX_CONSTANT:
            raise Refusal("C204", f"axis {axis} cannot be wrapped: size {size}, pads {before} and {after}")
        y = op.Gather(y, op.const([position % size for position in range(-before, size + after)]), axis=axis)
    return y


@up("Slice", since=10)
def slice_10_up(op: Builder, node: Node) -> Result:
    """Bounds become inputs. Absent axes meant the first ones, as many as there are bounds; now they mean all."""
    starts, ends = node.attr("starts"), node.attr("ends")
    axes = node.attr("axes", list(range(len(starts))))
    inputs = [node.input(0), op.const(starts), op.const(ends), op.const(axes)]
    return op.copy(node, inputs=inputs, drop=["starts", "ends", "axes"])


@down("Slice", since=10)
def slice_10_down(op: Builder, node: Node) -> Result:
    """Known bounds become attributes. With steps other than 1, elements are gathered where the size is known."""
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
        (y,) = op.copy(node, inputs=[y], outputs=[op.fresh("sliced")], **bounds)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step != 1:
            indices = _indices(start, end, step, need_size(node, 0, axis))
            y = op.Gather(y, op.const(indices), axis=axis)
    return y


def _indices(start: int, end: int, step: int, size: int) -> list[int]:
    """Return the indices of a slice with a step other than 1."""
    if step == 0:
        raise Refusal("C103", "a step is 0")
    if step < 0 and start < -size:
        raise Refusal("C204", f"the first element is not defined when slicing {size} elements backwards from {start}")
    if step < 0 and end in (2**31 - 1, 2**63 - 1):
        raise Refusal("C204", f"slicing backwards to {end} ends at the last element, or in some runtimes at the first")
    indices = range(*slice(start, end, step).indices(size))
    if len(indices) > MAX_CONSTANT:
        raise Refusal("C204", f"{len(indices)} indices are too many for a constant")
    return list(indices)


@down("Slice", since=11)
def slice_11_down(op: Builder, node: Node) -> Result:
    """Axes could not be negative."""
    if not node.input(3):
        return None
    axes = constant_ints(node, 3)
    if all(axis >= 0 for axis in axes):
        return None
    front = op.const(distinct_axes(axes, node.need_rank(0)), node.need_constant(3).element)
    inputs = list(node.inputs)
    inputs[3] = front
    return op.copy(node, inputs=inputs)


@up("Split", since=2)
def split_2_up(op: Builder, node: Node) -> Result:
    """Sizes could be an input of the type of the data. The meaning of an absent axis was not defined."""
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
    """The meaning of an absent axis was not defined."""
    node.need_element(0)
    return op.copy(node, axis=node.attr("axis"))


@up("Split", since=18)
def split_18_up(op: Builder, node: Node) -> Result:
    """Without sizes, the number of outputs was the number of equal parts; now it is an attribute."""
    return None if node.input(1) else op.copy(node, inputs=[node.input(0)], num_outputs=len(node.outputs))


@down("Split", since=18)
def split_18_down(op: Builder, node: Node) -> Result:
    """Parts had to be equal. Where the last is smaller, or may be, all sizes are given."""
    number, count = node.attr("num_outputs"), len(node.outputs)
    if node.input(1):
        if number is not None:
            raise Refusal("C103", "both the input 'split' and the attribute 'num_outputs' are given")
        return None
    if number != count:
        raise Refusal("C103", f"'num_outputs' is {number}, and there are {count} outputs")
    x = node.input(0)
    if number == 1:
        return op.copy(node, inputs=[x], drop=["num_outputs"])
    shape, axis = node.shape(0), node.attr("axis")
    if axis < 0 or shape is not None:
        axis = positive_axis(axis, node.need_rank(0))
    known = shape is not None and isinstance(shape[axis], int)
    if known or node.final < 13:
        size = need_size(node, 0, axis)
        if size % number == 0:
            return op.copy(node, inputs=[x], drop=["num_outputs"])
        part = -(-size // number)
        last = size - part * (number - 1)
        if last >= 0:
            return op.copy(node, inputs=[x, op.const([part] * (number - 1) + [last])], drop=["num_outputs"])
        if node.final < 13:
            raise Refusal("C103", f"{size} elements cannot be split into {number} parts, the last one smaller")
    # Sizes that do not fit, as in a branch that never runs, fail only when the node runs, as before.
    whole = op.Gather(op.Shape(x), op.const([axis]), axis=0)
    part = op.Div(op.Add(whole, op.const([number - 1])), op.const([number]))
    last_part = op.Sub(whole, op.Mul(part, op.const([number - 1])))
    return op.copy(node, inputs=[x, op.Concat(*[part] * (number - 1), last_part, axis=0)], drop=["num_outputs"])
