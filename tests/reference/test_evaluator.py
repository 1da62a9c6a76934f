"""The evaluator: what it takes and gives, whole models, limits, chance, traces, and errors that name the node."""

from itertools import pairwise

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper, parser

import opset
from opset import Limits, ReferenceEvaluator, RunError
from tests.bounds import lines

X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)


def graph_of(text):
    return parser.parse_model(f'<ir_version: 10, opset_import: ["": 21, "local": 1]> {text}')


def evaluator(text, **options):
    return ReferenceEvaluator(graph_of(text), **options)


def codes(caught):
    return [finding.code for finding in caught.value.findings]


# What goes in and comes out.


def test_outputs_come_in_order_and_any_value_may_be_asked_for():
    run = evaluator("g (float[N, 3] x) => (float[N, 3] z, float[N, 3] y) { y = Relu (x)  z = Neg (y) }")
    assert run.input_names == ["x"]
    assert run.output_names == ["z", "y"]
    z, y = run.run(None, {"x": X})
    np.testing.assert_array_equal(y, np.maximum(X, 0))
    np.testing.assert_array_equal(z, -np.maximum(X, 0))
    assert np.array_equal(run.run(["y"], {"x": X})[0], y)
    assert np.array_equal(run.run(["x"], {"x": X})[0], X)


def test_what_is_not_asked_for_is_not_computed():
    run = evaluator("g (float[2, 3] x) => (float[2, 3] y) { y = Relu (x)  z = Reshape (x, x) }")
    assert np.array_equal(run.run(None, {"x": X})[0], np.maximum(X, 0))


@pytest.mark.parametrize(
    ("feeds", "found"),
    [
        ({}, ["R101"]),
        ({"x": X, "y": X}, ["R102"]),
        ({"x": X.astype(np.float64)}, ["R103"]),
        ({"x": X[0]}, ["R103"]),
        ({"x": X[:, :2]}, ["R103"]),
        ({"x": None}, ["R103"]),
        ({"x": [X]}, ["R103"]),
        ({"a": X, "b": X}, ["R102", "R102", "R101"]),
    ],
)
def test_inputs_that_do_not_fit_are_told_all_at_once(feeds, found):
    run = evaluator("g (float[N, 3] x) => (float[N, 3] y) { y = Relu (x) }")
    with pytest.raises(RunError) as caught:
        run.run(None, feeds)
    assert codes(caught) == found


def test_an_output_that_does_not_exist_is_told():
    with pytest.raises(RunError) as caught:
        evaluator("g (float[2] x) => (float[2] y) { y = Relu (x) }").run(["nothing"], {"x": X[0, :2]})
    assert codes(caught) == ["R104"]


def test_plain_numbers_and_big_endian_arrays_are_taken():
    run = evaluator("g (float[3] x) => (float[3] y) { y = Neg (x) }")
    for value in ([1.0, 2.0, 3.0], np.array([1, 2, 3], ">f4")):
        (y,) = run.run(None, {"x": value})
        assert y.dtype == np.float32
        assert y.tolist() == [-1, -2, -3]


def test_an_optional_input_may_be_left_out():
    run = evaluator("g (optional(float[2]) x) => (bool y) { y = OptionalHasElement (x) }")
    assert run.run(None, {})[0].tolist() is False


def test_results_belong_to_the_caller():
    run = evaluator(
        "g (float[2, 3] x) => (float[2, 3] y, float[3, 2] t, float[1] c) <float[1] c = {7}> "
        "{ y = Identity (x)  t = Transpose (x) }"
    )
    feed = X.copy()
    for result in run.run(None, {"x": feed}):
        result[...] = 0
    assert np.array_equal(feed, X)
    assert run.run(["c"], {"x": feed})[0].tolist() == [7]


def test_arrays_of_a_resulting_sequence_belong_to_the_caller():
    run = evaluator(
        "g (seq(float[3]) s) => (seq(float[3]) t, seq(float[3]) u) { t = Identity (s)  u = SequenceErase (s) }"
    )
    feed = [row.copy() for row in X]
    for result in run.run(None, {"s": feed}):
        for array in result:
            array[...] = 0
    assert np.array_equal(feed, X)


