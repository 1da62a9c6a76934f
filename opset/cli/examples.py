"""`opset examples`: writes the models, inputs and operators that the guides work with."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import click

from opset.cli import output
from opset.docgen.guides import example_files
from opset.errors import Finding, UsageError, safe_text
from opset.model.storage.writing import write_files
from opset.plain_text import count_text


@dataclass(frozen=True)
class WrittenExamples:
    """The folder of the examples, and the files that were written."""

    folder: str
    files: Sequence[str]


@click.command()
@click.argument("folder", metavar="[DIR]", default="examples")
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@output.format_option
def command(folder: str, force: bool, form: str) -> int:
    """Write the files that the guides work with into a folder, by default `examples` here.

    These are models of opsets 9 to 23, inputs and outputs for them, and a domain of operators with hooks. The commands
    of the guides then run as they stand there.
    """
    if not folder:
        raise UsageError(Finding("U103", "the folder to write to has no name", help="name one: opset examples DIR"))
    if os.path.lexists(folder) and not os.path.isdir(folder):
        why, help = "it is no folder", "name another folder: opset examples DIR"
        raise UsageError(Finding("U104", "the output cannot be written", why=why, help=help, file=folder))
    files = {os.path.join(folder, name): path.read_bytes() for name, path in example_files().items()}
    if not files:
        why = "the package was installed without them"
        raise UsageError(Finding("U104", "there are no examples to write", why=why, help="install opset from a wheel"))
    if not force and (existing := [path for path in files if os.path.lexists(path)]):
        help = "choose another folder, or allow it: --force"
        why = f"{existing[0]} is there" + (f", and {len(existing) - 1} more" if existing[1:] else "")
        raise UsageError(Finding("U102", "files of the examples exist already", why=why, help=help, file=folder))
    write_files(files, force=force)
    report = WrittenExamples(folder, [*files])
    what = f"wrote {count_text(len(files), 'file')} into {safe_text(folder)}; `opset explain` lists the guides"
    output.write_product(report, lambda: [what], form)
    return 0
