"""Rules about device configurations: each way through them, beside their fixtures."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opset
from opset.checker.pages import fixtures, good_model, set_field
from tests.bounds import draws, lines
from tests.model.messages import messages

GIVEN = "graph.node[0].device_configurations[0]"
SPEC = f"{GIVEN}.sharding_spec[0]"
NODE = "graph 'main', node number 0 (Relu)"


def found(edits, example="G721"):
    """The codes and places of the rules' findings in the good example after edits."""
    model = good_model(example)
    for path, value in edits.items():
        set_field(model, path, value)
    return [(each.code, each.place) for each in opset.check(model.SerializeToString(), select=["G7", "W7"], full=False)]


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ({"configuration[0].device": None}, []),
        ({"configuration[0].device": ["left"] * 3}, [("G725", "configuration 'pair'")]),
        # Without a known number of devices no device is wrong.
        ({"configuration[0].num_devices": -1, f"{SPEC}.device": [7]}, [("G723", "configuration 'pair'")]),
        ({"configuration[0].num_devices": 0, f"{SPEC}.device": [7]}, [("G723", "configuration 'pair'")]),
        ({f"{GIVEN}.configuration_id": "trio", f"{SPEC}.device": [7]}, [("G727", NODE)]),
        ({"configuration": None, f"{SPEC}.device": [7]}, [("G727", NODE)]),
        (
            {"configuration": [{}, {"num_devices": 0}], GIVEN: {}},
            [
                ("G721", "configuration number 0"),
                ("G722", "configuration number 0"),
                ("G721", "configuration number 1"),
                ("G723", "configuration number 1"),
                ("G726", NODE),
            ],
        ),
        # One without a name is no configuration of a node that names none.
        (
            {"configuration": [{"num_devices": 2}], f"{GIVEN}.configuration_id": None, f"{SPEC}.device": [7]},
            [("G721", "configuration number 0"), ("G726", NODE)],
        ),
        # Of two configurations with one name the first counts.
        (
            {"configuration[+]": {"name": "pair", "num_devices": 9}, f"{SPEC}.device": [7]},
            [("G724", "configuration 'pair'"), ("G733", NODE)],
        ),
    ],
)
def test_configurations(edits, expected):
    assert found(edits) == expected


@pytest.mark.parametrize(
    ("edits", "codes"),
    [
        ({f"{SPEC}.tensor_name": "y"}, []),
        ({f"{SPEC}.tensor_name": None, "graph.node[0].input[+]": ""}, ["G731"]),
        ({f"{SPEC}.device": [-1]}, ["G733"]),
        ({f"{SPEC}.device": [7, 7, 7]}, ["G733"]),
        ({"configuration[0].device": ["only"], "configuration[0].num_devices": 1, f"{SPEC}.device": [0, 1]}, ["G733"]),
        # A number with a group is that group, whatever it is.
        ({f"{SPEC}.device": [-1, 1], f"{SPEC}.index_to_device_group_map": [{"key": -1, "value": [0, 1]}]}, []),
        ({f"{SPEC}.device": [7], f"{SPEC}.index_to_device_group_map": [{"key": 1, "value": [0]}]}, ["G733"]),
        ({f"{SPEC}.index_to_device_group_map": [{"key": 1, "value": [-1, 2, 2]}]}, ["G734", "G734"]),
        ({f"{SPEC}.device": None, f"{SPEC}.index_to_device_group_map": [{"key": 3}, {"key": 3}]}, ["G735"]),
    ],
)
def test_shardings(edits, codes):
    assert found(edits) == [(code, NODE) for code in codes]


