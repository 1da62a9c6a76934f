"""Functions that belong to operators: kernels, inference, adapters, gradients. They are registered by decorator.

One table holds the hooks of this package: by kind (the decorator's name), domain and operator, then by version. A
`Layer` names the places of some kinds: modules of a package, one for each family, and files of one name beside users'
YAML. What such a file registers goes into a table of its own: it is seen by those alone who use its
folder, and only for operators of its domain. A file is run only if its folder is trusted: the registry decides which.

Nothing here imports a layer: a family's module is imported, and a file run, when a function of it is first looked up.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.util import find_spec
from operator import index
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any, NamedTuple

from opset.errors import Finding, OpsetError, safe_text
from opset.opsets.faults import line_of, trace
from opset.opsets.registry import Registry, default_registry
from opset.schemas.names import domain_name, normalize_domain

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Hook:
    """A function of an operator; `origin` is file:line of its definition."""

    function: Function
    origin: str
    is_generator: bool

    @property
    def is_ours(self) -> bool:
        """Whether the function is of this package, so that its exceptions are no fault of a user's code."""
        return not self.origin or _is_ours(_unwrap(self.function))


Key = tuple[str, str, str]
"""Kind, domain and operator."""
Table = dict[Key, dict[int, Any]]
"""Hooks by key, then by the version that each is registered for."""
Describe = Callable[[Function, str, bool], Hook]
"""Makes a hook of a function, its origin, and whether it is a generator."""


