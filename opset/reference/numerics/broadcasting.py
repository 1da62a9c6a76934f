"""Broadcasting of operands: as in numpy since opset 7, by the attribute `axis` before.

Operands whose shapes do not broadcast break C1 of their operator.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opset.reference.numerics.arrays import Array
from opset.reference.registration import Function, KernelContext
from opset.schemas.constraints.violation import Violation


def reserve_broadcast(context: KernelContext, *operands: Array, dtype: Any = None) -> None:
    """Reserve a result of the shape that all operands broadcast to, of the last one's type or `dtype`.

    Two short vectors may broadcast to a large matrix. Raises Violation C1 if there is no such shape.
    """
    try:
        count = np.broadcast(*operands).size
    except ValueError:
        raise Violation("C1", f"the shapes are {_show_shapes(*operands)}") from None
    context.reserve(count, dtype or operands[-1].dtype)


def broadcast(function: Function, dtype: Any = None) -> Function:
    """Return the kernel that applies a function to two operands whose shapes broadcast as in numpy.

    Its results are of the operands' type, or of `dtype`.
    """

    def broadcasting(a: Array, b: Array, *, context: KernelContext) -> Array:
        if a.shape != b.shape:
            reserve_broadcast(context, a, b, dtype=dtype)
        return function(a, b)

    return broadcasting


def broadcast_from_axis(function: Function) -> Function:
    """Return the kernel that applies a function to two operands, the second aligned with the first at an axis."""

    def aligning(a: Array, b: Array, *, axis: int | None, broadcast: int) -> Array:
        return function(a, align_at_axis(a, b, axis) if broadcast else check_same_shape(a, b))

    return aligning


def check_same_shape(a: Array, b: Array) -> Array:
    """Return the second operand. Raises Violation C1 if it has not the shape of the first."""
    if a.shape != b.shape:
        raise Violation("C1", f"the shapes are {_show_shapes(a, b)}")
    return b


def align_at_axis(a: Array, b: Array, axis: int | None) -> Array:
    """Return `b` in a shape that broadcasts as in numpy to `a`, whose dimensions it has from `axis` on.

    Without an axis they are the last ones; a single element broadcasts to any shape. Raises Violation C1 if `b` does
    not fit. The standard then had neither dimensions of 1 that are stretched nor negative axes; models of that time use
    the first, and the one negative axis that means the last dimensions.
    """
    if b.size == 1 and b.ndim <= a.ndim:
        return b.reshape(())
    last = a.ndim - b.ndim
    start = last if axis is None or axis == -b.ndim else axis
    if not 0 <= start <= last or any(size not in (1, a.shape[start + at]) for at, size in enumerate(b.shape)):
        raise Violation("C1", f"the shapes are {_show_shapes(a, b)}, axis is {'left out' if axis is None else axis}")
    return b.reshape(b.shape + (1,) * (last - start))


def sum_to(x: Array, shape: tuple[int, ...]) -> Array:
    """Return `x` in another shape: summed along axes of size 1 there, repeated along its own axes of size 1.

    The derivative by a broadcast operand gets the operand's shape in this way.
    """
    if x.shape == shape:
        return x
    x = x.sum(tuple(range(x.ndim - len(shape))))
    axes = tuple(axis for axis, (size, dim) in enumerate(zip(x.shape, shape, strict=True)) if dim == 1 < size)
    return np.broadcast_to(x.sum(axes, keepdims=True), shape)


def _show_shapes(*operands: Array) -> str:
    """Return the shapes of operands in words."""
    return " and ".join(str(list(operand.shape)) for operand in operands)
