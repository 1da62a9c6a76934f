"""Writes inferred types into a copy of a model: as value_info of computed values, and into outputs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from opset.inference.building.dimensions import Size
from opset.inference.building.types import (
    Type,
    combine_types,
    fill_proto,
    join_types,
    map_sizes,
    type_from_proto,
    type_to_proto,
    unwrap_layers,
)
from opset.inference.engine.binding import root_graphs
from opset.inference.engine.engine import Engine
from opset.inference.engine.scopes import Scope
from opset.inference.limits import MAX_EACH, MAX_WRITTEN
from opset.model import proto as pb
from opset.model.graph.walking import function_key, subgraphs
from opset.model.storage import wire
from opset.model.storage.container import Model

_VALUE_INFO, _NAME, _TYPE = (
    message.DESCRIPTOR.fields_by_name[field].number
    for message, field in ((pb.GraphProto, "value_info"), (pb.ValueInfoProto, "name"), (pb.ValueInfoProto, "type"))
)


def write_types(engine: Engine, overwrite: bool) -> tuple[Model, int]:
    """Return a copy of the model with inferred types written in, and the number of types that did not fit.

    The types of computed values become value_info, or complete the types of outputs. They may take MAX_WRITTEN bytes,
    and MAX_EACH more for each node; a type beyond this is left out. With `overwrite`, stated types are replaced if they
    contradict the inferred ones or are less precise, also in functions.
    """
    message = pb.ModelProto()
    message.CopyFrom(engine.model.proto)
    roots = root_graphs(message)
    room = MAX_WRITTEN + MAX_EACH * sum(len(scope.body.nodes) for scope in engine.scopes.values())
    left_out = 0
    for scope in engine.scopes.values():
        graph = _graph_of(roots, scope.key)
        if graph is not None:
            room, omitted = _write_computed(graph, scope, overwrite, room)
            left_out += omitted
    if overwrite:
        for function in message.functions:
            _rewrite_function(function, engine.calls.scopes.get(function_key(function), []), engine)
    return engine.model.with_proto(message, changed=True), left_out


def _graph_of(roots: Sequence[Any], key: Any) -> Any:
    """Return the GraphProto whose scope has this key: a graph of `roots`, or a subgraph of one at any depth.

    The key of a root is (index in `roots`,). The key of a subgraph is (key of the graph around, index of the node,
    attribute). The result is None if there is no such graph, as for the graphs in a function.
    """
    steps = []
    while len(key) == 3:
        key, index, name = key
        steps.append((index, name))
    if not isinstance(key[0], int):
        return None
    graph = roots[key[0]]
    for index, name in reversed(steps):
        graph = next((inner for attribute, inner in subgraphs(graph.node[index]) if attribute == name), None)
        if graph is None:
            return None
    return graph


def _write_computed(graph: Any, scope: Scope, overwrite: bool, room: int) -> tuple[int, int]:
    """Write the types of computed values into a GraphProto, at most `room` bytes of types, in the order of the nodes.

    A type that is longer than the rest of the room is left out; later ones may still fit. Returns the number of bytes
    that are left, and the number of types that were left out.

    Args:
        graph: the GraphProto, changed in place.
        scope: the inferred types of the graph.
        overwrite: whether stated types that contradict the inferred ones, or are less precise, are replaced.
        room: the number of bytes.
    """
    stated = {value.name: value.type for value in graph.value_info} | {value.name: value.type for value in graph.output}
    types = scope.types
    entries: list[bytes] = []
    fields: dict[int, tuple[bytes, int]] = {}
    headers: dict[tuple[int, int], bytes] = {}
    # Sizes that differ each time that the graph is run are left out: a variable has one value in a model.
    left_out = 0
    for names in scope.body.computes:
        for name in names:
            type_ = types.get(name) if name else None
            if type_ is None:
                continue
            if id(type_) not in fields:
                fields[id(type_)] = _type_field(map_sizes(type_, scope.without_local) if scope.repeated else type_)
            field, length = fields[id(type_)]
            if not length:
                continue
            if length > room:
                left_out += 1
            elif name not in stated:
                # Written as bytes, which are merged all at once: to add messages one by one takes six times as long.
                encoded = name.encode()
                lengths = len(encoded), len(field)
                if lengths not in headers:
                    of_name = wire.header(_NAME, len(encoded))
                    headers[lengths] = wire.header(_VALUE_INFO, len(of_name) + sum(lengths)) + of_name
                entries += (headers[lengths], encoded, field)
                room -= length
            else:
                written = map_sizes(type_, scope.without_local) if scope.repeated else type_
                if overwrite or name not in scope.conflicts:
                    fill_proto(stated[name], written, overwrite)
                room -= length
    graph.MergeFromString(b"".join(entries))
    return room, left_out


def _type_field(type_: Type) -> tuple[bytes, int]:
    """Return the field `type` of a ValueInfoProto in bytes, with its header, and the length of the TypeProto in it.

    The result is (b"", 0) if the type, or the element type inside it, is unknown.
    """
    _, inside = unwrap_layers(type_)
    if inside is None or inside.element is None:
        return b"", 0
    encoded = type_to_proto(type_).SerializeToString()
    return wire.header(_TYPE, len(encoded)) + encoded, len(encoded)


def _rewrite_function(function: Any, calls: Sequence[Scope], engine: Engine) -> None:
    """Replace, in place, the types stated in a FunctionProto and its subgraphs by types that hold in every call.

    A type is replaced only if it is stated for a value that a node computes. In the new type, only sizes that are
    numbers are stated. If the calls have no type in common, such as a tensor in one call and a sequence in another, a
    stated type that contradicts a call is removed.

    Args:
        function: the FunctionProto.
        calls: the scopes of the function, one for each different call; if there are none, nothing changes.
        engine: the inference of the model.
    """

    def number(size: Size | None) -> Size | None:
        """Return a size that is a number, None for any other size."""
        return size if isinstance(size, int) else None

    pending: list[tuple[Any, Sequence[Scope]]] = [(function, calls)]
    while pending:
        body, scopes = pending.pop()
        computed = {name for node in body.node for name in node.output}
        outputs = [] if body is function else [*body.output]
        for value in [*body.value_info, *outputs]:
            types = [scope.types.get(value.name) for scope in scopes]
            if value.name not in computed or not any(types):
                continue
            common = map_sizes(reduce(join_types, types), number)
            stated = map_sizes(type_from_proto(value.type, engine.sizes.read_dimension), number)
            if any(combine_types(stated, type_, lambda stated, inferred: True)[1] for type_ in types):
                value.ClearField("type")
            if common is not None:
                fill_proto(value.type, common, True)
        for index, node in enumerate(body.node):
            for name, graph in subgraphs(node):
                inner = [scope.subgraphs[index, name] for scope in scopes if (index, name) in scope.subgraphs]
                pending.append((graph, inner))
