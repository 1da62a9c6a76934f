"""The conformance corpus: which cases there are, what files they have, what the manifest says, and what is refused."""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import opset
from opset.errors import Finding, ModelError, OpsetError, RunError
from opset.opsets.registry import default_registry, registry_with
from opset.reference.example_models import model_of
from opset.schemas.example import Example, ExampleValue
from opset.workflow.corpus.cases import AUTHOR, _complete_model, _output_types, build_corpus, pick_cases
from opset.workflow.corpus.judgements import Judgements
from opset.workflow.corpus.judging import Judge, case_tolerance
from opset.workflow.examples.runner import ExampleRunner
from tests.cli.commands import run, run_json
from tests.docgen.domains import tree as whole_tree

REGISTRY = default_registry()
SCALE = """operator: Scale
family: example
versions:
- since: 1
  doc: Twice `X`.
  inputs: [{name: X, type: T, doc: values}]
  outputs: [{name: Y, type: T, doc: results}]
  types: {T: [float]}
  function: [{opset: 7, nodes: "Y = Add (X, X)"}]
special_cases: []
examples:
- {name: right, since: 1, inputs: [{float: [1, 2]}], outputs: [{float: [2, 4]}]}
- {name: wrong, since: 1, inputs: [{float: [1, 2]}], outputs: [{float: [2, 5]}]}
"""
KERNEL = """from opset.extend import kernel

@kernel("Scale", domain="com.acme")
def scale(x):
    return x * x.dtype.type(2)
"""


def tree(folder):
    """The files of a corpus by their paths, without the list of what is ours."""
    return {path: data for path, data in whole_tree(folder).items() if path != AUTHOR.manifest}


def made(*names, domain="", every_version=False):
    return build_corpus(
        REGISTRY, pick_cases(REGISTRY, [REGISTRY.versions(name, domain) for name in names], every_version)
    )


def cases(*names, **also):
    return {case["name"]: case for case in made(*names, **also).cases}


def test_every_example_has_a_name_of_its_own():
    every = [REGISTRY.versions(name, domain) for domain in REGISTRY.domains for name in REGISTRY.operators(domain)]
    first, all_of_them = pick_cases(REGISTRY, every, False), pick_cases(REGISTRY, every, True)
    examples = sum(len(REGISTRY.examples(each[0].name, each[0].domain)) for each in every)
    assert len({pick.name.lower() for pick in first}) == len(first) <= examples
    assert len({pick.name.lower() for pick in all_of_them}) == len(all_of_them) > 2 * len(first)
    assert {pick.name for pick in first} < {pick.name for pick in all_of_them}
    assert not any(pick.schema.deprecated for pick in all_of_them)


def test_a_case_is_at_the_first_version_or_at_each():
    first, every = cases("Softmax"), cases("Softmax", every_version=True)
    assert {case["version"] for case in first.values()} == {1, 13}
    for wanted in ({11}, set()):
        picks = pick_cases(REGISTRY, [REGISTRY.versions("Softmax")], True, {("", "Softmax"): wanted})
        assert {pick.schema.since_version for pick in picks} == wanted
    assert {case["version"] for case in every.values()} == {1, 11, 13}
    case = every["test_softmax_v11_rows"]
    assert (case["opsets"], case["ir_version"], case["types"]) == ({"ai.onnx": 11}, 6, ["float"])
    assert case["judged_by"][:1] == ["kernel"]
    assert any("function body" in judge for judge in every["test_softmax_v13_rows"]["judged_by"])


def test_files_are_those_that_the_manifest_has_the_hashes_of(tmp_path):
    run("testgen", "Softmax", "-o", tmp_path)
    files = tree(tmp_path)
    manifest = json.loads(files.pop("manifest.json"))
    listed = {path: digest for case in manifest["cases"] for path, digest in case["files"].items()}
    assert manifest["format"] == 1 and listed.keys() == files.keys()
    assert all(hashlib.sha256(data).hexdigest() == listed[path] for path, data in files.items())


