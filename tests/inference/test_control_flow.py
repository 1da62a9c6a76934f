"""What control flow gives: branches merged, loops that settle, sizes over turns, names from around, hostile graphs."""

import onnx
import pytest
from onnx import TensorProto, helper

from opset.inference.engine.result import infer
from tests.bounds import lines


def model(body, inputs, outputs="", imports='"" : 21'):
    """Return a model by the text of its nodes, inputs and outputs."""
    outputs = outputs or "y"
    text = f"<ir_version: 10, opset_import: [{imports}]> main ({inputs}) => ({outputs}) {{ {body} }}"
    return onnx.parser.parse_model(text)


def typed(body, inputs, name="y", imports='"" : 21', **options):
    """Return the type of a value as text; nothing may be wrong."""
    result = infer(model(body, inputs, name, imports), **options)
    assert not result.findings, result.findings
    return str(result.type(name))


def branches(then, other, cond="c"):
    then, other = f"t () => (a) {{ a = {then} }}", f"e () => (b) {{ b = {other} }}"
    return f"y = If ({cond}) <then_branch = {then}, else_branch = {other}>"


@pytest.mark.parametrize(
    ("then", "other", "expected"),
    [
        ("Relu (x)", "Neg (x)", "float[N, 4]"),
        ("Relu (x)", "Concat <axis = 1> (x, x)", "float[N, y_d1]"),
        ("Relu (x)", "Flatten <axis = 0> (x)", "float[y_d0, y_d1]"),
        ("Relu (x)", "ReduceSum <keepdims = 0> (x)", "float"),
    ],
)
def test_branches_are_merged(then, other, expected):
    found = infer(model(branches(then, other), "bool c, float[N, 4] x"))
    assert not found.findings
    assert str(found.type("y") or "?") == expected
    assert bool(found.gaps) == (found.type("y") is None or found.shape("y") is None)


def test_branches_give_one_element_type_unless_the_condition_is_known():
    nodes = branches("Relu (x)", "Shape (x)")
    found = infer(model(nodes, "bool c, float[N, 4] x"))
    assert [each.why for each in found.findings] == ["output 0 has float in one branch, and int64 in the other"]
    assert found.type("y") is None
    found = infer(model("c = Constant <value = bool {1}> () " + nodes, "float[N, 4] x"))
    assert not found.findings and str(found.type("y")) == "float[N, 4]"


def test_a_constant_condition_takes_its_branch_with_its_elements():
    nodes = """c = Constant <value = bool {1}> () n = Constant <value = int64[2] {3, 5}> ()
        s = If (c) <then_branch = t () => (a) { a = Constant <value = int64[2] {3, 5}> () },
                    else_branch = e () => (b) { b = MatMul (x, x) }>
        y = Expand (x, s)"""
    result = infer(model(nodes, "float[1] x"))
    assert not result.findings  # what is wrong in the other branch does not matter
    assert result.shape("y") == (3, 5)
    assert "e" in [graph.name for graph in _graphs(result.written().proto)]


def test_a_branch_may_be_wrong_where_a_condition_guards_it():
    result = infer(model(branches("Relu (x)", "MatMul (x, x)"), "bool c, float[2, 4] x"))
    assert not result.findings
    assert [(gap.value, gap.reason[:3]) for gap in result.gaps] == [("y", "the"), ("b", "C2:")]


def test_what_both_branches_give_is_known():
    nodes = """s = If (c) <then_branch = t () => (a) { a = Constant <value = int64[2] {3, 5}> () },
                           else_branch = e () => (b) { b = Constant <value = int64[2] {3, 6}> () }>
        y = Expand (x, s)"""
    assert typed(nodes, "bool c, float[1] x") == "float[3, y_d1]"


