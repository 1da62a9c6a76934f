"""The runtimes that are installed beside Python, asked in a child process which models they load.

    loader = Loader(package_of("ort"))     # starts the child
    loader.load(model)                     # "" if it loads, else the reason

The package is never imported in this process. Answers are kept in the user's cache folder by runtime, version and
machine; what cannot be read or written there is asked again.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import select
import stat
import struct
import sys
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from opset.child_process import ChildProcess, death_text, environment_without_folder
from opset.errors import Finding, UsageError, quote, safe_text
from opset.schemas.names import near_miss

TABLES = {"onnxruntime": "onnxruntime-cpu", "openvino": "openvino"}
"""The packages that can be asked, each with the runtime of the tables that it is."""
ALIASES = {"ort": "onnxruntime", "onnxruntime-cpu": "onnxruntime", "ov": "openvino"}
SHOWN = 100
"""Characters of a name or an output that a message repeats."""
PROGRAM = Path(__file__).with_name("loading_program.py")
STARTING = 120.0
"""Seconds that the package has to be imported."""
LOADING = 30.0
"""Seconds that a model of one node has to be loaded."""
MEMORY = 16 << 30
"""Bytes of addresses that the child may have."""
DEATHS = 3
"""Models after each other with which the child dies until it is given up."""
FORMAT = 1
"""The number of the form of the cache: it rises when other models are made of nodes, or they are loaded otherwise."""
LARGEST = 1 << 26
"""Bytes of a cache file that is read, and added to."""
_LENGTH = struct.Struct(">I")
_TICK = 0.05


def package_of(name: str) -> str:
    """Return the package that is meant by a name. Raises UsageError U101 for one that cannot be asked."""
    package = ALIASES.get(name, name)
    if package not in TABLES:
        help = f"{near_miss(name, TABLES)} these can be asked: {', '.join(TABLES)}".strip()
        raise UsageError(Finding("U101", f"the installed {quote(name[:SHOWN])} cannot be asked", help=help))
    return package


class Loader:
    """Loads models in an installed package, in a child process that is started when it is first needed.

    `version` is the version of the package, `release` the numbers that it begins with.
    """

    def __init__(self, package: str) -> None:
        """Start the child. Raises UsageError T224 if the package is not installed, or the child does not start."""
        self.package = package
        self._process: ChildProcess | None = None
        self._owner = os.getpid()
        self._deaths = 0
        self.version = self._start()
        numbers = re.match(r"\d+(\.\d+)*", self.version)
        self.release = numbers[0] if numbers is not None else self.version
        self._cache = LoadCache(package, self.version)

    def load(self, model: bytes) -> str:
        """Return "" if the package loads a model, else the reason. Raises UsageError T224 if the child dies often."""
        key = hashlib.sha256(model).hexdigest()[:32]
        why = self._cache.find(key)
        if why is None:
            why = self._ask(model)
            if not self._deaths:
                self._cache.add(key, why)
        return why

    def _ask(self, model: bytes) -> str:
        """Return the answer of the child; if it dies, or takes too long, that is the reason why nothing loads."""
        if self._process is None or self._owner != os.getpid():  # a process that was forked needs its own
            self._start()
        assert self._process is not None
        self._process.send(_LENGTH.pack(len(model)) + model)
        answer = self._receive(LOADING)
        if isinstance(answer, dict):
            self._deaths = 0
            return str(answer.get("why", ""))
        self._deaths += 1
        self._end()
        if self._deaths >= DEATHS:
            self._raise_dead(f"{answer}, with {DEATHS} models after each other")
        return f"its process died: {answer}"

    def _start(self) -> str:
        """Start the child, and return the version of the package. Raises UsageError T224."""
        self._owner = os.getpid()
        if not sys.executable:
            self._raise_dead("there is no Python interpreter to start")
        command = (sys.executable, str(PROGRAM), self.package)
        try:
            process = ChildProcess(command, MEMORY, serves=True, environment=environment_without_folder())
        except OSError as error:
            self._raise_dead(error.strerror or str(error))
        self._process = process
        weakref.finalize(self, _end_own, process, self._owner)
        answer = self._receive(STARTING)
        if isinstance(answer, dict) and "version" in answer:
            return str(answer["version"])
        self._end()
        self._raise_dead(str(answer.get("absent", answer) if isinstance(answer, dict) else answer))

    def _receive(self, seconds: float) -> dict[str, Any] | str:
        """Return the next answer of the child, or the reason why there is none."""
        assert self._process is not None
        process, deadline = self._process, time.monotonic() + seconds
        while True:
            status = process.status()
            line, newline, rest = bytes(process.answered).partition(b"\n")
            if newline:
                process.answered[:] = rest
                with suppress(ValueError):
                    answer = json.loads(line)
                    if isinstance(answer, dict):
                        return answer
                return "its answer cannot be read"
            if status is not None:
                return death_text(status, safe_text(process.last_output()[-SHOWN:]))
            if time.monotonic() > deadline:
                return f"it took more than {seconds:g} seconds"
            poll = select.poll()
            for descriptor, events in process.poll_events():
                poll.register(descriptor, events)
            poll.poll(_TICK * 1000)

    def _end(self) -> None:
        """End the child."""
        if self._process is not None:
            _end_own(self._process, self._owner)
        self._process = None

    def _raise_dead(self, why: str) -> NoReturn:
        help = f"install it beside opset: pip install {self.package}; opset targets list has releases that need none"
        message = f"the installed {self.package} cannot be asked"
        raise UsageError(Finding("T224", message, why=safe_text(why), help=help))


def _end_own(process: ChildProcess, owner: int) -> None:
    """End a child if this is the process that started it."""
    if owner == os.getpid():
        process.end()


class LoadCache:
    """The answers of a version of a package, in a file of the user's cache folder: a line of JSON for each model.

    Lines are appended one by one, so that several processes can add to it; those that are damaged are passed over.
    """

    def __init__(self, package: str, version: str) -> None:
        folder = cache_folder()
        name = re.sub(r"[^\w.+-]", "_", f"{package}-{version}-{platform.machine()}")[:SHOWN]
        self._path = None if folder is None else folder / "loading" / f"{name}-{FORMAT}.jsonl"
        self._known: dict[str, str] | None = None

    def find(self, key: str) -> str | None:
        """Return the answer about a model, None if it is not known."""
        if self._known is None:
            self._known = self._read()
        return self._known.get(key)

    def add(self, key: str, why: str) -> None:
        """Keep an answer, in the file if that can be written."""
        if self._known is None:
            self._known = self._read()
        self._known[key] = why
        if self._path is None:
            return
        line = json.dumps({"model": key, "why": why}).encode() + b"\n"
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o600)
            try:
                status = os.fstat(descriptor)
                if stat.S_ISREG(status.st_mode) and status.st_size < LARGEST:
                    os.write(descriptor, line)
            finally:
                os.close(descriptor)

    def _read(self) -> dict[str, str]:
        """Return the answers in the file, as far as it can be read."""
        known: dict[str, str] = {}
        if self._path is None:
            return known
        data = b""
        with suppress(OSError):
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                if stat.S_ISREG(os.fstat(descriptor).st_mode):
                    data = file.read(LARGEST)
        for line in data.splitlines():
            with suppress(ValueError, TypeError, KeyError, RecursionError):
                entry = json.loads(line)
                if isinstance(entry["model"], str) and isinstance(entry["why"], str):
                    known[entry["model"]] = entry["why"]
        return known


def cache_folder() -> Path | None:
    """Return the folder of opset in the user's cache folder, None if there is none."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    folder = given if os.path.isabs(given) else os.path.expanduser("~/.cache")
    return Path(folder, "opset") if os.path.isabs(folder) else None
