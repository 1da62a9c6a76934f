"""OptionalHasElement and OptionalGetElement take tensors and sequences from version 18 on; what else sequences do."""

import numpy as np
import onnx.parser
import pytest
from onnx import TensorProto, helper

import opset
from opset.errors import ConversionError
from opset.version_converter.stacking import _insert_splits

X = np.arange(6, dtype=np.float32).reshape(2, 3)
TENSOR = helper.make_tensor_type_proto(TensorProto.FLOAT, [2, 3])
WRAP = {
    "tensor": [],
    "sequence": [helper.make_node("SequenceConstruct", ["x", "x"], ["v"])],
    "optional": [helper.make_node("Optional", ["x"], ["v"])],
    "optional sequence": [
        helper.make_node("SequenceConstruct", ["x"], ["w"]),
        helper.make_node("Optional", ["w"], ["v"]),
    ],
    "empty": [helper.make_node("Optional", [], ["v"], type=TENSOR)],
}


@pytest.mark.parametrize("wrapped", WRAP)
def test_an_element_is_there_or_not(check, wrapped):
    asks = helper.make_node("OptionalHasElement", ["v" if WRAP[wrapped] else "x"], ["y"])
    feeds = {"x": X}
    after = check([*WRAP[wrapped], asks], 18, 17, feeds, kinds={"y": TensorProto.BOOL}, expect=[wrapped != "empty"])
    asked = wrapped.startswith("optional") or wrapped == "empty"
    assert (after.graph.node[-1].op_type == "OptionalHasElement") == asked


@pytest.mark.parametrize("inputs", [[], [""]])
def test_an_absent_input_has_no_element(check, inputs):
    asks = helper.make_node("OptionalHasElement", inputs, ["y"])
    check(asks, 18, 9, {"x": X}, kinds={"y": TensorProto.BOOL}, expect=[False], operators=[])


@pytest.mark.parametrize("wrapped", ["tensor", "optional", "sequence", "optional sequence"])
def test_an_element_is_got(check, wrapped):
    gets = helper.make_node("OptionalGetElement", ["v" if WRAP[wrapped] else "x"], ["e"])
    last, expect = helper.make_node("Neg", ["e"], ["y"]), [-X]
    if "sequence" in wrapped:
        last, expect = helper.make_node("SequenceAt", ["e", "p"], ["y"]), [X]
    after = check([*WRAP[wrapped], gets, last], 18, 17, {"x": X}, {"p": np.int64(0)}, expect=expect)
    assert after.graph.node[-2].op_type == ("OptionalGetElement" if "optional" in wrapped else "Identity")


def test_the_identity_of_a_sequence_came_with_14(refused, check):
    nodes = [
        WRAP["sequence"][0],
        helper.make_node("OptionalGetElement", ["v"], ["e"]),
        helper.make_node("ConcatFromSequence", ["e"], ["y"], axis=0),
    ]
    check(nodes, 18, 14, {"x": X}, expect=[np.concatenate([X, X])])
    refused(nodes, 18, 13, {"x": X}, "C202")


def test_the_kind_of_input_has_to_be_known(build):
    source = helper.make_node("Magic", [], ["v"], domain="my")
    for operator in ("OptionalHasElement", "OptionalGetElement"):
        with pytest.warns(UserWarning, match="no inference"):
            model = build([source, helper.make_node(operator, ["v"], ["y"])], 18, {"x": X})
        model.opset_import.add(domain="my", version=1)
        with pytest.raises(ConversionError) as caught:
            opset.convert(model, 17)
        assert [finding.code for finding in caught.value.findings] == ["C203"]


def test_sequences_go_up_as_they_are(check):
    nodes = [
        helper.make_node("SplitToSequence", ["x"], ["s"], axis=1),
        helper.make_node("SequenceErase", ["s", "p"], ["t"]),
        helper.make_node("SequenceInsert", ["t", "x"], ["u"]),
        helper.make_node("ConcatFromSequence", ["u"], ["y"], axis=-1),
    ]
    expect = [np.concatenate([X[:, :1], X[:, 2:], X], axis=1)]
    after = check(nodes, 11, 24, {"x": X}, {"p": np.int64(1)}, expect=expect)
    assert list(after.graph.node) == nodes


