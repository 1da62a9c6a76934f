"""Output of every verb: the product as text or JSON on stdout, errors on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import IO, Any

import click

from opset.errors import SHOWN, Finding, FindingList, OpsetError, escape_text, safe_text
from opset.opsets.faults import format_traceback
from opset.plain_text import style_text

_BATCH = 10_000  # parts of JSON that are written at once
UNMAPPED = ("failed to map segment", "annot allocate memory")
"""Parts of the messages of the loader and the system if there is no memory for a library."""
format_option = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="Form of the output."
)


def write_product(data: Any, text: Callable[[], Sequence[str]], form: str, stream: IO[str] | None = None) -> None:
    """Write a verb's product to stdout or another stream: `data` as JSON, or the lines that `text` gives."""
    stream = stream or sys.stdout
    if form == "text":
        stream.writelines(f"{line}\n" for line in text())
        return
    # With everything beyond ASCII and all control characters escaped, it is safe on a terminal too.
    encoder = json.JSONEncoder(indent=2, default=escape_text, allow_nan=False)
    parts = encoder.iterencode(data)
    while batch := list(islice(parts, _BATCH)):  # the whole text may be many times as large as the data
        stream.write("".join(batch).replace("\x7f", "\\u007f"))
    stream.write("\n")


def findings_data(findings: FindingList | OpsetError) -> dict[str, Any]:
    """Return findings as plain data: `errors` has the first ones, `omitted` is the number of others."""
    listed = findings.finding_list if isinstance(findings, OpsetError) else findings
    return {"errors": [finding._asdict() for finding in listed], "omitted": listed.omitted}


def findings_of(data: Mapping[str, Any]) -> FindingList:
    """Return the findings of `findings_data`."""
    return FindingList((Finding(**each) for each in data["errors"]), data["omitted"])


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
        head, newline, rest = str(finding).partition("\n")
        label, bracket, message = head.partition("] ")
        stream.write(f"{style_text(label + bracket.rstrip(), 'red', stream)} {message}{newline}{rest}\n")
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
