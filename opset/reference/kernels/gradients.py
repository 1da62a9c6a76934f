"""Gradient: the derivative of a value by others, backwards through the nodes between them.

A rule gives the derivatives by a node's inputs from those by its outputs. It is registered like a kernel and holds for
the versions from `since` on:

    @gradient("Tanh")
    def tanh(node): return (node.derivative * (1 - node.y * node.y),)

Small floats are differentiated in float32 and rounded at the end. Where a function has no derivative, at the corner of
Relu for instance, a rule gives one of those beside it, or their mean where operands are alike, as Max has them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opset.errors import Finding, OpsetError, RunError, printable
from opset.inference.gradient_graphs import DOMAIN
from opset.reference.kernels.control_flow import Running
from opset.reference.numerics.arrays import Array
from opset.reference.numerics.axes import normalised_axis
from opset.reference.numerics.broadcasting import aligned_at_axis
from opset.reference.numerics.error_function import erf
from opset.reference.numerics.small_floats import SMALL_FLOATS
from opset.reference.programs import Program, Step
from opset.reference.registration import LAYER, gradient, kernel
from opset.schemas.constraints import Violation
from opset.schemas.names import normalised


@dataclass(frozen=True, slots=True)
class Node:
    """A node that was run: what it took and gave, and the derivatives by what it gave, None for 0.

    `context` is the `KernelContext` that its kernel had.
    """

    step: Step
    inputs: list[Any]
    outputs: list[Any]
    derivatives: list[Any]
    context: Any

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
        given = self.derivatives[0]
        return np.zeros_like(self.y) if given is None else given

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes, with defaults."""
        return self.step.attributes

    @property
    def version(self) -> int:
        """The version of the operator, its since_version."""
        return self.context.version

    def input(self, number: int, name: str = "") -> Any:
        """Return an input, or the attribute that it was in other versions; None where neither is there."""
        value = self.inputs[number] if number < len(self.inputs) else None
        return self.attributes.get(name) if value is None else value


Rule = Callable[[Node], Sequence[Any]]
"""What gives the derivatives by the inputs: of a shape that broadcasts to the input's or back, None for 0."""


def _gradient_of(step: Step) -> Rule | None:
    if step.schema is None or normalised(step.node.domain):
        return None
    hook = LAYER.find("gradient", "", step.schema.name, step.schema.since_version)
    return None if hook is None else hook.function


@kernel("Gradient", domain=DOMAIN)
def gradient_1(
    *inputs: Any, xs: Sequence[str], zs: Sequence[str] | None, y: str, graph: Program, context: Any
) -> Running:
    """Return the derivatives of the sum of y by each of xs, at the values of the inputs."""
    if len(inputs) != len(graph.inputs):
        raise Violation("C1", f"{len(inputs)} inputs for {len(graph.inputs)} names")
    for name, value in zip(xs, inputs, strict=False):
        if not _is_float(value):
            raise Violation("C2", f"'{printable(name)}' is no tensor of floats")
    values = yield graph, list(inputs)
    for value in values:
        context.hold(value)
    if not _is_float(values[0]):
        raise Violation("C3", f"'{printable(y)}' is no tensor of floats")
    derivatives = _backwards(graph, dict(zip(graph.outputs, values, strict=True)), len(xs), context)
    return tuple(
        np.zeros_like(x) if slot not in derivatives else derivatives[slot].astype(x.dtype).reshape(x.shape)
        for slot, x in enumerate(inputs[: len(xs)])
    )


def _is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and (value.dtype.kind == "f" or value.dtype in SMALL_FLOATS)


