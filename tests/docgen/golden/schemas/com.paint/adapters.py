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


@up("Wash", since=3, domain="com.paint")
def wash_3_up(op: Builder, node: Node) -> Result:
    """Thin twice where there is much water."""
    if node.attr("water") < 2:
        return None
    thin = op.copy(node, water=1)
    return op.copy(node, inputs=[thin], brush=1)


@up("Wash", since=4, domain="com.paint")
def wash_4_up(op: Builder, node: Node) -> Result:
    """Fade it."""
    return op.Fade(node.input(0), domain="com.paint")


@down("Wash", since=4, domain="com.paint")
def wash_4_down(op: Builder, node: Node) -> Result:
    """Trim it."""
    return op.Trim(node.input(0), op.const(255.0))


@down("Wash", since=3, domain="com.paint")
def wash_3_down(op: Builder, node: Node) -> Result:
    """Name what is nowhere."""
    return op.Relu(node.input(0), domain="com.paint")


@down("Wash", since=2, domain="com.paint")
def wash_2_down(op: Builder, node: Node) -> Result:
    """Pile it on itself."""
    return op.Stack(node.input(0), node.input(0))
