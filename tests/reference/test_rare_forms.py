"""Forms of nodes that no example of an operator has, beside what they compute."""

import math

import numpy as np
import pytest

from opset.reference.kernels.ml_encoding import _format_value
from opset.reference.kernels.text import _join
from opset.reference.numerics.ml_scores import probit
from tests.reference.test_limits import computed, refused
from tests.reference.test_refusals import MEMBERS, TREES
from tests.reference.test_refusals import computed as node_of_types

ML = "ai.onnx.ml"


def floats(*values):
    return np.array(values, np.float32)


SPARSE = {"domain": ML, "version": 1, "map_form": "SPARSE", "max_map": 5}
LINE, ONES = floats([[1, 2]]), floats([[1, 1]])
COLUMN = floats([[[0], [6], [12]]])
LONG = np.array([[2**30 + 1, 0]])


@pytest.mark.parametrize(
    ("operator", "inputs", "options", "wanted"),
    [
        ("Pow", [np.array([2, -3], np.int32), np.array(3, np.int64)], {}, [np.array([8, -27], np.int32)]),
        ("Pow", [np.array([2, -3], np.int32), np.array(2, np.int64)], {}, [np.array([4, 9], np.int32)]),
        ("Pow", [np.array([2, -3], np.int32), np.array([[3]])], {}, [np.array([[8, -27]], np.int32)]),
        ("Pow", [floats(2, -3), floats([2])], {}, [floats([4, 9])]),
        ("Pow", [np.array([16777217, 9], np.int32), floats(1, 0.5)], {}, [np.array([16777217, 3], np.int32)]),
        ("Pow", [np.array([3000000001]), floats(2)], {}, [np.array([9000000006000000001])]),
        ("Pow", [np.array([2000001]), floats(3)], {}, [np.array([8000012000006000001])]),
        ("NegativeLogLikelihoodLoss", [np.zeros((2, 0), np.float32), np.array([5, 5])],
         {"ignore_index": 5, "reduction": "none"}, [floats(0, 0)]),
        ("NegativeLogLikelihoodLoss", [np.zeros((2, 0), np.float32), np.array([5, 5])],
         {"ignore_index": 5, "reduction": "sum"}, [np.float32(0)]),
        ("GridSample", [np.zeros((1, 2, 0, 3), np.float32), np.zeros((1, 1, 1, 2), np.float32)], {},
         [np.zeros((1, 2, 1, 1), np.float32)]),
        ("GridSample", [np.array([[[[3, 2**53 + 1]]]]), floats([[[0.5, 0]]])], {"mode": "nearest"},
         [np.array([[[[2**53 + 1]]]])]),
        ("Split", [floats(1, 2)], {"version": 1, "outputs": 2}, [floats(1), floats(2)]),
        ("MaxPool", [floats([[1, 3, 2]])], {"kernel_shape": [4], "strides": [2], "ceil_mode": 1}, [floats([[3]])]),
        ("Reshape", [floats(5), np.ones(64, np.int64)], {}, [np.full((1,) * 64, 5, np.float32)]),
        ("RoiAlign", [np.zeros((1, 0, 4, 3), np.float32), floats([0, 0, 1, 1]), np.array([0])],
         {"output_height": 2, "output_width": 3}, [np.zeros((1, 0, 2, 3), np.float32)]),
        ("MatMul", [LONG, LONG.T], {}, [np.array([[(2**30 + 1) ** 2]])]),
        ("MaxPool", [np.array([[[1, 3, 2]]], np.float16)], {"kernel_shape": [2], "outputs": 2},
         [np.array([[[3, 3]]], np.float16), np.array([[[1, 1]]])]),
        ("MaxPool", [floats([[9, 1, 3, 2]])], {"kernel_shape": [3], "outputs": 2},
         [floats([[9, 3]]), np.array([[[0, 2]]])]),
        ("ConvTranspose", [LINE, ONES], {"output_shape": [1, 1, 3]}, [floats([[1, 3, 2]])]),
        ("ConvTranspose", [LINE, ONES], {"output_shape": [3]}, [floats([[1, 3, 2]])]),
        ("Resize", [np.array([2**53 + 1]), None, floats(2)], {"mode": "nearest", "antialias": 1},
         [np.array([2**53 + 1] * 2)]),
        ("Resize", [np.float32(5), None, np.zeros(0, np.float32)], {"mode": "nearest"}, [np.array(5, np.float32)]),
        ("TopK", [LINE[0], np.array([0])], {"outputs": 2}, [np.zeros((1, 0), np.float32), np.zeros((1, 0), np.int64)]),
        ("MaxUnpool", [np.zeros((0, 1, 2), np.float32), np.zeros((0, 1, 2), np.int64)], {"kernel_shape": [2]},
         [np.zeros((0, 1, 3), np.float32)]),
        ("Normalizer", [np.zeros((0, 2), np.float64)], {"domain": ML, "version": 1, "norm": "L1"},
         [np.zeros((0, 2), np.float32)]),
        ("Attention", [np.zeros((1, 1, 3, 1), np.float32)] * 2 + [COLUMN],
         {"version": 25, "left_window_size": 0, "right_window_size": 0}, [COLUMN]),
        ("Attention", [floats([[[1000]]]), floats([[[1], [0]]]), floats([[[3], [5]]])], {"scale": 1.0},
         [floats([[[3]]])]),
        ("Attention", [np.zeros((1, 1, 2, 1), np.float32), np.zeros((1, 1, 0, 1), np.float32),
                       np.zeros((1, 1, 0, 3), np.float32)], {"is_causal": 1}, [np.zeros((1, 1, 2, 3), np.float32)]),
        ("BatchNormalization", [floats([[[1, 3]]]), floats(2), floats(1), floats(0.5), floats(4)],
         {"version": 1, "epsilon": 0.0, "consumed_inputs": [0, 0, 0, 1, 1]}, [floats([[[1.5, 3.5]]])]),
        ("TensorScatter", [floats([[0, 0, 0]]), floats([[1, 2]]), np.array([2**63 - 1])],
         {"version": 24, "mode": "circular", "axis": 2}, [floats([[0, 1, 2]])]),
        ("CastMap", [{4: 0.5}], SPARSE, [floats([0, 0, 0, 0, 0.5])]),
        ("CastMap", [{0: 0.5}], SPARSE, [floats([0.5, 0, 0, 0, 0])]),
        ("CastMap", [{}], SPARSE, [floats([0, 0, 0, 0, 0])]),
        ("CastMap", [{}], {"domain": ML, "version": 1}, [np.zeros((1, 0), np.float32)]),
        ("CastMap", [{9: 0.5, -2: 1.0}], {"domain": ML, "version": 1}, [floats([1, 0.5])]),
    ],
)  # fmt: skip
def test_what_is_computed(operator, inputs, options, wanted):
    found = computed(operator, *inputs, **options)
    assert len(found) == len(wanted)
    for have, want in zip(found, wanted, strict=True):
        assert (have.dtype, have.shape) == (want.dtype, want.shape) and np.array_equal(have, want)


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_weights_are_rounded_to_a_type_that_is_not_their_own(kind):
    q, k, v = (np.array(each, kind).reshape(1, 1, -1, 1) for each in ([1], [0, 0.3], [1000, -741]))
    powers = np.exp(k.astype(np.float16).astype(np.float32))
    weights = powers / powers.sum()
    if kind == np.float32:
        weights = weights.astype(np.float16).astype(np.float32)
    (found,) = computed("Attention", q, k, v, scale=1.0, softmax_precision=10)
    assert np.allclose(found, (weights * v.astype(np.float32)).sum(), rtol=2**-9, atol=0)


