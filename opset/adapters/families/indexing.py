"""Operators with indices: before version 11, negative indices are undefined or refused, and few of them exist."""

from __future__ import annotations

import math

from opset.adapters.building.positions import (
    Size,
    index_depth,
    indices_from_front,
    integers_below,
    merge_first_axes,
    offsets_of,
    product,
    product_from,
    reshape_vector,
    size_along,
    size_name,
    sizes_of,
    squeeze,
    strides_of,
    sum_along,
    true_positions,
    vector_along,
    vector_of,
)
from opset.adapters.building.shared import (
    INTEGERS_OF_32_BITS,
    SMALL_INTEGERS,
    cast,
    constant_ints,
    known_size,
    need_size,
    need_value,
    negative_mask,
    positive_axis,
    unsqueeze,
    working_type,
)
from opset.adapters.building.subgraphs import LoopBody, add_loop
from opset.adapters.limits import MAX_AXES, MAX_COMPARED, MAX_PAIRED
from opset.model.elements import NUMBERS
from opset.version_converter.registration import down, lower, refuses, up
from opset.version_converter.rewrite import FIX_SIZES, Builder, Node, Refusal, Result

NOWHERE = 2**63 - 1
"""An index that is out of range for every depth."""


@down("Gather", since=11)
def gather_11_down(op: Builder, node: Node) -> Result:
    """Count negative indices from the front; before 11 they are out of range."""
    return _with_indices_from_front(op, node)


@down("GatherND", since=12)
def gather_nd_12_down(op: Builder, node: Node) -> Result:
    """Prepend the index of each leading dimension that indices and data share to the indices."""
    batches = node.attr("batch_dims")
    if not batches:
        return None
    rank = node.need_rank(1)
    data_rank = node.need_rank(0)
    if not 0 <= batches < min(rank, data_rank):
        raise Refusal("C103", f"'batch_dims' is {batches} for ranks {data_rank} and {rank}")
    data, indices = node.inputs
    shape = op.Concat(op.Slice(op.Shape(indices), op.const([0]), op.const([rank - 1])), op.const([1]), axis=0)
    before = []
    for axis in range(batches):
        positions = op.Range(op.const(0), size_name(op, size_along(op, node, 0, axis)), op.const(1))
        dims = [-1 if other == axis else 1 for other in range(rank)]
        before.append(op.Expand(op.Reshape(positions, op.const(dims)), shape))
    depth = known_size(node, 1, -1)
    indices = op.Concat(*before, indices, axis=rank - 1)
    if depth is not None:
        op.state(indices, "int64", (*[None] * (rank - 1), depth + batches))
    return op.copy(node, inputs=[data, indices], drop=["batch_dims"])


@down("Scatter", since=11)
def scatter_11_down(op: Builder, node: Node) -> Result:
    """Count negative indices from the front; before 11 they are not defined."""
    return _with_indices_from_front(op, node)


def _with_indices_from_front(op: Builder, node: Node) -> Result:
    """Return the node with indices along its axis that are not negative, None if they cannot be negative."""
    if not _may_be_negative(node, 1):
        return None
    front = indices_from_front(op, node, 1, [size_along(op, node, 0, node.attr("axis"))])
    return op.copy(node, inputs=[node.input(0), front, *node.inputs[2:]])


@up("OneHot", since=11)
def one_hot_11_up(op: Builder, node: Node) -> Result:
    """Move negative indices out of range: before 11 they gave a row of off values, now they count from the end."""
    if not _may_be_negative(node, 0):
        return None
    # OneHot casts indices to int64.
    indices = cast(op, node.input(0), node.element(0), "int64")
    outside = op.Where(op.Less(indices, op.const(0)), op.const(NOWHERE), indices)
    return op.copy(node, inputs=[outside, *node.inputs[1:]])


