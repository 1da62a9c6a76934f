"""Parts of models are checked alone."""

import onnx
import pytest
from onnx import TensorProto, helper

import opset


def codes(findings):
    return [each.code for each in findings]


def test_a_node_is_held_to_its_operator_at_its_opsets():
    node = helper.make_node("Gelu", ["x"], ["y"], approximate="tanh")
    assert codes(opset.check_node(node)) == []
    assert codes(opset.check_node(node, 17)) == ["G313"]
    assert codes(opset.check_node(node, {"": 20})) == []
    assert codes(opset.check_node(helper.make_node("Gelu", ["x", "z"], ["y"], slope=1))) == ["G321", "G324"]


def test_graphs_in_a_node_may_read_what_is_around_it():
    branch = helper.make_graph([helper.make_node("Neg", ["around"], ["b"])], "b", [], [onnx.ValueInfoProto(name="b")])
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    assert codes(opset.check_node(node)) == []
    branch.node[0].op_type = "Nag"
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    assert codes(opset.check_node(node)) == ["G311", "G311"]


def test_an_attribute_has_one_value():
    attribute = helper.make_attribute("axis", 1)
    assert codes(opset.check_attribute(attribute)) == []
    attribute.f = 1.0
    (finding,) = opset.check_attribute(attribute)
    assert (finding.code, finding.place) == ("G306", "graph 'part', node number 0 (Any)")


def test_a_graph_is_checked_with_its_types():
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    wrong = helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [value], [wrong])
    assert codes(opset.check_graph(graph, 17, ir_version=8)) == ["I101"]
    graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, [2]))
    assert codes(opset.check_graph(graph)) == []  # the imports around a graph are none of its own


def test_a_function_counts_its_own_imports():
    node = helper.make_node("Gelu", ["a"], ["b"])
    for version, expected in ((20, []), (17, ["G313"])):
        function = helper.make_function("own", "F", ["a"], ["b"], [node], [helper.make_opsetid("", version)])
        assert codes(opset.check_function(function)) == expected


@pytest.mark.parametrize("check", [opset.check_tensor, opset.check_sparse_tensor, opset.check_value_info])
def test_parts_take_messages_of_either_package(check):
    kind = {"check_tensor": "Tensor", "check_sparse_tensor": "SparseTensor", "check_value_info": "ValueInfo"}
    message = getattr(onnx, f"{kind[check.__name__]}Proto")()
    assert isinstance(check(message), list)
