"""Kernels of operators that change only the shape: Reshape, Flatten, Squeeze and Unsqueeze; and of Identity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opset.inference.building.shapes import resolve_reshape, squeeze_shape
from opset.reference.numerics.arrays import Array
from opset.reference.numerics.shapes import dims_of
from opset.reference.registration import kernel


@kernel("Identity")
def identity_1(x: Any) -> Any:
    """Return x."""
    return x


@kernel("Reshape", since=5)
def reshape_5(x: Array, shape: Array, *, allowzero: int = 0) -> Array:
    """Return x in another shape: a size of -1 is inferred and, without `allowzero`, 0 copies the dimension of x."""
    dims: Any = resolve_reshape(x.shape, dims_of(shape), bool(allowzero))
    return x.reshape(dims)


@kernel("Reshape")
def reshape_1(x: Array, *, shape: Sequence[int] | None) -> Array:
    """Return x in the shape of the attribute; an absent one is the same as an empty one."""
    dims: Any = resolve_reshape(x.shape, dims_of(shape or ()), False)
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
    if axes is None:
        axes = [axis for axis, size in enumerate(x.shape) if size == 1]
    dims: Any = squeeze_shape(x.shape, [axis % x.ndim for axis in axes])
    return x.reshape(dims)


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