@down("OneHot", since=11)
def one_hot_11_down(op: Builder, node: Node) -> Result:
    """Count indices, and an axis below -1, from the front; indices below `-depth` are out of range."""
    axis = node.attr("axis")
    if axis < -1:
        axis = positive_axis(axis, node.need_rank(0) + 1)
    if not _may_be_negative(node, 0):
        return op.copy(node, axis=axis) if axis != node.attr("axis") else None
    indices = cast(op, node.input(0), node.element(0), "int64")
    depth = op.Cast(op.Squeeze(node.input(1)), to=NUMBERS["int64"])
    front = op.Add(indices, op.Mul(negative_mask(op, indices), depth))
    outside = op.Where(op.Less(front, op.const(0)), op.const(NOWHERE), front)
    return op.copy(node, inputs=[outside, *node.inputs[1:]], axis=axis)


def _may_be_negative(node: Node, index: int) -> bool:
    """Whether an input may hold negative numbers."""
    element = node.element(index)
    constant = node.constant(index)
    if element is not None and element.startswith("uint"):
        return False
    return constant is None or any(value < 0 for value in constant.values)


@up("TopK", since=10)
def top_k_10_up(op: Builder, node: Node) -> Result:
    """Write `k` as a vector of one element."""
    return op.copy(node, inputs=[node.input(0), op.const([node.attr("k")])], drop=["k"])


@down("TopK", since=10)
@refuses("C204", "`K` is 0 or not known, and the axis is empty")
def top_k_10_down(op: Builder, node: Node) -> Result:
    """Write a known count from 1 on as the attribute; for any other, sort all elements and gather the first ones."""
    constant = node.constant(1)
    if constant is not None and all(number >= 1 for number in constant_ints(node, 1)):
        return None
    axis = node.attr("axis")
    size = need_size(node, 0, axis)
    if size < 1:
        label = "`K` is 0 or not known, and the axis is empty"
        raise Refusal("C204", f"'K' is 0 or not known, and axis {axis} is empty", FIX_SIZES, label=label)
    outputs = op.copy(node, inputs=[node.input(0)], outputs=[op.fresh("sorted"), op.fresh("order")], k=size)
    first = integers_below(op, op.Reshape(node.input(1), op.const([])))
    return [op.Gather(output, first, axis=axis) for output in outputs][: len(node.outputs)]


@down("TopK", since=11)
@refuses("C204", "before version 11, each two of too many elements would have to be compared")
def top_k_11_down(op: Builder, node: Node) -> Result:
    """Take the smallest elements as the largest negated ones; sorted results serve if no order is required.

    Integers are compared in a float type that holds them. Before 11, the only negative axis is -1.
    """
    x = node.input(0)
    element = node.need_element(0)
    axis = node.attr("axis")
    if axis < -1:
        axis = positive_axis(axis, node.need_rank(0))
    if element in ("int64", "uint64"):
        return _top_of_64_bits(op, node, element)
    wide = {**SMALL_INTEGERS, **INTEGERS_OF_32_BITS}.get(element, element)
    x = cast(op, x, element, wide)
    smallest = not node.attr("largest")
    if smallest:
        x = op.Neg(x)
    changed = smallest or wide != element
    outputs = [op.fresh("values"), node.output(1)] if changed else None
    values, indices = op.copy(node, inputs=[x, node.input(1)], outputs=outputs, drop=["largest", "sorted"], axis=axis)
    if smallest:
        values = op.Neg(values)
    return cast(op, values, wide, element), indices


