"""Kernels of tree ensembles: all rows descend all trees at once, level by level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from opset.reference.numerics.arrays import Array
from opset.reference.numerics.ml_scores import (
    TRANSFORMS,
    as_floats,
    class_labels,
    feature_rows,
    logistic,
    transform_scores,
)
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints.violation import Violation

ML = "ai.onnx.ml"
BLOCK = 1 << 21
"""The most triples of row, tree and vote that are held at once."""
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF")
MEMBER, LEAF = 6, 7
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
"""In the order of the numbers that TreeEnsemble has for them, as MODES are."""
_COMPARE: tuple[Any, ...] = (np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal)


@dataclass(eq=False)
class Forest:
    """The nodes of all trees in one list; the votes of a leaf are `targets` and `weights` from `first[leaf]` on.

    `true` and `false` are indices of nodes. `members` holds the sets of nodes of mode MEMBER.
    """

    roots: Array
    features: Array
    splits: Array
    modes: Array
    true: Array
    false: Array
    missing: Array
    first: Array
    targets: Array
    weights: Array
    members: Members | None = None
    used: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.used = [int(mode) for mode in np.unique(self.modes) if mode < MEMBER]

    def leaves(self, x: Array, context: KernelContext) -> Array:
        """Return the leaf that each row reaches in each tree, of shape [N, trees]. Raises Violation C2 on a cycle."""
        rows, trees = len(x), len(self.roots)
        current = np.tile(self.roots, rows)
        row = np.repeat(np.arange(rows), trees)
        active = np.flatnonzero(self.modes[current] != LEAF)
        for _ in range(len(self.modes)):
            if not len(active):
                break
            context.check_time()
            node = current[active]
            value = x[row[active], self.features[node]]
            mode = self.modes[node]
            holds = np.zeros(len(node), bool)
            for number in self.used:
                with_mode = slice(None) if len(self.used) == 1 and self.members is None else mode == number
                holds[with_mode] = _COMPARE[number](value[with_mode], self.splits[node[with_mode]])
            if self.members is not None:
                with_mode = mode == MEMBER
                holds[with_mode] = self.members.contain(node[with_mode], value[with_mode])
            missing = np.isnan(value)
            if missing.any():
                holds[missing] = self.missing[node[missing]]
            current[active] = node = np.where(holds, self.true[node], self.false[node])
            active = active[self.modes[node] != LEAF]
        if len(active):
            raise Violation("C2", "the nodes of a tree form a cycle")
        return current.reshape(rows, trees)


@dataclass(eq=False)
class Members:
    """The sets of some nodes: sorted pairs of a node and the index of a member among the sorted values of all sets.

    The values end with NaN and the pairs with the largest integer, so that no search ends behind them.
    """

    values: Array
    pairs: Array

    def contain(self, node: Array, value: Array) -> Array:
        """Return a mask of the values that are members of their node's set."""
        index = np.searchsorted(self.values, value)
        pair = node * len(self.values) + index
        return (self.values[index] == value) & (self.pairs[np.searchsorted(self.pairs, pair)] == pair)


