"""`opset.compare_models`: what changed in nodes, bodies, functions, weights and metadata, and its page."""

import base64
import hashlib
import os
import random
import re
from html.parser import HTMLParser

import numpy as np
import onnx
import pytest

import opset
from opset.description.structure import comparing, digests, folding, matching
from opset.model import proto
from opset.reports.differences import difference_page
from tests.bounds import draws, lines
from tests.cli.commands import run, run_json

OLD = """<ir_version: 10, opset_import: ["": 21]>
    m (float[N, 3] x) => (float[N, 3] y) <float[3, 3] w = {1, 0, 0, 0, 1, 0, 0, 0, 1}, float[3] b = {1, 2, 3}> {
        p = MatMul (x, w)
        s = Add (p, b)
        a = LeakyRelu <alpha = 0.1> (s)
        y = Softmax (a)
    }"""


def compared(old, new, **options):
    texts = (opset.parse_model(each) if isinstance(each, str) else each for each in (old, new))
    return opset.compare_models(*texts, **options).structure


def found(old, new):
    """The changes between two models: sign, places, and details as text."""
    return [
        (each.change, each.kind, each.places[0], [f"{part}: {a} -> {b}" for part, a, b in each.details])
        for each in compared(old, new).changes
    ]


def test_the_same():
    comparison = compared(OLD, OLD)
    assert (comparison.changes, comparison.notes, comparison.omitted) == ([], [], 0)
    assert comparison.nodes == (4, 4, 4, 0, 0, 0, 0) and comparison.weights == (2, 2, 2, 0, 0, 0, 0)


def test_other_names_of_values_and_weights_are_no_change():
    new = re.sub(r"\b([psawb])\b", r"other_\1", OLD)
    comparison = compared(OLD, new)
    assert comparison.changes == []
    assert comparison.nodes.same == 4 and comparison.weights.renamed == 2


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ("alpha = 0.1", "alpha = 0.2", [("node number 2 (LeakyRelu)", ["attribute 'alpha': 0.1 -> 0.2"])]),
        ("<alpha = 0.1> ", "", [("node number 2 (LeakyRelu)", ["attribute 'alpha': 0.1 -> "])]),
        ("LeakyRelu <alpha = 0.1>", "Relu", [
            ("node number 2 (Relu)", ["operator: LeakyRelu -> Relu", "attribute 'alpha': 0.1 -> "])]),
        ("MatMul (x, w)", "MatMul (w, x)", [
            ("node number 0 (MatMul)", ["input 0: 'x' -> 'w'", "input 1: 'w' -> 'x'"])]),
        ("Softmax (a)", "Softmax (s)", [
            ("node number 3 (Softmax)",
             ["input 0: 'a' of node number 2 (LeakyRelu) -> 's' of node number 1 (Add)"])]),
    ],
)  # fmt: skip
def test_a_changed_node_says_what_changed(before, after, changes):
    assert before in OLD
    expected = [("changed", "node", place, details) for place, details in changes]
    assert found(OLD, OLD.replace(before, after)) == expected


def test_a_node_in_between_is_added_and_its_reader_changed():
    new = OLD.replace("y = Softmax (a)", "c = Clip (a) y = Softmax (c)")
    assert found(OLD, new) == [
        ("added", "node", "node number 3 (Clip)", []),
        ("changed", "node", "node number 4 (Softmax)",
         ["input 0: 'a' of node number 2 (LeakyRelu) -> 'c' of node number 3 (Clip)"]),
    ]  # fmt: skip
    back = compared(new, OLD)
    assert [each.change for each in back.changes] == ["removed", "changed"]
    assert back.nodes == (5, 4, 3, 0, 1, 0, 1)


def test_types_change_unless_variables_are_renamed():
    head, body = OLD.split("{1, 2, 3}> {")
    typed = f"{head}{{1, 2, 3}}, float[N, 3] p, float[N, 3] s> {{{body}"
    assert compared(typed, typed.replace("[N,", "[M,")).changes == []
    assert found(typed, typed.replace("float[N, 3] s", "float16[N, 3] s")) == [
        ("changed", "node", "node number 1 (Add)", ["type of output 0: tensor(float)[N, 3] -> tensor(float16)[N, 3]"])
    ]


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("float[N, 3]", "float[M, 3]", True),
        ("float[N, 3]", "float[N, 4]", False),
        ("float[3, N]", "float[4, N]", False),
        ("float[N, M]", "float[M, N]", True),
        ("float[N, M]", "float[K, K]", False),
        ("float[N, N]", "float[K, M]", False),
        ("float[N, 3]", "float[2, 3]", False),
        ("float[2, 3]", "float[2]", False),
        ("float[2]", "float[2, 3]", False),
        ("float[2]", "double[2]", False),
        ("float[2]", "float[]", False),
        ("seq(float[2])", "seq(float[2])", True),
        ("seq(float[2])", "float[2]", False),
    ],
)
def test_the_type_of_an_inner_value_is_compared(before, after, same):
    text = '<ir_version: 8, opset_import: ["": 17, "o": 1]> m (float[2] x) => (y) <%s a> { a = o.P (x) y = o.Q (a) }'
    places = [place for _, _, place, _ in found(text % before, text % after)]
    assert places == [] if same else places == ["node number 0 (P)"]


def test_numbers_that_exporters_give_to_nodes_may_shift():
    old, new = proto.ModelProto(ir_version=8), proto.ModelProto(ir_version=8)
    for model, kinds in ((old, ["Abs", "Neg", "Exp"]), (new, ["Abs", "Floor", "Neg", "Exp"])):
        model.opset_import.add(version=17)
        model.graph.input.add(name="v0")
        for number, kind in enumerate(kinds):
            name = f"op_{number}"
            model.graph.node.add(op_type=kind, name=name, input=[f"v{number}"], output=[f"v{number + 1}"])
        model.graph.output.add(name=f"v{len(kinds)}")
    assert [(change, place) for change, _, place, _ in found(old.SerializeToString(), new.SerializeToString())] == [
        ("added", "node 'op_1' (Floor)"),
        ("changed", "node 'op_2' (Neg)"),
    ]


