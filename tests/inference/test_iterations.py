"""What iterations of a loop have in common: types, sizes, elements, and how many there are."""

import re

import onnx
import pytest

from opset.inference.building.dimensions import Dim
from opset.inference.building.graph_requests import Outputs
from opset.inference.building.types import optional, sequence, tensor
from opset.inference.engine.result import infer
from opset.inference.families.control_flow import (
    _common_elements,
    _drop_lost_parts,
    _join_outputs,
    _limit_iterations,
    _true_constant,
    _widen_type,
)
from opset.model.types import Constant


def of(*sizes):
    return tensor("float", [None if size == "?" else size for size in sizes])


RANKLESS = tensor("float", None)


@pytest.mark.parametrize(
    ("type_", "before", "after", "left"),
    [
        (of(2, 3), of(2, 3), of(2, 3), of(2, 3)), (of(2, 3), of(2, 3), of("?", 3), of("?", 3)),
        (of(2, 3), of(2, 3), of(2, "?"), of(2, "?")), (of(5, 6), of(2, 3), of("?", 3), of("?", 6)),
        (of(5, 6), of("?", 3), of("?", 4), of(5, 6)), (of(5, 6), of("?", 3), of(2, "?"), of(5, "?")),
        (of(5, 6), of(2, 3), RANKLESS, RANKLESS), (of(5, 6), of(2, 3, 4), of("?", 3), RANKLESS),
        (of(5, 6), of(2), of("?"), RANKLESS), (of(5, 6), of(2, 3), of("?"), RANKLESS),
        (of(5, 6), RANKLESS, of("?", 3), of(5, 6)), (RANKLESS, of(2, 3), of("?", 3), RANKLESS),
        (None, of(2), of("?"), None), (of(2), None, of("?"), of(2)), (of(2), of(2), None, None),
        (of(2), None, None, of(2)),
        (sequence(of(2, 3)), sequence(of(2, 3)), sequence(of("?", 3)), sequence(of("?", 3))),
        (optional(of(2)), optional(of(2)), optional(RANKLESS), optional(RANKLESS)),
        (sequence(of(5, 6)), sequence(of(2, 3)), sequence(of("?", 3)), sequence(of("?", 6))),
    ],
)  # fmt: skip
def test_what_an_earlier_inference_lost_is_lost(type_, before, after, left):
    assert _drop_lost_parts(type_, before, after) == left


def test_sizes_or_ranks_are_widened():
    assert [_widen_type(each, False) for each in (of(2, 3), of(), sequence(of(2)), RANKLESS, None)] == [
        of("?", "?"), of(), sequence(of("?")), RANKLESS, None
    ]  # fmt: skip
    assert [_widen_type(each, True) for each in (of(2, 3), of(), sequence(of(2)), None)] == [
        RANKLESS, RANKLESS, sequence(RANKLESS), None
    ]  # fmt: skip


def ints(*values, dims=None):
    return Constant("int64", (len(values),) if dims is None else dims, values)


@pytest.mark.parametrize(
    ("left", "right", "common"),
    [
        (ints(1, 2), ints(1, 2), ints(1, 2)), (ints(1, 2), ints(1, 3), ints(1, None)),
        (ints(1, 2), ints(3, 4), None), (ints(1, 2), ints(1, 2, 3), None), (ints(1), ints(1, dims=()), None),
        (ints(), ints(), ints()), (None, None, None), (ints(1), None, None), (None, ints(1), None),
        (ints(None, 2), ints(1, 2), ints(None, 2)), (ints(None, 2), ints(1, 3), None),
    ],
)  # fmt: skip
def test_elements_in_common(left, right, common):
    assert _common_elements(left, right) == common


class Doubts(list):
    def doubt(self, why):
        self.append(why)


def test_outputs_are_joined_and_lost_parts_are_doubts():
    doubts = Doubts()
    left = Outputs([of(2, 3), of(2), tensor("int64", [2]), None], [ints(1, 2), None, ints(5), None])
    right = Outputs([of(2, 4), of(2, 3), of(2), of(2)], [ints(1, 3), None, ints(5), None])
    joined = _join_outputs(doubts, left, right, "no {}")
    assert [*joined] == [of(2, "?"), RANKLESS, tensor(None, [2]), None]
    assert [*joined.data] == [ints(1, None), None, ints(5), None]
    assert doubts == ["no rank", "no type"]


