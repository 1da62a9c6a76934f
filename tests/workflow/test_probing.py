"""`opset targets probe`: the table of the installed runtime."""

import json
from dataclasses import replace
from types import SimpleNamespace

import onnx
import pytest

from opset.model import proto as pb
from opset.model.types import Constant
from opset.opsets.registry import default_registry
from opset.opsets.releases import newest_ir_version
from opset.opsets.runtimes.loader import load_runtime
from opset.opsets.runtimes.names import find_runtime, installed_runtime
from opset.schemas.example import Example, ExampleValue
from opset.version_converter.trials import Given, Trial
from opset.workflow.probing import (
    MOST_ELEMENTS,
    _entries,
    _limits,
    _loads_together,
    _merge_versions,
    _trial_of,
    _variants,
    _with_constants,
    probe_runtime,
    runtime_text,
)
from tests.cli.commands import SMALL, run, run_json, save

pytest.importorskip("onnxruntime")
REGISTRY = default_registry()
TABLE = "onnxruntime==1.31"


@pytest.fixture(scope="module")
def runtime():
    return installed_runtime("onnxruntime")


def spans(kernels, schema, runtime):
    """Return the types by which kernels of a version take its first parameter, None for all."""
    fitting = [each for each in kernels if runtime.takes_version(each, schema.since_version, schema.since_version)]
    name = next(iter(schema.types))
    allowed = {each.removeprefix("tensor(").removesuffix(")") for each in schema.types[name]}
    return fitting and set().union(*((each.types.get(name) or allowed) & allowed for each in fitting))


@pytest.mark.parametrize("name", ["Relu", "Conv", "Cast", "ReduceSum", "Pad", "ai.onnx.ml.Scaler", "Celu", "If", "Sum"])
def test_it_loads_what_the_table_of_its_release_says(name, runtime, tmp_path):
    document = probe_runtime(runtime, REGISTRY, name)
    file = tmp_path / "mine.yaml"
    file.write_text(runtime_text(document))
    probed, known = find_runtime("installed-onnxruntime==99", [file]), find_runtime(TABLE)
    domain, _, operator = name.rpartition(".")
    found = 0
    for schema in REGISTRY.versions(operator, domain):
        if schema.since_version < 6 and not domain:
            continue
        ours, theirs = (spans(each.kernels(operator, domain), schema, each) for each in (probed, known))
        if theirs:  # without a kernel, it may run by its function
            assert {*theirs} <= {*ours}, schema.since_version
            found += 1
    assert found
    assert (probed.opsets[""], probed.max_ir) == (known.opsets[""], known.max_ir)


def test_an_operator_that_it_does_not_load_is_absent(runtime):
    newest = runtime.opsets[""][1]
    name = next(each for each in REGISTRY.operators("") if REGISTRY.versions(each, "")[0].since_version > newest)
    assert probe_runtime(runtime, REGISTRY, name)["operators"] == {}


def test_versions_that_it_does_not_load_part_entries(runtime, monkeypatch):
    from opset.version_converter.trials import Trial

    loading = Trial.load
    monkeypatch.setattr(
        Trial, "load", lambda trial: "no" if trial.node.op_type == "If" and trial.imports[""] == 13 else loading(trial)
    )
    entries = probe_runtime(runtime, REGISTRY, "If")["operators"]["ai.onnx"]["If"]
    assert [each["versions"] for each in entries] == [[1, 11], [16, 25]]


def test_types_are_those_of_all_examples_that_load(runtime):
    (entry,) = probe_runtime(runtime, REGISTRY, "BitCast")["operators"]["ai.onnx"]["BitCast"]
    assert {"float", "int32", "double", "int64"} <= {*entry["types"]["T1"]}


