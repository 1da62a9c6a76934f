"""The operators and runtimes that the command line knows beside the standard's: in folders and files that are named.

Operator YAML is data, and may come from any of these folders. Python files beside it are code: they run only if the
call itself names the folder, if the user trusts it, or if it belongs to an installed package. `pyproject.toml`, here or
in a folder above, may come from anyone: it is read as data, and names data. Its defaults of options are in `defaults`.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import click

from opset.errors import Finding, UsageError, safe_text
from opset.opsets.registry import Registry, entry_point_folders, files_named, registry_with
from opset.schemas.names import near_miss, normalize_domain
from opset.schemas.untrusted_files import file_bytes

PROJECT = Path("pyproject.toml")
TRUSTED = "OPSET_ALLOW_HOOKS"
MAX_BYTES = 1 << 18
MAX_DEPTH = 16
MAX_FOLDERS = 100
LISTED = 5
"""Files of a folder that a note names."""
_KEYS = {"schemas": "folder", "targets": "file", "select": "code", "ignore": "code"}
"""The keys of [tool.opset], each with the kind of what its list holds."""
MAX_PARENTS = 64
FORM = 'write [tool.opset] and below it schemas = ["folder"]'
SHOWN = 100
"""Characters of a text of the configuration that a message repeats."""


def _take_schemas(metavar: str, what: str) -> Callable[[Any], Any]:
    """Return the option --schemas; `what` are the things that it takes, as the help says them."""
    return click.option(
        "--schemas",
        "folders",
        type=click.Path(path_type=Path),
        multiple=True,
        metavar=metavar,
        help=f"{what}, beside the standard's. Repeatable.",
    )


schemas_option = _take_schemas("DIR|FILE", "Folder of operator YAML, or operator-set document")
folders_option = _take_schemas("DIR", "Folder of operator YAML")
"""The option of verbs that read the files themselves, so that they take no operator-set document."""
target_option = click.option(
    "--target",
    "files",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="YAML of a further runtime (opset explain runtimes). Repeatable.",
)
hooks_option = click.option(
    "--allow-hooks/--no-hooks",
    default=None,
    help="Run Python files beside operator YAML also where pyproject.toml names it, or nowhere.",
)


class Folders(NamedTuple):
    """The folders of operator YAML that a call uses.

    Python files may run in `trusted` folders, and not in folders of `data` alone. `noted` are the folders of data about
    which a note is written if they have Python files; `replaced` those of installed packages that are not used, since
    the call names a folder with the same operators.
    """

    trusted: tuple[Path, ...]
    data: tuple[Path, ...] = ()
    noted: tuple[Path, ...] = ()
    replaced: tuple[Path, ...] = ()

    def registry(self) -> Registry:
        """Return the registry of the standard's and the folders' operators. Raises SchemaError for faulty YAML."""
        return registry_with(self.trusted, data=self.data)

    def note_left_out(self, quiet: bool, *names: str) -> list[str]:
        """Return notes, and write them to stderr: on folders with such files that are not run, or not used."""
        left_out = {folder: [each for name in names for each in files_named(folder, name)] for folder in self.noted}
        notes = [*map(_replaced_note, self.replaced)]
        notes += [_left_out_note(folder, files) for folder, files in left_out.items() if files]
        if not quiet:
            sys.stderr.write("".join(f"note: {note}\n" for note in notes))
        return notes


def _replaced_note(folder: Path) -> str:
    """Return the note that a folder of an installed package is not used."""
    return f"{safe_text(folder)}, of an installed package, is not used: the call names a folder with the same operators"


def _left_out_note(folder: Path, files: list[Path]) -> str:
    """Return the note that these Python files of a folder are not run."""
    names = ", ".join(str(file.relative_to(folder)) for file in files[:LISTED])
    more = f" and {len(files) - LISTED:,} more" if len(files) > LISTED else ""
    return (
        f"{safe_text(names)}{more} in {safe_text(folder)} {'was' if len(files) == 1 else 'were'} not run: {PROJECT} "
        f"names the folder, and this call does not. If you trust the code, name the folder in the call, or allow it: "
        f"--allow-hooks, or its absolute path in {TRUSTED}"
    )


def registry_for(folders: tuple[Path, ...]) -> Registry:
    """Return the operators of the standard, `--schemas`, pyproject.toml and installed packages.

    No Python files beside YAML run.

    Raises:
        SchemaError: The YAML of an operator is wrong.
        UsageError: U103, pyproject.toml cannot be used.
    """
    known = folders_for(folders, False)
    known.note_left_out(False)
    return known.registry()


def folders_for(named: tuple[Path, ...], hooks: bool | None = None) -> Folders:
    """Return the folders of `--schemas`, of pyproject.toml and of installed packages, each once.

    A folder of an installed package is left out if `--schemas` names one with the same domains and operators of them.

    Args:
        named: The folders of `--schemas`.
        hooks: Whether Python files may run: in no folder if False, also in the folders of pyproject.toml if True. By
            default those are data alone, unless OPSET_ALLOW_HOOKS or `--schemas` names them.

    Raises:
        UsageError: U103, pyproject.toml or OPSET_ALLOW_HOOKS cannot be used.
    """
    project = {os.path.realpath(folder): folder for folder in _project_paths()["schemas"]}
    allowed = [*project.values()] if hooks else []
    if project and hooks is None:
        # A folder is taken as it was when it was compared: a link could be exchanged afterwards.
        trusted_paths = _trusted_folders()
        allowed = [Path(real) for real in project if real in trusted_paths]
    offered = entry_point_folders()
    replaced = _replaced_folders(offered, [*named, *allowed])
    installed = [folder for folder in offered if folder not in replaced]
    trusted = {os.path.realpath(each): each for each in reversed([*named, *allowed, *installed])}
    data = tuple(folder for real, folder in project.items() if real not in trusted)
    _check_contained(data, read_project())
    return folders_of((*trusted.values(),)[::-1], hooks, data)._replace(replaced=tuple(replaced))


def _replaced_folders(installed: Sequence[Path], named: Sequence[Path]) -> list[Path]:
    """Return the folders of installed packages in whose place another folder is named: a checkout of the package.

    It has all their domains, and one of their operators at least: with others, both folders serve the domain.
    """
    places = {os.path.realpath(folder) for folder in named}
    operators = {_name_of(file) for folder in named for file in files_named(folder, "*.yaml")}
    domains = {domain for domain, _ in operators}
    return [
        folder
        for folder in installed
        if os.path.realpath(folder) not in places
        and (own := {_name_of(file) for file in files_named(folder, "*.yaml")}) & operators
        and {domain for domain, _ in own} <= domains
    ]


def _name_of(file: Path) -> tuple[str, str]:
    """Return the domain and the name of the operator that a file of YAML declares."""
    return normalize_domain(file.parent.name), file.stem


def folders_of(named: tuple[Path, ...], hooks: bool | None, data: tuple[Path, ...] = ()) -> Folders:
    """Return the folders of a call: `named` ones are trusted unless `hooks` is False, `data` ones never."""
    return Folders((), (*named, *data)) if hooks is False else Folders(named, data, noted=data)


def _trusted_folders() -> frozenset[str]:
    """Return the folders of OPSET_ALLOW_HOOKS, with links resolved. Raises UsageError U103 for a relative one."""
    paths = [each for each in os.environ.get(TRUSTED, "").split(os.pathsep) if each]
    if relative := [each for each in paths if not os.path.isabs(each)]:
        why = f"'{relative[0]}' is relative, and would name another folder wherever opset is called"
        help = f"give absolute paths, separated by '{os.pathsep}'"
        raise UsageError(Finding("U103", f"{TRUSTED} cannot be used", why=why, help=help))
    return frozenset(map(os.path.realpath, paths))


def target_files(named: Sequence[Path]) -> tuple[Path, ...]:
    """Return the files of runtimes that a call names, and those of `[tool.opset] targets` of pyproject.toml.

    Raises UsageError U103 if the configuration cannot be used, or names a file outside of its folder.
    """
    given = {os.path.realpath(file) for file in named}
    listed = [file for file in _project_paths()["targets"] if os.path.realpath(file) not in given]
    project = read_project()
    for file in listed:
        if not project.contains(file):
            why = f"[tool.opset] targets leads out of the project: {str(file)[:SHOWN]}"
            raise project.error(why, "if you trust the file, name it in the call: --target FILE")
    return (*named, *listed)


def _project_paths() -> dict[str, list[Path]]:
    """Return the folders of `schemas` and the files of `targets` that [tool.opset] of pyproject.toml lists."""
    project = read_project()
    paths: dict[str, list[Path]] = {}
    for key, is_kind in (("schemas", os.path.isdir), ("targets", os.path.isfile)):
        paths[key] = [project.folder / each for each in project.lists[key]]
        wrong = [each for each in project.lists[key] if not is_kind(project.folder / each)]
        if wrong:
            raise project.error(f"[tool.opset] {key}: {wrong[0][:SHOWN]!r} is no {_KEYS[key]}")
    return paths


def rule_choice(select: Sequence[str], ignore: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the codes of rules to select and to ignore: from options, else from pyproject.toml.

    Raises UsageError U103 if the configuration cannot be used.
    """
    lists = read_project().lists
    return _split(select) or lists["select"], _split(ignore) or lists["ignore"]


