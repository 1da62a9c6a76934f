"""Shapes of classification losses."""

from __future__ import annotations

from opset.inference.building.call import Call, Unknown
from opset.inference.building.types import Shape
from opset.inference.registration import infer


@infer("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def negative_log_likelihood_loss_12(call: Call) -> list[Shape | None]:
    """Return the shape of the loss and the shape of log_prob, which is None if its rank is unknown.

    The loss has the shape (N, d1, …) if the attribute `reduction` is "none", and else (); log_prob has (N, C, d1, …).
    NegativeLogLikelihoodLoss has no output log_prob: its second shape is ignored. Raises Unknown if `reduction` is
    "none" and the rank is unknown.
    """
    reduction = call.attribute("reduction")
    run = call.run("D")
    batch = call.size("N")
    losses: Shape = ()
    if reduction == "none":
        if run is None:
            raise Unknown(f"the ranks of {call.parameter(0)} and {call.parameter(1)} are not known")
        losses = (batch, *run)
    return [losses, None if run is None else (batch, call.size("C"), *run)]
