"""`opset lint`: every rule for operator YAML, and the lock of released versions."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import click

from opset.cli import output
from opset.cli.configuration import Folders, folders_for, folders_of, folders_option, hooks_option
from opset.cli.findings_formats import write_findings
from opset.cli.words import Words
from opset.errors import ConversionError, FindingList, safe_text
from opset.inference import registration as inference
from opset.model.storage.writing import write_below
from opset.opsets.hooks import Table
from opset.opsets.registry import files_named
from opset.opsets.runtimes.keys import SCHEMA
from opset.plain_text import count_text
from opset.reference import registration as kernels
from opset.schemas.index import FOLDER
from opset.schemas.lint.context import InferenceHooks
from opset.schemas.lint.fix import fixes
from opset.schemas.lint.rules import Hooks, LintedTarget, check_target
from opset.schemas.lock import lock_versions
from opset.schemas.names import domain_name
from opset.schemas.selection import Selection, SelectionTarget, select_operators
from opset.schemas.yaml.folders import domain_of
from opset.version_converter import registration as adapters

ADAPTERS = adapters.LAYER.file
SHOWN = 4
"""Versions that a line names."""


@dataclass(frozen=True)
class LintReport:
    """The findings in operator YAML, versions that were locked, those that are not, and how much was checked.

    With --fix, these are the files that were written, and those that were left alone for their comments.
    """

    findings: FindingList
    locked: Sequence[str]
    unlocked: Sequence[str]
    checked: Mapping[str, int]
    notes: Sequence[str] = ()
    fixed: Sequence[str] | None = None
    commented: Sequence[str] | None = None


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
@folders_option
@click.option("--lock", is_flag=True, help="Then lock the versions that are not locked yet, as released.")
@click.option("--released", is_flag=True, help="Report every version that is not locked.")
@click.option("--fix", is_flag=True, help="First write what is computed in change blocks, and the layout, into files.")
@click.option(
    "--json-schema",
    type=Words(["operator", "types", "runtime"]),
    help="Only print the JSON Schema of operator files, of types.yaml or of files of runtimes, for editors.",
)
@hooks_option
@output.findings_format_option
def command(
    paths: tuple[Path, ...],
    folders: tuple[Path, ...],
    lock: bool,
    released: bool,
    fix: bool,
    json_schema: str | None,
    allow_hooks: bool | None,
    form: str,
) -> int:
    """Check operator YAML: that it can be read and follows every rule.

    PATH is the file of an operator, the folder of a domain, a folder of domains, or a tree with such folders anywhere.
    Without one, the folders of [tool.opset] in ./pyproject.toml and of installed packages are checked, or the
    standard's operators where there are none.
    """
    if json_schema is not None:
        path = SCHEMA if json_schema == "runtime" else FOLDER / f"{json_schema}.schema.json"
        sys.stdout.write(path.read_text("utf-8"))
        return 0
    known = folders_of((*paths, *folders), allow_hooks) if paths or folders else folders_for((), allow_hooks)
    selection = select_operators(paths, folders if paths or folders else ((*known.trusted, *known.data) or (FOLDER,)))
    notes = [*known.note_left_out(False, ADAPTERS), *_write_notes(selection, known, allow_hooks)]
    fixed, commented = _fix_targets(selection) if fix else ([], [])
    findings = FindingList(selection.findings)
    checked: list[LintedTarget] = []
    for target in selection.targets:
        table, unknown, faults = _load_adapters(target, known, allow_hooks)
        findings += faults

        def hooks(families: Collection[str], table: Table = table, unknown: frozenset[str] | None = unknown) -> Hooks:
            inferred = InferenceHooks(inference.registered_rules(families), inference.rule_problem)
            written = None if unknown is None else adapters.registered_adapters(families, table)
            return Hooks(written, kernels.kernel_keys(families), inferred, unknown or frozenset())

        checked.append(check_target(target, hooks, released))
        findings += checked[-1].findings
    findings = FindingList(selection.places_as_given(findings), findings.omitted, findings.omitted_errors)
    hold = [finding for finding in findings if finding.code != "S241"]  # what --lock mends
    locked: list[str] = []
    if lock and not hold and not findings.omitted:
        for target, each in zip(selection.targets, checked, strict=True):
            locked += lock_versions(target.folder, each.operators)
        findings = FindingList(hold)
    elif lock:
        notes = [*notes, "nothing was locked, since there are findings"]
        sys.stderr.write(f"note: {notes[-1]}\n")
    unlocked = [
        f"{domain_name(operator.domain)}.{operator.name}:{since}" for one in checked for operator, since in one.unlocked
    ]
    counts = {
        "operators": sum(len(report.operators) for report in checked),  # that could be read, at least in part
        "domains": len({operator.domain for report in checked for operator in report.operators}),
        "files": sum(report.files for report in checked),
        "unread": sum(report.unread for report in checked),
    }
    report = LintReport(findings, locked, [] if locked else unlocked, counts, tuple(notes))
    if fix:
        report = replace(report, fixed=fixed, commented=commented)
    absent = any(each.code == "S101" for each in selection.findings)
    status = 3 if absent else int(bool(findings))
    if form in output.FINDINGS_FORMATS:
        write_findings(findings, form, sys.stdout)
        return status
    done = [f"fixed {safe_text(path)}" for path in fixed]
    done += [f"left alone, for its comments: {safe_text(path)}" for path in commented]
    if form == "text" and findings:
        output.write_errors(findings, sys.stdout)
    output.write_product(report, lambda: done + _report_lines(report, len(findings) + findings.omitted), form)
    return status


def _report_lines(report: LintReport, findings: int) -> list[str]:
    """Return locked and unlocked versions, and the number of findings, as text."""
    lines = [f"locked {safe_text(name)}" for name in report.locked]
    if unlocked := report.unlocked:
        more = f" and {len(unlocked) - SHOWN:,} more" if len(unlocked) > SHOWN else ""
        lines.append(f"not released, since the lock does not have them: {safe_text(', '.join(unlocked[:SHOWN]))}{more}")
    counts = report.checked
    operators = f"{count_text(counts['operators'], 'operator')} of {count_text(counts['domains'], 'domain')}"
    unread = f"; {count_text(counts['unread'], 'file')} could not be read" if counts["unread"] else ""
    return [*lines, f"{count_text(findings, 'finding')} in {operators}{unread}"]


def _load_adapters(
    target: SelectionTarget, known: Folders, allow_hooks: bool | None
) -> tuple[Table, frozenset[str] | None, FindingList]:
    """Return the adapters that the files of a target register, the domains whose files failed, and their findings.

    The domains are None if the files are not trusted, and not run at all.
    """
    table: Table = {}
    unknown: set[str] = set()
    faults = FindingList()
    files = _adapter_files(target)
    # The call names the folder, or allows its code.
    trusted = (
        target.folder not in known.data and allow_hooks is not False and (bool(allow_hooks) or not target.is_found)
    )
    if files and not trusted:
        return table, None, faults
    for file in files:
        try:
            table |= adapters.LAYER.run_files([file])
        except ConversionError as error:
            faults += error.finding_list
            unknown.add(domain_of(file))
    return table, frozenset(unknown), faults


def _adapter_files(target: SelectionTarget) -> list[Path]:
    """Return the adapter files beside the operators of a target."""
    domains = {path.parent for path in target.files}
    return [file for file in files_named(target.folder, ADAPTERS) if target.whole or file.parent in domains]


def _write_notes(selection: Selection, known: Folders, allow_hooks: bool | None) -> list[str]:
    """Return notes about links and files that the check left out, and write them to stderr."""
    notes = list(islice(selection.notes, SHOWN))
    if len(selection.notes) > SHOWN:
        notes.append(f"{len(selection.notes) - SHOWN:,} more links to folders were not searched")
    for target in selection.targets:
        if allow_hooks is None and target.is_found and (files := _adapter_files(target)):
            names = f"{safe_text(str(files[0]))}{f' and {len(files) - 1:,} more' if len(files) > 1 else ''}"
            notes.append(
                f"{names} {'was' if len(files) == 1 else 'were'} not run: the call does not name the folder "
                f"{safe_text(target.folder)}. If you trust the code, name it, or allow it: --allow-hooks"
            )
    sys.stderr.write("".join(f"note: {safe_text(note)}\n" for note in notes))
    return notes


def _fix_targets(selection: Selection) -> tuple[list[str], list[str]]:
    """Write computed parts into the selected files; return files written, and files left alone for their comments."""
    fixed: list[str] = []
    commented: list[str] = []
    for target in selection.targets:
        target_fixes = fixes(target)
        if texts := target_fixes.texts:
            folder = target.folder
            write_below(folder, {os.path.relpath(path, folder): text.encode() for path, text in texts.items()})
        fixed += target_fixes.texts
        commented += target_fixes.commented
    return [*map(selection.path_as_given, fixed)], [*map(selection.path_as_given, commented)]
