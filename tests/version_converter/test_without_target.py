"""Conversions without a target: the opsets stay; the IR version, open sizes or overridable initializers change."""

import numpy as np
import pytest
from onnx import parser

import opset
from opset.errors import UsageError

TEXT = """<ir_version: 10, opset_import: ["": 17, "ai.onnx.ml": 2]>
m (float[batch, 3] x, float[3] w) => (float[A, B] y, float[batch, C] z) <float[3] w = {1, 2, 3}> {
    a = Add (x, w)
    y = Concat <axis = 0> (a, a)
    z = Scaler (a)
}""".replace("Scaler", "ai.onnx.ml.Scaler <offset = [0.5], scale = [2.0]>")


def sizes(value):
    return [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]


def versions(model):
    return {entry.domain: entry.version for entry in model.opset_import}


def computed(model):
    return opset.ReferenceEvaluator(model).run(None, {"x": np.arange(6, dtype=np.float32).reshape(2, 3)})


@pytest.mark.parametrize(
    ("changes", "ir_version"),
    [
        ({"ir_version": 8}, 8),
        ({"freeze": "all"}, 10),
        ({"dims": {"batch": 2}}, 10),
        ({"ir_version": 9, "freeze": ["w"]}, 9),
    ],
)
def test_opsets_stay(changes, ir_version):
    before = parser.parse_model(TEXT)
    after = opset.convert(before, **changes)
    assert versions(after) == versions(before) == {"": 17, "ai.onnx.ml": 2}
    assert after.ir_version == ir_version
    assert len(after.graph.input) == (1 if "freeze" in changes else 2)
    for expected, found in zip(computed(before), computed(after), strict=True):
        np.testing.assert_array_equal(found, expected)
    plan = opset.plan(before, **changes)
    assert plan.changes and not plan.actions and plan.target == versions(before)


def test_outputs_state_the_sizes_that_follow():
    after = opset.convert(parser.parse_model(TEXT), 21, dims={"batch": 2})
    assert [sizes(value) for value in after.graph.output] == [[4, 3], [2, 3]]
    inferred = opset.infer(parser.parse_model(TEXT), dims={"batch": 2}).written(False).proto
    assert [sizes(value) for value in inferred.graph.output] == [[4, 3], [2, 3]]
    # What does not follow stays as it is stated.
    text = (
        TEXT.replace("batch, 3", "batch, width")
        .replace("float[3] w", "float[width] w")
        .replace("batch, C", "batch, width")
    )
    text = text.replace("<float[width] w = {1, 2, 3}>", "")
    after = opset.convert(parser.parse_model(text), dims={"batch": 2})
    assert [sizes(value) for value in after.graph.output] == [[4, "B"], [2, "width"]]


def test_a_model_that_states_the_sizes_already_is_not_changed():
    text = TEXT.replace("float[batch, 3] x", "float[2, 3] x")
    assert text != TEXT
    given = opset.load(parser.parse_model(text))
    before = given.proto.SerializeToString()
    after = opset.convert(given, 21, dims={"x.0": 2})
    assert given.proto.SerializeToString() == before
    assert [sizes(value) for value in after.graph.output] == [[4, 3], [2, 3]]
    # Outputs that state their sizes need no copy.
    plan = opset.plan(after, 21, dims={"x.0": 2})
    assert not plan.changes and plan.notes[-1] == "valid for x.0 = 2 alone, which the inputs state"


@pytest.mark.parametrize(
    ("dims", "note"),
    [
        ({"batch": 2}, "valid for batch = 2 alone, which the inputs state"),
        ({"x.2": "depth"}, None),
        ({"x.2": "depth", "width": 3}, "valid for width = 3 alone, which the inputs state"),
        ({"width": 3, "batch": 2}, "valid for width = 3, batch = 2 alone, which the inputs state"),
        (None, None),
    ],
)
def test_a_conversion_is_valid_for_the_numbers_alone_that_were_given(dims, note):
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[batch, width, 5] x) => (float[?, ?, ?] y) { y = Exp (x) }'
    notes = opset.plan(parser.parse_model(text), 13, dims=dims).notes
    assert [each for each in notes if "valid for" in each] == [each for each in [note] if each]


def test_something_has_to_change():
    for none in ({}, {"schemas": ()}, {"dims": {}}, {"freeze": ()}):
        with pytest.raises(UsageError) as caught:
            opset.convert(parser.parse_model(TEXT), **none)
        assert caught.value.code == "U103" and "one target" in caught.value.message
    with pytest.raises(UsageError) as caught:
        opset.convert(parser.parse_model(TEXT), 21, inexact_types=True)
    assert (caught.value.code, caught.value.message) == ("U103", "inexact types need a runtime")


def test_an_ir_version_that_lacks_a_feature_is_refused():
    before = parser.parse_model(TEXT)
    before.functions.add(name="f", domain="d").opset_import.add(domain="", version=17)
    before.opset_import.add(domain="d", version=1)
    assert [finding.code for finding in opset.plan(before, ir_version=7).refusals] != []
