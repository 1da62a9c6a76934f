"""Inferences in pickles: the model is in it once, and its graphs and functions are told by their numbers.

Rules and functions of operators stay behind: an inference that was pickled has its results, and runs no more.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Collection, Sequence
from typing import Any

from opset.budget import Limits
from opset.inference.building.work import default_budget
from opset.inference.engine.engine import Engine
from opset.inference.engine.outcomes import OperatorInference
from opset.model.graph.index import Body, index_model
from opset.model.storage.container import Model
from opset.opsets.registry import default_registry


class _Writer(pickle.Pickler):
    """Writes results of an inference, with numbers in place of bodies."""

    def __init__(self, file: io.BytesIO, bodies: Sequence[Body]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._numbers = {body: number for number, body in enumerate(bodies)}

    def persistent_id(self, value: Any) -> int | None:
        """Return the number that is written in place of a body (a graph or function), or None for any other value."""
        return self._numbers.get(value) if isinstance(value, Body) else None

    def reducer_override(self, value: Any) -> Any:
        """Return how an OperatorInference is written: without its functions. Any other value is written as usual."""
        if isinstance(value, OperatorInference):
            return OperatorInference, (value.schema, None, None, value.why)
        return NotImplemented


class _Reader(pickle.Unpickler):
    """Reads what a _Writer wrote."""

    def __init__(self, file: io.BytesIO, bodies: Sequence[Body]) -> None:
        super().__init__(file)
        self._bodies = bodies

    def persistent_load(self, number: int) -> Body:
        """Return the body (a graph or function of the model) for which `number` was written."""
        return self._bodies[number]


def engine_arguments(engine: Engine) -> tuple[Any, ...]:
    """Return what a pickle of an engine that has run stores: the arguments of `restore_engine`."""
    file = io.BytesIO()
    results = engine.stopped, engine.sizes, engine.scopes, engine.calls.scopes, engine.calls.omitted
    _Writer(file, engine.index.bodies).dump(results)
    return engine.model, [*engine.index.known_domains], engine.index.notes, file.getvalue()


def restore_engine(model: Model, domains: Collection[str], notes: Sequence[str], results: bytes) -> Engine:
    """Return an engine with the results that `engine_arguments` took from another one; it is not run.

    Args:
        model: the model.
        domains: the domains that the model's index knows.
        notes: the notes of the model's index.
        results: the pickled results.
    """
    index = index_model(model.proto, domains)
    index.notes += notes
    engine = Engine(model, default_registry(), {}, default_budget(0, Limits()), index=index)
    content = _Reader(io.BytesIO(results), index.bodies).load()
    engine.stopped, engine.sizes, engine.scopes, engine.calls.scopes, engine.calls.omitted = content
    return engine
