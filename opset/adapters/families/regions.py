"""Regions of an image: the selection of boxes, step by step in a loop, and the sampling of points in regions."""

from __future__ import annotations

from typing import NamedTuple

from opset.adapters.building.positions import Size, integers_below, product, size_along, size_name, sizes_of, vector_of
from opset.adapters.building.shared import cast, working_type
from opset.adapters.building.subgraphs import LoopBody, add_loop
from opset.model.elements import NUMBERS
from opset.model.storage.tensor import make_tensor
from opset.version_converter.registration import down, lower
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

BOXES, SCORES, MOST, OVERLAP, LEAST = range(5)
BROADCAST = 8
"""The version from which Min and Max take values of different shapes."""


@lower("NonMaxSuppression", since=10)
def non_max_suppression_lowered(op: Builder, node: Node) -> Result:
    """Take in each iteration the best box left of each batch and class, and drop the boxes that overlap with it.

    Values have the axes batch, class and box; coordinates have a last axis of two.
    """
    if not node.input(MOST):
        return op.const([], "int64", [0, 3])
    scores = node.input(SCORES)
    scalar = op.const([])
    if node.input(LEAST):
        left = op.Cast(op.Greater(scores, op.Reshape(node.input(LEAST), scalar)), to=NUMBERS["float"])
    else:
        left = op.ConstantOfShape(op.Shape(scores), value=make_tensor("", NUMBERS["float"], [1], [1.0]))
    going = op.Cast(op.Size(scores), to=NUMBERS["bool"])
    most = op.Reshape(node.input(MOST), scalar)
    _, best, taken = add_loop(op, most, [left], _suppression_body(op, node), going)
    # The iteration counts last: boxes of one batch and class are in the order in which they were taken.
    best, taken = (op.Transpose(op.Squeeze(stack, axes=[3]), perm=[1, 2, 0]) for stack in (best, taken))
    taken = op.Cast(taken, to=NUMBERS["bool"])
    row = op.const([-1])
    batch_and_class = op.Gather(op.NonZero(taken), op.const([0, 1]))
    boxes = op.Gather(op.Reshape(best, row), op.NonZero(op.Reshape(taken, row)))
    return op.Transpose(op.Concat(batch_and_class, boxes, axis=0), perm=[1, 0])


def _suppression_body(op: Builder, node: Node) -> LoopBody:
    """Return the body of the loop, which carries the boxes that are left and stacks the best one, if one is left."""
    number = NUMBERS["float"]
    lowest, zero, half = (op.const(value, "float") for value in (float("-inf"), 0.0, 0.5))
    scores = op.Where(op.IsNaN(node.input(SCORES)), lowest, node.input(SCORES))
    low, high = _corners(op, node)
    flat = [op.Reshape(corner, op.const([-1, 2])) for corner in (low, high)]
    areas = op.ReduceProd(op.Sub(high, low), axes=[3], keepdims=0)
    flat.append(op.Reshape(areas, op.const([-1])))
    batches, count = (size_along(op, node, BOXES, axis) for axis in (0, 1))
    numbers = integers_below(op, count)
    begins = op.Reshape(op.Mul(integers_below(op, batches), size_name(op, count)), op.const([-1, 1, 1]))
    zeros = ""
    if op.final < BROADCAST:
        zeros = op.ConstantOfShape(op.Concat(op.Shape(scores), op.const([2]), axis=0))
        low, high = op.Add(low, zeros), op.Add(high, zeros)
    overlap = op.Reshape(node.input(OVERLAP), op.const([])) if node.input(OVERLAP) else zero

    body = LoopBody(op, "suppression")
    left = body.input("float", [None] * 3)
    # 1 and 0 become plus and minus infinity: a box that is not left is below every score.
    bounds = body.node("Div", body.node("Sub", left, half), zero)
    open_scores = body.node("Min", scores, bounds)
    greatest = body.node("ReduceMax", open_scores, axes=[2])
    equal = body.node("Cast", body.node("Not", body.node("Less", open_scores, greatest)), to=number)
    best = body.node("ArgMax", body.node("Mul", left, equal), axis=2)
    position = body.node("Add", best, begins)
    best_low, best_high, best_area = (body.node("Gather", rows, position) for rows in flat)
    if zeros:
        best_low, best_high = (body.node("Add", corner, zeros) for corner in (best_low, best_high))
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
    body.output(body.node("ReduceMax", left, axes=[2]), "float", [None, None, 1])
    return body


def _corners(op: Builder, node: Node) -> tuple[str, str]:
    """Return the lower and the upper coordinates of boxes, with an inserted axis of size 1 for the classes."""
    boxes = op.Unsqueeze(node.input(BOXES), axes=[1])
    first, second = (op.Slice(boxes, axes=[3], starts=[start], ends=[start + 2]) for start in (0, 2))
    if node.attr("center_point_box"):
        half = op.Div(second, op.const(2.0, "float"))
        return op.Sub(first, half), op.Add(first, half)
    return op.Min(first, second), op.Max(first, second)


