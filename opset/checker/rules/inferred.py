"""Rules about what follows in a model: the types and shapes that a model states, and those that its nodes compute."""

from __future__ import annotations

from collections.abc import Iterator

from opset.budget import ALLOW_MORE
from opset.checker.table import CHECKER, WARNING, CheckContext, Inferred
from opset.errors import Finding
from opset.inference.engine.result import Inference
from opset.opsets.registry import Registry
from opset.schemas.constraints.signature import type_misfits


@CHECKER.rule("I101 I201 I202 I203", Inferred)
def check_inferred_types(inferred: Inferred, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each stated type that contradicts the inferred one, and each node whose inputs do not fit.

    A model that cannot be read by names and imports has other findings, and nothing is inferred.
    """
    if inferred.inference is not None:
        yield from inferred.inference.findings


@CHECKER.rule("G329", Inferred)
def check_output_types(inferred: Inferred, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each node with an output of a type that its operator does not have at that version."""
    if inferred.inference is not None:
        yield from output_misfits(inferred.inference, context.registry)


def output_misfits(inference: Inference, registry: Registry) -> Iterator[Finding]:
    """Yield a finding for each node with an output whose inferred type its operator does not have.

    A node about which the inference has a finding is left out: its output types follow from a fault.

    Args:
        inference: The inference of a model.
        registry: The operators that are known.
    """
    sound: set[tuple[object, ...]] = set()
    found = {finding.place for finding in inference.findings}
    for values in inference.by_node():
        body, index = values[0].body, values[0].index
        name, domain = body.operators[index]
        version = inference.imports(body).get(domain, 0)
        types = {value.name: value.type.text if value.type is not None else None for value in values}
        outputs = tuple([types[each] if each else "" for each in body.computes[index]])
        form = (name, domain, version, outputs)
        schema = None if form in sound else registry.schema(name, version, domain)
        misfits = [*type_misfits(schema, (), outputs)] if schema is not None else []
        if not misfits:
            sound.add(form)
        for misfit in misfits if misfits and body.location(index) not in found else ():
            help = "import the opset that has the type, or cast the value"
            yield Finding("G329", misfit.what, body.location(index), misfit.why, help)


@CHECKER.rule("W801", Inferred, severity=WARNING)
def check_inference_ended(inferred: Inferred, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding if the inference stopped, so that types and shapes behind that place were not compared."""
    if inferred.inference is not None and inferred.inference.stopped:
        why = f"the inference stopped at {inferred.inference.stopped}"
        yield Finding("W801", "not all types and shapes were checked", "model", why, ALLOW_MORE)
