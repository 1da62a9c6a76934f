"""Findings in the forms that other programs show: SARIF 2.1.0, workflow commands of GitHub, JUnit XML.

A finding has the same fingerprint wherever the model lies, so that programs can tell new findings from old ones.
"""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as quote_uri
from xml.etree import ElementTree

from opset import __version__
from opset.errors import CODES, Finding, escape_text

if TYPE_CHECKING:
    from opset.cli.batch import BatchReport, ModelReport

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_lines(batch: BatchReport) -> Iterator[str]:
    """Yield the findings of all models as a SARIF log (OASIS SARIF 2.1.0): one run, a result for each finding."""
    found = [(report, finding) for report in batch.models for finding in report.errors]
    codes = sorted({finding.code for _, finding in found})
    rules = [
        {
            "id": code,
            "shortDescription": {"text": CODES[code]},
            "help": {"text": f"opset explain {code}"},
            "defaultConfiguration": {"level": Finding(code, "").severity},
        }
        for code in codes
    ]
    results = [_sarif_result(report, finding, codes.index(finding.code)) for report, finding in found]
    driver = {"name": "opset", "version": __version__, "rules": rules}
    run: dict[str, Any] = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    run["invocations"] = [{"executionSuccessful": not any(report.internal_error for report in batch.models)}]
    log = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    yield json.dumps(log, indent=1).replace("\x7f", "\\u007f")


def _sarif_result(report: ModelReport[Any], finding: Finding, rule: int) -> dict[str, Any]:
    """Return one finding as a result of SARIF."""
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": quote_uri(_path(report.input).encode("utf-8", "surrogateescape"))}
        }
    }
    if finding.place:
        location["logicalLocations"] = [{"fullyQualifiedName": escape_text(finding.place)}]
    return {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": finding.severity,
        "message": {"text": _message(finding)},
        "locations": [location],
        "partialFingerprints": {"finding/v1": fingerprint(finding)},
    }


def github_lines(batch: BatchReport) -> Iterator[str]:
    """Yield the findings of all models as workflow commands of GitHub, which shows them beside the files."""
    for report in batch.models:
        for finding in report.errors:
            place = f"{finding.place}: " if finding.place else ""
            title = f"{finding.code} {CODES[finding.code]}"
            text = _command_text(place + _message(finding))
            file = _command_text(_path(report.input), ":,")
            yield f"::{finding.severity} file={file},title={_command_text(title, ':,')}::{text}"


def junit_lines(batch: BatchReport) -> Iterator[str]:
    """Yield the findings of all models as JUnit XML: a suite for each model, in which each error is a failed test.

    Warnings do not fail; they are in the output of the model's one test that passes.
    """
    suites = ElementTree.Element("testsuites")
    for report in batch.models:
        name = _xml_text(_path(report.input))
        errors = [each for each in report.errors if each.severity == "error"]
        counts = {"tests": len(errors) or 1, "failures": len(errors), "errors": int(bool(report.internal_error))}
        suite = ElementTree.SubElement(
            suites, "testsuite", {"name": name, **{key: f"{n}" for key, n in counts.items()}}
        )
        for finding in errors:
            title = _xml_text(f"{finding.code} {finding.place}")
            case = ElementTree.SubElement(suite, "testcase", classname=name, name=title)
            message = _xml_text(finding.message)
            failure = ElementTree.SubElement(case, "failure", type=finding.code, message=message)
            failure.text = _xml_text(str(finding))
        if not errors:
            case = ElementTree.SubElement(suite, "testcase", classname=name, name="check")
            if report.internal_error:
                ElementTree.SubElement(case, "error").text = _xml_text(report.internal_error)
            if report.errors:
                ElementTree.SubElement(case, "system-out").text = _xml_text("\n".join(map(str, report.errors)))
    ElementTree.indent(suites)
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield ElementTree.tostring(suites, encoding="unicode")


FORMATS: Mapping[str, Callable[[BatchReport], Iterable[str]]] = {
    "sarif": sarif_lines,
    "github": github_lines,
    "junit": junit_lines,
}
"""The forms of reports with findings besides text and JSON."""


def fingerprint(finding: Finding) -> str:
    """Return what tells a finding from all others of its model: a digest of its code, place and message."""
    return hashlib.sha256("\0".join((finding.code, finding.place, finding.message)).encode()).hexdigest()[:32]


def _message(finding: Finding) -> str:
    """Return a finding as one line: what, why and help."""
    parts = [finding.message, finding.why, finding.help]
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
