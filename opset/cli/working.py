"""Work on one model, in this process, in a child that is ended in time, in worker processes, or on an executor."""

from __future__ import annotations

import os
import pickle
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

from opset.budget import ALLOW_MORE
from opset.cli import BROKEN_PIPE, INTERNAL, USAGE, output, signals, supervision
from opset.cli.inputs import STREAM, Input
from opset.cli.records import ModelReport, Record, View, make_record
from opset.errors import Finding, FindingList, OpsetError, UsageError

TRIES = 2
"""Processes that a model may end before it is set aside."""
AHEAD = 3
"""Models that a quick process has at once."""
BATCH_SECONDS = 1.0
"""Seconds that a task of an executor is to take: so long that handing it over counts for nothing."""
LARGEST_BATCH = 2000
WINDOW = 1000
"""Reports that wait for an earlier one."""
_CONNECT_SECONDS = 10.0
"""Seconds in which a scheduler has to answer."""
DASK = "dask://"


class Job(NamedTuple):
    """A model to work on; a file that was written since the time `since` is a result of an earlier attempt."""

    model: Input
    since: int = 0


class Workshop(NamedTuple):
    """All that a process needs to work on models; `start` returns the function that works on one.

    `undone` is the message about a model that was not finished, `late` the code of work that took too long, and `words`
    name each status.
    """

    start: Callable[[], Callable[[Job], ModelReport[Any]]]
    view: View
    undone: str
    late: str
    words: Mapping[str, str]
    timeout: float | None
    max_memory: int | None

    def record(self, report: ModelReport[Any]) -> Record:
        """Return the record of a report."""
        return make_record(report, self.view, self.words)

    def worker(self, supervised: bool) -> Callable[[Job], Record]:
        """Return the function that works on one model; `supervised`, in a child if its time is limited."""
        work = partial(process_job, self.start(), self.max_memory)
        if supervised and self.timeout is not None and supervision.POSSIBLE:
            work = partial(self._supervise, work)
        return lambda job: self.record(work(job))

    def _supervise(self, work: Callable[[Job], ModelReport[Any]], job: Job) -> ModelReport[Any]:
        """Return the report on one model, which is processed in a child that is ended when its time is up."""
        assert self.timeout is not None
        try:
            report: ModelReport[Any] = supervision.run_supervised(partial(work, job), self.timeout)
            return report
        except supervision.NoResult as ended:
            if ended.status == BROKEN_PIPE:
                raise BrokenPipeError from None
            return self.lost_report(job, ended.late)

    def lost_report(self, job: Job, late: bool) -> ModelReport[Any]:
        """Return the report on a model whose process died, or that took too long."""
        path = job.model.path
        if late:
            why = f"it may take {self.timeout:g} seconds"
            finding = Finding(self.late, self.undone, why=why, help=ALLOW_MORE, file=path)
            return _failure_report(path, FindingList([finding]), 1)
        why = "the process that worked on it was killed or crashed, perhaps for want of memory"
        finding = Finding("U108", self.undone, why=why, help="use fewer processes: -j 1", file=path)
        return _failure_report(path, FindingList([finding]), INTERNAL)

    def lost_record(self, job: Job, late: bool) -> Record:
        """Return the record of a model whose process died, or that took too long."""
        return self.record(self.lost_report(job, late))


def process_job(work: Callable[[Job], ModelReport[Any]], max_memory: int | None, job: Job) -> ModelReport[Any]:
    """Return the report on one model; errors become findings of the report."""
    path = job.model.path
    try:
        return work(job)
    except OpsetError as error:
        return _failure_report(path, error.finding_list.in_file(path), error.exit_status)
    except BrokenPipeError:
        raise
    except Exception as error:
        signals.raise_if_stopped()
        if (short := output.shortage(error)) is not None:
            if max_memory is not None:
                short = short._replace(why=f"it may take {max_memory >> 20:,} MiB", help="allow more: --max-memory")
            return _failure_report(path, FindingList([short]).in_file(path), USAGE)
        return _failure_report(path, FindingList(), INTERNAL, output.internal_error(error))


def _failure_report(path: str, findings: FindingList, exit_status: int, internal_error: str = "") -> ModelReport[Any]:
    """Return the report on a model that failed with these findings."""
    return ModelReport(path, None, None, findings, "failed", exit_status, internal_error)


def yield_records(
    shop: Workshop, jobs: Iterable[Job], number: int, processes: int, executor: Any, isolated: bool
) -> Generator[tuple[int, Record], None, None]:
    """Yield the index and the record of each of a number of models, as soon as it is known.

    Args:
        processes: How many models are worked on at once.
        executor: Something with `submit`, a URL of a Dask scheduler, or None for processes of this machine.
        isolated: Whether models are worked on in other processes even if there is only one of these at a time.
    """
    if executor is not None:
        yield from run_on_executor(shop, jobs, open_executor(executor))
    elif number and (isolated or min(processes, number) > 1):
        from opset.cli.processes import run_as_they_come

        seconds = float("inf") if shop.timeout is None else shop.timeout + supervision.GRACE
        start = partial(shop.worker, False)
        yield from run_as_they_come(start, jobs, processes, shop.lost_record, seconds, TRIES, shop.max_memory, AHEAD)
    else:
        yield from enumerate(map(shop.worker(True), jobs))


