"""Kernels that run graphs: what onnxruntime gives, limits, old forms; and gradients against differences."""

import time

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from opset import Limits, ReferenceEvaluator, RunError

onnxruntime.set_default_logger_severity(4)


def model_of(graph, opset_version=21, ir_version=10):
    imports = f'"": {opset_version}, "ai.onnx.preview.training": 1, "local": 1'
    return parser.parse_model(f"<ir_version: {ir_version}, opset_import: [{imports}]> {graph}")


def results(graph, feeds, opset_version=21, **limits):
    return ReferenceEvaluator(model_of(graph, opset_version), limits=Limits(**limits)).run(None, feeds)


def refused(graph, feeds, opset_version=21, **limits):
    with pytest.raises(RunError) as caught:
        results(graph, feeds, opset_version, **limits)
    return caught.value


def as_onnxruntime(graph, feeds, opset_version=21):
    """Give our results after comparing them with those of onnxruntime."""
    model = model_of(graph, opset_version)
    del model.opset_import[1:]
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    ours, theirs = results(graph, feeds, opset_version), session.run(None, feeds)
    for have, want in zip(ours, theirs, strict=True):
        if isinstance(want, list):
            assert [each.tolist() for each in have] == [each.tolist() for each in want]
        else:
            assert have.dtype == want.dtype
            np.testing.assert_array_equal(have, want)
    return ours


X = np.arange(6, dtype=np.float32).reshape(2, 3)
NO_CONDITION = np.array(True)


# Loop.

COUNTING = """g (int64 m, bool c, float[N] v) => (float[N] w, float[K, N] all, int64[K] numbers) {
    w, all, numbers = Loop <body = b (int64 i, bool go, float[N] x) => (bool on, float[N] y, float[N] x2, int64 j) {
        y = Add (x, x)  x2 = Identity (x)  j = Identity (i)
        limit = Constant <value = int64 {3}> ()  on = Less (i, limit) }> (m, c, v) }"""


@pytest.mark.parametrize(("trips", "cond"), [(0, True), (2, True), (9, True), (9, False), (-1, True)])
def test_a_loop_ends_at_its_count_or_condition(trips, cond):
    feeds = {"m": np.array(trips), "c": np.array(cond), "v": np.float32([1, 2])}
    if trips > 0 and cond:
        w, stacked, numbers = as_onnxruntime(COUNTING, feeds)
    else:
        w, stacked, numbers = results(COUNTING, feeds)
    count = min(max(trips, 0), 4) * cond
    np.testing.assert_array_equal(w, np.float32([1, 2]) * 2**count)
    assert numbers.tolist() == list(range(count))
    # No iteration, so the dimension N is not known.
    assert stacked.shape == ((count, 2) if count else (0, 0))


def test_a_loop_without_condition_ignores_the_one_that_its_body_gives():
    graph = """g (float v) => (float w, float[K] all) { m = Constant <value = int64 {4}> ()
        w, all = Loop <body = b (int64 i, bool go, float x) => (bool on, float y, float z) {
            on = Constant <value = bool {0}> ()  y = Add (x, x)  z = Identity (y) }> (m, , v) }"""
    w, stacked = results(graph, {"v": np.array(1, np.float32)})
    assert w == 16
    assert stacked.tolist() == [2, 4, 8, 16]


def test_a_loop_without_count_runs_while_its_condition_holds():
    graph = """g (float v) => (float w) { go = Constant <value = bool {1}> ()  top = Constant <value = float {50}> ()
        w = Loop <body = b (int64 i, bool going, float x) => (bool on, float y) {
            y = Add (x, x)  on = Less (y, top) }> (, go, v) }"""
    assert as_onnxruntime(graph, {"v": np.array(1, np.float32)}) == [64]


def test_a_loop_carries_sequences():
    graph = """g (int64 m) => (seq(int64) s) { e = SequenceEmpty <dtype = 7> ()  go = Constant <value = bool {1}> ()
        s = Loop <body = b (int64 i, bool on, seq(int64) a) => (bool on2, seq(int64) c) {
            on2 = Identity (on)  c = SequenceInsert (a, i) }> (m, go, e) }"""
    assert [int(each) for each in as_onnxruntime(graph, {"m": np.array(4)})[0]] == [0, 1, 2, 3]


