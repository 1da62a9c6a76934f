"""Kernels of normalisation and dropout."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from opset.model.arrays import DTYPES
from opset.reference.kernels.linalg import broadcasts
from opset.reference.numerics.arrays import Array
from opset.reference.numerics.axes import normalised_axis
from opset.reference.numerics.memory import reserve_reduced
from opset.reference.numerics.small_floats import SMALL_FLOATS, rounded_once
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints import Violation

Outputs = tuple[Array | None, ...]


def _working(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type to compute in: double for double, float for all others."""
    return np.dtype(np.float64 if dtype == np.float64 else np.float32)


def _channels(x: Array) -> Array:
    """Return values with a dimension of channels, the second; a vector has one channel."""
    if not x.ndim:
        raise Violation("C1", "the rank is 0")
    return x if x.ndim > 1 else x[:, None]


def _check_parameters(shape: tuple[int, ...], *parameters: Array) -> None:
    for each in parameters:
        if each.shape != shape:
            raise Violation("C2", f"shape {list(each.shape)} instead of {list(shape)}")


def _scaled(x: Array, scale: Array, bias: Array, mean: Array, variance: Array, epsilon: float) -> Array:
    """Return `(x - mean) / sqrt(variance + epsilon) * scale + bias` as one factor and one addend for each channel."""
    factor = scale.astype(np.float64) / np.sqrt(variance.astype(np.float64) + epsilon)
    addend = bias.astype(np.float64) - mean.astype(np.float64) * factor
    ones = (1,) * (x.ndim - 1 - factor.ndim)
    wide = _working(x.dtype)
    y = x * factor.astype(wide).reshape(*factor.shape, *ones)
    y += addend.astype(wide).reshape(*factor.shape, *ones)
    return y.astype(x.dtype, copy=False)


def _moments(x: Array, axes: tuple[int, ...], context: KernelContext) -> tuple[Array, Array]:
    """Return mean and variance along `axes`, which stay with size 1; the variance is the mean of squared distances."""
    reserve_reduced(x, axes, context)
    mean = x.mean(axes, keepdims=True)
    centred = x - mean
    return mean, np.square(centred).mean(axes, keepdims=True)


def _updated(old: Array, batch: Array, momentum: float) -> Array:
    """Return a running statistic with the share `momentum` of the old value."""
    return (old.astype(batch.dtype) * momentum + batch * (1 - momentum)).astype(old.dtype)


def _of_batch(
    x: Array, scale: Array, bias: Array, mean: Array, variance: Array,
    epsilon: float, momentum: float, context: KernelContext, shared: bool = True,
) -> Outputs:  # fmt: skip
    """Return the values normalised by the batch's own statistics, the running ones, and the batch's.

    Statistics are those of a channel where they are `shared` among its places, else of each place.
    """
    wide = x.astype(_working(x.dtype), copy=False)
    axes = tuple(axis for axis in range(x.ndim) if axis != 1) if shared else (0,)
    kept, spread = (each.reshape(scale.shape) for each in _moments(wide, axes, context))
    y = _scaled(x, scale, bias, kept, spread, epsilon)
    saved = kept.astype(mean.dtype), spread.astype(variance.dtype)
    return y, _updated(mean, kept, momentum), _updated(variance, spread, momentum), *saved


@kernel("BatchNormalization", since=14)
def batch_normalization_14(
    x: Array, scale: Array, bias: Array, mean: Array, variance: Array,
    *, epsilon: float, momentum: float, training_mode: int, context: KernelContext,
) -> Outputs:  # fmt: skip
    """Normalise channels by the given statistics, or with `training_mode` by the batch's own."""
    wide = _channels(x)
    _check_parameters(wide.shape[1:2], scale, bias, mean, variance)
    if not training_mode:
        return (_scaled(wide, scale, bias, mean, variance, epsilon).reshape(x.shape),)
    y, *statistics = _of_batch(wide, scale, bias, mean, variance, epsilon, momentum, context)
    assert y is not None
    return y.reshape(x.shape), *statistics[:2]


def _is_training(context: KernelContext) -> bool:
    """Return whether a node has outputs besides the first, which until version 14 meant training."""
    return any(context.wants(output) for output in range(1, 5))


