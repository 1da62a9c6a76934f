"""Lowerings of conversions between element types that have no attribute for the type."""

from __future__ import annotations

from opset.model.elements import NUMBERS
from opset.version_converter.registration import lower
from opset.version_converter.rewrite import Builder, Node, Result

X, LIKE = range(2)


@lower("CastLike", since=15)
def cast_like_lowered(op: Builder, node: Node) -> Result:
    """Cast to the type of the second input, which has to be known; its values do not matter."""
    return op.Cast(node.input(X), to=NUMBERS[node.need_element(LIKE)])
