"""TreeEnsembleClassifier and TreeEnsembleRegressor as TreeEnsemble: read as these list trees, written as it does.

The old operators list every node of every tree, leaves too, by ids of tree and node, and apart from them the votes of
the leaves. TreeEnsemble has inner nodes and leaves in lists of their own, refers to them by position, and a leaf of it
votes once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from opset.adapters.shared import LISTS, ML, need_uniform
from opset.model.elements import NUMBERS
from opset.model.tensor import make_tensor
from opset.model.types import MAX_CONSTANT
from opset.version_converter.registration import up
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

AGGREGATES = {"AVERAGE": 0, "SUM": 1, "MIN": 2, "MAX": 3}
"""Aggregate functions of the old tree operators with their numbers in TreeEnsemble."""
LEAF = -1
MODES = {
    "BRANCH_LEQ": 0,
    "BRANCH_LT": 1,
    "BRANCH_GTE": 2,
    "BRANCH_GT": 3,
    "BRANCH_EQ": 4,
    "BRANCH_NEQ": 5,
    "LEAF": LEAF,
}
"""Comparisons of the old operators with their numbers in TreeEnsemble."""
GREATEST = 3e38
"""Sums of votes stay within FLOAT as long as all votes together do not pass this."""
FEW_NODES, GROWTH = 1 << 18, 32
"""Trees grow where leaves vote often or nodes are shared: no further than to so many nodes, or this often in size."""

Votes = list[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class Trees:
    """Trees, every node known by its position in the lists.

    `branches` are the positions where each node goes when its comparison holds and when not; a leaf goes to itself.
    `votes` are the (target, weight) of each leaf that has any.
    """

    element: str
    roots: list[int]
    modes: list[int]
    features: list[int]
    splits: list[float]
    missing: list[int]
    branches: tuple[list[int], list[int]]
    votes: dict[int, Votes]

    @property
    def targets(self) -> set[int]:
        """Targets that are voted for."""
        return {target for votes in self.votes.values() for target, _ in votes}

    @property
    def lightest(self) -> float:
        """The least weight of a vote."""
        return min(weight for votes in self.votes.values() for _, weight in votes)


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Trees as TreeEnsemble writes them.

    `copied` says that a tree is there more than once, as its leaves vote more than once. `covered` are the targets
    that get a vote in every row; `some` says that in every row there is a vote.
    """

    attributes: dict[str, Any]
    copied: bool
    covered: set[int]
    some: bool


def ambiguous(why: str, help: str = "") -> Refusal:
    """Return the refusal for what the standard leaves open and runtimes, or their versions, do in different ways."""
    return Refusal("C204", f"{why}; the standard does not say what that means, and runtimes differ", help)


def read_trees(node: Node, prefix: str, targets: int, element: str) -> Trees:
    """Return the trees of a node; votes are in the attributes `<prefix>_*`, for that many targets.

    Raises Refusal: C103 where the lists do not make trees, C204 where runtimes read the lists in different ways.
    """
    names = ("treeids", "nodeids", "modes", "featureids", "truenodeids", "falsenodeids")
    trees, ids, modes, features, *children = (node.attr(f"nodes_{name}", []) for name in names)
    splits = read_numbers(node, "nodes_values", element, len(ids))
    missing = node.attr("nodes_missing_value_tracks_true") or [0] * len(ids)
    if not ids or any(len(column) != len(ids) for column in (trees, modes, features, *children, splits, missing)):
        raise Refusal("C103", "the attributes nodes_* are absent or of different lengths")
    if not MODES.keys() >= set(modes) or not {0, 1} >= set(missing):
        raise Refusal("C103", "the mode of a node, or where it sends missing values, is none that exists")
    positions = {key: at for at, key in enumerate(zip(trees, ids, strict=True))}
    if len(positions) != len(ids):
        raise Refusal("C103", "a tree has two nodes of one id")
    roots = [at for at, tree in enumerate(trees) if not at or tree != trees[at - 1]]
    if len({trees[at] for at in roots}) != len(roots):
        raise ambiguous("the nodes of a tree do not stand together")
    kinds = [MODES[mode] for mode in modes]
    if any(feature < 0 and kind != LEAF for feature, kind in zip(features, kinds, strict=True)):
        raise Refusal("C103", "a node compares a feature of negative number")
    try:
        true, false = (
            [at if kinds[at] == LEAF else positions[trees[at], child] for at, child in enumerate(column)]
            for column in children
        )
    except KeyError:
        raise Refusal("C103", "a branch leads to a node that its tree does not have") from None
    below = {child for side in (true, false) for at, child in enumerate(side) if kinds[at] != LEAF}
    if not below.isdisjoint(roots) or len(below) + len(roots) != len(ids):
        raise ambiguous("the first node of a tree is not its only root")
    votes = _read_votes(node, prefix, targets, element, {key: at for key, at in positions.items() if kinds[at] == LEAF})
    return Trees(element, roots, kinds, features, splits, missing, (true, false), votes)


