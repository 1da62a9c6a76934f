"""Products of matrices: of integers since version 9; Gemm's addend, optional since 11 and broadcast since 7; Einsum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from opset.adapters.building.shared import INTEGERS, cast, need_dims, unsqueeze, working_type
from opset.adapters.limits import MAX_DETERMINANT, MAX_DIAGONAL, MAX_SUMMED
from opset.inference.building.einsum import Label, parse_equation
from opset.model.elements import NUMBERS
from opset.schemas.constraints.violation import Violation
from opset.version_converter.registration import down, lower, refuses
from opset.version_converter.rewrite import FIX_SIZES, GIVE_SHAPES, SHOWN, Builder, Node, Refusal, Result


@down("Gemm", since=11)
def gemm_11_down(op: Builder, node: Node) -> Result:
    """Add -0.0, which changes no number, not even the sign of a zero; without C, `beta` has no effect."""
    if node.input(2):
        return None
    element = node.need_element(0)
    zero = op.const(0 if element in INTEGERS else -0.0, element)
    return op.copy(node, inputs=[node.input(0), node.input(1), zero], drop=["beta"])


_BITS = {"int32": 32, "uint32": 32, "int64": 64, "uint64": 64}
"""Integers whose matrices version 9 multiplies."""
_PART_BITS = 16
_PART = 1 << _PART_BITS


@down("MatMul", since=9)
def mat_mul_9_down(op: Builder, node: Node) -> Result:
    """Multiply integers as double, in parts whose sums of products double holds."""
    element = node.need_element(0)
    if element not in _BITS:
        return None
    left, right = node.shape(0), node.shape(1)
    _need_short_sums(left and left[-1], right and right[-min(len(right), 2)])
    return cast(op, _product_of_integers(op, node.input(0), node.input(1), element), "int64", element)


@down("Gemm", since=9)
def gemm_9_down(op: Builder, node: Node) -> Result:
    """Multiply integers as MatMul does; unless both factors are whole, sums are computed in double and cut off.

    Whole factors wrap.
    """
    element = node.need_element(0)
    if element not in _BITS:
        return None
    alpha = node.attr("alpha")
    beta = node.attr("beta")
    transposed = bool(node.attr("transA")), bool(node.attr("transB"))
    left, right = node.shape(0), node.shape(1)
    if any(shape is not None and len(shape) != 2 for shape in (left, right)):
        raise Refusal("C103", "the inputs are no matrices")
    _need_short_sums(left and left[0 if transposed[0] else 1], right and right[1 if transposed[1] else 0])
    a, b = (op.Transpose(x, perm=[1, 0]) if turn else x for x, turn in zip(node.inputs, transposed, strict=False))
    y = _product_of_integers(op, a, b, element)
    c = node.input(2)
    if not (alpha.is_integer() and beta.is_integer()):
        y = cast(op, cast(op, y, "int64", element), element, "double")
        c = cast(op, c, element, "double")
        y = op.Mul(y, op.const(alpha, "double"))
        c = op.Mul(c, op.const(beta, "double"))
        return op.Cast(op.Add(y, c), to=NUMBERS[element])
    y = _multiply_modulo(op, y, alpha)
    c = _multiply_modulo(op, cast(op, c, element, "int64"), beta)
    return cast(op, op.Add(y, c), "int64", element)


def _multiply_modulo(op: Builder, x: str, factor: float) -> str:
    """Return integers times a whole number, modulo 2**64."""
    wrapped = (int(factor) + 2**63) % 2**64 - 2**63
    return x if wrapped == 1 else op.Mul(x, op.const(wrapped))


def _need_short_sums(*sizes: object) -> None:
    """Raise Refusal C207 or C204 unless one of these sizes, which are equal, shows that double holds the sums."""
    known_sizes = [size for size in sizes if isinstance(size, int)]
    if not known_sizes:
        raise Refusal("C207", "it is not known how many products of integers are added", FIX_SIZES)
    if known_sizes[0] > MAX_SUMMED:
        label = f"more than {MAX_SUMMED} products of integers are added"
        why = f"{known_sizes[0]} products of integers are added, and {MAX_SUMMED} are allowed"
        raise Refusal("C204", why, label=label)


def _product_of_integers(op: Builder, a: str, b: str, element: str) -> str:
    """Return the product of matrices of integers as int64, right in as many of its lowest bits as the type has."""
    count = _BITS[element] // _PART_BITS
    left, right = (_parts_of_integers(op, cast(op, x, element, "int64"), count) for x in (a, b))
    total = ""
    for place in reversed(range(count)):
        products = [op.MatMul(left[at], right[place - at]) for at in range(place + 1)]
        while len(products) > 1:
            products.append(op.Add(products.pop(), products.pop()))
        part = op.Cast(products[0], to=NUMBERS["int64"])
        total = op.Add(op.Mul(total, op.const(_PART)), part) if total else part
    return total


def _parts_of_integers(op: Builder, x: str, count: int) -> list[str]:
    """Return numbers of double, less than 2**16, that make up integers: the first one, 2**16 times the second, …"""
    parts = []
    for _ in range(count - 1):
        # Whichever way Div rounds negative numbers, the rest is less than the divisor.
        above = op.Div(x, op.const(_PART))
        parts.append(op.Sub(x, op.Mul(above, op.const(_PART))))
        x = above
    return [op.Cast(part, to=NUMBERS["double"]) for part in [*parts, x]]


@down("Gemm", since=7)
def gemm_7_down(op: Builder, node: Node) -> Result:
    """Bring C to a shape that version 6 broadcasts: the product's shape, its last dimension, or one element."""
    a, b, c = node.inputs
    shape = need_dims(node, 2)
    if len(shape) > 2:
        raise Refusal("C103", f"'C' has {len(shape)} dimensions, and the product has 2")
    if len(shape) < 2:
        return op.copy(node, broadcast=1)
    rows, columns = shape
    if rows == 1:
        return op.copy(node, inputs=[a, b, op.Squeeze(c, axes=[0])], broadcast=1)
    left, right = node.shape(0), node.shape(1)
    height = left[1 if node.attr("transA") else 0] if left is not None and len(left) == 2 else None
    width = right[0 if node.attr("transB") else 1] if right is not None and len(right) == 2 else None
    rows_show = isinstance(rows, int) or (rows and rows == height)
    columns_show = isinstance(columns, int) or (columns and columns == width)
    if not rows_show or not columns_show or (columns == 1 and not isinstance(width, int)):
        raise Refusal("C207", "it is not known how 'C' is broadcast", f"{GIVE_SHAPES}; {SHOWN}")
    return op.copy(node, inputs=[a, b, op.Tile(c, op.const([1, width]))]) if columns == 1 and width != 1 else None


