"""The file of a report that is a page: written whole, over an earlier page of ours, and over no other file."""

from __future__ import annotations

import os

from opset.errors import Finding, UsageError
from opset.model.storage.writing import write_files

GENERATOR = '<meta name="generator" content="opset '
"""Text at the beginning of a page that opset made."""
VERBS = frozenset(("convert", "lower", "inline", "blockers", "check", "infer"))
"""The verbs that read any number of models and make a page of them."""
SUFFIXES = (".html", ".htm")
"""How the names of pages end."""
_HEAD = 400
"""Bytes in which a page says who made it."""


def check_page_file(path: str, force: bool = False) -> None:
    """Raise UsageError U102 if a file that is no page of opset is at the path of one, unless `force` allows it."""
    try:
        with open(path, "rb") as file:
            is_ours = GENERATOR.encode() in file.read(_HEAD)
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        why = "it is a folder" if os.path.isdir(path) else getattr(error, "strerror", None) or str(error)
        help = "name another file with --report"
        raise UsageError(Finding("U104", "the report cannot be written", why=why, help=help, file=path)) from error
    if not (is_ours or force):
        help = "name another file with --report"
        raise UsageError(Finding("U102", "the file is there, and is no page that opset made", help=help, file=path))


def write_page(path: str, text: str, force: bool = False) -> None:
    """Write a page, whole or not at all, over an earlier one.

    Raises UsageError U102 if another file is at its path and `force` is false, U104 if writing fails.
    """
    check_page_file(path, force)
    write_files({path: text.encode()}, force=os.path.lexists(path))
