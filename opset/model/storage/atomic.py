"""Files that are written together: each under a temporary name in its own folder, all renamed at the end.

A folder is opened once, and all work in it uses its descriptor: whoever exchanges the folder for a link meanwhile gains
nothing. Below the folder that the caller names no link is followed.

Whoever writes into a folder holds a shared lock on it. A process that is killed leaves temporary files; the next one
that gets an exclusive lock knows that nobody is writing there, and removes them.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from opset.errors import Finding, UsageError
from opset.model.limits import MAX_FOLDERS
from opset.model.storage.copying import write_pieces
from opset.model.storage.parts import Piece
from opset.model.storage.source import ACCESS_LIST, FOLDER, NO_FOLLOW, NO_WAIT, OPEN, Source, extended_attributes

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

TEMPORARY: Final = re.compile(r"\.opset-[0-9a-f]{16}\.tmp")
_PATIENCE: Final = 0.25
"""Seconds that another process may take to remove temporary files."""
_SHARE: Final = 20
"""One in so many seconds is spent on looking for temporary files, in a folder that has many files."""


class OpenFolder:
    """A folder that is written to; `path` is for messages, and for systems without functions below a descriptor."""

    def __init__(self, path: str, above: OpenFolder | None = None) -> None:
        """Open a folder, following links; below another one, following none. Raises OSError."""
        self.path = path
        self.descriptor: int | None = None
        self._name = os.path.basename(path) if above is not None else path
        if above is not None and not _is_folder(above.status(self._name)):
            raise NotADirectoryError(errno.ENOTDIR, "there is a link or a file on the way", path)
        if os.open in os.supports_dir_fd:
            follow = NO_FOLLOW if above is not None else 0
            name, within = (above.entry_path(self._name), above.descriptor) if above is not None else (path, None)
            try:
                self.descriptor = os.open(name, _READ | follow, dir_fd=within)
            except PermissionError:  # what is in it may be written and not be listed
                self.descriptor = os.open(name, FOLDER | follow, dir_fd=within)

    def entry_path(self, name: str) -> str:
        """Return the path of an entry for the functions of `os`, to go with dir_fd=`descriptor`."""
        return name if self.descriptor is not None else os.path.join(self.path, name)

    def status(self, name: str) -> os.stat_result | None:
        """Return the status of an entry without following a link, or None if there is none."""
        try:
            return os.stat(self.entry_path(name), dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def open(self, name: str, flags: int, mode: int = 0o600) -> int:
        """Return a descriptor of an entry that is no link."""
        return os.open(self.entry_path(name), flags | NO_FOLLOW | OPEN, mode, dir_fd=self.descriptor)

    def remove(self, name: str) -> None:
        """Remove an entry, a folder if it is empty; raise OSError."""
        remove = os.rmdir if _is_folder(self.status(name)) else os.unlink
        remove(self.entry_path(name), dir_fd=self.descriptor)

    def flush(self) -> None:
        """Make renames in the folder safe on the disk, if the system does that for folders."""
        if self.descriptor is not None:
            with suppress(OSError):
                os.fsync(self.descriptor)

    def lock(self, spared: Collection[str]) -> None:
        """Lock the folder against removal of temporary files; if nobody is writing into it, remove them before."""
        if fcntl is None or self.descriptor is None:
            return
        try:
            with suppress(BlockingIOError):
                fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._clean(spared)
            end = time.monotonic() + _PATIENCE
            while True:
                try:
                    return fcntl.flock(self.descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    if time.monotonic() > end:
                        return  # no reason to fail
                    time.sleep(0.005)
        except OSError:
            return  # here no folder is locked, and no file removed

    def _clean(self, spared: Collection[str]) -> None:
        """Remove temporary files that killed processes of this user left, unless that was tried a moment ago."""
        assert self.descriptor is not None
        status = os.fstat(self.descriptor)
        begun = time.monotonic()
        if _next_time.get((status.st_dev, status.st_ino), 0.0) > begun:
            return
        with os.scandir(self.descriptor) as entries:
            left = [entry.name for entry in entries if TEMPORARY.fullmatch(entry.name) and entry.name not in spared]
        for name in left:
            entry_status = self.status(name)
            if entry_status is not None and stat.S_ISREG(entry_status.st_mode) and entry_status.st_uid == os.geteuid():
                with suppress(OSError):
                    self.remove(name)
        if len(_next_time) > 1000:
            _next_time.clear()
        ended = time.monotonic()
        _next_time[status.st_dev, status.st_ino] = ended + _SHARE * (ended - begun)

    def close(self) -> None:
        """Close the folder, which ends the lock."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None


