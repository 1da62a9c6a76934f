"""Kinds of mendable faults, each put into a valid model, and what of the model its repair may change.

A function takes the model and a source of random numbers, and returns a copy with the fault, or None where the model
has no place for it. It may change the model before, to make a place, so long as that stays valid.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import onnx
from onnx import ModelProto

import opset
from judges.fuzz.drawing.rewriting import rename
from opset.model.attributes import FIELDS
from opset.model.graph.walking import names_read, subgraphs

Injection = Callable[[Any, random.Random], Any]
KEY = "judged"
SMALL = 500
"""Bytes of an attribute that is surely read; greater tensors stay in the file, and are not compared."""


@dataclass(frozen=True)
class Kind:
    """A kind of fault: its name, the code of its rule, how it is made, and what blanks the parts that may change.

    `blank` is None where nothing but the results can be compared.
    """

    name: str
    code: str
    inject: Injection
    blank: Callable[[Any], None] | None

    def blanked(self, model: ModelProto) -> bytes:
        """Return a copy of a model as bytes, without the parts that a repair may change."""
        copy = _copy(model)
        if self.blank is not None:
            self.blank(copy)
        encoded: bytes = copy.SerializeToString(deterministic=True)
        return encoded


KINDS: list[Kind] = []


def fault(code: str, blank: Callable[[Any], None] | None) -> Callable[[Injection], Injection]:
    """Return a decorator that lists a function as a kind of fault."""

    def listed(function: Injection) -> Injection:
        KINDS.append(Kind(function.__name__, code, function, blank))
        return function

    return listed


def _copy(model: ModelProto) -> ModelProto:
    """Return a copy of a model."""
    copy = ModelProto()
    copy.CopyFrom(model)
    return copy


def graphs(model: ModelProto) -> Iterator[tuple[Any, set[str]]]:
    """Yield the graphs of a model, each with the names that are defined before its node in the graphs around."""
    pending: list[tuple[Any, set[str]]] = [(model.graph, set())]
    while pending:
        graph, around = pending.pop()
        yield graph, around
        seen = around | {each.name for each in (*graph.input, *graph.initializer)}
        for node in graph.node:
            pending += [(inner, set(seen)) for _, inner in subgraphs(node)]
            seen |= {name for name in node.output if name}


def _nodes(model: ModelProto) -> Iterator[Any]:
    """Yield all nodes of a model, those of functions too."""
    for graph, _ in graphs(model):
        yield from graph.node
    for function in model.functions:
        yield from function.node


# What a repair may change


def nothing(model: Any) -> None:
    """Blank nothing."""


def order_of_nodes(model: Any) -> None:
    """Sort the nodes of all graphs, the innermost first."""
    for graph in reversed([each for each, _ in graphs(model)]):
        nodes = sorted(graph.node, key=lambda node: node.SerializeToString(deterministic=True))
        copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
        del graph.node[:]
        graph.node.extend(copies)


def imports(model: Any) -> None:
    """Sort all imports."""
    for holder in (model, *model.functions):
        entries = sorted((entry.domain, entry.version) for entry in holder.opset_import)
        del holder.opset_import[:]
        holder.opset_import.extend(onnx.helper.make_opsetid(*each) for each in entries)


def ir_version(model: Any) -> None:
    """Clear the IR version."""
    model.ClearField("ir_version")


def value_info(model: Any) -> None:
    """Clear value_info, and the types that nested graphs state for their outputs."""
    for graph, _ in graphs(model):
        del graph.value_info[:]
        if graph is not model.graph:
            for value in graph.output:
                value.ClearField("type")


def output_types(model: Any) -> None:
    """Clear the types of outputs."""
    for value in model.graph.output:
        value.ClearField("type")


def node_names(model: Any) -> None:
    """Clear the names of nodes."""
    for node in _nodes(model):
        node.ClearField("name")


def graph_names(model: Any) -> None:
    """Clear the names of graphs."""
    for graph, _ in graphs(model):
        graph.ClearField("name")


def order_of_inputs(model: Any) -> None:
    """Sort the inputs of the main graph."""
    values = sorted(model.graph.input, key=lambda value: value.name)
    copies = [onnx.ValueInfoProto.FromString(value.SerializeToString()) for value in values]
    del model.graph.input[:]
    model.graph.input.extend(copies)


# The faults


@fault("M110", order_of_nodes)
def unsorted_nodes(model: Any, draw: random.Random) -> Any:
    """Move a node of the main graph, or of a nested one, behind one that reads what it computes."""
    faulty = _copy(model)
    found = []
    for graph, _ in graphs(faulty):
        for first, node in enumerate(graph.node):
            for later in range(first + 1, len(graph.node)):
                if not ({*node.output} - {""}).isdisjoint(graph.node[later].input):
                    found.append((graph, first, later))
    if not found:
        return None
    graph, first, later = draw.choice(found)
    moved = onnx.NodeProto.FromString(graph.node[first].SerializeToString())
    graph.node.insert(later + 1, moved)
    del graph.node[first]
    return faulty


@fault("W107", nothing)
def equal_imports(model: Any, draw: random.Random) -> Any:
    """Repeat an import, ai.onnx by its other name."""
    faulty = _copy(model)
    entry = draw.choice([*faulty.opset_import]) if faulty.opset_import else None
    if entry is None:
        return None
    domain = {"": "ai.onnx", "ai.onnx": ""}.get(entry.domain, entry.domain)
    faulty.opset_import.add(domain=domain, version=entry.version)
    return faulty


@fault("W101", nothing)
def unused_import(model: Any, draw: random.Random) -> Any:
    """Import a domain that no node uses."""
    faulty = _copy(model)
    faulty.opset_import.add(domain="com.example.unused", version=draw.randrange(1, 9))
    return faulty


@fault("G104", imports)
def missing_import_of_function(model: Any, draw: random.Random) -> Any:
    """Remove an import of a function that the model has as well."""
    model_imports = {(entry.domain, entry.version) for entry in model.opset_import}
    faulty = _copy(model)
    found = [
        (function, position)
        for function in faulty.functions
        for position, entry in enumerate(function.opset_import)
        if (entry.domain, entry.version) in model_imports and any(n.domain == entry.domain for n in function.node)
    ]
    if not found:
        return None
    function, position = draw.choice(found)
    del function.opset_import[position]
    return faulty


@fault("G104", imports)
def missing_import_of_functions(model: Any, draw: random.Random) -> Any:
    """Remove the import of a domain that functions of the model alone have, at version 1."""
    functions = {function.domain for function in model.functions}
    called = {node.domain for graph, _ in graphs(model) for node in graph.node}
    faulty = _copy(model)
    found = [
        position
        for position, entry in enumerate(faulty.opset_import)
        if entry.domain in functions & called and entry.version == 1
    ]
    if not found:
        return None
    del faulty.opset_import[draw.choice(found)]
    return faulty


@fault("G101", ir_version)
def no_ir_version(model: Any, draw: random.Random) -> Any:
    """Clear the IR version."""
    faulty = _copy(model)
    faulty.ClearField("ir_version")
    return faulty


@fault("G214", ir_version)
def low_ir_version(model: Any, draw: random.Random) -> Any:
    """Set an IR version that has no functions."""
    if not model.functions or model.ir_version < 8:
        return None
    faulty = _copy(model)
    faulty.ir_version = draw.randrange(4, 8)
    return faulty


@fault("W202", ir_version)
def early_metadata(model: Any, draw: random.Random) -> Any:
    """Give a node metadata, at an IR version that has none."""
    if model.ir_version >= 10 or not model.graph.node or model.ir_version < 4:
        return None
    draw.choice([*model.graph.node]).metadata_props.add(key=KEY, value="1")
    return _copy(model)


@fault("W201", nothing)
def stale_value_info(model: Any, draw: random.Random) -> Any:
    """State a type of a value that does not exist."""
    faulty = _copy(model)
    graph = draw.choice([each for each, _ in graphs(faulty)])
    graph.value_info.append(onnx.helper.make_tensor_value_info("judged_stale", draw.randrange(1, 12), [2]))
    return faulty


def _with_value_info(model: Any, draw: random.Random) -> tuple[Any, Any] | None:
    """Return a copy of a model, and an entry of its value_info about a tensor that nodes compute and inference knows.

    The types that inference finds are written into the model before.
    """
    inferred = opset.infer(model)
    if inferred.findings:
        return None
    model.CopyFrom(onnx.ModelProto.FromString(inferred.written().SerializeToString()))
    faulty = _copy(model)
    computed = {name for node in faulty.graph.node for name in node.output}
    computed -= {value.name for value in faulty.graph.output}
    found = [
        value
        for value in faulty.graph.value_info
        if value.name in computed
        and value.type.tensor_type.HasField("shape")
        and value.type.tensor_type.elem_type
        and (known := inferred.type(value.name)) is not None
        and known.shape is not None
        and known.element
    ]
    return (faulty, draw.choice(found)) if found else None


@fault("I101", value_info)
def wrong_value_info(model: Any, draw: random.Random) -> Any:
    """State another rank or element type of a value that nodes compute."""
    found = _with_value_info(model, draw)
    if found is None:
        return None
    faulty, value = found
    kind = value.type.tensor_type
    if draw.random() < 0.5:
        kind.shape.dim.add(dim_value=3)
    else:
        kind.elem_type = onnx.TensorProto.STRING if kind.elem_type != onnx.TensorProto.STRING else 1
    return faulty


@fault("G211", value_info)
def two_value_infos(model: Any, draw: random.Random) -> Any:
    """State two types of a value."""
    found = _with_value_info(model, draw)
    if found is None:
        return None
    faulty, value = found
    other = faulty.graph.value_info.add()
    other.CopyFrom(value)
    if draw.random() < 0.5:
        other.type.tensor_type.shape.dim.add(dim_value=3)
    return faulty


@fault("G212", nothing)
def value_info_of_input(model: Any, draw: random.Random) -> Any:
    """State a type in value_info of an input or initializer, which states another one."""
    faulty = _copy(model)
    graph = faulty.graph
    stated = {value.name for value in graph.value_info}
    names = [value.name for value in graph.input if value.type.tensor_type.elem_type]
    names = [name for name in names + [tensor.name for tensor in graph.initializer] if name not in stated]
    if not names:
        return None
    types = {tensor.name: tensor.data_type for tensor in graph.initializer}
    types |= {value.name: value.type.tensor_type.elem_type for value in graph.input}
    name = draw.choice(names)
    other = onnx.TensorProto.STRING if types[name] != onnx.TensorProto.STRING else onnx.TensorProto.FLOAT
    graph.value_info.append(onnx.helper.make_tensor_value_info(name, other, None))
    return faulty


def _open_output(model: Any, draw: random.Random) -> tuple[Any, Any] | None:
    """Return a copy of a model, and one of its outputs of which inference alone knows type and rank."""
    if len({value.name for value in model.graph.output}) < len(model.graph.output):
        return None
    bare = _copy(model)
    output_types(bare)
    del bare.graph.value_info[:]
    inferred = opset.infer(bare)
    faulty = _copy(model)
    del faulty.graph.value_info[:]
    del model.graph.value_info[:]
    found = [
        value
        for value in faulty.graph.output
        if value.type.tensor_type.HasField("shape")
        and (known := inferred.type(value.name)) is not None
        and known.shape is not None
        and known.element
    ]
    return (faulty, draw.choice(found)) if found and not inferred.findings else None


@fault("G203", output_types)
def output_without_type(model: Any, draw: random.Random) -> Any:
    """Clear the type of an output."""
    found = _open_output(model, draw)
    if found is None:
        return None
    found[1].ClearField("type")
    return found[0]


@fault("G204", output_types)
def output_without_shape(model: Any, draw: random.Random) -> Any:
    """Clear the shape of an output."""
    found = _open_output(model, draw)
    if found is None:
        return None
    found[1].type.tensor_type.ClearField("shape")
    return found[0]


@fault("G305", nothing)
def attribute_without_type(model: Any, draw: random.Random) -> Any:
    """Clear the type of an attribute with a value."""
    faulty = _copy(model)
    found = [
        attribute
        for node in _nodes(faulty)
        for attribute in node.attribute
        if not attribute.ref_attr_name
        and any(field.name in {name for _, name in FIELDS.values()} for field, _ in attribute.ListFields())
    ]
    if not found or model.ir_version < 2:
        return None
    draw.choice(found).ClearField("type")
    return faulty


def _values(model: Any) -> set[str]:
    """Return the names of the outputs of a model."""
    return {value.name for value in model.graph.output}


def _add_unsqueeze(model: Any, constant: bool) -> None:
    """Give a model an output more, by an Unsqueeze whose axes are an initializer or a Constant, if it can have one."""
    version = next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 0)
    tensors = [value for value in model.graph.output if value.type.tensor_type.HasField("shape")]
    if version < 13 or model.ir_version < 4 or not tensors:
        return
    axes = onnx.helper.make_tensor("judged_axes", onnx.TensorProto.INT64, [1], [0])
    if constant:
        model.graph.node.append(onnx.helper.make_node("Constant", [], ["judged_axes"], value=axes))
    else:
        model.graph.initializer.append(axes)
    node = onnx.helper.make_node("Unsqueeze", [tensors[0].name, "judged_axes"], ["judged_place"])
    model.graph.node.append(node)
    added = model.graph.output.add()
    added.CopyFrom(tensors[0])
    added.name = "judged_place"
    del added.type.tensor_type.shape.dim[:]
    added.type.tensor_type.shape.dim.add(dim_value=1)
    added.type.tensor_type.shape.dim.extend(tensors[0].type.tensor_type.shape.dim)


@fault("W302", nothing)
def scalar_axes(model: Any, draw: random.Random) -> Any:
    """Make the axes of Squeeze or Unsqueeze a scalar, an initializer or a Constant."""
    if "judged_place" not in _values(model):
        _add_unsqueeze(model, draw.random() < 0.5)
    faulty = _copy(model)
    graph = faulty.graph
    reads = [name for each, _ in graphs(faulty) for node in each.node for name in node.input]
    reads += [value.name for each, _ in graphs(faulty) for value in each.output]
    inputs = {value.name for value in graph.input}
    stated = {value.name for value in graph.value_info}
    tensors = {tensor.name: tensor for tensor in graph.initializer if tensor.name not in inputs}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            tensors[node.output[0]] = node.attribute[0].t
    found = [
        tensors[node.input[1]]
        for node in graph.node
        if node.op_type in ("Squeeze", "Unsqueeze")
        and len(node.input) > 1
        and node.input[1] in tensors
        and reads.count(node.input[1]) == 1
        and node.input[1] not in stated
        and tensors[node.input[1]].dims == [1]
    ]
    if not found:
        return None
    del draw.choice(found).dims[:]
    return faulty


@fault("G324", nothing)
def attribute_of_another_version(model: Any, draw: random.Random) -> Any:
    """Give a node an attribute of another version that changes nothing."""
    faulty = _copy(model)
    version = next((entry.version for entry in faulty.opset_import if entry.domain in ("", "ai.onnx")), 0)
    odd = {"Relu": 6, "Neg": 6, "Exp": 6, "Abs": 6, "Sqrt": 6, "Sigmoid": 6, "Tanh": 6}
    found = [
        (node, "consumed_inputs", [0])
        for graph, _ in graphs(faulty)
        for node in graph.node
        if version >= odd.get(node.op_type, 99) and not node.domain
    ]
    found += [
        (node, "is_test", 1)
        for graph, _ in graphs(faulty)
        for node in graph.node
        if node.op_type in ("BatchNormalization", "Dropout")
        and version >= 7
        and len(node.input) < 6
        and not any(node.input[2:]) * (node.op_type == "Dropout")
    ]
    if not found:
        return None
    node, name, value = draw.choice(found)
    node.attribute.append(onnx.helper.make_attribute(name, value))
    return faulty


@fault("G213", node_names)
def equal_node_names(model: Any, draw: random.Random) -> Any:
    """Give two nodes of a graph one name."""
    faulty = _copy(model)
    found = [graph for graph, _ in graphs(faulty) if len(graph.node) > 1]
    if not found:
        return None
    for node in draw.sample([*draw.choice(found).node], 2):
        node.name = "judged"
    return faulty


@fault("G201", graph_names)
def graph_without_name(model: Any, draw: random.Random) -> Any:
    """Clear the name of a graph."""
    faulty = _copy(model)
    draw.choice([graph for graph, _ in graphs(faulty)]).ClearField("name")
    return faulty


@fault("G207", None)
def shadowing_value(model: Any, draw: random.Random) -> Any:
    """Give a value of a nested graph the name of one around that nothing in the graph reads."""
    faulty = _copy(model)
    found = []
    for graph, around in graphs(faulty):
        own = [value.name for value in graph.input] + [n for node in graph.node for n in node.output if n]
        inside = {*own} | names_read(graph.node) | {value.name for value in graph.output}
        inside |= {each.name for each in (*graph.initializer, *graph.value_info)}
        deeper = {n for each in graph.node for _, g in subgraphs(each) for i in g.node for n in i.output}
        found += [(graph, mine, other) for mine in own for other in sorted(around - inside - deeper) if other]
    if not found:
        return None
    graph, mine, other = draw.choice(found)
    rename([graph], {mine: other})
    return faulty


@fault("G216", None)
def output_of_a_graph_around(model: Any, draw: random.Random) -> Any:
    """Give a nested graph a value of a graph around as output, in place of what an Identity makes of it."""
    nested = [graph for graph, _ in graphs(model) if graph is not model.graph]
    found = [
        (number, position, node.input[0])
        for number, graph in enumerate(nested)
        for position, value in enumerate(graph.output)
        for node in graph.node
        if node.op_type == "Identity" and not node.domain and [*node.output] == [value.name]
        if node.input[0] not in _own_values(graph)
    ]
    if not found:
        return None
    faulty = _copy(model)
    number, position, name = draw.choice(found)
    graph = [each for each, _ in graphs(faulty) if each is not faulty.graph][number]
    graph.output[position].name = name
    return faulty


def _own_values(graph: Any) -> set[str]:
    """Return the names of the values that a graph defines."""
    sparse = [each.values for each in graph.sparse_initializer]
    own = {each.name for each in (*graph.input, *graph.initializer, *sparse)}
    return own | {name for node in graph.node for name in node.output}


@fault("W102", nothing)
def equal_metadata(model: Any, draw: random.Random) -> Any:
    """Repeat an entry of metadata."""
    model.metadata_props.add(key=KEY, value="1")
    faulty = _copy(model)
    faulty.metadata_props.add(key=KEY, value="1")
    return faulty


@fault("G304", nothing)
def equal_attributes(model: Any, draw: random.Random) -> Any:
    """Repeat an attribute."""
    faulty = _copy(model)
    found = [(node, each) for node in _nodes(faulty) for each in node.attribute if each.ByteSize() < SMALL]
    if not found:
        return None
    node, attribute = draw.choice(found)
    node.attribute.add().CopyFrom(attribute)
    return faulty


@fault("G606", nothing)
def negative_size(model: Any, draw: random.Random) -> Any:
    """Write -1 for a size that is not known."""
    return _open_size(model, draw, {"dim_value": -1})


@fault("W602", nothing)
def variable_without_name(model: Any, draw: random.Random) -> Any:
    """Write an empty name for a size that is not known."""
    return _open_size(model, draw, {"dim_param": ""})


def _open_size(model: Any, draw: random.Random, size: dict[str, Any]) -> Any:
    """Return a copy of a model in which a size that an output leaves open is given so."""

    def dims(each: Any) -> list[Any]:
        return [dim for value in each.graph.output for dim in value.type.tensor_type.shape.dim]

    if not dims(model):
        return None
    number = draw.randrange(len(dims(model)))
    dims(model)[number].Clear()
    faulty = _copy(model)
    for name, value in size.items():
        setattr(dims(faulty)[number], name, value)
    return faulty


@fault("G208", order_of_inputs)
def unlisted_initializer(model: Any, draw: random.Random) -> Any:
    """Remove an initializer from the inputs, before IR version 4."""
    held = {tensor.name for tensor in model.graph.initializer}
    positions = [index for index, value in enumerate(model.graph.input) if value.name in held]
    if model.ir_version >= 4 or not positions:
        return None
    faulty = _copy(model)
    del faulty.graph.input[draw.choice(positions)]
    return faulty


@fault("G713", nothing)
def equal_annotations(model: Any, draw: random.Random) -> Any:
    """Repeat a quantization annotation."""
    if model.ir_version < 5 or not model.graph.input:
        return None
    model.graph.quantization_annotation.add(tensor_name=model.graph.input[0].name)
    faulty = _copy(model)
    faulty.graph.quantization_annotation.add(tensor_name=model.graph.input[0].name)
    return faulty
