"""Which operators the command line knows: the standard's, and those of folders that the user or a package names."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from opset.errors import Finding, UsageError
from opset.opsets.registry import Registry, entry_point_folders, registry_with

PROJECT = Path("pyproject.toml")

schemas_option = click.option(
    "--schemas", "folders", type=click.Path(file_okay=False, path_type=Path), multiple=True, metavar="DIR",
    help="Folder of operator YAML, beside the standard's. Repeatable.",
)  # fmt: skip


def registry_for(folders: tuple[Path, ...]) -> Registry:
    """Return the standard's operators with those of `--schemas`, of ./pyproject.toml and of installed packages.

    Raises SchemaError for YAML that cannot be read, UsageError U103 for a pyproject.toml that cannot.
    """
    return registry_with(all_folders(folders))


def all_folders(folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the folders of `--schemas`, of ./pyproject.toml and of installed packages, each once."""
    found = [*folders, *_project_folders(), *(entry_point_folders() if _offered() else ())]
    return tuple({folder.resolve(): folder for folder in reversed(found)}.values())[::-1]


def _project_folders() -> list[Path]:
    """Return the folders that `[tool.opset] schemas` of ./pyproject.toml lists, if it has such a table."""
    try:
        text = PROJECT.read_bytes()
    except OSError:
        return []
    if b"tool.opset" not in text:
        return []
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        table = tomllib.loads(text.decode())["tool"]["opset"]
    except (ValueError, KeyError, TypeError) as error:
        raise _misconfigured(str(error) if isinstance(error, ValueError) else "[tool.opset] is no table") from error
    folders = table.get("schemas", []) if isinstance(table, dict) else None
    if not isinstance(folders, list) or not all(isinstance(folder, str) for folder in folders):
        raise _misconfigured("[tool.opset] schemas is no list of folders")
    if leftover := sorted(table.keys() - {"schemas"}):
        raise _misconfigured(f"[tool.opset] has the unknown key {leftover[0]!r}")
    return [PROJECT.parent / folder for folder in folders]


def _misconfigured(why: str) -> UsageError:
    help = 'write [tool.opset] and below it schemas = ["folder"]'
    return UsageError(Finding("U103", "the configuration cannot be used", why=why, help=help, file=str(PROJECT)))


def _offered() -> bool:
    """Return whether an installed package offers schemas: looks for the words, since parsing all metadata is slow."""
    return any(_offers_schemas(folder or ".") for folder in sys.path)


def _offers_schemas(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            metadata = [entry.path for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))]
        files = [Path(path, "entry_points.txt") for path in metadata]
        return any(file.is_file() and b"[opset.schemas]" in file.read_bytes() for file in files)
    except OSError:
        return False