HOLDS, ENDS = (Constant("bool", (), (value,)) for value in (True, False))
N = Dim(((("N",), 1),))


@pytest.mark.parametrize(
    ("condition", "most", "least", "expected"),
    [
        (HOLDS, 5, 5, (5, 5)), (HOLDS, None, 0, (None, 0)), (HOLDS, N, 0, (N, 0)),
        (ENDS, 5, 5, (1, 1)), (ENDS, 0, 0, (0, 0)), (ENDS, 1, 1, (1, 1)), (ENDS, None, 1, (1, 1)),
        (ENDS, None, 0, (None, 0)), (None, 5, 5, (None, 1)), (None, 1, 1, (1, 1)), (None, 1, 0, (None, 0)),
        (None, None, 1, (None, 1)), (None, 0, 0, (None, 0)),
    ],
)  # fmt: skip
def test_the_number_of_iterations(condition, most, least, expected):
    assert _limit_iterations(condition, most, least) == expected


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        (of(), ()), (of(1), (1,)), (of(1, 1), (1, 1)), (of(2), None), (of(1, 2), None), (of("?"), None),
        (of(0), None), (RANKLESS, None), (None, None),
    ],
)  # fmt: skip
def test_a_condition_that_holds_has_one_element(type_, expected):
    assert _true_constant(type_) == (None if expected is None else Constant("bool", expected, (True,)))


def shapes(states, carried, body, given, keep="g"):
    """Return the types of the results of a loop with states named s0, s1..., which begin as x0, x1..."""
    formals = "".join(f", {each} s{at}" for at, each in enumerate(states))
    results, starts = (", ".join(f"{name}{at}" for at in range(len(states))) for name in "yx")
    inputs = "".join(f", {each} x{at}" for at, each in enumerate(given))
    text = f"""<ir_version: 10, opset_import: ["": 21]> m (int64 m{inputs}) => ({results}) {{
        {results} = Loop (m, , {starts}) <body = b (int64 i, bool g{formals}) => ({keep}, {carried}) {{ {body} }}> }}"""
    found = infer(onnx.parser.parse_model(text))
    assert not found.findings, found.findings
    return [str(found.type(f"y{at}") or "?") for at in range(len(states))], [gap.value for gap in found.gaps]


@pytest.mark.parametrize(
    ("states", "carried", "body", "given", "expected"),
    [
        # What the body states is believed if no iteration contradicts it, size by size.
        (["float[2, 4]"], "t", "t = Relu (s0)", ["float[N, M]"], ["float[2, 4]"]),
        (["float[2, 4]"], "t", "t = Relu (s0)", ["float[]"], ["float[2, 4]"]),
        (["float[K, 4]"], "t", "t = Concat <axis = 0> (s0, s0)", ["float[2, M]"], ["float[y0_d0, 4]"]),
        (["float[2, 4]"], "t", "t = Concat <axis = 0> (s0, s0)", ["float[2, M]"], ["float[y0_d0, 4]"]),
        (["float[2, 4]", "float[3]"], "t, u", "t = Concat <axis = 0> (s0, s0) u = Relu (s1)",
         ["float[2, 4]", "float[M]"], ["float[y0_d0, 4]", "float[3]"]),
        (["float[2]", "float[2]"], "t, u", "t = Identity (s1) u = Concat <axis = 0> (s0, s1)",
         ["float[2]", "float[2]"], ["float[y0_d0]", "float[y1_d0]"]),
        (["seq(float[2, 4])"], "t", "e = SequenceEmpty () t = Identity (e)", ["seq(float[2, 4])"], ["seq(float)"]),
        (["seq(float[2, 4])"], "t", "t = Identity (s0)", ["seq(float[2, M])"], ["seq(float[2, 4])"]),
    ],
)  # fmt: skip
def test_which_stated_shapes_of_states_are_believed(states, carried, body, given, expected):
    assert shapes(states, carried, body, given)[0] == expected


