"""Pooling across the versions at which it changed."""

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

import opset

node = helper.make_node
RNG = np.random.default_rng(3)
IMAGE = RNG.random((1, 2, 7, 8), np.float32)
ROW = RNG.random((1, 1, 8), np.float32)
POOLS = {"AveragePool": 19, "LpPool": 18, "MaxPool": 12}
UNKNOWN = {"shapes": {"x": ["N", "C", "H", "W"]}}


@pytest.mark.parametrize("op_type", POOLS)
@pytest.mark.parametrize(
    "window",
    [
        {"kernel_shape": [3, 2]},
        {"kernel_shape": [3, 2], "strides": [2, 3], "pads": [1, 0, 1, 1]},
        {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
        {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1},
        {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1},
        {"kernel_shape": [1, 2], "strides": [3, 3], "auto_pad": "SAME_UPPER", "ceil_mode": 1},
        {"kernel_shape": [2, 2], "strides": [3, 3], "dilations": [3, 2], "ceil_mode": 1},
    ],
)
def test_windows_that_are_the_same_whatever_the_shape(check, op_type, window):
    old = POOLS[op_type]
    for version, to in ((old, 22), (22, old)):
        check(node(op_type, ["x"], ["y"], **window), version, to, {"x": IMAGE}, **UNKNOWN, operators=[op_type])


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("op_type", ["AveragePool", "MaxPool"])
def test_padding_that_keeps_sizes_needs_no_rounding_up(check, op_type, auto_pad):
    pool = node(op_type, ["x"], ["y"], kernel_shape=[2, 3], strides=[2, 2], auto_pad=auto_pad, ceil_mode=1)
    after = check(pool, 10, 9, {"x": IMAGE}, **UNKNOWN, operators=[op_type])
    assert sorted(a.name for a in after.graph.node[0].attribute) == ["auto_pad", "kernel_shape", "strides"]


def test_windows_in_steps_of_one_need_no_rounding_up(converted):
    pool = node("AveragePool", ["x"], ["y"], kernel_shape=[2], strides=[1], pads=[0, 2], ceil_mode=1)
    after = converted(pool, 10, 9, {"x": ROW}, shapes={"x": [1, 1, "L"]})
    assert {a.name: [*a.ints] for a in after.graph.node[0].attribute} == {
        "kernel_shape": [2],
        "strides": [1],
        "pads": [0, 2],
    }


# Of six elements in steps of three, a third window begins at the seventh, which is padding.
LATE = {"kernel_shape": [2], "strides": [3], "pads": [0, 1], "ceil_mode": 1}


@pytest.mark.parametrize("op_type", POOLS)
def test_a_last_window_in_the_padding(check, converted, refused, op_type):
    old, pool = POOLS[op_type], node(op_type, ["x"], ["y"], **LATE)
    for length, late in ((4, False), (5, True), (6, True), (7, False), (8, True)):
        x = ROW[:, :, :length]
        if not late:
            check(pool, 22, old, {"x": x})
            after = check(pool, old, 22, {"x": x})
            assert [a.i for a in after.graph.node[0].attribute if a.name == "ceil_mode"] == [1]
        else:
            refused(pool, old, 22, {"x": x}, "C204")
            after = check(pool, 22, old, {"x": x})
            assert [a.i for a in after.graph.node[0].attribute if a.name == "ceil_mode"] == [0]
    for version, to in ((old, 22), (22, old)):
        refused(pool, version, to, {"x": ROW}, "C207", shapes={"x": [1, 1, "L"]})


@pytest.mark.parametrize("op_type", POOLS)
@pytest.mark.parametrize("kernel, stride, pads, length", [(3, 2, (0, 0), 2), (5, 3, (1, 1), 1), (4, 5, (0, 0), 3)])
def test_a_larger_window_that_is_rounded_up(check, build, evaluate, op_type, kernel, stride, pads, length):
    x, old = ROW[:, :, :length], POOLS[op_type]
    pool = node(op_type, ["x"], ["y"], kernel_shape=[kernel], strides=[stride], pads=pads, ceil_mode=1)
    for version, to in ((old, 22), (22, old), (22, 26)):
        check(pool, version, to, {"x": x})
    if op_type == "MaxPool" and kernel >= stride + pads[1]:
        check(pool, 12, 8, {"x": x})
    for version in (old, 22):
        model = build(pool, version, {"x": x})
        assert opset.infer(model).shape("y") == (1, 1, 1)
        (wanted,), (found,) = evaluate(model, {"x": x}), opset.ReferenceEvaluator(model).run(None, {"x": x})
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_one_axis_that_ends_late_and_one_that_does_not(check, refused):
    mixed = {"kernel_shape": [2, 2], "strides": [3, 3], "pads": [0, 0, 1, 0], "ceil_mode": 1}
    refused(node("MaxPool", ["x"], ["y"], **mixed), 22, 12, {"x": IMAGE[:, :, :6, :7]}, "C204")
    check(node("MaxPool", ["x"], ["y"], **mixed), 22, 12, {"x": IMAGE[:, :, :6, :5]})
    wide = {**mixed, "kernel_shape": [2, 4]}
    refused(node("MaxPool", ["x"], ["y"], **wide), 12, 22, {"x": IMAGE[:, :, :6, :7]}, "C204")


def test_windows_that_do_not_fit(refused):
    for wrong in ({"strides": [0]}, {"strides": [1, 1]}, {"pads": [0]}, {"dilations": [1, 1]}):
        pool = node("MaxPool", ["x"], ["y"], **{**LATE, **wrong})
        refused(pool, 12, 22, {"x": ROW}, "C103")
    refused(node("MaxPool", ["x"], ["y"], **LATE), 12, 22, {"x": IMAGE}, "C103")


@pytest.mark.parametrize("op_type", ["AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LpPool", "MaxPool"])
def test_bfloat16_is_pooled_in_a_wider_type(check, refused, op_type):
    window = {} if op_type.startswith("Global") else {"kernel_shape": [2, 2]}
    nodes = [
        node("Cast", ["f"], ["x"], to=TensorProto.BFLOAT16),
        node(op_type, ["x"], ["z"], **window),
        node("Cast", ["z"], ["y"], to=TensorProto.FLOAT),
    ]
    rounded = IMAGE.astype(ml_dtypes.bfloat16).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(rounded, window.get("kernel_shape", (7, 8)), (2, 3))
    reduced = {"Average": windows.mean((4, 5)), "Max": windows.max((4, 5)), "Lp": np.sqrt((windows**2).sum((4, 5)))}[
        op_type.removeprefix("Global").removesuffix("Pool")
    ]
    check(nodes, 22, 17, {"f": IMAGE}, expect=[reduced.astype(ml_dtypes.bfloat16).astype(np.float32)], rtol=2**-8)
    if op_type == "MaxPool":
        late = [nodes[0], node("MaxPool", ["x"], ["z"], **LATE), nodes[2]]
        refused(late, 22, 17, {"f": ROW[:, :, :6]}, "C202")


def test_bytes_are_pooled_in_a_wider_type(check):
    for dtype in (np.int8, np.uint8):
        x = RNG.integers(-100, 100, (1, 2, 6, 6)).astype(dtype)
        pool = node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2, 2], pads=[1, 1, 0, 0])
        check(pool, 12, 11, {"x": x}, outputs=["y", "i"], kinds={"i": TensorProto.INT64})


