"""The gradient operator: against differences in double precision."""

import numpy as np
import onnxruntime
import pytest
from onnx import numpy_helper

from opset import ReferenceEvaluator
from opset.reference.engine.context import StepContext
from tests.reference.graphs import model_of, refused, results

onnxruntime.set_default_logger_severity(4)


X = np.arange(6, dtype=np.float32).reshape(2, 3)


def differentiated(nodes, shapes, opset_version=21, extra="", low=-2.0, high=2.0):
    """Compare the gradients of `t`, weighted element by element, by `a`, `b` and so on with differences."""
    rng = np.random.default_rng(7)
    names = "abc"[: len(shapes)]
    feeds = {name: rng.uniform(low, high, shape) for name, shape in zip(names, shapes, strict=True)}
    inputs = ", ".join(f"double[{','.join(map(str, value.shape))}] {name}" for name, value in feeds.items())
    xs = ", ".join(f'"{name}"' for name in names)
    given, results = ", ".join(names), ", ".join(f"d{name}" for name in names)
    outputs = ", ".join(f"double d{name}" for name in names)
    gradient = f'{results} = ai.onnx.preview.training.Gradient <xs = [{xs}], y = "y"> ({given})'
    text = f"g ({inputs}) => (double y, {outputs}) {{ {extra} {nodes} y = Tanh (t) {gradient} }}"
    model = model_of(text, opset_version)
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    evaluator = ReferenceEvaluator(model)
    found = evaluator.run(None, feeds)[1:]
    for name, have in zip(names, found, strict=True):
        want = np.empty(feeds[name].shape)
        for place in np.ndindex(*want.shape):
            sides = []
            for side in (1e-6, -1e-6):
                moved = feeds[name].copy()
                moved[place] += side
                sides.append(evaluator.run(["y"], {**feeds, name: moved})[0].sum())
            want[place] = (sides[0] - sides[1]) / 2e-6
        assert have.dtype == np.float64
        np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("operator", "Abs Neg Exp Sin Cos Tan Atan Sinh Cosh Tanh Asinh Sigmoid Relu Softplus".split())
def test_functions_of_one_operand(operator):
    differentiated(f"t = {operator} (a)", [(3, 4)], 22)


@pytest.mark.parametrize("operator", "Softsign Erf Mish HardSwish Floor Ceil Round Sign Identity".split())
def test_more_functions_of_one_operand(operator):
    differentiated(f"t = {operator} (a)", [(3, 4)], 22)


def test_the_norm_of_zeros_has_the_slope_0():
    text = """g (float[2,2] x) => (float[2] y, float[2,2] dx) { y = ReduceL2 <axes = [1], keepdims = 0> (x)
        dx = ai.onnx.preview.training.Gradient <xs = ["x"], y = "y"> (x) }"""
    _, found = results(text, {"x": np.array([[0, 0], [3, 4]], np.float32)}, 13)
    np.testing.assert_allclose(found, [[0, 0], [0.6, 0.8]], rtol=1e-6)


@pytest.mark.parametrize("operator", "Elu Selu LeakyRelu HardSigmoid ThresholdedRelu Swish".split())
def test_functions_with_attributes(operator):
    differentiated(f"t = {operator} <alpha = 0.7> (a)", [(3, 4)], 24)


@pytest.mark.parametrize(("operator", "low", "high"), [
    ("Log", 0.2, 3), ("Sqrt", 0.2, 3), ("Reciprocal", 0.2, 3), ("Acos", -0.9, 0.9), ("Asin", -0.9, 0.9),
    ("Atanh", -0.9, 0.9), ("Acosh", 1.2, 3),
])  # fmt: skip
def test_functions_of_a_range(operator, low, high):
    differentiated(f"t = {operator} (a)", [(5,)], 22, low=low, high=high)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu(approximate):
    differentiated(f't = Gelu <approximate = "{approximate}"> (a)', [(7,)])


