"""Operators that have function bodies and no kernel: the body that serves a node is evaluated."""

import numpy as np
import pytest
from onnx import parser

import opset
from opset import ReferenceEvaluator, RunError
from tests.cli.commands import run

MIX = """\
operator: Mix
family: example
versions:
- since: 1
  doc: Returns `factor * X`, plus `B` if there is one.
  inputs:
  - {name: X, type: T, doc: values}
  - {name: B, type: T, optional: true, doc: what is added}
  - {name: C, type: T, optional: true, doc: what is not used}
  outputs: [{name: Y, type: T, doc: results}]
  attributes:
    factor: {type: float, default: 2.0, range: "> 0", constraint: C1, doc: what values are multiplied by}
    mode: {type: string, default: plain, doc: which body serves}
  types: {T: [float, float16, int64]}
  shape: same(X)
  function:
  - opset: 13
    where: {mode: newer, B: absent}
    nodes: |
      Y = Neg (X)
  - opset: 9
    where: {mode: newer, B: absent}
    nodes: |
      Y = Abs (X)
  - opset: 7
    where: {B: given}
    types: {T: [float, float16]}
    nodes: |
      scaled = com.example.Scaled <factor: float = @factor> (X)
      Y = Add (scaled, B)
  - opset: 7
    where: {B: absent, mode: plain, rank(X): ">= 1"}
    emulate: {float16: float}
    nodes: |
      number = Constant <value_float: float = @factor> ()
      factor = CastLike (number, X)
      big = Constant <value_float: float = 100000.0> ()
      wide = CastLike (big, X)
      large = Mul (X, wide)
      scaled = Mul (large, factor)
      Y = Div (scaled, wide)
  - opset: 7
    where: {mode: circle}
    nodes: |
      Y = com.example.Mix <mode = "circle"> (X)
examples:
- {name: plain, since: 1, inputs: [{float: [1, 2]}], outputs: [{float: [2, 4]}]}
- {name: newer, since: 1, attributes: {mode: newer}, inputs: [{float: [-1]}], outputs: [{float: [1]}]}
- {name: no_factor, since: 1, attributes: {factor: 0.0}, inputs: [{float: [1]}], error: C1}
"""
SCALED = """\
operator: Scaled
family: example
versions:
- since: 1
  doc: Returns `factor * X`.
  inputs: [{name: X, type: T, doc: values}]
  outputs: [{name: Y, type: T, doc: results}]
  attributes: {factor: {type: float, required: true, doc: what values are multiplied by}}
  types: {T: [float, float16]}
  shape: same(X)
  function:
  - opset: 7
    nodes: |
      number = Constant <value_float: float = @factor> ()
      factor = CastLike (number, X)
      Y = Mul (X, factor)
"""


@pytest.fixture
def schemas(tmp_path):
    folder = tmp_path / "schemas" / "com.example"
    folder.mkdir(parents=True)
    (folder / "Mix.yaml").write_text(MIX)
    (folder / "Scaled.yaml").write_text(SCALED)
    return folder.parent


def model(nodes, opset_version=17, functions="", declared="float[N] x, float[N] b"):
    standard = f'"" : {opset_version}, ' if opset_version else ""
    return parser.parse_model(
        f'<ir_version: 8, opset_import: [{standard}"com.example" : 1, "local" : 1]>'
        f"g ({declared}) => (float[N] y) {{ {nodes} }} {functions}"
    )


def evaluate(schemas, nodes, x=(1, 2), b=(10, 20), element=np.float32, **form):
    feeds = {"x": np.array(x, element), "b": np.array(b, element)}
    return ReferenceEvaluator(model(nodes, **form), schemas=[schemas]).run(["y"], feeds)[0]


@pytest.mark.parametrize("opset_version", [1, 6, 7, 9, 13, 21, None])
def test_a_body_is_evaluated_at_any_opset_of_the_model(schemas, opset_version):
    """Older than all bodies, it changes nothing of what they mean; a model may import the own domain alone."""
    assert evaluate(schemas, "y = com.example.Mix <factor = 3.0> (x)", opset_version=opset_version).tolist() == [3, 6]


@pytest.mark.parametrize(("opset_version", "result"), [(9, [1, 2]), (12, [1, 2]), (13, [-1, -2]), (None, [-1, -2])])
def test_the_body_is_that_of_the_opset(schemas, opset_version, result):
    nodes = 'y = com.example.Mix <mode = "newer"> (x)'
    assert evaluate(schemas, nodes, opset_version=opset_version).tolist() == result


def test_a_body_may_use_other_operators_with_bodies_and_depends_on_the_inputs_given(schemas):
    assert evaluate(schemas, "y = com.example.Mix (x, b)").tolist() == [12, 24]
    assert evaluate(schemas, 'y = com.example.Mix <factor = 0.5> (x, "")').tolist() == [0.5, 1]
    assert evaluate(schemas, 'y = com.example.Mix <factor = 0.5> (x, "", b)').tolist() == [0.5, 1]


def test_types_that_a_body_emulates_are_computed_in_the_wider_type(schemas):
    """The product of 100000 and 3 is no float16."""
    declared = "float16[N] x, float16[N] b"
    result = evaluate(schemas, "y = com.example.Mix (x)", (3, 1), element=np.float16, declared=declared)
    assert (result.dtype, result.tolist()) == (np.float16, [6, 2])


