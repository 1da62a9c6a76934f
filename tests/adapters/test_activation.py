"""Softmax along an axis and over a flattened input, PRelu's slopes, and types that came late."""

import itertools
import math

import numpy as np
import pytest
from onnx import TensorProto
from onnx.helper import make_node
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

import opset

KIN = ["Softmax", "LogSoftmax", "Hardmax"]


def along(operator, x, axis):
    """Return what the operator gives along one axis, by its formula."""
    if operator == "Hardmax":
        best = np.expand_dims(x.argmax(axis), axis)
        return (np.indices(x.shape)[axis] == best).astype(x.dtype)
    shifted = x - x.max(axis, keepdims=True)
    total = np.exp(shifted).sum(axis, keepdims=True)
    return np.exp(shifted) / total if operator == "Softmax" else shifted - np.log(total)


def flattened(operator, x, axis):
    rows = x.reshape(math.prod(x.shape[:axis]), -1)
    return along(operator, rows, 1).reshape(x.shape)


def data(*shape):
    return np.random.default_rng(len(shape)).permutation(math.prod(shape)).reshape(shape).astype(np.float32) / 5


@pytest.mark.parametrize("operator", KIN)
@pytest.mark.parametrize("version", [1, 8, 11])
@pytest.mark.parametrize(
    ("shape", "axis", "operators"),
    [((2, 3, 4), 1, 4), ((2, 3, 4), 2, 1), ((2, 3), None, 1), ((2, 3, 4), None, 4), ((2, 3, 4), 0, 4), ((5,), 0, 1)],
)
def test_a_flattened_input(check, operator, version, shape, axis, operators):
    x = data(*shape)
    node = make_node(operator, ["x"], ["y"], **({} if axis is None else {"axis": axis}))
    expect = flattened(operator, x, 1 if axis is None else axis)
    after = check(node, version, 13, {"x": x}, expect=[expect], rtol=1e-6)
    assert len(after.graph.node) == operators


@pytest.mark.parametrize(
    ("described", "axis", "plain"),
    [(["N", 3, 4], 1, True), ([2, "C", 4], 1, True), ([2, "C", 4], 0, True), (["N", 3, 4], 0, False),
     ([2, 3, "D"], 1, False), (["N", "C", 4], 1, True), ([2, 3, 4], 0, True)],
)  # fmt: skip
def test_an_input_is_flattened_where_no_size_of_zero_can_be_lost(converted, described, axis, plain):
    after = converted(make_node("Softmax", ["x"], ["y"], axis=axis), 11, 13, {"x": (1, described)})
    operators = [node.op_type for node in after.graph.node if node.op_type != "Constant"]
    assert (sorted(operators) == ["Flatten", "Reshape", "Shape", "Softmax"]) == plain == ("ReduceProd" not in operators)


@pytest.mark.parametrize("operator", KIN)
def test_a_flattened_input_of_any_rank(check, operator):
    x = data(2, 3, 4)
    node = make_node(operator, ["x"], ["y"], axis=1)
    check(node, 11, 13, {"x": x}, shapes={"x": None}, expect=[flattened(operator, x, 1)], rtol=1e-6)
    whole = make_node(operator, ["x"], ["y"], axis=0)
    expect = [flattened(operator, x, 0)]
    check(whole, 11, 13, {"x": x}, shapes={"x": None}, expect=expect, rtol=1e-6)
    last = make_node(operator, ["x"], ["y"], axis=-1)
    expect = [along(operator, x, -1)]
    check(last, 11, 13, {"x": x}, shapes={"x": None}, expect=expect, rtol=1e-6, operators=[operator])


@pytest.mark.parametrize("operator", KIN)
@pytest.mark.parametrize("axis", [0, 1, 2, -2])
@pytest.mark.parametrize("described", [None, ["N", 3, 4], ["N", "C", 4], [2, "C", 4], [2, 3, "D"], ["N", "C", "D"]])
def test_a_flattened_input_without_elements(build, run, operator, axis, described):
    before = build(make_node(operator, ["x"], ["y"], axis=axis), 11, {"x": (1, described)})
    for after in (opset.convert(before, 13), opset.convert(before, 21)):
        for empty in itertools.product((0, 1), repeat=3):
            shape = [size * some for size, some in zip((2, 3, 4), empty, strict=True)]
            if described is None or all(each in (is_, str(each)) for is_, each in zip(shape, described, strict=True)):
                x = data(*shape)
                np.testing.assert_allclose(run(after, {"x": x})[0], run(before, {"x": x})[0], rtol=1e-6)


