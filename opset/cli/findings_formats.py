"""Findings in the forms that other programs show: SARIF 2.1.0, workflow commands of GitHub, JUnit XML.

A finding has the same fingerprint wherever the model lies, so that programs can tell new findings from old ones.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Callable, Iterable
from typing import IO, Any
from urllib.parse import quote as quote_uri

from opset import __version__
from opset.cli.batch_reports import BatchReport
from opset.cli.output import FINDINGS_FORMATS
from opset.cli.records import ModelReport
from opset.cli.report_streams import ReportStream
from opset.errors import CODES, Finding, FindingList, NodeLocation, escape_text

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


_POSITION = re.compile(r"(?:^|:)([0-9]{1,9})(?::([0-9]{1,9}))?$", re.ASCII)


class SarifStream:
    """The findings of all models as a SARIF log (OASIS SARIF 2.1.0): one run, a result for each finding."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._codes: dict[str, int] = {}
        self._has_results = False
        self._succeeded = True

    def begin(self) -> None:
        """Write the beginning of the log and of its run."""
        head = {"$schema": SARIF_SCHEMA, "version": "2.1.0"}
        self._stream.write(f'{json.dumps(head)[:-1]}, "runs": [{{"columnKind": "unicodeCodePoints", "results": [')

    def add(self, report: ModelReport[Any], data: str) -> None:
        """Write the findings on a model."""
        self._succeeded &= not report.internal_error
        for finding in report.errors:
            number = self._codes.setdefault(finding.code, len(self._codes))
            result = json.dumps(_sarif_result(report, finding, number))
            self._stream.write(f"{',' if self._has_results else ''}\n{result}")
            self._has_results = True

    def end(self, whole: BatchReport) -> None:
        """Write the rules that were broken, and whether all models could be examined."""
        rules = [
            {
                "id": code,
                "shortDescription": {"text": CODES.get(code, code)},
                "help": {"text": f"opset explain {code}"},
                "defaultConfiguration": {"level": Finding(code, "").severity},
            }
            for code in self._codes
        ]
        driver = {"name": "opset", "version": __version__, "rules": rules}
        rest = {"tool": {"driver": driver}, "invocations": [{"executionSuccessful": self._succeeded}]}
        self._stream.write(f"\n], {json.dumps(rest)[1:]}]}}\n")


def _sarif_result(report: ModelReport[Any], finding: Finding, rule: int) -> dict[str, Any]:
    """Return one finding as a result of SARIF."""
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": quote_uri(_path(report.input).encode("utf-8", "surrogateescape"))}
        }
    }
    if position := _position(finding, report.input):
        location["physicalLocation"]["region"] = dict(zip(("startLine", "startColumn"), position, strict=False))
    if finding.place:
        logical: dict[str, Any] = {"fullyQualifiedName": escape_text(finding.place)}
        if isinstance(finding.place, NodeLocation):
            logical |= {"name": escape_text(finding.place.at.node), "kind": "node"}
            logical["properties"] = {"op_type": escape_text(finding.place.at.op_type), "index": finding.place.at.index}
        location["logicalLocations"] = [logical]
    return {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": finding.severity,
        "message": {"text": _message(finding)},
        "locations": [location],
        "partialFingerprints": {"finding/v1": fingerprint(finding)},
    }


