"""Whether a runtime has a kernel for a node: by the version of its operator, its types, and what the kernel demands.

A restriction that only words state is not checked; the report of a conversion lists it.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from opset.errors import SHOWN, listing, safe_text
from opset.model.attributes import attribute_value
from opset.model.graph.index import ModelIndex, Operator
from opset.model.graph.walking import names_read, subgraphs
from opset.model.types import element_of
from opset.opsets.registry import Registry
from opset.opsets.runtimes import Kernel, Runtime
from opset.opsets.runtimes.model import RANGE, Comparison, KernelFault, serves_version
from opset.schemas.function_bodies import body_nodes
from opset.schemas.model import OpSchema
from opset.schemas.names import normalize_domain
from opset.version_converter.facts import ValueFacts
from opset.version_converter.lacks import (
    Lack,
    allowed_elements,
    computed_as,
    formals_of,
    is_phrase,
    lack_of_limits,
    lack_of_types,
    takes_all,
    values_without_rank,
)
from opset.version_converter.routes import Routes

ELSEWHERE, FAULTY, DOUBTFUL = "elsewhere", "faulty", "doubtful"
"""The kinds of nodes that notes count: run by the fallback, computed wrongly, and perhaps computed wrongly."""
NOTES_OF_FAULTS = "kernels with faults, "
"""The beginning of notes about nodes that the runtime computes wrongly."""
LOADED = frozenset(("Constant",))
"""Operators that become initializers when a model is loaded."""


def holds_tensor(operator: tuple[str, str], attributes: Sequence[Any]) -> bool:
    """Whether a node is a Constant of ai.onnx with a tensor in `value`; runtimes load it without a kernel.

    The result is False for a Constant with another attribute, such as `value_float`. `operator` is the pair of name and
    domain. `attributes` are the node's AttributeProtos.
    """
    return operator[0] in LOADED and not operator[1] and all(each.name == "value" for each in attributes)


AS_INTEGERS = {"float": ("int32", "int64"), "double": ("int64",)}
"""Types of integers that hold all those that a type of floating point holds without gaps."""


class Judgement(NamedTuple):
    """Whether and how a runtime runs a node.

    - `lack`: why neither the runtime nor its fallback runs it rightly; None if one does;
    - `is_elsewhere`: whether the fallback runs it;
    - `doubt`: a fault of the runtime that the node may meet, depending on values; "" if there is none.
    """

    lack: Lack | None
    is_elsewhere: bool = False
    doubt: str = ""


class Demands(NamedTuple):
    """The facts about a node, besides types, that the kernels of an operator depend on; False if they do not matter.

    - `attributes`: names of attributes; `shapes`, `constants`: shapes and values of inputs;
    - `outputs`: which outputs are used; `ranks`: whether ranks are known; `captures`: whether subgraphs use outer
      values.
    """

    attributes: frozenset[str]
    shapes: bool
    constants: bool
    outputs: bool
    ranks: bool
    captures: bool


NO_DEMANDS = Demands(frozenset(), False, False, False, False, False)
"""The facts about nodes on whose types alone kernels depend."""
RUNS = Judgement(None)
"""The judgement of a node that the runtime itself runs rightly."""


Names: TypeAlias = tuple[Operator, Sequence[str], Sequence[str]]
"""The operator of a node and the names of its inputs and outputs, which an index has copied from the message."""


def names_of(node: Any) -> Names:
    """Return ((operator, domain), input names, output names) of a NodeProto; the domain of ai.onnx is ""."""
    return (node.op_type, normalize_domain(node.domain)), node.input[:], node.output[:]


class Availability:
    """The nodes that a runtime runs, itself or by its fallback: the runtime that gets nodes it has no kernel for.

    - `counts`: numbers of nodes for the notes, by kind (ELSEWHERE, FAULTY, DOUBTFUL) and the operator or the fault;
    - `unchecked`: restrictions that the runtime's table states in words only, by operator.
    """

    def __init__(self, runtime: Runtime, routes: Routes, inexact: bool = False, by_function: bool = False) -> None:
        """Prepare for the nodes of one model.

        Args:
            runtime: The release of a runtime.
            routes: The operators at the release of onnx that the runtime follows.
            inexact: Whether nodes may compute in types in which results differ, such as float for double.
            by_function: Whether the runtime may run a node by its operator's function body if it has no kernel for the
                node. Then only the type of the node's first input is compared with the kernels of the body's nodes.
        """
        self.runtime = runtime
        self.inexact = inexact
        self._by_function = by_function
        self.counts: Counter[tuple[str, str]] = Counter()
        self.unchecked: dict[str, list[str]] = {}
        self._routes = routes
        self._judgements: dict[Hashable, Judgement] = {}
        self._plain: dict[tuple[str, str, int], bool] = {}
        self._demands: dict[tuple[Operator, int], Demands | None] = {}

    @property
    def label(self) -> str:
        """The name and release of the runtime, for messages: "onnxruntime 1.17"."""
        return f"{self.runtime.name} {self.runtime.release}"

    def find_lack(self, node: Any, opset: int, facts: ValueFacts) -> Lack | None:
        """Return why a node does not run correctly; None if the runtime or its fallback runs it, or may run it.

        The fallback is asked only if the runtime has no kernel for the node. `opset` is the version of the node's
        domain.
        """
        return self.judge(node, opset, facts).lack

    def judge(self, node: Any, opset: int, facts: ValueFacts, names: Names | None = None) -> Judgement:
        """Return whether the runtime or its fallback runs a node rightly, and if not, why.

        A node counts as run rightly if its operator has no schema, or if the runtime's operators are not known. The
        result is cached for all nodes with the same operator, opset, types, and facts that the runtime's kernels depend
        on.

        Args:
            node: The NodeProto.
            opset: The opset of the node's domain.
            facts: Facts about the values of the node's body.
            names: The result of `names_of` for the node, if the caller has it already.
        """
        operator, reads, computes = names or names_of(node)
        key = (operator, opset)
        if key not in self._demands:
            schema = None if self.runs_all(*operator, opset) else self._routes.schema_in_force(*operator, opset)
            self._demands[key] = None if schema is None else _demands_of(self.runtime, schema, opset)
        demands = self._demands[key]
        if demands is None:
            return RUNS
        form: Hashable = (key, len(reads), tuple(facts.types([*reads, *computes])))
        if demands is not NO_DEMANDS:
            form = form, _demanded_facts(node, demands, facts)
        judgement = self._judgements.get(form)
        if judgement is None:
            schema = self._routes.schema_in_force(*operator, opset)
            assert schema is not None
            judgement = self._judgements[form] = self._judge(node, schema, opset, facts)
        return judgement

    def count(self, judgement: Judgement, op_type: str, nodes: int = 1, accept_faulty: bool = False) -> bool:
        """Return whether nodes of the converted model run correctly; count them in `counts` if notes have to name them.

        The notes name nodes that the fallback runs, that the runtime computes wrongly, or that it may compute wrongly.

        Args:
            judgement: The Judgement that the nodes share.
            op_type: The operator of the nodes.
            nodes: How many nodes there are.
            accept_faulty: Whether nodes that the runtime computes wrongly are accepted. If not, they are not counted.
        """
        lack, is_elsewhere, doubt = judgement
        is_wrong = lack is not None and lack.is_wrong and accept_faulty
        if is_elsewhere and (lack is None or is_wrong):
            self.counts[ELSEWHERE, op_type] += nodes
        if lack is not None and is_wrong:
            self.counts[FAULTY, lack.why] += nodes
        elif doubt:
            self.counts[DOUBTFUL, doubt] += nodes
        return lack is None

    def runs_all(self, op_type: str, domain: str, opset: int) -> bool:
        """Whether the runtime itself runs every node of an operator correctly, with any types, attributes and inputs.

        The result is also True in these cases:

        - the operator has no schema, so that nothing is known of it;
        - the operator is Constant, and the runtime has no known fault with it; a runtime loads it as an initializer;
        - the runtime's operators are not known.
        """
        key = (op_type, domain, opset)
        if key not in self._plain:
            schema = self._routes.schema_in_force(*key)
            is_loaded = op_type in LOADED and not domain and not (schema and faults_at(self.runtime, schema, opset))
            self._plain[key] = (
                schema is None
                or is_loaded
                or not self.runtime.lists_operators
                or (
                    not faults_at(self.runtime, schema, opset)
                    and any(
                        self.runtime.takes_version(kernel, schema.since_version, opset) and takes_all(kernel, schema)
                        for kernel in self.runtime.kernels(op_type, domain)
                    )
                )
            )
        return self._plain[key]

    def find_lack_in_graph(self, op_type: str, domain: str, opset: int) -> Lack | None:
        """Return why an operator cannot be used in a new subgraph, None if the runtime or its fallback has a kernel.

        Types, attributes and inputs are not compared. None is also returned for an operator without schemas.
        """
        schema = self._routes.schema_in_force(op_type, domain, opset)
        if schema is None or self.runs_all(op_type, domain, opset):
            return None
        runtime: Runtime | None = self.runtime
        while runtime is not None:
            kernels = runtime.kernels(op_type, domain)
            if any(runtime.takes_version(kernel, schema.since_version, opset) for kernel in kernels):
                return None
            runtime = runtime.fallback
        return Lack(f"{self.runtime.title} {self.runtime.release} has no kernel of {op_type} {schema.since_version}")

    def wider_types(self, schema: OpSchema, is_wrong: bool = False) -> Iterator[tuple[str, str]]:
        """Yield (element type, wider element type) pairs such that the operator computes the same in the wider type.

        For example, ("float16", "float"). The pairs come in this order:

        - the casts that the runtime makes itself;
        - the pairs that the operator declares (`emulate`);
        - an integer type with int32 or int64, if the operator declares a floating-point type for it.

        `is_wrong` says that the runtime has a kernel for the node, and the kernel computes wrong results. The runtime
        makes no casts for such a node, so its casts are left out.
        """
        if not is_wrong:
            yield from ((element, other) for element, other in self.runtime.casts.items() if " " not in other)
        declared: dict[tuple[str, str], None] = {}
        for version in reversed(self._routes.registry.versions(schema.name, schema.domain)):
            if version.change is not None:
                declared.update(dict.fromkeys(version.change.emulate.items()))
            for body in version.function:
                declared.update(dict.fromkeys(body.emulate.items()))
        yield from declared
        for element, wide in declared:
            if "int" in element:
                yield from ((element, integer) for integer in AS_INTEGERS.get(wide, ()))

    def notes(self) -> Iterator[str]:
        """Yield notes for the user about how the runtime runs the nodes.

        There is at most one note on each of these, in this order:

        - nodes without a kernel, which another runtime, the fallback, runs;
        - nodes that the runtime computes otherwise than the standard;
        - nodes that the runtime may compute otherwise than the standard;
        - limits of the runtime that were not checked.
        """
        runtime, fallback = self.runtime, self.runtime.fallback
        if (names := self._listing_of(ELSEWHERE)) and fallback is not None:
            yield f"{fallback.title} runs nodes for which {runtime.title} {runtime.release} has no kernel: {names}"
        if names := self._listing_of(FAULTY):
            yield f"{NOTES_OF_FAULTS}as {runtime.title} {runtime.release} computes otherwise than the standard: {names}"
        if names := self._listing_of(DOUBTFUL):
            yield f"{NOTES_OF_FAULTS}which {runtime.title} {runtime.release} may meet: {names}"
        if self.unchecked:
            words = listing([f"{name}: {'; '.join(texts)}" for name, texts in sorted(self.unchecked.items())], SHOWN)
            yield f"limits of {runtime.title} {runtime.release} that are not checked: {words}"

    def _listing_of(self, kind: str) -> str:
        """Return the operators or faults of a kind of note, each with its number of nodes: "Add (3), Mul (1)".

        If `kind` is ELSEWHERE, operators that the fallback runs are listed. If it is FAULTY or DOUBTFUL, texts on
        certain or possible faults of the runtime are listed. Only the first SHOWN are listed; "" if there are none.
        """
        counts = sorted((name, count) for (each, name), count in self.counts.items() if each == kind)
        return listing([f"{name} ({count})" for name, count in counts], SHOWN)

    def _judge(self, node: Any, schema: OpSchema, opset: int, facts: ValueFacts) -> Judgement:
        """Return whether the runtime or one of its fallbacks runs a node of the operator version `schema`.

        The runtime is asked first, then its fallback, and so on. The first that has a kernel for the node decides, even
        if it is known to compute the node wrongly. If none has one, the result has the reason of the runtime itself.
        `opset` is the version of the node's domain that the model imports. Nothing is cached.
        """
        first: Lack | None = None
        runtime: Runtime | None = self.runtime
        while runtime is not None:
            lack = self._judge_on(runtime, node, schema, opset, facts)
            if lack is None:
                judgement = judge_faults(runtime, node, schema, opset, facts)
                return judgement if runtime is self.runtime else judgement._replace(is_elsewhere=True)
            first = first or lack
            runtime = runtime.fallback
        return Judgement(first)

    def _judge_on(self, runtime: Runtime, node: Any, schema: OpSchema, opset: int, facts: ValueFacts) -> Lack | None:
        """Return why one runtime does not run a node, by a kernel or by the operator's function body; None if it does.

        The fallback of `runtime` is not asked. `schema` is the operator version of the node, `opset` the version of its
        domain that the model imports.
        """
        lack = self._lack_of_kernels(runtime, node, schema, facts, opset)
        is_function = (
            self._by_function
            and schema.domain in runtime.domains()
            and runtime.has_function(schema.name, schema.domain, schema.since_version)
        )
        if lack is None or not is_function:
            return lack
        return self._lack_in_body(runtime, node, schema, opset, facts)

    def _lack_of_kernels(
        self, runtime: Runtime, node: Any, schema: OpSchema, facts: ValueFacts, opset: int
    ) -> Lack | None:
        """Return why no kernel of a runtime takes a node, None if a kernel takes it.

        The reason in words is that of one kernel: the first that takes the node's types, or the first of all if none
        takes them. `elements` of the result has the types with which some kernel might take the node: {"T": {"float"}}.

        If a kernel takes the node, `unchecked` gets its restrictions that the runtime's table states only in words.
        `opset` is the version of the node's domain that the model imports.
        """
        name = f"{runtime.title} {runtime.release}"
        kernels = runtime.kernels(schema.name, schema.domain)
        if not kernels:
            return Lack(f"{name} has no {schema.name}")
        fitting = [each for each in kernels if runtime.takes_version(each, schema.since_version, opset)]
        if not fitting:
            return Lack(f"{name} has no kernel of {schema.name} {schema.since_version}")
        lacks: list[Lack] = []
        for kernel in fitting:
            lack = lack_of_types(kernel, runtime, node, schema, facts) or lack_of_limits(kernel, node, schema, facts)
            if lack is None:
                self._keep_words(kernel, schema)
                return None
            lacks.append(lack)
        # A kernel of other types says most about what would help.
        elements: dict[str, frozenset[str]] = {}
        for lack in lacks:
            for parameter, allowed in lack.elements.items():
                elements[parameter] = elements.get(parameter, frozenset()) | allowed
        closest = next((lack for lack in lacks if not lack.elements), lacks[0])
        return Lack(f"{name}: {closest.why}", elements, closest.constants)

    def _lack_in_body(
        self, runtime: Runtime, node: Any, schema: OpSchema, opset: int, facts: ValueFacts
    ) -> Lack | None:
        """Return why a runtime cannot run a node by its operator's function body; None if no reason is known.

        There is a reason if a node in the body reads the first input, and no kernel of that inner node's operator takes
        the element type of this input. The reason names the inner operator. An inner operator without any kernel gives
        no reason. The result is None if the element type is unknown, or if a body casts it to another type first.

        `schema` is the version of the node's operator. `opset` is the opset of ai.onnx that the model imports. `facts`
        are those about the values of the graph or function with the node.
        """
        element = facts.element(node.input[0]) if node.input and node.input[0] else None
        if element is None or any(element in body.emulate for body in schema.function_bodies(opset)):
            return None
        for body in schema.function_bodies(opset)[:1]:
            for inner in body_nodes(body.nodes):
                kernels = runtime.kernels(inner.op_type)
                used = self._routes.schema_in_force(inner.op_type, "", opset)
                is_direct = bool(inner.input) and inner.input[0] == schema.inputs[0].name
                if not is_direct or used is None or not kernels:
                    continue
                if not any(
                    runtime.takes_version(each, used.since_version, opset)
                    and computed_as(element, runtime, allowed_elements(each, used, used.inputs[0]))
                    in (allowed_elements(each, used, used.inputs[0]) or (element,))
                    for each in kernels
                ):
                    return Lack(f"no kernel of {inner.op_type}, which it consists of, takes {element}")
        return None

    def _keep_words(self, kernel: Kernel, schema: OpSchema) -> None:
        """Add the restrictions of a kernel that its table states only in words to `unchecked`, without repeats."""
        words = [*kernel.notes]
        for name, value in kernel.attributes.items():
            if is_phrase(value, schema, name):
                words.append(f"{name}: {value}")
        words += [f"{name}: {value}" for name, value in kernel.values.items() if isinstance(value, str)]
        if words:
            known = self.unchecked.setdefault(schema.name, [])
            known += [each for each in words if each not in known]


def faults_at(runtime: Runtime, schema: OpSchema, opset: int) -> list[KernelFault]:
    """Return the known faults of a runtime that concern an operator version, in a model that imports `opset`."""
    return [
        fault
        for fault in runtime.faults(schema.name, schema.domain)
        if serves_version(fault.nodes, schema.since_version, RANGE)
        if fault.nodes.opsets is None or fault.nodes.opsets[0] <= opset <= fault.nodes.opsets[1]
    ]


def _demands_of(runtime: Runtime, schema: OpSchema, opset: int) -> Demands:
    """Return which facts about a node, such as its attributes, decide whether a runtime runs the node.

    `schema` is the operator version of the node. `opset` is the version of the operator's domain that the model
    imports. Facts that matter only to the runtime's fallback, a second runtime, are included. The result is NO_DEMANDS
    if types alone decide.
    """
    kernels: list[Kernel] = []
    faults: list[KernelFault] = []
    each: Runtime | None = runtime
    while each is not None:
        kernels += each.kernels(schema.name, schema.domain)
        faults += faults_at(each, schema, opset)
        each = each.fallback
    kernels += [fault.nodes for fault in faults]
    names_given = any(fault.present or fault.absent for fault in faults)
    needs_constants = any(kernel.constant_inputs or kernel.values for kernel in kernels)
    compared = {str(side) for fault in faults for each in fault.where for side in (each.name, each.other)}
    demands = Demands(
        attributes=frozenset(name for kernel in kernels for name in kernel.attributes) | compared,
        shapes=any(each.input_ranks or each.static_shape for each in kernels)
        or any(each.empty or each.scalars or each.states for each in faults),
        constants=names_given
        or needs_constants
        or any(each.values or each.computed or each.known or each.where for each in faults),
        outputs=names_given or any(kernel.outputs is not None for kernel in kernels),
        ranks=any(kernel.known_ranks for kernel in kernels),
        captures=any(fault.captures for fault in faults),
    )
    return NO_DEMANDS if demands == NO_DEMANDS else demands


def _demanded_facts(node: Any, demands: Demands, facts: ValueFacts) -> Hashable:
    """Return the facts about a node that `demands` names, as a hashable key.

    Nodes with equal keys and equal types get the same Judgement.
    """
    attributes = [each.SerializeToString() for each in node.attribute if each.name in demands.attributes]
    shapes = [facts.shape(name) if name else None for name in node.input] if demands.shapes else ()
    inputs = node.input if demands.constants else ()
    constants = [name and (facts.is_constant(name), facts.small_constant(name)) for name in inputs]
    outputs = map(bool, node.output) if demands.outputs else ()
    ranks = values_without_rank(node, facts) if demands.ranks else ()
    captures = demands.captures and _captures_values(node)
    return tuple(attributes), tuple(shapes), tuple(constants), tuple(outputs), tuple(ranks), captures


def _captures_values(node: Any) -> bool:
    """Whether subgraphs of a node use values of the graphs around the node.

    Values that the node also reads as inputs count.
    """
    graphs = [graph for _, graph in subgraphs(node)]
    read = names_read(inner for graph in graphs for inner in graph.node)
    read.update(value.name for graph in graphs for value in graph.output)
    defined = {""}
    while graphs:
        graph = graphs.pop()
        defined.update(each.name for each in (*graph.input, *graph.initializer))
        defined.update(each.values.name for each in graph.sparse_initializer)
        for inner in graph.node:
            defined.update(inner.output)
            graphs += [each for _, each in subgraphs(inner)]
    return not read <= defined


def judge_faults(runtime: Runtime, node: Any, schema: OpSchema, opset: int, facts: ValueFacts) -> Judgement:
    """Return the Judgement of a node that a runtime takes, by the runtime's table of faults.

    The first fault that the node certainly meets is the Judgement's `lack`. Else the first one that it may meet is the
    `doubt`. If it meets none, the Judgement is RUNS. `opset` is the version of the node's domain that the model
    imports.
    """
    doubt = ""
    for fault in faults_at(runtime, schema, opset):
        meets = _has_fault(fault, node, schema, facts)
        if meets is False:
            continue
        why = f"{schema.name} {schema.since_version}: {fault.gives}"
        if meets is None:
            doubt = doubt or (f"{why}, if {fault.when}" if fault.when else why)
            continue
        elements = {
            formal.type: frozenset(map(element_of, schema.allowed_types(formal))) - fault.nodes.types[formal.type]
            for formal in schema.inputs
            if formal.type in fault.nodes.types
        }
        constants, scalars = _positions_to_bind(fault, node, schema), _scalars_of(fault, node, schema, facts)
        sizes = _sizes_to_state(fault, node, schema, facts)
        return Judgement(Lack(why, elements, constants, fault.result, scalars, sizes))
    return Judgement(None, doubt=doubt) if doubt else RUNS


def _positions_to_bind(fault: KernelFault, node: Any, schema: OpSchema) -> tuple[int, ...]:
    """Return the positions of inputs that must become constants to avoid a fault; () if constants do not avoid it.

    A fault is a class of nodes that the runtime computes wrongly. Its `computed` names inputs that are computed by
    nodes in this case, and its `known` names inputs whose elements are known before the model runs. The result has
    the inputs that are in both sets.
    """
    names = fault.computed & fault.known
    formals = formals_of(schema.inputs, len(node.input)) if names else ()
    return tuple(at for at, formal in enumerate(formals) if formal.name in names)


def _scalars_of(fault: KernelFault, node: Any, schema: OpSchema, facts: ValueFacts) -> tuple[int, ...]:
    """Return the positions of the node's inputs that `fault.scalars` names and that are surely scalars."""
    formals = enumerate(zip(formals_of(schema.inputs, len(node.input)), node.input, strict=False))
    return tuple(at for at, (formal, name) in formals if formal.name in fault.scalars and facts.shape(name) == ())


