"""Rules about functions of a model: their signatures, the operators that they use, and the nodes that call them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from opset.checker.rules.nodes import WHY_OF_ATTRIBUTES, attribute_fault
from opset.checker.table import CHECKER, WARNING, CheckContext
from opset.errors import Finding, ModelError, brief_name, listing, quote
from opset.model.attributes import attribute_type
from opset.model.graph.index import Body, FunctionKey, Operator, bodies_below, call_order, function_faults
from opset.opsets.registry import Registry, default_registry
from opset.schemas import quirks
from opset.schemas.names import domain_name


@CHECKER.rule("G401", Body)
def check_function_identity(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each of name and domain that a function does not state; nothing for a graph."""
    if body.function:
        missing = [] if body.proto.name else ["name"]
        missing += [] if body.proto.HasField("domain") else ["domain"]
        for field in missing:
            why = "a node calls a function by its domain and name"
            yield Finding("G401", f"the function has no {field}", body.label, why, f"set its {field}")


@CHECKER.rule("M113", CheckContext)
def check_functions_unique(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each function with the domain, name and overload of an earlier one."""
    yield from function_faults(context.bodies)


@CHECKER.rule("M114", CheckContext)
def check_recursion(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding if functions call each other, or themselves, in a cycle. Graphs in their nodes count."""
    try:
        call_order(context.functions)
    except ModelError as error:
        yield from error.findings


@CHECKER.rule("G402", Body)
def check_attribute_names(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each name that several attributes of a function have, and one if an attribute has no name."""
    for name, count in Counter(_attribute_names(body)).items():
        if not name:
            why = "a call gives a value to an attribute by its name"
            yield Finding("G402", "an attribute has no name", body.label, why, "name it, or remove it")
        elif count > 1:
            why = "an attribute is listed once, with a default or without"
            message = f"{count:,} attributes have the name {quote(name)}"
            yield Finding(
                "G402", message, body.label, why, "keep the entry in attribute, or the one in attribute_proto"
            )


@CHECKER.rule("W402", Body, severity=WARNING)
def check_attributes_apart(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each attribute of a function with the name of one of its inputs or outputs."""
    values = {*body.input_names(), *body.output_names()} if body.function else ()
    for name in dict.fromkeys(_attribute_names(body) if values else ()):
        if name and name in values:
            message = f"the attribute {quote(name)} has the name of an input or output"
            why = "attributes, inputs and outputs of an operator have different names"
            yield Finding("W402", message, body.label, why, "rename one of them")


@CHECKER.rule("W403", CheckContext, severity=WARNING)
def check_operators_of_functions(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each function that has the name of an operator of the standard at the model's import.

    A node with an overload calls a function in any case.
    """
    imports = context.imports(context.main)
    for (domain, name, overload), body in context.functions.items():
        may_be_either = not overload and domain in imports
        since = _since(name, domain, imports[domain], default_registry()) if may_be_either else None
        if since is not None:
            message = f"{domain_name(domain)} has an operator {quote(name)}, too, since version {since}"
            why = "each runtime decides whether the function or the operator is computed; opset takes the function"
            yield Finding("W403", message, body.label, why, "rename the function in its calls, too, or remove it")


@CHECKER.rule("G403", Body)
def check_defaults(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each default of a function's attribute that refers to another attribute, not a value."""
    for default in body.proto.attribute_proto if body.function else ():
        if default.ref_attr_name:
            message = f"the default of the attribute {quote(default.name)} is a reference"
            why = "nothing is around a function whose attributes it could refer to"
            help = "give it a value, or list the name in attribute, without a default"
            yield Finding("G403", message, body.label, why, help)


@CHECKER.rule("G305 G306", CheckContext)
def check_default_values(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each default of a function's attribute with a missing or wrong type or value.

    Defaults that are references, or have no name, are left out: other rules find them.
    """
    for body in context.bodies:
        for default in body.proto.attribute_proto if body.function else ():
            fault = (
                None
                if default.ref_attr_name or not default.name
                else attribute_fault(default, None, context.ir_version)
            )
            if fault:
                yield Finding(fault[0], fault[1], body.label, WHY_OF_ATTRIBUTES[fault[0]], fault[2])


@CHECKER.rule("G404", Body)
def check_outputs_unique(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each name that several outputs of a function have."""
    names = body.output_names() if body.function else []
    for name, count in Counter(names).items():
        if name and count > 1:
            message = f"{count:,} outputs have the name {quote(name)}"
            why = "the outputs of a function have different names"
            yield Finding("G404", message, body.label, why, "copy the value by an Identity, and return the copy")


@CHECKER.rule("W401", CheckContext, severity=WARNING)
def check_domains_of_functions(context: CheckContext) -> Iterator[Finding]:
    """Yield one finding for each domain that has functions in the model, and that the model does not import."""
    found = {*context.imports(context.main)}
    for domain, name, _ in context.functions:
        if domain not in found:
            found.add(domain)
            message = f"the model does not import the domain {brief_name(domain)!r} of its function {quote(name)}"
            why = "the version that the model imports is the version of the function"
            yield Finding("W401", message, "opset_import", why, "add an opset_import of the domain")


@CHECKER.rule("G406", CheckContext)
def check_compatibility(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for an operator in a function that has another version there than by the model's imports.

    There is one finding for each operator and body. If the model does not import the domain, the function is compared
    with the first function that does.
    """
    versions = dict(context.imports(context.main))
    owners = dict.fromkeys(versions, "the model")
    for body in context.bodies:
        for domain, version in context.imports(body).items() if body.function else ():
            versions.setdefault(domain, version)
            owners.setdefault(domain, body.label)
    for body in context.bodies:
        own = context.imports(body) if body.root.function else {}
        moved = {domain for domain, version in own.items() if versions[domain] != version}
        first: dict[Operator, int] = {}
        for index, operator in enumerate(body.operators if moved else ()):
            if operator[1] in moved:
                first.setdefault(operator, index)
        for (name, domain), index in first.items():
            here, there = (_since(name, domain, each[domain], context.registry) for each in (own, versions))
            if here != there and body.function_key(index) not in context.functions:
                message = (
                    f"{brief_name(name)} has version {here or 'none'} here, and {there or 'none'} in {owners[domain]}"
                )
                why = f"they import {domain_name(domain)} at {own[domain]} and {versions[domain]}"
                help = "convert the model or the function, so that the operator means the same in both"
                yield Finding("G406", message, body.location(index), why, help)


class _Signature(NamedTuple):
    """How a function may be called.

    - `inputs`, `outputs`: their numbers;
    - `attributes`: the types that each attribute may have, by name; {} if any is possible;
    - `listed`: the names of the attributes as a text;
    - `required`: attributes without a default that an operator in the function requires, with the operator's name.
    """

    inputs: int
    outputs: int
    attributes: dict[str, set[str]]
    listed: str
    required: dict[str, str]


@CHECKER.rule("G321 G322 G324 G325 G326 G405", CheckContext)
def check_calls(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each way in which a node does not fit the function of the model that it calls.

    - G321, G322: it gives more inputs than the function has, or takes more outputs;
    - G324, G325: it gives an attribute that the function does not have, or one of another type;
    - G326: it leaves out an attribute that has no default and that an operator in the function requires;
    - G405: the model has no function with the overload that the node names.
    """
    overloads: dict[Operator, list[str]] = {}
    for domain, name, overload in context.functions:
        overloads.setdefault((name, domain), []).append(overload)
    signatures: dict[FunctionKey, _Signature] = {}
    for body in context.bodies:
        for index, operator in enumerate(body.operators):
            if operator not in overloads and not body.nodes[index].overload:
                continue
            key = body.function_key(index)
            function = context.functions.get(key)
            if function is None:
                if key[2] or (operator in overloads and key[0] not in context.registry.domains):
                    yield _overload_fault(key, overloads.get(operator, []), body.location(index))
                continue
            if key not in signatures:
                signatures[key] = _signature_of(function, context)
            yield from _misfits(signatures[key], body, index)


def _overload_fault(key: FunctionKey, overloads: list[str], place: str) -> Finding:
    """Return the finding for a node that names an overload, `key`, which the model does not have.

    `key` is (domain, name, overload). `overloads` are those that the function has, [] if there is no such function.
    """
    message = f"no function {quote(key[1])} has the overload {quote(key[2])}"
    known = listing(overloads, show=lambda overload: brief_name(overload) or "''")
    why = f"the model has the overloads {known}" if overloads else "the model has no function of this name"
    help = "name an overload that the model has, or none if the operator is no function"
    return Finding("G405", message, place, why, help)


def _signature_of(function: Body, context: CheckContext) -> _Signature:
    """Return how a function may be called.

    An attribute may have the type of its default, and the types of the attributes in the function that refer to it.
    """
    types: dict[str, set[str]] = {name: set() for name in _attribute_names(function)}
    for default in function.proto.attribute_proto:
        types[default.name].add(attribute_type(default))
    versions = context.imports(function)
    without_default = {*function.proto.attribute}
    required: dict[str, str] = {}
    for body in bodies_below(function):
        for index, attributes in enumerate(body.attributes):
            for attribute in attributes:
                reference = attribute.ref_attr_name
                if reference in types and attribute.type:
                    types[reference].add(attribute_type(attribute))
                if reference in without_default and _is_required(
                    attribute.name, body.operators[index], versions, context
                ):
                    required.setdefault(reference, brief_name(body.operators[index][0]))
    listed = listing([each or "''" for each in types]) or "none"
    return _Signature(len(function.input_names()), len(function.output_names()), types, listed, required)


def _is_required(attribute: Any, operator: Operator, versions: Mapping[str, int], context: CheckContext) -> bool:
    """Return whether an operator, (name, domain), requires an attribute at the versions that are imported.

    The result is False if the operator or the attribute is not known.
    """
    name, domain = operator
    if domain not in versions:
        return False
    schema = context.registry.schema(name, versions[domain], domain)
    return schema is not None and attribute in schema.attributes and schema.attributes[attribute].required


def _misfits(signature: _Signature, body: Body, index: int) -> Iterator[Finding]:
    """Yield a finding for each way in which the node at `index` does not fit the function that it calls."""
    help = "correct the call, or the function"
    for code, words, given, most in (
        ("G321", "inputs", len(body.reads[index]), signature.inputs),
        ("G322", "outputs", len(body.computes[index]), signature.outputs),
    ):
        if given > most:
            message = f"the node has {given:,} {words}, and the function {most:,}"
            yield Finding(code, message, body.location(index), "they belong to each other by position", help)
    for attribute in body.attributes[index]:
        name, kind = attribute.name, attribute_type(attribute)
        if not name or quirks.is_internal(name):
            continue
        types = signature.attributes.get(name)
        if types is None:
            message, why = f"the function has no attribute {quote(name)}", f"its attributes: {signature.listed}"
            yield Finding("G324", message, body.location(index), why, help)
        elif types and kind not in types:
            message = f"the attribute {quote(name)} is of type {kind}"
            why = f"in the function it is of type {' and '.join(sorted(types))}"
            yield Finding("G325", message, body.location(index), why, help)
    missing = signature.required.keys() - {each.name for each in body.attributes[index]} if signature.required else ()
    for name in sorted(missing, key=str):
        message = f"the attribute {quote(name)} is missing"
        why = f"it has no default, and {signature.required[name]} in the function requires it"
        yield Finding("G326", message, body.location(index), why, "give the attribute, or the function a default")


def _attribute_names(body: Body) -> list[str]:
    """Return the names of a function's attributes, those with defaults last; [] for a graph."""
    if not body.function:
        return []
    return [*body.proto.attribute, *[default.name for default in body.proto.attribute_proto]]


def _since(name: str, domain: str, version: int, registry: Registry) -> int | None:
    """Return the since_version of an operator at a version of its domain, None if it does not exist or is not known."""
    schema = registry.schema(name, version, domain) if domain in registry.domains else None
    return None if schema is None else schema.since_version
