"""The comparison of two states by every rule."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from opset.errors import ComparisonError, Finding, listing
from opset.opsets.registry import Registry
from opset.schemas.names import shown
from opset.workflow.breaking import behaviour, consistency, inventory, signature
from opset.workflow.breaking.report import Break, Report, ordered
from opset.workflow.breaking.rules import RULES, Comparison, apply
from opset.workflow.breaking.states import State, loaded_state, registry_state

if TYPE_CHECKING:
    from opset.schemas.loader import Operator

DECLARING = (inventory, signature, behaviour, consistency)
"""The modules that declare rules."""


def compare(
    old: State | Registry | Iterable[Operator],
    new: State | Registry | Iterable[Operator],
    *,
    partial: bool = False,
    rules: Collection[str] | None = None,
) -> Report:
    """Return what every rule, or those named, finds in two states.

    A state is a registry, operators that were read from YAML, or made by `opset.workflow.breaking.states`. With
    `partial`, operators that the old state lacks are left out. Raises ComparisonError where nothing can be compared.
    """
    comparison = Comparison(_state(old, "the older state"), _state(new, "the newer state"), partial)
    _check_common(comparison)
    findings: list[Break] = []
    for each in sorted(RULES.values()):
        if rules is None or each.id in rules:
            findings += apply(each, comparison)
    return Report(_compared(comparison), len(comparison.new.operators), _versions(comparison), ordered(findings))


def _state(given: State | Registry | Iterable[Operator], name: str) -> State:
    if isinstance(given, State):
        return given
    return registry_state(given, name) if isinstance(given, Registry) else loaded_state(given, name)


def _check_common(comparison: Comparison) -> None:
    """Raise ComparisonError B193 where a state is empty, or both have no operator, nor even a name, in common."""
    for state in (comparison.old, comparison.new):
        if not state.operators:
            raise ComparisonError(Finding("B193", f"no operator was read of {state.name}"))
    old, new = ({name for _, name in each.operators} for each in (comparison.old, comparison.new))
    if comparison.old.domains.keys() & comparison.new.domains.keys() or old & new:
        return
    has = [f"{each.name} has {listing(list(map(shown, each.domains)))}" for each in (comparison.old, comparison.new)]
    help = "name the folder that both are states of: --schemas DIR"
    raise ComparisonError(Finding("B193", "the two states have nothing in common", why="; ".join(has), help=help))


def _versions(comparison: Comparison) -> int:
    return sum(len(each.versions) for each in comparison.new.operators.values())


def _compared(comparison: Comparison) -> str:
    old, new = comparison.old, comparison.new
    count = len(new.operators)
    domains = listing(list(map(shown, new.domains)), 3)
    return f"{count} operator{'' if count == 1 else 's'} of {domains} at {old.name} beside {new.name}"