def test_a_loop_stacks_nothing_in_the_shape_that_is_declared():
    graph = """g (int64 m) => (double[K, 2, 3] all) { go = Constant <value = bool {1}> ()
        all = Loop <body = b (int64 i, bool on) => (bool on2, double[2, 3] x) {
            on2 = Identity (on)  s = Constant <value = int64[2] {2, 3}> ()
            x = ConstantOfShape <value = double[1] {5.0}> (s) }> (m, go) }"""
    (none,) = as_onnxruntime(graph, {"m": np.array(0)})
    assert (none.shape, none.dtype) == ((0, 2, 3), np.float64)
    assert results(graph, {"m": np.array(2)})[0].tolist() == [[[5] * 3] * 2] * 2


def test_the_iteration_number_has_the_rank_that_the_body_declares():
    graph = """g (int64 m, bool go) => (int64[K, 1] all) {
        all = Loop <body = b (int64[1] i, bool on) => (bool on2, int64[1] j) {
            on2 = Identity (on)  zero = Constant <value = int64[1] {0}> ()  j = Add (i, zero) }> (m, go) }"""
    assert results(graph, {"m": np.array(2), "go": NO_CONDITION})[0].tolist() == [[0], [1]]


def test_initializers_of_a_body_that_are_listed_as_its_inputs_are_not_carried():
    # As IR version 3 asked for.
    body = helper.make_graph(
        [helper.make_node("Add", ["x", "one"], ["y"]), helper.make_node("Identity", ["on"], ["on2"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("one", TensorProto.FLOAT, []),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, []),
        ],
        [
            helper.make_tensor_value_info("on2", TensorProto.BOOL, []),
            helper.make_tensor_value_info("y", TensorProto.FLOAT, []),
        ],
        [numpy_helper.from_array(np.float32(1), "one")],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["m", "", "v"], ["w"], body=body)],
        "g",
        [
            helper.make_tensor_value_info("m", TensorProto.INT64, []),
            helper.make_tensor_value_info("v", TensorProto.FLOAT, []),
        ],
        [helper.make_tensor_value_info("w", TensorProto.FLOAT, [])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 7)], ir_version=3)
    assert ReferenceEvaluator(model).run(None, {"m": np.array(3), "v": np.float32(10)}) == [13]


def loop_of(body, feeds="m, go, v", outputs="w"):
    return f"g (int64 m, bool go, float[N] v) => (float[M] {outputs}) {{ {outputs} = Loop <body = {body}> ({feeds}) }}"


FEEDS = {"m": np.array(3), "go": NO_CONDITION, "v": np.float32([1, 2])}


@pytest.mark.parametrize(
    ("graph", "label"),
    [
        (loop_of("b (int64 i, bool g2, float[N] x) => (float[N] on, float[N] y) { on = Neg (x)  y = Neg (x) }"), "C1"),
        (loop_of("b (int64 i, bool on, float[N] x) => (bool on2) { on2 = Not (on) }"), "C3"),
        (loop_of("b (int64 i, bool on, float[N] x) => (bool on, int64 y) { y = Identity (i) }"), "C4"),
        (
            loop_of(
                "b (int64 i, bool on, float[N] x) => (bool on, float[M] y, float[M] z) {"
                " y = Concat <axis = 0> (x, x)  z = Identity (y) }",
                outputs="w, all",
            ).replace("float[M] w, all", "float[M] w, float[L, M] all"),
            "C5",
        ),
    ],
)
def test_what_a_loop_cannot_run_breaks_a_constraint(graph, label):
    error = refused(graph, FEEDS)
    assert error.code == "R203"
    assert error.why.startswith(f"{label}: ")


# Scan.

