"""RNN, GRU and LSTM: the first version of GRU, the attribute `output_sequence`, and the batch-first layout."""

from __future__ import annotations

from opset.version_converter.registration import down
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

SWAP = [1, 0, 2]
"""Between batch first and time first, for values of rank 3."""
SEQUENCE_BATCH_FIRST = [2, 0, 1, 3]
"""(length, directions, batch, hidden) to (batch, length, directions, hidden)."""
INITIAL_STATES = (5, 6)
"""Positions of `initial_h` and `initial_c` among the inputs."""


@down("GRU", since=3)
def gru_3_down(op: Builder, node: Node) -> Result:
    """Name Y_h and state `direction`, which version 1 requires; refuse a reset after the recurrence weights."""
    if node.attr("linear_before_reset") != 0:
        raise Refusal("C204", "linear_before_reset is not 0; version 1 always resets before the recurrence weights")
    last = node.output(1) or op.fresh("Y_h")
    outputs = [node.output(0), last]
    op.copy(node, outputs=outputs, drop=["linear_before_reset"], direction=node.attr("direction"))
    return outputs


@down("RNN", "GRU", "LSTM", since=7)
def rnn_7_down(op: Builder, node: Node) -> Result:
    """Set `output_sequence` to 1 if Y is used: with 0, Y may be left out."""
    return op.copy(node, output_sequence=1) if node.output(0) else None


@down("RNN", "GRU", "LSTM", since=14)
def rnn_14_down(op: Builder, node: Node) -> Result:
    """Transpose inputs and outputs if the batch comes first: only the order of dimensions differs."""
    if node.attr("layout") == 0:
        return None
    inputs = list(node.inputs)
    for position in (0, *INITIAL_STATES):
        if node.input(position):
            inputs[position] = op.Transpose(inputs[position], perm=SWAP)
    outputs = [op.fresh("time_first") if name else "" for name in node.outputs]
    op.copy(node, inputs=inputs, outputs=outputs, drop=["layout"])
    return [
        op.Transpose(name, perm=SWAP if position else SEQUENCE_BATCH_FIRST) if name else ""
        for position, name in enumerate(outputs)
    ]
