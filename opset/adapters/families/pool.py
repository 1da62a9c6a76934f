"""Pooling: windows that begin in the end padding, windows with gaps, norms, and types that were added."""

from __future__ import annotations

import math
from collections.abc import Sequence

from opset.adapters.building.positions import (
    difference,
    integers_below,
    offsets_of,
    product,
    reshape_vector,
    sizes_of,
    sum_of,
    vector_along,
)
from opset.adapters.building.shared import cast, need_size, working_type
from opset.adapters.families.indexing import last_written
from opset.errors import safe_text
from opset.version_converter.registration import down, lower, refuses, up
from opset.version_converter.rewrite import FIX_SIZES, Builder, Node, Refusal, Result


def _windows_of(node: Node, axes: int | None = None) -> tuple[list[int], list[int], list[int], list[int]]:
    """Return kernel, strides, dilations and pads; raise Refusal C103 unless they fit each other, and `axes`."""
    kernel = node.attr("kernel_shape")
    count = len(kernel)
    strides, dilations = node.attr("strides", [1] * count), node.attr("dilations", [1] * count)
    pads = node.attr("pads", [0] * (2 * count))
    if axes not in (None, count) or not len(strides) == len(dilations) == count or len(pads) != 2 * count:
        raise Refusal("C103", f"kernel {kernel}, strides {strides}, dilations {dilations} and pads {pads} do not fit")
    return kernel, strides, dilations, pads


