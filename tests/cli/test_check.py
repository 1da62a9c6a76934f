"""`opset check`."""

import io
import json
from pathlib import Path
from xml.etree import ElementTree

import onnx
import pytest

import opset
from opset.budget import ALLOW_MORE
from opset.checker.table import Mend
from opset.cli.check import CheckReport, _write_report
from opset.cli.findings_formats import JunitStream, fingerprint
from opset.cli.records import ModelReport
from opset.errors import CODES, SHOWN, Finding, FindingList
from tests.cli.commands import run, run_json

GOOD = '<ir_version: 8, opset_import: ["": 17]>\nmain (float[N, 3] x) => (float[N, 3] y) { y = Relu (x) }'
WARNED = GOOD.replace('["": 17]', '["": 17, "com.example": 1]')
BROKEN = WARNED.replace("Relu (x)", 'Relu <slope = 1, "a\\u001b" = 2> (x)').replace('"a\\u001b" = 2', "b = 2")
STAMPED = (
    '<ir_version: 8, opset_import: ["": 9]>\nmain (float[2] x, int64[1] a) => (float[N] y) { y = ReduceMean (x, a) }'
)


TANGLED = """<ir_version: 8, opset_import: ["": 17]>
main (float[N, 3] x, float16[N, 3] h) => (float[N, 3] y) <float[9] gone> {
    y = Add (t, h)
    t = Relu (x)
}
"""


@pytest.mark.parametrize(
    ("nodes", "counts"), [("", (0, 1300, "warned", 0)), ("a0 = Nope (x) " * 1200, (2399, 1299, "broken", 1))]
)
def test_findings_that_are_too_many_are_counted_by_severity(nodes, counts, tmp_path):
    values = ", ".join(f"float[2] a{number}" for number in range(1300))
    head = '<ir_version: 8, opset_import: ["": 17]> main (float[2] x) => (float[2] y)'
    (tmp_path / "m.onnxtxt").write_text(f"{head} <{values}> {{ {nodes}y = Relu (x) }}")
    (report,) = run_json("check", tmp_path / "m.onnxtxt")["models"]
    assert tuple(report[key] for key in ("error_count", "warning_count", "status", "exit_status")) == counts


def softmax(opset):
    """Return a model whose only node means something else before and from version 13 on."""
    header = f'<ir_version: 8, opset_import: ["": {opset}]>'
    return header + "\nmain (float[2, 3, 4] x) => (float[2, 3, 4] y) { y = Softmax (x) }"


@pytest.fixture
def models(folder):
    """A folder with a clean model, one with a warning, one with errors, and one that is none."""
    for name, text in {"good": GOOD, "warned": WARNED, "broken": BROKEN, "none": "no model"}.items():
        (folder / f"{name}.onnxtxt").write_text(text)
    return folder


def test_statuses_and_lines(models):
    assert run("check", "good.onnxtxt").stdout == "good.onnxtxt: no findings\n"
    warned = run("check", "warned.onnxtxt")
    assert warned.exit_code == 0 and warned.stdout.startswith("warning[W101] ")
    broken = run("check", "broken.onnxtxt")
    assert broken.exit_code == 1 and broken.stdout.count("error[G324] ") == 2
    assert broken.stdout.endswith("broken.onnxtxt: 2 errors, 1 warning\n")
    assert run("check", "none.onnxtxt").exit_code == 3
    assert run("check", "good.onnxtxt", "-q").stdout == ""
    every = run("check", ".")
    assert every.exit_code == 3
    assert every.stdout.endswith("4 models: 1 clean, 1 with warnings, 1 with errors, 1 failed\n")
    assert run("check", ".", "-j", 2).stdout == every.stdout


