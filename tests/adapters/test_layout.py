"""Concat, Tile, Shape and blocks of channels across the versions at which they changed."""

import numpy as np
import pytest
from onnx import helper

node = helper.make_node
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def ints(*values):
    return np.array(values, np.int64)


def unranked(*names):
    return {"shapes": dict.fromkeys(names)}


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_a_negative_axis_is_counted_from_the_front(check, axis):
    for op_type, before in (("Flatten", X), ("Concat", X)):
        inputs = ["x", "x"] if op_type == "Concat" else ["x"]
        after = check(node(op_type, inputs, ["y"], axis=axis), 11, 10, {"x": before})
        assert after.graph.node[0].attribute[0].i == axis % 3
    check(
        node("Split", ["x"], ["y", "z"], axis=axis, split=[1, X.shape[axis] - 1]), 11, 10, {"x": X}, outputs=["y", "z"]
    )


def test_any_input_of_concat_tells_the_rank(check, refused):
    concat = node("Concat", ["x", "z"], ["y"], axis=-1)
    feeds = {"x": X, "z": X}
    assert check(concat, 11, 10, feeds, **unranked("x")).graph.node[0].attribute[0].i == 2
    refused(concat, 11, 10, feeds, "C207", **unranked("x", "z"))
    refused(node("Concat", ["x"], ["y"], axis=-4), 11, 10, {"x": X}, "C103")


def test_an_absent_axis_of_concat_was_one(check, refused):
    concat = node("Concat", ["x", "x"], ["y"])
    after = check(concat, 3, 4, {"x": X}, expect=[np.concatenate([X, X], 1)])
    assert after.graph.node[0].attribute[0].i == 1
    check(node("Concat", ["x", "x"], ["y"], axis=2), 3, 4, {"x": X}, expect=[np.concatenate([X, X], 2)])


CHANNELS = np.random.default_rng(0).random((2, 12, 2, 3), np.float32)


@pytest.mark.parametrize("shape", [(2, 12, 2, 3), (0, 12, 2, 3), (1, 4, 0, 3)])
@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_blocks_in_either_order(check, mode, shape):
    x = np.random.default_rng(0).random(shape, np.float32)
    check(node("DepthToSpace", ["x"], ["y"], blocksize=2, mode=mode), 11, 10, {"x": x})


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_space_to_depth_in_either_order(check, mode):
    x = np.random.default_rng(0).random((2, 3, 4, 6), np.float32)
    order = {"DCR": (0, 3, 5, 1, 2, 4), "CRD": (0, 1, 3, 5, 2, 4)}[mode]
    blocks = x.reshape(2, 3, 2, 2, 3, 2).transpose(order)
    wanted = blocks.reshape(2, 12, 2, 3)
    check(node("SpaceToDepth", ["x"], ["y"], blocksize=2, mode=mode), 28, 20, {"x": x}, expect=[wanted])


def test_an_order_of_channels_needs_their_number(refused):
    crd = {"blocksize": 2, "mode": "CRD"}
    refused(node("DepthToSpace", ["x"], ["y"], **crd), 13, 10, {"x": CHANNELS}, "C207", shapes={"x": ["N", "C", 2, 3]})
    refused(node("DepthToSpace", ["x"], ["y"], **crd), 13, 10, {"x": CHANNELS[:, :6]}, "C103")
    refused(node("SpaceToDepth", ["x"], ["y"], **crd), 28, 27, {"x": CHANNELS}, "C207", **unranked("x"))


@pytest.mark.parametrize(("most", "fits"), [(12, True), (11, False)])
def test_an_order_of_channels_is_no_longer_than_a_constant(check, refused, monkeypatch, most, fits):
    monkeypatch.setattr("opset.adapters.families.layout.MAX_CONSTANT", most)
    blocks = node("DepthToSpace", ["x"], ["y"], blocksize=2, mode="CRD")
    if fits:
        check(blocks, 11, 10, {"x": CHANNELS})
    else:
        refused(blocks, 11, 10, {"x": CHANNELS}, "C204")


@pytest.mark.parametrize(
    "bounds", [{}, {"start": 1}, {"end": -1}, {"start": -2, "end": 9}, {"start": 2, "end": 1}, {"start": -9}]
)
def test_a_part_of_a_shape(check, bounds):
    part = node("Shape", ["x"], ["y"], **bounds)
    names = [f"d{axis}" for axis in range(X.ndim)]
    for shape, selected in ((None, "Slice"), (names, "Gather"), (X.shape, None)):
        after = check(part, 15, 13, {"x": X}, kinds={"y": 7}, shapes={"x": shape})
        made = [n.op_type for n in after.graph.node if n.op_type != "Constant"]
        constant = bounds and (selected is None or (selected, bounds) == ("Gather", {"start": 2, "end": 1}))
        assert made == ([] if constant else ["Shape", selected] if bounds else ["Shape"])
        check(part, 15, 9, {"x": X}, kinds={"y": 7}, shapes={"x": shape})


def test_a_shape_from_the_first_axis_on_is_whole(check):
    after = check(node("Shape", ["x"], ["y"], start=0), 15, 13, {"x": X}, kinds={"y": 7}, operators=["Shape"])
    assert not after.graph.node[0].attribute