def aggregate_votes(forest: Forest, x: Array, count: int, aggregate: str, context: KernelContext) -> Array:
    """Return the aggregated votes for each row and target, as doubles; a target without votes has 0."""
    if len(forest.features) and not 0 <= forest.features.min() <= forest.features.max() < max(x.shape[1], 1):
        raise Violation("C4", f"features {forest.features.min()} to {forest.features.max()}, and {x.shape[1]} columns")
    context.reserve(len(x) * count + 16 * min(BLOCK, len(x) * len(forest.roots)), np.float64)
    scores = np.zeros((len(x), count))
    block = max(1, BLOCK // max(len(forest.roots) * int(np.diff(forest.first).max(initial=1)), 1))
    for start in range(0, len(x), block):
        part = x[start : start + block]
        leaves = forest.leaves(part, context)
        votes = forest.first[leaves + 1] - forest.first[leaves]
        row = np.repeat(np.arange(len(part)), votes.sum(axis=1))
        # The votes of a leaf are adjacent: count up from the first of each.
        counts = votes.ravel()
        ends = np.cumsum(counts)
        vote = np.arange(len(row)) + np.repeat(forest.first[leaves].ravel() - (ends - counts), counts)
        cell = row * count + forest.targets[vote]
        weights = forest.weights[vote].astype(np.float64)
        result = scores[start : start + block].reshape(-1)
        if aggregate in ("SUM", "AVERAGE"):
            result += np.bincount(cell, weights, len(result))
        else:
            extreme = np.minimum if aggregate == "MIN" else np.maximum
            seen = np.bincount(cell, minlength=len(result)) > 0
            result[seen] = np.inf if aggregate == "MIN" else -np.inf
            extreme.at(result, cell, weights)
    return scores / len(forest.roots) if aggregate == "AVERAGE" else scores


@kernel("TreeEnsemble", since=5, domain=ML)
def tree_ensemble_5(
    x: Array,
    *,
    aggregate_function: int,
    leaf_targetids: tuple[int, ...],
    leaf_weights: Array,
    membership_values: Array | None,
    n_targets: int | None,
    nodes_falseleafs: tuple[int, ...],
    nodes_falsenodeids: tuple[int, ...],
    nodes_featureids: tuple[int, ...],
    nodes_hitrates: Array | None,
    nodes_missing_value_tracks_true: tuple[int, ...] | None,
    nodes_modes: Array,
    nodes_splits: Array,
    nodes_trueleafs: tuple[int, ...],
    nodes_truenodeids: tuple[int, ...],
    post_transform: int,
    tree_roots: tuple[int, ...],
    context: KernelContext,
) -> Array:
    """Return the aggregated weights of the leaves that each row reaches, after a transform."""
    rows = feature_rows(x)
    nodes, leaves = len(nodes_featureids), len(leaf_targetids)
    listed = (nodes_falseleafs, nodes_falsenodeids, nodes_trueleafs, nodes_truenodeids)
    lengths = {*map(len, listed), len(nodes_missing_value_tracks_true or nodes_featureids), nodes}
    lengths |= {nodes_modes.size, nodes_splits.size}
    if len(lengths) > 1 or leaf_weights.size != leaves or not nodes:
        raise Violation("C2", "the attributes nodes_* or leaf_* have different lengths, or are empty")
    roots = _check_ids(tree_roots, nodes, "tree_roots")
    targets = _check_ids(leaf_targetids, 1 << 31 if n_targets is None else n_targets, "leaf_targetids")
    count = n_targets if n_targets is not None else int(targets.max(initial=0)) + 1
    sides = []
    for ids, flags in ((nodes_truenodeids, nodes_trueleafs), (nodes_falsenodeids, nodes_falseleafs)):
        leaf = np.array(flags, np.int64) != 0
        child = np.array(ids, np.int64)
        if np.any(child < 0) or np.any(child >= np.where(leaf, leaves, nodes)):
            raise Violation("C2", "a branch refers to no node or leaf")
        sides.append(np.where(leaf, child + nodes, child))
    modes = nodes_modes.ravel()
    if modes.max(initial=0) > MEMBER:
        raise Violation("C2", f"nodes_modes holds {modes.max()}")
    forest = Forest(
        roots,
        np.array(nodes_featureids, np.int64),
        _append_values(as_floats(nodes_splits.ravel()), leaves),
        _append_values(modes.astype(np.int64), leaves, LEAF),
        _append_values(sides[0], leaves),
        _append_values(sides[1], leaves),
        np.array(nodes_missing_value_tracks_true or (0,) * nodes, bool),
        np.concatenate([np.zeros(nodes, np.int64), np.arange(leaves + 1)]),
        targets,
        as_floats(leaf_weights.ravel()),
        _build_members(np.flatnonzero(modes == MEMBER), membership_values),
    )
    values = as_floats(rows)
    scores = aggregate_votes(forest, values, count, AGGREGATES[aggregate_function], context).astype(values.dtype)
    return transform_scores(scores, TRANSFORMS[post_transform]).astype(x.dtype)


def _build_members(nodes: Array, values: Array | None) -> Members | None:
    """Return the sets of the nodes of mode MEMBER, which are listed in the order of the nodes and end with NaN."""
    if not len(nodes):
        return None
    flat = as_floats(np.zeros(0) if values is None else values.ravel())
    ends = np.isnan(flat)
    if ends.sum() != len(nodes) or not ends[-1:].all():
        raise Violation("C2", f"membership_values holds {ends.sum()} sets for {len(nodes)} nodes")
    owner = nodes[np.cumsum(ends) - ends]
    ordered = np.unique(flat)
    pairs = np.unique((owner * len(ordered) + np.searchsorted(ordered, flat))[~ends])
    return Members(ordered, np.append(pairs, np.iinfo(np.int64).max))


def _check_ids(ids: Sequence[int], limit: int, name: str) -> Array:
    """Return ids as an array. Raises Violation C2 if one is not in [0, limit)."""
    array: Array = np.array(ids, np.int64)
    if len(array) and not 0 <= array.min() <= array.max() < limit:
        raise Violation("C2", f"{name} holds {array.min()} to {array.max()}, and there are {limit}")
    return array


def _append_values(array: Array, count: int, value: int = 0) -> Array:
    """Return an array with `count` values appended."""
    return np.concatenate([array, np.full(count, value, array.dtype)])


@lru_cache(maxsize=16)
def _build_forest(
    treeids: tuple[int, ...],
    nodeids: tuple[int, ...],
    modes: tuple[str, ...],
    features: tuple[int, ...],
    true: tuple[int, ...],
    false: tuple[int, ...],
    missing: tuple[int, ...],
    vote_trees: tuple[int, ...],
    vote_nodes: tuple[int, ...],
    vote_targets: tuple[int, ...],
) -> Forest:
    """Return the forest of TreeEnsembleRegressor's attributes, without splits; its weights are indices of votes."""
    # It is cached, since finding nodes by their ids takes longer than descending the trees.
    count = len(nodeids)
    if {len(treeids), len(modes), len(features), len(true), len(false), len(missing)} != {count} or not count:
        raise Violation("C2", "the attributes nodes_* have different lengths, or are empty")
    if not len(vote_trees) == len(vote_nodes) == len(vote_targets):
        raise Violation("C2", "the attributes of the votes have different lengths")
    indices = {key: index for index, key in enumerate(zip(treeids, nodeids, strict=True))}
    if len(indices) < count:
        raise Violation("C2", "two nodes of a tree have the same id")
    codes = np.array([MODES.index(mode) for mode in modes], np.int64)
    sides = []
    try:
        for ids in (true, false):
            branches = zip(treeids, ids, modes, strict=True)
            side = [0 if mode == "LEAF" else indices[tree, branch] for tree, branch, mode in branches]
            sides.append(np.array(side, np.int64))
        leaves = np.array([indices[key] for key in zip(vote_trees, vote_nodes, strict=True)], np.int64)
    except KeyError as error:
        raise Violation("C2", f"tree and node {error} do not exist") from None
    order = np.argsort(leaves, kind="stable")
    first = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(leaves, minlength=count), out=first[1:])
    return Forest(
        _find_roots(treeids, codes, sides),
        np.array(features, np.int64),
        np.zeros(0),
        codes,
        sides[0],
        sides[1],
        np.array(missing, bool),
        first,
        np.array(vote_targets, np.int64)[order],
        order,
    )


