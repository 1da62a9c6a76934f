"""Kernels of normalization and dropout."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from opset.model.arrays import DTYPES
from opset.reference.numerics.arrays import Array
from opset.reference.numerics.memory import reserve_reduced
from opset.reference.numerics.small_floats import rounded_once
from opset.reference.registration import KernelContext, kernel

Outputs = tuple[Array, ...]


def _working_type(*dtypes: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type to compute in: double if one of the types is double, else float."""
    return np.dtype(np.float64 if np.float64 in dtypes else np.float32)


def _with_channels(x: Array) -> Array:
    """Return values with channels as the second dimension; a vector has one channel."""
    return x if x.ndim > 1 else x[:, None]


def _scale_channels(x: Array, scale: Array, bias: Array, mean: Array, variance: Array, *, epsilon: float) -> Array:
    """Return (x - mean) / sqrt(variance + epsilon) * scale + bias as one factor and one addend for each channel."""
    factor = scale.astype(np.float64) / np.sqrt(variance.astype(np.float64) + epsilon)
    addend = bias.astype(np.float64) - mean.astype(np.float64) * factor
    ones = (1,) * (x.ndim - 1 - factor.ndim)
    wide = _working_type(x.dtype, scale.dtype, bias.dtype, mean.dtype, variance.dtype)
    y = x * factor.astype(wide).reshape(*factor.shape, *ones)
    y += addend.astype(wide).reshape(*factor.shape, *ones)
    return y.astype(x.dtype, copy=False)


