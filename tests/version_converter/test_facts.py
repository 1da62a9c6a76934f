"""What is said of a value's type and shape is what comes out when the model runs."""

import subprocess
import sys
import warnings

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

import opset
from opset.budget import Budget, Limits
from opset.model import load
from opset.model.graph.index import ModelIndex
from opset.model.storage.tensor import tensor_values
from opset.model.types import type_string
from opset.opsets.registry import default_registry
from opset.version_converter.facts import ValueFacts
from opset.version_converter.lazy_inference import LazyInference
from opset.version_converter.limits import MAX_READ
from opset.version_converter.opset_choice import notes_on_misfits, sample_nodes

REGISTRY = default_registry()


def known(proto):
    """Return Values of all bodies of an onnx.ModelProto, the main graph's first."""
    model = load(proto)
    found: dict = {}
    index = ModelIndex(model.proto, REGISTRY.domains)
    inference = LazyInference(model, index, REGISTRY)
    for body in index.bodies:
        versions = index.imports(body)
        outer = found.get(body.parent)
        read = lambda tensor, limit, model=model: tensor_values(model, tensor, limit)  # noqa: E731
        found[body] = ValueFacts(body, body.proto, outer, versions, read, True, inference, Budget(Limits()))
    return list(found.values())


@pytest.fixture(scope="module")
def cases():
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return collect_testcases(None)


def test_nothing_that_is_said_of_the_outputs_of_any_node_case_is_wrong(cases):
    said = {"type": 0, "shape": 0}
    total = 0
    for case in cases:
        proto = type(case.model)()
        proto.CopyFrom(case.model)
        names = [value.name for value in proto.graph.output]
        stated = [type_string(value.type) for value in proto.graph.output]
        del proto.graph.value_info[:]
        for value in proto.graph.output:
            value.ClearField("type")
        values = known(proto)[0]
        for _, outputs in case.data_sets:
            for name, kind, expected in zip(names, stated, outputs, strict=True):
                total += 1
                given = values.type(name)
                assert given in (None, kind), (case.name, name)
                said["type"] += given is not None
                shape = values.shape(name)
                if shape is not None and isinstance(expected, np.ndarray):
                    assert len(shape) == expected.ndim, (case.name, name)
                    pairs = zip(shape, expected.shape, strict=True)
                    assert all(ours == real for ours, real in pairs if isinstance(ours, int)), (case.name, name)
                    said["shape"] += 1
    # What conversion leans on: all types, and the shapes of all but those that data decides or of sequences.
    assert total > 2000
    assert said["type"] == total
    assert said["shape"] > 0.86 * total


def test_ranks_reach_through_recurrent_operators_and_expand():
    nodes = [
        helper.make_node("LSTM", ["x", "w", "r"], ["y", "h", "c"], hidden_size=2),
        helper.make_node("Squeeze", ["y", "axes"], ["s"]),
        helper.make_node("Expand", ["s", "shape"], ["e"]),
    ]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * 3) for name in "xwr"]
    constants = [
        numpy_helper.from_array(np.array([1], np.int64), "axes"),
        numpy_helper.from_array(np.array([2, 1, 1, 1, 1], np.int64), "shape"),
    ]
    graph = helper.make_graph(nodes, "g", inputs, [], constants)
    values = known(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)]))[0]
    assert [len(values.shape(name)) for name in ("y", "h", "c", "s", "e")] == [4, 3, 3, 3, 5]
    assert values.type("e") == "tensor(float)"


def test_a_chain_of_20000_nodes_is_answered_without_recursion():
    nodes = [
        helper.make_node("Gather", ["x" if not i else f"v{i}", "x" if not i else f"v{i}"], [f"v{i + 1}"])
        for i in range(20_000)
    ]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.INT64, [1])], [])
    values = known(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]))[0]
    assert values.type("v20000") == "tensor(int64)"
    assert values.shape("v20000") == (1,)


