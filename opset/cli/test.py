"""`opset test`: runs the examples of operators on all that the operators have."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click

from opset.budget import Limits
from opset.cli import INTERNAL, output, signals
from opset.cli.configuration import Folders, folders_for, hooks_option, schemas_option
from opset.cli.findings_formats import write_findings
from opset.cli.limits import limits_options
from opset.cli.operators import operator_at
from opset.cli.processes import run_in_processes
from opset.cli.progress import show_progress
from opset.cli.words import with_guess
from opset.docgen.outcomes import table_file
from opset.errors import Finding, FindingList, SchemaError, UsageError, listing, safe_text
from opset.opsets.registry import Registry
from opset.plain_text import count_text, table_lines
from opset.schemas.index import FOLDER
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name
from opset.schemas.selection import SelectionTarget, folder_of_domains, select_operators
from opset.schemas.yaml.folders import domain_of
from opset.workflow.examples.examination import PARTS, Examination, ExampleRunner, Subject, examine_subject, subjects
from opset.workflow.examples.outcomes import stale_tables, write_tables

SECONDS = 60.0
"""Time that an example may take at all its versions, unless --timeout is given."""
NOTES, REASONS = 20, 8
"""Notes, and reasons why something was not run, that text shows."""
HOOKS = ("kernels.py", "inference.py", "adapters.py")


def _parse_parts(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Return the parts of `--only`, in the order in which they run. Raises BadParameter."""
    chosen = [each.strip() for each in value.split(",")] if value is not None else [*PARTS]
    for each in chosen:
        if each not in PARTS:
            raise click.BadParameter(with_guess(f"{each!r} is none of {', '.join(PARTS)}", each, [*PARTS]))
    return tuple(each for each in PARTS if each in chosen)


@click.command()
@click.argument("targets", nargs=-1, metavar="[PATH|OP[@V]]...")
@click.option("--only", "parts", callback=_parse_parts, metavar="PART,...", help=f"Parts to run: {', '.join(PARTS)}.")
@click.option("-k", "pattern", default="", metavar="TEXT", help="Run only examples with this in their names.")
@click.option("--record", is_flag=True, help="Write conversions.json, which the documentation shows.")
@schemas_option
@hooks_option
@limits_options
@click.option("-j", "--jobs", type=click.IntRange(min=1), default=1, metavar="N", help="Number of processes.")
@output.findings_format_option
def command(
    targets: tuple[str, ...],
    parts: tuple[str, ...],
    pattern: str,
    record: bool,
    folders: tuple[Path, ...],
    allow_hooks: bool | None,
    limits: Limits,
    jobs: int,
    form: str,
) -> int:
    """Run the examples of operators: kernels, inference, function bodies, conversion, and claims of change blocks.

    PATH is the file of an operator, the folder of a domain, a folder of domains, or a tree with such folders; OP is an
    operator as Softmax or com.acme.Thin@2. Without any, the operators in folders of [tool.opset] in ./pyproject.toml
    and of installed packages are tested, or the standard's where there are none. Each example may take 60 seconds, or
    --timeout.
    """
    paths = [Path(target) for target in targets if _is_path(target)]
    selection = select_operators(paths)
    try:
        if selection.findings:
            raise SchemaError(selection.findings)
        known = _folders_of_call(selection.targets, folders, allow_hooks)
        registry = known.registry()
        names = [target for target in targets if not _is_path(target)]
        schemas = _chosen_versions(names, selection.targets, registry, known)
    except SchemaError as error:
        if not paths:
            raise  # then the YAML is configuration, as everywhere
        output.write_errors(FindingList(selection.places_as_given(error.findings), error.finding_list.omitted))
        return 3
    known.note_left_out(False, *HOOKS)
    tabled = _operators_in_tables(registry, schemas, record) if "conversion" in parts and not pattern else []
    if record and not tabled:
        message, help = (
            "--record needs all examples of all versions of an operator",
            "leave out -k, or leave out --record",
        )
        raise UsageError(Finding("U105", message, help=help))
    tested = (*parts, *(["outcomes"] if tabled else []))
    chosen = [*subjects(registry, schemas, tested, pattern)]
    if pattern and not chosen:
        message = f"no example has '{safe_text(pattern, 60)}' in its name"
        raise UsageError(Finding("U105", message, help="opset show OPERATOR lists the examples of an operator"))
    report = Examination()
    failure = ""
    for schema in schemas:
        if not pattern and not any(True for _ in registry.examples(schema.name, schema.domain)):
            report.skip("kernel", f"{domain_name(schema.domain)}.{schema.name} has no examples")
    seconds = limits.timeout or SECONDS
    work = partial(_worker, known, Limits(limits.max_steps, limits.max_bytes, seconds), tested)
    lost = partial(_lost_report, registry, seconds)
    reports = run_in_processes(work, chosen, min(jobs, max(len(chosen), 1)), lost, seconds + 1)
    with closing(reports) as results, show_progress(False, "examples") as show:
        for number, outcome in enumerate(results, 1):
            if isinstance(outcome, str):
                failure = failure or outcome
            else:
                report += outcome
            if show is not None:
                show(number, len(chosen))
    if record and not report.findings and not failure:
        write_tables(registry, tabled, report.outcomes)
    elif not record:
        report.findings += stale_tables(registry, tabled, report.outcomes)
    report.findings = selection.places_as_given(report.findings)
    _write_report(report, parts, form)
    if failure:
        sys.stderr.write(f"{failure}\n")
        return INTERNAL
    return 1 if report.findings or not report.has_run else 0


