"""What notebooks show of results: a title and tables as HTML, which is static, escaped and of bounded size.

Results also have a `repr` of one line, made by `one_line`, and say where to look for attributes that they do not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from opset.errors import Finding, safe_text

MOST_ROWS = 200
MOST_CHARACTERS = 150_000
"""Characters of HTML, without a title and what is said of rows that are left out."""
_CELL = 300
_LINE = 200
_STYLE = ' style="text-align:left;vertical-align:top"'


class Table(NamedTuple):
    """A table: its title, "" without one, the names of its columns, () without any, and rows of texts."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]


def findings_table(title: str, findings: Iterable[Finding]) -> Table:
    """Return the table of findings."""
    rows = [(each.code, each.place, each.message, each.why, each.help) for each in findings]
    return Table(title, ("code", "place", "message", "why", "help"), rows)


def one_line(kind: str, text: str) -> str:
    """Return the `repr` of a result: its class and a text, on one line that is not too long."""
    return f"<{kind} {safe_text(text, _LINE)}>"


def html_of(title: str, tables: Iterable[Table]) -> str:
    """Return a title and tables as HTML; rows that would make it too large are counted."""
    parts = [f"<div><strong>{_escape(title)}</strong>"]
    left = MOST_CHARACTERS
    for table in tables:
        if not table.rows:
            continue
        parts.append(f"<table><caption{_STYLE}>{_escape(table.title)}</caption>" if table.title else "<table>")
        if table.columns:
            parts.append(f"<tr>{''.join(f'<th{_STYLE}>{_escape(each)}</th>' for each in table.columns)}</tr>")
        shown = 0
        for row in table.rows[:MOST_ROWS]:
            line = f"<tr>{''.join(f'<td{_STYLE}>{_escape(cell)}</td>' for cell in row)}</tr>"
            left -= len(line)
            if left < 0:
                break
            parts.append(line)
            shown += 1
        parts.append("</table>")
        if shown < len(table.rows):
            parts.append(f"<p>… and {len(table.rows) - shown:,} more</p>")
    return "".join([*parts, "</div>"])


def _escape(text: object) -> str:
    from html import escape  # imported when something is shown

    return escape(safe_text(text, _CELL))


def missing_attribute(kind: str, name: str, places: Mapping[str, str], known: Iterable[str]) -> AttributeError:
    """Return the error for an attribute that a result does not have, with the place to look at, or names like it.

    Args:
        kind: The class of the result.
        name: The name that it does not have.
        places: Where to find what other packages have under such names, by name.
        known: The names that it has.
    """
    message = f"'{kind}' object has no attribute '{safe_text(name, _LINE)}'"
    if name.startswith("_"):  # what Python and notebooks probe for
        return AttributeError(message)
    if name in places:
        return AttributeError(f"{message}: see {places[name]}")
    from difflib import get_close_matches  # slow to import

    names = {**places, **{each: each for each in known if not each.startswith("_")}}
    near = [names[each] for each in get_close_matches(name[:_LINE], names, 2)]
    return AttributeError(f"{message}; did you mean {' or '.join(near)}?" if near else message)
