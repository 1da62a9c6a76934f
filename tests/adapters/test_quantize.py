"""QuantizeLinear and DequantizeLinear: scales for axes and blocks, types of output, division and product."""

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, checker, helper, parser
from onnx.reference import ReferenceEvaluator

import opset
from tests.bounds import draws

SHAPE = (2, 3, 4)
SPECIAL = [0.0, -0.0, np.inf, -np.inf, 3e38, -3e38, 1e-45, 0.5, 1.5, -2.5, 127.5, -128.5, 255.5, 65535.5, 0.3, -7.7]


def evaluator(model, feeds):
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(model).run(None, dict(feeds))


def floats(shape=SHAPE, kind=np.float32):
    values = np.random.default_rng(5).standard_normal(shape).astype(kind) * 40
    flat = values.reshape(-1)
    with np.errstate(over="ignore"):
        flat[: len(SPECIAL)] = np.array(SPECIAL).astype(kind)[: flat.size]
    return values


def integers(kind, shape=SHAPE):
    limits = np.iinfo(kind)
    values = np.random.default_rng(6).integers(limits.min, limits.max, shape, kind, endpoint=True)
    values.reshape(-1)[:2] = (limits.min, limits.max)[: values.size]
    return values


def scales(shape, kind=np.float32):
    return (np.random.default_rng(4).random(shape) + 0.25).astype(kind) if shape else np.array(0.5, kind)


def node(operator, feeds, **attributes):
    return helper.make_node(operator, list(feeds), ["y"], name="q", **attributes)


def quantize(scale, zero=None, x=None):
    feeds = {"x": floats() if x is None else x, "s": scale}
    return feeds if zero is None else {**feeds, "z": zero}


def quantized(feeds, kind, lay_out):
    """Return what QuantizeLinear has to give; the evaluator of the onnx package is wrong beyond 32 bits."""
    limits = np.iinfo(kind)
    with np.errstate(all="ignore"):
        rounded = np.rint(feeds["x"] / lay_out(feeds["s"])).astype(float)
    zero = lay_out(feeds["z"]) if "z" in feeds else 0
    return [np.clip(rounded + zero, limits.min, limits.max).astype(kind)]


AXES = [0, 1, 2, -1, -3]


@pytest.mark.parametrize("operator", ["QuantizeLinear", "DequantizeLinear"])
@pytest.mark.parametrize("zero", [None, np.uint8(7), np.int8(-3)])
@pytest.mark.parametrize("axis", [None, 0, 2, -7])
def test_an_axis_means_nothing_to_a_scalar_scale(check, operator, zero, axis):
    kind = np.uint8 if zero is None else zero.dtype
    feeds = quantize(scales(()), None if zero is None else np.array(zero))
    if operator == "DequantizeLinear":
        feeds["x"] = integers(kind)
    attributes = {} if axis is None else {"axis": axis}
    after = check(node(operator, feeds, **attributes), 13, 10, feeds, operators=[operator])
    assert not after.graph.node[0].attribute


@pytest.mark.parametrize("operator", ["QuantizeLinear", "DequantizeLinear"])
def test_a_vector_of_one_element_becomes_a_scalar(check, operator):
    feeds = quantize(scales((1,)), np.array([5], np.uint8))
    feeds["x"] = floats((3, 1)) if operator == "QuantizeLinear" else integers(np.uint8, (3, 1))
    check(node(operator, feeds), 13, 10, feeds, operators=["Reshape", "Reshape", operator])
    del feeds["z"]
    check(node(operator, feeds), 13, 10, feeds, operators=["Reshape", operator])


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("axis", AXES)
def test_quantization_along_an_axis_is_written_out(check, kind, axis):
    length = SHAPE[axis]
    feeds = quantize(scales((length,)), integers(kind, (length,)))
    after = check(node("QuantizeLinear", feeds, axis=axis), 13, 11, feeds)
    assert [made.op_type for made in after.graph.node if made.op_type == "Round"]


@pytest.mark.parametrize("zero", [None, np.uint8(0), np.int8(0), np.int8(-4)])
@pytest.mark.parametrize("axis", AXES)
def test_equal_zero_points_along_an_axis_need_no_rounding(check, zero, axis):
    length = SHAPE[axis]
    feeds = quantize(scales((length,)))
    constants = {} if zero is None else {"z": np.full((length,), zero)}
    made = node("QuantizeLinear", {**feeds, **constants}, axis=axis)
    after = check(made, 13, 10, feeds, constants)
    assert after.graph.node[-1].op_type == "QuantizeLinear" and len(after.graph.initializer) == 0


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int32])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("zero", [False, True])
def test_dequantization_along_an_axis_is_written_out(check, kind, axis, zero):
    length = SHAPE[axis]
    feeds = {"x": integers(kind), "s": scales((length,))}
    if zero:
        feeds["z"] = integers(kind, (length,)) * (kind != np.int32)
    check(node("DequantizeLinear", feeds, axis=axis), 13, 10, feeds)


