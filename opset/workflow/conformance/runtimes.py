"""Runs cases on runtimes in processes of their own, also if a process crashes, hangs or prints rubbish.

worker.py serves a built-in runtime, many cases in one process. Any other runtime is a command, which is called for each
case with the paths of the model, of the folder with its inputs and of a folder for its outputs. No process outlives
`run_requests`, and nothing is read from one without an end.
"""

from __future__ import annotations

import json
import select
import shutil
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from opset.child_process import TAIL, ChildProcess, death_text
from opset.errors import Finding, OpsetError, RunError, UsageError
from opset.model import proto as pb
from opset.model.arrays import array_of, tensor_of
from opset.model.elements import STRING
from opset.reference.value_info import ValueInfo
from opset.schemas.names import near_miss
from opset.tensor_io.files import read_values

__all__ = ["BUILT_IN", "Answer", "Request", "TestedRuntime", "find_runtime", "run_requests"]

BUILT_IN = ("onnxruntime", "onnx", "opset")
WORKER = Path(__file__).with_name("worker.py")
NOT_SUPPORTED = 77
"""Exit status of a command that lacks the operator, version or type of a case."""
STARTING = 120.0
"""Seconds that a worker has to import its runtime."""
MOST = 1 << 28
"""Bytes of an answer, or of the outputs of a command."""
MEMORY = 8 << 30
"""Bytes of addresses that a worker may have by default; graphics processors need more of them than there is memory."""
_DEPTH = 16
_TICK = 0.02
_LENGTHS = struct.Struct(">II")


class Request(NamedTuple):
    """One case for a runtime: the model, its inputs by name and its declared outputs.

    `path` and `folder` are the paths of the model and of the folder with the inputs, for a command.
    """

    model: bytes
    inputs: Mapping[str, Any]
    outputs: Sequence[ValueInfo]
    path: str
    folder: str


class Answer(NamedTuple):
    """The answer of a runtime to a case: `kind` is done, refused, error, crash or timeout.

    `outputs` are values in the order of the model's outputs, None for one that is absent or has no value.
    """

    kind: str
    outputs: tuple[Any, ...] = ()
    why: str = ""


class TestedRuntime(NamedTuple):
    """A runtime under test.

    `command` starts a worker, which serves many cases, if `serves`; else a program that is called for each case.
    `seconds` is the time for a case; `memory` the bytes of address space of the process, None for no limit.
    """

    name: str
    command: tuple[str, ...]
    serves: bool
    seconds: float = 60.0
    memory: int | None = None


def find_runtime(
    text: str,
    words: Sequence[str],
    *,
    name: str = "",
    python: str = "",
    providers: Sequence[str] = (),
    seconds: float = 60.0,
    memory: int | None = None,
) -> TestedRuntime:
    """Return how to run a runtime: by a worker process if `text` is in BUILT_IN, else as a command.

    Args:
        text: Name of the runtime, "onnxruntime", "onnx" or "opset"; or the command line of a program.
        words: The command line, split.
        name: Name in reports; by default the text.
        python: Interpreter that has the built-in runtime; by default this one.
        providers: Execution providers of onnxruntime.
        seconds: Time limit of each case.
        memory: Bytes of address space for the process. By default, a worker without providers gets MEMORY, and any
            other process has no limit.

    Raises:
        UsageError: T224 if there is no such program or interpreter; U103 if `providers` are given for another runtime
            than onnxruntime, or `python` for a command.
    """
    if text in BUILT_IN:
        if providers and text != "onnxruntime":
            raise UsageError(Finding("U103", "--provider is for onnxruntime", help="--runtime onnxruntime"))
        interpreter = shutil.which(python or sys.executable)
        if interpreter is None:
            help = "name the interpreter of an environment: --python PATH"
            raise _start_error(text, f"there is no program {python}", help)
        options = [str(WORKER.parents[3])] if text == "opset" else [*providers]
        memory = memory or (None if providers else MEMORY)
        return TestedRuntime(name or text, (interpreter, str(WORKER), text, *options), True, seconds, memory)
    if python or providers:
        help = f"they are for the runtimes {', '.join(BUILT_IN)}"
        raise UsageError(Finding("U103", "--python and --provider do not fit a command", help=help))
    if not words or shutil.which(words[0]) is None:
        guess = near_miss(text, BUILT_IN) if len(words) == 1 else ""
        help = f"name one of {', '.join(BUILT_IN)}, or a program, which is called with MODEL INPUTS OUTPUTS"
        raise _start_error(text, "there is no such program", f"{guess} {help}".strip())
    return TestedRuntime(name or text, tuple(words), False, seconds, memory)