def test_a_shape_decides_the_condition():
    nodes = """one = Constant <value = int64[1] {1}> () s = Shape <start = 1, end = 2> (x) c = Equal (s, one)
        """ + branches("Squeeze (x, one)", "Identity (x)")
    assert typed(nodes, "float[N, 1] x") == "float[N]"
    assert typed(nodes, "float[N, 7] x") == "float[N, 7]"
    assert typed(nodes, "float[N, M] x") == "float"


LOOP = "y{more} = Loop ({m}, {c}, {x}) <body = b (int64 i, bool g, {formal} s) => (bool h, t{outs}) {{ {nodes} }}>"


def loop(nodes, m="m", c="", x="x", formal="float[A, B]", more="", outs="", keep="h = Identity (g)"):
    return LOOP.format(m=m, c=c, x=x, formal=formal, more=more, outs=outs, nodes=f"{keep} {nodes}")


def test_a_state_that_keeps_its_shape():
    assert typed(loop("t = Relu (s)"), "int64 m, float[N, 4] x") == "float[N, 4]"
    assert typed(loop("t = Add (s, x)"), "int64 m, float[N, 4] x") == "float[N, 4]"


def test_the_body_states_a_size():
    assert typed(loop("t = Relu (s)", formal="float[A, 4]"), "int64 m, float[N, M] x") == "float[N, 4]"
    assert typed(loop("t = Relu (s)", formal="float[A, 4]"), "int64 m, float[] x") == "float[y_d0, 4]"


def test_a_state_that_grows():
    grown = loop("t = Concat <axis = 0> (s, s)")
    assert typed(grown, "int64 m, float[2, 4] x") == "float[y_d0, 4]"
    assert typed(grown, "int64 m, float[N, 4] x") == "float[y_d0, 4]"
    assert (
        typed(
            loop("z = Constant <value = int64[1] {0}> () t = Unsqueeze (s, z)", formal="float[]"),
            "int64 m, float[2, 4] x",
        )
        == "float"
    )


def test_the_body_tells_what_holds_in_every_turn():
    nodes = loop("t = Concat <axis = 0> (s, s) z = Neg (s)", more=", ys", outs=", z")
    result = infer(model(nodes, "int64 m, float[2, 4] x"))
    shapes = {value.name: str(value.type) for value in result.values()}
    assert shapes["ys"] == "float[ys_d0, ys_d1, 4]"
    assert shapes["z"] == "float[s_d0, 4]"
    written = {value.name: value for graph in _graphs(result.written().proto) for value in graph.output}
    assert [dim.WhichOneof("value") for dim in written["z"].type.tensor_type.shape.dim] == [None, "dim_value"]


def test_what_a_body_states_of_a_state_that_grows_is_not_believed():
    nodes = loop("t = Concat <axis = 0> (s, s)", formal="float[2, 4]")
    assert typed(nodes, "int64 m, float[2, 4] x") == "float[y_d0, 4]"
    three = "k = Constant <value = int64 {3}> () "
    assert (
        typed(three + loop("t = Concat <axis = 0> (s, s)", m="k", formal="float[2, 4]"), "float[2, 4] x")
        == "float[y_d0, 4]"
    )


@pytest.mark.parametrize("stated", ["A{}", "2"])  # 2 is true of the first turns alone
def test_sizes_that_pass_from_state_to_state(stated):
    states = 12
    formals = ", ".join(f"float[{stated.format(n)}] s{n}" for n in range(states))
    nodes = "t0 = Concat <axis = 0> (s0, s0)" + "".join(f" t{n} = Identity (s{n - 1})" for n in range(1, states))
    text = f"""{", ".join(f"y{n}" for n in range(states))} = Loop (m, , {", ".join(["x"] * states)}) <body = b (int64 i,
        bool g, {formals}) => (bool g, {", ".join(f"t{n}" for n in range(states))}) {{ {nodes} }}>"""
    assert typed(text, "int64 m, float[2] x", f"y{states - 1}") == f"float[y{states - 1}_d0]"


