"""Long lists of types in words: "optional sequences of all numbers; all numbers, bool, string"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opset.model.types import element_of

LONGEST = 60
"""Characters of a list of types that needs no words."""
_GROUPS = (
    ("floats of 16 to 64 bits", ("float16", "float", "double")),
    ("integers of 8 to 64 bits", ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")),
    ("integers of 4 bits", ("int4", "uint4")),
    ("integers of 2 bits", ("int2", "uint2")),
    ("floats of 8 bits", ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")),
    ("floats of 6 bits", ("float6e2m3", "float6e3m2")),
    ("complex numbers", ("complex64", "complex128")),
)
_WRAPPERS = {"": "", "seq": "sequences", "optional": "optional tensors", "optional(seq": "optional sequences"}


def split_types(types: Iterable[str]) -> dict[str, list[str]]:
    """Return the element types in whole types, by kind of value: {"seq": ["float"]} for "seq(tensor(float))".

    The kinds are "" (a tensor), "seq", "optional" and "optional(seq". Types of other kinds, such as maps, are listed
    whole under "".
    """
    kinds: dict[str, list[str]] = {}
    for type_ in types:
        wrapper, found, element = type_.rpartition("(tensor(")
        kind = wrapper if found and wrapper in _WRAPPERS else ""
        kinds.setdefault(kind, []).append(element.rstrip(")") if kind else element_of(type_))
    return kinds


def words_of_types(types: Iterable[str]) -> str:
    """Return a list of types as text, in which a title stands for each complete group of element types.

    For example, float16, float, double and bool give "floats of 16 to 64 bits, bool". An element type is listed by its
    name if its group is incomplete. A ";" comes between tensors and other kinds of values: "sequences of float; bool".
    """
    return "; ".join(_phrase_of(kind, _replace_groups(names)) for kind, names in split_types(types).items())


def list_of_types(types: Iterable[str]) -> str:
    """Return a list of types as text that names each kind of value once: "sequences of float, double; float"."""
    return "; ".join(_phrase_of(kind, names) for kind, names in split_types(types).items())


def _phrase_of(kind: str, names: Iterable[str]) -> str:
    """Return names of element types as text, after the kind of value: "sequences of float, double".

    `kind` is one of the keys that `split_types` returns; for tensors, "", only the names are returned.
    """
    listed = ", ".join(names)
    return f"{_WRAPPERS[kind]} of {listed}" if kind else listed


def _replace_groups(names: Sequence[str]) -> list[str]:
    """Return names of element types in which a title stands for each complete group: "complex numbers".

    Titles come first, then the other names in their order.
    """
    left = {*names}
    titles = []
    for title, members in _GROUPS:
        if left.issuperset(members):
            titles.append(title)
            left -= {*members}
    return titles + [name for name in names if name in left]