def test_each_attribute_of_a_constant_is_a_value():
    values = known(
        parser.parse_model("""<ir_version: 8, opset_import: ["": 13]> g () => (int64 y) {
        tensor = Constant <value = int32[2] {1, 2}> ()
        y = Constant <value_int = 3> ()
        ints = Constant <value_ints = [4, 5]> ()
        float = Constant <value_float = 0.5> ()
        floats = Constant <value_floats = [1.5, 2.5]> ()
        string = Constant <value_string = "a"> ()
        strings = Constant <value_strings = ["b", "c"]> ()
    }""")
    )[0]
    assert {name: tuple(values.constant(name)) for (name,) in values.body.computes} == {
        "tensor": ("int32", (2,), (1, 2)),
        "y": ("int64", (), (3,)),
        "ints": ("int64", (2,), (4, 5)),
        "float": ("float", (), (0.5,)),
        "floats": ("float", (2,), (1.5, 2.5)),
        "string": ("string", (), (b"a",)),
        "strings": ("string", (2,), (b"b", b"c")),
    }


def test_a_tensor_is_that_of_a_constant_by_its_name():
    values = known(
        parser.parse_model("""<ir_version: 8, opset_import: ["": 13]> g () => (int64[2] y) <int64[2] held = {5, 6}> {
        y = Constant <value = int64[2] {1, 2}> ()
        other = Constant <other = int64[2] {1, 2}> ()
        both = Constant <other = int64[2] {1, 2}, value = int64[2] {3, 4}> ()
        number = Constant <value_int = 1> ()
        sum = Add (y, y)
    }""")
    )[0]
    found = {
        name: values.stored_constant(name, 2) for name in ("y", "other", "both", "number", "sum", "held", "nobody")
    }
    assert {name: each and each.values for name, each in found.items()} == {
        "y": (1, 2), "other": None, "both": (3, 4), "number": None, "sum": None, "held": (5, 6), "nobody": None,
    }  # fmt: skip
    assert values.stored_constant("y", 1) is None
    for tensor in (TensorProto(data_type=1, dims=[-1]), TensorProto(data_type=99, dims=[0])):
        assert values.elements(tensor) is None


def test_a_constant_with_an_attribute_of_the_function_around_is_not_known_where_nothing_calls_it():
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 13, "f": 1]> g (float x) => (y) { y = Abs (x) }
        <domain: "f", opset_import: ["": 13]> f <n, t> (x) => (y) {
            n = Constant <value_int: int = @n> ()  t = Constant <value: tensor = @t> ()  y = Tile (n, t) }""")
    values = known(model)[1]
    assert [(values.constant(name), values.small_constant(name), values.stored_constant(name, 9)) for name in "nt"] == [
        (None, None, None)
    ] * 2


def test_sizes_that_only_value_info_states_are_not_computed_with():
    """A batch that was 1 when the model was exported, and is variable now, must not become a constant."""
    nodes = [
        helper.make_node("Own", ["x"], ["a"], domain="com.acme"),
        helper.make_node("Relu", ["x"], ["b"]),
        helper.make_node("Shape", ["a"], ["sa"]),
        helper.make_node("Shape", ["b"], ["sb"]),
        helper.make_node("Shape", ["w"], ["sw"]),
    ]
    inputs = [helper.make_tensor_value_info("x", 1, ["N", 4]), helper.make_tensor_value_info("w", 1, [2, 4])]
    stale = [helper.make_tensor_value_info(name, 1, [1, 4]) for name in "ab"]
    graph = helper.make_graph(nodes, "g", inputs, [], value_info=stale)
    imports = [helper.make_opsetid("", 13), helper.make_opsetid("com.acme", 1)]
    values = known(helper.make_model(graph, opset_imports=imports))[0]
    assert [values.constant(name) for name in ("sa", "sb")] == [None, None]
    assert values.constant("sw").values == (2, 4)


def converted(text, to):
    """Return a model in onnx's text syntax, and what it is converted to."""
    proto = parser.parse_model(text)
    return proto, opset.convert(proto, to)


def same(text, to, *feeds):
    """Return whether a conversion computes the same for all feeds, as onnxruntime has it.

    It does not optimize, since it would then compute with sizes that value_info states.
    """
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    sessions = [
        onnxruntime.InferenceSession(each.SerializeToString(), options, providers=["CPUExecutionProvider"])
        for each in converted(text, to)
    ]
    return all(
        np.array_equal(*(session.run(None, {k: np.asarray(v) for k, v in feed.items()})[0] for session in sessions))
        for feed in feeds
    )


