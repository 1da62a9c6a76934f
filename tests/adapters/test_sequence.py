"""OptionalHasElement and OptionalGetElement take tensors and sequences from version 18 on; what else sequences do."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import opset
from opset.errors import ConversionError

X = np.arange(6, dtype=np.float32).reshape(2, 3)
TENSOR = helper.make_tensor_type_proto(TensorProto.FLOAT, [2, 3])
WRAP = {
    "tensor": [],
    "sequence": [helper.make_node("SequenceConstruct", ["x", "x"], ["v"])],
    "optional": [helper.make_node("Optional", ["x"], ["v"])],
    "optional sequence": [
        helper.make_node("SequenceConstruct", ["x"], ["w"]),
        helper.make_node("Optional", ["w"], ["v"]),
    ],
    "empty": [helper.make_node("Optional", [], ["v"], type=TENSOR)],
}


@pytest.mark.parametrize("wrapped", WRAP)
def test_an_element_is_there_or_not(check, wrapped):
    asks = helper.make_node("OptionalHasElement", ["v" if WRAP[wrapped] else "x"], ["y"])
    feeds = {"x": X}
    after = check([*WRAP[wrapped], asks], 18, 17, feeds, kinds={"y": TensorProto.BOOL}, expect=[wrapped != "empty"])
    asked = wrapped.startswith("optional") or wrapped == "empty"
    assert (after.graph.node[-1].op_type == "OptionalHasElement") == asked


@pytest.mark.parametrize("inputs", [[], [""]])
def test_an_absent_input_has_no_element(check, inputs):
    asks = helper.make_node("OptionalHasElement", inputs, ["y"])
    check(asks, 18, 9, {"x": X}, kinds={"y": TensorProto.BOOL}, expect=[False], operators=[])


@pytest.mark.parametrize("wrapped", ["tensor", "optional", "sequence", "optional sequence"])
def test_an_element_is_got(check, wrapped):
    gets = helper.make_node("OptionalGetElement", ["v" if WRAP[wrapped] else "x"], ["e"])
    last, expect = helper.make_node("Neg", ["e"], ["y"]), [-X]
    if "sequence" in wrapped:
        last, expect = helper.make_node("SequenceAt", ["e", "p"], ["y"]), [X]
    after = check([*WRAP[wrapped], gets, last], 18, 17, {"x": X}, {"p": np.int64(0)}, expect=expect)
    assert after.graph.node[-2].op_type == ("OptionalGetElement" if "optional" in wrapped else "Identity")


def test_the_identity_of_a_sequence_came_with_14(refused, check):
    nodes = [
        WRAP["sequence"][0],
        helper.make_node("OptionalGetElement", ["v"], ["e"]),
        helper.make_node("ConcatFromSequence", ["e"], ["y"], axis=0),
    ]
    check(nodes, 18, 14, {"x": X}, expect=[np.concatenate([X, X])])
    refused(nodes, 18, 13, {"x": X}, "C202")


def test_the_kind_of_input_has_to_be_known(build):
    source = helper.make_node("Magic", [], ["v"], domain="my")
    for operator in ("OptionalHasElement", "OptionalGetElement"):
        with pytest.warns(UserWarning, match="no inference"):
            model = build([source, helper.make_node(operator, ["v"], ["y"])], 18, {"x": X})
        model.opset_import.add(domain="my", version=1)
        with pytest.raises(ConversionError) as caught:
            opset.convert(model, 17)
        assert [finding.code for finding in caught.value.findings] == ["C203"]


def test_sequences_go_up_as_they_are(check):
    nodes = [
        helper.make_node("SplitToSequence", ["x"], ["s"], axis=1),
        helper.make_node("SequenceErase", ["s", "p"], ["t"]),
        helper.make_node("SequenceInsert", ["t", "x"], ["u"]),
        helper.make_node("ConcatFromSequence", ["u"], ["y"], axis=-1),
    ]
    expect = [np.concatenate([X[:, :1], X[:, 2:], X], axis=1)]
    after = check(nodes, 11, 24, {"x": X}, {"p": np.int64(1)}, expect=expect)
    assert list(after.graph.node) == nodes


def test_sequences_came_with_11(refused):
    nodes = [helper.make_node("SequenceConstruct", ["x"], ["s"]), helper.make_node("SequenceLength", ["s"], ["y"])]
    refused(nodes, 11, 10, {"x": X}, "C201", kinds={"y": TensorProto.INT64})
