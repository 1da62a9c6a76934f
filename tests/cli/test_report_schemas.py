"""`opset schema`: the schemas of reports beside what verbs print; errors of a call as JSON; forms of services."""

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator

from opset.cli import VERBS, cli
from opset.cli.batch_reports import FindingTotal
from opset.cli.findings_formats import fingerprint
from opset.cli.output import FINDINGS_FORMATS
from opset.cli.report_schemas import DIALECT, OTHERS, REPORTS, _classes_in, _Schemas, line_schema
from opset.errors import Finding, FindingList
from tests.cli.commands import REFUSED, SMALL, run, save
from tests.schemas.texts import SCALE

CALLS = {
    "convert": [["convert", "small.onnx", "refused.onnx", "none.onnx", "--to", "12", "-o", "out/"]],
    "lower": [["lower", "small.onnx", "--ops", "Relu", "--plan"]],
    "inline": [["inline", "small.onnx", "-o", "inlined.onnx"]],
    "extract": [["extract", "small.onnx", "-o", "part.onnx"]],
    "merge": [["merge", "small.onnx", "other.onnx", "-o", "merged.onnx"]],
    "reduce": [["reduce", "refused.onnx", "--to", "12", "-o", "reduced.onnx"]],
    "verify": [["verify", "small.onnx", "small.onnx"], ["verify", "small.onnx", "small.onnx", "--quiet"]],
    "text": [["text", "small.onnx"]],
    "list": [["list"], ["list", "domains"], ["list", "releases"], ["list", "runtimes"]],
    "explain": [["explain"], ["explain", "U101", "converting"]],
    "examples": [["examples", "written"]],
    "completion": [["completion", "bash"]],
    "import": [["import", "there.yaml", "-o", "imported"]],
    "new": [["new", "com.acme.Twice", "--schemas", "new"]],
    "check-contribution": [["check-contribution", "Relu"]],
    "conformance": [["conformance", "cases", "--runtime", "opset", "-q"]],
    "blockers": [["blockers", "small.onnx", "refused.onnx", "--to", "12"]],
    "info": [["info", "small.onnx", "--runtime", "tensorrt"]],
    "check": [["check", "small.onnx", "refused.onnx", "--statistics"], ["check", "refused.onnx", "--diff"]],
    "infer": [["infer", "small.onnx", "refused.onnx", "--values"]],
    "run": [["run", "small.onnx", "--random"], ["run", "small.onnx", "--random", "--trace"]],
    "lint": [["lint", "schemas"], ["lint", "schemas", "--fix"]],
    "breaking": [["breaking", "schemas", "--schemas", "changed"]],
    "test": [["test", "schemas"]],
    "testgen": [["testgen", "Relu", "-o", "corpus"], ["testgen", "--list", "Relu"]],
    "targets": [
        ["targets", "show", "tensorrt==8.6"],
        ["targets", "show", "tensorrt==8.6", "Relu"],
        ["targets", "show", "tensorrt"],
        ["targets", "list"],
    ],
    "diff": [["diff", "small.onnx", "refused.onnx"], ["diff", "12", "13"], ["diff", "Relu", "6", "13"]],
    "show": [["show", "small.onnx"], ["show", "ai.onnx@13"], ["show", "Relu"]],
    "bump": [["bump", "Relu", "--check"]],
    "error": [["convert", "small.onnx", "--nonesuch"]],
}


ERROR_KEYS = {"schema_version", "errors", "omitted", "exit_status"}
BEFORE = {
    "conformance": ["testgen", "Sign", "-o", "cases"],
    "import": ["export", "--domain", "com.acme", "--schemas", "schemas", "--format", "yaml", "-o", "there.yaml"],
    "merge": ["text", "small.onnx", "-o", "other.onnx"],
}
"""The calls that make what others read."""


@pytest.fixture
def files(small, folder):
    save("refused.onnx", REFUSED, folder)
    for name, text in (("schemas", SCALE), ("changed", SCALE.replace("default: 1.0", "default: 2.0"))):
        path = folder / name / "com.acme" / "Scale.yaml"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return folder