def test_a_size_of_value_info_is_not_written_into_the_model():
    """Gather's -1 is the last sample of any batch, though value_info is of the batch 1 that was exported."""
    text = """<ir_version: 8, opset_import: ["": 11]>
        g (float[N, 4] x) => (float[M, 4] y) <float[1, 4] r, int64[1] i = {-1}> {
            r = Relu(x)
            y = Gather<axis = 0>(r, i)
        }"""
    assert same(text, 10, *({"x": np.arange(4 * n, dtype=np.float32).reshape(n, 4)} for n in (1, 3)))


def test_a_rank_of_value_info_that_contradicts_is_not_believed():
    values = known(
        parser.parse_model("""<ir_version: 8, opset_import: ["": 13]>
        g (float[N, 4] x) => (float[N, 4] y) <float r> { r = Relu(x)  y = Relu(r) }""")
    )[0]
    assert values.shape("r") == ("N", 4)


def test_an_initializer_that_a_caller_may_override_has_the_shape_of_its_input():
    proto = parser.parse_model("""<ir_version: 8, opset_import: ["": 13]>
        g (float[N, 4] x, float[4] w = {1.0, 2.0, 3.0, 4.0}) => (float[N, 4] y) { y = Mul(x, w) }""")
    proto.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "M"
    values = known(proto)[0]
    assert values.shape("w") == ("M",)
    assert values.constant("w") is None


HELD = """<ir_version: 8, opset_import: ["": 8]> g () => (int64[2] y) <int64[2] held = {5, 6}> { y = Abs (held) }"""
CALLED_INSIDE = """<ir_version: 8, opset_import: ["": 13, "c": 1, "f": 1]>
    g (float[2, 3] x, float[1, 5] z) => (y, w) {
        y = f.F(x)
        w = c.Own<body = h () => (k) { k = f.F(z) }>(z)
    }
    <domain: "f", opset_import: ["": 13]> F (a) => (b) {
        s = Shape(a)
        zero = Constant<value_ints = [0]>()
        one = Constant<value_ints = [1]>()
        g = Gather(s, zero)
        axis = Sub(g, one)
        b = ReduceSum<keepdims = 0>(a, axis)
    }"""


def test_a_function_that_is_called_where_inference_does_not_look_is_not_known():
    """Its axis is 1 for one call, and 0 for the one in a graph of an operator without schema."""
    function = known(parser.parse_model(CALLED_INSIDE))[-1]
    assert function.body.function
    assert [function.constant("axis"), function.type("a"), function.shape("a")] == [None, None, None]
    # What its nodes say by themselves remains.
    assert [function.type("s"), function.type("one"), function.shape("one")] == ["tensor(int64)"] * 2 + [(1,)]
    with pytest.raises(opset.ConversionError):
        converted(CALLED_INSIDE, 12)


def test_what_calls_of_a_function_do_not_share_is_not_known():
    text = CALLED_INSIDE.replace("c.Own<body = h () => (k) { k = f.F(z) }>(z)", "f.F(z)")
    function = known(parser.parse_model(text))[-1]
    assert [function.constant("axis"), function.shape("a")] == [None, (None, None)]
    shared = known(parser.parse_model(text.replace("float[1, 5]", "float[2, 5]")))[-1]
    assert shared.constant("axis").values == (1,)
    other = known(parser.parse_model(text.replace("float[1, 5]", "double[2, 5]")))[-1]
    assert [other.type("a"), other.constant("axis").values] == [None, (1,)]


def test_an_attribute_of_the_function_around_is_not_known_of_an_added_node():
    """An adapter's node that keeps such an attribute has not the type that the attribute's default would give."""
    proto = parser.parse_model("""<ir_version: 8, opset_import: ["": 13, "f": 1]>
        g (float[2, 3] x) => (y) { y = f.F<keep = 0>(x) }
        <domain: "f", opset_import: ["": 13]> F <keep> (a) => (b) {
            b = ReduceMax<keepdims: int = @keep, axes = [1]>(a)
        }""")
    function = known(proto)[-1]
    assert function.shape("b") == (2,)
    added = type(proto.functions[0].node[0])()
    added.CopyFrom(proto.functions[0].node[0])
    added.output[0] = "c"
    function.add(added, added.output, 13)
    assert [function.type("c"), function.shape("c")] == ["tensor(float)", None]
    plain = parser.parse_model("""<ir_version: 8, opset_import: ["": 13]>
        g (float[2, 3] a) => (d) { d = ReduceMax<keepdims = 0, axes = [1]>(a) }""").graph.node[0]
    function.add(plain, plain.output, 13)
    assert function.shape("d") == (2,)


