"""Output of every verb: the product as text or JSON on stdout, errors on stderr."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import IO, Any

import click

from opset.cli.words import Words
from opset.errors import SHOWN, Finding, FindingList, NodeLocation, OpsetError, escape_text, safe_text
from opset.opsets.faults import format_traceback
from opset.plain_text import fit_lines, style_text

_BATCH = 10_000  # parts of JSON that are written at once
UNMAPPED = ("failed to map segment", "annot allocate memory")
"""Parts of the messages of the loader and the system if there is no memory for a library."""
LISTED = "listed"
"""The key of a list that is a verb's whole product."""
SCHEMA_VERSION = 1
"""The first entry of every JSON object that is written: it rises when a key is removed or gets another meaning."""
format_option = click.option(
    "--format", "form", type=Words(["text", "json"]), default="text", help="Form of the output."
)

FINDINGS_FORMATS = ("sarif", "github", "junit")
"""The forms of reports with findings besides text and JSON, which opset/cli/findings_formats.py writes."""
findings_format_option = click.option(
    "--format",
    "form",
    type=Words(["text", "json", *FINDINGS_FORMATS]),
    default="text",
    help="Form of the output.",
)
"""The option of verbs that find faults."""


def write_product(report: object, text: Callable[[], Iterable[str]], form: str, stream: IO[str] | None = None) -> None:
    """Write a verb's product to stdout or another stream: a report as JSON, or the lines that `text` gives.

    A list is the value of the key LISTED in JSON.
    """
    stream = stream or sys.stdout
    if form == "text":
        stream.writelines(f"{line}\n" for line in text())
        return
    document = json_object(report) if is_dataclass(report) else _json_value(report)
    if not isinstance(document, dict):
        document = {LISTED: document}
    write_json({"schema_version": SCHEMA_VERSION, **document}, stream)


def write_json(document: object, stream: IO[str] | None = None) -> None:
    """Write a document as JSON to stdout or another stream."""
    stream = stream or sys.stdout
    # With everything beyond ASCII and all control characters escaped, it is safe on a terminal too.
    parts = _ENCODER.iterencode(document)
    while batch := list(islice(parts, _BATCH)):  # the whole text may be many times as large as the data
        stream.write("".join(batch).replace("\x7f", "\\u007f"))
    stream.write("\n")


def document_of(report: object) -> dict[str, Any]:
    """Return a report as `--format json` prints it, as plain data."""
    document = json_object(report) if is_dataclass(report) else _json_value(report)
    plain: dict[str, Any] = json.loads(_ENCODER.encode(document))
    return {"schema_version": SCHEMA_VERSION, **plain}


def pretty_text(report: object) -> str:
    """Return a report as JSON for readers, without the version of its form."""
    return _ENCODER.encode(json_object(report)).replace("\x7f", "\\u007f")


def json_text(report: object) -> str:
    """Return a report as the JSON of a file that has a `format` of its own."""
    return json.dumps(json_object(report), indent=1, default=json_object) + "\n"


def json_object(report: object) -> dict[str, object] | str:
    """Return a report as a JSON object, in which dataclasses stay as they are until the encoder reaches them.

    Each field of a dataclass has its name as its key, or the `key` of its metadata; with the key "", its own fields
    stand in its place. A field is left out while it has its default, if it has one. Findings are followed by `omitted`,
    the number of those that were left out. Anything but a dataclass is text.
    """
    if not is_dataclass(report):
        return escape_text(report)
    data: dict[str, object] = {}
    for each in fields(report):
        value = getattr(report, each.name)
        key = each.metadata.get("key", each.name)
        if value == each.default:  # no value equals MISSING
            continue
        if not key and value is not None:
            data |= json_object(value)  # type: ignore[arg-type]
        elif key:
            data[key] = _json_value(value)
        if isinstance(value, FindingList):
            data["omitted"] = value.omitted
    return data


_ENCODER = json.JSONEncoder(indent=2, default=json_object, allow_nan=False)


def _json_value(value: object) -> object:
    """Return a value of a report as JSON can hold it: numbers that are not finite as text, named tuples as objects."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        data = value._asdict()
        if isinstance(value, Finding):
            data["help"] = value.advice
            if isinstance(value.place, NodeLocation):
                data["at"] = value.place.at
        value = data
    if isinstance(value, Mapping):
        return {key: _json_value(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [*map(_json_value, value)]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def write_errors(findings: FindingList | OpsetError, stream: IO[str] | None = None) -> None:
    """Write findings in the layout of errors, on stderr or another stream, with the command that explains their codes.

    Nodes that are refused for the same reason are one entry with their number. Only the first entries are written, and
    the number of the others.
    """
    listed = findings.finding_list if isinstance(findings, OpsetError) else findings
    stream = stream or sys.stderr
    if stream is sys.stderr:
        sys.stdout.flush()
    kinds = listed.group_by_kind()
    for finding in kinds[:SHOWN]:
        head, *parts = str(finding).split("\n")
        label, bracket, message = head.partition("] ")
        rest = "".join(f"\n{line}" for line in fit_lines(parts, stream, hang=" " * 8))
        color = "red" if finding.severity == "error" else "yellow"
        stream.write(f"{style_text(label + bracket.rstrip(), color, stream)} {message}{rest}\n")
    if (more := max(len(kinds) - SHOWN, 0) + listed.omitted) > 0:
        stream.write(f"… and {more:,} more\n")
    codes = " ".join(dict.fromkeys(finding.code for finding in listed))
    stream.write(style_text(f"more: opset explain {codes}", "dim", stream) + "\n")


def shortage(error: BaseException) -> Finding | None:
    """Return the finding for an exception that a lack of memory caused, at the import of a package, too; else None."""
    cause: BaseException | None = error
    finding = None
    while cause is not None:
        unmapped = isinstance(cause, ImportError | OSError) and any(each in str(cause) for each in UNMAPPED)
        if unmapped or isinstance(cause, MemoryError):
            why = safe_text(cause, 200) if unmapped else ""
            help = "allow the process more, or use fewer processes: ulimit -v, -j 1"
            finding = Finding("U106", "there is not enough memory", why=why, help=help)
        cause = cause.__cause__ or cause.__context__
    return finding


def internal_error(error: BaseException) -> str:
    """Return the line for an error that no input should cause; `--debug` writes the traceback."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    line = (
        f"opset: internal error: {type(error).__name__}: {safe_text(error)[:300]}{where}; please report it with the "
        "command and, if you may share it, the model (--debug shows where it happened)"
    )
    return format_traceback(error) + line
