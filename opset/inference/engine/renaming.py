"""Types and elements with variables under other names: calls of a function that differ in names alone count as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opset.inference.building.call import Constant, Element
from opset.inference.building.dimensions import Dim, Size, apply_to_sizes, substitute, variable, variables
from opset.inference.building.graph_requests import Outputs
from opset.inference.building.types import Type, map_sizes


def number_variables(given: Sequence[Type | None], data: Sequence[Constant | None]) -> tuple[Any, list[str]]:
    """Return types and elements with their variables numbered, and the names of the variables in that order."""
    names: list[str] = []
    seen: set[str] = set()

    def note(size: Size | None) -> Size | None:
        if isinstance(size, Dim):
            fresh = variables(size) - seen
            names.extend(sorted(fresh))
            seen.update(fresh)
        return size

    for type_ in given:
        map_sizes(type_, note)
    for each in data:
        for element in each.values if each is not None else ():
            if isinstance(element, Dim):
                note(element)
    if not names:
        return (tuple(given), tuple(data)), names
    numbered = {name: variable(f"${number}") for number, name in enumerate(names)}
    outputs = replace_variables(Outputs(given, data), numbered)
    return (tuple(outputs), tuple(outputs.data)), names


def replace_variables(outputs: Outputs, values: Mapping[str, Dim]) -> Outputs:
    """Return types and elements with variables replaced by others; a size that becomes too long is not known."""
    made: dict[Size, Size | None] = {}

    def size(each: Size | None) -> Size | None:
        if not isinstance(each, Dim):
            return each
        if each not in made:
            made[each] = apply_to_sizes(lambda known: substitute(known, values), each)
        return made[each]

    return map_outputs(outputs, size)


def map_outputs(outputs: Outputs, size: Callable[[Size | None], Size | None]) -> Outputs:
    """Return types and elements with every size replaced."""

    def element(each: Element) -> Element:
        return size(each) if isinstance(each, Dim) else each

    return Outputs(
        [map_sizes(type_, size) for type_ in outputs],
        [None if each is None else each._replace(values=tuple(map(element, each.values))) for each in outputs.data],
        [map_sizes(type_, size) for type_ in outputs.inputs],
    )
