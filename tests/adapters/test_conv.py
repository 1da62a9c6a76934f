"""Convolutions: what version 11 clarified is what runtimes did before, and BFLOAT16 is computed in FLOAT."""

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

node = helper.make_node
RNG = np.random.default_rng(4)
ROW = RNG.random((1, 2, 5), np.float32)
FILTERS = RNG.random((2, 3, 3), np.float32)


@pytest.mark.parametrize(
    "how",
    [
        {"auto_pad": "SAME_UPPER", "strides": [2]}, {"auto_pad": "SAME_LOWER", "strides": [2]},
        {"auto_pad": "SAME_UPPER"}, {"auto_pad": "VALID"}, {"output_shape": [10], "strides": [2]},
        {"output_shape": [10], "strides": [2], "auto_pad": "SAME_UPPER"}, {"output_shape": [6]},
        {"pads": [1, 0], "output_padding": [1], "strides": [3]},
    ],
)  # fmt: skip
@pytest.mark.parametrize(("version", "to"), [(10, 11), (7, 22), (11, 10), (22, 9)])
def test_transposed_convolutions_keep_their_padding(check, how, version, to):
    convolution = node("ConvTranspose", ["x", "w"], ["y"], **how)
    check(convolution, version, to, {"x": ROW}, {"w": FILTERS}, operators=["ConvTranspose"])


@pytest.mark.parametrize("auto_pad", ["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
def test_convolutions_stay(check, auto_pad):
    convolution = node("Conv", ["x", "w"], ["y"], auto_pad=auto_pad, strides=[2])
    for version, to in ((9, 22), (22, 9)):
        check(convolution, version, to, {"x": ROW}, {"w": FILTERS.transpose(1, 0, 2)}, operators=["Conv"])


@pytest.mark.parametrize("op_type", ["Conv", "ConvTranspose"])
def test_bfloat16_is_computed_in_float(check, op_type):
    weights = FILTERS.transpose(1, 0, 2) if op_type == "Conv" else FILTERS
    nodes = [
        node("Cast", ["f"], ["x"], to=TensorProto.BFLOAT16),
        node("Cast", ["g"], ["w"], to=TensorProto.BFLOAT16),
        node(op_type, ["x", "w"], ["z"]),
        node("Cast", ["z"], ["y"], to=TensorProto.FLOAT),
    ]
    rounded = [value.astype(ml_dtypes.bfloat16).astype(np.float32) for value in (ROW, weights)]
    if op_type == "Conv":
        windows = np.lib.stride_tricks.sliding_window_view(rounded[0], 3, 2)
        wanted = np.einsum("nclk,mck->nml", windows, rounded[1])
    else:
        wanted = np.zeros((1, 3, 7), np.float32)
        for place in range(3):
            wanted[:, :, place : place + 5] += np.einsum("ncl,cm->nml", rounded[0], rounded[1][:, :, place])
    after = check(nodes, 22, 17, {"f": ROW, "g": weights}, expect=[wanted], rtol=2**-7)
    assert [n.op_type for n in after.graph.node] == ["Cast", "Cast", "Cast", "Cast", op_type, "Cast", "Cast"]
