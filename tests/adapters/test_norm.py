"""Normalisation and dropout across the versions at which they changed."""

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import opset

node = helper.make_node
RNG = np.random.default_rng(1)
IMAGE = RNG.random((2, 3, 4, 5), np.float32)
BATCH = ["x", "s", "b", "m", "v"]
FIVE = ["y", "m2", "v2", "sm", "sv"]


def parameters(shape=(3,), dtype=np.float32):
    return {name: RNG.random(shape).astype(dtype) + dtype(0.5) for name in "sbmv"}


PER_CHANNEL = parameters()


def inference(x, s, b, m, v, epsilon=1e-5):
    shape = (1, -1) + (1,) * (x.ndim - 2) if x.ndim > 1 else (-1,)
    s, b, m, v = (value.reshape(shape) for value in (s, b, m, v))
    return (x - m) / np.sqrt(v + np.float32(epsilon)) * s + b


EXPECTED = [inference(IMAGE, **PER_CHANNEL)]
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


def attributes(model, op_type="BatchNormalization"):
    (found,) = (n for n in model.graph.node if n.op_type == op_type)
    return {a.name: helper.get_attribute_value(a) for a in found.attribute}


def test_inference_through_every_version(check, converted):
    batch = node("BatchNormalization", BATCH, ["y"], epsilon=1e-3)
    feeds = {"x": IMAGE}
    expect = [inference(IMAGE, **PER_CHANNEL, epsilon=1e-3)]
    for version, to in [(15, 14), (14, 9), (9, 7), (7, 9), (9, 14), (14, 15), (22, 7), (7, 22)]:
        after = check(batch, version, to, feeds, PER_CHANNEL, expect=expect, **CLOSE)
        assert attributes(after).keys() == {"epsilon"}
    oldest = converted(batch, 7, 1, feeds, PER_CHANNEL)
    assert attributes(oldest) == {"epsilon": pytest.approx(1e-3), "is_test": 1, "consumed_inputs": [0] * 5}
    check(oldest.graph.node, 1, 15, feeds, PER_CHANNEL, expect=expect, **CLOSE)


def test_a_single_output_is_inference_where_is_test_is_absent(check, refused):
    for stated in ({}, {"is_test": 1}):
        check(
            node("BatchNormalization", BATCH, ["y"], **stated),
            6,
            7,
            {"x": IMAGE},
            PER_CHANNEL,
            expect=EXPECTED,
            **CLOSE,
        )
    refused(node("BatchNormalization", BATCH, ["y"], is_test=0), 6, 7, {"x": IMAGE}, "C204", PER_CHANNEL)
    # Outputs of training that nothing reads go away.
    tested = node("BatchNormalization", BATCH, FIVE, is_test=1)
    after = check(tested, 6, 9, {"x": IMAGE}, PER_CHANNEL, expect=EXPECTED, **CLOSE)
    assert list(after.graph.node[0].output) == ["y"]
    refused(tested, 6, 7, {"x": IMAGE}, "C204", PER_CHANNEL, outputs=["y", "m2"])


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3), (2, 3, 4), (0, 3, 2)])
def test_statistics_of_each_place(check, shape):
    x = RNG.random(shape, np.float32)
    batch = node("BatchNormalization", BATCH, ["y"], spatial=0)
    check(batch, 7, 9, {"x": x}, parameters(shape[1:]), **CLOSE)


def test_spatial_stays_or_is_refused(check, converted, refused):
    for version, to in ((7, 9), (7, 8)):
        check(node("BatchNormalization", BATCH, ["y"], spatial=1), version, to, {"x": IMAGE}, PER_CHANNEL, **CLOSE)
    apart = node("BatchNormalization", BATCH, ["y"], spatial=0)
    refused(apart, 7, 6, {"x": IMAGE}, "C204", parameters(IMAGE.shape[1:]))
    refused(apart, 6, 7, {"x": IMAGE}, "C204", PER_CHANNEL)
    refused(apart, 6, 7, {"x": IMAGE}, "C207", PER_CHANNEL, shapes={"x": None})
    assert attributes(converted(apart, 7, 6, {"x": IMAGE[:, :, 0, 0]}, PER_CHANNEL))["spatial"] == 0
    refused(node("BatchNormalization", BATCH, FIVE, spatial=0), 7, 9, {"x": IMAGE}, "C204", parameters(IMAGE.shape[1:]))


