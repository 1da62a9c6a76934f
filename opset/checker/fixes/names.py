"""Fixes of names: of graphs, nodes and values, and of entries that stand twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from opset.checker.fixes.entries import remove_entries
from opset.checker.rules.graphs import check_graph_name, shadowing_values
from opset.checker.rules.models import holders_of_metadata
from opset.checker.table import CHECKER, CheckContext, Mend
from opset.errors import quote
from opset.model.graph.index import Body, FreshNames
from opset.model.graph.walking import rename_field, rename_values, subgraphs
from opset.preparation import repeated_names

MAIN = "main"
"""The name that a main graph without one gets."""
_NAMES = "key", "name", "tensor_name"
"""Fields that name an entry of a list."""


@CHECKER.fix("G201")
def name_graphs(context: CheckContext) -> Iterator[Mend]:
    """Name the graphs that have no name: the main graph "main", others after the attribute that holds them.

    A name that is taken gets a number: "body_1". Yields a Mend for each graph.
    """
    taken = {body.proto.name for body in context.bodies}
    numbers: Counter[str] = Counter()
    for body in context.bodies:
        if any(True for _ in check_graph_name(body, context)):
            place = body.label
            stem = MAIN if body is context.main else body.name.rpartition(".")[2].partition("[")[0]
            name = stem
            while name in taken:
                numbers[stem] += 1
                name = f"{stem}_{numbers[stem]}"
            taken.add(name)
            body.proto.name = name
            yield Mend("G201", f"the graph was named {quote(name)}", place)


@CHECKER.fix("G213")
def rename_nodes(context: CheckContext) -> Iterator[Mend]:
    """Rename nodes that have the name of an earlier node of their body, to names that occur nowhere else.

    Yields a Mend for each node.
    """
    names = FreshNames(context.bodies)
    for body in context.bodies:
        for index in repeated_names(body):
            name = body.names[index]
            fresh = body.nodes[index].name = names.fresh(name)
            place = f"{body.location(index)}, node number {index}"
            yield Mend("G213", f"the node, one of several with the name {quote(name)}, is {quote(fresh)} now", place)


@CHECKER.fix("G207")
def rename_shadowing_values(context: CheckContext) -> Iterator[Mend]:
    """Rename values of nested graphs that have the name of a value of a graph around them.

    A value stays if the nested graph reads the outer value of this name before. Yields a Mend for each value.
    """
    names = FreshNames(context.bodies)
    for body in context.bodies:
        shadowing = [*shadowing_values(body, context)]
        if not shadowing:
            continue
        new = {}
        first = _first_reads(body)
        for name, index in shadowing:
            if isinstance(name, str) and first.get(name, len(body.nodes)) > index:
                new[name] = names.fresh(name)
                place = body.location(index) if index >= 0 else body.label
                yield Mend(
                    "G207", f"the value {quote(name)}, like one of a graph around, is {quote(new[name])} now", place
                )
        _rename_definitions(body.proto, new)


@CHECKER.fix("W102")
def remove_equal_metadata(context: CheckContext) -> Iterator[Mend]:
    """Remove entries of metadata that repeat an earlier one, key and value. Yields a Mend for each entry."""
    for holder, place in holders_of_metadata(context):
        for key in _remove_repeated(holder.metadata_props):
            yield Mend("W102", f"a second equal entry of the metadata key {quote(key)} was removed", place)


@CHECKER.fix("G304")
def remove_equal_attributes(context: CheckContext) -> Iterator[Mend]:
    """Remove attributes of nodes that repeat an earlier one, name and value. Yields a Mend for each attribute."""
    for body in reversed(context.bodies):  # the attributes that stay may be copied, and the graphs in them
        for index, attributes in enumerate(body.attributes):
            if len({each.name for each in attributes}) < len(attributes):
                for name in _remove_repeated(body.nodes[index].attribute):
                    place = body.location(index)
                    yield Mend("G304", f"a second equal attribute {quote(name)} was removed", place)


@CHECKER.fix("G713 G714")
def remove_equal_annotations(context: CheckContext) -> Iterator[Mend]:
    """Remove quantization annotations, and entries of them, that repeat an earlier one. Yields a Mend for each."""
    for body in context.bodies:
        for annotation in () if body.function else body.proto.quantization_annotation:
            place = f"{body.label}, quantization_annotation {quote(annotation.tensor_name)}"
            for key in _remove_repeated(annotation.quant_parameter_tensor_names):
                yield Mend("G714", f"a second equal entry of the key {quote(key)} was removed", place)
        for name in [] if body.function else _remove_repeated(body.proto.quantization_annotation):
            place = f"{body.label}, quantization_annotation {quote(name)}"
            yield Mend("G713", "a second equal annotation was removed", place)


def _remove_repeated(entries: Any) -> list[Any]:
    """Remove the messages of a repeated field that equal an earlier one, in place; return their keys or names."""
    seen: set[bytes] = set()
    repeated = []
    for position, entry in enumerate(entries):
        encoded = entry.SerializeToString()
        if encoded in seen:
            repeated.append(position)
        seen.add(encoded)
    named = [next(getattr(entries[at], field) for field in _NAMES if hasattr(entries[at], field)) for at in repeated]
    remove_entries(entries, repeated)
    return named


def _first_reads(body: Body) -> dict[str, int]:
    """Return the index of the first node of a body that reads each name, itself or in a graph inside it.

    Names of values that such a graph defines count, too.
    """
    first: dict[str, int] = {}
    for index, node in enumerate(body.nodes):
        pending = [(body.reads[index], [graph for _, graph in subgraphs(node)])]
        while pending:
            read, graphs = pending.pop()
            for name in read:
                first.setdefault(name, index)
            for graph in graphs:
                pending.append(([value.name for value in graph.output], []))
                for inner in graph.node:
                    pending.append((inner.input[:], [below for _, below in subgraphs(inner)]))
    return first


def _rename_definitions(graph: Any, new: dict[str, str]) -> None:
    """Rename values that a GraphProto defines, and all references to them, in place, also in graphs inside it.

    `new` maps old names to new ones.
    """
    rename_values(graph, new)
    for tensor in (*graph.initializer, *[sparse.values for sparse in graph.sparse_initializer]):
        rename_field(tensor, "name", new)
    for annotation in graph.quantization_annotation:
        rename_field(annotation, "tensor_name", new)
        for entry in annotation.quant_parameter_tensor_names:
            rename_field(entry, "value", new)
    for node in graph.node:
        rename_field(node, "output", new)
        for configuration in node.device_configurations:
            for spec in configuration.sharding_spec:
                rename_field(spec, "tensor_name", new)