def _find_roots(treeids: tuple[int, ...], modes: Array, sides: Sequence[Array]) -> Array:
    """Return the roots of trees, each its first node or the only one to which no branch leads. Raises Violation C2."""
    children = set(np.concatenate([side[modes != LEAF] for side in sides]).tolist())
    first: dict[int, int] = {}
    free: dict[int, list[int]] = {}
    for index, tree in enumerate(treeids):
        first.setdefault(tree, index)
        if index not in children:
            free.setdefault(tree, []).append(index)
    roots = []
    for tree, index in first.items():
        candidates = free.get(tree, [])
        if index not in candidates and len(candidates) != 1:
            raise Violation("C2", f"tree {tree} has no root")
        roots.append(index if index in candidates else candidates[0])
    return np.array(roots, np.int64)


def _attribute_numbers(attributes: Mapping[str, Any], name: str) -> Array:
    """Return the numbers in an attribute, which is a list of floats or, in another attribute, a tensor."""
    tensor = attributes.get(f"{name}_as_tensor")
    return np.array(attributes[name] or (), np.float32) if tensor is None else tensor.ravel()


def _vote_scores(
    x: Array, votes: str, count: int, aggregate: str, attributes: Mapping[str, Any], context: KernelContext
) -> Array:
    """Return the aggregated votes for each row; attributes of votes begin with `votes`. Raises Violation C2 or C5."""
    size = len(attributes["nodes_nodeids"] or ())
    listed = ("nodes_treeids", "nodes_nodeids", "nodes_modes", f"{votes}_treeids", f"{votes}_nodeids", f"{votes}_ids")
    nodes = ("nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids", "nodes_missing_value_tracks_true")
    trees, ids, modes, *of_votes = (attributes[name] or () for name in listed)
    structure = _build_forest(trees, ids, modes, *(attributes[name] or (0,) * size for name in nodes), *of_votes)
    splits, weights = _attribute_numbers(attributes, "nodes_values"), _attribute_numbers(attributes, f"{votes}_weights")
    if len(splits) != size or len(weights) != len(structure.targets):
        raise Violation("C2", "there is not one value for each node, or not one weight for each vote")
    targets = structure.targets
    if len(targets) and not 0 <= targets.min() <= targets.max() < count:
        raise Violation("C2", f"votes for {targets.min()} to {targets.max()}, and there are {count}")
    values = as_floats(feature_rows(x))
    features = np.where(structure.modes == LEAF, 0, structure.features)
    forest = replace(structure, features=features, splits=splits, weights=weights[structure.weights])
    scores = aggregate_votes(forest, values, count, aggregate, context).astype(values.dtype)
    base = _attribute_numbers(attributes, "base_values")
    if len(base) not in (0, count):
        raise Violation("C5", f"{len(base)} base values, and {count} are needed")
    return scores + base if len(base) else scores


