"""Output types of tree ensembles."""

from __future__ import annotations

from collections.abc import Iterable

from opset.inference.building.call import Call
from opset.inference.building.dimensions import Size
from opset.inference.building.ml_outputs import classified, count_of, labels_of, ml, rows_of, size_of
from opset.inference.building.types import Shape, Type
from opset.schemas.constraints.violation import Violation


@ml("TreeEnsemble")
def tree_ensemble_5(call: Call) -> Shape:
    """Return the shape of one row of predictions for each row of features."""
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
    _within_features(call.attribute("nodes_featureids"), features)
    return rows, max(targets, default=0) + 1 if count is None else count


def _within(numbers: Iterable[int], limit: Size | None, label: str, what: str) -> None:
    """Raise Violation where a number is below 0, or not below a limit that is a number."""
    known = set(numbers)
    low, high = min(known, default=0), max(known, default=0)
    if known and (low < 0 or (isinstance(limit, int) and high >= limit)):
        raise Violation(label, f"{what} {low} to {high}, and there are {limit}")


def _within_features(compared: Iterable[int], features: Size | None) -> None:
    """Raise Violation where a compared feature is not in X; if X has none, the first is allowed."""
    _within(compared, max(features, 1) if isinstance(features, int) else None, "C4", "nodes_featureids holds")


@ml("TreeEnsembleRegressor")
def tree_ensemble_regressor_1(call: Call) -> Shape:
    """Return the shape of one row of predictions for each row of features."""
    rows, features = rows_of(call)
    count = call.attribute("n_targets")
    if count is None:
        count = max(call.attribute("target_ids") or (0,)) + 1
    _check_trees(call, "target", count, features, {0, count})
    return rows, count


@ml("TreeEnsembleClassifier")
def tree_ensemble_classifier_1(call: Call) -> list[Type]:
    """Return the types of a label for each row, and of a score for each label."""
    element, labels = labels_of(call, "classlabels_strings", "classlabels_int64s")
    rows, features = rows_of(call)
    # Where all votes are for the first of two classes, there may be one base value.
    of_one = labels == 2 and set(call.attribute("class_ids") or ()) == {0}
    _check_trees(call, "class", labels, features, {0, labels, 1 if of_one else 0})
    return classified(call, element, rows, labels)


def _check_trees(call: Call, votes: str, count: int, features: Size | None, bases: set[int]) -> None:
    """Raise Violation where the attributes of nodes and votes do not fit together; the structure is not checked."""
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
    compared = zip(call.attribute("nodes_featureids") or (0,) * nodes, modes, strict=True)
    _within_features({feature for feature, mode in compared if mode != "LEAF"}, features)
    base = _numbers(call, "base_values")
    if base not in bases:
        raise Violation("C5", f"{base} base values")


def _numbers(call: Call, name: str) -> int:
    """Return how many numbers are in an attribute, which is a list of floats or, in another attribute, a tensor."""
    tensor = call.attribute(f"{name}_as_tensor")
    return count_of(call, name) if tensor is None else size_of(tensor)
