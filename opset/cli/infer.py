"""`opset infer`: reports the types and shapes of a model's values, and where inference stops, and writes them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import click

from opset.budget import Limits
from opset.cli import output
from opset.cli.batch import Work, conclude, opened, refuse_terminal, reports_of, save, writing
from opset.cli.configuration import Folders, folders_for, hooks_option
from opset.cli.inputs import STREAM, Input, Output, dims_option, expand, output_for
from opset.cli.limits import limits_options
from opset.errors import Finding, printable
from opset.inference.result import ALLOW_MORE, Inference, infer
from opset.opsets.registry import Registry
from opset.text import columns, styled

SUFFIX = "inferred"
WORDS = {"inferred": "inferred", "contradicted": "with contradictions", "failed": "failed"}
FEW = 10
"""Number of gaps reported without --report."""


@dataclass(frozen=True)
class Settings:
    """The settings for every model."""

    output: Output | None
    dims: dict[str, int]
    overwrite: bool
    strict: bool
    check_types: bool
    report: bool
    external: str
    roots: tuple[Path, ...]
    force: bool
    limits: Limits
    progress: bool


@click.command(no_args_is_help=True)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@dims_option
@click.option("--report", is_flag=True, help="Report the type of every value, node by node, and every gap.")
@click.option("--check-types", is_flag=True, help="Check inputs of nodes against the types that operators accept.")
@click.option("--overwrite", is_flag=True, help="Ignore the existing value_info and replace it.")
@click.option("--strict", is_flag=True, help="Write nothing if anything contradicts.")
@hooks_option
@limits_options
@writing("Write the model with value_info to this path.")
def command(
    inputs: tuple[str, ...], dims: dict[str, int], given: str | None, in_place: bool, folders: tuple[Path, ...],
    allow_hooks: bool, jobs: int, quiet: bool, form: str, **asked: Any,
) -> int:  # fmt: skip
    """Infer the types and shapes of a model's values.

    INPUT is a file, a folder (all *.onnx below it), a pattern, or - for stdin. Nothing is written without -o or
    --in-place. The exit status is 1 if a type that the model states contradicts the inferred one, or if a node does
    not fit its operator.
    """
    known = folders_for(folders, allow_hooks)
    known.registry()  # what is wrong with the folders is reported once, before any model
    models = expand(inputs, products=in_place or given is not None)
    where = output_for(given, in_place, models) if in_place or given is not None else None
    if where is not None:
        refuse_terminal(where)
    stream = sys.stderr if where is not None and where.stream else sys.stdout
    progress = len(models) == 1 and sys.stderr.isatty() and not quiet
    settings = Settings(where, dims, **asked, progress=progress)

    def show(data: dict[str, Any]) -> None:
        if form == "text":
            _write(data, stream, quiet, settings.report)
        elif quiet and data["errors"]:
            output.write_errors(_findings(data))

    notes = known.note_left_out(quiet, "inference.py")
    reports = reports_of(models, partial(_start, settings, known), jobs, "the model was not read", show)
    return conclude(reports, WORDS, form, quiet, stream, notes)


def _start(settings: Settings, folders: Folders) -> Work:
    return partial(_infer, settings=settings, registry=folders.registry())


def _infer(model: Input, settings: Settings, registry: Registry) -> dict[str, Any]:
    loaded = opened(model, settings.roots)
    found = infer(
        loaded, dims=settings.dims, check_type=settings.check_types, overwrite=settings.overwrite,
        schemas=registry, limits=settings.limits, progress=_progress() if settings.progress else None,
    )  # fmt: skip
    findings = [finding.in_file(model.path) for finding in found.findings]
    data = {"input": model.path, "output": None, **report_data(found, settings.report), "notes": []}
    if found.stopped:
        data["notes"].append(f"inference stopped at {found.stopped}; {ALLOW_MORE}")
    data["errors"] = [finding._asdict() for finding in findings]
    if settings.output is not None and not (settings.strict and findings):
        made = found.written(settings.overwrite)
        if found.left_out:
            data["notes"].append(f"{found.left_out:,} types are not written: together they are too large")
        data["output"] = save(
            made, model, SUFFIX, settings.output, settings.roots, settings.external, settings.force, data["notes"]
        )
    return {**data, "status": "contradicted" if findings else "inferred", "exit_status": int(bool(findings))}


def _progress() -> Callable[[int, int], None]:
    def show(done: int, total: int) -> None:
        sys.stderr.write(f"[{done:,}/{total:,} nodes]\r")
        sys.stderr.flush()

    return show


def report_data(found: Inference, everything: bool) -> dict[str, Any]:
    """Return an inference as plain data: coverage, gaps, and with `everything` the type of every value."""
    data: dict[str, Any] = {
        "coverage": found.coverage,
        "gaps": [asdict(gap) for gap in found.gaps],
    }
    if everything:
        shown = cache(str)  # one text for each type: it may be long, and that of many values
        data["values"] = [
            {
                "name": value.name, "place": value.place, "operator": value.operator, "coverage": value.coverage,
                "type": value.type.text if value.type is not None else None,
                "shape": _plain(value.type.shape) if value.type is not None else None,
                "shown": shown(value.type) if value.type is not None else None,
            }
            for value in found.values()
        ]  # fmt: skip
    return data


def _plain(shape: Any) -> list[int | str | None] | None:
    return None if shape is None else [each if each is None or isinstance(each, int) else str(each) for each in shape]


def _findings(data: Mapping[str, Any]) -> list[Finding]:
    return [Finding(**each) for each in data["errors"]]


def _write(data: dict[str, Any], stream: Any, quiet: bool, everything: bool) -> None:
    name = "stdin" if data["input"] == STREAM else printable(data["input"])
    if not quiet and data["status"] != "failed":
        stream.write(f"{styled(name, 'bold', stream)}: {_head(data['coverage'])}\n")
        stream.write("".join(f"{line}\n" for line in _body(data, everything)))
    if "internal_error" in data:
        sys.stderr.write(f"{name}: {data['internal_error']}\n")
    elif data["errors"]:
        output.write_errors(_findings(data))


_COVERAGE = {
    "known": "known in numbers", "symbolic": "with variables", "rank": "of known rank", "type": "of known type alone",
    "nothing": "not known",
}  # fmt: skip


def _head(coverage: Mapping[str, int]) -> str:
    counts = [f"{coverage[each]:,} {words}" for each, words in _COVERAGE.items() if coverage[each]]
    return f"{sum(coverage.values()):,} values: {', '.join(counts) or 'none'}"


def _body(data: Mapping[str, Any], everything: bool) -> Iterator[str]:
    if everything and data["values"]:
        rows = [["value", "type", "where"]]
        rows += [[printable(each["name"]), printable(each["shown"] or "?"), each["place"]] for each in data["values"]]
        yield from columns(rows)
    gaps = data["gaps"] if everything else data["gaps"][:FEW]
    if gaps:
        yield "  not known:"
        yield from (
            f"    '{printable(gap['value'])}' of {gap['place']}: {printable(gap['reason']) or 'no reason is known'}"
            for gap in gaps
        )
        if len(gaps) < len(data["gaps"]):
            yield f"    and {len(data['gaps']) - len(gaps):,} more: --report"
    yield from (f"  {note}" for note in data["notes"])
    if data["output"] not in (None, STREAM):
        yield f"  wrote {printable(data['output'])}"
