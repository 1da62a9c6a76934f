"""Outputs of reductions: along some axes, or one, or all."""

from __future__ import annotations

from opset.inference.agreement import unify
from opset.inference.call import Call, Element, Unknown
from opset.inference.dimensions import Size, equal
from opset.inference.registration import rule
from opset.inference.types import Shape
from opset.schemas.constraints import Violation


@rule("reduce")
def reduce(call: Call, output: int) -> Shape:
    """Return the shape of the first input with the sizes of reduced axes replaced by 1, or left out without `keepdims`.

    The axes are an attribute or the second input; where there are none, all are reduced, or none as
    `noop_with_empty_axes` says.
    """
    axes, keep = stated_axes(call), bool(call.attribute("keepdims"))
    if axes == ():
        if call.attribute("noop_with_empty_axes"):
            return call.require_shape(0)
        return (1,) * len(call.require_shape(0)) if keep else ()
    shape = call.require_shape(0)
    if axes is None:
        if shape and not keep:
            raise Unknown("how many axes are reduced is not known")
        return tuple(_only_one(size) for size in shape)
    chosen = {call.axis(axis, len(shape), "C1") for axis in axes if isinstance(axis, int)}
    loose = sum(not isinstance(axis, int) for axis in axes)
    left = [size for axis, size in enumerate(shape) if axis not in chosen]
    if loose >= len(left):  # no axis is named twice
        chosen, left, loose = set(range(len(shape))), [], 0
    if keep:
        rest = [size if not loose else _only_one(size) for size in shape]
        return tuple(1 if axis in chosen else size for axis, size in enumerate(rest))
    return tuple(left) if not loose else (left[0] if len(set(left)) == 1 else None,) * (len(left) - loose)


@rule("arg_reduce")
def arg_reduce(call: Call, output: int) -> Shape:
    """Return the shape of the first input with the size of `axis` replaced by 1, or left out without `keepdims`."""
    shape = call.require_shape(0)
    axis = call.axis(call.attribute("axis"), len(shape), "C1")
    if equal(shape[axis], 0):
        raise Violation("C2", f"shape {list(shape)}, axis {axis}")
    return (*shape[:axis], *((1,) if call.attribute("keepdims") else ()), *shape[axis + 1 :])


def stated_axes(call: Call) -> tuple[Element, ...] | None:
    """Return the axes that a reduction states, of which some may not be known; None where their number is not."""
    if "axes" in call.schema.attributes:
        return tuple(call.attribute("axes") or ())
    if not call.has(1):
        return ()
    unify(call, 1, (None,), "C2")
    return call.sizes(1)


def _only_one(size: Size) -> int | None:
    """Return the size of an axis that may be reduced: it is not known, but for one that is 1 anyway."""
    return 1 if size == 1 else None