@pytest.mark.parametrize(("kind", "fallback"), [(np.int64, -1), (np.float32, -0.0), (np.float64, -0.0)])
def test_a_label_encoder_has_a_value_for_other_keys(kind, fallback):
    keys = {"keys_int64s": [1, 7], "values_tensor": np.array([5, 6], kind)}
    keys["keys_tensor"] = np.zeros(0, np.int64)  # it is as good as none
    for given, rest in (({}, fallback), ({"default_tensor": np.array([9], kind)}, 9)):
        (found,) = node_of_types("LabelEncoder", 4, [np.array([7, 2, 1])], 1, keys | given)
        assert found.tobytes() == np.array([6, rest, 5], kind).tobytes()


@pytest.mark.parametrize(("value", "keys"), [({5: 0.5}, "5 to 5"), ({-1: 0.5}, "-1 to -1"), ({7: 0.5, 1: 2}, "1 to 7")])
def test_keys_of_a_sparse_map_are_below_its_size(value, keys):
    assert f"keys {keys}, max_map 5" in refused("R203", "CastMap", value, **SPARSE)


@pytest.mark.parametrize(
    ("sets", "reached"),
    [
        ([math.nan, math.nan], [2, 2, 2, 2]),  # which onnxruntime does not take
        ([0.0, math.nan, math.inf, math.nan], [0, 2, 1, 2]),
        ([math.nan, 0.0, -1.0, math.nan], [1, 1, 2, 2]),
    ],
)
def test_members_of_sets(sets, reached):
    leaves = {"leaf_targetids": [0, 0, 0], "leaf_weights": floats(0, 1, 2), "n_targets": 1}
    attributes = {**MEMBERS, **leaves, "nodes_featureids": [0, 0], "membership_values": floats(*sets)}
    tree = {"nodes_truenodeids": [0, 1], "nodes_trueleafs": [1, 1], "nodes_falsenodeids": [1, 2],
            "nodes_falseleafs": [0, 1], "tree_roots": [0]}  # fmt: skip
    (scores,) = node_of_types("TreeEnsemble", 5, [floats([0], [-1], [math.inf], [math.nan])], 1, attributes | tree)
    assert scores.ravel().tolist() == reached


