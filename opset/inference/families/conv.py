"""Shapes of convolutions with rules of their own."""

from __future__ import annotations

import operator

from opset.inference.building.agreement import unify_shape
from opset.inference.building.call import Call, Unknown
from opset.inference.building.dimensions import Size, apply_to_sizes, less, product_if_known
from opset.inference.building.types import Shape
from opset.inference.limits import MAX_RANK
from opset.inference.registration import infer
from opset.inference.rules.windows import (
    conv,
    filter_sizes,
    rank_by_attributes,
    window_counts,
    windows_of,
)
from opset.schemas.constraints.violation import Violation


@infer("DeformConv")
def deform_conv_19(call: Call) -> Shape:
    """Return the output shape of a deformable convolution; offset and mask give sizes that X and W leave open.

    A size that is still unknown is None. Raises Unknown if the number of spatial axes is unknown. Raises Violation with
    one of these labels:

    - C2 if a filter is empty;
    - C4 if a window does not fit into the padded input;
    - C8 if the shape of the offset is wrong;
    - C9 if the shape of the mask is wrong.
    """
    batch, count, *spatial = conv(call, 0, 0, 1, 3)
    rank = len(spatial)
    groups = call.attribute("offset_group")
    kernel = filter_sizes(call, 0, 1)
    for index, label, count_of_values in ((2, "C8", rank), (4, "C9", 1)):
        values = product_if_known((groups, count_of_values, *kernel))
        batch, _, *spatial = unify_shape(call, index, (batch, values, *spatial), label)
    return (batch, count, *spatial)


@infer("ConvTranspose")
def conv_transpose_1(call: Call) -> Shape:
    """Return the output shape of a transposed convolution, (N, number of filters, *spatial sizes).

    The spatial sizes are the attribute `output_shape` if the node has it. Without it, SAME padding gives the input's
    sizes times the strides; any other padding gives sizes that follow from strides, filters, dilations, pads and
    `output_padding`. A size is None if it is unknown.

    Raises Violation C2 if a filter is empty, C4 if pads remove more elements than there are, Unknown if the number of
    spatial axes is unknown.
    """
    shape, bias = call.shape(0), call.shape(2)
    windows = windows_of(call, filter_sizes(call, 0, 1))
    spatial = (None,) * len(windows.kernel) if shape is None else shape[2:]
    filters = apply_to_sizes(operator.mul, call.size("m"), call.attribute("group")) if bias is None else bias[0]
    rank = len(spatial)
    padding = call.attribute("output_padding") or (0,) * rank
    wanted = call.attribute("output_shape") or ()
    wanted = wanted[2:] if len(wanted) == rank + 2 else wanted
    if wanted:
        return (call.size("N"), filters, *wanted)
    if windows.auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        return (call.size("N"), filters, *map(product_if_known, zip(spatial, windows.strides, strict=True)))

    def covered_size(size: Size, kernel: Size, stride: int, dilation: int, begin: int, end: int, more: int) -> Size:
        """Return the size of an axis of the output; `more` is its `output_padding`."""
        result = stride * (size - 1) + (kernel - 1) * dilation + 1 + more - begin - end
        if less(result, 0):
            raise Violation("C4", f"{result} elements remain without pads of {begin} and {end}")
        return result

    axes = zip(spatial, *windows[:-1], padding, strict=True)
    return (call.size("N"), filters, *[apply_to_sizes(covered_size, *axis) for axis in axes])


@infer("Col2Im")
def col2im_18(call: Call) -> Shape:
    """Return (N, C, *image_shape); C is the size of axis 1 of the input divided by the elements of a block.

    A size is None if it is unknown. Raises Unknown if the number of spatial axes is unknown. Raises Violation C2 for an
    empty block, C3 if the blocks do not fit the input, C4 if a block is larger than the padded image, C5 for strings.
    """
    if call.dtype(0) == "string":
        raise Violation("C5", "input holds strings")
    image, block = call.sizes(1), call.sizes(2)
    rank = next((len(sizes) for sizes in (image, block) if sizes is not None), rank_by_attributes(call))
    if not 0 < rank <= MAX_RANK:
        raise Unknown("the number of values of image_shape is not known")
    image = image or (None,) * rank
    block = block or (None,) * rank
    windows = windows_of(call, block)
    counts = window_counts(windows, image)
    call.same(call.size("L"), product_if_known(counts), "C3", "the number of blocks")
    elements = product_if_known(block)
    values = call.size("E")
    if isinstance(elements, int) and isinstance(values, int) and values % elements:
        raise Violation("C3", f"{values} is no multiple of the {elements} elements of a block")
    return (call.size("N"), apply_to_sizes(operator.floordiv, values, elements), *image)


@infer("CausalConvWithState")
def causal_conv_with_state_27(call: Call) -> list[Shape]:
    """Return the shape of the output, which is the input's, and the shape of the state, (N, channels, k - 1).

    k is the size of the filters. If there is a past state, the last size is taken from the past state instead. A size
    is None if it is unknown.
    """
    batch, channels, length = (call.size(name) for name in ("batch", "channels", "length"))
    past = call.shape(3)
    state = apply_to_sizes(lambda size: size - 1, call.size("k")) if past is None else past[2]
    return [(batch, channels, length), (batch, channels, state)]
