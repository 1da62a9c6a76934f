"""`opset convert`: moves models to other operator set versions, or says what stands in the way."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from opset.cli import output
from opset.cli.configuration import all_folders, schemas_option
from opset.cli.inputs import STREAM, Input, Output, expand, output_for
from opset.errors import Finding, OpsetError, UsageError, printable
from opset.model import Model, load, write_stream
from opset.model.external import is_external, odd_keys, tensors
from opset.model.writing import MODES
from opset.opsets.imports import imports_of
from opset.opsets.registry import Registry, registry_with
from opset.text import styled
from opset.version_converter import Target, apply, report, target_of
from opset.version_converter.planning import plan
from opset.version_converter.targets import parse_versions, within

INTERNAL = 70
WORDS = {
    "converted": "converted",
    "unchanged": "already there",
    "planned": "can be converted",
    "refused": "refused",
    "failed": "failed",
}


@dataclass(frozen=True)
class Settings:
    """What is asked of every model."""

    target: Target
    output: Output
    external: str
    roots: tuple[Path, ...]
    plan_only: bool
    force: bool


@click.command(no_args_is_help=True)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("--to", multiple=True, metavar="VERSION", help="Opset 21, or a domain's: ai.onnx.ml=3. Repeatable.")
@click.option("--release", metavar="RELEASE", help="The versions of an ONNX release: 1.15.")
@click.option("--for", "runtime", metavar="RUNTIME", help="What a runtime takes: onnxruntime==1.17.")
@click.option("--ir-version", type=int, metavar="N", help="IR version; without it, as high as needed and no higher.")
@click.option("-o", "--output", "given", metavar="FILE|DIR|-", help="Where to; beside the input if not said.")
@click.option("--in-place", is_flag=True, help="Put the result in the input's place.")
@click.option("--force", is_flag=True, help="Overwrite an output that exists.")
@click.option("--plan", "plan_only", is_flag=True, help="Only show what would happen.")
@click.option("--external-data", "external", type=click.Choice(MODES), default="auto", show_default=True,
              help="What becomes of weights in files of their own.")
@click.option("--allow-external-root", "roots", type=click.Path(path_type=Path), multiple=True, metavar="DIR",
              help="Another folder that external data may lie in. Repeatable.")
@schemas_option
@click.option("-j", "--jobs", type=click.IntRange(min=1), default=1, metavar="N", help="Processes, for many inputs.")
@click.option("-q", "--quiet", is_flag=True, help="Write no report, errors alone.")
@output.format_option
def command(
    inputs: tuple[str, ...], to: tuple[str, ...], release: str | None, runtime: str | None, ir_version: int | None,
    given: str | None, in_place: bool, force: bool, plan_only: bool, external: str, roots: tuple[Path, ...],
    folders: tuple[Path, ...], jobs: int, quiet: bool, form: str,
) -> int:  # fmt: skip
    """Move models to other operator set versions, all or nothing.

    INPUT is a file, a folder (all *.onnx below it), a pattern, or - for stdin. The result is written beside the input
    as <name>-opset<version>.onnx unless -o or --in-place says otherwise. A model that cannot be converted without
    losing meaning is refused with every node that stands in the way, and nothing is written.
    """
    # A conversion makes many small objects and few circles; looking for these took a tenth of the time.
    gc.set_threshold(200_000, 20, 20)
    folders = all_folders(folders)
    registry = registry_with(folders)
    target = target_of(
        parse_versions(to) if to else None, release=release, runtime=runtime, ir_version=ir_version, registry=registry
    )
    models = expand(inputs, products=in_place or given is not None)
    where = output_for(given, in_place, models)
    if where.stream and not plan_only and sys.stdout.isatty():
        help = "give -o FILE, or lead stdout elsewhere"
        raise UsageError(Finding("U104", "a model is not written to a terminal", help=help))
    settings = Settings(target, where, external, roots, plan_only, force)
    # The report goes where the model does not.
    stream = sys.stderr if where.stream and not plan_only else sys.stdout
    reports = []
    jobs = min(jobs, len(models)) if Input(STREAM) not in models else 1  # other processes have no stdin
    results = (convert_one(model, settings, registry) for model in models)
    if jobs > 1:
        from opset.cli.processes import spread

        results = spread(partial(_start, settings, folders), models, jobs, _lost)
    with closing(results):
        for data in results:
            reports.append(data)
            if form == "text":
                _write(data, stream, quiet, plan_only)
            elif quiet and data["errors"]:
                output.write_errors(report.findings(data))
            if 1 < len(reports) < len(models) and sys.stderr.isatty():
                sys.stderr.write(f"[{len(reports)}/{len(models)}]\r")
                sys.stderr.flush()
    summary = _summary(reports)
    if form == "json" and not quiet:
        output.write_product({"models": reports, "summary": summary}, list, form, stream)
    elif len(models) > 1 and not quiet:
        counts = ", ".join(f"{summary[status]} {word}" for status, word in WORDS.items() if summary[status])
        stream.write(f"{summary['models']} models: {counts}\n")
    return summary["exit_status"]


def _start(settings: Settings, folders: tuple[Path, ...]) -> Callable[[Input], dict[str, Any]]:
    return partial(convert_one, settings=settings, registry=registry_with(folders))


def _lost(model: Input) -> dict[str, Any]:
    why = "the process that worked on it was killed, perhaps for want of memory"
    finding = Finding("M101", "the model was not converted", why=why, help="use fewer processes: -j 1", file=model.path)
    return _failed(model.path, [finding], INTERNAL)


def convert_one(model: Input, settings: Settings, registry: Registry) -> dict[str, Any]:
    """Convert one model, write it if that is asked, and give the report of it; errors are part of the report."""
    try:
        return _convert(model, settings, registry)
    except OpsetError as error:
        return _failed(model.path, [finding.in_file(model.path) for finding in error.findings], error.exit_status)
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except Exception as error:
        return {**_failed(model.path, [], INTERNAL), "internal_error": output.internal_error(error)}


def _convert(model: Input, settings: Settings, registry: Registry) -> dict[str, Any]:
    loaded = load(sys.stdin.buffer if model.path == STREAM else model.path, allow_external_roots=settings.roots)
    target = within(settings.target, imports_of(loaded.proto, "opset_import", registry))
    made = plan(loaded, target, registry)
    made.refusals = [finding.in_file(model.path) for finding in made.refusals]
    made.notes += [f"{odd.place}: {odd.why} (opset explain {odd.code})" for odd in odd_keys(loaded.proto)]
    data = {"input": model.path, "output": None, **report.plan_data(made)}
    if made.refusals:
        return {**data, "status": "refused", "exit_status": 1}
    if settings.plan_only:
        return {**data, "status": "planned" if made.changes else "unchanged", "exit_status": 0}
    status = "converted" if made.changes else "unchanged"
    if settings.output.in_place and not made.changes and settings.external in ("auto", "keep"):
        return {**data, "status": status, "exit_status": 0}
    path = settings.output.path(model, {domain: made.target.get(domain, v) for domain, v in target.opsets.items()})
    _save(apply(made), path, settings, data)
    return {**data, "output": path, "status": status, "exit_status": 0}


def _save(model: Model, path: str, settings: Settings, data: dict[str, Any]) -> None:
    if path == STREAM:
        write_stream(model, sys.stdout.buffer, external=settings.external)
        if settings.external != "inline" and any(map(is_external, tensors(model.proto))):
            data["notes"].append("external data is not part of the stream; it stays where it is")
        return
    if settings.output.folder:
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        except OSError as error:
            why = error.strerror or str(error)
            raise UsageError(Finding("U104", "the folder cannot be made", why=why, file=path)) from error
    in_place = settings.output.in_place
    if in_place and not settings.force and settings.external == "move" and os.path.lexists(f"{path}.data"):
        # Asked to replace the model, not a data file that happens to be there.
        raise UsageError(Finding("U102", "the output exists already", help="allow it: --force", file=f"{path}.data"))
    model.save(path, external=settings.external, force=settings.force or in_place)


def _failed(path: str, findings: list[Finding], exit_status: int) -> dict[str, Any]:
    return {
        "input": path, "output": None, "errors": [asdict(finding) for finding in findings],
        "status": "failed", "exit_status": exit_status,
    }  # fmt: skip


def _write(data: dict[str, Any], stream: Any, quiet: bool, plan_only: bool) -> None:
    """Write the report of one model as text: what happened to `stream`, what went wrong to stderr."""
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
        output.write_errors(report.findings(data), errors)
        if data["status"] == "refused":
            errors.write(f"{report.verdict(data)}\n")


def _summary(reports: list[dict[str, Any]]) -> dict[str, int]:
    counts = Counter(data["status"] for data in reports)
    return {
        "models": len(reports),
        **{status: counts[status] for status in WORDS},
        "exit_status": max(data["exit_status"] for data in reports),
    }
