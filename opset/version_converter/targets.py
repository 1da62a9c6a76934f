"""Targets of conversions: opset versions by domain, and requirements on the IR version."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, SupportsIndex

from opset.errors import Finding, UsageError, quote
from opset.opsets import releases
from opset.opsets.registry import Registry
from opset.schemas.names import normalize_domain

if TYPE_CHECKING:
    from opset.opsets.runtimes import Runtime


class Target(NamedTuple):
    """The goal of a conversion.

    - `opsets`: opset version by domain ("" is ai.onnx); `ir_version`: the requested IR version, `max_ir`: the highest;
    - `least`: for a runtime, the lowest opset by domain; a model whose opset lies between `least` and `opsets` keeps
      it;
    - `lowered`: (operator, domain) pairs that are expressed by other operators even if the opset has them;
    - `release`: the release of onnx whose versions of operators count, "" for the newest;
    - `notes`: how the target was chosen; `runtime`: the runtime that has to run each node, None for any;
    - `inexact`: whether nodes may compute in types in which results differ, if the runtime has no other kernel.
    """

    opsets: Mapping[str, int]
    ir_version: int | None = None
    max_ir: int | None = None
    least: Mapping[str, int] | None = None
    lowered: frozenset[tuple[str, str]] = frozenset()
    release: str = ""
    notes: tuple[str, ...] = ()
    runtime: Runtime | None = None
    inexact: bool = False


def target_of_version(to: int | str | Mapping[str, int], registry: Registry, ir_version: int | None = None) -> Target:
    """Return the target with one or more opset versions: 21, "21", "ai.onnx.ml=3", or a mapping of domains to versions.

    `ir_version` is the IR version that converted models get, None to change it only as far as needed.

    Raises UsageError U101 for a domain or version that the registry does not have, an IR version that does not exist,
    two versions of one domain, and a mapping without versions.
    """
    if isinstance(to, Mapping) and not to:
        help = 'name a version, as {"": 21}, or leave the argument out: the model keeps its versions'
        raise UsageError(Finding("U101", "the mapping of domains to opset versions is empty", help=help))
    opsets: dict[str, int] = {}
    entries = to.items() if isinstance(to, Mapping) else [_parse_version(str(to))]
    for domain, version in entries:
        if not isinstance(version, int) and isinstance(version, SupportsIndex):  # such as an integer of numpy
            version = operator.index(version)
        domain = "" if domain == "ai.onnx" else domain
        if opsets.setdefault(domain, version) != version:
            message = f"{domain or 'ai.onnx'} is given two versions"
            raise UsageError(Finding("U101", message, help='"" and "ai.onnx" are one domain: give it one version'))
    for domain, version in opsets.items():
        label = str(domain or "ai.onnx")
        newest = registry.domains.get(domain)
        if newest is None:
            message = f"there are no schemas for the domain '{label}'"
            raise UsageError(Finding("U101", message, help=registry.domains_like(label)))
        if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= newest:
            help = f"versions go from 1 to {newest}{', as numbers' * isinstance(version, str)}"
            raise UsageError(Finding("U101", f"{label} has no version {version!r}", help=help))
    return Target(opsets, _check_ir_version(ir_version))


def target_of_release(name: str, registry: Registry, ir_version: int | None = None) -> Target:
    """Return the target of an ONNX release such as "1.15": its opsets, and its IR version as the highest allowed.

    `ir_version` is the IR version that converted models get, None to change it only as far as needed.

    Raises UsageError U101 if there is no such release or IR version.
    """
    release = releases.release(name)
    opsets = {domain: version for domain in registry.domains if (version := release.opset_of(domain))}
    return Target(opsets, _check_ir_version(ir_version), release.ir, release=release.name)


def target_of_runtime(
    spec: str,
    registry: Registry,
    ir_version: int | None = None,
    files: Sequence[Path] = (),
    inexact: bool = False,
    to: int | str | Mapping[str, int] | None = None,
) -> Target:
    """Return the target of a release of a runtime: the newest opsets and highest IR version that it takes.

    A model keeps its opset if the runtime takes it. Operators are defined as in the newest release of onnx whose opset
    of ai.onnx is not above the target's.

    Args:
        spec: The runtime and its release, "onnxruntime==1.17".
        registry: The operators that are known.
        ir_version: The requested IR version.
        files: YAML files that describe further runtimes.
        inexact: Whether nodes may compute in types in which results differ, if the runtime has no other kernel.
        to: Versions to reach in place of those that suit a model best, in a form of `target_of_version`.

    Raises:
        UsageError: U101 if the runtime, its release, a version in `to` or the IR version does not exist, or if the
            runtime does not take a version in `to`. Also U101 if it is not known which opsets the release takes, and
            `to` names no version of ai.onnx.
        SchemaError: A file has faults.
    """
    from opset.opsets.runtimes import find_runtime  # most conversions need no runtime

    runtime = find_runtime(spec, files)
    fixed = {} if to is None else target_of_version(to, registry).opsets
    if runtime.opsets[""] == (None, None) and "" in fixed:  # its kernels are known, and the caller knows its opsets
        runtime = replace(runtime, opsets={**runtime.opsets, "": (fixed[""], fixed[""])})
    target = target_at_runtime(runtime, registry, ir_version, inexact)
    return target if to is None else fix_versions(target, fixed, registry)


def target_at_runtime(
    runtime: Runtime, registry: Registry, ir_version: int | None = None, inexact: bool = False
) -> Target:
    """Return the target of one release of a runtime: the newest opsets and highest IR version that it takes.

    `least` of the target is the lowest opset of ai.onnx that the runtime takes. A model keeps its opset if it lies
    between `least` and the newest. For other domains, only the highest version is bounded.

    Args:
        runtime: The release of a runtime.
        registry: The operators that are known.
        ir_version: The requested IR version.
        inexact: Whether nodes may compute in types in which results differ, if the runtime has no other kernel.

    Raises:
        UsageError: U101 if it is not known which opsets the release takes, if all of them are newer than the
            registry's, or if there is no such IR version.
    """
    lowest, highest = runtime.opsets[""]
    newest = registry.domains[""]
    if lowest is None and highest is None:
        help = "name the opset beside the runtime: --to 17; opset targets show has the operators that it takes"
        raise UsageError(
            Finding("U101", f"which opsets {runtime.name} {runtime.release} takes is not known", help=help)
        )
    if lowest is not None and lowest > newest:
        message = f"{runtime.name} {runtime.release} takes no opset of ai.onnx below {lowest}"
        raise UsageError(Finding("U101", message, help=f"the newest version with schemas is {newest}"))
    opsets = {"": newest if highest is None else min(highest, newest)}
    least = {} if lowest is None else {"": lowest}
    for domain, (_, most) in runtime.opsets.items():
        if domain and most is not None:
            opsets[domain] = most
    in_force = releases.release_with(opsets[""]).name
    return Target(
        opsets,
        _check_ir_version(ir_version),
        runtime.max_ir,
        least,
        release=in_force,
        notes=runtime.notes,
        runtime=runtime,
        inexact=inexact,
    )


def fix_versions(target: Target, to: int | str | Mapping[str, int], registry: Registry) -> Target:
    """Return the target of a runtime with the opset versions `to`, in place of those that suit each model best.

    Each model then gets exactly these versions. Domains that `to` does not name stay as they are. `to` has a form of
    `target_of_version`. Raises UsageError U101 if there is no such version, or if the runtime does not take it.
    """
    runtime, fixed = target.runtime, target_of_version(to, registry).opsets
    assert runtime is not None
    for domain, version in fixed.items():
        least, most = runtime.opsets.get(domain, (None, None))
        if not (least or 1) <= version <= (most or version):
            message = f"{runtime.name} {runtime.release} does not take {domain or 'ai.onnx'} {version}"
            span = f"{least} to {most}" if least else f"versions up to {most}"
            span = f"versions from {least} on" if most is None else span
            raise UsageError(Finding("U101", message, help=f"it takes {span}"))
    opsets = {**target.opsets, **fixed}
    return target._replace(
        opsets=opsets, least={**(target.least or {}), **fixed}, release=releases.release_with(opsets[""]).name
    )


def target_of_model(ir_version: int | None = None) -> Target:
    """Return the target that keeps the opsets of a model; only the IR version changes, if one is given.

    Raises UsageError U101 if there is no such IR version.
    """
    return Target({}, _check_ir_version(ir_version))


def target_without(operators: Iterable[str], registry: Registry) -> Target:
    """Return the target that keeps the opsets of a model, but has none of these operators: "Gelu", "com.example.Scale".

    Raises UsageError U101 for an operator that the registry does not have, U103 if none is given.
    """
    lowered = set()
    for name in operators:
        domain, _, op_type = name.rpartition(".")
        domain = normalize_domain(domain)
        if not registry.since_versions(op_type, domain):
            form = "write Gelu, or an operator of another domain as com.example.Scale"
            help = registry.near_miss(op_type, domain) or form
            raise UsageError(Finding("U101", f"there is no operator {quote(name)}", help=help))
        lowered.add((op_type, domain))
    if not lowered:
        raise UsageError(Finding("U103", "no operator is given", help="name those that the runtime lacks"))
    return Target({}, lowered=frozenset(lowered))


def target_for_model(target: Target, source: Mapping[str, int]) -> Target:
    """Return the target for a model that imports the opsets `source`, by domain.

    If the target is a runtime, each domain keeps the model's version if the runtime takes it; otherwise it gets the
    newest version that the runtime takes. Any other target is returned unchanged.
    """
    if target.least is None:
        return target
    opsets = {
        domain: source[domain]
        if domain in source and target.least.get(domain, 1) <= source[domain] <= version
        else version
        for domain, version in target.opsets.items()
    }
    return target._replace(opsets=opsets, least=None)


def _parse_version(text: str) -> tuple[str, int]:
    """Return (domain, version) for "ai.onnx.ml=3", and ("", 21) for "21"; "ai.onnx=21" has the domain "ai.onnx".

    Raises UsageError U101 for any other text.
    """
    domain, _, version = text.rpartition("=")
    if not version.isascii() or not version.isdigit() or len(version) > 6:
        help = "write 21, or a domain's as ai.onnx.ml=3"
        if any(each.name.startswith(text) for each in releases.RELEASES if "." in text):
            help = f"{text} is a release of ONNX: --release {text}, in Python release='{text}'"
        elif "==" in text:
            help = "a runtime is named by --for, in Python by `runtime`"
        raise UsageError(Finding("U101", f"{quote(text)} is no opset version", help=help))
    return domain, int(version)


def parse_versions(texts: tuple[str, ...]) -> dict[str, int]:
    """Return the versions by domain that texts name, each as "21" or "domain=version"; the key for ai.onnx is "".

    Raises UsageError U101 for any other text, and for two texts about one domain. Whether the versions exist is not
    checked.
    """
    versions: dict[str, int] = {}
    for text in texts:
        domain, version = _parse_version(text)
        domain = "" if domain == "ai.onnx" else domain
        if domain in versions:
            message = f"{domain or 'ai.onnx'} is given two versions"
            raise UsageError(Finding("U101", message, help="give --to once for each domain"))
        versions[domain] = version
    return versions


def _check_ir_version(version: int | None) -> int | None:
    """Return the IR version, or None, unchanged. Raises UsageError U101 if there is no such IR version."""
    newest = releases.newest_ir_version()
    if version is None:
        return None
    is_number = isinstance(version, SupportsIndex) and not isinstance(version, bool)
    if not is_number or not 1 <= version <= newest:
        shown = version if is_number else repr(version)
        raise UsageError(Finding("U101", f"there is no IR version {shown}", help=f"they go from 1 to {newest}"))
    return version
