"""Kernels of linear models, scaling and normalization."""

from __future__ import annotations

import numpy as np

from opset.reference.numerics.arrays import Array
from opset.reference.numerics.ml_scores import as_floats, class_labels, feature_rows, transform_scores
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints.violation import Violation

ML = "ai.onnx.ml"
Floats = tuple[float, ...] | None


@kernel("LinearRegressor", domain=ML)
def linear_regressor_1(
    x: Array, *, coefficients: Floats, intercepts: Floats, post_transform: str, targets: int, context: KernelContext
) -> Array:
    """Return `x @ coefficients.T + intercepts`, after a transform."""
    scores = _linear_scores(x, coefficients, intercepts, targets, context)
    return transform_scores(scores, post_transform).astype(np.float32)


@kernel("LinearClassifier", domain=ML)
def linear_classifier_1(
    x: Array,
    *,
    classlabels_ints: tuple[int, ...] | None,
    classlabels_strings: tuple[str, ...] | None,
    coefficients: tuple[float, ...],
    intercepts: Floats,
    multi_class: int,
    post_transform: str,
    context: KernelContext,
) -> tuple[Array, Array]:
    """Return the label of the greatest score of each row, and the scores after a transform."""
    labels = class_labels(classlabels_strings, classlabels_ints)
    features = feature_rows(x).shape[1]
    rows = len(coefficients) // features if features else len(labels)
    scores = _linear_scores(x, coefficients, intercepts, rows, context)
    if rows == 1 and len(labels) == 2:
        # One row of coefficients separates two classes: it scores the second against the first.
        margin = scores[:, 0]
        pair = transform_scores(np.stack([-margin, margin], axis=1), post_transform)
        return labels[(margin > 0).astype(np.int64)], pair.astype(np.float32)
    if rows != len(labels):
        raise Violation("C5", f"{rows} rows of coefficients for {len(labels)} labels")
    return labels[scores.argmax(axis=1)], transform_scores(scores, post_transform).astype(np.float32)


def _linear_scores(x: Array, coefficients: Floats, intercepts: Floats, rows: int, context: KernelContext) -> Array:
    """Return `x @ coefficients.T + intercepts` for this number of rows of coefficients."""
    values = as_floats(feature_rows(x))
    flat = np.array(coefficients or (), np.float32)
    if rows < 1 or len(flat) != rows * values.shape[1]:
        raise Violation("C2", f"{len(flat)} coefficients for {rows} rows of {values.shape[1]} features")
    context.reserve(2 * len(values) * rows, values.dtype)
    scores = values @ flat.reshape(rows, -1).T.astype(values.dtype)
    if intercepts:
        if len(intercepts) != rows:
            raise Violation("C2", f"{len(intercepts)} intercepts for {rows} rows")
        scores = scores + np.array(intercepts, np.float32)
    return scores


@kernel("Scaler", domain=ML)
def scaler_1(x: Array, *, offset: Floats, scale: Floats) -> Array:
    """Return `(x - offset) * scale` as floats."""
    columns = x.shape[-1] if x.ndim else 1
    result = as_floats(x)
    for values, combine in ((offset, np.subtract), (scale, np.multiply)):
        if values:
            if len(values) not in (1, columns):
                raise Violation("C1", f"{len(values)} values for {columns} features")
            result = combine(result, np.array(values, np.float32))
    return result.astype(np.float32).reshape(x.shape)  # a scalar stays one


@kernel("Normalizer", domain=ML)
def normalizer_1(x: Array, *, norm: str) -> Array:
    """Return rows divided by their maximum, sum of absolute values or Euclidean length, unless that is zero."""
    values = as_floats(x)
    if not values.size:
        return values.astype(np.float32)
    if norm == "MAX":
        size = values.max(axis=-1, keepdims=True)
    elif norm == "L1":
        size = np.abs(values).sum(axis=-1, keepdims=True)
    else:
        size = np.sqrt((values.astype(np.float64) ** 2).sum(axis=-1, keepdims=True)).astype(values.dtype)
    return np.divide(values, size, out=values.copy(), where=size != 0).astype(np.float32)
