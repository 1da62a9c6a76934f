"""Registration of adapters: one plain function for each transition of an operator that changes its meaning.

`opset/adapters/families/<family>.py` holds the adapters and lowerings of the operators of that family. A function is
found by its decorator:

    @up("Softmax", since=13)          # a node as before version 13 -> one that is right at version 13
    @down("Softmax", since=13)        # a node of version 13 -> one that is right at the version before

    @lower("Gelu", since=20)          # a node of version 20, the first -> nodes that are right at the version before

It takes (op, node): a `Builder` that makes nodes, and a `Node` with the facts about the node to convert. It returns the
values that replace the node's outputs, or None to leave the node as it is. It raises `Refusal` if the meaning would be
lost.

Operators of one's own are registered in the same way, with their domain. An `adapters.py` beside the YAML of a domain
is run when a conversion first needs a written adapter of it; only conversions with that folder see its adapters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from opset.errors import ConversionError
from opset.opsets.hooks import Layer, Table, versions_of
from opset.version_converter.rewrite import Builder, Node, Result

Adapter = Callable[[Builder, Node], Result]

LAYER = Layer(
    "adapters.py", "opset.adapters.families", "adapter", ConversionError, "C105", "opset explain adapters", exact=True
)


def up(*operators: str, since: int, domain: str = "") -> Callable[[Adapter], Adapter]:
    """Register the adapter that converts nodes of these operators from the version before `since` to version `since`.

    Raises ConversionError C105 if another adapter is registered for the transition, or if an operator is a standard
    one.
    """
    return LAYER.register("up", operators, since, domain)


def down(*operators: str, since: int, domain: str = "") -> Callable[[Adapter], Adapter]:
    """Register the adapter that converts nodes of these operators from version `since` to the version before.

    Raises ConversionError C105 if another adapter is registered for the transition, or if an operator is a standard
    one.
    """
    return LAYER.register("down", operators, since, domain)


def lower(*operators: str, since: int, domain: str = "") -> Callable[[Adapter], Adapter]:
    """Register the lowering of operators that came with version `since`: it expresses a node by other operators.

    The new nodes are written for the opset before `since`; if `since` is 1, for the opset of the node. If the target is
    older, the new nodes are converted further. The lowering returns values for all outputs that are in use, or raises
    Refusal.

    Raises ConversionError C105 if another lowering is registered for an operator, or if an operator is a standard one.
    """
    return LAYER.register("lower", operators, since, domain)


def refuses(code: str, *reasons: str) -> Callable[[Adapter], Adapter]:
    """Return a decorator that attaches reasons of refusals to an adapter, so that the documentation lists them.

    It is meant for refusals that no example of the operator shows. `code` is the code of the refusals, `reasons` are
    their texts.
    """

    def state(adapter: Adapter) -> Adapter:
        vars(adapter)["reasons"] = (*stated_reasons(adapter), *((code, why) for why in reasons))
        return adapter

    return state


def stated_reasons(adapter: Adapter) -> tuple[tuple[str, str], ...]:
    """Return the (code, reason) pairs that `refuses` attached to an adapter; empty if there are none."""
    return getattr(adapter, "reasons", ())


def registered_adapters(families: Iterable[str], own: Table | None = None) -> frozenset[tuple[str, str, int, str]]:
    """Return (domain, operator, since_version, direction) for each registered adapter of some families.

    The direction is "up", "down" or "lower"; since_version is the newer version of the transition. `own` are the
    adapters of a user's domain.
    """
    return frozenset(
        (*key, direction)
        for direction in ("up", "down", "lower")
        for key in LAYER.hook_versions(direction, families) | versions_of(direction, own or {})
    )
