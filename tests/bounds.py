"""Bounds on work and memory that hold on any machine: lines of Python that are run, memory that becomes resident.

No test bounds time. Work that never ends, as an exponential one, needs no bound: pytest shows after ten minutes where
it is (`faulthandler_timeout`). `draws` bounds the cases that property tests draw; THOROUGH asks for all others.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

FEWEST = 25
THOROUGH = "OPSET_THOROUGH" in os.environ
"""Whether tests take all cases, as `python -m judges thorough` asks; else a part that has everything that differs."""


SEEN: set[tuple[str, int]] | None = None
"""The file and number of each line that runs within `lines`, if the judge of mutations records what tests reach."""


def draws(number: int) -> int:
    """Return how many of so many cases a property test draws: a sixth, or OPSET_DRAWS times as many.

    `python -m judges properties` draws all, and more.
    """
    return max(FEWEST, int(number * float(os.environ.get("OPSET_DRAWS", str(1 / 6)))))


@contextmanager
def lines(most: int) -> Iterator[Callable[[], int]]:
    """Check that the block runs at most so many lines of Python, loops counted; yield what returns their number.

    It is ended by AssertionError as soon as there are more. What C code does within a line is not seen.
    """
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        if event == "line":
            count += 1
            if count > most:
                raise AssertionError(f"more than {most:,} lines are run")
        return trace

    def recorded(frame: FrameType, event: str, argument: Any) -> Any:
        if SEEN is not None:
            SEEN.add((frame.f_code.co_filename, frame.f_lineno))
        trace(frame, event, argument)
        return recorded

    before = sys.gettrace()
    sys.settrace(trace if SEEN is None else recorded)
    try:
        yield lambda: count
    finally:
        sys.settrace(before)
    assert count <= most, f"{count:,} lines are run, and {most:,} are allowed"  # where the error was caught


def resident(field: str = "VmRSS") -> float:
    """Return megabytes of memory: VmRSS, those resident now, or VmHWM, the most since `forget_peak`."""
    found = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1e3 for line in found if line.startswith(f"{field}:"))


def forget_peak() -> bool:
    """Reset VmHWM; return False where the system does not allow that."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return sys.platform == "linux"


@contextmanager
def megabytes(most: float) -> Iterator[None]:
    """Check that resident memory grows by less than this within the block, where the system can measure it."""
    if not forget_peak():
        yield
        return
    before = resident()
    yield
    grown = resident("VmHWM") - before
    assert grown < most, f"{grown:.0f} MB more, and {most:g} are allowed"


def growth(function: Callable[[int], Callable[[], object]], size: int, factor: int) -> float:
    """Return how many more lines work on `factor * size` runs than on `size`, divided by `factor`: 1 if linear.

    `function` prepares the work of a size, which is not counted. The work is done once before, for what is kept.
    """

    def counted(size: int) -> int:
        work = function(size)
        with lines(1 << 40) as number:
            work()
        return number()

    function(size)()
    return counted(factor * size) / factor / counted(size)
