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
    """Raise UsageError if a page may not be written to a path; nothing is written.

    The code is U102 if the path has a file that opset did not make, unless `force` is true. It is U104 if the path is a
    folder, or its file cannot be read.
    """
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
    """Write a page to a path, over an earlier page that opset made; if writing fails, the earlier file stays as it was.

    Raises UsageError U102 if the path has another file and `force` is false, U104 if the page cannot be written.
    """
    check_page_file(path, force)
    write_files({path: text.encode()}, force=os.path.lexists(path))
