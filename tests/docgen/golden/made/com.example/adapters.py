"""Adapters of which conversions.json alone says what they do."""

from opset.extend import Builder, Node, Result, down, lower, up


def _rewrite(op: Builder, node: Node) -> Result:
    """Rewrite it."""
    return op.copy(node)


for since in (2, 3, 5):
    up("Made", since=since, domain="com.example")(_rewrite)
    down("Made", since=since, domain="com.example")(_rewrite)
up("Gone", since=4, domain="com.example")(_rewrite)
lower("Late", since=3, domain="com.example")(_rewrite)
