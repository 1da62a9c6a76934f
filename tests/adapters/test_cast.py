"""Types by name and by number, and attributes that few types look at."""

import numpy as np
import pytest
from onnx import TensorProto
from onnx.helper import make_node

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
