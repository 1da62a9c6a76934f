"""`opset verify`: whether two models compute the same, on inputs that suit their operators."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from opset.budget import Budget, Limits
from opset.cli import output, supervision
from opset.cli.batch import load_input
from opset.cli.configuration import folders_for, hooks_option, schemas_option
from opset.cli.findings_formats import write_findings
from opset.cli.inputs import STREAM, numbers_option, parse_input, roots_option
from opset.cli.limits import limits_options
from opset.cli.report_options import page_option
from opset.cli.report_streams import call_text
from opset.cli.verification import RUNTIMES, Verifying, tolerance_options
from opset.cli.words import Words
from opset.errors import Finding, UsageError, safe_text
from opset.reports.files import write_page
from opset.verification.report import Verification, verification_lines

_NO_LIMIT = 1e8
"""Seconds that a verification may take without --timeout."""


@dataclass(frozen=True)
class VerificationReport:
    """The verification of two files, and the exit status."""

    verification: Verification = field(metadata={"key": ""})
    exit_status: int


def _add_tolerances(command: Any) -> Any:
    """Return the verb with the options for inputs and tolerances."""
    for option in reversed(tolerance_options):
        command = option(command)
    return command


@click.command(no_args_is_help=True)
@click.argument("before")
@click.argument("after")
@numbers_option
@_add_tolerances
@click.option(
    "--with", "with_", type=Words(RUNTIMES), help="Use the installed runtime in place of the reference kernels."
)
@limits_options
@roots_option
@schemas_option
@hooks_option
@page_option
@click.option("-q", "--quiet", is_flag=True, help="Write no report, only errors.")
@output.findings_format_option
def command(
    before: str,
    after: str,
    dims: dict[str, int],
    data: tuple[str, ...],
    seeds: int | None,
    rtol: float | None,
    atol: float | None,
    with_: str | None,
    limits: Limits,
    roots: tuple[Path, ...],
    folders: tuple[Path, ...],
    allow_hooks: bool | None,
    page: str | None,
    quiet: bool,
    form: str,
) -> int:
    """Run two models on the same inputs, and compare their outputs.

    BEFORE and AFTER are files of models, also as text, or one of them - for stdin. Inputs and outputs belong
    together by name, else by position. Inputs that are not given by --data are drawn so that they suit the operators.
    The exit status is 1 if an output differs beyond the tolerance, or if nothing could be compared.
    """
    sources = parse_input(before), parse_input(after)
    if all(each.path == STREAM for each in sources):
        raise UsageError(Finding("U103", "only one of two models can come from stdin", help="name a file"))
    known = folders_for(folders, allow_hooks)
    registry = known.registry()
    known.note_left_out(quiet, "kernels.py")
    verifying = Verifying(True, data, seeds, rtol, atol, with_)

    def work(budget: Budget) -> int:
        models = [load_input(each, roots) for each in sources]
        report = verifying.verify(models[0], models[1], dims, limits, registry, (before, after))
        status = 0 if report.same else 1
        whole = VerificationReport(report, status)
        if page is not None:
            from opset.reports.verifications import verification_page  # which imports Jinja

            write_page(page, verification_page(output.document_of(whole), call_text()))
        if form in output.FINDINGS_FORMATS:
            write_findings(report.errors, form, sys.stdout, after)
        elif not quiet or form != "text":
            written = [] if page is None else [f"report: {safe_text(page)}"]
            output.write_product(whole, lambda: [*_lines(report), *written], form)
        if report.errors and (form == "text" or quiet):
            output.write_errors(report.errors)
        return status

    return supervision.run_in_bounds(work, limits, _NO_LIMIT)


def _lines(report: Verification) -> Iterator[str]:
    """Yield the report as lines of text."""
    yield f"{safe_text(report.before)}, {safe_text(report.after)}:"
    yield from verification_lines(report)
