"""Examples of operator YAML as models of one node, with inputs and expected outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opset.model import proto as pb
from opset.model.arrays import convert_numbers, dtype_of_element, tensor_of
from opset.model.attributes import FIELDS
from opset.model.elements import NUMBERS
from opset.model.text.syntax import parse_graph
from opset.opsets.releases import RELEASES, ir_version_of_opset
from opset.schemas.example import Example, ExampleValue
from opset.schemas.model import OpSchema, Parameter


def model_of(schema: OpSchema, example: Example) -> Any:
    """Return an example as a ModelProto of one node, which imports the operator's domain at the schema's version.

    Its inputs are named `input_0` and on, its outputs `output_0` and on, with the types of the example's values.
    """
    model = pb.ModelProto(producer_name="opset")
    model.opset_import.add(domain=schema.domain, version=schema.since_version)
    bodies = any(schema.attributes[name].type.startswith("graph") for name in example.attributes)
    if schema.domain and bodies:
        model.opset_import.add(domain="", version=RELEASES[-1].opset)
    model.ir_version = RELEASES[-1].ir
    if RELEASES[-1].opset_of(schema.domain) >= schema.since_version:  # else the version is not released
        model.ir_version = ir_version_of_opset(schema.since_version, schema.domain)
    graph = model.graph
    graph.name = example.name
    node = graph.node.add(op_type=schema.name, domain=schema.domain)
    for index, value in enumerate(example.inputs):
        node.input.append(f"input_{index}" if value is not None else "")
        if value is not None:
            graph.input.add(name=f"input_{index}", type=type_proto(value.type, value.shape))
    outputs: Sequence[ExampleValue | Parameter | None] | None = example.outputs
    if outputs is None:  # a constraint is broken: the fewest possible
        outputs = schema.outputs[: max(schema.min_output, 1)]
    for index, output in enumerate(outputs):
        node.output.append(f"output_{index}" if output is not None else "")
        if output is not None:
            kind = type_proto(output.type) if isinstance(output, ExampleValue) else pb.TypeProto()
            graph.output.add(name=f"output_{index}", type=kind)
    for name, value in example.attributes.items():
        node.attribute.append(attribute_of(name, schema.attributes[name].type, value))
    return model


def model_with_inputs(
    schema: OpSchema,
    example: Example,
    values: dict[int, Any],
    is_constant: Callable[[ExampleValue], bool],
    symbolic: bool,
) -> tuple[Any, dict[str, int]]:
    """Return the model of an example without output types, and the numbers that its dim_params stand for.

    Args:
        schema: Version of the operator.
        example: Example of the operator.
        values: Values of the inputs, by index.
        is_constant: Function that says of an input whether it becomes an initializer.
        symbolic: Whether the sizes of other tensors become dim_params, s0_1 for axis 1 of input 0.
    """
    model = model_of(schema, example)
    model.ir_version = max(model.ir_version, 4)
    graph = model.graph
    for output in graph.output:
        output.ClearField("type")
    sizes: dict[str, int] = {}
    inputs = [*graph.input]
    del graph.input[:]
    for entry in inputs:
        index = int(entry.name.removeprefix("input_"))
        value = example.inputs[index]
        assert value is not None
        if is_constant(value):
            graph.initializer.append(tensor_of(entry.name, values[index]))
            continue
        if value.type.startswith("seq(tensor("):
            shapes = [each.shape for each in values[index]]
            common: Any = None  # of several ranks, or of none
            if len({*map(len, shapes)}) == 1:
                common = tuple(one[0] if len({*one}) == 1 else None for one in zip(*shapes, strict=True))
            entry.type.CopyFrom(type_proto(value.type, common))
        elif value.type.startswith("tensor("):
            shape = values[index].shape
            entry.type.CopyFrom(type_proto(value.type, shape))
            if symbolic:
                for axis, dim in enumerate(entry.type.tensor_type.shape.dim):
                    dim.dim_param = f"s{index}_{axis}"
                    sizes[dim.dim_param] = shape[axis]
        graph.input.append(entry)
    return model, sizes


def feeds_of(example: Example) -> dict[str, Any]:
    """Return the inputs of an example's model, by name."""
    return {f"input_{index}": value_of(value) for index, value in enumerate(example.inputs) if value is not None}