def _window_counts(node: Node) -> list[tuple[int, int]]:
    """Return for each axis the number of windows with `ceil_mode` 1, before version 22 and since, which keeps fewer."""
    # There are no counts if both are equal for every shape: no window is smaller than stride plus end padding.
    if not node.attr("ceil_mode") or node.attr("auto_pad") not in ("NOTSET", ""):
        return []
    kernel, strides, dilations, pads = _windows_of(node)
    axes = len(kernel)
    reach = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations, strict=True)]
    if all(size >= stride + end for size, stride, end in zip(reach, strides, pads[axes:], strict=True)):
        return []
    shape = node.need_shape(0)[2:]
    if len(shape) != axes:
        raise Refusal("C103", f"the kernel has {axes} axes, and the input {len(shape)} beside batch and channel")
    counts = []
    for size, window, stride, begin, end in zip(shape, reach, strides, pads, pads[axes:], strict=False):
        count = -(-(size + begin + end - window) // stride) + 1
        counts.append((count, count - ((count - 1) * stride >= size + begin)))
    return counts


@up("AveragePool", "LpPool", "MaxPool", since=22)
def average_pool_22_up(op: Builder, node: Node) -> Result:
    """Refuse a last window that begins in the end padding, which `ceil_mode` 1 keeps before version 22, not since."""
    if any(before != after for before, after in _window_counts(node)):
        raise Refusal("C204", "with 'ceil_mode' 1, a last window that holds only padding is dropped from version 22 on")
    return None


@down("AveragePool", "LpPool", "MaxPool", since=22)
@refuses("C204", "with `ceil_mode` 1, a last window that holds only padding is kept before version 22")
def average_pool_22_down(op: Builder, node: Node) -> Result:
    """Set `ceil_mode` to 0 if a last window begins in the end padding, which `ceil_mode` 1 kept before version 22."""
    counts = _window_counts(node)
    if all(before == after for before, after in counts):
        return None
    shape = node.need_shape(0)[2:]
    kernel, strides, dilations, pads = _windows_of(node)
    for axis, (_, expected) in enumerate(counts):
        reach = (kernel[axis] - 1) * dilations[axis] + 1
        if expected != (shape[axis] + pads[axis] + pads[axis + len(counts)] - reach) // strides[axis] + 1:
            raise Refusal("C204", "with 'ceil_mode' 1, a last window that holds only padding is kept before version 22")
    if node.need_element(0) == "bfloat16":
        raise Refusal("C202", "before version 22 there is no BFLOAT16", "cast the input to FLOAT")
    return op.copy(node, ceil_mode=0)


@down("AveragePool", since=19)
@refuses(
    "C204",
    "a window is larger than the padded input",
    "a last window may hold only padding",
    "runtimes differ in how they pad windows with gaps for `auto_pad`",
)
def average_pool_19_down(op: Builder, node: Node) -> Result:
    """Add the elements of windows with gaps by a Conv of ones, and divide each sum by its number of elements."""
    dilations = node.attr("dilations", [])
    if all(dilation == 1 for dilation in dilations):
        return op.copy(node, drop=["dilations"]) if node.has("dilations") else None
    shape = node.shape(0)
    sizes = [size for size in shape[1:] if isinstance(size, int)] if shape is not None else []
    if shape is None or len(sizes) < len(shape) - 1 or 0 in sizes:
        raise Refusal("C207", "the sizes of the input, batch aside, are not known", "fix its dynamic dimensions")
    kernel, strides, dilations, pads = _windows_of(node, len(shape) - 2)
    channels, *spatial = sizes
    axes = len(kernel)
    begins = []
    ends = []
    lengths = []
    counts = [1]
    for size, extent, stride, dilation, *pads_of_axis in zip(
        spatial, kernel, strides, dilations, pads[:axes], pads[axes:], strict=True
    ):
        reach = (extent - 1) * dilation + 1
        begin, end, count = _padding_and_count(node, size, reach, stride, *pads_of_axis)
        node.charge(count * (extent + len(counts)))
        low, high = (-begin, size + end) if node.attr("count_include_pad") else (0, size)
        inside = [
            sum(low <= at * stride - begin + tap * dilation < high for tap in range(extent)) for at in range(count)
        ]
        counts = [count_before * count_here for count_before in counts for count_here in inside]
        begins.append(begin)
        ends.append(max((count - 1) * stride + reach - size - begin, 0))
        lengths.append(count)
    element = node.need_element(0)
    wide = working_type(element)
    x = cast(op, node.input(0), element, wide)
    ones = op.const([1] * op.charge_elements(channels * math.prod(kernel)), wide, [channels, 1, *kernel])
    sums = op.Conv(x, ones, dilations=dilations, group=channels, pads=begins + ends, strides=strides)
    return cast(op, op.Div(sums, op.const(counts, wide, [1, 1, *lengths])), wide, element)


def _padding_and_count(node: Node, size: int, reach: int, stride: int, begin: int, end: int) -> tuple[int, int, int]:
    """Return the padding of an axis and its number of windows; raise Refusal C204 if runtimes differ in them."""
    if node.attr("auto_pad") in ("SAME_UPPER", "SAME_LOWER"):
        if any(dilation != 1 for dilation in node.attr("dilations", [])):
            raise Refusal("C204", "runtimes differ in how they pad windows with gaps for 'auto_pad'", "state 'pads'")
        count = -(-size // stride)
        padding = max((count - 1) * stride + reach - size, 0)
        begin = (padding + (node.attr("auto_pad") == "SAME_LOWER")) // 2
        return begin, padding - begin, count
    if node.attr("auto_pad") == "VALID":
        begin = end = 0
    room = size + begin + end - reach
    if room < 0:
        raise Refusal("C204", "a window is larger than the padded input")
    count = (-(-room // stride) if node.attr("ceil_mode") else room // stride) + 1
    if (count - 1) * stride >= size + begin:
        raise Refusal("C204", "a last window may hold only padding")
    return begin, end, count


@down("AveragePool", "MaxPool", since=10)
@down("LpPool", since=18)
@refuses("C204", "runtimes differ in what `ceil_mode` 1 does with auto_pad VALID")
def average_pool_10_down(op: Builder, node: Node) -> Result:
    """Enlarge the end padding in place of `ceil_mode`, for as many windows: by `stride - 1` if sizes are not known.

    Padding does not change the result, unless an average counts it. Dilations are new as well.
    """
    dilations = node.attr("dilations", [])
    if any(dilation != 1 for dilation in dilations):
        return _norms_with_gaps(op, node) if node.op_type == "LpPool" else _maxima_with_gaps(op, node)
    dropped = ["ceil_mode", "dilations"] if node.op_type != "AveragePool" else ["ceil_mode"]
    if not node.attr("ceil_mode") or node.attr("auto_pad") in ("SAME_UPPER", "SAME_LOWER"):
        return op.copy(node, drop=dropped) if any(node.has(name) for name in dropped) else None
    kernel = node.attr("kernel_shape")
    axes = len(kernel)
    strides = node.attr("strides", [1] * axes)
    pads = list(node.attr("pads", [0] * (2 * axes)))
    valid = node.attr("auto_pad") == "VALID"
    more = _more_padding(node, kernel, strides, [0] * (2 * axes) if valid else pads)
    if not any(more):
        return op.copy(node, drop=dropped)
    if valid:
        raise Refusal("C204", "runtimes differ in what 'ceil_mode' 1 does with auto_pad VALID", "set it to 0")
    x = node.input(0)
    if node.op_type == "AveragePool" and node.attr("count_include_pad"):
        # The stated padding counts, and nothing that a window covers after it.
        dropped.append("count_include_pad")
        if any(pads):
            x = op.Pad(x, pads=[0, 0, *pads[:axes], 0, 0, *pads[axes:]])
            pads = [0] * (2 * axes)
    ends = [end + added for end, added in zip(pads[axes:], more, strict=True)]
    return op.copy(node, inputs=[x, *node.inputs[1:]], drop=dropped, pads=pads[:axes] + ends)


def _more_padding(node: Node, kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int]) -> list[int]:
    """Return the end padding to add for as many windows as with `ceil_mode` 1; raise Refusal if one may be padding."""
    axes = len(kernel)
    shape = node.shape(0)
    sizes = shape[2:] if shape is not None and len(shape) == axes + 2 else (None,) * axes
    more = []
    for size, window, stride, begin, end in zip(sizes, kernel, strides, pads, pads[axes:], strict=False):
        if isinstance(size, int):
            count = -(-(size + begin + end - window) // stride) + 1
            needed = max((count - 1) * stride + window - size - begin - end, 0)
            if needed and (count - 1) * stride >= size + begin:
                raise Refusal("C204", "with 'ceil_mode' 1, a last window holds only padding", "set 'ceil_mode' to 0")
        else:
            needed = stride - 1
            if needed and window <= end + needed:
                raise Refusal("C207", "with 'ceil_mode' 1, a last window may hold only padding", FIX_SIZES)
        more.append(needed)
    return more


def _maxima_with_gaps(op: Builder, node: Node) -> Result:
    """Return the maxima of windows with gaps: their elements are gathered side by side, one axis after the other."""
    # In place of padding, a window has the nearest one of its own elements twice, which does not change the maximum.
    kernel, strides, dilations, pads = _windows_of(node, node.need_rank(0) - 2)
    axes = len(kernel)
    x = node.input(0)
    sources = []
    for axis, (taps, stride, dilation) in enumerate(zip(kernel, strides, dilations, strict=True)):
        size = need_size(node, 0, axis + 2)
        reach = (taps - 1) * dilation + 1
        begin, _, count = _padding_and_count(node, size, reach, stride, pads[axis], pads[axes + axis])
        node.charge(count * taps)
        places = []
        for start in range(-begin, count * stride - begin, stride):
            window = list(range(start, start + reach, dilation))
            inside = [at for at in window if 0 <= at < size]
            if not inside:
                raise Refusal("C204", "a window may hold only padding")
            places += [min(max(at, inside[0]), inside[-1]) for at in window]
        x = op.Gather(x, op.const(places), axis=axis + 2)
        sources.append(places)
    y = op.copy(
        node,
        inputs=[x],
        outputs=[op.fresh("maxima")] if node.output(1) else None,
        drop=["auto_pad", "ceil_mode", "dilations", "pads", "storage_order"],
        strides=kernel,
    )
    if not node.output(1):
        return y
    return [y, _positions_of_maxima(op, node, x, sources) if node.values.is_read(node.output(1)) else ""]


def _positions_of_maxima(op: Builder, node: Node, x: str, sources: list[list[int]]) -> str:
    """Return the first position of each maximum of windows, whose elements come from `sources` along each axis."""
    kernel = node.attr("kernel_shape")
    axes = len(kernel)
    element = node.need_element(0)
    counts = [len(places) // taps for places, taps in zip(sources, kernel, strict=True)]
    apart = [size for pair in zip(counts, kernel, strict=True) for size in pair]
    windows = op.Reshape(cast(op, x, element, working_type(element)), op.const([0, 0, *apart]))
    windows = op.Transpose(windows, perm=[0, 1, *range(2, 2 * axes + 2, 2), *range(3, 2 * axes + 2, 2)])
    windows = op.Reshape(windows, op.const([0, 0, *counts, math.prod(kernel)]))
    left = op.ArgMax(windows, axis=axes + 2, keepdims=0)
    spatial = [need_size(node, 0, axis + 2) for axis in range(axes)]
    outer = sizes_of(op, node, 0, [0, 1])
    area = math.prod(spatial)
    total = offsets_of(op, [*outer, *[1] * axes], [product(op, [outer[1], area]), area, *[0] * axes])
    for axis in reversed(range(axes)):
        above = op.Div(left, op.const(kernel[axis]))
        tap = op.Sub(left, op.Mul(above, op.const(kernel[axis])))
        starts = vector_along(op, op.const(list(range(0, len(sources[axis]), kernel[axis]))), axis + 2, axes + 2)
        place = op.Gather(op.const(sources[axis]), op.Add(tap, starts))
        stride = math.prod(spatial[:axis] if node.attr("storage_order") else spatial[axis + 1 :])
        place = place if stride == 1 else op.Mul(place, op.const(stride))
        total = place if total is None else op.Add(total, place)
        left = above
    assert total is not None
    return total


@down("MaxPool", since=8)
@refuses(
    "C204",
    "a window may hold only padding",
    "a window is larger than the padded input",
    "a last window may hold only padding",
    "runtimes differ in how they pad windows with gaps for `auto_pad`",
)
def max_pool_8_down(op: Builder, node: Node) -> Result:
    """Find the positions of maxima by ArgMax in windows that are gathered side by side, as for windows with gaps."""
    if node.output(1) and node.values.is_read(node.output(1)):
        return _maxima_with_gaps(op, node)
    return op.copy(node, outputs=node.outputs[:1], drop=["storage_order"]) if node.has("storage_order") else None


def _norms_with_gaps(op: Builder, node: Node) -> Result:
    """Return the norms of windows with gaps: a Conv of ones adds the powers up, and padding adds nothing."""
    if node.attr("ceil_mode") or node.attr("auto_pad") not in ("NOTSET", ""):
        raise Refusal("C204", "with 'dilations', neither 'ceil_mode' nor 'auto_pad' can be expressed", "state 'pads'")
    channels = need_size(node, 0, 1)
    kernel = node.attr("kernel_shape")
    power = node.attr("p")
    element = node.need_element(0)
    wide = working_type(element)
    x = op.Abs(cast(op, node.input(0), element, wide))
    if power != 1:
        x = op.Mul(x, x) if power == 2 else op.Pow(x, op.const(float(power), wide))
    ones = op.const([1] * op.charge_elements(channels * math.prod(kernel)), wide, [channels, 1, *kernel])
    windows = {name: node.attr(name) for name in ("dilations", "strides", "pads")}
    y = op.Conv(x, ones, group=channels, **windows)
    if power != 1:
        y = op.Sqrt(y) if power == 2 else op.Pow(y, op.const(1 / power, wide))
    return cast(op, y, wide, element)


@up("LpPool", since=2)
@down("LpPool", since=2)
@refuses("C204", "`kernel_shape` is given, and version 1 does not say what that means")
def lp_pool_2(op: Builder, node: Node) -> Result:
    """Refuse windows over other axes than the spatial ones: version 1 does not define them."""
    kernel = node.attr("kernel_shape")
    if kernel is None or node.need_rank(0) != len(kernel) + 2:
        label = "`kernel_shape` is given, and version 1 does not say what that means"
        why = f"'kernel_shape' is {safe_text(kernel)}, and version 1 does not say what that means"
        raise Refusal("C204", why, label=label)
    return None


@lower("MaxUnpool", since=9)
def max_unpool_lowered(op: Builder, node: Node) -> Result:
    """Note in a loop which value goes to each position, then gather from a zero and the values."""
    kernel = node.attr("kernel_shape")
    element = node.need_element(0)
    axes = len(kernel)
    strides = node.attr("strides") or [1] * axes
    pads = node.attr("pads") or [0] * (2 * axes)
    if node.need_rank(0) != axes + 2 or len(strides) != axes or len(pads) != 2 * axes:
        raise Refusal("C103", f"kernel {kernel}, strides {strides} and pads {pads} do not fit")
    sizes = sizes_of(op, node, 0)
    for axis, (window, stride, begin, end) in enumerate(zip(kernel, strides, pads, pads[axes:], strict=False)):
        steps = product(op, [difference(op, sizes[axis + 2], 1), stride])
        sizes[axis + 2] = sum_of(op, steps, window - begin - end)
    if node.input(2) and list(node.need_constant(2).values) != sizes:
        raise Refusal("C204", "runtimes differ in what positions mean where 'output_shape' is not the usual one")
    numbers = integers_below(op, product(op, sizes))
    positions, values = (op.Reshape(name, op.const([-1])) for name in (node.input(1), node.input(0)))
    sources = last_written(op, numbers, op.Sub(numbers, numbers), op.const(1), positions)
    y = op.Gather(op.Concat(op.const([0.0], element), values, axis=0), sources)
    return reshape_vector(op, y, sizes)