@pytest.mark.parametrize(
    ("stated", "node", "given", "expected"),
    [
        ("float[2, 4]", "Relu (s)", "float[N, M]", "float[ys_d0, 2, 4]"),
        ("float[2, 4]", "Concat <axis = 0> (s, s)", "float[2, 4]", "float[ys_d0, ys_d1, 4]"),
        ("float[2, 4]", "Reshape (s, p)", "float[2, 4]", "float[ys_d0, 2, 4]"),
        ("float[]", "Reshape (s, p)", "float[2, 4]", "float"),
        ("float[2, 4]", "Unknown (s)", "float[2, 4]", "float[ys_d0, 2, 4]"),
    ],
)
def test_a_rank_that_is_not_known_in_an_iteration_contradicts_nothing(stated, node, given, expected):
    """What the body computes of its state in every iteration is collected in a second output."""
    text = f"""<ir_version: 10, opset_import: ["": 21]> m (int64 m, {given} x, int64[r] p) => (y, ys) {{
        y, ys = Loop (m, , x) <body = b (int64 i, bool g, {stated} s) => (g, t, z) {{ z = Neg (s) t = {node} }}> }}"""
    assert str(infer(onnx.parser.parse_model(text)).type("ys") or "?") == expected


def answers(nodes, inputs, names="y, ys", version=21):
    """Return the types of some values, and the reason of the first finding, "" if there is none."""
    text = f'<ir_version: 10, opset_import: ["": {version}]> m ({inputs}) => ({names}) {{ {nodes} }}'
    found = infer(onnx.parser.parse_model(text))
    (why,) = {each.why for each in found.findings} or {""}
    return why or [str(found.type(name) or "?") for name in names.split(", ")]


ADDS = "body = b (float[] s, float[] e) => (t, z) { t = Add (s, e) z = Identity (e) }"
SECOND = "body = b (float[] s, float[] e, float[] f) => (t, z) { t = Add (s, e) z = Identity (f) }"


@pytest.mark.parametrize(
    ("ends", "length", "expected"),
    [
        ("{1, 2}", 3, ["float[2, 4]", "float[2, 3, 4]"]), ("{3, 3}", 3, ["float[2, 4]", "float[2, 3, 4]"]),
        ("{0, 0}", 3, ["float[2, 4]", "float[2, 3, 4]"]), ("{1, 4}", "N", ["float[2, 4]", "float[2, N, 4]"]),
        ("{1, 4}", 3, "C8: lengths [1, 4] of at most 3"), ("{-1, 2}", 3, "C8: lengths [-1, 2] of at most 3"),
        ("{-1, 2}", "N", "C8: lengths [-1, 2] of at most N"),
        ("{1, 2, 3}", 3, "C8: shape(sequence_lens) = [3] for [2]"),
    ],
)  # fmt: skip
def test_lengths_of_sequences_of_a_batch(ends, length, expected):
    nodes = f"l = Constant <value = int64[{ends.count(',') + 1}] {ends}> () y, ys = Scan <num_scan_inputs = 1, {ADDS}>"
    assert answers(f"{nodes} (l, s0, x)", f"float[2, 4] s0, float[2, {length}, 4] x", version=8) == expected


@pytest.mark.parametrize(
    ("given", "more", "expected"),
    [
        ("float[3, 4] s0, float[2, 3, 4] x", "", "C7: the batch is 3 and 2"),
        ("float s0, float[2, 3, 4] x", "", "C7: initial_state_and_scan_inputs 1 has rank 0"),
        ("float[2] s0, float[2] x", "", "C7: initial_state_and_scan_inputs 2 has rank 1"),
        ("float[2] s0, float[2, 3] x", "", ["float[2]", "float[2, 3]"]),
        ("float[0, 4] s0, float[0, 3, 4] x", "", ["float[0, 4]", "float[0, 3, 4]"]),
        ("float[1, 4] s0, float[1, 3, 4] x", "", ["float[1, 4]", "float[1, 3, 4]"]),
        ("float[1, 4] s0, float[1, 3, 4] x", ", directions = [0, 1]", "C3: directions has 2 numbers for 1"),
    ],
)
def test_a_scan_of_a_batch_fits_its_inputs(given, more, expected):
    assert answers(f"y, ys = Scan <num_scan_inputs = 1{more}, {ADDS}> (, s0, x)", given, version=8) == expected


