"""Outputs of windows that slide over spatial axes: convolutions, pools, and means or maxima of whole channels.

Two constraints are over several facts, and reported by the labels that kernels use:

- C2: filters have elements; quantized convolutions have C6 for this;
- C4: the window, its gaps included, is not larger than the padded input; if the number of windows is rounded up, it may
  be larger by less than a stride.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from opset.inference.building.agreement import required_attribute
from opset.inference.building.call import Call, Unknown
from opset.inference.building.dimensions import Size, apply_to_sizes, ceil_div, less
from opset.inference.building.types import Shape
from opset.inference.limits import MAX_RANK
from opset.inference.registration import rule
from opset.schemas.constraints.violation import Violation

_QUANTIZED = ("ConvInteger", "QLinearConv")


class SlidingWindows(NamedTuple):
    """How windows move over the spatial axes of an input; each field but `auto_pad` has a number for each axis.

    `begins` and `ends` are the pads; they are 0 unless `auto_pad` is "NOTSET".
    """

    kernel: tuple[Size | None, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    auto_pad: str


@rule("conv")
def conv(call: Call, output: int, x: int, w: int, bias: int | None = None) -> Shape:
    """Return the output shape of a convolution: batch, number of filters, and the number of windows along each axis.

    A size is None if it is unknown.

    Args:
        call: the node.
        output: the index of the output; it is not used.
        x: the index of the data.
        w: the index of the filters.
        bias: the index of the bias, which shows the number of filters if the shape of `w` is unknown.

    Raises:
        Unknown: the number of spatial axes is unknown.
        Violation: a window certainly has no elements (C2, or C6 for quantized operators) or does not fit (C4).
    """
    windows = windows_of(call, filter_sizes(call, x, w), "C6" if call.schema.name in _QUANTIZED else "C2")
    shape, filters = call.shape(x), call.shape(w)
    if filters is None and bias is not None:
        filters = call.shape(bias)
    batch, *spatial = (None,) * (1 + len(windows.kernel)) if shape is None else (shape[0], *shape[2:])
    return (batch, None if filters is None else filters[0], *window_counts(windows, spatial))


@rule("pool")
def pool(call: Call, output: int, x: int) -> Shape:
    """Return the output shape of a pool: batch, channels, and the number of windows along each axis.

    `x` is the index of the data. `output`, the index of the output, is not used. A size is None if it is unknown; the
    rank follows from `kernel_shape`. Raises Violation if `kernel_shape` is missing, if a window certainly has no
    elements (C2), or if a window certainly does not fit (C4).
    """
    kernel = required_attribute(call, "kernel_shape")
    shape = call.shape(x)
    windows = windows_of(call, kernel)
    ceil_mode = bool(call.attribute("ceil_mode"))
    if shape is None:
        return (None, None, *window_counts(windows, (None,) * len(kernel), ceil_mode))
    return (*shape[:2], *window_counts(windows, shape[2:], ceil_mode))


@rule("global_pool")
def global_pool(call: Call, output: int, x: int) -> Shape:
    """Return the shape of the input at index `x` with 1 as each size after the first two, batch and channels.

    `output`, the index of the output, is not used. Raises Unknown if the rank of the input is unknown.
    """
    shape = call.require_shape(x)
    return (*shape[:2], *[1] * (len(shape) - 2))


def filter_sizes(call: Call, x: int, w: int) -> tuple[Size | None, ...]:
    """Return the spatial sizes of a convolution's filters, by their shape or `kernel_shape`; an unknown size is None.

    `x` and `w` are the indices of data and filters. Raises Unknown if neither inputs nor attributes show the number of
    spatial axes.
    """
    shape, filters = call.shape(x), call.shape(w)
    sizes = call.run("kernel_shape") or (filters or ())[2:] or call.attribute("kernel_shape")
    if sizes:
        return tuple(sizes)
    rank = rank_by_attributes(call) if shape is None else len(shape) - 2
    if not 0 < rank <= MAX_RANK:
        raise Unknown(f"the rank of {call.parameter(x)} is not known")
    return (None,) * rank


def rank_by_attributes(call: Call) -> int:
    """Return the number of spatial axes by the attributes of a convolution or pool, 0 if they do not show it.

    The number is the length of the first of these attributes that is not empty: `kernel_shape`, `strides`, `dilations`.
    If all three are absent or empty, the number is half the length of `pads`.
    """
    lengths = {name: len(call.attribute(name) or ()) for name in ("kernel_shape", "strides", "dilations", "pads")}
    return lengths["kernel_shape"] or lengths["strides"] or lengths["dilations"] or lengths["pads"] // 2


def windows_of(call: Call, kernel: Sequence[Size | None], label: str = "C2") -> SlidingWindows:
    """Return how windows move, by the attributes `strides`, `dilations`, `pads` and `auto_pad`.

    Strides and dilations are 1 and pads are 0 by default. Pads are also 0 if `auto_pad` is not "NOTSET".

    Args:
        call: the node.
        kernel: the size of a window along each spatial axis, None if unknown.
        label: the label of the constraint that windows have elements.

    Raises:
        Violation: `label` if a size in `kernel` is certainly below 1.
    """
    rank = len(kernel)
    strides, dilations = (call.attribute(name) or (1,) * rank for name in ("strides", "dilations"))
    pads = call.attribute("pads") or (0,) * (2 * rank)
    if any(less(size, 1) for size in kernel):
        raise Violation(label, f"a window of {', '.join(map(str, kernel))}")
    auto_pad = call.attribute("auto_pad") or "NOTSET"
    if auto_pad != "NOTSET":
        pads = (0,) * (2 * rank)
    return SlidingWindows(tuple(kernel), strides, dilations, pads[:rank], pads[rank:], auto_pad)


def window_counts(windows: SlidingWindows, sizes: Sequence[Size | None], ceil_mode: bool = False) -> list[Size | None]:
    """Return the number of windows along each spatial axis, None if unknown.

    With SAME padding, it is the size divided by the stride, rounded up.

    Args:
        windows: how the windows move.
        sizes: the size of the data along each spatial axis, None if unknown.
        ceil_mode: whether the number is rounded up. Even then, a last window that would start in the padding at the end
            does not count, in any version of the operators.

    Raises:
        Violation: C4 if a window certainly does not fit into the padded data.
    """
    if windows.auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        return [apply_to_sizes(ceil_div, size, stride) for size, stride in zip(sizes, windows.strides, strict=True)]

    def count(size: Size, kernel: Size, stride: int, dilation: int, begin: int, end: int) -> Size:
        """Return the number of windows along one axis, whose pads are `begin` and `end`.

        Raises Violation C4 if a window certainly does not fit.
        """
        reach = (kernel - 1) * dilation + 1
        room = size + begin + end - reach
        if less(room, 1 - stride if ceil_mode else 0):
            raise Violation("C4", f"a window of {reach} over {size} + {begin} + {end}")
        if not ceil_mode:
            return room // stride + 1
        # Rounding up adds a window, which is kept unless it starts behind the input, in the padding at the end.
        if less(end, reach) is False:
            return ceil_div(room, stride)
        return ceil_div(room, stride) + 1 if less(reach - end, stride) is False else ceil_div(size + begin, stride)

    return [apply_to_sizes(count, *axis) for axis in zip(sizes, *windows[:-1], strict=True)]