def test_sequences_came_with_11(build):
    pair = helper.make_node("SequenceConstruct", ["x", "x"], ["s"])
    insert = helper.make_node("SequenceInsert", ["s", "x", "i"], ["t"])
    for nodes in (
        [pair, helper.make_node("SequenceAt", ["s", "i"], ["y"])],
        [pair, insert, helper.make_node("ConcatFromSequence", ["t"], ["y"], axis=0)],
    ):
        model = build(nodes, 11, {"x": X, "i": np.array(0)}, kinds={"y": TensorProto.FLOAT})
        with pytest.raises(ConversionError) as caught:
            opset.convert(model, 10)
        assert {finding.code for finding in caught.value.findings} == {"C201", "C205"}


ROWS = np.arange(24, dtype=np.float32).reshape(4, 6)
MADE = {
    "constructed": ([helper.make_node("SequenceConstruct", ["x", "x2"], ["s"])], 2),
    "inserted": (
        [
            helper.make_node("SequenceConstruct", ["x"], ["a"]),
            helper.make_node("SequenceInsert", ["a", "x2", "zero"], ["b"]),
            helper.make_node("SequenceInsert", ["b", "x"], ["c"]),
            helper.make_node("SequenceErase", ["c", "one"], ["d"]),
            helper.make_node("SequenceInsert", ["d", "x2", "last"], ["e"]),
            helper.make_node("SequenceErase", ["e", "before"], ["f"]),
            helper.make_node("Identity", ["f"], ["s"]),
        ],
        2,
    ),
    "slices": ([helper.make_node("SplitToSequence", ["x"], ["s"], axis=0)], 4),
    "squeezed": ([helper.make_node("SplitToSequence", ["x"], ["s"], axis=-1, keepdims=0)], 6),
    "parts": ([helper.make_node("SplitToSequence", ["x", "four"], ["s"], axis=1)], 2),
    "sizes": ([helper.make_node("SplitToSequence", ["x", "sizes"], ["s"], axis=1)], 3),
}
NUMBERS = {
    "zero": np.array(0),
    "one": np.array(1),
    "four": np.array(4),
    "sizes": np.array([1, 3, 2]),
    "last": np.array(-1),
    "before": np.array(-2),
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("to", [10, 9, 8, 7])
def test_elements_that_are_known_before_a_run(check, made, to):
    nodes, count = MADE[made]
    feeds = {"x": ROWS, "x2": -ROWS}
    for at in ("zero", "last"):
        get = helper.make_node("SequenceAt", ["s", at], ["y"])
        check([*nodes, get], 14, to, feeds, NUMBERS, kinds={"y": TensorProto.FLOAT})
    asks = helper.make_node("SequenceLength", ["s"], ["y"])
    check([*nodes, asks], 14, to, feeds, NUMBERS, kinds={"y": TensorProto.INT64}, expect=[np.array(count)])
    for axis, stacked in ((0, 0), (-1, 0), (0, 1), (-1, 1)):
        if made in ("parts", "sizes") and (stacked or axis == 0):
            continue
        join = helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=axis, new_axis=stacked)
        check([*nodes, join], 14, to, feeds, NUMBERS, kinds={"y": TensorProto.FLOAT})


@pytest.mark.parametrize("to", [10, 9, 8, 7])
@pytest.mark.parametrize("keep", [0, 1])
def test_a_slice_at_a_computed_position(check, to, keep):
    split = helper.make_node("SplitToSequence", ["x"], ["s"], axis=1, keepdims=keep)
    twice = [helper.make_node("SequenceAt", ["s", name], [f"y{name}"]) for name in "ij"]
    join = helper.make_node("Sub", ["yi", "yj"], ["y"])
    feeds = {"x": ROWS, "i": np.array(-1), "j": np.array(2)}
    for shapes in (None, {"x": ["a", "b"]}):
        check([split, *twice, join], 14, to, feeds, shapes=shapes, kinds={"y": TensorProto.FLOAT})