def test_one_dimension_is_one_channel(check, refused):
    batch = node("BatchNormalization", BATCH, ["y"])
    x, one = RNG.random(6, np.float32), parameters((1,))
    check(batch, 9, 8, {"x": x}, one, expect=[inference(x, **one)], **CLOSE)
    refused(batch, 9, 8, {"x": x}, "C207", one, shapes={"x": None})


def test_version_1_takes_images(converted, refused):
    batch = node("BatchNormalization", BATCH, ["y"])
    refused(batch, 6, 5, {"x": IMAGE[0]}, "C204", PER_CHANNEL)
    refused(batch, 6, 5, {"x": IMAGE}, "C207", PER_CHANNEL, shapes={"x": None})
    trained = converted(node("BatchNormalization", BATCH, FIVE), 7, 5, {"x": IMAGE}, PER_CHANNEL)
    assert attributes(trained) == {"is_test": 0, "consumed_inputs": [0, 0, 0, 1, 1]}
    instance = node("InstanceNormalization", ["x", "s", "b"], ["y"])
    scale = {name: PER_CHANNEL[name] for name in "sb"}
    assert len(converted(instance, 6, 5, {"x": IMAGE}, scale).graph.node) == 1
    refused(instance, 6, 5, {"x": IMAGE[:, :, 0]}, "C204", scale)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (4, 3), (7,)])
@pytest.mark.parametrize("outputs", [["y", "m2", "v2"], ["y"], ["v2"]])
def test_training_is_taken_apart(check, dtype, shape, outputs):
    x = RNG.random(shape).astype(dtype)
    batch = node("BatchNormalization", BATCH, ["y", "m2", "v2"], training_mode=1, momentum=0.7, epsilon=1e-3)
    constants = parameters(shape[1:2] or (1,), dtype)
    after = check(batch, 15, 13, {"x": x}, constants, outputs=outputs, rtol=1e-4, atol=1e-5)
    assert "BatchNormalization" not in {n.op_type for n in after.graph.node}
    check(batch, 15, 14, {"x": x}, constants, outputs=outputs, rtol=1e-4, atol=1e-5, operators=["BatchNormalization"])


def test_training_of_an_unknown_rank_is_refused(refused):
    batch = node("BatchNormalization", BATCH, ["y", "m2", "v2"], training_mode=1)
    refused(batch, 14, 13, {"x": IMAGE}, "C207", PER_CHANNEL, shapes={"x": None})


@pytest.mark.parametrize("kinds", ["f2 f2 f2", "f2 f4 f4", "f4 f4 f8", "f4 f8 f8", "f2 f2 f4"])
@pytest.mark.parametrize("training", [0, 1])
def test_parameters_of_other_types(check, own, kinds, training):
    kind, of_scale, of_mean = kinds.split()
    x = (IMAGE * 2 - 1).astype(kind)
    constants = {name: PER_CHANNEL[name].astype(of_mean if name in "mv" else of_scale) for name in "sbmv"}
    outputs = ["y", "m2", "v2"] if training else ["y"]
    batch = node("BatchNormalization", BATCH, outputs, training_mode=training)
    types = {name: helper.np_dtype_to_tensor_dtype(np.dtype(of_mean if name != "y" else kind)) for name in outputs}
    expect = own(batch, 15, {"x": x, **constants}, kinds=types)
    near = {"rtol": 2e-3, "atol": 1e-3} if "f2" in kinds else {"rtol": 1e-5, "atol": 1e-6}
    for to in (14, 13, 9):
        check(batch, 15, to, {"x": x}, constants, outputs=outputs, kinds=types, expect=expect, **near)


