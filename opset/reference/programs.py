"""Plans of evaluation: what a body of nodes does, step by step, with kernels resolved and values freed at last use.

A `Program` is one list of nodes that is run as a whole: the main graph, a subgraph, or a function with the attributes
of a call. Values live in numbered slots of a frame. A graph's initializers are constants of its program, read when it
is first run. What only a call can know of a function, its attributes, is bound when the call is first run, so functions
that call each other in many ways cost nothing until they do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from opset.errors import Finding, RunError, printable
from opset.inference.gradient_graphs import DOMAIN as TRAINING
from opset.inference.gradient_graphs import gradient_graph, is_gradient
from opset.model.arrays import array_of, dense_of
from opset.model.attributes import attribute_type, attribute_value
from opset.model.container import Model
from opset.model.graph import Body, bodies_below, function_key, subgraphs
from opset.opsets.hooks import Lookup
from opset.opsets.imports import imports_of
from opset.opsets.registry import Registry
from opset.reference import registration
from opset.schemas.model import OpSchema
from opset.schemas.names import normalised, shown

ABSENT = -1
"""The slot of an input or output that is left out."""


@dataclass(eq=False, slots=True)
class Step:
    """One node: what computes it, slots that it reads and fills, slots that are free after it.

    `call` gives the program of a model-local function, kept in `called`. `attributes` are what the kernel takes by
    keyword; a `Program` among them is run in the frame that it is found in. `seen` holds the input types that were
    found legal, and `legal` the ranks of inputs with which the attributes keep the constraints that their declarations
    name; it is None where none does.
    """

    index: int
    node: Any
    schema: OpSchema | None
    function: Callable[..., Any] | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    takes_context: bool = False
    is_generator: bool = False
    any_type: bool = False
    seen: set[Any] = field(default_factory=set)
    legal: set[Any] | None = None
    call: Callable[[], Program] | None = None
    called: Program | None = None
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    frees: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ResolvedKernel:
    """What nodes of one operator share at one version: schema, kernel, defaults, and the legal input types seen.

    `known` are the attributes that a node may have, None where any is taken.
    """

    schema: OpSchema | None
    kernel: registration.Kernel
    known: frozenset[str] | None
    defaults: dict[str, Any]
    required: frozenset[str]
    has_constraints: bool = False
    seen: set[Any] = field(default_factory=set)


@dataclass(eq=False, slots=True)
class Program:
    """What a body does. A frame has `size` slots, the first of which are those of the inputs.

    `captured` pairs slots of the frame around a subgraph with slots of its own; `constants` pairs a slot with a
    function that reads its value, and `loaded` with that value, once the program has been run.
    """

    body: Body
    inputs: tuple[str, ...]
    size: int = 0
    steps: list[Step] = field(default_factory=list)
    outputs: tuple[int, ...] = ()
    captured: tuple[tuple[int, int], ...] = ()
    constants: list[tuple[int, Callable[[], Any]]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    loaded: list[tuple[int, Any]] | None = None

    def completed(self, inputs: Sequence[Any]) -> list[Any]:
        """Return inputs with ABSENT for those that have a default, which IR version 3 listed with the others.

        Raises RunError R202 where that does not fit either.
        """
        defaults = {slot for slot, _ in self.constants}
        if len(inputs) + sum(slot in defaults for slot in range(len(self.inputs))) != len(self.inputs):
            why = f"it has {len(self.inputs)} inputs, and {len(inputs)} are given"
            raise RunError(Finding("R202", "the graph does not fit its node", self.body.label, why))
        given = iter(inputs)
        return [ABSENT if slot in defaults else next(given) for slot in range(len(self.inputs))]

    def place(self, step: Step) -> str:
        """Return the path of a step's node, as messages show it."""
        return self.body.place(step.index)