def _start_error(name: str, why: str, help: str) -> UsageError:
    """Return the error T224: the runtime `name` cannot be started, for the reason `why`."""
    return UsageError(Finding("T224", f"the runtime '{name[:200]}' cannot be started", why=why, help=help))


def run_requests(
    runtime: TestedRuntime,
    requests: Iterable[tuple[int, Request]],
    jobs: int = 1,
    on_version: Callable[[str], None] = lambda version: None,
) -> Iterator[tuple[int, Answer]]:
    """Run requests in processes of a runtime, and yield (number, answer) for each as soon as it is answered.

    If the iterator is closed, all processes are ended.

    Args:
        runtime: Runtime that answers.
        requests: (number, request) pairs; the next one is taken when a process is free.
        jobs: Number of requests that run at once, each in a process of its own.
        on_version: Called with the version of the runtime, such as "1.20.0", each time a worker has started. A worker
            is a process that serves many requests. A runtime whose command runs anew for each request has no workers.

    Raises:
        UsageError: T224 if the runtime cannot be started.
    """
    coming = iter(requests)
    runners: list[_WorkerRunner | _CommandRunner] = []
    busy: dict[int, tuple[int, _WorkerRunner | _CommandRunner]] = {}
    try:
        while True:
            while len(busy) < jobs and (task := next(coming, None)) is not None:
                index = next((each for each in range(len(runners)) if each not in busy), len(runners))
                if index == len(runners):
                    runners.append(_WorkerRunner(runtime, on_version) if runtime.serves else _CommandRunner(runtime))
                runners[index].begin(task[1])
                busy[index] = task[0], runners[index]
            if not busy:
                return
            # A process has output or takes input, or it is time to check on all.
            poll = select.poll()
            for descriptor, events in chain.from_iterable(runner.poll_events() for _, runner in busy.values()):
                poll.register(descriptor, events)
            poll.poll(_TICK * 1000)
            for index, (number, runner) in [*busy.items()]:
                answer = runner.poll_answer()
                if answer is not None:
                    del busy[index]
                    yield number, answer
    finally:
        for runner in runners:
            runner.end()


