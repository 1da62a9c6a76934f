"""A model, indexed once: its bodies with what each node reads and computes, definitions, imports, functions.

    index = index_model(proto, registry.domains)

Conversion, inference and evaluation work on one index. It describes the message as it was when it was indexed.
Everything here is iterative and linear in the model's size; a model is untrusted, so nothing recurses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from opset.errors import (
    Finding,
    FindingList,
    ModelError,
    NodeLocation,
    NodeReference,
    brief_name,
    listing,
    quote,
    safe_text,
)
from opset.model.graph.walking import function_key, subgraphs
from opset.model.limits import MAX_LOCATION_LEVELS

FunctionKey = tuple[str, str, str]
"""Domain, name and overload of a function."""
Operator = tuple[str, str]
"""Name and domain of a node's operator; "ai.onnx" is ""."""


class Body:
    """A list of nodes with its scope: the main graph, a training graph, a function, or a subgraph in an attribute.

    - `proto`: the GraphProto or FunctionProto;
    - `parent`: the body whose values are visible too; `owner`: the node that holds a subgraph, at `index` of the
      parent; `root`: the outermost body, whose imports count;
    - of each node, by its index, copied once since every look at a message makes a copy: `nodes`, `operators`, `names`,
      `reads` (names of its inputs), `computes` (names of its outputs), `attributes`.
    """

    def __init__(
        self,
        proto: Any,
        name: str,
        parent: Body | None = None,
        owner: Any = None,
        index: int = -1,
        function: bool = False,
    ) -> None:
        """Index the message; `name` is the attribute of a subgraph, or the label of another body in messages."""
        self.proto, self.name, self.function = proto, name, function
        self.parent, self.owner, self.index = parent, owner, index
        self.root: Body = parent.root if parent is not None and owner is not None else self
        self.nodes: list[Any] = proto.node[:]
        # Slices: to copy names by iterating over a message takes twice as long.
        found = [(node.op_type, node.domain) for node in self.nodes]
        known = {each: (each[0], "" if each[1] == "ai.onnx" else each[1]) for each in {*found}}
        self.operators: list[Operator] = [known[each] for each in found]
        self.names: list[str] = [node.name for node in self.nodes]
        self.reads: list[list[str]] = [node.input[:] for node in self.nodes]
        self.computes: list[list[str]] = [node.output[:] for node in self.nodes]
        # Most nodes have none, and to slice nothing takes longer than to see that there is nothing.
        self.attributes: list[Sequence[Any]] = [
            given[:] if given else () for given in [node.attribute for node in self.nodes]
        ]

    @property
    def label(self) -> str:
        """Path of the body, as messages show it: "graph 'main', node 'up1' (If), then_branch"."""
        chain: list[Body] = []
        body = self
        while body.owner is not None and body.parent is not None:
            chain.append(body)
            body = body.parent
        left_out = len(chain) - MAX_LOCATION_LEVELS
        if left_out > 0:
            del chain[MAX_LOCATION_LEVELS - 1 : -1]
        parts = [f"{each.parent.node_label(each.index)}, {brief_name(each.name)}" for each in chain if each.parent]
        if left_out > 0:
            parts.insert(-1, f"… {left_out} levels …")
        return ", ".join([body.name, *reversed(parts)])

    def location(self, index: int) -> NodeLocation:
        """Path of the node at `index`, as messages show it: "graph 'main', node 'up1' (Resize)"."""
        label = self.label
        op_type, domain = self.operators[index]
        at = NodeReference(label, self.names[index], domain, op_type, index)
        return NodeLocation(f"{label}, {self.node_label(index)}", at)

    def node_label(self, index: int) -> str:
        """Return a node's name and operator, as messages show it: "node 'up1' (Resize)"."""
        return node_label(self.names[index], self.operators[index][0], index)

    @cached_property
    def inner_bodies(self) -> list[Body]:
        """The subgraphs in its nodes, in order."""
        return [
            Body(graph, name, self, self.nodes[index], index)
            for index, attributes in enumerate(self.attributes)
            if attributes
            for name, graph in subgraphs(self.nodes[index])
        ]

    @cached_property
    def subgraphs(self) -> dict[tuple[int, str], Body]:
        """The subgraphs by index of the node and attribute: (3, "then_branch"), (4, "graphs[0]")."""
        return {(body.index, body.name): body for body in self.inner_bodies}

    @cached_property
    def inner_bodies_by_node(self) -> dict[int, list[Body]]:
        """The subgraphs by index of the node, in order; nodes without subgraphs are left out."""
        bodies: dict[int, list[Body]] = {}
        for body in self.inner_bodies:
            bodies.setdefault(body.index, []).append(body)
        return bodies

    @cached_property
    def definitions(self) -> dict[str, int]:
        """The index of the first node that computes each value of the body, -1 for inputs and initializers."""
        positions = dict.fromkeys(self.input_names(), -1)
        if not self.function:
            positions.update((tensor.name, -1) for tensor in self.proto.initializer)
            positions.update((sparse.values.name, -1) for sparse in self.proto.sparse_initializer)
        for index, outputs in enumerate(self.computes):
            for name in outputs:
                if name not in positions and name:
                    positions[name] = index
        return positions

    def function_key(self, index: int) -> FunctionKey:
        """Return domain, name and overload of the function that the node at `index` calls, if it calls one."""
        op_type, domain = self.operators[index]
        return domain, op_type, self.nodes[index].overload

    def input_names(self) -> list[str]:
        """Names of the formal inputs."""
        return self.proto.input[:] if self.function else [value.name for value in self.proto.input]

    def output_names(self) -> list[str]:
        """Names of the formal outputs."""
        return self.proto.output[:] if self.function else [value.name for value in self.proto.output]


