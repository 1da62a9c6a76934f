"""Rules about graphs: further ways through them, beside their fixtures."""

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opset
from opset.checker.pages import fixtures, set_field
from opset.model import proto as pb
from tests.bounds import draws, growth, lines
from tests.model.messages import messages

CODES = ("G2", "W2", "M106", "M11")
RELU = """<ir_version: 8, opset_import: ["": 17]>
main (float[N, 3] x) => (float[N, 3] y) { y = Relu (x) }"""
BRANCHES = """<ir_version: 8, opset_import: ["": 17]>
main (bool c, float[N] x) => (float[N] y) {
    before = Relu (x)
    y = If (c) <
        then_branch = positive () => (float[N] p) { p = Relu (x) },
        else_branch = negative () => (float[N] n) { n = Neg (x) }
    >
    after = Relu (y)
}"""
LOOP = """<ir_version: 3, opset_import: ["": 9]>
main (int64 n, bool c, float[3] x) => (float[3] y) {
    y = Loop (n, c, x) <
        body = step (int64 i, bool go, float[3] state, float[3] w) => (bool again, float[3] next)
        <float[3] w = {1, 2, 3}>
        { again = Identity (go)
          next = Mul (state, w) }
    >
}"""
FUNCTION = """<ir_version: 10, opset_import: ["": 17, "d": 1]>
main (float[N] x) => (float[N] y) { y = d.f (x) }
<domain: "d", opset_import: ["": 17]>
f (a) => (b) { b = Relu (a) }"""
BRANCH = "graph.node[1].attribute[0].g"
BODY = "graph.node[0].attribute[0].g"
BRANCH_PLACE = "graph 'main', node number 1 (If), then_branch"
OTHER_PLACE = "graph 'main', node number 1 (If), else_branch"
BODY_PLACE = "graph 'main', node number 0 (Loop), body"


def edited(text, edits):
    model = opset.parse_model(text)
    for path, value in edits.items():
        set_field(model, path, value)
    return model


def found(text, edits, codes=CODES):
    model = edited(text, edits)
    return [(each.code, each.place) for each in opset.check(model.SerializeToString(), select=codes, full=False)]


def value(name, number=1, *dims):
    return {
        "name": name,
        "type.tensor_type.elem_type": number,
        "type.tensor_type.shape.dim": [{"dim_value": each} for each in dims],
    }


def weight(name, *dims, number=1):
    return {"name": name, "data_type": number, "dims": [*dims]}


def training(part, name):
    """Edits that add a graph to training_info, with a graph in a node that computes a value of this name."""
    constant = {"op_type": "Constant", "output": [name], "attribute": [{"name": "value_int", "type": 2, "i": 1}]}
    branch = {"name": "inner", "node": [constant], "output": [{"name": name}]}
    attribute = {"name": "then_branch", "type": 5, "g": branch}
    nodes = [
        {"op_type": "Constant", "output": ["own"], "attribute": [{"name": "value_int", "type": 2, "i": 1}]},
        {"op_type": "If", "input": ["own"], "output": ["start"], "attribute": [attribute]},
    ]
    return {"training_info[+]": {part: {"name": "outer", "node": nodes, "output": [{"name": "start"}]}}}


@pytest.mark.parametrize(
    ("part", "name", "shadows"),
    [
        ("initialization", "x", False),  # an input of the main graph
        ("initialization", "y", False),
        ("initialization", "w", True),  # an initializer, which all graphs see
        ("initialization", "own", True),
        ("algorithm", "x", True),
        ("algorithm", "new", False),
    ],
)
def test_an_initialization_does_not_see_the_values_of_the_main_graph(part, name, shadows):
    places = found(RELU, {"graph.initializer[+]": weight("w", 1), **training(part, name)}, ("G207",))
    place = f"training_info[0].{part}, node number 1 (If), then_branch, node number 0 (Constant)"
    assert places == [("G207", place)] * shadows


def test_a_graph_inside_that_holds_nothing_has_no_name_either():
    assert ("G201", "graph 'main', node number 1 (If), then_branch") in found(BRANCHES, {BRANCH: {}})


