"""Operators that pick elements, and put elements in places."""

from __future__ import annotations

from collections.abc import Sequence

from opset.inference.axes.carriers.arranging import repeat_others
from opset.inference.axes.carriers.elementwise import require_other
from opset.inference.axes.places import Blocked, Place, carries
from opset.inference.axes.steps import AxisStep
from opset.inference.building.dimensions import Size, equal

FAR = 2**31 - 1
"""An end from which on exporters mean the end of the data."""
END = 2**63 - 1


@carries("Slice", sizes=(2,))
def slice_(step: AxisStep) -> Place | None:
    """Return the Place of the resized axis (such as the batch) in the output of Slice, or None if the data lacks it.

    If the end along the axis is the old size, it is changed to the largest integer, so that the node takes all slices
    at any size. Raises Blocked in these cases:

    - the node takes only a part of the axis;
    - the end and the old size are both 1, which may mean the first slice or all slices;
    - an end along another axis depends on the resized axis;
    - starts, ends, axes or steps are unknown, or have the resized axis.
    """
    step.require_shared(1, 2, 3, 4)
    place = step.place(0)
    if place is None:
        if any(map(step.depends_on_axis, step.numbers(2, "ends"))):
            raise Blocked("an end follows the axis, but its data does not have it")
        return None
    rank = len(step.shape(0))
    starts, ends = step.numbers(1, "starts"), step.numbers(2, "ends")
    given = step.numbers(3, "axes")
    steps = step.numbers(4) if step.call.has(4) else (1,) * len(starts)
    axes = step.axes(given or range(len(starts)), rank)
    whole = place.size(step.after)
    positions = [position for position, axis in enumerate(axes) if axis == place.axis]
    for position in positions:
        if starts[position] != 0 or not steps or steps[position] != 1:
            raise Blocked("it takes a part along the axis")
        _keep_end(step, place, ends, position, whole)
    for position, end in enumerate(ends):
        if position not in positions and step.depends_on_axis(end):
            raise Blocked("an end along another axis follows the axis")
    return place


def _keep_end(step: AxisStep, place: Place, ends: Sequence[Size], position: int, whole: Size) -> None:
    """Change the end of a Slice along the resized axis to the largest integer if it is the old size of the axis.

    The Slice then takes all slices at any size. An end that is the new size, or at least 2**31 - 1, takes all slices
    already, and is not changed.

    Args:
        step: the Slice.
        place: the place of the resized axis in the data.
        ends: the ends that the node states.
        position: the position of the axis in `ends`.
        whole: the new size of the axis.

    Raises:
        Blocked: the end takes only a part of the axis; or the end and the old size are both 1, which may mean the first
            slice or all slices.
    """
    end = ends[position]
    if equal(end, whole) is True or (isinstance(end, int) and end >= FAR):
        return
    was = step.shape(0)[place.axis]
    if equal(end, was) is not True or was == 1:
        raise Blocked(
            f"it takes the elements before {end} along the axis, which may mean all of them, or the first alone"
            if equal(end, was) is True
            else "it takes a part along the axis"
        )
    ends = [*ends[:position], FAR if step.call.dtype(2) == "int32" else END, *ends[position + 1 :]]
    if step.call.version == 1:
        step.set_attribute("ends", ends, "all along the axis")
    else:
        step.set_elements(2, ends, "all along the axis")


@carries("Gather")
def gather(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the output of Gather.

    The axes of the indices replace the axis along which the node picks; later axes of the data move behind them. Raises
    Blocked if both inputs have the resized axis, or if the node picks along the resized axis.
    """
    data, indices = step.place(0), step.place(1)
    axis = step.axis(step.call.attribute("axis"), len(step.shape(0)))
    if indices is not None and data is None:
        return indices._replace(axis=axis + indices.axis)
    data = step.data_place()
    if indices is not None:
        raise Blocked("it would pick elements of each slice at the positions of each other one")
    if data.axis == axis:
        raise Blocked("it picks slices by their positions")
    return data._replace(axis=data.axis + (len(step.shape(1)) - 1) * (data.axis > axis))


@carries("GatherElements")
def gather_elements(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in GatherElements' output.

    All inputs have the axis in the same place; one without it is repeated along it. Raises Blocked if elements are
    picked along the axis, or if the places differ.
    """
    return _same_place(step, step.call.attribute("axis"))


@carries("ScatterElements", "Scatter")
def scatter_elements(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the output of ScatterElements or Scatter.

    All inputs have the axis in the same place; one without it is repeated along it. Raises Blocked if elements are
    written along the axis, or if the places differ.
    """
    return _same_place(step, step.call.attribute("axis"))


def _same_place(step: AxisStep, along: int) -> Place:
    """Return the Place of the resized axis, which must be the same in all inputs.

    An input without the resized axis is repeated along it. `along` is the axis along which the operator works; a
    negative one counts from the end. Raises Blocked if `along` is the resized axis, if the places differ, or if an
    input cannot be repeated.
    """
    found = {place for index in range(step.count) if (place := step.place(index)) is not None}
    if len(found) > 1:
        raise Blocked("its inputs have the slices along different axes")
    (place,) = found
    require_other(step, place, step.axis(along, len(step.shape(0))))
    repeat_others(step, place, range(step.count))
    return place


@carries("GatherND")
def gather_nd(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the output of GatherND.

    Raises Blocked unless the axis is one of these:

    - one of the `batch_dims`, at the same place in data and indices;
    - an axis of the data alone, behind the axes that are indexed;
    - an axis of the indices alone, other than the last one, in a node without `batch_dims`.
    """
    data, indices = step.place(0), step.place(1)
    shared = step.call.attribute("batch_dims") or 0
    tuples = len(step.shape(1)) - 1
    if data is None and indices is not None and not shared:
        require_other(step, indices, tuples)
        return indices
    picked = step.shape(1)[tuples]
    if indices is None and data is not None and isinstance(picked, int) and data.axis >= shared + picked:
        return data._replace(axis=data.axis - picked - shared + tuples)
    if data is None or data != indices or data.axis >= shared:
        raise Blocked("it picks slices by their positions")
    return data


@carries("OneHot")
def one_hot(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the output of OneHot.

    It is the place in the indices, moved by one if the new axis is inserted in front of it. Raises Blocked if depth or
    values have the resized axis.
    """
    step.require_shared(1, 2)
    place = step.data_place()
    axis = step.axis(step.call.attribute("axis"), len(step.shape(0)) + 1)
    return place._replace(axis=place.axis + (axis <= place.axis))


@carries("Trilu")
def trilu(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the output of Trilu.

    It is the place in the data. Raises Blocked if the axis is one of the last two axes, rows and columns of a matrix,
    or if the second input has it.
    """
    step.require_shared(1)
    place = step.data_place()
    rank = len(step.shape(0))
    require_other(step, place, rank - 2, rank - 1)
    return place


@carries("ReverseSequence")
def reverse_sequence(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the output of ReverseSequence: the Place in its data.

    If `sequence_lens` does not have the axis, its first length is repeated up to the new size. Raises Blocked if the
    resized axis is not the `batch_axis` of the data. Raises Blocked if it is merged with another axis. Raises Blocked
    if `sequence_lens` cannot be repeated, such as one with different lengths.
    """
    data, lengths = step.own_place(0), step.own_place(1)
    axis = step.call.attribute("batch_axis")
    if data is None or data.axis != axis:
        raise Blocked("its slices lie along another axis")
    if lengths is None:
        step.repeat(1, 0)
    return data
