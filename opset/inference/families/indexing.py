"""Shapes and elements of operators that read or write elements at indices, or select them by value."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

from opset.inference.building.agreement import required_attribute
from opset.inference.building.call import Call, Element, Unknown
from opset.inference.building.dimensions import Dim, Size, at_most, equal, less, maximum, minimum, product_if_known
from opset.inference.building.elements import apply_to_elements, offsets_of, round_to_type, strides_of
from opset.inference.building.shapes import check_indices_shape, check_updates_shape, shape_of_slices
from opset.inference.building.types import Shape
from opset.inference.limits import MAX_RANK
from opset.inference.registration import data, infer
from opset.schemas.constraints.violation import Violation


def _check_range(size: Size, label: str, indices: Sequence[Element], least: int | None = None) -> None:
    """Raise Violation `label` if a known index is certainly out of range: below `least`, or above size - 1.

    `least` is the lowest legal index; None stands for -size. Unknown and symbolic indices are not checked.
    """
    known = [index for index in indices if isinstance(index, int)]
    least_index = -size if least is None else least
    if known and (less(max(known), size) is False or at_most(least_index, min(known)) is False):
        raise Violation(label, f"indices from {min(known)} to {max(known)}, dimension {size}")


def _known_integers(elements: Sequence[Element] | None) -> list[int] | None:
    """Return the elements as a list of ints; None if `elements` is None, or if an element is unknown or no integer.

    A symbolic size counts as unknown.
    """
    integers = [index for index in elements or () if isinstance(index, int)]
    return integers if elements is not None and len(integers) == len(elements) else None


# Reading


@infer("Gather")
def gather_1(call: Call) -> Shape:
    """Return the shape of the data with the size of `axis` replaced by the shape of the indices.

    Data of shape [2, 3] and indices of shape [4, 5] give [2, 4, 5] for axis 1. Raises Unknown if a rank is unknown,
    Violation C2 if an index is out of range, or is negative before version 11.
    """
    shape = call.require_shape(0)
    axis = call.attribute("axis") % len(shape)
    # Before version 11 no index is negative.
    _check_range(shape[axis], "C2", call.elements(1) or (), 0 if call.version < 11 else None)
    return (*shape[:axis], *call.require_shape(1), *shape[axis + 1 :])


@data("Gather")
def gather_1_data(call: Call) -> tuple[Element, ...] | None:
    """Return the elements at the indices, or None if the data, or the number of indices, is unknown.

    Elements at an index that is unknown or symbolic are None.
    """
    constant = call.constant(0)
    indices = call.elements(1)
    if constant is None or indices is None:
        return None
    axis = call.attribute("axis") % len(constant.dims)
    size = constant.dims[axis]
    inner = math.prod(constant.dims[axis + 1 :])
    result: list[Element] = []
    for outer in range(math.prod(constant.dims[:axis])):
        for index in indices:
            if isinstance(index, int):
                first = (outer * size + index % size) * inner
                result.extend(constant.values[first : first + inner])
            else:
                result.extend([None] * inner)
    return tuple(result)


def _check_element_indices(call: Call, least: int | None = None) -> None:
    """Raise Violation if the attribute `axis` (C1), the indices' shape (C2) or an index (C3) does not fit the data.

    An unknown shape or index is not checked. `least` is the lowest legal index; None stands for minus the size of the
    data along the axis.
    """
    shape, indices = call.shape(0), call.shape(1)
    rank = call.rank(1) if shape is None else len(shape)
    if rank is None:
        return
    axis = call.axis(call.attribute("axis"), rank, "C1")  # the rank may be that of the indices alone
    if shape is None:
        return
    if indices is not None:
        check_indices_shape(shape, indices, axis)
    _check_range(shape[axis], "C3", call.elements(1) or (), least)


@infer("GatherElements")
def gather_elements_11(call: Call) -> Shape:
    """Return the shape of the indices; if it is unknown, a size of None for each axis of the data.

    Raises Unknown if neither rank is known. Raises Violation with one of these labels:

    - C1 if the axis does not fit the data;
    - C2 if the shape of the indices does not fit the data;
    - C3 if an index is out of range.
    """
    _check_element_indices(call)
    indices = call.shape(1)
    if indices is not None:
        return indices
    rank = call.rank(0)
    if rank is None:
        raise Unknown("the rank of neither data nor indices is known")
    return (None,) * rank


def _element_offsets(call: Call, shape: Sequence[int]) -> list[int] | None:
    """Return the row-major offset in the data of the element that each index in the second input selects.

    With the attribute `axis` 1, the index 5 at [0, 2] selects the element at [0, 5]. A negative index counts from the
    end. The result is None if an index is unknown or symbolic. `shape` is the shape of the data.
    """
    indices = call.constant(1)
    numbers = _known_integers(call.elements(1))
    if indices is None or numbers is None:
        return None
    axis = call.attribute("axis") % len(shape)
    strides = strides_of(shape)
    lines = offsets_of(indices.dims, [0 if number == axis else stride for number, stride in enumerate(strides)])
    return [offset + index % shape[axis] * strides[axis] for offset, index in zip(lines, numbers, strict=True)]


@data("GatherElements")
def gather_elements_11_data(call: Call) -> tuple[Element, ...] | None:
    """Return the element at each index, or None if the data or an index is unknown."""
    constant = call.constant(0)
    offsets = _element_offsets(call, constant.dims) if constant is not None else None
    return None if constant is None or offsets is None else tuple(constant.values[offset] for offset in offsets)


@infer("GatherND")
def gather_nd_11(call: Call) -> Shape:
    """Return the shape of GatherND's output: the leading sizes of the indices, then the sizes of one slice of data.

    The last size of the indices is left out: it is the length of an index tuple.

    Raises:
        Unknown: The rank of an input is unknown, or the length of an index tuple is unknown. An unknown length counts
            as 1 if the data has at most one axis behind the batch axes.
        Violation: C2 if the batch axes of the data and the indices differ in size. C4 if an index is out of range.
    """
    shape = call.shape(0)
    indices = call.shape(1)
    batch = call.attribute("batch_dims") or 0
    if shape is None or indices is None:
        raise Unknown(f"the rank of {call.parameter(0 if shape is None else 1)} is not known")
    length = indices[-1]
    if not isinstance(length, int):
        if len(shape) - batch > 1:
            raise Unknown("the length of index tuples is not known")
        length = 1
    result = shape_of_slices(shape, indices, batch, length)
    tuples = _known_integers(call.elements(1)) or []
    for axis in range(length):
        _check_range(shape[batch + axis], "C4", tuples[axis::length])
    return result


@data("GatherND")
def gather_nd_11_data(call: Call) -> tuple[Element, ...] | None:
    """Return the elements of the slices at the index tuples in row-major order; None if data or an index is unknown."""
    constant = call.constant(0)
    indices = call.constant(1)
    numbers = _known_integers(call.elements(1))
    if constant is None or indices is None or numbers is None:
        return None
    batch = call.attribute("batch_dims") or 0
    length = indices.dims[-1]
    shape = constant.dims[batch:]
    tuples = math.prod(indices.dims[batch:-1])
    inner = math.prod(shape[length:])
    result: list[Element] = []
    for number, first in enumerate(_tuple_offsets(shape, numbers, length)):
        start = number // tuples * math.prod(shape) + first
        result.extend(constant.values[start : start + inner])
    return tuple(result)


def _tuple_offsets(shape: Sequence[int], numbers: Sequence[int], length: int) -> list[int]:
    """Return the row-major offset at which the slice of each index tuple begins in data of this shape.

    `numbers` has the tuples one after another, each of `length` numbers; a negative number counts from the end. Raises
    ValueError for a length of 0.
    """
    strides = strides_of(shape)
    firsts = range(0, len(numbers), length)
    return [sum(numbers[first + axis] % shape[axis] * strides[axis] for axis in range(length)) for first in firsts]


@infer("Compress")
def compress_9(call: Call) -> Shape:
    """Return the input's shape in which the size of `axis` is the number of slices that the condition selects.

    Without `axis`, return (number of selected elements,). The condition is the second input; if it is unknown, the
    number is None. Raises Unknown if `axis` is stated and the rank is unknown.
    """
    axis = call.attribute("axis")
    truths = call.elements(1)
    count = None if truths is None or None in truths else sum(bool(truth) for truth in truths)
    if axis is None:
        return (count,)
    shape = call.require_shape(0)
    axis %= len(shape)
    return (*shape[:axis], count, *shape[axis + 1 :])


@data("Compress")
def compress_9_data(call: Call) -> tuple[Element, ...] | None:
    """Return the elements that the condition selects: slices along `axis`, or without `axis` single elements.

    The result is None if an input is unknown.
    """
    constant = call.constant(0)
    truths = call.elements(1)
    axis = call.attribute("axis")
    if constant is None or truths is None or None in truths:
        return None
    shape = (len(constant.values),) if axis is None else constant.dims
    axis = (axis or 0) % len(shape)
    inner = math.prod(shape[axis + 1 :])
    chosen = [offset for offset, truth in enumerate(truths) if truth]
    firsts = [(outer * shape[axis] + offset) * inner for outer in range(math.prod(shape[:axis])) for offset in chosen]
    return tuple(element for first in firsts for element in constant.values[first : first + inner])


def _nonzero_flags(call: Call) -> list[bool] | None:
    """Return a list that says for each element of the first input whether it is nonzero.

    The result is None if one of the elements is unknown, or if a symbolic element may be 0. The list is empty if no
    elements are known at all (`call.elements(0)` is None).
    """
    flags = []
    for element in call.elements(0) or ():
        is_zero = equal(element, 0) if isinstance(element, Dim) else not element
        if element is None or is_zero is None:
            return None
        flags.append(not is_zero)
    return flags


@infer("NonZero")
def non_zero_9(call: Call) -> Shape:
    """Return (rank of the input, number of its elements that are not zero); each is None if unknown."""
    shape = call.shape(0)
    count: int | None = None
    if shape is not None and 0 in shape:
        count = 0
    elif call.elements(0) is not None:
        truths = _nonzero_flags(call)
        count = None if truths is None else sum(truths)
    return (None if shape is None else len(shape), count)


@data("NonZero")
def non_zero_9_data(call: Call) -> tuple[Element, ...] | None:
    """Return the coordinates of the elements that are not zero, or None if the elements are unknown.

    All coordinates along axis 0 come first, then all along axis 1, and so on.
    """
    constant = call.constant(0)
    truths = _nonzero_flags(call)
    if constant is None or truths is None:
        return None
    offsets = [offset for offset, truth in enumerate(truths) if truth]
    rows = zip(constant.dims, strides_of(constant.dims), strict=True)
    return tuple(offset // stride % size for size, stride in rows for offset in offsets)


# Writing

_REDUCTIONS: dict[str, Any] = {"add": operator.add, "mul": operator.mul, "max": (maximum, max), "min": (minimum, min)}


@infer("Scatter", "ScatterElements")
def scatter_9(call: Call) -> Shape:
    """Return the output shape of Scatter and ScatterElements, which is the shape of the data.

    If the rank of the data is unknown, indices or updates give the rank, and each size is None. Raises Unknown if no
    rank is known. Raises Violation with one of these labels:

    - C1 if the axis does not fit the data;
    - C2 if the shape of the indices does not fit the data;
    - C3 if an index is out of range, or is negative before version 11.
    """
    # Before version 11 no index is negative.
    _check_element_indices(call, 0 if call.version < 11 else None)
    indices, updates = call.shape(1), call.shape(2)
    shape = call.shape(0)
    ranks = [len(known) for known in (shape, indices, updates) if known is not None]
    if not ranks:
        raise Unknown("the rank of data is not known")
    return shape if shape is not None else (None,) * ranks[0]


@data("Scatter", "ScatterElements")
def scatter_9_data(call: Call) -> tuple[Element, ...] | None:
    """Return the data's elements after updates were written to the indices; an unknown element is None.

    If the attribute `reduction` is not "none", updates are combined with the elements; the results are unknown for
    floats. The result is None if a size of the data, or an index, is unknown or symbolic. Raises Unknown if the rank of
    the data is unknown.
    """
    shape = _known_integers(call.require_shape(0))
    offsets = _element_offsets(call, shape) if shape is not None else None
    return None if shape is None or offsets is None else _write_updates(call, math.prod(shape), offsets)


@infer("ScatterND")
def scatter_nd_11(call: Call) -> Shape:
    """Return the output shape of ScatterND, which is the shape of the data.

    If the rank of the data is unknown, it is taken from indices and updates: indices of shape [5, 2] and updates of
    shape [5, 7] give [None, None, 7]. Raises Unknown if indices and updates do not show the rank either. Raises
    Violation C2 if the shape of the updates does not fit, C3 if an index is out of range.
    """
    shape, indices, updates = call.shape(0), call.shape(1), call.shape(2)
    length = indices[-1] if indices is not None else None
    if indices is None or updates is None or not isinstance(length, int):
        return call.require_shape(0)
    before = len(indices) - 1
    if shape is None:
        if len(updates) < before or length > MAX_RANK:
            raise Unknown("the rank of data is not known")
        return ((None,) * length) + tuple(updates[before:])
    check_updates_shape(shape, indices, length, updates)
    tuples = _known_integers(call.elements(1)) or []
    for axis in range(length):
        _check_range(shape[axis], "C3", tuples[axis::length])
    return shape


@data("ScatterND")
def scatter_nd_11_data(call: Call) -> tuple[Element, ...] | None:
    """Return the data's elements after updates were written to slices; an unknown element is None.

    If the attribute `reduction` is not "none", updates are combined with the elements; the results are unknown for
    floats. The result is None if a size of the data or an index is unknown, or if index tuples have the length 0.
    Raises Unknown if the rank of the data is unknown.
    """
    shape = _known_integers(call.require_shape(0))
    indices = call.constant(1)
    numbers = _known_integers(call.elements(1))
    if shape is None or indices is None or numbers is None or not indices.dims[-1]:
        return None
    inner = math.prod(shape[indices.dims[-1] :])
    firsts = _tuple_offsets(shape, numbers, indices.dims[-1])
    return _write_updates(call, math.prod(shape), [first + offset for first in firsts for offset in range(inner)])


def _write_updates(call: Call, count: int, offsets: Sequence[int]) -> tuple[Element, ...] | None:
    """Return the data's `count` elements with the updates written at `offsets`; an unknown element is None.

    If the attribute `reduction` is "none", an update replaces the element, and an element with several different
    updates becomes None. For any other reduction, an update is combined with the element. Data or updates of which
    nothing is known count as elements of None.

    Returns None if the data does not have `count` elements, or if the number of updates is not the number of offsets.
    """
    result = list(call.elements(0) or (None,) * count)
    updates = call.elements(2) or (None,) * len(offsets)
    name = call.attribute("reduction") or "none"
    type_ = call.dtype(0)
    if len(result) != count or len(updates) != len(offsets):
        return None
    done: set[int] = set()
    for offset, update in zip(offsets, updates, strict=True):
        if name != "none":
            result[offset] = round_to_type(apply_to_elements(_combination(name), result[offset], update), type_)
        elif result[offset] != update:
            result[offset] = None if offset in done else update
        done.add(offset)
    return tuple(result)


def _combination(name: str) -> Any:
    """Return the function that combines an element and an update by the reduction `name`: "add", "mul", "max", "min".

    The function returns None if one of the two is a float. It raises KeyError if `name` is none of these.
    """

    def combine(element: Any, update: Any) -> Element:
        """Return the element combined with the update, or None for floats."""
        if isinstance(element, float) or isinstance(update, float):
            return None
        function = _REDUCTIONS[name]
        if isinstance(function, tuple):
            function = function[0 if isinstance(element, Dim) or isinstance(update, Dim) else 1]
        result: Element = function(element, update)
        return result

    return combine


# Classes


@infer("OneHot")
def one_hot_9(call: Call) -> Shape:
    """Return the shape of the indices with a new axis at the place `axis`, an attribute.

    The size of the new axis is the input `depth`, or None if it is unknown. Raises Unknown if the rank of the indices
    is unknown.
    """
    depth = call.element(1)
    if isinstance(depth, float):
        depth = int(depth) if math.isfinite(depth) else None
    size = depth if isinstance(depth, int | Dim) else None
    shape = call.require_shape(0)
    axis = call.attribute("axis") % (len(shape) + 1)
    return (*shape[:axis], size, *shape[axis:])


# Order


@infer("TopK")
def top_k_1(call: Call) -> list[Shape]:
    """Return the shape of X in which `axis` has the size k, twice: for the values and for the indices.

    The size is None if k is unknown. In version 1, k is an attribute; Violation without the label of a constraint is
    raised if it is absent. In later versions, k is the second input. Raises Unknown if the rank of X is unknown.
    """
    k = required_attribute(call, "k") if call.version == 1 else call.element(1)
    size = k if isinstance(k, int | Dim) else None
    shape = call.require_shape(0)
    axis = call.attribute("axis") % len(shape)
    chosen = (*shape[:axis], size, *shape[axis + 1 :])
    return [chosen, chosen]


@infer("Unique")
def unique_11(call: Call) -> list[Shape | None]:
    """Return the shapes of the outputs Y, indices, inverse_indices and counts.

    The node keeps each different item of X once. With the attribute `axis`, the items are slices along this axis, else
    elements. The size of inverse_indices is the number of items in X, None if unknown.

    The size of indices and counts is the number of different items, and so is the size of Y along `axis`. This number
    is known only if X has no item, or a single one; otherwise, it is None. With `axis`, an unknown rank of X makes the
    shape of Y None, and the reason is added to `call.doubts`.
    """
    shape = call.shape(0)
    axis = call.attribute("axis")
    if shape is not None and axis is not None:
        axis %= len(shape)
    size: Size | None = None
    if shape is not None:
        size = product_if_known(shape) if axis is None else shape[axis]
    count = size if size in (0, 1) else None
    if shape is None and axis is not None:
        call.doubt("the rank of X is not known")
        return [None, (count,), (size,), (count,)]
    values = (count,) if shape is None or axis is None else (*shape[:axis], count, *shape[axis + 1 :])
    return [values, (count,), (size,), (count,)]
