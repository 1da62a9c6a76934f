"""Cast and CastLike: the name of a type became its number, and attributes came that matter to some types alone."""

from __future__ import annotations

from opset.errors import printable
from opset.model.elements import NUMBERS, element_name
from opset.version_converter.registration import Adapter, down, up
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

FLOAT8 = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")


@up("Cast", since=6)
def cast_6_up(op: Builder, node: Node) -> Result:
    """The type was named as in the enumeration of the types, which has its number too."""
    name = node.attr("to")
    element = name.lower() if isinstance(name, str) else ""
    if element not in NUMBERS:
        raise Refusal("C103", f"'to' is {printable(name)}, which names no type")
    return op.copy(node, to=NUMBERS[element])


@down("Cast", since=6)
def cast_6_down(op: Builder, node: Node) -> Result:
    """The number of a type has a name in the same enumeration."""
    number = node.attr("to")
    name = element_name(number)
    if name is None:
        raise Refusal("C103", f"'to' is {number}, which is no type")
    return op.copy(node, to=name.upper())


def without(attribute: str, types: tuple[str, ...]) -> Adapter:
    """Return the down adapter for a version at which an attribute came that only casts to some types look at."""

    def adapter(op: Builder, node: Node) -> Result:
        to = node.attr("to") if node.op_type == "Cast" else NUMBERS.get(node.element(1) or "")
        if not node.has(attribute) or to is None or to in {NUMBERS[name] for name in types}:
            return None
        node.need_element(0)
        return op.copy(node, drop=[attribute])

    return adapter


down("Cast", "CastLike", since=19)(without("saturate", FLOAT8))
down("Cast", "CastLike", since=24)(without("round_mode", ("float8e8m0",)))
