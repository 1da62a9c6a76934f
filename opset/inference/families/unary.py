"""Elementwise functions of one input: elements of small results."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from opset.inference.building.call import Call, Element
from opset.inference.building.dimensions import Dim, maximum, minimum
from opset.inference.building.elements import (
    ElementFunction,
    apply_to_elements,
    as_size,
    map_and_round,
    map_elements,
    round_to_type,
)
from opset.inference.registration import data

_FAR = 2**62
"""A bound that no size reaches, such as the limits of int64 and float."""


@data("Clip")
def clip_1_data(call: Call) -> Any:
    """Return the input's elements limited by the attributes `min` and `max`, or None if the input is unknown.

    An element is None if it is unknown, or if it or a bound is infinite or NaN.
    """
    return _clip_elements(call, call.attribute("min"), call.attribute("max"))


@data("Clip", since=11)
def clip_11_data(call: Call) -> Any:
    """Return the first input's elements limited by the second and third input, or None if one of the inputs is unknown.

    An absent input is no limit. An element is None if it is unknown, or if it or a bound is infinite or NaN.
    """
    bounds: list[Element] = []
    for index in (1, 2):
        if call.has(index):
            elements = call.elements(index)
            if not elements or elements[0] is None:
                return None
            bounds.append(elements[0])
        else:
            bounds.append(None)
    return _clip_elements(call, *bounds)


def _clip_elements(call: Call, low: Any, high: Any) -> Any:
    """Return the first input's elements limited to the range from `low` to `high`, or None if they are unknown.

    A bound of None is no limit. An element is None if it is unknown, if it or a bound is infinite or NaN, or if the
    result does not fit the element type.
    """
    type_ = call.dtype(0)

    def limit(element: Any) -> Element:
        # Clip makes infinities finite even without bounds, and NaN compares with nothing: neither is followed.
        """Return the element limited to the range and rounded to the element type, or None if it is not followed."""
        if any(isinstance(number, float) and not math.isfinite(number) for number in (element, low, high)):
            return None
        if low is not None:
            element = _limit_element(element, low, max, maximum, -math.inf, -_FAR)
        if high is not None:
            element = _limit_element(element, high, min, minimum, _FAR, math.inf)
        return round_to_type(element, type_)

    elements = call.elements(0)
    return None if elements is None else tuple(apply_to_elements(limit, element) for element in elements)


def _limit_element(element: Any, bound: Any, plain: Any, symbolic: Any, start: float, end: float) -> Any:
    """Return `element` limited by `bound`: the larger of them if `plain` is `max`, the smaller if `plain` is `min`.

    A symbolic element is returned unchanged if `bound` is too far away to matter, such as the lowest int64 for `max`.
    Raises ValueError if a symbolic size is compared with a number that has a fraction.

    Args:
        element: a number or symbolic size.
        bound: a number or symbolic size.
        plain: `max` or `min`, called for two numbers.
        symbolic: `maximum` or `minimum`, called if element or bound is symbolic.
        start: the lowest bound that is too far away: minus infinity for `max`, a very large number for `min`.
        end: the highest bound that is too far away: a very low number for `max`, infinity for `min`.
    """
    if not isinstance(element, Dim) and not isinstance(bound, Dim):
        return plain(element, bound)
    if not isinstance(bound, Dim) and start <= bound <= end:
        return element
    return symbolic(as_size(element), as_size(bound))


def _sign(x: Any) -> Element:
    """Return -1, 0 or 1 by the sign of an element, as a float for a float; NaN gives NaN.

    For a symbolic size, the result is a size, such as `min(N, 1)`.
    """
    if isinstance(x, Dim):
        return maximum(minimum(x, 1), -1)
    sign: int = (x > 0) - (x < 0)
    if isinstance(x, float):
        return float(sign) if x == x else x
    return sign


def _rounding(function: Any) -> ElementFunction:
    """Return a function that rounds floats by `function`, such as `math.ceil`, and keeps integers and symbolic sizes.

    The results for floats are floats, -0.0 included. The function raises ValueError for NaN, OverflowError for
    infinity.
    """
    return lambda x: math.copysign(function(x), x) if isinstance(x, float) else x


_OF_NUMBERS: dict[str, ElementFunction] = {
    "Abs": lambda x: maximum(x, -x) if isinstance(x, Dim) else abs(x),
    "Ceil": _rounding(math.ceil),
    "Floor": _rounding(math.floor),
    "Neg": lambda x: -x,
    "Reciprocal": lambda x: None if isinstance(x, Dim) else 1 / x,
    "Round": _rounding(round),
    "Sign": _sign,
    "Sqrt": lambda x: None if isinstance(x, Dim) else math.sqrt(x),
}
for _name, _function in _OF_NUMBERS.items():
    data(_name)(partial(map_and_round, _function))


@data("Not")
def not_1_data(call: Call) -> Any:
    """Return the negation of each element, or None if the input is unknown; an unknown element stays None."""
    return map_elements(call, lambda x: not x)
