"""Runtimes that crash, hang, print rubbish or leave processes behind: each case has its result, and nothing is left."""

import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import opset
from opset import child_process
from opset.child_process import death_text
from opset.errors import UsageError
from opset.reference.value_info import ValueInfo
from opset.workflow.conformance import runtimes
from opset.workflow.conformance.runtimes import (
    Request,
    TestedRuntime,
    _decode_value,
    _take_message,
    find_runtime,
    run_requests,
)

PYTHON = (sys.executable, "-I", "-S")
OUTPUTS = [ValueInfo("y", "tensor(string)", None)]

# A worker that does what the text in its input says. It answers with the number of cases that it has had.
WORKER = r"""
import json, os, signal, struct, subprocess, sys, time
LENGTHS = struct.Struct(">II")
descriptor = int(os.environ["OPSET_ANSWERS"])
answers = os.fdopen(descriptor, "wb")

def send(header, data=b""):
    text = json.dumps(header).encode()
    answers.write(LENGTHS.pack(len(text), len(data)) + text + data)
    answers.flush()

send({"version": "1.2"})
count = 0
while head := sys.stdin.buffer.read(8):
    header, data = LENGTHS.unpack(head)
    request = json.loads(sys.stdin.buffer.read(header))
    sys.stdin.buffer.read(data)
    word = request["inputs"][0][1]["text"][0]
    count += 1
    match word.split():
        case ["crash"]:
            print("falling over", flush=True)
            os.kill(os.getpid(), signal.SIGSEGV)
        case ["crash", "later"] if count > 1:
            os.abort()
        case ["leave"]:
            sys.exit(0)
        case ["hang"]:
            time.sleep(60)
        case ["rubbish"]:
            answers.write(b"what is this, and why does it not end")
            answers.flush()
            time.sleep(60)
        case ["nonsense"]:
            send({"outputs": [{"tensor": 1, "shape": [10**12], "at": [0, 8]}]})
        case ["half"]:
            answers.write(LENGTHS.pack(100, 100) + b"{")
            answers.flush()
            sys.exit(0)
        case ["chatter"]:
            for _ in range(200):
                os.write(1, b"x" * 65536)
            send({"refused": "too much to say"})
        case ["child", path]:
            child = subprocess.Popen(["sleep", "60"], close_fds=False, pass_fds=[descriptor])
            open(path, "w").write(str(child.pid))
            os._exit(3)
        case _:
            text = {"tensor": 8, "shape": [1], "text": [f"{word} {count}"]}
            send({"outputs": [text]})
"""


@pytest.fixture
def worker(tmp_path):
    path = tmp_path / "worker.py"
    path.write_text(WORKER)
    return TestedRuntime("fake", (*PYTHON, str(path)), True, 4)


def asked(runtime, *words, jobs=1, folder=""):
    requests = [
        (number, Request(b"", {"x": np.array([word], object)}, OUTPUTS, word, folder))
        for number, word in enumerate(words)
    ]
    found = dict(run_requests(runtime, requests, jobs))
    return [found[number] for number in range(len(words))]


def is_gone(pid):
    for _ in range(100):
        with suppress(FileNotFoundError), open(f"/proc/{pid}/stat") as file:
            if file.read().rpartition(")")[2].split()[0] != "Z":
                time.sleep(0.02)
                continue
        return True
    return False


def test_a_worker_that_dies_or_hangs_is_replaced_and_the_run_goes_on(worker):
    words = ["one", "crash", "leave", "hang", "rubbish", "nonsense", "half", "chatter", "two"]
    found = asked(worker, *words, jobs=3)
    kinds = "done crash crash timeout crash crash crash refused done".split()
    assert [each.kind for each in found] == kinds
    assert found[1].why.startswith("ended by SIGSEGV: falling over")
    assert found[2].why.startswith("exit status 0")
    assert found[3].why == "no answer in 4 s"
    assert found[4].why.startswith("its answer cannot be read: it has")
    assert found[7].why == "too much to say"
    assert [each.outputs[0].tolist()[0].split()[0] for each in (found[0], found[-1])] == ["one", "two"]


def test_many_cases_are_run_by_one_process(worker):
    assert [each.outputs[0].tolist() for each in asked(worker, "a", "b", "c")] == [["a 1"], ["b 2"], ["c 3"]]


