"""Versions of operator sets on the command line: the operators of one, and the changes between two."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence

from opset.catalog import Member, OperatorSetDifference, OperatorSetFacts
from opset.cli.domains import check_version, known_domain
from opset.errors import escape_text, safe_text
from opset.opsets.registry import Registry
from opset.plain_text import count_text, prose_lines, style_text, table_lines


def domain_with_versions(registry: Registry, domain: str, *versions: int) -> str:
    """Return a domain as schemas name it. Raises UsageError U105 if it is not known, or lacks a version."""
    name = known_domain(registry, domain)
    for version in versions:
        check_version(registry, name, version)
    return name


def opset_lines(opset: OperatorSetFacts) -> list[str]:
    """Return a version of an operator set as text."""
    title = style_text(safe_text(f"{opset.domain} {opset.version}"), "bold", sys.stdout)
    facts = [count_text(len(opset.operators), "operator")]
    facts += [f"in onnx {', '.join(opset.releases)}"] if opset.releases else []
    lines = [f"{title}  ({'; '.join(facts)})"]
    lines += _member_lines({"new": opset.new, "changed": opset.changed, "withdrawn": opset.withdrawn})
    families: dict[str, list[str]] = {}
    for operator, since, family in opset.operators:
        families.setdefault(family, []).append(f"{operator} {since}")
    lines += ["", "operators, with the version that each has here"]
    for family, operators in sorted(families.items()):
        lines += [f"  {escape_text(family)}", *prose_lines(", ".join(operators), "    ")]
    return lines


def _member_lines(parts: Mapping[str, Sequence[Member]]) -> Iterator[str]:
    """Yield the names of operators below the title of their part."""
    for title, members in parts.items():
        if members:
            yield from ("", title, *prose_lines(", ".join(each.operator for each in members), "  "))


def opsets_difference_lines(difference: OperatorSetDifference) -> list[str]:
    """Return the difference between two versions of an operator set as text."""
    what = f"{difference.domain} {difference.before} -> {difference.after}"
    lines = [style_text(safe_text(what), "bold", sys.stdout)]
    lines += _member_lines({"new": difference.new, "gone": difference.gone})
    if difference.changed:
        lines += ["", "changed"]
        names = [
            [each.operator, f"{each.since_before} -> {each.since_after}", each.work] for each in difference.changed
        ]
        for line, each in zip(table_lines(names), difference.changed, strict=True):
            lines += [line, *prose_lines(escape_text("; ".join(each.words)), "      ")]
    if len(lines) == 1:
        lines[0] += ": the same"
    return lines
