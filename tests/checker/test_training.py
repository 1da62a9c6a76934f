"""Rules about training and quantization annotations: each way through them, beside their fixtures."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opset
from opset.checker.pages import fixtures, good_model, set_field
from opset.model import proto as pb
from tests.bounds import draws, lines
from tests.model.messages import messages

STEP, SECOND = "training_info[0]", "training_info[1]"


def found(edits, example="G701", codes=("G70", "G71", "W70")):
    """The codes and places of the rules' findings in a good example after edits."""
    model = good_model(example)
    for path, value in edits.items():
        set_field(model, path, value)
    return [(each.code, each.place) for each in opset.check(model.SerializeToString(), select=codes, full=False)]


def binding(key, value):
    return {"key": key, "value": value}


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        # A variable of the algorithm is bound as one of the main graph is.
        ({f"{STEP}.update_binding[0].key": "rate", f"{STEP}.initialization_binding[0].key": "rate"}, []),
        # An update takes an output of the main graph, too; an initialization does not.
        ({f"{STEP}.update_binding[0].value": "y"}, []),
        (
            {f"{STEP}.initialization_binding[0].value": "y"},
            [("G705", f"{STEP}.initialization_binding")],
        ),
        ({f"{STEP}.initialization_binding[0].key": "x"}, [("G704", f"{STEP}.initialization_binding")]),
        # An empty name is none, even if an initializer or output has no name.
        (
            {
                "graph.initializer[+]": {"data_type": 1},
                f"{STEP}.algorithm.output[+]": {},
                f"{STEP}.update_binding[0]": {},
            },
            [("G704", f"{STEP}.update_binding"), ("G705", f"{STEP}.update_binding")],
        ),
        # Keys of updates are unique in the model, those of initializations in one entry.
        (
            {"training_info[+]": {"update_binding": [binding("w", "y")]}},
            [("G703", f"{SECOND}.update_binding")],
        ),
        ({f"{STEP}.initialization_binding[+]": binding("w", "start")}, [("G703", f"{STEP}.initialization_binding")]),
        (
            {
                "training_info[+]": {"initialization_binding": [binding("w", "start")]},
                f"{SECOND}.initialization": {"output": [{"name": "start"}]},
            },
            [],
        ),
        # The initializers of one algorithm are not those of another.
        (
            {"training_info[+]": {"update_binding": [binding("rate", "y")]}},
            [("G704", f"{SECOND}.update_binding")],
        ),
    ],
)
def test_bindings(edits, expected):
    assert found(edits) == expected


def test_initialization_may_use_variables_and_no_other_value_of_the_main_graph():
    node = f"{STEP}.initialization.node[+]"
    allowed = {"op_type": "Neg", "input": ["w", "start", ""], "output": ["other"]}
    assert found({node: allowed}) == []
    place = f"{STEP}.initialization, node number 1 (Neg)"
    assert found({node: allowed | {"input": ["x"]}}) == [("G702", place)]
    assert found({node: allowed | {"input": ["x"]}, f"{STEP}.initialization.initializer[+]": {"name": "x"}}) == []
    assert found({f"{STEP}.initialization.output[+]": {"name": "y"}}) == [("G702", f"{STEP}.initialization")]
    # The algorithm runs with the main graph, whose values it has.
    assert found({f"{STEP}.algorithm.node[+]": {"op_type": "Neg", "input": ["y"], "output": ["other"]}}) == []


def test_initialization_with_a_subgraph_sees_its_own_values_first():
    branch = {"name": "b", "node": [{"op_type": "Neg", "input": ["x"], "output": ["z"]}], "output": [{"name": "z"}]}
    inner = {"name": "then_branch", "type": 5, "g": branch}
    edits = {f"{STEP}.initialization.node[+]": {"op_type": "If", "output": ["t"], "attribute": [inner]}}
    place = f"{STEP}.initialization, node number 1 (If), then_branch, node number 0 (Neg)"
    assert found(edits) == [("G702", place)]
    assert found(edits | {f"{STEP}.initialization.initializer[+]": {"name": "x"}}) == []


def test_initialization_names_the_first_of_many_inputs():
    edits = {f"{STEP}.initialization.input": [{"name": "a"}, {"name": "b"}]}
    assert found(edits) == [("G701", f"{STEP}.initialization")]


