"""Shapes and elements of operators that move, join and repeat elements without changing them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import Any

from opset.inference.building.agreement import required_attribute
from opset.inference.building.call import Call, Constant, Element, Unknown
from opset.inference.building.dimensions import Size, apply_to_sizes, product_if_known
from opset.inference.building.elements import broadcast_elements, broadcast_shape, pick_elements
from opset.inference.building.shapes import concat_shapes, expand_shape
from opset.inference.building.types import Shape
from opset.inference.limits import MAX_RANK
from opset.inference.registration import data, infer

# -- shapes --


@infer("Shape")
def shape_1(call: Call) -> Shape:
    """Return (n,), the shape of the output of Shape, which lists n sizes of the input.

    From version 15 on, these are the sizes from the attribute `start` to `end`. Before, they are all sizes. If the rank
    of the input is unknown, the result is (None,).
    """
    shape = call.shape(0)
    return (None,) if shape is None else (len(_selected_dimensions(call, shape)),)


@data("Shape")
def shape_1_data(call: Call) -> Any:
    """Return the input's sizes from the attribute `start` to `end`, as in a Python slice; all before version 15.

    Raises Unknown if the rank is not known.
    """
    return _selected_dimensions(call, call.require_shape(0))


def _selected_dimensions(call: Call, shape: tuple[Size, ...]) -> tuple[Size, ...]:
    """Return the sizes in `shape` from the attribute `start` to `end` of Shape, as in a Python slice.

    Before version 15, Shape has no such attributes, and all sizes are returned.
    """
    return shape[call.attribute("start") : call.attribute("end")] if call.version >= 15 else shape


@data("Size")
def size_1_data(call: Call) -> Any:
    """Return (number of elements,), or (None,) if a size is unknown. Raises Unknown if the rank is not known."""
    return (product_if_known(call.require_shape(0)),)


# -- order --


@infer("Transpose")
def transpose_1(call: Call) -> Shape:
    """Return the input's sizes in the order of the attribute `perm`, or reversed without it.

    If the rank of the input is unknown, the result has as many unknown sizes as `perm` has axes. Raises Unknown if
    there is no `perm` either, or if it has more than MAX_RANK axes.
    """
    perm = call.attribute("perm")
    shape: Shape | None = call.shape(0)
    if shape is None:
        if perm is None or len(perm) > MAX_RANK:
            raise Unknown("the rank of data is not known")
        shape = (None,) * len(perm)
    return tuple([shape[axis] for axis in _axis_order(perm, len(shape))])


def _axis_order(perm: Sequence[int] | None, rank: int) -> Sequence[int]:
    """Return the order in which the output of Transpose has the input's axes: `perm`, or reversed if it is None."""
    return range(rank)[::-1] if perm is None else perm


@data("Transpose")
def transpose_1_data(call: Call) -> Any:
    """Return the transposed tensor's elements in row-major order, or None if they are unknown."""
    constant = call.constant(0)
    if constant is None:
        return None
    order = _axis_order(call.attribute("perm"), len(constant.dims))
    return pick_elements(constant, {}, order)


@infer("DepthToSpace")
def depth_to_space_1(call: Call) -> Shape:
    """Return (N, C / b**2, H * b, W * b) for an input (N, C, H, W), in which b is the attribute `blocksize`.

    A size is None if it is unknown. Raises Violation without the label of a constraint if `blocksize` is absent.
    """
    block = required_attribute(call, "blocksize")
    count, channels, height, width = map(call.size, "NCHW")
    depth = apply_to_sizes(operator.floordiv, channels, block * block)
    return (count, depth, product_if_known((height, block)), product_if_known((width, block)))


@infer("SpaceToDepth")
def space_to_depth_1(call: Call) -> Shape:
    """Return (N, C * b**2, H / b, W / b) for an input (N, C, H, W), in which b is the attribute `blocksize`.

    A size is None if it is unknown. Raises Violation without the label of a constraint if `blocksize` is absent.
    """
    block = required_attribute(call, "blocksize")
    count, channels, height, width = map(call.size, "NCHW")
    blocks = [apply_to_sizes(operator.floordiv, size, block) for size in (height, width)]
    return (count, product_if_known((channels, block * block)), *blocks)


# -- joining --


@infer("Concat")
def concat_1(call: Call) -> Shape:
    """Return the shape of the inputs joined along the attribute `axis`.

    Inputs of unknown rank are ignored, but make the size along `axis` None. Raises Unknown if no rank is known. Raises
    Violation C1 if `axis` is out of range, C2 if shapes do not fit. From version 4 on, raises Violation without the
    label of a constraint if `axis` is absent.
    """
    indices = [index for index in range(call.input_count) if call.has(index)]
    shapes = [call.shape(index) for index in indices]
    known = [shape for shape in shapes if shape is not None]
    if not known:
        raise Unknown("the rank of no input is known")
    axis = _concat_axis(call, len(known[0]))
    sizes = concat_shapes(known, axis)
    return sizes if len(known) == len(shapes) else (*sizes[:axis], None, *sizes[axis + 1 :])