def value_of(value: ExampleValue) -> Any:
    """Return the value of an example as kernels take it."""
    kind = value.type
    content = value.content
    if kind.startswith("tensor("):
        return _array_of(kind[7:-1], content, value.shape)
    if kind.startswith("sparse_tensor("):
        return content
    if kind.startswith("seq("):
        return [value_of(entry) for entry in content]
    if kind.startswith("optional("):
        return None if content is None else value_of(content)
    element = kind[kind.index(", ") + 2 : -1]
    return {
        key: value_of(entry) if isinstance(entry, ExampleValue) else _array_of(element, entry, ())[()]
        for key, entry in content.items()
    }


def _array_of(element: str, content: Any, shape: tuple[int, ...] | None) -> Any:
    """Return the array of an example's content, which is a list, or one value that fills the shape."""
    dtype = dtype_of_element(element)
    if dtype.kind == "O":
        array = np.empty(len(content) if isinstance(content, list) else (), object)
        array[...] = content
    elif dtype.kind == "c":
        array = np.array(
            [complex(number) for number in content] if isinstance(content, list) else complex(content or 0), dtype
        )
    else:
        numbers = content if isinstance(content, list) else [content or 0]
        if "int" in dtype.name or dtype.kind == "b":  # integers of 64 bits are not converted by way of a float
            array = convert_numbers(numbers, dtype)
        else:
            with np.errstate(over="ignore"):  # too large values become infinite, as in a model
                array = np.array(numbers, np.float64).astype(dtype)
        array = array if isinstance(content, list) else array[0].reshape(())
    shape = array.shape if shape is None else shape
    return array.reshape(shape) if isinstance(content, list) else np.broadcast_to(array, shape).copy()


def type_proto(text: str, shape: tuple[int, ...] | None = None) -> Any:
    """Return the TypeProto of a type string, with the shape of its tensor if it is given."""
    whole = proto = pb.TypeProto()
    while True:
        if text.startswith("seq("):
            proto, text = proto.sequence_type.elem_type, text[4:-1]
        elif text.startswith("optional("):
            proto, text = proto.optional_type.elem_type, text[9:-1]
        elif text.startswith("map("):
            key, _, inner = text[4:-1].partition(", ")
            proto.map_type.key_type = NUMBERS[key]
            proto, text = proto.map_type.value_type, inner
        else:
            break
    sparse = text.startswith("sparse_tensor(")
    tensor = proto.sparse_tensor_type if sparse else proto.tensor_type
    tensor.elem_type = NUMBERS[text.removeprefix("sparse_").removeprefix("tensor(").removesuffix(")")]
    if shape is not None:
        tensor.shape.SetInParent()
        for size in shape:
            tensor.shape.dim.add(dim_value=size)
    return whole


def attribute_of(name: str, kind: str, value: Any) -> Any:
    """Return an attribute of an example, or a default, as an AttributeProto.

    Args:
        name: name of the attribute.
        kind: type of the attribute, such as "ints".
        value: value as in YAML; an ExampleValue for tensors, text for graphs and types.
    """
    attribute = pb.AttributeProto(name=name, type=FIELDS[kind][0])
    match kind:
        case "float":
            attribute.f = value
        case "int":
            attribute.i = value
        case "string":
            attribute.s = value.encode()
        case "floats" | "ints":
            getattr(attribute, kind).extend(value)
        case "strings":
            attribute.strings.extend(entry.encode() for entry in value)
        case "tensor":
            attribute.t.CopyFrom(tensor_of("", value_of(value)))
        case "tensors":
            attribute.tensors.extend(tensor_of("", value_of(entry)) for entry in value)
        case "graph":
            attribute.g.CopyFrom(parse_graph(value))
        case "graphs":
            attribute.graphs.extend(map(parse_graph, value))
        case "type_proto":
            attribute.tp.CopyFrom(type_proto(value))
        case "type_protos":
            attribute.type_protos.extend(map(type_proto, value))
        case "sparse_tensor":
            attribute.sparse_tensor.CopyFrom(_sparse_proto(value))
        case "sparse_tensors":
            attribute.sparse_tensors.extend(map(_sparse_proto, value))
    return attribute


def _sparse_proto(value: ExampleValue) -> Any:
    """Return the SparseTensorProto of an example's values and indices."""
    element = value.type.removeprefix("sparse_tensor(").removesuffix(")")
    sparse = pb.SparseTensorProto(dims=value.shape)
    sparse.values.CopyFrom(tensor_of("", _array_of(element, value.content["values"], None)))
    sparse.indices.CopyFrom(tensor_of("", np.array(value.content["indices"], np.int64)))
    return sparse
