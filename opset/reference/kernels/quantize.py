"""Kernels of quantization, and of products and convolutions of quantized values."""

from __future__ import annotations

from functools import wraps
from math import ceil, prod
from typing import Any

import ml_dtypes
import numpy as np

from opset.inference.building.shapes import normalize_axis
from opset.model.arrays import DTYPES
from opset.reference.kernels.conv import convolve
from opset.reference.numerics.arrays import Array
from opset.reference.numerics.conversion import convert_numbers
from opset.reference.numerics.products import matrix_product
from opset.reference.numerics.small_floats import SMALL_FLOATS
from opset.reference.numerics.windows import Ints, pad_spatial, windows_over
from opset.reference.registration import Function, KernelContext, kernel
from opset.schemas.constraints.violation import Violation

_RANGES: dict[np.dtype[Any], tuple[int, int]] = {
    np.dtype(np.int8): (-128, 127),
    np.dtype(np.uint8): (0, 255),
    np.dtype(np.int16): (-32768, 32767),
    np.dtype(np.uint16): (0, 65535),
    np.dtype(ml_dtypes.int4): (-8, 7),
    np.dtype(ml_dtypes.uint4): (0, 15),
    np.dtype(ml_dtypes.int2): (-2, 1),
    np.dtype(ml_dtypes.uint2): (0, 3),
}
_DEQUANTIZED = frozenset(map(np.dtype, (np.float32, np.float16, ml_dtypes.bfloat16)))
_DIVISIONS = _DEQUANTIZED | {np.dtype(np.float64)}
_MAX_PRODUCT = 255 * 255
_INT8 = (np.dtype(np.int8), np.dtype(np.uint8))


@kernel("QuantizeLinear", since=13)
def quantize_linear_13(
    x: Array,
    scale: Array,
    zero_point: Array | None = None,
    *,
    axis: int,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: int = 1,
) -> Array:
    """Return x divided by its scale, rounded, shifted by the zero point and saturated."""
    if zero_point is not None and not _have_same_shape(zero_point, scale):
        raise Violation("C3", f"shapes {list(zero_point.shape)} and {list(scale.shape)}")
    dtype = zero_point.dtype if zero_point is not None else np.dtype(np.uint8)
    if output_dtype:
        if zero_point is not None and DTYPES[output_dtype] != dtype:
            raise Violation("C4", f"output_dtype {output_dtype}")
        dtype = DTYPES[output_dtype]
    if precision:
        division = DTYPES[precision]
    elif scale.dtype in _DIVISIONS:
        division = scale.dtype
    else:  # int32 and powers of two cannot hold quotients
        division = np.dtype(np.float64 if scale.dtype == np.int32 else np.float32)
    scale = _align_to_blocks(scale, x.shape, axis, block_size).astype(division, copy=False)
    quotient = np.asarray(x.astype(division, copy=False) / scale)
    if zero_point is not None and zero_point.any():
        zero_point = _align_to_blocks(zero_point, x.shape, axis, block_size)
    else:
        zero_point = None
    return quantize(quotient, zero_point, dtype, bool(saturate))


@kernel("DequantizeLinear", since=13)
@kernel("DequantizeLinear", since=21)
def dequantize_linear_13(
    x: Array, scale: Array, zero_point: Array | None = None, *, axis: int, block_size: int = 0, output_dtype: int = 0
) -> Array:
    """Return the difference of x and the zero point, times the scale."""
    if zero_point is not None and not _have_same_shape(zero_point, scale):
        raise Violation("C3", f"shapes {list(zero_point.shape)} and {list(scale.shape)}")
    dtype = DTYPES[output_dtype] if output_dtype else scale.dtype
    if dtype not in _DEQUANTIZED:
        raise Violation("C4", f"a scale of {scale.dtype}")
    # Differences of up to 16 bits are exact in float32, and their product with the scale is rounded once.
    wide = np.float64 if x.dtype == np.int32 else np.float32
    difference: Array = x.astype(wide)
    if zero_point is not None and zero_point.any():
        difference -= _align_to_blocks(zero_point, x.shape, axis, block_size).astype(wide)
    result = difference.astype(np.float32, copy=False)
    result *= _align_to_blocks(scale, x.shape, axis, block_size).astype(np.float32, copy=False)
    return result.astype(dtype, copy=False)


