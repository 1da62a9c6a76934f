"""Progress of long work on a terminal: how much is done, the rate, and the time that is left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import IO, Any


class Progress:
    """A line on stderr, which is erased at the end; nothing if stderr is no terminal."""

    def __init__(self, total: int, unit: str, done: int = 0) -> None:
        self._bar: Any = None
        if sys.stderr.isatty():
            from tqdm import tqdm

            tqdm.monitor_interval = 0  # its thread would be there when processes are started
            self._bar = tqdm(total=total, initial=done, unit=f" {unit}", leave=False, mininterval=0.2)

    def advance(self) -> None:
        """Count one more."""
        if self._bar is not None:
            self._bar.update()

    def show(self, done: int) -> None:
        """Show that so many are done."""
        if self._bar is not None:
            self._bar.update(done - self._bar.n)

    def aside(self, stream: IO[str]) -> AbstractContextManager[Any]:
        """Return a context in which a stream may be written to: on a terminal the line is out of sight."""
        if self._bar is None or not stream.isatty():
            return nullcontext()
        written: AbstractContextManager[Any] = self._bar.external_write_mode(file=stream)
        return written

    def close(self) -> None:
        """Erase the line."""
        if self._bar is not None:
            self._bar.close()


@contextmanager
def show_progress(quiet: bool, unit: str) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function that shows how many units of a total are done, on a line that is erased at the end.

    Without a terminal, or with `quiet`, it yields None.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    line: list[Progress] = []

    def show(done: int, total: int) -> None:
        if not line:
            line.append(Progress(total, unit))
        line[0].show(done)

    try:
        yield show
    finally:
        for progress in line:
            progress.close()
