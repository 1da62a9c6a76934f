"""Outputs of windows that slide over spatial axes: convolutions, pools, and means or maxima of whole channels.

Constraints are reported by the labels that kernels use, C1 to C4, which the YAML of these operators shares:

- C1: the tensor has as many spatial axes as the window, and at least one;
- C2: sizes, strides and dilations are positive, pads are not negative, and there are as many as the axes need;
- C3: `auto_pad` is one of its four values;
- C4: the window, its gaps included, is not larger than the padded input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from opset.inference.agreement import check_choice, unify
from opset.inference.call import Call, Unknown
from opset.inference.dimensions import Size, ceil_div, followed, less
from opset.inference.registration import rule
from opset.inference.types import MAX_RANK, Shape
from opset.schemas.constraints import Violation

AUTO_PADS = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


class Labels(NamedTuple):
    """The labels of the constraints in which convolutions differ."""

    kernel: str
    group: str
    filters: str
    bias: str


CONV = Labels("C2", "C5", "C6", "C7")
_LABELS = {"ConvInteger": Labels("C6", "C5", "C5", ""), "QLinearConv": Labels("C6", "C5", "C5", "C10")}


class Windows(NamedTuple):
    """How windows slide; all but `auto_pad` have one value for each spatial axis, and pads are as it says."""

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
    """Return (N, filters, *places) of a convolution; what x does not tell, the filters and attributes may."""
    rank = spatial_rank(call, x, w)
    shape, filters = call.shape(x), call.shape(w)
    group: int = call.attribute("group")
    if group < 1:
        raise Violation(labels.group, f"{group} groups")
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
    return (None if shape is None else shape[0], count, *places(windows, spatial))


@rule("pool")
def pool(call: Call, output: int, x: int) -> Shape:
    """Return the shape of a value for each window over x: `pool(X)`."""
    kernel, shape = call.attribute("kernel_shape") or (), call.shape(x)
    if not kernel or (shape is not None and len(shape) != len(kernel) + 2):
        raise Violation("C1", f"{len(kernel)} axes in the window{'' if shape is None else f', rank {len(shape)}'}")
    check_choice(call, "storage_order", (0, 1), "C5")
    _check_power(call, "C5")
    windows = windows_of(call, kernel)
    ceil_mode = bool(call.attribute("ceil_mode"))
    if shape is None:
        return (None, None, *places(windows, (None,) * len(kernel), ceil_mode))
    return (*shape[:2], *places(windows, shape[2:], ceil_mode))


@rule("global_pool")
def global_pool(call: Call, output: int, x: int) -> Shape:
    """Return the shape of one value for each channel of x: `global_pool(X)`."""
    shape = call.require_shape(x)
    if len(shape) < 3:
        raise Violation("C1", f"rank {len(shape)}")
    _check_power(call, "C2")
    return (*shape[:2], *[1] * (len(shape) - 2))


def _check_power(call: Call, label: str) -> None:
    """Raise Violation with the label where the power of a norm is not above 0."""
    power = call.attribute("p")
    if power is not None and not power > 0:
        raise Violation(label, f"p {power}")


def spatial_rank(call: Call, x: int, *others: int) -> int:
    """Return the number of spatial axes: that of inputs, which all have the same rank, else that of attributes.

    Raises Violation C1, and Unknown where nothing tells.
    """
    ranks = [rank for place in (x, *others) if (rank := call.rank(place)) is not None]
    if len(set(ranks)) > 1 or min(ranks, default=3) < 3:
        raise Violation("C1", f"ranks {' and '.join(map(str, ranks))}")
    if ranks:
        return ranks[0] - 2
    rank = attributes_rank(call)
    if not 0 < rank <= MAX_RANK:
        raise Unknown(f"the rank of {call.parameter(x)} is not known")
    return rank


def attributes_rank(call: Call) -> int:
    """Return the number of spatial axes that attributes speak of, 0 where none does."""
    lengths = {name: len(call.attribute(name) or ()) for name in ("kernel_shape", "strides", "dilations", "pads")}
    return lengths["kernel_shape"] or lengths["strides"] or lengths["dilations"] or lengths["pads"] // 2


def filter_sizes(call: Call, w: int, rank: int, label: str) -> tuple[Size | None, ...]:
    """Return the spatial sizes of filters by their shape and `kernel_shape`, None for those that neither tells."""
    said, shape = call.attribute("kernel_shape"), call.shape(w)
    if said and len(said) != rank:
        raise Violation(label, f"kernel_shape has {len(said)} values, and there are {rank} spatial axes")
    sizes = shape[2:] if shape is not None else (None,) * rank
    each = zip(sizes, said or (None,) * rank, strict=True)
    return tuple([call.same(size, number, label, "the filters' size") for size, number in each])


def windows_of(call: Call, kernel: Sequence[Size | None], label: str = "C2") -> Windows:
    """Return how windows of these sizes slide by the node's attributes; a size below 1 is told by the label."""
    rank = len(kernel)
    if rank > MAX_RANK:
        raise Unknown(f"there are {rank} spatial axes")
    strides, dilations = (call.attribute(name) or (1,) * rank for name in ("strides", "dilations"))
    pads = call.attribute("pads") or (0,) * (2 * rank)
    if (len(strides), len(dilations), len(pads)) != (rank, rank, 2 * rank):
        counts = f"{len(strides)} strides, {len(dilations)} dilations, {len(pads)} pads"
        raise Violation("C2", f"{counts} for {rank} spatial axes")
    if min((*strides, *dilations, 1)) < 1 or min((*pads, 0)) < 0:
        raise Violation("C2", f"strides {strides}, dilations {dilations}, pads {pads}")
    if any(less(size, 1) for size in kernel):
        raise Violation(label, f"a window of {', '.join(map(str, kernel))}")
    auto_pad = auto_pad_of(call)
    if auto_pad != "NOTSET":
        pads = (0,) * (2 * rank)
    return Windows(tuple(kernel), strides, dilations, pads[:rank], pads[rank:], auto_pad)


def auto_pad_of(call: Call) -> str:
    """Return `auto_pad`, NOTSET where it is empty or there is none. Raises Violation C3."""
    check_choice(call, "auto_pad", ("", *AUTO_PADS), "C3")
    return call.attribute("auto_pad") or "NOTSET"


def places(windows: Windows, sizes: Sequence[Size | None], ceil_mode: bool = False) -> list[Size | None]:
    """Return how many windows there are along each axis. Raises Violation C4.

    A last window of `ceil_mode` that starts in the padding at the end is left out, at every version, as by the kernels.
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
        # The last window starts where rounding up puts it: behind the input by `end - reach`, and up to `stride - 1`.
        if less(end, reach) is False:
            return ceil_div(room, stride)
        return ceil_div(room, stride) + 1 if less(reach - end, stride) is False else ceil_div(size + begin, stride)

    return [followed(count, *axis) for axis in zip(sizes, *windows[:-1], strict=True)]