def test_the_order_of_a_norm_was_a_float(check, converted, refused):
    feeds = {"x": IMAGE}
    lp = {"kernel_shape": [2, 2], "p": 3.0}
    cube = (np.abs(IMAGE) ** 3).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(cube, (2, 2), (2, 3)).sum((4, 5)) ** (1 / 3)
    check(node("LpPool", ["x"], ["y"], **lp), 1, 2, feeds, expect=[windows.astype(np.float32)], rtol=1e-5)
    check(
        node("GlobalLpPool", ["x"], ["y"], p=3.0),
        1,
        2,
        feeds,
        expect=[cube.sum((2, 3), keepdims=True) ** np.float32(1 / 3)],
        rtol=1e-5,
    )
    for op_type, extra in (("LpPool", {"kernel_shape": [2, 2]}), ("GlobalLpPool", {})):
        for stated in ({}, {"p": 3}):
            (pool,) = converted(node(op_type, ["x"], ["y"], **extra, **stated), 2, 1, feeds).graph.node
            assert [a.f for a in pool.attribute if a.name == "p"] == [float(order) for order in stated.values()]
        for order, code in ((1.5, "C204"), (float("inf"), "C204"), (float("nan"), "C103"), (-1.0, "C103")):
            refused(node(op_type, ["x"], ["y"], p=order, **extra), 1, 2, feeds, code)
        refused(node(op_type, ["x"], ["y"], p=2**24 + 1, **extra), 2, 1, feeds, "C204")


