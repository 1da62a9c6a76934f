"""Kernels of recurrent networks of one layer: RNN, GRU and LSTM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opset.reference.numerics.arrays import Array
from opset.reference.numerics.small_floats import rounded_once
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints.violation import Violation

Activation = Callable[[Array], Array]
States = list[Array]
Cell = Callable[[Array, States], States]
"""Returns the states after a step, hidden first, from the input's part of the gates and the states before it."""


@kernel("RNN")
@rounded_once
def rnn_1(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    *,
    activation_alpha: Sequence[float] | None,
    activation_beta: Sequence[float] | None,
    activations: Sequence[str],
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    layout: int = 0,
    output_sequence: int = 0,
    context: KernelContext,
) -> tuple[Array | None, ...]:
    """Return the hidden states of a simple recurrent layer: of all steps, and the last."""
    layer = _make_layer(x, w, r, b, sequence_lens, [initial_h], direction, layout, context)
    if len(layer.directions) == 1 and len(activations) == 2:
        activations = activations[:1]  # the default is one for each of two directions
    functions = _direction_activations(activations, activation_alpha, activation_beta, clip, layer, ("Tanh",))

    def cell(number: int) -> Cell:
        weights, (f,) = layer.recurrence(number), functions[number]
        return lambda gates, states: [f(gates + states[0] @ weights)]

    return _run_layer(layer, layer.biases(), cell, context)


@kernel("GRU")
@rounded_once
def gru_1(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    *,
    activation_alpha: Sequence[float] | None,
    activation_beta: Sequence[float] | None,
    activations: Sequence[str] | None,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    layout: int = 0,
    linear_before_reset: int = 0,
    output_sequence: int = 0,
    context: KernelContext,
) -> tuple[Array | None, ...]:
    """Return the hidden states of a gated recurrent unit: of all steps, and the last."""
    if direction == "foward":  # the default of version 1 is misspelt
        direction = "forward"
    layer = _make_layer(x, w, r, b, sequence_lens, [initial_h], direction, layout, context)
    functions = _direction_activations(activations, activation_alpha, activation_beta, clip, layer, ("Sigmoid", "Tanh"))
    size = layer.hidden_size
    biases = layer.biases()
    if linear_before_reset and b is not None:  # then the recurrence bias of the last gate is reset, too
        biases = [np.concatenate((bias[: 2 * size], b[i, 2 * size : 3 * size])) for i, bias in enumerate(biases)]

    def cell(number: int) -> Cell:
        weights, (f, g) = layer.recurrence(number), functions[number]
        gate_weights, last_weights = weights[:, : 2 * size], weights[:, 2 * size :]
        last_bias = b[number, 5 * size :] if b is not None else x.dtype.type(0)

        def step(gates: Array, states: States) -> States:
            (h,) = states
            zr = f(gates[:, : 2 * size] + h @ gate_weights)
            z, reset = zr[:, :size], zr[:, size:]
            recurrence = reset * (h @ last_weights + last_bias) if linear_before_reset else (reset * h) @ last_weights
            new = g(gates[:, 2 * size :] + recurrence)
            return [(1 - z) * new + z * h]

        return step

    return _run_layer(layer, biases, cell, context)


@kernel("LSTM")
@rounded_once
def lstm_1(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    initial_c: Array | None = None,
    p: Array | None = None,
    *,
    activation_alpha: Sequence[float] | None,
    activation_beta: Sequence[float] | None,
    activations: Sequence[str] | None,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    input_forget: int,
    layout: int = 0,
    output_sequence: int = 0,
    context: KernelContext,
) -> tuple[Array | None, ...]:
    """Return the hidden states of a long short-term memory: of all steps, and the last; and its last cell state."""
    layer = _make_layer(x, w, r, b, sequence_lens, [initial_h, initial_c], direction, layout, context)
    functions = _direction_activations(
        activations, activation_alpha, activation_beta, clip, layer, ("Sigmoid", "Tanh", "Tanh")
    )
    size = layer.hidden_size

    def cell(number: int) -> Cell:
        weights, (f, g, last) = layer.recurrence(number), functions[number]

        def plain(gates: Array, states: States) -> States:
            h, c = states
            sums = gates + h @ weights
            iof = f(sums[:, : 3 * size])
            i, o = iof[:, :size], iof[:, size : 2 * size]
            forget = 1 - i if input_forget else iof[:, 2 * size :]
            c = forget * c + i * g(sums[:, 3 * size :])
            return [o * last(c), c]

        if p is None:
            return plain
        peep_i, peep_o, peep_f = np.split(p[number], 3)

        def with_peepholes(gates: Array, states: States) -> States:
            h, c = states
            i, o, forget, new = np.split(gates + h @ weights, 4, axis=1)
            i = f(i + peep_i * c)
            forget = 1 - i if input_forget else f(forget + peep_f * c)
            c = forget * c + i * g(new)
            return [f(o + peep_o * c) * last(c), c]

        return with_peepholes

    return _run_layer(layer, layer.biases(), cell, context)