def test_of_a_value_that_nothing_defines_nothing_is_known():
    facts = known(
        parser.parse_model("""<ir_version: 8, opset_import: ["": 13, "f": 1]>
        g (float[2, 3] x, float[2, N] z, float u) => (y) <float[1] w = {1}, float[1] x = {1}> {
            y = f.F(x)  c = Constant <value_float = 1.0> ()  d = Identity (w)
        } <domain: "f", opset_import: ["": 13]> F (a) => (b) { b = Relu(a) }""")
    )[0]
    assert [facts.is_constant(name) for name in ("nowhere", "x", "z", "y", "c", "d", "w")] == [False] * 4 + [
        True, False, True
    ]  # fmt: skip
    assert [facts.shape("nowhere"), facts.element("nowhere"), facts.stated_type("nowhere")] == [None] * 3
    assert facts.kept_axes("x", "nowhere") == facts.kept_axes("nowhere", "x") == set()
    assert [facts.kept_axes("x", "z"), facts.kept_axes("z", "z"), facts.kept_axes("x", "u")] == [{0}, {0, 1}, set()]
    assert [facts.initializer(name) is not None for name in ("w", "x", "c")] == [True, False, False]
    call = parser.parse_node("q = f.F(x)")
    facts.add(call, call.output, 1)
    assert [facts.element("q"), facts.shape("q")] == [None, None]


def test_a_function_that_nothing_calls_is_inferred_from_its_own_nodes():
    uncalled = CALLED_INSIDE.replace("y = f.F(x)", "y = Relu(x)")
    text = uncalled.replace("c.Own<body = h () => (k) { k = f.F(z) }>", "Relu")
    function = known(parser.parse_model(text))[-1]
    assert [function.type("s"), function.type("axis"), function.shape("one")] == ["tensor(int64)"] * 2 + [(1,)]
    assert function.type("a") is None


CONVERT = """
import sys
import opset
opset.convert(sys.stdin.buffer.read(), int(sys.argv[1]))
print("opset.inference.engine.engine" in sys.modules)
"""


@pytest.mark.parametrize(
    ("nodes", "to", "infers"),
    [
        ("a = Relu(x)  b = Transpose(a)  c = MatMul(a, b)  y = Reshape(c, s)", 17, False),
        ("a = Relu(x)  y = Softmax<axis = 0>(a)", 12, True),
    ],
)
def test_conversion_infers_only_where_it_needs_to(nodes, to, infers):
    text = f'<ir_version: 8, opset_import: ["": 13]> g (float[N, 4] x, int64[2] s) => (y) {{ {nodes} }}'
    data = parser.parse_model(text).SerializeToString()
    ended = subprocess.run([sys.executable, "-c", CONVERT, str(to)], input=data, capture_output=True, check=True)
    assert ended.stdout.decode().strip() == str(infers)


def test_a_number_that_casts_and_sums_of_constants_give_becomes_an_attribute():
    """As exporters write the bounds of Clip; rounded as FLOAT is."""
    text = """<ir_version: 7, opset_import: ["": 12]>
        g (float[N, 4] x) => (float[N, 4] y) <double low = {-0.1}> {
            min = Cast<to = 1>(low)
            two = Constant<value_float = 2.0>()
            tenth = Constant<value_float = 0.1>()
            max = Add(two, tenth)
            y = Clip(x, min, max)
        }"""
    clip = converted(text, 10)[1].graph.node[-1]
    assert {each.name: each.f for each in clip.attribute} == {"min": np.float32(-0.1), "max": np.float32(2.1)}
    assert same(text, 10, {"x": np.float32([[-9, -0.05, 0.5, 9]])})


