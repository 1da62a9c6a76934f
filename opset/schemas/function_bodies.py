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
from opset.schemas.names import normalize_domain

REPLACED = ("CastLike", "Constant")
"""Operators of ai.onnx that a body may use before they were introduced, or in newer forms: expansion replaces them."""


def replaced_operator(node: Any) -> str:
    """Return the operator in REPLACED that a node of a body calls; "" for any other, such as one of another domain."""
    return node.op_type if node.op_type in REPLACED and not normalize_domain(node.domain) else ""


@lru_cache(maxsize=512)
def body_nodes(text: str) -> tuple[Any, ...]:
    """Return the NodeProtos in the ONNX text of a function body.

    The result is cached, so callers must not change the nodes. Raises SchemaError S233 if the text cannot be read; the
    location of the finding is line:column in the text.
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
    """Yield the function bodies of a schema that can replace a node at an opset of ai.onnx, highest opset first.

    A body for a later opset is left out. So is a body whose conditions in `where` are unmet or undecided. Types are not
    checked.

    Args:
        schema: The operator version of the node.
        opset: The opset of ai.onnx.
        table: Three functions, each called with a name. "given" returns whether the node has this input or attribute,
            "value" the value of an attribute, "rank" the rank of an input; each returns None if that is unknown.
    """
    for body in schema.function:
        premises = [parse_premise(name, form, schema) for name, form in body.where]
        if body.opset <= opset and all(is_met(rule, evaluate(term, table), table) is True for term, rule in premises):
            yield body
