"""Work in another process: what it gives, how it ends, and that nothing of it is left."""

import errno
import math
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import deque

import psutil
import pytest

from opset.budget import Budget, BudgetExceeded, Limits
from opset.cli import processes, supervision
from opset.cli.processes import _data_size, _Task, _wait_for_workers, run_as_they_come, run_in_processes
from opset.cli.supervision import GRACE, PATIENCE, NoResult, run_in_bounds, run_supervised
from opset.errors import Finding, ModelError, RunError

pytestmark = pytest.mark.skipif(not supervision.POSSIBLE, reason="processes are not copied here")
LATE = 0.01


def state():
    """The files that are open in this process, and the signals that it blocks."""
    return {*os.listdir("/proc/self/fd")}, signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.fixture(autouse=True)
def _nothing_is_left():
    (opened, mask), children = state(), _children()
    yield
    still_open, mask_after = state()
    assert still_open <= opened and mask_after == mask  # files of other tests are closed when Python collects them
    assert multiprocessing.active_children() == []
    assert _children() <= children  # other tests start the tracker of resources of multiprocessing, which stays


def _children():
    """The processes that this one has begun, also those that ended and were not waited for."""
    return {each.pid for each in psutil.Process().children()}


def ended(work, seconds=60.0):
    with pytest.raises(NoResult) as raised:
        run_supervised(work, seconds)
    return raised.value.late, raised.value.signal, raised.value.status


def raising(error):
    def work(*_):
        raise error

    return work


def test_what_the_work_returns():
    assert run_supervised(lambda: (1, "a", (2.5, None)), 60) == (1, "a", (2.5, None))
    assert len(run_supervised(lambda: "ab" * 2_000_000, math.inf)) == 4_000_000
    assert run_supervised(os.getpid, 60) != os.getpid()


def test_the_work_has_the_signals_of_this_process_and_an_alarm_of_its_own():
    blocked, alarm = run_supervised(
        lambda: (len(signal.pthread_sigmask(signal.SIG_BLOCK, [])), signal.getitimer(signal.ITIMER_REAL)[0]), 1000
    )
    assert blocked == len(state()[1])
    assert 1000 + GRACE < alarm <= 1000 + GRACE + PATIENCE


def test_a_warning_of_threads_is_not_shown_when_the_work_begins(monkeypatch):
    def fork(fork=os.fork):
        warnings.warn("this process is multi-threaded", DeprecationWarning, stacklevel=1)
        return fork()

    monkeypatch.setattr(os, "fork", fork)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run_supervised(lambda: 7, 60) == 7


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (BrokenPipeError(), 141, ""),
        (KeyboardInterrupt(), 130, ""),
        (SystemExit(3), 130, ""),
        (MemoryError(), 1, ""),
        (KeyError("such"), 70, "opset: internal error: KeyError: 'such' (test_supervision.py:"),
    ],
)
def test_how_the_work_fails(error, status, said, capfd):
    assert ended(raising(error)) == (False, 0, status)
    text = capfd.readouterr().err
    assert said in text and bool(said) == bool(text) and "Traceback" not in text


def test_results_that_cannot_be_sent_are_internal_errors(capfd):
    assert ended(threading.Lock) == (False, 0, 70)
    assert "internal error: TypeError" in capfd.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM])
def test_signals_that_end_the_work(number):
    def work():
        if number == signal.SIGHUP:
            signal.signal(number, signal.SIG_DFL)  # tests that nohup starts ignore it
        os.kill(os.getpid(), number)

    assert ended(work) == (False, number, -number)


def test_an_alarm_means_that_the_time_is_up():
    assert ended(lambda: os.kill(os.getpid(), signal.SIGALRM)) == (True, signal.SIGALRM, -signal.SIGALRM)


def test_work_that_takes_longer_is_ended_and_killed_if_it_goes_on():
    assert ended(lambda: time.sleep(60), LATE) == (True, signal.SIGTERM, -signal.SIGTERM)

    def deaf():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 0)
        time.sleep(60)

    assert ended(deaf, LATE) == (True, signal.SIGKILL, -signal.SIGKILL)


def test_where_no_process_can_be_made_the_work_is_done_here(monkeypatch):
    monkeypatch.setattr(os, "fork", raising(OSError(errno.EAGAIN, "no more processes")))
    assert run_supervised(os.getpid, 60) == os.getpid()


def test_work_in_bounds_has_one_budget():
    assert run_in_bounds(lambda budget: budget.max_steps, Limits(max_steps=3), 7) == 3
    for timeout, seconds in ((None, 7), (5, 5)):
        given = run_in_bounds(lambda budget: budget._timeout * 100 + budget.max_bytes, Limits(None, 4, timeout), 7)
        assert given == seconds * 100 + 4