@pytest.mark.parametrize(
    ("nodes", "shapes", "version"),
    [
        ("t = Add (a, b)", [(2, 3), (3,)], 21),
        ("t = Sub (a, b)", [(2, 1), (1, 3)], 21),
        ("t = Mul (a, b)", [(), (2, 3)], 21),
        ("t = Add <broadcast = 1, axis = 0> (a, b)", [(2, 3), (2,)], 6),
        ("t = Mul <broadcast = 1> (a, b)", [(2, 3), (3,)], 6),
        ("t = Max (a, b, c)", [(2, 3), (3,), (2, 1)], 21),
        ("t = Min (a, b)", [(2, 3), (3,)], 21),
        ("t = Sum (a, b, c)", [(2, 3), (3,), ()], 21),
        ("t = Mean (a, b)", [(2, 3), (1, 3)], 21),
        ("t = PRelu (a, b)", [(2, 3), (3,)], 21),
        ("t = MatMul (a, b)", [(2, 3), (3, 4)], 21),
        ("t = MatMul (a, b)", [(3,), (3,)], 21),
        ("t = MatMul (a, b)", [(3,), (2, 3, 4)], 21),
        ("t = MatMul (a, b)", [(2, 4, 3), (3,)], 21),
        ("t = MatMul (a, b)", [(2, 1, 2, 3), (5, 3, 2)], 21),
        ("t = Gemm (a, b, c)", [(2, 3), (3, 4), (4,)], 21),
        ("t = Gemm <alpha = 0.5, beta = 2.0, transA = 1, transB = 1> (a, b, c)", [(3, 2), (4, 3), (2, 1)], 21),
        ("t = Concat <axis = 1> (a, b)", [(2, 3), (2, 1)], 21),
        ("z = Constant <value = double {0.0}> ()  g = Less (a, z)  t = Where (g, a, b)", [(2, 3), (3,)], 21),
        ("t = Conv (a, b, c)", [(2, 2, 5), (3, 2, 3), (3,)], 21),
        (
            "t = Conv <strides = [2, 1], pads = [1, 0, 2, 1], dilations = [1, 2], group = 2> (a, b)",
            [(1, 2, 5, 4), (2, 1, 3, 2)],
            21,
        ),
        ('t = Conv <auto_pad = "SAME_LOWER", strides = [2]> (a, b)', [(1, 1, 6), (2, 1, 3)], 21),
        ('t = Conv <auto_pad = "SAME_UPPER"> (a, b)', [(1, 1, 5), (1, 1, 4)], 21),
        ('t = Conv <auto_pad = "VALID", strides = [3]> (a, b)', [(1, 1, 6), (1, 1, 2)], 21),
        ("lower = Constant <value = double {-1.0}> ()  t = Clip (a, lower, b)", [(3, 4), ()], 21),
        ("t = Clip <min = -1.0, max = 0.5> (a)", [(3, 4)], 6),
        ("i = Constant <value = int64[2] {1, 1}> ()  t = Pad (a, i, b)", [(3,), ()], 21),
    ],
)
def test_functions_of_several_operands(nodes, shapes, version):
    differentiated(nodes, shapes, version)


@pytest.mark.parametrize("operator", ["Div", "Pow"])
def test_quotients_and_powers(operator):
    differentiated(f"t = {operator} (a, b)", [(2, 3), (3,)], low=0.5)


def test_a_power_of_zero_does_not_depend_on_its_exponent():
    gradient = 'da, db = ai.onnx.preview.training.Gradient <xs = ["a", "b"], y = "y"> (a, b)'
    model = model_of(f"""g (double[3] a, double[3] b) => (double[3] y, double[3] da, double[3] db) {{
        y = Pow (a, b)  {gradient} }}""", 21)  # fmt: skip
    found = ReferenceEvaluator(model).run(None, {"a": np.array([0.0, 2, 3]), "b": np.array([2.0, 0, 1])})
    np.testing.assert_allclose(found, [[0, 1, 3], [0, 0, 1], [0, np.log(2), 3 * np.log(3)]])


REDUCTIONS = "Sum Mean Max Min Prod L1 L2 LogSumExp SumSquare".split()


@pytest.mark.parametrize("operator", REDUCTIONS)
def test_reductions(operator):
    differentiated(f"t = Reduce{operator} <axes = [1, -1]> (a)", [(2, 3, 2)], 11)
    axes = "axes = Constant <value = int64[1] {1}> () "
    differentiated(f"t = Reduce{operator} <keepdims = 0> (a, axes)", [(2, 3, 2)], 20, extra=axes)
    differentiated(f"t = Reduce{operator} (a)", [(2, 3)], 20)
    differentiated(f"t = Reduce{operator} (a, none)", [(2, 3)], 20, extra="none = Shape <start = 2> (a) ")
    differentiated(f"t = Reduce{operator} <noop_with_empty_axes = 1> (a)", [(2, 3)], 20)


def test_the_logarithm_of_a_sum():
    differentiated("t = ReduceLogSum <keepdims = 0> (a)", [(2, 3)], low=0.5)


