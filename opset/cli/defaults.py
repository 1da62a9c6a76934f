"""Defaults of options in the configuration: `[tool.opset.convert]`, and below it `to = 21`.

The configuration may come from anyone. It sets results and their form. A call alone decides which code is trusted,
which files are read, written and overwritten, and how much work is allowed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import click

from opset.cli.configuration import FORM, Project, read_project
from opset.errors import UsageError, safe_text
from opset.schemas.names import near_miss

_TEXTS = frozenset(
    "--to --release --for --assume-opset --dim --freeze --ops --only --except --domain --family --select --ignore "
    "--runtime --value -k".split()
)
"""Options of any text that the configuration may set: names of things, and no paths or programs."""
_OF_CALLS = frozenset("--allow-hooks --in-place --force --max-steps --timeout --debug --help --today".split())
"""Options of other kinds that only a call sets."""
_PLAIN = (click.Choice, click.types.IntParamType, click.types.FloatParamType, click.types.BoolParamType)
"""Types of options that cannot name a file or a program."""
MOST = 100
"""Values of one option."""


def defaults_for(verb: str, command: click.Command, verbs: Iterable[str]) -> dict[str, Any]:
    """Return the values of options that the configuration sets for a verb, by parameter.

    `verbs` are the names of all. A file that cannot be read is left to those who need it.

    Raises UsageError U103 for an option that it may not set, or a value that is none.
    """
    try:
        project = read_project()
    except UsageError as error:
        if "put a file in its place" in error.help:
            return {}
        raise
    if unknown := sorted(project.verbs.keys() - {*verbs}):
        why = f"[tool.opset] has the unknown key {safe_text(unknown[0], 100)!r}"
        raise project.error(why, near_miss(unknown[0], verbs) or FORM)
    options = {name: each for each in command.params if isinstance(each, click.Option) for name in each.opts}
    return {
        option.name: value
        for key, given in project.verbs.get(verb, {}).items()
        for option, value in [_option_value(project, verb, key, given, options)]
        if option.name is not None
    }


def _option_value(
    project: Project, verb: str, key: str, given: object, options: Mapping[str, click.Option]
) -> tuple[click.Option, Any]:
    """Return the option that a key of the configuration names, with its value. Raises UsageError U103."""
    name = f"{'-' if len(key) == 1 else '--'}{key}"
    where = f"[tool.opset.{verb}] {safe_text(key, 100)}"
    if name not in options:
        near = near_miss(key, [each.lstrip("-") for each in options])
        raise project.error(f"{where}: the verb has no such option", near or f"opset {verb} --help lists them")
    option = options[name]
    if name in _OF_CALLS or not (name in _TEXTS or isinstance(option.type, _PLAIN)):
        raise project.error(f"{where}: only a call sets this option", f"write it on the command line: {name}")
    values = given if isinstance(given, list) else [given]
    if not all(isinstance(each, str | int | float) for each in values) or len(values) > MOST:
        raise project.error(f"{where} is no text, number or truth value, or list of these", FORM)
    if isinstance(given, list) and not option.multiple:
        raise project.error(f"{where} takes one value", FORM)
    if name == "--jobs" and isinstance(given, int) and given > (os.cpu_count() or 1):
        raise project.error(f"{where} is more than there are processors", f"write at most {os.cpu_count()}")
    if option.is_flag:
        if not isinstance(given, bool):
            raise project.error(f"{where} is neither true nor false", FORM)
        return option, given
    texts = [str(each) for each in values]
    if any(each.startswith("installed:") for each in texts):
        raise project.error(f"{where}: only a call asks an installed package", f"write it on the command line: {name}")
    return option, texts if option.multiple else texts[0]
