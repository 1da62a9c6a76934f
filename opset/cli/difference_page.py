"""The difference of two models as a page: one static file that loads nothing and runs nothing.

Every string of the models is escaped. Signs stand beside the colors, which follow the reader's light or dark scheme.
The page states a policy that allows its own style alone.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final

from opset.description.comparison import ModelComparison
from opset.description.structure.comparing import PartCounts
from opset.description.structure.folding import StructureChange
from opset.errors import escape_text

SIGNS: Final = {"added": "+", "removed": "-", "changed": "~"}
"""The sign of each change, in text and on pages."""
_STYLE: Final = """
:root { color-scheme: light dark; --back: #fff; --text: #1c2128; --quiet: #57606a; --line: #d0d7de;
  --added: #116329; --removed: #a40e26; --changed: #7d4e00; }
@media (prefers-color-scheme: dark) { :root { --back: #12151b; --text: #e3e7ed; --quiet: #a3adba; --line: #363d49;
  --added: #6fdd8b; --removed: #ff9492; --changed: #f0b72f; } }
body { margin: 0 auto; max-width: 76rem; padding: 1rem; background: var(--back); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; margin: 0 0 1.5rem; }
caption { text-align: left; font-weight: 600; padding: .4rem 0; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
th { color: var(--quiet); font-weight: 600; }
ul { margin: .2rem 0; padding-left: 1.2rem; }
.added { color: var(--added); } .removed { color: var(--removed); } .changed { color: var(--changed); }
.quiet { color: var(--quiet); }
"""


def difference_page(old: str, new: str, compared: ModelComparison) -> str:
    """Return the difference of two models, which are named `old` and `new`, as an HTML document."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    title = f"{_text(old)} → {_text(new)}"
    interface, structure = compared.interface, compared.structure
    following = interface.next_version or "none is left"
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{digest}'\">",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title>",
        f"<style>{_STYLE}</style>",
        "</head>",
        "<body>",
        "<main>",
        f"<h1>{title}</h1>",
        f"<p>For callers: <strong>{interface.level}</strong>. Model version {_text(interface.version_before)} → "
        f"{_text(interface.version_after)}; lowest that follows: {_text(following)}.</p>",
        *_table(
            "For callers",
            ["level", "kind", "place", "before", "after", "why"],
            ([each.level, each.kind, each.place, each.before, each.after, each.why] for each in interface.changes),
            interface.omitted,
        ),
        *_table(
            "Counts",
            ["", "before", "after", *PartCounts._fields[2:]],
            (
                [name, *(f"{number:,}" for number in counts)]
                for name, counts in (("nodes", structure.nodes), ("weights", structure.weights))
            ),
        ),
        *_changes_table(structure.changes, structure.omitted),
        *(f"<p>{_text(note)}</p>" for note in structure.notes),
        "</main>",
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def _text(text: object) -> str:
    """Return text for a page, with control characters and markup escaped."""
    return escape(escape_text(text))


def _head(title: str, columns: Iterable[str]) -> Iterator[str]:
    """Yield the beginning of a table."""
    yield f"<table><caption>{title}</caption>"
    cells = "".join(f'<th scope="col">{each}</th>' if each else "<td></td>" for each in columns)
    yield f"<thead><tr>{cells}</tr></thead><tbody>"


def _end(omitted: int) -> Iterator[str]:
    """Yield the end of a table, with the number of rows that were left out."""
    yield "</tbody></table>"
    if omitted:
        yield f'<p class="quiet">… and {omitted:,} more</p>'


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], omitted: int = 0) -> Iterator[str]:
    """Yield the lines of a table, none if it has no rows."""
    lines = [f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows]
    if lines:
        yield from _head(title, columns)
        yield from lines
        yield from _end(omitted)


def _changes_table(changes: Sequence[StructureChange], omitted: int) -> Iterator[str]:
    """Yield the lines of the table of changes of the structure, none if nothing changed."""
    if not changes:
        return
    yield from _head("Structure", ["change", "place", "in", "details"])
    for each in changes:
        sign = f'<td class="{each.change}">{SIGNS[each.change]} {each.change}</td>'
        details = "".join(
            f"<li>{_text(part)}: {_text(before or 'none')} → {_text(after or 'none')}</li>"
            for part, before, after in each.details
        )
        details = f"<ul>{details}</ul>" if details else ""
        yield f"<tr>{sign}<td>{_text(place_text(each))}</td><td>{_text(each.body)}</td><td>{details}</td></tr>"
    yield from _end(omitted)


def place_text(change: StructureChange) -> str:
    """Return the place of a change, and how often there is one like it: "node 'layer.0' (Add), x 24: 0-23"."""
    if change.count == 1:
        return change.places[0]
    numbers = f": {change.numbers}" if change.numbers else f", to {change.places[-1]}"
    return f"{change.places[0]}, x {change.count:,}{numbers}"
