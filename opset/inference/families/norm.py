"""Types and shapes of normalization."""

from __future__ import annotations

from opset.inference.building.call import Call
from opset.inference.building.types import KnownShape, Shape, Type, tensor
from opset.inference.registration import infer
from opset.model.elements import element_name
from opset.schemas.constraints.violation import Violation


def _shape_of_values(call: Call) -> KnownShape | None:
    """Return the shape of the first input, or None if its rank is unknown; `call.doubts` then gets the reason."""
    shape = call.shape(0)
    if shape is None:
        call.doubt(f"the rank of {call.parameter(0)} is not known")
    return shape


@infer("BatchNormalization")
def batch_normalization_1(call: Call) -> list[Shape | None]:
    """Return the shapes of the five outputs: first of Y, None if unknown, then four equal shapes of the statistics.

    Means and variances have the shape (C,). At version 7 with the attribute `spatial` 0 it is the shape of `scale`,
    None if unknown. If the rank of Y is unknown, the reason is added to `call.doubts`.

    Before version 7, the standard defines no shape of means for a node that trains with the attribute `spatial` 0. For
    X of more than two axes, or of unknown rank, only the shape of Y is then returned, and the reason is added to
    `call.doubts`.

    From version 14 on, raises Violation without the label of a constraint if the node has other outputs than Y, but
    does not train.
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
    """Return the shape of Y (None if unknown), the type of the mean, and the same type for the inverse deviation.

    The mean has the shape of Y, but with sizes of 1 from `axis` on, and the element type that the attribute
    `stash_type` names. If the rank is unknown, the reason is added to `call.doubts`.
    """
    shape = _shape_of_values(call)
    axis = call.attribute("axis") % len(shape) if shape else 0
    kept = None if shape is None else (*shape[:axis], *[1] * (len(shape) - axis))
    statistics = tensor(element_name(call.attribute("stash_type")), kept)
    return [shape, statistics, statistics]


@infer("MeanVarianceNormalization")
def mean_variance_normalization_9(call: Call) -> Shape:
    """Return the shape of the output, which is the input's. Raises Unknown if its rank is not known."""
    return call.require_shape(0)
