"""Kernels of Pad, a part of the layout family."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opset.opsets.kernels import Call, Violation, kernel
from opset.opsets.kernels.axes import positive_axes, zero_of
from opset.opsets.kernels.shared import Array

_MODES = ("constant", "reflect", "edge")


@kernel("Pad", since=11)
def pad(
    x: Array, pads: Array, value: Array | None = None, axes: Array | None = None, *, mode: str, run: Call
) -> Array:
    """Give x with elements added at both ends of axes, or removed."""
    places = range(x.ndim) if axes is None else positive_axes(axes.reshape(-1).tolist(), x.ndim, "C2")
    if mode not in _MODES and (mode != "wrap" or run.version < 19):
        raise Violation("C4", f"mode {mode!r}")
    if value is None:
        value = zero_of(x.dtype)
    elif value.size != 1:
        raise Violation("C5", f"{value.size} values")
    return _padded(x, pads.reshape(-1).tolist(), places, mode, value.reshape(()), run)


@kernel("Pad", since=2)
def pad_by_attributes(x: Array, *, pads: Sequence[int], mode: str, value: float, run: Call) -> Array:
    """Give `pad` of all axes, the number of elements and the value attributes."""
    if mode not in _MODES:
        raise Violation("C4", f"mode {mode!r}")
    return _padded(x, pads, range(x.ndim), mode, np.array(value).astype(x.dtype), run)


@kernel("Pad")
def pad_by_paddings(x: Array, *, paddings: Sequence[int], mode: str, value: float, run: Call) -> Array:
    """Give `pad_by_attributes`, where nothing can be removed."""
    if any(each < 0 for each in paddings):
        raise Violation("C2", f"paddings {list(paddings)}")
    result: Array = pad_by_attributes(x, pads=paddings, mode=mode, value=value, run=run)
    return result


def _padded(x: Array, pads: Sequence[int], axes: Sequence[int], mode: str, value: Array, run: Call) -> Array:
    if len(pads) != 2 * len(axes):
        raise Violation("C1", f"{len(pads)} pads for {len(axes)} axes")
    if len(set(axes)) < len(axes):
        raise Violation("C2", f"axes {list(axes)}")
    kept: list[Any] = [slice(None)] * x.ndim
    added = [(0, 0)] * x.ndim
    for axis, begin, end in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        size = x.shape[axis]
        if size + min(begin, 0) + min(end, 0) < 0:
            raise Violation("C3", f"pads {begin} and {end}, dimension {size}")
        kept[axis] = slice(max(-begin, 0), size + min(end, 0))
        added[axis] = max(begin, 0), max(end, 0)
    x = x[(*kept, ...)]
    shape = [size + sum(each) for size, each in zip(x.shape, added, strict=True)]
    run.reserve(math.prod(shape), x.dtype)
    if mode == "constant":
        output = np.full(shape, value)
        output[tuple(slice(begin, begin + size) for (begin, _), size in zip(added, x.shape, strict=True))] = x
        return output
    for axis, (begin, end) in enumerate(added):
        if begin or end:
            size = x.shape[axis]
            if not size:
                raise Violation("C6", f"axis {axis}, mode {mode}")
            if not math.prod(shape):  # numpy takes long to take empty slices
                continue
            run.reserve(begin + size + end, np.int64)
            x = x.take(_sources(np.arange(-begin, size + end), size, mode), axis)
    return x.reshape(shape)


def _sources(places: Array, size: int, mode: str) -> Array:
    """Give the positions in the data that positions of the result, counted from the data's first, are copied from."""
    if mode == "edge" or size == 1:
        return places.clip(0, size - 1)
    if mode == "wrap":
        return places % size
    # There and back again, without either end twice.
    places = places % (2 * size - 2)
    return np.minimum(places, 2 * size - 2 - places)
