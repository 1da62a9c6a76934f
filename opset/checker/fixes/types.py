"""Fixes of stated types and shapes: those that nothing needs, that contradict others, or that are missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from opset.checker.rules.graphs import check_interface, check_statements_agree
from opset.checker.table import CHECKER, OUTPUT, VALUE_INFO, CheckContext, Mend, StatedValue
from opset.errors import quote
from opset.inference.building.types import Type, fill_proto, map_sizes, type_to_proto
from opset.inference.engine.scopes import Scope
from opset.model.graph.index import Body, is_visible


@CHECKER.fix("W201 G202 G211 G212")
def remove_value_info(context: CheckContext) -> Iterator[Mend]:
    """Remove entries of value_info about no value, those that stand twice, and those that contradict other parts.

    - W201, G202: no value has the name of the entry, or it has none;
    - G211: of equal entries, the first stays; of different ones, none;
    - G212: an input, output or initializer of the graph states another type.
    """
    for body in context.bodies:
        entries = [(value.name, value.SerializeToString()) for value in body.proto.value_info]
        if not entries:
            continue
        forms: dict[str, set[bytes]] = {}
        for name, encoded in entries:
            forms.setdefault(name, set()).add(encoded)
        counts = Counter(name for name, _ in entries)
        contradicted = _contradicted_names(body, context)
        seen: set[str] = set()
        removed = []
        for position, (name, _) in enumerate(entries):
            if not name:
                removed.append((position, "G202", "which has no name"))
            elif name not in body.definitions and not is_visible(name, body):
                removed.append((position, "W201", "of no value"))
            elif name in contradicted:
                removed.append((position, "G212", "which contradicts what the graph states elsewhere"))
            elif counts[name] > 1 and (name in seen or len(forms[name]) > 1):
                removed.append((position, "G211", "which stood there more than once"))
            seen.add(name)
        for position, code, why in removed:
            place = StatedValue(body.proto.value_info[position], body, VALUE_INFO).place
            yield Mend(code, f"the entry, {why}, was removed", place)
        for position, _, _ in reversed(removed):
            del body.proto.value_info[position]


def _contradicted_names(body: Body, context: CheckContext) -> set[str]:
    """Return names of values whose type value_info states, and another part of the graph states differently."""
    if not any(True for _ in check_statements_agree(body, context)):
        return set()
    others = {value.name for value in (*body.proto.input, *body.proto.output)}
    return others | {name for name, index in body.definitions.items() if index < 0}


@CHECKER.fix("G203 G204")
def state_output_types(context: CheckContext) -> Iterator[Mend]:
    """State the types and shapes of the main graph's outputs that are missing and follow from its nodes."""
    if not any(True for _ in check_interface(context.main, context)):
        return
    scopes = graph_scopes(context)
    for value in context.main.proto.output if scopes else ():
        type_ = scopes[0].types.get(value.name)
        before = value.type.SerializeToString()
        if type_ is None:
            continue
        fill_proto(value.type, type_, False)
        if value.type.SerializeToString() != before:
            code = "G204" if before else "G203"
            yield Mend(code, f"its type is stated: {type_}", StatedValue(value, context.main, OUTPUT).place)


@CHECKER.fix("I101")
def replace_contradicted_types(context: CheckContext) -> Iterator[Mend]:
    """Replace types stated of inner values that contradict what is inferred; those of the main graph's outputs stay.

    In functions, where each call may have other types, the entry is removed.
    """
    for scope in _scopes(context):
        if scope.conflicts and not scope.unused and not scope.guarded:
            yield from _replace_types(scope)


def _replace_types(scope: Scope) -> Iterator[Mend]:
    """Replace the types that a body states of values and that contradict what is inferred in one scope of it."""
    body = scope.body
    graph = body.proto
    lists = [(VALUE_INFO, graph.value_info)]
    if body.owner is not None:
        lists.append((OUTPUT, graph.output))
    for role, values in lists:
        for position in reversed(range(len(values))):
            value = values[position]
            if value.name not in scope.conflicts:
                continue
            place = StatedValue(value, body, role).place
            type_ = None if body.root.function else _plain_type(scope.types.get(value.name), scope)
            if type_ is not None and type_.text is not None:
                value.type.CopyFrom(type_to_proto(type_))
                yield Mend("I101", f"the inferred type is stated: {type_}", place)
            elif role == VALUE_INFO:
                del values[position]
                yield Mend("I101", f"the entry of {quote(value.name)}, which contradicts its node, was removed", place)


def _scopes(context: CheckContext) -> Iterator[Scope]:
    """Yield the scopes of an inference whose bodies are those of the context's message; none if it had to be mended."""
    inference = context.inference
    if inference is not None and inference.model.proto is context.proto:
        yield from inference.scopes()


def _plain_type(type_: Type | None, scope: Scope) -> Type | None:
    """Return a type without sizes that differ each time that a body is run."""
    return map_sizes(type_, scope.without_local) if scope.repeated and scope.local else type_