def test_a_product_with_zeros():
    graph = """g (float[2, 3] x) => (float[2, 3] dx) { i = Constant <value = int64[1] {1}> ()
        y = ReduceProd (x, i)  dx = ai.onnx.preview.training.Gradient <xs = ["x"], y = "y"> (x) }"""
    (dx,) = results(graph, {"x": np.float32([[2, 0, 3], [0, 0, 5]])})
    assert dx.tolist() == [[0, 6, 0], [0, 0, 0]]


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax"])
def test_softmax_along_an_axis_and_of_rows(operator):
    differentiated(f"t = {operator} <axis = 1> (a)", [(2, 3, 2)], 13)
    differentiated(f"t = {operator} <axis = -2> (a)", [(2, 3, 2)], 13)
    differentiated(f"t = {operator} <axis = 1> (a)", [(2, 3, 2)], 11)
    differentiated(f"t = {operator} <axis = -2> (a)", [(2, 3, 2)], 11)


MOVES = {
    "Reshape (a, i)": "[2] {3, 4}",
    "Flatten <axis = 2> (a)": "",
    "Transpose <perm = [2, 0, 1]> (a)": "",
    "Transpose (a)": "",
    "Unsqueeze (a, i)": "[2] {0, 2}",
    "Expand (a, i)": "[4] {2, 2, 3, 2}",
    "Tile (a, i)": "[3] {1, 2, 3}",
    "Gather <axis = 1> (a, i)": "[2, 2] {0, 2, 2, -1}",
    "Slice (a, i, i)": "[3] {0, 0, 0}",
    "GatherND (a, i)": "[2, 2] {0, 1, 1, 2}",
    'Pad <mode = "reflect"> (a, i)': "[6] {0, 1, 1, 0, 2, 0}",
    "Pad (a, i)": "[6] {0, 1, 1, 0, 2, -1}",
    "Trilu (a)": "",
    "GlobalAveragePool (a)": "",
}


@pytest.mark.parametrize("move", MOVES)
def test_moves(move):
    extra = f"i = Constant <value = int64{MOVES[move]}> () " if MOVES[move] else ""
    differentiated(f"t = {move}", [(2, 3, 2)], extra=extra)


def test_slices_and_parts():
    numbers = "s = Constant <value = int64[2] {2, -1}> ()  e = Constant <value = int64[2] {0, -3}> ()"
    axes = "x = Constant <value = int64[2] {1, 2}> ()  p = Constant <value = int64[2] {-1, -1}> ()"
    differentiated(f"{numbers} {axes} t = Slice (a, s, e, x, p)", [(2, 3, 4)])
    differentiated("l = Constant <value = int64[2] {1, 2}> ()  u, v = Split <axis = 1> (a, l)  t = Exp (v)", [(2, 3)])
    differentiated("l = Constant <value = int64[1] {1}> ()  t = Squeeze (a, l)", [(2, 1, 3)])


def test_paths_that_part_and_meet_add_up():
    differentiated("p = Exp (a)  q = Mul (p, a)  r = Sub (q, p)  t = Div (r, b)", [(2, 3), (3,)], low=0.5)


def gradient_of(nodes, call):
    return f"g (float[N] x, float[N] z) => (float[N] dx) {{ {nodes} dx = ai.onnx.preview.training.Gradient {call} }}"


def test_values_are_those_of_the_inputs_not_of_the_names():
    graph = gradient_of("w = Neg (z)  y = Mul (x, w)", '<xs = ["x"], zs = ["w"], y = "y"> (x, z)')
    assert results(graph, {"x": np.float32([1, 2]), "z": np.float32([3, 4])})[0].tolist() == [3, 4]


def test_a_value_between_may_be_differentiated_by():
    graph = gradient_of("p = Mul (x, z)  y = Mul (p, p)", '<xs = ["p"], y = "y"> (p)')
    assert results(graph, {"x": np.float32([1, 2]), "z": np.float32([3, 4])})[0].tolist() == [6, 16]


def test_a_sparse_initializer_may_be_differentiated_by():
    model = model_of(gradient_of("y = Mul (x, w)", '<xs = ["w"], y = "y"> (w)'), 21)
    sparse = model.graph.sparse_initializer.add(dims=[2])
    sparse.values.CopyFrom(numpy_helper.from_array(np.float32([3]), "w"))
    sparse.indices.CopyFrom(numpy_helper.from_array(np.array([1])))
    feeds = {"x": np.float32([5, 7]), "z": np.float32([0, 0])}
    assert ReferenceEvaluator(model).run(None, feeds)[0].tolist() == [5, 7]


