"""Positions of elements: sizes, strides and coordinates, as numbers where they are known, else computed at run time."""

from __future__ import annotations

import math
from collections.abc import Sequence

from opset.adapters.building.shared import cast, is_negative, positive_axis
from opset.adapters.building.subgraphs import Body, looped
from opset.model.elements import NUMBERS
from opset.model.storage.tensor import make_tensor
from opset.model.types import MAX_CONSTANT
from opset.version_converter.rewrite import Builder, Node, Refusal

Size = int | str
"""A number, or the name of an int64 scalar that is computed at run time."""


def sizes_of(op: Builder, node: Node, index: int, axes: Sequence[int] | None = None) -> list[Size]:
    """Return the sizes of an input along axes, by default all.

    Raises Refusal C207 where that takes its rank and it is not known: for all axes, and before 11 for negative ones.
    """
    shape = node.shape(index)
    if axes is None:
        axes = range(node.need_rank(index))
    elif shape is not None or (op.version < 11 and min(axes, default=0) < 0):
        axes = [positive_axis(axis, node.need_rank(index)) for axis in axes]
    sizes = [(axis, shape[axis] if shape is not None else None) for axis in axes]
    whole = "" if all(isinstance(size, int) for _, size in sizes) else op.Shape(node.input(index))
    return [size if isinstance(size, int) else op.Gather(whole, op.const(axis), axis=0) for axis, size in sizes]


def size_along(op: Builder, node: Node, index: int, axis: int) -> Size:
    """Return the size of an input along an axis, as `sizes_of` does."""
    return sizes_of(op, node, index, [axis])[0]


def named(op: Builder, size: Size) -> str:
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


def plus(op: Builder, a: Size, b: Size) -> Size:
    """Return the sum of two sizes."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return b if a == 0 else a if b == 0 else op.Add(named(op, a), named(op, b))


def minus(op: Builder, a: Size, b: Size) -> Size:
    """Return the difference of two sizes."""
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    return a if b == 0 else op.Sub(named(op, a), named(op, b))


def quotient(op: Builder, a: Size, b: Size) -> Size:
    """Return the quotient of two sizes, rounded down; `a` is not negative, and `b` is positive."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    return a if b == 1 else op.Div(named(op, a), named(op, b))


def at_least(op: Builder, a: Size, low: Size) -> Size:
    """Return the larger of two sizes."""
    if isinstance(a, int) and isinstance(low, int):
        return max(a, low)
    a = named(op, a)
    low = named(op, low)
    return op.Where(op.Less(a, low), low, a)


def at_most(op: Builder, a: Size, high: Size) -> Size:
    """Return the smaller of two sizes."""
    if isinstance(a, int) and isinstance(high, int):
        return min(a, high)
    a = named(op, a)
    high = named(op, high)
    return op.Where(op.Less(high, a), high, a)


def elements_of(op: Builder, node: Node, index: int, count: int) -> list[Size]:
    """Return the integers in a vector of `count` elements: numbers where it is constant."""
    constant = node.constant(index)
    if constant is not None and len(constant.values) == count:
        return [int(value) for value in constant.values]
    vector = node.input(index)
    wide = cast(op, vector, node.element(index), "int64")
    return [op.Gather(wide, op.const(each), axis=0) for each in range(count)]


def numbers_of_axes(op: Builder, node: Node, index: int, rank: int) -> str:
    """Return for each axis its number among those in an input, from 1 on, 0 where it is not among them."""
    axes = cast(op, node.input(index), node.element(index), "int64")
    front = op.Concat(op.const([-1]), op.Add(axes, op.Mul(is_negative(op, axes), op.const(rank))), axis=0)
    shape = node.shape(index)
    known = shape[0] if shape else None
    numbers = counting(op, known + 1 if isinstance(known, int) else op.Size(front))
    column = op.const([-1, 1])
    same = op.Cast(op.Equal(op.Reshape(front, column), op.const(list(range(rank)))), to=NUMBERS["int64"])
    return summed(op, op.Mul(same, op.Reshape(numbers, column)), [0])


def spread(op: Builder, values: str, numbers: str) -> str:
    """Return values for some axes as values for all, 0 for those that have no number."""
    return op.Gather(op.Concat(op.const([0]), values, axis=0), numbers, axis=0)