def test_other_operators_are_paired_by_all_that_they_read():
    text = """<ir_version: 10, opset_import: ["": 21]>
        m (float[2] x) => (float[2] y) {{ a = Abs (x) b = Neg (x) {} }}"""
    old = text.format("p = Add (x, a) q = Mul (x, b) y = Concat <axis = 0> (p, q)")
    new = text.format("r = Div (x, b) s = Sub (x, a) y = Gather (r, s)")
    assert [details[0] for *_, details in found(old, new)] == [
        "operator: Mul -> Div",
        "operator: Add -> Sub",
        "operator: Concat -> Gather",
    ]


BRANCHES = """<ir_version: 10, opset_import: ["": 21]>
    m (bool c, float[2] x) => (float[2] y) {
        k = Abs (x)
        y = If (c) <then_branch = t () => (float[2] r) { q = Neg (k) r = Exp (q) },
                    else_branch = e () => (float[2] r) { r = Log (k) }>
    }"""


def test_changes_in_bodies():
    comparison = compared(BRANCHES, BRANCHES.replace("r = Log (k)", "r = Log (x)"))
    assert [(each.body, each.places, each.details) for each in comparison.changes] == [
        ("graph 'm', node number 1 (If), else_branch", ["node number 0 (Log)"],
         [("input 0", "'k'", "'x'")]),
    ]  # fmt: skip
    assert comparison.nodes == (5, 5, 4, 0, 1, 0, 0)
    both = BRANCHES.replace("If (c)", "If (d)").replace("bool c", "bool c, bool d").replace("Log (k)", "Cos (k)")
    assert [each.details for each in compared(BRANCHES, both).changes if each.kind == "node"] == [
        [("input 0", "'c'", "'d'")],
        [("operator", "Log", "Cos")],
    ]
    renamed = BRANCHES.replace("q", "other").replace("k", "kept")
    assert compared(BRANCHES, renamed).changes == []
    gone = compared(BRANCHES, BRANCHES[: BRANCHES.index("y = If")] + "y = Exp (k) }")
    assert gone.nodes == (5, 2, 1, 0, 1, 0, 3)


def test_a_body_reads_the_same_value_where_the_nodes_around_have_moved():
    moved = BRANCHES.replace("k = Abs (x)", "n = Sin (x) k = Abs (x)")
    added = [("added", "node", "node number 0 (Sin)", [])]
    assert found(BRANCHES, moved) == added
    assert found(moved, BRANCHES) == [("removed", *added[0][1:])]
    assert found(BRANCHES, moved.replace("r = Log (k)", "r = Log (n)")) == [
        *added, ("changed", "node", "node number 0 (Log)", ["input 0: 'k' -> 'n'"]),
    ]  # fmt: skip


FUNCTION = """<ir_version: 10, opset_import: ["": 21, "local": 1]>
    m (float[2] x) => (float[2] y) { y = local.f <k = 2> (x) }
    <domain: "local", opset_import: ["": 21]> f <k> (a) => (b) { c = Neg (a) b = Celu <alpha: float = @k> (c) }
"""


@pytest.mark.parametrize(
    ("before", "after", "details"),
    [
        ("value_int = 1", "value_int = 2", ["attribute 'value_int': 1 -> 2"]),
        ('value_string = "a"', 'value_string = "b"', ["attribute 'value_string': 'a' -> 'b'"]),
        ("value_ints = [1, 2]", "value_ints = [1, 3]", ["attribute 'value_ints': [1, 2] -> [1, 3]"]),
        (f"value_ints = {[*range(20)]}", f"value_ints = {[*range(21)]}",
         [f"attribute 'value_ints': {[*range(20)]} -> {str([*range(20)])[:-1]}, …]"]),
        ("value = float[1] {1.5}", "value = float[1] {2.5}", ["attribute 'value': "
         "float[1] sha256:c0e336a5f371 -> float[1] sha256:072e3304b034"]),
        ("value_int = 1", "value_float = 1.5",
         ["attribute 'value_float':  -> 1.5", "attribute 'value_int': 1 -> "]),
    ],
)  # fmt: skip
def test_values_of_attributes_are_shown_in_short(before, after, details):
    text = '<ir_version: 10, opset_import: ["": 21]> m () => (float[] y) {{ y = Constant <{}> () }}'
    (change,) = found(text.format(before), text.format(after))
    assert sorted(change[3]) == details


STRINGS = 'm (string[2] x) => (bool[2] y) <string[2] w = {"a", "bc"}> { y = Equal (x, w) }'
SPLIT = "m (float[4] x) => (float[2] y) { a, b = Split <num_outputs = 2> (x)  y = Neg (a) }"
DROPOUT = "m (float[4] x) => (float[4] y) { y = Dropout (x) }"
UNDEFINED = """m (bool c, float[2] x) => (float[2] y) {
    y = If (c) <then_branch = t () => (float[2] r) { r = Neg (nobody) },
                else_branch = e () => (float[2] r) { r = Log (x) }> }"""