def test_sizes_that_change_with_each_turn_of_a_loop_are_no_constants():
    """The state grows: the size of its first axis is 1, 2, 3, …; that of its second is always 4."""
    text = """<ir_version: 8, opset_import: ["": 13]>
        g (float[1, 4] x, int64 trips) => (float[A, B] y) {
            y = Loop<body = b (int64 i, bool c, float[1, 4] s) => (bool d, float[A, B] t) {
                d = Identity(c)
                zero = Constant<value_ints = [0]>()
                one = Constant<value_ints = [1]>()
                sizes = Shape(s)
                rows = Gather(sizes, zero)
                columns = Gather(sizes, one)
                begin = Slice(s, zero, one, zero)
                t = Concat<axis = 0>(s, begin)
            }>(trips, , x)
        }"""
    body = known(parser.parse_model(text))[1]
    assert [body.constant(name) for name in ("rows", "sizes")] == [None, None]
    assert body.constant("columns").values == (4,)
    assert body.shape("s")[0] != 1
    assert body.shape("s")[0] != body.shape("t")[0]


def test_constants_that_conversion_made_on_the_way_do_not_stay():
    """Slice goes by version 10, where its axis is counted from the front, and still an input."""
    text = """<ir_version: 8, opset_import: ["": 13]>
        g (float[N, 4] x) => (float[A, B] y) {
            s = Shape(x)
            from = Constant<value_ints = [0]>()
            to = Constant<value_ints = [2]>()
            axis = Constant<value_ints = [-1]>()
            y = Slice(x, from, to, axis)
        }"""
    nodes = converted(text, 9)[1].graph.node
    assert [node.op_type for node in nodes] == ["Shape", "Slice"]
    assert same(text, 9, {"x": np.arange(12, dtype=np.float32).reshape(3, 4)})


def test_a_function_of_which_calls_were_left_out_is_not_known(monkeypatch):
    """Inference is bounded: what further calls would have been like is then not known."""
    text = CALLED_INSIDE.replace("c.Own<body = h () => (k) { k = f.F(z) }>(z)", "f.F(z)").replace("[1, 5]", "[2, 5]")
    assert known(parser.parse_model(text))[-1].constant("axis").values == (1,)
    monkeypatch.setattr("opset.inference.building.work.BASE_STEPS", 140)
    monkeypatch.setattr("opset.inference.building.work.STEPS_PER_BYTE", 0)  # enough for one call
    assert known(parser.parse_model(text))[-1].constant("axis") is None


def test_what_computed_an_attribute_alone_goes_away_and_need_not_be_legal():
    """Range came with version 11; what is read elsewhere too, in a branch or as an output, stays."""
    text = """<ir_version: 8, opset_import: ["": 13]>
        g (float[2, 4] x, bool c) => (float[] y, int64[1] width, int64[] z) {
            zero = Constant<value_int = 0>()
            one = Constant<value_int = 1>()
            second = Constant<value_ints = [1]>()
            sizes = Shape(x)
            rows = Gather(sizes, zero)
            width = Gather(sizes, second)
            axes = Range(zero, rows, one)
            y = ReduceSum<keepdims = 0>(x, axes)
            z = If(c)<
                then_branch = t () => (int64[1] a) { a = Identity(second) },
                else_branch = e () => (int64[1] b) { b = Reshape(zero, second) }
            >
        }"""
    after = converted(text, 10)[1]
    assert [node.op_type for node in after.graph.node] == ["Constant", "Constant", "Shape", "Gather", "ReduceSum", "If"]
    assert same(text, 10, {"x": np.arange(8, dtype=np.float32).reshape(2, 4), "c": True})
    read = text.replace("int64[1] width,", "int64[1] width, int64[A] axes,")
    assert "axes" in [name for node in converted(read, 10)[1].graph.node for name in node.output]


def test_a_node_whose_other_output_is_read_does_not_go_away_with_an_attribute():
    """What else only attributes were computed from goes, in whichever order it is looked at."""
    made = " ".join(f"k{n} = Identity (c{n})  y{n} = ReduceSum <keepdims = 0> (x, k{n})" for n in range(6))
    given = ", ".join(f"int64[1] c{n} = {{{n % 2}}}" for n in range(6))
    text = f"""<ir_version: 8, opset_import: ["": 13]>
        g (float[1, 3] x) => (float[] y, int64[1] q, float[] y0) <int64[2] ones = {{1, 1}}, {given}> {{
            sizes = Shape (x)
            p, q = Split (sizes, ones)
            {made}
            y = ReduceSum <keepdims = 0> (x, p)
        }}"""
    nodes = converted(text, 12)[1].graph.node
    assert [node.op_type for node in nodes] == ["Shape", "Split", *["ReduceSum"] * 7]
    assert same(text, 12, {"x": np.arange(3, dtype=np.float32).reshape(1, 3)})


