"""Runs the examples of operator YAML on kernels, inference, function bodies, conversions and claims.

    examine(registry_with(["schemas"]), versions).findings

An example that holds at several versions is run at each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

from opset.budget import Budget, Limits
from opset.errors import Finding, OpsetError, RunError
from opset.opsets.registry import Registry
from opset.schemas.example import Example, example_versions
from opset.schemas.model import OpSchema
from opset.workflow.examples.claims import check_claims
from opset.workflow.examples.conversions import check_bodies, check_conversions
from opset.workflow.examples.functions import check_functions, has_functions
from opset.workflow.examples.inference import check_inference
from opset.workflow.examples.outcomes import record_outcomes
from opset.workflow.examples.runner import (
    LIMITS,
    PACKAGE_MISSING,
    PARTS,
    Examination,
    ExampleRunner,
    disagreements,
    error_text,
    limit_finding,
    no_kernel_finding,
    version_name,
)
from opset.workflow.examples.variants import check_variants

__all__ = ["PARTS", "Examination", "ExampleRunner", "Subject", "examine", "examine_subject", "subjects"]


OF_VERSIONS = {"claims", "outcomes"}
"""Parts that take all examples of a version together; outcomes are of conversions, for the documentation."""


class Subject(NamedTuple):
    """One unit of work of `opset test`.

    It is an example at some versions of its operator; or, if `example` is "", the claims and outcomes of one version;
    or, if `operator` is "", the functions in the Python files of a domain.
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
) -> Examination:
    """Run the examples of operator versions, and return the report.

    Args:
        registry: Operators with their kernels, inference functions and adapters.
        schemas: Versions to test.
        parts: Kinds of tests to run, keys of PARTS.
        pattern: Text that the names of examples have to contain. If it is not "", claims of `change:` blocks and
            uncalled functions are not tested.
        limits: Limits of each evaluation.
        budget: Work of all evaluations together.

    Raises:
        BudgetExceeded: If the budget is used up.
    """
    runner = ExampleRunner(registry, limits, budget)
    report = Examination()
    for subject in subjects(registry, schemas, parts, pattern):
        report += examine_subject(runner, subject, parts)
    return report


def subjects(
    registry: Registry, schemas: Iterable[OpSchema], parts: Collection[str], pattern: str = ""
) -> Iterator[Subject]:
    """Yield the units of work of a test run: examples and versions of each operator, then domains.

    Versions are yielded if `parts` has "claims" or "outcomes". Examples are yielded if `parts` has any other part, such
    as "kernel"; an example that holds at none of the versions in `schemas` is left out. Domains are yielded if they
    have Python files.

    Args:
        registry: Operators with their examples.
        schemas: Versions to test.
        parts: The parts to examine: keys of PARTS, or "outcomes", the record of what adapters did.
        pattern: If it is not "", only examples are yielded, and only those whose names contain it.
    """
    chosen: dict[tuple[str, str], list[int]] = {}
    for schema in schemas:
        chosen.setdefault((schema.domain, schema.name), []).append(schema.since_version)
    for (domain, name), numbers in chosen.items():
        if {*parts} - OF_VERSIONS:
            for example in registry.examples(name, domain):
                versions = tuple(example_versions(example, numbers))
                if versions and pattern in example.name:
                    yield Subject(domain, name, versions, example.name)
        if OF_VERSIONS & {*parts} and not pattern:
            yield from (Subject(domain, name, (each,), "") for each in numbers)
    if not pattern:
        domains = dict.fromkeys(domain for domain, _ in chosen)
        yield from (Subject(domain, "", (), "") for domain in domains if has_functions(registry, domain))


def examine_subject(runner: ExampleRunner, subject: Subject, parts: Collection[str]) -> Examination:
    """Run the tests of one Subject, and return their report.

    A subject is an example at some versions, one version, or the Python functions of a domain. Only tests of `parts`
    are run: keys of PARTS, or "outcomes". An OpsetError becomes a failed test with the error's findings. Raises
    BudgetExceeded if the runner's budget is used up.
    """
    report = Examination()
    runner.clear_values()
    runner.budget.charge()
    if not subject.operator:
        for part in parts:
            _run_check(report, part, check_functions, runner.registry, subject.domain, part)
        return report
    versions = runner.registry.versions(subject.operator, subject.domain)
    chosen = [each for each in versions if each.since_version in subject.versions]
    if not subject.example:
        for schema in chosen:
            if "claims" in parts:
                _run_check(report, "claims", check_claims, runner, schema)
            if "outcomes" in parts:
                report.outcomes |= record_outcomes(runner.registry, schema)
        return report
    examples = runner.registry.examples(subject.operator, subject.domain)
    example = next(each for each in examples if each.name == subject.example)
    checks: dict[str, Callable[..., None]] = {
        "kernel": check_kernel,
        "inference": check_inference,
        "function": check_bodies,
        "conversion": check_conversions,
    }
    for schema in chosen:
        for part, check in checks.items():
            if part in parts and not (example.error and part == "conversion"):
                _run_check(report, part, check, runner, schema, example)
        if "conversion" in parts and not example.error and not report.findings:
            _run_check(report, "conversion", check_variants, runner, schema, example)
    return report


def _run_check(report: Examination, part: str, check: Callable[..., None], *subject: Any) -> None:
    """Call `check(*subject, report)`; if it raises an OpsetError, add the error's findings to `part` of the report."""
    try:
        check(*subject, report)
    except OpsetError as error:
        report.count(part, error.findings)


def check_kernel(runner: ExampleRunner, schema: OpSchema, example: Example, report: Examination) -> None:
    """Add to a report whether the kernel of a version computes the outputs that an example states.

    If the example breaks a constraint, the kernel has to refuse it for this constraint. A failure is the finding T101
    for other outputs, T102 for an error, T103 for a constraint that is not seen, T109 for an exceeded limit.

    Without a kernel, the test fails with T112. It is skipped instead if the version has a function body or is
    withdrawn, or if the file of kernels was not run. It is skipped, too, if a Python package is missing.
    """
    if why := runner.why_no_kernel(schema):
        if schema.function or schema.deprecated or runner.why_kernels_missing(schema):
            report.skip("kernel", why)  # a function body is tried beside it
        else:
            report.count("kernel", [no_kernel_finding(runner, schema, why)])
        return
    name = f"{version_name(schema)}: the example '{example.name}'"
    try:
        outputs = runner.outputs(schema, example)
    except RunError as error:
        if error.code == PACKAGE_MISSING:
            report.skip("kernel", error_text(error))
            return
        if error.code == "R203" and example.error and error.why.startswith(f"{example.error}: "):
            report.count("kernel", [])
            return
        place = runner.place_of(schema, example)  # for which the file is read
        if error.code in LIMITS:
            finding = limit_finding(schema, example, place, error)
        elif not example.error:
            finding = Finding("T102", f"{name} cannot be computed", place, error_text(error), error.findings[0].help)
        else:
            finding = Finding("T103", f"{name} should break {example.error}", place, error_text(error))
        report.count("kernel", [finding])
        return
    code, message, why = "T101", f"{name} is not what the kernel computes", ""
    if example.error:
        code, message = "T103", f"{name} should break {example.error}"
        why = "the kernel computes it, and no declared constraint refuses it"
    else:
        why = "; ".join(disagreements(example, outputs))
    report.count("kernel", [Finding(code, message, runner.place_of(schema, example), why)] if why else [])