class Layer(NamedTuple):
    """The file and package of hooks of some kinds, and their words in messages: `noun`, `error`, `code`, `guide`.

    A function holds from its version on, until a later one is registered; if `exact`, for its version alone.
    """

    file: str
    package: str
    noun: str
    error: type[OpsetError]
    code: str
    guide: str
    exact: bool = False

    @property
    def _noun_phrase(self) -> str:
        """The noun with its article."""
        return f"an {self.noun}" if self.noun[0] in "aeiou" else f"a {self.noun}"

    def register(
        self, kind: str, operators: tuple[str, ...], since: int, domain: str, describe: Describe = Hook
    ) -> Callable[[Function], Function]:
        """Return the decorator that registers a function for operators from version `since` on.

        Registering a function again, as a notebook does, replaces it.

        Args:
            kind: The name of the decorator for authors.
            describe: Makes the hook of a function.

        Raises:
            error: By the decorator, if another function is registered already, or the operator is one of the standard,
                whose functions are all in this package.
        """
        domain, since = normalize_domain(domain), index(since)

        def register(function: Function) -> Function:
            plain = _unwrap(function)
            hook = describe(function, origin_of(plain), inspect.isgeneratorfunction(plain))
            standard = [each for each in operators if default_registry().is_standard(each, domain)]
            if standard and not _is_ours(plain):
                why = "it is an operator of the standard, whose meaning is fixed"
                help = f'use a domain of your own: @{kind}(…, domain="com.example")'
                raise self.error(self._registration_finding(each, domain, hook, why, help) for each in standard)
            file = None if standard else _running.get()
            if file is not None and file.layer != self:  # nobody would look for it here
                message = f"{self._noun_phrase} is registered for {', '.join(operators)} in {file.path.name}"
                why = f"@{kind} is looked up in {self.file} alone"
                help = f"move it to {file.path.with_name(self.file)}"
                raise file.layer.error(Finding(file.layer.code, message, hook.origin, why, help))
            table = _TABLE if file is None else file.table
            for operator in operators:
                versions = table.setdefault((kind, domain, operator), {})
                if since in versions and _qualified_name(versions[since].function) != _qualified_name(function):
                    raise self.error(self._duplicate_finding(domain, operator, since, versions[since], hook))
                versions[since] = hook
            return function

        return register

    def find(self, kind: str, domain: str, operator: str, since: int, own: Table | None = None) -> Any | None:
        """Return the hook that an operator has at a version, None if there is none.

        Args:
            kind: The name of the decorator that registered it.
            own: The hooks of users' files, which are looked up beside registered ones.

        Raises:
            error: If a hook of `own` was registered in Python, too.
        """
        key = (kind, domain, operator)
        versions = _TABLE.get(key, {})
        if own:
            added = own.get(key, {})
            if twice := sorted(versions.keys() & added.keys()):
                pairs = [(each, versions[each], added[each]) for each in twice]
                raise self.error(self._duplicate_finding(domain, operator, *pair) for pair in pairs)
            versions = {**versions, **added}
        if self.exact:
            return versions.get(since)
        known = sorted(versions)
        position = bisect_right(known, since) - 1
        return versions[known[position]] if position >= 0 else None

    def load(self, family: str) -> None:
        """Import a family's module of this layer, if it has one."""
        if family.isidentifier():  # a user's family may have any name
            _import_if_present(f"{self.package}.{family}")

    def hook_versions(self, kind: str, families: Iterable[str]) -> frozenset[tuple[str, str, int]]:
        """Return the (domain, operator, version) of every hook of a kind in modules of the families and in Python."""
        for family in families:
            self.load(family)
        return versions_of(kind, _TABLE)

    def run_files(self, files: Iterable[Path]) -> Table:
        """Run users' files and return the hooks that they register.

        A file is run once, and again when its text has changed.

        Raises:
            error: With all files that cannot be run, and if two files register the same.
        """
        merged: Table = {}
        findings: list[Finding] = []
        for file in files:
            try:
                table = self._run_if_changed(file)
            except self.error as error:
                findings += error.findings
                continue
            for key, versions in table.items():
                merged_versions = merged.setdefault(key, {})
                findings += [
                    self._duplicate_finding(key[1], key[2], since, merged_versions[since], versions[since])
                    for since in merged_versions.keys() & versions.keys()
                ]
                merged_versions |= versions
        if findings:
            raise self.error(findings)
        return merged

    def _run_if_changed(self, file: Path) -> Table:
        """Return the hooks of a file, which is run unless it was run with the same text."""
        name = str(file.resolve())  # no module that is imported can have this name
        with _load_lock:
            try:
                source = file.read_bytes()
            except OSError as error:
                raise self.error(self._unusable_file_finding(file, error)) from error
            earlier = _files.get(name)
            if earlier is None or earlier.source != source:
                earlier = self._run_file(name, file, source)
            return earlier.table

    def _run_file(self, name: str, path: Path, source: bytes) -> _File:
        """Run a file as a module, and keep its hooks. Raises the layer's error, and keeps none, if it fails."""
        module = sys.modules[name] = ModuleType(name)  # dataclasses, among others, look their module up
        module.__file__ = str(path)
        vars(module)["print"] = _print_beside  # stdout may be where a model or a report goes
        file = _File(self, path, source, {})
        token = _running.set(file)
        try:
            exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
            self._check_domain(domain_name(normalize_domain(path.parent.name)), file.table)
        except BaseException as error:
            sys.modules.pop(name, None)
            _files.pop(name, None)
            # An exit that the file asks for is its fault; an interrupt is of a class derived from SystemExit.
            if isinstance(error, self.error) or not (isinstance(error, Exception) or type(error) is SystemExit):
                raise
            raise self.error(self._unusable_file_finding(path, error)) from error
        finally:
            _running.reset(token)
        _files[name] = file
        return file

    def _registration_finding(self, operator: str, domain: str, hook: Hook, why: str, help: str) -> Finding:
        """Return the finding for a hook of users that may not be registered for an operator."""
        message = f"{self._noun_phrase} is registered for {operator} of {domain_name(domain)}"
        return Finding(self.code, message, hook.origin, why, help)

    def _check_domain(self, folder: str, table: Table) -> None:
        """Raise `error` if a file has functions of other domains than its folder's: nobody would find them."""
        findings: list[Finding] = []
        for (kind, domain, operator), versions in table.items():
            for hook in versions.values():
                if domain_name(domain) != folder:
                    why = f"the file is for {folder}"
                    help = f'name its domain: @{kind}("{operator}", domain="{folder}")'
                    findings.append(self._registration_finding(operator, domain, hook, why, help))
        if findings:
            raise self.error(findings)

    def _duplicate_finding(self, domain: str, operator: str, since: int, first: Hook, second: Hook) -> Finding:
        """Return the finding that two hooks are registered for one version of an operator."""
        version = f"version {since}" if since else "the first version"
        which = f"for {version}" if self.exact else f"from {version} on"
        message = f"two {self.noun}s are registered for {operator} of {domain_name(domain)}, {which}"
        return Finding(self.code, message, second.origin, f"the other is at {first.origin}", "keep one of them")

    def _unusable_file_finding(self, file: Path, error: BaseException) -> Finding:
        """Return the finding of an error that a file raised, with the innermost line of the user's code."""
        trace(error)
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        why = f"{type(error).__name__}: {said[:500]}"
        message = f"the {self.noun}s of {file.parent.name} cannot be loaded"
        help = f"correct the file, or leave its folder out: {self.guide}"
        return Finding(self.code, message, line_of(error, str(file)) or str(file), why, help)


