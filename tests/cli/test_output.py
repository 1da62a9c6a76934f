"""What every verb writes: its product as text or JSON, findings, and the line of an internal error."""

import io
import json
import math
import pickle
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import pytest

from opset.cli import output
from opset.cli.output import internal_error, shortage, write_errors, write_product
from opset.errors import KEPT, SHOWN, Finding, FindingList, ModelError


def written(write, *arguments):
    stream = io.StringIO()
    write(*arguments, stream)
    return stream.getvalue()


def test_a_product_as_text_and_as_json(monkeypatch, capsys):
    assert written(write_product, {}, lambda: ["a", "b\x7f"], "text") == "a\nb\x7f\n"
    data = {"a": ["\x7f\x1b\u202eé"], "b": {"c": None}}
    start = '{\n  "schema_version": 1,\n'
    text = start + '  "a": [\n    "\\u007f\\u001b\\u202e\\u00e9"\n  ],\n  "b": {\n    "c": null\n  }\n}\n'
    assert written(write_product, data, list, "json") == text
    monkeypatch.setattr(output, "_BATCH", 2)
    assert written(write_product, data, list, "json") == text
    write_product({}, lambda: ["a"], "text")
    assert capsys.readouterr().out == "a\n"
    assert json.loads(written(write_product, [ValueError("\x1b")], list, "json"))["listed"] == ["\\x1b"]
    assert json.loads(written(write_product, [float("nan"), -math.inf], list, "json"))["listed"] == ["nan", "-inf"]


class Point(NamedTuple):
    x: float
    y: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    size: int


@dataclass(frozen=True)
class Whole:
    part: Part | None = field(metadata={"key": ""})
    points: tuple[Point, ...]
    parts: dict[str, Part]
    errors: FindingList
    renamed: int = field(metadata={"key": "re.named"})
    note: str = ""
    nothing: Part | None = None


def test_a_report_as_json():
    finding = Finding("M101", "one", place="p", why="w", help="h", file="f")
    whole = Whole(Part(1), (Point(math.inf),), {"a": Part(2)}, FindingList([finding], omitted=3), 4)
    data = {
        "schema_version": 1,
        "size": 1,
        "points": [{"x": "inf", "y": []}],
        "parts": {"a": {"size": 2}},
        "errors": [{"code": "M101", "message": "one", "place": "p", "why": "w", "help": "h", "file": "f"}],
        "omitted": 3,
        "re.named": 4,
    }
    assert [*json.loads(written(write_product, whole, list, "json")).items()] == [*data.items()]
    assert (
        output.json_text(whole)
        == json.dumps(data | {"schema_version": 1}, indent=1).replace(' "schema_version": 1,\n', "") + "\n"
    )
    assert output.pretty_text(Part("\x7f\x1b")) == '{\n  "size": "\\u007f\\u001b"\n}'
    bare = Whole(None, (), {}, FindingList(), 4, "a note", Part(5))
    data = {"schema_version": 1, "points": [], "parts": {}, "errors": [], "omitted": 0, "re.named": 4,
            "note": "a note", "nothing": {"size": 5}}  # fmt: skip
    assert [*json.loads(written(write_product, bare, list, "json")).items()] == [*data.items()]
    assert json.loads(written(write_product, [Part(1), Point(2.0)], list, "json"))["listed"] == [
        {"size": 1},
        {"x": 2.0, "y": []},
    ]


def test_findings_are_the_same_after_they_were_sent():
    findings = FindingList([Finding("C201", "one", f"node {number}") for number in range(KEPT + 2)], omitted=3)
    copied = pickle.loads(pickle.dumps(findings))
    assert (copied, copied.omitted, type(copied)) == (findings, 5, FindingList)


def test_the_first_findings_are_written_and_the_others_counted(capsys):
    def text(count, omitted=0):
        return written(write_errors, FindingList([Finding("G101", f"m{n}", why="w") for n in range(count)], omitted))

    entries = [f"error[G101] m{n}\n  why     w\n" for n in range(SHOWN)]
    end = "more: opset explain G101\n"
    assert text(SHOWN) == "".join(entries) + end
    assert text(SHOWN + 1) == "".join(entries) + "… and 1 more\n" + end
    assert text(SHOWN + 1, 1000) == "".join(entries) + "… and 1,001 more\n" + end
    assert text(1, 2) == entries[0] + "… and 2 more\n" + end
    codes = [Finding(code, "a] b") for code in ("G102", "G101", "G102")]
    assert written(write_errors, FindingList(codes)) == (
        "error[G102] a] b\nerror[G101] a] b\nerror[G102] a] b\nmore: opset explain G102 G101\n"
    )
    write_errors(ModelError(Finding("G101", "m")))
    assert capsys.readouterr().err == "error[G101] m\nmore: opset explain G101\n"


def caused(*errors):
    """Return the last of some errors, each of which was caused by the one before."""
    for before, error in pairwise(errors):
        error.__cause__ = before
    return errors[-1]


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (MemoryError(), ""),
        (OSError("Cannot allocate memory"), "Cannot allocate memory"),
        (ImportError("x.so: failed to map segment"), "x.so: failed to map segment"),
        (caused(MemoryError(), ImportError("numpy")), ""),
        (caused(OSError("cannot allocate memory"), ImportError("numpy"), KeyError("x")), "cannot allocate memory"),
        (caused(ImportError("failed to map segment"), MemoryError()), "failed to map segment"),
        (OSError("annot allocate memory" + "x" * 300), "annot allocate memory" + "x" * 178 + "…"),
    ],
)
def test_errors_that_a_lack_of_memory_caused(error, why):
    help = "allow the process more, or use fewer processes: ulimit -v, -j 1"
    found = shortage(error)
    assert found == Finding("U106", "there is not enough memory", why=why, help=help)


@pytest.mark.parametrize("error", [ImportError("no numpy"), KeyError("failed to map segment"), OSError("no such file")])
def test_errors_that_it_did_not_cause(error):
    assert shortage(error) is None


def test_an_internal_error_is_one_line(monkeypatch):
    monkeypatch.delenv("OPSET_DEBUG", raising=False)
    request = (
        "; please report it with the command and, if you may share it, the model (--debug shows where it happened)"
    )
    assert internal_error(KeyError("\x1b")) == f"opset: internal error: KeyError: '\\x1b'{request}"
    line = internal_error(ValueError("x" * 400))
    assert line == f"opset: internal error: ValueError: {'x' * 300}{request}"
    try:
        shortage(None).code  # noqa: B018
    except AttributeError as error:
        assert " (test_output.py:" in internal_error(error)
