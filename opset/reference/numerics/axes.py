"""Axes within the rank of a tensor, counted from the front."""

from __future__ import annotations

from opset.schemas.constraints.violation import Violation


def normalize_axis(axis: int, rank: int, label: str) -> int:
    """Return an axis counted from the front. Raises Violation of `label` if a tensor of this rank has no such axis."""
    if not -rank <= axis < rank:
        raise Violation(label, f"axis {axis}, rank {rank}")
    return axis % rank
