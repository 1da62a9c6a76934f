"""If, Loop and Scan: shapes of branches, loops that carry nothing, the batch of the first Scan, axes from the end."""

import re
from types import SimpleNamespace

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

import opset
from judges.conformance.validity import faults
from opset.adapters.building.subgraphs import LoopBody, _describe, add_loop
from opset.errors import ConversionError
from tests.bounds import draws

F, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
BATCH, LENGTH = 2, 3


def info(name, kind=F, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def branch(name, operator, shape):
    node = helper.make_node(operator, ["x"], [f"{name}_out"], name=name)
    return helper.make_graph([node], name, [], [info(f"{name}_out", F, shape)])


def choice(here, there):
    return helper.make_node(
        "If", ["c"], ["y"], name="i", then_branch=branch("t", "Neg", here), else_branch=branch("e", "Abs", there)
    )


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ([2, 3, 4],) * 2,
        (["a", 3, "b"],) * 2,
        (["a", 3, 4], ["b", 3, 4]),
        ([2, 3, 4], ["a", 3, 4]),
        (["a", 3, 4], [2, 3, 4]),
        (None, None),
        (None, ["a", 3, 4]),
    ],
)
@pytest.mark.parametrize("described", [(2, 3, 4), ("N", 3, "M"), (None, 3, 4)])
@pytest.mark.parametrize("value", [True, False])
def test_branches_of_one_shape_stay(check, here, there, described, value):
    feeds = {"x": X, "c": np.array(value)}
    after = check(choice(here, there), 11, 10, feeds, operators=["If"], shapes={"x": described})
    assert after.graph.node[0] == choice(here, there)


def test_an_output_of_branches_that_is_omitted_stays_so():
    text = """<ir_version: 8, opset_import: ["": 11]> g (float[2] x, bool c) => (float[2] y) {
      z, y = If (c) <then_branch = t () => (float[2] a, float[2] b) { a = Abs (x) b = Neg (x) },
                    else_branch = e () => (float[2] a, float[2] b) { a = Neg (x) b = Abs (x) }>
    }"""
    before = onnx.parser.parse_model(text)
    before.graph.node[0].output[0] = ""
    after = opset.convert(before, 10)
    assert list(after.graph.node) == list(before.graph.node)


NAMED_ALIKE = """
<ir_version: 8, opset_import: ["": 11]>
g (float[N] x, float[M] z, bool c) => (float[n] y) {
  y = If (c) <then_branch = t () => (float[A] a) {BODY_THEN}, else_branch = e () => (float[A] a) {BODY_ELSE}>
}
"""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("{ a = Neg(x) }", "{ a = Neg(z) }"),
        (
            "{ i = NonZero(x) f = Cast<to = 1>(i) k = Constant<value_ints = [-1]>() a = Reshape(f, k) }",
            "{ i = NonZero(x) f = Cast<to = 1>(i) k = Constant<value_ints = [-1]>() a = Reshape(f, k) }",
        ),
    ],
)
def test_a_name_that_both_branches_state_shows_no_equal_sizes(run, one, other):
    text = NAMED_ALIKE.replace("{BODY_THEN}", one).replace("{BODY_ELSE}", other)
    before = onnx.parser.parse_model(text.replace('"": 11', '"": 12'))
    after = opset.convert(before, 10)
    assert [node.op_type for node in after.graph.node].count("Loop") == 2
    for value in (True, False):
        feeds = {"x": X[0, 0], "z": X[0, 0, :3], "c": np.array(value)}
        np.testing.assert_array_equal(*run(before, feeds), *run(after, feeds))


def test_sizes_that_are_numbers_do_not_hide_a_name_that_both_branches_state(run):
    text = NAMED_ALIKE.replace("{BODY_THEN}", "{ a = Neg(x) }").replace("{BODY_ELSE}", "{ a = Neg(z) }")
    before = onnx.parser.parse_model(re.sub(r"float\[(\w)\]", r"float[\1, 4]", text))
    after = opset.convert(before, 10)
    assert [node.op_type for node in after.graph.node].count("Loop") == 2
    for value in (True, False):
        feeds = {"x": X[0], "z": X[0, :2], "c": np.array(value)}
        np.testing.assert_array_equal(*run(before, feeds), *run(after, feeds))


