"""Replacement of nodes by new ones: names are bound, unused values and nodes are removed, imports are set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from opset.errors import safe_text
from opset.model.graph.index import Body
from opset.model.graph.walking import names_read, subgraphs
from opset.schemas.names import normalize_domain
from opset.version_converter.facts import ValueFacts
from opset.version_converter.rewrite import Builder, Node, Refusal


def bind_outputs(node: Node, results: tuple[str, ...], op: Builder, values: ValueFacts) -> list[tuple[Any, int]]:
    """Return the new nodes of a builder, each with its opset; their outputs get the names of the old node's outputs.

    The new nodes are changed in place. An Identity is added if no new node computes a value in `results`, or if one
    value replaces two outputs. The new node that computes the first output gets the old node's name.

    Args:
        node: The old node.
        results: The values that replace the outputs of the old node, in order. "" stands for an output that nothing
            reads, and so does a missing entry at the end.
        op: The builder that has made the new nodes.
        values: Facts about the values of the body.

    Raises:
        Refusal: C204 if an output that is read has no value in `results`.
    """
    made, old = op.made, node.proto.name
    produced: set[str] = set()
    rename: dict[str, str] = {}
    for position, name in enumerate(node.outputs):
        if not name:
            continue
        value = results[position] if position < len(results) else ""
        if not value and values.is_read(name):
            raise Refusal("C204", f"the output '{safe_text(name)}' has no equal there")
        if not value or value == name:
            continue
        produced = produced or {name for new, _ in made for name in new.output[:]}
        if value in produced and value not in rename:
            rename[value] = name
        else:
            op.Identity(rename.get(value, value), outputs=[name], domain="")
    if rename:
        for new, _ in made:
            new.input[:] = [rename.get(name, name) for name in new.input]
            new.output[:] = [rename.get(name, name) for name in new.output]
    if old and old not in [new.name for new, _ in made]:
        # The node that computes the first output inherits the name.
        first = next(filter(None, node.outputs), None)
        heir = next((new for new, _ in made if first in new.output), None)
        if heir is not None:
            heir.name = old
    return made


def replace_nodes(proto: Any, replaced: dict[int, list[Any]]) -> None:
    """Replace nodes of a GraphProto or FunctionProto, in place.

    `replaced` has the new nodes by the index of the old one; an empty list removes it. All other nodes stay.
    """
    if all(len(nodes) == 1 for nodes in replaced.values()):
        for index, (node,) in replaced.items():
            proto.node[index].CopyFrom(node)
        return
    set_entries(proto.node, [new for index, old in enumerate(proto.node) for new in replaced.get(index, (old,))])


def set_entries(field: Any, entries: Sequence[Any]) -> None:
    """Replace all entries of a repeated protobuf field by `entries`, which may be some of the old ones."""
    del field[:]
    field.extend(entries)


def unused_after(
    body: Body, proto: Any, replaced: dict[int, list[Any]], released: set[str], elsewhere: Collection[str]
) -> tuple[set[str], set[int]]:
    """Return the values that nothing reads once nodes are replaced, and the nodes that compute only such values.

    Reads in subgraphs count. Inputs and outputs of the body are always read. Nothing is changed.

    Args:
        body: The graph or function in the given model.
        proto: Its GraphProto or FunctionProto in the copied model, in which nothing is replaced yet.
        replaced: The new nodes, by the index of the old one.
        released: Values that old nodes read and new ones do not: the search begins with these.
        elsewhere: Names that are read from outside of the body.

    Returns:
        The names of the values, and the indices of the nodes. Nodes of other domains than ai.onnx are never among them.
    """
    if not released:
        return set(), set()
    used = Counter(body.output_names()) + Counter(body.input_names()) + Counter(elsewhere)
    if not body.function:
        for annotation in proto.quantization_annotation:
            used.update(entry.value for entry in annotation.quant_parameter_tensor_names)
    makers: dict[str, int] = {}
    for index, old in enumerate(proto.node):
        for node in replaced.get(index, (old,)):
            used.update(names_read([node]))
        makers.update((name, index) for name in old.output if name)
    unused: set[str] = set()
    dead: set[int] = set()
    pending = [name for name in released if not used[name]]
    while pending:
        name = pending.pop()
        unused.add(name)
        index = makers.get(name, -1)
        if index < 0 or proto.node[index].domain not in ("", "ai.onnx"):
            continue
        if not unused.issuperset(filter(None, proto.node[index].output)):
            continue
        dead.add(index)
        for node in replaced.get(index, (proto.node[index],)):
            for read in names_read([node]):
                used[read] -= 1
                if read and not used[read]:
                    pending.append(read)
    return unused, dead


def remove_unused(proto: Any, function: bool, replaced: dict[int, list[Any]], unused: set[str], dead: set[int]) -> None:
    """Remove unused values from a graph or function: initializers, inputs, value_info, and the nodes that compute them.

    Initializers, inputs and value_info are removed from `proto` at once; a function has only value_info. Nodes are not:
    `replaced` records which ones go, and the caller has to call `replace_nodes` afterwards.

    Args:
        proto: The GraphProto or FunctionProto.
        function: Whether `proto` is a FunctionProto.
        replaced: The new nodes by the index of the old one. Unused Constants are removed from the lists. The nodes at
            the indices in `dead` get [].
        unused: The names of the values.
        dead: The indices of the nodes that compute only unused values.
    """
    for index, nodes in replaced.items():
        replaced[index] = [
            node
            for node in nodes
            if node.op_type != "Constant" or node.domain not in ("", "ai.onnx") or unused.isdisjoint(node.output)
        ]
    replaced.update((index, []) for index in dead)
    # Before IR version 4 an initializer that was added is an input, too; inputs of the given model are never unused.
    for entries in (proto.value_info,) if function else (proto.initializer, proto.input, proto.value_info):
        kept = [entry for entry in entries if entry.name not in unused]
        if len(kept) < len(entries):
            set_entries(entries, kept)  # one by one, each would move all those behind it


def set_imports(proto: Any, opsets: Mapping[str, int], needed: Mapping[str, int]) -> None:
    """Set the opsets that a model or function imports, and add missing imports for the domains of new nodes.

    Args:
        proto: A ModelProto or FunctionProto.
        opsets: The versions to set, by domain. Domains that are not imported are not added.
        needed: The versions of the domains that nodes are written in. Missing domains are added.
    """
    present = set()
    for entry in proto.opset_import:
        domain = normalize_domain(entry.domain)
        present.add(domain)
        if domain in opsets:
            entry.version = opsets[domain]
    for domain, version in needed.items():
        if domain not in present:
            proto.opset_import.add(domain=domain, version=opsets.get(domain, version))


def unused_imports(proto: Any) -> list[str]:
    """Return the domains that a ModelProto imports, but to which no node and no function belongs.

    Nodes of functions, training graphs and subgraphs count. ai.onnx is never among the domains.
    """
    unused = {entry.domain: None for entry in proto.opset_import if entry.domain not in ("", "ai.onnx")}
    for function in proto.functions:
        unused.pop(function.domain, None)
    graphs = [proto.graph]
    for training in proto.training_info:
        graphs += (training.initialization, training.algorithm)
    pending = [graph.node for graph in graphs] + [function.node for function in proto.functions]
    while pending and unused:
        for node in pending.pop():
            unused.pop(node.domain, None)
            pending += [inner.node for _, inner in subgraphs(node)]
    return [*unused]


def drop_imports(proto: Any, domains: Collection[str]) -> None:
    """Remove the opset imports of these domains from a ModelProto, in place; its functions keep theirs."""
    kept = [entry for entry in proto.opset_import if entry.domain not in domains]
    del proto.opset_import[:]
    proto.opset_import.extend(kept)