def _backwards(graph: Program, values: dict[int, Any], count: int, context: Any) -> dict[int, Array]:
    """Return the derivatives of the graph's first output by its first `count` inputs, those that are not 0, by slot."""
    active = set(range(count))
    for step in graph.steps:
        if not active.isdisjoint(_reads(step)):
            active.update(slot for slot in step.outputs if _is_float(values.get(slot)))
    target = graph.outputs[0]
    path = _path(graph, active, target)
    wide = {
        slot: value.astype(np.float32) if _is_float(value) and value.dtype in SMALL_FLOATS else value
        for slot, value in values.items()
    }
    derivatives = {target: np.ones_like(wide[target])}
    frame = replace(context.frame, program=graph)
    for step, function in path:
        context.check_time()
        node = Node(
            step,
            [wide.get(slot) for slot in step.inputs],
            [wide.get(slot) for slot in step.outputs],
            [derivatives.pop(slot, None) for slot in step.outputs],
            replace(context, frame=frame, step=step),
        )
        try:
            found = function(node)
        except OpsetError:
            raise
        except Exception as error:
            message = "the node cannot be differentiated"
            raise RunError(Finding("R204", message, graph.place(step), f"{type(error).__name__}: {error}")) from error
        for slot, x, given in zip(step.inputs, node.inputs, found, strict=False):
            if slot in active and given is not None:
                given = _summed(np.asarray(given, x.dtype), x.shape)
                derivatives[slot] = derivatives[slot] + given if slot in derivatives else given
    return derivatives


def _reads(step: Step) -> list[int]:
    """Return the slots that a step reads, those that its graphs take from around them included."""
    graphs = [value for value in step.attributes.values() if isinstance(value, Program)]
    return [*step.inputs, *(slot for graph in graphs for slot, _ in graph.captured)]


def _path(graph: Program, active: set[int], target: int) -> list[tuple[Step, Rule]]:
    """The steps between inputs and target, the last first, with their rules. Raises RunError R201 without one."""
    wanted, path, findings = {target}, [], []
    for step in reversed(graph.steps):
        reads = _reads(step)
        if wanted.isdisjoint(step.outputs) or active.isdisjoint(reads):
            continue
        function = _gradient_of(step)
        wanted.update(slot for slot in reads if slot in active)
        if function is not None:
            path.append((step, function))
        else:
            message = f"the operator {printable(step.node.op_type)} cannot be differentiated"
            help = "give Gradient a part of the graph without it, or register one: opset.reference.kernels.gradients"
            findings.append(Finding("R201", message, graph.place(step), "there is no rule for its derivative", help))
    if findings:
        raise RunError(reversed(findings))
    return path


def _summed(x: Array, shape: tuple[int, ...]) -> Array:
    """Return x in another shape: summed where that broadcasts to its own, repeated where its own broadcasts to that."""
    if x.shape == shape:
        return x
    x = x.sum(tuple(range(x.ndim - len(shape))))
    axes = tuple(axis for axis, (here, there) in enumerate(zip(x.shape, shape, strict=True)) if there == 1 < here)
    return np.broadcast_to(x.sum(axes, keepdims=True), shape)


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


def _rule_of_factor(factor: Factor) -> Rule:
    def times_factor(node: Node) -> Sequence[Any]:
        return (node.derivative * factor(node.x, node.y, node.attributes),)

    return times_factor


for _name, _factor in FACTORS.items():
    gradient(_name)(_rule_of_factor(_factor))


@gradient("Identity", "Cast", "CastLike")
def identity(node: Node) -> Sequence[Any]:
    """Return the derivative on; changing the type of floats changes no value."""
    return (node.derivative,)


@gradient("Ceil", "Floor", "Round", "Sign", "Hardmax")
def steps(node: Node) -> Sequence[Any]:
    """Return nothing: the function is constant but for where it jumps."""
    return ()


@gradient("Clip")
def clip(node: Node) -> Sequence[Any]:
    """Return the derivative to what each element is: the operand, or a bound."""
    x, y, given = node.x, node.y, node.derivative
    lower, upper = node.input(1, "min"), node.input(2, "max")
    beyond = np.zeros(x.shape, bool) if upper is None else x > upper
    below = np.zeros(x.shape, bool) if lower is None else (x < lower) & ~beyond
    return given * (y == x), (given * below).sum(), (given * beyond).sum()