@pytest.mark.parametrize(
    ("shape", "stays"), [("", True), ("[3]", True), ("[3, 4]", True), ("[3, A]", False), ("[A]", False)]
)
def test_shapes_that_the_branches_of_an_uncalled_function_state_decide(shape, stays):
    before = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 11, "local": 1]> g (float[2] x) => (float[2] y) {{ y = Neg (x) }}
        <opset_import: ["": 11], domain: "local"> F (p, q) => (r) {{
            r = If (q) <then_branch = t () => (float{shape} a) {{ a = Neg (p) }},
                        else_branch = e () => (float{shape} b) {{ b = Abs (p) }}>
        }}"""
    )
    if stays:
        assert opset.convert(before, 10).functions[0].node == before.functions[0].node
    else:
        with pytest.raises(ConversionError, match="If cannot go from 11 to 10"):
            opset.convert(before, 10)


IN_FUNCTION = """
<ir_version: 8, opset_import: ["": 11, "local": 1]>
g (float[2] x, float[3] z, bool c) => (float[n] y, float[m] w) { y = local.F (x, c) w = local.F (z, c) }
<opset_import: ["": 11], domain: "local">
F (p, q) => (r) { r = If (q) <then_branch = t () => (float[A] a) { a = Neg(p) },
                              else_branch = e () => (float[B] b) { b = Abs(p) }> }
