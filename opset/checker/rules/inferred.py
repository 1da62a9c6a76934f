"""Rules about what follows in a model: the types and shapes that a model states, and those that its nodes compute."""

from __future__ import annotations

from collections.abc import Iterator

from opset.budget import ALLOW_MORE
from opset.checker.casts import MissingCast, missing_casts
from opset.checker.table import CHECKER, WARNING, CheckContext, Inferred
from opset.errors import Finding, quote


@CHECKER.rule("I101 I201 I202 I203", Inferred)
def check_inferred_types(inferred: Inferred, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each stated type that contradicts the inferred one, and each node whose inputs do not fit.

    Nothing is yielded for a model that cannot be read by names and imports: other rules report that.
    """
    if inferred.inference is None:
        return
    findings = inferred.inference.findings
    helps = {}
    if any(finding.code == "I202" for finding in findings):
        helps = {missing.place: _help_of_cast(missing) for missing in missing_casts(context)}
    for finding in findings:
        if finding.code == "I101":
            yield finding._replace(help="correct the stated type, or remove it; `opset check --fix` renews value_info")
        else:
            either = "cast one of the two, or correct its type" if finding.why.startswith("both have the type") else ""
            yield finding._replace(help=finding.help or helps.get(finding.place, either))


def _help_of_cast(missing: MissingCast) -> str:
    """Return the help for a node that lacks a Cast: which input to cast, what computes it, and to which type."""
    name, body = missing.name, missing.scope.body
    while name not in body.definitions and body.parent is not None:
        body = body.parent
    producer = body.definitions.get(name, -1)
    source = f", which {body.node_label(producer)} computes," if producer >= 0 else ""
    return f"cast {quote(name)}{source} to {missing.wanted}; `opset check --fix --fix-casts` does this"


@CHECKER.rule("W802", Inferred, severity=WARNING)
def check_branches(inferred: Inferred, context: CheckContext) -> Iterator[Finding]:
    """Yield a warning for each contradiction of types in a branch under a condition, or a body that is never run."""
    if inferred.inference is not None:
        for finding in inferred.inference.findings_in_branches():
            help = finding.help or "see that the condition excludes it, or correct the branch"
            yield finding._replace(code="W802", help=help)


@CHECKER.rule("W801", Inferred, severity=WARNING)
def check_inference_ended(inferred: Inferred, context: CheckContext) -> Iterator[Finding]:
    """Yield a warning if inference stopped early, so that types and shapes behind that place were not compared."""
    if inferred.inference is not None and inferred.inference.stopped:
        why = f"the inference stopped at {inferred.inference.stopped}"
        yield Finding("W801", "not all types and shapes were checked", "model", why, ALLOW_MORE)
