"""Types in operator YAML: element names, whole types, and named sets of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from opset.model.elements import NUMBERS

MAX_NESTING = 8
TypeSets = Mapping[str, tuple[str, ...]]

_WRAPPED = re.compile(r"(seq|optional)\((.*)\)")
_TENSOR = re.compile(r"(?:sparse_)?tensor\(([a-z0-9]+)\)")
_INNER = re.compile(r"(?<![a-z_])tensor\(([a-z0-9]+)\)")
_MAP = re.compile(r"map\((?:string|u?int(?:8|16|32|64)), (.*)\)")


def is_type(text: str) -> bool:
    """Whether a text is one whole type, such as `tensor(int64)` or `seq(map(int64, float))`."""
    for _ in range(MAX_NESTING):
        if wrapped := _WRAPPED.fullmatch(text):
            text = wrapped[2]
        elif mapped := _MAP.fullmatch(text):
            text = mapped[1]
            if text in NUMBERS:
                return True
        else:
            break
    tensor = _TENSOR.fullmatch(text)
    return tensor is not None and tensor[1] in NUMBERS


def expand(expression: str, sets: TypeSets) -> Iterable[str]:
    """Return the types that a type expression in YAML stands for; raises KeyError if it is no type expression.

    A type expression is the name of a set in `sets`, an element type such as `float` (for `tensor(float)`), or a whole
    type. It may also be one of these within `seq(…)` or `optional(…)`.
    """
    inner, wrappers = expression, list[str]()
    while len(wrappers) <= MAX_NESTING and (wrapped := _WRAPPED.fullmatch(inner)):
        wrappers.append(wrapped[1])
        inner = wrapped[2]
    if inner in sets:
        types: Iterable[str] = sets[inner]
    elif inner in NUMBERS:
        types = (f"tensor({inner})",)
    elif is_type(inner):
        types = (inner,)
    else:
        raise KeyError(expression)
    for wrapper in reversed(wrappers):
        types = [f"{wrapper}({type_})" for type_ in types]
    return types


@lru_cache(maxsize=2)
def _set_expressions(sets: tuple[tuple[str, tuple[str, ...]], ...]) -> list[tuple[str, frozenset[str]]]:
    """Return (expression, its types) for each expression made of a set's name, such as "seq(floats)"; most types first.

    `sets` has (name, types) of each named type set.
    """
    candidates = [
        (wrapper.format(name), frozenset(map(wrapper.format, members)))
        for name, members in sets
        for wrapper in ("{}", "seq({})", "optional({})", "optional(seq({}))")
    ]
    return sorted(candidates, key=lambda each: (-len(each[1]), each[0]))


def shortest_expressions(types: Iterable[str], sets: TypeSets) -> list[str]:
    """Return a short list of type expressions for exactly the given types: names of sets, then single types."""
    return [*_shortest_expressions(frozenset(types), tuple(sets.items()))]


@lru_cache(maxsize=4096)
def _shortest_expressions(wanted: frozenset[str], sets: tuple[tuple[str, tuple[str, ...]], ...]) -> tuple[str, ...]:
    """Return type expressions for exactly the types in `wanted`: names of sets first, then single types; cached.

    `sets` has (name, types) of each named type set.
    """
    left = set(wanted)
    chosen: list[str] = []
    for expression, members in _set_expressions(sets):
        if members <= wanted and len(members & left) > 1:
            chosen.append(expression)
            left -= members
    return (*chosen, *(each if "map(" in each else _INNER.sub(r"\1", each) for each in sorted(left)))


def compact_types(types: Iterable[str], sets: TypeSets) -> str:
    """Return a short phrase for the given types, with names of type sets: "floats, string", "real_ir4 without bool".

    "real_ir4 without bool" stands for all types of the set real_ir4 except bool. At most two types follow "without".
    """
    wanted = frozenset(types)
    best = shortest_expressions(wanted, sets)
    phrase = ", ".join(best)
    for expression, members in _set_expressions(tuple(sets.items())):
        missing = members - wanted
        if len(missing) > 2 or 1 + len(missing) >= len(best):
            continue
        beside = shortest_expressions(wanted - members, sets)
        if 1 + len(missing) + len(beside) < len(best):
            best = [expression, *missing, *beside]
            without = ", ".join(_INNER.sub(r"\1", each) for each in sorted(missing))
            phrase = ", ".join([*beside, f"{expression} without {without}" if missing else expression])
    return phrase
