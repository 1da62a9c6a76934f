"""Rules about the signature of a version: inputs, outputs, attributes and types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from opset.errors import listing
from opset.schemas.constraints.evaluation import evaluate, is_met
from opset.schemas.constraints.grammar import parse_range
from opset.schemas.constraints.signature import DATA_TYPE
from opset.schemas.model import Attribute, Parameter
from opset.schemas.type_sets import shortest_expressions
from opset.workflow.breaking.report import INFO, NEW_VERSION, NONE, WARN
from opset.workflow.breaking.rules import (
    ATTRIBUTE_TYPES,
    ATTRIBUTES,
    BEHAVIOUR,
    BREAKING,
    CLARIFIED,
    PARAMETERS,
    TYPES,
    RuleFinding,
    VersionPair,
)

SIDES = ("inputs", "outputs")
MOST_RANK = 9
"""Ranks for which ranges are compared."""


# Inputs and outputs.


@BREAKING.rule("B111", VersionPair, requires=NEW_VERSION, clause=PARAMETERS)
def _parameter_added(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each input or output that was added; a renamed one is not."""
    for side in SIDES:
        for name in pair.side_difference(side, "added"):
            option = next(each.option for each in getattr(pair.new.schema, side) if each.name == name)
            yield RuleFinding(f"the {option} {side[:-1]} {name!r} was added", (side, name))


