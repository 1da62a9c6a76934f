"""How the files of a schema folder are opened: regular files alone, of a bounded size."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from opset.model.source import NO_WAIT, OPEN


class TooLarge(ValueError):
    """A file has more bytes than are read."""


def file_bytes(path: Path | str, most: int) -> bytes:
    """Return the bytes of a regular file, which are at most `most`.

    Raises OSError where it cannot be read, TooLarge, and ValueError with the reason where it is no such file: a pipe
    would wait for a writer, and a device never ends.
    """
    with open(os.open(path, os.O_RDONLY | NO_WAIT | OPEN), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is no regular file")
        data = file.read(most + 1)
        if len(data) > most:
            raise TooLarge(f"it has {max(status.st_size, len(data)):,} bytes, and at most {most:,} are read")
        return data
