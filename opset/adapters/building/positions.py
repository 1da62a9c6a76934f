"""Positions of elements: sizes, strides and coordinates, as numbers if they are known, else computed at run time."""

from __future__ import annotations

import math
from collections.abc import Sequence

from opset.adapters.building.shared import cast, known_size, negative_mask, positive_axis
from opset.adapters.building.subgraphs import LoopBody, add_loop
from opset.model.elements import NUMBERS
from opset.model.storage.tensor import make_tensor
from opset.model.types import MAX_CONSTANT
from opset.version_converter.rewrite import Builder, Node, Refusal

Size = int | str
"""A number, or the name of an int64 scalar that is computed at run time."""


def sizes_of(op: Builder, node: Node, index: int, axes: Sequence[int] | None = None) -> list[Size]:
    """Return the sizes of an input along axes, which may be negative, by default all.

    Raises:
        Refusal: C207 if the rank is needed and not known: for all axes, and before version 11 for negative ones.
    """
    shape = node.shape(index)
    if axes is None:
        axes = range(node.need_rank(index))
    elif shape is not None or (op.version < 11 and min(axes, default=0) < 0):
        axes = [positive_axis(axis, node.need_rank(index)) for axis in axes]
    sizes = [(axis, shape[axis] if shape is not None else None) for axis in axes]
    whole = "" if all(isinstance(size, int) for _, size in sizes) else op.Shape(node.input(index))
    return [size if isinstance(size, int) else op.Gather(whole, op.const(axis)) for axis, size in sizes]


def size_along(op: Builder, node: Node, index: int, axis: int) -> Size:
    """Return the size of an input along an axis; raise Refusal as `sizes_of` does."""
    return sizes_of(op, node, index, [axis])[0]


def size_name(op: Builder, size: Size) -> str:
    """Return the name of a scalar that holds a size."""
    return op.const(size) if isinstance(size, int) else size


def product(op: Builder, sizes: Sequence[Size]) -> Size:
    """Return the product of sizes."""
    number = math.prod(size for size in sizes if isinstance(size, int))
    names = [size for size in sizes if isinstance(size, str)]
    if not names or not number:
        return number
    result = names[0] if number == 1 else op.Mul(names[0], op.const(number))
    for name in names[1:]:
        result = op.Mul(result, name)
    return result


def sum_of(op: Builder, a: Size, b: Size) -> Size:
    """Return the sum of two sizes."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if a == 0:
        return b
    return a if b == 0 else op.Add(size_name(op, a), size_name(op, b))


def difference(op: Builder, a: Size, b: Size) -> Size:
    """Return the difference of two sizes."""
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    return a if b == 0 else op.Sub(size_name(op, a), size_name(op, b))


def quotient(op: Builder, a: Size, b: Size) -> Size:
    """Return the quotient of two sizes, rounded down; `a` is not negative, and `b` is positive."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    return a if b == 1 else op.Div(size_name(op, a), size_name(op, b))


def at_least(op: Builder, a: Size, low: Size) -> Size:
    """Return the larger one of two sizes."""
    if isinstance(a, int) and isinstance(low, int):
        return max(a, low)
    a, low = size_name(op, a), size_name(op, low)
    return op.Where(op.Less(a, low), low, a)


def at_most(op: Builder, a: Size, high: Size) -> Size:
    """Return the smaller one of two sizes."""
    if isinstance(a, int) and isinstance(high, int):
        return min(a, high)
    a, high = size_name(op, a), size_name(op, high)
    return op.Where(op.Less(high, a), high, a)


def as_vector(op: Builder, node: Node, name: str) -> str:
    """Return the name of an input's value as a vector: runtimes may take a scalar, or a matrix of one row, as well."""
    shape = node.values.shape(name)
    return name if shape is None or len(shape) == 1 else op.Reshape(name, op.const([-1]))


def integers_of(op: Builder, node: Node, index: int, count: int) -> list[Size]:
    """Return the integers in a vector of `count` elements, as numbers if the input is constant."""
    constant = node.constant(index)
    if constant is not None and len(constant.values) == count:
        return [int(value) for value in constant.values]
    wide = cast(op, as_vector(op, node, node.input(index)), node.element(index), "int64")
    return [op.Gather(wide, op.const(position)) for position in range(count)]


def numbers_of_axes(op: Builder, node: Node, index: int, rank: int) -> str:
    """Return a vector with a number for each axis: its position among the axes in an input, from 1 on, or 0."""
    axes = cast(op, as_vector(op, node, node.input(index)), node.element(index), "int64")
    front = op.Concat(op.const([-1]), op.Add(axes, op.Mul(negative_mask(op, axes), op.const(rank))), axis=0)
    count = known_size(node, index, 0)
    numbers = integers_below(op, op.Size(front) if count is None else count + 1)
    column = op.const([-1, 1])
    same = op.Cast(op.Equal(op.Reshape(front, column), op.const(list(range(rank)))), to=NUMBERS["int64"])
    return sum_along(op, op.Mul(same, op.Reshape(numbers, column)), [0])