def test_rules_are_selected_and_ignored(models):
    assert run("check", "broken.onnxtxt", "--ignore", "G324,W1").stdout == "broken.onnxtxt: no findings\n"
    assert run("check", "broken.onnxtxt", "--select", "w").exit_code == 0
    assert "U103" in run("check", "broken.onnxtxt", "--select", "X1").stderr
    (models / "pyproject.toml").write_text('[tool.opset]\nselect = ["W"]\n')
    assert run("check", "broken.onnxtxt").exit_code == 0
    assert run("check", "broken.onnxtxt", "--select", "G").exit_code == 1
    (models / "pyproject.toml").write_text("[tool.opset]\nignore = [1]\n")
    assert run("check", "broken.onnxtxt").exit_code == 2


def test_statistics_stand_in_place_of_findings(models):
    text = run("check", ".", "--statistics").stdout
    assert "error[" not in text
    assert [line.split()[:3] for line in text.splitlines()[-3:-1]] == [["G324", "2", "1"], ["W101", "2", "2"]]
    assert text.splitlines()[-4] == "  code  findings  models  rule"
    assert text.splitlines()[-3] == f"  G324         2       1  {CODES['G324']}"
    assert run("check", "good.onnxtxt", "--statistics").stdout == "no findings\n"
    data = json.loads(run("check", "warned.onnxtxt", "broken.onnxtxt", "--statistics", "--format", "json").stdout)
    assert [(each["code"], each["findings"], each["models"]) for each in data["statistics"]] == [
        ("G324", 2, 1),
        ("W101", 2, 2),
    ]


def test_json_has_findings_and_counts(models):
    data = json.loads(run("check", "broken.onnxtxt", "--format", "json").stdout)
    (one,) = data["models"]
    assert (one["error_count"], one["warning_count"], one["status"]) == (2, 1, "broken")
    assert [each["code"] for each in one["errors"]] == ["W101", "G324", "G324"]


