"""Functions that belong to operators: registered by decorator, in this package and in files beside users' YAML.

A function holds from a version of its operator on, until a later one is registered. What a file `<domain>/<file>` of a
user's folder registers is seen by those alone who use that folder, and only for operators of that domain.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable
from operator import index
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Generic, Protocol, TypeVar

from opset.errors import Finding, OpsetError
from opset.opsets.registry import default_registry
from opset.schemas.names import normalised, shown


class Entry(Protocol):
    """What is kept of a function: `origin` is file:line of where it was registered."""

    @property
    def function(self) -> Callable[..., object]:
        """The function."""

    @property
    def origin(self) -> str:
        """Where it was registered."""


T = TypeVar("T", bound=Entry)
Key = tuple[str, str, str]
"""The decorator's name, domain and operator."""
Table = dict[Key, dict[int, T]]
"""Functions by key, then by the version from which each holds."""
_running = RLock()


class Hooks(Generic[T]):
    """The functions of one layer. `file` is what a user's file of them is called, `what` what each of them is."""

    def __init__(self, file: str, what: str, package: str, error: type[OpsetError], code: str, guide: str) -> None:
        self.file, self.what, self.package = file, what, package
        self.error, self.code, self.guide = error, code, guide
        self.table: Table[T] = {}
        self._of_modules: dict[str, Table[T]] = {}
        """What files of users register, by the name that their module has in sys.modules."""
        self._sources: dict[str, bytes] = {}

    def register(
        self, decorator: str, operators: tuple[str, ...], since: int, domain: str,
        describe: Callable[[Callable[..., object], str], T],
    ) -> Callable[[Callable[..., object]], Callable[..., object]]:
        """Return the decorator proper, for the caller's caller; `describe` makes an entry of a function and its origin.

        Registering a function again, as a notebook does, replaces it. Raises `error` where there are two, and for an
        operator of the standard, which has its function.
        """
        caller = sys._getframe(2)
        module = caller.f_globals.get("__name__", "")
        origin = f"{caller.f_code.co_filename}:{caller.f_lineno}"
        table = self._of_modules.get(module, self.table)
        domain, since = normalised(domain), index(since)
        if not f"{module}.".startswith(f"{self.package}."):
            self._check_own(decorator, operators, domain, origin)

        def register(function: Callable[..., object]) -> Callable[..., object]:
            entry = describe(function, origin)
            for operator in operators:
                versions = table.setdefault((decorator, domain, operator), {})
                if since in versions and _name(versions[since].function) != _name(function):
                    raise self.error(self._two(domain, operator, since, versions[since], entry))
                versions[since] = entry
            return function

        return register

    def _check_own(self, decorator: str, operators: Iterable[str], domain: str, origin: str) -> None:
        taken = [each for each in operators if each in default_registry().operators(domain)]
        if taken:
            help = f'name the domain that yours is of: @{decorator}("{taken[0]}", domain="com.example")'
            raise self.error(
                Finding(
                    self.code, f"a {self.what} is registered for {each} of {shown(domain)}", origin,
                    "it is an operator of the standard, whose meaning is fixed", help,
                )
                for each in taken
            )

    def _two(self, domain: str, operator: str, since: int, first: T, second: T) -> Finding:
        start = f"version {since}" if since else "the first version"
        message = f"two {self.what}s are registered for {operator} of {shown(domain)}, from {start} on"
        return Finding(self.code, message, second.origin, f"the other is at {first.origin}", "keep one of them")

    def find(
        self, decorator: str, domain: str, operator: str, since: int, own: Table[T] | None = None
    ) -> T | None:
        """Return the function of an operator at a version, None if there is none; `own` are those of users' files.

        Raises `error` where one of `own` was registered otherwise, too.
        """
        key = (decorator, domain, operator)
        versions = self.table.get(key, {})
        if own:
            added = own.get(key, {})
            if twice := sorted(versions.keys() & added.keys()):
                raise self.error(self._two(domain, operator, each, versions[each], added[each]) for each in twice)
            versions = {**versions, **added}
        known = sorted(versions)
        position = bisect_right(known, since) - 1
        return versions[known[position]] if position >= 0 else None

    def of_files(self, files: Iterable[Path]) -> Table[T]:
        """Return what users' files register. A file is run once, and again when its text has changed.

        Raises `error` with all files that cannot be run, and where two register the same.
        """
        merged: Table[T] = {}
        findings: list[Finding] = []
        for file in files:
            try:
                table = self._of_file(file)
            except self.error as error:
                findings += error.findings
                continue
            for key, versions in table.items():
                known = merged.setdefault(key, {})
                findings += [
                    self._two(key[1], key[2], since, known[since], versions[since])
                    for since in known.keys() & versions.keys()
                ]
                known |= versions
        if findings:
            raise self.error(findings)
        return merged

    def _of_file(self, file: Path) -> Table[T]:
        name = str(file.resolve())  # no module that is imported can have this name
        with _running:
            try:
                source = file.read_bytes()
            except OSError as error:
                raise self.error(self._unusable(file, error)) from error
            if self._sources.get(name) != source:
                self._run(name, file, source)
            return self._of_modules[name]

    def _run(self, name: str, file: Path, source: bytes) -> None:
        """Run a file as a module that registers functions of its own. Raises `error`, and then nothing is kept."""
        module = sys.modules[name] = ModuleType(name)  # dataclasses, among others, look their module up
        module.__file__ = str(file)
        self._of_modules[name] = {}
        self._sources[name] = source
        try:
            exec(compile(source, str(file), "exec", dont_inherit=True), module.__dict__)
            self._check_domain(shown(normalised(file.parent.name)), self._of_modules[name])
        except BaseException as error:
            del sys.modules[name], self._of_modules[name], self._sources[name]
            if isinstance(error, self.error) or not isinstance(error, Exception | SystemExit):
                raise
            raise self.error(self._unusable(file, error)) from error

    def _check_domain(self, folder: str, table: Table[T]) -> None:
        """Raise `error` where a file has functions of other domains than its folder's: nobody would find them."""
        findings = [
            Finding(self.code, f"a {self.what} is registered for {operator} of {shown(domain)}", each.origin,
                    f"the file is for {folder}", f'name its domain: @{decorator}("{operator}", domain="{folder}")')
            for (decorator, domain, operator), versions in table.items()
            if shown(domain) != folder
            for each in versions.values()
        ]  # fmt: skip
        if findings:
            raise self.error(findings)

    def _unusable(self, file: Path, error: BaseException) -> Finding:
        """Return the finding of an error that a file raised, with the last line of the file that was run."""
        line = error.lineno if isinstance(error, SyntaxError) and error.filename == str(file) else None
        trace = error.__traceback__
        while trace is not None and not isinstance(error, SyntaxError):
            if trace.tb_frame.f_code.co_filename == str(file):
                line = trace.tb_lineno
            trace = trace.tb_next
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        place = f"{file}:{line}" if line else str(file)
        why = f"{type(error).__name__}: {said[:500]}"
        message = f"the {self.what}s of {file.parent.name} cannot be loaded"
        return Finding(self.code, message, place, why, f"correct the file, or leave its folder out: {self.guide}")


def _name(function: Callable[..., object]) -> tuple[str | None, str | None]:
    return getattr(function, "__module__", None), getattr(function, "__qualname__", None)
