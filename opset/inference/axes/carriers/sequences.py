"""Sequences, of which each element has the axis at the same place, or none has it."""

from __future__ import annotations

from collections.abc import Sequence

from opset.inference.axes.carriers.elementwise import require_other
from opset.inference.axes.places import Blocked, Place, carries
from opset.inference.axes.steps import AxisStep


@carries("SequenceConstruct")
def construct(step: AxisStep) -> Place | None:
    """Return the Place that the resized axis (such as the batch) has in all elements of SequenceConstruct's output.

    The result is None if no element has the axis. Raises Blocked if only some elements have it, or if they have it in
    different places.
    """
    return _common_place(step, range(step.count))


@carries("SequenceInsert")
def insert(step: AxisStep) -> Place | None:
    """Return the Place that the resized axis (such as the batch) has in all elements of SequenceInsert's output.

    The result is None if neither the sequence nor the new element has the axis. An empty sequence fits any place.
    Raises Blocked if the places differ, or only one has the axis.
    """
    step.require_shared(*range(2, step.count))
    return step.place(1) if step.is_empty_sequence(0) else _common_place(step, (0, 1))


@carries("SequenceAt", "SequenceErase")
def take(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the output of SequenceAt or SequenceErase.

    It is the place in the elements of the sequence. Raises Blocked if the position has the axis.
    """
    step.require_shared(*range(1, step.count))
    return step.data_place()


@carries("SequenceLength")
def length(step: AxisStep) -> Place | None:
    """Return None for SequenceLength: the number of elements of a sequence does not depend on their sizes."""
    return None


@carries("ConcatFromSequence")
def join(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the output of ConcatFromSequence.

    With `new_axis`, a new axis in front of the resized axis moves it by one. Raises Blocked if the elements are joined
    along the resized axis.
    """
    place = step.data_place()
    axis = step.axis(step.call.attribute("axis"), len(step.output_shape()))
    if step.call.attribute("new_axis"):
        return place._replace(axis=place.axis + (place.axis >= axis))
    require_other(step, place, axis)
    return place


@carries("SplitToSequence")
def split(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in each part that SplitToSequence makes.

    It is the place in the tensor. If `keepdims` is 0 and the second input is absent, the axis of the split is removed,
    and axes behind it are lower by one. Raises Blocked if the tensor is split along the resized axis, or if another
    input has it.
    """
    step.require_shared(*range(1, step.count))
    place = step.data_place()
    axis = step.axis(step.call.attribute("axis"), len(step.shape(0)))
    require_other(step, place, axis)
    drops = not step.call.has(1) and not step.call.attribute("keepdims")
    return place._replace(axis=place.axis - (drops and place.axis > axis))


def _common_place(step: AxisStep, indices: Sequence[int]) -> Place | None:
    """Return the Place of the resized axis that the inputs at `indices` have in common, or None if none has it.

    Raises Blocked if the inputs have the axis in different places, or only some have it.
    """
    found = {step.place(index) for index in indices}
    if len(found) > 1:
        raise Blocked("the elements of the sequence have the slices at different places, or some have none")
    return found.pop() if found else None
