"""Nodes of a function in place of a call: names, attributes, metadata, subgraphs."""

import pytest

from opset.model.graph.index import FreshNames, bodies
from opset.model.graph.splicing import Unfit, splice_function
from opset.model.graph.walking import rename_values
from opset.model.text.syntax import parse_function, parse_model, parse_node

HEAD = '<domain: "d", opset_import: ["": 18]> '


def splice(function, call, around="y = Relu (x)"):
    model = parse_model(f'<ir_version: 10, opset_import: ["": 18]> g (float x, float c) => (float y) {{ {around} }}')
    return splice_function(parse_function(HEAD + function), parse_node(call), FreshNames(bodies(model)))


def shown(nodes):
    return [(node.op_type, list(node.input), list(node.output), node.name) for node in nodes]


def test_values_get_the_names_of_the_call_and_names_of_their_own():
    function = "F (a, b) => (o) { t = Add (a, b)  [in] o = Mul (t, t) }"
    made = splice(function, "[call] y = d.F (x, x)", "call__t = Relu (x)")
    assert shown(made.nodes) == [
        ("Add", ["x", "x"], ["call__t_1"], "call__Add"),
        ("Mul", ["call__t_1", "call__t_1"], ["y"], "call__in"),
    ]


def test_inputs_and_outputs_that_the_call_omits():
    made = splice("F (a, lo, hi) => (o, p) { o = Clip (a, lo, hi)  p = Clip (a, , hi) }", "y = d.F (x, , c)")
    assert shown(made.nodes) == [("Clip", ["x", "", "c"], ["y"], ""), ("Clip", ["x", "", "c"], ["y__p"], "")]
    made = splice("F (a) => (o, p) { o = Neg (a)  [in] p = Abs (o) }", ", y = d.F (x)")
    assert shown(made.nodes) == [("Neg", ["x"], ["y__o"], ""), ("Abs", ["y__o"], ["y"], "y__in")]
    made = splice("F (a, lo, hi) => (o) { o = Clip (a, lo, hi) }", "y = d.F (x)")
    assert shown(made.nodes) == [("Clip", ["x", "", ""], ["y"], "")]


def test_an_optional_input_that_has_to_be_written_stays():
    """Loop takes two inputs at least, of which the second may be an empty name."""
    made = splice("F (n, go) => (o) { o = Loop (n, go) }", "y = d.F (x)")
    assert [list(node.input) for node in made.nodes] == [["x", ""]]


def test_attributes_come_from_the_call_else_the_default_else_are_absent():
    function = "F <k, axis: int = 3, m> (a) => (o) { o = Op <p: int = @k, axis: int = @axis, q: int = @m> (a) }"
    (node,) = splice(function, "y = d.F <k = 7, unused = 1> (x)").nodes
    assert [(each.name, each.i, each.ref_attr_name) for each in node.attribute] == [("p", 7, ""), ("axis", 3, "")]
    (node,) = splice(function, "y = d.F <k: int = @outer, axis = 1> (x)").nodes
    assert [(each.name, each.i, each.ref_attr_name) for each in node.attribute] == [("p", 0, "outer"), ("axis", 1, "")]


def test_a_reference_that_may_be_missing_does_not_hide_a_default():
    function, call = "F <axis: int = 3> (a) => (o) { o = Op <axis: int = @axis> (a) }", "y = d.F <axis: int = @k> (x)"
    with pytest.raises(Unfit, match="'k'"):
        splice(function, call)
    function = parse_function(HEAD + function)
    (node,) = splice_function(function, parse_node(call), FreshNames([]), certain={"k"}).nodes
    assert node.attribute[0].ref_attr_name == "k"


