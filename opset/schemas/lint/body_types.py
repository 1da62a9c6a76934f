"""The lint rule that function bodies take the types of their versions, as far as types are known without a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opset.errors import Finding, SchemaError
from opset.model.elements import ELEMENTS
from opset.schemas.function_bodies import body_nodes
from opset.schemas.lint.body_rules import NEWEST, OperatorBodies, Versions, body_faults
from opset.schemas.lint.context import LINT
from opset.schemas.model import VARIADIC, FunctionBody, OpSchema, Parameter
from opset.schemas.names import normalize_domain


@LINT.rule("S244", OperatorBodies)
def check_body_types(bodies: OperatorBodies) -> Iterator[Finding]:
    """Yield a finding S244 for each input type of a version that one of its function bodies cannot take.

    A version is skipped if a body of it has findings S233 to S236.
    """
    operator = bodies.operator
    versions = bodies.versions
    for schema in operator.schemas:
        if next(body_faults(schema, versions), None) is not None:
            continue  # what does not fit may follow from those
        opsets = sorted(each.opset for each in schema.function)
        for body in schema.function:
            last = min((each - 1 for each in opsets if each > body.opset), default=NEWEST)
            for type_, why in refused_types(schema, body._replace(opset=last), versions):
                message = f"the function body of opset {body.opset} cannot take {type_}"
                help = "leave the type out of the version, name the body's 'types', or 'emulate' it"
                yield Finding("S244", message, operator.place(schema.since_version, "function"), why, help)


def refused_types(schema: OpSchema, body: FunctionBody, versions: Versions) -> Iterator[tuple[str, str]]:
    """Yield (type, reason) for each input type of a version, such as "tensor(float)", that its `body` cannot take.

    A reason is text such as "Add 14 does not allow tensor(bool) as A". If the body has `types`, only these are tried. A
    body that cannot be read yields nothing. `versions` returns the versions of an operator by domain and name.
    """
    constraints = {each.type for each in schema.inputs}
    for constraint in sorted(constraints & schema.types.keys()):
        for type_ in body.types.get(constraint, schema.types[constraint]):
            bound = {name: types[0] for name, types in schema.types.items()} | {constraint: type_}
            free = {name for name, types in schema.types.items() if name != constraint and len(types) > 1}
            if message := _first_misfit(schema, body, bound, free, versions):
                yield type_, message


def _first_misfit(
    schema: OpSchema, body: FunctionBody, bound: Mapping[str, str], free: set[str], versions: Versions
) -> str:
    """Return why a function body cannot compute inputs of the types in `bound`; "" if it can.

    A reason is "Add 14 does not allow tensor(bool) as A". The types are followed from node to node, up to the first
    node whose operator is unknown. A body that cannot be read gives "", too.

    Args:
        schema: The version that has the body.
        body: The function body.
        bound: A type for each type constraint of the version, such as {"T": "tensor(float)"}.
        free: The type constraints whose types count as unknown, even if `bound` has them.
        versions: Returns the versions of an operator by domain and name.
    """
    known: dict[str, str | None] = {}
    for each in schema.inputs:
        if each.type in bound and each.type not in free:
            element = bound[each.type].removeprefix("tensor(").removesuffix(")")
            known[each.name] = f"tensor({body.emulate[element]})" if element in body.emulate else bound[each.type]
        elif each.type not in schema.types:
            known[each.name] = each.type
    try:
        nodes = body_nodes(body.nodes)
    except SchemaError:  # lint says so: S233
        return ""
    opset = body.opset if schema.domain else max(body.opset, schema.since_version)
    for node in nodes:
        used = _schema_of(node, opset, versions)
        if used is None:
            return ""
        bindings: dict[str, str] = {}
        for parameter, name in _pair_names(used.inputs, node.input):
            type_ = known.get(name)
            if type_ is None:
                continue
            if type_ not in used.allowed_types(parameter):
                return f"{used.name} {used.since_version} does not allow {type_} as {parameter.name}"
            if parameter.option != VARIADIC or parameter.homogeneous:
                tied = bindings.setdefault(parameter.type, type_)
                if tied != type_:
                    return f"{used.name} takes {tied} and {type_} of one type constraint, {parameter.type}"
        for parameter, name in _pair_names(used.outputs, node.output):
            known[name] = _output_type(used, parameter, bindings, node)
    return ""


def _pair_names(parameters: Sequence[Parameter], names: Sequence[str]) -> Iterator[tuple[Parameter, str]]:
    """Yield (parameter, name) for each value of a node's inputs, or outputs, that is not left out.

    If there are more values than parameters, the last parameter, which is variadic, has all remaining ones.
    """
    for index, name in enumerate(names):
        if name and parameters:
            yield parameters[min(index, len(parameters) - 1)], name


def _schema_of(node: Any, opset: int, versions: Versions) -> OpSchema | None:
    """Return the schema of a node's operator at an opset; None if it is not of ai.onnx, or does not exist there.

    CastLike and Constant, which are replaced before a body is used, may be newer than the opset.
    """
    if normalize_domain(node.domain):
        return None
    at = max(opset, _USABLE_FROM.get(node.op_type, 0))
    return next((each for each in reversed(versions("", node.op_type)) if each.since_version <= at), None)


_USABLE_FROM = {"CastLike": 15, "Constant": 13}
_CONSTANTS = {
    f"value_{kind}{end}": f"tensor({element})"
    for kind, element in (("int", "int64"), ("float", "float"), ("string", "string"))
    for end in ("", "s")
}


def _output_type(used: OpSchema, parameter: Parameter, bindings: Mapping[str, str], node: Any) -> str | None:
    """Return the type of a node's output `parameter`; None if inputs and attributes do not decide it.

    `used` is the schema of the node's operator. `bindings` has the types of the node's inputs by its type constraints,
    such as {"T": "tensor(float)"}.
    """
    if used.name == "Constant" and node.attribute:
        return _CONSTANTS.get(node.attribute[0].name)
    if used.name == "Cast":
        number = next((each.i for each in node.attribute if each.name == "to" and not each.ref_attr_name), 0)
        return f"tensor({ELEMENTS[number].name})" if number in ELEMENTS else None
    if parameter.type in bindings:
        return bindings[parameter.type]
    allowed = used.allowed_types(parameter)
    return allowed[0] if len(allowed) == 1 else None
