"""Function bodies of operators: read from the text that the YAML has, and chosen for a node."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from opset.errors import Finding, ModelError, SchemaError
from opset.model.text.syntax import parse_graph
from opset.schemas.constraints.input_shapes import STATES, ranked_input
from opset.schemas.constraints.patterns import Expression, Test, parse_tests
from opset.schemas.model import FunctionBody, OpSchema

Lookup = Callable[[str], Any]
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
    "multiple": lambda value, bound: value % bound == 0,
}


@lru_cache(maxsize=512)
def body_nodes(text: str) -> tuple[Any, ...]:
    """Return the NodeProtos of a body's text, which nobody changes.

    Raises SchemaError S233 if the text cannot be read; the place is line:column in it.
    """
    try:
        graph = parse_graph(f"body () => () {{\n{text}\n}}")
    except ModelError as error:
        found = error.findings[0]
        line, _, column = found.place.partition(":")
        place = f"{int(line) - 1}:{column}"
        raise SchemaError(Finding("S233", "a function body cannot be read", place, found.message)) from None
    return tuple(graph.node)


def fitting_bodies(schema: OpSchema, opset: int, given: Lookup, value: Lookup, rank: Lookup) -> Iterator[FunctionBody]:
    """Yield the function bodies that serve a node at an opset of ai.onnx, best first; types are not compared.

    Args:
        schema: The operator's schema.
        opset: The opset of ai.onnx.
        given: Returns whether the node has an input or attribute of this name, None if that is unknown.
        value: Returns the value of an attribute, None if it is unknown.
        rank: Returns the rank of an input, None if it is unknown.
    """
    for body in schema.function:
        if body.opset <= opset and all(_is_met(*each, given, value, rank) for each in body.where):
            yield body


def _is_met(name: str, form: str, given: Lookup, value: Lookup, rank: Lookup) -> bool:
    if form in STATES:
        return given(name) is STATES[form]
    found = rank(ranked_input(name)) if ranked_input(name) else value(name)
    if isinstance(found, bytes | str):
        return (found.decode("utf-8", "replace") if isinstance(found, bytes) else found) == form
    return found is not None and all(_is_true_of(test, found) for test in parse_tests(form))


def _is_true_of(test: Test, value: Any) -> bool:
    met = any if test.operator == "=" else all
    return met(_COMPARISONS[test.operator](value, _number_of(each)) for each in test.bounds)


def _number_of(bound: Expression) -> Any:
    return -_number_of(bound.operands[0]) if bound.operator == "negative" else bound.operands[0]
