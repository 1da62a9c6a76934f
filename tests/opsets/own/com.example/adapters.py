"""How nodes of com.example move between versions."""

from opset.extend import Builder, Node, Refusal, Result, down, up


@up("Stretch", since=2, domain="com.example")
def stretch_2_up(op: Builder, node: Node) -> Result:
    """The number of copies becomes an input; the whole axis is still what is repeated."""
    return op.copy(node, inputs=[node.input(0), op.const(node.attr("times"))], times=None, mode="whole")


@down("Stretch", since=2, domain="com.example")
def stretch_2_down(op: Builder, node: Node) -> Result:
    """The number of copies has to be constant; one copy is the same in both modes."""
    times = node.need_constant(1).values[0]
    if node.attr("mode") == "each" and times != 1:
        raise Refusal("C204", "before version 2 elements were not repeated by themselves", "set mode='whole'")
    return op.copy(node, inputs=[node.input(0)], mode=None, times=times)
