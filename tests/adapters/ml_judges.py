"""Models of one node of ai.onnx.ml, their conversion, and two judges: onnxruntime, and plain Python by the standard.

The latter goes one row and one tree at a time. It stands in for the onnx package's own evaluator, which leaves out
post_transform, types and defaults of some of these operators.
"""

import itertools
import operator

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

import opset
from opset.errors import ConversionError

ML = "ai.onnx.ml"
NAN = float("nan")
KINDS = {
    "float": (TensorProto.FLOAT, np.float32),
    "double": (TensorProto.DOUBLE, np.float64),
    "int64": (TensorProto.INT64, np.int64),
    "int32": (TensorProto.INT32, np.int32),
    "int16": (TensorProto.INT16, np.int16),
    "string": (TensorProto.STRING, object),
}


def convert(model, to):
    after = opset.convert(model, {ML: to})
    assert {entry.domain: entry.version for entry in after.opset_import}[ML] == to
    onnx.checker.check_model(after, full_check=True)
    return after


def refused(model, to):
    with pytest.raises(ConversionError) as caught:
        opset.convert(model, {ML: to})
    (finding,) = caught.value.findings
    return finding


def operators(model):
    return [node.op_type for node in model.graph.node if node.op_type != "Constant"]


def array(kind, values):
    return np.array(values, KINDS[kind][1])


def node_of(op_type, outputs=("y",), **attributes):
    node = helper.make_node(op_type, ["x"], list(outputs), domain=ML)
    for name, value in attributes.items():
        tensor = isinstance(value, np.ndarray)
        if tensor or value not in (None, []):
            node.attribute.append(helper.make_attribute(name, numpy_helper.from_array(value) if tensor else value))
    return node


def model_of(node, version, kind, kinds=("float",), rank=2, default=17):
    """Return a model of the node; `kind` and `kinds` are the types of its input and outputs."""
    values = []
    for name, each in (("x", kind), *zip(node.output, kinds, strict=True)):
        labels = node.op_type == "TreeEnsembleClassifier" and name == "y"
        shape = [None] * (1 if labels else rank)
        values += [helper.make_tensor_value_info(name, KINDS[each][0], shape)] if name else []
    graph = helper.make_graph([node], "g", values[:1], values[1:])
    imports = [helper.make_opsetid(ML, version)]
    if default:
        imports.append(helper.make_opsetid("", default))
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


class LabelEncoder(OpRun):
    op_domain = ML

    def _run(self, x, classes_strings=None, **given):
        if classes_strings and x.dtype.kind not in "iu":
            return self._look_up(x, dict(zip(classes_strings, itertools.count())), given["default_int64"], np.int64)
        if classes_strings:
            return self._look_up(x, dict(enumerate(classes_strings)), given["default_string"], object)
        lists = {"floats": ("float", np.float32), "int64s": ("int64", np.int64), "strings": ("string", object)}
        keys = [values for name, values in given.items() if name.startswith("keys_") and values is not None]
        values = [(name, values) for name, values in given.items() if name.startswith("values_") and values is not None]
        ((name, found),) = values
        if name == "values_tensor":
            kind, default = found.dtype, given["default_tensor"]
            if default is None:
                default = {"O": "_Unused", "U": "_Unused", "i": -1, "f": -0.0}[kind.kind]
            default = np.asarray(default).ravel().tolist()[0]
        else:
            default, kind = given[f"default_{lists[name[7:]][0]}"], lists[name[7:]][1]
        return self._look_up(x, {_key(key): value for key, value in zip(*keys, found, strict=True)}, default, kind)

    def _look_up(self, x, table, default, kind):
        found = [table.get(_key(value), default) for value in x.ravel().tolist()]
        return (np.array(found, kind).reshape(x.shape),)


def _key(value):
    return "NaN" if value != value else value


class CategoryMapper(OpRun):
    op_domain = ML

    def _run(self, x, cats_int64s=None, cats_strings=None, default_int64=None, default_string=None):
        if x.dtype.kind in "iu":
            table, default, kind = dict(zip(cats_int64s, cats_strings, strict=True)), default_string, object
        else:
            table, default, kind = dict(zip(cats_strings, cats_int64s, strict=True)), default_int64, np.int64
        return (np.array([table.get(value, default) for value in x.ravel().tolist()], kind).reshape(x.shape),)


COMPARISONS = {
    "BRANCH_LEQ": operator.le,
    "BRANCH_LT": operator.lt,
    "BRANCH_GTE": operator.ge,
    "BRANCH_GT": operator.gt,
    "BRANCH_EQ": operator.eq,
    "BRANCH_NEQ": operator.ne,
}
BY_NUMBER = list(COMPARISONS.values())


def aggregate(rows, targets, kind, how, trees):
    """Return the totals of each row's votes, (target, weight) in order, as numbers of that kind."""
    totals = np.zeros((len(rows), targets), kind)
    for total, votes in zip(totals, rows, strict=True):
        for target in range(targets):
            own = [kind.type(weight) for at, weight in votes if at == target]
            if how in ("MIN", "MAX"):
                total[target] = {"MIN": min, "MAX": max}[how](own, default=0)
                continue
            for weight in own:
                total[target] += weight
        if how == "AVERAGE":
            total /= kind.type(trees)
    return totals


