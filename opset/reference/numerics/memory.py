"""Bytes that values take, and the reservation of memory for results that may be larger than the inputs."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from opset.reference.numerics.arrays import Array
from opset.reference.registration import KernelContext

ENTRY = 128
"""Bytes of an entry of a sequence or map beside its elements, about."""
_LARGE = 1 << 14  # bytes of an array that a small part may keep alive


class TensorSequence(list[Array]):
    """A sequence whose tensors are compact and that keeps their bytes, so that neither is found out again.

    Every sequence that is stored is one; kernels may return plain lists.
    """

    __slots__ = ("nbytes",)

    def __init__(self, tensors: Iterable[Array], nbytes: int) -> None:
        super().__init__(tensors)
        self.nbytes = nbytes


def nbytes(value: Any, of_base: bool = True) -> int:
    """Return the bytes that a value keeps alive: elements (for a view, its base), texts, and entries."""
    if value.__class__ is np.ndarray:
        base = value.base
        owner = base if of_base and isinstance(base, np.ndarray) else value
        size = max(value.nbytes, owner.nbytes)
        return size + sum(map(sys.getsizeof, owner.ravel())) if value.dtype.hasobject else size
    if isinstance(value, list):
        return value.nbytes if isinstance(value, TensorSequence) else sum(map(nbytes, value)) + ENTRY * len(value)
    if isinstance(value, dict):
        return ENTRY * len(value)
    return int(getattr(value, "nbytes", 0))


def compact(value: Any) -> Any:
    """Return a value as it is stored: a small part of a large array as a copy, so that it does not keep the whole.

    A list becomes a TensorSequence, so that a sequence that is passed on is neither copied nor counted again.
    """
    if value.__class__ is np.ndarray:
        base = value.base
        if isinstance(base, np.ndarray) and base.nbytes > _LARGE and value.nbytes < base.nbytes // 2:
            return value.copy()
    elif value.__class__ is list:
        entries = [compact(entry) for entry in value]
        return TensorSequence(entries, nbytes(entries))
    return value


def reserve_reduced(x: Array, axes: Collection[int] | None, context: KernelContext) -> None:
    """Reserve the result of a reduction along axes: of an empty tensor, it may have more elements than the tensor."""
    if not x.size and axes is not None:
        context.reserve(2 * math.prod(size for axis, size in enumerate(x.shape) if axis not in axes), np.float64)