def test_training_below_14(check, refused):
    batch = node("BatchNormalization", BATCH, FIVE)
    from_scratch = {"x": IMAGE}
    mean = IMAGE.mean((0, 2, 3), keepdims=True)
    spread = IMAGE.var((0, 2, 3), keepdims=True)
    s, b = (PER_CHANNEL[n].reshape(1, 3, 1, 1) for n in "sb")
    y = (IMAGE - mean) / np.sqrt(spread + np.float32(1e-5)) * s + b
    m2 = PER_CHANNEL["m"] * np.float32(0.9) + mean.ravel() * np.float32(0.1)
    after = check(batch, 9, 14, from_scratch, PER_CHANNEL, outputs=["y", "m2"], expect=[y, m2], rtol=1e-4, atol=1e-5)
    assert len(after.graph.node[0].output) == 3 and attributes(after) == {"training_mode": 1}
    for read in ("v2", "sm", "sv"):
        refused(batch, 9, 14, from_scratch, "C204", PER_CHANNEL, outputs=["y", read])


def test_dropout_of_inference_goes_through(check, refused):
    # Version 6 says that nothing is dropped, version 12 that this is so unless training is asked for.
    for attributes, version in (({"is_test": 1}, 6), ({"is_test": 1, "ratio": 0.3}, 1)):
        check(node("Dropout", ["x"], ["y", "k"], **attributes), version, 13, {"x": IMAGE}, expect=[IMAGE])
    refused(node("Dropout", ["x"], ["y"]), 6, 7, {"x": IMAGE}, "C204")
    refused(node("Dropout", ["x"], ["y", "k"], is_test=1), 6, 7, {"x": IMAGE}, "C204", outputs=["y", "k"])
    for ratio in ({}, {"ratio": 0.3}):
        after = check(node("Dropout", ["x"], ["y", "k"], **ratio), 10, 12, {"x": IMAGE}, outputs=["y"])
        assert len(after.graph.node[-1].input) == 1 + len(ratio)
    check(node("Dropout", ["x"], ["y"], ratio=0.3), 7, 22, {"x": IMAGE}, operators=["Dropout"])
    check(node("Dropout", ["x"], ["y"], ratio=0.3), 10, 7, {"x": IMAGE}, operators=["Dropout"])


def test_dropout_is_left_to_the_runtime_at_7_and_meant_for_inference(converted, refused):
    after = converted(node("Dropout", ["x"], ["y", "k"], ratio=0.3), 7, 6, {"x": IMAGE})
    assert attributes(after, "Dropout") == {"ratio": pytest.approx(0.3), "is_test": 1}
    assert list(after.graph.node[0].output) == ["y"]
    refused(node("Dropout", ["x"], ["y", "k"]), 7, 6, {"x": IMAGE}, "C204", outputs=["y", "k"])


def test_the_mask_became_boolean(check, refused):
    both = {"outputs": ["y", "k"], "kinds": {"k": TensorProto.BOOL}}
    mask = node("Dropout", ["x"], ["y", "k"])
    check(mask, 7, 10, {"x": IMAGE}, outputs=["y", "k"], operators=["Dropout", "Cast"])
    check(mask, 10, 7, {"x": IMAGE}, operators=["Dropout", "Cast"], **both)
    for version, to in ((7, 10), (10, 7), (10, 12)):
        after = check(mask, version, to, {"x": IMAGE}, operators=["Dropout"])
        assert list(after.graph.node[0].output) == ["y"]
    # In inference it was not defined before version 12.
    refused(mask, 10, 12, {"x": IMAGE}, "C204", **both)


