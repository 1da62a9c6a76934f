"""Conversion of TreeEnsembleClassifier and TreeEnsembleRegressor to TreeEnsemble.

The older operators list all nodes of all trees, including leaves, by the ids of tree and node, and the votes of leaves
separately. TreeEnsemble has separate lists of inner nodes and leaves, refers to them by index, and each of its leaves
has one vote.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from opset.adapters.building.shared import LISTS, ML, need_uniform_operators
from opset.adapters.limits import MAX_GROWTH, MAX_NODES
from opset.model.elements import NUMBERS
from opset.model.storage.tensor import make_tensor
from opset.model.types import MAX_CONSTANT
from opset.version_converter.registration import refuses, up
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

AGGREGATES = {"AVERAGE": 0, "SUM": 1, "MIN": 2, "MAX": 3}
"""Aggregate functions of the older operators, and their numbers in TreeEnsemble."""
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
"""Comparisons of the older operators, and their numbers in TreeEnsemble."""
GREATEST = 3e38
"""Sums of votes stay within FLOAT as long as the sum of all absolute votes is not greater than this."""

STEPS = 8
"""Steps that a node of a written tree is charged: it has as many attributes."""

Votes = list[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class Trees:
    """Trees, whose nodes are identified by their index in the lists.

    `branches` are the nodes that follow each node if its comparison holds, and if not; a leaf follows itself. `votes`
    are the (target, weight) of each leaf that has any.
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
        """The targets that have a vote."""
        return {target for votes in self.votes.values() for target, _ in votes}

    @property
    def lightest(self) -> float:
        """The least weight of a vote."""
        return min(weight for votes in self.votes.values() for _, weight in votes)


@dataclass(frozen=True, slots=True)
class Ensemble:
    """The attributes of a TreeEnsemble, and facts about it.

    - `copied`: whether a tree is written more than once, since its leaves have several votes;
    - `covered`: the targets that have a vote in every row;
    - `some`: whether every row has a vote.
    """

    attributes: dict[str, Any]
    copied: bool
    covered: set[int]
    some: bool


def ambiguity(why: str, help: str = "", label: str = "") -> Refusal:
    """Return the refusal of a case that the standard does not define and that runtimes treat differently."""
    undefined = "the standard does not say what that means, and runtimes differ"
    return Refusal("C204", f"{why}; {undefined}", help, label=f"{label or why}; {undefined}")


def read_trees(node: Node, prefix: str, targets: int, element: str) -> Trees:
    """Return the trees of a node.

    Args:
        node: A TreeEnsembleClassifier or TreeEnsembleRegressor.
        prefix: The prefix of the attributes that hold votes: `<prefix>_ids` and so on.
        targets: The number of targets that may have votes.
        element: The type in which the node computes.

    Raises:
        Refusal: C103 if the lists do not make trees, C204 if runtimes read the lists in different ways.
    """
    names = ("treeids", "nodeids", "modes", "featureids", "truenodeids", "falsenodeids")
    trees, ids, modes, features, *children = (node.attr(f"nodes_{name}", []) for name in names)
    splits = read_numbers(node, "nodes_values", element, len(ids))
    missing = node.attr("nodes_missing_value_tracks_true") or [0] * len(ids)
    if not ids or any(len(column) != len(ids) for column in (trees, modes, features, *children, splits, missing)):
        raise Refusal("C103", "the attributes nodes_* are absent or of different lengths")
    if not {0, 1} >= set(missing):
        raise Refusal("C103", "'nodes_missing_value_tracks_true' holds what is neither 0 nor 1")
    positions = {key: at for at, key in enumerate(zip(trees, ids, strict=True))}
    if len(positions) != len(ids):
        raise Refusal("C103", "a tree has two nodes of one id")
    roots = [at for at, tree in enumerate(trees) if not at or tree != trees[at - 1]]
    if len({trees[at] for at in roots}) != len(roots):
        raise ambiguity("the nodes of a tree are not adjacent")
    kinds = [MODES[mode] for mode in modes]
    if any(feature < 0 and kind != LEAF for feature, kind in zip(features, kinds, strict=True)):
        raise Refusal("C103", "a node compares a feature with a negative index")
    try:
        true, false = (
            [at if kinds[at] == LEAF else positions[trees[at], child] for at, child in enumerate(column)]
            for column in children
        )
    except KeyError:
        raise Refusal("C103", "a branch refers to a node that is not in its tree") from None
    below = {child for side in (true, false) for at, child in enumerate(side) if kinds[at] != LEAF}
    if not below.isdisjoint(roots) or len(below) + len(roots) != len(ids):
        raise ambiguity("the first node of a tree is not its only root")
    votes = _read_votes(node, prefix, targets, element, {key: at for key, at in positions.items() if kinds[at] == LEAF})
    return Trees(element, roots, kinds, features, splits, missing, (true, false), votes)