@pytest.mark.parametrize("operator", KIN)
@pytest.mark.parametrize("to", [12, 10, 7])
@pytest.mark.parametrize(("axis", "operators"), [(0, 3), (1, 3), (2, 1), (-1, 1), (-2, 3), (None, 1)])
def test_one_axis(check, operator, to, axis, operators):
    x = data(2, 3, 4)
    node = make_node(operator, ["x"], ["y"], **({} if axis is None else {"axis": axis}))
    expect = along(operator, x, -1 if axis is None else axis)
    after = check(node, 13, to, {"x": x}, expect=[expect], rtol=1e-5)
    assert len(after.graph.node) == operators


@pytest.mark.parametrize("operator", KIN)
def test_one_axis_of_an_unknown_rank(check, refused, operator):
    x = data(2, 3, 4)
    node = make_node(operator, ["x"], ["y"], axis=1)
    refused(node, 13, 12, {"x": x}, "C207", shapes={"x": None})
    last = make_node(operator, ["x"], ["y"], axis=-1)
    check(last, 13, 11, {"x": x}, shapes={"x": None}, expect=[along(operator, x, -1)], rtol=1e-6)
    refused(last, 13, 10, {"x": x}, "C207", shapes={"x": None})
    refused(make_node(operator, ["x"], ["y"], axis=3), 13, 12, {"x": x}, "C103")


class PRelu(OpRun):
    """PRelu as before version 7, which accepts one slope or one for each channel."""

    op_domain = ""

    def _run(self, x, slope, consumed_inputs=None):
        if slope.size != 1:
            assert slope.shape == x.shape[1:2]
            slope = slope.reshape(-1, *(1,) * (x.ndim - 2))
        return (np.where(x < 0, slope * x, x),)


def early(model, feeds):
    return ReferenceEvaluator(model, new_ops=[PRelu]).run(None, feeds)


@pytest.mark.parametrize(
    ("shape", "slope", "added"),
    [
        ((2, 3, 4, 5), (3,), True),
        ((2, 3, 4), (3,), True),
        ((2, 3), (3,), False),
        ((2, 3, 4), (1,), False),
        ((5,), (1,), False),
        ((2, 3, 4), (), False),
        ((2, 1, 4), (1,), False),
        ((3,), (1, 1), True),
        ((), (1,), True),
        ((), (), False),
    ],
)
def test_slopes_by_channel(check, shape, slope, added):
    x, slopes = (
        np.asarray(data(*shape) - 3, np.float32),
        np.asarray((data(*slope) if slope else 0.25) - 0.5, np.float32),
    )
    channels = slopes.reshape(-1, *(1,) * (x.ndim - 2)) if slopes.size > 1 else slopes.reshape(())
    node = make_node("PRelu", ["x", "s"], ["y"])
    after = check(node, 6, 7, {"x": x, "s": slopes}, expect=[np.where(x < 0, channels * x, x)])
    assert (len(after.graph.node) == 2) == added


def test_slopes_of_unknown_shape(check, refused):
    x, slopes = data(2, 3, 4) - 3, data(3)
    node, feeds = make_node("PRelu", ["x", "s"], ["y"]), {"x": x, "s": slopes}
    expect = [np.where(x < 0, slopes[:, None] * x, x)]
    check(node, 6, 7, feeds, shapes={"x": [None] * 3, "s": [None]}, expect=expect)
    check(node, 6, 7, {"x": x, "s": data(1)}, shapes={"x": None}, expect=[np.where(x < 0, data(1) * x, x)])
    refused(node, 6, 7, feeds, "C207", shapes={"x": None})
    refused(node, 6, 7, feeds, "C207", shapes={"s": None})
    check(node, 6, 7, {"x": data(2, 3) - 1, "s": data(1, 1, 1)}, expect=[np.maximum(data(2, 3) - 1, 0)])
    refused(node, 6, 7, {**feeds, "s": data(3, 4)}, "C204")
    refused(node, 6, 7, {"x": data(3), "s": data(3)}, "C204")
    refused(node, 7, 6, feeds, "C207", shapes={"s": None})
    refused(node, 7, 6, {**feeds, "s": data(3, 1)}, "C207", shapes={"x": None})


