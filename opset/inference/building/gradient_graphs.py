"""The parts of graphs that Gradient nodes differentiate, as graphs of their own.

A Gradient node names values of the graph around it: `y`, and `xs` and `zs` from which `y` is computed. The part between
them becomes a graph inside the node: the inputs are `xs` and `zs`, the nodes those that depend on them and that `y`
depends on, the outputs `y` and every other value that a node reads or computes. Values that do not depend on the inputs
are read from the graph around.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from opset.errors import Finding, RunError, safe_text
from opset.model import proto as pb
from opset.model.graph.index import Body
from opset.model.graph.walking import names_read, subgraphs
from opset.schemas.names import normalize_domain

DOMAIN = "ai.onnx.preview.training"


def is_gradient(node: Any) -> bool:
    """Whether a node is a Gradient of the domain ai.onnx.preview.training."""
    return bool(node.op_type == "Gradient") and normalize_domain(node.domain) == DOMAIN


def gradient_graph(body: Body, index: int, attributes: Mapping[str, Any]) -> Body:
    """Return the part of a graph that the Gradient node at `index` differentiates, as a graph of its own.

    Its inputs are the values that the attributes `xs` and `zs` name. Its nodes are copies of the nodes on the paths
    from these inputs to the value `y`. Its outputs are `y` and every other value that these nodes read or compute.

    Args:
        body: the graph or function with the node.
        index: the index of the node.
        attributes: the AttributeProtos of the node, by name.

    Raises:
        RunError: R202 if an attribute names a value that does not exist; R202 if `xs` and `zs` name a value twice; R202
            if `y` depends on its own gradient; R201 if the part has a Gradient node itself.
    """
    place = body.location(index)
    xs, zs = (
        [text.decode("utf-8", "replace") for text in attributes[name].strings] if name in attributes else []
        for name in ("xs", "zs")
    )
    y = attributes["y"].s.decode("utf-8", "replace") if "y" in attributes else ""
    if findings := _check_names(body, [*xs, *zs], y, place):
        raise RunError(findings)
    inputs = {*xs, *zs}
    graph = pb.GraphProto(name=y)
    graph.input.extend(pb.ValueInfoProto(name=name) for name in (*xs, *zs))
    names = {y: None}
    nodes = body.proto.node
    for needed in _nodes_between(nodes, index, inputs, y):
        if needed == index:
            help = "take the output of Gradient out of what computes y"
            raise RunError(Finding("R202", f"'{safe_text(y)}' depends on its own gradient", place, help=help))
        node = graph.node.add()
        node.CopyFrom(nodes[needed])
        if _has_gradient(node):
            why = f"its part of the graph has such a node: {body.location(needed)}"
            help = "differentiate a graph without Gradient"
            raise RunError(Finding("R201", "a gradient of a gradient cannot be computed", place, why, help))
        node.output[:] = ["" if name in inputs else name for name in node.output]
        names.update(dict.fromkeys([*node.input, *node.output]))
    graph.output.extend(pb.ValueInfoProto(name=name) for name in names if name)
    return Body(graph, "slice", body, nodes[index], index)


def _check_names(body: Body, inputs: Sequence[str], y: str, place: str) -> list[Finding]:
    """Return an R202 finding for each name that `inputs` has twice, and for each name without a value.

    Args:
        body: the graph or function; a value may also be in one around it.
        inputs: the names in `xs` and `zs`.
        y: the name of the value that is differentiated.
        place: the location that the findings state.
    """
    findings = [
        Finding("R202", f"'{safe_text(name)}' is a duplicate in xs and zs", place, help="name each value once")
        for name, count in Counter(inputs).items()
        if count > 1
    ]
    missing = dict.fromkeys([*inputs, y])
    scope: Body | None = body
    while scope is not None and missing:
        proto = scope.proto
        defined = {*scope.input_names(), *(name for node in proto.node for name in node.output)}
        if not scope.function:
            defined.update(tensor.name for tensor in proto.initializer)
            defined.update(tensor.values.name for tensor in proto.sparse_initializer)
        missing = {name: None for name in missing if not name or name not in defined}
        scope = scope.parent
    help = "correct xs, zs or y: they name values of this graph, or of one around it"
    for name in missing:
        findings.append(Finding("R202", f"there is no value '{safe_text(name)}' to differentiate", place, help=help))
    return findings


def _nodes_between(nodes: Sequence[Any], gradient: int, inputs: set[str], y: str) -> list[int]:
    """Return the indices, ascending, of the nodes that lead from the values `inputs` to the value `y`.

    If `y` depends on a node behind the Gradient node, this node is included even without a path from `inputs` to it.
    `gradient` is the index of the Gradient node in `nodes`.
    """
    reads = [names_read([node]) - {""} for node in nodes]
    dependent = set(inputs)
    again = set()
    for index, node in enumerate(nodes):
        if index > gradient or not dependent.isdisjoint(reads[index]):
            again.add(index)
            dependent.update(node.output)
    needed = {y} - inputs
    selected: list[int] = []
    for index in range(len(nodes) - 1, -1, -1):
        if index in again and not needed.isdisjoint(nodes[index].output):
            selected.append(index)
            needed |= reads[index] - inputs
    return selected[::-1]


def _has_gradient(node: Any) -> bool:
    """Whether a node is a Gradient, or has one in its subgraphs."""
    pending = [node]
    while pending and not is_gradient(pending[-1]):
        pending.extend(inner for _, graph in subgraphs(pending.pop()) for inner in graph.node)
    return bool(pending)