def node_label(name: str, operator: str, index: int) -> str:
    """Return the label of a node in messages; it has the index if the name is missing or cut."""
    words = f"node {quote(name)}" if name else "node"
    if not name or words.endswith("…'"):
        words += f" number {index}"
    return f"{words} ({brief_name(operator)})"


class BodyLabels:
    """The labels of bodies that a report refers to by number: each is in it once, and not at every node."""

    def __init__(self) -> None:
        self.labels: list[str] = []
        self._numbers: dict[Body, int] = {}

    def number_of(self, body: Body) -> int:
        """Return the number of a body, whose label `labels` has at that index."""
        if body not in self._numbers:
            self._numbers[body] = len(self.labels)
            self.labels.append(body.label)
        return self._numbers[body]


def bodies(model: Any) -> list[Body]:
    """Return every body of a ModelProto, each before those inside it: graph, training graphs, functions."""
    main = Body(model.graph, f"graph {quote(model.graph.name)}")
    roots = [main, *(Body(graph, label, parent=main) for label, graph in _training_graphs(model))]
    for number, function in enumerate(model.functions):
        overload = f":{safe_text(function.overload)}" if function.overload else ""
        label = f"function {quote(f'{safe_text(function.domain)}.{safe_text(function.name)}{overload}')}"
        roots.append(Body(function, label + f" number {number}" * label.endswith("…'"), function=True))
    return bodies_below(*roots)


