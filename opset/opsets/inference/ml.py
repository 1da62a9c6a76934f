"""Classical machine learning, the domain ai.onnx.ml: rows of features become labels, scores, categories and maps."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from opset.opsets.inference import infer
from opset.opsets.inference.agreement import check_choice
from opset.opsets.inference.call import Call, Violation
from opset.opsets.inference.dims import Size, equal, multiplied, product
from opset.opsets.inference.types import MAX_RANK, Shape, Type, sequence, tensor
from opset.opsets.values import element_name

ML = "ai.onnx.ml"
ml = partial(infer, domain=ML)

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")
MODES = frozenset("BRANCH_LEQ BRANCH_LT BRANCH_GTE BRANCH_GT BRANCH_EQ BRANCH_NEQ LEAF".split())


# What several have in common


def _count(call: Call, attribute: str) -> int:
    """Give the length of a list, 0 where there is none."""
    return len(call.attribute(attribute) or ())


def _rows(call: Call, label: str = "C1") -> tuple[Size | None, Size | None]:
    """Give the numbers of rows and features of the first input, [N, C] or one row [C]."""
    shape = call.shape(0)
    if shape is None:
        return None, None
    if len(shape) not in (1, 2):
        raise Violation(label, f"rank {len(shape)}")
    return (1, shape[0]) if len(shape) == 1 else (shape[0], shape[1])


def _labels(call: Call, strings: str, integers: str, label: str) -> tuple[str, int]:
    """Give the element type and the number of the labels: of the one list of the two that is given."""
    names, numbers = _count(call, strings), _count(call, integers)
    if bool(names) == bool(numbers):
        raise Violation(label, f"{names} strings and {numbers} integers are given")
    return ("string", names) if names else ("int64", numbers)


def _classified(call: Call, element: str, rows: Size | None, scores: int) -> list[Type]:
    """Give the types of a classifier's outputs: a label for each row, and its scores."""
    return [tensor(element, (rows,)), tensor("float", (rows, scores))]


def _one_or_each(call: Call, count: int, label: str, what: str) -> None:
    """Raise Violation where there is neither one value nor one for each entry of the last dimension."""
    shape = call.shape(0)
    columns = None if shape is None else shape[-1] if shape else 1
    if count != 1 and equal(columns, count) is False:
        raise Violation(label, f"{count} {what} for {columns} features")


def _size_of(tensor: Any) -> int:
    """Give the number of elements of a tensor in an attribute, 0 where there is none."""
    dims = tensor.dims if tensor is not None else (0,)
    if len(dims) > MAX_RANK or any(size < 0 for size in dims):
        raise Violation("", f"a tensor of rank {len(dims)}, or with a size below 0")
    count = product(dims)
    assert isinstance(count, int)
    return count


# Encoding


@ml("ArrayFeatureExtractor")
def array_feature_extractor(call: Call) -> Shape:
    """Give the shape of X with the number of positions in place of its last size; a single row is kept as one."""
    positions = call.shape(1)
    chosen = None if positions is None else multiplied(positions)
    if chosen == 0:
        raise Violation("C1", "there are no positions")
    shape = call.known(0)
    if not shape:
        raise Violation("C2", "X has no entries")
    columns = shape[-1]
    for each in call.elements(1) or ():
        if isinstance(each, int) and (each < 0 or (isinstance(columns, int) and each >= columns)):
            raise Violation("C2", f"position {each}, and {columns} entries")
    return ((1,) if len(shape) == 1 else shape[:-1]) + (chosen,)


@ml("CastMap")
def cast_map(call: Call) -> Type:
    """Give one row of as many elements as the map has, or as `max_map` says."""
    elements = {"TO_FLOAT": "float", "TO_STRING": "string", "TO_INT64": "int64"}
    check_choice(call, "cast_to", tuple(elements), "C1")
    check_choice(call, "map_form", ("DENSE", "SPARSE"), "C1")
    count = call.attribute("max_map") if call.attribute("map_form") == "SPARSE" else None
    return tensor(elements[call.attribute("cast_to")], (1, count))


