"""Reads untrusted files: regular ones of a bounded size, and JSON in them."""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections import Counter
from pathlib import Path
from typing import Any, Final

from opset.errors import quote
from opset.model.storage.source import NO_WAIT, OPEN

_DIGITS: Final = 308
"""Digits of the longest whole number that is read: a double holds each of them, to the nearest."""


class TooLarge(ValueError):
    """Raised for a file that has more bytes than may be read."""


def file_bytes(path: Path | str, most: int) -> bytes:
    """Return the bytes of a regular file that has at most `most` bytes.

    Raises OSError if the file cannot be read, TooLarge if it has more bytes, and ValueError if it is no regular file,
    such as a pipe or a device.
    """
    with open(os.open(path, os.O_RDONLY | NO_WAIT | OPEN), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is no regular file")
        data = file.read(most + 1)
        if len(data) > most:
            raise TooLarge(f"it has {max(status.st_size, len(data)):,} bytes, and at most {most:,} are read")
        return data


def file_matches(path: Path | str, pattern: re.Pattern[bytes], most: int) -> bool:
    """Whether a pattern occurs in a file; False if it cannot be read or has more than `most` bytes."""
    try:
        return pattern.search(file_bytes(path, most)) is not None
    except (OSError, ValueError):
        return False


def parse_json(text: bytes | str) -> Any:
    """Return the value in untrusted JSON text.

    Raises ValueError if the text is no JSON, is nested too deeply, has a key twice in a mapping, or has a number that
    is not finite or is out of range of a double.
    """
    try:
        return json.loads(
            text, parse_int=_read_int, parse_float=_read_float, parse_constant=_refuse, object_pairs_hook=_read_object
        )
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _read_int(digits: str) -> int:
    """Return the integer that digits write. Raises ValueError if it has more than 308 characters."""
    if len(digits) > _DIGITS:
        raise ValueError(f"a number has {len(digits)} digits, which is out of range")
    return int(digits)


def _read_float(text: str) -> float:
    """Return the float that a text writes. Raises ValueError if it is too large for a double."""
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:_DIGITS]} is out of range of a double")
    return number


def _refuse(word: str) -> Any:
    """Raise ValueError, because NaN, Infinity and -Infinity are not JSON; `word` is the one that was written."""
    raise ValueError(f'{word} is not JSON: a value is written as text, "nan", "inf" or "-inf"')


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON mapping as a dict. Raises ValueError if a key occurs twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {quote(twice)} occurs twice")
    return found
