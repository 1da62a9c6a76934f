"""Reshape, Squeeze and Unsqueeze: axes counted from the end, and dimensions of zero."""

from __future__ import annotations

from opset.adapters.shared import (
    SMALL_FLOATS,
    constant_ints,
    distinct_axes,
    emulate,
    nonnegative,
)
from opset.model.types import NUMBERS
from opset.version_converter.registration import down
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

down("Flatten", since=11)(nonnegative("axis"))
down("Flatten", "Squeeze", "Unsqueeze", since=21)(emulate(SMALL_FLOATS))


@down("Squeeze", since=11)
def squeeze_11_down(op: Builder, node: Node) -> Result:
    """Axes could not count from the end; their order has no meaning."""
    return _front_axes(op, node, 0)


@down("Unsqueeze", since=11)
def unsqueeze_11_down(op: Builder, node: Node) -> Result:
    """Axes could not count from the end of the result, whose rank is the input's and that of the new axes."""
    return _front_axes(op, node, len(node.attr("axes")))


def _front_axes(op: Builder, node: Node, extra_rank: int) -> Result:
    axes = node.attr("axes", [])
    if all(axis >= 0 for axis in axes):
        return None
    return op.copy(node, axes=sorted(distinct_axes(axes, node.need_rank(0) + extra_rank)))


@down("Reshape", since=14)
def reshape_14_down(op: Builder, node: Node) -> Result:
    """A 0 always meant the input's size at that place; an empty result is made by broadcasting a 0 to the shape.

    Such a result needs an empty input, which `-1` takes to a 0 anywhere.
    """
    if not node.attr("allowzero"):
        return op.copy(node, drop=["allowzero"]) if node.has("allowzero") else None
    if node.constant(1) is None:
        return _reshape_at_run_time(op, node)
    shape = constant_ints(node, 1)
    if 0 not in shape:
        return op.copy(node, drop=["allowzero"])
    if -1 in shape:
        raise Refusal("C103", "with allowzero 1, 'shape' holds a 0 and a -1")
    empty = [-1 if place == shape.index(0) else 1 for place in range(len(shape))]
    outputs = [op.fresh("empty")]
    (y,) = op.copy(node, inputs=[node.input(0), op.const(empty)], outputs=outputs, drop=["allowzero"])
    return op.Expand(y, node.input(1))


def _reshape_at_run_time(op: Builder, node: Node) -> Result:
    """Do the same for a shape that is computed: it may or may not hold a 0, which only an empty input allows."""
    x = node.shape(0)
    if x is not None and all(isinstance(size, int) and size > 0 for size in x):
        return op.copy(node, drop=["allowzero"])
    wanted, one, none = node.input(1), op.const(1), op.const([0])
    zero = op.Cast(op.Equal(wanted, none), to=NUMBERS["int64"])
    first = op.Mul(zero, op.Cast(op.Equal(op.CumSum(zero, op.const(0)), one), to=NUMBERS["int64"]))
    # A shape without dimensions has no largest element; with a 0 more it has.
    empty = op.Cast(op.ReduceMax(op.Concat(zero, none, axis=0), axes=[0], keepdims=1), to=NUMBERS["bool"])
    over_zero = op.Where(empty, op.Sub(one, op.Add(first, first)), wanted)
    outputs = [op.fresh("reshaped")]
    (y,) = op.copy(node, inputs=[node.input(0), over_zero], outputs=outputs, drop=["allowzero"])
    return op.Expand(y, op.Where(empty, wanted, one))
