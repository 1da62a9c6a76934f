"""What the YAML examples of operators cannot show: accuracy, agreement with numpy, limits of memory."""

import math

import ml_dtypes
import numpy as np
import pytest

from opset import ReferenceEvaluator, RunError
from opset.budget import Limits
from opset.model import proto as pb
from opset.reference.comparison import differences
from opset.reference.example_models import feeds_of, model_of, type_proto
from opset.reference.numerics.error_function import erf
from opset.reference.numerics.selection import select
from tests.examples import PAIRS
from tests.reference.graphs import results


@pytest.mark.parametrize(("dtype", "last_places"), [(np.float32, 0.53), (np.float64, 4)])
def test_the_error_function_is_accurate(dtype, last_places):
    rng = np.random.default_rng(0)
    near_zero = 10.0 ** rng.uniform(-30, 0, 5_000)
    x = np.concatenate([np.linspace(-6.5, 6.5, 40_001), np.linspace(1.2, 1.3, 10_001), near_zero, -near_zero])
    x = x.astype(dtype)
    exact = np.array([math.erf(each) for each in x])  # itself within one unit of the last place of a double
    error = np.abs(erf(x).astype(np.float64) - exact) / np.spacing(np.abs(exact).astype(dtype))
    assert error.max() <= last_places


def test_the_error_function_keeps_signs_and_nan():
    x = np.array([[np.inf, -np.inf, 0.0], [-0.0, np.nan, 1e300]])
    assert np.array_equal(erf(x), [[1, -1, 0], [0, np.nan, 1]], equal_nan=True)
    assert np.signbit(erf(x)).tolist() == [[False, True, False], [True, False, False]]
    assert erf(np.zeros((0, 3), np.float32)).shape == (0, 3)


KINDS = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float": np.float32, "double": np.float64}


@pytest.mark.parametrize("kind", KINDS)
def test_the_sign_of_zero_is_positive(kind):
    graph = f"g ({kind}[3] x) => ({kind}[3] y) {{ y = Sign (x) }}"
    (y,) = results(graph, {"x": np.array([-0.0, 0.0, -3.0], KINDS[kind])})
    assert np.array_equal(y, [0, 0, -1])
    assert np.signbit(y).tolist() == [False, False, True]


@pytest.mark.parametrize("kind", KINDS)
def test_relu_keeps_the_sign_of_zero(kind):
    graph = f"g ({kind}[40] x) => ({kind}[40] y) {{ y = Relu (x) }}"
    x = np.tile(np.array([-0.0, 0.0, -3.0, 2.0], KINDS[kind]), 10)  # more elements than numpy computes one by one
    (y,) = results(graph, {"x": x})
    assert np.array_equal(y, np.tile([0, 0, 0, 2], 10))
    assert np.signbit(y).tolist() == [True, False, False, False] * 10


@pytest.mark.parametrize(("bias", "expected"), [(40000.0, [0, 25539]), (2.0**31 + 256, [0, -253]), (-1e20, [0, 3])])
def test_integers_wrap_when_they_shrink_by_a_bias_beyond_their_type(bias, expected):
    graph = f"g (int16[2] x) => (int16[2] y) {{ y = Shrink <bias: float = {bias}> (x) }}"
    (y,) = results(graph, {"x": np.array([0, 3], np.int16)})
    assert y.tolist() == expected


TYPES = (np.bool_, np.int8, np.uint64, np.float16, ml_dtypes.bfloat16, np.float32, np.complex64, np.complex128, object)
SHAPES = [((50, 60),) * 3, ((50, 60), (1, 60), (50, 1)), ((3000,), (), ()), ((50, 1, 60), (60, 1), ()), ((2, 2),) * 3]


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("dtype", TYPES)
def test_selecting_is_what_numpy_does(dtype, shapes):
    rng = np.random.default_rng(0)
    condition = np.asarray(rng.random(shapes[0]) > 0.5)
    x, y = (np.asarray(rng.integers(-9, 9, shape)).astype(dtype) for shape in shapes[1:])
    expected, actual = np.where(condition, x, y), select(condition, x, y)
    assert actual.dtype == expected.dtype == x.dtype
    assert np.array_equal(actual, expected)


@pytest.mark.parametrize(
    ("operator", "version", "types"),
    [
        *(("Add", 14, "float float"), ("Equal", 13, "float float"), ("Max", 13, "float float")),
        *(("Mod", 13, "int64 int64"), ("Pow", 15, "float int32"), ("BitShift", 11, "uint8 uint8")),
        *(("Where", 16, "bool float float"), ("Sum", 13, "float float"), ("Less", 13, "int64 int64")),
    ],
)
def test_a_result_much_larger_than_its_operands_is_refused(operator, version, types):
    model = pb.ModelProto(ir_version=8)
    model.opset_import.add(version=version)
    node = model.graph.node.add(op_type=operator, output=["z"])
    if operator == "BitShift":
        node.attribute.add(name="direction", type=3, s=b"LEFT")
    feeds = {}
    for place, kind in enumerate(types.split()):
        shape = (2000, 1) if place % 2 else (1, 2000)
        name = f"x{place}"
        node.input.append(name)
        model.graph.input.add(name=name, type=type_proto(f"tensor({kind})", shape))
        feeds[name] = np.ones(shape, "float32" if kind == "float" else kind)
    model.graph.output.add(name="z")
    (z,) = ReferenceEvaluator(model).run(None, feeds)
    assert z.shape == (2000, 2000)
    with pytest.raises(RunError) as caught:
        ReferenceEvaluator(model, limits=Limits(max_bytes=1_000_000)).run(None, feeds)
    assert caught.value.code == "R302" and f"it needs {z.nbytes:,} bytes" in str(caught.value)


# Blocks: what is computed piece by piece is what is computed at once.

BLOCKS = {
    "kernels.ml_svm.BLOCK": ("SVMClassifier", "SVMRegressor"),
    "kernels.ml_trees.BLOCK": ("TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor"),
    "kernels.conv.BLOCK": ("Conv", "DeformConv"),
    "kernels.cast._BLOCK": ("Cast",),
    "kernels.create._BLOCK": ("RandomNormal", "RandomUniform", "Bernoulli", "Multinomial"),
    "numerics.error_function._BLOCK": ("Erf", "Gelu"),
}
LAST = {
    (schema.name, example.name): (schema, example)
    for schema, example in PAIRS
    if not example.error and any(schema.name in names for names in BLOCKS.values())
}


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_of_any_size_give_the_same(name, monkeypatch):
    chosen = [pair for (operator, _), pair in LAST.items() if operator in BLOCKS[name]]

    def outputs():
        return [ReferenceEvaluator(model_of(*pair), seed=1).run(None, feeds_of(pair[1])) for pair in chosen]

    whole = outputs()
    for size in (1, 3):
        monkeypatch.setattr(f"opset.reference.{name}", size)
        for pair, expected, actual in zip(chosen, whole, outputs(), strict=True):
            assert not [each.why for each in differences(expected, actual) if each.why], pair[1].name


@pytest.mark.parametrize("matrix", [[[0, np.nan], [0, 1]], [[np.inf, 0], [0, 0]], [[np.inf, 1], [5, 0]]])
def test_a_pivot_of_zero_does_not_hide_nan_and_infinity(matrix):
    matrices = np.array([matrix, [[2, 0], [0, 3]], [[1, 2], [2, 4]]], np.float32)
    (determinants,) = results("g (float[3, 2, 2] x) => (float[3] y) { y = Det (x) }", {"x": matrices})
    np.testing.assert_array_equal(determinants, np.array([np.nan, 6, 0], np.float32))
