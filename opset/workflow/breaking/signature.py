"""Rules about the signature of a version: inputs, outputs, attributes and types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import Any, NamedTuple

from opset.errors import listing
from opset.schemas.constraints.ranges import parse_range
from opset.schemas.constraints.signature import DATA_TYPE
from opset.schemas.model import Attribute, OpSchema, Parameter
from opset.schemas.type_sets import shortest
from opset.workflow.breaking.report import INFO, NEW_VERSION, NONE, WARN
from opset.workflow.breaking.rules import (
    ATTRIBUTE_TYPES,
    ATTRIBUTES,
    BEHAVIOUR,
    CLARIFIED,
    PARAMETERS,
    TYPES,
    Found,
    Pair,
    rule,
)

SIDES = ("inputs", "outputs")
MOST_RANK = 9
"""Ranks for which ranges are compared."""


# Inputs and outputs.


@rule("B111", "parameter-added", Pair, NEW_VERSION, PARAMETERS)
def parameter_added(pair: Pair) -> Iterator[Found]:
    """An input or output was added, even an optional one."""
    for side in SIDES:
        for name in pair.part(side, "added"):
            option = next(each.option for each in getattr(pair.new.schema, side) if each.name == name)
            yield Found(f"the {option} {side[:-1]} {name!r} was added", (side, name))


@rule("B112", "parameter-removed", Pair, NEW_VERSION, PARAMETERS)
def parameter_removed(pair: Pair) -> Iterator[Found]:
    """An input or output was removed."""
    for side in SIDES:
        for name in pair.part(side, "removed"):
            yield Found(f"the {side[:-1]} {name!r} was removed", (side,))


@rule("B113", "parameter-renamed", Pair, NEW_VERSION, PARAMETERS)
def parameter_renamed(pair: Pair) -> Iterator[Found]:
    """An input or output was renamed."""
    for side in SIDES:
        for old, new in (pair.part(side, "renamed") or {}).items():
            yield Found(f"the {side[:-1]} {old!r} is called {new!r} now", (side, new))


@rule("B114", "parameter-reordered", Pair, NEW_VERSION, PARAMETERS)
def parameter_reordered(pair: Pair) -> Iterator[Found]:
    """Inputs or outputs were reordered, or one was inserted before others."""
    for side in SIDES:
        if order := pair.part(side, "order"):
            yield Found(f"the {side} that stayed are in the order {listing(order)} now", (side,))
        names = [each.name for each in getattr(pair.new.schema, side)]
        added = set(pair.part(side, "added"))
        behind = next((name for index, name in enumerate(names) if name in added and set(names[index:]) - added), None)
        if behind is not None:
            yield Found(f"the {side[:-1]} {behind!r} came before others, whose positions moved", (side, behind))


@rule("B115", "parameter-option", Pair, NEW_VERSION, PARAMETERS)
def parameter_option(pair: Pair) -> Iterator[Found]:
    """An input or output became required, optional or variadic."""
    for side in SIDES:
        for name, (old, new) in (pair.part(side, "arity") or {}).items():
            yield Found(f"the {side[:-1]} {name!r} was {old} and is {new} now", (side, name))


@rule("B116", "variadic-arity", Pair, NEW_VERSION, PARAMETERS)
def variadic_arity(pair: Pair) -> Iterator[Found]:
    """A variadic input or output has another minimum number of values, or other rules for their types."""
    for side in SIDES:
        for name, (fewest, least) in (pair.part(side, "min_arity") or {}).items():
            moved = "may be fewer" if least < fewest else "have to be more"
            yield Found(f"values of the variadic {side[:-1]} {name!r} {moved}: {fewest} -> {least}", (side, name))
        for name, (_, one) in (pair.part(side, "homogeneous") or {}).items():
            now = "have to be of one type" if one else "may be of several types"
            yield Found(f"values of the variadic {side[:-1]} {name!r} {now} now", (side, name))


@rule("B117", "differentiable", Pair, NONE, CLARIFIED, INFO)
def differentiable(pair: Pair) -> Iterator[Found]:
    """An input or output became differentiable, or stopped being so."""
    for side in SIDES if pair.in_place else ():
        before = {each.name: each for each in getattr(pair.old.schema, side)}
        for each in getattr(pair.new.schema, side):
            old = before.get(each.name)
            if old is not None and old.differentiable != each.differentiable:
                now = "is" if each.differentiable else "is not"
                yield Found(f"{each.name!r} {now} differentiable now", (side, each.name))


# Attributes.


@rule("B121", "attribute-added", Pair, NEW_VERSION, ATTRIBUTES)
def attribute_added(pair: Pair) -> Iterator[Found]:
    """An attribute was added, even an optional one whose default keeps the meaning."""
    for name, facets in pair.attributes.items():
        if "added" in facets and name not in pair.renamed.values():
            default = f" with the default {_value(facets['default'])}" if "default" in facets else ""
            required = "required " if facets.get("required") else ""
            yield Found(f"the {required}attribute {name!r} was added{default}", ("attributes", name))


@rule("B122", "attribute-removed", Pair, NEW_VERSION, ATTRIBUTES)
def attribute_removed(pair: Pair) -> Iterator[Found]:
    """An attribute was removed."""
    for name, facets in pair.attributes.items():
        if "removed" in facets and name not in pair.renamed:
            yield Found(f"the attribute {name!r} was removed", ("attributes",))


@rule("B123", "attribute-renamed", Pair, NEW_VERSION, ATTRIBUTES)
def attribute_renamed(pair: Pair) -> Iterator[Found]:
    """An attribute was renamed."""
    for old, new in pair.renamed.items():
        yield Found(f"the attribute {old!r} is called {new!r} now", ("attributes", new))


@rule("B124", "attribute-type", Pair, NEW_VERSION, ATTRIBUTE_TYPES)
def attribute_type(pair: Pair) -> Iterator[Found]:
    """The type of an attribute was changed."""
    for name, old, new in _facet(pair, "type"):
        yield Found(f"the type of the attribute {name!r} changed: {old} -> {new}", ("attributes", name, "type"))


@rule("B125", "attribute-default", Pair, NEW_VERSION, BEHAVIOUR)
def attribute_default(pair: Pair) -> Iterator[Found]:
    """The default of an attribute was changed, added or removed."""
    for name, old, new in _facet(pair, "default"):
        if "type" in pair.attributes[name] and old == new:  # 2.0 is 2 where the attribute is an int
            continue
        message = f"the default of the attribute {name!r} changed: {_value(old)} -> {_value(new)}"
        yield Found(message, ("attributes", name, "default"))


@rule("B126", "attribute-required", Pair, NEW_VERSION, ATTRIBUTES)
def attribute_required(pair: Pair) -> Iterator[Found]:
    """An attribute became required, or stopped being so."""
    for name, _, required in _facet(pair, "required"):
        yield Found(
            f"the attribute {name!r} {'has to be given' if required else 'may be left out'} now",
            ("attributes", name, "required"),
        )


@rule("B127", "attribute-values", Pair, NEW_VERSION, BEHAVIOUR)
def attribute_values(pair: Pair) -> Iterator[Found]:
    """The legal values of an attribute were changed: `choices`, `range` or `kind`."""
    back = {new: old for old, new in pair.renamed.items()}
    for name, new in pair.new.schema.attributes.items():
        old = pair.old.schema.attributes.get(back.get(name, name))
        if old is None:
            continue
        for key in ("choices", "range", "kind"):
            before, after = getattr(old, key), getattr(new, key)
            if key == "choices" and _same_types(pair, old, new):
                continue
            if before != after and (key != "choices" or set(map(repr, before)) != set(map(repr, after))):
                message = f"{key!r} of the attribute {name!r} {_moved(key, old, new)}: "
                message += f"{_said(before)} -> {_said(after)}"
                yield Found(message, ("attributes", name, key))


def _same_types(pair: Pair, old: Attribute, new: Attribute) -> bool:
    """Whether the choices of an attribute name type constraints that outputs or inputs went over to: B133 has these."""
    if old.kind != DATA_TYPE or new.kind != DATA_TYPE or not (old.choices and new.choices):
        return False
    moved = {(before.type, after.type) for _, _, before, after in _retyped(pair)}
    return len(old.choices) == len(new.choices) and moved.issuperset(zip(old.choices, new.choices, strict=True))


@rule("B128", "attribute-label", Pair, NONE, CLARIFIED, WARN)
def attribute_label(pair: Pair) -> Iterator[Found]:
    """Illegal values of an attribute break a constraint with another label."""
    for name, new in pair.new.schema.attributes.items():
        old = pair.old.schema.attributes.get(name)
        if old is not None and old.constraint != new.constraint:
            message = f"illegal values of {name!r} break {_said(new.constraint)}, and broke {_said(old.constraint)}"
            yield Found(message, ("attributes", name, "constraint"))


def _facet(pair: Pair, key: str) -> Iterator[tuple[str, Any, Any]]:
    for name, facets in pair.attributes.items():
        if key in facets and not {"added", "removed"} & facets.keys():
            yield name, *facets[key]


def _value(value: Any) -> str:
    return "none" if value is None else repr(value)


def _said(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{listing(list(map(str, value)))}]" if value else "anything"
    return repr(value) if value else "nothing"


def _moved(key: str, old: Attribute, new: Attribute) -> str:
    """Return whether more or fewer values are legal."""
    if key == "choices":
        before, after = set(map(repr, old.choices)), set(map(repr, new.choices))
        if before and after:
            return _direction(bool(before - after), bool(after - before))
        return "was tightened" if after else "was loosened"
    if key == "range":
        if not old.range or not new.range:
            return "was tightened" if new.range else "was loosened"
        legal = [_legal(each, old.range, new.range) for each in (old.range, new.range)]
        return _direction(bool(legal[0] - legal[1]), bool(legal[1] - legal[0]))
    return "changed"


def _direction(fewer: bool, more: bool) -> str:
    return "changed" if fewer == more else "was tightened" if fewer else "was loosened"


def _legal(text: str, *both: str) -> set[tuple[float, int]]:
    """Return those values around the bounds of both ranges that one allows, with the rank at which it does."""
    comparisons = parse_range(text)
    bounds = [each.bound for one in both for each in parse_range(one)]
    names = {bound.of for bound in bounds}
    found = set()
    for rank in range(MOST_RANK):
        ranks = dict.fromkeys(names, rank)
        near = {bound.number + bound.sign * rank + step for bound in bounds for step in (-1, -0.5, 0, 0.5, 1)}
        found |= {(value, rank) for value in near if all(each.holds(value, ranks) for each in comparisons)}
    return found


# Types.


@rule("B131", "type-added", Pair, NEW_VERSION, TYPES)
def type_added(pair: Pair) -> Iterator[Found]:
    """A type was added to a type constraint."""
    yield from _types(pair, "+", "allows {} as well")


@rule("B132", "type-removed", Pair, NEW_VERSION, TYPES)
def type_removed(pair: Pair) -> Iterator[Found]:
    """A type was removed from a type constraint."""
    yield from _types(pair, "-", "no longer allows {}")


def _types(pair: Pair, sign: str, message: str) -> Iterator[Found]:
    for name, tokens in pair.difference.get("types", {}).items():
        types = [each[1:] for each in tokens if each[0] == sign] if isinstance(tokens, list) else []
        if types and not _reused(pair, name):
            yield Found(f"the type constraint {name!r} {message.format(_brief(types))}", ("types", name))


def _reused(pair: Pair, constraint: str) -> bool:
    """Whether a type constraint has the name of another one, of other parameters; of those, B133 says what changed."""
    before, after = ({key for key, each in side.items() if each.type == constraint} for side in _typed(pair))
    return bool(before) and bool(after) and not before & after


@rule("B133", "parameter-type", Pair, NEW_VERSION, TYPES)
def parameter_type(pair: Pair) -> Iterator[Found]:
    """An input or output got another type constraint, which allows other types."""
    for side, name, old, new in _retyped(pair):
        before, after = set(pair.old.schema.allowed(old)), set(pair.new.schema.allowed(new))
        if before != after:
            came = f"; it allows {_brief(after - before)} as well" if after - before else ""
            gone = f"; it no longer allows {_brief(before - after)}" if before - after else ""
            yield Found(f"the {side[:-1]} {name!r} is of type {new.type} now, was {old.type}{came}{gone}", (side, name))


@rule("B134", "types-tied", Pair, NEW_VERSION, TYPES)
def types_tied(pair: Pair) -> Iterator[Found]:
    """Inputs or outputs no longer have to be of the same type, or have to be now."""
    old, new = _typed(pair)
    both = [key for key in new if key in old]
    shared = {key: old[key].allowed & new[key].allowed for key in both}
    for index, one in enumerate(both):
        found: dict[bool, list[str]] = {True: [], False: []}
        for other in both[index + 1 :]:
            tied = new[one].type == new[other].type
            if tied != (old[one].type == old[other].type) and _may_differ(shared[one], shared[other]):
                found[tied].append(f"{other[0][:-1]} {other[1]!r}")
        for tied, says in ((True, "have to be of one type"), (False, "may be of different types")):
            if found[tied]:
                yield Found(f"the {one[0][:-1]} {one[1]!r} and the {listing(found[tied])} {says} now", one)


def _may_differ(one: Set[str], other: Set[str]) -> bool:
    """Whether two parameters may be of different types, by what both versions allow of each."""
    return bool(one) and bool(other) and len(one | other) > 1


@rule("B135", "type-constraint-name", Pair, NONE, CLARIFIED, WARN)
def type_constraint_name(pair: Pair) -> Iterator[Found]:
    """A type constraint was renamed without a change of its types, or an unused one was added or removed."""
    old, new = pair.old.schema.types, pair.new.schema.types
    used = {each.type for each in _parameters(pair.new.schema)} | {each.type for each in _parameters(pair.old.schema)}
    before_all, after_all = _typed(pair)
    kept = {each.type for key, each in before_all.items() if key in after_all and after_all[key].type == each.type}
    for side, name, before, after in _retyped(pair):
        if before.type not in kept and set(pair.old.schema.allowed(before)) == set(pair.new.schema.allowed(after)):
            yield Found(f"the type constraint of the {side[:-1]} {name!r} is called {after.type!r} now", (side, name))
    for name in sorted((old.keys() ^ new.keys()) - used):
        yield Found(f"the type constraint {name!r} {'came' if name in new else 'went'}, and types nothing", ("types",))


def _parameters(schema: OpSchema) -> Iterable[Parameter]:
    return (*schema.inputs, *schema.outputs)


class _Typed(NamedTuple):
    type: str
    allowed: Set[str]


def _typed(pair: Pair) -> tuple[dict[tuple[str, str], _Typed], dict[tuple[str, str], _Typed]]:
    """Return the types of inputs and outputs of both versions, by their names in the newer one."""
    found: tuple[dict[tuple[str, str], _Typed], ...] = {}, {}
    for side in SIDES:
        names = pair.part(side, "renamed") or {}
        for each in getattr(pair.old.schema, side):
            found[0][side, names.get(each.name, each.name)] = _Typed(each.type, {*pair.old.schema.allowed(each)})
        for each in getattr(pair.new.schema, side):
            found[1][side, each.name] = _Typed(each.type, {*pair.new.schema.allowed(each)})
    return found[0], found[1]


def _retyped(pair: Pair) -> Iterator[tuple[str, str, Parameter, Parameter]]:
    for side in SIDES:
        back = {new: old for old, new in (pair.part(side, "renamed") or {}).items()}
        before = {each.name: each for each in getattr(pair.old.schema, side)}
        for each in getattr(pair.new.schema, side):
            if each.name in (pair.part(side, "retyped") or {}):
                yield side, each.name, before[back.get(each.name, each.name)], each


def _brief(types: Iterable[str]) -> str:
    return listing(shortest(types, {}))
