from opset.extend import Builder, Node, Refusal, Result, down, up


@up("Thin", since=2, domain="com.acme")
def thin_2_up(op: Builder, node: Node) -> Result:
    return op.copy(node, skip=None, step=node.attr("skip") + 1)


@down("Thin", since=2, domain="com.acme")
def thin_2_down(op: Builder, node: Node) -> Result:
    if node.attr("start"):
        raise Refusal("C204", "before version 2 the first element was always kept", "cut it off by Slice")
    return op.copy(node, step=None, start=None, skip=node.attr("step") - 1)