"""


def test_branches_in_a_function_have_one_shape_in_each_call(run):
    before = onnx.parser.parse_model(IN_FUNCTION)
    after = opset.convert(before, 10)
    for value in (True, False):
        feeds = {"x": X[0, 0, :2], "z": X[0, 0, :3] - 1, "c": np.array(value)}
        for want, have in zip(run(before, feeds), run(after, feeds), strict=True):
            np.testing.assert_array_equal(have, want)


OF_OTHER_SHAPES = """
<ir_version: 3, opset_import: ["": 11]>
g (float[N, 1] x, bool[1] c, string[2] s) => (float[] y, bool[] p, string[] w) {
  y, p, w, unused = If (c) <
    then_branch = t () => (float[] a, bool[] q, string[] u, float[] n) {
      q = Constant <value = bool[2] {1, 0}> ()
      a = Squeeze <axes = [1]> (x)
      u = Identity (s)
      n = Identity (x)
    },
    else_branch = e () => (float[] a, bool[] r, string[] v, float[] n) {
      zero = Constant <value = float[1] {0}> ()
      i = Constant <value = int64 {1}> ()
      v = Gather <axis = 0> (s, i)
      n = Identity (x)
      a = Concat <axis = 1> (x, n)
      r = Greater (x, zero)
    }
  >
}
"""


@pytest.mark.parametrize("target", [7, 10])
@pytest.mark.parametrize("names", ["ypw", "yw"])
def test_branches_of_other_shapes_become_loops(run, target, names):
    before = onnx.parser.parse_model(OF_OTHER_SHAPES)
    less = onnx.parser.parse_model(OF_OTHER_SHAPES)
    if "p" not in names:
        less.graph.node[0].output[1] = ""
        del less.graph.output[1]
    after = opset.convert(less, target)
    bodies = [node.attribute[0].g for node in after.graph.node if node.op_type == "Loop"]
    assert all(value.type.tensor_type.elem_type for body in bodies for value in (*body.input, *body.output))
    for value in (True, False):
        feeds = {"x": X[0, :, :1], "c": np.array([value]), "s": np.array(["here", "there"], object)}
        expected = dict(zip("ypw", run(before, feeds), strict=True))
        for name, have in zip(names, run(after, feeds), strict=True):
            np.testing.assert_array_equal(have, expected[name])


CHOSEN = """
<ir_version: 8, opset_import: ["": 11]>
g (float[N] x) => (float[] y) <bool c = {CHOICE}> {
  y = If (c) <
    then_branch = t () => (float[] a) { a = Neg (x) },
    else_branch = e () => (float[] b) { b = ReduceSum <axes = [0], keepdims = 0> (x) }
  >
}
"""


@pytest.mark.parametrize("value", [0, 1])
def test_a_constant_condition_takes_one_branch_of_two_shapes(run, value):
    before = onnx.parser.parse_model(CHOSEN.replace("CHOICE", str(value)))
    after = opset.convert(before, 10)
    assert [node.op_type for node in after.graph.node] == ["If"]
    np.testing.assert_array_equal(run(after, {"x": X[0, 0]})[0], run(before, {"x": X[0, 0]})[0])


def loop(inputs, scans=1):
    """Return a loop that carries nothing and collects the squares of the iteration number, up to 3 of them."""
    nodes = [
        helper.make_node("Mul", ["i", "i"], ["square"]),
        helper.make_node("Constant", [], ["two"], value=helper.make_tensor("", I64, [], [2])),
        helper.make_node("Less", ["i", "two"], ["go_on"]),
        helper.make_node("Identity", ["x"], ["outer"]),
    ]
    outputs = [info("go_on", BOOL, []), info("square", I64, []), info("outer", F, [2, 3, 4])][: scans + 1]
    body = helper.make_graph(nodes, "body", [info("i", I64, []), info("go", BOOL, [])], outputs)
    return helper.make_node("Loop", inputs, ["y", "z"][:scans], name="l", body=body)


@pytest.mark.parametrize("inputs", [["m", "c"], ["m", ""], ["", "c"], ["", "t"]])
@pytest.mark.parametrize("scans", [1, 2])
def test_a_loop_that_carries_nothing_gets_a_value_to_carry(check, inputs, scans):
    feeds = {"x": X, "m": np.array(2, np.int64), "c": np.array(True)}
    constants = {"t": np.array(True)}
    after = check(loop(inputs, scans), 11, 10, feeds, constants, outputs=["y", "z"][:scans], operators=["Loop"])
    made = after.graph.node[-1]
    assert len(made.input) == 3 and len(made.output) == scans + 1
    assert check(after.graph.node, 10, 11, feeds, constants, outputs=["y", "z"][:scans]).graph.node == after.graph.node


def test_a_loop_that_carries_something_stays(check):
    nodes = [helper.make_node("Neg", ["v"], ["w"]), helper.make_node("Identity", ["go"], ["on"])]
    given = [info("i", I64, []), info("go", BOOL, []), info("v", F, [2, 3, 4])]
    body = helper.make_graph(nodes, "body", given, [info("on", BOOL, []), info("w", F, [2, 3, 4])])
    made = helper.make_node("Loop", ["m", "", "x"], ["y"], body=body)
    after = check(made, 11, 7, {"x": X, "m": np.array(3, np.int64)}, operators=["Loop"])
    assert after.graph.node[0] == made


def test_a_loop_whose_body_does_not_fit_is_malformed(refused):
    made = loop(["m", "c"])
    made.attribute[0].g.input.add(name="more")
    refused(made, 11, 10, {"x": X, "m": (I64, []), "c": (BOOL, [])}, "C103", kinds={"y": I64})


def scan(states, scans, first=(), outputs=None, **attributes):
    """A scan whose states add up the elements, and whose outputs add states, element and a value from outside."""
    inputs = [f"s{k}" for k in range(states)], [f"x{k}" for k in range(scans)]
    nodes, results = [], []
    for state in inputs[0]:
        nodes.append(helper.make_node("Sum", [f"{state}_in", *(f"{x}_in" for x in inputs[1])], [f"{state}_out"]))
        results.append(info(f"{state}_out"))
    for x in inputs[1]:
        terms = [f"{x}_in", "outside", *(f"{state}_in" for state in inputs[0])]
        nodes.append(helper.make_node("Sum", terms, [f"{x}_out"]))
        results.append(info(f"{x}_out"))
    values = [info(f"{name}_in") for name in (*inputs[0], *inputs[1])]
    body = helper.make_graph(nodes, "body", values, results)
    names = [f"o{k}" for k in range(states + scans)] if outputs is None else outputs
    given = [*first, *inputs[0], *inputs[1]]
    return helper.make_node("Scan", given, names, name="scan", body=body, num_scan_inputs=scans, **attributes)


def values(states, scans, batch=None, axes=None):
    rng = np.random.default_rng(2)
    feeds = {f"s{k}": rng.integers(-9, 9, (5,)).astype(np.float32) for k in range(states)}
    for k in range(scans):
        feeds[f"x{k}"] = np.moveaxis(rng.integers(-9, 9, (LENGTH, 5)).astype(np.float32), 0, (axes or [0] * scans)[k])
    if batch is not None:
        feeds = {name: np.stack([value + 10 * sample for sample in range(batch)]) for name, value in feeds.items()}
    return {"outside": np.float32([0.5]), **feeds}


def names_of(node):
    return [name for name in node.output if name]


@pytest.mark.parametrize(
    ("states", "scans", "directions"),
    [(1, 1, None), (1, 1, [1]), (2, 2, [0, 1]), (0, 1, [0]), (0, 2, None), (1, 3, [1, 0, 1])],
)
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("to", [9, 13, 21])
def test_a_batch_is_scanned_by_a_scan_around(check, states, scans, directions, batch, to):
    made = scan(states, scans, [""], **({} if directions is None else {"directions": directions}))
    feeds = values(states, scans, batch)
    outputs = names_of(made)
    after = check(made, 8, to, feeds, outputs=outputs, kinds=dict.fromkeys(outputs, F), operators=["Scan"])
    (outer,) = after.graph.node
    (inner,) = outer.attribute[0].g.node
    assert (outer.op_type, inner.op_type, outer.name) == ("Scan", "Scan", "scan")


@pytest.mark.parametrize(
    ("states", "scans", "directions", "batch"), [(1, 2, [0, 1], 2), (0, 1, None, 3), (2, 1, [1], 1)]
)
def test_a_scan_before_8_is_a_loop(check, build, run, states, scans, directions, batch):
    made = scan(states, scans, [""], **({} if directions is None else {"directions": directions}))
    feeds, outputs = values(states, scans, batch), names_of(made)
    check(made, 8, 7, feeds, outputs=outputs, kinds=dict.fromkeys(outputs, F))
    last = {"outputs": outputs[-1:], "kinds": dict.fromkeys(outputs, F)}
    expect = run(build(made, 8, feeds, **last), feeds)
    check(scan(states, scans, [""], [*[""] * (len(outputs) - 1), outputs[-1]], **(
        {} if directions is None else {"directions": directions}
    )), 8, 7, feeds, expect=expect, **last)  # fmt: skip


def test_outputs_of_a_batch_may_be_left_out(check, build, run):
    feeds = values(1, 1, 2)
    expect = run(build(scan(1, 1, [""]), 8, feeds, outputs=["o0"]), feeds)
    after = check(scan(1, 1, [""], ["o0", ""]), 8, 9, feeds, outputs=["o0"], expect=expect)
    assert all(after.graph.node[0].output)


def test_an_operator_in_the_body_is_converted_too(check):
    body = helper.make_graph(
        [helper.make_node("Softmax", ["a"], ["b"], axis=0), helper.make_node("Unsqueeze", ["b"], ["c"], axes=[0])],
        "body",
        [info("a")],
        [info("c")],
    )
    made = helper.make_node("Scan", ["", "x"], ["y"], body=body, num_scan_inputs=1)
    check(made, 8, 13, {"x": X}, rtol=1e-6)


def test_sequences_that_end_early_are_refused(refused):
    made = scan(1, 1, ["lens"])
    feeds = {**values(1, 1, 2), "lens": np.array([2, 3], np.int64)}
    refused(made, 8, 9, feeds, "C204", outputs=["o0"])


@pytest.mark.parametrize(
    ("states", "scans", "attributes"),
    [
        (1, 1, {}),
        (1, 1, {"scan_input_directions": [1]}),
        (2, 2, {"scan_input_axes": [0, 1], "scan_output_axes": [1, 0]}),
        (0, 2, {"scan_output_axes": [1, 1], "scan_output_directions": [1, 0]}),
        (1, 2, {"scan_input_directions": [1, 0], "scan_output_directions": [0, 1]}),
    ],
)
def test_without_a_batch_it_is_one_of_a_single_sample(check, states, scans, attributes):
    made = scan(states, scans, **attributes)
    feeds = values(states, scans, axes=attributes.get("scan_input_axes"))
    outputs = names_of(made)
    for value in made.attribute[0].g.output:
        value.CopyFrom(info(value.name, F, [5]))
    after = check(made, 9, 8, feeds, outputs=outputs, kinds=dict.fromkeys(outputs, F))
    assert any(node.op_type == "Scan" and node.input[0] == "" for node in after.graph.node)
    back = check(after.graph.node, 8, 9, feeds, outputs=outputs, kinds=dict.fromkeys(outputs, F))
    assert back.opset_import[0].version == 9


def test_ranks_have_to_be_known_to_move_a_dimension(refused):
    made = scan(1, 1, scan_input_axes=[1])
    refused(made, 9, 8, values(1, 1, axes=[1]), "C207", outputs=["o0"], shapes={"x0": None})
    made = scan(1, 1, scan_output_axes=[1])
    unknown = {"x0": None, "s0": None}
    refused(made, 9, 8, values(1, 1), "C207", outputs=["o0"], kinds={"o0": F}, shapes=unknown)


@pytest.mark.parametrize("outputs", ["p, q", "float[3] p, q", "p, float[3] q", "float[3] p, float[3] q"])
def test_each_output_of_a_body_states_a_shape_where_none_is_inferred(outputs):
    text = f"""<ir_version: 8, opset_import: ["": 11]> m (float[2, 3] x) => (float[2, 3] y, float[2, 3] z) {{
        y, z = Scan <num_scan_inputs = 1, body = b (float[3] v) => ({outputs}) {{ p = Neg (v)  q = Abs (v) }}> (x) }}"""
    body = opset.convert(opset.parse_model(text), 10).graph.node[0].attribute[1].g
    assert [[dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in body.output] == [[3], [3]]


def test_ranks_that_are_inferred_are_known(check):
    for axis, version in ((1, 9), (-1, 11)):
        made = scan(1, 1, scan_output_axes=[axis])
        check(made, version, version - 1, values(1, 1), outputs=["o0"], kinds={"o0": F})


@pytest.mark.parametrize(
    ("attributes", "expect"),
    [
        ({"scan_input_axes": [-1, 0]}, {"scan_input_axes": [1, 0]}),
        ({"scan_input_axes": [-2, -1]}, {"scan_input_axes": [0, 1]}),
        ({"scan_output_axes": [-1, -2]}, {"scan_output_axes": [1, 0]}),
        ({"scan_output_axes": [1, 0]}, {"scan_output_axes": [1, 0]}),
    ],
)
def test_axes_count_from_the_front(check, attributes, expect):
    made = scan(1, 2, **attributes)
    for value in made.attribute[0].g.output:
        value.CopyFrom(info(value.name, F, [5]))
    feeds = values(1, 2, axes=attributes.get("scan_input_axes"))
    outputs = names_of(made)
    after = check(made, 11, 10, feeds, outputs=outputs, kinds=dict.fromkeys(outputs, F), operators=["Scan"])
    assert {a.name: list(a.ints) for a in after.graph.node[0].attribute if a.ints} == expect


def test_axes_of_a_scan_of_three_dimensions(run):
    before = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 9]> g (float[2, 3, 4] x) => (float[a, b, c] y) {
        y = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [2],
            body = b (float[2, 4] r) => (float[2, 4] p) { p = Neg (r) }> (x) }""")
    after = opset.convert(before, 8)
    np.testing.assert_array_equal(run(after, {"x": X})[0], -np.moveaxis(X, 1, 2))


