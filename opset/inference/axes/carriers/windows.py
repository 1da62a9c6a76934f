"""Operators that take each image, signal or sequence on its own."""

from __future__ import annotations

from collections.abc import Sequence

from opset.inference.axes.carriers.elementwise import require_other
from opset.inference.axes.places import Blocked, Place, carries
from opset.inference.axes.steps import AxisStep
from opset.inference.building.dimensions import equal

PER_IMAGE = """
AveragePool Conv ConvTranspose ConvInteger DepthToSpace GlobalAveragePool GlobalLpPool GlobalMaxPool
GroupNormalization InstanceNormalization LpPool LRN QLinearConv SpaceToDepth
Col2Im STFT
""".split()


@carries(*PER_IMAGE)
def per_image(step: AxisStep) -> Place:
    """Return the Place of the resized axis in the output of Conv, AveragePool and the like: the first axis, the batch.

    Raises Blocked if the axis is not the first axis of the first input, or if another input has it.
    """
    step.require_shared(*range(1, step.count))
    place = step.data_place()
    require_other(step, place, *range(1, len(step.shape(0))))
    return place


@carries("MaxPool")
def max_pool(step: AxisStep) -> Place:
    """Return the Place of the resized axis in the output of MaxPool: the first axis, the batch.

    Raises Blocked if the resized axis is another one. Raises Blocked, too, if the node has the second output, whose
    numbers are positions among the elements of all slices.
    """
    place = step.data_place()
    if len(step.outputs) > 1:
        raise Blocked("its second output counts elements of all slices")
    require_other(step, place, *range(1, len(step.shape(0))))
    return place