def strides_of(op: Builder, sizes: Sequence[Size]) -> list[Size]:
    """Return the distance between neighbours along each axis, of elements in row-major order."""
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


def counting(op: Builder, count: Size) -> str:
    """Return the vector 0, 1, 2, … of `count` int64 numbers."""
    if isinstance(count, int) and count <= MAX_CONSTANT:
        return op.const(list(range(count)))
    if op.version >= 11:
        return op.Range(op.const(0), named(op, count), op.const(1))
    if op.offers("ConstantOfShape") and op.offers("NonZero"):
        one = make_tensor("", NUMBERS["int64"], [1], [1])
        ones = op.ConstantOfShape(op.Reshape(named(op, count), op.const([1])), value=one)
        return op.Squeeze(op.NonZero(ones), axes=[0])
    body = Body(op, "counting")
    number = body.input("int64", [])
    going = body.input("bool", [])
    kept = body.input("float", [])
    body.output(going, "bool", [])
    body.output(kept, "float", [])
    body.output(number, "int64", [])
    return looped(op, named(op, count), [op.const(0.0, "float", [])], body)[1]


def positions_of(op: Builder, mask: str) -> str:
    """Return the positions at which a vector of bool is true."""
    if op.offers("NonZero"):
        return squeezed(op, op.NonZero(mask), [0])
    kept = op.Cast(mask, to=NUMBERS["int64"])
    body = Body(op, "positions")
    number = body.input("int64", [])
    going = body.input("bool", [])
    found = body.input("int64", [None])
    here = body.node("Reshape", number, op.const([1]))
    more = body.node("Tile", here, body.node("Gather", kept, here, axis=0))
    body.output(going, "bool", [])
    body.output(body.node("Concat", found, more, axis=0), "int64", [None])
    return looped(op, op.Size(mask), [op.const([])], body)[0]


def along(op: Builder, vector: str, axis: int, rank: int) -> str:
    """Return a vector as a tensor of some rank that has its elements along one axis."""
    shape = [-1 if each == axis else 1 for each in range(rank)]
    return vector if axis == rank - 1 else op.Reshape(vector, op.const(shape))


def coordinates(op: Builder, sizes: Sequence[Size], strides: Sequence[Size]) -> str | None:
    """Return the sum of each element's coordinates times the strides, which broadcasts to the sizes; None for 0.

    Axes with the stride 0 do not count.
    """
    total = None
    for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        if size == 1 or stride == 0:
            continue
        if isinstance(size, int) and isinstance(stride, int) and size <= MAX_CONSTANT:
            steps = op.const([number * stride for number in range(size)])
        else:
            steps = counting(op, size)
            if stride != 1:
                steps = op.Mul(steps, named(op, stride))
        steps = along(op, steps, axis, len(sizes))
        total = steps if total is None else op.Add(total, steps)
    return total


def from_front(op: Builder, node: Node, index: int, sizes: Sequence[Size]) -> str:
    """Return integer indices as int64 with negative ones counted from the front.

    `sizes` are those of the axis, or of the axes that the last dimension of the indices is for.
    """
    constant = node.constant(index)
    count = len(sizes)
    if constant is not None and (min(constant.values, default=0) >= 0 or all(isinstance(size, int) for size in sizes)):
        if node.element(index) == "int64" and min(constant.values, default=0) >= 0:
            return node.input(index)
        front = [v + int(sizes[at % count]) if v < 0 else v for at, v in enumerate(constant.values)]
        return op.const(front, dims=constant.dims)
    wide = cast(op, node.input(index), node.element(index), "int64")
    whole = named(op, sizes[0]) if count == 1 else vector_of(op, sizes)
    if op.version >= 9 and op.offers("Where"):
        return op.Where(op.Less(wide, op.const(0)), op.Add(wide, whole), wide)
    return op.Add(wide, op.Mul(is_negative(op, wide), whole))


def squeezed(op: Builder, x: str, axes: list[int]) -> str:
    """Return a value without dimensions of 1."""
    return str(op.Squeeze(x, axes=axes))


def summed(op: Builder, x: str, axes: list[int]) -> str:
    """Return the sums along axes."""
    return str(op.ReduceSum(x, axes=axes, keepdims=0))


