"""Activation functions: PRelu before its slopes broadcast, and elements of Relu."""

from __future__ import annotations

from functools import partial

from opset.inference.building.call import Call
from opset.inference.building.dimensions import Dim, maximum
from opset.inference.building.elements import map_and_round
from opset.inference.building.shapes import check_slopes
from opset.inference.building.types import Shape
from opset.inference.registration import data, infer


@infer("PRelu")
def p_relu_1(call: Call) -> Shape:
    """Return the shape of the output, which is the input's. Raises Unknown if its rank is unknown.

    Raises Violation C1 if the slope certainly has neither one element nor the shape (C,). C is the number of channels,
    the input's size along axis 1.
    """
    shape = call.require_shape(0)
    slope = call.shape(1)
    if slope is not None:
        check_slopes(shape, slope)
    return shape


data("Relu")(partial(map_and_round, lambda x: maximum(x, 0) if isinstance(x, Dim) else type(x)(0) if x <= 0 else x))
