"""Suggestions for calls that are nearly right: verbs and options by other names, and misspelled ones."""

from __future__ import annotations

import re
from collections.abc import Iterable

import click

from opset.errors import listing
from opset.schemas.names import near_miss

_VERBS = {
    "upgrade": "convert",
    "downgrade": "convert",
    "version-convert": "convert",
    "validate": "check",
    "shape-inference": "infer",
    "inspect": "info",
    "print": "text",
    "help": "--help",
}
"""Names that people try for a verb, with the verb."""
_OPTIONS = {
    "--opset": "--to",
    "--opset-version": "--to",
    "--target": "--to",
    "--target-opset": "--to",
    "--dry-run": "--plan",
    "--runtime": "--for",
    "--for": "--runtime",
    "--out": "--output",
    "--output-file": "--output",
    "--overwrite": "--force",
    "--inplace": "--in-place",
    "--quite": "--quiet",
    "--silent": "--quiet",
    "--json": "--format json",
    "--workers": "--jobs",
    "--processes": "--jobs",
}
"""Options by the names that other tools give them, with ours; each counts for verbs that have ours."""


def verb_error(name: str, verbs: list[str], ctx: click.Context) -> click.UsageError:
    """Return the error for a word that is no verb."""
    guess = f"did you mean {_VERBS[name]}?" if name in _VERBS else near_miss(name, verbs)
    return click.UsageError(f"there is no verb '{name}'; {guess or 'opset --help lists all'}", ctx)


def option_error(error: click.NoSuchOption, others: Iterable[tuple[str, click.Command]]) -> str:
    """Return the message for an option that a verb does not have, with what may be meant.

    That is an option of the verb, or else the verbs that have the option; `others` are all verbs with their commands.
    """
    ctx, name = error.ctx, error.option_name
    known = _options_of(ctx.command) if ctx is not None else []
    meant = _OPTIONS.get(name, "")
    guess = f"did you mean {meant}?" if meant.split(" ")[0] in known else _near_option(name, known)
    if not guess:
        having = [verb for verb, command in others if name in _options_of(command)]
        guess = f"it is an option of {listing(having, 5)}" if having else ""
    verb = f"{ctx.command_path} --help" if ctx is not None else "--help"
    return f"there is no option '{name}'; {guess or f'{verb} lists all'}"


def _options_of(command: click.Command) -> list[str]:
    """Return the names of a command's options."""
    return [each for param in command.params if isinstance(param, click.Option) for each in param.opts]


def _near_option(name: str, known: Iterable[str]) -> str:
    """Return "did you mean …?" with options that are like one, "" if there is none.

    Dashes do not count, and names of one or two letters are like everything.
    """
    if len(name.lstrip("-")) < 3:
        return ""
    by_word = {each.lstrip("-"): each for each in known if len(each) > 4}
    guess = near_miss(name.lstrip("-"), by_word)
    words = guess.removeprefix("did you mean ").removesuffix("?").split(" or ")
    return f"did you mean {' or '.join(by_word[each] for each in words)}?" if guess else ""


_PLAIN = {
    "is not a valid integer.": "is not a whole number",
    "is not a valid integer range.": "is not a whole number",
    "is not a valid float.": "is not a number",
    "is not a valid float range.": "is not a number",
}
"""What click says of a text that is no number, in plain words."""


def plain_message(error: click.UsageError) -> str:
    """Return the message of an error of click in plain words."""
    message = error.format_message()
    for words, plain in _PLAIN.items():
        if message.endswith(words):
            return message.removesuffix(words) + plain
    takes_domain = error.ctx is not None and "--domain" in _options_of(error.ctx.command)
    if takes_domain and re.fullmatch(r"Got unexpected extra argument \([a-z]\w*(\.\w+)+\)", message):
        return f"{message}; a domain is named by --domain"
    return message
