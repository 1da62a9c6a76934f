"""Progress of long work on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def show_progress(quiet: bool, step: int) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function that shows progress after every `step`, on a line of the terminal that is cleared at the end.

    Without a terminal, or with `quiet`, it yields None.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return

    def show(done: int, total: int) -> None:
        if done % step == 0 or done == total:
            sys.stderr.write(f"\r[{done:,}/{total:,}]")
            sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