def _top_of_64_bits(op: Builder, node: Node, element: str) -> Result:
    """Sort elements by the number of elements ahead of each, and gather them; equal elements stay in their order."""
    axis = positive_axis(node.attr("axis"), node.need_rank(0))
    x = node.input(0)
    length = need_size(node, 0, axis)
    if length > MAX_PAIRED:
        why = f"before version 11, each two of the {length} elements would have to be compared"
        label = "before version 11, each two of too many elements would have to be compared"
        raise Refusal("C204", why, "cast the input to int32 where its numbers fit", label=label)
    # Half of the range less, unsigned numbers have the order of signed ones.
    number = x if element == "int64" else op.Add(op.Cast(x, to=NUMBERS["int64"]), op.const(-(2**63), dims=[]))
    others = unsqueeze(op, number, [axis])
    reference = unsqueeze(op, number, [axis + 1])
    ahead = (op.Greater if node.attr("largest") else op.Less)(others, reference)
    score = op.Neg(sum_along(op, op.Cast(ahead, to=NUMBERS["float"]), [axis + 1]))
    outputs = [op.fresh("scores"), op.fresh("indices")]
    op.copy(node, inputs=[score, node.input(1)], outputs=outputs, drop=["largest", "sorted"], axis=axis)
    indices = outputs[1]
    counts = sizes_of(op, node, 0)
    strides = strides_of(op, counts)
    constant = node.constant(1)
    counts[axis] = int(need_value(node, 1)) if constant is not None else op.Reshape(node.input(1), op.const([]))
    position = op.Mul(indices, size_name(op, strides[axis]))
    rows = offsets_of(op, counts, [0 if other_axis == axis else stride for other_axis, stride in enumerate(strides)])
    flat = op.Reshape(x, op.const([-1]))
    return op.Gather(flat, position if rows is None else op.Add(position, rows)), indices


@lower("GatherElements", since=11)
def gather_elements_lowered(op: Builder, node: Node) -> Result:
    """Gather elements of the data as one row, at their positions in it."""
    flat, position, _ = _flat_positions(op, node)
    return op.Gather(flat, position)


def _flat_positions(op: Builder, node: Node) -> tuple[str, str, list[Size] | None]:
    """Return the first input as one row, the position in it of each index, and the sizes, None for an unknown rank."""
    ranks = [rank for rank in (node.rank(0), node.rank(1)) if rank is not None]
    if not ranks:
        return *_flat_positions_of_any_rank(op, node), None
    rank = ranks[0]
    axis = positive_axis(node.attr("axis"), rank)
    if ranks[-1] != rank:
        raise Refusal("C103", f"the ranks {rank} and {ranks[-1]} differ")
    sizes, counts = sizes_of(op, node, 0, range(rank)), sizes_of(op, node, 1, range(rank))
    strides = strides_of(op, sizes)
    position = indices_from_front(op, node, 1, [sizes[axis]])
    if strides[axis] != 1:
        position = op.Mul(position, size_name(op, strides[axis]))
    others = offsets_of(op, counts, [0 if other_axis == axis else stride for other_axis, stride in enumerate(strides)])
    flat = node.input(0) if rank == 1 else op.Reshape(node.input(0), op.const([-1]))
    return flat, position if others is None else op.Add(position, others), sizes


