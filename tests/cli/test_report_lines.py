"""What the text of reports says of lists that are cut, and of what few models have."""

import io
import json
import os
from collections import Counter
from types import SimpleNamespace

import pytest

import opset
from opset.budget import Limits
from opset.cli import blockers, conformance, infer, lint, model_versions, testgen
from opset.cli import test as examples
from opset.cli.batch import VerbCall, _check_executor
from opset.cli.batch_reports import Totals
from opset.cli.configuration import Folders
from opset.cli.inputs import Input, Output, parse_input
from opset.description.structure.comparing import PartCounts, StructureComparison
from opset.description.structure.folding import StructureChange
from opset.errors import SHOWN, Finding, FindingList, UsageError
from opset.inference.engine.result import KNOWN, NOTHING
from opset.version_converter.blockers import Blocker, TotalBlocker
from opset.workflow.examples.runner import Examination


def report_of_gaps(count, **also):
    gaps = [
        infer.NodeGap(0, at, f"node {at}", "" if at else "it is new\x1b", [infer.GapValue("v", "")])
        for at in range(count)
    ]
    return infer.InferenceReport(
        coverage=Counter({KNOWN: 1200, NOTHING: count}), gaps=gaps, graphs=["graph 'g'"], **also
    )


def test_a_few_gaps_of_inference_are_shown():
    few, many = ([*infer._report_lines(report_of_gaps(count, notes=["a\x1b"]))] for count in (infer.FEW, infer.FEW + 3))
    shown = [
        "1,210 values: 1,200 known in numbers, 10 not known",
        "  not known:",
        "    'v' of graph 'g', node 0: it is new\\x1b",
        *(f"    'v' of graph 'g', node {at}: no reason is known" for at in range(1, infer.FEW)),
    ]
    assert few == [*shown, "  a\\x1b"]
    assert many[1:] == [*shown[1:], "    and 3 more: --values", "  a\\x1b"]
    every = [*infer._report_lines(report_of_gaps(infer.FEW + 3, notes=[], nodes=[], types=[]))]
    assert len(every) == infer.FEW + 5 and "more" not in every[-1]
    assert [*infer._report_lines(report_of_gaps(0, notes=[]))] == ["1,200 values: 1,200 known in numbers"]
    none = infer.InferenceReport(coverage=Counter(), gaps=[], graphs=[], notes=[])
    assert [*infer._report_lines(none)] == ["0 values: none"]


def test_a_terminal_shows_how_many_nodes_are_inferred(capsys):
    show = infer._progress_writer()
    show(1200, 3400)
    assert capsys.readouterr() == ("", "[1,200/3,400 nodes]\r")


def test_a_few_versions_that_are_not_locked_are_shown():
    counts = {"operators": 2, "domains": 1, "unread": 0}

    def lines(unlocked, findings=0, **also):
        names = [f"A {at}" for at in range(unlocked)]
        report = lint.LintReport(FindingList(), ["B 1\x1b"], names, {**counts, **also})
        return lint._report_lines(report, findings)

    said = "not released, since the lock does not have them: A 0, A 1, A 2, A 3"
    assert lines(0) == ["locked B 1\\x1b", "no findings in 2 operators of 1 domain"]
    assert lines(lint.SHOWN, 1)[1:] == [said, "1 finding in 2 operators of 1 domain"]
    assert lines(lint.SHOWN + 2, 2, unread=1)[1:] == [
        f"{said} and 2 more", "2 findings in 2 operators of 1 domain; 1 file could not be read"
    ]  # fmt: skip


