"""Indices that count from the end, known before or during a run, and the operators around them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, numpy_helper, parser
from onnx.helper import make_node

import opset

DATA = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def none_negative(model, name):
    """Say that a constant holds no negative index."""
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    tensors |= {node.output[0]: node.attribute[0].t for node in model.graph.node if node.op_type == "Constant"}
    return (numpy_helper.to_array(tensors[name]) >= 0).all()


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("indices", [[[-1, 0], [1, -2]], -1, [], [0, 1]])
@pytest.mark.parametrize("to", [10, 8, 7])
@pytest.mark.parametrize("where", ["constant", "of a run"])
@pytest.mark.parametrize("shapes", [{}, {"x": [None, None, None]}, {"x": ["N", 3, 4]}])
def test_gather(check, kind, axis, indices, to, where, shapes):
    picks = np.array(indices, kind)
    expect = np.take(DATA, picks.astype(np.int64), 0 if axis is None else axis)
    node = make_node("Gather", ["x", "i"], ["y"], **({} if axis is None else {"axis": axis}))
    feeds, constants = ({"x": DATA}, {"i": picks}) if where == "constant" else ({"x": DATA, "i": picks}, {})
    after = check(node, 11, to, feeds, constants, shapes=shapes, expect=[expect])
    if where == "constant" and (picks.size == 0 or picks.min() >= 0):
        assert [node.op_type for node in after.graph.node] == ["Gather"]
    if where == "constant" and not shapes:
        assert none_negative(after, after.graph.node[-1].input[1])
        assert {node.op_type for node in after.graph.node} <= {"Gather", "Constant"}


def test_gather_of_an_unknown_rank(check, refused):
    feeds, shapes = {"x": DATA, "i": np.array([-1, 0])}, {"x": None}
    check(make_node("Gather", ["x", "i"], ["y"], axis=1), 11, 10, feeds, shapes=shapes, expect=[DATA[:, [-1, 0]]])
    refused(make_node("Gather", ["x", "i"], ["y"], axis=-1), 11, 10, feeds, "C207", shapes=shapes)
    refused(make_node("Gather", ["x", "i"], ["y"], axis=3), 11, 10, feeds, "C103")
    refused(make_node("Gather", ["x", "i"], ["y"], axis=-4), 11, 10, {"x": DATA}, "C103", {"i": np.array([-1])})


@settings(max_examples=30)
@given(st.lists(st.integers(-4, 3), max_size=6))
def test_gather_any_indices(check, picks):
    picks = np.array(picks, np.int64)
    node = make_node("Gather", ["x", "i"], ["y"], axis=2)
    check(node, 13, 9, {"x": DATA, "i": picks}, expect=[DATA[:, :, picks]])


@pytest.mark.parametrize("to", [11, 12, 17])
def test_scatter_becomes_scatter_elements(check, to):
    x, i, u = np.zeros((3, 3), np.float32), np.array([[1, 0, 2], [0, 2, 1]]), np.float32([[1, 2, 3], [4, 5, 6]])
    for axis in ({}, {"axis": 0}, {"axis": -2}):
        node = make_node("Scatter", ["x", "i", "u"], ["y"], name="s", **axis)
        expect = np.float32([[4, 2, 0], [1, 0, 6], [0, 5, 3]])
        after = check(node, 9, to, {"x": x, "i": i, "u": u}, expect=[expect], operators=["ScatterElements"])
        assert after.graph.node[0].name == "s"


def test_a_withdrawn_scatter_goes_down(check):
    x, u = np.zeros((2, 3), np.float32), np.float32([[1, 2]])
    expect = np.float32([[0, 2, 1], [0, 0, 0]])
    node = make_node("Scatter", ["x", "i", "u"], ["y"], axis=1)
    indices = np.array([[-1, 1]])
    after = check(node, 11, 9, {"x": x, "u": u}, {"i": indices}, expect=[expect])
    assert {n.op_type for n in after.graph.node} == {"Constant", "Scatter"}
    check(node, 11, 10, {"x": x, "u": u, "i": indices.astype(np.int32)}, expect=[expect])


COMBINE = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


@pytest.mark.parametrize("operator", ["ScatterElements", "ScatterND"])
@pytest.mark.parametrize("reduction", COMBINE)
@pytest.mark.parametrize("to", [17, 15, 12, 11, 10, 9, 8, 7])
@pytest.mark.parametrize("kind", [np.float32, np.int64, np.float16, np.float64])
def test_reductions_of_scattering(check, operator, reduction, to, kind):
    x = np.array([[1, -2], [np.nan if kind is np.float32 else 3, 4], [5, 6]], kind)
    u = np.array([[3, 2], [7, -8], [2, 2], [9, 1]], kind)
    rows, expect = np.array([0, -1, 1, -3]), x.copy()
    COMBINE[reduction].at(expect, rows, u)
    i = np.stack([rows, rows], 1) if operator == "ScatterElements" else rows[:, None]
    node = make_node(operator, ["x", "i", "u"], ["y"], reduction=reduction)
    nothing = {"x": np.ones((3, 2), np.float32), "i": i[:0], "u": np.ones((0, 2), np.float32)}
    check(node, 18, to, nothing, shapes={"i": ["M", i.shape[1]]}, expect=[nothing["x"]])
    if kind is np.int64 and reduction in ("max", "min") and to < 9:
        return
    if kind is np.float16 and reduction in ("add", "mul") and to >= 16:
        return  # it stays, and onnxruntime has no kernel for it
    for shapes in (None, {"x": ["N", None], "i": ["M", i.shape[1]], "u": ["M", None]}):
        check(node, 18, to, {"x": x, "i": i, "u": u}, shapes=shapes, expect=[expect])


@pytest.mark.parametrize("operator", ["ScatterElements", "ScatterND"])
def test_reductions_that_stay_and_that_no_version_has(check, refused, operator):
    x, u = np.ones(4, np.float32), np.float32([5, 7])
    i = np.array([1, 3]) if operator == "ScatterElements" else np.array([[1], [3]])
    feeds = {"x": x, "i": i, "u": u}
    for reduction in ("none", "add", "mul"):
        node = make_node(operator, ["x", "i", "u"], ["y"], reduction=reduction)
        check(node, 18, 16, feeds, operators=[operator])
    for to in (17, 13):
        refused(make_node(operator, ["x", "i", "u"], ["y"], reduction="xor"), 18, to, feeds, "C103")
    refused(
        make_node(operator, ["x", "i", "u"], ["y"], reduction="max"),
        18,
        8,
        {"x": x.astype(int), "i": i, "u": u.astype(int)},
        "C202",
    )


DYNAMIC = {"x": ["a", "b", "c"], "i": ["d", "e", "f"]}
UNKNOWN = {"x": None, "i": None, "u": None}


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("to", [10, 9, 8, 7])
def test_elements_are_gathered_from_one_row(check, axis, to):
    rng = np.random.default_rng(7 + axis)
    shape = [2, 3, 4]
    shape[axis] = 5
    indices = rng.integers(-DATA.shape[axis], DATA.shape[axis], shape)
    node = make_node("GatherElements", ["x", "i"], ["y"], axis=axis)
    check(node, 13, to, {"x": DATA}, {"i": indices})
    empty = {"x": DATA[:0], "i": np.zeros((0, 2 if axis != -2 else 3, 1), np.int64)}
    for shapes in (DYNAMIC, UNKNOWN, {"i": None}):
        check(node, 11, to, {"x": DATA, "i": indices.astype(np.int32)}, shapes=shapes)
        check(node, 11, to, empty, shapes=shapes, expect=[np.zeros(empty["i"].shape, np.float32)])


@pytest.mark.parametrize("to", [10, 8])
def test_elements_are_written_where_no_rank_is_known(check, refused, to):
    feeds = {"x": DATA, "i": np.array([[[-1, 0]], [[2, 1]]]), "u": np.float32([[[5, 6]], [[7, 8]]])}
    nothing = {name: value[:0] for name, value in feeds.items()}
    for axis in (1, -1):
        node, expect = make_node("ScatterElements", ["x", "i", "u"], ["y"], axis=axis), DATA.copy()
        np.put_along_axis(expect[:, :, :2] if axis == 1 else expect[:, :1], feeds["i"], feeds["u"], axis)
        for shapes in (UNKNOWN, {"x": None}):
            check(node, 11, to, feeds, shapes=shapes, expect=[expect])
        check(node, 11, to, nothing, shapes=UNKNOWN, expect=[DATA[:0]])
    node = make_node("ScatterElements", ["x", "i", "u"], ["y"], axis=-(2**40))
    refused(node, 11, to, feeds, "C103", shapes=UNKNOWN)


@pytest.mark.parametrize("size", [65, 2**31])
def test_tuples_of_more_axes_than_tensors_have_are_refused(refused, size):
    feeds = {"x": DATA, "i": np.zeros((1, size if size < 100 else 3), np.int64), "u": DATA}
    shapes = {"x": None, "i": ["d", size], "u": None}
    for operator, inputs in (("GatherND", "xi"), ("ScatterND", "xiu")):
        node, given = make_node(operator, [*inputs], ["y"]), {name: feeds[name] for name in inputs}
        refused(node, 13, 10, given, "C204", shapes=shapes)


@pytest.mark.parametrize("to", [10, 9, 8, 7])
@pytest.mark.parametrize(
    ("shape", "depth"),
    [
        ((3, 4, 5), 1),
        ((3, 4, 5), 2),
        ((3, 4, 5), 3),
        ((2, 0, 3), 1),
        ((2, 3, 0), 2),
        ((0, 3, 4), 2),
        ((2, 0, 3), 2),
        ((0, 3, 0), 1),
        ((2, 3, 4, 2), 2),
    ],
)
def test_slices_at_tuples(check, shape, depth, to):
    rng = np.random.default_rng(depth)
    x, count = rng.random(shape, np.float32), 3 if all(shape[:depth]) else 0
    several = np.stack([rng.integers(-size, size, count) if size else np.zeros(0, int) for size in shape[:depth]], 1)
    node = make_node("GatherND", ["x", "i"], ["y"])
    open_ = [{"x": dims, "i": ["d", depth]} for dims in (["a", "b", *shape[2:-1], "c"], None)]
    for shapes in (None, *open_):
        after = check(node, 11, to, {"x": x, "i": several}, shapes=shapes, expect=[x[tuple(several.T)]])
        (y,) = opset.ReferenceEvaluator(after).run(None, {"x": x, "i": several})  # it divides nothing by 0
        np.testing.assert_array_equal(y, x[tuple(several.T)])
    once = np.stack(np.unravel_index(rng.permutation(int(np.prod(shape[:depth])))[:2], shape[:depth]), 1)
    feeds = {"x": x, "i": once, "u": rng.random((len(once), *shape[depth:]), np.float32)}
    node = make_node("ScatterND", ["x", "i", "u"], ["y"])
    for shapes in (None, *open_):
        check(node, 11, to, feeds, shapes=shapes)


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (2, 0, 3)])
def test_slices_at_no_tuples_of_an_empty_axis_with_others_that_are_open(check, shape):
    x, i = np.zeros((*shape, 4), np.float32), np.zeros((0, len(shape)), np.int64)
    shapes = {"x": [*shape, "n"], "i": ["d", len(shape)]}
    check(make_node("GatherND", ["x", "i"], ["y"]), 11, 10, {"x": x, "i": i}, shapes=shapes, expect=[x.reshape(0, 4)])


@pytest.mark.parametrize("to", [8, 7])
def test_coordinates_before_non_zero(check, to):
    x = np.float32([[0, np.nan, 0], [-1, 0, 2]])
    for shapes in (None, {"x": ["a", "b"]}):
        for each in (x, x[:, :0], x[1]):
            described = {"kinds": {"y": TensorProto.INT64}, "shapes": shapes and {"x": shapes["x"][: each.ndim]}}
            after = check(make_node("NonZero", ["x"], ["y"]), 9, to, {"x": each}, **described)
            assert each.ndim == 2 or after.graph.node[-1].op_type == "Unsqueeze"
        for axis in (None, 0, 1):
            node = make_node("Compress", ["x", "c"], ["y"], axis=axis)
            check(node, 9, to, {"x": x, "c": np.array([False, True])}, shapes=shapes)


def one_hot(indices, depth, axis, negative):
    """Return a one-hot tensor of 1 and 9 (on); negative indices count from the end, or give off values."""
    indices = np.asarray(indices).astype(np.int64)
    if negative:
        indices = np.where((indices < 0) & (indices >= -depth), indices + depth, indices)
    places = np.expand_dims(indices, -1) == np.arange(depth)
    return np.moveaxis(np.where(places, 9, 1), -1, axis).astype(np.float32)


VALUES = np.float32([1, 9])


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.int8, np.uint8, np.float32])
@pytest.mark.parametrize("indices", [[[0, 1], [2, 3]], [0, 2, 7, -1, -3, -4]])
@pytest.mark.parametrize("constant", [True, False])
def test_negative_indices_of_one_hot(check, kind, indices, constant):
    picks = np.array(indices)
    if kind is np.uint8:
        picks = np.abs(picks)
    picks = picks.astype(kind)
    feeds, constants = {"i": picks}, {"depth": np.array(3), "values": VALUES}
    if constant:
        feeds, constants = {}, {"i": picks, **constants}
    node = make_node("OneHot", ["i", "depth", "values"], ["y"])
    kinds = {"kinds": {"y": TensorProto.FLOAT}}
    # onnxruntime counts from the end at version 9 too, so that what comes out of either direction is judged.
    check(node, 9, 11, feeds, constants, expect=[one_hot(picks, 3, -1, False)], **kinds)
    check(node, 11, 9, feeds, constants, expect=[one_hot(picks, 3, -1, True)], **kinds)
    if kind is np.uint8 or (constant and picks.min() >= 0):
        check(node, 9, 11, feeds, constants, expect=[one_hot(picks, 3, -1, True)], operators=["OneHot"], **kinds)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_axis_of_one_hot(check, refused, axis):
    picks, constants = np.array([[0, -1], [2, 1]]), {"depth": np.array([3]), "values": VALUES}
    node = make_node("OneHot", ["i", "depth", "values"], ["y"], axis=axis)
    kinds = {"kinds": {"y": TensorProto.FLOAT}}
    expect = [one_hot(picks, 3, axis, True)]
    after = check(node, 11, 10, {"i": picks}, constants, expect=expect, **kinds)
    assert after.graph.node[-1].attribute[0].i >= -1
    if axis < -1:
        refused(node, 11, 10, {"i": picks}, "C207", constants, shapes={"i": None}, **kinds)
    else:
        check(node, 11, 10, {"i": picks}, constants, shapes={"i": None}, expect=expect, **kinds)


def test_depth_of_a_run(check):
    feeds = {"i": np.array([-1, 1, -3]), "depth": np.float32(2.0).reshape(1), "values": VALUES}
    node = make_node("OneHot", list(feeds), ["y"])
    check(node, 11, 9, feeds, expect=[one_hot(feeds["i"], 2, -1, True)], kinds={"y": TensorProto.FLOAT})


@pytest.mark.parametrize("version", [1, 8])
@pytest.mark.parametrize("to", [10, 11, 13])
def test_the_number_becomes_an_input_of_one_dimension(check, version, to):
    x = np.float32([[3, 1, 2, 3], [0, 5, 4, 5]])
    node = make_node("TopK", ["x"], ["y", "i"], k=2, axis=1)
    expect = [np.float32([[3, 3], [5, 5]]), np.array([[0, 3], [1, 3]])]
    outputs = {"outputs": ["y", "i"], "kinds": {"i": TensorProto.INT64}}
    after = check(node, version, to, {"x": x}, expect=expect, **outputs)
    (constant,) = (n for n in after.graph.node if n.op_type == "Constant")
    assert list(constant.attribute[0].t.dims) == [1]
    names = make_node("TopK", ["x", "k"], ["y", "i"], axis=1)
    check(names, to, 7, {"x": x}, {"k": np.array([2])}, expect=expect, operators=["TopK"], **outputs)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_number_of_a_run_is_gathered(check, refused, axis, count):
    outputs = {"outputs": ["y", "i"], "kinds": {"i": TensorProto.INT64}}
    for to in (9, 8, 7):
        for largest in (0, 1):
            node = make_node("TopK", ["x", "k"], ["y", "i"], axis=axis, largest=largest)
            check(node, 11, to, {"x": DATA, "k": np.array([count])}, **outputs)
    node = make_node("TopK", ["x", "k"], ["y", "i"], axis=axis)
    refused(node, 10, 9, {"x": DATA, "k": np.array([count])}, "C207", shapes={"x": [None, None, None]}, **outputs)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.float32, np.float64])
@pytest.mark.parametrize("largest", [0, 1, None])
@pytest.mark.parametrize("axis", [1, -1, -2, None])
def test_the_smallest_are_the_largest_negated(check, kind, largest, axis):
    limits = np.iinfo(kind) if np.issubdtype(kind, np.integer) else np.finfo(kind)
    x = np.array([[3, limits.min, 3, 0], [limits.max, 5, 5, limits.max]], kind)
    k = 1 if axis == -2 else 3
    order = np.argsort(x.astype(object) * (1 if largest == 0 else -1), -1 if axis is None else axis, kind="stable")
    order = np.take(order, range(k), -1 if axis is None else axis)
    expect = [np.take_along_axis(x, order, -1 if axis is None else axis), order]
    stated = {name: value for name, value in (("axis", axis), ("largest", largest)) if value is not None}
    node = make_node("TopK", ["x", "k"], ["y", "i"], sorted=1, **stated)
    outputs = {"outputs": ["y", "i"], "kinds": {"i": TensorProto.INT64}}
    check(node, 11, 10, {"x": x}, {"k": np.array([k])}, expect=expect, **outputs)
    check(node, 11, 9, {"x": x}, {"k": np.array([k])}, expect=expect, **outputs)


def test_the_sign_of_zero_comes_back(check):
    nodes = [
        make_node("TopK", ["x", "k"], ["t", "i"], largest=0, sorted=0),
        make_node("Reciprocal", ["t"], ["y"]),
    ]
    expect = [np.float32([-np.inf, np.inf])]
    check(nodes, 11, 9, {"x": np.float32([-0.0, 0.0, 1])}, {"k": np.array([2])}, expect=expect)


def test_top_of_unknown_ranks(refused):
    node = make_node("TopK", ["x", "k"], ["y", "i"], axis=-2)
    constants, outputs = {"k": np.array([1])}, {"outputs": ["y", "i"], "kinds": {"i": TensorProto.INT64}}
    refused(node, 11, 10, {"x": DATA}, "C207", constants, shapes={"x": None}, **outputs)
    node = make_node("TopK", ["x", "k"], ["y", "i"], axis=-4)
    refused(node, 11, 10, {"x": DATA}, "C103", constants, **outputs)


@pytest.mark.parametrize("axis", [0, 2, -1, -3, None])
def test_compress(check, axis):
    condition = np.array([False, True])
    node = make_node("Compress", ["x", "c"], ["y"], **({} if axis is None else {"axis": axis}))
    expect = np.compress(condition, DATA, axis)
    after = check(node, 11, 9, {"x": DATA, "c": condition}, expect=[expect])
    assert [a.i for a in after.graph.node[0].attribute] == ([] if axis is None else [axis % 3])


@pytest.mark.parametrize("shapes", [{}, {"x": [None] * 3, "i": [None] * 3}])
@pytest.mark.parametrize("batches", [0, 1, 2])
def test_gather_nd_in_batches(check, shapes, batches):
    i = np.array([[[1, -1], [0, 2], [1, 1]], [[0, 0], [-1, 2], [1, 0]]])
    data = DATA if batches == 2 else np.moveaxis(DATA, 1, 2).copy() if batches else np.arange(24.0).reshape(2, 4, 3)
    if batches == 2:
        i = i[..., :1]
    expect = gathered(data, i, batches)
    node = make_node("GatherND", ["x", "i"], ["y"], batch_dims=batches)
    check(node, 12, 11, {"x": data, "i": i}, shapes=shapes, expect=[expect])


def gathered(data, indices, batches):
    """Return what GatherND gives, by its definition."""
    lead = indices.shape[:-1]
    rows = [data[(*place[:batches], *indices[place])] for place in np.ndindex(lead)]
    return np.array(rows).reshape(*lead, *rows[0].shape)


def test_gather_nd_with_odd_batches(refused):
    feeds = {"x": DATA, "i": np.zeros((2, 1), np.int64)}
    for batches in (2, 3, -1):
        refused(make_node("GatherND", ["x", "i"], ["y"], batch_dims=batches), 12, 11, feeds, "C103")
    refused(make_node("GatherND", ["x", "i"], ["y"], batch_dims=1), 12, 11, feeds, "C207", shapes={"i": None})


BF = TensorProto.BFLOAT16


def test_bfloat16_goes_through_float(check):
    x = np.float32([3, 1, 2, 3])
    start, back = make_node("Cast", ["x"], ["a"], to=BF), make_node("Cast", ["b"], ["y"], to=TensorProto.FLOAT)
    top = make_node("TopK", ["a", "k"], ["b", "i"], largest=0)
    outputs = {"outputs": ["y", "i"], "kinds": {"i": TensorProto.INT64}}
    expect = [np.float32([1, 2]), np.array([1, 2])]
    check([start, top, back], 24, 23, {"x": x}, {"k": np.array([2])}, expect=expect, **outputs)
    compress = make_node("Compress", ["a", "c"], ["b"])
    check([start, compress, back], 28, 26, {"x": x}, {"c": np.array([True, False, True])}, expect=[x[[0, 2]]])
    unique = make_node("Unique", ["a"], ["b", "", "i"], sorted=1)
    expect = [np.float32([1, 2, 3]), np.array([2, 0, 1, 2])]
    check([start, unique, back], 28, 26, {"x": x}, expect=expect, **outputs)
    hot = make_node("OneHot", ["i", "depth", "a"], ["b"])
    feeds = {"x": VALUES, "i": np.array([1, -1])}
    check([start, hot, back], 28, 26, feeds, {"depth": np.array(3)}, expect=[one_hot([1, -1], 3, -1, True)])


def test_top_of_no_elements(check, refused):
    nothing = make_node("TopK", ["x", "k"], ["y", "i"])
    feeds, constants = {"x": DATA}, {"k": np.array([0], np.int64)}
    check(nothing, 11, 10, feeds, constants, outputs=["y", "i"])
    check(nothing, 10, 9, feeds, constants, outputs=["y", "i"])
    refused(nothing, 10, 9, {"x": DATA[..., :0]}, "C204", constants, outputs=["y", "i"])


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
@pytest.mark.parametrize("to", [8, 7])
def test_one_hot_by_comparison(check, axis, to):
    indices, values = np.array([[-4, 0, 2], [1, 3, -1]]), np.float32([1.5, np.nan])
    hot = make_node("OneHot", ["i", "d", "v"], ["y"], axis=axis)
    for feeds in (
        {"i": indices, "d": np.array(3), "v": values},
        {"i": indices[:0], "d": np.array([3]), "v": values},
    ):
        for shapes in (None, {"i": ["a", "b"]}):
            kinds = {"y": TensorProto.FLOAT}
            check(hot, 11, to, feeds, shapes=shapes, kinds=kinds)


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("to", [10, 9, 7])
def test_the_top_of_64_bits(check, kind, largest, to):
    info, outputs = np.iinfo(kind), {"outputs": ["y", "i"], "kinds": {"i": TensorProto.INT64}}
    x = np.array([[info.max, 3, info.max - 1], [3, info.min, 3], [info.max, 2**53, 2**53 + 1], [3, 3, 3]], kind)
    for axis in (0, 1, -1):
        node = make_node("TopK", ["x", "k"], ["y", "i"], axis=axis, largest=largest)
        order = np.argsort(~x if largest else x, axis, "stable")
        index = np.take(order, range(2), axis)
        expect = [np.take_along_axis(x, index, axis), index]
        check(node, 24, to, {"x": x}, {"k": np.array([2])}, expect=expect, **outputs)
    node = make_node("TopK", ["x", "k"], ["y", "i"], largest=largest)
    check(node, 24, to, {"x": x, "k": np.array([2])}, expect=expect, shapes={"x": ["N", 3]}, **outputs)
    empty = [np.zeros((0, 2), kind), np.zeros((0, 2), np.int64)]
    check(node, 24, to, {"x": x[:0], "k": np.array([2])}, expect=empty, shapes={"x": ["N", 3]}, **outputs)
    flat = x[:, 1]
    index = np.argsort(~flat if largest else flat, 0, "stable")[:3]
    check(node, 24, to, {"x": flat}, {"k": np.array([3])}, expect=[flat[index], index], **outputs)


def test_the_top_of_many_64_bits_is_refused(check, refused, monkeypatch):
    node = make_node("TopK", ["x", "k"], ["y", "i"])
    refused(node, 11, 10, {"x": np.zeros(2000, np.int64)}, "C204", {"k": np.array([2])}, outputs=["y", "i"])
    monkeypatch.setattr("opset.adapters.families.indexing.MAX_PAIRED", 3)
    outputs = {"outputs": ["y", "i"], "kinds": {"i": TensorProto.INT64}}
    check(node, 11, 10, {"x": np.array([5, 7, 6])}, {"k": np.array([2])}, expect=[[7, 6], [1, 2]], **outputs)
    refused(node, 11, 10, {"x": np.zeros(4, np.int64)}, "C204", {"k": np.array([2])}, outputs=["y", "i"])
    refused(node, 11, 10, {"x": np.zeros(3, np.int64)}, "C207", {"k": np.array([2])}, shapes={"x": ["N"]})


@pytest.mark.parametrize("in_order", [0, 1])
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64, np.int8])
def test_distinct_elements_before_11(check, kind, in_order):
    target, names, kinds = 7 + in_order, ["y", "f", "i", "n"], {"f": 7, "i": 7, "n": 7}
    x = np.array([[2, -1, 0], [2, -1, 0], [5, -0.0, 2], [2, -1, -3]]).astype(kind)
    if kind is np.int64:
        x = np.where(x > 1, x + 2**60, x - 2**59)
    for axis in (None, 1, -2):
        chosen = {} if axis is None else {"axis": axis}
        node = make_node("Unique", ["x"], names, sorted=in_order, **chosen)
        how = {} if kind is np.float32 and axis is None else {"judge": own}
        check(node, 11, target, {"x": x}, outputs=names, kinds=kinds, **how)
    check(make_node("Unique", ["x"], ["y", "", "i"], sorted=in_order), 11, target, {"x": x[:1]}, judge=own)


def own(model, feeds):
    """Runtimes have Unique of few types."""
    return opset.ReferenceEvaluator(model).run(None, feeds)


def test_distinct_elements_of_nan_and_of_what_is_not_known(check, refused):
    x = np.float32([np.nan, 1, -np.inf, np.nan, np.inf, 1])
    check(make_node("Unique", ["x"], ["y"]), 11, 9, {"x": x}, judge=own)
    unique = make_node("Unique", ["x"], ["y"])
    refused(unique, 11, 10, {"x": x}, "C207", shapes={"x": ["n"]})
    refused(unique, 11, 10, {"x": x[:0]}, "C204")
    for shape in ((3, 0), (0, 3)):
        refused(make_node("Unique", ["x"], ["y"], axis=0), 11, 10, {"x": np.zeros(shape, np.float32)}, "C204")
    refused(unique, 11, 10, {"x": np.zeros(5000, np.float32)}, "C204")
    refused(unique, 11, 10, {"x": np.array(["a"], object)}, "C202")


def test_compress_is_lowered_where_there_is_nonzero():
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["": 13]> g (float[2,3] x, bool[3] c) => (float[] y) '
        "{ y = Compress <axis=1> (x, c) }"
    )
    lowered = opset.lower(model, ["Compress"])
    assert "NonZero" in [node.op_type for node in lowered.graph.node]
    feeds = {"x": np.float32([[1, 2, 3], [4, 5, 6]]), "c": np.array([True, False, True])}
    np.testing.assert_array_equal(opset.ReferenceEvaluator(lowered).run(None, feeds)[0], feeds["x"][:, [0, 2]])


@pytest.mark.parametrize(("also", "counts"), [([], "NonZero"), (["ConstantOfShape"], "Loop"), (["NonZero"], "Loop")])
def test_classes_are_counted_by_what_is_left(also, counts):
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["": 9]> g (int64[2] x, int64 d, float[2] v) => (float[A, B] y) '
        "{ y = OneHot (x, d, v) }"
    )
    lowered = opset.lower(model, ["OneHot", *also])
    made = {node.op_type for node in lowered.graph.node}
    assert counts in made and not made & {*also}
    feeds = {"x": np.array([1, 0]), "d": np.array(3), "v": np.float32([5, 6])}
    assert opset.ReferenceEvaluator(lowered).run(None, feeds)[0].tolist() == [[5, 6, 5], [6, 5, 5]]


@pytest.mark.parametrize(
    ("operators", "sorts"), [(["ScatterElements"], True), (["ScatterElements", "ScatterND"], False)]
)
@pytest.mark.parametrize(("reduction", "expect"), [("none", [6, 2]), ("add", [12, 2]), ("max", [6, 2])])
def test_what_takes_the_place_of_scattering_is_what_is_left(operators, sorts, reduction, expect):
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["": 18]> g (float[2] x, int64[2] i, float[2] u) => (float[] y) '
        f'{{ y = ScatterElements <reduction = "{reduction}"> (x, i, u) }}'
    )
    lowered = opset.lower(model, operators)
    made = {node.op_type for node in lowered.graph.node}
    assert not made & {*operators} and ("TopK" in made) == (sorts and reduction != "none")
    feeds = {"x": np.float32([1, 2]), "i": np.array([0, 0]), "u": np.float32([5, 6])}
    assert opset.ReferenceEvaluator(lowered).run(None, feeds)[0].tolist() == expect


REFUSED = [
    (12, 11, "C103", "'batch_dims' is 2 for ranks 2 and 2",
     "(float[2,3] x, int64[2,1] i) => (float[] y) { z = Relu(x) j = Abs(i) y = GatherND<batch_dims=2>(z, j) }"),
    (16, 15, "C202", "elements of bool cannot",
     '(bool[3] x, int64[3] i) => (bool[] y) { y = ScatterElements<reduction="add">(x, i, x) }'),
    (9, 8, "C103", "axis 3 is out of range for rank 2",
     "(float[3] x, float[2] v) => (float[] y) <int64 d = {4}> { i = Relu(x) y = OneHot<axis=3>(i, d, v) }"),
    (11, 10, "C103", "the ranks 2 and 1 differ",
     "(float[2,3] x, int64[2] i) => (float[] y) { y = GatherElements(x, i) }"),
    (11, 10, "C204", "the index tuples are empty",
     "(float[2,3] x, int64[2,0] i) => (float[] y) { y = GatherND(x, i) }"),
    (11, 10, "C207", "the length of the index tuples",
     "(float[2,3] x, int64[n,m] i) => (float[] y) { y = GatherND(x, i) }"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "to", "code", "why", "graph"), REFUSED)
def test_each_reason_to_refuse(reject, version, to, code, why, graph):
    reject(graph, version, to, code, why)


@pytest.mark.parametrize(
    ("count", "operators"),
    [
        (65536, ["Less", "Add", "Where", "Mul", "Reshape", "Add", "Gather"]),
        (65537, ["Less", "Add", "Where", "Mul", "Reshape", "ConstantOfShape", "NonZero", "Squeeze", "Reshape", "Add",
                 "Gather"]),
    ],
)  # fmt: skip
def test_offsets_are_a_constant_as_long_as_there_are_few(count, operators):
    model = opset.parse_model(f"""<ir_version: 6, opset_import: ["": 11]>
        m (float[2, {count}] x, int64[2, {count}] i) => (float[2, {count}] y) {{
            y = GatherElements <axis = 0> (x, i) }}""")
    made = opset.convert(model, 10).graph.node
    assert [each.op_type for each in made if each.op_type != "Constant"] == operators
