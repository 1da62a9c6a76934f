"""Kernels of activation functions."""

from __future__ import annotations

import math

import numpy as np

from opset.inference.building.shapes import check_slopes
from opset.reference.numerics.arrays import Array
from opset.reference.numerics.error_function import erf
from opset.reference.numerics.selection import select
from opset.reference.numerics.small_floats import rounded_once
from opset.reference.registration import Function, kernel


@kernel("Relu")
def relu_1(x: Array) -> Array:
    """Return max(x, 0); NaN and -0.0 stay as they are."""
    result = np.maximum(x, x.dtype.type(0), out=np.empty_like(x))
    if x.dtype.kind not in "iu":
        np.copyto(result, x, where=x == 0)  # np.maximum leaves the sign of zero open
    return result


@kernel("Sigmoid")
@rounded_once
def sigmoid_1(x: Array) -> Array:
    """Return 1 / (1 + exp(-x))."""
    one = x.dtype.type(1)
    return one / (one + np.exp(-x))


@kernel("Swish")
@rounded_once
def swish_24(x: Array, *, alpha: float) -> Array:
    """Return x * sigmoid(alpha * x)."""
    return x * sigmoid_1(x * x.dtype.type(alpha))


@kernel("SwiGLU")
@rounded_once
def swi_glu_28(gate: Array, x: Array, *, alpha: float) -> Array:
    """Return swish(gate) * x."""
    return swish_24(gate, alpha=alpha) * x


@kernel("HardSigmoid")
@rounded_once
def hard_sigmoid_1(x: Array, *, alpha: float, beta: float) -> Array:
    """Return alpha * x + beta, clipped to [0, 1]."""
    scalar = x.dtype.type
    return np.clip(scalar(alpha) * x + scalar(beta), scalar(0), scalar(1))


@kernel("HardSwish")
@rounded_once
def hard_swish_14(x: Array) -> Array:
    """Return x * hard_sigmoid(x) with the slope 1/6."""
    return x * hard_sigmoid_1(x, alpha=1 / 6, beta=0.5)


@kernel("Softplus")
@rounded_once
def softplus_1(x: Array) -> Array:
    """Return log(1 + exp(x)), computed as max(x, 0) + log(1 + exp(-abs(x))), which does not overflow."""
    return relu_1(x) + np.log1p(np.exp(-np.abs(x)))


@kernel("Mish")
@rounded_once
def mish_18(x: Array) -> Array:
    """Return x * tanh(softplus(x))."""
    return x * np.tanh(softplus_1(x))


@kernel("Softsign")
@rounded_once
def softsign_1(x: Array) -> Array:
    """Return x / (1 + abs(x))."""
    return x / (x.dtype.type(1) + np.abs(x))


@kernel("LeakyRelu")
@rounded_once
def leaky_relu_1(x: Array, *, alpha: float) -> Array:
    """Return alpha * x below 0, x elsewhere."""
    return select(x < 0, x * x.dtype.type(alpha), x)


@kernel("PRelu", since=7)
@rounded_once
def p_relu_7(x: Array, slope: Array) -> Array:
    """Return slope * x below 0, x elsewhere; the slopes broadcast to the shape of x."""
    return select(x < 0, x * slope, x)


@kernel("PRelu")
@rounded_once
def p_relu_1(x: Array, slope: Array) -> Array:
    """Return slope * x below 0, x elsewhere; there is one slope, or one for each channel (dimension 1)."""
    check_slopes(x.shape, slope.shape)
    return p_relu_7(x, slope.reshape(() if slope.size == 1 else (-1, *(1,) * (x.ndim - 2))))


@kernel("ThresholdedRelu")
@rounded_once
def thresholded_relu_10(x: Array, *, alpha: float) -> Array:
    """Return x above alpha, 0 elsewhere; NaN becomes 0."""
    return select(x > alpha, x, x.dtype.type(0))