def test_a_few_notes_and_reasons_of_examples_are_shown():
    def lines(notes, **also):
        report = Examination(Counter(also.get("passed", {})), notes=[f"n{at}\x1b" for at in range(notes)])
        report.findings += [Finding("T101", "it")] * also.get("findings", 0)
        return [*examples._report_lines(report, also.get("parts", ()))]

    head = "          passed  failed  not run"
    assert lines(0) == ["  passed  failed  not run", "nothing was tested"]
    noted = [f"note: n{at}\\x1b" for at in range(examples.NOTES)]
    assert lines(examples.NOTES, passed={"kernel": 1})[:-1] == [*noted, "  passed  failed  not run"]
    assert lines(examples.NOTES + 1200, passed={"kernel": 1}, findings=1) == [
        *noted, "… and 1,200 more notes: --format json", "  passed  failed  not run", "1 finding"
    ]  # fmt: skip
    counts = [
        examples.ExampleCounts("kernel", 1200, 3, {"few": 2, "many\x1b": 1000}),
        examples.ExampleCounts("claims", 0, 0, {f"r{at}": 1 for at in range(examples.REASONS + 1)}),
        examples.ExampleCounts("function", 5, 0, {}),
    ]
    assert lines(0, parts=counts, passed={"kernel": 1}) == [
        head,
        "kernel     1,200       3    1,002",
        "claims         0       0        9",
        "function       5       0        0",
        "kernel, not run: many\\x1b (1,000), few (2)",
        f"claims, not run: {', '.join(f'r{at} (1)' for at in range(examples.REASONS))} and 1 more",
        "no findings",
    ]


def test_the_structure_of_models_is_cut():
    def lines(count, omitted=0, annotated=0, **also):
        nodes = PartCounts(1200, 1201, 1000, also.get("renamed", 0), 0, 1, 0)
        weights = PartCounts(2, 2, 2, also.get("weights", 0), 0, 0, 0)
        details = [("inputs", "", f"v{at}") for at in range(also.get("details", 0))]
        changes = [
            StructureChange("added", "node", also.get("body", ""), details, [f"node {at}"]) for at in range(count)
        ]
        compared = StructureComparison(nodes, weights, annotated, changes, omitted, also.get("notes", ()))
        return [*model_versions._structure_lines(compared, io.StringIO())]

    counts = ["  nodes    1,200 -> 1,201: 1,000 the same, 1 added", "  weights  2 -> 2: 2 the same"]
    assert lines(0) == []
    assert lines(0, renamed=1) == [counts[0].replace(", 1 added", ", 1 renamed, 1 added"), counts[1]]
    assert lines(0, weights=1)[1] == counts[1] + ", 1 renamed"
    assert lines(0, annotated=1, notes=["a\x1b"]) == [
        "  1 node with other metadata or documentation", "  note: a\\x1b"
    ]  # fmt: skip
    assert lines(1, body="graph 'g'", details=1) == [*counts, "  + node 0, graph 'g'", "      inputs: none -> v0"]
    assert len(lines(1, details=SHOWN + 1)) == 3 + SHOWN
    assert lines(SHOWN)[2:] == [f"  + node {at}" for at in range(SHOWN)]
    assert lines(SHOWN + 2)[-2:] == [f"  + node {SHOWN - 1}", "  … and 2 more"]
    assert lines(SHOWN + 2, omitted=1200)[-1] == "  … and 1,202 more"
    assert lines(1, omitted=3)[-1] == "  … and 3 more"


@pytest.mark.parametrize(("record", "tabled"), [(False, [("", "Both")]), (True, [("", "Both"), ("com.a", "New")])])
def test_which_operators_have_a_table(monkeypatch, record, tabled):
    versions = {"Both": [1, 2], "Part": [1, 2], "New": [1], "Nowhere": [1]}
    files = {
        "Both": SimpleNamespace(exists=lambda: True), "Part": SimpleNamespace(exists=lambda: True),
        "New": SimpleNamespace(exists=lambda: False), "Nowhere": None,
    }  # fmt: skip
    registry = SimpleNamespace(since_versions=lambda name, domain: versions[name])
    monkeypatch.setattr(examples, "table_file", lambda registry, domain, name: files[name])
    schemas = [("", "Both"), ("", "Part"), ("com.a", "New"), ("", "Both"), ("", "Nowhere")]
    asked = [SimpleNamespace(domain=domain, name=name) for domain, name in schemas]
    assert examples._operators_in_tables(registry, asked, record) == tabled


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [("", "", "input 'x'"), ("a", "", "input 'x': a"), ("", "b", "input 'x': b"), ("a", "b", "input 'x': a -> b")],
)
def test_a_change_of_an_interface_has_the_states_that_there_are(before, after, shown):
    assert model_versions._change_text(SimpleNamespace(place="input 'x'", before=before, after=after)) == shown


