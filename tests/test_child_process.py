"""Processes that work for this one: what they print and answer is read, how they end is told, none stays."""

import os
import select
import signal
import time

import psutil
import pytest

from opset.child_process import TAIL, ChildProcess, environment_without_folder


def ended(process):
    """Wait for the end of a process, and of what it has to say; return its status."""
    deadline = time.monotonic() + 60
    while (status := process.status()) is None or [*process.poll_events()]:
        assert time.monotonic() < deadline
        poll = select.poll()
        for descriptor, events in process.poll_events():
            poll.register(descriptor, events)
        poll.poll(10)
    return status


def shell(text, memory=None, serves=False, **more):
    return ChildProcess(["/bin/sh", "-c", text], memory, serves=serves, **more)


@pytest.mark.parametrize(
    ("text", "status", "printed"),
    [
        ("exit 0", 0, ""),
        ("echo out; echo error >&2; exit 3", 3, "out\nerror"),
        ("kill -TERM $$", -signal.SIGTERM, ""),
        ("printf '\\377'", 0, "\ufffd"),
        (f"printf a; printf '%0{TAIL}d' 7", 0, "7".rjust(TAIL, "0")),
        ("cat", 0, ""),  # there is nothing to read
    ],
)
def test_the_status_and_the_end_of_the_output_are_kept(text, status, printed):
    process = shell(text)
    try:
        assert (ended(process), process.last_output()) == (status, printed)
    finally:
        process.end()


def test_a_worker_is_sent_bytes_and_answers_on_a_descriptor_of_its_own():
    process = shell(
        "cat > /dev/fd/$OPSET_ANSWERS; echo $OMP_NUM_THREADS $X",
        serves=True,
        environment={"X": "y", "PATH": "/bin:/usr/bin"},
    )
    try:
        data = b"x" * 300_000  # more than a pipe holds
        process.send(data)
        deadline = time.monotonic() + 60
        while len(process.answered) < len(data) and time.monotonic() < deadline:
            assert process.status() is None
        assert process.answered == data and process.last_output() == ""
        process._process.stdin.close()
        assert ended(process) == 0 and process.last_output() == "1 y"
    finally:
        process.end()


def test_what_a_process_started_ends_with_it(tmp_path):
    process = shell(f"sleep 60 & echo $! > {tmp_path}/pid; mv {tmp_path}/pid {tmp_path}/ready; wait")
    while not (tmp_path / "ready").exists():
        assert process.status() is None
    pid = int((tmp_path / "ready").read_text())
    os.kill(pid, 0)
    process.end()
    assert process.status() == -signal.SIGKILL
    deadline = time.monotonic() + 60
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
    assert [*process.poll_events()] == []


def test_the_size_of_files_and_the_memory_are_limited():
    process = shell("ulimit -c; ulimit -f; ulimit -v", 1 << 32)
    try:
        ended(process)
        core, size, memory = map(int, process.last_output().split())
        assert (core, memory) == (0, (1 << 32) // 1024) and size in ((1 << 30) // 512, (1 << 30) // 1024)
    finally:
        process.end()


def test_a_command_that_does_not_exist_leaves_nothing_open():
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match="nowhere"):
        ChildProcess(["/nowhere"], None, serves=True)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, None),
        ("", None),
        (".", None),
        ("{here}", None),
        ("/usr:relative:{here}:/tmp/x", "/usr:/tmp/x"),
        ("{link}", None),
    ],
)
def test_nothing_is_imported_from_the_working_folder(tmp_path, monkeypatch, given, kept):
    (tmp_path / "here").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    if given is not None:
        monkeypatch.setenv("PYTHONPATH", given.format(here=tmp_path / "here", link=tmp_path / "link"))
    found = environment_without_folder()
    assert found.get("PYTHONPATH") == kept and found["PYTHONSAFEPATH"] == "1" and found["PATH"] == os.environ["PATH"]