def test_which_axes_a_window_of_version_1_has(refused):
    refused(node("LpPool", ["x"], ["y"]), 1, 2, {"x": IMAGE}, "C103")
    refused(node("LpPool", ["x"], ["y"], kernel_shape=[1, 1, 2, 2]), 1, 2, {"x": IMAGE}, "C204")
    refused(node("LpPool", ["x"], ["y"], kernel_shape=[2, 2]), 1, 2, {"x": IMAGE}, "C207", shapes={"x": None})
    refused(node("LpPool", ["x"], ["y"], kernel_shape=[2, 2]), 2, 1, {"x": IMAGE}, "C207", shapes={"x": None})


CEILED = [
    {"kernel_shape": [3, 3], "strides": [2, 2]},
    {"kernel_shape": [2, 2], "strides": [2, 2]},
    {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 0, 1, 1]},
    {"kernel_shape": [3, 2]},
    {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"},
]


@pytest.mark.parametrize("open_", [True, False])
@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 1, 0]])
@pytest.mark.parametrize("kernel, stride", [([3, 3], 2), ([2, 3], 2), ([3, 2], 1)])
@pytest.mark.parametrize("size", [5, 6, 7, 8])
def test_means_that_count_padding_and_nothing_after_it(check, refused, size, kernel, stride, pads, open_):
    x = RNG.random((2, 3, size, 9), np.float32) - np.float32(0.5)
    x[0, 0, 2, 2] = np.inf
    window = {"kernel_shape": kernel, "strides": [stride] * 2, "pads": pads, "count_include_pad": 1, "ceil_mode": 1}
    pool = node("AveragePool", ["x"], ["y"], **window)
    if open_ and kernel[0] <= pads[2] + stride - 1:
        refused(pool, 10, 9, {"x": x}, "C207", **UNKNOWN)
    elif not open_ and -(-(size + pads[0] + pads[2] - kernel[0]) // stride) * stride >= size + pads[0]:
        refused(pool, 10, 9, {"x": x}, "C204")
    else:
        for to in (9, 7):
            check(pool, 10, to, {"x": x}, rtol=1e-6, atol=1e-7, **(UNKNOWN if open_ else {}))


def test_a_window_that_fits_where_sizes_are_known(check):
    for op_type, version in (("MaxPool", 10), ("AveragePool", 10), ("LpPool", 18)):
        for window in ({"kernel_shape": [2], "strides": [3]}, {"kernel_shape": [2], "auto_pad": "VALID"}):
            pool = node(op_type, ["x"], ["y"], ceil_mode=1, **window)
            check(pool, version, version - 1, {"x": ROW[:, :, :5]}, operators=[op_type])


@pytest.mark.parametrize("window", CEILED)
@pytest.mark.parametrize(("op_type", "version", "to"), [("MaxPool", 10, 8), ("AveragePool", 10, 9), ("LpPool", 18, 17)])
def test_rounding_up_is_padding_the_end(check, op_type, version, to, window):
    for size in (5, 6, 7, 8):
        x = RNG.random((1, 2, size, 9), np.float32) - np.float32(0.5)
        for ceil_mode in (0, 1):
            pool = node(op_type, ["x"], ["y"], ceil_mode=ceil_mode, **window)
            check(pool, version, to, {"x": x}, **UNKNOWN, operators=[op_type])


def test_what_rounding_up_refuses(check, refused):
    refused(node("MaxPool", ["x"], ["y"], **LATE), 10, 9, {"x": ROW[:, :, :6]}, "C204")
    refused(node("MaxPool", ["x"], ["y"], **LATE), 10, 9, {"x": ROW}, "C207", shapes={"x": [1, 1, None]})
    valid = {"kernel_shape": [2], "strides": [3], "auto_pad": "VALID", "ceil_mode": 1}
    refused(node("MaxPool", ["x"], ["y"], **valid), 10, 9, {"x": ROW[:, :, :7]}, "C204")
    check(node("MaxPool", ["x"], ["y"], **{**valid, "ceil_mode": 0}), 10, 9, {"x": ROW})
    refused(node("MaxPool", ["x"], ["y"], **{**LATE, "pads": [0]}), 10, 9, {"x": ROW}, "C103")
    plain = check(node("MaxPool", ["x"], ["y"], kernel_shape=[2], dilations=[1]), 10, 9, {"x": ROW})
    assert [a.name for a in plain.graph.node[0].attribute] == ["kernel_shape"]
    both = node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2], strides=[2], ceil_mode=1)
    check(both, 10, 8, {"x": ROW[:, :, :7]}, outputs=["y", "i"], kinds={"i": TensorProto.INT64})


