"""Two models as one: it computes what the second computes of what the first does, and says what it renamed."""

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opset
from opset.cli.merge import _parse_pair
from opset.composition import renaming
from opset.composition.merging import Joint, merge_models
from opset.composition.sizes import dims_of, type_conflict
from opset.inference.building.types import Type
from opset.opsets.registry import default_registry
from opset.preparation import read_model
from tests.bounds import draws, growth, lines
from tests.cli.commands import run as command
from tests.cli.commands import run_json
from tests.version_converter.npu import runtime_file, takes

X = np.array([[-2.0, -0.5, 3.0], [1.0, 0.0, -7.0]], np.float32)
FIRST = """<ir_version: 7, opset_import: ["": 13], producer_name: "one", metadata_props: ["k": "1", "same": "s"]>
first (float[N, 3] x) => (float[N, 2] y, float[N, 3] extra) <float[3, 2] w = {1, 2, 3, 4, 5, 6}> {
  [node] h = Relu (x)
  y = MatMul (h, w)
  extra = Neg (h)
}"""
SECOND = """<ir_version: 8, opset_import: ["": 13], metadata_props: ["k": "2", "same": "s"]>
second (float[batch, 2] x, float[N] n) => (float[batch, 2] y, float[N] extra)
  <float[2] w = {0.5, 0.25}, float[batch, 2] h> {
  yes = Constant <value = bool {1}> ()
  [node] h = Mul (x, w)
  y = If (yes) <then_branch = t () => (float[batch, 2] u) { u = Neg (h) }, else_branch = e () => (float[batch, 2] v)
    { v = Add (h, x) }>
  extra = Exp (n)
}"""

CONSTANT = """<ir_version: 8, opset_import: ["": 13]> g (float[2] x%s) => (float[2] y)
    <float[2] w = {%s}, float[2] u = {1, 2}> { y = Mul (x, w) }"""


def model(text):
    return onnx.ModelProto.FromString(opset.parse_model(text).SerializeToString())


def names(values):
    return [value.name for value in values]


def run(proto, feeds, outputs=None):
    return opset.ReferenceEvaluator(proto).run(outputs, feeds)


def merged(*texts, connect=None, **also):
    return merge_models(*map(opset.load, map(model, texts)), Joint(connect, **also), default_registry())


def shape(value):
    return [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]


def test_the_whole_computes_the_second_of_the_first():
    one, other = model(FIRST), model(SECOND)
    before = one.SerializeToString(), other.SerializeToString()
    whole = opset.merge(one, other, {"y": "x"})
    assert (one.SerializeToString(), other.SerializeToString()) == before
    assert isinstance(whole, onnx.ModelProto)
    onnx.checker.check_model(whole, full_check=True)
    n = np.array([1, 2], np.float32)
    y, extra = run(one, {"x": X})
    expected = [extra, *run(other, {"x": y, "n": n})]
    for left, right in zip(expected, run(whole, {"x": X, "n": n}), strict=True):
        np.testing.assert_array_equal(left, right)


def test_names_of_the_second_that_the_first_has_are_changed_and_told():
    found = merged(FIRST, SECOND, connect={"y": "x"})
    graph = found.model.proto.graph
    assert names(graph.input) == ["x", "n"] and names(graph.output) == ["extra", "y_1", "extra_1"]
    assert found.interface == ({}, {"y": "y_1", "extra": "extra_1"})
    assert names(graph.initializer) == ["w", "w_1"]
    assert [node.name for node in graph.node] == ["node", "", "", "", "node_1", "", ""]
    assert (found.values, found.nodes) == (4, 1)  # y, extra, h, w
    assert graph.name == "first_second"


def test_a_prefix_tells_all_names_apart():
    whole = opset.merge(model(FIRST), model(SECOND), {"y": "x"}, prefixes=("a/", "b/"))
    onnx.checker.check_model(whole, full_check=True)
    graph = whole.graph
    assert names(graph.input) == ["a/x", "b/n"] and names(graph.output) == ["a/extra", "b/y", "b/extra"]
    assert graph.node[5].attribute[0].g.output[0].name == "b/u"
    assert [node.name for node in graph.node if node.name] == ["a/node", "b/node"]


def test_variables_that_are_connected_are_one_and_others_of_one_name_are_two():
    found = merged(FIRST, SECOND, connect={"y": "x"})
    assert found.sizes == ({}, {"batch": "N", "N": "N_1"})
    graph = found.model.proto.graph
    shapes = {value.name: shape(value) for value in (*graph.input, *graph.output, *graph.value_info)}
    assert shapes == {
        "x": ["N", 3], "n": ["N_1"], "extra": ["N", 3], "y": ["N", 2], "y_1": ["N", 2], "extra_1": ["N_1"],
        "h_1": ["N", 2],
    }  # fmt: skip
    assert shape(graph.node[5].attribute[0].g.output[0]) == ["N", 2]


