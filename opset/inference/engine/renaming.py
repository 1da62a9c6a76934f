"""Types and elements with variables under other names: calls of a function that differ in names alone count as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opset.inference.building.call import Constant, Element
from opset.inference.building.dimensions import Dim, Size, apply_to_sizes, substitute, variable, variables
from opset.inference.building.graph_requests import Outputs
from opset.inference.building.types import Type, map_sizes


def number_variables(types: Sequence[Type | None], data: Sequence[Constant | None]) -> tuple[Any, list[str]]:
    """Return ((types, elements), names): types and elements with variables renamed to $0, $1, …

    `names[0]` is the former name of $0, and so on, in the order in which the variables appear. `types` and `data`, the
    elements, may have None for unknown ones. Two calls of a function that differ only in the names of variables have
    equal (types, elements).
    """
    names: list[str] = []
    seen: set[str] = set()

    def note(size: Size | None) -> Size | None:
        """Add the new variables of a size to `names`, and return the size unchanged."""
        if isinstance(size, Dim):
            fresh = variables(size) - seen
            names.extend(sorted(fresh))
            seen.update(fresh)
        return size

    for type_ in types:
        map_sizes(type_, note)
    for constant in data:
        for element in constant.values if constant is not None else ():
            if isinstance(element, Dim):
                note(element)
    if not names:
        return (tuple(types), tuple(data)), names
    numbered = {name: variable(f"${number}") for number, name in enumerate(names)}
    outputs = replace_variables(Outputs(types, data), numbered)
    return (tuple(outputs), tuple(outputs.data)), names


def replace_variables(outputs: Outputs, values: Mapping[str, Dim]) -> Outputs:
    """Return types and elements with variables replaced; `values` has the new sizes by name of a variable.

    A size that becomes too complex is None. Other variables stay.
    """
    replaced: dict[Size, Size | None] = {}

    def replace(size: Size | None) -> Size | None:
        """Return a size with its variables replaced; results are cached."""
        if not isinstance(size, Dim):
            return size
        if size not in replaced:
            replaced[size] = apply_to_sizes(lambda old: substitute(old, values), size)
        return replaced[size]

    return map_outputs(outputs, replace)


def map_outputs(outputs: Outputs, replace: Callable[[Size | None], Size | None]) -> Outputs:
    """Return types and elements with each size in a type, and each symbolic element, replaced by `replace(size)`.

    `replace` is called for unknown sizes (None) in types, too.
    """

    def replace_element(element: Element) -> Element:
        """Return `replace(element)` for a symbolic element, any other element unchanged."""
        return replace(element) if isinstance(element, Dim) else element

    return Outputs(
        [map_sizes(type_, replace) for type_ in outputs],
        [
            None if constant is None else constant._replace(values=tuple(map(replace_element, constant.values)))
            for constant in outputs.data
        ],
        [map_sizes(type_, replace) for type_ in outputs.inputs],
    )
