"""`opset blockers`: what stands in the way of a target, by operator and reason, in one model or over many."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

import click

from opset.cli.assumed_opsets import Assumed, assume_option, load_assumed
from opset.cli.batch import Reporting, Verb, VerbCall, process_files, reading_options, write_report
from opset.cli.batch_reports import BatchReport, FindingTotal
from opset.cli.inputs import Input, dims_option, freeze_option
from opset.cli.output import FINDINGS_FORMATS
from opset.cli.records import ModelReport
from opset.cli.target_options import TargetChoice, target_options
from opset.errors import FindingList, brief_name, listing, safe_text
from opset.opsets.registry import Registry
from opset.plain_text import count_text, prose_lines
from opset.schemas.names import qualified_name
from opset.version_converter import Target, convert_model
from opset.version_converter.blockers import (
    Blocker,
    BlockersReport,
    BlockerSums,
    TotalBlocker,
    blockers_report,
    with_releases,
)
from opset.version_converter.report import ConversionReport, IrVersions, NodeCounts, headline, report_lines

WORDS = {"free": "free", "blocked": "blocked", "failed": "failed"}
VERB = Verb(WORDS, "what blocks the model was not found", ("adapters.py", "inference.py"))
INDENT = "    "
FEW_NAMES = 4
"""Blockers that the one line about one of many models names."""


class BlockersSettings(NamedTuple):
    """The settings for every model."""

    target: Target
    dims: dict[str, int | str]
    freeze: tuple[str, ...]
    assumed: Assumed


@dataclass(frozen=True)
class BlockersBatch(BatchReport):
    """The reports on all models of a call, and the blockers of all together."""

    blockers: Sequence[TotalBlocker] = ()


@click.command(no_args_is_help=True)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@target_options
@assume_option
@dims_option
@freeze_option
@reading_options(pages=True)
def command(
    inputs: tuple[str, ...],
    choice: TargetChoice,
    dims: dict[str, int | str],
    freeze: tuple[str, ...],
    assumed: Assumed,
    call: VerbCall,
) -> int:
    """Show what stands in the way of a target, by operator and reason, and what would be rewritten.

    INPUT is a file, a folder (*.onnx and models as text below it), a pattern, or - for stdin. The target is one of
    --to, --release and --for, as of `opset convert`. Of several models, the sum is shown below. Nothing is written. The
    exit status is 1 if a model cannot be converted.
    """
    sums = BlockerSums()

    def add(report: ModelReport[BlockersReport]) -> None:
        if report.result is not None:
            sums.add(report.result.blockers)

    def write(report: ModelReport[BlockersReport], stream: IO[str], quiet: bool) -> None:
        lines = [] if quiet or report.result is None else [*_report_lines(report.result)]
        write_report(report, lines, stream)

    def whole(
        models: Sequence[ModelReport[BlockersReport]],
        summary: Mapping[str, int],
        notes: Sequence[str],
        totals: Sequence[FindingTotal],
    ) -> BlockersBatch:
        return BlockersBatch(models, summary, notes, totals, sums.rows())

    target = choice.target(call.known.registry(), keeps_opsets=bool(dims or freeze))
    settings = BlockersSettings(target, dims, freeze, assumed)
    reporting = Reporting(write, _detail, add, _revive, whole)
    status = process_files(inputs, call, VERB, find_in_file, settings, reporting, writes=False)
    if call.form == "text" and not call.quiet and sums.models > 1:
        sys.stdout.writelines(f"{line}\n" for line in _total_lines(sums.rows()))
    return status


def find_in_file(
    source: Input, settings: BlockersSettings, call: VerbCall, registry: Registry
) -> ModelReport[BlockersReport]:
    """Return the report on what stands in the way of one model; its status is "blocked", or "free" if nothing does."""
    model, notes = load_assumed(source, call.roots, settings.assumed, registry, call.limits)
    target = settings.target
    conversion = convert_model(model, target, registry, settings.dims, call.limits, settings.freeze)
    conversion.notes[:0] = notes
    report = blockers_report(conversion, places=call.has_data)
    if target.runtime is not None and report.blockers:
        from opset.opsets.runtimes.names import later_releases

        report = with_releases(report, target, later_releases(target.runtime))
    status = "blocked" if conversion.refusals else "free"
    # Text and JSON have the blockers, which are refusals that are summed.
    findings = conversion.refusals.in_file(source.path) if call.form in FINDINGS_FORMATS else FindingList()
    return ModelReport(source.path, None, report, findings, status, int(status == "blocked"))


def _detail(report: BlockersReport) -> str:
    """Return what blocks a model, on one line."""
    names = [f"{_name_of(each)} ({each.nodes:,})" if each.operator else each.message for each in report.blockers]
    return listing(names, FEW_NAMES)


def _revive(data: Mapping[str, Any]) -> BlockersReport:
    """Return the blockers of a report that was made before, and nothing else of it."""
    blockers = [Blocker(**each) for each in data["blockers"]]
    return BlockersReport((), IrVersions(0, 0), blockers, (), (), (), NodeCounts(0, 0, 0, 0, 0))


def _report_lines(report: BlockersReport) -> Iterator[str]:
    """Yield the lines about one model: its versions, each blocker, and the nodes that would be rewritten."""
    blocked = sum(each.nodes for each in report.blockers)
    total = report.nodes.total
    what = "nothing stands in the way"
    if report.blockers:
        what = f"{blocked} of {count_text(total, 'node')} blocked" if blocked else "the model is blocked"
    conversion = ConversionReport(
        report.opsets, report.ir_version, report.rewritten, (), report.passed, report.notes, NodeCounts(0, 0, 0, 0, 0)
    )
    yield f"{headline(conversion)}: {what}"
    for each in report.blockers:
        yield from _blocker_lines(each)
    yield from report_lines(conversion)


def _blocker_lines(blocker: Blocker) -> Iterator[str]:
    """Yield the lines of one blocker: its operator and number of nodes, the reason, and what helps."""
    if blocker.operator:
        nodes = count_text(blocker.nodes, "node")
        first = f", the first is {safe_text(blocker.place)}" if blocker.nodes > 1 else f", {safe_text(blocker.place)}"
        version = f" {blocker.version}" if blocker.version else ""  # of an unknown operator there is none
        yield f"  {_name_of(blocker)}{version}: {nodes}{first}"
    else:
        yield f"  {safe_text(blocker.message)}: {safe_text(blocker.place)}"
    yield from _reason_lines(blocker)


def _total_lines(totals: Sequence[TotalBlocker]) -> Iterator[str]:
    """Yield the lines about the blockers of all models together."""
    for each in totals:
        name = _name_of(each) if each.operator else "beside nodes"
        nodes = f"{count_text(each.nodes, 'node')} in " if each.nodes else ""
        yield f"{name}: {nodes}{count_text(each.models, 'model')}"
        yield from _reason_lines(each)


def _reason_lines(blocker: Blocker | TotalBlocker) -> Iterator[str]:
    yield from prose_lines(f"{blocker.code} {safe_text(blocker.why)}", INDENT)
    if blocker.help:
        yield from prose_lines(f"help: {safe_text(blocker.help)}", INDENT)


def _name_of(blocker: Blocker | TotalBlocker) -> str:
    return brief_name(qualified_name(blocker.domain, blocker.operator))
