"""Output shapes of MaxRoiPool, RoiAlign and NonMaxSuppression."""

from __future__ import annotations

from opset.inference.building.agreement import required_attribute
from opset.inference.building.call import Call
from opset.inference.building.types import Shape
from opset.inference.registration import infer


@infer("MaxRoiPool")
def max_roi_pool_1(call: Call) -> Shape:
    """Return (number of regions, C, *pooled_shape), with the attribute `pooled_shape`; a size is None if unknown.

    Raises Violation without the label of a constraint if the attribute is absent.
    """
    return (call.size("num_rois"), call.size("C"), *required_attribute(call, "pooled_shape"))


@infer("RoiAlign")
def roi_align_10(call: Call) -> Shape:
    """Return (number of regions, C, output_height, output_width); a size is None if it is unknown."""
    return (call.size("num_rois"), call.size("C"), call.attribute("output_height"), call.attribute("output_width"))


@infer("NonMaxSuppression")
def non_max_suppression_10(call: Call) -> Shape:
    """Return (0, 3) if certainly no box is selected, else (None, 3), as the number of boxes depends on the data.

    No box is selected if `max_output_boxes_per_class` is absent or at most 0, or if there are no batches, classes or
    boxes.
    """
    max_boxes = (call.elements(2) or (None,))[0] if call.has(2) else 0
    is_empty = 0 in map(call.size, ("num_batches", "num_classes", "num_boxes"))
    return (0 if is_empty or (isinstance(max_boxes, int) and max_boxes <= 0) else None, 3)
