"""The forms of services, word for word: SARIF, commands of GitHub, JUnit XML."""

import io
import json
from xml.etree import ElementTree

import pytest

from opset import __version__
from opset.cli.batch_reports import BatchReport
from opset.cli.findings_formats import STREAMS, fingerprint, write_findings
from opset.cli.records import ModelReport
from opset.errors import CODES, Finding, FindingList, NodeLocation, NodeReference

NODE = NodeLocation("graph 'g', node 'n\x1b'", NodeReference("graph 'g'", "n\x1b", "", "Re\x1blu", 3))
ERROR = Finding("G311", "no\x7f such\nthing", NODE, "it is so", "mend it")
WARNING = Finding("W101", "100% of a,b:c", "opset_import", "", "drop it")


def written(form, *reports):
    stream = io.StringIO()
    made = STREAMS[form](stream)
    made.begin()
    for report in reports:
        made.add(report, "")
    made.end(BatchReport((), {}))
    return stream.getvalue()


def report(name, *findings, error=""):
    return ModelReport(name, None, None, FindingList(findings), "failed" if findings else "clean", 0, error)


REPORTS = report("./a b,c.onnx", ERROR, WARNING), report("d.onnx"), report("e.onnx", ERROR)


def test_a_log_of_sarif():
    log = json.loads(written("sarif", *REPORTS))
    (run,) = log.pop("runs")
    assert log == {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0"}
    results = run.pop("results")
    levels = {"G311": "error", "W101": "warning"}
    rules = [
        {"id": code, "shortDescription": {"text": CODES[code]}, "help": {"text": f"opset explain {code}"},
         "defaultConfiguration": {"level": level}}
        for code, level in levels.items()
    ]  # fmt: skip
    driver = {"name": "opset", "version": __version__, "rules": rules}
    invocations = [{"executionSuccessful": True}]
    assert run == {"columnKind": "unicodeCodePoints", "tool": {"driver": driver}, "invocations": invocations}
    assert results[0] == {
        "ruleId": "G311", "ruleIndex": 0, "level": "error",
        "message": {"text": "no\\x7f such\\nthing; it is so; mend it"},
        "locations": [{
            "physicalLocation": {"artifactLocation": {"uri": "a%20b%2Cc.onnx"}},
            "logicalLocations": [{
                "fullyQualifiedName": "graph 'g', node 'n\\x1b'", "name": "n\\x1b", "kind": "node",
                "properties": {"op_type": "Re\\x1blu", "index": 3},
            }],
        }],
        "partialFingerprints": {"finding/v1": fingerprint(ERROR)},
    }  # fmt: skip
    logical = [{"fullyQualifiedName": "opset_import"}]
    assert results[1]["locations"][0]["logicalLocations"] == logical and results[1]["ruleIndex"] == 1
    assert results[1]["message"] == {"text": "100% of a,b:c; drop it"} and results[1]["level"] == "warning"
    assert [each["ruleIndex"] for each in results] == [0, 1, 0]
    failed = json.loads(written("sarif", report("a", error="why"), report("b")))["runs"][0]
    assert failed["invocations"] == [{"executionSuccessful": False}] and failed["results"] == []
    (bare,) = json.loads(written("sarif", report("a", Finding("G311", "no"))))["runs"][0]["results"]
    assert "logicalLocations" not in bare["locations"][0]
    (odd,) = json.loads(written("sarif", report("\udcff.onnx", ERROR)))["runs"][0]["results"]
    assert odd["locations"][0]["physicalLocation"] == {"artifactLocation": {"uri": "%FF.onnx"}}


def test_commands_of_github():
    title = f"title=G311 {CODES['G311']}"
    assert written("github", *REPORTS).splitlines() == [
        f"::error file=a b%2Cc.onnx,{title}::graph 'g', node 'n\\x1b': no\\x7f such\\nthing; it is so; mend it",
        f"::warning file=a b%2Cc.onnx,title=W101 {CODES['W101']}::opset_import: 100%25 of a,b:c; drop it",
        f"::error file=e.onnx,{title}::graph 'g', node 'n\\x1b': no\\x7f such\\nthing; it is so; mend it",
    ]
    placed = Finding("G311", "no", "", "", "x").in_file("f:1.onnx")
    assert written("github", report("a", placed)) == f"::error file=f%3A1.onnx,title=G311 {CODES['G311']}::no; x\n"


def test_suites_of_junit():
    found = Finding("G311", "no <b>\x1b", "here", help="x")
    assert written("junit", report("a", found), report("b")) == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        "<testsuites>\n"
        '  <testsuite name="a" tests="1" failures="1" errors="0">\n'
        '    <testcase classname="a" name="G311 here">\n'
        '      <failure type="G311" message="no &lt;b&gt;\\x1b">error[G311] no &lt;b&gt;\\x1b\n'
        "  where   here\n"
        "  help    x</failure>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        '  <testsuite name="b" tests="1" failures="0" errors="0">\n'
        '    <testcase classname="b" name="clean" />\n'
        "  </testsuite>\n"
        "</testsuites>\n"
    )
    given = report("c", found, WARNING, found), report("d", WARNING, error="why\x1b")
    two, failed = ElementTree.fromstring(written("junit", *given).encode())
    assert two.attrib == {"name": "c", "tests": "2", "failures": "2", "errors": "0"} and len(two) == 2
    assert failed.attrib == {"name": "d", "tests": "1", "failures": "0", "errors": "1"}
    assert [(each.tag, each.text) for each in failed[0]] == [("error", "why\\x1b"), ("system-out", str(WARNING))]