def test_the_file_is_what_target_reads(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("targets", "probe", "onnxruntime", "Relu", "-o", "mine.yaml")
    assert result.exit_code == 0 and result.stdout.endswith("1 of ai.onnx\n  wrote mine.yaml\n")
    assert load_runtime(tmp_path / "mine.yaml").name == "installed-onnxruntime"
    assert (tmp_path / "mine.yaml").read_text() == run("targets", "probe", "ort", "Relu").stdout
    save("m.onnx", SMALL, tmp_path)
    result = run("blockers", "m.onnx", "--for", "installed-onnxruntime==99", "--target", "mine.yaml")
    assert result.exit_code == 1 and "has no Squeeze" in " ".join(result.stdout.split())
    assert run("targets", "probe", "ort", "Relu", "-o", "mine.yaml").exit_code == 2
    assert run("targets", "probe", "ort", "Relu", "-o", "mine.yaml", "--force").exit_code == 0


def test_what_is_probed_and_written(tmp_path, monkeypatch):
    def probe(*arguments):
        asked.append(arguments)
        return {"runtime": "it", "title": "It 1\x1b", "releases": [], "operators": {"ai.onnx": {"Relu": [], "Abs": []}}}

    asked = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("opset.workflow.probing.probe_runtime", probe)
    shown = run("targets", "probe", "ORT", "-o", "mine\x1b.yaml")
    assert shown.stdout == "It 1\x1b: 2 of ai.onnx\n  wrote mine\\x1b.yaml\n"
    ((runtime, registry, operator, progress),) = asked
    assert (runtime.name, registry, operator, progress) == ("installed:onnxruntime", REGISTRY, "", None)
    asked.clear()
    assert run("targets", "probe", "ort", "Relu", "-o", "mine\x1b.yaml").exit_code == 2 and asked == []


def test_json_is_that_of_show(tmp_path):
    data = run_json("targets", "probe", "installed:onnxruntime", "Relu")
    assert data["how"] == "measured" and data["operators"][0]["operator"] == "Relu"
    assert data["operators"][0]["kernels"][0]["versions"] == {"lowest": 6, "highest": 6}
    assert json.dumps(data["opsets"]["ai.onnx"]) == '{"lowest": 7, "highest": 26}'


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["probe", "tensorrt"], "U101"),
        (["probe", "onnxruntime", "Nonesuch"], "U105"),
        (["list", "-o", "x.yaml"], "U103"),
        (["show", "ort", "--force"], "U103"),
    ],
)
def test_what_cannot_be_probed(arguments, code):
    result = run("targets", *arguments)
    assert result.exit_code == 2 and f"error[{code}]" in result.stderr


def taking(takes):
    """A runtime that loads the models that a function takes, of its opset, and of the types of inputs and outputs."""

    def load(data):
        model = onnx.load_from_string(data)
        values = model.graph.input, model.graph.output
        types = [{each.type.tensor_type.elem_type for each in some} for some in values]
        return "" if takes(model.opset_import[0].version, *types) else "no"

    return SimpleNamespace(loader=SimpleNamespace(load=load), max_ir=None, title="fake")


@pytest.mark.parametrize(
    ("name", "takes", "limits", "entries"),
    [
        ("Relu", lambda opset, given, made: given <= {1, 7}, {"": (7, 21)}, [
            {"versions": [6, 6], "types": {"T": ["float"]}}, {"versions": [13, 13], "types": {"T": ["float"]}},
            {"versions": [14, 14], "types": {"T": ["float", "int64"]}}]),
        ("Neg", lambda opset, given, made: opset >= 13 and given <= {1}, {"": (7, 21)},
         [{}, {"versions": [13, 13], "types": {"T": ["float"]}}]),
        ("Neg", lambda opset, given, made: given <= {1}, {"": (7, 12)},
         [{"versions": [6, 6], "types": {"T": ["float"]}}]),
        ("CastLike", lambda opset, given, made: given <= {1, 11}, {"": (7, 18)},
         [{"versions": [15, 15], "types": {"T1": ["double", "float"]}, "constant_inputs": ["target_type"]}]),
        ("STFT", lambda opset, given, made: given <= {1}, {"": (7, 18)},
         [{"versions": [17, 17], "types": {"T1": ["float"]}, "constant_inputs": ["frame_step", "frame_length"]}]),
        ("Upsample", lambda opset, given, made: True, {"": (7, 21)}, [{"versions": [7, 7]}, {"versions": [9, 9]}]),
        ("Loop", lambda opset, given, made: given <= {1, 7, 9}, {"": (7, 12)}, [
            {"versions": [1, 1], "unasked": ["V"]}, {"versions": [11, 11], "unasked": ["V"]}]),
        ("Loop", lambda opset, given, made: True, {"": (7, 12)}, [{"versions": [1, 1]}, {"versions": [11, 11]}]),
        ("BatchNormalization", lambda opset, given, made: given in ({1}, {10}), {"": (15, 15)},
         [{"versions": [15, 15], "types": {each: ["float", "float16"] for each in ("T", "T1", "T2")}}]),
        ("ai.onnx.ml.Scaler", lambda opset, given, made: True, {"": (7, 21)}, []),
        ("ai.onnx.ml.Scaler", lambda opset, given, made: True, {"": (7, 21), "ai.onnx.ml": (1, 3)},
         [{"versions": [1, 1]}]),
    ],
)  # fmt: skip
def test_what_a_runtime_loads_is_an_entry_for_each_version(name, takes, limits, entries):
    domain, _, operator = name.rpartition(".")
    assert list(_entries(taking(takes), REGISTRY, domain, operator, limits)) == entries


