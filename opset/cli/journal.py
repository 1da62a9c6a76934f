"""The report of a call as a file of JSON lines, one for each model, from which a later call goes on where it stopped.

Each line is written at once. A line counts again if path, size and time of modification of its model are the same, and
so are options and version of the call and the other files that it reads, and if its result is still there. While a
model is worked on, the journal has a line that says so: after a kill, a file that was written since then is known to be
a result, and may be written again. At the end, the file has one line for each model, in the order of the models,
whatever happened on the way.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import click

from opset import __version__
from opset.cli.configuration import Folders, read_project
from opset.cli.inputs import STREAM, Input, Stamp, parse_input, stamp_of
from opset.cli.output import SCHEMA_VERSION
from opset.errors import Finding, UsageError

CALL = "call"
STARTED = "started"
BESIDE = frozenset({"jobs", "quiet", "verbose", "form", "reports", "shard", "executor", "force"})
"""Options that do not change the report on a model."""
READ = (".yaml", ".py", ".pb")
"""The ends of the names of files that are read in folders of operators, and of values."""


_HEADS = (b'{"call": "', b'{"schema_version": ')
"""How the first line begins."""


class _JournalLine(NamedTuple):
    """The place of a line in the journal, and the state of the model that it is about."""

    offset: int
    stamp: Stamp


class Journal:
    """A file of reports that is open for this call alone."""

    def __init__(self, path: str, call: str) -> None:
        """Open a journal, and cut a torn line at its end.

        Args:
            path: The file.
            call: The digest of the call's options.

        Raises:
            UsageError: U102 if the file is no journal, U104 if it cannot be written, or another call writes it.
        """
        self.path = path
        self._call = call
        self._lines: dict[str, _JournalLine] = {}
        self._started: dict[str, int] = {}
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            _lock(self._descriptor, path)
            self._end = self._read_lines()
        except OSError as error:
            why = "it is a folder" if os.path.isdir(path) else error.strerror or str(error)
            raise _journal_error(path, why) from error

    def _read_lines(self) -> int:
        """Read the lines that count, cut what follows the last whole one, and return the size."""
        end = 0
        with open(self._descriptor, "rb", closefd=False) as file:
            for line in file:
                data = _parse_line(line)
                if data is None:
                    if end == 0 and not (line.startswith(_HEADS) and not line.endswith(b"\n")):
                        help = "name another file with --report"
                        message = "the file is there, and holds no report of models"
                        raise UsageError(Finding("U102", message, help=help, file=self.path))
                elif data[CALL] == self._call:
                    if STARTED in data:
                        self._started.setdefault(data[STARTED], data["time"])
                    else:
                        self._lines[data["input"]] = _JournalLine(end, Stamp(data["size"], data["mtime"]))
                if line.endswith(b"\n"):
                    end += len(line)
        os.ftruncate(self._descriptor, end)
        return end

    def find(self, model: Input, stamp: Stamp) -> dict[str, Any] | None:
        """Return the report on a model that is in the journal, None if it is to be made."""
        line = self._lines.get(model.path)
        if line is None or line.stamp != stamp or model.path == STREAM:
            return None
        data = _parse_line(self._line_at(line.offset))
        written = data and data["output"]
        if data is None or (written and "://" not in written and not os.path.lexists(written)):
            return None
        return data

    def start(self, model: Input) -> int:
        """Note that work on a model starts; return the time since which its results count as its own, 0 for now."""
        since = self._started.get(model.path, 0)
        if not since:
            self._append(json.dumps({CALL: self._call, STARTED: model.path, "time": time.time_ns()}))
        return since

    def add(self, path: str, stamp: Stamp, data: str) -> None:
        """Add the report on a model, which is a JSON object."""
        head = json.dumps({"schema_version": SCHEMA_VERSION, CALL: self._call, **stamp._asdict()})
        self._lines[path] = _JournalLine(self._end, stamp)
        self._append(f"{head[:-1]}, {data[1:]}")

    def finish(self, models: Iterable[Input]) -> None:
        """Write the file anew: the last report on each model, in this order."""
        temporary = f"{self.path}.{os.getpid()}.tmp"
        try:
            with open(temporary, "wb") as file:
                for model in models:
                    if (line := self._lines.get(model.path)) is not None:
                        file.write(self._line_at(line.offset))
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.path)
        except OSError as error:
            raise _journal_error(self.path, error.strerror or str(error)) from error
        finally:
            with suppress(FileNotFoundError):
                os.remove(temporary)

    def reports(self) -> Iterator[tuple[dict[str, Any], str]]:
        """Yield the reports of a file that was finished, as data and as the text of a JSON object."""
        with open(self.path, "rb") as file:
            for line in file:
                data = _parse_line(line)
                if data is not None:
                    text = line.decode().rstrip()
                    yield data, "{" + text[text.index('"input": ') :]

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _append(self, line: str) -> None:
        data = f"{line}\n".encode()
        try:
            while data:
                written = os.write(self._descriptor, data)
                self._end, data = self._end + written, data[written:]
        except OSError as error:
            raise _journal_error(self.path, error.strerror or str(error)) from error

    def _line_at(self, offset: int) -> bytes:
        """Return the line at an offset."""
        parts = []
        while part := os.pread(self._descriptor, 1 << 14, offset):
            line, newline, _ = part.partition(b"\n")
            parts.append(line + newline)
            if newline:
                break
            offset += len(part)
        return b"".join(parts)


def digest_of_call(context: click.Context, known: Folders) -> str:
    """Return a digest of what the report on a model follows from beside the model.

    That is the version, the verb, its options, and the state of the files that they and the configuration name. A model
    from stdin beside the first one has no state, so that no other call has the digest.
    """
    models, *others = [each.name for each in context.command.params if isinstance(each, click.Argument)]
    options = {name: value for name, value in context.params.items() if name != models}
    project = read_project()
    beside = [str(options[name]) for name in others if name is not None]
    paths = [*beside, *options.get("files", ()), *options.get("data", ()), *known.trusted, *known.data]
    paths += [project.folder / each for each in project.lists["targets"]]
    states: list[Any] = [state for path in paths for state in _states_below(os.fspath(path))]
    if any(parse_input(path).path == STREAM for path in beside):
        states.append(time.time_ns())
    return digest_of_options(context.info_name or "", {**options, "project": project.lists, "states": states})


def _states_below(path: str, depth: int = 2) -> Iterator[tuple[str, Stamp]]:
    """Yield the path and the state of a file, or of files in a folder and the folders in it that are read there."""
    if not os.path.isdir(path):
        yield path, stamp_of(Input(path))
        return
    for entry in sorted(os.listdir(path)) if os.access(path, os.R_OK) else ():
        inside = os.path.join(path, entry)
        if entry.endswith(READ) or (depth > 1 and os.path.isdir(inside)):
            yield from _states_below(inside, depth - 1)


def digest_of_options(verb: str, options: Mapping[str, Any]) -> str:
    """Return a digest of the version, the verb, and those options of a call that change the report on a model."""
    import hashlib  # which loads OpenSSL: few calls need it

    chosen = {name: options[name] for name in sorted(options) if name not in BESIDE}
    text = json.dumps([__version__, verb, chosen], default=_plain_option, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain_option(value: object) -> object:
    """Return the value of an option as JSON can hold it."""
    return dict(value) if isinstance(value, Mapping) else os.fspath(value) if isinstance(value, Path) else str(value)


def _parse_line(line: bytes) -> dict[str, Any] | None:
    """Return the content of a line of a journal, None if it is no such line."""
    try:
        data = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    if not isinstance(data, dict) or not isinstance(data.get(CALL), str):
        return None
    keys = (STARTED, "time") if STARTED in data else ("input", "output", "size", "mtime", "errors", "status")
    return data if all(key in data for key in keys) else None


def _lock(descriptor: int, path: str) -> None:
    """Lock a file for this process; raise UsageError U104 if another one has it."""
    try:
        import fcntl
    except ImportError:  # the system has no such lock
        return
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # not inherited by workers, which may outlive a kill
    except (BlockingIOError, PermissionError):
        raise _journal_error(path, "another call writes it") from None


def _journal_error(path: str, why: str, help: str = "name another file with --report") -> UsageError:
    return UsageError(Finding("U104", "the report cannot be written", why=why, help=help, file=path))
