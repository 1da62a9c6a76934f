"""Graph messages without a model index: graphs inside nodes, names that nodes read, keys of functions, sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from opset.model.strings import set_string

GRAPH_ATTRIBUTE, GRAPHS_ATTRIBUTE = 5, 10
_INNER = {"sequence_type": "elem_type", "optional_type": "elem_type", "map_type": "value_type"}
"""Kinds of types that hold others, and the fields with these."""


def subgraphs(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield (attribute name, GraphProto) for every subgraph that a node holds: ("body", …), or ("graphs[0]", …)."""
    for attribute in node.attribute:
        kind = attribute.type
        if kind == GRAPH_ATTRIBUTE or (kind == 0 and attribute.HasField("g")):
            for graph in attribute_graphs(attribute):
                yield attribute.name, graph
        elif kind == GRAPHS_ATTRIBUTE or (kind == 0 and attribute.graphs):
            for number, graph in enumerate(attribute.graphs):
                yield f"{attribute.name}[{number}]", graph


def attribute_graphs(attribute: Any) -> Sequence[Any]:
    """Return the GraphProtos in the value of an AttributeProto; none if it refers to an attribute of a function.

    IR version 1 wrote no attribute types, so the fields are checked, not the type alone.
    """
    kind = attribute.type
    if kind == GRAPH_ATTRIBUTE or (kind == 0 and attribute.HasField("g")):
        return [attribute.g] if attribute.HasField("g") or not attribute.ref_attr_name else []
    return attribute.graphs if kind in (0, GRAPHS_ATTRIBUTE) else []


def list_as_input(graph: Any, tensor: Any) -> None:
    """List an initializer of a GraphProto as its input, which every one was before IR version 4 (IR specification)."""
    value = graph.input.add()
    set_string(value, "name", tensor.name)
    state_type(value, tensor)


def state_type(value: Any, tensor: Any) -> None:
    """State the type and shape of a TensorProto in a ValueInfoProto."""
    kind = value.type.tensor_type
    kind.elem_type = tensor.data_type
    kind.shape.SetInParent()
    for dim in tensor.dims:
        kind.shape.dim.add(dim_value=dim)


def names_read(nodes: Iterable[Any]) -> set[str]:
    """Return every name that nodes read, those in their subgraphs included."""
    read: set[str] = set()
    pending = list(nodes)
    while pending:
        node = pending.pop()
        read.update(node.input)
        for _, inner in subgraphs(node):
            read.update(value.name for value in inner.output)
            pending.extend(inner.node)
    return read


def rename_values(graph: Any, new: Mapping[str, str]) -> None:
    """Rename inputs of a graph and their uses, also in subgraphs that have no such names of their own."""
    for value in graph.input:
        rename_field(value, "name", new)
    pending = [(graph, new)]
    while pending:
        graph, new = pending.pop()
        for value in (*graph.output, *graph.value_info):
            rename_field(value, "name", new)
        for node in graph.node:
            rename_field(node, "input", new)
            for _, inner in subgraphs(node):
                own = {value.name for value in (*inner.input, *inner.initializer)}
                own |= {sparse.values.name for sparse in inner.sparse_initializer}
                own.update(name for each in inner.node for name in each.output)
                pending.append((inner, {old: name for old, name in new.items() if old not in own}))


def rename_field(message: Any, field: str, new: Mapping[Any, str]) -> None:
    """Replace the name in a field, or names in a repeated one, by new ones; others stay, even if they are not UTF-8."""
    held = getattr(message, field)
    if isinstance(held, str | bytes):
        if held in new:
            setattr(message, field, new[held])
        return
    for position, name in enumerate(held):
        if name in new:
            held[position] = new[name]


def function_key(call: Any) -> tuple[str, str, str]:
    """Return (domain, name, overload), the identity of a FunctionProto, or of the function that a NodeProto calls."""
    domain = "" if call.domain == "ai.onnx" else call.domain
    return domain, call.op_type if hasattr(call, "op_type") else call.name, call.overload


def count_operators(nodes: Iterable[Any]) -> Counter[tuple[str, str, str]]:
    """Return the number of nodes by (domain, name, overload) of their operator or function.

    Nodes in subgraphs count, too.
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    pending = [*nodes]
    while pending:
        node = pending.pop()
        counts[function_key(node)] += 1
        pending.extend(inner for _, graph in subgraphs(node) for inner in graph.node)
    return counts


def dimensions_of(type_: Any) -> list[Any]:
    """Return the dimensions of the tensor in a TypeProto, also in a sequence, optional or map; [] without one."""
    kind = type_.WhichOneof("value")
    while kind in _INNER:
        type_ = getattr(getattr(type_, kind), _INNER[kind])
        kind = type_.WhichOneof("value")
    return [] if kind in (None, "opaque_type") else getattr(type_, kind).shape.dim[:]
