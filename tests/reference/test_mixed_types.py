"""Kernels whose parameters have types of their own compute in the widest, and round once; transforms of no scores."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import opset
from opset.reference.numerics.ml_scores import TRANSFORMS, transformed

NARROW, WIDE = TensorProto.FLOAT, TensorProto.DOUBLE
THIRDS = np.array([1 / 3, 1e300, 2.0**53 - 1, 0.1])


def computed(operator, version, feeds, kind, **attributes):
    """Return what the kernel of one node computes of inputs, each in its own type."""
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in feeds.items()
    ]
    node = helper.make_node(operator, list(feeds), ["y"], **attributes)
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", kind, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=10)
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
    feeds = {"x": x, "scale": np.array([1 + 2.0**-30, 1e-40]), "b": np.array([-3.0, 1.5]),
             "mean": np.array([0.0, 0.0]), "var": np.array([1.0, 1e-78])}  # fmt: skip
    y = computed("BatchNormalization", 15, feeds, NARROW, epsilon=0.0)
    np.testing.assert_allclose(y, np.array([[0, 1.5 + 0.5]], np.float32), rtol=1e-6)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 3)])
def test_no_scores_stay_no_scores(transform, shape):
    assert transformed(np.zeros(shape, np.float32), transform).shape == shape
