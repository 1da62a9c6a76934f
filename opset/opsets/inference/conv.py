"""Convolutions whose outputs follow by rules of their own."""

from __future__ import annotations

from opset.opsets.inference import infer
from opset.opsets.inference.agreement import check_choice
from opset.opsets.inference.call import Call, Unknown, Violation
from opset.opsets.inference.dims import Size, followed, less, multiplied
from opset.opsets.inference.rules.windows import (
    Windows,
    attributes_rank,
    auto_pad_of,
    convolution,
    filter_sizes,
    places,
    spatial_rank,
    windows_of,
    with_bias,
)
from opset.opsets.inference.types import MAX_RANK, Shape


@infer("DeformConv")
def deform_conv(call: Call) -> Shape:
    """Give the shape of a convolution; offsets and mask have its batch and places, too."""
    result = list(convolution(call, 0, 1, 3))
    rank = len(result) - 2
    groups, shape = call.attribute("offset_group"), call.shape(0)
    channels = None if shape is None else shape[1]
    if groups < 1 or (isinstance(channels, int) and channels % groups):
        raise Violation("C3", f"{channels} channels, offset_group {groups}")
    kernel = filter_sizes(call, 1, rank, "C2")
    for place, label, each in ((2, "C8", rank), (4, "C9", 1)):
        given = call.shape(place) if call.has(place) else None
        if given is None:
            continue
        name = call.parameter(place)
        if len(given) != rank + 2:
            raise Violation(label, f"{name} has rank {len(given)}, and there are {rank} spatial axes")
        values = multiplied((groups, each, *kernel))
        call.same(given[1], values, label, f"the second size of {name}")
        for axis in (0, *range(2, rank + 2)):
            result[axis] = call.same(result[axis], given[axis], label, f"the size of {name} on axis {axis}")
    return tuple(result)


@infer("ConvTranspose")
def conv_transpose(call: Call) -> Shape:
    """Give the shape of filters put at the places of X: as `output_shape` or SAME_* wants it, else what they cover."""
    rank = spatial_rank(call, 0, 1)
    shape, filters = call.shape(0), call.shape(1)
    group = call.attribute("group")
    if group < 1:
        raise Violation("C5", f"{group} groups")
    count: Size | None = None
    if filters is not None:
        given = filters[0] if shape is None else call.same(filters[0], shape[1], "C5", "the number of channels")
        if isinstance(given, int) and given % group:
            raise Violation("C5", f"{given} channels, {group} groups")
        count = followed(lambda size: size * group, filters[1])
    count = with_bias(call, count, 2, "C7")
    windows = windows_of(call, filter_sizes(call, 1, rank, "C2"))
    spatial = shape[2:] if shape is not None else (None,) * rank
    return (None if shape is None else shape[0], count, *_covered(call, windows, spatial))


def _covered(call: Call, windows: Windows, sizes: tuple[Size | None, ...]) -> list[Size | None]:
    """Give the spatial sizes of a transposed convolution."""
    rank = len(sizes)
    padding = call.attribute("output_padding") or (0,) * rank
    if len(padding) != rank or min(padding) < 0:
        raise Violation("C2", f"output_padding {padding}, {rank} spatial axes")
    wanted = call.attribute("output_shape") or ()
    wanted = wanted[2:] if len(wanted) == rank + 2 else wanted
    if wanted and (len(wanted) != rank or min(wanted) < 0):
        raise Violation("C6", f"output_shape {wanted}, {rank} spatial axes")
    if wanted:
        return list(wanted)
    if auto_pad_of(call) in ("SAME_UPPER", "SAME_LOWER"):
        each = zip(sizes, windows.strides, strict=True)
        return [followed(lambda size, stride: size * stride, *axis) for axis in each]

    def covered(size: Size, kernel: Size, stride: int, dilation: int, begin: int, end: int, more: int) -> Size:
        result = stride * (size - 1) + (kernel - 1) * dilation + 1 + more - begin - end
        if less(result, 0):
            raise Violation("C4", f"{result} elements remain without pads of {begin} and {end}")
        return result

    return [followed(covered, *axis) for axis in zip(sizes, *windows[:-1], padding, strict=True)]


@infer("Col2Im")
def col2im(call: Call) -> Shape:
    """Give (N, C, *image_shape): C is what blocks leave of the input's second size."""
    shape = call.shape(0)
    if shape is not None and len(shape) != 3:
        raise Violation("C3", f"rank {len(shape)}")
    image, block = call.sizes(1), call.sizes(2)
    given = [len(each) for each in (image, block) if each is not None]
    if min(given, default=1) < 1 or len(set(given)) > 1:
        raise Violation("C1", f"the numbers of values are {' and '.join(map(str, given))}")
    rank = given[0] if given else attributes_rank(call)
    if not 0 < rank <= MAX_RANK:
        raise Unknown("the number of values of image_shape is not known")
    image, block = image or (None,) * rank, block or (None,) * rank
    if any(size is not None and less(size, 0) for size in image):
        raise Violation("C1", f"an image of {', '.join(map(str, image))}")
    windows = windows_of(call, block)
    counts = places(windows, image)
    if shape is None:
        return (None, None, *image)
    call.same(shape[2], multiplied(counts), "C3", "the number of places")
    elements = multiplied(block)
    if isinstance(elements, int) and isinstance(shape[1], int) and shape[1] % elements:
        raise Violation("C3", f"{shape[1]} is no multiple of the {elements} elements of a block")
    return (shape[0], followed(lambda size, divisor: size // divisor, shape[1], elements), *image)


@infer("CausalConvWithState")
def causal_conv_with_state(call: Call) -> list[Shape]:
    """Give the shape of the input, and (N, channels, k - 1) of the state; what one input lacks another may tell."""
    expected = {0: 3, 1: 3, 2: 1, 3: 3}
    labels = ("C1", "C1", "C3", "C2")
    given: list[tuple[Size | None, ...]] = []
    for place, rank in expected.items():
        shape = call.shape(place) if call.has(place) else None
        if shape is not None and len(shape) != rank:
            raise Violation(labels[place], f"{call.parameter(place)} has rank {len(shape)}")
        given.append(shape or (None,) * rank)
    values, weight, bias, past = given
    check_choice(call, "activation", ("none", "silu", "swish"), "C4")
    call.same(weight[1], 1, "C1", "the second size of weight")
    state = followed(lambda size: size - 1, weight[2])
    if state is not None and less(state, 0):
        raise Violation("C1", "weight has no elements")
    batch = call.same(values[0], past[0], "C2", "the batch of past_state")
    channels = call.same(values[1], weight[0], "C1", "the number of channels")
    channels = call.same(channels, bias[0], "C3", "the number of channels")
    channels = call.same(channels, past[1], "C2", "the number of channels")
    state = call.same(state, past[2], "C2", "the length of past_state")
    return [(batch, channels, values[2]), (batch, channels, state)]
