"""Whether the random numbers of two models have one distribution, by statistics of many draws on the same inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opset.verification.comparing import leaves

DRAWS = 40
"""Times that an output is drawn in both models."""
FAR = 6.0
"""Standard deviations of the sum of ranks by which a statistic differs; by chance, in one of 500 million cases."""
LEAST = 1e-3
"""The least difference of medians that counts, relative to the magnitude: less is a rounding."""
_SUMS = 4


def statistics_of(value: Any, first: Any) -> dict[str, float]:
    """Return statistics of one draw of a random output, by name; {} if the output has no numbers.

    `first` is another draw of the output, by the first model. If it has as many numbers, one statistic is the mean
    distance of the two draws.
    """
    numbers, others = _numbers_of(value), _numbers_of(first)
    if not numbers.size:
        return {}
    is_finite = np.isfinite(numbers)
    numbers = np.where(is_finite, numbers, 0.0)
    found = {
        "mean": float(numbers.mean()),
        "mean magnitude": float(np.abs(numbers).mean()),
        "share of elements other than 0": float(np.count_nonzero(numbers) / numbers.size),
        "share of finite elements": float(is_finite.mean()),
    }
    if others.size == numbers.size:
        others = np.where(np.isfinite(others), others, 0.0)
        found["mean distance of two draws"] = float(np.abs(numbers - others).mean())
    signs = np.random.default_rng(0).choice((-1.0, 1.0), (numbers.size, _SUMS))
    sums = numbers @ signs / numbers.size
    return found | {f"sum {number + 1} with drawn signs": float(each) for number, each in enumerate(sums)}


def why_distributed_otherwise(before: Sequence[Mapping[str, float]], after: Sequence[Mapping[str, float]]) -> str:
    """Return as text the first statistic by which the draws of two models differ too much for chance, "" if none does.

    `before` and `after` have the statistics of each draw of the first and of the second model, by name of the
    statistic.
    """
    shared = [name for name in before[0] if all(name in each for each in (*before, *after))]
    for name in shared:
        one, other = (np.array([each[name] for each in draws]) for draws in (before, after))
        size = 1.0 if name.startswith("share") else float(np.median([each["mean magnitude"] for each in before]))
        medians = float(np.median(one)), float(np.median(other))
        if abs(medians[0] - medians[1]) > LEAST * size and _separation(one, other) > FAR:
            return (
                f"its random numbers have another distribution: the {name} is {medians[1]:.4g} in the median of "
                f"{len(other)} draws, and {medians[0]:.4g} before"
            )
    return ""


def _numbers_of(value: Any) -> np.ndarray:
    """Return all numbers of a value as one vector of doubles; a complex number gives its real and its imaginary part.

    Tensors of text have no numbers.
    """
    found = [each for each in leaves(value) if each.dtype.kind not in "OUS"]
    parts = [part for each in found for part in ((each.real, each.imag) if each.dtype.kind == "c" else (each,))]
    return np.concatenate([np.zeros(0), *(part.astype(np.float64).ravel() for part in parts)])


def _separation(one: np.ndarray, other: np.ndarray) -> float:
    """Return how far two samples lie apart, by the sum of ranks of `one` among the numbers of both.

    The unit is the standard deviation that this sum has if the numbers of both are mixed at random.
    """
    _, places, counts = np.unique(np.concatenate([one, other]), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    every = one.size + other.size
    ties = float((counts.astype(np.float64) ** 3 - counts).sum()) / (every * (every - 1))
    variance = one.size * other.size / 12 * (every + 1 - ties)
    return abs(float(ranks[: one.size].sum()) - one.size * (every + 1) / 2) / variance**0.5 if variance > 0 else 0.0