def _sizes_to_state(fault: KernelFault, node: Any, schema: OpSchema, facts: ValueFacts) -> dict[str, int]:
    """Return the attributes that a node has to state to avoid a fault, with their values by name.

    Each value is the size of an axis of an input. The result is {} if such a size is not known, or if stating
    attributes does not avoid the fault.
    """
    inputs = {
        formal.name: name for formal, name in zip(formals_of(schema.inputs, len(node.input)), node.input, strict=False)
    }
    sizes: dict[str, int] = {}
    for attribute, (parameter, axis) in fault.states.items():
        shape = facts.shape(inputs.get(parameter, "")) or ()
        if axis >= len(shape) or not isinstance(size := shape[axis], int):
            return {}
        sizes[attribute] = size
    return sizes


def _has_fault(fault: KernelFault, node: Any, schema: OpSchema, facts: ValueFacts) -> bool | None:
    """Return whether a fault of a runtime occurs for a node: True, False, or None.

    None means that it depends on values that are known only when the model runs, or on conditions stated only in words.
    """
    inputs = [*zip(formals_of(schema.inputs, len(node.input)), node.input, strict=False)]
    outputs = zip(formals_of(schema.outputs, len(node.output)), node.output, strict=False)
    names = {formal.name for formal, name in (*inputs, *outputs) if name}
    if not fault.present <= names or not fault.absent.isdisjoint(names):
        return False
    if not fault.nodes.attributes.keys() <= schema.attributes.keys():
        return False
    if lack_of_types(fault.nodes, None, node, schema, facts) or lack_of_limits(fault.nodes, node, schema, facts):
        return False
    read = {formal.name: name for formal, name in inputs if name}
    if fault.empty and not any(0 in (facts.shape(read[name]) or ()) for name in fault.empty if name in read):
        return False
    if fault.computed and all(facts.is_constant(read[name]) for name in fault.computed if name in read):
        return False
    if any(facts.small_constant(read[name]) is None for name in fault.known if name in read):
        return False
    if fault.scalars and not _scalars_of(fault, node, schema, facts):
        return False
    if fault.captures and not _captures_values(node):
        return False
    known = {name: facts.small_constant(read[name]) for name in fault.values if name in read}
    for name, constant in known.items():
        limit = fault.values[name]
        allowed = limit if isinstance(limit, list) else [limit]
        if constant is not None and any(value not in allowed for value in constant.values):
            return False
    if len(known) < len(fault.values):
        return False
    compared = [_compare(each, node, schema, read, facts) for each in fault.where]
    if False in compared:
        return False
    return None if fault.when or None in (*known.values(), *compared) else True


