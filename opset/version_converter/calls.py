"""The replacement of calls by the nodes of model-local functions, in a model that was read and indexed.

`inlining` chooses which functions are inlined; `conversion` inlines all of them for a runtime that runs none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from opset.budget import ALLOW_MORE, Budget, BudgetExceeded, Limits
from opset.errors import SHOWN, Finding, FindingList, brief_name, listing, quote, safe_text
from opset.model import proto as pb
from opset.model.graph.index import Body, FreshNames, FunctionKey, ModelIndex, bodies_below, index_model, node_label
from opset.model.graph.splicing import Unfit, splice_function
from opset.model.graph.walking import function_key, subgraphs
from opset.model.storage.container import Model
from opset.opsets.registry import Registry
from opset.schemas.names import domain_name
from opset.version_converter.helps import help_of_code
from opset.version_converter.limits import MAX_COUNTED
from opset.version_converter.replacement import set_entries, set_imports
from opset.version_converter.result import Conversion
from opset.version_converter.targets import Target

if TYPE_CHECKING:
    from opset.opsets.runtimes import Runtime

Convert: TypeAlias = Callable[[Model, Target], Conversion]
"""The conversion of a model to a target."""
BASE_STEPS, STEPS_PER_BYTE = 1 << 21, 8
BASE_BYTES, BYTES_PER_BYTE = 1 << 27, 8
"""What an inlining may do, and the bytes that it may add: for any model, and for each byte of it."""
NODE = 16
"""Steps of a node that is made."""
NAME = 16
"""Bytes that a new name has at most beside the names that it is made of."""


@dataclass(slots=True)
class Inlining:
    """The result of inlining functions, or the reasons why it is refused.

    - `calls`: the number of calls replaced, by function: (domain, name, overload);
    - `removed`: functions that the result no longer has;
    - `refusals`: the reasons; `notes`: remarks for the user;
    - `model`: the result; the given model if nothing changes; None if there are refusals.
    """

    calls: Counter[FunctionKey] = field(default_factory=Counter)
    removed: list[FunctionKey] = field(default_factory=list)
    refusals: FindingList = field(default_factory=FindingList)
    notes: list[str] = field(default_factory=list)
    model: Model | None = None

    @property
    def changes(self) -> bool:
        """Whether the result differs from the given model."""
        return bool(self.calls or self.removed)


def function_label(key: FunctionKey) -> str:
    """Return the name of a function for messages: "com.example.Scale", or "com.example.Scale:half" with an overload."""
    domain, name, overload = map(safe_text, key)
    return brief_name(f"{domain_name(domain)}.{name}{f':{overload}' if overload else ''}")


def inline_all(
    model: Model, index: ModelIndex, runtime: Runtime, registry: Registry, limits: Limits | None, convert: Convert
) -> Inlining:
    """Return the result of inlining all functions of a model, with a note that lists them with their numbers of calls.

    `runtime` is the runtime that does not run the functions; the note names it. If a call cannot be inlined, the result
    has refusals and no model. The other arguments are as for `inline_chosen`.
    """
    inlining = inline_chosen(model, index, {*index.functions}, registry, limits, convert)
    counts = [f"{function_label(key)} ({calls})" for key, calls in inlining.calls.items()]
    if counts:
        name = f"{runtime.name} {runtime.release}"
        inlining.notes.append(f"functions that {name} does not run were inlined: {listing(counts, SHOWN)}")
    return inlining


def inline_chosen(
    model: Model,
    index: ModelIndex,
    chosen: set[FunctionKey],
    registry: Registry,
    limits: Limits | None,
    convert: Convert,
) -> Inlining:
    """Replace the calls of some model-local functions by the functions' nodes; return the result, or the refusals.

    A function may import other opsets than the model. If an operator in a chosen function is defined differently in the
    model's opsets, `convert` first converts the model, so that all functions use the model's opsets. The chosen
    functions are removed, and functions that lost their last call.

    Args:
        model: The model, which is not changed.
        index: The index of the model.
        chosen: The keys of the functions to inline. If `chosen` is empty, the result is `model`.
        registry: The operators that are known.
        limits: Bounds on the work and the size; by default in proportion to the model.
        convert: Returns the conversion of a model to a Target.
    """
    inlining = Inlining()
    if not chosen:
        inlining.model = model
        return inlining
    imports = _imports_of(index, chosen)
    if any(_find_differing(index, chosen, imports, registry)):
        # The nodes of functions can only stand in the graph if they mean the same there.
        ir_version = index.proto.ir_version
        opsets = {domain: version for domain, version in imports.items() if domain in registry.domains}
        conversion = convert(model, Target(opsets, ir_version))
        if conversion.model is None:
            inlining.refusals = conversion.refusals
            return inlining
        inlining.notes.append("functions were converted to the versions that the model imports")
        model = conversion.model
        index = index_model(model.proto, registry.domains)
        imports = _imports_of(index, chosen)
        inlining.refusals += _find_differing(index, chosen, imports, registry)
        if inlining.refusals:
            return inlining
    proto = pb.ModelProto()
    proto.CopyFrom(model.proto)
    try:
        _Inliner(index, proto, chosen, inlining, limits or Limits()).inline()
    except BudgetExceeded as exhausted:
        place = f"graph {quote(proto.graph.name)}"
        inlining.refusals.append(Finding("C401", "the inlining was stopped", place, exhausted.why, ALLOW_MORE))
    if not inlining.refusals:
        _remove_uncalled(proto, index, chosen, imports, registry, inlining)
        inlining.model = model.with_proto(proto, changed=True)
    return inlining


def _operators_in(function: Body, index: ModelIndex) -> dict[str, set[str]]:
    """Return the operators that a function and its subgraphs use, by domain; calls of other functions do not count."""
    operators: dict[str, set[str]] = {}
    for body in bodies_below(function):
        for number, (op_type, domain) in enumerate(body.operators):
            if body.function_key(number) not in index.functions:
                operators.setdefault(domain, set()).add(op_type)
    return operators


def _imports_of(index: ModelIndex, chosen: Iterable[FunctionKey]) -> dict[str, int]:
    """Return the opset versions, by domain, that the model has to import once the chosen functions are inlined.

    A domain that the model imports keeps its version. Any other domain gets the version that a chosen function imports;
    of several functions, the first by name counts.
    """
    imports = dict(index.opsets)
    for key in sorted(chosen):
        body = index.functions[key]
        versions = index.imports(body)
        for domain in sorted({domain for inner in bodies_below(body) for _, domain in inner.operators}):
            if domain in versions:
                imports.setdefault(domain, versions[domain])
    return imports


def _find_differing(
    index: ModelIndex, chosen: set[FunctionKey], imports: Mapping[str, int], registry: Registry
) -> Iterator[Finding]:
    """Yield a refusal C501 for each function that cannot be inlined because `imports` define its operators differently.

    `imports` are the versions by domain that the model will import. A function that uses a domain without importing it
    is refused, too. Only the chosen functions and the functions that call them are checked.
    """
    for key, function in index.functions.items():
        called = (body.function_key(at) for body in bodies_below(function) for at in range(len(body.nodes)))
        if key not in chosen and chosen.isdisjoint(called):
            continue
        versions = index.imports(function)
        for domain, operators in _operators_in(function, index).items():
            have = versions.get(domain)
            if have is None:
                why = f"the function uses operators of {brief_name(domain_name(domain))} and does not import it"
                yield _refusal(function.label, why)
                continue
            want = imports.get(domain, have)  # no new node is of a domain that only the function imports
            if have != want and not all(_is_same(name, domain, have, want, registry) for name in operators):
                why = f"the function imports {brief_name(domain_name(domain))} {have}, and the model {want}"
                yield _refusal(function.label, why, "make the two equal")


def _is_same(name: str, domain: str, version: int, imported: int, registry: Registry) -> bool:
    """Whether an operator is known, and has one definition at the opsets `version` and `imported` of its domain."""
    schema = registry.schema(name, version, domain)
    return schema is not None and schema == registry.schema(name, imported, domain)


def _refusal(place: str, why: str, help: str = "") -> Finding:
    """Return the finding C501, which says that the function at `place` cannot be inlined; `why` is the reason."""
    return Finding("C501", "the function cannot be inlined", place, why, help or help_of_code("C501"))


class _Size(NamedTuple):
    """The size that one call of a function adds when it is inlined.

    - `nodes`, `bytes`: new nodes, and their bytes; `names`: how many names in them become longer;
    - `copies`: how often each attribute of the function is copied into a node.
    """

    nodes: int
    bytes: int
    names: int
    copies: Counter[str]


def _size_of(function: Body) -> _Size:
    """Return what one call of a function adds when it is inlined: nodes, their bytes, names and copies of attributes.

    Nodes in subgraphs count, too. A call inside of the function counts as one node.
    """
    bodies = bodies_below(function)
    nodes = sum(len(body.nodes) for body in bodies)
    names = sum(len(names) for body in bodies for names in (*body.reads, *body.computes))
    references = (attr.ref_attr_name for body in bodies for attributes in body.attributes for attr in attributes)
    return _Size(nodes, function.proto.ByteSize(), nodes + names, Counter(filter(None, references)))


class _Inliner:
    """Replaces the calls of chosen functions in a copy (`proto`) of an indexed model."""

    def __init__(
        self, index: ModelIndex, proto: Any, chosen: set[FunctionKey], inlining: Inlining, limits: Limits
    ) -> None:
        self._index = index
        self._proto = proto
        self._chosen = chosen
        self._inlining = inlining
        size = proto.ByteSize()
        self._budget = Budget(
            limits, max_steps=BASE_STEPS + STEPS_PER_BYTE * size, max_bytes=BASE_BYTES + BYTES_PER_BYTE * size
        )
        self._names = FreshNames(index.bodies)
        self._sizes: dict[FunctionKey, _Size] = {}

    def inline(self) -> None:
        """Replace the calls of chosen functions, in all graphs and in all functions that are not chosen.

        Subgraphs are included, and so are calls among the new nodes, until no call of a chosen function is left.
        Replaced calls are counted in the Inlining. A call that cannot be inlined is removed, and a refusal is added to
        the Inlining. Raises BudgetExceeded if the budget is used up; the model may then be half changed.
        """
        self._charge_all()
        for graph in _graphs_of(self._proto):
            self._inline_body(graph, frozenset())
        for function in self._proto.functions:
            if function_key(function) not in self._chosen:
                self._inline_body(function, frozenset(default.name for default in function.attribute_proto))

    def _charge_all(self) -> None:
        """Charge the budget for all nodes that the inlining will make, before it makes any.

        Functions that call each other may lead to exponentially many nodes. Raises BudgetExceeded if the budget is used
        up.
        """
        totals: dict[FunctionKey, int] = {}

        def calls(root: Body) -> int:
            """Return the number of nodes that replace the calls in `root` and its subgraphs, and one more for each.

            Calls inside of called functions are counted with all their nodes.
            """
            bodies = bodies_below(root)
            keys = (body.function_key(number) for body in bodies for number in range(len(body.nodes)))
            return sum(1 + totals[key] for key in keys if key in self._chosen)

        for function in reversed(self._index.call_order()):
            key = function_key(function.proto)
            self._sizes[key] = size = _size_of(function)
            totals[key] = min(size.nodes + calls(function), MAX_COUNTED)
        roots = [*self._index.graphs, *(self._index.functions[key] for key in totals if key not in self._chosen)]
        self._budget.charge(NODE * sum(map(calls, roots)))

    def _inline_body(self, root: Any, certain: frozenset[str]) -> None:
        """Replace the calls of chosen functions in a graph or function and its subgraphs.

        A call that cannot be inlined is removed, and a refusal is added to the inlining. Raises BudgetExceeded if the
        budget is used up.

        Args:
            root: The GraphProto or FunctionProto.
            certain: The function's attributes that have a default, and so a value in every call; none for a graph.
        """
        pending = [root]
        while pending:
            body = pending.pop()
            if any(function_key(node) in self._chosen for node in body.node):
                set_entries(body.node, self._replace_calls(body, certain))
            pending.extend(graph for node in body.node for _, graph in subgraphs(node))

    def _replace_calls(self, body: Any, certain: frozenset[str]) -> list[Any]:
        """Return the nodes of a body, with the nodes of chosen functions in place of their calls.

        Calls among the new nodes are replaced as well, calls in subgraphs are not. `body.node` is not changed; only the
        value_info of new nodes is added to `body`. Each replaced call is counted in the Inlining. A call that cannot be
        replaced is missing from the result, and a refusal is added to the Inlining. Raises BudgetExceeded if the budget
        is used up.

        Args:
            body: The GraphProto or FunctionProto.
            certain: Names of the function's attributes that have a default: each has a value in every call. Empty if
                `body` is a graph.
        """
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
                made = splice_function(self._index.functions[key].proto, node, self._names, certain)
            except Unfit as unfit:
                place = node_label(node.name, node.op_type, len(done))
                self._inlining.refusals.append(
                    _refusal(f"{function_label(key)}, called by {place}", unfit.why, unfit.help)
                )
                continue
            self._inlining.calls[key] += 1
            body.value_info.extend(made.value_info)
            pending.extend(reversed(made.nodes))
        return done

    def _charge(self, key: FunctionKey, call: Any) -> None:
        """Charge the budget for the bytes of the nodes that will replace a call of the function `key`.

        `call` is the NodeProto of the call. Raises BudgetExceeded if the budget is used up.
        """
        size = self._sizes[key]
        extras = sum(each.ByteSize() for each in (*call.metadata_props, *call.device_configurations))
        copies = sum(each.ByteSize() * size.copies[each.name] for each in call.attribute if each.name in size.copies)
        longest = NAME + len(call.name) + max(map(len, (*call.input, *call.output)), default=0)
        self._budget.hold(size.bytes + size.nodes * extras + copies + size.names * longest)


def _remove_uncalled(
    proto: Any,
    index: ModelIndex,
    chosen: set[FunctionKey],
    imports: Mapping[str, int],
    registry: Registry,
    inlining: Inlining,
) -> None:
    """Remove the chosen functions and functions that are no longer called, and correct the opset imports.

    A function that had no calls from the beginning stays, unless it is chosen. Imports are added for the domains of new
    nodes. The import of a user's domain is dropped if no function is left in it, and no node uses it.
    `inlining.removed` gets the keys of the removed functions.

    Args:
        proto: The ModelProto, in which calls are replaced already.
        index: The index of the model before.
        chosen: The keys of the functions that were inlined.
        imports: The versions of the domains that new nodes may need.
        registry: The operators that are known.
        inlining: The result so far.
    """
    called = {body.function_key(number) for body in index.bodies for number in range(len(body.nodes))}
    left = {key: function for function in proto.functions if (key := function_key(function)) not in chosen}
    operators = {key: _keys_named_in([function]) for key, function in left.items()}
    main = _keys_named_in(_graphs_of(proto))
    callers = Counter(key for keys in (main, *operators.values()) for key in keys)
    idle = [key for key in left if key in called and not callers[key]]
    while idle:
        unused = idle.pop()
        del left[unused]
        for key in operators.pop(unused):
            callers[key] -= 1
            if key in left and not callers[key]:
                idle.append(key)
    inlining.removed = [key for key in index.functions if key not in left]
    emptied = {key[0] for key in inlining.removed} - {key[0] for key in left} - registry.domains.keys()
    for message, used in ((proto, main), *((left[key], used) for key, used in operators.items())):
        domains = {key[0] for key in used}
        stay = [entry for entry in message.opset_import if entry.domain in domains or entry.domain not in emptied]
        set_entries(message.opset_import, stay)
        set_imports(message, {}, {domain: imports[domain] for domain in sorted(domains) if domain in imports})
    if inlining.removed:
        set_entries(proto.functions, [*left.values()])


def _graphs_of(proto: Any) -> list[Any]:
    """Return the main graph and the training graphs of a ModelProto."""
    return [proto.graph, *(graph for info in proto.training_info for graph in (info.initialization, info.algorithm))]


def _keys_named_in(roots: Iterable[Any]) -> set[FunctionKey]:
    """Return (domain, name, overload) of all operators and functions that nodes of these graphs or functions use.

    Nodes in subgraphs count, too; nodes in functions that are called do not.
    """
    keys: set[FunctionKey] = set()
    pending = [*roots]
    while pending:
        for node in pending.pop().node:
            keys.add(function_key(node))
            pending.extend(graph for _, graph in subgraphs(node))
    return keys
