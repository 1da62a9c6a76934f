"""Work in a child process that is ended when its time is up, even within a long call of numpy, which has no clock."""

from __future__ import annotations

import os
import pickle
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any, NoReturn

from opset.budget import Budget, BudgetExceeded, Limits
from opset.cli import BROKEN_PIPE, INTERNAL, INTERRUPTED
from opset.cli.output import internal_error, write_errors
from opset.errors import Finding, OpsetError, RunError

POSSIBLE = hasattr(os, "fork") and sys.platform != "darwin"
"""Whether a process can be copied; on macOS, libraries that numpy uses do not survive it."""
GRACE = 0.3
"""Seconds that the work has beyond its own to report the place at which its time ended."""
PATIENCE = 0.5
"""Seconds that it then has to remove its temporary files before it is killed."""
_INTERRUPTS = {signal.SIGINT, signal.SIGTERM}
_LONGEST = 1e8  # seconds that a timer of the system takes


class NoResult(Exception):
    """The work gave no result: its time was up (`late`), or its process died, by a `signal` or with a `status`."""

    def __init__(self, late: bool, status: int) -> None:
        super().__init__()
        self.late, self.signal, self.status = late, max(-status, 0), status


def run_supervised(work: Callable[[], Any], seconds: float) -> Any:
    """Return the result of `work`, which is done in a child process that is ended in time.

    The child has the streams of this process, and may read stdin. If the system allows no other process, the work is
    done in this one.

    Args:
        work: Returns what can be pickled. An unexpected exception is written to stderr.
        seconds: Time for the work.

    Raises:
        NoResult: The time was up, or the child died; its status is the exit status of a verb.
    """
    seconds = min(seconds, _LONGEST)
    deadline = time.monotonic() + seconds + GRACE
    sys.stdout.flush()
    sys.stderr.flush()
    reader, writer = os.pipe()
    # Until the child is known, nothing may interrupt: it would be left alone.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
    try:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of threads: those of BLAS are prepared for it
                child = os.fork()
        except OSError:
            os.close(reader)
            os.close(writer)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            return work()
        if not child:
            os.close(reader)
            _run_child(work, writer, seconds, mask)
        os.close(writer)
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            result = _read_result(reader, deadline)
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
            status = _end_child(child)
            os.close(reader)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    if result is None or time.monotonic() > deadline:
        raise NoResult(True, status)
    try:
        return pickle.loads(result)
    except (EOFError, pickle.UnpicklingError) as error:
        raise NoResult(status == -signal.SIGALRM, status) from error


def run_in_bounds(work: Callable[[Budget], int], limits: Limits, seconds: float) -> int:
    """Return the exit status of work that has one budget for all evaluations.

    Args:
        work: Writes the product of a verb, and returns its exit status.
        limits: Limits of the budget; with a limit of seconds, the work is done in a child that is ended in time.
        seconds: Time of the budget if the limits have none.

    Raises:
        RunError: R301 to R303, a limit is reached.
    """
    budget = Budget(replace(limits, timeout=limits.timeout or seconds))

    def within() -> int:
        try:
            return work(budget)
        except BudgetExceeded as error:
            from opset.reference.engine.limits import limit_error

            raise limit_error(error) from error

    def alone() -> int:
        try:
            status = within()
        except OpsetError as error:
            write_errors(error)
            status = error.exit_status
        sys.stdout.flush()
        return status

    if limits.timeout is None or not POSSIBLE:
        return within()
    try:
        return int(run_supervised(alone, limits.timeout))
    except NoResult as ended:
        if ended.status in (BROKEN_PIPE, INTERNAL):
            return ended.status
        raise failure(ended, limits) from None


def failure(ended: NoResult, limits: Limits) -> RunError:
    """Return the error of an evaluation whose process gave no result."""
    from opset.reference.engine.limits import limit_error, out_of_memory  # which imports numpy

    if ended.late:
        return limit_error(BudgetExceeded("seconds", f"it may take {limits.timeout:g} seconds"))
    if ended.signal == signal.SIGKILL:
        return out_of_memory("", "the system killed its process, as it does where memory is short")
    if ended.signal == signal.SIGXCPU:
        return limit_error(BudgetExceeded("seconds", "the system allows its process no more of the processor's time"))
    if ended.signal:
        name = signal.Signals(ended.signal).name
        why, help = f"it was ended by {name}", "please report it, with the model and its inputs"
        return RunError(Finding("R204", "the process of the evaluation crashed", why=why, help=help))
    return out_of_memory("", f"its process ended with status {ended.status} and no result")


def _read_result(reader: int, deadline: float) -> bytes | None:
    """Return all that the child writes, None if it has not come to an end in time."""
    parts: list[bytes] = []
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    while (left := deadline - time.monotonic()) > 0:
        if poll.poll(min(left, 1000) * 1000):
            part = os.read(reader, 1 << 20)
            if not part:
                return b"".join(parts)
            parts.append(part)
    return None


def _end_child(child: int) -> int:
    """End the child if it still runs, and return its exit status, minus the number of the signal that ended it."""
    for number, patience in ((0, 0.05), (signal.SIGTERM, PATIENCE), (signal.SIGKILL, None)):
        if number:
            with suppress(ProcessLookupError):
                os.kill(child, number)
        until = time.monotonic() + (patience or 0)
        while patience is not None and time.monotonic() < until:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.002)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _run_child(work: Callable[[], Any], writer: int, seconds: float, mask: Iterable[int]) -> NoReturn:
    """Do the work in the child, write its result to a pipe, and leave."""
    status = 1
    try:
        # The system ends the child even where nobody is left to do so.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds + GRACE + PATIENCE)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        result = pickle.dumps(work())
        sys.stderr.flush()
        with open(writer, "wb") as pipe:
            pipe.write(result)
        status = 0
    except MemoryError:
        status = 1
    except BrokenPipeError:
        status = BROKEN_PIPE
    except (KeyboardInterrupt, SystemExit):
        status = INTERRUPTED
    except BaseException as error:
        status = INTERNAL
        sys.stderr.write(internal_error(error) + "\n")
    finally:
        with suppress(Exception):
            sys.stderr.flush()
        os._exit(status)
