"""Softmax and its kin, whose axis changed its meaning at version 13; PRelu's slopes; types that came late."""

from __future__ import annotations

from opset.adapters.shared import INTEGERS, positive_axis
from opset.version_converter.registration import down, up
from opset.version_converter.rewrite import Builder, Node, Refusal, Result


@up("Softmax", "LogSoftmax", "Hardmax", since=11)
def softmax_11_up(op: Builder, node: Node) -> Result:
    """An axis equal to the rank left rows of one element; it is out of range now."""
    if node.attr("axis") >= 0 and (rank := node.rank(0)) is not None:
        positive_axis(node.attr("axis"), rank)
    return None


@up("Softmax", "LogSoftmax", "Hardmax", since=13)
def softmax_13_up(op: Builder, node: Node) -> Result:
    """Before 13 the input was flattened to two dimensions at `axis`; along the last axis both are the same."""
    x, axis = node.input(0), node.attr("axis")
    if axis == -1 or ((rank := node.rank(0)) is not None and positive_axis(axis, rank) == rank - 1):
        return None
    sizes = node.shape(0)
    if sizes is not None and 0 in sizes:
        # Nothing is there to normalise, and Reshape could not bring such a shape back.
        return op.Identity(x)
    shape = op.Shape(x)
    rows = op.Flatten(x, axis=axis)
    (y,) = op.copy(node, inputs=[rows], outputs=[op.fresh("rows")], axis=-1)
    back = op.Reshape(y, shape)
    # Of an input with two sizes of 0, Reshape would copy the 1 that Flatten put in front.
    known = sizes is not None and all(isinstance(size, int) for size in sizes)
    return back if known or axis > 0 else op.Expand(back, shape)


@down("Softmax", "LogSoftmax", "Hardmax", since=13)
def softmax_13_down(op: Builder, node: Node) -> Result:
    """Flattening at the last axis is normalising along it, so the axis is brought there."""
    axis = node.attr("axis")
    if axis == -1:
        return None
    rank = node.need_rank(0)
    axis = positive_axis(axis, rank)
    if axis == rank - 1:
        return None
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    turned = op.Transpose(node.input(0), perm=order)
    (y,) = op.copy(node, inputs=[turned], outputs=[op.fresh("turned")], axis=-1)
    return op.Transpose(y, perm=order)


@up("PRelu", since=7)
def p_relu_7_up(op: Builder, node: Node) -> Result:
    """The slopes belonged to dimension 1, unless there was but one; ones after their own dimension keep them there."""
    slope, rank = node.shape(1), node.rank(0)
    if slope is not None and all(dim == 1 for dim in slope):
        if rank is not None and len(slope) <= rank:
            return None
        return op.copy(node, inputs=[node.input(0), op.Squeeze(node.input(1), axes=list(range(len(slope))))])
    rank = node.need_rank(0)
    if node.need_rank(1) != 1 or rank < 2:
        raise Refusal("C204", "before version 7 there was one slope, or one for each index of dimension 1")
    if rank == 2:
        return None
    return op.copy(node, inputs=[node.input(0), op.Unsqueeze(node.input(1), axes=list(range(1, rank - 1)))])


@down("PRelu", since=7)
def p_relu_7_down(op: Builder, node: Node) -> Result:
    """There was one slope, or one for each index of dimension 1; other shapes have no equal."""
    slope = node.shape(1)
    if slope is None:
        node.need_rank(1)
        return None
    if all(dim == 1 for dim in slope):
        return None
    rank = node.need_rank(0)
    channel = 1 - rank + len(slope)
    if not 0 <= channel < len(slope) or any(dim != 1 for axis, dim in enumerate(slope) if axis != channel):
        raise Refusal("C204", f"slopes of shape {list(slope)} do not belong to dimension 1 alone", "reshape the slopes")
    others = [axis for axis in range(len(slope)) if axis != channel]
    return op.copy(node, inputs=[node.input(0), op.Squeeze(node.input(1), axes=others)]) if others else None


@down("Relu", since=14)
def relu_14_down(op: Builder, node: Node) -> Result:
    """The larger one of a number and zero is what it gives, and Max takes integers."""
    element = node.element(0)
    return op.Max(node.input(0), op.const(0, element, [])) if element in INTEGERS else None


@down("Celu", since=28)
def celu_28_down(op: Builder, node: Node) -> Result:
    """Types that FLOAT holds go through it; for DOUBLE the formula is written out."""
    if node.element(0) != "double":
        return None
    x, alpha, zero, one = node.input(0), *(op.const(v, "double", []) for v in (node.attr("alpha"), 0.0, 1.0))
    curve = op.Mul(alpha, op.Sub(op.Exp(op.Div(x, alpha)), one))
    return op.Add(op.Max(x, zero), op.Min(curve, zero))
