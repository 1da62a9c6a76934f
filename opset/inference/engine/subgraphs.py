"""Nodes that hold graphs: their rules request the inference of these, which are entered and left here."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from opset.inference.building.agreement import check_declared
from opset.inference.building.dimensions import Size, variables
from opset.inference.building.graph_requests import GraphRequest, Outputs
from opset.inference.building.types import Type
from opset.inference.building.work import enter
from opset.inference.engine.constants import Constants
from opset.inference.engine.nodes import Nodes
from opset.inference.engine.outcomes import (
    OperatorInference,
    Outcome,
    complete,
    has_unnamed,
    problems_of,
    signature_types,
)
from opset.inference.engine.renaming import with_sizes
from opset.inference.engine.scopes import Scope
from opset.inference.engine.stated import StatedTypes
from opset.model.graph.index import Body
from opset.model.graph.walking import subgraphs


class Subgraphs:
    """Infers nodes with graphs."""

    def __init__(self, nodes: Nodes, constants: Constants, stated: StatedTypes) -> None:
        """Take what the nodes, elements and stated types of the model are inferred by."""
        self._nodes, self._constants, self._stated = nodes, constants, stated
        self._memories: dict[Any, dict[str, Any]] = {}

    def infer(
        self, scope: Scope, index: int, inference: OperatorInference, inputs: Sequence[Type | None]
    ) -> Generator[Scope, None, Outcome]:
        """Run the rule of a node with graphs; yield the scope of each graph that has to be inferred."""
        assert inference.rule is not None
        call = self._nodes.call(scope, index, inference, inputs)
        call.memory = self._memories.setdefault((scope.key, index), {})
        problems = self._nodes.misfits(call.schema, call.names, inputs)
        result: Any = []
        rule = inference.rule.function(call)
        try:
            check_declared(call)
            request = GraphRequest(*next(rule))
            while True:
                inner, names = self._enter(scope, index, request)
                yield inner
                scope.subgraphs[index, inner.body.name] = inner
                outputs = outputs_of(inner, self._constants, inner.body.output_names(), names)
                request = GraphRequest(*rule.send(outputs))
        except StopIteration as stop:
            result = stop.value
        except Exception as error:
            problems += problems_of(call, error, inference.rule)
        types, more = complete(result, signature_types(inference, call.output_count, inputs), call)
        constants = tuple(result.data) if isinstance(result, Outputs) else ()
        return Outcome(types, constants, tuple(call.doubts), problems + more, has_unnamed(types))

    def _enter(self, scope: Scope, index: int, request: GraphRequest) -> tuple[Scope, list[str]]:
        """Return the scope of a graph in a node, and the names of the inputs that the request is about."""
        body = _body_of(request.graph, scope.body, index)
        scope.subgraphs.pop((index, body.name), None)
        enter(body)
        inner = Scope(
            body,
            scope,
            scope.imports,
            scope.operators,
            key=(scope.key, index, body.name),
            repeated=scope.repeated or request.repeated,
            unused=scope.unused or request.unused,
            guarded=scope.guarded or request.guarded,
        )
        names = body.input_names()
        if len(request.types) != len(names):  # IR version 3 listed initializers with the inputs
            defaults = {each.name for each in body.proto.initializer}
            names = [name for name in names if name not in defaults]
        indexes = {name: i for i, name in enumerate(names)}
        for value in body.proto.input:
            self._enter_input(inner, value, indexes.get(value.name, len(names)), request)
        self._stated.enter_initializers(inner, indexes)
        self._stated.enter_computed(inner)
        return inner, names

    def _enter_input(self, inner: Scope, value: Any, index: int, request: GraphRequest) -> None:
        """Enter an input of a graph, by what the request and the graph itself say of it."""
        name = value.name
        type_ = request.types[index] if index < len(request.types) else None
        if index not in request.varied:
            type_, why = self._stated.combine(inner, value.type, type_)
            if why:
                inner.conflicts[name] = why
        self._stated.enter(inner, name, type_)
        constant = request.data[index] if index < len(request.data) else None
        if constant is not None:
            inner.constants[name] = constant


def _body_of(graph: Any, around: Body, index: int) -> Body:
    """Return the body of a graph that a node holds; a call of the function around it may have passed the graph."""
    node = around.nodes[index]
    name = next((name for name, each in subgraphs(node) if each is graph), None)
    return Body(graph, "graph", around, node, index) if name is None else around.subgraphs[index, name]


def outputs_of(scope: Scope, constants: Constants, outputs: Sequence[str], inputs: Sequence[str] = ()) -> Outputs:
    """Return a body's outputs, and inputs, as they are seen around it, where its own variables mean nothing."""
    types = [scope.type_of(name) for name in outputs]
    passed = [constants.passed(scope, name, type_) for name, type_ in zip(outputs, types, strict=True)]
    found = Outputs(types, passed, [scope.types.get(name) for name in inputs])
    if not scope.local:
        return found

    def size(each: Size | None) -> Size | None:
        return None if each is None or not scope.local.isdisjoint(variables(each)) else each

    return with_sizes(found, size)
