"""Sources of bytes: memory, or a file that stays open and is read piece by piece.

A file is never mapped into memory: if it shrank, touching the map would kill the process.
"""

from __future__ import annotations

import os
import stat
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple, Protocol

from opset.errors import Finding, ModelError

CHUNK = 1 << 20
_WRITTEN_TO: Final = "size or time of modification is not what it was when it was opened"

# Not every system has every one of these flags.
OPEN: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
NO_WAIT: Final = getattr(os, "O_NONBLOCK", 0)
NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
FOLDER: Final = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | OPEN


class Access(NamedTuple):
    """The permissions of a file and its group; a new file with the same content gets no more."""

    mode: int
    group: int


class Source(Protocol):
    """Bytes at offsets 0 to `size`; `name` is the file's path as the user gave it, or ""; `access` None for no file."""

    name: str
    size: int
    access: Access | None

    def read(self, offset: int, count: int) -> bytes:
        """Return exactly `count` bytes from `offset`; raise ModelError M105 if the file no longer has them."""

    @contextmanager
    def descriptor(self) -> Iterator[int | None]:
        """A file descriptor to copy from, or None if the bytes are in memory; check for changes at the end."""


class BytesSource:
    """Bytes in memory."""

    def __init__(self, data: bytes, name: str = "", access: Access | None = None) -> None:
        self.data, self.name, self.size, self.access = data, name, len(data), access

    def read(self, offset: int, count: int) -> bytes:
        """Return `count` bytes from `offset`."""
        return self.data[offset : offset + count]

    @contextmanager
    def descriptor(self) -> Iterator[int | None]:
        """Return None: there is no file."""
        yield None


class FileSource:
    """An open regular file; it is closed when nothing refers to it any more.

    The descriptor is kept, so that replacing the path later does no harm; writing into the file itself is noticed by
    its size and time of modification.
    """

    def __init__(self, descriptor: int, name: str) -> None:
        self.name = name
        self._descriptor = descriptor
        weakref.finalize(self, os.close, descriptor)
        status = os.fstat(descriptor)
        self._state = file_state(status)
        self.size = status.st_size
        self.access: Access | None = access_of(descriptor, status)

    def read(self, offset: int, count: int) -> bytes:
        """Return exactly `count` bytes from `offset`; raise ModelError M105 if the file no longer has them."""
        return read_exactly(self._descriptor, offset, count, self.name)

    @contextmanager
    def descriptor(self) -> Iterator[int | None]:
        """Return the descriptor; raise ModelError M105 if the file changed since it was opened."""
        self.check_unchanged()
        yield self._descriptor
        self.check_unchanged()

    def check_unchanged(self) -> None:
        """Raise ModelError M105 if the file was written to since it was opened."""
        if file_state(os.fstat(self._descriptor)) != self._state:
            raise file_changed_error(self.name)


def file_state(status: os.stat_result) -> tuple[int, int]:
    """Return the size and the time of modification of a file, which change when it is written to."""
    return status.st_size, status.st_mtime_ns


def access_of(descriptor: int, status: os.stat_result) -> Access:
    """Return the permissions of an open file; its group gets none if an access list may forbid them."""
    mode = stat.S_IMODE(status.st_mode)
    if not mode & 0o004 and ACCESS_LIST in extended_attributes(descriptor):
        mode &= ~0o070  # these bits are then the most that the list grants to anybody
    return Access(mode, status.st_gid)


ACCESS_LIST: Final = "system.posix_acl_access"


def extended_attributes(descriptor: int) -> list[str]:
    """Return the names of an open file's extended attributes, none if the system has no such thing."""
    try:
        return os.listxattr(descriptor) if hasattr(os, "listxattr") else []
    except OSError:
        return []


def resolve_links(path: str) -> str:
    """Return a path with every link resolved; raise ModelError M105 if a link is exchanged meanwhile."""
    try:
        return os.path.realpath(path)
    except OSError as error:
        raise file_changed_error(path, "a link on the way to it was exchanged") from error


def file_changed_error(name: str, why: str = _WRITTEN_TO) -> ModelError:
    """Return the error M105 for a file that changed since it was opened."""
    help = "wait until nothing writes to the file, then try again"
    return ModelError(Finding("M105", "the file changed while it was being read", why=why, help=help, file=name))


def read_into(descriptor: int, offset: int, buffer: memoryview, name: str) -> int:
    """Fill a buffer from `offset` of a file, return the number of bytes read; raise ModelError M101 if it fails."""
    try:
        if hasattr(os, "preadv"):
            return os.preadv(descriptor, [buffer], offset)
        part = _read_at(descriptor, len(buffer), offset)
    except OSError as error:
        raise unreadable_file_error(name, error) from error
    buffer[: len(part)] = part
    return len(part)


def read_exactly(descriptor: int, offset: int, count: int, name: str) -> bytes:
    """Return `count` bytes from `offset` of an open file; raise ModelError M105 if it ends before, M101 if it fails."""
    parts = []
    while count:
        try:
            part = _read_at(descriptor, min(count, 1 << 30), offset)
        except OSError as error:
            raise unreadable_file_error(name, error) from error
        if not part:
            raise file_changed_error(name)
        parts.append(part)
        offset, count = offset + len(part), count - len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _read_at(descriptor: int, count: int, offset: int) -> bytes:
    """Return at most `count` bytes from `offset`."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, count, offset)
    with _SEEKING:
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, count)


_SEEKING: Final = threading.Lock()


def unreadable_file_error(name: str, error: OSError | ValueError) -> ModelError:
    """Return the error for a model file that the system does not open or read."""
    why = (error.strerror if isinstance(error, OSError) else None) or str(error)
    help = "name a file of a model in it" if isinstance(error, IsADirectoryError) else ""
    return ModelError(Finding("M101", "the file cannot be read", why=why, help=help, file=name))


def write_all(descriptor: int, data: bytes | bytearray | memoryview) -> None:
    """Write all of `data` at the descriptor's position."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