@pytest.mark.parametrize(
    "operator, before, after",
    [
        ("QuantizeLinear", 21, 11),
        ("QuantizeLinear", 21, 13),
        ("QuantizeLinear", 23, 19),
        ("DequantizeLinear", 19, 11),
        ("DequantizeLinear", 19, 13),
        ("DequantizeLinear", 19, 21),
    ],
)
def test_one_dimension_may_state_an_axis_that_it_lacks(check, operator, before, after):
    feeds = quantize(scales((24,)), integers(np.uint8, (24,)), integers(np.uint8, (24,)))
    expect = [(feeds["x"].astype(np.float32) - feeds["z"]) * feeds["s"]]
    if operator == "QuantizeLinear":
        feeds["x"] = floats((24,))
        expect = quantized(feeds, np.uint8, np.asarray)
    converted = check(node(operator, feeds), before, after, feeds, expect=expect)
    if after > 11:
        assert [each.i for each in converted.graph.node[0].attribute if each.name == "axis"] == [0]


def test_empty_tensors_stay_empty(check):
    feeds = quantize(scales((0,)), np.zeros((0,), np.uint8), floats((2, 0, 3)))
    check(node("QuantizeLinear", feeds), 13, 11, feeds)
    feeds["x"] = integers(np.uint8, (2, 1, 3))[:, :0]
    check(node("DequantizeLinear", feeds), 13, 10, feeds)


HALVES = [np.float16, ml_dtypes.bfloat16]


def evaluated(model, feeds):
    """Values by our evaluator: others have no bfloat16, or no version 13."""
    with np.errstate(all="ignore"):
        return opset.ReferenceEvaluator(model).run(None, dict(feeds))


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int32, np.int16])
@pytest.mark.parametrize("small", HALVES)
@pytest.mark.parametrize("axis", [None, 1])
@pytest.mark.parametrize("zero", [False, True])
def test_a_product_in_a_small_float_type_is_computed_in_float(check, kind, small, axis, zero):
    shape = () if axis is None else (SHAPE[axis],)
    feeds = {"x": integers(kind), "s": scales(shape, small)}
    if zero:
        feeds["z"] = integers(kind, shape) if shape else np.array(9, kind)
    shown = {
        name: each.astype(float).reshape((-1, 1) if each.ndim == 1 else each.shape) for name, each in feeds.items()
    }
    product = (shown["x"] - shown.get("z", 0)).astype(np.float32) * shown["s"].astype(np.float32)
    for to in (18, 13, 10):
        if small is np.float16 or to > 10:
            check(node("DequantizeLinear", feeds), 21, to, feeds, judge=evaluated, expect=[product.astype(small)])


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int16])
@pytest.mark.parametrize("small", HALVES)
@pytest.mark.parametrize("axis", [None, 1])
@pytest.mark.parametrize("zero", [False, True])
def test_a_quotient_in_a_small_float_type_is_the_rounded_one_of_floats(check, kind, small, axis, zero):
    """The quotient is rounded to the small type before it is rounded to an integer."""
    shape = () if axis is None else (SHAPE[axis],)
    feeds = {"x": floats((400, *SHAPE[1:]), small), "s": scales(shape, small)}
    if zero or kind is not np.uint8:
        feeds["z"] = integers(kind, shape) if shape else np.array(9, kind)
    for to in (20, 18, 13, 11):
        if small is np.float16 or to > 11:
            made = node("QuantizeLinear", feeds, **{"saturate": 0} if zero else {})
            after = check(made, 21, to, feeds, judge=evaluated)
            # Before version 19 no runtime has it for halves.
            assert to >= 19 or "QuantizeLinear" not in {each.op_type for each in after.graph.node}


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("zero", [None, np.int8(3)])
def test_saturate_says_nothing_of_integers(check, saturate, zero):
    feeds = quantize(scales(()), None if zero is None else np.array(zero))
    after = check(node("QuantizeLinear", feeds, saturate=saturate), 19, 10, feeds, operators=["QuantizeLinear"])
    assert not after.graph.node[0].attribute


