"""What a repair changes, and that it changes nothing else."""

import random
from collections import Counter

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opset
from judges.fuzz.mending import KINDS, graphs
from judges.fuzz.repairing import GOOD, UNFIT, judge_model, sources
from opset.checker.pages import bad_model, fixtures, set_field
from opset.checker.table import CHECKER
from opset.opsets.registry import default_registry
from tests.bounds import draws, growth

HEAD = '<ir_version: 8, opset_import: ["": 17]>\n'
MAIN = HEAD + "main (float[N, 3] x) => (float[N, 3] y) "
HEAD_WITH_FUNCTION = (
    '<ir_version: 8, opset_import: ["": 17, "o": 1]> main (int64[3] x) => (int64[1, 3] y) { y = o.f (x) }'
    ' <domain: "o", opset_import: ["": 17]> '
)
BRANCHES = HEAD + (
    "main (bool c, float[N] x) => (float[N] y) { s = Neg (x) y = If (c) "
    "<then_branch = a () => (float[N] p) { %s }, else_branch = b () => (float[N] n) { n = Identity (s) }> }"
)
FUNCTION = """
main (float[N] x) => (float[N] y) { y = com.example.Leak (x) }
<domain: "com.example"%s>
Leak (a) => (b) { b = LeakyRelu (a) }"""


def message(text, edits=None):
    """Return the model of a text with edits, by path and value."""
    model = opset.parse_model(text)
    for path, value in (edits or {}).items():
        set_field(model, path, value)
    return model


def repaired(model, **options):
    """Return a repair, and the mended message."""
    found = opset.repair(model.SerializeToString(), **options)
    return found, type(model).FromString(found.model.SerializeToString())


def shared_in_branch(name):
    """Return edits that add a sparse initializer to a branch, of which a node has a part on a device."""
    none = {"dims": [0]}
    held = {"dims": [3], "values": none | {"name": name, "data_type": 1}, "indices": none | {"data_type": 7}}
    shared = {"configuration_id": "c", "sharding_spec": [{"tensor_name": name}]}
    return {
        "ir_version": 11,
        "configuration": [{"name": "c", "num_devices": 1}],
        "graph.node[1].attribute[0].g.sparse_initializer": [held],
        "graph.node[1].attribute[0].g.node[0].device_configurations": [shared],
    }