def spread_over_axes(op: Builder, values: str, numbers: str) -> str:
    """Return values for some axes as values for all axes, by `numbers_of_axes`; they are 0 for the others."""
    return op.Gather(op.Concat(op.const([0]), values, axis=0), numbers)


def strides_of(op: Builder, sizes: Sequence[Size]) -> list[Size]:
    """Return the distance between two neighbors along each axis, in row-major order."""
    strides: list[Size] = [1]
    for size in reversed(sizes[1:]):
        strides.insert(0, product(op, [strides[0], size]))
    return strides if sizes else []


def vector_of(op: Builder, sizes: Sequence[Size]) -> str:
    """Return the name of a vector of sizes."""
    if all(isinstance(size, int) for size in sizes):
        return op.const(list(sizes))
    parts = [op.const([size]) if isinstance(size, int) else op.Reshape(size, op.const([1])) for size in sizes]
    return op.Concat(*parts, axis=0) if len(parts) > 1 else parts[0]


def integers_below(op: Builder, count: Size) -> str:
    """Return the vector 0, 1, 2, … of `count` int64 numbers."""
    if isinstance(count, int) and count <= MAX_CONSTANT:
        return op.const(list(range(count)))
    if op.version >= 11:
        return op.Range(op.const(0), size_name(op, count), op.const(1))
    if op.offers("ConstantOfShape") and op.offers("NonZero"):
        one = make_tensor("", NUMBERS["int64"], [1], [1])
        ones = op.ConstantOfShape(op.Reshape(size_name(op, count), op.const([1])), value=one)
        return op.Squeeze(op.NonZero(ones), axes=[0])
    body = LoopBody(op, "counting")
    kept = body.input("float", [])
    body.output(body.going, "bool", [])
    body.output(kept, "float", [])
    body.output(body.turn, "int64", [])
    return add_loop(op, size_name(op, count), [op.const(0.0, "float")], body)[1]


def true_positions(op: Builder, mask: str) -> str:
    """Return the positions at which a vector of bool is true."""
    if op.offers("NonZero"):
        return squeeze(op, op.NonZero(mask), [0])
    kept = op.Cast(mask, to=NUMBERS["int64"])
    body = LoopBody(op, "positions")
    positions = body.input("int64", [None])
    position = body.node("Reshape", body.turn, op.const([1]))
    added = body.node("Tile", position, body.node("Gather", kept, position))
    body.output(body.going, "bool", [])
    body.output(body.node("Concat", positions, added, axis=0), "int64", [None])
    return add_loop(op, op.Size(mask), [op.const([])], body)[0]


def vector_along(op: Builder, vector: str, axis: int, rank: int) -> str:
    """Return a vector as a tensor of a rank, with its elements along one axis."""
    shape = [-1 if other == axis else 1 for other in range(rank)]
    return vector if axis == rank - 1 else op.Reshape(vector, op.const(shape))


def offsets_of(op: Builder, sizes: Sequence[Size], strides: Sequence[Size]) -> str | None:
    """Return for each element the sum of its coordinates times the strides.

    The result broadcasts to the sizes; it is None if all strides or coordinates are 0.
    """
    total = None
    for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        if size == 1 or stride == 0:
            continue
        if isinstance(size, int) and isinstance(stride, int) and size <= MAX_CONSTANT:
            steps = op.const([number * stride for number in range(size)])
        else:
            steps = integers_below(op, size)
            if stride != 1:
                steps = op.Mul(steps, size_name(op, stride))
        steps = vector_along(op, steps, axis, len(sizes))
        total = steps if total is None else op.Add(total, steps)
    return total


def indices_from_front(op: Builder, node: Node, index: int, sizes: Sequence[Size]) -> str:
    """Return integer indices as int64, with negative ones counted from the front.

    `sizes` are the sizes of the axes that the indices count along: one, or one for each element of the last dimension.
    """
    constant = node.constant(index)
    count = len(sizes)
    if constant is not None and (min(constant.values, default=0) >= 0 or all(isinstance(size, int) for size in sizes)):
        if node.element(index) == "int64" and min(constant.values, default=0) >= 0:
            return node.input(index)
        front = [v + int(sizes[at % count]) if v < 0 else v for at, v in enumerate(constant.values)]
        return op.const(front, dims=constant.dims)
    wide = cast(op, node.input(index), node.element(index), "int64")
    whole = size_name(op, sizes[0]) if count == 1 else vector_of(op, sizes)
    if op.version >= 9 and op.offers("Where"):
        return op.Where(op.Less(wide, op.const(0)), op.Add(wide, whole), wide)
    return op.Add(wide, op.Mul(negative_mask(op, wide), whole))


