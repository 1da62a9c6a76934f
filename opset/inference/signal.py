"""Fourier transforms, windows, and mel bands."""

from __future__ import annotations

from opset.inference.agreement import element_stated, one_size, unify
from opset.inference.call import Call
from opset.inference.dimensions import Size, equal, less
from opset.inference.registration import infer
from opset.inference.types import Shape, Type, tensor
from opset.schemas.constraints import Violation


@infer("HannWindow", "HammingWindow", "BlackmanWindow")
def hann_window_17(call: Call) -> Type:
    """Return a window of as many values as the input says."""
    size = one_size(call, 0, "C1")
    if less(size, 0):
        raise Violation("C1", f"size {size}")
    return tensor(element_stated(call, "output_datatype", "C2"), (size,))


@infer("MelWeightMatrix")
def mel_weight_matrix_17(call: Call) -> Type:
    """Return values of a spectrum, and bands."""
    bands, length, rate, *_ = (one_size(call, place, "C1") for place in range(5))
    for name, size, least in (("num_mel_bins", bands, 0), ("dft_length", length, 1), ("sample_rate", rate, 1)):
        if less(size, least):
            raise Violation("C1", f"{name} {size}")
    values = None if length is None else length // 2 + 1
    return tensor(element_stated(call, "output_datatype", "C2"), (values, bands))


@infer("DFT")
def dft_17(call: Call) -> Shape:
    """Return the shape of the input with the transform's size along its axis; its last dimension holds the parts."""
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
        # Of several dimensions that may be meant, only a size that would not change is known.
        result[axis] = size if len(axes) == 1 or size == shape[axis] else None
    return tuple(result)


def _axes(call: Call, rank: int) -> list[int]:
    """Return the dimension that is transformed, or where it is not known all that it may be."""
    axis: Size | None
    if call.version < 20:
        axis = call.attribute("axis")
    else:
        axis = one_size(call, 2, "C4") if call.has(2) else -2
    if not isinstance(axis, int):
        return list(range(rank - 1))
    place = call.axis(axis, rank, "C2")
    if place == rank - 1:
        raise Violation("C2", f"axis {axis}, rank {rank}")
    return [place]


def _check_parts(shape: tuple[Size, ...], least: int) -> None:
    """Raise Violation C1 where the last dimension is certainly not of real or complex values."""
    if len(shape) < least or (equal(shape[-1], 1) is False and equal(shape[-1], 2) is False):
        raise Violation("C1", f"shape {list(shape)}")


@infer("STFT")
def stft_17(call: Call) -> Shape:
    """Return the transforms of as many frames as fit into the signal."""
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
        rest = samples - length
        frames = 1 if rest == 0 else None if step is None else rest // step + 1
    values = length if length is None or not one_sided else length // 2 + 1
    return (batch, frames, values, 2)