PADDED = [{"pads": pads, "ceil_mode": ceil} for pads in ([0, 0, 0, 0], [1, 1, 2, 0]) for ceil in (0, 1)]
PADDED += [{"auto_pad": "VALID"}]


@pytest.mark.parametrize("padding", PADDED, ids=str)
@pytest.mark.parametrize("counted", [0, 1])
def test_means_over_windows_with_gaps(check, padding, counted):
    gaps = node("AveragePool", ["x"], ["y"], kernel_shape=[3, 2], dilations=[2, 3], strides=[2, 1],
                count_include_pad=counted, **padding)  # fmt: skip
    x = np.random.default_rng(4).random((2, 3, 8, 9), np.float32)
    x[0, 0, 2, 2], x[1, 2, 5, 5] = np.nan, np.inf
    for to in (18, 9, 7):
        check(gaps, 19, to, {"x": x}, rtol=1e-6, atol=1e-7)
    check(gaps, 19, 18, {"x": x}, rtol=1e-6, atol=1e-7, shapes={"x": ["N", 3, 8, 9]})
    check(gaps, 19, 18, {"x": x[:, :, :5, :4]}, rtol=1e-6, atol=1e-7)  # one window, as large as the input


def test_means_over_windows_with_gaps_that_are_refused(refused):
    gaps = node("AveragePool", ["x"], ["y"], kernel_shape=[3, 2], dilations=[2, 3])
    x = np.zeros((2, 3, 8, 9), np.float32)
    refused(gaps, 19, 18, {"x": x}, "C207", shapes={"x": ["N", "C", 8, 9]})
    refused(gaps, 19, 18, {"x": x[:, :, :4]}, "C204")
    for automatic in ("SAME_UPPER", "SAME_LOWER"):
        same = node("AveragePool", ["x"], ["y"], kernel_shape=[3, 2], dilations=[2, 3], auto_pad=automatic)
        refused(same, 19, 18, {"x": x}, "C204")


@pytest.mark.parametrize(("power", "raised", "rooted"), [(1, [], []), (2, ["Mul"], ["Sqrt"]), (3, ["Pow"], ["Pow"])])
@pytest.mark.parametrize("kind", [np.float32, np.float16, np.float64])
def test_norms_of_windows_with_gaps(check, power, raised, rooted, kind):
    x = np.random.default_rng(3).standard_normal((2, 3, 7, 8)).astype(kind)
    how = {"kernel_shape": [2, 3], "dilations": [2, 2], "p": power}
    near = {"rtol": {"float16": 2e-3, "float32": 1e-5, "float64": 1e-12}[np.dtype(kind).name]}
    cast = ["Cast"] * (kind is np.float16)
    operators = [*cast, "Abs", *raised, "Conv", *rooted, *cast]
    for to in (17, 9, 7):
        pool = node("LpPool", ["x"], ["y"], **how, strides=[1, 2], pads=[1, 0, 0, 2])
        check(pool, 18, to, {"x": x}, **near, operators=operators)
    check(node("LpPool", ["x"], ["y"], **how), 18, 17, {"x": x}, **near, operators=operators)


