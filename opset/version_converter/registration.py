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
    """Return a decorator that registers an adapter from the version before `since` up to version `since`.

    `since` is the since_version of the newer version, for each of the operators: `@up("Softmax", since=13)`. `domain`
    is "" for ai.onnx. The decorator returns the function unchanged. A function of the same qualified name is replaced.

    The decorator raises ConversionError C105 if another adapter is registered for the transition, or if an operator is
    of the standard: only this package registers adapters for these.
    """
    return LAYER.register("up", operators, since, domain)


def down(*operators: str, since: int, domain: str = "") -> Callable[[Adapter], Adapter]:
    """Return a decorator that registers an adapter from version `since` down to the version before.

    `since` is the since_version of the newer version, for each of the operators: `@down("Softmax", since=13)`. `domain`
    is "" for ai.onnx. The decorator returns the function unchanged. A function of the same qualified name is replaced.

    The decorator raises ConversionError C105 if another adapter is registered for the transition, or if an operator is
    of the standard: only this package registers adapters for these.
    """
    return LAYER.register("down", operators, since, domain)


def lower(*operators: str, since: int, domain: str = "") -> Callable[[Adapter], Adapter]:
    """Return a decorator that registers a lowering: an adapter that expresses a node by nodes of other operators.

    `since` is the first version of the operators: `@lower("Gelu", since=20)`. `domain` is "" for ai.onnx. The new nodes
    are written for the opset before `since`, or for the opset of the node if `since` is 1. If the target is older, the
    new nodes are converted further. The lowering returns values for all outputs that are in use, or raises Refusal.

    The decorator raises ConversionError C105 if another lowering is registered for an operator, or if an operator is of
    the standard: only this package registers lowerings for these.
    """
    return LAYER.register("lower", operators, since, domain)


def in_place(adapter: Adapter) -> Adapter:
    """Mark a lowering whose nodes are right at every opset that has its operator, and return the lowering.

    A marked lowering can replace a node, at the node's own opset, if a runtime lacks the operator. An unmarked lowering
    is right only for the first version of the operator. A newer node is first converted down to the first version,
    which may lack the node's type, such as bfloat16.
    """
    vars(adapter)["in_place"] = True
    return adapter


def is_in_place(adapter: Adapter) -> bool:
    """Whether a lowering, which replaces nodes of an operator by other operators, is marked by `in_place`.

    The nodes that a marked lowering writes are right at every opset that has the operator, such as Cast for CastLike.
    """
    return "in_place" in vars(adapter)


def refuses(code: str, *reasons: str) -> Callable[[Adapter], Adapter]:
    """Return a decorator that attaches reasons of refusals to an adapter, so that the documentation lists them.

    It is meant for refusals that no example of the operator shows: `@refuses("C204", "the axis is negative")`. `code`
    is the error code of the refusals, `reasons` are their texts.
    """

    def state(adapter: Adapter) -> Adapter:
        """Attach the reasons to an adapter, after any earlier ones, and return the adapter itself."""
        vars(adapter)["reasons"] = (*stated_reasons(adapter), *((code, why) for why in reasons))
        return adapter

    return state


def stated_reasons(adapter: Adapter) -> tuple[tuple[str, str], ...]:
    """Return the (code, reason) pairs that `refuses` attached to an adapter; empty if there are none."""
    return getattr(adapter, "reasons", ())


def registered_adapters(families: Iterable[str], own: Table | None) -> frozenset[tuple[str, str, int, str]]:
    """Return (domain, operator, since_version, direction) for each adapter that is registered.

    The direction is "up", "down" or "lower"; since_version is the newer version of the transition.

    Args:
        families: Families of operators whose modules are imported first, so that their adapters are listed. Adapters
            that were registered before are listed, too.
        own: The adapters of a user's domain, which are listed, too; None if there are none.
    """
    return frozenset(
        (*key, direction)
        for direction in ("up", "down", "lower")
        for key in LAYER.hook_versions(direction, families) | versions_of(direction, own or {})
    )