@pytest.mark.parametrize(
    ("first", "second", "x", "y"),
    [
        ("N, M", "batch, 2", ["N", 2], ["N", 2]),  # a number of the second binds a variable of the first
        ("4, M", "batch, 2", [4, 2], [4, 2]),
        ("N, N", "a, b", ["N", "N"], ["N", "N"]),
        ("N, M", "a, a", ["N", "N"], ["N", "N"]),
        ('N, "2*N"', "a, b", ["N", "2*N"], ["N", "2*N"]),
        ('N, "2*N"', "3, b", [3, 6], [3, 6]),
        ("N, M", "M, N", ["N", "M"], ["N", "M"]),
        ('"0-3", N', "a, 2", ["0-3", 2], ["0-3", 2]),  # no size
        ("N, M", '"0-3", 2', ["N", 2], ["N", 2]),
    ],
)
def test_connected_sizes_are_followed(first, second, x, y):
    text = '<ir_version: 8, opset_import: ["": 13]> g (float[%s] x) => (float[%s] y) { y = Neg (x) }'
    whole = opset.merge(model(text % (first, first)), model(text % (second, second)), {"y": "x"})
    assert shape(whole.graph.input[0]) == x
    assert shape(whole.graph.output[0]) == y


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("float[N, 3]", "float[batch, 2]", "differ along axis 1"),
        ("float[N, 3]", "float[3]", "rank 2.*rank 1"),
        ("float[N, 3]", "double[N, 3]", r"float\[N, 3\] is not double"),
        ("float[N, N]", "float[2, 3]", "differ along axis 1"),
        ("float[2, 3]", "float[a, a]", "differ along axis 1"),
        ("float[3]", "seq(float[3])", "is not seq"),
    ],
)
def test_types_that_do_not_fit_are_refused_with_both_sides(first, second, words):
    text = '<ir_version: 8, opset_import: ["": 16]> g (%s x) => (%s y) { y = Identity (x) }'
    with pytest.raises(opset.ConversionError, match=f"(?s)output 'y' does not fit the input 'x'.*{words}") as caught:
        opset.merge(model(text % (first, first)), model(text % (second, second)), {"y": "x"})
    assert caught.value.code == "C603"


def test_metadata_of_both_is_kept():
    found = merged(FIRST, SECOND, connect={"y": "x"})
    assert {entry.key: entry.value for entry in found.model.proto.metadata_props} == {"k": "1", "same": "s", "k_1": "2"}
    assert any("metadata" in note and "k_1" in note for note in found.notes)
    assert found.model.proto.ir_version == 8


def test_without_connections_equal_names_are_connected_and_told():
    second = (
        SECOND.replace("float[batch, 2] x", "float[batch, 2] y").replace("(x, w)", "(y, w)").replace("y = If", "z = If")
    )
    second = second.replace("=> (float[batch, 2] y", "=> (float[batch, 2] z").replace("Add (h, x)", "Add (h, y)")
    found = merged(FIRST, second)
    assert found.connected == [("y", "y")]
    assert "connected, as they have the same names: y" in found.notes
    with pytest.raises(opset.UsageError, match=r"(?s)is not certain.*outputs y, extra; inputs x, n"):
        merged(FIRST, SECOND)
    text = '<ir_version: 8, opset_import: ["": 13]> g (float[1, 2] y = {1, 2}) => (float[1, 2] z) { z = Neg (y) }'
    with pytest.raises(opset.UsageError, match="have defaults, too: y"):
        merged(FIRST, text)


def test_an_input_of_the_first_can_be_shared():
    text = (
        '<ir_version: 8, opset_import: ["": 13]> g (float[N, 3] x, float[N, 3] e) => (float[N, 3] z) { z = Sub (x, e) }'
    )
    whole = opset.merge(model(FIRST), model(text), [("x", "x"), ("extra", "e")])
    assert names(whole.graph.input) == ["x"] and names(whole.graph.output) == ["y", "z"]
    np.testing.assert_array_equal(run(whole, {"x": X}, ["z"])[0], X + np.maximum(X, 0))


def test_one_output_may_feed_several_inputs_and_pass_through():
    text = """<ir_version: 8, opset_import: ["": 13]>
    g (float[N, 2] a, float[N, 2] b) => (float[N, 2] a, float[N, 2] s) { s = Add (a, b) }"""
    whole = opset.merge(model(FIRST), model(text), [("y", "a"), ("y", "b")])
    onnx.checker.check_model(whole, full_check=True)
    assert names(whole.graph.output) == ["extra", "y", "s"]
    _, y, s = run(whole, {"x": X})
    np.testing.assert_array_equal(s, 2 * y)


SCALE = '<domain: "d", opset_import: ["": 13]> %s (a) => (b) { b = %s (a) }'
CALLS = '<ir_version: 8, opset_import: ["": 13, "d": 1]> g (float[N, 3] %s) => (float[N, 3] %s) { %s = d.%s (%s) } %s'


def calls(inner, source, target, function):
    return CALLS % (source, target, target, function, source, inner)


def test_functions_of_one_name_that_differ_are_two():
    second = calls(f"{SCALE % ('F', 'Abs')} {SCALE % ('G', 'Exp')}", "u", "v", "F")
    whole = opset.merge(model(calls(SCALE % ("F", "Neg"), "x", "y", "F")), model(second), {"y": "u"})
    onnx.checker.check_model(whole)
    assert [function.name for function in whole.functions] == ["F", "F_1", "G"]
    np.testing.assert_array_equal(run(whole, {"x": X})[0], np.abs(X))


def test_functions_that_are_equal_are_shared_unless_what_they_call_differs():
    outer = '<domain: "d", opset_import: ["": 13, "d": 1]> F (a) => (b) { b = d.G (a) }'
    same = opset.merge(
        model(calls(f"{outer} {SCALE % ('G', 'Neg')}", "x", "y", "F")),
        model(calls(f"{outer} {SCALE % ('G', 'Neg')}", "u", "v", "F")),
        {"y": "u"},
    )
    assert [function.name for function in same.functions] == ["F", "G"]
    np.testing.assert_array_equal(run(same, {"x": X})[0], X)
    other = opset.merge(
        model(calls(f"{outer} {SCALE % ('G', 'Neg')}", "x", "y", "F")),
        model(calls(f"{outer} {SCALE % ('G', 'Abs')}", "u", "v", "F")),
        {"y": "u"},
    )
    assert sorted(function.name for function in other.functions) == ["F", "F_1", "G", "G_1"]
    np.testing.assert_array_equal(run(other, {"x": X})[0], np.abs(X))


