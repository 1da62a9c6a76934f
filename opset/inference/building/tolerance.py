"""Inputs in forms that runtimes accept against the standard, in the standard form; see opset/schemas/quirks.py."""

from __future__ import annotations

from collections.abc import Sequence

from opset.inference.building.types import Type


def normalize_input_types(op_type: str, types: Sequence[Type | None]) -> list[Type | None]:
    """Return the input types of a node that breaks a constraint as they are in the standard form of the node."""
    if op_type == "Clip":
        return [*types[:1], *map(_as_scalar, types[1:])]
    if op_type == "STFT" and types and types[0] is not None and types[0].shape is not None and len(types[0].shape) == 2:
        return [types[0]._replace(shape=(*types[0].shape, 1)), *types[1:]]
    return [*types]


def _as_scalar(type_: Type | None) -> Type | None:
    """Return the type of a tensor of shape [1] as a scalar's; other types stay."""
    return type_._replace(shape=()) if type_ is not None and type_.shape == (1,) else type_
