"""Orders of nodes in which every value is computed before it is read, for bodies that state another one.

Some tools append the nodes that they insert; runtimes sort. A node also reads the outer values that its subgraphs read.
Linear in names and nodes, and nothing recurses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opset.model.graph.index import Body


def sorted_orders(all_bodies: Sequence[Body]) -> dict[Body, list[int]]:
    """Return new orders of nodes for the bodies that are not sorted.

    A node moves only if an earlier one reads a value that it computes: then it goes right before that one.

    Args:
        all_bodies: Bodies, each before the bodies inside it.

    Returns:
        The indices of nodes in their new order. A body is missing if it is sorted, if its nodes are in a cycle, or if a
        name may also mean a value of a body around.
    """
    captured: dict[Body, dict[int, set[str]]] = {body: {} for body in all_bodies}
    for body in reversed(all_bodies):
        if body.owner is not None and body.parent is not None:
            read = {name for names in body.reads for name in names}.union(body.output_names(), *captured[body].values())
            captured[body.parent].setdefault(body.index, set()).update(read - body.definitions.keys())
    orders = {}
    for body in all_bodies:
        order = _sorted_order(body, captured[body])
        if order is not None:
            orders[body] = order
    return orders


def sort_nodes(message: Any, order: Sequence[int]) -> int:
    """Put the nodes of a GraphProto or FunctionProto into an order; return the number of nodes that were moved."""
    nodes = message.node[:]
    del message.node[:]
    message.node.extend([nodes[position] for position in order])
    return count_moved_nodes(order)


def count_moved_nodes(order: Sequence[int]) -> int:
    """Return the number of nodes that an order moves before earlier ones."""
    count, first = 0, len(order)
    for index in reversed(order):
        count += index > first
        first = min(first, index)
    return count


def _sorted_order(body: Body, inside: Mapping[int, set[str]]) -> list[int] | None:
    """Return an order of a body's nodes, None if they are sorted or cannot be."""
    here = body.definitions
    names = [[*reads, *inside[index]] if index in inside else reads for index, reads in enumerate(body.reads)]
    late = {name for index, each in enumerate(names) for name in each if name and here.get(name, -1) >= index}
    if not late:
        return None
    around = body.parent
    while around is not None:
        if not late.isdisjoint(around.definitions):
            return None
        around = around.parent
    needed = [[at for name in each if name and (at := here.get(name, -1)) >= 0] for each in names]
    order: list[int] = []
    waiting, done = bytearray(len(needed)), bytearray(len(needed))
    for first in range(len(needed)):
        if done[first]:
            continue
        waiting[first] = 1
        path: list[tuple[int, Iterator[int]]] = [(first, iter(needed[first]))]
        while path:
            index, producers = path[-1]
            producer = next((each for each in producers if not done[each]), -1)
            if producer < 0:
                path.pop()
                done[index] = 1
                order.append(index)
            elif waiting[producer]:
                return None
            else:
                waiting[producer] = 1
                path.append((producer, iter(needed[producer])))
    return order