def _mean(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the mean along `axes`, which are kept with size 1; NaN of no elements, without numpy's warning."""
    if any(x.shape[axis] == 0 for axis in axes):
        reduced = {axis % x.ndim for axis in axes}
        shape = [1 if axis in reduced else size for axis, size in enumerate(x.shape)]
        return np.full(shape, np.nan, x.dtype)
    return x.mean(axes, keepdims=True)


def _moments(x: Array, axes: tuple[int, ...], context: KernelContext) -> tuple[Array, Array]:
    """Return mean and variance along `axes`, which are kept with size 1."""
    reserve_reduced(x, axes, context)
    mean = _mean(x, axes)
    centered = x - mean
    return mean, _mean(np.square(centered), axes)


def _normalize_batch(
    x: Array,
    scale: Array,
    bias: Array,
    mean: Array,
    variance: Array,
    *,
    epsilon: float,
    momentum: float,
    context: KernelContext,
    shared: bool = True,
) -> Outputs:
    """Return normalized values, and statistics (running and the batch's) of channels if `shared`, else of positions."""
    wide = x.astype(_working_type(x.dtype, mean.dtype, variance.dtype), copy=False)
    axes = tuple(axis for axis in range(x.ndim) if axis != 1) if shared else (0,)
    batch_mean, batch_variance = (moment.reshape(scale.shape) for moment in _moments(wide, axes, context))
    y = _scale_channels(x, scale, bias, batch_mean, batch_variance, epsilon=epsilon)
    statistics = ((mean, batch_mean), (variance, batch_variance))
    running = [(old.astype(new.dtype) * momentum + new * (1 - momentum)).astype(old.dtype) for old, new in statistics]
    return y, *running, *[new.astype(old.dtype) for old, new in statistics]


@kernel("BatchNormalization", since=14)
def batch_normalization_14(
    x: Array, *parameters: Array, epsilon: float, momentum: float, training_mode: int, context: KernelContext
) -> Outputs:
    """Return channels normalized by the given statistics, or with `training_mode` by the batch's.

    In each version, the parameters are scale, bias, mean and variance.
    """
    wide = _with_channels(x)
    if not training_mode:
        return (_scale_channels(wide, *parameters, epsilon=epsilon).reshape(x.shape),)
    y, *statistics = _normalize_batch(wide, *parameters, epsilon=epsilon, momentum=momentum, context=context)
    return y.reshape(x.shape), *statistics[:2]


@kernel("BatchNormalization", since=9)
def batch_normalization_9(
    x: Array, *parameters: Array, epsilon: float, momentum: float, context: KernelContext
) -> Outputs:
    """Return channels normalized by the given statistics, or by the batch's if the node has further outputs."""
    y, *statistics = batch_normalization_7(
        _with_channels(x), *parameters, epsilon=epsilon, momentum=momentum, spatial=1, context=context
    )
    return y.reshape(x.shape), *statistics


@kernel("BatchNormalization", since=7)
def batch_normalization_7(
    x: Array, *parameters: Array, epsilon: float, momentum: float, spatial: int, context: KernelContext
) -> Outputs:
    """Return the outputs of version 9; with `spatial` 0 each position of a channel has its own parameters."""
    # Before version 14, outputs besides the first mean training.
    if not any(context.wants(output) for output in range(1, 5)):
        return (_scale_channels(x, *parameters, epsilon=epsilon),)
    shared = spatial != 0
    return _normalize_batch(x, *parameters, epsilon=epsilon, momentum=momentum, context=context, shared=shared)


@kernel("BatchNormalization")
def batch_normalization_1(
    x: Array, *parameters: Array, epsilon: float, momentum: float, spatial: int, is_test: int, context: KernelContext
) -> Outputs:
    """Return channels normalized by the given statistics, or in training by the batch's.

    The text names two cases, five outputs in training and one in inference; so a node with one output is not in
    training, even if `is_test` has its default, as exporters wrote it.
    """
    if is_test or context.outputs == 1:
        return (_scale_channels(x, *parameters, epsilon=epsilon),)
    if not spatial:
        raise ValueError("in training with spatial 0, the shape of the statistics is not defined")
    return _normalize_batch(x, *parameters, epsilon=epsilon, momentum=momentum, context=context)


@kernel("InstanceNormalization")
@rounded_once
def instance_normalization_1(x: Array, scale: Array, bias: Array, *, epsilon: float, context: KernelContext) -> Array:
    """Return each channel of each instance normalized over its positions."""
    ones = (1,) * (x.ndim - 2)
    y = _normalize(x, tuple(range(2, x.ndim)), epsilon, context)[0]
    y *= scale.reshape(-1, *ones)
    y += bias.reshape(-1, *ones)
    return y


def _normalize(x: Array, axes: tuple[int, ...], epsilon: float, context: KernelContext) -> tuple[Array, Array, Array]:
    """Return (x - mean) / sqrt(variance + epsilon) along `axes`, the means, and the inverse deviations."""
    reserve_reduced(x, axes, context)
    mean = _mean(x, axes)
    y = x - mean
    deviation = np.sqrt(_mean(np.square(y), axes) + epsilon)
    y /= deviation
    return y, mean, 1 / deviation


@kernel("GroupNormalization", since=21)
def group_normalization_21(
    x: Array, scale: Array, bias: Array, *, epsilon: float, num_groups: int, stash_type: int, context: KernelContext
) -> Array:
    """Return groups of channels normalized in the type of `stash_type`; scale and bias belong to channels."""
    y = _normalize_groups(x, epsilon, num_groups, DTYPES[stash_type], context)
    return _apply_affine(y.reshape(x.shape), scale, bias, x.ndim - 2)


@kernel("GroupNormalization")
def group_normalization_18(
    x: Array, scale: Array, bias: Array, *, epsilon: float, num_groups: int, context: KernelContext
) -> Array:
    """Return groups of channels normalized; scale and bias belong to groups."""
    y = _normalize_groups(x, epsilon, num_groups, x.dtype, context)
    return _apply_affine(y, scale, bias, 1).reshape(x.shape)


def _normalize_groups(x: Array, epsilon: float, count: int, stash: np.dtype[Any], context: KernelContext) -> Array:
    """Return the values of each group of each instance as a row, normalized in the type `stash`."""
    rows = x.reshape(x.shape[0], count, prod(x.shape[1:]) // count)
    return _normalize_in_type(rows, stash, (2,), epsilon, context)[0]


def _normalize_in_type(
    x: Array, stash: np.dtype[Any], axes: tuple[int, ...], epsilon: float, context: KernelContext
) -> tuple[Array, Array, Array]:
    """Return the outputs of `_normalize` computed in the type `stash`, the first one cast back."""
    wide = x if stash == x.dtype else x.astype(stash)
    y, mean, inverse = _normalize(wide.astype(_working_type(stash), copy=False), axes, epsilon, context)
    y, mean, inverse = (output.astype(stash, copy=False) for output in (y, mean, inverse))
    return y.astype(x.dtype, copy=False), mean, inverse


@rounded_once
def _apply_affine(y: Array, scale: Array, bias: Array | None, ones: int = 0) -> Array:
    """Return y * scale + bias, whose shapes are extended by `ones` dimensions of size 1."""
    y = y * scale.reshape((*scale.shape, *[1] * ones))
    if bias is not None:
        y += bias.reshape((*bias.shape, *[1] * ones))
    return y


@kernel("LayerNormalization", since=17)
def layer_normalization_17(
    x: Array,
    scale: Array,
    bias: Array | None = None,
    *,
    axis: int,
    epsilon: float,
    stash_type: int,
    context: KernelContext,
) -> tuple[Array, Array, Array]:
    """Return values normalized over all dimensions from `axis` on, computed in the type of `stash_type`."""
    axes = tuple(range(axis % x.ndim, x.ndim))
    y, mean, inverse = _normalize_in_type(x, DTYPES[stash_type], axes, epsilon, context)
    return _apply_affine(y, scale, bias), mean, inverse


@kernel("RMSNormalization", since=23)
def rms_normalization_23(
    x: Array, scale: Array, *, axis: int, epsilon: float, stash_type: int, context: KernelContext
) -> Array:
    """Return values divided by the root mean square over all dimensions from `axis` on, times the scale."""
    axes = tuple(range(axis % x.ndim, x.ndim))
    stash = DTYPES[stash_type]
    reserve_reduced(x, axes, context)
    wide = x.astype(stash, copy=False).astype(_working_type(stash), copy=False)
    y = wide / np.sqrt(_mean(np.square(wide), axes) + epsilon)
    y = y.astype(stash, copy=False).astype(x.dtype, copy=False)
    if y.dtype == scale.dtype:
        return _apply_affine(y, scale, None)
    both = _working_type(y.dtype, scale.dtype)
    return (y.astype(both) * scale.astype(both)).astype(scale.dtype)


@kernel("LRN")
@rounded_once
def lrn_1(x: Array, *, alpha: float, beta: float, bias: float, size: int, context: KernelContext) -> Array:
    """Return x / (bias + alpha / size * sum of squares) ** beta, summed over neighboring channels."""
    divisor = _sum_neighbors(np.square(x), (size - 1) // 2, size // 2, context) * (alpha / size) + bias
    if beta == 0.75:  # the default; roots are faster than powers
        root = np.sqrt(divisor)
        return x / (root * np.sqrt(root))
    return x / divisor**beta


def _sum_neighbors(x: Array, before: int, after: int, context: KernelContext) -> Array:
    """Return the sum of each element and `before` and `after` elements around it along the second dimension."""
    # It is composed of sums of 1, 2, 4, ... neighbors, so that no large value is ever subtracted again.
    count = x.shape[1]
    before, after = min(before, count), min(after, count)
    context.reserve(x.size // max(count, 1) * (count + before + after) * 2, x.dtype)
    pad = [(0, 0)] * x.ndim
    pad[1] = (before, after)
    sums, width, taken = np.pad(x, pad), 1, 0
    total = np.zeros_like(x)
    left = before + after + 1
    while left:
        context.check_time()
        if left & 1:
            total += sums[:, taken : taken + count]
            taken += width
        left >>= 1
        if left:
            sums = sums[:, :-width] + sums[:, width:]
            width *= 2
    return total


@kernel("LpNormalization")
@rounded_once
def lp_normalization_1(x: Array, *, axis: int, p: int, context: KernelContext) -> Array:
    """Return x divided by its L1 or L2 norm along an axis, zero for a norm of zero."""
    axis %= x.ndim
    reserve_reduced(x, (axis,), context)
    if p == 1:
        norm = np.abs(x).sum(axis, keepdims=True)
    else:
        norm = np.sqrt(np.square(x).sum(axis, keepdims=True))
    return np.divide(x, norm, out=np.zeros_like(x), where=norm != 0)


@kernel("MeanVarianceNormalization", since=9)
@rounded_once
def mean_variance_normalization_9(x: Array, *, axes: tuple[int, ...], context: KernelContext) -> Array:
    """Return (x - mean) / (sqrt(variance) + 1e-9) along some axes."""
    chosen = tuple([axis % x.ndim for axis in axes])
    mean, variance = _moments(x, chosen, context)
    return (x - mean) / (np.sqrt(variance) + x.dtype.type(1e-9))


@kernel("Dropout", since=12)
def dropout_12(
    x: Array,
    ratio: Array | None = None,
    training_mode: Array | None = None,
    *,
    seed: int | None,
    context: KernelContext,
) -> tuple[Array, Array]:
    """Return the elements, randomly dropped if `training_mode` is true, and a mask of the kept ones."""
    if training_mode is None or not training_mode:
        return x, np.ones(x.shape, np.bool_)
    return _drop_elements(x, 0.5 if ratio is None else float(ratio), context.rng(seed))


def _drop_elements(x: Array, probability: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return the kept elements, scaled, zeros for the others, and a mask of the kept ones."""
    kept = rng.random(x.shape, np.float32) >= probability
    wide = x.astype(_working_type(x.dtype), copy=False)
    return np.where(kept, wide / wide.dtype.type(1 - probability), wide.dtype.type(0)).astype(x.dtype), kept


@kernel("Dropout", since=10)
def dropout_10(x: Array, *, ratio: float) -> tuple[Array, Array]:
    """Return the data unchanged, and a mask that is true everywhere: the runtime is in inference."""
    return x, np.ones(x.shape, np.bool_)


@kernel("Dropout", since=7)
def dropout_7(x: Array, *, ratio: float) -> tuple[Array, Array]:
    """Return the data unchanged, and a mask of ones in its type."""
    return x, np.ones_like(x)


@kernel("Dropout")
def dropout_1(x: Array, *, is_test: int, ratio: float, context: KernelContext) -> tuple[Array, Array]:
    """Return the elements, randomly dropped unless `is_test` is set, and a mask, undefined in the latter case: ones."""
    if is_test:
        return x, np.ones_like(x)
    y, kept = _drop_elements(x, ratio, context.rng())
    return y, kept.astype(x.dtype)
