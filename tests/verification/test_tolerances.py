"""The roundings on the way to a value, the longest sum, the widest type: they decide how close outputs have to be."""

from types import SimpleNamespace

import numpy as np
import pytest

import opset
from opset.budget import Limits
from opset.opsets.registry import default_registry
from opset.verification.inputs import Drawing
from opset.verification.tolerances import Roundings, _unit_of, tolerance
from tests.bounds import growth

HALF, FLOAT, DOUBLE = 2.0**-10, 2.0**-23, 2.0**-52
SQUARE = "(float[4, 6] x) => (float[A, B] y)"
IF = """(bool c, float[4, 6] x) => (float[A, B] y) { z = Exp (x) y = If (c) <
    then_branch = t () => (float[4, 6] a) { a = Sin (z) },
    else_branch = e () => (float[4, 6] b) { k = Cos (z) b = Softmax (k) }> }"""
HALF_IN_A_BRANCH = """(bool c, float[5] x) => (float[A] y) {{ y = If (c) <
    {}_branch = t () => (float[5] a) {{ h = Cast <to = 10> (x) k = Softmax (h) a = Cast <to = 1> (k) }},
    {}_branch = e () => (float[5] b) {{ b = Sin (x) }}> }}"""
LOOP = """(int64 n, bool c, float[3] x) => (float[3] y) { z = Exp (x) y = Loop (n, c, x) <
    body = b (int64 i, bool d, float[3] u) => (bool e, float[3] v) {
        e = Identity (d) w = Mul (u, z) p = If (d) <then_branch = t () => (float[3] q) { q = Sub (w, z) },
        else_branch = o () => (float[3] r) { r = Identity (w) }> v = Tanh (p) }> }"""
CALL = SQUARE + ' { y = f.G (x) } <domain: "f", opset_import: ["": 17]> G (a) => (b) { c = Exp (a) b = Softmax (c) }'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(float[4, 6] x, float[6, 3] w) => (float[A, B] y) { y = MatMul (x, w) }", (6, 6, FLOAT)),
        ("(float[6, 4] x, float[6, 3] w) => (float[A, B] y) { y = Gemm <transA = 1> (x, w) }", (6, 6, FLOAT)),
        ("(float[4, 6] x, float[3, 6] w) => (float[A, B] y) { y = Gemm <transA = 0, transB = 1> (x, w) }",
         (6, 6, FLOAT)),
        ("(float[M, 4] x, float[M, 3] w) => (float[A, B] y) { y = Gemm <transA = 1> (x, w) }", (16, 16, FLOAT)),
        ("(float[1, 4, 9] x, float[8, 2, 3] w) => (float[A, B, C] y) { y = Conv <group = 2> (x, w) }", (6, 6, FLOAT)),
        ("(float[2, M] x, float[M, 2] w) => (float[A, B] y) { y = MatMul (x, w) }", (16, 16, FLOAT)),
        (SQUARE + "{ y = ReduceMean <axes = [1]> (x) }", (6, 6, FLOAT)),
        ("(float[1, 2, 6, 6] x) => (float[A, B, C, D] y) "
         "{ y = AveragePool <kernel_shape = [2, 3], strides = [2, 3]> (x) }", (6, 6, FLOAT)),
        (SQUARE + "{ y = Softmax (x) }", (6, 6, FLOAT)),
        ("(float[7, 6] x, int64 k) => (float[A, B] y) { y = CumSum (x, k) }", (7, 7, FLOAT)),
        (SQUARE + "{ a = Exp (x) b = Relu (a) y = Tanh (b) }", (2, 1, FLOAT)),
        (SQUARE + "{ y = Transpose (x) }", (0, 1, FLOAT)),
        ("(float[4, 6] x, float[4, 6] z) => (float[A, B] y) "
         "{ a = Exp (x) b = Exp (a) c = Softmax (z) y = Add (b, c) }", (7, 6, FLOAT)),
        ("(float[2, 5] x) => (double[A, B] y) { a = Softmax (x) b = Cast <to = 11> (a) y = Exp (b) }", (7, 5, FLOAT)),
        ("(float16[5] x) => (float16[A] y) { y = Exp (x) }", (1, 1, HALF)),
        ("(double[5] x) => (double[A] y) { y = Exp (x) }", (1, 1, DOUBLE)),
        ("(int64[5] x) => (int64[A] y) { y = Add (x, x) }", (0, 1, 0)),
        (IF, (9, 6, FLOAT)),  # Exp, then both branches
        (HALF_IN_A_BRANCH.format("then", "else"), (8, 5, HALF)),
        (HALF_IN_A_BRANCH.format("else", "then"), (8, 5, HALF)),
        ("(float16[5] x) => (float[A] y) { a = Exp (x) y = Cast <to = 1> (a) }", (2, 1, HALF)),
        (LOOP, (49, 1, FLOAT)),  # Exp, then the three of the body, so many times as it is taken to run
        (CALL, (7, 6, FLOAT)),
        (CALL + " <domain: \"f\", opset_import: [\"\": 17]> Uncalled (a) => (b) { b = Exp (a) }", (7, 6, FLOAT)),
        (SQUARE + "{ a = Exp (x) y, m = Dropout (a) }", (2, 1, FLOAT)),
    ],
)  # fmt: skip
def test_roundings_are_counted_on_the_longest_way(text, found):
    model = opset.load(opset.parse_model(f'<ir_version: 8, opset_import: ["": 17, "f": 1]> g {text}'))
    inference = Drawing(model, default_registry(), {}, Limits()).inference({})
    assert Roundings(inference.index, inference).values["y"] == found


