"""Windows that slide over spatial axes: their positions, the elements in them, and sums or maxima over them.

Constraints that these functions report, for every operator whose YAML declares them by these labels:

- C2: the window has elements;
- C4: the window, its gaps included, is not larger than the padded input; if the number of windows is rounded up, it
  may be larger by less than a stride.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from opset.reference.numerics.arrays import Array
from opset.reference.registration import KernelContext
from opset.schemas.constraints.violation import Violation

Ints = Sequence[int] | None


class Windows(NamedTuple):
    """The geometry of sliding windows; every field has one value for each spatial axis."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    output: tuple[int, ...]


def windows_over(
    shape: Sequence[int],
    kernel: Sequence[int],
    strides: Ints,
    dilations: Ints,
    pads: Ints,
    auto_pad: str = "NOTSET",
    *,
    ceil_mode: int = 0,
) -> Windows:
    """Return the windows over a tensor of this shape, batch and channels first.

    With `ceil_mode`, a last window that starts in the padding at the end is left out. Only the pools of version 22 say
    so; the formula of earlier versions keeps it, but neither runtimes nor the standard's test cases do.
    """
    sizes, rank = shape[2:], len(kernel)
    strides, dilations, pads = window_attributes(kernel, strides, dilations, pads)
    begins, ends, output = [], [], []
    for axis, size in enumerate(sizes):
        step, reach = strides[axis], (kernel[axis] - 1) * dilations[axis] + 1
        begin, end = (pads[axis], pads[axis + rank]) if auto_pad in ("NOTSET", "") else (0, 0)
        if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            count = -(-size // step)
            begin, end = same_pads(max((count - 1) * step + reach - size, 0), auto_pad)
        else:
            room = size + begin + end - reach
            if room < 0 and not (ceil_mode and room > -step):
                raise Violation("C4", f"a window of {reach} over {size} + {begin} + {end} on spatial axis {axis}")
            count = (-(-room // step) if ceil_mode else room // step) + 1
            if ceil_mode and (count - 1) * step >= size + begin:
                count -= 1
        begins.append(begin)
        ends.append(end)
        output.append(count)
    return Windows(tuple(kernel), strides, dilations, tuple(begins), tuple(ends), tuple(output))


def window_attributes(
    kernel: Sequence[int], strides: Ints, dilations: Ints, pads: Ints
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return strides, dilations and pads, with defaults for those that are absent. Raises Violation C2."""
    rank = len(kernel)
    strides, dilations = tuple(strides or (1,) * rank), tuple(dilations or (1,) * rank)
    pads = tuple(pads or (0,) * (2 * rank))
    if min(kernel, default=1) < 1:
        raise Violation("C2", f"window {tuple(kernel)}")
    return strides, dilations, pads


def same_pads(total: int, auto_pad: str) -> tuple[int, int]:
    """Return padding divided into begin and end; SAME_UPPER puts the odd element at the end."""
    half = total // 2
    return (half, total - half) if auto_pad == "SAME_UPPER" else (total - half, half)


def pad_spatial(x: Array, begins: Sequence[int], ends: Sequence[int], context: KernelContext) -> Array:
    """Return a tensor with zeros around its spatial axes."""
    if not any(begins) and not any(ends):
        return x
    shape = (*x.shape[:2], *(b + size + e for b, size, e in zip(begins, x.shape[2:], ends, strict=True)))
    context.reserve(math.prod(shape), x.dtype)
    result = np.zeros(shape, x.dtype)
    result[interior_index(begins, x.shape[2:])] = x
    return result


def window_view(x: Array, windows: Windows) -> Array:
    """Return a view of a padded tensor as (N, C, *kernel, *output)."""
    spatial = x.strides[2:]
    within = [stride * dilation for stride, dilation in zip(spatial, windows.dilations, strict=True)]
    between = [stride * step for stride, step in zip(spatial, windows.strides, strict=True)]
    shape = (*x.shape[:2], *windows.kernel, *windows.output)
    return as_strided(x, shape, (*x.strides[:2], *within, *between), writeable=False)


def reduce_windows(ufunc: np.ufunc, x: Array, windows: Windows, start: Any, context: KernelContext) -> Array:
    """Return the elements of each window reduced from `start` by a ufunc such as `np.maximum`, axis by axis."""
    for axis, (kernel, stride, dilation, begin, end, count) in enumerate(zip(*windows, strict=True), 2):
        if kernel == stride == 1 and not begin and not end:
            continue
        size, source = x.shape[axis], x
        shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
        context.reserve(math.prod(shape), x.dtype)
        x = np.full(shape, start, x.dtype)
        before: tuple[Any, ...] = (slice(None),) * axis
        if count <= kernel:
            for window in range(count):
                context.check_time()
                first = window * stride - begin
                stop = min(first + (kernel - 1) * dilation + 1, size)
                first = first if first >= 0 else first % dilation
                if first < stop:
                    whole = ufunc.reduce(source[(*before, slice(first, stop, dilation))], axis)
                    target = x[(*before, window)]
                    ufunc(target, whole, out=target)
            continue
        for windows_part, inputs_part in taps(size, kernel, stride, dilation, begin, count):
            context.check_time()
            target = x[(*before, windows_part)]
            ufunc(target, source[(*before, inputs_part)], out=target)
    return x


def taps(size: int, kernel: int, stride: int, dilation: int, begin: int, count: int) -> Iterator[tuple[slice, slice]]:
    """Yield for each tap, a position in the window, the windows whose tap is within the input, and the input there.

    Taps that are in the padding for all windows are skipped, so that a window much larger than the input costs no more.
    """
    for tap in range(kernel) if kernel <= count else _taps_within(size, kernel, stride, dilation, begin, count):
        offset = tap * dilation - begin
        first, stop = max(0, -(offset // stride)), min(count, (size - 1 - offset) // stride + 1)
        if first < stop:
            start = offset + first * stride
            yield slice(first, stop), slice(start, start + (stop - first - 1) * stride + 1, stride)


def _taps_within(size: int, kernel: int, stride: int, dilation: int, begin: int, count: int) -> Iterator[int]:
    """Yield the taps that are within the input for at least one window."""
    done = 0
    for window in reversed(range(count)):
        start = window * stride - begin
        stop = min(kernel, (size - 1 - start) // dilation + 1)
        yield from range(max(done, -(start // dilation)), stop)
        done = max(done, stop)


def add_windows(columns: Array, windows: Windows, shape: Sequence[int], context: KernelContext) -> Array:
    """Return a tensor of this shape, without padding, with windows (N, C, *kernel, *output) added up in it."""
    sizes = [b + size + e for b, size, e in zip(windows.begins, shape[2:], windows.ends, strict=True)]
    context.reserve(math.prod(sizes) * math.prod(shape[:2]), columns.dtype)
    result = np.zeros((*shape[:2], *sizes), columns.dtype)
    if columns.size:
        for tap in np.ndindex(windows.kernel):
            context.check_time()
            target = result[tap_index(windows, tap)]
            target += columns[(slice(None), slice(None), *tap)]
    return result[interior_index(windows.begins, shape[2:])]


def tap_index(windows: Windows, tap: Sequence[int]) -> tuple[Any, ...]:
    """Return the index, in the padded tensor, of one tap of all windows."""
    parts = (
        slice(at * dilation, at * dilation + (count - 1) * stride + 1 if count else at * dilation, stride)
        for at, stride, dilation, count in zip(tap, windows.strides, windows.dilations, windows.output, strict=True)
    )
    return (..., *parts)


def interior_index(begins: Sequence[int], sizes: Sequence[int]) -> tuple[Any, ...]:
    """Return the index of the spatial part that starts at `begins` and has these sizes."""
    return (..., *(slice(begin, begin + size) for begin, size in zip(begins, sizes, strict=True)))
