"""Losses: nothing moved but the types, and below version 12 they are written out."""

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

node = helper.make_node
RNG = np.random.default_rng(6)
SCORES = RNG.random((4, 3), np.float32)
LABELS = {"t": np.array([0, 2, 1, 2], np.int64), "w": np.array([1, 0.5, 2], np.float32)}


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("inputs", [["x", "t"], ["x", "t", "w"]])
@pytest.mark.parametrize("op_type", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
def test_losses_stay(check, op_type, inputs, reduction):
    loss = node(op_type, inputs, ["y"], reduction=reduction)
    for version, to in ((12, 22), (22, 12)):
        check(loss, version, to, {"x": SCORES}, LABELS, operators=[op_type], rtol=1e-6)


def test_bfloat16_is_computed_in_float(check):
    nodes = [
        node("Cast", ["f"], ["x"], to=TensorProto.BFLOAT16),
        node("NegativeLogLikelihoodLoss", ["x", "t"], ["z"], reduction="none"),
        node("Cast", ["z"], ["y"], to=TensorProto.FLOAT),
    ]
    rounded = SCORES.astype(ml_dtypes.bfloat16).astype(np.float32)
    check(nodes, 22, 17, {"f": SCORES}, LABELS, expect=[-rounded[np.arange(4), LABELS["t"]]])


@pytest.mark.parametrize("op", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
@pytest.mark.parametrize(
    ("reduction", "weighted", "ignored"),
    [
        ("none", False, None),
        ("none", True, 2),
        ("sum", False, None),
        ("sum", True, -5),
        ("mean", False, None),
        ("mean", True, None),
        ("mean", False, 2),
        ("mean", True, -5),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_losses_by_their_formulas(check, op, reduction, weighted, ignored, dtype):
    for shape in ((4, 5), (2, 5, 3), (2, 5, 3, 2)):
        feeds = {
            "x": RNG.standard_normal(shape).astype(dtype),
            "t": RNG.integers(0, 5, (shape[0], *shape[2:])),
        }
        if ignored is not None and ignored < 0:
            feeds["t"].reshape(-1)[::3] = ignored
        if weighted:
            feeds["w"] = RNG.random(5).astype(dtype)
        stated = {} if ignored is None else {"ignore_index": ignored}
        outputs = ["y", "p"] if op[0] == "S" else ["y"]
        made = node(op, list(feeds), outputs, reduction=reduction, **stated)
        near = {"rtol": 1e-2, "atol": 4e-3} if dtype is np.float16 else {"rtol": 1e-5, "atol": 1e-6}
        check(made, 13, 11, feeds, outputs=outputs, **near)
        open_ = {"x": ["n", 5, *"de"[: len(shape) - 2]], "t": ["n", *"de"[: len(shape) - 2]]}
        check(made, 13, 11, feeds, outputs=outputs, shapes=open_, **near)


def test_a_score_that_is_ignored_has_no_effect(check):
    feeds = {"x": np.array([[np.nan, 1], [2, np.inf]], "f"), "t": np.array([7, 0]), "w": np.array([np.inf, 1], "f")}
    made = node("NegativeLogLikelihoodLoss", list(feeds), ["y"], ignore_index=7, reduction="none")
    check(made, 13, 11, feeds, expect=[np.array([0, -np.inf], "f")])


def test_what_losses_refuse(refused):
    feeds = {"x": np.ones((2, 3), "f"), "t": np.array([0, 1])}
    made = node("NegativeLogLikelihoodLoss", list(feeds), ["y"], reduction="most")
    refused(made, 13, 11, feeds, "C103")
