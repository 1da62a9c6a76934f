"""`opset list`: operators, domains, releases, runtimes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

import click

from opset.cli import output
from opset.cli.configuration import registry_for, schemas_option
from opset.cli.domains import check_version, known_domain
from opset.cli.words import Words
from opset.errors import Finding, UsageError
from opset.opsets.registry import Registry
from opset.opsets.releases import RELEASES
from opset.opsets.runtimes import Runtime, releases_of, runtime_names
from opset.plain_text import table_lines
from opset.schemas.names import domain_name, near_miss

THINGS = ["operators", "domains", "releases", "runtimes"]


@dataclass(frozen=True)
class ListedOperator:
    """An operator with its versions, or with the one that holds at a version of its operator set."""

    operator: str
    domain: str
    family: str
    since: Sequence[int]
    withdrawn: bool


@dataclass(frozen=True)
class ListedDomain:
    """A domain with its newest version and the number of its operators."""

    domain: str
    newest: int
    operators: int


@dataclass(frozen=True)
class ListedRelease:
    """A release of ONNX with its versions."""

    release: str
    ir_version: int
    ai_onnx: int = field(metadata={"key": "ai.onnx"})
    ml: int = field(metadata={"key": "ai.onnx.ml"})
    training: int | None = field(metadata={"key": "ai.onnx.preview.training"})


@dataclass(frozen=True)
class ListedRuntime:
    """A release of a runtime with the versions that it takes, and how these are known."""

    runtime: str
    release: str
    min_opset: int | None
    max_opset: int | None
    max_ml: int | None = field(metadata={"key": "max_ai.onnx.ml"})
    max_ir_version: int | None
    how: str
    source: str


Row = ListedOperator | ListedDomain | ListedRelease | ListedRuntime


@click.command()
@click.argument("things", type=Words(THINGS), default="operators")
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
        message = f"{misplaced[0]} chooses among operators, not among {things}"
        raise UsageError(Finding("U103", message, help=f"opset list operators {misplaced[0]} …"))
    rows: Sequence[Row]
    if things == "operators":
        rows = _chosen_operators(registry_for(folders), domain, version, family)
    elif things == "domains":
        registry = registry_for(folders)
        domains = registry.domains.items()
        rows = [ListedDomain(domain_name(name), newest, len(registry.operators(name))) for name, newest in domains]
    elif things == "releases":
        rows = [ListedRelease(each.name, each.ir, each.opset, each.ml, each.training or None) for each in RELEASES]
    else:
        rows = [_listed_runtime(each) for name in runtime_names() for each in releases_of(name)]
    output.write_product(rows, lambda: _table_lines(rows), form)
    return 0


def _listed_runtime(runtime: Runtime) -> ListedRuntime:
    """Return the row of a release of a runtime."""
    _, max_ml = runtime.opsets.get("ai.onnx.ml", (None, None))
    row = (*runtime.opsets[""], max_ml, runtime.max_ir)
    return ListedRuntime(runtime.name, runtime.release, *row, runtime.how, runtime.source)


def _chosen_operators(
    registry: Registry, domain: str | None, version: int | None, family: str | None
) -> list[ListedOperator]:
    """Return the operators that the options choose. Raises UsageError U105 for an unknown family."""
    domains = list(registry.domains) if domain is None else [known_domain(registry, domain)]
    if version is not None:
        domains = domains if domain is not None else [""]
        check_version(registry, domains[0], version)
    rows = []
    families = set()
    for each in domains:
        for name in registry.operators(each):
            versions = registry.versions(name, each)
            schema = versions[-1] if version is None else registry.schema(name, version, each)
            families.add(versions[-1].family)
            if schema is None or family not in (None, schema.family):
                continue
            sinces = [old.since_version for old in versions] if version is None else [schema.since_version]
            rows.append(ListedOperator(name, domain_name(each), schema.family, sinces, schema.deprecated))
    if family is not None and family not in families:
        help = near_miss(family, families) or f"known: {', '.join(sorted(families))}"
        raise UsageError(Finding("U105", f"no operator is of a family '{family}' here", help=help))
    return rows


def _table_lines(rows: Sequence[Row]) -> list[str]:
    """Return rows as a table with the keys that JSON has above."""
    if not rows:
        return []
    names = {each.name: each.metadata.get("key", each.name).replace("_", " ") for each in fields(rows[0])}
    cells = [[_cell_text(getattr(row, name)) for name in names] for row in rows]
    return table_lines([[*names.values()], *cells], indent="")


def _cell_text(value: object) -> str:
    """Return a value as the text of a cell."""
    if isinstance(value, bool):
        return "yes" if value else ""
    if value is None:
        return "-"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
