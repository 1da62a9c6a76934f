"""Rules about what has to agree: opsets and what they change, type sets, function bodies, operators of a family."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opset.errors import SchemaError, listing
from opset.model.elements import ELEMENTS
from opset.opsets.registry import default_registry
from opset.schemas.bodies import body_nodes
from opset.schemas.model import VARIADIC, FunctionBody, OpSchema, Parameter
from opset.schemas.names import normalised
from opset.workflow.breaking.report import ERR, FORBIDDEN, INFO, NEW_VERSION, NONE, WARN
from opset.workflow.breaking.rules import OPSETS, TYPES, Comparison, Found, Pair, rule
from opset.workflow.breaking.states import Key, OperatorState, State


@rule("B181", "version-unchanged", Pair, FORBIDDEN, OPSETS)
def version_unchanged(pair: Pair) -> Iterator[Found]:
    """A new version changes nothing, or only clarifies: the opset was raised without a change."""
    if pair.in_place or pair.difference or pair.new.change.meaning:
        return
    old, new = pair.old.schema, pair.new.schema
    help = f"take version {new.since_version} back; prose is edited in the version that there is"
    if any(getattr(old, key) != getattr(new, key) for key in ("attributes", "conditions", "shape")):
        yield Found(
            "the new version has the signature of the one before, and other conditions: say what changed in 'meaning'",
            ("change",), WARN, NONE, "add 'meaning' to its change block", always=True,
        )  # fmt: skip
    elif pair.new.change.clarified or pair.old.docs != pair.new.docs:
        message = "the new version only clarifies, which needs none"
        yield Found(message, ("change",), WARN, NONE, help, always=True)
    else:
        yield Found("the new version is the same as the one before", ("since",), help=help, always=True)


@rule("B182", "type-set-edited", Comparison, NEW_VERSION, TYPES)
def type_set_edited(comparison: Comparison) -> Iterator[Found]:
    """A named type set was edited, and released versions changed with it."""
    old, new = comparison.old.sets, comparison.new.sets
    for name in sorted(old.keys() & new.keys()):
        came, went = set(new[name]) - set(old[name]), set(old[name]) - set(new[name])
        if not came and not went:
            continue
        released = [
            pair for pair in comparison.pairs
            if pair.in_place and comparison.is_released(pair.operator.key, pair.new.since)
        ]  # fmt: skip
        pairs = [pair for pair in released if _moved(pair, came, went)]
        moved = [f"{pair.operator.title} {pair.new.since}" for pair in pairs]
        domain = pairs[0].operator.domain if pairs else next(iter(comparison.new.domains))
        tokens = [*(f"+{each}" for each in sorted(came)), *(f"-{each}" for each in sorted(went))]
        message = f"the type set {name!r} changed: {listing(tokens)}"
        place = f"{comparison.new.sets_path}:1:1" if comparison.new.sets_path else ""
        if not moved:
            yield Found(f"{message}; no released version changed with it", (), INFO, NONE, "", domain, place=place)
            continue
        count = f"{len(moved)} released version{'' if len(moved) == 1 else 's'}"
        help = f"give the edited set a name of its own, as {name}_2, and use that in new versions"
        yield Found(f"{message}; with it, {count} changed: {listing(moved, 5)}", (), "", "", help, domain, place=place)


def _moved(pair: Pair, came: set[str], went: set[str]) -> bool:
    """Whether a type constraint of the version got or lost such a type, also as what a sequence holds."""
    return any(
        any(each in token[1:] for each in (came if token[0] == "+" else went))
        for tokens in pair.difference.get("types", {}).values()
        for token in (tokens if isinstance(tokens, list) else ())
    )


@rule("B183", "body-types", Pair, NEW_VERSION, TYPES)
def body_types(pair: Pair) -> Iterator[Found]:
    """A function body cannot take a type that its version allows."""
    if pair.in_place and _same_types(pair.old.schema, pair.new.schema):
        return
    for body in pair.new.schema.function:
        for type_, message in _refused(pair.new.schema, body):
            help = "leave the type out of the version, name the body's 'types', or 'emulate' it"
            where = f"the function body of opset {body.opset} cannot take {type_}"
            yield Found(f"{where}: {message}", ("function",), ERR, NONE, help, always=True)


def _same_types(old: OpSchema, new: OpSchema) -> bool:
    return old.types == new.types and old.function == new.function and old.inputs == new.inputs


def _refused(schema: OpSchema, body: FunctionBody) -> Iterator[tuple[str, str]]:
    """Yield the types of a version that some node of a body does not take, each with the first such node."""
    constraints = {each.type for each in schema.inputs}
    for constraint in sorted(constraints & schema.types.keys()):
        for type_ in body.types.get(constraint, schema.types[constraint]):
            bound = {name: types[0] for name, types in schema.types.items() if name != constraint} | {constraint: type_}
            free = {name for name, types in schema.types.items() if name != constraint and len(types) > 1}
            if message := _first_misfit(schema, body, bound, free):
                yield type_, message


def _first_misfit(schema: OpSchema, body: FunctionBody, bound: Mapping[str, str], free: set[str]) -> str:
    """Return why a node of a body does not take the types; "" where all do, as far as types are known."""
    known: dict[str, str | None] = {}
    for each in schema.inputs:
        if each.type in bound and each.type not in free:
            known[each.name] = _emulated(bound[each.type], body.emulate)
        elif each.type not in schema.types:
            known[each.name] = each.type
    try:
        nodes = body_nodes(body.nodes)
    except SchemaError:  # lint says so: S233
        return ""
    opset = body.opset if schema.domain else max(body.opset, schema.since_version)
    for node in nodes:
        used = _schema_of(node, opset)
        if used is None:
            return ""
        bindings: dict[str, str] = {}
        for parameter, name in _paired(used.inputs, node.input):
            type_ = known.get(name)
            if type_ is None:
                continue
            if type_ not in used.allowed(parameter):
                return f"{used.name} {used.since_version} does not allow {type_} as {parameter.name}"
            if parameter.option != VARIADIC or parameter.homogeneous:
                tied = bindings.setdefault(parameter.type, type_)
                if tied != type_ and parameter.type in used.types:
                    return f"{used.name} takes {tied} and {type_} of one type constraint, {parameter.type}"
        for parameter, name in _paired(used.outputs, node.output):
            known[name] = _output(used, parameter, bindings, node)
    return ""


def _paired(parameters: Sequence[Parameter], names: Sequence[str]) -> Iterator[tuple[Parameter, str]]:
    for index, name in enumerate(names):
        if name and parameters:
            yield parameters[min(index, len(parameters) - 1)], name


def _emulated(type_: str, emulate: Mapping[str, str]) -> str:
    wide = emulate.get(type_[7:-1]) if type_.startswith("tensor(") else None
    return f"tensor({wide})" if wide else type_


def _schema_of(node: Any, opset: int) -> OpSchema | None:
    """Return the operator of ai.onnx that a node of a body is; None for others, of which nothing is known."""
    if normalised(node.domain):
        return None
    return default_registry().schema(node.op_type, max(opset, _FROM.get(node.op_type, 0)))


_FROM = {"CastLike": 15, "Constant": 13}
_CONSTANTS = {
    "value_int": "tensor(int64)", "value_ints": "tensor(int64)", "value_float": "tensor(float)",
    "value_floats": "tensor(float)", "value_string": "tensor(string)", "value_strings": "tensor(string)",
}  # fmt: skip


def _output(used: OpSchema, parameter: Parameter, bindings: Mapping[str, str], node: Any) -> str | None:
    """Return the type of an output where the types of inputs or the kind of a constant decide it."""
    if used.name == "Constant" and node.attribute:
        return _CONSTANTS.get(node.attribute[0].name)
    if used.name == "Cast":
        number = next((each.i for each in node.attribute if each.name == "to" and not each.ref_attr_name), 0)
        return f"tensor({ELEMENTS[number].name})" if number in ELEMENTS else None
    if parameter.type in bindings:
        return bindings[parameter.type]
    allowed = used.allowed(parameter)
    return allowed[0] if len(allowed) == 1 else None


@rule("B185", "withdrawn-raised", Pair, FORBIDDEN, OPSETS)
def withdrawn_raised(pair: Pair) -> Iterator[Found]:
    """A withdrawn operator got a new version, and stays withdrawn."""
    if not pair.in_place and pair.old.schema.deprecated and pair.new.schema.deprecated:
        help = f"take version {pair.new.since} back: no model of its opset may use the operator"
        message = f"the operator is withdrawn since version {pair.old.since} and needs no other version"
        yield Found(message, ("since",), help=help, always=True)


@rule("B184", "siblings-differ", Comparison, NONE, TYPES, WARN)
def siblings_differ(comparison: Comparison) -> Iterator[Found]:
    """Operators of one family that allowed the same types no longer do."""
    groups: dict[Any, list[Key]] = {}
    for key, operator in comparison.old.operators.items():
        other = comparison.new.operators.get(key)
        if other is not None and not operator.newest.schema.deprecated and not other.newest.schema.deprecated:
            groups.setdefault((key[0], operator.family, _allowed(operator)), []).append(key)
    for keys in groups.values():
        if len(keys) < 2:
            continue
        now: dict[Any, list[OperatorState]] = {}
        for key in keys:
            operator = comparison.new.operators[key]
            now.setdefault(_allowed(operator), []).append(operator)
        if len(now) > 1:
            most = max(now.values(), key=len)
            yield from _differing(now.values(), most, comparison.old)


def _differing(groups: Any, most: list[OperatorState], old: State) -> Iterator[Found]:
    others = listing([each.name for each in most], 5)
    for group in groups:
        first = group[0]
        if group is most or not _same_count(first, most[0]):
            continue
        since = first.newest.since
        names = listing([each.name for each in group], 5)
        yield Found(
            f"{names} allowed the same types as {others} at {old.name}, and no longer",
            help=f"give {others} a version with the same types, unless they differ on purpose",
            domain=first.domain, operator=first.name, version=since, place=first.place(since, "types"),
        )  # fmt: skip


def _same_count(one: OperatorState, other: OperatorState) -> bool:
    left, right = one.newest.schema, other.newest.schema
    return len(left.inputs) == len(right.inputs) and len(left.outputs) == len(right.outputs)


def _allowed(operator: OperatorState) -> Any:
    """Return how many inputs and outputs the newest version has, and what they allow."""
    schema = operator.newest.schema
    return tuple(tuple([schema.allowed(each) for each in side]) for side in (schema.inputs, schema.outputs))
