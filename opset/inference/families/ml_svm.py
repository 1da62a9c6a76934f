"""Output types of support vector machines."""

from __future__ import annotations

from opset.inference.building.call import Call
from opset.inference.building.ml_outputs import classified, count_of, fit, labels_of, ml, rows_of
from opset.inference.building.types import Shape, Type
from opset.schemas.constraints.violation import Violation


@ml("SVMRegressor")
def svm_regressor_1(call: Call) -> Shape:
    """Return the shape of one prediction for each row."""
    rows, features = rows_of(call)
    supports, weights = call.attribute("n_supports"), count_of(call, "coefficients")
    if supports > 0:
        if weights != supports:
            raise Violation("C2", f"{weights} coefficients for {supports} support vectors")
        fit(call, "support_vectors", supports, features, "C2")
    else:
        fit(call, "coefficients", 1, features, "C2")
    return rows, 1


@ml("SVMClassifier")
def svm_classifier_1(call: Call) -> list[Type]:
    """Return the types of a label for each row, and of scores: of classes, or without probabilities of pairs."""
    element, labels = labels_of(call, "classlabels_strings", "classlabels_ints")
    rows, features = rows_of(call)
    counts = call.attribute("vectors_per_class") or ()
    if not sum(counts):
        fit(call, "coefficients", labels, features, "C2")
        return classified(call, element, rows, labels)
    vectors, classes = sum(counts), len(counts)
    pairs = classes * (classes - 1) // 2
    first, second = count_of(call, "prob_a"), count_of(call, "prob_b")
    weights, constants = count_of(call, "coefficients"), count_of(call, "rho")
    if classes != labels or min(counts) < 0:
        raise Violation("C2", f"vectors of {classes} classes, and {labels} labels")
    fit(call, "support_vectors", vectors, features, "C2")
    if weights != vectors * (classes - 1) or constants < pairs:
        raise Violation("C2", f"{weights} coefficients and {constants} constants for {classes} classes")
    if bool(first) != bool(second) or (first and min(first, second) < pairs):
        raise Violation("C2", f"{first} prob_a and {second} prob_b for {pairs} pairs")
    return classified(call, element, rows, classes if first else 2 if pairs == 1 else pairs)
