"""`opset new`: the files of a new operator, with guidance for its author."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from opset.cli import output
from opset.errors import safe_text
from opset.plain_text import table_lines
from opset.schemas.names import domain_name
from opset.workflow.authoring.new import FUNCTION, WrittenOperator, new_operator

folder_option = click.option(
    "-o",
    "--schemas",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder of operator YAML to write into: 'schemas' by default, or the checkout for operators of the standard.",
)
domain_option = click.option("-d", "--domain", metavar="DOMAIN", help="Its domain, where OP is a name without one.")
since_option = click.option(
    "--since", type=int, metavar="N", help="Version of the operator set that it comes with, if not the next one."
)


@click.command(no_args_is_help=True)
@click.argument("operator", metavar="OP")
@domain_option
@click.option("--like", metavar="OP", help="Begin with its signature, family, shape rule and function bodies.")
@click.option("--family", metavar="FAMILY", help="Family that it shares files with; by default that of --like.")
@click.option("--shape", metavar="RULE", help=f"Rule for output shapes, or '{FUNCTION}' where no rule fits.")
@since_option
@folder_option
@output.format_option
def command(
    operator: str,
    domain: str | None,
    like: str | None,
    family: str | None,
    shape: str | None,
    since: int | None,
    folder: Path | None,
    form: str,
) -> int:
    """Write the YAML of a new operator, and stubs of its kernel and of the function that infers its outputs.

    Lines that begin with #: say what to write. Nothing is overwritten, and no Python file is run. OP is a name such as
    com.acme.Thin; one without a domain is of the standard.
    """
    result = new_operator(operator, domain, like=like, folder=folder, family=family, shape=shape, since=since)
    folders = f" {quote_path(result.root)}" if result.own else ""
    steps = {
        f"opset lint{folders}": "names what is left to fill in",
        f"opset test {operator_arguments(result)}": "runs its examples",
        f"opset show {operator_arguments(result)}": "shows it as users see it",
    }
    output.write_product(files_data(result, "new", steps), lambda: files_lines(result, steps), form)
    return 0


def quote_path(path: Path | str) -> str:
    """Return a path as a shell reads it."""
    return shlex.quote(str(path))


def operator_arguments(result: WrittenOperator) -> str:
    """Return the arguments by which verbs take an operator and its folder."""
    name = f"{result.domain}.{result.operator}" if result.domain else result.operator
    return f"{name} --schemas {quote_path(result.root)}" if result.own else name


def files_data(result: WrittenOperator, done: str, steps: dict[str, str]) -> dict[str, Any]:
    """Return the written files, and the commands to go on with, as plain data."""
    return {
        "done": done,
        "operator": result.operator,
        "domain": domain_name(result.domain),
        "since": result.since,
        "family": result.family,
        "files": [{"path": path, "functions": [*functions]} for path, functions in result.files.items()],
        "next": [{"command": each, "why": why} for each, why in steps.items()],
    }


def files_lines(result: WrittenOperator, steps: dict[str, str]) -> list[str]:
    """Return the written files, and the commands to go on with, as text."""
    lines = []
    for path, functions in result.files.items():
        lines.append(safe_text(f"wrote {path}{': ' if functions else ''}{', '.join(functions)}"))
    return [*lines, "next", *table_lines([[safe_text(each), why] for each, why in steps.items()])]
