"""Transforms that classical models apply to their scores, and the labels that go with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opset.reference.numerics.arrays import Array

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""In the order of the numbers that TreeEnsemble has for them."""


def transform_scores(scores: Array, transform: str) -> Array:
    """Return scores of shape [N, K] after a transform along K."""
    if not scores.size:
        return scores
    match transform:
        case "SOFTMAX":
            powers = np.exp(scores - scores.max(axis=1, keepdims=True))
            return powers / powers.sum(axis=1, keepdims=True)
        case "SOFTMAX_ZERO":
            # Scores that are (nearly) zero stay zero and are not part of the sum.
            powers = np.where(np.abs(scores) > 1e-7, np.exp(scores - scores.max(axis=1, keepdims=True)), 0)
            total = powers.sum(axis=1, keepdims=True)
            return np.divide(powers, total, out=np.zeros_like(scores), where=total != 0)
        case "LOGISTIC":
            return logistic(scores)
        case "PROBIT":
            return probit(scores.astype(np.float64)).astype(scores.dtype)
    return scores


def logistic(scores: Array) -> Array:
    """Return 1 / (1 + exp(-x)), without overflow."""
    powers = np.exp(-np.abs(scores))
    return np.where(scores >= 0, 1, powers) / (1 + powers)


def probit(p: Array) -> Array:
    """Return the x at which the standard normal distribution function is p; NaN outside of 0 to 1."""
    from statistics import NormalDist  # which imports much, and few models need it

    result = np.full(p.shape, np.nan)
    result[p == 0], result[p == 1] = -np.inf, np.inf
    inside = (p > 0) & (p < 1)
    result[inside] = [*map(NormalDist().inv_cdf, p[inside].tolist())]
    return result


def class_labels(strings: Sequence[str | bytes] | None, integers: Sequence[int] | None) -> Array:
    """Return the labels of a classifier, of which one list is given."""
    if not strings:
        return np.array(integers, np.int64)
    names: Array = np.empty(len(strings), object)
    names[:] = strings
    return names


def feature_rows(x: Array) -> Array:
    """Return rows of features: [N, C] as it is, [C] as one row."""
    return x.reshape(1, -1) if x.ndim == 1 else x


def as_floats(x: Array) -> Any:
    """Return features in the type in which models compute: double for double, else float."""
    return x if x.dtype == np.float64 else x.astype(np.float32)
