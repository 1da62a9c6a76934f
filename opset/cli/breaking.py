"""`opset breaking`: the breaking changes between two states of schemas."""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from opset.budget import Budget, Limits
from opset.cli import output, supervision
from opset.cli.configuration import Folders, folders_for, folders_of, folders_option, hooks_option
from opset.cli.findings_formats import write_findings
from opset.cli.limits import limits_options
from opset.cli.report_options import page_option
from opset.cli.report_streams import call_text
from opset.cli.words import Words
from opset.errors import Finding, SchemaError, UsageError, safe_text
from opset.opsets.registry import Registry, default_registry
from opset.opsets.releases import RELEASES, Release, release
from opset.plain_text import style_text
from opset.reports.files import write_page
from opset.schemas.index import FOLDER
from opset.workflow.breaking.approvals import APPROVED_FILE, approve, parse_date, read_approvals
from opset.workflow.breaking.comparison import compare
from opset.workflow.breaking.documents import file_state
from opset.workflow.breaking.report import ERR, INFO, WARN, Break, markdown_lines, text_lines
from opset.workflow.breaking.revisions import revision_state
from opset.workflow.breaking.states import FUNCTIONS, State, folder_state, merge_states, release_state, standard_state

COLORS = {ERR: "red", WARN: "yellow", INFO: "dim", "approved": "green"}
HOOKS = FUNCTIONS
"""Python files that the examples of changed operators may run."""
KINDS = ("folder", "file", "release", "rev")
"""Kinds of older states, in the order in which they are tried; each is also a prefix: `rev:v1.2`."""


SECONDS = 300.0
"""Time that the examples of changed operators may take together, unless --timeout is given."""


@click.command(no_args_is_help=True)
@click.argument("against", metavar="REV|FOLDER|FILE|RELEASE")
@click.option("--locked", is_flag=True, help="Versions that the older lock.json does not hold may change.")
@click.option("--no-examples", is_flag=True, help="Do not run the examples of what changed.")
@click.option("--strict", is_flag=True, help="Warnings fail, too.")
@click.option(
    "--approved",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The breaks that are approved; approved.yaml of the schemas by default.",
)
@click.option("--today", metavar="DATE", help="The day on which approvals may have ended.")
@folders_option
@hooks_option
@page_option
@limits_options
@click.option(
    "--format",
    "form",
    type=Words(["text", "json", "markdown", "sarif", "github", "junit"]),
    default="text",
    help="Form of the output; markdown is for a pull request.",
)
def command(limits: Limits, **options: Any) -> int:
    """Report what breaks what was released: rules with codes, what each break needs, and how to mend it.

    The schemas are compared with those of a git revision, with a folder, the file of an operator or the JSON of opset
    docs, or with a release of ONNX. rev:, folder:, file: and release: say which it is. The exit status is 1 where
    something breaks, and 3 where the states could not be compared. The examples of what changed may take five minutes
    together, or --timeout.
    """
    return supervision.run_in_bounds(lambda budget: _compare_states(budget, **options), limits, SECONDS)


def _compare_states(
    budget: Budget,
    against: str,
    locked: bool,
    no_examples: bool,
    strict: bool,
    approved: Path | None,
    today: str | None,
    folders: Sequence[Path],
    allow_hooks: bool | None,
    page: str | None,
    form: str,
) -> int:
    """Compare two states within a budget, write the report, and return the exit status."""
    try:
        day = datetime.date.today() if today is None else parse_date(today)
    except ValueError:
        raise UsageError(Finding("U103", "--today is no day", help="write 2027-03-31")) from None
    configured = folders_of(tuple(folders), allow_hooks) if folders else folders_for((), allow_hooks)
    folders = [*configured.trusted, *configured.data] or [FOLDER]
    current = merge_states([folder_state(folder, "now") for folder in folders])
    older, partial = _older_state(against, folders, current)
    if partial:
        current = current.within(older.operators)
    if approved is not None and not os.path.isfile(approved):
        raise UsageError(Finding("U103", f"there is no file '{safe_text(approved)}'", help="--approved takes a file"))
    files = [approved] if approved is not None else [folder / APPROVED_FILE for folder in folders]
    approvals = [read_approvals(file) for file in files]
    wanted = not no_examples and not older.released
    registry = _registry_for_examples(configured, folders) if wanted else None
    notes = configured.note_left_out(True, *HOOKS) if wanted else []
    if wanted and registry is None:
        notes.append("no examples were run, since the folders declare operators of the standard once more")
    report = compare(older, current, partial=partial, locked=locked, registry=registry, budget=budget)
    report = replace(report, notes=(*report.notes, *notes))
    report = approve(
        report, [each for one, _ in approvals for each in one], [each for _, one in approvals for each in one], day
    )
    if page is not None:
        from opset.reports.breaking import breaking_page  # which imports Jinja

        write_page(page, breaking_page(output.document_of(report.data(strict)), call_text()))
    if form in output.FINDINGS_FORMATS:
        failing = (*report.breaks, *(report.warnings if strict else ()))
        write_findings(map(_finding_of, failing), form, sys.stdout)
    elif form == "markdown":
        sys.stdout.writelines(f"{line}\n" for line in markdown_lines(report, strict))
    else:
        output.write_product(
            report.data(strict),
            lambda: [
                *text_lines(report, lambda text, kind: style_text(text, COLORS[kind], sys.stdout)),
                *([] if page is None else [f"report: {safe_text(page)}"]),
            ],
            form,
        )
    return report.status(strict)


def _finding_of(broken: Break) -> Finding:
    """Return what breaks as a finding."""
    return Finding(broken.rule, f"{broken.title}: {broken.message}", broken.place, broken.why, broken.help)


def _registry_for_examples(known: Folders, named: Sequence[Path]) -> Registry | None:
    """Return the registry in which examples are run, None if the folders declare operators of the standard again."""
    if any(os.path.realpath(folder) == os.path.realpath(FOLDER) for folder in named):
        return default_registry()
    try:
        return known.registry()
    except SchemaError:
        return None


def _older_state(against: str, folders: Sequence[Path], current: State) -> tuple[State, bool]:
    """Return the older state of the folders, and whether it has only one operator."""
    kind, text = _split_kind(against, current)
    if kind == "release":
        # A copy of the standard's schemas is compared with this package's, since it may have been edited.
        standard = standard_state()
        keys = [key for key in standard.operators if key[0] in current.domains]
        return release_state(release(text), standard.within(keys) if keys else current), False
    if kind == "rev":
        return replace(merge_states([revision_state(folder, text, current) for folder in folders]), name=text), False
    if len(folders) > 1:
        help = "compare one folder at a time: --schemas DIR"
        raise UsageError(Finding("U103", f"{len(folders)} folders cannot be compared with one {kind}", help=help))
    if kind == "folder":
        return folder_state(Path(text), text), False
    return file_state(Path(text), current)


def _split_kind(against: str, current: State) -> tuple[str, str]:
    """Return the kind of an older state and its name: by its prefix, else the first of KINDS that exists."""
    prefix, colon, rest = against.partition(":")
    if colon and prefix in KINDS:
        return prefix, rest
    if os.path.isdir(against):
        return "folder", against
    if os.path.lexists(against):
        return "file", against
    standard = any(RELEASES[-1].opset_of(domain) for domain in current.domains)
    return ("release" if standard and _is_release(against) else "rev"), against


def _is_release(text: str) -> bool:
    """Whether a text is the version of a release of ONNX."""
    try:
        found: Release = release(text)
    except UsageError:
        return False
    return "." in text and bool(found)
