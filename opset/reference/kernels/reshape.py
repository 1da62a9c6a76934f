"""Kernels of operators that change the shape alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from opset.reference.numerics.arrays import Array
from opset.reference.numerics.axes import nonnegative_axis, normalised_axes
from opset.reference.numerics.shapes import dims_of
from opset.reference.registration import kernel
from opset.schemas.constraints import Violation


@kernel("Identity")
def identity_1(x: Any) -> Any:
    """Return x."""
    return x


@kernel("Reshape", since=5)
def reshape_5(x: Array, shape: Array, *, allowzero: int = 0) -> Array:
    """Return the elements in another shape, in which one dimension may be left to find and others taken over."""
    return _reshaped(x, dims_of(shape), bool(allowzero))


@kernel("Reshape")
def reshape_1(x: Array, *, shape: Sequence[int] | None) -> Array:
    """Return `reshape`, the shape an attribute; an absent one is the same as an empty one."""
    return _reshaped(x, dims_of(shape or ()), False)


def _reshaped(x: Array, dims: list[int], zeros: bool) -> Array:
    wanted = list(dims)
    if dims.count(-1) > 1 or any(each < -1 for each in dims):
        raise Violation("C1", f"shape {dims}")
    if zeros:
        if 0 in dims and -1 in dims:
            raise Violation("C4", f"shape {dims}")
    else:
        for place, each in enumerate(dims):
            if each == 0:
                if place >= x.ndim:
                    raise Violation("C2", f"shape {dims}, rank {x.ndim}")
                dims[place] = x.shape[place]
    if -1 in dims:
        known = math.prod(each for each in dims if each != -1)
        if not known or x.size % known:
            raise Violation("C3", f"{x.size} elements, shape {wanted}")
        dims[dims.index(-1)] = x.size // known
    elif math.prod(dims) != x.size:
        raise Violation("C3", f"{x.size} elements, shape {wanted}")
    return x.reshape(dims)


@kernel("Flatten", since=11)
def flatten_11(x: Array, *, axis: int) -> Array:
    """Return a matrix, its rows the dimensions before axis."""
    if not -x.ndim <= axis <= x.ndim:
        raise Violation("C1", f"axis {axis}, rank {x.ndim}")
    axis += x.ndim * (axis < 0)
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


@kernel("Flatten")
def flatten_1(x: Array, *, axis: int) -> Array:
    """Return `flatten`, axis counted from the front."""
    nonnegative_axis(axis, x.ndim + 1, "C1")
    return flatten_11(x, axis=axis)


@kernel("Squeeze", since=13)
def squeeze_13(x: Array, axes: Array | None = None) -> Array:
    """Return x without the dimensions `axes`, or without any of size one."""
    return _squeezed(x, None if axes is None else normalised_axes(axes.reshape(-1).tolist(), x.ndim, "C1"))


@kernel("Squeeze", since=11)
def squeeze_11(x: Array, *, axes: Sequence[int] | None) -> Array:
    """Return `squeeze`, axes an attribute."""
    return _squeezed(x, None if axes is None else normalised_axes(axes, x.ndim, "C1"))


@kernel("Squeeze")
def squeeze_1(x: Array, *, axes: Sequence[int] | None) -> Array:
    """Return `squeeze`, axes an attribute and counted from the front."""
    return _squeezed(x, None if axes is None else [nonnegative_axis(axis, x.ndim, "C1") for axis in axes])


def _squeezed(x: Array, axes: Iterable[int] | None) -> Array:
    gone = {axis for axis, size in enumerate(x.shape) if size == 1} if axes is None else set(axes)
    if any(x.shape[axis] != 1 for axis in gone):
        raise Violation("C2", f"axes {sorted(gone)}, shape {list(x.shape)}")
    return x.reshape([size for axis, size in enumerate(x.shape) if axis not in gone])


@kernel("Unsqueeze", since=13)
def unsqueeze_13(x: Array, axes: Array) -> Array:
    """Return x with dimensions of one at the places `axes` of the result."""
    rank = x.ndim + axes.size
    return _unsqueezed(x, normalised_axes(axes.reshape(-1).tolist(), rank, "C1"))


@kernel("Unsqueeze", since=11)
def unsqueeze_11(x: Array, *, axes: Sequence[int]) -> Array:
    """Return `unsqueeze`, axes an attribute."""
    return _unsqueezed(x, normalised_axes(axes, x.ndim + len(axes), "C1"))


@kernel("Unsqueeze")
def unsqueeze_1(x: Array, *, axes: Sequence[int]) -> Array:
    """Return `unsqueeze`, axes an attribute and counted from the front."""
    rank = x.ndim + len(axes)
    return _unsqueezed(x, [nonnegative_axis(axis, rank, "C1") for axis in axes])


def _unsqueezed(x: Array, axes: Sequence[int]) -> Array:
    new = set(axes)
    if len(new) < len(axes):
        raise Violation("C2", f"axes {list(axes)}")
    sizes = iter(x.shape)
    return x.reshape([1 if axis in new else next(sizes) for axis in range(x.ndim + len(axes))])
