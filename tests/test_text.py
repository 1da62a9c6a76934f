"""Text for people: how wide it may be, how it is aligned and wrapped, and in what style."""

import io
import os

import pytest

from opset.plain_text import fit_lines, prose_lines, prose_width, style_text, table_lines, wrap_prose


@pytest.fixture
def terminal(monkeypatch):
    """A function that sets the columns of the terminal, None where there is none."""

    def set_columns(columns):
        def size(descriptor):
            assert descriptor == 1
            if columns is None:
                raise OSError
            return os.terminal_size((columns, 9))

        monkeypatch.setattr(os, "get_terminal_size", size)

    return set_columns


@pytest.mark.parametrize(("columns", "width"), [(50, 50), (0, 100), (300, 100), (20, 40), (None, 100)])
def test_prose_is_as_wide_as_the_terminal_and_easy_to_read(columns, width, terminal):
    terminal(columns)
    assert prose_width() == width


def test_cells_are_escaped_and_aligned(terminal):
    terminal(None)
    rows = [["a\x1b", "1", "x"], ["bcd", "100", ""], ["e", "20"]]
    assert table_lines(rows) == ["  a\\x1b  1    x", "  bcd    100", "  e      20"]
    assert table_lines(rows, "", [1]) == ["a\\x1b    1  x", "bcd    100", "e       20"]
    assert table_lines([]) == []


@pytest.mark.parametrize(("width", "padded"), [(4, 4), (None, 100), (1000, 120)])
def test_no_column_is_padded_beyond_the_terminal(width, padded, terminal):
    terminal(width)
    assert table_lines([["a" * 120, "b"], ["c", "d"]], "") == ["a" * 120 + "  b", "c".ljust(padded) + "  d"]


def test_each_line_of_prose_is_wrapped_by_itself(terminal):
    assert wrap_prose("one two three\n\n  four five\nsix", 9) == ["one two", "three", "", "  four", "  five", "six"]
    assert wrap_prose("one two\x1b\n  three", 12, "> ") == ["> one", "> two\\x1b", ">   three"]
    terminal(10)
    assert prose_lines(" ".join(["word"] * 9), "  ") == ["  " + " ".join(["word"] * 7), "  word word"]


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("name", "value", "stream", "shown"),
    [
        ("TERM", "xterm", Terminal(), "\x1b[1;31mx\x1b[0m"),
        ("TERM", "dumb", Terminal(), "x"),
        ("NO_COLOR", "1", Terminal(), "x"),
        ("NO_COLOR", "", Terminal(), "\x1b[1;31mx\x1b[0m"),
        ("TERM", "xterm", io.StringIO(), "x"),
    ],
)
def test_styles_are_for_terminals_that_want_them(name, value, stream, shown, monkeypatch):
    for each in ("TERM", "NO_COLOR"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, value)
    assert style_text("x", "red", stream) == shown


@pytest.mark.parametrize(("style", "code"), [("bold", "1"), ("green", "32"), ("yellow", "33"), ("dim", "2")])
def test_each_style_has_its_code(style, code, monkeypatch):
    for each in ("TERM", "NO_COLOR"):
        monkeypatch.delenv(each, raising=False)
    assert style_text("x", style, Terminal()) == f"\x1b[{code}mx\x1b[0m"


def test_lines_are_wrapped_for_a_terminal_but_for_code_and_tables(terminal):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal(20)  # too narrow to read: 40
    words = " ".join(["word"] * 12)
    lines = [words, f"  {words}", "```", words, "```", f"| {words} |", "well-known " * 5, "short", "```", words]
    assert fit_lines(lines, io.StringIO()) == lines
    assert fit_lines(lines, Terminal(), "> ") == [
        " ".join(["word"] * 8), "> " + " ".join(["word"] * 4),
        "  " + " ".join(["word"] * 7), "  > " + " ".join(["word"] * 5),
        "```", words, "```", f"| {words} |", "well-known well-known well-known", "> well-known well-known", "short",
        "```", words,
    ]  # fmt: skip
    terminal(59)
    assert fit_lines([words], Terminal()) == [words]
    terminal(58)
    assert len(fit_lines([words], Terminal())) == 2
