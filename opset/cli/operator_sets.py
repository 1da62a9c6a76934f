"""Versions of operator sets on the command line: the operators of one, and the changes between two."""

from __future__ import annotations

import sys
from typing import Any

from opset.cli.domains import check_version, known_domain
from opset.errors import escape_text, safe_text
from opset.opsets.registry import Registry
from opset.plain_text import prose_lines, style_text, table_lines


def domain_with_versions(registry: Registry, domain: str, *versions: int) -> str:
    """Return a domain as schemas name it. Raises UsageError U105 if it is not known, or lacks a version."""
    name = known_domain(registry, domain)
    for version in versions:
        check_version(registry, name, version)
    return name


def opset_lines(data: dict[str, Any]) -> list[str]:
    """Return `opset_data` as text."""
    title = style_text(safe_text(f"{data['domain']} {data['version']}"), "bold", sys.stdout)
    count = len(data["operators"])
    facts = [f"{count} operator{'' if count == 1 else 's'}"]
    facts += [f"in onnx {', '.join(data['releases'])}"] if data["releases"] else []
    lines = [f"{title}  ({'; '.join(facts)})"]
    for part in ("new", "changed", "withdrawn"):
        if data[part]:
            lines += ["", part, *prose_lines(", ".join(each["operator"] for each in data[part]), "  ")]
    families: dict[str, list[str]] = {}
    for operator in data["operators"]:
        families.setdefault(operator["family"], []).append(f"{operator['operator']} {operator['since']}")
    lines += ["", "operators, with the version that each has here"]
    for family, operators in sorted(families.items()):
        lines += [f"  {escape_text(family)}", *prose_lines(", ".join(operators), "    ")]
    return lines


def opsets_difference_lines(data: dict[str, Any]) -> list[str]:
    """Return `opsets_difference` as text."""
    lines = [style_text(safe_text(f"{data['domain']} {data['before']} -> {data['after']}"), "bold", sys.stdout)]
    for part in ("new", "gone"):
        if data[part]:
            lines += ["", part, *prose_lines(", ".join(each["operator"] for each in data[part]), "  ")]
    if data["changed"]:
        lines += ["", "changed"]
        names = [
            [change["operator"], f"{change['since_before']} -> {change['since_after']}", change["work"]]
            for change in data["changed"]
        ]
        for line, each in zip(table_lines(names), data["changed"], strict=True):
            lines.append(line)
            lines += prose_lines(escape_text("; ".join(each["words"])), "      ")
    if len(lines) == 1:
        lines[0] += ": the same"
    return lines
