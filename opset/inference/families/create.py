"""Types, shapes and elements of constants, ranges and random numbers."""

from __future__ import annotations

import math
from typing import Any

from opset.errors import ModelError
from opset.inference.building.agreement import can_output, dtype_of_attribute, required_attribute
from opset.inference.building.call import Call, Element
from opset.inference.building.dimensions import Dim, Size, TooComplex, ceil_div, maximum
from opset.inference.building.elements import apply_to_elements, round_to_type
from opset.inference.building.types import Shape, Type, tensor
from opset.inference.registration import data, infer
from opset.model.elements import CONSTANT_FORMS, element_name
from opset.model.storage.tensor import tensor_values
from opset.schemas.constraints.violation import Violation

# Constants


def _value_of_constant(call: Call) -> tuple[str, Any]:
    """Return (name, value) of the one attribute that a Constant has.

    Raises Violation if the Constant has no attribute or several. The label of the Violation is "C1",
    or "" before version 11.
    """
    names = [name for name in call.schema.attributes if call.attribute(name) is not None]
    if len(names) != 1:
        forms = ", ".join(call.schema.attributes)
        raise Violation("C1" if call.version >= 11 else "", f"{len(names)} of {forms} are given")
    return names[0], call.attribute(names[0])


@infer("Constant")
def constant_1(call: Call) -> Type:
    """Return the type of the value that a Constant holds; a sparse tensor counts as a dense one.

    Raises Violation C1 if the node has no value or several; before version 11, the Violation has no label.
    """
    name, value = _value_of_constant(call)
    if name in CONSTANT_FORMS:
        return tensor(CONSTANT_FORMS[name], (len(value),) if name.endswith("s") else ())
    elements = value.values if name == "sparse_value" else value
    return tensor(element_name(elements.data_type), value.dims)


@data("Constant")
def constant_1_data(call: Call) -> tuple[Element, ...] | None:
    """Return the numbers in an attribute such as `value_ints` of a Constant, or None if it holds a tensor.

    Floats are rounded to single precision. For strings, each element is None. Raises Violation C1 if the node has no
    value or several; before version 11, the Violation has no label.
    """
    name, value = _value_of_constant(call)
    if name not in CONSTANT_FORMS:
        return None
    return tuple(
        round_to_type(element, CONSTANT_FORMS[name]) for element in (value if name.endswith("s") else (value,))
    )


@infer("ConstantOfShape")
def constant_of_shape_9(call: Call) -> Type:
    """Return the type with the first input's elements as sizes, and the element type of the attribute `value`.

    Without `value`, the element type is float. If the number of sizes is unknown, the shape is None, and the reason is
    added to `call.doubts`. Raises Violation C2 if `value` does not have one element.
    """
    value = call.attribute("value")
    if value is not None and any(size != 1 for size in value.dims):
        raise Violation("C2", f"value has the shape {list(value.dims)}")
    element = "float" if value is None else element_name(value.data_type)
    sizes = call.sizes(0)
    if sizes is None:
        call.doubt("the number of sizes is not known")
    return tensor(element, sizes)


@data("ConstantOfShape")
def constant_of_shape_9_data(call: Call) -> tuple[Element, ...] | None:
    """Return the element of `value`, by default 0.0, once for each element of the output.

    The result is None if a size is unknown or symbolic, or if `value` cannot be read.
    """
    value = call.attribute("value")
    sizes = call.numbers(0)
    if sizes is None:
        return None
    try:
        element = 0.0 if value is None else tensor_values(None, value, 1)[0]
    except ModelError:
        return None
    return (element,) * math.prod(sizes)


# Ranges


@infer("Range")
def range_11(call: Call) -> Shape:
    """Return (length,), the shape of the output of Range, or (None,) if the length is unknown.

    Raises Violation C3 if the length is not finite, C4 if the attribute `stash_type` is not valid for float16 or
    bfloat16. Raises ZeroDivisionError if the length is computed with a `delta` of 0.
    """
    start, limit, delta = map(call.element, range(3))
    stash = call.attribute("stash_type")
    if stash not in (None, 1, 11) and call.dtype(0) in ("float16", "bfloat16"):
        raise Violation("C4", f"stash_type {stash}")
    try:
        return (_range_length(start, limit, delta),)
    except TooComplex:
        return (None,)


