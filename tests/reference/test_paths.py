"""Paths through kernels that no example of their operator takes, with values found by hand."""

import numpy as np
import pytest

from tests.reference.test_limits import ML, computed
from tests.reference.test_refusals import TREES

VOTES = {name.replace("target_", "class_"): value for name, value in TREES.items() if name != "n_targets"}
RAMP = np.array([[[1, 2, 4, 8]]], np.float32)
ROWS = np.array([[1, 2], [3, 4]], np.uint8)
ONE, NONE = np.array(1, np.float32), np.array(0, np.uint8)
HALF = -0.09375, 0.59375, 0.59375, -0.09375  # the weights of Keys's cubic kernel with coefficient -0.75, in the middle


def floats(*values):
    return np.array(values, np.float32)


PATHS = {
    "Gemm by an alpha of 0": (
        "Gemm", 13, (floats([1, 2]), floats([3], [4]), floats(5)), {"alpha": 0.0}, [[[5]]]),
    "Gemm by a beta of 0": (
        "Gemm", 13, (floats([1, 2]), floats([3], [4]), floats(5)), {"beta": 0.0}, [[[11]]]),
    "a cubic point beyond the border, whose neighbours alone are clipped": (
        "GridSample", 20, (RAMP, floats([[-4 / 3], [4 / 3]])), {"mode": "cubic", "padding_mode": "border",
         "align_corners": 1}, [[[[1 + HALF[3], 8 + 4 * HALF[0] - 8 * HALF[0]]]]]),
    "filters of one group with a bias each": (
        "DeformConv", 22, (floats([[[1, 2]]]), floats([[[1]]], [[[3]]]), np.zeros((1, 2, 1, 2), np.float32),
                           floats(10, 20)), {}, [[[[[11, 12]], [[23, 26]]]]]),
    "an image of one element, at which all points are reflected": (
        "GridSample", 20, (floats([[7]]), floats([[-2], [0.5]])), {"padding_mode": "reflection", "align_corners": 1},
        [[[[7, 7]]]]),
    "integers between which a point lies": (
        "GridSample", 20, (np.array([[[0, 100, 40]]], np.int8), floats([[-0.5], [0.5]])), {"align_corners": 1},
        [[[[50, 70]]]]),
    "integers beyond whose limit a curve goes": (
        "GridSample", 20, (np.array([[[0, 127, 127, 0]]], np.int8), floats([[0]])), {"mode": "cubic"}, [[[[127]]]]),
    "a map without keys": ("DictVectorizer", 1, ({},), {"string_vocabulary": ["a", "b"]}, [[[0, 0]]]),
    "a region that begins above the image": (
        "MaxRoiPool", 22, (floats([[[1, 2], [3, 4]]]), floats([0, 0, -2, 1, 1])), {"pooled_shape": [4, 1]},
        [[[[[0], [0], [2], [4]]]]]),
    "a region as large as the result": (
        "Resize", 19, (RAMP[0, 0], floats(1 / 3, 1), None, np.array([4])),
        {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}, [[2, 2 + 4 / 3, 4 + 4 / 3, 8]]),
    "a vector of which fewer elements are left than count for one of them": (
        "Resize", 19, (RAMP[0, 0], None, None, np.array([1])), {"mode": "linear"}, [[3]]),
    "a vector of which one element is left, by a curve": (
        "Resize", 19, (RAMP[0, 0], None, None, np.array([1])), {"mode": "cubic"}, [[2.71875]]),
    "a region without size before another": (
        "RoiAlign", 16, (np.full((1, 1, 4, 4), 5, np.float32), floats([1, 1, 1, 1], [0, 0, 2, 2]), np.array([0, 0])),
        {}, [[[[[0]]], [[[5]]]]]),
    "scales and zero points of each row and column": (
        "QLinearMatMul", 21, (ROWS, floats(1, 2), np.array([0, 1], np.uint8), ROWS, floats(1, 2),
                              np.array([0, 1], np.uint8), floats(1, 10), np.array([0, 1], np.uint8)), {},
        [[[7, 14], [3, 5]]]),
    "scales of the columns of a matrix, after a vector": (
        "QLinearMatMul", 21, (ROWS[0], ONE, NONE, ROWS, floats(1, 2), np.array([0, 0], np.uint8), ONE, NONE), {},
        [[7, 20]]),
    "scales of the rows of a matrix, before a vector": (
        "QLinearMatMul", 21, (ROWS, floats(1, 2), np.array([0, 0], np.uint8), ROWS[0], ONE, NONE, floats(1, 10),
                              np.array([0, 0], np.uint8)), {}, [[5, 2]]),
    "a sum of bytes beyond the 32 bits in which it is kept": (
        "QLinearMatMul", 21, (np.full((1, 33_100), 255, np.uint8), floats(1), NONE, np.full((33_100, 1), 255, np.uint8),
                              ONE, NONE, floats(1), NONE), {}, [[[0]]]),
    "texts of which one is no UTF-8": (
        "StringSplit", 20, (np.array([b"\xff-a", "b"], object),), {"delimiter": "-"},
        [[[b"\xff", "a"], ["b", ""]], [2, 1]]),
    "texts that are no UTF-8, at spaces": (
        "StringSplit", 20, (np.array([b" \xff  a b "], object),), {"maxsplit": 1}, [[[b"\xff", "a b"]], [2]]),
    "leaves that name features that are not there": (
        "TreeEnsembleRegressor", 3, (floats([0], [1]),), {**TREES, "nodes_featureids": [0, 99, -1]}, [[[1], [2]]]),
    "a tree whose root is not listed first": (
        "TreeEnsembleRegressor", 3, (floats([0], [1]),),
        {**TREES, "nodes_nodeids": [1, 2, 0], "nodes_modes": ["LEAF", "LEAF", "BRANCH_LEQ"],
         "nodes_values": [0.0, 0.0, 0.5], "nodes_truenodeids": [0, 0, 1], "nodes_falsenodeids": [0, 0, 2]},
        [[[1], [2]]]),
    "trees without votes": (
        "TreeEnsembleClassifier", 3, (floats([0], [1]),),
        {**{name: value for name, value in VOTES.items() if not name.startswith("class_")},
         "classlabels_int64s": [7, 8], "base_values": [0.25, 0.5]}, [[8, 8], [[0.25, 0.5]] * 2]),
}  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_a_path(path):
    operator, version, inputs, attributes, expected = PATHS[path]
    domain = ML if operator.startswith(("Tree", "Dict")) else ""
    found = computed(operator, *inputs, version=version, domain=domain, outputs=len(expected), **attributes)
    for have, want in zip(found, expected, strict=True):
        if have.dtype == object:
            assert have.tolist() == want
        else:
            assert have.shape == np.shape(want)
            np.testing.assert_allclose(have, want, rtol=1e-6)