@pytest.mark.parametrize(
    ("more", "version", "expected"),
    [
        (", scan_input_axes = [0, 1]", 21, "C2: scan_input_axes has 2 numbers for 1"),
        (", scan_output_axes = [0, 1]", 21, "C2: scan_output_axes has 2 numbers for 1"),
        (", scan_input_directions = [0, 1]", 21, "C3: scan_input_directions has 2 numbers for 1"),
        (", scan_output_directions = [0, 1]", 21, "C3: scan_output_directions has 2 numbers for 1"),
        (", scan_input_axes = [-2]", 9, "C2: an axis is negative"),
        (", scan_input_axes = [-2]", 10, "C2: an axis is negative"),
        (", scan_output_axes = [-1]", 10, "C2: an axis is negative"),
        (", scan_input_axes = [-2]", 11, ["float[4]", "float[3, 4]"]),
        (", scan_output_axes = [-1]", 11, ["float[4]", "float[4, 3]"]),
    ],
)
def test_axes_and_directions_of_a_scan(more, version, expected):
    nodes = f"y, ys = Scan <num_scan_inputs = 1{more}, {ADDS}> (s0, x)"
    assert answers(nodes, "float[4] s0, float[3, 4] x", version=version) == expected


def test_scan_inputs_have_one_length():
    nodes = f"y, ys = Scan <num_scan_inputs = 2, {SECOND}> (@s0, x, w)"
    given = "float[4] s0, float[3, 4] x, float[2, 4] w"
    assert answers(nodes.replace("@", ""), given) == "C4: the length is 3 and 2"
    given = "float[5, 4] s0, float[5, 3, 4] x, float[5, 2, 4] w"
    assert answers(nodes.replace("@", ", "), given, version=8) == "C4: the length is 3 and 2"


PAIR = "p = Constant <value = int64[2] {5, 0}> ()"
OTHER = "t = Constant <value = int64[2] {5, 7}> ()"


@pytest.mark.parametrize(("size", "expected"), [("N", "float[5, y_d1]"), ("3", "float[5, 7]"), ("0", "float[5, 0]")])
def test_elements_before_and_after_iterations(size, expected):
    """What a state has before the first iteration counts only if there may be none."""
    nodes = f"""{PAIR} q, z = Scan <num_scan_inputs = 1, body = b (int64[2] s, float[] e) => (t, z) {{
        {OTHER} z = Identity (e) }}> (p, x) y = Expand (w, q)"""
    assert answers(nodes, f"float[1] w, float[{size}, 4] x", "y") == [expected]
    start = "" if size == "N" else f"m = Constant <value = int64 {{{size}}}> ()"
    nodes = f"""{start} {PAIR} q = Loop (m, , p) <body = b (int64 i, bool g, int64[2] s) => (g, t) {{ {OTHER} }}>
        y = Expand (w, q)"""
    assert answers(nodes, "float[1] w" + ", int64 m" * (not start), "y") == [expected]


@pytest.mark.parametrize(
    ("condition", "start", "expected"),
    [
        ("c", "", "float[y_d0]"), ("c", "m = Constant <value = int64 {1}> ()", "float[y_d0]"),
        ("", "m = Constant <value = int64 {1}> ()", "float[6]"),
        ("", "m = Constant <value = int64 {2}> ()", "float[y_d0]"),
    ],
)  # fmt: skip
def test_a_condition_that_is_not_known_may_prevent_every_iteration(condition, start, expected):
    nodes = f"""{start} y = Loop (m, {condition}, x) <body = b (int64 i, bool g, float[A] s) => (h, t) {{
        t = Concat <axis = 0> (s, s) h = Identity (g) }}>"""
    assert answers(nodes, "bool c, float[3] x" + ", int64 m" * (not start), "y") == [expected]