def test_sequences_of_one_form_keep_their_own_elements(check):
    nodes = [
        helper.make_node("SequenceConstruct", ["x", "x2"], ["a"]),
        helper.make_node("SequenceConstruct", ["x2", "x", "x"], ["b"]),
        *[helper.make_node("SequenceAt", [name, "zero"], [f"{name}0"]) for name in "ab"],
        *[helper.make_node("SequenceLength", [name], [f"{name}n"]) for name in "ab"],
        helper.make_node("Sub", ["a0", "b0"], ["y"]),
        helper.make_node("Sub", ["an", "bn"], ["n"]),
    ]
    kinds = {"y": TensorProto.FLOAT, "n": TensorProto.INT64}
    check(nodes, 14, 9, {"x": ROWS, "x2": -ROWS}, NUMBERS, outputs=["y", "n"], kinds=kinds)


REFUSED = [
    (11, 10, "C201", "'s' is one whose elements are not known",
     "(seq(float[]) s, float[2] x) => (int64 n) { t = SequenceConstruct(x) n = SequenceLength(s) }"),
    (11, 10, "C103", "the position is 2, and there are 1",
     "(float[2] x) => (float[] y) <int64 p = {2}> { s = SequenceConstruct(x) y = SequenceAt(s, p) }"),
    (11, 10, "C103", "the sequence is empty",
     "(float[2] x) => (float[] y) { s = SequenceEmpty() y = ConcatFromSequence<axis=0>(s) }"),
    (11, 10, "C201", "what If puts into one",
     "(bool c, float[2] x) => (float[] y) <int64 p = {0}> { s = If(c) <then_branch = t () => (seq(float[]) a) { "
     "a = SequenceConstruct(x) }, else_branch = e () => (seq(float[]) b) { b = SequenceConstruct(x) }> y = "
     "SequenceAt(s, p) }"),
    (11, 10, "C205", "the input 'position' ('i') is computed at run time",
     "(bool c, float[2] x, int64 i) => (float[] y) { s = If(c) <then_branch = t () => (seq(float[]) a) { "
     "a = SequenceConstruct(x) }, else_branch = e () => (seq(float[]) b) { b = SequenceConstruct(x) }> y = "
     "SequenceAt(s, i) }"),
    (11, 10, "C201", "'s' is one whose elements are not known",
     "(seq(float[]) s, int64 i) => (float[] y) { y = SequenceAt(s, i) }"),
    (11, 10, "C103", "the position is 1, and there are 1",
     "(float[2] x) => (float[] y) <int64 p = {1}> { s = SequenceConstruct(x) y = SequenceAt(s, p) }"),
    (11, 10, "C103", "the position is -2, and there are 1",
     "(float[2] x) => (float[] y) <int64 p = {-2}> { s = SequenceConstruct(x) y = SequenceAt(s, p) }"),
    (11, 10, "C103", "the position is 3, and there are 1",
     "(float[2] x) => (float[] y) <int64 p = {3}, int64 o = {0}> { s = SequenceConstruct(x) t = "
     "SequenceInsert(s, x, p) y = SequenceAt(t, o) }"),
    (11, 10, "C103", "parts of 0 elements",
     "(float[2] x) => (float[] y) <int64 n = {0}, int64 o = {0}> { s = SplitToSequence(x, n) y = SequenceAt(s, "
     "o) }"),
    (11, 10, "C103", "SplitToSequence has no first input",
     "(int64 p) => (float[] y) { s = SplitToSequence() y = SequenceAt(s, p) }"),
    (11, 10, "C103", "the sequence is empty",
     "(float[0] x) => (float[] y) <int64[0] n = {}> { s = SplitToSequence(x, n) y = ConcatFromSequence<axis=0>(s) }"),
    (11, 10, "C207", "the rank of 'x' is not known",
     "(float[] x, int64 i) => (float[] y) { s = SplitToSequence<axis=-1>(x) y = SequenceAt(s, i) }"),
    (11, 10, "C207", "the rank of 'x' is not known",
     "(float[] x) => (float[] y) { s = SequenceConstruct(x, x) y = ConcatFromSequence<axis=-1>(s) }"),
    (11, 10, "C207", "the rank of 'x' is not known",
     "(float[] x) => (float[] y) { s = SplitToSequence(x) y = ConcatFromSequence<axis=0>(s) }"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "to", "code", "why", "graph"), REFUSED)
def test_each_reason_to_refuse(reject, version, to, code, why, graph):
    reject(graph, version, to, code, why)