def test_what_does_not_depend_on_the_names_is_read_and_has_no_derivative():
    graph = gradient_of("c = Exp (z)  y = Mul (z, c)", '<xs = ["x"], y = "y"> (x)')
    assert results(graph, {"x": np.float32([1, 2]), "z": np.float32([3, 4])})[0].tolist() == [0, 0]
    graph = gradient_of("c = Neg (z)  y = Mul (x, c)", '<xs = ["x"], y = "y"> (x)')
    assert results(graph, {"x": np.float32([1, 2]), "z": np.float32([3, 4])})[0].tolist() == [-3, -4]
    graph = gradient_of("p = Neg (x)  c = Neg (z)  y = Mul (p, c)", '<xs = ["x"], zs = ["z"], y = "y"> (x, z)')
    assert results(graph, {"x": np.float32([1, 2]), "z": np.float32([3, 4])})[0].tolist() == [3, 4]


def test_inputs_and_outputs_that_are_left_out_have_no_derivative():
    nodes = "s = ReduceMax <keepdims = 0> (z)  p, = Dropout (x)  y = Clip (p, , s)"
    graph = gradient_of(nodes, '<xs = ["x"], y = "y"> (x)')
    assert results(graph, {"x": np.float32([1, 5]), "z": np.float32([3, 4])})[0].tolist() == [1, 0]


def test_the_gradient_may_stand_before_what_it_differentiates():
    graph = """g (float[N] x) => (float[N] dx) {
        dx = ai.onnx.preview.training.Gradient <xs = ["x"], y = "y"> (x)  c = Exp (x)  y = Mul (c, x) }"""
    (dx,) = results(graph, {"x": np.float32([1, 2])})
    np.testing.assert_allclose(dx, np.exp([1, 2]) * [2, 3], rtol=1e-6)


def test_a_gradient_inside_a_function_and_a_branch():
    model = model_of("""g (float[N] x, bool c) => (float[N] d) {
        d = If <then_branch = t () => (float[N] p) { p = local.F <factor = 3.0> (x) },
                else_branch = e () => (float[N] q) { r = Mul (x, x)
                    q = ai.onnx.preview.training.Gradient <xs = ["x"], y = "r"> (x) }> (c) }
        <domain: "local", opset_import: ["": 21, "ai.onnx.preview.training": 1]> F <factor> (a) => (b) {
            k = Constant <value_float: float = @factor> ()  y = Mul (a, k)
            b = ai.onnx.preview.training.Gradient <xs = ["a"], y = "y"> (a) }""")
    run = ReferenceEvaluator(model).run
    assert run(None, {"x": np.float32([1, 2]), "c": np.array(True)})[0].tolist() == [3, 3]
    assert run(None, {"x": np.float32([1, 2]), "c": np.array(False)})[0].tolist() == [2, 4]


def test_small_floats_are_differentiated_in_float32():
    graph = """g (float16[N] x) => (float16[N] dx) { e = Exp (x)  y = Mul (e, x)
        dx = ai.onnx.preview.training.Gradient <xs = ["x"], y = "y"> (x) }"""
    x = np.array([1, 2], np.float16)
    (dx,) = results(graph, {"x": x})
    assert dx.dtype == x.dtype
    np.testing.assert_allclose(dx.astype(np.float32), np.exp([1, 2]) * [2, 3], rtol=2**-11)


def test_dropout_needs_its_mask():
    training = "t = Constant <value = bool {1}> ()  r = Constant <value = float {0.5}> ()"
    graph = gradient_of(f"{training} y, mask = Dropout <seed = 1> (x, r, t)", '<xs = ["x"], y = "y"> (x)')
    feeds = {"x": np.ones(64, np.float32), "z": np.ones(1, np.float32)}
    assert set(results(graph, feeds)[0].tolist()) == {0.0, 2.0}
    error = refused(graph.replace("y, mask", "y"), feeds)
    assert (error.code, "mask" in error.why, "Dropout" in error.place) == ("R204", True, True)


