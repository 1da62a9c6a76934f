"""`opset infer`: reports and writes the types and shapes of a model's values, and reports gaps of the inference."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

import click

from opset.budget import ALLOW_MORE
from opset.cli import output
from opset.cli.batch import Call, Verb, load_input, process_files, writing_options
from opset.cli.inputs import STREAM, Input, dims_option, freeze_option
from opset.errors import LONGEST, FindingList, brief_name, listing, quote, safe_text
from opset.inference.building.types import Type
from opset.inference.engine.result import Inference, infer
from opset.model.graph.index import BodyLabels, node_label
from opset.opsets.registry import Registry
from opset.plain_text import style_text, table_lines

SUFFIX = "inferred"
WORDS = {"inferred": "inferred", "contradicted": "with contradictions", "failed": "failed"}
VERB = Verb(WORDS, "the model was not read", ("inference.py",), "I401")
FEW = 10
"""Number of nodes with gaps that are reported without --report."""


@dataclass(frozen=True)
class Settings:
    """The settings for every model."""

    dims: dict[str, int]
    freeze: tuple[str, ...]
    overwrite: bool
    strict: bool
    check_types: bool
    report: bool


@click.command(no_args_is_help=True)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@dims_option
@freeze_option
@click.option("--report", is_flag=True, help="Report the type of every value, node by node, and every gap.")
@click.option("--check-types", is_flag=True, help="Check inputs of nodes against the types that operators accept.")
@click.option("--overwrite", is_flag=True, help="Ignore the existing value_info and replace it.")
@click.option("--strict", is_flag=True, help="Write nothing if anything contradicts.")
@writing_options("Write the model with value_info to this path.")
def command(inputs: tuple[str, ...], call: Call, **asked: Any) -> int:
    """Infer the types and shapes of a model's values.

    INPUT is a file, a folder (all *.onnx and *.onnxtxt below it), a pattern, or - for stdin. Nothing is written
    without -o or --in-place. The exit status is 1 if a type that the model states contradicts the
    inferred one, or if a node does not fit its operator.
    """
    settings = Settings(**asked)

    def write(data: dict[str, Any], stream: Any, quiet: bool) -> None:
        _write_report(data, stream, quiet, settings.report)

    writes = call.in_place or call.given is not None
    return process_files(inputs, call, VERB, infer_file, settings, write, writes=writes)


def infer_file(source: Input, settings: Settings, call: Call, registry: Registry) -> dict[str, Any]:
    """Infer the types of one model, write it with them if an output is named, and return the report."""
    model = load_input(source, call.roots)
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
    data = {
        "input": source.path,
        "output": None,
        **inference_data(inference, settings.report),
        "notes": [*inference.notes],
    }
    if inference.stopped:
        data["notes"].append(f"inference stopped at {inference.stopped}; {ALLOW_MORE}")
    data |= output.findings_data(findings)
    if call.output is not None and not (settings.strict and findings):
        result = inference.written(settings.overwrite)
        if inference.left_out:
            data["notes"].append(f"{inference.left_out:,} types are not written: together they are too large")
        data["output"] = call.write_result(result, source, SUFFIX, data["notes"])
    return {**data, "status": "contradicted" if findings else "inferred", "exit_status": int(bool(findings))}


def _progress_writer() -> Callable[[int, int], None]:
    """Return a function that shows the number of inferred nodes on a terminal."""

    def show(done: int, total: int) -> None:
        sys.stderr.write(f"[{done:,}/{total:,} nodes]\r")
        sys.stderr.flush()

    return show


def inference_data(inference: Inference, everything: bool) -> dict[str, Any]:
    """Return an inference as plain data: coverage, gaps, and with `everything` the type of every value.

    Nodes and gaps refer to `graphs` by number, and values to `types`, since many share a long name or type.
    """
    labels = BodyLabels()
    data: dict[str, Any] = {}
    data["coverage"] = inference.coverage
    data["gaps"] = [
        {
            "graph": labels.number_of(body),
            "node": index,
            "place": body.node_label(index),
            "reason": reason,
            "values": [{"name": gap.value, "known": gap.known} for gap in gaps],
        }
        for (body, index, reason), gaps in groupby(inference.gaps, attrgetter("body", "index", "reason"))
    ]
    if everything:
        data |= _node_data(inference, labels)
    return {**data, "graphs": labels.labels}


def _node_data(inference: Inference, labels: BodyLabels) -> dict[str, Any]:
    """Return the types of the outputs of all nodes, which refer to a list of types by index."""
    nodes: list[dict[str, Any]] = []
    types: dict[Type, int] = {}
    for values in inference.by_node():
        body, index = values[0].body, values[0].index
        outputs = [
            {
                "name": value.name,
                "coverage": value.coverage,
                "type": None if value.type is None else types.setdefault(value.type, len(types)),
            }
            for value in values
        ]
        name, operator = body.names[index], body.operators[index][0]
        node = {"graph": labels.number_of(body), "node": index, "name": name, "operator": operator, "outputs": outputs}
        nodes.append(node)
    return {"nodes": nodes, "types": [*map(_type_data, types)]}


def _type_data(type_: Type) -> dict[str, Any]:
    """Return a type as plain data; the shape is None if it is unknown, or so long that the text is cut."""
    sizes = [each if each is None or isinstance(each, int) else str(each) for each in type_.shape or ()]
    stated = type_.shape is not None and sum(len(str(size)) for size in sizes) <= LONGEST
    return {"type": type_.text, "shape": sizes if stated else None, "shown": str(type_)}


def _write_report(data: dict[str, Any], stream: Any, quiet: bool, everything: bool) -> None:
    """Write the report of one model as text, errors to stderr."""
    name = "stdin" if data["input"] == STREAM else safe_text(data["input"])
    if not quiet and data["status"] != "failed":
        stream.write(f"{style_text(name, 'bold', stream)}: {_coverage_line(data['coverage'])}\n")
        stream.write("".join(f"{line}\n" for line in _report_lines(data, everything)))
    if "internal_error" in data:
        sys.stderr.write(f"{name}: {data['internal_error']}\n")
    elif data["errors"]:
        output.write_errors(output.findings_of(data))


_COVERAGE = {
    "known": "known in numbers",
    "symbolic": "with variables",
    "rank": "of known rank",
    "type": "of known type alone",
    "nothing": "not known",
}


def _coverage_line(coverage: Mapping[str, int]) -> str:
    """Return the number of values, and how well their types are known."""
    counts = [f"{coverage[each]:,} {words}" for each, words in _COVERAGE.items() if coverage[each]]
    total = sum(coverage.values())
    return f"{total:,} value{'s' * (total != 1)}: {', '.join(counts) or 'none'}"


def _report_lines(data: Mapping[str, Any], everything: bool) -> Iterator[str]:
    """Yield the lines of a report below its headline."""
    if everything and data["nodes"]:
        yield from table_lines([["value", "type", "where"], *_value_rows(data)])
    gaps = data["gaps"] if everything else data["gaps"][:FEW]
    if gaps:
        yield "  not known:"
        for gap in gaps:
            names = listing([value["name"] for value in gap["values"]], show=quote)
            why = safe_text(gap["reason"]) or "no reason is known"
            yield f"    {names} of {data['graphs'][gap['graph']]}, {gap['place']}: {why}"
        if len(gaps) < len(data["gaps"]):
            yield f"    and {len(data['gaps']) - len(gaps):,} more: --report"
    yield from (f"  {safe_text(note)}" for note in data["notes"])
    if data["output"] not in (None, STREAM):
        yield f"  wrote {safe_text(data['output'])}"


def _value_rows(data: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield name, type and place of every value of the report."""
    for node in data["nodes"]:
        where = f"{data['graphs'][node['graph']]}, {node_label(node['name'], node['operator'], node['node'])}"
        for value in node["outputs"]:
            shown = "?" if value["type"] is None else safe_text(data["types"][value["type"]]["shown"])
            yield [brief_name(value["name"]), shown, where]
