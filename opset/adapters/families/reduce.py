"""Reductions: negative axes, axes as an input, the index of the last extreme, and types that were added."""

from __future__ import annotations

import math
from itertools import product

from opset.adapters.building.positions import (
    Size,
    difference,
    integers_below,
    reshape_exactly,
    size_along,
    size_name,
    sizes_of,
    squeeze,
    vector_of,
)
from opset.adapters.building.shared import INTEGERS, cast, negative_mask, positive_axis, unsqueeze, vector_length
from opset.adapters.building.subgraphs import LoopBody, add_loop
from opset.adapters.limits import MAX_TABLE
from opset.model.elements import ELEMENTS, NUMBERS
from opset.model.storage.tensor import make_tensor
from opset.version_converter.registration import down, lower, refuses
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

LATER = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "SumSquare")
"""Reductions that take axes as an input since version 18; ReduceSum does since 13."""
OTHERS = tuple(f"Reduce{name}" for name in LATER)
PLAIN = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd")
"""Reductions that return a single element unchanged."""
INTEGRAL = ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceSumSquare")
"""Reductions of integers that are the same along one axis after the other."""
SORTED = {**dict.fromkeys(("int8", "int16", "uint8", "uint16"), "int32"), "uint32": "int64"}
"""Types of integers that fewer runtimes sort, and those in which TopK sorts them for ArgMax and ArgMin."""
LIMITS = {"int8": (-128.0, 127.0), "uint8": (0.0, 255.0)}


@down("ReduceSum", since=13)
@down(*OTHERS, since=18)
def reduce_sum_13_down(op: Builder, node: Node) -> Result:
    """Write constant axes as the attribute; if `noop_with_empty_axes` leaves none, reduce an added axis of size 1.

    The only axis of a vector is known even if the axes are computed at run time.
    """
    x = node.input(0)
    dropped = ["noop_with_empty_axes"]
    count = vector_length(node, 1)
    if count == 0 and node.attr("noop_with_empty_axes"):
        node.need_element(0)
        if node.op_type in PLAIN:
            return x
        return op.copy(node, inputs=[unsqueeze(op, x, [0])], drop=dropped, axes=[0], keepdims=0)
    if count == 0 and not node.input(1):
        return None
    constant = node.constant(1)
    if count == 0 or (count is not None and constant is None and node.rank(0) == count):
        node.need_element(0)
        return op.copy(node, inputs=[x], drop=dropped)
    if constant is not None and node.attr("noop_with_empty_axes"):
        node.need_element(0)
        return op.copy(node, inputs=[x], drop=dropped, axes=list(constant.values))
    if constant is None and count is not None and count > 0:  # a malformed model may state a negative size
        return _reduce_along_computed_axes(op, node, count)
    return None


def _reduce_along_computed_axes(op: Builder, node: Node, count: int) -> Result:
    """Return a reduction along computed axes, one after the other; raise Refusal C205 if no table has their sizes."""
    # The input is reshaped to three dimensions: all before the axis, the axis, and all after it.
    shape = tuple([dim for dim in node.shape(0) or () if isinstance(dim, int)])
    rank = len(shape)
    element = node.need_element(0)
    if rank != node.rank(0):
        node.need_constant(1)
    # A power is a number as long as its exponent, which a model states: no more axes are reduced than there are.
    few = count <= min(rank, MAX_TABLE.bit_length()) and (2 * rank) ** count * max(rank, 3) <= MAX_TABLE
    rows = list(product(range(-rank, rank), repeat=count)) if few else []
    apart = count == 1 or element not in INTEGERS or node.op_type in INTEGRAL
    identity = _identity(node.op_type, element) if 0 in shape else 0
    if not rows or not apart or identity is None:
        node.need_constant(1)
    numbers = op.Add(node.input(1), op.const([rank]))
    if count > 1:
        numbers = op.Mul(numbers, op.const([(2 * rank) ** step for step in reversed(range(count))]))
    row = op.ReduceSum(numbers, keepdims=0)
    kept = [_reduced_shape(shape, axes, node.attr("keepdims")) for axes in rows]
    result = op.Gather(op.const([dim for dims in kept for dim in dims], dims=[len(rows), len(kept[0])]), row)
    if 0 in shape:
        return op.ConstantOfShape(result, value=make_tensor("", NUMBERS[element], [1], [identity]))
    wide = "float" if count > 1 and element in ("float16", "bfloat16") else element
    x = cast(op, node.input(0), element, wide)
    for step, operator in enumerate(_single_axis_steps(node.op_type, count)):
        sizes = [size for axes in rows for size in _sizes_around(_reduced_shape(shape, axes[:step], True), axes[step])]
        x = op.Reshape(x, op.Gather(op.const(sizes, dims=[len(rows), 3]), row))
        if operator == "ReduceSum" and op.version >= 13:
            x = op.ReduceSum(x, op.const([1]))
        else:
            x = getattr(op, operator)(x, axes=[1])
    return op.Reshape(cast(op, x, wide, element), result)