class Programs:
    """Compiles the bodies of one model, each when it is first run."""

    def __init__(self, model: Model, registry: Registry, limit: Callable[[], int], everything: bool = False) -> None:
        """Take the model; `limit` gives how many bytes a tensor may have; `everything` keeps steps nobody needs."""
        self.model, self.registry, self.everything = model, registry, everything
        self._limit = limit
        self._functions = {function_key(function): function for function in model.proto.functions}
        self._called: dict[Any, Program] = {}
        self._arrays: dict[int, tuple[Any, Any]] = {}
        self._held = 0
        self._meanings: dict[tuple[str, str, int], ResolvedKernel] = {}
        self._kernels = Lookup(registration.LAYER, registry)

    def main(self, outputs: Iterable[str]) -> Program:
        """Return the program that computes these values of the main graph, which need not be its outputs."""
        proto = self.model.proto
        imports = imports_of(proto, "opset_import", self.registry) if proto.opset_import else {"": 1}
        body = Body(proto.graph, f"graph '{printable(proto.graph.name)}'")
        return self._compile(body, list(outputs), imports, {})

    def function(self, function: Any, given: Mapping[str, Any]) -> Program:
        """Return the program of a function whose attributes are those of a call, or their defaults."""
        defaults = {each.name: each for each in function.attribute_proto}
        bound = {**defaults, **given}
        attributes = {name: bound[name] for name in (*function.attribute, *defaults) if name in bound}
        key = (function_key(function), *sorted((name, each.SerializeToString()) for name, each in attributes.items()))
        if key not in self._called:
            label = f"function '{printable(function.domain)}.{printable(function.name)}'"
            body = Body(function, label, function=True)
            imports = imports_of(function, label, self.registry)
            self._called[key] = self._compile(body, list(function.output), imports, attributes)
        return self._called[key]

    def initializer(self, tensor: Any) -> Any:
        """Return the array of an initializer, read once."""
        key = id(tensor)
        if key not in self._arrays:
            self._arrays[key] = (tensor, self._array(tensor))  # the tensor, too, for as long as its id counts
        return self._arrays[key][1]

    def _array(self, tensor: Any) -> Any:
        """Return a tensor's array, of a sparse one the dense array; it cannot be written to."""
        sparse = tensor.DESCRIPTOR.name == "SparseTensorProto"
        limit = self._limit()
        array = (dense_of if sparse else array_of)(self.model, tensor, limit)
        array.flags.writeable = False
        self._held += array.nbytes
        if self._held > limit:
            why = f"the model's own tensors have {self._held:,} bytes and more, and {limit:,} are allowed in all"
            help = "allow more: --max-bytes, or Limits(max_bytes=…)"
            raise RunError(Finding("R302", "the evaluation was stopped: too much memory", "", why, help))
        return array

    def _compile(
        self, root: Body, outputs: list[str], imports: dict[str, int], bound: Mapping[str, Any]
    ) -> Program:
        """Compile a body and those inside it, the innermost first, so that it is known what they take from outside."""
        inner: dict[int, Program] = {}
        free: dict[int, tuple[str, ...]] = {}
        program = None
        found = bodies_below(root)
        slices = self._slices(found, bound) if TRAINING in imports else {}
        for body in reversed([*found, *bodies_below(*slices.values())]):
            wanted = outputs if body is root else body.output_names()
            compiler = _Compiler(self, body, imports, bound, inner, free, slices)
            program = compiler.run(wanted)
            inner[id(body.proto)] = program
            free[id(body.proto)] = tuple(compiler.outside)
        assert program is not None
        return program

    def _slices(self, found: Iterable[Body], bound: Mapping[str, Any]) -> dict[int, Body]:
        """Return what each Gradient node differentiates, by the id of the node. Raises RunError with all findings."""
        slices: dict[int, Body] = {}
        findings: list[Finding] = []
        for body in found:
            for index, node in enumerate(body.proto.node):
                if is_gradient(node) and function_key(node) not in self._functions:
                    try:
                        slices[id(node)] = gradient_graph(body, index, _bound_attributes(node, bound))
                    except RunError as error:
                        findings += error.findings
        if findings:
            raise RunError(findings)
        return slices

    def step_of(
        self, body: Body, index: int, imports: Mapping[str, int], bound: Mapping[str, Any], inner: Mapping[int, Program]
    ) -> Step:
        """Return the step of one node, its slots not known yet. Raises RunError R201 or R202."""
        node = body.proto.node[index]
        if self._functions and (local := self._functions.get(function_key(node))) is not None:
            return Step(index, node, None, call=partial(self.function, local, _bound_attributes(node, bound)))
        meaning = self._meaning(body, index, node, imports)
        attributes = meaning.defaults
        if node.attribute:
            given = {
                name: self._attribute_value(each, inner)
                for name, each in _bound_attributes(node, bound).items()
                if name not in registration.IGNORED
            }
            attributes = {**attributes, **given}
            if meaning.known is not None and not given.keys() <= meaning.known:
                attributes = _known(body.place(index), attributes, meaning.known)
        if not meaning.required <= attributes.keys():
            missing = sorted(meaning.required - attributes.keys())
            raise RunError(
                Finding("R202", f"{printable(node.op_type)} has no attribute '{name}'", body.place(index), _ASKED)
                for name in missing
            )
        kernel, schema = meaning.kernel, meaning.schema
        return Step(
            index,
            node,
            schema,
            kernel.function,
            attributes,
            kernel.takes_context,
            kernel.is_generator,
            kernel.any_type,
            # An attribute may name the type of an output, so what was found legal holds for this node alone.
            set() if node.attribute else meaning.seen,
            set() if meaning.has_constraints else None,
        )

    def _meaning(self, body: Body, index: int, node: Any, imports: Mapping[str, int]) -> ResolvedKernel:
        """Return what all nodes of an operator share, found once. Raises RunError R201."""
        domain = normalised(node.domain)
        version = imports.get(domain, 0)
        key = (node.op_type, domain, version)
        if key not in self._meanings:
            schema = self.registry.schema(node.op_type, version, domain)
            since = schema.since_version if schema is not None else version
            family = schema.family if schema is not None else ""
            kernel = self._kernels.find("kernel", domain, node.op_type, since, family)
            if kernel is None or (schema is None and domain in self.registry.domains):
                raise RunError(self._unknown(body.place(index), node, domain, imports, schema))
            formal = schema.attributes if schema is not None else {}
            known: frozenset[str] | None = kernel.attributes
            if kernel.any_attributes:
                known = frozenset(formal) if schema is not None else None
            self._meanings[key] = ResolvedKernel(
                schema,
                kernel,
                known,
                {
                    name: each.default
                    for name, each in formal.items()
                    if not each.required and known is not None and name in known
                },
                frozenset(name for name, each in formal.items() if each.required) - registration.IGNORED,
                any(each.constraint for each in formal.values()),
            )
        return self._meanings[key]

    def _unknown(
        self, place: str, node: Any, domain: str, imports: Mapping[str, int], schema: OpSchema | None
    ) -> Finding:
        name, where = printable(node.op_type), printable(shown(domain))
        if schema is not None:
            why = f"{where} {schema.name} {schema.since_version} has no kernel"
            help = f"use {schema.replacement}" if schema.replacement else "register one: docs/evaluating.md"
        elif domain not in imports:
            why, help = f"the domain {where} is not imported", "add it to opset_import"
        elif versions := self.registry.versions(node.op_type, domain):
            why = f"it came with version {versions[0].since_version} of {where}, and {imports[domain]} is imported"
            help = "import a newer version"
        else:
            why = f"{where} {imports[domain]} has no such operator, and the model no such function"
            help = "declare it and give it a kernel: docs/evaluating.md"
        return Finding("R201", f"the operator {name} cannot be computed", place, why, help)

    def _attribute_value(self, attribute: Any, inner: Mapping[int, Program]) -> Any:
        """Return an AttributeProto's value: a number, text, an array, a Program, a TypeProto, or a tuple of these."""
        value = attribute_value(attribute)
        match attribute_type(attribute):
            case "tensor" | "sparse_tensor":
                return self._array(value)
            case "tensors" | "sparse_tensors":
                return tuple(map(self._array, value))
            case "graph":
                return _inner(attribute, value, inner)
            case "graphs":
                return tuple(_inner(attribute, graph, inner) for graph in value)
        return value


