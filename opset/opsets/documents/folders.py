"""Writes the operators of a document as a folder of operator YAML."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from opset.errors import Finding, FindingList, UsageError
from opset.model.storage.writing import write_below
from opset.opsets.documents.declarations import used_sets
from opset.opsets.documents.writing import mapping_lines
from opset.schemas.names import domain_name
from opset.schemas.yaml.layout import dump_operator
from opset.schemas.yaml.loader import TYPES_FILE

if TYPE_CHECKING:
    from opset.opsets.documents.operator_set import OperatorSet


def write_operator_files(operators: OperatorSet, folder: Path | str) -> list[str]:
    """Write the files of an operator set below a folder, all or none, and return their paths in it.

    Raises:
        UsageError: U102 if one of the files exists, or two would be one if upper and lower case were the same; U104 if
            writing fails.
    """
    domain = domain_name(operators.domain)
    files = {os.path.join(domain, f"{each.name}.yaml"): dump_operator(each) for each in operators.operators}
    if operators.sets:
        named = used_sets([each.root.plain() for each in operators.operators], operators.sets)
        files[TYPES_FILE] = "".join(f"{line}\n" for line in mapping_lines(named))
    findings = FindingList()
    folded: set[str] = set()
    for path in files:
        if path.lower() in folded or os.path.lexists(os.path.join(folder, path)):
            help = "name another folder: -o FOLDER"
            findings.append(Finding("U102", "the output exists already", help=help, file=os.path.join(folder, path)))
        folded.add(path.lower())
    if findings:
        raise UsageError(findings)
    write_below(folder, {path: text.encode() for path, text in files.items()})
    return sorted(files)