def test_values_are_read_by_the_onnx_package_as_they_were_written():
    files = made("Softmax", "If", "SequenceAt", "QuantizeLinear", "StringNormalizer").files
    models = {path.rpartition("/")[0]: onnx.load_from_string(data) for path, data in files.items() if "model" in path}
    for folder, model in models.items():
        onnx.checker.check_model(model) if folder.startswith("node") else None
        for side in "input", "output":
            values = [files.get(f"{folder}/test_data_set_0/{side}_{at}.pb") for at in range(4)]
            declared = getattr(model.graph, side)
            assert sum(each is not None for each in values) == len(declared) or folder.startswith("invalid")
            for data, value in zip(values, declared, strict=False):
                if data is not None and value.type.HasField("tensor_type"):
                    array = numpy_helper.to_array(onnx.TensorProto.FromString(data))
                    shape = [each.dim_value for each in value.type.tensor_type.shape.dim]
                    assert value.type.tensor_type.HasField("shape") and [*array.shape] == shape


def test_absent_inputs_are_no_graph_inputs():
    case = next(
        onnx.load_from_string(data)
        for path, data in made("Clip").files.items()
        if path.endswith("model.onnx") and "" in onnx.load_from_string(data).graph.node[0].input
    )
    assert [each.name for each in case.graph.input] == [each for each in case.graph.node[0].input if each]


def test_random_outputs_are_declared_and_not_compared():
    made_of = made("RandomNormal")
    drawn = [case for case in made_of.cases if case["kind"] == "random"]
    assert drawn and all(case["tolerance"] is None and case["outputs"] for case in drawn)
    assert not [path for path in made_of.files if path.startswith("random") and "output" in path]


def test_a_case_that_a_runtime_should_refuse_says_why():
    case = cases("Softmax")["test_softmax_v1_axis_out_of_range"]
    assert (case["kind"], case["error"], case["tolerance"]) == ("invalid", "C1", None)
    assert case["shows"].startswith("C1: -rank(input) <= axis")


@pytest.mark.parametrize(
    ("operator", "name", "rtol", "reason"),
    [
        ("Softmax", "test_softmax_v1_rows", 1e-4, "usual for float32"),
        ("Softmax", "test_softmax_v13_bfloat16", 2**-6, "two units"),
        ("Shape", "test_shape_v1_whole", 0.0, "exact"),
    ],
)
def test_tolerances_have_reasons(operator, name, rtol, reason):
    found = made(operator)
    case = next(each for each in found.cases if each["name"] == name)
    assert case["tolerance"]["rtol"] == rtol and reason in case["tolerance_reason"]
    assert json.loads(found.files[f"node/{name}/data.json"]) == case["tolerance"]


def test_the_tolerance_is_that_of_the_widest_type_of_all_outputs():
    example = Example("it", 1)
    single, half = (np.zeros(1, dtype) for dtype in (np.float32, np.float16))
    usual = {"rtol": 1e-4, "atol": 1e-7}, "usual for float32: sums in another order"
    assert case_tolerance(example, [single, np.zeros(1, np.int64)]) == usual
    assert case_tolerance(example, [[single], {"a": np.float32(1)}]) == usual
    for values in ([single, half], [half, single], [[single, half]], [{"a": half, "b": single}]):
        found, why = case_tolerance(example, values)
        assert found["rtol"] > 1e-4 and why == "usual for float16: two units of the last digit"
        assert found["atol"] == float(f"{found['rtol'] / 1000:.6g}")
    exact = {"rtol": 0.0, "atol": 0.0}, "results are exact"
    assert [case_tolerance(example, each) for each in ([np.zeros(1, np.int64)], [], [[], {}])] == [exact] * 3
    stated = {"rtol": 0.5, "atol": 0.5}, "stated by the example"
    assert case_tolerance(example._replace(tolerance=0.5), [single]) == stated


def acme(folder, text=SCALE, kernel=KERNEL):
    (folder / "com.acme").mkdir(parents=True)
    (folder / "com.acme" / "Scale.yaml").write_text(text)
    if kernel:
        (folder / "com.acme" / "kernels.py").write_text(kernel)
    return folder


def test_what_contradicts_kernel_or_body_is_no_case(tmp_path):
    out = tmp_path / "out"
    options = ["testgen", "--all", "--domain", "com.acme", "-o", out]
    found = run_json(*options, "--schemas", acme(tmp_path / "one"))
    assert found["cases"] == {"node": 1}
    (error,) = found["errors"]
    assert error["code"] == "T211" and error["why"].endswith("the first at [1]: 4.0 instead of 5.0")
    case = json.loads((out / "manifest.json").read_text())["cases"][0]
    assert (case["name"], case["judged_by"]) == ("test_acme_scale_v1_right", ["kernel", "function body of opset 7"])
    found = run_json(*options, "--schemas", acme(tmp_path / "two", kernel=""))
    assert [each["code"] for each in found["errors"]] == ["T212"]
    case = json.loads((out / "manifest.json").read_text())["cases"][0]
    assert case["judged_by"] == ["function body of opset 7"]
    assert (out / "node" / "test_acme_scale_v1_right" / "model.onnx").exists()


