"""What is said of a value's type and shape is what comes out when the model runs."""

import warnings

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from opset.model import load
from opset.model.graph import bodies
from opset.model.tensor import tensor_values
from opset.opsets.registry import default_registry
from opset.opsets.values import type_string
from opset.version_converter.known import Inferred, Values

REGISTRY = default_registry()


def known(proto):
    """Give Values of all bodies of an onnx.ModelProto, the main graph's first."""
    model = load(proto)
    found: dict = {}
    every = bodies(model.proto)
    inferred = Inferred(model, REGISTRY, every)
    for body in every:
        imports = body.root.proto.opset_import if body.root.function else model.proto.opset_import
        versions = {"" if entry.domain == "ai.onnx" else entry.domain: entry.version for entry in imports}
        outer = found.get(body.parent)
        read = lambda tensor, limit, model=model: tensor_values(model, tensor, limit)  # noqa: E731
        found[body] = Values(body, outer, REGISTRY, versions, read, overridable=True, inferred=inferred)
    return list(found.values())


@pytest.fixture(scope="module")
def cases():
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return collect_testcases(None)


def test_nothing_that_is_said_of_the_outputs_of_any_node_case_is_wrong(cases):
    said = {"type": 0, "shape": 0}
    total = 0
    for case in cases:
        proto = type(case.model)()
        proto.CopyFrom(case.model)
        names = [value.name for value in proto.graph.output]
        stated = [type_string(value.type) for value in proto.graph.output]
        del proto.graph.value_info[:]
        for value in proto.graph.output:
            value.ClearField("type")
        values = known(proto)[0]
        for _, outputs in case.data_sets:
            for name, kind, expected in zip(names, stated, outputs, strict=True):
                total += 1
                given = values.type(name)
                assert given in (None, kind), (case.name, name)
                said["type"] += given is not None
                shape = values.shape(name)
                if shape is not None and isinstance(expected, np.ndarray):
                    assert len(shape) == expected.ndim, (case.name, name)
                    pairs = zip(shape, expected.shape, strict=True)
                    assert all(ours == real for ours, real in pairs if isinstance(ours, int)), (case.name, name)
                    said["shape"] += 1
    # What conversion leans on: nearly all types, and most ranks (cases of several nodes are half of the rest).
    assert said["type"] > 0.97 * total
    assert said["shape"] > 0.55 * total


def test_ranks_reach_through_recurrent_operators_and_expand():
    nodes = [
        helper.make_node("LSTM", ["x", "w", "r"], ["y", "h", "c"], hidden_size=2),
        helper.make_node("Squeeze", ["y", "axes"], ["s"]),
        helper.make_node("Expand", ["s", "shape"], ["e"]),
    ]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * 3) for name in "xwr"]
    constants = [
        numpy_helper.from_array(np.array([1], np.int64), "axes"),
        numpy_helper.from_array(np.array([2, 1, 1, 1, 1], np.int64), "shape"),
    ]
    graph = helper.make_graph(nodes, "g", inputs, [], constants)
    values = known(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)]))[0]
    assert [len(values.shape(name)) for name in ("y", "h", "c", "s", "e")] == [4, 3, 3, 3, 5]
    assert values.type("e") == "tensor(float)"


def test_a_chain_of_100000_nodes_is_answered_without_recursion():
    nodes = [helper.make_node("Gather", ["x" if not i else f"v{i}", "x" if not i else f"v{i}"], [f"v{i + 1}"])
             for i in range(100_000)]  # fmt: skip
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.INT64, [1])], [])
    values = known(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]))[0]
    assert values.type("v100000") == "tensor(int64)"
    assert values.shape("v100000") == (1,)


def test_sizes_that_only_value_info_states_are_not_computed_with():
    """A batch that was 1 when the model was exported, and is variable now, must not become a constant."""
    nodes = [
        helper.make_node("Own", ["x"], ["a"], domain="com.acme"),
        helper.make_node("Relu", ["x"], ["b"]),
        helper.make_node("Shape", ["a"], ["sa"]),
        helper.make_node("Shape", ["b"], ["sb"]),
        helper.make_node("Shape", ["w"], ["sw"]),
    ]
    inputs = [helper.make_tensor_value_info("x", 1, ["N", 4]), helper.make_tensor_value_info("w", 1, [2, 4])]
    stale = [helper.make_tensor_value_info(name, 1, [1, 4]) for name in "ab"]
    graph = helper.make_graph(nodes, "g", inputs, [], value_info=stale)
    imports = [helper.make_opsetid("", 13), helper.make_opsetid("com.acme", 1)]
    values = known(helper.make_model(graph, opset_imports=imports))[0]
    assert [values.constant(name) for name in ("sa", "sb")] == [None, None]
    assert values.constant("sw").values == (2, 4)
