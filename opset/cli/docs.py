"""`opset docs`: writes the documentation of operators as a site, as Markdown or as JSON."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import click

from opset.cli.configuration import folders_for, hooks_option, schemas_option
from opset.cli.domains import known_domain
from opset.cli.progress import show_progress
from opset.cli.words import Words
from opset.docgen import FORMS, documentation
from opset.errors import Finding, UsageError, safe_text
from opset.output_folder import size_text, write_documentation
from opset.plain_text import count_text


def _describe_verbs() -> list[Any]:
    """Return the verbs of the command line, with their help, for the pages of the site."""
    from opset.cli import cli
    from opset.docgen.verb_pages import VerbPage

    verbs = []
    with click.Context(cli, info_name="opset", **cli.context_settings) as above:
        for name in cli.list_commands(above):
            verb = cli.get_command(above, name)
            assert verb is not None
            context = click.Context(verb, info_name=name, parent=above)
            records = [each.get_help_record(context) for each in verb.get_params(context)]
            options = [(names, words) for names, words in filter(None, records)]
            summary = verb.get_short_help_str(200)
            usage = verb.get_usage(context).removeprefix("Usage: ")
            verbs.append(VerbPage(name, summary, f"$ {usage}", inspect.cleandoc(verb.help or ""), options))
    return verbs


HOOKS = ("adapters.py", "inference.py", "kernels.py")


@click.command(no_args_is_help=True)
@click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Folder to write to.",
)
@click.option("--domain", "domains", multiple=True, metavar="DOMAIN", help="Only this domain. Repeatable.")
@click.option(
    "--format",
    "form",
    type=Words(list(FORMS)),
    default="html",
    show_default=True,
    help="Form of the documentation.",
)
@click.option("--force", is_flag=True, help="Write to a folder with other files, and over those of the same names.")
@schemas_option
@hooks_option
@click.option("-q", "--quiet", is_flag=True, help="Write no report, only errors.")
def command(
    folder: str,
    domains: tuple[str, ...],
    form: str,
    force: bool,
    folders: tuple[Path, ...],
    allow_hooks: bool | None,
    quiet: bool,
) -> int:
    """Write the documentation of operators: a site of HTML pages, Markdown, or JSON with its JSON Schema.

    It covers the standard's domains and those of --schemas, ./pyproject.toml and installed packages. What is written
    depends on the operators alone. In DIR, files of an earlier run are replaced, and removed where they are no longer
    made; all others stay.
    """
    if not folder:
        raise UsageError(Finding("U103", "the folder to write to has no name", help="name one: -o DIR"))
    known = folders_for(folders, allow_hooks)
    registry = known.registry()
    wanted = {known_domain(registry, domain) for domain in domains}
    chosen = [domain for domain in registry.domains if domain in wanted] or None
    known.note_left_out(quiet, *HOOKS)
    with show_progress(quiet, "pages") as show:
        files = dict(documentation(registry, form, chosen, show, _describe_verbs if chosen is None else None))
    write_documentation(folder, form, files, force)
    if not quiet:
        print(f"wrote {count_text(len(files), 'file')}, {size_text(files.values())}, to {safe_text(folder)}")
    return 0
