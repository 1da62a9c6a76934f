"""Walking a model: its bodies (graphs, functions, subgraphs in attributes), what is visible where, and fresh names.

Everything here is iterative and linear in the model's size; a model is untrusted, so nothing recurses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from opset.errors import Finding, ModelError, printable

GRAPH_ATTRIBUTE, GRAPHS_ATTRIBUTE = 5, 10


@dataclass(eq=False, slots=True)
class Body:
    """A list of nodes with its scope: the main graph, a training graph, a function, or a subgraph in an attribute.

    `proto` is the GraphProto or FunctionProto; `parent` the body whose values are visible too; `owner` the node that
    holds a subgraph, at `index` of the parent; `root` the outermost body (which decides the imports that count).
    """

    proto: Any
    label: str
    parent: Body | None = None
    owner: Any = None
    index: int = -1
    function: bool = False
    root: Body = field(init=False)

    def __post_init__(self) -> None:
        self.root = self.parent.root if self.parent is not None and self.owner is not None else self

    def input_names(self) -> list[str]:
        """Names of the formal inputs."""
        return list(self.proto.input) if self.function else [value.name for value in self.proto.input]

    def output_names(self) -> list[str]:
        """Names of the formal outputs."""
        return list(self.proto.output) if self.function else [value.name for value in self.proto.output]

    def place(self, index: int) -> str:
        """Path of the node at `index`, as messages show it: "graph 'main', node 'up1' (Resize)"."""
        node = self.proto.node[index]
        name = f"'{printable(node.name)}'" if node.name else f"number {index}"
        return f"{self.label}, node {name} ({printable(node.op_type)})"


def subgraphs(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield (attribute name, GraphProto) for every subgraph that a node holds.

    IR version 1 wrote no attribute types, so the fields are looked at, not the type alone.
    """
    for attribute in node.attribute:
        kind = attribute.type
        if kind == GRAPH_ATTRIBUTE or (kind == 0 and attribute.HasField("g")):
            yield attribute.name, attribute.g
        elif kind == GRAPHS_ATTRIBUTE or (kind == 0 and attribute.graphs):
            for number, graph in enumerate(attribute.graphs):
                yield f"{attribute.name}[{number}]", graph


def bodies(model: Any) -> list[Body]:
    """Return every body of a ModelProto, each before those inside it: graph, training graphs, functions."""
    pending: list[Body] = []
    main = Body(model.graph, f"graph '{printable(model.graph.name)}'")
    pending.append(main)
    for number, training in enumerate(model.training_info):
        for part in ("initialization", "algorithm"):
            if training.HasField(part):
                pending.append(Body(getattr(training, part), f"training_info[{number}].{part}", parent=main))
    for function in model.functions:
        overload = f":{printable(function.overload)}" if function.overload else ""
        label = f"function '{printable(function.domain)}.{printable(function.name)}{overload}'"
        pending.append(Body(function, label, function=True))
    return bodies_below(*pending)


def bodies_below(*roots: Body) -> list[Body]:
    """Return bodies and those inside them, each before those inside it."""
    found = []
    pending = [*reversed(roots)]
    while pending:
        body = pending.pop()
        found.append(body)
        inside = [
            Body(graph, f"{body.place(index)}, {printable(name)}", body, node, index)
            for index, node in enumerate(body.proto.node)
            if node.attribute
            for name, graph in subgraphs(node)
        ]
        pending.extend(reversed(inside))
    return found


def verify(found: list[Body]) -> list[dict[Any, int]]:
    """Check the rules on names that everything else relies on; linear in the number of names.

    Every value is defined once in its body and before its first use, and names are valid UTF-8 (IR specification,
    "Names within a graph", "Nodes"). `found` is what `bodies` gave. Returns for each body the names it defines with
    the index of the node that does, -1 for inputs and initializers. Raises ModelError with all findings.
    """
    findings: list[Finding] = []
    positions: dict[Body, dict[str, int]] = {}
    for body in found:
        positions[body] = _positions(body, findings)
    for body in found:
        here = positions[body]
        for index, node in enumerate(body.proto.node):
            for name in node.input:
                position = here.get(name)
                if position is not None and position < index:
                    continue
                if name and not _visible(name, body, positions):
                    findings.append(_undefined(body, index, name, position))
        for name in body.output_names():
            if name and name not in here and not _visible(name, body, positions):
                findings.append(Finding("M112", f"the output '{printable(name)}' is never computed", body.label))
    if findings:
        raise ModelError(findings)
    return [*positions.values()]


