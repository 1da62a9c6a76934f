"""Finds operators in paths: a file, the folder of a domain, a folder of domains, or a tree with such folders.

Operators are read from files `<domain>/<Operator>.yaml` of a folder of domains. A file that looks like the YAML of an
operator and is not read, because of its folder or its name, is a finding, and so is a folder without operators.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from opset.errors import Finding, SchemaError
from opset.model.storage.source import NO_WAIT, OPEN
from opset.schemas.lock import LOCK_FILE
from opset.schemas.yaml.folders import MAX_FILES, operator_files
from opset.schemas.yaml.loader import TYPES_FILE

SUFFIX = ".yaml"
MAX_ENTRIES = 2**18
"""Files and folders in one search."""
MAX_PEEKED = 2**12
"""Files outside of folders of domains that a search opens."""
_PEEKED = 2**16
_PASSED_OVER = ("__pycache__", "node_modules")
_MAX_LISTED = 3
_MODELS = (".onnx", ".onnxtxt", ".onnxtext", ".textproto", ".onnxjson")
_OPERATOR = re.compile(rb"""^(?:\xef\xbb\xbf)?\{?\s{0,3}["']?operator["']?\s{0,3}:|^versions:\s{0,9}\n- since:""", re.M)
"""How the YAML of an operator begins, at the start of a line."""


class SelectionTarget(NamedTuple):
    """Operator files to check, of one folder of domains.

    `is_found` says that the folder was found by a search, and not named by the user.
    """

    folder: Path
    files: tuple[Path, ...]
    whole: bool
    """Whether these are all files of the folder."""
    domains: frozenset[Path]
    """Folders of domains of which all files are checked."""
    is_found: bool = False

    def has_file(self, path: Path) -> bool:
        """Whether the operator file `path` is one of the files to check, or would be if it existed.

        If the target is the whole folder, this is true for any path.
        """
        return self.whole or path.parent in self.domains or path in self.files


def folder_of_domains(folder: Path) -> SelectionTarget:
    """Return the target with all operators of a folder of domains. Raises SchemaError if the folder cannot be read."""
    return SelectionTarget(folder, tuple(operator_files(folder)), True, frozenset())


@dataclass
class Selection:
    """The operators to check, as targets, and findings and notes on files and folders that are left out."""

    targets: list[SelectionTarget] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    given: dict[Path, Path] = field(default_factory=dict)
    """The path that the user gave for the folder of a domain, by the path that ends in the folder's name."""

    def report(self, code: str, message: str, path: Path, why: str = "", help: str = "") -> None:
        """Add a finding about the file or folder `path`; `code` and texts are those of a Finding."""
        self.findings.append(Finding(code, message, place=str(path), why=why, help=help))

    def domain_folder(self, folder: Path) -> Path:
        """Return the path of a domain's folder in a form that ends in the folder's name: `../com.acme` for `.`.

        A path that ends in a name already is returned unchanged.
        """
        if folder.name not in ("", os.pardir):
            return folder
        named = folder / os.pardir / os.path.basename(os.path.abspath(folder))
        self.given[named] = folder
        return named

    def path_as_given(self, text: str) -> str:
        """Return a path, or PATH:LINE:COLUMN, as seen from the folder that the user gave.

        If the user gave `.` for a domain's folder com.acme, `../com.acme/Relu.yaml` becomes `Relu.yaml`. A path in no
        folder that the user gave is returned unchanged.
        """
        for named, given in self.given.items():
            if text.startswith(f"{named}{os.sep}"):
                return str(given / text.removeprefix(f"{named}{os.sep}"))
        return text

    def places_as_given(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return copies of findings, with each path as seen from the folder that the user gave."""
        return [finding._replace(place=self.path_as_given(finding.place)) for finding in findings]

    def report_depth(self, paths: Iterable[Path]) -> None:
        """Add a finding for each of `paths`: this operator file is at the wrong depth.

        An operator file has to be in the folder of a domain.
        """
        why = f"operators are read from <domain>/<Operator>{SUFFIX} of a folder of domains"
        for path in paths:
            help = "move it into the folder of its domain"
            self.report("S110", "this operator file is at the wrong depth", path, why, help)

    def report_suffix(self, path: Path) -> None:
        """Add a finding about `path`, an operator file that is not read because its suffix is not `.yaml`."""
        help = f"call it {path.stem}{SUFFIX}"
        self.report("S110", "this operator file is not read", path, f"its name does not end in {SUFFIX}", help)


def select_operators(paths: Iterable[Path], folders: Iterable[Path] = ()) -> Selection:
    """Return the operators to check, and findings about files and folders that are not read, or do not exist.

    The result has one target for each folder of domains.

    Args:
        paths: Operator files, folders of a domain, folders of domains, or folders that have such folders at any depth.
        folders: Folders of domains. Unlike `paths`, they are not searched for folders of domains inside.
    """
    selection = Selection()
    for path in paths:
        if os.path.isdir(path):  # pathlib fails where a name is too long
            _search_folder(path, selection)
        elif os.path.exists(path):
            _select_file(path, selection)
        else:
            why = "there is no such file or folder"
            selection.report("S101", "this is not a file or folder of operators", path, why, "check the path")
    for folder in folders:
        _select_folder(folder, selection)
    selection.targets = _merge_targets(selection.targets)
    return selection


def _merge_targets(targets: Sequence[SelectionTarget]) -> list[SelectionTarget]:
    """Return the targets, with all targets in the same folder of domains joined to one.

    A folder that is reached by several links is one folder. A target that is the whole folder includes all others.
    """
    merged: dict[str, SelectionTarget] = {}
    for target in targets:
        real = os.path.realpath(target.folder)
        known = merged.setdefault(real, target)
        if whole := [each for each in (known, target) if each.whole]:
            # A folder that is found and named is named, whatever comes first; a file in it does not name its hooks.
            merged[real] = whole[0]._replace(is_found=all(each.is_found for each in whole))
            continue
        files = [known.folder / each.parent.name / each.name for each in target.files]  # which a link may name
        domains = known.domains | {known.folder / each.name for each in target.domains}
        merged[real] = SelectionTarget(known.folder, tuple(dict.fromkeys((*known.files, *files))), False, domains)
    return [*merged.values()]


def _parent_of(folder: Path) -> Path:
    """Return the path of the folder above a folder without looking at the disk: `..` for `.`."""
    return folder / os.pardir if folder.name in ("", os.pardir) else folder.parent


def _select_file(path: Path, selection: Selection) -> None:
    """Add to the selection the operators that a file is about; for an unsuitable file, add a finding.

    - An operator file adds its operator. At a wrong depth of folders, it gives a finding.
    - A types.yaml or a lock adds all operators of its folder of domains.
    - A .py file adds all operators of its domain.
    - Any other file gives a finding.
    """
    if path.name in (TYPES_FILE, LOCK_FILE):
        _select_folder(path.parent, selection)
    elif path.suffix == ".py":
        _search_folder(path.parent, selection)
    elif path.suffix != SUFFIX and _is_yaml(path):
        selection.report_suffix(path)
    elif path.suffix != SUFFIX:
        help = "a model is checked by opset check" if path.suffix in _MODELS else ""
        selection.report("S110", "this is no operator file", path, help=help)
    elif _is_misplaced(path.parent):
        selection.report_depth([path])
    else:
        holder = selection.domain_folder(path.parent)
        selection.targets.append(SelectionTarget(holder.parent, (holder / path.name,), False, frozenset()))


def _select_folder(folder: Path, selection: Selection) -> None:
    """Add all operators of a folder of domains to the selection; if it has none or cannot be read, add a finding.

    A finding is also added for each operator file at the wrong depth.
    """
    before = len(selection.findings)
    files = _operator_files(folder, selection)
    if len(selection.findings) > before:
        return
    for holder in _Search(folder, selection).holders:
        if _parent_of(holder) != folder:
            selection.report_depth(filter(_is_operator, _operators_in(holder)))
    if files or _has_shared_files(folder):
        selection.targets.append(SelectionTarget(folder, tuple(files), True, frozenset()))
    if not files and len(selection.findings) == before:
        _report_none(folder, (), selection)


def _search_folder(top: Path, selection: Selection) -> None:
    """Add all operators below a folder to the selection.

    The folder is the folder of a domain, a folder of domains, or has such folders inside, at any depth. A finding is
    added for each operator file at the wrong depth, and if there are no operators.
    """
    before = len(selection.findings)
    search = _Search(top, selection)
    holders = set(search.holders)
    for holder in sorted(holders, key=lambda each: len(each.parts)):
        inner = [each for each in holders if each.parent == holder and each != holder]
        for folder in [holder] if inner and _is_of_domains(holder) else inner:
            holders.discard(folder)
            selection.report_depth(filter(_is_operator, _operators_in(folder)))
    if not holders and _has_shared_files(top):
        _select_folder(top, selection)
        return
    for folder in sorted({_parent_of(holder) for holder in holders}):
        whole = folder != _parent_of(top)
        holder = selection.domain_folder(top)
        files = _operator_files(folder, selection) if whole else _operators_in(holder)
        domains = frozenset() if whole else frozenset([holder])
        named = folder in (top, _parent_of(top))
        selection.targets.append(
            SelectionTarget(folder if whole else holder.parent, tuple(files), whole, domains, not named)
        )
    if not holders and len(selection.findings) == before:
        if files := _operator_files(top, selection):  # whatever is there, it was to be operators
            selection.targets.append(SelectionTarget(top, tuple(files), True, frozenset()))
        elif len(selection.findings) == before:
            _report_none(top, search.others, selection)


def _operator_files(folder: Path, selection: Selection) -> list[Path]:
    """Return the operator files in a folder of domains.

    If the folder cannot be read, findings are added to `selection`, and [] is returned.
    """
    try:
        return operator_files(folder)
    except SchemaError as error:
        selection.findings += error.findings
        return []


def _report_none(folder: Path, others: Sequence[Path], selection: Selection) -> None:
    """Add the finding that a folder has no operators.

    `others` are the YAML files in the folder, none of which is an operator file.
    """
    names = ", ".join(str(each.relative_to(folder)) for each in others[:_MAX_LISTED])
    more = f" and {len(others) - _MAX_LISTED:,} more" if len(others) > _MAX_LISTED else ""
    why = f"it has YAML files that are none: {names}{more}" if others else "it has no YAML file of an operator"
    help = f"operators are read from <domain>/<Operator>{SUFFIX}; opset explain schemas"
    selection.report("S109", "this folder has no operators", folder, why, help)


def _has_shared_files(folder: Path) -> bool:
    """Whether a folder has a file that all its domains share: types.yaml or the lock."""
    return (folder / TYPES_FILE).exists() or (folder / LOCK_FILE).exists()


def _is_of_domains(folder: Path) -> bool:
    """Whether a folder has a subfolder for each domain, and is not itself the folder of one domain.

    The answer is True if the folder has types.yaml or lock.json, which its domains share. It is also True if the
    folder's name has no dot: "schemas" is taken for a folder of domains, "com.acme" for the folder of one domain.
    """
    return _has_shared_files(folder) or "." not in os.path.basename(os.path.abspath(folder))


def _is_misplaced(folder: Path) -> bool:
    """Whether operator files directly in a folder are at the wrong depth.

    This is so if the folder is a folder of domains, or lies inside the folder of a domain.
    """
    if _has_shared_files(folder):
        return True
    outer = _parent_of(folder)
    try:
        inside = [folder / entry.name for entry in _entries_of(folder)]
    except OSError:
        return False
    if _is_of_domains(folder) and any(map(_operators_in, inside)):
        return True
    return not _is_of_domains(outer) and bool(_operators_in(outer))


def _is_yaml(path: Path) -> bool:
    """Whether the suffix of a path is .yaml or .yml, in upper or lower case."""
    return path.suffix.lower() in (SUFFIX, ".yml")


def _is_operator(path: Path) -> bool:
    """Whether the beginning of a file looks like operator YAML; False if the file cannot be opened."""
    try:
        with open(os.open(path, os.O_RDONLY | NO_WAIT | OPEN), "rb") as file:
            return _OPERATOR.search(file.read(_PEEKED)) is not None
    except OSError:
        return False


def _entries_of(folder: Path) -> list[os.DirEntry[str]]:
    """Return the entries of a folder, sorted by name. Raises OSError if the folder cannot be read."""
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _is_folder(entry: os.DirEntry[str], links: bool = True) -> bool:
    """Whether an entry is a folder; if `links` is true, a link to a folder counts as one."""
    try:
        return entry.is_dir(follow_symlinks=links)
    except OSError:  # a link to itself
        return False


def _operators_in(folder: Path) -> list[Path]:
    """Return the YAML files directly in a folder, sorted; [] if none of them looks like operator YAML.

    The result is also [] if the folder cannot be read.
    """
    try:
        files = [folder / entry.name for entry in _entries_of(folder) if entry.name.endswith(SUFFIX)]
    except OSError:
        return []
    return files if any(map(_is_operator, files[:MAX_FILES])) else []


class _Search:
    """A search through a folder: `holders` are folders with operator files, `others` the YAML files elsewhere."""

    def __init__(self, top: Path, selection: Selection) -> None:
        """Search a folder and all folders below it, and add findings and notes to `selection`.

        A finding is added if a limit is reached: MAX_ENTRIES files and folders, or MAX_PEEKED YAML files that are
        opened.
        """
        self.selection = selection
        self.holders: list[Path] = []
        self.others: list[Path] = []
        self.left, self.peeks = MAX_ENTRIES, MAX_PEEKED
        open_folders = [top]
        while open_folders and self.left > 0:
            open_folders += reversed([*self._inner_folders(open_folders.pop(), top)])
        limits = (self.left <= 0, MAX_ENTRIES, "files and folders"), (self.peeks < 0, MAX_PEEKED, "other YAML files")
        for is_used_up, most, things in limits:
            if is_used_up:
                why = f"there are more than {most:,} {things}"
                selection.report("S102", "not all of this folder was searched", top, why, "name the folders of domains")

    def _inner_folders(self, folder: Path, top: Path) -> Iterator[Path]:
        """Yield the folders in `folder` that have to be searched, too.

        If `folder` has operator files, it is added to `self.holders`; if not, its YAML files are added to
        `self.others`. Findings are added for operator files with another suffix than `.yaml`, and if `folder` cannot be
        read. Hidden folders, __pycache__ and node_modules are skipped. Links to folders are followed only in `top`, the
        folder in which the search began.
        """
        try:
            entries = _entries_of(folder)
        except OSError as error:
            self.selection.report("S101", "this folder cannot be read", folder, error.strerror or str(error))
            return
        self.left -= len(entries)
        yaml: list[Path] = []
        for entry in entries:
            path = folder / entry.name
            if entry.name.startswith(".") or entry.name in _PASSED_OVER:
                continue
            if _is_folder(entry, links=False) or (folder == top and _is_folder(entry)):
                yield path
            elif _is_yaml(path):
                yaml.append(path)
            elif _is_folder(entry):
                self.selection.notes.append(f"{path} is a link to a folder, and was not searched")
        named = [path for path in yaml if path.suffix == SUFFIX]
        holds = any(map(self._is_operator_file, named))
        if holds:
            self.holders.append(folder)
        else:
            self.others += yaml[:MAX_FILES]
        for path in yaml:
            if path.suffix != SUFFIX and (holds or self._is_operator_file(path)):
                self.selection.report_suffix(path)

    def _is_operator_file(self, path: Path) -> bool:
        """Whether a file looks like operator YAML; False for every file after the first MAX_PEEKED.

        If the file cannot be read, the result is False, and a finding is added. A link that cannot be read gets no
        finding.
        """
        self.peeks -= 1
        if self.peeks < 0:
            return False
        if not os.access(path, os.R_OK) and not path.is_symlink():
            self.selection.report("S101", "this file cannot be read", path)
        return _is_operator(path)
