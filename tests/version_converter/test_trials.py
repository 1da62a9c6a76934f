"""Conversions for an installed runtime: models of one node decide."""

from dataclasses import replace

import onnx.parser
import pytest

import opset
from opset.model import load
from opset.model import proto as pb
from opset.model.types import Constant, type_string
from opset.opsets import releases
from opset.opsets.registry import default_registry
from opset.opsets.runtimes.names import find_runtime
from opset.version_converter.availability import RUNS
from opset.version_converter.lacks import Lack
from opset.version_converter.routes import routes_of
from opset.version_converter.survey import Survey
from opset.version_converter.trials import (
    MAX_ZEROS,
    Given,
    Trial,
    _add_input,
    availability_at,
    given_input,
    type_parameter,
)
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
        (Given("seq(tensor(float))", SEVEN), "input seq(tensor(float)) None"),
        (Given("", SEVEN), "input None None"),
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
    found = [*Survey(load(model), default_registry()).find_lacks(find_runtime("installed:onnxruntime"))]
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
    text = '<ir_version: 10, opset_import: ["": 21]> m (float[2] x) => (float[2] y) { y = ai.onnx.ml.LabelEncoder (x) }'
    runtime = find_runtime("npu==1.0", [runtime_file(tmp_path, takes())])
    assert [*Survey(load(onnx.parser.parse_model(text)), default_registry()).find_lacks(runtime)] == []
    imported = onnx.parser.parse_model(text.replace("21]", '21, "ai.onnx.ml": 1]'))
    (lack,) = Survey(load(imported), default_registry()).find_lacks(runtime)
    assert lack.message == "LabelEncoder does not run on npu 1.0"


class Recorder:
    """A loader that keeps the models it is given, as text, and refuses those with a text in `refused`."""

    package, version, release = "npu", "1.0", "1.0"

    def __init__(self, *refused):
        self.refused, self.models = refused, []

    def load(self, model):
        self.models.append(model)
        text = outline(model)
        return next((each for each in self.refused if each in text), "")


def outline(model):
    """Return the parts of a model of one node in one line."""
    proto = pb.ModelProto.FromString(model)
    graph, values = proto.graph, []
    for value in (*graph.input, *graph.output):
        tensor = value.type.tensor_type
        sizes = [each.dim_value or "?" for each in tensor.shape.dim] if tensor.HasField("shape") else ""
        values.append(f"{value.name}: {type_string(value.type)}{sizes}")
    tensors = [f"{each.name} = {each.data_type}{[*each.dims]}" for each in graph.initializer]
    node = graph.node[0]
    call = f"{[*node.output]} = {node.op_type}<{', '.join(each.name for each in node.attribute)}>{[*node.input]}"
    imports = ", ".join(f"{each.domain}:{each.version}" for each in proto.opset_import)
    return f"{proto.ir_version} {graph.name} {imports} | {'; '.join([*values, *tensors])} | {call}"


def asked(folder, text, *refused, domain="", inexact=False, **keys):
    """Return the judgement of the last node of a model, and the models that a loader was given for it."""
    loader = Recorder(*refused)
    file = runtime_file(folder, takes("TopK", "Conv", "Dropout"), **keys)
    runtime = replace(find_runtime("npu==1.0", [file]), loader=loader)
    survey = Survey(load(onnx.parser.parse_model(text)), default_registry())
    body = survey.index.bodies[0]
    facts, node = survey.facts[body], body.nodes[-1]
    availability = availability_at(runtime, routes_of(default_registry(), ""), inexact)
    judgement = availability.judge(node, facts.versions[domain], facts)
    assert availability.judge(node, facts.versions[domain], facts) is judgement
    return judgement, [outline(each) for each in loader.models]


HEAD = '<ir_version: 10, opset_import: ["": 17]> m '


