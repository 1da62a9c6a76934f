"""Types by name and by number, and attributes that few types look at."""

import numpy as np
import pytest
from onnx import TensorProto
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info

import opset

KINDS = {
    "FLOAT": np.float32,
    "UINT8": np.uint8,
    "INT8": np.int8,
    "INT16": np.int16,
    "INT32": np.int32,
    "INT64": np.int64,
    "BOOL": np.bool_,
    "FLOAT16": np.float16,
    "DOUBLE": np.float64,
    "UINT64": np.uint64,
}


@pytest.mark.parametrize("name", KINDS)
def test_a_name_becomes_a_number_and_comes_back(check, name):
    x, number = np.float32([0, 1, 2]), getattr(TensorProto, name)
    before = make_node("Cast", ["x"], ["y"], to=name)
    after = check(before, 5, 9, {"x": x}, expect=[x.astype(KINDS[name])], kinds={"y": number})
    assert after.graph.node[0].attribute[0].i == number
    numbered = make_node("Cast", ["x"], ["y"], to=number)
    back = check(numbered, 9, 5, {"x": x}, expect=[x.astype(KINDS[name])], judge=lambda model, feeds: [cast(model, x)])
    assert back.graph.node[0].attribute[0].s == name.encode()


def cast(model, x):
    (node,) = model.graph.node
    return x.astype(KINDS[node.attribute[0].s.decode()])


@pytest.mark.parametrize("name", ["", "NONE", "UNDEFINED", b"\xff"])
def test_a_name_of_no_type(refused, name):
    x = np.float32([0])
    refused(make_node("Cast", ["x"], ["y"], to=name), 5, 6, {"x": x}, "C103", kinds={"y": 1})


@pytest.mark.parametrize("number", [0, -1, 99, 2**40])
def test_a_number_of_no_type(refused, number):
    refused(make_node("Cast", ["x"], ["y"], to=number), 6, 5, {"x": np.float32([0])}, "C103", kinds={"y": 1})


@pytest.mark.parametrize("kind", [np.float16, np.int32])
@pytest.mark.parametrize(("since", "attribute"), [(19, {"saturate": 0}), (24, {"round_mode": "down"})])
def test_attributes_that_do_not_matter_go(check, kind, since, attribute):
    x, like = np.float32([-1.5, 3]), np.zeros(1, kind)
    number = TensorProto.FLOAT16 if kind is np.float16 else TensorProto.INT32
    plain = make_node("Cast", ["x"], ["y"], to=number, **attribute)
    check(plain, since, since - 1, {"x": x}, expect=[x.astype(kind)], operators=["Cast"])
    alike = make_node("CastLike", ["x", "like"], ["y"], **attribute)
    check(alike, since, since - 1, {"x": x, "like": like}, expect=[x.astype(kind)], operators=["CastLike"])


@pytest.mark.parametrize("kind", ["FLOAT8E4M3FN", "FLOAT8E5M2FNUZ"])
def test_types_that_are_not_there_are_refused(refused, kind):
    x, number = np.float32([1]), getattr(TensorProto, kind)
    for saturate in (0, 1):
        node = make_node("Cast", ["x"], ["y"], to=number, saturate=saturate)
        refused(node, 19, 18, {"x": x}, "C202", kinds={"y": number})


def test_rounding_to_powers_of_two_is_refused(refused):
    number = TensorProto.FLOAT8E8M0
    node = make_node("Cast", ["x"], ["y"], to=number, round_mode="down")
    refused(node, 24, 23, {"x": np.float32([1])}, "C202", kinds={"y": number})


KINDS_OF_LIKE = [np.float32, np.float64, np.float16, np.int8, np.uint8, np.int32, np.int64, np.uint64, np.bool_]


@pytest.mark.parametrize("to", [14, 7])
@pytest.mark.parametrize("kind", KINDS_OF_LIKE)
def test_a_cast_like_another_is_a_cast_to_its_type(check, kind, to):
    x = np.float32([[0, -0.0, 1.5], [3.25, 100, 2]])
    node = make_node("CastLike", ["x", "like"], ["y"])
    for shape in ((), (2,), (0, 3)):
        check(node, 15, to, {"x": x, "like": np.zeros(shape, kind)}, operators=["Cast"])
        check(node, 25, to, {"x": x[:, :0], "like": np.zeros(shape, kind)}, operators=["Cast"])
    back = np.array(3).astype(kind)
    check(node, 19, to, {"x": back, "like": np.float32([1])}, operators=["Cast"])


@pytest.mark.parametrize(
    ("kind", "since", "attributes"),
    [("UINT4", 21, {}), ("INT2", 25, {}), ("FLOAT8E4M3FN", 19, {"saturate": 0}), ("FLOAT8E8M0", 24,
     {"round_mode": "down"}), ("FLOAT16", 15, {})],
)  # fmt: skip
def test_a_cast_like_newer_types_is_a_cast_at_the_same_opset(kind, since, attributes):
    number = getattr(TensorProto, kind)
    nodes = [
        make_node("Cast", ["x"], ["like"], to=number),
        make_node("CastLike", ["x", "like"], ["z"], **attributes),
        make_node("Cast", ["z"], ["y"], to=TensorProto.FLOAT),
    ]
    values = [make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in "xy"]
    graph = make_graph(nodes, "g", values[:1], values[1:])
    model = make_model(graph, opset_imports=[make_opsetid("", since)])
    feeds = {"x": np.float32([0.75, 1, 3])}
    want = opset.ReferenceEvaluator(model).run(None, feeds)
    made = opset.lower(model, ["CastLike"])
    assert [node.op_type for node in made.graph.node] == ["Cast"] * 2
    assert {a.name for a in made.graph.node[0].attribute} == {"to", *attributes}
    np.testing.assert_array_equal(opset.ReferenceEvaluator(made).run(None, feeds), want)
    assert not opset.plan(model, runtime="onnxruntime==1.31").refusals


