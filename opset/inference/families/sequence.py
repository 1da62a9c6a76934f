"""Types of sequences and optional values; a size in a sequence's type is known only if all tensors share it."""

from __future__ import annotations

from typing import Any

from opset.inference.building.agreement import dtype_of_attribute
from opset.inference.building.call import Call
from opset.inference.building.dimensions import Size, at_most, equal
from opset.inference.building.shapes import complete_parts
from opset.inference.building.types import (
    Type,
    element_of,
    is_rankless,
    join_types,
    optional,
    sequence,
    tensor,
    type_from_proto,
)
from opset.inference.registration import data, infer
from opset.schemas.constraints.violation import Violation


def _type_of_tensors(call: Call) -> Type | None:
    """Return the type that all tensors in the first input, a sequence, have in common; None if it is unknown."""
    type_ = call.type(0)
    return type_.inner if type_ is not None and type_.kind == "seq" else None


@infer("SequenceConstruct")
def sequence_construct_11(call: Call) -> Type:
    """Return the type of a sequence of the inputs: a size in which the inputs differ is unknown.

    The rank is unknown if the inputs differ in it, or if the type of an input is unknown. The reason is then added to
    `call.doubts`. If the type of an input is unknown, the element type is that of the first input of known type.
    """
    types = [call.type(index) for index in range(call.input_count)]
    inner = types[0] if types else None
    for type_ in types[1:]:
        inner = join_types(inner, type_)
    if inner is None:  # one of the types is not known
        inner = tensor(next((element_of(type_) for type_ in types if type_ is not None), None))
    if inner.shape is None:
        call.doubt("the tensors differ in rank, or that of one is not known")
    return sequence(inner)


@infer("SequenceEmpty")
def sequence_empty_11(call: Call) -> Type:
    """Return the type of a sequence of tensors of the element type `dtype`, by default float."""
    return sequence(tensor(dtype_of_attribute(call, "dtype") or "float"))


@infer("SequenceAt")
def sequence_at_11(call: Call) -> Type | None:
    """Return the type that all tensors of the sequence have in common, or None if it is unknown.

    If the rank is unknown, the reason is added to `call.doubts`.
    """
    inner = _type_of_tensors(call)
    if inner is None or inner.shape is None:
        call.doubt("the rank of the tensors is not known")
    return inner


@infer("SequenceInsert")
def sequence_insert_11(call: Call) -> Type:
    """Return the type of the sequence with the new tensor in it; sizes in which its tensors differ are unknown.

    If the rank is unknown, the reason is added to `call.doubts`. Raises Violation C2 if the element types differ.
    """
    inner = _type_of_tensors(call)
    element = call.dtype(1)
    if inner is not None and None not in (inner.element, element) and inner.element != element:
        raise Violation("C2", f"a tensor of {element} does not go into a sequence of {inner.element}")
    both = join_types(inner, call.type(1))
    if both is None or both.shape is None:
        call.doubt("the tensors differ in rank, or that of one is not known")
    return sequence(both or tensor(element or element_of(inner)))


@infer("ConcatFromSequence")
def concat_from_sequence_11(call: Call) -> Type:
    """Return the type of the tensor that joins all tensors of a sequence along `axis`; the size of this axis is None.

    If the attribute `new_axis` is 1, the tensors are stacked along a new axis. If the rank of the tensors is unknown,
    the shape of the result is unknown, and the reason is added to `call.doubts`. Raises Violation C3 if `axis` is out
    of range.
    """
    stacked, axis = call.attribute("new_axis"), call.attribute("axis")
    inner = _type_of_tensors(call)
    if inner is None or inner.shape is None:
        call.doubt("the rank of the tensors is not known")
        return tensor(element_of(inner))
    shape = inner.shape
    if axis is None:
        return tensor(element_of(inner), (None,) * (len(shape) + stacked))
    axis = call.axis(axis, len(shape) + stacked, "C3")
    return tensor(element_of(inner), (*shape[:axis], None, *shape[axis + 1 - stacked :]))