def _on_first_axis_of_vectors(function: Function) -> Function:
    """Return the kernel of versions in which every axis of a vector is the first."""

    @wraps(function)
    def wrapper(x: Array, *parameters: Array | None, axis: int, **attributes: Any) -> Array:
        return function(x, *parameters, axis=0 if x.ndim == 1 else axis, **attributes)

    return wrapper


kernel("QuantizeLinear", since=21)(_on_first_axis_of_vectors(quantize_linear_13))
kernel("DequantizeLinear", since=19)(_on_first_axis_of_vectors(dequantize_linear_13))


def _with_one_scale(function: Function) -> Function:
    """Return the kernel of versions in which there is one scale, and one zero point."""

    def wrapper(x: Array, scale: Array, zero_point: Array | None = None) -> Array:
        return function(x, scale.reshape(()), None if zero_point is None else zero_point.reshape(()), axis=0)

    return wrapper


kernel("QuantizeLinear", since=10)(_with_one_scale(quantize_linear_13))
kernel("DequantizeLinear", since=10)(_with_one_scale(dequantize_linear_13))


@kernel("DynamicQuantizeLinear", since=11)
def dynamic_quantize_linear_11(x: Array) -> tuple[Array, Array, Array]:
    """Return x as uint8, with the scale and the zero point that map its range, extended to 0, to the range of uint8."""
    low, high = x.min(initial=0), x.max(initial=0)
    scale = np.asarray((high - low) / np.float32(255))
    zero_point = np.asarray(np.rint(np.clip(-low / scale, 0, 255)))
    zero_point = np.nan_to_num(zero_point).astype(np.uint8)
    return quantize(np.asarray(x / scale), zero_point, zero_point.dtype), scale, zero_point


@kernel("MatMulInteger", since=10)
def mat_mul_integer_10(
    a: Array, b: Array, a_zero_point: Array | None = None, b_zero_point: Array | None = None, *, context: KernelContext
) -> Array:
    """Return the product of integer matrices after subtracting their zero points, modulo 2**32."""
    if a_zero_point is not None:
        a_zero_point = _align_rows(a_zero_point, a.shape, "C2")
    if b_zero_point is not None:
        b_zero_point = _align_columns(b_zero_point, b.shape, "C3")
    return _wrap_to_int32(_product(a, a_zero_point, b, b_zero_point, context))


@kernel("QLinearMatMul", since=10)
def q_linear_mat_mul_10(
    a: Array,
    a_scale: Array,
    a_zero_point: Array,
    b: Array,
    b_scale: Array,
    b_zero_point: Array,
    y_scale: Array,
    y_zero_point: Array,
    *,
    context: KernelContext,
) -> Array:
    """Return the quantized product of quantized matrices."""
    for scale, zero_point in ((a_scale, a_zero_point), (b_scale, b_zero_point), (y_scale, y_zero_point)):
        if not _have_same_shape(scale, zero_point):
            raise Violation("C4", f"shapes {list(scale.shape)} and {list(zero_point.shape)}")
    a_zero_point = _align_rows(a_zero_point, a.shape, "C2")
    b_zero_point = _align_columns(b_zero_point, b.shape, "C3")
    product = _product(a, a_zero_point, b, b_zero_point, context)
    if a.dtype in _INT8 and b.dtype in _INT8:
        product = _wrap_to_int32(product)
    rows = product.shape if a.ndim > 1 else (1, *product.shape)
    rows = rows if b.ndim > 1 else (*rows, 1)
    a_scale = _align_rows(a_scale, a.shape, "C2").astype(np.float32)
    b_scale = _align_columns(b_scale, b.shape, "C3").astype(np.float32)
    y_scale = _align_rows(y_scale, rows, "C5").astype(np.float32)
    shifted = product.astype(np.float32).reshape(rows) * (a_scale * b_scale / y_scale)
    return quantize(shifted, _align_rows(y_zero_point, rows, "C5"), y_zero_point.dtype).reshape(product.shape)


