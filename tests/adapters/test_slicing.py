"""Pad, Slice and Split across the versions at which they changed."""

import numpy as np
import pytest
from onnx import helper

node = helper.make_node
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
ROW = np.arange(10, dtype=np.float32)


def ints(*values):
    return np.array(values, np.int64)


def unranked(*names):
    return {"shapes": dict.fromkeys(names)}


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
    infinite = [np.pad(X.astype(np.float16), [(1, 0), (0, 2), (2, 1)], constant_values=np.inf)]
    check(node("Pad", ["x"], ["y"], pads=PADS, value=1e6), 10, 11, {"x": X.astype(np.float16)}, expect=infinite)


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


@pytest.mark.parametrize("to", [10, 9, 8, 7])
def test_pads_that_no_attribute_holds(check, refused, to):
    pad = node("Pad", ["x", "p", "v"], ["y"])
    pads = {"p": ints(0, 2, 1, -1, 0, 1)}
    wide, exact = X.astype(np.int64) + 2**60, X.astype(np.float64)
    check(pad, 11, to, {"x": X.astype(np.int32)}, {**pads, "v": np.array(2**24 + 1, np.int32)})
    check(pad, 11, to, {"x": wide}, {**pads, "v": np.array(1)})
    none = {"p": ints(0, 0, 0, 0, 0, 0), "v": np.array(1)}
    check(pad, 11, to, {"x": wide}, none, operators=["Reshape", "Identity"])
    check(pad, 11, to, {"x": exact}, {**pads, "v": np.array(0.1)})
    refused(pad, 11, to, {"x": X}, "C103", {**pads, "v": np.float32([1, 2])})


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


def numpy_pad(x, pads, mode):
    """Return the data cropped, then padded, by numpy."""
    rank = x.ndim
    x = x[
        tuple(slice(max(-a, 0), size + min(b, 0)) for a, b, size in zip(pads[:rank], pads[rank:], x.shape, strict=True))
    ]
    return np.pad(x, [(max(a, 0), max(b, 0)) for a, b in zip(pads[:rank], pads[rank:], strict=True)], mode=mode)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
@pytest.mark.parametrize(
    ("to", "shapes"),
    [*((to, None) for to in (18, 17, 10, 9, 7)), *((to, {"x": ["a", "b", "c"]}) for to in (17, 10, 8))],
)
@pytest.mark.parametrize("pads", [[0, 1, 2, 1, 0, 3], [0] * 6, [0, -1, 1, 0, 1, -1]], ids=["both", "none", "cropped"])
def test_computed_pads(check, mode, to, shapes, pads):
    pad, some = node("Pad", ["x", "p"], ["y"], mode=mode), node("Pad", ["x", "p", "", "a"], ["y"], mode=mode)
    if mode == "wrap":
        pads = [abs(each) for each in pads]
    check(pad, 19, to, {"x": X, "p": ints(*pads)}, shapes=shapes, expect=[numpy_pad(X, pads, mode)])
    check(pad, 19, to, {"x": X}, {"p": ints(*pads)}, shapes=shapes, expect=[numpy_pad(X, pads, mode)])
    expect = [numpy_pad(X, [pads[1], 0, pads[0], pads[3], 0, pads[2]], mode)]
    check(some, 19, to, {"x": X, "p": ints(*pads[:4]), "a": ints(-1, 0)}, shapes=shapes, expect=expect)


@pytest.mark.parametrize("to", [18, 17, 10, 9, 8, 7])
@pytest.mark.parametrize("shapes", [None, {"x": ["a", "b", "c"]}], ids=["known", "open"])
def test_computed_pads_of_nothing_and_of_other_types(check, to, shapes):
    pad = node("Pad", ["x", "p"], ["y"])
    check(pad, 19, to, {"x": X[:0], "p": ints(1, 0, 0, 1, 0, 0)}, shapes=shapes, expect=[np.zeros_like(X)])
    for kind in (np.int64, np.bool_):
        check(pad, 19, to, {"x": X.astype(kind), "p": ints(0, 1, 0, 0, 0, 1)}, shapes=shapes)


def test_axes_of_pad_have_to_be_known(refused):
    pad = node("Pad", ["x", "p", "", "a"], ["y"])
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
    expect = [np.pad(X, [(0, 0), (0, 0), (1, 2)], mode="wrap")]
    check(wrap, 19, 17, {"x": X}, {"p": ints(1, 2), "a": ints(-1)}, shapes={"x": [2, 3, "N"]}, expect=expect)
    refused(wrap, 19, 17, {"x": X}, "C204", {"p": ints(-1, 2), "a": ints(-1)})
    for pads in ((1, 2), (1, 0), (0, 2)):
        refused(wrap, 19, 17, {"x": X[:, :, :0]}, "C204", {"p": ints(*pads), "a": ints(-1)})


