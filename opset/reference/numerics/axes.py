"""Axes within the rank of a tensor, counted from the front."""

from __future__ import annotations

from collections.abc import Iterable

from opset.schemas.constraints import Violation


def normalised_axis(axis: int, rank: int, label: str) -> int:
    """Return an axis counted from the front. Raises Violation of `label` where the tensor has no such axis."""
    if not -rank <= axis < rank:
        raise Violation(label, f"axis {axis}, rank {rank}")
    return axis % rank


def normalised_axes(axes: Iterable[int], rank: int, label: str) -> list[int]:
    """Return axes counted from the front. Raises Violation of `label` where the tensor has no such axis."""
    return [normalised_axis(axis, rank, label) for axis in axes]


def nonnegative_axis(axis: int, rank: int, label: str) -> int:
    """Return an axis of a version without negative axes. Raises Violation of `label` where it is not below the rank."""
    if not 0 <= axis < rank:
        raise Violation(label, f"axis {axis}, rank {rank}")
    return axis
