"""The fix of the order of nodes."""

from __future__ import annotations

from collections.abc import Iterator

from opset.checker.table import CHECKER, CheckContext, Mend
from opset.model.graph.sorting import sort_nodes, sorted_orders


@CHECKER.fix("M110 M112")
def put_nodes_in_order(context: CheckContext) -> Iterator[Mend]:
    """Put each node behind the nodes whose outputs it reads, itself or in a graph inside it.

    The order of other nodes stays, and nodes in a cycle do not move. Yields a Mend for each body whose nodes moved.
    """
    moved = sorted_orders(context.bodies)
    for body in reversed(context.bodies):  # to move a node copies the graphs in it
        if body in moved:
            label = body.label
            count = sort_nodes(body.proto, moved[body])
            yield Mend(
                "M110", f"nodes were sorted, so that each follows those whose outputs it reads: {count} moved", label
            )