@infer("SplitToSequence")
def split_to_sequence_11(call: Call) -> Type:
    """Return the type of a sequence of the parts into which the input is split along `axis`.

    Without the input `split`, each part has one element along `axis`, and the axis is removed if `keepdims` is 0. With
    `split`, the size along `axis` is None if the parts differ in it, or if it is unknown. If the rank of the input is
    unknown, the reason is added to `call.doubts`. Raises Violation C3 if the sizes in `split` do not add up to the
    input's.
    """
    lengths = call.shape(1)
    shape = call.shape(0)
    size: Size | None = None
    axis = 0
    if shape is not None:
        axis = call.attribute("axis") % len(shape)
        size = shape[axis]
    if not call.has(1) or lengths == ():
        part = _size_of_equal_parts(call, size)
    else:
        part = _size_of_given_parts(call, size)
    if shape is None:
        call.doubt("the rank of input is not known")
        return sequence(tensor(call.dtype(0)))
    dropped = not call.has(1) and call.attribute("keepdims") == 0
    return sequence(tensor(call.dtype(0), (*shape[:axis], *([part] * (not dropped)), *shape[axis + 1 :])))


def _size_of_equal_parts(call: Call, size: Size | None) -> Size | None:
    """Return the size of each part into which SplitToSequence splits a dimension, or None if the sizes may differ.

    `size` is the size of the dimension, None if unknown. The size of a part is the scalar input `split`, or 1 without
    it. A dimension that is certainly not larger than `split` makes one part. The result is None if the last part may be
    smaller, or if `split` is unknown.
    """
    step = (call.sizes(1) or (None,))[0] if call.has(1) else 1
    if step is None or step == 1:
        return step
    if size is None:
        return None
    if at_most(size, step):
        return size  # one part, or none of 0
    return step if equal(size % step, 0) else None


def _size_of_given_parts(call: Call, size: Size | None) -> Size | None:
    """Return the size that all parts of a dimension have, or None if they differ or it is unknown.

    The sizes of the parts are the elements of SplitToSequence's second input. `size` is the size of the whole
    dimension, None if unknown. Raises Violation C3 if a part is negative, or if the parts certainly do not add up to
    `size`.
    """
    parts = call.sizes(1)
    if parts is None:
        return None
    parts = tuple(complete_parts(parts, size, "C3"))
    if len(parts) == 1:
        return parts[0] if size is None else size
    return parts[0] if len(set(parts)) == 1 else None


@infer("Optional")
def optional_15(call: Call) -> Type:
    """Return the type of an optional that holds the input.

    Without an input, the attribute `type` says what the optional holds. A size in `type` that is a name, such as "N",
    counts as unknown.
    """
    if call.has(0):
        return optional(call.type(0))

    def size_if_number(dim: Any) -> Size | None:
        """Return a Dimension's number, or None for a name or a negative number."""
        number: int = dim.dim_value
        return number if dim.HasField("dim_value") and number >= 0 else None

    return optional(type_from_proto(call.attribute("type"), size_if_number))


@infer("OptionalGetElement")
def optional_get_element_15(call: Call) -> Type | None:
    """Return the type inside an optional input; the type of any other input is returned unchanged.

    The result is None if it is unknown. If the type or its rank is unknown, the reason is added to `call.doubts`.
    """
    type_ = call.type(0)
    inner = type_.inner if type_ is not None and type_.kind == "optional" else type_
    if is_rankless(inner):
        call.doubt("the type inside the optional value is not known")
    return inner


@data("OptionalGetElement")
def optional_get_element_15_data(call: Call) -> object:
    """Return the elements of the input, which are the output's, or None if they are unknown."""
    return call.elements(0)


@data("OptionalHasElement")
def optional_has_element_15_data(call: Call) -> object:
    """Return (True,) if the input holds a value, (False,) if it is absent, None if that is unknown."""
    type_ = call.type(0)
    if not call.has(0):
        return (False,)
    return (True,) if type_ is not None and type_.kind != "optional" else None
