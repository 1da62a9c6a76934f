"""The file of a line for each model: which lines count, which options do not, and where lines end."""

import json
import os
from pathlib import Path

import click
import pytest

from opset.cli import cli
from opset.cli.inputs import Input, Stamp
from opset.cli.journal import Journal, ReportFiles, _parse_line, _parse_report_files, digest_of_options
from opset.errors import UsageError

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
    beside = "inputs jobs quiet verbose form reports shard executor force".split()
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
