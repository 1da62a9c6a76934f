"""Reshaping, padding, slicing, splitting, tiling across the versions at which they changed."""

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

node = helper.make_node
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
ROW = np.arange(10, dtype=np.float32)
EMPTY = np.zeros((0, 3), np.float32)


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


def test_squeeze_and_unsqueeze_count_axes_from_the_front(check, refused):
    narrow = X.reshape(2, 1, 12, 1)
    check(node("Squeeze", ["x"], ["y"], axes=[-1, 1]), 11, 10, {"x": narrow})
    check(node("Squeeze", ["x"], ["y"]), 11, 10, {"x": narrow}, operators=["Squeeze"])
    for axes in ([0, -1], [-1, -3], [1, 2]):
        check(node("Unsqueeze", ["x"], ["y"], axes=axes), 11, 10, {"x": X})
    refused(node("Unsqueeze", ["x"], ["y"], axes=[-1]), 11, 10, {"x": X}, "C207", **unranked("x"))
    refused(node("Unsqueeze", ["x"], ["y"], axes=[0, -5]), 11, 10, {"x": X}, "C103")


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


PADS = [1, 0, 2, 0, 2, 1]


def test_pads_were_called_paddings(check, converted, refused):
    expect = [np.pad(X, [(1, 0), (0, 2), (2, 1)])]
    after = check(node("Pad", ["x"], ["y"], paddings=PADS), 1, 2, {"x": X}, expect=expect)
    assert after.graph.node[0].attribute[0].name == "pads"
    back = node("Pad", ["x"], ["y"], pads=PADS, mode="edge", value=2.0)
    attributes = {a.name: a for a in converted(back, 2, 1, {"x": X}).graph.node[0].attribute}
    assert list(attributes["paddings"].ints) == PADS and attributes["mode"].s == b"edge" and "pads" not in attributes
    refused(node("Pad", ["x"], ["y"], pads=[0, 0, -1, 0, 0, 0]), 2, 1, {"x": X}, "C204")


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge"])
@pytest.mark.parametrize("value", [0.0, -0.0, 1.5, float("nan"), float("-inf")])
def test_pads_and_value_become_inputs(check, mode, value):
    for dtype in (np.float32, np.float64):
        after = check(node("Pad", ["x"], ["y"], pads=PADS, mode=mode, value=value), 10, 11, {"x": X.astype(dtype)})
        plain = mode != "constant" or str(value) == "0.0"
        assert len(after.graph.node[-1].input) == (2 if plain else 3)


def test_a_value_keeps_the_sign_of_its_zero(check):
    nodes = [node("Pad", ["x"], ["p"], pads=[1, 0], value=-0.0), node("Div", ["one", "p"], ["y"])]
    check(nodes, 10, 11, {"x": ROW + 1}, {"one": np.float32(1)}, expect=[np.append(np.float32(-np.inf), 1 / (ROW + 1))])


def test_half_precision_rounds_the_value(check):
    expect = [np.pad(X.astype(np.float16), [(1, 0), (0, 2), (2, 1)], constant_values=np.float16(0.1))]
    check(node("Pad", ["x"], ["y"], pads=PADS, value=0.1), 10, 11, {"x": X.astype(np.float16)}, expect=expect)


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int8, np.uint8, np.uint32])
def test_inputs_of_pad_become_attributes(check, mode, dtype):
    value = np.array(7, dtype)
    pads = [1, -1, 2, 0, 1, 1]
    x = (X * 100).astype(dtype)
    check(node("Pad", ["x", "p", "v"], ["y"], mode=mode), 11, 10, {"x": x}, {"p": ints(*pads), "v": value})
    check(node("Pad", ["x", "p"], ["y"], mode=mode), 11, 10, {"x": x}, {"p": ints(*pads)})


def test_extreme_integers_survive_padding_as_floats(check):
    x = np.array([[-(2**31), 2**31 - 1, 2**24 + 1, -1]], np.int32)
    check(node("Pad", ["x", "p"], ["y"]), 11, 10, {"x": x}, {"p": ints(0, 1, 0, 1)})