def test_how_a_function_splits_is_said_by_its_calls(run):
    """A reference to the function's attribute is no value: it was read as 0 for the axis of the slices."""
    text = """<ir_version: 8, opset_import: ["" : 14, "my" : 1]>
    g (float[2,3] x, int64 i) => (float[] y, float[] z) { y = my.F<a=1, k=0>(x, i) z = my.F<a=0, k=1>(x, i) }
    <domain: "my", opset_import: ["" : 14]> F <a, k>(x, i) => (y) {
        s = SplitToSequence<axis: int = @a, keepdims: int = @k>(x) y = SequenceAt(s, i) }"""
    before = onnx.parser.parse_model(text)
    for at in (0, 1, -1):
        feeds = {"x": X, "i": np.array(at)}
        for model in (before, opset.convert(before, 10)):
            y, z = run(model, feeds)
            np.testing.assert_array_equal(y, X[:, at])
            np.testing.assert_array_equal(z, X[[at]])


@pytest.mark.parametrize("stated", ["axis: int = @a", "keepdims: int = @a"])
def test_how_a_function_that_nothing_calls_splits_is_not_known(stated):
    text = f"""<ir_version: 8, opset_import: ["" : 14, "my" : 1]> g (float[2] x) => (float[] y) {{ y = Neg(x) }}
    <domain: "my", opset_import: ["" : 14]> F <a>(x, i) => (y) {{
        s = SplitToSequence<{stated}>(x) y = SequenceAt(s, i) }}"""
    with pytest.raises(ConversionError) as caught:
        opset.convert(onnx.parser.parse_model(text), 10)
    assert any("takes the value of a function's attribute" in each.why for each in caught.value.findings)


HEAD = '<ir_version: 8, opset_import: ["": 14]> g (float[] x, int64 n, int64 p) => (float[] y)'
LOOP = """%s = Loop <body = b (int64 i, bool c, %s) => (bool d, %s) {
  d = Identity (c)
  f = Cast <to = 1> (i)
  r = Gather (x, i)
  v = Mul (r, f)
  %s
}> (n, "", %s)"""
ONE = LOOP % ("s", "seq(float[]) before", "seq(float[]) after", "%s", "e")
APPENDED = ONE % "after = SequenceInsert (before, v)"
READERS = {
    "stacked": ("float[]", "y = ConcatFromSequence <axis = 0, new_axis = 1> (s)"),
    "stacked last": ("float[]", "y = ConcatFromSequence <axis = -1, new_axis = 1> (s)"),
    "joined": ("float[]", "y = ConcatFromSequence <axis = 0> (s)"),
    "joined last": ("float[]", "y = ConcatFromSequence <axis = -1> (s)"),
    "counted": ("int64[]", "y = SequenceLength (s)"),
    "computed": ("float[]", "y = SequenceAt (s, p)"),
    "constant": ("float[]", "y = SequenceAt (s, one)"),
    "two": (
        "float[]",
        "z = SequenceAt (s, p) w = ConcatFromSequence <axis = 1, new_axis = 1> (s) u = Sum (z) y = Add (w, k)",
    ),
}
CUBE = np.arange(60, dtype=np.float32).reshape(4, 3, 5) - 7
FEEDS = {"x": CUBE, "n": np.array(3), "p": np.array(0)}


HELD = {"k": np.float32(2), "one": np.int64(1), "zeros": np.array([0]), "ones": np.array([1])}


def fill(loop, readers):
    """Nodes that fill the sequence s in a loop, and read it."""
    graph = onnx.parser.parse_model(f"{HEAD} {{ e = SequenceEmpty () {loop} {readers} }}").graph
    return list(graph.node)


@pytest.fixture
def same(check):
    """Hold that nodes compute the same at a target: of x, n iterations, and p; `shape` is the stated one of x."""

    def convert(nodes, to, x, n=3, p=0, shape=None, kind="float[]"):
        feeds = {"x": x, "n": np.array(n), "p": np.array(p)}
        kinds = {"y": TensorProto.INT64 if kind == "int64[]" else TensorProto.FLOAT}
        after = check(nodes, 14, to, feeds, HELD, shapes=shape and {"x": shape}, kinds=kinds)
        assert to > 10 or not any("Sequence" in node.op_type for node in after.graph.node)

    return convert


