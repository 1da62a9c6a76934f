"""Versions of operator sets on the command line: what is in one, and what changed between two."""

from __future__ import annotations

import sys
from typing import Any

from opset.cli.domains import check_version, known_domain
from opset.cli.operators import changes, difference_words, worst
from opset.errors import escaped, printable
from opset.opsets.registry import Registry
from opset.opsets.releases import RELEASES
from opset.schemas.diff import signature_diff
from opset.schemas.names import shown
from opset.text import columns, prose, styled


def known_version(registry: Registry, domain: str, version: int) -> str:
    """Return a domain as schemas name it. Raises UsageError U105 where it has no such version, or is not known."""
    name = known_domain(registry, domain)
    check_version(registry, name, version)
    return name


def opset_data(registry: Registry, domain: str, version: int) -> dict[str, Any]:
    """Return a version of an operator set as plain data: its releases, its operators, and what it brought.

    `withdrawn` are operators that this version withdrew, and `operators` those that are in it and not withdrawn.
    """
    name = known_version(registry, domain, version)
    found: dict[str, list[dict[str, Any]]] = {"new": [], "changed": [], "withdrawn": [], "operators": []}
    for operator in registry.operators(name):
        schema = registry.schema(operator, version, name)
        if schema is None:
            continue
        entry = {"operator": operator, "since": schema.since_version, "family": schema.family}
        if schema.since_version == version:
            first = registry.versions(operator, name)[0].since_version == version
            found["withdrawn" if schema.deprecated else "new" if first else "changed"].append(entry)
        if not schema.deprecated:
            found["operators"].append(entry)
    releases = [each.name for each in RELEASES if each.opset_of(name) == version]
    return {"domain": shown(name), "version": version, "releases": releases, **found}


def opset_lines(data: dict[str, Any]) -> list[str]:
    """Return `opset_data` as text."""
    title = styled(printable(f"{data['domain']} {data['version']}"), "bold", sys.stdout)
    facts = [f"{len(data['operators'])} operators"]
    facts += [f"in onnx {', '.join(data['releases'])}"] if data["releases"] else []
    lines = [f"{title}  ({'; '.join(facts)})"]
    for part in ("new", "changed", "withdrawn"):
        if data[part]:
            lines += ["", part, *prose(", ".join(each["operator"] for each in data[part]), "  ")]
    families: dict[str, list[str]] = {}
    for each in data["operators"]:
        families.setdefault(each["family"], []).append(f"{each['operator']} {each['since']}")
    lines += ["", "operators, with the version that each has here"]
    for family, operators in sorted(families.items()):
        lines += [f"  {escaped(family)}", *prose(", ".join(operators), "    ")]
    return lines


def opsets_difference(registry: Registry, domain: str, before: int, after: int) -> dict[str, Any]:
    """Return what differs between two versions of an operator set, in the direction from `before` to `after`.

    `new` and `gone` are operators that only the latter or the former has, with those that are withdrawn in one of the
    two. `changed` has the signature difference and what adapters have to do.
    """
    name = known_version(registry, domain, before)
    known_version(registry, domain, after)
    found: dict[str, list[dict[str, Any]]] = {"new": [], "gone": [], "changed": []}
    for operator in registry.operators(name):
        old, new = (registry.schema(operator, version, name) for version in (before, after))
        here, there = (schema is not None and not schema.deprecated for schema in (old, new))
        if old is None or new is None or not (here and there):
            schema = new if there else old
            if schema is not None and here != there:
                entry = {"operator": operator, "since": schema.since_version, "family": schema.family}
                found["new" if there else "gone"].append(entry)
        elif old != new:
            versions = registry.versions(operator, name)
            low, high = sorted((versions.index(old), versions.index(new)))
            crossed = changes(versions[low : high + 1])
            direction = "up" if after > before else "down"
            found["changed"].append(
                {"operator": operator, "since_before": old.since_version, "since_after": new.since_version,
                 "words": difference_words(signature_diff(old, new)),
                 "meaning": [each["meaning"] for each in crossed if each["meaning"]],
                 "work": worst([each[direction] for each in crossed])}
            )  # fmt: skip
    return {"domain": shown(name), "before": before, "after": after, **found}


def opsets_difference_lines(data: dict[str, Any]) -> list[str]:
    """Return `opsets_difference` as text."""
    lines = [styled(printable(f"{data['domain']} {data['before']} -> {data['after']}"), "bold", sys.stdout)]
    for part in ("new", "gone"):
        if data[part]:
            lines += ["", part, *prose(", ".join(each["operator"] for each in data[part]), "  ")]
    if data["changed"]:
        lines += ["", "changed"]
        names = [
            [each["operator"], f"{each['since_before']} -> {each['since_after']}", each["work"]]
            for each in data["changed"]
        ]
        for line, each in zip(columns(names), data["changed"], strict=True):
            lines.append(line)
            lines += prose(escaped("; ".join(each["words"])), "      ")
    if len(lines) == 1:
        lines[0] += ": the same"
    return lines
