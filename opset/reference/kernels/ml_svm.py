"""Kernels of support vector machines."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from opset.reference.numerics.arrays import Array
from opset.reference.numerics.ml_scores import class_labels, feature_rows, logistic, transform_scores
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints.violation import Violation

ML = "ai.onnx.ml"
Floats = tuple[float, ...] | None
BLOCK = 1 << 22
"""The most products of rows and support vectors that are held at once."""
_CHECK_INTERVAL = 1 << 10  # rows between two checks of the time limit


def _kernel_values(
    x: Array, vectors: Array, kind: str, parameters: Floats, context: KernelContext
) -> Iterator[tuple[slice, Array]]:
    """Yield blocks of rows, each with the kernel function of its rows and all support vectors: (rows, values)."""
    gamma, coef0, degree = (*(parameters or ()), 0.0, 0.0, 0.0)[:3]
    block = max(1, BLOCK // max(len(vectors), 1))
    context.reserve(min(len(x), block) * len(vectors), x.dtype)
    for start in range(0, len(x), block):
        context.check_time()
        rows = x[start : start + block]
        values = _rbf(rows, vectors, gamma, context) if kind == "RBF" else rows @ vectors.T
        if kind == "POLY":
            values = (gamma * values + coef0) ** degree
        elif kind == "SIGMOID":
            values = np.tanh(gamma * values + coef0)
        yield slice(start, start + len(rows)), values


def _rbf(rows: Array, vectors: Array, gamma: float, context: KernelContext) -> Array:
    """Return `exp(-gamma * |row - vector| ** 2)`; with lengths and products, digits of near vectors would cancel."""
    result = np.empty((len(rows), len(vectors)), rows.dtype)
    for number, row in enumerate(rows):
        if not number % _CHECK_INTERVAL:
            context.check_time()
        result[number] = np.exp(-gamma * ((vectors - row) ** 2).sum(axis=1))
    return result


@kernel("SVMRegressor", domain=ML)
def svm_regressor_1(
    x: Array,
    *,
    coefficients: Floats,
    kernel_params: Floats,
    kernel_type: str,
    n_supports: int,
    one_class: int,
    post_transform: str,
    rho: Floats,
    support_vectors: Floats,
    context: KernelContext,
) -> Array:
    """Return the weighted sum of kernel values plus rho; for a one-class machine, its sign."""
    values = feature_rows(x).astype(np.float64)
    weights = np.array(coefficients or (), np.float64)
    count = n_supports if n_supports > 0 else values.shape[1]
    if len(weights) != count:
        raise Violation("C2", f"{len(weights)} coefficients for {count} vectors or features")
    context.reserve(4 * len(values), np.float64)
    score = np.zeros((len(values), 1))
    if n_supports > 0:
        vectors = _support_vectors(support_vectors, n_supports, values.shape[1])
        for rows, products in _kernel_values(values, vectors, kernel_type, kernel_params, context):
            score[rows, 0] = products @ weights
    else:
        score[:, 0] = values @ weights
    score += (rho or (0.0,))[0]
    if one_class:
        score = np.where(score > 0, 1.0, -1.0)
    return transform_scores(score.astype(np.float32), post_transform).astype(np.float32)


def _support_vectors(flat: Floats, count: int, features: int) -> Array:
    """Return the support vectors as rows. Raises Violation C2 if the numbers are more or fewer."""
    vectors = np.array(flat or (), np.float64)
    if len(vectors) != count * features:
        raise Violation("C2", f"{len(vectors)} numbers for {count} support vectors of {features} features")
    return vectors.reshape(count, features)


@kernel("SVMClassifier", domain=ML)
def svm_classifier_1(
    x: Array,
    *,
    classlabels_ints: tuple[int, ...] | None,
    classlabels_strings: tuple[str, ...] | None,
    coefficients: Floats,
    kernel_params: Floats,
    kernel_type: str,
    post_transform: str,
    prob_a: Floats,
    prob_b: Floats,
    rho: Floats,
    support_vectors: Floats,
    vectors_per_class: tuple[int, ...] | None,
    context: KernelContext,
) -> tuple[Array, Array]:
    """Return labels and scores, by votes of the pairs of classes, or by one linear model for each class."""
    labels = class_labels(classlabels_strings, classlabels_ints)
    values = feature_rows(x).astype(np.float64)
    counts = vectors_per_class or ()
    if not sum(counts):
        return _linear_machine(values, labels, coefficients, rho, post_transform, context)
    count, classes = sum(counts), len(counts)
    pairs = classes * (classes - 1) // 2
    if classes != len(labels) or min(counts) < 0:
        raise Violation("C2", f"vectors of {classes} classes, and {len(labels)} labels")
    vectors = _support_vectors(support_vectors, count, values.shape[1])
    weights = np.array(coefficients or (), np.float64)
    constants = np.array(rho or (), np.float64)
    if len(weights) != count * (classes - 1) or len(constants) < pairs:
        raise Violation("C2", f"{len(weights)} coefficients and {len(constants)} constants for {classes} classes")
    if bool(prob_a) != bool(prob_b) or (prob_a and min(len(prob_a), len(prob_b or ())) < pairs):
        raise Violation("C2", f"{len(prob_a or ())} prob_a and {len(prob_b or ())} prob_b for {pairs} pairs")
    weights = weights.reshape(classes - 1, count)
    starts = np.cumsum([0, *counts])
    context.reserve(3 * len(values) * pairs, np.float64)
    decisions = np.zeros((len(values), pairs))
    for rows, products in _kernel_values(values, vectors, kernel_type, kernel_params, context):
        for number, (i, j) in enumerate(itertools.combinations(range(classes), 2)):
            of_i, of_j = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
            decisions[rows, number] = (
                products[:, of_i] @ weights[j - 1, of_i] + products[:, of_j] @ weights[i, of_j] + constants[number]
            )
    votes = np.zeros((len(values), classes), np.int64)
    for number, (i, j) in enumerate(itertools.combinations(range(classes), 2)):
        first_wins = decisions[:, number] > 0
        votes[:, i] += first_wins
        votes[:, j] += ~first_wins
    best = votes.argmax(axis=1)
    if prob_a and prob_b:
        # The probability of the first class of each pair, by a sigmoid fitted to the decisions (Platt).
        fitted = decisions * np.array(prob_a[:pairs]) + np.array(prob_b[:pairs])
        scores = _class_probabilities(np.clip(logistic(-fitted), 1e-7, 1 - 1e-7), classes, context)
    elif pairs == 1:
        # A positive decision is a vote for the first of two classes; it is the score of the second, as in scikit-learn.
        scores = np.concatenate([-decisions, decisions], axis=1)
    else:
        scores = decisions
    return labels[best], transform_scores(scores, post_transform).astype(np.float32)


def _linear_machine(
    values: Array, labels: Array, coefficients: Floats, rho: Floats, post_transform: str, context: KernelContext
) -> tuple[Array, Array]:
    """Return labels and scores by one linear model for each class."""
    weights = np.array(coefficients or (), np.float64)
    if not len(labels) or len(weights) != len(labels) * values.shape[1]:
        raise Violation("C2", f"{len(weights)} coefficients for {len(labels)} classes of {values.shape[1]} features")
    context.reserve(2 * len(values) * len(labels), np.float64)
    scores = values @ weights.reshape(len(labels), -1).T + (rho or (0.0,))[0]
    return labels[scores.argmax(axis=1)], transform_scores(scores, post_transform).astype(np.float32)


def _class_probabilities(first_wins: Array, classes: int, context: KernelContext) -> Array:
    """Return probabilities of classes from probabilities of pairs (Wu, Lin and Weng, 2004, second method)."""
    # They minimize the sum over i and j of (r_ji p_i - r_ij p_j)^2 with sum 1, the solution of a linear system.
    context.reserve(len(first_wins) * (classes + 1) ** 2 * 2, np.float64)
    r = np.zeros((len(first_wins), classes, classes))
    first, second = np.triu_indices(classes, 1)
    r[:, first, second] = first_wins
    r[:, second, first] = 1 - first_wins
    system = np.zeros((len(first_wins), classes + 1, classes + 1))
    system[:, :classes, :classes] = -r * np.swapaxes(r, 1, 2)
    diagonal = np.arange(classes)
    system[:, diagonal, diagonal] = (np.swapaxes(r, 1, 2) ** 2).sum(axis=2)
    system[:, classes, :classes] = system[:, :classes, classes] = 1
    right = np.zeros((len(first_wins), classes + 1, 1))
    right[:, classes] = 1
    return np.linalg.solve(system, right)[:, :classes, 0]
