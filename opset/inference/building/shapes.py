"""Shapes that inference and kernels compute alike, with the constraints that cannot be declared.

Sizes are numbers, symbolic, or None if they are not known; from numbers, every result is a number. A shape that
certainly breaks a constraint of the operator raises Violation with its label.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opset.inference.building.dimensions import (
    Dim,
    Size,
    apply_to_sizes,
    at_most,
    broadcast,
    ceil_div,
    equal,
    less,
    lower_bound,
    product_if_known,
    sum_if_known,
    upper_bound,
)
from opset.inference.building.types import Shape, shape_text
from opset.schemas.constraints.violation import Violation

if TYPE_CHECKING:
    from fractions import Fraction


def common_size(left: Size | None, right: Size | None, label: str = "", what: str = "") -> Size | None:
    """Return the more precise of two sizes that must be equal; None if both are None, which means unknown.

    A size is preferred to None, a number to a symbolic size; of two symbolic sizes, `left` is returned.

    Args:
        left: one size.
        right: the second size.
        label: the label of the constraint that is broken if the sizes certainly differ, such as "C1".
        what: words that name the sizes in the message, such as "the size of axis 1".

    Raises:
        Violation: `label` if the sizes certainly differ.
    """
    if left is None or right is None:
        return right if left is None else left
    if equal(left, right) is False:
        raise Violation(label, f"{what}{' is ' * bool(what)}{left} and {right}")
    return right if isinstance(right, int) else left


def normalize_axis(axis: int, rank: int, label: str) -> int:
    """Return `axis` counted from 0; a negative axis counts from the end: -1 is rank - 1.

    Raises Violation with the constraint `label`, such as "C1", if the axis is out of range.
    """
    if not -rank <= axis < rank:
        raise Violation(label, f"axis {axis}, rank {rank}")
    return axis % rank


def normalize_axes(axes: Sequence[object] | None, rank: int) -> list[int] | None:
    """Return axes counted from 0, or None if `axes` is None, or if one of them is unknown or symbolic.

    Axes are not checked: one that is out of range wraps around. Raises ZeroDivisionError for axes of rank 0.
    """
    known = [axis % rank for axis in axes or () if isinstance(axis, int)]
    return known if axes is not None and len(known) == len(axes) else None


# -- Reshape, Squeeze --


def resolve_reshape(shape: tuple[Size, ...] | None, wanted: Sequence[Size | None], allow_zero: bool) -> Shape:
    """Return the output shape of Reshape: data [2, N, 4] with the wanted sizes [0, -1] gives [2, 4*N].

    An unknown size is None, such as the size for -1 if the rank of the data is unknown.

    Args:
        shape: the shape of the data, None if its rank is unknown.
        wanted: the elements of the input `shape`, with 0 and -1; None for one that is unknown. A symbolic element that
            is always negative counts as -1. Any other symbolic element is the size itself.
        allow_zero: whether 0 means the size 0, and not the size of the data along the same axis.

    Raises:
        Violation: C1 to C4 if `wanted` is malformed or certainly does not fit `shape`.
    """
    if symbolic := any(isinstance(size, Dim) for size in wanted):
        wanted = [-1 if isinstance(size, Dim) and (upper_bound(size) or 0) < 0 else size for size in wanted]
    sizes = list(wanted)
    if sizes.count(-1) > 1 or [size for size in sizes if isinstance(size, int) and size < -1]:
        raise Violation("C1", f"shape {shape_text(tuple(wanted))}")
    if allow_zero and 0 in sizes and -1 in sizes:
        raise Violation("C4", f"shape {shape_text(tuple(wanted))}")
    for axis in [axis for axis, size in enumerate(wanted) if size == 0 and not allow_zero]:
        if shape is not None and axis >= len(shape):
            raise Violation("C2", f"shape {shape_text(tuple(wanted))}, rank {len(shape)}")
        sizes[axis] = None if shape is None else shape[axis]
    inferred = sizes.index(-1) if -1 in sizes else None
    if shape is None:
        return tuple([None if axis == inferred else size for axis, size in enumerate(sizes)])

    certain = not symbolic or all(not isinstance(size, Dim) or (lower_bound(size) or 0) > 0 for size in wanted)
    if inferred is not None:
        others = sizes[:inferred] + sizes[inferred + 1 :]
        sizes[inferred], remainder = _divide_by_sizes(shape, others)
        differs = 0 in others or (certain and equal(remainder, 0) is False)
    else:
        if symbolic or None in sizes:
            _fill_single_unknown(sizes, wanted, shape)
        differs = certain and equal(product_if_known(shape), product_if_known(sizes)) is False
    if differs:
        raise Violation("C3", f"data of shape {shape_text(shape)}, shape {shape_text(tuple(wanted))}")
    return tuple(sizes)


def _fill_single_unknown(sizes: list[Size | None], wanted: Sequence[Size | None], shape: Sequence[Size]) -> None:
    """Set the one unknown size of a Reshape's output: the number of elements divided by the product of the other sizes.

    For 12 elements, [None, 4] becomes [3, 4]. If no size is unknown, a symbolic size that the node states, such as N in
    [N, 4], is replaced by the quotient. N stays if the division may leave a remainder. Nothing is set if several sizes
    would have to be computed, or if one of the other sizes may be 0.

    Args:
        sizes: the output shape, changed in place; 0 and -1 are replaced by the sizes that they mean.
        wanted: the shape that the node states, with 0 and -1.
        shape: the shape of the input.
    """
    unknown = [axis for axis, size in enumerate(sizes) if size is None]
    unknown = unknown or [axis for axis, size in enumerate(wanted) if isinstance(size, Dim)]
    if len(unknown) != 1:
        return
    axis = unknown[0]
    others = sizes[:axis] + sizes[axis + 1 :]
    if all(size is not None and (lower_bound(size) or 0) > 0 for size in others):
        quotient, remainder = _divide_by_sizes(shape, others)
        if sizes[axis] is None or remainder == 0:
            sizes[axis] = quotient


def _divide_by_sizes(shape: Sequence[Size | None], others: Sequence[Size | None]) -> tuple[Size | None, Size | None]:
    """Return the quotient and the remainder of the product of `shape` divided by the product of `others`.

    Both are None if a size in `others` is unknown (None) or 0, or if one in `shape` is unknown. A symbolic size in both
    lists is cancelled first, which keeps the products small. A result that is too complex is None.
    """
    if None in others or 0 in others:
        return None, None
    if any(isinstance(size, Dim) for size in shape):
        common = Counter(shape) & Counter(others)
        shape = _remove_symbols(shape, common)
        others = _remove_symbols(others, common)
    whole = product_if_known(shape)
    part = product_if_known(others)
    return apply_to_sizes(operator.floordiv, whole, part), apply_to_sizes(operator.mod, whole, part)


def _remove_symbols(sizes: Sequence[Size | None], removed: Counter[Size | None]) -> list[Size | None]:
    """Return `sizes` in the same order without the symbolic sizes that `removed` counts.

    If `removed` counts N twice, the first two N are removed. Numbers and None stay.
    """
    left = removed.copy()
    kept = []
    for size in sizes:
        if isinstance(size, Dim) and left[size]:
            left[size] -= 1
        else:
            kept.append(size)
    return kept


def squeeze_shape(shape: Shape, axes: Sequence[int]) -> Shape:
    """Return a shape without the sizes at `axes`.

    Each axis is counted from 0 and must be below the rank. An axis that is there twice is removed once. Raises
    Violation C2 if a removed size is certainly not 1.
    """
    removed = set(axes)
    for axis in removed:
        size = shape[axis]
        if equal(size, 1) is False:
            raise Violation("C2", f"axis {axis}, shape {shape_text(shape)}")
    return tuple([size for axis, size in enumerate(shape) if axis not in removed])


# -- joining, splitting, broadcasting, padding --


def concat_shapes(shapes: Sequence[Shape], axis: int) -> Shape:
    """Return the shape of tensors joined along `axis`, which is counted from 0; `shapes` has at least one.

    The size along `axis` is the sum, None if unknown. A size along another axis is the most precise that a tensor has
    there: a number, then a symbolic size, then None. Raises Violation C2 if the ranks differ, or sizes along another
    axis certainly differ.
    """
    first = shapes[0]
    for shape in shapes:
        if len(shape) != len(first):
            raise Violation("C2", f"shapes {shape_text(first)} and {shape_text(shape)}, axis {axis}")
    sizes = list(first)
    for number in range(len(first)):
        if number == axis:
            sizes[number] = sum_if_known([shape[number] for shape in shapes])
            continue
        for shape in shapes:
            if shape[number] != sizes[number]:
                sizes[number] = common_size(sizes[number], shape[number], "C2", f"the size of axis {number}")
    return tuple(sizes)


def complete_parts(stated: Sequence[Size | None], whole: Size | None, label: str) -> list[Size | None]:
    """Return the sizes of all parts into which a dimension of size `whole` is split; one unknown size is computed.

    For example, sizes 2 and None of a whole of 5 give [2, 3].

    Args:
        stated: the size of each part, None if unknown. If several are None, they stay None.
        whole: the size of the dimension, None if unknown.
        label: the label of the constraint that is broken.

    Raises:
        Violation: `label` if a size is certainly negative, or the sizes certainly do not add up to `whole`.
    """
    known = [size for size in stated if size is not None]
    if any(size < 0 if isinstance(size, int) else less(size, 0) for size in known):
        raise Violation(label, f"sizes {shape_text(tuple(known[:20]))}")
    sum_of_known = sum_if_known(known)
    if len(known) == len(stated):
        fits = equal(sum_of_known, whole)
    else:
        fits = at_most(sum_of_known, whole)
    if fits is False:
        raise Violation(label, f"sizes {shape_text(tuple(stated[:20]))}, dimension {whole}")
    if len(known) == len(stated) - 1:
        rest = apply_to_sizes(operator.sub, whole, sum_of_known)
        return [rest if size is None else size for size in stated]
    return list(stated)


def equal_parts(whole: Size, count: int, *, last_smaller: bool) -> list[Size]:
    """Return the sizes of `count` equal parts of a dimension of size `whole`.

    With `last_smaller`, the parts are rounded up, and the last one has the rest: 7 in 3 parts is [3, 3, 1]. Violation
    C2 is then raised if the rest is certainly negative. Without `last_smaller`, it is raised if `count` certainly does
    not divide `whole`.
    """
    if not last_smaller:
        if equal(whole % count, 0) is False:
            raise Violation("C2", f"{count} outputs, dimension {whole}")
        return [whole // count] * count
    part = ceil_div(whole, count)
    last = whole - part * (count - 1)
    if less(last, 0):
        raise Violation("C2", f"{count} outputs, dimension {whole}")
    return [*[part] * (count - 1), last]


def expand_shape(shape: Shape, wanted: Shape) -> Shape:
    """Return the shape to which `shape` and `wanted` broadcast together, as Expand does; an unknown size is None.

    Raises Violation C2 if the shapes certainly cannot be broadcast together.
    """
    rank = max(len(shape), len(wanted))
    pairs = zip((1,) * (rank - len(shape)) + shape, (1,) * (rank - len(wanted)) + wanted, strict=True)
    try:
        return tuple([_broadcast_size(have, want) for have, want in pairs])
    except ValueError as error:
        raise Violation("C2", f"shapes {shape_text(shape)} and {shape_text(wanted)}") from error


def _broadcast_size(have: Size | None, want: Size | None) -> Size | None:
    """Return the size to which two sizes broadcast, or None if it is unknown.

    If only one size is unknown (None), the known size is the result, such as 3 for None and 3. The result is None
    instead if the known size may be 1, or if no size is known. Raises ValueError if the sizes cannot broadcast.
    """
    for one, other in ((have, want), (want, have)):
        if one is None:
            return other if equal(other, 1) is False else None
    return apply_to_sizes(broadcast, have, want)


def size_ratio(size: Size | None, base: Size | None) -> Fraction | None:
    """Return the number by which `base` is multiplied to give `size`, whatever the variables are; None if unknown."""
    from fractions import Fraction  # slow to import, with decimal numbers

    if isinstance(size, int) and isinstance(base, int):
        return Fraction(size, base) if base else None
    if not isinstance(size, Dim) or not isinstance(base, Dim):
        return None
    terms, base_terms = dict(size.terms), dict(base.terms)
    if terms.keys() != base_terms.keys():
        return None
    ratios = {Fraction(coefficient, base_terms[monomial]) for monomial, coefficient in terms.items()}
    return ratios.pop() if len(ratios) == 1 else None


def pad_shape(shape: tuple[Size, ...], pads: Sequence[Size | None], axes: Sequence[int], mode: str) -> Shape:
    """Return a shape with `axes` padded; negative pads remove elements.

    Args:
        shape: the shape before.
        pads: the padding before each of `axes`, then the padding after each; None for one that is unknown, which makes
            the size of the axis None.
        axes: the axes, counted from 0.
        mode: the mode of Pad, such as "constant" or "reflect".

    Raises:
        Violation: C3 if negative pads certainly remove more elements than an axis has; C6 if no elements are left along
            an axis, and a mode other than "constant" has to repeat some there.
    """
    sizes: list[Size | None] = list(shape)
    for axis, begin, end in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        size = shape[axis]
        sizes[axis] = sum_if_known((size, begin, end))
        if isinstance(begin, int) and isinstance(end, int):
            kept = size + min(begin, 0) + min(end, 0)
            if less(kept, 0):
                raise Violation("C3", f"pads {begin} and {end}, dimension {size}")
            if mode != "constant" and kept == 0 and max(begin, end) > 0:
                raise Violation("C6", f"axis {axis}, mode {mode}")
    return tuple(sizes)


# -- indices --


def check_indices_shape(shape: Sequence[Size], indices: Sequence[Size], axis: int) -> None:
    """Raise Violation C2 if the indices, as of GatherElements, do not fit the data.

    They do not fit if their rank differs from the data's, or if they are certainly larger along an axis other than
    `axis`. Axes are counted from 0. `shape` is the shape of the data, `indices` the shape of the indices.
    """
    fits = len(indices) == len(shape) and all(
        number == axis or at_most(size, limit) is not False
        for number, (size, limit) in enumerate(zip(indices, shape, strict=True))
    )
    if not fits:
        raise Violation("C2", f"shapes {shape_text(tuple(shape))} and {shape_text(tuple(indices))}")


def shape_of_slices(shape: Sequence[Size], indices: Sequence[Size], batch: int, length: int) -> Shape:
    """Return the shape of the slices that index tuples select from a tensor, as GatherND does.

    A tensor [5, 6, 7] with indices [3, 2], which are three pairs, gives [3, 7].

    Args:
        shape: the shape of the tensor.
        indices: the shape of the indices; its last size is the length of a tuple.
        batch: the number of leading axes that tensor and indices share, `batch_dims`.
        length: the number of indices in a tuple.

    Raises:
        Violation: C2 if shared axes certainly have different sizes.
    """
    pairs = zip(shape[:batch], indices, strict=False)
    shared = [common_size(a, b, "C2", "a dimension of batch_dims") for a, b in pairs]
    return (*shared, *indices[batch:-1], *shape[batch + length :])


def check_updates_shape(shape: Sequence[Size], indices: Sequence[Size], length: int, updates: Sequence[Size]) -> None:
    """Raise Violation C2 if the updates of a ScatterND certainly differ in shape from the slices that they replace.

    `shape`, `indices` and `updates` are the shapes of the three inputs. Index tuples select the slices; `length` is the
    number of indices in a tuple.
    """
    expected = shape_of_slices(shape, indices, 0, length)
    if len(updates) != len(expected) or any(equal(a, b) is False for a, b in zip(updates, expected, strict=True)):
        raise Violation("C2", f"updates of shape {shape_text(tuple(updates))}, not {shape_text(expected)}")


# -- PRelu before its slopes broadcast --


def check_slopes(shape: Sequence[Size], slopes: Sequence[Size]) -> None:
    """Raise Violation C1 if the slopes of PRelu 1 or 6 have an illegal shape.

    A single slope is legal, and so is one slope for each channel: (3,) for an input of (N, 3, H, W). Unknown sizes are
    taken as legal. `shape` is the shape of the input, `slopes` is the shape of the slopes.
    """
    several = any(equal(size, 1) is False for size in slopes)
    if several and (len(slopes) != 1 or len(shape) < 2 or equal(slopes[0], shape[1]) is False):
        raise Violation("C1", f"the shapes are {shape_text(tuple(shape))} and {shape_text(tuple(slopes))}")
