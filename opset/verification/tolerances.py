"""How close the outputs of two models have to be: by their types, and by the roundings on the way to them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from opset.inference.engine.result import Inference
from opset.inference.engine.scopes import Scope
from opset.model.arrays import dtype_of_element
from opset.model.attributes import attribute_value
from opset.model.graph.index import Body, ModelIndex
from opset.reference.comparison import TOLERANCES

PER_ROUNDING = 4
"""Units of the last place times the square root of the number of roundings, as independent ones add up."""
LEAST = 16
"""Units of the last place that are always allowed, up to the tolerance of the type."""
_MOVES = frozenset(
    "Identity Reshape Flatten Squeeze Unsqueeze Transpose Slice Gather GatherND GatherElements Expand Tile Split "
    "Concat Pad Where Shape Size Constant ConstantOfShape Compress DepthToSpace SpaceToDepth Max Min Relu Neg "
    "Abs".split()
)
_SUMS = frozenset("MatMul Gemm Conv ConvTranspose MatMulInteger QLinearMatMul QLinearConv ConvInteger Einsum".split())
_RECURRENT = frozenset(("RNN", "GRU", "LSTM", "Scan", "Loop"))
_REPEATED = 16
"""Times that a body is taken to run if the number is not known."""
_NARROW = {name: epsilon / 2 for name, epsilon in TOLERANCES.items() if name[:5] in ("float", "bfloa")} | {
    "float64": 2.0**-52,
    "float32": 2.0**-23,
    "complex64": 2.0**-23,
    "complex128": 2.0**-52,
}
"""The unit of the last place of each type, relative to the number."""
_MOST = {_NARROW[name]: most for name, most in TOLERANCES.items()}
"""The tolerance of the types with a unit of the last place, by this unit."""


class Roundings:
    """Counts the roundings on the longest way to each value of a model, and the lengths of its sums."""

    def __init__(self, index: ModelIndex, inference: Inference) -> None:
        """Count roundings of the main graph; functions and inner graphs count whole, wherever they are called."""
        self._index = index
        self._scopes = {id(scope.body): scope for scope in reversed(inference.scopes)}
        self._costs: dict[int, tuple[float, int, float]] = {}
        for body in reversed(index.call_order()):
            self._cost_of_body(body)
        self.values: dict[str, tuple[float, int, float]] = {}
        """Of each value of the main graph: the roundings, the longest sum, and the widest unit of the last place."""
        for number, names in enumerate(index.main.computes):
            found = self._roundings_after(index.main, number, self.values)
            self.values.update((name, found) for name in names)

    def _roundings_after(
        self, body: Body, number: int, known: Mapping[str, tuple[float, int, float]]
    ) -> tuple[float, int, float]:
        """Return (roundings, longest sum, widest unit) of the outputs of the node at index `number` of a body.

        The roundings are its own and the most that one of its inputs has. `known` has these triples of values, by name.
        """
        before = [known[name] for name in body.reads[number] if name in known]
        before += [known[name] for name in self._names_inside(body, number) if name in known]
        units, length, unit = self._cost_of_node(body, number)
        return (
            max((each[0] for each in before), default=0.0) + units,
            max(length, *(each[1] for each in before), 1),
            max(unit, *(each[2] for each in before), 0.0),
        )

    def _names_inside(self, body: Body, number: int) -> list[str]:
        """Return the names that nodes in the graphs of the node at index `number` of a body read."""
        pending = [*body.inner_bodies_by_node.get(number, ())]
        names = []
        while pending:
            inner = pending.pop()
            names += [name for reads in inner.reads for name in reads]
            pending += inner.inner_bodies
        return names

    def _cost_of_body(self, body: Body) -> tuple[float, int, float]:
        """Return (roundings, longest sum, widest unit) of all nodes of a body together."""
        if id(body) not in self._costs:
            self._costs[id(body)] = (0.0, 1, 0.0)
            costs = [self._cost_of_node(body, number) for number in range(len(body.nodes))]
            sums = sum(each[0] for each in costs), max((each[1] for each in costs), default=1)
            self._costs[id(body)] = (*sums, max((each[2] for each in costs), default=0.0))
        return self._costs[id(body)]

    def _cost_of_node(self, body: Body, number: int) -> tuple[float, int, float]:
        """Return (roundings, longest sum, widest unit) of the node at index `number` of a body, without its inputs.

        A node with graphs, or a call, has the roundings of these; Loop and Scan count them as often as _REPEATED says.
        """
        operator, _ = body.operators[number]
        inner = [*body.inner_bodies_by_node.get(number, ())]
        if (called := self._index.functions.get(body.function_key(number))) is not None:
            inner.append(called)
        times = _REPEATED if operator in _RECURRENT else 1
        if inner:
            costs = [self._cost_of_body(each) for each in inner]
            return (
                times * sum(each[0] for each in costs),
                max(each[1] for each in costs),
                max(each[2] for each in costs),
            )
        scope = self._scopes.get(id(body))
        unit = max((_unit_of(scope, name) for name in body.computes[number]), default=0.0)
        if operator in _MOVES or not unit:
            return 0.0, 1, unit
        length = 1 if scope is None else _sum_length(scope, body, number)
        return float(times * length), length, unit


def _unit_of(scope: Scope | None, name: str) -> float:
    """Return the unit of the last place of the value `name`, relative to its numbers; 0 unless these are floats."""
    found = scope.type_of(name) if scope is not None and name else None
    if found is None or found.element is None:
        return 0.0
    try:
        return _NARROW.get(dtype_of_element(found.element).name, 0.0)
    except (KeyError, ValueError, TypeError):
        return 0.0


def _sum_length(scope: Scope, body: Body, number: int) -> int:
    """Return how many numbers the node at index `number` of a body adds up for an element of its output.

    It follows from the shapes of inputs and outputs. It is 1 for an operator that does not sum, and _REPEATED for a sum
    of unknown length.
    """
    operator, _ = body.operators[number]
    shapes = [_known_shape(scope, name) for name in body.reads[number]]
    first = shapes[0] if shapes else None
    if operator in _SUMS and len(shapes) > 1:
        if operator.startswith(("Conv", "QLinearConv")):
            weights = _known_shape(scope, body.reads[number][3 if operator[0] == "Q" else 1])
            return max(math.prod(weights[1:]), 1) if weights else _REPEATED
        if (
            operator == "Gemm"
            and first
            and any(each.name == "transA" and attribute_value(each) for each in body.attributes[number])
        ):
            return first[0]
        return first[-1] if first else _REPEATED
    outputs = [_known_shape(scope, name) for name in body.computes[number]]
    if first and outputs[0] is not None:
        inside, outside = math.prod(first), math.prod(outputs[0])
        if operator.startswith("Reduce") or "Pool" in operator:
            return max(inside // max(outside, 1), 1)
    if first and (
        "Norm" in operator or "Softmax" in operator or operator in ("CumSum", "Attention", "LSTM", "GRU", "RNN")
    ):
        return max(first)
    return 1


def _known_shape(scope: Scope, name: str) -> list[int] | None:
    """Return the shape of a value, None if a size of it is not known."""
    found = scope.type_of(name) if name else None
    if found is None or found.shape is None:
        return None
    return (
        [size for size in found.shape if isinstance(size, int)]
        if all(isinstance(size, int) for size in found.shape)
        else None
    )


def tolerance(dtype: np.dtype[Any], found: tuple[float, int, float]) -> float:
    """Return the relative tolerance of an output of the type `dtype`; 0 for integers, booleans and text.

    It grows with the square root of the number of roundings. It is at most the tolerance of the output's element type,
    or of the least precise type on the way.

    Args:
        dtype: the type of the output.
        found: on the way to the output, the number of roundings, the number of terms of the longest sum, and the
            greatest unit of the last place.
    """
    unit = _NARROW.get(dtype.name, 0.0)
    if not unit:
        return 0.0
    roundings, _, widest = found
    unit = max(unit, widest)
    return min(unit * max(PER_ROUNDING * math.sqrt(roundings), LEAST), _MOST[unit])