@BREAKING.rule("B112", VersionPair, requires=NEW_VERSION, clause=PARAMETERS)
def _parameter_removed(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each input or output that was removed."""
    for side in SIDES:
        for name in pair.side_difference(side, "removed"):
            yield RuleFinding(f"the {side[:-1]} {name!r} was removed", (side,))


@BREAKING.rule("B113", VersionPair, requires=NEW_VERSION, clause=PARAMETERS)
def _parameter_renamed(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each input or output that has another name at the same position.

    It is renamed only if its old name is nowhere in the newer version, and its new name nowhere in the older version.
    """
    for side in SIDES:
        for old, new in pair.side_difference(side, "renamed").items():
            yield RuleFinding(f"the {side[:-1]} {old!r} is called {new!r} now", (side, new))


@BREAKING.rule("B114", VersionPair, requires=NEW_VERSION, clause=PARAMETERS)
def _parameter_reordered(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding if the inputs that both versions have are in another order; the same for outputs.

    Yield another finding if an input or output was added before an old one, since the position of the old one moves.
    This finding names only the first such addition.
    """
    for side in SIDES:
        if order := pair.side_difference(side, "order"):
            yield RuleFinding(f"the {side} that stayed are in the order {listing(order)} now", (side,))
        names = [each.name for each in getattr(pair.new.schema, side)]
        added = set(pair.side_difference(side, "added"))
        behind = next((name for index, name in enumerate(names) if name in added and set(names[index:]) - added), None)
        if behind is not None:
            yield RuleFinding(f"the {side[:-1]} {behind!r} came before others, whose positions moved", (side, behind))


@BREAKING.rule("B115", VersionPair, requires=NEW_VERSION, clause=PARAMETERS)
def _parameter_option(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each input or output of both versions that became required, optional or variadic."""
    for side in SIDES:
        for name, (old, new) in pair.side_difference(side, "arity").items():
            yield RuleFinding(f"the {side[:-1]} {name!r} was {old} and is {new} now", (side, name))


@BREAKING.rule("B116", VersionPair, requires=NEW_VERSION, clause=PARAMETERS)
def _variadic_arity(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each change of `min_arity` or `homogeneous` of a variadic input or output.

    `min_arity` is the least number of values. `homogeneous` says whether all values must have one type.
    """
    for side in SIDES:
        for name, (fewest, least) in pair.side_difference(side, "min_arity").items():
            moved = "may be fewer" if least < fewest else "have to be more"
            yield RuleFinding(f"values of the variadic {side[:-1]} {name!r} {moved}: {fewest} -> {least}", (side, name))
        for name, (_, one) in pair.side_difference(side, "homogeneous").items():
            now = "have to be of one type" if one else "may be of several types"
            yield RuleFinding(f"values of the variadic {side[:-1]} {name!r} {now} now", (side, name))


@BREAKING.rule("B117", VersionPair, requires=NONE, clause=CLARIFIED, severity=INFO)
def _differentiable(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each input or output of an edited version that became differentiable, or is no longer.

    Inputs and outputs are matched by name. A new version is not compared.
    """
    if not pair.in_place:
        return
    for side in SIDES:
        before = {each.name: each for each in getattr(pair.old.schema, side)}
        for each in getattr(pair.new.schema, side):
            old = before.get(each.name)
            if old is not None and old.differentiable != each.differentiable:
                now = "is" if each.differentiable else "is not"
                yield RuleFinding(f"{each.name!r} {now} differentiable now", (side, each.name))


# Attributes.


@BREAKING.rule("B121", VersionPair, requires=NEW_VERSION, clause=ATTRIBUTES)
def _attribute_added(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each attribute that was added; attributes that were only renamed are left out."""
    for name, facets in pair.attribute_differences.items():
        if "added" in facets and name not in pair.renamed_attributes.values():
            default = f" with the default {_default_text(facets['default'])}" if "default" in facets else ""
            required = "required " if facets.get("required") else ""
            yield RuleFinding(f"the {required}attribute {name!r} was added{default}", ("attributes", name))


@BREAKING.rule("B122", VersionPair, requires=NEW_VERSION, clause=ATTRIBUTES)
def _attribute_removed(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each attribute that was removed; attributes that were only renamed are left out."""
    for name, facets in pair.attribute_differences.items():
        if "removed" in facets and name not in pair.renamed_attributes:
            yield RuleFinding(f"the attribute {name!r} was removed", ("attributes",))


@BREAKING.rule("B123", VersionPair, requires=NEW_VERSION, clause=ATTRIBUTES)
def _attribute_renamed(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each attribute that was renamed.

    An attribute was renamed if the `change:` block says so, or if an old and a new attribute differ only in the name.
    """
    for old, new in pair.renamed_attributes.items():
        yield RuleFinding(f"the attribute {old!r} is called {new!r} now", ("attributes", new))


@BREAKING.rule("B124", VersionPair, requires=NEW_VERSION, clause=ATTRIBUTE_TYPES)
def _attribute_type(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each attribute whose type changed, such as from int to float."""
    for name, old, new in _changed_properties(pair, "type"):
        yield RuleFinding(f"the type of the attribute {name!r} changed: {old} -> {new}", ("attributes", name, "type"))


@BREAKING.rule("B125", VersionPair, requires=NEW_VERSION, clause=BEHAVIOUR)
def _attribute_default(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each attribute of both versions whose default value changed, was added or was removed.

    If the attribute's type changed as well, equal numbers, such as 2 and 2.0, are the same default.
    """
    for name, old, new in _changed_properties(pair, "default"):
        if "type" in pair.attribute_differences[name] and old == new:  # 2.0 is 2 where the attribute is an int
            continue
        message = f"the default of the attribute {name!r} changed: {_default_text(old)} -> {_default_text(new)}"
        yield RuleFinding(message, ("attributes", name, "default"))


@BREAKING.rule("B126", VersionPair, requires=NEW_VERSION, clause=ATTRIBUTES)
def _attribute_required(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each attribute that became required, or may be left out now."""
    for name, _, required in _changed_properties(pair, "required"):
        message = f"the attribute {name!r} {'has to be given' if required else 'may be left out'} now"
        yield RuleFinding(message, ("attributes", name, "required"))


@BREAKING.rule("B127", VersionPair, requires=NEW_VERSION, clause=BEHAVIOUR)
def _attribute_values(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each changed property of an attribute that decides its legal values: choices, range or kind.

    Only attributes that both versions have are compared; one that was renamed counts as the same. The order of choices
    does not count. Choices that name type constraints may change from "T" to "T1" if the type of an input or
    output changes likewise.
    """
    back = {new: old for old, new in pair.renamed_attributes.items()}
    for name, new in pair.new.schema.attributes.items():
        old = pair.old.schema.attributes.get(back.get(name, name))
        if old is None:
            continue
        for key in ("choices", "range", "kind"):
            before, after = getattr(old, key), getattr(new, key)
            is_same = before == after
            if key == "choices" and not is_same:
                is_same = {*map(repr, before)} == {*map(repr, after)} or _follows_type_constraints(pair, old, new)
            if not is_same:
                message = f"{key!r} of the attribute {name!r} {_legality_change(key, old, new)}: "
                message += f"{_values_text(before)} -> {_values_text(after)}"
                yield RuleFinding(message, ("attributes", name, key))


def _follows_type_constraints(pair: VersionPair, old: Attribute, new: Attribute) -> bool:
    """Return whether an attribute's choices, names of type constraints, changed only in step with inputs and outputs.

    For example, the choice "T" became "T1", and so did the type of an input. This must hold for each choice, and no
    choice may be added or removed.
    """
    if old.kind != DATA_TYPE or new.kind != DATA_TYPE:
        return False
    moved = {(before.type, after.type) for _, _, before, after in _retyped_parameters(pair)}
    return len(old.choices) == len(new.choices) and moved.issuperset(zip(old.choices, new.choices, strict=True))


@BREAKING.rule("B128", VersionPair, requires=NONE, clause=CLARIFIED, severity=WARN)
def _attribute_label(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each attribute of both versions whose illegal values break another constraint than before.

    Constraints are compared by label, such as C2. A label that was added or removed counts.
    """
    for name, new in pair.new.schema.attributes.items():
        old = pair.old.schema.attributes.get(name)
        if old is not None and old.constraint != new.constraint:
            after, before = _values_text(new.constraint), _values_text(old.constraint)
            message = f"illegal values of {name!r} break {after}, and broke {before}"
            yield RuleFinding(message, ("attributes", name, "constraint"))


def _changed_properties(pair: VersionPair, key: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield (name, old value, new value) for each attribute of both versions whose property `key` changed.

    `key` is "type", "default" or "required". A default of None means that there is none.
    """
    for name, facets in pair.attribute_differences.items():
        if key in facets and not {"added", "removed"} & facets.keys():
            yield name, *facets[key]


def _default_text(value: Any) -> str:
    """Return the default of an attribute as Python writes it, such as "'linear'" or "1.0"; "none" if it has none."""
    return "none" if value is None else repr(value)


def _values_text(value: Any) -> str:
    """Return choices, a kind, a range or the label of a constraint as text.

    An empty tuple of choices gives "anything". An empty kind, range or label gives "nothing".
    """
    if isinstance(value, tuple):
        return f"[{listing(list(map(str, value)))}]" if value else "anything"
    return repr(value) if value else "nothing"


def _legality_change(key: str, old: Attribute, new: Attribute) -> str:
    """Return how the legal values of an attribute changed: "was tightened", "was loosened" or "changed".

    `key` is the property that changed: "choices", "range" or "kind". Fewer legal values are "was tightened", more are
    "was loosened". If values both came and went, or if the kind changed, it is "changed". An attribute without choices
    or range allows every value.
    """
    if key == "choices":
        before, after = set(map(repr, old.choices)), set(map(repr, new.choices))
        if before and after:
            return _change_word(bool(before - after), bool(after - before))
        return "was tightened" if after else "was loosened"
    if key == "range":
        if not old.range or not new.range:
            return "was tightened" if new.range else "was loosened"
        legal = [_legal_numbers(each, old.range, new.range) for each in (old.range, new.range)]
        return _change_word(bool(legal[0] - legal[1]), bool(legal[1] - legal[0]))
    return "changed"


def _change_word(fewer: bool, more: bool) -> str:
    """Return a word for a change of legal values: "was tightened", "was loosened" or "changed".

    `fewer` says whether some values are no longer legal, `more` whether some became legal. If both or neither is true,
    the word is "changed".
    """
    if fewer == more:
        return "changed"
    return "was tightened" if fewer else "was loosened"


def _legal_numbers(text: str, *both: str) -> set[tuple[float, int]]:
    """Return the pairs (number, rank) that the range `text` allows; only numbers near a bound are tried.

    The bounds are those of the ranges in `both`, the older range and the newer range of an attribute. For the bound 1,
    the numbers 0.5, 1 and 1.5 are tried. A bound such as rank(X) - 1 depends on the rank of an input. Hence each number
    is tried for every rank below MOST_RANK.
    """
    comparisons = parse_range(text)
    bounds = [comparison.operands[0] for one in both for comparison in parse_range(one)]
    numbers = set()
    for rank in range(MOST_RANK):
        table = {"rank": lambda name, rank=rank: rank}
        limits = [limit for bound in bounds if (limit := evaluate(bound, table)) is not None]
        near = {limit + step for limit in limits for step in (-0.5, 0, 0.5)}
        numbers |= {(value, rank) for value in near if all(is_met(each, value, table) for each in comparisons)}
    return numbers


# Types.


@BREAKING.rule("B131", VersionPair, requires=NEW_VERSION, clause=TYPES)
def _type_added(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each type constraint of both versions that allows types that it did not allow before.

    A constraint is left out if the versions use its name for entirely different inputs and outputs.
    """
    yield from _type_findings(pair, "+", "allows {} as well")


@BREAKING.rule("B132", VersionPair, requires=NEW_VERSION, clause=TYPES)
def _type_removed(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each type constraint that no longer allows some types."""
    yield from _type_findings(pair, "-", "no longer allows {}")


def _type_findings(pair: VersionPair, sign: str, message: str) -> Iterator[RuleFinding]:
    """Yield a finding for each type constraint of both versions that gained types (`sign` is "+") or lost types ("-").

    A constraint is left out if the versions use its name for entirely different inputs and outputs. `message` is the
    end of the finding's message, with {} in place of the types.
    """
    for name, tokens in pair.difference.get("types", {}).items():
        types = [each[1:] for each in tokens if each[0] == sign] if isinstance(tokens, list) else []
        if types and not _is_reused(pair, name):
            yield RuleFinding(f"the type constraint {name!r} {message.format(_types_text(types))}", ("types", name))


def _is_reused(pair: VersionPair, constraint: str) -> bool:
    """Return whether both versions use a type constraint of this name, but for entirely other inputs and outputs.

    Renamed inputs and outputs count as the same ones.
    """
    before, after = ({key for key, each in side.items() if each.type == constraint} for side in _parameters(pair))
    return bool(before) and bool(after) and not before & after


@BREAKING.rule("B133", VersionPair, requires=NEW_VERSION, clause=TYPES)
def _parameter_type(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each input or output whose `type` in YAML changed, if it allows other types than before.

    A `type` is, for example, T or tensor(float). A renamed input or output is compared with its old self.
    """
    for side, name, old, new in _retyped_parameters(pair):
        before, after = set(pair.old.schema.allowed_types(old)), set(pair.new.schema.allowed_types(new))
        if before != after:
            came = f"; it allows {_types_text(after - before)} as well" if after - before else ""
            gone = f"; it no longer allows {_types_text(before - after)}" if before - after else ""
            message = f"the {side[:-1]} {name!r} is of type {new.type} now, was {old.type}{came}{gone}"
            yield RuleFinding(message, (side, name))


@BREAKING.rule("B134", VersionPair, requires=NEW_VERSION, clause=TYPES)
def _types_tied(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield findings on inputs and outputs whose types must be equal now and could differ before, or the reverse.

    Types must be equal if they name the same type constraint. Inputs and outputs of only one version are left out.
    Pairs whose types cannot differ, such as two inputs that allow only float, are left out, too.
    """
    old, new = _parameters(pair)
    both = [key for key in new if key in old]
    shared = {
        key: {*pair.old.schema.allowed_types(old[key])}.intersection(pair.new.schema.allowed_types(new[key]))
        for key in both
    }
    for index, one in enumerate(both):
        partners: dict[bool, list[str]] = {True: [], False: []}
        for other in both[index + 1 :]:
            tied = new[one].type == new[other].type
            can_differ = shared[one] and shared[other] and len(shared[one] | shared[other]) > 1
            if tied != (old[one].type == old[other].type) and can_differ:
                partners[tied].append(f"{other[0][:-1]} {other[1]!r}")
        for tied, says in ((True, "have to be of one type"), (False, "may be of different types")):
            if partners[tied]:
                yield RuleFinding(f"the {one[0][:-1]} {one[1]!r} and the {listing(partners[tied])} {says} now", one)


@BREAKING.rule("B135", VersionPair, requires=NONE, clause=CLARIFIED, severity=WARN)
def _type_constraint_name(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each input or output whose type constraint has a new name, but allows the same types.

    Nothing is yielded for an old name, such as "T", that some input or output has in the old and the new version. A
    finding is also yielded for each type constraint that was added or removed and that no input or output uses.
    """
    old, new = pair.old.schema.types, pair.new.schema.types
    before_all, after_all = _parameters(pair)
    used = {each.type for each in (*before_all.values(), *after_all.values())}
    kept = {each.type for key, each in before_all.items() if key in after_all and after_all[key].type == each.type}
    for side, name, before, after in _retyped_parameters(pair):
        same = set(pair.old.schema.allowed_types(before)) == set(pair.new.schema.allowed_types(after))
        if before.type not in kept and same:
            message = f"the type constraint of the {side[:-1]} {name!r} is called {after.type!r} now"
            yield RuleFinding(message, (side, name))
    for name in sorted((old.keys() ^ new.keys()) - used):
        message = f"the type constraint {name!r} {'came' if name in new else 'went'}, and types nothing"
        yield RuleFinding(message, ("types",))


def _parameters(pair: VersionPair) -> tuple[dict[tuple[str, str], Parameter], dict[tuple[str, str], Parameter]]:
    """Return the parameters of the older and of the newer version, each by (side, name).

    The side is "inputs" or "outputs". A parameter that was renamed stands under its new name in both.
    """
    old: dict[tuple[str, str], Parameter] = {}
    new: dict[tuple[str, str], Parameter] = {}
    for side in SIDES:
        names = pair.side_difference(side, "renamed")
        old |= {(side, names.get(each.name, each.name)): each for each in getattr(pair.old.schema, side)}
        new |= {(side, each.name): each for each in getattr(pair.new.schema, side)}
    return old, new


def _retyped_parameters(pair: VersionPair) -> Iterator[tuple[str, str, Parameter, Parameter]]:
    """Yield (side, name, old Parameter, new Parameter) for each input or output that has another `type` in YAML.

    The side is "inputs" or "outputs"; the name is the newer one. A `type` is, for example, T or tensor(float).
    """
    old, new = _parameters(pair)
    for (side, name), each in new.items():
        if name in pair.side_difference(side, "retyped"):
            yield side, name, old[side, name], each


def _types_text(types: Iterable[str]) -> str:
    """Return types as text, tensors by their element types: "float, string"."""
    return listing(shortest_expressions(types, {}))
