"""Rules about graphs: the names of their values and nodes, the types that they state, the order of nodes.

Most of them hold for the bodies of functions as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import chain
from typing import Any, NamedTuple

from opset.checker.table import (
    CHECKER,
    INITIALIZER,
    INPUT,
    OUTPUT,
    SPARSE,
    VALUE_INFO,
    WARNING,
    CheckContext,
    StatedValue,
)
from opset.errors import Finding, brief_name, listing, quote
from opset.model.elements import element_name
from opset.model.graph.index import Body, definition_faults, is_initialization, is_visible, use_faults
from opset.model.types import Shape, shape_of, type_string
from opset.schemas.constraints.subgraphs import passed_count

_TENSORS = "tensor_type", "sparse_tensor_type"
_TAG = re.compile(
    r"</?(?:a|b|br|code|div|em|h[1-6]|hr|i|img|li|ol|p|pre|span|strong|table|td|th|tr|ul)(?:\s+[\w-]+\s*=[^<>]*|\s*/?)>",
    re.I,
)


@CHECKER.rule("G201", Body)
def check_graph_name(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding if a graph has no name; nothing for a function, or if the model has no such graph."""
    if body.function or body.proto.name:
        return
    given = context.proto.HasField("graph") if body is context.main else body.owner or body.proto.ListFields()
    if given:
        why = "graphs are known by their names, in messages of runtimes, too"
        yield Finding("G201", "the graph has no name", body.label, why, "set its name")


