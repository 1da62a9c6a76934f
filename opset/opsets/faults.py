"""Exceptions of users' functions: their description in messages, and their tracebacks if somebody asks for them."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path

from opset.errors import escape_text

DEBUG = "OPSET_DEBUG"
"""The variable of the environment that asks for tracebacks; processes that a command starts inherit it."""


RAISED = (Exception, SystemExit)
"""What a user's function raises if it fails: an exit that it asks for is a failure, too."""


def raise_interrupt(error: BaseException) -> None:
    """Raise an exception of `RAISED` again if it is an interrupt, which is of a class derived from SystemExit."""
    if not isinstance(error, Exception) and type(error) is not SystemExit:
        raise error


def describe_exception(error: BaseException, origin: str = "") -> str:
    """Return an exception's message, and the innermost line of the user's code that it came through, else `origin`.

    The traceback is written to stderr with `--debug`.

    Args:
        origin: file:line of the function that was called, or the file that was run.

    Returns:
        "ZeroDivisionError: division by zero, at schemas/com.acme/kernels.py:7".
    """
    trace(error)
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    where = line_of(error, origin) or origin
    return f"{type(error).__name__}: {said[:500]}{f', at {where}' if where else ''}"


def line_of(error: BaseException, origin: str = "") -> str:
    """Return file:line of the innermost frame of an exception in a user's code, or beside `origin`; "" without one."""
    if isinstance(error, SyntaxError) and error.filename and not error.filename.startswith("<"):
        return f"{error.filename}:{error.lineno or 1}"
    from traceback import walk_tb  # what errors alone need is imported late, since it takes long

    own_folder = os.path.dirname(os.path.realpath(origin)) if origin else None  # which may be an installed package
    frames = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    for file, line in reversed(frames):
        path = os.path.realpath(file)
        if not file.startswith("<") and (os.path.dirname(path) == own_folder or not path.startswith(_libraries())):
            return f"{file}:{line}"
    return ""


def trace(error: BaseException) -> None:
    """Write the traceback of an exception to stderr if OPSET_DEBUG asks for it, as `--debug` does."""
    sys.stderr.write(format_traceback(error))


def format_traceback(error: BaseException) -> str:
    """Return the traceback of an exception, safe on a terminal; "" unless OPSET_DEBUG is "1"."""
    if os.environ.get(DEBUG) != "1":
        return ""
    import traceback

    lines = "".join(traceback.format_exception(error)).splitlines()
    return "".join(f"{escape_text(line)}\n" for line in lines)


@lru_cache(maxsize=1)
def _libraries() -> tuple[str, ...]:
    """Return the folders of this package, of Python's own modules, and of packages that are installed."""
    import site
    import sysconfig

    paths = sysconfig.get_paths()
    folders = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders += [os.fspath(Path(__file__).parents[1]), site.getusersitepackages()]
    return tuple(f"{os.path.realpath(folder)}{os.sep}" for folder in folders)
