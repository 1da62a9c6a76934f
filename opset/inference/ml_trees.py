"""Ensembles of trees."""

from __future__ import annotations

from collections.abc import Iterable

from opset.inference.agreement import check_choice
from opset.inference.call import Call
from opset.inference.dimensions import Size
from opset.inference.ml_outputs import TRANSFORMS, classified, count_of, labels_of, ml, rows_of, size_of
from opset.inference.types import Shape, Type
from opset.schemas.constraints import Violation

AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
MODES = frozenset("BRANCH_LEQ BRANCH_LT BRANCH_GTE BRANCH_GT BRANCH_EQ BRANCH_NEQ LEAF".split())


# Trees
@ml("TreeEnsemble")
def tree_ensemble_5(call: Call) -> Shape:
    """Return one row of predictions for each row."""
    rows, features = rows_of(call)
    nodes, leaves = count_of(call, "nodes_featureids"), count_of(call, "leaf_targetids")
    targets = call.attribute("leaf_targetids") or ()
    lists = "nodes_falseleafs nodes_falsenodeids nodes_trueleafs nodes_truenodeids".split()
    tracked = count_of(call, "nodes_missing_value_tracks_true") or nodes
    lengths = {count_of(call, name) for name in lists} | {nodes, tracked}
    lengths |= {size_of(call.attribute(name)) for name in ("nodes_modes", "nodes_splits")}
    if len(lengths) > 1 or not nodes or size_of(call.attribute("leaf_weights")) != leaves:
        raise Violation("C2", "the attributes nodes_* or leaf_* have different lengths, or are empty")
    count = call.attribute("n_targets")
    _within(call.attribute("tree_roots") or (), nodes, "C2", "tree_roots holds")
    _within(targets, 1 << 31 if count is None else count, "C2", "leaf_targetids holds")
    aggregate, transform = call.attribute("aggregate_function"), call.attribute("post_transform")
    if not 0 <= aggregate < len(AGGREGATES) or not 0 <= transform < len(TRANSFORMS):
        raise Violation("C3", f"aggregate_function {aggregate}, post_transform {transform}")
    _within_features(call.attribute("nodes_featureids"), features)
    return rows, max(targets, default=0) + 1 if count is None else count


def _within(numbers: Iterable[int], limit: Size | None, label: str, what: str) -> None:
    """Raise Violation where a number is below 0, or not below a limit that is a number."""
    known = set(numbers)
    low, high = min(known, default=0), max(known, default=0)
    if known and (low < 0 or (isinstance(limit, int) and high >= limit)):
        raise Violation(label, f"{what} {low} to {high}, and there are {limit}")


def _within_features(compared: Iterable[int], features: Size | None) -> None:
    """Raise Violation where a feature is compared that X does not have; of an X without any, the first goes."""
    _within(compared, max(features, 1) if isinstance(features, int) else None, "C4", "nodes_featureids holds")


@ml("TreeEnsembleRegressor")
def tree_ensemble_regressor_1(call: Call) -> Shape:
    """Return one row of predictions for each row."""
    rows, features = rows_of(call)
    count = call.attribute("n_targets")
    if count is None:
        count = max(call.attribute("target_ids") or (0,)) + 1
    check_choice(call, "aggregate_function", AGGREGATES, "C3")
    _check_trees(call, "target", count, features, {0, count})
    return rows, count


@ml("TreeEnsembleClassifier")
def tree_ensemble_classifier_1(call: Call) -> list[Type]:
    """Return a label for each row, and a score for each label."""
    element, labels = labels_of(call, "classlabels_strings", "classlabels_int64s", "C6")
    rows, features = rows_of(call)
    # Where all votes are for the first of two classes, one base value may stand beside them.
    of_one = labels == 2 and set(call.attribute("class_ids") or ()) == {0}
    _check_trees(call, "class", labels, features, {0, labels, 1 if of_one else 0})
    return classified(call, element, rows, labels)


def _check_trees(call: Call, votes: str, count: int, features: Size | None, bases: set[int]) -> None:
    """Raise Violation where attributes of trees and votes do not go together; whether they are trees is left open."""
    nodes = count_of(call, "nodes_nodeids")
    listed = ("nodes_treeids", "nodes_modes", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids")
    lengths = {count_of(call, name) or (0 if number < 2 else nodes) for number, name in enumerate(listed)}
    lengths |= {count_of(call, "nodes_missing_value_tracks_true") or nodes, _numbers(call, "nodes_values")}
    if lengths != {nodes} or not nodes:
        raise Violation("C2", "the attributes nodes_* have different lengths, or are empty")
    cast = {count_of(call, f"{votes}_{what}") for what in ("treeids", "nodeids", "ids")}
    if cast != {_numbers(call, f"{votes}_weights")}:
        raise Violation("C2", f"the attributes {votes}_* have different lengths")
    _within(call.attribute(f"{votes}_ids") or (), count, "C2", "votes are for")
    modes = call.attribute("nodes_modes")
    unknown = set(modes) - MODES
    if unknown:
        raise Violation("C2", f"nodes_modes holds {sorted(map(str, unknown))[:1]}")
    compared = zip(call.attribute("nodes_featureids") or (0,) * nodes, modes, strict=True)
    _within_features({feature for feature, mode in compared if mode != "LEAF"}, features)
    base = _numbers(call, "base_values")
    if base not in bases:
        raise Violation("C5", f"{base} base values")
    check_choice(call, "post_transform", TRANSFORMS, "C3")


def _numbers(call: Call, name: str) -> int:
    """Return how many numbers an attribute holds that is a list of floats, or one with a tensor."""
    tensor = call.attribute(f"{name}_as_tensor")
    return count_of(call, name) if tensor is None else size_of(tensor)
