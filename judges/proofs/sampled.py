"""Proofs by samples: examples of the YAML and drawn nodes, before and after.

The node tests of the standard, and many more drawn nodes, are run by the judges `matrix`, `lowerings` and `converter`.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from judges.conformance.bodies import Use, uses
from judges.fuzz.drawing.models import ML, make_case, schema_at
from judges.proofs.running import Outcome, use_of
from judges.proofs.subjects import REGISTRY, Subject
from opset.docgen.proofs import ProofPart
from opset.model.arrays import dtype_of_element
from opset.model.elements import NUMBERS
from opset.schemas.constraints.signature import DATA_TYPE
from opset.schemas.model import OpSchema

SEEDS = range(1, 5)
"""Seeds of the drawn nodes of each subject; each is run on two sets of inputs."""
LOWER = (13, 7)
"""Opsets that lowerings are taken on to, beside the nearest."""
INT = 2  # AttributeProto.INT
DRAWN = {"": range(1, 27), ML: range(1, 6)}
"""Opsets at which nodes can be drawn, by domain."""


def prove(subject: Subject) -> tuple[list[ProofPart], list[str]]:
    """Return what samples show, and what is wrong."""
    fixed, drawn = Outcome(), Outcome()
    for schema in _schemas(subject):
        for use in uses(schema, ("examples",)):
            for to in _targets(subject):
                fixed.add(subject, use, to)
    seeds = {seed for seed, use in drawings(subject) if drawn.add(subject, use)}
    shown = f"{_count(fixed.cases, 'case')} of examples"
    if seeds:
        shown += f", {_count(drawn.cases, 'run')} of drawn nodes (seeds {min(seeds)}-{max(seeds)})"
    return _parts(shown, fixed, drawn)


def prove_emulated(subject: Subject) -> tuple[list[ProofPart], list[str]]:
    """Return what samples show of each type that is computed in another one: examples of the other, in this type."""
    parts: list[ProofPart] = []
    wrong: list[str] = []
    for narrow, wide in subject.step.derived.emulate.items():
        outcome = Outcome()
        for use in uses(subject.source, ("examples",)):
            if (retyped := _retyped(use, subject.source, narrow, wide)) is not None:
                outcome.add(subject, retyped)
        found, faults = _parts(f"{_count(outcome.cases, 'case')} of {wide}, cast to it", outcome, about=narrow)
        parts += found
        wrong += faults
    return merged(parts), wrong


def merged(parts: list[ProofPart]) -> list[ProofPart]:
    """Return parts that say the same of several types as one."""
    groups: dict[tuple[str, str], list[str]] = {}
    for part in parts:
        groups.setdefault((part.kind, part.shown), []).append(part.about)
    return [ProofPart(kind, ", ".join(abouts), shown) for (kind, shown), abouts in groups.items()]


def _parts(shown: str, *outcomes: Outcome, about: str = "") -> tuple[list[ProofPart], list[str]]:
    """Return the statements about what was compared, and what was refused; and what is wrong."""
    worst = max(outcomes, key=lambda each: each.worst)
    refused = sum((each.refused for each in outcomes), Counter[str]())
    parts = []
    if any(each.cases for each in outcomes):
        parts.append(ProofPart("sampled", about, f"{shown}: {worst.distance}"))
    if refused:
        codes = ", ".join(f"{code} ({count})" for code, count in sorted(refused.items()))
        nodes = "some nodes" if parts else "all nodes that were tried"
        parts.append(ProofPart("refused", f"{about}: {nodes}" if about else nodes, codes))
    return parts, [line for each in outcomes for line in each.wrong]


def _schemas(subject: Subject) -> list[OpSchema]:
    """Return the versions whose nodes take this way: all of an operator that is lowered."""
    if subject.direction != "lowering":
        return [subject.source]
    return [*REGISTRY.versions(subject.operator, subject.domain)]


def _targets(subject: Subject) -> list[int]:
    """Return the opsets to convert to: for a lowering, some further ones, too."""
    if subject.direction != "lowering" or subject.is_in_place or subject.domain:
        return [subject.to]
    return sorted({subject.to, *(to for to in LOWER if to < subject.since)}, reverse=True)


def drawings(subject: Subject) -> Iterator[tuple[int, Use]]:
    """Yield drawn nodes of the version that nodes have before the conversion, each with its seed."""
    version = _drawn_at(subject)
    if not version:
        return
    for seed in SEEDS:
        name = f"{subject.domain or 'ai.onnx'}/{subject.operator}/{version}/proof.{seed}"
        try:
            case = make_case(name)
        except Exception:  # it cannot be drawn
            continue
        for number, feeds in enumerate(case.feeds):
            yield seed, use_of(f"{name} run {number}", case.model, feeds)


def _drawn_at(subject: Subject) -> int:
    """Return the last opset at which nodes of the version can be drawn and converted by one step, 0 for none."""
    sinces = {schema.since_version for schema in _schemas(subject) if not schema.deprecated}
    opsets = [
        version
        for version in DRAWN.get(subject.domain, ())
        if schema_at(subject.domain, subject.operator, version) in sinces
        and (version < subject.since if subject.direction == "up" else version >= subject.since)
    ]
    latest = subject.direction == "up" or subject.is_in_place
    return max(opsets, default=0) if latest else min(opsets, default=0)


def _retyped(use: Use, schema: OpSchema, narrow: str, wide: str) -> Use | None:
    """Return a model with inputs of a narrow type in place of a wide one; None if it has none of the wide type."""
    model = type(use.model).FromString(use.model.SerializeToString())
    given: Any = (*model.graph.input, *model.graph.output)
    values = [each.type.tensor_type for each in given if each.type.HasField("tensor_type")]
    chosen = [each for each in values if each.elem_type == NUMBERS[wide]]
    if not chosen or model.graph.initializer:
        return None
    for each in chosen:
        each.elem_type = NUMBERS[narrow]
    _retype_attributes(model.graph.node[0], schema, narrow, wide)
    dtypes = [dtype_of_element(each) for each in (narrow, wide)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the narrow type cannot hold becomes something that it can
        feeds = {
            name: value.astype(dtypes[0]) if isinstance(value, np.ndarray) and value.dtype == dtypes[1] else value
            for name, value in use.feeds.items()
        }
    return Use(f"{use.name} in {narrow}", model, feeds)


def _retype_attributes(node: Any, schema: OpSchema, narrow: str, wide: str) -> None:
    """Name the narrow type where a node's attributes name the wide one, or where this is the default."""
    for name, declared in schema.attributes.items():
        if declared.kind != DATA_TYPE or declared.type != "int":
            continue
        stated = [each for each in node.attribute if each.name == name]
        if not stated and declared.default == NUMBERS[wide]:
            stated = [node.attribute.add(name=name, type=INT, i=NUMBERS[wide])]
        for each in stated:
            each.i = NUMBERS[narrow] if each.i == NUMBERS[wide] else each.i


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
