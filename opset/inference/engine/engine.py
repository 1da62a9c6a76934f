"""Infers a model: its graphs node by node, graphs in nodes when these are reached, functions once for each signature.

Nothing recurses in nodes, graphs or functions: the inference of a body is a generator that yields what has to be
inferred first, and one loop runs them all. Outcomes are kept by a node's operator, attributes and input types, so that
the many nodes that are alike cost one look into a table.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from opset.budget import Budget, Exhausted
from opset.inference.building.call import Constant
from opset.inference.building.types import Type
from opset.inference.building.work import NODE, charging
from opset.inference.engine.calls import Calls
from opset.inference.engine.constants import Constants
from opset.inference.engine.nodes import Nodes
from opset.inference.engine.operators import Operators
from opset.inference.engine.outcomes import Outcome
from opset.inference.engine.scopes import Scope
from opset.inference.engine.sizes import Sizes
from opset.inference.engine.stated import StatedTypes
from opset.inference.engine.subgraphs import Subgraphs
from opset.model.graph.index import ModelIndex, index_model
from opset.model.storage.container import Model
from opset.opsets.registry import Registry
from opset.schemas.model import OpSchema

_SPAN = 512  # nodes that are charged at once; then the progress is reported

InferenceTask = Generator["InferenceTask | Scope", Any, Any]
"""An inference that can wait: it yields a task to run first, or a scope whose body has to be inferred first."""


class Engine:
    """One inference of one model.

    - `scopes`: what is known of each graph, by the scopes' keys; `calls.scopes`: of functions;
    - `sizes`: the dimension variables; `constants`: the elements of small values;
    - `stopped`: where and why the inference was stopped, since its budget was used up; what follows is not known.
    """

    def __init__(
        self,
        model: Model,
        registry: Registry,
        dims: Mapping[str, int],
        budget: Budget,
        *,
        data_prop: bool = True,
        check_type: bool = False,
        use_stated: bool = True,
        cautious: bool = False,
        limited: bool = False,
        strict: bool = False,
        index: ModelIndex | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Take the model, numbers for its dimension variables, the budget, and the index, if there is one already.

        Without `use_stated`, types that the model states are ignored, those of inputs aside. If `cautious`, stated
        sizes count for inputs alone: value_info of a model whose batch has become variable may still be that of the
        batch with which it was exported. If `limited`, `run` raises Exhausted where the budget is used up. If
        `strict`, what runtimes accept against the standard does not fit its operator.

        Raises ModelError where the model is malformed.
        """
        self.model = model
        self.index = index or index_model(model.proto, registry.domains)
        self.index.call_order()
        self.budget, self._limited = budget, limited
        self.stopped: tuple[str, Exhausted] | None = None
        self._reached = 0
        self.sizes = Sizes(dims)
        self.constants = Constants(model)
        self.scopes: dict[Any, Scope] = {}
        self._progress = progress
        self._operators = Operators(registry, data_prop, strict)
        self._stated = StatedTypes(self.sizes, ignored=not use_stated, inputs_only=cautious)
        self._nodes = Nodes(self.constants, check_type)
        self._subgraphs = Subgraphs(self._nodes, self.constants, self._stated)
        self.calls = Calls(self.index, self._operators, self.constants, self._stated)

    def run(self) -> None:
        """Infer everything, or as much as the budget allows.

        Raises InferenceError where hooks of a user's domain cannot be used, Exhausted where the limits were set.
        """
        with charging(self.budget):
            roots = self._graphs()
        pending = [*roots, *(scope for scopes in self.calls.scopes.values() for scope in scopes)][::-1]
        while pending:
            scope = pending.pop()
            if not scope.body.function:
                self.scopes[scope.key] = scope
            pending.extend(reversed(scope.subgraphs.values()))

    def _graphs(self) -> list[Scope]:
        """Return the scopes of the main graph and the training graphs, inferred with all that is in them."""
        imports = self.index.opsets
        overridable = self.model.proto.ir_version >= 4
        for body in self.index.graphs:
            self.sizes.add_inputs(body.proto.input)
        roots: list[Scope] = []
        operators = self._operators.table(imports)
        for number, body in enumerate(self.index.graphs):
            main = roots[0] if roots else None
            scope = Scope(body, main, imports, operators, key=(number,))
            roots.append(scope)
            self._reached = 0
            try:
                self._stated.enter_graph(scope, overridable)
                self._run_tasks(scope)
            except Exhausted as exhausted:
                self.stopped = self.stopped or (body.label, exhausted)
                if self._limited:
                    raise
                self._leave(scope)
        return roots

    def node_types(
        self, node: Any, schema: OpSchema, inputs: Sequence[Type | None], constants: Sequence[Constant | None]
    ) -> tuple[Type | None, ...]:
        """Return the types of the outputs of a node that is not part of the model, by types and elements of inputs."""
        try:
            with charging(self.budget):
                return self._nodes.alone(node, self._operators.of_schema(schema), inputs, constants)
        except Exhausted:
            if self._limited:
                raise
            return (None,) * len(node.output)

    def _body(self, scope: Scope) -> InferenceTask:
        """Infer the nodes of a body in order."""
        body, types, operators, functions = scope.body, scope.types, scope.operators, self.calls.functions
        progress, budget = self._progress if body.parent is None else None, self.budget
        index = 0
        try:
            for index, (operator, reads) in enumerate(zip(body.operators, body.reads, strict=True)):
                if not index % _SPAN:
                    budget.charge(NODE * min(_SPAN, len(body.operators) - index))
                    if progress is not None:
                        progress(index, len(body.operators))
                inputs = [types[name] if name in types else scope.type_of(name) if name else None for name in reads]
                if functions and (key := body.function_key(index)) in functions:
                    outcome = yield self.calls.infer(scope, index, key, inputs)
                else:
                    inference = operators.get(operator)
                    if inference is None:
                        inference = operators[operator] = self._operators.find(operator, scope.imports)
                    if inference.rule is not None and inference.rule.is_generator:
                        outcome = yield self._subgraphs.infer(scope, index, inference, inputs)
                    else:
                        outcome = self._nodes.outcome(scope, index, inference, inputs)
                self._keep(scope, index, outcome)
        except Exhausted as exhausted:
            self._reached = index
            self.stopped = self.stopped or (body.location(index), exhausted)
            raise

    def _leave(self, scope: Scope) -> None:
        """Leave the nodes of a graph in which the inference was stopped: of them, and what they run, nothing is known.

        Graphs of the node at which it was stopped may have been inferred for the first turns of a loop alone.
        """
        assert self.stopped is not None
        doubts = (f"inference stopped at {self.stopped[0]}: {self.stopped[1].why}",)
        body, functions = scope.body, self.calls.functions
        for index in range(self._reached, len(body.operators)):
            scope.types.update((name, None) for name in body.computes[index] if name)
            scope.doubts[index] = doubts
            if functions and (key := body.function_key(index)) in functions:
                self.calls.omitted.add(key)
        scope.subgraphs = {key: inner for key, inner in scope.subgraphs.items() if key[0] < self._reached}

    def _keep(self, scope: Scope, index: int, outcome: Outcome) -> None:
        """Keep what was inferred of a node."""
        found, constants, doubts, problems, has_unnamed, warnings = outcome
        if warnings:
            scope.warnings[index] = warnings
        if doubts:
            scope.doubts[index] = doubts
        if problems:
            scope.problems[index] = problems
        types, stated, names = scope.types, scope.stated, scope.body.computes[index]
        if len(found) < len(names):
            found = (*found, *[None] * (len(names) - len(found)))
        for name, type_ in zip(names, found, strict=False):
            if not name:
                continue
            if name in stated:
                type_ = self.sizes.named(scope, self._stated.combine_computed(scope, name, type_), name)
            elif has_unnamed:
                type_ = self.sizes.named(scope, type_, name)
            types[name] = type_
        if constants:
            scope.constants.update(
                (name, constant) for name, constant in zip(names, constants, strict=False) if constant is not None
            )

    def _run_tasks(self, scope: Scope) -> None:
        """Infer a body, and all that has to be inferred first, however deep."""
        tasks: list[InferenceTask] = [self._body(scope)]
        value: Any = None
        error: BaseException | None = None
        while tasks:
            try:
                request = tasks[-1].send(value) if error is None else tasks[-1].throw(error)
            except StopIteration as stop:
                tasks.pop()
                value, error = stop.value, None
            except Exception as raised:
                tasks.pop()
                error = raised
            else:
                tasks.append(self._body(request) if isinstance(request, Scope) else request)
                value = error = None
        if error is not None:
            raise error
