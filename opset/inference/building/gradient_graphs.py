"""The parts of graphs that Gradient nodes differentiate, as graphs of their own.

A Gradient node names values of the graph that it stands in: `y`, and `xs` and `zs` from which it is computed. What it
differentiates becomes a graph inside the node: the inputs are `xs` and `zs`, the nodes those that depend on them and
that `y` depends on, the outputs `y` and every other value that a node reads or gives. What does not depend on the
inputs is read from the graph around.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from opset.errors import Finding, RunError, printable
from opset.model import proto as pb
from opset.model.graph.index import Body
from opset.model.graph.walking import names_read, subgraphs
from opset.schemas.names import normalised

DOMAIN = "ai.onnx.preview.training"


def is_gradient(node: Any) -> bool:
    """Return whether a node is a Gradient of the standard."""
    return bool(node.op_type == "Gradient") and normalised(node.domain) == DOMAIN


def gradient_graph(body: Body, index: int, attributes: Mapping[str, Any]) -> Body:
    """Return the graph that the Gradient node at `index` of a body differentiates, from AttributeProtos by name.

    Raises RunError R202 where names do not fit the body, R201 where the graph has a Gradient node itself.
    """
    place = body.location(index)
    xs, zs = (_names_in(attributes.get(name)) for name in ("xs", "zs"))
    y = attributes["y"].s.decode("utf-8", "replace") if "y" in attributes else ""
    if findings := _check_names(body, [*xs, *zs], y, place):
        raise RunError(findings)
    given = {*xs, *zs}
    graph = pb.GraphProto(name=y)
    graph.input.extend(pb.ValueInfoProto(name=name) for name in (*xs, *zs))
    names = {y: None}
    nodes = body.proto.node
    for each in _nodes_between(nodes, index, given, y):
        if each == index:
            raise RunError(Finding("R202", f"'{printable(y)}' depends on its own gradient", place))
        node = graph.node.add()
        node.CopyFrom(nodes[each])
        if _has_gradient(node):
            why = f"its part of the graph has such a node: {body.location(each)}"
            raise RunError(Finding("R201", "a gradient of a gradient cannot be computed", place, why))
        node.output[:] = ["" if name in given else name for name in node.output]
        names.update(dict.fromkeys([*node.input, *node.output]))
    graph.output.extend(pb.ValueInfoProto(name=name) for name in names if name)
    return Body(graph, "slice", body, nodes[index], index)


def _names_in(attribute: Any) -> list[str]:
    return [name.decode("utf-8", "replace") for name in attribute.strings] if attribute is not None else []


def _check_names(body: Body, given: Sequence[str], y: str, place: str) -> list[Finding]:
    """Return what is wrong with the names."""
    findings = [
        Finding("R202", f"'{printable(name)}' is a duplicate in xs and zs", place)
        for name, count in Counter(given).items()
        if count > 1
    ]
    missing = dict.fromkeys([*given, y])
    scope: Body | None = body
    while scope is not None and missing:
        proto = scope.proto
        defined = {*scope.input_names(), *(name for node in proto.node for name in node.output)}
        if not scope.function:
            defined.update(tensor.name for tensor in proto.initializer)
            defined.update(tensor.values.name for tensor in proto.sparse_initializer)
        missing = {name: None for name in missing if not name or name not in defined}
        scope = scope.parent
    findings += [Finding("R202", f"there is no value '{printable(name)}' to differentiate", place) for name in missing]
    return findings


def _nodes_between(nodes: Sequence[Any], own: int, given: set[str], y: str) -> list[int]:
    """Return the nodes that `y` depends on and that have to run again: those that depend on `given`, and later ones."""
    reads = [_values_read(node) for node in nodes]
    dependent = set(given)
    again = set()
    for index, node in enumerate(nodes):
        if index > own or not dependent.isdisjoint(reads[index]):
            again.add(index)
            dependent.update(node.output)
    needed, found = {y} - given, []
    for index in range(len(nodes) - 1, -1, -1):
        if index in again and not needed.isdisjoint(nodes[index].output):
            found.append(index)
            needed |= reads[index] - given
    return found[::-1]


def _values_read(node: Any) -> set[str]:
    found = names_read([node]) if node.attribute and any(True for _ in subgraphs(node)) else set(node.input)
    return found - {""}


def _has_gradient(node: Any) -> bool:
    pending = [node]
    while pending:
        each = pending.pop()
        if is_gradient(each):
            return True
        pending.extend(inner for _, graph in subgraphs(each) for inner in graph.node)
    return False
