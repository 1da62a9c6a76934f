"""Output types of Fourier transforms, windows and mel filter banks."""

from __future__ import annotations

from opset.inference.agreement import element_stated, one_size, unify
from opset.inference.call import Call
from opset.inference.dimensions import Size, equal, less
from opset.inference.registration import infer
from opset.inference.types import Shape, Type, tensor
from opset.schemas.constraints import Violation


@infer("HannWindow", "HammingWindow", "BlackmanWindow")
def hann_window_17(call: Call) -> Type:
    """Return the type of a window of `size` values."""
    size = one_size(call, 0, "C1")
    if less(size, 0):
        raise Violation("C1", f"size {size}")
    return tensor(element_stated(call, "output_datatype"), (size,))


@infer("MelWeightMatrix")
def mel_weight_matrix_17(call: Call) -> Type:
    """Return the type of one row for each bin of the spectrum, one column for each mel band."""
    bands, length, rate, *_ = (one_size(call, index, "C1") for index in range(5))
    for name, size, lowest in (("num_mel_bins", bands, 0), ("dft_length", length, 1), ("sample_rate", rate, 1)):
        if less(size, lowest):
            raise Violation("C1", f"{name} {size}")
    bins = None if length is None else length // 2 + 1
    return tensor(element_stated(call, "output_datatype"), (bins, bands))


@infer("DFT")
def dft_17(call: Call) -> Shape:
    """Return the shape of the input with the size of the transform along its axis, and 1 or 2 for the parts."""
    shape = call.require_shape(0)
    rank = len(shape)
    _check_parts(shape, 2)
    one_sided, inverse = bool(call.attribute("onesided")), bool(call.attribute("inverse"))
    if one_sided and not inverse and equal(shape[-1], 2):
        raise Violation("C5", f"shape {list(shape)}")
    stated = one_size(call, 1, "C4")
    axes = _axes(call, rank)
    result: list[Size | None] = [*shape[:-1], 1 if one_sided and inverse else 2]
    for axis in axes:
        size: Size | None = stated
        if not call.has(1):
            size = 2 * (shape[axis] - 1) if one_sided and inverse else shape[axis]
        if len(axes) == 1 and less(size, 1):
            raise Violation("C3", f"length {size}")
        if one_sided and not inverse and size is not None:
            size = size // 2 + 1
        # Where the axis is not known, a size is known only if the transform would not change it.
        result[axis] = size if len(axes) == 1 or size == shape[axis] else None
    return tuple(result)


def _axes(call: Call, rank: int) -> list[int]:
    """Return the axis of the transform, or all candidates where it is not known."""
    axis: Size | None
    if call.version < 20:
        axis = call.attribute("axis")
    else:
        axis = one_size(call, 2, "C4") if call.has(2) else -2
    if not isinstance(axis, int):
        return list(range(rank - 1))
    along = call.axis(axis, rank, "C2")
    if along == rank - 1:
        raise Violation("C2", f"axis {axis}, rank {rank}")
    return [along]


def _check_parts(shape: tuple[Size, ...], min_rank: int) -> None:
    """Raise Violation C1 where the last dimension certainly is neither 1, for real values, nor 2, for complex ones."""
    if len(shape) < min_rank or (equal(shape[-1], 1) is False and equal(shape[-1], 2) is False):
        raise Violation("C1", f"shape {list(shape)}")


@infer("STFT")
def stft_17(call: Call) -> Shape:
    """Return the shape of the transforms of as many frames as fit into the signal."""
    batch, samples, parts = unify(call, 0, (None,) * 3, "C1")
    one_sided = bool(call.attribute("onesided"))
    if parts is not None:
        _check_parts((parts,), 1)
        if one_sided and equal(parts, 2):
            raise Violation("C5", f"{parts} parts")
    step, length = one_size(call, 1, "C4"), one_size(call, 3, "C4")
    (length,) = unify(call, 2, (length,), "C2")
    if not call.has(2) and not call.has(3):
        length = samples
    if less(step, 1) or less(length, 1) or less(samples, length):
        raise Violation("C3", f"step {step}, frames of {length} samples, and a signal of {samples}")
    frames: Size | None = None
    if samples is not None and length is not None:
        remaining = samples - length
        frames = 1 if remaining == 0 else None if step is None else remaining // step + 1
    bins = length if length is None or not one_sided else length // 2 + 1
    return (batch, frames, bins, 2)