@pytest.mark.parametrize(
    ("text", "loaded"),
    [
        (HEAD + "(float[N, 2] x, float[2] w) => (float[N, 2] y) { y = Add (x, w) }",
         "8 node :17 | i1: tensor(float)['?', 2]; i2: tensor(float)[2]; o0: tensor(float)"
         " | ['o0'] = Add<>['i1', 'i2']"),
        (HEAD + "(float[2] x) => (float[2] y) { y = Add (x, x) }",
         "8 node :17 | i1: tensor(float)[2]; o0: tensor(float) | ['o0'] = Add<>['i1', 'i1']"),
        (HEAD + "(float[2] x) => (bool[2] y) { z, y = Dropout (x) }",
         "8 node :17 | i1: tensor(float)[2]; o0: tensor(float); o1: tensor(bool) | ['o0', 'o1'] = Dropout<>['i1']"),
        (HEAD + "(float[8] x) => (int64[k] y) <int64[1] k = {2}> { , y = TopK <axis = 0> (x, k) }",
         "8 node :17 | i1: tensor(float)[8]; o1: tensor(int64); i2 = 7[1] | ['', 'o1'] = TopK<axis>['i1', 'i2']"),
        (HEAD.replace("17", "7") + "(float[8] x) => (float[8] y) { y = Relu (x) }",
         "4 node :7 | i1: tensor(float)[8]; o0: tensor(float) | ['o0'] = Relu<>['i1']"),
        (HEAD.replace("17]", '17, "ai.onnx.ml": 3]') + "(float[8] x) => (float[8] y) { y = ai.onnx.ml.Scaler (x) }",
         "8 node :17, ai.onnx.ml:3 | i1: tensor(float)[8]; o0: tensor(float) | ['o0'] = Scaler<>['i1']"),
        (HEAD.replace('"": 17', '"ai.onnx.ml": 3') + "(float[8] x) => (float[8] y) { y = ai.onnx.ml.Scaler (x) }",
         None),
        (HEAD + "(float[2] x) => (float[2] y) <float w = {2.0}> { y = Clip (x, , w) }",
         "8 node :17 | i1: tensor(float)[2]; o0: tensor(float); i2 = 1[] | ['o0'] = Clip<>['i1', '', 'i2']"),
    ],
)  # fmt: skip
def test_a_model_of_a_node_alone_has_its_types_sizes_and_constants(tmp_path, text, loaded):
    judgement, models = asked(tmp_path, text, domain="ai.onnx.ml" if "Scaler" in text else "")
    assert judgement == RUNS
    if loaded is None:
        loaded = (
            f"4 node :{releases.opset_beside({})}, ai.onnx.ml:3 | i1: tensor(float)[8]; "
            "o0: tensor(float) | ['o0'] = Scaler<>['i1']"
        )
    assert models == [loaded]


def test_a_model_of_a_node_alone_has_no_higher_ir_version_than_the_runtime_takes(tmp_path):
    row = {"release": "1.0", "opset": [7, 21], "ir": 6, "how": "documented"}
    _, (model,) = asked(tmp_path, HEAD + "(float[8] x) => (float[8] y) { y = Relu (x) }", releases=[row])
    assert model.startswith("6 node :17 |")


def test_types_in_which_a_node_would_load_help(tmp_path):
    text = HEAD + "(int16[8] x, int16[8] w) => (bool[8] y) { y = Less (x, w) }"
    judgement, models = asked(tmp_path, text, "int16", "double")
    assert judgement.lack == Lack("npu does not load Less 13: int16", {"T": frozenset({"float", "int32", "int64"})})
    elements = [each.split("i1: tensor(")[1].split(")")[0] for each in models]
    assert elements[0] == "int16" and sorted(elements[1:]) == ["float", "int32", "int64"]
    assert [each.split(" | ")[1] for each in models] == [
        f"i1: tensor({element})[8]; i2: tensor({element})[8]; o0: tensor(bool)" for element in elements
    ]


def test_an_output_of_another_parameter_keeps_its_type_where_an_input_has_another(tmp_path):
    text = HEAD + "(int64[8] x, int64[1] k) => (int64[n] y, int64[n] i) { y, i = TopK <axis = 0> (x, k) }"
    judgement, models = asked(tmp_path, text, "i1: tensor(int64)", inexact=True)
    assert judgement.lack.elements == {"T": frozenset({"int32"})}
    assert models[1].split(" | ")[1] == (
        "i1: tensor(int32)[8]; i2: tensor(int64)[1]; o0: tensor(int32); o1: tensor(int64)"
    )