SUM = "m (float[2] x) => (float[2] y, float[2] z) { p = Abs (x)  q = Neg (x)  y = Exp (p)  z = Add (p, q) }"
TWICE = "m (float[2] x) => (float[2] y) { a = Abs (x)  b = Abs (x)  y = Sub (a, b) }"
DIFFERENCE = "m (float[2] a, float[2] b) => (float[2] y) { y = Sub (a, b) }"
NAMED = "m (float[2] x) => (float[2] y) { [first] t = Elu <alpha = 1.0> (x)  y = Exp (t) }"
SCANNED = """m (float[2, 2] x) => (float[2, 2] y) {
    y = Scan <body = b (float[2] i) => (float[2] o) { o = Neg (i) },
              num_scan_inputs = 1, scan_input_axes = [0]> (x) }"""
CALLED = """m (float[2] x) => (float[2] y) { y = local.f (x, x) }
    <domain: "local", opset_import: ["": 21]> f (a, b) => (c) { c = Sub (a, b) }"""


@pytest.mark.parametrize(
    ("text", "replaced", "changes"),
    [
        (SUM, ("Exp (p)", "Exp (q)"),
         [("node number 2 (Exp)", ["input 0: 'p' of node number 0 (Abs) -> 'q' of node number 1 (Neg)"])]),
        # Inputs of the main graph are those of their names, inputs of a function those of their positions.
        # Two nodes compute the same: which of the two is read makes no difference.
        (TWICE, ("Sub (a, b)", "Sub (b, a)"), []),
        (TWICE.replace("b = Abs (x)", "c = Neg (x)  b = Abs (c)").replace("a = Abs (x)", "d = Neg (x)  a = Abs (d)"),
         ("Sub (a, b)", "Sub (b, a)"), []),
        (TWICE, (" b = Abs (x)  y = Sub (a, b)", " y = Sub (a, a)"), [("node number 1 (Abs)", [])]),
        (DIFFERENCE, ("float[2] a, float[2] b", "float[2] b, float[2] a"), []),
        (CALLED, ("(a, b) => (c) { c = Sub (a, b) }", "(u, v) => (w) { w = Sub (u, v) }"),
         [("function 'local.f'", ["inputs: a, b -> u, v", "outputs: c -> w"])]),
        (SUM, ("(float[2] y, float[2] z)", "(float[2] z, float[2] y)"), []),
        (SCANNED, ("num_scan_inputs = 1, scan_input_axes = [0]", "num_scan_inputs = 1, scan_input_axes = [1]"),
         [("node number 0 (Scan)", ["attribute 'scan_input_axes': [0] -> [1]"])]),
        ("m (float[2] x) => (y) { y = local.Op <g = b () => (o) { o = Neg (x) }> (x) }",
         ("<g = b () => (o) { o = Neg (x) }> ", ""), [("node number 0 (Op)", ["attribute 'g': a graph -> "])]),
        ("m () => (y) { y = Optional <type = float[2]> () }", ("float[2]", "double[2]"),
         [("node number 0 (Optional)", ["attribute 'type': type_proto -> type_proto"])]),
        (STRINGS, ('{"a", "bc"}', '{"ab", "c"}'),
         [("weight 'w'", ["data: sha256:81dece1c22f9 -> sha256:1ed4c7358c05"])]),
        (STRINGS, ('{"a", "bc"}', '{"a", "bc"} '), []),
        (SPLIT, ("Neg (a)", "Neg (b)"),
         [("node number 1 (Neg)", ["input 0: 'a' of node number 0 (Split) -> 'b' of node number 0 (Split)"])]),
        (DROPOUT, ("y = ", "y, m = "), [("node number 0 (Dropout)", ["outputs: y -> y, m"])]),
        (DROPOUT, ("(x) }", "(x, , ) }"), []),
        (UNDEFINED, ("nobody", "nobody "), []),
        (UNDEFINED, ("nobody", "x"), [("node number 0 (Neg)", ["input 0: 'nobody' -> 'x'"])]),
        (UNDEFINED, ("nobody", "none"), [("node number 0 (Neg)", ["input 0: 'nobody' -> 'none'"])]),
        (NAMED, ("[first] t = Elu <alpha = 1.0>", "[other] t = Elu <alpha = 2.0>"),
         [("node 'other' (Elu)", ["attribute 'alpha': 1 -> 2", "name: 'first' -> 'other'"])]),
    ],
)  # fmt: skip
def test_what_a_node_reads_is_compared_by_what_computes_it(text, replaced, changes):
    head = '<ir_version: 10, opset_import: ["": 21, "local": 1]>'
    assert [change[2:] for change in found(head + text, head + text.replace(*replaced))] == changes


def test_nodes_that_all_changed_are_paired_from_neighbor_to_neighbor():
    text = """<ir_version: 10, opset_import: ["": 21]> m (float[2] x) => (float[2] y) {{
        {0}  {1} = Elu <alpha = {3}> ({4})  {2} = Elu <alpha = {3}> ({1})  y = Elu <alpha = {3}> ({2}) }}"""
    old, new = (
        text.format("p = Abs (x)", "a", "b", 1.0, "p"),
        text.format("q = Sin (x)  r = Cos (q)", "c", "d", 2.0, "r"),
    )
    for pair, counts in (((old, new), (4, 5, 0, 0, 4, 1, 0)), ((new, old), (5, 4, 0, 0, 4, 0, 1))):
        assert compared(*pair).nodes == counts
    assert ("added", "node", "node number 1 (Cos)", []) in found(old, new)


