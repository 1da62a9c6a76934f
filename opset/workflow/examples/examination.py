"""Runs the examples of operator YAML on all that the operators have: kernels, inference, bodies, conversion, claims.

    examine(registry_with(["schemas"]), versions).findings

An example that holds at several versions is run at each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

from opset.budget import Budget, Limits
from opset.errors import Finding, OpsetError, RunError
from opset.opsets.registry import Registry
from opset.schemas.model import Example, OpSchema, example_versions
from opset.workflow.examples.bench import (
    LIMITS,
    PACKAGE_MISSING,
    PARTS,
    Bench,
    Report,
    disagreements,
    named,
    not_computed,
    said,
    stopped,
)
from opset.workflow.examples.claims import check_claims
from opset.workflow.examples.crossings import check_bodies, check_conversions
from opset.workflow.examples.functions import check_functions, has_functions
from opset.workflow.examples.inferred import check_inference

__all__ = ["PARTS", "Bench", "Report", "Subject", "examine", "examined", "subjects"]


class Subject(NamedTuple):
    """What is run at once: an example at versions of its operator, or the claims of a version ("" as example).

    Without an operator, it is the functions of a domain.
    """

    domain: str
    operator: str
    versions: tuple[int, ...]
    example: str


def examine(
    registry: Registry,
    schemas: Iterable[OpSchema],
    *,
    parts: Collection[str] = tuple(PARTS),
    pattern: str = "",
    limits: Limits | None = None,
    budget: Budget | None = None,
) -> Report:
    """Return what the examples of these versions of operators show.

    `parts` are those of PARTS to run, `pattern` a part of the names of examples, `limits` hold for each evaluation,
    `budget` for all of them together; Exhausted is raised where it is used up.
    """
    bench, report = Bench(registry, limits, budget), Report()
    for subject in subjects(registry, schemas, parts, pattern):
        report += examined(bench, subject, parts)
    return report


def subjects(
    registry: Registry, schemas: Iterable[OpSchema], parts: Collection[str], pattern: str = ""
) -> Iterator[Subject]:
    """Yield what there is to run for versions of operators, operator by operator."""
    chosen: dict[tuple[str, str], list[int]] = {}
    for schema in schemas:
        chosen.setdefault((schema.domain, schema.name), []).append(schema.since_version)
    for (domain, name), numbers in chosen.items():
        if {*parts} - {"claims"}:
            for example in registry.examples(name, domain):
                versions = tuple(example_versions(example, numbers))
                if versions and pattern in example.name:
                    yield Subject(domain, name, versions, example.name)
        if "claims" in parts and not pattern:
            yield from (Subject(domain, name, (each,), "") for each in numbers)
    if not pattern:
        domains = dict.fromkeys(domain for domain, _ in chosen)
        yield from (Subject(domain, "", (), "") for domain in domains if has_functions(registry, domain))


def examined(bench: Bench, subject: Subject, parts: Collection[str]) -> Report:
    """Return what one subject shows."""
    report = Report()
    bench.forget()
    bench.budget.charge()
    if not subject.operator:
        for part in parts:
            _guarded(report, part, check_functions, bench.registry, subject.domain, part)
        return report
    versions = bench.registry.versions(subject.operator, subject.domain)
    chosen = [each for each in versions if each.since_version in subject.versions]
    if not subject.example:
        for schema in chosen:
            _guarded(report, "claims", check_claims, bench, schema)
        return report
    examples = bench.registry.examples(subject.operator, subject.domain)
    example = next(each for each in examples if each.name == subject.example)
    checks: dict[str, Callable[..., None]] = {
        "kernel": check_kernel,
        "inference": check_inference,
        "function": check_bodies,
        "conversion": check_conversions,
    }
    for schema in chosen:
        for part, check in checks.items():
            if part in parts and not (example.error and part in ("function", "conversion")):
                _guarded(report, part, check, bench, schema, example)
    return report


def _guarded(report: Report, part: str, check: Callable[..., None], *subject: Any) -> None:
    """Run a check; functions of users that cannot be loaded, and the like, are findings."""
    try:
        check(*subject, report)
    except OpsetError as error:
        report.count(part, error.findings)


def check_kernel(bench: Bench, schema: OpSchema, example: Example, report: Report) -> None:
    """Add to a report whether the kernel of a version computes what an example shows."""
    if why := bench.no_kernel(schema):
        if schema.function or schema.deprecated or bench.left_out(schema):
            report.skip("kernel", why)  # a function body is tried beside it
        else:
            report.count("kernel", [not_computed(bench, schema, why)])
        return
    name, place = f"{named(schema)}: the example '{example.name}'", bench.place
    try:
        wrong = disagreements(example, bench.outputs(schema, example)) if not example.error else []
        if example.error:
            bench.outputs(schema, example)
    except RunError as error:
        if error.code == PACKAGE_MISSING:
            report.skip("kernel", said(error))
            return
        report.count("kernel", [*_refused(name, bench, schema, example, error)])
        return
    if example.error:
        why = "the kernel computes it, and no declared constraint refuses it"
        message = f"{name} should break {example.error}"
        report.count("kernel", [Finding("T103", message, place(schema, example), why)])
        return
    report.count(
        "kernel",
        [Finding("T101", f"{name} is not what the kernel computes", place(schema, example), "; ".join(wrong))]
        if wrong
        else [],
    )


def _refused(name: str, bench: Bench, schema: OpSchema, example: Example, error: RunError) -> Iterator[Finding]:
    """Yield the finding of an evaluation that failed, nothing where it breaks the constraint that it should."""
    place = bench.place
    if error.code in LIMITS:
        yield stopped(schema, example, place(schema, example), error)
    elif not example.error:
        yield Finding("T102", f"{name} cannot be computed", place(schema, example), said(error), error.help)
    elif error.code != "R203" or not error.why.startswith(f"{example.error}: "):
        yield Finding("T103", f"{name} should break {example.error}", place(schema, example), said(error))