def test_branches_whose_shapes_are_inferred_agree_or_do_not():
    """Before version 11 they had to; a branch that is never taken is replaced, and others become loops."""
    text = """<ir_version: 8, opset_import: ["": 13]>
        g (float[2, 4] x, bool c) => (float[] z) {
            z = If(c)<
                then_branch = t () => (float[] a) { a = Relu(x) },
                else_branch = e () => (float[] b) { b = Transpose<perm = [0, 1]>(x) }
            >
        }"""
    assert same(text, 10, *({"x": np.float32([[-1] * 4] * 2), "c": each} for each in (True, False)))
    fixed = text.replace("z = If(c)", "k = Constant<value: tensor = bool {1}>() z = If(k)")
    assert same(fixed, 10, {"x": np.float32([[-1] * 4] * 2), "c": True})
    for other, taken in ((text, (True, False)), (fixed, (True,))):
        feeds = [{"x": np.float32([[-1, 2, 3, 4]] * 2), "c": each} for each in taken]
        assert same(other.replace("[0, 1]", "[1, 0]"), 10, *feeds)


def test_a_chain_in_a_function_that_nothing_calls_is_answered_in_linear_time():
    """Its values are inferred node by node; each is an input twice, so that what is waited for doubles unless noted."""
    nodes = [helper.make_node("Gather", [f"v{i}", f"v{i}"], [f"v{i + 1}"]) for i in range(5_000)]
    nodes.append(helper.make_node("Shape", ["v5000"], ["y"]))
    function = helper.make_function("d", "F", ["v0"], ["y"], nodes, [helper.make_opsetid("", 13)])
    graph = helper.make_graph([], "g", [helper.make_tensor_value_info("x", 1, [2])], [])
    imports = [helper.make_opsetid("", 13), helper.make_opsetid("d", 1)]
    values = known(helper.make_model(graph, functions=[function], opset_imports=imports))[1]
    assert values.type("y") == "tensor(int64)"
    assert values.shape("v5000") is None


@pytest.mark.parametrize("operator", ["Mul", "PRelu", "Pow", "Max"])
def test_a_sparse_initializer_has_a_type_and_a_shape(operator):
    values = numpy_helper.from_array(np.array([5, 7], np.float32), "w")
    indices = numpy_helper.from_array(np.array([1, 5], np.int64))
    proto = parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> g (float[2, 3] x) => (float[2, 3] y) {{ y = {operator} (x, w) }}'
    )
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2, 3]))
    facts = known(proto)[0]
    assert (facts.type("w"), facts.shape("w")) == ("tensor(float)", (2, 3))
    feeds = {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}
    wanted = opset.ReferenceEvaluator(proto).run(None, feeds)
    for to in (12, 9, 7):
        np.testing.assert_array_equal(opset.ReferenceEvaluator(opset.convert(proto, to)).run(None, feeds), wanted)


def test_one_node_stands_for_those_of_the_same_operator_types_and_attributes():
    facts = known(
        parser.parse_model("""<ir_version: 8, opset_import: ["": 17, "f": 1]>
        g (float[2] x, double[2] z) => (y) {
            k = Constant <value = float[1] {1}> ()  l = Constant <value_float = 1.0> ()
            a = Elu <alpha = 1.0> (x)  b = Elu <alpha = 1.0> (a)  c = Elu <alpha = 2.0> (a)  d = Elu <alpha = 1.0> (z)
            e = f.F (a)  h = f.F (b)  y = Constant <value = float[2] {1, 2}> ()
            m = Constant <value = float[1] {1}, other = 1> ()  n = f.Constant <value = float[1] {1}> ()
        } <domain: "f", opset_import: ["": 17]> F (p) => (q) { q = Elu <alpha = 1.0> (p) }""")
    )
    samples = sample_nodes(facts[0]._inference.index, {each.body: each for each in facts})
    assert [(each.op_type, each.domain, each.opset, each.node.output[0], each.nodes) for each in samples] == [
        ("Constant", "", 17, "l", 1), ("Elu", "", 17, "a", 2), ("Elu", "", 17, "c", 1), ("Elu", "", 17, "d", 1),
        ("Constant", "", 17, "m", 1), ("Constant", "f", 1, "n", 1), ("Elu", "", 17, "q", 1),
    ]  # fmt: skip
    assert [each.facts for each in samples] == [*[facts[0]] * 6, facts[1]]
    assert notes_on_misfits(samples, REGISTRY) == []