def _read_votes(
    node: Node, prefix: str, targets: int, element: str, leaves: dict[tuple[int, int], int]
) -> dict[int, Votes]:
    """Return the votes by leaf; `leaves` are indices by the ids of tree and node. Raise Refusal as `read_trees`."""
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
        raise ambiguity("a leaf votes twice for one target")
    return votes


def read_numbers(node: Node, name: str, element: str, most: int) -> list[float]:
    """Return the numbers in an attribute: a list of floats, or a tensor of the type in which the node computes.

    Raises Refusal C103 if the tensor is no list of at most `most` numbers, C204 if both are stated or its type differs.
    """
    numbers = node.attr(name, [])
    tensor = node.attr(f"{name}_as_tensor")
    if tensor is None:
        return list(numbers)
    if numbers:
        raise ambiguity(
            f"'{name}' and '{name}_as_tensor' are both given", label="an attribute is given as list and as tensor"
        )
    constant = node.values.elements(tensor, most)
    if constant is None or len(constant.dims) != 1:
        raise Refusal("C103", f"'{name}_as_tensor' is no list of at most {most} numbers")
    if constant.element != element:
        why = f"'{name}_as_tensor' is of type {constant.element}, and the node computes in {element}"
        raise ambiguity(why, label="a tensor is of another type than the node computes in")
    return list(constant.values)


def as_ensemble(trees: Trees, additive: bool, charge: Callable[[int], None]) -> Ensemble:
    """Return trees in the form of TreeEnsemble.

    A tree with a leaf of k votes is written k times in succession, so that votes for a target are added in the same
    order as before. If a leaf has no vote left in a copy, it gets a vote without effect: -0.0 in a sum, which changes
    no number, or its last vote again among the least or greatest. A node with several parents is written once for each.

    Args:
        trees: The trees.
        additive: Whether votes are summed, else the least or greatest one counts.
        charge: Is called with the steps that the written trees take.

    Raises:
        Refusal: C103 if a tree has a cycle, C204 if trees are too large, or a leaf has no vote for MIN and MAX.
    """
    covered: set[int] = set()
    some = False
    size = 0
    counts = []
    for root in trees.roots:
        order = _branches_first(trees, root)
        leaves = [trees.votes.get(at, []) for at in order if trees.modes[at] == LEAF]
        targets = [{target for target, _ in votes} for votes in leaves]
        covered |= set.intersection(*targets)
        some = some or all(leaves)
        counts.append(max(1, *map(len, leaves)))
        if not additive and not all(leaves):
            raise ambiguity("a leaf has no vote, and no vote is neutral to MIN and MAX")
        size += counts[-1] * _unshared_size(trees, order)
    limit = MAX_NODES + MAX_GROWTH * (len(trees.modes) + sum(map(len, trees.votes.values())))
    if size > limit:
        label = "with one vote per leaf and one parent per node, the trees have too many nodes"
        why = f"with one vote per leaf and one parent per node, the trees have more than {limit} nodes"
        raise Refusal("C204", why, label=label)
    charge(STEPS * size)
    return Ensemble(_ensemble_attributes(trees, counts, additive), max(counts) > 1, covered, some)


