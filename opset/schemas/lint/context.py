"""What lint rules look at, and the form of a rule."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Set
from dataclasses import dataclass

from opset.errors import Finding
from opset.schemas.lock import Lock
from opset.schemas.model import OpSchema
from opset.schemas.type_sets import TypeSets
from opset.schemas.yaml.loader import Operator

Adapter = tuple[str, str, int, str]
"""Domain, operator, since_version and direction (`up` or `down`) of a written adapter."""
Kernel = tuple[str, str, int]
"""Domain, operator and version of a kernel, which serves later ones up to the next kernel; 0 stands for the first."""


@dataclass(frozen=True)
class InferenceHooks:
    """How outputs are inferred: `functions` by domain, operator and version; `misnamed` says what is wrong with a rule.

    It takes a schema whose `shape` is set, and gives "" where nothing is.
    """

    functions: Collection[Kernel]
    misnamed: Callable[[OpSchema], str]


@dataclass(frozen=True)
class LintContext:
    """What a rule may look at besides one operator."""

    sets: TypeSets
    lock: Lock
    names: Set[tuple[str, str]]
    written: Collection[Adapter] | None
    kernels: Collection[Kernel] | None
    inferred: InferenceHooks | None
    examples_required: bool
    """Whether examples are required: in the standard, and in a folder where an operator has them."""
    unknown: Collection[str] = ()
    """Domains whose written adapters are not known."""


Rule = Callable[[Operator, LintContext], Iterator[Finding]]