@pytest.mark.parametrize(
    ("shape", "slope", "code"),
    [
        ((2, 3, 4), (3, 1), ""),
        ((2, 3, 4), (1, 3, 1), ""),
        ((2, 3), (3,), ""),
        ((2, 3), (1, 3), ""),
        ((2, 3, 4), (1, 1), ""),
        ((2, 3, 4), (1,), ""),
        ((2, 3, 4), (), ""),
        ((2, 3, 4), (4,), "C204"),
        ((2, 3, 4), (3, 4), "C204"),
        ((2, 3, 4), (2, 1, 1), "C204"),
        ((2, 3, 4), (2, 3, 1), "C204"),
        ((4,), (4,), "C204"),
        ((2, 1, 1, 3), (3,), "C204"),
    ],
)
def test_slopes_that_broadcast(check, refused, shape, slope, code):
    x, slopes = data(*shape) - 3, np.asarray(data(*slope), np.float32)
    node, feeds = make_node("PRelu", ["x", "s"], ["y"]), {"x": x, "s": slopes}
    if code:
        refused(node, 7, 6, feeds, code)
    else:
        check(node, 7, 6, feeds, expect=[np.where(x < 0, slopes * x, x)], judge=early)


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("to", [13, 11, 8])
def test_relu_of_integers(check, kind, to):
    limits = np.iinfo(kind)
    x = np.array([limits.min, -1, 0, 1, limits.max], kind)
    check(make_node("Relu", ["x"], ["y"]), 14, to, {"x": x}, expect=[np.maximum(x, 0)])


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("alpha", [1.0, 0.5, 2.0])
def test_celu(check, kind, alpha):
    x = np.array([-30, -2, -0.5, -0.0, 0.5, 3, 1000, math.inf, -math.inf, math.nan], kind)
    with np.errstate(all="ignore"):
        expect = np.maximum(0, x) + np.minimum(0, alpha * (np.exp(x / alpha) - 1))
    rtol = 1e-12 if kind is np.float64 else np.finfo(kind).eps * 4
    check(make_node("Celu", ["x"], ["y"], alpha=alpha), 28, 26, {"x": x}, expect=[expect.astype(kind)], rtol=rtol)


FUNCTIONS = {
    "Celu": (28, {"alpha": 2.0}),
    "Elu": (22, {"alpha": 0.5}),
    "HardSigmoid": (22, {}),
    "HardSwish": (22, {}),
    "LeakyRelu": (16, {"alpha": 0.5}),
    "Mish": (22, {}),
    "Selu": (22, {}),
    "Softplus": (22, {}),
    "Softsign": (22, {}),
    "ThresholdedRelu": (22, {"alpha": 0.75}),
}


@pytest.mark.parametrize("operator", FUNCTIONS)
def test_bfloat16_goes_through_float(check, operator):
    since, attributes = FUNCTIONS[operator]
    x = np.float32([-3, -1, -0.5, 0, 0.5, 1, 4])
    nodes = [
        make_node("Cast", ["x"], ["a"], to=TensorProto.BFLOAT16),
        make_node(operator, ["a"], ["b"], **attributes),
        make_node("Cast", ["b"], ["y"], to=TensorProto.FLOAT),
    ]
    wide = make_node(operator, ["x"], ["y"], **attributes)
    expect = ReferenceEvaluator(wide).run(None, {"x": x})
    operators = ["Cast", "Cast", operator, "Cast", "Cast"]
    check(nodes, since, since - 1, {"x": x}, expect=[np.float32(expect[0])], rtol=2**-8, operators=operators)


def test_bfloat16_slopes(check):
    x, slopes = np.float32([[-2, 1, -0.5]]), np.float32([0.5, 1, 3])
    casts = [make_node("Cast", [name], [f"{name}_"], to=TensorProto.BFLOAT16) for name in ("x", "s")]
    nodes = [*casts, make_node("PRelu", ["x_", "s_"], ["b"]), make_node("Cast", ["b"], ["y"], to=TensorProto.FLOAT)]
    check(nodes, 16, 15, {"x": x, "s": slopes}, expect=[np.where(x < 0, slopes * x, x)])


