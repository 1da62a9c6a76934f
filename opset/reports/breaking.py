"""The page of `opset breaking`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from opset.plain_text import count_text
from opset.reports.frame import (
    BAD,
    GOOD,
    QUIET,
    WARN,
    Cell,
    Folded,
    ReportPage,
    ReportPart,
    first_rows,
    lines_cell,
    page_text,
    words_cell,
)

_HEAD: Final = ("finding", "what changed", "operators", "requires", "where", "why", "help")
NONE, INFO = "none", "INFO"
_SEVERITIES: Final = {"ERR": ("break", BAD), "WARN": ("warning", WARN), "INFO": ("notice", QUIET)}


def breaking_page(document: Mapping[str, Any], command: str = "") -> str:
    """Return the page of a comparison of two states of operator schemas, as an HTML document.

    `document` is the report of `opset breaking` as JSON. `command` is the command line, which the page shows.
    """
    counts = document["counts"]
    words = [count_text(counts[key], noun) for key, (noun, _) in _SEVERITIES.items()]
    words += [f"{counts['approved']:,} approved"] if counts["approved"] else []
    verdict = Cell(
        f"{'Clean' if document['clean'] else 'Breaking'}: {', '.join(words)}", GOOD if document["clean"] else BAD
    )
    facts = [
        ("Compared", document["compared"]),
        ("Operators", f"{document['operators']:,}, in {document['versions']:,} versions"),
        ("Requires", document["requires"]),
        ("Command", command),
    ]
    grave = [each for each in document["findings"] if each["severity"] != INFO]
    notices = [each for each in document["findings"] if each["severity"] == INFO]
    tables = [first_rows("Breaks and warnings, the gravest first", _HEAD, _rows(grave))] if grave else []
    folded = []
    if notices:
        title = f"{len(notices):,} notice{'' if len(notices) == 1 else 's'}"
        folded.append(Folded(title, first_rows("Notices", _HEAD, _rows(notices))))
    parts = [ReportPart("findings", "Findings", tables=tables, folded=folded)] if tables or folded else []
    parts += [ReportPart("notes", "Notes", lines=document["notes"])] if document["notes"] else []
    title = f"Breaking changes: {document['compared']}"
    return page_text(ReportPage(title, verdict, [each for each in facts if each[1]], parts), document)


def _rows(findings: Sequence[Mapping[str, Any]]) -> list[list[Cell]]:
    """Return a row of cells for each group of findings that say the same: same rule, texts and approval.

    A row lists the operators, with their versions, that the findings of its group are about.
    """
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for each in findings:
        parts = ("rule", "severity", "requires", "message", "why", "help", "approved")
        groups.setdefault(tuple(each[part] for part in parts), []).append(each)
    rows = []
    for group in groups.values():
        first = group[0]
        word, kind = ("approved", GOOD) if first["approved"] else _SEVERITIES[first["severity"]]
        operators: dict[str, list[str]] = {}
        for each in group:
            name = f"{each['domain']}.{each['operator']}" if each["operator"] else each["domain"]
            operators.setdefault(name, []).extend([str(each["version"])] if each["version"] else [])
        names = [f"{name} {', '.join(versions)}".strip() for name, versions in operators.items()]
        places = [*dict.fromkeys(each["place"] for each in group if each["place"])]
        rows.append(
            [
                words_cell(word, first["rule"], kind=kind),
                Cell(first["message"]),
                lines_cell(names, "operators"),
                Cell(first["requires"] if first["requires"] != NONE else ""),
                lines_cell(places, "places", 1),
                Cell(f"approved: {first['approved']}" if first["approved"] else first["why"]),
                Cell(first["help"]),
            ]
        )
    return rows