class _File(NamedTuple):
    """A user's file that was run: its text, and the hooks that it registers."""

    layer: Layer
    path: Path
    source: bytes
    table: Table


class Lookup:
    """The hooks of a layer for the operators of a registry; files of users are run when they are first needed."""

    def __init__(self, layer: Layer, registry: Registry) -> None:
        self._layer, self._registry = layer, registry
        self._own: dict[str, Table | OpsetError] = {}

    def find(self, kind: str, domain: str, operator: str, since: int, family: str = "") -> Any | None:
        """Return the hook that an operator of the registry has at a version, None if there is none.

        Raises the layer's error if the files of the operator's domain cannot be run, or register one twice.
        """
        if self._registry.is_standard(operator, domain):
            self._layer.load(family)
            return self._layer.find(kind, domain, operator, since)
        if domain not in self._own:
            try:
                self._own[domain] = self._layer.run_files(self._registry.files(domain, self._layer.file))
            except self._layer.error as error:
                self._own[domain] = error
        table = self._own[domain]
        if isinstance(table, OpsetError):
            raise self._layer.error(table.findings) from table
        return self._layer.find(kind, domain, operator, since, table)

    def left_out(self, domain: str) -> str:
        """Return why the hooks of a domain may be incomplete: a file that is not trusted was not run. Else ""."""
        files = self._registry.files_left_out(domain, self._layer.file)
        return f"{safe_text(files[0])} was not run, since nobody trusts its folder" if files else ""


TRUST = "name its folder with --schemas, or allow it: --allow-hooks, OPSET_ALLOW_HOOKS"
"""How a file that was left out is run."""
_TABLE: Table = {}
"""What the modules of this package register, and what users register in Python."""
_files: dict[str, _File] = {}
"""Users' files by the name that their module has in sys.modules."""
_running: ContextVar[_File | None] = ContextVar("_running", default=None)
"""The user's file that is being run, whose table takes what is registered."""
_load_lock = RLock()


def versions_of(kind: str, table: Table) -> frozenset[tuple[str, str, int]]:
    """Return the (domain, operator, version) of every hook of a kind in a table."""
    return frozenset((*key[1:], since) for key, versions in table.items() if key[0] == kind for since in versions)


def unregister(kind: str, domain: str, operator: str) -> None:
    """Remove the hooks that were registered in Python for an operator, as a test does with its own."""
    _TABLE.pop((kind, normalize_domain(domain), operator), None)


def _print_beside(*values: object, file: Any = None, **options: Any) -> None:
    """Print values as `print` does, but to stderr if no file is given."""
    print(*values, file=sys.stderr if file is None else file, **options)


def _unwrap(function: Function) -> Function:
    """Return the function inside of decorators and partials."""
    while True:
        inner = inspect.unwrap(function)
        inner = inner.func if isinstance(inner, partial) else inner
        if inner is function:
            return getattr(function, "__func__", function)
        function = inner


def _is_ours(function: Function) -> bool:
    """Whether a function is one of this package: only those can be of the standard's operators."""
    return str(getattr(function, "__module__", "")).partition(".")[0] == __name__.partition(".")[0]


def origin_of(function: Function) -> str:
    """Return file:line of the definition of a function; its name if it has none, as builtins."""
    code = getattr(function, "__code__", None)
    if code is not None:
        return f"{code.co_filename}:{code.co_firstlineno}"
    owner = function if hasattr(function, "__qualname__") else type(function)  # a builtin, or an object to call
    module = getattr(owner, "__module__", None)  # which methods of builtin types lack
    return f"{module}.{owner.__qualname__}" if module else owner.__qualname__


def _qualified_name(function: Function) -> tuple[str | None, str | None]:
    """Return module and qualified name, which are the same if a function is defined again."""
    return getattr(function, "__module__", None), getattr(function, "__qualname__", None)


@lru_cache(maxsize=256)
def _import_if_present(module: str) -> None:
    """Import a module, unless there is none."""
    if find_spec(module) is not None:
        importlib.import_module(module)