class _Operand(NamedTuple):
    """A value with the labels of its dimensions, and their sizes, None if not known."""

    name: str
    labels: list[Label]
    sizes: list[int | None]


@lower("Einsum", since=12)
@refuses(
    "C204",
    "a diagonal is too long to be taken by indices",
    "a dimension that is joined to others has the size 0, which Reshape takes otherwise",
)
def einsum_lowered(op: Builder, node: Node) -> Result:
    """Contract the operands one after the other by MatMul, or by Mul if no dimension of both is summed.

    Dimensions are joined by Reshape if a product is over several; if one of these turns out to be empty, that is an
    error when the model runs. So it is if a summed dimension of unknown size turns out to have the size 1 beside
    another size.
    """
    element = node.need_element(0)
    wide = element if element in INTEGERS else working_type(element)
    terms, output = _labels_of_equation(node)
    operands = []
    for index, labels in enumerate(terms):
        shape = node.shape(index)
        if shape is None:
            shape = (None,) * len(labels)
        if len(shape) != len(labels):
            raise Refusal("C103", f"a term of {len(labels)} dimensions is for an operand that has {len(shape)}")
        sizes = [size if isinstance(size, int) else None for size in shape]
        name = cast(op, node.input(index), element, wide)
        operands.append(_take_diagonals(op, _Operand(name, labels, sizes)))
    operands = [_drop_repeated(op, operand, operands) for operand in operands]
    result = operands[0]
    for index, other in enumerate(operands[1:], 1):
        kept = {label for operand in operands[index + 1 :] for label in operand.labels} | {*output}
        result = _contract(op, result, other, kept)
    result = _order_by_labels(op, _sum_others(op, result, {*output}), output)
    return cast(op, result.name, wide, element)


def _labels_of_equation(node: Node) -> tuple[list[list[Label]], list[Label]]:
    """Return the labels of the operands and of the output; raise Refusal C103 if the equation does not fit."""
    equation = node.attr("equation")
    if not isinstance(equation, str):
        raise Refusal("C103", "the equation is not valid UTF-8")
    dotted = ["..." in word for word in equation.partition("->")[0].split(",")]
    counted = len(dotted) == len(node.inputs)
    # Sizes are not compared here.
    shapes = [(1,) * node.need_rank(index) if counted and dotted[index] else None for index in range(len(node.inputs))]
    try:
        parsed = parse_equation(equation, shapes)
    except Violation as violation:
        raise Refusal("C103", f"{violation.label}: {violation.detail}") from None
    assert parsed.output is not None
    return parsed.terms, parsed.output


