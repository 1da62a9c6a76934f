"""Which branches and bodies of loops the runs of a model have reached."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opset.model.graph.index import bodies_below
from opset.model.storage.container import Model
from opset.opsets.registry import Registry
from opset.preparation import read_model

_MOST = 1000


class Branches:
    """The graphs inside a model's main graph that have not been run; `trace` is told each value that is computed."""

    def __init__(self, model: Model, registry: Registry) -> None:
        _, index = read_model(model, registry)
        inner = [body for body in bodies_below(index.main) if body is not index.main and body.nodes][:_MOST]
        self.missed = {body.label for body in inner}

    @property
    def trace(self) -> Callable[[str, str, Any], None] | None:
        """The function to which a run reports its values; None once all branches have been run."""
        return self._see if self.missed else None

    def _see(self, location: str, name: str, value: Any) -> None:
        """Note the graph that a node is in."""
        self.missed.discard(location.rpartition(", node")[0])
