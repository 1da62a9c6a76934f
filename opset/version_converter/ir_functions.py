"""Model-local functions in the form of an older IR version: without defaults of attributes, without overloads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opset.model.graph.index import Body, FunctionKey
from opset.model.graph.walking import attribute_graphs, function_key
from opset.version_converter.replacement import set_entries

DEFAULTS, OVERLOADS = 9, 10
"""The IR versions that introduced defaults of function attributes, and overloads of functions."""


def lower_functions(proto: Any, bodies: Sequence[Body], version: int, notes: list[str]) -> None:
    """Rewrite the functions of a ModelProto, in place, without features that are newer than the IR version `version`.

    - Below version 10, functions with an overload get names of their own.
    - Below version 9, the default of an attribute moves from the function into the calls that do not state the
      attribute. A default stays if a call sets the attribute by a reference to an attribute that may be absent, or if
      it is a graph.

    Args:
        proto: The ModelProto.
        bodies: All graphs and functions of the model.
        version: The IR version.
        notes: Gets a line for each kind of change.
    """
    if version < OVERLOADS and any(function.overload for function in proto.functions):
        count = _rename_overloads(proto, bodies)
        notes.append(f"overloads have names of their own, as before IR version {OVERLOADS}: {count}")
    if version < DEFAULTS and any(function.attribute_proto for function in proto.functions):
        count = _move_defaults(proto, bodies)
        if count:
            notes.append(f"calls state the defaults of function attributes, as before IR version {DEFAULTS}: {count}")


def _rename_overloads(proto: Any, bodies: Sequence[Body]) -> int:
    """Rename each function that has an overload, also in its calls, and clear the overload; return the number renamed.

    The new name is "Scale_half" for the overload "half" of Scale, or "Scale_half_1" if that name is in use. `proto` is
    changed in place; `bodies` are all its graphs and functions.
    """
    taken = {(domain, name) for body in bodies for name, domain in body.operators}
    taken |= {function_key(function)[:2] for function in proto.functions}
    names: dict[FunctionKey, str] = {}
    for function in proto.functions:
        if not function.overload:
            continue
        key = function_key(function)
        name, number = f"{key[1]}_{key[2]}", 0
        while (key[0], name) in taken:
            number += 1
            name = f"{key[1]}_{key[2]}_{number}"
        taken.add((key[0], name))
        names[key] = name
        function.name = name
        function.ClearField("overload")
    for body in bodies:
        for node in body.nodes:
            if node.overload and (called := names.get(function_key(node))):
                node.op_type = called
                node.ClearField("overload")
    return len(names)


def _move_defaults(proto: Any, bodies: Sequence[Body]) -> int:
    """Copy defaults of functions' attributes into calls that do not state them; return how many calls changed.

    The attributes then have no default in the functions, and each call must state them. A default stays if a calling
    function passes on an attribute of its own (`ref_attr_name`) that has no default: if that one is absent, the called
    function's default applies. A graph stays as well: in a call, it could see values of the caller. `proto` is changed
    in place, and `bodies` are its graphs and functions.
    """
    functions = {function_key(function): function for function in proto.functions}
    defaults = {
        key: {attribute.name: attribute for attribute in function.attribute_proto if not attribute_graphs(attribute)}
        for key, function in functions.items()
        if function.attribute_proto
    }
    calls = [(body, node, key) for body in bodies for node in body.nodes if (key := function_key(node)) in defaults]
    for body, node, key in calls:
        certain = {default.name for default in body.root.proto.attribute_proto} if body.root.function else set()
        for attribute in node.attribute:
            if attribute.ref_attr_name and attribute.ref_attr_name not in certain:
                defaults[key].pop(attribute.name, None)
    changed = 0
    for _, node, key in calls:
        given = {attribute.name for attribute in node.attribute}
        missing = [default for name, default in defaults[key].items() if name not in given]
        for default in missing:
            node.attribute.add().CopyFrom(default)
        changed += bool(missing)
    for key, moved in defaults.items():
        function = functions[key]
        function.attribute.extend(name for name in moved if name not in function.attribute)
        set_entries(function.attribute_proto, [each for each in function.attribute_proto if each.name not in moved])
    return changed