@kernel("ConvInteger", since=10)
def conv_integer_10(
    x: Array,
    w: Array,
    x_zero_point: Array | None = None,
    w_zero_point: Array | None = None,
    *,
    context: KernelContext,
    **attributes: Any,
) -> Array:
    """Return the convolution of integers after subtracting their zero points, modulo 2**32."""
    x_zero_point = None if x_zero_point is None else x_zero_point.reshape(())
    return _convolution(x, x_zero_point, w, w_zero_point, context, **attributes)


@kernel("QLinearConv", since=10)
def q_linear_conv_10(
    x: Array,
    x_scale: Array,
    x_zero_point: Array,
    w: Array,
    w_scale: Array,
    w_zero_point: Array,
    y_scale: Array,
    y_zero_point: Array,
    bias: Array | None = None,
    *,
    context: KernelContext,
    **attributes: Any,
) -> Array:
    """Return the quantized convolution of quantized values."""
    x_scale, x_zero_point, y_scale, y_zero_point = (
        parameter.reshape(()) for parameter in (x_scale, x_zero_point, y_scale, y_zero_point)
    )
    if not _have_same_shape(w_scale, w_zero_point):
        raise Violation("C8", f"shapes {list(w_scale.shape)} and {list(w_zero_point.shape)}")
    result = _convolution(x, x_zero_point, w, w_zero_point, context, **attributes)
    if bias is not None:
        result += bias.reshape(-1, *[1] * (w.ndim - 2))
    factor = _align_filters(x_scale * w_scale / y_scale, w)
    if factor.ndim:
        factor = factor[:, 0]
    return quantize(result.astype(np.float32) * factor, y_zero_point, y_zero_point.dtype)


def quantize(quotient: Array, zero_point: Array | None, dtype: np.dtype[Any], saturate: bool = True) -> Array:
    """Return quotients rounded to the nearest, ties to even, and shifted by the zero point, in a narrow type.

    Values out of range become the nearest limit, and NaN, in a type without NaN, the least value, as in runtimes.
    The quotients may be overwritten.
    """
    if dtype not in _RANGES:
        if zero_point is not None:
            quotient = quotient.astype(np.float32) + zero_point.astype(np.float32)
        return convert_numbers(quotient, dtype, saturate)
    low, high = _RANGES[dtype]
    rounded = np.rint(quotient, out=quotient)
    if rounded.dtype in SMALL_FLOATS:
        rounded = rounded.astype(np.float32)
    if zero_point is not None:
        rounded += zero_point.astype(rounded.dtype)
    np.fmax(rounded, low, out=rounded)
    np.minimum(rounded, high, out=rounded)
    return rounded.astype(dtype)


def _have_same_shape(first: Array, second: Array) -> bool:
    """Whether two arrays have the same shape; [] and [1] count as the same."""
    return first.shape == second.shape or (first.size == second.size == 1 and max(first.ndim, second.ndim) == 1)


def _align_to_blocks(values: Array, shape: tuple[int, ...], axis: int, block_size: int) -> Array:
    """Return scales or zero points so that they broadcast against a tensor of this shape."""
    rank = len(shape)
    if values.size == 1 and values.ndim <= 1:
        return values.reshape(())
    axis = normalize_axis(axis, rank, "C1")
    shapes = f"shape(x) = {list(shape)}, axis {axis}, block_size {block_size}, and the scale is {list(values.shape)}"
    if block_size and values.ndim == rank:
        if values.shape != (*shape[:axis], ceil(shape[axis] / block_size), *shape[axis + 1 :]):
            raise Violation("C2", shapes)
        if not prod(shape):  # numpy takes long to take empty slices
            return np.empty(shape, values.dtype)
        indices = np.arange(shape[axis]) // block_size
        return np.take(values, indices, axis)
    if values.ndim != 1 or rank == 0 or values.size != shape[axis]:
        raise Violation("C2", shapes)
    return values.reshape(-1, *[1] * (rank - 1 - axis))


