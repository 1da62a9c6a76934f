"""The comparison of two states by every rule."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from opset.budget import Budget, Limits
from opset.errors import ComparisonError, Finding, listing
from opset.opsets.registry import Registry
from opset.plain_text import count_text
from opset.schemas.names import domain_name
from opset.workflow.breaking.example_rule import MOST, changed_versions
from opset.workflow.breaking.report import INFO, NONE, Break, ComparisonReport, sort_findings
from opset.workflow.breaking.rules import StateComparison, breaks
from opset.workflow.breaking.states import State, loaded_state, registry_state

if TYPE_CHECKING:
    from opset.schemas.yaml.loader import Operator

RULES_OF_NEW_STATE = ("B181", "B183", "B184", "B185", "B189", "B190")
"""Rules about agreement within the newer state, also of versions in development."""


def compare(
    old: State | Registry | Iterable[Operator],
    new: State | Registry | Iterable[Operator],
    *,
    partial: bool = False,
    locked: bool = False,
    registry: Registry | None = None,
    rules: Collection[str] | None = None,
    budget: Budget | None = None,
) -> ComparisonReport:
    """Return a report of all differences between two states that break a rule.

    An edit of a version that both states have is an error or a warning; the same change in a new version is a notice.

    Args:
        old: Older state: a registry, operators read from YAML, or a `State`.
        new: Newer state, in the same forms.
        partial: Whether the older state has some operators only; all others are not compared.
        locked: Whether a version that is not in the older state's lock is in development, and may change.
        registry: Registry of the newer state, to run the examples of changed versions (B189); None runs none.
        rules: Ids of the rules to apply, such as "B121"; None applies all.
        budget: Work that the examples may take together.

    Raises:
        ComparisonError: B193 if a state is empty, if both have nothing in common, or if `locked` and the older state
            has no lock.
        BudgetExceeded: If the budget is used up.
    """
    old_state, new_state = _state_of(old, "the older state"), _state_of(new, "the newer state")
    comparison = StateComparison(old_state, new_state, partial, registry, locked, budget or Budget(Limits()))
    _check_common(comparison)
    if locked and old_state.lock is None:
        help = "opset lint --lock writes it when versions are released"
        raise ComparisonError(Finding("B193", f"{old_state.name} has no lock.json beside its schemas", help=help))
    codes = None if rules is None else frozenset(rules)
    findings = [_soften_unreleased(comparison, found) for found in breaks(comparison, codes)]
    versions = sum(len(each.versions) for each in new_state.operators.values())
    count = len(new_state.operators)
    domains = listing(list(map(domain_name, new_state.domains)), 3)
    compared = f"{count_text(count, 'operator')} of {domains} at {old_state.name} beside {new_state.name}"
    return ComparisonReport(compared, count, versions, sort_findings(findings), _notes(comparison))


def _soften_unreleased(comparison: StateComparison, finding: Break) -> Break:
    """Return a finding about a version in development as a notice; return any other finding unchanged.

    A version is in development if the older state has it, and the lock of the older state does not. The notice says
    "(not released yet)", requires nothing, and has no help. Rules in RULES_OF_NEW_STATE check whether the newer state
    agrees with itself; their findings are always unchanged.
    """
    if finding.severity == INFO or finding.rule in RULES_OF_NEW_STATE or not comparison.is_in_development(finding):
        return finding
    message = f"{finding.message} (not released yet)"
    return finding._replace(severity=INFO, requires=NONE, message=message, help="")


def _notes(comparison: StateComparison) -> tuple[str, ...]:
    """Return sentences about parts that the comparison left out; () if it left out none."""
    notes = []
    if comparison.old.released:
        other = "other edits show beside a revision: opset breaking rev:…"
        notes.append(f"of a release, the lock has signatures alone; {other}")
    count = len(changed_versions(comparison)) if comparison.registry is not None else 0
    if count > MOST:
        notes.append(f"the examples of {count:,} operators that changed were not run, which is what opset test does")
    return tuple(notes)


def _state_of(schemas: State | Registry | Iterable[Operator], name: str) -> State:
    """Return the state of a registry or of operators, with a name for messages; a State is returned unchanged."""
    if isinstance(schemas, State):
        return schemas
    return registry_state(schemas, name) if isinstance(schemas, Registry) else loaded_state(schemas, name)


def _check_common(comparison: StateComparison) -> None:
    """Raise ComparisonError B193 if a state has no operators, or if the states have nothing in common.

    States have something in common if they share a domain, or the name of an operator in any domains.
    """
    states = comparison.old, comparison.new
    for state in states:
        if not state.operators:
            raise ComparisonError(Finding("B193", f"no operator was read of {state.name}"))
    old, new = ({name for _, name in each.operators} for each in states)
    if comparison.old.domains.keys() & comparison.new.domains.keys() or old & new:
        return
    has = [f"{each.name} has {listing(list(map(domain_name, each.domains)))}" for each in states]
    help = "name the folder that both are states of: --schemas DIR"
    raise ComparisonError(Finding("B193", "the two states have nothing in common", why="; ".join(has), help=help))
