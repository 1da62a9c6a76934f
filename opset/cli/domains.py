"""Domains and versions of operator sets as they are named on the command line."""

from __future__ import annotations

from opset.errors import Finding, UsageError
from opset.opsets.registry import Registry
from opset.schemas.names import domain_name, normalize_domain


def known_domain(registry: Registry, domain: str) -> str:
    """Return a domain as schemas name it. Raises UsageError U105 if it is not known."""
    name = normalize_domain(domain)
    if name not in registry.domains:
        raise UsageError(Finding("U105", f"there is no domain '{domain}'", help=registry.domains_like(domain)))
    return name


def check_version(registry: Registry, domain: str, version: int) -> None:
    """Raise UsageError U105 if the operator set of a known domain has no such version."""
    last = registry.domains[domain]
    if not 1 <= version <= last:
        help = f"versions of {domain_name(domain)} go from 1 to {last}"
        raise UsageError(Finding("U105", f"there is no {domain_name(domain)} {version}", help=help))