def test_values_of_subgraphs_get_new_names_and_capture_by_the_new_names():
    function = """F <k> (a, n) => (o) {
        t = Neg (a)
        o = If (n) <then_branch = g () => (float[N] u) <float[N] t2, float[N] t, float q> {
                        x = Op <p: int = @k> (t)  t2 = Abs (x)  u = Add (t2, a) },
                    else_branch = h () => (t) <float w = {1}> { v = Identity (w) }>
    }"""
    made = splice(function, "y = d.F <k = 5> (x, c)", "t = Neg (x)  y = Relu (t)").nodes
    assert shown(made) == [("Neg", ["x"], ["y__t"], ""), ("If", ["c"], ["y"], "")]
    then, other = (attribute.g for attribute in made[1].attribute)
    assert shown(then.node) == [
        ("Op", ["y__t"], ["y__x"], ""),
        ("Abs", ["y__x"], ["y__t2"], ""),
        ("Add", ["y__t2", "x"], ["y__u"], ""),
    ]
    assert then.node[0].attribute[0].i == 5
    assert then.output[0].name == "y__u" and not then.output[0].type.tensor_type.shape.dim[0].dim_param
    assert [value.name for value in then.value_info] == ["y__t2"]
    assert other.output[0].name == "y__t" and other.initializer[0].name == other.node[0].input[0] == "y__w"


def test_what_a_call_leaves_out_or_the_function_does_not_declare():
    function = "F <k> (a, n) => (o) { o = If (n) <then_branch = g () => (a) { u = Neg (n) }> }"
    assert splice(function, "y = d.F (x, c)").nodes[0].attribute[0].g.output[0].name == "x"
    with pytest.raises(Unfit, match="returns the input 'a', which the call omits"):
        splice(function, "y = d.F (, c)")
    with pytest.raises(Unfit, match="uses the attribute 'm', which it does not declare"):
        splice("F <k> (a) => (o) { o = Op <p: int = @m> (a) }", "y = d.F <m = 5> (x)")


def test_a_graph_that_the_call_gives_must_be_closed():
    function = "F <body> (n) => (o) { o = If <then_branch: graph = @body, else_branch: graph = @body> (n) }"
    call = "y = d.F <body = g () => (u) <float k = {1}> { u = Neg (k) }> (c)"
    (node,) = splice(function, call).nodes
    names = [attribute.g.node[0].output[0] for attribute in node.attribute]
    assert names == ["y__u", "y__u_1"]
    with pytest.raises(Unfit, match="'x'"):
        splice(function, "y = d.F <body = g () => (u) { u = Neg (x) }> (c)")


def test_outputs_that_are_inputs_or_other_outputs():
    made = splice("F (a) => (a, o, o) { o = Neg (a) }", "p, q, r = d.F (x)").nodes
    assert shown(made) == [("Neg", ["x"], ["q"], ""), ("Identity", ["x"], ["p"], ""), ("Identity", ["q"], ["r"], "")]
    made = splice("F (a) => (a) { o = Neg (a) }", "[call] p = d.F (x)").nodes
    assert shown(made) == [("Neg", ["x"], ["call__o"], "call__Neg"), ("Identity", ["x"], ["p"], "call__Identity")]
    with pytest.raises(Unfit, match="'p'"):
        splice("F (a, b) => (b) { o = Neg (a) }", "p = d.F (x)")


def test_metadata_and_device_configurations_of_the_call_stay():
    call = parse_node("[n] y = d.F (x)")
    call.metadata_props.add(key="layer", value="1")
    call.metadata_props.add(key="own", value="call")
    configuration = call.device_configurations.add(configuration_id="c", pipeline_stage=2)
    configuration.sharding_spec.add(tensor_name="y", device=[1])
    function = parse_function(HEAD + "F (a) => (o) { t = Neg (a) o = Abs (t) }")
    function.node[0].metadata_props.add(key="own", value="node")
    first, last = splice_function(function, call, FreshNames([])).nodes
    assert [(each.key, each.value) for each in first.metadata_props] == [("own", "node"), ("layer", "1")]
    assert [(each.key, each.value) for each in last.metadata_props] == [("layer", "1"), ("own", "call")]
    assert [len(node.device_configurations[0].sharding_spec) for node in (first, last)] == [0, 1]
    assert first.device_configurations[0].pipeline_stage == 2