@pytest.mark.parametrize("inputs", [["x"], ["x", "r"], ["x", "", "t"], ["x", "r", "t"], ["x", "zero", "on"]])
@pytest.mark.parametrize("to", [11, 9, 7])
def test_dropout_without_training_is_the_identity(check, inputs, to):
    constants = {"r": np.float32(0.4), "t": np.array(False), "zero": np.float32(0), "on": np.array(True)}
    dropout = node("Dropout", inputs, ["y", "k"], seed=3)
    check(dropout, 13, to, {"x": IMAGE}, constants, operators=["Identity"])
    if to > 8:
        check(dropout, 13, to, {"x": IMAGE}, constants, outputs=["y", "k"], kinds={"k": TensorProto.BOOL})


@pytest.mark.parametrize("given", [{"r": np.float32(0.4)}, {}, {"r": np.float64(0.75)}])
@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize("kind", [np.float32, np.float16])
@pytest.mark.parametrize("to", [11, 9, 7])
def test_dropout_in_training_draws_numbers(build, run, given, fed, kind, to):
    x = np.linspace(1, 2, 4000, dtype=kind)
    ratio = float(given.get("r", 0.5))
    values = {"t": np.array(True), **{name: np.asarray(value) for name, value in given.items()}}
    feeds, constants = ({"x": x, **values}, {}) if fed else ({"x": x}, values)
    made = node("Dropout", ["x", "r" if given else "", "t"], ["y", "k"], seed=3)
    kinds = {"k": TensorProto.BOOL}
    after = opset.convert(build(made, 12, feeds, constants, outputs=["y", "k"], kinds=kinds), to)
    y, kept = run(after, feeds)
    assert y.dtype == kind and abs(kept.mean() - (1 - ratio)) < 0.05
    np.testing.assert_allclose(y, np.where(kept, x.astype(np.float32) / (1 - ratio), 0), rtol=2e-3)
    if fed:
        y, kept = run(after, {**feeds, "t": np.array(False)})
        np.testing.assert_array_equal(y, x)
        assert kept.all()


GROUPED = RNG.random((2, 6, 3, 2), np.float32)


def grouped(x, scale, bias, groups, precision):
    rows = x.reshape(x.shape[0], groups, -1).astype(precision)
    normal = (rows - rows.mean(2, keepdims=True)) / np.sqrt(rows.var(2, keepdims=True) + precision(1e-5))
    along = (1, -1) + (1,) * (x.ndim - 2)
    return normal.reshape(x.shape).astype(x.dtype) * scale.reshape(along) + bias.reshape(along)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("shape", [None, ["N", "C", "H", "W"]])
def test_scales_of_groups_become_those_of_channels(check, dtype, shape):
    x = GROUPED.astype(dtype)
    constants = {n: RNG.random(3).astype(dtype) for n in "sb"}
    expect = [grouped(x, *(constants[n].repeat(2) for n in "sb"), 3, dtype)]
    shapes = {"shapes": {"x": shape}} if shape else {}
    near = {"rtol": 3e-2, "atol": 3e-2} if dtype is np.float16 else {"rtol": 1e-4, "atol": 1e-5}
    group = node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=3)
    after = check(group, 18, 21, {"x": x}, constants, expect=expect, **near, **shapes)
    stated = attributes(after, "GroupNormalization").get("stash_type", 1)
    assert stated == helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


@pytest.mark.parametrize(
    ("dtype", "stash"), [(np.float32, 1), (np.float64, 1), (np.float64, 11), (np.float16, 1), (np.float16, 10)]
)
@pytest.mark.parametrize("rank", [2, 3, 4])
def test_groups_are_normalised_as_channels(check, dtype, stash, rank):
    x = GROUPED.reshape(2, 6, 6)[:, :, :4].astype(dtype)
    x = {2: x[:, :, 0], 3: x, 4: x.reshape(2, 6, 2, 2)}[rank]
    constants = {n: RNG.random(6).astype(dtype) for n in "sb"}
    precision = {1: np.float32, 10: np.float16, 11: np.float64}[stash]
    group = node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=2, stash_type=stash)
    near = {"rtol": 3e-2, "atol": 3e-2} if np.float16 in (dtype, precision) else {"rtol": 1e-4, "atol": 1e-5}
    for to in (20, 17, 9):
        check(
            group, 21, to, {"x": x}, constants, expect=[grouped(x, *(constants[n] for n in "sb"), 2, precision)], **near
        )


