"""Infers nodes with graphs: their rules request the inference of the graphs, whose scopes are made here."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from opset.inference.building.agreement import check_declared_constraints
from opset.inference.building.graph_requests import GraphRequest, Outputs
from opset.inference.building.types import Type
from opset.inference.building.work import charge_body
from opset.inference.engine.constants import ConstantElements
from opset.inference.engine.nodes import NodeInference
from opset.inference.engine.outcomes import (
    OperatorInference,
    Outcome,
    complete_results,
    has_unnamed_sizes,
    problems_of,
    signature_types,
)
from opset.inference.engine.scopes import Scope
from opset.inference.engine.stated import StatedTypes
from opset.model.graph.index import Body
from opset.model.graph.walking import subgraphs
from opset.opsets.faults import RAISED


class SubgraphInference:
    """Infers nodes with subgraphs, such as If and Loop.

    The rule of the operator requests which subgraph is to be inferred, with which types of inputs.
    """

    def __init__(self, nodes: NodeInference, constants: ConstantElements, stated: StatedTypes) -> None:
        self._nodes = nodes
        self._constants = constants
        self._stated = stated
        self._memories: dict[Any, dict[str, Any]] = {}

    def infer_node(
        self, scope: Scope, index: int, inference: OperatorInference, inputs: Sequence[Type | None]
    ) -> Generator[Scope, None, Outcome]:
        """Infer a node with subgraphs, such as If or Loop, while the caller infers the subgraphs.

        This generator yields a new scope for each subgraph that the node's inference function requests. A loop requests
        its body several times. The caller must infer the subgraph in the yielded scope before it resumes the generator.
        The yielded scope is then stored in `scope.subgraphs`. At the end, the generator returns the Outcome of the
        node.

        Args:
            scope: the scope of the graph or function with the node.
            index: the index of the node in it.
            inference: how the operator is inferred; its rule is a generator.
            inputs: the types of the node's inputs, None if unknown.
        """
        assert inference.rule is not None
        call = self._nodes.call_of(scope, index, inference, inputs)
        call.memory = self._memories.setdefault((scope.key, index), {})
        problems = self._nodes.find_misfits(call.schema, call.names, inputs)
        result: Any = []
        rule = inference.rule.function(call)
        try:
            check_declared_constraints(call)
            request = GraphRequest(*next(rule))
            while True:
                inner, names = self._open_scope(scope, index, request)
                yield inner
                scope.subgraphs[index, inner.body.name] = inner
                outputs = outputs_of_body(inner, self._constants, inner.body.output_names(), names)
                request = GraphRequest(*rule.send(outputs))
        except StopIteration as stop:
            result = stop.value
        except RAISED as error:
            problems += problems_of(call, error, inference.rule)
        types, more = complete_results(result, signature_types(inference, call.output_count, inputs), call)
        constants = tuple(result.data) if isinstance(result, Outputs) else ()
        problems = problems + more or self._nodes.find_output_misfits(call.schema, inputs, types)
        return Outcome(types, constants, tuple(call.doubts), problems, has_unnamed_sizes(types))

    def _open_scope(self, scope: Scope, index: int, request: GraphRequest) -> tuple[Scope, list[str]]:
        """Return a new scope for the subgraph that a node's rule requests, and the names of the subgraph's inputs.

        `index` is the node's index in `scope.body`. The new scope has the initializers of the subgraph, and the inputs
        with the types that the rule passes and the graph states. If a passed and a stated type contradict each other,
        `conflicts` of the new scope has the reason. An earlier scope of the subgraph is removed from `scope`.

        A subgraph of IR version 3 lists its initializers as inputs. They are left out of the names if the rule passes
        no types for them. Raises BudgetExceeded if the budget is used up.
        """
        around = scope.body
        node = around.nodes[index]
        held_name = next((name for name, held in subgraphs(node) if held is request.graph), None)
        if held_name is None:  # a call of the function around passed the graph
            body = Body(request.graph, "graph", around, node, index)
        else:
            body = around.subgraphs[index, held_name]
        scope.subgraphs.pop((index, body.name), None)
        charge_body(body)
        inner = Scope(
            body,
            scope,
            scope.imports,
            scope.operators,
            key=(scope.key, index, body.name),
            repeated=scope.repeated or request.repeated,
            unused=scope.unused or request.unused,
            guarded=scope.guarded or request.guarded,
            absent=scope.absent,
        )
        names = body.input_names()
        if len(request.types) != len(names):  # IR version 3 listed initializers with the inputs
            defaults = {initializer.name for initializer in body.proto.initializer}
            names = [name for name in names if name not in defaults]
        indexes = {name: i for i, name in enumerate(names)}
        for value in body.proto.input:
            self._enter_input(inner, value, indexes.get(value.name, len(names)), request)
        self._stated.enter_initializers(inner, indexes)
        self._stated.note_stated_types(inner)
        return inner, names

    def _enter_input(self, inner: Scope, value: Any, index: int, request: GraphRequest) -> None:
        """Record the type and elements of one input of a subgraph in the scope `inner`.

        The type is the combination of the requested and the stated type. For an input in `request.varied`, it is the
        requested type alone, and the stated shape is ignored. A contradiction is stored in `inner.conflicts`.

        Args:
            inner: the scope of the subgraph.
            value: the ValueInfoProto of the input.
            index: the position of the input in the lists of `request`. If the rule does not pass the input, the
                position is beyond the end of the lists.
            request: the types and elements that the rule passes.
        """
        name = value.name
        type_ = request.types[index] if index < len(request.types) else None
        if index in request.varied:  # the stated shape may be that of the first iteration
            why = self._stated.find_element_conflict(inner, value.type, type_)
        else:
            type_, why = self._stated.combine(inner, value.type, type_)
        if why:
            inner.conflicts[name] = why
        self._stated.enter_value(inner, name, type_)
        constant = request.data[index] if index < len(request.data) else None
        if constant is not None:
            inner.constants[name] = constant


def outputs_of_body(
    scope: Scope, constants: ConstantElements, outputs: Sequence[str], inputs: Sequence[str] = ()
) -> Outputs:
    """Return the types and elements of values of a graph or function, as the node that runs it sees them.

    The result is a list of the outputs' types. Its `data` has the outputs' elements, and its `inputs` the types of the
    values in `inputs`. A size is None if it has variables that are known only inside the graph.

    Args:
        scope: the scope of the graph or function.
        constants: finds the elements.
        outputs: the names of the outputs.
        inputs: the names of the inputs whose types are wanted.
    """
    from opset.inference.engine.renaming import map_outputs

    types = [scope.type_of(name) for name in outputs]
    passed = [constants.find_for_body(scope, name, type_) for name, type_ in zip(outputs, types, strict=True)]
    outside = Outputs(types, passed, [scope.types.get(name) for name in inputs])
    return map_outputs(outside, scope.without_local) if scope.local else outside