def test_types_of_values_are_kept_without_names_of_dimensions():
    made = splice("F (a) => (o) <float[N, 3] t, float[2] o> { t = Neg (a) o = Abs (t) }", "y = d.F (x)")
    (value,) = made.value_info
    assert value.name == "y__t"
    assert [dim.WhichOneof("value") for dim in value.type.tensor_type.shape.dim] == [None, "dim_value"]


@pytest.mark.parametrize(
    ("type_", "path"),
    [
        ("seq(float[N, 3])", ("sequence_type.elem_type.tensor_type",)),
        ("optional(seq(float[N, 3]))", ("optional_type.elem_type.sequence_type.elem_type.tensor_type",)),
        ("map(int64, float[N, 3])", ("map_type.value_type.tensor_type",)),
        ("sparse_tensor(float[N, 3])", ("sparse_tensor_type",)),
    ],
)
def test_names_of_dimensions_inside_of_types_are_left_out(type_, path):
    made = splice(f"F (a) => (o) <{type_} t> {{ t = Neg (a) o = Abs (t) }}", "y = d.F (x)")
    found = made.value_info[0].type
    for field in path[0].split("."):
        found = getattr(found, field)
    assert [dim.WhichOneof("value") for dim in found.shape.dim] == [None, "dim_value"]


def test_what_a_node_of_the_function_shards_gets_the_new_name():
    function = parse_function(HEAD + "F (a) => (o) { t = Neg (a) o = Abs (t) }")
    configuration = function.node[1].device_configurations.add(configuration_id="c")
    for name in ("t", "o", "elsewhere"):
        configuration.sharding_spec.add(tensor_name=name)
    _, last = splice_function(function, parse_node("y = d.F (x)"), FreshNames([])).nodes
    specs = last.device_configurations[0].sharding_spec
    assert [each.tensor_name for each in specs] == [last.input[0], "y", "elsewhere"] and last.input[0] != "t"


def test_annotations_of_graphs_inside_get_the_new_names():
    function = parse_function(
        HEAD
        + """F (a, c) => (o) { t = Neg (a)
        o = If (c) <then_branch = h () => (p) { p = Abs (t) }, else_branch = e () => (q) { q = Exp (t) }> }"""
    )
    annotations = function.node[1].attribute[0].g.quantization_annotation
    for name in ("t", "p", "elsewhere"):
        annotations.add(tensor_name=name).quant_parameter_tensor_names.add(key="SCALE_TENSOR", value=name)
    _, last = splice_function(function, parse_node("y = d.F (x, c)"), FreshNames([])).nodes
    graph = last.attribute[0].g
    names = [graph.node[0].input[0], graph.output[0].name, "elsewhere"]
    assert "t" not in names
    assert [each.tensor_name for each in graph.quantization_annotation] == names
    assert [each.quant_parameter_tensor_names[0].value for each in graph.quantization_annotation] == names


def test_calls_with_more_than_the_function_has():
    with pytest.raises(Unfit, match="2 inputs and 1 outputs, and the function takes 1"):
        splice("F (a) => (o) { o = Abs (a) }", "y = d.F (x, x)")
    with pytest.raises(Unfit, match="1 inputs and 2 outputs, and the function takes 1 and computes 1"):
        splice("F (a) => (o) { o = Abs (a) }", "y, z = d.F (x)")
    assert shown(splice("F (a, b) => (o, p) { o = Abs (a) p = Neg (a) }", "y = d.F (x)").nodes)[0][0] == "Abs"


def test_inputs_are_renamed_except_where_a_graph_inside_has_the_name():
    graph = parse_model("""<ir_version: 8, opset_import: ["": 17]> g (float x, bool c) => (float y) {
        y = If (c) <then_branch = t () => (float p) { p = Neg (x) },
                    else_branch = e () => (float q) { x = Exp (y) q = Neg (x) }> }""").graph
    rename_values(graph, {"x": "z", "c": "d"})
    then, other = (each.g for each in graph.node[0].attribute)
    assert [each.name for each in graph.input] == ["z", "d"] and [*graph.node[0].input] == ["d"]
    assert [*then.node[0].input] == ["z"] and [[*each.input] for each in other.node] == [["y"], ["x"]]
