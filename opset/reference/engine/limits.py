"""Default limits of an evaluation, and the errors of an evaluation that needs more."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import PurePosixPath

from opset.budget import BudgetExceeded, Limits
from opset.errors import Finding, RunError

_UNKNOWN = 1 << 34  # bytes of memory, if the system does not say
_LONGEST_TEXT = 1 << 16  # bytes; these files have a few hundred or thousand
_AVAILABLE = re.compile(r"^MemAvailable: *([0-9]{1,15}) kB$", re.MULTILINE)
"""What a Linux machine can give without swapping; the memory that it has is more by what others hold."""


def byte_limit(limits: Limits) -> int:
    """Return the bytes that an evaluation may hold, by default what the machine and control groups have left.

    No limit is above the bytes that the system leaves to the process.
    """
    statistics = _read_text("/proc/self/statm").split()
    taken, resident = (int(pages) * os.sysconf("SC_PAGE_SIZE") for pages in (*statistics, "0", "0")[:2])
    bounds = _process_limits(taken, resident)
    if limits.max_bytes is not None:
        bounds.append(limits.max_bytes)
        return min(bounds)
    if available := _AVAILABLE.search(_read_text("/proc/meminfo")):
        bounds.append(int(available[1]) * 1024)
    else:
        with suppress(AttributeError, ValueError, OSError):  # not on every system
            bounds.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for file in _readable_files(_read_text("/proc/self/cgroup")):
        if (text := _read_text(file)).isdigit():  # else "max", or no such file
            bounds.append(max(int(text) - resident, 0))
    return min(bounds, default=_UNKNOWN)


def _process_limits(taken: int, resident: int) -> list[int]:
    """Return the bytes that the limits of the process itself leave to it, if there are any."""
    try:
        import resource
    except ImportError:  # not on every system
        return []
    bounds = []
    for kind, used in (resource.RLIMIT_AS, taken), (resource.RLIMIT_DATA, resident):
        if (limit := resource.getrlimit(kind)[0]) != resource.RLIM_INFINITY:
            bounds.append(max(limit - used, 0))
    return bounds


def control_group_files(groups: str) -> Iterator[str]:
    """Yield the files with the memory limits of control groups, version 1 or 2, and of the groups around them.

    `groups` is the text of /proc/self/cgroup. In a container, these may be paths of the host, and not exist.
    """
    for line in groups.splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        inside = PurePosixPath("/", path)
        for group in (str(folder).rstrip("/") for folder in (inside, *inside.parents)):
            if not controllers:
                yield from (f"{root}{group}/memory.max" for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"))
            elif "memory" in controllers.split(","):
                yield f"/sys/fs/cgroup/memory{group}/memory.limit_in_bytes"


@lru_cache(maxsize=8)
def _readable_files(groups: str) -> tuple[str, ...]:
    """Return those files with limits of control groups that can be read: most paths do not exist."""
    return tuple(file for file in control_group_files(groups) if _read_text(file))


def _read_text(path: str) -> str:
    """Return the text of a small file of the system, "" if it cannot be read."""
    with suppress(OSError, ValueError):
        descriptor = os.open(path, os.O_RDONLY)  # `open` takes twice as long, and each evaluation reads several files
        try:
            return os.read(descriptor, _LONGEST_TEXT).decode().strip()
        finally:
            os.close(descriptor)
    return ""


_CAUSES = {
    "steps": ("R301", "too many steps", "--max-steps, or Limits(max_steps=…)"),
    "bytes": ("R302", "too much memory", "--max-bytes, or Limits(max_bytes=…)"),
    "seconds": ("R303", "time is up", "--timeout, or Limits(timeout=…)"),
}


def limit_error(error: BudgetExceeded, location: str = "") -> RunError:
    """Return the error R301, R302 or R303 of an evaluation that has used up its budget."""
    code, what, help = _CAUSES[error.kind]
    return RunError(Finding(code, f"the evaluation was stopped: {what}", location, error.why, f"allow more: {help}"))


def out_of_memory(location: str = "", why: str = "") -> RunError:
    """Return the error R302 of an evaluation that the system gives no more memory."""
    return limit_error(BudgetExceeded("bytes", why or "the machine has no more memory"), location)
