"""Work in several processes: none outlives the command, and a crash of one does not end it."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from opset.cli import signals

Item = TypeVar("Item")
Result = TypeVar("Result")
Start = Callable[[], Callable[[Item], Result]]

STARTING = 10.0
"""Seconds that a process has beyond those of its first item to start."""
PATIENCE = 10.0
"""Seconds that a process has to remove its temporary files before it is killed."""
QUICK = 0.1
"""Seconds that an item takes at most if its process is to have another one at once."""
MOST_ITEMS = 5000
"""Items after which a process is replaced by a new one, which has nothing left of them in its memory."""


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
    results: dict[int, Result] = {}
    following = 0
    with closing(run_as_they_come(start, items, jobs, lost, seconds)) as computed:
        for index, result in computed:
            results[index] = result
            while following in results:
                yield results.pop(following)
                following += 1


def run_as_they_come(
    start: Start[Item, Result],
    items: Iterable[Item],
    jobs: int,
    lost: Callable[[Item, bool], Result],
    seconds: float = math.inf,
    tries: int = 1,
    memory: int | None = None,
    ahead: int = 1,
) -> Generator[tuple[int, Result], None, None]:
    """Yield the index and the result of every item as soon as it is known; closing the generator ends all processes.

    Items are taken when a process is free for them, so that there may be any number.

    Args:
        start: Returns the function that computes the result of an item; each process calls it once.
        items: The items, which are sent to processes.
        jobs: Number of processes.
        lost: Returns the result of an item whose process died, or, with True, was ended as it took too long.
        seconds: Time that an item may take.
        tries: The number of processes that an item may end before it is lost.
        memory: Bytes that a process may take for an item, beside what it has when it is idle.
        ahead: Small items that a quick process has at once, so that it need not wait for this one.
    """
    workers: dict[Connection, multiprocessing.Process] = {}
    busy: dict[Connection, deque[_Task[Item]]] = {}
    quick: set[Connection] = set()
    waiting = (_Task(index, item) for index, item in enumerate(items))
    again: list[_Task[Item]] = []

    def find_worker() -> Connection | None:
        """Return a worker that takes another item, None if there is none yet."""
        idle = next((worker for worker in workers if worker not in busy), None)
        if idle is None and len(workers) >= jobs:
            return next((worker for worker in quick if len(busy[worker]) < ahead), None)
        return idle

    def assign_tasks() -> None:
        while (worker := find_worker()) is not None or len(workers) < jobs:
            task = again.pop() if again else next(waiting, None)
            if task is None:
                return
            now = time.monotonic()
            if worker is None:
                worker, now = _start_worker(start, workers, seconds, memory), now + STARTING
            tasks = busy.setdefault(worker, deque())
            tasks.append(task if tasks else replace(task, begin=now))
            _send_item(worker, task.item)

    try:
        assign_tasks()
        while busy:
            done: list[tuple[int, Result]] = []
            for worker, late in [*_wait_for_workers(busy, seconds)]:
                task, *rest = busy.pop(worker)
                found = _receive_result(worker, workers, late)
                now = time.monotonic()
                if worker in workers and rest:
                    busy[worker] = deque([replace(rest[0], begin=now), *rest[1:]])
                else:
                    again += rest
                (quick.add if worker in workers and now - task.begin < QUICK else quick.discard)(worker)
                if found is not None:
                    done.append((task.index, found[0]))
                elif late or task.lost + 1 >= tries:
                    done.append((task.index, lost(task.item, late)))
                else:
                    again.append(replace(task, lost=task.lost + 1))
            assign_tasks()
            yield from done
    finally:
        for process in workers.values():
            process.terminate()
        for process in workers.values():
            process.join(PATIENCE)
            process.kill()


@dataclass(frozen=True)
class _Task(Generic[Item]):
    """An item with its index, the time at which its process began with it, and how many processes it ended."""

    index: int
    item: Item
    begin: float = 0
    lost: int = 0


def _wait_for_workers(
    busy: Mapping[Connection, deque[_Task[Item]]], seconds: float
) -> Iterator[tuple[Connection, bool]]:
    """Wait, and yield the workers that sent a result, died, or (True) are late."""
    late = min(tasks[0].begin for tasks in busy.values()) + seconds
    left = None if late == math.inf else max(late - time.monotonic(), 0)
    ready = wait(list(busy), left)
    for each, tasks in [*busy.items()]:
        if each in ready or tasks[0].begin + seconds <= time.monotonic():
            yield each, each not in ready


def _receive_result(ready: Connection, workers: dict[Connection, multiprocessing.Process], late: bool) -> Any:
    """Return the result that a worker sends, in a tuple; None if it died or is late, and is removed."""
    result = None
    if late:
        workers[ready].kill()
    else:
        with suppress(EOFError, OSError):
            *result, is_leaving = ready.recv()
            if not is_leaving:
                return result
    workers.pop(ready).join()
    ready.close()
    return result


def _start_worker(
    start: Start[Item, Result],
    workers: dict[Connection, multiprocessing.Process],
    seconds: float,
    memory: int | None,
) -> Connection:
    """Start a process, add it to the workers, and return the connection to it."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_run_worker, args=(start, theirs, seconds, memory), daemon=True)
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


def _run_worker(start: Start[Item, Result], connection: Connection, seconds: float, memory: int | None) -> None:
    """Compute the results of items in a worker until nobody waits for more, or until the worker has grown too much."""
    signals.install_handlers()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    function = start()
    idle = _limit_memory(memory) if memory is not None else 0
    computed = 0
    with suppress(EOFError, OSError):  # then nobody waits for more
        is_leaving = False
        while not is_leaving:
            result = function(connection.recv())
            computed += 1
            # What a model leaves behind in a worker counts against the next one.
            has_grown = memory is not None and _data_size() - idle > memory // 4
            is_leaving = computed >= MOST_ITEMS or has_grown
            connection.send((result, is_leaving))
    signals.ignore_signals()


def _leave_with_parent() -> None:
    """End this process when its parent has died, which happens without a word to it if the parent was killed.

    The parent may have died already, so that the number of the present one says nothing.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def _limit_memory(memory: int) -> int:
    """Let this process take so many bytes more than now, and return its size now."""
    import resource

    idle = _data_size()
    for kind in (resource.RLIMIT_DATA, resource.RLIMIT_AS) if not idle else (resource.RLIMIT_DATA,):
        _, most = resource.getrlimit(kind)
        wanted = idle + memory
        with suppress(ValueError, OSError):  # the system has no such limit
            resource.setrlimit(kind, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most))
    return idle


def _data_size() -> int:
    """Return the bytes of this process's own memory, 0 if the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0
