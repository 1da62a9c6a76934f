"""`opset conformance`: runs a corpus of test cases on a runtime, and reports operator by version by result."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import click

from opset.cli import output
from opset.cli.findings_formats import write_findings
from opset.cli.limits import parse_size
from opset.cli.progress import show_progress
from opset.cli.words import Number
from opset.errors import Finding, FindingList, UsageError, safe_text
from opset.model.storage.atomic import output_exists_error
from opset.model.storage.writing import write_files
from opset.plain_text import count_text, table_lines
from opset.workflow.conformance import matrix
from opset.workflow.conformance.expectations import ExpectationReport, compare_expectations, read_expectations
from opset.workflow.conformance.results import (
    BAD,
    GOOD,
    MISSING,
    REFUSED,
    CorpusFolder,
    Result,
    read_corpus,
    run_corpus,
)
from opset.workflow.conformance.runtimes import find_runtime


@dataclass(frozen=True)
class ConformanceReport:
    """The results of a run, names of --expect that no case has, and what makes the run fail."""

    results: matrix.CorpusResults = field(metadata={"key": ""})
    unused: Sequence[str]
    errors: FindingList
    exit_status: int


@click.command(no_args_is_help=True)
@click.argument("corpus", required=False, metavar="[CORPUS]")
@click.option(
    "--runtime",
    "name",
    required=True,
    metavar="onnxruntime|onnx|opset|CMD",
    help="What to run cases on: a built-in runtime, or a command that takes MODEL INPUTS OUTPUTS.",
)
@click.option("-o", "--output", "folder", metavar="DIR", help="Write conformance.json, .md and .html to this folder.")
@click.option("--force", is_flag=True, help="Overwrite reports that exist.")
@click.option(
    "--min-cases",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="N",
    help="Fail where fewer cases were judged: those that are refused or missing do not count.",
)
@click.option("--expect", metavar="FILE", help="List of named disagreements in YAML, which do not fail.")
@click.option("--strict", is_flag=True, help="Fail also where a case is refused, or --expect names unknown cases.")
@click.option("--baseline", metavar="FILE", help="An earlier conformance.json: fail where a case is worse than there.")
@click.option("--python", metavar="PATH", default="", help="The interpreter that has onnxruntime or onnx.")
@click.option(
    "--provider", "providers", multiple=True, metavar="NAME", help="Execution provider of onnxruntime. Repeatable."
)
@click.option("--name", "label", metavar="NAME", default="", help="Name of the runtime in reports and --expect.")
@click.option(
    "--timeout",
    type=Number(min=0, min_open=True, max=86400),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Greatest time for a case.",
)
@click.option(
    "--max-bytes",
    "memory",
    callback=parse_size,
    metavar="SIZE",
    help="Greatest address space of a process that runs cases; 8G for built-in runtimes without --provider.",
)
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1, max=256),
    default=1,
    show_default=True,
    metavar="N",
    help="Cases that are run at once.",
)
@click.option("-q", "--quiet", is_flag=True, help="Write no report to stdout, only errors.")
@output.findings_format_option
def command(
    corpus: str | None,
    name: str,
    folder: str | None,
    force: bool,
    min_cases: int,
    expect: str | None,
    strict: bool,
    baseline: str | None,
    python: str,
    providers: tuple[str, ...],
    label: str,
    timeout: float,
    memory: int | None,
    jobs: int,
    quiet: bool,
    form: str,
) -> int:
    """Run test cases on a runtime, each in a process that may crash or hang, and report operator by version by result.

    CORPUS is a folder that `opset testgen` wrote; without one, that of the standard's operators is made for this run.
    CMD is called for each case as `CMD MODEL INPUTS OUTPUTS`: it reads INPUTS/input_0.pb and so on, writes
    OUTPUTS/output_0.pb and so on, and exits with 0, 77 where it does not support the case, or another status.
    """
    try:
        words = shlex.split(name)
    except ValueError as error:
        message = "the command of the runtime cannot be split into words"
        raise UsageError(Finding("U103", message, why=str(error), help="quote it as in a shell")) from error
    runtime = find_runtime(name, words, name=label, python=python, providers=providers, seconds=timeout, memory=memory)
    if folder is not None and not force:  # before a run that takes long
        existing = [path for path in matrix.report_paths(folder).values() if os.path.lexists(path)]
        if existing:
            raise UsageError(finding for path in existing for finding in output_exists_error(path).findings)
    named = read_expectations(expect, runtime.name) if expect is not None else ()
    before = matrix.read_report(baseline) if baseline is not None else None
    versions: list[str] = []
    with _open_corpus(corpus, quiet) as read, show_progress(quiet, "cases") as show:
        results = run_corpus(read, runtime, jobs, show, versions.append)
    known = compare_expectations(named, results, expect or "")
    changed = matrix.compare_results(results, before) if before is not None else None
    about = matrix.RuntimeUnderTest(runtime.name, versions[0] if versions else "", providers)
    run = matrix.corpus_results(about, results, known.reasons, changed)
    findings, status = _findings_of_run(results, known, strict, min_cases, changed)
    report = ConformanceReport(run, known.unused, findings, status)
    if folder is not None:
        files = matrix.report_files(run, output.json_text(report), folder)
        write_files(files, force=force)
    if form in output.FINDINGS_FORMATS:
        write_findings(findings, form, sys.stdout, corpus or os.curdir)
    elif not quiet or form != "text":
        output.write_product(report, lambda: _report_lines(run, [*files] if folder is not None else []), form)
    if findings and (form == "text" or quiet):
        output.write_errors(findings)
    return status


@contextmanager
def _open_corpus(folder: str | None, quiet: bool) -> Iterator[CorpusFolder]:
    """Yield the corpus of a folder, by default a new one of the standard's operators, which is removed at the end."""
    if folder is not None:
        yield read_corpus(folder)
        return
    from opset.opsets.registry import registry_with
    from opset.workflow.corpus.cases import build_corpus, pick_cases, write_corpus

    registry = registry_with(())
    operators = [registry.versions(name, domain) for domain in registry.domains for name in registry.operators(domain)]
    with tempfile.TemporaryDirectory(prefix="opset-corpus-") as made:
        with show_progress(quiet, "cases") as show:
            write_corpus(made, build_corpus(registry, pick_cases(registry, operators, every_version=False), show))
        yield read_corpus(made)


