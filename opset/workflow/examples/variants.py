"""Converts examples with other types and other values of attributes: an adapter has to be right for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from opset.errors import Finding, RunError
from opset.reference.comparison import differences
from opset.reference.example_models import model_of
from opset.schemas.constraints.signature import value_misfits
from opset.schemas.example import Example, is_random
from opset.schemas.model import OpSchema
from opset.workflow.examples.claims import other_values
from opset.workflow.examples.conversions import (
    adapter_declarations,
    adapter_failure,
    adapter_finding,
    convert_example,
    targets_of,
    why_no_values,
)
from opset.workflow.examples.outcomes import example_of_type
from opset.workflow.examples.runner import Examination, ExampleRunner, version_name

LARGE = 7
"""A value of attributes that count or measure something; examples often have small ones."""


def check_variants(runner: ExampleRunner, schema: OpSchema, example: Example, report: Examination) -> None:
    """Convert variants of an example of a user's operator, and add to a report those whose outputs change.

    The outputs that the kernel computes for a variant are the right ones. A variant that it does not compute, or whose
    conversion is refused, is left out. The first failure at each target is a finding T107 or T110, and counts as a
    failed test. No test is counted for a target without failure.
    """
    if runner.registry.is_standard(schema.name, schema.domain) or why_no_values(runner, schema, example):
        return
    if is_random(example) or schema.determinism != "deterministic":
        return
    for target in targets_of(runner, schema, example):
        for words, variant in variants_of(schema, example):
            if findings := _conversion_findings(runner, schema, variant, words, target):
                report.count("conversion", findings)
                break


def variants_of(schema: OpSchema, example: Example) -> Iterator[tuple[str, Example]]:
    """Yield (words, variant) for each variant of an example; `words` say how it differs, such as "of float16".

    A variant has another type of inputs, or another value of one attribute.
    """
    for name, types in schema.types.items():
        for type_ in types:
            variant = example_of_type(schema, example, name, type_)
            if type_.startswith("tensor(") and variant.inputs != example.inputs:
                outputs = [
                    each._replace(type=type_) if each is not None and formal.type == name else each
                    for each, formal in zip(example.outputs or (), schema.outputs, strict=False)
                ]
                yield (
                    f"of {type_[7:-1]}",
                    variant._replace(outputs=(*outputs, *(example.outputs or ())[len(outputs) :])),
                )
    for name, attribute in schema.attributes.items():
        values = other_values(schema, attribute, example.attributes.get(name, attribute.default))
        if attribute.type == "int" and not attribute.kind and not [*value_misfits(schema, {name: LARGE})]:
            values.append(LARGE)
        for value in values:
            yield f"with {name} = {value}", example._replace(attributes={**example.attributes, name: value})


def _conversion_findings(
    runner: ExampleRunner, schema: OpSchema, variant: Example, words: str, target: int
) -> list[Finding]:
    """Return [finding] if an adapter fails on a variant on the way to `target`, or changes its outputs; else [].

    The result is also [] if the kernel does not compute the variant, if the conversion is refused, or if the converted
    model cannot be computed.
    """
    try:
        expected = runner.outputs(schema, variant)
        model_of(schema, variant)
    except (RunError, ValueError, TypeError, OverflowError):  # the type does not have the values
        return []
    _, converted = convert_example(runner, schema, variant, target)
    way = f"{schema.since_version} -> {target or 'other operators'}"
    if failed := adapter_failure(converted):
        return [adapter_finding(runner, schema, variant, way, failed)]
    parts: list[str] = []
    if converted.model is not None:
        with suppress(RunError):
            pairs = zip(expected, runner.run(converted.model.as_given(), variant), strict=True)
            found = [(at, each.why) for at, pair in enumerate(pairs) for each in differences(*pair)]
            parts = [f"output {at}: {why}" for at, why in found if why]
    if not parts:
        return []
    message = f"{version_name(schema)}: the example '{variant.name}', {words}, changes its values on the way {way}"
    help = adapter_declarations(runner, schema, schema.since_version, target)
    return [Finding("T107", message, runner.place_of(schema, variant), "; ".join(parts), help)]