@pytest.mark.parametrize("kind", [np.uint16, np.int16])
@pytest.mark.parametrize("axis", [None, 1])
@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("to", [20, 13, 11])
def test_integers_of_16_bits_are_written_out(check, kind, axis, zero, to):
    shape = () if axis is None else (SHAPE[axis],)
    zeros = {"z": integers(kind, shape) if shape else np.array(700, kind)} if zero else {}
    feeds = {"x": integers(kind), "s": scales(shape), **zeros}
    check(node("DequantizeLinear", feeds), 21, to, feeds)
    feeds["x"] = floats()
    kinds = {} if zero else {"output_dtype": helper.np_dtype_to_tensor_dtype(np.dtype(kind))}
    expect = quantized(feeds, kind, lambda value: value if axis is None else value[:, None])
    check(node("QuantizeLinear", feeds, **kinds), 21, to, feeds, expect=expect)


BLOCKS = [(0, 1), (0, 2), (1, 2), (2, 3), (-1, 2), (-2, 3)]


@pytest.mark.parametrize(("axis", "size"), BLOCKS)
@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int16])
@pytest.mark.parametrize("to", [20, 11])
def test_blocks_are_written_out(check, axis, size, kind, to):
    shape = list(SHAPE)
    shape[axis] = -(-shape[axis] // size)
    for zero in ({}, {"z": integers(kind, shape)}):
        feeds = {"x": integers(kind), "s": scales(shape), **zero}
        check(node("DequantizeLinear", feeds, axis=axis, block_size=size), 21, to, feeds)
        feeds["x"] = floats()
        kinds = {} if zero else {"output_dtype": helper.np_dtype_to_tensor_dtype(np.dtype(kind))}
        made = node("QuantizeLinear", feeds, axis=axis, block_size=size, **kinds)
        expect = quantized(feeds, kind, lambda value: np.repeat(value, size, axis).take(range(SHAPE[axis]), axis))
        check(made, 21, to, feeds, expect=expect)


def test_blocks_of_a_dynamic_size_and_of_a_vector(check):
    feeds = {"x": integers(np.int8), "s": scales((2, 2, 4)), "z": integers(np.int8, (2, 2, 4))}
    check(node("DequantizeLinear", feeds, block_size=2), 21, 10, feeds)
    shapes = {"x": ["a", "b", "c"]}
    check(node("DequantizeLinear", feeds, block_size=2), 21, 13, feeds, shapes=shapes)
    feeds = {"x": integers(np.int8, (6,)), "s": scales((2,))}
    made = node("DequantizeLinear", feeds, axis=0, block_size=3)
    expect = [feeds["x"] * np.repeat(feeds["s"], 3)]
    check(made, 21, 10, feeds, expect=expect)


def test_blocks_of_float8_keep_their_operator(check):
    feeds = {"x": floats(), "s": scales((2, 2, 4))}
    for saturate in (0, 1):
        attributes = {"output_dtype": TensorProto.FLOAT8E4M3FN, "saturate": saturate, "block_size": 2}
        after = check(node("QuantizeLinear", feeds, **attributes), 21, 20, feeds, judge=evaluator)
        assert after.graph.node[-1].op_type == "QuantizeLinear"


@pytest.mark.parametrize("operator", ["QuantizeLinear", "DequantizeLinear"])
def test_beside_a_scalar_scale_a_block_size_says_nothing(check, operator):
    feeds = {"x": integers(np.uint8), "s": scales(())}
    expect = [feeds["x"] * feeds["s"]]
    if operator == "QuantizeLinear":
        feeds["x"] = floats()
        expect = quantized(feeds, np.uint8, np.asarray)
    check(node(operator, feeds, block_size=4), 21, 10, feeds, operators=[operator], expect=expect)


def test_what_states_neither_blocks_nor_a_type_stays(build):
    feeds = quantize(scales(()))
    assert not opset.plan(build(node("QuantizeLinear", feeds), 21, feeds), 20).actions
    feeds = quantize(scales((24,)), x=floats((24,)))
    for axis in (0, -1):
        assert not opset.plan(build(node("QuantizeLinear", feeds, axis=axis), 21, feeds), 19).actions


@pytest.mark.parametrize("to", [20, 11])
@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("stated", ["all", "nothing"])
def test_an_output_type_becomes_a_zero_point(check, to, kind, shape, stated):
    feeds = quantize(scales(shape))
    number = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    shapes = {} if stated == "all" else {"s": ["n"] * len(shape)}
    made = node("QuantizeLinear", feeds, output_dtype=number)
    after = check(made, 21, to, feeds, shapes=shapes)
    if to == 20 and kind is np.int8 and (stated == "all" or not shape):
        (zero,) = (each.attribute[0].t for each in after.graph.node if each.op_type == "Constant")
        assert (zero.data_type, tuple(zero.dims)) == (number, shape)
    feeds["z"] = np.zeros(shape, kind)
    made = node("QuantizeLinear", feeds, output_dtype=number)
    check(made, 21, 20, feeds, operators=["QuantizeLinear"])


@pytest.mark.parametrize(
    ("count", "operators"), [(2**12, ["QuantizeLinear"]), (2**12 + 1, ["Shape", "ConstantOfShape", "QuantizeLinear"])]
)
def test_zero_points_are_a_constant_as_long_as_there_are_few(count, operators):
    model = opset.parse_model(f"""<ir_version: 10, opset_import: ["": 21]> g (float[2, {count}] x, float[{count}] s)
        => (int8[2, {count}] y) {{ y = QuantizeLinear <output_dtype = 3> (x, s) }}""")
    made = opset.convert(model, 20).graph.node
    assert [each.op_type for each in made if each.op_type != "Constant"] == operators


def test_an_output_type_of_float8_becomes_a_zero_point(check):
    feeds = quantize(scales(()))
    made = node("QuantizeLinear", feeds, output_dtype=TensorProto.FLOAT8E5M2, saturate=0)
    check(made, 21, 20, feeds, operators=["QuantizeLinear"], judge=evaluator)


HALF = {np.float16: TensorProto.FLOAT16, ml_dtypes.bfloat16: TensorProto.BFLOAT16}


@pytest.mark.parametrize("small", HALF)
def test_the_type_of_the_division_is_cast_to(check, small):
    feeds = quantize(scales(()), np.array(2, np.int8), floats(kind=small))
    after = check(node("QuantizeLinear", feeds), 23, 22, feeds, judge=evaluator)
    assert [made.op_type for made in after.graph.node] == ["Cast", "QuantizeLinear"]
    feeds["s"] = scales((), small)
    made = node("QuantizeLinear", feeds, precision=TensorProto.FLOAT)
    check(made, 23, 22, feeds, operators=["Cast", "Cast", "QuantizeLinear"], judge=evaluator)
    made = node("QuantizeLinear", feeds, precision=HALF[small])
    check(made, 23, 22, feeds, operators=["QuantizeLinear"], judge=evaluator)


@pytest.mark.parametrize("small", HALF)
def test_the_type_of_the_product_is_cast_to(check, small):
    feeds = {"x": integers(np.int8), "s": scales((), small), "z": np.array(3, np.int8)}
    made = node("DequantizeLinear", feeds, output_dtype=TensorProto.FLOAT)
    check(made, 23, 22, feeds, operators=["Cast", "DequantizeLinear"], judge=evaluator)
    made = node("DequantizeLinear", feeds, output_dtype=HALF[small])
    check(made, 23, 22, feeds, operators=["DequantizeLinear"], judge=evaluator)


@pytest.mark.parametrize("to", [24, 20, 18, 13, 10, 9, 7])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("zero", [True, False])
@pytest.mark.parametrize("block", [0, 2])
@pytest.mark.parametrize(
    ("kind", "low", "version"), [("INT4", -8, 21), ("UINT4", 0, 21), ("INT2", -2, 25), ("UINT2", 0, 25)]
)
def test_constants_of_less_than_a_byte_become_bytes(kind, low, version, block, zero, constant, to):
    if to >= version:
        return
    number, scale_shape = getattr(TensorProto, kind), [2, 6] if block else [6]
    weights = low + np.arange(24).reshape(4, 6) % (16 if "4" in kind else 4)
    scale = np.linspace(0.5, 1, int(np.prod(scale_shape)), dtype=np.float32).reshape(scale_shape)
    tensors = [
        helper.make_tensor("w", number, [4, 6], weights.ravel().tolist()),
        helper.make_tensor("s", 1, scale_shape, scale.ravel().tolist()),
    ]
    tensors += [helper.make_tensor("z", number, scale_shape, [1] * scale.size)] if zero else []
    attributes = {"axis": 0, "block_size": 2} if block else {"axis": 1}
    nodes = [
        helper.make_node("DequantizeLinear", [each.name for each in tensors], ["d"], **attributes),
        helper.make_node("Mul", ["x", "d"], ["y"]),
    ]
    if constant:
        nodes.insert(0, helper.make_node("Constant", [], ["w"], value=tensors.pop(0)))
    values = [helper.make_tensor_value_info(name, 1, ["N", 6]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=13)
    after = opset.convert(model, to)
    checker.check_model(after, full_check=True)
    x = np.ones((4, 6), np.float32)
    (found,) = onnxruntime.InferenceSession(after.SerializeToString()).run(None, {"x": x})
    expect = (weights - int(zero)).astype(np.float32) * (np.repeat(scale, 2, axis=0) if block else scale)
    np.testing.assert_array_equal(found, expect)


F16, I4, U8 = TensorProto.FLOAT16, TensorProto.INT4, TensorProto.UINT8
LARGE = {"x": floats(), "s": scales((3,))}


@pytest.mark.parametrize(
    ("operator", "version", "to", "feeds", "attributes", "code", "shapes"),
    [
        ("QuantizeLinear", 13, 12, LARGE, {}, "C207", {"s": None}),
        ("QuantizeLinear", 13, 12, LARGE, {}, "C207", {"x": None}),
        ("QuantizeLinear", 13, 12, LARGE, {"axis": 3}, "C103", {}),
        ("QuantizeLinear", 13, 12, {**LARGE, "s": scales((2, 3))}, {}, "C103", {}),
        ("QuantizeLinear", 13, 12, {**LARGE, "x": integers(np.int32)}, {}, "C202", {}),
        ("DequantizeLinear", 13, 12, {"x": np.array(3, np.int8), "s": scales((3,))}, {}, "C103", {}),
        ("QuantizeLinear", 13, 19, {"x": integers(np.int32), "s": scales(())}, {}, "C202", {}),
        ("DequantizeLinear", 21, 20, {"x": (I4, SHAPE), "s": scales(())}, {}, "C202", {}),
        ("DequantizeLinear", 21, 20, {"x": (I4, SHAPE), "s": scales(())}, {"block_size": 2}, "C202", {}),
        ("DequantizeLinear", 21, 20, {"x": (U8, SHAPE), "s": scales(())}, {"block_size": -2}, "C103", {}),
        ("DequantizeLinear", 21, 20, {"x": (U8, SHAPE), "s": scales(())}, {"block_size": 2}, "C207", {"s": None}),
        ("DequantizeLinear", 21, 20, {"x": (U8, SHAPE), "s": scales(SHAPE)}, {"block_size": 2, "axis": 3}, "C103", {}),
        ("QuantizeLinear", 21, 20, LARGE, {"output_dtype": I4}, "C202", {}),
        ("QuantizeLinear", 21, 20, LARGE, {"output_dtype": 99}, "C103", {}),
        ("QuantizeLinear", 21, 20, {**LARGE, "z": np.zeros(3, np.int8)}, {"output_dtype": U8}, "C103", {}),
        ("QuantizeLinear", 23, 22, {**LARGE, "s": scales((), np.float16)}, {}, "C204", {}),
        ("QuantizeLinear", 23, 22, LARGE, {"precision": F16}, "C204", {}),
        ("QuantizeLinear", 23, 22, LARGE, {"output_dtype": TensorProto.FLOAT4E2M1}, "C202", {}),
        ("DequantizeLinear", 23, 22, {"x": (U8, SHAPE), "s": scales(())}, {"output_dtype": F16}, "C204", {}),
        ("DequantizeLinear", 23, 22, {"x": (TensorProto.FLOAT4E2M1, SHAPE), "s": scales(())}, {}, "C202", {}),
    ],
)
def test_what_would_lose_meaning_is_refused(refused, operator, version, to, feeds, attributes, code, shapes):
    refused(node(operator, feeds, **attributes), version, to, feeds, code, shapes=shapes, kinds={"y": 1})


@pytest.mark.parametrize("to", [9, 7])
def test_several_scales_before_version_13_are_those_of_axis_1(check, to):
    feeds = {"x": integers(np.int8), "s": scales((3,))}
    expect = [feeds["x"] * feeds["s"][:, None]]
    check(node("DequantizeLinear", feeds), 10, to, feeds, expect=expect, kinds={"y": 1})


@pytest.mark.parametrize("to", [9, 7])
@pytest.mark.parametrize("zero", [None, np.uint8(7), np.int8(-3)])
@pytest.mark.parametrize("shape", [SHAPE, (), (0, 2)])
@pytest.mark.parametrize("scale", [(), (1,)])
def test_quantization_before_there_was_any(check, zero, shape, scale, to):
    feeds = quantize(scales(scale), None if zero is None else np.full(scale, zero))
    feeds["x"] = np.asarray(floats(shape))
    kind = np.uint8 if zero is None else zero.dtype
    expect = quantized(feeds, kind, lambda value: np.reshape(value, ()))
    check(node("QuantizeLinear", feeds), 10, to, feeds, expect=expect, kinds={"y": HALF_INDEX[np.dtype(kind).name]})
    feeds["x"] = integers(kind, shape) if shape == SHAPE else np.full(shape, 5, kind)
    check(node("DequantizeLinear", feeds), 10, to, feeds, kinds={"y": 1})


HALF_INDEX = {"uint8": TensorProto.UINT8, "int8": TensorProto.INT8}


def test_large_integers_are_dequantized(check):
    x = np.array([2**31 - 1, -(2**31), 2**24 + 1, 0, 7], np.int32)
    for feeds in ({"x": x, "s": scales(())}, {"x": x, "s": scales(()), "z": np.array(0, np.int32)}):
        check(node("DequantizeLinear", feeds), 10, 7, feeds, kinds={"y": 1})
    feeds = {"x": x, "s": np.array(1, np.float32), "z": np.array(-5, np.int32)}
    expect = [(x.astype(np.float64) + 5).astype(np.float32)]
    check(node("DequantizeLinear", feeds), 10, 7, feeds, expect=expect, kinds={"y": 1})


@pytest.mark.parametrize("x", [floats()[1], np.float32([]), np.zeros((2, 2), np.float32), np.float32([3, 4]),
                               np.float32([[-3], [-0.5]]), np.array(2.5, np.float32)])  # fmt: skip
@pytest.mark.parametrize("to", [10, 7])
def test_scales_of_a_run(x, to, build):
    made = helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"])
    before = build(made, 11, {"x": x}, outputs=["y", "s", "z"], kinds={"y": 2, "s": 1, "z": 2})
    after = opset.convert(before, to)
    found = opset.ReferenceEvaluator(after).run(None, {"x": x})
    for want, have in zip(opset.ReferenceEvaluator(before).run(None, {"x": x}), found, strict=True):
        np.testing.assert_array_equal(have, want)
    if x.any():
        other = ReferenceEvaluator(before).run(None, {"x": x})
        for want, have in zip(other, found, strict=True):
            np.testing.assert_array_equal(have, want)


def bytes_of(kind, *shape):
    return integers(np.dtype(kind), shape)


PRODUCTS = [
    ((3, 4), (4, 2), (), ()),
    ((3, 4), (4, 2), (3,), (2,)),
    ((3, 4), (4, 2), (1,), (1,)),
    ((2, 3, 4), (4, 2), (2, 3, 1), ()),
    ((2, 3, 4), (2, 4, 2), (), (2, 1, 2)),
    ((4,), (4,), (), (1,)),
    ((4,), (4, 2), (1,), (2,)),
    ((3, 4), (4,), (3,), ()),
    ((2, 0), (0, 3), (), ()),
]


@pytest.mark.parametrize(("a", "b", "of_rows", "of_columns"), PRODUCTS)
@pytest.mark.parametrize("kinds", [("uint8", "uint8"), ("int8", "int8"), ("uint8", "int8")])
def test_products_of_bytes(check, own, a, b, of_rows, of_columns, kinds):
    feeds = {"a": bytes_of(kinds[0], *a), "b": bytes_of(kinds[1], *b)}
    made = helper.make_node("MatMulInteger", ["a", "b"], ["y"])
    for to in (9, 7):
        check(made, 10, to, feeds, expect=own(made, 10, feeds, {"y": 6}), kinds={"y": 6})
    feeds |= {"p": np.full(of_rows, 3, kinds[0]), "q": np.full(of_columns, 100, kinds[1])}
    made = helper.make_node("MatMulInteger", list(feeds), ["y"])
    check(made, 10, 7, feeds, expect=own(made, 10, feeds, {"y": 6}), kinds={"y": 6})
    names = ["a", "as", "ap", "b", "bs", "bp", "ys", "yp"]
    values = [feeds["a"], scales(of_rows), feeds["p"], feeds["b"], scales(of_columns), feeds["q"],
              np.array(700.5, np.float32), np.array(9, np.int8)]  # fmt: skip
    given = dict(zip(names, values, strict=True))
    made = helper.make_node("QLinearMatMul", names, ["y"])
    check(made, 10, 7, given, expect=own(made, 10, given, {"y": 3}), kinds={"y": 3})


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
def test_scales_of_products_in_narrow_floats(check, own, kind):
    names = ["a", "as", "ap", "b", "bs", "bp", "ys", "yp"]
    values = [bytes_of("uint8", 2, 3), scales((), kind), np.array(3, np.uint8), bytes_of("int8", 3, 4),
              scales((), kind), np.array(-7, np.int8), np.array(700.5).astype(kind), np.array(9, np.uint8)]  # fmt: skip
    given = dict(zip(names, values, strict=True))
    made = helper.make_node("QLinearMatMul", names, ["y"])
    judge = {"judge": evaluator} if kind is ml_dtypes.bfloat16 else {}
    for to in (20, 13):
        check(made, 21, to, given, expect=own(made, 21, given, {"y": 2}), kinds={"y": 2}, **judge)


CONVOLUTIONS = [
    ((1, 1, 5, 5), (1, 1, 3, 3), {}),
    ((2, 4, 7), (6, 2, 3), {"group": 2, "strides": [2], "pads": [1, 2]}),
    ((1, 2, 6, 5), (3, 2, 2, 3), {"auto_pad": "SAME_LOWER", "kernel_shape": [2, 3]}),
    ((1, 3, 9), (2, 3, 2), {"dilations": [3]}),
    ((1, 300, 4), (2, 300, 3), {}),
    ((1, 5000, 2), (1, 5000, 1), {}),
    ((0, 2, 4), (3, 2, 2), {}),
]


@pytest.mark.parametrize(("x", "w", "attributes"), CONVOLUTIONS)
@pytest.mark.parametrize("kinds", [("uint8", "uint8"), ("uint8", "int8")])
@pytest.mark.parametrize("each", [True, False])
def test_convolutions_of_bytes(check, own, x, w, attributes, kinds, each):
    feeds = {"x": bytes_of(kinds[0], *x), "w": bytes_of(kinds[1], *w)}
    made = helper.make_node("ConvInteger", list(feeds), ["y"], **attributes)
    if kinds == ("uint8", "uint8"):
        check(made, 10, 7, feeds, expect=own(made, 10, feeds, {"y": 6}), kinds={"y": 6})
    filters = (w[0],) if each else ()
    zeros = np.arange(w[0]).astype(kinds[1]) if each else np.array(5, kinds[1])
    feeds |= {"p": np.array(200, kinds[0]), "q": zeros}
    made = helper.make_node("ConvInteger", list(feeds), ["y"], **attributes)
    check(made, 10, 7, feeds, expect=own(made, 10, feeds, {"y": 6}), kinds={"y": 6})
    names = ["x", "xs", "xp", "w", "ws", "wp", "ys", "yp", "b"]
    values = [feeds["x"], scales(()), feeds["p"], feeds["w"], scales(filters), zeros, np.array(60.5, np.float32),
              np.array(9, np.uint8), np.arange(w[0], dtype=np.int32) * 1000]  # fmt: skip
    for count in (8, 9):
        given = dict(zip(names[:count], values, strict=False))
        made = helper.make_node("QLinearConv", names[:count], ["y"], **attributes)
        check(made, 10, 7, given, expect=own(made, 10, given, {"y": 2}), kinds={"y": 2})


@settings(max_examples=draws(60))
@given(
    st.lists(st.floats(-300, 300, width=32), min_size=6, max_size=6),
    st.lists(st.floats(2**-10, 2**10, width=32), min_size=3, max_size=3),
    st.lists(st.integers(0, 255), min_size=3, max_size=3),
)
def test_written_out_quantization_rounds_as_the_operator(check, x, scale, zero):
    feeds = {"x": np.array(x, np.float32).reshape(2, 3), "s": np.array(scale, np.float32)}
    # Ties are what differs between ways to round.
    feeds["x"][0] = (np.floor(feeds["x"][0]) + 0.5) * feeds["s"]
    feeds["z"] = np.array(zero, np.uint8)
    check(node("QuantizeLinear", feeds), 13, 11, feeds)


NUMBERS = ["axis", "block_size", "output_dtype", "precision", "saturate"]


def test_malformed_nodes_are_refused_or_converted(build, attempt):
    ends = set()

    @settings(max_examples=draws(100))
    @given(
        st.sampled_from(["QuantizeLinear", "DequantizeLinear"]),
        st.sampled_from([(13, 12), (19, 13), (21, 20), (23, 22), (25, 10)]),
        st.dictionaries(st.sampled_from(NUMBERS), st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(0, 30))),
        st.sampled_from([None, None, TensorProto.FLOAT, TensorProto.INT8, TensorProto.FLOAT16, TensorProto.INT16]),
        st.lists(st.one_of(st.none(), st.lists(st.integers(0, 3), max_size=4)), min_size=2, max_size=3),
    )
    @example("QuantizeLinear", (13, 12), {}, None, [[3], []])
    def drawn(operator, versions, numbers, kind, shapes):
        schema = opset.opsets.registry.default_registry().schema(operator, versions[0])
        numbers = {name: number for name, number in numbers.items() if name in schema.attributes}
        wide, narrow = TensorProto.FLOAT, TensorProto.INT8
        kinds = (wide, wide, narrow, narrow) if operator == "QuantizeLinear" else (narrow, wide, narrow, wide)
        x, s, z, y = kinds if kind is None else (kind,) * 4
        feeds = {name: (kind, shape) for name, kind, shape in zip("xsz", (x, s, z), shapes, strict=False)}
        model = build(node(operator, feeds, **numbers), versions[0], feeds, kinds={"y": y})
        ends.add(attempt(model, versions[1]))

    drawn()
    assert {"converted"} < ends


NO_NUMBERS = np.array([np.nan, np.inf, -np.inf, 3.4e38, -3.4e38, -0.0, 1e-45, 1e10, -1e10, 2.5, 0.0], np.float32)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint16, np.int16])
@pytest.mark.parametrize("zero", [0, 3])
@pytest.mark.parametrize("scale", [1.0, np.inf, -0.5, 0.0, np.nan])
@pytest.mark.parametrize("to", [20, 9, 7])
def test_what_is_no_number_becomes_the_least_value(check, kind, zero, scale, to):
    feeds = quantize(np.array(scale, np.float32), np.array(zero, kind), NO_NUMBERS)
    check(node("QuantizeLinear", feeds), 21, to, feeds)


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("to", [9, 7])
@pytest.mark.parametrize("scale", [0.0, np.nan, 1e-40])
def test_a_product_over_a_scale_that_is_no_quotient(check, kind, to, scale):
    whole = np.array([[3, 0], [250, 5]], np.uint8)
    one, zero = np.array(0.5, np.float32), np.array(5, np.uint8)
    feeds = {"a": whole, "as": one, "az": zero, "b": whole, "bs": one, "bz": zero,
             "ys": np.array(scale, np.float32), "yz": np.array(1, kind)}  # fmt: skip
    if kind == np.int8:
        feeds["a"], feeds["az"], feeds["b"], feeds["bz"] = (feeds[name].astype(kind) for name in ("a", "az", "b", "bz"))
    product = helper.make_node("QLinearMatMul", list(feeds), ["y"])
    # The evaluator of this project says what runtimes do not agree about: what NaN becomes.
    check(product, 10, to, feeds, judge=lambda model, given: opset.ReferenceEvaluator(model).run(None, given))