@pytest.mark.parametrize("to", [12, 11, 10, 9, 8, 7])
@pytest.mark.parametrize("reader", READERS)
def test_a_loop_stacks_what_it_appends_to_a_sequence(same, reader, to):
    kind, nodes = READERS[reader]
    for n, p in ((2, -1), (4, 2), (3, 0)):
        same(fill(APPENDED, nodes), to, CUBE, n, p, kind=kind)


def test_that_loops_stack_is_noted_beside_what_else_is(build):
    model = build(fill(APPENDED, READERS["counted"][1]), 14, FEEDS, kinds={"y": TensorProto.INT64})
    plan = opset.plan(model, {"": 12, "ai.onnx.ml": 3})
    stacked = "sequences that loops filled, and that they stack now: 1"
    assert plan.notes == ["the model does not import ai.onnx.ml", stacked]
    assert (plan.source, plan.target, plan.ir_version[0]) == ({"": 14}, {"": 12}, model.ir_version)
    # Where no older version asks for it, no loop is rewritten.
    with pytest.raises(ConversionError, match="there is no lowering of SequenceInsert"):
        opset.lower(model, ["SequenceInsert"])


def test_elements_of_a_sequence_cost_steps_each_time_that_they_are_looked_at(build):
    names = ["x"] * 2000
    nodes = [helper.make_node("SequenceConstruct", names, ["s"])]
    nodes += [helper.make_node("SequenceAt", ["s", "p"], [f"y{number}"]) for number in range(20)]
    model = build(nodes, 11, {"x": X}, {"p": np.array(1)}, outputs=["y0"])
    assert len(opset.convert(model, 10, limits=opset.Limits(max_steps=60_000)).graph.node) == 20
    with pytest.raises(ConversionError, match="C401"):
        opset.convert(model, 10, limits=opset.Limits(max_steps=30_000))


@pytest.mark.parametrize("to", [12, 11])
def test_an_empty_sequence_that_is_read_elsewhere_stays(same, to):
    readers = "l = SequenceLength (e) a = ConcatFromSequence <axis = 0> (s) b = Cast <to = 1> (l) y = Add (a, b)"
    same(fill(APPENDED, readers), to, CUBE)


@pytest.mark.parametrize("reader", ["stacked", "counted", "computed", "constant", "joined one"])
def test_sizes_that_all_iterations_share_need_no_numbers(same, reader):
    kind, nodes = READERS.get(reader, ("float[]", "y = ConcatFromSequence <axis = 0> (s)"))
    x, shape = (CUBE[:, :1], ["a", 1, "b"]) if reader == "joined one" else (CUBE, ["a", "b", "c"])
    for given in (x, x[..., :0]):
        same(fill(APPENDED, nodes), 9, given, 2, -2, shape, kind)


def test_sizes_of_other_axes_may_be_0(same):
    same(fill(APPENDED, READERS["joined"][1]), 9, CUBE[..., :0], shape=[4, 3, "b"])
    same(fill(APPENDED, READERS["joined last"][1]), 9, CUBE[:, :0], shape=[4, "b", 5])


@pytest.mark.parametrize("to", [12, 11, 10, 9])
def test_a_loop_without_iterations_leaves_a_sequence_empty(same, to):
    same(fill(APPENDED, READERS["counted"][1]), to, CUBE, 0, kind="int64[]")


def test_a_loop_that_ends_early_has_appended_before(same):
    loop = APPENDED.replace("d = Identity (c)", "d = Less (i, one)")
    for reader in ("stacked", "counted"):
        same(fill(loop, READERS[reader][1]), 9, CUBE, 4, kind=READERS[reader][0])


@pytest.mark.parametrize("value", ["u", "x", "f"])
def test_what_is_appended_may_be_any_value_that_the_body_sees(same, value):
    body = ONE % f"u = Identity (x) after = SequenceInsert (before, {value})"
    same(fill(body, "y = ConcatFromSequence <axis = 0, new_axis = 1> (s)"), 9, CUBE)


@pytest.mark.parametrize("to", [10, 9, 8, 7])
def test_sizes_that_differ_fail_where_tensors_are_always_concatenated(same, to):
    """Bags of an embedding: that each becomes one row is known, and not that all rows have one length."""
    body = """j = Unsqueeze (i, zeros) o = Unsqueeze (p, zeros) a = Slice (q, j, o) h = Sub (a, a)
      w = Slice (x, h, a) m = ReduceMax <axes = [0]> (w) after = SequenceInsert (before, m)"""
    loop = "q = Shape (x) " + ONE % body
    same(fill(loop, "y = ConcatFromSequence <axis = 0> (s)"), to, CUBE[:, :, 0], 1, 2)
    with pytest.raises(ConversionError):
        same(fill(loop, "y = ConcatFromSequence <axis = 1> (s)"), to, CUBE[:, :, 0], 1, 2)


