"""The verbs with their arguments and options: what each takes, by default and how often, and its help.

To write what they are now, for a reader to judge: OPSET_TRANSCRIBE=1 python -m pytest tests/cli/test_options.py
"""

import inspect
import os
import runpy
from pathlib import Path

import click
import pytest

import opset.cli
from opset.cli import VERBS, cli
from opset.cli.batch import writing_options
from opset.cli.limits import limits_options

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


def lines(command, context):
    """What a command takes."""
    yield f"{command.name}: {'help' if command.no_args_is_help else 'a call'} without arguments"
    yield from (f"  | {line}".rstrip() for line in inspect.cleandoc(command.help or "").split("\n"))
    for each in command.params:
        facts = {name: getattr(each, name, None) for name in NAMED} | {"default": each.get_default(context)}
        facts["nargs"] = each.nargs if each.nargs != 1 else None
        said = [f"{name}={value!r}" for name, value in facts.items() if value and isinstance(value, str | int)]
        names = ", ".join([*each.opts, *each.secondary_opts])
        yield f"  {names} -> {each.name}: {kind(each.type)} {' '.join(said)}".rstrip()
        if isinstance(each, click.Option):
            yield f"      {each.help}"


def of_verbs():
    """What each verb takes."""
    context = click.Context(cli, info_name="opset")
    for verb in VERBS:
        command = cli.get_command(context, verb)
        command.name = verb
        yield from lines(command, context)


def shared():
    """What the options of several verbs are, in modules that are run once more."""
    folder = Path(opset.cli.__file__).parent
    options = {}
    for name in ("inputs", "configuration", "new", "output"):
        module = runpy.run_path(folder / f"{name}.py")
        options |= {name: value for name, value in module.items() if name.endswith("_option")}
    options |= {"limits_options": limits_options, "writing": writing_options("Where the result goes.")}
    for name, option in sorted(options.items()):
        command = click.command(name)(option(lambda **_: None))
        yield from lines(command, click.Context(command))


@pytest.mark.parametrize(("name", "found"), [("options", of_verbs), ("shared_options", shared)])
def test_all_arguments_and_options(name, found):
    listed = Path(__file__).parent / f"{name}.txt"
    text = "".join(f"{line}\n" for line in found())
    if os.environ.get("OPSET_TRANSCRIBE"):
        listed.write_text(text, encoding="utf-8")
    assert text == listed.read_text(encoding="utf-8")
