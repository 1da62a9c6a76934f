"""Function bodies of operators as FunctionProtos, and what FunctionProtos of others say of their operators.

A FunctionProto computes the operator for all its nodes and types. A body that serves only some is left to the
declaration, and so is one whose nodes are not valid at the opset that the function imports.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from opset.errors import ModelError, SchemaError, quote
from opset.model import proto as pb
from opset.model.attributes import FIELDS, attribute_type, attribute_value, fill_attribute
from opset.model.elements import ELEMENTS
from opset.model.text.printing import to_text
from opset.schemas.constraints.signature import arity_misfits, attribute_misfits
from opset.schemas.diff import short_float
from opset.schemas.function_bodies import body_nodes
from opset.schemas.index import standard_versions
from opset.schemas.lint.body_rules import Versions
from opset.schemas.model import VARIADIC, OpSchema
from opset.schemas.names import domain_name, normalize_domain

WITH_DEFAULT = ("int", "float", "string", "ints", "floats", "strings")
"""The types of attributes of which YAML holds a default."""
_WRAPPERS = {"sequence_type": "seq", "optional_type": "optional"}


def functions_of(schema: OpSchema, version: int, opset: int, versions: Versions) -> Iterator[Any]:
    """Yield the FunctionProto of an operator, if one of its bodies serves all nodes and types.

    Args:
        schema: The operator.
        version: The version of its operator set.
        opset: The opset of ai.onnx that the function imports.
        versions: Returns all versions of an operator that the body may use.
    """
    body = next((each for each in schema.function_bodies(opset) if not each.where and not each.types), None)
    if body is None or any(each.option == VARIADIC for each in (*schema.inputs, *schema.outputs)):
        return
    try:
        nodes = body_nodes(body.nodes)
    except SchemaError:  # lint reports it
        return
    imports = {"": opset, schema.domain: version}
    used = {normalize_domain(node.domain) for node in nodes} | {""}
    if not all(_is_valid(node, imports, versions) for node in nodes):
        return
    function = pb.FunctionProto(
        name=schema.name,
        domain=schema.domain,
        input=[each.name for each in schema.inputs],
        output=[each.name for each in schema.outputs],
        node=nodes,
        opset_import=[pb.OperatorSetIdProto(domain=each, version=imports[each]) for each in sorted(used)],
    )
    for attribute in schema.attributes.values():
        if attribute.default is None:
            function.attribute.append(attribute.name)
            continue
        fill_attribute(function.attribute_proto.add(), attribute.name, attribute.type, attribute.default)
    yield function


def _is_valid(node: Any, imports: Mapping[str, int], versions: Versions) -> bool:
    """Whether a node of a body fits its operator at the imported versions."""
    domain = normalize_domain(node.domain)
    known = versions(domain, node.op_type)
    schema = next((each for each in reversed(known) if each.since_version <= imports.get(domain, 0)), None)
    if schema is None or schema.deprecated:
        return False
    types = {each.name: attribute_type(each) for each in node.attribute}
    faults = (
        *arity_misfits(schema, node.input),
        *arity_misfits(schema, node.output, outputs=True),
        *attribute_misfits(schema, types),
    )
    return not faults


def declare_signature(function: Any, notes: list[str]) -> dict[str, Any]:
    """Return the keys of a version that a FunctionProto tells; `notes` get the parts that are left out."""
    title = quote(function.name)
    types = {each.name: _type_text(each.type) for each in function.value_info}
    version: dict[str, Any] = {}
    for key, names in (("inputs", function.input), ("outputs", function.output)):
        version[key] = [{"name": name, **({"type": types[name]} if types.get(name) else {})} for name in names]
    attributes: dict[str, Any] = {}
    inner = [attribute for node in function.node for attribute in node.attribute]
    for name in function.attribute:
        kinds = {attribute_type(each) for each in inner if each.ref_attr_name == name}
        if len(kinds) == 1 and kinds <= FIELDS.keys():
            attributes[name] = {"type": kinds.pop()}
        else:
            notes.append(f"the attribute {quote(name)} of {title} is left out: nothing tells its type")
    for default in function.attribute_proto:
        kind, value = attribute_type(default), attribute_value(default)
        if kind not in FIELDS:
            notes.append(f"the attribute {quote(default.name)} of {title} is left out: nothing tells its type")
            continue
        attributes[default.name] = {"type": kind}
        values = list(value) if isinstance(value, tuple) else [value]
        if kind not in WITH_DEFAULT or bytes in map(type, values):
            notes.append(f"the default of the attribute {quote(default.name)} of {title} is left out: YAML holds none")
            continue
        values = [short_float(each) if isinstance(each, float) else each for each in values]
        attributes[default.name]["default"] = values if isinstance(value, tuple) else values[0]
    if attributes:
        version["attributes"] = dict(sorted(attributes.items()))
    body, why = _body_of(function, attributes)
    if body:
        version["function"] = [body]
    elif why:
        notes.append(f"the function body of {title} is left out: {why}")
    return version


def _body_of(function: Any, attributes: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, Any], str]:
    """Return the function body of YAML that a FunctionProto has; {} and the reason if there is none.

    `attributes` are the function's, as YAML declares them. The body serves nodes that give all without default.
    """
    imports = {normalize_domain(each.domain): each.version for each in function.opset_import}
    own = normalize_domain(function.domain)
    if foreign := imports.keys() - {"", own}:
        return {}, f"it imports {domain_name(min(foreign))}, and bodies use ai.onnx and their own domain alone"
    if any(attribute_type(each).startswith("graph") for node in function.node for each in node.attribute):
        return {}, "it has a node with a graph, which bodies do not hold"
    opset = imports.get("", 1)
    for node in function.node:
        newer = [each for each in standard_versions("", node.op_type) if each.since_version > opset]
        if not normalize_domain(node.domain) and own and any(map(_means_otherwise, newer)):
            return {}, f"it is for ai.onnx {opset}, and {quote(node.op_type)} changed afterwards"
    used: set[str] = set()
    lines: list[str] = []
    try:
        for original in function.node:
            node = pb.NodeProto()
            node.CopyFrom(original)
            for attribute in node.attribute:
                kind = attributes.get(attribute.ref_attr_name, {}).get("type")
                if kind is not None:
                    used.add(attribute.ref_attr_name)
                    attribute.type = FIELDS[kind][0]
            lines.append(f"{to_text(node).strip()}\n")
        body_nodes("".join(lines))
    except (ModelError, SchemaError) as error:
        return {}, f"its nodes cannot be written as text: {error.findings[0].message}"
    given = {name: "given" for name in sorted(used) if "default" not in attributes[name]}
    body = {"opset": opset, **({"where": given} if given else {}), "nodes": "".join(lines)}
    return (body, "") if lines else ({}, "")


def _means_otherwise(schema: OpSchema) -> bool:
    """Whether a version of an operator does more than allow other types than the version before."""
    change = schema.change
    return change is not None and bool(change.meaning or {*change.diff} - {"types"})


def _type_text(type_: Any) -> str:
    """Return a TypeProto as YAML spells it, such as "seq(tensor(float))"; "" if it is none that schemas have."""
    wrappers: list[str] = []
    while (kind := type_.WhichOneof("value")) in _WRAPPERS:
        wrappers.append(_WRAPPERS[kind])
        type_ = getattr(type_, kind).elem_type
    element = ELEMENTS.get(type_.tensor_type.elem_type) if kind == "tensor_type" else None
    if element is None:
        return ""
    return "".join(f"{each}(" for each in wrappers) + f"tensor({element.name})" + ")" * len(wrappers)