def _flat_positions_of_any_rank(op: Builder, node: Node) -> tuple[str, str]:
    """Return the first input as one row, and positions in it, whose coordinates are found in a loop over the axes."""
    # Without indices, positions of one element are computed: a tensor of ones broadcasts to no elements.
    x = node.input(0)
    axis = node.attr("axis")
    one = op.const(1)
    if not -(2**31) <= axis < 2**31:
        raise Refusal("C103", f"axis {axis} is out of range for every rank")
    sizes = op.Shape(x)
    counts = op.Shape(node.input(1))
    count = op.Size(node.input(1))
    rank = op.Size(sizes)
    picked = op.const(axis) if axis >= 0 else op.Add(rank, op.const(axis))
    empty = op.Sub(one, op.Cast(op.Cast(count, to=NUMBERS["bool"]), to=NUMBERS["int64"]))
    counts = op.Add(counts, op.Mul(op.Sub(one, counts), empty))
    numbers = integers_below(op, op.Add(count, empty))
    last = op.Sub(rank, one)

    body = LoopBody(op, "coordinates")
    left, total, stride = (body.input("int64", shape) for shape in ([None], [None], []))
    current_axis = body.node("Sub", last, body.turn)
    extent = body.node("Gather", counts, current_axis)
    above = body.node("Div", left, extent)
    coordinate = body.node("Sub", left, body.node("Mul", above, extent))
    other = body.node("Cast", body.node("Not", body.node("Equal", current_axis, picked)), to=NUMBERS["int64"])
    step = body.node("Mul", coordinate, body.node("Mul", stride, other))
    body.output(body.going, "bool", [])
    body.output(above, "int64", [None])
    body.output(body.node("Add", total, step), "int64", [None])
    body.output(body.node("Mul", stride, body.node("Gather", sizes, current_axis)), "int64", [])
    others = add_loop(op, rank, [numbers, op.Sub(numbers, numbers), one], body)[1]

    position = indices_from_front(op, node, 1, [op.Gather(sizes, picked)])
    if axis != -1:
        position = op.Mul(position, product_from(op, sizes, axis + 1))
    return op.Reshape(x, op.const([-1])), op.Add(position, op.Reshape(others, counts))


@lower("GatherND", since=11)
@refuses("C204", "the index tuples are empty, and each update is as large as the data")
def gather_nd_lowered(op: Builder, node: Node) -> Result:
    """Gather slices by one index instead of a tuple, from the data with the axes of the tuple merged."""
    depth = _need_depth(node)
    return op.Gather(merge_first_axes(op, node, 0, depth), _merge_index_tuples(op, node, depth))


def _need_depth(node: Node) -> int:
    """Return the length of index tuples; raise Refusal if it is 0, unknown, or more than the rank."""
    depth = index_depth(node, 1)
    rank = node.rank(0)
    if not depth:
        raise Refusal("C204", "the index tuples are empty, and each update is as large as the data")
    if rank is not None and not 1 <= depth <= rank:
        raise Refusal("C103", f"the indices are tuples of {depth}, and the data has {rank} dimensions")
    if depth > MAX_AXES:
        label = f"the indices are tuples of more than {MAX_AXES}"
        raise Refusal("C204", f"the indices are tuples of {depth}, and {MAX_AXES} are allowed", label=label)
    return depth


def _merge_index_tuples(op: Builder, node: Node, depth: int) -> str:
    """Return index tuples as indices into their axes, merged into one."""
    sizes = sizes_of(op, node, 0, range(depth))
    indices = indices_from_front(op, node, 1, sizes)
    if depth > 1:
        indices = op.Mul(indices, vector_of(op, strides_of(op, sizes)))
        return sum_along(op, indices, [node.need_rank(1) - 1])
    return squeeze(op, indices, [node.need_rank(1) - 1])


@lower("ScatterElements", since=11)
def scatter_elements_lowered(op: Builder, node: Node) -> Result:
    """Write by Scatter, which takes no negative indices and is withdrawn since 11; then by ScatterND, or in a loop."""
    if not op.offers("Scatter") and not op.offers("ScatterND"):
        return scatter_lowered(op, node)
    if not op.offers("Scatter"):
        flat, position, sizes = _flat_positions(op, node)
        indices = op.Reshape(position, op.const([-1, 1]))
        y = op.ScatterND(flat, indices, op.Reshape(node.input(2), op.const([-1])))
        return reshape_vector(op, y, sizes, op.Shape(node.input(0)))
    axis = node.attr("axis")
    ranks = [rank for rank in map(node.rank, range(3)) if rank is not None]
    if ranks:
        axis = positive_axis(axis, ranks[0])
    if axis >= 0:
        front = indices_from_front(op, node, 1, [size_along(op, node, 0, axis)])
        return op.Scatter(node.input(0), front, node.input(2), axis=axis)
    x, positions, updates, sizes = _elements_along_axis(op, node)
    return reshape_vector(op, op.Scatter(x, positions, updates), sizes, op.Shape(node.input(0)))