def _concat_axis(call: Call, rank: int) -> int:
    """Return the attribute `axis` counted from 0, by default 1 before version 4.

    Raises Violation C1 if it is out of range for `rank`. From version 4 on, raises Violation without the label of a
    constraint if it is absent.
    """
    axis = call.attribute("axis")
    # The declared range has not been checked if the axis is absent or the rank of the first input unknown.
    return call.axis(1 if axis is None and call.version < 4 else int(required_attribute(call, "axis")), rank, "C1")


@data("Concat")
def concat_1_data(call: Call) -> Any:
    """Return the joined elements in row-major order; an element that is unknown is None.

    An input may have a shape of numbers, such as (2, 3), but unknown elements: it adds only None, here 6 times. Returns
    None if an input has neither known elements nor a shape of numbers, or if there are no inputs. Raises Unknown if
    the rank of such an input is unknown, Violation C1 if `axis` is out of range.
    """
    parts = [_elements_or_unknown(call, index) for index in range(call.input_count)]
    if any(part is None for part in parts) or not parts:
        return None
    known = [part for part in parts if part is not None]
    axis = _concat_axis(call, len(known[0].dims))
    elements: list[Element] = []
    chunks = [prod(part.dims[axis:]) for part in known]
    for row in range(prod(known[0].dims[:axis])):
        for part, chunk in zip(known, chunks, strict=True):
            elements.extend(part.values[row * chunk : (row + 1) * chunk])
    return tuple(elements)


def _elements_or_unknown(call: Call, index: int) -> Constant | None:
    """Return the input at `index` as a Constant, in which an unknown element is None.

    If no element is known, the Constant has None for each element, and no element type. This needs the number of
    elements: if a size is unknown, the result is None. Raises Unknown if the rank is unknown.
    """
    constant = call.constant(index)
    if constant is not None:
        return constant
    shape = call.require_shape(index)
    sizes = tuple([size for size in shape if isinstance(size, int)])
    if len(sizes) < len(shape):
        return None
    # The result is small, and so are its parts.
    return Constant("undefined", sizes, (None,) * prod(sizes))


# -- repetition --


@infer("Tile", since=6)
def tile_6(call: Call) -> Shape:
    """Return the output sizes of Tile: each size of the first input times its number of repeats, from the second input.

    An output size is 0 if the input's size or its number of repeats is 0. Otherwise, it is None if one of them is
    unknown. If the rank of the first input is unknown, the output has as many sizes as there are numbers of repeats.
    Raises Unknown if the rank and the numbers of repeats are unknown.
    """
    shape = call.shape(0)
    repeats = call.sizes(1)
    if shape is None:
        if repeats is None:
            raise Unknown("the rank of input is not known")
        return tuple([0 if repeat == 0 else None for repeat in repeats])
    if repeats is None:
        return tuple([0 if size == 0 else None for size in shape])
    return tuple([product_if_known(pair) for pair in zip(shape, repeats, strict=True)])


@infer("Tile")
def tile_1(call: Call) -> Shape:
    """Return the input's shape with one size multiplied: the second input is the factor, the third the axis.

    A size is None if it is unknown. If the axis is unknown, and the factor is not 1, each size other than 0 is None.
    Raises Unknown if the rank is unknown.
    """
    shape = call.require_shape(0)
    tiles, axis = call.element(1), call.element(2)
    count: Any = int(tiles) if isinstance(tiles, int | float) else tiles
    if not isinstance(axis, int | float):
        return tuple([size if count == 1 or size == 0 else None for size in shape])
    along = int(axis)
    return (*shape[:along], product_if_known((shape[along], count)), *shape[along + 1 :])


@data("Tile", since=6)
def tile_6_data(call: Call) -> Any:
    """Return the input's elements repeated along each axis, in row-major order.

    The result is None if elements or repeats are unknown.
    """
    constant = call.constant(0)
    repeats = call.numbers(1)
    if constant is None or repeats is None:
        return None
    along = enumerate(zip(constant.dims, repeats, strict=True))
    return pick_elements(constant, {axis: [*range(size)] * times for axis, (size, times) in along})


@infer("Expand")
def expand_8(call: Call) -> Shape:
    """Return the shape to which the input's shape and the shape in the second input broadcast together.

    A size that is unknown is None. Raises Unknown if a rank is not known, Violation C2 if the two cannot be broadcast.
    """
    shape = call.shape(0)
    wanted = call.sizes(1)
    if wanted is None:
        raise Unknown("the number of sizes in shape is not known")
    if shape is None:
        raise Unknown("the rank of input is not known")
    return expand_shape(shape, tuple(wanted))


@data("Expand")
def expand_8_data(call: Call) -> Any:
    """Return the input's elements, broadcast to the shape in the second input, as a tuple in row-major order.

    The result is None if an input is unknown, or a size in the second input is 0. Raises Violation without the label of
    a constraint if the second input is no list of integers.
    """
    constant = call.constant(0)
    wanted = call.numbers(1)
    if constant is None or wanted is None or 0 in wanted:
        return None
    return tuple(broadcast_elements(constant, broadcast_shape([constant.dims, wanted])))