@gradient("Dropout", since=7)
def dropout(node: Node) -> Sequence[Any]:
    """Return the derivative where elements are kept; needs the mask where some are not."""
    training = node.version >= 12 and node.input(2) is not None and bool(node.input(2))
    ratio = 0.5 if node.input(1) is None else float(node.input(1))
    if not training or not ratio:
        return (node.derivative,)
    if len(node.outputs) < 2 or node.outputs[1] is None:
        raise ValueError("name its output 'mask': what it kept is not known without")
    return (node.derivative * node.outputs[1] / (1 - ratio) if ratio < 1 else None,)


# Elementwise functions of several operands.


def _operands(node: Node) -> tuple[Array, Array]:
    """Return two operands whose shapes broadcast as in numpy, which they did not before version 7."""
    x, y = node.inputs[:2]
    return x, aligned_at_axis(x, y, node.attributes.get("axis")) if node.attributes.get("broadcast") else y


def _back(node: Node, by_x: Any, by_y: Array) -> Sequence[Any]:
    """Return derivatives by operands in the shapes that the inputs have."""
    return by_x, _summed(np.asarray(by_y), _operands(node)[1].shape).reshape(node.inputs[1].shape)


@gradient("Add")
def add(node: Node) -> Sequence[Any]:
    """Return the derivative to both."""
    return _back(node, node.derivative, node.derivative)


@gradient("Sub")
def subtract(node: Node) -> Sequence[Any]:
    """Return the derivative to both, negative to what is taken off."""
    return _back(node, node.derivative, -node.derivative)


@gradient("Mul")
def multiply(node: Node) -> Sequence[Any]:
    """Return to each the derivative times the other."""
    x, y = _operands(node)
    return _back(node, node.derivative * y, node.derivative * x)


@gradient("Div")
def divide(node: Node) -> Sequence[Any]:
    """Return the derivatives of a quotient."""
    _, y = _operands(node)
    return _back(node, node.derivative / y, -node.derivative * node.y / y)


@gradient("Pow")
def power(node: Node) -> Sequence[Any]:
    """Return the derivatives of a power; that by the exponent is 0 where the base is."""
    x, exponent = _operands(node)
    exponent = exponent.astype(x.dtype)
    slope = np.where(exponent == 0, 0, exponent * x ** (exponent - 1))
    return _back(node, node.derivative * slope, node.derivative * np.where(x == 0, 0, node.y * np.log(x)))


@gradient("PRelu", since=7)
def leaky_relu_by_tensor(node: Node) -> Sequence[Any]:
    """Return the derivatives of the operand and of the slope that it has below 0."""
    x, slope = node.inputs
    return node.derivative * np.where(x < 0, slope, 1), node.derivative * np.where(x < 0, x, 0)


@gradient("Sum")
def total(node: Node) -> Sequence[Any]:
    """Return the derivative to each."""
    return [node.derivative] * len(node.inputs)


@gradient("Mean")
def mean(node: Node) -> Sequence[Any]:
    """Return an equal share to each."""
    return [node.derivative / len(node.inputs)] * len(node.inputs)


@gradient("Max", "Min")
def extreme(node: Node) -> Sequence[Any]:
    """Return the derivative to those that are the extreme, in equal shares."""
    chosen = [each == node.y for each in node.inputs]
    share = node.derivative / np.maximum(sum(each.astype(node.y.dtype) for each in chosen), 1)
    return [share * each for each in chosen]


# Moving elements.


