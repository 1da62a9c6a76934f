"""`opset import`: a folder of operator YAML, made of an operator-set document."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from opset.cli import output
from opset.cli.error_report import write_error_report
from opset.cli.new import NextStep, quote_path
from opset.errors import SchemaError, listing, safe_text
from opset.opsets.documents.folders import write_operator_files
from opset.opsets.documents.reading import MAX_DOCUMENT, load_operator_set
from opset.opsets.registry import default_registry
from opset.plain_text import count_text, table_lines
from opset.schemas.names import domain_name
from opset.workflow.authoring.destinations import own_folder

UNREADABLE = 3
SHOWN = 10
"""Operators that a note lists."""


@dataclass(frozen=True)
class ImportReport:
    """An operator set that was read: its domain and versions, the files that were written, and notes about it."""

    domain: str
    version: int
    ir_version: int
    operators: Sequence[str]
    files: Sequence[str]
    notes: Sequence[str]
    next: Sequence[NextStep]


@click.command(no_args_is_help=True)
@click.argument("document", metavar="FILE")
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder of operator YAML to write into, by default 'schemas'.",
)
@output.format_option
def command(document: str, folder: Path | None, form: str) -> int:
    """Write the operators of an operator-set document as a folder of operator YAML.

    FILE is an OperatorSetProto, or the same as YAML or JSON, which its content tells; - is stdin. What the document
    does not hold is named in notes, and left out of the YAML. Nothing is overwritten, and no Python file is run.
    """
    try:
        operators = load_operator_set(sys.stdin.buffer.read(MAX_DOCUMENT + 1) if document == "-" else document)
    except SchemaError as error:
        output.write_errors(error)
        if form == "json":
            write_error_report(error.finding_list, UNREADABLE)
        return UNREADABLE
    folder = folder or own_folder()
    files = [os.path.join(folder, path) for path in write_operator_files(operators, folder)]
    domain = domain_name(operators.domain)
    names = [each.name for each in operators.operators]
    standard = [name for name in names if default_registry().is_standard(name, operators.domain)]
    notes = [*operators.notes]
    if standard:
        what = f"{len(standard):,} of these operators are the standard's"
        notes.append(f"{what}, and --schemas takes no folder with them")
    adapters = [each.name for each in operators.operators if any("written" in step.change for step in each.transitions)]
    if adapters:
        notes.append(f"adapters are written in Python, which a document does not hold: {listing(adapters, SHOWN)}")
    newest = max((each.schemas[-1].since_version for each in operators.operators), default=0)
    if newest < operators.version:
        what = f"{newest} is the highest version of an operator" if newest else "it has no operators"
        notes.append(f"a folder does not say that the operator set is version {operators.version}: {what}")
    steps = [
        NextStep(f"opset lint {quote_path(folder)}", "lists what is missing"),
        NextStep(f"opset list --domain {domain} --schemas {quote_path(folder)}", "lists the operators"),
    ]
    steps = steps if not standard else []
    report = ImportReport(domain, operators.version, operators.ir_version, names, files, notes, steps)

    def lines() -> list[str]:
        counted = count_text(len(operators.schemas), "operator"), count_text(len(files), "file")
        withdrawn = len(names) - len(operators.schemas)
        more = f" and {withdrawn:,} withdrawn" if withdrawn else ""
        head = f"{domain} {operators.version}: {counted[0]}{more}; wrote {counted[1]} below {safe_text(folder)}"
        found = [head, *(f"note: {safe_text(note)}" for note in notes)]
        return [*found, "next", *table_lines([[safe_text(step), why] for step, why in steps])] if steps else found

    output.write_product(report, lines, form)
    return 0
