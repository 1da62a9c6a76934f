"""Lint rules about function bodies: each can be read, is complete, and uses operators that its opsets have."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, NamedTuple

from opset.errors import Finding, SchemaError, safe_text
from opset.model.attributes import attribute_type
from opset.schemas.constraints.signature import arity_misfits, attribute_misfits
from opset.schemas.function_bodies import REPLACED, body_nodes, replaced_operator
from opset.schemas.index import standard_index
from opset.schemas.lint.context import LINT
from opset.schemas.model import SINGLE, VARIADIC, FunctionBody, OpSchema
from opset.schemas.names import domain_name, near_miss, normalize_domain

if TYPE_CHECKING:
    from opset.schemas.yaml.loader import Operator

Versions = Callable[[str, str], Sequence[OpSchema]]
"""All versions of an operator, by domain and name, oldest first."""
NEWEST = 2**31 - 1


@dataclass(frozen=True)
class OperatorBodies:
    """The operator whose function bodies are checked, and `versions`, which looks up the operators that they use."""

    operator: Operator
    versions: Versions


@dataclass(frozen=True)
class LinkedOperators:
    """Operators whose function bodies may use one another."""

    operators: Collection[Operator]


class _PlacedBody(NamedTuple):
    """A function body of one version, its location, and the last opset at which it is used."""

    schema: OpSchema
    body: FunctionBody
    place: str
    last: int


def body_faults(schema: OpSchema, versions: Versions) -> Iterator[Finding]:
    """Yield the faults of one version's function bodies, as findings S233 to S236.

    Every body is checked at all opsets from its own on. `versions` returns the versions of an operator by domain and
    name.
    """
    place = f"{domain_name(schema.domain)}.{schema.name} {schema.since_version}, function"
    for body in schema.function:
        yield from _check_body(_PlacedBody(schema, body, place, NEWEST), versions)


@LINT.rule("S233 S234 S235 S236", OperatorBodies)
def check_bodies(bodies: OperatorBodies) -> Iterator[Finding]:
    """Yield findings about function bodies, by code.

    - S233: The body cannot be read.
    - S234: A value is used before it is defined, defined twice or never used; an output is not computed; or the
      operator has a variadic input or output.
    - S235: An operator does not exist at the body's opsets, or a node does not fit its operator.
    - S236: A node refers to an attribute that the operator does not have, or that has another type or no value.
    """
    for use in _placed_bodies(bodies.operator):
        yield from _check_body(use, bodies.versions)


def _check_body(use: _PlacedBody, versions: Versions) -> Iterator[Finding]:
    """Yield the findings S233 to S236 on one function body; if it cannot be read, only S233.

    `versions` returns the versions of an operator by domain and name.
    """
    try:
        nodes = body_nodes(use.body.nodes)
    except SchemaError as error:
        finding = error.findings[0]
        yield finding._replace(place=use.place, why=f"at {finding.place} of its nodes, {finding.why}")
        return
    for message in _value_name_faults(use.schema, use.body, nodes):
        yield Finding("S234", message, place=use.place)
    yield from _check_operators(use, nodes, versions)
    yield from _check_references(use, nodes)


def _value_name_faults(schema: OpSchema, body: FunctionBody, nodes: Sequence[Any]) -> Iterator[str]:
    """Yield a message for each value that a body uses too early, defines twice or never uses.

    There are also messages for outputs that are not computed, and for a variadic operator, which cannot have a body.
    """
    if any(each.option == VARIADIC for each in (*schema.inputs, *schema.outputs)):
        yield "an operator with a variadic input or output has no body in text"
    known = {each.name for each in schema.inputs}
    unread: set[str] = set()
    for node in nodes:
        for name in filter(None, node.input):
            if name not in known:
                yield f"the body uses {name!r} before it is defined"
        unread.difference_update(node.input)
        for name in filter(None, node.output):
            if name in known:
                yield f"the body defines {name!r} twice"
            known.add(name)
            unread.add(name)
    outputs = [each.name for each in schema.outputs]
    for name in outputs:
        if name not in known:
            yield f"the body does not compute the output {name!r}"
    for name in sorted(unread.difference(outputs)):
        yield f"the body computes {name!r}, which nothing uses"


def _check_operators(use: _PlacedBody, nodes: Sequence[Any], versions: Versions) -> Iterator[Finding]:
    """Yield a finding S235 for each node of a function body that does not fit its operator, such as by a missing input.

    A node has to fit at every opset at which the body is used, and its operator has to exist there. A node has at most
    one finding. An optional input of the body counts as left out, unless the body requires it (`where: {B: given}`).

    A body for an opset above the newest one has a finding of its own. If no opset uses the body, its nodes are not
    checked.

    `use` is the body with the opsets that use it, and `nodes` are its nodes. `versions` returns the versions of an
    operator by domain and name.
    """
    absent = {name for name, form in use.body.where if form == "absent"}
    optional = {each.name for each in use.schema.inputs if each.option != SINGLE} - dict(use.body.where).keys()
    newest = standard_index()["newest"][""]
    if use.body.opset > newest:
        message = f"the body of opset {use.body.opset} serves no model: the newest opset is {newest}"
        yield Finding("S235", message, place=use.place, help="write the lowest opset at which the body is right")
    if use.body.opset > use.last:
        return
    for node in nodes:
        inputs = ["" if name in absent | optional else name for name in node.input]
        for message, help in itertools.islice(_node_faults(use, node, inputs, versions), 1):
            yield Finding("S235", f"the body of opset {use.body.opset} {message}", place=use.place, help=help)


def _node_faults(use: _PlacedBody, node: Any, inputs: Sequence[str], versions: Versions) -> Iterator[tuple[str, str]]:
    """Yield (message, help) for each fault of a node in a function body, such as a missing input.

    A node with a subgraph is a fault, since bodies may not have one. So is a node of a domain that is neither ai.onnx
    nor the domain of the body. `help` says how to mend the fault. It is "" if the general help for such findings
    (code S235) is enough.

    `inputs` are the names of the node's inputs; an input that may be left out is "". `versions` returns the versions of
    an operator by domain and name.
    """
    name, domain = node.op_type, normalize_domain(node.domain)
    if domain not in ("", use.schema.domain):
        help = "write the nodes that the operator of the other domain stands for, or a lowering: opset explain adapters"
        yield f"uses the domain {safe_text(domain)}, and may use ai.onnx and its own alone", help
        return
    if any(attribute_type(each).startswith("graph") for each in node.attribute):
        help = "write it without a graph, or write a lowering: opset explain adapters"
        yield f"has {safe_text(name)} with a graph, which bodies do not hold", help
        return
    known = versions(domain, name)
    serving = _serving_versions(use, domain, name, known)
    if not serving:
        came = f"came with version {known[0].since_version}" if known else "does not exist"
        yield f"uses {safe_text(name)}, which {came}", "" if known else "correct the name or the domain of the operator"
    for schema in serving:
        if schema.deprecated:
            yield f"uses {name}, which is withdrawn from version {schema.since_version} on", ""
        types = {each.name: (each.type and attribute_type(each)) or None for each in node.attribute}
        found = [*arity_misfits(schema, inputs), *arity_misfits(schema, node.output, outputs=True)]
        for misfit in [*found, *attribute_misfits(schema, types)]:
            yield f"has {name}, of which {misfit.what}: {misfit.why}", ""


def _serving_versions(use: _PlacedBody, domain: str, name: str, known: Sequence[OpSchema]) -> Sequence[OpSchema]:
    """Return the versions of an operator that are in force at the opsets at which a body is used.

    `known` are all versions of the operator, oldest first. The result is () if the operator does not exist at the first
    of these opsets. For CastLike and Constant, which are replaced before use, only the newest version is returned.
    """
    if not domain and name in REPLACED:
        return known[-1:]
    first = use.schema.since_version if domain else use.body.opset
    last = NEWEST if domain else use.last
    ends = [schema.since_version for schema in known[1:]] + [NEWEST]
    serving = [schema for schema, end in zip(known, ends, strict=False) if schema.since_version <= last and end > first]
    return serving if serving and serving[0].since_version <= first else ()


def _check_references(use: _PlacedBody, nodes: Sequence[Any]) -> Iterator[Finding]:
    """Yield a finding S236 for each wrong `@name` in a body, by which a node refers to an attribute of the operator.

    It is wrong if the operator does not have the attribute, or if the attribute has another type. In a Constant, it is
    also wrong if the attribute may have no value. A finding is also yielded for a Constant without its one attribute,
    such as `value` or `value_int`.
    """
    given = {name for name, form in use.body.where if form == "given"}
    for node in nodes:
        is_constant = replaced_operator(node) == "Constant"
        if is_constant and [each.name.startswith("value") for each in node.attribute] != [True]:
            yield Finding("S236", "a Constant has one attribute, 'value' or 'value_' and a type", place=use.place)
        for attribute in filter(lambda each: each.ref_attr_name, node.attribute):
            name = attribute.ref_attr_name
            declared = use.schema.attributes.get(name)
            if declared is None:
                help = near_miss(name, use.schema.attributes)
                message = f"the body refers to the attribute {name!r}, which the operator does not have"
                yield Finding("S236", message, place=use.place, help=help)
            elif declared.type != attribute_type(attribute):
                message = f"the body takes {name!r} for {attribute_type(attribute)}, and it is {declared.type}"
                yield Finding("S236", message, place=use.place)
            elif is_constant and declared.default is None and not (declared.required or name in given):
                message = f"the body makes a Constant of {name!r}, which may have no value"
                yield Finding("S236", message, place=use.place, help=f"add 'where: {{{name}: given}}'")


@LINT.rule("S237", OperatorBodies)
def check_order_of_bodies(bodies: OperatorBodies) -> Iterator[Finding]:
    """Yield a finding S237 for function bodies that are in a wrong order, repeated or never used.

    The bodies of a version have to be sorted by opset, highest first. A body is repeated if an earlier one is for the
    same nodes and opset. A body is never used if a newer version of the operator, or another body for the same nodes,
    takes its place at all opsets.
    """
    operator = bodies.operator
    for schema in operator.schemas:
        place = operator.place(schema.since_version, "function")
        opsets = [body.opset for body in schema.function]
        if opsets != sorted(opsets, reverse=True):
            yield Finding("S237", "the function bodies are not in the order of their opsets, highest first", place)
        first: set[str] = set()
        for body in schema.function:
            key = repr((body.opset, body.where, body.types))
            if key in first:
                yield Finding("S237", f"two function bodies of opset {body.opset} serve the same nodes", place)
            first.add(key)
    for use in _placed_bodies(operator):
        if use.last < use.body.opset:
            message = f"the body of opset {use.body.opset} never serves, since others do from opset {use.last + 1} on"
            yield Finding("S237", message, use.place)


@LINT.rule("S238", LinkedOperators)
def check_circles(linked: LinkedOperators) -> Iterator[Finding]:
    """Yield a finding S238 if function bodies of operators use each other in a circle; only one circle is named."""
    places = {(each.domain, each.name): f"{each.path}:1:1" for each in linked.operators}
    graph = {(each.domain, each.name): operators_used(each) & places.keys() for each in linked.operators}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = error.args[1]
        names = " uses ".join(f"{domain_name(domain)}.{name}" for domain, name in reversed(circle))
        yield Finding("S238", "function bodies expand to each other without end", place=places[circle[0]], why=names)


def operators_used(operator: Operator) -> set[tuple[str, str]]:
    """Return (domain, name) of each operator that an operator's function bodies use; unreadable bodies are skipped."""
    used: set[tuple[str, str]] = set()
    for body in itertools.chain.from_iterable(schema.function for schema in operator.schemas):
        with suppress(SchemaError):  # S233 says so
            used.update((normalize_domain(node.domain), node.op_type) for node in body_nodes(body.nodes))
    return used


def _placed_bodies(operator: Operator) -> Iterator[_PlacedBody]:
    """Yield the function bodies of all versions, each with its location and the last opset at which it is used.

    After this opset, another version of the operator, or another body for the same nodes, takes over.
    """
    for schema, following in zip(operator.schemas, [*operator.schemas[1:], None], strict=True):
        last = NEWEST if following is None or operator.domain else following.since_version - 1
        place = operator.place(schema.since_version, "function")
        higher: dict[str, int] = {}
        for body in schema.function:
            key = repr((body.where, body.types))
            yield _PlacedBody(schema, body, place, min(higher.get(key, NEWEST), last))
            higher[key] = body.opset - 1
