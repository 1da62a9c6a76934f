"""Values made coarse and fine again: their types, and the grain of their scales."""

from __future__ import annotations

from opset.inference.agreement import check_choice, differ, element_stated, is_one, may_give, unify
from opset.inference.call import Call
from opset.inference.dimensions import ceil_div
from opset.inference.registration import infer
from opset.inference.types import Shape, Type, tensor
from opset.schemas.constraints import Violation


@infer("QuantizeLinear")
def quantize_linear_10(call: Call) -> Type:
    """Return the shape of x, in the type of the zero point, the one that is stated, or uint8."""
    stated, given = element_stated(call, "output_dtype", "C4"), call.dtype(2)
    if stated is not None and given is not None and stated != given:
        raise Violation("C4", f"output_dtype says {stated}, and the zero point is {given}")
    check_choice(call, "precision", (0, 1, 10, 11, 16), "C6")
    return tensor(stated or given or (None if call.has(2) else "uint8"), _scaled(call))


@infer("DequantizeLinear")
def dequantize_linear_10(call: Call) -> Type:
    """Return the shape of x in the type that is stated, or else that of the scale."""
    stated = element_stated(call, "output_dtype", "C4")
    element = stated or call.dtype(1)
    if element is not None and not may_give(call, element):
        raise Violation("C4", f"the scale is {element}")
    return tensor(element, _scaled(call))


def _scaled(call: Call) -> Shape | None:
    """The shape of x, of which scales for each index or block may tell sizes; None where its rank is not known."""
    shape: Shape | None = call.shape(0)
    _check_grain(call)
    place = 1 if call.shape(1) is not None else 2
    grain, block = call.shape(place), call.attribute("block_size") or 0
    is_fine = grain is not None and is_one(grain) is False
    if shape is None and is_fine and block > 0 and len(grain or ()) > 1:
        shape = (None,) * len(grain or ())
    if shape is None:
        call.doubt("the rank of x is not known")
    if shape is None or grain is None or not is_fine:
        return shape
    if block < 0:
        raise Violation("C5", f"block_size {block}")
    rank = len(shape)
    axis = call.axis(call.attribute("axis"), rank, "C1") if rank != 1 else 0
    result = list(shape)
    size = result[axis]
    if block and len(grain) == rank:
        result[axis] = None if size is None else ceil_div(size, block)
        result = list(unify(call, place, tuple(result), "C2"))
        result[axis] = size
    else:
        (result[axis],) = unify(call, place, (size,), "C2")
    return tuple(result)


def _check_grain(call: Call) -> None:
    """Raise Violation where scale and zero point certainly are not of one shape, or before 13 not one element each."""
    scale, zero_point = call.shape(1), call.shape(2)
    if call.version < 13:
        for label, given in (("C2", scale), ("C3", zero_point)):
            if is_one(given) is False:
                raise Violation(label, f"shape {list(given or ())}")
    elif scale is not None and zero_point is not None and differ(zero_point, scale):
        is_same = is_one(scale) is not False and is_one(zero_point) is not False
        if not is_same or max(len(scale), len(zero_point)) > 1:  # [] and [1] count as one shape
            raise Violation("C3", f"shapes {list(zero_point)} and {list(scale)}")