def in_order(results: Iterable[tuple[int, Record]]) -> Iterator[tuple[int, Record]]:
    """Yield records in order; one that is missing is passed over when more than WINDOW later ones wait for it."""
    waiting: dict[int, Record] = {}
    following = 0
    for index, record in results:
        if index < following:
            yield index, record
            continue
        waiting[index] = record
        if following not in waiting and len(waiting) > WINDOW:
            following = min(waiting)
        while following in waiting:
            yield following, waiting.pop(following)
            following += 1
    yield from sorted(waiting.items())


def open_executor(executor: Any) -> Any:
    """Return something with `submit`; raise UsageError U110 if a URL leads to no Dask scheduler, U103 for others."""
    if not isinstance(executor, str):
        return executor
    if not executor.startswith(DASK):
        raise UsageError(Finding("U103", "the executor is not known", help="dask://HOST:PORT"))
    try:
        from distributed import Client
    except ImportError:
        help = "pip install 'opset[dask]'"
        raise UsageError(Finding("U110", "Dask is not installed", help=help)) from None
    address = executor.removeprefix(DASK)
    try:
        return Client(f"tcp://{address}", timeout=_CONNECT_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        why = str(error) or "it does not answer"
        help = "start it (dask scheduler), and give its address: dask://HOST:8786"
        raise UsageError(Finding("U110", f"there is no Dask scheduler at {address}", why=why, help=help)) from error


def run_on_executor(shop: Workshop, jobs: Iterable[Job], executor: Any) -> Generator[tuple[int, Record], None, None]:
    """Yield the index and the record of each model, which tasks of an executor compute, in batches of about a second.

    A batch that fails is divided, so that in the end the one model is known that ends its process. Tasks that wait when
    the iteration ends are canceled.

    Raises UsageError U110 if the executor takes no tasks.
    """
    from queue import SimpleQueue  # few calls have an executor

    blob = pickle.dumps(partial(shop.worker, True))
    done: SimpleQueue[Any] = SimpleQueue()
    running: dict[int, tuple[Any, list[tuple[int, Job]], int]] = {}
    again: deque[tuple[list[tuple[int, Job]], int]] = deque()
    numbered = enumerate(jobs)
    size = 1
    tasks = 0

    def submit() -> bool:
        nonlocal tasks
        batch, tries = again.popleft() if again else ([*_take(numbered, size)], 0)
        if not batch:
            return False
        tasks += 1
        try:
            future = executor.submit(run_batch, blob, [job for _, job in batch])
        except RuntimeError as error:  # it was shut down, or one of its processes died, and it replaces none
            help = "use an executor that is open; without one, processes that die are replaced"
            raise UsageError(Finding("U110", "the executor takes no tasks", why=str(error), help=help)) from error
        running[tasks] = future, batch, tries + 1
        future.add_done_callback(lambda _, number=tasks: done.put(number))
        return True

    most = 2 * _workers_of(executor)
    try:
        while True:
            while len(running) < most and submit():
                pass
            if not running:
                return
            future, batch, tries = running.pop(done.get())
            try:
                seconds, records = future.result()
            except Exception as error:
                signals.raise_if_stopped()
                if len(batch) > 1:
                    middle = len(batch) // 2
                    again += [(batch[:middle], 0), (batch[middle:], 0)]
                elif tries < TRIES and not _is_dead(error):
                    again.append((batch, tries))
                else:
                    yield batch[0][0], shop.lost_record(batch[0][1], False)
                continue
            size = max(1, min(LARGEST_BATCH, int(len(batch) * BATCH_SECONDS / max(seconds, 1e-6)), 2 * size))
            yield from zip((index for index, _ in batch), records, strict=True)
    finally:
        for future, _, _ in running.values():
            future.cancel()


def _is_dead(error: Exception) -> bool:
    """Whether an executor has tried a task several times."""
    return type(error).__name__ == "KilledWorker"


def _take(numbered: Iterator[tuple[int, Job]], size: int) -> Iterator[tuple[int, Job]]:
    for _ in range(size):
        item = next(numbered, None)
        if item is None:
            return
        yield item


def _workers_of(executor: Any) -> int:
    """Return how many tasks an executor runs at once, as far as it says."""
    if hasattr(executor, "ncores"):
        return max(sum(map(int, executor.ncores().values())), 1)
    return int(getattr(executor, "_max_workers", None) or os.cpu_count() or 1)


def run_batch(blob: bytes, jobs: Sequence[Job]) -> tuple[float, list[Record]]:
    """Return the seconds that work on models took in a process of an executor, and the records."""
    work = _load_work(blob)
    begin = time.monotonic()
    records = [*map(work, jobs)]
    return time.monotonic() - begin, records


@cache
def _load_work(blob: bytes) -> Callable[[Job], Record]:
    """Return the function that works on one model; a process starts it once."""
    work: Callable[[Job], Record] = pickle.loads(blob)()
    return work


def has_stream(models: Iterable[Input]) -> bool:
    """Whether a model comes from stdin, which other processes do not have."""
    return any(model.path == STREAM for model in models)
