"""What every verb writes: its product as text or JSON, findings, and the line of an internal error."""

import io
import json
from itertools import pairwise

import pytest

from opset.cli import output
from opset.cli.output import findings_data, findings_of, internal_error, shortage, write_errors, write_product
from opset.errors import SHOWN, Finding, FindingList, ModelError


def written(write, *arguments):
    stream = io.StringIO()
    write(*arguments, stream)
    return stream.getvalue()


def test_a_product_as_text_and_as_json(monkeypatch, capsys):
    assert written(write_product, {}, lambda: ["a", "b\x7f"], "text") == "a\nb\x7f\n"
    data = {"a": ["\x7f\x1b\u202eé"], "b": {"c": None}}
    text = '{\n  "a": [\n    "\\u007f\\u001b\\u202e\\u00e9"\n  ],\n  "b": {\n    "c": null\n  }\n}\n'
    assert written(write_product, data, list, "json") == text
    monkeypatch.setattr(output, "_BATCH", 2)
    assert written(write_product, data, list, "json") == text
    write_product({}, lambda: ["a"], "text")
    assert capsys.readouterr().out == "a\n"
    assert json.loads(written(write_product, [ValueError("\x1b")], list, "json")) == ["\\x1b"]
    with pytest.raises(ValueError, match="not JSON compliant"):
        written(write_product, [float("nan")], list, "json")


def test_findings_as_data_and_back():
    found = FindingList([Finding("M101", "one", place="p", why="w", help="h", file="f")], omitted=3)
    data = findings_data(found)
    assert data == {
        "errors": [{"code": "M101", "message": "one", "place": "p", "why": "w", "help": "h", "file": "f"}],
        "omitted": 3,
    }
    assert (findings_of(data), findings_of(data).omitted) == (found, 3)
    assert findings_data(ModelError(found)) == data


def test_the_first_findings_are_written_and_the_others_counted(capsys):
    def text(count, omitted=0):
        return written(write_errors, FindingList([Finding("M101", f"m{n}", why="w") for n in range(count)], omitted))

    entries = [f"error[M101] m{n}\n  why     w\n" for n in range(SHOWN)]
    end = "more: opset explain M101\n"
    assert text(SHOWN) == "".join(entries) + end
    assert text(SHOWN + 1) == "".join(entries) + "… and 1 more\n" + end
    assert text(SHOWN + 1, 1000) == "".join(entries) + "… and 1,001 more\n" + end
    assert text(1, 2) == entries[0] + "… and 2 more\n" + end
    codes = [Finding(code, "a] b") for code in ("M102", "C101", "M102")]
    assert written(write_errors, FindingList(codes)) == (
        "error[M102] a] b\nerror[C101] a] b\nerror[M102] a] b\nmore: opset explain M102 C101\n"
    )
    write_errors(ModelError(Finding("M101", "m")))
    assert capsys.readouterr().err == "error[M101] m\nmore: opset explain M101\n"


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
