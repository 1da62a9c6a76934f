"""Output types of support vector machines."""

from __future__ import annotations

from opset.inference.building.call import Call
from opset.inference.building.ml_outputs import (
    check_lengths,
    classifier_outputs,
    count_rows_and_features,
    infer_ml,
    label_type_and_count,
    list_length,
)
from opset.inference.building.types import Shape, Type
from opset.schemas.constraints.violation import Violation


@infer_ml("SVMRegressor")
def svm_regressor_1(call: Call) -> Shape:
    """Return (rows of X, 1); a vector is one row, and the number of rows is None if it is unknown.

    With support vectors, `coefficients` must have one number for each vector, and `support_vectors` one for each vector
    and feature. Without them, `coefficients` must have one number for each feature. Raises Violation C2 if a list has
    another length.
    """
    rows, features = count_rows_and_features(call)
    supports = call.attribute("n_supports")
    weights = list_length(call, "coefficients")
    if supports > 0:
        if weights != supports:
            raise Violation("C2", f"{weights} coefficients for {supports} support vectors")
        check_lengths(call, "support_vectors", supports, features, "C2")
    else:
        check_lengths(call, "coefficients", 1, features, "C2")
    return rows, 1


@infer_ml("SVMClassifier")
def svm_classifier_1(call: Call) -> list[Type]:
    """Return the types of the two outputs: a label for each row, and scores for each class, or each pair of classes.

    Scores are for pairs if the node has support vectors, but not `prob_a` and `prob_b`; a single pair has two scores.
    Raises Violation C2 if the length of an attribute is wrong.
    """
    element, labels = label_type_and_count(call, "classlabels_strings", "classlabels_ints")
    rows, features = count_rows_and_features(call)
    counts = call.attribute("vectors_per_class") or ()
    if not sum(counts):
        check_lengths(call, "coefficients", labels, features, "C2")
        return classifier_outputs(element, rows, labels)
    vectors = sum(counts)
    classes = len(counts)
    pairs = classes * (classes - 1) // 2
    first, second = list_length(call, "prob_a"), list_length(call, "prob_b")
    weights, constants = list_length(call, "coefficients"), list_length(call, "rho")
    if classes != labels or min(counts) < 0:
        raise Violation("C2", f"vectors of {classes} classes, and {labels} labels")
    check_lengths(call, "support_vectors", vectors, features, "C2")
    if weights != vectors * (classes - 1) or constants < pairs:
        raise Violation("C2", f"{weights} coefficients and {constants} constants for {classes} classes")
    if bool(first) != bool(second) or (first and min(first, second) < pairs):
        raise Violation("C2", f"{first} prob_a and {second} prob_b for {pairs} pairs")
    scores = classes if first else pairs
    return classifier_outputs(element, rows, 2 if scores == 1 and not first else scores)