@pytest.mark.parametrize(
    ("nodes", "call", "code", "says"),
    [
        ("y = CumSum (x, i)", '<xs = ["x"], y = "y"> (x)', "R201", "CumSum"),
        ("y = local.F (x)", '<xs = ["x"], y = "y"> (x)', "R201", "(F)"),
        ("y = Neg (x)", '<xs = ["x", "x"], y = "y"> (x, x)', "R202", "duplicate"),
        ("y = Neg (x)", '<xs = ["nothing"], y = "y"> (x)', "R202", "'nothing'"),
        ("y = Neg (x)", '<xs = ["x"], y = "no"> (x)', "R202", "'no'"),
        ("q = Neg (x)", '<xs = ["x"], y = "y"> (x) y = Mul (dx, x)', "R202", "'y' depends on its own gradient"),
        ("y = Neg (x)", '<xs = ["x"], y = "y"> (x, x)', "R203", "C1"),
        ("i = Constant <value = int64 {1}> ()  y = Neg (x)", '<xs = ["i"], y = "y"> (i)', "R203", "C2"),
        ("y = Less (x, z)", '<xs = ["x"], y = "y"> (x)', "R203", "C3"),
        (
            'q = ai.onnx.preview.training.Gradient <xs = ["x"], y = "x"> (x)  y = Mul (q, x)',
            '<xs = ["x"], y = "y"> (x)',
            "R201",
            "gradient of a gradient",
        ),
    ],
)
def test_what_cannot_be_differentiated_is_told(nodes, call, code, says):
    function = '<domain: "local", opset_import: ["": 21]> F (a) => (b) { b = Neg (a) }'
    constant = "i = Constant <value = int64 {0}> ()" if "CumSum" in nodes else ""
    error = refused(gradient_of(f"{constant} {nodes}", call) + function, {"x": np.ones(2, np.float32), "z": X[0, :2]})
    assert error.code == code
    assert says in str(error)


def test_all_nodes_without_a_rule_are_told_at_once():
    nodes = "i = Constant <value = int64 {0}> ()  p = CumSum (x, i)  y = CumSum (p, i)"
    error = refused(gradient_of(nodes, '<xs = ["x"], y = "y"> (x)'), {"x": X[0], "z": X[0]})
    assert [(each.code, each.place[-25:]) for each in error.findings] == [
        ("R201", f"slice, node number {number} (CumSum)"[-25:]) for number in (0, 1)
    ]


def test_a_derivative_that_takes_more_than_is_allowed_is_stopped():
    graph = gradient_of("y = Identity (x)  t = Flatten (y)", '<xs = ["x"], y = "t"> (x)')
    error = refused(graph, {"x": np.ones(10_000, np.float32), "z": X[0]}, max_bytes=300_000)
    assert error.code == "R302" and error.place.endswith("slice, node number 1 (Flatten)")
    assert "it needs 320,032 bytes" in error.why


def test_images_that_a_derivative_pads_are_announced():
    """A kernel of 2 elements that are 3,000 apart, over an image of 4 elements between 3,000 zeros: 6,004 in all."""
    call = '<xs = ["x", "w"], y = "y"> (x, w)'
    graph = f"""g (float[2, 3, 4] x, float[5, 3, 2] w) => (float[2, 3, 4] dx, float[5, 3, 2] dw) {{
        y = Conv <dilations = [3000], pads = [3000, 3000]> (x, w)
        dx, dw = ai.onnx.preview.training.Gradient {call} }}"""
    feeds = {"x": np.ones((2, 3, 4), np.float32), "w": np.ones((5, 3, 2), np.float32)}
    dx, dw = results(graph, feeds)
    assert dx.tolist() == [[[10] * 4] * 3] * 2 and dw.tolist() == [[[8, 8]] * 3] * 5
    error = refused(graph, feeds, max_bytes=400_000)
    assert f"it needs {2 * (2 * 3 * 6004) * 4:,} bytes" in error.why


def test_the_last_value_of_a_slice_is_its_own_derivative():
    graph = gradient_of("y = Neg (x)", '<xs = ["y"], y = "y"> (z)')
    assert results(graph, {"x": np.float32([1, 2]), "z": np.float32([3, 4])})[0].tolist() == [1, 1]


def test_an_initializer_has_a_derivative():
    graph = """g (float[2] x) => (float[2] dw) <float[2] w = {3, 4}> { y = Mul (x, w)
        dw = ai.onnx.preview.training.Gradient <xs = ["w"], zs = ["x"], y = "y"> (w, x) }"""
    assert results(graph, {"x": np.float32([1, 2])})[0].tolist() == [1, 2]


def test_the_time_is_looked_at_for_each_tap_of_a_convolution(monkeypatch):
    looks, check_time = [], StepContext.check_time
    monkeypatch.setattr(StepContext, "check_time", lambda self: looks.append(0) or check_time(self))
    counts = []
    for taps in (2, 5):
        looks.clear()
        text = f"""g (double[1,1,9] x, double[1,1,{taps}] w) => (double y, double dw) {{
            t = Conv (x, w) y = Tanh (t)
            dw = ai.onnx.preview.training.Gradient <xs = ["w"], zs = ["x"], y = "y"> (w, x) }}"""
        model = model_of(text, 21)
        for value in model.graph.output:
            value.type.tensor_type.ClearField("shape")
        ReferenceEvaluator(model).run(None, {"x": np.ones((1, 1, 9)), "w": np.ones((1, 1, taps))})
        counts.append(len(looks))
    assert counts[1] - counts[0] == 3