def old_votes(x, prefix, given):
    """Return the votes of each row in the trees of TreeEnsembleClassifier and TreeEnsembleRegressor."""

    def numbers(name):
        return given[name] if given[name] is not None else given[f"{name}_as_tensor"]

    names = ("modes", "featureids", "truenodeids", "falsenodeids")
    missing = given["nodes_missing_value_tracks_true"]
    ids = list(zip(given["nodes_treeids"], given["nodes_nodeids"], strict=True))
    entries = zip(
        *(given[f"nodes_{name}"] for name in names), numbers("nodes_values"), missing or [0] * len(ids), strict=True
    )
    nodes = dict(zip(ids, entries, strict=True))
    votes = {}
    for tree, leaf, target, weight in zip(
        given[f"{prefix}_treeids"],
        given[f"{prefix}_nodeids"],
        given[f"{prefix}_ids"],
        numbers(f"{prefix}_weights"),
        strict=True,
    ):
        votes.setdefault((tree, leaf), []).append((target, weight))
    roots = dict(reversed(ids))
    rows = []
    for row in x:
        rows.append([])
        for tree, at in sorted(roots.items(), key=lambda entry: ids.index(entry)):
            while nodes[tree, at][0] != "LEAF":
                mode, feature, true, false, split, track = nodes[tree, at]
                holds = track if np.isnan(row[feature]) else COMPARISONS[mode](row[feature], x.dtype.type(split))
                at = true if holds else false
            rows[-1] += votes.get((tree, at), [])
    return rows, len(roots)


def transformed(scores, transform):
    with np.errstate(all="ignore"):
        if transform == "SOFTMAX":
            powers = np.exp(scores - scores.max(axis=1, keepdims=True))
            return powers / powers.sum(axis=1, keepdims=True)
        return 1 / (1 + np.exp(-scores)) if transform == "LOGISTIC" else scores


def base_of(given, kind):
    base = given["base_values"] if given["base_values"] is not None else given["base_values_as_tensor"]
    return kind.type(0) if base is None else np.asarray(base, kind)


class TreeEnsembleRegressor(OpRun):
    op_domain = ML

    def _run(self, x, **given):
        x = x.astype(np.float32) if x.dtype.kind == "i" else x
        rows, trees = old_votes(x, "target", given)
        scores = aggregate(rows, given["n_targets"], x.dtype, given["aggregate_function"], trees)
        return (transformed(scores + base_of(given, x.dtype), given["post_transform"]).astype(np.float32),)


class TreeEnsembleClassifier(OpRun):
    op_domain = ML

    def _run(self, x, **given):
        x = x.astype(np.float32) if x.dtype.kind == "i" else x
        labels = np.array(given["classlabels_int64s"] or given["classlabels_strings"])
        rows, _ = old_votes(x, "class", given)
        one = len(labels) == 2 and len(set(given["class_ids"])) == 1
        scores = aggregate(rows, 1 if one else len(labels), x.dtype, "SUM", 0) + base_of(given, x.dtype)
        if one:
            first = -scores if given["post_transform"] == "LOGISTIC" else 1 - scores
            scores = np.concatenate([first, scores], axis=1)
        return labels[scores.argmax(axis=1)], transformed(scores, given["post_transform"]).astype(np.float32)


class TreeEnsemble(OpRun):
    op_domain = ML

    def _run(self, x, **given):
        assert given["post_transform"] == 0
        track = given["nodes_missing_value_tracks_true"] or [0] * len(given["nodes_modes"])
        sides = [
            (given["nodes_falsenodeids"], given["nodes_falseleafs"]),
            (given["nodes_truenodeids"], given["nodes_trueleafs"]),
        ]
        rows = []
        for row in x:
            rows.append([])
            for at in given["tree_roots"]:
                leaf = 0
                while not leaf:
                    value = row[given["nodes_featureids"][at]]
                    holds = BY_NUMBER[given["nodes_modes"][at]](value, given["nodes_splits"][at])
                    to, leaves = sides[int(track[at] if np.isnan(value) else holds)]
                    at, leaf = to[at], leaves[at]
                rows[-1].append((given["leaf_targetids"][at], given["leaf_weights"][at]))
        how = ("AVERAGE", "SUM", "MIN", "MAX")[given["aggregate_function"]]
        return (aggregate(rows, given["n_targets"], x.dtype, how, len(given["tree_roots"])),)


BY_HAND = [LabelEncoder, CategoryMapper, TreeEnsembleRegressor, TreeEnsembleClassifier, TreeEnsemble]


def by_hand(model, x):
    return ReferenceEvaluator(model, new_ops=BY_HAND).run(None, {"x": x})


def by_runtime(model, x):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return session.run(None, {"x": x})


def assert_same(found, wanted, exact=True):
    for have, want in zip(found, wanted, strict=True):
        assert have.shape == want.shape
        if have.dtype.kind == "f" and not exact:
            np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-6)
        else:
            np.testing.assert_array_equal(have, want)