@pytest.mark.parametrize("turned", [False, True])
def test_a_function_does_not_catch_an_operator_of_the_other_model(turned):
    plain = '<ir_version: 8, opset_import: ["": 13]> g (float[N, 3] %s) => (float[N, 3] %s) { %s = Neg (%s) }'
    function = '<domain: "", opset_import: ["": 13]> Neg (a) => (b) { b = Abs (a) }'
    with_function = (
        '<ir_version: 8, opset_import: ["": 13]> g (float[N, 3] %s) => (float[N, 3] %s) { %s = Neg (%s) } ' + function
    )
    texts = [plain % ("x", "y", "y", "x"), with_function % ("u", "v", "v", "u")]
    if turned:
        texts = [with_function % ("x", "y", "y", "x"), plain % ("u", "v", "v", "u")]
    whole = opset.merge(*map(model, texts), {"y": "u"})
    expected = -np.abs(X) if turned else np.abs(X)
    np.testing.assert_array_equal(run(whole, {"x": X})[0], expected)


OLD = """<ir_version: 4, opset_import: ["": 9]>
old (float[2, 3] x) => (float[1, 2, 3] y) { a = Softmax <axis = 1> (x)  y = Unsqueeze <axes = [0]> (a) }"""
NEW = """<ir_version: 10, opset_import: ["": 24]>
new (float[1, 2, 3] x) => (float[2, 3] y) {
  axes = Constant <value_ints = [0]> ()
  s = Squeeze (x, axes)
  y = Gelu <approximate = "tanh"> (s)
}"""


def test_models_fifteen_opsets_apart_meet_at_the_greater_one():
    first, second = model(OLD), model(NEW)
    found = merge_models(*map(opset.load, (first, second)), Joint({"y": "x"}), default_registry())
    assert found.opsets == {"": 24} and found.model.proto.ir_version == 10
    assert "converted in the first model: ai.onnx 9 -> 24" in found.notes
    expected = run(second, {"x": run(first, {"x": X})[0]})[0]
    np.testing.assert_array_equal(run(found.model, {"x": X})[0], expected)
    onnx.checker.check_model(onnx.ModelProto.FromString(found.model.SerializeToString()), full_check=True)


def test_models_fifteen_opsets_apart_meet_at_a_target():
    first, second = model(OLD), model(NEW)
    expected = run(second, {"x": run(first, {"x": X})[0]})[0]
    for target in ({"to": 13}, {"runtime": "onnxruntime==1.17"}, {"release": "1.15"}):
        whole = opset.merge(first, second, {"y": "x"}, **target)
        assert {"to": 13, "runtime": 20, "release": 20}[next(iter(target))] >= whole.opset_import[0].version
        np.testing.assert_allclose(run(whole, {"x": X})[0], expected, rtol=1e-6)
    with pytest.raises(opset.ConversionError) as caught:
        opset.merge(first, model(NEW.replace("Gelu", "TensorScatter")), {"y": "x"}, to=9)
    assert caught.value.findings[0].file == "the second model"


def test_a_domain_of_the_target_that_one_model_imports_is_imported_once():
    first, second = (
        model('<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Neg (x) }'),
        model(
            """<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 3]>
        h (float[2] x) => (float[2] y) { y = ai.onnx.ml.Binarizer <threshold = 0.5> (x) }"""
        ),
    )
    found = opset.merge(first, second, {"y": "x"}, to={"": 18, "ai.onnx.ml": 4})
    assert [(each.domain, each.version) for each in found.opset_import] == [("", 18), ("ai.onnx.ml", 4)]
    found = opset.merge(first, first, {"y": "x"}, to={"": 18, "ai.onnx.ml": 4})
    assert [(each.domain, each.version) for each in found.opset_import] == [("", 18)]


def test_versions_of_a_domain_without_schemas_do_not_meet():
    text = '<ir_version: 8, opset_import: ["": 13, "odd": %d]> g (float[3] x) => (float[3] y) { y = odd.Op (x) }'
    with pytest.raises(opset.ConversionError, match="two versions of 'odd': 1, 2") as caught:
        opset.merge(model(text % 1), model(text % 2), {"y": "x"})
    assert caught.value.code == "C604"


def test_initializers_of_old_models_are_no_inputs_of_new_ones():
    old = (
        '<ir_version: 3, opset_import: ["": 9]> g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { y = Mul (x, w) }'
    )
    new = '<ir_version: 8, opset_import: ["": 9]> g (float[2] x) => (float[2] y) { y = Neg (x) }'
    whole = opset.merge(model(old), model(new), {"y": "x"})
    assert names(whole.graph.input) == ["x"] and whole.ir_version == 8