def _take_diagonals(op: Builder, operand: _Operand) -> _Operand:
    """Return the diagonals of dimensions of one label, taken from the dimension that both are joined to."""
    for label in dict.fromkeys(operand.labels):
        while operand.labels.count(label) > 1:
            name, labels, sizes = operand
            last = len(labels) - 1 - labels[::-1].index(label)
            first = labels.index(label)
            rest = [axis for axis in range(len(labels)) if axis not in (first, last)]
            size = sizes[first] if sizes[first] is not None else sizes[last]
            if sizes[last] not in (size, None):
                raise Refusal("C103", f"'{label}' is {size} and {sizes[last]} in one term")
            if size is None:
                why = f"the size of '{label}', which is repeated in a term of the equation, is not known"
                label = "the size of a label that is repeated in a term of the equation is not known"
                raise Refusal("C207", why, FIX_SIZES, label=label)
            if size > MAX_DIAGONAL:
                label = "a diagonal is too long to be taken by indices"
                raise Refusal("C204", f"a diagonal of {size} elements is not taken by indices", label=label)
            transposed = _transpose(op, operand, [*rest, first, last])
            joined = op.Reshape(transposed.name, op.const([0] * len(rest) + [size * size]))
            indices = op.const(list(range(0, size * size, size + 1)))
            name = op.Gather(joined, indices, axis=len(rest))
            operand = _Operand(name, [labels[axis] for axis in rest] + [label], [sizes[axis] for axis in rest] + [size])
    return operand


def _drop_repeated(op: Builder, operand: _Operand, operands: Sequence[_Operand]) -> _Operand:
    """Return an operand without its dimensions of size 1 that others have, too, and that may be larger there."""
    larger = {label for each in operands for label, size in zip(each.labels, each.sizes, strict=True) if size != 1}
    pairs = enumerate(zip(operand.labels, operand.sizes, strict=True))
    axes = [axis for axis, (label, size) in pairs if size == 1 and label in larger]
    if not axes:
        return operand
    rest = [axis for axis in range(len(operand.labels)) if axis not in axes]
    name = op.Squeeze(operand.name, axes=axes)
    return _Operand(name, [operand.labels[axis] for axis in rest], [operand.sizes[axis] for axis in rest])


def _contract(op: Builder, left: _Operand, right: _Operand, kept: set[Label]) -> _Operand:
    """Return the product of two operands, summed over the labels that are not kept."""
    left = _sum_others(op, left, kept | {*right.labels})
    right = _sum_others(op, right, kept | {*left.labels})
    shared = [label for label in left.labels if label in right.labels]
    summed = [label for label in shared if label not in kept]
    batch = [label for label in shared if label in kept]
    rows = [label for label in left.labels if label not in shared]
    columns = [label for label in right.labels if label not in shared]
    left = _order_by_labels(op, left, [*batch, *rows, *summed])
    right = _order_by_labels(op, right, [*batch, *summed, *columns])
    count = len(batch)
    sizes = [_broadcast_size(*pair) for pair in zip(left.sizes[:count], right.sizes[:count], strict=True)]
    sizes += left.sizes[count : count + len(rows)] + right.sizes[count + len(summed) :]
    labels = [*batch, *rows, *columns]
    if not summed:
        ahead = count + len(rows)
        left_matrix = unsqueeze(op, left.name, list(range(ahead, ahead + len(columns)))) if columns else left.name
        right_matrix = unsqueeze(op, right.name, list(range(count, ahead))) if rows else right.name
        return _Operand(op.Mul(left_matrix, right_matrix), labels, sizes)
    left_matrix = _as_matrices(op, left, count, len(rows))
    right_matrix = _as_matrices(op, right, count, len(summed))
    product = op.MatMul(left_matrix, right_matrix)
    if len(rows) == len(columns) == 1:
        return _Operand(product, labels, sizes)
    tail: list[int | str] = [_COPIED]
    if len(rows) != 1:
        tail = [_joined_size(op, left, range(axis, axis + 1)) for axis in range(count, count + len(rows))]
    first = count + len(summed)
    tail += [_joined_size(op, right, range(axis, axis + 1)) for axis in range(first, len(right.labels))]
    return _Operand(op.Reshape(product, _shape_of_parts(op, [_COPIED] * count + tail)), labels, sizes)


