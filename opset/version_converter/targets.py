"""Where a conversion goes: opset versions by domain, and requirements on the IR version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from opset.errors import Finding, UsageError, quoted
from opset.opsets import releases, runtimes
from opset.opsets.registry import Registry
from opset.schemas.names import normalised


class Target(NamedTuple):
    """Opset version by domain ("" is ai.onnx); an IR version, or the highest one that the runtime takes.

    `least` is given for a runtime: versions from there up to `opsets` need no conversion. `lowered` are operators, by
    name and domain, that are expressed by others even where the opset has them. `release` is the release of onnx whose
    versions of operators are in force, where that is not the newest.
    """

    opsets: Mapping[str, int]
    ir_version: int | None = None
    max_ir: int | None = None
    least: Mapping[str, int] | None = None
    lowered: frozenset[tuple[str, str]] = frozenset()
    release: str = ""


def of_version(to: int | str | Mapping[str, int], registry: Registry, ir_version: int | None = None) -> Target:
    """Return the target for 21, "21", "ai.onnx.ml=3", or a mapping of domains to versions.

    Raises UsageError U101 for a domain or version that the registry does not have.
    """
    opsets: dict[str, int] = {}
    entries = to.items() if isinstance(to, Mapping) else [_parse(str(to))]
    for domain, version in entries:
        opsets["" if domain == "ai.onnx" else domain] = version
    for domain, version in opsets.items():
        shown = domain or "ai.onnx"
        newest = registry.domains.get(domain)
        if newest is None:
            known = ", ".join(sorted(name or "ai.onnx" for name in registry.domains))
            raise UsageError(Finding("U101", f"there are no schemas for the domain '{shown}'", help=f"known: {known}"))
        if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= newest:
            raise UsageError(
                Finding("U101", f"{shown} has no version {version}", help=f"versions go from 1 to {newest}")
            )
    return Target(opsets, _ir(ir_version))


def of_release(name: str, registry: Registry, ir_version: int | None = None) -> Target:
    """Return the target of an ONNX release, "1.15": its opsets, and at most its IR version."""
    found = releases.release(name)
    opsets = {domain: version for domain in registry.domains if (version := found.opset_of(domain))}
    return Target(opsets, _ir(ir_version), found.ir, release=found.name)


def of_runtime(spec: str, registry: Registry, ir_version: int | None = None) -> Target:
    """Return the target of a runtime's release, "onnxruntime==1.17": the newest opsets and IR version that it takes.

    It has the operators as the newest release of onnx without later opsets has them.
    """
    found = runtimes.runtime(spec)
    opsets = {"": min(found.max_opset, registry.domains[""])}
    if found.max_ml is not None:
        opsets["ai.onnx.ml"] = found.max_ml
    least = {"": found.min_opset} if found.min_opset is not None else {}
    in_force = releases.release_with(opsets[""]).name
    return Target(opsets, _ir(ir_version), found.max_ir, least, release=in_force)


def without(operators: Iterable[str], registry: Registry) -> Target:
    """Return the target with the opsets that a model has already, and without operators: "Gelu", "com.example.Scale".

    Raises UsageError U101 for an operator that the registry does not have, U103 where none is given.
    """
    lowered = set()
    for name in operators:
        domain, _, op_type = name.rpartition(".")
        domain = normalised(domain)
        if not registry.versions(op_type, domain):
            help = "write Gelu, or an operator of another domain as com.example.Scale"
            raise UsageError(Finding("U101", f"there is no operator {quoted(name)}", help=help))
        lowered.add((op_type, domain))
    if not lowered:
        raise UsageError(Finding("U103", "no operator is given", help="name those that the runtime lacks"))
    return Target({}, lowered=frozenset(lowered))


def within(target: Target, source: Mapping[str, int]) -> Target:
    """Return a runtime's target for one model: versions that the runtime takes already stay as they are."""
    if target.least is None:
        return target
    opsets = {
        domain: source[domain]
        if domain in source and target.least.get(domain, 1) <= source[domain] <= version
        else version
        for domain, version in target.opsets.items()
    }
    return target._replace(opsets=opsets, least=None)


def _parse(text: str) -> tuple[str, int]:
    domain, _, version = text.rpartition("=")
    if not version.isascii() or not version.isdigit() or len(version) > 6:
        raise UsageError(
            Finding("U101", f"'{text}' is no opset version", help="write 21, or a domain's as ai.onnx.ml=3")
        )
    return domain, int(version)


def parse_versions(texts: tuple[str, ...]) -> dict[str, int]:
    """Return the mapping for several "21" or "domain=version". Raises UsageError U101."""
    found: dict[str, int] = {}
    for text in texts:
        domain, version = _parse(text)
        domain = "" if domain == "ai.onnx" else domain
        if domain in found:
            raise UsageError(Finding("U101", f"{domain or 'ai.onnx'} is given two versions"))
        found[domain] = version
    return found


def _ir(version: int | None) -> int | None:
    newest = releases.newest_ir_version()
    if version is not None and not 1 <= version <= newest:
        raise UsageError(Finding("U101", f"there is no IR version {version}", help=f"they go from 1 to {newest}"))
    return version