@dataclass(frozen=True)
class _Layer:
    """Inputs of a layer, time first, with shapes that agree."""

    x: Array
    w: Array
    r: Array
    b: Array | None
    lengths: Array | None
    states: list[Array]
    directions: tuple[bool, ...]
    """For each direction, whether it runs backwards."""
    batch_first: bool

    @property
    def hidden_size(self) -> int:
        """Size of a hidden state."""
        return int(self.r.shape[2])

    def recurrence(self, direction: int) -> Array:
        """Return the weights by which states are multiplied."""
        return np.ascontiguousarray(self.r[direction].T)

    def biases(self) -> list[Array]:
        """Return for each direction the sums of the input and recurrence biases of each gate."""
        if self.b is None:
            return [np.zeros(self.r.shape[1], self.x.dtype)] * len(self.directions)
        return [np.add(*np.split(bias, 2)) for bias in self.b]


_BACKWARDS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}


def _make_layer(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None,
    lengths: Array | None,
    initial: list[Array | None],
    direction: str,
    layout: int,
    context: KernelContext,
) -> _Layer:
    """Return the inputs of a layer, time first."""
    if layout:
        x = x.transpose(1, 0, 2)
        initial = [state if state is None else state.transpose(1, 0, 2) for state in initial]
    length, batch, _ = x.shape
    directions, hidden = _BACKWARDS[direction], r.shape[2]
    context.reserve(len(initial) * len(directions) * batch * hidden, x.dtype)
    shape = (len(directions), batch, hidden)
    states = [np.zeros(shape, x.dtype) if state is None else state for state in initial]
    if lengths is not None and np.all(lengths == length):
        lengths = None
    return _Layer(x, w, r, b, lengths, states, directions, bool(layout))


def _run_layer(
    layer: _Layer, biases: list[Array], cell: Callable[[int], Cell], context: KernelContext
) -> tuple[Array | None, ...]:
    """Return the hidden states of all steps, and the states after the last, of all directions."""
    length, batch, features = layer.x.shape
    hidden, count = layer.hidden_size, len(layer.directions)
    context.reserve(length * batch * (layer.w.shape[1] + count * hidden), layer.x.dtype)
    sequence = np.zeros((length, count, batch, hidden), layer.x.dtype) if context.wants(0) else None
    last = [np.empty((count, batch, hidden), layer.x.dtype) for _ in layer.states]
    flat = layer.x.reshape(length * batch, features)
    for number, backwards in enumerate(layer.directions):
        gates = (flat @ layer.w[number].T + biases[number]).reshape(length, batch, layer.w.shape[1])
        step, states = cell(number), [state[number] for state in layer.states]
        for time in range(length - 1, -1, -1) if backwards else range(length):
            context.check_time()
            new = step(gates[time], states)
            if layer.lengths is None:
                states = new
                if sequence is not None:
                    sequence[time, number] = new[0]
            else:
                active = (layer.lengths > time)[:, None]
                states = [np.where(active, after, before) for after, before in zip(new, states, strict=True)]
                if sequence is not None:
                    np.copyto(sequence[time, number], new[0], where=active)
        for final, state in zip(last, states, strict=True):
            final[number] = state
    if layer.batch_first:
        sequence = sequence.transpose(2, 0, 1, 3) if sequence is not None else None
        last = [state.transpose(1, 0, 2) for state in last]
    return sequence, *last


# Activations, and the defaults of those that have an alpha or beta. Names are in small letters, since runtimes and
# exporters do not distinguish cases.
_ACTIVATIONS: dict[str, tuple[Callable[..., Any], tuple[float, ...]]] = {
    "relu": (lambda x: np.maximum(x, 0), ()),
    "tanh": (np.tanh, ()),
    "sigmoid": (lambda x: np.reciprocal(np.exp(-x) + 1), ()),
    "softsign": (lambda x: x / (1 + np.abs(x)), ()),
    "softplus": (lambda x: np.logaddexp(x, 0, dtype=x.dtype), ()),
    "affine": (lambda x, alpha, beta: alpha * x + beta, (1.0, 0.0)),
    "leakyrelu": (lambda x, alpha: np.where(x >= 0, x, alpha * x), (0.01,)),
    "thresholdedrelu": (lambda x, alpha: np.where(x >= alpha, x, 0), (1.0,)),
    "scaledtanh": (lambda x, alpha, beta: alpha * np.tanh(beta * x), (1.0, 1.0)),
    "hardsigmoid": (lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1), (0.2, 0.5)),
    "elu": (lambda x, alpha: np.where(x >= 0, x, alpha * np.expm1(x)), (1.0,)),
}


def _direction_activations(
    names: Sequence[str] | None,
    alphas: Sequence[float] | None,
    betas: Sequence[float] | None,
    clip: float | None,
    layer: _Layer,
    defaults: tuple[str, ...],
) -> list[list[Activation]]:
    """Return the activations of each direction; each that has an alpha or beta takes the next one of the list."""
    count = len(layer.directions)
    names = names or defaults * count
    if len(names) != len(defaults) * count:
        raise Violation("C6", f"activations {list(names)}, {count} directions")
    alpha, beta = iter(alphas or ()), iter(betas or ())
    functions = []
    for name in names:
        function, defaults_of = _ACTIVATIONS[name.lower()]
        parameters = [next(values, default) for values, default in zip((alpha, beta), defaults_of, strict=False)]
        functions.append(_bind_activation(function, parameters, clip))
    return [functions[start : start + len(defaults)] for start in range(0, len(names), len(defaults))]


def _bind_activation(function: Callable[..., Any], parameters: list[float], clip: float | None) -> Activation:
    """Return an activation with its alpha and beta, of inputs limited to [-clip, clip] if there is a `clip`."""
    if clip is None:
        return lambda x: function(x, *parameters)
    return lambda x: function(np.clip(x, -clip, clip), *parameters)
