"""Shapes that keep the number of elements: Reshape, Flatten, Squeeze, Unsqueeze; a part of the layout family."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Sequence
from typing import Any

from opset.inference.agreement import axes_of, required
from opset.inference.call import Call, Unknown
from opset.inference.dimensions import Dim, Size, equal, followed, lower, multiplied, upper
from opset.inference.registration import data, infer
from opset.inference.types import MAX_RANK, Shape, shown
from opset.schemas.constraints import Violation


@data("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity")
def reshape_1_data(call: Call) -> Any:
    """Return the elements as they are."""
    return call.constant(0)


@infer("Reshape", since=5)
def reshape_5(call: Call) -> Shape:
    """Return the shape that the second input says."""
    wanted = call.sizes(1)
    if wanted is None:
        raise Unknown("the number of sizes in shape is not known")
    return _reshaped(call.shape(0), wanted, bool(call.attribute("allowzero")))


@infer("Reshape")
def reshape_1(call: Call) -> Shape:
    """Return the shape that an attribute says; an absent one is the same as an empty one."""
    wanted = call.attribute("shape") or ()
    if len(wanted) > MAX_RANK:
        raise Unknown(f"shape has {len(wanted):,} sizes")
    return _reshaped(call.shape(0), wanted, False)


def _reshaped(shape: tuple[Size, ...] | None, wanted: Sequence[Size | None], zeros: bool) -> Shape:
    """Return the sizes that are wanted, 0 and -1 replaced by what they stand for.

    A size with variables stands for itself: where it were 0 or -1, shape would say something else by chance. One that
    is always negative can only be -1.
    """
    wanted = [-1 if isinstance(size, Dim) and (upper(size) or 0) < 0 else size for size in wanted]
    if sum(each == -1 for each in wanted) > 1 or any(isinstance(each, int) and each < -1 for each in wanted):
        raise Violation("C1", f"shape {shown(tuple(wanted))}")
    sizes = list(wanted)
    if zeros:
        if 0 in sizes and -1 in sizes:
            raise Violation("C4", f"shape {shown(tuple(wanted))}")
    else:
        for place, size in enumerate(wanted):
            if size == 0:
                if shape is not None and place >= len(shape):
                    raise Violation("C2", f"shape {shown(tuple(wanted))}, rank {len(shape)}")
                sizes[place] = None if shape is None else shape[place]
    found = sizes.index(-1) if -1 in sizes else None
    if shape is None:
        return tuple([None if place == found else size for place, size in enumerate(sizes)])

    unfit = Violation("C3", f"data of shape {shown(shape)}, shape {shown(tuple(wanted))}")
    certain = all(not isinstance(size, Dim) or (lower(size) or 0) > 0 for size in wanted)
    if found is not None:
        rest = sizes[:found] + sizes[found + 1 :]
        sizes[found], left = _divided(shape, rest)
        if 0 in rest or (certain and equal(left, 0) is False):
            raise unfit
        return tuple(sizes)
    # One size that is not a number, or not known at all, follows from the others where their product is not 0.
    follows = [place for place, size in enumerate(sizes) if size is None]
    follows = follows or [place for place, size in enumerate(wanted) if isinstance(size, Dim)]
    if len(follows) == 1:
        place = follows[0]
        rest = sizes[:place] + sizes[place + 1 :]
        if all(size is not None and (lower(size) or 0) > 0 for size in rest):
            quotient, left = _divided(shape, rest)
            if sizes[place] is None or left == 0:
                sizes[place] = quotient
    before, after = multiplied(shape), multiplied(sizes)
    if certain and equal(before, after) is False:
        raise unfit
    return tuple(sizes)


def _divided(shape: Sequence[Size], rest: Sequence[Size | None]) -> tuple[Size | None, Size | None]:
    """Return the number of elements divided by a product of sizes, and the remainder; None where they are not known.

    Variables in both go out before the products are made, which may be too complex.
    """
    if None in rest or 0 in rest:
        return None, None
    common = _symbolic(shape) & _symbolic(rest)
    whole, part = (multiplied(_without(sizes, common)) for sizes in (shape, rest))
    return followed(operator.floordiv, whole, part), followed(operator.mod, whole, part)


def _symbolic(sizes: Sequence[Size | None]) -> Counter[Dim]:
    return Counter(size for size in sizes if isinstance(size, Dim))


def _without(sizes: Sequence[Size | None], gone: Counter[Dim]) -> list[Size | None]:
    left, kept = gone.copy(), []
    for size in sizes:
        if isinstance(size, Dim) and left[size]:
            left[size] -= 1
        else:
            kept.append(size)
    return kept


@infer("Flatten")
def flatten_1(call: Call) -> Shape:
    """Return the shape of a matrix, its rows the dimensions before axis, which version 11 also counts from the end."""
    axis, shape = call.attribute("axis"), call.shape(0)
    front = call.version < 11
    if shape is None:
        if front and axis < 0:
            raise Violation("C1", f"axis {axis}")
        return (1 if axis == 0 else None, None)
    if not (0 if front else -len(shape)) <= axis <= len(shape):
        raise Violation("C1", f"axis {axis}, rank {len(shape)}")
    axis += len(shape) * (axis < 0)
    return (multiplied(shape[:axis]), multiplied(shape[axis:]))


@infer("Squeeze", since=13)
def squeeze_13(call: Call) -> Shape | None:
    """Return the shape without the axes of the second input."""
    shape = call.require_shape(0)
    if not call.has(1):
        return _squeezed_all(call, shape)
    axes = call.numbers(1)
    if axes is not None:
        return _squeezed(shape, axes_of(call, axes, len(shape), "C1"))
    given = call.sizes(1)
    if given is None or len(given) != 1:  # several may name one axis twice
        raise Unknown("the axes are not constant")
    may = [axis for axis, size in enumerate(shape) if equal(size, 1) is not False]
    if not may:
        raise Violation("C2" if shape else "C1", f"shape {shown(shape)}")
    return (*shape[: may[0]], *[None] * (may[-1] - may[0]), *shape[may[-1] + 1 :])


@infer("Squeeze")
def squeeze_1(call: Call) -> Shape | None:
    """Return the shape without the axes of an attribute, which version 11 also counts from the end."""
    shape, axes = call.require_shape(0), call.attribute("axes")
    if axes is None:
        return _squeezed_all(call, shape)
    return _squeezed(shape, axes_of(call, axes, len(shape), "C1", front=call.version < 11))


def _squeezed(shape: Shape, axes: Sequence[int]) -> Shape:
    gone = set(axes)
    for axis in gone:
        size = shape[axis]
        if equal(size, 1) is False:
            raise Violation("C2", f"axis {axis}, shape {shown(shape)}")
    return tuple([size for axis, size in enumerate(shape) if axis not in gone])


def _squeezed_all(call: Call, shape: tuple[Size, ...]) -> Shape | None:
    """Return the sizes that are not 1; where one may be, the rank depends on it."""
    ones = [equal(size, 1) for size in shape]
    if None in ones:
        call.doubt(f"there are no axes, and {shape[ones.index(None)]} may be 1")
        return None
    return tuple([size for size, is_one in zip(shape, ones, strict=True) if not is_one])


@infer("Unsqueeze", since=13)
def unsqueeze_13(call: Call) -> Shape:
    """Return the shape with sizes of one at the axes of the second input."""
    shape, axes = call.require_shape(0), call.numbers(1)
    if axes is not None:
        return _unsqueezed(call, shape, axes)
    given = call.sizes(1)
    if given is None:
        raise Unknown("the axes are not constant, nor is their number known")
    return (None if shape else 1,) * (len(shape) + len(given))


@infer("Unsqueeze")
def unsqueeze_1(call: Call) -> Shape:
    """Return the shape with sizes of one at the axes of an attribute, which version 11 also counts from the end."""
    axes = required(call, "axes")
    return _unsqueezed(call, call.require_shape(0), axes, front=call.version < 11)


def _unsqueezed(call: Call, shape: Shape, axes: Sequence[int], front: bool = False) -> Shape:
    rank = len(shape) + len(axes)
    if rank > MAX_RANK:
        raise Unknown(f"the rank would be {rank:,}")
    new = set(axes_of(call, axes, rank, "C1", twice="C2", front=front))
    sizes = iter(shape)
    return tuple([1 if axis in new else next(sizes) for axis in range(rank)])