def test_what_groups_refuse(refused):
    scale = {n: np.ones(3, np.float32) for n in "sb"}
    group = node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=3)
    refused(group, 18, 21, {"x": GROUPED[:, :5]}, "C103", scale)
    for shape in ((6,), (6, 1)):
        refused(group, 18, 21, {"x": GROUPED}, "C103", {n: np.ones(shape, np.float32) for n in "sb"})
    refused(group, 21, 20, {"x": GROUPED}, "C207", scale, shapes={"x": None})
    stash = node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=3, stash_type=17)
    refused(stash, 21, 20, {"x": GROUPED}, "C204", scale)


def test_bfloat16_is_computed_in_a_wider_type(check):
    as_bfloat16 = [node("Cast", [f"{n}32"], [n], to=TensorProto.BFLOAT16) for n in "xsb"]
    instance = node("InstanceNormalization", ["x", "s", "b"], ["z"])
    back = node("Cast", ["z"], ["y"], to=TensorProto.FLOAT)
    feeds = {"x32": IMAGE, "s32": PER_CHANNEL["s"], "b32": PER_CHANNEL["b"]}
    x, s, b = (feeds[f"{n}32"].astype(ml_dtypes.bfloat16).astype(np.float32) for n in "xsb")
    normal = (x - x.mean((2, 3), keepdims=True)) / np.sqrt(x.var((2, 3), keepdims=True) + np.float32(1e-5))
    expect = [normal * s.reshape(1, 3, 1, 1) + b.reshape(1, 3, 1, 1)]
    check([*as_bfloat16, instance, back], 22, 17, feeds, expect=expect, rtol=1e-2, atol=1e-2)


def layer(axis=-1, outputs=("y",), **attributes):
    return node("LayerNormalization", ["x", "s", "b"], list(outputs), axis=axis, **attributes)


