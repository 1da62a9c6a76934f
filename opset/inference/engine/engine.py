"""Infers a model: its graphs node by node, graphs in nodes when these are reached, functions once for each signature.

Nothing recurses in nodes, graphs or functions: the inference of a body is a generator that yields the bodies to infer
first, and one loop runs them all. Outcomes are kept by a node's operator, attributes and input types, so that many
equal nodes cost one look into a table.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from opset.budget import ALLOW_MORE, Budget, BudgetExceeded
from opset.errors import Finding, InferenceError
from opset.inference.building.call import Call, Constant
from opset.inference.building.types import Type
from opset.inference.building.work import NODE_STEPS, charge_to
from opset.inference.engine.calls import FunctionCalls
from opset.inference.engine.constants import ConstantElements
from opset.inference.engine.nodes import NodeInference
from opset.inference.engine.operators import Operators
from opset.inference.engine.outcomes import Outcome, types_tied_by_signature
from opset.inference.engine.scopes import Scope
from opset.inference.engine.sizes import Sizes
from opset.inference.engine.stated import StatedTypes
from opset.model.graph.index import ModelIndex
from opset.model.storage.container import Model
from opset.opsets.registry import Registry
from opset.schemas.model import OpSchema

if TYPE_CHECKING:
    from opset.inference.engine.subgraphs import SubgraphInference

_SPAN = 512  # nodes that are charged at once; then the progress is reported

InferenceTask = Generator["InferenceTask | Scope", Any, Any]
"""An inference that can wait: it yields a task to run first, or a scope whose body has to be inferred first."""


class Engine:
    """One inference of one model. `run` fills it.

    - `scopes`: for each graph, the inferred types and elements of its values; those of functions are in `calls.scopes`;
    - `sizes`: the dimension variables; `constants`: the elements of small values;
    - `stopped`: the place and the BudgetExceeded if the inference was stopped since its budget was used up, else None;
      nothing is known of later values.
    """

    def __init__(
        self,
        model: Model,
        registry: Registry,
        dims: Mapping[str, int],
        budget: Budget,
        *,
        index: ModelIndex,
        data_prop: bool = True,
        check_type: bool = False,
        use_stated: bool = True,
        cautious: bool = False,
        limited: bool = False,
        strict: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Prepare the inference of a model; nothing is inferred before `run`.

        Args:
            model: the model.
            registry: the operators.
            dims: numbers for dimension variables, by name.
            budget: the steps and bytes that the inference may take.
            index: the index of the model.
            data_prop: whether elements of small tensors are computed.
            check_type: whether inputs of nodes are checked against the signatures of their operators.
            use_stated: whether the types that the model states for values other than inputs are used.
            cautious: whether stated sizes are used for inputs only; if the batch of a model has become variable, its
                value_info may still state the batch with which it was exported.
            limited: whether `run` raises BudgetExceeded if the budget is used up.
            strict: whether a node that violates the standard is a problem even if runtimes accept it.
            progress: a function that is called with the number of nodes done and the number of all nodes of the main
                graph.

        Raises:
            ModelError: the model is malformed.
        """
        self.model = model
        self.index = index
        self.index.call_order()
        self.budget = budget
        self._limited = limited
        self.stopped: tuple[str, BudgetExceeded] | None = None
        self._reached = 0
        self.sizes = Sizes(dims)
        self.constants = ConstantElements(model)
        self.scopes: dict[Any, Scope] = {}
        self._progress = progress
        self._operators = Operators(registry, data_prop, strict)
        self._stated = StatedTypes(self.sizes, not use_stated, cautious)
        self._nodes = NodeInference(self.constants, check_type)
        self.calls = FunctionCalls(self.index, self._operators, self.constants, self._stated)

    @cached_property
    def _subgraphs(self) -> SubgraphInference:
        """The inference of nodes with subgraphs, which few models have."""
        from opset.inference.engine.subgraphs import SubgraphInference

        return SubgraphInference(self._nodes, self.constants, self._stated)

    def run(self) -> None:
        """Infer the whole model, or as much as the budget allows, and store the results in `scopes` and `calls`.

        If the budget is used up, `stopped` has the place and the reason, and later values stay unknown.

        Raises:
            InferenceError: the rules or Python files of a user's domain cannot be used.
            BudgetExceeded: the budget is used up, and the engine was made with `limited`.
        """
        with charge_to(self.budget):
            roots = self._infer_graphs()
        pending = [*roots, *self.calls.all_scopes()][::-1]
        while pending:
            scope = pending.pop()
            if not scope.body.function:
                self.scopes[scope.key] = scope
            pending.extend(reversed(scope.subgraphs.values()))

    def all_scopes(self) -> list[Scope]:
        """Return the scopes of all graphs, the main graph first, then the scopes of called functions.

        A scope has what inference found out for one graph, or for one way to call a function. Calls of a function share
        a scope if they differ only in the names of values and variables. Before `run`, there are no scopes.
        """
        return [*self.scopes.values(), *self.calls.all_scopes()]

    def _infer_graphs(self) -> list[Scope]:
        """Infer the main graph and the training graphs, with all subgraphs and functions they use.

        Returns the scopes of the main graph and the training graphs. If the budget is used up, later values of the
        graph become unknown; BudgetExceeded is raised instead if the engine was made with `limited`.
        """
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
            except BudgetExceeded as exhausted:
                self.stopped = self.stopped or (body.label, exhausted)
                if self._limited:
                    raise
                self._abandon_rest(scope)
        return roots

    def node_types(
        self, node: Any, schema: OpSchema, inputs: Sequence[Type | None], constants: Sequence[Constant | None]
    ) -> tuple[Type | None, ...]:
        """Return the output types of a node that is not in the model, None for one that is unknown.

        If the budget is used up, no type is known; BudgetExceeded is raised instead if the engine was made with
        `limited`.

        Args:
            node: the NodeProto.
            schema: the schema of its operator.
            inputs: the types of its inputs, None if unknown.
            constants: the elements of its inputs, None if unknown.
        """
        try:
            with charge_to(self.budget):
                return self._nodes.infer_separate_node(node, self._operators.of_schema_alone(schema), inputs, constants)
        except BudgetExceeded:
            if self._limited:
                raise
            return (None,) * len(node.output)

    def call_of(self, scope: Scope, index: int, types: Sequence[Type | None]) -> Call | None:
        """Return the node at `index` of an inferred graph or function as a Call with these types of inputs.

        A Call is the form in which rules of operators take a node. The result is None if the operator has no schema.
        """
        inference = scope.operators.get(scope.body.operators[index])
        if inference is None or inference.schema is None:
            return None
        return self._nodes.call_of(scope, index, inference, types)

    def outcome_of(self, scope: Scope, index: int, call: Call) -> Outcome | None:
        """Infer one node again for other inputs, and return its output types and elements.

        Nothing is stored. Returns None if the operator has no rule, or a rule that infers subgraphs. Elements of small
        outputs are computed even if all inputs are weights.

        Args:
            scope: the scope of the graph or function with the node, which was inferred before.
            index: the index of the node in it.
            call: the node with its new inputs.
        """
        inference = scope.operators[scope.body.operators[index]]
        if inference.rule is None or inference.rule.is_generator:
            return None
        return self._nodes.run_rule(call, len(scope.body.computes[index]), inference, range(len(call.names)))

    def _infer_body(self, scope: Scope) -> InferenceTask:
        """Infer the nodes of one graph or function in order, and store the results in its scope.

        This generator yields a task for each node that calls a function or has subgraphs. The caller runs the task and
        sends back its Outcome. Raises BudgetExceeded if the budget is used up. `stopped` then has the node that was
        reached.
        """
        body = scope.body
        types = scope.types
        operators = scope.operators
        functions = self.index.functions
        progress = self._progress if body.parent is None else None
        budget = self.budget
        index = 0
        try:
            for index, (operator, reads) in enumerate(zip(body.operators, body.reads, strict=True)):
                if not index % _SPAN:
                    budget.charge(NODE_STEPS * min(_SPAN, len(body.operators) - index))
                    if progress is not None:
                        progress(index, len(body.operators))
                inputs = [types.get(name) if name in types or not name else scope.type_of(name) for name in reads]
                if functions and (key := body.function_key(index)) in functions:
                    outcome = yield self.calls.infer_call(scope, index, key, inputs)
                else:
                    inference = operators.get(operator)
                    if inference is None:
                        inference = operators[operator] = self._operators.find(operator, scope.imports)
                    if inference.rule is not None and inference.rule.is_generator:
                        outcome = yield self._subgraphs.infer_node(scope, index, inference, inputs)
                    else:
                        outcome = self._nodes.infer_node(scope, index, inference, inputs)
                self._keep_outcome(scope, index, outcome)
                if None in inputs:
                    self._settle_inputs(scope, index)
        except BudgetExceeded as exhausted:
            self._reached = index
            self.stopped = self.stopped or (body.location(index), exhausted)
            raise

    def _abandon_rest(self, scope: Scope) -> None:
        """Record in the scope of a main or training graph that inference stopped in it.

        For the node at which inference stopped, and for all later nodes of the graph:

        - the outputs become unknown, with a reason that names the place of the stop;
        - the scopes of subgraphs are dropped;
        - functions that the nodes call are added to `calls.omitted`.
        """
        assert self.stopped is not None
        doubts = (f"inference stopped at {self.stopped[0]}: {self.stopped[1].why}",)
        body = scope.body
        functions = self.index.functions
        for index in range(self._reached, len(body.operators)):
            scope.types.update((name, None) for name in body.computes[index] if name)
            scope.doubts[index] = doubts
            if functions and (key := body.function_key(index)) in functions:
                self.calls.omitted.add(key)
        # Graphs of that node may have been inferred for the first iterations of a loop alone.
        scope.subgraphs = {key: inner for key, inner in scope.subgraphs.items() if key[0] < self._reached}

    def _keep_outcome(self, scope: Scope, index: int, outcome: Outcome) -> None:
        """Store the result for the node at `index` in its scope: output types, elements, doubts and problems.

        Types that the model states complete the inferred types. Sizes that stay unknown get a variable each.
        """
        inferred, constants, doubts, problems, has_unnamed, warnings = outcome
        if warnings:
            scope.warnings[index] = warnings
        if doubts:
            scope.doubts[index] = doubts
        if problems:
            scope.problems[index] = problems
        types = scope.types
        stated = scope.stated
        names = scope.body.computes[index]
        if len(inferred) < len(names):
            inferred = (*inferred, *[None] * len(names))
        for name, type_ in zip(names, inferred, strict=False):
            if not name:
                continue
            if name in stated:
                type_ = self.sizes.name_unknown_sizes(scope, self._stated.combine_computed(scope, name, type_), name)
            elif has_unnamed:
                type_ = self.sizes.name_unknown_sizes(scope, type_, name)
            types[name] = type_
        if constants:
            scope.constants.update(
                (name, constant) for name, constant in zip(names, constants, strict=False) if constant is not None
            )

    def _settle_inputs(self, scope: Scope, index: int) -> None:
        """Store the types that the inputs of the node at `index` must have by its operator's signature.

        Only an input of unknown type gets one, such as an input of Add if its output is known to be float. A node of
        the same graph or function must compute the input. The node that computes the input is then treated in the same
        way. Shapes stay unknown.
        """
        body, types = scope.body, scope.types
        waiting = [index]
        while waiting:
            index = waiting.pop()
            inference = scope.operators.get(body.operators[index])
            if inference is None or inference.schema is None or body.function_key(index) in self.index.functions:
                continue
            names = scope.reads(index)
            before = [scope.type_of(name) if name else None for name in names]
            if not any(known is None and name in body.definitions for name, known in zip(names, before, strict=True)):
                continue
            self.budget.charge(NODE_STEPS)
            computed = [types.get(name) for name in body.computes[index]]
            after = types_tied_by_signature(inference.schema, before, computed)
            for name, known, type_ in zip(names, before, after, strict=True):
                if known is None and type_ is not None and name in body.definitions:
                    types[name] = type_
                    waiting.append(body.definitions[name])

    def _run_tasks(self, scope: Scope) -> None:
        """Infer the graph or function of a scope, with all subgraphs and functions that its nodes use.

        A stack of generators takes the place of recursion. Raises BudgetExceeded if the budget is used up; any other
        error is passed on, too.
        """
        tasks: list[InferenceTask] = [self._infer_body(scope)]
        value: Any = None
        error: BaseException | None = None
        while tasks:
            try:
                request = tasks[-1].send(value) if error is None else tasks[-1].throw(error)
            except StopIteration as stop:
                tasks.pop()
                value = stop.value
                error = None
            except Exception as raised:
                tasks.pop()
                error = raised
            else:
                tasks.append(self._infer_body(request) if isinstance(request, Scope) else request)
                value = error = None
        if error is not None:
            raise error


def stopped_error(engine: Engine, exhausted: BudgetExceeded) -> InferenceError:
    """Return the error I401 that an inference used up its budget, with the place at which it stopped."""
    place, _ = engine.stopped or ("", exhausted)
    return InferenceError(Finding("I401", "the inference was stopped", place, exhausted.why, ALLOW_MORE))
