"""The table of lint rules, the things that they check besides one operator, and their context."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opset.errors import Finding
from opset.rules import RuleTable
from opset.schemas.diff import Transition
from opset.schemas.lock import Lock
from opset.schemas.model import AttributeChange, OpSchema
from opset.schemas.names import domain_name
from opset.schemas.type_sets import TypeSets

if TYPE_CHECKING:
    from opset.schemas.selection import SelectionTarget
    from opset.schemas.yaml.loader import Operator

LINT: RuleTable[Finding] = RuleTable(
    "opset.schemas.lint",
    (
        *("rules", "example_rules", "status_rules", "implementation_rules"),
        *("lock_rules", "hook_rules", "body_rules", "body_types"),
    ),
)
"""The lint rules."""
Adapter = tuple[str, str, int, str]
"""Domain, operator, since_version and direction (`up` or `down`) of a written adapter."""
Kernel = tuple[str, str, int]
"""Domain, operator and version of a kernel, which serves later ones up to the next kernel; 0 stands for the first."""


@dataclass(frozen=True)
class InferenceHooks:
    """The inference of operators, as lint sees it.

    `functions` are (domain, operator, version) of inference functions; `misnamed` returns why the `shape` of a schema
    names no inference rule, "" if it names one.
    """

    functions: Collection[Kernel]
    misnamed: Callable[[OpSchema], str]


@dataclass(frozen=True)
class LintContext:
    """The facts that a lint rule may use besides the operator that it checks.

    `names` are (domain, name) of all known operators. `written`, `kernels` and `inferred` are the registered adapters,
    kernels and inference functions; None if they are not to be checked.
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


@dataclass(frozen=True)
class LintedFolder:
    """A folder of operators, or some of its files, that is checked as a whole.

    `base` are the type sets of the standard; `unread` the operators, as (domain, name), that could not be read
    completely; `complete` says that all type sets are known.
    """

    target: SelectionTarget
    base: TypeSets
    operators: Sequence[Operator]
    unread: Set[tuple[str, str]]
    complete: bool

    @property
    def whole_operators(self) -> list[Operator]:
        """The operators whose files were read without a fault."""
        return [operator for operator in self.operators if operator.whole]

    @property
    def domains(self) -> set[str]:
        """The domains of the operators whose files were read without a fault."""
        return {operator.domain for operator in self.whole_operators}

    def place_of_file(self, domain: str, name: str) -> str:
        """Return the path of an operator's file, as a location of findings.

        The result is "" if the file is not to be checked, or has faults. The file need not exist.
        """
        path = self.target.folder / domain_name(domain) / f"{name}.yaml"
        return str(path) if (domain, name) not in self.unread and self.target.has_file(path) else ""


def changed_attributes(operator: Operator) -> Iterator[tuple[str, AttributeChange, Transition]]:
    """Yield (name, declaration, transition) for each attribute that differs between two consecutive versions.

    The newer version's `change:` block has the declaration; it is AttributeChange() if the block has none for the
    attribute. An attribute that does not differ is yielded, too, if the block has a declaration for it.
    """
    for step in operator.transitions:
        changed = step.difference.get("attributes", {})
        for name in sorted(changed.keys() | step.change.attributes.keys()):
            yield name, step.change.attributes.get(name, AttributeChange()), step
