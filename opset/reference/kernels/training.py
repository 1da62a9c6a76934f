"""Kernels of optimisers, and of the gradients that they take."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from opset.inference.gradient_graphs import DOMAIN
from opset.reference.kernels.gradients import gradient_1 as gradient_1  # registered by its import
from opset.reference.numerics.arrays import Array
from opset.reference.registration import kernel
from opset.schemas.constraints import Violation


def _updated(
    inputs: Sequence[Array], parts: int, update: Callable[..., tuple[Array, ...]]
) -> tuple[Array, ...]:
    """Return the new values of all tensors, then the new second part of all, and so on.

    The inputs are all tensors, all gradients and all of each other part. Raises Violation C2 and C3.
    """
    count, left = divmod(len(inputs), parts)
    if left or not count:
        raise Violation("C2", f"{len(inputs)} inputs are no {parts} for each tensor")
    groups = [inputs[number::count] for number in range(count)]
    for x, *others in groups:
        if any(each.shape != x.shape or each.dtype != x.dtype for each in others):
            raise Violation("C3", f"{x.dtype}{list(x.shape)} beside {[(str(e.dtype), e.shape) for e in others]}")
    parts_of = [[np.asarray(value, group[0].dtype) for value in update(*group)] for group in groups]
    return tuple(value for part in zip(*parts_of, strict=True) for value in part)


def _number(value: Array, name: str) -> float:
    if value.size != 1:
        raise Violation("C1", f"{name} has {value.size} elements")
    return float(value.item())


@kernel("Adagrad", domain=DOMAIN)
def adagrad_1(
    rate: Array, time: Array, *inputs: Array, decay_factor: float, epsilon: float, norm_coefficient: float
) -> tuple[Array, ...]:
    """Return tensors and sums of squared gradients after one step of Adagrad."""
    r = _number(rate, "R") / (1 + _number(time, "T") * decay_factor)

    def update(x: Array, g: Array, h: Array) -> tuple[Array, ...]:
        g = norm_coefficient * x + g
        h = h + g * g
        return x - r * g / (np.sqrt(h) + epsilon), h

    return _updated(inputs, 3, update)


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
    r, t = _number(rate, "R"), _number(time, "T")
    if t > 0:
        r *= np.sqrt(1 - np.float64(beta) ** t) / (1 - np.float64(alpha) ** t)
    r = float(r)

    def update(x: Array, g: Array, v: Array, h: Array) -> tuple[Array, ...]:
        g = norm_coefficient * x + g
        v = alpha * v + (1 - alpha) * g
        h = beta * h + (1 - beta) * g * g
        return (1 - norm_coefficient_post) * (x - r * v / (np.sqrt(h) + epsilon)), v, h

    return _updated(inputs, 4, update)


@kernel("Momentum", domain=DOMAIN)
def momentum_1(
    rate: Array, time: Array, *inputs: Array, alpha: float, beta: float, mode: str, norm_coefficient: float
) -> tuple[Array, ...]:
    """Return tensors and momenta after one step of gradient descent with momentum."""
    if mode not in ("standard", "nesterov"):
        raise Violation("C4", f"{mode!r:.80}")
    r = _number(rate, "R")
    weight = beta if _number(time, "T") > 0 else 1.0

    def update(x: Array, g: Array, v: Array) -> tuple[Array, ...]:
        g = norm_coefficient * x + g
        v = alpha * v + weight * g
        return x - r * (g + alpha * v if mode == "nesterov" else v), v

    return _updated(inputs, 3, update)
