"""A folder that a verb writes many files to: a manifest in it lists the files that are ours, by the form they are of.

Files that an earlier run wrote are replaced if they changed, and removed if they are no longer made; all others
stay. The manifest names new files before they are written and old ones until they are removed, so that a run which was
ended halfway is repaired by the next one.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from opset.errors import Finding, UsageError
from opset.file_names import is_harmless
from opset.model.limits import MAX_FOLDERS
from opset.model.storage.atomic import output_exists_error
from opset.model.storage.writing import remove_below, write_below
from opset.schemas.untrusted_files import file_bytes


class Author(NamedTuple):
    """A verb that writes to folders, and the name of its manifest.

    With `parts`, files are written folder by folder, however many there are, and not all or none; and never to a folder
    that holds other files and no manifest.
    """

    verb: str
    manifest: str
    parts: bool = False


class WriteCounts(NamedTuple):
    """The numbers of files that were written and removed; the others were there already."""

    written: int
    removed: int


MANIFEST = ".opset-docs"
DOCS = Author("opset docs", MANIFEST)
_LONGEST = 1 << 24
_LINE = re.compile(r"([a-z]+) (\S+)")
Manifest = dict[str, list[str]]


def write_documentation(folder: str | os.PathLike[str], form: str, files: Mapping[str, bytes], force: bool) -> None:
    """Write the files of a form of documentation below a folder; raise the errors of `write_folder`."""
    write_folder(folder, DOCS, form, files, force)


def write_folder(
    folder: str | os.PathLike[str], author: Author, form: str, files: Mapping[str, bytes], force: bool = False
) -> WriteCounts:
    """Write the files of a form below a folder, all or none, and remove the form's files of an earlier run.

    Args:
        folder: The folder, which is made if it does not exist.
        form: The word for these files in the manifest, such as "html".
        files: The content of each file by its path below the folder, with "/".
        force: Whether files of other authors are replaced.

    Returns:
        The numbers of files written and removed; files that hold the same already are left alone.

    Raises:
        UsageError: U102 if other files are in the way and `force` is false, U103 if the manifest is damaged or there
            are too many folders, U104 if writing fails.
    """
    folder = os.fspath(folder)
    _check_names(files, author)
    before = _read_manifest(folder, author)
    ours = {path for paths in before.values() for path in paths}
    if not force:
        _check_unused(folder, author, ours, files, bool(before))
    stale = sorted({*before.get(form, ())} - {*files})
    after = {**before, form: sorted(files)}
    changed = {path: data for path, data in files.items() if not _holds_already(folder, path, data)}
    if not changed and after == before:
        return WriteCounts(0, 0)
    _write_manifest(folder, author, {**after, form: sorted({*files, *stale})})
    try:
        _write_files(folder, changed, author)
    except BaseException:
        if before and not author.parts:
            _write_manifest(folder, author, before)
        elif not author.parts:  # with parts, what is listed is ours, whether it was written or not
            remove_below(folder, [author.manifest])
        raise
    kept = {path.lower() for paths in after.values() for path in paths}  # as some file systems compare names
    remove_below(folder, (_native_path(path) for path in stale if path.lower() not in kept))
    _write_manifest(folder, author, after)
    return WriteCounts(len(changed), len(stale))


def _holds_already(folder: str, path: str, data: bytes) -> bool:
    """Whether a file, and no link, holds this already."""
    with suppress(OSError, ValueError):
        native = os.path.join(folder, _native_path(path))
        status = os.lstat(native)
        if stat.S_ISREG(status.st_mode) and status.st_size == len(data):
            return file_bytes(native, len(data)) == data
    return False


def _check_names(files: Mapping[str, bytes], author: Author) -> None:
    """Raise ValueError for names that would leave the folder or collide; UsageError U103 for too many folders."""
    wrong = [path for path in files if not is_harmless(path)]
    if wrong or len({path.lower() for path in files}) < len(files):
        raise ValueError(f"there is a file that cannot be written, or two of one name: {wrong[:1]}")
    folders = {path.rpartition("/")[0] for path in files}
    if len(folders) >= MAX_FOLDERS and not author.parts:
        message = f"the documentation has {len(folders):,} folders; fewer than {MAX_FOLDERS} can be written at once"
        raise UsageError(Finding("U103", message, help="document fewer domains at once: --domain DOMAIN"))


def _check_unused(folder: str, author: Author, ours: set[str], files: Mapping[str, bytes], has_manifest: bool) -> None:
    """Raise UsageError U102 if the folder holds files that are in the way, or files and no manifest."""
    if not has_manifest:
        try:
            occupied = bool(os.listdir(folder))
        except OSError:  # it does not exist, or writing into it will say what is wrong
            return
        if occupied:
            why = f"it is not empty, and {author.verb} did not write what is in it"
            help = "name another folder"
            if not author.parts:
                help += ", or add to this one with --force, which replaces files of the same names"
            raise UsageError(Finding("U102", "the folder is in use", why=why, help=help, file=folder))
    paths = [os.path.join(folder, _native_path(path)) for path in files if path not in ours]
    if there := [*filter(os.path.lexists, paths)]:
        raise UsageError(finding for path in there for finding in output_exists_error(path).findings)


def _read_manifest(folder: str, author: Author) -> Manifest:
    """Return the files of each form that the manifest lists; none without one. Raises UsageError U103."""
    path = os.path.join(folder, author.manifest)
    try:
        text = file_bytes(path, _LONGEST).decode()
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise _manifest_error(path, str(error)) from error
    manifest: Manifest = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            continue
        entry = _LINE.fullmatch(line)
        if entry is None or not is_harmless(entry[2]):
            raise _manifest_error(path, f"line {number} names no file of a form")
        manifest.setdefault(entry[1], []).append(entry[2])
    return manifest


def _manifest_error(path: str, why: str) -> UsageError:
    """Return the error for a manifest that cannot be read."""
    message = "the list of files that an earlier run wrote cannot be used"
    return UsageError(Finding("U103", message, why=why, help="name another folder, or remove this one", file=path))


def _write_manifest(folder: str, author: Author, listed: Manifest) -> None:
    """Write the manifest with the files of each form."""
    head = f"# Files that {author.verb} wrote. The next run in this folder replaces or removes them."
    lines = [head, *(f"{form} {path}" for form, paths in sorted(listed.items()) for path in paths)]
    write_below(folder, {author.manifest: "".join(f"{line}\n" for line in lines).encode()}, durable=False)


def _write_files(folder: str, files: Mapping[str, bytes], author: Author) -> None:
    """Write files below the folder, all at once or in parts as the author does."""
    for part in _batches(files) if author.parts else filter(None, [files]):
        write_below(folder, {_native_path(path): data for path, data in part.items()}, durable=False)


def _batches(files: Mapping[str, bytes]) -> Iterator[dict[str, bytes]]:
    """Yield files in order, as many at once as have folders that can be open together."""
    part: dict[str, bytes] = {}
    folders: set[str] = set()
    for path, data in files.items():
        names = path.split("/")
        way = {"/".join(names[:end]) for end in range(1, len(names))}
        if len(folders | way) >= MAX_FOLDERS:
            yield part
            part, folders = {}, set()
        part[path] = data
        folders |= way
    if part:
        yield part


def _native_path(path: str) -> str:
    """Return a path with the separator of the system."""
    return path.replace("/", os.sep)


def size_text(files: Iterable[bytes]) -> str:
    """Return the size of files together as text: "1.5 MB"."""
    size = sum(map(len, files))
    return f"{size / 1e6:,.1f} MB" if size >= 1e5 else f"{size / 1e3:,.1f} kB"
