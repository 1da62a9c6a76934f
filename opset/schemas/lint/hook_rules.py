"""Lint rules about the functions of operators: kernels, inference and adapters exist, and belong to a version."""

from __future__ import annotations

from collections.abc import Iterator

from opset.errors import Finding
from opset.schemas.lint.context import LINT, InferenceHooks, LintContext, LintedFolder
from opset.schemas.model import OpSchema
from opset.schemas.yaml.loader import Operator


@LINT.rule("S224", Operator)
def check_kernels(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S224 for each version that no kernel computes, neither its own nor an older version's.

    Deprecated versions are skipped, and so are domains without any kernel: their operators are not meant to be
    evaluated. Nothing is yielded if `context.kernels` is None.
    """
    if context.kernels is None or not any(domain == operator.domain for domain, _, _ in context.kernels):
        return
    key = operator.domain, operator.name
    first = min((since for *kernel, since in context.kernels if tuple(kernel) == key), default=None)
    for schema in operator.schemas:
        since = schema.since_version
        if not schema.deprecated and (first is None or since < first):
            message = f"no kernel is written for {operator.name} {since}"
            yield Finding("S224", message, place=operator.place(since))


@LINT.rule("S226 S227", Operator)
def check_inference(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding for each version whose output shapes cannot be inferred.

    - S227: The inference rule that `shape` names cannot be used.
    - S226: There is neither a rule nor an inference function.

    S226 is not yielded for deprecated versions, and not for domains without any inference function: their shapes are
    not meant to be inferred. Nothing is yielded if `context.inferred` is None.
    """
    if context.inferred is None:
        return
    known = any(domain == operator.domain for domain, _, _ in context.inferred.functions)
    for schema in operator.schemas:
        since = schema.since_version
        if schema.shape:
            if why := context.inferred.misnamed(schema):
                place = operator.place(since, "shape")
                yield Finding("S227", f"the rule {schema.shape!r} cannot be used", place=place, why=why)
        elif known and not schema.deprecated and _inference_version(schema, context.inferred) is None:
            message = f"nothing says how the outputs of {operator.name} {since} are inferred"
            help = "name a rule, shape: same(X), or write a function"
            yield Finding("S226", message, place=operator.place(since), help=help)


def _inference_version(schema: OpSchema, inferred: InferenceHooks) -> int | None:
    """Return the version of the inference function that a schema uses; None if there is none.

    It uses the newest function that is not newer than the schema itself. 0 stands for a function for all versions.
    """
    key = schema.domain, schema.name
    fitting = [since for *name, since in inferred.functions if tuple(name) == key and since <= schema.since_version]
    return max(fitting, default=None)


@LINT.rule("S207", LintedFolder)
def check_lost_adapters(folder: LintedFolder, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S207 for each adapter that does not convert between two consecutive versions of an operator.

    A lowering, which expresses an operator by older ones, is a finding if it is not for the operator's first version.
    Adapters of operators whose files are not checked, or have faults, are skipped.
    """
    operators = folder.whole_operators
    steps = {(o.domain, o.name, step.new.since_version) for o in operators for step in o.transitions}
    first = {(o.domain, o.name, o.schemas[0].since_version) for o in operators}
    domains = folder.domains.difference(context.unknown)
    for domain, name, since, direction in sorted(context.written or ()):
        if domain in domains and (domain, name, since) not in (first if direction == "lower" else steps):
            what = "a lowering" if direction == "lower" else f"an adapter {direction}"
            why = "not its first version" if direction == "lower" else "no transition"
            if place := folder.place_of_file(domain, name):
                yield Finding("S207", f"{what} is written for {name} {since}, which is {why}", place=place)


@LINT.rule("S225", LintedFolder)
def check_lost_kernels(folder: LintedFolder, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S225 for each kernel of a version or operator that does not exist.

    Kernels of operators whose files are not checked, or have faults, are skipped.
    """
    domains = folder.domains
    operators = folder.whole_operators
    versions = {(o.domain, o.name, schema.since_version) for o in operators for schema in o.schemas}
    versions |= {(o.domain, o.name, 0) for o in operators}
    for domain, name, since in sorted(context.kernels or ()):
        if domain in domains and (domain, name, since) not in versions:
            which = f"{name} {since}, which is no version" if since else f"{name}, which is no operator"
            if place := folder.place_of_file(domain, name):
                yield Finding("S225", f"a kernel is written for {which}", place=place)


@LINT.rule("S228", LintedFolder)
def check_lost_functions(folder: LintedFolder, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S228 for each inference function that no version of its operator uses.

    A version does not use it if the version has a rule in its YAML, uses a newer function, or is older than the
    function. Nothing is yielded if `context.inferred` is None.
    """
    if context.inferred is None:
        return
    domains = folder.domains
    used = {
        (operator.domain, operator.name, _inference_version(schema, context.inferred))
        for operator in folder.whole_operators
        for schema in operator.schemas
        if not schema.shape
    }
    for domain, name, since in sorted(context.inferred.functions):
        if domain in domains and (domain, name, since) not in used and (place := folder.place_of_file(domain, name)):
            message = f"a function infers the outputs of {name}{f' from {since} on' * bool(since)}, and is never asked"
            yield Finding("S228", message, place=place)
