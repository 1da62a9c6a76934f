from opset.extend import Builder, Node, Refusal, Result, down, up


@up("Warp", since=3, domain="com.paint")
def warp_3_up(op: Builder, node: Node) -> Result:
    """Write the force as a field of one point."""
    force = node.attr("force")
    if force < 0:
        raise Refusal("C204", "a negative `force` has no field", "turn the picture around")
    field = op.const(force) if force else op.Identity(node.input(0))
    return op.Warp(node.input(0), field, grid=[1])


@down("Warp", since=3, domain="com.paint")
def warp_3_down(op: Builder, node: Node) -> Result:
    """Take the one value of a field as the force."""
    values = node.need_constant(1).values
    moved = _moved(op, node, float(values[0]))
    return moved if len(values) == 1 else op.Blend(moved, node.input(0), weight=0.5)


def _moved(op: Builder, node: Node, force: float) -> Result:
    if not force:
        return op.Identity(node.input(0))
    return op.copy(node, inputs=[node.input(0)], grid=None, force=force)
