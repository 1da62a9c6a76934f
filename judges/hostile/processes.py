"""Attacks on the command line: each in a process of its own, with 2 GB of address space.

A process that hangs is ended, after two minutes of CPU time or ten of waiting.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import opset

ADDRESS_SPACE = 2 << 30
CPU_SECONDS = 120
PATIENCE = 600
ROOT = Path(opset.__file__).parents[1]
Streams = tuple[int, int, int]
Process = tuple[int, Callable[[], str]]
"""The id of a process and of its group, and a function that waits for its end and returns its status and peak."""
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
    *arguments: str | Path,
    stdin: Any = b"",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    seconds: int = CPU_SECONDS,
) -> Outcome:
    """Return how Python with these arguments ends; `stdin` is bytes, or an open file."""
    told, tells = os.pipe()

    def start(streams: Streams) -> Process:
        command = ["-I", "-S", "-c", LAUNCHER, str(tells), str(seconds), sys.executable, *map(str, arguments)]
        process = subprocess.Popen(
            [sys.executable, *command],
            cwd=cwd,
            env=_environment() | dict(env or {}),
            pass_fds=(tells,),
            start_new_session=True,
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
        )
        os.close(tells)

        def end() -> str:
            process.wait()
            with open(told, encoding="ascii") as report:
                return report.read()

        return process.pid, end

    return _outcome(start, stdin)


LAUNCHER = f"""
import os, resource, signal, sys
child = os.fork()
if not child:
    os.close(int(sys.argv[1]))
    resource.setrlimit(resource.RLIMIT_AS, ({ADDRESS_SPACE}, {ADDRESS_SPACE}))
    resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[2]), int(sys.argv[2]) + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    os.execv(sys.argv[3], sys.argv[3:])
_, status, usage = os.wait4(child, 0)
os.write(int(sys.argv[1]), b"%d %d" % (os.waitstatus_to_exitcode(status), usage.ru_maxrss))
"""
"""Sets the limits and starts the attack, from a small process: of the one that forks, the memory counts too."""


def launch(*arguments: str | Path, **options: Any) -> Outcome:
    """Return how `opset` with these arguments ends, from the start of Python on. Options are those of `python`."""
    return python("-m", "opset", *arguments, **options)


def attack(*arguments: str | Path, **options: Any) -> Outcome:
    """Return how `opset` with these arguments ends, in a copy of a process that has imported it.

    Options are those of `imported`.
    """
    return imported("from opset.__main__ import main\nmain()", *arguments, **options)


def imported(
    code: str,
    *arguments: str | Path,
    stdin: Any = b"",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Outcome:
    """Return how code with these arguments ends, in a copy of a process that has imported the package."""
    connection = _server()
    request = {
        "code": code,
        "argv": ["-c", *map(str, arguments)],
        "cwd": str(cwd or os.getcwd()),
        "env": _environment() | dict(env or {}),
        "limits": LIMITS,
    }

    def start(streams: Streams) -> Process:
        data = json.dumps(request).encode()
        socket.send_fds(connection, [len(data).to_bytes(8, "big")], streams)
        connection.sendall(data)
        answer = connection.makefile("r", encoding="ascii")
        return int(answer.readline()), answer.readline

    return _outcome(start, stdin)


LIMITS = [
    (resource.RLIMIT_AS, ADDRESS_SPACE, ADDRESS_SPACE),
    (resource.RLIMIT_CPU, CPU_SECONDS, CPU_SECONDS + 1),
    (resource.RLIMIT_CORE, 0, 0),
]


@cache
def _server() -> socket.socket:
    """Return a connection to the process that runs attacks in copies of itself; it ends with this one."""
    ours, theirs = socket.socketpair()
    subprocess.Popen(
        [sys.executable, "-m", "judges.hostile.server", str(theirs.fileno())],
        cwd=ROOT,
        env=_environment(),
        pass_fds=(theirs.fileno(),),
        start_new_session=True,
        stdin=subprocess.DEVNULL,
    )
    theirs.close()
    return ours


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}


def _outcome(start: Callable[[Streams], Process], stdin: Any) -> Outcome:
    """Return how a process ends that is started with the three streams."""
    begun = time.monotonic()
    fed, feeds = os.pipe() if isinstance(stdin, bytes) else (stdin.fileno(), None)
    pipes = [os.pipe(), os.pipe()]
    group, end = start((fed, pipes[0][1], pipes[1][1]))
    for each in (*(written for _, written in pipes), *([] if feeds is None else [fed])):
        os.close(each)
    kept = [b"", b""]
    threads = [
        threading.Thread(target=_keep, args=(pipe, kept, number, group)) for number, (pipe, _) in enumerate(pipes)
    ]
    if feeds is not None:
        threads.append(threading.Thread(target=_feed, args=(feeds, stdin)))
    for thread in threads:
        thread.start()
    timer = threading.Timer(PATIENCE, _kill, [group])
    timer.start()
    try:
        report = end()
    finally:
        timer.cancel()
    status, peak = map(int, report.split() or (-signal.SIGKILL, 0))
    for thread in threads:
        thread.join()
    return Outcome(status, kept[0], kept[1], time.monotonic() - begun, peak / 1024)


def own(outcome: Outcome, *statuses: int) -> Outcome:
    """Check that an attack ended with one of the statuses, by default any of ours, and without a traceback."""
    why = f"{outcome.status} after {outcome.seconds:.1f} s, {outcome.megabytes:.0f} MB: {outcome.text[-2000:]}"
    assert outcome.status in (statuses or OURS), why
    assert "Traceback" not in outcome.text and "internal error" not in outcome.text, why
    return outcome


def _kill(group: int) -> None:
    """Kill a process and what it started."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _keep(pipe: int, kept: list[bytes], number: int, group: int) -> None:
    parts, size = [], 0
    with open(pipe, "rb", buffering=0) as stream:
        while part := stream.read(1 << 20):
            size += len(part)
            parts.append(part)
            if size > KEPT:
                _kill(group)
                break
    kept[number] = b"".join(parts)


def _feed(pipe: int, data: bytes) -> None:
    with suppress(BrokenPipeError), open(pipe, "wb", buffering=0) as stream:
        while data:
            data = data[stream.write(data) :]
