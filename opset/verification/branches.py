"""Which branches and bodies of loops the runs of a model have reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from opset.model.graph.index import Body, ModelIndex, bodies_below
from opset.model.storage.container import Model
from opset.opsets.registry import Registry
from opset.preparation import read_model

_MOST = 1000


class Branches:
    """The graphs in nodes and functions that no run has reached yet; `missed` has their labels.

    A run reports each value that it computes to `trace`. Only the first 1000 graphs are watched.
    """

    def __init__(self, model: Model, registry: Registry) -> None:
        _, index = read_model(model, registry)
        inner = [body for body in _called_bodies(index) if body is not index.main and body.nodes][:_MOST]
        self.missed = {body.label for body in inner}

    @property
    def trace(self) -> Callable[[str, str, Any], None] | None:
        """The function to which a run reports its values; None once all branches have been run."""
        return self._note_run if self.missed else None

    def _note_run(self, location: str, name: str, value: Any) -> None:
        """Note that the graph was run in which the node at `location`, a path such as messages show, is."""
        self.missed.discard(location.rpartition(", node")[0])


def _called_bodies(index: ModelIndex) -> Iterator[Body]:
    """Yield the main graph and the functions that it calls, directly or not; after each, the graphs in its nodes."""
    reached = {id(index.main)}
    for body in [index.main, *index.call_order()]:
        if id(body) not in reached:
            continue
        for each in bodies_below(body):
            yield each
            called = {each.function_key(number) for number in range(len(each.nodes))} if index.functions else set()
            reached.update(id(index.functions[key]) for key in called & index.functions.keys())
