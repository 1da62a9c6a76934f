"""Trees of TreeEnsembleClassifier and TreeEnsembleRegressor: read as these list them, written as TreeEnsemble does.

The old operators list every node of every tree, leaves too, by ids of tree and node, and apart from them the votes of
the leaves. TreeEnsemble has inner nodes and leaves in lists of their own, refers to them by position, and a leaf of it
votes once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from opset.model.tensor import make_tensor
from opset.opsets.values import NUMBERS
from opset.version_converter.rewrite import Node, Refusal

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
    """Give the refusal for what the standard leaves open and runtimes, or their versions, do in different ways."""
    return Refusal("C204", f"{why}; the standard does not say what that means, and runtimes differ", help)


def read_trees(node: Node, prefix: str, targets: int, element: str) -> Trees:
    """Give the trees of a node; votes are in the attributes `<prefix>_*`, for that many targets.

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
    """Give an attribute that is a list of floats, or a tensor of the type that the node computes in."""
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
    """Give trees as TreeEnsemble writes them. `additive` says that votes are summed, else the least or greatest counts.

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
    """Give the nodes of one tree, each once and after its branches."""
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
    """Give how many inner nodes a tree has once no branches are shared; beyond all limits it does not count further."""
    sizes: dict[int, int] = {}
    for at in order:
        leaf = trees.modes[at] == LEAF
        sizes[at] = 0 if leaf else min(1 << 62, 1 + sum(sizes[side[at]] for side in trees.branches))
    return max(1, sizes[order[-1]])


def _written(trees: Trees, counts: list[int], additive: bool) -> dict[str, Any]:
    """Give the attributes of TreeEnsemble that describe the trees, each written as often as `counts` says."""
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
    """Give the vote of a leaf at one turn, one without effect when it has none left."""
    if turn < len(votes):
        return votes[turn]
    if not votes:
        return 0, 0.0
    target, weight = votes[-1]
    return target, -0.0 if additive else weight
