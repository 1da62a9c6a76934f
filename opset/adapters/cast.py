"""Adapters of Cast: before version 6, `to` is the name of a type instead of its number."""

from __future__ import annotations

from opset.errors import printable
from opset.model.elements import NUMBERS, element_name
from opset.version_converter.registration import down, up
from opset.version_converter.rewrite import Builder, Node, Refusal, Result


@up("Cast", since=6)
def cast_6_up(op: Builder, node: Node) -> Result:
    """Replace the type's name by its number."""
    name = node.attr("to")
    element = name.lower() if isinstance(name, str) else ""
    if element not in NUMBERS:
        raise Refusal("C103", f"'to' is {printable(name)}, which names no type")
    return op.copy(node, to=NUMBERS[element])


@down("Cast", since=6)
def cast_6_down(op: Builder, node: Node) -> Result:
    """Replace the type's number by its name."""
    number = node.attr("to")
    name = element_name(number)
    if name is None:
        raise Refusal("C103", f"'to' is {number}, which is no type")
    return op.copy(node, to=name.upper())
