"""Runs jobs in processes that may crash, hang or take too much memory, several at once."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

__all__ = ["Died", "each", "started"]

Job = TypeVar("Job")
Result = TypeVar("Result")
Stages = Generator[str, None, Result]
"""What a job is: it gives a name for each stage before that begins, and the result at its end."""


@dataclass(frozen=True)
class Died:
    """A job that has no result: the stage in which its process died or was stopped, and why."""

    stage: str
    why: str


def started(context: Any, target: Callable[..., None], *arguments: Any) -> tuple[Connection, Any]:
    """Return the end of a pipe and a process that runs `target` with the other end and these arguments."""
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs, *arguments), daemon=True)
    process.start()
    theirs.close()
    return ours, process


def serve(pipe: Connection, function: Callable[[Any], Stages[Any]], memory: int) -> None:
    """Do the jobs that come through the pipe; send the stages of each, and its result."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    while True:
        stages = function(pipe.recv())
        while True:
            try:
                pipe.send((False, next(stages)))
            except StopIteration as end:
                pipe.send((True, end.value))
                break


def each(
    function: Callable[[Job], Stages[Result]],
    jobs: Iterable[Job],
    processes: int = 1,
    seconds: float = 60,
    memory: int = 8 << 30,
    lifetime: int | None = None,
) -> Iterator[tuple[Job, Result | Died]]:
    """Every job with its result, as they are done; a process that dies, or takes `seconds` for a job, is replaced.

    `memory` is how many bytes of addresses a process may have, and `lifetime` how many jobs it does before another one
    takes its place: for libraries that keep threads or memory.
    """
    context = multiprocessing.get_context("fork")
    coming = iter(jobs)
    counts: Counter[Connection] = Counter()
    idle: list[tuple[Connection, Any]] = []
    busy: dict[Connection, tuple[Any, Job, float, str]] = {}

    try:
        while True:
            while len(busy) < processes and (job := next(coming, None)) is not None:
                pipe, process = idle.pop() if idle else started(context, serve, function, memory)
                pipe.send(job)
                counts[pipe] += 1
                busy[pipe] = (process, job, time.monotonic(), "")
            if not busy:
                return
            ready = wait(list(busy), timeout=1)
            for pipe in list(busy):
                process, job, since, stage = busy[pipe]
                late = time.monotonic() - since > seconds
                if pipe not in ready and not late:
                    continue
                try:
                    if pipe not in ready:
                        raise EOFError
                    done, content = pipe.recv()
                except (EOFError, ConnectionError):
                    process.kill()
                    process.join()
                    del busy[pipe]
                    yield job, Died(stage, f"no end in {seconds:g} s" if late else f"exit status {process.exitcode}")
                    continue
                if done:
                    del busy[pipe]
                    if lifetime and counts[pipe] >= lifetime:
                        process.kill()
                        process.join()
                    else:
                        idle.append((pipe, process))
                    yield job, content
                else:
                    busy[pipe] = (process, job, since, content)
    finally:
        for _, process in idle:
            process.kill()
        for process, *_ in busy.values():
            process.kill()
