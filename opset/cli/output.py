"""Output of every verb: the product as text or JSON on stdout, errors on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import IO, Any

import click

from opset.errors import Finding, printable
from opset.text import styled

format_option = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="Form of the output."
)


def write_product(data: Any, text: Callable[[], Sequence[str]], form: str, stream: IO[str] | None = None) -> None:
    """Write a verb's product to stdout or another stream: `data` as JSON, or the lines that `text` gives."""
    stream = stream or sys.stdout
    # JSON escapes every control character and everything beyond ASCII, so it is safe on a terminal too.
    lines = [json.dumps(data, indent=2, default=printable)] if form == "json" else text()
    stream.write("".join(f"{line}\n" for line in lines))


def write_errors(findings: Iterable[Finding], stream: IO[str] | None = None) -> None:
    """Write findings in the layout of errors, on stderr or another stream, and where to read about their codes."""
    findings = tuple(findings)
    stream = stream or sys.stderr
    if stream is sys.stderr:
        sys.stdout.flush()
    for finding in findings:
        head, newline, rest = str(finding).partition("\n")
        label, bracket, message = head.partition("] ")
        stream.write(f"{styled(label + bracket.rstrip(), 'red', stream)} {message}{newline}{rest}\n")
    codes = " ".join(dict.fromkeys(finding.code for finding in findings))
    stream.write(styled(f"more: opset explain {codes}", "dim", stream) + "\n")


def internal_error(error: BaseException) -> str:
    """Return the line for an error that no input should cause; with OPSET_DEBUG=1, the traceback before it."""
    import traceback

    if isinstance(error, MemoryError):
        return "opset: there is not enough memory"
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    line = (
        f"opset: internal error: {type(error).__name__}: {printable(error)[:300]}{where}; please report it with the "
        "command and, if you may share it, the model (OPSET_DEBUG=1 shows where it happened)"
    )
    if os.environ.get("OPSET_DEBUG") == "1":
        line = "".join(traceback.format_exception(error)) + line
    return line
