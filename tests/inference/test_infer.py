"""What an inference tells of whole models: stated types, functions, scopes of names, gaps, and what is written."""

import re

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, parser

from opset import InferenceError, Model, ModelError, infer, infer_shapes
from opset.inference.building.dimensions import variable
from opset.inference.limits import MAX_RANK
from tests.bounds import draws

N = variable("N")


def model(body, head="main (float[N, 3] x) => (float[?, ?] y)", opset=17, ir=8, more=""):
    return parser.parse_model(f'<ir_version: {ir}, opset_import: ["": {opset}, "local": 1]> {head} {{ {body} }} {more}')


def shown(found, name):
    return str(found.type(name))


def test_a_constant_without_outputs_is_passed_over():
    made = model("c = Constant <value = float {1}> () y = Neg (x)")
    del made.graph.node[0].output[:]
    found = infer(made)
    assert (shown(found, "y"), found.findings) == ("float[N, 3]", ())


def test_sizes_are_carried_through_symbolically():
    found = infer(
        model(
            "a = Concat <axis = 0> (x, x)  s = Shape (a)  o = Constant <value_ints = [1]> ()"
            " t = Add (s, o)  y = Expand (o, t)",
            "main (float[N, 3] x) => (int64[?, ?] y)",
        )
    )
    assert [shown(found, name) for name in "asty"] == ["float[2*N, 3]", "int64[2]", "int64[2]", "int64[2*N + 1, 4]"]
    assert found.shape("y") == (2 * N + 1, 4)
    assert found.coverage == {"known": 3, "symbolic": 2, "rank": 0, "type": 0, "nothing": 0}
    assert found.findings == ()
    assert found.gaps == []


def test_how_much_is_known_of_each_output():
    """An output that is left out is none, and sizes without an element type are nothing."""
    found = infer(
        model(
            "a = local.Unknown (x)  s = Constant <value_ints = [3, 4]> ()  sized = Reshape (a, s)"
            " b, , c = local.Unknown (x)  t = Cast <to = 7> (a)  r = NonZero (a)  q = SequenceConstruct (x)"
            " y = Neg (x)",
            "main (float[N, 3] x) => (float[?, ?] y)",
        )
    )
    degrees = [(each.name, each.operator, each.coverage) for each in found.values()]
    assert degrees == [
        ("a", "Unknown", "nothing"), ("s", "Constant", "known"), ("sized", "Reshape", "nothing"),
        ("b", "Unknown", "nothing"), ("c", "Unknown", "nothing"), ("t", "Cast", "type"), ("r", "NonZero", "symbolic"),
        ("q", "SequenceConstruct", "symbolic"), ("y", "Neg", "symbolic"),
    ]  # fmt: skip
    assert found.coverage == {"known": 1, "symbolic": 3, "rank": 0, "type": 1, "nothing": 4}
    assert {each.place for each in found.values() if each.name in "bc"} == {"graph 'main', node number 3 (Unknown)"}


def test_the_usual_chain_of_an_exporter_resolves_to_names():
    body = """
        s = Shape (x)  zero = Constant <value_int = 0> ()  b = Gather (s, zero)  axes = Constant <value_ints = [0]> ()
        u = Unsqueeze (b, axes)  rest = Constant <value_ints = [-1, 1]> ()  to = Concat <axis = 0> (u, rest)
        y = Reshape (x, to)"""
    found = infer(model(body))
    assert shown(found, "y") == "float[N, 3, 1]"
    unfollowed = infer(model(body), data_prop=False)
    assert unfollowed.type("y").shape is not None
    assert shown(unfollowed, "y") != shown(found, "y")
    whole = model(body, "main (float[N, 3] x) => (float[?, ?, ?] y)")
    written = [infer_shapes(whole, data_prop=given).graph.output[0].type.tensor_type for given in (True, False)]
    names = [[dim.dim_param for dim in each.shape.dim] for each in written]
    assert names[0] == ["N", "", ""] != names[1]
    assert infer_shapes(whole) == infer_shapes(whole, data_prop=False)


def test_the_greater_of_a_number_and_of_none_is_none():
    proto = model(
        "o = Constant <value_floats = [1.0]> ()  n = Constant <value_floats = [2.0]> ()  m = Max (o, n)"
        " s = Cast <to = 7> (m)  y = ConstantOfShape (s)",
        "main (float x) => (float[?] y)",
    )
    assert shown(infer(proto), "y") == "float[2]"
    proto.graph.node[1].attribute[0].floats[0] = float("nan")
    assert shown(infer(proto), "y") == "float[y_d0]"


NEGATIVE = """s = Shape <start = 0, end = 1> (x)  one = Constant <value_ints = [1]> ()  two = Add (s, one)
    none = Neg (two)"""


def test_a_size_that_is_always_negative_can_only_be_that_of_the_rest():
    found = infer(model(f"{NEGATIVE} y = Reshape (x, none)", "main (float[N, 3] x) => (float[?] y)"))
    assert (shown(found, "y"), found.findings) == ("float[3*N]", ())
    (finding,) = infer(model(f"{NEGATIVE} both = Concat <axis = 0> (none, none) y = Reshape (x, both)")).findings
    assert finding.why == "C1: shape [-1, -1]"


def test_no_output_has_a_size_that_is_always_negative():
    (finding,) = infer(model(f"{NEGATIVE} y = ConstantOfShape (none)")).findings
    assert (finding.code, finding.place) == ("I201", "graph 'main', node number 4 (ConstantOfShape)")


def test_variables_are_bound_to_numbers():
    found = infer(model("y = Concat <axis = 0> (x, x)"), dims={"N": 4})
    assert shown(found, "y") == "float[8, 3]"
    written = found.written().proto
    assert [dim.dim_value for dim in written.graph.input[0].type.tensor_type.shape.dim] == [4, 3]


def test_sizes_that_data_decides_have_stable_names():
    proto = model("a = NonZero (x)  y = Cast <to = 1> (a)")
    assert shown(infer(proto), "y") == "float[2, a_d1]"
    assert shown(infer(proto), "y") == shown(infer(proto), "y")
    assert shown(infer(proto, dims={"a_d1": 5}), "y") == "float[2, 5]"


def test_sizes_that_data_decides_have_names_in_branches_too():
    """A branch runs once, so that its sizes have one value each."""
    text = """y = If (c) <then_branch = t () => (a) { d = NonZero (x)  a = Neg (d) },
                          else_branch = e () => (b) { e = Shape (x)  b = NonZero (e) }>"""
    branches = [
        each.g for each in infer_shapes(model(text, "main (float[N] x, bool c) => (y)")).graph.node[0].attribute
    ]
    assert [[each.name for each in branch.value_info] for branch in branches] == [["d"], ["e"]]
    branch = branches[0]
    shapes = {each.name: each.type.tensor_type.shape.dim for each in (*branch.value_info, *branch.output)}
    assert [(name, shapes[name][0].dim_value, shapes[name][1].dim_param) for name in "da"] == [
        ("d", 1, "d_d1"),
        ("a", 1, "d_d1"),
    ]


def test_values_whose_names_differ_in_signs_alone_have_sizes_of_other_names():
    proto = model("a_b = NonZero (x)  c = NonZero (x)  y = Concat <axis = 1> (a_b, c)")
    proto.graph.node[1].output[0] = proto.graph.node[2].input[1] = "a.b"
    assert shown(infer(proto), "y") == "int64[2, a_b_d1 + a_b_d1_1]"


def test_names_of_ours_are_none_of_the_models():
    proto = model("a = NonZero (x)  y = Cast <to = 1> (a)", "main (float[a_d1, 3] x) => (float[?, ?] y)")
    assert shown(infer(proto), "y") == "float[2, a_d1_1]"


def test_unknown_sizes_of_an_input_are_the_same_wherever_they_are():
    proto = model("a = Relu (x)  b = Add (a, x)  y = Concat <axis = 1> (b, x)", "main (float[?, 3] x) => (float y)")
    found = infer(proto)
    assert shown(found, "b") == "float[x_d0, 3]"
    assert [finding.code for finding in found.findings] == ["I101"]  # the output is stated to be a scalar


def test_a_stated_expression_is_read_as_what_it_says():
    found = infer(
        model("y = Concat <axis = 0> (x, z)", 'main (float["past + 1", 3] x, float["past", 3] z) => (float[?, ?] y)')
    )
    assert shown(found, "y") == "float[2*past + 1, 3]"
    opaque = infer(model("y = Relu (x)", 'main (float["batch-size", 3] x) => (float[?, ?] y)'))
    assert shown(opaque, "y") == "float[batch-size, 3]"


def test_the_variables_are_those_that_expressions_hold_and_that_are_not_bound():
    head = 'main (float["past + 1", 3] x, float["past", 3] z) => (float[?, ?] y)'
    proto = model("y = Concat <axis = 0> (x, z)", head)
    for dims, left, told in (
        ({}, {"past"}, "float[2*past + 1, 3]"),
        ({"past": 4}, set(), "float[9, 3]"),
        ({"past + 1": 5}, set(), "float[9, 3]"),
    ):
        found = infer(proto, dims=dims)
        assert (found.variables, shown(found, "y")) == (left, told)


def test_an_attribute_of_a_call_reaches_graphs_inside_of_the_body():
    text = """<ir_version: 10, opset_import: ["": 17, "d": 1]>
        g (float[2, 3] x, bool c) => (y) { y = d.F <k = 1> (x, c) }
        <domain: "d", opset_import: ["": 17]> F <k> (a, c) => (b) { b = If (c) <
            then_branch = t () => (p) { p = Concat <axis: int = @k> (a, a) },
            else_branch = e () => (q) { r = Relu (a) q = Concat <axis: int = @k> (r, a) }> }"""
    assert shown(infer(parser.parse_model(text)), "y") == "float[2, 6]"
    assert shown(infer(parser.parse_model(text.replace("k = 1", "k = 0"))), "y") == "float[4, 3]"