def _inner(attribute: Any, graph: Any, inner: Mapping[int, Program]) -> Program:
    if id(graph) not in inner:
        message = f"the graph '{printable(attribute.name)}' is an attribute of a function's call"
        why = "which scope its names are of, the specification does not say"
        raise RunError(Finding("R202", message, why=why, help="write the graph into the function"))
    return inner[id(graph)]


_ASKED = "the operator asks for it"


def _bound_attributes(node: Any, bound: Mapping[str, Any]) -> dict[str, Any]:
    """Return a node's attributes by name, references to the function's own resolved; those without value are absent."""
    found = {}
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            given = bound.get(attribute.ref_attr_name)
            if given is not None:
                named = type(attribute)()
                named.CopyFrom(given)
                named.name = attribute.name
                found[attribute.name] = named
        else:
            found[attribute.name] = attribute
    return found


def _known(place: str, values: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """Return the attributes that a kernel takes; others may only be there without a value."""
    strange = [name for name, value in values.items() if name not in known and value is not None]
    if strange:
        raise RunError(
            Finding("R202", f"the operator has no attribute '{printable(name)}'", place, help="leave it out")
            for name in strange
        )
    return {name: value for name, value in values.items() if name in known}


class _Compiler:
    """The slots of one body's values, and its steps."""

    def __init__(
        self,
        programs: Programs,
        body: Body,
        imports: Mapping[str, int],
        bound: Mapping[str, Any],
        inner: Mapping[int, Program],
        free: Mapping[int, tuple[str, ...]],
        slices: Mapping[int, Body],
    ) -> None:
        self.programs, self.body, self.imports, self.bound = programs, body, imports, bound
        self.inner, self.free, self.slices = inner, free, slices
        self.slots: dict[str, int] = {}
        self.outside: list[str] = []
        self.program = Program(body, tuple(body.input_names()))

    def run(self, wanted: list[str]) -> Program:
        """Compile the steps that `wanted` needs. Raises RunError with all that is wrong."""
        program, proto = self.program, self.body.proto
        for name in program.inputs:
            self._new(name)
        if not self.body.function:
            self._constants(proto)
        needed = self._needed(wanted)
        findings: list[Finding] = []
        for index in needed:
            try:
                step = self.programs.step_of(self.body, index, self.imports, self.bound, self.inner)
            except RunError as error:
                findings += error.findings
                continue
            if id(step.node) in self.slices:
                step.attributes = {**step.attributes, "graph": self.inner[id(self.slices[id(step.node)].proto)]}
            self._connect(step)
            program.steps.append(step)
        if findings:
            raise RunError(dict.fromkeys(findings))  # one that is not of the node itself, once
        program.outputs = tuple(self._slot(name) for name in wanted)
        program.size = len(self.slots)
        self._free_early()
        return program

    def _constants(self, proto: Any) -> None:
        inputs = len(self.program.inputs)
        for tensor in (*proto.initializer, *proto.sparse_initializer):
            name = tensor.values.name if tensor.DESCRIPTOR.name == "SparseTensorProto" else tensor.name
            known = self.slots.get(name)
            slot = self._new(name) if known is None or known >= inputs else known
            self.program.constants.append((slot, partial(self.programs.initializer, tensor)))

    def _needed(self, wanted: Iterable[str]) -> list[int]:
        """Return the nodes that the wanted values come from, in order."""
        nodes = self.body.proto.node
        if self.programs.everything:
            return [*range(len(nodes))]
        read = set(wanted)
        needed = []
        for index in range(len(nodes) - 1, -1, -1):
            node = nodes[index]
            if not read.isdisjoint(node.output):
                needed.append(index)
                read.update(node.input)
                for key in self._inside(node):
                    read.update(self.free[key])
        needed.reverse()
        return needed

    def _inside(self, node: Any) -> list[int]:
        """Return the ids of the graphs that a node may run."""
        if not node.attribute:
            return []
        found = [id(graph) for _, graph in subgraphs(node)]
        return [*found, id(self.slices[id(node)].proto)] if id(node) in self.slices else found

    def _connect(self, step: Step) -> None:
        node = step.node
        for key in self._inside(node):
            program, names = self.inner[key], self.free[key]
            program.captured = tuple(
                (self._slot(name), inside) for name, (_, inside) in zip(names, program.captured, strict=True)
            )
        inputs = [self._slot(name) for name in node.input]
        while inputs and inputs[-1] == ABSENT:
            inputs.pop()
        step.inputs = tuple(inputs)
        step.outputs = tuple([self._new(name) if name else ABSENT for name in node.output])

    def _slot(self, name: str) -> int:
        """Return the slot of a value that is read; one that is not defined here is taken from the frame around."""
        if not name:
            return ABSENT
        if name not in self.slots:
            self.outside.append(name)
            self.program.captured += ((ABSENT, self._new(name)),)
        return self.slots[name]

    def _new(self, name: str) -> int:
        slot = self.slots[name] = len(self.program.names)
        self.program.names.append(name)
        return slot

    def _free_early(self) -> None:
        """Note after which step each slot that a step fills is not needed any more; what is in others, others hold."""
        last: dict[int, Step] = {}
        for step in self.program.steps:
            read = [*step.inputs, *step.outputs]
            for key in self._inside(step.node):
                read += [slot for slot, _ in self.inner[key].captured]
            for slot in read:
                last[slot] = step
        frees: dict[int, list[int]] = {}
        freed = {slot for step in self.program.steps for slot in step.outputs} - {ABSENT, *self.program.outputs}
        for slot, step in last.items():
            if slot in freed:
                frees.setdefault(id(step), []).append(slot)
        for step in self.program.steps:
            step.frees = tuple(frees.get(id(step), ()))