@down("RoiAlign", since=16)
def roi_align_16_down(op: Builder, node: Node) -> Result:
    """Write out regions that are moved by half an element, which none were before version 16."""
    if node.attr("coordinate_transformation_mode") == "half_pixel":
        return _sample_regions(op, node)
    return op.copy(node, drop=["coordinate_transformation_mode"])


@lower("RoiAlign", since=10)
def roi_align_lowered(op: Builder, node: Node) -> Result:
    """Gather the four elements around each point of each region, and add them up by their weights."""
    return _sample_regions(op, node)


class _Points(NamedTuple):
    """The points of regions along an axis: the elements before and after them, and the weights of both."""

    low: str
    high: str
    low_weight: str
    high_weight: str


def _sample_regions(op: Builder, node: Node) -> Result:
    """Return the means or maxima of the points in each cell of each region; raise Refusal C204 if it is computed."""
    count = node.attr("sampling_ratio")
    element = node.need_element(0)
    if not count:
        why = "'sampling_ratio' is 0: how many points a region has is computed"
        raise Refusal("C204", why, "export the model with a fixed number of points")
    if node.need_rank(0) != 4:
        raise Refusal("C103", f"the feature map has {node.rank(0)} dimensions")
    wide = working_type(element)
    mean = node.attr("mode") == "avg"
    cells = node.attr("output_height"), node.attr("output_width")
    _, channels, *image = sizes_of(op, node, 0)
    op.charge_elements(cells[0] + cells[1] + count)
    rows, columns = (_points_along(op, node, axis, cells[axis], count, image[axis], wide) for axis in (0, 1))
    # Of one region, rows lie along the second axis, and columns along the third.
    down_ = op.const([0, cells[0] * count, 1])
    across = op.const([0, 1, cells[1] * count])
    rows = _Points(*(op.Reshape(field, down_) for field in rows))
    columns = _Points(*(op.Reshape(field, across) for field in columns))
    x = op.Transpose(cast(op, node.input(0), element, wide), perm=[0, 2, 3, 1])
    x = op.Reshape(x, vector_of(op, [-1, channels])) if channels != 0 else op.Reshape(x, op.const([0, -1]))
    first = op.Mul(op.Reshape(node.input(2), op.const([-1, 1, 1])), size_name(op, product(op, image)))
    total = ""
    for row, row_weight in ((rows.low, rows.low_weight), (rows.high, rows.high_weight)):
        start = op.Add(first, op.Mul(row, size_name(op, image[1])))
        for column, column_weight in ((columns.low, columns.low_weight), (columns.high, columns.high_weight)):
            weight = op.Unsqueeze(op.Mul(row_weight, column_weight), axes=[3])
            part = op.Mul(op.Gather(x, op.Add(start, column)), weight)
            total = (op.Add if mean else op.Max)(total, part) if total else part
    total = op.Reshape(total, vector_of(op, [0, cells[0], count, cells[1], count, channels]))
    y = (op.ReduceSum if mean else op.ReduceMax)(total, axes=[2, 4], keepdims=0)
    return cast(op, op.Transpose(y, perm=[0, 3, 1, 2]), wide, element)


def _points_along(op: Builder, node: Node, axis: int, cells: int, count: int, size: Size, wide: str) -> _Points:
    """Return the points along an axis of a feature map, as tensors (regions, cells, points of a cell)."""

    def number(value: float) -> str:
        return op.const(float(value), wide)

    half_pixel = node.attr("coordinate_transformation_mode") == "half_pixel"
    corners = op.Mul(cast(op, node.input(1), node.need_element(1), wide), number(node.attr("spatial_scale")))
    if half_pixel:
        corners = op.Sub(corners, number(0.5))
    shape = op.const([-1, 1, 1])
    first, last = (op.Reshape(op.Gather(corners, op.const([end - axis]), axis=1), shape) for end in (1, 3))
    length = op.Sub(last, first)
    if not half_pixel:
        length = op.Max(length, number(1))
    step = op.Div(length, number(cells))
    at = op.Mul(op.const([position + 0.5 for position in range(count)], wide), op.Div(step, number(count)))
    steps = op.Mul(op.const([float(cell) for cell in range(cells)], wide, [cells, 1]), step)
    at = op.Add(op.Add(first, steps), at)

    extent = number(size) if isinstance(size, int) else op.Cast(size, to=NUMBERS[wide])
    end = op.Max(op.Sub(extent, number(1)), number(0))
    outside = op.Or(op.Less(at, number(-1)), op.Greater(at, extent))
    inside = op.Cast(op.Not(outside), to=NUMBERS[wide])
    if node.attr("mode") == "avg":
        inside = op.Div(inside, number(count))
    at = op.Max(op.Min(at, end), number(0))
    low = op.Floor(at)
    high = op.Min(op.Add(low, number(1)), end)
    part = op.Sub(at, low)
    weights = op.Mul(op.Sub(number(1), part), inside), op.Mul(part, inside)
    return _Points(op.Cast(low, to=NUMBERS["int64"]), op.Cast(high, to=NUMBERS["int64"]), *weights)
