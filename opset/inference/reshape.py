"""Output shapes of operators that keep the elements: Reshape, Flatten, Squeeze and Unsqueeze."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Sequence
from typing import Any

from opset.inference.agreement import required
from opset.inference.call import Call, Unknown
from opset.inference.dimensions import Dim, Size, equal, followed, lower, multiplied, upper
from opset.inference.registration import data, infer
from opset.inference.types import MAX_RANK, Shape, shown
from opset.schemas.constraints import Violation


@data("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity")
def reshape_1_data(call: Call) -> Any:
    """Return the elements of the input unchanged."""
    return call.elements(0)


@infer("Reshape", since=5)
def reshape_5(call: Call) -> Shape:
    """Return the shape in the second input."""
    wanted = call.sizes(1)
    if wanted is None:
        raise Unknown("the number of sizes in shape is not known")
    return _reshaped(call.shape(0), wanted, bool(call.attribute("allowzero")))


@infer("Reshape")
def reshape_1(call: Call) -> Shape:
    """Return the shape in the attribute; an absent one is the same as an empty one."""
    wanted = call.attribute("shape") or ()
    if len(wanted) > MAX_RANK:
        raise Unknown(f"shape has {len(wanted):,} sizes")
    return _reshaped(call.shape(0), wanted, False)


def _reshaped(shape: tuple[Size, ...] | None, wanted: Sequence[Size | None], allow_zero: bool) -> Shape:
    """Return the requested sizes, with 0 and -1 replaced by the sizes that they mean.

    A symbolic size is taken as a size: only by chance would it be 0 or -1 and mean something else. One that is always
    negative can only be -1.
    """
    wanted = [-1 if isinstance(size, Dim) and (upper(size) or 0) < 0 else size for size in wanted]
    if sum(each == -1 for each in wanted) > 1 or any(isinstance(each, int) and each < -1 for each in wanted):
        raise Violation("C1", f"shape {shown(tuple(wanted))}")
    sizes = list(wanted)
    if allow_zero:
        if 0 in sizes and -1 in sizes:
            raise Violation("C4", f"shape {shown(tuple(wanted))}")
    else:
        for axis, size in enumerate(wanted):
            if size == 0:
                if shape is not None and axis >= len(shape):
                    raise Violation("C2", f"shape {shown(tuple(wanted))}, rank {len(shape)}")
                sizes[axis] = None if shape is None else shape[axis]
    inferred = sizes.index(-1) if -1 in sizes else None
    if shape is None:
        return tuple([None if axis == inferred else size for axis, size in enumerate(sizes)])

    mismatch = Violation("C3", f"data of shape {shown(shape)}, shape {shown(tuple(wanted))}")
    certain = all(not isinstance(size, Dim) or (lower(size) or 0) > 0 for size in wanted)
    if inferred is not None:
        others = sizes[:inferred] + sizes[inferred + 1 :]
        sizes[inferred], remainder = _divided(shape, others)
        if 0 in others or (certain and equal(remainder, 0) is False):
            raise mismatch
        return tuple(sizes)
    _fill_single_unknown(sizes, wanted, shape)
    if certain and equal(multiplied(shape), multiplied(sizes)) is False:
        raise mismatch
    return tuple(sizes)


def _fill_single_unknown(sizes: list[Size | None], wanted: Sequence[Size | None], shape: Sequence[Size]) -> None:
    """Replace the only size that is unknown or symbolic by what the others leave, where their product is not 0."""
    unknown = [axis for axis, size in enumerate(sizes) if size is None]
    unknown = unknown or [axis for axis, size in enumerate(wanted) if isinstance(size, Dim)]
    if len(unknown) != 1:
        return
    axis = unknown[0]
    others = sizes[:axis] + sizes[axis + 1 :]
    if all(size is not None and (lower(size) or 0) > 0 for size in others):
        quotient, remainder = _divided(shape, others)
        if sizes[axis] is None or remainder == 0:
            sizes[axis] = quotient


def _divided(shape: Sequence[Size], others: Sequence[Size | None]) -> tuple[Size | None, Size | None]:
    """Return the number of elements divided by a product of sizes, and the remainder; None where they are not known.

    Common symbolic sizes are cancelled before the products are formed, which may become too complex.
    """
    if None in others or 0 in others:
        return None, None
    common = _symbolic(shape) & _symbolic(others)
    whole, part = (multiplied(_without(sizes, common)) for sizes in (shape, others))
    return followed(operator.floordiv, whole, part), followed(operator.mod, whole, part)


def _symbolic(sizes: Sequence[Size | None]) -> Counter[Dim]:
    return Counter(size for size in sizes if isinstance(size, Dim))


def _without(sizes: Sequence[Size | None], removed: Counter[Dim]) -> list[Size | None]:
    left, kept = removed.copy(), []
    for size in sizes:
        if isinstance(size, Dim) and left[size]:
            left[size] -= 1
        else:
            kept.append(size)
    return kept


@infer("Flatten")
def flatten_1(call: Call) -> Shape:
    """Return the shape of a matrix whose rows are the dimensions before `axis`."""
    axis, shape = call.attribute("axis"), call.shape(0)
    if shape is None:
        return (1 if axis == 0 else None, None)
    axis += len(shape) * (axis < 0)
    return (multiplied(shape[:axis]), multiplied(shape[axis:]))


@infer("Squeeze", since=13)
def squeeze_13(call: Call) -> Shape | None:
    """Return the shape without the axes in the second input."""
    shape = call.require_shape(0)
    if not call.has(1):
        return _squeezed_all(call, shape)
    axes = call.numbers(1)
    if axes is not None:
        return _squeezed(shape, [axis % len(shape) for axis in axes])
    unknown_axes = call.sizes(1)
    if unknown_axes is None or len(unknown_axes) != 1:  # several may be equal
        raise Unknown("the axes are not constant")
    candidates = [axis for axis, size in enumerate(shape) if equal(size, 1) is not False]
    if not candidates:
        raise Violation("C2" if shape else "C1", f"shape {shown(shape)}")
    first, last = candidates[0], candidates[-1]
    return (*shape[:first], *[None] * (last - first), *shape[last + 1 :])


@infer("Squeeze")
def squeeze_1(call: Call) -> Shape | None:
    """Return the shape without the axes in the attribute."""
    shape, axes = call.require_shape(0), call.attribute("axes")
    if axes is None:
        return _squeezed_all(call, shape)
    return _squeezed(shape, [axis % len(shape) for axis in axes])


def _squeezed(shape: Shape, axes: Sequence[int]) -> Shape:
    removed = set(axes)
    for axis in removed:
        size = shape[axis]
        if equal(size, 1) is False:
            raise Violation("C2", f"axis {axis}, shape {shown(shape)}")
    return tuple([size for axis, size in enumerate(shape) if axis not in removed])


def _squeezed_all(call: Call, shape: tuple[Size, ...]) -> Shape | None:
    """Return the sizes that are not 1, None where one may or may not be 1, as the rank depends on it."""
    ones = [equal(size, 1) for size in shape]
    if None in ones:
        call.doubt(f"there are no axes, and {shape[ones.index(None)]} may be 1")
        return None
    return tuple([size for size, is_one in zip(shape, ones, strict=True) if not is_one])


@infer("Unsqueeze", since=13)
def unsqueeze_13(call: Call) -> Shape:
    """Return the shape with sizes of 1 inserted at the axes in the second input."""
    shape, axes = call.require_shape(0), call.numbers(1)
    if axes is not None:
        return _unsqueezed(shape, axes)
    unknown_axes = call.sizes(1)
    if unknown_axes is None:
        raise Unknown("the axes are not constant, nor is their number known")
    return (None if shape else 1,) * (len(shape) + len(unknown_axes))


@infer("Unsqueeze")
def unsqueeze_1(call: Call) -> Shape:
    """Return the shape with sizes of 1 inserted at the axes in the attribute."""
    return _unsqueezed(call.require_shape(0), required(call, "axes"))


def _unsqueezed(shape: Shape, axes: Sequence[int]) -> Shape:
    rank = len(shape) + len(axes)
    if rank > MAX_RANK:
        raise Unknown(f"the rank would be {rank:,}")
    inserted = {axis % rank for axis in axes}
    sizes = iter(shape)
    return tuple([1 if axis in inserted else next(sizes) for axis in range(rank)])
