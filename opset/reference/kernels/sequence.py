"""Kernels of sequences and optional values."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from opset.inference.building.shapes import complete_parts, normalize_axis
from opset.reference.numerics.arrays import Array
from opset.reference.numerics.memory import ENTRY, TensorSequence, nbytes
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints.violation import Violation

_CHECK_INTERVAL = 1 << 16  # parts between two checks of the time limit


@kernel("SequenceConstruct", since=11)
def sequence_construct_11(*tensors: Array) -> list[Array]:
    """Return the inputs as a sequence."""
    return list(tensors)


@kernel("SequenceEmpty", since=11)
def sequence_empty_11(*, dtype: int | None) -> list[Array]:
    """Return a sequence without tensors."""
    return []


@kernel("SequenceLength", since=11)
def sequence_length_11(sequence: list[Array]) -> Array:
    """Return the number of tensors."""
    return np.array(len(sequence), np.int64)


@kernel("SequenceAt", since=11)
def sequence_at_11(sequence: list[Array], position: Array) -> Array:
    """Return the tensor at a position."""
    return sequence[_position_from_front(position, len(sequence), len(sequence) - 1)]


@kernel("SequenceErase", since=11)
def sequence_erase_11(sequence: list[Array], position: Array | None = None) -> list[Array]:
    """Return the sequence without the tensor at a position, by default the last."""
    count = len(sequence)
    where = _position_from_front(np.array(-1) if position is None else position, count, count - 1)
    return TensorSequence([*sequence[:where], *sequence[where + 1 :]], nbytes(sequence) - _entry_bytes(sequence[where]))


@kernel("SequenceInsert", since=11)
def sequence_insert_11(sequence: list[Array], tensor: Array, position: Array | None = None) -> list[Array]:
    """Return the sequence with a tensor inserted before a position, by default at the end."""
    if sequence and sequence[0].dtype != tensor.dtype:
        raise Violation("C2", f"{tensor.dtype} does not go into a sequence of {sequence[0].dtype}")
    count = len(sequence)
    where = count if position is None else _position_from_front(position, count, count)
    return TensorSequence([*sequence[:where], tensor, *sequence[where:]], nbytes(sequence) + _entry_bytes(tensor))


def _entry_bytes(tensor: Array) -> int:
    """Return the bytes that a tensor takes in a sequence."""
    return nbytes(tensor) + ENTRY


def _position_from_front(position: Array, count: int, last: int) -> int:
    """Return a position counted from the front. Raises Violation C1 if it is not in [-count, last]."""
    where = int(position.item())
    if not -count <= where <= last:
        raise Violation("C1", f"position {where}, {count} tensors")
    return where + count if where < 0 else where


@kernel("ConcatFromSequence", since=11)
def concat_from_sequence_11(sequence: list[Array], *, axis: int, new_axis: int, context: KernelContext) -> Array:
    """Return the tensors joined along an axis, or stacked along a new one."""
    if not sequence:
        raise Violation("C2")
    first = sequence[0]
    axis = normalize_axis(axis, first.ndim + new_axis, "C3")
    behind = axis + (not new_axis)  # all sizes are equal but the axis's, if there is no new one
    for tensor in sequence:
        same_sizes = tensor.shape[:axis] == first.shape[:axis] and tensor.shape[behind:] == first.shape[behind:]
        if tensor.dtype != first.dtype or tensor.ndim != first.ndim or not same_sizes:
            raise Violation("C4", f"{tensor.dtype}{list(tensor.shape)} and {first.dtype}{list(first.shape)}")
    context.reserve(sum(tensor.size for tensor in sequence), first.dtype)
    return np.stack(sequence, axis) if new_axis else np.concatenate(sequence, axis)


@kernel("SplitToSequence", since=11)
def split_to_sequence_11(
    x: Array, lengths: Array | None = None, *, axis: int, keepdims: int, context: KernelContext
) -> list[Array]:
    """Return the parts of x along an axis: of one length, of given lengths, or of length 1."""
    axis %= x.ndim
    size = x.shape[axis]
    leading: tuple[Any, ...] = (slice(None),) * axis
    if lengths is None or not lengths.ndim:
        step = 1 if lengths is None else int(lengths)
        begins = range(0, size, step)
        context.reserve(len(begins) * ENTRY + x.nbytes, np.uint8)
        drop = lengths is None and keepdims == 0
        parts: list[Array] = []
        for number, begin in enumerate(begins):
            if not number % _CHECK_INTERVAL:
                context.check_time()
            parts.append(x[(*leading, begin if drop else slice(begin, begin + step), ...)].copy())
        return parts
    complete_parts(lengths.tolist(), size, "C3")
    context.reserve(lengths.size * ENTRY + x.nbytes, np.uint8)
    bounds = [0, *np.cumsum(lengths, dtype=np.int64).tolist()]
    return [x[(*leading, slice(begin, end))].copy() for begin, end in itertools.pairwise(bounds)]


@kernel("Optional", since=15)
def optional_15(value: Any = None, *, type: Any) -> Any:
    """Return a value as an optional value, an empty one for None."""
    return value


@kernel("OptionalHasElement", since=15)
def optional_has_element_15(value: Any = None) -> Array:
    """Return true if there is a value, else false."""
    return np.array(value is not None)


@kernel("OptionalGetElement", since=15)
def optional_get_element_15(value: Any) -> Any:
    """Return the value in an optional value."""
    if value is None:
        raise Violation("C1")
    return value
