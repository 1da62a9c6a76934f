"""Derivatives of operators for Gradient: rules from derivatives by a node's outputs to derivatives by its inputs.

A gradient rule is registered like a kernel, and holds for the versions from `since` on:

    @gradient("Tanh")
    def tanh(node): return (node.derivative * (1 - node.y * node.y),)

If a function has no derivative at a point, as at the corner of Relu, a rule returns the derivative of either side, or
their mean if operands are interchangeable, as in Max.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opset.inference.building.shapes import normalize_axis
from opset.reference.numerics.arrays import Array
from opset.reference.numerics.broadcasting import align_at_axis, sum_to
from opset.reference.numerics.error_function import erf
from opset.reference.numerics.small_floats import is_float
from opset.reference.numerics.windows import interior_index, pad_spatial, tap_index, windows_over
from opset.reference.registration import KernelContext, gradient


@dataclass(frozen=True, slots=True)
class EvaluatedNode:
    """A node that was run: its inputs and outputs, and the derivatives by its outputs, None for 0.

    `compute` is its kernel, which takes inputs and attributes; `context` is the context of the kernel.
    """

    operator: str
    version: int
    attributes: Mapping[str, Any]
    inputs: list[Any]
    outputs: list[Any]
    derivatives: list[Any]
    compute: Callable[..., Any]
    context: KernelContext

    @property
    def x(self) -> Array:
        """The first input."""
        return self.inputs[0]

    @property
    def y(self) -> Array:
        """The first output."""
        return self.outputs[0]

    @property
    def derivative(self) -> Array:
        """The derivative by the first output."""
        derivative = self.derivatives[0]
        return np.zeros_like(self.y) if derivative is None else derivative

    def input(self, index: int, name: str = "") -> Any:
        """Return an input, or the attribute of other versions in its place; None if the node has neither."""
        value = self.inputs[index] if index < len(self.inputs) else None
        return self.attributes.get(name) if value is None else value


GradientRule = Callable[[EvaluatedNode], Sequence[Any]]
"""Returns the derivatives by the inputs, None for 0; `summed_to` brings them to the shapes of the inputs."""


# Elementwise functions of one operand.

Factor = Callable[[Array, Array, Mapping[str, Any]], Any]


def _sigmoid(x: Array) -> Array:
    return np.exp(-np.logaddexp(0, -x))


def _gelu(x: Array, y: Array, a: Mapping[str, Any]) -> Array:
    if a["approximate"] == "tanh":
        scale = math.sqrt(2 / math.pi)
        bent = np.tanh(scale * (x + 0.044715 * x**3))
        return 0.5 * (1 + bent) + 0.5 * x * (1 - bent * bent) * scale * (1 + 3 * 0.044715 * x * x)
    return 0.5 * (1 + erf(x * math.sqrt(0.5))) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _mish(x: Array, y: Array, a: Mapping[str, Any]) -> Array:
    bent = np.tanh(np.logaddexp(0, x))
    return bent + x * (1 - bent * bent) * _sigmoid(x)


def _swish(x: Array, y: Array, a: Mapping[str, Any]) -> Array:
    share = _sigmoid(a["alpha"] * x)
    return share + a["alpha"] * x * share * (1 - share)


# The derivative of y = f(x) from x, y and the attributes.
FACTORS: dict[str, Factor] = {
    "Abs": lambda x, y, a: np.sign(x),
    "Acos": lambda x, y, a: -1 / np.sqrt(1 - x * x),
    "Acosh": lambda x, y, a: 1 / np.sqrt((x - 1) * (x + 1)),
    "Asin": lambda x, y, a: 1 / np.sqrt(1 - x * x),
    "Asinh": lambda x, y, a: 1 / np.hypot(x, 1),
    "Atan": lambda x, y, a: 1 / (1 + x * x),
    "Atanh": lambda x, y, a: 1 / (1 - x * x),
    "Celu": lambda x, y, a: np.where(x > 0, 1, np.exp(x / a["alpha"])),
    "Cos": lambda x, y, a: -np.sin(x),
    "Cosh": lambda x, y, a: np.sinh(x),
    "Elu": lambda x, y, a: np.where(x > 0, 1, a["alpha"] * np.exp(x)),
    "Erf": lambda x, y, a: np.exp(-x * x) * (2 / math.sqrt(math.pi)),
    "Exp": lambda x, y, a: y,
    "Gelu": _gelu,
    "HardSigmoid": lambda x, y, a: np.where((y > 0) & (y < 1), a["alpha"], 0),
    "HardSwish": lambda x, y, a: np.where(x <= -3, 0, np.where(x >= 3, 1, x / 3 + 0.5)),
    "LeakyRelu": lambda x, y, a: np.where(x < 0, a["alpha"], 1),
    "Log": lambda x, y, a: 1 / x,
    "Mish": _mish,
    "Neg": lambda x, y, a: -1,
    "Reciprocal": lambda x, y, a: -y * y,
    "Relu": lambda x, y, a: x > 0,
    "Selu": lambda x, y, a: a["gamma"] * np.where(x > 0, 1, a["alpha"] * np.exp(x)),
    "Shrink": lambda x, y, a: np.abs(x) > a["lambd"],
    "Sigmoid": lambda x, y, a: y * (1 - y),
    "Sin": lambda x, y, a: np.cos(x),
    "Sinh": lambda x, y, a: np.cosh(x),
    "Softplus": lambda x, y, a: _sigmoid(x),
    "Softsign": lambda x, y, a: (1 + np.abs(x)) ** -2,
    "Sqrt": lambda x, y, a: 0.5 / y,
    "Swish": _swish,
    "Tan": lambda x, y, a: 1 + y * y,
    "Tanh": lambda x, y, a: 1 - y * y,
    "ThresholdedRelu": lambda x, y, a: x > a["alpha"],
}


@gradient(*FACTORS)
def times_factor(node: EvaluatedNode) -> Sequence[Any]:
    """Return the derivative of the elementwise function times the derivative of its result."""
    return (node.derivative * FACTORS[node.operator](node.x, node.y, node.attributes),)


@gradient("Identity", "Cast", "CastLike")
def identity(node: EvaluatedNode) -> Sequence[Any]:
    """Return the derivative as it is: changing the type of floats changes no value."""
    return (node.derivative,)


@gradient("Ceil", "Floor", "Round", "Sign", "Hardmax")
def steps(node: EvaluatedNode) -> Sequence[Any]:
    """Return no derivative, which means 0: the function is constant between its jumps."""
    return ()


@gradient("Clip")
def clip(node: EvaluatedNode) -> Sequence[Any]:
    """Return the derivative by the operand or bound that each element equals."""
    x, y, dy = node.x, node.y, node.derivative
    lower, upper = node.input(1, "min"), node.input(2, "max")
    beyond = np.zeros(x.shape, bool) if upper is None else x > upper
    below = np.zeros(x.shape, bool) if lower is None else (x < lower) & ~beyond
    return dy * (y == x), (dy * below).sum(), (dy * beyond).sum()


@gradient("Dropout", since=7)
def dropout(node: EvaluatedNode) -> Sequence[Any]:
    """Return the derivative for kept elements and 0 for dropped ones, which it knows by the mask."""
    training = node.version >= 12 and node.input(2) is not None and bool(node.input(2))
    ratio = 0.5 if node.input(1) is None else float(node.input(1))
    if not training or not ratio:
        return (node.derivative,)
    if len(node.outputs) < 2 or node.outputs[1] is None:
        raise ValueError("name its output 'mask': without it, the kept elements are not known")
    return (node.derivative * node.outputs[1] / (1 - ratio) if ratio < 1 else None,)


# Elementwise functions of several operands.


def _power(dz: Array, x: Array, y: Array, z: Array) -> tuple[Any, Any]:
    exponent = y.astype(x.dtype)
    slope = np.where(exponent == 0, 0, exponent * x ** (exponent - 1))
    return dz * slope, dz * np.where(x == 0, 0, z * np.log(x))  # by the exponent, it is 0 for a base of 0


# The derivatives by x and y of z = f(x, y), from the derivative by z, x, y and z.
PAIRS: dict[str, Callable[[Array, Array, Array, Array], tuple[Any, Any]]] = {
    "Add": lambda dz, x, y, z: (dz, dz),
    "Div": lambda dz, x, y, z: (dz / y, -dz * z / y),
    "Mul": lambda dz, x, y, z: (dz * y, dz * x),
    "Pow": _power,
    "Sub": lambda dz, x, y, z: (dz, -dz),
}


@gradient(*PAIRS)
def derive_pair(node: EvaluatedNode) -> Sequence[Any]:
    """Return the derivatives by two operands; before version 7, the second is aligned with the first at an axis."""
    x, y = node.inputs[:2]
    aligned = align_at_axis(x, y, node.attributes.get("axis")) if node.attributes.get("broadcast") else y
    by_x, by_y = PAIRS[node.operator](node.derivative, x, aligned, node.y)
    return by_x, sum_to(np.asarray(by_y), aligned.shape).reshape(y.shape)


@gradient("PRelu", since=7)
def leaky_relu_by_tensor(node: EvaluatedNode) -> Sequence[Any]:
    """Return the derivatives of the operand and of the slope that it has below 0."""
    x, slope = node.inputs
    return node.derivative * np.where(x < 0, slope, 1), node.derivative * np.where(x < 0, x, 0)


@gradient("Sum")
def total(node: EvaluatedNode) -> Sequence[Any]:
    """Return the derivative for each operand."""
    return [node.derivative] * len(node.inputs)


@gradient("Mean")
def mean(node: EvaluatedNode) -> Sequence[Any]:
    """Return an equal share for each operand."""
    return [node.derivative / len(node.inputs)] * len(node.inputs)


@gradient("Max", "Min")
def extreme(node: EvaluatedNode) -> Sequence[Any]:
    """Return the derivative for the operands that are the extreme, in equal shares."""
    is_extreme = [array == node.y for array in node.inputs]
    share = node.derivative / np.maximum(sum(array.astype(node.y.dtype) for array in is_extreme), 1)
    return [share * array for array in is_extreme]


# Operators that move elements.


@gradient("CenterCropPad", "Compress", "Concat", "DepthToSpace", "Expand", "Flatten", "Gather", "GatherElements")
@gradient("GatherND", "Pad", "Reshape", "ReverseSequence", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile")
@gradient("Transpose", "Trilu", "Unsqueeze", "Where")
def move(node: EvaluatedNode) -> Sequence[Any]:
    """Sum the derivatives of all copies of an element, which are found by moving the numbers of elements."""
    first, numbers = 1, []
    for x in node.inputs:
        numbers.append(np.arange(first, first + x.size).reshape(x.shape) if is_float(x) else x)
        first += x.size if is_float(x) else 0
    node.context.reserve(4 * first, np.int64)
    attributes = dict(node.attributes)
    if "value" in attributes:
        attributes["value"] = 0  # of Pad: 0 is the number of no element
    moved = node.compute(*numbers, **attributes)
    sums = np.zeros(first)
    moved = moved if isinstance(moved, tuple) else (moved,)
    for output, dy in zip(moved, node.derivatives, strict=False):
        if dy is not None:
            sums += np.bincount(output.ravel(), dy.ravel(), first)
    # np.take keeps the shape of a scalar.
    return [np.take(sums, index) if is_float(x) else None for x, index in zip(node.inputs, numbers, strict=True)]


# Reductions, along the axes of an attribute or, later, of an input.


def _keep_axes(node: EvaluatedNode, *values: Array) -> tuple[tuple[int, ...], list[Array]]:
    """Return the axes of a reduction, and values of its output's size reshaped so that these axes have size 1."""
    stated = node.input(1, "axes")
    if stated is None or not len(stated):
        stated = () if node.attributes.get("noop_with_empty_axes") else range(node.x.ndim)
    axes = tuple(normalize_axis(int(axis), node.x.ndim, "C1") for axis in stated)
    shape = [1 if axis in axes else size for axis, size in enumerate(node.x.shape)]
    return axes, [value.reshape(shape) for value in values]


