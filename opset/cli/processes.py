"""Work in several processes: none outlives the command, and a crash of one does not end it."""

from __future__ import annotations

import math
import multiprocessing
import signal
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import TypeVar

from opset.cli import signals

Item = TypeVar("Item")
Result = TypeVar("Result")
Start = Callable[[], Callable[[Item], Result]]

STARTING = 10.0
"""Seconds that a process has beyond those of its first item to start."""
PATIENCE = 10.0
"""Seconds that a process has to remove its temporary files before it is killed."""


def run_in_processes(
    start: Start[Item, Result],
    items: Sequence[Item],
    jobs: int,
    lost: Callable[[Item, bool], Result],
    seconds: float = math.inf,
) -> Generator[Result, None, None]:
    """Yield the result of every item, in order; closing the generator ends all processes.

    Args:
        start: Returns the function that computes the result of an item; each process calls it once.
        items: The items, which are sent to processes.
        jobs: Number of processes.
        lost: Returns the result of an item whose process died, or, with True, was ended as it took too long.
        seconds: Time that an item may take.
    """
    workers: dict[Connection, multiprocessing.Process] = {}
    busy: dict[Connection, tuple[int, float]] = {}  # an item's index, and the time at which it is late
    results: dict[int, Result] = {}
    begun = 0
    try:
        for number in range(len(items)):
            while number not in results:
                while len(busy) < jobs and begun < len(items):
                    idle = next((worker for worker in workers if worker not in busy), None)
                    allowed = seconds if idle is not None else seconds + STARTING
                    idle = idle or _start_worker(start, workers)
                    busy[idle] = begun, time.monotonic() + allowed
                    _send_item(idle, items[begun])
                    begun += 1
                for done, late in _wait_for_workers(busy):
                    index, _ = busy.pop(done)
                    results[index] = _receive_result(done, workers, partial(lost, items[index]), late)
            yield results.pop(number)
    finally:
        for process in workers.values():
            process.terminate()
        for process in workers.values():
            process.join(PATIENCE)
            process.kill()


def _wait_for_workers(busy: dict[Connection, tuple[int, float]]) -> Iterator[tuple[Connection, bool]]:
    """Wait, and yield the workers that sent a result, died, or (True) are late."""
    first = min(late for _, late in busy.values())
    left = None if first == math.inf else max(first - time.monotonic(), 0)
    ready = wait(list(busy), left)
    for each, (_, late) in [*busy.items()]:
        if each in ready or late <= time.monotonic():
            yield each, each not in ready


def _receive_result(
    ready: Connection, workers: dict[Connection, multiprocessing.Process], lost: Callable[[bool], Result], late: bool
) -> Result:
    """Return the result that a worker sends; if it died or is late, remove it and return `lost(late)`."""
    if late:
        workers[ready].kill()
    else:
        with suppress(EOFError, OSError):
            result: Result = ready.recv()
            return result
    workers.pop(ready).join()
    return lost(late)


def _start_worker(start: Start[Item, Result], workers: dict[Connection, multiprocessing.Process]) -> Connection:
    """Start a process, add it to the workers, and return the connection to it."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_run_worker, args=(start, theirs), daemon=True)
    # Until the process is known, nothing may interrupt: it would be left alone. An interrupt from the keyboard reaches
    # all processes at once; this one ends the others, which keep SIGINT blocked.
    signal.pthread_sigmask(signal.SIG_BLOCK, signals.STOPPING)
    try:
        process.start()
        workers[ours] = process
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals.STOPPING)
    theirs.close()
    return ours


def _send_item(worker: Connection, item: object) -> None:
    """Send an item to a worker; that it has died shows when its result is received."""
    with suppress(OSError):
        worker.send(item)


def _run_worker(start: Start[Item, Result], connection: Connection) -> None:
    """Compute the results of items in a worker until nobody waits for more."""
    signals.install_handlers()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    function = start()
    with suppress(EOFError, BrokenPipeError):  # then nobody waits for more
        while True:
            connection.send(function(connection.recv()))
    signals.ignore_signals()