def _read_votes(
    node: Node, prefix: str, targets: int, element: str, leaves: dict[tuple[int, int], int]
) -> dict[int, Votes]:
    trees, ids, voted = (node.attr(f"{prefix}_{name}", []) for name in ("treeids", "nodeids", "ids"))
    weights = read_numbers(node, f"{prefix}_weights", element, len(ids))
    if not ids or any(len(column) != len(ids) for column in (trees, voted, weights)):
        raise Refusal("C103", f"the attributes {prefix}_* are absent or of different lengths")
    if not all(0 <= target < targets for target in voted):
        raise Refusal("C103", f"{prefix}_ids has an id that is none of the {targets}")
    if not sum(map(abs, weights)) <= GREATEST:
        raise Refusal("C204", "votes are infinite or no numbers, or so great that their sum may be")
    votes: dict[int, Votes] = {}
    try:
        for tree, leaf, target, weight in zip(trees, ids, voted, weights, strict=True):
            votes.setdefault(leaves[tree, leaf], []).append((target, weight))
    except KeyError:
        raise Refusal("C103", f"{prefix}_nodeids has a node that is no leaf") from None
    if any(len({target for target, _ in cast}) != len(cast) for cast in votes.values()):
        raise ambiguous("a leaf votes twice for one target")
    return votes


def read_numbers(node: Node, name: str, element: str, most: int) -> list[float]:
    """Return an attribute that is a list of floats, or a tensor of the type that the node computes in."""
    numbers, tensor = node.attr(name, []), node.attr(f"{name}_as_tensor")
    if tensor is None:
        return list(numbers)
    if numbers:
        raise ambiguous(f"'{name}' and '{name}_as_tensor' are both given")
    constant = node.values.elements(tensor, most)
    if constant is None or len(constant.dims) != 1:
        raise Refusal("C103", f"'{name}_as_tensor' is no list of at most {most} numbers")
    if constant.element != element:
        raise ambiguous(f"'{name}_as_tensor' is of type {constant.element}, and the node computes in {element}")
    return list(constant.values)


def as_ensemble(trees: Trees, additive: bool) -> Ensemble:
    """Trees as TreeEnsemble writes them. `additive` says that votes are summed, else the least or greatest counts.

    A tree of which a leaf votes k times is written k times, side by side, so that each target is voted for in the same
    order as before. Where there is nothing left to vote for in a copy, a vote without effect stands: -0.0 in a sum (no
    number changes by it), the last vote once more among the least or greatest.

    A node with several parents is written once for each of them. Raises Refusal C103 for trees with cycles, C204 for
    trees that become too large and for leaves without a vote where the least or greatest counts.
    """
    covered: set[int] = set()
    some, size, counts = False, 0, []
    for root in trees.roots:
        order = _branches_first(trees, root)
        leaves = [trees.votes.get(at, []) for at in order if trees.modes[at] == LEAF]
        targets = [{target for target, _ in votes} for votes in leaves]
        covered |= set.intersection(*targets)
        some = some or all(leaves)
        counts.append(max(1, *map(len, leaves)))
        if not additive and not all(leaves):
            raise ambiguous("a leaf has no vote, and no vote is neutral to MIN and MAX")
        size += counts[-1] * _unshared_size(trees, order)
    limit = FEW_NODES + GROWTH * (len(trees.modes) + sum(map(len, trees.votes.values())))
    if size > limit:
        raise Refusal("C204", f"with one vote a leaf and one parent a node, the trees have more than {limit} nodes")
    return Ensemble(_written(trees, counts, additive), max(counts) > 1, covered, some)


def _branches_first(trees: Trees, root: int) -> list[int]:
    """Return the nodes of one tree, each once and after its branches."""
    order: list[int] = []
    left: dict[int, bool] = {}  # False while the nodes below are being visited
    pending = [root]
    while pending:
        at = pending[-1]
        if at in left:
            pending.pop()
            if not left[at]:
                left[at] = True
                order.append(at)
            continue
        left[at] = False
        for side in trees.branches if trees.modes[at] != LEAF else ():
            if not left.get(side[at], True):
                raise Refusal("C103", "a node of a tree is below itself")
            pending.append(side[at])
    return order


def _unshared_size(trees: Trees, order: list[int]) -> int:
    """How many inner nodes a tree has once no branches are shared; beyond all limits it does not count further."""
    sizes: dict[int, int] = {}
    for at in order:
        leaf = trees.modes[at] == LEAF
        sizes[at] = 0 if leaf else min(1 << 62, 1 + sum(sizes[side[at]] for side in trees.branches))
    return max(1, sizes[order[-1]])


