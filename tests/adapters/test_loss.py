"""Losses: nothing moved but the types."""

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