def test_tensors_of_different_types_in_a_list_are_not_joined():
    run = evaluator("g (seq(float[3]) s) => (float[N] y) { y = ConcatFromSequence <axis = 0> (s) }")
    with pytest.raises(RunError, match=r"float64\[3\] and float32\[3\]"):
        run.run(None, {"s": [X[0], X[1].astype(np.float64)]})


def test_initializers_are_defaults_of_inputs_that_may_be_overridden():
    model = graph_of("g (float[1] x, float[1] w) => (float[1] y) { y = Add (x, w) }")
    model.graph.initializer.append(numpy_helper.from_array(np.array([10], np.float32), "w"))
    run = ReferenceEvaluator(model)
    one = np.ones(1, np.float32)
    assert run.input_names == ["x"]
    assert run.run(None, {"x": one})[0] == 11
    assert run.run(None, {"x": one, "w": one})[0] == 2


def test_sparse_initializers_are_dense_when_they_are_read():
    model = graph_of("g (float[2, 3] x) => (float[2, 3] y) { y = Add (x, w) }")
    values = numpy_helper.from_array(np.array([5, 7], np.float32), "w")
    indices = numpy_helper.from_array(np.array([[0, 1], [1, 2]], np.int64))
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2, 3]))
    (y,) = ReferenceEvaluator(model).run(None, {"x": np.zeros((2, 3), np.float32)})
    assert y.tolist() == [[0, 5, 0], [0, 0, 7]]


def test_a_sparse_input_is_given_as_a_dense_array():
    model = graph_of("g (float[2] x) => (float[2] y) { y = Neg (x) }")
    kind = helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, [2])
    model.graph.input[0].type.CopyFrom(kind)
    assert ReferenceEvaluator(model).run(None, {"x": X[0, :2]})[0].tolist() == [-1, 2]


def test_external_data_is_read(tmp_path):
    model = graph_of("g (float[300] x) => (float[300] y) { y = Add (x, w) }")
    model.graph.initializer.append(numpy_helper.from_array(np.arange(300, dtype=np.float32), "w"))
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, size_threshold=0, location="m.data")
    (y,) = ReferenceEvaluator(tmp_path / "m.onnx").run(None, {"x": np.ones(300, np.float32)})
    assert np.array_equal(y, np.arange(1, 301, dtype=np.float32))


def test_sequences_optionals_and_narrow_types_go_in_and_out():
    run = evaluator("""
        g (seq(float[N]) s, optional(float[N]) o, bfloat16[2] b) => (float[N] y, bool has, bfloat16[2] c) {
        i = Constant <value_int = 1> ()  y = SequenceAt (s, i)  has = OptionalHasElement (o)  c = Neg (b) }""")
    two = np.array([1, 2], np.float32)
    y, has, c = run.run(None, {"s": [X[0], two], "o": None, "b": two.astype(ml_dtypes.bfloat16)})
    assert y.tolist() == [1, 2]
    assert not has
    assert has.shape == ()
    assert c.dtype == ml_dtypes.bfloat16
    assert run.run(["has"], {"s": [X[0], two], "o": two, "b": two.astype(ml_dtypes.bfloat16)})[0]


# Functions, subgraphs, versions and domains.

FUNCTIONS = """
<domain: "local", opset_import: ["": 13]> Twice <scale: float = 2.0> (a) => (b) {
    s = Constant <value_float: float = @scale> ()  b = Mul (a, s) }
<domain: "local", opset_import: ["": 13, "local": 1]> Chain <k> (a, c) => (b) {
    t = local.Twice <scale: float = @k> (a)  b = Add (t, c) }
<domain: "local", opset_import: ["": 7]> Rows (a) => (b) { b = Softmax (a) }
"""


def test_functions_bind_attributes_of_calls_and_defaults():
    graph = """g (float[3] x) => (float[3] a, float[3] b, float[3] c) {
        a = local.Twice (x)  b = local.Twice <scale = 5.0> (x)  c = local.Chain <k = 3.0> (x, x) }"""
    run = evaluator(graph + FUNCTIONS)
    a, b, c = run.run(None, {"x": X[0]})
    assert a.tolist() == (2 * X[0]).tolist()
    assert b.tolist() == (5 * X[0]).tolist()
    assert c.tolist() == (4 * X[0]).tolist()