@pytest.mark.parametrize(
    ("version", "to", "first", "attributes", "code"),
    [
        (11, 10, (), {"scan_input_axes": [-3]}, "C103"),
        (11, 10, (), {"scan_input_axes": [-1, -1]}, "C103"),
        (9, 8, (), {"scan_output_directions": [2]}, "C103"),
        (8, 9, ("",), {"directions": [0, 1]}, "C103"),
        (8, 9, ("", "x0"), {}, "C103"),
        (8, 7, ("x0",), {}, "C204"),
    ],
)
def test_malformed_scans_are_refused(refused, version, to, first, attributes, code):
    made = scan(1, 1, first, **attributes)
    refused(made, version, to, values(1, 1), code, outputs=["o0"], kinds={"o0": F})


LISTS = ["directions", "scan_input_axes", "scan_output_axes", "scan_input_directions", "scan_output_directions"]


def test_malformed_attributes_are_refused_or_converted(build, attempt):
    ends = set()

    @settings(max_examples=draws(100))
    @given(
        st.sampled_from([(8, 9), (8, 21), (9, 8), (11, 8), (21, 8)]),
        st.integers(0, 2),
        st.integers(0, 2),
        st.one_of(st.integers(-2, 4), st.just(2**62)),
        st.dictionaries(st.sampled_from(LISTS), st.lists(st.integers(-3, 3), max_size=3)),
    )
    @example((8, 9), 1, 1, 1, {})
    def drawn(versions, states, scans, count, lists):
        version, to = versions
        known = opset.opsets.registry.default_registry().schema("Scan", version).attributes
        made = scan(states, scans, [""] if version == 8 else (), **{k: v for k, v in lists.items() if k in known and v})
        next(a for a in made.attribute if a.name == "num_scan_inputs").i = count
        if not names_of(made):
            return
        feeds = values(states, scans, batch=2 if version == 8 else None)
        model = build(made, version, feeds, outputs=names_of(made)[:1], kinds={names_of(made)[0]: F})
        ends.add(attempt(model, to))

    drawn()
    assert {"converted"} < ends


