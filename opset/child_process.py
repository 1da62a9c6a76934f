"""Child processes that work for this one, also if they crash, hang or print rubbish; none outlives it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

ANSWERS = "OPSET_ANSWERS"
"""The variable that names the descriptor which a worker answers on."""
PATIENCE = 10.0
"""Seconds that a killed process has to be gone."""
FILE_SIZE = 1 << 30
"""Bytes of the largest file that a process may write."""
TAIL = 4000
"""Bytes that are kept from the end of a process's output."""
INTERRUPTS = {signal.SIGINT, signal.SIGTERM}
_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG


class ChildProcess:
    """A process in a session of its own, written to and read from without waiting; `serves` says if it is a worker."""

    def __init__(
        self, command: Sequence[str], memory: int | None, *, serves: bool, environment: Mapping[str, str] | None = None
    ) -> None:
        """Start a command with at most `memory` bytes of addresses, in `environment`, by default in this process's."""
        self.printed, self.answered = bytearray(), bytearray()
        self._unsent = memoryview(b"")
        printing, prints = os.pipe()
        answering, answers = os.pipe() if serves else (-1, -1)
        self._reading = {printing: self.printed} | ({answering: self.answered} if serves else {})
        system = _c_library()
        variables = environment
        if serves:
            variables = {**(os.environ if environment is None else environment), **_settings(answers)}
        # Until the process is known, nothing may interrupt: it would be left alone.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE if serves else subprocess.DEVNULL,
                stdout=prints,
                stderr=prints,
                pass_fds=[answers] if serves else [],
                start_new_session=True,
                preexec_fn=lambda: _limit_process(mask, memory, system),
                env=variables,
            )
        except OSError:
            for descriptor in self._reading:
                os.close(descriptor)
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            for descriptor in (prints, answers):
                if descriptor >= 0:
                    os.close(descriptor)
        for descriptor in self._reading:
            os.set_blocking(descriptor, False)
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)

    def send(self, data: bytes) -> None:
        """Begin to send bytes to the process; those that it does not take at once are sent by `status`."""
        self._unsent = memoryview(data)
        self._write()

    def _write(self) -> None:
        """Write as many of the bytes that remain to be sent as the process takes now."""
        assert self._process.stdin is not None
        with suppress(BlockingIOError):
            while self._unsent:
                try:
                    self._unsent = self._unsent[os.write(self._process.stdin.fileno(), self._unsent) :]
                except BrokenPipeError:
                    self._unsent = memoryview(b"")  # it died, which its status shows

    def poll_events(self) -> Iterator[tuple[int, int]]:
        """Yield the file descriptors of the process, each with the events to wait for in poll()."""
        yield from ((descriptor, select.POLLIN) for descriptor in self._reading)
        if self._unsent:
            assert self._process.stdin is not None  # `send` has written to it
            yield self._process.stdin.fileno(), select.POLLOUT

    def status(self) -> int | None:
        """Read and write whatever is possible now, and return the exit status; None while the process runs.

        The status is minus the number of a signal if one ended the process.
        """
        status = self._process.poll()
        if self._unsent:
            self._write()
        for descriptor, buffer in [*self._reading.items()]:
            with suppress(BlockingIOError):
                # Bounded, as a process may print faster than this reads.
                for _ in range(64):
                    data = os.read(descriptor, 1 << 16)
                    if not data:
                        os.close(descriptor)
                        del self._reading[descriptor]
                        break
                    buffer += data
        del self.printed[:-TAIL]
        return status

    def end(self) -> None:
        """Kill the process and all others in its session, and close its descriptors."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE)
        for descriptor in self._reading:
            os.close(descriptor)
        self._reading.clear()
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()

    def last_output(self) -> str:
        """Return the last TAIL bytes that the process printed, as text."""
        return bytes(self.printed).decode("utf-8", "replace").strip()


@lru_cache(maxsize=1)
def _c_library() -> Any:
    """Return the C library on Linux, None on other systems."""
    if sys.platform != "linux":
        return None
    import ctypes

    return ctypes.CDLL(None)


def _limit_process(mask: Iterable[int], memory: int | None, system: Any) -> None:
    """Set blocked signals (`mask`) and limits in a new process; given the C library, it ends if this one is killed."""
    import resource

    if system is not None:
        system.prctl(_END_WITH_PARENT, signal.SIGKILL)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    limits = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, FILE_SIZE)]
    for limit, most in [*limits, *([(resource.RLIMIT_AS, memory)] if memory else [])]:
        with suppress(ValueError, OSError):  # there is a lower one already
            resource.setrlimit(limit, (most, most))


def _settings(answers: int) -> dict[str, str]:
    """Return variables of a worker's environment: the descriptor for answers, and one thread for libraries."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return {**dict.fromkeys(threads, "1"), ANSWERS: str(answers)}


def environment_without_folder() -> dict[str, str]:
    """Return the environment of this process in which Python imports nothing from the working folder."""
    try:
        working = os.path.realpath(os.getcwd())
    except OSError:  # it was removed
        working = ""
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    kept = [each for each in entries if os.path.isabs(each) and os.path.realpath(each) != working]
    environment = {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(kept)}
    if not kept:
        del environment["PYTHONPATH"]
    return environment


def death_text(status: int, words: str) -> str:
    """Return the exit status or the signal that ended a process, and its last output, in words."""
    try:
        how = f"ended by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
    except ValueError:
        how = f"ended by signal {-status}"
    return f"{how}: {words}" if words else how