def _branches_first(trees: Trees, root: int) -> list[int]:
    """Return the nodes of one tree, each once and after its branches; raise Refusal C103 if it has a cycle."""
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
        if trees.modes[at] == LEAF:
            continue
        for side in trees.branches:
            if not left.get(side[at], True):
                raise Refusal("C103", "a node of a tree is below itself")
            pending.append(side[at])
    return order


def _unshared_size(trees: Trees, order: list[int]) -> int:
    """Return the number of inner nodes of a tree whose shared branches are copied, capped far beyond the limit."""
    sizes: dict[int, int] = {}
    for at in order:
        leaf = trees.modes[at] == LEAF
        sizes[at] = 0 if leaf else min(1 << 62, 1 + sum(sizes[side[at]] for side in trees.branches))
    return max(1, sizes[order[-1]])


@dataclass(slots=True)
class _EnsembleLists:
    """The lists of TreeEnsemble."""

    roots: list[int] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    """For each entry of nodes_*, the index of its node in `Trees`."""
    branches: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    to_leaves: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    leaves: Votes = field(default_factory=list)

    def add(self, trees: Trees, root: int, copy: int, additive: bool) -> None:
        """Add a copy of a tree, each of whose leaves has the vote with the number of the copy."""
        self.roots.append(len(self.nodes))
        pending = [(root, -1, 0)]
        while pending:
            node, parent, side_of_parent = pending.pop()
            if parent >= 0:
                self.branches[side_of_parent][parent] = len(self.nodes)
            for side in (1, 0):
                child = trees.branches[side][node]
                is_leaf = trees.modes[child] == LEAF
                self.branches[side].append(len(self.leaves))
                self.to_leaves[side].append(int(is_leaf))
                if is_leaf:
                    self.leaves.append(_vote_in_copy(trees.votes.get(child, []), copy, additive))
                else:
                    pending.append((child, len(self.nodes), side))
            self.nodes.append(node)


def _ensemble_attributes(trees: Trees, counts: list[int], additive: bool) -> dict[str, Any]:
    """Return the attributes of TreeEnsemble for the trees; `counts` are the numbers of copies of each tree."""
    lists = _EnsembleLists()
    for root, count in zip(trees.roots, counts, strict=True):
        for copy in range(count):
            lists.add(trees, root, copy, additive)
    # A tree that is one leaf becomes a node with two equal leaves, for which any comparison will do.
    inner = [trees.modes[node] != LEAF for node in lists.nodes]
    nodes = list(zip(lists.nodes, inner, strict=True))
    missing = [trees.missing[node] if is_inner else 0 for node, is_inner in nodes]
    modes = [max(trees.modes[node], 0) for node in lists.nodes]
    splits = [trees.splits[node] if is_inner else 0.0 for node, is_inner in nodes]
    weights = [weight for _, weight in lists.leaves]
    return {
        "tree_roots": lists.roots,
        "nodes_featureids": [trees.features[node] if is_inner else 0 for node, is_inner in nodes],
        "nodes_modes": make_tensor("", NUMBERS["uint8"], [len(modes)], modes),
        "nodes_splits": make_tensor("", NUMBERS[trees.element], [len(splits)], splits),
        "nodes_truenodeids": lists.branches[0],
        "nodes_trueleafs": lists.to_leaves[0],
        "nodes_falsenodeids": lists.branches[1],
        "nodes_falseleafs": lists.to_leaves[1],
        "nodes_missing_value_tracks_true": missing if any(missing) else None,
        "leaf_targetids": [target for target, _ in lists.leaves],
        "leaf_weights": make_tensor("", NUMBERS[trees.element], [len(weights)], weights),
    }


def _vote_in_copy(votes: Votes, copy: int, additive: bool) -> tuple[int, float]:
    """Return the vote of a leaf in a copy of its tree, one without effect if it has none left."""
    if copy < len(votes):
        return votes[copy]
    if not votes:
        return 0, 0.0
    target, weight = votes[-1]
    return target, -0.0 if additive else weight