def _elements_along_axis(op: Builder, node: Node) -> tuple[str, str, str, list[Size] | None]:
    """Return what `_elements_of_slices` does, for indices along an axis."""
    x, positions, sizes = _flat_positions(op, node)
    positions, updates = (op.Reshape(name, op.const([-1])) for name in (positions, node.input(2)))
    return x, positions, updates, sizes


@lower("ScatterND", since=11)
@refuses("C204", "the index tuples are empty, and each update is as large as the data")
def scatter_nd_lowered(op: Builder, node: Node) -> Result:
    """Write single elements of the data as one row."""
    x, positions, updates, sizes = _elements_of_slices(op, node)
    return reshape_vector(op, op.Scatter(x, positions, updates), sizes, op.Shape(node.input(0)))


@lower("Scatter", since=9)
def scatter_lowered(op: Builder, node: Node) -> Result:
    """Note in a loop which update goes to each position, then gather from data and updates."""
    x, positions, updates, sizes = _elements_along_axis(op, node)
    size = op.Size(x)
    numbers = integers_below(op, size)
    sources = last_written(op, numbers, numbers, size, positions)
    y = op.Gather(op.Concat(x, updates, axis=0), sources)
    return reshape_vector(op, y, sizes, op.Shape(node.input(0)))


def last_written(op: Builder, numbers: str, initial: str, first: str, positions: str) -> str:
    """Return for each number `first` plus the index of its last position, or the initial value if it has none.

    Args:
        op: Makes the nodes.
        numbers: The numbers to look up.
        initial: The values of numbers that have no position.
        first: The number to add to indices.
        positions: The numbers that are written, one after the other.
    """
    body = LoopBody(op, "write")
    sources = body.input("int64", [None])
    position = body.node("Gather", positions, body.node("Reshape", body.turn, op.const([1])))
    chosen_here = body.node("Cast", body.node("Equal", numbers, position), to=NUMBERS["int64"])
    change = body.node("Mul", chosen_here, body.node("Sub", body.node("Add", first, body.turn), sources))
    body.output(body.going, "bool", [])
    body.output(body.node("Add", sources, change), "int64", [None])
    return add_loop(op, op.Size(positions), [initial], body)[0]


def _elements_of_slices(op: Builder, node: Node) -> tuple[str, str, str, list[Size] | None]:
    """Return data, positions and updates of ScatterND as one row each, and the data's sizes if its rank is known."""
    depth = _need_depth(node)
    sizes = sizes_of(op, node, 0) if node.rank(0) is not None else None
    rows = _merge_index_tuples(op, node, depth)
    x, rows, updates = (op.Reshape(name, op.const([-1])) for name in (node.input(0), rows, node.input(2)))
    if sizes is not None and depth == len(sizes):
        return x, rows, updates, sizes
    width = product(op, sizes[depth:]) if sizes is not None else product_from(op, op.Shape(node.input(0)), depth)
    starts = op.Mul(op.Reshape(rows, op.const([-1, 1])), size_name(op, width))
    return x, op.Reshape(op.Add(starts, integers_below(op, width)), op.const([-1])), updates, sizes


@down("ScatterElements", "ScatterND", since=16)
@refuses("C204", "the index tuples are empty, and each update is as large as the data")
def scatter_16_down(op: Builder, node: Node) -> Result:
    """Combine updates with the data by the operator of the reduction; before 16, `none` was the only one."""
    return _combine_updates(op, node, ("add", "mul"))


@down("ScatterElements", "ScatterND", since=18)
def scatter_18_down(op: Builder, node: Node) -> Result:
    """Combine updates with the data by Max or Min, which were no reductions before 18."""
    return _combine_updates(op, node, ("max", "min"))