def test_a_crash_after_other_cases_is_one_though_the_case_alone_does_not_crash(worker):
    found = asked(worker, "one", "crash later", "two")
    assert [each.kind for each in found] == ["done", "crash", "done"]
    assert "ended by SIGABRT" in found[1].why and "by itself, the case does not end so, but is done" in found[1].why


def test_a_process_that_a_worker_started_does_not_hold_up_the_run_and_is_ended(worker, tmp_path):
    found = asked(worker, f"child {tmp_path / 'pid'}", "two")
    assert [each.kind for each in found] == ["crash", "done"] and "exit status 3" in found[0].why
    assert is_gone((tmp_path / "pid").read_text())


def test_closing_ends_all_processes(worker, tmp_path):
    before = children()
    requests = [(0, Request(b"", {"x": np.array(["one"], object)}, OUTPUTS, "", ""))] * 2
    running = run_requests(worker, requests)
    next(running)
    (pid,) = children() - before
    running.close()
    assert is_gone(pid)


def test_a_process_ends_where_this_one_is_killed(tmp_path):
    code = """if True:
        import os, signal, sys
        from opset.child_process import ChildProcess
        process = ChildProcess(["sleep", "60"], None, serves=False)
        print(process._process.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == -9 and is_gone(done.stdout.strip())


def children():
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return {*file.read().split()}


SCRIPT = r"""
import os, signal, subprocess, sys, time
word, inputs, outputs = sys.argv[1:]
match word.split():
    case ["unsupported"]:
        print("no such operator")
        sys.exit(77)
    case ["fails"]:
        sys.exit("it fails")
    case ["crash"]:
        os.abort()
    case ["hang", path]:
        child = subprocess.Popen(["sleep", "60"])
        open(path, "w").write(str(child.pid))
        time.sleep(60)
    case ["rubbish"]:
        open(f"{outputs}/output_0.pb", "wb").write(b"\xff" * 100)
    case ["chatter"]:
        for _ in range(200):
            os.write(2, b"y" * 65536)
        sys.exit(1)
    case ["daemon", path]:
        child = subprocess.Popen(["sleep", "60"])  # holds stdout and stderr
        open(path, "w").write(str(child.pid))
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    path = tmp_path / "program.py"
    path.write_text(SCRIPT)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    yield TestedRuntime("fake", (*PYTHON, str(path)), False, 5)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_command_may_do_anything(program, tmp_path):
    pids = [tmp_path / "hung", tmp_path / "daemon"]
    words = ["unsupported", "fails", "crash", f"hang {pids[0]}", "rubbish", "chatter", "nothing", f"daemon {pids[1]}"]
    found = asked(program, *words, jobs=2)
    kinds = "refused error crash timeout error error error error".split()
    assert [each.kind for each in found] == kinds
    assert found[0].why == "no such operator" and found[1].why == "exit status 1: it fails"
    assert found[2].why == "ended by SIGABRT" and found[3].why == "no end in 5 s"
    assert found[4].why.startswith("its outputs cannot be read: ") and len(found[5].why) < 4100
    assert "there is no output_0.pb in it" in found[6].why
    assert all(is_gone(path.read_text()) for path in pids)


def test_memory_is_limited(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        try:
            bytearray(1 << 40)
        except MemoryError:
            raise SystemExit("there is not enough memory")
    """)
    )
    (found,) = asked(TestedRuntime("fake", (*PYTHON, str(program)), False, 5, 1 << 30), "x")
    assert found.why == "exit status 1: there is not enough memory"


@pytest.mark.parametrize("memory", [1 << 30, None])
def test_what_a_process_may_take_and_where_it_prints(tmp_path, memory):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import os, resource, signal, sys
        limits = [resource.getrlimit(getattr(resource, f"RLIMIT_{each}"))[0] for each in ("CORE", "FSIZE", "AS")]
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        raise SystemExit(f"{limits} {len(blocked)} {os.getsid(0) == os.getpid()} {sys.stdin.read()!r}")
    """)
    )
    (found,) = asked(TestedRuntime("fake", (*PYTHON, str(program)), False, 30, memory), "x")
    unlimited = resource.getrlimit(resource.RLIMIT_AS)[0]
    assert found.why == f"exit status 1: {[0, 1 << 30, memory or unlimited]} 0 True ''"


