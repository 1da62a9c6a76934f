"""GridSample: its modes were renamed."""

from __future__ import annotations

from opset.adapters.shared import renamed
from opset.version_converter.registration import down, up
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

GRID_MODES = {"bilinear": "linear", "bicubic": "cubic", "nearest": "nearest"}


@up("GridSample", since=20)
def grid_sample_20_up(op: Builder, node: Node) -> Result:
    """The modes, and so the default, lost the prefix "bi", as there may be more than two spatial dimensions."""
    return op.copy(node, mode=renamed(node, GRID_MODES))


@down("GridSample", since=20)
def grid_sample_20_down(op: Builder, node: Node) -> Result:
    """Only two spatial dimensions were allowed. Where version 16 is silent, halves go to the even index."""
    if node.need_rank(0) != 4:
        raise Refusal("C204", f"the input has {node.rank(0)} dimensions; before version 20 it has four")
    return op.copy(node, mode=renamed(node, {new: old for old, new in GRID_MODES.items()}))