def test_nodes_are_paired_by_their_users_where_what_computes_a_value_is_another_operator():
    text = '<ir_version: 10, opset_import: ["": 21]> m (float[2] x) => (float[2] y, float[2] w) {'
    old = f"{text} y = Neg (x)  r = Cos (x)  z = Add (y, r)  w = Exp (z) }}"
    new = f"{text} y = Abs (x)  q = Floor (x)  s = Sqrt (q)  k = Add (y, s)  w = Sin (k) }}"
    assert found(old, new) == [
        ("changed", "node", "node number 0 (Abs)", ["operator: Neg -> Abs"]),
        ("changed", "node", "node number 1 (Floor)", ["operator: Cos -> Floor"]),
        ("added", "node", "node number 2 (Sqrt)", []),
        ("changed", "node", "node number 3 (Add)",
         ["input 1: 'r' of node number 1 (Cos) -> 's' of node number 2 (Sqrt)"]),
        ("changed", "node", "node number 4 (Sin)", ["operator: Exp -> Sin"]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "pairs"),
    [
        # The node that reads x stays the first; what it is added to and what reads it are others.
        ("s = Add (x, w) y = Neg (s)", "a = Add (x, v) u = Exp (a) y = Neg (u)", {0: 0, 1: 2}),
        ("u = Exp (x) a = Add (u, v) y = Neg (a)", "a = Add (x, v) y = Neg (a)", {1: 0, 2: 1}),
        # Both have a name, which is why they are a pair, and so are those that read them.
        ("[m] p = MatMul (x, w) q = Add (p, w) y = Neg (q)",
         "[m] o = MatMul (x, v) q2 = Add (o, v) r = Exp (q2) y = Neg (r)", {0: 0, 1: 1, 2: 3}),
        # Of two that read the same, one has a name and is a pair; the other is one with the other that reads the same.
        ("[m] p = Add (x, w) t = Exp (x) q = Add (x, t) y = Neg (q)",
         "[m] o = Add (x, v) s = Cos (x) u = Sin (s) r = Add (x, u) y = Abs (r)", {0: 0, 1: 1, 2: 3, 3: 4}),
        # y is another output of a node of the same operator.
        ("t, y = Split <num_outputs = 2> (x)", "a = Exp (x) y, b = Split <num_outputs = 2, axis = 1> (a)", {0: 0}),
        # Two nodes change places; each is known by what reads it.
        ("a = Add (x, w) b = Add (x, w) c = Neg (a) d = Exp (b) y = Mul (c, d)",
         "t = Abs (x) a = Add (t, v) b = Add (t, v) c = Exp (a) d = Neg (b) y = Mul (d, c)",
         {0: 2, 1: 1, 2: 4, 3: 3, 4: 5}),
        # An output of the graph reads the value, and the last node has the operator of what read it.
        ("p = Add (x, w) n = Neg (p) y = Exp (n)", "out = Add (x, v) y = Sin (out) a = Neg (x)", {0: 0, 1: 1}),
        ("out = Add (x, w) y = Sin (out) a = Neg (x)", "p = Add (x, v) n = Neg (p) y = Exp (n)", {0: 0, 1: 1}),
        # Two nodes have an input that is left out; they share no value.
        ("c = Clip (x, , x) s = Sin (x) t = Clip (s, , s) y = Abs (t)",
         "c = Clip (x, , x) r = Cos (v) q = Clip (r, , r) y = Exp (q)", {0: 0, 3: 3}),
    ],
)  # fmt: skip
def test_which_nodes_are_pairs(old, new, pairs, monkeypatch):
    made = []

    def noted(*arguments):
        made.append(matching.Pairs(*arguments))
        return made[-1]

    monkeypatch.setattr(comparing, "Pairs", noted)
    head = '<ir_version: 10, opset_import: ["": 21]> m (float[2, 2] x) => ({}float[N, M] y) <float[1] {}> {{ {} }}'
    outputs = ["float[N, M] out, " if "out" in nodes else "" for nodes in (old, new)]
    compared(head.format(outputs[0], "w = {1}", old), head.format(outputs[1], "v = {2}", new))
    assert made[0].new_of == pairs and made[0].old_of == {other: index for index, other in pairs.items()}


def test_nodes_are_no_pair_because_neither_has_inputs():
    text = '<ir_version: 10, opset_import: ["": 21]> m (float[2] x) => (float[2] y, float[2] z) { %s }'
    old = text % "a = RandomUniform <shape = [2]> () y = Add (x, a) z = Exp (x)"
    new = text % "y = Add (x, x) z = Exp (b) b = RandomNormal <shape = [2]> ()"
    assert [each[:3] for each in found(old, new)] == [
        ("removed", "node", "node number 0 (RandomUniform)"),
        ("changed", "node", "node number 0 (Add)"),
        ("changed", "node", "node number 1 (Exp)"),
        ("added", "node", "node number 2 (RandomNormal)"),
    ]


def test_an_absent_input_is_not_what_a_node_does_not_compute():
    text = '<ir_version: 10, opset_import: ["": 21]> m (float[2] x, float h) => (float[2] y) {'
    old = f"{text} a = Clip (x, , h)  y = Neg (a) }}"
    new = f"{text} u, , , c = Unique (x)  b = Where (x, , h)  y = Abs (b) }}"
    assert [(change, place) for change, _, place, _ in found(old, new)] == [
        ("added", "node number 0 (Unique)"), ("changed", "node number 1 (Where)"), ("changed", "node number 2 (Abs)"),
    ]  # fmt: skip


def test_an_output_that_is_left_out_is_no_absent_input():
    text = '<ir_version: 10, opset_import: ["": 21]> m (float[2] x, float[2] w) => (float[2] y, float[2] z) { %s }'
    clips = "a = Clip (x, , h)  b = Clip (w, , h)"
    old = text % f"h, , , n = Unique (x)  {clips}  y = Neg (a)  z = Neg (b)"
    new = text % f"h, , i, n = Unique (x)  {clips}  y = Neg (b)  z = Neg (a)"
    assert [(place, details[0]) for _, _, place, details in found(old, new)] == [
        ("node number 0 (Unique)", "outputs: h, n -> h, i, n"),
        ("output 'y'", "computed by: 'y' of node number 3 (Neg) -> 'y' of node number 3 (Neg)"),
        ("output 'z'", "computed by: 'z' of node number 4 (Neg) -> 'z' of node number 4 (Neg)"),
    ]


