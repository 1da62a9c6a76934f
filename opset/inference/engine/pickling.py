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
        """Return the number of a body, None for what is written itself."""
        return self._numbers.get(value) if isinstance(value, Body) else None

    def reducer_override(self, value: Any) -> Any:
        """Return an operator's inference without its functions, which are looked up by the process that runs them."""
        if isinstance(value, OperatorInference):
            return OperatorInference, (value.schema, None, None, value.why)
        return NotImplemented


class _Reader(pickle.Unpickler):
    """Reads what a _Writer wrote."""

    def __init__(self, file: io.BytesIO, bodies: Sequence[Body]) -> None:
        super().__init__(file)
        self._bodies = bodies

    def persistent_load(self, number: int) -> Body:
        """Return the body with a number."""
        return self._bodies[number]


def engine_arguments(engine: Engine) -> tuple[Any, ...]:
    """Return the arguments of `restored_engine` for an engine that has run; they can be pickled."""
    file = io.BytesIO()
    results = engine.stopped, engine.sizes, engine.scopes, engine.calls.scopes, engine.calls.omitted
    _Writer(file, engine.index.bodies).dump(results)
    return engine.model, [*engine.index.known_domains], engine.index.notes, file.getvalue()


def restored_engine(model: Model, domains: Collection[str], notes: Sequence[str], results: bytes) -> Engine:
    """Return an engine with the results of one that has run."""
    index = index_model(model.proto, domains)
    index.notes += notes
    engine = Engine(model, default_registry(), {}, default_budget(0, Limits()), index=index)
    content = _Reader(io.BytesIO(results), index.bodies).load()
    engine.stopped, engine.sizes, engine.scopes, engine.calls.scopes, engine.calls.omitted = content
    return engine
