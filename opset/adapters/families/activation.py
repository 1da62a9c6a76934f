"""Activations: the axis of Softmax, LogSoftmax and Hardmax (versions 11 and 13), the slopes of PRelu, newer types."""

from __future__ import annotations

from opset.adapters.building.shared import (
    INTEGERS,
    cast,
    negative_mask,
    positive_axis,
    select_by_mask,
    working_type,
)
from opset.version_converter.registration import down, lower, refuses, up
from opset.version_converter.rewrite import Builder, Node, Refusal, Result


@up("Softmax", "LogSoftmax", "Hardmax", since=11)
def softmax_11_up(op: Builder, node: Node) -> Result:
    """Refuse an axis that the input does not have, such as the default 1 of a vector: it is an error at any version."""
    if (rank := node.rank(0)) is not None:
        positive_axis(node.attr("axis"), rank)
    return None


@up("Softmax", "LogSoftmax", "Hardmax", since=13)
def softmax_13_up(op: Builder, node: Node) -> Result:
    """Flatten to a matrix at `axis`, as versions before 13 did; along the last axis both are the same."""
    x = node.input(0)
    axis = node.attr("axis")
    sizes = node.shape(0)
    if sizes is not None:
        axis = positive_axis(axis, len(sizes))
    if axis == (-1 if sizes is None else len(sizes) - 1):
        return None
    if sizes is not None and 0 in sizes:
        # There is nothing to normalize, and Reshape could not restore such a shape.
        return op.Identity(x)
    shape = op.Shape(x)
    # If Reshape takes a size of 0 from the matrix, it has to be the original one.
    plain = sizes is not None and all(
        isinstance(size, int) or position == 0 < axis or position == 1 >= axis for position, size in enumerate(sizes)
    )
    rows = op.Flatten(x, axis=axis) if plain else _merge_from_axis(op, x, shape, axis)
    y = op.copy(node, inputs=[rows], outputs=[op.fresh("rows")], axis=-1 if plain else axis)
    return op.Reshape(y, shape)


def _merge_from_axis(op: Builder, x: str, shape: str, axis: int) -> str:
    """Return x with its dimensions from `axis` on merged into one, followed by a 0 for each 0, else a 1."""
    # Reshape takes a size of 0 from its input, at the same position: there, in both directions, is one.
    start = op.const([axis])
    end = op.const([(1 << 31) - 1])
    before = [op.Slice(shape, op.const([0]), start)] if axis else []
    product = op.ReduceProd(op.Slice(shape, start, end))
    behind = op.Min(op.Slice(shape, op.const([axis + 1]), end), op.const([1]))
    return op.Reshape(x, op.Concat(*before, product, behind, axis=0))


@down("Softmax", "LogSoftmax", "Hardmax", since=13)
def softmax_13_down(op: Builder, node: Node) -> Result:
    """Transpose the axis to the end: flattening at the last axis is normalizing along it."""
    axis = node.attr("axis")
    if axis == -1:
        return None
    rank = node.need_rank(0)
    axis = positive_axis(axis, rank)
    if axis == rank - 1:
        return None
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    transposed = op.Transpose(node.input(0), perm=order)
    y = op.copy(node, inputs=[transposed], outputs=[op.fresh("turned")], axis=-1)
    return op.Transpose(y, perm=order)


@down("PRelu", since=9)
def p_relu_9_down(op: Builder, node: Node) -> Result:
    """Write out the formula for integers, which older versions do not take."""
    element = node.element(0)
    if element not in INTEGERS:
        return None
    x, slope = node.inputs
    if element[0] == "u":
        return x
    below = cast(op, negative_mask(op, x), "int64", element)
    above = op.Sub(op.const(1, element), below)
    return op.Add(op.Mul(op.Mul(x, slope), below), op.Mul(x, above))


