"""Outputs of reductions along some axes, one, or all."""

from __future__ import annotations

from opset.inference.building.call import Call, Element, Unknown
from opset.inference.building.dimensions import Size
from opset.inference.building.types import Shape
from opset.inference.registration import rule


@rule("reduce")
def reduce(call: Call, output: int) -> Shape:
    """Return the first input's shape in which reduced axes have size 1, or are removed if `keepdims` is 0.

    If the node states no axes, or an empty list, all axes are reduced; with `noop_with_empty_axes`, none is. If axes
    are unknown, sizes that depend on them are None. `output`, the index of the output, is not used. Raises Unknown if
    the rank of the output does not follow.
    """
    axes = stated_axes(call)
    keep = bool(call.attribute("keepdims"))
    if axes == ():
        if call.attribute("noop_with_empty_axes"):
            return call.require_shape(0)
        return (1,) * len(call.require_shape(0)) if keep else ()
    shape = call.require_shape(0)
    if axes is None:
        if shape and not keep:
            raise Unknown("the number of reduced axes is not known")
        return tuple(_one_or_unknown(size) for size in shape)
    reduced = {axis % len(shape) for axis in axes if isinstance(axis, int)}
    unknown = sum(not isinstance(axis, int) for axis in axes)
    kept = [size for axis, size in enumerate(shape) if axis not in reduced]
    if unknown >= len(kept):  # axes are distinct, so all are reduced
        reduced = set(range(len(shape)))
        kept = []
        unknown = 0
    if keep:
        rest = [size if not unknown else _one_or_unknown(size) for size in shape]
        return tuple(1 if axis in reduced else size for axis, size in enumerate(rest))
    if not unknown:
        return tuple(kept)
    return (kept[0] if len(set(kept)) == 1 else None,) * (len(kept) - unknown)


@rule("arg_reduce")
def arg_reduce(call: Call, output: int) -> Shape:
    """Return the shape of the first input with size 1 along the attribute `axis`: the rule of ArgMax and ArgMin.

    If the attribute `keepdims` is 0, the axis is removed instead. A negative `axis` counts from the end. `output`, the
    index of the output, is not used. Raises Unknown if the rank of the input is unknown.
    """
    shape = call.require_shape(0)
    axis = call.attribute("axis") % len(shape)
    return (*shape[:axis], *((1,) if call.attribute("keepdims") else ()), *shape[axis + 1 :])


def stated_axes(call: Call) -> tuple[Element, ...] | None:
    """Return the axes of a reduction as the node states them; an axis may be negative, and is None if it is unknown.

    By the version of the operator, the axes are in the attribute `axes` or in the second input. The result is () if the
    node states no axes, and None if even the number of axes is unknown.
    """
    if "axes" in call.schema.attributes:
        return tuple(call.attribute("axes") or ())
    return call.sizes(1) if call.has(1) else ()


def _one_or_unknown(size: Size) -> int | None:
    """Return the size of an axis that may or may not be reduced to 1: 1 if it is 1 already, else None."""
    return 1 if size == 1 else None