def test_inputs_that_have_a_value_are_weights():
    text = '<ir_version: 3, opset_import: ["": 7]> m (float[2] w = {1, 2}, float[2] x) => (float[2] y) { %s }'
    old = text % "y = Add (x, w)"
    new = text.replace("{1, 2}", "{1, 3}").replace("x", "u") % "y = Add (u, w)"
    assert [each[:3] for each in found(old, new)] == [("changed", "weight", "weight 'w'")]
    added = text.replace("float[2] w = {1, 2}, float[2] x", "float[2] u") % "y = Abs (u)"
    assert [each[:3] for each in found(text % "y = Abs (x)", added)] == [("removed", "weight", "weight 'w'")]


def test_changes_in_functions():
    assert found(FUNCTION, FUNCTION.replace("c = Neg (a)", "c = Abs (a)")) == [
        ("changed", "node", "node number 0 (Abs)", ["operator: Neg -> Abs"])
    ]
    assert found(FUNCTION, FUNCTION.replace("(a) => (b)", "(a, d) => (b)")) == [
        ("changed", "function", "function 'local.f'", ["inputs: a -> a, d"])
    ]
    assert found(FUNCTION, FUNCTION.replace("alpha: float = @k", "alpha = 2.0")) == [
        ("changed", "node", "node number 1 (Celu)", ["attribute 'alpha': attribute 'k' of the function -> 2"])
    ]
    added = compared(OLD, OLD + '<domain: "local", opset_import: ["": 21]> f (a) => (b) { b = Neg (a) }')
    assert [(each.change, each.kind, each.places) for each in added.changes] == [
        ("added", "function", ["function 'local.f'"])
    ]
    assert added.nodes.added == 1
    gone = '<domain: "local", opset_import: ["": 21]> f (a) => (b) { c = Neg (a)  b = Neg (c) }'
    assert found(OLD + gone, OLD) == [("removed", "function", "function 'local.f'", ["nodes: 2 -> "])]
    moved = FUNCTION.replace('"local", opset_import: ["": 21]', '"local", opset_import: ["": 20, "com.x": 2]')
    assert found(FUNCTION, moved) == [
        ("changed", "function", "function 'local.f'", ["operator set ai.onnx: 21 -> 20", "operator set com.x:  -> 2"])
    ]


def with_sparse(value, index, size):
    """A model with a sparse tensor as an attribute."""
    model = proto_of('<ir_version: 10, opset_import: ["": 21]> m () => (y) { y = Constant () }')
    values, indices = (onnx.helper.make_tensor("t", kind, [1], [each]) for kind, each in ((1, value), (7, index)))
    sparse = onnx.helper.make_sparse_tensor(values, indices, [size])
    model.graph.node[0].attribute.append(onnx.helper.make_attribute("sparse_value", sparse))
    return model


def test_sparse_tensors_and_documentation_of_attributes():
    for value, index, size in ((1, 2, 4), (2, 2, 4), (1, 3, 4), (1, 2, 5)):
        details = (
            [] if (value, index, size) == (1, 2, 4) else ["attribute 'sparse_value': sparse_tensor -> sparse_tensor"]
        )
        changes = found(with_sparse(1, 2, 4), with_sparse(value, index, size))
        assert [change[3] for change in changes] == [details] * bool(details)
    old, new = proto_of(OLD), proto_of(OLD)
    new.graph.node[2].attribute[0].doc_string = "how steep"
    assert found(old, new) == []
    new.graph.node[2].attribute[0].f = 0.5
    assert [change[3] for change in found(old, new)] == [["attribute 'alpha': 0.1 -> 0.5"]]


def test_weights_are_compared_by_digest():
    data = [hashlib.sha256(bytes(opset.load(proto_of(text)).proto.graph.initializer[1].raw_data)).hexdigest()[:12]
            for text in (OLD, OLD.replace("{1, 2, 3}", "{1, 2, 4}"))]  # fmt: skip
    assert found(OLD, OLD.replace("{1, 2, 3}", "{1, 2, 4}")) == [
        ("changed", "weight", "weight 'b'", [f"data: sha256:{data[0]} -> sha256:{data[1]}"])
    ]
    assert found(OLD, OLD.replace("float[3] b = {1, 2, 3}", "float[1] b = {1}")) == [
        ("changed", "weight", "weight 'b'", ["type: float[3] -> float[1]"])
    ]
    both = OLD.replace("b = {1, 2, 3}", "bias = {1, 2, 4}").replace("Add (p, b)", "Add (p, bias)")
    changes = found(OLD, both)
    assert [change[:3] for change in changes] == [("changed", "weight", "weight 'bias'")]
    weights = compared(OLD, both).weights
    assert (weights.same, weights.renamed, weights.changed, weights.added, weights.removed) == (1, 0, 1, 0, 0)
    assert changes[0][3][1] == "name: 'b' -> 'bias'"


def proto_of(text):
    """A model whose initializers have raw_data, as exporters write them."""
    model = onnx.ModelProto.FromString(opset.parse_model(text).SerializeToString())
    for tensor in model.graph.initializer:
        tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), tensor.name))
    return model


def test_weights_that_came_or_went_are_found_beside_others():
    more = OLD.replace("float[3, 3] w", "float[2] a = {1, 2}, float[3, 3] w").replace("3}>", "3}, int64 z = {4}>")
    for word, (old, new) in (("added", (OLD, more)), ("removed", (more, OLD))):
        types = [" -> float[2]", " -> int64[]"] if word == "added" else ["float[2] -> ", "int64[] -> "]
        names = ["weight 'a'", "weight 'z'"]
        assert found(old, new) == [
            (word, "weight", name, [f"type: {type_}"]) for name, type_ in zip(names, types, strict=True)
        ]