def _translated(call: Call) -> Type:
    """Give the type of integers for strings, or of strings for integers."""
    return tensor({"string": "int64", "int64": "string"}.get(call.element(0) or ""), call.shape(0))


@ml("CategoryMapper")
def category_mapper(call: Call) -> Type:
    """Give the type that two lists in step translate X to."""
    integers, strings = _count(call, "cats_int64s"), _count(call, "cats_strings")
    if integers != strings:
        raise Violation("C1", f"{integers} integers and {strings} strings")
    return _translated(call)


@ml("DictVectorizer")
def dict_vectorizer(call: Call) -> Type:
    """Give one row of the map's values, in the order of the vocabulary."""
    _, count = _labels(call, "string_vocabulary", "int64_vocabulary", "C1")
    map_ = call.type(0)
    return tensor(map_.inner.element if map_ is not None and map_.inner is not None else None, (1, count))


@ml("FeatureVectorizer")
def feature_vectorizer(call: Call) -> Shape:
    """Give as many rows as all inputs have, and the features of all of them, or as many as `inputdimensions` says."""
    dimensions = call.attribute("inputdimensions")
    if dimensions is not None and (len(dimensions) != call.input_count or min(dimensions, default=0) < 0):
        raise Violation("C1", f"inputdimensions {list(dimensions[:8])}, {call.input_count} inputs")
    rows: Size | None = None
    columns: list[Size] = []
    for place in range(call.input_count):
        shape = call.shape(place)
        if shape is not None:
            rows = call.same(rows, shape[0] if len(shape) > 1 else 1, "C2", "the number of rows")
            columns.append(product(shape[1:] if len(shape) > 1 else shape))
    if dimensions is not None:
        return rows, sum(dimensions)
    return rows, sum(columns) if len(columns) == call.input_count else None


@ml("Imputer")
def imputer(call: Call) -> Shape:
    """Give the shape of X."""
    element = call.element(0)
    if element is not None:
        name = "imputed_value_floats" if element in ("float", "double") else "imputed_value_int64s"
        _one_or_each(call, _count(call, name), "C1", "replacements")
    return call.known(0)


@ml("LabelEncoder")
def label_encoder_of_classes(call: Call) -> Type:
    """Give the type of positions in a list of strings, or of strings at positions."""
    return _translated(call)


@ml("LabelEncoder", since=2)
def label_encoder(call: Call) -> Type:
    """Give the shape of X, with elements of the one form of values that is given."""
    (keys, key_count), (values, value_count) = _encoded(call, "keys"), _encoded(call, "values")
    if key_count != value_count:
        raise Violation("C2", f"{key_count} keys and {value_count} values")
    element = call.element(0)
    if None not in (keys, element) and keys != element:
        raise Violation("C3", f"keys of {keys} for elements of {element}")
    default = call.attribute("default_tensor")
    if default is not None and call.attribute("values_tensor") is not None:
        given = element_name(default.data_type)
        if _size_of(default) != 1 or given != values:
            raise Violation("C4", f"default_tensor of {_size_of(default)} elements of {given}")
    return tensor(values, call.shape(0))


def _encoded(call: Call, what: str) -> tuple[str | None, int]:
    """Give the element type and the number of keys or values: of the one form that is given."""
    forms: list[tuple[str | None, int]] = [
        (element, _count(call, f"{what}_{element}s")) for element in ("float", "int64", "string")
    ]
    tensor = call.attribute(f"{what}_tensor")
    if tensor is not None:
        forms.append((element_name(tensor.data_type), _size_of(tensor)))
    given = [form for form in forms if form[1]]
    if len(given) != 1:
        raise Violation("C1", f"{len(given) or 'none'} of the forms of {what} are given")
    return given[0]


