"""Output shapes of Slice, Split, Pad and CenterCropPad, and their elements if the input's are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opset.inference.building.agreement import required_attribute
from opset.inference.building.call import Call, Unknown
from opset.inference.building.dimensions import Dim, Size, apply_to_sizes, at_most, ceil_div, less, maximum, minimum
from opset.inference.building.elements import apply_to_elements, pick_elements, round_to_type
from opset.inference.building.shapes import complete_parts, equal_parts, normalize_axes, pad_shape
from opset.inference.building.types import Shape
from opset.inference.limits import MAX_RANK
from opset.inference.registration import data, infer
from opset.schemas.constraints.violation import Violation

Sizes = Sequence["Size | None"]

# -- Slice --

_FAR = 2**31 - 1
"""The least value that exporters write for "to the end"; symbolic dimensions are assumed not to be larger."""
_Bounds = tuple["Sizes | None", "Sizes | None", "list[int] | None", "Sizes | None"]


@infer("Slice")
def slice_1(call: Call) -> Shape:
    """Return the output shape of Slice; a size is None if its bounds are unknown. All are None if an axis is unknown.

    Raises Unknown if the rank is unknown, Violation without the label of a constraint if `starts` or `ends` is absent
    before version 10.
    """
    shape = call.require_shape(0)
    starts, ends, axes, steps = _slice_bounds(call, len(shape))
    if axes is None:
        return (None,) * len(shape)
    sizes: list[Size | None] = list(shape)
    for index, axis in enumerate(axes):
        bounds = (None if numbers is None else numbers[index] for numbers in (starts, ends, steps))
        sizes[axis] = 0 if shape[axis] == 0 else apply_to_sizes(_slice_length, shape[axis], *bounds)
    return tuple(sizes)


def _slice_bounds(call: Call, rank: int) -> _Bounds:
    """Return the lists (starts, ends, axes, steps) of a Slice, each with one number for each axis that is sliced.

    The numbers are read from inputs, or before version 10 from attributes. Axes are counted from 0. If axes are absent,
    they are the first ones, such as [0, 1] for two starts. If steps are absent, each step is 1.

    A list of which nothing is known is None. An unknown number in starts, ends or steps is None in its list. If axes
    have an unknown number, the list of axes is None. `rank` is the rank of the data.
    """
    starts: Sizes | None
    ends: Sizes | None
    axes: Sizes | None
    steps: Sizes | None = None
    if call.version < 10:
        starts = required_attribute(call, "starts")
        ends = required_attribute(call, "ends")
        axes = call.attribute("axes")
        has_axes = axes is not None
        has_steps = False
    else:
        starts, ends, axes, steps = (call.sizes(index) for index in range(1, 5))
        has_axes, has_steps = call.has(3), call.has(4)
    count = next((len(sizes) for sizes in (starts, ends, axes, steps) if sizes is not None), None)
    if count is not None:
        axes = axes if has_axes else range(count)
        steps = steps if has_steps else (1,) * count
    return starts, ends, normalize_axes(axes, rank), steps


def _slice_length(size: Size, start: Size, end: Size, step: Size) -> Size | None:
    """Return how many elements a slice takes from a dimension of size `size`, or None if the number is unknown.

    For a size of N, a start of 1 and an end of -1, it is `max(0, N - 2)`. It is unknown if the step is symbolic. It is
    also unknown if a bound may be negative or not, such as an end of N - 5 in a dimension of N.
    """
    # Clamped bounds are kept as lists to minimize or maximize over, so that the difference needs only one minimum. With
    # a negative step, a start before the first element is the first.
    if not isinstance(step, int):
        return None
    first, last = _classify_bound(start, size, step > 0), _classify_bound(end, size, step > 0)
    if first is None or last is None:
        return None
    (first_negative, first_at), (last_negative, last_at) = first, last
    if step > 0:
        starts = [size + first_at, 0] if first_negative else [first_at]
        ends = [size + last_at] if last_negative else [last_at, size]
        extent = maximum(0, minimum(*(stop - begin for stop in ends for begin in starts)))
    else:
        if first_negative:
            starts = [size - 1 if first_at == -1 else maximum(size + first_at, 0)]
        else:
            starts = [first_at, size - 1]
        ends = [size + last_at, -1] if last_negative else [last_at]
        extent = maximum(0, minimum(size, *(begin - stop for stop in ends for begin in starts)))
    return extent if abs(step) == 1 else ceil_div(extent, abs(step))


def _classify_bound(bound: Size, size: Size, forward: bool) -> tuple[bool, Size] | None:
    """Return (True, bound) if a start or end of Slice counts from the end of the axis, else (False, bound).

    A negative bound counts from the end. A symbolic bound may be replaced by one that means the same: in a dimension of
    N, the bound N - 1 gives (True, -1). The result is None if only the values of variables such as N can tell.

    Args:
        bound: the start or the end.
        size: the size of the dimension.
        forward: whether the step is positive.
    """
    if isinstance(bound, int):
        if isinstance(size, Dim) and abs(bound) >= _FAR:
            return (False, size) if bound > 0 else (True, -size - 1)
        return bound < 0, bound
    # No dimension is negative, even if that does not show: as an end in a dimension of N - 1, N - 1 is not.
    if at_most(0, bound) or at_most(size, bound):
        return False, bound
    if less(bound, 0) or less(bound + size, 0):
        return True, bound
    # In a dimension of N, N - 1 means the same as -1, also if N is 0; forwards, N - 2 the same as -2, also if N is 1.
    # N - 3 does not mean the same as -3 if N is 2.
    offset = bound - size
    return (True, offset) if isinstance(offset, int) and (-2 if forward else -1) <= offset < 0 else None


@data("Slice")
def slice_1_data(call: Call) -> Any:
    """Return the elements of the slice in row-major order, as they are in the input: unknown and symbolic ones, too.

    The result is None if the input is unknown, if an axis, bound or step is unknown or symbolic, or if the slice has
    more than MAX_DATA elements.
    """
    constant = call.constant(0)
    if constant is None:
        return None
    starts, ends, axes, steps = _slice_bounds(call, len(constant.dims))
    if axes is None:
        return None
    positions: dict[int, range] = {}
    for index, axis in enumerate(axes):
        start, end, step = (None if numbers is None else numbers[index] for numbers in (starts, ends, steps))
        if not (isinstance(start, int) and isinstance(end, int) and isinstance(step, int)):
            return None
        size = constant.dims[axis]
        start = start + size * (start < 0)
        end = end + size * (end < 0)
        if step > 0:
            positions[axis] = range(max(start, 0), min(end, size), step)
        else:
            positions[axis] = range(min(max(start, 0), size - 1), max(end, -1), step)
    return pick_elements(constant, positions)


# -- Split --


@infer("Split")
def split_1(call: Call) -> list[Shape]:
    """Return the shape of each part into which the input is split; a size is None if it is unknown.

    Raises Unknown if the rank is unknown, Violation C2 if the stated sizes, or the number of outputs, do not fit.
    """
    shape = call.require_shape(0)
    axis = (call.attribute("axis") or 0) % len(shape)
    shapes: dict[Size | None, Shape] = {}
    for size in (sizes := _sizes_of_parts(call, shape[axis])):
        if size not in shapes:
            shapes[size] = (*shape[:axis], size, *shape[axis + 1 :])
    return [shapes[size] for size in sizes]


def _sizes_of_parts(call: Call, whole: Size) -> Sizes:
    """Return the sizes of the parts into which Split splits a dimension of size `whole`, None for each unknown one.

    The node states them in the attribute `split` or in its second input. Otherwise, the parts are equal, one for each
    output; from version 18 on, the last one may be smaller. Raises Violation C2 if stated sizes do not add up, or if
    the number of outputs does not fit.
    """
    count = call.output_count
    stated: Sizes | None = None
    if call.has(1):
        stated = _sizes_of_version_1(call) if call.version == 1 else call.sizes(1)
    number = call.attribute("num_outputs")
    if call.version < 13 and call.attribute("split") is not None:
        stated = call.attribute("split")
    elif call.has(1) and stated is None:
        return (None,) * count
    if stated is not None:
        if len(stated) != count:
            raise Violation("C2", f"{len(stated)} parts, {count} outputs")
        return complete_parts(stated, whole, "C2")
    if number is not None and number != count:
        raise Violation("C2", f"num_outputs {number}, {count} outputs")
    return equal_parts(whole, count, last_smaller=call.version >= 18)


def _sizes_of_version_1(call: Call) -> Sizes | None:
    """Return the sizes that the second input of Split 1 states; each is None if it is unknown or no whole number.

    The input may be of a float type: 2.0 is the size 2. If not even the number of sizes is known, the result itself is
    None.
    """
    elements = call.elements(1)
    if elements is None:
        shape = call.shape(1)
        length = shape[0] if shape is not None and len(shape) == 1 else None
        return (None,) * length if isinstance(length, int) and length <= MAX_RANK else None
    return [int(size) if isinstance(size, float | int) and size == size // 1 else None for size in elements]


@data("Split")
def split_1_data(call: Call) -> Any:
    """Return a list with a tuple of the elements of each part, or None if the input's elements are unknown.

    If the size of a part is unknown or symbolic, the list ends before this part. Raises Violation C2 if the sizes of
    the parts do not add up, or if the number of outputs does not fit.
    """
    constant = call.constant(0)
    if constant is None:
        return None
    axis = (call.attribute("axis") or 0) % len(constant.dims)
    parts: list[Any] = []
    begin = 0
    for size in _sizes_of_parts(call, constant.dims[axis]):
        if not isinstance(size, int):
            return parts
        parts.append(pick_elements(constant, {axis: range(begin, begin + size)}))
        begin += size
    return parts


# -- Pad --


@infer("Pad", since=11)
def pad_11(call: Call) -> Shape:
    """Return the input's shape with the pads in the second input added; a size is None if its pads are unknown.

    A negative pad removes elements. If the padded axes are unknown, all sizes are None. If the rank is unknown, half
    the number of pads gives it, and all sizes are None. Raises Unknown if the pads do not show the rank either, as in a
    node with the input `axes`. Raises Violation C1, C3 or C6 if the pads do not fit.
    """
    return _pad_sizes(call, call.sizes(1))


@infer("Pad", since=2)
def pad_2(call: Call) -> Shape:
    """Return the input's shape with the pads in the attribute `pads` added.

    If the rank is unknown, the number of pads gives it, and each size is None. Raises Violation C1, C3 or C6 if the
    pads do not fit, and without a label if the attribute is absent.
    """
    return _pad_sizes(call, required_attribute(call, "pads"))


@infer("Pad")
def pad_1(call: Call) -> Shape:
    """Return the input's shape with the pads in the attribute `paddings` added.

    If the rank is unknown, the result has a None for each pair of pads. Raises Violation C1, C3 or C6 if the pads do
    not fit the input. Raises a Violation that names no constraint if the attribute is absent.
    """
    return _pad_sizes(call, required_attribute(call, "paddings"))


def _pad_sizes(call: Call, pads: Sizes | None) -> Shape:
    """Return the shape of Pad's output: the sizes of the first input, padded by `pads`.

    `pads` has the padding before each padded axis, then the padding after each; a negative one removes elements. All
    sizes are None if `pads` is None or the padded axes are unknown. If the rank of the first input is unknown, the
    result has one None for each pair of pads. Raises Unknown in this case if `pads` is None or the node has the input
    `axes`. Raises Violation C1, C3 or C6 if the pads do not fit.
    """
    shape = call.shape(0)
    mode = call.attribute("mode")
    if shape is None:
        if pads is None or call.has(3):
            raise Unknown("the rank of data is not known")
        if len(pads) % 2:
            raise Violation("C1", f"{len(pads)} pads")
        return (None,) * (len(pads) // 2)
    axes = _pad_axes(call, len(shape))
    if pads is None or axes is None:
        return (None,) * len(shape)
    return pad_shape(shape, pads, axes, mode)


def _pad_axes(call: Call, rank: int) -> Sequence[int] | None:
    """Return the axes that Pad pads, counted from 0: the fourth input, by default all; None if one is unknown."""
    return normalize_axes(call.sizes(3), rank) if call.has(3) else range(rank)


@data("Pad")
def pad_1_data(call: Call) -> Any:
    """Return the padded elements in row-major order.

    The result is None if data, pads or axes are unknown, or if the attribute `mode` is not "constant". If only the
    constant is unknown, the elements that are added are None.
    """
    constant = call.constant(0)
    if constant is None or call.attribute("mode") != "constant":
        return None
    axes = _pad_axes(call, len(constant.dims))
    pads = call.numbers(1) if call.version >= 11 else call.attribute("pads" if call.version > 1 else "paddings")
    if pads is None or axes is None:
        return None
    fill: Any = 0
    if call.version < 11:
        fill = call.attribute("value")
    elif call.has(2):
        values = call.elements(2)
        fill = None if values is None else values[0]
    fill = apply_to_elements(lambda number: round_to_type(number, constant.element), fill)
    ends = zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True)
    positions = {axis: range(-begin, constant.dims[axis] + end) for axis, begin, end in ends}
    return pick_elements(constant, positions, fill=fill)


# -- CenterCropPad --


@infer("CenterCropPad")
def center_crop_pad_18(call: Call) -> Shape:
    """Return the input's shape with the sizes of `axes` (by default all) replaced by the sizes in the second input.

    A size is None if it is unknown. If the rank of the input is unknown, it is the number of sizes in the second input.
    Raises Unknown if this number is unknown, too, or if the rank is unknown and the node has the attribute `axes`.
    """
    shape = call.shape(0)
    wanted = call.sizes(1)
    stated_axes = call.attribute("axes")
    if shape is None:
        if wanted is None or stated_axes is not None:
            raise Unknown("the rank of input_data is not known")
        return tuple(wanted)
    axes = range(len(shape)) if stated_axes is None else [axis % len(shape) for axis in stated_axes]
    sizes: list[Size | None] = list(shape)
    for index, axis in enumerate(axes):
        sizes[axis] = None if wanted is None else wanted[index]
    return tuple(sizes)
