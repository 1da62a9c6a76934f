"""The file of a line for each model: which lines count, which options do not, and where lines end."""

import json
import os
from pathlib import Path

import click
import pytest
from onnx import TensorProto

from opset.cli import cli
from opset.cli.inputs import Input, Stamp
from opset.cli.journal import Journal, _parse_line, digest_of_options
from opset.cli.report_options import ReportFiles, _parse_report_files
from opset.errors import UsageError
from tests.cli.commands import run

DATA = '{"input": "%s", "output": null, "errors": [], "status": "clean"%s}'
STAMP = Stamp(3, 4)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "out.jsonl")


def test_long_lines_are_read_whole_and_the_last_report_counts(path):
    journal = Journal(path, "call")
    long = f', "more": "{"x" * 70_000}"'
    for name, more in (("a", long), ("b", ""), ("a", ', "more": 2'), ("c", long)):
        journal.add(name, STAMP, DATA % (name, more))
    assert journal.find(Input("a"), STAMP)["more"] == 2
    assert len(journal.find(Input("c"), STAMP)["more"]) == 70_000
    assert journal.find(Input("d"), STAMP) is None and journal.find(Input("b"), Stamp(3, 5)) is None
    journal.finish([Input("c"), Input("d"), Input("a")])
    assert [(data["input"], json.loads(text)["status"]) for data, text in journal.reports()] == [
        ("c", "clean"),
        ("a", "clean"),
    ]
    assert all(text.startswith('{"input": ') for _, text in journal.reports())
    journal.close()
    assert os.listdir(os.path.dirname(path)) == ["out.jsonl"]
    again = Journal(path, "call")
    assert again.find(Input("a"), STAMP)["more"] == 2 and again.find(Input("b"), STAMP) is None
    again.close()
    other = Journal(path, "another call")
    assert other.find(Input("a"), STAMP) is None
    other.close()


def test_a_result_that_is_gone_is_made_again(path, tmp_path):
    journal = Journal(path, "call")
    made = tmp_path / "made.onnx"
    for name, output in (("a", str(made)), ("b", "s3://c/d.onnx")):
        journal.add(name, STAMP, (DATA % (name, "")).replace("null", json.dumps(output)))
    assert journal.find(Input("a"), STAMP) is None and journal.find(Input("b"), STAMP)["output"] == "s3://c/d.onnx"
    made.touch()
    assert journal.find(Input("a"), STAMP)["output"] == str(made)
    journal.close()


def test_when_work_began_is_kept(path):
    journal = Journal(path, "call")
    assert journal.start(Input("a")) == 0
    journal.close()
    again = Journal(path, "call")
    since = again.start(Input("a"))
    assert since > 0 and again.start(Input("b")) == 0
    again.close()
    last = Journal(path, "call")
    assert last.start(Input("a")) == since
    last.close()
    assert Path(path).read_text().count('"started": "a"') == 1


@pytest.mark.parametrize(
    "line",
    [b"", b"{}\n", b"[]\n", b'{"call": 1, "started": "a", "time": 3}\n', b'{"call": "c", "started": "a"}\n',
     b'{"call": "c", "input": "a"}\n', b'{"call": "c", "started": "a", "time": 3}', b"{\n", b"\xff\n"],
)  # fmt: skip
def test_what_is_no_line_of_a_journal(line):
    assert _parse_line(line) is None


def test_a_line_of_a_journal_has_each_key():
    start = {"call": "c", "started": "a", "time": 3}
    end = {"call": "c", "input": "a", "output": None, "size": 1, "mtime": 2, "errors": [], "status": "clean"}
    for whole in (start, end):
        assert _parse_line(f"{json.dumps(whole)}\n".encode()) == whole
        for key in whole:
            less = {name: value for name, value in whole.items() if name != key}
            assert _parse_line(f"{json.dumps(less)}\n".encode()) is None, key


def test_options_that_change_a_report():
    beside = "jobs quiet verbose form reports shard executor force".split()
    assert {*beside} <= {each.name for each in cli.get_command(None, "convert").params}
    options = dict.fromkeys((*beside, "to", "verify"), "one")
    first = digest_of_options("convert", options)
    assert len(first) == 16 and first == digest_of_options("convert", dict(reversed(options.items())))
    assert all(first == digest_of_options("convert", options | {name: "two"}) for name in beside)
    others = [digest_of_options("check", options)]
    others += [digest_of_options("convert", options | {name: "two"}) for name in ("to", "verify", "more")]
    assert len({first, *others}) == 5
    assert digest_of_options("a", {"b": Path("c")}) == digest_of_options("a", {"b": "c"})
    assert digest_of_options("a", {"b": {"c": 1}}) != digest_of_options("a", {"b": {"c": 2}})