STALE = ("t = Transpose (x)  y = Relu (t)", "main (float[2, 3] x) => (float[?, ?] y) <float[2, 3] t>")


def test_a_derivative_by_a_value_of_unknown_type_has_no_known_type():
    text = """<ir_version: 8, opset_import: ["": 17, "own": 1, "ai.onnx.preview.training": 1]>
        g (float[2] x) => (float[2] d, e) {
            u = own.Unknown (x)
            y = Mul (x, x)
            d, e = ai.onnx.preview.training.Gradient <xs = ["x", "u"], y = "y"> (x, u)
        }"""
    found = infer(parser.parse_model(text))
    assert not found.findings and str(found.type("d")) == "float[2]" and found.type("e").element is None


def test_stale_value_info_is_told_with_both_sides():
    found = infer(model(*STALE))
    (finding,) = found.findings
    assert finding.code == "I101"
    assert finding.place == "graph 'main', node number 0 (Transpose)"
    assert finding.why == "float[2, 3] is stated, float[3, 2] is inferred"
    assert shown(found, "y") == "float[3, 2]"
    assert found.written().proto.graph.value_info[0].type.tensor_type.shape.dim[0].dim_value == 2


def test_types_that_bodies_state_of_what_is_around_them_are_compared():
    body = """m = Constant <value_int = 2> ()  on = Constant <value = bool {1}> ()  a = Relu (x)
        y = Loop (m, on, x) <body = b (int64 i, bool go, float[2, 3] s) => (bool c, float[2, 3] t)
            <float[4, 3] a, float[2, 3] x, float[9] nothing> { c = Identity (go)  t = Add (s, a) }>"""
    (finding,) = infer(model(body, "main (float[2, 3] x) => (float[2, 3] y)")).findings
    assert (finding.code, finding.message, finding.place, finding.why, finding.help) == (
        "I101",
        "the stated type of 'a' contradicts what is inferred",
        "graph 'main', node number 3 (Loop), body",
        "float[4, 3] is stated, float[2, 3] is inferred",
        "correct or remove the stated type, or replace it: --overwrite",
    )


def test_types_that_a_function_states_of_its_inputs_are_compared():
    function = """<opset_import: ["": 17], domain: "local"> F (u) => (v) <float[9] u, float[5] w, float[7] v> {
        w = Neg (u)  v = Abs (w) }"""
    found = infer(model("y = local.F (x)", "main (float[2, 3] x) => (float[2, 3] y)", more=function)).findings
    assert [(each.code, each.place, each.why) for each in found] == [
        ("I101", "function 'local.F'", "float[9] is stated, float[2, 3] is inferred"),
        ("I101", "function 'local.F', node number 0 (Neg)", "float[5] is stated, float[2, 3] is inferred"),
        ("I101", "function 'local.F', node number 1 (Abs)", "float[7] is stated, float[2, 3] is inferred"),
    ]


def test_stale_value_info_is_replaced_when_asked():
    found = infer(model(*STALE), overwrite=True)
    assert found.findings == ()
    assert found.written(overwrite=True).proto.graph.value_info[0].type.tensor_type.shape.dim[0].dim_value == 3


def test_outputs_are_replaced_with_value_info():
    proto = model("y = Transpose (x)", "main (float[2, 3] x) => (float[2, 3] y)")
    assert len(infer(proto).findings) == 1
    found = infer(proto, overwrite=True)
    assert found.findings == ()
    output = found.written(overwrite=True).proto.graph.output[0].type
    assert [dim.dim_value for dim in output.tensor_type.shape.dim] == [3, 2]


def test_what_functions_state_is_replaced():
    function = """<domain: "local", opset_import: ["": 17]> Turned (a, c) => (b)
        <float[7] t, int64[2, 3] u, float[M, 9] w, float[2, 3] never> {
            t = Transpose (a)  u = Relu (t)  w = Identity (u)
            b = If (c) <then_branch = t () => (float[9] d) { d = Neg (w) },
                        else_branch = e () => (float[M, 2] f) { f = Relu (w) }> }"""
    head = "main (float[2, 3] x, float[2, N] z, bool c) => (float[?, ?] y)"
    proto = model("v = local.Turned (z, c)  y = local.Turned (x, c)", head, more=function)
    before = proto.functions[0].SerializeToString()
    assert infer(proto).findings
    assert infer(proto).written().proto.functions[0].SerializeToString() == before
    written = infer(proto, overwrite=True).written(True)
    assert infer(written).findings == ()
    assert infer(written, overwrite=True).written(True).proto == written.proto
    shapes = {
        value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in written.proto.functions[0].value_info
    }
    assert shapes == {"t": [0, 2], "u": [0, 2], "w": [0, 2], "never": [2, 3]}
    branches = [each.g.output[0] for each in written.proto.functions[0].node[-1].attribute]
    shapes = {value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in branches}
    assert shapes == {"d": [0, 2], "f": [0, 2]}


def test_graphs_of_functions_that_inference_does_not_enter_keep_what_they_state():
    function = """<domain: "local", opset_import: ["": 17, "local": 1]> Turned (a) => (b) <float[7] b> {
        u = local.What <body = t () => (d) <float[7] e> { e = Neg (a)  d = Relu (e) }> (a)  b = Neg (a) }"""
    proto = model("y = local.Turned (x)", "main (float[2, 3] x) => (float[?, ?] y)", more=function)
    written = infer(proto, overwrite=True).written(True).proto.functions[0]
    entered, left = written.value_info[0], written.node[0].attribute[0].g.value_info[0]
    assert [[dim.dim_value for dim in each.type.tensor_type.shape.dim] for each in (entered, left)] == [[2, 3], [7]]


@pytest.mark.parametrize("first", [2, 3])
def test_a_size_that_some_call_contradicts_is_left_open_in_the_function(first):
    function = (
        """<domain: "local", opset_import: ["": 17]> Turned (a) => (b) <float[3] t> { t = Neg (a)  b = Neg (t) }"""
    )
    head = f"main (float[{first}] x, float[{5 - first}] z) => (float[?] y, float[?] w)"
    found = infer(model("y = local.Turned (x)  w = local.Turned (z)", head, more=function), overwrite=True)
    (dim,) = found.written(True).proto.functions[0].value_info[0].type.tensor_type.shape.dim
    assert not dim.dim_value and not infer(found.written(True)).findings


def test_functions_that_nothing_calls_and_their_inputs_keep_what_they_state():
    body = "(a) => (b) <float[7] a, float[7] t> { t = Neg (a)  b = Neg (t) }"
    functions = "".join(f'<domain: "local", opset_import: ["": 17]> {name} {body}' for name in ("Called", "Uncalled"))
    proto = model("y = local.Called (x)", "main (float[3] x) => (float[?] y)", more=functions)
    written = infer(proto, overwrite=True).written(True).proto
    sizes = [
        [value.type.tensor_type.shape.dim[0].dim_value for value in function.value_info]
        for function in written.functions
    ]
    assert sizes == [[7, 3], [7, 7]]


@pytest.mark.parametrize(("stated", "kept"), [("3", True), ("7", False)])
def test_a_type_that_some_call_contradicts_goes_if_another_call_has_none(stated, kept):
    function = """<domain: "local", opset_import: ["": 17]> F (a) => (b) <float[%s] t> { t = Neg (a)  b = Neg (t) }"""
    head = "main (float[3] x) => (float[?] y, w)"
    proto = model("y = local.F (x)  u = local.What (x)  w = local.F (u)", head, more=function % stated)
    value = infer(proto, overwrite=True).written(True).proto.functions[0].value_info[0]
    assert value.HasField("type") is value.type.HasField("tensor_type") is kept
    assert [each.dim_value for each in value.type.tensor_type.shape.dim] == [3] * kept


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ("Conv <strides = [1, 1]> (x, w)", "float[?, ?, ?, ?]"), ("Conv <dilations = [1]> (x, w)", "float[?, ?, ?]"),
        ("Conv <pads = [0, 0, 0, 0]> (x, w)", "float[?, ?, ?, ?]"),
        ("Conv <kernel_shape = [1]> (x, w)", "float[?, ?, ?]"),
        ("Conv (x, w)", "float"), ("CenterCropPad (x, s)", "float[4, 5]"), ("CenterCropPad (x, r)", "float[?, ?]"),
        ("CenterCropPad <axes = [0, 1]> (x, s)", "float"), ("CenterCropPad (x, q)", "float"),
        ('Einsum <equation = "...i->..."> (x)', "float"), ('Einsum <equation = "i...,...->i"> (x, w)', "float"),
        ('Einsum <equation = "ij,jk->jk"> (x, t)', "float[2, 1]"),
        ('Einsum <equation = "ij,kj->jk"> (x, t)', "float[?, 2]"),
        ('NegativeLogLikelihoodLoss <reduction = "none"> (x, q)', "float"),
        ('NegativeLogLikelihoodLoss <reduction = "sum"> (x, q)', "float[]"),
        ("ScatterND (x, i, u)", "float[?, 7]"), ("ScatterND (x, i, v)", "float"), ("ScatterND (x, j, u)", "float"),
        ("ScatterND (x, l, u)", "float"),
        ("GatherElements (x, q)", "float"), ("GatherElements (t, q)", "float[?, ?]"),
        ("GatherElements (x, i)", "float[2, 3, 1]"),
        ("GatherND (x, i)", "float"), ("GatherND (v, k)", "float[3]"), ("GatherND (t, k)", "float"),
        ('Resize (x, , , s)', "float[4, 5]"), ('Resize (x, , , r)', "float[?, ?]"), ('Resize (x, , , q)', "float"),
        ('Resize <axes = [0, 1]> (x, , , s)', "float"), ('Resize (x, , v)', "float[?, ?]"),
        ("Pad (x, s)", "float[?]"), ("Pad (x, r)", "float[?]"), ("Pad (x, q)", "float"), ("Pad (x, s, , q)", "float"),
    ],
)  # fmt: skip
def test_what_is_known_of_an_input_without_a_rank(node, expected):
    more = "int64[2, 3, 1] i, int64[2, 3, 65] j, float[2, 3, 7] u, float[2] v, float[2, 1] t"
    more += f", int64[2, 3, {2**62}] l, int64[3, K] k"
    head = f"main (float[] x, float[] w, int64[2] r, int64[] q, {more}) => (float[] y) <int64[2] s = {{4, 5}}>"
    found = infer(model(f"y = {node}", head, opset=18))
    assert re.sub(r"y_d\d", "?", str(found.type("y"))) == expected
    assert [each.code for each in found.findings] == ["I201"] * ('"i...,...->i"' in node)  # it may lack dimensions