@CHECKER.rule("G202", Body)
def check_values_named(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each input, output or value_info without a name."""
    stated = [value.name for value in body.proto.value_info]
    for role, names in ((INPUT, body.input_names()), (OUTPUT, body.output_names()), (VALUE_INFO, stated)):
        for index, name in enumerate(names if "" in names else ()):
            if not name:
                why = "nothing can give it a value, use it, or say what it is about"
                place = f"{body.label}, {role} number {index}"
                yield Finding("G202", f"the {role} has no name", place, why, "name it, or remove it")


@CHECKER.rule("G203 G204", Body)
def check_interface(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each input or output of the main graph that has no type, or is a tensor without shape."""
    if body is not context.main:
        return
    for role, values in ((INPUT, body.proto.input), (OUTPUT, body.proto.output)):
        for value in values:
            kind = value.type.WhichOneof("value")
            if kind is None:
                why = "callers have to know what the model takes and gives"
                help = (
                    "state its type" if role == INPUT else "state its type; `opset check --fix` finds it by inference"
                )
                yield Finding("G203", f"the {role} has no type", StatedValue(value, body, role).place, why, help)
            elif kind in _TENSORS and not getattr(value.type, kind).HasField("shape"):
                why = "the main graph states the rank of each tensor that it takes or gives; sizes may be left open"
                help = "state its shape, with a name for each size that is not fixed: [N, 3]"
                yield Finding("G204", f"the {role} has no shape", StatedValue(value, body, role).place, why, help)


@CHECKER.rule("G205 G206", Body)
def check_initializers_named(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each name that several initializers have, and one if initializers have no name.

    Sparse initializers count as well.
    """
    names = _initializers(body)
    if len({*names, ""}) == len(names) + 1:
        return
    for name, count in Counter(names).items():
        if not name:
            why = "nodes read an initializer by its name"
            message = "an initializer has no name" if count == 1 else f"{count:,} initializers have no name"
            yield Finding("G205", message, body.label, why, "name it, or remove it")
        elif count > 1:
            why = "readers differ in which of the values they take"
            place = f"{body.label}, initializer {quote(name)}"
            yield Finding("G206", f"{count:,} initializers have one name", place, why, "keep the one that is meant")


@CHECKER.rule("M106 M110 M112 M113", Body)
def check_names(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each value that is defined twice, or is used before it is defined, or is not defined."""
    yield from definition_faults(body)
    yield from use_faults(body)


@CHECKER.rule("G207", Body)
def check_shadowing(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each value of a nested graph that has the name of a value of a graph around it."""
    for name, index in shadowing_values(body, context):
        message = f"the value {quote(name)} has the name of a value of a graph around"
        why = "nodes in the graph see both, and readers differ in which they take"
        place = body.location(index) if index >= 0 else body.label
        yield Finding("G207", message, place, why, "rename it in the inner graph")


def shadowing_values(body: Body, context: CheckContext) -> Iterator[tuple[Any, int]]:
    """Yield (name, index of its node) for each value of a nested graph with the name of a value of a graph around it.

    The index is negative for inputs and initializers. Of the main graph, the initialization of training_info sees the
    initializers alone.
    """
    if body.owner is None:
        return
    outermost = body.root if is_initialization(body.root) else None
    around = {*_initializers(context.main)} if outermost is not None else ()
    for name, index in body.definitions.items():
        if name and (name in around or is_visible(name, body, outermost)):
            yield name, index


@CHECKER.rule("G208", Body, until=3)
def check_initializers_listed(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each initializer that is no input of its graph: a fault before IR version 4."""
    missing = {*_initializers(body)} - {*body.input_names(), ""}
    if missing:
        for name in _initializers(body):
            if name in missing:
                message = f"the initializer {quote(name)} is no input of the graph"
                why = "before IR version 4, initializers are values of inputs"
                yield Finding("G208", message, body.label, why, "list it as input, or set the IR version to 4 or more")


@CHECKER.rule("G209", Body, until=3)
def check_initializers_last(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each initializer among a nested graph's inputs that stands before an input without value.

    This is a fault before IR version 4, in which the node gives values to the first inputs.
    """
    initializers = {*_initializers(body)} if body.owner is not None else ()
    inputs = body.input_names() if initializers else []
    last = max((index for index, name in enumerate(inputs) if name not in initializers), default=-1)
    for name in inputs[:last]:
        if name in initializers:
            message = f"the initializer {quote(name)} stands before the input {quote(inputs[last])}"
            why = "the node gives values to the first inputs, by their position"
            yield Finding("G209", message, body.label, why, "list initializers after the inputs that the node gives")


@CHECKER.rule("G210", Body)
def check_nested_defaults(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each input of a nested graph that is an initializer, too, and gets a value from its node.

    Up to IR version 3 all initializers are inputs; it is then no fault if the node gives no value to the input, or if
    that is not certain.
    """
    initializers = {*_initializers(body)} if body.owner is not None else ()
    for name in _given_inputs(body, initializers, context) if initializers else ():
        if name in initializers:
            message = f"the input {quote(name)} is an initializer, too"
            why = "the node gives a value to each input of the graph, so that there is no use for a default"
            help = "remove it from the inputs if the node does not give it, else from the initializers"
            yield Finding("G210", message, body.label, why, help)


def _given_inputs(body: Body, initializers: Collection[str], context: CheckContext) -> list[str]:
    """Return the inputs of a nested graph to which its node surely passes values.

    From IR version 4 on, these are all. Before, they are as many of the first ones as the node passes values, but none
    if the inputs without an initializer are enough for these, or if the number is not known.
    """
    names = body.input_names()
    if context.ir_version >= 4 or body.parent is None:
        return names
    operator, domain = body.parent.operators[body.index]
    version = context.imports(body).get(domain)
    if domain or version is None:
        return []
    passed = passed_count(operator, version, len(body.parent.reads[body.index]))
    free = sum(name not in initializers for name in names)
    return names[:passed] if passed is not None and passed > free else []


@CHECKER.rule("G211", Body)
def check_value_info_unique(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each name that several entries of value_info have."""
    names = [value.name for value in body.proto.value_info]
    for name, count in _repetitions(names):
        place = f"{body.label}, {VALUE_INFO} {quote(name)}"
        why = "readers differ in which type they take"
        yield Finding("G211", f"the name stands {count:,} times", place, why, "keep the entry that is meant")


@CHECKER.rule("W201", Body, severity=WARNING)
def check_value_info_used(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each entry of value_info about a value that neither the body nor a graph around it has."""
    here = body.definitions
    for value in body.proto.value_info:
        if value.name and value.name not in here and not is_visible(value.name, body):
            place = StatedValue(value, body, VALUE_INFO).place
            why = "an entry that is out of date states the type of the next value of that name"
            yield Finding("W201", "no value has this name", place, why, "remove it; `opset check --fix` does this")


class Statement(NamedTuple):
    """The type and shape that one part of a graph states for a value; None if it does not state one.

    `role` is the part: "input", "output", "value_info", "initializer" or "sparse initializer".
    """

    role: str
    type: str | None
    shape: Shape | None

    def __str__(self) -> str:
        """Return the type and shape as text: "tensor(float) [N, 3]"; "a tensor" for a type that is not stated."""
        shape = "" if self.shape is None else f"[{', '.join(map(_size, self.shape))}]"
        return f"{self.type or 'a tensor'}{shape and ' '}{shape}"

    def contradicts(self, other: Statement) -> bool:
        """Return whether the types or the shapes exclude each other; one that is not stated excludes nothing.

        Sizes exclude each other only if both are numbers.
        """
        if self.type and other.type and self.type != other.type:
            return True
        if self.shape is None or other.shape is None:
            return False
        if len(self.shape) != len(other.shape):
            return True
        pairs = zip(self.shape, other.shape, strict=True)
        return any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)


@CHECKER.rule("G212", Body)
def check_statements_agree(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each value of which two parts of a graph state types or shapes that exclude each other."""
    for name, first, other in contradictions(body):
        message = f"the {first.role} says {first}, and the {other.role} {other}"
        place = f"{body.label}, value {quote(name)}"
        help = "correct the place that is wrong; `opset check --fix` removes a wrong entry of value_info"
        yield Finding("G212", message, place, "both are about one value", help)


def contradictions(body: Body) -> Iterator[tuple[str, Statement, Statement]]:
    """Yield (name, first statement, other one) for values of which two parts of a graph state other types or shapes.

    A value is yielded once for each part that contradicts the first one. Nothing is yielded for a function.
    """
    if body.function:
        return
    graph = body.proto
    lists = (graph.input, graph.output, graph.value_info)
    names = [value.name for value in chain(*lists)] + _initializers(body)
    repeated = {name for name, _ in _repetitions(names)}
    if not repeated:
        return
    found: dict[str, Statement] = {}
    for name, statement in _statements(graph, repeated):
        first = found.setdefault(name, statement)
        if first.role != statement.role and statement.contradicts(first):
            yield name, first, statement


def _statements(graph: Any, names: Collection[str]) -> Iterator[tuple[str, Statement]]:
    """Yield (name, statement) for all that a GraphProto states about values with these names, initializers first."""
    for tensor in graph.initializer:
        if tensor.name in names:
            element = element_name(tensor.data_type)
            yield tensor.name, Statement(INITIALIZER, element and f"tensor({element})", (*tensor.dims,))
    for sparse in graph.sparse_initializer:
        if sparse.values.name in names:
            yield sparse.values.name, Statement(SPARSE, None, (*sparse.dims,))
    for role, values in ((INPUT, graph.input), (OUTPUT, graph.output), (VALUE_INFO, graph.value_info)):
        for value in values:
            if value.name in names:
                yield value.name, Statement(role, type_string(value.type), shape_of(value.type))


def _size(size: int | str | None) -> str:
    """Return a size of a shape for a message; "?" for None."""
    return "?" if size is None else brief_name(str(size))


@CHECKER.rule("G213", Body)
def check_node_names(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each node that has the name of an earlier node of its body."""
    repeated = {name for name, _ in _repetitions(body.names)}
    seen: set[str] = set()
    for index, name in enumerate(body.names if repeated else ()):
        if name in seen:
            why = "the name of a node is unique in its graph; messages and profiles name nodes by it"
            place = f"{body.location(index)}, node number {index}"
            yield Finding(
                "G213",
                f"another node has the name {quote(name)}",
                place,
                why,
                "rename it, or clear its name; `opset check --fix` does this",
            )
        elif name in repeated:
            seen.add(name)


@CHECKER.rule("G214", CheckContext)
def check_features(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each feature that came with a later IR version than the model states.

    Features that older readers skip are left out.
    """
    for feature, place in context.late_features:
        if not feature.is_annotation:
            why = f"it came with IR version {feature.ir_version}, and readers of earlier ones misread it or refuse it"
            help = f"set the IR version to {feature.ir_version} or more; `opset check --fix` does this"
            yield Finding("G214", f"IR version {context.ir_version} does not have {feature.name}", place, why, help)


@CHECKER.rule("G216", Body)
def check_outputs_own(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each output of a nested graph that is a value of a graph around it."""
    names = body.output_names()
    for position in foreign_outputs(body):
        name = names[position]
        message = f"the output {quote(name)} is a value of a graph around"
        why = "a graph gives its own values: inputs, initializers and what its nodes compute"
        help = "compute it by an Identity in the graph; `opset check --fix` does this"
        yield Finding("G216", message, body.label, why, help)


def foreign_outputs(body: Body) -> list[int]:
    """Return the positions of the outputs of a nested graph that are values of a graph around it; [] for any other."""
    if body.owner is None:
        return []
    here = body.definitions
    names = body.output_names()
    return [index for index, name in enumerate(names) if name and name not in here and is_visible(name, body)]


@CHECKER.rule("W202", CheckContext, severity=WARNING)
def check_annotations(context: CheckContext) -> Iterator[Finding]:
    """Yield a warning for each feature that came with a later IR version, and that readers of older ones skip."""
    for feature, place in context.late_features:
        if feature.is_annotation:
            why = f"it came with IR version {feature.ir_version}, and readers of earlier ones skip it"
            help = f"set the IR version to {feature.ir_version} or more, or remove it"
            yield Finding("W202", f"IR version {context.ir_version} does not have {feature.name}", place, why, help)


@CHECKER.rule("W203", Body, severity=WARNING, optional=True)
def check_identifiers(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each body with a name that is no C identifier: its own, or of a value, node or attribute."""
    attributes = (attribute.name for each in body.attributes for attribute in each)
    own = [*body.proto.attribute, *[each.name for each in body.proto.attribute_proto]] if body.function else []
    names = chain([body.proto.name], body.definitions, body.names, attributes, own)
    wrong = [*dict.fromkeys(name for name in names if name and not _is_identifier(name))]
    if wrong:
        message = f"no C identifiers: {listing(wrong)}"
        why = "a name consists of letters, digits and underscores, and begins with no digit"
        yield Finding("W203", message, body.label, why, "rename them, if some tool cannot read them")


@CHECKER.rule("W204", Body, severity=WARNING, optional=True)
def check_dimension_variables(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each body that states types with dimension variables that are no C identifiers."""
    graph = body.proto
    lists = (graph.value_info,) if body.function else (graph.input, graph.output, graph.value_info)
    names = (name for value in chain(*lists) for name in _dimension_variables(value.type))
    wrong = [*dict.fromkeys(name for name in names if not _is_identifier(name))]
    if wrong:
        message = f"no C identifiers: {listing(wrong)}"
        why = "the name of a dimension variable consists of letters, digits and underscores, and begins with no digit"
        yield Finding("W204", message, body.label, why, "rename them; one name is one size in the whole model")


@CHECKER.rule("W205", CheckContext, severity=WARNING, optional=True)
def check_graph_names_unique(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each graph that has the name of an earlier graph of the model."""
    seen: set[Any] = set()
    for body in context.bodies:
        name = "" if body.function else body.proto.name
        if name in seen:
            why = "the name of a graph is unique in the model's domain"
            yield Finding("W205", f"another graph has the name {quote(name)}", body.label, why, "rename it")
        elif name:
            seen.add(name)


@CHECKER.rule("W206", Body, severity=WARNING, optional=True)
def check_documentation(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding if a graph has no doc_string; nothing for a function."""
    if not body.function and not body.proto.doc_string:
        why = "it tells people what the graph computes"
        yield Finding("W206", "the graph has no doc_string", body.label, why, "set its doc_string")


@CHECKER.rule("W207", Body, severity=WARNING, optional=True)
def check_markup(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each doc_string with HTML in it: of the model, a graph or function, a node or a value."""
    graph = body.proto
    lists = (graph.value_info,) if body.function else (graph.input, graph.output, graph.value_info)
    texts = [(graph.doc_string, body.label)]
    if body is context.main:
        texts.append((context.proto.doc_string, "model"))
    for text, place in texts:
        yield from _markup_finding(text, place)
    for index, node in enumerate(body.nodes):
        if node.doc_string:
            yield from _markup_finding(node.doc_string, body.location(index))
    for value in chain(*lists):
        if value.doc_string:
            yield from _markup_finding(value.doc_string, f"{body.label}, value {quote(value.name)}")


def _markup_finding(text: Any, place: str) -> Iterator[Finding]:
    """Yield a finding if a text has an HTML tag in it."""
    if isinstance(text, str) and (match := _TAG.search(text)):
        message = f"the doc_string has HTML in it: {brief_name(match[0])}"
        yield Finding("W207", message, place, "documentation is plain text or Markdown", "write it in Markdown")


def _initializers(body: Body) -> list[str]:
    """Return the names of a body's initializers, sparse ones last; a function has none."""
    if body.function:
        return []
    sparse = [each.values.name for each in body.proto.sparse_initializer]
    return [tensor.name for tensor in body.proto.initializer] + sparse


def _repetitions(names: list[str]) -> list[tuple[str, int]]:
    """Return (name, count) for each name that is in a list more than once; "" is left out."""
    if len({*names}) == len(names):
        return []
    return [(name, count) for name, count in Counter(names).items() if count > 1 and name]


def _is_identifier(name: Any) -> bool:
    """Return whether a name is an identifier of C: ASCII letters, digits and underscores, with no digit in front."""
    return isinstance(name, str) and name.isascii() and name.isidentifier()


def _dimension_variables(proto: Any) -> Iterator[str]:
    """Yield the names of dimension variables in a TypeProto, also in sequences, optionals and maps."""
    while True:
        match proto.WhichOneof("value"):
            case "tensor_type" | "sparse_tensor_type" as kind:
                yield from (dim.dim_param for dim in getattr(proto, kind).shape.dim if dim.dim_param)
                return
            case "sequence_type" | "optional_type" as kind:
                proto = getattr(proto, kind).elem_type
            case "map_type":
                proto = proto.map_type.value_type
            case _:
                return