def _operators_in_tables(registry: Registry, schemas: Sequence[OpSchema], record: bool) -> list[tuple[str, str]]:
    """Return the operators, by domain and name, all versions of which are tested, and whose folder has a table.

    With `record`, it need not have one yet.
    """
    counts = Counter((schema.domain, schema.name) for schema in schemas)
    whole = [key for key, count in counts.items() if count == len(registry.since_versions(key[1], key[0]))]
    files = {key: table_file(registry, *key) for key in whole}
    return [key for key, file in files.items() if file is not None and (record or file.exists())]


def _worker(known: Folders, limits: Limits, parts: tuple[str, ...]) -> Callable[[Subject], Examination | str]:
    """Return the function of a process that tests a subject: it returns a report, or the line for an internal error."""
    runner = ExampleRunner(known.registry(), limits)

    def examine(subject: Subject) -> Examination | str:
        try:
            return examine_subject(runner, subject, parts)
        except Exception as error:
            signals.raise_if_stopped()
            return output.internal_error(error)

    return examine


def _lost_report(registry: Registry, seconds: float, subject: Subject, late: bool) -> Examination:
    """Return the report of a subject whose process died, or was ended since it was late."""
    runner = ExampleRunner(registry)
    why = f"it did not end within {seconds:g} seconds" if late else "its process died"
    help = "allow more: --timeout" if late else "a function may end its process; else use fewer processes: -j 1"
    report = Examination()
    if not subject.operator:
        message = f"running the files with the functions of {domain_name(subject.domain)} did not finish"
        report.count("kernel", [Finding("T109", message, domain_name(subject.domain), why, help)])
        return report
    versions = registry.versions(subject.operator, subject.domain)
    schema = next(each for each in versions if each.since_version in subject.versions)
    place, what = runner.place_of_key(schema, "change"), f"the claims of version {schema.since_version}"
    for example in registry.examples(subject.operator, subject.domain):
        if example.name == subject.example:
            place, what = runner.place_of(schema, example), f"the example '{example.name}'"
    name = f"{subject.domain and f'{subject.domain}.'}{subject.operator}"
    finding = Finding("T109", f"{name}: the test of {what} did not finish", place, why, help)
    report.count("kernel" if subject.example else "claims", [finding])
    return report


def _is_path(target: str) -> bool:
    """Whether a target is a path, and not the name of an operator."""
    return target.endswith((".yaml", ".yml")) or os.sep in target or os.path.exists(target)


def _folders_of_call(
    targets: Sequence[SelectionTarget], folders: tuple[Path, ...], allow_hooks: bool | None
) -> Folders:
    """Return the folders of a call and of its targets; a folder that a search found is data, since nobody named it."""
    standard = os.path.realpath(FOLDER)
    custom = [target for target in targets if os.path.realpath(target.folder) != standard]
    known = folders_for((*folders, *(each.folder for each in custom if allow_hooks or not each.is_found)), allow_hooks)
    searched = tuple(each.folder for each in custom if each.is_found and not allow_hooks)
    noted = searched if allow_hooks is None else ()
    return known._replace(data=(*known.data, *searched), noted=(*known.noted, *noted))


def _chosen_versions(
    names: Sequence[str], targets: Sequence[SelectionTarget], registry: Registry, known: Folders
) -> list[OpSchema]:
    """Return the versions of operators that a call names by paths and names, by default all in its folders."""
    if not names and not targets:
        domain_folders = (*known.trusted, *known.data) or (FOLDER,)
        targets = [folder_of_domains(each) for each in domain_folders]
    files = [file for target in targets for file in target.files]
    schemas = [schema for file in files for schema in registry.versions(file.stem, domain_of(file))]
    for name in names:
        versions, version = operator_at(registry, name)
        schemas += versions if version is None else [version]
    return [*{(each.domain, each.name, each.since_version): each for each in schemas}.values()]


class ExampleCounts(NamedTuple):
    """How many examples at versions passed and failed in a part, and by reason how many were not run."""

    part: str
    passed: int
    failed: int
    not_run: Mapping[str, int]


@dataclass(frozen=True)
class ExamplesReport:
    """The counts of each part, failures, and claims that no example shows."""

    parts: Sequence[ExampleCounts]
    findings: FindingList
    notes: Sequence[str]


def _write_report(report: Examination, parts: Sequence[str], form: str) -> None:
    """Write the report as text or JSON."""
    findings = FindingList(report.findings)
    if form in output.FINDINGS_FORMATS:
        write_findings(findings, form, sys.stdout)
        return
    if form == "text" and findings:
        output.write_errors(findings, sys.stdout)
    skipped = {part: {why: count for (of, why), count in report.skipped.items() if of == part} for part in parts}
    counts = [ExampleCounts(part, report.passed[part], report.failed[part], skipped[part]) for part in parts]
    output.write_product(ExamplesReport(counts, findings, report.notes), lambda: _report_lines(report, counts), form)


def _report_lines(report: Examination, parts: Sequence[ExampleCounts]) -> Iterator[str]:
    """Yield notes, a table of the parts, and the number of findings, as text."""
    for note in report.notes[:NOTES]:
        yield f"note: {safe_text(note)}"
    if len(report.notes) > NOTES:
        yield f"… and {len(report.notes) - NOTES:,} more notes: --format json"
    rows = [["", "passed", "failed", "not run"]]
    for part, passed, failed, not_run in parts:
        rows.append([part, *(f"{each:,}" for each in (passed, failed, sum(not_run.values())))])
    yield from table_lines(rows, indent="", right=(1, 2, 3))
    for part, _, _, not_run in parts:
        reasons = sorted(not_run.items(), key=lambda each: -each[1])
        if reasons:
            texts = [f"{safe_text(why)} ({count:,})" for why, count in reasons]
            yield f"{part}, not run: {listing(texts, REASONS, str)}"
    yield count_text(len(report.findings), "finding") if report.has_run else "nothing was tested"
