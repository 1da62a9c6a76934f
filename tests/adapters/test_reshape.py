"""Reshape, Flatten, Squeeze and Unsqueeze across the versions at which they changed."""

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

node = helper.make_node
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
EMPTY = np.zeros((0, 3), np.float32)


@pytest.mark.parametrize("operator", ["Squeeze", "Unsqueeze"])
@pytest.mark.parametrize("axes", [[3, 1], [1, -1], [-3, -1]])
def test_axes_are_sorted_before_11(check, refused, operator, axes):
    narrow = X.reshape(2, 1, 12, 1)
    made = check(node(operator, ["x", "axes"], ["y"]), 13, 10, {"x": narrow}, {"axes": ints(*axes)})
    (attribute,) = made.graph.node[0].attribute
    assert list(attribute.ints) == sorted(attribute.ints) and min(attribute.ints) >= 0
    refused(node(operator, ["x", "axes"], ["y"]), 13, 10, {"x": narrow}, "C103", {"axes": ints(1, 1)})


def ints(*values):
    return np.array(values, np.int64)


def unranked(*names):
    return {"shapes": dict.fromkeys(names)}


def test_squeeze_and_unsqueeze_count_axes_from_the_front(check, refused):
    narrow = X.reshape(2, 1, 12, 1)
    check(node("Squeeze", ["x"], ["y"], axes=[-1, 1]), 11, 10, {"x": narrow})
    check(node("Squeeze", ["x"], ["y"]), 11, 10, {"x": narrow}, operators=["Squeeze"])
    for axes in ([0, -1], [-1, -3], [1, 2]):
        check(node("Unsqueeze", ["x"], ["y"], axes=axes), 11, 10, {"x": X})
    refused(node("Unsqueeze", ["x"], ["y"], axes=[-2]), 11, 10, {"x": X}, "C207", **unranked("x"))
    refused(node("Unsqueeze", ["x"], ["y"], axes=[0, -5]), 11, 10, {"x": X}, "C103")


@pytest.mark.parametrize("to", [10, 7])
@pytest.mark.parametrize("axes", [[-1], [-1, -2]])
@pytest.mark.parametrize("shape", [(2, 3), (0, 3), (3, 0), ()])
def test_the_last_axes_of_an_unknown_rank(check, shape, axes, to):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    check(node("Unsqueeze", ["x"], ["y"], axes=axes), 11, to, {"x": x}, **unranked("x"))
    longer = x.reshape(*shape, *[1] * len(axes))
    check(node("Squeeze", ["x"], ["y"], axes=axes), 11, to, {"x": longer}, **unranked("x"))


@pytest.mark.parametrize("to", [12, 7])
@pytest.mark.parametrize("open_", [True, False])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [((2, 3), [0]), ((2, 3), [2, 0]), ((2, 3), [-1, 1, -2]), ((), [0]), ((), [1, 0]), ((3, 0), [1]), ((0,), [0, -1])],
)
def test_axes_of_a_run_that_are_inserted(check, shape, axes, open_, to):
    feeds = {"x": np.arange(np.prod(shape), dtype=np.float32).reshape(shape), "a": ints(*axes)}
    shapes = {"x": [f"d{i}" for i in range(len(shape))]} if open_ else {}
    check(node("Unsqueeze", ["x", "a"], ["y"]), 13, to, feeds, shapes=shapes)


@pytest.mark.parametrize("to", [12, 7])
@pytest.mark.parametrize("open_", [True, False])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [((1, 3), [0]), ((1, 3, 1, 2), [-2, 0]), ((1, 1), [1, 0]), ((1,), [-1]), ((0, 1, 3), [1]), ((1, 0), [-2])],
)
def test_axes_of_a_run_that_are_dropped(check, shape, axes, open_, to):
    feeds = {"x": np.arange(np.prod(shape), dtype=np.float32).reshape(shape), "a": ints(*axes)}
    shapes = {"x": [f"d{i}" for i in range(len(shape))]} if open_ else {}
    check(node("Squeeze", ["x", "a"], ["y"]), 13, to, feeds, shapes=shapes)


def test_axes_of_a_run_whose_number_is_not_known(refused):
    for operator in ("Squeeze", "Unsqueeze"):
        made = node(operator, ["x", "a"], ["y"])
        refused(made, 13, 12, {"x": X[:1], "a": ints(0)}, "C205", shapes={"a": [None]})
        refused(made, 13, 12, {"x": X[:1], "a": ints(0)}, "C205", shapes={"x": None})


@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
@pytest.mark.parametrize("op_type", ["Flatten", "Squeeze", "Transpose", "Unsqueeze"])
def test_eight_bit_floats_pass_through_a_wider_type(check, op_type, dtype):
    inputs, extra = (["x", "a"], {"a": ints(0)}) if op_type in ("Squeeze", "Unsqueeze") else (["x"], {})
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes = [
        node("Cast", ["f"], ["x"], to=kind),
        node(op_type, inputs, ["z"]),
        node("Cast", ["z"], ["y"], to=TensorProto.FLOAT),
    ]
    x = np.array([[[0.5, -2.0, np.nan], [448.0, -0.0, 1e-3]]], np.float32)
    wanted = x.astype(dtype).astype(np.float32)
    shape = {"Flatten": (1, 6), "Squeeze": (2, 3), "Unsqueeze": (1, 1, 2, 3)}.get(op_type)
    expect = wanted.reshape(shape) if shape else wanted.T
    check(nodes, 21, 19, {"f": x}, extra, expect=[expect], kinds={"y": 1})


