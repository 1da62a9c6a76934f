"""Operators that arrange elements as another shape, join and part them, and repeat them."""

from __future__ import annotations

from collections.abc import Sequence

from opset.inference.axes.carriers.elementwise import require_other
from opset.inference.axes.places import Blocked, Place, carries, places_in, quotient
from opset.inference.axes.steps import AxisStep
from opset.inference.building.dimensions import Dim, Size, equal
from opset.inference.building.shapes import resolve_reshape
from opset.schemas.constraints.violation import Violation


@carries("Reshape", sizes=(1,))
def reshape(step: AxisStep) -> Place | None:
    """Return the Place of the resized axis (such as the batch) in the output of Reshape, or None if the data lacks it.

    The node may state its shape with the old size. This shape is then replaced by one that is right for every new size.
    Raises Blocked if elements of several slices would be merged into one slice, or if there is no such shape.
    """
    place = step.place(0)
    if place is None:
        if any(map(step.depends_on_axis, step.numbers(1))):
            raise Blocked("its shape follows the axis, but its data does not have it")
        return None
    before = step.shape(0)
    target = step.output_shape()
    wanted = step.numbers(1, "shape")
    zero_is_zero = bool(step.call.attribute("allowzero"))
    candidates = places_in(before, place, step.before, target)
    if not candidates:
        raise Blocked("it takes elements of several slices together")
    if any(step.depends_on_axis(size) for size in wanted):
        candidates = [each for each in candidates if _resolves_to(step, wanted, zero_is_zero, each)]
        if not candidates:
            raise Blocked("it takes elements of several slices together at another size")
    chosen = step.choose([each for each in candidates if each.is_own] or candidates)
    if not _resolves_to(step, wanted, zero_is_zero, chosen):
        _replace_stated_shape(step, wanted, zero_is_zero, chosen)
    return chosen


def _resolves_to(step: AxisStep, wanted: Sequence[Size], zero_is_zero: bool, place: Place) -> bool:
    """Whether a Reshape to the sizes `wanted` puts the resized axis at `place` in its output, whatever the new size is.

    With `zero_is_zero`, a 0 in `wanted` means the size 0, and not the input's size. Raises Blocked if the output's
    shape is unknown.
    """
    try:
        found = resolve_reshape(step.shape_after(0), wanted, zero_is_zero)
    except Violation:
        return False
    expected = step.output_after(place)
    return len(found) == len(expected) and all(equal(a, b) is True for a, b in zip(found, expected, strict=True))


def _replace_stated_shape(step: AxisStep, wanted: Sequence[Size], zero_is_zero: bool, place: Place) -> None:
    """Change the constant shape of a Reshape so that its output keeps the resized axis at `place` with any new size.

    The size at `place` becomes 0, -1 or the size that the output has after the change. A -1 elsewhere may become the
    size that it stood for.

    `wanted` is the present shape. `zero_is_zero` says whether a 0 in it means the size 0 instead of the input's size.

    Raises Blocked if none of these sizes works, or if the new shape cannot be written into the model.
    """
    after = step.output_after(place)
    was = step.output_shape()
    given = [size if size != -1 else was[axis] for axis, size in enumerate(wanted)]
    why = f"the axis is axis {place.axis} of the result"
    for known, size in ((wanted, 0), (given, -1), (wanted, after[place.axis])):
        sizes: list[Size] = [*known[: place.axis], size, *known[place.axis + 1 :]]
        if isinstance(size, int) and not all(isinstance(each, int) for each in sizes):
            continue  # a size of the data, which no constant can hold
        if _resolves_to(step, sizes, zero_is_zero, place):
            break
    else:
        raise Blocked("no constant shape keeps the axis apart")
    if step.call.version == 1:
        step.set_attribute("shape", sizes, why)
    else:
        step.set_elements(1, sizes, why)


