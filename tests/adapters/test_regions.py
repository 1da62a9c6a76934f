"""NonMaxSuppression by a loop: order, ties, thresholds, and boxes that are given in other ways."""

import numpy as np
import pytest
from onnx.helper import make_node

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
