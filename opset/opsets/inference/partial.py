"""What rules of layout share: sizes of which some are not known, and elements that are picked from small tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

from opset.opsets.inference.call import MAX_DATA, Call, Data, Element, Unknown, Violation
from opset.opsets.inference.dims import Size, followed, product


def multiplied(sizes: Iterable[Size | None]) -> Size | None:
    """Give the product of sizes, None where one is not known, and no other is 0, or it is too complex."""
    factors = list(sizes)
    if 0 in factors:
        return 0
    return followed(lambda *known: product(known), *factors)


def total(sizes: Sequence[Size | None]) -> Size | None:
    """Give the sum of sizes, None where one is not known or it is too complex."""
    return followed(lambda *known: sum(known, start=0), *sizes)


def required(call: Call, name: str) -> Any:
    """Give an attribute that has no default. Raises Unknown where it is left out."""
    value = call.attribute(name)
    if value is None:
        raise Unknown(f"the attribute {name} is missing")
    return value


def axes_of(call: Call, axes: Iterable[int], rank: int, label: str, front: bool = False) -> list[int]:
    """Give axes counted from the front; with `front` they have to be. Raises Violation for those out of range."""
    found = []
    for axis in axes:
        if front and axis < 0:
            raise Violation(label, f"axis {axis}, rank {rank}")
        found.append(call.axis(axis, rank, label))
    return found


def picked(
    data: Data, positions: Sequence[Sequence[int]], order: Sequence[int] | None = None, fill: Element = None
) -> tuple[Element, ...] | None:
    """Give the elements at positions along each axis, `fill` for those outside, in row-major order of the result.

    Its axes are those of the data in `order`. None where they are too many.
    """
    count = prod(map(len, positions))
    if count > MAX_DATA:
        return None
    if not count:
        return ()
    strides = [prod(data.shape[axis + 1 :]) for axis in range(len(data.shape))]
    places: list[int | None] = [0]
    for axis in range(len(data.shape)) if order is None else order:
        stride, size = strides[axis], data.shape[axis]
        places = [
            None if place is None or not 0 <= each < size else place + stride * each
            for place in places
            for each in positions[axis]
        ]
    return tuple([fill if place is None else data.elements[place] for place in places])