@pytest.mark.parametrize(("count", "operators"), [(2**16 - 3, ["Gather"]), (2**16 - 2, None)])
def test_places_to_wrap_are_a_constant_as_long_as_there_are_few(converted, count, operators):
    wrap = node("Pad", ["x", "p", "", "a"], ["y"], mode="wrap")
    after = converted(wrap, 19, 18, {"x": X}, {"p": ints(1, count), "a": ints(-3)}, shapes={"x": [2, 3, 4]})
    made = [each.op_type for each in after.graph.node if each.op_type != "Constant"]
    assert made == operators if operators else "Range" in made


BIG = 2**63 - 1
SLICES = [
    ([1, 0], [2, 3], [0, 1]),
    ([1], [BIG], [2]),
    ([0, 1], [-1, 1000], None),
    ([-3], [-1], [2]),
    ([5], [2], [1]),
    ([2**31 - 1], [2**31 - 1], [0]),
]


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
    check(step, 13, 9, {"x": X}, constants, shapes={"x": [2, 3, "N"]})
    refused(step, 13, 9, {"x": X}, "C207", {**constants, "e": ints(2, 3, BIG)}, shapes={"x": [2, 3, "N"]})
    for values in ({"s": -2}, {"e": 2**31 - 1}, {"t": 0}):
        given = {**constants, **{name: ints(*constants[name][:2], value) for name, value in values.items()}}
        refused(step, 13, 9, {"x": X}, "C207", given, shapes={"x": [2, 3, "N"]})
    for start, increment in ((-1, -1), (-2, 1), (-3, 2)):
        given = {
            **constants,
            "s": ints(1, 0, start),
            "t": ints(1, 2, increment),
            "e": ints(2, 3, BIG - (increment < 0)),
        }
        check(step, 13, 9, {"x": X}, given, shapes={"x": [2, 3, "N"]})
    refused(step, 13, 9, {"x": X}, "C204", {**constants, "s": ints(1, 0, -9)})
    refused(step, 13, 9, {"x": X}, "C103", {**constants, "t": ints(1, 0, 1)})
    refused(step, 13, 9, {"x": X}, "C103", {**constants, "t": ints(1, 1)})
    check(step, 13, 9, {"x": X, "s": ints(1, 0, 3)}, {k: v for k, v in constants.items() if k != "s"})


def test_negative_axes_of_slice(check, refused):
    constants = {"s": np.array([1], np.int32), "e": np.array([3], np.int32), "a": np.array([-1], np.int32)}
    slicing = node("Slice", ["x", "s", "e", "a"], ["y"])
    after = check(slicing, 11, 10, {"x": X}, constants)
    assert len(after.graph.initializer) == 2 and after.graph.node[-1].op_type == "Slice"
    check(node("Slice", ["x", "s", "e"], ["y"]), 11, 10, {"x": ROW}, constants, operators=["Slice"])
    refused(slicing, 11, 10, {"x": X}, "C207", constants, **unranked("x"))
    check(slicing, 11, 10, {"x": X, "a": ints(-2)}, {"s": ints(1), "e": ints(3)})


def test_sizes_of_split_were_an_input_of_the_type_of_the_data(check, refused):
    halves = {"expect": [ROW[:3], ROW[3:]], "outputs": ["y", "z"]}
    split = node("Split", ["x", "s"], ["y", "z"], axis=0)
    check(split, 1, 2, {"x": ROW}, {"s": np.array([3, 7], np.float32)}, **halves)
    check(node("Split", ["x"], ["y", "z"], split=[3, 7]), 1, 2, {"x": ROW}, **halves)
    check(node("Split", ["x"], ["y", "z"], split=[3, 7], axis=0), 1, 2, {"x": ROW}, **halves)
    parts = {"expect": [X[:, :1], X[:, 1:]], "outputs": ["y", "z"]}
    check(node("Split", ["x", "s"], ["y", "z"], axis=1), 1, 2, {"x": X}, {"s": np.array([1, 2], np.float32)}, **parts)
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
    after = check(split, 18, 13, {"x": ROW}, outputs=names, operators=["Split"])
    assert parts > 1 or len(after.graph.node[-1].input) == 1
    if parts != 4:  # the last of four parts of 9 elements would begin behind them
        check(split, 18, 13, {"x": ROW[:-1]}, outputs=names)
    check(split, 18, 9, {"x": ROW}, outputs=names, operators=["Split"])
    for to in (13, 10, 9, 7):
        check(split, 18, to, {"x": ROW}, outputs=names, shapes={"x": ["N"]})
    if axis == 0:
        check(split, 18, 9, {"x": ROW}, outputs=names, shapes={"x": None})
    if parts in (1, 2, 5):
        check(node("Split", ["x"], names, axis=axis), 13, 18, {"x": ROW}, outputs=names)