@pytest.mark.parametrize(
    ("made", "reader", "codes"),
    [
        ("v", "ConcatFromSequence <axis = 0> (s)", set()),
        ("v", "com.acme.Join <axis = 0> (s)", set()),
        ("m", "ConcatFromSequence <axis = 0, new_axis = 1> (s)", set()),
        ("m", "com.acme.Join <axis = 0, new_axis = 1> (s)", {"C202"}),
        ("m", "ConcatFromSequence <axis = 0> (s)", {"C202"}),
        ("u", "ConcatFromSequence <axis = 0, new_axis = 1> (s)", {"C202"}),
    ],
)
def test_a_loop_stacks_what_has_one_shape_or_is_concatenated(made, reader, codes):
    """Operators of other domains may take tensors of different sizes, and make any type."""
    body = f"""j = Unsqueeze (i, zeros)  w = Slice (x, zeros, j)  v = Neg (x)  m = ReduceMax <axes = [1]> (w)
        u = com.acme.Op (x)  after = SequenceInsert (before, {made})"""
    loop = ONE.replace("r = Gather (x, i)", "").replace("v = Mul (r, f)", "") % body
    text = f"""<ir_version: 8, opset_import: ["": 14, "com.acme": 1]> m (float[A, B] x, int64 n) => (float[] y)
        <int64[1] zeros = {{0}}> {{ e = SequenceEmpty () {loop} y = {reader} }}"""
    assert {each.code for each in opset.plan(onnx.parser.parse_model(text), 12).refusals} == codes


NESTED = """s = Loop <body = b (int64 i, bool c, seq(float[]) before) => (bool d, seq(float[]) after) {
  d = Identity (c)
  empty = SequenceEmpty ()
  u, total, w, squares = Loop <body = inner (int64 j, bool cc, seq(float[]) b1, float t1, seq(float[]) b2)
      => (bool dd, seq(float[]) a1, float t2, seq(float[]) a2, float[] q) {
    dd = Identity (cc)
    f = Cast <to = 1> (j)
    r = Gather (x, j)
    v = Mul (r, f)
    a1 = SequenceInsert (b1, v)
    t2 = Add (t1, f)
    a2 = SequenceInsert (b2, f)
    q = Mul (f, f)
  }> (n, "", empty, k, empty)
  rows = ConcatFromSequence <axis = 0> (u)
  numbers = ConcatFromSequence <axis = 0, new_axis = 1> (w)
  sum = ReduceSum <keepdims = 0> (numbers)
  more = ReduceSum <keepdims = 0> (squares)
  most = Sum (sum, more, total)
  row = Mul (rows, most)
  after = SequenceInsert (before, row)
}> (n, "", e)"""


@pytest.mark.parametrize("to", [12, 10, 9])
def test_several_sequences_and_loops_in_loops(same, to):
    same(fill(NESTED, "y = ConcatFromSequence <axis = 1> (s)"), to, CUBE)


def test_loops_in_functions_stack(evaluate):
    function = f"""<domain: "l", opset_import: ["": 14]>
    f (x, n, one, p, k) => (y) {{
      e = SequenceEmpty () {APPENDED} y = ConcatFromSequence <axis = 0, new_axis = 1> (s) }}"""
    head = HEAD.replace("14]", '14, "l": 1]').replace("float[] y", "float[a, b, c] y").replace("[] x", "[4, 3, 5] x")
    held = "<int64 one = {1}, float k = {2.0}>"
    model = onnx.parser.parse_model(f"{head} {held} {{ y = l.f (x, n, one, p, k) }} {function}")
    after = opset.convert(model, 10)
    np.testing.assert_array_equal(*evaluate(model, FEEDS), *evaluate(after, FEEDS))


