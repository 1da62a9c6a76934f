"""Output types of Fourier transforms, windows and mel filter banks."""

from __future__ import annotations

from opset.inference.building.agreement import dtype_of_attribute, element_as_size
from opset.inference.building.call import Call
from opset.inference.building.dimensions import Size, less
from opset.inference.building.types import Shape, Type, tensor
from opset.inference.registration import infer
from opset.schemas.constraints.violation import Violation


@infer("HannWindow", "HammingWindow", "BlackmanWindow")
def hann_window_17(call: Call) -> Type:
    """Return the type of a vector. Its size is the element of the first input, or None if the element is unknown.

    HannWindow, HammingWindow and BlackmanWindow have this output. The attribute `output_datatype` names its element
    type.
    """
    return tensor(dtype_of_attribute(call, "output_datatype"), (element_as_size(call, 0),))


@infer("MelWeightMatrix")
def mel_weight_matrix_17(call: Call) -> Type:
    """Return the type of a matrix of dft_length // 2 + 1 rows and num_mel_bins columns.

    A size is None if it is unknown. The element type is the one that the attribute `output_datatype` names.
    """
    bands, length = element_as_size(call, 0), element_as_size(call, 1)
    bins = None if length is None else length // 2 + 1
    return tensor(dtype_of_attribute(call, "output_datatype"), (bins, bands))


@infer("DFT")
def dft_17(call: Call) -> Shape:
    """Return the input's shape with the number of values of the transform along `axis`, and 1 or 2 as last size.

    The length n of the transform is the second input, by default the input's size along `axis`.

    - In general, there are n values, and the last size is 2 (complex).
    - A one-sided transform gives n // 2 + 1 values, and the last size 2.
    - A one-sided inverse transform gives n values with the second input, and else 2 * (n - 1); the last size is 1
      (real).

    An unknown size is None. If the axis is unknown, so is each size that the transform may change. Raises Unknown if
    the rank is unknown, Violation C3 if the length along a known axis is below 1.
    """
    shape = call.require_shape(0)
    one_sided, inverse = bool(call.attribute("onesided")), bool(call.attribute("inverse"))
    stated = element_as_size(call, 1)
    axis: Size | None = call.attribute("axis")
    if call.version >= 20:
        axis = element_as_size(call, 2) if call.has(2) else -2
    # All axes that it may be if it is not known.
    axes = [axis % len(shape)] if isinstance(axis, int) else list(range(len(shape) - 1))
    result: list[Size | None] = [*shape[:-1], 1 if one_sided and inverse else 2]
    for along in axes:
        size: Size | None = stated
        if not call.has(1):
            size = 2 * (shape[along] - 1) if one_sided and inverse else shape[along]
        if len(axes) == 1 and less(size, 1):
            raise Violation("C3", f"length {size}")
        if one_sided and not inverse and size is not None:
            size = size // 2 + 1
        # Where the axis is not known, a size is known only if the transform would not change it.
        result[along] = size if len(axes) == 1 or size == shape[along] else None
    return tuple(result)


@infer("STFT")
def stft_17(call: Call) -> Shape:
    """Return (N, number of frames, number of bins, 2) for a signal of N sequences; an unknown size is None.

    A frame has frame_length samples. If frame_length is absent, a frame is as long as the window. If the window is
    absent as well, a frame is the whole signal. Frames begin every frame_step samples. There are frame_length // 2 + 1
    bins if the attribute `onesided` is set, else frame_length. Raises Violation C2 if frame_length differs from the
    size of the window.
    """
    batch = call.size("N")
    samples = call.size("T")
    step = element_as_size(call, 1)
    length = call.same(element_as_size(call, 3), call.size("W"), "C2", "frame_length and the size of window")
    if not call.has(2) and not call.has(3):
        length = samples
    frames: Size | None = None
    if samples is not None and length is not None:
        remaining = samples - length
        if remaining == 0:
            frames = 1
        elif step is not None:
            frames = remaining // step + 1
    bins = length if length is None or not call.attribute("onesided") else length // 2 + 1
    return (batch, frames, bins, 2)