def _written(trees: Trees, counts: list[int], additive: bool) -> dict[str, Any]:
    """Return the attributes of TreeEnsemble that describe the trees, each written as often as `counts` says."""
    roots: list[int] = []
    written: list[int] = []  # the node that each entry of nodes_* stands for
    references: tuple[list[int], list[int]] = ([], [])
    to_leaves: tuple[list[int], list[int]] = ([], [])
    leaves: Votes = []
    for root, count in zip(trees.roots, counts, strict=True):
        for turn in range(count):
            roots.append(len(written))
            pending = [(root, -1, 0)]
            while pending:
                at, parent, came_by = pending.pop()
                if parent >= 0:
                    references[came_by][parent] = len(written)
                for side in (1, 0):
                    child = trees.branches[side][at]
                    leaf = trees.modes[child] == LEAF
                    references[side].append(len(leaves))
                    to_leaves[side].append(int(leaf))
                    if leaf:
                        leaves.append(_vote(trees.votes.get(child, []), turn, additive))
                    else:
                        pending.append((child, len(written), side))
                written.append(at)
    # A tree that is one leaf is a node with two equal ones; whatever it compares with is as good.
    inner = [trees.modes[at] != LEAF for at in written]
    missing = [trees.missing[at] if real else 0 for at, real in zip(written, inner, strict=True)]
    modes = [max(trees.modes[at], 0) for at in written]
    splits = [trees.splits[at] if real else 0.0 for at, real in zip(written, inner, strict=True)]
    return {
        "tree_roots": roots,
        "nodes_featureids": [trees.features[at] if real else 0 for at, real in zip(written, inner, strict=True)],
        "nodes_modes": make_tensor("", NUMBERS["uint8"], [len(modes)], modes),
        "nodes_splits": make_tensor("", NUMBERS[trees.element], [len(splits)], splits),
        "nodes_truenodeids": references[0],
        "nodes_trueleafs": to_leaves[0],
        "nodes_falsenodeids": references[1],
        "nodes_falseleafs": to_leaves[1],
        "nodes_missing_value_tracks_true": missing if any(missing) else None,
        "leaf_targetids": [target for target, _ in leaves],
        "leaf_weights": make_tensor("", NUMBERS[trees.element], [len(leaves)], [weight for _, weight in leaves]),
    }


def _vote(votes: Votes, turn: int, additive: bool) -> tuple[int, float]:
    """Return the vote of a leaf at one turn, one without effect when it has none left."""
    if turn < len(votes):
        return votes[turn]
    if not votes:
        return 0, 0.0
    target, weight = votes[-1]
    return target, -0.0 if additive else weight


@up("TreeEnsembleRegressor", since=5, domain=ML)
def tree_ensemble_regressor_5_up(op: Builder, node: Node) -> Result:
    """TreeEnsemble aggregates the votes; base values, transform and the cast to float become nodes after it."""
    x, element = _features(op, node)
    aggregate, targets, transform = node.attr("aggregate_function"), node.attr("n_targets", 0), _transform(node)
    if aggregate not in AGGREGATES or targets < 1:
        raise Refusal("C103", "'n_targets' is not positive, or 'aggregate_function' is none that exists")
    if targets == 1 and transform != "NONE":
        raise ambiguous(f"post_transform is {transform} with one target", "make the transform a node of its own")
    trees = read_trees(node, "target", targets, element)
    base = read_numbers(node, "base_values", element, min(targets, MAX_CONSTANT))
    if len(base) not in (0, targets):
        raise Refusal("C103", f"there are {len(base)} base values and {targets} targets")
    additive = aggregate in ("SUM", "AVERAGE")
    ensemble = as_ensemble(trees, additive)
    if len(ensemble.covered) < targets and (base or not additive):
        raise ambiguous("a target may get no vote, and there are base values or aggregate_function is MIN or MAX")
    # The mean is over the trees as they were, not over their copies.
    divided = aggregate == "AVERAGE" and ensemble.copied
    y = _aggregated(op, x, ensemble, targets, "SUM" if divided else aggregate)
    if divided:
        y = op.Div(y, op.const(float(len(trees.roots)), element, []), domain="")
    if base:
        y = op.Add(y, op.const(base, element), domain="")
    return _transformed(op, y, transform, element)