CUMULATIVE = """g (float[S] s, float[A,B,C] x, float[A,B,C] z) => (float[S] last, float[P, Q] sums, float[U, V, W] zs)
    {
    last, sums, zs = Scan <num_scan_inputs = 2, %s body = b (float[S] a, float[T, S] r, float[T, S] q)
        => (float[S] c, float[S] d, float[T, S] e) {
        axes = Constant <value = int64[1] {0}> ()  sum = ReduceSum <keepdims = 0> (r, axes)
        c = Add (a, sum)  d = Identity (c)  e = Neg (q) }> (s, x, z) }"""


@pytest.mark.parametrize(
    "attributes",
    [
        "",
        "scan_input_axes = [1, 1],",
        "scan_input_axes = [1, -2], scan_output_axes = [-1, 2],",
        "scan_input_directions = [1, 0], scan_output_directions = [0, 1],",
        "scan_input_directions = [0, 1], scan_output_directions = [1, 1], scan_output_axes = [1, 1],",
    ],
)
def test_a_scan_takes_and_gives_along_any_axis_in_both_directions(attributes):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    as_onnxruntime(CUMULATIVE % attributes, {"s": np.zeros(4, np.float32), "x": x, "z": -x})


def test_a_scan_of_a_vector_takes_scalars():
    graph = """g (float[N] x) => (float s, float[N] all) { zero = Constant <value = float {0}> ()
        s, all = Scan <num_scan_inputs = 1, body = b (float a, float r) => (float c, float d) {
            c = Add (a, r)  d = Identity (c) }> (zero, x) }"""
    assert as_onnxruntime(graph, {"x": np.float32([1, 2, 3])})[1].tolist() == [1, 3, 6]


BATCH = """g (int64[B] lens, float[B, K] s, float[B, N, K] x) => (float[B, K] last, float[B, N, K] sums) {
    last, sums = Scan <num_scan_inputs = 1, %s body = b (float[K] a, float[K] r) => (float[K] c, float[K] d) {
        c = Add (a, r)  d = Identity (c) }> (%s, s, x) }"""


@pytest.mark.parametrize("directions", ["", "directions = [0],", "directions = [1],"])
@pytest.mark.parametrize("lengths", ["", "lens"])
def test_the_scan_of_opset_8_goes_along_each_sample(directions, lengths):
    x = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    feeds = {"lens": np.array([3, 2]), "s": np.zeros((2, 2), np.float32), "x": x}
    last, sums = results(BATCH % (directions, lengths), feeds, 8)
    for sample, end in enumerate([3, 2] if lengths else [3, 3]):
        steps = x[sample, :end][::-1] if "1" in directions else x[sample, :end]
        np.testing.assert_array_equal(sums[sample, :end], np.cumsum(steps, 0))
        np.testing.assert_array_equal(sums[sample, end:], 0)
        np.testing.assert_array_equal(last[sample], steps.sum(0))


def test_the_scan_of_opset_8_is_that_of_onnxruntime():
    x = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    feeds = {"lens": np.array([3, 1]), "s": np.ones((2, 2), np.float32), "x": x}
    as_onnxruntime(BATCH % ("", "lens"), feeds, 8)


def test_a_batch_of_none_gives_none():
    feeds = {"lens": np.zeros(0, np.int64), "s": np.zeros((0, 2), np.float32), "x": np.zeros((0, 3, 2), np.float32)}
    last, sums = results((BATCH % ("", "lens")).replace("K", "2"), feeds, 8)
    assert (last.shape, sums.shape) == ((0, 2), (0, 3, 2))


@pytest.mark.parametrize(
    ("attributes", "label"),
    [
        ("scan_input_axes = [0, 3],", "C2"),
        ("scan_input_axes = [0],", "C2"),
        ("scan_input_directions = [0, 2],", "C3"),
        ("scan_input_axes = [0, 1],", "C4"),
        ("scan_output_axes = [0, 3],", "C2"),
    ],
)
def test_what_a_scan_cannot_run_breaks_a_constraint(attributes, label):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    error = refused(CUMULATIVE % attributes, {"s": np.zeros(4, np.float32), "x": x, "z": x})
    assert error.code == "R203"
    assert error.why.startswith(f"{label}: ")


# SequenceMap and If.


