"""Resize by its definition: for each axis, the nearest elements, or a weighted sum of neighbours, are gathered.

What is known is computed now, all else by nodes, from the same formulas. Coordinates are computed in FLOAT, as the
kernel and runtimes do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

from opset.adapters.building.positions import Size, counting
from opset.adapters.building.shared import cast, float32
from opset.model.elements import NUMBERS
from opset.version_converter.rewrite import FIX_SIZES, Builder, Refusal

MOST_NEIGHBOURS = 32


class Method(NamedTuple):
    """The attributes of Resize that matter here."""

    mode: str
    coordinates: str
    coefficient: float
    exclude_outside: bool
    antialias: bool
    outside: float | None
    """What is written outside the region to crop, None where nothing is cropped."""


class Axis(NamedTuple):
    """An axis to resize: its sizes before and after, its scale, and the region to crop."""

    number: int
    size: Size
    output: Size
    scale: float | str
    region: tuple[float, float] = (0.0, 1.0)


class Numbers(NamedTuple):
    """A vector, or one number: the values where they are known, else the name of what is computed."""

    known: tuple[float, ...] | None
    name: str = ""
    scalar: bool = False
    """Whether what is known is one number, and not a vector, which may have one element, too."""


class Arithmetic:
    """Elementwise functions of numbers in one float type."""

    def __init__(self, op: Builder, element: str) -> None:
        self.op = op
        self.element = element

    def number(self, value: float) -> Numbers:
        """Return one number."""
        return Numbers((self._rounded(value),), scalar=True)

    def name(self, numbers: Numbers) -> str:
        """Return the name of a value that holds the numbers: a scalar for one, else a vector."""
        if numbers.known is None:
            return numbers.name
        return self.op.const(numbers.known[0] if numbers.scalar else numbers.known, self.element)

    def _rounded(self, value: float) -> float:
        return float32(value) if self.element == "float" else value

    def apply(self, op_type: str, *operands: Numbers) -> Numbers:
        """Return a function of numbers, which broadcast as a scalar and a vector do."""
        if all(each.known is not None for each in operands):
            scalar = all(each.scalar for each in operands)
            size = next((len(each.known or ()) for each in operands if not each.scalar), 1)
            columns = [(each.known or ()) * (size if each.scalar else 1) for each in operands]
            function = FUNCTIONS[op_type]
            rows = zip(*columns, strict=True)
            return Numbers(tuple([self._rounded(function(*row)) for row in rows]), scalar=scalar)
        return Numbers(None, getattr(self.op, op_type)(*map(self.name, operands)))

    def sum(self, numbers: Sequence[Numbers]) -> Numbers:
        """Return the sum of numbers."""
        return reduce(lambda a, b: self.apply("Add", a, b), numbers)


FUNCTIONS: dict[str, Callable[..., float]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": lambda a, b: a / b,
    "Min": min,
    "Max": max,
    "Abs": abs,
    "Floor": math.floor,
    "Ceil": math.ceil,
}


def interpolated(op: Builder, x: str, rank: int, element: str, axes: Sequence[Axis], method: Method) -> str:
    """Return a float tensor resized along the axes, one after the other."""
    wide = "double" if element == "double" else "float"
    y = cast(op, x, element, wide)
    masks = []
    for axis in axes:
        y, mask = _along(op, y, rank, wide, axis, method)
        masks += [mask] if mask else []
    for mask in masks:
        y = op.Where(mask, op.const(method.outside, wide, []), y)
    return cast(op, y, wide, element)


def nearest_elements(op: Builder, x: str, axes: Sequence[Axis], coordinates: str, rounding: str) -> str:
    """Return a tensor resized along the axes, one after the other, by the elements nearest to the coordinates."""
    m = Arithmetic(op, "float")
    for axis in axes:
        at = _coordinates(op, m, axis, coordinates, _changes(op, axis.scale))
        # Less 0.5 and not plus 0.5, which rounds the number just below 0.5 up.
        if rounding in ("round_prefer_floor", "round_prefer_ceil"):
            at = m.apply("Sub", at, m.number(0.5))
        at = m.apply("Ceil" if rounding in ("ceil", "round_prefer_floor") else "Floor", at)
        if rounding == "round_prefer_ceil":
            at = m.apply("Add", at, m.number(1))
        last = m.apply("Sub", _as_number(op, axis.size, "float"), m.number(1))
        inside = m.apply("Min", m.apply("Max", at, m.number(0)), last)
        x = op.Gather(x, _indices(op, inside), axis=axis.number)
    return x


def _indices(op: Builder, numbers: Numbers) -> str:
    """Return whole numbers as Gather takes them."""
    if numbers.known is not None:
        return op.const([int(each) for each in numbers.known])
    return op.Cast(numbers.name, to=NUMBERS["int64"])


def _along(op: Builder, x: str, rank: int, element: str, axis: Axis, method: Method) -> tuple[str, str]:
    """Return a tensor resized along an axis, and what is outside the region to crop, "" where nothing is."""
    changes = _changes(op, axis.scale)
    at = _coordinates(op, Arithmetic(op, "float"), axis, method.coordinates, changes)
    # Old runtimes have Max and Min of FLOAT alone.
    m = Arithmetic(op, element if at.known is None else "double")
    size = _as_number(op, axis.size, m.element)
    column = [-1] + [1] * (rank - 1 - axis.number)
    mask = ""
    if method.outside is not None and at.known is not None:
        outside = [not 0 <= each <= float(axis.size) - 1 for each in at.known]
        mask = op.const(outside, "bool", [len(outside), *column[1:]]) if any(outside) else ""
    if at.known is None and element == "double":
        at = Numbers(None, op.Cast(at.name, to=NUMBERS[element]))
    neighbours, weights = _kernel(m, at, axis, method)
    last = m.apply("Sub", size, m.number(1))
    zero = m.number(0)
    if method.exclude_outside:
        weights = _without_outside(m, neighbours, weights, last)
    parts = []
    for neighbour, weight in zip(neighbours, weights, strict=True):
        inside = m.apply("Min", m.apply("Max", neighbour, zero), last)
        index = _indices(op, inside)
        if weight.known is not None:
            factor = op.const(list(weight.known), element, [len(weight.known), *column[1:]])
        else:
            factor = op.Reshape(weight.name, op.const(column)) if len(column) > 1 else weight.name
        part = op.Mul(op.Gather(x, index, axis=axis.number), factor)
        if changes and neighbour is not neighbours[len(neighbours) // 2 - 1]:
            # An axis of scale 1 stays as it is: what has the weight 0 may be no number. Adding -0.0 changes nothing.
            part = op.Where(changes, part, op.const(-0.0, element, []))
        parts.append(part)
    return reduce(op.Add, parts), mask


def _as_number(op: Builder, count: Size | float, element: str) -> Numbers:
    if isinstance(count, str):
        return Numbers(None, op.Cast(count, to=NUMBERS[element]))
    return Numbers((float(count),), scalar=True)


def _coordinates(op: Builder, m: Arithmetic, axis: Axis, mode: str, changes: str) -> Numbers:
    """Return the coordinate in the input of each element of the output.

    `changes` is whether the axis is resized, where that shows at run time.
    """
    size, output = (_as_number(op, count, "float") for count in (axis.size, axis.output))
    scale = Numbers(None, axis.scale) if isinstance(axis.scale, str) else m.number(axis.scale)
    if isinstance(axis.output, int):
        positions = Numbers(tuple(map(float, range(axis.output))))
    else:
        positions = Numbers(None, op.Cast(counting(op, axis.output), to=NUMBERS["float"]))
    half = m.number(0.5)
    one = m.number(1)
    last = m.apply("Sub", size, one)
    centred = m.apply("Sub", m.apply("Div", m.apply("Add", positions, half), scale), half)
    match mode:
        case "asymmetric":
            at = m.apply("Div", positions, scale)
        case "half_pixel":
            at = centred
        case "pytorch_half_pixel":
            # 0 where there is one element, else as half_pixel.
            several = m.apply("Min", m.apply("Max", m.apply("Sub", output, one), m.number(0)), one)
            at = m.apply("Mul", centred, several)
        case "half_pixel_symmetric":
            middle = m.apply("Div", size, m.number(2))
            part = m.apply("Div", output, m.apply("Mul", scale, size))
            shift = m.apply("Mul", middle, m.apply("Sub", one, part))
            at = m.apply("Sub", m.apply("Add", shift, m.apply("Div", m.apply("Add", positions, half), scale)), half)
        case "align_corners":
            steps = m.apply("Max", m.apply("Sub", output, one), one)
            at = m.apply("Div", m.apply("Mul", positions, last), steps)
        case "tf_half_pixel_for_nn":
            at = m.apply("Div", m.apply("Add", positions, half), scale)
        case _:  # tf_crop_and_resize
            start, end = (m.number(each) for each in axis.region)
            if axis.output == 1:
                return m.apply("Mul", m.apply("Mul", half, m.apply("Add", start, end)), last)
            step = m.apply("Mul", m.apply("Sub", end, start), last)
            moved = m.apply("Div", m.apply("Mul", positions, step), m.apply("Sub", output, one))
            return m.apply("Add", m.apply("Mul", start, last), moved)
    if at.known is None and changes:
        # An axis of scale 1 stays as it is.
        at = Numbers(None, op.Where(changes, m.name(at), m.name(positions)))
    return at


def _changes(op: Builder, scale: float | str) -> str:
    """Return whether a scale that is computed at run time is another number than 1, "" for one that is known."""
    if not isinstance(scale, str):
        return ""
    one = op.const(1.0, "float", [])
    return str(op.Or(op.Less(scale, one), op.Greater(scale, one)))


def _kernel(m: Arithmetic, at: Numbers, axis: Axis, method: Method) -> tuple[list[Numbers], list[Numbers]]:
    """Return the neighbours of each coordinate, and their weights, by the distance."""
    stretch = 1.0
    if method.antialias:
        if isinstance(axis.scale, str):
            raise Refusal("C205", "antialias is 1, and the scale is computed at run time", "make it an initializer")
        stretch = min(float32(axis.scale), 1.0)
    radius = 2 if method.mode == "cubic" else 1
    reach = math.ceil(radius / stretch)
    if 2 * reach > MOST_NEIGHBOURS:
        raise Refusal("C204", f"antialias is 1, and each element depends on {2 * reach} others")
    below = m.apply("Floor", at)
    neighbours = [m.apply("Add", below, m.number(tap)) for tap in range(1 - reach, reach + 1)]
    weights = []
    for tap, neighbour in zip(range(1 - reach, reach + 1), neighbours, strict=True):
        distance = m.apply("Abs", m.apply("Sub", neighbour, at))
        if stretch != 1:
            distance = m.apply("Mul", distance, m.number(stretch))
        if method.mode == "linear":
            weight = m.apply("Max", m.apply("Sub", m.number(1), distance), m.number(0))
        else:
            weight = _cubic(m, distance, method.coefficient, stretch, tap)
        weights.append(weight)
    if stretch != 1:
        total = m.sum(weights)
        weights = [m.apply("Div", weight, total) for weight in weights]
    return neighbours, weights


def _cubic(m: Arithmetic, distance: Numbers, a: float, stretch: float, tap: int) -> Numbers:
    """Return the cubic convolution kernel at distances; with a stretch of 1, the neighbour determines which part."""

    def polynomial(*factors: float) -> Numbers:
        found = m.number(factors[0])
        for factor in factors[1:]:
            found = m.apply("Add", m.apply("Mul", found, distance), m.number(factor))
        return found

    near = (a + 2, -(a + 3), 0.0, 1.0)
    far = (a, -5 * a, 8 * a, -4 * a)
    if stretch == 1:
        return polynomial(*(near if tap in (0, 1) else far))
    if distance.known is None:
        raise Refusal("C207", "antialias is 1, and a size is not known", FIX_SIZES)
    inner, outer = polynomial(*near).known or (), polynomial(*far).known or ()
    return Numbers(
        tuple([n if d <= 1 else f if d < 2 else 0.0 for d, n, f in zip(distance.known, inner, outer, strict=True)])
    )


def _without_outside(m: Arithmetic, neighbours: list[Numbers], weights: list[Numbers], last: Numbers) -> list[Numbers]:
    """Return the weights with those of neighbours outside the axis set to 0, and the others to a sum of 1."""
    kept = []
    for neighbour, weight in zip(neighbours, weights, strict=True):
        # 1 inside and 0 outside, as neighbours are whole numbers.
        above = m.apply("Min", m.apply("Max", m.apply("Add", neighbour, m.number(1)), m.number(0)), m.number(1))
        room = m.apply("Add", m.apply("Sub", last, neighbour), m.number(1))
        inside = m.apply("Min", m.apply("Min", m.apply("Max", room, m.number(0)), m.number(1)), above)
        kept.append(m.apply("Mul", weight, inside))
    total = m.sum(kept)
    return [m.apply("Div", weight, total) for weight in kept]
