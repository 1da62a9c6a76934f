"""The reports on models: on one model, and on all models of a call together."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeVar

from opset.cli import output
from opset.cli.inputs import STREAM, name_input
from opset.errors import CODES, Finding, FindingList, NodeLocation, NodeReference, safe_text
from opset.plain_text import count_text
from opset.schemas.names import qualified_name

Result = TypeVar("Result")
MOST_TOTALS = 1000
"""Kinds of findings that are summed; a file may cause any number."""


@dataclass(frozen=True, repr=False)
class ModelReport(Generic[Result]):
    """The report on one model: its path, the path that was written, the result, and the errors.

    Without a result, the model failed.
    """

    input: str
    output: str | None
    result: Result | None = field(metadata={"key": ""})
    errors: FindingList
    status: str
    exit_status: int
    internal_error: str = ""

    def __repr__(self) -> str:
        return f"<ModelReport {brief_line(self, View(), {})}>"


class FindingTotal(NamedTuple):
    """Findings with one code and reason, on one operator: how many, and in how many models."""

    operator: str
    code: str
    why: str
    help: str
    findings: int
    models: int


@dataclass(frozen=True)
class BatchReport:
    """The reports on all models of a call, how many ended with each status, and the sums of findings and notes."""

    models: Sequence[ModelReport[Any]]
    summary: Mapping[str, int]
    notes: Sequence[str] = ()
    totals: Sequence[FindingTotal] = ()


def no_detail(result: object) -> str:
    """Return nothing: a verb says no more about a result than its status."""
    return ""


class View(NamedTuple):
    """The parts of a record that are asked for: a line, JSON, the result itself.

    The JSON is for readers with `indented`, else one line; `detail` says more of a result on the line about it.
    """

    line: bool = False
    data: bool = False
    indented: bool = False
    result: bool = False
    detail: Callable[[Any], str] = no_detail


class Record(NamedTuple):
    """The outcome for a model: its report, and if they were asked for, a line about it, and the report as JSON."""

    report: ModelReport[Any]
    line: str = ""
    data: str = ""


def make_record(report: ModelReport[Any], view: View, words: Mapping[str, str]) -> Record:
    """Return the record of a report; `words` name each status."""
    line = brief_line(report, view, words) if view.line else ""
    data = ""
    if view.data:
        data = output.pretty_text(report) if view.indented else _line_of_json(report)
    return Record(report if view.result else replace(report, result=None), line, data)


def _line_of_json(report: ModelReport[Any]) -> str:
    """Return a report as one line of JSON."""
    return _ENCODER.encode(output.json_object(report)).replace("\x7f", "\\u007f")


_ENCODER = json.JSONEncoder(default=output.json_object, allow_nan=False)


def brief_line(report: ModelReport[Any], view: View, words: Mapping[str, str]) -> str:
    """Return the one line about one of many models: its status, a detail, the first error, the path of its result."""
    parts = [words.get(report.status, report.status)]
    if report.result is not None and (detail := view.detail(report.result)):
        parts.append(detail)
    if report.internal_error:
        parts.append(report.internal_error)
    elif report.errors:
        first = report.errors[0]
        more = len(report.errors) + report.errors.omitted - 1
        parts.append(f"{first.code} {safe_text(first.message)}{f' and {more:,} more' if more else ''}")
    if report.output not in (None, STREAM):
        parts.append(f"wrote {safe_text(report.output)}")
    return f"{name_input(report.input)}: {', '.join(parts)}"


def report_of_json(data: Mapping[str, Any], revive: Callable[[Mapping[str, Any]], Any] | None) -> ModelReport[Any]:
    """Return the report that JSON holds, with the result that `revive` makes of it, None without that."""
    findings = FindingList(map(finding_of_json, data["errors"]), data["omitted"])
    result = revive(data) if revive is not None and data["status"] != "failed" else None
    internal = data.get("internal_error", "")
    return ModelReport(data["input"], data["output"], result, findings, data["status"], data["exit_status"], internal)


def finding_of_json(data: Mapping[str, Any]) -> Finding:
    """Return the finding that JSON holds."""
    finding = Finding(**{name: data[name] for name in Finding._fields})
    return finding._replace(place=NodeLocation(finding.place, NodeReference(**data["at"]))) if "at" in data else finding


class Totals:
    """The sums of findings over models, by operator, code and reason."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, ...], FindingTotal] = {}

    def add(self, findings: Iterable[Finding]) -> None:
        """Add the findings on one model."""
        seen = set()
        for finding in findings:
            at = getattr(finding.place, "at", None)
            operator = qualified_name(at.domain, at.op_type) if at is not None else ""
            key = (operator, finding.code, *finding.kind[2:4])
            total = self._sums.get(key)
            if total is None:
                if len(self._sums) >= MOST_TOTALS:
                    continue
                why, help = (finding.why, finding.help) if finding.kind else ("", "")
                total = FindingTotal(operator, finding.code, why, help, 0, 0)
            self._sums[key] = total._replace(findings=total.findings + 1, models=total.models + (key not in seen))
            seen.add(key)

    def rows(self) -> list[FindingTotal]:
        """Return the sums: most models first, then most findings."""
        # The name of an operator is bytes if it is no UTF-8.
        return sorted(
            self._sums.values(), key=lambda each: (-each.models, -each.findings, str(each.operator), each.code)
        )


def total_lines(totals: Sequence[FindingTotal], most: int) -> list[str]:
    """Return the lines about sums of findings, the first of many."""
    lines = []
    for each in totals[:most]:
        name = f"{safe_text(each.operator)}: " if each.operator else ""
        counts = f"{count_text(each.findings, 'finding')} in {count_text(each.models, 'model')}"
        lines.append(f"{each.code} {name}{counts}: {safe_text(each.why) or CODES.get(each.code, '')}")
        lines += [f"  help: {safe_text(each.help)}"] if each.help else []
    return [*lines, f"… and {len(totals) - most:,} more"] if len(totals) > most else lines