def _split(texts: Sequence[str]) -> list[str]:
    """Return the codes of options, of which each may name several: "W,G3"."""
    return [code.strip() for text in texts for code in text.split(",")]


_TOML = (
    rb'"""(?:[^"\\]+|\\.?|""?(?!"))*(?:"{3,5}|\Z)|'  # may end with two more quotes; without an end it is malformed
    rb"'''(?:[^']+|''?(?!'))*(?:'{3,5}|\Z)|"
    rb'"(?:[^"\\\n]+|\\.?)*"?|'
    rb"'[^'\n]*'?|"
    rb"#[^\n]*|[\[\]{}.=,\n]"
)
"""Tokens that decide how deep a TOML document is: punctuation, and texts and comments to be passed over."""


@lru_cache(maxsize=4)
def _parse_toml(text: bytes) -> dict[str, Any]:
    """Return a TOML document as data; cached, as a call asks for its configuration several times.

    Raises ValueError if it is malformed or deeper than MAX_DEPTH. A number with a point is the text that is
    written, since 1.20 and 1.2 are two releases. The depth is checked first: a parser recurses with brackets, and
    takes quadratic time for keys of many parts.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    depth = dots = 0
    for token in re.finditer(_TOML, text, re.DOTALL):
        mark = token[0]
        depth += (mark in b"[{") - (mark in b"]}")
        if mark == b".":
            dots += 1
        elif mark[:1] not in b"\"'":
            dots = 0
        if depth > MAX_DEPTH or dots > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")
    return tomllib.loads(text.decode(), parse_float=str)


class Project(NamedTuple):
    """The configuration of a project: its file, the lists of [tool.opset] by key, and the tables of verbs by name."""

    file: Path
    lists: Mapping[str, list[str]]
    verbs: Mapping[str, Mapping[str, Any]]

    @property
    def folder(self) -> Path:
        """The project's folder, in which paths of the configuration begin."""
        return self.file.parent

    def contains(self, path: Path) -> bool:
        """Whether a path, with links resolved, is in the project's folder."""
        folder = os.path.join(os.path.realpath(self.folder), "")
        return os.path.join(os.path.realpath(path), "").startswith(folder)

    def error(self, why: str, help: str = FORM) -> UsageError:
        """Return the error for a configuration that cannot be used."""
        return _configuration_error(self.file, why, help)


