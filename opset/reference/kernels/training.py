"""Kernels of training: gradients, and the optimizers that take them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opset.errors import safe_text
from opset.inference.building.gradient_graphs import DOMAIN
from opset.reference.numerics.arrays import Array
from opset.reference.numerics.small_floats import is_float
from opset.reference.registration import GradientContext, Graph, GraphCalls, kernel
from opset.schemas.constraints.violation import Violation


@kernel("Gradient", domain=DOMAIN)
def gradient_1(
    *inputs: Any, xs: Sequence[str], zs: Sequence[str] | None, y: str, graph: Graph, context: GradientContext
) -> GraphCalls:
    """Return the derivatives of the sum of y by each of xs, at the values of the inputs."""
    if len(inputs) != len(graph.inputs):
        raise Violation("C1", f"{len(inputs)} inputs for {len(graph.inputs)} names")
    for name, x in zip(xs, inputs, strict=False):
        if not is_float(x):
            raise Violation("C2", f"'{safe_text(name)}' is no tensor of floats")
    values = yield graph, list(inputs)
    for value in values:
        context.hold(value)
    if not is_float(values[0]):
        raise Violation("C3", f"'{safe_text(y)}' is no tensor of floats")
    derivatives = zip(inputs, context.gradients(graph, values, len(xs)), strict=False)
    return tuple(np.zeros_like(x) if by_x is None else by_x.astype(x.dtype).reshape(x.shape) for x, by_x in derivatives)


def _update_tensors(inputs: Sequence[Array], parts: int, update: Callable[..., tuple[Array, ...]]) -> tuple[Array, ...]:
    """Return all tensors after `update`, then each other part of all but the gradients. Raises Violation C2 and C3."""
    # The inputs are all tensors, then the gradients of all, then each other part of all.
    count, left = divmod(len(inputs), parts)
    if left or not count:
        raise Violation("C2", f"{len(inputs)} inputs are not {parts} for each tensor")
    groups = [inputs[index::count] for index in range(count)]
    for x, *parts_of_tensor in groups:
        if any(value.shape != x.shape or value.dtype != x.dtype for value in parts_of_tensor):
            others = [(str(value.dtype), value.shape) for value in parts_of_tensor]
            raise Violation("C3", f"{x.dtype}{list(x.shape)} beside {others}")
    parts_of = [[np.asarray(value, group[0].dtype) for value in update(*group)] for group in groups]
    return tuple(value for part in zip(*parts_of, strict=True) for value in part)


@kernel("Adagrad", domain=DOMAIN)
def adagrad_1(
    rate: Array, time: Array, *inputs: Array, decay_factor: float, epsilon: float, norm_coefficient: float
) -> tuple[Array, ...]:
    """Return tensors and sums of squared gradients after one step of Adagrad."""
    r = float(rate.item()) / (1 + float(time.item()) * decay_factor)

    def update(x: Array, g: Array, h: Array) -> tuple[Array, ...]:
        g = norm_coefficient * x + g
        h = h + g * g
        return x - r * g / (np.sqrt(h) + epsilon), h

    return _update_tensors(inputs, 3, update)


@kernel("Adam", domain=DOMAIN)
def adam_1(
    rate: Array,
    time: Array,
    *inputs: Array,
    alpha: float,
    beta: float,
    epsilon: float,
    norm_coefficient: float,
    norm_coefficient_post: float,
) -> tuple[Array, ...]:
    """Return tensors and running averages of gradients and their squares after one step of Adam."""
    r, t = float(rate.item()), float(time.item())
    if t > 0:
        r *= np.sqrt(1 - np.float64(beta) ** t) / (1 - np.float64(alpha) ** t)
    r = float(r)

    def update(x: Array, g: Array, v: Array, h: Array) -> tuple[Array, ...]:
        g = norm_coefficient * x + g
        v = alpha * v + (1 - alpha) * g
        h = beta * h + (1 - beta) * g * g
        return (1 - norm_coefficient_post) * (x - r * v / (np.sqrt(h) + epsilon)), v, h

    return _update_tensors(inputs, 4, update)


@kernel("Momentum", domain=DOMAIN)
def momentum_1(
    rate: Array, time: Array, *inputs: Array, alpha: float, beta: float, mode: str, norm_coefficient: float
) -> tuple[Array, ...]:
    """Return tensors and momenta after one step of gradient descent with momentum."""
    r = float(rate.item())
    weight = beta if float(time.item()) > 0 else 1.0

    def update(x: Array, g: Array, v: Array) -> tuple[Array, ...]:
        g = norm_coefficient * x + g
        v = alpha * v + weight * g
        return x - r * (g + alpha * v if mode == "nesterov" else v), v

    return _update_tensors(inputs, 3, update)
