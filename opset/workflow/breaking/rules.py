"""Rules of breaking changes: each has an id, a name, a requirement, and a clause of the standard behind it.

A rule compares one aspect of two states, and yields findings. There are three kinds, by their argument: a
`VersionPair`, an operator in both states (`OperatorPair`), or a whole `StateComparison`. A version pair is one version
before and after an edit (`in_place`), of which a break is an error; or a new version with the one before it: then the
version number was raised as the rule requires, and the finding is a notice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from opset.budget import Budget, Limits
from opset.opsets.registry import Registry
from opset.rules import Rule, RuleTable
from opset.schemas.diff import signature_diff
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name, normalize_domain
from opset.workflow.breaking.report import ERR, INFO, Break
from opset.workflow.breaking.states import Key, OperatorState, State, Version

PARAMETERS = "adding, removing or reordering inputs or outputs is a breaking change"
ATTRIBUTES = (
    "adding, removing or renaming an attribute is a breaking change, even if it is optional and its default keeps "
    "the meaning"
)
ATTRIBUTE_TYPES = "changing the type of an attribute is a breaking change"
TYPES = "adding or removing a type that an input or output supports is a breaking change"
BEHAVIOUR = "a change of behavior is a breaking change, even if the signature stays the same"
CLARIFIED = "clarifying an ambiguous text to match implementations is not a breaking change"
OPSETS = "an operator set gets a new version if an operator is added, is removed or changes its meaning"
IMMUTABLE = "a released version of an operator is immutable"
CLAUSES = (PARAMETERS, ATTRIBUTES, ATTRIBUTE_TYPES, TYPES, BEHAVIOUR, CLARIFIED, OPSETS, IMMUTABLE)
"""Section "Operator versioning" and "Operator sets" of the versioning document of ONNX, in our words."""


class RuleFinding(NamedTuple):
    """A finding of a rule; `keys` is the path of YAML keys to its place in the new version.

    Fields that are empty take the values of the rule or of the compared version.
    """

    message: str
    keys: tuple[str, ...] = ()
    severity: str = ""
    requires: str = ""
    help: str = ""
    domain: str = ""
    operator: str = ""
    version: int = 0
    place: str = ""
    always: bool = False
    """Whether a finding about a new version is as grave as one about an edit."""


BREAKING: RuleTable[RuleFinding] = RuleTable(
    "opset.workflow.breaking", ("inventory", "signature", "behaviour", "consistency", "example_rule"), severity=ERR
)
"""The rules; what a rule checks is a VersionPair, an OperatorPair or a StateComparison."""


@dataclass(frozen=True)
class VersionPair:
    """Two versions to compare: one version in both states (`in_place`), or a new version and the one before it."""

    old: Version
    new: Version
    old_operator: OperatorState
    operator: OperatorState
    in_place: bool

    @cached_property
    def difference(self) -> dict[str, Any]:
        """The differences of the two signatures in the form of a `change:` block; {} if there are none.

        An example is {"inputs": {"added": ["bias"]}, "types": {"T": ["+tensor(float16)"]}}.
        """
        return signature_diff(self.old.schema, self.new.schema)

    def side_difference(self, side: str, key: str) -> Any:
        """Return an entry of the difference of inputs or of outputs, as a `change:` block has it; {} if there is none.

        `side` is "inputs" or "outputs"; `key` is "added", "removed", "renamed", "order", or a property such as "arity".
        """
        return self.difference.get(side, {}).get(key, {})

    @cached_property
    def attribute_differences(self) -> Mapping[str, Any]:
        """The differences of attributes by name, as a `change:` block has them; {} if there are none.

        An example is {"alpha": {"default": [1.0, 2.0]}}.
        """
        differences: Mapping[str, Any] = self.difference.get("attributes", {})
        return differences

    @cached_property
    def renamed_attributes(self) -> dict[str, str]:
        """The new name of each renamed attribute, by its old name.

        A removed attribute is renamed if the `change:` block of a new version says so. It is also renamed if exactly
        one added attribute is equal in everything except the name. No two attributes get the same new name.
        """
        before, after = self.old.schema.attributes, self.new.schema.attributes
        gone = [name for name in before if name not in after]
        came = [name for name in after if name not in before]
        declared = {} if self.in_place else {each.renamed: name for name, each in self.new.change.attributes.items()}
        renamed = {old: declared[old] for old in gone if declared.get(old) in came}
        for old in gone:
            same = repr(before[old][1:])  # -0.0 is not 0.0
            alike = [name for name in came if name not in renamed.values() and repr(after[name][1:]) == same]
            if old not in renamed and len(alike) == 1:
                renamed[old] = alike[0]
        return renamed


@dataclass(frozen=True)
class OperatorPair:
    """An operator in both states."""

    old: OperatorState
    new: OperatorState

    @cached_property
    def version_renumbering(self) -> dict[int, int]:
        """The new number of each renumbered version, by its old number.

        The old number is only in the older state. The new number is only in the newer state, and has the same
        signature. If several new numbers fit, each is used once, in the order of the versions.
        """
        came: dict[str, list[int]] = {}
        for since, version in self.new.versions.items():
            if since not in self.old.versions:
                came.setdefault(signature_key(version.schema), []).append(since)
        numbers: dict[int, int] = {}
        for since, version in self.old.versions.items():
            if since not in self.new.versions and (same := came.get(signature_key(version.schema))):
                numbers[since] = same.pop(0)
        return numbers


def signature_key(schema: OpSchema) -> str:
    """Return a text that is equal for schemas with the same inputs, outputs, attributes, types and flags.

    Names of operators, versions, order of attributes, and constraints of values do not count.
    """
    sides = [[each[:5] for each in side] for side in (schema.inputs, schema.outputs)]
    attributes = sorted((name, repr(each[1:4])) for name, each in schema.attributes.items())
    flags = schema.deprecated, schema.experimental, schema.determinism
    return repr((sides, attributes, sorted(schema.types.items()), flags))


@dataclass(frozen=True)
class StateComparison:
    """Two states, and how they are compared.

    Attributes:
        old: Older state.
        new: Newer state.
        partial: Whether the older state has some operators only, and says nothing about the others.
        registry: Operators of the newer state with their kernels, to run examples; None runs none.
        locked: Whether versions outside of the older state's lock are in development.
        budget: Work that the examples may take together.
    """

    old: State
    new: State
    partial: bool = False
    registry: Registry | None = None
    locked: bool = False
    budget: Budget = field(default_factory=lambda: Budget(Limits()))

    @cached_property
    def common_operators(self) -> tuple[OperatorPair, ...]:
        """The operators that both states have."""
        keys = sorted(self.old.operators.keys() & self.new.operators.keys())
        return tuple([OperatorPair(self.old.operators[key], self.new.operators[key]) for key in keys])

    @cached_property
    def by_key(self) -> Mapping[Key, OperatorPair]:
        """The operators that both states have, by (domain, name)."""
        return {each.new.key: each for each in self.common_operators}

    @cached_property
    def new_operators(self) -> Mapping[tuple[str, int, str], Sequence[str]]:
        """The names of operators that only the new state has, by (domain, newest version, signature).

        The signature is the text that `signature_key` returns.
        """
        names: dict[tuple[str, int, str], list[str]] = {}
        for key, operator in self.new.operators.items():
            if key not in self.old.operators:
                newest = operator.newest.schema
                names.setdefault((key[0], newest.since_version, signature_key(newest)), []).append(key[1])
        return names

    @cached_property
    def changed_operators(self) -> tuple[OperatorPair, ...]:
        """The operators of both states that may differ: those that are not the same Python object in both."""
        return tuple([each for each in self.common_operators if each.old is not each.new])

    @cached_property
    def changed_function_files(self) -> Mapping[str, frozenset[str]]:
        """The names of Python files beside the YAML that differ between the states, by domain.

        The result is {} if the Python files of one state are unknown.
        """
        old, new = self.old.functions, self.new.functions
        changed: dict[str, set[str]] = {}
        if old is None or new is None:
            return {}
        for path in {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}:
            domain, _, file = path.partition("/")
            changed.setdefault(normalize_domain(domain), set()).add(file)
        return {domain: frozenset(files) for domain, files in changed.items()}

    @cached_property
    def version_pairs(self) -> tuple[VersionPair, ...]:
        """All pairs of versions to compare, of operators that may differ.

        A version that both states have is paired across the states. A new version is paired with the one before it in
        the newer state.
        """
        return tuple([pair for each in self.changed_operators for pair in _version_pairs(each)])

    @cached_property
    def added_versions(self) -> tuple[tuple[Key, int], ...]:
        """The versions that only the new state has, as (operator, since_version).

        Versions of domains that the old state does not have are left out. If the old state has some operators only
        (`partial`), other operators are left out, too.
        """
        added: list[tuple[Key, int]] = []
        for key, operator in sorted(self.new.operators.items()):
            old = self.old.operators.get(key)
            if key[0] in self.old.domains and not (self.partial and old is None):
                added += [(key, since) for since in operator.versions if old is None or since not in old.versions]
        return tuple(added)

    def newest_released(self, key: Key) -> int:
        """Return the newest released version of the operator's domain in the old state; 0 if none is released.

        `key` is (domain, name) of the operator. If the old state has only some operators (`partial`), the newest
        version of this operator is returned instead; KeyError is raised if the old state lacks the operator.
        """
        if self.partial:
            return self.old.operators[key].newest.since
        return self._newest_by_domain.get(key[0], 0)

    @cached_property
    def _newest_by_domain(self) -> dict[str, int]:
        """The newest released opset of each domain in the old state, 0 if none is released."""
        newest: dict[str, int] = {}
        for key, operator in self.old.operators.items():
            released = [since for since in operator.versions if self.is_released(key, since)]
            newest[key[0]] = max(newest.get(key[0], 0), *released, 0)
        return newest

    def is_released(self, key: Key, since: int) -> bool:
        """Return whether a version of an operator counts as released in the old state.

        If the comparison's `locked` is False, every version is released. If the old state has no lock, every version is
        released, too. In any other case, only a version in the lock is released.

        `key` is (domain, name) of the operator, and `since` is the version.
        """
        if not self.locked or self.old.lock is None:
            return True
        return str(since) in self.old.lock.get(domain_name(key[0]), {}).get(key[1], {})

    def is_in_development(self, finding: Break) -> bool:
        """Return whether a finding is about a version that is not released yet, so that it may be edited or removed.

        A version is not released if the old state has it, but the lock of the old state does not. For a finding about a
        whole operator (version 0), the result is True if no version of the operator is released. If the comparison's
        `locked` is False, every version counts as released, and the result is False.
        """
        key = finding.domain, finding.operator
        old = self.old.operators.get(key)
        if old is None:
            return False
        if not finding.version:
            return not any(self.is_released(key, since) for since in old.versions)
        return finding.version in old.versions and not self.is_released(key, finding.version)


def _version_pairs(operators: OperatorPair) -> Iterator[VersionPair]:
    """Yield the pairs of versions of an operator to compare.

    A version that both states have is paired across the states, unless it is the same Python object in both, and so
    cannot have been edited. A version that only the newer state has is paired with the one before it in that state, if
    there is one.
    """
    old, new = operators.old, operators.new
    before = None
    for since, version in new.versions.items():
        if since in old.versions:
            if old.versions[since] is not version:
                yield VersionPair(old.versions[since], version, old, new, True)
        elif before is not None:
            yield VersionPair(before, version, new, new, False)
        before = version


def breaks(comparison: StateComparison, codes: Set[str] | None) -> Iterator[Break]:
    """Yield the findings of rules about two states; they may repeat.

    First come the findings about the states as a whole, then about each operator, then about each pair of versions.
    `codes` are the rules to apply, such as {"B121"}; None applies all.
    """
    for rule, finding in BREAKING.apply(comparison, codes=codes):
        yield _make_break(rule, finding)
    for operators in comparison.changed_operators:
        for rule, finding in BREAKING.apply(operators, codes=codes):
            located = finding.place or operators.new.place(finding.version, *finding.keys)
            named = finding._replace(domain=operators.new.domain, operator=operators.new.name, place=located)
            yield _make_break(rule, named)
    for pair in comparison.version_pairs:
        for rule, finding in BREAKING.apply(pair, codes=codes):
            yield _pair_break(rule, pair, finding)


def _pair_break(rule: Rule[RuleFinding], pair: VersionPair, finding: RuleFinding) -> Break:
    """Return a rule's finding about two versions as a Break, with the operator, its version and the place.

    `pair` has a version before and after an edit, or a new version and the version before it. For a new version, the
    Break is only a notice, except if `finding.always` is True.
    """
    schema = pair.new.schema
    since = schema.since_version
    located = pair.operator.place(since, *finding.keys)
    named = finding._replace(domain=schema.domain, operator=schema.name, version=since, place=located)
    if pair.in_place:
        return _make_break(rule, named._replace(help=finding.help or mending_help(pair.old_operator)))
    return _make_break(rule, named if finding.always else named._replace(severity=INFO))


def mending_help(old: OperatorState) -> str:
    """Return the help of the finding that a released version was edited.

    It says to restore the version, and to put the edit into a new one. `old` is the operator in the older state.
    """
    restore = f"restore it ({old.restore})" if old.restore else "restore it"
    return f"{restore}, and put the edit into a new version: opset bump {old.title}"


def _make_break(rule: Rule[RuleFinding], finding: RuleFinding) -> Break:
    """Return a rule's finding as a Break; severity and requirement are the rule's if the finding has none."""
    severity = finding.severity or rule.severity
    requires = finding.requires or rule.requires
    subject = finding.domain, finding.operator, finding.version
    return Break(rule.code, severity, requires, *subject, finding.message, finding.place, rule.clause, finding.help)