def _single_axis_steps(operator: str, count: int) -> list[str]:
    """Return the reductions along one axis each that together compute a reduction along several axes."""
    if operator == "ReduceSumSquare":
        return [operator] + ["ReduceSum"] * (count - 1)
    if operator == "ReduceLogSum":
        return ["ReduceSum"] * (count - 1) + [operator]
    return [operator] * count


def _identity(operator: str, element: str) -> float | None:
    """Return the result of reducing no elements, None if it is not defined."""
    if operator in ("ReduceSum", "ReduceL1", "ReduceSumSquare", "ReduceProd"):
        return int(operator == "ReduceProd")
    lowest = -math.inf
    highest = math.inf
    if element in INTEGERS:
        if operator not in ("ReduceMax", "ReduceMin"):
            return None
        bits = ELEMENTS[NUMBERS[element]].bits
        lowest, highest = (0, 2**bits - 1) if element.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    floats = {"ReduceL2": 0.0, "ReduceMin": highest, "ReduceMean": math.nan}
    return floats.get(operator, lowest)


def _reduced_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    """Return the shape after a reduction; of axes with duplicates, which are not legal, only the number counts."""
    gone = {axis % len(shape) for axis in axes}
    if len(gone) < len(axes):
        gone = set(range(len(axes)))
    if keepdims:
        return tuple([1 if axis in gone else dim for axis, dim in enumerate(shape)])
    return tuple([dim for axis, dim in enumerate(shape) if axis not in gone])


def _sizes_around(shape: tuple[int, ...], axis: int) -> tuple[int, int, int]:
    """Return the numbers of elements before an axis, along it and after it."""
    axis %= len(shape)
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


@down("ArgMax", "ArgMin", since=12)
def arg_max_12_down(op: Builder, node: Node) -> Result:
    """Search the reversed input for the last one of several equal elements, which is the first one there."""
    if not node.attr("select_last_index"):
        return None
    reversed_x = _reverse(op, node.input(0), node.attr("axis"))
    y = op.copy(node, inputs=[reversed_x], outputs=[op.fresh("from_behind")], drop=["select_last_index"])
    return _count_from_behind(op, node, y)


@lower("ArgMax", "ArgMin", since=1)
@refuses("C202", "TopK may order NaN otherwise, so that it finds the extreme of integers alone")
@refuses("C201", "before version 11 TopK takes no integers")
def arg_max_lowered(op: Builder, node: Node) -> Result:
    """Take the index of the first of sorted integers: TopK returns equal ones in their order."""
    element = node.need_element(0)
    if element not in INTEGERS:
        raise Refusal("C202", "TopK may order NaN otherwise, so that it finds the extreme of integers alone")
    if op.version < 11:
        raise Refusal("C201", "before version 11 TopK takes no integers", "convert to 11 or newer")
    axis, last = node.attr("axis"), node.attr("select_last_index")
    x = cast(op, node.input(0), element, SORTED.get(element, element))
    x = _reverse(op, x, axis) if last else x
    _, y = op.TopK(x, op.const([1]), axis=axis, largest=int(node.op_type == "ArgMax"), outputs=2)
    y = y if node.attr("keepdims") else squeeze(op, y, [axis])
    return _count_from_behind(op, node, y) if last else y


def _reverse(op: Builder, x: str, axis: int) -> str:
    """Return a value with its elements along an axis in the opposite order."""
    return str(op.Slice(x, op.const([-1]), op.const([-(2**63)]), op.const([axis]), op.const([-1])))


def _count_from_behind(op: Builder, node: Node, index: str) -> str:
    """Return the index along the node's axis that is as far from the end as `index` is from the beginning."""
    return str(op.Sub(size_name(op, difference(op, size_along(op, node, 0, node.attr("axis")), 1)), index))


