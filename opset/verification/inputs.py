"""The inputs that two models are run on: read from files, or drawn for several seeds and sizes."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from opset.budget import Limits
from opset.errors import ModelError
from opset.inference.engine.binding import bind_dims, free_dim_names
from opset.inference.engine.result import Inference
from opset.model import proto as pb
from opset.model.arrays import array_of
from opset.model.graph.index import bodies
from opset.model.storage.container import Model
from opset.opsets.registry import Registry
from opset.tensor_io.demands import Demand, suitable_demands
from opset.tensor_io.random_inputs import random_inputs

SIZES = ((2, 3, 4, 5), (3,), (1,), (2,), (4,), (8,), (16,), (32,), (64,), (128,), (224,))
"""Sizes that are tried for open dimensions; of several, each dimension gets another."""
GREATER = 3
"""Sizes behind FIRST that every second seed tries last."""
MOST_SUMMED = 5
"""Dimensions of which one may be the sum of two others."""
FIRST = 3
"""The sizes that seeds begin with, one after the other."""
MANY = (100, 2, 3, 4)
"""Sizes that later seeds begin with, in turn with the others."""
SCALES = (1, 1, 4, 500)
"""What floats of which nothing is demanded are multiplied by, for some seeds."""
LEAST_SCALE = 0.1
"""What floats of a few seeds are multiplied by."""
SMALL_NODES, SMALL_WEIGHTS, SMALL_VALUES = 300, 50_000, 50_000
"""The most nodes, elements of weights and elements of values of a small model, of which more runs are made."""
MOST_ROWS = 4096
"""Integers of a range that seeds go through, one after the other."""
ANOTHER = 1000
"""What is added to a seed at each attempt."""
CAREFUL = (None, None, None, Demand(0, 1), *[Demand(1, 4)] * 4)
"""What integers are, one after the other, if a model does not run with those that suit its operators: first others."""
_HELD = (pb.TensorProto.FLOAT, pb.TensorProto.DOUBLE, pb.TensorProto.FLOAT16)
_FEW, _MOST_NUMBERS, _GREATEST = 16, 64, 1e6


@dataclass(frozen=True)
class Drawn:
    """The inputs of a run.

    - `source`: where they come from, for messages; `seed`: the seed that drew them, None if they were read;
    - `sizes`: the numbers for open sizes, by name; `feeds`: the values of the inputs, by name.
    """

    source: str
    seed: int | None
    sizes: Mapping[str, int]
    feeds: Mapping[str, Any]


class Drawing:
    """Draws inputs of a model that suit its operators."""

    def __init__(self, model: Model, registry: Registry, dims: Mapping[str, int], limits: Limits) -> None:
        self._model, self._registry, self._limits = bind_dims(model, dims), registry, limits
        self._given = dict(dims)
        self._numbers = numbers_in(model)
        graph = model.proto.graph
        defaults = {tensor.name for tensor in graph.initializer}
        defaults |= {tensor.values.name for tensor in graph.sparse_initializer}
        self._needed = {value.name for value in graph.input} - defaults
        self.open_sizes = sorted(free_dim_names(self._model))
        self._sum: tuple[str, str, str] | None = None
        """The dimensions of the last sizes that were tried, if one was made the sum of the others."""
        self._known: dict[tuple[int, ...], tuple[Model, Inference | None, dict[str, Demand]]] = {}

    def sizes_for(self, number: int) -> Iterator[dict[str, int]]:
        """Yield the sizes to try for the run with the seed `number`, each a mapping by name.

        The caller stops when the model runs with them. If the inputs leave no size open, {} alone is yielded.
        """
        if not self.open_sizes:
            yield {}
            return
        first = SIZES[:FIRST] if number < FIRST else (MANY, *SIZES[:FIRST])
        at = (number + number // len(first)) % len(first)  # numbers are varied by the seed, too, in other turns
        rest = SIZES[FIRST:] if number % 2 == 0 else (*SIZES[FIRST + GREATER :], *SIZES[FIRST : FIRST + GREATER])
        tried = [self._sizes_in_turn(sizes) for sizes in (*first[at:], *first[:at], *rest)]
        if self._sum is not None:
            yield _with_sum(tried[0], *self._sum)
        yield tried[0]
        for sum_ in self._sums():
            self._sum = sum_
            yield _with_sum(tried[0], *sum_)
        self._sum = None
        yield from tried[1:]

    def _sums(self) -> Iterator[tuple[str, str, str]]:
        """Yield triples of names of open sizes, the first of which may be the sum of the other two.

        This is so if a model joins a cache and new entries. Nothing is yielded if there are more than MOST_SUMMED open
        sizes.
        """
        if self._sum is None and len(self.open_sizes) <= MOST_SUMMED:
            for whole in self.open_sizes:
                for one, other in combinations([name for name in self.open_sizes if name != whole], 2):
                    yield whole, one, other

    def _sizes_in_turn(self, sizes: Sequence[int]) -> dict[str, int]:
        """Return one of `sizes` for each open size, by name: the first open size gets the first, and so on, in turn."""
        return {name: sizes[_turn_of(name, at) % len(sizes)] for at, name in enumerate(self.open_sizes)}

    @property
    def is_small(self) -> bool:
        """Whether a run of the model takes little time: it has few nodes, few weights, and few elements of values.

        The limits are SMALL_NODES, SMALL_WEIGHTS and SMALL_VALUES. False if the types of values are not found.
        """
        every = bodies(self._model.proto)
        if sum(len(body.nodes) for body in every) > SMALL_NODES:
            return False
        weights = sum(math.prod(each.dims) for body in every if not body.function for each in body.proto.initializer)
        inference = self.inference(next(self.sizes_for(0)))
        if weights > SMALL_WEIGHTS or inference is None:
            return False
        types = [found for scope in inference.scopes for found in scope.types.values() if found is not None]
        sizes = [[size if isinstance(size, int) else 1 for size in found.shape or ()] for found in types]
        return sum(map(math.prod, sizes)) <= SMALL_VALUES

    def inference(self, sizes: Mapping[str, int]) -> Inference | None:
        """Return the types of the model's values if open sizes are these numbers, None if inference fails."""
        return self._prepare(sizes)[1]

    def draw(self, sizes: Mapping[str, int], seed: int, attempt: int = 0) -> Drawn:
        """Return random inputs for these sizes, which suit the operators that read them.

        If the model does not run with them, the caller tries again with the next `attempt`: integers are then drawn
        from narrower ranges, CAREFUL[attempt].

        Raises:
            UsageError: U103 if an input cannot be drawn.
            RunError: R302 if the inputs would take too much memory.
        """
        bound, _, demands = self._prepare(sizes)
        inputs = [value for value in bound.proto.graph.input if value.name in self._needed]
        is_wide = seed >= FIRST and seed % 2 == 1 and CAREFUL[attempt] is None
        demands = {name: each.resolve_range(is_wide) for name, each in demands.items()}
        careful = CAREFUL[attempt]
        if careful is not None:
            demands = demands | {
                value.name: careful.meet(demands.get(value.name, careful))
                for value in inputs
                if not (value.name in demands and not demands[value.name].whole)
            }
        feeds = random_inputs(inputs, {}, seed + ANOTHER * attempt, self._limits, demands)
        for name in feeds:
            number = zlib.crc32(name.encode())
            if name in demands:
                feeds[name] = _cover(feeds[name], seed, number, demands[name])
            else:
                rng = np.random.default_rng((seed + ANOTHER * attempt, number))
                feeds[name] = _vary(feeds[name], seed, rng, self._numbers)
        return Drawn(f"drawn with seed {seed}", seed, {**self._given, **sizes}, feeds)

    def complete(self, feeds: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """Return random values for the inputs that `feeds`, values by name, lacks.

        Raises UsageError U103 if a size or rank is not known, RunError R302 if the values would take too much memory.
        """
        bound, _, demands = self._prepare({})
        inputs = [value for value in bound.proto.graph.input if value.name in self._needed or value.name in feeds]
        return random_inputs(inputs, feeds, seed, self._limits, demands)

    def _prepare(self, sizes: Mapping[str, int]) -> tuple[Model, Inference | None, dict[str, Demand]]:
        """Return the model with open sizes bound to `sizes`, its inference, and the demands on its inputs by name.

        The inference is None if it fails. The three are kept for the next call with the same sizes.
        """
        key = tuple(sizes.values())
        if key not in self._known:
            bound = bind_dims(self._model, sizes)
            inference, demands = suitable_demands(bound, self._registry, self._limits, self._needed)
            self._known[key] = bound, inference, demands
        return self._known[key]


def _with_sum(sizes: Mapping[str, int], whole: str, one: str, other: str) -> dict[str, int]:
    """Return a copy of `sizes` in which the size called `whole` is the sum of the sizes called `one` and `other`."""
    return {**sizes, whole: sizes[one] + sizes[other]}


def _vary(value: Any, seed: int, rng: np.random.Generator, numbers: np.ndarray) -> Any:
    """Return a drawn tensor with other numbers, by the seed; a value that is no tensor of numbers is unchanged.

    A condition in the model may hold only for numbers of another magnitude or sign, for equal ones, for halves, or for
    numbers close to one that the model holds (`numbers`).
    """
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiu":
        return value
    if value.dtype.kind != "f":
        return _vary_integers(value, seed, rng)
    with np.errstate(all="ignore"):
        if seed >= FIRST and seed % 4 == 3:  # few values, among which many are equal
            return (np.round(value).clip(-1, 1) if seed % 8 == 3 else np.round(value * 3)).astype(value.dtype)
        if seed >= FIRST and seed % 2 == 0 and value.size > 1 and numbers.size:
            near = rng.choice(numbers, value.shape) * rng.choice((1, 1, 0.95, 1.05), value.shape)
            return np.where(rng.random(value.shape) < 0.5, near, value).astype(value.dtype)
        scale = 1.0
        if seed < FIRST and seed % 3 == 1:
            scale = SCALES[int(rng.integers(len(SCALES)))]
        elif seed >= FIRST and (value.size == 1) == (seed % 2 == 0):
            spread = math.exp(rng.uniform(0, math.log(SCALES[-1])))
            scale = spread if value.size == 1 or rng.random() < 0.5 else SCALES[-1]
        if seed >= FIRST and seed % 8 == 1:  # of which sums are small enough to lie between two whole numbers
            scale = LEAST_SCALE
        scaled = value * scale
        if scale > 1 and value.size == 1:  # both signs, in turn
            scaled = np.copysign(scaled, 1 if seed % 8 else -1)
        elif seed >= FIRST and seed % 4 == 1 and seed % 16 != 9:  # all of one sign
            scaled = np.copysign(scaled, -1 if seed % 16 in (1, 5) else 1)
        return (np.round(scaled * 2) / 2 if seed % 3 == 2 else scaled).astype(value.dtype)


def _vary_integers(value: np.ndarray, seed: int, rng: np.random.Generator) -> Any:
    """Return a drawn tensor of integers, unchanged or with other integers: larger ones, or small ones of both signs.

    The seed decides it.
    """
    if seed % 12 == 1:
        low, high = -1000, 1000
    elif seed % 4 == 3:
        low, high = -5, 5
    elif seed % 3 == 0:
        return value
    else:
        low, high = 0, 16
    limits = np.iinfo(value.dtype)
    low, high = max(low, int(limits.min)), min(high, int(limits.max))
    return np.asarray(rng.integers(low, high + 1, size=value.shape)).astype(value.dtype)


def _cover(value: Any, seed: int, number: int, demand: Demand) -> Any:
    """Return a drawn tensor of integers, half of whose elements are replaced by the next integers of its range.

    The next seed goes on with the integers after them, so that a few seeds reach each row of a table, and each number
    of iterations. The tensor is unchanged if more than a range is demanded, or the range has more than MOST_ROWS
    integers.

    Args:
        value: the drawn value.
        seed: the seed that drew it.
        number: a number that differs between inputs, at which the integers begin.
        demand: what the operators demand of the value.
    """
    count = int(demand.high - demand.low) + 1
    plain = Demand(demand.low, demand.high)
    if (
        not isinstance(value, np.ndarray)
        or value.dtype.kind not in "iu"
        or demand != plain
        or not 1 < count <= MOST_ROWS
    ):
        return value
    taken = (value.size + 1) // 2
    following = np.arange(number + seed * taken, number + (seed + 1) * taken) % count + math.ceil(demand.low)
    covered = value.reshape(-1).copy()
    covered[np.random.default_rng((seed, number)).permutation(value.size)[:taken]] = following.astype(value.dtype)
    return covered.reshape(value.shape)


def numbers_in(model: Model) -> np.ndarray:
    """Return the floating-point numbers that a model holds in attributes and in small tensors, sorted.

    At most 64 are returned, without 0 and numbers from a million on.
    """
    found: set[float] = set()
    for body in bodies(model.proto):
        tensors = [*body.proto.initializer] if not body.function else []
        for attributes in body.attributes:
            # An attribute of another type has 0, and an empty tensor of no type.
            found.update(each.f for each in attributes)
            tensors += [each.t for each in attributes]
        for tensor in tensors:
            if tensor.data_type in _HELD and math.prod(tensor.dims) <= _FEW:
                with suppress(ModelError):
                    found.update(array_of(model, tensor).astype(np.float64).ravel().tolist())
        if len(found) > _MOST_NUMBERS:
            break
    return np.array(sorted(each for each in found if 0 < abs(each) < _GREATEST)[:_MOST_NUMBERS])


def _turn_of(name: str, number: int) -> int:
    """Return which of several sizes the open size `name` gets: its axis if it is called like "x.0", else `number`."""
    axis = name.rpartition(".")[2]
    return int(axis) if "." in name and axis.isdecimal() and len(axis) < 3 else number