@kernel("Elu")
@rounded_once
def elu_1(x: Array, *, alpha: float) -> Array:
    """Return alpha * (exp(x) - 1) below 0, x elsewhere."""
    return select(x < 0, np.expm1(x) * x.dtype.type(alpha), x)


@kernel("Selu")
@rounded_once
def selu_1(x: Array, *, alpha: float, gamma: float) -> Array:
    """Return gamma * alpha * (exp(x) - 1) up to 0, gamma * x above."""
    return select(x > 0, x, np.expm1(x) * x.dtype.type(alpha)) * x.dtype.type(gamma)


@kernel("Celu")
@rounded_once
def celu_12(x: Array, *, alpha: float) -> Array:
    """Return max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    scale = x.dtype.type(alpha)
    return relu_1(x) + np.minimum(np.expm1(x / scale) * scale, x.dtype.type(0))


@kernel("Gelu")
@rounded_once
def gelu_20(x: Array, *, approximate: str) -> Array:
    """Return x/2 * (1 + erf(x / sqrt(2))), or x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x**3))).

    The second one is computed in place: benchmarks.kernels shows what that saves.
    """
    if approximate == "none":
        return (erf(x * x.dtype.type(math.sqrt(0.5))) + 1) * 0.5 * x
    result = np.square(x, out=np.empty_like(x))
    result *= 0.044715
    result += 1
    result *= x
    result *= math.sqrt(2 / math.pi)
    np.tanh(result, out=result)
    result += 1
    result *= 0.5
    result *= x
    return result


@kernel("Shrink")
@rounded_once
def shrink_9(x: Array, *, bias: float, lambd: float) -> Array:
    """Return x + bias below -lambd, x - bias above lambd, 0 between; results for integers are truncated."""
    if x.dtype.kind not in "iu":
        shift = np.array(bias).astype(x.dtype)
    elif not math.isfinite(bias):
        raise ValueError(f"'bias' is {bias}, and the standard does not define the result for integers")
    elif bias != math.floor(bias):
        return shrink_9(x.astype(np.float64), bias=bias, lambd=lambd).astype(x.dtype)
    else:
        shift = np.array(int(bias) % 2**64, np.uint64).astype(x.dtype)  # numpy does not wrap floats
    return select(x < -lambd, x + shift, select(x > lambd, x - shift, x.dtype.type(0)))


def softmax(x: Array, *, axis: int) -> Array:
    """Return exp(x - max) / sum(exp(x - max)) along an axis; subtracting the maximum prevents overflow."""
    result = x - x.max(axis, keepdims=True)
    np.exp(result, out=result)
    result /= result.sum(axis, keepdims=True)
    return result


def log_softmax(x: Array, *, axis: int) -> Array:
    """Return log(softmax(x)) as x - max - log(sum(exp(x - max))) along an axis."""
    shifted = x - x.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def hardmax(x: Array, *, axis: int) -> Array:
    """Return 1 at the first maximum along an axis, 0 elsewhere."""
    result = np.zeros_like(x)
    np.put_along_axis(result, x.argmax(axis, keepdims=True), 1, axis)
    return result


def _register(operator: str, function: Function) -> None:
    """Register a function along one axis; before version 13, it works on the rows of a matrix, flattened at `axis`.

    Version 1 does not define negative axes; models of that opset use them with the meaning of version 11.
    """

    @kernel(operator, since=13)
    @rounded_once
    def along_axis(x: Array, *, axis: int) -> Array:
        return function(x, axis=axis) if x.size else x

    @kernel(operator)
    @rounded_once
    def along_rows(x: Array, *, axis: int) -> Array:
        rows = math.prod(x.shape[: axis % x.ndim])
        return function(x.reshape(rows, -1), axis=1).reshape(x.shape) if x.size else x


_register("Softmax", softmax)
_register("LogSoftmax", log_softmax)
_register("Hardmax", hardmax)
