"""Axes as they were counted over time, and the elements that fill what has no value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from opset.reference.numerics.shared import Array, positive_axis
from opset.schemas.constraints import Violation


def front_axis(axis: int, rank: int, label: str) -> int:
    """Return an axis of versions that count from the front only. Raises Violation of `label` where there is none."""
    if not 0 <= axis < rank:
        raise Violation(label, f"axis {axis}, rank {rank}")
    return axis


def positive_axes(axes: Iterable[int], rank: int, label: str) -> list[int]:
    """Return axes counted from the front. Raises Violation of `label` where the tensor has no such axis."""
    return [positive_axis(axis, rank, label) for axis in axes]


def zero_of(dtype: np.dtype[Any]) -> Array:
    """Return a scalar of zero, false or the empty string."""
    return np.array("", object) if dtype.kind == "O" else np.zeros((), dtype)