def schema_of(name, *more):
    schema = json.loads(run("schema", name, *more).stdout)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def closed(schema):
    """A schema in which no object may have another key than those that are named, which readers must allow."""
    if isinstance(schema, dict):
        more = {"unevaluatedProperties": False} if "properties" in schema and "required" in schema else {}
        return {key: closed(each) for key, each in schema.items()} | more
    return [*map(closed, schema)] if isinstance(schema, list) else schema


@pytest.mark.parametrize(("name", "call"), [(name, call) for name, calls in CALLS.items() for call in calls])
def test_what_verbs_print_follows_its_schema(name, call, files):
    if name in BEFORE:
        run(*BEFORE[name])
    result = run(*call, "--format", "json")
    schema = schema_of(name)
    printed = json.loads(result.stdout)
    assert printed["schema_version"] == 1 and ({*printed} == ERROR_KEYS) == (name == "error"), printed
    errors = [*Draft202012Validator(closed(schema.schema)).iter_errors(printed)]
    assert not errors, errors[0].message
    assert not schema.is_valid({**printed, "schema_version": 2})
    assert not schema.is_valid({key: each for key, each in printed.items() if key == "schema_version"})


def test_every_verb_that_prints_json_has_a_schema_and_a_call_here():
    verbs = {
        verb
        for verb in VERBS
        for option in cli.get_command(None, verb).params
        if "--format" in option.opts and "json" in option.type.choices
    }
    others = {"docs", "export", "schema"}  # they write files of other forms: pages, operator sets, JSON Schemas
    assert {*REPORTS, *OTHERS} - {"error"} == verbs - others
    assert {*CALLS} == {*REPORTS, *OTHERS}


@pytest.mark.parametrize("name", [*REPORTS, *OTHERS])
def test_every_report_has_a_schema_that_says_something(name):
    schema = schema_of(name).schema
    assert schema["$schema"].endswith("2020-12/schema")
    text = json.dumps(schema)
    assert '"schema_version"' in text and all(f'"{each}"' in text for each in re.findall(r"#/\$defs/(\w+)", text))
    assert {*re.findall(r"#/\$defs/(\w+)", text)} <= {*schema["$defs"]}


@pytest.mark.parametrize("name", ["convert", "check", "blockers"])
def test_lines_of_a_report_follow_their_schema(name, files):
    more = [] if name == "check" else ["--to", 12]
    run(name, "small.onnx", "refused.onnx", *more, "--report", "out.jsonl")
    lines = Path("out.jsonl").read_text().splitlines()
    assert len(lines) == 2
    for line in lines:
        schema_of(name, "--line").validate(json.loads(line))
    assert run("schema", "lint", "--line").exit_code == 2


def test_the_schema_of_a_line_has_the_marks_of_the_file():
    schema = line_schema("check")
    marks = {
        "schema_version": {"const": 1}, "call": {"type": "string"}, "size": {"type": "integer"},
        "mtime": {"type": ["integer", "string"]},
    }  # fmt: skip
    assert {name: each for name, each in schema["properties"].items() if name in marks} == marks
    assert [*schema["properties"]][:4] == schema["required"][:4] == [*marks]
    assert schema["title"] == "a line of opset check --report FILE" and schema["$schema"] == DIALECT


@pytest.mark.parametrize(
    ("call", "code", "status"),
    [
        (["convert", "small.onnx", "--nonesuch"], "U109", 2),
        (["convert", "--to", "21"], "U109", 2),
        (["nonesuch"], "U109", 2),
        (["convert", "small.onnx", "--to", "nonesuch"], "U101", 2),
        (["convert", "none/*.onnx", "--to", "21"], "M101", 3),
        (["check", "small.onnx", "--fix"], "U103", 2),
        (["import", "none.yaml"], "S301", 3),
    ],
)
def test_errors_of_a_call_are_json(call, code, status, files):
    for more in (["--format", "json"], ["--format=json"]):
        result = run(*call, *more)
        data = json.loads(result.stdout)
        assert (data["schema_version"], data["exit_status"], result.exit_code) == (1, status, status)
        assert data["errors"][0]["code"] == code and result.stderr
        schema_of("error").validate(data)
    assert run(*call).stdout == ""


def test_places_of_nodes_are_data(files):
    data = json.loads(run("convert", "refused.onnx", "--to", 12, "--format", "json").stdout)
    ats = [each["at"] for each in data["models"][0]["errors"]]
    assert ats[0] == {"graph": "graph 'main'", "node": "", "domain": "", "op_type": "StringConcat", "index": 0}
    assert [each["index"] for each in ats] == [0, 1, 3, 4]