@pytest.mark.parametrize("rounded", [{"ceil_mode": 1}, {"auto_pad": "VALID"}, {"auto_pad": "SAME_UPPER"}])
def test_norms_of_windows_with_gaps_whose_padding_is_not_stated(refused, rounded):
    gaps = node("LpPool", ["x"], ["y"], kernel_shape=[2, 3], dilations=[2, 2], **rounded)
    refused(gaps, 18, 17, {"x": IMAGE}, "C204")


@pytest.mark.parametrize(
    "window",
    [
        {},
        {"pads": [1, 1, 2, 1]},
        {"strides": [2, 3], "pads": [0, 1, 1, 0], "ceil_mode": 1},
        {"auto_pad": "VALID"},
    ],
)
def test_maxima_of_windows_with_gaps(check, window):
    gaps = node("MaxPool", ["x"], ["y"], kernel_shape=[3, 2], dilations=[2, 3], **window)
    image = (IMAGE - 0.5).copy()
    image[0, 0, 3, 4] = -np.inf
    for to in (9, 7):
        check(gaps, 10, to, {"x": image}, shapes={"x": ["N", "C", 7, 8]}, operators=["Gather", "Gather", "MaxPool"])


def run_kernels(model, feeds):
    return opset.ReferenceEvaluator(model).run(None, feeds)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize(
    "window",
    [
        {"kernel_shape": [2, 3]},
        {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [2, 0, 0, 1]},
        {"kernel_shape": [3, 2], "strides": [2, 1], "auto_pad": "SAME_UPPER"},
        {"kernel_shape": [2, 2], "strides": [1, 3], "auto_pad": "SAME_LOWER"},
        {"kernel_shape": [3, 2], "strides": [3, 2], "ceil_mode": 1},
        {"kernel_shape": [2, 2], "dilations": [2, 3], "pads": [1, 1, 2, 1]},
    ],
)
def test_where_the_maxima_are(check, own, order, window):
    pool = node("MaxPool", ["x"], ["y", "i"], storage_order=order, **window)
    both = {"outputs": ["y", "i"], "kinds": {"i": TensorProto.INT64}}
    # There are many equal maxima.
    x = RNG.integers(-3, 3, (2, 3, 7, 8)).astype(np.int8 if order else np.float32)
    expect = own(pool, 12, {"x": x}, {"y": helper.np_dtype_to_tensor_dtype(x.dtype), "i": TensorProto.INT64})
    for to in (9, 7) if "dilations" in window else (7,):
        check(pool, 12, to, {"x": x}, shapes={"x": ["N", "C", 7, 8]}, expect=expect, **both)
    x = np.where(RNG.random(x.shape) < 0.3, np.nan, np.where(RNG.random(x.shape) < 0.3, -np.inf, x)).astype(np.float32)
    expect = own(pool, 12, {"x": x}, {"i": TensorProto.INT64})
    check(pool, 12, 7, {"x": x}, expect=expect, judge=run_kernels, **both)


def test_where_the_maxima_of_other_ranks_are(check):
    both = {"outputs": ["y", "i"], "kinds": {"i": TensorProto.INT64}}
    check(node("MaxPool", ["x"], ["y", "i"], kernel_shape=[3]), 8, 7, {"x": ROW}, **both)
    cubes = RNG.random((2, 2, 4, 3, 5), np.float32)
    for order in (0, 1):
        pool = node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2, 2, 3], pads=[0, 1, 1, 1, 0, 1], storage_order=order)
        check(pool, 8, 7, {"x": cubes}, **both)
    check(node("MaxPool", ["x"], ["y"], kernel_shape=[2], storage_order=1), 8, 7, {"x": ROW}, operators=["MaxPool"])


def test_windows_with_gaps_that_are_not_known(refused):
    gaps = node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], dilations=[2, 2])
    refused(gaps, 10, 9, {"x": IMAGE}, "C207", **UNKNOWN)
    padded = node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], dilations=[2, 2], pads=[3, 0, 0, 0])
    refused(padded, 10, 9, {"x": IMAGE}, "C204")
    same = node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], dilations=[1, 2], auto_pad="SAME_UPPER")
    refused(same, 10, 9, {"x": IMAGE}, "C204")
    places = node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2, 2])
    both = {"outputs": ["y", "i"], "kinds": {"i": TensorProto.INT64}}
    refused(places, 8, 7, {"x": IMAGE}, "C207", **both, **UNKNOWN)