def test_a_worker_has_one_thread_and_knows_where_to_answer(monkeypatch):
    monkeypatch.setattr("os.environ", {"HOME": "/home", "OMP_NUM_THREADS": "8"})
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    assert child_process._settings(7) == {**threads, "OPSET_ANSWERS": "7"}


@pytest.mark.parametrize(
    ("status", "words", "how"),
    [
        (3, "no", "exit status 3: no"),
        (0, "", "exit status 0"),
        (-6, "", "ended by SIGABRT"),
        (-63, "no", "ended by signal 63: no"),
    ],
)
def test_how_a_process_died(status, words, how):
    assert death_text(status, words) == how


def message(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return bytearray(struct.pack(">II", len(text), len(data)) + text + data)


def test_a_message_is_read_once_it_is_complete(monkeypatch):
    whole = message({"a": 1}, b"xyz")
    for length in (0, 7, 8, len(whole) - 1):
        part = whole[:length]
        assert _take_message(part) is None and len(part) == length
    assert _take_message(whole) == ({"a": 1}, b"xyz") and not whole
    assert _take_message(message({})) == ({}, b"")
    for wrong in (message([]), message({}) + b"x", message(b"{")):
        with pytest.raises(ValueError):
            _take_message(wrong)
    monkeypatch.setattr(runtimes, "MOST", 20)
    assert _take_message(message({}, bytes(10))) == ({}, bytes(10))
    with pytest.raises(ValueError, match="it has 21 bytes, and at most 20 are read"):
        _take_message(message({}, bytes(11)))


def test_values_of_an_answer():
    data = np.array([1, 2, 3], np.float32).tobytes()
    tensor = {"tensor": 1, "shape": [2], "at": [4, 12]}
    scalar = {"tensor": 1, "shape": [], "at": [8, 12]}
    assert _decode_value(tensor, data).tolist() == [2.0, 3.0]
    assert [each.tolist() for each in _decode_value({"sequence": [tensor, scalar]}, data)] == [[2.0, 3.0], 3.0]
    numbers = _decode_value({"map": [["a", scalar], ["b", {"number": 2}], ["c", {"number": 0.5}], ["d", tensor]]}, data)
    assert [type(each).__name__ for each in numbers.values()] == ["float32", "int", "float", "ndarray"]
    assert [numbers["a"], numbers["b"], numbers["c"]] == [3.0, 2, 0.5]
    assert _decode_value({"nothing": True}, data) is None
    assert _decode_value({"tensor": 8, "shape": [1], "text": ["\udcff\u00e4"]}, b"").tolist() == [b"\xff\xc3\xa4"]
    deep = scalar
    for _ in range(16):
        deep = {"sequence": [deep]}
    assert _decode_value(deep, data) is not None
    with pytest.raises(ValueError, match="it is nested too deeply"):
        _decode_value({"sequence": [deep]}, data)


def test_which_runtime_is_named():
    memory = runtimes.MEMORY
    found = find_runtime("onnx", ["onnx"])
    assert found == TestedRuntime("onnx", (sys.executable, str(runtimes.WORKER), "onnx"), True, 60.0, memory)
    found = find_runtime("opset", [], name="ours", seconds=3, memory=5)
    root = str(Path(opset.__file__).parents[1])
    assert found == TestedRuntime("ours", (sys.executable, str(runtimes.WORKER), "opset", root), True, 3, 5)
    found = find_runtime("onnxruntime", [], python="sh", providers=["A", "B"])
    assert found.command == (shutil.which("sh"), str(runtimes.WORKER), "onnxruntime", "A", "B")
    assert found.memory is None
    found = find_runtime("sh -c x", ["sh", "-c", "x"])
    assert found == TestedRuntime("sh -c x", ("sh", "-c", "x"), False, 60.0, None)
    assert find_runtime("sh", ["sh"], name="it", seconds=2, memory=7) == TestedRuntime("it", ("sh",), False, 2, 7)


def test_a_runtime_that_cannot_be_started_is_an_error(tmp_path):
    program = tmp_path / "program"  # which the system takes for no program
    program.write_bytes(b"\0")
    program.chmod(0o755)
    for named in (
        lambda: asked(find_runtime("onnx", [], python=str(program)), "x"),
        lambda: asked(find_runtime("", [str(program)]), "x"),
        lambda: find_runtime("no-such-program x", ["no-such-program", "x"]),
        lambda: find_runtime("", []),
        lambda: find_runtime("onnx", ["onnx"], python="no-such-python"),
        lambda: asked(TestedRuntime("true", ("/bin/sh", "-c", "exit 3"), True, 5), "x"),
        lambda: asked(find_runtime("onnxruntime", [], providers=["NoSuchExecutionProvider"]), "x"),
    ):
        with pytest.raises(UsageError) as caught:
            named()
        assert caught.value.code == "T224" and caught.value.why and caught.value.help
        assert "T224" not in caught.value.why  # the error is not the reason of another one
    providers = {"providers": ["CPUExecutionProvider"]}
    for name, options in (("sh", {"python": "python3"}), ("sh", providers), ("onnx", providers)):
        with pytest.raises(UsageError, match="U103"):
            find_runtime(name, [name], **options)


def test_the_folder_of_a_command_is_removed_when_its_case_ends(tmp_path):
    code = "import os, sys; open(os.path.join(sys.argv[-1], 'left'), 'w').close()"
    runner = runtimes._CommandRunner(TestedRuntime("it", (*PYTHON, "-c", code), False))
    runner.end()
    for _ in range(2):
        runner.begin(Request(b"", {}, [], str(tmp_path), str(tmp_path)))
        folder = runner._folder.name
        assert os.path.isdir(folder)
        runner.end()
        assert not os.path.exists(folder) and runner._process is None
        runner.end()
    missing = runtimes._CommandRunner(TestedRuntime("it", (str(tmp_path / "gone"),), False))
    with pytest.raises(UsageError, match="T224"):
        missing.begin(Request(b"", {}, [], "", ""))
    assert (missing._folder, missing._process) == (None, None)


@pytest.mark.parametrize(
    ("text", "options", "found"),
    [
        ("onnxruntim", {}, ("T224", "there is no such program", "did you mean onnxruntime? name one of")),
        ("onnxruntim --fast", {}, ("T224", "there is no such program", "name one of onnxruntime, onnx, opset, or")),
        ("", {}, ("T224", "there is no such program", "name one of")),
        ("sh -c x", {"python": "python"}, ("U103", "", "they are for the runtimes onnxruntime, onnx, opset")),
        ("sh -c x", {"providers": ("CPU",)}, ("U103", "", "they are for the runtimes onnxruntime, onnx, opset")),
        ("onnx", {"providers": ("CPU",)}, ("U103", "", "--runtime onnxruntime")),
        ("onnx", {"python": "no/python"}, ("T224", "there is no program no/python", "name the interpreter")),
    ],
)
def test_runtimes_that_are_not_found(text, options, found):
    with pytest.raises(UsageError) as raised:
        runtimes.find_runtime(text, text.split(), **options)
    (finding,) = raised.value.findings
    assert (finding.code, finding.why) == found[:2] and finding.help.startswith(found[2])


@pytest.mark.parametrize(
    ("text", "options", "command", "memory"),
    [
        ("sh -c x", {}, ("sh", "-c", "x"), None),
        ("sh", {"memory": 5}, ("sh",), 5),
        ("onnx", {}, ("onnx",), runtimes.MEMORY),
        ("onnx", {"memory": 5}, ("onnx",), 5),
        ("onnxruntime", {"providers": ("A", "B")}, ("onnxruntime", "A", "B"), None),
        ("opset", {}, ("opset", str(Path(opset.__file__).parents[1])), runtimes.MEMORY),
    ],
)
@pytest.mark.parametrize("name", ["", "mine"])
def test_how_a_runtime_is_run(text, options, command, memory, name):
    found = runtimes.find_runtime(text, text.split(), name=name, **options)
    head = (sys.executable, str(runtimes.WORKER)) if text in runtimes.BUILT_IN else ()
    assert (found.name, found.command, found.memory) == (name or text, (*head, *command), memory)