def test_a_function_means_what_its_own_import_says():
    x = np.arange(8, dtype=np.float32).reshape(2, 2, 2)
    run = evaluator(
        "g (float[2, 2, 2] x) => (float[2, 2, 2] a, float[2, 2, 2] b) "
        "{ a = local.Rows (x)  b = Softmax (x) }" + FUNCTIONS
    )
    rows, last = run.run(None, {"x": x})
    np.testing.assert_allclose(rows.sum(axis=(1, 2)), 1, rtol=1e-6)
    np.testing.assert_allclose(last.sum(axis=2), 1, rtol=1e-6)


def test_subgraphs_see_the_values_around_them_at_any_depth():
    run = evaluator("""g (bool c, float[3] x) => (float[3] y) {
        k = Neg (x)
        y = If (c) <then_branch = t () => (float[3] r) {
                r = If (c) <then_branch = tt () => (float[3] q) { q = Add (x, k) },
                            else_branch = te () => (float[3] q) { q = Identity (x) }> },
            else_branch = e () => (float[3] r) { r = Identity (k) }> }""")
    assert run.run(None, {"c": np.array(True), "x": X[0]})[0].tolist() == [0, 0, 0]
    assert run.run(None, {"c": np.array(False), "x": X[0]})[0].tolist() == (-X[0]).tolist()


def test_a_loop_carries_and_stacks():
    run = evaluator("""g (int64 m, float s) => (float t, float[N] all) {
        c = Constant <value = bool {1}> ()
        t, all = Loop (m, c, s) <body = b (int64 i, bool k, float a) => (bool k2, float a2, float o) {
            k2 = Identity (k)  f = Cast <to = 1> (i)  a2 = Add (a, f)  o = Mul (a2, a2) }> }""")
    total, squares = run.run(None, {"m": np.array(4), "s": np.array(1, np.float32)})
    assert total == 7
    assert squares.tolist() == [1, 4, 16, 49]


def test_a_function_of_the_model_goes_before_an_operator_of_that_name():
    run = evaluator(
        "g (float[3] x) => (float[3] y) { y = Relu (x) } "
        '<domain: "", opset_import: ["": 21]> Relu (a) => (b) { b = Neg (a) }'
    )
    assert run.run(None, {"x": X[0]})[0].tolist() == (-X[0]).tolist()


def test_three_thousand_functions_that_call_each_other_need_no_stack():
    local = [helper.make_opsetid("local", 1)]
    calls = [helper.make_node(f"F{i + 1}", ["a"], ["b"], domain="local") for i in range(3_000)]
    functions = [helper.make_function("local", f"F{i}", ["a"], ["b"], [call], local) for i, call in enumerate(calls)]
    end = helper.make_node("Neg", ["a"], ["b"])
    functions.append(helper.make_function("local", "F3000", ["a"], ["b"], [end], [helper.make_opsetid("", 21)]))
    graph = helper.make_graph(
        [helper.make_node("F0", ["x"], ["y"], domain="local")],
        "g",
        [helper.make_tensor_value_info("x", 1, [1])],
        [helper.make_tensor_value_info("y", 1, [1])],
    )
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("local", 1)]
    model = helper.make_model(graph, functions=functions, opset_imports=imports)
    assert ReferenceEvaluator(model).run(None, {"x": np.ones(1, np.float32)})[0] == -1


# Chance.

CHANCE = "g () => (float[8] a, float[8] b) { a = RandomNormal <shape = [8]> ()  b = RandomNormal <shape = [8]> () }"


def test_a_seed_makes_runs_equal_and_nodes_differ():
    first, second = (evaluator(CHANCE, seed=7).run(None, {}) for _ in range(2))
    assert np.array_equal(first, second)
    assert not np.array_equal(*first)
    assert not np.array_equal(evaluator(CHANCE, seed=8).run(None, {}), first)
    run = evaluator(CHANCE)
    assert not np.array_equal(run.run(None, {}), run.run(None, {}))


def test_chance_does_not_depend_on_what_else_is_asked_for():
    run = evaluator(CHANCE, seed=7)
    assert np.array_equal(run.run(["b"], {})[0], run.run(None, {})[1])


