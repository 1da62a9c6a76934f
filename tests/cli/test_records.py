"""The one line about each of many models, and the sums of findings below."""

import pytest

from opset.cli import batch
from opset.cli.batch_reports import FindingTotal, Totals, total_lines
from opset.cli.records import ModelReport, View, brief_line, report_of_json
from opset.errors import CODES, Finding, FindingList, NodeLocation, NodeReference
from tests.cli.commands import REFUSED, run, save

CALLING = """<ir_version: 8, opset_import: ["": 17, "this": 1]>
    main (float[N] x) => (float[N] y, float[N] z) {
        y = this.twice (x)
        z = this.twice (y)
    }
    <opset_import: ["": 17], domain: "this"> twice (x) => (y) { y = Add (x, x) }"""


@pytest.mark.parametrize(
    ("call", "lines"),
    [
        ("check", ["clean, no errors, no warnings",
                   "with errors, 3 errors, no warnings, G311 ai.onnx has no operator Nonesuch and 2 more",
                   "clean, no errors, no warnings", "2 clean, 1 with errors"]),
        ("blockers --to 12", ["free", "blocked, StringConcat (2), Unsqueeze (1), Nonesuch (1)", "free",
                              "2 free, 1 blocked"]),
        ("info", ["described, ai.onnx 17, this 1, IR version 8, 3 nodes",
                  "described, ai.onnx 20, IR version 9, 5 nodes",
                  "described, ai.onnx 11, IR version 6, 1 node", "3 described"]),
        ("infer", ["inferred, 3 values: 3 with variables", "inferred, 5 values: 3 known in numbers, 2 with variables",
                   "inferred, 1 value: 1 known in numbers", "3 inferred"]),
        ("inline -o out/", ["inlined, 2 calls of 1 function inlined, wrote out/calling-inlined.onnx",
                            "without such functions, nothing to inline, wrote out/refused-inlined.onnx",
                            "without such functions, nothing to inline, wrote out/small-inlined.onnx",
                            "1 inlined, 2 without such functions"]),
    ],
)  # fmt: skip
def test_the_line_of_each_verb(call, lines, folder, monkeypatch):
    monkeypatch.setattr(batch, "FEW", 2)
    one = '<ir_version: 6, opset_import: ["": 11]> main (float[2] x) => (float[2] y) { y = Relu (x) }'
    for name, text in (("calling", CALLING), ("refused", REFUSED), ("small", one)):
        save(f"{name}.onnx", text, folder)
    verb, *more = call.split()
    names = ["calling.onnx", "refused.onnx", "small.onnx"]
    printed = run(verb, *names, *more, "-j", "1").stdout.splitlines()
    assert printed[:4] == [f"{name}: {line}" for name, line in zip([*names, "3 models"], lines, strict=True)]


def test_the_line_about_a_model():
    words, first, second = {"clean": "all right"}, Finding("G311", "no\x1b"), Finding("G324", "neither")

    def line(findings=(), omitted=0, result=None, output=None, status="clean", error=""):
        report = ModelReport("a\x1b.onnx", output, result, FindingList(findings, omitted), status, 0, error)
        return brief_line(report, View(detail=lambda result: result), words)

    assert line() == line(output="-") == "a\\x1b.onnx: all right"
    assert line(status="other", result="so", output="b\x1b") == "a\\x1b.onnx: other, so, wrote b\\x1b"
    assert line(result="", findings=[first]) == "a\\x1b.onnx: all right, G311 no\\x1b"
    assert line(findings=[first, second]) == "a\\x1b.onnx: all right, G311 no\\x1b and 1 more"
    assert line(findings=[first, second], omitted=1200) == "a\\x1b.onnx: all right, G311 no\\x1b and 1,201 more"
    assert line(findings=[first], error="internal error") == "a\\x1b.onnx: all right, internal error"


def test_sums_of_findings():
    place = NodeLocation("graph 'g'", NodeReference("graph 'g'", "", "com.acme", "Scale", 3))
    findings = [Finding("C201", "no", place, "it is new", "wait")] * 2
    totals = Totals()
    totals.add([*findings, Finding("G311", "one", "x", "not summed", "nor this")])
    totals.add([Finding("G311", "other", "y")])
    rows = totals.rows()
    assert rows == [
        FindingTotal("", "G311", "", "", 2, 2),
        FindingTotal("com.acme.Scale", "C201", "it is new", "wait", 2, 1),
    ]
    of_all = [
        f"G311 2 findings in 2 models: {CODES['G311']}",
        "C201 com.acme.Scale: 2 findings in 1 model: it is new",
        "  help: wait",
    ]
    assert total_lines(rows, 2) == of_all
    assert total_lines(rows, 1) == [of_all[0], "… and 1 more"]


def test_a_report_that_was_read_has_what_was_written():
    data = {"input": "a", "output": "b", "errors": [], "omitted": 4, "status": "clean", "exit_status": 1, "n": 3}
    found = report_of_json(data, None)
    assert found == ModelReport("a", "b", None, found.errors, "clean", 1, "") and found.errors.omitted == 4
    assert report_of_json(data, lambda each: each["n"]).result == 3
    failed = report_of_json({**data, "status": "failed", "internal_error": "why"}, lambda each: each["n"])
    assert (failed.result, failed.internal_error) == (None, "why")