SEEN = {"more": ", ys", "outs": ", z"}


@pytest.mark.parametrize(
    ("start", "arguments", "expected"),
    [
        ("m = Constant <value = int64 {3}> ()", {}, "float[3, N, 4]"),
        ("m = Constant <value = int64[1] {3}> ()", {}, "float[3, N, 4]"),
        ("m = Constant <value = int64 {3}> () c = Constant <value = bool {1}> ()", {"c": "c"}, "float[3, N, 4]"),
        ("m = Constant <value = int64 {3}> () c = Constant <value = bool {1}> ()",
         {"c": "c", "keep": "h = Not (g)"}, "float[1, N, 4]"),
        ("c = Constant <value = bool {1}> ()", {"m": "", "c": "c", "keep": "h = Not (g)"}, "float[1, N, 4]"),
        ("m = Constant <value = int64 {1}> () c = Constant <value = bool {1}> ()",
         {"c": "c", "keep": "h = And (g, d)"}, "float[1, N, 4]"),
        ("m = Constant <value = int64 {3}> () c = Constant <value = bool {1}> ()",
         {"c": "c", "keep": "h = And (g, d)"}, "float[ys_d0, N, 4]"),
        ("m = Constant <value = int64 {3}> ()", {"c": "d"}, "float[ys_d0, N, 4]"),
        ("m = Shape <start = 0, end = 1> (x)", {}, "float[N, N, 4]"),
        ("m = Size (x)", {"c": ""}, "float[4*N, N, 4]"),
        ("one = Constant <value = int64[1] {1}> () n = Shape <start = 0, end = 1> (x) m = Sub (n, one)", {},
         "float[max(0, N - 1), N, 4]"),
        ("c = Constant <value = bool {1}> ()", {"m": "", "c": "c"}, "float[ys_d0, N, 4]"),
    ],
)  # fmt: skip
def test_turns_are_counted(start, arguments, expected):
    body = loop("t = Relu (s) z = Neg (s)", **arguments, **SEEN)
    assert typed(f"{start} {body}", "bool d, float[N, 4] x", "ys") == expected


@pytest.mark.parametrize("start", ["m = Constant <value = int64 {0}> ()", "m = Constant <value = int64 {-5}> ()"])
def test_no_turn(start):
    body = loop("t = Concat <axis = 0> (s, s) z = Neg (s)", more=", ys", outs=", float[3, K] z")
    found = infer(model(f"{start} {body}", "float[2, 4] x"))
    assert not found.findings
    assert (shown(found, "y"), shown(found, "ys")) == ("float[2, 4]", "float[0, 3, ys_d2]")


def shown(found, name):
    return str(found.type(name))


@pytest.mark.parametrize(
    ("nodes", "of_output", "expected"),
    [
        ("t = Relu (s) z = Neg (x)", "float[]", "float[0, N, 4]"),  # a body need not state what its nodes tell
        ("t = Relu (s) z = Neg (x)", "float[A, B]", "float[0, N, 4]"),
        ("t = Concat <axis = 0> (s, s) z = Neg (s)", "float[A, 4]", "float[0, ys_d1, 4]"),
        ("t = Concat <axis = 0> (s, s) z = Neg (s)", "float[]", "float"),
    ],
)
def test_what_no_turn_gives_is_what_a_turn_would_give(nodes, of_output, expected):
    body = loop(nodes, more=", ys", outs=f", {of_output} z", formal="float[]")
    text = f"m = Constant <value = int64 {{0}}> () {body}"
    proto = model(text, "float[N, 4] x")
    found = infer(proto)
    assert shown(found, "ys") == expected
    again = infer(found.written())
    assert not again.findings
    assert again.written().proto == found.written().proto


def test_after_one_turn_the_shape_is_that_of_the_body():
    one = "m = Constant <value = int64 {1}> () " + loop("t = Concat <axis = 0> (s, s)")
    assert typed(one, "float[2, 4] x") == "float[4, 4]"