@up("TreeEnsembleRegressor", since=5, domain=ML)
@refuses(
    "C204",
    "votes are infinite or no numbers, or so great that their sum may be",
    "no operator computes a `post_transform` of SOFTMAX_ZERO or PROBIT",
    "with one vote per leaf and one parent per node, the trees have too many nodes",
)
def tree_ensemble_regressor_5_up(op: Builder, node: Node) -> Result:
    """Aggregate the votes by TreeEnsemble; base values, the transform and the cast to float become nodes after it."""
    x, element = _convert_features(op, node)
    aggregate = node.attr("aggregate_function")
    targets = node.attr("n_targets", 0)
    transform = _stated_transform(node)
    if targets < 1:
        raise Refusal("C103", f"'n_targets' is {targets}")
    if targets == 1 and transform != "NONE":
        raise ambiguity(
            f"post_transform is {transform} with one target",
            "apply the transform in a separate node",
            label="there is one target, and a `post_transform`",
        )
    trees = read_trees(node, "target", targets, element)
    base = read_numbers(node, "base_values", element, min(targets, MAX_CONSTANT))
    if len(base) not in (0, targets):
        raise Refusal("C103", f"there are {len(base)} base values and {targets} targets")
    additive = aggregate in ("SUM", "AVERAGE")
    ensemble = as_ensemble(trees, additive, node.charge)
    if len(ensemble.covered) < targets and (base or not additive):
        raise ambiguity("a target may have no vote, and there are base values or aggregate_function is MIN or MAX")
    # The mean is over the trees as they were, not over their copies.
    divided = aggregate == "AVERAGE" and ensemble.copied
    y = _aggregate_votes(op, x, ensemble, targets, "SUM" if divided else aggregate)
    if divided:
        y = op.Div(y, op.const(float(len(trees.roots)), element), domain="")
    if base:
        y = op.Add(y, op.const(base, element), domain="")
    return _apply_transform(op, y, transform, element)


@up("TreeEnsembleClassifier", since=5, domain=ML)
@refuses(
    "C204",
    "base values are infinite or no numbers, or so great that their sum may be",
    "votes are infinite or no numbers, or so great that their sum may be",
    "no operator computes a `post_transform` of SOFTMAX_ZERO or PROBIT",
    "with one vote per leaf and one parent per node, the trees have too many nodes",
)
def tree_ensemble_classifier_5_up(op: Builder, node: Node) -> Result:
    """Sum votes by TreeEnsemble, find the top class by ArgMax before any transform, and its label by LabelEncoder."""
    x, element = _convert_features(op, node)
    transform = _stated_transform(node)
    lists = {"int64": node.attr("classlabels_int64s"), "string": node.attr("classlabels_strings")}
    stated = [(kind, labels) for kind, labels in lists.items() if labels]
    if len(stated) != 1:
        raise Refusal("C103", f"{len(stated)} of the attributes classlabels_* are given, and exactly one must be")
    kind, labels = stated[0]
    if len(labels) == 1:
        raise ambiguity("there is one class", "use TreeEnsembleRegressor")
    trees = read_trees(node, "class", len(labels), element)
    base = read_numbers(node, "base_values", element, len(labels))
    if not sum(map(abs, base)) <= GREATEST:
        raise Refusal("C204", "base values are infinite or no numbers, or so great that their sum may be")
    if len(labels) == 2 and len(trees.targets) == 1:
        scores = _opposite_scores(op, node, x, trees, base, transform)
    else:
        scores = _class_scores(op, node, x, trees, base, len(labels))
    label = op.ArgMax(scores, axis=1, keepdims=0, domain="")
    classes = list(range(len(labels)))
    if labels != classes:
        label = op.LabelEncoder(label, keys_int64s=classes, **{f"values_{LISTS[kind]}": labels})
    return label, _apply_transform(op, scores, transform, element)


