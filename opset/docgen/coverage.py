"""Coverage of operators: the kernel, inference and conversion of each version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from opset.catalog import DERIVED, IMPOSSIBLE, NOTHING, WRITTEN
from opset.inference.registration import RuleLookup
from opset.opsets.hooks import Lookup
from opset.opsets.registry import Registry
from opset.reference.registration import LAYER as KERNELS
from opset.version_converter.body_lowering import lower_by_body
from opset.version_converter.rewrite import Refusal
from opset.version_converter.routes import RouteStep, routes_of

NONE, UNKNOWN, FUNCTION, BODY = "none", "unknown", "function", "body"
"""UNKNOWN stands for the contents of a file that nobody trusts, FUNCTION for a written function, BODY for the body."""


class Coverage(NamedTuple):
    """The kernel, inference and conversions that one version of an operator has.

    - `kernel` is WRITTEN if there is one. `inference` is the name of the rule, or FUNCTION.
    - `up` is the conversion from the version before, `down` the conversion back to it: NOTHING (no node changes),
      DERIVED, WRITTEN or "impossible: REASON".
    - `lowering`, of a first version, is WRITTEN or BODY.

    Each field may also be NONE or UNKNOWN; "" means that it does not apply.
    """

    operator: str
    since: int
    withdrawn: bool
    kernel: str
    inference: str
    up: str
    down: str
    lowering: str
    bodies: int


def coverage(registry: Registry, domain: str) -> Iterator[Coverage]:
    """Yield a row for each version of each operator of a domain: which kernel, inference and conversions it has.

    Operators are sorted by name, versions newest first. Python files beside users' YAML files are run, if the registry
    trusts them. Exceptions that they raise reach the caller.
    """
    kernels, rules, routes = Lookup(KERNELS, registry), RuleLookup(registry), routes_of(registry)
    no_kernel, no_rule = (UNKNOWN if each.left_out(domain) else NONE for each in (kernels, rules))
    for operator in registry.operators(domain):
        versions = registry.versions(operator, domain)
        for number in reversed(range(len(versions))):
            schema = versions[number]
            since = schema.since_version
            before = versions[number - 1].since_version if number else 0
            has_kernel = kernels.find("kernel", domain, operator, since, schema.family) is not None
            has_rule = rules.find(schema) is not None
            yield Coverage(
                operator,
                since,
                schema.deprecated,
                WRITTEN if has_kernel else "" if schema.deprecated else no_kernel,
                schema.shape or (FUNCTION if has_rule else "" if schema.deprecated else no_rule),
                _work_of_step(routes.step(domain, operator, before, since)) if before else "",
                _work_of_step(routes.step(domain, operator, since, since - 1)) if before else "",
                _lowering_of(routes.step(domain, operator, since, since - 1)) if not before and since > 1 else "",
                len(schema.function),
            )


def _work_of_step(step: RouteStep | Refusal | None) -> str:
    """Return how nodes cross a transition between two versions of their operator.

    The result is one of these:

    - NOTHING: no node changes, or `step` is None;
    - DERIVED: the change follows from the signatures;
    - WRITTEN: a function makes the change;
    - "impossible: REASON": nodes cannot cross;
    - UNKNOWN: `step` is a Refusal.
    """
    if isinstance(step, Refusal):
        return UNKNOWN
    if step is None:
        return NOTHING
    if step.impossible:
        return f"{IMPOSSIBLE}: {step.impossible}"
    if step.adapter is not None:
        return WRITTEN
    return DERIVED if step.touches else NOTHING


def _lowering_of(step: RouteStep | Refusal | None) -> str:
    """Return how nodes of an operator's first version are lowered: BODY (by its function body) or WRITTEN.

    `step` is the transition below the first version. The result is NONE if the operator has no lowering, and UNKNOWN if
    the file that may have one was not run.
    """
    if isinstance(step, RouteStep):
        return BODY if step.adapter is lower_by_body else WRITTEN
    return UNKNOWN if step is not None and step.code == "C105" else NONE


def count_column(rows: Iterable[Coverage], column: str) -> tuple[int, int]:
    """Return (number of rows that have something in a column, number of rows to which the column applies).

    `column` is the name of a text field of Coverage. A column does not apply to a row in which the field is "". The
    texts NONE, UNKNOWN and "impossible: …" count as nothing.
    """
    values = [value for row in rows if (value := getattr(row, column))]
    return sum(value not in (NONE, UNKNOWN) and not value.startswith(IMPOSSIBLE) for value in values), len(values)
