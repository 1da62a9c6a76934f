"""What operators compute: one plain function of arrays for every meaning that an operator ever had.

`opset/opsets/kernels/<family>.py` holds the kernels of the operators of that family. A function is found by its
decorator, and holds for every version from `since` on (without it, from the first), until a later one is registered:

    @kernel("Softmax", since=13)
    def softmax(x, *, axis): ...

It takes the node's inputs in order, None for one that is left out, and the attributes of the version by keyword, with
their defaults, None where there is none. It gives one value, or a tuple of several outputs; outputs that nobody asked
for may be left out at the end or be None. Where it has a keyword parameter `run`, that is the `Call`: how many outputs
are wanted, limits, chance. Inputs may be read-only and are never changed.

- a tensor is a numpy array (types that numpy lacks: ml_dtypes; strings: objects), a sequence a list, an optional its
  value or None, a map a dict;
- an attribute: int, float, str, tuples of these, an array (dense also where sparse), a TypeProto, or a graph;
- a kernel that runs a graph is a generator: `outputs = yield graph, [inputs]`.

A node that breaks a constraint of its operator's YAML raises `Violation("C1", "axis 2, rank 2")`; whatever numpy raises
is told with the node, its types and shapes.

Operators of one's own are registered in the same way, with their domain. A `kernels.py` beside the YAML of a domain is
run when an evaluation first needs an operator of it; what it registers is seen by evaluations with that folder alone.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from operator import index
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from opset.errors import Finding, RunError
from opset.opsets.registry import default_registry
from opset.schemas.names import normalised, shown

if TYPE_CHECKING:
    import numpy as np

Function = Callable[..., Any]
IGNORED = frozenset(("consumed_inputs",))
"""Attributes of the first versions that named buffers to reuse and never had a meaning."""

Table = dict[tuple[str, str], dict[int, "Kernel"]]
"""Kernels by (domain, operator), then by the version from which each holds."""

_kernels: Table = {}
_of_modules: dict[str, Table] = {}
"""What files of users register, by the name that their module has in sys.modules."""
_sources: dict[str, bytes] = {}
_running = RLock()


_TOLD = 500  # characters of a detail that are told


class Violation(Exception):
    """A node breaks the constraint of its operator with this label; `detail` says by what, and is cut where long."""

    def __init__(self, label: str, detail: str = "") -> None:
        self.label, self.detail = label, detail if len(detail) <= _TOLD else f"{detail[:_TOLD]}…"
        super().__init__(f"{label}: {self.detail}")


class Call(Protocol):
    """What a kernel may ask of the evaluation that it is part of."""

    outputs: int
    """How many outputs the node names, those left out between others included."""
    version: int
    """The version of the operator, its since_version."""

    def wants(self, output: int) -> bool:
        """Say whether the node names this output."""

    def reserve(self, count: int, dtype: np.dtype[Any] | type = ...) -> None:
        """Announce that `count` elements will be held, before that is done. Raises RunError R302 beyond the limit.

        Every kernel does so whose results or temporaries may be much larger than its inputs.
        """

    def hold(self, value: Any) -> None:
        """Count a value as live until the node is done. Raises RunError R302 beyond the limit.

        A kernel that runs graphs does so for the results that it keeps while it goes on.
        """

    def check_time(self) -> None:
        """Raise RunError R303 when time is up. Loops that may be long call it."""

    def rng(self, seed: float | None = None) -> np.random.Generator:
        """Give the node's source of chance: of its own seed, or of the evaluation's."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel's function and what it takes beside the inputs: attributes, and whether the `run`.

    `origin` is file:line of where it was registered; with `any_type`, types of outputs are not checked.
    """

    function: Function
    attributes: frozenset[str]
    any_attributes: bool
    takes_run: bool
    is_generator: bool
    origin: str
    any_type: bool


def kernel(
    *operators: str, since: int = 0, domain: str = "", any_type: bool = False
) -> Callable[[Function], Function]:
    """Register the kernel of operators from version `since` on, from the first on where nothing is said.

    With `any_type`, outputs may be of types that the version does not list. Registering a function again, as a notebook
    does, replaces it. Raises RunError R201 where there are two, and for an operator of the standard, which has its
    kernel.
    """
    caller = sys._getframe(1)
    module = caller.f_globals.get("__name__", "")
    origin = f"{caller.f_code.co_filename}:{caller.f_lineno}"
    table = _of_modules.get(module, _kernels)
    domain, since = normalised(domain), index(since)
    if not module.startswith(f"{__name__}."):
        _check_own(operators, domain, origin)

    def register(function: Function) -> Function:
        entry = _described(function, origin, any_type)
        for operator in operators:
            versions = table.setdefault((domain, operator), {})
            if since in versions and _name(versions[since].function) != _name(function):
                raise RunError(_two(domain, operator, since, versions[since], entry))
            versions[since] = entry
        return function

    return register


def _check_own(operators: Iterable[str], domain: str, origin: str) -> None:
    """Raise RunError R201 where one of the operators is the standard's."""
    taken = [each for each in operators if each in default_registry().operators(domain)]
    if taken:
        help = f'name the domain that yours is of: @kernel("{taken[0]}", domain="com.example")'
        raise RunError(
            Finding("R201", f"a kernel is registered for {each} of {shown(domain)}", origin, _STANDARD, help)
            for each in taken
        )


