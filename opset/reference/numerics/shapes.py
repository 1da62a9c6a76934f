"""Shapes that are given as values: by a tensor of integers or an attribute."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from opset.reference.limits import MAX_RANK
from opset.reference.numerics.arrays import Array


def dims_of(shape: Array | Sequence[int]) -> list[int]:
    """Return the dimensions of a shape. Raises ValueError if they are more than an array can have.

    Their number is checked first: a product or an error message of a million dimensions would itself take long.
    """
    count = shape.size if isinstance(shape, np.ndarray) else len(shape)
    if count > MAX_RANK:
        raise ValueError(f"there are {count:,} sizes, and an array has at most {MAX_RANK}")
    return [int(size) for size in np.ravel(shape)] if isinstance(shape, np.ndarray) else list(shape)
