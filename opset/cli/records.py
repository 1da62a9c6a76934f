"""The reports on models, one on each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeVar

from opset.cli import output
from opset.cli.inputs import STREAM, name_input
from opset.errors import Finding, FindingList, NodeLocation, NodeReference, safe_text

Result = TypeVar("Result")


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
