"""What one evaluation has used of its limits: steps, live bytes and time."""

from __future__ import annotations

import time

from opset.budget import Limits
from opset.reference.limits import MAX_STEPS, most_bytes, out_of_time, too_many_steps, too_much_memory
from opset.reference.programs import Program, Step

_NEVER = float("inf")


class Account:
    """Steps that were run, bytes of values that are live, and the time at which to stop."""

    __slots__ = ("_deadline", "_max_steps", "_timeout", "live", "max_bytes", "steps")

    def __init__(self, limits: Limits) -> None:
        self.steps = self.live = 0
        self.max_bytes = most_bytes(limits)
        self._max_steps = limits.max_steps if limits.max_steps is not None else MAX_STEPS
        self._timeout = limits.timeout
        self._deadline = time.monotonic() + limits.timeout if limits.timeout is not None else _NEVER

    def count(self, program: Program, step: Step) -> None:
        """Count a step. Raises RunError R301 where it is one too many, R303 where time is up."""
        self.steps += 1
        if self.steps > self._max_steps:
            raise too_many_steps(program.location(step), self._max_steps)
        if self._deadline is not _NEVER:
            self.check_time(program, step)

    def check_time(self, program: Program, step: Step) -> None:
        """Raise RunError R303 where time is up."""
        if time.monotonic() > self._deadline:
            raise out_of_time(program.location(step), self._timeout)

    def check_bytes(self, added: int, program: Program, step: Step) -> None:
        """Raise RunError R302 where `added` bytes more are too many to be live."""
        if self.live + added > self.max_bytes:
            why = f"{self.live + added:,} bytes of values would live at once"
            raise too_much_memory(program.location(step), why)

    def reserve(self, needed: int, program: Program, step: Step) -> None:
        """Raise RunError R302 where an allocation of `needed` bytes is beyond the limit."""
        if self.live + needed > self.max_bytes:
            why = f"it needs {needed:,} bytes, and {self.max_bytes:,} are allowed in all"
            raise too_much_memory(program.location(step), why)