@pytest.mark.parametrize("to", [16, 15, 13])
def test_a_map_over_sequences_is_a_loop(to):
    text = """<ir_version: 8, opset_import: ["": 17]>
        g (float[2, N] x, float[2, N] z, float w) => (float[A, N] y, int64[B] n) {
            s = SequenceConstruct(x, z, x)
            zero = Constant<value_ints = [0]>()
            one = Constant<value_ints = [1]>()
            row = Slice(z, zero, one)
            rows = Concat<axis = 0>(x, row)
            t = SplitToSequence(rows)
            r, sizes = SequenceMap<
                body = b (float[2, N] e, float[1, N] f, float g) => (float[2, N] h, int64[2] k) {
                    ef = Mul(e, f)
                    h = Add(ef, g)
                    k = Shape(e)
                }
            >(s, t, w)
            y = ConcatFromSequence<axis = 0>(r)
            n = ConcatFromSequence<axis = 0>(sizes)
        }"""
    before = onnx.parser.parse_model(text)
    after = opset.convert(before, to)
    onnx.checker.check_model(after, full_check=True)
    assert "SequenceMap" not in [node.op_type for node in after.graph.node]
    x, z = np.arange(20, dtype=np.float32).reshape(2, 2, 5)
    for feeds in (
        {"x": x, "z": z, "w": np.array(3, np.float32)},
        {"x": x[:, :0], "z": z[:, :0], "w": np.array(3, np.float32)},
    ):
        wanted, found = (opset.ReferenceEvaluator(model).run(None, feeds) for model in (before, after))
        session = onnxruntime.InferenceSession(after.SerializeToString(), providers=["CPUExecutionProvider"])
        for want, have, other in zip(wanted, found, session.run(None, feeds), strict=True):
            np.testing.assert_array_equal(have, want)
            np.testing.assert_array_equal(other, want)