def test_elements_that_no_turn_changes_are_known():
    nodes = """m = Constant <value = int64 {3}> () p = Constant <value = int64[2] {5, 0}> ()
        q, r = Loop (m, , p, x) <body = b (int64 i, bool g, int64[2] s, float[1] u) => (bool g, t, v) {
            k = Constant <value = int64[2] {0, 1}> () t = Add (s, k) v = Expand (x, t) }>
        y = Expand (x, q)"""
    assert typed(nodes, "float[1] x") == "float[5, y_d1]"
    assert typed(nodes, "float[1] x", "r") == "float[5, r_d1]"


def test_sequences_are_carried():
    nodes = """q = SequenceConstruct (x)
        y = Loop (m, , q) <body = b (int64 i, bool g, seq(float[A, B]) s) => (bool g, t) {
            e = Concat <axis = 0> (x, x) t = SequenceInsert (s, e) }>"""
    assert typed(nodes, "int64 m, float[2, 4] x") == "seq(float[?, 4])"
    nodes = nodes.replace("SequenceConstruct (x)", "SequenceEmpty ()")
    assert typed(nodes, "int64 m, float[2, 4] x") == "seq(float[?, ?])"  # as the body states
    assert typed(nodes.replace("[A, B]", "[]"), "int64 m, float[2, 4] x") == "seq(float)"


def scan(nodes, inputs="x", count=1, formals="float[] s, float[] e", outs="t, z", more="", imports='"" : 21'):
    body = f"b ({formals}) => ({outs}) {{ {nodes} }}"
    return f"y, ys = Scan <num_scan_inputs = {count}{more}, body = {body}> ({inputs})"


def test_scan():
    nodes = "t = Add (s, e) z = Concat <axis = 0> (s, e)"
    inputs = "float[4] s0, float[N, 4] x"
    assert typed(scan(nodes, "s0, x"), inputs, "ys") == "float[N, 8]"
    assert typed(scan(nodes, "s0, x"), inputs, "y") == "float[4]"
    turned = ", scan_input_axes = [-1], scan_output_axes = [1], scan_output_directions = [1]"
    assert typed(scan(nodes, "s0, x", more=turned), "float[4] s0, float[4, N] x", "ys") == "float[8, N]"


def test_scan_of_a_state_that_grows():
    nodes = "t = Concat <axis = 0> (s, e) z = Identity (e)"
    assert typed(scan(nodes, "s0, x"), "float[4] s0, float[3, 4] x", "y") == "float[y_d0]"
    assert typed(scan(nodes, "s0, x"), "float[4] s0, float[1, 4] x", "y") == "float[8]"
    assert typed(scan(nodes, "s0, x"), "float[4] s0, float[0, 4] x", "y") == "float[4]"


def test_scan_of_a_batch():
    nodes = "t = Add (s, e) z = Concat <axis = 0> (s, e)"
    given = {"inputs": "float[B, 4] s0, float[M, N, 4] x", "imports": '"" : 8'}
    assert typed(scan(nodes, ", s0, x"), name="ys", **given) == "float[B, N, 8]"
    given["inputs"] = "int64[2] l, float[B, 4] s0, float[B, N, 4] x"
    assert typed(scan(nodes, "l, s0, x"), name="ys", **given) in ("float[2, N, 8]", "float[B, N, 8]")


def test_scan_of_a_batch_without_steps():
    """The states stay as they are, even if an iteration would make them longer."""
    nodes = "t = Concat <axis = 0> (s, e) z = Identity (e)"
    options = {"inputs": "float[B, 4] s0, float[B, 0, 4] x", "imports": '"" : 8'}
    assert typed(scan(nodes, ", s0, x"), name="y", **options) == "float[B, 4]"
    assert typed(scan(nodes, ", s0, x"), name="ys", **options) == "float[B, 0, 4]"


