"""What an evaluation may take, and the errors of one that needs more."""

from __future__ import annotations

import os
from dataclasses import dataclass

from opset.errors import Finding, RunError


@dataclass(frozen=True, slots=True)
class Limits:
    """How much an evaluation may take, None without limit.

    - `max_steps`: nodes that are run, counted each time they run, and calls of functions and graphs;
    - `max_bytes`: bytes of all values that are live at once; None stands for the machine's memory;
    - `timeout`: seconds. It is checked between nodes, and in kernels that may take long.
    """

    max_steps: int | None = 10_000_000
    max_bytes: int | None = None
    timeout: float | None = None

    def bytes(self) -> int:
        """Return the limit in bytes, the machine's memory where none was set."""
        if self.max_bytes is not None:
            return self.max_bytes
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, ValueError, OSError):  # not on every system
            return 1 << 34


def too_many_steps(location: str, max_steps: int) -> RunError:
    """Return the error R301 of an evaluation that has run as many nodes as it may."""
    help = "allow more: --max-steps, or Limits(max_steps=…)"
    return _stopped("R301", "too many steps", location, f"{max_steps:,} nodes were run", help)


def too_much_memory(location: str, why: str) -> RunError:
    """Return the error R302 of an evaluation whose values would take more memory than they may."""
    return _stopped("R302", "too much memory", location, why, "allow more: --max-bytes, or Limits(max_bytes=…)")


def out_of_time(location: str, seconds: float | None) -> RunError:
    """Return the error R303 of an evaluation that has taken as long as it may."""
    help = "allow more: --timeout, or Limits(timeout=…)"
    return _stopped("R303", "time is up", location, f"it may take {seconds:g} seconds", help)


def _stopped(code: str, what: str, location: str, why: str, help: str) -> RunError:
    return RunError(Finding(code, f"the evaluation was stopped: {what}", location, why, help))
