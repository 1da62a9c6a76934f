"""Whether onnx itself takes nodes by one of two schemas and not by the other: then the edit between them breaks models.

Both schemas are registered with the onnx package, one after the other, and nodes that either of them describes are
checked by `onnx.checker` and by onnx's inference with `check_type`: numbers of inputs and outputs, types and which of
them go together, attributes. It knows nothing of the rules, nor of how the edit was made.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import onnx
from onnx import TensorProto, TypeProto, defs, helper

from opset.schemas.model import OPTIONAL, VARIADIC, OpSchema, Parameter

DOMAIN = "fuzz.judged"
MOST = 8
"""Inputs that are varied, and counts of inputs and outputs that are tried."""
_OPTIONS = {OPTIONAL: "Optional", VARIADIC: "Variadic"}
_SAMPLES: dict[str, Any] = {
    "int": 1,
    "float": 0.5,
    "string": "a",
    "ints": [1],
    "floats": [0.5],
    "strings": ["a"],
    "tensor": helper.make_tensor("t", TensorProto.FLOAT, [1], [0.5]),
}


class Node(NamedTuple):
    """A node to check: the types of its inputs, None where one is left out, its outputs, and attributes by type."""

    inputs: tuple[str | None, ...]
    outputs: int
    attributes: frozenset[tuple[str, str]]


def disputed(old: OpSchema, new: OpSchema) -> Node | None:
    """Return a node that onnx takes by one of two schemas and not by the other; None where none was found."""
    nodes = [*dict.fromkeys([*_nodes(old), *_nodes(new)])]
    for node, before, after in zip(nodes, _legal(old, nodes), _legal(new, nodes), strict=True):
        if before != after:
            return node
    return None


def _nodes(schema: OpSchema) -> Iterator[Node]:
    """Yield nodes that a schema describes, and some that it does not."""
    bound = {name: types[0] for name, types in schema.types.items() if types}
    required = frozenset((each.name, each.type) for each in schema.attributes.values() if each.required)
    outputs = min(max(schema.min_output, 1), MOST)
    formal = [*schema.inputs][:MOST]
    if formal and formal[-1].option == VARIADIC:
        formal += [formal[-1]] * 2
    base = tuple(bound.get(each.type, each.type) for each in formal)
    least = min(schema.min_input, len(base))
    for count in range(max(0, least - 1), len(base) + 1):
        yield Node(base[:count], outputs, required)
    yield Node((*base, "tensor(float)"), outputs, required)
    for index in range(len(base)):
        yield Node((*base[:index], None, *base[index + 1 :]), outputs, required)
    for count in range(1, min(schema.max_output, MOST) + 2):
        yield Node(base[:least], count, required)
    for name, types in schema.types.items():
        for type in types:
            yield Node(tuple((bound | {name: type}).get(each.type, each.type) for each in formal), outputs, required)
    for (one, first), (other, second) in itertools.combinations(enumerate(formal), 2):
        for left, right in itertools.product(schema.allowed_types(first)[:3], schema.allowed_types(second)[:3]):
            mixed = [*base]
            mixed[one], mixed[other] = left, right
            yield Node(tuple(mixed), outputs, required)
    for each in schema.attributes.values():
        own = frozenset([(each.name, each.type)])
        yield Node(base, outputs, required - own if each.required else required | own)


def _legal(schema: OpSchema, nodes: list[Node]) -> list[bool]:
    registered = _onnx_schema(schema)
    defs.register_schema(registered)
    try:
        return [_is_legal(node) for node in nodes]
    finally:
        defs.deregister_schema("Judged", 1, DOMAIN)


def _onnx_schema(schema: OpSchema) -> defs.OpSchema:
    def formal(each: Parameter) -> defs.OpSchema.FormalParameter:
        option = getattr(defs.OpSchema.FormalParameterOption, _OPTIONS.get(each.option, "Single"))
        return defs.OpSchema.FormalParameter(
            each.name, each.type, param_option=option, is_homogeneous=each.homogeneous, min_arity=each.min_arity
        )

    return defs.OpSchema(
        "Judged",
        DOMAIN,
        1,
        doc="",
        inputs=[formal(each) for each in schema.inputs],
        outputs=[formal(each) for each in schema.outputs],
        type_constraints=[(name, list(types), "") for name, types in schema.types.items()],
        attributes=[
            defs.OpSchema.Attribute(each.name, defs.OpSchema.AttrType[each.type.upper()], "", required=each.required)
            for each in schema.attributes.values()
        ],
    )


def _is_legal(node: Node) -> bool:
    model = _model(node)
    if model is None:  # onnx has no text for such a type, or no value is at hand: nothing is known of it
        return True
    try:
        onnx.checker.check_model(model)
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return False
    return True


def _model(node: Node) -> onnx.ModelProto | None:
    names = ["" if type is None else f"x{index}" for index, type in enumerate(node.inputs)]
    infos = []
    for name, type in zip(names, node.inputs, strict=True):
        proto = None if type is None else _type(type)
        if type is not None and proto is None:
            return None
        infos += [] if proto is None else [helper.make_value_info(name, proto)]
    if any(type not in _SAMPLES for _, type in node.attributes):
        return None
    outputs = [f"y{index}" for index in range(node.outputs)]
    made = helper.make_node("Judged", names, outputs, domain=DOMAIN)
    made.attribute.extend(helper.make_attribute(name, _SAMPLES[type]) for name, type in sorted(node.attributes))
    graph = helper.make_graph([made], "judged", infos, [])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(DOMAIN, 1)], ir_version=10)


def _type(text: str) -> TypeProto | None:
    kind, _, inner = text.partition("(")
    inner = inner[:-1]
    if kind == "tensor" and inner.upper() in TensorProto.DataType.DESCRIPTOR.values_by_name:
        return helper.make_tensor_type_proto(TensorProto.DataType.Value(inner.upper()), [])
    held = _type(inner) if kind in ("seq", "optional") else None
    if held is None:
        return None
    return helper.make_sequence_type_proto(held) if kind == "seq" else helper.make_optional_type_proto(held)
