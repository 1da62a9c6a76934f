"""Where bytes come from: memory, or a file that stays open and is read piece by piece.

A file is never mapped into memory: if it shrank, touching the map would kill the process.
"""

from __future__ import annotations

import os
import stat
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Final, Protocol

from opset.errors import Finding, ModelError, UsageError

IN_MEMORY = 1 << 20
"""A file of at most this many bytes is read at once and closed, so that many small models need no descriptors."""
SPOOLED = 64 << 20
"""A stream of more than this many bytes goes to a temporary file."""
CHUNK = 1 << 20

# Not every system has every one of these flags.
OPEN: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
NO_WAIT: Final = getattr(os, "O_NONBLOCK", 0)
NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
FOLDER: Final = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | OPEN


class Source(Protocol):
    """Bytes at offsets 0 to `size`; `name` is the file's path as the user gave it, or ""."""

    name: str
    size: int

    def read(self, offset: int, count: int) -> bytes:
        """Return exactly `count` bytes from `offset`; raise ModelError M105 where the file no longer has them."""

    @contextmanager
    def descriptor(self) -> Iterator[int | None]:
        """A file descriptor to copy from, or None where the bytes are in memory; check for changes at the end."""


class BytesSource:
    """Bytes in memory."""

    def __init__(self, data: bytes, name: str = "") -> None:
        self.data, self.name, self.size = data, name, len(data)

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
        self._state = file_state(os.fstat(descriptor))
        self.size = self._state[0]

    def read(self, offset: int, count: int) -> bytes:
        """Return exactly `count` bytes from `offset`; raise ModelError M105 where the file no longer has them."""
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
            raise changed(self.name)


def file_state(status: os.stat_result) -> tuple[int, int]:
    """Return what changes when a file is written to: its size and its time of modification."""
    return status.st_size, status.st_mtime_ns


def changed(name: str) -> ModelError:
    """Return the error for a file that is not any more what it was when it was opened."""
    return ModelError(
        Finding(
            "M105",
            "the file changed while it was being read",
            why="its size or its time of modification is not what it was when it was opened",
            help="wait until nothing writes to the file, then try again",
            file=name,
        )
    )


def read_into(descriptor: int, offset: int, buffer: memoryview, name: str) -> int:
    """Fill a buffer from `offset` of a file, return the number of bytes read; raise ModelError M101 if it fails."""
    try:
        if hasattr(os, "preadv"):
            return os.preadv(descriptor, [buffer], offset)
        part = _read_at(descriptor, len(buffer), offset)
    except OSError as error:
        raise cannot_open(name, error) from error
    buffer[: len(part)] = part
    return len(part)


def read_exactly(descriptor: int, offset: int, count: int, name: str) -> bytes:
    """Return `count` bytes from `offset` of an open file; raise ModelError M105 if it ends before, M101 if it fails."""
    parts = []
    while count:
        try:
            part = _read_at(descriptor, min(count, 1 << 30), offset)
        except OSError as error:
            raise cannot_open(name, error) from error
        if not part:
            raise changed(name)
        parts.append(part)
        offset, count = offset + len(part), count - len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _read_at(descriptor: int, count: int, offset: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(descriptor, count, offset)
    with _SEEKING:
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, count)


_SEEKING: Final = threading.Lock()


def cannot_open(name: str, error: OSError | ValueError) -> ModelError:
    """Return the error for a model file that the system does not open or read."""
    why = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return ModelError(Finding("M101", "the file cannot be read", why=why, file=name))


def open_model_file(path: str) -> tuple[Source, str]:
    """Open a model's file ("path") or read a named pipe to its end ("stream"); raise ModelError M101 for others."""
    try:
        status = os.stat(path)
        if stat.S_ISFIFO(status.st_mode):
            with open(path, "rb") as pipe:
                return spool(pipe, path), "stream"
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(0, "it is a folder")
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "it is neither a regular file nor a pipe")
        descriptor = os.open(path, os.O_RDONLY | NO_WAIT | OPEN)
    except (OSError, ValueError) as error:
        raise cannot_open(path, error) from error
    source = FileSource(descriptor, path)
    if source.size > IN_MEMORY:
        return source, "path"
    data = source.read(0, source.size)
    source.check_unchanged()
    return BytesSource(data, path), "path"


def spool(stream: IO[Any], name: str) -> Source:
    """Read a binary stream to its end, into memory, or into an unnamed temporary file where it is large.

    Raises UsageError U103 if it is a stream of text, ModelError M101 if reading fails.
    """
    import tempfile  # here, since it brings half the standard library with it

    try:
        size = 0
        with tempfile.SpooledTemporaryFile(SPOOLED) as kept:
            while chunk := stream.read(CHUNK):
                if not isinstance(chunk, (bytes, bytearray, memoryview)):
                    why = f"reading from it returns {type(chunk).__name__}"
                    raise UsageError(Finding("U103", "this is no binary stream", why=why, help="open it in mode 'rb'"))
                size += kept.write(chunk)
            if size > SPOOLED:
                kept.flush()
                return FileSource(os.dup(kept.fileno()), name)
            kept.seek(0)
            return BytesSource(kept.read(), name)
    except (OSError, ValueError) as error:
        raise cannot_open(name, error) from error


def write_all(descriptor: int, data: bytes | bytearray | memoryview) -> None:
    """Write all of `data` at the descriptor's position."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
