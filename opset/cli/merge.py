"""`opset merge`: joins two models into one, in which outputs of the first are inputs of the second."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, NamedTuple

import click

from opset.cli.batch import Reporting, Verb, VerbCall, load_input, process_files, write_report, writing_options
from opset.cli.inputs import STREAM, Input, parse_input
from opset.cli.records import ModelReport
from opset.cli.target_options import TargetChoice, target_options
from opset.composition.merging import Joint, Merging, merge_models
from opset.errors import SHOWN, Finding, FindingList, UsageError, brief_name, listing, safe_text
from opset.model.storage.container import Model
from opset.model.storage.external import leads_out, locations
from opset.opsets.registry import Registry
from opset.plain_text import count_text
from opset.schemas.names import domain_name

SUFFIX = "merged"
WORDS = {"merged": "merged", "failed": "failed"}
VERB = Verb(WORDS, "the models were not merged", ("adapters.py", "inference.py"))


class MergeSettings(NamedTuple):
    """The second model, and how the two are joined."""

    second: Input
    joint: Joint


class Connection(NamedTuple):
    """An output, or an input, of the first model, and the input of the second that takes it."""

    output: str
    input: str


class NewName(NamedTuple):
    """A name before, which model has it ("first" or "second"), and the name now."""

    model: str
    before: str
    after: str


@dataclass(frozen=True)
class MergingReport:
    """The connections, new names, the versions of the whole, and notes."""

    connected: Sequence[Connection]
    interface: Sequence[NewName]
    sizes: Sequence[NewName]
    functions: Mapping[str, str]
    values_renamed: int
    nodes_renamed: int
    nodes: int
    opsets: Mapping[str, int]
    ir_version: int
    notes: Sequence[str]


@click.command(no_args_is_help=True)
@click.argument("first", metavar="FIRST")
@click.argument("second", metavar="SECOND")
@click.option(
    "--connect",
    multiple=True,
    metavar="OUTPUT=INPUT",
    help="An output of FIRST, or an input that both share, and the input of SECOND that takes it. Repeatable.",
)
@click.option("--prefix", "prefixes", nargs=2, default=("", ""), metavar="A B", help="Prefixes for the names of each.")
@target_options
@writing_options("Output file; by default beside FIRST.", pages=False)
def command(
    first: str, second: str, connect: tuple[str, ...], prefixes: tuple[str, str], choice: TargetChoice, call: VerbCall
) -> int:
    """Join two models into one, in which outputs of FIRST are inputs of SECOND.

    FIRST and SECOND are files, also as text, or one of them - for stdin. The result is written beside FIRST as
    <name>-merged.onnx unless -o says otherwise. Both are brought to the greater opset of the two, or to the target.
    Names of SECOND that FIRST has get a number behind them, unless --prefix tells all names apart. Without --connect,
    outputs are connected to the inputs that have their names.
    """
    inputs = parse_input(first), parse_input(second)
    if all(each.path == STREAM for each in inputs):
        raise UsageError(Finding("U103", "one model can come from stdin, and not both", help="name a file"))
    asked = any((choice.to, choice.release, choice.runtime, choice.ir_version is not None, choice.inexact_types))
    target = choice.target(call.known.registry(), keeps_opsets=False) if asked else None
    pairs = [_parse_pair(text) for text in connect] or None
    joint = Joint(pairs, prefixes, target, (first, second))
    return process_files((first,), call, VERB, merge_file, MergeSettings(inputs[1], joint), Reporting(_write_report))


def _parse_pair(text: str) -> tuple[str, str]:
    """Return the names of `--connect OUTPUT=INPUT`. Raises BadParameter for another form."""
    output, _, name = text.rpartition("=")
    if not output or not name:
        raise click.BadParameter(f"{text!r} is not OUTPUT=INPUT", param_hint="'--connect'")
    return output, name


def merge_file(
    source: Input, settings: MergeSettings, call: VerbCall, registry: Registry
) -> ModelReport[MergingReport]:
    """Join one model with the second, write the whole, and return the report."""
    models = load_input(source, call.roots), load_input(settings.second, call.roots)
    merging = merge_models(*models, settings.joint, registry, call.limits)
    path = call.write_result(merging.model, source, SUFFIX, merging.notes)
    if call.external == "keep" and path != STREAM and (outside := _folders_outside(merging.model, path)):
        merging.notes.append(
            f"external data stays in {listing(outside)}: give --allow-external-root to read the result"
        )
    return ModelReport(source.path, path, _report(merging), FindingList(), "merged", 0)


def _folders_outside(whole: Model, path: str) -> list[str]:
    """Return the folders of external data that lie outside of the folder that a model was written to."""
    folder, own = whole.folder, os.path.dirname(path)
    if folder is None:
        return []
    led = (folder.location_from(own, each) for each in locations(whole.proto))
    found = {os.path.normpath(os.path.join(own, os.path.dirname(each))) for each in led if leads_out(each)}
    return sorted(found)


def _report(merging: Merging) -> MergingReport:
    """Return the report of a merging."""
    interface, sizes = (
        [
            NewName(model, before, after)
            for model, names in zip(("first", "second"), renamed, strict=True)
            for before, after in names.items()
        ]
        for renamed in (merging.interface, merging.sizes)
    )
    proto = merging.model.proto
    return MergingReport(
        [Connection(*pair) for pair in merging.connected],
        interface,
        sizes,
        merging.functions,
        merging.values,
        merging.nodes,
        len(proto.graph.node),
        {domain_name(domain): version for domain, version in merging.opsets.items()},
        proto.ir_version,
        merging.notes,
    )


def _write_report(report: ModelReport[MergingReport], stream: IO[str], quiet: bool) -> None:
    """Write the report as text: the whole to `stream`, errors to stderr."""
    result = None if quiet else report.result
    write_report(report, [] if result is None else _result_lines(result), stream)


def _result_lines(result: MergingReport) -> list[str]:
    """Return the lines about a whole."""
    opsets = ", ".join(f"{brief_name(domain)} {version}" for domain, version in result.opsets.items())
    lines = [f"{count_text(result.nodes, 'node')}, {opsets}, IR version {result.ir_version}"]
    entries = [f"  {brief_name(each.output)} -> {brief_name(each.input)}" for each in result.connected]
    entries += [
        f"  {brief_name(each.before)} of the {each.model} is called {brief_name(each.after)}"
        for each in result.interface
    ]
    entries += [
        f"  size {brief_name(each.before)} of the {each.model} is {brief_name(each.after)}" for each in result.sizes
    ]
    entries += [f"  function {name} is called {brief_name(new)}" for name, new in result.functions.items()]
    lines += entries if len(entries) <= SHOWN else [*entries[:SHOWN], f"  … and {len(entries) - SHOWN:,} more"]
    renamed = [
        count_text(number, word)
        for number, word in ((result.values_renamed, "value"), (result.nodes_renamed, "node"))
        if number
    ]
    lines += [f"  renamed: {', '.join(renamed)}"] if renamed else []
    return [*lines, *(f"  note: {safe_text(note)}" for note in result.notes)]
