"""The verbs with their arguments and options: what each takes, by default and how often, and its help.

To write what they are now, for a reader to judge: OPSET_TRANSCRIBE=1 python -m pytest tests/cli/test_options.py
"""

import inspect
import os
from pathlib import Path

import click

from opset.cli import VERBS, cli

LISTED = Path(__file__).parent / "options.txt"
NAMED = ("metavar", "multiple", "required", "is_flag", "is_eager", "show_default")


def kind(type_):
    """What a type of click accepts."""
    if isinstance(type_, click.Choice):
        return "|".join(type_.choices)
    if isinstance(type_, click.Path):
        return f"path(file={type_.file_okay}, folder={type_.dir_okay}, exists={type_.exists})"
    if isinstance(type_, click.IntRange | click.FloatRange):
        return f"{type_.name}({type_.min}, {type_.max}, open={type_.min_open or type_.max_open})"
    return type_.name


def lines(verb):
    context = click.Context(cli, info_name="opset")
    command = cli.get_command(context, verb)
    yield f"{verb}: {'help' if command.no_args_is_help else 'a call'} without arguments"
    yield from (f"  | {line}".rstrip() for line in inspect.cleandoc(command.help).split("\n"))
    for each in command.params:
        facts = {name: getattr(each, name, None) for name in NAMED} | {"default": each.get_default(context)}
        facts["nargs"] = each.nargs if each.nargs != 1 else None
        said = [f"{name}={value!r}" for name, value in facts.items() if value and isinstance(value, str | int)]
        names = ", ".join([*each.opts, *each.secondary_opts])
        yield f"  {names} -> {each.name}: {kind(each.type)} {' '.join(said)}".rstrip()
        if isinstance(each, click.Option):
            yield f"      {each.help}"


def test_all_arguments_and_options():
    found = "".join(f"{line}\n" for verb in VERBS for line in lines(verb))
    if os.environ.get("OPSET_TRANSCRIBE"):
        LISTED.write_text(found, encoding="utf-8")
    assert found == LISTED.read_text(encoding="utf-8")
