"""Rules about nodes: whether each fits its operator at the version that the model imports.

Nodes of one form are checked once: an operator with as many inputs and outputs and the same attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from opset.checker.table import CHECKER, WARNING, CheckContext
from opset.errors import Finding, brief_name, listing, quote, safe_text
from opset.model.attributes import FIELDS, attribute_type, attribute_value
from opset.model.graph.index import Body, Operator
from opset.schemas import quirks
from opset.schemas.constraints.signature import (
    ATTRIBUTE_TYPE,
    BOOL,
    INPUT_COUNT,
    MISSING_ATTRIBUTE,
    MISSING_INPUT,
    OUTPUT_COUNT,
    UNKNOWN_ATTRIBUTE,
    Misfit,
    constraint_misfits,
    node_misfits,
)
from opset.schemas.constraints.subgraphs import check_graphs
from opset.schemas.constraints.violation import Violation
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name, near_miss

_CODES = {
    INPUT_COUNT: "G321",
    OUTPUT_COUNT: "G322",
    MISSING_INPUT: "G323",
    UNKNOWN_ATTRIBUTE: "G324",
    ATTRIBUTE_TYPE: "G325",
    MISSING_ATTRIBUTE: "G326",
}
_HELP = {
    "G321": "give the inputs that the operator takes at this opset, or import the opset that the node was written for",
    "G322": "name the outputs that the operator has at this opset",
    "G323": "give the input; only optional ones may be left out",
    "G324": "remove it, or import the opset that the node was written for",
    "G325": "write the value in the field of its type, and set `type`",
    "G326": "add the attribute; it has no default",
}
_ALL_OR_FIRST = {("BatchNormalization", "")}
"""Operators whose nodes have all outputs, or the first alone."""
_VALUE_FIELDS = {field for _, field in FIELDS.values()}
_SMALL = (0, *(number for word, (number, _) in FIELDS.items() if word.rstrip("s") in ("float", "int", "string")))
"""Types of attributes whose values are part of a node's form: numbers and texts, or a type that is not stated."""


