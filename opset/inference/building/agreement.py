"""Constraints between inputs and attributes, which are checked, and which complete unknown shapes of inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from opset.inference.building.call import Call, Element, Unknown
from opset.inference.building.dimensions import Dim, Size, apply_to_sizes, at_most, equal, less, lower_bound
from opset.inference.building.types import Shape, shape_text
from opset.inference.building.work import CHECK_STEPS, charge
from opset.model.elements import element_name
from opset.schemas.constraints.evaluation import Algebra
from opset.schemas.constraints.input_shapes import Match, plan_of
from opset.schemas.constraints.signature import check_constraints
from opset.schemas.constraints.violation import Violation


def certainly_differ(left: Shape, right: Shape) -> bool:
    """Whether two shapes differ in rank, or in a size for all values of its variables; False if that is not certain."""
    return len(left) != len(right) or any(equal(a, b) is False for a, b in zip(left, right, strict=True))


def unify_shape(call: Call, index: int, expected: Shape, label: str) -> Shape:
    """Return the shape `expected`, made more precise by the shape of the input at `index`, which must equal it.

    Numbers of the input replace symbolic and unknown (None) sizes of `expected`, and symbolic sizes replace unknown
    ones. If the input's rank is unknown, `expected` is returned as it is. Raises Violation with the constraint `label`,
    such as "C1", if the shapes certainly differ.
    """
    shape = call.shape(index)
    if shape is None:
        return expected
    if certainly_differ(shape, expected):
        raise Violation(label, f"shape({call.parameter(index)}) = {shape_text(shape)} for {shape_text(expected)}")
    return tuple(call.same(want, size, label) for want, size in zip(expected, shape, strict=True))


def common_shape(call: Call, indices: Iterable[int], label: str, shape: Shape | None = None) -> Shape | None:
    """Return the one shape that the inputs at `indices` must all have, with the most precise sizes of all.

    If `shape` is given, they must have this shape, too. An input that is absent or of unknown rank is ignored. The
    result is None if no shape is known. Raises Violation with the constraint `label`, such as "C1", if shapes certainly
    differ.
    """
    for index in indices:
        shape = call.shape(index) if shape is None else unify_shape(call, index, shape, label)
    return shape


def complete_broadcast_target(call: Call, index: int, onto: Shape, label: str) -> Shape:
    """Return the shape `onto` with sizes filled in from the input at `index`, which must broadcast to it.

    A size of the input that is certainly not 1 replaces an unknown size (None) in `onto`. If it is a number, it
    replaces a symbolic size, too. If the input's rank is unknown, `onto` is returned as it is. Raises Violation with
    the constraint `label`, such as "C1", if the input certainly cannot be broadcast to `onto`.
    """
    shape = call.shape(index)
    if shape is None:
        return onto
    start = len(onto) - len(shape)
    fits = start >= 0
    result = list(onto)
    if fits:
        for axis, size in enumerate(shape):
            want = onto[start + axis]
            if equal(size, 1) is False:
                fits = fits and equal(size, want) is not False
                result[start + axis] = size if want is None or isinstance(size, int) else want
    if not fits:
        said = f"shape({call.parameter(index)}) = {shape_text(shape)}, which does not broadcast to {shape_text(onto)}"
        raise Violation(label, said)
    return tuple(result)


def has_one_element(shape: Shape | None) -> bool | None:
    """Return whether a tensor of this shape has exactly one element.

    The result is None if this depends on variables or unknown sizes, or if the rank is unknown (`shape` is None).
    """
    if shape is None:
        return None
    ones = [equal(size, 1) for size in shape]
    if False in ones:
        return False
    return None if None in ones else True


def element_as_size(call: Call, index: int) -> Size | None:
    """Return the first element of an integer input as a size, symbolic or an int.

    The result is None if the element is unknown, the input is absent or empty, or the element is no integer.
    """
    element = call.element(index)
    return element if isinstance(element, int | Dim) else None


def can_output(call: Call, element: str | None) -> bool:
    """Whether the schema allows the first output to be, or to contain, tensors of the element type `element`.

    The result is False if `element` is None, which means unknown.
    """
    return any(f"tensor({element})" in text for text in call.schema.allowed_types(call.schema.outputs[0]))


def dtype_of_attribute(call: Call, attribute: str) -> str | None:
    """Return the element type, such as "float", that an attribute such as `to` names.

    The value is a number of TensorProto.DataType, or a word such as "FLOAT" in version 1 of Cast. The result is None if
    the attribute is absent, or the number is 0 or unknown.
    """
    number = call.attribute(attribute)
    if isinstance(number, str):  # as version 1 of Cast spells it
        return number.lower()
    return None if number is None else element_name(number)


SIZES = Algebra(equal, at_most, less, apply_to_sizes, Dim)


def check_declared_constraints(call: Call) -> None:
    """Raise Violation if a node certainly breaks a constraint that its operator's YAML declares for its inputs.

    If it breaks none, `call` stores what follows from the constraints: `call.shape` then returns more precise shapes of
    inputs. `call.size` and `call.run` return the sizes that names in declared shapes, such as "N", stand for.
    """
    plan = plan_of(call.schema)
    if plan is None:
        return
    values = {name: attribute_if_known(call, name) for name in plan.attributes}
    charge(CHECK_STEPS * sum([len(value) for value in values.values() if isinstance(value, tuple)]))
    check_constraints(call.schema, values, [call.rank(index) for index in range(call.input_count)])
    if not plan.checks:
        return
    shapes = [call.shape(index) for index in range(call.input_count)]

    def elements_to_check(index: int) -> tuple[Element, ...] | None:
        """Return the elements of an input, None if unknown, and charge the budget for checking them."""
        elements = call.elements(index)
        charge(CHECK_STEPS * len(elements or ()))
        return elements

    call.match = match = Match(plan, shapes, values.get, elements_to_check, partial(_is_given, call), SIZES)
    match.check()
    for index, shape in enumerate(match.completed_shapes()):
        # Rules rely on shapes in which all sizes are known, if only as variables.
        if shape != shapes[index] and call.has(index) and shape is not None and None not in shape:
            call.complete(index, tuple(shape))


def _is_given(call: Call, name: str) -> bool | None:
    """Return whether a node has the input or attribute called `name`; an empty list counts as absent.

    An absent attribute counts as given if the schema has a default for it. The result is None if the attribute refers
    to an attribute of the enclosing function, whose value is unknown.
    """
    if name in call.schema.attributes:
        try:
            return call.attribute(name) not in (None, ())
        except Unknown:
            return None
    return call.has([formal.name for formal in call.schema.inputs].index(name))


def attribute_if_known(call: Call, name: str) -> Any:
    """Return the value of an attribute, or its default; None if it is unknown.

    The result is None if the attribute is absent and has no default. It is also None if the attribute refers to an
    attribute of the enclosing function, whose value is unknown. Raises WrongAttributeType if the value has another type
    than the schema says.
    """
    try:
        return call.attribute(name)
    except Unknown:
        return None


def required_attribute(call: Call, name: str) -> Any:
    """Return the value of an attribute that has no default.

    Raises Violation without the label of a constraint if the node lacks the attribute, and WrongAttributeType if the
    value has another type than the schema says. Raises Unknown if the attribute refers to an attribute of the enclosing
    function, whose value is unknown.
    """
    value = call.attribute(name)
    if value is None:
        raise Violation("", f"the attribute {name} is missing")
    return value


def is_nonempty(shape: Sequence[Size | None]) -> bool:
    """Whether a tensor of this shape certainly has elements; False if a size is unknown (None) or may be 0."""
    return all(size is not None and (lower_bound(size) or 0) > 0 for size in shape)


def check_averaged_type(call: Call) -> None:
    """Raise Violation C4 if a node would interpolate strings or booleans.

    This is so if the first input has such elements, and the attribute `mode` is not "nearest".
    """
    if call.dtype(0) in ("string", "bool") and call.attribute("mode") != "nearest":
        raise Violation("C4", f"mode '{call.attribute('mode')}' of {call.dtype(0)}")