def _training_graphs(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield the training graphs of a ModelProto with their labels."""
    for number, training in enumerate(model.training_info):
        for part in ("initialization", "algorithm"):
            if training.HasField(part):
                yield f"training_info[{number}].{part}", getattr(training, part)


def bodies_below(*roots: Body) -> list[Body]:
    """Return bodies and those inside them, each before those inside it."""
    all_bodies = []
    pending = [*reversed(roots)]
    while pending:
        body = pending.pop()
        all_bodies.append(body)
        pending.extend(reversed(body.inner_bodies))
    return all_bodies


class ModelIndex:
    """The index of one model; see the module.

    - `proto`: the ModelProto; `bodies`: all bodies, each before those inside it, the main graph first;
    - `functions`: the bodies of functions by domain, name and overload;
    - `opsets`: the versions that the model imports, by domain; 1 if IR version 1 or 2 imports none;
    - `notes`: the changes that were made to the model before it was indexed.
    """

    def __init__(self, proto: Any, known_domains: Collection[str]) -> None:
        """Index a ModelProto; `known_domains` have schemas. Raises ModelError M106 to M109."""
        check_head(proto)
        self.proto, self.known_domains = proto, known_domains
        self.opsets = imports_of(proto, "opset_import", known_domains) if proto.opset_import else {"": 1}
        self.bodies = bodies(proto)
        self.functions = {function_key(body.proto): body for body in self.bodies if body.function}
        self.notes: list[str] = []
        self._imports: dict[Body, dict[str, int]] = {}
        self._call_order: list[Body] | None = None

    @property
    def main(self) -> Body:
        """The main graph."""
        return self.bodies[0]

    @property
    def graphs(self) -> list[Body]:
        """The main graph and the training graphs, in the order of the model."""
        return [body for body in self.bodies if body.root is body and not body.function]

    def imports(self, body: Body) -> Mapping[str, int]:
        """Return the opset version of each domain that a body is written in. Raises ModelError M106 to M108."""
        root = body.root
        if not root.function:
            return self.opsets
        if root not in self._imports:
            self._imports[root] = imports_of(root.proto, root.label, self.known_domains)
        return self._imports[root]

    def call_order(self) -> list[Body]:
        """Return the functions, callers before the functions that they call; raise ModelError M114 for a cycle."""
        if self._call_order is None:
            self._call_order = call_order(self.functions)
        return self._call_order


def messages_of(index: ModelIndex, proto: Any) -> dict[Body, Any]:
    """Return the graphs and functions of an equal ModelProto, by the bodies that are indexed."""
    messages = {index.main: proto.graph}
    messages.update(zip(index.graphs[1:], (graph for _, graph in _training_graphs(proto)), strict=True))
    functions = [body for body in index.bodies if body.function]
    messages.update(zip(functions, proto.functions, strict=True))
    for body in index.bodies:
        holders = dict.fromkeys(inner.index for inner in body.inner_bodies)
        graphs = (graph for holder in holders for _, graph in subgraphs(messages[body].node[holder]))
        messages.update(zip(body.inner_bodies, graphs, strict=True))
    return messages


def index_model(proto: Any, known_domains: Collection[str]) -> ModelIndex:
    """Return the index of a ModelProto whose names are verified.

    Raises:
        ModelError: M106 to M109 if imports are malformed, M110, M112 or M113 if names are.
    """
    index = ModelIndex(proto, known_domains)
    for body in index.bodies:
        if body.function:
            index.imports(body)
    verify_names(index.bodies)
    return index


def check_head(proto: Any) -> None:
    """Raise ModelError if a ModelProto has no graph (M109) or no opset import (M107)."""
    if not proto.HasField("graph"):
        raise ModelError(Finding("M109", "the model has no graph", "model"))
    if proto.ir_version >= 3 and not proto.opset_import:
        why = "from IR version 3 a model must name the operator sets that it uses"
        help = "import the version that the exporter wrote the nodes for, or name it: --assume-opset 13"
        raise ModelError(Finding("M107", "the model imports no operator set", "opset_import", why, help))


def normalize_domain(domain: Any) -> Any:
    """Return a domain as messages name it, but "ai.onnx" as ""; one that is not valid UTF-8 is bytes."""
    return "" if domain == "ai.onnx" else domain


def imports_of(proto: Any, location: str, known_domains: Collection[str]) -> dict[str, int]:
    """Return the domains that a ModelProto or FunctionProto imports, "ai.onnx" as "".

    Equal entries count as one. Raises ModelError M107 if a domain has no version, M108 if it has two (IR
    specification, Operator Sets).
    """
    versions: dict[str, int] = {}
    findings = FindingList()
    for entry in proto.opset_import:
        domain = normalize_domain(entry.domain)
        if domain.__class__ is bytes:
            findings.append(Finding("M106", f"the domain {brief_name(domain)} is not valid UTF-8", location))
        elif versions.get(domain, entry.version) != entry.version:
            shown = quote(domain or "ai.onnx")
            message = f"the domain {shown} is imported twice, at {versions[domain]} and {entry.version}"
            why = '"" and "ai.onnx" are one domain' if not domain else ""
            help = "keep the import that the nodes were written for"
            findings.append(Finding("M108", message, location, why, help))
        elif entry.version < 1 and domain in known_domains:
            findings.append(Finding("M107", f"the domain {quote(domain or 'ai.onnx')} has no version", location))
        else:
            versions[domain] = entry.version
    if findings:
        raise ModelError(findings)
    return versions


def verify_names(all_bodies: Collection[Body]) -> None:
    """Check the rules on names that everything else relies on.

    Every value is defined once in its body and before its first use, also if a body around has a value of that name,
    names are valid UTF-8 (IR specification, "Names within a graph", "Nodes"), and functions have different identities
    (onnx.proto, "FunctionProto"). Linear in the number of names.

    Raises:
        ModelError: With all findings: M106, M110, M112, M113.
    """
    findings = FindingList(function_faults(all_bodies))
    for body in all_bodies:
        findings += definition_faults(body)
        findings += _attribute_faults(body)
    for body in all_bodies:
        findings += use_faults(body)
    if findings:
        raise ModelError(findings)


def function_faults(all_bodies: Iterable[Body]) -> Iterator[Finding]:
    """Yield a finding for each function with the identity of an earlier one."""
    seen: set[FunctionKey] = set()
    for body in filter(lambda each: each.function, all_bodies):
        key = function_key(body.proto)
        if key in seen:
            why = "a call names a function by its domain, name and overload"
            message = f"the function {quote(key[1])} is defined twice"
            yield Finding("M113", message, body.label, why, "remove one, or rename it and its calls")
        seen.add(key)


def _attribute_faults(body: Body) -> Iterator[Finding]:
    """Yield a finding for each graph in a node whose attribute has the name of another one."""
    for subgraph in body.inner_bodies:
        if body.subgraphs[subgraph.index, subgraph.name] is not subgraph:
            message = f"the attribute {quote(subgraph.name)} is defined twice"
            yield Finding("M113", message, body.location(subgraph.index), help="keep the graph that is meant")


def use_faults(body: Body) -> Iterator[Finding]:
    """Yield a finding for each value that a body uses and that is not defined before, and for each ambiguous one."""
    here = body.definitions
    for index, names in enumerate(body.reads):
        for name in names:
            position = here.get(name)
            if position is not None and position < index:
                continue
            if name and not is_visible(name, body):
                yield _undefined_input(body, index, name, position)
            elif name and position is not None:
                message = f"the value {quote(name)} of a graph around is defined again, after it was used"
                why = "a name would stand for two values in one graph"
                yield Finding("M113", message, body.location(index), why, "rename one of the two")
    for name in body.output_names():
        if name and name not in here and not is_visible(name, body):
            help = "name a value of the graph, or let a node compute it"
            yield Finding("M112", f"the output {quote(name)} is never computed", body.label, help=help)


def definition_faults(body: Body) -> Iterator[Finding]:
    """Yield the names of a body that are not valid UTF-8, and those that are defined twice."""
    here = body.definitions
    computed = sum(map(len, body.computes)) - sum(names.count("") for names in body.computes if "" in names)
    given = sum(1 for position in here.values() if position < 0)
    words = {word for operator in {*body.operators} for word in operator}
    attributes = [*body.proto.attribute, *[each.name for each in body.proto.attribute_proto]] if body.function else []
    identity = function_key(body.proto) if body.function else ()
    words.update(attributes, identity)
    inputs = [name for name in body.input_names() if name]
    if (
        computed + given == len(here)
        and len(inputs) == len({*inputs})
        and all(map(_are_text, (here, body.names, words)))
    ):
        return
    given_names = (name for name, index in here.items() if index < 0)
    stated = (*given_names, *attributes, *identity)
    yield from (_encoding_fault(body.label, name) for name in stated if not _are_text([name]))
    for name, count in Counter(inputs).items():
        if count > 1:
            yield Finding(
                "M113", f"the input {quote(name)} is defined twice", body.label, help="keep one of the inputs"
            )
    for index, outputs in enumerate(body.computes):
        op_type, domain = body.operators[index]
        for name in (op_type, domain, body.names[index]):
            if not _are_text([name]):
                yield _encoding_fault(f"{body.label}, node number {index}", name)
        seen: set[str] = set()
        for name in outputs:
            if name and (here[name] != index or name in seen):
                why = "a name stands for one value in a graph"
                message, help = f"the value {quote(name)} is defined twice", "rename one of the two, and what reads it"
                yield Finding("M113", message, body.location(index), why, help)
            elif not _are_text([name]):
                yield _encoding_fault(body.location(index), name)
            seen.add(name)


def _are_text(names: Iterable[Any]) -> bool:
    """Whether all names are text; those that are not valid UTF-8 come from protobuf as bytes."""
    return bytes not in {*map(type, names)}


def is_initialization(root: Body) -> bool:
    """Whether an outermost body is the initialization of an entry of training_info."""
    return root.parent is not None and root.name.endswith(".initialization")


def is_visible(name: str, body: Body, outermost: Body | None = None) -> bool:
    """Whether a body around, up to `outermost`, defines a name: before the owner of a subgraph.

    Around a training graph, the main graph may define it anywhere.
    """
    while body.parent is not None and body is not outermost:
        limit = body.index if body.owner is not None else len(body.parent.nodes)
        body = body.parent
        if body.definitions.get(name, limit) < limit:
            return True
    return False


def _undefined_input(body: Body, index: int, name: Any, position: int | None) -> Finding:
    """Return the finding for an input of a node that nothing before it defines."""
    if name.__class__ is bytes:
        return _encoding_fault(body.location(index), name)
    if position is None:
        if around := _later_definition(name, body):
            message = f"the input {quote(name)} is computed only later: {around}"
            help = "put that node before the one that holds this graph; `opset check --fix` sorts what has no cycle"
            return Finding("M112", message, body.location(index), help=help)
        help = "name a graph input, an initializer or the output of an earlier node"
        return Finding("M112", f"the input {quote(name)} is defined nowhere", body.location(index), help=help)
    message = f"the input {quote(name)} is computed only by this node or a later one"
    why = "nodes must be sorted topologically, without cycles (IR specification, Nodes)"
    help = "break the cycle; nodes that are only unsorted are sorted by `opset check --fix`, and before a conversion"
    return Finding("M110", message, body.location(index), why, help)


def _later_definition(name: Any, body: Body) -> str:
    """Return the location of the node in a graph around that computes a name too late for a body, or ""."""
    while body.owner is not None and body.parent is not None:
        limit, body = body.index, body.parent
        if body.definitions.get(name, -1) >= limit:
            return body.location(body.definitions[name])
    return ""


def _encoding_fault(location: str, name: Any) -> Finding:
    """Return the finding for a name that is not valid UTF-8."""
    message = f"the name {brief_name(name)} is not valid UTF-8"
    return Finding("M106", message, location, help="write names as UTF-8")


class FreshNames:
    """Names that occur nowhere in a model; its own names are read when the first new one is needed."""

    def __init__(self, found: Iterable[Body]) -> None:
        """Keep all bodies of a model."""
        self._bodies = found
        self._given: set[str] = set()
        self._next: dict[str, int] = {}

    @cached_property
    def _used_names(self) -> set[str]:
        """The names of values and nodes in all bodies."""
        names: set[str] = set()
        for body in self._bodies:
            names.update(body.definitions, body.names)
            # An entry for a value that does not exist would state the type of a new one of that name.
            names.update(value.name for value in body.proto.value_info)
        return names

    def fresh(self, stem: str) -> str:
        """Return `stem` itself if it is free, else `stem` with the lowest free number behind it."""
        name, number = stem, self._next.get(stem, 0)
        while name in self._used_names or name in self._given:
            number += 1
            name = f"{stem}_{number}"
        self._next[stem] = number
        self._given.add(name)
        return name

    @classmethod
    def beside(cls, names: Iterable[str]) -> FreshNames:
        """Return names that are fresh beside these ones, whatever a model has."""
        other = cls(())
        other.__dict__["_used_names"] = {*names}
        return other

    def restart(self) -> FreshNames:
        """Return fresh names of the same model, of which none is given yet."""
        other = FreshNames(self._bodies)
        other.__dict__["_used_names"] = self._used_names
        return other

    def is_in_model(self, name: str) -> bool:
        """Whether the model itself has a name, anywhere."""
        return name in self._used_names


def call_order(functions: Mapping[FunctionKey, Body]) -> list[Body]:
    """Return functions, callers before the functions that they call; raise ModelError M114 for a cycle."""
    if not functions:
        return []
    callees = {
        key: dict.fromkeys(
            called
            for each in bodies_below(body)
            for index in range(len(each.nodes))
            if (called := each.function_key(index)) in functions
        )
        for key, body in functions.items()
    }
    waiting = dict.fromkeys(functions, 0)
    for targets in callees.values():
        for target in targets:
            waiting[target] += 1
    ready = [key for key, count in waiting.items() if not count]
    ordered = []
    while ready:
        key = ready.pop()
        ordered.append(functions[key])
        for target in callees[key]:
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    if len(ordered) < len(functions):
        circle = sorted(".".join(map(safe_text, key[:2])) for key, count in waiting.items() if count)
        why, help = "a call of one of them would never end", "break the cycle; a Loop repeats nodes"
        raise ModelError(Finding("M114", "functions call each other in a cycle", listing(circle), why, help))
    return ordered