@pytest.mark.parametrize(
    ("operator", "target", "text"),
    [
        ("Scan", 7, """<ir_version: 8, opset_import: ["": 14]> g (float[3] x, bool c) => (float[3] s, float[3, 2] y) {
            one = Neg(x)
            two = Unsqueeze(one, axes)
            s = Neg(one)
            t, y = Scan<num_scan_inputs = 1, body = b (float k, float[1] one) => (float again, float[2] z) {
                again = Identity(k)
                w = If(c)<then_branch = a () => (float[1] p) {p = Abs(one)},
                          else_branch = e () => (float[1] q) {q = Exp(one)}>
                z = Concat<axis = 0>(one, w)
            }>(start, two)
        }"""),
        ("SequenceMap", 17, """<ir_version: 8, opset_import: ["": 17]>
            g (float[3] x, bool c) => (float[3] s, float[m] y) {
            one = Neg(x)
            s = Neg(one)
            i = SequenceConstruct(one, x)
            o = SequenceMap<body = b (float[3] one) => (float[3] w) {
                w = If(c)<then_branch = a () => (float[3] p) {p = Abs(one)},
                          else_branch = e () => (float[3] q) {q = Exp(one)}>
            }>(i)
            y = ConcatFromSequence<axis = 0>(o)
        }"""),
    ],
)  # fmt: skip
def test_inputs_of_a_body_that_are_named_as_values_around_it(operator, target, text):
    model = onnx.parser.parse_model(text)
    if operator == "Scan":
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1]), "axes"))
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(0, np.float32), "start"))
    feeds = {"x": np.array([1, -2, 3], np.float32), "c": np.array(False)}
    before = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    to = opset.lower(model, [f"ai.onnx.{operator}"]) if operator == "SequenceMap" else opset.convert(model, target)
    assert faults(to, model, {(operator, "")}) == []
    after = onnxruntime.InferenceSession(to.SerializeToString()).run(None, feeds)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)


