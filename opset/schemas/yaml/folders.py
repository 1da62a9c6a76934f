"""Lists the operator files `<domain>/<Operator>.yaml` of folders."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from opset.errors import SchemaError
from opset.schemas.names import normalize_domain
from opset.schemas.yaml.reader import Findings

MAX_FILES = 2**12


def domain_of(path: Path) -> str:
    """Return the domain of an operator's file, which is the name of its folder; "" for `ai.onnx`."""
    parent = path.parent
    return normalize_domain(parent.name if parent.name not in ("", "..") else os.path.basename(os.path.abspath(parent)))


def operator_files(folder: Path) -> list[Path]:
    """Return the files `<domain>/<Operator>.yaml` of a folder, sorted; entries of other forms are skipped.

    Raises SchemaError S101 if the folder, or a folder in it, cannot be read or has more than MAX_FILES entries, or if
    there are more than MAX_FILES operator files.
    """
    files: list[Path] = []
    try:
        for domain in _list_folder(folder):
            if domain.is_dir():
                files += [path for path in _list_folder(domain) if path.suffix == ".yaml"]
            if len(files) > MAX_FILES:
                raise ValueError(f"it holds more than {MAX_FILES:,} operator files")
    except (OSError, ValueError) as error:
        findings = Findings(str(folder))
        is_file = isinstance(error, NotADirectoryError)
        help = "opset import makes a folder of an operator-set document" if is_file else ""
        missing = "there is no such file or folder" if isinstance(error, FileNotFoundError) else str(error)
        findings.add("S101", "this is not a folder of operator files" if is_file else missing, help=help)
        raise SchemaError(findings) from error
    return sorted(files)


def siblings(domain: Path) -> list[Path]:
    """Return the YAML files in the folder of one domain, sorted.

    The result is [] if the folder cannot be read, or has more than MAX_FILES entries.
    """
    try:
        return sorted(path for path in _list_folder(domain) if path.suffix == ".yaml")
    except (OSError, ValueError):
        return []


def _list_folder(folder: Path) -> list[Path]:
    """Return the paths of all entries of a folder.

    Raises OSError if the folder cannot be read, ValueError if it has more than MAX_FILES entries.
    """
    with os.scandir(folder) as entries:
        found = [folder / entry.name for entry in itertools.islice(entries, MAX_FILES + 1)]
    if len(found) > MAX_FILES:
        raise ValueError(f"{folder} holds more than {MAX_FILES:,} files")
    return found
