"""The command line as a process: streams, signals, pipes that close, time to start."""

import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import opset
from tests.cli.commands import SMALL, heed_interrupts, save, version

# Streams have buffers, as they have for users, so that what could not be written is flushed once more at the end.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(opset.__file__).parents[1]), "PYTHONUNBUFFERED": ""}
COMMAND = [sys.executable, "-m", "opset"]


def process(*arguments, **also):
    also = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **also}
    also.setdefault("preexec_fn", heed_interrupts)
    return subprocess.Popen([*COMMAND, *map(str, arguments)], env=ENVIRONMENT, **also)


def finish(started, data=None):
    stdout, stderr = started.communicate(data, timeout=600)
    assert b"Traceback" not in (stderr or b"") and b"Exception ignored" not in (stderr or b"")
    return started.returncode, stdout, (stderr or b"").decode()


def wait_until(condition):
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_pipe_of_two(small, folder):
    first = process("convert", "-", "--to", 21, stdin=subprocess.PIPE)
    status, data, stderr = finish(first, small.read_bytes())
    assert (status, stderr.splitlines()[0]) == (0, "stdin: ai.onnx 11 -> 21, IR version 6")
    second = process("convert", "-", "--to", 11, "-o", "back.onnx", stdin=subprocess.PIPE)
    assert finish(second, data)[0] == 0
    assert version("back.onnx") == 11


def test_statuses_of_the_process(small, refused):
    for arguments, expected in (
        (["convert", "small.onnx", "--to", 21], 0),
        (["convert", "refused.onnx", "--to", 12], 1),
        (["convert", "small.onnx"], 2),
        (["convert", "nope.onnx", "--to", 21], 3),
        (["nonesuch"], 2),
    ):
        status, stdout, stderr = finish(process(*arguments))
        assert status == expected
        assert bool(stdout) == (expected == 0) and bool(stderr) == (expected != 0)


@pytest.mark.parametrize(
    ("shell", "expected"),
    [
        ("{} infer - <&-", 3),
        ("{} infer small.onnx >&-", 2),
        ("{} convert small.onnx --to 21 -o - >&-", 2),
        ("{} list >&-", 2),
        ("{} infer small.onnx -q >&-", 0),
        ("{} infer small.onnx 2>&-", 0),
    ],
)
def test_streams_that_are_closed(shell, expected, small):
    started = subprocess.Popen(
        shell.format(shlex.join(COMMAND)), shell=True, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    status, _, stderr = finish(started)
    assert status == expected
    assert stderr.startswith("error[" if expected else "")
    assert "internal" not in stderr


@pytest.mark.parametrize(
    ("arguments", "stream"),
    [
        (["list"], "stdout"),
        (["convert", "small.onnx", "--to", "21", "-o", "-"], "stdout"),
        (["show", "Nonesuch"], "stderr"),
    ],
)
def test_a_reader_that_goes_away_is_no_error(arguments, stream, small):
    reader, writer = os.pipe()
    os.close(reader)
    started = process(*arguments, **{stream: writer})
    os.close(writer)
    status, _, stderr = finish(started)
    assert status == 141 and "error" not in stderr


@pytest.mark.parametrize("arguments", [["list"], ["convert", "small.onnx", "--to", "21", "-o", "-"]])
def test_a_full_disk_behind_stdout(arguments, small):
    with open("/dev/full", "wb") as full:
        status, _, stderr = finish(process(*arguments, stdout=full))
    assert status == 2 and "error[U104]" in stderr and "No space left" in stderr


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_reading(number, expected, folder):
    os.mkfifo("pipe.onnx")
    started = process("convert", "pipe.onnx", "--to", 21, "-o", "out.onnx")
    with open("pipe.onnx", "wb") as pipe:  # opens when the other side does
        pipe.write(b"\x08\x08")
        pipe.flush()
        time.sleep(0.05)
        started.send_signal(number)
        assert finish(started)[0] == expected
    assert os.listdir(folder) == ["pipe.onnx"]


SLOW = r"""
import multiprocessing, os, time
multiprocessing.set_start_method("fork")  # so that workers find what is replaced here
from opset.cli import main

def flush_slowly(descriptor):
    os.write(1, b"%d\n" % os.getpid())
    for _ in range(3000):
        time.sleep(0.01)  # one long sleep would not end if a signal came just before it

os.fsync = flush_slowly
main()
"""


def convert_slowly(*arguments):
    """Start a conversion on a disk that takes long; each process that writes prints its id."""
    return subprocess.Popen(
        [sys.executable, "-c", SLOW, "convert", *arguments, "--to", "21"],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=heed_interrupts,
    )


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_signal_while_writing_leaves_no_file(number, expected, jobs, folder):
    names = ["a.onnx", "b.onnx", "c.onnx", "d.onnx", "e.onnx", "f.onnx"]
    for name in names:
        save(name, SMALL, folder)
    started = convert_slowly(*names, "-j", str(jobs))
    wait_until(lambda: len([name for name in os.listdir(folder) if name.endswith(".tmp")]) == jobs)
    started.send_signal(number)
    assert finish(started)[0] == expected
    wait_until(lambda: sorted(os.listdir(folder)) == names)


def test_a_worker_that_dies_is_reported(folder):
    save("a.onnx", SMALL, folder)
    save("b.onnx", SMALL, folder)
    started = convert_slowly("a.onnx", "b.onnx", "-j", "2")
    for worker in (started.stdout.readline() for _ in range(4)):  # each model twice
        with suppress(ProcessLookupError):  # where the other one ends, so may this one
            os.kill(int(worker), signal.SIGKILL)
    status, _, stderr = finish(started)
    assert status == 70
    assert stderr.count("error[U108] the model was not converted") == 2


def test_output_that_the_terminal_cannot_show_is_escaped(folder):
    save("größe.onnx", SMALL, folder)
    started = subprocess.Popen(
        [*COMMAND, "convert", "größe.onnx", "--to", "21"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**ENVIRONMENT, "PYTHONIOENCODING": "ascii"},
    )
    status, stdout, _ = finish(started)
    assert status == 0 and stdout.startswith(rb"gr\xf6\xdfe.onnx: ai.onnx 11 -> 21")