class _WorkerRunner:
    """Runs cases on a worker, a process that serves many cases; if it dies, another one is started.

    A worker first sends a greeting, which says whether it has its runtime.
    """

    def __init__(self, runtime: TestedRuntime, on_version: Callable[[str], None]) -> None:
        """Create a runner without a process.

        `on_version` is called with the runtime's version each time a worker has started.
        """
        self._runtime, self._welcome = runtime, on_version
        self._process: ChildProcess | None = None
        self._started = False  # the worker has said that it has its runtime
        self._once = False  # … or an earlier one has
        self._served = 0  # cases by this worker
        self._data = b""
        self._crash: Answer | None = None  # of the case under way, in a worker that had run others
        self._deadline = 0.0

    def begin(self, request: Request) -> None:
        """Begin to run a case: send it to the worker. Raises UsageError T224 if no worker can be started."""
        self._data, self._crash = _encode_request(request), None
        self._send()

    def _send(self) -> None:
        """Send the present case to the worker, and set the time by which it must answer.

        A worker that does not run is started first. It gets the case only after its greeting, for which it has STARTING
        seconds. Raises UsageError T224 if it cannot be started.
        """
        if self._process is None:
            try:
                self._process = ChildProcess(self._runtime.command, self._runtime.memory, serves=True)
            except OSError as error:
                raise _start_error(self._runtime.name, error.strerror or str(error), "name another --python") from error
            self._started, self._served = False, 0
        self._deadline = time.monotonic() + (self._runtime.seconds if self._started else STARTING)
        self._served += 1
        if self._started:
            self._process.send(self._data)

    def poll_events(self) -> Iterator[tuple[int, int]]:
        """Yield (file descriptor, events to wait for in poll()) for the pipes of the worker."""
        return self._process.poll_events() if self._process is not None else iter(())

    def poll_answer(self) -> Answer | None:
        """Return the answer to the present case; None if there is none yet. The call does not wait.

        The answer may be that the worker crashed, took too long or sent bytes that are no answer; then the worker has
        been ended. Raises UsageError T224 if the worker does not have its runtime.
        """
        assert self._process is not None
        status = self._process.status()
        try:
            message = _take_message(self._process.answered)
            if message is not None and self._started:
                header, data = message
                for kind in ("refused", "error"):
                    if kind in header:
                        return self._final_answer(Answer(kind, why=str(header[kind])))
                values = tuple(_decode_value(each, data) for each in header["outputs"])
                return self._final_answer(Answer("done", values))
            if message is not None:
                self._accept_greeting(message[0])
        except UsageError:  # the worker lacks its runtime
            raise
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, OpsetError) as error:
            return self._handle_failure(Answer("crash", why=f"its answer cannot be read: {error}"[:TAIL]))
        if status is not None:
            return self._handle_failure(Answer("crash", why=death_text(status, self._process.last_output())))
        if time.monotonic() > self._deadline:
            limit = self._runtime.seconds if self._started else STARTING
            return self._handle_failure(Answer("timeout", why=f"no answer in {limit:g} s"))
        return None

    def _accept_greeting(self, header: Mapping[str, Any]) -> None:
        """Call `on_version` with the version in the worker's greeting, `header`, and send the present case.

        Raises UsageError T224 if the worker does not have its runtime.
        """
        if "absent" in header:
            raise self._missing_runtime_error(str(header["absent"]))
        self._started = self._once = True
        self._welcome(str(header["version"]))
        self._deadline = time.monotonic() + self._runtime.seconds
        assert self._process is not None
        self._process.send(self._data)

    def _missing_runtime_error(self, why: str) -> UsageError:
        """Return the error T224: the interpreter of the worker cannot import the runtime, for the reason `why`."""
        help = "install it beside this interpreter, or name one that has it: --python PATH"
        return _start_error(self._runtime.name, why, help)

    def _handle_failure(self, answer: Answer) -> Answer | None:
        """End the worker; return the answer to report, or None if the present case is run a second time.

        `answer` is the failure of the present case. A crash may be due to an earlier case. If the worker that crashed
        had run an earlier case, the present case is sent to a new worker, but only once. Raises UsageError T224 if no
        worker of this runner could import the runtime.
        """
        assert self._process is not None
        self._process.end()
        self._process = None
        if not self._started and not self._once:
            raise self._missing_runtime_error(answer.why)
        if answer.kind == "crash" and self._served > 1 and self._crash is None:
            self._crash = answer
            self._send()
            return None
        return self._final_answer(answer)

    def _final_answer(self, answer: Answer) -> Answer:
        """Return the answer to report for the present case, whose last run ended with `answer`.

        If the case was run twice, and only the first run crashed, the result is still a crash, and its reason says
        how each run ended. In any other case, the result is `answer`.
        """
        if self._crash is None or answer.kind == "crash":
            return answer
        why = f"{self._crash.why} (after other cases; by itself, the case does not end so, but is {answer.kind})"
        return Answer("crash", why=why)

    def end(self) -> None:
        """End the worker process, if there is one."""
        if self._process is not None:
            self._process.end()
            self._process = None


class _CommandRunner:
    """Runs each case by a command of its own, which gets the paths of the model, the inputs and the outputs."""

    def __init__(self, runtime: TestedRuntime) -> None:
        """Create a runner without a process; `runtime` has the command."""
        self._runtime = runtime
        self._process: ChildProcess | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._outputs: Sequence[ValueInfo] = ()
        self._deadline = 0.0

    def begin(self, request: Request) -> None:
        """Start the command for a case. Raises UsageError T224 if it cannot be started."""
        self._folder = tempfile.TemporaryDirectory(prefix="opset-conformance-", ignore_cleanup_errors=True)
        self._outputs = request.outputs
        command = [*self._runtime.command, request.path, request.folder, self._folder.name]
        try:
            self._process = ChildProcess(command, self._runtime.memory, serves=False)
        except OSError as error:
            self.end()
            help = "name a program that can be run"
            raise _start_error(self._runtime.name, error.strerror or str(error), help) from error
        self._deadline = time.monotonic() + self._runtime.seconds

    def poll_events(self) -> Iterator[tuple[int, int]]:
        """Yield (file descriptor, events to wait for in poll()) for the pipes of the command."""
        return self._process.poll_events() if self._process is not None else iter(())

    def poll_answer(self) -> Answer | None:
        """Return the answer to the present case, outputs or a failure; None as long as the command may run on.

        The call does not wait. Before the answer is returned, the command is ended, and its folder of outputs is
        removed.
        """
        assert self._process is not None
        status = self._process.status()
        late = time.monotonic() > self._deadline
        if status is None and not late:
            return None
        self._process.end()
        answer = Answer("timeout", why=f"no end in {self._runtime.seconds:g} s")
        if status is not None:
            answer = self._command_answer(status, self._process.last_output())
        self.end()
        return answer

    def _command_answer(self, status: int, words: str) -> Answer:
        """Return the answer of a command that ended, from its exit status and the files that it wrote.

        - 0: outputs, in which an output without a file is None; "error" if they cannot be read.
        - NOT_SUPPORTED: "refused".
        - Negative (a signal): "crash".
        - Any other: "error".

        `words` is the end of the command's output, which is the reason of a failure.
        """
        if status == NOT_SUPPORTED:
            return Answer("refused", why=words or "the command says that it does not support this")
        if status:
            return Answer("crash" if status < 0 else "error", why=death_text(status, words))
        assert self._folder is not None
        try:
            values = read_values(self._folder.name, self._outputs, MOST, "output") if self._outputs else {}
        except RunError as error:
            return Answer("error", why=f"its outputs cannot be read: {error.why or error.message}")
        return Answer("done", tuple(values.get(each.name) for each in self._outputs))

    def end(self) -> None:
        """End the command, if it runs, and remove its output files."""
        if self._process is not None:
            self._process.end()
            self._process = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def _encode_request(request: Request) -> bytes:
    """Return a request as the bytes of a message to a worker; worker.py describes the form."""
    data = bytearray(request.model)
    inputs = [[name, _encode_value(value, data)] for name, value in request.inputs.items()]
    header = json.dumps({"model": [0, len(request.model)], "inputs": inputs}).encode()
    return _LENGTHS.pack(len(header), len(data)) + header + bytes(data)


