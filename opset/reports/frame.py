"""The frame of a report: parts and tables, put into a page with a policy.

Every text of a page may come from a model: it is escaped, cut if it is long, and never markup. Signs and words stand
beside the colors, which follow the reader's light or dark scheme. The policy of a page permits its own style alone.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from opset import __version__
from opset.description.structure import folding
from opset.docgen import picture
from opset.docgen.styles import base_stylesheet
from opset.errors import safe_text

GOOD, BAD, WARN, QUIET = "good", "bad", "warn", "quiet"
SIGNS: Final = {GOOD: "✓", BAD: "✗", WARN: "!", QUIET: "·", "": "", **folding.SIGNS}
"""The sign beside each color."""
MOST_ROWS: Final = 1000
"""Rows of a table; the others are counted."""
LARGEST_PLAIN: Final = 250_000
"""Characters of JSON that a page holds as it is; longer JSON is compressed."""
_LONGEST: Final = 10_000
_CODES: Final = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\x7f"}
"""Characters that a page could read as its own markup, as JSON writes it in texts."""


class Cell(NamedTuple):
    """A cell of a table: a text with the sign and color of its kind, a picture, and further lines.

    `kind` is a key of SIGNS. The lines are folded if `folded` is not empty, and it is then the text above them.
    `column` is "right" for numbers.
    """

    text: str = ""
    kind: str = ""
    lines: Sequence[str] = ()
    folded: str = ""
    picture: str = ""
    column: str = ""

    @property
    def is_full(self) -> bool:
        """Whether the cell shows anything: a text, lines or a picture."""
        return bool(self.text or self.lines or self.picture)

    @property
    def sign(self) -> str:
        """The sign of the cell's kind, such as "✓"."""
        return SIGNS[self.kind]


class ReportTable(NamedTuple):
    """A table: its caption, the names of its columns, its rows, and a text below it on rows that are left out.

    The first cell of a row names the row. `kind` is a class of its style, "" for none.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    more: str = ""
    kind: str = ""


class ReportChange(NamedTuple):
    """A kind of change: its title, a text, two pictures (before, after) with their titles, and the nodes as code.

    `is_open` says that it is not folded.
    """

    title: str
    text: str
    before: str
    before_title: str
    after: str
    after_title: str
    code: str
    is_open: bool


class Folded(NamedTuple):
    """A table, or a piece of code, of which a page shows only the title until a reader opens it."""

    title: str
    table: ReportTable | None = None
    code: str = ""


class ReportPart(NamedTuple):
    """A section of a page: its HTML id, its title, and paragraphs, tables, a list of lines, changes, folded tables."""

    id: str
    title: str
    texts: Sequence[str] = ()
    tables: Sequence[ReportTable] = ()
    lines: Sequence[str] = ()
    changes: Sequence[ReportChange] = ()
    folded: Sequence[Folded] = ()


class ReportPage(NamedTuple):
    """A page: its title, the verdict, facts by name, and sections."""

    title: str
    verdict: Cell | None
    facts: Sequence[tuple[str, str]]
    parts: Sequence[ReportPart]


def page_text(page: ReportPage, document: Any = None) -> str:
    """Return a page as an HTML document.

    If `document` is given, the page holds it as JSON, too.
    """
    style = _style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    template = _environment().get_template("report.html")
    kind, data = embedded_json(document) if document is not None else ("", "")
    return template.render(page=page, style=Markup(style), digest=digest, kind=kind, data=data)


def embedded_json(document: Any) -> tuple[str, Markup]:
    """Return (type, content) of an HTML element that holds a document as JSON.

    The type is "application/json", and the content ASCII without characters that could end the element. JSON of more
    than LARGEST_PLAIN characters is compressed by gzip and written in base64: then the type is "application/gzip".
    """
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    if len(text) > LARGEST_PLAIN:
        packed = gzip.compress(text.encode("ascii"), mtime=0)
        return "application/gzip", Markup(base64.b64encode(packed).decode("ascii"))
    return "application/json", Markup(text.translate(_CODES))


def words_cell(*words: object, kind: str = "", **more: Any) -> Cell:
    """Return a cell whose text joins the words by blanks; words that are "" or None are left out.

    `kind` is the cell's sign and color, `more` are further fields of the Cell.
    """
    return Cell(" ".join(str(each) for each in words if each not in ("", None)), kind, **more)


def number_cell(text: object) -> Cell:
    """Return a cell with a number, which stands at the right of its column."""
    return Cell(str(text), column="right")


def first_rows(title: str, head: Sequence[str], rows: Sequence[Sequence[Cell]], kind: str = "") -> ReportTable:
    """Return a table of the first MOST_ROWS rows; a text below it says how many rows are left out.

    Columns without content in these rows are left out. `head` has the names of the columns.
    """
    left = len(rows) - MOST_ROWS
    shown = rows[:MOST_ROWS]
    full = [place for place, _ in enumerate(head) if any(row[place].is_full for row in shown)]
    return ReportTable(
        title,
        [head[place] for place in full],
        [[row[place] for place in full] for row in shown],
        f"… and {left:,} more" if left > 0 else "",
        kind,
    )


def lines_cell(lines: Sequence[str], noun: str, shown: int = 3, most: int = 50) -> Cell:
    """Return a cell that lists lines.

    More than `shown` lines are folded behind their number and `noun`, "12 places"; of more than `most`, the others are
    only counted.
    """
    if len(lines) <= shown:
        return Cell(lines[0] if len(lines) == 1 else "", lines=lines if len(lines) > 1 else ())
    more = [f"… and {len(lines) - most:,} more"] if len(lines) > most else []
    return Cell(lines=[*lines[:most], *more], folded=f"{len(lines):,} {noun}")


@cache
def _style() -> str:
    """Return the CSS of a page. Cached."""
    own = files("opset.reports").joinpath("report.css").read_text(encoding="utf-8")
    return base_stylesheet() + own + picture.stylesheet()


@cache
def _environment() -> Environment:
    """Return the Jinja environment of the templates, in which every text is escaped and cut. Cached."""
    environment = Environment(
        loader=PackageLoader("opset.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=lambda value: value if isinstance(value, Markup) else safe_lines(value),
    )
    environment.globals["opset_version"] = __version__
    return environment


def safe_lines(text: object) -> str:
    """Return text with control characters escaped, except line breaks.

    Each line is cut to _LONGEST characters, and the text to four times as many.
    """
    return "\n".join(safe_text(line, _LONGEST) for line in str(text)[: 4 * _LONGEST].split("\n"))