@pytest.mark.parametrize("axis", [0, 2, -1, -3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layer_normalization_by_its_formula(check, axis, dtype):
    x = (RNG.random((2, 3, 4, 5)) * 8 - 4).astype(dtype)
    weights = {name: RNG.random(x.shape[axis:]).astype(dtype) for name in "sb"}
    for to in (16, 13, 9, 7):
        check(layer(axis, epsilon=1e-3), 17, to, {"x": x}, weights, rtol=1e-5, atol=1e-6)


def test_statistics_of_layer_normalization(check):
    x = RNG.random((2, 3, 4), np.float32)
    weights = {name: RNG.random(4, np.float32) for name in "sb"}
    check(layer(-1, ["y", "m", "d"]), 17, 11, {"x": x}, weights, outputs=["y", "m", "d"], rtol=1e-5, atol=1e-6)


def test_layer_normalization_of_an_unknown_rank(check):
    x = RNG.random((2, 3, 4), np.float32)
    weights = {name: RNG.random(4, np.float32) for name in "sb"}
    check(layer(-1), 17, 11, {"x": x}, weights, shapes={"x": None}, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("shape", [None, ["N", "C", "H", "W"]])
def test_groups_with_their_own_scales(check, dtype, shape):
    x = GROUPED.astype(dtype)
    constants = {n: RNG.random(3).astype(dtype) for n in "sb"}
    expect = [grouped(x, *(constants[n].repeat(2) for n in "sb"), 3, dtype)]
    shapes = {"shapes": {"x": shape}} if shape else {}
    near = {"rtol": 3e-2, "atol": 3e-2} if dtype is np.float16 else {"rtol": 1e-4, "atol": 1e-5}
    group = node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=3)
    for to in (17, 9, 7):
        check(group, 18, to, {"x": x}, constants, expect=expect, **near, **shapes)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("stash", [1, 10])
def test_layer_normalization_in_float16_rounds_once(check, own, bias, stash):
    x = (RNG.random((2, 3, 40)) * 8 - 4).astype(np.float16)
    weights = {name: (RNG.random(40) * 3 - 1.5).astype(np.float16) for name in ("sb" if bias else "s")}
    made = node("LayerNormalization", ["x", *weights], ["y"])
    expect = own(made, 17, {"x": x, **weights})
    for to in (16, 9):
        check(made, 17, to, {"x": x}, weights, expect=expect, rtol=1e-3, atol=1e-6 if stash == 1 else 1e-2)


@pytest.mark.parametrize("axis", [0, 2, -1, -3])
@pytest.mark.parametrize(
    ("kinds", "stash"), [("f4f4", 1), ("f8f8", 11), ("f8f8", 1), ("f2f2", 1), ("f2f4", 1), ("f4f8", 1), ("f2f2", 10)]
)
def test_root_mean_square_by_its_formula(check, own, axis, kinds, stash):
    x = (RNG.random((2, 3, 4, 5)) * 8 - 4).astype(kinds[:2])
    weights = {"s": RNG.random(x.shape[axis:]).astype(kinds[2:])}
    made = node("RMSNormalization", ["x", "s"], ["y"], axis=axis, stash_type=stash, epsilon=1e-3)
    expect = own(made, 23, {"x": x, **weights})
    near = {"rtol": 1e-3 if stash == 1 else 2e-3, "atol": 1e-6} if "f2" in kinds else {"rtol": 1e-6, "atol": 1e-7}
    for to in (22, 17, 11, 7):
        kind = helper.np_dtype_to_tensor_dtype(weights["s"].dtype)
        check(made, 23, to, {"x": x}, weights, expect=expect, kinds={"y": kind}, **near)


def test_root_mean_square_of_an_unknown_rank(check):
    x, weights = RNG.random((2, 3, 4), np.float32), {"s": RNG.random(4, np.float32)}
    made = node("RMSNormalization", ["x", "s"], ["y"])
    check(made, 23, 11, {"x": x}, weights, shapes={"x": None}, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("op", ["LayerNormalization", "RMSNormalization"])
def test_normalisation_in_bfloat16(check, op):
    x32, s32 = (RNG.random((2, 3, 8), np.float32) * 4 - 2 for _ in range(2))
    s32 = s32[0, 0]
    casts = [node("Cast", [f"{n}32"], [n], to=TensorProto.BFLOAT16) for n in "xs"]
    back = node("Cast", ["z"], ["y"], to=TensorProto.FLOAT)
    x, s = (each.astype(ml_dtypes.bfloat16).astype(np.float32) for each in (x32, s32))
    centred = x - x.mean(-1, keepdims=True) if op[0] == "L" else x
    normal = centred / np.sqrt(np.square(centred).mean(-1, keepdims=True) + np.float32(1e-5))
    normal = normal.astype(ml_dtypes.bfloat16).astype(np.float32)
    expect = [(normal * s).astype(ml_dtypes.bfloat16).astype(np.float32)]
    made = [*casts, node(op, ["x", "s"], ["z"]), back]
    for to in (22, 13):
        check(made, 23, to, {"x32": x32, "s32": s32}, expect=expect, rtol=2**-7, atol=1e-6)


@pytest.mark.parametrize(("op", "version"), [("LayerNormalization", 17), ("RMSNormalization", 23)])
def test_what_normalisation_refuses(refused, op, version):
    x, weights = RNG.random((2, 3, 4), np.float32), {"s": RNG.random(4, np.float32)}
    made = node(op, ["x", "s"], ["y"], stash_type=7)
    refused(made, version, version - 1, {"x": x}, "C103", weights)
    refused(node(op, ["x", "s"], ["y"], axis=5), version, version - 1, {"x": x}, "C103", weights)
    refused(node(op, ["x", "s"], ["y"], axis=1), version, version - 1, {"x": x}, "C207", weights, shapes={"x": None})


@pytest.mark.parametrize(("version", "to"), [(18, 17), (21, 20), (21, 12)])
@pytest.mark.parametrize(
    ("stated", "batches"), [((0, 4, 3), [0]), (("N", 4, 3), [0, 2]), (("N", 4, "W"), [0, 2])], ids=str
)
def test_groups_of_an_empty_batch(check, version, to, stated, batches):
    weights = {name: RNG.random(2 if version == 18 else 4, np.float32) for name in "sb"}
    group = node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=2)
    for batch in batches:
        x = RNG.random((batch, 4, 3), np.float32)
        expect = None if batch else [x]
        made = check(group, version, to, {"x": x}, weights, shapes={"x": stated}, rtol=1e-5, atol=1e-6, expect=expect)
        assert len(made.graph.node) == 1 or stated[0] == "N"


@pytest.mark.parametrize(("version", "to"), [(18, 17), (18, 12), (21, 20), (21, 12)])
def test_groups_of_images_that_turn_out_to_be_empty(build, version, to):
    weights = {name: RNG.random(2 if version == 18 else 4, np.float32) for name in "sb"}
    group = node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=2)
    x = np.zeros((2, 4, 5, 0, 0), np.float32)
    made = opset.convert(build(group, version, {"x": x}, weights, shapes={"x": ("N", "C", "H", "W", "D")}), to)
    (y,) = opset.ReferenceEvaluator(made).run(None, {"x": x})
    assert y.shape == x.shape


@pytest.mark.parametrize(("op", "version"), [("LayerNormalization", 17), ("RMSNormalization", 23)])
@pytest.mark.parametrize("to", [16, 9, 7])
def test_onnxruntime_fuses_the_formula(build, op, version, to):
    """Then it computes the same as before to the last bit, and as fast."""
    x, weights = RNG.standard_normal((4, 32)).astype(np.float32), {"s": RNG.random(32, np.float32)}
    if op == "LayerNormalization":
        weights["b"] = RNG.random(32, np.float32)
    before = build(node(op, ["x", *weights], ["y"]), version, {"x": x}, weights)
    results = [
        onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
        for model in (before, opset.convert(before, to))
    ]
    np.testing.assert_array_equal(*results)


REFUSED = [
    (6, 7, "C204", "'is_test' is 0", "(float[4] x) => (float[] y) { y = Dropout(x) }"),
    (10, 12, "C204", "the mask is true everywhere", "(float[4] x) => (float[] y, bool[] m) { y, m = Dropout(x) }"),
    (9, 8, "C204", "one dimension cannot",
     "(float[4] x, float[1] s) => (float[] y, float[] m) { y, m = BatchNormalization(x, s, s, s, s) }"),
    (14, 13, "C103", "no dimensions",
     "(float x, float[1] s) => (float[] y, float[] m, float[] v) { y, m, v = "
     "BatchNormalization<training_mode=1>(x, s, s, s, s) }"),
    (17, 16, "C204", "'stash_type' 17 cannot be expressed",
     "(float[2,3] x, float[3] s) => (float[] y) { y = LayerNormalization<stash_type=17>(x, s) }"),
    (23, 22, "C204", "'stash_type' 17 cannot be expressed",
     "(float[2,3] x, float[3] s) => (float[] y) { y = RMSNormalization<stash_type=17>(x, s) }"),
    (21, 20, "C103", "too few for channels",
     "(float[3] x, float[3] s) => (float[] y) { y = GroupNormalization<num_groups=1>(x, s, s) }"),
    (21, 20, "C204", "'num_groups' 1099511627776 cannot",
     "(float[3,c,2] x, float[c] s) => (float[] y) { y = GroupNormalization<num_groups=1099511627776>(x, s, s) }"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "to", "code", "why", "graph"), REFUSED)
def test_each_reason_to_refuse(reject, version, to, code, why, graph):
    reject(graph, version, to, code, why)
