"""Rules about agreement: opsets with their changes, type sets, function bodies, operators of a family."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opset.errors import listing
from opset.opsets.registry import default_registry
from opset.plain_text import count_text
from opset.schemas.lint.body_types import refused_types
from opset.workflow.breaking.report import ERR, FORBIDDEN, INFO, NEW_VERSION, NONE, WARN
from opset.workflow.breaking.rules import BREAKING, OPSETS, TYPES, RuleFinding, StateComparison, VersionPair
from opset.workflow.breaking.states import Key, OperatorState, State


@BREAKING.rule("B181", VersionPair, requires=FORBIDDEN, clause=OPSETS)
def _version_unchanged(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding if a new version has the signature of the version before, and states no new meaning.

    The finding is an error if the versions are the same. It is only a warning if attributes, checked conditions, the
    shape rule or the text differ, or if the `change:` block says that something was clarified.
    """
    if pair.in_place or pair.difference or pair.new.change.meaning:
        return
    old, new = pair.old.schema, pair.new.schema
    help = f"remove version {new.since_version}, and edit the text of the version before"
    if any(getattr(old, key) != getattr(new, key) for key in ("attributes", "conditions", "shape")):
        help = "add 'meaning' to its change block"
        message = "the new version has the signature of the one before, and other conditions"
        message += ": say what changed in 'meaning'"
        yield RuleFinding(message, ("change",), WARN, NONE, help, always=True)
    elif pair.new.change.clarified or pair.old.docs != pair.new.docs:
        message = "the new version only clarifies, which needs none"
        yield RuleFinding(message, ("change",), WARN, NONE, help, always=True)
    else:
        yield RuleFinding("the new version is the same as the one before", ("since",), help=help, always=True)


@BREAKING.rule("B182", StateComparison, requires=NEW_VERSION, clause=TYPES)
def _type_set_edited(comparison: StateComparison) -> Iterator[RuleFinding]:
    """Yield a finding for each named type set of both states whose types were edited.

    A type set is a name for a list of types. The finding lists the released versions whose types changed with the set;
    if there are none, it is a notice.
    """
    old, new = comparison.old.sets, comparison.new.sets
    for name in sorted(old.keys() & new.keys()):
        came, went = set(new[name]) - set(old[name]), set(old[name]) - set(new[name])
        if not came and not went:
            continue
        edited = [each for each in comparison.version_pairs if each.in_place and _has_changed_types(each, came, went)]
        pairs = [each for each in edited if comparison.is_released(each.operator.key, each.new.since)]
        moved = [f"{pair.operator.title} {pair.new.since}" for pair in pairs]
        domain = pairs[0].operator.domain if pairs else next(iter(comparison.new.domains))
        tokens = [*(f"+{each}" for each in sorted(came)), *(f"-{each}" for each in sorted(went))]
        message = f"the type set {name!r} changed: {listing(tokens)}"
        place = f"{comparison.new.sets_path}:1:1" if comparison.new.sets_path else ""
        if not moved:
            message += "; no released version changed with it"
            yield RuleFinding(message, (), INFO, NONE, "", domain, place=place)
            continue
        message += f"; with it, {count_text(len(moved), 'released version')} changed"
        help = f"give the edited set a name of its own, as {name}_2, and use that in new versions"
        yield RuleFinding(f"{message}: {listing(moved, 5)}", (), "", "", help, domain, place=place)


def _has_changed_types(pair: VersionPair, came: set[str], went: set[str]) -> bool:
    """Return whether a type constraint of the newer version gained a type in `came` or lost a type in `went`.

    Sequences and other types that contain such a type count, too.
    """
    return any(
        any(each in token for each in (came if token[0] == "+" else went))
        for tokens in pair.difference.get("types", {}).values()
        for token in (tokens if isinstance(tokens, list) else ())
    )


@BREAKING.rule("B183", VersionPair, requires=NONE, clause=TYPES)
def _body_types(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each type that a version allows, but that an operator in its function body does not allow.

    There is one finding for each such type and body. Operators in the body are those of the standard. A version that
    both states have is checked only if its types, inputs or function bodies were edited.
    """
    old, new = pair.old.schema, pair.new.schema
    if pair.in_place and (old.types, old.function, old.inputs) == (new.types, new.function, new.inputs):
        return
    standard = default_registry()
    for body in new.function:
        for type_, message in refused_types(new, body, lambda domain, name: standard.versions(name, domain)):
            help = "leave the type out of the version, name the body's 'types', or 'emulate' it"
            where = f"the function body of opset {body.opset} cannot take {type_}"
            yield RuleFinding(f"{where}: {message}", ("function",), ERR, NONE, help, always=True)


@BREAKING.rule("B185", VersionPair, requires=FORBIDDEN, clause=OPSETS)
def _withdrawn_raised(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding if a new version withdraws an operator that the version before has withdrawn already."""
    if not pair.in_place and pair.old.schema.deprecated and pair.new.schema.deprecated:
        help = f"remove version {pair.new.since}: no model of its opset may use the operator"
        message = f"the operator is withdrawn since version {pair.old.since} and needs no other version"
        yield RuleFinding(message, ("since",), help=help, always=True)


@BREAKING.rule("B184", StateComparison, requires=NONE, clause=TYPES, severity=WARN)
def _siblings_differ(comparison: StateComparison) -> Iterator[RuleFinding]:
    """Yield findings on operators of one family that allowed the same types in the older state, and differ now.

    The types of inputs and outputs of the newest version are compared. Each finding names operators that no longer
    agree with most of the others. Operators that only one state has, or that are withdrawn in either, are left out.
    """
    groups: dict[Any, list[Key]] = {}
    for key, operator in comparison.old.operators.items():
        new_operator = comparison.new.operators.get(key)
        if new_operator and not operator.newest.schema.deprecated and not new_operator.newest.schema.deprecated:
            groups.setdefault((key[0], operator.family, _allowed_types(operator)), []).append(key)
    for keys in groups.values():
        now: dict[Any, list[OperatorState]] = {}
        for key in keys:
            operator = comparison.new.operators[key]
            now.setdefault(_allowed_types(operator), []).append(operator)
        if len(now) > 1:
            most = max(now.values(), key=len)
            yield from _sibling_differences(now.values(), most, comparison.old)


def _sibling_differences(groups: Any, most: list[OperatorState], old: State) -> Iterator[RuleFinding]:
    """Yield a finding for each group of operators that allows other types than the largest group.

    Groups whose operators have more or fewer inputs or outputs than the largest group are left out.

    Args:
        groups: Lists of operators; those in one list allow the same types.
        most: The largest group, which is one of `groups`.
        old: The older state, for messages.
    """
    others = listing([each.name for each in most], 5)
    arity = [*map(len, _allowed_types(most[0]))]
    for group in groups:
        first = group[0]
        if group is most or [*map(len, _allowed_types(first))] != arity:
            continue
        since = first.newest.since
        names = listing([each.name for each in group], 5)
        message = f"{names} allowed the same types as {others} at {old.name}, and no longer"
        help = f"give {others} a version with the same types, unless they differ on purpose"
        yield RuleFinding(message, (), "", "", help, first.domain, first.name, since, first.place(since, "types"))


def _allowed_types(operator: OperatorState) -> Any:
    """Return the allowed types of an operator's newest version: (types of each input, types of each output)."""
    schema = operator.newest.schema
    return tuple(tuple([schema.allowed_types(each) for each in side]) for side in (schema.inputs, schema.outputs))