_WIDE = {
    **dict.fromkeys(("float16", "bfloat16"), "float"),
    **dict.fromkeys(("int8", "int16", "uint8", "uint16"), "int32"),
}
"""Types by those in which updates are combined: floats round once, and integers wrap when they are cast back."""


def _combine_updates(op: Builder, node: Node, reductions: tuple[str, str]) -> Result:
    """Return data with updates combined in their order, None for a reduction that is not listed.

    If TopK can sort positions, updates of distinct elements are combined at once, else one after the other, in a loop.
    Raises Refusal C202 for a type that no operator combines.
    """
    reduction = node.attr("reduction")
    if reduction not in reductions:
        return None
    element = node.need_element(0)
    wide = _WIDE.get(element, element)
    if wide not in ("float", "double", "int32", "int64", "uint32", "uint64"):
        label = "elements of this type cannot be combined by the reduction"
        raise Refusal("C202", f"elements of {element} cannot be combined by '{reduction}'", label=label)
    elements = _elements_of_slices if node.op_type == "ScatterND" else _elements_along_axis
    x, positions, updates, sizes = elements(op, node)
    x, updates = (cast(op, name, element, wide) for name in (x, updates))
    together = _combine_at_once if op.offers("ScatterElements") or op.offers("ScatterND") else _combine_one_by_one
    y = cast(op, together(op, node, x, positions, updates, wide), wide, element)
    return reshape_vector(op, y, sizes, op.Shape(node.input(0)))


def _combine_at_once(op: Builder, node: Node, x: str, positions: str, updates: str, element: str) -> str:
    """Combine the first update of each element, then the second: sorting puts an element's updates side by side."""
    count = op.Size(positions)
    ordered, order = op.TopK(positions, op.Reshape(count, op.const([1])), largest=0, outputs=2)
    before = op.Slice(op.Concat(op.const([-1]), ordered, axis=0), op.const([0]), op.const([-1]))
    begins = op.Not(op.Equal(ordered, before))
    group = op.Sub(op.CumSum(op.Cast(begins, to=NUMBERS["int64"]), op.const(0)), op.const(1))
    starts = squeeze(op, op.NonZero(begins), [0])
    turns = op.Sub(integers_below(op, count), op.Gather(starts, group))
    minus_one = op.const([-1])
    last = op.ReduceMax(op.Concat(turns, minus_one, axis=0), keepdims=0)
    updates = op.Gather(updates, order)
    body = LoopBody(op, "combine")
    data = body.input(element, [None])
    now = body.node("Reshape", body.node("NonZero", body.node("Equal", turns, body.turn)), minus_one)
    targets, more = (body.node("Gather", vector, now) for vector in (ordered, updates))
    new = _combine(op, body, node, body.node("Gather", data, targets), more, element)
    body.output(body.going, "bool", [])
    if op.offers("ScatterElements"):
        data = body.node("ScatterElements", data, targets, new)
    else:
        data = body.node("ScatterND", data, body.node("Reshape", targets, op.const([-1, 1])), new)
    body.output(data, element, [None])
    return add_loop(op, op.Add(last, op.const(1)), [x], body)[0]


def _combine_one_by_one(op: Builder, node: Node, x: str, positions: str, updates: str, element: str) -> str:
    """Combine one update after the other."""
    one = op.const([1])
    scatters = op.offers("Scatter")
    numbers, size = ("", "") if scatters else (integers_below(op, op.Size(x)), op.Size(x))
    body = LoopBody(op, "combine")
    data = body.input(element, [None])
    now = body.node("Reshape", body.turn, one)
    targets, more = (body.node("Gather", vector, now) for vector in (positions, updates))
    new = _combine(op, body, node, body.node("Gather", data, targets), more, element)
    if scatters:
        data = body.node("Scatter", data, targets, new)
    else:
        chosen_here = body.node("Cast", body.node("Equal", numbers, targets), to=NUMBERS["int64"])
        sources = body.node("Add", numbers, body.node("Mul", chosen_here, body.node("Sub", size, numbers)))
        data = body.node("Gather", body.node("Concat", data, new, axis=0), sources)
    body.output(body.going, "bool", [])
    body.output(data, element, [None])
    return add_loop(op, op.Size(positions), [x], body)[0]


