"""Choosing between two arrays element by element."""

from __future__ import annotations

import numpy as np

from opset.reference.numerics.arrays import Array

_SMALL = 2048  # elements below which one call of np.where is cheaper than several calls
_WHOLE = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


def select(condition: Array, x: Array, y: Array) -> Array:
    """Return `x` for elements whose condition is true, else `y`; shapes broadcast, the types are the same.

    It equals `np.where`, which branches at every element: a condition without pattern costs it several
    times as much as masking and combining the bits of both.
    """
    if condition.size < _SMALL or x.dtype.hasobject or x.dtype.itemsize not in _WHOLE:
        return np.where(condition, x, y)
    whole = _WHOLE[x.dtype.itemsize]
    mask = condition.astype(whole)
    np.negative(mask, out=mask)
    bits_of_x, bits_of_y = x.view(whole), y.view(whole)
    bits = bits_of_x ^ bits_of_y
    bits = np.bitwise_and(bits, mask, out=mask if bits.shape == mask.shape else None)
    bits ^= bits_of_y
    return bits.view(x.dtype)
