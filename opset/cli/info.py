"""`opset info`: the contents of models, which versions they could have, and which releases of runtimes take them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import click

from opset.cli.batch import Reporting, Verb, VerbCall, load_input, process_files, reading_options, write_report
from opset.cli.configuration import target_files, target_option
from opset.cli.inputs import Input
from opset.cli.records import ModelReport
from opset.cli.show import content_rows, operator_rows
from opset.description.report import LowestVersion, ModelDescription, describe
from opset.errors import SHOWN, FindingList, brief_name, listing, safe_text
from opset.opsets.registry import Registry
from opset.opsets.runtimes.names import tables_with, verify_name
from opset.plain_text import count_text, prose_lines, table_lines
from opset.version_converter.runtime_survey import RuntimeAnswer, releases_text

WORDS = {"described": "described", "failed": "failed"}
VERB = Verb(WORDS, "the model was not described", ("adapters.py", "inference.py"))


class InfoSettings(NamedTuple):
    """The settings for every model: the runtimes that are named, and files of further ones."""

    runtimes: tuple[str, ...]
    files: tuple[Path, ...]


@click.command(no_args_is_help=True)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "--runtime",
    "runtimes",
    multiple=True,
    metavar="NAME",
    help="Only this runtime: tensorrt, installed:onnxruntime. Repeatable.",
)
@target_option
@reading_options(pages=False)
def command(inputs: tuple[str, ...], runtimes: tuple[str, ...], files: tuple[Path, ...], call: VerbCall) -> int:
    """Show the contents of a model, which versions it could have, and which releases of runtimes take it.

    INPUT is a file, a folder (*.onnx and models as text below it), a pattern, or - for stdin. Shown are inputs and
    outputs, weights, files of external data, operators, the lowest opsets and IR version to which the model can be
    converted, and the releases that take it as it is, and after `opset convert --for`. Nothing is written, and weights
    are not read.
    """
    known = target_files(files)
    tables = tables_with(known)
    for name in runtimes:
        verify_name(name, tables)
    reporting = Reporting(_write_report, _detail)
    return process_files(inputs, call, VERB, describe_file, InfoSettings(runtimes, known), reporting, writes=False)


def describe_file(
    source: Input, settings: InfoSettings, call: VerbCall, registry: Registry
) -> ModelReport[ModelDescription]:
    """Return the report on one model."""
    model = load_input(source, call.roots)
    description = describe(model, registry, settings.runtimes, settings.files, call.limits)
    return ModelReport(source.path, None, description, FindingList(), "described", 0)


def _detail(model: ModelDescription) -> str:
    """Return the versions and the size of a model, on one line."""
    versions = [f"{each.domain} {each.version}" for each in model.opsets]
    return f"{listing(versions, SHOWN)}, IR version {model.ir_version}, {count_text(model.nodes, 'node')}"


def _write_report(report: ModelReport[ModelDescription], stream: IO[str], quiet: bool) -> None:
    lines = [] if quiet or report.result is None else [*_report_lines(report.result)]
    write_report(report, lines, stream)


def _report_lines(model: ModelDescription) -> Iterator[str]:
    """Yield the lines about one model: versions and contents, operators, runtimes, notes."""
    opsets = [f"{brief_name(each.domain)} {each.version}" for each in model.opsets]
    yield f"{listing(opsets, SHOWN)}, IR version {model.ir_version}: {count_text(model.nodes, 'node')}"
    facts = content_rows(model)
    facts += [["model version", model.model_version]] if model.model_version != "0" else []
    lowest = [_lowest_text(each) for each in model.lowest_opsets]
    lowest += [f"IR version {model.lowest_ir_version}"] if model.lowest_ir_version is not None else []
    facts.append(["could have", listing(lowest, SHOWN)])
    yield from table_lines([fact for fact in facts if fact[1]])
    if model.operators or model.functions:
        yield ""
        yield from table_lines(operator_rows(model.operators, model.functions), right=[2])
    if model.runtimes:
        yield ""
        yield from _runtime_lines(model.runtimes)
    yield from (f"  note: {safe_text(note)}" for note in model.notes[:SHOWN])


def _lowest_text(lowest: LowestVersion) -> str:
    version = "no version" if lowest.version is None else str(lowest.version)
    return f"{brief_name(lowest.domain)} {version}"


def _runtime_lines(answers: Sequence[RuntimeAnswer]) -> Iterator[str]:
    """Yield a table of runtimes with the releases that take the model, and why the nearest others do not."""
    rows = [["runtime", "as it is", "after a conversion"]]
    for each in answers:
        name = each.runtime if each.lists_operators else f"{each.runtime} (operators are not known)"
        texts = (releases_text(ranges, each.lists_operators) for ranges in (each.as_it_is, each.converted))
        rows.append([name, *(text or "-" for text in texts)])
    yield from table_lines(rows)
    for each in answers:
        if each.obstacle is not None:
            refused = each.obstacle
            why = f"{refused.message}: {refused.why}" if refused.why else refused.message
            yield from prose_lines(f"not {each.runtime} {refused.release}: {safe_text(why)}", "  ")