ERRORS = ("G2", "M106", "M11")


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        # Names of graphs, inputs, outputs and initializers.
        (RELU, {"graph.name": None}, [("G201", "graph ''")]),
        (BRANCHES, {f"{BRANCH}.name": ""}, [("G201", BRANCH_PLACE)]),
        (
            RELU,
            {"training_info[+]": {"algorithm": {}}, "training_info[0].initialization": {"input": [value("a")]}},
            [
                ("G201", "training_info[0].initialization"),
            ],
        ),
        (RELU, {"graph.input[+]": value("", 1, 2)}, [("G202", "graph 'main', input number 1")]),
        (RELU, {"graph.value_info[+]": value("")}, [("G202", "graph 'main', value_info number 0")]),
        (BRANCHES, {f"{BRANCH}.input[+]": {}}, [("G202", f"{BRANCH_PLACE}, input number 0")]),
        (FUNCTION, {"functions[0].output[+]": ""}, [("G202", "function 'd.f', output number 1")]),
        (RELU, {"graph.initializer": [weight("", 1), weight("", 1)]}, [("G205", "graph 'main'")]),
        (RELU, {"graph.sparse_initializer[+]": {"values": weight("", 1)}}, [("G205", "graph 'main'")]),
        (
            RELU,
            {
                "graph.initializer[+]": weight("w", 1),
                "graph.sparse_initializer[+]": {"values": weight("w", 1), "dims": [1]},
            },
            [("G206", "graph 'main', initializer 'w'")],
        ),
        # Types of the main graph alone, shapes of tensors alone.
        (RELU, {"graph.input[0].type": {}}, [("G203", "graph 'main', input 'x'")]),
        (RELU, {"graph.output[0].type": None}, [("G203", "graph 'main', output 'y'")]),
        (RELU, {"graph.input[0].type.tensor_type.shape.dim": []}, []),
        (RELU, {"graph.output[0].type.tensor_type.shape": None}, [("G204", "graph 'main', output 'y'")]),
        (
            RELU,
            {"graph.input[+]": {"name": "s", "type.sparse_tensor_type.elem_type": 1}},
            [("G204", "graph 'main', input 's'")],
        ),
        (RELU, {"graph.input[+]": {"name": "s", "type.sequence_type.elem_type.tensor_type.elem_type": 1}}, []),
        (BRANCHES, {f"{BRANCH}.output[0].type": None}, []),
        # One definition, before each use.
        (RELU, {"graph.input[+]": value("x", 1, 2)}, [("M113", "graph 'main'")]),
        (RELU, {"graph.node[0].output[+]": "y"}, [("M113", "graph 'main', node number 0 (Relu)")]),
        (RELU, {"graph.output[+]": value("x", 1, 2, 3)}, []),
        (RELU, {"graph.output[+]": value("z", 1, 2)}, [("M112", "graph 'main'")]),
        (RELU, {"graph.node[0].input[0]": "y"}, [("M110", "graph 'main', node number 0 (Relu)")]),
        (BRANCHES, {f"{BRANCH}.node[0].input[0]": "after"}, [("M112", f"{BRANCH_PLACE}, node number 0 (Relu)")]),
        (BRANCHES, {f"{BRANCH}.node[0].input[0]": "p"}, [("M110", f"{BRANCH_PLACE}, node number 0 (Relu)")]),
        # Names of a graph around: inputs, initializers and outputs of earlier nodes, not of later ones.
        (
            BRANCHES,
            {f"{BRANCH}.node[+]": {"op_type": "Neg", "input": ["x"], "output": ["before"]}},
            [
                ("G207", f"{BRANCH_PLACE}, node number 1 (Neg)"),
            ],
        ),
        (BRANCHES, {f"{BRANCH}.node[+]": {"op_type": "Neg", "input": ["x"], "output": ["after"]}}, []),
        (BRANCHES, {f"{BRANCH}.initializer[+]": weight("x", 1)}, [("G207", BRANCH_PLACE)]),
        (
            BRANCHES,
            {"graph.node[1].attribute[1].g.node[0].output[0]": "p", "graph.node[1].attribute[1].g.output[0].name": "p"},
            [],
        ),
        # Outputs of a nested graph: its own values.
        (BRANCHES, {f"{BRANCH}.output[0].name": "before"}, [("G216", BRANCH_PLACE)]),
        (BRANCHES, {f"{BRANCH}.output[0].name": "c"}, [("G216", BRANCH_PLACE)]),
        (
            BRANCHES,
            {"graph.input[+]": value("", 1, 2), f"{BRANCH}.output[0].name": ""},
            [("G202", "graph 'main', input number 2"), ("G202", f"{BRANCH_PLACE}, output number 0")],
        ),
        (BRANCHES, {f"{BRANCH}.output[0].name": "after"}, [("M112", BRANCH_PLACE)]),
        (BRANCHES, {f"{BRANCH}.initializer[+]": weight("w", 2), f"{BRANCH}.output[0].name": "w"}, []),
        (LOOP, {f"{BODY}.output[1].name": "state"}, []),
        # Initializers and inputs, by the IR version.
        (RELU, {"ir_version": 3, "graph.initializer[+]": weight("w", 2)}, [("G208", "graph 'main'")]),
        (RELU, {"ir_version": 4, "graph.initializer[+]": weight("w", 2)}, []),
        (LOOP, {f"{BODY}.input[3]": None}, [("G208", BODY_PLACE)]),
        (LOOP, {f"{BODY}.input[3].name": "state", f"{BODY}.input[2].name": "w"}, [("G209", BODY_PLACE)]),
        (LOOP, {f"{BODY}.input[+]": {"name": "v"}, f"{BODY}.initializer[+]": weight("v", 3)}, []),
        (LOOP, {"ir_version": 4}, [("G210", BODY_PLACE)]),
        (LOOP, {"graph.node[0].input[+]": "x"}, [("G210", BODY_PLACE)]),
        (LOOP, {"graph.node[0].input[+]": "x", "graph.node[0].domain": "d"}, []),
        (
            LOOP,
            {
                "graph.node[0].input[+]": "x",
                "graph.node[0].domain": "d",
                "opset_import[+]": {"domain": "d", "version": 9},
            },
            [],
        ),
        (LOOP, {"graph.node[0].input[+]": "x", "opset_import": None}, []),
        (LOOP, {"graph.node[0].input": ["n", "c"]}, []),
        (RELU, {"graph.initializer[+]": weight("x", 2, 3)}, []),
        # Statements about values.
        (FUNCTION, {"functions[0].value_info": [value("b"), value("b")]}, [("G211", "function 'd.f', value_info 'b'")]),
        (RELU, {"graph.value_info[+]": value("x", 7, 2, 3)}, [("G212", "graph 'main', value 'x'")]),
        (RELU, {"graph.value_info[+]": value("x", 1, 2, 3)}, []),
        (RELU, {"graph.value_info[+]": value("x", 1, 2, 4)}, [("G212", "graph 'main', value 'x'")]),
        (RELU, {"graph.value_info[+]": value("x", 1, 2)}, [("G212", "graph 'main', value 'x'")]),
        (RELU, {"graph.value_info[+]": {"name": "x", "type.tensor_type.elem_type": 1}}, []),
        (RELU, {"graph.initializer[+]": weight("x", 2, 4)}, [("G212", "graph 'main', value 'x'")]),
        (RELU, {"graph.initializer[+]": weight("x", 2, 3, number=7)}, [("G212", "graph 'main', value 'x'")]),
        (
            RELU,
            {"graph.sparse_initializer[+]": {"values": weight("x", 1), "dims": [2, 4]}},
            [("G212", "graph 'main', value 'x'")],
        ),
        (RELU, {"graph.output[+]": value("x", 7, 2, 3)}, [("G212", "graph 'main', value 'x'")]),
        # Names of nodes, in each graph of its own.
        (BRANCHES, {"graph.node[0].name": "a", f"{BRANCH}.node[0].name": "a"}, []),
        (
            BRANCHES,
            {"graph.node[0].name": "a", "graph.node[2].name": "a"},
            [
                ("G213", "graph 'main', node 'a' (Relu), node number 2"),
            ],
        ),
    ],
)
def test_what_is_an_error(text, edits, expected):
    assert found(text, edits, ERRORS) == expected


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        (RELU, {"ir_version": 2}, [("G214", "model")]),
        (RELU, {"ir_version": 6, "training_info[+]": {}}, [("G214", "model")]),
        (RELU, {"ir_version": 7, "training_info[+]": {}}, []),
        (FUNCTION, {"ir_version": 7}, [("G214", "model")]),
        (
            FUNCTION,
            {"ir_version": 8, "functions[0].attribute_proto[+]": {"name": "k", "type": 1, "f": 1.0}},
            [
                ("G214", "function 'd.f'"),
            ],
        ),
        (
            FUNCTION,
            {"ir_version": 9, "functions[0].overload": "g", "graph.node[0].overload": "g"},
            [
                ("G214", "graph 'main', node number 0 (f)"),
                ("G214", "function 'd.f:g'"),
            ],
        ),
        (FUNCTION, {"ir_version": 9, "functions[0].value_info[+]": value("a")}, [("W202", "function 'd.f'")]),
        (RELU, {"ir_version": 10, "configuration[+]": {"name": "c"}}, [("W202", "model")]),
        (
            RELU,
            {"ir_version": 10, "graph.node[0].device_configurations[+]": {}},
            [
                ("W202", "graph 'main', node number 0 (Relu)"),
            ],
        ),
        (RELU, {"ir_version": 9, "graph.metadata_props[+]": {"key": "a"}}, [("W202", "graph 'main'")]),
        (RELU, {"ir_version": 9, "graph.input[0].metadata_props[+]": {"key": "a"}}, [("W202", "graph 'main'")]),
        (RELU, {"ir_version": 10, "graph.input[0].metadata_props[+]": {"key": "a"}}, []),
        (RELU, {"ir_version": 4, "graph.quantization_annotation[+]": {}}, [("W202", "graph 'main'")]),
        (
            RELU,
            {"ir_version": 5, "graph.sparse_initializer[+]": {"values": weight("s", 1)}},
            [("G214", "graph 'main'")],
        ),
        # Element types of values, of constants, and named by attributes of the standard's operators.
        (RELU, {"graph.initializer[+]": weight("w", 1, number=17)}, [("G214", "graph 'main'")]),
        (RELU, {"ir_version": 9, "graph.initializer[+]": weight("w", 1, number=17)}, []),
        (RELU, {"ir_version": 12, "graph.value_info[+]": value("y", 26)}, [("G214", "graph 'main'")]),
        (
            RELU,
            {"graph.node[0].attribute[+]": {"name": "to", "type": 2, "i": 17}},
            [
                ("G214", "graph 'main', node number 0 (Relu)"),
            ],
        ),
        (RELU, {"graph.node[0].attribute[+]": {"name": "to", "type": 2, "i": 17}, "graph.node[0].domain": "d"}, []),
        (
            RELU,
            {"graph.node[0].attribute[+]": {"name": "value", "type": 4, "t": weight("", 1, number=17)}},
            [
                ("G214", "graph 'main', node number 0 (Relu)"),
            ],
        ),
        (
            RELU,
            {"graph.node[0].attribute[+]": {"name": "type", "type": 13, "tp.tensor_type.elem_type": 17}},
            [
                ("G214", "graph 'main', node number 0 (Relu)"),
            ],
        ),
        (
            RELU,
            {"ir_version": 7, "graph.input[+]": {"name": "s", "type.sparse_tensor_type.shape.dim": []}},
            [
                ("G214", "graph 'main'"),
            ],
        ),
        # Sequences came with version 6, and before with ai.onnx.ml.
        (
            RELU,
            {"ir_version": 5, "graph.input[+]": {"name": "s", "type.sequence_type.elem_type.tensor_type.elem_type": 1}},
            [
                ("G214", "graph 'main'"),
            ],
        ),
        (
            RELU,
            {
                "ir_version": 5,
                "opset_import[+]": {"domain": "ai.onnx.ml", "version": 1},
                "graph.input[+]": {"name": "s", "type.map_type.value_type.tensor_type.elem_type": 1},
            },
            [],
        ),
    ],
)
def test_what_came_with_a_later_ir_version(text, edits, expected):
    assert found(text, edits, ("G214", "W202")) == expected


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        (RELU, {"graph.value_info[+]": value("t")}, [("W201", "graph 'main', value_info 't'")]),
        (BRANCHES, {f"{BRANCH}.value_info[+]": value("before")}, []),
        (FUNCTION, {"functions[0].value_info": [value("a"), value("b")]}, []),
        (FUNCTION, {"functions[0].value_info": [value("x")]}, [("W201", "function 'd.f', value_info 'x'")]),
        (FUNCTION, {"functions[0].attribute[+]": "a.b"}, [("W203", "function 'd.f'")]),
        (RELU, {"graph.node[0].attribute[+]": {"name": "a-b"}}, [("W203", "graph 'main'")]),
        (
            RELU,
            {
                "graph.value_info[+]": {
                    "name": "y",
                    "type.sequence_type.elem_type.tensor_type.shape.dim": [{"dim_param": "N+1"}],
                }
            },
            [
                ("W204", "graph 'main'"),
            ],
        ),
        (
            RELU,
            {
                "graph.value_info[+]": {
                    "name": "y",
                    "type.map_type.value_type.tensor_type.shape.dim": [{"dim_param": "N"}],
                }
            },
            [],
        ),
        (RELU, {"graph.value_info": [value("", 1, 2)]}, []),
        (RELU, {"doc_string": "see <a href='x'>this</a>"}, [("W207", "model")]),
        (RELU, {"graph.node[0].doc_string": "<br/>"}, [("W207", "graph 'main', node number 0 (Relu)")]),
        (RELU, {"graph.input[0].doc_string": "<P>"}, [("W207", "graph 'main', value 'x'")]),
        (RELU, {"graph.node[0].doc_string": "File <stdin>, x<b and c>d"}, []),
    ],
)
def test_what_is_a_warning(text, edits, expected):
    assert found(text, edits, ("W201", "W203", "W204", "W207")) == expected


