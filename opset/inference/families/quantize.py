"""Output types of quantization and dequantization, and the granularity of their scales."""

from __future__ import annotations

from opset.inference.building.agreement import (
    can_output,
    certainly_differ,
    dtype_of_attribute,
    has_one_element,
    unify_shape,
)
from opset.inference.building.call import Call
from opset.inference.building.dimensions import ceil_div
from opset.inference.building.types import Shape, Type, tensor
from opset.inference.registration import infer
from opset.schemas.constraints.violation import Violation


@infer("QuantizeLinear")
def quantize_linear_10(call: Call) -> Type:
    """Return the type with the shape of x and the element type `output_dtype`, else the zero point's, else uint8.

    The element type is None if the zero point's type is unknown. If the rank is unknown, the shape is None, and the
    reason is added to `call.doubts`. Raises Violation C1 to C3 if `axis`, scale or zero point do not fit x, C4 if
    `output_dtype` is not the zero point's type.
    """
    stated = dtype_of_attribute(call, "output_dtype")
    zero_point = call.dtype(2)
    if stated is not None and zero_point is not None and stated != zero_point:
        raise Violation("C4", f"output_dtype is {stated}, and the zero point is {zero_point}")
    return tensor(stated or zero_point or (None if call.has(2) else "uint8"), _shape_by_scales(call))


@infer("DequantizeLinear")
def dequantize_linear_10(call: Call) -> Type:
    """Return the type with the shape of x and the element type `output_dtype`, by default the scale's.

    If the rank is unknown, the shape is None, and the reason is added to `call.doubts`. Raises Violation C1 to C3 if
    `axis`, scale or zero point do not fit x, C4 if the output cannot have the element type.
    """
    stated = dtype_of_attribute(call, "output_dtype")
    element = stated or call.dtype(1)
    if element is not None and not can_output(call, element):
        raise Violation("C4", f"the scale is {element}")
    return tensor(element, _shape_by_scales(call))


def _shape_by_scales(call: Call) -> Shape | None:
    """Return the shape of x, in which the shape of the scales fills in sizes that are unknown.

    If the shape of the scales is unknown, the shape of the zero points is used instead. If x has an unknown rank,
    scales for blocks of x (`block_size`) give the rank. If they do not, the result is None, and the reason is added to
    `call.doubts`. Raises Violation with one of these labels:

    - C1 if `axis` is out of range;
    - C2 if the scales do not fit x;
    - C3 if scales and zero points differ in shape.
    """
    shape: Shape | None = call.shape(0)
    scale, zero_point = call.shape(1), call.shape(2)
    if call.version >= 13 and scale is not None and zero_point is not None and certainly_differ(zero_point, scale):
        is_same = has_one_element(scale) is not False and has_one_element(zero_point) is not False
        if not is_same or max(len(scale), len(zero_point)) > 1:  # [] and [1] count as one shape
            raise Violation("C3", f"shapes {list(zero_point)} and {list(scale)}")
    index = 1 if call.shape(1) is not None else 2
    scales = call.shape(index)
    if has_one_element(scales) is not False:
        scales = None
    block = call.attribute("block_size") or 0
    if shape is None and scales is not None and block > 0 and len(scales) > 1:
        shape = (None,) * len(scales)
    if shape is None:
        call.doubt("the rank of x is not known")
    if shape is None or scales is None:
        return shape
    rank = len(shape)
    # Some versions ignore the axis if x is a vector.
    ignored = call.version >= 21 if call.schema.name == "QuantizeLinear" else 19 <= call.version < 21
    axis = 0 if rank == 1 and ignored else call.axis(call.attribute("axis"), rank, "C1")
    result = list(shape)
    size = result[axis]
    if block and len(scales) == rank:
        result[axis] = None if size is None else ceil_div(size, block)
        result = list(unify_shape(call, index, tuple(result), "C2"))
        result[axis] = size
    else:
        (result[axis],) = unify_shape(call, index, (size,), "C2")
    return tuple(result)
