"""Functions of one element: elements of small results; limits, whose bounds are inputs."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from opset.inference.agreement import unify
from opset.inference.call import Call, Element
from opset.inference.dimensions import Dim, maximum, minimum
from opset.inference.elements import Function, applied, each, rounded, typed, whole
from opset.inference.registration import data, infer
from opset.inference.types import Shape

_FAR = 2**62
"""A bound that no size reaches, as the ends of the ranges of int64 and float are."""


@infer("Clip", since=11)
def clip_11(call: Call) -> Shape:
    """Return the shape of the input; the bounds are scalars."""
    for place in (1, 2):
        unify(call, place, (), "C1")
    return call.require_shape(0)


@data("Clip")
def clip_1_data(call: Call) -> Any:
    """Limit elements by attributes."""
    return _limited(call, call.attribute("min"), call.attribute("max"))


@data("Clip", since=11)
def clip_11_data(call: Call) -> Any:
    """Limit elements by bounds that are inputs."""
    bounds: list[Element] = []
    for place in (1, 2):
        if call.has(place):
            elements = call.constant(place)
            if not elements or elements[0] is None:
                return None
            bounds.append(elements[0])
        else:
            bounds.append(None)
    return _limited(call, *bounds)


def _limited(call: Call, low: Any, high: Any) -> Any:
    """Limit elements by bounds, None for one that is absent."""
    type_ = call.dtype(0)

    def limit(element: Any) -> Element:
        # Infinities become finite even without bounds, and with NaN all are NaN.
        if any(isinstance(each, float) and not math.isfinite(each) for each in (element, low, high)):
            return None
        if low is not None:
            element = _extreme(element, low, max, maximum, -math.inf, -_FAR)
        if high is not None:
            element = _extreme(element, high, min, minimum, _FAR, math.inf)
        return rounded(element, type_)

    found = call.constant(0)
    return None if found is None else tuple(applied(limit, one) for one in found)


def _extreme(element: Any, bound: Any, plain: Any, symbolic: Any, start: float, end: float) -> Any:
    """Return the larger or smaller of an element and a bound; one from `start` to `end` does not count for sizes."""
    if not isinstance(element, Dim) and not isinstance(bound, Dim):
        return plain(element, bound)
    if not isinstance(bound, Dim) and start <= bound <= end:
        return element
    return symbolic(whole(element), whole(bound))


def _sign(x: Any) -> Element:
    if isinstance(x, Dim):
        return maximum(minimum(x, 1), -1)
    sign = (x > 0) - (x < 0)
    return sign if isinstance(x, int) else float(sign) if x == x else x


def _to_whole(function: Any) -> Function:
    """Return a function that takes the fraction of numbers; sizes have none."""
    return lambda x: math.copysign(function(x), x) if isinstance(x, float) else x


_OF_NUMBERS: dict[str, Function] = {
    "Abs": lambda x: maximum(x, -x) if isinstance(x, Dim) else abs(x),
    "Ceil": _to_whole(math.ceil),
    "Floor": _to_whole(math.floor),
    "Neg": lambda x: -x,
    "Reciprocal": lambda x: None if isinstance(x, Dim) else 1 / x,
    "Round": _to_whole(round),
    "Sign": _sign,
    "Sqrt": lambda x: None if isinstance(x, Dim) else math.sqrt(x),
}
for _name, _function in _OF_NUMBERS.items():
    data(_name)(partial(typed, _function))


@data("Not")
def not_1_data(call: Call) -> Any:
    """Return the contrary of each element."""
    return each(call, lambda x: not x)