class GithubStream:
    """The findings of all models as workflow commands of GitHub, which shows them beside the files."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def begin(self) -> None:
        """Write nothing: each finding stands for itself."""

    def add(self, report: ModelReport[Any], data: str) -> None:
        """Write the findings on a model."""
        for finding in report.errors:
            place = f"{finding.place}: " if finding.place else ""
            title = f"{finding.code} {CODES.get(finding.code, '')}"
            text = _command_text(place + _message(finding))
            path = finding.file or report.input
            file = _command_text(_path(path), ":,")
            where = "".join(f",{name}={n}" for name, n in zip(("line", "col"), _position(finding, path), strict=False))
            self._stream.write(f"::{finding.severity} file={file}{where},title={_command_text(title, ':,')}::{text}\n")

    def end(self, whole: BatchReport) -> None:
        """Write nothing more."""


class JunitStream:
    """The findings of all models as JUnit XML: a suite for each model, in which each error is a failed test.

    Warnings do not fail; they are in the output of the model's one test that passes.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def begin(self) -> None:
        """Write the beginning of the document."""
        self._stream.write('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>')

    def add(self, report: ModelReport[Any], data: str) -> None:
        """Write the suite of a model."""
        from xml.etree import ElementTree  # the other forms do without

        name = _xml_text(_path(report.input))
        errors = [each for each in report.errors if each.severity == "error"]
        counts = {"tests": len(errors) or 1, "failures": len(errors), "errors": int(bool(report.internal_error))}
        suite = ElementTree.Element("testsuite", {"name": name, **{key: f"{n}" for key, n in counts.items()}})
        for finding in errors:
            title = _xml_text(f"{finding.code} {finding.place}")
            case = ElementTree.SubElement(suite, "testcase", classname=name, name=title)
            message = _xml_text(finding.message)
            failure = ElementTree.SubElement(case, "failure", type=finding.code, message=message)
            failure.text = _xml_text(str(finding))
        if not errors:
            case = ElementTree.SubElement(suite, "testcase", classname=name, name=report.status)
            if report.internal_error:
                ElementTree.SubElement(case, "error").text = _xml_text(report.internal_error)
            if report.errors:
                ElementTree.SubElement(case, "system-out").text = _xml_text("\n".join(map(str, report.errors)))
        ElementTree.indent(suite, level=1)
        self._stream.write(f"\n  {ElementTree.tostring(suite, encoding='unicode')}")

    def end(self, whole: BatchReport) -> None:
        """Write the end of the document."""
        self._stream.write("\n</testsuites>\n")


_KINDS: tuple[Callable[[IO[str]], ReportStream], ...] = (SarifStream, GithubStream, JunitStream)
STREAMS = dict(zip(FINDINGS_FORMATS, _KINDS, strict=True))
"""What writes the findings of models in each of the forms."""


def write_findings(findings: Iterable[Finding], form: str, stream: IO[str], about: str = "") -> None:
    """Write findings in one of these forms, each at its file, at `about`, or without that at the file in its place.

    `about` is the file that was examined, which has a suite in JUnit XML if nothing was found, too.
    """
    files: dict[str, FindingList] = {about: FindingList()} if about else {}
    for finding in findings:
        files.setdefault(finding.file or about or _file_of_place(finding.place), FindingList()).append(finding)
    written = STREAMS[form](stream)
    written.begin()
    for file, found in files.items():
        failed = any(each.severity == "error" for each in found)
        status = "failed" if failed else "warned" if found else "passed"
        written.add(ModelReport(file, None, None, found, status, int(failed)), "")
    written.end(BatchReport((), {}))


def _file_of_place(place: str) -> str:
    """Return the file of a place such as schemas/com.acme/Scale.yaml:3:5."""
    return _POSITION.sub("", place)


def _position(finding: Finding, file: str) -> tuple[int, ...]:
    """Return the line and column of a place in a file, such as 3:5 or Scale.yaml:3:5, or the line of Scale.yaml:3.

    Returns () if the place is in another file, or is none of a line.
    """
    found = None if isinstance(finding.place, NodeLocation) else _POSITION.search(finding.place)
    if found is None or found.string[: found.start()] not in ("", file):
        return ()
    return tuple(int(each) for each in found.groups() if each)


def fingerprint(finding: Finding) -> str:
    """Return the mark that tells a finding from all others of its model: a digest of its code, place and message."""
    import hashlib  # which loads OpenSSL: GitHub's form does without

    return hashlib.sha256("\0".join((finding.code, finding.place, finding.message)).encode()).hexdigest()[:32]


def _message(finding: Finding) -> str:
    """Return a finding as one line: what, why and help."""
    parts = [finding.message, finding.why, finding.advice]
    return escape_text("; ".join(part for part in parts if part))


def _path(path: str) -> str:
    """Return a path as services name files: with slashes, and without "./" before it."""
    return posixpath.normpath(path.replace(os.sep, "/"))


def _command_text(text: str, marks: str = "") -> str:
    """Return a text for a workflow command: percent signs, ends of lines and, in a property, `marks` are escaped."""
    shown = escape_text(text)
    for mark in "%" + marks:
        shown = shown.replace(mark, f"%{ord(mark):02X}")
    return shown


def _xml_text(text: str) -> str:
    """Return a text with the characters escaped that XML cannot hold; ends of lines stay."""
    return "\n".join(escape_text(line) for line in text.split("\n"))