def test_what_blocks_a_model_without_a_node():
    wrong = Blocker("", "", 0, 0, "C105", "it is wrong\x1b", "why\x1b", "", "the model\x1b")
    assert [*blockers._blocker_lines(wrong)] == ["  it is wrong\\x1b: the model\\x1b", "    C105 why\\x1b"]
    node = wrong._replace(domain="com.acme", operator="Scale", nodes=1, help="do\x1b")
    assert [*blockers._blocker_lines(node)] == [
        "  com.acme.Scale: 1 node, the model\\x1b", "    C105 why\\x1b", "    help: do\\x1b"
    ]  # fmt: skip
    many = node._replace(version=3, nodes=1200)
    assert next(blockers._blocker_lines(many)) == "  com.acme.Scale 3: 1,200 nodes, the first is the model\\x1b"
    report = SimpleNamespace(blockers=[wrong, node, many])
    assert blockers._detail(report) == "it is wrong\\x1b, com.acme.Scale (1), com.acme.Scale (1,200)"
    totals = [TotalBlocker("", "", 0, 2, "C105", "why", ""), TotalBlocker("", "Add", 3, 1, "C201", "so", "do")]
    assert [*blockers._total_lines(totals)] == [
        "beside nodes: 2 models", "    C105 why", "Add: 3 nodes in 1 model", "    C201 so", "    help: do"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("memory", "models", "why"),
    [
        (None, ["a.onnx", "b.onnx"], ""),
        (1, ["a.onnx"], "--max-memory limits processes of this machine alone"),
        (0, ["a.onnx"], "--max-memory limits processes of this machine alone"),
        (None, ["a.onnx", "-"], "the workers of a cluster have no stdin"),
    ],
)
def test_what_a_cluster_cannot_do(memory, models, why):
    call, inputs = SimpleNamespace(max_memory=memory), [parse_input(each) for each in models]
    if not why:
        assert _check_executor(call, inputs) is None
        return
    with pytest.raises(UsageError) as caught:
        _check_executor(call, inputs)
    assert (caught.value.code, caught.value.message) == ("U103", why)


@pytest.mark.parametrize(
    ("source", "output", "written", "is_written"),
    [
        ("a.onnx", Output(file="b.onnx"), {}, True),
        ("a.onnx", Output(file="b.onnx"), {"b.onnx": 5}, True),
        ("a.onnx", Output(file="b.onnx"), {"b.onnx": 4}, False),
        ("a.onnx", Output(file="b.onnx"), {"b.onnx": 5, "b.onnx.data": 6}, True),
        ("a.onnx", Output(file="b.onnx"), {"b.onnx": 5, "b.onnx.data": 4}, False),
        ("a.onnx", Output(file="b.onnx"), {"b.onnx": 4, "b.onnx.data": 6}, False),
        ("a.onnx", Output(folder="c"), {"c/a-opset13.onnx": 4}, False),
        ("a.onnx", Output(folder="c"), {"c/a-opset13.onnx": 5, "a.onnx": 1}, True),
        ("s3://a/a.onnx", Output(file="b.onnx"), {"b.onnx": 4}, True),
        ("a.onnx", Output(file="s3://a/b.onnx"), {}, True),
        ("a.onnx", Output(folder="s3://a"), {}, True),
        ("a.onnx", Output(file="s3://a/b.onnx"), {"s3://a/b.onnx": 4}, True),  # of a folder here that is called s3:
        ("a.onnx", Output(folder="s3://a"), {"s3://a/a-opset13.onnx": 4}, True),
    ],
)
def test_a_result_of_an_earlier_run_is_known_by_its_time(monkeypatch, source, output, written, is_written):
    paths = SimpleNamespace(join=os.path.join, lexists=written.__contains__)
    times = SimpleNamespace(path=paths, lstat=lambda path: SimpleNamespace(st_ctime_ns=written[path]))
    monkeypatch.setattr("opset.cli.batch.os", times)
    call = SimpleNamespace(output=output, since=5)
    assert VerbCall._is_written_since(call, Input(source), "opset13") == is_written


