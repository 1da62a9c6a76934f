"""What an evaluation may take where no limit is set, and the errors of one that needs more."""

from __future__ import annotations

import os

from opset.budget import Limits
from opset.errors import Finding, RunError

MAX_STEPS = 10_000_000
"""Nodes that an evaluation runs where no limit is set."""


def most_bytes(limits: Limits) -> int:
    """Return the bytes that an evaluation may hold: the machine's memory where no limit is set."""
    if limits.max_bytes is not None:
        return limits.max_bytes
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