# Code, the faulty model, the mended one: texts, or a text and edits.
MENDED = {
    "order": ("M110", MAIN + "{ y = Neg (t) t = Relu (x) }", MAIN + "{ t = Relu (x) y = Neg (t) }"),
    "order in a graph": ("M110", BRANCHES % "p = Neg (t) t = Relu (s)", BRANCHES % "t = Relu (s) p = Neg (t)"),
    "order for a graph": (
        "M110",
        HEAD + "main (bool c, float[N] x) => (float[N] y) { y = If (c) <then_branch = a () => (p) { p = Neg (s) },"
        " else_branch = b () => (n) { n = Neg (x) }> s = Relu (x) }",
        HEAD + "main (bool c, float[N] x) => (float[N] y) { s = Relu (x) y = If (c) <then_branch = a () => (p)"
        " { p = Neg (s) }, else_branch = b () => (n) { n = Neg (x) }> }",
    ),
    "equal imports": ("W107", (MAIN + "{ y = Relu (x) }", {"opset_import[+]": {"domain": "ai.onnx", "version": 17}}),
                      MAIN + "{ y = Relu (x) }"),
    "import of a function": (
        "G104",
        '<ir_version: 8, opset_import: ["": 17, "com.example": 1]>' + FUNCTION % "",
        '<ir_version: 8, opset_import: ["": 17, "com.example": 1]>' + FUNCTION % ', opset_import: ["": 17]',
    ),
    "import of functions": (
        "G104",
        HEAD + FUNCTION % ', opset_import: ["": 17]',
        '<ir_version: 8, opset_import: ["": 17, "com.example": 1]>' + FUNCTION % ', opset_import: ["": 17]',
    ),
    "import of a domain whose operators have one version": (
        "G104",
        HEAD + "main (float[N, 3] x) => (float[N, 3] y) { y = ai.onnx.ml.Scaler (x) }",
        '<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 1]>'
        " main (float[N, 3] x) => (float[N, 3] y) { y = ai.onnx.ml.Scaler (x) }",
    ),
    "IR version": (
        "G101",
        (MAIN + "{ y = Relu (x) }", {"ir_version": None}),
        (MAIN + "{ y = Relu (x) }", {"ir_version": 3}),
    ),
    "IR version that initializers need": (
        "G101",
        (MAIN + "<float[3] w = {1, 2, 3}> { y = Mul (x, w) }", {"ir_version": None}),
        (MAIN + "<float[3] w = {1, 2, 3}> { y = Mul (x, w) }", {"ir_version": 4}),
    ),
    "IR version of a type": (
        "G214",
        HEAD.replace("17", "20") + "main (float8e4m3fn[N] x) => (float8e4m3fn[N] y) { y = Identity (x) }",
        '<ir_version: 9, opset_import: ["": 20]> main (float8e4m3fn[N] x) => (float8e4m3fn[N] y) { y = Identity (x) }',
    ),
    "IR version of a type beside functions, which came before": (
        "G214",
        '<ir_version: 8, opset_import: ["": 20, "com.example": 1]> main (float8e4m3fn[N] x, float[N] z) => '
        "(float8e4m3fn[N] y, float[N] w) { y = Identity (x) w = com.example.Leak (z) } "
        '<domain: "com.example", opset_import: ["": 20]> Leak (a) => (b) { b = LeakyRelu (a) }',
        '<ir_version: 9, opset_import: ["": 20, "com.example": 1]> main (float8e4m3fn[N] x, float[N] z) => '
        "(float8e4m3fn[N] y, float[N] w) { y = Identity (x) w = com.example.Leak (z) } "
        '<domain: "com.example", opset_import: ["": 20]> Leak (a) => (b) { b = LeakyRelu (a) }',
    ),
    "IR version from 3 on keeps constants": (
        "W202",
        ('<ir_version: 3, opset_import: ["": 8]> main (float[N] x, float[1] w) => (float[N] y) <float[1] w = {2}>'
         " { y = Mul (x, w) }", {"graph.node[0].metadata_props[+]": {"key": "a", "value": "b"}}),
        ('<ir_version: 10, opset_import: ["": 8]> main (float[N] x) => (float[N] y) <float[1] w = {2}>'
         " { y = Mul (x, w) }", {"graph.node[0].metadata_props[+]": {"key": "a", "value": "b"}}),
    ),
    "IR version of annotations and of what is none": (
        "G214",
        ('<ir_version: 3, opset_import: ["": 20]> main (float8e4m3fn[N] x) => (float8e4m3fn[N] y)'
         " { y = Identity (x) }", {"graph.node[0].metadata_props[+]": {"key": "a", "value": "b"}}),
        ('<ir_version: 10, opset_import: ["": 20]> main (float8e4m3fn[N] x) => (float8e4m3fn[N] y)'
         " { y = Identity (x) }", {"graph.node[0].metadata_props[+]": {"key": "a", "value": "b"}}),
    ),
    "initializers of old models": (
        "G208",
        '<ir_version: 3, opset_import: ["": 8]> main (float[N] x) => (float[N] y) <float[1] w = {2}>'
        " { y = Mul (x, w) }",
        '<ir_version: 3, opset_import: ["": 8]> main (float[N] x, float[1] w) => (float[N] y) <float[1] w = {2}>'
        " { y = Mul (x, w) }",
    ),
    "stale value_info": ("W201", MAIN + "<float[9] t> { y = Relu (x) }", MAIN + "{ y = Relu (x) }"),
    "stale value_info beside what is stated of a value around": (
        "W201",
        (BRANCHES % "p = Neg (s)", {"graph.node[1].attribute[0].g.value_info": [
            {"name": each, "type": {"tensor_type": {"elem_type": 1}}} for each in ("s", "gone")]}),
        (BRANCHES % "p = Neg (s)", {"graph.node[1].attribute[0].g.value_info": [
            {"name": "s", "type": {"tensor_type": {"elem_type": 1}}}]}),
    ),
    "equal value_info": ("G211", MAIN + "<float[N, 3] t, float[N, 3] t> { t = Relu (x) y = Neg (t) }",
                         MAIN + "<float[N, 3] t> { t = Relu (x) y = Neg (t) }"),
    "different value_info": ("G211", MAIN + "<float[N, 3] t, float[9] t> { t = Relu (x) y = Neg (t) }",
                             MAIN + "{ t = Relu (x) y = Neg (t) }"),
    "value_info of an input": ("G212", MAIN + "<float[9] x> { y = Relu (x) }", MAIN + "{ y = Relu (x) }"),
    "wrong value_info": ("I101", MAIN + "<float16[9] t> { t = Relu (x) y = Neg (t) }",
                         MAIN + "<float[N, 3] t> { t = Relu (x) y = Neg (t) }"),
    "type of an output": ("G203", HEAD + "main (float[N, 3] x) => (y) { y = Relu (x) }", MAIN + "{ y = Relu (x) }"),
    "shape of an output": ("G204", (MAIN + "{ y = Relu (x) }", {"graph.output[0].type.tensor_type.shape": None}),
                           MAIN + "{ y = Relu (x) }"),
    "negative size": (
        "G606",
        (MAIN + "{ y = Relu (x) }", {"graph.output[0].type.tensor_type.shape.dim[0]": {"dim_value": -1}}),
        HEAD + "main (float[N, 3] x) => (float[?, 3] y) { y = Relu (x) }",
    ),
    "negative size and one with an empty name": (
        "G606",
        (MAIN + "{ y = Relu (x) }", {"graph.output[0].type.tensor_type.shape.dim[0]": {"dim_value": -1},
                                     "graph.output[0].type.tensor_type.shape.dim[1]": {"dim_param": ""}}),
        HEAD + "main (float[N, 3] x) => (float[?, ?] y) { y = Relu (x) }",
    ),
    "size with an empty name": (
        "W602",
        (MAIN + "{ y = Relu (x) }", {"graph.output[0].type.tensor_type.shape.dim[0]": {"dim_param": ""}}),
        HEAD + "main (float[N, 3] x) => (float[?, 3] y) { y = Relu (x) }",
    ),
    "attribute without type": (
        "G305",
        (MAIN + "{ y = LeakyRelu <alpha = 0.5> (x) }", {"graph.node[0].attribute[0].type": None}),
        MAIN + "{ y = LeakyRelu <alpha = 0.5> (x) }",
    ),
    "attribute of another version": (
        "G324",
        MAIN + "{ y = Relu <consumed_inputs = [0]> (x) }",
        MAIN + "{ y = Relu (x) }",
    ),
    "attribute in upper case": (
        "G327",
        HEAD + "main (float[1, 1, 4, 4] x, float[1, 4] r, int64[1] b) => (float[1, 1, 1, 1] y) "
        '{ y = RoiAlign <mode = "MAX"> (x, r, b) }',
        HEAD + "main (float[1, 1, 4, 4] x, float[1, 4] r, int64[1] b) => (float[1, 1, 1, 1] y) "
        '{ y = RoiAlign <mode = "max"> (x, r, b) }',
    ),
    "attribute twice": (
        "G304",
        (MAIN + "{ y = LeakyRelu <alpha = 0.5> (x) }",
         {"graph.node[0].attribute[+]": {"name": "alpha", "type": 1, "f": 0.5}}),
        MAIN + "{ y = LeakyRelu <alpha = 0.5> (x) }",
    ),
    "scalar axes": (
        "W302",
        HEAD + "main (float[3] x) => (float[1, 3] y) <int64 a = {0}> { y = Unsqueeze (x, a) }",
        HEAD + "main (float[3] x) => (float[1, 3] y) <int64[1] a = {0}> { y = Unsqueeze (x, a) }",
    ),
    "scalar axes of a Constant": (
        "W302",
        HEAD + "main (float[3] x) => (float[1, 3] y) { a = Constant <value_int = 0> () y = Unsqueeze (x, a) }",
        HEAD + "main (float[3] x) => (float[1, 3] y) { a = Constant <value_ints = [0]> () y = Unsqueeze (x, a) }",
    ),
    "scalar axes of which a type is stated": (
        "W302",
        HEAD + "main (float[3] x) => (float[1, 3] y, float[1, 3] z, int64 n) <int64 a, int64[] b, int64 c> {"
        " c = Size (x) a = Constant <value_int = 0> () b = Constant <value_int = 0> () y = Unsqueeze (x, a)"
        " z = Unsqueeze (x, b) n = Neg (c) }",
        HEAD + "main (float[3] x) => (float[1, 3] y, float[1, 3] z, int64 n) <int64[1] a, int64[] b, int64 c>"
        " { c = Size (x) a = Constant <value_ints = [0]> () b = Constant <value_ints = [0]> () y = Unsqueeze (x, a)"
        " z = Unsqueeze (x, b) n = Neg (c) }",
    ),
    "scalar axes that are stated to be a vector": (
        "W302",
        HEAD + "main (float[3] x) => (float[1, 3] y) <int64[1] a>"
        " { a = Constant <value_int = 0> () y = Unsqueeze (x, a) }",
        HEAD + "main (float[3] x) => (float[1, 3] y) <int64[1] a>"
        " { a = Constant <value_ints = [0]> () y = Unsqueeze (x, a) }",
    ),
    "scalar axes that are read elsewhere": (
        "W302",
        HEAD + "main (float[3] x) => (float[1, 3] y, int64 z) <int64 a = {0}, int64 b = {4}> "
        "{ y = Unsqueeze (x, a) z = Add (a, b) }",
        HEAD + "main (float[3] x) => (float[1, 3] y, int64 z) <int64 a = {0}, int64 b = {4}, int64[1] a_1 = {0}> "
        "{ y = Unsqueeze (x, a_1) z = Add (a, b) }",
    ),
    "scalar axes in a Constant that is read elsewhere": (
        "W302",
        HEAD + "main (float[3] x) => (float[1, 3] y, int64 z) "
        "{ a = Constant <value = int64 {0}> () y = Unsqueeze (x, a) z = Neg (a) }",
        HEAD + "main (float[3] x) => (float[1, 3] y, int64 z) "
        "{ a = Constant <value = int64 {0}> () a_1 = Constant <value = int64[1] {0}> () y = Unsqueeze (x, a_1)"
        " z = Neg (a) }",
    ),
    "scalar axes in Constants that are read elsewhere": (
        "W302",
        HEAD + "main (float[3] x) => (float[1, 3] y, float[3, 1] z, int64 n) { a = Constant <value = int64 {0}> ()"
        " b = Constant <value = int64 {1}> () y = Unsqueeze (x, a) z = Unsqueeze (x, b) n = Add (a, b) }",
        HEAD + "main (float[3] x) => (float[1, 3] y, float[3, 1] z, int64 n) { a = Constant <value = int64 {0}> ()"
        " a_1 = Constant <value = int64[1] {0}> () b = Constant <value = int64 {1}> ()"
        " b_1 = Constant <value = int64[1] {1}> () y = Unsqueeze (x, a_1) z = Unsqueeze (x, b_1) n = Add (a, b) }",
    ),
    "scalar axes in a function": (
        "W302",
        HEAD_WITH_FUNCTION + "f (a) => (b) { i = Constant <value_int = 0> () b = Unsqueeze (a, i) }",
        HEAD_WITH_FUNCTION + "f (a) => (b) { i = Constant <value_ints = [0]> () b = Unsqueeze (a, i) }",
    ),
    "scalar axes in a function that are read elsewhere": (
        "W302",
        HEAD_WITH_FUNCTION + "f (a) => (b) { i = Constant <value_int = 0> () c = Unsqueeze (a, i) b = Add (c, i) }",
        HEAD_WITH_FUNCTION + "f (a) => (b) { i = Constant <value_int = 0> () i_1 = Constant <value_ints = [0]> ()"
        " c = Unsqueeze (a, i_1) b = Add (c, i) }",
    ),
    "node names": (
        "G213",
        MAIN + "{ [a] t = Relu (x) [a] y = Neg (t) }",
        MAIN + "{ [a] t = Relu (x) [a_1] y = Neg (t) }",
    ),
    "graph name": ("G201", (MAIN + "{ y = Relu (x) }", {"graph.name": None}), MAIN + "{ y = Relu (x) }"),
    "shadowing": ("G207", BRANCHES % "s = Relu (x) p = Neg (s)", BRANCHES % "s_1 = Relu (x) p = Neg (s_1)"),
    "outputs of a graph around": (
        "G216",
        BRANCHES.replace("(float[N] p)", "(float[N] s)") % "",
        BRANCHES.replace("(float[N] p)", "(float[N] s_1)") % "s_1 = Identity (s)",
    ),
    "metadata": (
        "W102",
        (MAIN + "{ y = Relu (x) }", {"metadata_props": [{"key": "a", "value": "b"}, {"key": "a", "value": "b"}]}),
        (MAIN + "{ y = Relu (x) }", {"metadata_props": [{"key": "a", "value": "b"}]}),
    ),
    "annotations": (
        "G713",
        (MAIN + "{ y = Relu (x) }", {"graph.quantization_annotation": [{"tensor_name": "x"}, {"tensor_name": "x"}]}),
        (MAIN + "{ y = Relu (x) }", {"graph.quantization_annotation": [{"tensor_name": "x"}]}),
    ),
    "entries of an annotation": (
        "G714",
        (MAIN + "{ y = Relu (x) }",
         {"graph.quantization_annotation": [{"tensor_name": "x", "quant_parameter_tensor_names": [
             {"key": "SCALE_TENSOR", "value": "x"}, {"key": "SCALE_TENSOR", "value": "x"}]}]}),
        (MAIN + "{ y = Relu (x) }",
         {"graph.quantization_annotation": [{"tensor_name": "x", "quant_parameter_tensor_names": [
             {"key": "SCALE_TENSOR", "value": "x"}]}]}),
    ),
    "names of graphs that others have": (
        "G201",
        (BRANCHES % "p = Neg (s)",
         {"graph.name": None, "graph.node[1].attribute[0].g.name": "main", "graph.node[1].attribute[1].g.name": None}),
        (BRANCHES % "p = Neg (s)",
         {"graph.name": "main_1", "graph.node[1].attribute[0].g.name": "main",
          "graph.node[1].attribute[1].g.name": "else_branch"}),
    ),
    "shadowing that graphs inside read": (
        "G207",
        BRANCHES % ("s = Relu (x) p = If (c) <then_branch = d () => (float[N] q) { q = Neg (s) },"
                    " else_branch = e () => (float[N] r) { r = Neg (x) }>"),
        BRANCHES % ("s_1 = Relu (x) p = If (c) <then_branch = d () => (float[N] q) { q = Neg (s_1) },"
                    " else_branch = e () => (float[N] r) { r = Neg (x) }>"),
    ),
    "shadowing by a constant": (
        "G207",
        ((BRANCHES % "p = Add (s, x)").replace("(float[N] p) {", "(float[N] p) <float[1] s = {2}> {"),
         {"graph.node[1].attribute[0].g.quantization_annotation": [{"tensor_name": "s",
             "quant_parameter_tensor_names": [{"key": "SCALE_TENSOR", "value": "s"}]}]}),
        ((BRANCHES % "p = Add (s_1, x)").replace("(float[N] p) {", "(float[N] p) <float[1] s_1 = {2}> {"),
         {"graph.node[1].attribute[0].g.quantization_annotation": [{"tensor_name": "s_1",
             "quant_parameter_tensor_names": [{"key": "SCALE_TENSOR", "value": "s_1"}]}]}),
    ),
    "shadowing by a sparse constant that devices share": (
        "G207",
        (BRANCHES % "p = Neg (s)", shared_in_branch("s")),
        (BRANCHES % "p = Neg (s_1)", shared_in_branch("s_1")),
    ),
    "scalar axes that inputs list": (
        "W302",
        "<ir_version: 3, opset_import: [\"\": 13]> main (float[3] x, int64 a) => (float[1, 3] y) <int64 a = {0}> "
        "{ y = Unsqueeze (x, a) }",
        "<ir_version: 3, opset_import: [\"\": 13]> main (float[3] x, int64[1] a) => (float[1, 3] y) "
        "<int64[1] a = {0}> { y = Unsqueeze (x, a) }",
    ),
    "scalar axes that inputs list and others read": (
        "W302",
        "<ir_version: 3, opset_import: [\"\": 13]> main (float[3] x, int64 a) => (float[1, 3] y, int64 z) "
        "<int64 a = {0}> { y = Unsqueeze (x, a) z = Neg (a) }",
        "<ir_version: 3, opset_import: [\"\": 13]> main (float[3] x, int64 a, int64[1] a_1) => "
        "(float[1, 3] y, int64 z) <int64 a = {0}, int64[1] a_1 = {0}> { y = Unsqueeze (x, a_1) z = Neg (a) }",
    ),
    "a stated type without a name": (
        "G202",
        (MAIN + "{ y = Relu (x) }", {"graph.value_info": [{"type": {"tensor_type": {"elem_type": 1}}}]}),
        MAIN + "{ y = Relu (x) }",
    ),
    "negative sizes inside of sequences": (
        "G606",
        (HEAD + "main (float[N] x) => (float[N] y) <seq(float[7]) q> "
         "{ q = SequenceConstruct (x) k = Constant <value_int = 0> () y = SequenceAt (q, k) }",
         {"graph.value_info[0].type.sequence_type.elem_type.tensor_type.shape.dim[0].dim_value": -1}),
        (HEAD + "main (float[N] x) => (float[N] y) <seq(float[7]) q> "
         "{ q = SequenceConstruct (x) k = Constant <value_int = 0> () y = SequenceAt (q, k) }",
         {"graph.value_info[0].type.sequence_type.elem_type.tensor_type.shape.dim[0].dim_value": None}),
    ),
    "stated type in a function": (
        "I101",
        ('<ir_version: 10, opset_import: ["": 17, "com.example": 1]> main (float[2] x) => (float[2] y) '
         '{ y = com.example.Leak (x) } <domain: "com.example", opset_import: ["": 17]> '
         "Leak (a) => (b) { t = Neg (a) b = Abs (t) }",
         {"functions[0].value_info": [{"name": "t", "type": {"tensor_type": {"elem_type": 1, "shape": {
             "dim": [{"dim_value": 7}]}}}}]}),
        '<ir_version: 10, opset_import: ["": 17, "com.example": 1]> main (float[2] x) => (float[2] y) '
        '{ y = com.example.Leak (x) } <domain: "com.example", opset_import: ["": 17]> '
        "Leak (a) => (b) { t = Neg (a) b = Abs (t) }",
    ),
    "unused import": (
        "W101",
        (MAIN + "{ y = Relu (x) }", {"opset_import[+]": {"domain": "com.example", "version": 3}}),
        MAIN + "{ y = Relu (x) }",
    ),
}  # fmt: skip


