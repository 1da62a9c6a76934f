"""`opset new`: the files of a new operator, with guidance for its author."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import click

from opset.cli import output
from opset.errors import safe_text
from opset.plain_text import table_lines
from opset.schemas.names import domain_name, qualified_name
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
    write_files_report(result, "new", steps, form)
    return 0


def quote_path(path: Path | str) -> str:
    """Return a path as a shell reads it."""
    return shlex.quote(str(path))


def operator_arguments(result: WrittenOperator) -> str:
    """Return the arguments by which verbs take an operator and its folder."""
    name = qualified_name(result.domain, result.operator)
    return f"{name} --schemas {quote_path(result.root)}" if result.own else name


class WrittenFile(NamedTuple):
    """A file that was written, and the functions of which it has stubs now."""

    path: str
    functions: Sequence[str]


class NextStep(NamedTuple):
    """A command to go on with, and its effect."""

    command: str
    why: str


@dataclass(frozen=True)
class AuthoringReport:
    """A version of an operator: the words for its making, the files that were written, and commands to go on with."""

    done: str
    operator: str
    domain: str
    since: int
    family: str
    files: Sequence[WrittenFile]
    next: Sequence[NextStep]


def write_files_report(
    result: WrittenOperator, done: str, steps: dict[str, str], form: str, headline: str = ""
) -> None:
    """Write the report on a version of an operator, in text below a headline if there is one."""
    files = [WrittenFile(path, functions) for path, functions in result.files.items()]
    commands = [NextStep(*each) for each in steps.items()]
    domain = domain_name(result.domain)
    report = AuthoringReport(done, result.operator, domain, result.since, result.family, files, commands)

    def lines() -> Iterator[str]:
        if headline:
            yield safe_text(headline)
        for path, functions in files:
            yield safe_text(f"wrote {path}{': ' if functions else ''}{', '.join(functions)}")
        yield "next"
        yield from table_lines([[safe_text(command), why] for command, why in commands])

    output.write_product(report, lines, form)
