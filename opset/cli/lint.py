"""`opset lint`: every rule for operator YAML, and the lock of released versions."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from opset.cli import output
from opset.cli.configuration import folders_for, folders_of, hooks_option
from opset.errors import Collected, ConversionError, SchemaError, printable
from opset.inference import registration as inference
from opset.model.writing import write_below
from opset.opsets.registry import files_named
from opset.reference import registration as kernels
from opset.schemas import lint
from opset.schemas.fix import fixes
from opset.schemas.index import FOLDER
from opset.schemas.loader import folder_sets, load_folder, standard_sets
from opset.schemas.lock import lock_released
from opset.schemas.types import TypeSets
from opset.version_converter import registration as adapters

ADAPTERS = adapters.LAYER.file


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path), metavar="[DIR]...")
@click.option("--lock", is_flag=True, help="Then lock the versions that are not locked yet, as released.")
@click.option("--fix", is_flag=True, help="First write what is computed in change blocks, and the layout, into files.")
@hooks_option
@output.format_option
def command(folders: tuple[Path, ...], lock: bool, fix: bool, allow_hooks: bool | None, form: str) -> int:
    """Check operator YAML: that it can be read and follows every rule.

    DIR holds <domain>/<Operator>.yaml. Without one, the folders of [tool.opset] in ./pyproject.toml and of installed
    packages are checked, or the standard's operators where there are none.
    """
    known = folders_of(folders, allow_hooks) if folders else folders_for((), allow_hooks)
    folders = (*known.trusted, *known.data) or (FOLDER,)
    notes = known.note_left_out(False, ADAPTERS)
    fixed, commented = _fix(folders) if fix else ([], [])
    families = list(lint.FAMILIES)
    inferred = lint.Inferred(inference.written(families), inference.misnamed)
    findings = Collected()
    for folder in folders:
        written = None
        beside = files_named(folder, ADAPTERS)
        if not beside or folder not in known.data:
            try:
                written = adapters.written(families, adapters.LAYER.of_files(beside))
            except ConversionError as error:
                findings += error.collected
        findings += lint.lint([folder], written, kernels.written(families), inferred)
    locked = [name for folder in folders for name in _lock(folder)] if lock and not findings else []
    found = output.findings_data(findings)
    data: dict[str, Any] = {"findings": found["errors"], "omitted": found["omitted"], "locked": locked}
    if notes:
        data["notes"] = notes
    if fix:
        data |= {"fixed": fixed, "commented": commented}
    done = [f"fixed {printable(path)}" for path in fixed]
    done += [f"left alone, for its comments: {printable(path)}" for path in commented]
    if form == "text" and findings:
        output.write_errors(findings, sys.stdout)
    output.write_product(data, lambda: done + _lines(len(findings) + findings.omitted, locked), form)
    return 1 if findings else 0


def _lines(findings: int, locked: list[str]) -> list[str]:
    found = f"{findings or 'no'} finding{'' if findings == 1 else 's'}"
    return [f"locked {printable(name)}" for name in locked] + [found]


def _fix(folders: tuple[Path, ...]) -> tuple[list[str], list[str]]:
    """Write what can be computed into the files of folders; return the files written, and those with comments."""
    fixed: list[str] = []
    commented: list[str] = []
    for folder in folders:
        try:
            found = fixes(folder, folder_sets(folder, _base_sets(folder)))
        except SchemaError:  # lint reports it
            continue
        if found.texts:
            write_below(folder, {os.path.relpath(path, folder): text.encode() for path, text in found.texts.items()})
        fixed += found.texts
        commented += found.commented
    return fixed, commented


def _base_sets(folder: Path) -> TypeSets | None:
    """Return the type sets that a folder's own are added to; None for the standard's folder."""
    standard = os.path.realpath(folder) == os.path.realpath(FOLDER)
    return None if standard else standard_sets()


def _lock(folder: Path) -> list[str]:
    operators, _ = load_folder(folder, _base_sets(folder))
    return lock_released(folder, operators)