def _broadcast_size(left: int | None, right: int | None) -> int | None:
    """Return the size of a dimension of two operands, one of which may have size 1 beside another size."""
    return right if left == 1 else left


def _sum_others(op: Builder, operand: _Operand, kept: set[Label]) -> _Operand:
    """Return an operand summed over the labels that are not kept."""
    axes = [axis for axis, label in enumerate(operand.labels) if label not in kept]
    if not axes:
        return operand
    rest = [axis for axis in range(len(operand.labels)) if axis not in axes]
    name = op.ReduceSum(operand.name, axes=axes, keepdims=0)
    return _Operand(name, [operand.labels[axis] for axis in rest], [operand.sizes[axis] for axis in rest])


def _order_by_labels(op: Builder, operand: _Operand, labels: Sequence[Label]) -> _Operand:
    """Return an operand with its dimensions in the order of labels."""
    return _transpose(op, operand, [operand.labels.index(label) for label in labels])


def _transpose(op: Builder, operand: _Operand, order: list[int]) -> _Operand:
    """Return an operand with its dimensions in an order."""
    if order == sorted(order):
        return operand
    name = op.Transpose(operand.name, perm=order)
    return _Operand(name, [operand.labels[axis] for axis in order], [operand.sizes[axis] for axis in order])


def _as_matrices(op: Builder, operand: _Operand, batch: int, first: int) -> str:
    """Return an operand as matrices: the `first` dimensions behind `batch` are joined, and so are the rest."""
    count = len(operand.labels)
    if first == 1 and count - batch == 2:
        return operand.name
    ahead = _COPIED if first == 1 else _joined_size(op, operand, range(batch, batch + first))
    rest = _joined_size(op, operand, range(batch + first, count))
    return op.Reshape(operand.name, _shape_of_parts(op, [_COPIED] * batch + [ahead, rest]))


def _joined_size(op: Builder, operand: _Operand, axes: range) -> int | str:
    """Return the product of sizes, or the name of a vector of it; raise Refusal C204 for a size of 0."""
    known_sizes = [size for size in operand.sizes[axes.start : axes.stop] if size is not None]
    if 0 in known_sizes:
        raise Refusal("C204", "a dimension that is joined to others has the size 0, which Reshape takes otherwise")
    if len(known_sizes) == len(axes):
        return math.prod(known_sizes)
    sizes = op.Gather(op.Shape(operand.name), op.const(list(axes)))
    return sizes if len(axes) == 1 else op.ReduceProd(sizes, axes=[0])


def _shape_of_parts(op: Builder, parts: Sequence[int | str]) -> str:
    """Return the name of a shape of numbers and of vectors of one; a single vector is left to Reshape as -1."""
    computed = [part for part in parts if isinstance(part, str)]
    if len(computed) == 1 and _COPIED not in parts:
        parts = [-1 if part in computed else part for part in parts]
    if all(isinstance(part, int) for part in parts):
        return op.const(list(parts))
    return op.Concat(*[part if isinstance(part, str) else op.const([part]) for part in parts], axis=0)


_COPIED = 0
"""In the shape of a Reshape, this stands for the input's size at the same position."""


@lower("Det", since=11)
def det_lowered(op: Builder, node: Node) -> Result:
    """Expand by the first row in double, in which the kernel computes, too."""
    shape = need_dims(node, 0)
    rank = len(shape)
    element = node.need_element(0)
    size = next((size for size in shape[-2:] if isinstance(size, int)), 0) if rank >= 2 else 0
    if not 1 <= size <= MAX_DETERMINANT:
        raise Refusal("C204", f"before version 11, determinants of up to {MAX_DETERMINANT} rows can be expressed")
    x = cast(op, node.input(0), element, "double")
    rows = [op.Gather(x, op.const(row), axis=rank - 2) for row in range(size)]
    entries = [[op.Gather(row, op.const(column), axis=rank - 2) for column in range(size)] for row in rows]
    return cast(op, _determinant(op, entries), "double", element)


def _determinant(op: Builder, entries: list[list[str]]) -> str:
    """Return the determinant of a matrix of names, expanded by the first row."""
    total = entries[0][0]
    if len(entries) > 1:
        for column, entry in enumerate(entries[0]):
            minor = [[*row[:column], *row[column + 1 :]] for row in entries[1:]]
            term = op.Mul(entry, _determinant(op, minor))
            total = term if not column else (op.Sub if column % 2 else op.Add)(total, term)
    return total
