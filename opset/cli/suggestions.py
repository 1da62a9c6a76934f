"""Suggestions for calls that are nearly right: verbs and options by other names, and misspelled ones."""

from __future__ import annotations

import click

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


def option_error(error: click.NoSuchOption) -> str:
    """Return the message for an option that a verb does not have, with the one that is meant, if that is clear."""
    ctx, name = error.ctx, error.option_name
    known = [each for param in ctx.command.get_params(ctx) for each in param.opts] if ctx is not None else []
    meant = _OPTIONS.get(name, "")
    guess = f"did you mean {meant}?" if meant.split(" ")[0] in known else near_miss(name, known)
    verb = f"{ctx.command_path} --help" if ctx is not None else "--help"
    return f"there is no option '{name}'; {guess or f'{verb} lists all'}"