@pytest.mark.parametrize(
    ("edits", "codes"),
    [
        ({f"{SPEC}.sharded_dim": [{"axis": -2}, {"axis": 1}]}, []),
        ({f"{SPEC}.sharded_dim": [{"axis": -3}]}, ["G737"]),
        ({f"{SPEC}.sharded_dim": [{"axis": -1}, {"axis": 1}, {"axis": 1}]}, ["G738", "G738"]),
        # The rank is not known: each axis is possible, and only equal numbers are equal.
        ({"graph.input[0].type.tensor_type.shape": None, f"{SPEC}.sharded_dim": [{"axis": 9}, {"axis": -1}]}, []),
        (
            {"graph.input[0].type.tensor_type.shape": None, f"{SPEC}.sharded_dim": [{"axis": -1}, {"axis": -1}]},
            ["G738"],
        ),
        # A sequence has no axes that are known.
        ({"graph.input[0].type": {"sequence_type": {}}, f"{SPEC}.sharded_dim": [{"axis": 9}]}, []),
        # The rank follows from an initializer, a value_info or the graph's output.
        (
            {
                "graph.initializer[+]": {"name": "w", "data_type": 1, "dims": [2]},
                "graph.node[0].input": ["w"],
                f"{SPEC}.tensor_name": "w",
                f"{SPEC}.sharded_dim": [{"axis": 1}],
            },
            ["G737"],
        ),
        ({f"{SPEC}.tensor_name": "y", f"{SPEC}.sharded_dim": [{"axis": 2}]}, ["G737"]),
        ({f"{SPEC}.sharded_dim[0].simple_sharding[0]": {"num_shards": -1, "dim_value": -5}}, ["G740", "G741"]),
        ({f"{SPEC}.sharded_dim[0].simple_sharding[0]": {"num_shards": 0, "dim_value": -1}}, ["G740", "G741"]),
        ({f"{SPEC}.sharded_dim[0].simple_sharding[0]": {"num_shards": 1, "dim_value": 0}}, []),
        ({f"{SPEC}.sharded_dim[0].simple_sharding[0]": {"num_shards": 2, "dim_param": "N"}}, []),
        ({f"{SPEC}.sharded_dim": [{"simple_sharding": [{}]}]}, ["G736", "G739"]),
    ],
)
def test_sharded_dimensions(edits, codes):
    assert found(edits) == [(code, NODE) for code in codes]


def test_rank_of_a_scalar_leaves_no_axis():
    edits = {"graph.input[0].type.tensor_type.shape.dim": None, f"{SPEC}.sharded_dim": [{"axis": 0}]}
    assert found(edits) == [("G737", NODE)]


def test_rank_in_a_subgraph_follows_from_the_graphs_around():
    spec = {"tensor_name": "x", "sharded_dim": [{"axis": 1}]}
    branch = "graph.node[0].attribute[0].g"
    configurations = [{"configuration_id": "c", "sharding_spec": [spec]}]
    edits = {
        "ir_version": 11,
        "configuration": [{"name": "c", "num_devices": 1}],
        f"{branch}.node[0].device_configurations": configurations,
    }
    place = "graph 'main', node number 0 (If), then_branch, node number 0 (Relu)"
    assert found(edits, "G328") == [("G737", place)]
    # A value of its own hides the one around it, whose rank then says nothing.
    assert found(edits | {f"{branch}.input": [{"name": "x"}]}, "G328") == []


def test_devices_before_ir_version_11_are_not_checked():
    assert found({GIVEN: {"pipeline_stage": -1}, "ir_version": 10}) == []


def test_checking_devices_is_linear():
    """Many graphs with shardings inside a graph that states many ranks: these are gathered once."""

    def cost(size):
        model = good_model("G721")
        configuration = model.graph.node[0].device_configurations[0]
        for number in range(size):
            model.graph.value_info.add(name=f"v{number}").type.tensor_type.shape.SetInParent()
            node = model.graph.node.add(op_type="If", input=["c"], output=[f"v{number}"])
            graph = node.attribute.add(name="then_branch", type=5).g
            inner = graph.node.add(op_type="Relu", input=["x"], output=["y"])
            inner.device_configurations.append(configuration)
        data = model.SerializeToString()
        with lines(10**7) as used:
            assert opset.check(data, select=["G7"], full=False) == []
        return used()

    assert cost(400) < 2.5 * cost(200)


@given(
    st.lists(messages("DeviceConfigurationProto"), max_size=3),
    st.lists(messages("NodeDeviceConfigurationProto"), max_size=3),
)
@settings(max_examples=draws(200))
def test_whatever_a_file_holds_gives_findings_alone(configurations, given):
    model = good_model("G721")
    model.configuration.extend(configurations)
    model.graph.node[0].device_configurations.extend(given)
    model.graph.node.add(op_type="Neg", device_configurations=given)
    found = opset.check(model.SerializeToString(), select=["G7", "W7"], full=False)
    assert {each.code for each in found} <= {*fixtures()}


def test_names_that_are_not_utf8_are_shown():
    data = good_model("G721").SerializeToString().replace(b"pair", b"pa\xffr", 1).replace(b"x", b"\xff")
    (finding,) = opset.check(data, select=["G7"], full=False)
    assert finding.code == "G727"
    assert finding.message == "the model has no device configuration 'pa\\xffr'"