def read_project() -> Project:
    """Return the configuration in force: of pyproject.toml, or of the nearest folder above whose file has some.

    The search ends at a folder with `.git`. Files above that belong to others are passed over, root's aside.

    Raises:
        UsageError: U103 if the file cannot be used.
    """
    table = _table_of(PROJECT)
    if table is not None:
        return _project_of(PROJECT, table)
    folder = os.path.abspath(os.curdir)
    for _ in range(MAX_PARENTS):
        if os.path.lexists(os.path.join(folder, ".git")) or folder == os.path.dirname(folder):
            break
        folder = os.path.dirname(folder)
        file = Path(folder, PROJECT)
        if _is_trusted_data(file) and (table := _table_of(file)) is not None:
            return _project_of(file, table)
    return _project_of(PROJECT, {})


def _is_trusted_data(file: Path) -> bool:
    """Whether a file is a regular one that belongs to the user or to root: in /tmp, anybody may put one above."""
    try:
        status = os.stat(file)
    except OSError:
        return False
    owners = (os.geteuid(), 0) if hasattr(os, "geteuid") else (status.st_uid,)
    return stat.S_ISREG(status.st_mode) and status.st_uid in owners


def _table_of(file: Path) -> Any:
    """Return [tool.opset] of a file, None if there is no file, or no such table in it. Raises UsageError U103."""
    try:
        text = file_bytes(file, MAX_BYTES)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else None
        raise _configuration_error(file, why or str(error), "put a file in its place that can be read") from error
    if b"opset" not in text:
        return None
    try:
        tools = _parse_toml(text).get("tool", {})
    except ValueError as error:
        raise _configuration_error(file, str(error)[:300], "correct the file, which has to be TOML") from error
    return tools.get("opset") if isinstance(tools, dict) else None