@pytest.mark.parametrize(
    ("nodes", "note"),
    [
        ("a = Add (x, i)", ""),
        ("a = Add (x, i)  b = Add (x, i)  c = Not (x)", ", and 2 more"),
        ("a = d.F (x)  b = Add (x, i)  c = Add (x, i)", ", and 1 more"),
    ],
)
def test_the_first_node_of_types_that_its_operator_does_not_take_is_named(nodes, note):
    text = f"""<ir_version: 8, opset_import: ["": 17, "d": 1]> g (float[2] x, int64[2] i) => (a) {{ {nodes} }}"""
    (facts,) = known(parser.parse_model(text))
    (found,) = notes_on_misfits(sample_nodes(facts._inference.index, {facts.body: facts}), REGISTRY)
    place = f"graph 'g', node number {nodes.startswith('a = d.F'):d} (Add)"
    what = "the input 'B' is tensor(int64), and 'A' is tensor(float) (both have the type T), I202"
    assert found == f"the model is not valid: {place}: {what}{note}; opset check shows all"


def test_types_that_are_found_at_once_are_those_that_are_found_one_by_one():
    """What the model states counts, also where inference finds another type; an absent output has none."""
    proto = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[2] x) => (float[2] y) <int64[2] stated> {
            stated = Neg (x)  free = Cast <to = 7> (x)  , d = Dropout (x)  s = Shape (stated)  y = Abs (stated) }""")
    once, each = known(proto)[0], known(proto)[0]
    once.find_types()
    names = ["x", "stated", "free", "d", "s", "y", ""]
    kinds = ["float", "int64", "int64", "bool", "int64", "float"]
    assert [once.type(name) for name in names] == [*(f"tensor({kind})" for kind in kinds), None]
    assert [each.type(name) for name in names] == [*(f"tensor({kind})" for kind in kinds), None]


def test_constants_are_small_up_to_a_number_of_elements():
    text = """<ir_version: 8, opset_import: ["": 17]> g () => (y) {
        b = Constant <value_ints = [MANY]> ()  y = Identity (a) }"""
    for count, is_small in ((MAX_READ - 1, True), (MAX_READ, True), (MAX_READ + 1, False)):
        proto = parser.parse_model(text.replace("MANY", ", ".join(["7"] * count)))
        proto.graph.initializer.append(numpy_helper.from_array(np.full(count, 7, np.int64), "a"))
        for name in "ab":
            (facts,) = known(proto)
            found = facts.small_constant(name)
            assert (found is not None, facts.large_read) == (is_small, name == "b" and not is_small)
            assert found is None or found == ("int64", (count,), (7,) * count)
            assert facts.constant(name) == ("int64", (count,), (7,) * count)
            assert facts.large_read is not is_small


def test_a_constant_that_a_conversion_adds_to_a_function_is_known():
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 8, "f": 1]> g (float x) => (y) { y = f.f (x) }
        <domain: "f", opset_import: ["": 8]> f (x) => (y) { y = Abs (x) }""")
    facts = known(model)[1]
    facts.add_tensor(load(parser.parse_model(HELD)).proto.graph.initializer[0])
    assert (facts.constant("held"), facts.shape("held"), facts.constant("x")) == (("int64", (2,), (5, 6)), (2,), None)


def test_a_new_initializer_replaces_one_of_its_name():
    text = """<ir_version: 8, opset_import: ["": 17]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Mul (x, w) }"""
    (facts,) = known(parser.parse_model(text))
    assert list(facts.constant("w").values) == [1, 2]
    (facts,) = known(parser.parse_model(text))
    assert facts.shape("x") == (2,)
    facts.add_tensor(load(parser.parse_model(text.replace("1, 2}", "3, 4}"))).proto.graph.initializer[0])
    assert facts.initializer("w").float_data[:] == [3, 4] and list(facts.constant("w").values) == [3, 4]