@pytest.mark.parametrize(
    ("dtype", "roundings", "widest", "allowed"),
    [
        ("int64", 5, 0.0, 0.0),
        ("float32", 0, FLOAT, 16 * FLOAT),
        ("float32", 100, FLOAT, 40 * FLOAT),
        ("float32", 1e12, FLOAT, 1e-4),  # no more than floats have anywhere
        ("float64", 100, DOUBLE, 40 * DOUBLE),
        ("float64", 100, FLOAT, 40 * FLOAT),  # a double that was computed from floats
        ("float64", 1e12, FLOAT, 1e-4),
        ("float16", 0, HALF, 2 * HALF),
        ("float32", 1e12, HALF, 2 * HALF),
        ("float16", 5, DOUBLE, 2 * HALF),
    ],
)
def test_what_is_allowed_grows_with_the_roundings_up_to_the_limit_of_the_type(dtype, roundings, widest, allowed):
    assert tolerance(np.dtype(dtype), (roundings, 1, widest)) == pytest.approx(allowed)


@pytest.mark.parametrize(
    ("element", "unit"),
    [
        ("float", 2.0**-23), ("double", 2.0**-52), ("complex64", 2.0**-23), ("int64", 0.0), ("bool", 0.0),
        ("string", 0.0), ("nonesuch", 0.0), (None, 0.0),
    ],
)  # fmt: skip
def test_only_numbers_that_are_rounded_have_a_unit_of_the_last_place(element, unit):
    scope = SimpleNamespace(type_of=lambda name: SimpleNamespace(element=element) if name in ("x", "") else None)
    assert [_unit_of(scope, "x"), _unit_of(scope, "y"), _unit_of(scope, ""), _unit_of(None, "x")] == [unit, 0, 0, 0]


def test_the_work_is_linear_in_the_nodes_that_have_graphs():
    branches = "<then_branch = t () => (float[3] a) { a = Sin (x) }, else_branch = e () => (b) { b = Cos (x) }>"

    def counting(count):
        nodes = " ".join(f"y{at} = If (c) {branches}" for at in range(count))
        head = f'<ir_version: 8, opset_import: ["": 17]> g (bool c, float[3] x) => (float[3] y{count - 1})'
        model = opset.load(opset.parse_model(f"{head} {{ {nodes} }}"))
        inference = Drawing(model, default_registry(), {}, Limits()).inference({})
        return lambda: Roundings(inference.index, inference)

    assert growth(counting, 40, 4) < 1.3
