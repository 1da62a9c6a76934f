"""Selection of boxes of an image, step by step in a loop."""

from __future__ import annotations

from opset.adapters.bodies import Body, looped
from opset.adapters.positions import counting, named, size_along
from opset.model.elements import NUMBERS
from opset.model.tensor import make_tensor
from opset.version_converter.registration import lower
from opset.version_converter.rewrite import Builder, Node, Result

BOXES, SCORES, MOST, OVERLAP, LEAST = range(5)
BROADCAST = 8
"""The version from which Min and Max take values of different shapes."""


@lower("NonMaxSuppression", since=10)
def non_max_suppression_lowered(op: Builder, node: Node) -> Result:
    """Take the best box of each batch and class that is left, in each iteration, and drop those that overlap with it.

    Values have the axes batch, class and box; coordinates have a last axis of two.
    """
    if not node.input(MOST):
        return op.const([], "int64", [0, 3])
    scores, scalar = node.input(SCORES), op.const([])
    if node.input(LEAST):
        left = op.Cast(op.Greater(scores, op.Reshape(node.input(LEAST), scalar)), to=NUMBERS["float"])
    else:
        left = op.ConstantOfShape(op.Shape(scores), value=make_tensor("", NUMBERS["float"], [1], [1.0]))
    going = op.Cast(op.Size(scores), to=NUMBERS["bool"])
    most = op.Reshape(node.input(MOST), scalar)
    _, best, taken = looped(op, most, [left], _step(op, node), going)
    # The iteration counts last: boxes of one batch and class are in the order in which they were taken.
    best, taken = (op.Transpose(op.Squeeze(each, axes=[3]), perm=[1, 2, 0]) for each in (best, taken))
    taken, row = op.Cast(taken, to=NUMBERS["bool"]), op.const([-1])
    batch_and_class = op.Gather(op.NonZero(taken), op.const([0, 1]), axis=0)
    boxes = op.Gather(op.Reshape(best, row), op.NonZero(op.Reshape(taken, row)), axis=0)
    return op.Transpose(op.Concat(batch_and_class, boxes, axis=0), perm=[1, 0])


def _step(op: Builder, node: Node) -> Body:
    """Return the body of the loop: what is left, and of each batch and class the best box, and whether one was left."""
    number = NUMBERS["float"]
    lowest, zero, half = (op.const(value, "float", []) for value in (float("-inf"), 0.0, 0.5))
    scores = op.Where(op.IsNaN(node.input(SCORES)), lowest, node.input(SCORES))
    low, high = _corners(op, node)
    flat = [op.Reshape(each, op.const([-1, 2])) for each in (low, high)]
    areas = op.ReduceProd(op.Sub(high, low), axes=[3], keepdims=0)
    flat.append(op.Reshape(areas, op.const([-1])))
    batches, count = (size_along(op, node, BOXES, axis) for axis in (0, 1))
    numbers = counting(op, count)
    begins = op.Reshape(op.Mul(counting(op, batches), named(op, count)), op.const([-1, 1, 1]))
    zeros = ""
    if op.final < BROADCAST:
        zeros = op.ConstantOfShape(op.Concat(op.Shape(scores), op.const([2]), axis=0))
        low, high = op.Add(low, zeros), op.Add(high, zeros)
    overlap = op.Reshape(node.input(OVERLAP), op.const([])) if node.input(OVERLAP) else zero

    body = Body(op, "suppression")
    body.input("int64", [])
    body.input("bool", [])
    left = body.input("float", [None] * 3)
    # 1 and 0 become plus and minus infinity: what is not left is not above any score.
    bounds = body.node("Div", body.node("Sub", left, half), zero)
    open_scores = body.node("Min", scores, bounds)
    greatest = body.node("ReduceMax", open_scores, axes=[2], keepdims=1)
    equal = body.node("Cast", body.node("Not", body.node("Less", open_scores, greatest)), to=number)
    best = body.node("ArgMax", body.node("Mul", left, equal), axis=2, keepdims=1)
    position = body.node("Add", best, begins)
    best_low, best_high, best_area = (body.node("Gather", each, position, axis=0) for each in flat)
    if zeros:
        best_low, best_high = (body.node("Add", each, zeros) for each in (best_low, best_high))
    sides = body.node("Sub", body.node("Min", high, best_high), body.node("Max", low, best_low))
    shared = body.node("ReduceProd", body.node("Relu", sides), axes=[3], keepdims=0)
    union = body.node("Sub", body.node("Add", areas, best_area), shared)
    dropped = body.node("Greater", body.node("Div", shared, union), overlap)
    dropped = body.node("Or", dropped, body.node("Equal", numbers, best))
    remaining = body.node("Mul", left, body.node("Cast", body.node("Not", dropped), to=number))
    some = body.node("ReduceMax", remaining, axes=[0, 1, 2], keepdims=0)
    body.output(body.node("Cast", some, to=NUMBERS["bool"]), "bool", [])
    body.output(remaining, "float", [None] * 3)
    body.output(best, "int64", [None, None, 1])
    body.output(body.node("ReduceMax", left, axes=[2], keepdims=1), "float", [None, None, 1])
    return body


def _corners(op: Builder, node: Node) -> tuple[str, str]:
    """Return the lower and the upper coordinates of boxes: an axis of classes, of size 1, is inserted."""
    boxes = op.Unsqueeze(node.input(BOXES), axes=[1])
    first, second = (op.Slice(boxes, axes=[3], starts=[start], ends=[start + 2]) for start in (0, 2))
    if node.attr("center_point_box"):
        half = op.Div(second, op.const(2.0, "float", []))
        return op.Sub(first, half), op.Add(first, half)
    return op.Min(first, second), op.Max(first, second)