def test_what_pad_refuses_below_11(refused):
    pad = node("Pad", ["x", "p", "v"], ["y"])
    big = {"p": ints(0, 0, 1, 0, 0, 0), "v": np.array(2**24 + 1, np.int32)}
    refused(pad, 11, 10, {"x": X.astype(np.int32)}, "C204", big)
    refused(pad, 11, 10, {"x": X.astype(np.int64)}, "C202", {**big, "v": np.array(1, np.int64)})
    refused(pad, 11, 10, {"x": X.astype(np.float64)}, "C204", {**big, "v": np.array(0.1)})
    refused(node("Pad", ["x", "p"], ["y"]), 11, 10, {"x": X, "p": ints(*PADS)}, "C205")


def test_booleans_are_padded_as_bytes(check):
    x = X > 5
    for extra in ({}, {"v": np.array(True)}):
        pad = node("Pad", ["x", "p", *extra], ["y"])
        check(
            pad, 13, 12, {"x": x}, {"p": ints(*PADS), **extra}, operators=["Cast"] * (1 + len(extra)) + ["Pad", "Cast"]
        )


@pytest.mark.parametrize("axes", [[2], [-1, 0], [1, 0, 2], []])
@pytest.mark.parametrize("known", [True, False])
def test_pads_of_some_axes(check, axes, known):
    pads = ints(*range(1, 2 * len(axes) + 1))
    feeds, constants = {"x": X}, {"a": ints(*axes)}
    (constants if known else feeds)["p"] = pads
    check(node("Pad", ["x", "p", "", "a"], ["y"], mode="edge"), 18, 17, feeds, constants)


def test_axes_of_pad_have_to_be_known(refused):
    pad = node("Pad", ["x", "p", "", "a"], ["y"])
    refused(pad, 18, 17, {"x": X, "a": ints(1)}, "C205", {"p": ints(1, 1)})
    refused(pad, 18, 17, {"x": X}, "C207", {"p": ints(1, 1), "a": ints(1)}, **unranked("x"))
    for axes, pads in (([1, -2], [0] * 4), ([3], [0] * 2), ([0], [0] * 3)):
        refused(pad, 18, 17, {"x": X}, "C103", {"p": ints(*pads), "a": ints(*axes)})


@pytest.mark.parametrize("pads", [[1, 0, 2, 0, 3, 1], [5, 0, 9, 4, 7, 0], [0] * 6])
def test_wrapping_takes_elements_at_known_places(check, pads):
    expect = [np.pad(X, list(zip(pads[:3], pads[3:], strict=True)), mode="wrap")]
    check(node("Pad", ["x", "p"], ["y"], mode="wrap"), 19, 18, {"x": X}, {"p": ints(*pads)}, expect=expect)


def test_wrapping_of_some_axes_of_any_type(check, refused):
    text = np.array([["a", "b"], ["c", "d"]], object)
    wrap = node("Pad", ["x", "p", "", "a"], ["y"], mode="wrap")
    expect = [np.pad(text, [(0, 0), (1, 2)], mode="wrap")]
    check(wrap, 19, 17, {"x": text}, {"p": ints(1, 2), "a": ints(-1)}, expect=expect)
    refused(wrap, 19, 17, {"x": X}, "C207", {"p": ints(1, 2), "a": ints(-1)}, shapes={"x": [2, 3, "N"]})
    refused(wrap, 19, 17, {"x": X}, "C204", {"p": ints(-1, 2), "a": ints(-1)})
    refused(wrap, 19, 17, {"x": X[:, :, :0]}, "C204", {"p": ints(1, 2), "a": ints(-1)})


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
    shapes = {"x": [f"d{i}" for i in range(x.ndim)]}
    check(reshape, 14, 13, {"x": x, "s": ints(*shape)}, shapes=shapes)
    check(reshape, 14, 11, {"x": x, "s": ints(*shape)}, shapes={**shapes, "s": ["K"]})


def test_reshape_keeps_what_a_zero_always_meant(check, refused):
    check(node("Reshape", ["x", "s"], ["y"], allowzero=0), 14, 13, {"x": X}, {"s": ints(0, -1)}, operators=["Reshape"])
    known = node("Reshape", ["x", "s"], ["y"], allowzero=1)
    check(known, 14, 13, {"x": X, "s": ints(6, 4)}, operators=["Reshape"])
    refused(known, 14, 10, {"x": X, "s": ints(6, 4)}, "C201", shapes={"x": ["N", 3, 4]})
    refused(known, 14, 13, {"x": EMPTY}, "C103", {"s": ints(0, -1)})
    refused(node("Reshape", ["x"], ["y"]), 4, 5, {"x": X}, "C204")