FINDERS = [
    ["convert", "refused.onnx", "--to", "12"],
    ["lower", "refused.onnx", "--ops", "Relu"],
    ["blockers", "refused.onnx", "--to", "12"],
    ["check", "refused.onnx"],
    ["infer", "refused.onnx", "--check-types"],
    ["inline", "none.onnx"],
    ["info", "none.onnx"],
    ["lint", "broken"],
    ["test", "failing"],
    ["breaking", "schemas", "--schemas", "changed"],
    ["run", "small.onnx"],
    ["verify", "small.onnx", "other.onnxtxt", "--seeds", "1"],
    ["diff", "small.onnx", "other.onnxtxt", "--set-version", "0", "-o", "versioned.onnx"],
    ["conformance", "cases", "--runtime", "opset", "--min-cases", "1000"],
    ["check-contribution", "com.acme.Scale", "--schemas", "schemas"],
]


@pytest.mark.parametrize("call", FINDERS, ids=lambda call: call[0])
def test_every_verb_that_finds_something_has_the_forms_of_services(call, files):
    shutil.copytree("schemas", "broken")
    path = Path("broken/com.acme/Scale.yaml")
    path.write_text(SCALE.replace("doc: where", "dok: where"))
    shutil.copytree("schemas", "failing")
    Path("other.onnxtxt").write_text(SMALL.replace("Relu", "Neg"))
    if call[0] in BEFORE:
        run(*BEFORE[call[0]])
    log = json.loads(run(*call, "--format", "sarif").stdout)
    results = log["runs"][0]["results"]
    if call[0] not in ("lower", "test", "breaking"):
        assert results
    assert len({each["partialFingerprints"]["finding/v1"] for each in results}) == len(results)
    assert json.loads(run(*call, "--format", "sarif").stdout) == log
    lines = run(*call, "--format", "github").stdout.splitlines()
    assert len(lines) == len(results) and all(re.match("::(error|warning) file=", line) for line in lines)
    suites = ElementTree.fromstring(run(*call, "--format", "junit").stdout)
    failures = list(suites.iter("failure"))
    assert len(failures) == sum(each["level"] == "error" for each in results)
    assert [*suites] or call[0] in ("test", "breaking")
    assert len({run(*call, "--format", form).exit_code for form in ("text", *FINDINGS_FORMATS)}) == 1


def test_a_fingerprint_is_of_the_place_and_not_of_the_file():
    finding = Finding("C201", "no", "graph 'g', node 'n'")
    assert fingerprint(finding) == fingerprint(finding.in_file("a.onnx")) != fingerprint(finding._replace(place="x"))
    assert [*FINDINGS_FORMATS] == ["sarif", "github", "junit"] and SMALL


def test_a_class_within_a_report_is_referred_to():
    schemas = _Schemas()
    assert schemas.of_hint(FindingTotal) == {"$ref": "#/$defs/FindingTotal"}
    assert {"operator", "code", "findings", "models"} <= schemas.definitions["FindingTotal"]["properties"].keys()
    assert schemas.of_hint(object) == {}
    assert schemas.of_hint(Plain) == {"$ref": "#/$defs/Plain"}
    assert schemas.definitions["Plain"] == {
        "description": "An object of a report.", "type": "object",
        "properties": {"name": {"type": "string"}}, "required": ["name"],
    }  # fmt: skip
    findings = schemas.of_hint(FindingList)
    assert findings == {"type": "array", "items": {"$ref": "#/$defs/Finding"}} and "Finding" in schemas.definitions
    items = {"type": "array", "items": {"$ref": "#/$defs/FindingTotal"}}
    assert schemas.of_list(FindingTotal) == {"type": "object", "properties": {"listed": items}, "required": ["listed"]}


@dataclass
class Plain:
    """An object of a report."""

    name: str


def test_classes_in_a_type():
    assert [*_classes_in(Plain)] == [Plain] and [*_classes_in(Finding)] == [Finding]
    assert [*_classes_in(Plain | None)] == [Plain] and [*_classes_in(dict[str, Finding])] == [Finding]
    assert [*_classes_in(Plain | Finding | int)] == [Plain, Finding] and [*_classes_in(str)] == []
