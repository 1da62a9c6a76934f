"""Convolutions: what version 11 clarified is what runtimes did before, and BFLOAT16 is computed in FLOAT."""

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

import opset

node = helper.make_node
RNG = np.random.default_rng(4)
ROW = RNG.random((1, 2, 5), np.float32)
FILTERS = RNG.random((2, 3, 3), np.float32)


@pytest.mark.parametrize(
    "how",
    [
        {"auto_pad": "SAME_UPPER", "strides": [2]},
        {"auto_pad": "SAME_LOWER", "strides": [2]},
        {"auto_pad": "SAME_UPPER"},
        {"auto_pad": "VALID"},
        {"output_shape": [10], "strides": [2]},
        {"output_shape": [10], "strides": [2], "auto_pad": "SAME_UPPER"},
        {"output_shape": [6]},
        {"pads": [1, 0], "output_padding": [1], "strides": [3]},
    ],
)
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


def causal(x, weight, bias, past, activation):
    """Return what the operator is defined to give, position by position."""
    wide = [None if each is None else each.astype(np.float64) for each in (x, weight, bias, past)]
    x64, w64, b64, s64 = wide
    width = weight.shape[2]
    whole = np.concatenate((np.zeros((*x.shape[:2], width - 1)) if s64 is None else s64, x64), 2)
    y = sum(whole[:, :, j : j + x.shape[2]] * w64[:, 0, j, None] for j in range(width))
    y = y if b64 is None else y + b64[:, None]
    y = y if activation == "none" else y / (1 + np.exp(-y))
    return [y.astype(x.dtype), whole[:, :, x.shape[2] :].astype(x.dtype)]


