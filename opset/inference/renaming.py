"""Types and elements with variables under other names: calls of a function that differ in names alone are one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from opset.inference.call import Data, Element
from opset.inference.dimensions import Dim, Size, followed, parse, substitute, variable, variables
from opset.inference.outcomes import Outputs
from opset.inference.types import Type, mapped, of_proto


def renamed(given: Sequence[Type | None], data: Sequence[Data | None]) -> tuple[Any, list[str]]:
    """Return types and elements with their variables numbered, and the names of these in that order."""
    names: list[str] = []
    seen: set[str] = set()

    def note(size: Size | None) -> Size | None:
        if isinstance(size, Dim):
            fresh = variables(size) - seen
            names.extend(sorted(fresh))
            seen.update(fresh)
        return size

    for type_ in given:
        mapped(type_, note)
    for each in data:
        for element in each.elements if each is not None else ():
            if isinstance(element, Dim):
                note(element)
    if not names:
        return (tuple(given), tuple(data)), names
    numbered = {name: variable(f"${number}") for number, name in enumerate(names)}
    outputs = replaced(Outputs(given, data), numbered)
    return (tuple(outputs), tuple(outputs.data)), names


def replaced(outputs: Outputs, values: Mapping[str, Dim]) -> Outputs:
    """Return types and elements with variables replaced by others; of a size that grows too long by that, nothing."""
    made: dict[Size, Size | None] = {}

    def size(each: Size | None) -> Size | None:
        if not isinstance(each, Dim):
            return each
        if each not in made:
            made[each] = followed(lambda known: substitute(known, values), each)
        return made[each]

    return with_sizes(outputs, size)


def with_sizes(outputs: Outputs, size: Callable[[Size | None], Size | None]) -> Outputs:
    """Return types and elements with every size replaced."""

    def element(each: Element) -> Element:
        return size(each) if isinstance(each, Dim) else each

    return Outputs(
        [mapped(type_, size) for type_ in outputs],
        [None if each is None else Data(each.shape, tuple(map(element, each.elements))) for each in outputs.data],
        [mapped(type_, size) for type_ in outputs.inputs],
    )


def variables_of(values: Iterable[Any]) -> set[str]:
    """Return the names of the variables that the types of inputs state."""
    found: set[str] = set()

    def size(dim: Any) -> Size | None:
        text = dim.dim_param
        if text and text.__class__ is str:
            stated = parse(text)
            found.update((text,) if stated is None else variables(stated))
        return None

    for value in values:
        of_proto(value.type, size)
    return found
