"""Shapes of classification losses."""

from __future__ import annotations

from opset.inference.agreement import unify
from opset.inference.call import Call, Unknown
from opset.inference.registration import infer
from opset.inference.types import Shape
from opset.schemas.constraints import Violation


@infer("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def negative_log_likelihood_loss_12(call: Call) -> list[Shape | None]:
    """Return the shape of the losses, () where they are reduced, and that of the scores (of the second operator)."""
    reduction = call.attribute("reduction")
    scores, losses = _shapes(call)
    if scores is None and reduction == "none":
        raise Unknown(f"the ranks of {call.parameter(0)} and {call.parameter(1)} are not known")
    return [losses if reduction == "none" else (), scores]


def _shapes(call: Call) -> tuple[Shape | None, Shape | None]:
    """Return the shapes of the scores and of the targets, by what is known of both and of the weights."""
    (classes,) = unify(call, 2, (None,), "C3")
    scores: Shape | None = call.shape(0)
    target = call.shape(1)
    if scores is None:
        if target is None:
            return None, None
        scores = (*target[:1], None, *target[1:])
    if len(scores) < 2:
        raise Violation("C1", f"the rank is {len(scores)}")
    batch, own, *rest = scores
    batch, *rest = unify(call, 1, (batch, *rest), "C1")
    classes = call.same(own, classes, "C3", "the number of classes")
    return (batch, classes, *rest), (batch, *rest)
