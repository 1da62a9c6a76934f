"""Draws nodes of the domain ai.onnx.ml, beside the trees and encoders of `judges.fuzz.drawing.networks`."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import numpy_helper

from judges.fuzz.drawing.nodes import DTYPES, Argument, Draw, Given, Mapped, draws

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def numbers(d: Draw, count: int) -> list[float]:
    return [d.pick(0.5, -1.0, 2.0, 0.25, -0.3, 1.1) for _ in range(count)]


@draws("ArrayFeatureExtractor")
def features_at(d: Draw) -> list[Given]:
    shape = [*d.shape(None, 0, 2), d.sizes.randint(1, 5)]
    where = d.values.integers(0, shape[-1], [d.sizes.randint(1, 4)])
    return [d.data(0, shape), Argument(where, "int64", d.chance(0.5))]


@draws("Scaler")
def scaler(d: Draw) -> list[Given]:
    width = d.structure.randint(1, 4)
    scales, offsets = (d.pick(1, width) for _ in range(2))
    d.attributes["scale"], d.attributes["offset"] = numbers(d, scales), numbers(d, offsets)
    return [d.tame(0, [d.sizes.randint(1, 3), width])]


@draws("Imputer")
def imputer(d: Draw) -> list[Given]:
    x = d.data(0, [d.sizes.randint(1, 3), width := d.structure.randint(1, 4)], "float", "int64")
    count = d.pick(1, width)
    if x.element == "float":
        d.attributes["imputed_value_floats"] = numbers(d, count)
        d.attr("replaced_value_float", 0.5, float("nan"), 1.0)
    else:
        d.attributes["imputed_value_int64s"] = [d.pick(7, -7, 0) for _ in range(count)]
        d.attr("replaced_value_int64", 0, 1, -1)
    return [x]


@draws("FeatureVectorizer")
def feature_vectorizer(d: Draw) -> list[Given]:
    rows, widths = d.sizes.randint(1, 3), [d.structure.randint(1, 3) for _ in range(d.structure.randint(1, 3))]
    d.attributes["inputdimensions"] = widths
    return [d.data(0, [rows, width]) for width in widths]


@draws("CategoryMapper")
def category_mapper(d: Draw) -> list[Given]:
    words = ["a", "b", "Ab", "", "x y"][: d.structure.randint(1, 5)]
    d.attributes["cats_strings"] = words
    d.attributes["cats_int64s"] = [d.structure.randint(-3, 5) for _ in words]
    d.state(default_string=("z",), default_int64=(-9,))
    kind = d.pick("string", "int64")
    return [Argument(d.array(kind, d.shape(None, 1, 3), -3, 6), kind)]


@draws("Binarizer")
def binarizer(d: Draw) -> list[Given]:
    d.attr("threshold", 0.0, 0.5, -1.0, 2.0)
    return [d.data(0, d.shape(None, 1, 3))]


@draws("Normalizer")
def normalizer(d: Draw) -> list[Given]:
    d.attr("norm", "MAX", "L1", "L2")
    x = d.tame(0, [*([d.size()] if d.chance(0.8) else []), d.sizes.randint(1, 4)])
    return [Argument(np.zeros_like(x.value), x.element) if d.chance(0.1) else x]


@draws("OneHotEncoder")
def one_hot_encoder(d: Draw) -> list[Given]:
    kind = d.element(0)
    if kind == "string":
        d.attributes["cats_strings"] = ["a", "b", "Ab", "1"][: d.structure.randint(1, 4)]
    else:
        d.attributes["cats_int64s"] = d.structure.sample(range(-2, 5), d.structure.randint(1, 5))
    d.attr("zeros", 1, 1, 1, 0)
    return [Argument(d.array(kind, d.shape(None, 1, 2)), kind)]


@draws("CastMap")
def cast_map(d: Draw) -> list[Given]:
    d.attributes["cast_to"] = d.pick("TO_FLOAT", "TO_INT64", "TO_STRING")
    keys = d.structure.sample(range(8), d.structure.randint(1, 4))
    if d.attr("map_form", "DENSE", "SPARSE") == "SPARSE":
        d.attributes["max_map"] = d.pick(8, 9)
    if d.chance(0.5):
        return [Mapped({key: d.pick("1", "2.5", "-3") for key in keys}, "int64", "string")]
    return [Mapped({key: d.pick(1.0, 2.5, -3.25) for key in keys}, "int64", "float")]


@draws("DictVectorizer")
def dict_vectorizer(d: Draw) -> list[Given]:
    keys, values = d.pick(
        ("string", "int64"),
        ("string", "float"),
        ("string", "double"),
        ("int64", "float"),
        ("int64", "double"),
        ("int64", "string"),
    )
    words: list[Any] = ["a", "b", "Ab", "x y", "z"] if keys == "string" else [0, 1, 5, -3, 2**40]
    vocabulary = d.structure.sample(words, d.structure.randint(1, 5))
    d.attributes["string_vocabulary" if keys == "string" else "int64_vocabulary"] = vocabulary
    held: dict[str, list[Any]] = {"int64": [1, -2], "float": [0.5, -1.0], "double": [0.1, 2.0], "string": ["a", "é"]}
    return [
        Mapped({k: d.pick(*held[values]) for k in words if d.chance(0.6)} or {words[0]: held[values][0]}, keys, values)
    ]


@draws("ZipMap")
def zip_map(d: Draw) -> list[Given]:
    count = d.structure.randint(1, 4)
    if d.chance(0.5):
        d.attributes["classlabels_strings"] = ["a", "b", "Ab", "x y"][:count]
    else:
        d.attributes["classlabels_int64s"] = [3, -1, 0, 7][:count]
    return [d.data(0, [d.sizes.randint(1, 3), count] if d.chance(0.8) else [count])]


def labels(d: Draw, count: int, integers: str) -> None:
    """State the labels of classes."""
    if d.chance(0.5):
        d.attributes[integers] = [5, -1, 0, 7, 2][:count]
    else:
        d.attributes["classlabels_strings"] = ["a", "b", "Ab", "x y", "c"][:count]


@draws("LinearClassifier")
def linear_classifier(d: Draw) -> list[Given]:
    width, classes = d.structure.randint(1, 3), d.structure.randint(2, 4)
    rows = 1 if classes == 2 and d.chance(0.5) else classes
    d.attributes["coefficients"] = numbers(d, rows * width)
    if d.chance(0.7):
        d.attributes["intercepts"] = numbers(d, rows)
    labels(d, classes, "classlabels_ints")
    d.attr("multi_class", 0, 1)
    d.attributes["post_transform"] = d.pick(*TRANSFORMS)
    d.attributes["__outputs"] = 2
    return [d.tame(0, [d.sizes.randint(1, 3), width])]


@draws("LinearRegressor")
def linear_regressor(d: Draw) -> list[Given]:
    width, targets = d.structure.randint(1, 3), d.structure.randint(1, 3)
    d.attributes["targets"] = targets
    d.attributes["coefficients"] = numbers(d, targets * width)
    if d.chance(0.7):
        d.attributes["intercepts"] = numbers(d, targets)
    d.attr("post_transform", "NONE", "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")
    return [d.tame(0, [d.sizes.randint(1, 3), width], "float")]


def kernel_of(d: Draw) -> None:
    """State the kernel of a support vector machine."""
    d.attributes["kernel_type"] = d.pick("LINEAR", "POLY", "RBF", "SIGMOID")
    d.attributes["kernel_params"] = [d.pick(0.5, 0.1), d.pick(0.0, 0.3), d.pick(1.0, 2.0, 3.0)]


@draws("SVMRegressor")
def svm_regressor(d: Draw) -> list[Given]:
    width, count = d.structure.randint(1, 3), d.pick(0, 1, 3)
    kernel_of(d)
    d.attributes["n_supports"] = count
    if count:
        d.attributes["support_vectors"] = numbers(d, count * width)
    d.attributes["coefficients"] = numbers(d, count or width)
    d.attributes["rho"] = numbers(d, 1)
    d.attr("one_class", 0, 1)
    return [d.tame(0, [d.sizes.randint(1, 3), width], "float")]


@draws("SVMClassifier")
def svm_classifier(d: Draw) -> list[Given]:
    width, classes = d.structure.randint(1, 3), d.structure.randint(2, 4)
    kernel_of(d)
    pairs = classes * (classes - 1) // 2
    if d.chance(0.75):
        each = [d.structure.randint(1, 2) for _ in range(classes)]
        d.attributes["vectors_per_class"] = each
        d.attributes["support_vectors"] = numbers(d, sum(each) * width)
        d.attributes["coefficients"] = numbers(d, sum(each) * (classes - 1))
        d.attributes["rho"] = numbers(d, pairs)
        if d.chance(0.4):
            d.attributes["prob_a"], d.attributes["prob_b"] = numbers(d, pairs), numbers(d, pairs)
    else:
        d.attributes["coefficients"] = numbers(d, classes * width)
        d.attributes["rho"] = numbers(d, 1)
    labels(d, classes, "classlabels_ints")
    d.attributes["post_transform"] = d.pick("NONE", *TRANSFORMS)
    d.attributes["__outputs"] = 2
    return [d.tame(0, [d.sizes.randint(1, 3), width])]


@draws("TreeEnsemble")
def tree_ensemble(d: Draw) -> list[Given]:
    features, targets, kind = d.structure.randint(1, 3), d.structure.randint(1, 3), d.element(0)
    nodes: list[list[Any]] = []
    leaves: list[tuple[float, int]] = []
    member: list[float] = []
    roots = []

    def leaf() -> int:
        leaves.append((d.pick(0.5, -1.5, 2.0, 0.1), d.structure.randrange(targets)))
        return len(leaves) - 1

    def node(depth: int) -> int:
        mode = d.pick(0, 0, 1, 2, 3, 4, 5, 6)
        row = [d.structure.randrange(features), d.pick(0.5, -1.0, 0.0, 1.5), mode, 0, 0, 0, 0, d.pick(0, 1)]
        number = len(nodes)
        nodes.append(row)
        if mode == 6:
            member.extend([*d.structure.sample([0.0, 0.5, 1.0, -1.5, 2.0], d.structure.randint(1, 3)), float("nan")])
        for side in (3, 5):
            last = depth == 0 or d.chance(0.3)
            row[side], row[side + 1] = (1, leaf()) if last else (0, node(depth - 1))
        return number

    for _ in range(d.structure.randint(1, 3)):
        roots.append(node(d.structure.randint(0, 2)))
    columns = list(zip(*nodes, strict=True))
    dtype = DTYPES[kind]
    d.attributes |= {
        "tree_roots": roots,
        "n_targets": targets,
        "nodes_featureids": list(columns[0]),
        "nodes_modes": numpy_helper.from_array(np.array(columns[2], np.uint8)),
        "nodes_splits": numpy_helper.from_array(np.array(columns[1], dtype)),
        "nodes_trueleafs": list(columns[3]),
        "nodes_truenodeids": list(columns[4]),
        "nodes_falseleafs": list(columns[5]),
        "nodes_falsenodeids": list(columns[6]),
        "leaf_targetids": [target for _, target in leaves],
        "leaf_weights": numpy_helper.from_array(np.array([weight for weight, _ in leaves], dtype)),
    }
    if member:
        d.attributes["membership_values"] = numpy_helper.from_array(np.array(member, dtype))
    if d.chance(0.5):
        d.attributes["nodes_missing_value_tracks_true"] = list(columns[7])
    d.state(aggregate_function=(0, 1, 2, 3), post_transform=(0, 0, 1, 2, 3, 4))
    d.special = d.chance(0.2)
    return [d.data(0, [d.sizes.randint(1, 4), features])]
