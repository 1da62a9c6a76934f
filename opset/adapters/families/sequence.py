"""Optional values, which first took no tensors and sequences, and sequences whose elements are known before a run.

Before version 11 there are no sequences: their readers then read the tensors from which the sequences were made.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

from opset.adapters.building.positions import Size, indices_from_front, product, size_name
from opset.adapters.building.shared import need_value, positive_axis, unsqueeze
from opset.errors import safe_text
from opset.model.attributes import attribute_value
from opset.model.types import Shape
from opset.version_converter.registration import down, lower
from opset.version_converter.rewrite import FIX_SIZES, Builder, Node, Refusal, Result, unknown_type

NO_SEQUENCES = "before version 11 there are no sequences"


@down("OptionalHasElement", since=18)
def optional_has_element_18_down(op: Builder, node: Node) -> Result:
    """Replace by a constant if the input is not optional: whether there is an element is known at conversion."""
    if not node.input(0):
        return op.const(False)
    return None if _is_optional(node) else op.const(True)


@down("OptionalGetElement", since=18)
def optional_get_element_18_down(op: Builder, node: Node) -> Result:
    """Replace by the input: a tensor or a sequence is its own element."""
    return None if _is_optional(node) else op.Identity(node.input(0))


def _is_optional(node: Node) -> bool:
    """Whether the first input is an optional; raise Refusal if its type is unknown."""
    kind = node.values.type(node.input(0))
    if kind is None:
        raise unknown_type(node.input(0))
    return kind.startswith("optional(")


@lower("SequenceAt", since=11)
def sequence_at_lowered(op: Builder, node: Node) -> Result:
    """Return the tensor at a known position; at any position, a slice of the tensor that was split into slices."""
    slices = _slices_of(node, node.input(0))
    if slices is not None and (node.constant(1) is None or slices.number is None):
        x, axis, keep, _ = slices
        index = indices_from_front(op, node, 1, [_size_along(op, node, x, axis)])
        return op.Gather(x, op.Reshape(index, op.const([1] if keep else [])), axis=axis)
    if node.values.producer(node.input(0)) is not None:
        node.need_constant(1)  # of a sequence that nothing makes the elements are not known, whatever the position is
    elements = _elements_of(node, node.input(0))
    position = int(need_value(node, 1))
    if not -len(elements) <= position < len(elements):
        raise Refusal("C103", f"the position is {position}, and there are {len(elements)} elements")
    return _take_element(op, elements[position])


@lower("SequenceLength", since=11)
def sequence_length_lowered(op: Builder, node: Node) -> Result:
    """Return the number of elements, which is known, or the size of the tensor that was split into slices."""
    slices = _slices_of(node, node.input(0))
    if slices is not None:
        return size_name(op, _size_along(op, node, slices.x, slices.axis))
    return op.const(len(_elements_of(node, node.input(0))))


@lower("ConcatFromSequence", since=11)
def concat_from_sequence_lowered(op: Builder, node: Node) -> Result:
    """Concatenate the tensors in the sequence, or move the axis along which a tensor was split."""
    slices = _slices_of(node, node.input(0))
    if slices is not None and slices.number is None:
        return _concatenate_slices(op, node, slices)
    elements = _elements_of(node, node.input(0))
    axis = node.attr("axis")
    stacked = node.attr("new_axis")
    if not elements:
        raise Refusal("C103", "the sequence is empty")
    if axis < 0:
        x, split_axis, _, _, keep = elements[0]
        axis = positive_axis(axis, len(_need_shape(node, x)) - (split_axis >= 0 and not keep) + bool(stacked))
    tensors = [_take_element(op, element) for element in elements]
    if stacked:
        tensors = [unsqueeze(op, tensor, [axis]) for tensor in tensors]
    return op.Concat(*tensors, axis=axis) if len(tensors) > 1 else op.Identity(tensors[0])


class _Slices(NamedTuple):
    """A tensor split along an axis into slices of one element, that may keep the axis, and their number if known."""

    x: str
    axis: int
    keep: bool
    number: int | None


def _slices_of(node: Node, name: str) -> _Slices | None:
    """Return the tensor that was split into the slices of a sequence, None for any other sequence."""
    split = node.values.producer(name)
    if split is None or split.op_type != "SplitToSequence" or split.domain not in ("", "ai.onnx"):
        return None
    x, axis, keep = _split_arguments(node, split)
    if len(split.input) > 1 and split.input[1]:
        length = node.values.constant(split.input[1])
        # With a length, the axis is kept; onnxruntime drops it all the same if 'keepdims' is 0.
        if not keep or length is None or length.dims or length.values != (1,):
            return None
    shape = node.values.shape(x)
    count = shape[axis] if shape is not None else None
    return _Slices(x, axis, keep, count if isinstance(count, int) else None)


def _concatenate_slices(op: Builder, node: Node, slices: _Slices) -> str:
    """Return the concatenation of one or more slices of a tensor; raise Refusal C207 if rank or size is not known."""
    x, axis, keep, _ = slices
    to = node.attr("axis")
    stacked = node.attr("new_axis")
    shape = _need_shape(node, x)
    to = positive_axis(to, len(shape) - (not keep) + bool(stacked))
    if keep:
        if to == axis and not stacked:
            return str(op.Identity(x))
        x = unsqueeze(op, x, [axis + 1])
        shape = (*shape[: axis + 1], 1, *shape[axis + 1 :])
    others = [other for other in range(len(shape)) if other != axis]
    size = 1 if stacked else shape[others[to]]
    if size == 1:
        x = _transpose(op, x, [*others[:to], axis, *others[to:]])
        return x if stacked else str(op.Squeeze(x, axes=[to + 1]))
    if not isinstance(size, int) or size < 1:
        why = f"the size of the elements of '{safe_text(node.input(0))}' along axis {to} is not known"
        label = "the size of the elements along the axis is not known"
        raise Refusal(
            "C207", why if size != 0 else "the elements are empty", FIX_SIZES if size != 0 else "", label=label
        )
    # The two axes that become one are the last ones: 0 then means the same axis before and after, whatever its size.
    last = others.pop(to)
    whole = op.Reshape(product(op, [size, _size_along(op, node, slices.x, axis)]), op.const([1]))
    sizes = op.Concat(op.const([0] * len(others)), whole, axis=0) if others else whole
    x = op.Reshape(_transpose(op, x, [*others, axis, last]), sizes)
    order = list(range(len(others)))
    return _transpose(op, x, [*order[:to], len(others), *order[to:]])


def _transpose(op: Builder, x: str, order: list[int]) -> str:
    """Return a value with its axes in an order; it is returned unchanged if its axes have that order."""
    return x if order == sorted(order) else str(op.Transpose(x, perm=order))


Element = tuple[str, int, int, int, bool]
"""A value and its part: an axis, start, end, and whether the axis is kept. Axis -1 stands for the whole value."""


def _elements_of(node: Node, name: str) -> list[Element]:
    """Return the elements of a sequence; raise Refusal C201 or C205 if they are not known."""
    changes: list[Any] = []
    while True:
        node.charge(1)
        maker = node.values.producer(name)
        if maker is None or maker.domain not in ("", "ai.onnx"):
            label = f"{NO_SEQUENCES}, and the elements of one are not known"
            why = f"{NO_SEQUENCES}, and '{safe_text(name)}' is one whose elements are not known"
            raise Refusal("C201", why, label=label)
        if maker.op_type in ("SequenceInsert", "SequenceErase"):
            changes.append(maker)
        elif maker.op_type != "Identity":
            break
        name = _first_input(maker)
    if maker.op_type == "SequenceConstruct":
        elements: list[Element] = [(value, -1, 0, 0, False) for value in maker.input]
    elif maker.op_type == "SequenceEmpty":
        elements = []
    elif maker.op_type == "SplitToSequence":
        elements = _parts_of_split(node, maker)
    else:
        label = f"{NO_SEQUENCES}, and what an operator puts into one is not known"
        why = f"{NO_SEQUENCES}, and what {safe_text(maker.op_type)} puts into one is not known"
        raise Refusal("C201", why, label=label)
    node.charge(len(elements))
    for change in reversed(changes):
        inserted = change.op_type == "SequenceInsert"
        at = 2 if inserted else 1
        position_name = change.input[at] if len(change.input) > at else ""
        position = len(elements) - (not inserted)
        if position_name:
            position = _constant_numbers(node, position_name)[0]
            position += len(elements) if position < 0 else 0
        if not 0 <= position < len(elements) + inserted:
            raise Refusal("C103", f"the position is {position}, and there are {len(elements)} elements")
        elements[position : position + (not inserted)] = [(change.input[1], -1, 0, 0, False)] if inserted else []
    return elements


def _first_input(maker: Any) -> str:
    """Return the first input of the node that makes a sequence; raise Refusal C103 if it is absent."""
    name: str = next(iter(maker.input), "")
    if not name:
        raise Refusal("C103", f"{safe_text(maker.op_type)} has no first input")
    return name


def _parts_of_split(node: Node, split: Any) -> list[Element]:
    """Return the parts of a tensor that SplitToSequence splits; raise Refusal C207 if their number is not known."""
    x, axis, keep = _split_arguments(node, split)
    shape = node.values.shape(x)
    size = shape[positive_axis(axis, len(shape))] if shape is not None else None
    sizes = _constant_numbers(node, split.input[1]) if len(split.input) > 1 and split.input[1] else None
    if sizes is None or node.values.constant(split.input[1]).dims == ():  # type: ignore[union-attr]
        if not isinstance(size, int):
            why = f"it is not known into how many parts '{safe_text(x)}' is split"
            raise Refusal("C207", why, FIX_SIZES, label="it is not known into how many parts a tensor is split")
        part = 1 if sizes is None else sizes[0]
        if part < 1:
            raise Refusal("C103", f"parts of {part} elements")
        node.charge(size)
        return [(x, axis, at, min(at + part, size), keep or sizes is not None) for at in range(0, size, part)]
    ends = accumulate(sizes)
    return [(x, axis, end - length, end, True) for length, end in zip(sizes, ends, strict=True)]


def _split_arguments(node: Node, split: Any) -> tuple[str, int, bool]:
    """Return the tensor that SplitToSequence splits, the axis counted from the front, and whether the axis is kept."""
    stated = {
        attribute.name: None if attribute.ref_attr_name else attribute_value(attribute) for attribute in split.attribute
    }
    axis = stated.get("axis", 0)
    keep = stated.get("keepdims", 1)
    if not isinstance(axis, int) or not isinstance(keep, int):
        raise Refusal("C206", "'axis' or 'keepdims' takes the value of a function's attribute", "inline the function")
    x = _first_input(split)
    shape = _need_shape(node, x) if axis < 0 else node.values.shape(x)
    return x, positive_axis(axis, len(shape)) if shape is not None else axis, bool(keep)


def _constant_numbers(node: Node, name: str) -> list[int]:
    """Return constant integers; raise Refusal C205 if they are computed at run time."""
    constant = node.values.constant(name)
    if constant is None or not all(isinstance(value, int) for value in constant.values):
        label = f"{NO_SEQUENCES}, and its parts are computed at run time"
        raise Refusal("C205", f"{NO_SEQUENCES}, and '{safe_text(name)}' is computed at run time", label=label)
    return [int(value) for value in constant.values]


def _size_along(op: Builder, node: Node, x: str, axis: int) -> Size:
    """Return the size of a value along an axis."""
    shape = node.values.shape(x)
    size = shape[axis] if shape is not None else None
    return size if isinstance(size, int) else op.Gather(op.Shape(x), op.const(axis))


def _need_shape(node: Node, x: str) -> Shape:
    """Return the shape of a value in a sequence; raise Refusal C207 if not even the rank is known."""
    shape = node.values.shape(x)
    if shape is None:
        label = "the rank of an element of the sequence is not known"
        raise Refusal("C207", f"the rank of '{safe_text(x)}' is not known", label=label)
    return shape


def _take_element(op: Builder, element: Element) -> str:
    """Return the name of an element's tensor."""
    x, axis, start, end, keep = element
    if axis < 0:
        return op.Identity(x)
    if not keep:
        return op.Gather(x, op.const(start), axis=axis)
    return op.Slice(x, op.const([start]), op.const([end]), op.const([axis]))
