"""OptionalHasElement and OptionalGetElement take tensors and sequences from version 18 on; what else sequences do."""

import numpy as np
import onnx.parser
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


def test_sequences_came_with_11(build):
    pair = helper.make_node("SequenceConstruct", ["x", "x"], ["s"])
    insert = helper.make_node("SequenceInsert", ["s", "x", "i"], ["t"])
    for nodes in (
        [pair, helper.make_node("SequenceAt", ["s", "i"], ["y"])],
        [pair, insert, helper.make_node("ConcatFromSequence", ["t"], ["y"], axis=0)],
    ):
        model = build(nodes, 11, {"x": X, "i": np.array(0)}, kinds={"y": TensorProto.FLOAT})
        with pytest.raises(ConversionError) as caught:
            opset.convert(model, 10)
        assert {finding.code for finding in caught.value.findings} == {"C201", "C205"}


ROWS = np.arange(24, dtype=np.float32).reshape(4, 6)
MADE = {
    "constructed": ([helper.make_node("SequenceConstruct", ["x", "x2"], ["s"])], 2),
    "inserted": (
        [
            helper.make_node("SequenceConstruct", ["x"], ["a"]),
            helper.make_node("SequenceInsert", ["a", "x2", "zero"], ["b"]),
            helper.make_node("SequenceInsert", ["b", "x"], ["c"]),
            helper.make_node("SequenceErase", ["c", "one"], ["d"]),
            helper.make_node("Identity", ["d"], ["s"]),
        ],
        2,
    ),
    "slices": ([helper.make_node("SplitToSequence", ["x"], ["s"], axis=0)], 4),
    "squeezed": ([helper.make_node("SplitToSequence", ["x"], ["s"], axis=-1, keepdims=0)], 6),
    "parts": ([helper.make_node("SplitToSequence", ["x", "four"], ["s"], axis=1)], 2),
    "sizes": ([helper.make_node("SplitToSequence", ["x", "sizes"], ["s"], axis=1)], 3),
}
NUMBERS = {
    "zero": np.array(0), "one": np.array(1), "four": np.array(4), "sizes": np.array([1, 3, 2]), "last": np.array(-1),
}  # fmt: skip


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("to", [10, 9, 8, 7])
def test_elements_that_are_known_before_a_run(check, made, to):
    nodes, count = MADE[made]
    feeds = {"x": ROWS, "x2": -ROWS}
    for at in ("zero", "last"):
        get = helper.make_node("SequenceAt", ["s", at], ["y"])
        check([*nodes, get], 14, to, feeds, NUMBERS, kinds={"y": TensorProto.FLOAT})
    asks = helper.make_node("SequenceLength", ["s"], ["y"])
    check([*nodes, asks], 14, to, feeds, NUMBERS, kinds={"y": TensorProto.INT64}, expect=[np.array(count)])
    for axis, stacked in ((0, 0), (-1, 0), (0, 1), (-1, 1)):
        if made in ("parts", "sizes") and (stacked or axis == 0):
            continue
        join = helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=axis, new_axis=stacked)
        check([*nodes, join], 14, to, feeds, NUMBERS, kinds={"y": TensorProto.FLOAT})


@pytest.mark.parametrize("to", [10, 9, 8, 7])
@pytest.mark.parametrize("keep", [0, 1])
def test_a_slice_at_a_computed_position(check, to, keep):
    split = helper.make_node("SplitToSequence", ["x"], ["s"], axis=1, keepdims=keep)
    twice = [helper.make_node("SequenceAt", ["s", name], [f"y{name}"]) for name in "ij"]
    join = helper.make_node("Sub", ["yi", "yj"], ["y"])
    feeds = {"x": ROWS, "i": np.array(-1), "j": np.array(2)}
    for shapes in (None, {"x": ["a", "b"]}):
        check([split, *twice, join], 14, to, feeds, shapes=shapes, kinds={"y": TensorProto.FLOAT})


