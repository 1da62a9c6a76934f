"""OptionalHasElement and OptionalGetElement, which first took only optional values."""

from __future__ import annotations

from opset.version_converter.registration import down
from opset.version_converter.rewrite import Builder, Node, Result, unknown_type


@down("OptionalHasElement", since=18)
def optional_has_element_18_down(op: Builder, node: Node) -> Result:
    """Whether there is an element is known at conversion, unless the input is an optional value."""
    if not node.input(0):
        return op.const(False, "bool", [])
    return None if _is_optional(node) else op.const(True, "bool", [])


@down("OptionalGetElement", since=18)
def optional_get_element_18_down(op: Builder, node: Node) -> Result:
    """A tensor or a sequence is its own element."""
    return None if _is_optional(node) else op.Identity(node.input(0))


def _is_optional(node: Node) -> bool:
    kind = node.values.type(node.input(0))
    if kind is None:
        raise unknown_type(node.input(0))
    return kind.startswith("optional(")