Slope = Callable[[Array, Array], Any]

# The derivative of a reduction by the element x, from x and the result y.
SLOPES: dict[str, Slope] = {
    "ReduceL1": lambda x, y: np.sign(x),
    "ReduceL2": lambda x, y: np.divide(x, y, out=np.zeros_like(x), where=y != 0),
    "ReduceLogSum": lambda x, y: np.exp(-y),
    "ReduceLogSumExp": lambda x, y: np.exp(x - y),
    "ReduceSum": lambda x, y: 1,
    "ReduceSumSquare": lambda x, y: 2 * x,
}


@gradient(*SLOPES)
def times_slope(node: EvaluatedNode) -> Sequence[Any]:
    """Return the derivative times that of the reduction by each element."""
    _, (y, dy) = _keep_axes(node, node.y, node.derivative)
    return (dy * SLOPES[node.operator](node.x, y),)


@gradient("ReduceMean")
def reduce_mean(node: EvaluatedNode) -> Sequence[Any]:
    """Return an equal share for each element."""
    axes, (dy,) = _keep_axes(node, node.derivative)
    return (dy / max(1, math.prod(node.x.shape[axis] for axis in axes)),)


@gradient("ReduceMax", "ReduceMin")
def reduce_extreme(node: EvaluatedNode) -> Sequence[Any]:
    """Return the derivative for the elements that are the extreme, in equal shares."""
    axes, (y, dy) = _keep_axes(node, node.y, node.derivative)
    chosen = node.x == y
    return (chosen * dy / np.maximum(chosen.sum(axes, keepdims=True), 1),)


