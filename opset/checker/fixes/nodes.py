"""Fixes of nodes: types of attributes, attributes of other versions, scalars that should be vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opset.checker.fixes.types import graph_scopes
from opset.checker.rules.graphs import foreign_outputs
from opset.checker.rules.nodes import AXES, ScalarAxes, scalar_axes
from opset.checker.table import CHECKER, CheckContext, Mend
from opset.errors import brief_name, quote
from opset.model import proto as pb
from opset.model.attributes import FIELDS, attribute_type
from opset.model.graph.index import Body, FreshNames
from opset.model.graph.walking import list_as_input
from opset.preparation import attribute_fixes


@CHECKER.fix("G305")
def state_attribute_types(context: CheckContext) -> Iterator[Mend]:
    """State the types of attributes that hold a value in one field alone."""
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
    """Compute outputs of nested graphs that are values of a graph around by an Identity, if it takes their type."""
    names = FreshNames(context.bodies)
    for scope in graph_scopes(context):
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
            yield Mend("G216", f"the output is {quote(output.name)} now, which an Identity computes", body.label)


@CHECKER.fix("G324 G327")
def mend_attributes(context: CheckContext) -> Iterator[Mend]:
    """Drop or rewrite attributes that exporters write against the standard, and that have one plain meaning."""
    for fix in [*attribute_fixes(context, context.registry)]:
        fix.apply(fix.body.nodes[fix.position])
        code = "G324" if fix.value is None else "G327"
        yield Mend(code, f"the attribute {quote(fix.name)} was {fix.done}", fix.body.location(fix.position))


@CHECKER.fix("W302")
def make_axes_vectors(context: CheckContext) -> Iterator[Mend]:
    """Make scalars that are the axes of Squeeze or Unsqueeze vectors of one element.

    A scalar that something else reads as well stays, beside a copy of it.
    """
    found: dict[tuple[Body, int, str], list[ScalarAxes]] = {}
    for body in context.bodies:
        for axes in scalar_axes(body, context):
            found.setdefault((axes.holder, axes.producer, axes.name), []).append(axes)
    readers: dict[str, int] = {}
    for body in context.bodies if found else ():
        for name in (name for names in (*body.reads, body.output_names()) for name in names):
            readers[name] = readers.get(name, 0) + 1
    names = FreshNames(context.bodies)
    for (holder, producer, name), uses in sorted(found.items(), key=lambda each: -each[0][1]):
        if readers[name] == len(uses):
            if producer < 0:
                _initializer_of(holder, name).dims.append(1)
            else:
                _make_vector(holder.nodes[producer])
            _state_vector(holder, name)
        else:
            fresh = names.fresh(name)
            _add_copy(holder, producer, name, fresh, context.ir_version)
            for each in uses:
                each.body.nodes[each.node].input[AXES] = fresh
        for each in uses:
            operator = brief_name(each.body.operators[each.node][0])
            message = f"the axes {quote(name)} of {operator} are a vector of one element"
            yield Mend("W302", message, each.body.location(each.node))


def _initializer_of(body: Body, name: str) -> Any:
    """Return the initializer of a graph with this name."""
    return next(tensor for tensor in body.proto.initializer if tensor.name == name)


def _make_vector(node: Any) -> None:
    """Make the scalar of a Constant node a vector of one element."""
    for attribute in node.attribute:
        if attribute_type(attribute) == "tensor":
            attribute.t.dims.append(1)
        elif attribute_type(attribute) == "int":
            attribute.name, attribute.type = "value_ints", FIELDS["ints"][0]
            attribute.ints.append(attribute.i)
            attribute.ClearField("i")


def _state_vector(body: Body, name: str) -> None:
    """State one dimension of a value whose type a body states as a scalar."""
    for value in (*(() if body.function else body.proto.input), *body.proto.value_info):
        kind = value.type.tensor_type
        if value.name == name and kind.HasField("shape") and not kind.shape.dim:
            kind.shape.dim.add(dim_value=1)


def _add_copy(holder: Body, producer: int, name: str, fresh: str, ir_version: int) -> None:
    """Add a vector with the value of a scalar under a fresh name: an initializer, or a Constant behind the other."""
    if producer >= 0:
        node = pb.NodeProto()
        node.CopyFrom(holder.nodes[producer])
        node.output[0] = fresh
        node.ClearField("name")
        _make_vector(node)
        holder.proto.node.insert(producer + 1, node)
        return
    tensor = holder.proto.initializer.add()
    tensor.CopyFrom(_initializer_of(holder, name))
    tensor.name = fresh
    tensor.dims.append(1)
    if ir_version < 4:
        list_as_input(holder.proto, tensor)