_STANDARD = "it is an operator of the standard, whose meaning is fixed"


def _name(function: Function) -> tuple[str | None, str | None]:
    return getattr(function, "__module__", None), getattr(function, "__qualname__", None)


def _two(domain: str, operator: str, since: int, first: Kernel, second: Kernel) -> Finding:
    start = f"version {since}" if since else "the first version"
    message = f"two kernels are registered for {operator} of {shown(domain)}, from {start} on"
    return Finding("R201", message, second.origin, f"the other is at {first.origin}", "keep one of them")


def _described(function: Function, origin: str, any_type: bool) -> Kernel:
    parameters = inspect.signature(function).parameters.values()
    keywords = {each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY}
    return Kernel(
        function,
        frozenset(keywords - {"run"}),
        any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters),
        "run" in keywords,
        inspect.isgeneratorfunction(inspect.unwrap(function)),
        origin,
        any_type,
    )


def find(domain: str, operator: str, since: int, family: str = "", own: Table | None = None) -> Kernel | None:
    """Give the kernel of an operator at a version, None if there is none; `own` are those of users' files.

    Raises RunError R201 where one of `own` was registered otherwise, too.
    """
    if family:
        load(family)
    key = (domain, operator)
    versions, added = _kernels.get(key, {}), (own or {}).get(key, {})
    if twice := sorted(versions.keys() & added.keys()):
        raise RunError(_two(domain, operator, each, versions[each], added[each]) for each in twice)
    versions = {**versions, **added}
    known = sorted(versions)
    position = bisect_right(known, since) - 1
    return versions[known[position]] if position >= 0 else None


def load(family: str) -> None:
    """Import a family's kernels, if it has any."""
    name = f"{__name__}.{family}"
    if family.isidentifier() and find_spec(name) is not None:
        importlib.import_module(name)


def written(families: list[str]) -> frozenset[tuple[str, str, int]]:
    """Give the (domain, operator, since) of every kernel of the families."""
    for family in families:
        load(family)
    return frozenset((*key, since) for key, versions in _kernels.items() for since in versions)


def of_files(files: Iterable[Path]) -> Table:
    """Give the kernels that users' files register. A file is run once, and again when its text has changed.

    Raises RunError R201 with all files that cannot be run, and where two register the same kernel.
    """
    merged: Table = {}
    findings: list[Finding] = []
    for file in files:
        try:
            table = _of_file(file)
        except RunError as error:
            findings += error.findings
            continue
        for (domain, operator), versions in table.items():
            known = merged.setdefault((domain, operator), {})
            findings += [
                _two(domain, operator, since, known[since], versions[since]) for since in known.keys() & versions.keys()
            ]
            known |= versions
    if findings:
        raise RunError(findings)
    return merged


def _of_file(file: Path) -> Table:
    name = str(file.resolve())  # no module that is imported can have this name
    with _running:
        try:
            source = file.read_bytes()
        except OSError as error:
            raise RunError(_unusable(file, error)) from error
        if _sources.get(name) != source:
            _run(name, file, source)
        return _of_modules[name]


def _run(name: str, file: Path, source: bytes) -> None:
    """Run a file as a module that registers kernels of its own. Raises RunError R201, and then nothing is kept."""
    module = sys.modules[name] = ModuleType(name)  # dataclasses, among others, look their module up
    module.__file__ = str(file)
    _of_modules[name] = {}
    _sources[name] = source
    try:
        exec(compile(source, str(file), "exec", dont_inherit=True), module.__dict__)
        _check_domain(shown(normalised(file.parent.name)), _of_modules[name])
    except BaseException as error:
        del sys.modules[name], _of_modules[name], _sources[name]
        if isinstance(error, RunError) or not isinstance(error, Exception | SystemExit):
            raise
        raise RunError(_unusable(file, error)) from error


def _check_domain(folder: str, table: Table) -> None:
    """Raise RunError R201 where a file has kernels of other domains than its folder's: nobody would find them."""
    findings = [
        Finding("R201", f"a kernel is registered for {operator} of {shown(domain)}", each.origin,
                f"the file is for {folder}", f'name its domain: @kernel("{operator}", domain="{folder}")')
        for (domain, operator), versions in table.items() if shown(domain) != folder for each in versions.values()
    ]  # fmt: skip
    if findings:
        raise RunError(findings)


def _unusable(file: Path, error: BaseException) -> Finding:
    """Give the finding of an error that a file raised, with the last line of the file that was run."""
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == str(file) else None
    trace = error.__traceback__
    while trace is not None and not isinstance(error, SyntaxError):
        if trace.tb_frame.f_code.co_filename == str(file):
            line = trace.tb_lineno
        trace = trace.tb_next
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    place = f"{file}:{line}" if line else str(file)
    why = f"{type(error).__name__}: {said[:500]}"
    help = "correct the file, or leave its folder out: docs/evaluating.md"
    return Finding("R201", f"the kernels of {file.parent.name} cannot be loaded", place, why, help)