@gradient("ReduceProd")
def reduce_product(node: EvaluatedNode) -> Sequence[Any]:
    """Return the derivative times the product of all other elements."""
    axes, (dy,) = _keep_axes(node, node.derivative)
    zeros = node.x == 0
    product = np.where(zeros, 1, node.x).prod(axes, keepdims=True)
    count = zeros.sum(axes, keepdims=True)
    alone = np.where(count == 0, product / np.where(zeros, 1, node.x), 0)
    return (dy * np.where(zeros & (count == 1), product, alone),)


@gradient("GlobalAveragePool")
def global_average(node: EvaluatedNode) -> Sequence[Any]:
    """Return an equal share for each spatial element."""
    return (node.derivative / max(1, math.prod(node.x.shape[2:])),)


@gradient("Softmax", "LogSoftmax")
def softmax(node: EvaluatedNode) -> Sequence[Any]:
    """Return the derivative of Softmax or its logarithm along an axis; before version 13, of whole rows."""
    shape, y, dy = node.x.shape, node.y, node.derivative
    axis = node.attributes["axis"]  # in range, for the node has run; may be negative
    if node.version < 13:
        rows = (math.prod(shape[:axis]), math.prod(shape[axis:]))
        y, dy, axis = y.reshape(rows), dy.reshape(rows), 1
    if node.operator == "Softmax":
        result = y * (dy - (dy * y).sum(axis, keepdims=True))
    else:
        result = dy - np.exp(y) * dy.sum(axis, keepdims=True)
    return (result.reshape(shape),)


