"""Compiles the bodies of a model into programs: kernels found, attributes bound, slots assigned.

Each body is compiled when it is first run. Attributes of a function, which only a call determines, are bound when the
call first runs, so functions that call each other in many ways cost nothing until they do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from opset.errors import Finding, FindingList, OpsetError, RunError, safe_text
from opset.inference.building.gradient_graphs import DOMAIN as TRAINING
from opset.inference.building.gradient_graphs import gradient_graph, is_gradient
from opset.inference.building.types import join_types
from opset.model.attributes import attribute_type, attribute_value
from opset.model.graph.index import Body, ModelIndex, bodies_below
from opset.model.graph.walking import function_key, subgraphs
from opset.reference.engine.constants import ModelTensors
from opset.reference.engine.operator_bodies import BodyCall, OperatorKey
from opset.reference.engine.programs import ABSENT, Program, ProgramStep
from opset.reference.engine.resolution import Resolver
from opset.reference.value_info import ValueInfo, value_info_of
from opset.reference.values import type_of
from opset.schemas.function_bodies import replaced_operator
from opset.schemas.model import OpSchema, translate_value

if TYPE_CHECKING:
    from opset.inference.engine.result import Inference
    from opset.inference.engine.scopes import Scope


class Compiler:
    """Compiles the bodies of one model, each once; if `everything`, also steps whose values no other step reads.

    `infer_model` returns the inference of the model; it is called at most once, if a graph declares too little.
    """

    def __init__(
        self,
        index: ModelIndex,
        resolver: Resolver,
        constants: ModelTensors,
        infer_model: Callable[[], Inference],
        everything: bool = False,
    ) -> None:
        self._index = index
        self._infer_model = infer_model
        self.resolver = resolver
        self.constants = constants
        self.everything = everything
        self.functions = {function_key(function): function for function in index.proto.functions}
        self._compiled: dict[Any, Program] = {}
        self._newest = resolver.registry.domains[""]

    def main_program(self, outputs: Iterable[str]) -> Program:
        """Return the program that computes these values of the main graph, which need not be its outputs."""
        return self._compile(self._index.main, list(outputs), self._index.opsets, {})

    def function_program(self, function: Any, attributes_of_call: Mapping[str, Any]) -> Program:
        """Return the program of a function for the attributes of a call, AttributeProtos by name, and its defaults."""
        defaults = {attribute.name: attribute for attribute in function.attribute_proto}
        bound = {**defaults, **attributes_of_call}
        attributes = {name: bound[name] for name in (*function.attribute, *defaults) if name in bound}
        key = (function_key(function), *sorted((name, proto.SerializeToString()) for name, proto in attributes.items()))
        if key not in self._compiled:
            body = self._index.functions[function_key(function)]
            self._compiled[key] = self._compile(body, body.output_names(), self._index.imports(body), attributes)
        return self._compiled[key]

    def body_program(self, call: BodyCall, inputs: Sequence[Any]) -> Program:
        """Return the program of the function body that computes a node without a kernel. Raises RunError R201."""
        signature = tuple([(type_of(value), np.ndim(value)) if value is not None else None for value in inputs])
        if signature not in call.programs:
            body = call.choose_body(inputs)
            bound = call.attributes()
            function = call.function_of(body, inputs)
            within = frozenset((*call.within, call.operator))
            texts = sorted((name, proto.SerializeToString()) for name, proto in bound.items())
            imports = sorted(call.imports.items())
            key = (call.schema, within, function.proto.SerializeToString(), tuple(imports), *texts)
            if key not in self._compiled:
                self._compiled[key] = self._compile(function, function.output_names(), call.imports, bound, within)
            call.programs[signature] = self._compiled[key]
        return call.programs[signature]

    def imports_of_body(self, schema: OpSchema, imports: Mapping[str, int]) -> dict[str, int]:
        """Return the imports at which the function bodies of an operator are evaluated, in a body of these imports.

        A model without ai.onnx leaves the version open; one that is older than all bodies changes no meaning of them.
        """
        lowest = min(body.opset for body in schema.function)
        return {**imports, "": max(imports.get("", self._newest), lowest)}

    def imports_of_node(
        self, node: Any, imports: Mapping[str, int], within: Collection[OperatorKey]
    ) -> Mapping[str, int]:
        """Return the imports by which a node is read.

        In a function body of YAML, operators in REPLACED are read at the newest opset.
        """
        return {**imports, "": self._newest} if within and replaced_operator(node) else imports

    @cached_property
    def _scopes(self) -> Mapping[str, list[Scope]]:
        """The scopes of the inferred model by the label of their bodies; none if inference is not possible."""
        found: dict[str, list[Scope]] = defaultdict(list)
        with suppress(OpsetError):
            for scope in self._infer_model().scopes:
                found[scope.body.label].append(scope)
        return found

    def complete_declaration(self, body: Body, declared: ValueInfo) -> ValueInfo:
        """Return the declaration of a value of a body, with what inference knows of the value in all its scopes."""
        types = [scope.type_of(declared.name) for scope in self._scopes.get(body.label, ())]
        common = reduce(join_types, types) if types else None
        if common is None or common.text is None or declared.type not in (None, common.text):
            return declared
        sizes = declared.shape if common.shape is None else common.shape
        shape = None if sizes is None else tuple(size if isinstance(size, int) else None for size in sizes)
        return replace(declared, type=common.text, shape=shape)

    def _compile(
        self,
        root: Body,
        outputs: list[str],
        imports: Mapping[str, int],
        bound: Mapping[str, Any],
        within: Collection[OperatorKey] = (),
    ) -> Program:
        """Compile a body after the bodies inside it, since the values that these capture have to be known.

        `within` are the operators in whose function bodies it is.
        """
        compiled: dict[int, _BodyCompiler] = {}
        bodies = bodies_below(root)
        gradients = self._gradient_graphs(bodies, bound) if TRAINING in imports else {}
        for body in reversed([*bodies, *bodies_below(*gradients.values())]):
            compiler = _BodyCompiler(self, body, imports, bound, compiled, gradients, within)
            compiler.compile(outputs if body is root else body.output_names())
            compiled[id(body.proto)] = compiler
        return compiled[id(root.proto)].program

    def _gradient_graphs(self, bodies: Iterable[Body], bound: Mapping[str, Any]) -> dict[int, Body]:
        """Return the graph that each Gradient node differentiates, by the node's id. Raises RunError."""
        graphs: dict[int, Body] = {}
        findings = FindingList()
        for body in bodies:
            for index, node in enumerate(body.proto.node):
                if is_gradient(node) and function_key(node) not in self.functions:
                    try:
                        graphs[id(node)] = gradient_graph(body, index, bound_attributes(node, bound))
                    except RunError as error:
                        findings += error.findings
        if findings:
            raise RunError(findings)
        return graphs


