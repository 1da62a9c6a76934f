"""Cumulative sums and products, and the elements of reductions whose inputs are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from opset.inference.building.call import Call, Constant, Element
from opset.inference.building.dimensions import Dim, at_most, maximum, minimum, product
from opset.inference.building.elements import apply_to_elements, as_size, extreme_element, offsets_of, round_to_type
from opset.inference.building.shapes import normalize_axes
from opset.inference.registration import data
from opset.inference.rules.reduction import stated_axes

Fold = Callable[[Sequence[Any], "str | None"], Element]
_FLOATS = ("float", "double", "float16")
_EXACT = 1 << 24  # up to here, floats add and multiply integers exactly in any order


def _accumulate(fold: Fold, identity: int, call: Call) -> tuple[Element, ...] | None:
    """Return the elements of CumSum or CumProd in row-major order, or None if the input or the axis is unknown.

    An element of the result is the total along the axis, up to and including the element in the same place. With the
    attribute `exclusive`, this element is not included. With `reverse`, the total begins at the end of the axis. After
    an unknown element, all totals are None.

    Args:
        fold: `_sum` or `_product`.
        identity: the total before the first element, 0 or 1.
        call: the node.
    """
    constant = call.constant(0)
    axis = call.element(1)
    if constant is None or not isinstance(axis, int):
        return None
    along = axis % len(constant.dims)
    type_ = call.dtype(0)
    inner = math.prod(constant.dims[along + 1 :])
    size = constant.dims[along]
    result: list[Element] = [None] * len(constant.values)
    for first in range(len(constant.values)):
        if first // max(inner, 1) % size:
            continue
        line = range(first, first + inner * size, inner)
        total: Element = identity
        for index in reversed(line) if call.attribute("reverse") else line:
            # Kernels add in a wider type and round each result once.
            after = apply_to_elements(lambda *known: fold(known, type_), total, constant.values[index])
            result[index] = apply_to_elements(
                lambda element: round_to_type(element, type_), total if call.attribute("exclusive") else after
            )
            total = after
    return tuple(result)


def _fold_group(fold: Fold, elements: Sequence[Element], type_: str | None) -> Element:
    """Return the element to which `fold` reduces elements of the element type `type_`, rounded to this type.

    The result is None if an element is unknown, or if `fold` returns None or raises.
    """
    return apply_to_elements(lambda *known: round_to_type(fold(known, type_), type_), *elements)


def _sum(elements: Sequence[Any], type_: str | None) -> Element:
    """Return the sum of elements, or None if it may be rounded.

    In a float type, it may be rounded if the absolute values add up to more than 2**24. Raises ValueError for a
    fraction.
    """
    sizes = [as_size(element) for element in elements]
    if type_ in _FLOATS and sum(abs(size) for size in sizes if isinstance(size, int)) > _EXACT:
        return None
    return sum(sizes, start=0)


def _product(elements: Sequence[Any], type_: str | None) -> Element:
    """Return the product of whole numbers, or None if it may be rounded in the element type `type_`.

    A product of integers is never rounded. A product in float16, float or double may be rounded if it is above 2**24 in
    absolute value, with zeros left out of it. Raises ValueError if a number is a fraction.
    """
    sizes = [as_size(element) for element in elements]
    if type_ in _FLOATS and math.prod(max(abs(size), 1) for size in sizes if isinstance(size, int)) > _EXACT:
        return None
    return product(sizes)


def _mean(elements: Sequence[Any], type_: str | None) -> Element:
    """Return the mean of elements, or None if it is unknown.

    `type_` is the element type. In an integer type, the mean is truncated toward zero. The mean is unknown in these
    cases:

    - `type_` is an integer type, and the sum is beyond 64 bits, or is symbolic and may be negative;
    - `type_` is a float type, and the sum may be rounded;
    - `type_` is a float type, and the sum of several elements is symbolic.

    Raises ValueError if an element is a fraction, such as 0.5. Raises ZeroDivisionError if there are no elements.
    """
    total = _sum(elements, type_)
    if type_ in _FLOATS:
        if len(elements) == 1:
            return total
        return total / len(elements) if isinstance(total, int) else None
    if isinstance(total, int) and -(1 << 63) <= total < 1 << 63:
        return total // len(elements) + (total < 0 and total % len(elements) != 0)
    return total // len(elements) if isinstance(total, Dim) and at_most(0, total) else None


_FOLDS: dict[str, Fold] = {
    "ReduceSum": _sum,
    "ReduceProd": _product,
    "ReduceMean": _mean,
    "ReduceMax": lambda elements, type_: extreme_element(maximum, max, elements),
    "ReduceMin": lambda elements, type_: extreme_element(minimum, min, elements),
}


def _reduce_elements(fold: Fold, call: Call) -> tuple[Element, ...] | None:
    """Return the elements of a reduction such as ReduceSum in row-major order; None if elements or axes are unknown.

    `fold` takes a list of elements and their type, and returns one element. Without axes, all elements are reduced to
    one, or unchanged if the attribute `noop_with_empty_axes` is set. An element that is unknown is None.
    """
    constant = call.constant(0)
    if constant is None:
        return None
    rank = len(constant.dims)
    axes = normalize_axes(stated_axes(call), rank)
    if axes is None:
        return None
    if not axes and call.attribute("noop_with_empty_axes"):
        return constant.values
    groups = _group_elements(constant, {*(axes or range(rank))})
    return tuple(_fold_group(fold, group, call.dtype(0)) for group in groups)


def _group_elements(constant: Constant, axes: set[int]) -> list[list[Element]]:
    """Return the groups of elements that a reduction along `axes` combines, each into one element of the output.

    The groups are in the row-major order of the output. Axes are counted from 0. For [[1, 2], [3, 4]] and axis 0, the
    groups are [1, 3] and [2, 4].
    """
    count = 1
    strides = [0] * len(constant.dims)
    for axis in reversed(range(len(constant.dims))):
        if axis not in axes:
            strides[axis], count = count, count * constant.dims[axis]
    groups: list[list[Element]] = [[] for _ in range(count)]
    for index, element in zip(offsets_of(constant.dims, strides), constant.values, strict=True):
        groups[index].append(element)
    return groups


data("CumSum")(partial(_accumulate, _sum, 0))
data("CumProd")(partial(_accumulate, _product, 1))
for _name, _fold in _FOLDS.items():
    data(_name)(partial(_reduce_elements, _fold))
