"""Function bodies of operators: read from the text that the YAML has, and chosen for a node."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from opset.errors import Finding, ModelError, SchemaError
from opset.model.text.syntax import parse_graph
from opset.schemas.constraints.evaluation import Table, evaluate, is_met
from opset.schemas.constraints.grammar import parse_premise
from opset.schemas.model import FunctionBody, OpSchema


@lru_cache(maxsize=512)
def body_nodes(text: str) -> tuple[Any, ...]:
    """Return the NodeProtos that a function body's text declares; they are cached, and must not be changed.

    Raises SchemaError S233 if the text cannot be read; its place is line:column in the text.
    """
    try:
        graph = parse_graph(f"body () => () {{\n{text}\n}}")
    except ModelError as error:
        found = error.findings[0]
        line, _, column = found.place.partition(":")
        place = f"{int(line) - 1}:{column}"
        raise SchemaError(Finding("S233", "a function body cannot be read", place, found.message)) from None
    return tuple(graph.node)


def fitting_bodies(schema: OpSchema, opset: int, table: Table) -> Iterator[FunctionBody]:
    """Yield the function bodies that can express a node at an opset of ai.onnx, best first; its types are not checked.

    Args:
        schema: The operator of the node.
        table: Functions of a name that return whether the node has such an input or attribute ("given"), the value of
            an attribute ("value") and the rank of an input ("rank"), each None if it is unknown.
    """
    for body in schema.function:
        premises = [parse_premise(name, form, schema) for name, form in body.where]
        if body.opset <= opset and all(is_met(rule, evaluate(term, table), table) is True for term, rule in premises):
            yield body
