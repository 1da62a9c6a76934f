"""`opset export`: the operators of a domain at a version, as an operator-set document."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from opset.cli.configuration import registry_for, schemas_option
from opset.cli.domains import check_version, known_domain
from opset.cli.words import Words
from opset.errors import Finding, UsageError, safe_text
from opset.opsets.documents.collecting import get_operator_set
from opset.opsets.documents.writing import FORMS
from opset.plain_text import count_text
from opset.schemas.names import domain_name


@click.command()
@click.option("--domain", metavar="DOMAIN", default="ai.onnx", show_default=True, help="Domain of the operators.")
@click.option("--opset", "version", type=int, metavar="N", help="Version of the operator set, by default the newest.")
@click.option("-o", "--output", "given", metavar="FILE|-", help="Write to this file.")
@click.option(
    "--format",
    "form",
    type=Words(FORMS),
    help="Form of the document: by default that of the suffix of FILE, proto for any other, yaml on stdout.",
)
@click.option("--force", is_flag=True, help="Overwrite an output that exists.")
@schemas_option
def command(
    domain: str, version: int | None, given: str | None, form: str | None, force: bool, folders: tuple[Path, ...]
) -> int:
    """Write the operators of a domain at a version of its operator set as a document.

    The document is an OperatorSetProto, or the same as YAML or JSON. It declares all versions up to N of the operators,
    with their signatures, prose and examples: `opset import` makes a folder of operator YAML of it, and `--schemas`
    takes it as it is. No Python file is run.
    """
    registry = registry_for(folders)
    name = known_domain(registry, domain)
    if version is not None:
        check_version(registry, name, version)
    operators = get_operator_set(name, version, schemas=registry)
    if given not in (None, "-"):
        assert given is not None
        operators.save(given, form, force=force)
        count = count_text(len(operators.schemas), "operator")
        sys.stdout.write(f"wrote {safe_text(given)}: {domain_name(name)} {operators.version}, {count}\n")
        return 0
    form = form or "yaml"
    if form == "proto" and sys.stdout.isatty():
        raise UsageError(Finding("U103", "a message is not written to a terminal", help="-o FILE, or --format yaml"))
    sys.stdout.flush()
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as stream:
        stream.write(operators.to_bytes(form))
    return 0
