"""Bytes that values take, and the reservation of memory for results that may be larger than the inputs."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from opset.reference.numerics.arrays import Array
from opset.reference.registration import KernelContext


class TensorSequence(list[Array]):
    """A sequence that keeps the bytes of its tensors, so that adding or removing one need not count all others.

    Other sequences are plain lists; only those that are built one element at a time need this.
    """

    __slots__ = ("nbytes",)

    def __init__(self, tensors: Iterable[Array], nbytes: int) -> None:
        super().__init__(tensors)
        self.nbytes = nbytes


def nbytes(value: Any) -> int:
    """Return the bytes of a value's arrays and texts; a map counts 64 for each entry."""
    if value.__class__ is np.ndarray:
        return value.nbytes + sum(map(sys.getsizeof, value.ravel())) if value.dtype.hasobject else value.nbytes
    if isinstance(value, list):
        return value.nbytes if isinstance(value, TensorSequence) else sum(map(nbytes, value))
    if isinstance(value, dict):
        return 64 * len(value)
    return int(getattr(value, "nbytes", 0))


def reserve_reduced(x: Array, axes: Collection[int] | None, context: KernelContext) -> None:
    """Reserve the result of a reduction along axes: that of an empty tensor may have more elements than the tensor."""
    if not x.size and axes is not None:
        context.reserve(2 * math.prod(size for axis, size in enumerate(x.shape) if axis not in axes), np.float64)