@kernel("TreeEnsembleRegressor", domain=ML)
def tree_ensemble_regressor_1(x: Array, *, context: KernelContext, **attributes: Any) -> Array:
    """Return the aggregated votes of the leaves that each row reaches, plus base values, after a transform."""
    count = attributes["n_targets"]
    if count is None:
        count = max(attributes["target_ids"] or (0,)) + 1
    scores = _vote_scores(x, "target", count, attributes["aggregate_function"], attributes, context)
    return transform_scores(scores, attributes["post_transform"]).astype(np.float32)


@kernel("TreeEnsembleClassifier", domain=ML)
def tree_ensemble_classifier_1(x: Array, *, context: KernelContext, **attributes: Any) -> tuple[Array, Array]:
    """Return the label of the greatest score of each row, and the scores after a transform."""
    labels = class_labels(attributes["classlabels_strings"], attributes["classlabels_int64s"])
    ids, transform = attributes["class_ids"] or (), attributes["post_transform"]
    if len(labels) == 2 and set(ids) == {0} and len(_attribute_numbers(attributes, "base_values")) < 2:
        scores = _vote_scores(x, "class", 1, "SUM", attributes, context)
        signed = bool((_attribute_numbers(attributes, "class_weights") < 0).any())
        return _binary_outputs(scores[:, 0], labels, transform, signed)
    scores = _vote_scores(x, "class", len(labels), "SUM", attributes, context)
    return labels[scores.argmax(axis=1)], transform_scores(scores, transform).astype(np.float32)


def _binary_outputs(score: Array, labels: Array, transform: str, signed: bool) -> tuple[Array, Array]:
    """Return labels and scores if all votes are for the first of two classes, as exporters write binary classifiers."""
    # The standard does not define the score of the other class. As in runtimes, the score is the probability of the
    # second class if no weight is negative, else a margin.
    if transform == "LOGISTIC":
        pair = np.stack([logistic(-score), logistic(score)], axis=1)
    elif transform == "PROBIT":
        pair = transform_scores(np.stack([1 - score, score], axis=1), transform)
    else:
        pair = np.stack([-score if signed else 1 - score, score], axis=1)
    return labels[(score > (0 if signed else 0.5)).astype(np.int64)], pair.astype(np.float32)
