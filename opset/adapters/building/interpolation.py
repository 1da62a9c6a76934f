"""Resize by its definition: along each axis, the nearest elements or a weighted sum of neighbors are gathered.

Known numbers are computed at conversion, all others by nodes from the same formulas. Coordinates are computed in FLOAT,
as the kernel and runtimes do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

from opset.adapters.building.positions import Size, integers_below
from opset.adapters.building.shared import cast, float32
from opset.adapters.limits import MAX_NEIGHBORS
from opset.model.elements import NUMBERS
from opset.version_converter.rewrite import FIX_SIZES, Builder, Refusal


class Interpolation(NamedTuple):
    """The attributes of Resize that interpolation depends on."""

    mode: str
    coordinates: str
    coefficient: float
    exclude_outside: bool
    antialias: bool
    outside: float | None
    """The value of elements outside the cropped region, None if nothing is cropped."""


class ScaledAxis(NamedTuple):
    """An axis to resize: its sizes before and after, its scale, and the region to crop."""

    number: int
    size: Size
    output: Size
    scale: float | str
    region: tuple[float, float] = (0.0, 1.0)


class Numbers(NamedTuple):
    """A vector, or one number: its values if they are known, else the name of a value that is computed at run time."""

    values: tuple[float, ...] | None
    name: str = ""
    scalar: bool = False
    """Whether it is one number, not a vector of one element."""


class Arithmetic:
    """Elementwise functions of numbers in one float type."""

    def __init__(self, op: Builder, element: str) -> None:
        self.op = op
        self.element = element

    def number(self, value: float) -> Numbers:
        """Return one number, rounded to the type."""
        return Numbers((self._round(value),), scalar=True)

    def name(self, numbers: Numbers) -> str:
        """Return the name of a value that holds the numbers: a scalar for one, else a vector."""
        if numbers.values is None:
            return numbers.name
        return self.op.const(numbers.values[0] if numbers.scalar else numbers.values, self.element)

    def _round(self, value: float) -> float:
        """Return a number rounded to the type; DOUBLE holds every number."""
        return float32(value) if self.element == "float" else value

    def apply(self, op_type: str, *operands: Numbers) -> Numbers:
        """Return an elementwise function of numbers; a scalar and a vector broadcast."""
        if all(operand.values is not None for operand in operands):
            is_scalar = all(operand.scalar for operand in operands)
            size = next((len(operand.values or ()) for operand in operands if not operand.scalar), 1)
            columns = [(operand.values or ()) * (size if operand.scalar else 1) for operand in operands]
            function = FUNCTIONS[op_type]
            rows = zip(*columns, strict=True)
            return Numbers(tuple([self._round(function(*row)) for row in rows]), scalar=is_scalar)
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


def interpolate(op: Builder, x: str, rank: int, element: str, axes: Sequence[ScaledAxis], method: Interpolation) -> str:
    """Return a float tensor resized along the axes, one after the other."""
    wide = "double" if element == "double" else "float"
    y = cast(op, x, element, wide)
    masks = []
    for axis in axes:
        y, mask = _resize_axis(op, y, rank, wide, axis, method)
        masks += [mask] if mask else []
    for mask in masks:
        y = op.Where(mask, op.const(method.outside, wide), y)
    return cast(op, y, wide, element)


def nearest_elements(op: Builder, x: str, axes: Sequence[ScaledAxis], coordinates: str, rounding: str) -> str:
    """Return a tensor resized along the axes, one after the other, by the elements nearest to the coordinates."""
    m = Arithmetic(op, "float")
    for axis in axes:
        at = _coordinates(op, m, axis, coordinates, _scale_flag(op, axis.scale))
        # Less 0.5 and not plus 0.5, which rounds the number just below 0.5 up.
        if rounding in ("round_prefer_floor", "round_prefer_ceil"):
            at = m.apply("Sub", at, m.number(0.5))
        at = m.apply("Ceil" if rounding in ("ceil", "round_prefer_floor") else "Floor", at)
        if rounding == "round_prefer_ceil":
            at = m.apply("Add", at, m.number(1))
        last = m.apply("Sub", _size_as_numbers(op, axis.size, "float"), m.number(1))
        inside = m.apply("Min", m.apply("Max", at, m.number(0)), last)
        x = op.Gather(x, _gather_indices(op, inside), axis=axis.number)
    return x


def _gather_indices(op: Builder, numbers: Numbers) -> str:
    """Return whole numbers as int64 indices for Gather."""
    if numbers.values is not None:
        return op.const([int(number) for number in numbers.values])
    return op.Cast(numbers.name, to=NUMBERS["int64"])


def _resize_axis(
    op: Builder, x: str, rank: int, element: str, axis: ScaledAxis, method: Interpolation
) -> tuple[str, str]:
    """Return a tensor resized along an axis, and a mask of the elements outside the cropped axis, "" for none."""
    # A region that is not the whole axis changes it at every scale.
    changes = _scale_flag(op, axis.scale) if axis.region == (0.0, 1.0) else ""
    at = _coordinates(op, Arithmetic(op, "float"), axis, method.coordinates, changes)
    # Old runtimes have Max and Min of FLOAT alone.
    m = Arithmetic(op, element if at.values is None else "double")
    size = _size_as_numbers(op, axis.size, m.element)
    column = [-1] + [1] * (rank - 1 - axis.number)
    mask = "" if method.outside is None else _mask_outside(op, at, axis, column)
    if at.values is None and element == "double":
        at = Numbers(None, op.Cast(at.name, to=NUMBERS[element]))
    neighbors, weights = _neighbors_and_weights(m, at, axis, method)
    last = m.apply("Sub", size, m.number(1))
    zero = m.number(0)
    if method.exclude_outside:
        weights = _weights_inside(m, neighbors, weights, last)
    parts = []
    for neighbor, weight in zip(neighbors, weights, strict=True):
        inside = m.apply("Min", m.apply("Max", neighbor, zero), last)
        index = _gather_indices(op, inside)
        if weight.values is not None:
            factor = op.const(list(weight.values), element, [len(weight.values), *column[1:]])
        else:
            factor = op.Reshape(weight.name, op.const(column)) if len(column) > 1 else weight.name
        part = op.Mul(op.Gather(x, index, axis=axis.number), factor)
        if changes and neighbor is not neighbors[len(neighbors) // 2 - 1]:
            # An axis of scale 1 stays as it is: an element of weight 0 may be NaN. Adding -0.0 changes nothing.
            part = op.Where(changes, part, op.const(-0.0, element))
        parts.append(part)
    return reduce(op.Add, parts), mask


def _mask_outside(op: Builder, at: Numbers, axis: ScaledAxis, column: list[int]) -> str:
    """Return whether each coordinate is outside an axis, in the shape `column`; "" if none of known ones is."""
    if at.values is not None:
        outside = [not 0 <= coordinate <= float(axis.size) - 1 for coordinate in at.values]
        return op.const(outside, "bool", [len(outside), *column[1:]]) if any(outside) else ""
    m = Arithmetic(op, "float")
    last = m.name(m.apply("Sub", _size_as_numbers(op, axis.size, "float"), m.number(1)))
    mask = op.Or(op.Less(at.name, m.name(m.number(0))), op.Greater(at.name, last))
    return str(op.Reshape(mask, op.const(column)) if len(column) > 1 else mask)


def _size_as_numbers(op: Builder, count: Size | float, element: str) -> Numbers:
    """Return a size as one number of a float type."""
    if isinstance(count, str):
        return Numbers(None, op.Cast(count, to=NUMBERS[element]))
    return Numbers((float(count),), scalar=True)


def _coordinates(op: Builder, m: Arithmetic, axis: ScaledAxis, mode: str, changes: str) -> Numbers:
    """Return the coordinate in the input of each element of the output; `changes` is the result of `_scale_flag`."""
    size, output = (_size_as_numbers(op, count, "float") for count in (axis.size, axis.output))
    scale = Numbers(None, axis.scale) if isinstance(axis.scale, str) else m.number(axis.scale)
    if isinstance(axis.output, int):
        positions = Numbers(tuple(map(float, range(axis.output))))
    else:
        positions = Numbers(None, op.Cast(integers_below(op, axis.output), to=NUMBERS["float"]))
    half = m.number(0.5)
    one = m.number(1)
    last = m.apply("Sub", size, one)
    centered = m.apply("Sub", m.apply("Div", m.apply("Add", positions, half), scale), half)
    match mode:
        case "asymmetric":
            at = m.apply("Div", positions, scale)
        case "half_pixel":
            at = centered
        case "pytorch_half_pixel":
            # 0 if there is one element, else as half_pixel.
            at = m.apply("Mul", centered, _several_flag(m, output))
        case "half_pixel_symmetric":
            middle = m.apply("Div", size, m.number(2))
            part = m.apply("Div", output, m.apply("Mul", scale, size))
            shift = m.apply("Mul", middle, m.apply("Sub", one, part))
            at = m.apply("Sub", m.apply("Add", shift, m.apply("Div", m.apply("Add", positions, half), scale)), half)
        case "align_corners":
            at = m.apply("Div", m.apply("Mul", positions, last), _steps_between(m, output))
        case "tf_half_pixel_for_nn":
            at = m.apply("Div", m.apply("Add", positions, half), scale)
        case _:  # tf_crop_and_resize
            at = _cropped_coordinates(m, axis.region, positions, output, last)
    if at.values is None and changes:
        # An axis of scale 1 stays as it is.
        at = Numbers(None, op.Where(changes, m.name(at), m.name(positions)))
    return at


def _several_flag(m: Arithmetic, output: Numbers) -> Numbers:
    """Return 1 if an axis has several elements, 0 if it has one."""
    return m.apply("Min", m.apply("Max", m.apply("Sub", output, m.number(1)), m.number(0)), m.number(1))


def _steps_between(m: Arithmetic, output: Numbers) -> Numbers:
    """Return the number of steps between the elements of an axis, 1 for one element."""
    return m.apply("Max", m.apply("Sub", output, m.number(1)), m.number(1))


def _cropped_coordinates(
    m: Arithmetic, region: tuple[float, float], positions: Numbers, output: Numbers, last: Numbers
) -> Numbers:
    """Return the coordinates of elements spread over a region; one element is taken from its middle.

    The operations have the order that they have in runtimes: by rounding, an element may be in or outside the input.
    """
    start, end = (m.number(bound) for bound in region)
    middle = m.apply("Mul", m.number(0.5), m.apply("Add", start, end))
    several = _several_flag(m, output)
    single = m.apply("Sub", m.number(1), several)
    origin = m.apply("Add", m.apply("Mul", start, several), m.apply("Mul", middle, single))
    moved = m.apply("Mul", m.apply("Mul", positions, m.apply("Sub", end, start)), last)
    return m.apply("Add", m.apply("Mul", origin, last), m.apply("Div", moved, _steps_between(m, output)))


def _scale_flag(op: Builder, scale: float | str) -> str:
    """Return the name of a bool, whether a scale that is computed at run time differs from 1; "" if it is known."""
    if not isinstance(scale, str):
        return ""
    one = op.const(1.0, "float")
    return str(op.Or(op.Less(scale, one), op.Greater(scale, one)))


def _neighbors_and_weights(
    m: Arithmetic, at: Numbers, axis: ScaledAxis, method: Interpolation
) -> tuple[list[Numbers], list[Numbers]]:
    """Return the neighbors of each coordinate, and their weights, which follow from their distance."""
    stretch = 1.0
    if method.antialias and not isinstance(axis.scale, str):
        stretch = min(axis.scale, 1.0)
    radius = 2 if method.mode == "cubic" else 1
    reach = math.ceil(radius / stretch)
    if 2 * reach > MAX_NEIGHBORS:
        label = "antialias is 1, and each element depends on too many others"
        raise Refusal("C204", f"antialias is 1, and each element depends on {2 * reach} others", label=label)
    below = m.apply("Floor", at)
    neighbors = [m.apply("Add", below, m.number(tap)) for tap in range(1 - reach, reach + 1)]
    weights = []
    for tap, neighbor in zip(range(1 - reach, reach + 1), neighbors, strict=True):
        distance = m.apply("Abs", m.apply("Sub", neighbor, at))
        if stretch != 1:
            distance = m.apply("Mul", distance, m.number(stretch))
        if method.mode == "linear":
            weight = m.apply("Max", m.apply("Sub", m.number(1), distance), m.number(0))
        else:
            weight = _cubic_weight(m, distance, method.coefficient, stretch, tap)
        weights.append(weight)
    if stretch != 1:
        total = m.sum(weights)
        weights = [m.apply("Div", weight, total) for weight in weights]
    return neighbors, weights


def _cubic_weight(m: Arithmetic, distance: Numbers, a: float, stretch: float, tap: int) -> Numbers:
    """Return the cubic convolution kernel at distances; with a stretch of 1, `tap` shows which polynomial holds."""

    def polynomial(*factors: float) -> Numbers:
        total = m.number(factors[0])
        for factor in factors[1:]:
            total = m.apply("Add", m.apply("Mul", total, distance), m.number(factor))
        return total

    near = (a + 2, -(a + 3), 0.0, 1.0)
    far = (a, -5 * a, 8 * a, -4 * a)
    if stretch == 1:
        return polynomial(*(near if tap in (0, 1) else far))
    if distance.values is None:
        raise Refusal("C207", "antialias is 1, and a size is not known", FIX_SIZES)
    inner, outer = polynomial(*near).values or (), polynomial(*far).values or ()
    weights = []
    for d, inner_weight, outer_weight in zip(distance.values, inner, outer, strict=True):
        if d <= 1:
            weights.append(inner_weight)
        else:
            weights.append(outer_weight if d < 2 else 0.0)
    return Numbers(tuple(weights))


def _weights_inside(m: Arithmetic, neighbors: list[Numbers], weights: list[Numbers], last: Numbers) -> list[Numbers]:
    """Return the weights with neighbors outside the axis set to 0, divided by their new sum."""
    kept = []
    for neighbor, weight in zip(neighbors, weights, strict=True):
        # 1 inside and 0 outside, as neighbors are whole numbers.
        above = m.apply("Min", m.apply("Max", m.apply("Add", neighbor, m.number(1)), m.number(0)), m.number(1))
        room = m.apply("Add", m.apply("Sub", last, neighbor), m.number(1))
        inside = m.apply("Min", m.apply("Min", m.apply("Max", room, m.number(0)), m.number(1)), above)
        kept.append(m.apply("Mul", weight, inside))
    total = m.sum(kept)
    return [m.apply("Div", weight, total) for weight in kept]
