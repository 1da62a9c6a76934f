"""DFT, whose axis became an input with another default value."""

from __future__ import annotations

from opset.adapters.shared import constant_ints
from opset.version_converter.registration import down
from opset.version_converter.rewrite import Builder, Node, Refusal, Result


@down("DFT", since=20)
def dft_20_down(op: Builder, node: Node) -> Result:
    """The axis was an attribute; where the input is absent, it is the last but one."""
    axis = constant_ints(node, 2) if node.input(2) else [-2]
    if len(axis) != 1:
        raise Refusal("C103", f"the axis is {axis}, which is not one number")
    return op.copy(node, inputs=[node.input(0), node.input(1)], axis=axis[0])
