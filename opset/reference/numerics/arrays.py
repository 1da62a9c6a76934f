"""The arrays that kernels compute with, and the zero of each element type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


PIECE = 1 << 16
"""Elements of a piece, of which several copies in wider types are small beside a large array."""


def pieces(*arrays: Array) -> Iterator[tuple[Array, ...]]:
    """Yield the elements of arrays of one shape in flat pieces, in order; each is valid until the next one."""
    if not arrays[0].size:
        return
    if arrays[0].size <= PIECE:
        yield tuple([array.reshape(-1) for array in arrays])
        return
    flags: Any = ["external_loop", "buffered", "refs_ok"]
    for parts in np.nditer(arrays, flags, order="C", buffersize=PIECE):
        yield parts if isinstance(parts, tuple) else (parts,)


def zero_of(dtype: np.dtype[Any]) -> Array:
    """Return a scalar array of zero, false or the empty string."""
    return np.array("", object) if dtype.kind == "O" else np.zeros((), dtype)