@kernel("BatchNormalization", since=9)
def batch_normalization_9(
    x: Array,
    scale: Array,
    bias: Array,
    mean: Array,
    variance: Array,
    *,
    epsilon: float,
    momentum: float,
    context: KernelContext,
) -> Outputs:
    """Return `batch_norm`, in training if there are outputs besides the first."""
    wide = _channels(x)
    _check_parameters(wide.shape[1:2], scale, bias, mean, variance)
    if not _is_training(context):
        return (_scaled(wide, scale, bias, mean, variance, epsilon).reshape(x.shape),)
    y, *statistics = _of_batch(wide, scale, bias, mean, variance, epsilon, momentum, context)
    assert y is not None
    return y.reshape(x.shape), *statistics


@kernel("BatchNormalization", since=7)
def batch_normalization_7(
    x: Array, scale: Array, bias: Array, mean: Array, variance: Array,
    *, epsilon: float, momentum: float, spatial: int, context: KernelContext,
) -> Outputs:  # fmt: skip
    """Return `batch_norm_by_outputs`; with `spatial` 0 each place of the channels has parameters of its own."""
    if x.ndim < 2:
        raise Violation("C1", f"the rank is {x.ndim}")
    _check_parameters(x.shape[1:2] if spatial else x.shape[1:], scale, bias, mean, variance)
    if not _is_training(context):
        return (_scaled(x, scale, bias, mean, variance, epsilon),)
    return _of_batch(x, scale, bias, mean, variance, epsilon, momentum, context, spatial != 0)


@kernel("BatchNormalization", since=6)
def batch_normalization_6(
    x: Array, scale: Array, bias: Array, mean: Array, variance: Array,
    *, epsilon: float, momentum: float, spatial: int, is_test: int, context: KernelContext,
) -> Outputs:  # fmt: skip
    """Normalise channels by the given statistics, in training by the batch's own.

    The text names two cases, five outputs in training and one in inference; so a node with one is not in training, even
    where `is_test` has its default, as exporters wrote it.
    """
    if x.ndim < 2:
        raise Violation("C1", f"the rank is {x.ndim}")
    _check_parameters(x.shape[1:2], scale, bias, mean, variance)
    if is_test or context.outputs == 1:
        return (_scaled(x, scale, bias, mean, variance, epsilon),)
    if not spatial and x.ndim > 2:
        raise ValueError("in training with spatial 0, the shape of the statistics is not defined")
    return _of_batch(x, scale, bias, mean, variance, epsilon, momentum, context)


@kernel("BatchNormalization")
def batch_normalization_1(x: Array, *parameters: Array, context: KernelContext, **attributes: Any) -> Outputs:
    """Return `batch_norm_by_flag` of images."""
    if x.ndim != 4:
        raise Violation("C1", f"the rank is {x.ndim}")
    result: Outputs = batch_normalization_6(x, *parameters, context=context, **attributes)
    return result


@kernel("InstanceNormalization", since=6)
@rounded_once
def instance_normalization_6(x: Array, scale: Array, bias: Array, *, epsilon: float, context: KernelContext) -> Array:
    """Normalise each channel of each instance over its places."""
    if x.ndim < 2:
        raise Violation("C1", f"the rank is {x.ndim}")
    _check_parameters(x.shape[1:2], scale, bias)
    ones = (1,) * (x.ndim - 2)
    y = _normal(x, tuple(range(2, x.ndim)), epsilon, context)[0]
    y *= scale.reshape(-1, *ones)
    y += bias.reshape(-1, *ones)
    return y


@kernel("InstanceNormalization")
def instance_normalization_1(x: Array, scale: Array, bias: Array, *, epsilon: float, context: KernelContext) -> Array:
    """Return `instance_norm` of images."""
    if x.ndim != 4:
        raise Violation("C1", f"the rank is {x.ndim}")
    result: Array = instance_normalization_6(x, scale, bias, epsilon=epsilon, context=context)
    return result


def _normal(x: Array, axes: tuple[int, ...], epsilon: float, context: KernelContext) -> tuple[Array, Array, Array]:
    """Return `(x - mean) / sqrt(variance + epsilon)` along `axes`, the means, and the inverse deviations."""
    reserve_reduced(x, axes, context)
    mean = x.mean(axes, keepdims=True)
    y = x - mean
    inverse = 1 / np.sqrt(np.square(y).mean(axes, keepdims=True) + epsilon)
    y *= inverse
    return y, mean, inverse


