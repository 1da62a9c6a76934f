"""Called as onnx.shape_inference: types and shapes of a model's values, of a node's or a function's outputs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from opset.compat.onnx.absent import absent_error
from opset.compat.onnx.messages import convert_message, model_message, require_message
from opset.errors import InferenceError
from opset.inference.engine import result
from opset.model import proto as pb
from opset.opsets.registry import default_registry
from opset.opsets.releases import newest_ir_version

__all__ = ["InferenceError", "infer_function_output_types", "infer_node_outputs", "infer_shapes", "infer_shapes_path"]


def infer_shapes(model: Any, check_type: bool = False, strict_mode: bool = False, data_prop: bool = False) -> Any:
    """Return the model with the types and shapes of its values written in.

    Args:
        model: A ModelProto, an opset.Model, a path or bytes; it is not changed.
        check_type: Whether inputs of nodes are checked against the signatures of their operators.
        strict_mode: Whether any contradiction or misfit is an error.
        data_prop: Whether elements are followed through shape arithmetic.

    Returns:
        A ModelProto of the caller's class; an opset.Model for one.

    Raises:
        InferenceError: With `check_type`, inputs have types that the operator does not take; with `strict_mode`,
            anything does not fit together.
        ModelError: The model is malformed.
    """
    return model_message(result.infer_shapes(model, check_type, strict_mode, data_prop), model)


def infer_shapes_path(
    model_path: str | os.PathLike[str],
    output_path: str | os.PathLike[str] = "",
    check_type: bool = False,
    strict_mode: bool = False,
    data_prop: bool = False,
) -> None:
    """Write a model with the types and shapes of its values to a file; weights are copied from file to file.

    Args:
        model_path: The model's path.
        output_path: The path of the result; without it, the model's file is replaced.
        check_type: As of `infer_shapes`.
        strict_mode: As of `infer_shapes`.
        data_prop: As of `infer_shapes`.

    Raises:
        InferenceError: As of `infer_shapes`.
        ModelError: The model is malformed.
        TypeError: A path is no path.
        UsageError: U104 if the result cannot be written.
    """
    source, target = os.fspath(model_path), os.fspath(output_path)
    result.infer_shapes(source, check_type, strict_mode, data_prop).save(target or source, force=True)


def infer_node_outputs(
    schema: Any,
    node: Any,
    input_types: Mapping[str, Any],
    input_data: Mapping[str, Any] | None = None,
    input_sparse_data: Mapping[str, Any] | None = None,
    opset_imports: Sequence[Any] | None = None,
    ir_version: int = newest_ir_version(),
) -> dict[str, Any]:
    """Return the types of a node's outputs, as TypeProtos by name, as far as they are known.

    Args:
        schema: The schema of its operator, of opset or of the onnx package: domain and version of it count.
        node: The NodeProto.
        input_types: TypeProtos of the inputs, and of values around that graphs in the node read, by name.
        input_data: TensorProtos of inputs whose elements are known, by name.
        input_sparse_data: SparseTensorProtos, by name.
        opset_imports: Versions of operator sets for graphs in the node; the schema's is one of them.
        ir_version: The IR version that the node is written for.

    Returns:
        The TypeProtos, of the class of the given ones.

    Raises:
        InferenceError: The inputs do not fit the operator, or each other.
        KeyError: The type of an input is not given.
    """
    require_message(node, "NodeProto")
    given = {**input_types}
    model = pb.ModelProto(ir_version=ir_version)
    graph = model.graph
    graph.name = "part"
    graph.node.add().ParseFromString(node.SerializeToString())
    tensors = {**(input_data or {})}
    constants = {*tensors, *(input_sparse_data or ())}.intersection(node.input)
    for name in dict.fromkeys([*filter(None, node.input), *given]):
        message = convert_message(given[name], pb.TypeProto)
        if name not in constants:  # a caller may replace an initializer that is an input
            graph.input.add(name=name, type=message)
    for name in filter(None, node.output):
        graph.output.add(name=name)
    for name in filter(tensors.__contains__, node.input):
        tensor = graph.initializer.add()
        tensor.ParseFromString(tensors[name].SerializeToString())
        tensor.name = name
    for name, sparse in (input_sparse_data or {}).items():
        entry = graph.sparse_initializer.add()
        entry.ParseFromString(sparse.SerializeToString())
        entry.values.name = name
    imports = {each.domain: each.version for each in opset_imports or ()}
    _add_imports(model, {**imports, schema.domain: schema.since_version})
    return _types_of_outputs(model, _class_of(given.values()))


def infer_function_output_types(function: Any, input_types: Sequence[Any], attributes: Sequence[Any]) -> list[Any]:
    """Return the types of a function's outputs, as TypeProtos; an empty one if nothing is known.

    Args:
        function: The FunctionProto.
        input_types: The TypeProtos of its inputs.
        attributes: The AttributeProtos of a call.

    Returns:
        The TypeProtos, of the class of the given ones.

    Raises:
        InferenceError: The inputs do not fit the function.
    """
    require_message(function, "FunctionProto")
    model = pb.ModelProto(ir_version=newest_ir_version())
    model.functions.add().ParseFromString(function.SerializeToString())
    graph = model.graph
    graph.name = "part"
    inputs = [f"input_{index}" for index in range(len(input_types))]
    outputs = [f"output_{index}" for index in range(len(function.output))]
    node = graph.node.add(
        op_type=function.name, domain=function.domain, overload=function.overload, input=inputs, output=outputs
    )
    for attribute in attributes:
        node.attribute.add().ParseFromString(attribute.SerializeToString())
    for name, type_ in zip(inputs, input_types, strict=True):
        graph.input.add(name=name, type=convert_message(type_, pb.TypeProto))
    for name in outputs:
        graph.output.add(name=name)
    imports = {each.domain: each.version for each in function.opset_import}
    _add_imports(model, {function.domain: 1, **imports})
    kind = _class_of(input_types)
    found = _types_of_outputs(model, kind)
    return [found.get(name, kind()) for name in outputs]


def _add_imports(model: Any, versions: Mapping[str, int]) -> None:
    """Add imports of versions by domain to a model, and the newest version of ai.onnx if it is not among them."""
    for domain, version in {"": default_registry().domains[""], **versions}.items():
        model.opset_import.add(domain=domain, version=version)


def _types_of_outputs(model: Any, kind: Any) -> dict[str, Any]:
    """Return the types that are inferred of a model's outputs, as messages of a class, by name."""
    inferred = result.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    return {value.name: convert_message(value.type, kind) for value in inferred.graph.output if value.HasField("type")}


def _class_of(messages: Iterable[Any]) -> Any:
    """Return the class of TypeProtos; opset's own if there are none."""
    return type(next(iter(messages), pb.TypeProto()))


def __getattr__(name: str) -> Any:
    raise absent_error("shape_inference", name)
