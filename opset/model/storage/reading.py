"""Opening a model: its file, or a stream, which is read to its end as far as it can be a model."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import IO, Any, Final

from opset.errors import Finding, UsageError
from opset.model import limits
from opset.model.storage import wire
from opset.model.storage.parts import malformed_model_error
from opset.model.storage.source import (
    CHUNK,
    NO_WAIT,
    OPEN,
    Access,
    BytesSource,
    FileSource,
    Source,
    access_of,
    unreadable_file_error,
)

IN_MEMORY = 1 << 20
"""A file of at most this many bytes is read at once and closed, so that many small models need no descriptors."""
SPOOLED: Final = 64 << 20
"""A stream of more than this many bytes goes to a temporary file."""


def open_model_file(path: str, *, pipes: bool, text: bool) -> tuple[Source, str]:
    """Open a model's file, or read a named pipe to its end.

    Args:
        pipes: Whether a pipe is read; a caller who has not named it does not want to wait for it.
        text: Whether the file is to hold ONNX text syntax.

    Returns:
        The bytes, and their kind: "path", or "stream" for a pipe.

    Raises:
        ModelError: M101 if the path is anything else, or cannot be read.
    """
    try:
        mode = os.stat(path).st_mode
        if pipes and stat.S_ISFIFO(mode):
            with open(path, "rb") as pipe:
                return read_stream(pipe, path, text=text), "stream"
        _check_regular(mode, pipes)
        descriptor = os.open(path, os.O_RDONLY | NO_WAIT | OPEN)
        source = FileSource(descriptor, path)
        _check_regular(os.fstat(descriptor).st_mode, pipes)
    except (OSError, ValueError) as error:
        raise unreadable_file_error(path, error) from error
    if source.size > IN_MEMORY:
        return source, "path"
    data = source.read(0, source.size)
    source.check_unchanged()
    return BytesSource(data, path, source.access), "path"


def _check_regular(mode: int, pipes: bool) -> None:
    """Raise OSError if a mode is not of a regular file."""
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(0, "it is a folder" if pipes else "it is a folder that cannot be read")
    if not stat.S_ISREG(mode):
        raise OSError(0, "it is neither a regular file nor a pipe" if pipes else "it is no regular file")


def read_stream(stream: IO[Any], name: str, *, text: bool = False) -> Source:
    """Read a binary stream to its end, into memory, or into an unnamed temporary file if it is large.

    Raises UsageError U103 if it is a stream of text, ModelError M101 if reading fails, and M102, M103 or M111 as soon
    as it can be no model: a stream may have no end. With `text` it is to hold ONNX text syntax.
    """
    import tempfile  # here, since it brings half the standard library with it

    read = getattr(stream, "read1", stream.read)  # what has arrived is checked before more is waited for
    check = wire.TopLevel()
    try:
        size = 0
        with tempfile.SpooledTemporaryFile(SPOOLED) as kept:
            while chunk := read(CHUNK):
                if not isinstance(chunk, (bytes, bytearray, memoryview)):
                    why = f"reading from it returns {type(chunk).__name__}"
                    raise UsageError(Finding("U103", "this is no binary stream", why=why, help="open it in mode 'rb'"))
                size += kept.write(chunk)
                try:
                    least = size if text else check.feed(bytes(chunk))
                except wire.WireError as error:
                    raise malformed_model_error(_source_of_spool(kept, size, name, None), error.why) from error
                if least > limits.MAX_MESSAGE:
                    raise wire.too_large_error(least, name)
            access: Access | None = None
            with suppress(AttributeError, OSError, ValueError):  # there is no file behind the stream
                status = os.fstat(stream.fileno())
                access = access_of(stream.fileno(), status) if stat.S_ISREG(status.st_mode) else None
            return _source_of_spool(kept, size, name, access)
    except (OSError, ValueError) as error:
        raise unreadable_file_error(name, error) from error


def _source_of_spool(file: Any, size: int, name: str, access: Access | None) -> Source:
    """Return the bytes of a stream that was read to its end."""
    if size <= SPOOLED:
        file.seek(0)
        return BytesSource(file.read(), name, access)
    file.flush()
    source = FileSource(os.dup(file.fileno()), name)
    source.access = access
    return source
