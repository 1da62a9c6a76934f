"""Registration of kernels: one plain function of arrays for each definition that an operator ever had.

`opset/reference/kernels/<family>.py` has the kernels of the operators of that family. A function is found by its
decorator, and holds for every version from `since` on (without it, from the first), until a later one is registered:

    @kernel("Softmax", since=13)
    def softmax_13(x, *, axis): ...

It takes the node's inputs in order, None for one that is left out, and the attributes of the version by keyword, with
their defaults, None if there is none. It returns one value, or a tuple of several outputs; outputs that the node
does not name may be omitted at the end or be None. If it has a keyword parameter `context`, that is the
`KernelContext`: which outputs are needed, limits, random numbers. Inputs are never changed; those of a user's kernel
are read-only.

- a tensor is a numpy array (types that numpy lacks: ml_dtypes; strings: objects), a sequence a list, an optional its
  value or None, a map a dict;
- an attribute is an int, float, str, a tuple of these, an array (dense, even if sparse), a TypeProto, or a `Graph`;
- a kernel that runs a graph is a generator: `outputs = yield graph, [inputs]`.

A kernel raises `Violation("C1", "axis 2, rank 2")` if a node breaks a constraint of its operator's YAML; whatever
numpy raises is reported with the node, its types and shapes.

Operators of a domain of your own are registered in the same way, with their domain. A `kernels.py` beside the YAML of a
domain is run when an evaluation first needs an operator of it; its kernels are used by evaluations with that
folder alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Protocol

from opset.errors import RunError
from opset.opsets.hooks import Function as Function
from opset.opsets.hooks import Hook, Layer
from opset.reference.value_info import ValueInfo

if TYPE_CHECKING:
    import numpy as np


class Graph(Protocol):
    """A graph among a node's attributes; a kernel that is a generator runs it: `outputs = yield graph, [inputs]`."""

    @property
    def inputs(self) -> Sequence[ValueInfo]:
        """The inputs as the graph declares them."""

    @property
    def outputs(self) -> Sequence[ValueInfo]:
        """The outputs as the graph declares them."""

    def describe_output(self, index: int) -> ValueInfo:
        """Return the declaration of an output, with its type and sizes by inference if they are not declared."""

    def takes(self, count: int) -> bool:
        """Whether the graph can be run with this number of inputs; those that have a default may be left out."""


GraphCalls = Generator[tuple[Graph, list[Any]], list[Any], Any]
"""What a kernel that runs graphs returns: it yields a graph and its inputs, is sent the outputs, returns its result."""


class KernelContext(Protocol):
    """Limits, random numbers and facts of the node, which an evaluation offers to a kernel that it runs."""

    @property
    def outputs(self) -> int:
        """How many outputs the node names, those left out between others included."""

    @property
    def version(self) -> int:
        """The version of the operator, its since_version."""

    def wants(self, output: int) -> bool:
        """Whether the node names this output."""

    def reserve(self, count: int, dtype: np.dtype[Any] | type = ...) -> None:
        """Announce an allocation of `count` elements; beyond the limit, the evaluation ends with R302.

        Every kernel calls it first whose results or temporaries may be much larger than its inputs.
        """

    def hold(self, value: Any) -> None:
        """Count a value as live until the node is done; beyond the limit, the evaluation ends with R302.

        A kernel that runs graphs calls it for the results that it keeps from one run to the next.
        """

    def carry(self, count: int) -> None:
        """Count bytes as live until the next call, or else until the node is done: values from one run to the next."""

    def check_time(self) -> None:
        """End the evaluation with R303 when time is up. Loops that may be long call it."""

    def rng(self, seed: float | None = None) -> np.random.Generator:
        """Return the node's generator of random numbers: of its own seed, or of the evaluation's."""


class GradientContext(KernelContext, Protocol):
    """A KernelContext that offers the kernel of Gradient the derivatives of a graph."""

    def gradients(self, graph: Graph, values: Sequence[Any], count: int) -> list[Any]:
        """Return the derivatives of a graph's first output by its first `count` inputs, None for 0.

        `values` are all outputs of a run of the graph. Raises RunError R201 if a node has no derivative.
        """


@dataclass(frozen=True, slots=True)
class Kernel(Hook):
    """A kernel, the attributes that it takes (any, if `any_attributes`), and whether it takes the `context`.

    If `any_type`, types of outputs are not checked; if `is_own`, the kernel is of a user, and each of its results is.
    `required` is the number of inputs that it has no default for.
    """

    attributes: frozenset[str]
    any_attributes: bool
    takes_context: bool
    any_type: bool
    is_own: bool
    required: int


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
LAYER = Layer("kernels.py", "opset.reference.kernels", "kernel", RunError, "R201", "opset explain evaluating")


def kernel(*operators: str, since: int = 0, domain: str = "", any_type: bool = False) -> Callable[[Function], Function]:
    """Register the kernel of operators from version `since` on; without it, from the first on.

    Registering a function again, as a notebook does, replaces it.

    Args:
        operators: names of the operators.
        since: first version for which the kernel holds.
        domain: domain of the operators.
        any_type: whether outputs may be of types that the version does not list.

    Raises:
        RunError: R201 for a second kernel, and for an operator of the standard, which has its kernel.
    """
    return LAYER.register("kernel", operators, since, domain, partial(_describe_kernel, any_type=any_type))


def _describe_kernel(function: Function, origin: str, is_generator: bool, *, any_type: bool) -> Kernel:
    """Return a function as a Kernel, by its keyword parameters."""
    parameters = inspect.signature(function).parameters.values()
    keywords = {parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY}
    is_own = not Hook(function, origin, is_generator).is_ours
    return Kernel(
        _guard(function) if is_own else function,
        origin,
        is_generator,
        frozenset(keywords - {"context"}),
        any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters),
        "context" in keywords,
        any_type,
        is_own,
        sum(each.kind in _POSITIONAL and each.default is each.empty for each in parameters),
    )


def _guard(function: Function) -> Function:
    """Return a user's kernel as a function that gives it read-only inputs, since other nodes may read them, too."""

    @wraps(function)
    def call(*inputs: Any, **keywords: Any) -> Any:
        """Call the kernel."""
        return function(*map(_read_only, inputs), **keywords)

    return call


def _read_only(value: Any) -> Any:
    """Return an array as a read-only view, a list or dict as a copy with such views, and any other value as it is."""
    if isinstance(value, list):
        return [*map(_read_only, value)]
    if isinstance(value, dict):
        return {key: _read_only(each) for key, each in value.items()}
    if not hasattr(value, "setflags"):
        return value
    view = value.view()
    view.setflags(write=False)
    return view


def gradient(*operators: str, since: int = 0) -> Callable[[Function], Function]:
    """Register the derivative of operators of the standard from version `since` on: see opset.reference.derivatives."""
    return LAYER.register("gradient", operators, since, "")


def kernel_keys(families: Iterable[str]) -> frozenset[tuple[str, str, int]]:
    """Return the (domain, operator, since) of every kernel of the families."""
    return LAYER.hook_versions("kernel", families)
