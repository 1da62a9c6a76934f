"""Rules about what follows: the types and shapes that a model states, and those that its nodes compute."""

from __future__ import annotations

from collections.abc import Iterator

from opset.checker.table import CHECKER, CheckContext, Inferred
from opset.errors import Finding, ModelError
from opset.inference.engine.result import infer


@CHECKER.rule("I101 I201 I202 I203", Inferred)
def check_inferred_types(inferred: Inferred, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each stated type that contradicts the inferred one, and each node whose inputs do not fit.

    A model that cannot be read by names and imports has other findings, and nothing is inferred.
    """
    try:
        inference = infer(context.model, check_type=True, strict=True, schemas=context.registry)
    except ModelError:
        return
    yield from inference.findings
