"""`opset check-contribution`: the checklist of an operator that is added or changed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from opset.budget import Budget, Limits
from opset.cli import output, supervision
from opset.cli.configuration import folders_for, folders_option, hooks_option
from opset.cli.findings_formats import write_findings
from opset.cli.limits import limits_options
from opset.cli.operators import operator_at
from opset.cli.words import Words
from opset.errors import Finding, UsageError, escape_text, safe_text
from opset.plain_text import style_text
from opset.workflow.contribution.checklist import (
    ChecklistItem,
    ContributionReport,
    ReviewedVersion,
    checklist,
    checklist_report,
    markdown_lines,
    relative_place,
    state_counts,
)
from opset.workflow.contribution.reviewed_version import MISSING, NOT_APPLICABLE, OPEN, PASSED, STATED

SECONDS = 300.0
"""Time that all examples may take together, unless --timeout is given."""
HOOKS = ("adapters.py", "inference.py", "kernels.py")
_STYLES = {MISSING: "red", OPEN: "yellow", STATED: "green", PASSED: "green"}


@click.command("check-contribution", no_args_is_help=True)
@click.argument("operators", nargs=-1, required=True, metavar="OP[@V]...")
@click.option("--domain", metavar="DOMAIN", help="Domain of the operators.")
@click.option(
    "--state",
    "stated",
    multiple=True,
    metavar="POINT=TEXT",
    help="What you state on a point that no machine can judge. Repeatable.",
)
@folders_option
@hooks_option
@limits_options
@click.option(
    "--format",
    "form",
    type=Words(["text", "json", "markdown", *output.FINDINGS_FORMATS]),
    default="text",
    help="Form of the output.",
)
def command(
    operators: tuple[str, ...],
    domain: str | None,
    stated: tuple[str, ...],
    folders: tuple[Path, ...],
    allow_hooks: bool | None,
    limits: Limits,
    form: str,
) -> int:
    """Check what the standard asks of an operator that is added or changed, point by point.

    OP is Softmax or com.example.Scale, @V the operator at version V of its operator set, by default the newest. Each
    point is passed, missing, not applicable, or for you to state, as with --state model='…'. The exit status is 1 where
    a point is missing. --format markdown is for a pull request. All examples together may take five minutes, or
    --timeout.
    """
    known = folders_for(folders, allow_hooks)
    registry = known.registry()
    statements: dict[str, str] = {}
    for statement in stated:
        point, _, said = statement.partition("=")
        if not said.strip():
            help = "write the name of a point and what you state: --state model='a speech model that is public'"
            raise UsageError(Finding("U103", f"--state {safe_text(statement)} states nothing", help=help))
        statements[point] = said.strip()
    named_versions = [operator_at(registry, operator, domain) for operator in operators]
    schemas = [versions[-1] if schema is None else schema for versions, schema in named_versions]
    notes = known.note_left_out(form != "text", *HOOKS)

    def work(budget: Budget) -> int:
        candidates = [ReviewedVersion(registry, schema, budget) for schema in schemas]
        checklists = [(candidate, checklist(candidate, statements)) for candidate in candidates]
        return _write_checklists(checklists, notes, form)

    return supervision.run_in_bounds(work, limits, SECONDS)


def _write_checklists(
    checklists: Sequence[tuple[ReviewedVersion, Sequence[ChecklistItem]]], notes: Sequence[str], form: str
) -> int:
    """Write checklists, and return the exit status."""
    report = ContributionReport([checklist_report(*each) for each in checklists], tuple(notes))

    def lines() -> Sequence[str]:
        listed = [markdown_lines(*each) if form == "markdown" else _checklist_lines(*each) for each in checklists]
        return [line for index, each in enumerate(listed) for line in (*[""] * (index > 0), *each)]

    missing = [*_missing_points(checklists)]
    if form in output.FINDINGS_FORMATS:
        write_findings(missing, form, sys.stdout)
    else:
        output.write_product(report, lines, "json" if form == "json" else "text")
    return 1 if missing else 0


def _missing_points(checklists: Sequence[tuple[ReviewedVersion, Sequence[ChecklistItem]]]) -> Iterator[Finding]:
    """Yield a finding for each evidence that a point is not met."""
    for version, points in checklists:
        for point in points:
            for each in point.evidence:
                if each.state == MISSING:
                    message = f"{version.title} {version.since} lacks {point.name}: {point.required}"
                    yield Finding("T114", message, relative_place(each.place), each.why, each.help)


def _checklist_lines(candidate: ReviewedVersion, points: Sequence[ChecklistItem]) -> Iterator[str]:
    """Yield a checklist as text: a line for each point, with its state and place, and in the end their numbers."""
    yield style_text(escape_text(f"{candidate.title} {candidate.since}"), "bold", sys.stdout)
    section = ""
    for point in points:
        if point.state == NOT_APPLICABLE:
            continue
        if point.section != section:
            section = point.section
            yield section
        for item in point.evidence:
            state = style_text(f"{item.state:9}", _STYLES.get(item.state, "dim"), sys.stdout)
            where = safe_text(relative_place(item.place))
            yield f"  {state}  {point.name:17}  {safe_text(item.why)}  ({where})"
            if item.help and item.state in (MISSING, OPEN):
                yield f"  {'':9}  {'':17}  {safe_text(item.help)}"
    left_out = [point.name for point in points if point.state == NOT_APPLICABLE]
    if left_out:
        yield f"not applicable: {', '.join(left_out)}"
    counts = state_counts(points)
    yield ", ".join(f"{counts[state]} {state}" for state in (PASSED, STATED, MISSING, OPEN) if counts[state])
