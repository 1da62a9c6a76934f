"""Outputs of operators that work along one axis and keep the shape."""

from __future__ import annotations

from opset.inference.call import Call
from opset.inference.registration import rule
from opset.inference.types import Shape


@rule("along")
def along(call: Call, output: int, source: int, attribute: str) -> Shape:
    """Return the shape of an input along whose axis, an attribute, the operator works: `along(X, axis)`."""
    shape = call.require_shape(source)
    call.axis(call.attribute(attribute), len(shape), "C1")
    return shape
