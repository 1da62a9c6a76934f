"""`opset list`: operators, domains, releases, runtimes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from opset.cli import output
from opset.cli.configuration import registry_for, schemas_option
from opset.cli.domains import check_version, known_domain
from opset.errors import Finding, UsageError
from opset.opsets.registry import Registry
from opset.opsets.releases import RELEASES
from opset.opsets.runtimes import RUNTIMES
from opset.plain_text import table_lines
from opset.schemas.names import domain_name, near_miss

THINGS = ["operators", "domains", "releases", "runtimes"]


@click.command()
@click.argument("things", type=click.Choice(THINGS), default="operators")
@click.option("--domain", metavar="DOMAIN", help="Only operators of this domain.")
@click.option("--opset", "version", type=int, metavar="N", help="At this version (of ai.onnx without --domain).")
@click.option("--family", metavar="FAMILY", help="Only operators of this family.")
@schemas_option
@output.format_option
def command(
    things: str, domain: str | None, version: int | None, family: str | None, folders: tuple[Path, ...], form: str
) -> int:
    """List operators, domains, releases of ONNX or runtimes.

    An operator has all its versions beside it, or with --opset the one that holds there.
    """
    filters = {"--domain": domain, "--opset": version, "--family": family}
    if misplaced := [name for name, value in filters.items() if value is not None and things != "operators"]:
        raise UsageError(Finding("U103", f"{misplaced[0]} chooses among operators, not among {things}"))
    if things == "operators":
        registry = registry_for(folders)
        data = _operators_data(registry, domain, version, family)
    elif things == "domains":
        registry = registry_for(folders)
        data = [
            {"domain": domain_name(name), "newest": newest, "operators": len(registry.operators(name))}
            for name, newest in registry.domains.items()
        ]
    elif things == "releases":
        data = [
            {
                "release": release.name,
                "ir_version": release.ir,
                "ai.onnx": release.opset,
                "ai.onnx.ml": release.ml,
                "ai.onnx.preview.training": release.training or None,
            }
            for release in RELEASES
        ]
    else:
        data = [
            {
                "runtime": runtime.name,
                "release": runtime.release,
                "min_opset": runtime.min_opset,
                "max_opset": runtime.max_opset,
                "max_ai.onnx.ml": runtime.max_ml,
                "max_ir_version": runtime.max_ir,
                "how": runtime.how,
                "source": runtime.source,
            }
            for runtime in RUNTIMES
        ]
    output.write_product(data, lambda: _table_lines(data), form)
    return 0


def _operators_data(
    registry: Registry, domain: str | None, version: int | None, family: str | None
) -> list[dict[str, Any]]:
    """Return the operators that the options choose. Raises UsageError U105 for an unknown family."""
    domains = list(registry.domains) if domain is None else [known_domain(registry, domain)]
    if version is not None:
        domains = domains if domain is not None else [""]
        check_version(registry, domains[0], version)
    data = []
    families = set()
    for each in domains:
        for name in registry.operators(each):
            versions = registry.versions(name, each)
            schema = versions[-1] if version is None else registry.schema(name, version, each)
            families.add(versions[-1].family)
            if schema is None or family not in (None, schema.family):
                continue
            sinces = [old.since_version for old in versions] if version is None else [schema.since_version]
            data.append(
                {
                    "operator": name,
                    "domain": domain_name(each),
                    "family": schema.family,
                    "since": sinces,
                    "withdrawn": schema.deprecated,
                }
            )
    if family is not None and family not in families:
        help = near_miss(family, families) or f"known: {', '.join(sorted(families))}"
        raise UsageError(Finding("U105", f"no operator is of a family '{family}' here", help=help))
    return data


def _table_lines(data: list[dict[str, Any]]) -> list[str]:
    """Return rows of equal keys as a table with the keys above."""
    if not data:
        return []
    rows = [[key.replace("_", " ") for key in data[0]]]
    rows += [[_cell_text(value) for value in row.values()] for row in data]
    return table_lines(rows, indent="")


def _cell_text(value: Any) -> str:
    """Return a value as the text of a cell."""
    if isinstance(value, bool):
        return "yes" if value else ""
    if value is None:
        return "-"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