@ml("OneHotEncoder")
def one_hot_encoder(call: Call) -> Shape:
    """Give the shape of X with one more dimension, of as many entries as there are categories."""
    categories, count = _labels(call, "cats_strings", "cats_int64s", "C1")
    element = call.element(0)
    if element is not None and (element == "string") != (categories == "string"):
        raise Violation("C1", f"categories are {categories}s, and X is of {element}")
    return (*call.known(0), count)


@ml("ZipMap")
def zip_map(call: Call) -> Type | None:
    """Give a sequence of maps from labels to scores."""
    element, count = _labels(call, "classlabels_strings", "classlabels_int64s", "C1")
    _, columns = _rows(call, "C2")
    if equal(columns, count) is False:
        raise Violation("C2", f"{count} labels for {columns} columns")
    return sequence(Type("map", element, None, tensor("float", ())))


# Linear models and support vector machines


@ml("Normalizer")
def normalizer(call: Call) -> Shape:
    """Give the shape of X."""
    check_choice(call, "norm", ("MAX", "L1", "L2"), "C1")
    return call.known(0)


@ml("Scaler")
def scaler(call: Call) -> Shape:
    """Give the shape of X."""
    for name in ("offset", "scale"):
        if count := _count(call, name):
            _one_or_each(call, count, "C1", f"values of {name}")
    return call.known(0)


def _fit(call: Call, name: str, count: int, by: Size | None, label: str) -> None:
    """Raise Violation where an attribute does not hold so many rows of so many numbers."""
    given = _count(call, name)
    if by is not None and equal(by * count, given) is False:
        raise Violation(label, f"{given} {name} for {count} rows of {by}")


@ml("LinearRegressor")
def linear_regressor(call: Call) -> Shape:
    """Give one row of `targets` predictions for each row."""
    rows, features = _rows(call)
    targets, intercepts = call.attribute("targets"), _count(call, "intercepts")
    if targets < 1:
        raise Violation("C2", f"{targets} targets")
    _fit(call, "coefficients", targets, features, "C2")
    if intercepts not in (0, targets):
        raise Violation("C2", f"{intercepts} intercepts for {targets} targets")
    check_choice(call, "post_transform", TRANSFORMS, "C3")
    return rows, targets


@ml("LinearClassifier")
def linear_classifier(call: Call) -> list[Type]:
    """Give a label for each row, and a score for each label, even where one row of coefficients tells two apart."""
    element, labels = _labels(call, "classlabels_strings", "classlabels_ints", "C4")
    rows, features = _rows(call)
    numbers, intercepts = _count(call, "coefficients"), _count(call, "intercepts")
    if isinstance(features, int):
        models = numbers // features if features else labels
        if models < 1 or numbers != models * features:
            raise Violation("C2", f"{numbers} coefficients, {features} features")
        if intercepts not in (0, models):
            raise Violation("C2", f"{intercepts} intercepts for {models} rows of coefficients")
        if models != labels and (models, labels) != (1, 2):
            raise Violation("C5", f"{models} rows of coefficients for {labels} labels")
    check_choice(call, "post_transform", TRANSFORMS, "C3")
    return _classified(call, element, rows, labels)


@ml("SVMRegressor")
def svm_regressor(call: Call) -> Shape:
    """Give one prediction for each row."""
    rows, features = _rows(call)
    supports, weights = call.attribute("n_supports"), _count(call, "coefficients")
    if supports > 0:
        if weights != supports:
            raise Violation("C2", f"{weights} coefficients for {supports} support vectors")
        _fit(call, "support_vectors", supports, features, "C2")
        check_choice(call, "kernel_type", KERNELS, "C3")
    else:
        _fit(call, "coefficients", 1, features, "C2")
    check_choice(call, "post_transform", TRANSFORMS, "C4")
    return rows, 1


