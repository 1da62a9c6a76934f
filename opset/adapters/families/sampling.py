"""GridSample, which first took images alone, and AffineGrid: both are written out below their first versions."""

from __future__ import annotations

from typing import NamedTuple

from opset.adapters.building.positions import Size, integers_below, size_name, sizes_of, sum_along, vector_of
from opset.adapters.building.shared import cast, fill_value, unsqueeze
from opset.errors import safe_text
from opset.model.elements import NUMBERS
from opset.version_converter.registration import down, lower, refuses
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

TAPS = {"nearest": 1, "linear": 2, "bilinear": 2, "cubic": 4, "bicubic": 4}
"""How many neighbors along an axis a mode of GridSample takes."""
CUBIC = -0.75
"""The coefficient of the cubic kernel, for which GridSample has no attribute."""
BEYOND = 8.0
"""Elements beyond an image at which none of its own is a neighbor."""


@down("GridSample", since=20)
def grid_sample_20_down(op: Builder, node: Node) -> Result:
    """Write out sampling of other than two spatial dimensions; halves are even, which version 16 leaves open."""
    return None if node.need_rank(0) == 4 else _sample(op, node)


@lower("GridSample", since=16)
@refuses("C204", "there are no elements")
def grid_sample_lowered(op: Builder, node: Node) -> Result:
    """Gather the neighbors of each point, and add them weighted."""
    return _sample(op, node)


class Neighbors(NamedTuple):
    """The neighbors of points along one axis: their numbers, their weights, and whether they are inside.

    Each is a tensor (neighbors, images, points); a weight is "" if it is always 1, `inside` is "" if all are inside.
    """

    number: str
    weight: str
    inside: str


def _sample(op: Builder, node: Node) -> Result:
    """Return the first input at the points of the second; raise Refusal C103 for misfits, C204 if not expressible."""
    rank = node.need_rank(0) - 2
    mode = node.attr("mode")
    element = node.need_element(0)
    taps = TAPS[mode]
    if rank < 1:
        raise Refusal("C103", f"sampling of {rank + 2} dimensions is not defined")
    wide = {"float": "float", "float16": "float", "bfloat16": "float", "double": "double"}.get(element, "")
    if (taps > 1 and not wide) or taps**rank > 16:
        label = "the mode has no plain expression for this number of dimensions, or for this element type"
        why = f"mode {safe_text(mode)} of {rank + 2} dimensions of {element} has no plain expression"
        raise Refusal("C204", why, label=label)
    sizes = sizes_of(op, node, 0)
    outputs = sizes_of(op, node, 1, range(rank + 1))
    if 0 in sizes or 0 in outputs:
        raise Refusal("C204", "there are no elements", "drop the node")
    batch, channels, *lengths = sizes
    precise = "double" if node.need_element(1) == "double" else "float"
    points = cast(op, node.input(1), node.element(1), precise)
    flat = vector_of(op, [1, batch, -1])
    axes = [
        _neighbors_of(
            op,
            node,
            op.Reshape(op.Gather(points, op.const(rank - 1 - axis), axis=rank + 1), flat),
            length,
            taps,
            precise,
        )
        for axis, length in enumerate(lengths)
    ]
    # Each image is written as rows of channels, a row for each element; the rows of all images follow one another.
    x = op.Cast(node.input(0), to=NUMBERS[wide]) if wide and element != wide and taps > 1 else node.input(0)
    rows = op.Reshape(op.Transpose(x, perm=[0, *range(2, rank + 2), 1]), vector_of(op, [-1, channels]))
    index = op.Reshape(integers_below(op, batch), op.const([-1, 1]))
    inside = weight = ""
    for position, (axis, length) in enumerate(zip(axes, lengths, strict=True)):
        # The dimensions are the neighbors along each axis, then images and points.
        dims = vector_of(op, [*(taps if at == position else 1 for at in range(rank)), batch, -1])
        index = op.Add(op.Mul(index, size_name(op, length)), op.Reshape(axis.number, dims))
        if axis.inside:
            is_inside = op.Reshape(axis.inside, dims)
            inside = op.And(inside, is_inside) if inside else is_inside
        if axis.weight:
            factor = op.Reshape(axis.weight, dims)
            weight = op.Mul(weight, factor) if weight else factor
    values = op.Gather(rows, index)
    if inside:
        nothing = fill_value(op, wide if taps > 1 else element)
        values = op.Where(unsqueeze(op, inside, [rank + 2]), values, nothing)
    if weight:
        weight = cast(op, weight, precise, wide)
        values = op.Mul(values, unsqueeze(op, weight, [rank + 2]))
        values = sum_along(op, values, list(range(rank)))
    y = op.Transpose(op.Reshape(values, vector_of(op, [batch, -1, channels])), perm=[0, 2, 1])
    y = op.Reshape(y, vector_of(op, [batch, channels, *outputs[1:]]))
    return op.Cast(y, to=NUMBERS[element]) if wide != element and taps > 1 else y


