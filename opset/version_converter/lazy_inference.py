"""The inference of a whole model, which runs when a type or an element is first needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

from opset.budget import Budget, Limits
from opset.model.graph.index import Body, ModelIndex
from opset.model.graph.walking import function_key
from opset.model.storage.container import Model
from opset.model.types import Constant
from opset.schemas.names import normalize_domain

if TYPE_CHECKING:
    from opset.inference.building.types import Type
    from opset.inference.engine.engine import Engine
    from opset.inference.engine.scopes import Scope
    from opset.opsets.registry import Registry


class LazyInference:
    """The inference of types and shapes of a model being converted, which runs only when a fact is first asked for.

    The given model is inferred; new nodes of the conversion compute the same values under the same names. If a budget
    was given and is used up, BudgetExceeded is raised. Without one, inference has a budget of its own; if that is used
    up, the remaining facts are unknown.
    """

    def __init__(self, model: Model, index: ModelIndex, registry: Registry, budget: Budget | None = None) -> None:
        self._model = model
        self.index = index
        self._registry = registry
        self._budget = budget
        self.known_types: dict[Body, Mapping[str, str | None]] = {}
        """Types of values of bodies of the given model that were found before."""

    def for_model(self, model: Model, index: ModelIndex) -> LazyInference:
        """Return an inference, not yet run, of another model with the same registry and budget.

        `index` is the index of that model.
        """
        return LazyInference(model, index, self._registry, self._budget)

    @cached_property
    def _engine_and_scopes(self) -> tuple[Engine, dict[Body, list[Scope]]]:
        """The inference engine after its run, and a list of Scopes for each body.

        Each Scope has the inferred types of the values in one run of the body. A function has a run for each call, for
        example, and the main graph has one. The list is empty if the body never runs, or if the engine may have missed
        a run.
        """
        from opset.inference.building.work import default_budget
        from opset.inference.engine.engine import Engine

        budget = self._budget or default_budget(self._model.proto.ByteSize(), Limits())
        engine = Engine(
            self._model, self._registry, {}, budget, cautious=True, limited=self._budget is not None, index=self.index
        )
        engine.run()
        scopes, doubtful = _scopes_of(self.index.bodies, engine)
        return engine, {body: [] if body in doubtful else scopes[body] for body in self.index.bodies}

    def type(self, body: Body, name: str) -> Type | None:
        """Return the inferred type of a value that `body` defines, None if it is not known.

        A body may have several runs, such as a function with several calls. Then the type has only the parts in which
        all runs agree. It is None if not all runs are known.
        """
        scopes = self._engine_and_scopes[1][body]
        if len(scopes) < 2:
            return scopes[0].type_of(name) if scopes else None
        types = [scope.type_of(name) for scope in scopes]
        from opset.inference.building.types import join_types

        return reduce(join_types, types)

    def types_of_body(self, body: Body) -> Mapping[str, Type | None]:
        """Return the inferred types of the values of a body (a graph or function), by name.

        A run of a body is one call or execution of it; the main graph has one. The mapping is empty if the body has no
        run, or several, or if inference may have missed a run.
        """
        scopes = self._engine_and_scopes[1][body]
        return scopes[0].types if len(scopes) == 1 else {}

    def steady_axes(self, body: Body, name: str) -> set[int]:
        """Return the axes of a value in a Loop's body along which its size is surely the same in every iteration.

        If the body has several runs, this holds in each of them. The set is empty if a shape, or a run, is unknown.
        """
        from opset.inference.building.dimensions import variables

        axes: list[set[int]] = []
        for scope in self._engine_and_scopes[1][body]:
            type_ = scope.type_of(name)
            sizes = enumerate(() if type_ is None or type_.shape is None else type_.shape)
            varying = scope.local | self._sizes_in_sequences
            axes.append({axis for axis, size in sizes if size is not None and varying.isdisjoint(variables(size))})
        return set.intersection(*axes) if axes else set()

    @cached_property
    def _sizes_in_sequences(self) -> set[str]:
        """The dim_params in the types of graph inputs that are sequences or optionals of tensors.

        Such a name, "N", may stand for another size in each element of a sequence. The inputs are those of the main
        graph and the training graphs.
        """
        # The standard's own cases name the size of each element by one variable, and the elements differ in it.
        from opset.inference.building.dimensions import variables
        from opset.inference.building.types import unwrap_layers

        names: set[str] = set()
        for body, scope in zip(self.index.graphs, self.scopes_of_graphs(), strict=True):
            for around, inside in (unwrap_layers(scope.type_of(name)) for name in body.input_names()):
                if around and inside is not None:
                    names.update(*(variables(size) for size in inside.shape or ()))
        return names

    @property
    def has_run(self) -> bool:
        """Whether inference has already run, because a fact was asked for."""
        return "_engine_and_scopes" in self.__dict__

    def scopes_of_graphs(self) -> list[Scope]:
        """Return the inferred Scope of the main graph, followed by the Scopes of the training graphs.

        A Scope has the types of a graph's values.
        """
        engine = self._engine_and_scopes[0]
        return [engine.scopes[(number,)] for number in range(len(self.index.graphs))]

    def types(self, body: Body, names: Sequence[str]) -> list[tuple[Type | None, ...]]:
        """Return the inferred types of the values `names` of a body: one tuple for each run of the body.

        A run is a call of a function, or an execution of a subgraph; the main graph has one. The list is empty if not
        all runs are known. A tuple has the types in the order of `names`, None for an unknown type.
        """
        return [tuple(map(scope.type_of, names)) for scope in self._engine_and_scopes[1][body]]

    def outputs(self, body: Body) -> list[list[Type | None]]:
        """Return the inferred types of the outputs of a graph or function: one list for each run of the body.

        A run is a call of a function, or an execution of a subgraph; the main graph has one. An unknown type is None.
        The result is [] if the body never runs, or if not all runs are known.
        """
        return [[scope.type_of(name) for name in body.output_names()] for scope in self._engine_and_scopes[1][body]]

    def knows_all_runs(self, body: Body) -> bool:
        """Whether inference has surely seen every run of a body: each call of a function, or execution of a subgraph.

        The result is False for a body that never runs.
        """
        return bool(self._engine_and_scopes[1][body])

    def misfit(self, body: Body, index: int) -> str:
        """Return why the inputs of a node do not fit its operator; "" if they may fit.

        If inference has not run yet, it is not started, and the result is "". If a condition decides whether the body
        runs, as for a branch of If, a misfit is not reported: the model may avoid it on purpose.

        `index` is the index of the node in `body`.
        """
        scopes = self._engine_and_scopes[1][body] if self.has_run else []
        certain = [scope for scope in scopes if not (scope.guarded or scope.unused)]
        problems = [problem for scope in certain for problem in scope.problems.get(index, ())]
        return next((problem.why for problem in problems if problem.code == "I201"), "")

    def infer_node(
        self, node: Any, version: int, inputs: Sequence[Type | None], data: Sequence[Constant | None]
    ) -> tuple[Type | None, ...]:
        """Return the types of a node's outputs, inferred from its inputs; None for a type that is unknown.

        All types are None if the node calls a model-local function, or if its operator is not known.

        Args:
            node: The NodeProto, which may be a new one.
            version: The opset of its domain.
            inputs: The types of its inputs, None for unknown ones.
            data: The elements of its inputs, None for those not known.
        """
        called = function_key(node) in self.index.functions
        schema = None if called else self._registry.schema(node.op_type, version, normalize_domain(node.domain))
        if schema is None:
            return (None,) * len(node.output)
        return self._engine_and_scopes[0].node_types(node, schema, inputs, data)

    def data(self, body: Body, name: str) -> Constant | None:
        """Return the elements of a value if inference knows them and they are equal in all runs of the body, else None.

        Inference knows elements of small values, such as shapes. None is also returned if not all runs of the body are
        known.
        """
        engine, scopes = self._engine_and_scopes
        constants = {engine.constants.find(scope, name) for scope in scopes[body]}
        return constants.pop() if len(constants) == 1 else None


def _scopes_of(bodies: Sequence[Body], engine: Engine) -> tuple[dict[Body, list[Scope]], set[Body]]:
    """Return the scopes of each body, and the bodies of which runs may be missing.

    A body has one Scope, with inferred types, for each run: a call of a function, or an execution of a subgraph. Runs
    may be missing:

    - of a function that is called after the node at which inference stopped, or by that node;
    - of a subgraph that inference did not enter in every run of the body around it;
    - of a function called in a body of which runs may be missing, and of a subgraph inside of such a body.
    """
    # Those are graphs in nodes without a rule, or in nodes that a rule gave up, and all functions that they call.
    scopes_of: dict[Body, list[Scope]] = {}
    functions = {function_key(body.proto): body for body in bodies if body.function}
    inside: dict[Body, list[Body]] = {}
    doubtful = [functions[key] for key in engine.calls.omitted]
    roots = 0
    for body in bodies:
        if body.function:
            scopes_of[body] = engine.calls.scopes.get(function_key(body.proto), [])
        elif body.root is body:
            scopes_of[body] = [engine.scopes[(roots,)]]
            roots += 1
        else:
            assert body.parent is not None
            scopes = [scope.subgraphs.get((body.index, body.name)) for scope in scopes_of[body.parent]]
            scopes_of[body] = [scope for scope in scopes if scope is not None]
            inside.setdefault(body.parent, []).append(body)
            if None in scopes:
                doubtful.append(body)
    seen: set[Body] = set()
    while doubtful:
        body = doubtful.pop()
        if body not in seen:
            seen.add(body)
            doubtful += inside.get(body, ())
            if functions:
                called = {function_key(node) for node in body.proto.node}
                doubtful += [functions[key] for key in called if key in functions]
    return scopes_of, seen
