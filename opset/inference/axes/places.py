"""The place of the resized axis in a value, and the table of functions that say how an operator carries it.

A model is followed under one claim. Let the axis have B slices in the model, and N in the resized one. A value with a
place is, along its axis, a row of such slices, and the model computes slice i of it from slice i of the inputs.
A value without one is the same in both models. A function of an operator may give an output a place only if the claim
then holds for it, whatever N is: so the resized model equals the model run slice by slice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from opset.inference.building.dimensions import Size, TooComplex, equal, product

__all__ = ["CARRIERS", "Blocked", "Carrier", "Chosen", "Place", "carries", "places_in", "quotient"]


class Place(NamedTuple):
    """The axis of a value that holds the resized axis: it has `outer` times N times `inner` elements, in this order.

    N is the size of the resized axis, an axis of the model's inputs such as the batch. `outer` and `inner` are 1 unless
    the axis is merged with others: an axis of batch * heads has inner = heads. `axis` is counted from 0.
    """

    axis: int
    outer: Size = 1
    inner: Size = 1

    @property
    def is_own(self) -> bool:
        """Whether the axis holds only the resized axis, not merged with others: `outer` and `inner` are 1."""
        return self.outer == 1 and self.inner == 1

    def size(self, count: Size) -> Size:
        """Return the size of this axis if the resized axis has `count` elements: outer * count * inner."""
        return self.outer * count * self.inner


Chosen = TypeVar("Chosen", bound=Place | None)
"""A place, or None if a decision may also leave a value as it is."""


class Blocked(Exception):
    """A node cannot carry the resized axis to its outputs; the arguments are the reason, and maybe a line of help."""


class Carrier(NamedTuple):
    """How an operator carries the resized axis to its outputs.

    `function` takes an AxisStep and returns places; `sizes` are the indices of inputs that may hold sizes that depend
    on the axis.
    """

    function: Callable[[Any], Sequence[Place | None] | Place | None]
    sizes: tuple[int, ...]


CARRIERS: dict[tuple[str, str], Carrier] = {}
"""The carriers of operators by name and domain."""


def carries(*operators: str, domain: str = "", sizes: tuple[int, ...] = ()) -> Callable[[Any], Any]:
    """Return a decorator that registers a function as the carrier of some operators, in CARRIERS.

    The carrier says where a node's outputs have the resized axis (such as the batch). It takes the node as an AxisStep.
    It returns a list with a Place for each output, or one Place for all outputs; None stands for an output without the
    axis.

    Args:
        operators: the names of the operators.
        domain: their domain.
        sizes: the indices of inputs whose elements may be sizes that depend on the resized axis.

    Returns:
        The decorator, which returns the function unchanged.
    """

    def register(function: Any) -> Any:
        """Register the function for the operators, and return it."""
        for operator in operators:
            CARRIERS[operator, domain] = Carrier(function, sizes)
        return function

    return register


def quotient(whole: Size, part: Size) -> Size | None:
    """Return whole / part, or None if it is not certain that `part` divides `whole` without remainder.

    The result is also None if `part` is 0.
    """
    try:
        result = whole // part
        return result if equal(result * part, whole) else None
    except (TooComplex, ArithmeticError):
        return None


def places_in(shape: Sequence[Size], place: Place, count: Size, target: Sequence[Size]) -> list[Place]:
    """Return the places that the resized axis may have after a node such as Reshape arranges elements in another shape.

    The resized axis keeps the number of elements in front of it, and the number of elements behind it. For example,
    axis 1 of [5, N, 8] may become axis 1 of [5, 2*N, 4]. There, each of the N slices takes 2 rows, so `inner` is 2.

    Args:
        shape: the shape before.
        place: the place of the resized axis in `shape`.
        count: the number of elements of the resized axis, in both shapes.
        target: the shape after.

    Returns:
        The places, the best first. An axis that holds only the resized axis is better than one that is merged with
            others, such as batch * heads. If several are alike in this, the axis with the same index as in `shape` is
            the best. The list is empty if no axis of `target` can hold the resized axis.
    """
    before = product(shape[: place.axis]) * place.outer
    behind = product(shape[place.axis + 1 :]) * place.inner
    found: list[Place] = []
    if 0 in (before, behind):
        return found
    for axis, size in enumerate(target):
        outer = quotient(before, product(target[:axis]))
        inner = quotient(behind, product(target[axis + 1 :]))
        if outer is not None and inner is not None and equal(outer * count * inner, size):
            found.append(Place(axis, outer, inner))
    return sorted(found, key=lambda each: (not each.is_own, each.axis != place.axis, each.axis))
