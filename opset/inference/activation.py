"""Activation functions: PRelu before its slopes broadcast, and elements of Relu."""

from __future__ import annotations

from functools import partial

from opset.inference.agreement import is_one
from opset.inference.call import Call
from opset.inference.dimensions import Dim, equal, maximum
from opset.inference.elements import typed
from opset.inference.registration import data, infer
from opset.inference.types import Shape
from opset.schemas.constraints import Violation


@infer("PRelu")
def p_relu_1(call: Call) -> Shape:
    """Return the shape of the input; there is one slope, or one for each channel (dimension 1)."""
    shape, slope = call.require_shape(0), call.shape(1)
    if slope is None or is_one(slope) is not False:
        return shape
    if len(slope) != 1 or len(shape) < 2 or equal(slope[0], shape[1]) is False:
        raise Violation("C1", f"the shapes are {list(shape)} and {list(slope)}")
    return shape


data("Relu")(partial(typed, lambda x: maximum(x, 0) if isinstance(x, Dim) else type(x)(0) if x <= 0 else x))
