"""Kernels that run graphs: what onnxruntime computes, limits, old forms."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from opset import ReferenceEvaluator
from opset.reference.engine.context import StepContext
from tests.bounds import growth, lines
from tests.reference.graphs import model_of, refused, results

onnxruntime.set_default_logger_severity(4)


def as_onnxruntime(graph, feeds, opset_version=21):
    """Return our results after comparing them with those of onnxruntime."""
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


@pytest.mark.parametrize(
    ("declared", "read", "shape"),
    [
        ("x", "v", (0, 2, 3)),  # nothing is declared
        ("float[N, 3] x", "v", (0, 2, 3)),  # not all sizes are
        ("float x", "v", (0,)),  # a scalar is, which no iteration contradicts
        ("x", "w", (0, 0, 5)),  # a size is not known, either
    ],
)
def test_what_the_body_does_not_declare_is_inferred_if_no_iteration_runs(declared, read, shape):
    graph = f"""g (int64 m, bool go, float[2, 3] v, float[A, 5] w) => (float[K, L, M] all) {{
        all = Loop <body = b (int64 i, bool on) => (bool on2, {declared}) {{
            on2 = Identity (on)  x = Relu ({read}) }}> (m, go) }}"""
    feeds = {"m": np.array(0), "go": NO_CONDITION, "v": X, "w": np.zeros((4, 5), np.float32)}
    (none,) = as_onnxruntime(graph, feeds)
    assert (none.shape, none.dtype) == (shape, np.float32)


LOOP_IN_A_FUNCTION = """<domain: "local", opset_import: ["": 21]> F (m, go, v) => (all) {
    all = Loop <body = b (int64 i, bool on) => (bool on2, x) { on2 = Identity (on)  x = Abs (v) }> (m, go) }"""
NO_ITERATION = {"m": np.array(0), "go": NO_CONDITION, "v": X, "n": np.arange(3)}


def test_a_type_is_inferred_from_all_calls_of_a_function():
    graph = "g (int64 m, bool go, float[2, 3] v) => (float[K, 2, 3] y) { y = local.F (m, go, v) }"
    feeds = {name: NO_ITERATION[name] for name in ("m", "go", "v")}
    (none,) = results(graph + LOOP_IN_A_FUNCTION, feeds)
    assert (none.shape, none.dtype) == ((0, 2, 3), np.float32)
    graph = """g (int64 m, bool go, float[2, 3] v, int64[3] n) => (float[K, 2, 3] y, float[K, 2, 4] z) {
        y = local.F (m, go, v)  u = Concat <axis = 1> (v, v)  z = local.F (m, go, u) }"""
    assert [each.shape for each in results(graph + LOOP_IN_A_FUNCTION, NO_ITERATION)] == [(0, 2, 0)] * 2
    graph = """g (int64 m, bool go, float[2, 3] v, int64[3] n) => (float[K, 2, 3] y, int64[K, 3] z) {
        y = local.F (m, go, v)  z = local.F (m, go, n) }"""
    assert "the type of the output 'x' of the graph is not known" in str(
        refused(graph + LOOP_IN_A_FUNCTION, NO_ITERATION)
    )


def test_a_scan_without_iterations_stacks_nothing_in_the_inferred_shape():
    graph = """g (float[2] s, float[L, 2] v) => (float[2] t, float[2, L] all) {
        t, all = Scan <num_scan_inputs = 1, scan_output_axes = [-1],
            body = b (float[2] a, float[2] e) => (float[2] f, o) { f = Add (a, e)  o = Neg (f) }> (s, v) }"""
    final, none = results(graph, {"s": np.float32([1, 2]), "v": np.zeros((0, 2), np.float32)})
    assert (final.tolist(), none.shape, none.dtype) == ([1, 2], (2, 0), np.float32)


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
        (
            loop_of(
                "b (int64 i, bool g2, float[N] x) => (float on, float[N] y) {"
                " on = ReduceMax <keepdims = 0> (x)  y = Neg (x) }"
            ),
            "C1",
        ),
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


def test_the_scan_of_opset_8_announces_what_it_takes_for_each_sample(monkeypatch):
    announced = []
    monkeypatch.setattr(
        StepContext, "reserve", lambda self, count, dtype=np.float32: announced.append((int(count), np.dtype(dtype)))
    )
    feeds = {"lens": np.full(5, 1), "s": np.zeros((5, 2), np.float32), "x": np.ones((5, 1, 2), np.float32)}
    results(BATCH % ("", "lens"), feeds, 8)
    assert announced[0] == (6 * 5, np.dtype(np.int64))


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
    graph = """g (float[N] v) => (float[N] w) { m = Constant <value = int64 {2000}> ()
        w = Loop <body = b (int64 i, bool on, float[N] x) => (bool on, float[N] y) { y = Neg (x) }> (m, , v) }"""
    with lines(1_000_000):
        results(graph, {"v": np.float32([1])})


def test_a_sequence_that_is_carried_unchanged_costs_nothing():
    graph = """g (float[N] v) => (int64 n) {
        m = Constant <value = int64 {100}> () s = SplitToSequence <keepdims = 0> (v)
        t = Loop <body = b (int64 i, bool on, seq(float) x) => (bool on, seq(float) y) { y = Identity (x) }> (m, , s)
        n = SequenceLength (t) }"""

    def running(size):
        return lambda: results(graph, {"v": np.zeros(size, np.float32)})

    assert growth(running, 50, 8) < 0.5
