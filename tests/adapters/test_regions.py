"""NonMaxSuppression by a loop: order, ties, thresholds, boxes that are given in other ways; RoiAlign by gathering."""

import numpy as np
import pytest
from onnx import helper
from onnx.helper import make_node

import opset

F, I64 = np.float32, np.int64


def drawn(seed, batches=2, classes=3, count=12):
    draw = np.random.default_rng(seed)
    corners = draw.integers(0, 6, (batches, count, 4)) + draw.choice([0, 0.25], (batches, count, 4))
    scores = draw.choice([-np.inf, -0.5, 0, 0.25, 0.5, 0.75, 1, np.inf], (batches, classes, count))
    return {"b": corners.astype(F), "s": scores.astype(F)}


@pytest.mark.parametrize("target", [7, 9])
@pytest.mark.parametrize(
    ("most", "overlap", "least"), [(4, 0.25, 0.25), (99, 0.5, None), (0, 0.5, None), (-1, 0, None), (9, None, -9)]
)
@pytest.mark.parametrize("form", [0, 1])
def test_boxes_are_those_of_the_operator(check, target, most, overlap, least, form):
    given = {"k": np.array([most], I64)}
    given |= {name: np.array([value], F) for name, value in (("t", overlap), ("q", least)) if value is not None}
    inputs = ["b", "s", *(name if name in given else "" for name in "ktq")]
    node = make_node("NonMaxSuppression", inputs, ["y"], center_point_box=form)
    shapes = {"b": ["B", "N", 4], "s": ["B", "C", "N"]} if most == 4 else {}
    check(node, 11, target, {**drawn(abs(most) + form), **given}, shapes=shapes, kinds={"y": 7})


@pytest.mark.parametrize("sizes", [(1, 1, 0), (0, 2, 3), (2, 0, 3)])
def test_there_may_be_no_boxes(check, sizes):
    feeds = {**drawn(1, *sizes), "k": np.array([3], I64)}
    check(make_node("NonMaxSuppression", ["b", "s", "k"], ["y"]), 11, 9, feeds, kinds={"y": 7})


def test_without_a_number_nothing_is_taken(check):
    check(make_node("NonMaxSuppression", ["b", "s"], ["y"]), 10, 9, drawn(2), kinds={"y": 7}, operators=[])


IMAGE = np.random.default_rng(0).random((2, 3, 8, 7), F)
# One region is smaller than an element, two reach out of the image, and one has its corners swapped.
REGIONS = np.array([[0, 0, 5, 6], [1, 2, 1.25, 2.125], [-3, -2, 12, 9], [6, 6, 9, 9], [3, 3, 2, 1]], F)
ALIGN = {"output_height": 2, "output_width": 3, "sampling_ratio": 2}


def aligned(mode, moved, **attributes):
    how = {"coordinate_transformation_mode": "half_pixel" if moved else "output_half_pixel"}
    return make_node("RoiAlign", ["x", "r", "b"], ["y"], mode=mode, **how, **{**ALIGN, **attributes})


@pytest.mark.parametrize(("mode", "moved", "to"), [("avg", True, 15), ("max", True, 9), ("avg", False, 7)])
def test_points_are_sampled_in_regions(check, mode, moved, to):
    feeds = {"x": IMAGE, "r": REGIONS, "b": np.array([0, 1, 0, 1, 1])}
    for scale, shapes in ((1.0, None), (0.25, {"x": ["N", "C", "H", "W"], "r": ["R", 4], "b": ["R"]})):
        check(aligned(mode, moved, spatial_scale=scale), 16, to, feeds, shapes=shapes, rtol=1e-6, atol=1e-7)
    none = {"x": IMAGE, "r": REGIONS[:0], "b": np.zeros(0, I64)}
    check(aligned(mode, moved), 16, to, none, shapes=shapes, expect=[np.zeros((0, 3, 2, 3), F)])


def run_kernels(model, feeds):
    return opset.ReferenceEvaluator(model).run(None, feeds)


@pytest.mark.parametrize(("kind", "rtol"), [(np.float16, 1e-3), (np.float64, 1e-12)])
def test_what_is_no_number_stays_in_the_cells_beside_it(check, own, kind, rtol):
    x = IMAGE.astype(kind)
    x[0, 0, 3, 3], x[1, 1, 2, 2] = np.nan, np.inf
    feeds = {"x": x, "r": REGIONS.astype(kind), "b": np.array([0, 1, 0, 1, 1])}
    node = aligned("avg", True)
    expect = own(node, 16, feeds, {"y": helper.np_dtype_to_tensor_dtype(np.dtype(kind))})
    assert not np.isfinite(expect[0]).all()
    check(node, 16, 7, feeds, expect=expect, rtol=rtol, judge=run_kernels)


def test_regions_are_aligned_as_they_were(check, refused):
    feeds, constants = {"x": IMAGE}, {"r": REGIONS, "b": np.array([0, 1, 0, 1, 1])}
    old = make_node("RoiAlign", ["x", "r", "b"], ["y"], **ALIGN)
    check(old, 10, 16, feeds, constants, operators=["RoiAlign"])
    check(aligned("avg", False), 16, 10, feeds, constants, operators=["RoiAlign"])
    for moved, to in ((True, 10), (False, 9)):
        refused(aligned("avg", moved, sampling_ratio=0), 16, to, feeds, "C204", constants)
    refused(aligned("avg", True), 16, 15, {"x": IMAGE[0]}, "C103", constants)
