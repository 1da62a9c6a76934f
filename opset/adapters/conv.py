"""Lowering of the convolution with a state, which came with version 27."""

from __future__ import annotations

from opset.adapters.shared import cast, need_size, working
from opset.version_converter.registration import lower
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

X, WEIGHT, BIAS, PAST = range(4)


@lower("CausalConvWithState", since=27)
def causal_conv_with_state_lowered(op: Builder, node: Node) -> Result:
    """Put the state before the input, and convolve each channel by itself."""
    element, activation = node.need_element(X), node.attr("activation")
    if activation not in ("none", "silu", "swish"):
        raise Refusal("C103", "'activation' is none of none, silu and swish")
    channels, width = need_size(node, WEIGHT, 0), need_size(node, WEIGHT, 2)
    if width < 1:
        raise Refusal("C103", "the kernel has no elements")
    shape = node.shape(X)
    if shape is not None and 0 in shape:
        raise Refusal("C204", "the input is empty, which Conv does not take")
    wide, past = working(element), node.input(PAST)
    whole = node.input(X)
    if past:
        whole = op.Concat(past, whole, axis=2)
    elif width > 1:
        whole = op.Pad(whole, op.const([0, 0, width - 1, 0, 0, 0]))
    inputs = [cast(op, name, element, wide) if name else "" for name in (whole, *node.inputs[WEIGHT:PAST])]
    y = op.Conv(*inputs, group=channels, kernel_shape=[width])
    if activation != "none":
        y = op.Mul(y, op.Sigmoid(y))
    present = ""
    if node.output(1):
        start = 1 - width if width > 1 else 2**63 - 1
        present = op.Slice(whole, op.const([start]), op.const([2**63 - 1]), op.const([2]))
    return cast(op, y, wide, element), present
