"""Where meaning moved between two versions of an operator: one plain function a transition and direction.

`opset/adapters/<family>.py` holds the adapters of the operators of that family. A function is found by its decorator:

    @up("Softmax", since=13)          # a node as before version 13 -> one that is right at version 13
    @down("Softmax", since=13)        # a node of version 13 -> one that is right at the version before

It takes (op, node): a `Builder` that makes nodes and a `Node` to ask. It gives the values that take the place of the
node's outputs, or None to leave the node as it is. It raises `Refusal` where meaning would be lost.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opset.version_converter.rewrite import Builder, Node, Result

Adapter = Callable[["Builder", "Node"], "Result"]
Key = tuple[str, str, int, str]

_adapters: dict[Key, Adapter] = {}


def up(*operators: str, since: int, domain: str = "") -> Callable[[Adapter], Adapter]:
    """Register the adapter that takes nodes of the operators from the version before `since` to it."""
    return _register(operators, since, domain, "up")


def down(*operators: str, since: int, domain: str = "") -> Callable[[Adapter], Adapter]:
    """Register the adapter that takes nodes of the operators from version `since` to the one before."""
    return _register(operators, since, domain, "down")


def _register(operators: tuple[str, ...], since: int, domain: str, direction: str) -> Callable[[Adapter], Adapter]:
    def register(adapter: Adapter) -> Adapter:
        for operator in operators:
            key = (domain, operator, since, direction)
            if key in _adapters:
                raise RuntimeError(f"two adapters for {key}")
            _adapters[key] = adapter
        return adapter

    return register


def find(domain: str, operator: str, since: int, direction: str, family: str) -> Adapter | None:
    """Return the written adapter of one transition and direction, None if there is none."""
    load(family)
    return _adapters.get((domain, operator, since, direction))


def load(family: str) -> None:
    """Import a family's adapters, if it has any."""
    name = f"opset.adapters.{family}"
    if family.isidentifier() and find_spec(name) is not None:  # a user's family may be called anything
        importlib.import_module(name)


def written(families: list[str]) -> frozenset[Key]:
    """Return the (domain, operator, since, direction) of every written adapter of the families."""
    for family in families:
        load(family)
    return frozenset(_adapters)