def bound_attributes(node: Any, bound: Mapping[str, Any]) -> dict[str, Any]:
    """Return a node's attributes by name, references to attributes of the function resolved, or left out if unset."""
    attributes = {}
    for attribute in node.attribute:
        value = bound.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
        if value is not None:
            attributes[attribute.name] = value
    return attributes


@dataclass(eq=False)
class _BodyCompiler:
    """Assigns the slots of one body's values, and makes its steps.

    `inner` has the compilers of the graphs inside, by the id of the graph, and `gradients` the graph that each Gradient
    node differentiates, by the id of the node. `within` are the operators in whose function bodies it is. `captures`
    are values of the bodies around it that it reads.
    """

    _compiler: Compiler
    _body: Body
    _imports: Mapping[str, int]
    _bound: Mapping[str, Any]
    _inner: Mapping[int, _BodyCompiler]
    _gradients: Mapping[int, Body]
    _within: Collection[OperatorKey]
    _slots: dict[str, int] = field(default_factory=dict)
    captures: list[str] = field(default_factory=list)
    _captured: list[tuple[int, int]] = field(default_factory=list)
    program: Program = field(init=False)

    def __post_init__(self) -> None:
        proto = self._body.proto
        declare = ValueInfo if self._body.function else value_info_of
        self.program = Program(
            self._body,
            tuple(map(declare, proto.input)),
            tuple(map(declare, proto.output)),
            self._compiler.complete_declaration,
        )

    def compile(self, results: list[str]) -> None:
        """Compile the steps that compute `results`. Raises RunError with the findings of all nodes."""
        program = self.program
        for declared in program.inputs:
            self._add_slot(declared.name)
        if not self._body.function:
            self._add_constants()
        findings = FindingList()
        seen = set[Finding]()  # a problem of more than one node is reported once
        for index in self._needed_nodes(results):
            try:
                step = self._make_step(index)
            except RunError as error:
                new = [finding for finding in error.findings if finding not in seen]
                findings += new
                if not findings.omitted:
                    seen.update(new)
                continue
            self._assign_slots(step)
            program.steps.append(step)
        if findings:
            raise RunError(findings)
        program.results = tuple(self._slot_of(name) for name in results)
        program.captured = tuple(self._captured)
        program.size = len(program.names)  # duplicate initializers have slots, too
        self._set_frees()

    def _add_constants(self) -> None:
        """Add the initializers of the body to the constants of the program, with a slot for each."""
        proto = self._body.proto
        inputs = len(self.program.inputs)
        for tensor in (*proto.initializer, *proto.sparse_initializer):
            name = tensor.values.name if tensor.DESCRIPTOR.name == "SparseTensorProto" else tensor.name
            slot = self._slots.get(name)
            if slot is None or slot >= inputs:
                slot = self._add_slot(name)
            self.program.constants.append((slot, partial(self._compiler.constants.initializer, tensor)))

    def _needed_nodes(self, results: Iterable[str]) -> list[int]:
        """Return the indices of the nodes that compute the results, in order."""
        nodes = self._body.proto.node
        if self._compiler.everything:
            return [*range(len(nodes))]
        read = set(results)
        needed = []
        for index in range(len(nodes) - 1, -1, -1):
            node = nodes[index]
            if not read.isdisjoint(node.output):
                needed.append(index)
                read.update(node.input)
                for key in self._graph_ids(node):
                    read.update(self._inner[key].captures)
        needed.reverse()
        return needed

    def _graph_ids(self, node: Any) -> list[int]:
        """Return the ids of the graphs that a node may run."""
        if not node.attribute:
            return []
        ids = [id(graph) for _, graph in subgraphs(node)]
        return [*ids, id(self._gradients[id(node)].proto)] if id(node) in self._gradients else ids

    def _make_step(self, index: int) -> ProgramStep:
        """Return the step of a node, without its slots. Raises RunError R201 or R202."""
        body = self._body
        compiler = self._compiler
        node = body.proto.node[index]
        functions = {} if self._within else compiler.functions
        if functions and (called := functions.get(function_key(node))) is not None:
            program = partial(compiler.function_program, called, bound_attributes(node, self._bound))
            return ProgramStep(index, node, None, call=program)
        location = partial(body.location, index)
        imports = compiler.imports_of_node(node, self._imports, self._within)
        resolved = compiler.resolver.resolve(node, imports, location)
        has_attributes = bool(node.attribute)
        bound = bound_attributes(node, self._bound) if has_attributes else {}
        types = {name: attribute_type(attribute) for name, attribute in bound.items()}
        stated = resolved.stated_attributes(types, location)
        values = {name: self._attribute_value(bound[name], location) for name in stated}
        attributes = resolved.keyword_arguments(values)
        if id(node) in self._gradients:
            attributes = {**attributes, "graph": self._inner[id(self._gradients[id(node)].proto)].program}
        step = ProgramStep(
            index,
            node,
            resolved.schema,
            resolved.kernel,
            attributes,
            # An attribute may name the type of an output, so legal input types hold for this node alone.
            set() if has_attributes else resolved.legal_types,
            resolved.plan,
            resolved.legal_inputs(attributes),
        )
        if resolved.kernel is None:
            assert resolved.schema is not None
            inner = compiler.imports_of_body(resolved.schema, imports)
            call = BodyCall(resolved.schema, inner, {name: bound[name] for name in stated}, self._within, location)
            step.express = partial(compiler.body_program, call)
        if (fallback := resolved.fallback) is not None:
            step.quirk = resolved.quirk
            if fallback.schema is not None:
                values = {name: translate_value(fallback.schema, name, value) for name, value in values.items()}
            attributes = fallback.keyword_arguments(values)
            step.fallback = ProgramStep(index, node, fallback.schema, fallback.kernel, attributes, plan=fallback.plan)
        return step

    def _attribute_value(self, attribute: Any, location: Callable[[], str]) -> Any:
        """Return an AttributeProto's value: a number, text, an array, a Program, a TypeProto, or a tuple of these."""
        value = attribute_value(attribute)
        match attribute_type(attribute):
            case "tensor" | "sparse_tensor":
                return self._compiler.constants.array(value)
            case "tensors" | "sparse_tensors":
                return tuple(map(self._compiler.constants.array, value))
            case "graph":
                return self._graph_program(attribute, value, location)
            case "graphs":
                return tuple(self._graph_program(attribute, graph, location) for graph in value)
        return value

    def _graph_program(self, attribute: Any, graph: Any, location: Callable[[], str]) -> Program:
        """Return the program of a graph in an attribute. Raises RunError R202 for a graph in a function's call."""
        if id(graph) not in self._inner:
            message = f"the graph '{safe_text(attribute.name)}' is an attribute of a function's call"
            why = "the specification does not define which scope its names belong to"
            raise RunError(Finding("R202", message, location(), why, "write the graph into the function"))
        return self._inner[id(graph)].program

    def _assign_slots(self, step: ProgramStep) -> None:
        """Set the slots that a step reads and fills, and the slots that its graphs capture."""
        node = step.node
        for key in self._graph_ids(node):
            inner = self._inner[key]
            pairs = zip(inner.captures, inner.program.captured, strict=True)
            inner.program.captured = tuple((self._slot_of(name), inside) for name, (_, inside) in pairs)
        inputs = [self._slot_of(name) for name in node.input]
        while inputs and inputs[-1] == ABSENT:
            inputs.pop()
        step.inputs = tuple(inputs)
        step.outputs = tuple([self._add_slot(name) if name else ABSENT for name in node.output])

    def _slot_of(self, name: str) -> int:
        """Return the slot of a value that is read; a value that the body does not define is captured."""
        if not name:
            return ABSENT
        if name not in self._slots:
            self.captures.append(name)
            self._captured.append((ABSENT, self._add_slot(name)))
        return self._slots[name]

    def _add_slot(self, name: str) -> int:
        """Return a new slot for a value."""
        slot = self._slots[name] = len(self.program.names)
        self.program.names.append(name)
        return slot

    def _set_frees(self) -> None:
        """Set the slots that are free after each step, if a step fills them: other values are held elsewhere."""
        last: dict[int, ProgramStep] = {}
        for step in self.program.steps:
            read = [*step.inputs, *step.outputs]
            for key in self._graph_ids(step.node):
                read += [slot for slot, _ in self._inner[key].program.captured]
            for slot in read:
                last[slot] = step
        frees: dict[ProgramStep, list[int]] = {}
        filled = {slot for step in self.program.steps for slot in step.outputs} - {ABSENT, *self.program.results}
        for slot, step in last.items():
            if slot in filled:
                frees.setdefault(step, []).append(slot)
        for step in self.program.steps:
            step.frees = tuple(frees.get(step, ()))
