"""Lowerings of the classification losses, which came with version 12."""

from __future__ import annotations

from opset.adapters.building.shared import cast, unsqueeze, working_type
from opset.model.elements import NUMBERS
from opset.version_converter.registration import lower
from opset.version_converter.rewrite import Builder, Node, Result

SCORES, TARGET, WEIGHT = range(3)


@lower("NegativeLogLikelihoodLoss", since=12)
def negative_log_likelihood_loss_lowered(op: Builder, node: Node) -> Result:
    """Gather the score of each target's class; ignored targets count as 0."""
    element = node.need_element(SCORES)
    wide = working_type(node.need_element(SCORES))
    loss = _likelihood_loss(op, node, cast(op, node.input(SCORES), element, wide), wide)
    return cast(op, loss, wide, element)


@lower("SoftmaxCrossEntropyLoss", since=12)
def softmax_cross_entropy_loss_lowered(op: Builder, node: Node) -> Result:
    """Write the logarithm of the softmax over the classes, and its negative log-likelihood loss."""
    element = node.need_element(SCORES)
    wide = working_type(node.need_element(SCORES))
    scores = cast(op, node.input(SCORES), element, wide)
    shifted = op.Sub(scores, op.ReduceMax(scores, axes=[1]))
    logarithm = op.Sub(shifted, op.Log(op.ReduceSum(op.Exp(shifted), axes=[1])))
    loss = cast(op, _likelihood_loss(op, node, logarithm, wide), wide, element)
    return loss, cast(op, logarithm, wide, element) if node.output(1) else ""


def _likelihood_loss(op: Builder, node: Node, scores: str, wide: str) -> str:
    """Return the negative log-likelihood loss of scores by class, which are of the type `wide`."""
    target = node.input(TARGET)
    kind = node.need_element(TARGET)
    reduction = node.attr("reduction")
    ignored = ""
    if node.has("ignore_index"):
        ignored = op.Equal(target, op.const(node.attr("ignore_index"), kind))
        target = op.Where(ignored, op.const(0, kind), target)
    zero = op.const(0.0, wide)

    def unless_ignored(value: str) -> str:
        return op.Where(ignored, zero, value) if ignored else value

    picked = op.GatherElements(scores, unsqueeze(op, target, [1]), axis=1)
    loss = op.Neg(op.Squeeze(picked, axes=[1]))
    weights = ""
    if node.input(WEIGHT):
        weights = op.Gather(cast(op, node.input(WEIGHT), node.need_element(WEIGHT), wide), target)
        loss = op.Mul(loss, weights)
    loss = unless_ignored(loss)
    if reduction == "none":
        return loss
    if reduction == "mean" and not weights and not ignored:
        return op.ReduceMean(loss, keepdims=0)
    total = op.ReduceSum(loss, keepdims=0)
    if reduction == "sum":
        return total
    if not weights:
        weights = op.Sub(op.const(1.0, wide), op.Cast(ignored, to=NUMBERS[wide]))
    else:
        weights = unless_ignored(weights)
    return op.Div(total, op.ReduceSum(weights, keepdims=0))
