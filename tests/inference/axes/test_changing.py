"""Names and sizes of `change_sizes` and `--dim`, what is written, and constants of models that exporters write."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import opset
from opset.errors import Finding, InferenceError, ModelError, UsageError
from opset.inference.axes import changing, tracking
from opset.inference.building import work
from opset.inference.building.work import default_budget
from opset.inference.engine.engine import Engine
from opset.model import proto as pb
from opset.model.graph.index import index_model
from opset.opsets.registry import default_registry
from tests.cli.commands import run, save

HEAD = '<ir_version: 9, opset_import: ["": 17]>'
CLASSIFIER = f"""{HEAD}
g (float[1,3,2] x, float[1,6] bias) => (float[1,6] y) <int64[2] s = {{1, 6}}, float[1,3,2] r> {{
r = Relu(x)  f = Reshape(r, s)  y = Add(f, bias) }}"""


def sizes(value):
    return [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]


def test_types_follow_and_an_input_that_is_not_named_counts_for_all():
    model = opset.parse_model(CLASSIFIER)
    resized = opset.change_sizes(model, {"x.0": "N"})
    graph = resized.graph
    assert [*map(sizes, (*graph.input, *graph.output, *graph.value_info))] == [
        ["N", 3, 2],
        [1, 6],
        ["N", 6],
        ["N", 3, 2],
    ]
    assert sizes(model.graph.input[0]) == [1, 3, 2]
    onnx.checker.check_model(resized.SerializeToString(), full_check=True)
    x, bias = np.arange(-6, 6, dtype=np.float32).reshape(2, 3, 2), np.arange(6, dtype=np.float32)[None]
    found = opset.ReferenceEvaluator(resized).run(None, {"x": x, "bias": bias})[0]
    np.testing.assert_array_equal(found, np.maximum(x, 0).reshape(2, 6) + bias)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_sizes_that_nodes_compute_follow_whichever_axis_changes(axis):
    text = f"""{HEAD} g (float[2,3,4] x) => (float[A,B,C] y, int64[3] n, int64[1] m) <int64[1] i = {{{axis}}}> {{
        s = Shape(x)  r = Relu(x)  y = Reshape(r, s)  n = Identity(s)  m = Gather(s, i) }}"""
    after = opset.change_sizes(opset.parse_model(text), {f"x.{axis}": "N"})
    shape = [2, 3, 4]
    shape[axis] = 5
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) - 9
    y, n, m = opset.ReferenceEvaluator(after).run(None, {"x": x})
    np.testing.assert_array_equal(y, np.maximum(x, 0))
    assert (n.tolist(), m.tolist()) == (shape, [5])


def test_types_that_state_no_shape_stay_and_those_in_sequences_follow():
    text = f"""{HEAD} g (float[4,3] x) => (float[] y, seq(float[4,3]) s, seq(float[]) t) <float[] r> {{
        r = Relu(x)  y = Neg(r)  s = SequenceConstruct(y)  t = SequenceConstruct(y) }}"""
    before = opset.parse_model(text).graph
    after = opset.change_sizes(opset.parse_model(text), {"x.0": "N"}).graph
    assert sizes(after.input[0]) == ["N", 3]
    shaped = after.output[1].type.sequence_type.elem_type.tensor_type.shape
    assert [each.dim_param or each.dim_value for each in shaped.dim] == ["N", 3]
    kept = [(graph.output[0].type, graph.output[2].type, graph.value_info[0].type) for graph in (before, after)]
    assert kept[0] == kept[1]


def test_types_after_one_of_maps_follow():
    head = HEAD.replace("]", ', "ai.onnx.ml": 3]')
    text = f"""{head} g (float[4,2] x) => (seq(map(int64, float)) z, float[4,2] y) {{
        z = ai.onnx.ml.ZipMap <classlabels_int64s = [1, 2]> (x)  y = Neg(x) }}"""
    before = opset.parse_model(text).graph
    after = opset.change_sizes(opset.parse_model(text), {"x.0": "N"}).graph
    assert after.output[0] == before.output[0] and sizes(after.output[1]) == ["N", 2]


def test_several_inputs_hold_the_same_slices():
    resized = opset.change_sizes(opset.parse_model(CLASSIFIER), {"x.0": 2, "bias.0": 2})
    x, bias = np.ones((2, 3, 2), np.float32), np.arange(12, dtype=np.float32).reshape(2, 6)
    np.testing.assert_array_equal(opset.ReferenceEvaluator(resized).run(None, {"x": x, "bias": bias})[0], bias + 1)


def test_the_same_size_and_no_size_change_nothing():
    model = opset.parse_model(CLASSIFIER)
    assert opset.change_sizes(model, {"x.0": 1}) == model
    assert opset.change_sizes(model, {}) == model


def test_a_variable_becomes_a_number_and_two_axes_change_one_after_the_other():
    text = f"{HEAD} g (float[batch,4,5] x) => (float[batch,4,5] y) {{ y = Relu(x) }}"
    resized = opset.change_sizes(opset.parse_model(text), {"batch": 3, "x.1": "M", "x.2": 6})
    assert sizes(resized.graph.input[0]) == [3, "M", 6] and sizes(resized.graph.output[0]) == [3, "M", 6]
    assert sizes(opset.change_sizes(opset.parse_model(text), {"batch": 0}).graph.output[0]) == [0, 4, 5]


def test_a_malformed_model_is_no_result():
    text = f"{HEAD} g (float[N] x) => (float[N] y) {{ y = Relu(missing) }}"
    with pytest.raises(ModelError, match="M112"):
        opset.change_sizes(opset.parse_model(text), {"N": 2})
    circle = """<ir_version: 9, opset_import: ["": 17, "own": 1]> g (float[N] x) => (float[N] y) { y = Relu(x) }
        <domain: "own", opset_import: ["own": 1]> F (a) => (b) { b = own.F(a) }"""
    with pytest.raises(ModelError, match="M114"):
        opset.change_sizes(opset.parse_model(circle), {"N": 2})
    unsorted = f"{HEAD} g (float[N] x) => (float[N] y) {{ y = Relu(h)  h = Neg(x) }}"
    assert [each.op_type for each in opset.change_sizes(opset.parse_model(unsorted), {"N": 2}).graph.node] == [
        "Neg",
        "Relu",
    ]


def test_equal_numbers_of_one_input_are_different_axes():
    text = f"{HEAD} g (float[4,4] x) => (float[4,4] y) {{ y = Transpose(x) }}"
    resized = opset.change_sizes(opset.parse_model(text), {"x.0": 7, "x.1": 7})
    assert sizes(resized.graph.output[0]) == [7, 7]
    given = opset.parse_model(f"{HEAD} g (float[4,4] x) => (float[4,4] x) {{ }}")  # an input may be an output
    assert sizes(opset.change_sizes(given, {"x.0": 7, "x.1": 7}).graph.output[0]) == [7, 7]
    only = opset.change_sizes(opset.parse_model(text), {"x.1": "N"})
    assert sizes(only.graph.input[0]) == [4, "N"] and sizes(only.graph.output[0]) == ["N", 4]


@pytest.mark.parametrize(
    ("given", "message", "help"),
    [
        ({"x.7": "N"}, "the model has no dimension variable 'x.7'", "there are: x.0, x.1, x.2, bias.0, bias.1"),
        ({"bia.0": 4}, "the model has no dimension variable 'bia.0'", "there are: bias.0, bias.1, x.0, x.1, x.2"),
        ({"y.0": 4}, "the model has no dimension variable 'y.0'", "there are: bias.0, bias.1, x.0, x.1, x.2"),
        ({"x.0": 0}, "0 is no size for 'x.0'", "the size of an axis is 1 or greater"),
        ({"x.0": True}, "True is no size for 'x.0'", "the size of an axis is 1 or greater"),
        ({"x.0": "2*N"}, "'2*N' is no size for 'x.0'", "a size is a number, or a name such as N"),
    ],
)
def test_names_and_sizes_that_do_not_fit(given, message, help):
    with pytest.raises(UsageError) as caught:
        opset.change_sizes(opset.parse_model(CLASSIFIER), given)
    assert (caught.value.code, caught.value.message, caught.value.findings[0].help) == ("U103", message, help)


@pytest.mark.parametrize(
    ("given", "message", "why"),
    [
        ({"x.0": 4, "y.0": 5}, "5 is no size for 'y.0'", "its size follows from inputs, and is 4"),
        ({"x.0": "N", "y.0": "M"}, "M is no size for 'y.0'", "its size follows from inputs, and is N"),
        ({"x.0": "N", "y.0": 5}, "5 is no size for 'y.0'", "its size follows from inputs, and is N"),
        ({"x.0": "N", "N": 4, "y.0": 5}, "5 is no size for 'y.0'", "its size follows from inputs, and is 4"),
        ({"x.0": 1, "y.1": 5}, "5 is no size for 'y.1'", "its size follows from inputs, and is 6"),
    ],
)
def test_a_size_of_an_output_that_no_input_gets_is_refused(given, message, why):
    with pytest.raises(UsageError) as caught:
        opset.change_sizes(opset.parse_model(CLASSIFIER), given)
    help = "leave it out, or give an input this size"
    assert caught.value.findings == (Finding("U103", message, why=why, help=help),)


@pytest.mark.parametrize(
    ("stated", "given", "size", "found"),
    [
        ("2*M", {"M": 6}, 12, None),
        ("2*M", {"M": 5}, 12, "10"),
        ("2*M", {}, 12, "2*M"),
        ("2*M", {}, "K", "2*M"),
        ("floor(M/2) + 1", {"M": 7}, 4, None),
        ("floor(M/2) + 1", {"M": 8}, 4, "5"),
        ("M + N", {"M": 3}, 4, "N + 3"),
        ("", {"M": 5}, 12, None),
        ("any size", {"M": 5}, 12, "any size"),
    ],
)
def test_a_size_of_an_output_is_compared_with_an_expression(stated, given, size, found):
    model = opset.parse_model(
        f"{HEAD} g (float[4] x, float[M] a) => (float[4] y, float[D] z) {{ y = Relu(x) z = Concat<axis=0>(a, a) }}"
    )
    model.graph.output[1].type.tensor_type.shape.dim[0].dim_param = stated
    try:
        resized = opset.change_sizes(model, {"x.0": 1, "z.0": size} | given)
    except UsageError as error:
        assert [(each.code, each.message) for each in error.findings] == [("U103", f"{size} is no size for 'z.0'")]
        assert error.findings[0].why == f"its size follows from inputs, and is {found}"
    else:
        assert found is None and sizes(resized.graph.output[0]) == [1]


def test_a_size_that_an_output_has_may_be_named():
    model = opset.parse_model(CLASSIFIER)
    assert opset.change_sizes(model, {"x.0": 1, "y.0": 1}) == model
    assert sizes(opset.change_sizes(model, {"x.0": 4, "y.1": 6}).graph.output[0]) == [4, 6]
    assert sizes(opset.change_sizes(model, {"x.0": "N", "N": 4, "y.0": 4}).graph.output[0]) == [4, 6]
    model.graph.input[1].type.tensor_type.shape.dim[1].dim_param = "y.0"  # a size that has the name of another one
    assert sizes(opset.change_sizes(model, {"x.0": "N", "y.0": "N"}).graph.output[0]) == ["N", 6]


def test_an_axis_of_an_output_that_holds_the_slices_beside_others_may_be_named():
    text = f"{HEAD} g (float[2,3] x) => (float[6] y) <int64[1] s = {{6}}> {{ y = Reshape (x, s) }}"
    assert sizes(opset.change_sizes(opset.parse_model(text), {"x.0": "N", "y.0": "N"}).graph.output[0]) == ["3*N"]


def test_an_integer_of_numpy_is_a_size():
    size = np.int64(3)
    assert sizes(opset.change_sizes(opset.parse_model(CLASSIFIER), {"x.0": size}).graph.output[0]) == [3, 6]
    open_model = opset.parse_model(CLASSIFIER.replace("float[1,3,2] x", "float[N,3,2] x").replace("{1, 6}", "{-1, 6}"))
    conversion = opset.plan(open_model, 18, dims={"N": size})
    assert "valid for N = 3 alone, which the inputs state" in conversion.notes
    assert opset.infer(open_model, dims={"N": size}).type("x").shape == (3, 3, 2)
    assert opset.verify(open_model, open_model, dims={"N": np.int64(1)}, seeds=1).runs[0].sizes == {"N": 1}


def test_a_variable_gets_no_other_name():
    text = f"{HEAD} g (float[batch] x) => (float[batch] y) {{ y = Relu(x) }}"
    with pytest.raises(UsageError) as caught:
        opset.change_sizes(opset.parse_model(text), {"batch": "N"})
    assert caught.value.findings == (Finding("U103", "'batch' is a variable already", help="give it a number"),)


@pytest.mark.parametrize(("size", "number"), [(4, 4), ("N", 2)])
def test_an_axis_with_a_name_is_told_by_it(size, number):
    text = f"{HEAD} g (float[batch, ?] x) => (float[batch, ?] y) {{ y = Relu(x) }}"
    with pytest.raises(UsageError, match=r"the size 'x\.0' is called 'batch'") as caught:
        opset.infer(opset.parse_model(text), dims={"x.0": size})
    assert (caught.value.code, caught.value.help) == ("U103", f"name it so: --dim 'batch={number}'")
    assert opset.infer(opset.parse_model(text), dims={"x.1": 4}).type("y").shape[1] == 4


def test_a_name_that_is_no_text_is_the_name_of_no_axis():
    text = f"{HEAD} g (float[letters] x) => (float[letters] y) {{ y = Relu(x) }}"
    model = opset.parse_model(text).SerializeToString().replace(b"letters", b"letter\xff")
    with pytest.raises(UsageError, match=r"the model has no dimension variable 'x\.0'") as caught:
        opset.change_sizes(model, {"x.0": 3})
    assert caught.value.help == "there are: none"


def test_an_axis_of_size_0_stays():
    text = f"{HEAD} g (float[0,3] x) => (float[0,3] y) {{ y = Relu (x) }}"
    with pytest.raises(UsageError) as caught:
        opset.change_sizes(opset.parse_model(text), {"x.0": 4})
    assert [(each.code, each.message) for each in caught.value.findings] == [("U103", "'x.0' is 0")]


def test_a_result_that_inference_contradicts_is_no_result(monkeypatch):
    stated = [("graph 'g', 'r'", "it was so before")]
    faults = [[*stated, ("graph 'g', 'y'", "it is odd")], stated]  # taken from the end
    monkeypatch.setattr(changing, "_faults_of", lambda engine: faults.pop())
    with pytest.raises(InferenceError) as caught:
        opset.change_sizes(opset.parse_model(CLASSIFIER), {"x.0": 2, "bias.0": 2})
    (finding,) = caught.value.findings
    assert (finding.code, finding.place, finding.message) == (
        "I501", "graph 'g', 'y'", "'x.0' and 'bias.0' cannot become 2",
    )  # fmt: skip
    assert finding.why == "inference contradicts the result: it is odd"


def test_infer_convert_and_run_take_the_same(tmp_path):
    file = save("model.onnx", CLASSIFIER, tmp_path)
    found = opset.infer(file, dims={"x.0": "N"})
    note = "node number 1 (Reshape): shape 's' follows: the axis is axis 0 of the result"
    assert (str(found.type("f")), found.notes) == ("float[N, 6]", [note])
    out = str(tmp_path / "out.onnx")
    for verb in (["infer"], ["convert", "--to", "13"]):
        result = run(*verb, file, "--dim", "x.0=N", "-o", out, "--force")
        assert result.exit_code == 0 and note in result.stdout
        assert sizes(onnx.load(out).graph.output[0]) == ["N", 6]
    result = run("run", file, "--random", "--dim", "x.0=5")
    assert result.exit_code == 0 and "[5, 6]" in result.stdout
    result = run("infer", file, "--dim", "x.0=3", "--dim", "x.0=N")
    assert result.exit_code == 2 and "'x.0' is given two sizes: 3 and N" in result.stderr


def test_outputs_of_which_nothing_is_known_may_have_nothing_to_do_with_the_axis():
    text = f"{HEAD} g (float[4] x, float[] w) => (float[4] y, float[] z, t) {{ y = Neg(x)  z = Neg(w)  t = own.Op(w) }}"
    text = text.replace('"": 17', '"": 17, "own": 1')
    after = opset.change_sizes(opset.parse_model(text), {"x.0": "N"}).graph
    assert sizes(after.output[0]) == ["N"] and after.output[1:] == opset.parse_model(text).graph.output[1:]


@pytest.mark.parametrize("outputs", [[], [""]])
def test_a_node_without_outputs_is_in_the_way(outputs):
    model = opset.parse_model(
        f"{HEAD} g (float[2,3] x) => (float[2,3] y) <int64[1] s = {{6}}> {{ r = Reshape(x, s)  y = Neg(x) }}"
    )
    model.graph.node[0].output[:] = outputs
    with pytest.raises(InferenceError, match="the shape of its output is not known"):
        opset.change_sizes(model, {"x.0": "N"})


def test_a_state_that_a_caller_gives_is_repeated_if_it_is_one_slice():
    text = """g (float[1,3] x, float[1,3] h) => (float[1,3] y) <int64 m = {2}, bool on = {1}> {
        y = Loop (m, on, h) <body = b (int64 i, bool go, float[1,3] s) => (bool c, float[1,3] t) {
            c = Identity(go)  t = Add(s, x) }> }"""
    resized = opset.change_sizes(opset.parse_model(f"{HEAD} {text}"), {"x.0": "N"})
    x, h = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((1, 3), np.float32)
    np.testing.assert_array_equal(opset.ReferenceEvaluator(resized).run(None, {"x": x, "h": h})[0], 2 * x + 1)
    with pytest.raises(InferenceError, match="not certainly equal"):
        opset.change_sizes(opset.parse_model(f"{HEAD} {text.replace('[1,3]', '[2,3]')}"), {"x.0": "N"})


def test_constants_in_branches_follow_also_where_they_never_run():
    branches = """then_branch = t () => (float[4,3] a) <int64[2] s = {4, 3}> { a = Reshape(x, s) },
        else_branch = e () => (float[4,3] b) <int64[2] s = {4, 3}> { n = Neg(x)  b = Reshape(n, s) }"""
    text = f"{HEAD} g (float[4,3] x) => (float[4,3] y) <bool k = {{1}}> {{ y = If (k) <{branches}> }}"
    for source, never in ((text, [0, 3]), (text.replace("Neg(x)", "Softmax <axis = 0> (x)"), [4, 3])):
        (node,) = onnx_of(opset.change_sizes(opset.parse_model(source), {"x.0": "N"})).graph.node
        graphs = {each.name: each.g for each in node.attribute}
        held = {key: [numpy_helper.to_array(each).tolist() for each in g.initializer] for key, g in graphs.items()}
        assert held == {"then_branch": [[0, 3]], "else_branch": [never]}
        assert [len(g.input) for g in graphs.values()] == [0, 0]


def test_external_weights_are_not_opened(tmp_path):
    weight = numpy_helper.from_array(np.eye(6, dtype=np.float32), "w")
    model = opset.parse_model(
        f"{HEAD} g (float[1,3,2] x) => (float[1,6] y) <int64[2] s = {{1, 6}}> {{ f = Reshape(x, s) }}"
    )
    model = onnx.load_from_string(model.SerializeToString())
    model.graph.node.append(helper.make_node("MatMul", ["f", "w"], ["y"]))
    model.graph.initializer.append(weight)
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, size_threshold=100, location="w.bin")
    (tmp_path / "w.bin").unlink()
    resized = opset.change_sizes(str(tmp_path / "m.onnx"), {"x.0": "N"})
    assert sizes(resized.proto.graph.output[0]) == ["N", 6]


def test_unused_constants_of_the_old_size_are_gone():
    resized = opset.change_sizes(opset.parse_model(CLASSIFIER), {"x.0": "N"})
    assert [(tensor.name, [*numpy_helper.to_array(tensor)]) for tensor in onnx_of(resized).graph.initializer] == [
        ("s_resized", [0, 6])
    ]
    text = CLASSIFIER.replace("int64[2] s = {1, 6}, ", "int64[2] s, int64[2] u, int64[3] t = {1, 2, 3}, ").replace(
        "r = Relu(x)", "s = Constant <value_ints = [1, 6]> ()  u = Identity(s)  r = Relu(x)"
    )
    graph = opset.change_sizes(opset.parse_model(text.replace("u = Identity(s)", "")), {"x.0": "N"}).graph
    assert [node.op_type for node in graph.node] == ["Relu", "Reshape", "Add"]
    assert ("s" in [value.name for value in graph.value_info]) is False and "t" in [t.name for t in graph.initializer]
    graph = opset.change_sizes(opset.parse_model(text.replace("Reshape(r, s)", "Reshape(r, u)")), {"x.0": "N"}).graph
    assert [node.op_type for node in graph.node] == ["Constant", "Identity", "Relu", "Reshape", "Add"]


@pytest.mark.parametrize(
    ("steps", "place"),
    [(1, "graph 'g', node number 0 (Reshape)"), (150, "graph 'g', node number 0 (Reshape)"), (400, ""), (900, "")],
)
def test_limits_that_do_not_suffice_are_told_and_not_taken_for_a_node_in_the_way(steps, place):
    chain = "  ".join(f"a{number + 1} = Reshape(a{number}, s)" for number in range(20))
    text = f"{HEAD} g (float[2,3] a0) => (float[2,3] a20) <int64[2] s = {{2, 3}}> {{ {chain} }}"
    for change in (opset.change_sizes, lambda *given, **options: opset.infer(given[0], dims=given[1], **options)):
        with pytest.raises(InferenceError) as caught:
            change(opset.parse_model(text), {"a0.0": "N"}, limits=opset.Limits(max_steps=steps))
        assert [(each.code, each.place) for each in caught.value.findings] == [("I401", place)]


def test_a_budget_in_proportion_to_the_model_that_is_used_up_is_no_node_in_the_way(monkeypatch):
    monkeypatch.setattr(work, "BASE_STEPS", 1)
    monkeypatch.setattr(work, "STEPS_PER_BYTE", 0)
    with pytest.raises(InferenceError) as caught:
        opset.change_sizes(opset.parse_model(CLASSIFIER), {"x.0": "N"})
    assert [each.code for each in caught.value.findings] == ["I401"]


def onnx_of(model):
    return onnx.load_from_string(model.SerializeToString())


def test_faults_are_those_of_graphs_that_are_run():
    branches = """{0} = If (yes) <
        then_branch = t{0} () => (float[2] {0}1) <float[{1}] {0}2> {{ {0}2 = Neg (x) {0}1 = Abs ({0}2) }},
        else_branch = e{0} () => (float[2] {0}3) <float[{2}] {0}4> {{ {0}4 = Neg (x) {0}3 = Abs ({0}4) }}>"""
    text = f"""{HEAD} g (float[2] x) => (float[2] y) {{ yes = Constant <value = bool {{1}}> ()
        {branches.format("a", 2, 7)} {branches.format("b", 8, 2)} y = Add (a, b) }}"""
    model = opset.load(opset.parse_model(text))
    registry = default_registry()
    index = index_model(model.proto, registry.domains)
    engine = Engine(model, registry, {}, default_budget(1 << 20, opset.Limits()), index=index)
    engine.run()
    assert [place.rpartition(", ")[2] for place, _ in changing._faults_of(engine)] == ["'b2'"]


@pytest.mark.parametrize(
    ("values", "axis", "equal"),
    [
        ([[5, 5, 5]], 0, True), ([[5, 6, 7]], 0, True), ([[5, 5, 5]], 1, True), ([[5, 6, 5]], 1, False),
        ([[5, 6], [5, 6]], 0, True), ([[5, 6], [5, 6]], 1, False), ([[5, 5], [6, 6]], 1, True),
        ([[5, 5], [6, 7]], 1, False), ([[]], 0, False),
    ],
)  # fmt: skip
def test_slices_of_a_constant_are_compared_along_the_axis(values, axis, equal, monkeypatch):
    model = opset.load(opset.parse_model(CLASSIFIER))
    tensor = pb.TensorProto.FromString(numpy_helper.from_array(np.array(values)).SerializeToString())
    assert tracking._slices_are_equal(model, tensor, axis) is equal
    halves = pb.TensorProto(dims=[3], data_type=onnx.TensorProto.INT4, raw_data=b"\x11\x01")
    assert tracking._slices_are_equal(model, halves, 0) is False
    monkeypatch.setattr(tracking, "MAX_TENSOR", 7)
    assert tracking._slices_are_equal(model, tensor, axis) is False


def test_names_of_sizes_that_are_no_text_are_told():
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[N,Q] x) => (float[N,Q] y) { y = Abs (x) }'
    data = opset.parse_model(text).SerializeToString().replace(b"\x12\x01Q", b"\x12\x01\xff")
    for name in (b"M", "M"):
        with pytest.raises(opset.UsageError, match="the model has no dimension variable"):
            opset.change_sizes(opset.load(data), {name: 3})
        with pytest.raises(opset.UsageError, match="the model has no dimension variable"):
            opset.ReferenceEvaluator(opset.load(data), dims={name: 3})