def test_a_value_that_both_models_annotate_is_annotated_once():
    """`y` and `x` become one value, `w` is shared, and `v` is annotated otherwise."""
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[N, 2] x) => (float[N, 2] y)
        <float[2] w = {1, 2}, float s = {0.5}, float t = {0.25}, float[2] v = {3, 4}>
        { h = Mul (x, w) y = Add (h, v) }"""
    first, second = (onnx.parser.parse_model(text) for _ in range(2))
    for each, scales in (first, {"y": "s", "w": "s", "v": "s"}), (second, {"x": "s", "w": "s", "v": "t", "y": "t"}):
        for name, scale in scales.items():
            entry = each.graph.quantization_annotation.add(tensor_name=name)
            entry.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value=scale)
        assert not opset.check(each)
    merged = merge_models(opset.load(first), opset.load(second), Joint({"y": "x"}), default_registry())
    assert not opset.check(merged.model)
    stated = merged.model.graph.quantization_annotation
    found = {each.tensor_name: each.quant_parameter_tensor_names[0].value for each in stated}
    assert len(found) == len(stated) and found == {"y": "s", "w": "s", "v": "s", "y_1": "t"}
    assert [note for note in merged.notes if "quantization" in note] == [
        "quantization that both state otherwise, the first's holds: v"
    ]


@pytest.mark.parametrize(
    ("connect", "words"),
    [
        ({"yy": "x"}, "the first model has no output 'yy'.*did you mean y"),
        ({"h": "x"}, "no output 'h'.*--add-output"),
        ({"y": "xx"}, "the second model has no input 'xx'.*did you mean x"),
        ([("y", "x"), ("extra", "x")], "'x' is connected twice"),
        ("y=x", "'connect' of merge cannot be 'y=x'.*a list of pairs"),
    ],
)
def test_wrong_names_are_errors_that_say_which(connect, words):
    with pytest.raises(opset.UsageError, match=f"(?s){words}") as caught:
        opset.merge(model(FIRST), model(SECOND), connect)
    assert {each.code for each in caught.value.findings} == {"U103"}


def with_data(folder, name, text, values, file="weights.bin"):
    """Write a model whose weight w is in another file."""
    folder.mkdir(exist_ok=True)
    proto = model(text)
    tensor = next(each for each in proto.graph.initializer if each.name == "w")
    data = np.array(values, np.float32).tobytes()
    for each in ("float_data", "raw_data"):
        tensor.ClearField(each)
    tensor.data_location = 1
    for key, value in (("location", file), ("offset", "0"), ("length", str(len(data)))):
        tensor.external_data.add(key=key, value=value)
    (folder / file).write_bytes(data)
    (folder / name).write_bytes(proto.SerializeToString())
    return folder / name


@pytest.mark.parametrize("external", ["auto", "copy", "inline", "move", "keep"])
def test_external_data_of_two_folders_is_found_again(tmp_path, external):
    one = with_data(tmp_path / "a", "a.onnx", FIRST, [1, 0, 0, 1, 1, 1])
    other = with_data(tmp_path / "b", "b.onnx", SECOND, [2, 3])
    whole = opset.merge(one, other, {"y": "x"})
    feeds = {"x": X, "n": np.ones(2, np.float32)}
    expected = run(other, {"x": run(one, {"x": X})[0], "n": feeds["n"]})[0]
    np.testing.assert_array_equal(run(whole, feeds, ["y_1"])[0], expected)
    target = tmp_path / "a" if external == "auto" else tmp_path / "c"
    target.mkdir(exist_ok=True)
    whole.save(target / "whole.onnx", external=external)
    roots = [tmp_path / "a", tmp_path / "b"] if external == "keep" else []
    saved = opset.load(target / "whole.onnx", allow_external_roots=roots)
    np.testing.assert_array_equal(run(saved, feeds, ["y_1"])[0], expected)
    files = {"auto": 4, "copy": 3, "inline": 1, "move": 2, "keep": 1}
    assert len(os.listdir(target)) == files[external], os.listdir(target)
    locations = {
        entry.value for each in saved.proto.graph.initializer for entry in each.external_data if entry.key == "location"
    }
    if external == "keep":
        assert locations == {"../a/weights.bin", "../b/weights.bin"}
    if external in ("auto", "copy"):
        assert locations == {"weights.bin", "weights_1.bin"}


@pytest.mark.parametrize("target", ["a", "b", "c/d"])
def test_kept_data_is_led_to_from_the_folder_of_the_result(tmp_path, target):
    one = with_data(tmp_path / "a", "a.onnx", FIRST, [1, 0, 0, 1, 1, 1])
    other = with_data(tmp_path / "b", "b.onnx", SECOND, [2, 3])
    result = tmp_path / target / "whole.onnx"
    result.parent.mkdir(parents=True, exist_ok=True)
    arguments = ["merge", str(one), str(other), "--connect", "y=x", "--external-data", "keep", "-o", str(result)]
    printed = command(*arguments).output
    outside = [tmp_path / each for each in ("a", "b") if each != target]
    assert f"external data stays in {', '.join(map(str, outside))}: give --allow-external-root" in printed
    opset.merge(one, other, {"y": "x"}).save(result, external="keep", force=True)
    saved = opset.load(result, allow_external_roots=outside)
    assert not opset.check(saved)


def test_kept_data_of_the_second_model_alone_is_led_to(tmp_path):
    other = with_data(tmp_path / "b", "b.onnx", SECOND, [2, 3])
    opset.merge(model(FIRST).SerializeToString(), other, {"y": "x"}).save(tmp_path / "whole.onnx", external="keep")
    saved = opset.load(tmp_path / "whole.onnx")
    assert [each.external_data[0].value for each in saved.proto.graph.initializer if each.external_data] == [
        "b/weights.bin"
    ]


def test_external_data_of_one_folder_stays_where_it_is(tmp_path):
    one = with_data(tmp_path, "a.onnx", FIRST, [1, 0, 0, 1, 1, 1], "a.bin")
    other = with_data(tmp_path, "b.onnx", SECOND, [2, 3], "b.bin")
    (tmp_path / "a.bin").unlink()  # it is not even opened
    opset.merge(one, other, {"y": "x"}).save(tmp_path / "whole.onnx")
    assert sorted(os.listdir(tmp_path)) == ["a.onnx", "b.bin", "b.onnx", "whole.onnx"]


@pytest.mark.parametrize(("folder", "weights"), [("a", ["w", "u"]), ("b", ["w", "u", "w_1"])])
def test_constants_in_a_file_are_equal_if_it_is_the_same_file(tmp_path, folder, weights):
    text = CONSTANT % ("", "0, 0")
    one, other = (with_data(tmp_path / each, f"{each}.onnx", text, [3, 4]) for each in ("a", folder))
    assert names(opset.merge(one, other, {"y": "x"}).proto.graph.initializer) == weights


def test_large_weights_of_both_files_are_spliced(tmp_path):
    for name, text in (("a.onnx", FIRST), ("b.onnx", SECOND)):
        proto = model(text)
        big = proto.graph.initializer.add(name="big", data_type=1, dims=[1000])
        big.raw_data = np.full(1000, len(name + text), np.float32).tobytes()
        proto.graph.node.add(op_type="Neg", input=["big"], output=["negative"])
        (tmp_path / name).write_bytes(proto.SerializeToString())
    whole = opset.merge(tmp_path / "a.onnx", tmp_path / "b.onnx", {"y": "x"})
    assert [len(each.raw_data) for each in whole.proto.graph.initializer if each.name.startswith("big")] == [0, 0]
    whole.save(tmp_path / "whole.onnx")
    written = {each.name: each for each in onnx.load(tmp_path / "whole.onnx").graph.initializer}
    for name, file in (("big", "a.onnx"), ("big_1", "b.onnx")):
        given = onnx.load(tmp_path / file).graph.initializer[-1]
        given.name = name
        assert written[name].SerializeToString() == given.SerializeToString()


def chain(count):
    nodes = "\n".join(f"[n{at}] a{at + 1} = Neg (a{at})" for at in range(count))
    return opset.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> m (float[N] a0) => (float[N] a{count}) {{ {nodes} }}'
    )


def test_the_work_is_linear_in_the_nodes():
    small, large = chain(300), chain(1200)
    with lines(10**8) as count:
        opset.merge(small, small, {"a300": "a0"})
        few = count()
    with lines(5 * few):
        opset.merge(large, large, {"a1200": "a0"})


def chain_of_functions(count, operator):
    nodes = " ".join(f"a{at + 1} = f.G{at} (a{at})" for at in range(count))
    functions = "\n".join(
        f'<domain: "f", opset_import: ["": 17]> G{at} (a) => (b) {{ b = {operator} (a) }}' for at in range(count)
    )
    head = '<ir_version: 8, opset_import: ["": 17, "f": 1]>'
    return opset.parse_model(f"{head} m (float[N] a0) => (float[N] a{count}) {{ {nodes} }} {functions}")


def test_the_work_is_linear_in_the_functions(monkeypatch):
    known = []

    def spied(function, each):
        known.append(each)
        return calls_of(function, each)

    calls_of = renaming._calls
    monkeypatch.setattr(renaming, "_calls", spied)

    def separating(count):
        def index(operator):
            read, found = read_model(opset.load(chain_of_functions(count, operator)), default_registry())
            return found, read.proto

        sides = [(index("Neg"), index(operator)) for operator in ("Neg", "Abs")]
        return lambda: [renaming.separate_functions(*each) for each in sides]

    assert growth(separating, 50, 4) < 1.3
    known.clear()
    separating(50)()
    assert len({id(each) for each in known}) == 1 < len(known)  # all functions are gathered once


@given(st.integers(0, 2**20))
@settings(max_examples=draws(160))
def test_parts_of_a_random_graph_merged_give_the_whole(seed):
    draw = np.random.default_rng(seed)
    count = int(draw.integers(3, 12))
    nodes, values, read = [], ["x", "b"], {}
    for at in range(count):
        read[at] = [values[int(draw.integers(len(values)))] for _ in range(2)]
        nodes.append(f"v{at} = {('Add', 'Sub', 'Mul')[int(draw.integers(3))]} ({', '.join(read[at])})")
        values.append(f"v{at}")
    text = f'<ir_version: 8, opset_import: ["": 17]> m (float[2, 3] x, float[3] b) => (float[M, 3] v{count - 1}) {{%s}}'
    whole = model(text % "  ".join(nodes))
    split = int(draw.integers(1, count))
    later = {name for at in range(split, count) for name in read[at]}
    cut = [f"v{at}" for at in range(split) if f"v{at}" in later]
    if not cut:
        return
    front = opset.extract(whole, outputs=cut)
    back = opset.extract(whole, [*cut, *(name for name in ("x", "b") if name in later)], [f"v{count - 1}"])
    shared = [name for name in names(back.graph.input) if name in names(front.graph.input)]
    again = opset.merge(front, back, [(name, name) for name in [*cut, *shared]])
    feeds = {"x": X, "b": X[0]}
    taken = names(again.graph.input)
    assert {*taken} <= {"x", "b"}
    got = run(again, {name: feeds[name] for name in taken})
    np.testing.assert_array_equal(got[-1], run(whole, feeds)[0])


def test_the_verb_joins_two_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("a.onnx", FIRST), ("b.onnx", SECOND)):
        (tmp_path / name).write_bytes(model(text).SerializeToString())
    (report,) = run_json("merge", "a.onnx", "b.onnx", "--connect", "y=x")["models"]
    assert report["connected"] == [{"output": "y", "input": "x"}]
    assert {"model": "second", "before": "batch", "after": "N"} in report["sizes"]
    assert report["output"] == "a-merged.onnx" and report["opsets"] == {"ai.onnx": 13}
    wrong = command("merge", "a.onnx", "b.onnx", "--connect", "extra=x", "-o", "c.onnx")
    assert wrong.exit_code == 1 and "a.onnx and b.onnx" in wrong.stderr and not (tmp_path / "c.onnx").exists()
    for text in ("yx", "=x", "y=", "="):
        said = command("merge", "a.onnx", "b.onnx", "--connect", text)
        assert said.exit_code == 2 and f"{text!r} is not OUTPUT=INPUT" in said.stderr
    assert _parse_pair("a=b=c") == ("a=b", "c")
    assert command("merge", "-", "-", "--connect", "y=x").exit_code == 2
    data = (tmp_path / "b.onnx").read_bytes()
    assert command("merge", "a.onnx", "-", "--connect", "y=x", "-o", "d.onnx", stdin=data).exit_code == 0
    assert (tmp_path / "d.onnx").exists()
    text = command("merge", "a.onnx", "b.onnx", "--connect", "y=x", "--prefix", "a/", "b/", "-o", "c.onnx").stdout
    assert "y -> x" in text and "x of the first is called a/x" in text


@pytest.mark.parametrize(
    ("target", "opset_version", "ir_version"),
    [
        ([], 13, 7),
        (["--to", "17"], 17, 7),
        (["--release", "1.12"], 17, 7),
        (["--for", "onnxruntime==1.5"], 12, 7),
        (["--ir-version", "9"], 13, 9),
    ],
)
def test_each_option_that_names_a_target_brings_the_whole_to_it(
    tmp_path, monkeypatch, target, opset_version, ir_version
):
    monkeypatch.chdir(tmp_path)
    text = '<ir_version: 7, opset_import: ["": 13]> g (float[N] x) => (float[N] y) { y = Neg (x) }'
    Path("a.onnxtxt").write_text(text)
    assert command("merge", "a.onnxtxt", "a.onnxtxt", "--connect", "y=x", "-o", "b.onnx", *target).exit_code == 0
    whole = onnx.load("b.onnx")
    assert ([each.version for each in whole.opset_import], whole.ir_version) == ([opset_version], ir_version)
    inexact = command(
        "merge", "a.onnxtxt", "a.onnxtxt", "--connect", "y=x", "-o", "b.onnx", "--force", "--inexact-types"
    )
    assert inexact.exit_code == 2 and "error[U103] a conversion needs a target" in inexact.stderr


def test_merging_is_bounded():
    with pytest.raises(opset.ConversionError, match="the merging was stopped") as caught:
        opset.merge(model(FIRST), model(SECOND), {"y": "x"}, limits=opset.Limits(max_steps=20))
    assert caught.value.code == "C401" and "20 " in caught.value.why


def test_targets_of_a_merger_may_be_ones_own(tmp_path):
    own = Path(__file__).parents[1] / "opsets" / "own"
    file = runtime_file(tmp_path, takes("MatMul", "Neg", "Exp", "Constant", "If"), opset=(7, 12))
    for asked in ({"runtime": "npu==1.0", "targets": [file]}, {"to": {"com.example": 1, "": 12}, "schemas": [own]}):
        whole = opset.merge(model(FIRST), model(SECOND), {"y": "x"}, **asked)
        assert {each.domain: each.version for each in whole.opset_import}[""] == 12


PLAIN = '<ir_version: 8, opset_import: ["": 13]> g (float[%s] x) => (float[%s] y) { y = Neg (x) }'


def test_a_size_that_cannot_be_said_is_left_open():
    first, second = PLAIN % (('A, "floor(6/A)"',) * 2), PLAIN % (("0, b",) * 2)  # nothing is divided by the 0
    graph = opset.merge(model(first), model(second), {"y": "x"}).graph
    kinds = [
        [dim.WhichOneof("value") for dim in each.type.tensor_type.shape.dim] for each in (*graph.input, *graph.output)
    ]
    assert kinds == [["dim_value", None], ["dim_value", "dim_param"]]


@pytest.mark.parametrize("unknown", ["first", "second"])
@pytest.mark.parametrize("is_partial", [False, True])
def test_a_type_that_one_side_does_not_know_is_noted(unknown, is_partial):
    first = (
        '<ir_version: 8, opset_import: ["": 13, "o": 1]> g (float[2] x) => (float[2] y, z) { y = Neg (x) z = o.P (x) }'
    )
    second = '<ir_version: 8, opset_import: ["": 13, "o": 1]> h (double[2] u, v) => (double[2] w) { w = o.Q (u, v) }'
    pair = {"first": ("z", "u"), "second": ("y", "v")}[unknown]
    models = [model(first), model(second)]
    for value in (models[0].graph.output[1], models[1].graph.input[1]) if is_partial else ():
        value.type.tensor_type.SetInParent()
    found = merge_models(*map(opset.load, models), Joint([pair]), default_registry())
    assert found.notes == [f"not known whether the type of '{pair[0]}' fits '{pair[1]}'"]


def texts(holder, *entries):
    for key, value in entries:
        holder.metadata_props.add(key=key, value=value)


def test_what_both_models_say_of_themselves_is_kept():
    one, other = model(PLAIN % ("N", "N")), model((PLAIN % ("N", "N")).replace("g (", "h ("))
    for number, each in enumerate((one, other)):
        each.doc_string, each.graph.doc_string = f"model {number}", "the same"
        texts(each, ("k", f"{number}"), ("equal", "e"), (f"own {number}", "o"))
        texts(each.graph, ("g", f"{number}"))
        each.configuration.add(name="shared", num_devices=2)
        each.configuration.add(name="device", num_devices=2 + number)
        for configuration in ("device", "shared"):
            use = each.graph.node[0].device_configurations.add(configuration_id=configuration)
            use.sharding_spec.add(tensor_name="y")
        each.training_info.add().algorithm.name = "train"
    found = merge_models(opset.load(one), opset.load(other), Joint({"y": "x"}), default_registry())
    whole = found.model.proto
    assert (whole.doc_string, whole.graph.doc_string, whole.graph.name) == ("model 0\n\nmodel 1", "the same", "g_h")
    assert {each.key: each.value for each in whole.metadata_props} == {
        "k": "0", "k_1": "1", "equal": "e", "own 0": "o", "own 1": "o",
    }  # fmt: skip
    assert [(each.name, each.num_devices) for each in whole.configuration] == [
        ("shared", 2), ("device", 2), ("device_1", 3),
    ]  # fmt: skip
    uses = [
        [(use.configuration_id, use.sharding_spec[0].tensor_name) for use in node.device_configurations]
        for node in whole.graph.node
    ]
    assert uses == [[("device", "y"), ("shared", "y")], [("device_1", "y_1"), ("shared", "y_1")]]
    assert not whole.training_info
    assert found.notes == [
        "training graphs of the first model are left out: they belong to it alone",
        "training graphs of the second model are left out: they belong to it alone",
        "device configurations of the second: device_1",
        "metadata that both have with other values, the second's: k_1",
        "metadata that both have with other values, the second's: g_1",
    ]


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [("", "h", "h"), ("g", "", "g"), ("g", "g", "g"), ("g", "h", "g_h"), ("", "", "")],
)
def test_the_name_of_the_graph_is_made_of_both(first, second, name):
    models = [model(PLAIN % ("N", "N")) for _ in range(2)]
    for each, own in zip(models, (first, second), strict=True):
        each.graph.name = own
    assert opset.merge(*models, {"y": "x"}).graph.name == name


@pytest.mark.parametrize(
    ("declared", "values", "prefixes", "weights"),
    [
        ("", "3, 4", ("", ""), ["w", "u"]),  # equal ones are one
        ("", "3, 5", ("", ""), ["w", "u", "w_1"]),
        ("", "3, 4", ("a/", ""), ["a/w", "a/u", "w", "u"]),
        ("", "3, 4", ("", "b/"), ["w", "u", "b/w", "b/u"]),
        (", float[2] w", "3, 4", ("", ""), ["w", "u", "w_1"]),  # a caller may give another value
    ],
)
def test_constants_that_are_equal_are_one_if_nobody_can_tell(declared, values, prefixes, weights):
    first, second = CONSTANT % ("", "3, 4"), CONSTANT % (declared, values)
    for pair in ((first, second), (second, first)) if declared else ((first, second),):
        found = merged(*pair, connect={"y": "x"}, prefixes=prefixes)
        assert names(found.model.proto.graph.initializer) == weights
        outcome = run(opset.load(found.model.proto), {names(found.model.proto.graph.input)[0]: X[0, :2]})[0]
        np.testing.assert_array_equal(outcome, X[0, :2] * [3, 4] * np.array(values.split(", "), float))


def test_a_value_that_stays_inside_keeps_its_type_once():
    text = '<ir_version: 8, opset_import: ["": 13]> g (float[2] x) => (float[2] %s, float[2] y) <float[2] k> %s'
    first = text % ("x", "{ k = Abs (x) y = Neg (k) }")
    graph = opset.merge(model(first), model(PLAIN % ("2", "2")), [("y", "x")]).graph
    assert (names(graph.value_info), names(graph.output)) == (["k", "y"], ["x", "y_1"])
    graph = opset.merge(model(first), model(PLAIN % ("2", "2")), [("x", "x")]).graph  # an input has its type
    assert (names(graph.value_info), names(graph.output)) == (["k"], ["y", "y_1"])


def test_outputs_of_the_second_that_are_one_value_are_one():
    second = (
        '<ir_version: 8, opset_import: ["": 13]> h (float[N, 2] a, float[N, 2] b) => (float[N, 2] a, float[N, 2] b) {}'
    )
    found = merged(FIRST, second, connect=[("y", "a"), ("y", "b")])
    assert names(found.model.proto.graph.output) == ["extra", "y"]
    assert found.notes == ["outputs that are the same value are one now", "IR version 8: the greater of both"]
    assert merged(FIRST, SECOND, connect={"y": "x"}).notes[0] == "IR version 8: the greater of both"


def test_domains_of_the_second_come_along_once():
    texts = [
        f'<ir_version: 8, opset_import: ["{standard}": 13, "d{number}": 1]> g (float[2] x) => (float[2] y) '
        f"{{ n = d{number}.Op (x) y = Neg (n) }}"
        for number, standard in enumerate(("", "ai.onnx"))
    ]
    found = merged(*texts, connect={"y": "x"})
    assert [each.domain for each in found.model.proto.opset_import] == ["", "d0", "d1"]
    assert found.opsets == {"": 13, "d0": 1, "d1": 1}


def test_sizes_have_to_fit_also_if_elements_are_not_known():
    known, unknown = Type("tensor", "float", (3,)), Type("tensor", None, (4,))
    for pair in ((known, unknown), (unknown, known)):
        assert type_conflict(*pair, lambda one, other: one == other).endswith("differ along axis 0")
        assert not type_conflict(*pair, lambda one, other: True)


def test_a_gradient_names_values_that_have_other_names_then():
    text = """<ir_version: 8, opset_import: ["": 13, "ai.onnx.preview.training": 1]>
        m (float[2] x, float[2] w) => (float[2] y, float[2] g) {
          y = Mul (x, w)  g = ai.onnx.preview.training.Gradient <xs = ["w"], zs = ["x"], y = "y"> (w, x) }"""
    graph = opset.merge(model(text), model(text), [("y", "x")]).graph
    gradients = [node.attribute for node in graph.node if node.attribute]
    assert [{each.name: onnx.helper.get_attribute_value(each) for each in held} for held in gradients] == [
        {"xs": [b"w"], "zs": [b"x"], "y": b"y"}, {"xs": [b"w_1"], "zs": [b"y"], "y": b"y_1"},
    ]  # fmt: skip
    odd = model(text)
    for attribute in odd.graph.node[1].attribute[1:]:  # of no value, as it is no text
        attribute.s, attribute.strings[:] = b"\xff", [b"\xff"]
    assert len(opset.merge(model(text), odd, [("y", "x")]).graph.node) == 4


def test_a_name_that_is_only_stated_is_taken_as_well():
    text = '<ir_version: 8, opset_import: ["": 13]> g (float[2] x) => (float[2] y) <float[2] k> { %s }'
    graph = opset.merge(model(text % "y = Neg (x)"), model(text % "k = Abs (x)  y = Neg (k)"), {"y": "x"}).graph
    assert [[*node.output] for node in graph.node] == [["y"], ["k_1"], ["y_1"]]


def test_initializers_of_an_old_second_model_are_no_inputs_of_new_ones():
    old = (
        '<ir_version: 3, opset_import: ["": 9]> g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { y = Mul (x, w) }'
    )
    new = (
        '<ir_version: 8, opset_import: ["": 9]> g (float[2] x, float[2] v = {1, 2}) => (float[2] y) { y = Mul (x, v) }'
    )
    assert names(opset.merge(model(new), model(old), {"y": "x"}).graph.input) == ["x", "v"]
    assert names(opset.merge(model(new), model(new), {"y": "x"}).graph.input) == ["x", "v", "v_1"]
    assert names(opset.merge(model(old), model(old), {"y": "x"}).graph.input) == ["x", "w", "w_1"]


def test_a_target_that_refuses_the_whole_is_told():
    hardmax = (PLAIN % ("2, 2", "2, 2")).replace("Neg", "Hardmax")
    with pytest.raises(opset.ConversionError, match="Hardmax"):
        opset.merge(model(hardmax), model(PLAIN % ("2, 2", "2, 2")), {"y": "x"}, runtime="tensorrt==8.6")


def test_external_data_keeps_the_folder_that_it_has(tmp_path):
    external = with_data(tmp_path / "a", "a.onnx", FIRST, [1, 0, 0, 1, 1, 1])
    assert opset.merge(external, model(SECOND), {"y": "x"}).folder.path == str(tmp_path / "a")
    other = with_data(tmp_path / "b", "b.onnx", SECOND, [2, 3])
    assert opset.merge(opset.load(model(FIRST).SerializeToString()), other, {"y": "x"}).folder.path == str(
        tmp_path / "b"
    )
    with pytest.raises(opset.UsageError, match="the folder of one is not known"):
        opset.merge(external.read_bytes(), other, {"y": "x"})
    absolute = onnx.load(other, load_external_data=False)
    absolute.graph.initializer[0].external_data[0].value = str(tmp_path / "b" / "weights.bin")
    other.write_bytes(absolute.SerializeToString())
    whole = opset.merge(external, other, {"y": "x"}).proto
    located = [entry.value for tensor in whole.graph.initializer for entry in tensor.external_data[:1]]
    assert located == ["weights.bin", str(tmp_path / "b" / "weights.bin")]


def test_dimensions_are_found_in_types_of_any_depth():
    values = model("""<ir_version: 10, opset_import: ["": 21]>
        g (float[A] a, seq(float[B]) b, optional(seq(float[C, 4])) c, map(int64, float[D]) d,
           sparse_tensor(float[E]) e, f) => () {}""").graph.input
    assert [dim.dim_param or dim.dim_value for dim in dims_of(values)] == ["A", "B", "C", 4, "D", "E"]


def test_an_absent_input_has_no_name_to_change():
    text = """<ir_version: 8, opset_import: ["": 13]> g (float[2] x, float h) => (float[2] y) { y = Clip (x, , h) }"""
    graph = opset.merge(model(text), model(text), {"y": "x"}).graph
    assert [[*node.input, *node.output] for node in graph.node] == [["x", "", "h", "y"], ["y", "", "h_1", "y_1"]]


def test_sparse_constants_and_annotations_are_renamed():
    models = []
    for number in (1, 2):
        each = model(f"""<ir_version: 8, opset_import: ["": 13]> g (float[2] x) => (float[2] y)
            <float scale = {{{number}}}> {{ h = Neg (x)  y = Add (h, s) }}""")
        sparse = each.graph.sparse_initializer.add(dims=[2])
        sparse.values.CopyFrom(onnx.helper.make_tensor("s", 1, [1], [float(number)]))
        sparse.indices.CopyFrom(onnx.helper.make_tensor("", 7, [1], [1]))
        entry = each.graph.quantization_annotation.add(tensor_name="h").quant_parameter_tensor_names.add()
        entry.key, entry.value = "SCALE_TENSOR", "scale"
        models.append(each)
    graph = opset.merge(*models, {"y": "x"}).graph
    assert [each.values.name for each in graph.sparse_initializer] == ["s", "s_1"]
    assert [[*node.input] for node in graph.node] == [["x"], ["h", "s"], ["y"], ["h_1", "s_1"]]
    assert [
        (each.tensor_name, each.quant_parameter_tensor_names[0].value) for each in graph.quantization_annotation
    ] == [("h", "scale"), ("h_1", "scale_1")]


STREAMED = "external data is not part of the stream; it stays where it is"


@pytest.mark.parametrize(
    ("external", "output", "notes"),
    [
        ("auto", "-", [STREAMED]),
        ("keep", "-", [STREAMED]),
        ("inline", "-", []),
        ("auto", "whole.onnx", []),
        ("copy", "whole.onnx", []),
        ("inline", "whole.onnx", []),
        ("keep", "../in/whole.onnx", []),
        ("keep", "whole.onnx", ["external data stays in ../in: give --allow-external-root to read the result"]),
    ],
)
def test_notes_about_external_data_of_a_whole(tmp_path, monkeypatch, external, output, notes):
    with_data(tmp_path / "in", "a.onnx", FIRST, [1, 0, 0, 1, 1, 1], "a.bin")
    with_data(tmp_path / "in", "b.onnx", SECOND, [2, 3], "b.bin")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    options = ["--connect", "y=x", "--external-data", external, "-o", output]
    done = command("merge", "../in/a.onnx", "../in/b.onnx", *options)
    text = done.stderr if output == "-" else done.stdout
    found = [line.removeprefix("  note: ") for line in text.splitlines() if line.startswith("  note: ")]
    others = ["IR version 8: the greater of both", "metadata that both have with other values, the second's: k_1"]
    assert (done.exit_code, found) == (0, [*others, *notes])
