"""Budgets of steps, bytes and seconds for work on a file, whose cost the file can choose.

    budget = Budget(Limits(max_steps=1000, timeout=5))
    budget.charge(10)          # before ten steps of work
    budget.hold(array.nbytes)  # while the array lives

Conversion, inference and evaluation each have one, and turn `BudgetExceeded` into an error with the location.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

from opset.errors import Finding, UsageError, quote
from opset.numbers import is_number

Kind = Literal["steps", "bytes", "seconds"]
ALLOW_MORE = "allow more: --max-steps, --max-bytes, --timeout, or Limits(max_steps=…, max_bytes=…, timeout=…)"
"""The help of messages if a conversion or an inference has used up its budget."""
_NEVER = float("inf")
_NO_LIMIT = 1 << 62


@dataclass(frozen=True, slots=True)
class Limits:
    """How much the work on a model may take; None leaves the choice to the work.

    - `max_steps`: in an evaluation, nodes that are run, counted each time they run, and calls of functions and graphs;
      elsewhere, nodes and elements that are worked on;
    - `max_bytes`: in an evaluation, bytes of all values that are live at once; in a conversion, bytes that it adds;
      in an inference, those that it keeps, estimated;
    - `timeout`: seconds.
    """

    max_steps: int | None = None
    max_bytes: int | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        """Raise UsageError U103 for a limit that is no number, or below 0."""
        for name, value, is_whole in (
            ("max_steps", self.max_steps, True),
            ("max_bytes", self.max_bytes, True),
            ("timeout", self.timeout, False),
        ):
            if value is not None and not is_number(value, whole=is_whole):
                words = "an integer, 0 or greater" if is_whole else "a number of seconds, 0 or greater"
                example = {"max_steps": "100_000", "max_bytes": "2 * 1024**3", "timeout": "60"}[name]
                message = f"the limit '{name}' cannot be {quote(repr(value))}"
                help = f"write {name}={example}, for example, or leave it out for no limit of the caller's"
                raise UsageError(Finding("U103", message, why=f"it has to be {words}", help=help))

    def as_dict(self) -> dict[str, float]:
        """Return the limits that were set, by name."""
        named = {"max_steps": self.max_steps, "max_bytes": self.max_bytes, "timeout": self.timeout}
        return {name: limit for name, limit in named.items() if limit is not None}


class BudgetExceeded(Exception):
    """A budget that is used up: its part (`kind`), and the numbers that were needed and allowed (`why`)."""

    def __init__(self, kind: Kind, why: str) -> None:
        super().__init__(why)
        self.kind, self.why = kind, why


class Budget:
    """The used part of the limits: steps, bytes that are held now, and the time at which to stop."""

    __slots__ = ("_deadline", "_timeout", "live", "max_bytes", "max_steps", "steps")

    def __init__(self, limits: Limits, *, max_steps: int = _NO_LIMIT, max_bytes: int = _NO_LIMIT) -> None:
        """Begin a budget, and the time of `limits`; the other limits hold for what `limits` leaves open."""
        self.steps = self.live = 0
        self.max_steps = limits.max_steps if limits.max_steps is not None else max_steps
        self.max_bytes = limits.max_bytes if limits.max_bytes is not None else max_bytes
        self._timeout = limits.timeout
        self._deadline = time.monotonic() + limits.timeout if limits.timeout is not None else _NEVER

    def charge(self, steps: int = 1) -> None:
        """Count steps; raise BudgetExceeded if they are too many, or if time is up."""
        self.steps += steps
        if self.steps > self.max_steps:
            are = "step is" if self.max_steps == 1 else "steps are"
            raise BudgetExceeded("steps", f"more than {self.max_steps:,} {are} needed")
        if self._deadline is not _NEVER:
            self.check_time()

    def check_time(self) -> None:
        """Raise BudgetExceeded if time is up."""
        if time.monotonic() > self._deadline:
            raise BudgetExceeded("seconds", f"it may take {self._timeout:g} seconds")

    def remaining_limits(self, limits: Limits) -> Limits:
        """Return the limits of a part of the work, at most the rest of this budget.

        Raises:
            BudgetExceeded: If nothing is left.
        """
        self.charge(0)
        steps, held, seconds = limits.max_steps, limits.max_bytes, limits.timeout
        if self.max_bytes != _NO_LIMIT:
            held = min(self.max_bytes, held if held is not None else _NO_LIMIT)
        if self.max_steps != _NO_LIMIT:
            steps = min(self.max_steps - self.steps, steps if steps is not None else _NO_LIMIT)
        if self._deadline is not _NEVER:
            left = max(self._deadline - time.monotonic(), 1e-6)
            seconds = min(left, seconds if seconds is not None else _NEVER)
        return Limits(steps, held, seconds)

    def check_bytes(self, added: int) -> None:
        """Raise BudgetExceeded if `added` bytes more could not be held."""
        if self.live + added > self.max_bytes:
            why = f"it needs {self.live + added:,} bytes, and {self.max_bytes:,} are allowed in all"
            raise BudgetExceeded("bytes", why)

    def hold(self, count: int) -> None:
        """Count bytes as held; raise BudgetExceeded if they are too many."""
        self.check_bytes(count)
        self.live += count

    def release(self, count: int) -> None:
        """Count bytes as no longer held."""
        self.live -= count
