"""Elements of small tensors, some of which may be symbolic sizes or unknown: selected, broadcast, computed with."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import Any

from opset.inference.building.call import Call, Constant, Element
from opset.inference.building.dimensions import Dim, Size, TooComplex
from opset.inference.building.work import charge
from opset.inference.limits import MAX_DATA

ElementFunction = Callable[..., Element]


def strides_of(shape: Sequence[int]) -> list[int]:
    """Return the strides of a tensor in row-major order: for each axis, the distance in elements between neighbors."""
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


def offsets_of(shape: Iterable[int], strides: Iterable[int]) -> list[int]:
    """Return the offset of each element of a tensor, in row-major order.

    `shape` has the size of each axis, `strides` the distance between two neighbors along it. The shape [2, 3] and the
    strides [0, 1] give [0, 1, 2, 0, 1, 2].
    """
    offsets = [0]
    charge(prod(shape))
    for size, stride in zip(shape, strides, strict=True):
        offsets = [offset + stride * number for offset in offsets for number in range(size)]
    return offsets


def broadcast_elements(data: Constant, shape: tuple[int, ...]) -> list[Element]:
    """Return the elements of a tensor broadcast to `shape`, in row-major order.

    The tensor's own shape must broadcast to `shape`, which is not checked.
    """
    if data.dims == shape:
        return list(data.values)
    padded = (1,) * (len(shape) - len(data.dims)) + data.dims
    strides = [0 if size == 1 else stride for size, stride in zip(padded, strides_of(padded), strict=True)]
    return [data.values[offset] for offset in offsets_of(shape, strides)]


def broadcast_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the shape to which shapes broadcast, () for no shapes.

    Shapes that do not fit together raise nothing: of the sizes along an axis, the first that is not 1 is taken.
    """
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return tuple(next((size for size in sizes if size != 1), 1) for sizes in zip(*padded, strict=True))


def pick_elements(
    data: Constant, positions: Mapping[int, Sequence[int]], order: Sequence[int] | None = None, fill: Element = None
) -> tuple[Element, ...] | None:
    """Return the elements at the given positions along axes, in row-major order of the result.

    The result is None if there would be more than MAX_DATA elements.

    Args:
        data: the tensor.
        positions: the positions by axis, both counted from 0: {1: [0, 2]} takes two columns. Along an axis without
            positions, all elements are taken.
        order: the axes of the data in the order in which the result has them; by default, the order is unchanged.
        fill: the element for positions outside of the tensor, also negative ones.
    """
    chosen = [positions.get(axis, range(size)) for axis, size in enumerate(data.dims)]
    count = prod(map(len, chosen))
    if count > MAX_DATA:
        return None
    if not count:
        return ()
    charge(count)
    strides = strides_of(data.dims)
    offsets: list[int | None] = [0]
    for axis in range(len(data.dims)) if order is None else order:
        stride = strides[axis]
        size = data.dims[axis]
        offsets = [
            None if offset is None or not 0 <= position < size else offset + stride * position
            for offset in offsets
            for position in chosen[axis]
        ]
    return tuple([fill if offset is None else data.values[offset] for offset in offsets])


def map_elements(call: Call, function: ElementFunction) -> tuple[Element, ...] | None:
    """Return `function` applied to the elements of all inputs of a node, broadcast together, in row-major order.

    The result is None if the elements of an input are unknown, or if there are no inputs. One element of the result is
    None if one of its operands is unknown, or if `function` raises an error of arithmetic, types or values.
    """
    constants = [call.constant(index) for index in range(call.input_count)]
    if any(data is None for data in constants) or not constants:
        return None
    known = [data for data in constants if data is not None]
    shape = broadcast_shape([data.dims for data in known])
    charge(prod(shape) * len(known))
    columns = [broadcast_elements(data, shape) for data in known]
    return tuple(apply_to_elements(function, *row) for row in zip(*columns, strict=True))


def apply_to_elements(function: ElementFunction, *elements: Element) -> Element:
    """Return `function(*elements)`, or None if an element is None, which means unknown.

    The result is also None if the function returns None or raises TooComplex, ArithmeticError, TypeError or ValueError.
    """
    if any(element is None for element in elements):
        return None
    try:
        return function(*elements)
    except (TooComplex, ArithmeticError, TypeError, ValueError):
        return None


def map_and_round(function: ElementFunction, call: Call) -> tuple[Element, ...] | None:
    """Return the result of `map_elements`, with each element rounded to the element type of the first input.

    An element that this type cannot hold is None. The whole result is None if `map_elements` has none.
    """
    results = map_elements(call, function)
    if results is None:
        return None
    type_ = call.dtype(0)
    return tuple(apply_to_elements(lambda element: round_to_type(element, type_), result) for result in results)


def round_to_type(element: Element, type_: str | None) -> Element:
    """Return a number as a value of an element type such as "float16"; integer types cut off the fraction.

    The result is None if the number is None or text, or does not fit. It is also None for a type other than integers of
    8 to 64 bits, float, float16, double and bool. A symbolic size is returned unchanged.
    """
    if isinstance(element, Dim) or element is None:
        return element
    if isinstance(element, str | bytes):
        return None
    if type_ in _BITS:
        signed, bits = _BITS[type_]
        low, high = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)
        return int(element) if low <= element < high else None
    try:
        if type_ == "float":
            return round_to_single(element)
        if type_ == "float16":
            return float(struct.unpack("<e", struct.pack("<e", float(element)))[0])
    except OverflowError:
        return None
    if type_ == "double":
        return float(element)
    return bool(element) if type_ == "bool" else None


def round_to_single(number: float) -> float:
    """Return a number rounded to single precision. Raises OverflowError if it is too large."""
    return float(struct.unpack("<f", struct.pack("<f", number))[0])


def as_size(number: Any) -> Size:
    """Return a whole number as an int, such as 2 for 2.0, or a symbolic size unchanged.

    Raises ValueError for a fraction or NaN, OverflowError for infinity.
    """
    if isinstance(number, Dim):
        return number
    if number != int(number):
        raise ValueError("a fraction")
    return int(number)


def extreme_element(symbolic: ElementFunction, plain: ElementFunction, elements: Sequence[Any]) -> Element:
    """Return the largest or smallest element, or None if there are no elements or one is NaN.

    Args:
        symbolic: the function of sizes, `maximum` or `minimum`, which is used if an element is symbolic.
        plain: the same function of a list of numbers, `max` or `min`.
        elements: the elements, all of them known.

    Raises:
        ValueError: a fraction or NaN is beside a symbolic size.
        OverflowError: infinity is beside a symbolic size.
        TooComplex: the symbolic result is too large.
    """
    if any(isinstance(element, Dim) for element in elements):
        return symbolic(*map(as_size, elements))
    if not elements or any(element != element for element in elements):
        return None
    return plain(elements)


_BITS = {f"{'u' * (not signed)}int{bits}": (signed, bits) for signed in (True, False) for bits in (8, 16, 32, 64)}
