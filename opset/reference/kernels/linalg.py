"""Kernels of matrix products, determinants, and sums of products in Einstein notation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from math import prod

import numpy as np

from opset.inference.building.einsum import Label, parse_equation
from opset.reference.limits import MAX_SEARCHED
from opset.reference.numerics.arrays import Array
from opset.reference.numerics.memory import reserve_reduced
from opset.reference.numerics.products import WORK, matrix_product
from opset.reference.numerics.small_floats import rounded_once
from opset.reference.registration import KernelContext, kernel


@kernel("MatMul")
@rounded_once
def mat_mul_1(a: Array, b: Array, *, context: KernelContext) -> Array:
    """Return the products of the matrices in the last two dimensions; the dimensions before them broadcast."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    context.reserve(prod((*batch, *a.shape[-2:-1], *b.shape[1:][-1:])), a.dtype)
    if a.ndim > 2 and b.ndim == 2 and a.size:
        # One large product is faster than many small ones.
        return matrix_product(a.reshape(-1, a.shape[-1]), b, context).reshape(*a.shape[:-1], b.shape[-1])
    return matrix_product(a, b, context)


@kernel("Gemm")
@rounded_once
def gemm_1(
    a: Array,
    b: Array,
    c: Array | None = None,
    *,
    alpha: float,
    beta: float,
    transA: int,
    transB: int,
    broadcast: int = 0,
    context: KernelContext,
) -> Array:
    """Return alpha * A' @ B' + beta * C; C broadcasts to the product."""
    a, b = a.T if transA else a, b.T if transB else b
    context.reserve(a.shape[0] * b.shape[1], a.dtype)
    y = matrix_product(a, b, context)
    if y.dtype.kind != "f":
        return _scale_integers(y, c, alpha, beta)
    if alpha != 1:
        y *= y.dtype.type(alpha)
    if c is not None:
        y += c if beta == 1 else c * c.dtype.type(beta)
    return y


def _scale_integers(y: Array, c: Array | None, alpha: float, beta: float) -> Array:
    """Return alpha * y + beta * c for integers: wrapped if both factors are integral, else truncated."""
    c = np.zeros((), y.dtype) if c is None else c
    if alpha.is_integer() and beta.is_integer():
        whole_alpha, whole_beta = (np.uint64(int(factor) % 2**64).astype(y.dtype) for factor in (alpha, beta))
        return y * whole_alpha + c * whole_beta
    return (y.astype(np.float64) * alpha + c.astype(np.float64) * beta).astype(y.dtype)