def test_sizes_of_split_stay(check, refused):
    names = {"outputs": ["y", "z"]}
    split = node("Split", ["x", "s"], ["y", "z"])
    for version, to in ((18, 13), (13, 18), (18, 9)):
        check(split, version, to, {"x": ROW}, {"s": ints(4, 6)}, **names, operators=["Split"])
    check(split, 18, 13, {"x": ROW, "s": ints(4, 6)}, **names, operators=["Split"])
    refused(node("Split", ["x"], ["y", "z"], num_outputs=3), 18, 13, {"x": ROW}, "C103", **names)
    four = [f"y{i}" for i in range(4)]
    impossible = node("Split", ["x"], four, num_outputs=4)
    branches = [
        helper.make_graph([made], "branch", [], [helper.make_tensor_value_info(made.output[0], 1, None)])
        for made in (impossible, node("Identity", ["x"], ["same"]))
    ]
    choice = node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1])
    for to in (13, 12):
        check(choice, 18, to, {"x": ROW[:5]}, {"c": np.array(False)})


@pytest.mark.parametrize("end", [2**31 - 1, 2**63 - 1])
def test_slicing_backwards_to_the_largest_end(refused, end):
    slicing = node("Slice", ["x", "s", "e", "a", "t"], ["y"])
    constants = {"s": ints(3), "e": ints(end), "a": ints(0), "t": ints(-1)}
    refused(slicing, 13, 9, {"x": ROW}, "C204", constants)


@pytest.mark.parametrize("inputs", [["x", "p", "v", ""], ["x", "p", "", ""]])
def test_last_inputs_left_empty_are_cut_off(check, inputs):
    after = check(node("Pad", inputs, ["y"]), 18, 13, {"x": X}, {"p": ints(1, 0, 0, 0, 2, 0), "v": np.float32(2)})
    assert len(after.graph.node[-1].input) <= 3


@pytest.mark.parametrize("computed", ["s", "se", "sea", "seat", "t"])
@pytest.mark.parametrize("to", [9, 8, 7])
@pytest.mark.parametrize("shapes", [None, {"x": ["a", "b", "c"]}], ids=["known", "open"])
@pytest.mark.parametrize("number", range(4))
def test_computed_bounds(check, computed, to, shapes, number):
    rng = np.random.default_rng(number)
    step = node("Slice", ["x", "s", "e", "a", "t"], ["y"])
    count = (1, 3, 2, 3)[number]
    bounds = {"s": rng.integers(-6, 6, count), "e": rng.integers(-6, 6, count)}
    bounds["a"] = rng.permutation(3)[:count] - 3 * rng.integers(0, 2, count)
    bounds["t"] = rng.choice([1, 2, 3, -1, -2], count) if number % 2 else np.ones(count, np.int64)
    if not number % 2:
        bounds["s"][0], bounds["e"][0] = -(2**62), BIG
    kind = np.int32 if number == 3 else np.int64
    feeds = {"x": X} | {name: bounds.pop(name).astype(kind) for name in computed}
    check(step, 13, to, feeds, {name: value.astype(kind) for name, value in bounds.items()}, shapes=shapes)


@pytest.mark.parametrize("to", [9, 8, 7])
@pytest.mark.parametrize("shapes", [None, {"x": ["a", "b", "c"]}], ids=["known", "open"])
def test_computed_bounds_of_nothing(check, to, shapes):
    step = node("Slice", ["x", "s", "e", "a", "t"], ["y"])
    empty = {"x": X[:0], "s": ints(-1), "e": ints(-5), "t": ints(-1)}
    check(step, 13, to, empty, {"a": ints(0)}, shapes=shapes)
    bounds = {"s": ints(0), "e": ints(-9), "a": ints(0), "t": ints(-1)}
    check(step, 13, to, {"x": X[:0]}, bounds, shapes=shapes)
    check(step, 13, to, {"x": X}, bounds | {"s": ints(-9), "e": ints(BIG), "t": ints(2)}, shapes=shapes)


