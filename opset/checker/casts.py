"""The Casts that nodes lack whose inputs have different types of floats, if one input alone differs from the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from opset.checker.table import CheckContext
from opset.inference.building.types import type_from_proto
from opset.inference.engine.scopes import Scope
from opset.schemas.model import OpSchema, Parameter

FLOATS = {"float16": 6, "bfloat16": 13, "float": 6, "double": 6}
"""Types of floats between which values are cast, and the opset from which Cast takes each by its number."""


class MissingCast(NamedTuple):
    """An input of a node that alone has another type of floats than the other inputs of its type variable.

    `node` and `position` are the indexes of the node in its body and of the input. The input is of the type `given`,
    and a Cast to `wanted` would mend the node.
    """

    scope: Scope
    node: int
    position: int
    given: str
    wanted: str

    @property
    def name(self) -> str:
        """The name of the value that is the input."""
        return self.scope.body.reads[self.node][self.position]

    @property
    def place(self) -> str:
        """The path of the node, as messages show it."""
        return self.scope.body.location(self.node)


def missing_casts(context: CheckContext) -> Iterator[MissingCast]:
    """Yield the inputs that alone have another type of floats than the other inputs of their type variable.

    Within a graph, later nodes come first. An input that has the type that the model states for the output stays. Of
    two such inputs, the one that differs from the stated type is yielded, or else a constant beside a computed value.
    Nodes in functions, in bodies that are never run, and in branches that a condition guards are left out.
    """
    for scope in context.graph_scopes:
        if scope.unused or scope.guarded:
            continue
        for index in sorted(scope.problems, reverse=True):
            if any(problem.code == "I202" for problem in scope.problems[index]):
                found = _odd_input(scope, index)
                if found is not None:
                    yield MissingCast(scope, index, *found)


def _odd_input(scope: Scope, index: int) -> tuple[int, str, str] | None:
    """Return (position of the input to cast, its element type, the others' element type), None if no Cast is plain.

    `index` is the index of the node, which has the problem I202.
    """
    body = scope.body
    schema = scope.operators[body.operators[index]].schema
    assert schema is not None  # the node does not fit it
    tied: dict[str, list[int]] = {}
    for position, value in enumerate(body.reads[index]):
        formal = _formal(schema.inputs, position)
        if value and formal is not None and formal.homogeneous and formal.type in schema.types:
            tied.setdefault(formal.type, []).append(position)
    for variable, positions in tied.items():
        elements = {}
        for position in positions:
            type_ = scope.type_of(body.reads[index][position])
            elements[position] = type_.element if type_ is not None and type_.kind == "tensor" else None
        wanted = _wanted_element(elements, variable, schema, scope, index)
        odd = [position for position in positions if elements[position] != wanted]
        opset = scope.imports.get("", 0)
        if wanted is None or len(odd) != 1 or f"tensor({wanted})" not in schema.types[variable]:
            continue
        given = elements[odd[0]]
        if given is not None and opset >= max(FLOATS[given], FLOATS[wanted]):
            return odd[0], given, wanted
    return None


def _wanted_element(
    elements: dict[int, str | None], variable: str, schema: OpSchema, scope: Scope, index: int
) -> str | None:
    """Return the element type that the inputs of one type variable should have, None if it is not certain.

    It is the type of most of them, unless the model states another one for the outputs. Of two inputs with different
    types, it is the stated type, or the type of the only one that is computed.

    Args:
        elements: The element type of each input, by its position; None if it is not known.
        variable: The type variable.
        schema: The operator.
        scope: The types of the body that has the node.
        index: The index of the node.
    """
    counts = Counter(elements.values())
    if len(counts) != 2 or not counts.keys() <= FLOATS.keys():
        return None
    (most, times), (_, others) = counts.most_common()
    stated = _stated_element(variable, schema, scope, index)
    if times > others:
        return most if stated in (None, most) else None
    if len(elements) != 2:
        return None
    if stated in counts:
        return stated
    computed = [
        element for position, element in elements.items() if not _is_constant(scope, scope.body.reads[index][position])
    ]
    return computed[0] if len(computed) == 1 else None


def _stated_element(variable: str, schema: OpSchema, scope: Scope, index: int) -> str | None:
    """Return the element type that the model states for the first output of a type variable that has one, else None."""
    for position, name in enumerate(scope.body.computes[index]):
        formal = _formal(schema.outputs, position)
        if formal is not None and formal.type == variable and name in scope.stated:
            type_ = type_from_proto(scope.stated[name], lambda dimension: None)
            if type_ is not None:
                return type_.element
    return None


def _formal(formals: tuple[Parameter, ...], position: int) -> Parameter | None:
    """Return the formal parameter of the input or output at a position, None if there is none.

    A variadic parameter, which is the last one, stands for all further positions.
    """
    if position >= len(formals) and not (formals and formals[-1].option == "variadic"):
        return None
    return formals[min(position, len(formals) - 1)]


def _is_constant(scope: Scope, name: str) -> bool:
    """Return whether a value is an initializer or a Constant, of a body or of one around it.

    Something is known of the value.
    """
    around = scope
    while name not in around.types:
        assert around.parent is not None
        around = around.parent
    return name in around.tensors
