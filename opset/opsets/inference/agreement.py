"""What shapes and elements of inputs have to be, and what follows for those that are not known."""

from __future__ import annotations

from opset.opsets.inference.call import Call, Violation, count_of
from opset.opsets.inference.dims import Dim, Size, equal
from opset.opsets.inference.types import Shape, shown
from opset.opsets.values import element_name


def differ(left: Shape, right: Shape) -> bool:
    """Say whether two shapes certainly are not the same."""
    pairs = zip(left, right, strict=False)
    return len(left) != len(right) or any(
        one is not None and other is not None and equal(one, other) is False for one, other in pairs
    )


def agreed(call: Call, place: int, expected: Shape, label: str) -> Shape:
    """Give the shape of an input together with what it has to be, by which each may say what the other does not.

    Of an input that is absent or whose rank is not known it is what was expected. Raises Violation where they differ.
    """
    shape = call.shape(place)
    if shape is None:
        return expected
    if differ(shape, expected):
        raise Violation(label, f"shape({call.parameter(place)}) = {shown(shape)} for {shown(expected)}")
    return tuple(call.same(want, size, label) for want, size in zip(expected, shape, strict=True))


def fitted(call: Call, place: int, onto: Shape, label: str) -> Shape:
    """Give a shape to which an input broadcasts while it stays as it is, with sizes that only the input tells.

    Raises Violation where it certainly does not broadcast so.
    """
    shape = call.shape(place)
    if shape is None:
        return onto
    start = len(onto) - len(shape)
    fits = start >= 0
    result = list(onto)
    for axis, size in enumerate(shape if fits else ()):
        want = onto[start + axis]
        if equal(size, 1) is False:
            fits = fits and (want is None or equal(size, want) is not False)
            result[start + axis] = size if want is None or isinstance(size, int) else want
    if not fits:
        said = f"shape({call.parameter(place)}) = {shown(shape)}, which does not broadcast to {shown(onto)}"
        raise Violation(label, said)
    return tuple(result)


def is_one(shape: Shape | None) -> bool | None:
    """Say whether a tensor of this shape has exactly one element, None where that is not known."""
    count = count_of(shape)
    return None if count is None else equal(count, 1)


def one_element(call: Call, place: int, label: str) -> Size | None:
    """Give the one element of an integer input of any rank, None where it is not known or there is no such input.

    Raises Violation with the label where the input certainly has another number of elements.
    """
    shape, data = call.shape(place), call.data(place)
    if is_one(shape) is False or (data is not None and len(data.elements) != 1):
        raise Violation(label, f"shape({call.parameter(place)}) = {list(shape or (data.shape if data else ()))}")
    element = data.elements[0] if data is not None else None
    return element if isinstance(element, int | Dim) else None


def element_stated(call: Call, attribute: str, label: str) -> str | None:
    """Give the element type that an attribute numbers, None where it is left out or 0.

    Raises Violation with the label where it is no type of the first output.
    """
    number = call.attribute(attribute)
    if not number:
        return None
    element = element_name(number)
    if f"tensor({element})" not in call.schema.allowed(call.schema.outputs[0]):
        raise Violation(label, f"{attribute} {number}")
    return element


def quotient(call: Call, size: Size | None, divisor: int, label: str, what: str) -> Size | None:
    """Give a size divided by a number above 0, by which it has to be divisible: the label is of that constraint."""
    if size is None:
        return None
    if equal(size % divisor, 0) is False:
        raise Violation(label, f"{what} is {size}, no multiple of {divisor}")
    return size // divisor
