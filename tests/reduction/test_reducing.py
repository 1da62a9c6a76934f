"""`opset reduce`: a small model that shows the same refusal, difference or failure as a large one."""

import sys
import time
from pathlib import Path
from unittest.mock import patch

import onnx
import pytest

import opset
from opset.budget import Limits
from opset.opsets.registry import default_registry
from opset.reduction.reducing import symptom_of_conversion
from opset.reduction.search import minimize
from opset.reduction.symptoms import Fails
from opset.verification.verifying import verify_models
from opset.version_converter import convert_model
from tests.cli.commands import run, run_json
from tests.version_converter.npu import runtime_file, takes

CHAIN = "\n".join(
    f"v{n} = Sigmoid (v{n - 1})" if n % 3 else f"v{n} = Conv <pads = [1, 1, 1, 1]> (v{n - 1}, w)" for n in range(1, 31)
)
HEAD = f"""<ir_version: 8, opset_import: ["": 18, "local": 1], producer_name: "maker">
    m (float[N, 3, 32, 32] v0, bool c, float[4] s) => (float[N, 3, A, B] y)
    <float[3, 3, 3, 3] w = {{{",".join(["1"] * 81)}}}> {{
    {CHAIN}
    t = Abs (s)
"""
UNIQUE = '<ir_version: 8, opset_import: ["": 18]>'
FLAT = HEAD + 'up = Resize <antialias = 1, mode = "linear"> (v30, , t) y = Relu (up) }'
BRANCH = (
    HEAD
    + """y = If (c) <
    then_branch = one () => (float[N, 3, A, B] r) {
        q = Neg (v30) u = Resize <antialias = 1, mode = "linear"> (q, , t) r = Exp (u) },
    else_branch = two () => (float[N, 3, A, B] k) { k = Log (v20) }> }"""
)
FUNCTION = (
    HEAD
    + """y = local.f (v30, t) }
    <domain: "local", opset_import: ["": 18]> f (a, b) => (r) {
        n = Neg (a) k = Resize <antialias = 1, mode = "linear"> (n, , b) r = Relu (k) }"""
)


def operators(model):
    return [node.op_type for node in model.proto.graph.node]


def refusal_codes(model, to):
    with pytest.raises(opset.ConversionError) as caught:
        opset.convert(model, to)
    return {(each.code, "(Resize)" in each.place) for each in caught.value.findings}


