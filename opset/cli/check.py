"""`opset check`: whether models follow the specification, and what each finding needs."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

import click

from opset.checker.checking import check_context, select_codes
from opset.checker.table import CheckContext, CheckOptions
from opset.cli import output
from opset.cli.assumed_opsets import Assumed, assume_option, load_assumed
from opset.cli.batch import BatchReport, Call, ModelReport, Verb, checking_options, process_files
from opset.cli.configuration import rule_choice, target_files, target_option
from opset.cli.findings_formats import FORMATS
from opset.cli.inputs import Input
from opset.errors import CODES, FindingList, ModelError, safe_text
from opset.model import Model
from opset.opsets.registry import Registry
from opset.plain_text import table_lines

WORDS = {"clean": "clean", "warned": "with warnings", "broken": "with errors", "failed": "failed"}
VERB = Verb(WORDS, "the model was not checked", ("inference.py",), "I401")


class Settings(NamedTuple):
    """The settings for every model."""

    codes: frozenset[str]
    full: bool
    verify_checksums: bool
    runtime: str | None
    files: tuple[Path, ...]
    assumed: Assumed


class CodeCount(NamedTuple):
    """How many findings have a code, in how many models, and its title."""

    code: str
    title: str
    findings: int
    models: int


@dataclass(frozen=True)
class CheckReport:
    """The number of errors and of warnings of one model, and notes."""

    error_count: int
    warning_count: int
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class CheckBatch(BatchReport):
    """The reports on all models of a call, and how many findings have each code."""

    statistics: Sequence[CodeCount] = ()


@click.command(no_args_is_help=True)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("--select", multiple=True, metavar="CODE", help="Only rules of this code, or of codes that begin so.")
@click.option("--ignore", multiple=True, metavar="CODE", help="No rules of this code, or of codes that begin so.")
@click.option("--no-inference", is_flag=True, help="Do not compare stated types and shapes with inferred ones.")
@click.option("--verify-checksums", is_flag=True, help="Read external data to compare its checksums.")
@click.option("--for", "runtime", metavar="RUNTIME", help="Also what keeps it from a runtime: onnxruntime==1.17.")
@click.option("--statistics", is_flag=True, help="Show how many findings have each code, and no findings.")
@assume_option
@target_option
@checking_options
def command(
    inputs: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    no_inference: bool,
    verify_checksums: bool,
    runtime: str | None,
    statistics: bool,
    files: tuple[Path, ...],
    assumed: Assumed,
    call: Call,
) -> int:
    """Check that models follow the specification: every rule, with its place, the reason and what to do.

    INPUT is a file, a folder (all *.onnx and *.onnxtxt below it), a pattern, or - for stdin. `select` and `ignore` of
    [tool.opset] in ./pyproject.toml hold where the options are not given. Weights are not read. The exit status is 1 if
    a model breaks a rule; warnings alone end with 0.
    """
    codes = select_codes(*rule_choice(select, ignore))
    known = target_files(files) if runtime is not None else ()
    settings = Settings(codes, not no_inference, verify_checksums, runtime, known, assumed)
    counts = Statistics()

    def write(report: ModelReport[CheckReport], stream: IO[str], quiet: bool) -> None:
        counts.add(report)
        if statistics and report.result is not None:
            return
        _write_report(report, stream, quiet)

    def batch(
        models: Sequence[ModelReport[CheckReport]], summary: Mapping[str, int], notes: Sequence[str]
    ) -> CheckBatch:
        for each in models:
            counts.add(each)
        return CheckBatch(models, summary, notes, counts.rows() if statistics else ())

    status = process_files(inputs, call, VERB, check_file, settings, write, writes=False, batch=batch, formats=FORMATS)
    if call.form == "text" and statistics:
        rows = [[each.code, f"{each.findings:,}", f"{each.models:,}", each.title] for each in counts.rows()]
        table = table_lines([["code", "findings", "models", "rule"], *rows], right=[1, 2]) if rows else ["no findings"]
        sys.stdout.writelines(f"{line}\n" for line in table)
    return status


class Statistics:
    """The numbers of findings and of models by code."""

    def __init__(self) -> None:
        self._findings: Counter[str] = Counter()
        self._models: Counter[str] = Counter()

    def add(self, report: ModelReport[CheckReport]) -> None:
        """Count the findings on a model."""
        codes = Counter(finding.code for finding in report.errors)
        self._findings += codes
        self._models.update(codes.keys())

    def rows(self) -> list[CodeCount]:
        """Return the codes that were found, the most frequent first."""
        ordered = sorted(self._findings.items(), key=lambda each: (-each[1], each[0]))
        return [CodeCount(code, CODES[code], count, self._models[code]) for code, count in ordered]


def check_file(source: Input, settings: Settings, call: Call, registry: Registry) -> ModelReport[CheckReport]:
    """Return the report on one model."""
    model, notes = load_assumed(source, call.roots, settings.assumed, registry, call.limits)
    options = CheckOptions(settings.full, settings.verify_checksums, call.limits)
    findings = check_context(CheckContext(model, registry, options), settings.codes)
    if settings.runtime is not None:
        findings += _find_lacks(model, settings, call, registry)
    errors = sum(each.severity == "error" for each in findings) + findings.omitted
    report = CheckReport(errors, len(findings) + findings.omitted - errors, notes)
    status = "broken" if errors else "warned" if findings else "clean"
    return ModelReport(source.path, None, report, findings.in_file(source.path), status, int(bool(errors)))


def _find_lacks(model: Model, settings: Settings, call: Call, registry: Registry) -> FindingList:
    """Return the reasons why a runtime does not take a model as it is, and the refusals if no conversion helps."""
    from opset.version_converter import convert_model, target_of
    from opset.version_converter.survey import Survey

    target = target_of(None, runtime=settings.runtime, registry=registry, targets=settings.files)
    assert target.runtime is not None
    try:
        lack = Survey(model, registry, call.limits).find_lack(target.runtime)
        if lack is None:
            return FindingList()
        conversion = convert_model(model, target, registry, {}, call.limits)
    except ModelError:  # the rules have told why
        return FindingList()
    if not conversion.refusals:
        lack = lack._replace(help=f"rewrite it for the runtime: opset convert --for {safe_text(settings.runtime)}")
    return FindingList([lack, *(each for each in conversion.refusals if each != lack)])


def _write_report(report: ModelReport[CheckReport], stream: IO[str], quiet: bool) -> None:
    """Write the findings on one model, then their number."""
    if report.internal_error:
        sys.stderr.write(f"{safe_text(report.input)}: {report.internal_error}\n")
        return
    if report.errors:
        output.write_errors(report.errors, stream if report.result is not None else None)
    if report.result is not None and not quiet:
        errors = output.count_text(report.result.error_count, "error")
        warnings = output.count_text(report.result.warning_count, "warning")
        stream.write(f"{safe_text(report.input)}: {f'{errors}, {warnings}' if report.errors else 'no findings'}\n")
        stream.writelines(f"  note: {safe_text(note)}\n" for note in report.result.notes)