def _project_of(file: Path, table: Any) -> Project:
    """Return the configuration that [tool.opset] of a file holds. Raises UsageError U103 if it has another form."""
    lists: dict[str, list[str]] = {}
    for key, kind in _KEYS.items():
        listed = table.get(key, []) if isinstance(table, dict) else None
        if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
            raise _configuration_error(file, f"[tool.opset] {key} is no list of {kind}s")
        if len(listed) > MAX_FOLDERS:
            why = f"[tool.opset] {key} lists {len(listed):,} {kind}s; at most {MAX_FOLDERS} are accepted"
            raise _configuration_error(file, why)
        lists[key] = listed
    verbs = {name: each for name, each in table.items() if name not in _KEYS and isinstance(each, dict)}
    if leftover := sorted(table.keys() - _KEYS.keys() - verbs.keys()):
        why = f"[tool.opset] has the unknown key {leftover[0][:SHOWN]!r}"
        help = near_miss(leftover[0], _KEYS) or FORM
        raise _configuration_error(file, why, help)
    return Project(file, lists, verbs)


def _configuration_error(file: Path, why: str, help: str = FORM) -> UsageError:
    """Return the error for a pyproject.toml that cannot be used."""
    return UsageError(Finding("U103", "the configuration cannot be used", why=why, help=help, file=str(file)))


def _check_contained(folders: Sequence[Path], project: Project) -> None:
    """Raise UsageError U103 if a folder of the configuration, or a file in it, lies outside of the project's folder."""
    if not folders:
        return
    from opset.schemas.lock import LOCK_FILE
    from opset.schemas.yaml.loader import TYPES_FILE  # slow, and needed for these folders anyway

    for folder in folders:
        files = [folder / TYPES_FILE, folder / LOCK_FILE, *files_named(folder, "*.yaml")]
        for path in (folder, *files):
            if not project.contains(path):
                why = f"[tool.opset] names a folder that leads out of the project: {str(path)[:SHOWN]}"
                raise project.error(why, "if you trust what is there, name the folder in the call: --schemas DIR")
