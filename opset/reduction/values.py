"""Smaller values: weights that become inputs, zeros or short, small sizes, and no entry that is not needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

from opset.composition.extraction import Wanted, extract_part
from opset.model import Model
from opset.model.arrays import array_of, tensor_of
from opset.model.elements import STRING
from opset.model.graph.index import bodies
from opset.model.graph.walking import list_as_input
from opset.model.storage.encoding import element_count
from opset.opsets.registry import Registry
from opset.reduction.search import Search, minimize

_SMALL: Final = (1, 2, 3)
"""Numbers that are tried in place of a size."""
_MOST_BYTES: Final = 1 << 27
"""Bytes of the largest weight of which values are changed."""
_FEW: Final = 8
"""Elements of a weight that need not become zeros."""
_MOST_SIZES: Final = 64
_TEXTS: Final = ("doc_string", "producer_name", "producer_version", "domain", "model_version", "training_info")
_OF_GRAPHS: Final = ("doc_string", "metadata_props", "quantization_annotation", "value_info")


def strip_annotations(search: Search) -> None:
    """Remove entries for people and tools: documentation, metadata, training, and stated types of inner values."""

    def clear(message: Any) -> None:
        for name in (*_TEXTS, "metadata_props", "configuration"):
            message.ClearField(name)
        for body in bodies(message):
            for name in _OF_GRAPHS:
                if name in body.proto.DESCRIPTOR.fields_by_name:
                    body.proto.ClearField(name)
            for node in body.nodes:
                for name in ("doc_string", "metadata_props", "device_configurations"):
                    node.ClearField(name)

    search.attempt_edit("annotations", clear)


def drop_unused(search: Search) -> None:
    """Remove outputs that are not needed, with the nodes, weights and inputs for them alone."""
    outputs = [value.name for value in search.model.proto.graph.output]

    def is_enough(kept: Sequence[str]) -> bool:
        return bool(kept) and search.attempt("outputs", partial(_part_for, outputs=kept, registry=search.registry))

    minimize(outputs, is_enough)


def reduce_values(search: Search) -> None:
    """Make weights, sizes and attributes as few and as small as the symptom allows."""
    _free_weights(search)
    _shrink_sizes(search)
    _zero_weights(search)
    _drop_entries(search)


# Weights


def _free_weights(search: Search) -> None:
    """Make weights inputs, all at once or as many as possible."""
    names = [tensor.name for tensor in search.model.proto.graph.initializer]

    def is_enough(kept: Sequence[str]) -> bool:
        return search.attempt_edit("weights", partial(_make_inputs, kept={*kept}))

    minimize(names, is_enough)


def _make_inputs(message: Any, kept: set[str]) -> bool:
    """Make the initializers of a ModelProto inputs, but those that are kept; False if there are none."""
    graph = message.graph
    stated = {value.name for value in graph.input}
    freed = [tensor for tensor in graph.initializer if tensor.name not in kept]
    for tensor in freed:
        if tensor.name not in stated:
            list_as_input(graph, tensor)
    left = [tensor for tensor in graph.initializer if tensor.name in kept]
    del graph.initializer[:]
    graph.initializer.extend(left)
    return bool(freed)


def _zero_weights(search: Search) -> None:
    """Make the elements of weights zeros."""
    for position in range(len(search.model.proto.graph.initializer)):
        search.attempt("zeros", partial(_with_zeros, position=position))


def _with_zeros(model: Model, position: int) -> Model | None:
    """Return a model of which one weight has zeros alone, None if it is small or has them."""
    tensor = model.proto.graph.initializer[position]
    if tensor.data_type == STRING or element_count(tensor) <= _FEW:
        return None
    array = _array(model, tensor)
    if not array.any():
        return None
    return _with_arrays(model, {position: array * 0 if array.dtype.kind in "iufc" else array & ~array})


def _array(model: Model, tensor: Any) -> Any:
    """Return the elements of a weight. Raises ModelError if they are too many."""
    return array_of(model, tensor, _MOST_BYTES)


def _with_arrays(model: Model, arrays: dict[int, Any], message: Any = None) -> Model:
    """Return a model with other weights, by position; `message` is its ModelProto if that is another one."""
    changed = message if message is not None else type(model.proto)()
    if message is None:
        changed.CopyFrom(model.proto)
    for position, array in arrays.items():
        tensor = changed.graph.initializer[position]
        tensor.CopyFrom(tensor_of(tensor.name, array))
    return model.with_proto(changed, changed=True)


# Sizes


def _shrink_sizes(search: Search) -> None:
    """Replace each size of inputs and weights by a small number, the greatest first."""
    for size in sorted(_sizes(search.model), reverse=True)[:_MOST_SIZES]:
        for small in _SMALL:
            if small < size and search.attempt("sizes", partial(_with_size, old=size, new=small)):
                break


def _sizes(model: Model) -> set[int]:
    """Return the sizes of inputs and weights that are greater than 1."""
    graph = model.proto.graph
    sizes = {dim for tensor in graph.initializer for dim in tensor.dims}
    sizes |= {dim.dim_value for value in graph.input for dim in value.type.tensor_type.shape.dim}
    return {size for size in sizes if size > 1}


def _with_size(model: Model, old: int, new: int) -> Model:
    """Return a model in which a size of inputs and weights, and an integer constant of that value, is another one.

    Weights keep the first of their elements along the axes that have the size. Stated sizes of other values become
    open: they follow from these.
    """
    message = type(model.proto)()
    message.CopyFrom(model.proto)
    for value in message.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_value == old:
                dim.dim_value = new
    _open_sizes(message)
    arrays = {}
    for position, tensor in enumerate(model.proto.graph.initializer):
        is_small = tensor.data_type in (6, 7) and len(tensor.dims) <= 1 and element_count(tensor) <= _FEW
        if old in tensor.dims or is_small:
            array = _array(model, tensor)
            if old in tensor.dims:
                array = array[tuple(slice(new if dim == old else None) for dim in tensor.dims)].copy()
            if is_small:
                array = array.copy()
                array[array == old] = new
            arrays[position] = array
    return _with_arrays(model, arrays, message)


def _open_sizes(message: Any) -> None:
    """Clear the sizes that a ModelProto states of values, but for the inputs of its graph; ranks stay."""
    for body in bodies(message):
        stated = [*body.proto.value_info]
        if not body.function:
            stated += body.proto.output if body.parent is None else (*body.proto.input, *body.proto.output)
        for value in stated:
            if value.type.WhichOneof("value") == "tensor_type":
                for dim in value.type.tensor_type.shape.dim:
                    dim.Clear()


# Entries


def _drop_entries(search: Search) -> None:
    """Remove attributes and optional inputs of nodes, one by one."""
    for number, index, at in reversed([*_attributes(search.model)]):
        search.attempt_edit("attributes", partial(_remove_attribute, number=number, index=index, at=at))
    for number, index, at in reversed([*_inputs(search.model)]):
        search.attempt_edit("inputs", partial(_remove_input, number=number, index=index, at=at))


def _attributes(model: Model) -> Iterator[tuple[int, int, int]]:
    """Yield the places of attributes: numbers of the body, of the node in it, and of the attribute."""
    for number, body in enumerate(bodies(model.proto)):
        for index, node in enumerate(body.nodes):
            yield from ((number, index, at) for at in range(len(node.attribute)))


def _inputs(model: Model) -> Iterator[tuple[int, int, int]]:
    """Yield the places of inputs of nodes: numbers of the body, of the node in it, and of the input."""
    for number, body in enumerate(bodies(model.proto)):
        for index, names in enumerate(body.reads):
            yield from ((number, index, at) for at, name in enumerate(names) if name)


def _remove_attribute(message: Any, number: int, index: int, at: int) -> None:
    """Remove an attribute of a node of a ModelProto."""
    del bodies(message)[number].nodes[index].attribute[at]


def _remove_input(message: Any, number: int, index: int, at: int) -> None:
    """Leave out an input of a node of a ModelProto."""
    node = bodies(message)[number].nodes[index]
    node.input[at] = ""
    while node.input and not node.input[-1]:
        del node.input[-1]


def drop_unread(search: Search) -> None:
    """Remove inputs, weights, functions and imports that nothing uses."""

    def cut(model: Model) -> Model | None:
        smaller = _part_for(model, [value.name for value in model.proto.graph.output], search.registry)
        return smaller if smaller.proto.ByteSize() < model.proto.ByteSize() else None

    search.attempt("unused", cut)


def _part_for(model: Model, outputs: Sequence[str], registry: Registry) -> Model:
    """Return the part of a model that computes these outputs."""
    return extract_part(model, Wanted(None, outputs), registry).model