@pytest.mark.parametrize(
    ("x", "shape"),
    [(X, [4, 6]), (X, [-1, 2]), (X[:1, :1, :1], []), (EMPTY, [0, 3]), (EMPTY, [2, 0, 3]), (EMPTY, [0, 2, 0, 5, 0]),
     (EMPTY, [0]), (EMPTY, [7, 0])],
)  # fmt: skip
def test_a_zero_in_a_shape_that_means_itself(check, x, shape):
    reshape = node("Reshape", ["x", "s"], ["y"], allowzero=1)
    check(reshape, 14, 13, {"x": x}, {"s": ints(*shape)})
    check(reshape, 14, 8, {"x": x}, {"s": ints(*shape)})
    shapes = {"x": [size or "N" for size in x.shape]}
    check(reshape, 14, 12, {"x": x, "s": ints(*shape)}, shapes=shapes)
    shapes = {"x": [f"d{i}" for i in range(x.ndim)]}
    check(reshape, 14, 13, {"x": x, "s": ints(*shape)}, shapes=shapes)
    check(reshape, 14, 11, {"x": x, "s": ints(*shape)}, shapes={**shapes, "s": ["K"]})


@pytest.mark.parametrize("stated", [(0, 3), ("a", "b"), None])
def test_a_zero_in_a_shape_of_a_run_means_itself(check, stated):
    made = node("Reshape", ["x", "s"], ["y"], allowzero=1)
    feeds = {"x": np.zeros((0, 3), np.float32), "s": np.array([2, 0])}
    check(made, 14, 13, feeds, shapes={"x": stated}, expect=[np.zeros((2, 0), np.float32)])


def test_squeeze_of_all_axes_stays(check):
    for shape in ((1, 3), None):
        for version, to in ((11, 10), (13, 12)):
            squeeze, x = node("Squeeze", ["x"], ["y"]), np.float32([[1, 2, 3]])
            check(squeeze, version, to, {"x": x}, shapes={"x": shape}, operators=["Squeeze"])
    last = node("Squeeze", ["x"], ["y"], axes=[-1])
    check(last, 11, 10, {"x": np.zeros((2, 1), np.float32)}, operators=["Squeeze"])


def test_reshape_keeps_what_a_zero_always_meant(check, refused):
    check(node("Reshape", ["x", "s"], ["y"], allowzero=0), 14, 13, {"x": X}, {"s": ints(0, -1)}, operators=["Reshape"])
    known = node("Reshape", ["x", "s"], ["y"], allowzero=1)
    check(known, 14, 13, {"x": X, "s": ints(6, 4)}, operators=["Reshape"])
    check(known, 14, 10, {"x": X, "s": ints(6, 4)}, shapes={"x": ["N", 3, 4]})
    refused(known, 14, 13, {"x": EMPTY}, "C103", {"s": ints(0, -1)})
    refused(node("Reshape", ["x"], ["y"]), 4, 5, {"x": X}, "C204")


@pytest.mark.parametrize("to", [8, 7])
@pytest.mark.parametrize("open_", [(), (0,), (1, 2), (0, 1, 2), None])
@pytest.mark.parametrize("axis", [0, 1, 2, 3])
@pytest.mark.parametrize("shape", [(2, 3, 4), (0, 3, 4), (2, 0, 4), (2, 3, 0), (0, 3, 0)])
@pytest.mark.parametrize("kind", [np.bool_, np.int64])
def test_flatten_of_what_is_no_float(check, kind, shape, axis, open_, to):
    x = np.arange(np.prod(shape)).reshape(shape).astype(kind)
    sizes = None if open_ is None else [f"d{i}" if i in open_ else size for i, size in enumerate(shape)]
    expect = [x.reshape(int(np.prod(shape[:axis])), int(np.prod(shape[axis:])))]
    check(node("Flatten", ["x"], ["y"], axis=axis), 9, to, {"x": x}, shapes={"x": sizes}, expect=expect)


def test_flatten_of_integers_is_one_reshape_where_a_half_is_known(check):
    x = np.arange(24).reshape(2, 3, 4)
    for sizes in (["N", 3, 4], [2, "A", "B"]):
        check(node("Flatten", ["x"], ["y"]), 9, 7, {"x": x}, shapes={"x": sizes}, operators=["Reshape"])
    check(node("Flatten", ["x"], ["y"], axis=0), 9, 7, {"x": x}, shapes={"x": None}, operators=["Reshape"])
    check(node("Flatten", ["x"], ["y"]), 9, 8, {"x": X}, operators=["Flatten"])


REFUSED = [
    (9, 8, "C103", "axis 3 is out of", "(int32[2,3] x) => (int32[] y) { i = Abs(x) y = Flatten<axis=3>(i) }"),
]


@pytest.mark.parametrize(("version", "to", "code", "why", "graph"), REFUSED)
def test_each_reason_to_refuse(reject, version, to, code, why, graph):
    reject(graph, version, to, code, why)
