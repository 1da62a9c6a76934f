"""GridSample, which first took images alone."""

from __future__ import annotations

from opset.version_converter.registration import down
from opset.version_converter.rewrite import Builder, Node, Refusal, Result


@down("GridSample", since=20)
def grid_sample_20_down(op: Builder, node: Node) -> Result:
    """Only two spatial dimensions were allowed. Where version 16 is silent, halves go to the even index."""
    if node.need_rank(0) != 4:
        raise Refusal("C204", f"the input has {node.rank(0)} dimensions; before version 20 it has four")
    return None
