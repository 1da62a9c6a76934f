"""`opset infer`: reports and writes the types and shapes of a model's values, and reports gaps of the inference."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import IO, Any, NamedTuple

import click

from opset.budget import ALLOW_MORE
from opset.cli.assumed_opsets import Assumed, assume_option, load_assumed
from opset.cli.batch import Reporting, Verb, VerbCall, process_files, write_report, writing_options
from opset.cli.inputs import Input, dims_option, freeze_option
from opset.cli.records import ModelReport
from opset.errors import LONGEST, FindingList, brief_name, listing, quote, safe_text
from opset.inference.building.types import Type
from opset.inference.engine.result import COVERAGE_WORDS, Inference, infer
from opset.model.graph.index import BodyLabels, node_label
from opset.opsets.registry import Registry
from opset.plain_text import table_lines

SUFFIX = "inferred"
WORDS = {"inferred": "inferred", "contradicted": "with contradictions", "failed": "failed"}
VERB = Verb(WORDS, "the model was not read", ("inference.py",), "I401")
FEW = 10
"""Number of nodes with gaps that are reported without --values."""


@dataclass(frozen=True)
class InferSettings:
    """The settings for every model."""

    dims: dict[str, int | str]
    freeze: tuple[str, ...]
    assumed: Assumed
    overwrite: bool
    strict: bool
    check_types: bool
    values: bool


class GapValue(NamedTuple):
    """A value at a gap, and how much of its type is known."""

    name: str
    known: str


class NodeGap(NamedTuple):
    """A node at which inference stops: its graph as a number in `graphs`, its index, its path, why, and its values."""

    graph: int
    node: int
    place: str
    reason: str
    values: Sequence[GapValue]


class NodeOutput(NamedTuple):
    """An output of a node: how much of its type is known, and the number of its type in `types`, None without one."""

    name: str
    coverage: str
    type: int | None


class InferredNode(NamedTuple):
    """A node: its graph as a number in `graphs`, its index, its name, its operator, and its outputs."""

    graph: int
    node: int
    name: str
    operator: str
    outputs: Sequence[NodeOutput]


class InferredType(NamedTuple):
    """A type, its shape, None if that is unknown or long, and the whole as text."""

    type: str | None
    shape: Sequence[int | str | None] | None
    shown: str


@dataclass(frozen=True, kw_only=True)
class InferenceReport:
    """How many values are known, gaps, with --values the type of every value, and notes.

    Nodes and gaps refer to `graphs` by number, and values to `types`, since many share a long name or type.
    """

    coverage: Mapping[str, int]
    gaps: Sequence[NodeGap]
    nodes: Sequence[InferredNode] | None = None
    types: Sequence[InferredType] | None = None
    graphs: Sequence[str]
    notes: Sequence[str]


@click.command(no_args_is_help=True)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@dims_option
@freeze_option
@assume_option
@click.option("--values", is_flag=True, help="Report the type of every value, node by node, and every gap.")
@click.option("--check-types", is_flag=True, help="Check inputs of nodes against the types that operators accept.")
@click.option("--overwrite", is_flag=True, help="Ignore the existing value_info and replace it.")
@click.option("--strict", is_flag=True, help="Write nothing if anything contradicts.")
@writing_options("Write the model with value_info to this path.")
def command(inputs: tuple[str, ...], call: VerbCall, **asked: Any) -> int:
    """Infer the types and shapes of a model's values.

    INPUT is a file, a folder (*.onnx and models as text below it), a pattern, or - for stdin. Nothing is written
    without -o or --in-place. The exit status is 1 if a type that the model states contradicts the
    inferred one, or if a node does not fit its operator.
    """
    settings = InferSettings(**asked)

    writes = call.in_place or call.given is not None
    return process_files(inputs, call, VERB, infer_file, settings, Reporting(_write_report, _detail), writes=writes)


def infer_file(
    source: Input, settings: InferSettings, call: VerbCall, registry: Registry
) -> ModelReport[InferenceReport]:
    """Infer the types of one model, write it with them if an output is named, and return the report."""
    model, assumptions = load_assumed(source, call.roots, settings.assumed, registry, call.limits)
    inference = infer(
        model,
        dims=settings.dims,
        check_type=settings.check_types,
        overwrite=settings.overwrite,
        schemas=registry,
        limits=call.limits,
        freeze=settings.freeze,
        progress=_progress_writer() if call.alone and not call.quiet and sys.stderr.isatty() else None,
    )
    findings = FindingList(inference.findings, inference.omitted).in_file(source.path)
    notes = [*assumptions, *inference.notes]
    if inference.stopped:
        notes.append(f"inference stopped at {inference.stopped}; {ALLOW_MORE}")
    path = None
    if call.output is not None and not (settings.strict and findings):
        result = inference.written(settings.overwrite)
        if inference.left_out:
            notes.append(f"{inference.left_out:,} types are not written: together they are too large")
        path = call.write_result(result, source, SUFFIX, notes)
    report = _inference_report(inference, notes, settings.values)
    status = "contradicted" if findings else "inferred"
    return ModelReport(source.path, path, report, findings, status, int(bool(findings)))


def _progress_writer() -> Callable[[int, int], None]:
    """Return a function that shows the number of inferred nodes on a terminal."""

    def show(done: int, total: int) -> None:
        sys.stderr.write(f"[{done:,}/{total:,} nodes]\r")
        sys.stderr.flush()

    return show


def _inference_report(inference: Inference, notes: Sequence[str], everything: bool) -> InferenceReport:
    """Return the report of an inference, with the type of every value if `everything` is true."""
    labels = BodyLabels()
    gaps = []
    for (body, index, reason), group in groupby(inference.gaps, attrgetter("body", "index", "reason")):
        values = [GapValue(gap.value, gap.known) for gap in group]
        gaps.append(NodeGap(labels.number_of(body), index, body.node_label(index), reason, values))
    nodes, types = _typed_nodes(inference, labels) if everything else (None, None)
    return InferenceReport(
        coverage=inference.coverage, gaps=gaps, nodes=nodes, types=types, graphs=labels.labels, notes=notes
    )


def _typed_nodes(inference: Inference, labels: BodyLabels) -> tuple[list[InferredNode], list[InferredType]]:
    """Return all nodes with their outputs, and the types to which these refer by number."""
    nodes: list[InferredNode] = []
    types: dict[Type, int] = {}
    for values in inference.by_node():
        body, index = values[0].body, values[0].index
        outputs = []
        for value in values:
            number = None if value.type is None else types.setdefault(value.type, len(types))
            outputs.append(NodeOutput(value.name, value.coverage, number))
        nodes.append(InferredNode(labels.number_of(body), index, body.names[index], body.operators[index][0], outputs))
    shown = []
    for type_ in types:
        sizes = [each if each is None or isinstance(each, int) else str(each) for each in type_.shape or ()]
        # The text of a long shape is cut.
        stated = type_.shape is not None and sum(len(str(size)) for size in sizes) <= LONGEST
        shown.append(InferredType(type_.text, sizes if stated else None, str(type_)))
    return nodes, shown


def _write_report(report: ModelReport[InferenceReport], stream: IO[str], quiet: bool) -> None:
    """Write the report of one model as text, errors to stderr."""
    result = None if quiet else report.result
    write_report(report, [] if result is None else [*_report_lines(result)], stream)


def _detail(report: InferenceReport) -> str:
    """Return how many values are known, on one line."""
    return next(_report_lines(report))


def _report_lines(report: InferenceReport) -> Iterator[str]:
    """Yield the lines of a report."""
    counts = [f"{report.coverage[each]:,} {words}" for each, words in COVERAGE_WORDS.items() if report.coverage[each]]
    total = sum(report.coverage.values())
    yield f"{total:,} value{'s' * (total != 1)}: {', '.join(counts) or 'none'}"
    if report.nodes:
        yield from table_lines([["value", "type", "where"], *_value_rows(report)])
    gaps = report.gaps if report.nodes is not None else report.gaps[:FEW]
    if gaps:
        yield "  not known:"
        for gap in gaps:
            names = listing([value.name for value in gap.values], show=quote)
            why = safe_text(gap.reason) or "no reason is known"
            yield f"    {names} of {report.graphs[gap.graph]}, {gap.place}: {why}"
        if len(gaps) < len(report.gaps):
            yield f"    and {len(report.gaps) - len(gaps):,} more: --values"
    yield from (f"  {safe_text(note)}" for note in report.notes)


def _value_rows(report: InferenceReport) -> Iterator[list[str]]:
    """Yield name, type and place of every value of the report."""
    for node in report.nodes or ():
        where = f"{report.graphs[node.graph]}, {node_label(node.name, node.operator, node.node)}"
        for value in node.outputs:
            shown = "?" if value.type is None or report.types is None else safe_text(report.types[value.type].shown)
            yield [brief_name(value.name), shown, where]
