"""The signature difference between two versions of an operator, in the form in which a `change:` block declares it.

deprecated: true                     experimental: false
determinism: [deterministic, unknown]
inputs:                              (outputs alike)
  added: [axes]                      names that came
  removed: [axis]                    names that went
  renamed: {mean: input_mean}        old name -> new name, at the same position
  order: [B, A]                      names that stayed, if their order changed
  retyped: {scale: [T, T1]}          new name -> old and new type
  arity: {C: [single, optional]}     new name -> old and new option; likewise homogeneous, min_arity
attributes:
  mode: {added: string, default: DCR}
  spatial: {removed: int}
  axis: {default: [1, -1]}           null stands for no default; likewise type, required
types: {T: [+tensor(bfloat16)], U: new, V: gone}
"""

from __future__ import annotations

import contextlib
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from opset.schemas.model import Attribute, Change, OpSchema, Parameter
from opset.schemas.type_sets import TypeSets, shortest_expressions


@dataclass(frozen=True)
class Transition:
    """Two consecutive versions of an operator, and the `change:` block of the newer one."""

    old: OpSchema
    new: OpSchema
    change: Change

    @cached_property
    def difference(self) -> dict[str, Any]:
        """The differences between the older and the newer signature, in the form that `signature_diff` returns."""
        return signature_diff(self.old, self.new)

    @cached_property
    def undeclared_keys(self) -> tuple[str, ...]:
        """The sorted keys, such as "inputs", at which the `change:` block does not say how the signatures differ.

        A key is listed in each of these cases:

        - the signatures differ at the key, but the block does not have it;
        - the block has the key, but the signatures are equal there;
        - the block states another difference than there is.
        """
        computed, declared = (
            {key: json.dumps(part, sort_keys=True) for key, part in difference.items()}
            for difference in (self.difference, self.change.diff)
        )
        keys = sorted(computed.keys() | declared.keys())
        return tuple(key for key in keys if computed.get(key) != declared.get(key))


def signature_diff(old: OpSchema, new: OpSchema) -> dict[str, Any]:
    """Return the differences between two signatures by key, such as {"inputs": {"added": ["axes"]}}; {} if none.

    Keys without a difference are left out. The others are "deprecated", "experimental", "determinism", "inputs",
    "outputs", "attributes" and "types"; the module's docstring shows their values.
    """
    diff: dict[str, Any] = {}
    for flag in ("deprecated", "experimental"):
        if getattr(old, flag) != getattr(new, flag):
            diff[flag] = getattr(new, flag)
    if old.determinism != new.determinism:
        diff["determinism"] = [old.determinism, new.determinism]
    parts = {
        "inputs": _parameter_diff(old.inputs, new.inputs),
        "outputs": _parameter_diff(old.outputs, new.outputs),
        "attributes": _attribute_diff(old.attributes, new.attributes),
        "types": _type_diff(old.types, new.types),
    }
    return diff | {key: part for key, part in parts.items() if part}


def _parameter_diff(old: Sequence[Parameter], new: Sequence[Parameter]) -> dict[str, Any]:
    """Return the differences of inputs, or of outputs, as a `change:` block has them, such as {"added": ["axes"]}.

    A name that went and a name that came at the same position count as one parameter that was renamed. The result is
    {} if there are no differences.
    """
    before, after = {p.name: p for p in old}, {p.name: p for p in new}
    renamed = {a.name: b.name for a, b in zip(old, new, strict=False) if a.name not in after and b.name not in before}
    back = {b: a for a, b in renamed.items()}
    stayed = [p.name for p in new if p.name in before or p.name in back]
    former = [back.get(name, name) for name in stayed]
    diff: dict[str, Any] = {
        "added": [name for name in after if name not in before and name not in back],
        "removed": [name for name in before if name not in after and name not in renamed],
        "renamed": renamed,
        "order": stayed if former != [name for name in before if name in former] else [],
    }
    for key, field in _PARAMETER_FIELDS.items():
        pairs = {name: [getattr(before[back.get(name, name)], field), getattr(after[name], field)] for name in stayed}
        diff[key] = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    return {key: part for key, part in diff.items() if part}


