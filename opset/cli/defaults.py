"""Defaults of options in the configuration: `[tool.opset.convert]`, and below it `to = 21`.

The configuration may come from anyone. It sets results and their form, and may limit work further. A call alone decides
which code is trusted and run, which files are read, written and overwritten, and how much more work is allowed.
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
    "--runtime --value -k --set --shard --inputs --outputs --add-output --graph --function --connect --prefix --node "
    "--contains --like --shape --state --set-version --name".split()
)
"""Options of any text that the configuration may set: names of things, and no paths or programs."""
_LISTS = {"--schemas": "schemas", "--target": "targets"}
"""Options whose values the configuration lists for all verbs at once, below [tool.opset]."""
ONLY_CALLS: Mapping[str, str] = {
    name: why
    for why, names in {
        "it names files that are read or written": "--output --report --schemas --target --allow-external-root --data "
        "--compare --approved --baseline --expect",
        "it writes files, or over files": "--in-place --force --fix --lock --record --save-inputs",
        "it runs programs, trusts code, or asks what is installed": "--allow-hooks --failing --python --executor "
        "--with --verify-with --provider conformance:--runtime",
        "it allows more work": "--max-steps --max-bytes",
        "it belongs to one call": "--help --debug --today",
    }.items()
    for name in names.split()
}
"""Options that only a call sets, each with the reason; `verb:--option` names an option of one verb."""
MOST_SECONDS = 3600.0
"""Greatest --timeout that the configuration may set."""
_LIMITS = frozenset(("--timeout", "--max-memory", "--time-limit", "--tries"))
"""Options that may limit work in the configuration, and not allow more of it."""
_PLAIN = (click.Choice, click.types.IntParamType, click.types.FloatParamType, click.types.BoolParamType)
"""Types of options that cannot name a file or a program."""
MOST = 100
"""Values of one option."""


def reason_for_call(verb: str, command: click.Command, option: click.Option) -> str:
    """Return why only a call sets an option of a verb, "" if the configuration may set it."""
    for name in option.opts:
        if why := ONLY_CALLS.get(f"{verb}:{name}") or ONLY_CALLS.get(name):
            return why
    if _LIMITS.isdisjoint(option.opts):
        is_known = not _TEXTS.isdisjoint(option.opts) or isinstance(option.type, _PLAIN)
        return "" if is_known else "nobody has decided that it names no file"
    many = any("--max-memory" in each.opts for each in command.params)
    return "" if many or _default_of(option) is not None else ONLY_CALLS["--max-steps"]


def _default_of(option: click.Option) -> float | None:
    """Return the number that an option has by default, None if it has none."""
    return float(option.default) if isinstance(option.default, int | float) else None


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
    return {
        option.name: value
        for key, given in project.verbs.get(verb, {}).items()
        for option, value in [_option_value(project, verb, command, key, given)]
        if option.name is not None
    }


def _option_value(
    project: Project, verb: str, command: click.Command, key: str, given: object
) -> tuple[click.Option, Any]:
    """Return the option that a key of the configuration names, with its value. Raises UsageError U103."""
    options = {name: each for each in command.params if isinstance(each, click.Option) for name in each.opts}
    name = f"{'-' if len(key) == 1 else '--'}{key}"
    where = f"[tool.opset.{verb}] {safe_text(key, 100)}"
    if name not in options:
        near = near_miss(key, [each.lstrip("-") for each in options])
        raise project.error(f"{where}: the verb has no such option", near or f"opset {verb} --help lists them")
    option = options[name]
    if reason := reason_for_call(verb, command, option):
        lists = [f"list it below [tool.opset]: {_LISTS[each]} = [...]" for each in option.opts if each in _LISTS]
        help = lists[0] if lists else f"write it on the command line: {name}"
        raise project.error(f"{where}: only a call sets this option, since {reason}", help)
    values = given if isinstance(given, list) else [given]
    if not all(isinstance(each, str | int | float) for each in values) or len(values) > MOST:
        help = f"write a value as in a call, or a list of values: {safe_text(key, 100)} = [...]"
        raise project.error(f"{where} is no text, number or boolean, or list of these", help)
    if isinstance(given, list) and not option.multiple:
        raise project.error(f"{where} takes one value", "write it without brackets")
    if name == "--jobs" and isinstance(given, int) and given > (os.cpu_count() or 1):
        raise project.error(f"{where} is more than there are processors", f"write at most {os.cpu_count()}")
    if option.is_flag:
        if not isinstance(given, bool):
            raise project.error(f"{where} is neither true nor false", "write true or false, without quotes")
        return option, given
    texts = [str(each) for each in values]
    most = None if _LIMITS.isdisjoint(option.opts) else _most_of(option)
    if most is not None and not _is_at_most(texts[0], most):
        raise project.error(f"{where} allows more work: at most {most:g}", f"write it on the command line: {name}")
    if any(each.startswith("installed:") for each in texts):
        raise project.error(f"{where}: only a call asks an installed package", f"write it on the command line: {name}")
    return option, texts if option.multiple else texts[0]


def _most_of(option: click.Option) -> float | None:
    """Return the greatest value of a limit that the configuration may set: its default, for a time an hour."""
    default = _default_of(option)
    return default if default is not None or "--timeout" not in option.opts else MOST_SECONDS


def _is_at_most(text: str, most: float) -> bool:
    """Whether a text is a number that is at most `most`; for others, the option reports the fault."""
    try:
        return float(text) <= most
    except ValueError:
        return True
