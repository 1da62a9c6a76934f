"""Reshape, Squeeze and Unsqueeze: negative axes, and dimensions of 0."""

from __future__ import annotations

from opset.adapters.shared import (
    constant_ints,
    distinct_axes,
)
from opset.model.elements import NUMBERS
from opset.version_converter.registration import down
from opset.version_converter.rewrite import Builder, Node, Refusal, Result


@down("Squeeze", since=11)
def squeeze_11_down(op: Builder, node: Node) -> Result:
    """Axes could not be negative; their order has no meaning."""
    return _front_axes(op, node, 0)


@down("Unsqueeze", since=11)
def unsqueeze_11_down(op: Builder, node: Node) -> Result:
    """Axes could not be negative; they refer to the result, whose rank is larger by the number of axes."""
    return _front_axes(op, node, len(node.attr("axes")))


def _front_axes(op: Builder, node: Node, extra_rank: int) -> Result:
    axes = node.attr("axes", [])
    if all(axis >= 0 for axis in axes):
        return None
    return op.copy(node, axes=sorted(distinct_axes(axes, node.need_rank(0) + extra_rank)))


@down("Reshape", since=14)
def reshape_14_down(op: Builder, node: Node) -> Result:
    """A 0 always copied the input's dimension; a result with a dimension of 0 is made by broadcasting with Expand.

    Such a result needs an empty input, for which `-1` becomes 0 in any position.
    """
    if not node.attr("allowzero"):
        return op.copy(node, drop=["allowzero"]) if node.has("allowzero") else None
    if node.constant(1) is None:
        return _reshape_at_run_time(op, node)
    shape = constant_ints(node, 1)
    if 0 not in shape:
        return op.copy(node, drop=["allowzero"])
    if -1 in shape:
        raise Refusal("C103", "with allowzero 1, 'shape' contains both 0 and -1")
    empty = [-1 if axis == shape.index(0) else 1 for axis in range(len(shape))]
    outputs = [op.fresh("empty")]
    (y,) = op.copy(node, inputs=[node.input(0), op.const(empty)], outputs=outputs, drop=["allowzero"])
    return op.Expand(y, node.input(1))


def _reshape_at_run_time(op: Builder, node: Node) -> Result:
    """Do the same for a computed shape, which may or may not contain a 0; only an empty input allows one."""
    x = node.shape(0)
    if x is not None and all(isinstance(size, int) and size > 0 for size in x):
        return op.copy(node, drop=["allowzero"])
    wanted, one, zeros = node.input(1), op.const(1), op.const([0])
    zero = op.Cast(op.Equal(wanted, zeros), to=NUMBERS["int64"])
    first = op.Mul(zero, op.Cast(op.Equal(op.CumSum(zero, op.const(0)), one), to=NUMBERS["int64"]))
    # The shape of a scalar is empty and has no maximum; with an appended 0 it has one.
    empty = op.Cast(op.ReduceMax(op.Concat(zero, zeros, axis=0), axes=[0], keepdims=1), to=NUMBERS["bool"])
    over_zero = op.Where(empty, op.Sub(one, op.Add(first, first)), wanted)
    outputs = [op.fresh("reshaped")]
    (y,) = op.copy(node, inputs=[node.input(0), over_zero], outputs=outputs, drop=["allowzero"])
    return op.Expand(y, op.Where(empty, wanted, one))