def test_examples_that_break_a_constraint_take_no_place_of_others():
    examples = sorted(REGISTRY.examples("StringConcat"), key=lambda each: not each.error)
    registry = SimpleNamespace(
        examples=lambda name, domain: [examples[0]] * 50 + examples, versions=REGISTRY.versions, schema=REGISTRY.schema
    )
    entries = list(_entries(taking(lambda *_: True), registry, "", "StringConcat", {"": (7, 21)}))
    assert examples[0].error and entries == [{"versions": [20, 20]}]


@pytest.mark.parametrize(
    ("takes", "least", "limits"),
    [
        (
            lambda opset, ml, ir: opset <= 19 and ml <= 3 and ir <= 9,
            7,
            {"": (7, 19), "ai.onnx.ml": (1, 3), "ir": (1, 9)},
        ),
        (lambda opset, ml, ir: opset == 9 and ml in (0, 2), 0, {"": (1, 9), "ai.onnx.ml": (1, 2), "ir": (1, 12)}),
        (lambda opset, ml, ir: not ml, 7, {"": (7, REGISTRY.domains[""]), "ir": (1, newest_ir_version())}),
        (lambda opset, ml, ir: False, 7, {"": (7, 7), "ir": (1, 12)}),
    ],
)
def test_limits_are_the_highest_versions_that_load(takes, least, limits):
    def load(data):
        model = onnx.load_from_string(data)
        imports = {each.domain: each.version for each in model.opset_import}
        return "" if takes(imports[""], imports.get("ai.onnx.ml", 0), model.ir_version) else "no"

    runtime = SimpleNamespace(loader=SimpleNamespace(load=load), max_ir=12, title="fake", opsets={"": (least, 99)})
    assert _limits(runtime, REGISTRY) == limits


def test_a_trial_has_each_input_of_an_example():
    schema = REGISTRY.schema("Clip", 13)
    one, large = ExampleValue("tensor(float)", [1.0], (1,)), ExampleValue("tensor(float)", 0.5, (MOST_ELEMENTS + 1,))
    example = Example("it", 13, inputs=(one, None, one), outputs=(one, None))
    trial = _trial_of("it", schema, example, {"": 13})
    known = Given("tensor(float)", (1,), False, Constant("float", (1,), (1.0,)))
    assert (trial.runtime, trial.imports, trial.outputs) == ("it", {"": 13}, ["tensor(float)", ""])
    assert trial.inputs == [known, Given(""), known] and trial.node.op_type == "Clip"
    (found,) = _trial_of("it", schema, example._replace(inputs=(large,)), {"": 13}).inputs
    assert found == Given("tensor(float)", large.shape)
    unknown = ExampleValue("tensor(float)", None, (1,)), ExampleValue("seq(tensor(float))", [one])
    (found, listed) = _trial_of("it", schema, example._replace(inputs=unknown), {"": 13}).inputs
    assert found == Given("tensor(float)", (1,)) and listed == Given("seq(tensor(float))", None)
    assert _with_constants(trial).inputs == [known, Given(""), known._replace(is_constant=True)]
    wrong = example._replace(inputs=(ExampleValue("tensor(int8)", [300], (1,)),))
    assert _trial_of("it", schema, wrong, {"": 13}) is None