@carries("BatchNormalization")
def batch_normalization(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the output of BatchNormalization.

    It is the place in the first input. Raises Blocked if the axis is the axis of channels, if another input has the
    axis, if the node computes statistics from the input, or if the attribute `spatial` is 0.
    """
    step.require_shared(*range(1, step.count))
    place = step.data_place()
    if step.call.attribute("training_mode") or len(step.outputs) > 1 or step.call.attribute("is_test") == 0:
        raise Blocked("it computes its statistics from all slices")
    if step.call.attribute("spatial") == 0:
        raise Blocked("its statistics are not those of channels alone")
    require_other(step, place, 1)
    return place


@carries("DFT")
def dft(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the output of DFT: its place in the signal.

    Raises Blocked if the node transforms along the axis, or along an axis that is not known. Raises Blocked, too, if
    the axis is the last one, which holds real and imaginary parts, or if another input has it.
    """
    step.require_shared(1, 2)
    place = step.data_place()
    rank = len(step.shape(0))
    (axis,) = step.numbers(2, "axis") or (-2,)
    if not isinstance(axis, int):
        raise Blocked("its axis is not known")
    require_other(step, place, step.axis(axis, rank), rank - 1)
    return place


@carries("GridSample")
def grid_sample(step: AxisStep) -> Place:
    """Return the first axis as the Place of the resized axis in the output of GridSample: the batch.

    If only one of the two inputs has the axis, the other one is repeated along its first axis. Raises Blocked if the
    resized axis is not the first axis of an input, or is merged with another axis, or if an input cannot be repeated.
    """
    for index in (0, 1):
        place = step.own_place(index)
        if place is None:
            step.repeat(index, 0)
        else:
            require_other(step, place, *range(1, len(step.shape(index))))
    return Place(0)


@carries("RNN", "GRU", "LSTM")
def recurrent(step: AxisStep) -> list[Place] | None:
    """Return the Places of the resized axis in the three outputs of RNN, GRU or LSTM; it has to be the batch.

    The result is None if the first input, X, lacks the resized axis. If X has it, but `sequence_lens` or an initial
    state lacks it, this input is repeated along its batch axis.

    Raises Blocked in these cases:

    - an input has the resized axis at another position than its batch axis;
    - an input has the resized axis merged with another axis;
    - `sequence_lens` or an initial state has the resized axis, and X lacks it;
    - `sequence_lens` or an initial state cannot be repeated;
    - weights have the resized axis.
    """
    step.require_shared(1, 2, 3, 7)
    place = step.own_place(0)
    first = bool(step.call.attribute("layout"))
    batch = 0 if first else 1
    if place is None:
        step.require_shared(4, 5, 6)
        return None
    require_other(step, place, 1 - batch, 2)
    for index, axis in ((4, 0), (5, batch), (6, batch)):
        if not step.call.has(index):
            continue
        given = step.own_place(index)
        if given is None:
            step.repeat(index, axis)
        elif given.axis != axis:
            raise Blocked(f"it has the slices along another axis of {step.call.parameter(index)}")
    return [Place(0 if first else 2), Place(batch), Place(batch)]


@carries("Resize", "Upsample", sizes=(3,))
def resize(step: AxisStep) -> Place | None:
    """Return the Place of the resized axis (such as the batch) in the output of the operators Resize and Upsample.

    It is the place in the first input, or None if that does not have the axis. If the input `sizes` has the old size
    along the axis, it gets the new size. Raises Blocked if the node scales along the axis, or if its scale there is
    unknown. Raises Blocked, too, if a size along another axis depends on the resized axis, or if the node crops.
    """
    step.require_shared(1, 2, 3)
    place = step.place(0)
    sizes = step.numbers(3)
    if place is None:
        if any(map(step.depends_on_axis, sizes)):
            raise Blocked("its sizes follow the axis, but its data does not have it")
        return None
    rank = len(step.shape(0))
    if step.call.attribute("coordinate_transformation_mode") == "tf_crop_and_resize":
        raise Blocked("it crops by a region of interest")
    axes = step.call.attribute("axes") or range(rank)
    axes = [step.axis(axis, rank) for axis in axes]
    if equal(step.output_shape()[place.axis], step.shape(0)[place.axis]) is not True:
        raise Blocked("it resizes along the axis")
    for axis, size in zip(axes, sizes, strict=False):
        if axis != place.axis and step.depends_on_axis(size):
            raise Blocked(f"its size along axis {axis} follows the resized axis, which is axis {place.axis}")
    if place.axis not in axes:
        return place
    position = axes.index(place.axis)
    if sizes:
        wanted = place.size(step.after)
        if equal(sizes[position], wanted) is not True:
            step.set_elements(3, [*sizes[:position], wanted, *sizes[position + 1 :]], "the output has the same size")
        return place
    scales = step.call.constant(1 if step.call.version in (9, 10) else 2)
    given = scales.values if scales is not None else step.call.attribute("scales") or ()
    if len(given) != len(axes) or given[position] != 1:
        raise Blocked("its scale along the axis is not known to be 1")
    return place


@carries("Attention")
def attention(step: AxisStep) -> Sequence[Place | None]:
    """Return Place(0) for each output of Attention: the resized axis is the batch, the first axis.

    Queries, keys and values, also past ones, are repeated along their first axis if they lack the resized axis.

    Raises Blocked in these cases:

    - queries, keys or values have the resized axis as another axis than the first, or cannot be repeated;
    - a mask has the resized axis, but not as the first of four axes;
    - a mask of rank 4 lacks the resized axis, and its first size is not 1;
    - the node has the input `nonpad_kv_seqlen`.
    """
    for index in (0, 1, 2, 4, 5):
        if not step.call.has(index):
            continue
        place = step.own_place(index)
        if place is None:
            step.repeat(index, 0)
        else:
            require_other(step, place, *range(1, len(step.shape(index))))
    if step.call.has(6):
        raise Blocked("it has lengths for each sample, which are not followed")
    if step.call.has(3):
        mask = step.own_place(3)
        rank = len(step.shape(3))
        if (mask is not None and (mask.axis or rank != 4)) or (mask is None and rank == 4 and step.shape(3)[0] != 1):
            raise Blocked("its mask has the slices along another axis")
    return [Place(0)] * len(step.outputs)