@pytest.mark.parametrize(
    ("ends", "length", "size"),
    [("", "1", "8"), ("", "2", "y_d1"), ("", "N", "y_d1"), ("{1, 1}", "1", "8"), ("{1, 0}", "1", "y_d1"),
     ("{0, 1}", "1", "y_d1")],
)  # fmt: skip
def test_scan_of_a_batch_in_which_sequences_may_be_over_at_once(ends, length, size):
    """A state that one step makes longer has the longer size only if every sequence has that step."""
    nodes = scan("t = Concat <axis = 0> (s, e) z = Identity (e)", "l, s0, x" if ends else ", s0, x")
    nodes = f"l = Constant <value = int64[2] {ends}> () {nodes}" if ends else nodes
    assert typed(nodes, f"float[2, 4] s0, float[2, {length}, 4] x", "y", '"" : 8') == f"float[2, {size}]"


def test_sequence_map():
    nodes = """y, z = SequenceMap (q, w) <body = b (float[N] e, float[N] w) => (float[N] u, v) {
        u = Concat <axis = 0> (e, e) v = Relu (w) }>"""
    assert typed(nodes, "seq(float[K]) q, float[7] w") == "seq(float[2*K])"
    assert typed(nodes, "seq(float[K]) q, float[7] w", "z") == "seq(float[7])"


def nested(depth, inner):
    """Return loops in loops, each of which carries `s`, with a node inside the last."""
    text = inner
    for level in reversed(range(depth)):
        last = level == depth - 1
        given = f"s{level}"
        result = text.format(s=given) if last else text.replace("@", given)
        formals = f"int64 i{level}, bool g{level}, float[A{level}, 4] s{level}"
        text = f"""t{level} = Loop (m, , @) <body = b{level} ({formals}) => (g{level}, u{level}) {{
            {result} u{level} = Identity (t{level + 1}) }}>"""
    return text.replace("@", "x")


@pytest.mark.parametrize(("node", "expected"), [("Concat <axis = 0>", "float[t0_d0, 4]"), ("Add", "float[2, 4]")])
def test_many_levels(node, expected):
    depth = 30
    text = nested(depth, f"t{depth} = {node} ({{s}}, x)")
    with lines(2_000_000):
        assert typed(text, "int64 m, float[2, 4] x", "t0") == expected


def test_names_from_around_are_seen_inside():
    nodes = """w = Transpose <perm = [1, 0]> (x)
        y = If (c) <then_branch = t () => (a) {
                a = If (c) <then_branch = t2 () => (w) {}, else_branch = e2 () => (k) { k = Relu (w) }> },
            else_branch = e () => (w) {}>"""
    assert typed(nodes, "bool c, float[N, 4] x") == "float[4, N]"


def test_variables_that_bodies_state_are_not_those_of_other_bodies():
    nodes = """y = Loop (m, , x) <body = b (int64 i, bool g, float[K] s) => (g, t) { t = Concat <axis = 0> (s, s) }>
        z = Loop (m, , w) <body = d (int64 i2, bool g2, float[K] s2) => (g2, t2) { t2 = Concat <axis = 0> (s2, s2) }>"""
    given = "int64 m, float[2] x, float[3] w"
    assert typed(nodes, given) == "float[y_d0]"
    assert typed(nodes, given, "z") == "float[z_d0]"


def test_initializers_listed_as_inputs_of_a_body():
    body = helper.make_graph(
        [helper.make_node("Identity", ["g"], ["h"]), helper.make_node("Concat", ["s", "w"], ["t"], axis=0)],
        "b",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("g", 9, []),
            helper.make_tensor_value_info("w", 1, [3]),
            helper.make_tensor_value_info("s", 1, None),
        ],
        [helper.make_tensor_value_info("h", 9, []), helper.make_tensor_value_info("t", 1, None)],
        [helper.make_tensor("w", 1, [3], [1, 2, 3])],
    )
    main = helper.make_graph(
        [helper.make_node("Loop", ["m", "", "x"], ["y"], body=body)],
        "main",
        [helper.make_tensor_value_info("x", 1, [2])],
        [helper.make_tensor_value_info("y", 1, None)],
        [helper.make_tensor("m", 7, [], [1])],
    )
    found = infer(helper.make_model(main, ir_version=3, opset_imports=[helper.make_opsetid("", 10)]))
    assert found.shape("y") == (5,)


