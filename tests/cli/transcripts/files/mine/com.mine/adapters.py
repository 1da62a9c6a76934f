from opset.extend import up


@up("Blend", since=2, domain="com.mine")
def blend_2_up(op, node):
    return op.copy(node, axis=-1)
