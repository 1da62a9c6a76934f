"""The inputs that two models are run on: read from files, or drawn for several seeds and sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from opset.budget import Limits
from opset.inference.engine.binding import bind_dims, open_dim_names
from opset.inference.engine.result import Inference
from opset.model.storage.container import Model
from opset.opsets.registry import Registry
from opset.tensor_io.demands import Demand, suitable_demands
from opset.tensor_io.random_inputs import random_inputs

SIZES = ((2, 3, 4, 5), (3,), (1,), (2,), (4,), (8,), (16,), (32,), (64,), (128,), (224,))
"""Sizes that are tried for open dimensions; of several, each dimension gets another."""
FIRST = 3
"""The sizes that seeds begin with, one after the other."""
SCALES = (1, 1, 4, 500)
"""What floats of which nothing is demanded are multiplied by, for some seeds."""
CAREFUL = Demand(0, 1)
"""What integers are if a model does not run with those that suit its operators."""


@dataclass(frozen=True)
class Drawn:
    """Inputs of a run: their source, seed and sizes, and the values; with the types that follow from the sizes."""

    source: str
    seed: int | None
    sizes: Mapping[str, int]
    feeds: Mapping[str, Any]


class Drawing:
    """Draws inputs of a model that suit its operators."""

    def __init__(self, model: Model, registry: Registry, dims: Mapping[str, int], limits: Limits) -> None:
        self._model, self._registry, self._limits = bind_dims(model, dims), registry, limits
        self._given = dict(dims)
        graph = model.proto.graph
        defaults = {tensor.name for tensor in graph.initializer}
        defaults |= {tensor.values.name for tensor in graph.sparse_initializer}
        self._needed = {value.name for value in graph.input} - defaults
        self.open_sizes = sorted(open_dim_names(self._model))
        self._known: dict[tuple[int, ...], tuple[Model, Inference | None, dict[str, Demand]]] = {}

    def sizes_for(self, number: int) -> Iterator[dict[str, int]]:
        """Yield the sizes to try for a run, one after the other, until the model runs."""
        if not self.open_sizes:
            yield {}
            return
        first = SIZES[:FIRST]
        number %= FIRST
        for sizes in (*first[number:], *first[:number], *SIZES[FIRST:]):
            yield {name: sizes[_place(name, at) % len(sizes)] for at, name in enumerate(self.open_sizes)}

    def inference(self, sizes: Mapping[str, int]) -> Inference | None:
        """Return the types of the model's values with these sizes, None if they are not found."""
        return self._prepare(sizes)[1]

    def draw(self, sizes: Mapping[str, int], seed: int, careful: bool = False) -> Drawn:
        """Return inputs that are drawn. Raises UsageError U103 if one cannot be drawn, RunError R302 for too much."""
        bound, _, demands = self._prepare(sizes)
        inputs = [value for value in bound.proto.graph.input if value.name in self._needed]
        if careful:
            demands = {
                value.name: CAREFUL.meet(demands.get(value.name, CAREFUL))
                for value in inputs
                if not (value.name in demands and not demands[value.name].whole)
            }
        feeds = random_inputs(inputs, {}, seed, self._limits, demands)
        for name in feeds.keys() - demands.keys():
            feeds[name] = _vary(feeds[name], seed, np.random.default_rng((seed, len(name))))
        return Drawn(f"drawn with seed {seed}", seed, {**self._given, **sizes}, feeds)

    def complete(self, feeds: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """Return values for the inputs that `feeds` lacks. Raises UsageError U103 if a size or rank is not known."""
        bound, _, demands = self._prepare({})
        inputs = [value for value in bound.proto.graph.input if value.name in self._needed or value.name in feeds]
        return random_inputs(inputs, feeds, seed, self._limits, demands)

    def _prepare(self, sizes: Mapping[str, int]) -> tuple[Model, Inference | None, dict[str, Demand]]:
        """Return the model with sizes, its inference, and the demands on its inputs."""
        key = tuple(sizes.values())
        if key not in self._known:
            bound = bind_dims(self._model, sizes)
            inference, demands = suitable_demands(bound, self._registry, self._limits, self._needed)
            self._known[key] = bound, inference, demands
        return self._known[key]


def _vary(value: Any, seed: int, rng: np.random.Generator, numbers: np.ndarray) -> Any:
    """Return a tensor with other numbers, which depend on the seed; anything but numbers as it is.

    A condition may hold for other magnitudes alone, of single numbers beside those of the rest; numbers may be equal,
    lie between two whole ones, or beside the numbers that the model holds.
    """
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiu":
        return value
    if value.dtype.kind != "f":
        return _vary_integers(value, seed, rng)
    with np.errstate(all="ignore"):
        if seed >= FIRST and seed % 4 == 3:  # few values, among which many are equal
            return np.round(value).clip(-1, 1).astype(value.dtype)
        if seed >= FIRST and seed % 2 == 0 and value.size > 1 and numbers.size:
            near = rng.choice(numbers, value.shape) * rng.choice((1, 1, 0.95, 1.05), value.shape)
            return np.where(rng.random(value.shape) < 0.5, near, value).astype(value.dtype)
        scale = 1
        if seed < FIRST and seed % 3 == 1:
            scale = SCALES[int(rng.integers(len(SCALES)))]
        elif seed >= FIRST and (value.size == 1) == (seed % 2 == 0):
            scale = SCALES[-1]
        scaled = value * scale
        if scale > 1 and value.size == 1:  # both signs, in turn
            scaled = np.copysign(scaled, 1 if seed % 4 else -1)
        return (np.round(scaled * 2) / 2 if seed % 3 == 2 else scaled).astype(value.dtype)


def _vary_integers(value: np.ndarray, seed: int, rng: np.random.Generator) -> Any:
    """Return a tensor of other integers: as they are, greater ones, or small ones with both signs, by the seed."""
    if seed % 3 == 0 and seed % 4 != 3:
        return value
    limits = np.iinfo(value.dtype)
    low, high = (-5, 5) if seed % 4 == 3 else (-1000, 1000) if seed % 3 == 1 else (0, 16)
    low, high = max(low, int(limits.min)), min(high, int(limits.max))
    return np.asarray(rng.integers(low, high + 1, size=value.shape)).astype(value.dtype)


def _numbers_of(index: ModelIndex) -> np.ndarray:
    """Return the numbers that the nodes of a model hold: attributes, and elements of small constants."""
    found: set[float] = set()
    bodies = [index.main, *index.functions.values()]
    for body in bodies:
        bodies += body.inner_bodies
        tensors = [*getattr(body.proto, "initializer", ())]
        for attributes in body.attributes:
            found.update(each.f for each in attributes if each.type == pb.AttributeProto.FLOAT)
            tensors += [each.t for each in attributes if each.type == pb.AttributeProto.TENSOR]
        for tensor in tensors:
            if tensor.data_type in _HELD and math.prod(tensor.dims) <= _FEW and not tensor.external_data:
                found.update(array_of(tensor).ravel().tolist())
        if len(found) > _MOST_NUMBERS:
            break
    return np.array(sorted(each for each in found if math.isfinite(each))[:_MOST_NUMBERS])


def _place(name: str, number: int) -> int:
    """Return which of several sizes a dimension gets: the axis if it has no name of its own, as in "x.0"."""
    axis = name.rpartition(".")[2]
    return int(axis) if "." in name and axis.isdecimal() and len(axis) < 3 else number