@up("TreeEnsembleClassifier", since=5, domain=ML)
def tree_ensemble_classifier_5_up(op: Builder, node: Node) -> Result:
    """TreeEnsemble sums the votes, ArgMax finds the top class before any transform, and LabelEncoder its label."""
    x, element = _features(op, node)
    transform = _transform(node)
    lists = {"int64": node.attr("classlabels_int64s"), "string": node.attr("classlabels_strings")}
    given = [(kind, labels) for kind, labels in lists.items() if labels]
    if len(given) != 1:
        raise Refusal("C103", f"{len(given)} of the attributes classlabels_* are given, and it should be one")
    kind, labels = given[0]
    if len(labels) == 1:
        raise ambiguous("there is one class", "use TreeEnsembleRegressor")
    trees = read_trees(node, "class", len(labels), element)
    base = read_numbers(node, "base_values", element, len(labels))
    if not sum(map(abs, base)) <= GREATEST:
        raise Refusal("C204", "base values are infinite or no numbers, or so great that their sum may be")
    if len(labels) == 2 and len(trees.targets) == 1:
        scores = _opposite_scores(op, x, trees, base, transform)
    else:
        scores = _scores(op, x, trees, base, len(labels))
    label, classes = op.ArgMax(scores, axis=1, keepdims=0, domain=""), list(range(len(labels)))
    if labels != classes:
        label = op.LabelEncoder(label, keys_int64s=classes, **{f"values_{LISTS[kind]}": labels})
    return label, _transformed(op, scores, transform, element)


def _opposite_scores(op: Builder, x: str, trees: Trees, base: list[float], transform: str) -> str:
    """Return the scores of two classes where only one is voted for: the votes' sum p is the score of the second class.

    Runtimes agree on the first one's in what exporters write: probabilities without transform, 1 - p, and numbers of
    both signs with LOGISTIC, -p. Both ways the first class is the top one at a tie.
    """
    ensemble = as_ensemble(trees, additive=True)
    usual = transform == ("LOGISTIC" if trees.lightest < 0 else "NONE")
    if not usual or trees.targets != {0} or len(base) > 1 or (base and not ensemble.covered):
        why = f"of two classes only one is voted for, and post_transform is {transform}"
        raise ambiguous(
            why, "vote for class 0 at every leaf: probabilities with NONE, or numbers of both signs with LOGISTIC"
        )
    p = _aggregated(op, x, ensemble, 1, "SUM")
    if base:
        p = op.Add(p, op.const(base, trees.element), domain="")
    first = op.Neg(p, domain="") if transform == "LOGISTIC" else op.Sub(op.const(1.0, trees.element, []), p, domain="")
    return str(op.Concat(first, p, axis=1, domain=""))


def _scores(op: Builder, x: str, trees: Trees, base: list[float], classes: int) -> str:
    """Return the scores of all classes, each the sum of the votes for it."""
    if classes == 2:
        raise ambiguous("both of two classes are voted for", "vote for class 0 alone")
    if len(base) not in (0, classes):
        raise Refusal("C103", f"there are {len(base)} base values and {classes} classes")
    ensemble = as_ensemble(trees, additive=True)
    if not (len(ensemble.covered) == classes or base or (ensemble.some and trees.lightest > 0)):
        raise ambiguous("the class of the greatest score may be one without a vote")
    scores = _aggregated(op, x, ensemble, classes, "SUM")
    return op.Add(scores, op.const(base, trees.element), domain="") if base else scores


def _features(op: Builder, node: Node) -> tuple[str, str]:
    """Return the input in a type that TreeEnsemble has, and that type; runtimes compare integers as float, too."""
    need_uniform(node)
    element = node.need_element(0)
    if element in ("int32", "int64"):
        return op.Cast(node.input(0), to=NUMBERS["float"], domain=""), "float"
    if element not in ("float", "double"):
        raise Refusal("C103", f"the input is of type {element}")
    return node.input(0), element


def _transform(node: Node) -> str:
    """Return the transform, one that a node after TreeEnsemble can do."""
    transform = node.attr("post_transform")
    if transform in ("SOFTMAX_ZERO", "PROBIT"):
        why = f"post_transform is {transform}: no standard operator does it, and runtimes differ in TreeEnsemble's own"
        raise Refusal("C204", why, "use NONE, and make the transform of nodes of its own")
    if transform not in ("NONE", "SOFTMAX", "LOGISTIC"):
        raise Refusal("C103", "'post_transform' is none that exists")
    return str(transform)


def _aggregated(op: Builder, x: str, ensemble: Ensemble, targets: int, aggregate: str) -> str:
    """Return the votes of all trees, target by target."""
    number = AGGREGATES[aggregate]
    return str(op.TreeEnsemble(x, n_targets=targets, aggregate_function=number, **ensemble.attributes))


def _transformed(op: Builder, scores: str, transform: str, element: str) -> str:
    """Return scores after the transform, as float: the old operators give no other type.

    TreeEnsemble has transforms too, but runtimes mistake its numbers for softmax and logistic.
    """
    if transform == "SOFTMAX":
        scores = op.Softmax(scores, axis=1, domain="")
    elif transform == "LOGISTIC":
        scores = op.Sigmoid(scores, domain="")
    return op.Cast(scores, to=NUMBERS["float"], domain="") if element == "double" else scores
