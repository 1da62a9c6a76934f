"""Output shapes of MaxRoiPool, RoiAlign and NonMaxSuppression."""

from __future__ import annotations

from opset.inference.agreement import check_one_element, unify
from opset.inference.call import Call
from opset.inference.registration import infer
from opset.inference.types import Shape
from opset.schemas.constraints import Violation


@infer("MaxRoiPool")
def max_roi_pool_1(call: Call) -> Shape:
    """Return (number of regions, C, *pooled_shape)."""
    cells = call.attribute("pooled_shape") or ()
    if len(cells) != 2:
        raise Violation("C2", f"pooled_shape {cells}")
    _, channels, _, _ = unify(call, 0, (None,) * 4, "C1")
    count, corners = unify(call, 1, (None,) * 2, "C1")
    call.same(corners, 5, "C1", "the second size of rois")
    return (count, channels, *cells)


@infer("RoiAlign")
def roi_align_10(call: Call) -> Shape:
    """Return (number of regions, C, output_height, output_width)."""
    cells = call.attribute("output_height"), call.attribute("output_width")
    _, channels, _, _ = unify(call, 0, (None,) * 4, "C1")
    count, corners = unify(call, 1, (None,) * 2, "C1")
    call.same(corners, 4, "C1", "the second size of rois")
    (images,) = unify(call, 2, (None,), "C1")
    return (call.same(count, images, "C1", "the number of regions"), channels, *cells)


@infer("NonMaxSuppression")
def non_max_suppression_10(call: Call) -> Shape:
    """Return (number of selected boxes, 3); the number depends on data unless it is 0."""
    batch, count, corners = unify(call, 0, (None,) * 3, "C1")
    other, classes, scored = unify(call, 1, (None,) * 3, "C1")
    call.same(corners, 4, "C1", "the last size of boxes")
    batch = call.same(batch, other, "C1", "the number of batches")
    count = call.same(count, scored, "C1", "the number of boxes")
    for index in (2, 3, 4):
        check_one_element(call, index, "C2")
    max_iou = (call.elements(3) or (None,))[0]
    if isinstance(max_iou, int | float) and not 0 <= max_iou <= 1:
        raise Violation("C3", f"iou_threshold {max_iou}")
    max_boxes = (call.elements(2) or (None,))[0] if call.has(2) else 0
    none = 0 in (batch, classes, count) or (isinstance(max_boxes, int) and max_boxes <= 0)
    return (0 if none else None, 3)
