"""Parts of tensors, and tensors with more around: Slice, Split, Pad, CenterCropPad; a part of the layout family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opset.inference.agreement import axes_of, check_choice, check_one_element, required
from opset.inference.call import Call, Unknown
from opset.inference.dimensions import Dim, Size, at_most, ceil_div, equal, followed, less, maximum, minimum, total
from opset.inference.elements import picked
from opset.inference.registration import data, infer
from opset.inference.types import MAX_RANK, Shape, shown
from opset.schemas.constraints import Violation

Sizes = Sequence["Size | None"]

# -- Slice --

_FAR = 2**31 - 1
"""What exporters write for the end, where not more: no dimension with a variable is taken to be larger."""
_Bounds = tuple["Sizes | None", "Sizes | None", "list[int] | None", "Sizes | None"]


@infer("Slice")
def slice_1(call: Call) -> Shape:
    """Return the sizes of what lies between bounds; where those of an axis are not known, the sizes of the others."""
    shape = call.require_shape(0)
    starts, ends, axes, steps = _bounds(call, len(shape))
    if axes is None:
        return (None,) * len(shape)
    sizes: list[Size | None] = list(shape)
    for place, axis in enumerate(axes):
        bounds = (None if each is None else each[place] for each in (starts, ends, steps))
        sizes[axis] = 0 if shape[axis] == 0 else followed(_extent, shape[axis], *bounds)
    return tuple(sizes)


def _bounds(call: Call, rank: int) -> _Bounds:
    """Return starts, ends, axes and steps, attributes in version 1: each as far as it is known, axes all or not at all.

    Raises Violation where they contradict each other.
    """
    starts: Sizes | None
    ends: Sizes | None
    axes: Sizes | None
    steps: Sizes | None = None
    if call.version < 10:
        starts, ends, axes = required(call, "starts"), required(call, "ends"), call.attribute("axes")
        has_axes, has_steps = axes is not None, False
    else:
        starts, ends, axes, steps = (call.sizes(place) for place in range(1, 5))
        has_axes, has_steps = call.has(3), call.has(4)
    counts = [len(each) for each in (starts, ends, axes, steps) if each is not None]
    if counts and not has_axes:
        axes = range(min(len(starts) if starts is not None else counts[0], rank + 1))
    known = [axis for axis in axes or () if isinstance(axis, int)]
    places = axes_of(call, known, rank, "C2", twice="C3")
    if len(set(counts)) > 1:
        names = ("starts", "ends", "axes", "steps")
        each = (f"{len(one)} {name}" for name, one in zip(names, (starts, ends, axes, steps), strict=True) if one)
        raise Violation("C1", ", ".join(each))
    if steps is not None and 0 in steps:
        raise Violation("C4", f"steps {shown(tuple(steps))}")
    if not has_steps and counts:
        steps = (1,) * counts[0]
    return starts, ends, places if axes is not None and len(places) == len(axes) else None, steps


def _extent(size: Size, start: Size, end: Size, step: Size) -> Size | None:
    """Return how many elements of a dimension lie between bounds; None where a bound may be negative, or may not.

    Places are smallest and largest ones of lists, so that the difference needs no more than one minimum. With a
    negative step a start before the front is the front.
    """
    if not isinstance(step, int):
        return None
    first, last = _place(start, size, step > 0), _place(end, size, step > 0)
    if first is None or last is None:
        return None
    (first_back, first_at), (last_back, last_at) = first, last
    if step > 0:
        starts = [size + first_at, 0] if first_back else [first_at]
        ends = [size + last_at] if last_back else [last_at, size]
        extent = maximum(0, minimum(*(stop - begin for stop in ends for begin in starts)))
    else:
        if first_back:
            starts = [size - 1 if first_at == -1 else maximum(size + first_at, 0)]
        else:
            starts = [first_at, size - 1]
        ends = [size + last_at, -1] if last_back else [last_at]
        extent = maximum(0, minimum(size, *(begin - stop for stop in ends for begin in starts)))
    return extent if abs(step) == 1 else ceil_div(extent, abs(step))


def _place(bound: Size, size: Size, forward: bool) -> tuple[bool, Size] | None:
    """Return whether a bound counts from the end, and the bound; None where that depends on its variables."""
    if isinstance(bound, int):
        if isinstance(size, Dim) and abs(bound) >= _FAR:
            return (False, size) if bound > 0 else (True, -size - 1)
        return bound < 0, bound
    # A dimension is not negative, even where that cannot be seen: N - 1 as an end of N - 1 is not.
    if at_most(0, bound) or at_most(size, bound):
        return False, bound
    if less(bound, 0) or less(bound + size, 0):
        return True, bound
    # N - 1 of N is the same as -1, also where N is 0; forwards so is N - 2, where N may be 1. N - 3 is 2 where N is 2.
    offset = bound - size
    return (True, offset) if isinstance(offset, int) and (-2 if forward else -1) <= offset < 0 else None


@data("Slice")
def slice_1_data(call: Call) -> Any:
    """Return the elements between bounds."""
    given = call.data(0)
    if given is None:
        return None
    starts, ends, axes, steps = _bounds(call, len(given.shape))
    if axes is None:
        return None
    positions: dict[int, range] = {}
    for place, axis in enumerate(axes):
        start, end, step = (None if each is None else each[place] for each in (starts, ends, steps))
        if not (isinstance(start, int) and isinstance(end, int) and isinstance(step, int)):
            return None
        size = given.shape[axis]
        start, end = start + size * (start < 0), end + size * (end < 0)
        if step > 0:
            positions[axis] = range(min(max(start, 0), size), min(max(end, 0), size), step)
        else:
            positions[axis] = range(min(max(start, 0), size - 1), min(max(end, -1), size - 1), step)
    return picked(given, positions)


# -- Split --


@infer("Split")
def split_1(call: Call) -> list[Shape]:
    """Return the shapes of the parts: of sizes that are given, or of equal ones, the last of which may be smaller."""
    shape, axis = call.require_shape(0), call.attribute("axis") or 0
    axis = call.axis(axis, len(shape), "C1")
    shapes: dict[Size | None, Shape] = {}
    for size in (sizes := _part_sizes(call, shape[axis])):
        if size not in shapes:
            shapes[size] = (*shape[:axis], size, *shape[axis + 1 :])
    return [shapes[size] for size in sizes]


def _part_sizes(call: Call, whole: Size) -> Sizes:
    """Return the size of each part. Raises Violation where they are not those of the whole."""
    count = call.output_count
    stated: Sizes | None = None
    if call.has(1):
        stated = _as_sizes(call) if call.version == 1 else call.sizes(1)
    number = call.attribute("num_outputs")
    if call.version >= 18 and call.has(1) == (number is not None):
        raise Violation("C3", "both are" if call.has(1) else "neither is")
    if call.version < 13 and call.attribute("split") is not None:
        stated = call.attribute("split")
    elif call.has(1) and stated is None:
        return (None,) * count
    if stated is not None:
        return _checked_parts(stated, whole, count)

    if number is not None and (number < 1 or number != count):
        raise Violation("C2", f"num_outputs {number}, {count} outputs")
    if call.version < 18:
        if equal(whole % count, 0) is False:
            raise Violation("C2", f"{count} outputs, dimension {whole}")
        return (whole // count,) * count
    each = ceil_div(whole, count)
    last = whole - each * (count - 1)
    if less(last, 0):
        raise Violation("C2", f"num_outputs {number}, dimension {whole}")
    return (*[each] * (count - 1), last)


def _as_sizes(call: Call) -> Sizes | None:
    """Return the sizes that version 1 takes as an input of the data's type."""
    elements = call.constant(1)
    if elements is None:
        shape = call.shape(1)
        length = shape[0] if shape is not None and len(shape) == 1 else None
        return (None,) * length if isinstance(length, int) and length <= MAX_RANK else None
    return [int(each) if isinstance(each, float | int) and each == each // 1 else None for each in elements]


def _checked_parts(stated: Sizes, whole: Size, count: int) -> Sizes:
    if len(stated) != count:
        raise Violation("C2", f"{len(stated)} parts, {count} outputs")
    known = [size for size in stated if size is not None]
    sum_of_known = total(known)
    if any(less(size, 0) for size in known):
        raise Violation("C2", f"sizes {shown(tuple(stated[:20]))}")
    if sum_of_known is None:
        return stated
    if len(known) == count - 1:  # the one that is not known is what the others leave
        stated = [followed(lambda: whole - sum_of_known) if size is None else size for size in stated]
    fits = equal(sum_of_known, whole) if len(known) == count else None
    if fits is False or less(whole, sum_of_known):
        raise Violation("C2", f"sizes {shown(tuple(stated[:20]))}, dimension {whole}")
    return stated


@data("Split")
def split_1_data(call: Call) -> Any:
    """Return the elements of the parts."""
    given = call.data(0)
    if given is None:
        return None
    axis = call.axis(call.attribute("axis") or 0, len(given.shape), "C1")
    parts: list[Any] = []
    begin = 0
    for size in _part_sizes(call, given.shape[axis]):
        if not isinstance(size, int):
            return parts
        parts.append(picked(given, {axis: range(begin, begin + size)}))
        begin += size
    return parts


# -- Pad --


@infer("Pad", since=11)
def pad_11(call: Call) -> Shape:
    """Return the sizes with what is added at both ends; where that is not known of an axis, the sizes of the others."""
    check_one_element(call, 2, "C5")
    return _padded(call, call.sizes(1))


@infer("Pad", since=2)
def pad_2(call: Call) -> Shape:
    """Return the sizes with what an attribute says is added or removed."""
    return _padded(call, required(call, "pads"))


@infer("Pad")
def pad_1(call: Call) -> Shape:
    """Return the sizes with what an attribute says is added."""
    paddings = required(call, "paddings")
    if any(each < 0 for each in paddings):
        raise Violation("C2", f"paddings {list(paddings[:20])}")
    return _padded(call, paddings)


_MODES = ("constant", "reflect", "edge", "wrap")


def _padded(call: Call, pads: Sizes | None) -> Shape:
    shape, mode = call.shape(0), call.attribute("mode")
    check_choice(call, "mode", _MODES if call.version >= 19 else _MODES[:3], "C4")
    if shape is None:
        if pads is None or call.has(3):
            raise Unknown("the rank of data is not known")
        if len(pads) % 2:
            raise Violation("C1", f"{len(pads)} pads")
        return (None,) * (len(pads) // 2)
    axes = _pad_axes(call, len(shape))
    if pads is not None and axes is not None and len(pads) != 2 * len(axes):
        raise Violation("C1", f"{len(pads)} pads for {len(axes)} axes")
    if pads is None or axes is None:
        return (None,) * len(shape)
    sizes: list[Size | None] = list(shape)
    for axis, begin, end in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        size = shape[axis]
        sizes[axis] = total((size, begin, end))
        if isinstance(begin, int) and isinstance(end, int):
            kept = size + min(begin, 0) + min(end, 0)
            if less(kept, 0):
                raise Violation("C3", f"pads {begin} and {end}, dimension {size}")
            if mode != "constant" and kept == 0 and max(begin, end) > 0:
                raise Violation("C6", f"axis {axis}, mode {mode}")
    return tuple(sizes)


def _pad_axes(call: Call, rank: int) -> Sequence[int] | None:
    """Return the axes that pads speaks of, None where they are not known."""
    if not call.has(3):
        return range(rank)
    given = call.sizes(3)
    axes = axes_of(call, [axis for axis in given or () if isinstance(axis, int)], rank, "C2", twice="C2")
    return axes if given is not None and len(axes) == len(given) else None


@data("Pad")
def pad_1_data(call: Call) -> Any:
    """Return the elements with the constant around."""
    given = call.data(0)
    if given is None or call.attribute("mode") != "constant":
        return None
    axes = _pad_axes(call, len(given.shape))
    pads = call.numbers(1) if call.version >= 11 else call.attribute("pads" if call.version > 1 else "paddings")
    if pads is None or axes is None:
        return None
    fill: Any = 0
    if call.version < 11:
        fill = call.attribute("value")
    elif call.has(2):
        values = call.constant(2)
        fill = None if values is None else values[0]
    ends = zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True)
    return picked(given, {axis: range(-begin, given.shape[axis] + end) for axis, begin, end in ends}, fill=fill)


# -- CenterCropPad --


@infer("CenterCropPad")
def center_crop_pad_18(call: Call) -> Shape:
    """Return the sizes that are wanted of some axes, or of all."""
    shape, wanted, given = call.shape(0), call.sizes(1), call.attribute("axes")
    if any(less(size, 0) for size in wanted or ()):
        raise Violation("C4", f"shape {shown(tuple(wanted or ()))}")
    if shape is None:
        if wanted is None or given is not None:
            raise Unknown("the rank of input_data is not known")
        return tuple(wanted)
    axes = range(len(shape)) if given is None else axes_of(call, given, len(shape), "C2", twice="C3")
    if wanted is not None and len(wanted) != len(axes):
        raise Violation("C1", f"{len(wanted)} sizes for {len(axes)} axes")
    sizes: list[Size | None] = list(shape)
    for place, axis in enumerate(axes):
        sizes[axis] = None if wanted is None else wanted[place]
    return tuple(sizes)
