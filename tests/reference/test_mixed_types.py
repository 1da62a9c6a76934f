"""Kernels whose parameters have types of their own compute in the widest, and round once; transforms of no scores."""

from itertools import product

import numpy as np
import pytest
from onnx import TensorProto, helper

import opset
from opset.extend import rounded_once
from opset.reference.example_models import feeds_of, model_of
from opset.reference.numerics.ml_scores import TRANSFORMS, transform_scores
from tests.examples import PAIRS

NARROW, WIDE = TensorProto.FLOAT, TensorProto.DOUBLE
THIRDS = np.array([1 / 3, 1e300, 2.0**53 - 1, 0.1])


def computed(operator, version, feeds, kind, domain="", **attributes):
    """Return what the kernel of one node computes of inputs, each in its own type."""
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in feeds.items()
    ]
    node = helper.make_node(operator, list(feeds), ["y"], domain=domain, **attributes)
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", kind, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, version)], ir_version=10)
    with np.errstate(over="ignore"):
        return opset.ReferenceEvaluator(model).run(None, feeds)[0]


def test_a_double_scale_of_float_values_is_kept():
    # The root mean square is 3, and each quotient is 1 or -1 in any type.
    x, signs = np.array([[3, -3, 3, 3]], np.float32), np.array([[1, -1, 1, 1]])
    y = computed("RMSNormalization", 23, {"x": x, "scale": THIRDS}, WIDE, epsilon=0.0)
    np.testing.assert_array_equal(y, signs * THIRDS)


def test_double_values_times_a_float_scale_are_rounded_once():
    x, scale = np.array([[7e38, -7e38]]), np.array([0.25, 0.5], np.float32)
    y = computed("RMSNormalization", 23, {"x": x, "scale": scale}, NARROW, epsilon=0.0, stash_type=WIDE)
    np.testing.assert_array_equal(y, np.array([[0.25, -0.5]], np.float32))


def test_the_first_tensor_decides_to_which_type_is_rounded():
    """An input before it may be left out, or be a sequence."""
    added = rounded_once(lambda first, x, y: x + y)
    x, y = np.array([2048], np.float16), np.array([1.5], np.float32)
    for first in (None, [y]):
        results = added(first, x, y), added(first, y, x)
        assert [(each.dtype, each.tolist()) for each in results] == [(np.float16, [2050.0]), (np.float32, [2049.5])]


@pytest.mark.parametrize("scale", [NARROW, WIDE])
@pytest.mark.parametrize("mean", [NARROW, WIDE])
def test_statistics_of_doubles_are_those_of_doubles(scale, mean):
    dtypes = {NARROW: np.float32, WIDE: np.float64}
    x = np.array([[1 / 3, 1e-3], [1e15 + 0.125, -7.7]])
    factor, shift = np.array([0.3, 3], dtypes[scale]), np.array([0.7, 1e-9], dtypes[scale])
    centre, variance = np.array([0.2, 5], dtypes[mean]), np.array([0.9, 4], dtypes[mean])
    feeds = {"x": x, "scale": factor, "b": shift, "mean": centre, "var": variance}
    wide = [each.astype(np.float64) for each in (factor, shift, centre, variance)]
    wanted = (x - wide[2]) / np.sqrt(wide[3] + np.float64(np.float32(1e-5))) * wide[0] + wide[1]
    np.testing.assert_allclose(computed("BatchNormalization", 15, feeds, WIDE), wanted, rtol=1e-14)


def test_parameters_of_doubles_are_not_rounded_to_the_type_of_floats():
    x = np.array([[3, 5]], np.float32)
    feeds = {
        "x": x,
        "scale": np.array([1 + 2.0**-30, 1e-40]),
        "b": np.array([-3.0, 1.5]),
        "mean": np.array([0.0, 0.0]),
        "var": np.array([1.0, 1e-78]),
    }
    y = computed("BatchNormalization", 15, feeds, NARROW, epsilon=0.0)
    np.testing.assert_allclose(y, np.array([[3 * 2.0**-30, 1.5 + 0.5]], np.float32), rtol=1e-6)


def parameters(schema, feeds):
    """Return for each tensor of floats the variable of its type, if that may be float and double."""
    found = {}
    for name, value in feeds.items():
        formal = schema.inputs[min(int(name.removeprefix("input_")), len(schema.inputs) - 1)]
        is_float = isinstance(value, np.ndarray) and value.dtype in (np.float32, np.float64)
        if is_float and {"tensor(float)", "tensor(double)"} <= {*schema.allowed_types(formal)}:
            found[name] = formal.type
    return found


def mixed():
    """Return the examples in which two inputs may be one of floats and one of doubles, each at one of its versions."""
    found = {}
    for schema, example in PAIRS:
        if not example.error and not any("graph" in schema.attributes[name].type for name in example.attributes):
            feeds = feeds_of(example)
            if len({*parameters(schema, feeds).values()}) > 1:
                found.setdefault(schema.name, {}).setdefault(example.name, []).append((schema, example, feeds))
    return {
        operator: [each[-1 - number % len(each)] for number, each in enumerate(examples.values())]
        for operator, examples in found.items()
    }