def _align_rows(values: Array, shape: tuple[int, ...], label: str) -> Array:
    """Return one value, or one for each row, shaped to broadcast against matrices of this shape."""
    if values.size == 1:
        return values.reshape(())
    if len(shape) > 1 and values.shape == shape[-2:-1]:
        return values.reshape(-1, 1)
    if len(shape) > 1 and values.shape == (*shape[:-1], 1):
        return values
    raise Violation(label, f"shape {list(values.shape)} for the rows of {list(shape)}")


def _align_columns(values: Array, shape: tuple[int, ...], label: str) -> Array:
    """Return one value, or one for each column, shaped to broadcast against matrices of this shape."""
    if values.size == 1:
        return values.reshape(())
    if len(shape) > 1 and values.shape in (shape[-1:], (*shape[:-2], 1, shape[-1])):
        return values
    raise Violation(label, f"shape {list(values.shape)} for the columns of {list(shape)}")


def _align_filters(values: Array, w: Array) -> Array:
    """Return one value, or one for each filter, shaped to broadcast against the filters."""
    if values.size == 1:
        return values.reshape(())
    if values.shape != w.shape[:1]:
        raise Violation("C8", f"shape {list(values.shape)}, shape(w) = {list(w.shape)}")
    return values.reshape(-1, *[1] * (w.ndim - 1))


def _exact_type(terms: int) -> type[Any]:
    """Return a float type, for BLAS, in which a sum of this many products of bytes is exact."""
    return np.float32 if terms * _MAX_PRODUCT < 1 << 24 else np.float64


def _subtract_zero_point(values: Array, zero_point: Array | None, dtype: type[Any]) -> Array:
    """Return values minus their zero point, in a float type."""
    result = values.astype(dtype)
    if zero_point is not None:
        result -= zero_point.astype(dtype)
    return result


def _wrap_to_int32(exact: Array) -> Array:
    """Return integers modulo 2**32, as in a 32-bit accumulator."""
    return exact.astype(np.int64).astype(np.int32)


def _product(
    a: Array, a_zero_point: Array | None, b: Array, b_zero_point: Array | None, context: KernelContext
) -> Array:
    """Return the product of matrices after subtracting their zero points, exact for bytes."""
    if not a.ndim or not b.ndim or a.shape[-1] != b.shape[-2:][0]:
        raise Violation("C1", f"shapes {list(a.shape)} and {list(b.shape)}")
    dtype = _exact_type(a.shape[-1]) if a.dtype in _INT8 and b.dtype in _INT8 else np.float64
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    count = prod(batch) * prod(a.shape[-2:-1]) * prod(b.shape[-1:] if b.ndim > 1 else ())
    context.reserve(a.size + b.size + 3 * count, dtype)
    a, b = _subtract_zero_point(a, a_zero_point, dtype), _subtract_zero_point(b, b_zero_point, dtype)
    return np.asarray(matrix_product(a, b, context))


def _convolution(
    x: Array,
    x_zero_point: Array | None,
    w: Array,
    w_zero_point: Array | None,
    context: KernelContext,
    *,
    group: int,
    kernel_shape: Ints,
    strides: Ints,
    dilations: Ints,
    pads: Ints,
    auto_pad: str,
) -> Array:
    """Return the convolution of bytes after subtracting their zero points, modulo 2**32, exact by floats."""
    if 0 in w.shape[2:]:
        raise Violation("C6", f"shape(w) = {list(w.shape)}")
    if w_zero_point is not None:
        w_zero_point = _align_filters(w_zero_point, w)
    windows = windows_over(x.shape, w.shape[2:], strides, dilations, pads, auto_pad)
    dtype = _exact_type(prod(w.shape[1:]))
    context.reserve(x.size + w.size, dtype)
    values = pad_spatial(_subtract_zero_point(x, x_zero_point, dtype), windows.begins, windows.ends, context)
    return _wrap_to_int32(convolve(values, _subtract_zero_point(w, w_zero_point, dtype), None, group, windows, context))
