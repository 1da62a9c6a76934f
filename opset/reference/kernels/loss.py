"""Kernels of classification losses."""

from __future__ import annotations

import numpy as np

from opset.reference.numerics.arrays import Array
from opset.reference.numerics.memory import reserve_reduced
from opset.reference.numerics.small_floats import rounded_once
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints.violation import Violation


@kernel("NegativeLogLikelihoodLoss", since=12)
@rounded_once
def negative_log_likelihood_loss_12(
    input: Array, target: Array, weight: Array | None = None, *, ignore_index: int | None, reduction: str
) -> Array:
    """Return -input[n, target[n]] * weight[target[n]]; with a `reduction`, their sum or weighted mean."""
    classes = input.shape[1]
    ignored = target == ignore_index if ignore_index is not None else np.zeros(target.shape, np.bool_)
    outside = (target < 0) | (target >= classes)
    if (outside & ~ignored).any():
        raise Violation("C2", f"{target[outside & ~ignored][0]}, {classes} classes")
    if classes == 0:  # all targets are ignored
        loss = factors = np.zeros(target.shape, input.dtype)
    else:
        index = np.where(ignored, 0, target)
        loss = -np.take_along_axis(input, index[:, None], 1)[:, 0]
        factors = np.ones(target.shape, input.dtype) if weight is None else weight[index]
        loss = np.where(ignored, input.dtype.type(0), loss if weight is None else loss * factors)
        factors = np.where(ignored, input.dtype.type(0), factors)
    if reduction == "none":
        return loss
    total = loss.sum(dtype=input.dtype)
    return total if reduction == "sum" else np.divide(total, factors.sum(dtype=input.dtype))


@kernel("SoftmaxCrossEntropyLoss", since=12)
@rounded_once
def softmax_cross_entropy_loss_12(
    scores: Array,
    labels: Array,
    weights: Array | None = None,
    *,
    ignore_index: int | None,
    reduction: str,
    context: KernelContext,
) -> tuple[Array, Array | None]:
    """Return the negative log likelihood loss of log_softmax(scores) over the classes, and log_softmax(scores)."""
    reserve_reduced(scores, (1,), context)
    shifted = scores - scores.max(1, keepdims=True, initial=-np.inf)
    log_prob = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    loss = negative_log_likelihood_loss_12(log_prob, labels, weights, ignore_index=ignore_index, reduction=reduction)
    return loss, log_prob if context.wants(1) else None