def _combine(op: Builder, body: LoopBody, node: Node, old: str, new: str, element: str) -> str:
    """Return two vectors combined by the reduction of a node; raise Refusal C202 if they cannot be compared."""
    reduction = node.attr("reduction")
    if reduction in ("add", "mul") or element in ("float", "double") or op.final >= 12:
        return body.node(reduction.capitalize(), old, new)
    if not op.offers("Where"):
        label = "without Where, which came with version 9, elements of this type cannot be compared"
        raise Refusal("C202", f"without Where, which came with version 9, {element} cannot be compared", label=label)
    other = body.node("Less", *((old, new) if reduction == "max" else (new, old)))
    return body.node("Where", other, new, old)


@lower("NonZero", since=9)
def non_zero_lowered(op: Builder, node: Node) -> Result:
    """Find the positions in the data as one row, and divide them into coordinates."""
    element = node.need_element(0)
    sizes = sizes_of(op, node, 0)
    if not sizes or element == "string":
        raise Refusal("C204", "the elements of a scalar or of strings have no coordinates before version 9")
    x = cast(op, node.input(0), element, "bool")
    positions = true_positions(op, op.Reshape(x, op.const([-1])))
    rows = []
    for axis, stride in enumerate(strides_of(op, sizes)):
        row = positions if stride == 1 else op.Div(positions, _positive_divisor(op, stride))
        if axis:
            # The coordinates of axes before it do not count.
            size = _positive_divisor(op, sizes[axis])
            row = op.Sub(row, op.Mul(op.Div(row, size), size))
        rows.append(unsqueeze(op, row, [0]))
    return op.Concat(*rows, axis=0) if len(rows) > 1 else rows[0]


def _positive_divisor(op: Builder, size: Size) -> str:
    """Return a size, or 1 for 0: even if there are no positions to divide, runtimes divide by it."""
    if isinstance(size, int):
        return op.const(max(size, 1))
    return op.Add(size, op.Cast(op.Not(op.Cast(size, to=NUMBERS["bool"])), to=NUMBERS["int64"]))


@lower("Compress", since=9)
def compress_lowered(op: Builder, node: Node) -> Result:
    """Gather the positions at which the condition is true."""
    axis = node.attr("axis")
    x = op.Reshape(node.input(0), op.const([-1])) if axis is None else node.input(0)
    return op.Gather(x, true_positions(op, node.input(1)), axis=axis or 0)


@lower("OneHot", since=9)
def one_hot_lowered(op: Builder, node: Node) -> Result:
    """Gather the off or the on value by comparing each index with each class."""
    rank = node.need_rank(0)
    axis = node.attr("axis")
    axis = rank if axis == -1 else axis
    if not 0 <= axis <= rank:
        raise Refusal("C103", f"axis {axis} is out of range for rank {rank + 1}")
    indices, depth = (op.Cast(name, to=NUMBERS["int64"]) for name in node.inputs[:2])
    classes = vector_along(op, integers_below(op, op.Reshape(depth, op.const([]))), axis, rank + 1)
    same = op.Equal(unsqueeze(op, indices, [axis]), classes)
    return op.Gather(node.input(2), op.Cast(same, to=NUMBERS["int64"]))


