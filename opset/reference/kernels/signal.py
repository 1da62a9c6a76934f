"""Kernels of Fourier transforms, windows and mel filter banks. They compute in double and round once."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from opset.model.arrays import DTYPES
from opset.reference.numerics.arrays import Array
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints.violation import Violation


@kernel("DFT", since=20)
def dft_20(
    x: Array,
    dft_length: Array | None = None,
    axis: Array | None = None,
    *,
    inverse: int,
    onesided: int,
    context: KernelContext,
) -> Array:
    """Return the discrete Fourier transform along an axis, by default the last before the real and imaginary parts."""
    return _transform(x, dft_length, -2 if axis is None else axis.item(), inverse, onesided, context)


@kernel("DFT", since=17)
def dft_17(
    x: Array, dft_length: Array | None = None, *, axis: int, inverse: int, onesided: int, context: KernelContext
) -> Array:
    """Return the discrete Fourier transform along the axis in the attribute."""
    return _transform(x, dft_length, axis, inverse, onesided, context)


def _transform(
    x: Array, dft_length: Array | None, axis: int, inverse: int, onesided: int, context: KernelContext
) -> Array:
    """Return the discrete Fourier transform along an axis counted from the front."""
    axis, size = axis % x.ndim, x.shape[axis]
    length = 2 * (size - 1) if inverse and onesided else size
    if dft_length is not None:
        length = dft_length.item()
    if length < 1:
        raise Violation("C3", f"length {length}")
    context.reserve(2 * x.size + prod(x.shape[:axis] + x.shape[axis + 1 :]) * length * 4, np.float64)
    signal = _as_complex(x)
    if not onesided:
        transform = np.fft.ifft if inverse else np.fft.fft
        return _as_pairs(transform(signal, length, axis), x.dtype)
    if inverse:
        return np.fft.irfft(signal, length, axis)[..., None].astype(x.dtype)
    return _as_pairs(np.fft.rfft(signal.real, length, axis), x.dtype)


def _as_complex(x: Array) -> Array:
    """Return real values, or pairs of real and imaginary part, as numbers without the last dimension."""
    wide = x.astype(np.float64)
    return wide[..., 0] if x.shape[-1] == 1 else wide.view(np.complex128)[..., 0]


def _as_pairs(x: Array, dtype: np.dtype[Any]) -> Array:
    """Return complex numbers as pairs of real and imaginary part."""
    return np.stack([x.real, x.imag], -1).astype(dtype)


@kernel("STFT", since=17)
def stft_17(
    x: Array,
    frame_step: Array,
    window: Array | None = None,
    frame_length: Array | None = None,
    *,
    onesided: int,
    context: KernelContext,
) -> Array:
    """Return the Fourier transforms of the frames of a signal, each multiplied by a window."""
    step = frame_step.item()
    length = x.shape[1] if window is None else window.size
    if frame_length is not None:
        length = frame_length.item()
    if window is not None and window.size != length:
        raise Violation("C2", f"a window of {window.size} values, frames of {length} samples")
    count = (x.shape[1] - length) // step + 1
    context.reserve(x.shape[0] * count * length * 4, np.float64)
    frames = np.lib.stride_tricks.sliding_window_view(_as_complex(x), length, 1)[:, ::step]
    if window is not None:
        frames = frames * window.astype(np.float64)
    return _as_pairs(np.fft.rfft(frames) if onesided else np.fft.fft(frames), x.dtype)


def _register_window(operator: str, constant: float, linear: float, quadratic: float) -> None:
    """Register a window, a polynomial in `s = sin(pi * n / M) ** 2`; a symmetric window of one value is NaN.

    It equals a sum of cosines by `cos(2 * x) = 1 - 2 * s`, but without cancellation of nearly equal terms.
    """

    @kernel(operator, since=17)
    def window(size: Array, *, output_datatype: int, periodic: int, context: KernelContext) -> Array:
        count = size.item()
        context.reserve(4 * count, np.float64)
        n, period = np.arange(count), count if periodic else count - 1
        squares = np.sin(np.minimum(n, period - n) / period * np.pi) ** 2
        return (constant + linear * squares + quadratic * squares**2).astype(DTYPES[output_datatype])


_register_window("HannWindow", 0, 1, 0)  # 0.5 - 0.5 * cos(2 * pi * n / M)
_register_window("HammingWindow", 4 / 46, 42 / 46, 0)  # a - (1 - a) * cos(2 * pi * n / M) with a = 25 / 46
_register_window("BlackmanWindow", 0, 0.36, 0.64)  # 0.42 - 0.5 * cos(2 * pi * n / M) + 0.08 * cos(4 * pi * n / M)


@kernel("MelWeightMatrix", since=17)
def mel_weight_matrix_17(
    num_mel_bins: Array,
    dft_length: Array,
    sample_rate: Array,
    lower_edge_hertz: Array,
    upper_edge_hertz: Array,
    *,
    output_datatype: int,
    context: KernelContext,
) -> Array:
    """Return triangular weights of the bins of a spectrum, one column for each mel band.

    The `num_mel_bins + 2` edges are `lower + k * (upper - lower) / (num_mel_bins + 2)` on the mel scale, each rounded
    down to a bin of the spectrum; band `k` rises from edge `k` to 1 at edge `k + 1` and falls to edge `k + 2`.
    """
    bands, length, rate = num_mel_bins.item(), dft_length.item(), sample_rate.item()
    lower, upper = float(lower_edge_hertz.item()), float(upper_edge_hertz.item())
    if not lower <= upper:
        raise Violation("C1", f"edges {lower:g} and {upper:g}")
    count = length // 2 + 1
    context.reserve(4 * (count + 4) * (bands + 4), np.float64)
    low, high = (2595 * np.log10(1 + edge / 700) for edge in (lower, upper))
    mels = low + np.arange(bands + 2) * ((high - low) / (bands + 2))
    edges = np.floor((length + 1) * 700 * (10 ** (mels / 2595) - 1) / rate)
    left, middle, right = edges[:-2], edges[1:-1], edges[2:]
    n = np.arange(count)[:, None]
    rising, falling = (n - left) / np.maximum(middle - left, 1), (right - n) / np.maximum(right - middle, 1)
    weights = np.where(n < middle, np.maximum(rising, 0), np.maximum(falling, 0))
    return np.where(n == middle, 1, weights).astype(DTYPES[output_datatype])
