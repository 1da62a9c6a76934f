"""Work on models: failures become reports, batches of an executor are divided, lost processes are told."""

import pickle
import signal
from concurrent.futures import Future
from functools import partial
from types import SimpleNamespace

import pytest

from opset.budget import Limits
from opset.cli import working
from opset.cli.inputs import Input
from opset.cli.records import ModelReport, View
from opset.cli.supervision import NoResult, failure
from opset.cli.working import (
    LARGEST_BATCH,
    Job,
    Workshop,
    _take,
    _workers_of,
    open_executor,
    process_job,
    run_on_executor,
    yield_records,
)
from opset.errors import Finding, FindingList, UsageError


def work(job):
    return ModelReport(job.model.path, None, None, FindingList(), "clean", 0)


def start():
    return work


SHOP = Workshop(start, View(line=True), "it was not done", "C401", {"clean": "all right"}, 2.5, None)


def failing(error):
    def fail(job):
        raise error

    return process_job(fail, None, Job(Input("a"))), process_job(fail, 3 << 30, Job(Input("a")))


def test_errors_become_reports():
    assert process_job(work, None, Job(Input("a"))) == work(Job(Input("a")))
    for report in failing(UsageError(Finding("U103", "no"))):
        assert (report.input, report.status, report.exit_status, report.result, report.output) == (
            "a", "failed", 2, None, None)  # fmt: skip
        assert report.errors == [Finding("U103", "no", file="a")] and report.internal_error == ""
    for report in failing(KeyError("b")):
        assert (report.status, report.exit_status, report.errors) == ("failed", 70, [])
        assert report.internal_error.startswith("opset: internal error: KeyError: 'b'")
    first, second = failing(MemoryError())
    assert {(each.status, each.exit_status, each.errors[0].code) for each in (first, second)} == {("failed", 2, "U106")}
    assert first.errors[0].help.startswith("allow the process more") and first.errors[0].file == "a"
    assert (second.errors[0].why, second.errors[0].help) == ("it may take 3,072 MiB", "allow more: --max-memory")
    with pytest.raises(BrokenPipeError):
        failing(BrokenPipeError())


@pytest.mark.parametrize("late", [True, False])
def test_a_process_that_gives_no_result(late):
    report = SHOP.lost_report(Job(Input("a")), late)
    (finding,) = report.errors
    assert (report.input, report.status, report.result) == ("a", "failed", None)
    assert (finding.message, finding.file) == ("it was not done", "a")
    crashed = "the process that worked on it was killed or crashed, perhaps for want of memory"
    assert (report.exit_status, finding.code, finding.why) == (
        (1, "C401", "it may take 2.5 seconds") if late else (70, "U108", crashed)
    )
    assert finding.help.startswith("allow more: ") if late else finding.help == "use fewer processes: -j 1"
    assert SHOP.lost_record(Job(Input("a")), late).line.startswith(f"a: failed, {finding.code} it was not done")


@pytest.mark.parametrize(
    ("ended", "code", "words"),
    [
        (NoResult(True, 0), "R303", "it may take 3 seconds"),
        (NoResult(False, -signal.SIGKILL), "R302", "the system killed its process, as it does where memory is short"),
        (NoResult(False, -signal.SIGXCPU), "R303", "the system allows its process no more of the processor's time"),
        (NoResult(False, -signal.SIGSEGV), "R204", "it was ended by SIGSEGV"),
        (NoResult(False, 9), "R302", "its process ended with status 9 and no result"),
    ],
)
def test_how_an_evaluation_without_a_result_ended(ended, code, words):
    (finding,) = failure(ended, Limits(timeout=3)).findings
    assert (finding.code, finding.why) == (code, words)


class Killed(Exception):
    pass


KilledWorker = type("KilledWorker", (Exception,), {})


def test_one_model_at_a_time_is_worked_on_in_this_process():
    shop = SimpleNamespace(worker=lambda is_here: lambda job: (job, is_here))
    assert list(yield_records(shop, ["a", "b"], 2, 1, None, False)) == [(0, ("a", True)), (1, ("b", True))]


