"""What is said of an exception in code of users: its kind, its words, and the innermost line that is theirs."""

import json
import sysconfig
from pathlib import Path

import pytest

from opset.opsets.faults import describe_exception, format_traceback, line_of, raise_interrupt


def raised(path, source):
    """The exception that a file of users raises when it is run."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(source)
    with pytest.raises(Exception) as caught:
        exec(compile(source, str(path), "exec"), {})
    return caught.value


def test_the_innermost_line_of_users_is_named(tmp_path):
    file = tmp_path / "kernels.py"
    error = raised(file, "import json\ndef inner():\n    json.loads('{')\n\ninner()\n")
    assert line_of(error) == f"{file}:3"
    assert describe_exception(error, "elsewhere.py:1") == f"JSONDecodeError: {error}, at {file}:3"


class Interrupt(SystemExit):
    """What ends a command from outside."""


def test_an_interrupt_is_no_fault_of_the_function_that_it_ends():
    for error in (Interrupt(1), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            raise_interrupt(error)
    raise_interrupt(SystemExit(1))
    raise_interrupt(ValueError())


def test_a_package_that_is_installed_has_lines_where_it_is_the_origin(tmp_path):
    library = Path(sysconfig.get_path("stdlib")) / "json"
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads("{")
    inner = line_of(caught.value, str(library / "kernels.py"))
    assert Path(inner.rpartition(":")[0]).parent.name == "json" and line_of(caught.value).startswith(__file__)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (SyntaxError("no", ("a.py", 4, 1, "x")), "SyntaxError: no, at a.py:4"),
        (SyntaxError("no", ("a.py", None, 1, "x")), "SyntaxError: no, at a.py:1"),
        (SyntaxError("no", ("<string>", 4, 1, "x")), "SyntaxError: no, at given.py:9"),
        (ValueError("x" * 501), f"ValueError: {'x' * 500}, at given.py:9"),
    ],
)
def test_without_a_line_the_origin_is_named(error, said):
    assert describe_exception(error, "given.py:9") == said


def test_nothing_is_at_no_place():
    assert describe_exception(ValueError("no")) == "ValueError: no"


def test_the_traceback_is_for_those_who_ask(monkeypatch, capsys):
    monkeypatch.delenv("OPSET_DEBUG", raising=False)
    assert format_traceback(ValueError("a\x1b[31m")) == ""
    monkeypatch.setenv("OPSET_DEBUG", "1")
    assert format_traceback(ValueError("a\x1b[31m")) == "ValueError: a\\x1b[31m\n"
    describe_exception(ValueError("seen"))
    assert capsys.readouterr().err == "ValueError: seen\n"