def test_domains_whose_last_words_differ_in_case_have_their_own_case_names(tmp_path):
    acme(tmp_path)
    (tmp_path / "org.Acme").mkdir()
    (tmp_path / "org.Acme" / "Scale.yaml").write_text(SCALE)
    registry = registry_with([tmp_path])
    versions = [registry.versions("Scale", domain) for domain in ("com.acme", "org.Acme")]
    names = [pick.name for pick in pick_cases(registry, versions, False)]
    assert [each for each in names if each.endswith("right")] == [
        "test_com_acme_scale_v1_right",
        "test_org_acme_scale_v1_right",
    ]


BODIES = 'function: [{opset: 9, nodes: "Y = Sum (X, X)"}, {opset: 7, nodes: "Y = Add (X, X)"}]'


CHOICES = """operator: Scale
family: example
versions:
- since: 3
  doc: Values between bounds.
  inputs:
  - {name: X, type: T, doc: values}
  - {name: least, type: T, optional: true, doc: lower bound}
  - {name: most, type: T, optional: true, doc: upper bound}
  outputs:
  - {name: Y, type: T, doc: results}
  - {name: Cut, type: B, optional: true, doc: what was cut}
  - {name: Count, type: I, optional: true, doc: how many were cut}
  types: {T: [float], B: [bool], I: [int64]}
  constraints: {C1: {rank: {X: ">= 1"}}}
special_cases: []
examples:
- name: upper
  since: 3
  doc: only cut from above
  chosen: the order
  inputs: [{float: [1, 5]}, null, {float: 2}]
  outputs: [{float: [1, 2]}, null, {int64: 1}]
- {name: scalar_value, since: 3, inputs: [{float: 1}], error: C1}
- {name: drawn, since: 3, inputs: [{float: [1, 5]}], outputs: [{float: null, shape: [2]}]}
"""


def test_an_entry_of_the_manifest_has_all_facts_of_its_case(tmp_path, monkeypatch):
    monkeypatch.setattr(Judgements, "agreeing_judges", lambda self, schema, example: ["A 1.0"])
    registry = registry_with([acme(tmp_path, CHOICES, kernel="")])
    corpus = build_corpus(registry, pick_cases(registry, [registry.versions("Scale", "com.acme")], False))
    assert not corpus.findings
    of_operator = {"domain": "com.acme", "operator": "Scale", "version": 3, "opsets": {"com.acme": 3}, "ir_version": 3}
    drawn, scalar, upper = corpus.cases
    for case in corpus.cases:
        hashes = {path: hashlib.sha256(corpus.files[path]).hexdigest() for path in case["files"]}
        assert case.pop("files") == hashes and {path.split("/")[1] for path in hashes} == {case["name"]}
    assert upper == {
        **of_operator, "name": "test_acme_scale_v3_upper", "kind": "node", "example": "upper",
        "shows": "only cut from above", "status": "chosen", "because": "the order", "types": ["float", "int64"],
        "tolerance": {"rtol": 1e-4, "atol": 1e-7}, "tolerance_reason": "usual for float32: sums in another order",
        "judged_by": ["A 1.0"],
    }  # fmt: skip
    assert scalar == {
        **of_operator, "name": "test_acme_scale_v3_scalar_value", "kind": "invalid", "example": "scalar_value",
        "shows": "C1: rank(X) >= 1", "status": "derived", "error": "C1", "types": ["float"], "tolerance": None,
        "tolerance_reason": "", "judged_by": [],
    }  # fmt: skip
    assert drawn == {
        **of_operator, "name": "test_acme_scale_v3_drawn", "kind": "random", "example": "drawn", "shows": "drawn",
        "status": "derived", "types": ["float"], "outputs": [{"type": "tensor(float)", "shape": (2,)}],
        "tolerance": None, "tolerance_reason": "", "judged_by": [],
    }  # fmt: skip
    names = {path.split("/", 2)[2] for path in corpus.files if "_upper/" in path}
    values = [f"test_data_set_0/{side}_{number}.pb" for side in ("input", "output") for number in range(2)]
    assert names == {"data.json", "model.onnx", *values}
    assert {path.split("/", 2)[2] for path in corpus.files if "_drawn/" in path} == {"model.onnx", values[0]}