def test_weights_like_none_of_the_other_model_are_not_read():
    more = OLD.replace("float[3, 3] w", "float[2] a = {1, 2}, float[3, 3] w")
    for pair in ((OLD, more), (more, OLD)):
        notes = compared(*pair, weights=False).notes
        assert notes == ["not all data was compared: tensor 'w': more data than is compared at once"]


def test_the_same_values_in_another_field_are_the_same():
    assert compared(OLD, proto_of(OLD)).changes == []


def external(folder, data, location="w.bin", offset=0):
    folder.mkdir(exist_ok=True)
    (folder / location).write_bytes(data)
    model = onnx.ModelProto.FromString(opset.parse_model(OLD).SerializeToString())
    tensor = model.graph.initializer[0]
    tensor.ClearField("float_data")
    tensor.ClearField("raw_data")
    tensor.data_location = 1
    for key, value in (("location", location), ("offset", offset), ("length", 36)):
        tensor.external_data.add(key=key, value=str(value))
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    return folder / "m.onnx"


def test_external_data_is_digested_unless_it_is_one_place(tmp_path):
    first, second = external(tmp_path / "a", b"x" * 36), external(tmp_path / "b", b"y" + b"x" * 36, offset=1)
    assert compared(first, second).changes == []
    (tmp_path / "b" / "w.bin").write_bytes(b"y" * 37)
    assert [each.places for each in compared(first, second).changes] == [["weight 'w'"]]
    data = b"x" * 36 + b"z" * 36
    parts = [external(tmp_path / name, data, offset=offset) for name, offset in (("c", 0), ("d", 36), ("e", 0))]
    for name in "de":  # the same file by another name, which is read for another part of it alone
        (tmp_path / name / "w.bin").unlink()
        os.link(tmp_path / "c" / "w.bin", tmp_path / name / "w.bin")
    roots = {"allow_external_roots": [tmp_path]}
    assert [each.places for each in compared(*parts[:2], **roots).changes] == [["weight 'w'"]]
    assert "tensor 'b'" in compared(*parts[::2], weights=False, **roots).notes[0]  # w is not read
    copy = tmp_path / "a" / "n.onnx"
    copy.write_bytes(first.read_bytes())
    (tmp_path / "a" / "w.bin").unlink()
    assert compared(first, copy).notes == []
    unread = compared(first, second)
    assert unread.changes == [] and len(unread.notes) == 1 and "tensor 'w'" in unread.notes[0]


def test_the_place_of_data_that_a_tensor_has_beside_its_own_does_not_count(tmp_path):
    first = external(tmp_path / "a", b"x" * 36)
    model = onnx.ModelProto.FromString(first.read_bytes())
    model.graph.initializer[0].data_location = 0
    model.graph.initializer[0].raw_data = b"y" * 36
    (tmp_path / "a" / "n.onnx").write_bytes(model.SerializeToString())
    for pair in ((first, tmp_path / "a" / "n.onnx"), (tmp_path / "a" / "n.onnx", first)):
        assert [each.places for each in compared(*pair).changes] == [["weight 'w'"]]


def test_folders_that_are_allowed_count_for_both_models(tmp_path):
    path = external(tmp_path / "a", b"x" * 36)
    (tmp_path / "a" / "w.bin").rename(tmp_path / "w.bin")
    (tmp_path / "a" / "w.bin").symlink_to("../w.bin")
    other = external(tmp_path / "b", b"y" * 36)
    for pair in ((path, other), (other, path)):
        assert "outside" in compared(*pair).notes[0]
        assert compared(*pair, allow_external_roots=[tmp_path]).notes == []


def test_weights_without_a_pair_are_told_apart_by_type_and_shape():
    """Neither the nodes around nor names say which product is which: the shapes of the weights do."""
    text = (
        """<ir_version: 10, opset_import: ["": 21]> m (float[2, 2] x) => (float[2, 1] y, float[2, 2] z) <%s> { %s }"""
    )
    old = text % ("float[2, 1] w = {1, 2}, float[2, 2] v = {1, 2, 3, 4}",
                  "a = MatMul (x, w)  b = MatMul (x, v)  y = Abs (a)  z = Exp (b)")  # fmt: skip
    new = text % ("float[2, 2] s = {5, 6, 7, 8}, float[2, 1] t = {5, 6}",
                  "b = MatMul (x, s)  a = MatMul (x, t)  y = Sin (a)  z = Cos (b)")  # fmt: skip
    changes = found(old, new)
    assert [(change, place, details[-1]) for change, _, place, details in changes] == [
        ("changed", "weight 's'", "name: 'v' -> 's'"),
        ("changed", "weight 't'", "name: 'w' -> 't'"),
        ("changed", "node number 2 (Sin)", "operator: Abs -> Sin"),
        ("changed", "node number 3 (Cos)", "operator: Exp -> Cos"),
    ]


def test_nodes_with_graphs_are_told_apart_by_what_the_graphs_read():
    text = """<ir_version: 10, opset_import: ["": 21]> m (bool c, float[2] x) => (float[2] y, float[2] z) {{
        p = Neg (x)  q = Exp (x)  {}  {}  y = {} (s)  z = {} (t) }}"""
    nodes = [
        f"{name} = If (c) <then_branch = g () => (float[2] a) {{ a = Abs ({read}) }}, "
        "else_branch = h () => (float[2] b) { b = Abs (x) }>"
        for name, read in (("s", "p"), ("t", "q"))
    ]
    changes = found(text.format(*nodes, "Sqrt", "Log"), text.format(*reversed(nodes), "Sin", "Cos"))
    assert [(place, details) for _, _, place, details in changes] == [
        ("node number 4 (Sin)", ["operator: Sqrt -> Sin"]),
        ("node number 5 (Cos)", ["operator: Log -> Cos"]),
    ]