def test_an_attribute_seed_counts_before_the_evaluations():
    graph = "g () => (float[8] a) { a = RandomUniform <shape = [8], seed = 3.5> () }"
    assert np.array_equal(evaluator(graph, seed=1).run(None, {}), evaluator(graph, seed=2).run(None, {}))


def test_attributes_without_a_value_or_a_meaning_do_not_count():
    for version, node, attribute in (
        (21, "LeakyRelu", "alpha"),
        (1, "LeakyRelu", "consumed_inputs"),
        (21, "Neg", "odd"),
    ):
        text = f'<ir_version: 10, opset_import: ["": {version}]> g (float[2] x) => (float[2] y) {{ y = {node} (x) }}'
        model = parser.parse_model(text)
        (expected,) = ReferenceEvaluator(model).run(None, {"x": X[0, :2]})
        model.graph.node[0].attribute.add(name=attribute)
        if attribute == "consumed_inputs":
            model.graph.node[0].attribute[0].CopyFrom(helper.make_attribute(attribute, [0]))
        assert np.array_equal(ReferenceEvaluator(model).run(None, {"x": X[0, :2]})[0], expected)


@pytest.mark.parametrize("version", [15, 18])
def test_an_optional_value_without_an_element_is_a_value(version):
    text = f'<ir_version: 10, opset_import: ["": {version}]> g (optional(float[2]) x) => (float[2] y)'
    model = parser.parse_model(f"{text} {{ y = OptionalGetElement (x) }}")
    with pytest.raises(RunError) as caught:
        ReferenceEvaluator(model).run(None, {"x": None})
    assert codes(caught) == ["R203"]


# The trace.


def test_a_trace_tells_of_every_value_with_its_node():
    seen = []
    graph = "g (float[3] x) => (float[3] y) { [first] t = Neg (x)  u = Abs (x)  y = local.Twice (t) }"
    trace = lambda place, name, value: seen.append((place, name, value.tolist()))  # noqa: E731
    evaluator(graph + FUNCTIONS, trace=trace).run(None, {"x": X[0]})
    assert [name for _, name, _ in seen] == ["t", "u", "s", "b", "y"]
    assert seen[0] == ("graph 'g', node 'first' (Neg)", "t", (-X[0]).tolist())
    assert seen[2][0] == "function 'local.Twice', node number 0 (Constant)"


def test_an_output_that_is_left_out_is_not_traced():
    seen = []
    graph = "g (float[3] x) => (float[3] z, float[3] y) { y, , n = Unique (x)  z = Neg (x) }"
    found = evaluator(graph, trace=lambda place, name, value: seen.append(name)).run(None, {"x": X[0]})
    assert seen == ["y", "n", "z"] and np.array_equal(found[0], -X[0])


# Limits.

FOREVER = """g () => (float t) {
    c = Constant <value = bool {1}> ()  s = Constant <value_float = 0.0> ()
    t = Loop (, c, s) <body = b (int64 i, bool k, float a) => (bool k2, float a2) {
        k2 = Identity (k)  a2 = Identity (a) }> }"""


def stopped(graph, code, feeds=None, **limits):
    with lines(3_000_000), pytest.raises(RunError) as caught:
        evaluator(graph, limits=Limits(**limits)).run(None, feeds or {})
    assert codes(caught) == [code]
    assert caught.value.place


def late(graph, feeds=None, **limits):
    with pytest.raises(RunError) as caught:
        evaluator(graph, limits=Limits(**limits)).run(None, feeds or {})
    assert codes(caught) == ["R303"] and caught.value.place


@pytest.mark.parametrize(("nodes", "more"), [(254, 0), (255, 1), (510, 1), (511, 2)])
def test_a_program_of_many_values_takes_a_step_for_each_256_of_them(nodes, more):
    names = ["x", *(f"v{number}" for number in range(nodes))]
    body = " ".join(f"{after} = Neg ({before})" for before, after in pairwise(names))
    model = opset.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> g (float x) => (float {names[-1]}) {{ {body} }}'
    )
    runner = ReferenceEvaluator(model)
    runner.run(None, {"x": np.float32(1)})
    assert runner.steps == nodes + more


