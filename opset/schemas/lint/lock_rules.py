"""Lint rules about the lock: released versions do not change, and the lock holds all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from opset.errors import Finding
from opset.schemas.lint.context import LintContext
from opset.schemas.lock import Lock, signature_hash
from opset.schemas.names import domain_name, normalize_domain
from opset.schemas.yaml.loader import Operator


def check_released_signatures(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Check that the signatures of released versions have not changed (S203)."""
    versions = context.lock.get(domain_name(operator.domain), {}).get(operator.name, {})
    for schema in operator.schemas:
        released = versions.get(str(schema.since_version))
        if released and released != signature_hash(schema):
            yield Finding(
                "S203",
                f"the signature of {operator.name} {schema.since_version} was edited after its release",
                place=operator.place(schema.since_version),
                help="restore it, and put the edit into a new version",
            )


def lost_versions(
    folder: Path, lock: Lock, operators: Collection[Operator], unread: Collection[tuple[str, str]]
) -> Iterator[Finding]:
    """Yield the released versions that are gone (S204); `unread` are operators whose versions are unknown."""
    present = {(domain_name(o.domain), o.name, str(s.since_version)) for o in operators for s in o.schemas}
    for domain, names in lock.items():
        for name, versions in names.items():
            for since in versions if (normalize_domain(domain), name) not in unread else ():
                if (domain, name, since) not in present:
                    place = str(folder / domain / f"{name}.yaml")
                    yield Finding("S204", f"the released version {since} of {name} is gone", place=place)


def unlocked_versions(operators: Collection[Operator], lock: Lock) -> list[tuple[Operator, int]]:
    """Return the versions that the lock does not hold, whose signatures may change."""
    return [
        (operator, schema.since_version)
        for operator in operators
        for schema in operator.schemas
        if str(schema.since_version) not in lock.get(domain_name(operator.domain), {}).get(operator.name, {})
    ]


def check_lock(operators: Collection[Operator], lock: Lock, released: bool) -> Iterator[Finding]:
    """Check that the lock holds every version that is not newer than the released ones of its domain (S241).

    If `released`, it has to hold all versions.
    """
    for operator, since in unlocked_versions(operators, lock):
        domain = domain_name(operator.domain)
        newest = max((int(each) for names in lock.get(domain, {}).values() for each in names), default=0)
        if since > newest and not released:
            continue
        why = f"version {newest} of {domain} is released, since the lock has it" if since <= newest else ""
        help = "if it is released as it is here, lock it: opset lint --lock"
        help += f"; if it is new, give it a version above {newest}" if since <= newest else ""
        message = f"{operator.name} {since} is not in the lock: an edit of its signature would not be noticed"
        yield Finding("S241", message, place=operator.place(since, "since"), why=why, help=help)