def _positions(body: Body, findings: list[Finding]) -> dict[Any, int]:
    """Return for every value that a body defines the index of its node, -1 for inputs and initializers."""
    proto = body.proto
    here: dict[Any, int] = dict.fromkeys(body.input_names(), -1)
    if not body.function:
        here.update((tensor.name, -1) for tensor in proto.initializer)
        here.update((sparse.values.name, -1) for sparse in proto.sparse_initializer)
    for name in here:
        if name.__class__ is bytes:
            findings.append(_not_utf8(body.label, name))
    for index, node in enumerate(proto.node):
        if node.op_type.__class__ is bytes or node.domain.__class__ is bytes or node.name.__class__ is bytes:
            findings.append(_not_utf8(f"{body.label}, node number {index}", node.op_type))
        for name in node.output:
            if name in here and name:
                findings.append(Finding("M113", f"the value '{printable(name)}' is defined twice", body.place(index)))
            elif name.__class__ is bytes:
                findings.append(_not_utf8(body.place(index), name))
            else:
                here[name] = index
    return here


def _visible(name: str, body: Body, positions: dict[Body, dict[str, int]]) -> bool:
    while body.parent is not None:
        # A training graph sees all of the main graph; a subgraph only what stands before the node that holds it.
        limit = body.index if body.owner is not None else len(body.parent.proto.node)
        body = body.parent
        if positions[body].get(name, limit) < limit:
            return True
    return False


def _undefined(body: Body, index: int, name: Any, position: int | None) -> Finding:
    if name.__class__ is bytes:
        return _not_utf8(body.place(index), name)
    if position is None:
        return Finding(
            "M112", f"the input '{printable(name)}' is defined nowhere", body.place(index),
            help="name a graph input, an initializer or the output of an earlier node",
        )
    return Finding(
        "M110", f"the input '{printable(name)}' is computed only by this node or a later one", body.place(index),
        why="nodes must be sorted topologically, without cycles (IR specification, Nodes)",
        help="sort the nodes; if that is not possible, the graph has a cycle",
    )


def _not_utf8(place: str, name: Any) -> Finding:
    return Finding("M106", f"the name {printable(name)} is not valid UTF-8", place, help="write names as UTF-8")


def list_as_input(graph: Any, tensor: Any) -> None:
    """List an initializer of a GraphProto as its input, which every one was before IR version 4 (IR specification)."""
    value = graph.input.add(name=tensor.name)
    value.type.tensor_type.elem_type = tensor.data_type
    value.type.tensor_type.shape.SetInParent()
    for dim in tensor.dims:
        value.type.tensor_type.shape.dim.add(dim_value=dim)


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


def used_names(found: Iterable[Body]) -> set[str]:
    """Return every name of a value that nodes of the bodies, or their outputs, use."""
    names: set[str] = set()
    for body in found:
        names.update(body.output_names(), *(node.input for node in body.proto.node))
    return names


class FreshNames:
    """Names that occur nowhere in a model; the set of taken ones is collected when the first is asked for."""

    def __init__(self, found: Iterable[Body], defined: Iterable[Iterable[str]]) -> None:
        """Take a model's bodies and, for each, the names that it defines, as `verify` gives them."""
        self._found, self._defined = found, defined
        self._taken: set[str] | None = None
        self._next: dict[str, int] = {}

    def fresh(self, stem: str) -> str:
        """Return `stem` itself if it is free, else `stem` with the lowest free number behind it."""
        if self._taken is None:
            self._taken = set().union(*self._defined)
            for body in self._found:
                self._taken.update(node.name for node in body.proto.node)
                # An entry for a value that is not there would tell of a new one of that name.
                self._taken.update(value.name for value in body.proto.value_info)
        name, number = stem, self._next.get(stem, 0)
        while name in self._taken:
            number += 1
            name = f"{stem}_{number}"
        self._next[stem] = number
        self._taken.add(name)
        return name


def call_order(functions: Iterable[Any]) -> list[Any]:
    """Return a model's functions, callers before those that they call.

    Raises ModelError M114 where functions call each other in a cycle (IR specification, Functions).
    """
    by_key = {function_key(function): function for function in functions}
    callees = {key: _called(function, by_key) for key, function in by_key.items()}
    waiting = dict.fromkeys(by_key, 0)
    for targets in callees.values():
        for target in targets:
            waiting[target] += 1
    ready = [key for key, count in waiting.items() if not count]
    ordered = []
    while ready:
        key = ready.pop()
        ordered.append(by_key[key])
        for target in callees[key]:
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    if len(ordered) < len(by_key):
        circle = sorted(".".join(map(printable, key[:2])) for key, count in waiting.items() if count)
        raise ModelError(Finding("M114", "functions call each other in a cycle", ", ".join(circle)))
    return ordered


def function_key(call: Any) -> tuple[str, str, str]:
    """Return (domain, name, overload), the identity of a FunctionProto, or of the function that a NodeProto calls."""
    domain = "" if call.domain == "ai.onnx" else call.domain
    return domain, call.op_type if hasattr(call, "op_type") else call.name, call.overload


def _called(function: Any, known: dict[tuple[str, str, str], Any]) -> set[tuple[str, str, str]]:
    found, pending = set(), [function]
    while pending:
        for node in pending.pop().node:
            key = function_key(node)
            if key in known:
                found.add(key)
            pending.extend(graph for _, graph in subgraphs(node))
    return found
