"""Outputs of reductions along some axes, one, or all."""

from __future__ import annotations

from opset.inference.building.call import Call, Element, Unknown
from opset.inference.building.dimensions import Size
from opset.inference.building.types import Shape
from opset.inference.registration import rule


@rule("reduce")
def reduce(call: Call, output: int) -> Shape:
    """Return the shape of the first input with the sizes of reduced axes replaced by 1, or removed without `keepdims`.

    The axes are an attribute or the second input; without axes, all are reduced, or none if `noop_with_empty_axes`.
    """
    axes, keep = stated_axes(call), bool(call.attribute("keepdims"))
    if axes == ():
        if call.attribute("noop_with_empty_axes"):
            return call.require_shape(0)
        return (1,) * len(call.require_shape(0)) if keep else ()
    shape = call.require_shape(0)
    if axes is None:
        if shape and not keep:
            raise Unknown("the number of reduced axes is not known")
        return tuple(_one_or_unknown(size) for size in shape)
    chosen = {axis % len(shape) for axis in axes if isinstance(axis, int)}
    loose = sum(not isinstance(axis, int) for axis in axes)
    left = [size for axis, size in enumerate(shape) if axis not in chosen]
    if loose >= len(left):  # axes are distinct, so all are reduced
        chosen, left, loose = set(range(len(shape))), [], 0
    if keep:
        rest = [size if not loose else _one_or_unknown(size) for size in shape]
        return tuple(1 if axis in chosen else size for axis, size in enumerate(rest))
    return tuple(left) if not loose else (left[0] if len(set(left)) == 1 else None,) * (len(left) - loose)


@rule("arg_reduce")
def arg_reduce(call: Call, output: int) -> Shape:
    """Return the shape of the first input with the size of `axis` replaced by 1, or removed without `keepdims`."""
    shape = call.require_shape(0)
    axis = call.attribute("axis") % len(shape)
    return (*shape[:axis], *((1,) if call.attribute("keepdims") else ()), *shape[axis + 1 :])


def stated_axes(call: Call) -> tuple[Element, ...] | None:
    """Return the axes of a reduction, None for unknown ones; None where their number is unknown."""
    if "axes" in call.schema.attributes:
        return tuple(call.attribute("axes") or ())
    return call.sizes(1) if call.has(1) else ()


def _one_or_unknown(size: Size) -> int | None:
    """Return 1 for a size of 1, which stays if the axis is reduced; None for others."""
    return 1 if size == 1 else None