def _findings_of_run(
    results: list[Result], known: ExpectationReport, strict: bool, min_cases: int, changed: matrix.ResultChanges | None
) -> tuple[FindingList, int]:
    """Return the findings of a run, and the exit status."""
    findings = FindingList()
    judged = sum(each.result in (*GOOD, *BAD, "accepted") for each in results)
    missing = [each for each in results if each.result == MISSING]
    if judged < max(min_cases, 0):
        counted = f"{len(results):,} cases are in the corpus, {len(missing):,} of them damaged"
        why = f"{judged:,} cases were run and judged, and {min_cases:,} are required; {counted}"
        help = "opset testgen --all -o DIR makes the whole corpus; --min-cases N requires fewer"
        findings.append(Finding("T223", "fewer test cases were judged than required", why=why, help=help))
    for each in missing:
        help = "make the corpus again: opset testgen -o DIR"
        findings.append(Finding("T222", f"{each.case.name} is not complete", why=each.why, help=help))
    status = 3 if findings else 0
    chosen = {each.case.name for each in results if each.case.chosen}
    for result in results:
        case = result.case
        bad = result.result in BAD or (strict and result.result == REFUSED)
        if bad and case.name not in chosen and case.name not in known.reasons:
            place = f"{case.operator} {case.version}, example {case.example}"
            help = "opset run with the case's model and inputs shows the values that the standard determines"
            message = f"{case.name}: {result.result}"
            findings.append(Finding("T225", message, place=place, why=result.why, help=help))
    findings += known.findings
    if strict:
        help = "correct the name, or remove it"
        message = "names no case of the corpus"
        findings += [Finding("T226", f"'{safe_text(each, 200)}' {message}", help=help) for each in known.unused]
    worse = [each for each in changed.worse if each[0] not in chosen] if changed is not None else []
    findings += [Finding("T228", f"{name} was {old}, and is {new}") for name, old, new in worse]
    return findings, status or (1 if findings else 0)


def _report_lines(run: matrix.CorpusResults, written: list[str]) -> list[str]:
    """Return the totals, and the operators that do not do well, as text."""
    cases = sum(sum(counts.values()) for counts in run.totals.values())
    lines = [safe_text(f"{run.runtime.name} {run.runtime.version}".strip()) + f": {count_text(cases, 'case')}"]
    names = [each for each in matrix.MEANINGS if any(each in counts for counts in run.totals.values())]
    rows = [["", *names]]
    rows += [[kind, *(str(counts.get(each, "")) for each in names)] for kind, counts in run.totals.items() if counts]
    lines += table_lines(rows, right=range(1, len(names) + 1))
    if expected := sum(bool(case.expected) for case in run.cases):
        lines.append(f"  {expected:,} of them {'is' if expected == 1 else 'are'} named disagreements")
    if chosen := sum(bool(case.chosen) and case.result in BAD for case in run.cases):
        lines.append(f"  {chosen:,} of them {'is' if chosen == 1 else 'are'} where the standard leaves it open")
    if run.changes is not None:
        worse, better = map(len, run.changes)
        lines.append(f"  {worse:,} worse and {better:,} better than before")
    return lines + [f"  wrote {safe_text(path)}" for path in written]