@pytest.mark.parametrize(
    ("findings", "about", "lines"),
    [
        ([], "", []),
        ([], "a", []),
        ([Finding("G311", "no", "b/C.yaml:3:5", help="x")], "", ["b/C.yaml,line=3,col=5"]),
        ([Finding("G311", "no", "b/C.yaml:3", help="x")], "", ["b/C.yaml,line=3"]),
        ([Finding("G311", "no", "b/C.yaml:3:5:7", help="x")], "", ["b/C.yaml:3,line=5,col=7"]),
        ([Finding("M301", "no", "3:5", help="x")], "m.onnxtxt", ["m.onnxtxt,line=3,col=5"]),
        ([Finding("G311", "no", NodeLocation("graph 'a:3'", NODE.at), help="x")], "m.onnx", ["m.onnx"]),
        ([Finding("G311", "no", "value_info 'a:3'", help="x")], "m.onnx", ["m.onnx"]),
        ([Finding("G311", "no", help="x")], "", ["."]),
        ([Finding("G311", "no", "b/C.yaml:3:5", help="x")], "a", ["a"]),
        ([Finding("G311", "no", "b:3", help="x").in_file("d"), Finding("G311", "nor", help="x")], "a", ["a", "d"]),
    ],
)
def test_where_findings_of_no_model_are(findings, about, lines):
    stream = io.StringIO()
    write_findings(findings, "github", stream, about)
    files = [line.partition("file=")[2].partition(",title=")[0] for line in stream.getvalue().splitlines()]
    assert files == [each.replace(":", "%3A") for each in lines]


@pytest.mark.parametrize(
    ("place", "region"),
    [
        ("C.yaml:3:5", {"startLine": 3, "startColumn": 5}),
        ("C.yaml:3", {"startLine": 3}),
        ("3:5", {"startLine": 3, "startColumn": 5}),
        ("D.yaml:3:5", None),
        ("opset_import", None),
    ],
)
def test_a_result_of_sarif_has_the_line_of_its_file(place, region):
    log = json.loads(written("sarif", report("C.yaml", Finding("S101", "no", place, help="x"))))
    (location,) = log["runs"][0]["results"][0]["locations"]
    assert location["physicalLocation"].get("region") == region


@pytest.mark.parametrize(
    ("findings", "names"),
    [([], ["passed"]), ([WARNING], ["warned"]), ([WARNING, Finding("G311", "no", "x")], ["G311 x"])],
)
def test_a_file_that_was_examined_has_a_suite(findings, names):
    stream = io.StringIO()
    write_findings(findings, "junit", stream, "a")
    text = stream.getvalue()
    assert text.count("<testsuite ") == 1 and text.count("<testcase ") == len(names)
    assert all(f'name="{name}"' in text for name in names)


@pytest.mark.parametrize(
    ("findings", "status"),
    [
        ([], "passed"),
        ([WARNING], "warned"),
        ([ERROR], "failed"),
        ([WARNING, ERROR], "failed"),
        ([ERROR, WARNING], "failed"),
    ],
)
def test_one_error_fails_a_file(findings, status, monkeypatch):
    class Recording:
        def __init__(self, stream):
            self.begin = lambda: added.append("begin")
            self.add = lambda report, line: added.append((report.input, report.status, report.exit_status, line))
            self.end = lambda batch: added.append("end")

    added = []
    monkeypatch.setitem(STREAMS, "github", Recording)
    write_findings(findings, "github", io.StringIO(), "a")
    assert added == ["begin", ("a", status, int(status == "failed"), ""), "end"]


def test_a_fingerprint_is_of_code_place_and_message():
    first = Finding("G311", "no", "x", "why", "help")
    assert (
        fingerprint(first) == fingerprint(first._replace(why="", help="", file="a")) and len(fingerprint(first)) == 32
    )
    others = [first._replace(**{key: "y"}) for key in ("code", "place", "message")]
    assert len({*map(fingerprint, [first, *others])}) == 4


def test_a_code_that_has_no_title_is_its_own():
    one = Finding("Z999", "no such thing")
    ((rule,),) = [
        each["tool"]["driver"]["rules"] for each in json.loads(written("sarif", report("m.onnx", one)))["runs"]
    ]
    assert rule["shortDescription"] == {"text": "Z999"}
    assert written("github", report("m.onnx", one)).startswith("::error file=m.onnx,title=Z999 ::no such thing")


@pytest.mark.parametrize(
    ("about", "places", "suites"),
    [
        ("", [], []),
        ("all", [], ["all"]),
        ("", ["a.yaml:3:5", "b.yaml:3", "a.yaml:4:1", ""], ["a.yaml", "b.yaml", "."]),
        ("all", ["a.yaml:3:5"], ["all"]),
        ("", ["a:b.yaml", "c.yaml:1:2:3"], ["a:b.yaml", "c.yaml:1"]),
    ],
)
def test_each_finding_is_at_its_file(about, places, suites):
    stream = io.StringIO()
    write_findings([Finding("S101", "it", place) for place in places], "junit", stream, about)
    assert [each.get("name") for each in ElementTree.fromstring(stream.getvalue())] == suites


def test_the_file_of_a_finding_comes_before_all_others():
    stream = io.StringIO()
    write_findings([Finding("S101", "it", "a.yaml:1:1", file="m.onnx")], "junit", stream, "all")
    assert [each.get("name") for each in ElementTree.fromstring(stream.getvalue())] == ["all", "m.onnx"]
