from functools import partial

from opset.extend import Builder, Node, Refusal, Result, down, lower, up

PAINT = "com.paint"
SECOND = 1
REASONS = {"Vase": {"foot": "it has no foot"}, "Pot": {"foot": "no pot stands on its foot"}}


def _fired(op: Builder, node: Node) -> Result:
    """Fire what goes into it."""
    return op.copy(node, inputs=[op.Kiln(node.input(0), node.input(0))])


up("Pot", since=4, domain="com.clay")(_fired)
up("Pot", since=6, domain="com.clay")(_fired)
down("Pot", since=6, domain="com.clay")(_fired)
down("Pot", since=4, domain="com.clay")(partial(_fired))


@lower("Pot", since=2, domain="com.clay")
def pot_2(op: Builder, node: Node) -> Result:
    """Bake it, and paint it.

    Nobody reads this.
    """
    baked = op.Kiln(op.Erf(node.input(0), domain=""), node.input(0))
    return op.Tint(baked, domain=PAINT) if node.shape(0) else op.Relu(baked, domain="")


@lower("Ash", since=3, domain="com.clay")
def ash_3(op: Builder, node: Node) -> Result:
    """Put nothing in its place."""
    return op.const(0.0)


@up("Vase", since=4, domain="com.clay")
def vase_4_up(op: Builder, node: Node) -> Result:
    """Turn it."""
    node.need_shape(SECOND)
    node.need_rank(7)
    node.need_element(node.attr("side"))
    if node.shape(0) == (1,):
        raise Refusal("C401", "it takes too long")
    if node.shape(0) == (2,):
        raise Refusal("C204", REASONS["Vase"]["foot"])
    if node.shape(0) == (3,):
        raise Refusal("C204")
    for size in node.shape(0) or ():
        if size == SECOND:
            raise Refusal("C202" if size else "C203", f"it's '{size}' of '{node.name}', not '{SECOND}'")
    return None


@down("Vase", since=4, domain="com.clay")
def vase_4_down(op: Builder, node: Node) -> Result:
    """Bake it in an oven, or turn it."""
    known = node.constant(SECOND)
    result = op.Oven(node.input(0)) if known else op.copy(node, op_type="Shelf")
    if known and len(known.values) == 3:
        why = "it has" + " no 'foot'"
        raise Refusal("C204", why)
    while known:
        return op.Kiln(result, result)
    return result
