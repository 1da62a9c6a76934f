"""The description of a model: its contents, the versions that it could have, the releases of runtimes that take it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from opset.budget import BudgetExceeded, Limits
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
from opset.errors import LONGEST, ModelError, escape_text, listing, safe_text
from opset.file_names import list_paths
from opset.html_text import Table, html_of, one_line
from opset.model import load
from opset.model.model_version import ModelVersion
from opset.model.storage.container import Model
from opset.opsets.registry import Registry, Schemas, registry_with
from opset.options import checked_options
from opset.schemas.names import domain_name
from opset.version_converter.availability import notes_on_domains
from opset.version_converter.runtime_survey import RuntimeAnswer, releases_text, survey_runtimes
from opset.version_converter.survey import Survey
from opset.version_converter.targets import Target


class LowestVersion(NamedTuple):
    """The lowest version of a domain to which the model can be converted, None if there is none.

    `why` says why the next lower one is refused, "" if there is no lower one.
    """

    domain: str
    version: int | None
    why: str


@dataclass(frozen=True, repr=False)
class ModelDescription:
    """The contents of a model, the lowest versions that it could have, and which releases of runtimes take it.

    `model_version` is "1.2.3", or "7" if it is a plain number, "0" without one. Notes name facts that are not known,
    and why.
    """

    ir_version: int
    model_version: str
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
    lowest_ir_version: int | None
    lowest_opsets: Sequence[LowestVersion]
    runtimes: Sequence[RuntimeAnswer]
    notes: Sequence[str]

    def __repr__(self) -> str:
        """Return one line with the imports, the IR version, and the numbers of nodes and of bytes of weights."""
        opsets = listing([f"{each.domain} {each.version}" for each in self.opsets], 5)
        size = sum(each.bytes for each in self.weights)
        text = f"{opsets}, IR version {self.ir_version}: {self.nodes:,} nodes, {size:,} bytes of weights"
        return one_line("ModelDescription", text)

    def _repr_html_(self) -> str:
        """Return a table for each part of the description, for notebooks."""
        tables = [
            Table("inputs", DescribedValue._fields, self.inputs),
            Table("outputs", DescribedValue._fields, self.outputs),
            Table("weights", WeightsOfType._fields, self.weights),
            Table("external data", ExternalData._fields, self.external_data),
            Table("operators", UsedOperator._fields, self.operators),
            Table("functions", CalledFunction._fields, self.functions),
            Table("lowest versions", LowestVersion._fields, self.lowest_opsets),
            Table(
                "runtimes",
                ("runtime", "as it is", "after a conversion"),
                [(each.runtime, releases_text(each.as_it_is), releases_text(each.converted)) for each in self.runtimes],
            ),
            Table("notes", (), [(note,) for note in self.notes]),
        ]
        return html_of(repr(self).strip("<>"), tables)


@checked_options
def info(
    model: Any,
    *,
    runtimes: Iterable[str] = (),
    schemas: Schemas = (),
    targets: Iterable[str | Path] = (),
    allow_external_roots: Iterable[str | Path] = (),
    limits: Limits | None = None,
) -> ModelDescription:
    """Return the contents of a model, the lowest versions that it could have, and which releases of runtimes take it.

    Args:
        model: A path, bytes, an opset.Model, or a ModelProto of the onnx package.
        runtimes: Names of runtimes, "tensorrt", "installed:onnxruntime", or one; by default all that are known.
        schemas: Folders of operator YAML, for domains of your own.
        targets: YAML files that describe further runtimes.
        allow_external_roots: Folders outside the model's own from which external data may be read.
        limits: How much the work may do; without them, that is in proportion to the model.

    Returns:
        The description; its notes name facts that are not known.

    Raises:
        ModelError: The model is malformed.
        SchemaError: A file in `schemas` or `targets` has faults.
        UsageError: A runtime is not known, or an installed one cannot be asked.
    """
    registry = registry_with(schemas)
    loaded = load(model, allow_external_roots=list_paths(allow_external_roots))
    return describe(loaded, registry, list_paths(runtimes), [*map(Path, list_paths(targets))], limits)


def describe(
    model: Model,
    registry: Registry,
    runtimes: Iterable[str] = (),
    files: Sequence[Path] = (),
    limits: Limits | None = None,
) -> ModelDescription:
    """Return the description of a model that was loaded, as `info` does.

    If the budget of `limits` is used up, or the model's data cannot be read, the lowest versions and runtimes that were
    not found are left out, and a note says so.

    Args:
        model: The model.
        registry: The known operators.
        runtimes: Names of runtimes; by default all that are known.
        files: YAML files that describe further runtimes.
        limits: How much the work may do.
    """
    survey = Survey(model, registry, limits)
    index, proto = survey.index, model.proto
    operators, functions = count_operators(index, registry)
    notes = notes_on_domains(survey.index, registry)
    lowest_ir: int | None = None
    lowest: list[LowestVersion] = []
    answers: list[RuntimeAnswer] = []
    try:
        lowest_ir = survey.needed_ir[0]
        lowest = [_lowest_version(survey, domain) for domain in index.opsets if domain in registry.domains]
        answers = survey_runtimes(survey, runtimes, files)
    except BudgetExceeded as exhausted:
        notes.append(f"which versions and runtimes the model fits was not found: {exhausted.why}")
    except ModelError as error:
        if not error.code.startswith("M2"):
            raise
        notes.append(f"which versions and runtimes the model fits was not found: {error.message} ({error.code})")
    if answers and not survey.is_exact:
        notes.append("nodes that differ in constants of floating point alone count as equal")
    return ModelDescription(
        ir_version=proto.ir_version,
        model_version=str(ModelVersion.of(proto.model_version)),
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
        lowest_ir_version=lowest_ir,
        lowest_opsets=lowest,
        runtimes=answers,
        notes=[*map(escape_text, (*index.notes, *notes))],
    )


def _lowest_version(survey: Survey, domain: str) -> LowestVersion:
    """Return the lowest version of a domain to which a model can be converted while the versions of other domains stay.

    Versions are tried from 1 on. `why` is the first reason why the version below is refused. The version is None if the
    model cannot even be converted to its own version, or the newest known one.
    """
    why = ""
    for version in range(1, min(survey.index.opsets[domain], survey.registry.domains[domain]) + 1):
        refusals = survey.convert(Target({domain: version})).refusals
        if not refusals:
            return LowestVersion(escape_text(domain_name(domain)), version, why)
        finding = refusals[0][0]
        why = safe_text(f"{finding.message}: {finding.why}" if finding.why else finding.message, LONGEST)
    return LowestVersion(escape_text(domain_name(domain)), None, why)
