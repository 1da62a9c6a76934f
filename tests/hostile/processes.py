"""Attacks on the command line: each in a process of its own, with 2 GB of address space and 10 seconds.

The seconds are CPU time, so that they hold on a loaded machine; what waits without working is ended after a minute.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import opset

ADDRESS_SPACE = 2 << 30
CPU_SECONDS = 10
PATIENCE = 60
KEPT = 32 << 20
"""Bytes of each stream that are kept; a process that writes more is ended."""
OURS = frozenset({0, 1, 2, 3})
"""Exit statuses that an attack may end with: done, refused, wrong usage, unreadable or unsafe."""


class Outcome(NamedTuple):
    """How an attack ended; a negative status is the signal that ended the process."""

    status: int
    stdout: bytes
    stderr: bytes
    seconds: float
    megabytes: float

    @property
    def text(self) -> str:
        """What the process wrote, on both streams."""
        return (self.stdout + self.stderr).decode("utf-8", "replace")


def python(
    *arguments: str | Path, stdin: Any = b"", cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Outcome:
    """Return how Python with these arguments ends; `stdin` is bytes, or an open file."""
    environment = {**os.environ, "PYTHONPATH": str(Path(opset.__file__).parents[1]), "OPENBLAS_NUM_THREADS": "1"}
    begun = time.monotonic()
    told, tells = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", LAUNCHER, str(tells), sys.executable, *map(str, arguments)],
        cwd=cwd, env=environment | dict(env or {}), pass_fds=(tells,), start_new_session=True,
        stdin=subprocess.PIPE if isinstance(stdin, bytes) else stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    os.close(tells)
    kept: list[bytes] = [b"", b""]
    threads = [
        threading.Thread(target=_keep, args=(stream, kept, number, process))
        for number, stream in enumerate((process.stdout, process.stderr))
    ]
    if isinstance(stdin, bytes):
        threads.append(threading.Thread(target=_feed, args=(process, stdin)))
    for thread in threads:
        thread.start()
    timer = threading.Timer(PATIENCE, _end, [process])
    timer.start()
    try:
        process.wait()
    finally:
        timer.cancel()
    with open(told, encoding="ascii") as report:
        status, peak = map(int, report.read().split() or (-signal.SIGKILL, 0))
    for thread in threads:
        thread.join()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    return Outcome(status, kept[0], kept[1], time.monotonic() - begun, peak / 1024)


LAUNCHER = f"""
import os, resource, signal, sys
child = os.fork()
if not child:
    os.close(int(sys.argv[1]))
    resource.setrlimit(resource.RLIMIT_AS, ({ADDRESS_SPACE}, {ADDRESS_SPACE}))
    resource.setrlimit(resource.RLIMIT_CPU, ({CPU_SECONDS}, {CPU_SECONDS + 1}))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    os.execv(sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(child, 0)
os.write(int(sys.argv[1]), b"%d %d" % (os.waitstatus_to_exitcode(status), usage.ru_maxrss))
"""
"""Sets the limits and starts the attack, from a small process: of the one that forks, the memory counts too."""


def attack(*arguments: str | Path, **options: Any) -> Outcome:
    """Return how `opset` with these arguments ends. Options are those of `python`."""
    return python("-m", "opset", *arguments, **options)


def own(outcome: Outcome, *statuses: int) -> Outcome:
    """Check that an attack ended with one of the statuses, by default any of ours, and without a traceback."""
    why = f"{outcome.status} after {outcome.seconds:.1f} s, {outcome.megabytes:.0f} MB: {outcome.text[-2000:]}"
    assert outcome.status in (statuses or OURS), why
    assert "Traceback" not in outcome.text and "internal error" not in outcome.text, why
    return outcome


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a launcher and what it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _keep(stream: Any, kept: list[bytes], number: int, process: subprocess.Popen[bytes]) -> None:
    parts, size = [], 0
    while part := stream.read1(1 << 20):
        size += len(part)
        parts.append(part)
        if size > KEPT:
            _end(process)
            break
    kept[number] = b"".join(parts)


def _feed(process: subprocess.Popen[bytes], data: bytes) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(data)
        process.stdin.close()
    except BrokenPipeError:
        pass