def test_a_body_is_mapped_over_sequences():
    nodes = """y, ys = SequenceMap (q, w) <body = b (float[N] e, float[N] w) => (u, v) {
        u = Concat <axis = 0> (e, e) v = Identity (w) }>"""
    assert answers(nodes, "seq(float[K]) q, seq(float[7]) w") == ["seq(float[2*K])", "seq(float[7])"]
    assert answers(nodes.replace("float[N] e", "float[2] e"), "float[K] q, float[7] w") == [
        "seq(float[4])", "seq(float[7])"
    ]  # fmt: skip


GROWS, TURNS = "t = Concat <axis = 0> (s, s)", "t = Identity (w)"


@pytest.mark.parametrize(
    ("node", "size", "version", "expected"),
    [
        (GROWS, "1", 8, "float[2, 8]"), (GROWS, "3", 8, "float[2, y_d1]"), (GROWS, "N", 8, "float[2, y_d1]"),
        (TURNS, "1", 8, "float[2, 7]"), (TURNS, "3", 8, "float[2, 7]"), (TURNS, "N", 8, "float[2, y_d1]"),
        (TURNS, "0", 8, "float[2, 4]"), (GROWS, "1", 9, "float[8]"), (TURNS, "3", 9, "float[7]"),
        (TURNS, "N", 9, "float[y_d0]"), (TURNS, "0", 9, "float[4]"),
    ],
)  # fmt: skip
def test_a_state_keeps_its_first_size_if_there_may_be_no_step(node, size, version, expected):
    batch = "2, " if version == 8 else ""
    nodes = f"""y, ys = Scan <num_scan_inputs = 1, body = b (float[] s, float[] e) => (t, z) {{ {node}
        z = Identity (e) }}> ({", " if batch else ""}s0, x)"""
    given = f"float[{batch}4] s0, float[{batch}{size}, 4] x, float[7] w"
    assert answers(nodes, given, version=version) == [expected, f"float[{batch}{size}, 4]"]


def test_a_batch_of_one_or_no_sample_has_its_own_steps():
    nodes = f"""y, ys = Scan <num_scan_inputs = 1, body = b (float[] s, float[] e) => (t, z) {{ {GROWS}
        z = Identity (e) }}> (, s0, x)"""
    one = answers(nodes, "float[1, 4] s0, float[1, 3, 4] x", version=8)
    assert one == ["float[1, y_d1]", "float[1, 3, 4]"]
    assert answers(nodes, "float[1, 4] s0, float[1, 0, 4] x", version=8) == ["float[1, 4]", "float[1, 0, 4]"]


@pytest.mark.parametrize(
    ("node", "version", "expected"),
    [
        ("t = Shape (s) z = Identity (e)", 8, "C6: value 0 was float[4], and is int64[1]"),
        ("t = Shape (s) z = Identity (e)", 9, "C6: value 0 was float[2, 4], and is int64[?]"),
        ("t = Identity (s) z = SequenceConstruct (e)", 11, "C5: a scan output is seq(float[3, 4])"),
    ],
)
def test_states_and_scan_outputs_are_tensors_of_one_element_type(node, version, expected):
    inputs = ", s0, x" if version == 8 else "s0, x"
    nodes = f"y, ys = Scan <num_scan_inputs = 1, body = b (s, float[] e) => (t, z) {{ {node} }}> ({inputs})"
    assert answers(nodes, "float[2, 4] s0, float[2, 3, 4] x", version=version) == expected


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ("Shape (s)", "C4: value 0 was float[3], and is int64[1]"),
        ("SequenceConstruct (s)", "C4: value 0 was float[3], and is seq(?)"),
        ("Cast <to = 11> (s)", "C4: value 0 was float[3], and is double[3]"),
        ("Unknown (s)", ["?", "float[3]"]),
    ],
)
def test_states_of_a_loop_keep_their_element_type(node, expected):
    """A state of unknown type before or after another does not hide what is wrong with the other."""
    nodes = f"y, z = Loop (m, , x, w) <body = b (int64 i, bool g, s, float[3] r) => (g, t, r) {{ t = {node} }}>"
    assert answers(nodes, "int64 m, float[3] x, float[3] w", "y, z") == expected
    nodes = f"""u = Unknown (w) y, z = Loop (m, , u, x) <body = b (int64 i, bool g, r, s) => (g, r, t) {{
        t = {node} }}>"""
    if isinstance(expected, str):
        assert answers(nodes, "int64 m, float[3] x, float[3] w", "y, z") == expected.replace("value 0", "value 1")


