"""Output types of tree ensembles."""

from __future__ import annotations

from collections.abc import Iterable

from opset.inference.building.call import Call
from opset.inference.building.dimensions import Size
from opset.inference.building.ml_outputs import (
    classifier_outputs,
    count_rows_and_features,
    infer_ml,
    label_type_and_count,
    list_length,
    tensor_length,
)
from opset.inference.building.types import Shape, Type
from opset.schemas.constraints.violation import Violation


@infer_ml("TreeEnsemble")
def tree_ensemble_5(call: Call) -> Shape:
    """Return (rows of X, number of targets); the number of rows is None if it is unknown.

    The number of targets is the attribute `n_targets`, or without it the highest target of a leaf, plus 1. Raises
    Violation with one of these labels:

    - C2 if attributes of nodes or leaves differ in length, or hold an index out of range;
    - C4 if X lacks a feature that a node compares.
    """
    rows, features = count_rows_and_features(call)
    nodes, leaves = list_length(call, "nodes_featureids"), list_length(call, "leaf_targetids")
    targets = call.attribute("leaf_targetids") or ()
    lists = "nodes_falseleafs nodes_falsenodeids nodes_trueleafs nodes_truenodeids".split()
    tracked = list_length(call, "nodes_missing_value_tracks_true") or nodes
    lengths = {list_length(call, name) for name in lists} | {nodes, tracked}
    lengths |= {tensor_length(call.attribute(name)) for name in ("nodes_modes", "nodes_splits")}
    if len(lengths) > 1 or not nodes or tensor_length(call.attribute("leaf_weights")) != leaves:
        raise Violation("C2", "the attributes nodes_* or leaf_* have different lengths, or are empty")
    count = call.attribute("n_targets")
    _check_numbers_below(call.attribute("tree_roots") or (), nodes, "C2", "tree_roots holds")
    _check_numbers_below(targets, 1 << 31 if count is None else count, "C2", "leaf_targetids holds")
    _check_features(call.attribute("nodes_featureids"), features)
    return rows, max(targets, default=0) + 1 if count is None else count


def _check_numbers_below(numbers: Iterable[int], limit: Size | None, label: str, what: str) -> None:
    """Raise Violation `label` if a number is negative, or not below `limit`; the message begins with `what`.

    If `limit` is None or symbolic, only negative numbers are found.
    """
    known = set(numbers)
    low = min(known, default=0)
    high = max(known, default=0)
    if known and (low < 0 or (isinstance(limit, int) and high >= limit)):
        raise Violation(label, f"{what} {low} to {high}, and there are {limit}")


def _check_features(compared: Iterable[int], features: Size | None) -> None:
    """Raise Violation C4 if an index in `compared` is negative or not below `features`, the number of features in X.

    If `features` is None or symbolic, only negative indices are reported. If it is 0, the index 0 is allowed.
    """
    limit = max(features, 1) if isinstance(features, int) else None
    _check_numbers_below(compared, limit, "C4", "nodes_featureids holds")


@infer_ml("TreeEnsembleRegressor")
def tree_ensemble_regressor_1(call: Call) -> Shape:
    """Return (rows of X, number of targets); the number of rows is None if the rank of X is unknown.

    X of rank 1 is one row. The number of targets is `n_targets`, or without it the highest of `target_ids` plus 1, or 1
    if there are no ids. Raises Violation with one of these labels:

    - C2 if the lists of nodes or of leaves differ in length, there are no nodes, or `target_ids` has a number that is
      no target;
    - C4 if X lacks a feature that a node compares;
    - C5 if there are base values, but not one for each target.
    """
    rows, features = count_rows_and_features(call)
    count = call.attribute("n_targets")
    if count is None:
        count = max(call.attribute("target_ids") or (0,)) + 1
    _check_trees(call, "target", count, features, {0, count})
    return rows, count


@infer_ml("TreeEnsembleClassifier")
def tree_ensemble_classifier_1(call: Call) -> list[Type]:
    """Return the types of the two outputs: a label for each row of X, and a float score for each row and label.

    Raises Violation with one of these labels:

    - C2 if attributes of nodes or leaves differ in length, or hold an index out of range;
    - C4 if X lacks a feature that a node compares;
    - C5 if the number of base values is wrong.
    """
    element, labels = label_type_and_count(call, "classlabels_strings", "classlabels_int64s")
    rows, features = count_rows_and_features(call)
    # Where all votes are for the first of two classes, there may be one base value.
    of_one = labels == 2 and set(call.attribute("class_ids") or ()) == {0}
    _check_trees(call, "class", labels, features, {0, labels, 1 if of_one else 0})
    return classifier_outputs(element, rows, labels)


def _check_trees(call: Call, prefix: str, count: int, features: Size | None, base_counts: set[int]) -> None:
    """Raise Violation C2, C4 or C5 if the attributes of a tree ensemble before version 5 do not fit each other or X.

    The labels mean the following:

    - C2: lists of nodes or leaves differ in length, there are no nodes, or a leaf votes for a target or class that does
      not exist;
    - C4: X lacks a feature that a node compares;
    - C5: the number of base values is wrong.

    Args:
        call: the node.
        prefix: the beginning of the names of leaves' attributes, "target" or "class".
        count: the number of targets or classes.
        features: the number of features of X, None if unknown.
        base_counts: the legal numbers of base values.
    """
    nodes = list_length(call, "nodes_nodeids")
    listed = ("nodes_treeids", "nodes_modes", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids")
    lengths = {list_length(call, name) or (0 if number < 2 else nodes) for number, name in enumerate(listed)}
    lengths |= {list_length(call, "nodes_missing_value_tracks_true") or nodes, _count_numbers(call, "nodes_values")}
    if lengths != {nodes} or not nodes:
        raise Violation("C2", "the attributes nodes_* have different lengths, or are empty")
    cast = {list_length(call, f"{prefix}_{what}") for what in ("treeids", "nodeids", "ids")}
    if cast != {_count_numbers(call, f"{prefix}_weights")}:
        raise Violation("C2", f"the attributes {prefix}_* have different lengths")
    _check_numbers_below(call.attribute(f"{prefix}_ids") or (), count, "C2", "votes are for")
    modes = call.attribute("nodes_modes")
    compared = zip(call.attribute("nodes_featureids") or (0,) * nodes, modes, strict=True)
    _check_features({feature for feature, mode in compared if mode != "LEAF"}, features)
    base = _count_numbers(call, "base_values")
    if base not in base_counts:
        raise Violation("C5", f"{base} base values")


def _count_numbers(call: Call, name: str) -> int:
    """Return the length of the list of floats `name`, or of the tensor `name`_as_tensor if the node has it instead."""
    tensor = call.attribute(f"{name}_as_tensor")
    return list_length(call, name) if tensor is None else tensor_length(tensor)
