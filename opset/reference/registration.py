"""What operators compute: one plain function of arrays for every meaning that an operator ever had.

`opset/reference/kernels/<family>.py` holds the kernels of the operators of that family. A function is found by its
decorator, and holds for every version from `since` on (without it, from the first), until a later one is registered:

    @kernel("Softmax", since=13)
    def softmax(x, *, axis): ...

It takes the node's inputs in order, None for one that is left out, and the attributes of the version by keyword, with
their defaults, None where there is none. It returns one value, or a tuple of several outputs; outputs that are not used
may be left out at the end or be None. Where it has a keyword parameter `context`, that is the `KernelContext`: how many
outputs are wanted, limits, random numbers. Inputs may be read-only and are never changed.

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

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from opset.errors import RunError
from opset.opsets.hooks import Function as Function
from opset.opsets.hooks import Hook, Layer

if TYPE_CHECKING:
    import numpy as np

IGNORED = frozenset(("consumed_inputs",))
"""Attributes of the first versions that named buffers to reuse and never had a meaning."""

class KernelContext(Protocol):
    """What a kernel may ask of the evaluation that it is part of."""

    outputs: int
    """How many outputs the node names, those left out between others included."""
    version: int
    """The version of the operator, its since_version."""

    def wants(self, output: int) -> bool:
        """Return whether the node names this output."""

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
        """Return the node's source of chance: of its own seed, or of the evaluation's."""


@dataclass(frozen=True, slots=True)
class Kernel(Hook):
    """A kernel, and what it takes beside the inputs: attributes, any if `any_attributes`, and whether the `context`.

    With `any_type`, types of outputs are not checked.
    """

    attributes: frozenset[str]
    any_attributes: bool
    takes_context: bool
    any_type: bool


LAYER = Layer("kernels.py", "opset.reference.kernels", "kernel", RunError, "R201", "docs/evaluating.md")


def kernel(
    *operators: str, since: int = 0, domain: str = "", any_type: bool = False
) -> Callable[[Function], Function]:
    """Register the kernel of operators from version `since` on; without it, from the first on.

    With `any_type`, outputs may be of types that the version does not list. Registering a function again, as a notebook
    does, replaces it. Raises RunError R201 where there are two, and for an operator of the standard, which has its
    kernel.
    """
    return LAYER.register("kernel", operators, since, domain, partial(_described, any_type=any_type))


def _described(function: Function, origin: str, is_generator: bool, *, any_type: bool) -> Kernel:
    parameters = inspect.signature(function).parameters.values()
    keywords = {each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY}
    return Kernel(
        function,
        origin,
        is_generator,
        frozenset(keywords - {"context"}),
        any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters),
        "context" in keywords,
        any_type,
    )


def gradient(*operators: str, since: int = 0) -> Callable[[Function], Function]:
    """Register the derivative of operators of the standard from version `since` on: see `kernels/gradients.py`."""
    return LAYER.register("gradient", operators, since, "")


def written(families: Iterable[str]) -> frozenset[tuple[str, str, int]]:
    """Return the (domain, operator, since) of every kernel of the families."""
    return LAYER.registered("kernel", families)
