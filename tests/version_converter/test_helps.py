"""The help of a refusal is true: what it says is done, and the reason is gone."""

from collections import Counter

import numpy as np
import pytest
from onnx import TensorProto, helper

import opset
from judges.conformance.helps import examined
from judges.conformance.judge import Case, opset_of
from judges.conformance.matrix import node_cases
from opset.errors import ConversionError
from tests.bounds import growth


def test_helps_of_node_cases_help():
    kinds = Counter()
    for case in node_cases()[::40]:
        for to in (7, 12):
            if to < (opset_of(case.model) or 0):
                for kind, finding in examined(case, to):
                    kinds[kind] += 1
                    assert kind in ("true", "not followed"), str(finding)
    assert kinds["true"] > 10


def test_sizes_are_asked_for_where_some_are_open():
    pool = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2], strides=[3], pads=[0, 1], ceil_mode=1)
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, None])]
    graph = helper.make_graph([pool], "g", [helper.make_tensor_value_info("x", 1, [1, 1, "N"])], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=8)
    case = Case("pool", model, {"x": np.ones((1, 1, 5), np.float32)}, [])
    ((kind, finding),) = examined(case, 9)
    assert (kind, finding.help) == ("true", "set the sizes that are open: --dim NAME=N, or convert to 10 or newer")


def test_no_size_is_asked_for_where_none_is_open():
    nodes = [
        helper.make_node("NonZero", ["x"], ["i"]),
        helper.make_node("Cast", ["i"], ["c"], to=1),
        helper.make_node("Unsqueeze", ["c"], ["f"], axes=[0]),
        helper.make_node("MaxPool", ["f"], ["y"], kernel_shape=[2], strides=[3], pads=[0, 1], ceil_mode=1),
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, None])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [5])], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=8)
    with pytest.raises(ConversionError) as caught:
        opset.convert(model, 9)
    assert [finding.help for finding in caught.value.findings] == ["convert to 10 or newer"]


@pytest.mark.parametrize(
    ("given", "node", "shapes"),
    [
        (["x"], "y = LpPool <kernel_shape = [2, 2]> (x)", []),
        (["x", "z"], "y = LpPool <kernel_shape = [2, 2]> (x)", ["give the graph's inputs shapes"]),
        (["x", "z"], "a = own.Unknown (x)  y = LpPool <kernel_shape = [2, 2]> (a)", ["give the graph's inputs shapes"]),
        (["x"], "a = own.Unknown (x)  y = LpPool <kernel_shape = [2, 2]> (a)", []),
    ],
)
def test_shapes_are_asked_for_where_an_input_has_none(given, node, shapes):
    inputs = ", ".join(f"float[1, 2, 3, 3] {name}" for name in given)
    model = opset.parse_model(
        f'<ir_version: 8, opset_import: ["": 2, "own": 1]> g ({inputs}) => (float[?, ?, ?, ?] y) {{ {node} }}'
    )
    if "z" in given:
        model.graph.input[-1].type.tensor_type.ClearField("shape")
    findings = opset.plan(model, 1).refusals
    if "Unknown" in node:
        more = "opset infer shows where inference stops, or convert to 2 or newer"
        assert [each.help for each in findings] == ["; ".join([*shapes, more])]
    else:
        assert findings == []


def test_the_work_on_refusals_is_linear_in_the_inputs():
    def planning(count):
        inputs = ", ".join(f"int64[2] x{at}" for at in range(count))
        nodes = " ".join(f"y{at} = Add (x{at}, x{at})" for at in range(count))
        head = f'<ir_version: 8, opset_import: ["": 12]> g ({inputs}) => (int64[2] y0)'
        model = opset.parse_model(f"{head} {{ {nodes} }}")
        return lambda: opset.plan(model, 5)

    assert len(planning(40)().refusals) == 40
    assert growth(planning, 40, 4) < 1.3
