"""`opset show`: an operator at a version, the operators of an operator set, or the contents of a model."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from opset.catalog import changes, example_data, operator_set, schema_data
from opset.cli import output
from opset.cli.batch import load_input
from opset.cli.configuration import registry_for, schemas_option
from opset.cli.inputs import MODEL_SUFFIXES, STREAM, TEXT_STREAM, name_input, parse_input
from opset.cli.operator_sets import domain_with_versions, opset_lines
from opset.cli.operators import change_lines, example_lines, schema_lines, version_at, versions_of
from opset.description.contents import (
    CalledFunction,
    DescribedValue,
    ExternalData,
    Import,
    UsedOperator,
    WeightsOfType,
    count_operators,
    described_value,
    external_data_of,
    imports_of,
    producer_of,
    weights_of,
)
from opset.description.report import ModelDescription
from opset.errors import SHOWN, Finding, UsageError, brief_name, escape_text, quote, safe_text
from opset.model.graph.index import ModelIndex
from opset.opsets.registry import Registry
from opset.opsets.releases import RELEASES
from opset.plain_text import count_text, style_text, table_lines
from opset.schemas.example import example_versions
from opset.schemas.names import normalize_domain, qualified_name


@dataclass(frozen=True)
class ModelContents:
    """The contents of a model: its versions, its inputs and outputs, weights, and how often it uses operators."""

    model: str
    ir_version: int
    opsets: Sequence[Import]
    producer: str
    graph: str
    inputs: Sequence[DescribedValue]
    outputs: Sequence[DescribedValue]
    weights: Sequence[WeightsOfType]
    external_data: Sequence[ExternalData]
    nodes: int
    operators: Sequence[UsedOperator]
    functions: Sequence[CalledFunction]


@click.command(no_args_is_help=True)
@click.argument("what", metavar="OPERATOR[@VERSION]|DOMAIN|MODEL", required=False)
@click.argument("version", required=False, type=int)
@click.option("--domain", metavar="DOMAIN", help="Domain of the operator, or of --opset.")
@click.option("--opset", "at", type=int, metavar="N", help="A version of an operator set, of ai.onnx without --domain.")
@schemas_option
@output.format_option
def command(
    what: str | None, version: int | None, domain: str | None, at: int | None, folders: tuple[Path, ...], form: str
) -> int:
    """Show what an operator is, what a version of an operator set has, or what a model contains.

    OPERATOR is a name, Softmax or ai.onnx.ml.Scaler, and VERSION a version of its operator set, the newest by default:
    `show Softmax 12`, `show Softmax@12`. With DOMAIN, or with --opset alone, what the operator set has at that
    version: `show ai.onnx 17`, `show --opset 17`. MODEL is a file, or - for stdin; text:- is stdin with a model as
    text.
    """
    registry = registry_for(folders)
    what, version = _split_version(what, version, at)
    if what is None or (
        normalize_domain(what) in registry.domains and (version is not None or not os.path.exists(what))
    ):
        if what is not None and domain is not None:
            raise UsageError(Finding("U103", "a domain was given twice", help="leave out --domain"))
        name = what if what is not None else domain or ""
        last = registry.domains.get(normalize_domain(name), 1)
        at = last if version is None else version
        opset = operator_set(registry, domain_with_versions(registry, name, at), at)
        output.write_product(opset, lambda: opset_lines(opset), form)
        return 0
    if what in (STREAM, TEXT_STREAM) or what.endswith(MODEL_SUFFIXES) or os.path.exists(what):
        if version is not None or domain is not None:
            help = "a model has versions of its own; leave out VERSION and --domain"
            raise UsageError(Finding("U103", "a version or domain was given with a model", help=help))
        contents = _contents_of(what, registry)
        output.write_product(contents, lambda: _model_lines(contents), form)
        return 0
    versions = versions_of(registry, what, domain)
    schema = versions[-1] if version is None else version_at(registry, versions, version)
    examples = registry.examples(schema.name, schema.domain)
    holding = [each for each in examples if example_versions(each, [schema.since_version])]
    data = {
        **schema_data(registry, schema),
        "examples": [*map(example_data, holding)],
        "versions": [each.since_version for each in versions],
        "changes": changes(versions, registry.type_sets),
    }
    output.write_product(data, lambda: _operator_lines(data), form)
    return 0


def _split_version(what: str | None, version: int | None, at: int | None) -> tuple[str | None, int | None]:
    """Return the name to show and its version, which may follow an @, or be an argument or --opset.

    Raises UsageError U103 if there is more than one version, or nothing to show.
    """
    given = [each for each in (version, at) if each is not None]
    if what is not None and "@" in what and not os.path.exists(what):
        name, _, number = what.rpartition("@")
        if name and number.isascii() and number.isdigit() and len(number) < 10:
            what = name
            given.append(int(number))
        elif name:
            message = f"{quote(number)} is no version of an operator set"
            raise UsageError(Finding("U105", message, help="write a number: Softmax@13"))
    if len(given) > 1:
        raise UsageError(Finding("U103", "a version was given twice", help="leave one of them out"))
    if what is None and not given:
        raise UsageError(Finding("U103", "there is nothing to show", help="name an operator, a model, or --opset N"))
    return what, given[0] if given else None


def _operator_lines(data: Mapping[str, Any]) -> list[str]:
    """Return an operator as text."""
    title = style_text(safe_text(f"{data['operator']} {data['since']}"), "bold", sys.stdout)
    versions = ", ".join(map(str, data["versions"]))
    what = safe_text(f"({data['domain']}; versions {versions}; family {data['family']})")
    lines = [f"{title}  {what}", *schema_lines(data), *example_lines(data["examples"])]
    if data["changes"]:
        lines += ["", "changes"]
        lines += [line for change in reversed(data["changes"]) for line in change_lines(change)]
    return lines


def _contents_of(path: str, registry: Registry) -> ModelContents:
    """Return the contents of a model. Raises ModelError if it is malformed."""
    model = load_input(parse_input(path), ())
    proto = model.proto
    index = ModelIndex(proto, registry.domains)
    operators, functions = count_operators(index, registry)
    return ModelContents(
        model=path,
        ir_version=proto.ir_version,
        opsets=imports_of(index, registry),
        producer=producer_of(proto),
        graph=escape_text(proto.graph.name),
        inputs=[described_value(value) for value in proto.graph.input],
        outputs=[described_value(value) for value in proto.graph.output],
        weights=[*weights_of(index)],
        external_data=[*external_data_of(proto)],
        nodes=sum(len(body.nodes) for body in index.bodies),
        operators=operators,
        functions=functions,
    )


def _model_lines(contents: ModelContents) -> list[str]:
    """Return the contents of a model as text."""
    opsets = [
        f"{brief_name(domain)} {version}"
        + (f" of {newest}" if newest else " (no schemas)")
        + (f", since ONNX {release}" if release else "")
        for domain, version, newest, release in contents.opsets
    ]
    facts = [["IR version", _ir_text(contents.ir_version)]]
    facts += [["" if number else "opsets", each] for number, each in enumerate(opsets[:SHOWN])]
    facts += [["", f"… and {len(opsets) - SHOWN:,} more"]] if len(opsets) > SHOWN else []
    facts += [*content_rows(contents), ["nodes", f"{contents.nodes:,}"]]
    rows = operator_rows(contents.operators, contents.functions)
    name = name_input(contents.model)
    title = style_text(name, "bold", sys.stdout)
    return [title, *table_lines([fact for fact in facts if fact[1] or not fact[0]]), "", *table_lines(rows, right=[2])]


def _ir_text(version: int) -> str:
    """Return an IR version with the first release of onnx that has it."""
    release = next((each.name for each in RELEASES if each.ir >= version), "")
    return f"{version}, since ONNX {release}" if version and release else str(version)


def content_rows(contents: ModelContents | ModelDescription) -> list[list[str]]:
    """Return the rows of a table of facts: what wrote a model, its inputs, outputs, weights and external data."""
    rows = [["producer", brief_name(contents.producer)], ["graph", brief_name(contents.graph)]]
    rows += _value_rows("inputs", contents.inputs) + _value_rows("outputs", contents.outputs)
    weights = contents.weights
    tensors, elements = sum(each.tensors for each in weights), sum(each.elements for each in weights)
    size = count_text(sum(each.bytes for each in weights), "byte")
    types = ", ".join(f"{each.type} {count_text(each.bytes, 'byte')}" for each in weights)
    text = f"{tensors:,} with {elements:,} parameters, {size}: {types}"
    rows.append(["weights", text if tensors else "none"])
    for data in contents.external_data[:SHOWN]:
        what = f"{count_text(data.tensors, 'tensor')}, {count_text(data.bytes, 'byte')}"
        rows.append(["external data", f"{brief_name(data.location)}: {what}"])
    return rows


def _value_rows(title: str, values: Sequence[DescribedValue]) -> list[list[str]]:
    rows = [[brief_name(each.name), each.type or "of no stated type"] for each in values[:SHOWN]]
    lines = [[title if not number else "", " ".join(row)] for number, row in enumerate(rows)]
    return [*lines, ["", f"… and {len(values) - SHOWN:,} more"]] if len(values) > SHOWN else lines


def operator_rows(operators: Sequence[UsedOperator], functions: Sequence[CalledFunction]) -> list[list[str]]:
    """Return the rows of a table of operators and functions with the numbers of their nodes."""
    rows = [["operator", "since", "nodes"]]
    for domain, operator, since, nodes in operators:
        rows.append([brief_name(qualified_name(domain, operator)), str(since or "unknown"), str(nodes)])
    for domain, function, calls in functions:
        rows.append([brief_name(f"{domain}.{function}"), "function", str(calls)])
    return rows
