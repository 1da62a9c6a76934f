"""Conversions for an installed runtime: models of one node decide."""

import onnx.parser
import pytest

import opset
from opset.model import load
from opset.model import proto as pb
from opset.model.types import Constant, type_string
from opset.opsets.registry import default_registry
from opset.opsets.runtimes.names import find_runtime
from opset.version_converter.conversion import find_lacks
from opset.version_converter.trials import MAX_ZEROS, Given, _add_input, given_input
from tests.version_converter.npu import runtime_file, takes

onnxruntime = pytest.importorskip("onnxruntime")
FILTER = """<ir_version: 10, opset_import: ["": 21, "com.microsoft": 15]>
filter (double[batch, 1, 8, 8] x, double[4, 1, 3, 3] w) => (double[batch, 4, 6, 6] y) { y = Conv (x, w) }"""


def plan(text, **also):
    return opset.plan(onnx.parser.parse_model(text), runtime="installed:onnxruntime", **also)


def loads(model):
    onnxruntime.set_default_logger_severity(4)
    onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def test_a_node_that_does_not_load_is_refused_with_the_reason():
    (refusal,) = plan(FILTER).refusals
    assert refusal.code == "C209" and "Conv cannot run on installed:onnxruntime" in refusal.message
    assert "does not load Conv 11: Could not find an implementation" in refusal.why
    assert "onnxruntime" in plan(FILTER).notes[0]


def test_another_type_that_loads_helps():
    given = onnx.parser.parse_model(FILTER)
    converted = opset.convert(given, runtime="installed:onnxruntime", inexact_types=True)
    assert [node.op_type for node in converted.graph.node] == ["Cast", "Cast", "Conv", "Cast"]
    loads(converted)


def test_what_does_not_load_is_lowered():
    text = """<ir_version: 10, opset_import: ["": 22]> m (double[2, 4] x) => (double[2, 4] y) {
        y = HardSwish (x) }"""
    converted = opset.convert(onnx.parser.parse_model(text), runtime="installed:onnxruntime")
    loads(converted)


SEVEN = (1, 7)


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (Given("tensor(float)", SEVEN), "input tensor(float) [1, 7]"),
        (Given("tensor(float)", ("N", 7)), "input tensor(float) [None, 7]"),
        (Given("tensor(float)", None, True), "input tensor(float) None"),
        (Given("tensor(float)", ("N", 7), True), "input tensor(float) [None, 7]"),
        (Given("tensor(float)", SEVEN, True), "1 [1, 7] 28"),
        (Given("tensor(int4)", SEVEN, True), "22 [1, 7] 4"),
        (Given("tensor(bool)", (), True), "9 [] 1"),
        (Given("tensor(float)", (MAX_ZEROS,), True), f"1 [{MAX_ZEROS}] {4 * MAX_ZEROS}"),
        (Given("tensor(float)", (MAX_ZEROS + 1,), True), f"input tensor(float) [{MAX_ZEROS + 1}]"),
        (Given("tensor(string)", SEVEN, True), "input tensor(string) [1, 7]"),
        (Given("seq(tensor(float))", None, True), "input seq(tensor(float)) None"),
        (Given("tensor(int64)", (2,), True, Constant("int64", (2,), (3, 4))), "7 [2] 030000000000000004"),
    ],
)
def test_a_constant_is_an_initializer_if_it_is_small_and_its_shape_is_known(given, made):
    graph = pb.GraphProto()
    _add_input(graph, "i", given)
    found = []
    for value in graph.input:
        tensor = value.type.tensor_type
        sizes = [each.dim_value or None for each in tensor.shape.dim] if tensor.HasField("shape") else None
        found.append(f"input {type_string(value.type)} {sizes}")
    for tensor in graph.initializer:
        content = len(tensor.raw_data) if not any(tensor.raw_data) else tensor.raw_data.rstrip(b"\0").hex()
        found.append(f"{tensor.data_type} {[*tensor.dims]} {content}")
    assert found == [made]


def test_an_input_that_is_left_out_has_no_facts():
    assert given_input("", None) == Given("")


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("float[2] x) => (float[2] y) { y = Relu (x)", True),
        ("double[1, 1, 4, 4] x) => (double[1, 1, 2, 2] y) { y = AveragePool <kernel_shape = [3, 3]> (x)", False),
        ("float[2] x) => (float[2] y) <float[2] w = {1.0, 2.0}> { y = Add (x, w)", True),
        ("string[2] x) => (string[2] y) { y = Identity (x)", True),
        ("seq(float[2]) x) => (float[2] y) <int64 i = {0}> { y = SequenceAt (x, i)", True),
        ("bool b, float[2] x) => (float[2] y) { y = If (b) <then_branch = t () => (float[2] z) { z = Neg (x) },"
         " else_branch = e () => (float[2] q) { q = Abs (x) }>", True),
    ],
)  # fmt: skip
def test_the_runtime_itself_agrees(text, runs):
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> m ({text} }}')
    found = [*find_lacks(load(model), find_runtime("installed:onnxruntime"), default_registry())]
    if runs:
        loads(model)
        assert found == []
    else:
        with pytest.raises(Exception, match="NOT_IMPLEMENTED"):
            loads(model)
        assert found


def test_functions_and_types_that_differ_by_call():
    text = """<ir_version: 9, opset_import: ["": 17, "local": 1]>
    m (float[2] x, double[2] d) => (float[2] y, double[2] e) { y = local.f (x)  e = local.f (d) }
    <opset_import: ["": 17], domain: "local"> f (x) => (y) { y = Neg (x) }"""
    assert plan(text).refusals == []
    reference = """<ir_version: 9, opset_import: ["": 17, "local": 1]>
    m (float[2, 2] x) => (float[2, 2] y) { y = local.f <a = 1> (x) }
    <opset_import: ["": 17], domain: "local"> f <a> (x) => (y) { y = Softmax <axis: int = @a> (x) }"""
    assert plan(reference).refusals == []


def test_a_node_whose_type_is_unknown_in_one_of_its_calls_is_judged_by_the_table():
    text = """<ir_version: 10, opset_import: ["": 21, "com.acme": 1, "this": 1]>
    m (float[2] x) => (float[2] y, float[2] z) { u = com.acme.F (x) y = this.f (x) z = this.f (u) }
    <opset_import: ["": 21], domain: "this"> f (a) => (b) { b = Neg (a) }"""
    (refusal,) = plan(text).refusals
    assert "it takes not every type of 'X', and the node's is not known" in refusal.why


def test_a_node_of_a_domain_that_the_model_does_not_import_is_not_judged(tmp_path):
    text = '<ir_version: 10, opset_import: ["": 21]> m (float[2] x) => (float[2] y) { y = ai.onnx.ml.Scaler (x) }'
    runtime = find_runtime("npu==1.0", [runtime_file(tmp_path, takes())])
    assert [*find_lacks(load(onnx.parser.parse_model(text)), runtime, default_registry())] == []
    imported = onnx.parser.parse_model(text.replace("21]", '21, "ai.onnx.ml": 1]'))
    assert [each.since for each in find_lacks(load(imported), runtime, default_registry())] == [1]
