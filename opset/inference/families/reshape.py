"""Output shapes of operators that keep the elements: Reshape, Flatten, Squeeze and Unsqueeze."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opset.inference.building.agreement import required_attribute
from opset.inference.building.call import Call, Unknown
from opset.inference.building.dimensions import Size, equal, product_if_known
from opset.inference.building.shapes import resolve_reshape, squeeze_shape
from opset.inference.building.types import Shape, shape_text
from opset.inference.limits import MAX_RANK
from opset.inference.registration import data, infer
from opset.schemas.constraints.violation import Violation


@data("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity")
def reshape_1_data(call: Call) -> Any:
    """Return the elements of the first input, or None if they are unknown.

    The output of Reshape, Flatten, Squeeze, Unsqueeze and Identity has the same elements in the same order.
    """
    return call.elements(0)


@infer("Reshape", since=5)
def reshape_5(call: Call) -> Shape:
    """Return the shape that the second input states, with 0 and -1 replaced by the sizes that they mean.

    0 means the input's size of the same axis, unless the attribute `allowzero` is 1; -1 means the size that is left
    over. A size is None if it is unknown. Raises Unknown if not even the number of sizes is known, Violation C1 to C4
    if the sizes do not fit.
    """
    wanted = call.sizes(1)
    if wanted is None:
        raise Unknown("the number of sizes in shape is not known")
    return resolve_reshape(call.shape(0), wanted, bool(call.attribute("allowzero")))


@infer("Reshape")
def reshape_1(call: Call) -> Shape:
    """Return the shape that the attribute `shape` states, with 0 and -1 replaced by the sizes that they mean.

    0 means the input's size of the same axis, -1 the size that is left over. A size is None if it is unknown. An absent
    attribute counts as an empty one. Raises Violation C1 to C3 if the sizes do not fit, Unknown if there are more than
    MAX_RANK.
    """
    wanted = call.attribute("shape") or ()
    if len(wanted) > MAX_RANK:
        raise Unknown(f"shape has {len(wanted):,} sizes")
    return resolve_reshape(call.shape(0), wanted, False)


@infer("Flatten")
def flatten_1(call: Call) -> Shape:
    """Return (rows, columns), the products of the sizes before the attribute `axis` and of the sizes from it on.

    [2, 3, 4] gives [2, 12] for axis 1, and [1, 24] for axis 0. A negative axis counts from the end. A product is None
    if it is unknown. If the rank is unknown, both are None, except that axis 0 always gives 1 row.
    """
    axis = call.attribute("axis")
    shape = call.shape(0)
    if shape is None:
        return (1 if axis == 0 else None, None)
    axis += len(shape) * (axis < 0)
    return (product_if_known(shape[:axis]), product_if_known(shape[axis:]))


@infer("Squeeze", since=13)
def squeeze_13(call: Call) -> Shape | None:
    """Return the input's shape without the axes that the second input lists.

    If the second input is absent, all sizes of 1 are removed. If a symbolic size may be 1 in this case, the result is
    None, and the reason is added to `call.doubts`.

    If the second input has one element, and it is unknown, the result has one axis less than the input. A size that
    depends on the element is None: [1, 5, 1] may become [5, 1] or [1, 5], and gives [None, None].

    Raises Unknown if the rank is unknown. Raises Unknown if the axes are unknown and may be several. Raises Violation
    C2 if a removed axis certainly has another size than 1. Raises Violation C1 if an axis is removed from a scalar.
    """
    shape = call.require_shape(0)
    if not call.has(1):
        return _squeeze_all(call, shape)
    axes = call.numbers(1)
    if axes is not None:
        return squeeze_shape(shape, [axis % len(shape) for axis in axes])
    unknown_axes = call.sizes(1)
    if unknown_axes is None or len(unknown_axes) != 1:  # several may be equal
        raise Unknown("the axes are not constant")
    candidates = [axis for axis, size in enumerate(shape) if equal(size, 1) is not False]
    if not candidates:
        raise Violation("C2" if shape else "C1", f"shape {shape_text(shape)}")
    first = candidates[0]
    last = candidates[-1]
    return (*shape[:first], *[None] * (last - first), *shape[last + 1 :])


@infer("Squeeze")
def squeeze_1(call: Call) -> Shape | None:
    """Return the input's shape without the axes in the attribute `axes`; if that is absent, without all sizes of 1.

    Without this attribute, a symbolic size that may be 1 makes the result None, and the reason is added to
    `call.doubts`. Raises Unknown if the rank is unknown, Violation C2 if a removed axis certainly has another size than
    1.
    """
    shape = call.require_shape(0)
    axes = call.attribute("axes")
    if axes is None:
        return _squeeze_all(call, shape)
    return squeeze_shape(shape, [axis % len(shape) for axis in axes])


def _squeeze_all(call: Call, shape: tuple[Size, ...]) -> Shape | None:
    """Return the sizes of `shape` that are not 1, or None if a symbolic size may be 1.

    The reason for None is added to `call.doubts`.
    """
    ones = [equal(size, 1) for size in shape]
    if None in ones:
        call.doubt(f"there are no axes, and {shape[ones.index(None)]} may be 1")
        return None
    return tuple([size for size, is_one in zip(shape, ones, strict=True) if not is_one])


@infer("Unsqueeze", since=13)
def unsqueeze_13(call: Call) -> Shape:
    """Return the input's shape with sizes of 1 inserted at the axes in the second input.

    The axes count in the result: [2, 3] with axis 1 gives [2, 1, 3]. If only the number of axes is known, the result
    has the right rank, and its sizes are None; for a scalar, they are 1. Raises Unknown if this number or the rank of
    the input is unknown, or if the rank would be above MAX_RANK.
    """
    shape = call.require_shape(0)
    axes = call.numbers(1)
    if axes is not None:
        return _unsqueeze_shape(shape, axes)
    unknown_axes = call.sizes(1)
    if unknown_axes is None:
        raise Unknown("the axes are not constant, nor is their number known")
    return (None if shape else 1,) * (len(shape) + len(unknown_axes))


@infer("Unsqueeze")
def unsqueeze_1(call: Call) -> Shape:
    """Return the input's shape with sizes of 1 inserted at the axes in the attribute `axes`.

    The axes count in the result, negative ones from its end: [2, 3] with axis 1 gives [2, 1, 3]. Raises Unknown if the
    rank of the input is unknown, or if the rank of the result would be above MAX_RANK. Raises Violation without the
    label of a constraint if the attribute is absent.
    """
    return _unsqueeze_shape(call.require_shape(0), required_attribute(call, "axes"))


def _unsqueeze_shape(shape: Shape, axes: Sequence[int]) -> Shape:
    """Return a shape with sizes of 1 inserted; `axes` are their places in the result, and may be negative.

    Raises Unknown if the rank would be above MAX_RANK.
    """
    rank = len(shape) + len(axes)
    if rank > MAX_RANK:
        raise Unknown(f"the rank would be {rank:,}")
    inserted = {axis % rank for axis in axes}
    sizes = iter(shape)
    return tuple([1 if axis in inserted else next(sizes) for axis in range(rank)])
