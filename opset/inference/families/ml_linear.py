"""Output types of linear models, scaling and normalisation."""

from __future__ import annotations

from opset.inference.building.call import Call
from opset.inference.building.ml_outputs import classified, count_of, fit, labels_of, ml, one_or_each, rows_of
from opset.inference.building.types import Shape, Type
from opset.schemas.constraints.violation import Violation


@ml("Normalizer")
def normalizer_1(call: Call) -> Shape:
    """Return the shape of X."""
    return call.require_shape(0)


@ml("Scaler")
def scaler_1(call: Call) -> Shape:
    """Return the shape of X."""
    for name in ("offset", "scale"):
        if count := count_of(call, name):
            one_or_each(call, count, "C1", f"values of {name}")
    return call.require_shape(0)


@ml("LinearRegressor")
def linear_regressor_1(call: Call) -> Shape:
    """Return the shape of one row of `targets` predictions for each row of features."""
    rows, features = rows_of(call)
    targets, intercepts = call.attribute("targets"), count_of(call, "intercepts")
    if targets < 1:
        raise Violation("C2", f"{targets} targets")
    fit(call, "coefficients", targets, features, "C2")
    if intercepts not in (0, targets):
        raise Violation("C2", f"{intercepts} intercepts for {targets} targets")
    return rows, targets


@ml("LinearClassifier")
def linear_classifier_1(call: Call) -> list[Type]:
    """Return the types of a label for each row, and of a score for each label, also for one row of coefficients."""
    element, labels = labels_of(call, "classlabels_strings", "classlabels_ints")
    rows, features = rows_of(call)
    numbers, intercepts = count_of(call, "coefficients"), count_of(call, "intercepts")
    if isinstance(features, int):
        models = numbers // features if features else labels
        if models < 1 or numbers != models * features:
            raise Violation("C2", f"{numbers} coefficients, {features} features")
        if intercepts not in (0, models):
            raise Violation("C2", f"{intercepts} intercepts for {models} rows of coefficients")
        if models != labels and (models, labels) != (1, 2):
            raise Violation("C5", f"{models} rows of coefficients for {labels} labels")
    return classified(call, element, rows, labels)