@pytest.mark.parametrize(
    ("text", "edits", "places"),
    [
        (RELU, {}, ["graph 'main'"]),
        (RELU, {"graph.doc_string": "squares"}, []),
        (FUNCTION, {"graph.doc_string": "squares"}, []),
        (BRANCHES, {"graph.doc_string": "", f"{BRANCH}.doc_string": "x"}, ["graph 'main'", OTHER_PLACE]),
    ],
)
def test_graphs_are_documented_but_functions_need_not_be(text, edits, places):
    assert found(text, edits, ("W206",)) == [("W206", place) for place in places]


def test_a_check_fails_by_errors_alone():
    warned = edited(RELU, {"graph.value_info": [value("gone", 1, 2)]})
    assert opset.check_model(warned) is None
    wrong = edited(RELU, {"graph.value_info": [value("gone", 1, 2)], "graph.name": None})
    with pytest.raises(opset.CheckError) as caught:
        opset.check_model(wrong)
    assert [each.code for each in caught.value.findings] == ["G201"]
    for options in ({"ignore": ["G201"]}, {"select": ["W2"]}, {"select": ["G"], "ignore": ["G2"]}):
        assert opset.check_model(wrong, **options) is None
    other = edited(RELU, {"graph.node[0].domain": "own", "opset_import[+]": {"domain": "own", "version": 1}})
    assert opset.check_model(other, ignore=["G312"]) is None
    with pytest.raises(opset.CheckError):  # it is asked for by its own option
        opset.check_model(other, check_custom_domain=True, ignore=["G312"])


