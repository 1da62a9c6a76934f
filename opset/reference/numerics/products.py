"""Products of matrices: of integers by BLAS if that is exact, large ones in pieces between which time is checked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from opset.reference.numerics.arrays import Array
from opset.reference.registration import KernelContext

EXACT = 2**53
"""Integers up to this one are exact in double."""
DIGIT = 16
"""Bits of the digits that integers are split into if sums of their products are not exact in double."""
WORK = 1 << 34
"""Multiplications between two checks of the time: BLAS takes a second, about."""
_ROWS = 256  # of the smallest piece: BLAS is slow with few


def integer_product(a: Array, b: Array) -> Array:
    """Return the product of integer matrices in their type, which wraps; by BLAS if sums are exact in double."""
    bound = max(abs(int(a.min())), abs(int(a.max()))) * max(abs(int(b.min())), abs(int(b.max())))
    if bound * a.shape[-1] < EXACT:
        return np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(np.int64).astype(a.dtype)
    return _product_of_digits(a, b) if a.shape[-1] << 2 * DIGIT < EXACT else np.matmul(a, b)


def _product_of_digits(a: Array, b: Array) -> Array:
    """Return the product of integer matrices of any size as the sum of the products of their digits.

    BLAS computes all of these in less time than numpy takes for one product of integers.
    """
    bits = 8 * a.dtype.itemsize
    total: Any = np.uint64(0)
    for shift in range(0, bits, DIGIT):
        left = _digit(a, shift)
        for other_shift in range(0, bits - shift, DIGIT):
            part = np.matmul(left, _digit(b, other_shift)).astype(np.uint64)
            part <<= np.uint64(shift + other_shift)
            total = part + total
    return np.asarray(total.astype(a.dtype))


def _digit(x: Array, shift: int) -> Array:
    """Return the digit at a bit position of integers in two's complement, as double."""
    return (x.astype(np.uint64) >> np.uint64(shift) & np.uint64((1 << DIGIT) - 1)).astype(np.float64)


def matrix_product(a: Array, b: Array, context: KernelContext) -> Array:
    """Return products of matrices as `np.matmul` does; empty ones without a loop over matrices."""
    if a.dtype.kind == "f" and 0 < a.size * b.size <= WORK * a.shape[-1]:
        return np.matmul(a, b)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = (*batch, *a.shape[-2:-1], *b.shape[1:][-1:])
    dtype = np.result_type(a, b)
    if not a.size or not b.size:
        return np.zeros(shape, dtype)
    if dtype.kind != "f":
        context.reserve(a.size + b.size + 2 * math.prod(shape), np.float64)
    if a.ndim < 2 or b.ndim < 2:
        return np.matmul(a, b) if dtype.kind == "f" else integer_product(a, b)
    result = np.empty(shape, dtype)
    multiply(a, b, result, context)
    return result


def multiply(a: Array, b: Array, result: Array, context: KernelContext) -> None:
    """Write the products of matrices to an array of their shape, a piece at a time if they take long.

    Pieces are matrices, or their rows.
    """
    work = result.size * a.shape[-1]
    if work <= WORK or (result.ndim == 2 and len(result) <= _ROWS):
        context.check_time()
        if result.dtype.kind == "f":
            np.matmul(a, b, out=result)
        else:
            result[...] = integer_product(a, b)
        return
    step = max(WORK * len(result) // work, 1 if result.ndim > 2 else _ROWS)
    if result.ndim > 2:
        a, b = (np.broadcast_to(matrices, (*result.shape[:-2], *matrices.shape[-2:])) for matrices in (a, b))
    for start in range(0, len(result), step):
        part: Any = slice(start, start + step) if step > 1 else start
        multiply(a[part], b[part] if result.ndim > 2 else b, result[part], context)