def test_a_loop_without_end_is_stopped():
    stopped(FOREVER, "R301", max_steps=1000)
    late(FOREVER, timeout=0.2)


@pytest.mark.parametrize(
    "node",
    [
        "ConstantOfShape (size)",
        "Expand (ones, size)",
        "Tile (ones, size)",
        "Range (zero, last, one)",
        "RandomNormal <shape = [1099511627776]> ()",
    ],
)
def test_a_value_larger_than_memory_is_not_begun(node):
    graph = f"""g () => (float[N] y) <int64[1] size = {{1099511627776}}, float[1] ones = {{1}}, float zero = {{0}},
        float last = {{1099511627776}}, float one = {{1}}> {{ y = {node} }}"""
    stopped(graph, "R302")
    stopped(graph, "R302", max_bytes=1 << 20)


def test_many_values_that_live_at_once_are_counted():
    adds = " ".join(f"v{i + 1} = Concat <axis = 0> (v{i}, v{i})" for i in range(30))
    stopped(f"g (float[1] v0) => (float[N] v30) {{ {adds} }}", "R302", {"v0": X[0, :1]}, max_bytes=1 << 20)


def test_values_that_are_made_of_nothing_are_counted_and_results_only_once():
    draws = "  ".join(f"{name} = RandomNormal <shape = [20000]> ()" for name in "abcdef")
    stopped(f"g () => (float[N] y) {{ {draws}  y = Sum (a, b, c, d, e, f) }}", "R302", max_bytes=1 << 20)
    run = evaluator("g (float[N] x) => (float[N] y) { y = Neg (x) }", limits=Limits(max_bytes=1 << 20))
    assert run.run(None, {"x": np.ones(120_000, np.float32)})[0].shape == (120_000,)


def test_sums_of_integers_take_no_doubles():
    run = evaluator("g (int64[N] x) => (int64[K] y) { y = ReduceSum (x) }", limits=Limits(max_bytes=1 << 20))
    assert run.run(None, {"x": np.ones(50_000, np.int64)})[0].tolist() == [50_000]


def test_sparse_initializers_that_are_huge_together_are_stopped():
    model = graph_of(f"g () => (float[N] y) {{ y = Concat <axis = 0> ({', '.join(f'w{i}' for i in range(8))}) }}")
    for i in range(8):
        value = numpy_helper.from_array(np.ones(1, np.float32), f"w{i}")
        model.graph.sparse_initializer.append(
            helper.make_sparse_tensor(value, numpy_helper.from_array(np.zeros(1, np.int64)), [1 << 18])
        )
    with pytest.raises(RunError) as caught:
        ReferenceEvaluator(model, limits=Limits(max_bytes=3 << 20)).run(None, {})
    assert codes(caught) == ["R302"]


def test_a_scan_of_a_thousand_million_steps_is_stopped():
    graph = """g (float[N, 0] x) => (float[N, 0] y) {
        y = Scan <num_scan_inputs = 1, body = b (float[0] a) => (float[0] r) { r = Identity (a) }> (x) }"""
    stopped(graph, "R301", {"x": np.zeros((10**9, 0), np.float32)}, max_steps=10_000)
    late(graph, {"x": np.zeros((10**9, 0), np.float32)}, timeout=0.2)


def test_functions_that_double_are_stopped():
    twice = "F{0} (a) => (b) {{ t = local.F{1} (a)  b = local.F{1} (t) }}"
    functions = [twice.format(i, i + 1) for i in range(30)] + ["F30 (a) => (b) { b = Neg (a) }"]
    header = '<domain: "local", opset_import: ["": 21, "local": 1]> '
    graph = "g (float[1] x) => (float[1] y) { y = local.F0 (x) }" + "".join(header + each for each in functions)
    stopped(graph, "R301", {"x": X[0, :1]}, max_steps=10_000)


def test_a_regular_expression_takes_linear_time():
    run = evaluator('g (string[1] x) => (bool[1] y) { y = RegexFullMatch <pattern = "(a*)*(a|a)*(a?){60}b"> (x) }')
    assert run.run(None, {"x": np.array(["a" * 20_000])})[0].tolist() == [False]


# Errors at nodes.


