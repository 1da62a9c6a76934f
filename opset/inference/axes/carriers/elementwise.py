"""Operators that compute each element, or each row along another axis, from those at the same position."""

from __future__ import annotations

from collections.abc import Sequence

from opset.inference.axes.places import Blocked, Place, carries
from opset.inference.axes.steps import AxisStep

UNARY = """
Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish Identity
IsInf IsNaN LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt
Swish Tan Tanh ThresholdedRelu Cast Clip Dropout
""".split()
BROADCASTING = """
Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mod Mul
Or Pow PRelu Sub Sum Where Xor
""".split()
ALONG_ONE = ["CumSum", "Hardmax", "LogSoftmax", "LpNormalization", "Softmax", "TopK"]

CONVERT_FIRST = "convert the model to opset 8 or newer first"


def broadcast_place(step: AxisStep, indices: Sequence[int]) -> Place:
    """Return the Place of the resized axis (such as the batch) in the shape to which inputs of a node broadcast.

    At least one of the inputs at `indices` has the resized axis. An input without this axis must have size 1 or no
    dimension at the place of the axis. An input of the old size is also allowed if its slices are certainly equal: the
    node is then changed to read only the first slice.

    Raises Blocked if an input has any other size there, or if two inputs have the resized axis at different places.
    """
    rank = max(len(step.shape(index)) for index in indices)
    found = {
        place._replace(axis=place.axis + rank - len(step.shape(index)))
        for index in indices
        if (place := step.place(index)) is not None
    }
    if len(found) != 1:
        raise Blocked("it would combine each slice with each other one")
    (place,) = found
    for index in indices:
        axis = place.axis - (rank - len(step.shape(index)))
        if step.place(index) is not None or axis < 0 or step.shape(index)[axis] == 1:
            continue
        if not step.is_old_size(step.shape(index)[axis]):
            raise Blocked(f"{step.shape(index)[axis]} elements of another input stand along it")
        step.narrow(index, axis)
    return place


