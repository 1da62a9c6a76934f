"""What the kinds of mutants share: the case that each draws, and the command line within this process.

A kind is a module here with `case(rng: random.Random) -> Case`. Everything that a case is comes from `rng` alone, so
that its seed and number are enough to make it again.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from opset.cli import cli

__all__ = ["Case", "Internal", "Verb", "command"]

Verb = Callable[[Path], object]
"""Does one thing with the files of a case, in the folder that holds them. Errors of opset's own may leave it."""


@dataclass(frozen=True)
class Case:
    """The files of a mutant, what was done to make them, and what to do with them, in order.

    A verb's result counts only where it is the exit status of `command`.
    """

    what: str
    files: Mapping[str, bytes]
    verbs: Mapping[str, Verb]


class Internal(Exception):
    """What the command line reported as an internal error."""


def command(*arguments: object) -> int:
    """Return the exit status of `opset ARGUMENTS`, run in this process; raise Internal where that is 70.

    The worker sets OPSET_DEBUG, so the message ends with the traceback.
    """
    stdout, stderr = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        try:
            status = cli.main([str(each) for each in arguments], prog_name="opset", standalone_mode=False)
        except click.ClickException as error:
            status = error.exit_code
    written = "".join(stream.buffer.getvalue().decode("utf-8", "backslashreplace") for stream in (stdout, stderr))
    if status == 70 or "internal error: " in written:
        raise Internal(written)
    if status not in (0, 1, 2, 3):
        raise Internal(f"exit status {status} of {' '.join(map(str, arguments))}\n{written}")
    return int(status)
