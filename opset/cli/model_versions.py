"""The difference of two models on the command line: what changed for callers and within, and the next version."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from opset.cli import output
from opset.cli.batch import load_input, refuse_terminal, write_result
from opset.cli.findings_formats import write_findings
from opset.cli.inputs import (
    MODEL_SUFFIXES,
    STREAM,
    TEXT_STREAM,
    Output,
    output_for,
    parse_input,
    refuse_report_as_model,
)
from opset.description.comparison import compare_models
from opset.description.interface import KINDS, InterfaceChange, InterfaceComparison, version_for, with_version
from opset.description.structure.comparing import PartCounts, StructureComparison
from opset.description.structure.folding import SIGNS
from opset.errors import SHOWN, Finding, FindingList, UsageError, VersionError, safe_text
from opset.model.model_version import LEVELS, ModelVersion
from opset.plain_text import count_text, style_text
from opset.reports.files import check_page_file, write_page

_COLORS = {"added": "green", "removed": "red", "changed": "yellow"}
FOLLOWING = "next"
"""The value of --set-version if no version is given: the lowest that follows."""


@dataclass(frozen=True)
class ModelDifference:
    """The difference between two models, the version that was set in the new one, and the paths that were written."""

    old: str
    new: str
    comparison: InterfaceComparison = field(metadata={"key": ""})
    structure: StructureComparison
    set_version: str | None
    output: str | None
    report: str | None
    notes: Sequence[str]
    errors: FindingList
    exit_status: int


class Writing(NamedTuple):
    """The options for writing the new model: its version, the path, and how external data is treated.

    `report` is the path of a page with the difference.
    """

    version: str | None = None
    path: str | None = None
    force: bool = False
    external: str = "auto"
    report: str | None = None


def names_models(old: str, new: str) -> bool:
    """Whether two arguments name models: streams, or paths of which one is there, or has the suffix of a model."""
    streams, both = {STREAM, TEXT_STREAM}, (old, new)
    return not streams.isdisjoint(both) or any(os.path.lexists(each) or each.endswith(MODEL_SUFFIXES) for each in both)


def diff_models(old: str, new: str, writing: Writing, roots: tuple[Path, ...], form: str, *, weights: bool) -> int:
    """Show what changed between two models, write the new one with its version, and return the exit status.

    Without `weights`, their data is not read.

    Raises:
        ModelError: A model cannot be read.
        UsageError: U103 if options do not fit, U107 for a text that is no version, U102 or U104 if the output cannot be
            written.
        VersionError: V102 if no version is left.
    """
    sources = parse_input(old), parse_input(new)
    if all(each.path == STREAM for each in sources):
        raise UsageError(Finding("U103", "only one of two models can come from stdin", help="name a file"))
    if (writing.path is None) != (writing.version is None):
        missing = "-o FILE" if writing.path is None else "--set-version"
        help = "opset diff OLD NEW --set-version -o FILE"
        raise UsageError(Finding("U103", f"{missing} is missing: the new model is written with its version", help=help))
    version = None if writing.version in (None, FOLLOWING) else ModelVersion.parse(writing.version)
    where = Output() if writing.path is None else output_for(writing.path, False, [sources[1]])
    if where.folder:
        raise UsageError(Finding("U104", "the output cannot be written", why="it is a folder", file=where.folder))
    refuse_terminal(where)
    refuse_report_as_model(writing.report, sources, where)
    if writing.report is not None:
        check_page_file(writing.report, writing.force)

    old_model, new_model = (load_input(each, roots) for each in sources)
    compared = compare_models(old_model, new_model, weights=weights)
    comparison = compared.interface
    path: str | None = None
    chosen: ModelVersion | None = None
    notes: list[str] = []
    findings = FindingList()
    if writing.path is not None:
        try:
            chosen = version_for(comparison, version)
            model = with_version(new_model, chosen)
            path = write_result(model, sources[1], "", where, roots, writing.external, writing.force, notes)
        except VersionError as error:
            findings = error.finding_list.in_file(new)
    shown = str(chosen) if chosen is not None else None
    status = int(bool(findings))
    report = ModelDifference(
        old, new, comparison, compared.structure, shown, path, writing.report, notes, findings, status
    )
    stream = sys.stderr if where.stream else sys.stdout
    page = ""
    if writing.report is not None or form == "html":
        from opset.reports.differences import difference_page  # which imports Jinja

        page = difference_page(old, new, compared)
    if writing.report is not None:
        write_page(writing.report, page, writing.force)
    if form == "html":
        stream.write(page)
    elif form in output.FINDINGS_FORMATS:
        write_findings(findings, form, stream, new)
    else:
        output.write_product(report, lambda: _difference_lines(report, stream), form, stream)
    if findings and form in ("text", "html"):
        output.write_errors(findings)
    return report.exit_status


def _difference_lines(report: ModelDifference, stream: IO[str]) -> Iterator[str]:
    """Yield the difference between two models as text."""
    compared = report.comparison
    title = style_text(safe_text(f"{report.old} -> {report.new}"), "bold", stream)
    yield f"{title}: {compared.level if compared.changes else 'NONE, the same'}"
    left = SHOWN
    for level in reversed(LEVELS):
        groups: dict[str, list[InterfaceChange]] = {}
        for change in compared.changes:
            if change.level == level:
                groups.setdefault(change.kind, []).append(change)
        for kind, changes in groups.items():
            yield f"  {level} {kind}: {KINDS[kind].why}{'' if KINDS[kind].stated else ' (our reading)'}"
            yield from (f"    {_change_text(each)}" for each in changes[: max(left, 0)])
            if len(changes) > left:
                yield f"    … and {len(changes) - max(left, 0):,} more"
            left -= len(changes)
    if compared.omitted:
        yield f"  … and {compared.omitted:,} more"
    yield f"  {_version_text(compared)}"
    yield from _structure_lines(report.structure, stream)
    yield from (f"  note: {safe_text(note)}" for note in report.notes)
    if report.output is not None:
        path = "stdout" if report.output == STREAM else safe_text(report.output)
        yield f"  wrote {path}, version {report.set_version}"
    if report.report is not None:
        yield f"  wrote {safe_text(report.report)}"


def _structure_lines(structure: StructureComparison, stream: IO[str]) -> Iterator[str]:
    """Yield what changed in nodes, weights and metadata as text: counts, then the changes, each with its details."""
    if structure.changes or structure.nodes.renamed or structure.weights.renamed:
        yield f"  nodes    {_counts_text(structure.nodes)}"
        yield f"  weights  {_counts_text(structure.weights)}"
    if structure.annotated:
        yield f"  {count_text(structure.annotated, 'node')} with other metadata or documentation"
    for change in structure.changes[:SHOWN]:
        body = f", {change.body}" if change.body else ""
        line = f"{SIGNS[change.change]} {change.place}{body}"
        yield f"  {style_text(line, _COLORS[change.change], stream)}"
        for part, before, after in change.details[:SHOWN]:
            states = " -> ".join(each or "none" for each in (before, after))
            yield f"      {part}: {states}"
    more = structure.omitted + max(len(structure.changes) - SHOWN, 0)
    if more:
        yield f"  … and {more:,} more"
    yield from (f"  note: {safe_text(note)}" for note in structure.notes)


def _counts_text(counts: PartCounts) -> str:
    """Return how many nodes or weights there are, and what became of them."""
    words = {"the same": counts.same, **{word: getattr(counts, word) for word in counts._fields[3:]}}
    became = ", ".join(f"{number:,} {word}" for word, number in words.items() if number)
    return f"{counts.before:,} -> {counts.after:,}{': ' if became else ''}{became}"


def _change_text(change: InterfaceChange) -> str:
    """Return the place of a change with both states."""
    if not (change.before or change.after):
        return change.place
    states = [each for each in (change.before, change.after) if each]
    return f"{change.place}: {' -> '.join(states)}"


def _version_text(compared: InterfaceComparison) -> str:
    """Return the versions of both models, and the lowest that fits the change."""
    versions = f"model version {compared.version_before} -> {compared.version_after}"
    if compared.level == "NONE":
        return versions
    lowest = compared.next_version
    if lowest is None:
        return f"{versions}; no version is left that follows"
    fits = ModelVersion.parse(compared.version_after) >= ModelVersion.parse(lowest)
    return f"{versions}; {compared.level} asks for {lowest}{' or higher' if not fits else ', and has it'}"