_READ: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | OPEN
_next_time: dict[tuple[int, int], float] = {}


def _is_folder(status: os.stat_result | None) -> bool:
    """Whether a status is of a folder."""
    return status is not None and stat.S_ISDIR(status.st_mode)


class OutputPlace(NamedTuple):
    """The place of a file to be written: its folder and its name."""

    folder: OpenFolder
    name: str

    @property
    def path(self) -> str:
        """Its path, for messages."""
        return os.path.join(self.folder.path, self.name)

    def status(self) -> os.stat_result | None:
        """Return the status of the entry at the place without following a link, or None if there is none."""
        return self.folder.status(self.name)


class Files:
    """Files that are written together: each is written under a temporary name, and `commit` renames them in order.

    Files that were not committed are removed at the end, and so are new files of a commit that fails halfway. `spared`
    are names of files that are not removed, though they look like temporary files. Files that can be made again need
    not be `durable`: then nothing waits for the disk, and a system that goes down may leave empty files.
    """

    def __init__(self, force: bool, spared: Collection[str] = (), durable: bool = True) -> None:
        self.force = force
        self._durable = durable
        self._spared = spared
        self._folders: dict[str, OpenFolder] = {}
        self._waiting: list[tuple[str, OutputPlace]] = []
        self._created: list[OutputPlace] = []

    def __enter__(self) -> Files:
        return self

    def folder(self, path: str) -> OpenFolder:
        """Open the folder that a caller names, which may be a link; it is made if it does not exist."""
        path = os.path.abspath(path)
        missing: list[str] = []
        while not os.path.isdir(path):
            path, name = os.path.split(path)
            missing.insert(0, name)
        if path not in self._folders:
            self._add_folder(OpenFolder(path))
        return self.inside(self._folders[path], missing)

    def inside(self, folder: OpenFolder, names: Sequence[str]) -> OpenFolder:
        """Open the folder at a path below another one, with no link on the way; it is made if it does not exist.

        Raises NotADirectoryError if there is a link on the way.
        """
        for name in names:
            path = os.path.join(folder.path, name)
            if path not in self._folders:
                if folder.status(name) is None:
                    with suppress(FileExistsError):  # another process has made it meanwhile
                        os.mkdir(folder.entry_path(name), dir_fd=folder.descriptor)
                        self._created.append(OutputPlace(folder, name))
                self._add_folder(OpenFolder(path, folder))
            folder = self._folders[path]
        return folder

    def _add_folder(self, folder: OpenFolder) -> None:
        """Keep a folder open and lock it; raise UsageError U103 if there are too many."""
        self._folders[folder.path] = folder
        if len(self._folders) > MAX_FOLDERS:
            help = "external='move', --external-data move, puts all data into one file, 'inline' puts it into the model"
            raise UsageError(Finding("U103", f"the data is spread over more than {MAX_FOLDERS} folders", help=help))
        folder.lock(self._spared)

    def write(self, place: OutputPlace, pieces: Iterable[Piece], sources: Iterable[Source] = ()) -> None:
        """Write a file under a temporary name, to be renamed to its place.

        Args:
            place: The place, whose present file hands its permissions down.
            pieces: The content.
            sources: The files of the content: a file at a new place gets at most the permissions of each.
        """
        temporary = f".opset-{os.urandom(8).hex()}.tmp"
        self._waiting.append((temporary, place))
        old = place.status()
        if old is not None and not stat.S_ISREG(old.st_mode):
            old = None  # what may be done with a link says nothing about a file
        mode = 0o600 if old is not None else _mode_of_new_file(place.folder, sources)
        descriptor = place.folder.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        try:
            if old is not None:
                _copy_access(descriptor, place, old)
            write_pieces(descriptor, pieces)
            if self._durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def link(self, place: OutputPlace, path: str, descriptor: int) -> None:
        """Make another name for an open file at a path, to be renamed to its place. Raises UsageError U104."""
        temporary = f".opset-{os.urandom(8).hex()}.tmp"
        self._waiting.append((temporary, place))
        folder = place.folder
        try:
            os.link(path, folder.entry_path(temporary), dst_dir_fd=folder.descriptor, follow_symlinks=False)
            status = folder.status(temporary)
            if status is None or not os.path.samestat(status, os.fstat(descriptor)):
                raise OSError(errno.ESTALE, "the file was exchanged meanwhile")
        except OSError as error:
            why, help = error.strerror or str(error), "copy the data instead: external='copy', --external-data copy"
            finding = Finding("U104", "a hard link cannot be made", why=why, help=help, file=place.path)
            raise UsageError(finding) from error

    def commit(self) -> None:
        """Rename every file to its place, the last one when the others are safe on the disk."""
        if not self._waiting:
            return
        *before, last = self._waiting
        for group in (before, [last]):
            for temporary, place in group:
                existed = place.status() is not None
                self._rename(temporary, place)
                if not existed:
                    self._created.append(place)
            if group == [last]:
                self._created.clear()  # from here on the files belong to the model that is there
            if self._durable:
                for folder in {place.folder for _, place in group}:
                    folder.flush()

    def _rename(self, temporary: str, place: OutputPlace) -> None:
        """Rename a file, over an existing one only with `force`; raise UsageError U102."""
        folder = place.folder
        old, new, within = folder.entry_path(temporary), folder.entry_path(place.name), folder.descriptor
        if not self.force:
            try:
                # Unlike a rename, this fails where something is.
                os.link(old, new, src_dir_fd=within, dst_dir_fd=within)
            except FileExistsError as error:
                raise output_exists_error(place.path) from error
            except OSError as error:  # a file system without hard links
                if place.status() is not None:
                    raise output_exists_error(place.path) from error
            else:
                folder.remove(temporary)
                return
        os.replace(old, new, src_dir_fd=within, dst_dir_fd=within)

    def __exit__(self, *_: object) -> None:
        try:
            for folder, name in ((place.folder, temporary) for temporary, place in self._waiting):
                with suppress(OSError):
                    folder.remove(name)  # also after a commit: of two names of one file, a rename does nothing
            for place in reversed(self._created):
                with suppress(OSError):
                    place.folder.remove(place.name)
        finally:
            for folder in self._folders.values():
                folder.close()


