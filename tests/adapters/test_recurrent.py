"""RNN, GRU and LSTM: layout, output_sequence, and the first version of GRU."""

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import example, settings
from hypothesis import given as given_values
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.bounds import draws

LENGTH, BATCH, SIZE, HIDDEN = 3, 2, 4, 5
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
NAMES = ("X", "W", "R", "B", "lens", "h", "c", "P")
OUTPUTS = ("Y", "Y_h", "Y_c")


def given(operator, directions, initial):
    """Return the inputs with time first, all or the required ones alone."""
    rng = np.random.default_rng(7)
    gates = GATES[operator] * HIDDEN
    shapes = {
        "X": (LENGTH, BATCH, SIZE),
        "W": (directions, gates, SIZE),
        "R": (directions, gates, HIDDEN),
        "B": (directions, 2 * gates),
        "h": (directions, BATCH, HIDDEN),
        "c": (directions, BATCH, HIDDEN),
        "P": (directions, 3 * HIDDEN),
    }
    values = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    values["lens"] = np.array([3, 2], np.int32)
    wanted = NAMES if initial and operator == "LSTM" else NAMES[:6] if initial else NAMES[:3]
    return {name: values[name] for name in wanted}


def node(operator, feeds, outputs, **attributes):
    return helper.make_node(operator, list(feeds), outputs, name="r", hidden_size=HIDDEN, **attributes)


def by_reference(model, feeds):
    """Return the outputs of a model of any version by the evaluator at version 7, since when nothing else changed."""
    copy = onnx.ModelProto.FromString(model.SerializeToString())
    copy.opset_import[0].version = 7
    for made in copy.graph.node:
        kept = [a for a in made.attribute if a.name != "output_sequence"]
        del made.attribute[:]
        made.attribute.extend(kept)
    return ReferenceEvaluator(copy).run(None, feeds)


def batch_first(name, value):
    axes = (2, 0, 1, 3) if name == "Y" else (1, 0, 2)
    return value.transpose(axes) if name in ("X", "h", "c", *OUTPUTS) else value


