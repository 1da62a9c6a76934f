"""Adapters of operators with indices: before version 11, negative indices are undefined or refused."""

from __future__ import annotations

from opset.adapters.shared import (
    INTEGERS_OF_32_BITS,
    SMALL_INTEGERS,
    constant_ints,
    counted_from_front,
    dimension,
    is_negative,
    positive_axis,
)
from opset.model.elements import NUMBERS
from opset.version_converter.registration import down, up
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

NOWHERE = 2**63 - 1
"""An index that is out of range for every depth."""


@down("Gather", since=11)
def gather_11_down(op: Builder, node: Node) -> Result:
    """Count negative indices from the front; before 11 they are out of range."""
    data, indices = node.inputs
    front = counted_from_front(op, node, 1, 0, node.attr("axis"))
    return None if front == indices else op.copy(node, inputs=[data, front])


@down("GatherND", since=12)
def gather_nd_12_down(op: Builder, node: Node) -> Result:
    """Prepend the index of each leading dimension that indices and data share to the indices."""
    batches = node.attr("batch_dims")
    if not batches:
        return None
    rank, data_rank = node.need_rank(1), node.need_rank(0)
    if not 0 <= batches < min(rank, data_rank):
        raise Refusal("C103", f"'batch_dims' is {batches} for ranks {data_rank} and {rank}")
    data, indices = node.inputs
    shape = op.Concat(op.Slice(op.Shape(indices), op.const([0]), op.const([rank - 1])), op.const([1]), axis=0)
    before = []
    for axis in range(batches):
        positions = op.Range(op.const(0), dimension(op, node, 0, axis), op.const(1))
        along = [-1 if other == axis else 1 for other in range(rank)]
        before.append(op.Expand(op.Reshape(positions, op.const(along)), shape))
    return op.copy(node, inputs=[data, op.Concat(*before, indices, axis=rank - 1)], drop=["batch_dims"])


@down("Scatter", since=11)
def scatter_11_down(op: Builder, node: Node) -> Result:
    """Count negative indices from the front; before 11 they are not defined."""
    data, indices, updates = node.inputs
    front = counted_from_front(op, node, 1, 0, node.attr("axis"))
    return None if front == indices else op.copy(node, inputs=[data, front, updates])


@up("OneHot", since=11)
def one_hot_11_up(op: Builder, node: Node) -> Result:
    """Move negative indices out of range: they gave a row of off values, and count from the end from 11 on."""
    indices = _may_be_negative(op, node)
    if indices is None:
        return None
    outside = op.Where(op.Less(indices, op.const(0)), op.const(NOWHERE), indices)
    return op.copy(node, inputs=[outside, *node.inputs[1:]])


@down("OneHot", since=11)
def one_hot_11_down(op: Builder, node: Node) -> Result:
    """Count indices, and an axis below -1, from the front; indices below `-depth` are out of range."""
    axis = node.attr("axis")
    if axis < -1:
        axis = positive_axis(axis, node.need_rank(0) + 1)
    indices = _may_be_negative(op, node)
    if indices is None:
        return op.copy(node, axis=axis) if axis != node.attr("axis") else None
    depth = op.Cast(op.Squeeze(node.input(1)), to=NUMBERS["int64"])
    front = op.Add(indices, op.Mul(is_negative(op, indices), depth))
    outside = op.Where(op.Less(front, op.const(0)), op.const(NOWHERE), front)
    return op.copy(node, inputs=[outside, *node.inputs[1:]], axis=axis)


def _may_be_negative(op: Builder, node: Node) -> str | None:
    """Return the indices as int64, which OneHot casts them to; None where none can be negative."""
    element, constant = node.element(0), node.constant(0)
    if element is not None and element.startswith("uint"):
        return None
    if constant is not None and all(value >= 0 for value in constant.values):
        return None
    return node.input(0) if element == "int64" else op.Cast(node.input(0), to=NUMBERS["int64"])


@up("TopK", since=10)
def top_k_10_up(op: Builder, node: Node) -> Result:
    """Write `k` as a vector of one element."""
    return op.copy(node, inputs=[node.input(0), op.const([node.attr("k")])], drop=["k"])


@down("TopK", since=10)
def top_k_10_down(op: Builder, node: Node) -> Result:
    """Refuse a `K` below 1: before version 10 it is 1 or more."""
    count = constant_ints(node, 1)
    if any(number < 1 for number in count):
        raise Refusal("C204", f"'K' is {count}; before version 10 it is 1 or more")
    return None


@down("TopK", since=11)
def top_k_11_down(op: Builder, node: Node) -> Result:
    """Take the smallest elements as the largest of the negated ones; sorted results serve if no order is required.

    Integers are compared in a float type that holds them. Before 11, the only negative axis is -1.
    """
    x, element = node.input(0), node.need_element(0)
    axis = node.attr("axis")
    if axis < -1:
        axis = positive_axis(axis, node.need_rank(0))
    wide = {**SMALL_INTEGERS, **INTEGERS_OF_32_BITS}.get(element, element)
    if wide != element:
        x = op.Cast(x, to=NUMBERS[wide])
    smallest = not node.attr("largest")
    if smallest:
        x = op.Neg(x)
    changed = smallest or wide != element
    outputs = [op.fresh("values"), node.output(1)] if changed else None
    values, indices = op.copy(
        node, inputs=[x, node.input(1)], outputs=outputs, drop=["largest", "sorted"], axis=axis
    )  # fmt: skip
    if smallest:
        values = op.Neg(values)
    if wide != element:
        values = op.Cast(values, to=NUMBERS[element])
    return values, indices
