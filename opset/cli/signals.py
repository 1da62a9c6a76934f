"""How signals end a command: by an exception, so that temporary files are removed, and never with a traceback."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

STOPPING = (signal.SIGINT, signal.SIGTERM)
_SHORTLY = 0.01


class Stopped(SystemExit):
    """A signal has come; the code is the exit status, 128 and the signal's number."""


def install_handlers() -> None:
    """Let SIGINT and SIGTERM raise Stopped, unless the caller ignores them; a second one ends the process at once."""
    for number in STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _raise_stopped)
    sys.unraisablehook = _report_unraisable


def ignore_signals() -> None:
    """Ignore SIGINT and SIGTERM: all work is done, and the interpreter, which is leaving, would report exceptions."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)


def raise_if_stopped() -> None:
    """Raise Stopped if a signal has come: Python turns an exception within a class statement into a RuntimeError."""
    if _received:
        raise Stopped(128 + _received[0])


_received: list[int] = []


def _raise_stopped(number: int, frame: Any) -> None:
    """Raise Stopped for a signal; a second signal ends the process."""
    signal.signal(number, signal.SIG_DFL)
    _received.append(number)
    raise Stopped(128 + number)


def _report_unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """Report an exception that cannot be raised at its place, as in a finalizer; Stopped is raised again later."""
    if not isinstance(unraisable.exc_value, Stopped):
        sys.__unraisablehook__(unraisable)
        return
    number = int(str(unraisable.exc_value.code)) - 128
    signal.signal(number, _raise_stopped)
    again = threading.Timer(_SHORTLY, os.kill, (os.getpid(), number))
    again.daemon = True
    again.start()