@pytest.mark.parametrize(
    ("node", "codes"), [("elsewhere.What (x)", []), ("Reshape (x, s)", []), ("Relu (x)", ["I101"])]
)
def test_a_stated_shape_of_more_sizes_than_numpy_has_is_unknown(node, codes):
    proto = model(f"y = {node}", "main (float[N, 3] x, int64[] s) => (float[] y)")
    for _ in range(MAX_RANK + 1):
        proto.graph.output[0].type.tensor_type.shape.dim.add(dim_value=1)
    found = infer(proto)
    assert [each.code for each in found.findings] == codes
    assert shown(found, "y") == ("float[N, 3]" if codes else "float")


def test_a_stated_shape_of_as_many_sizes_as_are_compared_agrees_with_the_same_shape():
    shape = [1] * MAX_RANK
    found = infer(model(f"y = Reshape <shape = {shape}> (x)", f"main (float[1] x) => (float{shape} y)", opset=1))
    assert not found.findings and found.type("y").shape == tuple(shape)


@pytest.mark.parametrize(("most", "known"), [(MAX_RANK, True), (MAX_RANK + 1, False)])
def test_shapes_of_more_sizes_than_numpy_has_are_not_followed(most, known):
    for node, opset in (
        (f"Reshape <shape = {[1] * most}> (x)", 1),
        (f"Unsqueeze <axes = {[*range(most - 1)]}> (x)", 11),
        (f"Unsqueeze <axes = {[*range(-most, -1)]}> (x)", 11),
    ):
        found = infer(model(f"y = {node}", "main (float[1] x) => (float[] y)", opset=opset)).type("y")
        assert (found.shape == (1,) * most) is known and (found.shape is None) is not known


def test_a_call_decides_some_of_the_attributes_of_a_node_whose_others_are_the_same():
    """What was found of one call is not taken for another."""
    function = """<domain: "local", opset_import: ["": 11]> Total <over> (a) => (b) {
        b = ReduceSum <keepdims = 0, axes: ints = @over> (a) }"""
    body = "y = local.Total <over = [0]> (x)  z = local.Total <over = [1]> (x)  w = local.Total <over = [0, 1]> (x)"
    found = infer(model(body, "main (float[2, 3] x) => (float[?] y)", opset=11, more=function))
    assert [str(found.type(name)) for name in "yzw"] == ["float[3]", "float[2]", "float[]"]


def test_variables_that_a_function_states_are_not_those_of_its_callers():
    function = """<domain: "local", opset_import: ["": 17]> Hits (a) => (b)
        <int64[2, N] n> { n = NonZero (a)  b = Cast <to = 1> (n) }"""
    head = "main (float[N, 3] x, float[M, 3] z) => (float[?, ?] y, float[?, ?] w)"
    found = infer(model("y = local.Hits (x)  w = local.Hits (z)", head, more=function))
    assert (shown(found, "y"), shown(found, "w")) == ("float[2, y_d1]", "float[2, w_d1]")


def test_calls_that_differ_in_names_of_variables_alone_are_inferred_once():
    function = """<domain: "local", opset_import: ["": 17]> F (a, b) => (c, d) {
        c = Concat <axis = 0> (a, a, b)  d = Neg (b) }"""
    head = "main (float[N, 3] x, float[M, 3] z) => (float[?, ?] y, float[?, ?] w)"
    found = infer(model("y, q = local.F (x, z)  w, r = local.F (z, x)  u, v = local.F (x, z)", head, more=function))
    assert [shown(found, name) for name in "yqwruv"] == [
        "float[M + 2*N, 3]", "float[M, 3]", "float[2*M + N, 3]", "float[N, 3]", "float[M + 2*N, 3]", "float[M, 3]",
    ]  # fmt: skip
    assert len([*found._engine.calls.all_scopes()]) == 1


def test_strict_mode_raises():
    with pytest.raises(InferenceError) as caught:
        infer_shapes(model(*STALE), strict_mode=True)
    assert caught.value.code == "I101"
    assert infer_shapes(model(*STALE)).graph.output[0].type.tensor_type.shape.dim[0].dim_value == 3


def test_all_that_does_not_fit_is_told_at_once():
    proto = model(
        "a = MatMul (x, x)  b = Transpose <perm = [0, 0]> (x)  y = Add (a, b)",
        "main (float[2, 3] x) => (float[?, ?] y)",
    )
    with pytest.raises(InferenceError) as caught:
        infer_shapes(proto, strict_mode=True)
    assert [finding.code for finding in caught.value.findings] == ["I201", "I201"]
    assert infer_shapes(proto) is not None


@pytest.mark.parametrize("count", [3, 5000])
def test_an_attribute_that_the_operator_lacks_is_a_warning_beside_a_large_table_too(count):
    keys = ", ".join(map(str, range(count)))
    body = f"y = ai.onnx.ml.LabelEncoder <keys_int64s = [{keys}], values_int64s = [{keys}], nonesuch = 1> (x)"
    text = f"""<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 4]> g (int64[2] x) => (int64[2] y) {{ {body} }}"""
    (warning,) = infer(parser.parse_model(text)).notes
    assert warning.startswith("graph 'g', node number 0 (LabelEncoder): ") and "'nonesuch'" in warning


def test_no_more_than_twenty_nodes_with_warnings_are_listed():
    for count, last in ((20, "graph 'main', node number 19 (Gelu): "), (23, "3 more such nodes")):
        nodes = " ".join(f't{at} = Gelu <approximate = "none", odd = 1> (x)' for at in range(count))
        found = infer(model(f"{nodes} y = Neg (t0)", opset=20)).notes
        assert len(found) == min(count, 21) and found[-1].startswith(last)
        assert found[0].startswith("graph 'main', node number 0 (Gelu): ")


def test_an_attribute_that_is_missing_or_internal_is_no_warning():
    assert infer(model("c = Cast <odd = 1, __mine = 2> (x)  y = Neg (x)")).notes == [
        "graph 'main', node number 0 (Cast): there is no attribute 'odd': Cast 13 has none of this name"
    ]


def test_types_are_checked_when_asked():
    proto = model("y = Sqrt (x)", "main (int64[2] x) => (int64[2] y)")
    assert infer(proto).findings == ()
    (finding,) = infer(proto, check_type=True).findings
    assert (finding.code, finding.message) == ("I202", "the input 'X' cannot be tensor(int64)")
    with pytest.raises(InferenceError):
        infer_shapes(proto, check_type=True)
    two = model("y = Add (x, z)", "main (int64[2] x, float[2] z) => (int64[2] y)")
    constants = "y = Constant <value = bfloat16[1] {1}> ()  z = Constant <value = bfloat16[1] {1}> ()"
    found = infer(model(constants, "main () => (y, z)", opset=9), check_type=True).findings
    assert [(each.code, each.place) for each in found] == [
        ("I202", f"graph 'main', node number {number} (Constant)") for number in (0, 1)
    ]
    assert [finding.code for finding in infer(two, check_type=True).findings] == ["I202"]