def judge(folder, text):
    registry = registry_with([acme(folder, text)])
    (schema,) = registry.versions("Scale", "com.acme")
    return Judge(registry), schema, registry.examples("Scale", "com.acme")[0]


def test_each_body_is_a_judge_of_its_own(tmp_path):
    text = SCALE.replace('function: [{opset: 7, nodes: "Y = Add (X, X)"}]', BODIES)
    one, schema, example = judge(tmp_path / "right", text)
    assert one.judge_example(schema, example) == ["kernel", "function body of opset 7", "function body of opset 9"]
    for at, operator in ((7, "Add"), (9, "Sum")):
        one, schema, example = judge(tmp_path / operator, text.replace(operator, "Mul"))
        with pytest.raises(OpsetError) as caught:
            one.judge_example(schema, example)
        (found,) = caught.value.findings
        assert (found.code, found.message) == ("T212", f"the function body of opset {at} contradicts the example")
        assert found.why == "output 0: 1 of 2 elements differ; the first at [0]: 1.0 instead of 2.0"


def test_a_body_may_be_of_the_first_opset(tmp_path):
    one, schema, example = judge(tmp_path, SCALE.replace("opset: 7", "opset: 1"))
    assert one.judge_example(schema, example) == ["kernel", "function body of opset 1"]


@pytest.mark.parametrize(("made", "difference"), [("Add", ""), ("Mul", "1.0 instead of 2.0")])
def test_a_lowering_of_a_first_version_is_a_judge(tmp_path, made, difference):
    text = SCALE.replace('  function: [{opset: 7, nodes: "Y = Add (X, X)"}]\n', "")
    hook = f"""from opset.extend import lower

@lower("Scale", since=1, domain="com.acme")
def scale(op, node):
    return op.{made}(node.input(0), node.input(0), domain="")
"""
    registry = registry_with([acme(tmp_path, text)])
    (tmp_path / "com.acme" / "adapters.py").write_text(hook)
    registry = registry_with([tmp_path])
    (schema,) = registry.versions("Scale", "com.acme")
    try:
        found = Judge(registry).judge_example(schema, registry.examples("Scale", "com.acme")[0])
    except OpsetError as error:
        assert (error.code, error.message) == ("T212", "the lowering at version 1 contradicts the example")
        assert difference and error.why.endswith(difference)
    else:
        assert found == ["kernel", "lowering at version 1"] and not difference


def test_a_kernel_confirms_that_a_constraint_is_broken_only_by_naming_it(tmp_path):
    text = SCALE.replace(
        "  function:", """  constraints: {C1: {rank: {X: "<= 1"}}, C2: {rank: {X: ">= 1"}}}\n  function:"""
    )
    one, schema, example = judge(tmp_path, text)
    broken = example._replace(inputs=(example.inputs[0]._replace(shape=(), content=1.0),), outputs=None, error="C2")
    assert one.judge_example(schema, broken) == ["kernel"]
    with pytest.raises(OpsetError) as caught:
        one.judge_example(schema, broken._replace(error="C1"))
    (found,) = caught.value.findings
    assert (found.code, found.message) == ("T211", "the kernel contradicts the example")
    assert "C2: " in found.why


@pytest.mark.parametrize(
    ("broken", "code", "why", "confirms"),
    [
        ("C1", "R203", "C1: it is so", True),
        ("C2", "R203", "C1: it is so", False),
        ("C1", "R204", "C1: it is so", False),
        ("", "R203", ": it is so", False),  # a constraint without a label
        ("", "R203", "C1: it is so", False),
    ],
)
def test_an_error_of_a_kernel_confirms_an_example_that_says_so(broken, code, why, confirms):
    def outputs(schema, example):
        raise RunError([Finding(code, "no", why=why)])

    one = Judge(default_registry())
    one._runner = SimpleNamespace(why_no_kernel=lambda schema: "", outputs=outputs, clear_values=lambda: None)
    relu = default_registry().schema("Relu", 14)
    try:
        assert one._is_right_by_kernel(relu, Example("it", 14, error=broken)) is confirms
    except OpsetError as error:
        assert (error.code, error.why, confirms) == ("T211", f"no: {why}", False)


