"""Output types of linear models, scaling and normalization."""

from __future__ import annotations

from opset.inference.building.call import Call
from opset.inference.building.ml_outputs import (
    check_lengths,
    check_one_or_each,
    classifier_outputs,
    count_rows_and_features,
    infer_ml,
    label_type_and_count,
    list_length,
)
from opset.inference.building.types import Shape, Type
from opset.schemas.constraints.violation import Violation


@infer_ml("Normalizer")
def normalizer_1(call: Call) -> Shape:
    """Return the shape of the output, which is the shape of X. Raises Unknown if its rank is not known."""
    return call.require_shape(0)


@infer_ml("Scaler")
def scaler_1(call: Call) -> Shape:
    """Return the shape of the output, which is the shape of X. Raises Unknown if its rank is unknown.

    Raises Violation C1 if `offset` or `scale` has certainly neither one value nor one for each feature; each may be
    absent.
    """
    for name in ("offset", "scale"):
        if count := list_length(call, name):
            check_one_or_each(call, count, "C1", f"values of {name}")
    return call.require_shape(0)


@infer_ml("LinearRegressor")
def linear_regressor_1(call: Call) -> Shape:
    """Return (rows of X, targets); a vector is one row, and the number of rows is None if it is unknown.

    Raises Violation C2 in these cases:

    - the attribute `targets` is below 1;
    - there is not one coefficient for each target and feature;
    - there are intercepts, but not one for each target.
    """
    rows, features = count_rows_and_features(call)
    targets = call.attribute("targets")
    intercepts = list_length(call, "intercepts")
    if targets < 1:
        raise Violation("C2", f"{targets} targets")
    check_lengths(call, "coefficients", targets, features, "C2")
    if intercepts not in (0, targets):
        raise Violation("C2", f"{intercepts} intercepts for {targets} targets")
    return rows, targets


@infer_ml("LinearClassifier")
def linear_classifier_1(call: Call) -> list[Type]:
    """Return the types of the two outputs: a label for each row of X, and a float score for each row and label.

    The coefficients form a matrix with a column for each feature of X. Raises Violation C2 if the coefficients do not
    fill its rows, or if the number of intercepts is neither 0 nor the number of its rows. Raises Violation C5 if the
    matrix does not have a row for each label; for two labels, one row is enough. Nothing is checked if the number of
    features is not known.
    """
    element, labels = label_type_and_count(call, "classlabels_strings", "classlabels_ints")
    rows, features = count_rows_and_features(call)
    numbers, intercepts = list_length(call, "coefficients"), list_length(call, "intercepts")
    if isinstance(features, int):
        models = numbers // features if features else labels
        if models < 1 or numbers != models * features:
            raise Violation("C2", f"{numbers} coefficients, {features} features")
        if intercepts not in (0, models):
            raise Violation("C2", f"{intercepts} intercepts for {models} rows of coefficients")
        if models != labels and (models, labels) != (1, 2):
            raise Violation("C5", f"{models} rows of coefficients for {labels} labels")
    return classifier_outputs(element, rows, labels)