MIXED = mixed()


def outputs_of(schema, example, feeds):
    model = model_of(schema, example)
    for each in model.graph.input:
        if isinstance(feeds[each.name], np.ndarray) and feeds[each.name].dtype != object:
            each.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(feeds[each.name].dtype)
    for each in model.graph.output:
        each.ClearField("type")
    return opset.ReferenceEvaluator(model, seed=1).run(None, feeds)


def test_every_operator_of_mixed_types_has_examples():
    assert {name: sorted({schema.since_version for schema, _, _ in found}) for name, found in MIXED.items()} == {
        "Adagrad": [1], "Adam": [1], "Attention": [23, 24, 25], "BatchNormalization": [14, 15],
        "Dropout": [12, 13, 22], "GridSample": [16, 20, 22], "Momentum": [1], "OneHot": [28],
        "Pow": [12, 13, 15], "RMSNormalization": [23], "Resize": [11, 18, 19],
    }  # fmt: skip


@pytest.mark.parametrize("operator", MIXED)
def test_floats_among_doubles_are_computed_as_doubles(operator):
    rng = np.random.default_rng(1)
    for schema, example, feeds in MIXED[operator]:
        kinds = parameters(schema, feeds)
        names = sorted({*kinds.values()})
        # Values that neither type has exactly, too close to those of the example for another meaning.
        moved = {name: np.asarray(feeds[name] * (1 + rng.random(feeds[name].shape) / 3e6)) for name in kinds}
        for chosen in product((np.float32, np.float64), repeat=len(names)):
            if len({*chosen}) == 1:
                continue
            of = dict(zip(names, chosen, strict=True))
            given = {**feeds, **{name: value.astype(of[kinds[name]]) for name, value in moved.items()}}
            wide = {name: value.astype(np.float64) if name in kinds else value for name, value in given.items()}
            both = (outputs_of(schema, example, each) for each in (given, wide))
            for have, want in zip(*both, strict=True):
                if isinstance(have, np.ndarray) and have.dtype.kind == "f":
                    rtol = 1e-13 if have.dtype == np.float64 else 1e-6
                    case = f"{schema.since_version} {example.name} {of}"
                    np.testing.assert_allclose(have, want.astype(have.dtype), rtol, rtol, err_msg=case)


@pytest.mark.parametrize(
    ("operator", "x", "wanted", "attributes"),
    [
        ("LinearRegressor", [[1e9 + 0.25, 1e9]], [[0.25]], {"coefficients": [1.0, -1.0]}),
        ("SVMRegressor", [[1e9 + 0.25, 1e9]], [[0.25]], {"coefficients": [1.0, -1.0], "rho": [0.0]}),
        ("Scaler", [[1e9 + 0.25]], [[0.5]], {"offset": [1e9], "scale": [2.0]}),
        ("OneHotEncoder", [2.0**24 + 1], [[0, 1]], {"cats_int64s": [2**24, 2**24 + 1]}),
        ("FeatureVectorizer", [[1 / 3]], [[np.float32(1 / 3)]], {}),
        ("Normalizer", [[1e300, 1e300]], [[0.5, 0.5]], {"norm": "L1"}),
        ("TreeEnsembleRegressor", [[0.5 + 2.0**-40], [0.5]], [[2], [1]], {
            "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0],
            "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_values": [0.5, 0.0, 0.0],
            "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0], "target_treeids": [0, 0],
            "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [1.0, 2.0], "n_targets": 1}),
    ],
)  # fmt: skip
def test_classical_models_compute_with_features_of_doubles(operator, x, wanted, attributes):
    y = computed(operator, 1, {"x": np.array(x)}, NARROW, "ai.onnx.ml", **attributes)
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y, np.array(wanted, np.float32))


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 3)])
def test_no_scores_stay_no_scores(transform, shape):
    assert transform_scores(np.zeros(shape, np.float32), transform).shape == shape


@pytest.mark.parametrize("terms", [257, 258, 259, 300, 515, 516, 1100])
def test_sums_of_products_of_bytes_are_exact_however_long_they_are(terms):
    """In floats of 24 bits, sums of more than 258 such products are rounded."""
    rng = np.random.default_rng(terms)
    a, b = (rng.integers(253, 256, shape).astype(np.uint8) for shape in ((8, terms), (terms, 8)))
    product_ = computed("MatMulInteger", 10, {"A": a, "B": b}, TensorProto.INT32)
    np.testing.assert_array_equal(product_, a.astype(np.int64) @ b.astype(np.int64))
    sums = computed("ConvInteger", 10, {"x": a[:, :, None], "w": b.T[:, :, None]}, TensorProto.INT32)
    np.testing.assert_array_equal(sums[:, :, 0], product_)