@carries(*UNARY)
def unary(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the output of Relu, Cast, Clip, Dropout and the like.

    It is the place in the first input. Raises Blocked if another input has the axis, or if the node draws random
    numbers.
    """
    if step.call.schema.name == "Dropout" and step.call.has(2):
        training = step.elements(2)
        if training is None or any(training.values):
            raise Blocked("it draws random numbers")
    if step.call.attribute("is_test") == 0:
        raise Blocked("it draws random numbers")
    step.require_shared(*range(1, step.count))
    return step.data_place()


@carries(*BROADCASTING)
def broadcasting(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the output of Add, Where and the like.

    An input without the axis may be cut to one slice if its slices are certainly equal. Raises Blocked if they may
    differ, or if two inputs have the axis in different places. In early versions of the operators, Blocked is also
    raised if an input without the axis is no scalar.
    """
    name = step.call.schema.name
    others = [index for index in range(step.count) if step.place(index) is None]
    if step.call.version < 7 and any(map(step.shape, others)):
        raise Blocked(f"{name} {step.call.version} broadcasts in another way than later versions", CONVERT_FIRST)
    return broadcast_place(step, range(step.count))


@carries("QuantizeLinear", "DequantizeLinear")
def quantize(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the output of QuantizeLinear or DequantizeLinear.

    It is the place in the first input. Raises Blocked if scales differ along the axis, or if scales or zero points have
    it themselves.
    """
    step.require_shared(1, 2)
    place = step.data_place()
    rank = len(step.shape(0))
    if len(step.shape(1)) == 1 and step.shape(1) != (1,):
        require_other(step, place, step.axis(1 if step.call.version == 10 else step.call.attribute("axis"), rank))
    elif len(step.shape(1)) > 1 and step.shape(1)[place.axis] != 1:
        raise Blocked("its scales differ along it")
    return place


def require_other(step: AxisStep, place: Place, *axes: int) -> None:
    """Raise Blocked if `axes`, along which the node combines elements, contain the axis at `place`.

    The axes are counted from 0.
    """
    if place.axis in axes:
        raise Blocked(f"it combines elements along axis {place.axis}, which holds the slices")


@carries(*ALONG_ONE)
def along_one(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the outputs of Softmax, CumSum, TopK and the like.

    It is the place in the first input. Raises Blocked if the node combines elements along the axis, or if another input
    has it. Before version 13, Softmax, LogSoftmax and Hardmax combine along all axes from `axis` on.
    """
    step.require_shared(*range(1, step.count))
    place = step.data_place()
    rank = len(step.shape(0))
    name = step.call.schema.name
    given = next(iter(step.numbers(1)), None) if name == "CumSum" else step.call.attribute("axis")
    if not isinstance(given, int):
        raise Blocked("its axis is not known")
    axis = step.axis(given, rank)
    flattens = name in ("Softmax", "LogSoftmax", "Hardmax") and step.call.version < 13
    require_other(step, place, *(range(axis, rank) if flattens else (axis,)))
    return place


@carries("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")
def loss(step: AxisStep) -> Sequence[Place | None]:
    """Return the Places of the resized axis in the losses and log-probabilities of SoftmaxCrossEntropyLoss.

    The losses have the axis in the place of the labels, the log-probabilities in the place of the scores.
    NegativeLogLikelihoodLoss has only the losses. Raises Blocked in these cases:

    - the losses are reduced;
    - the axis counts the classes;
    - the weights have the axis;
    - only the scores or only the labels have the axis;
    - scores and labels have the axis in different places.
    """
    step.require_shared(2)
    scores, labels = step.place(0), step.place(1)
    if step.call.attribute("reduction") != "none":
        raise Blocked("it combines the losses of all slices")
    if scores is None or labels is None:
        raise Blocked("the scores or the labels alone have the slices")
    require_other(step, scores, 1)
    if labels != scores._replace(axis=max(scores.axis - 1, 0)):
        raise Blocked("its inputs have the slices along different axes")
    return [labels, scores]


@carries("LayerNormalization", "RMSNormalization")
def normalize_behind(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the output of LayerNormalization or RMSNormalization.

    It is the place in the first input. Raises Blocked if the axis is among those that are normalized, from the
    attribute `axis` on, or if another input has it.
    """
    step.require_shared(1, 2)
    place = step.data_place()
    rank = len(step.shape(0))
    require_other(step, place, *range(step.axis(step.call.attribute("axis"), rank), rank))
    return place


REDUCTIONS = """
ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare
""".split()


@carries(*REDUCTIONS)
def reduce(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the result of ReduceSum and other reductions.

    If `keepdims` is 0, the axis is lower by one for each reduced axis in front of it. Raises Blocked if the axis is
    reduced, if the axes or the rank are unknown, or if the input of axes has the resized axis.
    """
    axes = step.numbers(1, "axes")
    rank = len(step.shape(0))
    if not axes:
        axes = () if step.call.attribute("noop_with_empty_axes") else tuple(range(rank))
    return _place_without(step, step.axes(axes, rank))


@carries("ArgMax", "ArgMin")
def arg_reduce(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the result of ArgMax or ArgMin.

    The axis is lower by one than in the input if the reduced axis was in front of it, and `keepdims` is 0. Raises
    Blocked if the node reduces the resized axis: the results would be positions along it.
    """
    return _place_without(step, [step.axis(step.call.attribute("axis"), len(step.shape(0)))])


def _place_without(step: AxisStep, axes: Sequence[int]) -> Place:
    """Return the Place of the resized axis in the output of a node that reduces `axes`, with or without `keepdims`.

    `axes` are counted from 0. Raises Blocked if the resized axis is one of them.
    """
    place = step.data_place()
    require_other(step, place, *axes)
    return (
        place
        if step.call.attribute("keepdims")
        else place._replace(axis=place.axis - sum(a < place.axis for a in axes))
    )


@carries("MeanVarianceNormalization")
def normalize_axes(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the output of MeanVarianceNormalization.

    It is the place in the input. Raises Blocked if the axis is one of the attribute `axes`, which are normalized.
    """
    place = step.data_place()
    rank = len(step.shape(0))
    require_other(step, place, *(step.axis(axis, rank) for axis in step.call.attribute("axes")))
    return place
