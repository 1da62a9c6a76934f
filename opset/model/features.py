"""What models may use from a version of the IR on: fields of messages, kinds of types, element types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from opset.model.attributes import FIELDS
from opset.model.elements import ELEMENTS
from opset.model.graph.index import Body

UNLISTED = "initializers that are no graph inputs"
COLLECTIONS = "sequence and map types"
_ELEMENTS = "to", "dtype", "output_dtype"
"""Attributes that name an element type, of operators in these domains:"""
_DOMAINS = "", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"
_TYPED = _INT, _TENSOR, _TYPE = tuple(FIELDS[kind][0] for kind in ("int", "tensor", "type_proto"))
"""Attribute types whose values may have or name an element type."""
_METADATA = "metadata of graphs, nodes or functions"


class Feature(NamedTuple):
    """Something that came with a version of the IR.

    - `ir_version`: the version;
    - `name`: its name, in the plural;
    - `is_annotation`: whether older readers skip it, and the model means the same to them.
    """

    ir_version: int
    name: str
    is_annotation: bool = False


def model_features(proto: Any) -> Iterator[Feature]:
    """Yield the features that a ModelProto uses outside its graphs and functions."""
    if proto.opset_import:
        yield Feature(3, "imports of operator sets")
    if proto.training_info:
        yield Feature(7, "training_info")
    if proto.functions:
        yield Feature(8, "model-local functions")
    if proto.configuration:
        yield Feature(11, "device configurations", True)


def body_features(body: Body, above: int) -> Iterator[tuple[Feature, int]]:
    """Yield the features that a body uses and that came after the IR version `above`.

    Each comes with the index of the node that uses it, -1 for the body itself, as often as it is used.
    """
    graph = body.proto
    found = [*_function_features(graph)] if body.function else [*_graph_features(graph, above)]
    if graph.metadata_props:
        found.append(Feature(10, _METADATA, True))
    for values in (graph.value_info,) if body.function else (graph.value_info, graph.input, graph.output):
        for value in values:
            found += _features_of_type(value.type)
            if value.metadata_props:
                found.append(Feature(10, "metadata of values", True))
    yield from ((feature, -1) for feature in found if feature.ir_version > above)
    if above < 11:
        of_nodes = ((index, node) for index, node in enumerate(body.nodes) if node.device_configurations)
        yield from ((Feature(11, "device configurations", True), index) for index, _ in of_nodes)
    if above < 10:
        for index, node in enumerate(body.nodes):
            if node.metadata_props:
                yield Feature(10, _METADATA, True), index
            if node.overload:
                yield Feature(10, "overloads of functions"), index
    for index, attributes in enumerate(body.attributes):
        for attribute in attributes:
            if attribute.type in _TYPED:
                features = _features_of_attribute(attribute, body.operators[index][1])
                yield from ((feature, index) for feature in features if feature.ir_version > above)


def _function_features(function: Any) -> Iterator[Feature]:
    """Yield the features of a FunctionProto, without its nodes and values."""
    if function.attribute_proto:
        yield Feature(9, "defaults of function attributes")
    if function.overload:
        yield Feature(10, "overloads of functions")
    if function.value_info:
        yield Feature(10, "value_info of functions", True)
    for default in function.attribute_proto:
        yield from _features_of_attribute(default)


def _graph_features(graph: Any, above: int) -> Iterator[Feature]:
    """Yield the features of a GraphProto, without its nodes and values; `above` spares the search for one of them."""
    if above < 4:
        inputs = {value.name for value in graph.input}
        if any(tensor.name not in inputs for tensor in graph.initializer):
            yield Feature(4, UNLISTED)
    if graph.quantization_annotation:
        yield Feature(5, "quantization annotations", True)
    if graph.sparse_initializer:
        yield Feature(6, "sparse initializers")
    for tensor in graph.initializer:
        yield from _features_of_element(tensor.data_type)


def _features_of_attribute(attribute: Any, domain: Any = None) -> Iterator[Feature]:
    """Yield the features in the value of an AttributeProto, of a node with an operator of this domain."""
    kind = attribute.type
    if kind == _INT and domain in _DOMAINS and attribute.name in _ELEMENTS:
        yield from _features_of_element(attribute.i)
    elif kind == _TENSOR:
        yield from _features_of_element(attribute.t.data_type)
    elif kind == _TYPE:
        yield from _features_of_type(attribute.tp)


def _features_of_element(number: int) -> Iterator[Feature]:
    """Yield a feature for an element type, given by its number, if IR version 3 does not have the type."""
    element = ELEMENTS.get(number)
    if element is not None and element.ir_version > 3:
        yield Feature(element.ir_version, f"the type {element.name}")


def _features_of_type(proto: Any) -> Iterator[Feature]:
    """Yield the features in a TypeProto: element types, sequences, maps, optionals, sparse tensors."""
    while True:
        match proto.WhichOneof("value"):
            case "tensor_type":
                yield from _features_of_element(proto.tensor_type.elem_type)
                return
            case "sparse_tensor_type":
                yield Feature(8, "sparse tensor types")
                return
            case "optional_type":
                yield Feature(8, "optional types")
                proto = proto.optional_type.elem_type
            case "sequence_type":
                yield Feature(6, COLLECTIONS)
                proto = proto.sequence_type.elem_type
            case "map_type":
                yield Feature(6, COLLECTIONS)
                proto = proto.map_type.value_type
            case _:
                return