def test_only_the_kernel_judges_what_is_random():
    (random,) = {tuple(each["judged_by"]) for each in cases("Bernoulli").values() if each["kind"] == "random"}
    assert random == ("kernel",)


def test_a_judge_that_lacks_a_package_is_none(tmp_path, monkeypatch):
    one, schema, example = judge(tmp_path, SCALE.replace('function: [{opset: 7, nodes: "Y = Add (X, X)"}]', BODIES))
    ran = ExampleRunner.run

    def lacking(code):
        def run(bench, model, example):
            if {node.op_type for node in model.graph.node} & {"Scale", "Add"}:
                raise RunError(Finding(code, "it is not there", why="install it"))
            return ran(bench, model, example)

        return run

    monkeypatch.setattr(ExampleRunner, "run", lacking("R205"))
    assert one.judge_example(schema, example) == ["function body of opset 9"]
    monkeypatch.setattr(ExampleRunner, "run", lacking("R204"))
    with pytest.raises(OpsetError) as caught:
        one.judge_example(schema, example)
    (found,) = caught.value.findings
    assert (found.code, found.why) == ("T211", "it is not there: install it")


def test_a_lowering_is_a_judge():
    every = cases("Celu", "Acosh", "Erf", every_version=True)
    assert every["test_acosh_v9_plain"]["judged_by"][:2] == ["kernel", "lowering at version 9"]
    assert every["test_acosh_v22_plain"]["judged_by"][:2] == ["kernel", "lowering at version 22"]


@pytest.mark.parametrize(
    "error",
    [
        OverflowError("a number is too large"),
        ModelError(Finding("M206", "it is no number", why="a number is too large")),
        ModelError(Finding("M206", "a number is too large")),
    ],
)
def test_an_example_that_cannot_be_written_is_said_with_its_reason(error, monkeypatch):
    def fail(*arguments):
        raise error

    monkeypatch.setattr("opset.workflow.corpus.cases._tensor_bytes", fail)
    corpus = made("Not")
    assert corpus.cases == []
    assert {(each.code, each.why) for each in corpus.findings} == {("T213", "a number is too large")}


def test_names_that_differ_in_case_alone_are_one_case(tmp_path):
    text = SCALE.replace("{name: wrong,", "{name: Right,").replace("2, 5", "2, 4")
    found = run_json("testgen", "com.acme.Scale", "-o", tmp_path / "out", "--schemas", acme(tmp_path / "s", text))
    assert found["cases"] == {"node": 1} and [each["code"] for each in found["errors"]] == ["T213"]


def test_only_what_changed_is_written(tmp_path):
    run("testgen", "Softmax", "-o", tmp_path)
    (tmp_path / "mine").write_text("mine")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    changed = tmp_path / "node" / "test_softmax_v1_rows" / "model.onnx"
    changed.write_bytes(b"")
    found = run_json("testgen", "Softmax", "-o", tmp_path)
    assert (found["written"], found["removed"]) == (1, 0)
    kept = {path for path, time in before.items() if path.is_file() and path.stat().st_mtime_ns == time}
    assert {path for path in before if path.is_file()} - kept == {changed, tmp_path / ".opset-corpus"}
    assert run_json("testgen", "Abs", "-o", tmp_path)["removed"] > 0
    assert not changed.exists() and (tmp_path / "mine").exists()


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "mine").write_text("mine")
    result = run("testgen", "Abs", "-o", tmp_path)
    assert result.exit_code == 2 and "U102" in result.stderr and os.listdir(tmp_path) == ["mine"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["Abs"], "U103", "there is no folder to write to"),
        (["-o", "x"], "U103", "it takes either operators or --all"),
        (["Abs", "--all", "-o", "x"], "U103", "it takes either operators or --all"),
        (["Nonesuch", "-o", "x"], "U105", "there is no operator 'Nonesuch'"),
        (["Abs@x", "-o", "x"], "U105", "'x' is no version of an operator set"),
        (["Abs@²", "-o", "x"], "U105", "'²' is no version of an operator set"),
        (["Abs@1234567890", "-o", "x"], "U105", "'1234567890' is no version of an operator set"),
        (["Abs@123456789", "-o", "x"], "U105", "there is no ai.onnx 123456789"),
        (["Abs@13", "--domain", "ai.onnx.ml", "-o", "x"], "U105", "there is no operator 'Abs' in ai.onnx.ml"),
        (["--all", "--domain", "com.nonesuch", "--list"], "U105", ""),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments, code, message):
    result = run("testgen", *arguments)
    assert result.exit_code == 2 and f"error[{code}] {message}" in result.stderr