def test_a_sequence_map_takes_sequences_by_element_and_tensors_whole():
    graph = """g (seq(float[N]) a, seq(float[N]) b, float[N] c) => (seq(float[N]) y, seq(float[N]) z) {
        y, z = SequenceMap <body = f (float[N] p, float[N] q, float[N] r) => (float[N] s, float[N] t) {
            u = Add (p, q)  s = Mul (u, r)  t = Neg (q) }> (a, b, c) }"""
    one, two = np.float32([1, 2]), np.float32([3, 4])
    feeds = {"a": [one, two], "b": [two, one], "c": np.float32([2, 10])}
    y, z = as_onnxruntime(graph, feeds)
    assert [each.tolist() for each in y] == [[8, 60], [8, 60]]
    assert [each.tolist() for each in z] == [[-3, -4], [-1, -2]]
    assert results(graph, {**feeds, "a": [], "b": []}) == [[], []]
    assert refused(graph, {**feeds, "b": [one]}).why.startswith("C1: ")


def test_both_branches_see_the_values_around_them():
    graph = """g (bool c, float[N, 3] x) => (float[N, 3] y) { two = Constant <value = float {2}> ()
        y = If <then_branch = t () => (float[N, 3] p) { p = Mul (x, two) },
                else_branch = e () => (float[N, 3] q) { q = Sub (x, two) }> (c) }"""
    assert as_onnxruntime(graph, {"c": np.array(True), "x": X})[0].tolist() == (X * 2).tolist()
    assert as_onnxruntime(graph, {"c": np.array(False), "x": X})[0].tolist() == (X - 2).tolist()
    graph = graph.replace("bool c", "bool[N] c")
    assert results(graph, {"c": np.array([True]), "x": X})[0].tolist() == (X * 2).tolist()
    assert refused(graph, {"c": np.array([True, True]), "x": X}).why.startswith("C1: ")


# Limits.

ENDLESS = """g (float[N] v) => (float[N] w) { go = Constant <value = bool {1}> ()
    w = Loop <body = b (int64 i, bool on, float[N] x) => (bool on2, float[N] y) {
        on2 = Identity (on)  y = Neg (x) }> (, go, v) }"""


def test_an_endless_loop_is_stopped():
    feeds = {"v": np.float32([1])}
    assert refused(ENDLESS, feeds, max_steps=5000).code == "R301"
    assert refused(ENDLESS, feeds, timeout=0.1).code == "R303"
    nothing = ENDLESS.replace("on2 = Identity (on)  y = Neg (x)", "").replace("on2, float[N] y", "on, float[N] x")
    assert refused(nothing, feeds, max_steps=5000).code == "R301"


def test_what_iterations_leave_behind_counts_as_memory():
    graph = """g (float[N] v) => (float[K, N] all) { m = Constant <value = int64 {100000}> ()
        all = Loop <body = b (int64 i, bool on) => (bool on, float[N] y) { y = Neg (v) }> (m, ) }"""
    assert refused(graph, {"v": np.zeros(1000, np.float32)}, max_bytes=1 << 20).code == "R302"


def test_what_iterations_give_up_counts_no_more():
    feeds = {"v": np.zeros(1000, np.float32)}
    bounded = ENDLESS.replace("go = Constant <value = bool {1}> ()", "m = Constant <value = int64 {1000}> ()")
    (w,) = results(bounded.replace("(, go, v)", "(m, , v)"), feeds, max_bytes=1 << 15)
    assert w.shape == (1000,)


def test_strings_that_double_are_stopped():
    graph = """g (string[1] v) => (string[1] w) { m = Constant <value = int64 {60}> ()
        w = Loop <body = b (int64 i, bool on, string[1] x) => (bool on, string[1] y) {
            y = StringConcat (x, x) }> (m, , v) }"""
    assert refused(graph, {"v": np.array(["ab"])}, max_bytes=1 << 24).code == "R302"


def test_an_iteration_is_cheap():
    graph = """g (float[N] v) => (float[N] w) { m = Constant <value = int64 {20000}> ()
        w = Loop <body = b (int64 i, bool on, float[N] x) => (bool on, float[N] y) { y = Neg (x) }> (m, , v) }"""
    begun = time.perf_counter()
    results(graph, {"v": np.float32([1])})
    assert time.perf_counter() - begun < 15  # 0.1 s on a quick machine


