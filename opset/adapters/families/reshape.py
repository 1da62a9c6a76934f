"""Reshape, Flatten, Squeeze and Unsqueeze: negative axes, dimensions of 0, and types that were added."""

from __future__ import annotations

import math

from opset.adapters.building.positions import indices_from_front, product, reshape_exactly, sizes_of, vector_of
from opset.adapters.building.shared import FLOATS, constant_ints, distinct_axes, need_dims, vector_length
from opset.model.elements import NUMBERS
from opset.version_converter.registration import down
from opset.version_converter.rewrite import Builder, Node, Refusal, Result


@down("Squeeze", since=11)
def squeeze_11_down(op: Builder, node: Node) -> Result:
    """Count negative axes from the front, since axes could not be negative, and sort them.

    If the rank is unknown and the axes are the last ones, the sizes of the others are computed.
    """
    if _are_last_of_unknown_rank(node):
        sizes = op.Slice(op.Shape(node.input(0)), op.const([0]), op.const([-len(node.attr("axes"))]))
        return op.Reshape(node.input(0), sizes)
    return _with_front_axes(op, node, 0)


@down("Unsqueeze", since=11)
def unsqueeze_11_down(op: Builder, node: Node) -> Result:
    """Count negative axes from the front of the result, whose rank is larger by the number of axes.

    If the rank is unknown and the axes are the last ones, a size of 1 for each is put behind the computed sizes.
    """
    if _are_last_of_unknown_rank(node):
        ones = op.const([1] * len(node.attr("axes")))
        return op.Reshape(node.input(0), op.Concat(op.Shape(node.input(0)), ones, axis=0))
    return _with_front_axes(op, node, len(node.attr("axes")))


def _are_last_of_unknown_rank(node: Node) -> bool:
    """Whether the axes are the last ones, counted from the end, of a tensor of unknown rank.

    All other axes then keep their place, so that a Reshape, which copies the size at the place of a 0, keeps a 0.
    """
    axes = sorted(node.attr("axes", []))
    return bool(axes) and axes == list(range(-len(axes), 0)) and node.rank(0) is None


def _with_front_axes(op: Builder, node: Node, extra_rank: int) -> Result:
    """Return the node with sorted axes counted from the front, None if they already are."""
    axes = node.attr("axes", [])
    if any(axis < 0 for axis in axes):
        axes = distinct_axes(axes, node.need_rank(0) + extra_rank)
    elif len({*axes}) < len(axes):
        raise Refusal("C103", f"the axes {axes} have a duplicate")
    return op.copy(node, axes=sorted(axes)) if sorted(axes) != node.attr("axes", []) else None


@down("Squeeze", since=13)
def squeeze_13_down(op: Builder, node: Node) -> Result:
    """Reshape to the sizes of all other dimensions if the axes are computed at run time."""
    if node.constant(1) is not None:
        return None
    count = vector_length(node, 1)
    rank = node.rank(0)
    if not count or rank is None or count > rank:
        return None
    stays, earlier = _masks_of_other_axes(op, node, rank)
    numbers = op.const(list(range(rank - count)), dims=[rank - count, 1])
    chosen = op.Mul(op.Cast(op.Equal(earlier, numbers), to=NUMBERS["int64"]), op.Mul(stays, _shape_of_input(op, node)))
    return _reshape_to(op, node, op.ReduceSum(chosen, axes=[1], keepdims=0), rank - count)


@down("Unsqueeze", since=13)
def unsqueeze_13_down(op: Builder, node: Node) -> Result:
    """Reshape if the axes are computed at run time: to 1 along each, and to the input's sizes along the others."""
    if node.constant(1) is not None:
        return None
    count = vector_length(node, 1)
    rank = node.rank(0)
    if not count or rank is None:
        return None
    stays, earlier = _masks_of_other_axes(op, node, rank + count)
    one = op.const([1])
    sizes = op.Gather(op.Concat(_shape_of_input(op, node), one, axis=0), earlier)
    return _reshape_to(op, node, op.Add(op.Mul(stays, sizes), op.Sub(one, stays)), rank + count)