def given_message(made):
    return message(*made) if isinstance(made, tuple) else message(made)


@pytest.mark.parametrize("name", MENDED)
def test_a_fault_is_mended_and_nothing_else_is_touched(name):
    code, before, after = MENDED[name]
    faulty = given_message(before)
    data = faulty.SerializeToString()
    found, made = repaired(faulty)
    assert {mend.code for mend in found.mended} == {code} and not found.left
    for plain in (made, wanted := given_message(after)):
        for node in (node for graph, _ in graphs(plain) for node in graph.node):
            # Text states domains, and a node that is added has none.
            node.ClearField("domain") if not node.domain else None
    assert made == wanted
    assert faulty.SerializeToString() == data
    assert opset.repair(made.SerializeToString()).mended == ()


LEFT = {
    "import of several versions": ("G104", HEAD + "main (float[N] x) => (float[N] y) { y = com.example.Foo (x) }", {}),
    "operators of several versions": (
        "G104",
        '<ir_version: 8, opset_import: ["a.b": 1]> main (float[N] x) => (float[N] y) { t = a.b.C (x) y = Relu (t) }',
        {},
    ),
    "different metadata": ("W102", MAIN + "{ y = Relu (x) }",
                           {"metadata_props": [{"key": "a", "value": "b"}, {"key": "a", "value": "c"}]}),
    "different attributes": ("G304", MAIN + "{ y = LeakyRelu <alpha = 0.5> (x) }",
                             {"graph.node[0].attribute[+]": {"name": "alpha", "type": 1, "f": 0.25}}),
    "attribute with two values": ("G305", MAIN + "{ y = Selu <alpha = 0.5, gamma = 2.0> (x) }",
                                  {"graph.node[0].attribute[0].type": None, "graph.node[0].attribute[0].i": 1}),
    "type of an output": ("I101", HEAD + "main (float[N, 3] x) => (float[N, 4] y) { y = Relu (x) }", {}),
    "cycle": ("M110", MAIN + "{ y = Neg (t) t = Relu (y) }", {}),
    "value that is read before one hides it": ("G207", BRANCHES % "t = Relu (s) s = Neg (t) p = Neg (s)", {}),
    "value that a graph inside reads before one hides it": (
        "G207",
        BRANCHES % ("t = If (c) <then_branch = d () => (float[N] q) { q = Neg (s) },"
                    " else_branch = e () => (float[N] r) { r = Neg (x) }> s = Neg (t) p = Neg (s)"),
        {},
    ),
    "output of a type that Identity does not take": (
        "G216",
        '<ir_version: 8, opset_import: ["": 13]> main (bool c, float[2] x) => (seq(float[2]) y) '
        "{ s = SequenceConstruct (x) y = If (c) <then_branch = a () => (seq(float[2]) s) {},"
        " else_branch = b () => (seq(float[2]) n) { n = SequenceConstruct (x) }> }",
        {},
    ),
    "output of a type that is not known": (
        "G216",
        '<ir_version: 8, opset_import: ["": 17, "a.b": 1]> main (bool c, float[N] x) => (float[N] y) { s = a.b.C (x) '
        "y = If (c) <then_branch = a () => (s) {}, else_branch = b () => (n) { n = Identity (x) }> }",
        {},
    ),
    "output where no Identity is imported": (
        "G216",
        '<ir_version: 8, opset_import: ["a.b": 1]> main (bool c, float[N] x) => (float[N] y) '
        "{ y = a.b.If (c) <then_branch = a () => (float[N] x) {}> }",
        {},
    ),
    "type that a graph states of a value around": (
        "", BRANCHES % "p = Neg (s)",
        {"graph.node[1].attribute[0].g.value_info": [{"name": "s", "type": {"tensor_type": {"elem_type": 1}}}]},
    ),
    "an inner type that one of two others has": (
        "G212", HEAD + "main (float[2] x) => (float[3] x, float[2] y) { y = Relu (x) }",
        {"graph.value_info[+]": {"name": "x", "type": {"tensor_type": {
            "elem_type": 1, "shape": {"dim": [{"dim_value": 2}]}}}}},
    ),
    "axes that a caller may replace": (
        "", HEAD + "main (float[3] x, int64 a) => (float[1, 3] y) <int64 a = {0}> { y = Unsqueeze (x, a) }", {},
    ),
    "axes that are computed": (
        "", HEAD + "main (float[3] x, int64[1] b) => (y) { a = ReduceSum <keepdims = 0> (b) y = Unsqueeze (x, a) }", {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_what_is_not_certain_is_left(name):
    code, text, edits = LEFT[name]
    model = message(text, edits)
    found, made = repaired(model, ignore=["G203"])
    assert found.mended == () and made == model
    assert (code in {each.code for each in found.left}) == bool(code)


NEWEST = default_registry().domains[""]
CALLS = """<ir_version: 10, opset_import: [{model}]> main (float[N] x) => (float[N] y) {{ t = d.F (x) y = {node} (t) }}
    <domain: "d", opset_import: [{first}]> F (a) => (b) {{ c = Neg (a) b = d.G (c) }}
    <domain: "d", opset_import: [{second}]> G (a) => (b) {{ b = Abs (a) }}"""


@pytest.mark.parametrize(
    ("model", "node", "first", "second", "mended"),
    [
        ('"": 17, "d": 1', "Relu", '"": 17, "d": 1', '"": 17', []),
        ('"d": 1', "Relu", '"": 16, "d": 1', '"": 16', [("main", "ai.onnx", 16, "as in the functions")]),
        ('"d": 1', "Relu", '"": 17, "d": 1', '"": 16', []),
        ('"d": 1', "Gelu", '"": 17, "d": 1', '"": 17', []),  # there was no Gelu
        ('"d": 1', "Relu", f'"": {NEWEST}, "d": 1', f'"": {NEWEST}',
         [("main", "ai.onnx", NEWEST, "as in the functions")]),
        ('"d": 1', "Relu", f'"": {NEWEST + 1}, "d": 1', f'"": {NEWEST + 1}', []),
        ('"": 17, "d": 1', "Relu", '"d": 1', '"": 16', [("F", "ai.onnx", 17, "as in the model")]),
        ('"": 17, "d": 1', "Relu", '"d": 1', "", [("F", "ai.onnx", 17, "as in the model"),
                                                  ("G", "ai.onnx", 17, "as in the model")]),
        ('"": 17', "Relu", '"": 17', '"": 17', [("main", "d", 1, "its operators are functions of the model"),
                                                ("F", "d", 1, "as in the model")]),
        ('"": 17, "d": 3', "Relu", '"": 17', '"": 17', [("F", "d", 3, "as in the model")]),
        ('"": 17, "d": 1', "com.x.Op", '"": 17, "d": 1, "com.x": 4', '"": 17, "com.x": 4',
         [("main", "com.x", 4, "as in the functions")]),
        ('"": 17, "d": 1', "com.x.Op", '"": 17, "d": 1, "com.x": 4', '"": 17, "com.x": 5', []),
    ],
)  # fmt: skip
def test_a_missing_import_is_added_if_its_version_is_certain(model, node, first, second, mended):
    faulty = message(CALLS.format(model=model, node=node, first=first, second=second))
    found, made = repaired(faulty, select=["G104", "W401"])
    words = "the domain '{}' is imported at version {}: {}"
    assert [mend.message for mend in found.mended] == [words.format(*each[1:]) for each in mended]
    holders = {"main": made, **{each.name: each for each in made.functions}}
    for holder, domain, version, _ in mended:
        imports = {entry.domain: entry.version for entry in holders[holder].opset_import}
        assert imports["" if domain == "ai.onnx" else domain] == version
    assert len(found.mended) == sum(len(each.opset_import) for each in holders.values()) - sum(
        len(each.opset_import) for each in (faulty, *faulty.functions)
    )


@pytest.mark.parametrize(
    ("node", "version"),
    [("Gelu (x)", 20), ("Relu (x)", 0), ("Mish (x)", 0), ("Nonesuch (x)", 0), ("LayerNormalization (x, x)", 17),
     ("Gelu <odd = 1> (x)", 0), ("Scatter (x, x, x)", 9)],
)  # fmt: skip
def test_without_any_import_the_version_is_the_lowest_of_those_that_mean_the_same(node, version):
    text = f'<ir_version: 10, opset_import: ["d": 1]> main (float[N] x) => (y) {{ y = {node} }}'
    found, made = repaired(message(text), select=["G104"])
    assert [entry.version for entry in made.opset_import if not entry.domain] == [version] * bool(version)
    assert [mend.message.partition(": ")[2] for mend in found.mended] == [
        "its nodes mean the same at all versions at which they fit"
    ] * bool(version)


def test_a_reference_without_a_type_stays():
    text = """<ir_version: 10, opset_import: ["": 17, "d": 1]> main (float[2] x) => (y) { y = d.F <k = 0.5> (x) }
        <domain: "d", opset_import: ["": 17]> F <k> (a) => (b) { b = LeakyRelu <alpha: float = @k> (a) }"""
    place = "functions[0].node[0].attribute[0]"
    for edits, types in (
        ({}, [0]),
        ({f"{place}.f": 0.5}, [0]),
        ({f"{place}.ref_attr_name": None, f"{place}.f": 0.5}, [1]),
    ):
        found, made = repaired(
            message(text, {"graph.node[0].attribute[0].type": None, f"{place}.type": None, **edits}), select=["G305"]
        )
        assert [each.type for each in made.functions[0].node[0].attribute] == types
        assert len(found.mended) == 1 + sum(types)


def test_a_value_whose_name_is_not_utf8_keeps_it():
    data = message(
        BRANCHES.replace("s = Neg", "spam = Neg").replace("(s)", "(spam)") % "spam = Relu (x) p = Neg (spam)"
    )
    found = opset.repair(data.SerializeToString().replace(b"spam", b"sp\xffm"), select=["G207"])
    assert not found.mended and [each.code for each in found.left] == ["G207"]
    data = message(BRANCHES % "s = Relu (x) [spam] t = Relu (spam) p = Neg (s)").SerializeToString()
    found = opset.repair(data.replace(b"spam", b"sp\xffm"), select=["G207"])
    assert [(each.code, each.place.rpartition(", ")[2]) for each in found.mended] == [("G207", "node number 0 (Relu)")]
    assert not found.left
    node = found.model.proto.graph.node[1].attribute[0].g.node[1]
    assert node.input[:] == [b"sp\xffm"] and node.output[:] == ["t"]


@pytest.mark.parametrize(("versions", "version"), [([3], [3]), ([3, 3], [3]), ([3, 4], [])])
def test_a_domain_that_is_not_known_has_the_version_that_all_functions_import(versions, version):
    functions = "".join(
        f'<domain: "d", opset_import: ["": 17, "own": {each}]> F{at} (a) => (b) {{ b = own.Op (a) }}'
        for at, each in enumerate(versions)
    )
    calls = " ".join(f"y{at} = d.F{at} (t)" for at in range(len(versions)))
    text = f'<ir_version: 10, opset_import: ["": 17, "d": 1]> main (float[N] x) => (y0) {{ t = own.Op (x) {calls} }}'
    _, made = repaired(message(f"{text} {functions}"), select=["G104"])
    assert [entry.version for entry in made.opset_import if entry.domain == "own"] == version


def test_a_domain_whose_name_is_not_utf8_is_not_imported():
    text = """<ir_version: 10, opset_import: ["": 17, "d": 1]> main (float[N] x) => (y) { t = own.Op (x) y = d.F (t) }
        <domain: "d", opset_import: ["": 17, "own": 3]> F (a) => (b) { b = own.Op (a) }"""
    found = opset.repair(message(text).SerializeToString().replace(b"own", b"o\xffn"), select=["G104"])
    assert not found.mended and [each.code for each in found.left] == ["G104"]


@pytest.mark.parametrize(("version", "codes"), [(8, ["W201"]), (3, ["W201", "G208"])])
def test_the_ir_version_stays_where_what_needs_another_is_removed(version, codes):
    text = f'<ir_version: {version}, opset_import: ["": 8]> main (float[N] x) => (float[N] y)'
    given = message(f"{text} <float[1] w = {{2}}, float8e4m3fn[9] t> {{ y = Mul (x, w) }}")
    found, made = repaired(given)
    assert [each.code for each in found.mended] == codes and made.ir_version == version and not found.left
    assert repaired(given, select=["W2", "G214"])[1].ir_version == version


def test_an_output_that_a_graph_inside_takes_from_around_counts_as_read():
    inside = "t = If (c) <then_branch = d () => (float[N] %s) {}, else_branch = e () => (r) { r = Neg (x) }>"
    for name, mended in (("s", 0), ("x", 1)):
        model = message(BRANCHES % f"{inside % name} s = Neg (t) p = Neg (s)")
        assert len(repaired(model, ignore=["G203", "G216"])[0].mended) == mended


def test_initializers_of_old_models_are_listed_if_they_have_a_name_and_are_not():
    given = message(
        '<ir_version: 3, opset_import: ["": 8]> main (float[1] x, float[1] v) => (float[1] y) <float[1] v = {1},'
        " float[1] w = {2}, float[1] u = {3}, float[1] t = {4}> { y = Sum (x, v, w, u) }",
        {"graph.initializer[3].name": ""},
    )
    found, made = repaired(given)
    assert [each.name for each in made.graph.input] == ["x", "v", "w", "u"]
    assert [each.message for each in found.mended] == ["initializers are listed as inputs: w, u"]
    assert [each.code for each in found.left] == ["G205"]


@pytest.mark.parametrize(("versions", "mended"), [([], 1), ([3], 3)])
def test_the_domain_of_a_function_that_nothing_calls_is_imported(versions, mended):
    given = message(HEAD + FUNCTION.replace("com.example.Leak (x)", "Relu (x)") % ', opset_import: ["": 17]')
    for version in versions:
        given.functions[0].opset_import.add(domain="com.example", version=version)
    found, made = repaired(given, select=["W401"])
    assert [each.code for each in found.mended] == ["W401"]
    assert {each.domain: each.version for each in made.opset_import} == {"": 17, "com.example": mended}


def test_each_output_is_computed_that_identity_takes():
    given = message(
        '<ir_version: 8, opset_import: ["": 13]> main (bool c, float[2] x) => (seq(float[2]) y, float[2] z, float[2] w)'
        "{ s = SequenceConstruct (x) r = Neg (x) y, z, w = If (c) <then_branch = a () => (seq(float[2]) s, float[2] r,"
        " float[2] r) {}, else_branch = b () => (seq(float[2]) n, float[2] p, float[2] q)"
        " { n = SequenceConstruct (x) p = Neg (x) q = Neg (x) }> }"
    )
    found, made = repaired(given, select=["G216"])
    assert [each.message.partition(" is")[0] for each in found.mended] == ["the output 'r'"] * 2
    branch = made.graph.node[2].attribute[0].g
    assert [each.name for each in branch.output] == ["s", "r_1", "r_1"]
    assert [(each.op_type, [*each.input], [*each.output]) for each in branch.node] == [("Identity", ["r"], ["r_1"])]


@pytest.mark.parametrize("condition", ["bool c", "bool c = {1}"])
def test_wrong_types_are_replaced_except_in_a_branch_that_may_not_be_run(condition):
    given, held = ("", condition) if "=" in condition else (f"{condition}, ", "float[1] w = {1}")
    text = HEAD + (
        f"main ({given}float[N] x) => (float[N] y) <{held}, float[N] r, %s[N] s> {{ r = Neg (x) s = Neg (r) y = If (c) "
        "<then_branch = a () => (p) { p = Neg (s) },"
        " else_branch = b () => (n) <int32[N] t> { t = Relu (s) n = Neg (t) }> }"
    )
    found, made = repaired(message(text % "int32"))
    assert made == message(text % "float")
    assert [(mend.code, mend.place) for mend in found.mended] == [("I101", "graph 'main', value_info 's'")]
    assert [each.code for each in found.left if each.code != "W504"] == ["W802"]


def test_types_of_outputs_are_stated_after_one_that_is_not_known():
    model = message(HEAD.replace("]", ', "own": 1]') + "main (float[3] x) => (z, y) { z = own.Op (x) y = Relu (x) }")
    found, made = repaired(model)
    assert [each.code for each in found.mended] == [each.code for each in found.left] == ["G203"]
    unknown, known = made.graph.output
    assert not unknown.HasField("type") and known.type == made.graph.input[0].type
    model = message(HEAD + "main (float[N] x) => (z, int64[N] y) { z = Relu (x) y = Neg (x) }")
    found, made = repaired(model, select=["G203"])
    assert [each.type for each in made.graph.output] == [model.graph.input[0].type, model.graph.output[1].type]


@pytest.mark.parametrize("count", [16, 17, 100])
def test_any_number_of_entries_is_removed(count):
    whole = message(BRANCHES % "t = Relu (s) p = Neg (t)")
    model = type(whole).FromString(whole.SerializeToString())
    for number in range(count):
        model.opset_import.add(domain="ai.onnx", version=17)
        model.opset_import.add(domain=f"com.example.d{number}", version=1)
    owner = model.graph.node[1]
    for graph in (model.graph, owner.attribute[0].g):
        for number in range(count):
            graph.value_info.add(name=f"gone{number}")
    for _ in range(count):
        owner.attribute.add().CopyFrom(owner.attribute[0])
    found, made = repaired(model)
    assert Counter(mend.code for mend in found.mended) == {
        "W107": count, "W101": count, "G304": count, "W201": 2 * count
    }  # fmt: skip
    assert made == whole and not found.left


def test_rules_are_chosen_and_the_model_is_the_given_one_without_a_mend():
    model = message(MAIN + "<float[9] t> { y = Neg (a) a = Relu (x) }")
    assert {mend.code for mend in repaired(model, select=["W2"])[0].mended} == {"W201"}
    assert {mend.code for mend in repaired(model, ignore=["W2"])[0].mended} == {"M110"}
    loaded = opset.load(message(MAIN + "{ y = Relu (x) }").SerializeToString())
    assert opset.repair(loaded).model is loaded
    bare = message(HEAD + "main (float[N, 3] x) => (y) { y = Relu (x) }")
    assert repaired(bare, full=False)[0].mended == ()


FLOATS = '<ir_version: 8, opset_import: ["": 17]> main (float[2] x, float16[2] h) => (%s) <%s> { y = Sum (%s) }'


@pytest.mark.parametrize(
    ("outputs", "held", "inputs", "cast"),
    [
        ("float[2] y", "float[1] w = {1}", "x, w, h", ("h", 1)),
        ("float16[2] y", "float16[1] w = {1}", "x, h, w", ("x", 10)),
        ("float[2] y", "float[1] w = {1}", "x, h", ("h", 1)),  # the output decides
        ("float16[2] y", "float[1] w = {1}", "x, h", ("x", 10)),
        ("y", "float[1] w = {1}", "w, h", ("w", 10)),  # the constant
        ("y", "float[1] w = {1}", "x, h", None),
        ("y", "float[1] w = {1}, float16[1] v = {1}", "x, w, h, v", None),
        ("y", "int64[1] w = {1}", "x, w", None),
        ("float[2] y", "int64[1] w = {1}", "x, x, w", None),
        ("float[2] y", "float[1] w = {1}", "x, w, x, h, h", None),  # two are odd
        ("float16[2] y", "float[1] w = {1}", "x, w, h", None),  # the output contradicts
    ],
)
def test_a_cast_is_inserted_if_it_is_asked_for_and_plain(outputs, held, inputs, cast):
    model = message(FLOATS % (outputs, held, inputs))
    assert not any(mend.code == "I202" for mend in repaired(model)[0].mended)
    found, made = repaired(model, casts=True)
    nodes = made.graph.node
    if cast is None:
        assert [node.op_type for node in nodes] == ["Sum"] and found.left
        return
    name, to = cast
    assert [node.op_type for node in nodes] == ["Cast", "Sum"] and not found.left
    assert [*nodes[0].input] == [name] and nodes[0].attribute[0].i == to
    assert [*nodes[1].input] == [nodes[0].output[0] if each == name else each for each in inputs.split(", ")]
    onnx.checker.check_model(made.SerializeToString(), full_check=True)


def test_no_cast_is_inserted_into_a_function():
    model = message("""<ir_version: 8, opset_import: ["": 17, "d": 1]> main (float[2] x) => (y) { y = d.F (x) }
        <domain: "d", opset_import: ["": 17]> F (a) => (b) { c = Cast <to = 1> (a) d = Cast <to = 10> (a)
            b = Sum (c, c, d) }""")
    found, made = repaired(model, casts=True, select=["I202"])
    assert made == model and [each.code for each in found.left] == ["I202"]


@pytest.mark.parametrize(
    ("version", "odd", "number", "cast"),
    [(13, "bfloat16", 1, True), (12, "bfloat16", 1, False), (6, "float16", 1, True), (12, "double", 1, True),
     (13, "int64", 1, False)],
)  # fmt: skip
def test_a_cast_is_one_that_its_opset_has(version, odd, number, cast):
    text = f"""<ir_version: 8, opset_import: ["": {version}]>
        main (float[2] x, float[2] w, {odd}[2] h) => (float[2] y) {{ y = Sum (x, w, h) }}"""
    found, made = repaired(message(text), casts=True)
    assert [node.op_type for node in made.graph.node] == ["Cast"] * cast + ["Sum"]
    if cast:
        assert (made.graph.node[0].input[0], made.graph.node[0].attribute[0].i) == ("h", number)
    else:
        assert "I202" in {each.code for each in found.left}


MIXED = "main (float[2] x, float16[2] h, bool c, float[4, 2] v, sparse_tensor(double[2]) p, u) => (%s) "
SIDES = (
    "y = If (c) <then_branch = a () => (float[2] o) { o = Add (x, h) },"
    " else_branch = b () => (float[2] q) { q = Add (h, x) }>"
)
LOOP = (
    "y, z = Loop (%s, c, x, w) <body = b (int64 i, bool d, float p, float16 q) => (bool e, float r, float16 s)"
    " { e = Identity (d) r = Neg (p) s = Neg (q) }>"
)
NEVER = (
    "y = If (k) <then_branch = a () => (float[2] o) { o = Neg (x) },"
    " else_branch = b () => (float[2] q) { q = Add (h, x) }>"
)
# The opset, the outputs, the initializers, the nodes, and the nodes with Casts, None if none is plain.
WITH_CASTS = {
    "two nodes": (
        17, "float[2] y, float[2] z", "", "y = Add (x, h) z = Sum (x, h, y)",
        "h_float_1 = Cast <to = 1> (h) y = Add (x, h_float_1) h_float = Cast <to = 1> (h) z = Sum (x, h_float, y)",
    ),
    "a body behind branches that a condition guards": (
        17, "float[2] y, float[4, 2] z", "",
        SIDES + " z = Scan <num_scan_inputs = 1, body = g (float[2] k) => (float[2] r) { r = Add (k, h) }> (v)",
        SIDES + " z = Scan <num_scan_inputs = 1, body = g (float[2] k) => (float[2] r)"
        " { h_float = Cast <to = 1> (h) r = Add (k, h_float) }> (v)",
    ),
    "shapes that do not fit either": (
        17, "y", "float16[1, 2] w = {1, 2}", "y = MatMul (v, w)", "w_float = Cast <to = 1> (w) y = MatMul (v, w_float)",
    ),
    "another type variable before": (
        15, "y", "float16[2] w = {1, 2}", "y = BatchNormalization (v, x, w, x, x)",
        "w_float = Cast <to = 1> (w) y = BatchNormalization (v, x, w_float, x, x)",
    ),
    "another type variable behind": (
        21, "y", "float16 w = {1}, uint8 z = {0}", "y = QuantizeLinear (x, w, z)",
        "w_float = Cast <to = 1> (w) y = QuantizeLinear (x, w_float, z)",
    ),
    "a constant of the graph around": (
        17, "z", "float16[2] w = {1, 2}",
        "z = Scan <num_scan_inputs = 1, body = g (float[2] k) => (r) { r = Add (k, w) }> (v)",
        "z = Scan <num_scan_inputs = 1, body = g (float[2] k) => (r)"
        " { w_float = Cast <to = 1> (w) r = Add (k, w_float) }> (v)",
    ),
    "an input that is left out": (
        17, "y", "float16 w = {1}", "y = Clip (x, , w)", "w_float = Cast <to = 1> (w) y = Clip (x, , w_float)",
    ),
    "a stated output of another type variable": (
        17, "float[1] z", "double[2] e = {1, 2}, float[2] w = {1, 2}",
        "d = Cast <to = 11> (x) y, z = LayerNormalization (d, e, w)",
        "d = Cast <to = 11> (x) w_double = Cast <to = 11> (w) y, z = LayerNormalization (d, e, w_double)",
    ),
    "a node behind a branch that is never run": (
        17, "float[2] y, float[2] z", "bool k = {1}", NEVER + " z = Add (x, h)",
        NEVER + " h_float = Cast <to = 1> (h) z = Add (x, h_float)",
    ),
    "two inputs of another type": (17, "float[2] y", "", "y = Sum (x, x, h, x, h)", None),
    "an input of an unknown type": (17, "float[2] y", "", "y = Sum (x, x, h, u)", None),
    "an element type that the operator does not take": (
        17, "y", "", 'b = Cast <to = 16> (x) y = Einsum <equation = "i,i,i->i"> (b, b, x)', None,
    ),
    "an input that is sparse": (17, "float[2] y", "", "y = Sum (x, x, p)", None),
    "inputs without a type variable": (
        17, "y", "uint8 n = {1}, float s = {1}, float16 w = {1}",
        "a = Cast <to = 2> (v) b = Transpose (a) y = QLinearMatMul (a, s, n, b, w, n, s, n)", None,
    ),
    "an input of an operator without any": (17, "float[2] y", "", "y = RandomNormal <shape = [2]> (x)", None),
    "an input too many": (17, "float[2] y", "", "y = Add (x, x, h)", None),
    "an output too many": (17, "float[2] z", "", "y, z = Add (x, h)", None),
    "values that may differ": (17, "y, z", "int32 n = {1}, float16[2] w = {1, 2}", LOOP % "n", None),
}  # fmt: skip


@pytest.mark.parametrize("name", WITH_CASTS)
def test_each_cast_is_inserted_at_its_node(name):
    opset_version, outputs, held, before, after = WITH_CASTS[name]
    given, mended = (
        message(f"{HEAD.replace('17', str(opset_version))}{MIXED % outputs}<{held}> {{ {nodes} }}")
        for nodes in (before, after or before)
    )
    found, made = repaired(given, casts=True, select=["I202"])
    assert made == mended and {each.code for each in found.mended} == ({"I202"} if after else set())


BRANCHED_CASTS = HEAD + (
    "main (bool c, float16[2] x, float[2] w) => (float16[2] y) { h = Neg (w) y = If (c) "
    "<then_branch = a () => (float16[2] p) { [mixed] p = %s }, else_branch = b () => (float16[2] n) { n = Neg (x) }> }"
)


OFFERED = "; `opset check --fix --fix-casts` does this"


@pytest.mark.parametrize(
    ("text", "help"),
    [
        (FLOATS % ("float[2] y", "float[1] w = {1}", "x, h"), f"cast 'h' to float{OFFERED}"),
        (FLOATS % ("float16[2] y", "float[1] w = {1}", "x, h"), f"cast 'x' to float16{OFFERED}"),
        (FLOATS % ("y", "float[1] w = {1}", "x, h"), "cast one of the two, or correct its type"),
        (MAIN + "{ [up] t = Cast <to = 10> (x) y = Add (t, x) }",
         f"cast 't', which node 'up' (Cast) computes, to float{OFFERED}"),
        (HEAD + "main (float[2] x) => (float[2,2] y) <int64 two = {2}, bool yes = {1}> { y = Loop (two, yes) <body = b "
         "(int64 i, bool k) => (bool o, float[2] p) { o = Identity (k) [up] t = Cast <to = 10> (x) p = Add (t, x) }> }",
         f"cast 't', which node 'up' (Cast) computes, to float{OFFERED}"),
    ],
)  # fmt: skip
def test_a_cast_that_is_missing_is_offered(text, help):
    found = {each.help for each in opset.check(message(text), select=["I202"])}
    assert found == {help}


def test_a_cast_in_a_branch_that_a_condition_guards_is_not_offered():
    found = opset.check(message(BRANCHED_CASTS % "Add (x, h)"), select=["I202", "W802"])
    help = "see that the condition excludes it, or correct the branch"
    assert {(each.code, each.help) for each in found} == {("W802", help)}


def test_each_code_with_a_fix_has_a_rule():
    codes = {code for codes in CHECKER.fixes.values() for code in codes}
    assert codes <= CHECKER.by_code.keys()


@pytest.mark.parametrize("code", sorted(code for code, each in fixtures().items() if "unseen" not in each))
def test_a_repair_of_each_bad_example_ends_and_leaves_no_new_finding(code):
    bad = bad_model(code)
    before = {each.code for each in opset.check(bad)}
    found = opset.repair(bad)
    assert {each.code for each in found.left} <= before
    assert bool(found.mended) == (found.model.SerializeToString() != opset.load(bad).SerializeToString())


def with_function(data):
    """Return a model whose main graph calls a function that has its nodes and initializers."""
    model = opset.load(data).proto
    graph, function = model.graph, model.functions.add(name="Whole", domain="wrapped", opset_import=model.opset_import)
    function.input.extend([value.name for value in graph.input])
    function.output.extend([value.name for value in graph.output])
    for tensor in graph.initializer:
        node = function.node.add(op_type="Constant", output=[tensor.name])
        node.attribute.add(name="value", type=4, t=tensor)
    function.node.extend(graph.node)
    function.value_info.extend(graph.value_info)
    for field in ("node", "initializer", "sparse_initializer", "value_info"):
        graph.ClearField(field)
    graph.node.add(op_type="Whole", domain="wrapped", input=function.input, output=function.output)
    model.opset_import.add(domain="wrapped", version=1)
    return model


def test_a_repair_of_each_bad_example_in_a_function_ends_and_leaves_no_new_finding():
    mended = 0
    for code in sorted(code for code, each in fixtures().items() if "unseen" not in each):
        try:
            model = with_function(bad_model(code))
        except (opset.OpsetError, UnicodeDecodeError):  # it cannot be read, or has a name that protobuf does not assign
            continue
        before = {each.code for each in opset.check(model)}
        found = opset.repair(model, casts=True)
        assert {each.code for each in found.left} <= before, code
        mended += bool(found.mended)
    assert mended > 20


def test_initializers_of_old_models_are_listed_beside_functions():
    text = """<ir_version: 3, opset_import: ["": 8, "o": 1]> main (float[N] x) => (float[N] y) <float[1] w = {2}> {
        t = Mul (x, w)  y = o.f (t) } <domain: "o", opset_import: ["": 8]> f (a) => (b) { b = Neg (a) }"""
    found, made = repaired(message(text), select=["G208"])
    assert [each.code for each in found.mended] == ["G208"]
    assert [each.name for each in made.graph.input] == ["x", "w"]


def test_weights_stay_in_their_file(tmp_path):
    weights = onnx.helper.make_tensor("w", 1, [1 << 16], b"\0\0\x80\x3f" * (1 << 16), raw=True)
    model = onnx.ModelProto.FromString(message(MAIN + "<float[9] t> { y = Relu (x) }").SerializeToString())
    model.graph.initializer.append(weights)
    onnx.save(model, tmp_path / "a.onnx")
    found = opset.repair(tmp_path / "a.onnx")
    assert not found.model.proto.graph.initializer[0].raw_data
    found.model.save(tmp_path / "b.onnx")
    del model.graph.value_info[:]
    assert onnx.load(tmp_path / "b.onnx") == model


def test_data_in_folders_that_are_allowed_is_no_fault(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "w.bin").write_bytes(bytes(12))
    (tmp_path / "a" / "w.bin").symlink_to("../w.bin")
    model = message(MAIN + "<float[9] t> { y = Relu (x) }")
    tensor = model.graph.initializer.add(name="w", data_type=1, dims=[3], data_location=1)
    tensor.external_data.add(key="location", value="w.bin")
    (tmp_path / "a" / "m.onnx").write_bytes(model.SerializeToString())
    for options, left in (({}, ["M201"]), ({"allow_external_roots": [tmp_path]}, [])):
        found = opset.repair(tmp_path / "a" / "m.onnx", **options)
        assert [each.code for each in found.mended] == ["W201"]
        assert [each.code for each in found.left] == left


@given(st.data())
@settings(max_examples=draws(200))
def test_any_bytes_are_repaired_or_refused(data):
    code = data.draw(st.sampled_from(sorted(code for code, each in fixtures().items() if "unseen" not in each)))
    raw = bytearray(bad_model(code))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = opset.repair(bytes(raw), casts=True)
    except opset.OpsetError:
        return
    opset.load(found.model.SerializeToString())


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_faults_in_models_are_mended(kind):
    """The judge `repair` does it for many models."""
    draw = random.Random(kind)
    for case in draw.sample([*sources()], 12):
        verdict = judge_model(case, draw, [kind])
        assert verdict.startswith((GOOD, UNFIT)), verdict
        if verdict.startswith(GOOD):
            return


def test_the_work_on_imports_is_linear_in_the_functions():
    def repairing(count):
        functions = "\n".join(
            f'<domain: "f", opset_import: ["": 17]> G{at} (a) => (b) {{ b = f.G{at + 1} (a) }}' for at in range(count)
        )
        last = f'<domain: "f", opset_import: ["": 17]> G{count} (a) => (b) {{ b = Neg (a) }}'
        head = '<ir_version: 8, opset_import: ["": 17, "f": 1]> m (float[N] x) => (float[N] y) { y = f.G0 (x) }'
        model = message(f"{head} {functions} {last}")

        def repair():
            found = opset.repair(model)
            assert len(found.mended) == count and not found.left

        return repair

    assert growth(repairing, 60, 4) < 1.3
