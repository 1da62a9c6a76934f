"""The kernels of onnxruntime's releases on the CPU for versions of operators, and their types, as pages show them.

The facts are those of the runtime onnxruntime-cpu (runtimes/), from the release on whose kernels were read from the
package itself: in older ones types are unions over kernels. A parameter that an entry does not name is not restricted;
some entries name an input in its place. Types of a kernel beyond the operator's version are left out, and so are
releases that do not accept the opset at all.

A release without a kernel for a node may run it by the function that defines its operator in the standard, or not. A
node of float16 without a kernel is run by one of float, between casts that the release inserts (seen in 1.31; below
opset 6, whose Cast is another one, such a model does not load). A Constant needs no kernel. The effect of attributes
that a kernel does not implement is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from opset.model.elements import NUMBERS
from opset.model.types import element_of
from opset.opsets.runtimes.compiled import standard_tables
from opset.opsets.runtimes.model import RuntimeRelease, RuntimeTable, make_kernel, serves_version
from opset.schemas.model import OpSchema
from opset.schemas.names import normalize_domain

MAX_LISTED_TYPES = 8
"""Types that a text names one by one."""
RUNTIME, PROVIDER = "onnxruntime", "CPUExecutionProvider"
_TABLE = "onnxruntime-cpu"


class RuntimeKernel(NamedTuple):
    """A kernel for a version of an operator: its types by type parameter, the first and last release that has it."""

    types: Mapping[str, tuple[str, ...]]
    first: str
    last: str


class Kernels(NamedTuple):
    """The kernels for a version of an operator, and whether a function of the standard may run it without one."""

    kernels: tuple[RuntimeKernel, ...]
    function: bool


def _table() -> RuntimeTable:
    return standard_tables()[_TABLE]


@lru_cache(maxsize=1)
def _rows() -> tuple[RuntimeRelease, ...]:
    """Return the releases whose kernels are known exactly, oldest first."""
    return tuple(row for row in _table().releases if row.lists_operators and not row.union_types)


def releases() -> tuple[str, ...]:
    """Return the releases of onnxruntime whose kernels are known exactly, oldest first: "1.16" and on."""
    return tuple(row.release for row in _rows())


def kernels_of(schema: OpSchema) -> Kernels:
    """Return the kernels for a version of an operator; none for one that is not of the standard."""
    table, domain, since = _table(), normalize_domain(schema.domain), schema.since_version
    kernels = []
    for entry in table.entries(schema.name, domain):
        kernel = make_kernel(entry)
        accepting = _accepting_releases(schema, [row for row in _rows() if table.holds(entry, row.release)])
        if accepting and serves_version(kernel, since, table.match):
            types = {name: _allowed_types(schema, name, sorted(each)) for name, each in kernel.types.items()}
            if all(types.values()):
                kernels.append(RuntimeKernel(types, *accepting))
    return Kernels(tuple(kernels), since in table.functions(schema.name, domain))


def kernels_data(schema: OpSchema) -> dict[str, Any]:
    """Return the kernels for a version of an operator as plain data.

        {"runtime": "onnxruntime", "provider": "CPUExecutionProvider", "known": ["1.16", "1.31"], "function": False,
         "releases": [["1.16", "1.31"]],
         "types": {"T": [{"types": ["tensor(float)"], "releases": [["1.16", "1.31"]], "any": False}]},
         "text": "1.16 to 1.31: T double, float; T float16 from 1.20"}

    `releases` are ranges, first and last included. `types` has an entry for each set of types that the same releases
    take, the set of the most releases first; `any` says that these are all types of the parameter. Of an operator of
    several parameters, not every combination need have a kernel. `function`: see the module.
    """
    support = kernels_of(schema)
    ranges = _merge_ranges((each.first, each.last) for each in support.kernels)
    types = (
        {name: _types_by_releases(schema, name, support.kernels) for name in schema.types} if support.kernels else {}
    )
    return {
        "runtime": RUNTIME,
        "provider": PROVIDER,
        "known": [releases()[0], releases()[-1]],
        "function": support.function,
        "releases": ranges,
        "types": types,
        "text": _support_text(schema, support, ranges, types),
    }


def _types_by_releases(schema: OpSchema, name: str, kernels: Iterable[RuntimeKernel]) -> list[dict[str, Any]]:
    """Return the types of a type parameter, grouped by the releases that take them: see `kernels_data`."""
    takers: dict[str, list[tuple[str, str]]] = {}
    for kernel in kernels:
        for type_ in kernel.types.get(name, schema.types[name]):
            takers.setdefault(type_, []).append((kernel.first, kernel.last))
    grouped: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for type_ in sorted(takers, key=_type_sort_key):
        grouped.setdefault(tuple((first, last) for first, last in _merge_ranges(takers[type_])), []).append(type_)
    names_of_releases, whole = releases(), len(takers) == len(schema.types[name])
    order = sorted(
        grouped, key=lambda ranges: (-_release_count(ranges), [names_of_releases.index(first) for first, _ in ranges])
    )
    return [
        {"types": grouped[ranges], "releases": [[*each] for each in ranges], "any": whole and len(grouped) == 1}
        for ranges in order
    ]


def _support_text(
    schema: OpSchema, found: Kernels, ranges: list[list[str]], types: Mapping[str, list[dict[str, Any]]]
) -> str:
    """Return kernels as one line of text: releases, then the types by parameter, with releases if these differ."""
    if not ranges:
        return "by its function, if at all" if found.function else "none"
    parts = []
    named = {name: groups for name, groups in types.items() if len(schema.types[name]) > 1}
    for name, groups in named.items():
        first, *others = groups
        words = _types_text(first["types"], schema.types[name]) if not first["any"] else "any type"
        when = [f"{words}{_releases_text(first['releases'])}"] if first["releases"] != ranges else [words]
        others_text = "; ".join(
            f"{_types_text(each['types'], ())}{_releases_text(each['releases'])}" for each in others
        )
        parts.append((f"{name}: " if len(named) > 1 else "") + when[0] + (f" ({others_text})" if others_text else ""))
    return ", ".join(_range_text(*each) for each in ranges) + (f": {'; '.join(parts)}" if parts else "")


def _types_text(types: Sequence[str], allowed: Sequence[str]) -> str:
    """Return types as short text: their elements, or the elements of `allowed` that are missing, or their number."""
    missing = [each for each in sorted(allowed, key=_type_sort_key) if each not in types]
    if len(types) <= MAX_LISTED_TYPES or (not missing and allowed):
        return ", ".join(map(element_of, types))
    if missing and len(missing) <= MAX_LISTED_TYPES // 2:
        return f"all but {', '.join(map(element_of, missing))}"
    return f"{len(types)} of {len(allowed)} types" if allowed else f"{len(types)} types"


def _releases_text(ranges: list[list[str]]) -> str:
    """Return ranges of releases as a phrase: ` from 1.20`."""
    if len(ranges) == 1 and ranges[0][1] == releases()[-1]:
        return f" from {ranges[0][0]}"
    return " in " + " and ".join(_range_text(*each) for each in ranges)


def _range_text(first: str, last: str) -> str:
    """Return a range of releases as text."""
    return first if first == last else f"{first} to {last}"


def _merge_ranges(spans: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return ranges of releases as sorted [first, last], merged if they overlap or adjoin."""
    names = releases()
    merged: list[list[int]] = []
    for first, last in sorted((names.index(first), names.index(last)) for first, last in spans):
        if merged and first <= merged[-1][1] + 1:
            merged[-1][1] = max(merged[-1][1], last)
        else:
            merged.append([first, last])
    return [[names[first], names[last]] for first, last in merged]


