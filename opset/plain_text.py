"""Plain text for people: aligned columns, wrapped prose, terminal styles. Needs the standard library only."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import IO

from opset.errors import escape_text

WIDEST = 100
"""Characters to which a column is padded at most where the output is no terminal."""
STYLES = {"bold": "1", "red": "1;31", "green": "32", "yellow": "33", "dim": "2"}


def table_lines(rows: Sequence[Sequence[str]], indent: str = "  ", right: Iterable[int] = ()) -> list[str]:
    """Return the lines of a table, with cells escaped and columns aligned.

    No column is padded beyond the terminal's width: names from files may be of any length.

    Args:
        right: Indices of the columns that are aligned on the right.
    """
    rows = [[*map(escape_text, row)] for row in rows]
    widest = _terminal_width()
    widths = [min(max(map(len, column)), widest) for column in zip_longest(*rows, fillvalue="")]
    flush = set(right)
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if number in flush else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        lines.append((indent + "  ".join(cells)).rstrip())
    return lines


def count_text(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural if needed: "no findings", "1 file", "1,000 files"."""
    return f"{f'{count:,}' if count else 'no'} {noun}{'' if count == 1 else 's'}"


def terminal_columns() -> int | None:
    """Return the columns of the terminal that stdout is, None if it is none."""
    try:
        return os.get_terminal_size(1).columns or None
    except OSError:
        return None


def _terminal_width() -> int:
    """Return the columns of the terminal, WIDEST if the output is none."""
    return terminal_columns() or WIDEST


def prose_width() -> int:
    """Return the characters of a line of prose: the terminal's width, and no more than are easy to read."""
    return max(40, min(WIDEST, _terminal_width()))


def prose_lines(text: str, indent: str = "") -> list[str]:
    """Return prose as lines that the terminal holds, each of its own lines wrapped by itself and escaped."""
    return wrap_prose(text, prose_width(), indent)


def wrap_prose(text: str, width: int, indent: str = "") -> list[str]:
    """Return prose as lines of at most `width`, each of its own lines wrapped by itself and escaped."""
    import textwrap  # compiles regular expressions; only prose needs it

    lines: list[str] = []
    for line in text.splitlines():
        inner = indent + line[: len(line) - len(line.lstrip(" "))]
        lines += textwrap.wrap(escape_text(line.strip()), width, initial_indent=inner, subsequent_indent=inner) or [""]
    return lines


def fit_lines(lines: Iterable[str], stream: IO[str], hang: str = "") -> list[str]:
    """Return lines as a terminal holds them: longer ones wrapped, but for those of code and of tables in Markdown.

    Where the stream is no terminal, they stay as they are. Continuations begin as their line does, then with `hang`.
    """
    if not stream.isatty():
        return [*lines]
    import textwrap

    width, fitted, is_code = max(40, _terminal_width()), list[str](), False
    for line in lines:
        is_code ^= line.startswith("```")
        if len(line) <= width or is_code or line.startswith("|"):
            fitted.append(line)
        else:
            indent = line[: len(line) - len(line.lstrip(" "))] + hang
            fitted += textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False)
    return fitted


def style_text(text: str, style: str, stream: IO[str]) -> str:
    """Return text in a style if the stream is a terminal that may show color, else the text alone.

    NO_COLOR (https://no-color.org) and TERM=dumb turn styles off.
    """
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty():
        return text
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m"