@carries("Flatten")
def flatten(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in Flatten's output.

    The output is a matrix. If the axis is in front of the attribute `axis`, it becomes a part of the rows, else a part
    of the columns. Raises Blocked if a shape is unknown, or if the sizes do not show where the axis is, as with a size
    of 0.
    """
    place = step.data_place()
    axis = step.axis(step.call.attribute("axis"), len(step.shape(0)))
    candidates = places_in(step.shape(0), place, step.before, step.output_shape())
    kept = [each for each in candidates if each.axis == (0 if place.axis < axis else 1)]
    if not kept:
        raise Blocked("it takes elements of several slices together")
    return kept[0]


@carries("Transpose")
def transpose(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the output of Transpose: where `perm` moves it.

    Raises Blocked if the attribute `perm` is absent and the rank is unknown.
    """
    place = step.data_place()
    order = step.call.attribute("perm") or tuple(reversed(range(len(step.shape(0)))))
    return place._replace(axis=order.index(place.axis))


@carries("Unsqueeze")
def unsqueeze(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in Unsqueeze's output.

    Each axis that is inserted in front of the resized axis moves it by one. Raises Blocked if the first input does not
    have the resized axis, if the second input has it, or if the second input's elements or the rank are unknown.
    """
    step.require_shared(1)
    place = step.data_place()
    axes = step.numbers(1, "axes")
    rank = len(step.shape(0)) + len(axes)
    inserted = step.axes(axes, rank)
    rest = [axis for axis in range(rank) if axis not in inserted]
    return place._replace(axis=rest[place.axis])


@carries("Squeeze")
def squeeze(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the output of Squeeze.

    Raises Blocked if the node removes the axis. A node that names no axes removes each axis of size 1. Such a node is
    nearly always refused, since another size may change which axes it removes.
    """
    step.require_shared(1)
    place = step.data_place()
    shape = step.shape(0)
    if not step.call.has(1) and step.call.attribute("axes") is None:
        removed = {axis for axis, size in enumerate(shape) if equal(size, 1) is True}
        why = "it removes each axis of size 1, so the axis is lost at this size and stays at others"
        if place.axis in removed or isinstance(shape[place.axis], Dim):
            raise Blocked(why, "name the axes that it removes")
        if place.is_own:
            raise Blocked(
                "it removes each axis of size 1, and the axis may become one", "name the axes that it removes"
            )
    else:
        removed = {*step.axes(step.numbers(1, "axes"), len(shape))}
        if place.axis in removed:
            raise Blocked("it removes the axis, which may only have size 1")
    return place._replace(axis=place.axis - sum(axis < place.axis for axis in removed))


@carries("Concat")
def concat(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the output of Concat.

    It is the place in the inputs; an input without the axis is repeated along it. Raises Blocked if inputs are joined
    along the axis, if they have it in different places, or if an input cannot be repeated.
    """
    found = {place for index in range(step.count) if (place := step.place(index)) is not None}
    if len(found) > 1:
        raise Blocked("its inputs have the slices along different axes")
    (place,) = found
    given = step.call.attribute("axis")
    require_other(step, place, step.axis(1 if given is None else given, len(step.output_shape())))
    repeat_others(step, place, range(step.count))
    return place


def repeat_others(step: AxisStep, place: Place, indices: Sequence[int]) -> None:
    """Repeat inputs that lack the resized axis, so that all inputs at `indices` have the axis at `place`.

    The node is changed to read the output of a new Expand. Raises Blocked if the axis at `place` is merged with others,
    or if an input cannot be repeated.
    """
    for index in indices:
        if step.place(index) is None:
            if not place.is_own:
                raise Blocked("an input without it stands beside one that has it merged with another axis")
            step.repeat(index, place.axis)


@carries("Split")
def split(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in each output of Split.

    It is the place in the input. Raises Blocked if the node splits along the axis, or if another input has it.
    """
    step.require_shared(1)
    place = step.data_place()
    require_other(step, place, step.axis(step.call.attribute("axis") or 0, len(step.shape(0))))
    return place


@carries("Expand", sizes=(1,))
def expand(step: AxisStep) -> Place | None:
    """Return the Place of the resized axis (such as the batch) in the output of Expand.

    The result is None if neither data nor shape depend on the axis. The second input, the shape, may state the old size
    along the axis of the data. This size is then changed to 1, which keeps the size of the data.

    Raises Blocked if the node would repeat the slices, or if a size along another axis depends on the resized axis.
    Raises Blocked, too, if the shape is unknown, or is itself a value with the resized axis.
    """
    wanted = step.numbers(1)
    shape = step.shape(0)
    rank = max(len(shape), len(wanted))
    place = step.place(0)
    sized = [axis + rank - len(wanted) for axis, size in enumerate(wanted) if step.depends_on_axis(size)]
    if place is None:
        return _place_of_filling(step, wanted, ((1,) * (rank - len(shape)) + shape)[rank - len(wanted) :])
    aligned = place._replace(axis=place.axis + rank - len(shape))
    position = aligned.axis - (rank - len(wanted))
    if sized not in ([], [aligned.axis]):
        raise Blocked("its shape has the size along another axis, too")
    size = wanted[position] if position >= 0 else 1
    if sized and equal(size, place.size(step.after)) is not True:
        raise Blocked("its shape has another size along the axis")
    if not sized and size != 1:
        if equal(size, shape[place.axis]) is not True:
            raise Blocked(f"it makes {size} elements of each slice along the axis")
        step.set_elements(1, [*wanted[:position], 1, *wanted[position + 1 :]], "1 keeps the size of the data")
    return aligned


def _place_of_filling(step: AxisStep, wanted: Sequence[Size], available: Sequence[Size]) -> Place | None:
    """Return the Place of the resized axis in the output of an Expand or ConstantOfShape.

    The node states the shape of its output. The Place is the axis whose stated size depends on the new size of the
    resized axis. The result is None if no stated size depends on it.

    The data of an Expand may have the old size along this axis. Then the node is changed to read only the first slice
    of the data, which requires that all slices are equal.

    Args:
        step: the node.
        wanted: the stated shape in the resized model.
        available: the shape of the data, with one size for each in `wanted`.

    Raises:
        Blocked: two stated sizes depend on the new size N of the resized axis; a stated size is no multiple of N, such
            as N + 1; or the data has another size than 1 along the axis, and cannot be cut to its first slice.
    """
    sized = [axis for axis, size in enumerate(wanted) if step.depends_on_axis(size)]
    if not sized:
        return None
    if len(sized) > 1:
        raise Blocked("two sizes of its shape follow the axis")
    axis = sized[0]
    inner = quotient(wanted[axis], step.after)
    if inner is None or step.depends_on_axis(inner):
        raise Blocked(f"the size that its shape has along axis {axis} is no multiple of the number of slices")
    if available[axis] != 1:
        if not step.is_old_size(available[axis]):
            raise Blocked(f"its data has {available[axis]} elements along an axis that follows the number of slices")
        step.narrow(0, axis + len(step.shape(0)) - len(wanted))
    return Place(axis + len(step.output_shape()) - len(wanted), 1, inner)


@carries("ConstantOfShape", sizes=(0,))
def constant_of_shape(step: AxisStep) -> Place | None:
    """Return the Place of the resized axis (such as the batch) in the output of ConstantOfShape.

    The result is None if the stated shape does not depend on the axis. Raises Blocked if two of its sizes depend on the
    axis, or if one is a size such as N + 1, which is no multiple of the new size N.
    """
    wanted = step.numbers(0)
    return _place_of_filling(step, wanted, (1,) * len(wanted))


@carries("Tile", sizes=(1,))
def tile(step: AxisStep) -> Place | None:
    """Return the Place of the resized axis (such as the batch) in the output of Tile.

    - If the data has the resized axis, the result is its place in the data.
    - If the data is repeated N times along one axis, for N elements of the resized axis, the result is this one axis.
    - If neither data nor repeats depend on the resized axis, the result is None.

    Raises Blocked in all other cases, such as data that is repeated along its resized axis, and for versions before 6.
    """
    step.require_shared(1)
    if step.call.version == 1:
        raise Blocked("it is of a version before 6")
    repeats = step.numbers(1)
    place = step.place(0)
    sized = [axis for axis, size in enumerate(repeats) if step.depends_on_axis(size)]
    if place is not None:
        if sized or repeats[place.axis] != 1:
            raise Blocked("it repeats the slices along the axis, or as many times as there are slices")
        return place
    if not sized:
        return None
    if len(sized) > 1 or equal(repeats[sized[0]], step.after) is not True:
        raise Blocked("it does not repeat its data once for each slice")
    return Place(sized[0], 1, step.shape(0)[sized[0]])


@carries("Pad")
def pad(step: AxisStep) -> Place:
    """Return the Place of the resized axis (such as the batch) in the output of Pad.

    It is the place in the first input. Raises Blocked if the node pads along the axis, if its pads or axes are unknown,
    or if another input has the resized axis.
    """
    step.require_shared(1, 2, 3)
    place = step.data_place()
    rank = len(step.shape(0))
    pads = step.numbers(1, "pads" if step.call.version > 1 else "paddings")
    given = step.numbers(3) if step.call.has(3) else None
    axes = step.axes(range(rank) if given is None else given, rank)
    half = len(pads) // 2
    if half != len(axes):
        raise Blocked("its pads are not known")
    if place.axis in axes and (pads[axes.index(place.axis)], pads[half + axes.index(place.axis)]) != (0, 0):
        raise Blocked("it pads along the axis")
    return place