@gradient("CenterCropPad", "Compress", "Concat", "DepthToSpace", "Expand", "Flatten", "Gather", "GatherElements")
@gradient("GatherND", "Pad", "Reshape", "ReverseSequence", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile")
@gradient("Transpose", "Trilu", "Unsqueeze", "Where")
def moved(node: Node) -> Sequence[Any]:
    """Return each element the derivatives of the places where it went, found by moving its number."""
    first, numbers = 1, []
    for x in node.inputs:
        numbers.append(np.arange(first, first + x.size).reshape(x.shape) if _is_float(x) else x)
        first += x.size if _is_float(x) else 0
    node.context.reserve(4 * first, np.int64)
    attributes = dict(node.attributes)
    if "value" in attributes:
        attributes["value"] = 0  # of Pad: the number of no element
    if node.step.takes_context:
        attributes["context"] = node.context
    assert node.step.function is not None
    places = node.step.function(*numbers, **attributes)
    sums = np.zeros(first)
    for place, given in zip(places if isinstance(places, tuple) else (places,), node.derivatives, strict=False):
        if given is not None:
            sums += np.bincount(place.ravel(), given.ravel(), first)
    # np.take keeps the shape of a scalar.
    return [np.take(sums, each) if _is_float(x) else None for x, each in zip(node.inputs, numbers, strict=True)]


# Reductions, along the axes of an attribute or, later, of an input.


def _kept(node: Node, *values: Array) -> tuple[tuple[int, ...], list[Array]]:
    """Return the axes of a reduction, and values of its output's size with these axes kept as 1."""
    given = node.input(1, "axes")
    if given is None or not len(given):
        given = () if node.attributes.get("noop_with_empty_axes") else range(node.x.ndim)
    axes = tuple(normalised_axis(int(axis), node.x.ndim, "C1") for axis in given)
    shape = [1 if axis in axes else size for axis, size in enumerate(node.x.shape)]
    return axes, [each.reshape(shape) for each in values]


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


def _rule_of_slope(slope: Slope) -> Rule:
    def times_slope(node: Node) -> Sequence[Any]:
        _, (y, given) = _kept(node, node.y, node.derivative)
        return (given * slope(node.x, y),)

    return times_slope


for _name, _slope in SLOPES.items():
    gradient(_name)(_rule_of_slope(_slope))


@gradient("ReduceMean")
def reduce_mean(node: Node) -> Sequence[Any]:
    """Return an equal share to each element."""
    axes, (given,) = _kept(node, node.derivative)
    return (given / max(1, math.prod(node.x.shape[axis] for axis in axes)),)


@gradient("ReduceMax", "ReduceMin")
def reduce_extreme(node: Node) -> Sequence[Any]:
    """Return the derivative to the elements that are the extreme, in equal shares."""
    axes, (y, given) = _kept(node, node.y, node.derivative)
    chosen = node.x == y
    return (chosen * given / np.maximum(chosen.sum(axes, keepdims=True), 1),)


@gradient("ReduceProd")
def reduce_product(node: Node) -> Sequence[Any]:
    """Return the derivative times the product of all other elements."""
    axes, (given,) = _kept(node, node.derivative)
    zeros = node.x == 0
    others = np.where(zeros, 1, node.x).prod(axes, keepdims=True)
    count = zeros.sum(axes, keepdims=True)
    alone = np.where(count == 0, others / np.where(zeros, 1, node.x), 0)
    return (given * np.where(zeros & (count == 1), others, alone),)


@gradient("GlobalAveragePool")
def global_average(node: Node) -> Sequence[Any]:
    """Return an equal share to each place."""
    return (node.derivative / max(1, math.prod(node.x.shape[2:])),)


@gradient("Softmax", "LogSoftmax")
def softmax(node: Node) -> Sequence[Any]:
    """The derivative of shares, or of their logarithms, that are taken along an axis, before 13 of whole rows."""
    shape, y, given = node.x.shape, node.y, node.derivative
    axis = normalised_axis(node.attributes["axis"], len(shape), "C1")
    if node.version < 13:
        rows = (math.prod(shape[:axis]), math.prod(shape[axis:]))
        y, given, axis = y.reshape(rows), given.reshape(rows), 1
    if node.step.node.op_type == "Softmax":
        result = y * (given - (given * y).sum(axis, keepdims=True))
    else:
        result = given - np.exp(y) * given.sum(axis, keepdims=True)
    return (result.reshape(shape),)


# Products of matrices.


@gradient("MatMul")
def matmul(node: Node) -> Sequence[Any]:
    """Return to each the derivative times the other, turned over; a vector is a matrix of one row or column."""
    a, b = node.inputs
    left, right, given = a, b, node.derivative
    if a.ndim == 1:
        left, given = a[None, :], np.expand_dims(given, -1 if b.ndim == 1 else -2)
    if b.ndim == 1:
        right, given = b[:, None], np.expand_dims(given, -1)
    by_left, by_right = given @ right.swapaxes(-1, -2), left.swapaxes(-1, -2) @ given
    return (
        _summed(by_left, left.shape).reshape(a.shape),
        _summed(by_right, right.shape).reshape(b.shape),
    )


@gradient("Gemm")
def gemm(node: Node) -> Sequence[Any]:
    """Return the derivatives of a product, scaled, and of what is added."""
    a, b = node.inputs[:2]
    left = a.T if node.attributes["transA"] else a
    right = b.T if node.attributes["transB"] else b
    given = node.derivative * node.attributes["alpha"]
    by_a, by_b = given @ right.T, left.T @ given
    return (
        by_a.T if node.attributes["transA"] else by_a,
        by_b.T if node.attributes["transB"] else by_b,
        node.derivative * node.attributes["beta"],
    )


@gradient("Conv")
def convolution(node: Node) -> Sequence[Any]:
    """Return the derivatives by images, weights and bias, one place of the kernel after the other."""
    x, w = node.inputs[:2]
    given, group = node.derivative, node.attributes["group"]
    if not given.size:
        return ()
    rank, sizes = x.ndim - 2, w.shape[2:]
    strides = node.attributes["strides"] or (1,) * rank
    dilations = node.attributes["dilations"] or (1,) * rank
    reach = [(size - 1) * step + 1 for size, step in zip(sizes, dilations, strict=True)]
    begins = _begins(node, strides, reach)
    # Images large enough that every place of the kernel is inside for every output.
    ends = [(out - 1) * stride + each for out, stride, each in zip(given.shape[2:], strides, reach, strict=True)]
    extent = [max(end, begin + size) for end, begin, size in zip(ends, begins, x.shape[2:], strict=True)]
    inside: Any = (..., *(slice(begin, begin + size) for begin, size in zip(begins, x.shape[2:], strict=True)))
    node.context.reserve(2 * math.prod(x.shape[:2]) * math.prod(extent), x.dtype)
    padded = np.zeros((*x.shape[:2], *extent), x.dtype)
    padded[inside] = x
    by_padded, by_w = np.zeros_like(padded), np.zeros_like(w)
    channels, features = x.shape[1] // group, w.shape[0] // group
    grouped = given.reshape(len(x), group, features, -1)
    weights = w.reshape(group, features, channels, *sizes)
    by_weights = by_w.reshape(weights.shape)
    for place in np.ndindex(*sizes):
        node.context.check_time()
        seen: Any = (
            ...,
            *(
                slice(at * dilation, at * dilation + (out - 1) * stride + 1, stride)
                for at, dilation, out, stride in zip(place, dilations, given.shape[2:], strides, strict=True)
            ),
        )
        pixels = padded[seen].reshape(len(x), group, channels, -1)
        by_weights[(..., *place)] = np.einsum("ngfp,ngcp->gfc", grouped, pixels, optimize=True)
        spread = np.einsum("ngfp,gfc->ngcp", grouped, weights[(..., *place)], optimize=True)
        by_padded[seen] += spread.reshape(padded[seen].shape)
    return by_padded[inside], by_w, given.sum((0, *range(2, given.ndim)))


def _begins(node: Node, strides: Sequence[int], reach: Sequence[int]) -> list[int]:
    """Return how much stands before the image along each dimension."""
    mode, pads = node.attributes["auto_pad"], node.attributes["pads"]
    if mode == "VALID" or (mode == "NOTSET" and not pads):
        return [0] * len(strides)
    if mode == "NOTSET":
        return [*pads[: len(strides)]]
    missing = [
        max(0, (out - 1) * stride + each - size)
        for out, stride, each, size in zip(node.y.shape[2:], strides, reach, node.x.shape[2:], strict=True)
    ]
    return [each // 2 if mode == "SAME_UPPER" else each - each // 2 for each in missing]
