"""Fixes of stated types and shapes: those that nothing needs, that contradict others, or that are missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from opset.checker.fixes.entries import remove_entries
from opset.checker.rules.graphs import contradictions
from opset.checker.table import CHECKER, OUTPUT, VALUE_INFO, CheckContext, Mend, StatedValue
from opset.inference.building.types import Type, fill_proto, map_sizes, type_to_proto
from opset.inference.engine.scopes import Scope
from opset.model.graph.index import is_visible
from opset.model.graph.walking import dimensions_of


@CHECKER.fix("W201 G202 G211 G212")
def remove_value_info(context: CheckContext) -> Iterator[Mend]:
    """Remove entries of value_info that are about no value, stand twice, or contradict other parts of the graph.

    - W201, G202: no value has the name of the entry, or it has none;
    - G211: of equal entries with one name, the first stays; of different ones, none;
    - G212: an input, output or initializer of the graph states another type.

    Yields a Mend for each entry.
    """
    for body in context.bodies:
        entries = [(value.name, value.SerializeToString()) for value in body.proto.value_info]
        forms: dict[str, set[bytes]] = {}
        for name, encoded in entries:
            forms.setdefault(name, set()).add(encoded)
        contradicted = {name for name, *both in contradictions(body) if VALUE_INFO in [each.role for each in both]}
        seen: set[str] = set()
        removed = []
        for position, (name, _) in enumerate(entries):
            if not name:
                removed.append((position, "G202", "it has no name"))
            elif name not in body.definitions and not is_visible(name, body):
                removed.append((position, "W201", "no value has this name"))
            elif name in contradicted:
                removed.append((position, "G212", "the graph states another type elsewhere"))
            elif name in seen or len(forms[name]) > 1:
                removed.append((position, "G211", "it stood there more than once"))
            seen.add(name)
        for position, code, why in removed:
            place = StatedValue(body.proto.value_info[position], body, VALUE_INFO).place
            yield Mend(code, f"it was removed: {why}", place)
        remove_entries(body.proto.value_info, [position for position, _, _ in removed])


@CHECKER.fix("G606 W602")
def clear_dimensions(context: CheckContext) -> Iterator[Mend]:
    """Clear sizes that are negative, and names of variables that are empty: both become sizes that are not known.

    Yields a Mend for each value.
    """
    for value, body, role in context.values():
        code = ""
        for dim in dimensions_of(value.type):
            kind = dim.WhichOneof("value")
            if dim.dim_value < 0 or (kind == "dim_param" and not dim.dim_param):
                code = code or ("G606" if kind == "dim_value" else "W602")
                dim.ClearField(kind)
        if code:
            yield Mend(code, "a size that is not known is left open", StatedValue(value, body, role).place)


@CHECKER.fix("G203 G204")
def state_output_types(context: CheckContext) -> Iterator[Mend]:
    """State the types and shapes of the main graph's outputs that are missing and can be inferred.

    Nothing is stated if a node of the model does not fit its operator. Yields a Mend for each output.
    """
    types = next((scope.types for scope in _sound_scopes(context)), {})
    for value in context.main.proto.output:
        type_ = types.get(value.name)
        before = value.type.SerializeToString()
        if type_ is None:
            continue
        fill_proto(value.type, type_, False)
        if value.type.SerializeToString() != before:
            code = "G204" if before else "G203"
            yield Mend(
                code, f"it states the inferred type now: {type_}", StatedValue(value, context.main, OUTPUT).place
            )


@CHECKER.fix("I101")
def replace_contradicted_types(context: CheckContext) -> Iterator[Mend]:
    """Replace stated types of inner values that contradict the inferred ones; the main graph's outputs keep theirs.

    In functions such entries are removed, since each call may have other types. Yields a Mend for each value.
    """
    for scope in _sound_scopes(context):
        if not scope.unused and not scope.guarded:
            yield from _replace_types(scope)


def _replace_types(scope: Scope) -> Iterator[Mend]:
    """Replace the types that a body states and that contradict the types inferred for it, in place.

    Outputs of a nested graph are among these. An entry of value_info whose inferred type cannot be stated is removed.
    Yields a Mend for each value.
    """
    body = scope.body
    graph = body.proto
    lists = [(VALUE_INFO, graph.value_info)]
    if body.owner is not None:
        lists.append((OUTPUT, graph.output))
    for role, values in lists:
        removed = []
        for position, value in enumerate(values):
            if value.name not in scope.conflicts:
                continue
            place = StatedValue(value, body, role).place
            type_ = None if body.root.function else _plain_type(scope.types.get(value.name), scope)
            if type_ is not None and type_.text is not None:
                value.type.CopyFrom(type_to_proto(type_))
                yield Mend("I101", f"it states the inferred type now: {type_}", place)
            elif role == VALUE_INFO:
                removed.append(position)
                yield Mend("I101", "it was removed: its node computes another type", place)
        remove_entries(values, removed)


def _sound_scopes(context: CheckContext) -> Iterable[Scope]:
    """Return the scopes of the inference, () if a node does not fit: types behind such a node are guesses.

    A scope has the types of the values in one body. The result is () as well if nothing was inferred.
    """
    inference = context.inference
    if inference is None or any(finding.code[:2] == "I2" for finding in inference.findings):
        return ()
    return context.scopes


def _plain_type(type_: Type | None, scope: Scope) -> Type | None:
    """Return a type in which sizes that differ each time that a body is run are not known; None for None."""
    return map_sizes(type_, scope.without_local) if scope.repeated else type_
