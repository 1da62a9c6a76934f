"""`opset bump`: a new version of an operator above the others, and whether one is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import click

from opset.cli import output
from opset.cli.new import (
    domain_option,
    folder_option,
    operator_arguments,
    quote_path,
    since_option,
    write_files_report,
)
from opset.errors import safe_text
from opset.schemas.names import domain_name, qualified_name
from opset.schemas.yaml.printer import flow
from opset.workflow.authoring.bump import LockComparison, bump, compare_with_lock


@click.command(no_args_is_help=True)
@click.argument("operator", metavar="OP")
@domain_option
@click.option("--check", "only_check", is_flag=True, help="Only say whether a new version is needed; exit 1 if it is.")
@since_option
@folder_option
@output.format_option
def command(
    operator: str, domain: str | None, only_check: bool, since: int | None, folder: Path | None, form: str
) -> int:
    """Add a version to an operator, or complete the one that was added.

    The first call copies the newest version above itself, for you to edit. The next one writes what differs into its
    'change' block, lets the version below share what is the same, and adds stubs of adapters that are declared written.
    The rest of the file stays as it is, comments included. No Python file is run.
    """
    if only_check:
        state = compare_with_lock(operator, domain, folder)
        edited = [
            EditedSignature(each.since, each.place, each.difference if each.before else None) for each in state.edited
        ]
        name = state.operator.name, domain_name(state.operator.domain)
        report = LockReport(*name, bool(edited), edited, state.developed, state.difference, state.locked)
        output.write_product(report, lambda: _state_lines(state), form)
        return 1 if edited else 0
    result, done = bump(operator, domain, folder, since)
    folders = f" {quote_path(result.root)}" if result.own else ""
    schemas = f" --schemas{folders}" if result.own else ""
    again = f"opset bump {operator_arguments(result)}"
    is_edited = done in ("completed", "unchanged")
    steps = {} if is_edited else {again: "after you edited it: writes what differs"}
    steps |= {f"opset lint{folders}": "says what is wrong or missing"}
    if is_edited:
        steps |= {f"opset lint --fix{folders}": "writes the layout of operator files"}
        tested = "runs its examples at every version, and to other versions and back"
        steps |= {f"opset test {operator_arguments(result)}": tested}
        whole = qualified_name(result.domain, result.operator)
        steps |= {f"opset diff {whole} {result.before} {result.since}{schemas}": "shows what changed"}
    what = {
        "added": f"version {result.since} of {result.operator}, a copy of version {result.before} to be edited",
        "completed": f"version {result.since} of {result.operator} declares what it changes",
        "unedited": f"nothing to write: version {result.since} of {result.operator} does not differ from version "
        f"{result.before} yet, and does not say what it clarifies",
        "unchanged": f"nothing to write: version {result.since} of {result.operator} is not released, and declares "
        "what differs",
    }[done]
    write_files_report(result, done, steps, form, what)
    return 0


class EditedSignature(NamedTuple):
    """A released version that was edited, with its place and the difference, None if that is more than a signature."""

    since: int
    place: str
    difference: Mapping[str, object] | None


@dataclass(frozen=True)
class LockReport:
    """Whether an operator needs a new version: released versions that were edited, and versions in development.

    `difference` is what the newest version, in development, changes of the one before.
    """

    operator: str
    domain: str
    needed: bool
    edited: Sequence[EditedSignature]
    in_development: Sequence[int]
    difference: Mapping[str, object]
    locked: bool


def _state_lines(state: LockComparison) -> list[str]:
    """Return the state of an operator as text."""
    name = state.operator.name
    lines = [f"{name}: a new version is {'needed' if state.edited else 'not needed'}"]
    for version in state.edited:
        differs = flow(version.difference) if version.before else "more than one part of it was edited"
        lines.append(f"  version {version.since} is released, and its signature was edited: {differs}")
        lines.append(f"    {version.place}")
    if not state.locked:
        lines.append("  none of its versions is released: no lock holds one")
    elif state.developed:
        versions = ", ".join(map(str, state.developed))
        what = f": {flow(state.difference)}" if state.difference else ""
        lines.append(f"  in development: {versions}{what}")
    if state.edited:
        whole = qualified_name(state.operator.domain, name)
        lines.append(f"  restore what was released; opset bump {whole} adds a version")
    return [safe_text(line) for line in lines]