def test_in_a_function_and_in_a_graph(schemas):
    function = '<domain: "local", opset_import: ["" : 12, "com.example" : 1]> F (a) => (c) { c = com.example.Mix (a) }'
    assert evaluate(schemas, "y = local.F (x)", functions=function).tolist() == [2, 4]
    branch = "b () => (float[N] r) { r = com.example.Mix (x) }"
    condition = "t = Constant <value_int = 1> () c = Cast <to = 9> (t)"
    nodes = f"{condition} y = If <then_branch = {branch}, else_branch = {branch}> (c)"
    assert evaluate(schemas, nodes).tolist() == [2, 4]


def test_a_function_of_the_model_is_not_what_a_body_uses(schemas):
    function = '<domain: "com.example", opset_import: ["" : 12]> Scaled <factor> (a) => (c) { c = Neg (a) }'
    assert evaluate(schemas, "y = com.example.Mix (x, b)", functions=function).tolist() == [12, 24]


@pytest.mark.parametrize(
    ("nodes", "code", "why"),
    [
        ("y = com.example.Mix <factor = 0.0> (x)", "R203", "C1: "),
        ('y = com.example.Mix <mode = "circle"> (x)', "R201", "com.example Mix 1: its function body uses the operator"),
        (
            'y = com.example.Mix <mode = "other"> (x)',
            "R201",
            "com.example Mix 1: it has no kernel, and no function body",
        ),
        ("y = com.example.Mix <scale = 1.0> (x)", "R202", ""),
        ("y = com.example.Mix (x, x, x, x)", "R202", ""),
        ("d = Cast <to = 11> (x) y = com.example.Mix (d)", "R202", ""),
        (
            "i = Cast <to = 7> (x) z = com.example.Mix (i, i) y = Cast <to = 1> (z)",
            "R201",
            "com.example Mix 1: it has no",
        ),
        ("y = com.example.Scaled (x)", "R202", ""),
    ],
)
def test_a_node_that_does_not_fit_is_an_error(schemas, nodes, code, why):
    with pytest.raises(RunError) as caught:
        evaluate(schemas, nodes)
    assert caught.value.code == code and caught.value.why.startswith(why) and "node number" in caught.value.place
    assert caught.value.findings[0].help or code == "R203"


def test_a_body_that_cannot_be_read_is_told(schemas):
    (schemas / "com.example" / "Mix.yaml").write_text(MIX.replace("Y = Abs (X)", "Y = Abs X"))
    with pytest.raises(RunError) as caught:
        evaluate(schemas, 'y = com.example.Mix <mode = "newer"> (x)', opset_version=9)
    assert caught.value.code == "R201" and caught.value.findings[0].help == "opset lint says where"
    assert caught.value.why.startswith("com.example Mix 1: its function body cannot be read: ")


def test_errors_in_a_body_name_the_node_that_is_computed_by_it(schemas):
    with pytest.raises(RunError) as caught:
        evaluate(schemas, "y = com.example.Mix (x, b)", b=(1, 2, 3), declared="float[N] x, float[M] b")
    assert caught.value.place == (
        "function 'com.example.Mix', node number 1 (Add), called by graph 'g', node number 0 (Mix)"
    )


def test_steps_are_limited_and_values_traced_in_bodies(schemas):
    with pytest.raises(RunError, match="R301"):
        ReferenceEvaluator(
            model("y = com.example.Mix (x, b)"), schemas=[schemas], limits=opset.Limits(max_steps=3)
        ).run(None, {"x": np.ones(1, np.float32), "b": np.ones(1, np.float32)})
    seen = []
    evaluator = ReferenceEvaluator(
        model("y = com.example.Mix (x, b)"),
        schemas=[schemas],
        trace=lambda node, name, value: seen.append((node, name)),
    )
    evaluator.run(None, {"x": np.ones(1, np.float32), "b": np.ones(1, np.float32)})
    assert ("function 'com.example.Scaled', node number 2 (Mul)", "Y") in seen


def test_each_verb_that_evaluates_does_so_by_the_body(schemas, tmp_path):
    file = tmp_path / "model.onnx"
    file.write_bytes(model("y = com.example.Mix (x, b)").SerializeToString())
    done = run("run", file, "--set", "x=[1, 2]", "--set", "b=[1, 1]", "--schemas", schemas)
    assert "[3, 5]" in done.stdout and done.exit_code == 0
    done = run("convert", file, "--to", "21", "--verify", "--schemas", schemas, "-o", tmp_path / "new.onnx")
    assert "verified with the reference evaluator: same" in done.stdout and done.exit_code == 0
    done = run("verify", file, tmp_path / "new.onnx", "--schemas", schemas)
    assert "same" in done.stdout and done.exit_code == 0
    done = run("test", schemas)
    assert [line.split() for line in done.stdout.splitlines() if line.startswith("function")] == [
        ["function", "3", "0", "0"]
    ]
    done = run("test", schemas, "--only", "kernel")
    assert "kernel, not run: there is no kernel (3)" in done.stdout