@up("PRelu", since=7)
@refuses("C204", "before version 7 there is one slope, or one for each channel (dimension 1)")
def p_relu_7_up(op: Builder, node: Node) -> Result:
    """Append dimensions of 1 to the slopes, so that they stay with dimension 1; a single slope needs none."""
    slope = node.shape(1)
    rank = node.rank(0)
    if slope is not None and all(dim == 1 for dim in slope):
        if rank is not None and len(slope) <= rank:
            return None
        return op.copy(node, inputs=[node.input(0), op.Squeeze(node.input(1), axes=list(range(len(slope))))])
    rank = node.need_rank(0)
    if node.need_rank(1) != 1 or rank < 2:
        raise Refusal("C204", "before version 7 there is one slope, or one for each channel (dimension 1)")
    if rank == 2:
        return None
    return op.copy(node, inputs=[node.input(0), op.Unsqueeze(node.input(1), axes=list(range(1, rank - 1)))])


@down("PRelu", since=7)
def p_relu_7_down(op: Builder, node: Node) -> Result:
    """Squeeze the slopes to one for each channel (dimension 1); refuse slopes that vary along another axis."""
    slope = node.shape(1)
    if slope is None:
        node.need_rank(1)
        return None
    if all(dim == 1 for dim in slope):
        return None
    rank = node.need_rank(0)
    channel = 1 - rank + len(slope)
    if any(dim != 1 for axis, dim in enumerate(slope) if axis != channel):
        label = "the slopes do not vary by channel alone"
        why = f"slopes of shape {list(slope)} do not vary by channel alone"
        raise Refusal("C204", why, "reshape the slopes", label=label)
    others = [axis for axis in range(len(slope)) if axis != channel]
    return op.copy(node, inputs=[node.input(0), op.Squeeze(node.input(1), axes=others)]) if others else None


@down("Relu", since=14)
def relu_14_down(op: Builder, node: Node) -> Result:
    """Compute integers by Max with zero, which takes them."""
    element = node.element(0)
    return op.Max(node.input(0), op.const(0, element)) if element in INTEGERS else None


@down("Celu", since=28)
def celu_28_down(op: Builder, node: Node) -> Result:
    """Write out the formula for double."""
    if node.element(0) != "double":
        return None
    x, alpha, zero, one, half = node.input(0), *(op.const(v, "double") for v in (node.attr("alpha"), 0, 1, 0.5))
    scaled = op.Div(x, alpha)
    # exp(t) - 1 is tanh(t / 2) * (exp(t) + 1), where no digits cancel.
    exponential = op.Mul(op.Tanh(op.Mul(scaled, half)), op.Add(op.Exp(scaled), one))
    return op.Add(op.Max(x, zero), op.Min(op.Mul(exponential, alpha), zero))


@lower("Shrink", since=9)
@refuses("C204", "`bias` is no number of the element type")
def shrink_lowered(op: Builder, node: Node) -> Result:
    """Compare and add in a wide type; a whole number is added to integers in 64 bits, which wrap."""
    x = node.input(0)
    element = node.need_element(0)
    bias = node.attr("bias")
    if element in INTEGERS and not -(2**63) <= bias < 2**63:
        label = "`bias` is no number of the element type"
        raise Refusal("C204", f"'bias' is {bias}, which is no number of {element}", label=label)
    integral = element in INTEGERS and bias == int(bias)
    wide = "double" if element in INTEGERS else working_type(element)
    number = cast(op, x, element, wide)
    below = op.Less(number, op.const(-node.attr("lambd"), wide))
    above = op.Greater(number, op.const(node.attr("lambd"), wide))
    adding = "int64" if integral else wide
    x = cast(op, x, element, adding)
    shift = op.const(int(bias) if integral else bias, adding)
    moved = select_by_mask(op, below, op.Add(x, shift), op.Sub(x, shift), adding)
    zero = op.const(0, adding)
    return cast(op, select_by_mask(op, op.Or(below, above), moved, zero, adding), adding, element)