def _release_count(ranges: Iterable[tuple[str, str]]) -> int:
    """Return the number of releases in ranges."""
    names = releases()
    return sum(names.index(last) - names.index(first) + 1 for first, last in ranges)


def _type_sort_key(type_: str) -> tuple[int, str]:
    """Return a key that sorts types by the numbers of their elements; types that are no tensors are last."""
    return NUMBERS.get(element_of(type_), len(NUMBERS) + 1), type_


def _allowed_types(schema: OpSchema, name: str, listed: Iterable[str]) -> tuple[str, ...]:
    """Return the listed types that a type parameter, or an input, of the version may have."""
    formal = next((type_ for type_ in schema.inputs if type_.name == name), None)
    allowed = schema.types.get(name) or (schema.allowed_types(formal) if formal is not None else None)
    types = [type_ if "(" in type_ else f"tensor({type_})" for type_ in listed]
    return tuple(type_ for type_ in types if allowed is None or type_ in allowed)


def _accepting_releases(schema: OpSchema, rows: Sequence[RuntimeRelease]) -> tuple[str, str] | None:
    """Return the first and the last of some releases that accept the version's opset, None if none does."""
    domain = normalize_domain(schema.domain)
    accepting = [row.release for row in rows if schema.since_version <= ((row.opset[1] if not domain else row.ml) or 0)]
    return (accepting[0], accepting[-1]) if accepting else None
