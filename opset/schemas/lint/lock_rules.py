"""Lint rules about the lock: released versions do not change, and the lock holds all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from opset.errors import Finding
from opset.schemas.lint.context import LINT, LintContext, LintedFolder
from opset.schemas.lock import Lock
from opset.schemas.names import domain_name, normalize_domain
from opset.schemas.yaml.loader import Operator


@dataclass(frozen=True)
class LockedOperators:
    """Operators with the lock of their folder; `released` says that the lock has to hold all versions."""

    operators: Collection[Operator]
    lock: Lock
    released: bool


@LINT.rule("S204", LintedFolder)
def check_lost_versions(folder: LintedFolder, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S204 for each version that lock.json has, but the operator's file does not have any more.

    If the operator's file is gone, this is so for all of its versions. Files that are not checked, or have faults, are
    skipped.
    """
    present = {(domain_name(o.domain), o.name, str(s.since_version)) for o in folder.whole_operators for s in o.schemas}
    for domain, names in context.lock.items():
        for name, versions in names.items():
            place = folder.place_of_file(normalize_domain(domain), name)
            for since in [each for each in versions if place and (domain, name, each) not in present]:
                yield Finding("S204", f"the released version {since} of {name} is gone", place=place)


def unlocked_versions(operators: Collection[Operator], lock: Lock) -> list[tuple[Operator, int]]:
    """Return (operator, since_version) for each version that `lock` does not have: its signature may still change."""
    return [
        (operator, schema.since_version)
        for operator in operators
        for schema in operator.schemas
        if str(schema.since_version) not in lock.get(domain_name(operator.domain), {}).get(operator.name, {})
    ]


@LINT.rule("S241", LockedOperators)
def check_lock(locked: LockedOperators) -> Iterator[Finding]:
    """Yield a finding S241 for each operator version that has to be in lock.json and is not.

    If `locked.released` is True, all versions have to be in lock.json. If it is False, those that are newer than all
    locked versions of their domain may be missing.
    """
    lock = locked.lock
    for operator, since in unlocked_versions(locked.operators, lock):
        domain = domain_name(operator.domain)
        newest = max((int(each) for names in lock.get(domain, {}).values() for each in names), default=0)
        if since > newest and not locked.released:
            continue
        why = f"version {newest} of {domain} is released, since the lock has it" if since <= newest else ""
        help = "if it is released as it is here, lock it: opset lint --lock"
        help += f"; if it is new, give it a version above {newest}" if since <= newest else ""
        message = f"{operator.name} {since} is not in the lock: an edit of its signature would not be noticed"
        yield Finding("S241", message, place=operator.place(since, "since"), why=why, help=help)