@down("ReduceMax", "ReduceMin", since=12)
def reduce_max_12_down(op: Builder, node: Node) -> Result:
    """Reduce 8-bit integers in float, which holds them; the infinity of no elements becomes the limit of the type."""
    element = node.element(0)
    if element not in LIMITS:
        return None
    y = op.copy(node, inputs=[op.Cast(node.input(0), to=NUMBERS["float"])], outputs=[op.fresh("wide")])
    limits = (op.const(limit, "float") for limit in LIMITS[element])
    return op.Cast(op.Clip(y, *limits), to=NUMBERS[element])


@lower("CumSum", since=11)
def cum_sum_lowered(op: Builder, node: Node) -> Result:
    """Add one slice after the other in a loop."""
    # Adding -0.0 leaves every number as it is.
    return _accumulate(op, node, "Add", 0 if node.attr("exclusive") else -0.0)


@lower("CumProd", since=26)
def cum_prod_lowered(op: Builder, node: Node) -> Result:
    """Multiply by one slice after the other in a loop."""
    return _accumulate(op, node, "Mul", 1)


def _accumulate(op: Builder, node: Node, combine: str, first: float) -> str:
    """Return a tensor with each slice along the axis combined with all slices before it and a first value."""
    # The axes before and after it become one each, which also serves an axis that is computed at run time.
    element = node.need_element(0)
    sizes = sizes_of(op, node, 0)
    rank = len(sizes)
    constant = node.constant(1)
    wide = "float" if element in ("float16", "bfloat16") else element
    length: Size
    value = float(first) if wide in ("float", "double") else int(first)
    if constant is not None:
        if len(constant.values) != 1:
            raise Refusal("C103", "'axis' is no single number")
        along = positive_axis(int(constant.values[0]), rank)
        x = node.input(0)
        inside = vector_of(op, sizes[:along] + sizes[along + 1 :])
        length = sizes[along]
    else:
        one = op.const([1])
        axes = op.Reshape(op.Cast(node.input(1), to=NUMBERS["int64"]), one)
        axes = op.Add(axes, op.Mul(negative_mask(op, axes), op.const(rank)))
        shape = vector_of(op, sizes)
        numbers = op.const(list(range(rank)))
        before, after = negative_mask(op, op.Sub(numbers, axes)), negative_mask(op, op.Sub(axes, numbers))
        outer, inner = (op.ReduceProd(op.Add(op.Mul(shape, mask), op.Sub(one, mask))) for mask in (before, after))
        length = op.Gather(shape, axes)
        inside = op.Concat(outer, inner, axis=0)
        along = 1
        x = reshape_exactly(op, node.input(0), op.Concat(outer, length, inner, axis=0), 3)
        length = op.Reshape(length, op.const([]))
    x = cast(op, x, element, wide)
    start = size_name(op, length), op.Expand(op.const(value, wide), inside)
    y = cast(op, _accumulation_loop(op, node, x, *start, combine, along, wide), wide, element)
    if constant is not None and all(isinstance(size, int) and size > 0 for size in sizes):
        return y
    return reshape_exactly(op, y, op.Shape(node.input(0)), rank)


def _accumulation_loop(
    op: Builder, node: Node, x: str, length: str, first: str, combine: str, axis: int, element: str
) -> str:
    """Return the slices of a value along an axis, each combined in a loop with all before it and the first one."""
    rank = 3 if node.constant(1) is None else node.need_rank(0)
    body = LoopBody(op, "accumulate")
    state = body.input(element, [None] * (rank - 1))
    turn = body.node("Sub", op.Sub(length, op.const(1)), body.turn) if node.attr("reverse") else body.turn
    new = body.node(combine, state, body.node("Gather", x, turn, axis=axis))
    body.output(body.going, "bool", [])
    body.output(new, element, [None] * (rank - 1))
    body.output(body.node("Identity", state if node.attr("exclusive") else new), element, [None] * (rank - 1))
    y = add_loop(op, length, [first], body)[1]
    if node.attr("reverse"):
        y = op.Gather(y, op.Sub(op.Sub(length, op.const(1)), integers_below(op, length)))
    return y if axis == 0 else op.Transpose(y, perm=[*range(1, axis + 1), 0, *range(axis + 1, rank)])