def _neighbors_of(op: Builder, node: Node, at: str, length: Size, taps: int, element: str) -> Neighbors:
    """Return the neighbors of points along an axis, `taps` for each point; coordinates are from -1 to 1."""
    padding = node.attr("padding_mode")
    align = node.attr("align_corners")

    def number(value: float) -> str:
        return op.const(value, element)

    size = number(float(length)) if isinstance(length, int) else op.Cast(length, to=NUMBERS[element])
    one = number(1.0)
    half = number(0.5)
    last = number(length - 1.0) if isinstance(length, int) else op.Sub(size, one)
    at = op.Add(at, one)
    at = op.Mul(op.Mul(at, half), last) if align else op.Mul(op.Sub(op.Mul(at, size), one), half)
    # NaN and infinity are outside.
    outside = number(-1.0 if align else -1.5)
    if padding != "border":
        outside = op.Sub(op.Mul(size, number(-2.0)), number(BEYOND))
    at = op.Where(op.Less(op.Abs(at), number(float("inf"))), at, outside)
    if padding == "reflection":
        at = _reflect(op, node, at, size, last, element)
    elif padding == "border" and taps < 4:
        at = op.Min(op.Max(at, number(0.0)), last)
    else:
        at = op.Min(op.Max(at, number(-BEYOND)), op.Add(size, number(BEYOND)))
    weight = ""
    if taps == 1:
        index = op.Round(at)
    else:
        below = op.Floor(at)
        part = op.Sub(at, below)
        parts = [op.Sub(one, part), part] if taps == 2 else _cubic_weights(op, part, element)
        weight = op.Concat(*parts, axis=0)
        first = 1 - taps // 2
        index = op.Add(below, op.const([float(first + tap) for tap in range(taps)], element, [taps, 1, 1]))
    if padding == "reflection":
        index = op.Round(_reflect(op, node, index, size, last, element))
    zero = number(0.0)
    inside = op.Not(op.Or(op.Less(index, zero), op.Greater(index, last))) if padding == "zeros" else ""
    index = op.Cast(op.Min(op.Max(index, zero), last), to=NUMBERS["int64"])
    return Neighbors(index, weight, inside)


def _reflect(op: Builder, node: Node, at: str, size: str, last: str, element: str) -> str:
    """Return coordinates reflected at both ends: the distance from an end is a wave of twice the length."""
    # In DOUBLE, a quotient and its product are exact.
    align = node.attr("align_corners")
    at, span = (cast(op, term, element, "double") for term in (at, last if align else size))
    low = op.const(0.0 if align else -0.5, "double")
    whole = op.Mul(span, op.const(2.0, "double"))
    distance = op.Abs(op.Sub(at, low))
    if align:
        # An axis of one element has no length, and a remainder is 0.
        whole = op.Max(whole, op.const(1e-300, "double"))
    rest = op.Sub(distance, op.Mul(op.Floor(op.Div(distance, whole)), whole))
    y = op.Add(op.Sub(span, op.Abs(op.Sub(rest, span))), low)
    return cast(op, y, "double", element)


def _cubic_weights(op: Builder, part: str, element: str) -> list[str]:
    """Return the weights of the four neighbors of points that are `part` after the second neighbor (Keys 1981)."""

    def number(value: float) -> str:
        return op.const(value, element)

    def polynomial(x: str, *factors: float) -> str:
        total = number(factors[0])
        for factor in factors[1:]:
            total = op.Add(op.Mul(total, x), number(factor))
        return total

    far = (CUBIC, -5 * CUBIC, 8 * CUBIC, -4 * CUBIC)
    near = (CUBIC + 2, -(CUBIC + 3), 0.0, 1.0)
    after = op.Sub(number(1.0), part)
    return [
        polynomial(op.Add(part, number(1.0)), *far),
        polynomial(part, *near),
        polynomial(after, *near),
        polynomial(op.Add(after, number(1.0)), *far),
    ]


@lower("AffineGrid", since=20)
@refuses("C204", "with `align_corners` 1, where the only element of a dimension lies is not defined")
def affine_grid_lowered(op: Builder, node: Node) -> Result:
    """Add the products of theta and each coordinate, and the translation; each coordinate has its own dimension."""
    element = node.need_element(0)
    shape = node.shape(1)
    constant = node.constant(1)
    length = shape[0] if shape else None
    if constant is not None:
        length = len(constant.values)
    if length not in (4, 5):
        raise Refusal("C207", "it is not known how many dimensions 'size' has", "give it a shape of 4 or 5")
    rank = int(length) - 2
    wide = element if element == "double" else "float"
    theta = cast(op, node.input(0), element, wide)
    between = list(range(1, rank + 1))

    def column(index: int) -> str:
        return unsqueeze(op, op.Gather(theta, op.const(index), axis=2), between)

    y = ""
    for axis in range(rank):
        # The innermost dimension is the first coordinate.
        number = 1 + rank - axis
        size: Size = (
            int(constant.values[number])
            if constant is not None
            else op.Gather(op.Cast(node.input(1), to=NUMBERS["int64"]), op.const(number))
        )
        dims = [-1 if at == number - 2 else 1 for at in range(rank)] + [1]
        at = op.Reshape(_even_coordinates(op, size, node.attr("align_corners"), wide), op.const(dims))
        term = op.Mul(at, column(axis))
        y = op.Add(y, term) if y else term
    y = op.Add(y, column(rank))
    return cast(op, y, wide, element)


def _even_coordinates(op: Builder, size: Size, align: int, element: str) -> str:
    """Return the coordinates of `size` elements in [-1, 1]: from end to end, or the centers of equal parts."""
    if align and size == 1:
        raise Refusal("C204", "with 'align_corners' 1, where the only element of a dimension lies is not defined")
    one = op.const(1.0, element)
    steps = op.Mul(op.Cast(integers_below(op, size), to=NUMBERS[element]), op.const(2.0, element))
    if isinstance(size, int):
        count = op.const(float(max(size - 1 if align else size, 1)), element)
    else:
        count = op.Cast(size, to=NUMBERS[element])
        count = op.Max(op.Sub(count, one) if align else count, one)
    return op.Sub(op.Div(steps if align else op.Add(steps, one), count), one)