def reshaped(op: Builder, flat: str, sizes: Sequence[Size] | None, shape: str = "") -> str:
    """Return a vector in a shape, which may be empty; `shape` names the sizes where they are known at run time alone.

    A 0 in Reshape copies the size at the same axis: beyond the first, the vector has none.
    """
    if sizes is None:
        return shaped(op, flat, shape, None)
    if all(isinstance(size, int) and size > 0 for size in sizes[1:]):
        rest = [-1, *sizes[1:]] if sizes else []
        return op.Reshape(flat, op.const(rest))
    return shaped(op, flat, shape or vector_of(op, sizes), len(sizes))


def shaped(op: Builder, x: str, shape: str, rank: int | None) -> str:
    """Return a value in a computed shape of this rank, if it is known, in which every 0 is a size.

    An empty value gets 0 along all axes first, for Reshape to copy; any other has no 0 in its shape.
    """
    filled = op.Cast(op.Cast(op.Size(x), to=NUMBERS["bool"]), to=NUMBERS["int64"])
    if rank is None:
        # Tile takes as many numbers as there are axes, where what Expand becomes has to know how many these are.
        rest = sizes_from(op, shape, 1)
        ones = op.Add(op.Sub(rest, rest), op.const([1]))
        column = op.Reshape(x, op.Concat(op.const([-1]), ones, axis=0))
        return op.Reshape(op.Tile(column, op.Mul(op.Concat(op.const([1]), ones, axis=0), filled)), shape)
    column = op.Reshape(x, op.const([-1] + [1] * (rank - 1)))
    return op.Reshape(op.Expand(column, op.Mul(op.const([1] * rank), filled)), shape)


def sizes_from(op: Builder, shape: str, axis: int) -> str:
    """Return the part of a shape of unknown length from an axis on, which may be counted from its end."""
    return str(op.Slice(shape, starts=[axis], ends=[2**31 - 1]))


def product_from(op: Builder, shape: str, axis: int) -> str:
    """Return the product of the sizes from an axis on, of a shape of unknown length; 1 where there is none."""
    sizes = op.Concat(op.const([1]), sizes_from(op, shape, axis), axis=0)
    return str(op.ReduceProd(sizes, axes=[0], keepdims=0))


def merged(op: Builder, node: Node, index: int, count: int) -> str:
    """Return an input with its first axes as one, and those after it as they are, however many these are.

    The size of the merged axis is -1, unless an axis after it may be empty: then it is the product.
    """
    x = node.input(index)
    if count == 1:
        return x
    rank = node.rank(index)
    sizes = sizes_of(op, node, index, range(count if rank is None else rank))
    first = sizes[:count]
    rest = sizes[count:]
    # In the same positions as before, sizes of 0 are copied; the ones between are squeezed out.
    if rank is not None and all(isinstance(size, int) and size > 0 for size in rest):
        return op.Reshape(x, op.const([-1, *rest]))
    ones = list(range(1, count))
    if all(isinstance(size, int) and size > 0 for size in first):
        whole: Size = product(op, first)
    else:
        others = product_from(op, op.Shape(x), count) if rank is None else named(op, product(op, rest))
        total = product(op, first)
        empty = op.Cast(op.Not(op.Cast(named(op, total), to=NUMBERS["bool"])), to=NUMBERS["int64"])
        known = op.Cast(op.Cast(others, to=NUMBERS["bool"]), to=NUMBERS["int64"])
        whole = op.Sub(named(op, total), op.Mul(empty, known))
    wanted = vector_of(op, [whole, *[1] * len(ones), *rest])
    if rank is None:
        wanted = op.Concat(wanted, sizes_from(op, op.Shape(x), count), axis=0)
    return squeezed(op, op.Reshape(x, wanted), ones)


def index_depth(node: Node, index: int) -> int:
    """Return the length of index tuples. Raises Refusal C207 where it is not known."""
    shape = node.shape(index)
    depth = shape[-1] if shape else None
    if not isinstance(depth, int):
        node.need_rank(index)
        raise Refusal("C207", "the length of the index tuples is not known", "give the indices a fixed last dimension")
    return depth
