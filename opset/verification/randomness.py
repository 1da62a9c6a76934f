"""Which outputs of a model depend on random numbers."""

from __future__ import annotations

from typing import Any

from opset.model.graph.index import Body, ModelIndex
from opset.model.graph.walking import subgraphs
from opset.model.storage.container import Model
from opset.opsets.registry import Registry
from opset.preparation import copy_model, read_model

_RANDOM = frozenset(
    ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli")
)
_PERHAPS = frozenset(("Dropout",))
_NEVER_TRAINS, _TRAINS_BY_INPUT = 7, 12
"""The opsets from which a Dropout is one of inference alone, and from which an input says whether it trains."""


def random_outputs(model: Model, registry: Registry) -> tuple[set[str], set[str]]:
    """Return the names of the outputs that certainly depend on random numbers, and of those that may.

    An output may depend on them if it depends on a Dropout that may be training.
    """
    _, index = read_model(model, registry)
    outputs = {each.name for each in model.proto.graph.output}
    certain = _affected_values(index, _RANDOM) & outputs
    return certain, (_affected_values(index, _PERHAPS) & outputs) - certain


def without_seeds(model: Model) -> Model:
    """Return a copy of a model without the attribute `seed`, so that each run draws other random numbers."""
    copy = copy_model(model)
    pending: list[Any] = [copy.proto.graph, *copy.proto.functions]
    while pending:
        body = pending.pop()
        for node in body.node:
            pending += [graph for _, graph in subgraphs(node)]
            if node.op_type in _RANDOM | _PERHAPS:
                kept = [each for each in node.attribute if each.name != "seed"]
                del node.attribute[:]
                node.attribute.extend(kept)
    return copy


def _affected_values(index: ModelIndex, operators: frozenset[str]) -> set[str]:
    """Return the names of values of the main graph that depend on a node of one of `operators`.

    The node may be in the main graph, in a graph of a node, or in a function that is called.
    """
    bodies = [index.main, *index.functions.values()]
    random_functions: set[int] = set()
    for body in reversed(index.call_order()):
        if any(
            _draws(each, number, index, operators, random_functions)
            for each in _inside(body)
            for number in range(len(each.nodes))
        ):
            random_functions.add(id(body))
    tainted: set[str] = set()
    main = bodies[0]
    for number, names in enumerate(main.computes):
        inner = [each for below in main.inner_bodies_by_node.get(number, ()) for each in _inside(below)]
        reads = [*main.reads[number], *(name for each in inner for reads in each.reads for name in reads)]
        drawn = _draws(main, number, index, operators, random_functions) or any(
            _draws(each, at, index, operators, random_functions) for each in inner for at in range(len(each.nodes))
        )
        if drawn or not tainted.isdisjoint(reads):
            tainted.update(name for name in names if name)
    return tainted


def _inside(body: Body) -> list[Body]:
    """Return a body, and all graphs in its nodes, at any depth."""
    found = [body]
    for each in found:
        found += each.inner_bodies
    return found


def _draws(body: Body, number: int, index: ModelIndex, operators: frozenset[str], random_functions: set[int]) -> bool:
    """Whether the node at index `number` of a body draws random numbers itself, or calls a function that does.

    It draws them if it is one of `operators`; a Dropout does only if it may be training. `random_functions` has the ids
    of the functions that draw random numbers.
    """
    if index.functions and (called := index.functions.get(body.function_key(number))) is not None:
        return id(called) in random_functions
    operator, domain = body.operators[number]
    if operator not in operators or domain:
        return False
    return operator != "Dropout" or _may_train(body, number, index.imports(body).get("", 1))


def _may_train(body: Body, number: int, opset: int) -> bool:
    """Whether the Dropout at index `number` of a body may drop elements.

    Before opset 7, it does unless the attribute `is_test` is set. From opset 12 on, it may if it has the third input.
    In between, it never does.
    """
    if opset < _NEVER_TRAINS:
        return not any(each.name == "is_test" and each.i for each in body.attributes[number])
    return opset >= _TRAINS_BY_INPUT and len(body.reads[number]) > 2 and body.reads[number][2] != ""
