"""Functions of which calls omit inputs or attributes: what is omitted looks absent to adapters."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

import opset
from opset.errors import ConversionError
from opset.model import proto as pb
from opset.model.graph.index import Body
from opset.version_converter import conversion
from opset.version_converter.function_copies import Parameters, _write_fixed

node = helper.make_node
RNG = np.random.default_rng(11)
IMAGE = RNG.standard_normal((1, 2, 4, 6)).astype(np.float32)
OURS = "local"


def function(name, inputs, nodes, version, outputs=("b",), attributes=(), defaults=(), domains=()):
    imports = [helper.make_opsetid("", version), *(helper.make_opsetid(each, 1) for each in domains)]
    return helper.make_function(OURS, name, inputs, list(outputs), nodes, imports, list(attributes), list(defaults))


def model(calls, functions, version, feeds, outputs=("y",), constants=()):
    values = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in feeds.items()
    ]
    kind = onnx.TensorProto.FLOAT
    results = [helper.make_tensor_value_info(name, kind, None) for name in outputs]
    weights = [onnx.numpy_helper.from_array(value, name) for name, value in dict(constants).items()]
    graph = helper.make_graph(calls, "g", values, results, weights)
    imports = [helper.make_opsetid("", version), helper.make_opsetid(OURS, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8, functions=functions)


def call(inputs, outputs=("y",), name="F", **attributes):
    return node(name, inputs, list(outputs), domain=OURS, **attributes)


def ran(proto, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(proto.SerializeToString(), options, ["CPUExecutionProvider"]).run(None, feeds)


def same(before, to, feeds):
    after = opset.convert(before, to)
    wanted, found = ran(before, feeds), ran(after, feeds)
    valid = onnx.ModelProto.FromString(after.SerializeToString())
    for value, output in zip(valid.graph.output, found, strict=True):
        value.type.tensor_type.shape.dim.extend([onnx.TensorShapeProto.Dimension()] * output.ndim)
    onnx.checker.check_model(valid)
    for want, have in zip(wanted, found, strict=True):
        assert (want.dtype, want.shape) == (have.dtype, have.shape)
        np.testing.assert_allclose(have, want, rtol=1e-6, atol=1e-6)
    return after


def floats(*values):
    return np.array(values, np.float32)


def ints(*values):
    return np.array(values, np.int64)


HIDDEN = 3
WEIGHTS = {
    kind: {
        "x": RNG.standard_normal((5, 2, 4)).astype(np.float32),
        "w": RNG.standard_normal((1, gates * HIDDEN, 4)).astype(np.float32),
        "r": RNG.standard_normal((1, gates * HIDDEN, HIDDEN)).astype(np.float32),
    }
    for kind, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4))
}
HEADS = {name: RNG.standard_normal((1, 2, 3, 4)).astype(np.float32) for name in "qkv"}
FORMS = [
    # name, versions, formal inputs, actual inputs, feeds, constants, attributes
    ("Clip", 11, 10, "abc", ["x"], {"x": IMAGE}, {}, {}),
    ("Clip", 11, 10, "abc", ["x", "l"], {"x": IMAGE}, {"l": np.float32(-0.5)}, {}),
    ("Clip", 11, 10, "abc", ["x", "", "l"], {"x": IMAGE}, {"l": np.float32(0.5)}, {}),
    ("Split", 13, 18, "as", ["x"], {"x": IMAGE}, {}, {"axis": 2}),
    ("Resize", 13, 11, "arsz", ["x", "", "s"], {"x": IMAGE}, {"s": floats(1, 1, 2, 2)}, {}),
    ("Resize", 11, 13, "arsz", ["x", "r", "s"], {"x": IMAGE}, {"r": floats(), "s": floats(1, 1, 2, 2)}, {}),
    ("Resize", 13, 11, "arsz", ["x", "", "", "z"], {"x": IMAGE}, {"z": ints(1, 2, 8, 12)}, {}),
    ("Gemm", 11, 10, "abc", ["x", "w"], {"x": IMAGE[0, 0], "w": IMAGE[0, 1].T.copy()}, {}, {}),
    ("DequantizeLinear", 13, 12, "asz", ["x", "s"], {"x": np.arange(6, dtype=np.uint8)}, {"s": np.float32(0.5)}, {}),
    ("DequantizeLinear", 21, 20, "asz", ["x", "s"], {"x": np.arange(6, dtype=np.uint8)}, {"s": np.float32(0.5)}, {}),
    ("RNN", 14, 13, "xwrbsi", "xwr", WEIGHTS["RNN"], {}, {"hidden_size": HIDDEN}),
    ("GRU", 14, 13, "xwrbsi", "xwr", WEIGHTS["GRU"], {}, {"hidden_size": HIDDEN}),
    ("LSTM", 14, 13, "xwrbsicp", "xwr", WEIGHTS["LSTM"], {}, {"hidden_size": HIDDEN}),
    ("Attention", 23, 25, "qkvmpt", "qkv", HEADS, {}, {}),
    ("Attention", 24, 23, "qkvmptn", "qkv", HEADS, {}, {}),
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form[0]}-{form[1]}-{form[2]}-{len(form[4])}")
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("nested", [False, True])
def test_inputs_that_all_calls_omit_are_absent(form, padded, nested):
    operator, version, to, formals, actuals, feeds, constants, attributes = form
    formals, actuals = list(formals), list(actuals)
    outputs = ["one", "two"] if operator == "Split" else ["one"]
    body = node(operator, formals, outputs, **attributes)
    functions = [function("F", formals, [body], version, outputs)]
    calls = [call(actuals + [""] * padded * (len(formals) - len(actuals)), ["y", "z"][: len(outputs)])]
    if nested:
        given = [f"{name}0" for name in formals]
        inner = node("F", given, outputs, domain=OURS)
        functions.append(function("Outer", given, [inner], version, outputs, domains=[OURS]))
        calls[0].op_type = "Outer"
    before = model(calls, functions, version, feeds, ["y", "z"][: len(outputs)], constants)
    after = same(before, to, feeds)
    assert len(after.functions) == len(functions)


def test_an_optional_input_that_has_to_be_written_stays_as_an_empty_name():
    """Loop takes two inputs at least, of which calls may omit both."""
    made = opset.parse_model(
        """<ir_version: 8, opset_import: ["": 17, "d": 1]> main (float[3] x) => (float[3] y) {
            n = Constant <value_int = 2> ()
            y = d.F (n, x)
        }
        <domain: "d", opset_import: ["": 17]> F (count, a, go) => (b) {
            b = Loop (count, go, a) <body = g (int64 i, bool c, float[3] v) => (bool more, float[3] w) {
                more = Identity (c)  w = Add (v, v)
            }>
            rows = Loop (count, go) <body = h (int64 j, bool d) => (bool again, int64 k) {
                again = Identity (d)  k = Identity (j)
            }>
        }"""
    )
    before = onnx.ModelProto.FromString(made.SerializeToString())
    same(before, 12, {"x": np.float32([1, 2, 3])})


def test_values_inside_a_function_are_not_omitted_with_its_inputs():
    """Those that nodes compute, and those that loops carry, are there in each call."""
    made = opset.parse_model(
        """<ir_version: 8, opset_import: ["": 12, "d": 1]> main (float[3] x) => (float[3] y) { y = d.F (x) }
        <domain: "d", opset_import: ["": 12]> F (a, l) => (b) {
            c = Abs (a)
            n = Constant <value_int = 2> ()
            e = Clip (c, l)
            b = Loop (n, , e) <body = g (int64 i, bool go, float[3] v) => (bool more, float[3] w) {
                more = Identity (go)
                k = Clip (v, l)
                w = Add (k, k)
            }>
        }"""
    )
    same(onnx.ModelProto.FromString(made.SerializeToString()), 10, {"x": floats(1, -2, 3)})


def test_where_calls_differ_the_function_is_specialised():
    body = [node("Clip", ["a", "l", "h"], ["b"])]
    before = model(
        [call(["x", *given], [y]) for y, given in (("y", "lh"), ("z", "l"), ("u", ["", "h"]), ("v", ["l", ""]))],
        [function("F", ["a", "l", "h"], body, 11)],
        11,
        {"x": IMAGE},
        ["y", "z", "u", "v"],
        {"l": np.float32(-0.5), "h": np.float32(0.5)},
    )
    assert len(same(before, 13, {"x": IMAGE}).functions) == 1
    after = same(before, 10, {"x": IMAGE})
    assert [each.name for each in after.functions] == ["F", "F_1", "F_2"]
    assert [each.op_type for each in after.graph.node] == ["F", "F_1", "F_2", "F_1"]
    bounds = [{name for each in made.node for name in each.input} & {"l", "h"} for made in after.functions]
    assert bounds == [{"l", "h"}, {"l"}, {"h"}]


def test_a_subgraph_reads_the_omitted_input_and_another_value_of_its_name():
    clip = node("Clip", ["a", "l"], ["c"])
    shadowing = [node("Constant", [], ["l"], value_float=0.25), node("Clip", ["a", "l"], ["c"])]
    value = helper.make_tensor_value_info("c", 1, IMAGE.shape)
    branches = {
        "then_branch": helper.make_graph([clip], "then", [], [value]),
        "else_branch": helper.make_graph(shadowing, "else", [], [value]),
    }
    body = [node("If", ["k"], ["b"], **branches)]
    functions = [function("F", ["a", "k", "l"], body, 12)]
    for condition, expected in ((True, IMAGE), (False, np.maximum(IMAGE, np.float32(0.25)))):
        # onnxruntime crashes on the model as it was.
        before = model([call(["x", "k"])], functions, 12, {"x": IMAGE}, constants={"k": np.array(condition)})
        after = opset.convert(before, 10)
        np.testing.assert_array_equal(ran(after, {"x": IMAGE})[0], expected)
        clips = [each for branch in after.functions[0].node[0].attribute for each in branch.g.node]
        assert sorted(len(each.attribute) for each in clips if each.op_type == "Clip") == [0, 1]


def test_what_an_inner_function_does_not_need_makes_no_copies_of_the_outer_one():
    outer = node("F", ["a", "l"], ["b"], domain=OURS)
    inner = function("F", ["a", "l"], [node("Clip", ["a"], ["b"])], 11)
    functions = [inner, function("Outer", ["a", "l"], [outer], 11, domains=[OURS])]
    calls = [call(["x"], ["y"], "Outer"), call(["x", "x"], ["z"], "Outer")]
    after = same(model(calls, functions, 11, {"x": IMAGE}, ["y", "z"]), 10, {"x": IMAGE})
    assert [each.name for each in after.functions] == ["F", "Outer"]


def test_an_input_whose_name_only_an_inner_value_has_needs_no_copies():
    """No node reads the input `l` of the function; so calls with and without it call the same function."""
    made = opset.parse_model(
        """<ir_version: 8, opset_import: ["": 12, "d": 1]> main (float[3] x, bool k) => (float[3] y) {
            t = d.F (x, k)  y = d.F (t, k, t)
        }
        <domain: "d", opset_import: ["": 12]> F (a, k, l) => (b) {
            b = If (k) <
                then_branch = t () => (float[3] c) { l = Constant <value_float = 0.25> ()  c = Clip (a, l) },
                else_branch = e () => (float[3] c) { c = Neg (a) }>
        }"""
    )
    assert [each.name for each in opset.convert(made, 10).functions] == ["F"]


def test_attributes_that_calls_omit_are_absent():
    def refers(made, name, to):
        made.attribute.add(name=name, ref_attr_name=to, type=onnx.AttributeProto.INT)
        return made

    softmax = refers(node("Softmax", ["a"], ["b"]), "axis", "k")
    functions = [function("F", ["a"], [softmax], 11, attributes=["k"])]
    outer = refers(node("F", ["a"], ["b"], domain=OURS), "k", "n")
    functions.append(function("Outer", ["a"], [outer], 11, attributes=["n"], domains=[OURS]))
    for name, some in (("F", functions[:1]), ("Outer", functions)):
        same(model([call(["x"], name=name)], some, 11, {"x": IMAGE}), 13, {"x": IMAGE})
    squeeze = function("F", ["a"], [listed(node("Squeeze", ["a"], ["b"]), "axes", "k")], 11, attributes=["k"])
    (made,) = same(model([call(["x"])], [squeeze], 11, {"x": IMAGE}), 13, {"x": IMAGE}).functions
    assert [(each.op_type, [*each.input]) for each in made.node] == [("Squeeze", ["a"])]
    split = refers(node("Split", ["a"], ["b", "c"]), "axis", "k")
    functions = [function("F", ["a"], [split], 2, ["b", "c"], attributes=["k"])]
    outer = refers(node("F", ["a"], ["b", "c"], domain=OURS), "k", "n")
    functions.append(function("Outer", ["a"], [outer], 2, ["b", "c"], attributes=["n"], domains=[OURS]))
    x = {"x": RNG.random((2, 4)).astype(np.float32)}
    both = [call(["x"], ["y", "z"], "Outer", n=1), call(["x"], ["u", "v"], "Outer")]
    after = same(model(both, functions, 2, x, "yzuv"), 18, x)
    assert [each.name for each in after.functions] == ["F", "F_1", "Outer", "Outer_1"]


def test_a_model_without_omissions_keeps_its_functions_and_names_stay_free():
    clip = function("F", ["a", "l"], [node("Clip", ["a", "l"], ["b"])], 11)
    taken = function("F_1", ["a"], [node("Neg", ["a"], ["b"])], 11)
    calls = [call(["x", "l"]), call(["y"], ["z"]), call(["z"], ["u"], "F_1")]  # nothing calls F_2
    before = model(
        calls,
        [clip, taken, function("F_2", ["a"], [node("Abs", ["a"], ["b"])], 11)],
        11,
        {"x": IMAGE},
        ["u"],
        {"l": np.float32(-0.5)},
    )
    after = same(before, 10, {"x": IMAGE})
    assert [each.name for each in after.functions] == ["F", "F_3", "F_1", "F_2"]


def test_a_required_input_that_a_call_omits_is_refused():
    upsample = function("F", ["a", "s"], [node("Upsample", ["a", "s"], ["b"])], 9)
    with pytest.raises(ConversionError, match="C103"):
        opset.convert(model([call(["x"])], [upsample], 9, {"x": IMAGE}), 13)


def test_combinations_of_omissions_are_bounded():
    formals = [f"i{number}" for number in range(40)]
    functions = [function("F40", formals, [node("Concat", formals, ["b"], axis=0)], 11)]
    for level in range(40):
        without = [*formals[:level], "", *formals[level + 1 :]]
        calls = [
            node(f"F{level + 1}", formals, ["p"], domain=OURS),
            node(f"F{level + 1}", without, ["q"], domain=OURS),
            node("Add", ["p", "q"], ["b"]),
        ]
        functions.append(function(f"F{level}", formals, calls, 11, domains=[OURS]))
    before = model([call(["x"] * 40, name="F0")], functions, 11, {"x": IMAGE})
    with pytest.raises(ConversionError, match="C401"):
        opset.convert(before, 10)


def listed(made, name, to):
    made.attribute.add(name=name, ref_attr_name=to, type=onnx.AttributeProto.INTS)
    return made


@pytest.mark.parametrize("to", [12, 13, 18, 21, 26])
@pytest.mark.parametrize("operator", ["Squeeze", "Unsqueeze", "ReduceSum", "ReduceMax", "ReduceMean"])
def test_a_list_of_the_function_that_becomes_an_input(operator, to):
    body = listed(node(operator, ["a"], ["b"]), "axes", "k")
    functions = [function("F", ["a"], [body], 11, attributes=["k"])]
    calls = [call(["x"], k=[0]), call(["x"], ["z"], k=[0, 4] if operator == "Unsqueeze" else [0])]
    before = model(calls, functions, 11, {"x": IMAGE[:, :, 0]}, ["y", "z"])
    after = same(before, to, {"x": IMAGE[:, :, 0]})
    held = [each.attribute[0].ref_attr_name for each in after.functions[0].node if each.op_type == "Constant"]
    inputs_since = 18 if operator in ("ReduceMax", "ReduceMean") else 13
    if to < inputs_since:
        assert len(after.functions) == 1 and not held
    else:
        assert len(after.functions) == 1 and held == ["k"]


def test_attributes_whose_values_matter_have_those_of_the_calls():
    softmax = node("Softmax", ["a"], ["b"])
    softmax.attribute.add(name="axis", ref_attr_name="k", type=onnx.AttributeProto.INT)
    inner = function("F", ["a"], [softmax], 11, attributes=["k"])
    outer = node("F", ["a"], ["b"], domain=OURS)
    outer.attribute.add(name="k", ref_attr_name="n", type=onnx.AttributeProto.INT)
    other = function("Outer", ["a"], [outer], 11, defaults=[helper.make_attribute("n", 2)], domains=[OURS])
    calls = [call(["x"], [y], "Outer", n=n) for y, n in (("y", 1), ("z", 2), ("u", 1))]
    calls += [call(["x"], ["v"], "Outer"), call(["x"], ["w"], k=3), call(["x"], ["t"], k=1)]
    before = model(calls, [inner, other], 11, {"x": IMAGE}, ["y", "z", "u", "v", "w", "t"])
    before.ir_version = 9
    after = same(before, 13, {"x": IMAGE})
    assert [each.name for each in after.functions] == ["F", "F_1", "F_2", "Outer", "Outer_1"]
    assert [each.op_type for each in after.graph.node] == ["Outer", "Outer_1", "Outer", "Outer_1", "F", "F_1"]


def test_an_attribute_of_a_function_that_nothing_calls_is_not_known():
    softmax = node("Softmax", ["a"], ["b"])
    softmax.attribute.add(name="axis", ref_attr_name="k", type=onnx.AttributeProto.INT)
    before = model(
        [node("Neg", ["x"], ["y"])], [function("F", ["a"], [softmax], 11, attributes=["k"])], 11, {"x": IMAGE}
    )
    with pytest.raises(ConversionError, match="C206") as caught:
        opset.convert(before, 13)
    assert caught.value.place.startswith("function 'local.F'")


def test_calls_with_other_shapes_get_functions_of_their_own():
    """Before 13, the axis of Softmax has to be the last one, and which one that is depends on the rank."""
    inner = function("F", ["a"], [node("Softmax", ["a"], ["b"], axis=1)], 13)
    outer = function("Outer", ["a"], [node("F", ["a"], ["b"], domain=OURS)], 13, domains=[OURS])
    feeds = {"x": IMAGE, "m": IMAGE[0, 0], "n": IMAGE[0, 1, :2]}
    calls = [call([x], [y], name) for x, y, name in (("x", "y", "Outer"), ("m", "z", "Outer"), ("n", "u", "F"))]
    after = same(model(calls, [inner, outer], 13, feeds, ["y", "z", "u"]), 11, feeds)
    operators = [{each.op_type for each in made.node} - {"F", "F_1", "F_2"} for made in after.functions]
    assert sorted(map(sorted, operators)) == [[], [], ["Softmax"], ["Softmax"], ["Softmax", "Transpose"]]


def test_calls_in_graphs_of_training_are_told_apart_by_shapes():
    inner = function("F", ["a"], [node("Softmax", ["a"], ["b"], axis=1)], 13)
    before = model([node("Identity", ["x"], ["y"])], [inner], 13, {"x": IMAGE})
    training = before.training_info.add()
    for part, shape in ((training.initialization, [2, 3, 4]), (training.algorithm, [2, 3])):
        graph = helper.make_graph(
            [call(["v"], ["w"])], "g", [helper.make_tensor_value_info("v", 1, shape)],
            [helper.make_tensor_value_info("w", 1, shape)],
        )  # fmt: skip
        part.CopyFrom(graph)
    after = opset.convert(before, 11)
    assert [[each.op_type for each in made.node] for made in after.functions] == [
        ["Transpose", "Softmax", "Transpose"], ["Softmax"],
    ]  # fmt: skip


@pytest.mark.parametrize("width", [12, 18])
@pytest.mark.parametrize("branch", [False, True])
def test_calls_with_other_constants_get_functions_of_their_own(width, branch):
    """Before 11, there were scales alone, which have to be known for sizes."""
    how = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "round_prefer_floor"}
    resize = function("F", ["a", "r", "z"], [node("Resize", ["a", "r", "r", "z"], ["b"], **how)], 12)
    outputs = ["p", "q"] if branch else ["y", "z"]
    calls = [call(["x", "e", size], [output]) for size, output in zip(("one", "two"), outputs, strict=True)]
    if branch:
        both = {}
        for name, inner in zip(("then_branch", "else_branch"), calls, strict=True):
            scan = helper.make_node("ReduceMax", [inner.output[0]], ["flat"])
            ends = [helper.make_tensor_value_info("flat", 1, [1, 1, 1, 1])]
            both[name] = helper.make_graph([inner, scan], name, [], ends)
        calls, outputs = [node("If", ["t"], ["y"], **both)], ["y"]
    feeds = {"x": IMAGE}
    constants = {"e": floats(), "one": ints(1, 2, 8, 12), "two": ints(1, 2, 8, width), "t": np.array(True)}
    after = same(model(calls, [resize], 12, feeds, outputs, constants), 10, feeds)
    assert len(after.functions) == (1 if width == 12 else 2)


def test_calls_with_other_types_get_functions_of_their_own():
    """Which type the zeros are of has to be known."""
    body = [node("Relu", ["a"], ["b"])]
    ints32 = np.arange(-2, 4, dtype=np.int32)
    nodes = [call(["x"], ["y"]), call(["i"], ["j"]), node("Cast", ["j"], ["z"], to=1)]
    before = model(nodes, [function("F", ["a"], body, 14)], 14, {"x": IMAGE, "i": ints32}, ["y", "z"])
    after = same(before, 13, {"x": IMAGE, "i": ints32})
    assert [[each.op_type for each in made.node] for made in after.functions] == [["Relu"], ["Constant", "Max"]]


def test_a_list_of_the_function_is_held_by_a_constant_from_12_on():
    """Nothing calls the function, so nothing says which list that is."""
    upsample = node("Upsample", ["a"], ["b"])
    upsample.attribute.add(name="scales", type=onnx.AttributeProto.FLOATS, ref_attr_name="s")
    scaled = function("F", ["a"], [upsample], 8, attributes=["s"])
    before = model([node("Abs", ["x"], ["y"])], [scaled], 8, {"x": IMAGE})
    (made,) = opset.convert(before, 12).functions
    assert made.node[0].op_type == "Constant"
    assert (made.node[0].attribute[0].name, made.node[0].attribute[0].ref_attr_name) == ("value_floats", "s")
    with pytest.raises(ConversionError) as caught:
        opset.convert(before, 11)
    assert caught.value.code == "C206"


OMISSIONS, ATTRIBUTES, INPUTS = (strategy.name for strategy in conversion.STRATEGIES)


@pytest.mark.parametrize(
    ("graph", "function", "tried"),
    [
        ("y = Relu (x)", "", [OMISSIONS]),
        ("y = local.F <k = 1> (x)", "F <k> (a) => (b) { b = Softmax <axis: int = @k> (a) }", [OMISSIONS, ATTRIBUTES]),
        ("y = local.F (x)  u = local.F (z)", "F (a) => (b) { b = Softmax <axis = 1> (a) }", [OMISSIONS, INPUTS]),
    ],
)
def test_strategies_are_tried_in_order_if_they_may_remove_a_refusal(graph, function, tried, monkeypatch):
    seen, convert_once = [], conversion.convert_once

    def watch(model, index, start, task, strategy):
        seen.append(strategy.name)
        return convert_once(model, index, start, task, strategy)

    monkeypatch.setattr(conversion, "convert_once", watch)
    head = '<ir_version: 8, opset_import: ["": 13, "local": 1]>'
    body = f'<domain: "local", opset_import: ["": 13]> {function}' if function else ""
    before = opset.parse_model(f"{head} g (float[2, 3, 4] x, float[2, 3] z) => (y) {{ {graph} }} {body}")
    opset.convert(before, 11)
    assert seen == tried


def test_an_attribute_with_a_name_that_is_not_utf_8_gets_the_value_of_the_call():
    own = helper.make_node("LeakyRelu", ["a"], ["b"])
    own.attribute.add(name="alpXa", ref_attr_name="k", type=1, doc_string="the slope")
    proto = pb.FunctionProto.FromString(
        function("F", ["a"], [own], 17, attributes=["k"]).SerializeToString().replace(b"alpXa", b"alp\xa0a")
    )
    stated = pb.AttributeProto(f=0.5, type=1).SerializeToString()
    _write_fixed(Body(proto, "F", function=True), Parameters(attributes=frozenset({("k", stated)})))
    (written,) = proto.node[0].attribute
    assert (written.f, written.ref_attr_name, written.doc_string) == (0.5, "", "")
    assert b"alp\xa0a" in written.SerializeToString()