def output_exists_error(path: str) -> UsageError:
    """Return the error for an output that exists and may not be replaced, which a folder never is."""
    if os.path.isdir(path):
        why, help = "it is a folder", "name a file in it"
        return UsageError(Finding("U104", "the output cannot be written", why=why, help=help, file=path))
    return UsageError(
        Finding("U102", "the output exists already", help="choose another name, or allow it: force, --force", file=path)
    )


def _mode_of_new_file(folder: OpenFolder, sources: Iterable[Source]) -> int:
    """Return the mode that a new file is created with: others get no more of its content than they had before."""
    mode = 0o666
    for access in [source.access for source in sources if source.access is not None]:
        mode &= access.mode | 0o600
        if not access.mode & 0o004 and access.group != _group_in(folder):
            mode &= ~0o070
    return mode


def _group_in(folder: OpenFolder) -> int:
    """Return the group that a new file in a folder gets."""
    if folder.descriptor is None:
        return -1
    status = os.fstat(folder.descriptor)
    return status.st_gid if status.st_mode & stat.S_ISGID or sys.platform == "darwin" else os.getegid()


def _copy_access(descriptor: int, place: OutputPlace, old: os.stat_result) -> None:
    """Copy owner, mode and extended attributes of a file to its replacement; if not the group, this gets no access."""
    mode = stat.S_IMODE(old.st_mode) & 0o777
    if not hasattr(os, "fchmod"):  # Windows
        return
    new = os.fstat(descriptor)
    for owner, group in ((old.st_uid, -1), (-1, old.st_gid)):
        if (owner not in (-1, new.st_uid)) or (group not in (-1, new.st_gid)):
            with suppress(OSError):
                os.fchown(descriptor, owner, group)
    same_group = os.fstat(descriptor).st_gid == old.st_gid
    os.fchmod(descriptor, mode if same_group else mode & ~0o070)
    with suppress(OSError), open(place.folder.open(place.name, os.O_RDONLY | NO_WAIT), "rb") as origin:
        for name in extended_attributes(origin.fileno()):
            if name.startswith("user.") or name == "security.selinux" or (name == ACCESS_LIST and same_group):
                with suppress(OSError):
                    os.setxattr(descriptor, name, os.getxattr(origin.fileno(), name))
