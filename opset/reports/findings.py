"""Findings as a table: equal ones are a row, with the places, and places that differ in numbers are one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from opset.description.structure.folding import fold_names
from opset.errors import CODES, Finding
from opset.reports.frame import BAD, WARN, Cell, ReportPart, first_rows, lines_cell, number_cell, words_cell
from opset.schemas.names import qualified_name

_QUOTED: Final = re.compile(r"'[^']*'")
SEVERITIES: Final = {"error": BAD, "warning": WARN}


def finding_parts(models: Sequence[Mapping[str, Any]], title: str) -> Iterator[ReportPart]:
    """Yield the section on the findings of reports, with a row for each group of like ones; nothing if there are none.

    `models` are the reports on models as JSON, with findings in "errors". `title` is the title of the section.
    """
    several = len(models) > 1
    groups = [*group_findings(models)]
    omitted = sum(model.get("omitted", 0) for model in models)
    if not groups:
        return
    rows = []
    for group in groups:
        first = group[0][1]
        severity = Finding(first["code"], "").severity
        places = [each["place"] or each["file"] for _, each in group]
        counts = [number_cell(f"{len({number for number, _ in group}):,}")] if several else []
        rows.append(
            [
                words_cell(severity, first["code"], kind=SEVERITIES[severity]),
                Cell(operator_of(first)),
                number_cell(f"{len(group):,}"),
                *counts,
                lines_cell([*map(str, fold_names(places))], "places"),
                Cell(first["message"], lines=[first["why"]] if first["why"] else []),
                Cell(first["help"]),
            ]
        )
    head = ["finding", "operator", "times", *(["models"] if several else []), "where", "what and why", "help"]
    table = first_rows(f"{title} by kind", head, rows)
    if omitted:
        table = table._replace(more=f"{table.more} … and {omitted:,} more findings, which the report does not list")
    codes = dict.fromkeys(first["code"] for ((_, first), *_) in groups)
    lines = [f"{code}: {CODES[code]}. More: opset explain {code}" for code in codes if code in CODES]
    yield ReportPart("findings", title, tables=[table], lines=lines)


def group_findings(models: Iterable[Mapping[str, Any]]) -> Iterator[list[tuple[int, Mapping[str, Any]]]]:
    """Yield groups of findings that differ only in quoted names and in their places.

    A finding comes as (position of its report in `models`, the finding as JSON). `models` are the reports, with
    findings in "errors".
    """
    groups: dict[tuple[str, ...], list[tuple[int, Mapping[str, Any]]]] = {}
    for number, model in enumerate(models):
        for each in model["errors"]:
            key = (each["code"], *(_QUOTED.sub("''", each[part]) for part in ("message", "why", "help")))
            groups.setdefault(key, []).append((number, each))
    yield from groups.values()


def operator_of(finding: Mapping[str, Any]) -> str:
    """Return the operator of the node that a finding is about, "ai.onnx.ml.Scaler"; "" if it is about no node.

    `finding` is the finding as JSON. The domain ai.onnx is not named.
    """
    at = finding.get("at")
    if at is None:
        return ""
    return qualified_name(at["domain"], at["op_type"])