@pytest.mark.parametrize(
    ("nodes", "label"),
    [
        (branches("Relu (x)", "Neg (x)", "x"), "C1"),
        (branches("Relu (x)", "Neg (x)", "two"), "C1"),
        ("y = If (c) <then_branch = t () => () {}, else_branch = e () => () {}>", "C2"),
        (loop("t = Relu (s)", m="two"), "C2"),
        (loop("t = Relu (s)", c="two", m=""), "C1"),
        (loop("t = Relu (s)", more=", y2, y3"), "C3"),
        (loop("t = Shape (s)"), "C4"),
        (loop("t = SequenceConstruct (s)"), "C4"),
        (loop("t = Relu (s) z = SequenceConstruct (s)", **SEEN), "C5"),
        (loop("t = Relu (s)", c="c", keep="h = Cast <to = 1> (g)").replace("bool h", "float h"), "C1"),
        ("y = Loop (m, , x) <body = b (int64 i, bool g) => (bool g) {}>", "C3"),
        (scan("t = Relu (s) z = Neg (e)", "x, x", count=3), "C1"),
        (scan("t = Relu (s) z = Neg (e)", "x, x", count=0), "C1"),
        (scan("t = Relu (s) z = Neg (e)", "x, x", count=2**62), "C1"),
        (scan("t = Relu (s) z = Neg (e)", "x, x", count=-(2**62)), "C1"),
        (scan("t = Relu (s) z = Neg (e)", "x, x", more=", scan_input_axes = [2]"), "C2"),
        (scan("t = Relu (s) z = Neg (e)", "x, x", more=", scan_input_axes = [0, 0]"), "C2"),
        (scan("t = Relu (s) z = Neg (e)", "x, x", more=", scan_output_axes = [-9]"), "C2"),
        (scan("t = Relu (s) z = Neg (e)", "x, x", more=", scan_input_directions = [7]"), "C3"),
        (scan("y0 = Add (s, e)", "x, two", 2, "float[A] s, bool e", "s, s"), "C4"),
        (scan("t = Shape (s) z = Neg (e)", "x, x"), "C6"),
        ("y = SequenceMap (q) <body = b () => (float u) { u = Constant <value = float {1}> () }>", "C2"),
        ("y, z = SequenceMap (q) <body = b (e) => (u) { u = Relu (e) }>", "C2"),
    ],
)
def test_graphs_that_do_not_fit_their_node(nodes, label):
    result = infer(model(nodes, "bool c, bool[2] two, int64 m, float[3, 4] x, seq(float[]) q"))
    assert [finding.code for finding in result.findings] == ["I201"]
    assert result.findings[0].why.startswith(f"{label}: ")


@pytest.mark.parametrize("op", ["If", "Loop", "Scan", "SequenceMap"])
def test_without_attributes_little_is_known(op):
    graph = helper.make_graph(
        [helper.make_node(op, ["x"], ["y"])],
        "main",
        [helper.make_tensor_value_info("x", 9, [])],
        [helper.make_empty_tensor_value_info("y")],
    )
    result = infer(helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]))
    assert result.shape("y") is None
    assert [gap.reason for gap in result.gaps] == [f"there is no graph {'then_branch' if op == 'If' else 'body'}"]


def _graphs(proto):
    pending = [proto.graph]
    for graph in pending:
        pending.extend(each.g for node in graph.node for each in node.attribute if each.HasField("g"))
    return pending
