"""Bounds on time and memory that hold on a loaded machine: CPU time instead of the wall clock, ratios of two sizes.

Tests that use them are marked `clock`.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def cpu_time() -> float:
    """Return the seconds of CPU time of this process and of the children that it waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def slowness() -> float:
    """Return how many times slower than an idle machine this one counts now, at least 1.

    CPU time grows under load, too: cores share caches and pipelines, and a virtual machine's host may take them away.
    """
    begun = cpu_time()
    for _ in range(5_000_000):
        pass
    return max(1.0, (cpu_time() - begun) / 0.1)


@contextmanager
def cpu_seconds(most: float) -> Iterator[None]:
    """Check that the block takes less CPU time than this, in seconds of an idle machine."""
    begun = cpu_time()
    yield
    spent = cpu_time() - begun
    assert spent < most or spent < most * slowness(), f"{spent:.1f} s of CPU time, and {most:g} are allowed"


def resident(field: str = "VmRSS") -> float:
    """Return megabytes of memory: VmRSS, those resident now, or VmHWM, the most since `forget_peak`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith(f"{field}:"))


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


def growth(function: Callable[[int], Callable[[], object]], size: int, factor: int, runs: int = 3) -> float:
    """Return how much more CPU time work on `factor * size` takes than on `size`, divided by `factor`: 1 if linear.

    `function` prepares the work of a size, which is not measured. The least time of several runs counts.
    """

    def least(size: int) -> float:
        work, times = function(size), []
        for _ in range(runs):
            gc.collect()
            begun = cpu_time()
            work()
            times.append(cpu_time() - begun)
        return min(times)

    return least(factor * size) / factor / max(least(size), 0.01)