def test_an_empty_sequence_that_is_an_output_stays():
    head = HEAD.replace("float[] x", "float[4, 3, 5] x").replace("float[] y", "int64 y, seq(float[]) e")
    text = f"{head} {{ e = SequenceEmpty () {APPENDED} y = SequenceLength (s) }}"
    after = opset.convert(onnx.parser.parse_model(text), 12)
    assert [node.op_type for node in after.graph.node].count("SequenceEmpty") == 1
    assert opset.ReferenceEvaluator(after).run(None, FEEDS) == [3, []]


NOT_STACKED = {
    "a position": ("after = SequenceInsert (before, v, one)", "y = ConcatFromSequence <axis = 0> (s)"),
    "the first": ("after = SequenceInsert (before, v, i)", "y = ConcatFromSequence <axis = 0> (s)"),
    "read inside": (
        "z = SequenceLength (before) g = Cast <to = 1> (z) u = Mul (v, g) after = SequenceInsert (before, u)",
        "y = ConcatFromSequence <axis = 0> (s)",
    ),
    "read after it is longer": (
        "after = SequenceInsert (before, v) z = SequenceLength (after)",
        "y = ConcatFromSequence <axis = 0> (s)",
    ),
    "twice": (
        "mid = SequenceInsert (before, v) after = SequenceInsert (mid, v)",
        "y = ConcatFromSequence <axis = 0> (s)",
    ),
    "perhaps": (
        """q = Equal (p, one) after = If (q) <
           then_branch = t () => (seq(float[]) tt) { tt = SequenceInsert (before, v) },
           else_branch = l () => (seq(float[]) ll) { ll = Identity (before) }>""",
        "y = ConcatFromSequence <axis = 0> (s)",
    ),
    "other sizes": (
        "o = Unsqueeze (i, zeros) u = Slice (v, zeros, o) after = SequenceInsert (before, u)",
        "y = SequenceAt (s, p)",
    ),
    "other sizes along the axis": (
        "o = Unsqueeze (i, zeros) u = Slice (v, zeros, o) after = SequenceInsert (before, u)",
        "y = ConcatFromSequence <axis = 0> (s)",
    ),
    "other sizes, perhaps concatenated": (
        "o = Unsqueeze (i, zeros) u = Slice (v, zeros, o) after = SequenceInsert (before, u)",
        """q = Equal (p, one) y = If (q) <then_branch = t () => (float[] tt) {
             tt = ConcatFromSequence <axis = 0, new_axis = 1> (s) },
           else_branch = l () => (float[] ll) { ll = SequenceAt (s, p) }>""",
    ),
}


@pytest.mark.parametrize("body", NOT_STACKED)
def test_what_is_not_certain_is_not_stacked(build, body):
    model = build(fill(ONE % NOT_STACKED[body][0], NOT_STACKED[body][1]), 14, FEEDS, HELD)
    with pytest.raises(ConversionError) as caught:
        opset.convert(model, 10)
    assert "C201" in {finding.code for finding in caught.value.findings}
    assert any("(SequenceInsert)" in finding.place for finding in caught.value.findings)


def test_elements_of_a_given_sequence_are_not_of_one_size(build):
    text = """<ir_version: 8, opset_import: ["": 17]> g (seq(float[N]) x) => (seq(float[N]) y) {
      n = SequenceLength (x) e = SequenceEmpty () c = Constant <value = bool {1}> ()
      y = Loop (n, c, e) <body = b (int64 i, bool d, seq(float[N]) before) => (bool d, seq(float[N]) after) {
        v = SequenceAt (x, i) after = SequenceInsert (before, v) }> }"""
    model = onnx.parser.parse_model(text)
    with pytest.raises(ConversionError) as caught:
        opset.convert(model, 11)
    assert [finding.code for finding in caught.value.findings] == ["C202"]
    numbers = onnx.parser.parse_model(text.replace("[N]", "[3]"))
    x = [np.arange(3, dtype=np.float32) + number for number in range(4)]
    (before,), (after,) = (
        opset.ReferenceEvaluator(each).run(None, {"x": x}) for each in (numbers, opset.convert(numbers, 11))
    )
    np.testing.assert_array_equal(before, after)
    numbers.graph.input.add(name="m").type.sequence_type.elem_type.SetInParent()  # of what, nothing says
    assert opset.convert(numbers, 11).graph.input[1] == numbers.graph.input[1]


