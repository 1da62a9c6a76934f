"""`opset convert`: converts models to other operator set versions, or reports what prevents it."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import click

from opset.cli import output
from opset.cli.batch import Call, Verb, load_input, process_files, writing_options
from opset.cli.inputs import STREAM, Input, dims_option, freeze_option, suffix_of
from opset.errors import safe_text
from opset.model.storage.external import odd_keys
from opset.opsets.registry import Registry
from opset.plain_text import style_text
from opset.version_converter import Target, convert_model, report, target_of
from opset.version_converter.targets import parse_versions

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


@click.command(no_args_is_help=True)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("--to", multiple=True, metavar="VERSION", help="Opset 21, or a domain's: ai.onnx.ml=3. Repeatable.")
@click.option("--release", metavar="RELEASE", help="The versions of an ONNX release: 1.15.")
@click.option("--for", "runtime", metavar="RUNTIME", help="The versions that a runtime accepts: onnxruntime==1.17.")
@click.option("--ir-version", type=int, metavar="N", help="IR version; without it, as high as needed and no higher.")
@click.option("--plan", "plan_only", is_flag=True, help="Only show what would happen.")
@dims_option
@freeze_option
@writing_options("Output file or folder; by default beside the input.")
def command(
    inputs: tuple[str, ...],
    to: tuple[str, ...],
    release: str | None,
    runtime: str | None,
    ir_version: int | None,
    dims: dict[str, int],
    freeze: tuple[str, ...],
    plan_only: bool,
    call: Call,
) -> int:
    """Convert models to other operator set versions, all or nothing.

    INPUT is a file, a folder (all *.onnx and *.onnxtxt below it), a pattern, or - for stdin. The result is written
    beside the input as <name>-opset<version>.onnx unless -o or --in-place says otherwise. A model that cannot be
    converted without losing meaning is refused: every node that prevents it is listed, and nothing is written.
    """
    target = target_of(
        parse_versions(to) if to else None,
        release=release,
        runtime=runtime,
        ir_version=ir_version,
        registry=call.known.registry(),
    )
    return convert_files(inputs, call, Settings(target, dims, freeze, plan_only))


def convert_files(inputs: tuple[str, ...], call: Call, settings: Settings) -> int:
    """Convert the models that a verb is given, report on each, and return the exit status."""
    plan_only = settings.plan_only

    def write(data: dict[str, Any], stream: Any, quiet: bool) -> None:
        _write_report(data, stream, quiet, plan_only)

    return process_files(inputs, call, VERB, convert_file, settings, write, writes=not plan_only)


def convert_file(source: Input, settings: Settings, call: Call, registry: Registry) -> dict[str, Any]:
    """Convert one model, write the result if it was not refused, and return the report."""
    model = load_input(source, call.roots)
    conversion = convert_model(model, settings.target, registry, settings.dims, call.limits, settings.freeze)
    conversion.refusals = conversion.refusals.in_file(source.path)
    odd_tensors = odd_keys(model.proto)
    conversion.notes += [f"{finding.place}: {finding.why} (opset explain {finding.code})" for finding in odd_tensors]
    conversion.notes += [f"{odd_tensors.omitted:,} more tensors have such keys"] if odd_tensors.omitted else []
    data = {"input": source.path, "output": None, **report.conversion_data(conversion, places=call.form == "json")}
    if conversion.model is None:
        return {**data, "status": "refused", "exit_status": 1}
    if settings.plan_only:
        return {**data, "status": "planned" if conversion.changes else "unchanged", "exit_status": 0}
    status = "converted" if conversion.changes else "unchanged"
    if call.can_skip_writing(bool(conversion.changes)):
        return {**data, "status": status, "exit_status": 0}
    reached = {domain: conversion.target.get(domain, version) for domain, version in settings.target.opsets.items()}
    name = suffix_of(reached) if reached else LOWERED
    path = call.write_result(conversion.model, source, name, data["notes"])
    return {**data, "output": path, "status": status, "exit_status": 0}


def _write_report(data: dict[str, Any], stream: Any, quiet: bool, plan_only: bool) -> None:
    """Write the report of one model as text: actions to `stream`, errors to stderr."""
    name = "stdin" if data["input"] == STREAM else safe_text(data["input"])
    errors = stream if plan_only and data["status"] == "refused" else sys.stderr
    if not quiet and data["status"] != "failed" and (plan_only or data["status"] != "refused"):
        stream.write(f"{style_text(name, 'bold', stream)}: {report.headline(data)}\n")
        stream.write("".join(f"{line}\n" for line in report.report_lines(data)))
        if data["status"] == "unchanged":
            stream.write("  nothing to convert: the model is there already\n")
        if data["output"] not in (None, STREAM):
            stream.write(f"  wrote {safe_text(data['output'])}\n")
    if "internal_error" in data:
        errors.write(f"{name}: {data['internal_error']}\n")
    elif data["errors"]:
        output.write_errors(output.findings_of(data), errors)
        if data["status"] == "refused":
            errors.write(f"{report.refusal_line(data)}\n")
