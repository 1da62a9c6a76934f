"""Adapters of Gemm, whose addend broadcasts from version 7 on and is optional from 11 on."""

from __future__ import annotations

from opset.adapters.shared import INTEGERS
from opset.version_converter.registration import down
from opset.version_converter.rewrite import Builder, Node, Refusal, Result


@down("Gemm", since=11)
def gemm_11_down(op: Builder, node: Node) -> Result:
    """Add -0.0, which changes no number, not even the sign of a zero; without C, `beta` has no effect."""
    if node.input(2):
        return None
    element = node.need_element(0)
    zero = op.const(0 if element in INTEGERS else -0.0, element, [])
    return op.copy(node, inputs=[node.input(0), node.input(1), zero], drop=["beta"])


@down("Gemm", since=7)
def gemm_7_down(op: Builder, node: Node) -> Result:
    """Bring C to a shape that version 6 broadcasts: that of the product, of its last dimension, or of one element."""
    a, b, c = node.inputs
    rank = node.need_rank(2)
    shape = node.shape(2) or ()
    if rank > 2:
        raise Refusal("C103", f"'C' has {rank} dimensions, and the product has 2")
    if rank < 2:
        return op.copy(node, broadcast=1)
    rows, columns = shape
    if rows == 1:
        return op.copy(node, inputs=[a, b, op.Squeeze(c, axes=[0])], broadcast=1)
    left, right = node.shape(0), node.shape(1)
    height = left[1 if node.attr("transA") else 0] if left is not None and len(left) == 2 else None
    width = right[0 if node.attr("transB") else 1] if right is not None and len(right) == 2 else None
    if not (isinstance(rows, int) or (rows and rows == height)):
        raise _unknown()
    if isinstance(columns, int) and columns == 1:
        if width == 1:
            return None
        if not isinstance(width, int):
            raise _unknown()
        return op.copy(node, inputs=[a, b, op.Tile(c, op.const([1, width]))])
    if not (isinstance(columns, int) or (columns and columns == width)):
        raise _unknown()
    return None


def _unknown() -> Refusal:
    help = "give the graph's inputs shapes; opset infer shows where they are lost"
    return Refusal("C207", "it is not known how 'C' is broadcast", help)