@kernel("GroupNormalization", since=21)
def group_normalization_21(
    x: Array, scale: Array, bias: Array, *, epsilon: float, num_groups: int, stash_type: int, context: KernelContext
) -> Array:
    """Normalise groups of channels in the type that `stash_type` names; scale and bias are those of each channel."""
    y = _groups(x, epsilon, num_groups, _stash(stash_type, "C4"), context)
    _check_parameters(x.shape[1:2], scale, bias)
    return _affine(y.reshape(x.shape), scale, bias, x.ndim - 2)


@kernel("GroupNormalization")
def group_normalization_18(
    x: Array, scale: Array, bias: Array, *, epsilon: float, num_groups: int, context: KernelContext
) -> Array:
    """Normalise groups of channels; scale and bias are those of each group."""
    y = _groups(x, epsilon, num_groups, x.dtype, context)
    _check_parameters((num_groups,), scale, bias)
    return _affine(y, scale, bias, 1).reshape(x.shape)


def _groups(x: Array, epsilon: float, count: int, stash: np.dtype[Any], context: KernelContext) -> Array:
    """Return the values of each group of each instance as a row, normalised in a type."""
    if x.ndim < 2:
        raise Violation("C1", f"the rank is {x.ndim}")
    if count < 1 or x.shape[1] % count:
        raise Violation("C3", f"{count} groups, {x.shape[1]} channels")
    rows = x.reshape(x.shape[0], count, prod(x.shape[1:]) // count)
    return _in_type(rows, stash, (2,), epsilon, context)[0]


def _in_type(
    x: Array, stash: np.dtype[Any], axes: tuple[int, ...], epsilon: float, context: KernelContext
) -> tuple[Array, Array, Array]:
    """Return `_normal` as computed in the type `stash`, its first result cast back."""
    wide = x if stash == x.dtype else x.astype(stash)
    y, mean, inverse = _normal(wide.astype(_working(stash), copy=False), axes, epsilon, context)
    y, mean, inverse = (each.astype(stash, copy=False) for each in (y, mean, inverse))
    return y.astype(x.dtype, copy=False), mean, inverse


@rounded_once
def _affine(y: Array, scale: Array, bias: Array | None, places: int = 0) -> Array:
    """Return `y * scale + bias`, whose shapes are followed by so many dimensions of size 1."""
    y = y * scale.reshape((*scale.shape, *[1] * places))
    if bias is not None:
        y += bias.reshape((*bias.shape, *[1] * places))
    return y


def _stash(number: int, label: str) -> np.dtype[Any]:
    """Return the float type that a `stash_type` names."""
    dtype = DTYPES.get(number)
    if dtype is None or not (dtype in SMALL_FLOATS or dtype.kind == "f"):
        raise Violation(label, f"stash_type {number}")
    return dtype


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
    """Normalise over all dimensions from `axis` on in the type that `stash_type` names."""
    axes = tuple(range(normalised_axis(axis, x.ndim, "C1"), x.ndim))
    for each in (scale, bias):
        if each is not None and not broadcasts(each.shape, x.shape):
            raise Violation("C2", f"shape {list(each.shape)}, and the input has {list(x.shape)}")
    y, mean, inverse = _in_type(x, _stash(stash_type, "C3"), axes, epsilon, context)
    return _affine(y, scale, bias), mean, inverse


@kernel("RMSNormalization", since=23)
def rms_normalization_23(
    x: Array, scale: Array, *, axis: int, epsilon: float, stash_type: int, context: KernelContext
) -> Array:
    """Divide by the root of the mean of squares over all dimensions from `axis` on."""
    axes = tuple(range(normalised_axis(axis, x.ndim, "C1"), x.ndim))
    if not broadcasts(scale.shape, x.shape):
        raise Violation("C2", f"shape {list(scale.shape)}, and the input has {list(x.shape)}")
    stash = _stash(stash_type, "C3")
    reserve_reduced(x, axes, context)
    wide = x.astype(stash, copy=False).astype(_working(stash), copy=False)
    y = wide / np.sqrt(np.square(wide).mean(axes, keepdims=True) + epsilon)
    y = y.astype(stash, copy=False).astype(x.dtype, copy=False)
    if y.dtype == scale.dtype:
        return _affine(y, scale, None)
    both = np.result_type(_working(y.dtype), _working(scale.dtype))
    return (y.astype(both) * scale.astype(both)).astype(scale.dtype)


@kernel("LRN")
@rounded_once
def lrn_1(x: Array, *, alpha: float, beta: float, bias: float, size: int, context: KernelContext) -> Array:
    """Divide values by a power of the sum of squares of their neighbours in the dimension of channels."""
    if x.ndim < 2:
        raise Violation("C1", f"the rank is {x.ndim}")
    if size < 1:
        raise Violation("C2", f"size {size}")
    divisor = _neighbours(np.square(x), (size - 1) // 2, size // 2, context)
    divisor *= alpha / size
    divisor += bias
    if beta == 0.75:  # the default; roots are quicker than powers
        root = np.sqrt(divisor)
        return x / (root * np.sqrt(root))
    return x / divisor**beta


def _neighbours(x: Array, before: int, after: int, context: KernelContext) -> Array:
    """Return the sums of so many elements before and after each one along the second dimension, itself included.

    They are put together of sums of 1, 2, 4, ... neighbours, so that no large one is ever taken off again.
    """
    count = x.shape[1]
    before, after = min(before, count), min(after, count)
    context.reserve(x.size // max(count, 1) * (count + before + after) * 2, x.dtype)
    pad = [(0, 0)] * x.ndim
    pad[1] = (before, after)
    sums, width, taken = np.pad(x, pad), 1, 0
    total = np.zeros_like(x)
    left = before + after + 1
    while left:
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
    """Divide by the L1 or L2 norm along an axis; zero where that is zero."""
    axis = normalised_axis(axis, x.ndim, "C1")
    if p not in (1, 2):
        raise Violation("C2", f"p is {p}")
    reserve_reduced(x, (axis,), context)
    if p == 1:
        norm = np.abs(x).sum(axis, keepdims=True)
    else:
        norm = np.sqrt(np.square(x).sum(axis, keepdims=True))
    return np.divide(x, norm, out=np.zeros_like(x), where=norm != 0)


@kernel("MeanVarianceNormalization", since=9)
@rounded_once
def mean_variance_normalization_9(x: Array, *, axes: tuple[int, ...], context: KernelContext) -> Array:
    """Return `(x - mean) / (sqrt(variance) + 1e-9)` along some dimensions."""
    chosen = tuple([normalised_axis(axis, x.ndim, "C1") for axis in axes])
    if len(set(chosen)) < len(chosen):
        raise ValueError("a dimension is named twice")
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
    """Drop elements at random where `training_mode` is true, and give which were kept."""
    share = 0.5 if ratio is None else float(_scalar(ratio))
    if training_mode is None or not _scalar(training_mode):
        return x, np.ones(x.shape, np.bool_)
    if not 0 <= share < 1:
        raise Violation("C1", f"ratio {share:g}")
    return _dropped(x, share, context.rng(seed))


def _scalar(x: Array) -> Any:
    if x.ndim:
        raise Violation("C2", f"shape {list(x.shape)}")
    return x.item()


def _dropped(x: Array, share: float, chance: np.random.Generator) -> tuple[Array, Array]:
    """Return the elements that are kept, scaled, and zeros; and which are kept."""
    kept = chance.random(x.shape, np.float32) >= share
    wide = x.astype(_working(x.dtype), copy=False)
    return np.where(kept, wide / wide.dtype.type(1 - share), wide.dtype.type(0)).astype(x.dtype), kept


@kernel("Dropout", since=10)
def dropout_10(x: Array, *, ratio: float) -> tuple[Array, Array]:
    """Return the data, all of them kept: inference, where the runtime decides."""
    return x, np.ones(x.shape, np.bool_)


@kernel("Dropout", since=7)
def dropout_7(x: Array, *, ratio: float) -> tuple[Array, Array]:
    """Return the data, all of them kept, told in their type."""
    return x, np.ones_like(x)


@kernel("Dropout")
def dropout_1(x: Array, *, is_test: int, ratio: float, context: KernelContext) -> tuple[Array, Array]:
    """Drop elements at random unless `is_test` is set; in it the mask is not defined, and all are said to be kept."""
    if is_test:
        return x, np.ones_like(x)
    if not 0 <= ratio < 1:
        raise Violation("C1", f"ratio {ratio:g}")
    y, kept = _dropped(x, ratio, context.rng())
    return y, kept.astype(x.dtype)