@pytest.mark.parametrize(
    ("number", "condition", "expected"),
    [
        ("int64", "bool", ["int64[ys_d0]", "bool[w_d0]"]),
        ("int64[1]", "bool[1]", ["int64[ys_d0, 1]", "bool[w_d0, 1]"]),
        ("int64[]", "bool", ["int64[ys_d0]", "bool[w_d0]"]), ("int64[]", "bool[]", ["int64[ys_d0]", "bool"]),
    ],
)  # fmt: skip
def test_a_body_reads_the_number_of_its_iteration_and_the_condition(number, condition, expected):
    nodes = f"""y, ys, w = Loop (m, c, x) <body = b ({number} i, bool[] g, float[3] s) => (g, s, z, v) {{
        z = Identity (i) v = Identity (g) }}>"""
    found = answers(nodes, f"int64 m, {condition} c, float[3] x", "y, ys, w")
    assert found == ["float[3]", *expected]


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("float", "C1: the condition is float[]"), ("int64", "C1: the condition is int64[]"),
        ("bool[2]", "C1: the condition has the shape [2]"), ("seq(bool)", "C1: the condition is seq(bool[])"),
        ("bool[1]", ""), ("bool[1, 1]", ""), ("bool[]", ""),
    ],
)  # fmt: skip
def test_a_condition_is_one_boolean(condition, why):
    loop = "y = Loop (m, c, x) <body = b (int64 i, bool[] g, float[3] s) => (g, s) {  }>"
    assert answers(loop, f"int64 m, {condition} c, float[3] x", "y") == (why or ["float[3]"])
    branches = "y = If (c) <then_branch = t () => (a) { a = Relu (x) }, else_branch = e () => (b) { b = Neg (x) }>"
    assert answers(branches, f"{condition} c, float[3] x", "y") == (why or ["float[3]"])


def test_axes_that_count_from_the_start_are_known_to_every_version():
    for version in (9, 10, 11):
        nodes = f"y, ys = Scan <num_scan_inputs = 1, scan_input_axes = [0], scan_output_axes = [1], {ADDS}> (s0, x)"
        assert answers(nodes, "float[4] s0, float[3, 4] x", version=version) == ["float[4]", "float[4, 3]"]


WRONG = "z = MatMul (w, w)"