def test_several_changes_as_one_have_the_details_of_the_first():
    text = '<ir_version: 10, opset_import: ["": 21]> m (float[2] x) => (float[2] y) <{}> {{ y = Neg (x) }}'
    old = text.format("float[2] w0 = {1, 2}, float[3] w1 = {1, 2, 3}")
    (change,) = compared(old, text.format("float[4] w0 = {1, 2, 3, 4}, float[1] w1 = {1}")).changes
    assert (change.place, change.details) == ("weight 'w0', x 2: 0-1", [("type", "float[2]", "float[4]")])


def test_large_weights_are_read_unless_that_is_not_wanted(tmp_path):
    paths = []
    for name, last in (("a", 0), ("b", 1)):
        model = proto_of(OLD)
        tensor = model.graph.initializer.add(name="large", data_type=onnx.TensorProto.UINT8, dims=[1 << 20])
        tensor.raw_data = bytes((1 << 20) - 1) + bytes([last])
        paths.append(tmp_path / f"{name}.onnx")
        paths[-1].write_bytes(model.SerializeToString())
    assert [each.places for each in compared(*paths).changes] == [["weight 'large'"]]
    unread = compared(*paths, weights=False)
    assert unread.changes == [] and unread.notes[0].startswith("not all data was compared: tensor 'w': ")


def test_large_data_in_memory_and_in_fields_of_numbers_is_digested(tmp_path, monkeypatch):
    def model_of(last, name, packed):
        model = proto_of(OLD)
        tensor = model.graph.initializer.add(name="large", data_type=onnx.TensorProto.FLOAT, dims=[1 << 18])
        if packed:
            tensor.float_data.extend([0.0] * ((1 << 18) - 1) + [last])
        else:
            tensor.raw_data = np.array([0] * ((1 << 18) - 1) + [last], np.float32).tobytes()
        (tmp_path / name).write_bytes(model.SerializeToString())
        return tmp_path / name

    raw = [model_of(last, "raw.onnx", False).read_bytes() for last in (0, 1)]
    packed = [model_of(last, f"packed{last}.onnx", True) for last in (0, 1)]
    for one, other in ((raw[0], raw[1]), (packed[0], packed[1]), (raw[0], packed[1])):
        assert [each.places for each in compared(one, other).changes] == [["weight 'large'"]]
        assert compared(other, other).changes == []
    assert compared(raw[1], packed[1]).changes == []
    monkeypatch.setattr(digests, "_MAX_DECODED", 100)
    assert [each.places for each in compared(*packed).changes] == [["weight 'large'"]]
    assert compared(*packed).changes[0].details[0].before.startswith("sha256:encoded ")
    assert compared(packed[0], packed[0].read_bytes()).changes == []


def test_sparse_weights_and_metadata():
    old, new = proto_of(OLD), proto_of(OLD)
    for model, value in ((old, 1.0), (new, 2.0)):
        sparse = model.graph.sparse_initializer.add(dims=[4])
        sparse.values.CopyFrom(onnx.helper.make_tensor("sparse", 1, [1], [value]))
        sparse.indices.CopyFrom(onnx.helper.make_tensor("i", 7, [1], [2]))
    new.metadata_props.add(key="author", value="a\x1b[31m")
    new.producer_name = "maker"
    new.graph.node[0].doc_string = "stack"
    comparison = compared(old, new)
    assert [(each.kind, each.places[0], [part for part, *_ in each.details]) for each in comparison.changes] == [
        ("metadata", "the model", ["producer_name", "metadata 'author'"]),
        ("weight", "weight 'sparse'", ["values"]),
    ]
    assert comparison.annotated == 1
    assert comparison.changes[0].details[1].after == "a\\x1b[31m"


def test_indices_of_a_sparse_weight_are_compared_where_its_values_are_one_place(tmp_path):
    (tmp_path / "w.bin").write_bytes(bytes(4))
    paths = [tmp_path / "a.onnx", tmp_path / "b.onnx"]
    for index, path in enumerate(paths):
        model = proto_of(OLD)
        sparse = model.graph.sparse_initializer.add(dims=[4])
        sparse.values.MergeFrom(onnx.TensorProto(name="sparse", data_type=1, dims=[1], data_location=1))
        sparse.values.external_data.add(key="location", value="w.bin")
        sparse.indices.CopyFrom(onnx.helper.make_tensor("i", 7, [1], [index]))
        path.write_bytes(model.SerializeToString())
    (change,) = compared(*paths).changes
    assert change.places == ["weight 'sparse'"] and [each.part for each in change.details] == ["indices"]


def layered(layers, kind="Relu", gap=()):
    model = proto.ModelProto(ir_version=10)
    model.opset_import.add(version=21)
    graph, value = model.graph, "x"
    graph.input.add(name="x").type.tensor_type.elem_type = 1
    for number in range(layers):
        for name, op_type in (("act", "Abs" if number in gap else kind), ("norm", "Neg")):
            after = f"layers.{number}.{name}.out"
            graph.node.add(op_type=op_type, name=f"layers.{number}.{name}", input=[value], output=[after])
            value = after
    graph.output.add(name=value).type.tensor_type.elem_type = 1
    return model.SerializeToString()


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["a"], ["a"]),
        (["a1", "a1"], ["a1, x 2, to a1"]),
        (["a1b1", "a2b2"], ["a1b1, x 2: 1-2"]),
        (["a1b1", "a2b3"], ["a1b1, x 2, to a2b3"]),
        (["a1b1", "a1b2"], ["a1b1, x 2: 1-2"]),
        (["a5", "b1", "a3", "a4"], ["a5, x 3: 3-5", "b1"]),
        ([f"a{2 * number}" for number in range(6)], ["a0, x 6: 0, 2, 4, 6, 8, 10"]),
        ([f"a{2 * number}" for number in range(7)], ["a0, x 7, to a12"]),
        (["a" + "1" * 18, "a" + "2" * 18], [f"a{'1' * 18}, x 2: {'1' * 18}, {'2' * 18}"]),
        (["a" + "1" * 19, "a2"], [f"a{'1' * 19}, x 2, to a2"]),
    ],
)
def test_names_that_differ_in_a_number_are_one(names, shown):
    assert [*map(str, folding.fold_names(names))] == shown


