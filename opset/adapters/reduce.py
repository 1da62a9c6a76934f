"""Reductions: negative axes, axes as an input, the index of the last extreme, and types that were added."""

from __future__ import annotations

from opset.adapters.shared import dimension, unsqueeze
from opset.model.elements import NUMBERS
from opset.version_converter.registration import down
from opset.version_converter.rewrite import Builder, Node, Result

LATER = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "SumSquare")
"""Reductions that take axes as an input since version 18; ReduceSum does since 13."""
OTHERS = tuple(f"Reduce{name}" for name in LATER)
PLAIN = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd")
"""Reductions that return a single element unchanged."""
LIMITS = {"int8": (-128.0, 127.0), "uint8": (0.0, 255.0)}


@down("ReduceSum", since=13)
@down(*OTHERS, since=18)
def reduce_sum_13_down(op: Builder, node: Node) -> Result:
    """Absent axes mean all, or none with `noop_with_empty_axes`: then an added axis of size 1 is reduced instead.

    The only axis of a vector is known even where the axes are computed at run time.
    """
    x, dropped = node.input(0), ["noop_with_empty_axes"]
    count = _axis_count(node)
    if count == 0 and node.attr("noop_with_empty_axes"):
        node.need_element(0)
        if node.op_type in PLAIN:
            return x
        return op.copy(node, inputs=[unsqueeze(op, x, [0])], drop=dropped, axes=[0], keepdims=0)
    if count == 0 and not node.input(1):
        return None
    constant = node.constant(1)
    if count == 0 or (count == 1 and constant is None and node.rank(0) == 1):
        node.need_element(0)
        return op.copy(node, inputs=[x], drop=dropped)
    if constant is not None and node.attr("noop_with_empty_axes"):
        node.need_element(0)
        return op.copy(node, inputs=[x], drop=dropped, axes=list(constant.values))
    return None


def _axis_count(node: Node) -> int | None:
    """Return the number of axes in the second input, 0 where it is absent, None where it is not known."""
    if not node.input(1):
        return 0
    constant, shape = node.constant(1), node.shape(1)
    if constant is not None:
        return len(constant.values)
    return shape[0] if shape is not None and len(shape) == 1 and isinstance(shape[0], int) else None


@down("ArgMax", "ArgMin", since=12)
def arg_max_12_down(op: Builder, node: Node) -> Result:
    """The last of several equal elements is the first one of the reversed input."""
    if not node.attr("select_last_index"):
        return None
    x, axis = node.input(0), node.attr("axis")
    reversed_x = op.Slice(x, op.const([-1]), op.const([-(2**63)]), op.const([axis]), op.const([-1]))
    (y,) = op.copy(node, inputs=[reversed_x], outputs=[op.fresh("from_behind")], drop=["select_last_index"])
    return op.Sub(op.Sub(dimension(op, node, 0, axis), op.const(1)), y)


@down("ReduceMax", "ReduceMin", since=12)
def reduce_max_12_down(op: Builder, node: Node) -> Result:
    """FLOAT holds the 8-bit integers; the infinity that no elements reduce to becomes the limit of the type."""
    element = node.element(0)
    if element not in LIMITS:
        return None
    (y,) = op.copy(node, inputs=[op.Cast(node.input(0), to=NUMBERS["float"])], outputs=[op.fresh("wide")])
    limits = (op.const(limit, "float", []) for limit in LIMITS[element])
    return op.Cast(op.Clip(y, *limits), to=NUMBERS[element])