def test_attention_of_doubles_is_computed_in_double():
    q, k, v = (np.array(each, np.float64).reshape(1, 1, -1, 1) for each in ([1.0], [0.0, 1.0], [0.0, 1.0]))
    (y,) = computed("Attention", q, k, v)
    np.testing.assert_allclose(y, 1 / (1 + np.exp(-1.0)), rtol=1e-15)


def test_factors_that_the_rule_of_linear_attention_does_not_use_change_nothing():
    values = [np.array(each, np.float32).reshape(1, 2, 1) for each in ([1, 2], [3, 4], [5, 6])]
    factors = np.full((1, 2, 1), -0.5, np.float32)
    heads = {"q_num_heads": 1, "kv_num_heads": 1, "version": 27, "outputs": 2}
    for rule, used in (("linear", ""), ("gated", "decay"), ("delta", "beta")):
        given = [factors if name == used else None for name in ("decay", "beta")]
        plain, _ = computed("LinearAttention", *values, None, *given, update_rule=rule, **heads)
        more, _ = computed("LinearAttention", *values, None, factors, factors, update_rule=rule, **heads)
        assert np.array_equal(plain, more)
    first, _ = computed("LinearAttention", *values, update_rule="linear", scale=1.0, **heads)
    assert first.ravel().tolist() == [15, 2 * (15 + 24)]