@kernel("Det")
@rounded_once
def det_11(x: Array, *, context: KernelContext) -> Array:
    """Return the determinants of the matrices in the last two dimensions."""
    reserve_reduced(x, (x.ndim - 2, x.ndim - 1), context)
    if not x.size:
        return np.asarray(np.linalg.det(x.astype(np.float64)), x.dtype)
    stack = x.reshape(-1, *x.shape[-2:])
    determinants = np.empty(len(stack), x.dtype)
    step = max(WORK // (x.shape[-1] ** 3 + 1), 1)
    for start in range(0, len(stack), step):
        context.check_time()
        matrices = stack[start : start + step].astype(np.float64)
        results = np.linalg.det(matrices)
        # The factorization ends with 0 at a pivot of 0, although 0 times NaN or infinity is NaN.
        results[(results == 0) & ~np.isfinite(matrices).all((1, 2))] = np.nan
        determinants[start : start + step] = results
    return determinants.reshape(x.shape[:-2])


@kernel("Einsum")
@rounded_once
def einsum_12(*inputs: Array, equation: str, context: KernelContext) -> Array:
    """Return the products of operands summed over labeled dimensions, contracted pair by pair."""
    terms, output, sizes = parse_equation(equation, [x.shape for x in inputs])
    wanted = output or []
    operands = [_drop_repeated(*_take_diagonals(x, labels), sizes) for x, labels in zip(inputs, terms, strict=True)]
    uses = Counter(label for _, labels in operands for label in labels)
    while len(operands) > 1:
        context.check_time()
        pairs: Iterable[tuple[int, int]] = ((0, 1),)
        if len(operands) <= MAX_SEARCHED:
            pairs = combinations(range(len(operands)), 2)
        first, second = min(pairs, key=lambda pair: _growth([operands[k] for k in pair], uses, wanted, sizes))
        right, left = operands.pop(second), operands.pop(first)
        both = [*left[1], *right[1]]
        uses.subtract(both)
        joined = _contract(left, right, {label for label in both if uses[label] or label in wanted}, context)
        uses.update(joined[1])
        operands.insert(0, joined)
    x, labels = operands[0]
    x, labels = _sum_labels(x, labels, wanted, context)
    return x.transpose([labels.index(label) for label in wanted])


Operand = tuple[Array, list[Label]]


def _take_diagonals(x: Array, labels: Sequence[Label]) -> Operand:
    """Return an operand with repeated labels replaced by the diagonal of their dimensions."""
    rest = list(labels)
    for label in dict.fromkeys(labels):
        while rest.count(label) > 1:
            first = rest.index(label)
            second = rest.index(label, first + 1)
            x = np.diagonal(x, axis1=first, axis2=second)
            rest = [other_label for axis, other_label in enumerate(rest) if axis not in (first, second)] + [label]
    return x, rest


def _drop_repeated(x: Array, labels: Sequence[Label], sizes: Mapping[Label, int]) -> Operand:
    """Return an operand without its dimensions of size 1 that are repeated to match another operand's."""
    axes = tuple([axis for axis, label in enumerate(labels) if x.shape[axis] == 1 != sizes[label]])
    return x.squeeze(axes), [label for axis, label in enumerate(labels) if axis not in axes]


def _growth(pair: Sequence[Operand], uses: Counter[Label], wanted: Sequence[Label], sizes: dict[Label, int]) -> int:
    """Return the number of elements that contracting two operands adds."""
    both = Counter(label for _, labels in pair for label in labels)
    count = 1
    for label, times in both.items():
        if uses[label] > times or label in wanted:
            count *= sizes[label]
    return count - sum(x.size for x, _ in pair)


def _contract(left: Operand, right: Operand, kept: set[Label], context: KernelContext) -> Operand:
    """Return the product of two operands, summed over labels that no other operand and not the output has."""
    x, xs = _sum_labels(*left, kept.union(right[1]), context)
    y, ys = _sum_labels(*right, kept.union(xs), context)
    batch = [label for label in xs if label in ys and label in kept]
    inner = [label for label in xs if label in ys and label not in kept]
    rows = [label for label in xs if label not in ys]
    columns = [label for label in ys if label not in xs]
    x = x.transpose([xs.index(label) for label in (*batch, *rows, *inner)])
    y = y.transpose([ys.index(label) for label in (*batch, *inner, *columns)])
    shape = np.broadcast_shapes(x.shape[: len(batch)], y.shape[: len(batch)])
    outer = (*shape, *x.shape[len(batch) : len(batch) + len(rows)], *y.shape[len(batch) + len(inner) :])
    context.reserve(prod(outer), x.dtype)
    if inner:
        depth = prod(y.shape[len(batch) : len(batch) + len(inner)])
        height, width = prod(outer[len(batch) : len(batch) + len(rows)]), prod(outer[len(batch) + len(rows) :])
        x = x.reshape(*x.shape[: len(batch)], height, depth)
        y = y.reshape(*y.shape[: len(batch)], depth, width)
        product = matrix_product(x, y, context)
    else:
        x = x.reshape((*x.shape, *[1] * len(columns)))
        y = y.reshape((*y.shape[: len(batch)], *[1] * len(rows), *y.shape[len(batch) :]))
        product = x * y
    return product.reshape(outer), [*batch, *rows, *columns]


def _sum_labels(x: Array, labels: Sequence[Label], kept: Collection[Label], context: KernelContext) -> Operand:
    """Return an operand summed over the labels that are not kept."""
    axes = tuple(axis for axis, label in enumerate(labels) if label not in kept)
    rest = [label for label in labels if label in kept]
    reserve_reduced(x, axes, context)
    return (x.sum(axes, x.dtype) if axes else x), rest
