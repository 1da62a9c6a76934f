"""Exceptions that users' functions raise: what messages say of them, and their tracebacks for who asks for them."""

from __future__ import annotations

import os
import site
import sysconfig
import traceback
from functools import lru_cache
from pathlib import Path


def described(error: BaseException, origin: str = "") -> str:
    """Return what an exception says, and the innermost line of the user's code that it came through.

    Where it came through none, as where a function takes other arguments, that is `origin`. The traceback is logged,
    which `--debug` shows.

    Args:
        error: What was raised.
        origin: file:line of the function that was called, or the file that was run.

    Returns:
        "ZeroDivisionError: division by zero, at schemas/com.acme/kernels.py:7".
    """
    log(error)
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    where = line_of(error, origin) or origin
    return f"{type(error).__name__}: {said[:500]}{f', at {where}' if where else ''}"


def line_of(error: BaseException, origin: str = "") -> str:
    """Return file:line of the innermost frame of an exception in code of users, "" where there is none."""
    if isinstance(error, SyntaxError) and error.filename and not error.filename.startswith("<"):
        return f"{error.filename}:{error.lineno or 1}"
    own = os.path.dirname(os.path.realpath(origin)) if origin else None  # which may be an installed package
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    for file, line in reversed(frames):
        path = os.path.realpath(file)
        if not file.startswith("<") and (os.path.dirname(path) == own or not path.startswith(_libraries())):
            return f"{file}:{line}"
    return ""


def log(error: BaseException) -> None:
    """Log the traceback of an exception that becomes a finding."""
    import logging  # which commands that find nothing do without

    logging.getLogger("opset").debug("a function of a user raised", exc_info=error)


@lru_cache(maxsize=1)
def _libraries() -> tuple[str, ...]:
    """Return the folders of this package, of Python's own modules, and of packages that are installed."""
    paths = sysconfig.get_paths()
    folders = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders += [os.fspath(Path(__file__).parents[1]), site.getusersitepackages()]
    return tuple(f"{os.path.realpath(each)}{os.sep}" for each in folders)
