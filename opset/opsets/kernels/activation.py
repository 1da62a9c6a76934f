"""Kernels of activation functions."""

from __future__ import annotations

import numpy as np

from opset.opsets.kernels import kernel
from opset.opsets.kernels.shared import Array, positive_axis, rounded_once


@kernel("Relu")
def relu(x: Array) -> Array:
    """Give the larger of 0 and x; NaN stays."""
    return np.maximum(x, x.dtype.type(0))


@kernel("Softmax", since=13)
@rounded_once
def softmax(x: Array, *, axis: int) -> Array:
    """Give exponentials along an axis, divided by their sum."""
    axis = positive_axis(axis, x.ndim, "C1")
    if not x.size:
        return x
    powers = np.exp(x - x.max(axis, keepdims=True))
    powers /= powers.sum(axis, keepdims=True)
    return powers


@kernel("Softmax")
@rounded_once
def softmax_of_rows(x: Array, *, axis: int) -> Array:
    """Give `softmax` over all dimensions from `axis` on together."""
    axis = positive_axis(axis, x.ndim, "C1")
    rows = x.reshape(int(np.prod(x.shape[:axis])), -1) if x.size else x
    result: Array = softmax(rows, axis=-1)
    return result.reshape(x.shape)