@pytest.mark.parametrize("activation", ["none", "silu", "swish"])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize(("width", "length"), [(4, 7), (1, 3), (3, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_a_causal_convolution_with_its_state(check, activation, biased, past, width, length, dtype):
    x, weight = RNG.standard_normal((2, 3, length)).astype(dtype), RNG.standard_normal((3, 1, width)).astype(dtype)
    bias = RNG.standard_normal(3).astype(dtype) if biased else None
    state = RNG.standard_normal((2, 3, width - 1)).astype(dtype) if past else None
    feeds = {"x": x} | ({"s": state} if past else {})
    weights = {"w": weight} | ({"b": bias} if biased else {})
    inputs = ["x", "w", "b" if biased else "", "s"][: 4 if past else 3]
    made = node("CausalConvWithState", inputs, ["y", "present"], activation=activation)
    near = {"rtol": 2e-3, "atol": 2e-3} if dtype is np.float16 else {"rtol": 1e-5, "atol": 1e-5}
    expect = causal(x, weight, bias, state, activation)
    if width == 1 and past:
        return
    for to, shapes in ((26, {}), (13, {"x": ["n", 3, "l"]}), (7, {"x": ["n", 3, "l"]})):
        outputs = ["y", "present"]
        check(made, 27, to, feeds, weights, outputs=outputs, expect=expect, shapes=shapes, **near)


def test_what_a_causal_convolution_refuses(refused):
    feeds, weights = {"x": np.ones((1, 2, 3), "f")}, {"w": np.ones((2, 1, 2), "f")}
    made = node("CausalConvWithState", ["x", "w"], ["y", "p"], activation="relu")
    refused(made, 27, 26, feeds, "C103", weights, outputs=["y", "p"])
    made = node("CausalConvWithState", ["x", "w"], ["y", "p"])
    refused(made, 27, 26, feeds | weights, "C207", outputs=["y", "p"], shapes={"w": None})
    refused(made, 27, 26, {"x": np.ones((1, 2, 0), "f")}, "C204", weights, outputs=["y", "p"])


COLUMNS = RNG.random((2, 12, 6), np.float32)
COLUMNS[0, 0, 0], COLUMNS[1, 5, 2] = np.inf, np.nan


@pytest.mark.parametrize("open_sizes", [False, True])
@pytest.mark.parametrize(
    ("image", "block", "length", "how"),
    [
        ([3, 4], [2, 2], 6, {}),
        ([4, 6], [2, 2], 6, {"strides": [2, 2]}),
        ([2, 3], [2, 2], 4, {"pads": [1, 0, 0, 0]}),
        ([4, 5], [2, 2], 6, {"dilations": [2, 2]}),
        ([6, 7], [2, 2], 6, {"dilations": [2, 2], "strides": [3, 2], "pads": [0, 1, 1, 0]}),
        ([4, 5], [1, 4], 4, {"strides": [2, 1]}),
        ([3, 2, 2], [2, 2, 1], 4, {}),
    ],
)
def test_windows_are_gathered_and_added(check, image, block, length, how, open_sizes):
    feeds = {"x": COLUMNS[:, :, :length]}
    sizes = {"i": np.array(image), "b": np.array(block)}
    col2im = node("Col2Im", ["x", "i", "b"], ["y"], **how)
    for to in (17, 12, 9, 7):
        if open_sizes:
            check(col2im, 18, to, feeds | sizes, rtol=1e-6, shapes={"x": ["n", "e", "l"]})
            if to == 17:
                for shapes in ({"x": None, "i": None}, {"x": None, "b": None}):
                    check(col2im, 18, to, feeds | sizes, rtol=1e-6, shapes=shapes)
        else:
            after = check(col2im, 18, to, feeds, sizes, rtol=1e-6)
            apart = how == {"strides": [2, 2]}
            assert apart == ({"Where", "ReduceSum"}.isdisjoint(made.op_type for made in after.graph.node))


def test_windows_of_what_cannot_be_added(refused):
    sizes = {"i": np.array([2, 2]), "b": np.array([2, 2])}
    col2im = node("Col2Im", ["x", "i", "b"], ["y"])
    for kind in (TensorProto.BOOL, TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.COMPLEX128):
        refused(col2im, 18, 17, {"x": (kind, (1, 4, 1))} | sizes, "C202")
    refused(col2im, 18, 17, {"x": np.ones((1, 4, 1), np.float32)[:0]} | sizes, "C204")
    refused(col2im, 18, 17, {"x": np.ones((1, 4, 1), np.float32)} | sizes, "C207", shapes={"i": None, "b": None})


@pytest.mark.parametrize("open_sizes", [False, True])
@pytest.mark.parametrize(
    ("x", "w", "output", "moves", "how", "masked"),
    [
        (
            (2, 4, 5, 6),
            (6, 2, 2, 3),
            (3, 3),
            2,
            {"group": 2, "offset_group": 2, "strides": [2, 2], "pads": [1, 1, 0, 1]},
            True,
        ),
        ((1, 4, 5, 4), (3, 4, 2, 2), (3, 2), 4, {"offset_group": 4, "dilations": [2, 2]}, False),
        ((2, 2, 4, 4), (2, 1, 1, 1), (4, 4), 1, {"group": 2}, True),
    ],
)
def test_moved_windows_are_gathered_and_multiplied(check, x, w, output, moves, how, masked, open_sizes):
    rng = np.random.default_rng(3)
    area = int(np.prod(w[2:]))
    offset = rng.uniform(-3, 3, (x[0], moves * area * 2, *output)).astype(np.float32)
    offset.reshape(-1)[:9] = [0, 0, 1, -1, np.nan, np.inf, -np.inf, 0.5, 100]
    feeds = {"x": rng.random(x, np.float32), "o": offset, "b": rng.random(w[:1], np.float32)}
    inputs = ["x", "w", "o", "b"]
    if masked:
        feeds["m"] = rng.random((x[0], moves * area, *output), np.float32)
        inputs.append("m")
    shapes = {"shapes": {"x": ["n", x[1], "h", "w"], "o": ["n", "k", "p", "q"]}} if open_sizes else {}
    deform = node("DeformConv", inputs, ["y"], **how)
    for to in (18, 12, 9, 7):
        check(deform, 19, to, feeds, {"w": rng.random(w, np.float32)}, rtol=1e-4, atol=1e-5, **shapes)


def test_moved_windows_of_nothing(refused):
    feeds = {"x": np.ones((1, 1, 3, 3), np.float32), "o": np.zeros((1, 2, 3, 3), np.float32)}
    deform = node("DeformConv", ["x", "w", "o"], ["y"])
    w = np.ones((1, 1, 1, 1), np.float32)
    refused(deform, 19, 18, feeds | {"w": w[:0]}, "C204")
    refused(deform, 19, 18, feeds | {"w": w}, "C207", shapes={"x": None})


REFUSED = [
    (27, 26, "C103", "the kernel has no elements",
     "(float[1,2,3] x, float[2,1,0] w) => (float[] y, float[] p) { y, p = CausalConvWithState(x, w) }"),
    (18, 17, "C103", "are not those of 2 spatial",
     "(float[1,4,4] x) => (float[] y) <int64[2] i = {3, 3}, int64[2] b = {2, 2}> { y = Col2Im<strides=[1]>(x, "
     "i, b) }"),
    (18, 17, "C204", "pads are above",
     "(float[1,4,4] x) => (float[] y) <int64[2] i = {3, 3}, int64[2] b = {2, 2}> { y = "
     "Col2Im<strides=[16777217, 1]>(x, i, b) }"),
    (18, 17, "C204", "5 spatial",
     "(float[1,1,1] x) => (float[] y) <int64[5] i = {1, 1, 1, 1, 1}> { y = Col2Im(x, i, i) }"),
    (18, 17, "C204", "a size above",
     "(float[1,1,16777217] x) => (float[] y) <int64[2] i = {16777217, 1}, int64[2] b = {1, 1}> { y = Col2Im(x, "
     "i, b) }"),
    (18, 17, "C103", "larger than the image along axis 0",
     "(float[1,9,1] x) => (float[] y) <int64[2] i = {2, 3}, int64[2] b = {3, 3}> { y = Col2Im(x, i, b) }"),
    (19, 18, "C204", "5 spatial",
     "(float[1,1,1,1,1,1,1] x) => (float[] y) { y = DeformConv(x, x, x) }"),
    (19, 18, "C103", "have different ranks",
     "(float[1,1,3,3] x, float[1,1,1] w, float[1,2,3,3] o) => (float[] y) { y = DeformConv(x, w, o) }"),
    (18, 17, "C204", "there are no elements",
     "(float[1,4,4] x) => (float[] y) <int64[2] i = {0, 2}, int64[2] b = {1, 1}> { y = Col2Im(x, i, b) }"),
    (19, 18, "C103", "'group' is 0",
     "(float[1,4,3,3] x, float[4,4,1,1] w, float[1,2,3,3] o) => (float[] y) { y = DeformConv<group=0>(x, w, o) }"),
    (19, 18, "C103", "'offset_group' is 0",
     "(float[1,4,3,3] x, float[4,4,1,1] w, float[1,2,3,3] o) => (float[] y) { y = DeformConv<offset_group=0>(x, w, "
     "o) }"),
    (19, 18, "C103", "cannot be divided into the groups",
     "(float[1,3,3,3] x, float[2,3,1,1] w, float[1,2,3,3] o) => (float[] y) { y = DeformConv<group=2>(x, w, o) }"),
    (19, 18, "C103", "4 channels or 3 filters cannot be divided into the groups",
     "(float[1,4,3,3] x, float[3,2,1,1] w, float[1,2,3,3] o) => (float[] y) { y = DeformConv<group=2>(x, w, o) }"),
    (19, 18, "C103", "4 channels or 3 filters cannot be divided into the groups",
     "(float[1,4,3,3] x, float[3,4,1,1] w, float[1,6,3,3] o) => (float[] y) { y = DeformConv<offset_group=3>(x, w, "
     "o) }"),
    (19, 18, "C103", "have different ranks",
     "(float[1,1,3,3] x, float[3,1,1,1] w, float[1,2,3] o) => (float[] y) { y = DeformConv(x, w, o) }"),
    (19, 18, "C103", "or no spatial dimensions",
     "(float[1,1] x, float[3,1] w, float[1,2] o) => (float[] y) { y = DeformConv(x, w, o) }"),
    (19, 18, "C204", "there are no elements",
     "(float[1,1,3,3] x, float[3,1,0,1] w, float[1,0,3,3] o) => (float[] y) { y = DeformConv(x, w, o) }"),
    (19, 18, "C204", "there are no elements",
     "(float[1,1,3,3] x, float[3,1,1,1] w, float[1,2,0,3] o) => (float[] y) { y = DeformConv(x, w, o) }"),
    (19, 18, "C204", "of this size has no plain",
     "(float[1,16777217,3,3] x, float[1,16777217,1,1] w, float[1,2,3,3] o) => (float[] y) { y = DeformConv(x, w, o) }"),
    (19, 18, "C204", "of this size has no plain",
     "(float[1,1,3,3] x, float[16777217,1,1,1] w, float[1,2,3,3] o) => (float[] y) { y = DeformConv(x, w, o) }"),
    (19, 18, "C204", "of this size has no plain",
     "(float[1,65537,3,3] x, float[1,65537,1,1] w, float[1,131074,3,3] o) => (float[] y) { y = "
     "DeformConv<offset_group=65537>(x, w, o) }"),
    (19, 18, "C204", "of this size has no plain",
     "(float[1,1,300,300] x, float[1,1,300,300] w, float[1,180000,1,1] o) => (float[] y) { y = DeformConv(x, w, "
     "o) }"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "to", "code", "why", "graph"), REFUSED)
def test_each_reason_to_refuse(reject, version, to, code, why, graph):
    reject(graph, version, to, code, why)


@pytest.mark.parametrize(
    "graph",
    [
        "(float[1,1,3,3] x, float[16777216,1,1,1] w, float[1,2,3,3] o) => (float[] y) { y = DeformConv(x, w, o) }",
        "(float[1,1,300,300] x, float[1,1,256,256] w, float[1,131072,45,45] o) => (float[] y) "
        "{ y = DeformConv(x, w, o) }",
    ],
)
def test_the_greatest_sizes_that_are_written_out(graph):
    text = f'<ir_version: 8, opset_import: ["": 19]> g {graph}'
    assert opset.plan(opset.parse_model(text), 18).refusals == []
