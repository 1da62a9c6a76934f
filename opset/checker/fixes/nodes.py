"""Fixes of nodes: types of attributes, attributes of other versions, scalars that should be vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from opset.checker.fixes.versions import FREE_INITIALIZERS
from opset.checker.rules.graphs import foreign_outputs
from opset.checker.rules.nodes import AXES, ScalarAxes, empty_windows, scalar_axes
from opset.checker.table import CHECKER, CheckContext, Mend
from opset.errors import brief_name, quote
from opset.model import proto as pb
from opset.model.attributes import FIELDS, attribute_type
from opset.model.graph.index import Body, FreshNames
from opset.model.graph.walking import list_as_input
from opset.preparation import attribute_fixes


@CHECKER.fix("G305")
def state_attribute_types(context: CheckContext) -> Iterator[Mend]:
    """State the types of attributes without a type that hold a value in exactly one field.

    References to attributes of functions stay. Yields a Mend for each attribute.
    """
    held = {field: word for word, (_, field) in FIELDS.items()}
    for body in context.bodies:
        for index, attributes in enumerate(body.attributes):
            for attribute in attributes:
                if attribute.type or attribute.ref_attr_name:
                    continue
                words = [held[field.name] for field, _ in attribute.ListFields() if field.name in held]
                if len(words) == 1:
                    attribute.type = FIELDS[words[0]][0]
                    message = f"the attribute {quote(attribute.name)} states its type, {words[0]}"
                    yield Mend("G305", message, body.location(index))


@CHECKER.fix("G216")
def compute_outputs(context: CheckContext) -> Iterator[Mend]:
    """Compute outputs of nested graphs that are values of a graph around them by an Identity in the nested graph.

    An output stays if its type is not known, or if Identity does not take it. Yields a Mend for each output.
    """
    names = FreshNames(context.bodies)
    for scope in context.graph_scopes:
        body = scope.body
        schema = context.registry.schema("Identity", scope.imports.get("", 0))
        given: dict[str, str] = {}
        for position in foreign_outputs(body):
            output = body.proto.output[position]
            type_ = scope.type_of(output.name)
            if schema is None or type_ is None or type_.text not in schema.allowed_types(schema.inputs[0]):
                continue
            before = output.name
            if before not in given:
                given[before] = names.fresh(before)
                body.proto.node.add(op_type="Identity", input=[before], output=[given[before]])
            output.name = given[before]
            message = f"the output {quote(before)} is {quote(output.name)} now, which an Identity computes"
            yield Mend("G216", message, body.label)


@CHECKER.fix("G324 G327")
def mend_attributes(context: CheckContext) -> Iterator[Mend]:
    """Remove or rewrite attributes that exporters write against the standard, and that have one plain meaning.

    Yields a Mend for each attribute.
    """
    for fix in [*attribute_fixes(context, context.registry)]:
        fix.apply(fix.body.nodes[fix.position])
        code = "G324" if fix.value is None else "G327"
        yield Mend(code, f"the attribute {quote(fix.name)} was {fix.done}", fix.body.location(fix.position))


@CHECKER.fix("W303")
def drop_empty_windows(context: CheckContext) -> Iterator[Mend]:
    """Remove empty lists from attributes that have values for each spatial axis: they count as not given.

    `pads` and `strides` are such attributes. Yields a Mend for each attribute.
    """
    for body in context.bodies:
        for index, attribute in [*empty_windows(body)]:
            message = f"the attribute {quote(attribute.name)}, which has no values, was removed"
            body.nodes[index].attribute.remove(attribute)
            yield Mend("W303", message, body.location(index))


@CHECKER.fix("W302")
def make_axes_vectors(context: CheckContext) -> Iterator[Mend]:
    """Make scalar axes of Squeeze or Unsqueeze, which are initializers or Constants, vectors of one element.

    A scalar that something else reads as well stays, and a copy of it becomes the axes. Yields a Mend for each node.
    """
    found: dict[Body, dict[tuple[int, str], list[ScalarAxes]]] = {}
    for body in context.bodies:
        for axes in scalar_axes(body, context):
            found.setdefault(axes.holder, {}).setdefault((axes.producer, axes.name), []).append(axes)
    readers: Counter[str] = Counter()
    for body in context.bodies:
        for names in (*body.reads, body.output_names()):
            readers.update(names)
    fresh = FreshNames(context.bodies)
    for holder, scalars in found.items():
        alone = {name for (_, name), uses in scalars.items() if readers[name] == len(uses)}
        copies = {name: fresh.fresh(name) for _, name in scalars if name not in alone}
        for uses in scalars.values():
            for each in uses:
                operator = brief_name(each.body.operators[each.node][0])
                message = f"the axes {quote(each.name)} of {operator} are a vector of one element"
                yield Mend("W302", message, each.body.location(each.node))
                if each.name in copies:
                    each.body.nodes[each.node].input[AXES] = copies[each.name]
        _make_initializers_vectors(holder, alone)
        _copy_initializers(holder, copies, context)
        for producer, name in sorted(scalars, reverse=True):  # a node that is inserted moves those behind it
            if producer >= 0 and name in copies:
                _insert_copy(holder, producer, copies[name])
            elif producer >= 0:
                _make_vector(holder.nodes[producer])
        _state_vectors(holder, alone)


def _make_initializers_vectors(body: Body, names: Collection[str]) -> None:
    """Make the initializers among these names, which are scalars, vectors of one element, in place."""
    for tensor in () if body.function else body.proto.initializer:
        if tensor.name in names:
            tensor.dims.append(1)


def _copy_initializers(body: Body, copies: Mapping[str, str], context: CheckContext) -> None:
    """Append a vector of one element for each scalar initializer in `copies`, which maps its name to the new name.

    Before IR version 4 it is also listed as an input.
    """
    if body.function:
        return
    for tensor in [each for each in body.proto.initializer if each.name in copies]:
        made = body.proto.initializer.add()
        made.CopyFrom(tensor)
        made.name = copies[tensor.name]
        made.dims.append(1)
        if context.ir_version < FREE_INITIALIZERS:
            list_as_input(body.proto, made)


def _insert_copy(body: Body, index: int, name: str) -> None:
    """Insert a Constant of a vector behind the Constant of a scalar at `index`; `name` is its output."""
    node = pb.NodeProto()
    node.CopyFrom(body.nodes[index])
    node.output[0] = name
    node.ClearField("name")
    _make_vector(node)
    body.proto.node.insert(index + 1, node)


def _make_vector(node: Any) -> None:
    """Make the value of a Constant node, a scalar tensor or integer, a vector of one element, in place."""
    for attribute in node.attribute:
        if attribute_type(attribute) == "tensor":
            attribute.t.dims.append(1)
        elif attribute_type(attribute) == "int":
            attribute.name, attribute.type = "value_ints", FIELDS["ints"][0]
            attribute.ints.append(attribute.i)
            attribute.ClearField("i")


def _state_vectors(body: Body, names: Collection[str]) -> None:
    """Set the shape of values with these names to [1] where a body states them as scalars, in place."""
    for value in (*(() if body.function else body.proto.input), *body.proto.value_info):
        kind = value.type.tensor_type
        if value.name in names and kind.HasField("shape") and not kind.shape.dim:
            kind.shape.dim.add(dim_value=1)
