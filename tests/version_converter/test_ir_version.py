"""The IR version of a converted model: what it is set to, what is refused, and what is noted."""

import pytest
from onnx import TensorProto, helper, parser

from opset.model import proto as pb
from opset.model.graph.index import bodies
from opset.version_converter.ir_version import needed_ir_version, set_ir_version
from opset.version_converter.targets import Target


def model(ir_version, listed=False, opset=17):
    text = f'<ir_version: {ir_version}, opset_import: ["": {opset}]> m (float[2] x) => (float[2] y)'
    made = pb.ModelProto.FromString(
        parser.parse_model(f"{text} <float[2] w = {{1, 2}}> {{ y = Add (x, w) }}").SerializeToString()
    )
    if listed:
        value = helper.make_tensor_value_info("w", TensorProto.FLOAT, [2])
        made.graph.input.add().MergeFromString(value.SerializeToString())
    return made


UNLISTED = "the IR version is 4, not 3, because of: initializers that are no graph inputs"
OVERRIDABLE = "the IR version is 4, not 3, because of: initializers that a caller may override"
LISTED = "initializers listed as graph inputs too, as IR version 3 wants it: 1"


@pytest.mark.parametrize(
    ("proto", "target", "after", "notes"),
    [
        (model(8), Target({"": 17}), 8, []),
        (model(10), Target({"": 17}), 8, []),
        (model(10, opset='17, "ai.onnx.ml": 1'), Target({"": 17, "ai.onnx.ml": 1}), 8, []),
        (model(4), Target({"": 17}), 4, []),
        (model(10), Target({}), 10, []),
        (model(8), Target({"": 17}, ir_version=10), 10, []),
        (model(8), Target({"": 17}, ir_version=5), 5, []),
        (model(8), Target({"": 17}, max_ir=5), 5, []),
        (model(5), Target({"": 17}, max_ir=8), 5, []),
        (model(10), Target({"": 17}, max_ir=9), 8, []),
        (model(10, opset=7), Target({"": 7}), 4, [UNLISTED]),
        (model(10, True, opset=7), Target({"": 7}), 4, [OVERRIDABLE]),
        (model(3, True, opset=7), Target({"": 7}), 3, []),
        (model(10, opset=7), Target({"": 7}, ir_version=3), 3, [LISTED]),
        (model(10), Target({"": 17}, max_ir=3), 3, [LISTED]),
        (model(10, True), Target({"": 17}, max_ir=3), 3, []),
        (model(10), Target({"": 17}, ir_version=4), 4, []),
        (model(4, True, opset=7), Target({"": 7}), 4, [OVERRIDABLE]),
    ],
)
def test_the_version_that_is_set(proto, target, after, notes):
    found = []
    assert set_ir_version(proto, target, found) == []
    assert (proto.ir_version, found) == (after, notes)
    assert [each.name for each in proto.graph.input][1:] == ["w"] * (after == 3 or OVERRIDABLE in notes)


def test_one_of_several_graphs_has_an_initializer_that_a_caller_may_override():
    proto, notes = model(10, True, opset=7), []
    then = proto.graph.node.add(op_type="If", input=["c"]).attribute.add(name="then_branch", type=5)
    then.g.node.add(op_type="Identity", input=["x"], output=["z"])
    assert set_ir_version(proto, Target({"": 7}), notes) == [] and (proto.ir_version, notes) == (4, [OVERRIDABLE])


def test_a_feature_beyond_what_the_runtime_takes_is_refused_at_an_opset_that_came_earlier():
    proto = model(8, opset=9)
    proto.graph.value_info.add(name="o").type.optional_type.elem_type.tensor_type.elem_type = 1
    notes = []
    assert set_ir_version(proto, Target({"": 9}, max_ir=8), notes) == [] and proto.ir_version == 8
    assert notes == ["the IR version is 8, not 4, because of: optional types"]
    (finding,) = set_ir_version(proto, Target({"": 9}, max_ir=7), [])
    assert (finding.code, finding.message) == ("C301", "IR version 7 does not have optional types")
    proto.ir_version = 8
    (finding,) = set_ir_version(proto, Target({"": 9}, ir_version=5, max_ir=7), [])
    assert (finding.code, finding.message) == ("C301", "IR version 5 does not have optional types")


@pytest.mark.parametrize(("ir_version", "refused"), [(7, True), (8, False), (10, False)])
def test_a_feature_that_a_version_lacks_is_refused(ir_version, refused):
    proto = model(8)
    optional = proto.graph.value_info.add(name="o").type.optional_type.elem_type.tensor_type
    optional.elem_type = 1
    for target in (Target({"": 17}, ir_version=ir_version), Target({"": 17}, max_ir=ir_version)):
        copied = pb.ModelProto.FromString(proto.SerializeToString())
        found = set_ir_version(copied, target, [])
        assert [(each.code, each.message, each.place, each.why, each.help) for each in found] == [
            ("C301", "IR version 7 does not have optional types", "ir_version", "it needs IR version 8",
             "take it out of the model, or allow IR version 8"),
        ] * refused  # fmt: skip
    assert needed_ir_version(proto, bodies(proto)) == (8, ["optional types"])
    assert needed_ir_version(model(8), bodies(model(8))) == (3, [])


def test_a_feature_that_is_newer_than_the_model_needs_the_version_of_the_model():
    """Readers of IR version 8 took the model with its int4, which came with 10."""
    proto = model(8)
    proto.graph.value_info.add(name="o").type.tensor_type.elem_type = TensorProto.INT4
    copied = pb.ModelProto.FromString(proto.SerializeToString())
    assert set_ir_version(copied, Target({"": 17}, ir_version=8), []) == [] and copied.ir_version == 8
    (finding,) = set_ir_version(proto, Target({"": 17}, ir_version=7), [])
    assert finding.why == "it needs IR version 8"


def test_what_readers_of_the_model_skipped_already_is_not_noted():
    proto, notes = model(9), []
    proto.graph.metadata_props.add(key="a", value="b")
    assert needed_ir_version(proto, bodies(proto)) == (3, [])
    assert set_ir_version(proto, Target({"": 17}), notes) == [] and (proto.ir_version, notes) == (8, [])


def test_what_older_readers_skip_is_noted():
    proto, notes = model(10), []
    proto.graph.metadata_props.add(key="a", value="b")
    proto.graph.value_info.add(name="y").metadata_props.add(key="a", value="b")
    assert set_ir_version(proto, Target({"": 17}), notes) == [] and proto.ir_version == 8
    kept = "kept for readers of IR version 10, older ones skip it: metadata of"
    assert notes == [f"{kept} values", f"{kept} graphs, nodes or functions"]
    again = []
    assert set_ir_version(proto, Target({"": 17}, ir_version=10), again) == [] and again == []