@pytest.mark.parametrize(
    "bounds", [{}, {"start": 1}, {"end": -1}, {"start": -2, "end": 9}, {"start": 2, "end": 1}, {"start": -9}]
)
def test_a_part_of_a_shape(check, bounds):
    after = check(node("Shape", ["x"], ["y"], **bounds), 15, 13, {"x": X}, kinds={"y": 7})
    assert [n.op_type for n in after.graph.node if n.op_type != "Constant"] == ["Shape", "Slice"][: 1 + bool(bounds)]
    check(node("Shape", ["x"], ["y"], **bounds), 15, 9, {"x": X}, kinds={"y": 7})


BIG = 2**63 - 1
SLICES = [
    ([1, 0], [2, 3], [0, 1]), ([1], [BIG], [2]), ([0, 1], [-1, 1000], None), ([-3], [-1], [2]), ([5], [2], [1]),
    ([2**31 - 1], [2**31 - 1], [0]),
]  # fmt: skip


@pytest.mark.parametrize(("starts", "ends", "axes"), SLICES)
def test_bounds_of_slice_move(check, starts, ends, axes):
    stated = {} if axes is None else {"axes": axes}
    up = check(node("Slice", ["x"], ["y"], starts=starts, ends=ends, **stated), 9, 10, {"x": X})
    assert len(up.graph.node[-1].input) == 4
    constants = {"s": ints(*starts), "e": ints(*ends), **({} if axes is None else {"a": ints(*axes)})}
    down = check(node("Slice", ["x", *constants], ["y"]), 10, 9, {"x": X}, constants)
    assert {attribute.name for attribute in down.graph.node[0].attribute} == {"starts", "ends", *stated}


@pytest.mark.parametrize(
    ("start", "end", "step"),
    [(0, 10, 2), (1, BIG, 3), (-1, -(2**31), -1), (8, 2, -3), (9, -11, -1), (3, 3, -1), (100, 0, -4)],
)
def test_steps_take_known_places(check, start, end, step):
    constants = {"s": ints(start), "e": ints(end), "a": ints(0), "t": ints(step)}
    check(node("Slice", ["x", "s", "e", "a", "t"], ["y"]), 13, 9, {"x": ROW}, constants)


def test_steps_beside_plain_bounds(check, refused):
    constants = {"s": ints(1, 0, 3), "e": ints(2, 3, 0), "a": ints(0, 1, -1), "t": ints(1, 2, -1)}
    step = node("Slice", ["x", "s", "e", "a", "t"], ["y"])
    check(step, 13, 9, {"x": X}, constants, operators=["Slice", "Gather", "Gather"])
    check(step, 13, 9, {"x": X}, {**constants, "t": ints(1, 1, 1)}, operators=["Slice"])
    refused(step, 13, 9, {"x": X}, "C207", constants, shapes={"x": [2, 3, "N"]})
    refused(step, 13, 9, {"x": X}, "C204", {**constants, "s": ints(1, 0, -9)})
    refused(step, 13, 9, {"x": X}, "C103", {**constants, "t": ints(1, 0, 1)})
    refused(step, 13, 9, {"x": X}, "C103", {**constants, "t": ints(1, 1)})
    refused(step, 13, 9, {"x": X, "s": ints(1, 0, 3)}, "C205", {k: v for k, v in constants.items() if k != "s"})


def test_negative_axes_of_slice(check, refused):
    constants = {"s": np.array([1], np.int32), "e": np.array([3], np.int32), "a": np.array([-1], np.int32)}
    slicing = node("Slice", ["x", "s", "e", "a"], ["y"])
    after = check(slicing, 11, 10, {"x": X}, constants)
    assert len(after.graph.initializer) == 2 and after.graph.node[-1].op_type == "Slice"
    check(node("Slice", ["x", "s", "e"], ["y"]), 11, 10, {"x": ROW}, constants, operators=["Slice"])
    refused(slicing, 11, 10, {"x": X}, "C207", constants, **unranked("x"))
    refused(slicing, 11, 10, {"x": X, "a": ints(1)}, "C205", {"s": ints(1), "e": ints(3)})