REFUSED = [
    (
        21,
        20,
        "C202",
        "'x' is float8e5m2 and 'x_scale' is float, a combination that version 20 does not take",
        "(float8e5m2[2,4] x, float[2,2] s) => (float[] y) { y = DequantizeLinear<axis=1, block_size=2>(x, s) }",
    ),
    (
        21,
        20,
        "C202",
        "cannot compute in parts",
        "(float[4,2] x, float[2,2] s, float8e4m3fn[2,2] z) => (float8e4m3fn[] y) { y = QuantizeLinear<axis=0, "
        "block_size=2>(x, s, z) }",
    ),
]


@pytest.mark.parametrize(("version", "to", "code", "why", "graph"), REFUSED)
def test_each_reason_to_refuse(reject, version, to, code, why, graph):
    reject(graph, version, to, code, why)


@pytest.mark.parametrize(("channels", "convolutions"), [(200, 1), (3000, 2), (4200, 4), (10000, 4)])
def test_sums_of_many_products_of_bytes_are_exact_in_float(channels, convolutions):
    """Digits of -16 beside odd ones make sums that FLOAT would round from 4,112 products on."""
    graph = f"(uint8[1,{channels},1] x, int8[1,{channels},1] w, int8 z) => (int32[1,1,1] y)"
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> m {graph} {{ y = ConvInteger (x, w, , z) }}')
    lowered = opset.lower(model, ["ConvInteger"])
    assert [node.op_type for node in lowered.graph.node].count("Conv") == convolutions
    assert {node.attribute[0].i for node in lowered.graph.node if node.op_type == "Cast"} <= {1, 6, 7}
    x = np.full((1, channels, 1), 255, np.uint8)
    for low in (-128, -113):
        w = np.full((1, channels, 1), low, np.int8)
        w[0, ::7] = -112
        expected = (x.astype(np.int64) * (w.astype(np.int64) - 127)).sum()
        session = onnxruntime.InferenceSession(lowered.SerializeToString(), providers=["CPUExecutionProvider"])
        (found,) = session.run(None, {"x": x, "w": w, "z": np.array(127, np.int8)})
        assert found.item() == expected