@pytest.mark.parametrize(
    ("edits", "place"),
    [
        # One is an input and the other an initializer: an input with a default.
        ({f"{STEP}.algorithm.input[+]": {"name": "w"}}, None),
        ({f"{STEP}.algorithm.initializer[+]": {"name": "x"}}, None),
        ({f"{STEP}.algorithm.initializer[+]": {"name": "w"}}, f"{STEP}.algorithm"),
        ({f"{STEP}.algorithm.sparse_initializer[+]": {"values": {"name": "w"}}}, f"{STEP}.algorithm"),
        ({f"{STEP}.algorithm.input[+]": {"name": "y"}}, f"{STEP}.algorithm"),
        (
            {f"{STEP}.algorithm.node[+]": {"op_type": "Neg", "input": ["w"], "output": ["x"]}},
            f"{STEP}.algorithm, node number 1 (Neg)",
        ),
        # A name that both leave out is none.
        ({f"{STEP}.algorithm.initializer[+]": {}, "graph.initializer[+]": {}}, None),
        # Two algorithms never run as one graph.
        ({"training_info[+]": {"algorithm": {"initializer": [{"name": "rate"}]}}}, None),
        ({"training_info[+]": {"algorithm": {"initializer": [{"name": "w"}]}}}, f"{SECOND}.algorithm"),
    ],
)
def test_combined_graph_defines_a_name_once(edits, place):
    assert found(edits) == ([("G706", place)] if place else [])


def test_training_before_ir_version_7_is_not_checked():
    assert found({f"{STEP}.update_binding[0].key": "x", "ir_version": 6}) == []


ANNOTATION = "graph.quantization_annotation[0]"
PLACE = "graph 'main', quantization_annotation 'x'"


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ({f"{ANNOTATION}.quant_parameter_tensor_names[+]": binding("ZERO_POINT_TENSOR", "zero")}, []),
        (
            {f"{ANNOTATION}.quant_parameter_tensor_names[+]": binding("ZERO_POINT_TENSOR", "")},
            [("G712", PLACE)],
        ),
        # What another key names need not be a tensor.
        ({f"{ANNOTATION}.quant_parameter_tensor_names[+]": binding("DATA_TYPE", "INT4")}, [("W701", PLACE)]),
        # A key that is not known is reported once in a graph.
        (
            {
                f"{ANNOTATION}.quant_parameter_tensor_names[+]": binding("DATA_TYPE", "INT4"),
                "graph.quantization_annotation[+]": {
                    "tensor_name": "q",
                    "quant_parameter_tensor_names": [binding("DATA_TYPE", "INT4")],
                },
            },
            [("W701", PLACE)],
        ),
        ({f"{ANNOTATION}.tensor_name": None}, [("G711", "graph 'main', quantization_annotation ''")]),
    ],
)
def test_annotations(edits, expected):
    assert found(edits, "G711") == expected


def test_annotations_of_a_subgraph_may_name_values_around_it():
    edits = {
        "graph.node[0].attribute[0].g.quantization_annotation": [{"tensor_name": "x"}, {"tensor_name": "n"}],
        "graph.quantization_annotation": [{"tensor_name": "p"}],
    }
    inside = "graph 'main', node number 0 (If), then_branch, quantization_annotation 'n'"
    expected = [("G711", "graph 'main', quantization_annotation 'p'"), ("G711", inside)]
    assert found(edits, "G328") == expected


def test_checking_training_is_linear():
    """Many entries of training_info beside a large main graph: neither counts for each of the other."""

    def cost(size):
        model = good_model("G701")
        for number in range(size):
            model.graph.initializer.add(name=f"w{number}")
            step = model.training_info.add()
            step.initialization.name = step.algorithm.name = "g"
            step.update_binding.add(key=f"w{number}", value="y")
        data = model.SerializeToString()
        with lines(10**7) as used:
            assert opset.check(data, select=["G7"], full=False) == []
        return used()

    assert cost(400) < 2.5 * cost(200)


@given(st.lists(messages("TrainingInfoProto", 2), max_size=3), messages("GraphProto", 2))
@settings(max_examples=draws(200))
def test_whatever_a_file_holds_gives_findings_alone(training, graph):
    model = pb.ModelProto(ir_version=8, training_info=training, graph=graph)
    try:
        found = opset.check(model.SerializeToString(), select=["G7", "W7"], full=False)
    except opset.ModelError:
        return
    assert {each.code for each in found} <= {*fixtures()}


def test_names_that_are_not_utf8_are_shown():
    before, _, after = good_model("G701").SerializeToString().rpartition(b"start")
    (finding,) = opset.check(before + b"sta\xfft" + after, select=["G7"], full=False)
    assert finding.code == "G705"
    assert finding.message == "'w' is bound to 'sta\\xfft', which is no output of the initialization"