@pytest.mark.parametrize("timeout", [None, 60])
def test_limits_that_are_reached_are_errors_of_a_run(timeout, capfd):
    def work(budget: Budget):
        raise BudgetExceeded("steps", "it may take 3 steps")

    if timeout is None:
        with pytest.raises(RunError, match="it may take 3 steps"):
            run_in_bounds(work, Limits(), 7)
    else:
        assert run_in_bounds(work, Limits(timeout=timeout), 7) == 1
        assert "error[R301]" in capfd.readouterr().err


def test_errors_of_the_work_are_written_there(capfd):
    error = ModelError(Finding("M101", "the file cannot be read"))
    assert run_in_bounds(raising(error), Limits(timeout=60), 7) == error.exit_status == 3
    assert capfd.readouterr().err.startswith("error[M101] the file cannot be read\n")
    with pytest.raises(ModelError):
        run_in_bounds(raising(error), Limits(), 7)


def test_what_is_printed_there_is_printed_once(capfd):
    print("before", end=" ")
    assert run_in_bounds(lambda budget: print("within", end=" ") or 4, Limits(timeout=60), 7) == 4
    print("after", end="")
    assert capfd.readouterr().out == "before within after"


# Several processes.


def started():
    def work(item):
        if item == "die":
            os._exit(3)
        if item == "sleep":
            time.sleep(600)
        return f"{item}!"

    return work


def lost(item, late):
    return item, late


@pytest.mark.parametrize("jobs", [1, 2, 9])
def test_results_are_in_the_order_of_the_items(jobs):
    items = ["a", "die", "b", "c", "die", "d"]
    found = [*run_in_processes(started, items, jobs, lost)]
    assert found == ["a!", ("die", False), "b!", "c!", ("die", False), "d!"]


def test_an_item_that_takes_too_long_is_lost():
    assert [*run_in_processes(started, ["a", "sleep", "b"], 1, lost, 0.5)] == ["a!", ("sleep", True), "b!"]


@pytest.mark.parametrize("tries", [1, 2, 3])
def test_an_item_is_lost_when_it_has_ended_so_many_processes(tries, tmp_path):
    def begin():
        def work(item):
            with open(tmp_path / item, "a") as begun:
                begun.write(".")
            return started()(item)

        return work

    found = dict(run_as_they_come(begin, ["a", "die", "b"], 1, lost, tries=tries))
    assert found == {0: "a!", 1: ("die", False), 2: "b!"}
    assert [(tmp_path / item).read_text() for item in ("a", "die", "b")] == [".", "." * tries, "."]


def test_closing_ends_all_processes():
    results = run_in_processes(started, ["a", "sleep", "sleep"], 3, lost)
    assert next(results) == "a!" and len(multiprocessing.active_children()) == 3
    results.close()


def child_that(handles):
    """Begin a child that waits for SIGTERM, and then exits after a moment if it handles the signal."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        if handles is not None:
            signal.signal(signal.SIGTERM, lambda *_: (time.sleep(handles), os._exit(3)))
        os.write(writer, b".")
        time.sleep(60)
        os._exit(4)
    os.read(reader, 1)
    os.close(reader)
    os.close(writer)
    return child


def test_a_child_is_asked_to_end_before_it_is_ended():
    assert supervision._end_child(child_that(None)) == -signal.SIGTERM
    assert supervision._end_child(child_that(LATE)) == 3
    child = os.fork()
    if not child:
        os._exit(5)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert supervision._end_child(child) == 5  # without a signal


def test_the_size_of_this_process():
    assert 0.9 < _data_size() / psutil.Process().memory_info().data < 1.1


ORPHAN = """
import os, signal, time
from opset.cli import processes
processes.signals.install_handlers = lambda: time.sleep(1)
processes._start_worker(lambda: abs, {}, 9, None)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_worker_ends_though_its_parent_was_killed_before_it_began():
    parent = subprocess.Popen([sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE)
    assert parent.communicate(timeout=300) == (b"", None)  # the worker has stdout, too, until it ends


@pytest.mark.parametrize(("most", "limit"), [(resource.RLIM_INFINITY, 1100), (5000, 1100), (500, 500)])
def test_the_memory_of_a_worker_is_limited_to_what_the_system_allows(most, limit, monkeypatch):
    limits = []
    monkeypatch.setattr(processes, "_data_size", lambda: 100)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (0, most))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, pair: limits.append((kind, pair)))
    assert processes._limit_memory(1000) == 100 and limits == [(resource.RLIMIT_DATA, (limit, most))]


def test_the_worker_that_is_late_first_is_waited_for():
    (first, _a), (second, _b) = multiprocessing.Pipe(), multiprocessing.Pipe()
    now = time.monotonic()
    busy = {second: deque([_Task(1, "b", now + 1)]), first: deque([_Task(0, "a", now - 1)])}
    assert [*_wait_for_workers(busy, 0.5)] == [(first, True)]


def test_a_worker_is_waited_for_until_it_is_late():
    worker, _other_end = multiprocessing.Pipe()
    assert [*_wait_for_workers({worker: deque([_Task(0, "a", time.monotonic())])}, LATE)] == [(worker, True)]