def _range_length(start: Any, limit: Any, delta: Any) -> Size | None:
    """Return the length of a range, ceil((limit - start) / delta) and at least 0, or None if it is unknown.

    The length is unknown if an argument is None, or if one is a fraction and another one symbolic. It may be symbolic.
    Raises Violation C3 if the length is not finite, ZeroDivisionError for a `delta` of 0, TooComplex if the length is
    too complex to compute.
    """
    bounds = (start, limit, delta)
    if not all(isinstance(bound, int | float | Dim) for bound in bounds):
        return None
    if any(isinstance(bound, Dim) for bound in bounds):
        if any(isinstance(bound, float) and not bound.is_integer() for bound in bounds):
            return None
        start, limit, delta = (int(bound) if isinstance(bound, float) else bound for bound in bounds)
    elif any(isinstance(bound, float) for bound in bounds):
        exact: float = (limit - start) / delta
        if not math.isfinite(exact):
            raise Violation("C3", f"start {start}, limit {limit}, delta {delta}")
        return max(math.ceil(exact), 0)
    count: Size = ceil_div(limit - start, delta)
    return maximum(count, 0)


@data("Range")
def range_11_data(call: Call) -> tuple[Element, ...] | None:
    """Return the numbers of a range, each rounded to the element type; None if their count is unknown or symbolic.

    A number is None if it is unknown or does not fit the element type.
    """
    start, limit, delta = map(call.element, range(3))
    count = _range_length(start, limit, delta)
    type_ = call.dtype(0)
    wide = type_
    if type_ == "float16":  # computed in a wider type, and then converted
        wide = "double" if call.attribute("stash_type") == 11 else "float"

    def number(index: int, first: Any, step: Any) -> Element:
        """Return the number at `index`, counted from 0, of the range that begins at `first`."""
        if index == 0:
            return round_to_type(first, type_)
        if isinstance(first, Dim) or isinstance(step, Dim):
            first, step = (int(bound) if isinstance(bound, float) else bound for bound in (first, step))
        distance: Any = round_to_type(index * step, wide)
        return round_to_type(round_to_type(first + distance, wide), type_)

    if not isinstance(count, int):
        return None
    return tuple(apply_to_elements(number, index, start, delta) for index in range(count))


# Random numbers, and matrices whose element type is that of `dtype`


def _dtype_of_result(call: Call) -> str | None:
    """Return the element type that the attribute `dtype` names, by default the first input's; None if unknown.

    Raises Violation C2 if `dtype` is absent, and the output cannot have the first input's element type.
    """
    stated = dtype_of_attribute(call, "dtype")
    dtype = call.dtype(0)
    if stated is None and dtype is not None and not can_output(call, dtype):
        raise Violation("C2", f"it is of {dtype}")
    return stated or dtype


@infer("RandomNormal", "RandomUniform")
def random_normal_1(call: Call) -> Type:
    """Return the output type of RandomNormal or RandomUniform, from the attributes `shape` and `dtype`.

    Raises Violation without the label of a constraint if `shape` is absent.
    """
    return tensor(dtype_of_attribute(call, "dtype"), required_attribute(call, "shape"))


@infer("RandomNormalLike", "RandomUniformLike", "Bernoulli")
def random_normal_like_1(call: Call) -> Type:
    """Return the type with the input's shape and the element type `dtype`, by default the input's.

    RandomNormalLike, RandomUniformLike and Bernoulli have this output. If the rank is unknown, the shape is None, and
    the reason is added to `call.doubts`. Raises Violation C2 if `dtype` is absent, and the output cannot have the
    input's element type.
    """
    element = _dtype_of_result(call)
    if call.shape(0) is None:
        call.doubt(f"the rank of {call.parameter(0)} is not known")
    return tensor(element, call.shape(0))


@infer("EyeLike")
def eye_like_9(call: Call) -> Type:
    """Return the type with the input's shape, and the element type `dtype`, by default the input's.

    If the rank is unknown, the shape is (None, None), as the input is a matrix. Raises Violation C2 if `dtype` is
    absent, and the output cannot have the input's element type.
    """
    return tensor(_dtype_of_result(call), call.shape(0) or (None, None))


@infer("Multinomial")
def multinomial_7(call: Call) -> Type:
    """Return the type with the shape (N, sample_size) and the element type that the attribute `dtype` names.

    N is the number of rows of the input, None if it is unknown.
    """
    return tensor(dtype_of_attribute(call, "dtype"), (call.size("N"), call.attribute("sample_size")))
