"""Laws that hold for any graph: the same values after any move, the way back, and the same bytes each time."""

from collections import Counter

import numpy as np
import onnx
import onnxruntime
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

import opset
from opset.errors import ConversionError

SHAPE = (2, 3, 4, 5)


def _constant(draw, name, values, graph):
    graph.append(numpy_helper.from_array(np.asarray(values, np.int64), name))
    return name


@st.composite
def nodes(draw, number, value, rank, initializers):
    """A node at opset 13 that takes `value` of that rank, and the rank of what it gives."""
    out = f"v{number}"
    axis = draw(st.integers(-rank, rank - 1))
    kind = draw(st.sampled_from(sorted(KINDS)))
    made, new_rank = KINDS[kind](draw, number, value, rank, axis, out, initializers)
    return made, out, new_rank


def _softmax(draw, number, value, rank, axis, out, constants):
    return helper.make_node(draw(st.sampled_from(["Softmax", "LogSoftmax"])), [value], [out], axis=axis), rank


def _reduce(draw, number, value, rank, axis, out, constants):
    operator = draw(st.sampled_from(["ReduceMax", "ReduceMean", "ReduceMin", "ReduceL1"]))
    return helper.make_node(operator, [value], [out], axes=[axis], keepdims=1), rank


def _reduce_sum(draw, number, value, rank, axis, out, constants):
    axes = _constant(draw, f"axes{number}", [axis], constants)
    return helper.make_node("ReduceSum", [value, axes], [out], keepdims=1), rank


def _squeeze_back(draw, number, value, rank, axis, out, constants):
    axes = _constant(draw, f"axes{number}", [draw(st.integers(0, rank))], constants)
    return helper.make_node("Unsqueeze", [value, axes], [out]), rank + 1


def _clip(draw, number, value, rank, axis, out, constants):
    low = numpy_helper.from_array(np.float32(draw(st.sampled_from([-1.0, -0.0, 0.5]))), f"low{number}")
    constants.append(low)
    return helper.make_node("Clip", [value, low.name], [out]), rank


def _slice(draw, number, value, rank, axis, out, constants):
    names = [
        _constant(draw, f"{what}{number}", [it], constants)
        for what, it in (("start", draw(st.sampled_from([0, -1]))), ("end", 2**31 - 1), ("axis", axis))
    ]
    return helper.make_node("Slice", [value, *names], [out]), rank


def _pad(draw, number, value, rank, axis, out, constants):
    pads = [0] * (2 * rank)
    pads[axis % rank] = draw(st.integers(0, 2))
    name = _constant(draw, f"pads{number}", pads, constants)
    mode = draw(st.sampled_from(["constant", "edge"]))
    return helper.make_node("Pad", [value, name], [out], mode=mode), rank


def _plain(draw, number, value, rank, axis, out, constants):
    operator = draw(st.sampled_from(["Relu", "Abs", "Neg", "Sigmoid", "Tanh", "Exp", "Identity", "Dropout"]))
    return helper.make_node(operator, [value], [out], name=draw(st.sampled_from(["", f"n{number}"]))), rank


def _twice(draw, number, value, rank, axis, out, constants):
    return helper.make_node(draw(st.sampled_from(["Add", "Mul", "Max"])), [value, value], [out]), rank


def _concat(draw, number, value, rank, axis, out, constants):
    return helper.make_node("Concat", [value, value], [out], axis=axis), rank


KINDS = {
    "softmax": _softmax,
    "reduce": _reduce,
    "reduce_sum": _reduce_sum,
    "unsqueeze": _squeeze_back,
    "clip": _clip,
    "slice": _slice,
    "pad": _pad,
    "plain": _plain,
    "twice": _twice,
    "concat": _concat,
}


@st.composite
def models(draw):
    """A chain of up to six nodes at opset 13 over one float input."""
    made, constants, value, rank = [], [], "x", len(SHAPE)
    for number in range(draw(st.integers(1, 6))):
        node, value, rank = draw(nodes(number, value, rank, constants))
        made.append(node)
    graph = helper.make_graph(
        made,
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, [None] * rank)],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)


def run(proto):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    x = np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)
    return session.run(None, {"x": x})[0]


quick = settings(max_examples=60, suppress_health_check=list(HealthCheck), derandomize=True)


def test_any_move_keeps_the_values_or_is_refused():
    down = Counter()

    @quick
    @given(models(), st.integers(7, 26))
    def law(model, to):
        expected = run(model)
        try:
            moved = opset.convert(model, to)
        except ConversionError:
            assert to < 13
            down["refused"] += 1
            return
        down["moved"] += to < 13
        onnx.checker.check_model(moved)
        np.testing.assert_allclose(run(moved), expected, rtol=1e-6, atol=1e-7)

    law()
    assert down["moved"] > 9 * down["refused"]


@quick
@given(models(), st.integers(13, 26))
def test_up_and_back_again_computes_the_same_and_twice_up_changes_nothing(model, to):
    up = opset.convert(model, to)
    assert opset.convert(up, to).SerializeToString() == up.SerializeToString()
    assert opset.convert(model, to).SerializeToString() == up.SerializeToString()
    np.testing.assert_array_equal(run(opset.convert(up, 13)), run(model))


@quick
@given(models(), st.lists(st.integers(13, 26), min_size=1, max_size=3).map(sorted))
def test_going_up_in_steps_gives_what_going_at_once_gives(model, steps):
    stepwise = model
    for to in steps:
        stepwise = opset.convert(stepwise, to)
    at_once = opset.convert(model, steps[-1])
    assert [node.op_type for node in stepwise.graph.node] == [node.op_type for node in at_once.graph.node]
    np.testing.assert_array_equal(run(stepwise), run(at_once))
