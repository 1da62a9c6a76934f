"""Fewer nodes inside bodies: nodes without readers go, an If gives way to a branch, single nodes are bypassed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from opset.model.graph.index import Body, bodies
from opset.model.graph.walking import names_read, subgraphs
from opset.reduction.search import Search

_MOST_NODES: Final = 200
"""Nodes of the largest model that is reduced node by node, in all bodies."""


def reduce_inside(search: Search) -> bool:
    """Whether bodies became smaller: of graphs in nodes, of functions, and of the model."""
    if sum(len(body.nodes) for body in bodies(search.model.proto)) > _MOST_NODES:
        return False
    done = search.attempt_edit("unread", _drop_unread_nodes)
    for step, edits in (("branch", _branches), ("bypass", _bypasses)):
        # An edit takes away none but bodies inside its own, which come later.
        for number in reversed(range(len(bodies(search.model.proto)))):
            for index in reversed(range(len(bodies(search.model.proto)[number].nodes))):
                node = bodies(search.model.proto)[number].nodes[index]
                done |= any(search.attempt_edit(step, partial(edit, number=number)) for edit in edits(node, index))
    return done


def _drop_unread_nodes(message: Any) -> bool:
    """Remove the nodes of graphs in nodes, and of functions, whose results nothing reads; False if there are none."""
    done = False
    for body in reversed(bodies(message)):
        if body.owner is None and not body.function:
            continue
        read = {*body.output_names()}
        for index in reversed(range(len(body.nodes))):
            if read.isdisjoint(filter(None, body.computes[index])):
                del body.proto.node[index]
                done = True
            else:
                read |= names_read([body.nodes[index]])
    return done


def _branches(node: Any, index: int) -> Iterator[Callable[..., object]]:
    """Yield the edits that put the nodes of a branch in the place of an If."""
    if node.op_type == "If":
        yield from (partial(_take_branch, index=index, name=name) for name, _ in subgraphs(node))


def _take_branch(message: Any, number: int, index: int, name: str) -> bool:
    """Put the nodes of a branch in the place of an If of a ModelProto; False if it has no such branch."""
    body = bodies(message)[number]
    node = body.nodes[index]
    branch = next((inner for each, inner in subgraphs(node) if each == name), None)
    if branch is None or (body.function and branch.initializer):
        return False
    new = {value.name: output for value, output in zip(branch.output, node.output, strict=False) if output}
    nodes = [*body.nodes[:index], *branch.node, *body.nodes[index + 1 :]]
    if not body.function:
        body.proto.initializer.extend(branch.initializer)
        body.proto.sparse_initializer.extend(branch.sparse_initializer)
    del body.proto.node[:]
    body.proto.node.extend(nodes)
    end = index + len(branch.node)
    for each in body.proto.node[index:end]:
        each.output[:] = [new.get(output, output) for output in each.output]
    _read_other(body.proto, new)
    return True


def _bypasses(node: Any, index: int) -> Iterator[Callable[..., object]]:
    """Yield the edits that take a node out of its way, one for each input that its readers may read."""
    yield from (partial(_bypass, index=index, at=at) for at, name in enumerate(node.input) if name)


def _bypass(message: Any, number: int, index: int, at: int) -> bool:
    """Remove a node of a ModelProto, and let its readers read one of its inputs; False if that cannot be said."""
    body: Body = bodies(message)[number]
    node = body.nodes[index]
    outputs = [name for name in node.output if name]
    formal = {*body.output_names()}
    if not outputs or (body.owner is None and formal & {*outputs}):
        return False
    if {*outputs[1:]} & (names_read(body.nodes) | formal):
        return False
    del body.proto.node[index]
    _read_other(body.proto, {outputs[0]: node.input[at]})
    if body.owner is not None:
        for value in body.proto.output:
            value.name = node.input[at] if value.name == outputs[0] else value.name
    return True


def _read_other(graph: Any, new: dict[str, str]) -> None:
    """Let the nodes of a graph, and of the graphs in them, read other values."""
    pending = [graph]
    while pending:
        graph = pending.pop()
        for node in graph.node:
            node.input[:] = [new.get(name, name) for name in node.input]
            for _, inner in subgraphs(node):
                pending.append(inner)
                for value in inner.output:
                    value.name = new.get(value.name, value.name)