def _encode_value(value: Any, data: bytearray) -> dict[str, Any]:
    """Return a value as an entry of a message's header, and append the bytes of its tensors to `data`.

    An example of an entry is {"tensor": 1, "shape": [2], "at": [0, 8]}.
    """
    if value is None:
        return {"nothing": True}
    if isinstance(value, list):
        return {"sequence": [_encode_value(each, data) for each in value]}
    if isinstance(value, dict):
        return {"map": [[_decode_text(key), _encode_value(each, data)] for key, each in value.items()]}
    tensor = tensor_of("", value)
    shape = [*tensor.dims]
    if tensor.data_type == STRING:
        return {"tensor": STRING, "shape": shape, "text": [_decode_text(each) for each in tensor.string_data]}
    start = len(data)
    data += tensor.raw_data
    return {"tensor": tensor.data_type, "shape": shape, "at": [start, len(data)]}


def _decode_text(value: Any) -> Any:
    """Return bytes as str, in which bytes that are not UTF-8 are lone surrogates; return any other value unchanged."""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _take_message(received: bytearray) -> tuple[dict[str, Any], bytes] | None:
    """Return (header, bytes of tensors) of the message in `received`, and empty `received`.

    If the message is incomplete, return None and leave `received` as it is. Raises ValueError if the message is
    malformed or larger than MOST, or if other bytes follow it; RecursionError if its JSON is nested too deeply.
    """
    if len(received) < _LENGTHS.size:
        return None
    header, data = _LENGTHS.unpack_from(received)
    end = _LENGTHS.size + header + data
    if end > MOST:
        raise ValueError(f"it has {end:,} bytes, and at most {MOST:,} are read")
    if len(received) < end:
        return None
    message = json.loads(received[_LENGTHS.size : _LENGTHS.size + header])
    if not isinstance(message, dict) or len(received) > end:
        raise ValueError("it is no message of a worker")
    whole = bytes(received[end - data : end])
    received.clear()
    return message, whole


def _decode_value(header: Mapping[str, Any], data: bytes, depth: int = 0) -> Any:
    """Return the value that an entry of a message's header describes: a tensor, sequence, map, number or None.

    `data` has the bytes of all tensors. `depth` is the number of sequences and maps that contain this value. Raises
    ValueError, KeyError or TypeError if the entry is malformed, or nested more than _DEPTH levels deep.
    """
    if depth > _DEPTH:
        raise ValueError("it is nested too deeply")
    if "sequence" in header:
        return [_decode_value(each, data, depth + 1) for each in header["sequence"]]
    if "map" in header:
        return {key: _scalar(_decode_value(each, data, depth + 1)) for key, each in header["map"]}
    if "number" in header:
        return float(header["number"]) if isinstance(header["number"], float) else int(header["number"])
    if "nothing" in header:
        return None
    tensor = pb.TensorProto(data_type=header["tensor"], dims=header["shape"])
    if tensor.data_type == STRING:
        tensor.string_data.extend(each.encode("utf-8", "surrogateescape") for each in header["text"])
    else:
        start, end = header["at"]
        tensor.raw_data = data[start:end]
    return array_of(None, tensor, MOST)


def _scalar(value: Any) -> Any:
    """Return the element of an array of rank 0 as a scalar of numpy; other values are returned unchanged."""
    return value[()] if getattr(value, "shape", None) == () else value