_PARAMETER_FIELDS = {"retyped": "type", "arity": "option", "homogeneous": "homogeneous", "min_arity": "min_arity"}


def _attribute_diff(old: dict[str, Attribute], new: dict[str, Attribute]) -> dict[str, Any]:
    """Return the differences of attributes by name; attributes that are equal are left out.

    - Only in the newer version: {"added": TYPE}, and its "default" and "required" if it has them.
    - Only in the older version: {"removed": TYPE}.
    - In both versions: [old, new] for each property that changed, such as {"default": [1, -1]}.
    """
    diff: dict[str, Any] = {}
    for name in sorted(old.keys() | new.keys()):
        if name not in old:
            added = new[name]
            diff[name] = {"added": added.type}
            if added.default is not None:
                diff[name]["default"] = _as_list(added.default)
            if added.required:
                diff[name]["required"] = True
        elif name not in new:
            diff[name] = {"removed": old[name].type}
        else:
            pairs = {key: [_as_list(getattr(side[name], key)) for side in (old, new)] for key in _ATTRIBUTE_FIELDS}
            changed = {key: pair for key, pair in pairs.items() if repr(pair[0]) != repr(pair[1])}  # -0.0 is not 0.0
            if changed:
                diff[name] = changed
    return diff


_ATTRIBUTE_FIELDS = ("type", "default", "required")


def _as_list(value: Any) -> Any:
    """Return a tuple as a list, and any other value unchanged."""
    return list(value) if isinstance(value, tuple) else value


def _type_diff(old: dict[str, tuple[str, ...]], new: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    """Return the type constraints that differ, by name: "new", "gone", or a list such as ["+tensor(bool)"].

    In the list, + stands before a type that was added, - before one that was removed.
    """
    diff: dict[str, Any] = {}
    for name in sorted(old.keys() | new.keys()):
        if name not in old:
            diff[name] = "new"
        elif name not in new:
            diff[name] = "gone"
        elif old[name] != new[name]:
            came, went = set(new[name]) - set(old[name]), set(old[name]) - set(new[name])
            diff[name] = [f"+{t}" for t in sorted(came)] + [f"-{t}" for t in sorted(went)]
    return diff


def compact_diff(diff: dict[str, Any], sets: TypeSets) -> dict[str, Any]:
    """Return a signature difference as authors write it: names of type sets stand for lists of types.

    `diff` is a result of `signature_diff`, and is not changed. A float gets as few digits as a float32 needs. `sets`
    are the named type sets that the YAML may use.
    """
    compact: dict[str, Any] = {key: _shorten_floats(part) for key, part in diff.items()}
    for name, part in diff.get("types", {}).items():
        if isinstance(part, list):
            compact["types"][name] = signed_expressions(part, sets)
    return compact


def signed_expressions(types: Sequence[str], sets: TypeSets) -> list[str]:
    """Return types as a shorter list, in which names of type sets stand for their types: ["+float8", "-bool"].

    Each item of `types` and of the result begins with + (added) or - (removed); the added ones come first. `sets` are
    the named type sets.
    """
    parts = {sign: [type_[1:] for type_ in types if type_[0] == sign] for sign in "+-"}
    return [sign + each for sign, some in parts.items() for each in shortest_expressions(some, sets)]


def _shorten_floats(value: Any) -> Any:
    """Return a copy of a value in which all floats, at any depth of dicts and lists, are shortened by `short_float`."""
    if isinstance(value, dict):
        return {key: _shorten_floats(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_shorten_floats(each) for each in value]
    return short_float(value) if isinstance(value, float) else value


def short_float(value: float) -> float:
    """Return the float with the fewest digits that is the same as a float32: 1e-05 for 9.999999747378752e-06.

    A value that no float32 can hold, since it is too large, is returned unchanged.
    """
    for digits in range(1, 10):
        short = float(f"{value:.{digits}g}")
        with contextlib.suppress(OverflowError):  # rounded up beyond the largest float32
            if struct.pack("<f", short) == struct.pack("<f", value):
                return short
    return value