def test_equal_entries_of_consecutive_versions_are_one():
    one, other = {"versions": [1, 1], "types": {"T": ["float"]}}, {"versions": [6, 6], "types": {"T": ["float"]}}
    last = {"versions": [9, 9], "constant_inputs": ["a"]}
    whole = {"versions": [1, 6], "types": {"T": ["float"]}}
    assert _merge_versions([one, other, last]) == [whole, last]
    assert _merge_versions([one, {}, other]) == [one, other] and _merge_versions([{}, one, {}]) == [one]
    assert _merge_versions([one, other, {**one, "versions": [7, 7]}]) == [{**one, "versions": [1, 7]}]


@pytest.mark.parametrize(("newest", "stated"), [(3, {"ml": 3}), (0, {})])
def test_the_document_names_the_release_and_limits_and_progress_counts_operators(newest, stated):
    def load(data):
        model = onnx.load_from_string(data)
        imports = {each.domain: each.version for each in model.opset_import}
        return "" if imports[""] <= 18 and imports.get("ai.onnx.ml", 0) <= newest and model.ir_version <= 10 else "no"

    done = []
    loader = SimpleNamespace(load=load, release="3.4.5", package="fake", version="3.4.5+cpu")
    fake = SimpleNamespace(loader=loader, opsets={"": (7, None)}, max_ir=9, title="fake")
    document = probe_runtime(fake, REGISTRY, "Relu", lambda *each: done.append(each))
    assert document["releases"] == [
        {"release": "3.4", "opset": [7, 18], **stated, "ir": 10, "how": "measured", "union_types": True}
    ]
    assert done == [(1, 1)] and document["runtime"] == "installed-fake"
    assert document["title"] == "fake 3.4.5+cpu as it is installed"


def test_an_absent_input_stays_absent():
    runtime = taking(lambda *_: True)
    runtime.loader.load = lambda data: "" if "" in onnx.load_from_string(data).graph.node[0].input else "no"
    entries = [*_entries(runtime, REGISTRY, "", "Clip", {"": (7, 21)})]
    assert [each.get("versions", [])[:1] for each in entries] == [[], [11], [12], [13]]


@pytest.mark.parametrize("given", ["ab", "abc", "a c", " bc", "  c", " b"])
def test_an_element_type_is_replaced_in_all_inputs_that_are_given(given):
    """A runtime may compute in any type, but in one type at once; each of the inputs may be left out."""

    def load(data):
        graph = onnx.load_from_string(data).graph
        types = [each.type.tensor_type.elem_type for each in (*graph.input, *graph.output)]
        tried.append(types)
        return "" if {*types} <= {10} else "no"

    tried, names = [], [each.strip() for each in given]
    clip = REGISTRY.schema("Clip", 13)
    schema = replace(clip, inputs=tuple(each._replace(option="optional") for each in clip.inputs))
    inputs = [Given("tensor(float)", (1,)) if each else Given("") for each in names]
    runtime = SimpleNamespace(loader=SimpleNamespace(load=load), max_ir=None, title="fake")
    trial = Trial(runtime, pb.NodeProto(op_type="Clip", input=names, output=["y"]), {"": 13}, inputs, ["tensor(float)"])
    others = dict(_variants(trial, schema, "T"))
    assert _loads_together(trial, others["tensor(float16)"], "T", schema)
    assert tried == [[10] * (sum(map(bool, names)) + 1)]
    assert not _loads_together(trial, others["tensor(double)"], "T", schema)
    assert not _loads_together(trial, trial, "T", schema) and len(tried) == 2
    assert not _loads_together(trial, others["tensor(float16)"], "other", schema)


def test_the_text_of_a_runtime_has_a_line_for_each_entry():
    document = {"runtime": "mine", "releases": [{"release": "1"}, {"release": "2"}], "operators": {}}
    lines = runtime_text(document).splitlines()
    assert lines[1:] == ["runtime: mine", "releases:", '- {release: "1"}', '- {release: "2"}', "operators: {}"]