def test_a_sequence_that_begins_with_elements_is_not_stacked(build):
    loop = (ONE % "after = SequenceInsert (before, v)").replace('"", e)', '"", begun)')
    model = build(fill(f"begun = SequenceConstruct (x) {loop}", "y = SequenceAt (s, p)"), 14, FEEDS, HELD)
    for to in (12, 10):
        with pytest.raises(ConversionError, match=r"v_initial|'seq"):
            opset.convert(model, to)


def test_loops_keep_the_sequences_that_they_may_carry(build):
    model = build(fill(APPENDED, "y = ConcatFromSequence <axis = 0> (s)"), 14, FEEDS, HELD)
    assert opset.convert(model, 13).graph.node[1] == model.graph.node[1]


def test_stacking_is_noted(build):
    model = build(fill(APPENDED, "y = ConcatFromSequence <axis = 0> (s)"), 14, FEEDS, HELD)
    assert any("that they stack now: 1" in note for note in opset.plan(model, 9).notes)


@pytest.mark.parametrize("to", [10, 9, 8, 7])
@pytest.mark.parametrize("keep", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_slices_of_which_the_number_is_not_known(check, axis, keep, to):
    shapes = {"x": [2, 3, 2]}
    shapes["x"][axis] = "n"
    feeds = {"x": np.arange(12, dtype=np.float32).reshape(2, 3, 2), "i": np.array(-2)}
    split = helper.make_node("SplitToSequence", ["x"], ["s"], axis=axis, keepdims=keep)
    readers = [helper.make_node("SequenceAt", ["s", name], ["y"]) for name in ("i", "one", "last")]
    for stacked in (0, 1):
        for to_axis in (0, 1, 2, -1) if keep or stacked else (0, 1, -1):
            readers.append(helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=to_axis, new_axis=stacked))
    for reader in readers:
        check([split, reader], 14, to, feeds, NUMBERS, shapes=shapes, kinds={"y": TensorProto.FLOAT})
    counted = helper.make_node("SequenceLength", ["s"], ["y"])
    check([split, counted], 14, to, feeds, NUMBERS, shapes=shapes, kinds={"y": TensorProto.INT64})


def test_parts_of_length_one_are_slices(check):
    split = helper.make_node("SplitToSequence", ["x", "one"], ["s"], axis=1)
    reader = helper.make_node("SequenceAt", ["s", "i"], ["y"])
    feeds = {"x": ROWS, "i": np.array(-2)}
    check([split, reader], 14, 9, feeds, NUMBERS, shapes={"x": ["a", "b"]}, kinds={"y": TensorProto.FLOAT})


def test_a_dropped_axis_beside_a_length_is_refused(build):
    """There onnxruntime drops the axis, and the standard keeps it."""
    split = helper.make_node("SplitToSequence", ["x", "one"], ["s"], axis=1, keepdims=0)
    reader = helper.make_node("SequenceAt", ["s", "i"], ["y"])
    feeds = {"x": ROWS, "i": np.array(-2)}
    with pytest.raises(ConversionError) as caught:
        opset.convert(build([split, reader], 14, feeds, NUMBERS), 10)
    assert "C205" in {finding.code for finding in caught.value.findings}


def test_elements_of_unknown_size_are_not_joined(build):
    split = helper.make_node("SplitToSequence", ["x"], ["s"], axis=0, keepdims=0)
    join = helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)
    model = build([split, join], 14, {"x": ROWS}, shapes={"x": ["a", "b"]}, kinds={"y": TensorProto.FLOAT})
    with pytest.raises(ConversionError) as caught:
        opset.convert(model, 9)
    assert "C207" in {finding.code for finding in caught.value.findings}


def test_empty_sequences_that_nothing_reads_go_with_what_is_said_of_them():
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y)
        <seq(float[2]) q, float[2] r, seq(float) s> {
        q = SequenceEmpty ()
        r = Relu (x)
        s = SequenceEmpty ()
        n = SequenceLength (s)
        y = Neg (r)
    }"""
    graph = onnx.parser.parse_model(text).graph
    _insert_splits(graph, {1: [helper.make_node("Abs", ["r"], ["a"])]})
    assert [node.op_type for node in graph.node] == ["Relu", "Abs", "SequenceEmpty", "SequenceLength", "Neg"]
    assert [value.name for value in graph.value_info] == ["r", "s"]
