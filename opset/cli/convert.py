"""`opset convert`: converts models to other operator set versions, or reports what prevents it."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click

from opset.budget import Limits
from opset.cli import output
from opset.cli.batch import Work, conclude, opened, refuse_terminal, reports_of, save, writing
from opset.cli.configuration import Folders, folders_for, hooks_option
from opset.cli.inputs import STREAM, Input, Output, dims_option, expand, freeze_option, output_for, suffix
from opset.cli.limits import limits_options
from opset.errors import printable
from opset.model.external import odd_keys
from opset.opsets.registry import Registry
from opset.text import styled
from opset.version_converter import Target, converted, report, target_of
from opset.version_converter.targets import parse_versions

LOWERED = "lowered"
WORDS = {
    "converted": "converted",
    "unchanged": "already there",
    "planned": "can be converted",
    "refused": "refused",
    "failed": "failed",
}


class Settings(NamedTuple):
    """The settings for every model."""

    target: Target
    dims: dict[str, int]
    freeze: tuple[str, ...]
    limits: Limits
    external: str
    roots: tuple[Path, ...]
    plan_only: bool
    force: bool
    form: str
    quiet: bool
    output: Output = Output()


@click.command(no_args_is_help=True)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("--to", multiple=True, metavar="VERSION", help="Opset 21, or a domain's: ai.onnx.ml=3. Repeatable.")
@click.option("--release", metavar="RELEASE", help="The versions of an ONNX release: 1.15.")
@click.option("--for", "runtime", metavar="RUNTIME", help="The versions that a runtime accepts: onnxruntime==1.17.")
@click.option("--ir-version", type=int, metavar="N", help="IR version; without it, as high as needed and no higher.")
@click.option("--plan", "plan_only", is_flag=True, help="Only show what would happen.")
@dims_option
@freeze_option
@hooks_option
@limits_options
@writing("Output file or folder; by default beside the input.")
def command(
    inputs: tuple[str, ...], to: tuple[str, ...], release: str | None, runtime: str | None, ir_version: int | None,
    dims: dict[str, int], freeze: tuple[str, ...], limits: Limits, given: str | None, in_place: bool, force: bool,
    plan_only: bool, external: str, roots: tuple[Path, ...], folders: tuple[Path, ...], allow_hooks: bool | None,
    jobs: int, quiet: bool, form: str,
) -> int:  # fmt: skip
    """Convert models to other operator set versions, all or nothing.

    INPUT is a file, a folder (all *.onnx and *.onnxtxt below it), a pattern, or - for stdin. The result is written
    beside the input as <name>-opset<version>.onnx unless -o or --in-place says otherwise. A model that cannot be
    converted without losing meaning is refused with every node that stands in the way, and nothing is written.
    """
    known = folders_for(folders, allow_hooks)
    registry = known.registry()
    target = target_of(
        parse_versions(to) if to else None, release=release, runtime=runtime, ir_version=ir_version, registry=registry
    )
    settings = Settings(target, dims, freeze, limits, external, roots, plan_only, force, form, quiet)
    return run(inputs, settings, known, given, in_place, jobs)


def run(
    inputs: tuple[str, ...], settings: Settings, known: Folders, given: str | None, in_place: bool, jobs: int
) -> int:
    """Convert the inputs of a verb, report, and return the exit status."""
    quiet, form, plan_only = settings.quiet, settings.form, settings.plan_only
    models = expand(inputs, products=in_place or given is not None)
    where = output_for(given, in_place, models)
    if not plan_only:
        refuse_terminal(where)
    settings = settings._replace(output=where)
    # The report goes where the model does not.
    stream = sys.stderr if where.stream and not plan_only else sys.stdout

    def show(data: dict[str, Any]) -> None:
        if form == "text":
            _write(data, stream, quiet, plan_only)
        elif quiet and data["errors"]:
            output.write_errors(output.findings_of(data))

    notes = known.note_left_out(quiet, "adapters.py", "inference.py")
    reports = reports_of(models, partial(_start, settings, known), jobs, "the model was not converted", show)
    return conclude(reports, WORDS, form, quiet, stream, notes)


def _start(settings: Settings, folders: Folders) -> Work:
    return partial(_convert, settings=settings, registry=folders.registry())


def _convert(model: Input, settings: Settings, registry: Registry) -> dict[str, Any]:
    loaded = opened(model, settings.roots)
    made = converted(loaded, settings.target, registry, settings.dims, settings.limits, settings.freeze)
    made.refusals = made.refusals.in_file(model.path)
    odd = odd_keys(loaded.proto)
    made.notes += [f"{each.place}: {each.why} (opset explain {each.code})" for each in odd]
    made.notes += [f"{odd.omitted:,} more tensors have such keys"] if odd.omitted else []
    data = {"input": model.path, "output": None, **report.conversion_data(made, places=settings.form == "json")}
    if made.model is None:
        return {**data, "status": "refused", "exit_status": 1}
    if settings.plan_only:
        return {**data, "status": "planned" if made.changes else "unchanged", "exit_status": 0}
    status = "converted" if made.changes else "unchanged"
    if settings.output.in_place and not made.changes and settings.external in ("auto", "keep"):
        return {**data, "status": status, "exit_status": 0}
    reached = {domain: made.target.get(domain, version) for domain, version in settings.target.opsets.items()}
    name = suffix(reached) if reached else LOWERED
    path = save(
        made.model, model, name, settings.output, settings.roots, settings.external, settings.force,
        data["notes"],
    )  # fmt: skip
    return {**data, "output": path, "status": status, "exit_status": 0}


def _write(data: dict[str, Any], stream: Any, quiet: bool, plan_only: bool) -> None:
    """Write the report of one model as text: actions to `stream`, errors to stderr."""
    name = "stdin" if data["input"] == STREAM else printable(data["input"])
    errors = stream if plan_only and data["status"] == "refused" else sys.stderr
    if not quiet and data["status"] != "failed" and (plan_only or data["status"] != "refused"):
        stream.write(f"{styled(name, 'bold', stream)}: {report.head(data)}\n")
        stream.write("".join(f"{line}\n" for line in report.body(data)))
        if data["status"] == "unchanged":
            stream.write("  nothing to convert: the model is there already\n")
        if data["output"] not in (None, STREAM):
            stream.write(f"  wrote {printable(data['output'])}\n")
    if "internal_error" in data:
        errors.write(f"{name}: {data['internal_error']}\n")
    elif data["errors"]:
        output.write_errors(output.findings_of(data), errors)
        if data["status"] == "refused":
            errors.write(f"{report.verdict(data)}\n")