def test_sizes_of_split_were_an_input_of_the_type_of_the_data(check, refused):
    halves = {"expect": [ROW[:3], ROW[3:]], "outputs": ["y", "z"]}
    split = node("Split", ["x", "s"], ["y", "z"], axis=0)
    check(split, 1, 2, {"x": ROW}, {"s": np.array([3, 7], np.float32)}, **halves)
    check(node("Split", ["x"], ["y", "z"], split=[3, 7]), 1, 2, {"x": ROW}, **halves)
    check(node("Split", ["x"], ["y", "z"], split=[3, 7], axis=0), 1, 2, {"x": ROW}, **halves)
    refused(node("Split", ["x"], ["y", "z"]), 1, 2, {"x": X}, "C204", outputs=["y", "z"])
    refused(split, 1, 2, {"x": ROW}, "C103", {"s": np.array([2.5, 7.5], np.float32)}, outputs=["y", "z"])
    refused(split, 1, 2, {"x": ROW, "s": np.array([3, 7], np.float32)}, "C205", outputs=["y", "z"])


def test_split_states_its_axis_below_2(converted, refused):
    after = converted(node("Split", ["x"], ["y", "z"]), 2, 1, {"x": ROW}, outputs=["y", "z"])
    assert after.graph.node[0].attribute[0].name == "axis"
    refused(node("Split", ["x"], ["y", "z"]), 2, 1, {"x": ROW.astype(np.int32)}, "C202", outputs=["y", "z"])


@pytest.mark.parametrize("parts", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("axis", [0, -1])
def test_parts_of_split(check, parts, axis):
    names = [f"y{i}" for i in range(parts)]
    split = node("Split", ["x"], names, num_outputs=parts, axis=axis)
    check(split, 18, 13, {"x": ROW}, outputs=names)
    check(split, 18, 9, {"x": ROW}, outputs=names)
    check(split, 18, 13, {"x": ROW}, outputs=names, shapes={"x": ["N"]})
    if parts in (1, 2, 5):
        check(node("Split", ["x"], names, axis=axis), 13, 18, {"x": ROW}, outputs=names)


def test_sizes_of_split_stay(check, refused):
    names = {"outputs": ["y", "z"]}
    split = node("Split", ["x", "s"], ["y", "z"])
    for version, to in ((18, 13), (13, 18), (18, 9)):
        check(split, version, to, {"x": ROW}, {"s": ints(4, 6)}, **names, operators=["Split"])
    check(split, 18, 13, {"x": ROW, "s": ints(4, 6)}, **names, operators=["Split"])
    equal = node("Split", ["x"], ["y", "z"], num_outputs=2)
    refused(equal, 18, 11, {"x": ROW}, "C207", shapes={"x": ["N"]}, **names)
    refused(node("Split", ["x"], ["y", "z"], num_outputs=3), 18, 13, {"x": ROW}, "C103", **names)
    refused(node("Split", ["x"], ["y", "z"]), 18, 13, {"x": ROW}, "C103", **names)
    four = [f"y{i}" for i in range(4)]
    impossible = node("Split", ["x"], four, num_outputs=4)
    refused(impossible, 18, 12, {"x": ROW[:5]}, "C103", outputs=four)
    branches = [
        helper.make_graph([made], "branch", [], [helper.make_tensor_value_info(made.output[0], 1, None)])
        for made in (impossible, node("Identity", ["x"], ["same"]))
    ]
    choice = node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1])
    check(choice, 18, 13, {"x": ROW[:5]}, {"c": np.array(False)})


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


@pytest.mark.parametrize("end", [2**31 - 1, 2**63 - 1])
def test_slicing_backwards_to_the_largest_end(refused, end):
    slicing = node("Slice", ["x", "s", "e", "a", "t"], ["y"])
    constants = {"s": ints(3), "e": ints(end), "a": ints(0), "t": ints(-1)}
    refused(slicing, 13, 9, {"x": ROW}, "C204", constants)


@pytest.mark.parametrize("inputs", [["x", "p", "v", ""], ["x", "p", "", ""]])
def test_last_inputs_left_empty_are_cut_off(check, inputs):
    after = check(node("Pad", inputs, ["y"]), 18, 13, {"x": X}, {"p": ints(1, 0, 0, 0, 2, 0), "v": np.float32(2)})
    assert len(after.graph.node[-1].input) <= 3
