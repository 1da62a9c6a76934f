"""Types and shapes of normalisation and dropout."""

from __future__ import annotations

from opset.inference.agreement import axes_of, common, unify
from opset.inference.call import Call
from opset.inference.dimensions import equal
from opset.inference.registration import infer
from opset.inference.rules.elementwise import broadcast_onto
from opset.inference.types import Known, Shape, Type, tensor
from opset.model.elements import element_name
from opset.schemas.constraints import Violation


def _values(call: Call, least: int, limit: int | None = None) -> Known | None:
    """Return the shape of the values, None where the rank is unknown. Raises Violation C1 for a rank out of range."""
    shape = call.shape(0)
    if shape is None:
        call.doubt(f"the rank of {call.parameter(0)} is not known")
    elif len(shape) < least or (limit is not None and len(shape) > limit):
        raise Violation("C1", f"the rank is {len(shape)}")
    return shape


def _normalised(shape: Known | None, parameters: Shape | None) -> Shape | None:
    """Return the shape of the values, with sizes that are known from the parameters alone."""
    if shape is None or parameters is None or len(shape) < 2:
        return shape
    return (shape[0], *parameters, *shape[1 + len(parameters) :])


@infer("BatchNormalization")
def batch_normalization_1(call: Call) -> list[Shape | None]:
    """Return the shape of the values, and that of the parameters for all statistics."""
    least, limit = (4, 4) if call.version == 1 else (2, None) if call.version < 9 else (1, None)
    x = _values(call, least, limit)
    per_position = call.version == 7 and call.attribute("spatial") == 0
    if x is None:
        own: Shape | None = None if per_position else (None,)
    else:
        own = (1,) if len(x) == 1 else x[1:] if per_position else x[1:2]
    own = common(call, range(1, 5), "C2", own)
    y = _normalised(x, own)
    trains = call.version < 7 and not call.attribute("is_test")
    if trains and not call.attribute("spatial") and (x is None or len(x) > 2):
        call.doubt("before version 7, the shape of statistics with spatial 0 is not defined")
        return [y]
    return [y, own, own, own, own]


@infer("InstanceNormalization")
def instance_normalization_1(call: Call) -> Shape | None:
    """Return the shape of the values."""
    x = _values(call, *((4, 4) if call.version == 1 else (2,)))
    return _normalised(x, common(call, (1, 2), "C2", (None,) if x is None else x[1:2]))


@infer("GroupNormalization")
def group_normalization_18(call: Call) -> Shape | None:
    """Return the shape of the values; parameters belong to channels, in version 18 to groups."""
    x = _values(call, 2)
    groups = call.attribute("num_groups")
    if groups is not None and x is not None and equal(x[1] % groups, 0) is False:
        raise Violation("C3", f"{groups} groups, {x[1]} channels")
    if call.version < 21:
        common(call, (1, 2), "C2", (groups,))
        return x
    return _normalised(x, common(call, (1, 2), "C2", (None,) if x is None else x[1:2]))


def _from_axis(call: Call) -> tuple[Known | None, int]:
    """Return the shape of the values and the first axis that is normalised over."""
    shape = _values(call, 0)
    if shape is None:
        return None, 0
    try:
        broadcast_onto(call, 0, 0, 1, 2)
    except Violation as violation:
        raise Violation("C2", violation.detail) from violation
    return shape, call.attribute("axis") % len(shape)


@infer("LayerNormalization")
def layer_normalization_17(call: Call) -> list[Shape | Type | None]:
    """Return the shape of the values, and of statistics, which have size 1 from `axis` on."""
    shape, axis = _from_axis(call)
    kept = None if shape is None else (*shape[:axis], *[1] * (len(shape) - axis))
    statistics = tensor(element_name(call.attribute("stash_type")), kept)
    return [shape, statistics, statistics]


@infer("RMSNormalization")
def rms_normalization_23(call: Call) -> Shape | None:
    """Return the shape of the values."""
    return _from_axis(call)[0]


@infer("LRN")
def lrn_1(call: Call) -> Shape | None:
    """Return the shape of the values."""
    return _values(call, 2)


@infer("MeanVarianceNormalization")
def mean_variance_normalization_9(call: Call) -> Shape:
    """Return the shape of the values."""
    shape = call.require_shape(0)
    axes_of(call, call.attribute("axes"), len(shape), "C1", twice="")
    return shape


@infer("Dropout")
def dropout_1(call: Call) -> list[Shape]:
    """Return the shape of the data, for the mask too."""
    ratio = call.attribute("ratio")
    if call.attribute("is_test") == 0 and not 0 <= ratio < 1:
        raise Violation("C1", f"ratio is {ratio:g}")
    return [call.require_shape(0)] * 2


@infer("Dropout", since=12)
def dropout_12(call: Call) -> list[Shape]:
    """Return the shape of the data, for the mask too."""
    for index in (1, 2):
        unify(call, index, (), "C2")
    if call.elements(2) == (True,) and (ratio := call.elements(1)) is not None:
        probability = ratio[0]
        if isinstance(probability, float) and not 0 <= probability < 1:
            raise Violation("C1", f"ratio is {probability:g}")
    return [call.require_shape(0)] * 2
