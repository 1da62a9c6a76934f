"""Lowerings of conversions between element types that have no attribute for the type."""

from __future__ import annotations

from opset.adapters.shared import INTEGERS
from opset.model.elements import ELEMENTS, NUMBERS, element_name
from opset.version_converter.registration import lower
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

X, LIKE = range(2)
WHOLE = INTEGERS | {"bool", "int4", "uint4", "int2", "uint2"}
"""Types between which a Cast keeps the lowest bits."""


@lower("CastLike", since=15)
def cast_like_lowered(op: Builder, node: Node) -> Result:
    """Cast to the type of the second input, which has to be known; its values do not matter."""
    return op.Cast(node.input(X), to=NUMBERS[node.need_element(LIKE)])


@lower("BitCast", since=26)
def bit_cast_lowered(op: Builder, node: Node) -> Result:
    """Cast between integers of one width, which keeps all bits; nothing shows what the bits of a float are."""
    element, wanted = node.need_element(X), element_name(node.attr("to"))
    if wanted is None or ELEMENTS[NUMBERS[element]].bits != ELEMENTS[NUMBERS[wanted]].bits:
        raise Refusal("C103", f"'input' is {element}, and 'to' is no type of the same width")
    if element == wanted:
        return op.Identity(node.input(X))
    if {element, wanted} <= WHOLE:
        return op.Cast(node.input(X), to=NUMBERS[wanted])
    why = f"it takes the bits of {element} as {wanted}; before version 26 nothing does that, those of NaN included"
    raise Refusal("C204", why, "compute the value by arithmetic")
