"""`opset convert`: converts models to other operator set versions, or reports what prevents it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, NamedTuple

import click

from opset.cli.assumed_opsets import Assumed, assume_option, load_assumed
from opset.cli.batch import Reporting, Verb, VerbCall, process_files, write_report, writing_options
from opset.cli.inputs import Input, dims_option, freeze_option, suffix_of
from opset.cli.records import ModelReport
from opset.cli.target_options import TargetChoice, target_options
from opset.cli.verification import UNVERIFIED, Verifying, verify_options
from opset.errors import OpsetError, safe_text
from opset.model import Model
from opset.model.storage.external import odd_keys
from opset.opsets.registry import Registry
from opset.version_converter import Target, convert_model
from opset.version_converter.report import (
    ConversionReport,
    conversion_report,
    headline,
    refusal_line,
    report_lines,
)

if TYPE_CHECKING:
    from opset.verification.report import Verification

LOWERED = "lowered"
WORDS = {
    "converted": "converted",
    "unchanged": "already there",
    "invalid": "already there, and not valid",
    "planned": "can be converted",
    "refused": "refused",
    UNVERIFIED: "not verified",
    "failed": "failed",
}
VERB = Verb(WORDS, "the model was not converted", ("adapters.py", "inference.py"))


class ConvertSettings(NamedTuple):
    """The settings for every model."""

    target: Target
    dims: dict[str, int | str]
    freeze: tuple[str, ...]
    plan_only: bool
    assumed: Assumed
    verifying: Verifying = Verifying()
    check: bool = False


@dataclass(frozen=True)
class ConvertedReport:
    """The report on a conversion, and with --verify the verification of its result."""

    conversion: ConversionReport = field(metadata={"key": ""})
    verification: Verification | None = None


check_option = click.option(
    "--check", is_flag=True, help="Write nothing; the exit status is 1 if a model would change or is refused."
)


@click.command(no_args_is_help=True)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@target_options
@click.option("--plan", "plan_only", is_flag=True, help="Only show what would happen.")
@check_option
@assume_option
@dims_option
@freeze_option
@verify_options
@writing_options("Output file or folder; by default beside the input.")
def command(
    inputs: tuple[str, ...],
    choice: TargetChoice,
    dims: dict[str, int | str],
    freeze: tuple[str, ...],
    plan_only: bool,
    check: bool,
    assumed: Assumed,
    verifying: Verifying,
    call: VerbCall,
) -> int:
    """Convert models to other operator set versions, all or nothing.

    INPUT is a file, a folder (*.onnx and models as text below it), a pattern, or - for stdin. The result is written
    beside the input as <name>-opset<version>.onnx unless -o or --in-place says otherwise. A model that cannot be
    converted without losing meaning is refused: every node that prevents it is listed, and nothing is written. Without
    --to, --release or --for, a model keeps its opsets, and --ir-version, --freeze or --dim change it.
    """
    target = choice.target(call.known.registry(), keeps_opsets=bool(dims or freeze))
    settings = ConvertSettings(target, dims, freeze, plan_only or check, assumed, verifying, check)
    return convert_files(inputs, call, settings)


def convert_files(inputs: tuple[str, ...], call: VerbCall, settings: ConvertSettings) -> int:
    """Convert the models that a verb is given, report on each, and return the exit status."""
    plan_only = settings.plan_only

    def write(report: ModelReport[ConvertedReport], stream: IO[str], quiet: bool) -> None:
        refused = report.status == "refused"
        errors = stream if plan_only and refused else sys.stderr
        result = report.result
        lines = [*_result_lines(report)] if not quiet and (plan_only or not refused) else []
        write_report(report, lines, stream, errors)
        if refused and result is not None:
            errors.write(f"{refusal_line(result.conversion.nodes)}\n")

    reporting = Reporting(write, _detail)
    return process_files(inputs, call, VERB, convert_file, settings, reporting, writes=not plan_only)


def convert_file(
    source: Input, settings: ConvertSettings, call: VerbCall, registry: Registry
) -> ModelReport[ConvertedReport]:
    """Convert one model, write the result if it was not refused, and return the report."""
    model, notes = load_assumed(source, call.roots, settings.assumed, registry, call.limits)
    conversion = convert_model(model, settings.target, registry, settings.dims, call.limits, settings.freeze)
    conversion.notes[:0] = notes
    conversion.changes |= bool(notes)
    odd_tensors = odd_keys(model.proto)
    conversion.notes += [f"{finding.place}: {finding.why} (opset explain {finding.code})" for finding in odd_tensors]
    conversion.notes += [f"{odd_tensors.omitted:,} more tensors have such keys"] if odd_tensors.omitted else []
    path = None
    status = "refused"
    verification = None
    if conversion.model is not None and settings.verifying.wanted and conversion.changes:
        verification = _verify_result((model, conversion.model), conversion.notes, source, settings, call, registry)
    if verification is not None and not verification.same:
        status = UNVERIFIED
    elif conversion.model is not None:
        status = "converted" if not settings.plan_only else "planned"
        if not conversion.changes:
            fault = _fault_of(model, registry, call)
            status = "invalid" if fault else "unchanged"
            conversion.notes += [fault] * bool(fault)
        if not settings.plan_only and not call.can_skip_writing(conversion.changes):
            opsets = settings.target.opsets or conversion.target
            reached = {domain: conversion.target.get(domain, version) for domain, version in opsets.items()}
            suffix = LOWERED if settings.target.lowered else suffix_of(reached)
            path = call.write_result(conversion.model, source, suffix, conversion.notes)
    result = ConvertedReport(conversion_report(conversion, places=call.has_data), verification)
    findings = (conversion.refusals if verification is None else verification.errors).in_file(source.path)
    failed = status in ("refused", UNVERIFIED) or (status == "planned" and settings.check)
    return ModelReport(source.path, path, result, findings, status, int(failed))


def _verify_result(
    models: tuple[Model, Model],
    notes: list[str],
    source: Input,
    settings: ConvertSettings,
    call: VerbCall,
    registry: Registry,
) -> Verification:
    """Return whether a model and its result compute the same, at sizes that both have, which notes name."""
    from opset.inference.axes.changing import with_sizes  # few conversions are verified
    from opset.inference.engine.binding import stated_dim_names

    model, result = models
    stated = stated_dim_names(model)
    fixed = {name: size for name, size in settings.dims.items() if name in stated and isinstance(size, int)}
    numbers = {name: size for name, size in settings.dims.items() if isinstance(size, int) and name not in stated}
    for name, variable in settings.dims.items():
        if name in stated and isinstance(variable, str):
            notes.append(f"verified at the size of {safe_text(name)} that the model had, not at others")
    if fixed:
        model = with_sizes(model, fixed, registry, call.limits)[0]
        sizes = ", ".join(f"{safe_text(name)}={size}" for name, size in fixed.items())
        notes.append(f"verified at {sizes}, which the original was given, too, as both need one size")
    names = source.path, "the result"
    return settings.verifying.verify(model, result, numbers, call.limits, registry, names)


def _fault_of(model: Model, registry: Registry, call: VerbCall) -> str:
    """Return the note that a model which needs no conversion is not valid at its own opsets, "" if it is."""
    from opset.checker.checking import check  # few models need it
    from opset.version_converter.validity import invalid_note

    try:
        findings = check(model, schemas=registry, limits=call.limits)
    except OpsetError:  # it is too large to be checked, say: nothing is known
        return ""
    errors = [each for each in findings if each.severity == "error"]
    if not errors:
        return ""
    return invalid_note(errors[0], len(errors))


def _detail(result: ConvertedReport) -> str:
    """Return the versions of a conversion on one line."""
    return headline(result.conversion)


def _result_lines(report: ModelReport[ConvertedReport]) -> Iterator[str]:
    """Yield the lines about a conversion, nothing if it failed."""
    if report.result is not None:
        yield headline(report.result.conversion)
        yield from report_lines(report.result.conversion)
        if report.result.verification is not None:
            from opset.verification.report import verification_lines  # few conversions are verified

            yield from verification_lines(report.result.verification)
        if report.status == UNVERIFIED:
            yield "  nothing was written"
        if report.status == "unchanged":
            yield "  nothing to convert: the model is there already"
        elif report.status == "invalid":
            yield "  nothing to convert: the model has these versions, but is not valid"