def test_layers_are_one_change():
    comparison = compared(layered(24), layered(24, "Elu", gap={5}))
    assert [(each.count, each.numbers, each.places[0]) for each in comparison.changes] == [
        (23, "0-4, 6-23", "node 'layers.0.act' (Elu)"), (1, "", "node 'layers.5.act' (Abs)"),
    ]  # fmt: skip
    assert comparison.nodes.changed == 24 and comparison.nodes.same == 24
    fewer = compared(layered(24), layered(22))
    assert fewer.nodes.removed == 4 and fewer.nodes.same == 44


def test_the_work_is_in_proportion_to_nodes():
    counts = []
    for layers in (500, 2000):
        old, new = layered(layers), layered(layers, "Elu", gap={*range(0, layers, 3)})
        with lines(4_000_000) as counted:
            compared(old, new)
        counts.append(counted())
    assert counts[1] < 4.5 * counts[0]


@pytest.mark.parametrize("seed", range(draws(80)))
def test_random_edits_are_all_found_and_nothing_else(seed):
    """Whatever the names, a graph with nodes put in between is the old one and these nodes."""
    draw = random.Random(seed)
    old, new = proto.ModelProto(ir_version=10), proto.ModelProto(ir_version=10)
    added = 0
    for model in (old, new):
        model.opset_import.add(version=21)
        model.graph.input.add(name="x").type.tensor_type.elem_type = 1
    names = {"x": "x"}
    for number in range(draw.randint(1, 30)):
        kind = draw.choice(["Add", "Mul", "Sub"])
        inputs = [draw.choice([*names]) for _ in range(2)]
        old.graph.node.add(op_type=kind, input=inputs, output=[f"v{number}"])
        new.graph.node.add(op_type=kind, input=[names[name] for name in inputs], output=[f"w{number}"])
        names[f"v{number}"] = f"w{number}"
        if draw.random() < 0.2:
            new.graph.node.add(op_type="Identity", input=[f"w{number}"], output=[f"i{number}"])
            added += 1
            names[f"v{number}"] = f"i{number}"
    for model, value in ((old, f"v{number}"), (new, names[f"v{number}"])):
        model.graph.output.add(name=value).type.tensor_type.elem_type = 1
    comparison = compared(old.SerializeToString(), new.SerializeToString())
    assert comparison.nodes.added - comparison.nodes.removed == added
    assert compared(old.SerializeToString(), old.SerializeToString()).changes == []
    if not added:
        assert comparison.changes == []


class Tags(HTMLParser):
    """The elements of a page, and the text of its cells."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self.policy = [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if ("http-equiv", "Content-Security-Policy") in attributes:
            self.policy = dict(attributes)["content"]

    def handle_data(self, data):
        self.texts.append(data)


def test_the_page_escapes_everything_and_permits_its_style_alone():
    evil = "</td><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m\u202e"
    old, new = proto_of(OLD), proto_of(OLD)
    new.graph.node[0].name = evil
    new.graph.node[0].op_type = "Gemm"
    new.metadata_props.add(key=evil, value=evil)
    page = difference_page(evil, "b", opset.compare_models(old, new))
    read = Tags(page)
    assert not {"script", "img", "link", "iframe"} & set(read.tags)
    style = page.partition("<style>")[2].partition("</style>")[0]
    assert "default-src 'none'" in read.policy and "script" not in read.policy
    assert base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() in read.policy
    assert "light-dark(" in style
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", page)
    assert "~" in read.texts and " changed" in read.texts


def test_forms_of_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.onnxtxt").write_text(OLD)
    (tmp_path / "new.onnxtxt").write_text(OLD.replace("alpha = 0.1", "alpha = 0.2"))
    result = run("diff", "old.onnxtxt", "new.onnxtxt", "--report", "r.html")
    assert result.exit_code == 0
    assert (
        "  ~ node number 2 (LeakyRelu), graph 'm'\n      attribute 'alpha': 0.1 -> 0.2\n  wrote r.html\n"
        in result.stdout
    )
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert run("diff", "old.onnxtxt", "new.onnxtxt", "--format", "html").stdout == page
    assert run("diff", "old.onnxtxt", "new.onnxtxt", "--report", "r.html").exit_code == 0
    (tmp_path / "r.html").write_text("another")
    again = run("diff", "old.onnxtxt", "new.onnxtxt", "--report", "r.html")
    assert again.exit_code == 2 and "error[U102]" in again.stderr
    data = run_json("diff", "old.onnxtxt", "new.onnxtxt", "--report", "r.html", "--force")["structure"]
    assert data["nodes"]["changed"] == 1
    assert data["changes"] == [
        {"change": "changed", "kind": "node", "body": "graph 'm'", "places": ["node number 2 (LeakyRelu)"],
         "details": [{"part": "attribute 'alpha'", "before": "0.1", "after": "0.2"}]}
    ]  # fmt: skip
    assert run("diff", "Relu", "1", "14", "--format", "html").exit_code == 2
