"""`opset extract`: cuts the part of a model that computes some values from others, or adds outputs to a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

import click

from opset.cli.batch import Reporting, Verb, VerbCall, load_input, process_files, write_report, writing_options
from opset.cli.inputs import Input
from opset.cli.records import ModelReport
from opset.composition.extraction import Extraction, Wanted, extract_part
from opset.errors import SHOWN, FindingList, brief_name, safe_text
from opset.opsets.registry import Registry
from opset.plain_text import count_text

SUFFIX = "part"
WORDS = {"extracted": "extracted", "failed": "failed"}
VERB = Verb(WORDS, "the model was not extracted from", ("inference.py",), "I401")


@dataclass(frozen=True)
class ExtractionReport:
    """The graph or function that a part is from, its inputs and outputs with types, nodes, functions, and notes."""

    graph: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    types: Mapping[str, str]
    nodes: int
    nodes_before: int
    functions: Sequence[str]
    notes: Sequence[str]


@click.command(no_args_is_help=True)
@click.argument("models", nargs=-1, required=True, metavar="INPUT...")
@click.option("--inputs", multiple=True, metavar="NAME,...", help="Values that become inputs. Repeatable.")
@click.option("--outputs", multiple=True, metavar="NAME,...", help="Values that become outputs. Repeatable.")
@click.option(
    "--add-output",
    "add_outputs",
    multiple=True,
    metavar="NAME,...",
    help="Keep the whole model, with these outputs too.",
)
@click.option("--graph", default="", metavar="PATH", help="The graph that has the values, as messages name it.")
@click.option("--function", default="", metavar="NAME", help="The function that has the values.")
@writing_options("Output file or folder; by default beside the input.", pages=False)
def command(models: tuple[str, ...], call: VerbCall, **asked: Any) -> int:
    """Cut out the part of a model that computes some values from others, as a model of its own.

    INPUT is a file, a folder (*.onnx and models as text below it), a pattern, or - for stdin. The result is written
    beside the input as <name>-part.onnx unless -o or --in-place says otherwise. Without --inputs, the outputs decide;
    without --outputs, the graph's own are meant. A name is looked up in the main graph first, then in graphs in nodes
    and in functions. PATH is the end of a path that is enough to tell it from others:
    "node 'up1' (If), then_branch". A name that has commas is given alone.
    """
    names = {key: asked[key] or None for key in ("inputs", "outputs", "add_outputs")}
    return process_files(models, call, VERB, extract_file, Wanted(**{**asked, **names}), Reporting(_write_report))


def extract_file(source: Input, settings: Wanted, call: VerbCall, registry: Registry) -> ModelReport[ExtractionReport]:
    """Extract a part of one model, write it, and return the report."""
    extraction = extract_part(load_input(source, call.roots), settings, registry, call.limits)
    path = call.write_result(extraction.model, source, SUFFIX, extraction.notes)
    return ModelReport(source.path, path, _report(extraction), FindingList(), "extracted", 0)


def _report(extraction: Extraction) -> ExtractionReport:
    """Return the report of an extraction."""
    return ExtractionReport(
        extraction.body,
        extraction.inputs,
        extraction.outputs,
        extraction.types,
        extraction.nodes,
        extraction.nodes_before,
        extraction.functions,
        extraction.notes,
    )


def _write_report(report: ModelReport[ExtractionReport], stream: IO[str], quiet: bool) -> None:
    """Write the report of one model as text: the part to `stream`, errors to stderr."""
    result = None if quiet else report.result
    write_report(report, [] if result is None else _result_lines(result), stream)


def _result_lines(result: ExtractionReport) -> list[str]:
    """Return the lines about a part."""
    head = f"{result.nodes:,} of {count_text(result.nodes_before, 'node')} of {safe_text(result.graph)}"
    lines = [head]
    for word, names in (("input", result.inputs), ("output", result.outputs)):
        lines += [f"  {word:8}{brief_name(name)}: {safe_text(result.types[name])}" for name in names[:SHOWN]]
        lines += [f"  … and {len(names) - SHOWN:,} more {word}s"] if len(names) > SHOWN else []
    lines += [f"  function {name}" for name in result.functions[:SHOWN]]
    more = len(result.functions) - SHOWN
    lines += [f"  … and {more:,} more functions"] if more > 0 else []
    return [*lines, *(f"  note: {safe_text(note)}" for note in result.notes)]
