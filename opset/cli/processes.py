"""Work in several processes: none outlives the command, and a crash of one does not end it."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import TypeVar

from opset.cli import signals

Item = TypeVar("Item")
Result = TypeVar("Result")
Start = Callable[[], Callable[[Item], Result]]

PATIENCE = 10.0
"""Seconds that a process has to remove its temporary files before it is killed."""


def spread(
    start: Start[Item, Result], items: Sequence[Item], jobs: int, lost: Callable[[Item], Result]
) -> Generator[Result, None, None]:
    """Return the result of every item, in order. Each process calls `start` once, which gives the function to call.

    `lost` gives the result of an item whose process died. Closing the generator ends all processes.
    """
    workers: dict[Connection, multiprocessing.Process] = {}
    busy: dict[Connection, int] = {}
    results: dict[int, Result] = {}
    begun = 0
    try:
        for number in range(len(items)):
            while number not in results:
                while len(busy) < jobs and begun < len(items):
                    idle = next((each for each in workers if each not in busy), None) or _begin(start, workers)
                    busy[idle] = begun
                    _send(idle, items[begun])
                    begun += 1
                for ready in wait(list(busy)):
                    assert isinstance(ready, Connection)
                    index = busy.pop(ready)
                    results[index] = _received(ready, workers, partial(lost, items[index]))
            yield results.pop(number)
    finally:
        for process in workers.values():
            process.terminate()
        for process in workers.values():
            process.join(PATIENCE)
            process.kill()


def _received(
    ready: Connection, workers: dict[Connection, multiprocessing.Process], lost: Callable[[], Result]
) -> Result:
    """Return what a process sends; if it died, `lost()`, and it is no longer among the workers."""
    try:
        result: Result = ready.recv()
    except (EOFError, OSError):
        workers.pop(ready).join()
        return lost()
    return result


def _begin(start: Start[Item, Result], workers: dict[Connection, multiprocessing.Process]) -> Connection:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_work, args=(start, theirs), daemon=True)
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


def _send(worker: Connection, item: object) -> None:
    try:
        worker.send(item)
    except OSError:
        return  # it died, which shows when its result is received


def _work(start: Start[Item, Result], connection: Connection) -> None:
    signals.heed()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    function = start()
    with suppress(EOFError, BrokenPipeError):  # then nobody waits for more
        while True:
            connection.send(function(connection.recv()))
    signals.ignore()