def _opposite_scores(op: Builder, node: Node, x: str, trees: Trees, base: list[float], transform: str) -> str:
    """Return the scores of two classes, if all votes are for one of them; raise Refusal C204 if runtimes differ."""
    # Runtimes agree on the score of the first class in two cases, which exporters write: 1 - p for probabilities
    # without transform, and -p for weights of both signs with LOGISTIC. In both, the first class wins a tie.
    ensemble = as_ensemble(trees, True, node.charge)
    usual = transform == ("LOGISTIC" if trees.lightest < 0 else "NONE")
    if not usual or trees.targets != {0} or len(base) > 1 or (base and not ensemble.covered):
        why = f"all votes are for one of two classes, and post_transform is {transform}"
        help = "vote for class 0 at every leaf: probabilities with NONE, or weights of both signs with LOGISTIC"
        raise ambiguity(why, help, label="all votes are for one of two classes, with this `post_transform`")
    p = _aggregate_votes(op, x, ensemble, 1, "SUM")
    if base:
        p = op.Add(p, op.const(base, trees.element), domain="")
    first = op.Neg(p, domain="") if transform == "LOGISTIC" else op.Sub(op.const(1.0, trees.element), p, domain="")
    return str(op.Concat(first, p, axis=1, domain=""))


def _class_scores(op: Builder, node: Node, x: str, trees: Trees, base: list[float], classes: int) -> str:
    """Return the scores of all classes, the sums of their votes; raise Refusal C204 if one is not defined."""
    if classes == 2:
        raise ambiguity("there are votes for both of two classes", "vote only for class 0")
    if len(base) not in (0, classes):
        raise Refusal("C103", f"there are {len(base)} base values and {classes} classes")
    ensemble = as_ensemble(trees, True, node.charge)
    if not (len(ensemble.covered) == classes or base or (ensemble.some and trees.lightest > 0)):
        raise ambiguity("the class with the greatest score may have no vote")
    scores = _aggregate_votes(op, x, ensemble, classes, "SUM")
    return op.Add(scores, op.const(base, trees.element), domain="") if base else scores


def _convert_features(op: Builder, node: Node) -> tuple[str, str]:
    """Return the input in a type that TreeEnsemble takes, and the type; runtimes compare integers as floats, too."""
    need_uniform_operators(node)
    element = node.need_element(0)
    if element in ("int32", "int64"):
        return op.Cast(node.input(0), to=NUMBERS["float"], domain=""), "float"
    return node.input(0), element


def _stated_transform(node: Node) -> str:
    """Return the transform; raise Refusal C204 if no node after TreeEnsemble can compute it."""
    transform = node.attr("post_transform")
    if transform in ("SOFTMAX_ZERO", "PROBIT"):
        why = f"post_transform is {transform}: no operator computes it, and runtimes differ in that of TreeEnsemble"
        label = "no operator computes a `post_transform` of SOFTMAX_ZERO or PROBIT"
        raise Refusal("C204", why, "use NONE, and apply the transform in separate nodes", label=label)
    return str(transform)


def _aggregate_votes(op: Builder, x: str, ensemble: Ensemble, targets: int, aggregate: str) -> str:
    """Return the aggregated votes of all trees for each target."""
    number = AGGREGATES[aggregate]
    return str(op.TreeEnsemble(x, n_targets=targets, aggregate_function=number, **ensemble.attributes))


def _apply_transform(op: Builder, scores: str, transform: str, element: str) -> str:
    """Return scores after the transform, as float, the only type that the older operators return."""
    # TreeEnsemble has transforms too, but runtimes confuse its numbers for softmax and logistic.
    if transform == "SOFTMAX":
        scores = op.Softmax(scores, axis=1, domain="")
    elif transform == "LOGISTIC":
        scores = op.Sigmoid(scores, domain="")
    return op.Cast(scores, to=NUMBERS["float"], domain="") if element == "double" else scores