# Gradient: against differences in double precision.


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


@pytest.mark.parametrize(("nodes", "shapes", "version"), [
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
    ("t = Conv <strides = [2, 1], pads = [1, 0, 2, 1], dilations = [1, 2], group = 2> (a, b)",
     [(1, 2, 5, 4), (2, 1, 3, 2)], 21),
    ('t = Conv <auto_pad = "SAME_LOWER", strides = [2]> (a, b)', [(1, 1, 6), (2, 1, 3)], 21),
    ("lower = Constant <value = double {-1.0}> ()  t = Clip (a, lower, b)", [(3, 4), ()], 21),
    ("t = Clip <min = -1.0, max = 0.5> (a)", [(3, 4)], 6),
    ("i = Constant <value = int64[2] {1, 1}> ()  t = Pad (a, i, b)", [(3,), ()], 21),
])  # fmt: skip
def test_functions_of_several_operands(nodes, shapes, version):
    differentiated(nodes, shapes, version)


@pytest.mark.parametrize("operator", ["Div", "Pow"])
def test_quotients_and_powers(operator):
    differentiated(f"t = {operator} (a, b)", [(2, 3), (3,)], low=0.5)


REDUCTIONS = "Sum Mean Max Min Prod L1 L2 LogSumExp SumSquare".split()


@pytest.mark.parametrize("operator", REDUCTIONS)
def test_reductions(operator):
    differentiated(f"t = Reduce{operator} <axes = [1, -1]> (a)", [(2, 3, 2)], 11)
    axes = "axes = Constant <value = int64[1] {1}> () "
    differentiated(f"t = Reduce{operator} <keepdims = 0> (a, axes)", [(2, 3, 2)], 20, extra=axes)
    differentiated(f"t = Reduce{operator} (a)", [(2, 3)], 20)
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
    differentiated(f"t = {operator} <axis = 1> (a)", [(2, 3, 2)], 11)


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
    "Pad <mode = \"reflect\"> (a, i)": "[6] {0, 1, 1, 0, 2, 0}",
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


def test_what_does_not_depend_on_the_names_is_read_and_has_no_derivative():
    graph = gradient_of("c = Exp (z)  y = Mul (z, c)", '<xs = ["x"], y = "y"> (x)')
    assert results(graph, {"x": np.float32([1, 2]), "z": np.float32([3, 4])})[0].tolist() == [0, 0]
    graph = gradient_of("c = Neg (z)  y = Mul (x, c)", '<xs = ["x"], y = "y"> (x)')
    assert results(graph, {"x": np.float32([1, 2]), "z": np.float32([3, 4])})[0].tolist() == [-3, -4]


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
        ("y = Neg (x)", '<xs = ["x", "x"], y = "y"> (x, x)', "R202", "twice"),
        ("y = Neg (x)", '<xs = ["nothing"], y = "y"> (x)', "R202", "'nothing'"),
        ("y = Neg (x)", '<xs = ["x"], y = "no"> (x)', "R202", "'no'"),
        ("y = Neg (x)", '<xs = ["x"], y = "y"> (x, x)', "R203", "C1"),
        ("i = Constant <value = int64 {1}> ()  y = Neg (x)", '<xs = ["i"], y = "y"> (i)', "R203", "C2"),
        ("y = Less (x, z)", '<xs = ["x"], y = "y"> (x)', "R203", "C3"),
        ('q = ai.onnx.preview.training.Gradient <xs = ["x"], y = "x"> (x)  y = Mul (q, x)',
         '<xs = ["x"], y = "y"> (x)', "R201", "gradient of a gradient"),
    ],
)  # fmt: skip
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


def test_the_last_value_of_a_slice_is_its_own_derivative():
    graph = gradient_of("y = Neg (x)", '<xs = ["y"], y = "y"> (z)')
    assert results(graph, {"x": np.float32([1, 2]), "z": np.float32([3, 4])})[0].tolist() == [1, 1]