def test_the_list_needs_no_evaluation():
    names = run("testgen", "--list", "Abs@13").stdout.splitlines()
    assert names == [f"node/{case}" for case in cases("Abs", every_version=True) if "_v13_" in case]
    assert run("testgen", "--list", "Abs@13", "Abs@6").stdout.splitlines() == [
        f"node/{case}" for version in (6, 13) for case in cases("Abs", every_version=True) if f"_v{version}_" in case
    ]
    assert [each["name"] for each in run_json("testgen", "--list", "Abs")["listed"]] == [*cases("Abs")]


def test_what_is_written_depends_on_the_operators_alone(tmp_path):
    root = str(Path(opset.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": root, "PYTHONHASHSEED": "7", "LC_ALL": "C", "TZ": "Asia/Tokyo"}
    subprocess.run(
        [sys.executable, "-m", "opset", "testgen", "Softmax", "Range", "-o", tmp_path], env=environment, check=True
    )
    assert tree(tmp_path) == made("Softmax", "Range").files


def test_integers_are_whole():
    data = next(data for path, data in made("Shape").files.items() if path.endswith("output_0.pb"))
    assert numpy_helper.to_array(onnx.TensorProto.FromString(data)).dtype == np.int64


@pytest.mark.parametrize(
    ("operator", "types"),
    [
        ("Gather", ["tensor(float)"]),
        ("Where", ["tensor(float)"]),
        ("Concat", ["tensor(float)"]),
        ("TopK", ["tensor(float)", "tensor(int64)"]),
    ],
)
def test_the_outputs_of_an_invalid_node_have_the_types_that_its_inputs_decide(operator, types):
    """Each input counts for its own parameter, and those beyond the last for the last."""
    registry = default_registry()
    schema = registry.versions(operator)[-1]
    errors = [each for each in registry.examples(operator) if each.error and each.until is None]
    example = next(each for each in errors if each.inputs[-1 if operator == "Where" else 0].type == "tensor(float)")
    assert [*_output_types(model_of(schema, example), schema, example)] == types


@pytest.mark.parametrize(("element", "ir_version"), [("float", 3), ("bfloat16", 4), ("float8e4m3fn", 9), ("int4", 10)])
def test_a_case_of_a_domain_of_ones_own_has_the_lowest_ir_version_that_its_types_need(element, ir_version):
    value = ExampleValue(f"tensor({element})", [1], (1,))
    for schema, wanted in (
        (replace(default_registry().schema("Identity", 21), domain="com.acme"), ir_version),
        (default_registry().schema("Identity", 21), 10),
    ):
        example = Example("it", 21, inputs=(value,), outputs=(value,))
        model = _complete_model(model_of(schema, example), schema, example)
        assert model.ir_version == wanted
        assert model.graph.output[0].type == model.graph.input[0].type


@pytest.mark.parametrize(
    ("operator", "version", "attributes", "type_"),
    [
        ("Cast", 13, {"to": 7}, "tensor(int64)"),
        ("Cast", 13, {"to": 99}, ""),
        ("Cast", 13, {}, ""),
        ("Relu", 14, {"to": 7}, "tensor(float)"),
        ("Bernoulli", 15, {"dtype": 11}, "tensor(double)"),
        ("Bernoulli", 15, {"dtype": 7}, "tensor(int64)"),
        ("Shape", 13, {}, "tensor(int64)"),
        ("Compress", 11, {"to": 1}, "tensor(float)"),
    ],
)
def test_an_attribute_names_the_type_of_an_output_that_no_input_decides(operator, version, attributes, type_):
    schema = default_registry().schema(operator, version)
    example = Example("it", version, attributes=attributes, inputs=(ExampleValue("tensor(float)", [1], (1,)),))
    known = attributes if attributes.keys() <= schema.attributes.keys() else {}
    model = model_of(schema, example._replace(attributes=known))
    for name in attributes.keys() - known.keys():  # which the node has although its operator does not
        model.graph.node[0].attribute.add(name=name, type=2, i=attributes[name])
    assert [*_output_types(model, schema, example)] == [type_]
