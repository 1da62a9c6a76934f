"""Inputs that attack, each class made small by a function, with the exit statuses that a verb may end with.

The tables MODELS, STREAMS, FOLDERS, VALUES, CONFIGURATIONS, SCHEMAS and DOCUMENTS hold them by name. The modules beside
fill them, and test_verbs.py runs each on every verb that reads such a thing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ESCAPES = "\x1b[31mred\x1b[0m\x07\u202e\u2066\x9b1m\r\nnext\0{{ 7 * 7 }}${PATH}%s{0}<script>"
Statuses = tuple[int, ...]


class Attack(NamedTuple):
    """A function that writes an attack into a folder, the attacking file, and the statuses that a verb may end with.

    An attack that is `alone` takes long, and has a process of its own where others share one.
    """

    build: Callable[[Path], None]
    file: str
    statuses: dict[str, Statuses]
    alone: bool

    def ends(self, *names: str) -> Statuses:
        """Return the statuses that are declared for the first of these names, or else for all verbs."""
        return next(self.statuses[name] for name in (*names, "") if name in self.statuses)


MODELS: dict[str, Attack] = {}
STREAMS: dict[str, Attack] = {}
FOLDERS: dict[str, Attack] = {}
VALUES: dict[str, Attack] = {}
CONFIGURATIONS: dict[str, Attack] = {}
SCHEMAS: dict[str, Attack] = {}
DOCUMENTS: dict[str, Attack] = {}


def attack(
    table: dict[str, Attack], file: str, every: int | Statuses, alone: bool = False, **some: int | Statuses
) -> Any:
    """Return a decorator for a function that returns the content of `file`, or writes into the folder that it gets.

    Verbs end with a status of `every`, and those named in `some` with their own.
    """

    def decorate(function: Callable[..., bytes | str | None]) -> Callable[..., bytes | str | None]:
        def build(folder: Path) -> None:
            content = function(folder) if inspect.signature(function).parameters else function()
            if content is not None:
                path = folder / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))

        statuses = {"": every, **some}
        ends = {name: each if isinstance(each, tuple) else (each,) for name, each in statuses.items()}
        table[function.__name__] = Attack(build, file, ends, alone)
        return function

    return decorate
