"""A scratch copy of the checkout, in which files are changed and tests run, whatever else runs on the machine."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import psutil

ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".hypothesis", ".*_cache", "*.egg-info", "build", "dist", "site")
MEMORY = 6 << 30
"""Bytes that a process of a test may allocate."""


class Outcome(NamedTuple):
    """How a command ended: its exit status, or None where it was stopped, and what it printed."""

    status: int | None
    text: str


class Scratch:
    """A copy of the checkout and of its compiled files; what is changed in it is taken back by `restore`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "checkout"
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        shutil.copytree(ROOT, self.folder, ignore=LEFT_OUT, symlinks=True)
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(self.folder),
            "TMPDIR": str(self.temporary),
            "PYTHONHASHSEED": "0",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        self.changed: dict[str, bytes] = {}
        self.clock = 0

    def write(self, name: str, text: str) -> None:
        """Write a file of the copy, so that what was compiled from the old one is not taken."""
        path = self.folder / name
        self.changed.setdefault(name, path.read_bytes())
        path.write_text(text, encoding="utf-8")
        self.clock += 2
        when = path.stat().st_mtime + self.clock
        os.utime(path, (when, when))

    def restore(self) -> None:
        """Bring every changed file back."""
        for name, data in self.changed.items():
            self.write(name, data.decode("utf-8"))
        self.changed.clear()

    def python(self, *arguments: str, seconds: float) -> Outcome:
        """Return how Python ends with these arguments; whatever it started is ended with it."""
        with tempfile.TemporaryFile(dir=self.temporary) as output:
            process = subprocess.Popen(
                [sys.executable, *arguments],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_bounded,
            )
            try:
                status = process.wait(seconds)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                _end(process)
            output.seek(0)
            return Outcome(status, output.read().decode("utf-8", "replace"))

    def pytest(self, *arguments: str, seconds: float) -> Outcome:
        """Return how pytest ends, which stops at the first failure."""
        return self.python("-m", "pytest", "-x", *arguments, seconds=seconds)


def _bounded() -> None:
    """Bound what the process may allocate: a mutant may ask for all memory there is."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process with its descendants, also with those that have a session of their own."""
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                child.kill()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def scratch() -> Iterator[Scratch]:
    """Yield a scratch copy, which is removed at the end, also where this process is asked to end."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory(prefix="opset-mutation-", ignore_cleanup_errors=True) as folder:
        yield Scratch(Path(folder))


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], markdown: bool = False) -> str:
    """Return a table as aligned text, or as Markdown."""
    if markdown:
        lines = [heads, ["---"] * len(heads), *[[cell.replace("|", "\\|") for cell in row] for row in rows]]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in [heads, *rows])
