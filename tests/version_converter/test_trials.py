"""Conversions for an installed runtime: models of one node decide."""

import onnx.parser
import pytest

import opset
from opset.model import load
from opset.opsets.registry import default_registry
from opset.opsets.runtimes.names import find_runtime
from opset.version_converter.conversion import find_lacks

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