@pytest.mark.parametrize("to", [9, 8, 7])
@pytest.mark.parametrize("steps", [False, True])
def test_bounds_of_which_the_number_is_not_known(check, steps, to):
    feeds = {"x": X, "s": ints(1, -2, 3), "e": ints(-1, BIG, -4), "t": ints(1, 1, -1)}
    for count in range(4):
        given = {name: value[:count] if name != "x" else X for name, value in feeds.items()}
        made = node("Slice", ["x", "s", "e", "", "t"] if steps else ["x", "s", "e"], ["y"])
        if not steps:
            del given["t"]
        check(made, 13, to, given, shapes={"s": ["k"], "e": ["k"], "t": ["k"]})


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("to", [12, 11, 9, 8, 7])
def test_computed_sizes_of_parts(check, axis, to):
    split = node("Split", ["x", "s"], ["y", "z", "w"], axis=axis)
    for shapes in (None, {"x": ["a", "b", "c"]}):
        sizes = ints(1, 0, X.shape[axis] - 1)
        check(split, 13, to, {"x": X, "s": sizes}, outputs=["y", "z", "w"], shapes=shapes)


REFUSED = [
    (11, 10, "C103", "there are 3 pads for 1",
     "(float[4] x, float v) => (float[] y) <int64[3] p = {1, 1, 1}> { y = Pad(x, p, v) }"),
    (19, 18, "C103", "there are 3 pads for 1",
     '(float[4] x) => (float[] y) <int64[3] p = {1, 1, 1}> { y = Pad<mode="wrap">(x, p) }'),
    (10, 9, "C103", "a step is 0",
     "(float[4] x, int64[1] e) => (float[] y) <int64[1] s = {1}, int64[1] a = {0}, int64[1] t = {0}> { y = "
     "Slice(x, s, e, a, t) }"),
    (10, 9, "C204", "indices are too many",
     "(float[200000] x) => (float[] y) <int64[1] s = {0}, int64[1] e = {200000}, int64[1] a = {0}, int64[1] t = "
     "{2}> { y = Slice(x, s, e, a, t) }"),
    (10, 9, "C103", "2 axes are sliced, and the rank is 1",
     "(float[2] x, int64[2] s) => (float[] y) { y = Slice(x, s, s) }"),
    (1, 2, "C103", "sizes are given twice",
     "(float[2] x, float[2] s) => (float[] y, float[] z) { y, z = Split<axis=0, split=[1,1]>(x, s) }"),
    (18, 17, "C103", "axis", "(float[4] x) => (float[] y, float[] z) { y, z = Split<axis=3, num_outputs=2>(x) }"),
    (18, 17, "C103", "split is given and num_outputs is given",
     "(float[2] x, int64[2] s) => (float[] y, float[] z) { y, z = Split<num_outputs=2>(x, s) }"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "to", "code", "why", "graph"), REFUSED)
def test_each_reason_to_refuse(reject, version, to, code, why, graph):
    reject(graph, version, to, code, why)


SCALAR = np.array(1)


@pytest.mark.parametrize(
    ("operator", "since", "computed", "known", "expect"),
    [
        ("Slice", 13, {"s": SCALAR, "e": np.array(2)}, {}, X[1:2]),
        ("Slice", 13, {"e": np.array(2)}, {"s": ints(0), "a": ints(2), "t": ints(1)}, X[:, :, :2]),
        ("Slice", 13, {"a": SCALAR, "t": np.array(2)}, {"s": ints(0), "e": ints(3)}, X[:, ::2]),
        ("Pad", 18, {"a": SCALAR}, {"p": ints(1, 2)}, np.pad(X, [(0, 0), (1, 2), (0, 0)])),
        ("Pad", 13, {"p": ints(1, 0, 0, 0, 2, 0)[None]}, {"v": np.float32(0)}, np.pad(X, [(1, 0), (0, 2), (0, 0)])),
        ("Split", 13, {"s": ints(1, 1)[None]}, {}, X[:1]),
    ],
)
def test_a_scalar_or_a_row_stands_for_a_vector(check, operator, since, computed, known, expect):
    given = {**computed, **known}
    inputs = [
        "x",
        *(
            name if name in given else ""
            for name in {"Slice": "seat", "Pad": "pva" if "a" in given else "pv", "Split": "s"}[operator]
        ),
    ]
    nodes = node(operator, inputs, ["y", "z"][: 1 + (operator == "Split")])
    check(nodes, since, 9, {"x": X, **computed}, known, expect=[expect])