MODEL = '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { h = %s (x)  y = Exp (h) }'
YAML = """operator: Twice
family: numbers
versions:
- since: 1
  doc: Doubles each element.
  inputs:
  - {name: X, type: T, doc: values}
  outputs:
  - {name: Y, type: T, doc: results}
  types:
    T: [%s]
  shape: same(X)
"""
PYTHON = "# adapters\n"
RUNTIME = "{runtime: npu, releases: [{release: '1', opset: [7, %d], ir: 8, how: documented}]}"
CHIP = RUNTIME.replace("npu", "chip")
TARGETED = "info a.onnxtxt --target chip.yaml --runtime chip"
PROJECT = '[tool.opset]\nschemas = ["own"]\ntargets = ["npu.yaml"]\nignore = ["%s"]\n'
JOINED = "merge a.onnxtxt b.onnxtxt --connect y=x -o c.onnxtxt"
PART = "extract a.onnxtxt -o part.onnxtxt --outputs y"
VERIFIED = "convert a.onnxtxt --to 18 --verify --data values -o d.onnxtxt"


@pytest.mark.parametrize(
    ("first", "second", "name", "content", "passed_over"),
    [
        (JOINED, JOINED, "b.onnxtxt", MODEL % "Neg", False),
        (JOINED, JOINED, "c.txt", "another file", True),
        (PART, f"{PART} --inputs h", "", "", False),
        (
            "check a.onnxtxt --schemas own",
            "check a.onnxtxt --schemas own",
            "own/com.acme/Twice.yaml",
            YAML % "int64",
            False,
        ),
        ("check a.onnxtxt --schemas own", "check a.onnxtxt --schemas own", "own/com.acme/adapters.py", PYTHON, False),
        ("check a.onnxtxt --schemas own", "check a.onnxtxt --schemas own", "own/com.acme/notes.txt", "x", True),
        ("check a.onnxtxt --schemas own", "check a.onnxtxt --schemas own", "own/notes.txt", "x", True),
        ("check a.onnxtxt", "check a.onnxtxt", "own/com.acme/Twice.yaml", YAML % "int64", False),
        ("info a.onnxtxt --runtime npu", "info a.onnxtxt --runtime npu", "npu.yaml", RUNTIME % 13, False),
        (TARGETED, TARGETED, "chip.yaml", CHIP % 13, False),
        ("check a.onnxtxt", "check a.onnxtxt", "pyproject.toml", PROJECT % "W103", False),
        (VERIFIED, VERIFIED, "values/input_0.pb", TensorProto(data_type=1, dims=[2], float_data=[1, -2]), False),
    ],
)
def test_a_model_is_passed_over_if_nothing_that_its_report_follows_from_changed(
    first, second, name, content, passed_over, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    files = {
        "a.onnxtxt": MODEL % "Relu",
        "b.onnxtxt": MODEL % "Abs",
        "own/com.acme/Twice.yaml": YAML % "float",
        "npu.yaml": RUNTIME % 17,
        "chip.yaml": CHIP % 17,
        "pyproject.toml": PROJECT % "W101",
        "values/input_0.pb": TensorProto(data_type=1, dims=[2], float_data=[1, 2]),
    }

    def write(path, content):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(content.encode() if isinstance(content, str) else content.SerializeToString())

    for path, text in files.items():
        write(path, text)
    assert run(*first.split(), "--report", "out.jsonl").exit_code == 0
    before = Path("out.jsonl").read_text()
    if name:
        write(name, content)
        os.utime(name, ns=(1, 1))
    again = run(*second.split(), *["--force"] * (" -o " in second), "--report", "out.jsonl")
    assert again.exit_code == 0
    assert (Path("out.jsonl").read_text() == before) == passed_over
    assert ("1 of them was in out.jsonl already" in again.stdout) == passed_over


def test_a_model_is_passed_over_whichever_others_a_call_has(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        Path(f"{name}.onnxtxt").write_text(MODEL % "Relu")
    for models, said in (("a", "no findings"), ("a b", "1 of them was"), ("b a", "2 of them were")):
        names = [f"{name}.onnxtxt" for name in models.split()]
        assert said in run("check", *names, "--report", "out.jsonl").stdout


def test_a_second_model_from_stdin_is_never_passed_over(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.onnxtxt").write_text(MODEL % "Relu")
    for operator in "Neg", "Abs":
        call = [
            "merge",
            "a.onnxtxt",
            "text:-",
            "--connect",
            "y=x",
            "-o",
            "c.onnxtxt",
            "--force",
            "--report",
            "out.jsonl",
        ]
        assert run(*call, stdin=MODEL % operator).exit_code == 0
        assert operator in (tmp_path / "c.onnxtxt").read_text()


def test_files_of_reports_by_their_suffix():
    def files(*paths):
        return _parse_report_files(None, None, paths)

    assert files() == ReportFiles(None, None)
    assert files("a.jsonl") == ReportFiles("a.jsonl", None)
    assert files("a.HTML") == ReportFiles(None, "a.HTML")
    assert files("a.html", "b") == files("b", "a.html") == ReportFiles("b", "a.html")
    for paths in (("a.html", "b.html"), ("a", "b"), ("a", "b", "c.html")):
        with pytest.raises(click.BadParameter, match=r"give one page, FILE.html, and one file of JSON lines"):
            files(*paths)


def test_another_call_may_not_write_the_same_file(path, tmp_path):
    with pytest.raises(UsageError) as caught:
        Journal(str(tmp_path), "call")
    (finding,) = caught.value.findings
    assert (finding.code, finding.message, finding.why) == ("U104", "the report cannot be written", "it is a folder")
