"""`opset convert`: converts models to other operator set versions, or reports what prevents it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import IO, NamedTuple

import click

from opset.cli.assumed_opsets import Assumed, assume_option, load_assumed
from opset.cli.batch import Call, Reporting, Verb, process_files, write_report, writing_options
from opset.cli.inputs import Input, dims_option, freeze_option, suffix_of
from opset.cli.records import ModelReport
from opset.cli.target_options import TargetChoice, target_options
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

LOWERED = "lowered"
WORDS = {
    "converted": "converted",
    "unchanged": "already there",
    "planned": "can be converted",
    "refused": "refused",
    "failed": "failed",
}
VERB = Verb(WORDS, "the model was not converted", ("adapters.py", "inference.py"))


class Settings(NamedTuple):
    """The settings for every model."""

    target: Target
    dims: dict[str, int]
    freeze: tuple[str, ...]
    plan_only: bool
    assumed: Assumed
    check: bool = False


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
@writing_options("Output file or folder; by default beside the input.")
def command(
    inputs: tuple[str, ...],
    choice: TargetChoice,
    dims: dict[str, int],
    freeze: tuple[str, ...],
    plan_only: bool,
    check: bool,
    assumed: Assumed,
    call: Call,
) -> int:
    """Convert models to other operator set versions, all or nothing.

    INPUT is a file, a folder (all *.onnx and *.onnxtxt below it), a pattern, or - for stdin. The result is written
    beside the input as <name>-opset<version>.onnx unless -o or --in-place says otherwise. A model that cannot be
    converted without losing meaning is refused: every node that prevents it is listed, and nothing is written. Without
    --to, --release or --for, a model keeps its opsets, and --ir-version, --freeze or --dim change it.
    """
    target = choice.target(call.known.registry(), keeps_opsets=bool(dims or freeze))
    return convert_files(inputs, call, Settings(target, dims, freeze, plan_only or check, assumed, check))


def convert_files(inputs: tuple[str, ...], call: Call, settings: Settings) -> int:
    """Convert the models that a verb is given, report on each, and return the exit status."""
    plan_only = settings.plan_only

    def write(report: ModelReport[ConversionReport], stream: IO[str], quiet: bool) -> None:
        refused = report.status == "refused"
        errors = stream if plan_only and refused else sys.stderr
        result = report.result
        lines = [*_result_lines(report)] if not quiet and (plan_only or not refused) else []
        write_report(report, lines, stream, errors)
        if refused and result is not None:
            errors.write(f"{refusal_line(result.nodes)}\n")

    reporting = Reporting(write, headline)
    return process_files(inputs, call, VERB, convert_file, settings, reporting, writes=not plan_only)


def convert_file(source: Input, settings: Settings, call: Call, registry: Registry) -> ModelReport[ConversionReport]:
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
    if conversion.model is not None:
        status = "unchanged" if not conversion.changes else "planned" if settings.plan_only else "converted"
        if not settings.plan_only and not call.can_skip_writing(conversion.changes):
            opsets = settings.target.opsets or conversion.target
            reached = {domain: conversion.target.get(domain, version) for domain, version in opsets.items()}
            suffix = LOWERED if settings.target.lowered else suffix_of(reached)
            path = call.write_result(conversion.model, source, suffix, conversion.notes)
    result = conversion_report(conversion, places=call.has_data)
    findings = conversion.refusals.in_file(source.path)
    failed = status == "refused" or (status == "planned" and settings.check)
    return ModelReport(source.path, path, result, findings, status, int(failed))


def _result_lines(report: ModelReport[ConversionReport]) -> Iterator[str]:
    """Yield the lines about a conversion, nothing if it failed."""
    if report.result is not None:
        yield headline(report.result)
        yield from report_lines(report.result)
        if report.status == "unchanged":
            yield "  nothing to convert: the model is there already"
