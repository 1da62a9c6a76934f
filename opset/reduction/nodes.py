"""Fewer nodes: parts of a model that are cut out, bodies and functions in place of the whole, and nodes without effect.

What nodes that go computed becomes inputs, so that any part of a graph is a model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from opset.composition.extraction import Wanted, extract_part
from opset.model import Model
from opset.model.graph.index import Body, ModelIndex, bodies, index_model
from opset.model.graph.walking import names_read
from opset.opsets.registry import Registry
from opset.reduction.inside import reduce_inside
from opset.reduction.search import Search, minimize
from opset.version_converter.inlining import inline_model

_STEPS: Final = (0, 1, 2, 4, 8)
"""How far from a node the parts reach that are tried first, in nodes."""


def reduce_nodes(search: Search, place: str) -> None:
    """Take nodes away until no single one can go; `place` is the place of a node that shows the symptom, or ""."""
    _take_place(search, place)
    while True:
        _cut_graph(search)
        if not (_take_body(search) or _inline_calls(search) or reduce_inside(search)):
            return


def _take_place(search: Search, place: str) -> None:
    """Try the surroundings of the node at a place, the closest first, in the graph or function that it is in."""
    at = next(((body, index) for body in _bodies(search) if (index := _index_at(body, place)) is not None), None)
    if at is None:
        return
    body, index = at
    key = _key_of(body.nodes[index])
    if body.owner is not None or body.function:
        search.attempt("body", partial(_whole_body, body=body, registry=search.registry))
    for steps in _STEPS:
        main = index_model(search.model.proto, search.registry.domains).main
        start = next((index for index, node in enumerate(main.nodes) if _key_of(node) == key), None)
        if start is None:
            return
        kept = _nodes_around(main, start, steps)
        if search.attempt("nodes", partial(cut_nodes, kept=kept, registry=search.registry)):
            return


def _index_at(body: Body, place: str) -> int | None:
    """Return the index of the node of a body that is at a place, None if it is in another body."""
    if not place.startswith(f"{body.label}, node "):
        return None
    return next((index for index in range(len(body.nodes)) if place == body.location(index)), None)


def _bodies(search: Search) -> Sequence[Body]:
    """Return the bodies of the smallest model so far."""
    return bodies(search.model.proto)


def _whole_body(model: Model, body: Body, registry: Registry) -> Model:
    """Return a body as a model of its own."""
    if body.function:
        return extract_part(model, Wanted(function=_function_name(body.proto)), registry).model
    return extract_part(model, Wanted(outputs=body.output_names(), graph=body.label), registry).model


def _function_name(function: Any) -> str:
    """Return the name of a function, as options take it."""
    domain = f"{function.domain}." if function.domain else ""
    return f"{domain}{function.name}{f':{function.overload}' if function.overload else ''}"


def _cut_graph(search: Search) -> None:
    """Leave out nodes of the main graph, as many as possible."""

    def is_enough(kept: Sequence[str]) -> bool:
        return bool(kept) and search.attempt("nodes", partial(_cut_by_keys, keys={*kept}, registry=search.registry))

    minimize([_key_of(node) for node in search.model.proto.graph.node], is_enough)


def _key_of(node: Any) -> str:
    """Return a text for a node that is the same in all parts of its graph: the name of its first output."""
    return next(filter(None, node.output), "")


def _cut_by_keys(model: Model, keys: Collection[str], registry: Registry) -> Model | None:
    """Return the model of the nodes of the main graph that have these keys."""
    return cut_nodes(model, [at for at, node in enumerate(model.proto.graph.node) if _key_of(node) in keys], registry)


def cut_nodes(model: Model, kept: Collection[int], registry: Registry) -> Model | None:
    """Return the model of some nodes of the main graph; what others computed is an input, what none reads an output."""
    index: ModelIndex = index_model(model.proto, registry.domains)
    body = index.main
    nodes = [body.nodes[each] for each in sorted(kept)]
    computed = dict.fromkeys(name for each in sorted(kept) for name in body.computes[each] if name)
    read = names_read(nodes)
    inputs = [name for name in body.input_names() if name in read]
    weights = _weight_names(body)
    inputs = [name for name in inputs if name not in weights]
    inputs += [
        name for name, position in body.definitions.items() if position >= 0 and name in read and name not in computed
    ]
    outputs = [name for name in computed if name not in read]
    if not outputs:
        return None
    return extract_part(model, Wanted(inputs, outputs), registry).model


def _weight_names(body: Body) -> set[str]:
    """Return the names of the initializers of a graph."""
    names = {tensor.name for tensor in body.proto.initializer}
    return names | {sparse.values.name for sparse in body.proto.sparse_initializer}


def _nodes_around(body: Body, start: int, steps: int) -> list[int]:
    """Return the indexes of the nodes within so many steps of one, and of those that compute their constants."""
    users: dict[str, list[int]] = {}
    for index, names in enumerate(body.reads):
        for name in names:
            users.setdefault(name, []).append(index)
    found, edge = {start}, {start}
    for _ in range(steps):
        edge = {each for index in edge for each in _neighbors(body, users, index)} - found
        found |= edge
    for index in [*found]:
        producers = (body.definitions.get(name, -1) for name in body.reads[index])
        found |= {each for each in producers if each >= 0 and not any(body.reads[each])}
    return sorted(found)


def _neighbors(body: Body, users: Mapping[str, Sequence[int]], index: int) -> Iterator[int]:
    """Yield the nodes that compute the inputs of a node or read its outputs."""
    yield from (at for name in body.reads[index] if (at := body.definitions.get(name, -1)) >= 0)
    yield from (at for name in body.computes[index] if name for at in users.get(name, ()))


def _take_body(search: Search) -> bool:
    """Whether a graph in a node, or a function, shows the symptom by itself; it is the model from then on."""
    inner = [body for body in _bodies(search) if body.owner is not None or body.function]
    return any(search.attempt("body", partial(_whole_body, body=body, registry=search.registry)) for body in inner)


def _inline_calls(search: Search) -> bool:
    """Whether the model without functions, whose nodes take the place of calls, shows the symptom."""
    if not search.model.proto.functions:
        return False
    return search.attempt("functions", lambda model: inline_model(model, None, (), search.registry).model)