def squeeze(op: Builder, x: str, axes: list[int]) -> str:
    """Return a value without these dimensions of 1."""
    return str(op.Squeeze(x, axes=axes))


def sum_along(op: Builder, x: str, axes: list[int]) -> str:
    """Return the sums along axes, which are removed."""
    return str(op.ReduceSum(x, axes=axes, keepdims=0))


def reshape_vector(op: Builder, flat: str, sizes: Sequence[Size] | None, shape: str = "") -> str:
    """Return a vector in a shape, which may be empty.

    Reshape copies the input's size for a 0, and a vector has only one size. `shape` is the name of the whole shape; it
    is used if `sizes` is None, because the rank is not known, or if one of the sizes may be 0.
    """
    if sizes is None:
        return reshape_exactly(op, flat, shape, None)
    if all(isinstance(size, int) and size > 0 for size in sizes[1:]):
        target = [-1, *sizes[1:]] if sizes else []
        return op.Reshape(flat, op.const(target))
    return reshape_exactly(op, flat, shape or vector_of(op, sizes), len(sizes))


def reshape_exactly(op: Builder, x: str, shape: str, rank: int | None) -> str:
    """Return a value in a computed shape in which every 0 is a size; `rank` is None if it is not known.

    An empty value first gets size 0 along all axes, for Reshape to copy; the shape of any other value has no 0.
    """
    filled = op.Cast(op.Cast(op.Size(x), to=NUMBERS["bool"]), to=NUMBERS["int64"])
    if rank is None:
        # Tile takes any number of axes; older versions of Expand have to know how many there are.
        rest = shape_from(op, shape, 1)
        ones = op.Add(op.Sub(rest, rest), op.const([1]))
        column = op.Reshape(x, op.Concat(op.const([-1]), ones, axis=0))
        return op.Reshape(op.Tile(column, op.Mul(op.Concat(op.const([1]), ones, axis=0), filled)), shape)
    column = op.Reshape(x, op.const([-1] + [1] * (rank - 1)))
    return op.Reshape(op.Expand(column, op.Mul(op.const([1] * rank), filled)), shape)


def shape_from(op: Builder, shape: str, axis: int) -> str:
    """Return the part of a shape of unknown length from an axis on, which may be counted from its end."""
    return str(op.Slice(shape, starts=[axis], ends=[2**31 - 1]))


def product_from(op: Builder, shape: str, axis: int) -> str:
    """Return the product of the sizes from an axis on, of a shape of unknown length; the product of no sizes is 1."""
    sizes = op.Concat(op.const([1]), shape_from(op, shape, axis), axis=0)
    return str(op.ReduceProd(sizes, axes=[0], keepdims=0))


def merge_first_axes(op: Builder, node: Node, index: int, count: int) -> str:
    """Return an input with its first axes merged into one, whatever the number of axes after them.

    The size of the merged axis is -1 if no other axis can be empty, else the product.
    """
    x = node.input(index)
    if count == 1:
        return x
    rank = node.rank(index)
    sizes = sizes_of(op, node, index, range(count if rank is None else rank))
    first = sizes[:count]
    rest = sizes[count:]
    # Reshape copies sizes of 0 from the same position, so dimensions of 1 hold the places and are squeezed out.
    if rank is not None and all(isinstance(size, int) and size > 0 for size in rest):
        return op.Reshape(x, op.const([-1, *rest]))
    ones = list(range(1, count))
    if all(isinstance(size, int) and size > 0 for size in first):
        whole: Size = product(op, first)
    else:
        others = product_from(op, op.Shape(x), count) if rank is None else size_name(op, product(op, rest))
        total = product(op, first)
        empty = op.Cast(op.Not(op.Cast(size_name(op, total), to=NUMBERS["bool"])), to=NUMBERS["int64"])
        others_are_positive = op.Cast(op.Cast(others, to=NUMBERS["bool"]), to=NUMBERS["int64"])
        whole = op.Sub(size_name(op, total), op.Mul(empty, others_are_positive))
    target = vector_of(op, [whole, *[1] * len(ones), *rest])
    if rank is None:
        target = op.Concat(target, shape_from(op, op.Shape(x), count), axis=0)
    return squeeze(op, op.Reshape(x, target), ones)


def index_depth(node: Node, index: int) -> int:
    """Return the length of index tuples; raise Refusal C207 if it is not known."""
    depth = known_size(node, index, -1)
    if depth is None:
        node.need_rank(index)
        raise Refusal("C207", "the length of the index tuples is not known", "give the indices a fixed last dimension")
    return depth