def test_names_that_are_not_utf8_are_shown():
    before, _, after = edited(BRANCHES, {f"{BRANCH}.name": "spam"}).SerializeToString().partition(b"spam")
    assert opset.check(before + b"sp\xffm" + after, select=("G2", "W2"), full=False)
    data = edited(RELU, {"graph.node[0].name": "spam"}).SerializeToString().replace(b"spam", b"sp\xffm")
    (finding,) = opset.check(data, select=["M106"], full=False)
    assert finding.place == "graph 'main', node number 0"


def test_an_operator_whose_name_is_not_utf8_is_none_that_is_known():
    data = edited(RELU, {"graph.node[0].op_type": "spam"}).SerializeToString().replace(b"spam", b"sp\xffm")
    found = opset.check(data, select=["M106", "G3", "W3"], full=False)
    assert [(each.code, each.place) for each in found] == [("M106", "graph 'main', node number 0")]


def test_a_doc_string_that_is_not_utf8_is_not_searched_for_markup():
    data = edited(RELU, {"doc_string": "<br/>", "graph.node[0].doc_string": "<i>spam</i>"}).SerializeToString()
    found = opset.check(data.replace(b"spam", b"sp\xffm"), select=["W207"], full=False)
    assert [each.place for each in found] == ["model"]