class Executor:
    """Runs tasks at once, and fails those with some models; `calls` has the models of each."""

    def __init__(self, error=Killed, *bad, workers=1):
        self.calls, self.error, self.bad, self._max_workers = [], error, bad, workers

    def submit(self, function, blob, jobs):
        names = [job.model.path for job in jobs]
        self.calls.append(names)
        future = Future()
        if any(name in self.bad for name in names):
            future.set_exception(self.error())
        else:
            future.set_result((0.0, function(blob, jobs)[1]))
        return future


def run_with(executor, count):
    jobs = [Job(Input(f"m{number}")) for number in range(count)]
    found = list(run_on_executor(SHOP, jobs, executor))
    assert sorted(index for index, _ in found) == [*range(count)]
    assert all(record.report.input == f"m{index}" for index, record in found)
    return {index: record.line for index, record in found}


def test_batches_grow_up_to_a_bound(monkeypatch):
    executor = Executor()
    lines = run_with(executor, 24)
    assert [len(each) for each in executor.calls] == [1, 1, 2, 4, 8, 8]
    assert lines[3] == "m3: all right" and LARGEST_BATCH == 2000
    monkeypatch.setattr(working, "LARGEST_BATCH", 3)
    executor = Executor()
    run_with(executor, 12)
    assert [len(each) for each in executor.calls] == [1, 1, 2, 3, 3, 2]


@pytest.mark.parametrize(("error", "tries"), [(Killed, 2), (KilledWorker, 1)])
def test_a_batch_that_fails_is_divided_until_the_model_is_known(error, tries):
    executor = Executor(error, "m5")
    lines = run_with(executor, 9)
    assert {index for index, line in lines.items() if "U108" in line} == {5}
    assert executor.calls.count(["m5"]) == tries
    assert all(each[::-1] != each or len(each) == 1 for each in executor.calls)


def test_an_executor_that_takes_no_tasks():
    def refuse(*arguments):
        raise RuntimeError("it is shut down")

    with pytest.raises(UsageError) as caught:
        list(run_on_executor(SHOP, [Job(Input("a"))], SimpleNamespace(submit=refuse)))
    (finding,) = caught.value.findings
    assert (finding.code, finding.message, finding.why) == ("U110", "the executor takes no tasks", "it is shut down")


def test_tasks_that_wait_are_canceled():
    futures = [Future(), Future()]
    waiting = iter(futures)
    futures[0].set_result((1.0, [SHOP.record(work(Job(Input("m0"))))]))
    executor = SimpleNamespace(submit=lambda *_: next(waiting), _max_workers=1)
    records = run_on_executor(SHOP, [Job(Input("m0")), Job(Input("m1"))], executor)
    assert next(records)[1].report.input == "m0"
    records.close()
    assert futures[1].cancelled()


def test_how_many_tasks_an_executor_runs_at_once(monkeypatch):
    monkeypatch.setattr(working.os, "cpu_count", lambda: 7)
    assert _workers_of(SimpleNamespace(ncores=lambda: {"a": 2, "b": 3})) == 5
    assert _workers_of(SimpleNamespace(ncores=dict)) == 1
    assert _workers_of(SimpleNamespace(_max_workers=3)) == 3 and _workers_of(object()) == 7
    monkeypatch.setattr(working.os, "cpu_count", lambda: None)
    assert _workers_of(object()) == 1


def test_what_is_an_executor():
    anything = object()
    assert open_executor(anything) is anything
    with pytest.raises(UsageError) as caught:
        open_executor("http://a")
    (finding,) = caught.value.findings
    assert (finding.code, finding.message, finding.help) == ("U103", "the executor is not known", "dask://HOST:PORT")
    numbered = enumerate("abc")
    assert [[*_take(numbered, size)] for size in (2, 2, 2)] == [[(0, "a"), (1, "b")], [(2, "c")], []]
    assert pickle.loads(pickle.dumps(partial(SHOP.worker, True)))()(Job(Input("a"))).line == "a: all right"
