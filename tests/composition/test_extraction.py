"""Parts of models: they compute what the whole computes there, and have what they need and no more."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opset
from opset.composition import extraction
from opset.composition.extraction import Wanted, extract_part
from opset.errors import SHOWN
from opset.inference.building import work
from opset.opsets.registry import default_registry
from tests.bounds import draws, lines
from tests.cli.commands import run as command
from tests.cli.commands import run_json

X = np.array([[-2.0, -0.5, 3.0], [1.0, 0.0, -7.0]], np.float32)
B = np.array([0.5, -1.0, 2.0], np.float32)
FUNCTION = """<domain: "com.example", opset_import: ["": 17]>
Scale <k, m: float = 3.0> (a) => (b) {
  factor = Constant <value_float: float = @k> ()
  more = Constant <value_float: float = @m> ()
  c = Mul (a, factor)
  d = Mul (c, more)
  b = Abs (d)
}
<domain: "com.example", opset_import: ["": 17]>
Unused (a) => (b) { b = Neg (a) }"""
WHOLE = f"""<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 3, "com.example": 1],
  producer_name: "maker", metadata_props: ["key": "value"]>
main (float[N, 3] x, float[3] b) => (float[N, 3] y, float[N, 3] z)
  <float[3] w = {{1, 2, 3}}, float[3] v = {{4, 5, 6}}, float[3] unused = {{7, 8, 9}}> {{
  a = Mul (x, w)
  c = com.example.Scale <k = 2.0> (a)
  t = Add (c, b)
  yes = Constant <value = bool {{1}}> ()
  [branch] y = If (yes) <
    then_branch = g () => (float[N, 3] p) {{ q = Sub (t, v)  p = Relu (q) }},
    else_branch = h () => (float[N, 3] r) {{ r = Identity (t) }}>
  z = Neg (c)
}}
{FUNCTION}"""


def whole(text=WHOLE):
    return onnx.ModelProto.FromString(opset.parse_model(text).SerializeToString())


def names(values):
    return [value.name for value in values]


def run(model, feeds, outputs=None):
    return opset.ReferenceEvaluator(model).run(outputs, feeds)


def test_a_part_of_the_main_graph_gives_the_values_of_the_whole_and_has_nothing_else():
    model = whole()
    before = model.SerializeToString()
    part = opset.extract(model, ["c", "b"], ["y"])
    assert model.SerializeToString() == before
    assert isinstance(part, onnx.ModelProto)
    onnx.checker.check_model(part, full_check=True)
    assert (names(part.graph.input), names(part.graph.output)) == (["c", "b"], ["y"])
    assert names(part.graph.initializer) == ["v"]
    assert [node.op_type for node in part.graph.node] == ["Add", "Constant", "If"]
    assert not part.functions and [each.domain for each in part.opset_import] == [""]
    assert (part.producer_name, part.metadata_props[0].value, part.graph.name) == ("maker", "value", "main")
    assert part.graph.node[2].name == "branch"
    c, y = run(model, {"x": X, "b": B}, ["c", "y"])
    np.testing.assert_array_equal(run(part, {"c": c, "b": B})[0], y)


def test_types_of_cut_values_and_of_inner_values_are_inferred():
    part = opset.extract(whole(), "a,b", "y")
    shapes = {
        value.name: [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in (*part.graph.input, *part.graph.output, *part.graph.value_info)
    }
    assert shapes == {"a": ["N", 3], "b": [3], "y": ["N", 3], "c": ["N", 3], "t": ["N", 3], "yes": []}
    assert [function.name for function in part.functions] == ["Scale"]
    assert [(each.domain, each.version) for each in part.opset_import] == [("", 17), ("com.example", 1)]


def test_without_inputs_a_part_takes_what_its_outputs_need():
    part = opset.extract(whole(), outputs=["z"])
    assert names(part.graph.input) == ["x"]
    np.testing.assert_array_equal(run(part, {"x": X})[0], run(whole(), {"x": X, "b": B})[1])


def test_all_outputs_without_inputs_are_the_whole():
    part = opset.extract(whole(), inputs=["x", "b"])
    assert names(part.graph.output) == ["y", "z"] and len(part.graph.node) == 6
    for expected, got in zip(run(whole(), {"x": X, "b": B}), run(part, {"x": X, "b": B}), strict=True):
        np.testing.assert_array_equal(expected, got)


def test_a_value_that_no_output_needs_stays_an_input_and_is_named():
    found = extract_part(opset.load(whole()), Wanted("c,b,x", "y"), default_registry())
    assert found.inputs == ["c", "b", "x"]
    assert "inputs that the outputs do not need: x" in found.notes


def test_graphs_in_nodes_that_the_part_lacks_keep_nothing():
    """The part has one of two nodes with branches: what the branches of the other one use is not in it."""
    branches = "then_branch = g () => (float[3] p) {{ p = {} }}, else_branch = h () => (float[3] q) {{ q = Neg (b) }}"
    text = f"""<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 3, "com.example": 1]>
    main (bool yes, float[3] x, float[3] b) => (float[3] y, float[3] z) {{
      y = If (yes) <{branches.format("ai.onnx.ml.Normalizer (x)")}>
      z = If (yes) <{branches.format("com.example.Unused (b)")}>
    }}
    {FUNCTION}"""
    model = opset.load(whole(text))
    found = [extract_part(model, Wanted("yes,x,b", output), default_registry()) for output in "yz"]
    proto = [each.model.proto for each in found]
    assert [[each.name for each in part.functions] for part in proto] == [[], ["Unused"]]
    assert [[each.domain for each in part.opset_import] for part in proto] == [["", "ai.onnx.ml"], ["", "com.example"]]
    assert [each.notes for each in found] == [[], ["inputs that the outputs do not need: x"]]


def test_a_body_is_found_by_its_values_and_values_around_become_inputs():
    model = whole()
    part = opset.extract(model, outputs=["p"])
    onnx.checker.check_model(part, full_check=True)
    assert (names(part.graph.input), names(part.graph.initializer), part.graph.name) == (["t"], ["v"], "g")
    t, y = run(model, {"x": X, "b": B}, ["t", "y"])
    np.testing.assert_array_equal(run(part, {"t": t})[0], y)
    inner = opset.extract(model, ["q"], ["p"], graph="node 'branch' (If), then_branch")
    assert names(inner.graph.input) == ["q"] and not inner.graph.initializer
    found = extract_part(opset.load(model), Wanted(outputs="p"), default_registry())
    assert found.notes == ["values of graphs around, which are inputs now: t"]


LOOP = """<ir_version: 8, opset_import: ["": 16]>
main (int64 count, float[2] start, float[2] step) => (float[2] last, float[M, 2] seen) {
  true_ = Constant <value = bool {1}> ()
  doubled = Add (step, step)
  last, seen = Loop (count, true_, start) <body = round (int64 i, bool go, float[2] state)
    => (bool on, float[2] next, float[2] out) {
      on = Identity (go)
      scaled = Mul (doubled, state)
      next = Add (scaled, state)
      out = Neg (next)
  }>
}"""


def test_a_body_of_a_loop_takes_its_own_inputs_and_those_around():
    model = whole(LOOP)
    model.graph.node[2].attribute[0].g.input[2].doc_string = "what a round begins with"
    part = opset.extract(model, outputs=["out"])
    onnx.checker.check_model(part, full_check=True)
    assert [(each.name, each.doc_string) for each in part.graph.input] == [
        ("state", "what a round begins with"),
        ("doubled", ""),
    ]
    step, state = np.array([1, 2], np.float32), np.array([3, 4], np.float32)
    expected = run(whole(LOOP), {"count": np.int64(1), "start": state, "step": step / 2})[1][0]
    np.testing.assert_array_equal(run(part, {"state": state, "doubled": step})[0], expected)


def test_scan_bodies_are_cut_too():
    model = whole("""<ir_version: 8, opset_import: ["": 16]>
    main (float[2] s, float[4, 2] xs) => (float[2] e, float[4, 2] ys) {
      e, ys = Scan <num_scan_inputs = 1, body = b (float[2] u, float[2] v) => (float[2] w, float[2] o) {
        w = Add (u, v)  k = Mul (w, s)  o = Exp (k) }> (s, xs)
    }""")
    part = opset.extract(model, ["k"], ["o"])
    np.testing.assert_array_equal(run(part, {"k": X[0, :2]})[0], np.exp(X[0, :2]))
    assert names(opset.extract(model, outputs=["o"]).graph.input) == ["u", "v", "s"]


def test_a_function_is_cut_with_the_attributes_that_its_calls_give():
    part = opset.extract(whole(), outputs=["d"], function="com.example.Scale")
    onnx.checker.check_model(part, full_check=True)
    np.testing.assert_array_equal(run(part, {"a": X})[0], X * 6)
    assert [dim.dim_param or dim.dim_value for dim in part.graph.input[0].type.tensor_type.shape.dim] == ["N", 3]
    inner = opset.extract(whole(), ["c"], ["b"], function="Scale")
    assert [node.op_type for node in inner.graph.node] == ["Constant", "Mul", "Abs"]


def test_calls_that_give_an_attribute_different_values_leave_it_uncertain():
    text = WHOLE.replace("z = Neg (c)", "z = com.example.Scale <k = 5.0> (c)")
    with pytest.raises(opset.ConversionError, match="attribute 'k' is not certain") as caught:
        opset.extract(whole(text), outputs=["d"], function="Scale")
    assert caught.value.code == "C602"
    part = opset.extract(whole(text), ["c"], ["b"], function="Scale")  # m has its default in both
    np.testing.assert_array_equal(run(part, {"c": X})[0], np.abs(X * 3))


def test_added_outputs_keep_the_whole_model():
    model = whole()
    longer = opset.extract(model, add_outputs=["a", "t"])
    onnx.checker.check_model(longer, full_check=True)
    assert names(longer.graph.output) == ["y", "z", "a", "t"]
    del longer.graph.output[2:]
    assert longer == model
    with pytest.raises(opset.UsageError, match="it is a value of graph 'main', node 'branch'"):
        opset.extract(model, add_outputs=["q"])
    with pytest.raises(opset.UsageError) as caught:
        opset.extract(model, add_outputs=["q", "s"])
    assert [(each.message, each.help.partition(" ")[0]) for each in caught.value.findings] == [
        ("there is no value 'q' beside the others", "extract"),
        ("there is no value 's'", "opset"),
    ]


def test_a_node_of_which_one_output_is_cut_still_computes_the_others():
    model = whole("""<ir_version: 8, opset_import: ["": 17]>
    main (float[4] x) => (float[2] y) { a, b = Split (x)  c = Neg (a)  y = Add (c, b) }""")
    part = opset.extract(model, ["b", "x"], ["y"])
    onnx.checker.check_model(part, full_check=True)
    assert names(part.graph.value_info) == ["a", "c"]
    x, b = np.arange(4, dtype=np.float32), np.array([5, 7], np.float32)
    np.testing.assert_array_equal(run(part, {"x": x, "b": b})[0], -x[:2] + b)


def test_initializers_that_a_caller_may_override_stay_inputs_with_a_default():
    text = '<ir_version: 8, opset_import: ["": 17]> main (float[2] x, float[2] w = {1, 2}) => (float[2] y) {%s}'
    model = whole(text % "a = Neg (x)  y = Mul (a, w)")
    part = opset.extract(model, ["a"], ["y"])
    assert (names(part.graph.input), names(part.graph.initializer)) == (["a", "w"], ["w"])
    bare = opset.extract(model, ["a", "w"], ["y"])
    assert (names(bare.graph.input), names(bare.graph.initializer)) == (["a", "w"], [])


def test_scales_that_an_annotation_names_come_along():
    model = whole('<ir_version: 8, opset_import: ["": 17]> main (float[2] x) => (float[2] y) '
                  "<float s = {0.5}, float z = {0}> { a = Neg (x)  b = Abs (a)  y = Neg (b) }")  # fmt: skip
    for name in ("a", "b"):
        entry = model.graph.quantization_annotation.add(tensor_name=name).quant_parameter_tensor_names.add()
        entry.key, entry.value = "SCALE_TENSOR", "s" if name == "b" else "z"
    part = opset.extract(model, ["a"], ["b"])
    assert names(part.graph.initializer) == ["s"]
    assert [each.tensor_name for each in part.graph.quantization_annotation] == ["b"]
    model.graph.quantization_annotation[1].quant_parameter_tensor_names.add(key="ZERO_POINT_TENSOR", value="y")
    assert not opset.extract(model, ["a"], ["b"]).graph.quantization_annotation  # the part does not compute y


def test_names_may_be_anything_that_yields_them():
    """A generator is used up once; the values are in the last body that is looked at."""
    found = opset.extract(whole(), iter(["a"]), iter(["b"]), function="Scale")
    assert found == opset.extract(whole(), ["a"], ["b"], function="Scale")
    assert opset.extract(whole(), add_outputs=iter(["a"])) == opset.extract(whole(), add_outputs=["a"])
    assert opset.extract(whole(), outputs=iter(["p"])) == opset.extract(whole(), outputs=["p"])


@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        ({"outputs": "yy"}, "U103", "there is no value 'yy'.*did you mean y"),
        ({"inputs": ["nope"], "outputs": "y"}, "U103", "there is no value 'nope'"),
        ({"inputs": ["c"], "outputs": "y"}, "C601", "the output 'y' needs 'b'"),
        ({"outputs": "b", "function": "Scal"}, "U103", "has no function 'Scal'.*com.example.Scale"),
        ({"outputs": "p", "graph": "nowhere"}, "U103", "has no graph 'nowhere'"),
        ({}, "U103", "no part is named"),
        ({"inputs": ["x"], "outputs": []}, "U103", "the list of outputs is empty"),
        ({"outputs": ""}, "U103", "the list of outputs is empty"),
        ({"add_outputs": "a", "outputs": "y"}, "U103", "added to the whole model"),
    ],
)
def test_what_cannot_be_cut_is_an_error_that_says_why(asked, code, words):
    with pytest.raises(opset.OpsetError, match=f"(?s){words}") as caught:
        opset.extract(whole(), **asked)
    assert caught.value.code == code


def test_only_names_that_the_closest_graph_lacks_are_unknown():
    with pytest.raises(opset.UsageError) as caught:
        opset.extract(whole(), outputs=["q", "zero"])  # the branch has the first
    assert [each.message for each in caught.value.findings] == ["there is no value 'zero'"]
    with pytest.raises(opset.UsageError, match="there is no value 'zero'"):
        opset.extract(whole(), ["zero"], ["p"])  # neither the branch nor the graph around it


@pytest.mark.parametrize("count", [5, 6])
def test_messages_name_five_of_many_graphs_and_three_that_have_a_value(count):
    functions = [f'<domain: "f", opset_import: ["": 17]> F{at} (a) => (b) {{ b = Neg (a) }}' for at in range(count)]
    model = whole(f"""<ir_version: 8, opset_import: ["": 17, "f": 1]> m (float[2] x) => (float[2] y) {{ y = Abs (x) }}
    {" ".join(functions)}""")
    labels = [f"function 'f.F{at}'" for at in range(count)]
    asked = {"outputs": "b"}, {"outputs": "b", "graph": "nowhere"}, {"add_outputs": "b"}
    found = []
    for each in asked:
        with pytest.raises(opset.UsageError) as caught:
            opset.extract(model, **each)
        found.append((caught.value.why, caught.value.help))
    assert found[0] == (
        "; ".join(labels[:5]) + "; and 1 more" * (count > 5),
        "name one: --graph PATH, or --function NAME",
    )
    assert found[1][1] == f"there are: graph 'm', {', '.join(labels[:4])} and {count - 4} more"
    assert found[2][0] == f"it is a value of {'; '.join(labels[:3])}; and {count - 3} more"


NESTED = """<ir_version: 10, opset_import: ["": 21, "f": 1, "e": 1, "low": 1]>
m (float[2] x) => (float[2] y, float[2] z) {
  v = e.G <k = 5.0> (x)  w = Neg (v)  y = f.G <k = 2.0> (w)  z = f.High (y)
}
<domain: "low", opset_import: ["": 21]> Low (a) => (b) { b = Abs (a) }
<domain: "f", opset_import: ["": 21, "low": 1]> High (a) => (b) { b = low.Low (a) }
<domain: "e", opset_import: ["": 21]> G <k> (a) => (b) { b = Elu <alpha = @k> (a) }
<domain: "f", opset_import: ["": 21]> G <k> (a) => (b) {
  yes = Constant <value = bool {1}> ()
  b = If (yes) <then_branch = t () => (float[2] p) { p = Elu <alpha = @k> (a) },
    else_branch = u () => (float[2] q) { q = Neg (a) }>
}"""


def test_a_function_alone_is_a_part_with_what_its_graphs_hold_and_what_it_calls():
    model = whole(NESTED)
    part = opset.extract(model, function="f.G")
    assert (names(part.graph.input), names(part.graph.output), len(part.graph.node)) == (["a"], ["b"], 2)
    np.testing.assert_allclose(run(part, {"a": np.float32([-1, 3])})[0], [2 * np.expm1(-1), 3], rtol=1e-6)
    second = model.functions.add()
    second.CopyFrom(model.functions[1])
    second.overload, second.node[0].output[0], second.output[0] = "two", "only", "only"
    with pytest.raises(opset.ConversionError, match="the type of 'only' is not known") as caught:
        opset.extract(model, outputs=["only"], function="f.High")  # which nothing calls
    assert caught.value.place == "function 'f.High:two'"
    outer = opset.extract(model, ["y"], ["z"])
    assert [each.name for each in outer.functions] == ["Low", "High"]
    assert [each.domain for each in outer.opset_import] == ["f", "low"]
    with pytest.raises(opset.ModelError, match="M114"):
        opset.extract(whole(NESTED.replace("Abs (a)", "f.High (a)")), ["x"], ["v"])


@pytest.mark.parametrize(("room", "each", "left_out"), [(0, 0, 2), (1, 0, 1), (2, 0, 0), (0, 1, 0)])
def test_types_that_are_too_large_together_are_left_out(monkeypatch, room, each, left_out):
    nodes = "a = Neg (x)  b = Abs (a)  y = Neg (b)"
    text = f'<ir_version: 8, opset_import: ["": 17]> m (float[2] x) => (float[2] y) {{ {nodes} }}'
    size = opset.parse_model(text).graph.output[0].type.ByteSize()
    monkeypatch.setattr(extraction, "MAX_EACH", each * size)
    monkeypatch.setattr(extraction, "MAX_WRITTEN", room * size)
    found = extract_part(opset.load(whole(text)), Wanted(outputs="y"), default_registry())
    assert names(found.model.proto.graph.value_info) == ["a", "b"][: 2 - left_out]
    assert found.notes == [f"{left_out} types are not written: together they are too large"] * (left_out > 0)


def test_a_value_of_unknown_type_is_refused_until_its_type_is_stated():
    text = '<ir_version: 8, opset_import: ["": 17, "other": 1]> main (float[2] x) => (float[2] y) %s {%s}'
    nodes = "a = other.Odd (x)  b = Neg (a)  y = other.Odd (b)"
    with pytest.raises(opset.ConversionError, match="the type of 'a' is not known") as caught:
        opset.extract(whole(text % ("", nodes)), ["a"], ["y"])
    assert (caught.value.code, caught.value.place) == ("C602", "graph 'main'")
    open_ = whole(text % ("<float[2] a>", nodes))
    open_.graph.value_info[0].type.tensor_type.elem_type = 0
    with pytest.raises(opset.ConversionError, match="the type of 'a' is not known"):
        opset.extract(open_, ["a"], ["y"])
    with pytest.raises(opset.ConversionError, match="the type of 'a' is not known"):
        opset.extract(whole(text % ("", nodes)), add_outputs=["a"])
    part = opset.extract(whole(text % ("<float[2] a>", nodes)), ["a"], ["y"])
    assert part.graph.input[0].type.tensor_type.elem_type == 1


def test_names_that_several_graphs_have_need_a_path():
    model = whole(WHOLE.replace("r = Identity (t)", "q = Neg (t)  r = Identity (q)"))
    with pytest.raises(opset.UsageError, match="several graphs have values of these names"):
        opset.extract(model, outputs=["q"])
    part = opset.extract(model, outputs=["q"], graph="node 'branch' (If), else_branch")
    assert part.graph.node[0].op_type == "Neg"


def test_the_ir_version_rises_if_an_output_has_a_type_that_it_lacks():
    nodes = "s = SequenceConstruct (x, x)  i = Constant <value = int64 {0}> ()  y = SequenceAt (s, i)"
    model = whole(f'<ir_version: 5, opset_import: ["": 11]> m (float[2] x) => (float[2] y) {{ {nodes} }}')
    longer = opset.extract(model, add_outputs=["s"])
    assert longer.ir_version == 6
    assert [a.tolist() for a in run(longer, {"x": B[:2]})[1]] == [B[:2].tolist()] * 2
    inputs = "seq(float[2]) s, float16[2] h, bfloat16[2] b, float8e4m3fn[2] f, float[2] x"
    text = '<ir_version: %d, opset_import: ["": 11]> m (%s) => (float[2] y) { y = Neg (x) }'
    for asked, version in ((["h"], 5), (["s", "x"], 6), (["s", "f", "b"], 9)):
        found = extract_part(opset.load(whole(text % (5, inputs))), Wanted(add_outputs=asked), default_registry())
        assert found.model.proto.ir_version == version
        assert [note[:16] for note in found.notes if "IR" in note] == ["the IR version i"] * (version > 5)


def test_training_graphs_are_left_out_with_a_note():
    model = whole()
    model.training_info.add().algorithm.name = "train"
    found = extract_part(opset.load(model), Wanted(outputs="z"), default_registry())
    assert not found.model.proto.training_info
    assert any("training graphs are left out" in note for note in found.notes)


def test_values_of_training_graphs_are_not_looked_for():
    model = whole()
    model.training_info.add().algorithm.node.add(op_type="Neg", input=["y"], output=["q"])
    model.training_info[0].algorithm.node.add(op_type="Abs", input=["q"], output=["loss"])
    assert [node.op_type for node in opset.extract(model, outputs=["q"]).graph.node] == ["Sub"]
    with pytest.raises(opset.UsageError, match="it is a value of training_info"):
        opset.extract(model, outputs=["loss"])


def test_external_data_is_neither_read_nor_moved(tmp_path):
    model = whole()
    tensor = model.graph.initializer[1]
    tensor.ClearField("float_data")
    tensor.ClearField("raw_data")
    tensor.data_location = 1
    tensor.external_data.add(key="location", value="missing.bin")
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    part = opset.extract(tmp_path / "m.onnx", ["t"], ["p"])
    part.save(tmp_path / "part.onnx")
    assert onnx.load(tmp_path / "part.onnx", load_external_data=False).graph.initializer[0] == tensor
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "w.bin").write_bytes(bytes(12))
    (tmp_path / "missing.bin").symlink_to(tmp_path / "data" / "w.bin")
    other = tmp_path / "model"
    other.mkdir()
    for name in ("m.onnx", "missing.bin"):
        (tmp_path / name).rename(other / name)
    with pytest.raises(opset.ModelError, match="outside"):
        opset.extract(other / "m.onnx", ["t"], ["p"]).save(tmp_path / "out.onnx")
    part = opset.extract(other / "m.onnx", ["t"], ["p"], allow_external_roots=[tmp_path / "data"])
    part.save(tmp_path / "out.onnx", external="inline")
    assert onnx.load(tmp_path / "out.onnx").graph.initializer[0].raw_data == bytes(12)


CHAIN = 400


def chain(count):
    nodes = "\n".join(f"a{at + 1} = Neg (a{at})" for at in range(count))
    text = f'<ir_version: 8, opset_import: ["": 17]> main (float[2] a0) => (float[2] a{count}) {{ {nodes} }}'
    return opset.parse_model(text)


def test_the_work_is_linear_in_the_nodes():
    small, large = chain(CHAIN), chain(4 * CHAIN)
    with lines(10**8) as count:
        opset.extract(small, ["a7"], [f"a{CHAIN - 7}"])
        few = count()
    with lines(5 * few):
        opset.extract(large, ["a7"], [f"a{4 * CHAIN - 7}"])


def branches(count):
    nodes = "\n".join(
        f"c{at} = If (yes) <then_branch = t{at} () => (float[2] p{at}) {{ p{at} = Add (c{at - 1}, w{at}) }}, "
        f"else_branch = e{at} () => (float[2] q{at}) {{ q{at} = Neg (c{at - 1}) }}>"
        for at in range(1, count)
    )
    weights = ", ".join(f"float[2] w{at} = {{1, 2}}" for at in range(1, count))
    outputs = ", ".join(f"float[2] c{at}" for at in range(1, count))
    return opset.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> main (float[2] c0, bool yes) => ({outputs}) <{weights}> {{ {nodes} }}'
    )


def test_the_work_is_linear_in_graphs_and_outputs():
    small, large = branches(60), branches(240)
    with lines(10**8) as count:
        opset.extract(small, ["c0", "yes"])
        few = count()
    with lines(6 * few):
        opset.extract(large, ["c0", "yes"])


@given(st.integers(0, 2**20), st.integers(1, 3))
@settings(max_examples=draws(200))
def test_any_cut_of_a_random_graph_gives_the_values_of_the_whole(seed, outputs):
    draw = np.random.default_rng(seed)
    count = int(draw.integers(3, 12))
    nodes, values = [], ["x", "b"]
    for at in range(count):
        one, other = (values[int(draw.integers(len(values)))] for _ in range(2))
        nodes.append(f"v{at} = {('Add', 'Sub', 'Mul')[int(draw.integers(3))]} ({one}, {other})")
        values.append(f"v{at}")
    text = (
        f'<ir_version: 8, opset_import: ["": 17]> main (float[2, 3] x, float[3] b) => (float[M, 3] v{count - 1}) {{%s}}'
    )
    model = whole(text % "  ".join(nodes))
    wanted = [f"v{int(at)}" for at in draw.choice(count, min(outputs, count), replace=False)]
    cut = ["x", "b", *(f"v{at}" for at in range(count) if draw.random() < 0.3)]
    part = opset.extract(model, cut, wanted)
    feeds = {"x": X, "b": B}
    known = dict(zip(cut, run(model, feeds, cut), strict=True))
    for expected, got in zip(run(model, feeds, wanted), run(part, known), strict=True):
        np.testing.assert_array_equal(expected, got)


def test_the_verb_writes_the_part_beside_the_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.onnx").write_bytes(whole().SerializeToString())
    report = run_json("extract", "m.onnx", "--inputs", "c,b", "--outputs", "y")
    (report,) = report["models"]
    assert (report["exit_status"], report["inputs"], report["outputs"]) == (0, ["c", "b"], ["y"])
    assert (report["nodes"], report["nodes_before"], report["types"]["c"]) == (3, 6, "float[N, 3]")
    assert names(onnx.load(tmp_path / "m-part.onnx").graph.input) == ["c", "b"]
    again = command("extract", "m.onnx", "--outputs", "y")
    assert again.exit_code == 2 and "U102" in again.stderr
    wrong = command("extract", "m.onnx", "--inputs", "c", "--outputs", "y", "--force")
    assert wrong.exit_code == 1 and "C601" in wrong.stderr
    shown = command("extract", "m.onnx", "--inputs", "c,b", "--outputs", "y", "--force").stdout.splitlines()
    assert shown == [
        "m.onnx: 3 of 6 nodes of graph 'main'",
        "  input   c: float[N, 3]",
        "  input   b: float[3]",
        "  output  y: float[N, 3]",
        "  wrote m-part.onnx",
    ]


def test_the_verb_names_a_few_of_many_values_and_functions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    count = SHOWN + 3
    values = [", ".join(f"float[2] {letter}{at}" for at in range(count)) for letter in "xy"]
    nodes = " ".join(f"y{at} = d.f{at} (x{at})" for at in range(count))
    functions = " ".join(
        f'<domain: "d", opset_import: ["": 13]> f{at} (a) => (b) {{ b = Neg (a) }}' for at in range(count)
    )
    text = f'<ir_version: 8, opset_import: ["": 13, "d": 1]> m ({values[0]}) => ({values[1]}) {{{nodes}}} {functions}'
    Path("m.onnxtxt").write_text(text)
    found = command("extract", "m.onnxtxt", "--outputs", ",".join(f"y{at}" for at in range(count)), "-o", "p.onnx")
    assert found.stdout.splitlines() == [
        f"m.onnxtxt: {count} of {count} nodes of graph 'm'",
        *(f"  input   x{at}: float[2]" for at in range(SHOWN)),
        "  … and 3 more inputs",
        *(f"  output  y{at}: float[2]" for at in range(SHOWN)),
        "  … and 3 more outputs",
        *(f"  function d.f{at}" for at in range(SHOWN)),
        "  … and 3 more functions",
        "  wrote p.onnx",
    ]


GRADIENT = """<ir_version: 8, opset_import: ["": 13, "ai.onnx.preview.training": 1]>
m (float[2] x, float[2] w) => (float[2] l, float[2] g) {
  a = Mul (x, w)  b = Exp (x)  l = Neg (a)
  g = ai.onnx.preview.training.Gradient <xs = ["w"], zs = ["x"], y = "l"> (w, x)
}"""


def test_a_gradient_needs_what_it_names():
    part = opset.extract(whole(GRADIENT), outputs=["g"])
    assert [node.op_type for node in part.graph.node] == ["Mul", "Neg", "Gradient"]
    assert names(part.graph.input) == ["x", "w"]
    named = whole(GRADIENT.replace('zs = ["x"]', 'zs = ["x", "nowhere"]'))
    assert names(opset.extract(named, outputs=["g"]).graph.input) == ["x", "w"]
    with pytest.raises(opset.ConversionError, match="a gradient is of the nodes between") as caught:
        opset.extract(whole(GRADIENT), ["a", "w", "x"], ["g"])
    assert caught.value.code == "C602" and "Gradient" in caught.value.place


def test_outputs_that_are_there_or_not_are_told():
    model = whole(WHOLE.replace("<float[3] w", "<float[K, 3] a, float[K, 3] c, float[3] w"))
    model.graph.value_info[0].metadata_props.add(key="by", value="me")  # which older readers skip
    found = extract_part(opset.load(model), Wanted(add_outputs="y,a"), default_registry())
    assert names(found.model.proto.graph.value_info) == ["c"] and found.model.proto.ir_version == 8
    assert names(found.model.proto.graph.output) == ["y", "z", "a"] and found.outputs == ["a"]
    assert (found.body, found.inputs) == ("graph 'main'", []) and found.types == {"a": "float[N, 3]"}
    assert found.notes == ["outputs before: y"] and (found.nodes, found.nodes_before) == (6, 6)
    with pytest.raises(opset.UsageError, match="there is no value 'nope'"):
        opset.extract(whole(), add_outputs=["a", "nope"])


def test_the_inference_of_types_is_bounded(monkeypatch):
    with pytest.raises(opset.InferenceError, match="the inference was stopped") as caught:
        opset.extract(whole(), ["c", "b"], ["y"], limits=opset.Limits(max_steps=1))
    assert caught.value.code == "I401"
    monkeypatch.setattr(work, "BASE_STEPS", 100)
    monkeypatch.setattr(work, "STEPS_PER_BYTE", 0)
    for limits in (None, opset.Limits()):  # what is not found within the bound of its own is not known
        with pytest.raises(opset.ConversionError, match="the type of 'c' is not known"):
            opset.extract(whole(), ["c", "b"], ["y"], limits=limits)


INNER = """<ir_version: 8, opset_import: ["": 17]> m (bool c, float[2] x, float[2] w = {1, 2}) => (float[2] y)
<float[2] k = {3, 4}> { y = If (c) <
  then_branch = t () => (float[2] p) { q = Mul (x, w)  p = Add (q, k) },
  else_branch = e () => (float[2] r) { r = Neg (x) }> }"""


def test_values_around_that_a_caller_may_override_stay_inputs():
    part = opset.extract(whole(INNER), outputs=["p"])
    assert (names(part.graph.input), names(part.graph.initializer)) == (["x", "w"], ["w", "k"])
    x, w = np.float32([5, 6]), np.float32([7, 8])
    np.testing.assert_array_equal(run(part, {"x": x})[0], x * [1, 2] + [3, 4])
    np.testing.assert_array_equal(run(part, {"x": x, "w": w})[0], x * w + [3, 4])


CALLED = """<ir_version: 8, opset_import: ["": 17, "f": 1]> m (float[4] x) => (float[4] y, float[4] z) {{ {} }}
<domain: "f", opset_import: ["": 17]> G <axis, alpha: float = 0.5> (a) => (b)
{{ c = LeakyRelu <alpha = @alpha> (a)  d = Softmax <axis = @axis> (c)  b = Neg (d) }}
<domain: "f", opset_import: ["": 17, "f": 1]> H <axis> (a) => (b) {{ b = f.G <axis = @axis> (a) }}"""


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ("y = f.G (x)  z = f.G (x)", {"alpha": 0.5}),  # neither states the axis, which has its default
        ("y = f.G <alpha = 2.0, axis = 0> (x)  z = f.G <axis = 0, alpha = 2.0> (x)", {"alpha": 2.0, "axis": 0}),
        ("y = f.G <alpha = 0.5> (x)  z = f.G (x)", {"alpha": 0.5}),
        ("y = f.G <axis = 0> (x)  z = f.G (x)", "calls give it different values"),
        ("y = f.H <axis = 0> (x)  z = Neg (x)", "one that depends on the call of another function"),
        ("y = Neg (x)  z = Neg (x)", "nothing calls the function, and the attribute has no default"),
    ],
)
def test_attributes_of_a_function_are_those_of_its_calls(calls, found):
    text = CALLED.format(calls)
    if "f.H" not in calls:
        text = text.partition('\n<domain: "f", opset_import: ["": 17, "f": 1]> H')[0]
    if isinstance(found, str):
        with pytest.raises(opset.ConversionError, match="attribute 'axis' is not certain") as caught:
            opset.extract(whole(text), outputs=["d"], function="G")
        assert found in caught.value.why and caught.value.help.endswith("opset inline")
        return
    part = opset.extract(whole(text), outputs=["d"], function="G")
    held = {each.name: onnx.helper.get_attribute_value(each) for node in part.graph.node for each in node.attribute}
    assert held == pytest.approx(found)


def test_an_attribute_of_a_call_is_put_behind_one_that_the_node_states():
    model = whole("""<ir_version: 8, opset_import: ["": 17, "f": 1]> m (float[2, 3] x) => (float[3] y) {
        y = f.G <kept = 0> (x) }
    <domain: "f", opset_import: ["": 17]> G <kept> (a) => (b) { b = ReduceMax <axes = [0], keepdims = @kept> (a) }""")
    (node,) = opset.extract(model, outputs=["b"], function="G").graph.node
    held = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    assert held == {"axes": [0], "keepdims": 0}


def test_a_function_that_nothing_calls_has_the_types_that_it_states():
    model = whole("""<ir_version: 10, opset_import: ["": 21, "f": 1]> m (float[2] x) => (float[2] y) { y = Neg (x) }
        <domain: "f", opset_import: ["": 21]> G (a) => (b) <float[N, 2] a, float[N, 2] c, float[N, 2] b>
        { c = Exp (a)  b = Neg (c) }""")
    part = opset.extract(model, ["c"], ["b"], function="G")
    assert [dim.dim_param or dim.dim_value for dim in part.graph.input[0].type.tensor_type.shape.dim] == ["N", 2]
    assert part.graph.input[0].type.tensor_type.elem_type == 1


def test_initializers_come_along_in_the_order_of_the_model():
    model = whole(WHOLE)
    for name in ("s2", "s1", "s3"):
        values = onnx.helper.make_tensor(name, 1, [1], [2.0])
        model.graph.sparse_initializer.append(
            onnx.helper.make_sparse_tensor(values, onnx.helper.make_tensor("", 7, [1], [1]), [3])
        )
    nodes = [onnx.helper.make_node("Add", pair, [out]) for pair, out in ((["s1", "v"], "p1"), (["p1", "w"], "p2"),
             (["p2", "s2"], "p3"))]  # fmt: skip
    model.graph.node.extend(nodes)
    part = opset.extract(model, [], ["p3"])
    assert names(part.graph.initializer) == ["w", "v"]
    assert [each.values.name for each in part.graph.sparse_initializer] == ["s2", "s1"]
    np.testing.assert_array_equal(run(part, {})[0], [5, 11, 9])


def test_values_around_that_a_graph_returns_come_along():
    model = whole("""<ir_version: 8, opset_import: ["": 17]> m (bool c, float[2] x) => (float[2] y) {
        a = Abs (x)  b = Neg (x)  y = If (c) <
            then_branch = t () => (float[2] a) {  },
            else_branch = e () => (float[2] z) { z = If (c) <then_branch = u () => (float[2] b) {  },
                else_branch = v () => (float[2] w) {
                    k = Constant <value_float: float = 9.0> ()  w = Clip (x, , k) }> }> }""")
    part = opset.extract(model, outputs=["y"])
    assert [node.op_type for node in part.graph.node] == ["Abs", "Neg", "If"]
    assert names(opset.extract(model, outputs=["z"]).graph.input) == ["c", "b", "x"]


def test_a_function_as_a_model_keeps_what_it_says_of_itself():
    model = whole()
    for text in ("", "scales"):
        model.functions[0].doc_string = text
        model.functions[0].metadata_props.add(key="by", value=text)
        graph = opset.extract(model, outputs="b", function="com.example.Scale").graph
        assert (graph.name, graph.doc_string) == ("Scale", text)
        assert [(each.key, each.value) for each in graph.metadata_props][-1] == ("by", text)


def test_what_a_model_says_of_its_values_is_said_of_inputs_and_outputs():
    model = whole(WHOLE.replace("float[3] w", "float[N, 3] a, float[K, 3] t, float[3] w"))
    inner = {each.name: each for each in opset.extract(model, ["x", "b"], ["y"]).graph.value_info}
    assert inner["t"].type.tensor_type.shape.dim[0].dim_param == "K"
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        value.doc_string = f"about {value.name}"
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "K"  # what is stated of an output stays
    part = opset.extract(model, ["x", "a", "b"], ["x", "a", "y", "c"])
    assert [each.type.tensor_type.shape.dim[0].dim_param for each in part.graph.output] == ["N", "N", "K", "N"]
    said = [[(each.name, each.doc_string) for each in values] for values in (part.graph.input, part.graph.output)]
    assert said == [
        [(name, f"about {name}") for name in "xab"],
        [*((name, f"about {name}") for name in "xay"), ("c", "")],
    ]
