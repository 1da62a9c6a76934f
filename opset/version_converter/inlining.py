"""Inlining: the nodes of model-local functions in place of the nodes that call them.

    inline_functions("model.onnx").save("flat.onnx")
    inline_functions(model, ["com.example.Scale"], exclude=["Scale:half"])

A function is named by its name, with or without its domain before a dot, and its overload behind a colon. Calls are
replaced from the outside to the inside, so that the attributes of an inner call are known when it is replaced. Nothing
recurses, and what is made is charged before it is made: functions that double are refused, not expanded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from opset.budget import ALLOW_MORE, Budget, Exhausted, Limits
from opset.errors import Collected, ConversionError, Finding, UsageError, brief, listing, printable, quoted
from opset.model import load
from opset.model import proto as pb
from opset.model.graph.index import Body, FreshNames, FunctionKey, ModelIndex, bodies_below, index_model, node_label
from opset.model.graph.splicing import Unfit, spliced
from opset.model.graph.walking import function_key, subgraphs
from opset.model.storage.container import Model
from opset.opsets.registry import Registry, Schemas, registry_with
from opset.preparation import read_model
from opset.schemas.names import normalised, shown
from opset.version_converter.conversion import BASE_STEPS, BYTES_PER_BYTE, STEPS_PER_BYTE, converted
from opset.version_converter.rewiring import set_imports
from opset.version_converter.targets import Target, without

BASE_BYTES = 1 << 27
"""What an inlining may make for any model; for each of its bytes, and of steps, as much as a conversion."""
NODE = 16
"""Steps of a node that is made."""
NAME = 16
"""Bytes that a new name has at most beside those that it is made of."""
_MANY = 1 << 60


@dataclass(slots=True)
class Inlining:
    """A model with functions inlined: what was done, and every reason against it.

    - `calls`: how many calls of each function were replaced; `removed`: the functions that are gone;
    - `refusals`: what cannot be inlined; `notes`: what a user should know;
    - `model`: the result, the given model where nothing changes, None where something is refused.
    """

    calls: Counter[FunctionKey] = field(default_factory=Counter)
    removed: list[FunctionKey] = field(default_factory=list)
    refusals: Collected = field(default_factory=Collected)
    notes: list[str] = field(default_factory=list)
    model: Model | None = None

    @property
    def changes(self) -> bool:
        """Whether the result differs from the given model."""
        return bool(self.calls or self.removed)


def inline_functions(
    model: Any,
    functions: Iterable[str] | None = None,
    *,
    exclude: Iterable[str] = (),
    schemas: Schemas = (),
    allow_external_roots: Iterable[str | Path] = (),
    limits: Limits | None = None,
) -> Any:
    """Return the model with the nodes of its functions in place of the calls; the given one is not touched.

    `model` is a path, bytes, an opset.Model or a ModelProto of the onnx package, which then comes back as one.
    `functions` are names of those to inline, all of the model without; operators such as "Gelu" may be among them,
    which are expressed by others as `lower` does. `exclude` are names of those that stay. A function that nothing calls
    any more is removed. Without `limits`, what may be made is in proportion to the model.
    Raises ConversionError with all refusals, ModelError for a malformed model, UsageError for a name that no function
    has.
    """
    loaded = load(model, allow_external_roots=tuple(allow_external_roots))
    made = inlined(loaded, functions, exclude, registry_with(schemas), limits)
    if made.model is None:
        raise ConversionError(made.refusals)
    return made.model.as_given()


def label(key: FunctionKey) -> str:
    """Return the name of a function, as messages show it: "com.example.Scale:half"."""
    domain, name, overload = map(printable, key)
    return brief(f"{shown(domain)}.{name}{f':{overload}' if overload else ''}")


def inlined(
    model: Model, names: Iterable[str] | None, exclude: Iterable[str], registry: Registry, limits: Limits | None = None
) -> Inlining:
    """Return the inlining of a model's functions, all of them without `names`; the model itself is not touched.

    A name in `names` that no function has may be that of an operator, which is then expressed by others. Raises
    ModelError where the model is malformed, UsageError U103 for a name that neither has.
    """
    model, index = read_model(model, registry)
    index.call_order()
    operators = []
    if names is not None:
        names = [*names]
        operators = [name for name in names if _is_operator(name, index, registry)]
        names = [name for name in names if name not in operators]
    found = _inlined(model, index, _chosen(index, names, exclude), registry, limits)
    if operators and found.model is not None:
        conversion = converted(found.model, without(operators, registry), registry, limits=limits)
        found.refusals, found.model = conversion.refusals, conversion.model
        found.calls.update((each.domain, each.op_type, "") for each in conversion.actions)
    return found


def _is_operator(name: str, index: ModelIndex, registry: Registry) -> bool:
    domain, _, op_type = name.rpartition(".")
    if any(name in (key[1], f"{shown(key[0])}.{key[1]}") for key in index.functions):
        return False
    return bool(registry.versions(op_type, normalised(domain)))


def _inlined(
    model: Model, index: ModelIndex, chosen: set[FunctionKey], registry: Registry, limits: Limits | None
) -> Inlining:
    found = Inlining()
    if not chosen:
        found.model = model
        return found
    imports = _imports(index, chosen)
    if any(_differ(index, chosen, imports, registry)):
        # The nodes of functions can only stand in the graph if they mean the same there.
        ir_version = index.proto.ir_version
        conversion = converted(model, Target(_known(imports, registry), ir_version), registry, limits=limits)
        if conversion.model is None:
            found.refusals = conversion.refusals
            return found
        found.notes.append("functions were converted to the versions that the model imports")
        model = conversion.model
        index = index_model(model.proto, registry.domains)
        imports = _imports(index, chosen)
        found.refusals += _differ(index, chosen, imports, registry)
        if found.refusals:
            return found
    proto = pb.ModelProto()
    proto.CopyFrom(model.proto)
    try:
        _Inliner(index, proto, chosen, found, limits or Limits()).run()
    except Exhausted as exhausted:
        place = f"graph {quoted(proto.graph.name)}"
        found.refusals.append(Finding("C401", "the inlining was stopped", place, exhausted.why, ALLOW_MORE))
    if not found.refusals:
        _tidy(proto, index, chosen, imports, registry, found)
        found.model = model.with_proto(proto, changed=True)
    return found


def _chosen(index: ModelIndex, names: Iterable[str] | None, exclude: Iterable[str]) -> set[FunctionKey]:
    """Return the functions that are to be inlined. Raises UsageError U103 for a name that none has."""
    by_name: dict[str, set[FunctionKey]] = {}
    for key in index.functions:
        domain, name, overload = key
        for each in (name, f"{domain or 'ai.onnx'}.{name}"):
            by_name.setdefault(each, set()).add(key)
            by_name.setdefault(f"{each}:{overload}", set()).add(key)
    for name in (*(names or ()), *exclude):
        if name not in by_name:
            known = listing([label(key) for key in index.functions]) or "none"
            raise UsageError(
                Finding("U103", f"the model has no function {quoted(name)}", help=f"functions of the model: {known}")
            )
    chosen = {*index.functions} if names is None else {key for name in names for key in by_name[name]}
    return chosen - {key for name in exclude for key in by_name[name]}


def _used(function: Body, index: ModelIndex) -> dict[str, set[str]]:
    """Return the operators of a function by domain, calls of functions left out."""
    found: dict[str, set[str]] = {}
    for body in bodies_below(function):
        for number, (op_type, domain) in enumerate(body.operators):
            if body.function_key(number) not in index.functions:
                found.setdefault(domain, set()).add(op_type)
    return found


def _imports(index: ModelIndex, chosen: Iterable[FunctionKey]) -> dict[str, int]:
    """Return the versions that the model has to import for the nodes of functions to stand in its graphs."""
    imports = dict(index.opsets)
    for key in chosen:
        body = index.functions[key]
        versions = index.imports(body)
        for domain in {domain for inner in bodies_below(body) for _, domain in inner.operators}:
            if domain in versions:
                imports.setdefault(domain, versions[domain])
    return imports


def _known(imports: Mapping[str, int], registry: Registry) -> dict[str, int]:
    return {domain: version for domain, version in imports.items() if domain in registry.domains}


def _differ(
    index: ModelIndex, chosen: set[FunctionKey], imports: Mapping[str, int], registry: Registry
) -> Iterator[Finding]:
    """Yield the functions whose operators mean something else, or nothing, at the versions of the model."""
    for key, function in index.functions.items():
        if key not in chosen and not _calls(function, chosen):
            continue
        versions = index.imports(function)
        for domain, operators in _used(function, index).items():
            have, want = versions.get(domain), imports[domain]
            if have is None:
                why = f"the function uses operators of {brief(shown(domain))} and does not import it"
                yield _refusal(function.label, why)
            elif have != want and not all(_same(name, domain, have, want, registry) for name in operators):
                why = f"the function imports {brief(shown(domain))} {have}, and the model {want}"
                yield _refusal(function.label, why, "make the two equal")


def _calls(function: Body, chosen: set[FunctionKey]) -> bool:
    return any(
        body.function_key(number) in chosen for body in bodies_below(function) for number in range(len(body.nodes))
    )


def _same(name: str, domain: str, one: int, other: int, registry: Registry) -> bool:
    """Whether an operator is known, and the same at two versions."""
    schema = registry.schema(name, one, domain)
    return schema is not None and schema == registry.schema(name, other, domain)


def _refusal(place: str, why: str, help: str = "") -> Finding:
    return Finding("C501", "the function cannot be inlined", place, why, help)


class _Size(NamedTuple):
    """What one call of a function makes: nodes, bytes, names that become longer, and copies of its attributes."""

    nodes: int
    bytes: int
    names: int
    copies: Counter[str]


def _size(function: Body) -> _Size:
    found = bodies_below(function)
    nodes = sum(len(body.nodes) for body in found)
    names = sum(len(names) for body in found for names in (*body.reads, *body.computes))
    referred = (attribute.ref_attr_name for body in found for attributes in body.attributes for attribute in attributes)
    return _Size(nodes, function.proto.ByteSize(), nodes + names, Counter(filter(None, referred)))


class _Inliner:
    """Replaces the calls in a copy of an indexed model."""

    def __init__(
        self, index: ModelIndex, proto: Any, chosen: set[FunctionKey], found: Inlining, limits: Limits
    ) -> None:
        self._index, self._proto, self._chosen, self._found = index, proto, chosen, found
        size = proto.ByteSize()
        self._budget = Budget(
            limits, max_steps=BASE_STEPS + STEPS_PER_BYTE * size, max_bytes=BASE_BYTES + BYTES_PER_BYTE * size
        )
        self._names = FreshNames(index.bodies)
        self._sizes: dict[FunctionKey, _Size] = {}

    def run(self) -> None:
        """Replace the calls everywhere but in the functions that are replaced. Raises Exhausted."""
        proto = self._proto
        training = (
            getattr(each, part)
            for each in proto.training_info
            for part in ("initialization", "algorithm")
            if each.HasField(part)
        )
        self._charge_all()
        for graph in (proto.graph, *training):
            self._inline(graph, frozenset())
        for function in proto.functions:
            if function_key(function) not in self._chosen:
                self._inline(function, frozenset(each.name for each in function.attribute_proto))

    def _charge_all(self) -> None:
        """Charge all nodes that will be made, before the first is: functions that double are soon known to."""
        totals: dict[FunctionKey, int] = {}

        def calls(root: Body) -> int:
            found = bodies_below(root)
            keys = (body.function_key(number) for body in found for number in range(len(body.nodes)))
            return sum(1 + totals[key] for key in keys if key in self._chosen)

        for function in reversed(self._index.call_order()):
            key = function_key(function.proto)
            self._sizes[key] = size = _size(function)
            totals[key] = min(size.nodes + calls(function), _MANY)
        roots = [*self._index.graphs, *(self._index.functions[key] for key in totals if key not in self._chosen)]
        self._budget.charge(NODE * sum(map(calls, roots)))

    def _inline(self, root: Any, certain: frozenset[str]) -> None:
        """Replace the calls in a graph or function, and in the graphs inside; `certain` attributes have a value."""
        pending = [root]
        while pending:
            body = pending.pop()
            if any(function_key(node) in self._chosen for node in body.node):
                nodes = self._replaced(body, certain)
                # A message that is held stays valid outside of its list.
                del body.node[:]
                body.node.extend(nodes)
            pending.extend(graph for node in body.node if node.attribute for _, graph in subgraphs(node))

    def _replaced(self, body: Any, certain: frozenset[str]) -> list[Any]:
        """Return the nodes of a body with those of functions in place of the calls; refusals are collected."""
        done: list[Any] = []
        pending = [*reversed(body.node)]
        while pending:
            node = pending.pop()
            key = function_key(node)
            if key not in self._chosen:
                done.append(node)
                continue
            self._charge(key, node)
            try:
                made = spliced(self._index.functions[key].proto, node, self._names, certain)
            except Unfit as unfit:
                place = node_label(node.name, node.op_type, len(done))
                self._found.refusals.append(_refusal(f"{label(key)}, called by {place}", unfit.why, unfit.help))
                continue
            self._found.calls[key] += 1
            body.value_info.extend(made.value_info)
            pending.extend(reversed(made.nodes))
        return done

    def _charge(self, key: FunctionKey, call: Any) -> None:
        """Charge the bytes that a call makes, before it is made: every node, and copies of what the call holds."""
        size = self._sizes[key]
        held = sum(each.ByteSize() for each in (*call.metadata_props, *call.device_configurations))
        given = sum(each.ByteSize() * size.copies[each.name] for each in call.attribute if each.name in size.copies)
        longest = NAME + len(call.name) + max(map(len, (*call.input, *call.output)), default=0)
        self._budget.hold(size.bytes + size.nodes * held + given + size.names * longest)


def _tidy(
    proto: Any,
    index: ModelIndex,
    chosen: set[FunctionKey],
    imports: Mapping[str, int],
    registry: Registry,
    found: Inlining,
) -> None:
    """Remove the functions that nothing calls any more; import what new nodes need, and not what only calls needed."""
    called = {body.function_key(number) for body in index.bodies for number in range(len(body.nodes))}
    left = {key: function for function in proto.functions if (key := function_key(function)) not in chosen}
    operators = {key: _operators([function]) for key, function in left.items()}
    graphs = [proto.graph]
    for training in proto.training_info:
        graphs += [training.initialization, training.algorithm]
    main = _operators(graphs)
    callers = Counter(each for names in (main, *operators.values()) for each in names)
    idle = [key for key in left if key in called and not callers[key]]
    while idle:
        key = idle.pop()
        del left[key]
        for each in operators.pop(key):
            callers[each] -= 1
            if each in left and not callers[each]:
                idle.append(each)
    found.removed = [key for key in index.functions if key not in left]
    emptied = {key[0] for key in found.removed} - {key[0] for key in left} - registry.domains.keys()
    for message, used in ((proto, main), *((left[key], used) for key, used in operators.items())):
        domains = {key[0] for key in used}
        stay = [entry for entry in message.opset_import if entry.domain in domains or entry.domain not in emptied]
        # A message that is held stays valid outside of its list.
        del message.opset_import[:]
        message.opset_import.extend(stay)
        set_imports(message, {}, {domain: imports[domain] for domain in sorted(domains) if domain in imports})
    if found.removed:
        del proto.functions[:]
        proto.functions.extend(left.values())


def _operators(roots: Iterable[Any]) -> set[FunctionKey]:
    """Return what the nodes of graphs and functions name, those in subgraphs included."""
    found: set[FunctionKey] = set()
    pending = [*roots]
    while pending:
        for node in pending.pop().node:
            found.add(function_key(node))
            pending.extend(graph for _, graph in subgraphs(node))
    return found
