"""Copying a model's bytes into a file: from file to file if the system does that, and never all in memory."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from typing import IO, Final

from opset.model.storage import wire
from opset.model.storage.parts import Piece, chunks
from opset.model.storage.source import CHUNK, file_changed_error, read_into, write_all

ALIGNMENT: Final = 4096
"""The size of a page: data that begins at multiples of it can be mapped into memory, and copied page by page."""
COPIED_AT_ONCE: Final = 4 << 20
FLUSHED_AT_ONCE: Final = 16 << 20


def write_pieces(descriptor: int, pieces: Iterable[Piece]) -> None:
    """Write pieces one after the other, data of files from file to file."""
    flushed = 0
    with open(descriptor, "wb", CHUNK, closefd=False) as file:
        for piece in pieces:
            flushed = _write_piece(file, piece, flushed)
        file.flush()
        end = file.tell()
        if os.fstat(descriptor).st_size < end:  # it ends with a hole
            os.ftruncate(descriptor, end)


def data_ranges(descriptor: int, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a file that are not holes, which read as zeros and take no space."""
    while start < end:
        stop = end
        if hasattr(os, "SEEK_DATA"):
            try:
                start = os.lseek(descriptor, start, os.SEEK_DATA)
                stop = min(os.lseek(descriptor, start, os.SEEK_HOLE), end)
            except OSError as error:
                if error.errno == errno.ENXIO:  # all that follows is a hole
                    return
        if start < stop:
            yield start, stop
        start = stop


def _write_piece(file: IO[bytes], piece: Piece, flushed: int) -> int:
    """Write one piece; `flushed` and the result are the offset up to which the file is being flushed."""
    if isinstance(piece, wire.Segment):
        with piece.source.descriptor() as origin:
            if origin is not None:
                file.write(piece.header)
                file.flush()
                base = os.lseek(file.fileno(), 0, os.SEEK_CUR) - piece.start
                for start, end in data_ranges(origin, piece.start, piece.end):
                    os.lseek(file.fileno(), base + start, os.SEEK_SET)
                    flushed = _copy_range(origin, start, end - start, file.fileno(), piece.source.name, flushed)
                file.seek(base + piece.end)
                return flushed
    for chunk in chunks([piece]):
        file.write(chunk)
    return flushed


def _copy_range(origin: int, offset: int, count: int, target: int, name: str, flushed: int) -> int:
    """Copy bytes to another file; `flushed` and the result are the offset up to which the target is being flushed."""
    # If pages lie alike in both, a file system can share blocks or move whole pages; else this is faster.
    alike = (os.lseek(target, 0, os.SEEK_CUR) - offset) % ALIGNMENT == 0
    while count and alike and hasattr(os, "copy_file_range"):
        try:
            done = os.copy_file_range(origin, target, min(count, 1 << 30), offset)
        except OSError as error:
            if error.errno not in _NOT_HERE:
                raise
            break
        if not done:
            break
        offset, count = offset + done, count - done
    buffer = memoryview(bytearray(min(count, COPIED_AT_ONCE)))
    while count:
        part = buffer[: min(count, len(buffer))]
        done = read_into(origin, offset, part, name)
        if not done:
            raise file_changed_error(name)
        write_all(target, part[:done])
        offset, count = offset + done, count - done
        flushed = _begin_flush(target, flushed)
    return flushed


def _begin_flush(descriptor: int, flushed: int) -> int:
    """Start to write what follows `flushed` to the disk, if it is much; return the offset up to which that is done."""
    position = os.lseek(descriptor, 0, os.SEEK_CUR)
    if position - flushed < FLUSHED_AT_ONCE or not hasattr(os, "posix_fadvise"):
        return flushed
    # Linux writes pages that are said not to be needed, and little is left to wait for at the end.
    os.posix_fadvise(descriptor, flushed, position - flushed, os.POSIX_FADV_DONTNEED)
    return position


_NOT_HERE: Final = frozenset({errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM})
