"""Graphs that do not take or give what their node passes: the evaluator, inference and conversion refuse the same."""

import numpy as np
import pytest
from onnx import checker, parser
from onnx.shape_inference import InferenceError

import opset
from opset import ReferenceEvaluator, RunError
from opset.errors import ConversionError
from opset.inference.engine.result import infer

NEG = "(float[2] q) { q = Neg (x) }"
ROW = "row (float[2] p) => (float[2] q) { q = Neg (p) }"
MISFITS = {
    "If, then": ("C3", f"If <then_branch = t (float[2] p) => {NEG}, else_branch = e () => {NEG}> (c)"),
    "If, else": ("C3", f"If <then_branch = t () => {NEG}, else_branch = e (float[2] p) => {NEG}> (c)"),
    "If, outputs": ("C2", "If <then_branch = t () => () { }, else_branch = e () => () { }> (c)"),
    "Loop, inputs": (
        "C3",
        "Loop <body = b (int64 i, bool go, float[2] p, float[2] r) => (bool on, float[2] q) "
        "{ on = Identity (go) q = Neg (p) }> (m, c, x)",
    ),
    "Loop, fewer inputs": (
        "C3",
        "Loop <body = b (int64 i) => (bool d, float[2] q) { d = Identity (c) q = Neg (x) }> (m, c, x)",
    ),
    "Loop, outputs": (
        "C3",
        "Loop <body = b (int64 i, bool go, float[2] p) => (bool on) { on = Identity (go) }> (m, c, x)",
    ),
    "Scan, inputs": ("C1", "Scan <num_scan_inputs = 1, body = b (float p, float r) => (float q) { q = Neg (p) }> (x)"),
    "Scan, outputs": ("C1", "Scan <num_scan_inputs = 1, body = b (float p) => () { }> (x)"),
    "Scan, none scanned": ("C1", f"Scan <num_scan_inputs = 0, body = {ROW}> (x)"),
    "Scan, more scanned": ("C1", f"Scan <num_scan_inputs = 2, body = {ROW}> (x)"),
    "SequenceMap, inputs": (
        "C2",
        "SequenceMap <body = b (float[2] p, float[2] r) => (float[2] q) { q = Neg (p) }> (s)",
    ),
    "SequenceMap, outputs": ("C2", "SequenceMap <body = b (float[2] p) => () { }> (s)"),
}
CHECKED = [name for name in MISFITS if name.startswith(("If", "Loop", "Scan, inputs"))]
"""Those that the checker of onnx finds, too."""
FEEDS = {"c": np.array(True), "m": np.array(1), "x": np.float32([1, 2])}


def model_of(node, version, ir_version=8):
    makes = "s = SequenceConstruct (x)" if node.startswith("SequenceMap") else ""
    return parser.parse_model(
        f"""<ir_version: {ir_version}, opset_import: ["": {version}]>
        main (bool c, int64 m, float[2] x) => ({"seq(float[2])" if makes else "float[2]"} y) {{ {makes} y = {node} }}"""
    )


@pytest.mark.parametrize("version", [13, 17])
@pytest.mark.parametrize("name", MISFITS)
def test_a_graph_that_does_not_fit_its_node_is_found_everywhere(name, version):
    label, node = MISFITS[name]
    if node.startswith("SequenceMap"):
        version += 4
    model = model_of(node, version)
    if name in CHECKED:
        with pytest.raises(InferenceError):
            checker.check_model(model, full_check=True)
    with pytest.raises(RunError) as caught:
        ReferenceEvaluator(model).run(None, FEEDS)
    assert caught.value.code == "R203" and label in caught.value.why
    (finding,) = infer(model).findings
    assert finding.code == "I201" and finding.why.startswith(f"{label}: ")
    for to in (version, 21, *(() if "SequenceMap" in name else (10, 16))):
        with pytest.raises(ConversionError) as refused:
            opset.convert(model, to)
        assert refused.value.code == "C103" and f"constraint {label}" in refused.value.why


def test_the_first_scan_takes_lengths_besides():
    """Its first input, the lengths, is none of its body's."""
    node = "Scan <num_scan_inputs = 1, body = b ({}) => (float[1] q) {{ q = Neg (p) }}> (, x)"
    text = '<ir_version: 4, opset_import: ["": 8]> main (float[1, 2, 1] x) => (float[1, 2, 1] y) {{ y = {} }}'
    inputs = "float[1] p", "float[1] p, float r"
    fits, misfits = (parser.parse_model(text.format(node.format(each))) for each in inputs)
    opset.convert(fits, 10)
    assert not infer(fits).findings
    (finding,) = infer(misfits).findings
    assert finding.why.startswith("C1: ")
    with pytest.raises(ConversionError, match="constraint C1"):
        opset.convert(misfits, 10)


@pytest.mark.malformed  # as the checker of onnx has it, which onnxruntime has not
def test_inputs_with_a_default_are_not_asked_for():
    """IR version 3 lists initializers with the inputs, in branches too."""
    branch = "(float[2] w) => (float[2] q) <float[2] w = {3, 4}> { q = Add (x, w) }"
    model = model_of(f"If <then_branch = t {branch}, else_branch = e {branch}> (c)", 9, ir_version=3)
    del model.graph.node[0].attribute[0].g.input[:]
    default = model.graph.node[0].attribute[1].g
    assert (len(default.input), len(default.initializer)) == (1, 1)
    for version in (9, 10, 21):
        each = opset.convert(model, version)
        assert not infer(each).findings
        for truth in (True, False):
            (y,) = ReferenceEvaluator(each).run(None, FEEDS | {"c": np.array(truth)})
            assert y.tolist() == [4, 6]


PASSED = """<ir_version: 8, opset_import: ["": {0}, "local": 1]>
main (bool c, float[2] x) => (float[2] y, float[2] z) {{
    y = local.Choose <here = t () => (float[2] q) {{ q = Neg (x) }}, there = e () => (float[2] r) {{ r = Abs (x) }}> (c)
    z = local.Each <count = 1, body = b (float p) => (float q) {{ q = Neg (p) }}> (x)
}}
<domain: "local", opset_import: ["": {0}]> Choose <here, there> (c) => (r) {{
    r = If <then_branch: graph = @here, else_branch: graph = @there> (c)
}}
<domain: "local", opset_import: ["": {0}]> Each <body, count> (x) => (r) {{
    r = Scan <body: graph = @body, num_scan_inputs: int = @count> (x)
}}"""


def test_graphs_that_a_call_passes_are_not_there_to_be_checked():
    before = parser.parse_model(PASSED.format(15))
    assert opset.convert(before, 18) == parser.parse_model(PASSED.format(18))