@pytest.mark.parametrize("operator", KIN)
def test_an_axis_behind_the_last(refused, operator):
    refused(make_node(operator, ["x"], ["y"]), 10, 11, {"x": data(4)}, "C103")


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_gelu_by_its_formula(check, own, approximate, dtype):
    x = np.array([-np.inf, -30, -4, -1, -1e-3, -0.0, 0, 1e-4, 0.5, 3, 40, np.inf, np.nan], dtype)
    made = make_node("Gelu", ["x"], ["y"], name="g", approximate=approximate)
    near = {np.float16: 2e-3, np.float32: 2e-6, np.float64: 1e-12}[dtype]
    expect = own(made, 20, {"x": x})
    # Runtimes and the evaluator of onnx have Erf in FLOAT alone.
    judge = {"judge": lambda model, feeds: opset.ReferenceEvaluator(model).run(None, feeds)}
    judge = judge if dtype is np.float64 and approximate == "none" else {}
    for to in (19, 13, 9) if approximate == "none" else (19, 13, 9, 7):
        check(made, 20, to, {"x": x}, expect=expect, rtol=near, atol=near / 8, **judge)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
def test_slopes_of_integers(check, dtype):
    x = np.array([[0, 1, 5, 2**30], [7, 3, 2, 1]], dtype)
    x = x if x.dtype.kind == "u" else np.concatenate((x, -x))
    slopes = {"s": np.array([3, 2, 1, 5], dtype)}
    expect = [np.where(x < 0, x * slopes["s"], x) if x.dtype.kind == "i" else x]
    for to in (8, 7):
        check(make_node("PRelu", ["x", "s"], ["y"]), 9, to, {"x": x}, slopes, expect=expect)


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.float64, np.int8, np.uint8, np.int32, np.int64])
def test_shrink_goes_below_9(check, kind):
    x = np.array([-3, -2, -1, 0, 1, 2, 3, 100], np.float64).astype(kind)
    if np.dtype(kind).kind == "f":
        x = np.concatenate([x, np.array([np.nan, np.inf, -np.inf, 0.25, -0.75, 0.5], kind)])
    for attributes in ({}, {"lambd": 1.5, "bias": 1.5}, {"lambd": 2.0, "bias": 1.0}, {"lambd": -1.0, "bias": 2.0}):
        if np.dtype(kind).kind == "u" and attributes.get("lambd", 0) < 0:
            continue
        for to in (8, 7):
            check(make_node("Shrink", ["x"], ["y"], **attributes), 9, to, {"x": x})


def test_shrink_of_large_integers_is_exact(check):
    x = np.array([2**53 + 1, -(2**62) - 1, 0], np.int64)
    expect = np.array([2**53, -(2**62), 0], np.int64)
    check(make_node("Shrink", ["x"], ["y"], bias=1.0), 9, 7, {"x": x}, expect=[expect])
    for bias in (1e20, math.inf):
        floats = np.float32([-2, 0, 2])
        check(make_node("Shrink", ["x"], ["y"], bias=bias), 9, 8, {"x": floats}, expect=[np.float32([bias, 0, -bias])])


def test_celu_of_double_is_as_precise_as_its_kernel(check):
    x = np.array([-1e-12, -1e-5, -0.1, -1, -40, -800, 3, 800, np.inf, -np.inf, np.nan, 0.0])
    for alpha in (1.0, 0.5, 2.0):
        expect = np.maximum(x, 0) + alpha * np.expm1(np.minimum(x, 0) / alpha)
        for to in (27, 12, 7):
            check(make_node("Celu", ["x"], ["y"], alpha=alpha), 28, to, {"x": x}, expect=[expect], rtol=1e-15)


REFUSED = [
    (9, 8, "C204", "which is no number of int32", "(int32[2] x) => (int32[] y) { y = Shrink<bias=1e19>(x) }"),
]


@pytest.mark.parametrize(("version", "to", "code", "why", "graph"), REFUSED)
def test_each_reason_to_refuse(reject, version, to, code, why, graph):
    reject(graph, version, to, code, why)
