"""Types of what onnxruntime's own operators compute are those that it gives."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import opset
from opset.inference.building.types import tensor
from opset.inference.engine.foreign import DOMAIN, ELEMENT_OF, EXTENSIONS, SAME, foreign_type
from opset.inference.engine.operators import find_schema
from opset.model.elements import NUMBERS
from opset.opsets.registry import default_registry

FLOATS = np.random.default_rng(3).random((3, 4), np.float32)
BYTES, SCALE, ZERO = np.arange(12, dtype=np.uint8).reshape(3, 4), np.float32(0.5), np.uint8(1)
WEIGHTS = np.arange(8, dtype=np.uint8).reshape(4, 2)
QUANTIZED = [BYTES, SCALE, ZERO]
IMAGE = [BYTES.reshape(1, 1, 3, 4), SCALE, ZERO, SCALE, ZERO]
TOKENS = FLOATS.reshape(1, 3, 4)
CASES = {
    "Attention": ([TOKENS, np.ones((4, 12), np.float32), np.zeros(12, np.float32)], {"num_heads": 2}),
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
    "MultiHeadAttention": ([TOKENS, TOKENS, TOKENS], {"num_heads": 2}),
    "QAttention": (
        [BYTES.reshape(1, 3, 4), np.ones((4, 12), np.uint8), np.zeros(12, np.float32), SCALE, SCALE],
        {"num_heads": 2},
    ),
    "QGemm": ([BYTES, SCALE, ZERO, WEIGHTS, SCALE, ZERO, np.zeros(2, np.int32), SCALE, ZERO], {}),
    "QLinearAdd": ([BYTES, SCALE, ZERO, BYTES, SCALE, ZERO, SCALE, ZERO], {}),
    "QLinearAveragePool": (IMAGE, {"kernel_shape": [2, 2]}),
    "QLinearConcat": ([SCALE, ZERO, *QUANTIZED, *QUANTIZED], {"axis": 0}),
    "QLinearGlobalAveragePool": (IMAGE, {}),
    "QLinearMul": ([BYTES, SCALE, ZERO, BYTES, SCALE, ZERO, SCALE, ZERO], {}),
    "QLinearWhere": ([BYTES > 3, *QUANTIZED, *QUANTIZED, SCALE, ZERO], {}),
    "QuantizeLinear": ([FLOATS, SCALE, ZERO], {}),
    "BiasGelu": ([FLOATS, FLOATS[0]], {}),
    "FastGelu": ([FLOATS], {}),
    "Gelu": ([FLOATS], {}),
    "Inverse": ([FLOATS[:, :3].copy()], {}),
    "QLinearLeakyRelu": ([BYTES, SCALE, ZERO, SCALE, ZERO], {}),
    "QLinearSigmoid": ([BYTES, SCALE, ZERO, SCALE, ZERO], {}),
    "QLinearSoftmax": ([BYTES, SCALE, ZERO, SCALE, ZERO], {"opset": 13}),
    "QuickGelu": ([FLOATS], {}),
    "SkipLayerNormalization": ([FLOATS.reshape(1, 3, 4), FLOATS.reshape(1, 3, 4), FLOATS[0]], {}),
    "SkipSimplifiedLayerNormalization": ([TOKENS, TOKENS, FLOATS[0]], {}),
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


@pytest.mark.parametrize("count", range(10))
def test_what_follows_from_the_first_inputs_of_a_node_that_may_be_malformed(count):
    given = [tensor("float", (2, 3)), tensor("float", (2, 3)), *[tensor("float", (3,))] * 8][:count]
    shapes = {"CDist": (2, 2), "DequantizeLinear": (2, 3), "QuantizeLinear": (2, 3), "QLinearAveragePool": (2, None),
              "QLinearGlobalAveragePool": (2, None), "QLinearAdd": (2, 3), "QLinearMul": (2, 3)}  # fmt: skip
    least = {"CDist": 2, "QLinearAdd": 4, "QLinearMul": 4}
    for name, index in ELEMENT_OF.items():
        expected = tensor("float", shapes.get(name) if count >= least.get(name, 0) else None)
        assert foreign_type((name, DOMAIN), given, ()) == (expected if count > index else None)
        assert foreign_type((name, DOMAIN), [None, *given][:count], ()) in (None, tensor("float"))
    for name in SAME:
        assert foreign_type((name, DOMAIN), given, ()) == (given[0] if given else None)
        assert foreign_type((name, DOMAIN), [tensor(None, (2,)), None][:count], ()) is None


def test_shapes_that_are_known_in_part_give_what_follows():
    whole, scale, open_ = tensor("float", (2, 3)), tensor("float", ()), tensor("float")
    for name, given, shape in (
        ("CDist", [open_, whole], (None, 2)), ("CDist", [whole, tensor("float", (2,))], (2, None)),
        ("QLinearAdd", [open_, scale, scale, whole], None), ("QLinearAdd", [whole, scale, scale, open_], None),
        ("QLinearMul", [whole, scale, scale, tensor("float", (5,))], None), ("QLinearAveragePool", [scale], None),
        ("QLinearMul", [whole, scale, scale, tensor("float", (1, 3))], (2, 3)), ("QuantizeLinear", [open_] * 3, None),
    ):  # fmt: skip
        assert foreign_type((name, DOMAIN), given, ()) == tensor("float", shape)


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


PREPROCESSING = """
<ir_version: 8, opset_import: ["": 18, "com.microsoft.extensions": 1]>
g (uint8[n] x, int64[2] sizes) => (y) {
    image = com.microsoft.extensions.DecodeImage(x)
    small = Resize<axes=[0, 1]>(image, , , sizes)
    y = com.microsoft.extensions.EncodeImage<format="png">(small)
}
"""


def test_a_model_with_its_preprocessing_is_converted():
    after = opset.convert(opset.parse_model(PREPROCESSING), 17)
    assert "axes" not in [attribute.name for node in after.graph.node for attribute in node.attribute]


@pytest.mark.parametrize(
    ("graph", "told"),
    [
        ("(string[N,3] x) => (y) { y = com.microsoft.Tokenizer<mark=0>(x) }", "string[N, 3, ?]"),
        ("(string x) => (y) { y = com.microsoft.Tokenizer<mark=0>(x) }", "string[?]"),
        ("(string[] x) => (y) { y = com.microsoft.Tokenizer<mark=0>(x) }", "string"),
        ("(int64[N,3] x) => (y) { y = com.microsoft.MurmurHash3(x) }", "uint32[N, 3]"),
        ("(int64[N,3] x) => (y) { y = com.microsoft.MurmurHash3<positive=0>(x) }", "int32[N, 3]"),
        ("(int64[N,3] x) => (y) { y = com.microsoft.MurmurHash3<seed=0>(x) }", "uint32[N, 3]"),
        ("(uint8[n] x) => (y) { y = com.microsoft.extensions.DecodeImage(x) }", "uint8[?, ?, 3]"),
        ("(uint8[h,w,3] x) => (y) { y = ai.onnx.contrib.EncodeImage(x) }", "uint8[?]"),
        ("(uint8[h,w,3] x, float[n,6] b) => (y) { y = ai.onnx.contrib.DrawBoundingBoxes(x, b) }", "uint8[h, w, 3]"),
        ("(string[N,3] x) => (y) { y = ai.onnx.contrib.StringUpper(x) }", "string[N, 3]"),
        ("(string[N,3] x) => (y) { y = ai.onnx.contrib.StringLength(x) }", "int64[N, 3]"),
        ("(x) => (y) { y = ai.onnx.contrib.StringLength(x) }", "int64"),
        ("(string[N] x) => (y, m) { y, m = ai.onnx.contrib.GPT2Tokenizer(x) }", "int64"),
        ("(float[N,3] x, double[M,3] z) => (y) { y = com.microsoft.CDist(x, z) }", "float[N, M]"),
        ("(float[N] x, float[M,3] z) => (y) { y = com.microsoft.CDist(x, z) }", "float[?, M]"),
        ("(double[N,3] x) => (y) { y = com.microsoft.Gelu(x) }", "double[N, 3]"),
        ("(uint8[N,3] x, float16 s) => (y) { y = com.microsoft.DequantizeLinear(x, s) }", "float16[N, 3]"),
        ("(float[N,3] x, float[3,4] z) => (y) { y = com.microsoft.FusedMatMul(x, z) }", "float"),
        (
            "(uint8[N,1] x, float s, uint8[3] z) => (y) { y = com.microsoft.QLinearAdd(x, s, , z, s, , s) }",
            "uint8[N, 3]",
        ),
        (
            "(uint8[2] x, float s, uint8[3] z) => (y) { y = com.microsoft.QLinearMul(x, s, , z, s, , s) }",
            "uint8",
        ),
        (
            "(uint8[N,3,8,8] x, float s) => (y) { y = com.microsoft.QLinearGlobalAveragePool(x, s, s) }",
            "uint8[N, ?, ?, ?]",
        ),
        ("(float[N,3] x) => (y) { y = com.microsoft.Nonesuch(x) }", "None"),
        ("(float[N,3] x) => (y) { y = own.Gelu(x) }", "None"),
    ],
)
def test_shapes_follow_as_far_as_they_are_sure(graph, told):
    domains = ", ".join(f'"{domain}": 1' for domain in (DOMAIN, *EXTENSIONS, "own"))
    model = opset.parse_model(f'<ir_version: 8, opset_import: ["": 13, {domains}]> g {graph}')
    assert str(opset.infer(model).type("y")) == told


TIED = """
<ir_version: 8, opset_import: ["": 17, "own": 1]>
g (float[N] x, float[1] w, float s, uint8 z) => (float[N] y, float[N] u, int64[1] i) <float[N] v> {
    a = own.Op(x)
    b = Relu(a)
    c = Add(b, w)
    d, e, f, h = own.Ops(x)
    v = Exp(d)
    u = DequantizeLinear(e, s, z)
    y = Reshape(c, f)
    i = Identity(h)
}"""


@pytest.mark.parametrize(
    ("name", "told"),
    [("a", "float"), ("b", "float"), ("d", "float"), ("e", "uint8"), ("f", "int64"), ("h", "int64")],
)
def test_a_value_of_an_unknown_operator_has_the_type_that_what_reads_it_shows(name, told):
    assert str(opset.infer(opset.parse_model(TIED)).type(name)) == told


def test_operands_that_contradict_each_other_show_no_type():
    model = opset.parse_model("""
        <ir_version: 8, opset_import: ["": 17, "own": 1]>
        g (float[2] x, float16[2] h) => (y) { a = own.Op(x)  y = Sum(x, a, h) }""")
    assert opset.infer(model).type("a") is None


def test_what_reads_a_value_of_an_unknown_operator_is_converted():
    after = opset.convert(opset.parse_model(TIED), 9)
    assert {"DequantizeLinear", "QuantizeLinear"}.isdisjoint(node.op_type for node in after.graph.node)


def test_a_value_that_only_operators_of_any_type_read_has_no_type():
    model = opset.parse_model("""
        <ir_version: 8, opset_import: ["": 17, "own": 1]>
        g (float[N] x) => (y) { a = own.Op(x)  b = Relu(a)  y = Abs(b) }""")
    inferred = opset.infer(model)
    assert inferred.type("a") is None
    assert inferred.type("b") is None


def test_a_call_of_a_function_shows_no_type_by_a_schema_of_its_name():
    model = opset.parse_model("""
        <ir_version: 10, opset_import: ["": 17, "own": 1, "ai.onnx.ml": 3]>
        g (float[N] x) => (y) { a = own.Op(x)  y = ai.onnx.ml.ArrayFeatureExtractor(x, a) }
        <domain: "ai.onnx.ml", opset_import: ["": 17]> ArrayFeatureExtractor (p, i) => (q) { q = Identity(p) }""")
    assert opset.infer(model).type("a") is None
