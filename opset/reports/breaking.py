"""The page of `opset breaking`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from opset.reports.frame import BAD, GOOD, QUIET, WARN, Cell, Page, Part, first_rows, lines_cell, page_text, words_cell

_SEVERITIES: Final = {"ERR": ("break", BAD), "WARN": ("warning", WARN), "INFO": ("notice", QUIET)}


def breaking_page(document: Mapping[str, Any], command: str = "") -> str:
    """Return the page of a comparison of two states of schemas, made of its report as JSON."""
    counts = document["counts"]
    words = [f"{counts[key]:,} {noun}{'' if counts[key] == 1 else 's'}" for key, (noun, _) in _SEVERITIES.items()]
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
    rows = _rows(document)
    head = ["finding", "operator", "versions", "what changed", "requires", "where", "why", "help"]
    parts = [Part("findings", "Findings", tables=[first_rows("What changed, the gravest first", head, rows)])] * bool(
        rows
    )
    parts += [Part("notes", "Notes", lines=document["notes"])] if document["notes"] else []
    title = f"Breaking changes: {document['compared']}"
    return page_text(Page(title, verdict, [each for each in facts if each[1]], parts), document)


def _rows(document: Mapping[str, Any]) -> list[list[Cell]]:
    """Return a row for each finding; equal findings at several versions of an operator are one."""
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for each in document["findings"]:
        parts = ("rule", "severity", "requires", "domain", "operator", "message", "why", "approved")
        groups.setdefault(tuple(each[part] for part in parts), []).append(each)
    rows = []
    for group in groups.values():
        first = group[0]
        word, kind = ("approved", GOOD) if first["approved"] else _SEVERITIES[first["severity"]]
        name = f"{first['domain']}.{first['operator']}" if first["operator"] else first["domain"]
        versions = ", ".join(str(each["version"]) for each in group if each["version"])
        why = f"approved: {first['approved']}" if first["approved"] else first["why"]
        places = [*dict.fromkeys(each["place"] for each in group if each["place"])]
        rows.append(
            [
                words_cell(word, first["rule"], kind=kind),
                Cell(name),
                Cell(versions),
                Cell(first["message"]),
                Cell(first["requires"]),
                lines_cell(places, "places"),
                Cell(why),
                Cell(first["help"]),
            ]
        )
    return rows
