"""Outputs of windows that slide over spatial axes: convolutions, pools, and means or maxima of whole channels.

Constraints are reported by the labels that kernels use, which the YAML of these operators shares:

- C1: the tensor has as many spatial axes as the window, and at least one;
- C2: window sizes are positive, and there are as many strides, dilations and pads as the axes need;
- C4: the window, its gaps included, is not larger than the padded input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from opset.inference.agreement import unify
from opset.inference.call import Call, Unknown
from opset.inference.dimensions import Size, ceil_div, followed, less
from opset.inference.registration import rule
from opset.inference.types import MAX_RANK, Shape
from opset.schemas.constraints import Violation


class Labels(NamedTuple):
    """The labels of the constraints in which convolutions differ."""

    kernel: str
    group: str
    filters: str
    bias: str


CONV = Labels("C2", "C5", "C6", "C7")
_LABELS = {"ConvInteger": Labels("C6", "C5", "C5", ""), "QLinearConv": Labels("C6", "C5", "C5", "C10")}


class Windows(NamedTuple):
    """How windows slide; all but `auto_pad` have one value for each spatial axis. Pads are 0 unless it is NOTSET."""

    kernel: tuple[Size | None, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    auto_pad: str


@rule("conv")
def conv(call: Call, output: int, x: int, w: int, bias: int | None = None) -> Shape:
    """Return the shape of a convolution of x with the filters w: `conv(X, W, B)`, `conv(x, w)`."""
    return convolution(call, x, w, bias, _LABELS.get(call.schema.name, CONV))


def convolution(call: Call, x: int, w: int, bias: int | None, labels: Labels = CONV) -> Shape:
    """Return (N, filters, *spatial sizes) of a convolution, by what is known of x, the filters and attributes."""
    rank = spatial_rank(call, x, w)
    shape, filters = call.shape(x), call.shape(w)
    group: int = call.attribute("group")
    count: Size | None = None
    if filters is not None:
        count = filters[0]
        if shape is not None:
            call.same(shape[1], followed(lambda size: size * group, filters[1]), labels.group, "the number of channels")
        if isinstance(count, int) and count % group:
            raise Violation(labels.filters, f"{count} filters, {group} groups")
    if bias is not None:
        (count,) = unify(call, bias, (count,), labels.bias)
    windows = windows_of(call, filter_sizes(call, w, rank, labels.kernel), labels.kernel)
    spatial = shape[2:] if shape is not None else (None,) * rank
    return (None if shape is None else shape[0], count, *window_counts(windows, spatial))


@rule("pool")
def pool(call: Call, output: int, x: int) -> Shape:
    """Return the shape of one value for each channel and window of x: `pool(X)`."""
    kernel, shape = call.attribute("kernel_shape") or (), call.shape(x)
    if not kernel or (shape is not None and len(shape) != len(kernel) + 2):
        raise Violation("C1", f"{len(kernel)} axes in the window{'' if shape is None else f', rank {len(shape)}'}")
    windows = windows_of(call, kernel)
    ceil_mode = bool(call.attribute("ceil_mode"))
    if shape is None:
        return (None, None, *window_counts(windows, (None,) * len(kernel), ceil_mode))
    return (*shape[:2], *window_counts(windows, shape[2:], ceil_mode))


@rule("global_pool")
def global_pool(call: Call, output: int, x: int) -> Shape:
    """Return the shape of one value for each channel of x: `global_pool(X)`."""
    shape = call.require_shape(x)
    if len(shape) < 3:
        raise Violation("C1", f"rank {len(shape)}")
    return (*shape[:2], *[1] * (len(shape) - 2))


def spatial_rank(call: Call, x: int, *others: int) -> int:
    """Return the number of spatial axes: that of inputs, which all have the same rank, else that of attributes.

    Raises Violation C1 for ranks that differ or are below 3, and Unknown where neither shows it.
    """
    ranks = [rank for index in (x, *others) if (rank := call.rank(index)) is not None]
    if len(set(ranks)) > 1 or min(ranks, default=3) < 3:
        raise Violation("C1", f"ranks {' and '.join(map(str, ranks))}")
    if ranks:
        return ranks[0] - 2
    rank = attributes_rank(call)
    if not 0 < rank <= MAX_RANK:
        raise Unknown(f"the rank of {call.parameter(x)} is not known")
    return rank


def attributes_rank(call: Call) -> int:
    """Return the number of spatial axes that attributes have values for, 0 without such attributes."""
    lengths = {name: len(call.attribute(name) or ()) for name in ("kernel_shape", "strides", "dilations", "pads")}
    return lengths["kernel_shape"] or lengths["strides"] or lengths["dilations"] or lengths["pads"] // 2


def filter_sizes(call: Call, w: int, rank: int, label: str) -> tuple[Size | None, ...]:
    """Return the spatial sizes of filters by their shape and `kernel_shape`, None for those that are unknown."""
    stated, shape = call.attribute("kernel_shape"), call.shape(w)
    if stated and len(stated) != rank:
        raise Violation(label, f"kernel_shape has {len(stated)} values, and there are {rank} spatial axes")
    sizes = shape[2:] if shape is not None else (None,) * rank
    each = zip(sizes, stated or (None,) * rank, strict=True)
    return tuple([call.same(size, number, label, "the filters' size") for size, number in each])


def windows_of(call: Call, kernel: Sequence[Size | None], label: str = "C2") -> Windows:
    """Return how windows of these sizes slide by attributes. Raises Violation with the label for a size below 1."""
    rank = len(kernel)
    if rank > MAX_RANK:
        raise Unknown(f"there are {rank} spatial axes")
    strides, dilations = (call.attribute(name) or (1,) * rank for name in ("strides", "dilations"))
    pads = call.attribute("pads") or (0,) * (2 * rank)
    if (len(strides), len(dilations), len(pads)) != (rank, rank, 2 * rank):
        counts = f"{len(strides)} strides, {len(dilations)} dilations, {len(pads)} pads"
        raise Violation("C2", f"{counts} for {rank} spatial axes")
    if any(less(size, 1) for size in kernel):
        raise Violation(label, f"a window of {', '.join(map(str, kernel))}")
    auto_pad = call.attribute("auto_pad") or "NOTSET"
    if auto_pad != "NOTSET":
        pads = (0,) * (2 * rank)
    return Windows(tuple(kernel), strides, dilations, pads[:rank], pads[rank:], auto_pad)


def window_counts(windows: Windows, sizes: Sequence[Size | None], ceil_mode: bool = False) -> list[Size | None]:
    """Return the number of windows along each axis. Raises Violation C4 where a window does not fit.

    With `ceil_mode`, a last window that starts in the padding at the end is dropped, at every version, as kernels do.
    """
    if windows.auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        return [followed(ceil_div, size, stride) for size, stride in zip(sizes, windows.strides, strict=True)]

    def count(size: Size, kernel: Size, stride: int, dilation: int, begin: int, end: int) -> Size:
        reach = (kernel - 1) * dilation + 1
        room = size + begin + end - reach
        if less(room, 0):
            raise Violation("C4", f"a window of {reach} over {size} + {begin} + {end}")
        if not ceil_mode:
            return room // stride + 1
        # Rounding up adds a window, which is kept unless it starts behind the input, in the padding at the end.
        if less(end, reach) is False:
            return ceil_div(room, stride)
        return ceil_div(room, stride) + 1 if less(reach - end, stride) is False else ceil_div(size + begin, stride)

    return [followed(count, *axis) for axis in zip(sizes, *windows[:-1], strict=True)]