@pytest.mark.parametrize("operator", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("initial", [False, True])
@pytest.mark.parametrize("unused", [None, 0, 1])
def test_a_batch_that_comes_first_is_moved(check, build, run, operator, direction, initial, unused):
    names = list(OUTPUTS[: 3 if operator == "LSTM" else 2])
    if unused is not None:
        names[unused] = ""
    named = [name for name in names if name]
    time_first = given(operator, 2 if direction == "bidirectional" else 1, initial)
    plain = build(node(operator, time_first, names, direction=direction), 14, time_first, outputs=named)
    expect = [batch_first(name, value) for name, value in zip(named, run(plain, time_first), strict=True)]
    feeds = {name: np.ascontiguousarray(batch_first(name, value)) for name, value in time_first.items()}
    moved = node(operator, feeds, names, direction=direction, layout=1)
    after = check(moved, 14, 13, feeds, outputs=named, expect=expect)
    assert sum(made.op_type == operator for made in after.graph.node) == 1


def test_layout_0_is_dropped_and_another_is_malformed(check, refused):
    feeds = given("GRU", 1, True)
    after = check(node("GRU", feeds, ["Y"], layout=0), 14, 7, feeds, outputs=["Y"], operators=["GRU"])
    assert [a.name for a in after.graph.node[0].attribute] == ["hidden_size"]
    refused(node("GRU", feeds, ["Y"], layout=2), 14, 13, feeds, "C103", outputs=["Y"])


@pytest.mark.parametrize("operator", GATES)
def test_output_sequence_is_set_where_the_sequence_is_used(check, operator):
    feeds = given(operator, 1, True)
    after = check(node(operator, feeds, ["Y"]), 7, 6, feeds, outputs=["Y"], judge=by_reference)
    assert helper.get_node_attr_value(after.graph.node[0], "output_sequence") == 1
    after = check(node(operator, feeds, ["", "Y_h"]), 7, 6, feeds, outputs=["Y_h"], judge=by_reference)
    assert [a.name for a in after.graph.node[0].attribute] == ["hidden_size"]
    back = check(after.graph.node[0], 6, 7, feeds, outputs=["Y_h"], judge=by_reference)
    assert [a.name for a in back.graph.node[0].attribute] == ["hidden_size"]


def test_output_sequence_goes_up_whatever_it_says(check):
    feeds = given("LSTM", 1, False)
    check(node("LSTM", feeds, ["Y"], output_sequence=1), 1, 14, feeds, outputs=["Y"], judge=by_reference)


@pytest.mark.parametrize(
    ("attributes", "kept"),
    [({}, None), ({"direction": "foward"}, b"forward"), ({"direction": "reverse"}, b"reverse")],
)
def test_the_misspelt_direction_of_the_first_gru_is_never_written(check, build, attributes, kept):
    feeds = given("GRU", 1, True)
    direction = {"direction": kept.decode()} if kept else {}
    expect = by_reference(build(node("GRU", feeds, ["Y", "Y_h"], **direction), 7, feeds, outputs=OUTPUTS[:2]), feeds)
    made = node("GRU", feeds, ["Y", "Y_h"], **attributes)
    after = check(made, 1, 3, feeds, outputs=OUTPUTS[:2], judge=by_reference, expect=expect)
    found = [a.s for a in after.graph.node[0].attribute if a.name == "direction"]
    assert found == ([kept] if kept else [])


@pytest.mark.parametrize("outputs", [["Y", "Y_h"], ["Y"], ["", "Y_h"]])
def test_the_first_gru_names_its_last_output(check, outputs):
    feeds = given("GRU", 1, True)
    named = [name for name in outputs if name]
    made = node("GRU", feeds, outputs, linear_before_reset=0)
    after = check(made, 3, 1, feeds, outputs=named, judge=by_reference)
    (gru,) = after.graph.node
    assert len(gru.output) == 2 and gru.output[1]
    assert {a.name: a.s for a in gru.attribute} == {"hidden_size": b"", "direction": b"forward"}


def test_the_first_gru_cannot_reset_after_the_weights(refused):
    feeds = given("GRU", 1, True)
    refused(node("GRU", feeds, ["Y"], linear_before_reset=1), 3, 2, feeds, "C204", outputs=["Y"])


@pytest.mark.parametrize("operator", sorted(GATES))
def test_bfloat16_is_computed_in_float(check, operator):
    feeds = given(operator, 1, False)
    casts = [helper.make_node("Cast", [name], [f"{name}16"], to=TensorProto.BFLOAT16) for name in feeds]
    made = node(operator, [f"{name}16" for name in feeds], ["", "last"])
    back = helper.make_node("Cast", ["last"], ["y"], to=TensorProto.FLOAT)
    rounded = {name: value.astype(ml_dtypes.bfloat16).astype(np.float32) for name, value in feeds.items()}
    plain = helper.make_node(operator, list(rounded), ["", "y"], hidden_size=HIDDEN)
    described = [helper.make_tensor_value_info(name, 1, value.shape) for name, value in rounded.items()]
    graph = helper.make_graph([plain], "g", described, [helper.make_tensor_value_info("y", 1, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)])
    expect = ReferenceEvaluator(model).run(None, rounded)
    check([*casts, made, back], 22, 17, feeds, expect=expect, rtol=2**-7, atol=1e-3)


def test_malformed_attributes_are_refused_or_converted(build, attempt):
    ends = set()

    @settings(max_examples=draws(60))
    @given_values(
        st.sampled_from(sorted(GATES)),
        st.dictionaries(st.sampled_from(["layout", "linear_before_reset"]), st.integers(-(2**63), 2**63 - 1)),
        st.sampled_from(["forward", "foward", "", "sideways"]),
        st.sampled_from([(14, 13), (14, 1), (7, 1), (3, 1)]),
    )
    @example("GRU", {}, "forward", (14, 13))
    def drawn(operator, numbers, direction, versions):
        feeds = given(operator, 1, True)
        made = node(operator, feeds, ["Y", "Y_h"], direction=direction, **numbers)
        model = build(made, versions[0], feeds, outputs=["Y"])
        ends.add(attempt(model, versions[1]))

    drawn()
    assert {"converted"} < ends
