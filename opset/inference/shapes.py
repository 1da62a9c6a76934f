"""Shapes that inference and kernels compute alike, with the constraints that cannot be declared.

Sizes are numbers or symbolic, and None where not known; of numbers, every result is a number. What certainly breaks a
constraint of the operator raises Violation with its label.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Sequence

from opset.inference.dimensions import Dim, Size, equal, followed, lower, multiplied, upper
from opset.inference.types import Shape, shown
from opset.schemas.constraints import Violation


def same(left: Size | None, right: Size | None, label: str = "", what: str = "") -> Size | None:
    """Return the size that two equal sizes share, a number where one is. Raises Violation where they differ."""
    if left is None or right is None:
        return right if left is None else left
    if equal(left, right) is False:
        raise Violation(label, f"{what}{' is ' * bool(what)}{left} and {right}")
    return right if isinstance(right, int) else left


# -- Reshape, Squeeze --


def reshaped(shape: tuple[Size, ...] | None, wanted: Sequence[Size | None], allow_zero: bool) -> Shape:
    """Return the sizes that Reshape requests, with 0 and -1 replaced by the sizes that they mean.

    A symbolic size is taken as a size: only by chance would it be 0 or -1 and mean something else. One that is always
    negative can only be -1.
    """
    if symbolic := any(isinstance(size, Dim) for size in wanted):
        wanted = [-1 if isinstance(size, Dim) and (upper(size) or 0) < 0 else size for size in wanted]
    sizes = list(wanted)
    if sizes.count(-1) > 1 or [size for size in sizes if isinstance(size, int) and size < -1]:
        raise Violation("C1", f"shape {shown(tuple(wanted))}")
    if allow_zero and 0 in sizes and -1 in sizes:
        raise Violation("C4", f"shape {shown(tuple(wanted))}")
    for axis in [axis for axis, size in enumerate(wanted) if size == 0 and not allow_zero]:
        if shape is not None and axis >= len(shape):
            raise Violation("C2", f"shape {shown(tuple(wanted))}, rank {len(shape)}")
        sizes[axis] = None if shape is None else shape[axis]
    inferred = sizes.index(-1) if -1 in sizes else None
    if shape is None:
        return tuple([None if axis == inferred else size for axis, size in enumerate(sizes)])

    certain = not symbolic or all(not isinstance(size, Dim) or (lower(size) or 0) > 0 for size in wanted)
    if inferred is not None:
        others = sizes[:inferred] + sizes[inferred + 1 :]
        sizes[inferred], remainder = _divided(shape, others)
        differs = 0 in others or (certain and equal(remainder, 0) is False)
    else:
        if symbolic or None in sizes:
            _fill_single_unknown(sizes, wanted, shape)
        differs = certain and equal(multiplied(shape), multiplied(sizes)) is False
    if differs:
        raise Violation("C3", f"data of shape {shown(shape)}, shape {shown(tuple(wanted))}")
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


def _divided(shape: Sequence[Size | None], others: Sequence[Size | None]) -> tuple[Size | None, Size | None]:
    """Return the number of elements divided by a product of sizes, and the remainder; None where they are not known.

    Common symbolic sizes are cancelled before the products are formed, which may become too complex.
    """
    if None in others or 0 in others:
        return None, None
    if any(isinstance(size, Dim) for size in shape):
        common = Counter(shape) & Counter(others)
        shape, others = _without(shape, common), _without(others, common)
    whole, part = multiplied(shape), multiplied(others)
    return followed(operator.floordiv, whole, part), followed(operator.mod, whole, part)


def _without(sizes: Sequence[Size | None], removed: Counter[Size | None]) -> list[Size | None]:
    left, kept = removed.copy(), []
    for size in sizes:
        if isinstance(size, Dim) and left[size]:
            left[size] -= 1
        else:
            kept.append(size)
    return kept


def squeezed(shape: Shape, axes: Sequence[int]) -> Shape:
    """Return a shape without axes, whose sizes are 1."""
    removed = set(axes)
    for axis in removed:
        size = shape[axis]
        if equal(size, 1) is False:
            raise Violation("C2", f"axis {axis}, shape {shown(shape)}")
    return tuple([size for axis, size in enumerate(shape) if axis not in removed])
