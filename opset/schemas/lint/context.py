"""The type of lint rules, and their context besides one operator."""

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
    """The inference of operators: registered `functions` by domain, operator and version, and a check of rules.

    `misnamed` takes a schema with a `shape` and returns why it names no rule, "" if it does.
    """

    functions: Collection[Kernel]
    misnamed: Callable[[OpSchema], str]


@dataclass(frozen=True)
class LintContext:
    """The context of a lint rule: everything but the operator that it checks.

    `names` are the known operators by domain and name; `written`, `kernels` and `inferred` the registered adapters,
    kernels and inference functions, None if they are not checked.
    """

    sets: TypeSets
    lock: Lock
    names: Set[tuple[str, str]]
    written: Collection[Adapter] | None
    kernels: Collection[Kernel] | None
    inferred: InferenceHooks | None
    examples_required: bool
    """Whether examples are required: in the standard, and in a folder with at least one operator that has some."""
    unknown: Collection[str] = ()
    """Domains whose written adapters are not known."""


Rule = Callable[[Operator, LintContext], Iterator[Finding]]
