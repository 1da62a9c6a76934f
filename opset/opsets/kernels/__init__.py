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
"""

from __future__ import annotations

import importlib
import inspect
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np

Function = Callable[..., Any]
IGNORED = frozenset(("consumed_inputs",))
"""Attributes of the first versions that named buffers to reuse and never had a meaning."""

_kernels: dict[tuple[str, str], list[tuple[int, Kernel]]] = {}


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
    """A kernel's function and what it takes beside the inputs: attributes, and whether the `run`."""

    function: Function
    attributes: frozenset[str]
    any_attributes: bool
    takes_run: bool
    is_generator: bool


def kernel(*operators: str, since: int = 0, domain: str = "") -> Callable[[Function], Function]:
    """Register the kernel of operators from version `since` on, from the first on where nothing is said.

    Raises RuntimeError where there are two.
    """

    def register(function: Function) -> Function:
        entry = _described(function)
        for operator in operators:
            versions = _kernels.setdefault((domain, operator), [])
            if any(each == since for each, _ in versions):
                raise RuntimeError(f"two kernels for {operator} {since} of {domain or 'ai.onnx'}")
            versions.append((since, entry))
            versions.sort(key=lambda pair: pair[0])
        return function

    return register


def _described(function: Function) -> Kernel:
    parameters = inspect.signature(function).parameters.values()
    keywords = {each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY}
    return Kernel(
        function,
        frozenset(keywords - {"run"}),
        any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters),
        "run" in keywords,
        inspect.isgeneratorfunction(inspect.unwrap(function)),
    )


def find(domain: str, operator: str, since: int, family: str = "") -> Kernel | None:
    """Give the kernel of an operator at a version, None if there is none."""
    if family:
        load(family)
    versions = _kernels.get((domain, operator), [])
    position = bisect_right(versions, since, key=lambda pair: pair[0]) - 1
    return versions[position][1] if position >= 0 else None


def load(family: str) -> None:
    """Import a family's kernels, if it has any."""
    name = f"{__name__}.{family}"
    if find_spec(name) is not None:
        importlib.import_module(name)


def written(families: list[str]) -> frozenset[tuple[str, str, int]]:
    """Give the (domain, operator, since) of every kernel of the families."""
    for family in families:
        load(family)
    return frozenset((*key, since) for key, versions in _kernels.items() for since, _ in versions)
