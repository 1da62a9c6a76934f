"""Losses of classes."""

from __future__ import annotations

from opset.opsets.inference import infer
from opset.opsets.inference.agreement import check_choice
from opset.opsets.inference.call import Call, Unknown, Violation
from opset.opsets.inference.types import Shape, shown


@infer("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(call: Call) -> list[Shape | None]:
    """Give the shape of the losses, a scalar where they are joined; of the second operator also that of the scores."""
    reduction = call.attribute("reduction")
    check_choice(call, "reduction", ("none", "sum", "mean"), "C4")
    scores, places = _shapes(call)
    if scores is None and reduction == "none":
        raise Unknown(f"the ranks of {call.parameter(0)} and {call.parameter(1)} are not known")
    return [places if reduction == "none" else (), scores]


def _shapes(call: Call) -> tuple[Shape | None, Shape | None]:
    """Give the shapes of the scores and of the classes that are right, by what is known of either and of weights."""
    scores: Shape | None = call.shape(0)
    target, weights = call.shape(1), call.shape(2)
    if weights is not None and len(weights) != 1:
        raise Violation("C3", f"{call.parameter(2)} has the shape {shown(weights)}")
    if scores is None and target is None:
        return None, None
    if scores is None:
        assert target is not None
        scores = (*target[:1], None, *target[1:])
    if len(scores) < 2 or (target is not None and len(target) != len(scores) - 1):
        raise Violation("C1", f"shapes {shown(scores)} and {shown(target)}")
    batch, classes, *rest = scores
    places = [batch, *rest]
    if target is not None:
        places = [call.same(a, b, "C1", "a size") for a, b in zip(places, target, strict=True)]
    if weights is not None:
        classes = call.same(classes, weights[0], "C3", f"the size of {call.parameter(2)}")
    return (places[0], classes, *places[1:]), tuple(places)