def test_sequences_of_one_form_keep_their_own_elements(check):
    nodes = [
        helper.make_node("SequenceConstruct", ["x", "x2"], ["a"]),
        helper.make_node("SequenceConstruct", ["x2", "x", "x"], ["b"]),
        *[helper.make_node("SequenceAt", [name, "zero"], [f"{name}0"]) for name in "ab"],
        *[helper.make_node("SequenceLength", [name], [f"{name}n"]) for name in "ab"],
        helper.make_node("Sub", ["a0", "b0"], ["y"]),
        helper.make_node("Sub", ["an", "bn"], ["n"]),
    ]
    kinds = {"y": TensorProto.FLOAT, "n": TensorProto.INT64}
    check(nodes, 14, 9, {"x": ROWS, "x2": -ROWS}, NUMBERS, outputs=["y", "n"], kinds=kinds)


REFUSED = [
    (11, 10, "C103", "the position is 2, and there are 1",
     "(float[2] x) => (float[] y) <int64 p = {2}> { s = SequenceConstruct(x) y = SequenceAt(s, p) }"),
    (11, 10, "C103", "the sequence is empty",
     "(float[2] x) => (float[] y) { s = SequenceEmpty() y = ConcatFromSequence<axis=0>(s) }"),
    (11, 10, "C201", "what If puts into one",
     "(bool c, float[2] x) => (float[] y) <int64 p = {0}> { s = If(c) <then_branch = t () => (seq(float[]) a) { "
     "a = SequenceConstruct(x) }, else_branch = e () => (seq(float[]) b) { b = SequenceConstruct(x) }> y = "
     "SequenceAt(s, p) }"),
    (11, 10, "C103", "the position is 3, and there are 1",
     "(float[2] x) => (float[] y) <int64 p = {3}, int64 o = {0}> { s = SequenceConstruct(x) t = "
     "SequenceInsert(s, x, p) y = SequenceAt(t, o) }"),
    (11, 10, "C103", "parts of 0 elements",
     "(float[2] x) => (float[] y) <int64 n = {0}, int64 o = {0}> { s = SplitToSequence(x, n) y = SequenceAt(s, "
     "o) }"),
    (11, 10, "C207", "the rank of 'x' is not known",
     "(float[] x, int64 i) => (float[] y) { s = SplitToSequence<axis=-1>(x) y = SequenceAt(s, i) }"),
    (11, 10, "C207", "the rank of 'x' is not known",
     "(float[] x) => (float[] y) { s = SequenceConstruct(x, x) y = ConcatFromSequence<axis=-1>(s) }"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "to", "code", "why", "graph"), REFUSED)
def test_each_reason_to_refuse(reject, version, to, code, why, graph):
    reject(graph, version, to, code, why)


def test_how_a_function_splits_is_said_by_its_calls(run):
    """A reference to the function's attribute is no value: it was read as 0 for the axis of the slices."""
    text = """<ir_version: 8, opset_import: ["" : 14, "my" : 1]>
    g (float[2,3] x, int64 i) => (float[] y, float[] z) { y = my.F<a=1, k=0>(x, i) z = my.F<a=0, k=1>(x, i) }
    <domain: "my", opset_import: ["" : 14]> F <a, k>(x, i) => (y) {
        s = SplitToSequence<axis: int = @a, keepdims: int = @k>(x) y = SequenceAt(s, i) }"""
    before = onnx.parser.parse_model(text)
    for at in (0, 1, -1):
        feeds = {"x": X, "i": np.array(at)}
        for model in (before, opset.convert(before, 10)):
            y, z = run(model, feeds)
            np.testing.assert_array_equal(y, X[:, at])
            np.testing.assert_array_equal(z, X[[at]])


@pytest.mark.parametrize("stated", ["axis: int = @a", "keepdims: int = @a"])
def test_how_a_function_that_nothing_calls_splits_is_not_known(stated):
    text = f"""<ir_version: 8, opset_import: ["" : 14, "my" : 1]> g (float[2] x) => (float[] y) {{ y = Neg(x) }}
    <domain: "my", opset_import: ["" : 14]> F <a>(x, i) => (y) {{
        s = SplitToSequence<{stated}>(x) y = SequenceAt(s, i) }}"""
    with pytest.raises(ConversionError) as caught:
        opset.convert(onnx.parser.parse_model(text), 10)
    assert any("takes the value of a function's attribute" in each.why for each in caught.value.findings)