_MOST_PLACES = 32
"""Elements of an attribute that are compared with a number."""
_SIGNS = {"=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def _compare(
    comparison: Comparison, node: Any, schema: OpSchema, read: Mapping[str, str], facts: ValueFacts
) -> bool | None:
    """Return whether a comparison of a fault holds for a node; None if it depends on values that are not known.

    For example, `scales[0] != 1` compares an element of an input. `output_padding >= strides` compares two attributes:
    it holds if any element of `output_padding` is at least the element of `strides` at the same position.

    An attribute that the node leaves out has its default. If the left attribute has no default, the result is False. If
    the right attribute has no default, each of its elements counts as 1.

    `read` has the names of the node's input values, by the schema's input names.
    """
    sign = _SIGNS[comparison.sign]
    if comparison.at is not None:
        if comparison.name not in read:
            return False
        constant = facts.small_constant(read[comparison.name])
        if constant is None:
            return None
        values = constant.values
        return comparison.at < len(values) and bool(sign(values[comparison.at], comparison.other))
    stated = {each.name: each for each in node.attribute}
    sides = [_numbers(each, stated, schema) for each in (comparison.name, comparison.other)]
    if None in sides:
        return None
    left, right = sides[0] or [], sides[1] or []
    return any(sign(*pair) for pair in zip(left, right or [1] * len(left), strict=False))