def test_calls_that_give_an_attribute_beside_a_stated_one_are_inferred_apart():
    proto = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17, "f": 1]> m (float[2, 3] x) => (y, z) {
        y = f.G <axes = [0]> (x)  z = f.G <axes = [1]> (x) }
    <domain: "f", opset_import: ["": 17]> G <axes> (a) => (b) {
        b = ReduceMax <axes: ints = @axes, keepdims = 0> (a) }""")
    found = infer(proto)
    assert (found.shape("y"), found.shape("z")) == ((3,), (2,))


def test_what_is_not_known_is_told_where_it_begins():
    proto = model("a = local.What (x)  b = Relu (a)  c = Cast <to = 1> (b)  y = Add (c, x)")
    found = infer(proto)
    (gap,) = found.gaps
    assert (gap.value, gap.known) == ("a", "nothing")
    assert gap.reason == "there are no schemas of the domain local"


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        ("y = ConstantOfShape (k)", "the number of sizes is not known"),
        ("y = Squeeze (x)", "there are no axes, and N may be 1"),
        ("y = Einsum (v, v)", "the equation is not known"),
        (
            "s = SequenceConstruct (x)  y = SequenceInsert (s, v)",
            "the tensors differ in rank, or that of one is not known",
        ),
    ],
)
def test_what_an_operator_leaves_open_is_told(node, reason):
    proto = model(node, "main (float[N, 3] x, float[4] v, int64[K] k) => (float y)")
    proto.graph.output[0].ClearField("type")
    found = infer(proto)
    assert [(gap.value, gap.reason) for gap in found.gaps] == [("y", reason)]


def test_types_are_written_after_one_that_has_no_element_type():
    inputs = "main (float[2, 3] x, float[4] z) => (float[4] y)"
    proto = model("t = Transpose (x)  a = Transpose (t)  u = Relu (z)  y = Neg (u)", inputs)
    proto.graph.input[0].type.tensor_type.elem_type = 0
    assert [value.name for value in infer_shapes(proto).graph.value_info] == ["u"]
    inputs = inputs.replace("float[2, 3] x", "seq(float) x")
    proto = model("t = Identity (x)  u = Relu (z)  y = Neg (u)", inputs)
    proto.graph.input[0].type.sequence_type.ClearField("elem_type")
    assert [value.name for value in infer_shapes(proto).graph.value_info] == ["u"]


@pytest.mark.parametrize("given", ["no element type", "no type", "no name"])
def test_types_are_written_after_an_output_of_the_same_node_that_is_left_out(given):
    proto = model(
        "a = Transpose (x)  v, i = TopK (a, k)  y = Neg (z)",
        "main (float[2, 3] x, int64[1] k, float[4] z) => (float[4] y)",
    )
    if given == "no element type":
        proto.graph.input[0].type.tensor_type.elem_type = 0
    elif given == "no type":
        proto.graph.node[0].domain = "elsewhere"
    else:
        proto.graph.node[1].output[0] = ""
    written = infer_shapes(proto).graph.value_info
    assert {each.name: each.type.tensor_type.elem_type for each in written} == (
        {"a": TensorProto.FLOAT, "i": TensorProto.INT64} if given == "no name" else {"i": TensorProto.INT64}
    )


@pytest.mark.parametrize(
    ("node", "given", "name"),
    [
        ("y = Tile (x, s)", "int64[1, 2] s = {3, 2}", "repeats"),
        ("y = Squeeze (x, s)", "int64[1, 1] s = {0}", "axes"),
        ("y = Unsqueeze (x, s)", "int64[1, 1] s = {0}", "axes"),
        ("y = Pad (x, s)", "int64[1, 4] s = {0, 0, 0, 0}", "pads"),
        ("y = Split (x, s)", "int64[1, 1] s = {2}", "split"),
        ("y = ConstantOfShape (s)", "float[2] s = {1.0, 2.0}", "input"),
        ("y = Tile (x, s)", "int64[2] s = {3, 2}", ""),
    ],
)
def test_sizes_are_a_list_of_integers(node, given, name):
    found = infer(model(node, f"main (float[2, 3] x) => (y) <{given}>"), check_type=False)
    assert [each.why for each in found.findings] == [f"{name} is no list of integers"] * bool(name)


def test_a_gap_is_where_the_inputs_do_not_explain_it_or_something_is_wrong():
    nodes = """a = local.What (x)  b = Relu (a)  d = Transpose <perm = [0, 0]> (a)  e = local.Why (x)
        y = If (c) <then_branch = t () => (f) <float[7] g> { g = Transpose (x)  f = Relu (g) },
                    else_branch = e () => (h) { h = Neg (x) }>"""
    found = infer(model(nodes, "main (float[2, 3] x, bool c) => (float[?, ?] y)"))
    assert [(gap.value, gap.known, gap.reason) for gap in found.gaps] == [
        ("a", "nothing", "there are no schemas of the domain local"),
        ("d", "nothing", "C1: perm [0, 0]"),
        ("e", "nothing", "there are no schemas of the domain local"),
        ("g", "known", "float[7] is stated, float[3, 2] is inferred"),
    ]


def test_an_input_that_is_left_out_explains_no_gap_and_a_graph_that_never_runs_has_none():
    nodes = """k = Constant <value = bool {1}> ()  a, , b = local.What (x, , x)
        y = If (k) <then_branch = t () => (f) { f = Relu (x) }, else_branch = e () => (h) { h = local.Why (x) }>"""
    assert [gap.value for gap in infer(model(nodes)).gaps] == ["a", "b"]


def test_signatures_tell_types_of_inputs_back_to_the_first_node_on_each_way():
    nodes = "a = local.What (z)  b = Relu (a)  c = Relu (x)  y = Sum (b, c, z)"
    untyped = model(nodes, "main (float[2] x, float[2] z) => (y)")
    untyped.graph.input[0].ClearField("type")
    found = infer(untyped)
    assert [shown(found, name) for name in "abc"] == ["float", "float", "float"]


FUNCTION = """
    <domain: "local", opset_import: ["": 17, "local": 1]> Twice (a) => (b) { b = Concat <axis = 0> (a, a) }
    <domain: "local", opset_import: ["": 17, "local": 1]> Four <times> (a) => (b) {
        t = local.Twice (a)  k = Constant <value_int: int = @times> ()  s = Shape (t)  m = Mul (s, k)  b = Expand (t, m)
    }"""


def test_functions_are_inferred_through_their_bodies():
    found = infer(model("a = local.Twice (x)  y = local.Twice (a)", more=FUNCTION))
    assert shown(found, "y") == "float[4*N, 3]"
    assert {value.name for value in found.values()} == {"a", "y", "b"}


def test_calls_that_differ_in_names_alone_are_inferred_once():
    head = "main (float[N, 3] x, float[M, 3] z) => (float[?, ?] y, float[?, ?] w)"
    found = infer(model("y = local.Twice (x)  w = local.Twice (z)", head, more=FUNCTION))
    assert (shown(found, "y"), shown(found, "w")) == ("float[2*N, 3]", "float[2*M, 3]")


def test_sizes_that_a_function_computes_are_those_of_each_call():
    shape = """<domain: "local", opset_import: ["": 17]> F (a) => (b) { b = Shape (a) }"""
    head = "main (float[N, 3] x, float[M, 3] z) => (float[?, ?] y, float[?, ?] w)"
    nodes = "s = local.F (x)  t = local.F (z)  y = ConstantOfShape (s)  w = ConstantOfShape (t)"
    found = infer(model(nodes, head, more=shape))
    assert (shown(found, "y"), shown(found, "w")) == ("float[N, 3]", "float[M, 3]")


@pytest.mark.parametrize(("size", "known"), [("N{}", 300), ("{}", None)])
def test_a_large_body_is_inferred_once_for_calls_that_differ_in_names_alone(size, known):
    """Inferring it for each call would exceed what is allowed; that it does for calls of different sizes proves it."""
    body = " ".join(f"v{number + 1} = Relu (v{number})" for number in range(1000))
    function = f'<domain: "local", opset_import: ["": 17]> Long (v0) => (v1000) {{ {body} }}'
    inputs = ", ".join(f"float[{size.format(number + 1)}] x{number}" for number in range(300))
    calls = " ".join(f"y{number} = local.Long (x{number})" for number in range(300))
    found = infer(model(calls, f"main ({inputs}) => (float[?] y299)", more=function))
    types = [str(found.type(f"y{number}")) for number in range(300)]
    expected = [f"float[{size.format(number + 1)}]" for number in range(300)]
    right = sum(have == want for have, want in zip(types, expected, strict=True))
    assert right == known if known else 0 < right < 300


def test_values_with_one_variable_in_two_places_are_another_signature():
    function = '<domain: "local", opset_import: ["": 17]> Sum (a, b) => (c) { c = Add (a, b) }'
    head = "main (float[N] x, float[M] z) => (float[?] y, float[?] w)"
    found = infer(model("y = local.Sum (x, x)  w = local.Sum (x, z)", head, more=function))
    assert (shown(found, "y"), shown(found, "w")) == ("float[N]", "float[broadcast(M, N)]")


def test_a_call_whose_names_make_a_size_too_long_gives_it_a_name():
    """The first call has short names, so that its sizes are followed; those of the second would be too long."""
    short, long = ([f"{letter}{number}" for number in range(20)] for letter in ("a", "b" * 70))
    function = """<domain: "local", opset_import: ["": 17]> Total (p) => (r) {
        s = Shape (p)  axes = Constant <value_ints = [0]> ()  t = ReduceSum (s, axes)  r = ConstantOfShape (t) }"""
    head = f"main (float[{', '.join(short)}] x, float[{', '.join(long)}] z) => (float[?] y, float[?] w)"
    found = infer(model("y = local.Total (x)  w = local.Total (z)", head, more=function))
    assert set(shown(found, "y")[6:-1].split(" + ")) == set(short)
    assert shown(found, "w") == "float[w_d0]"


def test_attributes_of_a_call_reach_the_body():
    found = infer(model("a = local.Four <times = 1> (x)  y = Relu (a)", more=FUNCTION))
    assert shown(found, "y") == "float[2*N, 3]"


@pytest.mark.parametrize(("node", "codes"), [("Constant <value = @a> ()", ["I201"]), ("Relu <alpha = @a> (x)", [])])
def test_an_attribute_that_refers_to_a_call_has_no_value_where_there_is_none(node, codes):
    proto = model(f"y = {node.replace('@a', '0')}", "main (float[N, 3] x) => (float[] y)")
    (attribute,) = proto.graph.node[0].attribute
    attribute.ClearField("i")
    attribute.ref_attr_name = "a"
    assert [each.code for each in infer(proto).findings] == codes


def test_a_map_whose_values_have_no_type_gives_none():
    body = 'y = ai.onnx.ml.DictVectorizer <string_vocabulary = ["a", "b"]> (x)'
    text = f'<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 3]> main (map(string, float) x) => (y) {{ {body} }}'
    proto = parser.parse_model(text)
    assert shown(infer(proto), "y") == "float[1, 2]"
    proto.graph.input[0].type.map_type.ClearField("value_type")
    assert shown(infer(proto), "y") == "?[1, 2]"


def test_an_initializer_that_a_caller_may_override_is_no_constant():
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "s"], ["y"])],
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4]),
            helper.make_tensor_value_info("s", TensorProto.INT64, [2]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [helper.make_tensor("s", TensorProto.INT64, [2], [4, -1])],
    )
    for ir, expected in ((3, "float[4, N]"), (8, "float[y_d0, y_d1]")):
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=ir)
        assert shown(infer(made), "y") == expected


def test_what_is_written_is_read_again_and_nothing_else_is_touched():
    proto = model("a = NonZero (x)  b = Cast <to = 1> (a)  y = Relu (b)", "main (float[N, 3] x) => (float[2, K] y)")
    proto.metadata_props.add(key="k", value="v")
    proto.graph.output[0].type.denotation = "TENSOR"
    proto.graph.output[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    once = infer_shapes(proto)
    assert isinstance(once, onnx.ModelProto)
    assert infer_shapes(once) == once
    stripped = onnx.ModelProto()
    stripped.CopyFrom(once)
    del stripped.graph.value_info[:]
    assert stripped == proto
    onnx.checker.check_model(once, full_check=True)


def test_the_form_of_the_result_is_that_of_the_input(tmp_path):
    proto = model("y = Relu (x)")
    onnx.save(proto, tmp_path / "m.onnx")
    for source in (tmp_path / "m.onnx", proto.SerializeToString()):
        assert isinstance(infer_shapes(source), Model)


def test_a_malformed_model_is_refused():
    with pytest.raises(ModelError):
        infer(model("y = Add (x, gone)"))


def test_training_graphs_are_inferred():
    proto = model("y = Relu (x)")
    step = proto.training_info.add().algorithm
    step.name = "step"
    step.node.add(op_type="Concat", input=["y", "y"], output=["z"]).attribute.add(name="axis", type=2, i=0)
    step.output.add(name="z")
    written = infer(proto).written().proto.training_info[0].algorithm
    assert written.output[0].type.tensor_type.shape.dim[0].dim_param == "2*N"


@settings(max_examples=draws(60))
@given(st.lists(st.sampled_from(["Relu", "NonZero", "Transpose", "Concat", "Shape", "Tile"]), max_size=8))
def test_writing_is_idempotent_and_deterministic(operators):
    """Whatever was written is confirmed by the next inference."""
    nodes, value = [], "x"
    for place, operator in enumerate(operators):
        made = f"v{place}"
        given_names = [value, value] if operator == "Concat" else [value]
        if operator == "Relu":
            nodes.append(helper.make_node("Cast", [value], [f"c{place}"], to=TensorProto.FLOAT))
            given_names = [f"c{place}"]
        if operator == "Tile":
            nodes.append(helper.make_node("Shape", [value], [f"c{place}"]))
            nodes.append(helper.make_node("Shape", [f"c{place}"], [f"r{place}"]))
            nodes.append(helper.make_node("Expand", [f"r{place}", f"r{place}"], [f"t{place}"]))
            given_names = [value, f"t{place}"]
        if operator == "Concat":
            nodes.append(helper.make_node("Flatten", [value], [f"c{place}"]))
            given_names = [f"c{place}"] * 2
        attributes = {"axis": 0} if operator == "Concat" else {}
        nodes.append(helper.make_node(operator, given_names, [made], **attributes))
        value = made
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", None])], [])
    graph.output.add(name=value)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    once = infer_shapes(proto, data_prop=True)
    assert infer(once).findings == ()
    assert infer_shapes(once, data_prop=True) == once
    assert infer_shapes(proto, data_prop=True) == once


SELECTED = "(float[1,4,4] b, float[1,2,4] s{0}) => (int64[] y) {1} {{ y = NonMaxSuppression(b, s{2}) }}"
COUNTED = (
    "(float[N] x) => (float[] y) <float a = {0}, float d = {{1.0}}> {{ n = Shape(x) m = Squeeze(n)"
    " k = Cast<to=1>(m) y = Range(a, k, d) }}"
)
CROPPED = (
    "(float[1,1,N,4] x{0}) => (float[] y) <float[4] s = {{1.0, 1.0, 0.5, 2.0}}{1}> {{"
    ' y = Resize<mode="linear", coordinate_transformation_mode="tf_crop_and_resize">(x, r, s) }}'
)
RESHAPED = (
    "(float[{}] x, float[{}) => (float[] y) <int64[1] t = {{2}}> {{ {} d = Concat<axis=0>(m, t) y = Reshape(x, d) }}"
)
OF_SIZE = "(float[N] x) => (float[] y) <int64[1] t = {{3}}> {{ s = Shape(x) {} y = ConstantOfShape(q) }}"
GRAMS = (
    'TfIdfVectorizer<mode="TF", min_gram_length=1, max_gram_length=1, max_skip_count=0, ngram_counts=[0],'
    " ngram_indexes=[0, 4], {}>"
)
LOW, HIGH = -(2**63), 2**63 - 1
OTHERS = '"ai.onnx.ml": 3, "ai.onnx.preview": 1'
PLAIN = [
    (13, "(x) => (y) { y = Identity(x) }", "None"),
    (15, "(x) => (y) { y = OptionalGetElement(x) }", "None"),
    (13, "(float a) => (float[] y) { s = Shape(a) t = ReduceProd<axes=[0]>(s) y = ConstantOfShape(t) }", "float[1]"),
    (13, """(float a, float[N,3] x) => (float[] y) { s = Shape(a) t = Shape(x) c = Concat<axis=0>(s, t)
        y = ConstantOfShape(c) }""", "float[N, 3]"),
    (15, "(optional(float[?,3]) o) => (y) { y = OptionalGetElement(o) }", "float[o_d0, 3]"),
    (13, "(float[N,M] x) => (float[] y) { s = Shape(x) t = ReduceMean<axes=[0]>(s) y = ConstantOfShape(t) }",
     "float[floor((M + N)/2)]"),
    *((13, f"""(float[2,3] x, float[N] z) => (float[] y) <float[1] o = {{1}}, float[4] r = {{0, 0, 1, {end}}}> {{
        s = Shape(z) f = Cast<to=1>(s) k = Concat<axis=0>(o, f)
        y = Resize<coordinate_transformation_mode="tf_crop_and_resize">(x, r, k) }}""", f"float[2, {told}]")
      for end, told in ((1, "3*N"), (0.5, "?"))),
    (13, "(x, float[2] w) => (y) { q = SequenceConstruct(x) y = SequenceInsert(q, w) }", "seq(?)"),
    (13, "(x, float[2] w) => (y) { q = SequenceConstruct(w) y = SequenceInsert(q, x) }", "seq(float)"),
    (13, "(float[2,3] x) => (float[] y) { q = SequenceConstruct(x) y = ConcatFromSequence<new_axis=1>(q) }",
     "float[?, ?, ?]"),
    (13, "(float[4,N] x, int64 i) => (y) { q = SplitToSequence(x) y = SequenceAt(q, i) }", "float[1, N]"),
    (13, "(float x) => (float[] y) { y = Transpose<perm: ints = []>(x) }", "float[]"),
    (15, """(float[N,N,3] x) => (float[] y) <int64[1] r = {-1}> {
        n = Shape<end=1>(x) t = Concat<axis=0>(n, r) y = Reshape(x, t) }""", "float[N, 3*N]"),
    (13, "(float[2,3] x, int64[] s) => (float[] y) { y = Slice(x, s, s) }", "float[?, ?]"),
    *((24, f"(float[1,2,3,4] q, float[3,{keys}] m) => (float[] y) {{ y = Attention(q, q, q, m) }}", "float[1, 2, 3, 4]")
      for keys in (2, 3)),
    (13, """() => (float[] y) <float[1] a = {0}, int64[1] b = {0}> {
        p = Pow(a, b) c = Cast<to=7>(p) y = ConstantOfShape(c) }""", "float[1]"),
    (13, "(float[2,3] x, int64[] s) => (float[] y) { y = Slice(x, s, s, s) }", "float[?, ?]"),
    (18, "(float[2,3] x, int64[2] p, int64[] a) => (float[] y) { y = Pad(x, p, , a) }", "float[?, ?]"),
    (20, "(float[4,5,1] x) => (float[] y) <int64 a = {0}> { y = DFT<onesided=1>(x, , a) }", "float[3, 5, 2]"),
    (18, CROPPED.format("", ", float[8] r = {0.0, 0.0, 0.0, 0.25, 1.0, 1.0, 1.0, 1.0}"), "float[1, 1, floor(N/2), 6]"),
    (18, CROPPED.format(", float[8] r", ""), "float[?, ?, ?, ?]"),
    (18, '(string[0,1] x) => (string[] y) <int64[2] s = {0, 1}> { y = Resize<mode="linear">(x, , , s) }',
     "string[0, 1]"),
    *((18, f"(float[2,3] x, float[{count}] s) => (float[] y) {{ y = Resize(x, , s) }}", "float[?, ?]")
      for count in ("", "K")),
    *((6, f"(float[2,3] x, float[{other}] s) => (float[] y) {{ y = Add<broadcast=1, axis={at}>(x, s) }}", "float[2, 3]")
      for other, at in (("3", -1), ("2,3", -2), ("N", 5), ("1", 5))),
    *((13, f"(float[N] x, float[] s, uint8[4] z) => (uint8[] y) {{ y = QuantizeLinear<axis=0>({given}) }}", told)
      for given, told in (("x, s", "uint8[N]"), ("x, s, z", "uint8[4]"))),
    (21, """(float x, float[] s, int64[n] d) => (uint8[] y) {
        z = Reshape(x, d) y = QuantizeLinear<block_size = 2>(z, s) }""", "uint8"),
    (13, "(float[3] x, float[1] l, u) => (float[] y) { y = Clip(x, l, u) }", "float[3]"),
    (10, "(float[2,3] x) => (float[?,?] y) { y = Resize(x) }", "float[?, ?]"),
    (9, "(float[2,3] x) => (float[?,?] y) { y = Upsample(x) }", "float[?, ?]"),
    *((18, f"(float[{size}] x) => (float[] y) <float[1] s = {{{scale}}}> {{ y = Resize(x, , s) }}", f"float[{told}]")
      for size, scale, told in ((4, 0.1, "0"), (4, 0.25, "1"), (5, 1.5, "7"), ("N", 0.5, "floor(N/2)"), ("N", 3, "3*N"),
                                ("N", 0.6931, "?"), (0, 2, "0"))),
    *((9, f"({element}[N,3] x) => (float[] y) {{ y = {GRAMS.format(pool)}(x) }}", "float[N, 5]")
      for element, pool in (("string", 'pool_strings=["a", "b"]'), ("int64", "pool_int64s=[1, 2]"))),
    (13, SELECTED.format("", "", ""), "int64[0, 3]"),
    (13, SELECTED.format("", "<int64 m = {0}>", ", m"), "int64[0, 3]"),
    (13, SELECTED.format("", "<int64 m = {1}>", ", m"), "int64[?, 3]"),
    (13, SELECTED.format(", int64 m", "", ", m"), "int64[?, 3]"),
    (13, """() => (float[] y) <int64[5] d = {4, 5, 6, 7, 8}, int64[1] s = {4}, int64[1] e = {-9}, int64[1] t = {-2}> {
        b = Slice(d, s, e, , t) y = ConstantOfShape(b) }""", "float[8, 6, 4]"),
    (13, """() => (float[] y) <int64[5] d = {4, 5, 6, 7, 8}, int64[1] s = {9}, int64[1] e = {-9}, int64[1] t = {-3}> {
        b = Slice(d, s, e, , t) y = ConstantOfShape(b) }""", "float[8, 5]"),
    *((13, f"""(float[N] x, float[M] z) => (float[] y) <int64[1] a = {{0}}, int64[1] t = {{5}}> {{
        m = Shape(z) u = Sub(m, t) y = Slice(x, {bounds}, a) }}""", "float[?]") for bounds in ("u, t", "t, u", "u, u")),
    (1, "(float[4] x) => (float[] z, float[] y) <float[2] s = {1.5, 2}> { z, y = Split(x, s) }", "float[2]"),
    (13, RESHAPED.format("N,4", "M] z", "m = Shape(z)"), "float[2*N, 2]"),
    (13, RESHAPED.format("N,3", "M] z", "m = Shape(z)"), "float[M, 2]"),
    (13, RESHAPED.format("N,3", "1] z", "m = Cast<to=7>(z)"), "float[N + floor(N/2), 2]"),
    *((13, f"""(float[N,N,3,M] x) => (float[] y) <int64[{count}] at = {{{kept}}}, int64[1] rest = {{-1}}> {{
        s = Shape(x) n = Gather(s, at) d = Concat<axis=0>(n, rest) y = Reshape(x, d) }}""", told)
      for count, kept, told in ((1, "0", "float[N, 3*M*N]"), (2, "0, 1", "float[N, N, 3*M]"),
                                (2, "0, 3", "float[N, M, 3*N]"), (3, "0, 0, 2", "float[N, N, 3, M]"),
                                (4, "0, 1, 2, 3", "float[N, N, 3, M, 1]"),
                                (3, "0, 0, 0", "float[N, N, N, floor(3*M/N)]"))),
    (13, "(float[2] x, int64[n] v) => (float[] y) { s = Shape(x) c = Concat<axis=0>(s, v) y = ConstantOfShape(c) }",
     "float"),
    (13, '(float[0,2] x) => (float[] y) <int64[4] p = {0, 1, 0, 1}> { y = Pad<mode="edge">(x, p) }', "float[0, 4]"),
    (6, "(float[2,3] x, float[3] s) => (float[] y) { y = PRelu(x, s) }", "float[2, 3]"),
    (13, "(float[5] x, bool[1] u) => (float[] y) <bool[2] c = {1, 0}> { d = Concat<axis=0>(c, u) y = Compress(x, d) }",
     "float[?]"),
    (13, """(int64[1] u) => (float[] y) <int64[2,2] d = {4, 5, 6, 7}, int64[1] i = {1}, int64[1] flat = {-1}> {
        j = Concat<axis=0>(i, u) g = Gather(d, j) f = Reshape(g, flat) y = ConstantOfShape(f) }""",
     "float[6, 7, ?, ?]"),
    (6, "(float[2] x, float[1] s) => (float[] y) { y = PRelu(x, s) }", "float[2]"),
    (13, """() => (float[] y) <int64[3] d = {4, 5, 6}, int64[1,1] i = {1}, int64[1] u = {9}> {
        s = ScatterND(d, i, u) y = ConstantOfShape(s) }""", "float[4, 9, 6]"),
    *((13, f"""() => (float[] y) <int64[3] d = {{4, 5, 6}}, int64[3,1] i = {{1, 0, 1}}, int64[3] u = {{{updates}}}> {{
        s = ScatterND(d, i, u) y = ConstantOfShape(s) }}""", told)
      for updates, told in (("9, 7, 8", "float[7, ?, 6]"), ("9, 7, 9", "float[7, 9, 6]"))),
    (13, """() => (float[] y) <int64[1] a = {4611686018427387904}, int64[1] t = {2},
        int64[1] b = {2305843009213693952}> { m = Mul(a, t) q = Div(m, b) y = ConstantOfShape(q) }""", "float[?]"),
    (13, """(float[K] x, float[N] w, int64[1] u) => (float[] y) <int64[1] three = {3}> {
        s = Shape(w) d = Concat<axis=0>(u, s, three) y = Reshape(x, d) }""", "float[?, N, 3]"),
    (13, """(float[N] x) => (float[] y) <int64[1] five = {5}> {
        s = Shape(x) d = Sub(five, s) y = Resize(x, , , d) }""", "float[5 - N]"),
    (13, """(x, float[1,2] s) => (float[] y) <int64 m = {3}, bool c = {1}> {
        y = Loop <body = g (int64 i, bool k, float[1,2] t) => (bool l, u) {
            l = Identity(k) u = ai.onnx.ml.DictVectorizer<string_vocabulary=["a", "b"]>(x) }> (m, c, s) }""",
     "float[1, 2]"),
    (13, """(float[N,3] x) => (float[] y) { y = ai.onnx.ml.TreeEnsembleRegressor<nodes_nodeids=[0], nodes_treeids=[0],
        nodes_modes=["LEAF"], nodes_featureids=[9], nodes_values=[1.0], nodes_truenodeids=[0], nodes_falsenodeids=[0],
        target_treeids=[0, 0], target_nodeids=[0, 0], target_ids=[0, 1], target_weights=[1.0, 1.0]>(x) }""",
     "float[N, 2]"),
    (13, """(float[N,3] x) => (float[] y) { y = ai.onnx.ml.TreeEnsembleRegressor<nodes_nodeids=[0], nodes_treeids=[0],
        nodes_modes=["LEAF"], nodes_values=[1.0], nodes_truenodeids=[0], nodes_falsenodeids=[0], target_treeids=[0],
        target_nodeids=[0], target_ids=[0], target_weights=[1.0]>(x) }""", "float[N, 1]"),
    (13, """(float[N] x) => (float[] y) <int64[1] seven = {7}, int64[1] two = {2}> {
        s = Shape(x) m = Sub(s, seven) g = Sign(m) t = Add(g, two) y = ConstantOfShape(t) }""",
     "float[max(-1, min(1, N - 7)) + 2]"),
    (13, '(x) => (y) { y = ai.onnx.ml.DictVectorizer<string_vocabulary=["a", "b"]>(x) }', "?[1, 2]"),
    *((13, f"""(float[2,2] x) => (int64[] z, float[] y) {{ z, y = ai.onnx.ml.SVMClassifier<{vectors}>(x) }}""", told)
      for vectors, told in (
          ("classlabels_ints=[1], vectors_per_class=[1], support_vectors=[1.0,2.0], prob_a=[1.0], prob_b=[1.0]",
           "float[2, 1]"),
          ("""classlabels_ints=[1, 2], vectors_per_class=[1, 1], support_vectors=[1.0, 2.0, 3.0, 4.0], rho=[1.0],
           coefficients=[1.0, 2.0]""", "float[2, 2]"))),
    (13, "(float[2,3] x, float[2,2,2] z) => (float[] y) { y = ai.onnx.ml.FeatureVectorizer(x, z) }", "float[2, 7]"),
    *((25, f"({of}) => (float[] y) {{ y = Attention<q_num_heads=2, kv_num_heads=2>(q, q, q) }}", told)
      for of, told in (("float[1,2,3,4] q", "float[1, 2, 3, 4]"), ("float[1,3,8] q", "float[1, 3, 8]"))),
    (25, "(float x, int64[K] n) => (float[] y) { z = Reshape(x, n) y = Attention(z, z, z) }", "float"),
    *((24, f"(float[1,2,3,4] q, float[{keys}] f, float[{past}] p) => (float[] v, float[] y) {{"
       " v, y = Attention(q, f, f, , p, p) }", f"float[1, 2, {told}, 4]")
      for keys, past, told in (("1,2,3,4", "1,2,5,4", "8"), ("", "1,2,5,4", "?"), ("1,2,3,4", "", "?"))),
    *((25, f"""(float x, int64[K] n, float[{keys}] f) => (float[] y) {{ z = Reshape(x, n)
        y = Attention<{heads}_num_heads=2>(z, f, f) }}""", f"float[1, {told}]")
      for keys, heads, told in (("1,3,8", "kv", "?, ?"), ("1,3,W", "kv", "?, ?"), ("1,2,3,4", "q", "?, ?, 4"))),
    *((13, f"(float[N] x) => (float[{stated}] y) {{ y = Relu(x) }}", f"float[{told}]")
      for stated, told in (("K", "N"), ("5", "5"))),
    (13, "(float[N] x) => (int64[1,J] y) <int64[1,K] n> { n = NonZero(x) y = Neg(n) }", "int64[1, J]"),
    *((version, """(float x, int64[K] n) => (float[] y) { z = Reshape(x, n)
        y = Attention<q_num_heads=2, kv_num_heads=2>(z, z, z) }""", told)
      for version, told in ((24, "float"), (25, "float[?, ?, ?]"))),
    (23, """(float x, int64[K] n, float[1,2,3,4] f, float["M + 2",3] m) => (float[] y) { z = Reshape(x, n)
        y = Attention(z, f, f, m) }""", "float[1, ?, M + 2, 4]"),
    (26, """(q, k) => (y) { y = ai.onnx.preview.FlexAttention <score_mod = g (s) => (a) { a = Cast<to=11>(s) }>
        (q, k, k) }""", "?[?, ?, ?, ?]"),
    (16, "(float[1,1,0,2] x, float[1,3,4,2] g) => (float[] y) { y = GridSample(x, g) }", "float[1, 1, 3, 4]"),
    *((5, f"(float[0,N] x, float a) => (float[] y) <float n = {{{count}}}> {{ y = Tile(x, n, a) }}", told)
      for count, told in ((1, "float[0, N]"), (2, "float[0, ?]"))),
    (13, """(float[2,9] x, int64[1] u, float[1] w) => (float[] y) <int64[1] i = {5}, int64[2] s = {1, 2}> {
        c = Concat<axis=0>(u, i) r = Reshape(c, s) y = ScatterND(x, r, w) }""", "float[2, 9]"),
    (13, "(float[3] x) => (float[] y) { y = ai.onnx.ml.FeatureVectorizer(x) }", "float[1, 3]"),
    (13, "(float[2,3] x, float[] z) => (float[] y) { y = ai.onnx.ml.FeatureVectorizer(x, z) }", "float[2, ?]"),
    (13, """(float[2,3] x) => (float[] z, float[] y) {
        t, y = ai.onnx.ml.LinearClassifier<classlabels_ints=[1, 2], coefficients=[1.0, 2.0, 3.0]>(x)
        z = Cast<to=1>(t) }""", "float[2, 2]"),
    (13, "(float[4] x, float[1] s, uint8 z) => (uint8[] y) { y = QuantizeLinear(x, s, z) }", "uint8[4]"),
    (12, "(float[N,3] x, float[3] s, uint8[3] z) => (uint8[] y) { y = QuantizeLinear(x, s, z) }", "uint8[N, 3]"),
    *((14, f"(float[3,2,4] x, float[{w}] w, float[{r}] r, float[{b}] b, float[{p}] p) => (float[] y)"
       " { y = LSTM(x, w, r, b, , , , p) }", "float[3, 1, 2, 5]")
      for w, r, b, p in (("1,20,4", "", "", ""), ("", "1,20,?", "", ""), ("", "", "1,40", ""), ("", "", "", "1,15"))),
    (13, """() => (float[] y) <float a = {0}, float b = {20}, float d = {1}, int64[1] i = {15}> {
        r = Range(a, b, d) m = Add(r, d) c = Cast<to=7>(m) g = Gather(c, i) y = ConstantOfShape(g) }""", "float[16]"),
    (13, "(float[2] x) => (float[] y) { y = Concat<axis=0>(x, , x) }", "float[4]"),
    *((27, f"""() => (float[] y) <float a = {{32768}}, float b = {{32800}}, float d = {{0.5517578125}},
        int64[1] i = {{29}}> {{ h = Cast<to=10>(a) k = Cast<to=10>(b) e = Cast<to=10>(d)
        r = Range<stash_type={stash}>(h, k, e) c = Cast<to=7>(r) g = Gather(c, i)
        y = ConstantOfShape(g) }}""", f"float[{length}]")
      for stash, length in ((1, 32768), (11, 32800))),
    (26, """() => (float[] y) <float[1] f = {4.2e-45}> {
        b = BitCast<to=6>(f) c = Cast<to=7>(b) y = ConstantOfShape(c) }""", "float[3]"),
    (13, "() => (float[] y) <int64 a = {1}, int64 b = {4}> { r = Range(a, b, a) y = ConstantOfShape(r) }",
     "float[1, 2, 3]"),
    (13, """() => (float[] y) <float[1] a = {1.5}, int64[1] b = {2}> {
        p = Pow(a, b) c = Cast<to=7>(p) y = ConstantOfShape(c) }""", "float[2]"),
    (13, """() => (float[] y) <float[2] a = {1.0000001, 3}, float[2] b = {1.3, 2}> {
        p = Pow(a, b) c = Cast<to=7>(p) y = ConstantOfShape(c) }""", "float[?, 9]"),
    *((13, OF_SIZE.format(f"e = Constant<value_ints = [{exponent}]>() q = Pow(s, e)"), f"float[{told}]")
      for exponent, told in ((1, "N"), (2, "N*N"), (3, "?"))),
    *((13, OF_SIZE.format(f"u = {size} c = Cast<to=9>(u) q = Cast<to=7>(c)"), f"float[{told}]")
      for size, told in (("Add(s, t)", "1"), ("Mul(s, t)", "?"))),
    (13, OF_SIZE.format("q = Div(s, t)"), "float[floor(N/3)]"),
    (13, OF_SIZE.format("u = Add(s, t) q = Div(u, s)"), "float[floor((N + 3)/N)]"),
    (13, OF_SIZE.format("u = Neg(s) v = Div(u, t) q = Neg(v)"), "float[?]"),
    (13, OF_SIZE.format("u = Neg(t) v = Div(s, u) q = Neg(v)"), "float[?]"),
    (13, OF_SIZE.format("q = Mod<fmod=1>(s, t)"), "float[N - 3*floor(N/3)]"),
    (13, OF_SIZE.format("u = Sub(s, t) q = Mod<fmod=1>(u, t)"), "float[?]"),
    *((16, OF_SIZE.format(f"u = Add(s, t) a = {name}(u, s) b = {name}(s, u) c = {name}(s, s) d = {name}(s, t)"
                          " e = Concat<axis=0>(a, b, c, d) q = Cast<to=7>(e)"), f"float[{told}, ?]")
      for name, told in (("Less", "0, 1, 0"), ("LessOrEqual", "0, 1, 1"), ("Greater", "1, 0, 0"),
                         ("GreaterOrEqual", "1, 0, 1"), ("Equal", "0, 0, 1"))),
    (13, "(float[N,3] x, int64[1] k) => (float[] y) { s = Shape(x) t = ReduceSum(s, k) y = ConstantOfShape(t) }",
     "float[?]"),
    *((13, f"""() => (float[] y) <float[{count}] a = {{{elements}}}> {{ m = ReduceMean<axes=[0]>(a)
        c = Cast<to=7>(m) y = ConstantOfShape(c) }}""", f"float[{told}]")
      for count, elements, told in ((1, "3.0", "3"), (2, "3.0, 5.0", "4"), (2, "3.0, 0.5", "?"))),
    *((13, f"""(float[N,3] x) => (float[] y) {{ s = Shape(x) f = Cast<to=1>(s) t = {name}(f) c = Cast<to=7>(t)
        y = ConstantOfShape(c) }}""", f"float[{told}]")
      for name, told in (("ReduceSum", "N + 3"), ("ReduceProd", "3*N"))),
    (15, f"""(float[{", ".join(f'"N{at} + {at}"' for at in range(1, 13))}, 6] x) => (float[] y) <int64[1] r = {{-1}}> {{
        h = Shape<end = -1>(x) t = Concat<axis = 0>(h, r) y = Reshape(x, t) }}""",
     f"float[{', '.join(f'N{at} + {at}' for at in range(1, 13))}, 6]"),
    (13, COUNTED.format("{2.0}"), "float[max(0, N - 2)]"),
    (13, COUNTED.format("{0.5}"), "float[?]"),
    (13, "() => (float[] y) <bool[1] c = {1}> { b = Add(c, c) y = ConstantOfShape(b) }", "float[?]"),
    *((13, f"""() => (float[] y) <bool[4] a = {{1, 1, 0, 0}}, bool[4] b = {{1, 0, 1, 0}}> {{
        c = {name}(a, b) d = Cast<to=7>(c) y = ConstantOfShape(d) }}""", f"float[{told}]")
      for name, told in (("And", "1, 0, 0, 0"), ("Or", "1, 1, 1, 0"), ("Xor", "0, 1, 1, 0"))),
    (13, "(float[N] x, float[M] z) => (float[K] y) { y = Add(x, z) }", "float[K]"),
    *((13, f"(float[2,3] x, int64[2] n) => (float[] y) {{ s = Shape(x) m = {name}(s, n) y = ConstantOfShape(m) }}",
       "float[?, ?]") for name in ("Max", "Min", "Sum", "Add")),
    *((15, f"""(float[N,3] x, int64[2] s, int64[1] k) => (float[] y) <int64[1] z = {{0}}> {{
        n = Shape<end=1>(x) a = Concat<axis=0>({axis}, z) y = Slice(x, s, s, a) }}""", "float[?, ?]") for axis in "nk"),
    (21, """(float x, float[4,2] s, int64[n] d) => (int8[] y) {
        z = Reshape(x, d) y = QuantizeLinear<block_size = 2, output_dtype = 3> (z, s) }""", "int8[4, ?]"),
    (21, """(float x, float[4] s, int64[n] d) => (int8[] y) {
        z = Reshape(x, d) y = QuantizeLinear<block_size = 2, output_dtype = 3> (z, s) }""", "int8"),
    (21, """(float x, float[4,2] s, int64[n] d) => (int8[] y) {
        z = Reshape(x, d) y = QuantizeLinear<output_dtype = 3> (z, s) }""", "int8"),
    *((21, f"(float[{x}] x, float[{s}] s) => (uint8[] y) {{ y = QuantizeLinear<block_size = {size}>(x, s) }}", told)
      for x, s, size, told in (("N", "3", 0, "uint8[3]"), ("3", "3", 0, "uint8[3]"), ("N,M", "2,2", 2, "uint8[2, M]"))),
    *((version, "(int8[N] x, float[3] s) => (float[] y) { y = DequantizeLinear(x, s) }", "float[3]")
      for version in (19, 20)),
    *((13, f"""(float[N] x) => (float[] y) <float two = {{{number}}}> {{
        s = Shape(x) f = Cast<to=1>(s) d = Div(f, two) c = Cast<to=7>(d) y = ConstantOfShape(c) }}""", f"float[{told}]")
      for number, told in (("1", "N"), ("2", "?"))),
    *((13, f"""(float[N] x) => (float[] y) <int64 bound = {{{number}}}> {{
        s = Shape(x) m = {node} y = ConstantOfShape(m) }}""", f"float[{told}]")
      for number, node, told in ((2**63 - 1, "Clip(s, , bound)", "N"), (5, "Clip(s, , bound)", "min(5, N)"),
                                 (-(2**63), "Clip(s, bound)", "N"), (0, "Clip(s, bound)", "N"),
                                 (5, "Clip(s, bound)", "max(5, N)"))),
    (13, """(float[N] x) => (float[] y) <int64[1] one = {1}, int64[1] minus = {-1}, int64[1] zero = {0}> {
        s = Shape(x) n = Neg(s) e = Sub(n, one) y = Slice(x, minus, e, zero, minus) }""", "float[N]"),
    *((13, f"""(float[N] x) => (float[] y) <int64[1] s = {{{start}}}, int64[1] e = {{{end}}}, int64[1] a = {{0}},
        int64[1] t = {{{step}}}> {{ y = Slice(x, s, e, a, t) }}""", f"float[{told}]")
      for start, end, step, told in (
          (LOW, HIGH, 1, "N"), (0, LOW, 1, "0"), (HIGH, LOW, -1, "N"), (-1, LOW, -1, "N"), (LOW, LOW, -1, "min(1, N)"),
          (HIGH, HIGH, 1, "0"), (LOW, -2, 1, "max(0, N - 2)"), (LOW, 2, 1, "min(2, N)"),
          (LOW, -1, 2, "floor((max(0, N - 1) + 1)/2)"), (-3, HIGH, 1, "min(3, N)"), (2, HIGH, 1, "max(0, N - 2)"),
          (HIGH, -4, -1, "min(3, N)"), (-1, 1, -1, "max(0, N - 2)"), (-(2**31), 2**31 - 1, 1, "N"),
          (2**31 - 1, -(2**31), -1, "N"), (-1, -(2**31), -2, "floor((N + 1)/2)"))),
    *((13, f"""(float[1,1,7] x) => (float[] y) {{
        y = MaxPool<kernel_shape = [2], strides = [{stride}], pads = [{pads}], ceil_mode = 1>(x) }}""",
        f"float[1, 1, {told}]")
      for stride, pads, told in ((2, "0, 0", 4), (3, "0, 1", 3), (4, "0, 1", 2), (2, "1, 1", 4), (2, "0, 1", 4))),
]  # fmt: skip


@pytest.mark.parametrize(("version", "graph", "told"), PLAIN)
def test_what_follows_of_single_nodes(version, graph, told):
    single = parser.parse_model(f'<ir_version: 10, opset_import: ["" : {version}, {OTHERS}]> g {graph}')
    found = infer(single)
    assert list(found.findings) == []
    made_up = r"\by_d[0-9]+\b"
    assert re.sub(made_up, "?", str(found.type("y"))) == told


SEVERAL = [
    (13, "(float[2,N] x) => (y, m) { y, m = Dropout(x) }", ["float[2, N]", "bool[2, N]"]),
    (13, "(float[2,N] x) => (m) { , m = Dropout(x) }", ["bool[2, N]"]),
    (7, "(float[2,N] x) => (y, m) { y, m = Dropout(x) }", ["float[2, N]", "float[2, N]"]),
    (12, "(float[1,3,8,N] x) => (y, i) { y, i = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x) }",
     ["float[1, 3, 4, floor(N/2)]", "int64[1, 3, 4, floor(N/2)]"]),
    (11, "(float[4,N] x) => (v, i) <int64[1] k = {3}> { v, i = TopK(x, k) }", ["float[4, 3]", "int64[4, 3]"]),
    (13, "(float[6,N] x) => (a, b) <int64[2] s = {2, 4}> { a, b = Split(x, s) }", ["float[2, N]", "float[4, N]"]),
    (18, "(float[7,N] x) => (a, b, c) { a, b, c = Split<num_outputs=3>(x) }",
     ["float[3, N]", "float[3, N]", "float[1, N]"]),
    (11, "(float[4,N] x) => (u, f, i, c) { u, f, i, c = Unique<axis=1>(x) }",
     ["float[4, u_d1]", "int64[f_d0]", "int64[N]", "int64[c_d0]"]),
    (11, "(float[4,N] x) => (u, f, i, c) { u, f, i, c = Unique(x) }",
     ["float[u_d0]", "int64[f_d0]", "int64[4*N]", "int64[c_d0]"]),
    (14, "(float[S,2,4] x, float[1,20,4] w, float[1,20,5] r) => (y, h, c) { y, h, c = LSTM<hidden_size=5>(x, w, r) }",
     ["float[S, 1, 2, 5]", "float[1, 2, 5]", "float[1, 2, 5]"]),
    (14, """(float[2,S,4] x, float[2,15,4] w, float[2,15,5] r) => (y, h) {
        y, h = GRU<hidden_size=5, layout=1, direction="bidirectional">(x, w, r) }""",
     ["float[2, S, 2, 5]", "float[2, 2, 5]"]),
    (15, """(float[2,3,N] x, float[3] s, double[3] m) => (y, a, b) {
        y, a, b = BatchNormalization<training_mode=1>(x, s, s, m, m) }""",
     ["float[2, 3, N]", "double[3]", "double[3]"]),
    *((8, f"""(float[{batch},4] s, float[{batch},{steps},5] x) => (y, a, z) {{ y, a, z = Scan <num_scan_inputs=1,
        body = g (float[4] t, float[5] u) => (float[4] v, float[4] b, float[5] w) {{
            v = Identity(t) b = Identity(t) w = Identity(u) }}> (, s, x) }}""",
        [f"float[{batch}, 4]", f"float[{batch}, {steps}, 4]", f"float[{batch}, {steps}, 5]"])
      for batch, steps in ((0, 3), (2, 0), ("N", 3))),
    (7, "(float[2,3,N] x, float[3,N] s) => (y, a) { y, a = BatchNormalization<spatial=0>(x, s, s, s, s) }",
     ["float[2, 3, N]", "float[3, N]"]),
    (8, "(float[2,3,N] x, float[3] s) => (y, a, b) { y, a, b = BatchNormalization(x, s, s, s, s) }",
     ["float[2, 3, N]", "float[3]", "float[3]"]),
    (11, "(float[4,N] x) => (y, s, z) { y, s, z = DynamicQuantizeLinear(x) }", ["uint8[4, N]", "float[]", "uint8[]"]),
    (13, """(float[N,5,4] x, int64[N,4] t) => (l, p) {
        l, p = SoftmaxCrossEntropyLoss<reduction="none">(x, t) }""", ["float[N, 4]", "float[N, 5, 4]"]),
    (13, "(float[N,5] x, int64[N] t) => (l, p) { l, p = SoftmaxCrossEntropyLoss(x, t) }", ["float[]", "float[N, 5]"]),
    (6, "(float[2,3,N] x, float[3] s) => (y, a) { y, a = BatchNormalization<is_test=1, spatial=0>(x, s, s, s, s) }",
     ["float[2, 3, N]", "float[3]"]),
    (17, "(float16[N,5,4] x, float16[4] s) => (y, m, i) { y, m, i = LayerNormalization(x, s) }",
     ["float16[N, 5, 4]", "float[N, 5, 1]", "float[N, 5, 1]"]),
    (17, "(float16[N,5,4] x, float16[5,4] s) => (y, m) { y, m = LayerNormalization<axis=1>(x, s) }",
     ["float16[N, 5, 4]", "float[N, 1, 1]"]),
]  # fmt: skip


@pytest.mark.parametrize(("version", "graph", "told"), SEVERAL)
def test_what_follows_of_nodes_with_several_outputs(version, graph, told):
    single = parser.parse_model(f'<ir_version: 10, opset_import: ["" : {version}]> g {graph}')
    found = infer(single)
    assert (list(found.findings), [str(found.type(each.name)) for each in single.graph.output]) == ([], told)


@pytest.mark.parametrize(
    ("node", "why"),
    [
        ('y = Concat <axis = "a"> (x, x)', "the attribute axis is not of the type int"),
        ("y = Constant <value = 3> ()", "the attribute value is not of the type tensor"),
        ("y = Conv <kernel_shape = [3, 3], strides = [1]> (z, z)",
         "its lists have different lengths: kernel_shape 2, strides 1"),
    ],
)  # fmt: skip
def test_attributes_that_a_rule_cannot_work_with_are_named(node, why):
    body = f"g (float[2, 3] x, int64[K] s) => (y) {{ z = Reshape (x, s)  {node} }}"
    found = infer(parser.parse_model(f'<ir_version: 9, opset_import: ["": 20]> {body}')).findings
    assert [(each.code, each.why) for each in found] == [("I203", why)]