def test_tile_took_one_axis(check, refused):
    tile = node("Tile", ["x", "n", "a"], ["y"])
    constants = {"n": np.array(3, np.float32), "a": np.array(1, np.float32)}
    check(tile, 5, 6, {"x": X}, constants, expect=[np.tile(X, (1, 3, 1))])
    refused(tile, 5, 6, {"x": X}, "C207", constants, **unranked("x"))
    refused(tile, 5, 6, {"x": X}, "C103", {**constants, "n": np.array(2.5, np.float32)})
    refused(tile, 5, 6, {"x": X}, "C103", {**constants, "a": np.array(3, np.float32)})


def test_tile_axis_by_axis(check, converted, refused):
    tile = node("Tile", ["x", "n"], ["y"])
    after = converted(tile, 6, 5, {"x": X}, {"n": ints(2, 1, 3)})
    assert [n.op_type for n in after.graph.node if n.op_type != "Constant"] == ["Tile", "Tile"]
    check(after.graph.node, 5, 6, {"x": X}, expect=[np.tile(X, (2, 1, 3))])
    assert converted(tile, 6, 5, {"x": X}, {"n": ints(1, 1, 1)}).graph.node[0].op_type == "Identity"
    refused(tile, 6, 5, {"x": X.astype(np.int32)}, "C202", {"n": ints(2, 1, 3)})
    refused(tile, 6, 5, {"x": X, "n": ints(2, 1, 3)}, "C205")


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int64, np.int8, np.bool_])
@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("to", [13, 10, 9, 8, 7])
@pytest.mark.parametrize("k", [None, 0, 1, -2, 7, -9])
@pytest.mark.parametrize("shapes", [None, {"x": ["a", "b", "c"]}], ids=["known", "open"])
def test_triangles_are_selected(check, kind, upper, to, k, shapes):
    x = np.random.default_rng(0).integers(-9, 9, (2, 3, 4)).astype(kind)
    if kind is np.float32:
        x[0, 1, 2], x[1, 2, 0], x[1, 0, 3] = np.nan, np.inf, -np.inf
    feeds = {"x": x} if k is None else {"x": x, "k": np.array(k)}
    inside = (np.triu if upper else np.tril)(np.ones(x.shape, bool), k or 0)
    expect = [np.where(inside, x, np.zeros((), kind))]
    check(node("Trilu", list(feeds), ["y"], upper=upper), 14, to, feeds, shapes=shapes, expect=expect)


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int64, np.int8, np.bool_])
@pytest.mark.parametrize("to", [13, 10, 9, 8, 7])
def test_triangles_of_nothing(check, kind, to):
    empty = np.zeros((2, 0, 3), kind)
    check(node("Trilu", ["x"], ["y"]), 14, to, {"x": empty}, shapes={"x": ["a", "b", "c"]}, expect=[empty])


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [((2, 1), (2, 3)), ((1,), (3, 0)), ((3, 1), (1,)), ((), (2, 2)), ((2, 0, 1), (2, 1, 4)), ((), ())],
)
def test_expand_by_tile(check, shape, wanted):
    x = np.random.default_rng(0).random(shape, np.float32)
    expand = node("Expand", ["x", "s"], ["y"])
    check(expand, 8, 7, {"x": x}, {"s": ints(*wanted)})
    open_last = [*shape[:-1], "c"][: len(shape)]
    unknown = ({"s": [None]}, {"s": None}, {"x": None}, {"x": None, "s": [None]})
    for shapes in ({"x": ["a", "b", "c"][: len(shape)]}, {"x": open_last}, *unknown):
        check(expand, 8, 7, {"x": x, "s": ints(*wanted)}, shapes=shapes)


@pytest.mark.parametrize("time", [0, 1])
@pytest.mark.parametrize("to", [9, 8, 7])
def test_sequences_are_gathered_backwards(check, time, to):
    backwards = node("ReverseSequence", ["x", "n"], ["y"], time_axis=time, batch_axis=1 - time)
    lengths = ints(2, 0, 1) if time == 0 else ints(3, 1)
    for shapes in (None, {"x": ["a", "b", "c"]}):
        for x in (X, X.astype(np.int64), X[:, :, 0]):
            check(backwards, 10, to, {"x": x, "n": lengths}, shapes=shapes and {"x": list("abc")[: x.ndim]})


REFUSED = [
    *((5, 6, "C103", "is no single whole number",
       f"(float[2] x) => (float[] y) <float{counts}, float a = {{0}}> {{ y = Tile(x, n, a) }}")
      for counts in ("[2] n = {1, 2}", "[0] n = {}", " n = {-1}", " n = {1.5}")),
    (11, 10, "C204", "channels is too long",
     '(float[1,65540,2,2] x) => (float[] y) { y = DepthToSpace<blocksize=2, mode="CRD">(x) }'),
    (6, 5, "C204", "the count 2049",
     "(float[1] x) => (float[] y) <int64[1] r = {2049}> { y = Tile(x, r) }"),
    (10, 9, "C103", "the batch and the time are the first two axes",
     "(float[2] x, int64[2] l) => (float[] y) { y = ReverseSequence(x, l) }"),
    (10, 9, "C103", "time_axis 1: batch_axis is 0 and time_axis is 1",
     "(float[2,3] x, int64[2] l) => (float[] y) { y = ReverseSequence<batch_axis=1, time_axis=1>(x, l) }"),
    (14, 13, "C103", "too few for a matrix",
     "(float[3] x) => (float[] y) { y = Trilu(x) }"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "to", "code", "why", "graph"), REFUSED)
def test_each_reason_to_refuse(reject, version, to, code, why, graph):
    reject(graph, version, to, code, why)
