"""`opset completion`: shell completion of verbs and options."""

from __future__ import annotations

from dataclasses import dataclass

import click
from click.shell_completion import get_completion_class

from opset.cli import cli, output
from opset.cli.words import Words


@dataclass(frozen=True)
class CompletionScript:
    """The script that lets a shell complete commands."""

    shell: str
    script: str


@click.command(no_args_is_help=True)
@click.argument("shell", type=Words(["bash", "zsh", "fish"]))
@output.format_option
def command(shell: str, form: str) -> int:
    """Print the shell completion script.

    For bash, put this into ~/.bashrc: eval "$(opset completion bash)"
    """
    kind = get_completion_class(shell)
    assert kind is not None  # click has all three
    template = kind(cli, {}, "opset", "_OPSET_COMPLETE")
    # bash would run the first word of the line: the file ./opset of a stranger's folder, say.
    script = (template.source_template % template.source_vars()).replace("_complete $1)", "_complete opset)")
    output.write_product(CompletionScript(shell, script), script.splitlines, form)
    return 0