@pytest.mark.parametrize(
    ("nodes", "code", "says"),
    [
        ("y = Nonsense (x)", "R201", "no such operator"),
        ("y = elsewhere.Relu (x)", "R201", "not imported"),
        ("y = Swish (x)", "R201", "it was added in version 24"),
        ("y = Relu <slope = 1> (x)", "R202", "slope"),
        ("y = Cast (x)", "R202", "'to'"),
        ("y = Relu (x, x)", "R202", "the node has 2 inputs"),
        ("y = local.Nothing (x)", "R201", "declare it and register a kernel"),
        ("y = Add (x)", "R202", "'B' is missing"),
        ("y = Not (x)", "R202", "tensor(bool)"),
        ("i = Cast <to = 7> (x)  y = Add (x, i)", "R202", "both have the type T"),
        ("y = Softmax <axis = 2> (x)", "R203", "C1: axis 2, rank 2"),
        ("y = MatMul (x, x)", "R20", "tensor(float)[2, 3], tensor(float)[2, 3]"),
    ],
)
def test_an_error_names_the_node_its_inputs_and_why(nodes, code, says):
    with pytest.raises(RunError) as caught:
        evaluator(f"g (float[2, 3] x) => (float[2, 3] y) {{ {nodes} }}").run(None, {"x": X})
    assert len(caught.value.findings) == 1
    assert caught.value.code.startswith(code)
    assert "graph 'g', node number" in caught.value.place
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("nodes", "operator"),
    [
        ("y = Relu <slope = 1> (x)", "Relu 14"),
        ("y = Add (x)", "Add 14"),
        ("y = ai.onnx.ml.Scaler <scale: int = 1> (x)", "ai.onnx.ml.Scaler 1"),
        ("m = Cast <to = 11> (x) y, i, j = LayerNormalization <stash_type = 11> (m, m)", "LayerNormalization 17"),
    ],
)
def test_what_helps_a_node_that_does_not_fit_names_its_operator(nodes, operator):
    header = '<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 3]>'
    with pytest.raises(RunError) as caught:
        ReferenceEvaluator(parser.parse_model(f"{header} g (float[2, 3] x) => (float[2, 3] y) {{ {nodes} }}")).run(
            None, {"x": X}
        )
    assert caught.value.findings[0].advice == (
        f"correct the node or the imported version: opset show {operator} prints the signature"
    )


BRANCHES = """<domain: "local", opset_import: ["": 21]> F <body> (a) => (b) { c = Constant <value = bool {1}> ()
    b = If <then_branch: graph = @body, else_branch = e () => (float[2, 3] q) { q = Identity (a) }> (c) }"""


@pytest.mark.parametrize(
    ("call", "place", "says"),
    [
        ("Twice (x, x)", "graph 'g', node 'here' (Twice)", "too many inputs"),
        (
            "F <body = t () => (float[2, 3] r) { r = Neg (x) }> (x)",
            "function 'local.F', node number 1 (If)",
            "the graph 'body' is an attribute of a function's call",
        ),
    ],
)
def test_calls_that_their_function_cannot_take_are_told(call, place, says):
    with pytest.raises(RunError) as caught:
        evaluator(f"g (float[2, 3] x) => (float[2, 3] y) {{ [here] y = local.{call} }}" + FUNCTIONS + BRANCHES).run(
            None, {"x": X}
        )
    assert codes(caught) == ["R202"] and says in caught.value.message
    assert caught.value.place.startswith(place)


@pytest.mark.parametrize(
    "graph",
    [
        "g (float[1] x) => (float[1] y) <float[1] w = {2}> { y = Add (x, w) }",
        "g (float[1] x) => (float[1] y) { w = Constant <value = float[1] {2}> ()  y = Add (x, w) }",
    ],
)
def test_tensors_for_which_the_machine_has_no_memory_are_told(graph, monkeypatch):
    def array_of(*_):
        raise MemoryError

    run = evaluator(graph)
    monkeypatch.setattr("opset.reference.engine.constants.array_of", array_of)
    with pytest.raises(RunError) as caught:
        run.run(None, {"x": X[0, :1]})
    assert codes(caught) == ["R302"] and caught.value.why == "the machine has no more memory"