def _numbers(side: str | float, stated: Mapping[str, Any], schema: OpSchema) -> list[float] | None:
    """Return the numbers on one side of a comparison: the values of an attribute such as `pads`, or a number, repeated.

    An attribute that the node does not state has its default. The result is [] if it has no default. The result is None
    if the attribute refers to an attribute of the function around the node, whose value is known only in a call.

    Args:
        side: The name of an attribute; or a number, which is repeated to be compared with each element of a list.
        stated: The AttributeProtos of the node, by name.
        schema: The schema of the node's operator.
    """
    if not isinstance(side, str):
        return [side] * _MOST_PLACES
    attribute, declared = stated.get(side), schema.attributes.get(side)
    if attribute is not None and attribute.ref_attr_name:
        return None
    value = attribute_value(attribute) if attribute is not None else declared and declared.default
    if value is None:
        return []
    return [*value] if isinstance(value, list | tuple) else [value]


def notes_on_operators(runtime: Runtime) -> list[str]:
    """Return a note if the operators of a runtime are not known, so that all nodes count as taken."""
    if runtime.lists_operators:
        return []
    return [f"the operators of {runtime.title} {runtime.release} are not known: all nodes count as taken"]


def notes_on_domains(index: ModelIndex, registry: Registry) -> list[str]:
    """Return a note on each domain that nodes of a model use and the registry does not know.

    Calls of the model's own functions do not count as uses.
    """
    found: dict[str, None] = {}
    for body in index.bodies:
        for number, (_, domain) in enumerate(body.operators):
            if domain not in registry.domains and body.function_key(number) not in index.functions:
                found[safe_text(domain)] = None
    return [f"{domain}: nothing is known of its nodes, which count as taken" for domain in found]