@CHECKER.rule("G301", Body)
def check_operator_named(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each node that names no operator: its op_type is empty."""
    for index, (name, _) in enumerate(body.operators):
        if not name:
            why = "op_type says which operator a node calls"
            yield Finding("G301", "the node names no operator", body.location(index), why, "set its op_type")


@CHECKER.rule("G302", Body)
def check_outputs_given(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each node that has no output."""
    for index, names in enumerate(body.computes):
        if not any(names):
            why = "a node has at least one output; nothing can use what it computes"
            yield Finding("G302", "the node has no output", body.location(index), why, "name its output, or remove it")


WHY_OF_ATTRIBUTES = {
    "G303": "attributes are found by their names",
    "G304": "a reader may take either",
    "G305": "a reader looks for the value in the field of this type",
    "G306": "an attribute has one value, in the field of its type",
    "G307": "only a function has attributes that its nodes can refer to",
    "G308": "the value comes from the call of the function, by the name of one of its attributes",
}
"""What attributes are for, by the codes of those that are malformed."""


def attribute_fault(attribute: Any, declared: set[str] | None, ir_version: int) -> tuple[str, str, str] | None:
    """Return (code, message, help) for an attribute that is malformed in itself, None if it is not.

    `declared` are the attributes of the function that it is in, None outside of functions. Faults are: no name, a
    reference to nothing, no type or one that does not exist, and values that are missing or in a field of another type.
    """
    fields = [field.name for field, _ in attribute.ListFields()]
    values = [name for name in fields if name in _VALUE_FIELDS]
    shown = quote(attribute.name)
    if not attribute.name:
        return "G303", "an attribute has no name", "name it as the operator does"
    if attribute.ref_attr_name:
        reference = quote(attribute.ref_attr_name)
        if declared is None:
            message = f"the attribute {shown} refers to {reference}, and is in no function"
            return "G307", message, "give it a value"
        if attribute.ref_attr_name not in declared:
            message = f"the attribute {shown} refers to {reference}, which the function does not have"
            return "G308", message, "add it to the attributes of the function"
        if values:
            return "G308", f"the attribute {shown} refers to {reference}, and holds a value", "remove the value"
    if not attribute.type:
        if ir_version >= 2:
            return "G305", f"the attribute {shown} states no type", "set its type; `opset check --fix` does this"
        return ("G306", f"the attribute {shown} holds values in {listing(values)}", "keep one") if values[1:] else None
    kind = attribute_type(attribute)  # a number that is no type is no known field of the message, and so absent
    expected = FIELDS[kind][1]
    others = [name for name in values if name != expected]
    if others:
        message = f"the attribute {shown} is of type {kind}, and holds a value in {listing(others)}"
        return "G306", message, f"write the value to {expected} alone"
    if not values and not attribute.ref_attr_name and not kind.endswith("s"):
        return "G306", f"the attribute {shown} holds no value", f"set {expected}"
    return None


@CHECKER.rule("G311 G313 G314", Body)
def check_operators(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each node whose operator does not exist at the version of its domain that is imported.

    - G311: the domain never had such an operator;
    - G313: the operator came with a later version than the model imports;
    - G314: the operator was withdrawn before.

    Domains without schemas, and calls of the model's functions, are left out.
    """
    faults: dict[Operator, tuple[str, str, str, str] | None] = {}
    versions = context.imports(body)
    for index, operator in enumerate(body.operators):
        if operator not in faults:
            faults[operator] = _operator_fault(operator, versions, context)
        fault = faults[operator]
        if fault and body.function_key(index) not in context.functions:
            yield Finding(fault[0], fault[1], body.location(index), fault[2], fault[3])


@CHECKER.rule("G312", Body, optional=True)
def check_operators_known(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each node of a domain without schemas, unless it calls a function of the model."""
    unknown = {each for each in {*body.operators} if each[1] not in context.registry.domains}
    for index, (name, domain) in enumerate(body.operators if unknown else ()):
        if (name, domain) in unknown and body.function_key(index) not in context.functions:
            why = "no schemas of its domain are known, and the model has no function of this name"
            message = f"the operator {brief_name(domain)}.{brief_name(name)} is not known"
            yield Finding("G312", message, body.location(index), why, "name its schemas: --schemas DIR")


def _operator_fault(
    operator: Operator, versions: Mapping[str, int], context: CheckContext
) -> tuple[str, str, str, str] | None:
    """Return (code, message, reason, help) for an operator that does not exist at the imported version, else None.

    None is returned, too, if the domain is not imported or has no schemas. The operator is (name, domain).
    """
    name, domain = operator
    registry = context.registry
    shown = brief_name(name) if not domain else f"{brief_name(domain)}.{brief_name(name)}"
    version = versions.get(domain)
    if not name or version is None or not isinstance(name, str) or domain not in registry.domains:
        return None
    schema = registry.schema(name, version, domain)
    if schema is not None and schema.deprecated:
        newer = f"use {schema.replacement}" if schema.replacement else "express it by other operators"
        if schema.replacement == name:
            versions_of = registry.versions(name, domain)
            next_one = next(each for each in versions_of if each.since_version > schema.since_version)
            newer = f"import {domain_name(domain)} {next_one.since_version} or newer, whose {shown} is another"
        why = f"{shown} was withdrawn with version {schema.since_version}"
        return "G314", f"the operator {shown} does not exist at version {version}", why, newer
    if schema is not None:
        return None
    later = registry.versions(name, domain)
    if later:
        why = f"{shown} came with version {later[0].since_version}"
        help = f"import {domain_name(domain)} {later[0].since_version} or newer; see --assume-opset auto"
        return "G313", f"the operator {shown} does not exist at version {version}", why, help
    help = registry.near_miss(name, domain)
    return "G311", f"{domain_name(domain)} has no operator {brief_name(name)}", "it never had one of this name", help


@CHECKER.rule("G303 G304 G305 G306 G307 G308 G321 G322 G323 G324 G325 G326 G327 G328", Body)
def check_signatures(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each malformed attribute, and each way in which a node does not fit its operator.

    - G303: an attribute has no name;
    - G304: two attributes of a node have one name;
    - G305: an attribute states no type, or none that exists (IR version 2 and up);
    - G306: it holds values in several fields, or in a field of another type, or none;
    - G307: it refers to an attribute of a function, and is in no function;
    - G308: it refers to an attribute that the function does not have, or holds a value as well;
    - G321, G322: the node has too few or too many inputs or outputs;
    - G323: a required input is left out;
    - G324, G325, G326: an attribute is unknown, of the wrong type, or missing;
    - G327: the value of an attribute is not legal;
    - G328: a graph in it has the wrong number of inputs or outputs.
    """
    versions = context.imports(body)
    declared: set[str] | None = None
    if body.root.function:
        function = body.root.proto
        declared = {*function.attribute, *[each.name for each in function.attribute_proto]}
    schemas: dict[Operator, OpSchema | None] = {}
    sound: set[tuple[Any, ...]] = set()
    for index, (operator, reads, computes, attributes) in enumerate(
        zip(body.operators, body.reads, body.computes, body.attributes, strict=True)
    ):
        form = form_of(operator, reads, computes, attributes)
        if form in sound:
            continue
        findings = [*_attribute_findings(body, index, declared, context.ir_version)]
        if operator not in schemas:
            schemas[operator] = _schema_of(operator, versions, context)
        schema = schemas[operator]
        if schema is not None and body.function_key(index) not in context.functions:
            findings += node_findings(
                schema, versions[schema.domain], body, index, context.registry.versions(*body.operators[index])
            )
        if not findings and None not in form:
            sound.add(form)
        yield from findings


def form_of(
    operator: Operator, reads: Sequence[str], computes: Sequence[str], attributes: Sequence[Any]
) -> tuple[Any, ...]:
    """Return a key of a node: nodes with equal keys fit their operator alike, or do not.

    The key has the operator, the number of inputs (or which of them are given), the number of outputs, and the
    attributes. An attribute that is no number or text, such as a tensor, is None in it: nodes with such keys have to be
    compared themselves.
    """
    form: tuple[Any, ...] = (operator, tuple(map(bool, reads)) if "" in reads else len(reads), len(computes))
    if attributes:
        form += tuple([each.SerializeToString() if each.type in _SMALL else None for each in attributes])
    return form


def _attribute_findings(body: Body, index: int, declared: set[str] | None, ir_version: int) -> Iterator[Finding]:
    """Yield a finding for each attribute of a node that is malformed, or has the name of an earlier one.

    This does not depend on the operator. `declared` are the attributes of the function that the node is in, None
    outside of functions.
    """
    names: set[str] = set()
    for attribute in body.attributes[index]:
        fault = attribute_fault(attribute, declared, ir_version)
        if attribute.name in names:
            fault = "G304", f"the attribute {quote(attribute.name)} stands twice", "keep the one that is meant"
        names.add(attribute.name)
        if fault:
            yield Finding(fault[0], fault[1], body.location(index), WHY_OF_ATTRIBUTES[fault[0]], fault[2])


def _schema_of(operator: Operator, versions: Mapping[str, int], context: CheckContext) -> OpSchema | None:
    """Return the schema of an operator, (name, domain), at its import; None if there is none or it was withdrawn."""
    name, domain = operator
    if domain not in versions or not isinstance(name, str) or not isinstance(domain, str):
        return None
    schema = context.registry.schema(name, versions[domain], domain)
    return None if schema is None or schema.deprecated else schema


def node_findings(
    schema: OpSchema, version: int, body: Body, index: int, versions: Sequence[OpSchema] = ()
) -> Iterator[Finding]:
    """Yield a finding for each way in which one node does not fit its schema: inputs, outputs, attributes, graphs.

    Args:
        schema: The schema.
        version: The version of its domain that the body imports.
        body: The graph or function.
        index: The index of the node.
        versions: All versions of the operator, oldest first. The help for an unknown attribute names a newer one that
            has it.
    """
    place = body.location(index)
    attributes = {each.name: each for each in body.attributes[index]}
    types = {
        name: None if each.ref_attr_name else attribute_type(each)
        for name, each in attributes.items()
        if not quirks.is_internal(name)
    }
    misfits = [*node_misfits(schema, body.reads[index], body.computes[index], types)]
    for misfit in misfits:
        code = _CODES[misfit.kind]
        yield Finding(code, misfit.what, place, misfit.why, _misfit_help(code, schema, misfit, versions))
    count = len(body.computes[index])
    if (schema.name, schema.domain) in _ALL_OR_FIRST and 1 < count < schema.max_output:
        why = f"{schema.name} {schema.since_version} has 1 or {schema.max_output}"
        yield Finding("G322", f"the node has {count} outputs", place, why, _HELP["G322"])
    values = {name: attribute_value(each) for name, each in attributes.items() if not each.ref_attr_name}
    wrong = {misfit.name for misfit in misfits}
    for misfit in constraint_misfits(schema, {name: value for name, value in values.items() if name not in wrong}):
        why = f"{misfit.why} (constraint {misfit.constraint})"
        yield Finding("G327", misfit.what, place, why, "correct the value, or import the opset that it came with")
    graphs = {name: each.g for name, each in attributes.items() if types.get(name) == "graph"}
    if graphs and not misfits and not schema.domain:
        scans = values.get("num_scan_inputs")
        counts = len(body.reads[index]), len(body.computes[index])
        try:
            scanned = scans if isinstance(scans, int) else None
            check_graphs(schema.name, version, *counts, graphs, scanned, strict=True)
        except Violation as violation:
            why = f"constraint {violation.label} of {schema.name} {schema.since_version}"
            help = "give the graph the inputs and outputs that the node passes and takes"
            yield Finding("G328", safe_text(violation.detail), place, why, help)


def _misfit_help(code: str, schema: OpSchema, misfit: Misfit, versions: Sequence[OpSchema]) -> str:
    """Return the help for a way in which a node does not fit.

    For an unknown attribute (G324), it is the known name that is alike, or the first newer version that has the
    attribute.
    """
    if code == "G324" and (guess := near_miss(misfit.name, schema.attributes)):
        return guess
    newer = (each for each in versions if each.since_version > schema.since_version and misfit.name in each.attributes)
    if code == "G324" and (having := next(newer, None)) is not None:
        version = f"{schema.domain}={having.since_version}" if schema.domain else f"{having.since_version}"
        alternative = "or remove it, if it has no effect"
        return f"import version {having.since_version}, which has it: --assume-opset {version}; {alternative}"
    return _HELP[code]


@CHECKER.rule("W301", Body, severity=WARNING)
def check_internal_attributes(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for the first node of each operator with an attribute whose name begins with "__".

    Runtimes leave such attributes in models; others ignore them.
    """
    seen: set[Operator] = set()
    for index, attributes in enumerate(body.attributes):
        for attribute in attributes:
            if quirks.is_internal(attribute.name) and body.operators[index] not in seen:
                seen.add(body.operators[index])
                message = f"the attribute {quote(attribute.name)} is not in the operator's signature"
                why = "its name begins with two underscores: some runtime left it there, and others ignore it"
                yield Finding("W301", message, body.location(index), why, "remove it, unless that runtime needs it")


_OF_WINDOWS = {"kernel_shape", "strides", "dilations", "pads", "output_padding", "output_shape"}
"""Attributes that have a value, or two, for each spatial axis."""


@CHECKER.rule("W303", Body, severity=WARNING)
def check_windows_given(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each attribute with values for each spatial axis, such as `pads`, that is an empty list."""
    for index, attribute in empty_windows(body):
        message = f"the attribute {quote(attribute.name)} has no values"
        why = "it has values for each spatial axis; an empty list counts as none given, and some readers refuse it"
        yield Finding("W303", message, body.location(index), why, "remove it; `opset check --fix` does this")


def empty_windows(body: Body) -> Iterator[tuple[int, Any]]:
    """Yield (index of its node, attribute) for attributes with values for each spatial axis that are empty lists.

    Such attributes are `kernel_shape`, `strides`, `dilations`, `pads`, `output_padding` and `output_shape`.
    """
    ints = FIELDS["ints"][0]
    for index, attributes in enumerate(body.attributes):
        for each in attributes:
            if each.type == ints and each.name in _OF_WINDOWS and not each.ints and not each.ref_attr_name:
                yield index, each


@CHECKER.rule("W304", Body, severity=WARNING)
def check_flags(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each attribute that is a flag by its schema, and is neither 0 nor 1.

    Flags with a constraint of their own, references, and calls of the model's functions are left out.
    """
    versions = context.imports(body)
    schemas = {operator: _schema_of(operator, versions, context) for operator in {*body.operators}}
    for index, (operator, attributes) in enumerate(zip(body.operators, body.attributes, strict=True)):
        schema = schemas[operator]
        if schema is None or body.function_key(index) in context.functions:
            continue
        for each in attributes:
            declared = schema.attributes.get(each.name)
            if declared is None or declared.kind != BOOL or declared.constraint or each.ref_attr_name:
                continue
            if each.type == FIELDS["int"][0] and each.i not in (0, 1):
                message = f"the attribute '{declared.name}' is {each.i}"
                why = "it is a flag, 0 or 1; some readers take any other number for 1, some for 0"
                yield Finding("W304", message, body.location(index), why, "write the one that is meant")


AXES = 1
"""The index of the input `axes` of Squeeze and Unsqueeze."""
_WITH_AXES = ("Squeeze", ""), ("Unsqueeze", "")
_AXES_SINCE = 13
"""The version from which these have the input."""


class ScalarAxes(NamedTuple):
    """A Squeeze or Unsqueeze whose axes are a constant scalar, though they should be a vector.

    The node is at index `node` of `body`. Its axes are the value `name` of the body `holder`: computed by the node at
    `producer`, or an initializer if that is negative.
    """

    body: Body
    node: int
    holder: Body
    producer: int
    name: str


@CHECKER.rule("W302", Body, severity=WARNING)
def check_scalar_axes(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each Squeeze or Unsqueeze whose axes are a scalar that is an initializer or a Constant."""
    for axes in scalar_axes(body, context):
        message = f"the axes {quote(axes.name)} are a scalar"
        why = f"{body.operators[axes.node][0]} takes a vector; some runtimes refuse a scalar"
        help = "give it one dimension; `opset check --fix` does this"
        yield Finding("W302", message, body.location(axes.node), why, help)


def scalar_axes(body: Body, context: CheckContext) -> Iterator[ScalarAxes]:
    """Yield the Squeeze and Unsqueeze nodes of a body whose input `axes` is a scalar initializer or Constant.

    Nothing is yielded below version 13 of ai.onnx, in which axes are an attribute.
    """
    if {*_WITH_AXES}.isdisjoint(body.operators) or context.imports(body).get("", 0) < _AXES_SINCE:
        return
    initializers: dict[Body, set[str]] = {}
    for index, operator in enumerate(body.operators):
        reads = body.reads[index]
        if operator not in _WITH_AXES or len(reads) <= AXES or not reads[AXES]:
            continue
        name = reads[AXES]
        holder: Body | None = body
        while holder is not None and name not in holder.definitions:
            holder = holder.parent
        if holder is None:
            continue
        producer = holder.definitions[name]
        if producer < 0 and holder not in initializers:
            initializers[holder] = _constant_scalars(holder, context.ir_version)
        if name in initializers[holder] if producer < 0 else _is_constant_scalar(holder, producer):
            yield ScalarAxes(body, index, holder, producer, name)


def _constant_scalars(body: Body, ir_version: int) -> set[str]:
    """Return the names of a body's scalar initializers that no caller can replace; none for a function."""
    if body.function:
        return set()
    scalars = {tensor.name for tensor in body.proto.initializer if not tensor.dims}
    return scalars if ir_version < 4 else scalars.difference(body.input_names())


def _is_constant_scalar(body: Body, index: int) -> bool:
    """Return whether the node at `index` is a Constant of an integer, or of a tensor without dimensions."""
    return body.operators[index] == ("Constant", "") and any(
        (each.name == "value_int" and each.HasField("i"))
        or (each.name == "value" and each.HasField("t") and not each.t.dims)
        for each in body.attributes[index]
    )