def _masks_of_other_axes(op: Builder, node: Node, rank: int) -> tuple[str, str]:
    """Return for each axis 0 if it is among the axes in the second input, else 1; and the number of 1s before it."""
    node.charge(rank * rank)
    axes = indices_from_front(op, node, 1, [rank])
    numbers = op.const(list(range(rank)))
    same = op.Cast(op.Equal(op.Reshape(axes, op.const([-1, 1])), numbers), to=NUMBERS["int64"])
    stays = op.Sub(op.const([1]), op.ReduceSum(same, axes=[0], keepdims=0))
    precedes = op.const([int(row < column) for row in range(rank) for column in range(rank)], dims=[rank, rank])
    earlier = op.ReduceSum(op.Mul(op.Reshape(stays, op.const([-1, 1])), precedes), axes=[0], keepdims=0)
    return stays, earlier


def _shape_of_input(op: Builder, node: Node) -> str:
    """Return the shape of the first input."""
    return vector_of(op, sizes_of(op, node, 0)) if node.rank(0) else op.const([])


def _reshape_to(op: Builder, node: Node, sizes: str, rank: int) -> str:
    """Return the first input in another shape of as many elements, in which a 0 is a size."""
    if all(isinstance(size, int) and size > 0 for size in need_dims(node, 0)):
        return str(op.Reshape(node.input(0), sizes))
    return reshape_exactly(op, node.input(0), sizes, rank)


@down("Reshape", since=14)
def reshape_14_down(op: Builder, node: Node) -> Result:
    """Make a result with a dimension of 0 by Expand: before 14, a 0 in the shape always copied the input's dimension.

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
    y = op.copy(node, inputs=[node.input(0), op.const(empty)], outputs=outputs, drop=["allowzero"])
    return op.Expand(y, node.input(1))


def _reshape_at_run_time(op: Builder, node: Node) -> Result:
    """Return the node with Expand after it for a computed shape, which may contain a 0 if the input is empty."""
    sizes = node.shape(0)
    if sizes is not None and all(isinstance(size, int) and size > 0 for size in sizes):
        return op.copy(node, drop=["allowzero"])
    shape = node.input(1)
    one = op.const(1)
    zeros = op.const([0])
    zero = op.Cast(op.Equal(shape, zeros), to=NUMBERS["int64"])
    first = op.Mul(zero, op.Cast(op.Equal(op.CumSum(zero, op.const(0)), one), to=NUMBERS["int64"]))
    # The shape of a scalar is empty and has no maximum; with an appended 0 it has one.
    empty = op.Cast(op.ReduceMax(op.Concat(zero, zeros, axis=0), axes=[0]), to=NUMBERS["bool"])
    over_zero = op.Where(empty, op.Sub(one, op.Add(first, first)), shape)
    outputs = [op.fresh("reshaped")]
    y = op.copy(node, inputs=[node.input(0), over_zero], outputs=outputs, drop=["allowzero"])
    return op.Expand(y, op.Where(empty, shape, one))


@down("Flatten", since=9)
def flatten_9_down(op: Builder, node: Node) -> Result:
    """Reshape types other than floats: before version 9, Flatten took floats alone.

    One of the two sizes is -1 if the other is a number above 0: beside a 0, -1 would be of any size.
    """
    if node.element(0) in FLOATS:
        return None
    x = node.input(0)
    axis = node.attr("axis")
    if axis == 0:
        return op.Reshape(x, op.const([1, -1]))
    shape = node.shape(0)
    if shape is None:
        return _flatten_at_run_time(op, x, axis)
    if not 0 < axis <= len(shape):
        raise Refusal("C103", f"axis {axis} is out of range for rank {len(shape)}")
    rows = shape[:axis]
    columns = shape[axis:]
    for sizes, template in ((columns, [-1, 0]), (rows, [0, -1])):
        count = math.prod(size for size in sizes if isinstance(size, int))
        if count and all(isinstance(size, int) for size in sizes):
            return op.Reshape(x, op.const([dim or count for dim in template]))
    all_sizes = sizes_of(op, node, 0)
    return reshape_exactly(op, x, vector_of(op, [product(op, all_sizes[:axis]), product(op, all_sizes[axis:])]), 2)


def _flatten_at_run_time(op: Builder, x: str, axis: int) -> str:
    """Return a value of any rank as a matrix."""
    sizes = op.Shape(x)
    one = op.const([1])
    halves = [op.Slice(sizes, starts=[0], ends=[axis]), op.Slice(sizes, starts=[axis], ends=[2**31 - 1])]
    # No engine has to agree on the product of no sizes.
    counts = [op.ReduceProd(op.Concat(one, half, axis=0), axes=[0]) for half in halves]
    return reshape_exactly(op, x, op.Concat(*counts, axis=0), 2)
