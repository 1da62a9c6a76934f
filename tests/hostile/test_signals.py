"""Signals at any moment: no traceback, the right exit status, the old file or the new one."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import onnx.parser
import pytest

import opset
from opset.cli import signals
from tests.cli.commands import heed_interrupts

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(opset.__file__).parents[1])}
STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143}
SMALL = """<ir_version: 6, opset_import: ["": 11]>
    main (float[2, 3] x) => (float[2, 3] y) { r = Unsqueeze <axes = [0]> (x)  y = Squeeze <axes = [0]> (r) }"""


@pytest.fixture
def folder(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.onnx").write_bytes(onnx.parser.parse_model(SMALL).SerializeToString())
    return tmp_path


def start(*command, cwd=None, stdout=subprocess.PIPE):
    return subprocess.Popen(
        [sys.executable, *map(str, command)],
        cwd=cwd,
        env=ENVIRONMENT,
        preexec_fn=heed_interrupts,
        stdout=stdout,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    )


def ended(process, *statuses):
    _, stderr = process.communicate(timeout=60)
    assert process.returncode in statuses, (process.returncode, stderr)
    assert b"Traceback" not in stderr and b"Exception ignored" not in stderr, stderr.decode()
    return stderr


LEAVING = """
import atexit, sys, time
def leave():
    print("leaving", flush=True)
    time.sleep(0.5)
atexit.register(leave)
sys.argv = ["opset", "convert", "a.onnx", "--to", "21", "-q"]
from opset.cli import main
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGPIPE])
def test_a_signal_while_the_interpreter_leaves_changes_nothing(number, folder):
    process = start("-c", LEAVING, cwd=folder)
    process.stdout.readline()
    process.send_signal(number)
    assert ended(process, 0) == b""
    assert (folder / "a-opset21.onnx").exists()


FINALIZER = """
import time
from opset.cli import signals
signals.install_handlers()
class Closing:
    def __del__(self):
        print("closing", flush=True)
        time.sleep(0.3)
each = Closing()
del each
try:
    time.sleep(20)
finally:
    signals.ignore_signals()
"""


@pytest.mark.parametrize("number", STATUS)
def test_a_signal_within_a_finalizer_is_not_lost(number):
    process = start("-c", FINALIZER)
    process.stdout.readline()
    process.send_signal(number)
    assert ended(process, STATUS[number]) == b""


def test_other_exceptions_of_a_finalizer_are_reported_as_python_does(monkeypatch):
    reported = []
    monkeypatch.setattr(sys, "__unraisablehook__", reported.append)
    monkeypatch.setattr(sys, "unraisablehook", signals._report_unraisable)

    class Failing:
        def __del__(self):
            raise ValueError

    Failing()
    assert [each.exc_type for each in reported] == [ValueError]


def test_a_signal_that_python_hid_is_raised_again(monkeypatch):
    monkeypatch.setattr(signals, "_received", [])
    signals.raise_if_stopped()
    signals._received.append(signal.SIGTERM)
    with pytest.raises(signals.Stopped) as caught:
        signals.raise_if_stopped()
    assert caught.value.code == 143


@pytest.fixture
def handlers(monkeypatch):
    """The handlers of signals, and what is known of signals, which are restored after the test."""
    before = {number: signal.getsignal(number) for number in signals.STOPPING}
    monkeypatch.setattr(signals, "_received", [])
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("number", "ignored"), [signals.STOPPING, signals.STOPPING[::-1]])
def test_a_signal_is_an_exception_once_unless_the_caller_ignores_it(number, ignored, handlers, monkeypatch):
    signal.signal(number, signal.SIG_DFL)
    signal.signal(ignored, signal.SIG_IGN)
    signals.install_handlers()
    assert signal.getsignal(ignored) == signal.SIG_IGN and sys.unraisablehook == signals._report_unraisable
    for raised in (signal.raise_signal, lambda number: signals.raise_if_stopped()):
        with pytest.raises(signals.Stopped) as caught:
            raised(number)
        assert caught.value.code == STATUS[number] and signal.getsignal(number) == signal.SIG_DFL
    monkeypatch.setattr(signals, "_SHORTLY", 0.03)
    with pytest.raises(signals.Stopped) as again:  # as it could not be raised in a finalizer
        sys.unraisablehook(SimpleNamespace(exc_value=caught.value))
        timers = [each.daemon for each in threading.enumerate() if isinstance(each, threading.Timer)]
        time.sleep(20)
    assert timers == [True] and again.value.code == STATUS[number] and signal.getsignal(number) == signal.SIG_DFL
    signals.ignore_signals()
    assert {signal.getsignal(each) for each in signals.STOPPING} == {signal.SIG_IGN}


def test_two_signals_end_a_command_at_once(folder):
    os.mkfifo(folder / "pipe.onnx")
    process = start("-m", "opset", "convert", "pipe.onnx", "--to", "21", cwd=folder)
    with (folder / "pipe.onnx").open("wb"):  # opens when the other side does
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        ended(process, 130, -signal.SIGINT)


STARTED = """
import sys, threading, time
print("started", flush=True)
from opset.__main__ import main
main()
"""


@pytest.mark.parametrize("number", STATUS)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_signals_at_random_moments(number, jobs, folder):
    rng = random.Random(f"{number} {jobs}")
    command = [
        "-c",
        STARTED,
        "convert",
        "a.onnx",
        "b.onnx",
        "c.onnx",
        "--to",
        "21",
        "-o",
        "out/",
        "--force",
        "-j",
        jobs,
    ]
    ended(start("-m", "opset", "convert", "a.onnx", "--to", "21", "-o", "whole.onnx", cwd=folder), 0)
    whole = (folder / "whole.onnx").read_bytes()
    begun = time.monotonic()
    ended(start(*command, cwd=folder), 0)
    longest = time.monotonic() - begun
    for _ in range(3):
        process = start(*command, cwd=folder)
        process.stdout.readline()
        # SIGINT has its effect on Python until the first lines of ours have run.
        time.sleep(0.02 + rng.random() * longest)
        process.send_signal(number)
        ended(process, 0, STATUS[number], -number)
        written = [*(folder / "out").iterdir()] if (folder / "out").exists() else []
        assert all(path.read_bytes() == whole for path in written if path.suffix == ".onnx")
        assert process.returncode == -number or not [path for path in written if path.suffix == ".tmp"]


COMMANDS = {
    "--help": "stdout both",
    "convert --help": "stdout",
    "--version": "both",
    "list": "stdout stderr",
    "show Relu": "stdout",
    "explain C204": "both",
    "lint opset/schemas/ai.onnx.preview.training": "stdout",
    "diff Softmax 11 13": "stdout",
    "nonesuch": "stderr both",
    "show nope.onnx": "stderr",
}
"""Commands, and the streams whose reader goes away."""


@pytest.mark.parametrize("command", COMMANDS)
def test_readers_that_go_away(command):
    for stream in COMMANDS[command].split():
        reader, writer = os.pipe()
        os.close(reader)
        environment = {**ENVIRONMENT, "PYTHONUNBUFFERED": ""}
        process = subprocess.Popen(
            [sys.executable, "-m", "opset", *command.split()],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if stream == "stderr" else writer,
            stderr=subprocess.PIPE if stream == "stdout" else writer,
        )
        os.close(writer)
        _, stderr = process.communicate(timeout=60)
        assert process.returncode in (0, 2, 3, 141), (stream, process.returncode, stderr)
        assert b"Traceback" not in (stderr or b"") and b"Exception ignored" not in (stderr or b""), stderr