def test_an_error_in_a_function_names_its_call():
    functions = '<domain: "local", opset_import: ["": 21]> F (a) => (b) { b = MatMul (a, a) }'
    with pytest.raises(RunError) as caught:
        evaluator("g (float[2, 3] x) => (float[2, 3] y) { [here] y = local.F (x) }" + functions).run(None, {"x": X})
    assert caught.value.place == "function 'local.F', node number 0 (MatMul), called by graph 'g', node 'here' (F)"


def test_an_error_names_the_calls_around_it_and_no_graph_twice():
    functions = """<domain: "local", opset_import: ["": 21, "local": 1]> F (a) => (b) {
        c = Constant <value = bool {1}> ()
        [inside] b = If (c) <
            then_branch = t () => (r) { r = MatMul (a, a) },
            else_branch = e () => (r) { r = Neg (a) }
        >
    }"""
    graph = """g (float[2, 3] x) => (float[2, 3] y) {
        c = Constant <value = bool {1}> ()
        [around] y = If (c) <
            then_branch = t () => (r) { [here] r = local.F (x) },
            else_branch = e () => (r) { r = Neg (x) }
        >
    }"""
    with pytest.raises(RunError) as caught:
        evaluator(graph + functions).run(None, {"x": X})
    assert caught.value.place == (
        "function 'local.F', node 'inside' (If), then_branch, node number 0 (MatMul), "
        "called by graph 'g', node 'around' (If), then_branch, node 'here' (F)"
    )


def test_an_error_names_the_three_innermost_calls():
    functions = "".join(
        f'<domain: "local", opset_import: ["": 21, "local": 1]> F{depth} (a) => (b) {{ b = {op} (a) }}'
        for depth, op in enumerate(["local.F1", "local.F2", "local.F3", "MatMul"])
    ).replace("MatMul (a)", "MatMul (a, a)")
    with pytest.raises(RunError) as caught:
        evaluator("g (float[2, 3] x) => (float[2, 3] y) { y = local.F0 (x) }" + functions).run(None, {"x": X})
    calls = [f"function 'local.F{depth}', node number 0 (F{depth + 1})" for depth in (2, 1, 0)]
    assert caught.value.place == ", called by ".join(["function 'local.F3', node number 0 (MatMul)", *calls])


def test_all_operators_that_cannot_be_computed_are_told_at_once():
    run = evaluator("g (float[3] x) => (float[3] y) { a = One (x)  b = Two (a)  y = Relu (b) }")
    with pytest.raises(RunError) as caught:
        run.run(None, {"x": X[0]})
    assert codes(caught) == ["R201", "R201"]


def _has_graph(data):
    """Whether bytes are a model with a graph, if only an empty one, as b":\\0" is."""
    try:
        return onnx.ModelProto.FromString(data).HasField("graph")
    except Exception:
        return False


@given(st.binary(max_size=300).filter(lambda data: not _has_graph(data)))
def test_bytes_that_are_no_model_are_refused(data):
    with pytest.raises(opset.ModelError) as caught:
        ReferenceEvaluator(data)
    assert caught.value.code in ("M102", "M103", "M109")


# Laws.


@given(
    st.lists(st.sampled_from(["Neg", "Abs", "Relu", "Identity", "Floor"]), min_size=1, max_size=8),
    st.integers(0, 2**32 - 1),
)
def test_a_chain_is_what_its_nodes_are_one_by_one(names, seed):
    """Evaluation is composition: whole or in two halves, whatever is freed in between."""
    nodes = [helper.make_node(name, [f"v{i}"], [f"v{i + 1}"]) for i, name in enumerate(names)]
    x = np.random.default_rng(seed).normal(size=5).astype(np.float32)

    def chain(first, last):
        graph = helper.make_graph(
            nodes[first:last],
            "g",
            [helper.make_tensor_value_info(f"v{first}", TensorProto.FLOAT, [5])],
            [helper.make_tensor_value_info(f"v{last}", TensorProto.FLOAT, [5])],
        )
        return ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]))

    (whole,) = chain(0, len(nodes)).run(None, {"v0": x})
    for cut in range(1, len(nodes)):
        (half,) = chain(0, cut).run(None, {"v0": x})
        assert np.array_equal(chain(cut, len(nodes)).run(None, {f"v{cut}": half})[0], whole)