@pytest.mark.parametrize("to", [8, 7])
def test_unpooling_goes_below_9(check, refused, to):
    x = np.arange(1, 9, dtype=np.float32).reshape(1, 2, 2, 2)
    feeds = {"x": x, "i": np.array([[[[5, 7], [13, 15]], [[16, 19], [24, 30]]]])}
    how = {"kernel_shape": [2, 2], "strides": [2, 2]}
    check(node("MaxUnpool", ["x", "i"], ["y"], **how), 9, to, feeds)
    check(node("MaxUnpool", ["x", "i"], ["y"], **how), 9, to, feeds, shapes={"x": ["N", 2, "H", 2]})
    sized = node("MaxUnpool", ["x", "i", "s"], ["y"], **how)
    check(sized, 9, to, feeds, {"s": np.array([1, 2, 4, 4])})
    refused(sized, 9, to, feeds, "C204", {"s": np.array([1, 2, 5, 5])})


REFUSED = [
    (9, 8, "C103", "kernel [2, 2], strides [1, 1] and pads [0, 0, 0, 0] do not fit",
     "(float[1,1,4] x, int64[1,1,4] i) => (float[] y) { y = MaxUnpool<kernel_shape=[2,2]>(x, i) }"),
    *((version, version - 1, "C103", "kernel [2, 2], strides [1, 1], dilations [2, 2] and pads [0, 0, 0, 0] do not fit",
       f"(float[1,1,8] x) => (float[] y) {{ y = {name}<kernel_shape=[2,2], dilations=[2,2]>(x) }}")
      for version, name in ((19, "AveragePool"), (10, "MaxPool"))),
    (19, 18, "C103", "len(dilations) = 1",
     "(float[1,1,8,8] x) => (float[] y) { y = AveragePool<kernel_shape=[2,2], dilations=[2]>(x) }"),
    (19, 18, "C204", "only padding",
     "(float[1,1,4] x) => (float[] y) { y = AveragePool<kernel_shape=[2], dilations=[2], strides=[4], "
     "pads=[0,3], ceil_mode=1>(x) }"),
    *((22, 21, "C103", f"len({name}) = 1",
       f"(float[1,1,8,8] x) => (float[] y) {{ y = AveragePool<kernel_shape=[2,2], {name}=[2], ceil_mode=1>(x) }}")
      for name in ("strides", "dilations", "pads")),
    (10, 9, "C103", "len(dilations) = 1",
     "(float[1,1,8,8] x) => (float[] y) { y = MaxPool<kernel_shape=[2,2], dilations=[2]>(x) }"),
    (9, 8, "C103", "len(strides) = 1",
     "(float[1,1,2,2] x, int64[1,1,2,2] i) => (float[] y) { y = MaxUnpool<kernel_shape=[2,2], strides=[2]>(x, i) }"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "to", "code", "why", "graph"), REFUSED)
def test_each_reason_to_refuse(reject, version, to, code, why, graph):
    reject(graph, version, to, code, why)


@pytest.mark.parametrize(
    ("pads", "refused_sizes"),
    [([0, 0], [3, 6, 9]), ([1, 0], [2, 5, 8]), ([0, 1], [2, 3, 5, 6, 8, 9]), ([1, 1], [2, 4, 5, 7, 8])],
)
def test_a_last_window_that_begins_behind_the_data_is_told_by_sizes_and_pads(pads, refused_sizes):
    found = []
    for size in range(2, 10):
        text = f"""<ir_version: 8, opset_import: ["": 12]> g (float[1, 1, {size}] x) => (float[A, B, C] y) {{
            y = MaxPool <kernel_shape = [2], strides = [3], pads = {pads}, ceil_mode = 1> (x) }}"""
        found += [size] if opset.plan(opset.parse_model(text), 22).refusals else []
    assert found == refused_sizes


def test_a_window_over_one_dimension_is_refused():
    pool = node("AveragePool", ["x"], ["y"], kernel_shape=[2], dilations=[2])
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [8]) for name in "xy"]
    graph = helper.make_graph([pool], "g", values[:1], values[1:])
    with pytest.raises(opset.ConversionError, match="C103"):
        opset.convert(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)]), 18)