def test_targets_of_trees_are_counted_if_their_number_is_not_stated():
    trees = {name: value for name, value in TREES.items() if name != "n_targets"}
    trees["target_ids"] = [0, 1]
    (scores,) = computed("TreeEnsembleRegressor", floats([0.25], [0.75]), domain=ML, version=1, **trees)
    assert np.array_equal(scores, floats([1, 0], [0, 2]))


def test_trees_without_votes_give_0():
    trees = {name: value for name, value in TREES.items() if not name.startswith("target_")}
    (scores,) = computed("TreeEnsembleRegressor", floats([0.25], [0.75]), domain=ML, version=1, **trees)
    assert np.array_equal(scores, floats([0], [0]))


@pytest.mark.parametrize(("aggregate", "first"), [("MIN", [1, 2]), ("MAX", [1, 2]), ("SUM", [1, 2])])
def test_targets_without_votes_have_0(aggregate, first):
    trees = {**TREES, "n_targets": 3, "aggregate_function": aggregate}
    (scores,) = computed("TreeEnsembleRegressor", floats([0.25], [0.75]), domain=ML, version=1, **trees)
    assert scores.tolist() == [[score, 0, 0] for score in first]


def test_scores_of_two_classes_by_way_of_probit():
    trees = {name.replace("target_", "class_"): value for name, value in TREES.items() if name != "n_targets"}
    trees |= {"class_weights": [0.25, 0.5], "classlabels_int64s": [3, 4], "post_transform": "PROBIT"}
    labels, scores = computed(
        "TreeEnsembleClassifier", floats([0.25], [0.75]), domain=ML, version=1, outputs=2, **trees
    )
    assert [*labels] == [3, 3]
    assert np.allclose(scores, [[0.6745, -0.6745], [0, 0]], atol=1e-4)


def test_probit_is_right_far_from_the_middle():
    p = np.array([[2.0**-149, 1e-40, 1e-10, 0.3, 0.5, 1 - 2.0**-24]])
    have = probit(p)
    assert np.allclose([0.5 * math.erfc(-x / math.sqrt(2)) for x in have[0]], p, rtol=1e-12)
    assert have[0, 4] == 0 and have[0, 1] < -13.31
    ends = probit(np.array([0, 1, -0.1, 1.1, np.nan]))
    assert np.array_equal(ends, [-np.inf, np.inf, np.nan, np.nan, np.nan], equal_nan=True)


def test_texts_of_bytes_are_joined():
    assert _join("a", "b") == "ab"
    first, second = "é".encode()[:1], "é".encode()[1:]
    assert _join(first, second) == "é"
    assert (_join(first, "b"), _join("a", second)) == (first + b"b", b"a" + second)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (2.0, "2"),
        (1e16, "1e+16"),
        (9e15, "9000000000000000"),
        (3, "3"),
        (-1e20, "-1e+20"),
        (True, "True"),
    ],
)
def test_numbers_as_text(value, text):
    assert _format_value(value) == text


def test_bands_of_a_fine_spectrum_begin_at_the_frequencies_of_their_mels():
    numbers = [np.array(value) for value in (2, 4000, 4000)]
    (weights,) = computed("MelWeightMatrix", *numbers, np.float32(0), np.float32(2000))
    mels = np.linspace(0, 2595 * np.log10(1 + 2000 / 700), 5)[1:3]
    peaks = np.floor(4001 / 4000 * 700 * (10 ** (mels / 2595) - 1))
    assert weights.argmax(axis=0).tolist() == peaks.tolist() == [281, 674]