# Products of matrices.


@gradient("MatMul")
def matmul(node: EvaluatedNode) -> Sequence[Any]:
    """Return for each factor the derivative times the other, transposed; a vector is a matrix of one row or column."""
    a, b = node.inputs
    left, right, dy = a, b, node.derivative
    if a.ndim == 1:
        left, dy = a[None, :], np.expand_dims(dy, -1 if b.ndim == 1 else -2)
    if b.ndim == 1:
        right, dy = b[:, None], np.expand_dims(dy, -1)
    by_left, by_right = dy @ right.swapaxes(-1, -2), left.swapaxes(-1, -2) @ dy
    return sum_to(by_left, left.shape).reshape(a.shape), sum_to(by_right, right.shape).reshape(b.shape)


@gradient("Gemm")
def gemm(node: EvaluatedNode) -> Sequence[Any]:
    """Return the derivatives by the factors of a scaled product, and by the addend."""
    a, b = node.inputs[:2]
    left = a.T if node.attributes["transA"] else a
    right = b.T if node.attributes["transB"] else b
    dy = node.derivative * node.attributes["alpha"]
    by_a, by_b = dy @ right.T, left.T @ dy
    return (
        by_a.T if node.attributes["transA"] else by_a,
        by_b.T if node.attributes["transB"] else by_b,
        node.derivative * node.attributes["beta"],
    )


@gradient("Conv")
def convolution(node: EvaluatedNode) -> Sequence[Any]:
    """Return the derivatives by images, weights and bias, computed tap by tap of the kernel."""
    x, w = node.inputs[:2]
    dy, group = node.derivative, node.attributes["group"]
    if not dy.size:
        return ()
    sizes = w.shape[2:]
    movement = [node.attributes[name] for name in ("strides", "dilations", "pads", "auto_pad")]
    windows = windows_over(x.shape, sizes, *movement)
    inside = interior_index(windows.begins, x.shape[2:])
    extent = [b + size + e for b, size, e in zip(windows.begins, x.shape[2:], windows.ends, strict=True)]
    node.context.reserve(2 * math.prod(x.shape[:2]) * math.prod(extent), x.dtype)
    padded = pad_spatial(x, windows.begins, windows.ends, node.context)
    by_padded, by_w = np.zeros_like(padded), np.zeros_like(w)
    channels, features = x.shape[1] // group, w.shape[0] // group
    grouped = dy.reshape(len(x), group, features, -1)
    weights = w.reshape(group, features, channels, *sizes)
    by_weights = by_w.reshape(weights.shape)
    for tap in np.ndindex(*sizes):
        node.context.check_time()
        seen = tap_index(windows, tap)
        pixels = padded[seen].reshape(len(x), group, channels, -1)
        by_weights[(..., *tap)] = np.einsum("ngfp,ngcp->gfc", grouped, pixels, optimize=True)
        spread = np.einsum("ngfp,gfc->ngcp", grouped, weights[(..., *tap)], optimize=True)
        by_padded[seen] += spread.reshape(padded[seen].shape)
    return by_padded[inside], by_w, dy.sum((0, *range(2, dy.ndim)))
