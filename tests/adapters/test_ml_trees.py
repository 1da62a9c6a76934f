"""TreeEnsembleRegressor and TreeEnsembleClassifier, which TreeEnsemble replaces.

What onnxruntime is known to get wrong is left out of the comparisons with it, and said there.
"""

import random

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper

import opset
from opset.adapters.families.ml_trees import LEAF, Trees, as_ensemble
from opset.errors import ConversionError, ModelError
from opset.extend import Refusal
from tests.adapters import ml_judges as ml
from tests.adapters.ml_judges import NAN, array
from tests.bounds import draws, lines

STUMP = {
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [0, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_values": [1.0, 0.0, 0.0],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
}
POINTS = [[0.0], [1.0], [2.0], [NAN], [float("inf")], [-1.0]]


def votes(prefix, *entries):
    """Return the attributes of votes (tree, leaf, target, weight)."""
    columns = zip(*entries, strict=True)
    return dict(
        zip((f"{prefix}_{name}" for name in ("treeids", "nodeids", "ids", "weights")), map(list, columns), strict=True)
    )


def regressor(*entries, targets=1, **attributes):
    return ml.node_of(
        "TreeEnsembleRegressor", **{**STUMP, "n_targets": targets, **votes("target", *entries), **attributes}
    )


def classifier(*entries, labels=("a", "b", "c"), **attributes):
    labels = {"classlabels_strings" if isinstance(labels[0], str) else "classlabels_int64s": list(labels)}
    return ml.node_of(
        "TreeEnsembleClassifier", ("y", "z"), **{**STUMP, **labels, **votes("class", *entries), **attributes}
    )


BOTH = [(0, 1, 0, 0.25), (0, 2, 0, 0.75)]
THREE = [(0, 1, 0, 0.5), (0, 1, 1, -0.25), (0, 1, 2, 0.25), (0, 2, 0, 0.1), (0, 2, 1, 0.2), (0, 2, 2, 0.3)]
TWO_TREES = {name: [*values, *([1] * 3 if name == "nodes_treeids" else values)] for name, values in STUMP.items()}
SHARED = {
    # As exporters write a split by category: the true branch of several == is one node.
    "nodes_treeids": [0] * 6,
    "nodes_nodeids": [0, 1, 2, 3, 4, 5],
    "nodes_featureids": [0] * 6,
    "nodes_modes": ["BRANCH_EQ", "BRANCH_EQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF"],
    "nodes_values": [1.0, 2.0, 1.5, 0.0, 0.0, 0.0],
    "nodes_truenodeids": [2, 2, 3, 0, 0, 0],
    "nodes_falsenodeids": [1, 5, 4, 0, 0, 0],
}
ONE_LEAF = {
    "nodes_treeids": [7],
    "nodes_nodeids": [3],
    "nodes_featureids": [-2],
    "nodes_modes": ["LEAF"],
    "nodes_values": [5.0],
    "nodes_truenodeids": [0],
    "nodes_falsenodeids": [0],
    "nodes_missing_value_tracks_true": [1],
}
DOUBLES = {"nodes_values": None, "nodes_values_as_tensor": array("double", [0.1, 0.0, 0.0]), "target_weights": None}
REGRESSORS = [
    # name, node, kind of input, operators after
    ("one target", regressor(*BOTH), "float", ["TreeEnsemble"]),
    ("a base value", regressor(*BOTH, base_values=[0.5]), "float", ["TreeEnsemble", "Add"]),
    ("hit rates", regressor(*BOTH, nodes_hitrates=[1.0, 0.5, 0.5]), "float", ["TreeEnsemble"]),
    ("missing values", regressor(*BOTH, nodes_missing_value_tracks_true=[1, 0, 0]), "float", ["TreeEnsemble"]),
    ("int32", regressor(*BOTH), "int32", ["Cast", "TreeEnsemble"]),
    ("double", regressor(*BOTH), "double", ["TreeEnsemble", "Cast"]),
    ("double in tensors",
     regressor(*BOTH, **DOUBLES, target_weights_as_tensor=array("double", [0.1, 0.2]),
               base_values_as_tensor=array("double", [1e-9])), "double", ["TreeEnsemble", "Add", "Cast"]),
    ("float in tensors",
     regressor(*BOTH, target_weights=None, target_weights_as_tensor=array("float", [0.1, 0.2])), "float",
     ["TreeEnsemble"]),
    ("a leaf without a vote", regressor((0, 2, 0, 0.5)), "float", ["TreeEnsemble"]),
    ("several targets", regressor(*THREE, targets=3), "float", ["TreeEnsemble"]),
    ("several targets and base values", regressor(*THREE, targets=3, base_values=[1.0, 2.0, 3.0]), "float",
     ["TreeEnsemble", "Add"]),
    ("votes of different number", regressor(*THREE[:4], targets=3), "float", ["TreeEnsemble"]),
    ("a target that nobody votes for", regressor(*BOTH, targets=2), "float", ["TreeEnsemble"]),
    ("softmax", regressor(*THREE, targets=3, post_transform="SOFTMAX"), "float", ["TreeEnsemble", "Softmax"]),
    ("logistic in double", regressor(*THREE, targets=3, post_transform="LOGISTIC", base_values=[1.0, 0.0, -1.0]),
     "double", ["TreeEnsemble", "Add", "Sigmoid", "Cast"]),
    ("mean", regressor(*BOTH, (1, 1, 0, 1.0), (1, 2, 0, 2.0), **TWO_TREES, aggregate_function="AVERAGE"), "float",
     ["TreeEnsemble"]),
    ("mean of copies", regressor(*THREE, (1, 1, 0, 1.0), **TWO_TREES, targets=3, aggregate_function="AVERAGE"), "float",
     ["TreeEnsemble", "Div"]),
    ("least", regressor(*BOTH, (1, 1, 0, -1.0), (1, 2, 0, 2.0), **TWO_TREES, aggregate_function="MIN"), "float",
     ["TreeEnsemble"]),
    ("greatest of several", regressor(*THREE, (1, 1, 0, 1.0), (1, 2, 1, 3.0), (1, 2, 0, -9.0), **TWO_TREES, targets=3,
     aggregate_function="MAX", base_values=[1.0, 2.0, 3.0]), "float", ["TreeEnsemble", "Add"]),
    ("a tree of one leaf", regressor((7, 3, 0, 0.5), **ONE_LEAF), "float", ["TreeEnsemble"]),
    ("shared nodes", regressor((0, 3, 0, 1.0), (0, 4, 0, 2.0), (0, 5, 0, 3.0), **SHARED), "float", ["TreeEnsemble"]),
]  # fmt: skip


@pytest.mark.parametrize("case", REGRESSORS, ids=lambda case: case[0].replace(" ", "_"))
def test_regressor(case):
    _, node, kind, result = case
    points = POINTS if ml.KINDS[kind][1] in (np.float32, np.float64) else POINTS[:3]
    x = array(kind, points)
    before = ml.model_of(node, 3, kind)
    after = ml.convert(before, 5)
    assert ml.operators(after) == result
    exact = "Softmax" not in result and "Sigmoid" not in result
    wanted = ml.by_hand(before, x)
    ml.assert_same(ml.by_hand(after, x), wanted, exact)
    ml.assert_same(ml.by_runtime(after, x), wanted, exact)
    if kind != "int32":  # it has no kernel
        ml.assert_same(ml.by_runtime(before, x), wanted, exact)


NEGATIVE = [(0, 1, 0, -0.25), (0, 2, 0, 0.75)]
CLASSIFIERS = [
    ("three classes", classifier(*THREE), "float", ["TreeEnsemble", "ArgMax", "LabelEncoder"]),
    ("labels that are positions", classifier(*THREE, labels=(0, 1, 2)), "float", ["TreeEnsemble", "ArgMax"]),
    ("labels that are integers", classifier(*THREE, labels=(5, 1, -2)), "int64",
     ["Cast", "TreeEnsemble", "ArgMax", "LabelEncoder"]),
    ("softmax and base values", classifier(*THREE, base_values=[0.0, 1.0, 0.25], post_transform="SOFTMAX"), "float",
     ["TreeEnsemble", "Add", "ArgMax", "LabelEncoder", "Softmax"]),
    ("base values where a class has no vote", classifier((0, 1, 0, -1.0), (0, 2, 1, 2.0), base_values=[0.5, 0.0, 0.25]),
     "float", ["TreeEnsemble", "Add", "ArgMax", "LabelEncoder"]),
    ("positive votes for some", classifier((0, 1, 0, 1.0), (0, 2, 1, 2.0)), "float",
     ["TreeEnsemble", "ArgMax", "LabelEncoder"]),
    ("double and logistic", classifier(*THREE, labels=(0, 1, 2), post_transform="LOGISTIC"), "double",
     ["TreeEnsemble", "ArgMax", "Sigmoid", "Cast"]),
    ("a probability", classifier(*BOTH, labels=(0, 1)), "float", ["TreeEnsemble", "Sub", "Concat", "ArgMax"]),
    ("a half is the first class", classifier((0, 1, 0, 0.5), (0, 2, 0, 0.50000006), labels=("no", "yes")), "float",
     ["TreeEnsemble", "Sub", "Concat", "ArgMax", "LabelEncoder"]),
    ("a probability and a base value", classifier(*BOTH, labels=(0, 1), base_values=[0.25]), "double",
     ["TreeEnsemble", "Add", "Sub", "Concat", "ArgMax", "Cast"]),
    ("a logit", classifier(*NEGATIVE, labels=(0, 1), post_transform="LOGISTIC", base_values=[0.25]), "float",
     ["TreeEnsemble", "Add", "Neg", "Concat", "ArgMax", "Sigmoid"]),
]  # fmt: skip


@pytest.mark.parametrize("case", CLASSIFIERS, ids=lambda case: case[0].replace(" ", "_"))
def test_classifier(case):
    _, node, kind, result = case
    x = array(kind, POINTS if kind in ("float", "double") else POINTS[:3])
    label = "string" if any(a.name == "classlabels_strings" for a in node.attribute) else "int64"
    before = ml.model_of(node, 3, kind, (label, "float"))
    after = ml.convert(before, 5)
    assert ml.operators(after) == result
    exact = "Softmax" not in result and "Sigmoid" not in result
    wanted = ml.by_hand(before, x)
    for found in (ml.by_hand(after, x), ml.by_runtime(after, x), ml.by_runtime(before, x)):
        ml.assert_same(found, wanted, exact)


def test_what_a_single_leaf_and_a_shared_node_become():
    (leaf,) = ml.convert(ml.model_of(regressor((7, 3, 0, 0.5), **ONE_LEAF), 3, "float"), 5).graph.node
    written = {a.name: helper.get_attribute_value(a) for a in leaf.attribute}
    assert (written["nodes_featureids"], list(written["nodes_trueleafs"]), list(written["nodes_falseleafs"])) == (
        [0],
        [1],
        [1],
    )
    assert len(written["leaf_targetids"]) == 2
    assert "nodes_missing_value_tracks_true" not in written
    node = regressor((0, 3, 0, 1.0), (0, 4, 0, 2.0), (0, 5, 0, 3.0), **SHARED)
    (shared,) = ml.convert(ml.model_of(node, 3, "float"), 5).graph.node
    inner = [c for a in shared.attribute if a.name.endswith("nodeids") for c in a.ints]
    assert len(inner) == 2 * 4  # the third node stands once for each of its parents


REFUSED_REGRESSORS = [
    # node, code, part of the reason
    (regressor(*BOTH, post_transform="PROBIT"), "C204", "PROBIT"),
    (regressor(*THREE, targets=3, post_transform="SOFTMAX_ZERO"), "C204", "SOFTMAX_ZERO"),
    (regressor(*BOTH, post_transform="TANH"), "C103", "post_transform"),
    (regressor(*BOTH, post_transform="SOFTMAX"), "C204", "one target"),
    (regressor(*BOTH, aggregate_function="MEDIAN"), "C103", "aggregate_function"),
    (regressor(*BOTH, targets=0), "C103", "n_targets"),
    (regressor(*BOTH, targets=2, base_values=[1.0, 2.0]), "C204", "no vote"),
    (regressor((0, 1, 0, 1.0), base_values=[1.0]), "C204", "no vote"),
    (regressor(*BOTH, targets=2, aggregate_function="MIN"), "C204", "no vote"),
    (regressor((0, 1, 0, 1.0), aggregate_function="MAX"), "C204", "no vote"),
    (regressor(*BOTH, (1, 1, 0, 1.0), aggregate_function="MIN", **TWO_TREES), "C204", "neutral to MIN"),
    (regressor(*BOTH, base_values=[1.0, 2.0]), "C103", "1 targets"),
    (regressor(*BOTH, BOTH[0]), "C204", "votes twice"),
    (regressor((0, 1, 1, 1.0)), "C103", "target_ids"),
    (regressor((0, 0, 0, 1.0)), "C103", "no leaf"),
    (regressor((5, 1, 0, 1.0)), "C103", "no leaf"),
    (regressor((0, 1, 0, NAN)), "C204", "no numbers"),
    (regressor((0, 1, 0, 3e38), (0, 2, 0, -3e38)), "C204", "so great"),
    (regressor(*BOTH, target_weights=[1.0]), "C103", "lengths"),
    (regressor(*BOTH, target_weights_as_tensor=array("float", [1.0, 2.0])), "C204", "both given"),
    (regressor(*BOTH, target_weights=None, target_weights_as_tensor=array("double", [1, 2])), "C204", "of type double"),
    (regressor(*BOTH, target_weights=None, target_weights_as_tensor=array("float", [[1, 2]])), "C103", "list of"),
    (regressor(*BOTH, nodes_nodeids=[0, 1, 1]), "C103", "one id"),
    (regressor(*BOTH, nodes_values=[1.0]), "C103", "lengths"),
    (regressor(*BOTH, nodes_missing_value_tracks_true=[2, 0, 0]), "C103", "missing"),
    (regressor(*BOTH, nodes_modes=["BRANCH_XOR", "LEAF", "LEAF"]), "C103", "mode"),
    (regressor(*BOTH, nodes_featureids=[-1, 0, 0]), "C103", "negative"),
    (regressor(*BOTH, nodes_truenodeids=[9, 0, 0]), "C103", "branch"),
    (regressor(*BOTH, nodes_truenodeids=[0, 0, 0]), "C204", "only root"),
    (regressor(*BOTH, nodes_truenodeids=[2, 0, 0]), "C204", "only root"),
    (regressor(*BOTH, (1, 2, 0, 1.0), **{**TWO_TREES, "nodes_treeids": [0, 1, 0, 1, 0, 1],
     "nodes_nodeids": [0, 0, 1, 1, 2, 2]}), "C204", "not adjacent"),
    (regressor((0, 3, 0, 1.0), (0, 4, 0, 2.0), (0, 5, 0, 3.0), **{**SHARED, "nodes_truenodeids": [2, 2, 1, 0, 0, 0],
     "nodes_falsenodeids": [3, 5, 4, 0, 0, 0]}), "C103", "below itself"),
]  # fmt: skip
TWO = (0, 1)
REFUSED_CLASSIFIERS = [
    (classifier(*THREE, post_transform="PROBIT"), "C204", "PROBIT"),
    (classifier(*BOTH, labels=("a",)), "C204", "one class"),
    (
        classifier(*BOTH, classlabels_int64s=[1, 2, 3]),
        "C103",
        "classlabels_int64s is given and classlabels_strings is given",
    ),
    (classifier(*THREE[:4]), "C204", "may have no vote"),
    (classifier((0, 1, 0, 1.0), (0, 2, 1, -2.0)), "C204", "may have no vote"),
    (classifier((0, 1, 0, 1.0)), "C204", "may have no vote"),
    (classifier(*THREE, base_values=[1.0]), "C103", "base values"),
    (classifier(*THREE, base_values=[1.0, NAN, 1.0]), "C204", "base values"),
    (classifier(*BOTH, (0, 1, 1, 0.75), (0, 2, 1, 0.25), labels=TWO), "C204", "both of two"),
    (classifier(*BOTH, labels=TWO, base_values=[1.0, 2.0]), "C204", "one of two classes"),
    (classifier((0, 1, 0, 0.5), labels=TWO, base_values=[0.25]), "C204", "one of two classes"),
    (classifier((0, 1, 1, 0.5), (0, 2, 1, 0.25), labels=TWO), "C204", "one of two classes"),
    (classifier(*BOTH, labels=TWO, post_transform="LOGISTIC"), "C204", "one of two classes"),
    (classifier(*NEGATIVE, labels=TWO), "C204", "one of two classes"),
    (classifier(*BOTH, labels=TWO, post_transform="SOFTMAX"), "C204", "one of two classes"),
]


@pytest.mark.parametrize("case", [*REFUSED_REGRESSORS, *REFUSED_CLASSIFIERS], ids=lambda case: f"{case[1]} {case[2]}")
def test_trees_are_refused(case):
    node, code, why = case
    model = ml.model_of(node, 3, "float", ("string", "float")[-len(node.output) :])
    finding = ml.refused(model, 5)
    assert (finding.code, why in finding.why) == (code, True), str(finding)


def test_trees_need_the_type_of_their_input_and_a_default_domain_of_version_7():
    model = ml.model_of(regressor(*BOTH), 3, "float")
    model.graph.input[0].ClearField("type")
    assert ml.refused(model, 5).code == "C203"
    assert ml.refused(ml.model_of(regressor(*BOTH), 3, "float", default=6), 5).code == "C201"


def test_deprecated_trees_come_down_as_they_are():
    before = ml.model_of(regressor(*BOTH), 5, "float")
    assert opset.convert(before, {ml.ML: 1}).graph.node[0] == before.graph.node[0]
    doubles = regressor(*BOTH, target_weights=None, target_weights_as_tensor=array("double", [1, 2]))
    assert opset.convert(ml.model_of(doubles, 5, "double"), {ml.ML: 3}).graph.node[0] == doubles
    assert ml.refused(ml.model_of(doubles, 5, "double"), 1).code == "C204"


def test_a_model_without_the_default_domain_imports_the_one_beside():
    before = ml.model_of(regressor(*BOTH, base_values=[0.5]), 1, "float", default=0)
    after = ml.convert(before, 5)
    assert {entry.domain: entry.version for entry in after.opset_import} == {ml.ML: 5, "": 22}
    x = array("float", POINTS)
    ml.assert_same(ml.by_runtime(after, x), ml.by_hand(before, x))


def test_what_is_made_moves_on_with_the_default_domain():
    node = classifier(*THREE, post_transform="SOFTMAX", base_values=[0.5, 1.0, 0.0])
    before = ml.model_of(node, 1, "double", ("string", "float"), default=8)
    after = opset.convert(before, {"": 21, ml.ML: 5})
    assert {entry.domain: entry.version for entry in after.opset_import} == {"": 21, ml.ML: 5}
    x = array("double", POINTS)
    ml.assert_same(ml.by_runtime(after, x), ml.by_hand(before, x), exact=False)


# Forests.

COLUMNS = ("modes", "featureids", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true")


def forest(rng, trees, depth, features, modes, tracks, vote, numbers):
    """Return the attributes of random trees; `vote` gives the (target, weight) list of a leaf of a tree."""
    nodes = {name: [] for name in ("treeids", "nodeids", *COLUMNS)}
    cast = []
    for tree in range(trees):
        count, pending = 1, [(0, depth)]
        rows = {}
        while pending:
            at, left = pending.pop()
            if left == 0 or rng.random() < 0.2:
                rows[at] = ("LEAF", 0, 0.0, 0, 0, 0)
                cast += [(tree, at, target, weight) for target, weight in vote(rng, tree)]
                continue
            split = rng.choice(numbers)
            rows[at] = (
                rng.choice(modes),
                rng.randrange(features),
                split,
                count,
                count + 1,
                int(tracks and rng.random() < 0.5),
            )
            pending += [(count, left - 1), (count + 1, left - 1)]
            count += 2
        for at in sorted(rows):
            for name, value in zip(("treeids", "nodeids", *COLUMNS), (tree, at, *rows[at]), strict=True):
                nodes[name].append(value)
    given = {f"nodes_{name}": values for name, values in nodes.items()}
    if not tracks:
        del given["nodes_missing_value_tracks_true"]
    return given, cast


SEEDS = st.integers(0, 2**32)
NUMBERS = [-1.0, -0.5, 0.0, 0.5, 1.0, 2.0]


def weight_of(rng, sign):
    low = {"both": -1.0, "positive": 0.0}[sign]
    return float(np.float32(rng.uniform(low, 1.0)))


STYLES = {
    # What exporters write: the classes of a leaf, and the transform that goes with them.
    "random forest": ("positive", "NONE"),
    "boosted trees": ("both", "LOGISTIC"),
    "boosted trees with softmax": ("both", "SOFTMAX"),
}


@settings(max_examples=draws(60))
@given(SEEDS, st.sampled_from(sorted(STYLES)), st.integers(2, 5))
def test_classifiers_as_exporters_write_them(seed, style, classes):
    rng = random.Random(seed)
    sign, transform = STYLES[style]
    if style == "boosted trees with softmax":
        classes = max(classes, 3)
    one = classes == 2

    def vote(rng, tree):
        if style == "random forest" and not one:
            shares = [rng.random() for _ in range(classes)]
            return [(target, float(np.float32(share / sum(shares)))) for target, share in enumerate(shares)]
        return [(0 if one else tree % classes, weight_of(rng, sign))]

    trees = rng.choice([1, 3, 10]) * (1 if one else classes)
    mode = rng.choice(["BRANCH_LEQ", "BRANCH_LT"])
    given, cast = forest(rng, trees, rng.randrange(5), 3, [mode], rng.random() < 0.5, vote, NUMBERS)
    if one and sign == "both":
        cast[0] = (*cast[0][:3], -0.5)
    if style != "random forest":
        given["base_values"] = [weight_of(rng, "both") for _ in range(1 if one else classes)]
    labels = rng.choice([tuple(range(classes)), tuple("abcde"[:classes])])
    node = classifier(*cast, labels=labels, post_transform=transform, **given)
    kind = rng.choice(["float", "float", "double"])
    before = ml.model_of(node, rng.choice([1, 3]), kind, ("string" if isinstance(labels[0], str) else "int64", "float"))
    x = array(kind, [[rng.choice([*NUMBERS, 7.0, NAN]) for _ in range(3)] for _ in range(12)])
    after = ml.convert(before, 5)
    wanted = ml.by_hand(before, x)
    for found in (ml.by_hand(after, x), ml.by_runtime(after, x), ml.by_runtime(before, x)):
        ml.assert_same(found, wanted, transform == "NONE" and kind == "float")


@settings(max_examples=draws(100))
@given(SEEDS)
def test_any_regressor_gives_the_same_or_is_refused(seed):
    rng = random.Random(seed)
    targets, how = rng.choice([1, 2, 4]), rng.choice(["SUM", "AVERAGE", "MIN", "MAX"])
    style = rng.choice(["one", "all", "some"])

    def vote(rng, tree):
        chosen = {
            "one": lambda: [rng.randrange(targets)],
            "all": lambda: rng.sample(range(targets), targets),
            "some": lambda: rng.sample(range(targets), rng.randint(0, targets)),
        }[style]()
        return [(target, weight_of(rng, "both")) for target in chosen]

    modes = rng.choice([[mode] for mode in ml.COMPARISONS] + [list(ml.COMPARISONS)])
    given, cast = forest(rng, rng.choice([1, 2, 7]), rng.randrange(5), 3, modes, rng.random() < 0.5, vote, NUMBERS)
    if not cast:
        cast = [(0, given["nodes_modes"].index("LEAF"), 0, 0.5)]
    if rng.random() < 0.4:
        given["base_values"] = [weight_of(rng, "both") for _ in range(targets)]
    if targets > 1:
        given["post_transform"] = rng.choice(["NONE", "NONE", "SOFTMAX", "LOGISTIC"])
    kind = rng.choice(["float", "double", "int64"])
    node = regressor(*cast, targets=targets, aggregate_function=how, **given)
    before = ml.model_of(node, 3, kind)
    choices = [-1, 0, 1, 2, 7] if kind == "int64" else [*NUMBERS, 7.0, NAN]
    x = array(kind, [[rng.choice(choices) for _ in range(3)] for _ in range(12)])
    try:
        after = ml.convert(before, 5)
    except ConversionError as error:
        assert how in ("MIN", "MAX") or "base_values" in given, str(error)
        assert style != "all", str(error)
        return
    exact = given.get("post_transform", "NONE") == "NONE"
    wanted = ml.by_hand(before, x)
    ml.assert_same(ml.by_hand(after, x), wanted, exact)
    # onnxruntime merges chains of == whose leaves weigh the same, and takes NaN to the true branch of !=.
    if not {"BRANCH_EQ", "BRANCH_NEQ"} & set(given["nodes_modes"]):
        ml.assert_same(ml.by_runtime(after, x), wanted, exact and kind != "double")


# Size.


def chain(length, kind):
    """Return a regressor that is one path of nodes with a leaf at each."""
    modes = ["BRANCH_LEQ", "LEAF"] * length + ["LEAF"]
    size = 2 * length + 1
    return ml.node_of(
        "TreeEnsembleRegressor", n_targets=1, nodes_treeids=[0] * size, nodes_nodeids=[*range(size)],
        nodes_featureids=[0] * size, nodes_modes=modes,
        nodes_values_as_tensor=array(kind, [i // 2 for i in range(size)]),
        nodes_truenodeids=[i + 1 for i in range(size)], nodes_falsenodeids=[i + 2 for i in range(size)],
        target_treeids=[0] * (length + 1), target_nodeids=[*range(1, size, 2), size - 1],
        target_ids=[0] * (length + 1), target_weights_as_tensor=array(kind, [*range(length + 1)]),
    )  # fmt: skip


def test_a_chain_of_many_nodes_and_tensors_beyond_the_size_of_other_constants():
    length = 40_000
    with lines(15_000_000):
        after = ml.convert(ml.model_of(chain(length, "double"), 3, "double"), 5)
    x = array("double", [[-1.0], [3.0], [length + 1.0]])
    ml.assert_same(ml.by_hand(after, x), [np.array([[0], [3], [length]], np.float32)])


def test_nodes_that_double_at_each_level_are_refused_at_once():
    levels = 5000
    size = levels + 1
    node = ml.node_of(
        "TreeEnsembleRegressor", n_targets=1, nodes_treeids=[0] * size, nodes_nodeids=[*range(size)],
        nodes_featureids=[0] * size, nodes_modes=["BRANCH_LEQ"] * levels + ["LEAF"], nodes_values=[0.0] * size,
        nodes_truenodeids=[*range(1, size), 0], nodes_falsenodeids=[*range(1, size), 0],
        target_treeids=[0], target_nodeids=[levels], target_ids=[0], target_weights=[1.0],
    )  # fmt: skip
    with lines(1_000_000):
        finding = ml.refused(ml.model_of(node, 3, "float"), 5)
    assert (finding.code, "more than" in finding.why) == ("C204", True)


# A leaf; and a root with a node, whose one branch is that of the root as well, between leaves 4, 5 and 6.
TREES = Trees(
    "float",
    [0, 1],
    [LEAF, 0, 1, 2, LEAF, LEAF, LEAF],
    [0, 0, 1, 2, 0, 0, 0],
    [0.0, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0],
    [0] * 7,
    ([0, 2, 3, 4, 4, 5, 6], [0, 3, 6, 5, 4, 5, 6]),
    {0: [(0, 0.5)], 4: [(0, 1.0), (1, 2.0), (2, 3.0)], 5: [(1, 4.0)], 6: [(1, 5.0), (0, 6.0)]},
)


def test_nodes_are_charged_as_often_as_they_are_written():
    charged = []
    made = as_ensemble(TREES, True, charged.append)
    # The first tree becomes one node; the other has three votes in a leaf, and a node that is written twice.
    assert charged == [8 * (1 + 3 * 4)]
    assert list(made.attributes["nodes_modes"].raw_data) == [0, *[0, 1, 2, 2] * 3]
    assert (made.copied, made.covered, made.some) == (True, {0, 1}, True)
    assert made.attributes["tree_roots"] == [0, 1, 5, 9]


@pytest.mark.parametrize(("few", "growth", "refused"), [(13, 0, False), (12, 0, True), (0, 1, False), (-2, 1, True)])
def test_trees_that_become_too_large_are_refused(few, growth, refused, monkeypatch):
    """There are 13 nodes to be written; the trees have 7 nodes and 7 votes."""
    monkeypatch.setattr("opset.adapters.families.ml_trees.MAX_NODES", few)
    monkeypatch.setattr("opset.adapters.families.ml_trees.MAX_GROWTH", growth)
    charged = []
    if refused:
        with pytest.raises(Refusal, match=f"more than {few + 14 * growth} nodes"):
            as_ensemble(TREES, True, charged.append)
    else:
        as_ensemble(TREES, True, charged.append)
    assert charged == ([] if refused else [8 * 13])


# Whatever an attribute holds.

VALUES = {
    "int": st.sampled_from([0, 1, 2, -1, 3, 2**63 - 1, -(2**63)]),
    "float": st.sampled_from([0.0, -0.0, 1.0, NAN, float("inf"), -2.5]),
    "string": st.sampled_from([b"LEAF", b"BRANCH_LEQ", b"a", b"b", b"", b"\xff", b"SUM", b"MIN", b"NONE", b"LOGISTIC"]),
}
ELEMENTS = st.sampled_from([np.float32, np.float64, np.int64, np.int32, np.int16, np.uint8, object])


@st.composite
def odd_tensors(draw):
    if draw(st.booleans()):
        return onnx.TensorProto(dims=[draw(VALUES["int"])], data_type=draw(st.integers(0, 99)), raw_data=b"abc")
    kind, shape = draw(ELEMENTS), draw(st.sampled_from([(), (0,), (1,), (2,), (3,), (1, 3)]))
    size = int(np.prod(shape))
    values = draw(st.lists(VALUES["string"] if kind is object else st.integers(0, 3), min_size=size, max_size=size))
    return numpy_helper.from_array(np.array(values, kind).reshape(shape))


WHOLE = [
    (ml.node_of("LabelEncoder", classes_strings=["a", "b", "c"]), 1),
    (ml.node_of("LabelEncoder", keys_strings=["a", "b", "c"], values_int64s=[0, 1, 2]), 2),
    (ml.node_of("LabelEncoder", keys_floats=[0.0, 1.0, NAN], values_tensor=array("double", [1, 2, 3])), 4),
    (regressor(*THREE, targets=3, base_values=[1.0, 2.0, 3.0], nodes_missing_value_tracks_true=[1, 0, 1]), 3),
    (classifier(*THREE), 3),
    (classifier(*NEGATIVE, labels=(0, 1), post_transform="LOGISTIC"), 3),
]


@settings(max_examples=draws(300))
@given(st.data())
def test_whatever_attributes_hold_no_other_exception_escapes(data):
    whole, version = data.draw(st.sampled_from(WHOLE))
    node = onnx.NodeProto()
    node.CopyFrom(whole)
    declared = opset.get_schema(node.op_type, version, ml.ML).attributes
    for name in data.draw(st.lists(st.sampled_from(sorted(declared)), min_size=1, max_size=3, unique=True)):
        kind = declared[name].type
        if kind == "tensor":
            value = data.draw(odd_tensors())
        elif kind.endswith("s"):
            value = data.draw(st.lists(VALUES[kind[:-1]], max_size=4))
        else:
            value = data.draw(VALUES[kind])
        for index in reversed(range(len(node.attribute))):
            if node.attribute[index].name == name:
                del node.attribute[index]
        number = onnx.AttributeProto.AttributeType.Value(kind.upper())
        node.attribute.append(helper.make_attribute(name, value, attr_type=number))
    element = data.draw(st.sampled_from(sorted(ml.KINDS)))
    model = ml.model_of(node, version, element, ("float",) * len(node.output))
    for to in {1: [2, 4], 2: [1, 4], 3: [5], 4: [2, 1]}[version]:
        try:
            opset.convert(model, {ml.ML: to})
        except (ConversionError, ModelError) as error:
            assert error.findings