def test_sarif_names_rules_places_and_fingerprints(models):
    result = run("check", "broken.onnxtxt", "none.onnxtxt", "--format", "sarif")
    assert result.exit_code == 3
    log = json.loads(result.stdout)
    (made,) = log["runs"]
    rules = [(rule["id"], rule["defaultConfiguration"]["level"]) for rule in made["tool"]["driver"]["rules"]]
    assert rules == [("W101", "warning"), ("G324", "error"), ("M301", "error")]
    found = made["results"]
    assert [each["level"] for each in found] == ["warning", "error", "error", "error"]
    assert [made["tool"]["driver"]["rules"][each["ruleIndex"]]["id"] for each in found] == [
        each["ruleId"] for each in found
    ]
    assert found[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "broken.onnxtxt"
    assert found[0]["partialFingerprints"]["finding/v1"] == fingerprint(
        Finding("W101", "the domain 'com.example' is imported, and no node uses it", "opset_import")
    )


def test_github_and_junit(models):
    (models / "a,b 100%.onnxtxt").write_text(BROKEN)
    lines = run("check", "a,b 100%.onnxtxt", "--format", "github").stdout.splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["::warning", "::error", "::error"]
    assert all("file=a%2Cb 100%25.onnxtxt," in line for line in lines)
    suites = [*ElementTree.fromstring(run("check", ".", "--format", "junit").stdout)][:3]
    assert [tuple(each.get(key) for key in ("name", "tests", "failures", "errors")) for each in suites] == [
        ("a,b 100%.onnxtxt", "2", "2", "0"),
        ("broken.onnxtxt", "2", "2", "0"),
        ("good.onnxtxt", "1", "0", "0"),
    ]
    (case,) = suites[2]
    assert case.attrib == {"classname": "good.onnxtxt", "name": "clean"} and not [*case]


def test_junit_of_a_model_with_warnings_and_of_one_that_ends_in_an_internal_error():
    stream = io.StringIO()
    forms = JunitStream(stream)
    warnings = FindingList([Finding("W101", "no <node> uses it", "x"), Finding("W102", "other")])
    forms.add(ModelReport("a.onnx", None, None, warnings, "clean", 0), "")
    forms.add(ModelReport("b.onnx", None, None, FindingList(), "failed", 70, "internal error: why"), "")
    warned, failed = ElementTree.fromstring(f"<all>{stream.getvalue()}</all>")
    assert warned.attrib == {"name": "a.onnx", "tests": "1", "failures": "0", "errors": "0"}
    assert [(each.tag, each.text) for each in warned[0]] == [("system-out", "\n".join(map(str, warnings)))]
    assert failed.attrib == {"name": "b.onnx", "tests": "1", "failures": "0", "errors": "1"}
    assert [(each.tag, each.text) for each in failed[0]] == [("error", "internal error: why")]


def test_what_is_written_about_a_model(capsys):
    def written(quiet=False, **parts):
        report = {"input": "a", "output": None, "result": None, "errors": FindingList(), "status": "clean"}
        stream = io.StringIO()
        _write_report(ModelReport(**{**report, "exit_status": 0, **parts}), stream, quiet)
        return stream.getvalue(), capsys.readouterr().err

    found = FindingList([Finding("G311", "no"), Finding("W101", "so")])
    assert written(internal_error="internal error: X") == ("", "a: internal error: X\n")
    stdout, stderr = written(errors=FindingList([Finding("M101", "no")]))
    assert stdout == "" and stderr.startswith("error[M101] no\n")
    assert written(result=CheckReport(0, 0, notes=("it",))) == ("a: no findings\n  note: it\n", "")
    stdout, stderr = written(result=CheckReport(1, 1), errors=found)
    assert stderr == "" and stdout.startswith("error[G311] no\n") and stdout.endswith("\na: 1 error, 1 warning\n")
    assert written(True, result=CheckReport(1, 1), errors=found)[0].count("a: ") == 0
    mends = [Mend("G101", f"mended {number}", "here") for number in range(SHOWN + 2)]
    lines = written(result=CheckReport(0, 0, mended=mends, mended_count=1200), output="b")[0].splitlines()
    assert lines[:2] == ["mended[G101] mended 0", "  where   here"] and len(lines) == 2 * SHOWN + 3
    assert lines[2 * SHOWN :] == [f"… and {1200 - SHOWN:,} more", "a: 1,200 mended, no findings", "  wrote b"]
    lines = written(
        result=CheckReport(1, 0, mended=mends[:1], mended_count=1), errors=FindingList(found[:1]), output="-"
    )[0]
    assert lines.endswith("a: 1 mended; left: 1 error, no warnings\n")


def test_a_runtime_adds_what_it_does_not_take(models):
    (models / "new.onnxtxt").write_text(GOOD.replace("17", "21"))
    result = run("check", "new.onnxtxt", "--for", "onnxruntime==1.16")
    assert result.exit_code == 1
    assert "error[C209] onnxruntime-cpu 1.16 takes ai.onnx at most 19" in result.stdout
    assert "opset convert --for onnxruntime==1.16" in result.stdout
    assert run("check", "good.onnxtxt", "--for", "onnxruntime==1.16").exit_code == 0
    # which opsets this runtime takes is not known, only which operators
    assert run("check", "good.onnxtxt", "--for", "tract==0.21").exit_code == 0
    (models / "lacks.onnxtxt").write_text(
        '<ir_version: 8, opset_import: ["org.x": 3, "": 13]> '
        "g (float[2] a) => (float[2] b) { b = Celu (a) c = Unique (a) }"
    )
    (report,) = run_json("check", "lacks.onnxtxt", "--ignore", "W", "--for", "tract==0.21")["models"]
    assert [(each["code"], each["help"]) for each in report["errors"]] == [
        ("C209", "rewrite it for the runtime: opset convert --for tract==0.21 --to 13")
    ] * 2  # one is about the import, which nothing uses
    text = '<ir_version: 8, opset_import: ["": 17, "org.x": 1]> g (float[2] a) => (float[2] b) { b = org.x.Relu (a) }'
    (models / "foreign.onnxtxt").write_text(text)
    (report,) = run_json("check", "foreign.onnxtxt", "--for", "onnxruntime==1.16")["models"]
    assert "org.x: nothing is known of its nodes, which count as taken" in report["notes"]
    text = '<ir_version: 9, opset_import: ["": 20]> g (string[N] a) => (string[N] b) { b = StringConcat (a, a) }'
    (models / "blocked.onnxtxt").write_text(text)
    (report,) = run_json("check", "blocked.onnxtxt", "--for", "onnxruntime==1.16")["models"]
    assert [(each["code"], each["help"]) for each in report["errors"]] == [
        ("C209", "convert the model for it: opset convert MODEL --for RUNTIME"),
        ("C201", "convert to 20 or newer"),
    ]
    (models / "wrong.onnxtxt").write_text(text.replace("StringConcat (a, a)", "StringConcat (nowhere, a)"))
    (report,) = run_json("check", "wrong.onnxtxt", "--for", "onnxruntime==1.16")["models"]
    assert [each["code"] for each in report["errors"]] == ["M112"]


def test_all_that_keeps_a_model_from_a_runtime_is_told_once(models):
    text = """<ir_version: 8, opset_import: ["": 18, "com.acme": 1]> g (float[N] a) => (float[M] b) {
        t = ReduceMean (a)  u = ReduceMean (t)  b = Relu (u) }"""
    (models / "new.onnxtxt").write_text(text)
    (report,) = run_json("check", "new.onnxtxt", "--ignore", "W", "--for", "onnxruntime==1.13")["models"]
    rewrite = "rewrite it for the runtime: opset convert --for onnxruntime==1.13"
    assert [(each["place"], each["help"]) for each in report["errors"] if each["code"] == "C209"] == [
        ("opset_import", rewrite), ("opset_import", rewrite),
        ("graph 'g', node number 0 (ReduceMean)", rewrite), ("graph 'g', node number 1 (ReduceMean)", rewrite),
    ]  # fmt: skip
    refused = text.replace("18,", "20,").replace("float", "string").replace("ReduceMean (a)", "StringConcat (a, a)")
    (models / "refused.onnxtxt").write_text(refused.replace("ReduceMean", "Identity").replace("Relu", "Identity"))
    (report,) = run_json("check", "refused.onnxtxt", "--ignore", "W", "--for", "onnxruntime==1.16")["models"]
    assert [(each["code"], each["place"]) for each in report["errors"]] == [
        ("C209", "opset_import"), ("C209", "opset_import"), ("C201", "graph 'g', node number 0 (StringConcat)"),
    ]  # fmt: skip
    brief = ["--no-inference", "--for", "onnxruntime==1.13", "--max-steps", 1]
    (report,) = run_json("check", "new.onnxtxt", "--ignore", "W", *brief)["models"]
    assert [(each["code"], each["why"]) for each in report["errors"][2:]] == [("C401", "more than 1 step is needed")]


def test_a_model_of_stdin_is_called_so(models):
    given = (models / "good.onnxtxt").read_text()
    assert run("check", "text:-", stdin=given).stdout == "stdin: no findings\n"


def test_another_opset_is_assumed(models):
    (models / "stamped.onnxtxt").write_text(STAMPED)
    assert run("check", "stamped.onnxtxt").exit_code == 1
    result = run("check", "stamped.onnxtxt", "--assume-opset", "auto")
    assert result.exit_code == 0 and "read as written for ai.onnx 18, not 9" in result.stdout
    assert run("check", "stamped.onnxtxt", "--assume-opset", 18).exit_code == 0
    assert run("convert", "stamped.onnxtxt", "--to", 18, "--assume-opset", "auto", "-o", "out.onnx").exit_code == 0
    assert onnx.load(models / "out.onnx").opset_import[0].version == 18
    for more, status in (([], 0), (["--assume-opset", "auto"], 1)):  # what is stated differs, though no node does
        (models / "stated.onnxtxt").write_text(STAMPED.replace('"": 9', '"": 18' if not more else '"": 9'))
        assert run("convert", "stated.onnxtxt", "--to", 18, "--check", *more).exit_code == status
    both = run("check", "stamped.onnxtxt", "--assume-opset", "auto", "--assume-opset", 18)
    assert both.exit_code == 2


def test_an_opset_in_development_is_read_as_the_newest(models):
    (models / "early.onnxtxt").write_text(softmax(29))
    result = run("check", "early.onnxtxt", "--fix", "--assume-opset", "auto", "-o", "read.onnx")
    assert result.exit_code == 0 and "ai.onnx 29 is in development: its nodes are read as those of" in result.stdout
    assert onnx.load(models / "read.onnx").opset_import[0].version == 28


def test_each_candidate_is_named_and_nothing_written(models):
    (models / "either.onnxtxt").write_text(softmax(40))
    result = run("check", "either.onnxtxt", "--fix", "--assume-opset", "auto", "-o", "read.onnx")
    assert (result.exit_code, (models / "read.onnx").exists()) == (1, False)
    assert "mean something else at each: 1 to 12; 13 to 28" in result.stderr
    assert "say for which version its nodes were written: --assume-opset 12 or --assume-opset 28" in result.stderr


def test_a_version_that_no_node_contradicts_may_not_exist(models):
    text = STAMPED.partition("main")[0] + "main (float[1, 1, 2, 2] x) => (y, z) {\n"
    text += "y = Upsample <scales = [1.0, 1.0, 2.0, 2.0]> (x)  z = Gelu (x) }"
    (models / "torn.onnxtxt").write_text(text)
    result = run("convert", "torn.onnxtxt", "--to", 18, "--assume-opset", "auto")
    assert (result.exit_code, [*models.glob("torn*")]) == (1, [models / "torn.onnxtxt"])
    assert "error[C106] no version of ai.onnx fits: at each one, some node is not valid" in result.stderr


@pytest.mark.parametrize("options", [[], ["--fix", "-o", "mended.onnxtxt"]])
def test_a_model_before_whose_errors_nothing_is_inferred_has_a_note(options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[3] y) { z = Neg (READ)  y = Abs (x) }'
    Path("m.onnxtxt").write_text(text.replace("READ", "nowhere"))
    note = "note: types and shapes were not compared: "
    done = run("check", "m.onnxtxt", *options)
    assert "error[M112]" in done.stdout and "I101" not in done.stdout and note in done.stdout
    for without in (["--no-inference"], ["--select", "M"]):
        assert note not in run("check", "m.onnxtxt", *without).stdout
    Path("m.onnxtxt").write_text(text.replace("READ", "x"))
    done = run("check", "m.onnxtxt")
    assert "error[I101]" in done.stdout and note not in done.stdout


def test_a_model_is_mended_where_it_is_said(folder):
    (folder / "a.onnxtxt").write_text(TANGLED)
    result = run("check", "a.onnxtxt", "--fix", "-o", "b.onnx")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert [line.partition("]")[0] for line in lines if line[0] != " "] == [
        "mended[M110", "mended[W201", "error[I202", "more: opset explain I202",
        "a.onnxtxt: 2 mended; left: 1 error, no warnings",
    ]  # fmt: skip
    assert lines[-1] == "  wrote b.onnx" and (folder / "a.onnxtxt").read_text() == TANGLED
    assert [node.op_type for node in onnx.load(folder / "b.onnx").graph.node] == ["Relu", "Add"]
    again = run("check", "a.onnxtxt", "--fix", "-o", "b.onnx")
    assert again.exit_code == 2 and "U102" in again.stderr
    cast = run("check", "a.onnxtxt", "--fix", "--fix-casts", "-o", "b.onnx", "--force")
    assert cast.exit_code == 0 and "it changes values" in cast.stdout
    assert run("check", "b.onnx").stdout == "b.onnx: no findings\n"
    quiet = run("check", "a.onnxtxt", "--fix", "-o", "c.onnx", "-q").stdout  # errors alone
    assert quiet.startswith("error[I202] ") and "mended" not in quiet


def test_what_is_mended_is_chosen(folder):
    (folder / "a.onnxtxt").write_text(TANGLED)
    run("check", "a.onnxtxt", "--fix", "-o", "b.onnx", "--select", "W")
    made = onnx.load(folder / "b.onnx").graph
    assert [node.op_type for node in made.node] == ["Add", "Relu"] and not made.value_info


def test_options_for_mending_go_together(folder):
    (folder / "a.onnxtxt").write_text(TANGLED)
    for options, said in (
        (["--fix"], "no output is named"),
        (["-o", "b.onnx"], "without --fix"),
        (["--in-place"], "without --fix"),
        (["--diff", "-o", "b.onnx"], "without --fix"),
        (["--fix", "--diff", "-o", "b.onnx"], "--diff writes nothing"),
        (["--fix-casts"], "by itself"),
    ):
        result = run("check", "a.onnxtxt", *options)
        assert result.exit_code == 2 and "error[U103] " in result.stderr and said in result.stderr
    assert [path.name for path in folder.iterdir()] == ["a.onnxtxt"]


def test_a_difference_is_shown_and_nothing_is_written(folder):
    (folder / "a.onnxtxt").write_text(TANGLED)
    result = run("check", "a.onnxtxt", "--diff")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[:12] == [
        "--- a.onnxtxt",
        "+++ a.onnxtxt, mended",
        "@@ -1,7 +1,5 @@",
        ' <ir_version: 8, opset_import: ["": 17]>',
        "-main (float[N, 3] x, float16[N, 3] h) => (float[N, 3] y) <",
        "-  float[9] gone",
        "-> {",
        "-  y = Add (t, h)",
        "+main (float[N, 3] x, float16[N, 3] h) => (float[N, 3] y) {",
        "   t = Relu (x)",
        "+  y = Add (t, h)",
        " }",
    ]
    assert [path.name for path in folder.iterdir()] == ["a.onnxtxt"]
    (folder / "good.onnxtxt").write_text(GOOD)
    assert run("check", "good.onnxtxt", "--diff").stdout == "good.onnxtxt: no findings\n"
    data = json.loads(run("check", "a.onnxtxt", "--diff", "--format", "json").stdout)["models"][0]
    assert data["diff"].startswith("--- a.onnxtxt\n+++ a.onnxtxt, mended\n@@ -1,7 +1,5 @@\n")
    assert [each["code"] for each in data["mended"]] == ["M110", "W201"] and data["mended_count"] == 2
    assert [each["code"] for each in data["errors"]] == ["I202"] and data["output"] is None


def test_a_model_that_no_text_can_hold_has_no_difference(folder):
    model = onnx.parser.parse_model(TANGLED).SerializeToString().replace(b"gone", b"g\xff\xfee")
    (folder / "a.onnx").write_bytes(model)
    result = run("check", "a.onnx", "--diff", "--fix-casts")
    assert "note: the difference cannot be shown" in result.stdout and "---" not in result.stdout


def test_models_are_mended_in_place_in_streams_and_in_processes(folder):
    (folder / "in").mkdir()
    for name, text in {"a": TANGLED, "b": GOOD, "c": WARNED}.items():
        (folder / "in" / f"{name}.onnxtxt").write_text(text)
    many = run("check", "in", "--fix", "-o", "out", "-j", 2)
    assert many.exit_code == 1 and many.stdout.endswith("3 models: 2 clean, 1 with errors\n")
    assert sorted(path.name for path in (folder / "out").iterdir()) == [f"{name}-mended.onnxtxt" for name in "abc"]
    assert run("check", "in/b.onnxtxt", "--fix", "--in-place").stdout == "in/b.onnxtxt: no findings\n"
    assert (folder / "in/b.onnxtxt").read_text() == GOOD
    assert "wrote in/c.onnxtxt" in run("check", "in/c.onnxtxt", "--fix", "--in-place").stdout
    assert run("check", "in/c.onnxtxt").stdout == "in/c.onnxtxt: no findings\n"
    given = onnx.parser.parse_model(WARNED).SerializeToString()
    stream = run("check", "-", "--fix", "-o", "-", stdin=given)
    assert onnx.load_from_string(stream.stdout_bytes) == onnx.parser.parse_model(GOOD)
    assert "mended[W101]" in stream.stderr and stream.exit_code == 0


def test_a_wrong_stamp_is_written_right(models):
    (models / "stamped.onnxtxt").write_text(STAMPED)
    result = run("check", "stamped.onnxtxt", "--fix", "--assume-opset", "auto", "-o", "right.onnx")
    assert result.exit_code == 0 and "note: read as written for ai.onnx 18" in result.stdout
    assert onnx.load(models / "right.onnx").opset_import[0].version == 18
    assert (
        '+<ir_version: 8, opset_import: ["": 18]>'
        in run("check", "stamped.onnxtxt", "--diff", "--assume-opset", "auto").stdout
    )


def test_an_operator_set_document_is_checked(folder):
    document = "magic: ONNXOPSET\nir_version: 99\ndomain: com.acme\nopset_version: 1\noperators: []\n"
    (folder / "good.onnxopset").write_text(document)
    (folder / "bad.onnxopset").write_text(document.replace("opset_version: 1", "opset_version: -1"))
    good = run("check", "good.onnxopset")
    assert good.exit_code == 0 and "note: operator set com.acme 1: no operators" in good.stdout
    assert "the IR version 99, which is not known" in good.stdout
    bad = run("check", "bad.onnxopset")
    assert bad.exit_code == 1 and bad.stdout.startswith("error[S304] there is no version -1 of an operator set")
    for option in (["--diff"], ["--fix", "-o", "x.onnxopset"], ["--for", "onnxruntime==1.16"]):
        refused = run("check", "good.onnxopset", *option)
        assert refused.exit_code == 2 and "error[U103] an operator-set document can be checked alone" in refused.stderr
        assert "leave out --fix, --diff and --for" in refused.stderr and "good.onnxopset" in refused.stderr
    opset.load_operator_set("good.onnxopset").save("whole.onnxopset")
    (folder / "cut.onnxopset").write_bytes((folder / "whole.onnxopset").read_bytes()[:-1])
    cut = run("check", "cut.onnxopset")
    assert cut.exit_code == 3 and "why     it is cut short, or bytes of it were changed" in cut.stdout + cut.stderr
    data = run_json("check", "good.onnxopset", "bad.onnxopset", "cut.onnxopset")["models"]
    assert [
        (each["status"], each["exit_status"], each.get("error_count"), each.get("warning_count"), each["output"])
        for each in data
    ] == [("clean", 0, 0, 0, None), ("broken", 1, 1, 0, None), ("failed", 3, None, None, None)]
    assert [[error["code"] for error in each["errors"]] for each in data] == [[], ["S304"], ["S302"]]
    assert [each.get("notes") for each in data] == [data[0]["notes"], None, None]


@pytest.mark.parametrize(
    ("codes", "status"), [(["S305"], 1), (["S305", "S302"], 3), (["S301", "S305"], 3), (["S304", "S305"], 1)]
)
def test_a_document_with_parts_that_cannot_be_read_is_unreadable(folder, monkeypatch, codes, status):
    def fail(path):
        raise opset.SchemaError([Finding(code, "it") for code in codes])

    monkeypatch.setattr("opset.opsets.documents.reading.load_operator_set", fail)
    (folder / "a.onnxopset").touch()
    result = run("check", "a.onnxopset")
    assert result.exit_code == status and ("a.onnxopset: " in result.stdout) == (status == 1)


def test_a_runtime_check_that_is_stopped_says_all_of_it(folder):
    (
        folder / "new.onnxtxt"
    ).write_text("""<ir_version: 8, opset_import: ["": 18, "com.acme": 1]> g (float[N] a) => (float[M] b) {
        t = ReduceMean (a)  u = ReduceMean (t)  b = Relu (u) }""")
    brief = ["--no-inference", "--for", "onnxruntime==1.13", "--max-steps", 1]
    (report,) = run_json("check", "new.onnxtxt", "--ignore", "W", *brief)["models"]
    assert report["errors"][-1] == {
        "code": "C401",
        "message": "the check for the runtime was stopped",
        "place": "model",
        "why": "more than 1 step is needed",
        "help": ALLOW_MORE,
        "file": "new.onnxtxt",
    }