@pytest.mark.parametrize(
    ("force", "since", "status"),
    [
        (False, 0, "the file is there"),
        (False, 1, ""),
        (False, 1 << 62, "the file is there"),  # the file is older than the work on the model
        (True, 0, ""),
        (True, 1 << 62, ""),
    ],
)
def test_a_file_is_replaced_if_it_may_be_or_an_earlier_run_wrote_it(tmp_path, force, since, status):
    path = tmp_path / "b.onnxtxt"
    path.touch()
    model = opset.load(opset.parse_model('<ir_version: 8, opset_import: ["": 17]> g () => () {}'))
    call = VerbCall(
        Folders(()), Limits(), (), 1, False, "text", force=force, output=Output(file=str(path)), since=since
    )
    if not status:
        assert call.write_result(model, Input("a.onnx"), "opset13", []) == str(path) and path.stat().st_size
        return
    with pytest.raises(UsageError, match="U102"):
        call.write_result(model, Input("a.onnx"), "opset13", [])
    assert not path.stat().st_size


def test_sums_of_findings_are_bounded(monkeypatch):
    monkeypatch.setattr("opset.cli.batch_reports.MOST_TOTALS", 2)
    totals = Totals()
    totals.add([Finding(code, "it") for code in ("G311", "G324", "M101", "G311")])
    totals.add([Finding("G311", "it"), Finding("M101", "it")])
    assert [(each.code, each.findings, each.models) for each in totals.rows()] == [("G311", 3, 2), ("G324", 1, 1)]


def test_a_corpus_without_cases_is_written(tmp_path, capsys):
    folder = tmp_path / "made"
    corpus = SimpleNamespace(cases=[], files={"a.txt": b"12"}, findings=FindingList())
    assert testgen._write_cases(str(folder), corpus, [], "text") == 0
    assert capsys.readouterr().out == f"no cases (none) in {folder}: 1 file, 0.0 kB; 1 written, 0 removed\n"


@pytest.mark.parametrize("form", ["text", "json"])
def test_findings_of_cases_are_errors(tmp_path, capsys, form):
    corpus = SimpleNamespace(
        cases=[{"kind": "node"}] * 2 + [{"kind": "error"}], files={"a.txt": b"12", "b.txt": b"34"},
        findings=FindingList([Finding("T101", "it is wrong", "a.yaml:1")]),
    )  # fmt: skip
    assert testgen._write_cases(str(tmp_path / "made"), corpus, [], form) == 1
    printed = capsys.readouterr()
    assert ("error[T101] it is wrong" in printed.err) == (form == "text")
    folder = tmp_path / "made"
    counted = f"3 cases (1 error, 2 node) in {folder}: 2 files, 0.0 kB; 2 written, 0 removed\n"
    if form == "text":
        assert printed.out == counted
    else:
        data = json.loads(printed.out)
        assert [data[key] for key in ("cases", "files", "bytes", "written")] == [{"error": 1, "node": 2}, 2, 4, 2]
    corpus.findings = FindingList()
    assert testgen._write_cases(str(folder), corpus, [], "text") == 0
    assert capsys.readouterr() == (counted.replace("2 written", "0 written"), "")


def test_the_totals_of_a_conformance_run():
    def lines(totals, cases=(), changes=None, version="1.2", written=()):
        run = SimpleNamespace(
            runtime=SimpleNamespace(name="it\x1b", version=version), totals=totals, cases=cases, changes=changes
        )
        return conformance._report_lines(run, [*written])

    def case(result="wrong", **facts):
        return SimpleNamespace(**{"expected": "", "chosen": "", "result": result, **facts})

    one = {"node": {"pass": 1}}
    assert lines(one, version="") == ["it\\x1b: 1 case", "        pass", "  node     1"]
    totals = {"node": {"pass": 1200, "wrong": 2}, "random": {}, "invalid": {"accepted": 3}}
    assert lines(totals) == [
        "it\\x1b 1.2: 1,205 cases",
        "           pass  wrong  accepted",
        "  node     1200      2",
        "  invalid                      3",
    ]
    assert lines(one, [case(expected="so")])[3:] == ["  1 of them is named disagreements"]
    assert lines(one, [case(expected="so"), case(expected="so"), case()])[3:] == ["  2 of them are named disagreements"]
    assert lines(one, [case(chosen="so"), case("pass", chosen="so")])[3:] == [
        "  1 of them is where the standard leaves it open"
    ]
    assert lines(one, [case(chosen="so")] * 2, ([1] * 1200, []), written=["a\x1b"])[3:] == [
        "  2 of them are where the standard leaves it open", "  1,200 worse and 0 better than before", "  wrote a\\x1b"
    ]  # fmt: skip
