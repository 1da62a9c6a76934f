"""Kernels of operators that create tensors: constants, ranges and random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opset.model.arrays import DTYPES
from opset.reference.numerics.arrays import Array
from opset.reference.numerics.conversion import convert_numbers
from opset.reference.numerics.shapes import dims_of
from opset.reference.numerics.small_floats import SMALL_FLOATS
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints.violation import Violation

_BLOCK = 1 << 20  # random numbers that are drawn at a time


def _output_dtype(number: int | None, default: np.dtype[Any], kinds: str = "fiub") -> np.dtype[Any]:
    """Return the dtype of a number, by default the input's. Raises Violation C2 if the latter is of another kind."""
    if number is not None:
        return DTYPES[number]
    if default.kind not in kinds and not ("f" in kinds and default in SMALL_FLOATS):
        raise Violation("C2", f"the input is of {default}")
    return default


# -- constants --


# Version 1 allows only floats, but Reshape 5 takes shapes of int64: models of that opset hold them as constants.
@kernel("Constant", any_type=True)
def constant_1(
    *,
    value: Array | None,
    sparse_value: Array | None = None,
    value_float: float | None = None,
    value_floats: Sequence[float] | None = None,
    value_int: int | None = None,
    value_ints: Sequence[int] | None = None,
    value_string: str | None = None,
    value_strings: Sequence[str] | None = None,
) -> Array:
    """Return the value of the only attribute that is set."""
    forms = (
        (value, None),
        (sparse_value, None),
        (value_float, np.float32),
        (value_floats, np.float32),
        (value_int, np.int64),
        (value_ints, np.int64),
        (value_string, np.object_),
        (value_strings, np.object_),
    )
    stated = [(form, kind) for form, kind in forms if form is not None]
    if len(stated) != 1:
        raise Violation("C1", f"{len(stated)} are given")
    form, kind = stated[0]
    return np.array(form, kind) if kind is not None else np.asarray(form)


@kernel("ConstantOfShape")
def constant_of_shape_9(shape: Array, *, value: Array | None, context: KernelContext) -> Array:
    """Return a tensor of a shape filled with the element of `value`, by default with float zeros."""
    fill = np.zeros(1, np.float32) if value is None else value
    if fill.size != 1:
        raise Violation("C2", f"{fill.size} elements")
    dims = dims_of(shape)
    context.reserve(math.prod(dims), fill.dtype)
    return np.full(dims, fill.reshape(()))


@kernel("EyeLike")
def eye_like_9(x: Array, *, dtype: int | None, k: int, context: KernelContext) -> Array:
    """Return a matrix of the shape of x with ones on diagonal k."""
    kind = _output_dtype(dtype, x.dtype)
    rows, columns = x.shape
    context.reserve(x.size, kind)
    return np.eye(rows, columns, min(max(k, -rows), columns), kind)


@kernel("Range")
def range_11(start: Array, limit: Array, delta: Array, *, stash_type: int = 1, context: KernelContext) -> Array:
    """Return the numbers from start in steps of delta, limit excluded."""
    dtype = kind = start.dtype
    if dtype in SMALL_FLOATS:
        if stash_type not in (1, 11):
            raise Violation("C4", f"stash_type {stash_type}")
        kind = DTYPES[stash_type]
    first, bound, step = (number.astype(kind).item() for number in (start, limit, delta))
    if kind.kind == "i":
        count = max(-((first - bound) // step), 0)
    else:
        exact = (bound - first) / step
        if not math.isfinite(exact):
            raise Violation("C3", f"start {first}, limit {bound}, delta {step}")
        count = max(math.ceil(exact), 0)
    context.reserve(2 * count, np.int64)
    return convert_numbers(np.arange(count).astype(kind) * kind.type(step) + kind.type(first), dtype)


# -- random numbers --


@kernel("RandomNormal")
def random_normal_1(
    *, dtype: int, mean: float, scale: float, seed: float | None, shape: Sequence[int], context: KernelContext
) -> Array:
    """Return numbers drawn from a normal distribution."""
    return _draw(shape, DTYPES[dtype], lambda count: context.rng(seed).normal(mean, scale, count), context)


@kernel("RandomNormalLike")
def random_normal_like_1(
    x: Array, *, dtype: int | None, mean: float, scale: float, seed: float | None, context: KernelContext
) -> Array:
    """Return numbers drawn from a normal distribution, in the shape and by default the type of x."""
    kind = _output_dtype(dtype, x.dtype, "f")
    return _draw(x.shape, kind, lambda count: context.rng(seed).normal(mean, scale, count), context)


@kernel("RandomUniform")
def random_uniform_1(
    *, dtype: int, high: float, low: float, seed: float | None, shape: Sequence[int], context: KernelContext
) -> Array:
    """Return numbers drawn from the uniform distribution between low and high."""
    return _draw(shape, DTYPES[dtype], lambda count: low + (high - low) * context.rng(seed).random(count), context)


@kernel("RandomUniformLike")
def random_uniform_like_1(
    x: Array, *, dtype: int | None, high: float, low: float, seed: float | None, context: KernelContext
) -> Array:
    """Return numbers drawn between low and high, in the shape and by default the type of x."""
    kind = _output_dtype(dtype, x.dtype, "f")
    return _draw(x.shape, kind, lambda count: low + (high - low) * context.rng(seed).random(count), context)


def _draw(shape: Sequence[int], dtype: np.dtype[Any], draw: Callable[[int], Array], context: KernelContext) -> Array:
    """Return numbers drawn in blocks, since float64 takes up to four times the memory."""
    count = math.prod(dims_of(shape))
    context.reserve(count * dtype.itemsize + 4 * 8 * min(count, _BLOCK), np.uint8)
    output = np.empty(count, dtype)
    for start in range(0, count, _BLOCK):
        context.check_time()
        stop = min(start + _BLOCK, count)
        output[start:stop] = convert_numbers(draw(stop - start), dtype)
    return output.reshape(shape)


@kernel("Bernoulli")
def bernoulli_15(x: Array, *, dtype: int | None, seed: float | None, context: KernelContext) -> Array:
    """Return ones drawn with the probabilities x, zeros elsewhere."""
    if not ((x >= x.dtype.type(0)) & (x <= x.dtype.type(1))).all():
        raise Violation("C1")
    kind = _output_dtype(dtype, x.dtype)
    context.reserve(2 * x.size, np.float64)
    return convert_numbers(context.rng(seed).random(x.shape) < x.astype(np.float64), kind)


@kernel("Multinomial")
def multinomial_7(x: Array, *, dtype: int, sample_size: int, seed: float | None, context: KernelContext) -> Array:
    """Return class indices drawn for each row by the logarithms of the class probabilities."""
    context.reserve((len(x) + 1) * sample_size, np.float64)
    output = np.empty((len(x), sample_size), DTYPES[dtype])
    for row, logarithms in zip(output, x, strict=True):
        context.check_time()
        powers = np.exp(logarithms.astype(np.float64) - float(logarithms.max()))
        bounds = powers.cumsum()
        if not bounds[-1] > 0:
            raise Violation("C4", f"{logarithms.tolist()[:8]}")
        # The first class whose bound is above the number drawn; classes of probability zero are never drawn.
        row[:] = np.searchsorted(bounds, context.rng(seed).random(sample_size) * bounds[-1], side="right")
    return output