@ml("SVMClassifier")
def svm_classifier(call: Call) -> list[Type]:
    """Give a label for each row, and scores: of the classes, or of their pairs where no probabilities are wanted."""
    element, labels = _labels(call, "classlabels_strings", "classlabels_ints", "C5")
    rows, features = _rows(call)
    counts = call.attribute("vectors_per_class") or ()
    check_choice(call, "post_transform", TRANSFORMS, "C4")
    if not sum(counts):
        _fit(call, "coefficients", labels, features, "C2")
        return _classified(call, element, rows, labels)
    vectors, classes = sum(counts), len(counts)
    pairs = classes * (classes - 1) // 2
    first, second = _count(call, "prob_a"), _count(call, "prob_b")
    weights, constants = _count(call, "coefficients"), _count(call, "rho")
    if classes != labels or min(counts) < 0:
        raise Violation("C2", f"vectors of {classes} classes, and {labels} labels")
    _fit(call, "support_vectors", vectors, features, "C2")
    if weights != vectors * (classes - 1) or constants < pairs:
        raise Violation("C2", f"{weights} coefficients and {constants} constants for {classes} classes")
    if bool(first) != bool(second) or (first and min(first, second) < pairs):
        raise Violation("C2", f"{first} prob_a and {second} prob_b for {pairs} pairs")
    check_choice(call, "kernel_type", KERNELS, "C3")
    return _classified(call, element, rows, classes if first else 2 if pairs == 1 else pairs)


# Trees


@ml("TreeEnsemble")
def tree_ensemble(call: Call) -> Shape:
    """Give one row of predictions for each row."""
    rows, features = _rows(call)
    nodes, leaves = _count(call, "nodes_featureids"), _count(call, "leaf_targetids")
    targets = call.attribute("leaf_targetids") or ()
    lists = "nodes_falseleafs nodes_falsenodeids nodes_trueleafs nodes_truenodeids".split()
    lengths = {_count(call, name) for name in lists} | {nodes, _count(call, "nodes_missing_value_tracks_true") or nodes}
    lengths |= {_size_of(call.attribute(name)) for name in ("nodes_modes", "nodes_splits")}
    if len(lengths) > 1 or not nodes or _size_of(call.attribute("leaf_weights")) != leaves:
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
def tree_ensemble_regressor(call: Call) -> Shape:
    """Give one row of predictions for each row."""
    rows, features = _rows(call)
    count = call.attribute("n_targets")
    if count is None:
        count = max(call.attribute("target_ids") or (0,)) + 1
    check_choice(call, "aggregate_function", AGGREGATES, "C3")
    _check_trees(call, "target", count, features, {0, count})
    return rows, count


@ml("TreeEnsembleClassifier")
def tree_ensemble_classifier(call: Call) -> list[Type]:
    """Give a label for each row, and a score for each label."""
    element, labels = _labels(call, "classlabels_strings", "classlabels_int64s", "C6")
    rows, features = _rows(call)
    # Where all votes are for the first of two classes, one base value may stand beside them.
    of_one = labels == 2 and set(call.attribute("class_ids") or ()) == {0}
    _check_trees(call, "class", labels, features, {0, labels, 1 if of_one else 0})
    return _classified(call, element, rows, labels)


def _check_trees(call: Call, votes: str, count: int, features: Size | None, bases: set[int]) -> None:
    """Raise Violation where attributes of trees and votes do not go together; whether they are trees is left open."""
    nodes = _count(call, "nodes_nodeids")
    listed = ("nodes_treeids", "nodes_modes", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids")
    lengths = {_count(call, name) or (0 if number < 2 else nodes) for number, name in enumerate(listed)}
    lengths |= {_count(call, "nodes_missing_value_tracks_true") or nodes, _numbers(call, "nodes_values")}
    if lengths != {nodes} or not nodes:
        raise Violation("C2", "the attributes nodes_* have different lengths, or are empty")
    cast = {_count(call, f"{votes}_{what}") for what in ("treeids", "nodeids", "ids")}
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
    """Give how many numbers an attribute holds that is a list of floats, or one with a tensor."""
    tensor = call.attribute(f"{name}_as_tensor")
    return _count(call, name) if tensor is None else _size_of(tensor)
