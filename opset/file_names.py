"""Names of files and anchors that any file system and any link holds, made of names that may be anything."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable
from typing import Any

LONGEST = 80
"""Characters of a file's name before its suffix."""
_DEVICES = r"(?i:con|prn|aux|nul|com\d|lpt\d)(\..*)?"
_PART = r"[A-Za-z0-9_~]([A-Za-z0-9_.~-]*[A-Za-z0-9_~-])?"


def list_paths(given: Any) -> list[Any]:
    """Return the paths or names in an argument that takes several, or one: the characters of a text are no paths."""
    is_one = isinstance(given, str | bytes | os.PathLike) or not isinstance(given, Iterable)
    return [given] if is_one else [*given]


def slug(name: str) -> str:
    """Return a name as part of a path or an anchor: other characters than letters, digits, "_", "." and "-" in hex."""
    plain = re.sub(r"[^A-Za-z0-9_.-]", lambda match: f"~{ord(match[0]):x}", name)
    if not plain.strip(".") or plain[0] in ".-" or plain.endswith(".") or re.fullmatch(_DEVICES, plain):
        plain = f"_{plain}_"
    if len(plain) > LONGEST:
        plain = f"{plain[: LONGEST - 9]}-{zlib.crc32(name.encode('utf-8', 'surrogatepass')):08x}"
    return plain


def is_harmless(path: str) -> bool:
    """Whether a relative path is made of slugs with suffixes alone: it stays below its folder on any system."""
    return all(
        re.fullmatch(_PART, part) is not None and len(part) <= LONGEST + 20 and not re.fullmatch(_DEVICES, part)
        for part in path.split("/")
    )


def unique_slugs(names: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """Return a slug for each name.

    Returns:
        The slugs by name; no two are equal or differ in upper and lower case alone.
    """
    used = {each.lower() for each in taken}
    slug_of: dict[str, str] = {}
    for name in names:
        base = plain = slug(name)
        number = 1
        while plain.lower() in used:
            number += 1
            plain = f"{base}-{number}"
        used.add(plain.lower())
        slug_of[name] = plain
    return slug_of
