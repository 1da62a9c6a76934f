"""Types of what onnxruntime's own operators compute are those that it gives."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import opset
from opset.inference.engine.foreign import DOMAIN, ELEMENT_OF, SAME
from opset.inference.engine.operators import find_schema
from opset.model.elements import NUMBERS
from opset.opsets.registry import default_registry

FLOATS = np.random.default_rng(3).random((3, 4), np.float32)
BYTES, SCALE, ZERO = np.arange(12, dtype=np.uint8).reshape(3, 4), np.float32(0.5), np.uint8(1)
WEIGHTS = np.arange(8, dtype=np.uint8).reshape(4, 2)
CASES = {
    "CDist": ([FLOATS, FLOATS[:2]], {"metric": "sqeuclidean"}),
    "DequantizeLinear": ([BYTES, SCALE, ZERO], {}),
    "DynamicQuantizeMatMul": ([FLOATS, WEIGHTS, SCALE, ZERO], {}),
    "FusedConv": ([FLOATS.reshape(1, 1, 3, 4), np.ones((1, 1, 2, 2), np.float32)], {"activation": "Relu"}),
    "FusedGemm": ([FLOATS, FLOATS.T.copy()], {"activation": "Relu"}),
    "FusedMatMul": ([FLOATS, FLOATS], {"transB": 1}),
    "MatMulIntegerToFloat": ([BYTES, WEIGHTS, SCALE, SCALE, ZERO, ZERO], {}),
    "MatMulNBits": (
        [np.ones((1, 16), np.float32), np.ones((2, 1, 8), np.uint8), np.ones(2, np.float32)],
        {"K": 16, "N": 2, "bits": 4, "block_size": 16},
    ),
    "QLinearAdd": ([BYTES, SCALE, ZERO, BYTES, SCALE, ZERO, SCALE, ZERO], {}),
    "QLinearMul": ([BYTES, SCALE, ZERO, BYTES, SCALE, ZERO, SCALE, ZERO], {}),
    "BiasGelu": ([FLOATS, FLOATS[0]], {}),
    "FastGelu": ([FLOATS], {}),
    "Gelu": ([FLOATS], {}),
    "Inverse": ([FLOATS[:, :3].copy()], {}),
    "QLinearLeakyRelu": ([BYTES, SCALE, ZERO, SCALE, ZERO], {}),
    "QLinearSigmoid": ([BYTES, SCALE, ZERO, SCALE, ZERO], {}),
    "QLinearSoftmax": ([BYTES, SCALE, ZERO, SCALE, ZERO], {"opset": 13}),
    "QuickGelu": ([FLOATS], {}),
    "SkipLayerNormalization": ([FLOATS.reshape(1, 3, 4), FLOATS.reshape(1, 3, 4), FLOATS[0]], {}),
    "MurmurHash3": ([np.arange(3, dtype=np.int32)], {}),
    "MurmurHash3 signed": ([np.arange(3, dtype=np.int32)], {"positive": 0}),
    "Tokenizer": (
        [np.array(["a b", "c"], object)],
        {"mark": 0, "mincharnum": 1, "pad_value": "#", "separators": [" "]},
    ),
}


@pytest.mark.parametrize(
    ("domain", "strict", "expected"),
    [("", False, ("RMSNormalization", 23)), ("", True, None), ("own", False, None)],
)
def test_the_standard_stands_in_for_an_operator_of_its_own_domain_alone(domain, strict, expected):
    schema = find_schema(default_registry(), "SimplifiedLayerNormalization", 17, domain, strict)
    assert (schema and (schema.name, schema.since_version)) == expected


def number_of(array):
    """Return the number of an array's element type."""
    return TensorProto.STRING if array.dtype == object else helper.np_dtype_to_tensor_dtype(array.dtype)


def model_of(name):
    """Return a model of one node, and its inputs."""
    values, attributes = CASES[name]
    feeds = {f"x{number}": np.asarray(value) for number, value in enumerate(values)}
    node = helper.make_node(name.split()[0], list(feeds), ["y"], domain=DOMAIN, **attributes)
    inputs = [helper.make_tensor_value_info(key, number_of(value), value.shape) for key, value in feeds.items()]
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="y")])
    imports = [helper.make_opsetid("", 13), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8), feeds


@pytest.mark.parametrize("name", CASES)
def test_the_type_is_that_of_the_runtime(name):
    model, feeds = model_of(name)
    (found,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    inferred = opset.infer(model)
    assert NUMBERS[inferred.type("y").element] == number_of(found)
    shape = inferred.shape("y")
    assert shape is None or len(shape) == found.ndim
    assert all(size == real for size, real in zip(shape or (), found.shape, strict=False) if isinstance(size, int))


def test_every_operator_of_the_table_has_a_case():
    assert {*ELEMENT_OF, *SAME, "MurmurHash3", "Tokenizer"} == {name.split()[0] for name in CASES}


def test_what_follows_such_an_operator_is_converted():
    model, feeds = model_of("CDist")
    model.graph.node[0].output[0] = "d"
    model.graph.node.append(helper.make_node("TopK", ["d", "k"], ["t", "y"], largest=0))
    model.graph.initializer.append(helper.make_tensor("k", TensorProto.INT64, [1], [2]))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.INT64, None))
    after = opset.convert(model, 9)
    for each in (model, after):
        (found,) = onnxruntime.InferenceSession(each.SerializeToString()).run(None, feeds)
        assert found.tolist() == np.argsort(((FLOATS[:, None] - FLOATS[:2]) ** 2).sum(-1), axis=1).tolist()


@pytest.mark.parametrize(
    ("graph", "told"),
    [
        ("(string[N,3] x) => (y) { y = com.microsoft.Tokenizer<mark=0>(x) }", "string[N, 3, ?]"),
        ("(string x) => (y) { y = com.microsoft.Tokenizer<mark=0>(x) }", "string[?]"),
        ("(string[] x) => (y) { y = com.microsoft.Tokenizer<mark=0>(x) }", "string"),
        ("(int64[N,3] x) => (y) { y = com.microsoft.MurmurHash3(x) }", "uint32[N, 3]"),
        ("(int64[N,3] x) => (y) { y = com.microsoft.MurmurHash3<positive=0>(x) }", "int32[N, 3]"),
        ("(float[N,3] x, double[M,3] z) => (y) { y = com.microsoft.CDist(x, z) }", "float[N, M]"),
        ("(float[N] x, float[M,3] z) => (y) { y = com.microsoft.CDist(x, z) }", "float[?, M]"),
        ("(double[N,3] x) => (y) { y = com.microsoft.Gelu(x) }", "double[N, 3]"),
        ("(uint8[N,3] x, float16 s) => (y) { y = com.microsoft.DequantizeLinear(x, s) }", "float16[N, 3]"),
        ("(float[N,3] x, float[3,4] z) => (y) { y = com.microsoft.FusedMatMul(x, z) }", "float"),
        ("(float[N,3] x) => (y) { y = com.microsoft.Nonesuch(x) }", "None"),
        ("(float[N,3] x) => (y) { y = own.Gelu(x) }", "None"),
    ],
)
def test_shapes_follow_as_far_as_they_are_sure(graph, told):
    model = opset.parse_model(f'<ir_version: 8, opset_import: ["": 13, "com.microsoft": 1, "own": 1]> g {graph}')
    assert str(opset.infer(model).type("y")) == told
