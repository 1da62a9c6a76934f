"""`opset check`: whether models follow the specification, what each finding needs, and what of it can be mended."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import click

from opset.budget import ALLOW_MORE, BudgetExceeded
from opset.checker.checking import check_context, select_codes
from opset.checker.table import CheckContext, CheckOptions, Mend
from opset.cli import output
from opset.cli.assumed_opsets import Assumed, assume_option, read_assumed
from opset.cli.batch import Reporting, Verb, VerbCall, load_input, process_files, writing_options
from opset.cli.batch_reports import BatchReport, FindingTotal
from opset.cli.configuration import rule_choice, target_files, target_option
from opset.cli.inputs import STREAM, Input, name_input
from opset.cli.records import ModelReport
from opset.errors import CODES, KEPT, SHOWN, Finding, FindingList, ModelError, SchemaError, UsageError, safe_text
from opset.model import Model
from opset.opsets.registry import Registry
from opset.plain_text import count_text, style_text, table_lines
from opset.schemas.names import domain_name, normalize_domain

if TYPE_CHECKING:
    from opset.version_converter import Target

SUFFIX = "mended"
DOCUMENT = ".onnxopset"
"""The suffix of operator-set documents."""
UNREADABLE = ("S301", "S302")
"""Codes of a file that is damaged, or no document at all."""
WORDS = {"clean": "clean", "warned": "with warnings", "broken": "with errors", "failed": "failed"}
VERB = Verb(WORDS, "the model was not checked", ("inference.py",), "I401")


class CheckSettings(NamedTuple):
    """The settings for every model."""

    codes: frozenset[str]
    full: bool
    verify_checksums: bool
    runtime: str | None
    files: tuple[Path, ...]
    assumed: Assumed
    fix: bool
    diff: bool
    casts: bool


class CodeCount(NamedTuple):
    """How many findings have a code, in how many models, and its title."""

    code: str
    title: str
    findings: int
    models: int


@dataclass(frozen=True)
class CheckReport:
    """The number of errors and of warnings of one model, and notes.

    With --fix or --diff these are the findings that are left, and the report has the changes, the first thousand of
    `mended_count`; with --diff it has the difference as text.
    """

    error_count: int
    warning_count: int
    mended_count: int = 0
    mended: Sequence[Mend] = ()
    diff: str = ""
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
@click.option("--fix", is_flag=True, help="Mend what has one plain remedy; -o or --in-place says where to write it.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, as text, and write nothing.")
@click.option(
    "--fix-casts",
    "casts",
    is_flag=True,
    help="With --fix or --diff: a Cast where one input has another type of floats than the rest. Results change.",
)
@click.option("--statistics", is_flag=True, help="Show how many findings have each code, and no findings.")
@assume_option
@target_option
@writing_options("With --fix: output file or folder.")
def command(
    inputs: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    no_inference: bool,
    verify_checksums: bool,
    statistics: bool,
    call: VerbCall,
    **asked: Any,
) -> int:
    """Check that models follow the specification: every rule, with its place, the reason and what to do.

    INPUT is a file, a folder (*.onnx and models as text below it), a pattern, or - for stdin; a file *.onnxopset is
    checked as an operator-set document. `select` and `ignore` of
    [tool.opset] in ./pyproject.toml hold unless the options are given. Weights are not read. Nothing is written
    without --fix. The exit status is 1 if a model breaks a rule, with --fix or --diff if it still does when all is
    mended that can be; warnings alone end with 0.
    """
    codes = select_codes(*rule_choice(select, ignore))
    known = target_files(asked.pop("files")) if asked["runtime"] is not None else ()
    settings = CheckSettings(codes, not no_inference, verify_checksums, **{**asked, "files": known})
    _check_choice(settings, call)
    if settings.runtime is not None:
        _check_runtime(settings, call)
    counts = CheckStatistics()

    def write(report: ModelReport[CheckReport], stream: IO[str], quiet: bool) -> None:
        if statistics and report.result is not None:
            return
        _write_report(report, stream, quiet)

    def whole(
        models: Sequence[ModelReport[CheckReport]],
        summary: Mapping[str, int],
        notes: Sequence[str],
        totals: Sequence[FindingTotal],
    ) -> CheckBatch:
        return CheckBatch(models, summary, notes, totals, counts.rows() if statistics else ())

    reporting = Reporting(write, _detail, counts.add, whole=whole)
    status = process_files(inputs, call, VERB, check_file, settings, reporting, writes=settings.fix)
    if call.form == "text" and statistics:
        rows = [[each.code, f"{each.findings:,}", f"{each.models:,}", each.title] for each in counts.rows()]
        table = table_lines([["code", "findings", "models", "rule"], *rows], right=[1, 2]) if rows else ["no findings"]
        sys.stdout.writelines(f"{line}\n" for line in table)
    return status


def _check_runtime(settings: CheckSettings, call: VerbCall) -> None:
    """Raise UsageError U101 once for a runtime that is not known, and not for each model; nothing is started."""
    from opset.opsets.runtimes.names import INSTALLED

    assert settings.runtime is not None
    if not settings.runtime.startswith(INSTALLED):
        registry = call.known.registry()
        _find_target(settings, registry, registry.domains[""])


def _find_target(settings: CheckSettings, registry: Registry, version: int) -> Target:
    """Return the target of the runtime: the version of a model at `version` if it is not known what the runtime takes.

    Raises UsageError U101 if the runtime is not known, or if it takes no version that has schemas.
    """
    from opset.opsets.runtimes import find_runtime
    from opset.version_converter import target_of

    assert settings.runtime is not None
    try:
        return target_of(None, runtime=settings.runtime, registry=registry, targets=settings.files)
    except UsageError:
        if find_runtime(settings.runtime, settings.files).opsets[""] != (None, None):
            raise
        newest = registry.domains[""]
        to = version if 0 < version <= newest else newest  # another version is no model, as the rules tell
        return target_of(to, runtime=settings.runtime, registry=registry, targets=settings.files)


def _check_choice(settings: CheckSettings, call: VerbCall) -> None:
    """Raise UsageError U103 if the options for mending do not go together."""
    names_output = call.in_place or call.given is not None
    wrong, help = "", ""
    if settings.fix and settings.diff:
        wrong, help = "--fix writes a model, and --diff writes nothing", "give one of the two"
    elif settings.fix and not names_output:
        wrong, help = "--fix writes a model, and no output is named", "give -o FILE or --in-place, or --diff to look"
    elif names_output and not settings.fix:
        wrong, help = "nothing is written without --fix", "give --fix, too"
    elif settings.casts and not (settings.fix or settings.diff):
        wrong, help = "--fix-casts mends nothing by itself", "give --fix or --diff, too"
    if wrong:
        raise UsageError(Finding("U103", wrong, help=help))


class CheckStatistics:
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


def check_file(source: Input, settings: CheckSettings, call: VerbCall, registry: Registry) -> ModelReport[CheckReport]:
    """Return the report on one model, which is mended first if that is asked for, or on an operator-set document."""
    if source.path.lower().endswith(DOCUMENT):
        return _check_document(source, settings)
    given = load_input(source, call.roots)
    model, notes = read_assumed(given, settings.assumed, registry, call.limits)
    options = CheckOptions(settings.full, settings.verify_checksums, call.limits)
    path, result = None, CheckReport(0, 0)
    if settings.fix or settings.diff:
        from opset.checker.repairing import repair_model

        repaired = repair_model(model, registry, options, settings.codes, settings.casts)
        model, findings = repaired.model, repaired.left
        context = CheckContext(model, registry, options)
        result = replace(result, mended_count=len(repaired.mended), mended=repaired.mended[:KEPT])
        if settings.diff:
            result = replace(result, diff=_difference(given, model, source, notes))
        elif not call.can_skip_writing(model is not given):
            path = call.write_result(model, source, SUFFIX, notes)
    else:
        context = CheckContext(model, registry, options)
        findings = check_context(context, settings.codes)
    if settings.full and findings and not context.is_inferable and any(code[0] == "I" for code in settings.codes):
        notes.append("types and shapes were not compared: nothing is inferred before these errors are mended")
    if settings.runtime is not None:
        findings += _find_lacks(model, settings, call, registry, notes)
    errors = sum(each.severity == "error" for each in findings) + findings.omitted_errors
    warnings = len(findings) + findings.omitted - errors
    result = replace(result, error_count=errors, warning_count=warnings, notes=notes)
    status = "broken" if errors else "warned" if findings else "clean"
    return ModelReport(source.path, path, result, findings.in_file(source.path), status, int(bool(errors)))


def _check_document(source: Input, settings: CheckSettings) -> ModelReport[CheckReport]:
    """Return the report on an operator-set document: all that is wrong with it, or its operators in a note."""
    from opset.opsets.documents.reading import load_operator_set

    if settings.fix or settings.diff or settings.runtime is not None:
        raise UsageError(
            Finding(
                "U103",
                "an operator-set document can be checked alone, not mended or compared with a runtime",
                help="leave out --fix, --diff and --for",
                file=source.path,
            )
        )
    try:
        operators = load_operator_set(source.path)
    except SchemaError as error:
        findings = error.finding_list
        if any(each.code in UNREADABLE for each in findings):
            return ModelReport(source.path, None, None, findings, "failed", ModelError.exit_status)
        return ModelReport(source.path, None, CheckReport(len(findings), 0), findings, "broken", 1)
    shown = f"{domain_name(operators.domain)} {operators.version}"
    count = count_text(len(operators.schemas), "operator")
    report = CheckReport(0, 0, notes=[f"operator set {shown}: {count}", *operators.notes])
    return ModelReport(source.path, None, report, FindingList(), "clean", 0)


def _difference(before: Model, after: Model, source: Input, notes: list[str]) -> str:
    """Return the difference of two models as text; "" if there is none, or no text can hold it, which is noted."""
    from opset.model.text.difference import text_difference

    try:
        return "".join(f"{line}\n" for line in text_difference(before, after, source.path))
    except ModelError as error:
        notes.append(f"the difference cannot be shown: {error.findings[0].message}")
        return ""


def _find_lacks(
    model: Model, settings: CheckSettings, call: VerbCall, registry: Registry, notes: list[str]
) -> FindingList:
    """Return the reasons why a runtime does not take a model as it is, and the refusals if no conversion helps.

    A reason at the place of a refusal is left out. If the limits of the work are used up, C401 says so. Domains of
    which nothing is known are added to `notes`, and whether the operators of the runtime are not known.
    """
    from opset.version_converter import convert_model
    from opset.version_converter.availability import notes_on_domains, notes_on_operators
    from opset.version_converter.survey import Survey

    version = next((each.version for each in model.proto.opset_import if normalize_domain(each.domain) == ""), 0)
    target = _find_target(settings, registry, version)
    assert target.runtime is not None
    lacks = FindingList()
    try:
        survey = Survey(model, registry, call.limits)
        notes += [*notes_on_operators(target.runtime), *notes_on_domains(survey.index, registry)]
        lacks.extend(survey.find_lacks(target.runtime))
        if not lacks:
            return lacks
        conversion = convert_model(model, target, registry, {}, call.limits)
    except ModelError:  # the rules have told why
        return FindingList()
    except BudgetExceeded as exhausted:
        lacks.append(Finding("C401", "the check for the runtime was stopped", "model", exhausted.why, ALLOW_MORE))
        return lacks
    if not conversion.refusals:
        lowest, highest = target.runtime.opsets[""]
        to = f" --to {lowest}" if lowest == highest else ""  # which it may not be known to take
        help = f"rewrite it for the runtime: opset convert --for {safe_text(settings.runtime)}{to}"
        return FindingList((lack._replace(help=help) for lack in lacks), lacks.omitted, lacks.omitted_errors)
    refused = {refusal.place for refusal in conversion.refusals}
    told = FindingList(lack for lack in lacks if lack.place not in refused)
    told += conversion.refusals
    return told


def _write_report(report: ModelReport[CheckReport], stream: IO[str], quiet: bool) -> None:
    """Write the changes that mended one model, the findings on it, and their number."""
    if report.internal_error:
        sys.stderr.write(f"{name_input(report.input)}: {report.internal_error}\n")
        return
    result = report.result
    if result is not None and not quiet:
        stream.write(result.diff)
        stream.writelines(_mend_lines(result, stream))
    if report.errors:
        output.write_errors(report.errors, stream if result is not None else None)
    if result is not None and not quiet:
        errors = count_text(result.error_count, "error")
        warnings = count_text(result.warning_count, "warning")
        counts = f"{errors}, {warnings}" if report.errors else "no findings"
        if result.mended_count:
            counts = f"{result.mended_count:,} mended{'; left:' if report.errors else ','} {counts}"
        stream.write(f"{name_input(report.input)}: {counts}\n")
        stream.writelines(f"  note: {safe_text(note)}\n" for note in result.notes)
        if report.output not in (None, STREAM):
            stream.write(f"  wrote {safe_text(report.output)}\n")


def _detail(result: CheckReport) -> str:
    """Return the numbers of findings on a model, on one line."""
    return f"{count_text(result.error_count, 'error')}, {count_text(result.warning_count, 'warning')}"


def _mend_lines(result: CheckReport, stream: IO[str]) -> Iterator[str]:
    """Yield the lines about changes that mended a model, the first of many."""
    for mend in result.mended[:SHOWN]:
        yield f"{style_text(f'mended[{mend.code}]', 'green', stream)} {safe_text(mend.message)}\n"
        yield f"  where   {safe_text(mend.place)}\n"
    if result.mended_count > SHOWN:
        yield f"… and {result.mended_count - SHOWN:,} more\n"