def test_a_cast_like_strings(check, refused):
    text, number = np.array(["1.5", "NaN", "-INF"], object), np.float32([1])
    read = make_node("CastLike", ["x", "like"], ["y"])
    check(read, 15, 9, {"x": text, "like": number}, operators=["Cast"], kinds={"y": 1})
    write = check(read, 15, 9, {"x": np.int64([-3, 42]), "like": text}, operators=["Cast"], kinds={"y": 8})
    assert write.graph.node[0].attribute[0].i == TensorProto.STRING
    refused(read, 15, 8, {"x": text, "like": number}, "C202", kinds={"y": 1})


def test_a_cast_like_a_value_of_unknown_type_is_refused(refused):
    unknown = make_node("Foreign", ["x"], ["like"], domain="com.example")
    node = make_node("CastLike", ["x", "like"], ["cast"])  # nothing that reads the result states its type
    last = make_node("Foreign", ["cast"], ["y"], domain="com.example")
    refused([unknown, node, last], 15, 14, {"x": np.float32([1])}, "C203", kinds={"y": 1})


@pytest.mark.parametrize("kind", ["FLOAT8E4M3FN", "INT4", "FLOAT4E2M1", "BFLOAT16"])
def test_the_reason_is_that_the_type_does_not_exist(refused, kind):
    number = getattr(TensorProto, kind)
    cast = make_node("Cast", ["x"], ["like"], to=number)
    node = make_node("CastLike", ["x", "like"], ["y"])
    error = refused([cast, node], 23, 12, {"x": np.float32([1])}, "C202", kinds={"y": number})
    assert all(f"there is no element type {kind.lower()} at opset 12" in each.why for each in error.findings)


@pytest.mark.parametrize(
    ("kind", "to"),
    [("int8", "uint8"), ("uint16", "int16"), ("int32", "uint32"), ("uint32", "int32"), ("uint64", "int64"),
     ("int64", "uint64"), ("bool", "uint8"), ("uint8", "bool"), ("int8", "bool"), ("bool", "int8"), ("int16", "int16")],
)  # fmt: skip
def test_bits_of_integers_are_cast(check, kind, to):
    number = getattr(TensorProto, to.upper())
    limits = (0, 1) if kind == "bool" else (np.iinfo(kind).min, np.iinfo(kind).max)
    x = np.array([0, 1, *limits], kind)
    expect = x.astype(bool) if to == "bool" else x.view(to)
    node = make_node("BitCast", ["x"], ["y"], to=number)
    forms = ((4,), (2, 1, 2)) if kind != "bool" else ((4,),)
    for shape in (*forms, (), (0, 3)):
        size = int(np.prod(shape))
        values, result = x[:size].reshape(shape), expect[:size].reshape(shape)
        made = ["Identity"] if kind == to else ["Cast"]
        for target in (25, 7):
            check(node, 26, target, {"x": values}, expect=[result], operators=made, kinds={"y": number})


@pytest.mark.parametrize(("kind", "to"), [(np.float32, "INT32"), (np.complex64, "DOUBLE"), (np.float16, "BFLOAT16"),
                                           (np.int64, "COMPLEX64")])  # fmt: skip
def test_bits_of_floats_are_refused(refused, kind, to):
    number = getattr(TensorProto, to)
    node = make_node("BitCast", ["x"], ["y"], to=number)
    refused(node, 26, 25, {"x": np.zeros(2, kind)}, "C204", kinds={"y": number})


def test_bits_of_another_width_are_refused(refused):
    for number in (TensorProto.INT64, 99):
        node = make_node("BitCast", ["x"], ["y"], to=number)
        refused(node, 26, 25, {"x": np.zeros(2, np.float32)}, "C103", kinds={"y": 7})


@pytest.mark.parametrize("to", [25, 13, 7])
@pytest.mark.parametrize(
    ("kind", "float_"),
    [
        ("int32", "float32"),
        ("uint32", "float32"),
        ("int64", "float64"),
        ("uint64", "float64"),
        ("int16", "float16"),
        ("uint16", "float16"),
    ],
)
def test_the_float_of_bits_is_computed(check, kind, float_, to):
    info, rng = np.finfo(float_), np.random.default_rng(3)
    values = [0.0, -0.0, 1, -1.5, np.inf, -np.inf, info.max, -info.max, info.tiny, -info.smallest_subnormal, 3.14159]
    x = np.concatenate([np.array(values, float_).view(kind), np.array([np.nan], float_).view(kind)])
    limits = np.iinfo(kind)
    x = np.concatenate([x, rng.integers(limits.min, limits.max, 500, kind, endpoint=True)])
    number = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "float16": TensorProto.FLOAT16}[float_]
    node = make_node("BitCast", ["x"], ["y"], to=number)
    after = check(node, 26, to, {"x": x}, expect=[x.view(float_)], kinds={"y": number})
    (y,) = opset.ReferenceEvaluator(after).run(None, {"x": x})
    finite = ~np.isnan(y)
    assert (y.view(kind) == x)[finite].all()
    assert (np.isnan(y) == np.isnan(x.view(float_))).all()
    for shape in ((), (0, 3)):
        part = x[: int(np.prod(shape))].reshape(shape)
        check(node, 26, to, {"x": part}, expect=[part.view(float_)], kinds={"y": number})