@pytest.mark.parametrize(
    ("nodes", "version", "expected"),
    [
        (f"c = Constant <value = bool {{0}}> () y, ys = Loop (m, c, x) <body = b (int64 i, bool g, float[4] s) => "
         f"(g, s, z) {{ {WRONG} v = Neg (s) }}>", 21, ["float[4]", "float"]),
        (f"y, ys = Scan <num_scan_inputs = 1, body = b (s, e) => (s, z) {{ {WRONG} v = Neg (s) }}> (x, n)", 21,
         ["float[4]", "float"]),
        (f"y, ys = Scan <num_scan_inputs = 1, body = b (s, e) => (s, z) {{ {WRONG} v = Neg (s) }}> (, k, n)", 8,
         ["float[0, 4]", "float"]),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_body_that_never_runs_does_not_matter(nodes, version, expected):
    """The other values of the body have types all the same."""
    text = f"""<ir_version: 10, opset_import: ["": {version}]>
        m (int64 m, float[4] x, float[2, 3] w, float[0, 4] n, float[0, 4] k) => (y, ys) {{ {nodes} }}"""
    found = infer(onnx.parser.parse_model(text))
    assert not found.findings
    types = {value.name: str(value.type) for value in found.values()}
    assert [types["y"], types["v"]] == [expected[0], "float[4]"]


def test_values_of_the_branch_that_does_not_run_have_types():
    for value, other in (("1", "b"), ("0", "a")):
        nodes = f"""c = Constant <value = bool {{{value}}}> () y = If (c) <then_branch = t () => (a) {{
            a = Unsqueeze (x, k) }}, else_branch = e () => (b) {{ b = Concat <axis = 0> (x, x) }}>"""
        text = f"""<ir_version: 10, opset_import: ["": 21]> m (float[3] x) => (y) <int64[1] k = {{0}}> {{ {nodes} }}"""
        found = infer(onnx.parser.parse_model(text))
        types = {"a": "float[1, 3]", "b": "float[6]"}
        assert {each.name: str(each.type) for each in found.values() if each.name in types} == types
        assert str(found.type("y")) == types["ab".replace(other, "")]


@pytest.mark.parametrize(
    ("nodes", "given", "names", "expected"),
    [
        ("y = If (c) <then_branch = t (float q) => (a) { a = Relu (x) }, else_branch = e () => (b) { b = Neg (x) }>",
         "bool c, float[3] x", "y", "C3: then_branch has 1 inputs, and none is given"),
        ("y = Loop (m, , x) <body = b (int64 i, bool g) => (g, x) { }>", "int64 m, float[3] x", "y",
         "C3: 1 carried values, a body of 2 inputs and 2 outputs"),
        ("y, ys, u = Loop (m, , x) <body = b (int64 i, bool g, s) => (g, s) { }>", "int64 m, float[3] x", "y, ys, u",
         "C3: 1 carried values, a body of 3 inputs and 2 outputs"),
        ("y, ys = Scan <num_scan_inputs = 1, body = b (s) => (s, s) { }> (x, w)", "float[2] x, float[3] w", "y, ys",
         "C1: 2 inputs, 1 of them scanned, a body of 1 inputs and 2 outputs"),
        ("y, ys = SequenceMap (q, w) <body = b (e) => (u, e) { u = Neg (e) }>", "seq(float[2]) q, float[7] w", "y, ys",
         "C2: 2 inputs, a body of 1 inputs and 2 outputs"),
        ("y, ys = SequenceMap (q, w) <body = b (e, v) => (u) { u = Neg (e) }>", "seq(float[2]) q, float[7] w", "y, ys",
         "C2: 2 inputs, a body of 2 inputs and 1 outputs"),
        ("u = Unknown (x) y = If (c) <then_branch = t () => (u) { }, else_branch = e () => (b) { b = Neg (x) }>",
         "bool c, float[3] x", "y", ["?"]),
        ("u = Unknown (x) y = If (c) <then_branch = t () => (b) { b = Neg (x) }, else_branch = e () => (u) { }>",
         "bool c, float[3] x", "y", ["?"]),
        ("y = Loop (m, , x) <body = b (int64 i, bool g, optional(float[3]) s) => (g, t) { "
         "t = OptionalGetElement (s) }>",
         "int64 m, optional(float[3]) x", "y", ["float[3]"]),
    ],
)  # fmt: skip
def test_graphs_fit_their_nodes(nodes, given, names, expected):
    assert answers(nodes, given, names) == expected


def test_each_state_has_its_own_elements():
    nodes = """p = Constant <value = int64[2] {5, 7}> () z = Constant <value = int64[2] {1, 2}> ()
        q, r = Loop (m, , z, p) <body = b (int64 i, bool g, int64[2] s, int64[2] u) => (g, s, u) { }>
        y = Expand (x, r) ys = Expand (x, q)"""
    assert answers(nodes, "int64 m, float[1] x") == ["float[5, 7]", "float[1, 2]"]


@pytest.mark.parametrize(
    ("stated", "node", "told"),
    [("K", "Neg (own)", "K"), ("J", "Neg (own)", "?"), ("J", "Neg (around)", "K")],
)
def test_a_size_in_a_loop_is_that_of_which_most_is_known_around_it(stated, node, told):
    """What the graph around states is worth most; then come names that the body alone states, and names of ours."""
    text = f"""<ir_version: 8, opset_import: ["": 17]>
        main (float[N, 2] x, int64 m, bool c) => (y) <int64[2, K] around> {{
            around = NonZero (x)
            y = Loop <body = g (int64 i, bool k) => (bool l, s) <int64[2, {stated}] z> {{
                l = Identity (k)  own = NonZero (x)  z = {node}  s = Identity (z)
            }}> (m, c)
        }}"""
    found = infer(onnx.parser.parse_model(text))
    assert re.sub(r"y_d\d", "?", str(found.type("y"))) == f"int64[?, 2, {told}]"
