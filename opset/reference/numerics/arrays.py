"""The arrays that kernels compute with, and the zero of each element type."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def zero_of(dtype: np.dtype[Any]) -> Array:
    """Return a scalar array of zero, false or the empty string."""
    return np.array("", object) if dtype.kind == "O" else np.zeros((), dtype)
