"""Types and shapes of normalisation and dropout."""

from __future__ import annotations

from opset.inference.building.call import Call
from opset.inference.building.types import KnownShape, Shape, Type, tensor
from opset.inference.registration import infer
from opset.model.elements import element_name
from opset.schemas.constraints.violation import Violation


def _shape_of_values(call: Call) -> KnownShape | None:
    """Return the shape of the first input; if its rank is unknown, return None and add a doubt to the call."""
    shape = call.shape(0)
    if shape is None:
        call.doubt(f"the rank of {call.parameter(0)} is not known")
    return shape


@infer("BatchNormalization")
def batch_normalization_1(call: Call) -> list[Shape | None]:
    """Return the shape of Y, None if unknown, and the shape of each further output, a mean or variance of channels.

    Raises Violation without a label from version 14 on if outputs other than Y are wanted without training.
    """
    x = _shape_of_values(call)
    if call.version >= 14 and call.attribute("training_mode") == 0 and (call.wants(1) or call.wants(2)):
        raise Violation("", "with training_mode 0, Y is the only output")
    trains = call.version < 7 and not call.attribute("is_test")
    if trains and not call.attribute("spatial") and (x is None or len(x) > 2):
        call.doubt("before version 7, the shape of statistics with spatial 0 is not defined")
        return [x]
    statistics = call.shape(1) if call.version == 7 and call.attribute("spatial") == 0 else (call.size("C"),)
    return [x, *[statistics] * 4]


@infer("LayerNormalization")
def layer_normalization_17(call: Call) -> list[Shape | Type | None]:
    """Return the shape of Y, None if unknown, and the type of mean and deviation, whose sizes from `axis` on are 1."""
    shape = _shape_of_values(call)
    axis = call.attribute("axis") % len(shape) if shape else 0
    kept = None if shape is None else (*shape[:axis], *[1] * (len(shape) - axis))
    statistics = tensor(element_name(call.attribute("stash_type")), kept)
    return [shape, statistics, statistics]


@infer("MeanVarianceNormalization")
def mean_variance_normalization_9(call: Call) -> Shape:
    """Return the shape of the input. Raises Unknown if its rank is not known."""
    return call.require_shape(0)
