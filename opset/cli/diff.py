"""`opset diff`: what changed between two versions of an operator, and what it means for a conversion."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from opset.cli import output
from opset.cli.configuration import registry_for, schemas_option
from opset.cli.operators import change_lines, changes, difference_words, version_at, versions_of, worst
from opset.errors import escaped, printable
from opset.schemas.diff import signature_diff
from opset.schemas.names import shown
from opset.text import styled, wrapped


@click.command(no_args_is_help=True)
@click.argument("operator", metavar="OPERATOR")
@click.argument("before", type=int, metavar="A")
@click.argument("after", type=int, metavar="B")
@click.option("--domain", metavar="DOMAIN", help="Domain of the operator.")
@schemas_option
@output.format_option
def command(operator: str, before: int, after: int, domain: str | None, folders: tuple[Path, ...], form: str) -> int:
    """Show what changed in an operator between versions A and B of its operator set.

    Each transition stands with its difference, what it changed in meaning, and who moves a node across it, up and down:
    nothing to do, a derived adapter, a written one, or why it is impossible.
    """
    registry = registry_for(folders)
    versions = versions_of(registry, operator, domain)
    low, high = sorted((before, after))
    older, newer = version_at(registry, versions, low), version_at(registry, versions, high)
    crossed = changes(versions[versions.index(older) : versions.index(newer) + 1])
    difference = signature_diff(older, newer)
    data = {
        "domain": shown(newer.domain), "operator": newer.name, "before": low, "after": high,
        "since_before": older.since_version, "since_after": newer.since_version,
        "difference": difference, "words": difference_words(difference), "transitions": crossed,
        "up": worst([each["up"] for each in crossed]), "down": worst([each["down"] for each in crossed]),
    }  # fmt: skip
    output.write_product(output.finite(data), lambda: _lines(data), form)
    return 0


def _lines(data: dict[str, Any]) -> list[str]:
    title = styled(printable(f"{data['operator']} {data['before']} -> {data['after']}"), "bold", sys.stdout)
    if not data["transitions"]:
        return [f"{title}: the same, version {data['since_before']}"]
    lines = [f"{title}: version {data['since_before']} -> {data['since_after']}"]
    lines += [line for words in data["words"] for line in wrapped(escaped(words), 100, "  ")]
    lines += ["", "transitions"]
    lines += [line for each in data["transitions"] for line in change_lines(each)]
    return [*lines, "", printable(f"up: {data['up']}"), printable(f"down: {data['down']}")]