REFUSED = [
    (17, 16, "C203", "'u' is not known",
     "(seq(float[]) s) => (float[] y) { u = my.Magic() t = SequenceMap(s, u) <body = f (float[] i, float[] j) "
     "=> (float[] a) { a = my.Magic(i, j) }> y = my.Magic(t)}"),
    (11, 10, "C203", "'t' is not known",
     "(bool c) => (float[] y) { t = If(c) <then_branch = f () => (a) { a = my.Magic() }, else_branch = e () => "
     "(b) { b = my.Magic() }> y = my.Magic(t)}"),
    (17, 16, "C103", "the body does not have the inputs and outputs of the node",
     "(seq(float[]) s) => (float[] y) { t, , u = SequenceMap(s) <body = f (float[] i) => (float[] a, float[] b, "
     "float[] c) { a = Neg(i) b = Abs(i) c = Exp(i) }> y = my.Magic(t, u)}"),
    (17, 16, "C103", "an output is tensor(float)",
     "(seq(float[]) s) => (float[2] y) { y = SequenceMap(s) <body = f (float[] i) => (float[] a) { a = Neg(i) }> }"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "to", "code", "why", "graph"), REFUSED)
def test_each_reason_to_refuse(reject, version, to, code, why, graph):
    reject(graph, version, to, code, why)


def test_a_loop_that_an_adapter_makes_states_the_types_of_its_outputs():
    """What a Loop collects has one more dimension, of unknown size; what it carries has the type of the body."""
    stated = {}
    names = iter("abcdef")
    op = SimpleNamespace(
        final=13,
        fresh=lambda hint: next(names) if hint == "looped" else hint,
        Loop=lambda *inputs, **given: stated.update(inputs=inputs, outputs=given["outputs"]),
        state=lambda name, *known: stated.update({name: known}),
    )
    body = LoopBody(op, "body")
    for name, element, shape in (
        ("going", "bool", []),
        ("carried", "float", [2]),
        ("open", "int64", [None]),
        ("rows", "float", [2, None]),
        ("numbers", "int64", []),
    ):
        _describe(body.graph.output.add(name=name), element, shape)
    assert add_loop(op, "count", ["x", "y"], body) == ["a", "b", "c", "d"]
    assert stated == {
        "inputs": ("count", "", "x", "y"),
        "outputs": ["a", "b", "c", "d"],
        "a": ("float", (2,)),
        "b": ("int64", (None,)),
        "c": ("float", (None, 2, None)),
        "d": ("int64", (None,)),
    }