@pytest.mark.parametrize(
    ("name", "code", "place"),
    [
        (b"giv", "M106", "graph 'g'"),
        (b"com", "M106", "graph 'g', node number 0 (Elu)"),
        (b"out", "M106", "graph 'g', node number 1 (Neg)"),
        (b"alpha", "G324", "graph 'g', node number 0 (Elu)"),
        (b"key", "G324", "graph 'g', node number 2 (F)"),
    ],
)
def test_each_name_that_is_not_utf8_is_found_once(name, code, place):
    text = """<ir_version: 10, opset_import: ["": 17, "d": 1]> g (float[2] giv) => (float[2] out) {
        com = Elu <alpha = 1.0> (giv) out = Neg (com) more = d.F <key = 1> (com) }
        <domain: "d", opset_import: ["": 17]> F <key> (a) => (b) { b = Cast <to: int = @key> (a) }"""
    before, first, after = opset.parse_model(text).SerializeToString().partition(name)
    others = after.replace(name, name[:-1] + b"\xff") if code == "M106" else after
    found = opset.check(before + first[:-1] + b"\xff" + others, select=["M1", "G324"], full=False)
    assert [(each.code, each.place) for each in found] == [(code, place)]


@given(messages("GraphProto", 3), st.integers(0, 15))
@settings(max_examples=draws(300))
def test_whatever_a_file_holds_gives_findings_alone(graph, ir_version):
    model = pb.ModelProto(ir_version=ir_version, graph=graph, opset_import=[{"version": 17}])
    try:
        findings = opset.check(model.SerializeToString(), select=CODES, full=False)
    except opset.ModelError:
        return
    assert {each.code for each in findings} <= {*fixtures()}


