"""Kernels of operators that change only the shape: Reshape, Flatten, Squeeze and Unsqueeze; and of Identity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opset.reference.numerics.arrays import Array
from opset.reference.numerics.shapes import dims_of
from opset.reference.registration import kernel
from opset.schemas.constraints import Violation


@kernel("Identity")
def identity_1(x: Any) -> Any:
    """Return x."""
    return x


@kernel("Reshape", since=5)
def reshape_5(x: Array, shape: Array, *, allowzero: int = 0) -> Array:
    """Return x in another shape, where -1 is inferred and, without `allowzero`, 0 copies the dimension of x."""
    return _reshaped(x, dims_of(shape), bool(allowzero))


@kernel("Reshape")
def reshape_1(x: Array, *, shape: Sequence[int] | None) -> Array:
    """Return x in the shape of the attribute; an absent one is the same as an empty one."""
    return _reshaped(x, dims_of(shape or ()), False)


def _reshaped(x: Array, dims: list[int], allow_zero: bool) -> Array:
    requested = list(dims)
    if dims.count(-1) > 1 or any(each < -1 for each in dims):
        raise Violation("C1", f"shape {dims}")
    if allow_zero:
        if 0 in dims and -1 in dims:
            raise Violation("C4", f"shape {dims}")
    else:
        if any(size == 0 for size in dims[x.ndim :]):
            raise Violation("C2", f"shape {dims}, rank {x.ndim}")
        dims = [x.shape[axis] if size == 0 else size for axis, size in enumerate(dims)]
    if -1 in dims:
        known = math.prod(each for each in dims if each != -1)
        if not known or x.size % known:
            raise Violation("C3", f"{x.size} elements, shape {requested}")
        dims[dims.index(-1)] = x.size // known
    elif math.prod(dims) != x.size:
        raise Violation("C3", f"{x.size} elements, shape {requested}")
    return x.reshape(dims)


@kernel("Flatten")
def flatten_1(x: Array, *, axis: int) -> Array:
    """Return a matrix whose rows are the dimensions before `axis`."""
    axis += x.ndim * (axis < 0)
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


@kernel("Squeeze", since=13)
def squeeze_13(x: Array, axes: Array | None = None) -> Array:
    """Return x without the dimensions `axes`, or without all dimensions of size 1."""
    return squeeze_1(x, axes=None if axes is None else axes.reshape(-1).tolist())


@kernel("Squeeze")
def squeeze_1(x: Array, *, axes: Sequence[int] | None) -> Array:
    """Return x without the dimensions `axes`, or without all dimensions of size 1."""
    ones = {axis for axis, size in enumerate(x.shape) if size == 1}
    removed = ones if axes is None else {axis % x.ndim for axis in axes}
    if not removed <= ones:
        raise Violation("C2", f"axes {sorted(removed)}, shape {list(x.shape)}")
    return x.reshape([size for axis, size in enumerate(x.shape) if axis not in removed])


@kernel("Unsqueeze", since=13)
def unsqueeze_13(x: Array, axes: Array) -> Array:
    """Return x with dimensions of size 1 inserted at `axes` of the result."""
    return unsqueeze_1(x, axes=axes.reshape(-1).tolist())


@kernel("Unsqueeze")
def unsqueeze_1(x: Array, *, axes: Sequence[int]) -> Array:
    """Return x with dimensions of size 1 inserted at `axes` of the result."""
    rank = x.ndim + len(axes)
    inserted = {axis % rank for axis in axes}
    sizes = iter(x.shape)
    return x.reshape([1 if axis in inserted else next(sizes) for axis in range(rank)])