@lower("Unique", since=11)
def unique_lowered(op: Builder, node: Node) -> Result:
    """Compare each element or slice with all others; its place is the number of first occurrences that are less.

    In the order of first occurrence, its place is the number of first occurrences at a lower index.
    """
    x = node.input(0)
    axis = node.attr("axis")
    sizes = node.need_shape(0)
    if axis is None:
        x = op.Reshape(x, op.const([-1]))
        sizes = (math.prod(sizes),)
    axis = positive_axis(axis or 0, len(sizes))
    rows = sizes[axis]
    width = math.prod(sizes[:axis] + sizes[axis + 1 :])
    flat = op.Transpose(x, perm=[axis, *range(axis), *range(axis + 1, len(sizes))]) if axis else x
    if not rows or not width:
        raise Refusal("C204", "there are no elements to compare", "drop the node")
    if (count := rows * rows * width) > MAX_COMPARED:
        label = f"before version 11 it takes more than {MAX_COMPARED} comparisons"
        why = f"before version 11 it takes {count} comparisons, and {MAX_COMPARED} are allowed"
        raise Refusal("C204", why, label=label)
    less, equal = _compare_rows(op, op.Reshape(flat, op.const([rows, width])), node.need_element(0), rows, width)
    number = NUMBERS["float"]
    row = op.const([1, rows])
    column = op.const([rows, 1])
    places = op.const(list(range(rows)))
    same = op.Cast(equal, to=number)
    first_of = op.ArgMax(same, axis=1, keepdims=0)
    is_first = op.Equal(first_of, places)
    if not node.attr("sorted"):
        numbers = op.const(list(range(rows)), "float", [1, rows])
        less = op.Less(numbers, op.Reshape(op.Cast(first_of, to=number), column))
    ahead = op.Mul(op.Cast(less, to=number), op.Reshape(op.Cast(is_first, to=number), row))
    inverse = op.Cast(sum_along(op, ahead, [1]), to=NUMBERS["int64"])
    matches = op.And(op.Equal(op.Reshape(inverse, row), op.Reshape(places, column)), op.Reshape(is_first, row))
    first = op.Gather(op.NonZero(matches), op.const(1))
    results = [op.Gather(x, first, axis=axis), first, inverse]
    if node.output(3):
        results.append(op.Gather(op.Cast(sum_along(op, same, [1]), to=NUMBERS["int64"]), first))
    return results[: len(node.outputs)]


def _compare_rows(op: Builder, table: str, element: str, rows: int, width: int) -> tuple[str, str]:
    """Return for each row whether each other row is less, and whether it is equal; rows are in the last dimension."""
    less = equal = ""
    keys = _sort_keys(op, table, element)
    for place in reversed(range(width)):
        for key in keys:
            own = op.Gather(key, op.const([place]), axis=1)
            other = op.Reshape(own, op.const([1, rows]))
            below = op.Less(other, own)
            alike = op.Not(op.Or(below, op.Greater(other, own)))
            less = op.Or(below, op.And(alike, less)) if less else below
            equal = op.And(alike, equal) if equal else alike
    return less, equal


def _sort_keys(op: Builder, x: str, element: str) -> list[str]:
    """Return floats that compare as elements do, the last ones first; all NaN are equal, and greater than numbers."""
    if element == "int64":
        half = op.const(2**32)
        high = op.Div(x, half)
        return [op.Cast(part, to=NUMBERS["double"]) for part in (op.Sub(x, op.Mul(high, half)), high)]
    if element in ("float16", "float", "double"):
        # NaN is neither less nor greater than any other key, which leaves the decision to the key that shows it.
        wide = working_type(element)
        value = cast(op, x, element, wide)
        is_number = op.Or(op.Less(value, op.const(1.0, wide)), op.Greater(value, op.const(0.0, wide)))
        return [value, op.Cast(op.Not(is_number), to=NUMBERS["float"])]
    wide = {"bool": "float", **SMALL_INTEGERS, **INTEGERS_OF_32_BITS}.get(element, "")
    if not wide:
        label = "before version 11 elements of this type cannot be put in order"
        raise Refusal("C202", f"before version 11 elements of {element} cannot be put in order", label=label)
    return [op.Cast(x, to=NUMBERS[wide])]
