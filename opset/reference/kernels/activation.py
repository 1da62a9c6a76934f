"""Kernels of activation functions."""

from __future__ import annotations

import math

import numpy as np

from opset.reference.numerics.arrays import Array
from opset.reference.numerics.axes import normalised_axis
from opset.reference.numerics.error_function import erf
from opset.reference.numerics.selection import select
from opset.reference.numerics.small_floats import rounded_once
from opset.reference.registration import Function, kernel
from opset.schemas.constraints import Violation


@kernel("Relu")
def relu_1(x: Array) -> Array:
    """Return the larger of 0 and x; NaN stays."""
    return np.maximum(x, x.dtype.type(0))


@kernel("Sigmoid")
@rounded_once
def sigmoid_1(x: Array) -> Array:
    """Return 1 / (1 + exp(-x))."""
    result = np.negative(x, out=np.empty_like(x))
    np.exp(result, out=result)
    result += 1
    return np.reciprocal(result, out=result)


@kernel("Swish")
@rounded_once
def swish_24(x: Array, *, alpha: float) -> Array:
    """Return x * sigmoid(alpha * x)."""
    result = sigmoid_1(x if alpha == 1 else x * x.dtype.type(alpha))
    result *= x
    return result


@kernel("SwiGLU")
@rounded_once
def swi_glu_28(gate: Array, x: Array, *, alpha: float) -> Array:
    """Return swish(gate) * x. Raises Violation C1 where their shapes differ."""
    if gate.shape != x.shape:
        raise Violation("C1", f"the shapes are {list(gate.shape)} and {list(x.shape)}")
    result = swish_24(gate, alpha=alpha)
    result *= x
    return result


@kernel("HardSigmoid")
@rounded_once
def hard_sigmoid_1(x: Array, *, alpha: float, beta: float) -> Array:
    """Return alpha * x + beta, not below 0 nor above 1."""
    result = np.multiply(x, x.dtype.type(alpha), out=np.empty_like(x))
    result += beta
    return np.clip(result, 0, 1, out=result)


@kernel("HardSwish")
@rounded_once
def hard_swish_14(x: Array) -> Array:
    """Return x times its hard sigmoid of slope 1/6."""
    result = hard_sigmoid_1(x, alpha=1 / 6, beta=0.5)
    result *= x
    return result


@kernel("Softplus")
@rounded_once
def softplus_1(x: Array) -> Array:
    """Return log(1 + exp(x)), as max(x, 0) + log(1 + exp(-abs(x))), which does not overflow."""
    result = np.absolute(x, out=np.empty_like(x))
    np.negative(result, out=result)
    np.exp(result, out=result)
    np.log1p(result, out=result)
    result += relu_1(x)
    return result


@kernel("Mish")
@rounded_once
def mish_18(x: Array) -> Array:
    """Return x * tanh(softplus(x))."""
    result = softplus_1(x)
    np.tanh(result, out=result)
    result *= x
    return result


@kernel("Softsign")
@rounded_once
def softsign_1(x: Array) -> Array:
    """Return x / (1 + abs(x))."""
    result = np.absolute(x, out=np.empty_like(x))
    result += 1
    return np.divide(x, result, out=result)


@kernel("LeakyRelu")
@rounded_once
def leaky_relu_1(x: Array, *, alpha: float) -> Array:
    """Return alpha * x below 0, x elsewhere."""
    return select(x < 0, x * x.dtype.type(alpha), x)


@kernel("PRelu", since=7)
@rounded_once
def p_relu_7(x: Array, slope: Array) -> Array:
    """Slope * x below 0, x elsewhere. Raises Violation C1 where `slope` does not broadcast to the shape of `x`."""
    if slope.ndim > x.ndim or any(size not in (1, x.shape[axis]) for axis, size in _from_the_end(slope.shape)):
        raise Violation("C1", f"the shapes are {list(x.shape)} and {list(slope.shape)}")
    return select(x < 0, x * slope, x)


@kernel("PRelu")
@rounded_once
def p_relu_1(x: Array, slope: Array) -> Array:
    """Return `leaky_relu_by_tensor` for one slope, or one for each channel, which is dimension 1."""
    if slope.size == 1:
        return p_relu_7(x, slope.reshape(()))
    if slope.shape != x.shape[1:2]:
        raise Violation("C1", f"the shapes are {list(x.shape)} and {list(slope.shape)}")
    return p_relu_7(x, slope.reshape(-1, *(1,) * (x.ndim - 2)))


def _from_the_end(shape: tuple[int, ...]) -> enumerate[int]:
    return enumerate(shape, -len(shape))


@kernel("ThresholdedRelu")
@rounded_once
def thresholded_relu_10(x: Array, *, alpha: float) -> Array:
    """Return x above alpha, 0 elsewhere and for NaN."""
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
    """Return x/2 * (1 + erf(x / sqrt(2))), or the same with tanh in place of erf. Raises Violation C1."""
    if approximate not in ("none", "tanh"):
        raise Violation("C1", f"approximate is {approximate!r}")
    if approximate == "none":
        result = erf(x * x.dtype.type(math.sqrt(0.5)))
    else:
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
    """Return x + bias below -lambd, x - bias above lambd, 0 between; of integers without the fraction."""
    if x.dtype.kind in "iu" and bias != math.floor(bias):
        return shrink_9(x.astype(np.float64), bias=bias, lambd=lambd).astype(x.dtype)
    by = np.array(bias).astype(x.dtype)
    return select(x < -lambd, x + by, select(x > lambd, x - by, x.dtype.type(0)))


def softmax(x: Array, *, axis: int) -> Array:
    """Return exponentials along an axis, divided by their sum; those of the largest are 1, so none overflows."""
    result = x - x.max(axis, keepdims=True)
    np.exp(result, out=result)
    result /= result.sum(axis, keepdims=True)
    return result


def log_softmax(x: Array, *, axis: int) -> Array:
    """Return logarithms of `softmax`: x - max - log(sum(exp(x - max)))."""
    result = x - x.max(axis, keepdims=True)
    result -= np.log(np.exp(result).sum(axis, keepdims=True))
    return result


def hardmax(x: Array, *, axis: int) -> Array:
    """Return 1 at the first maximum along an axis, 0 elsewhere."""
    result = np.zeros_like(x)
    np.put_along_axis(result, x.argmax(axis, keepdims=True), 1, axis)
    return result


def _along_axis(function: Function) -> Function:
    """Return the kernel that works along one dimension."""

    def along(x: Array, *, axis: int) -> Array:
        axis = normalised_axis(axis, x.ndim, "C1")
        return function(x, axis=axis) if x.size else x

    return rounded_once(along)


def _along_rows(function: Function) -> Function:
    """Return the kernel of versions before 13, for which all dimensions from `axis` on together are one row.

    Version 1 does not say what negative axes are. Models of its time have them, and mean what version 11 says.
    """

    def along(x: Array, *, axis: int) -> Array:
        axis = normalised_axis(axis, x.ndim, "C1")
        return function(x.reshape(math.prod(x.shape[:axis]), -1), axis=1).reshape(x.shape) if x.size else x

    return rounded_once(along)


for _name, _function in (("Softmax", softmax), ("LogSoftmax", log_softmax), ("Hardmax", hardmax)):
    kernel(_name)(_along_rows(_function))
    kernel(_name, since=13)(_along_axis(_function))