def test_types_with_other_results_help_only_if_they_are_permitted(tmp_path):
    text = HEAD + "(double[8] x, double[8] w) => (double[8] y) { y = Add (x, w) }"
    refused, models = asked(tmp_path, text, "double")
    assert refused.lack == Lack("npu does not load Add 14: double") and len(models) == 1
    refused, models = asked(tmp_path, text, "double", inexact=True)
    assert refused.lack == Lack("npu does not load Add 14: double", {"T": frozenset({"float"})})
    assert [each.split(" | ")[1] for each in models] == [
        f"i1: tensor({element})[8]; i2: tensor({element})[8]; o0: tensor({element})" for element in ("double", "float")
    ]


def test_inputs_that_load_as_constants_help(tmp_path):
    text = (
        HEAD
        + """(float[2, 4] x) => (float[n] y) {
        s = Shape (x) m = ReduceProd <keepdims = 1> (s) y = Reshape (x, m) }"""
    )
    judgement, models = asked(tmp_path, text, "i2: tensor(int64)")
    assert judgement.lack == Lack("npu does not load Reshape 14: i2: tensor(int64)", constants=(1,))
    assert [each.split(" | ")[1] for each in models] == [
        "i1: tensor(float)[2, 4]; i2: tensor(int64)[1]; o0: tensor(float)",
        "i1: tensor(float)[2, 4]; o0: tensor(float); i2 = 7[1]",
    ]
    judgement, _ = asked(tmp_path, text, "Reshape")
    assert judgement.lack == Lack("npu does not load Reshape 14: Reshape")
    constant = HEAD + "(float[2, 4] x) => (float[n] y) <int64[1] m = {8}> { y = Reshape (x, m) }"
    judgement, models = asked(tmp_path, constant, "i1")
    assert judgement.lack == Lack("npu does not load Reshape 14: i1") and len(models) == 1


def test_a_node_that_loads_may_have_a_fault(tmp_path):
    fault = {"versions": [1, None], "result": "wrong", "gives": "zeros", "opsets": [16, 17]}
    text = HEAD + "(float[8] x) => (float[8] y) { y = Relu (x) }"
    found, _ = asked(tmp_path, text, faults={"ai.onnx": {"Relu": [fault]}})
    assert found.lack is not None and found.lack.is_wrong and "zeros" in found.lack.why


def test_the_last_formal_stands_for_all_that_follow():
    loop = default_registry().schema("Loop", 21)
    assert [type_parameter(loop.inputs, at) for at in (0, 1, 2, 3, 9)] == ["I", "B", "V", "V", "V"]
    assert type_parameter([], 0) == ""


def test_a_constant_is_not_loaded_and_a_model_that_cannot_be_made_is_a_reason(tmp_path):
    constant = HEAD + "() => (float[2] y) { y = Constant <value_floats = [1.0, 2.0]> () }"
    assert asked(tmp_path, constant) == (RUNS, [])

    class Failing(Recorder):
        def load(self, model):
            raise ValueError("too large")

    runtime = replace(find_runtime("npu==1.0", [runtime_file(tmp_path, takes())]), loader=Failing())
    node = pb.NodeProto(op_type="Relu", input=["x"], output=["y"])
    trial = Trial(runtime, node, {"": 17}, [Given("tensor(float)")], ["tensor(float)"])
    assert trial.load() == "no model of the node alone can be made: too large"


def test_an_input_that_is_left_out_is_no_constant_that_helps(tmp_path):
    text = HEAD + "(float[2, 4] x) => (float[2, 4] y) { s = Shape (x) z = Cast <to = 1> (s) y = Clip (x, , z) }"
    judgement, models = asked(tmp_path, text, "Clip")
    assert judgement.lack == Lack("npu does not load Clip 13: Clip")
    assert [each.split(" | ")[1] for each in models] == [
        "i1: tensor(float)[2, 4]; i2: tensor(float)[2]; o0: tensor(float)",
        "i1: tensor(float)[2, 4]; o0: tensor(float); i2 = 1[2]",
    ]