def test_a_rule_looks_at_each_name_a_few_times():
    def chain(count):
        nodes = [{"op_type": "Relu", "input": [f"v{at}"], "output": [f"v{at + 1}"]} for at in range(count)]
        stated = [value(f"v{at}", 1, 2) for at in range(1, count)]
        model = edited(RELU, {"graph.input[0]": value("v0", 1, 2), "graph.output[0]": value(f"v{count}", 1, 2)})
        for path, values in (("graph.node", nodes), ("graph.value_info", stated)):
            set_field(model, path, values)
        return model.SerializeToString()

    small, large = chain(300), chain(1200)
    assert opset.check(small, select=(*ERRORS, "W201", "W202"), full=False) == []
    with lines(10**8) as count:
        opset.check(small, select=(*ERRORS, "W201", "W202"), full=False)
    with lines(5 * count()):
        opset.check(large, select=(*ERRORS, "W201", "W202"), full=False)


def test_onnx_rejects_no_more():
    """A graph that onnx's checker rejects for its names or types has a finding of these rules."""
    for text, edits in (
        (RELU, {"graph.name": None}),
        (RELU, {"graph.input[0].type.tensor_type.shape": None}),
        (RELU, {"graph.initializer": [weight("w", 0), weight("w", 0)]}),
        (BRANCHES, {f"{BRANCH}.node[+]": {"op_type": "Neg", "input": ["x"], "output": ["before"]}}),
        (LOOP, {f"{BODY}.input[3]": None}),
    ):
        with pytest.raises(onnx.checker.ValidationError):
            onnx.checker.check_model(edited(text, edits).SerializeToString())
        assert found(text, edits)


def test_the_work_is_linear_in_the_outputs_of_a_graph():
    def checking(count):
        own, outer = (", ".join(f"{each}{at}" for at in range(count)) for each in "vy")
        computed = " ".join(f"v{at} = Neg (x)" for at in range(count))
        branches = f"<then_branch = t () => ({own}) {{ }}, else_branch = e () => ({own}) {{ }}>"
        head = '<ir_version: 8, opset_import: ["": 17]> g (bool c, float[2] x) => (float[2] y0)'
        model = opset.parse_model(f"{head} {{ {computed} {outer} = If (c) {branches} }}")
        return lambda: opset.check(model, select="G216", full=False)

    assert len(checking(3)()) == 6
    assert growth(checking, 40, 4) < 1.3