@pytest.mark.parametrize("text", [FLAT, BRANCH, FUNCTION], ids=["graph", "branch", "function"])
def test_a_refusal_is_one_node(text):
    model = opset.parse_model(text)
    small = opset.load(opset.reduce(model, 13))
    assert operators(small) == ["Resize"] and not small.proto.functions and not small.proto.producer_name
    assert refusal_codes(small, 13) == {("C205", True)}
    shapes = [[dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in small.proto.graph.input]
    assert sorted(shapes) == [[0, 1, 1, 1], [4]]
    assert [finding for finding in opset.check(small) if finding.severity == "error"] == []
    assert model == opset.parse_model(text)


def test_nodes_in_the_graphs_of_a_loop_go_and_an_if_gives_way_to_a_branch():
    model = opset.parse_model("""<ir_version: 8, opset_import: ["": 16]>
    m (optional(seq(float)) first) => (seq(float) all) {
        all = Loop (, , first) <body = b (int64 i, bool go, optional(seq(float)) s) => (bool on, seq(float) next) {
            on = Identity (go)
            idle = Constant <value_float = 1.0> ()
            has = OptionalHasElement (s)
            t = If (has) <then_branch = p () => (seq(float) a) { a = OptionalGetElement (s) },
                          else_branch = q () => (seq(float) b) { b = SequenceEmpty () }>
            one = Constant <value_floats = [1.0]> ()
            next = SequenceInsert (t, one) }> }""")
    small = opset.load(opset.reduce(model, 15))
    (loop,) = small.proto.graph.node
    assert [node.op_type for node in loop.attribute[0].g.node] == ["OptionalGetElement"]
    with pytest.raises(opset.ConversionError, match="Loop cannot go from 16 to 15"):
        opset.convert(small, 15)


def test_outputs_that_are_not_needed_are_gone_and_one_stays():
    text = FLAT.replace("(float[N, 3, A, B] y)", "(float[N, 3, A, B] y, float[] a, float[4] b)").replace(
        "y = Relu (up)", "a = ReduceSum (s) b = Neg (s) y = Relu (up)"
    )
    small = opset.load(opset.reduce(opset.parse_model(text), 13))
    assert operators(small) == ["Resize"] and len(small.proto.graph.output) == 1


def test_one_output_of_the_refused_node_stays():
    text = f"{UNIQUE} m (float[N] x) => (float[A] y, int64[A] i, int64[A] c) {{ y, i, , c = Unique (x) }}"
    assert len(opset.load(opset.reduce(opset.parse_model(text), 10)).proto.graph.output) == 1


def test_without_a_target_there_is_nothing_to_look_for():
    model = opset.parse_model(FLAT)
    with pytest.raises(opset.UsageError, match="nothing to look for"):
        symptom_of_conversion(model, None, default_registry(), Limits(), "", False, {})


def test_operators_and_runtimes_of_ones_own_are_targets(tmp_path):
    model = opset.parse_model('<ir_version: 8, opset_import: ["": 17]> m (float[2] x) => (float[2] y) { y = Relu (x) }')
    own = Path(__file__).parents[1] / "opsets" / "own"
    file = runtime_file(tmp_path, takes("Relu"))
    for asked in ({"to": {"com.example": 1}, "schemas": [own]}, {"runtime": "npu==1.0", "targets": [file]}):
        with pytest.raises(opset.UsageError) as caught:
            opset.reduce(model, **asked)
        assert caught.value.code == "U103"  # nothing is refused


def test_the_named_node_counts():
    text = FLAT.replace("y = Relu (up)", "z = StringNormalizer (t2) y = Relu (up)").replace(
        "float[4] s)", "float[4] s, string[1] t2)"
    )
    first = opset.reduce(opset.parse_model(text), 9)
    model = opset.parse_model(text)
    model.graph.node[-2].name = "texts"
    second = opset.reduce(model, 9, node="texts")
    assert operators(opset.load(first)) == ["Resize"]
    assert operators(opset.load(second)) == ["StringNormalizer"]
    with pytest.raises(opset.UsageError, match="nothing is refused about node 'other'"):
        opset.reduce(model, 9, node="other")


def test_a_weight_that_is_needed_stays_and_is_small():
    small = opset.load(
        opset.reduce(opset.parse_model(FLAT), failing=lambda model: "Conv" in operators(model) and weights(model))
    )
    assert operators(small) == ["Conv"]
    assert [[*tensor.dims] for tensor in weights(small)] == [[1, 1, 1, 1]]


def weights(model):
    return [*model.proto.graph.initializer]


def test_a_difference_is_reduced_to_the_node_that_makes_it():
    def convert(model, *arguments, **options):
        conversion = convert_model(model, *arguments, **options)
        if conversion.model is not None:
            message = type(conversion.model.proto)()
            message.CopyFrom(conversion.model.proto)
            for node in message.graph.node:
                node.op_type = {"Abs": "Neg"}.get(node.op_type, node.op_type)
            conversion.model = conversion.model.with_proto(message, changed=True)
        return conversion

    text = """<ir_version: 8, opset_import: ["": 13]>
        m (float[N, 7] x) => (float[N, 7] y) <float[7] w = {1, 2, 3, 4, 5, 6, 7}> {
        a = Mul (x, w) b = Tanh (a) c = Abs (b) d = Sigmoid (c) y = Softmax (d) }"""
    model = opset.parse_model(text)
    seen = []

    def verified(one, other, settings, registry):
        seen.append((settings.dims, settings.seeds, settings.limits))
        return verify_models(one, other, settings, registry)

    with patch("opset.reduction.symptoms.verify_models", verified):
        for dims in (None, {"N": 5, "M": 6}):
            with pytest.raises(opset.UsageError, match="the converted model computes the same"):
                opset.reduce(model, 17, differs=True, dims=dims, limits=Limits(max_steps=10**6, timeout=60))
    assert seen == [({"N": size}, 2, Limits(max_steps=10**6)) for size in (2, 5)]
    with patch("opset.reduction.symptoms.convert_model", convert):
        small = opset.load(opset.reduce(model, 17, differs=True))
    assert operators(small) == ["Abs"]


def test_a_function_decides():
    small = opset.load(
        opset.reduce(opset.parse_model(FLAT), failing=lambda model: {"Abs", "Resize"} <= {*operators(model)})
    )
    assert sorted(operators(small)) == ["Abs", "Resize"]
    with pytest.raises(opset.UsageError, match="does not show it"):
        opset.reduce(opset.parse_model(FLAT), failing=lambda model: False)


def test_a_command_decides_what_it_prints_and_how_it_ends():
    model = opset.parse_model(f"{UNIQUE} m (float[2] x) => (float[2] y) {{ a = Abs (x)  y = Exp (a) }}")
    program = "import sys; sys.exit('no Exp' if b'Exp' in open(sys.argv[1], 'rb').read() else 0)"
    command = [sys.executable, "-c", program, "{}"]
    assert operators(opset.load(opset.reduce(model, failing=command, contains="no Exp", seconds=30))) == ["Exp"]
    with pytest.raises(opset.UsageError, match="its output lacks 'no Abs'"):
        opset.reduce(model, failing=command, contains="no Abs")


@pytest.mark.parametrize("wanted", [{3}, {0, 99}, {17, 18, 50}, set(range(0, 100, 9))])
def test_a_list_is_minimized_to_the_needed_items(wanted):
    tried = []

    def is_enough(items):
        tried.append(len(items))
        return wanted <= {*items}

    assert {*minimize(range(100), is_enough)} == wanted
    assert len(tried) < 250


PROGRAM = """
import sys, time, onnx
model = onnx.load(sys.argv[1])
kinds = {node.op_type for node in model.graph.node}
if "Relu" in kinds:
    print("no kernel for Relu")
    sys.exit(3)
if "Abs" in kinds:
    sys.exit(3)
"""


def test_a_command_fails_in_the_same_way(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.onnxtxt").write_text(FLAT)
    (tmp_path / "fail.py").write_text(PROGRAM)
    command = f"{sys.executable} fail.py {{}}"
    result = run("reduce", "m.onnxtxt", "--failing", command, "--contains", "no kernel", "-o", "small.onnx")
    assert result.exit_code == 0, result.stderr
    assert [node.op_type for node in onnx.load("small.onnx").graph.node] == ["Relu"]
    assert "33 nodes -> 1: " in result.stdout and "exit status 3" in result.stdout
    passing = run("reduce", "m.onnxtxt", "--failing", f"{sys.executable} -c pass {{}}", "-o", "other.onnx")
    assert passing.exit_code == 2 and "the command does not fail" in passing.stderr
    assert not (tmp_path / "other.onnx").exists()


def test_a_command_that_hangs_is_stopped_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "scratch").mkdir()
    (tmp_path / "hang.sh").write_text("#!/bin/sh\nsleep 100\n")
    (tmp_path / "hang.sh").chmod(0o700)
    (tmp_path / "m.onnxtxt").write_text(
        '<ir_version: 8, opset_import: ["": 18]> m (float[2] x) => (float[2] y) { y = Abs (x) }'
    )
    result = run(
        "reduce", "m.onnxtxt", "--failing", "./hang.sh {}", "--time-limit", "0.2", "--tries", "2", "-o", "s.onnx"
    )
    assert result.exit_code == 0 and "hang.sh: stopped after 0.2 seconds" in result.stdout
    assert [*(tmp_path / "scratch").iterdir()] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing is named that the model shows"),
        (["--to", "13", "--failing", "false {}"], "--failing is about no conversion"),
        (["--failing", "false"], "the command does not name the model"),
        (["--failing", "'false {}"], "the command cannot be read"),
        (["--failing", "/nowhere/at/all {}"], "cannot be run"),
        (["--to", "13", "--contains", "x"], "--contains is about the output of a command"),
        (["--to", "13", "--dim", "N=2"], "--dim is about an evaluation"),
        (["--to", "13", "--differs", "--node", "x"], "--node is about a refusal"),
        (["--to", "17"], "the conversion is not refused"),
    ],
)
def test_options_that_do_not_fit(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.onnxtxt").write_text(
        '<ir_version: 8, opset_import: ["": 18]> m (float[2] x) => (float[2] y) { y = Abs (x) }'
    )
    result = run("reduce", "m.onnxtxt", "-o", "out.onnx", *arguments)
    assert result.exit_code == 2 and message in result.stderr
    assert not (tmp_path / "out.onnx").exists()


def test_tries_are_bounded_and_the_report_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.onnxtxt").write_text(FLAT)
    data = run_json("reduce", "m.onnxtxt", "--to", "13", "--tries", "2", "-o", "out.onnx")["models"][0]
    assert (data["status"], data["complete"], data["tries"], data["nodes_before"]) == ("reduced", False, 2, 33)
    assert data["nodes"] == len(onnx.load("out.onnx").graph.node)


def test_a_command_that_is_stopped_at_the_end_of_the_time_shows_nothing():
    model = opset.load(opset.parse_model(FLAT))
    symptom = Fails(model, [sys.executable, "-c", "import time; time.sleep(30)", "{}"], "", 0.05)
    assert symptom.is_shown(model)
    symptom.deadline = time.monotonic()
    assert not symptom.is_shown(model)
