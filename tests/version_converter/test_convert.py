"""The engine: what moves, what stays, what is refused, whatever the operator."""

import itertools
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import opset
from opset.errors import SHOWN, ConversionError, ModelError, UsageError
from opset.version_converter.report import conversion_report, report_lines

F, I64 = TensorProto.FLOAT, TensorProto.INT64


def info(name, kind=F, shape=(2, 3)):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, version, inputs=None, outputs=None, ir=8, functions=(), extra=(), **graph):
    inputs = [info("x")] if inputs is None else inputs
    outputs = [info("y", F, None)] if outputs is None else outputs
    imports = [helper.make_opsetid("", version), *itertools.starmap(helper.make_opsetid, extra)]
    made = helper.make_graph(nodes, "main", inputs, outputs, **graph)
    return helper.make_model(made, opset_imports=imports, ir_version=ir, functions=list(functions))


def run(proto, **feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def same(before, to, **feeds):
    after = opset.convert(before, to)
    onnx.checker.check_model(onnx.shape_inference.infer_shapes(after, check_type=True, strict_mode=True))
    for expected, got in zip(run(before, **feeds), run(after, **feeds), strict=True):
        np.testing.assert_array_equal(expected, got)
    return after


def refused(before, to, *codes):
    with pytest.raises(ConversionError) as caught:
        opset.convert(before, to)
    assert [finding.code for finding in caught.value.findings] == list(codes)
    return caught.value


X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2


def squeeze_11():
    return helper.make_node("Unsqueeze", ["x"], ["y"], name="u", axes=[0, 3])


def test_an_attribute_becomes_a_constant_input_and_comes_back_byte_for_byte():
    before = model([squeeze_11()], 11, ir=6)
    after = same(before, 13, x=X)
    assert [node.op_type for node in after.graph.node] == ["Constant", "Unsqueeze"]
    assert after.graph.node[1].name == "u"
    back = opset.convert(after, 11)
    assert back == before


def test_a_shared_initializer_stays_and_one_that_nothing_uses_any_more_goes():
    axes = numpy_helper.from_array(np.array([0], np.int64), "axes")
    nodes = [helper.make_node("Unsqueeze", ["x", "axes"], ["a"]), helper.make_node("Unsqueeze", ["a", "axes"], ["y"])]
    alone = opset.convert(model(nodes, 13, initializer=[axes]), 12)
    assert not alone.graph.initializer
    shared = model(
        [*nodes, helper.make_node("Add", ["axes", "axes"], ["z"])],
        13,
        initializer=[axes],
        outputs=[info("y", F, None), info("z", I64, [1])],
    )
    assert [tensor.name for tensor in opset.convert(shared, 12).graph.initializer] == ["axes"]


def test_what_a_training_graph_or_an_annotation_uses_stays():
    axes = numpy_helper.from_array(np.array([0], np.int64), "axes")
    before = model([helper.make_node("Unsqueeze", ["x", "axes"], ["y"])], 13, initializer=[axes])
    before.training_info.add().update_binding.add(key="axes", value="y")
    after = opset.convert(before, 12)
    assert [tensor.name for tensor in after.graph.initializer] == ["axes"]
    del before.training_info[:]
    assert not opset.convert(before, 12).graph.initializer
    algorithm = helper.make_graph([helper.make_node("Neg", ["axes"], ["n"])], "a", [], [info("n", I64, [1])])
    before.training_info.add().algorithm.CopyFrom(algorithm)
    assert [tensor.name for tensor in opset.convert(before, 12).graph.initializer] == ["axes"]
    del before.training_info[:]
    annotation = before.graph.quantization_annotation.add(tensor_name="x")
    annotation.quant_parameter_tensor_names.add(key="ZERO_POINT_TENSOR", value="axes")
    assert [tensor.name for tensor in opset.convert(before, 12).graph.initializer] == ["axes"]


def test_an_extra_output_goes_only_where_nothing_reads_it():
    pool = helper.make_node("MaxPool", ["x"], ["y", "where"], kernel_shape=[2, 2])
    image = [info("x", F, [1, 1, 4, 4])]
    assert list(opset.convert(model([pool], 8, image), 7).graph.node[0].output) == ["y"]
    for stated, version, operators in (
        ({"storage_order": 1}, 8, ["MaxPool"]),
        ({"dilations": [2, 2]}, 10, ["Gather", "Gather", "MaxPool"]),
    ):
        pool.attribute.extend(itertools.starmap(helper.make_attribute, stated.items()))
        found = opset.convert(model([pool], version, image), 7).graph
        assert [each.op_type for each in found.node if each.op_type != "Constant"] == operators
        assert list(found.node[-1].output) == ["y"]
        del pool.attribute[1:]
    read = model([pool], 8, image, outputs=[info("y", F, None), info("where", I64, None)])
    assert list(opset.convert(read, 7).graph.node[0].output) != ["y"]


def test_an_input_that_is_computed_or_can_be_overridden_is_not_constant():
    def resize(scales, name=""):
        return helper.make_node("Resize", ["x", "", scales], ["y"], name=name, mode="cubic")

    given = model([helper.make_node("Identity", ["a"], ["b"]), resize("b", "u")], 13, [info("x"), info("a", F, [2])])
    error = refused(given, 10, "C205")
    assert error.place == "graph 'main', node 'u' (Resize)"
    default = numpy_helper.from_array(np.array([2, 2], np.float32), "a")
    overridable = model([resize("a")], 13, inputs=[info("x"), info("a", F, [2])], initializer=[default])
    for ir_version in (8, 4):
        overridable.ir_version = ir_version
        refused(overridable, 10, "C205")
    # Before IR version 4 every initializer was listed as an input, and none could be overridden.
    overridable.ir_version = 3
    assert opset.convert(overridable, 10)
    for count, why in ((63, "'v63' follows from what a caller may override: v0"), (64, "is computed at run time")):
        chain = [helper.make_node("Identity", [f"v{number}"], [f"v{number + 1}"]) for number in range(count)]
        start = numpy_helper.from_array(np.array([2, 2], np.float32), "v0")
        inputs = [info("x"), info("v0", F, [2])]
        error = refused(model([*chain, resize(f"v{count}")], 13, inputs=inputs, initializer=[start]), 10, "C205")
        assert why in error.why


@pytest.mark.parametrize(
    ("nodes", "why", "help"),
    [
        ("s = Clip (a, , top)", "'s' follows from what a caller may override: a", "--freeze a,"),
        ("s = Add (a, b)", "'s' follows from what a caller may override: a, b", "--freeze a --freeze b,"),
        (
            "t = Add (b, a)  s = Sum (d, t, c)",
            "what a caller may override: d, b, a, c",
            "--freeze d --freeze b --fr",
        ),
        ("s = Identity (a)  z = If (yes) <BRANCHES>", "'s' follows from what a caller may override: a", "--freeze a,"),
        ("s = If (yes) <BRANCHES>", "('s') is computed at run time", "make it an initializer"),
        ("t = Cast <to = 1> (yes)  s = Add (a, t)", "('s') is computed at run time", "make it an initializer"),
    ],
)
def test_initializers_from_which_a_value_follows_are_named_in_order(nodes, why, help):
    branches = "then_branch = g () => (p) { p = Neg (a) }, else_branch = h () => (q) { q = Abs (a) }"
    before = opset.parse_model(f"""<ir_version: 8, opset_import: ["": 13]>
        m (float[4, 4] x, bool yes, float[2] a, float[2] b, float[2] c, float[2] d) => (float[?, ?] y)
        <float[2] a = {{1, 1}}, float[2] b = {{1, 1}}, float[2] c = {{1, 1}}, float[2] d = {{1, 1}}, float top = {{3}}>
        {{ {nodes.replace("BRANCHES", branches)}  y = Resize <mode = "cubic"> (x, , s) }}""")
    error = refused(before, 10, "C205")
    assert why in error.why and help in error.help


def test_every_refusal_is_reported_at_once_and_the_model_is_untouched():
    nodes = [
        helper.make_node("StringConcat", ["x", "x"], ["a"], name="g"),
        helper.make_node("Identity", ["a"], ["b"]),
        helper.make_node("StringConcat", ["b", "a"], ["y"]),
    ]
    before = model(nodes, 20, inputs=[info("x", STRING)], outputs=[info("y", STRING)])
    kept = before.SerializeToString()
    error = refused(before, 17, "C201", "C201")
    assert [f.place for f in error.findings] == [
        "graph 'main', node 'g' (StringConcat)",
        "graph 'main', node number 2 (StringConcat)",
    ]
    assert before.SerializeToString() == kept


STRING, BOOL = TensorProto.STRING, TensorProto.BOOL


def equal(*inputs):
    """A node that takes strings from version 19 on; Unique, from version 11 on, serves before."""
    return helper.make_node("Equal", inputs or ["x", "x"], ["y"])


def test_types_decide_downwards():
    truth = [info("y", BOOL, None)]
    refused(model([equal()], 19, [info("x", STRING)], truth), 10, "C202")
    assert opset.convert(model([equal()], 19, outputs=truth), 18)
    made = helper.make_node("Custom", ["x"], ["a"], domain="my")
    refused(model([made, equal("a", "a")], 19, extra=[("my", 1)], outputs=truth), 18, "C203")


def test_types_flow_through_nodes_to_where_they_are_asked_for():
    nodes = [
        helper.make_node("Cast", ["x"], ["a0"], to=STRING),
        *(helper.make_node("Concat", [f"a{i}", f"a{i}"], [f"a{i + 1}"], axis=0) for i in range(3)),
        equal("a3", "a3"),
    ]
    refused(model(nodes, 19, outputs=[info("y", BOOL, None)]), 10, "C202")


def loop_model(version):
    """A loop whose body unsqueezes a value of the graph around and adds its own."""
    body = helper.make_graph(
        [
            helper.make_node("Unsqueeze", ["x"], ["u"], name="inner", axes=[0]),
            helper.make_node("Squeeze", ["u"], ["s"], axes=[0]),
            helper.make_node("Add", ["state", "s"], ["next"]),
            helper.make_node("Identity", ["go"], ["go_on"]),
        ],
        "body",
        [info("i", I64, []), info("go", TensorProto.BOOL, []), info("state")],
        [info("go_on", TensorProto.BOOL, []), info("next")],
    )
    trips = numpy_helper.from_array(np.array(3, np.int64), "trips")
    go = numpy_helper.from_array(np.array(True), "start")
    loop = helper.make_node("Loop", ["trips", "start", "x"], ["y"], body=body)
    return model([loop], version, outputs=[info("y")], ir=6, initializer=[trips, go])


def test_subgraphs_are_converted_in_their_scope():
    before = loop_model(11)
    after = same(before, 21, x=X)
    inner = after.graph.node[0].attribute[0].g
    assert [node.op_type for node in inner.node][:4] == ["Constant", "Unsqueeze", "Constant", "Squeeze"]
    assert opset.convert(after, 11) == before


def test_a_refusal_in_a_subgraph_names_its_path():
    inner = helper.make_node("StringConcat", ["x", "x"], ["g"], name="inner")
    branch = helper.make_graph([inner], "b", [], [info("g", STRING)])
    choice = helper.make_node("If", ["c"], ["y"], name="choice", then_branch=branch, else_branch=branch)
    inputs = [info("x", STRING), info("c", TensorProto.BOOL, [])]
    before = model([choice], 20, inputs=inputs, outputs=[info("y", STRING)])
    error = refused(before, 17, "C201", "C201")
    places = {
        f"graph 'main', node 'choice' (If), {name}_branch, node 'inner' (StringConcat)" for name in ("then", "else")
    }
    assert {finding.place for finding in error.findings} == places


def function_model(own=11, version=11, **node):
    function = helper.make_function(
        "my",
        "Twice",
        ["a"],
        ["b"],
        [helper.make_node("Unsqueeze", ["a"], ["u"], axes=[0]), helper.make_node("Squeeze", ["u"], ["b"], axes=[0])],
        [helper.make_opsetid("", own)],
    )
    call = helper.make_node("Twice", ["x"], ["y"], domain="my")
    return model([call], version, functions=[function], extra=[("my", 1)])


def test_functions_are_converted_from_their_own_imports():
    before = function_model(own=11, version=12)
    after = same(before, 21, x=X)
    assert after.functions[0].opset_import[0].version == 21
    assert [node.op_type for node in after.functions[0].node] == ["Constant", "Unsqueeze", "Constant", "Squeeze"]
    assert after.graph.node[0] == before.graph.node[0]


def test_types_of_a_function_come_from_its_calls():
    body = [helper.make_node("Equal", ["a", "a"], ["b"])]
    function = helper.make_function("my", "F", ["a"], ["b"], body, [helper.make_opsetid("", 19)])
    call = helper.make_node("F", ["x"], ["y"], domain="my")
    more = {"functions": [function], "extra": [("my", 1)], "outputs": [info("y", BOOL, None)]}
    assert opset.convert(model([call], 19, **more), 18)
    refused(model([call], 19, [info("x", STRING)], **more), 10, "C202")
    second = helper.make_node("F", ["z"], ["w"], domain="my")
    assert opset.convert(model([call, second], 19, [info("x"), info("z", TensorProto.DOUBLE)], **more), 18)
    refused(model([call, second], 19, [info("x"), info("z", STRING)], **more), 10, "C203")
    refused(model([call, second], 19, [info("x"), info("z", 0)], **more), 18, "C203")


def test_each_call_of_a_function_is_held_to_the_types_of_a_node_that_is_rewritten():
    """Also where what one of the calls gives has been found to fit before."""
    hardmax = "(a) => (b) { b = Hardmax <axis = 0> (a) }"
    before = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 13, "f": 1]> g (float[2, 2] x, int8[2, 2] i) => (float[2, 2] y) {{
            y = f.Before (x)
            z = f.F (x)
            j = f.F (i)
        }}
        <domain: "f", opset_import: ["": 13]> F {hardmax}
        <domain: "f", opset_import: ["": 13]> Before {hardmax}"""
    )
    assert refused(before, 12, "C103").place == "function 'f.F', node number 0 (Hardmax)"


@pytest.mark.parametrize("functions", [("Before", "F"), ("F", "Before")])
def test_each_call_of_a_function_is_held_to_the_types_that_the_target_allows(functions):
    """Also where those of the first call were allowed before."""
    text = """<ir_version: 8, opset_import: ["": 6, "f": 1]> g (float[2] x, int32[2] i) => (float[2] y, int32[2] j) {
        y = f.Before (x)  z = f.F (x)  j = %s (i)
    }""" + "".join(f'<domain: "f", opset_import: ["": 6]> {name} (a) => (b) {{ b = Abs (a) }}' for name in functions)
    finding = refused(onnx.parser.parse_model(text % "f.F"), 5, "C202")
    assert finding.place == "function 'f.F', node number 0 (Abs)"
    assert "int32" in finding.why
    assert opset.convert(onnx.parser.parse_model(text % "Identity"), 5)


def test_unknown_domains_pass_and_are_reported():
    before = model([helper.make_node("Magic", ["x"], ["y"], domain="com.acme", power=3)], 11, extra=[("com.acme", 4)])
    plan = opset.plan(before, 21)
    assert plan.passed == {("com.acme", "Magic"): 1}
    assert plan.model is None
    after = opset.convert(before, 21)
    assert after.graph.node[0].SerializeToString() == before.graph.node[0].SerializeToString()
    assert [(entry.domain, entry.version) for entry in after.opset_import] == [("", 21), ("com.acme", 4)]


def test_several_domains_move_at_once_and_ai_onnx_is_the_default_domain():
    scaler = helper.make_node("Scaler", ["x"], ["a"], domain="ai.onnx.ml", offset=[0.0], scale=[1.0])
    relu = helper.make_node("Relu", ["a"], ["y"], domain="ai.onnx")
    before = model([scaler, relu], 11, extra=[("ai.onnx.ml", 1)])
    before.opset_import[0].domain = "ai.onnx"
    after = opset.convert(before, {"": 17, "ai.onnx.ml": 3})
    assert [(entry.domain, entry.version) for entry in after.opset_import] == [("ai.onnx", 17), ("ai.onnx.ml", 3)]
    assert opset.convert(before, "ai.onnx.ml=2").opset_import[1].version == 2
    released = opset.convert(before, release="1.15")
    assert [entry.version for entry in released.opset_import] == [20, 4]


def test_a_runtime_takes_what_it_takes():
    before = model([helper.make_node("Relu", ["x"], ["y"])], 22, ir=10)
    after = opset.convert(before, runtime="onnxruntime==1.17")
    assert (after.opset_import[0].version, after.ir_version) == (20, 9)
    # A model that the runtime runs already is left as it is; of the others, the nearest opset is chosen.
    assert opset.convert(after, runtime="onnxruntime==1.31").opset_import[0].version == 20
    before.opset_import.add(domain="ai.onnx.ml")
    for versions, expected in (((6, 1), [7, 1]), ((7, 2), [7, 2]), ((20, 4), [20, 4]), ((21, 5), [20, 4])):
        for entry, version in zip(before.opset_import, versions, strict=True):
            entry.version = version
        after = opset.convert(before, runtime="onnxruntime==1.17")
        assert [entry.version for entry in after.opset_import] == expected


@pytest.mark.parametrize(
    ("ir", "to", "expected"),
    [(10, 17, 8), (10, 21, 10), (3, 21, 3), (4, 21, 4), (13, 8, 3), (8, 28, 8), (14, 28, 14)],
)
def test_the_ir_version_stays_when_it_serves_and_goes_down_with_the_opset(ir, to, expected):
    assert opset.convert(model([helper.make_node("Abs", ["x"], ["y"])], 13, ir=ir), to).ir_version == expected


def test_annotations_do_not_hold_the_ir_version_up():
    before = model([helper.make_node("Abs", ["x"], ["y"])], 22, ir=10)
    before.graph.node[0].metadata_props.add(key="k", value="v")
    for options in {}, {"ir_version": 8}:
        plan = opset.plan(before, 17, **options)
        assert plan.ir_version == (10, 8)
        skipped = "metadata of graphs, nodes or functions"
        assert plan.notes == [f"kept for readers of IR version 10, older ones skip it: {skipped}"]
        after = opset.convert(before, 17, **options)
        assert after.graph.node[0].metadata_props[0].key == "k"
        np.testing.assert_array_equal(run(after, x=X)[0], np.abs(X))


def test_what_forces_a_higher_ir_version_is_reported():
    before = model(
        [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E4M3FN)],
        19,
        ir=10,
        outputs=[info("y", TensorProto.FLOAT8E4M3FN)],
    )
    before.graph.value_info.append(info("elsewhere", TensorProto.FLOAT8E5M2))
    before.opset_import.add(domain="ai.onnx.ml", version=4)
    plan = opset.plan(before, {"ai.onnx.ml": 3})
    assert plan.ir_version == (10, 9)
    assert plan.notes == [
        "the IR version is 9, not 8, because of: the type float8e5m2, the type float8e4m3fn",
    ]


OVERLOADED = """<ir_version: 10, opset_import: ["": 21, "d": 1]>
    main (float[2, 3] x) => (float[2, 3] y) {
        a = d.Scale:by <k = 2.0> (x)
        b = d.Outer (a)
        c = d.Scale_by (b)
        y = d.Scale:by (c)
    }
    <opset_import: ["": 21, "d": 1], domain: "d">
    Outer <k: float = 5.0> (v) => (w) { w = d.Scale:by <k: float = @k> (v) }
    <opset_import: ["": 21], domain: "d", overload: "by">
    Scale <k: float = 3.0> (v) => (w) { c = Constant <value_float: float = @k> ()  w = Mul (v, c) }
    <opset_import: ["": 21], domain: "d">
    Scale_by (v) => (w) { w = Neg (v) }
    <opset_import: ["": 21], domain: "d">
    Scale_by_1 (v) => (w) { w = Neg (v) }"""  # which nothing calls


def test_overloads_and_defaults_of_functions_are_rewritten_for_older_ir_versions():
    before = onnx.parser.parse_model(OVERLOADED)
    plan = opset.plan(before, 17)
    assert plan.ir_version == (10, 8)
    assert plan.notes == [
        "overloads have names of their own, as before IR version 10: 1",
        "calls state the defaults of function attributes, as before IR version 9: 2",
    ]
    after = opset.convert(before, 17)
    assert [each.name for each in after.functions] == ["Outer", "Scale_by_2", "Scale_by", "Scale_by_1"]
    assert not any(each.overload or each.attribute_proto for each in after.functions)
    np.testing.assert_allclose(run(after, x=X)[0], X * 2 * 5 * -3, rtol=1e-6)
    assert opset.plan(before, 19).ir_version == (10, 9)


def test_a_default_that_a_call_may_not_state_holds_the_ir_version():
    text = OVERLOADED.replace("Outer <k: float = 5.0>", "Outer <k>").replace("d.Outer (a)", "d.Outer <k = 4.0> (a)")
    plan = opset.plan(onnx.parser.parse_model(text), 17)
    assert plan.ir_version == (10, 9)
    assert "the IR version is 9, not 8, because of: defaults of function attributes" in plan.notes


def test_calls_state_each_default_that_they_leave_out():
    """Outer may be without `m`, and so may its call of Both: that default stays, and all others move."""
    before = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 21, "d": 1]> main (float[2] x) => (float[2] y) {
            a = d.Outer <m = 1.0> (x)
            y = d.Outer <k = 7.0, m = 1.0> (a)
        }
        <opset_import: ["": 21, "d": 1], domain: "d">
        Outer <m, k: float = 5.0, n: float = 6.0> (v) => (w) {
            t = d.Both <m: float = @m, k: float = @k> (v)
            w = d.Both (t)
        }
        <opset_import: ["": 21], domain: "d">
        Both <k: float = 3.0, m: float = 4.0> (v) => (w) { w = Neg (v) }"""
    )
    before.functions[1].attribute.append("k")  # stated twice, as no text can
    plan, after = opset.plan(before, 17), opset.convert(before, 17)
    assert plan.notes == [
        "calls state the defaults of function attributes, as before IR version 9: 3",
        "the IR version is 9, not 8, because of: defaults of function attributes",
    ]
    calls = [*after.graph.node, *after.functions[0].node]
    assert [{each.name: each.ref_attr_name or each.f for each in call.attribute} for call in calls] == [
        {"m": 1, "k": 5, "n": 6},
        {"m": 1, "k": 7, "n": 6},
        {"m": "m", "k": "k"},
        {"k": 3},
    ]
    assert [(each.attribute[:], [default.name for default in each.attribute_proto]) for each in after.functions] == [
        (["m", "k", "n"], []),
        (["k"], ["m"]),
    ]


def test_a_default_that_moves_into_calls_brings_its_type_along():
    before = onnx.parser.parse_model(
        """<ir_version: 9, opset_import: ["": 19, "d": 1]> main (float[2, 3] x) => (float[2, 3] y) { y = d.Same (x) }
        <opset_import: ["": 19], domain: "d"> Same (v) => (w) { w = Identity (v) }"""
    )
    small = helper.make_tensor("", TensorProto.FLOAT8E5M2, [1], [0.5])
    before.functions[0].attribute_proto.append(helper.make_attribute("k", small))
    with pytest.raises(ConversionError, match=r"C301.*the type float8e5m2"):
        opset.convert(before, 19, ir_version=8)
    assert opset.convert(before, 19, ir_version=9).ir_version == 9


@pytest.mark.parametrize(
    ("element", "values", "fits"),
    [
        ("int64", ["-9007199254740992"], True),
        ("int64", ["9007199254740993", "1"], False),
        ("bool", ["1"], True),
        ("int64", ["-9007199254740993"], False),
        ("int64", ["1"] * 70_000, False),
        ("string", ['"1"'], False),
    ],
    ids=["exact", "one beyond", "bool", "below", "many", "string"],
)
def test_constants_of_functions_before_version_9_are_cast_where_doubles_hold_them(element, values, fits):
    """Constant held floating point alone, and functions have no initializers."""
    before = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 11, "f": 1]> g ({element}[1] x) => ({element}[1] y) {{ y = f.F (x) }}
        <domain: "f", opset_import: ["": 11]> F (a) => (b) {{
            c = Constant <value = {element}[{len(values)}] {{{", ".join(values)}}}> ()
            b = Identity (c)
        }}"""
    )
    if fits:
        constant, cast, _ = opset.convert(before, 8).functions[0].node
        held = numpy_helper.to_array(constant.attribute[0].t)
        assert (held.dtype, held.tolist()) == (np.float64, [*map(float, values)])
        assert (cast.op_type, cast.attribute[0].i) == ("Cast", getattr(TensorProto, element.upper()))
    else:
        assert "cannot hold" in refused(before, 8, "C202").why


def test_a_feature_that_an_ir_version_lacks_is_refused_when_that_one_is_asked_for():
    before = function_model()
    with pytest.raises(ConversionError, match=r"C301.*IR version 7 does not have model-local functions"):
        opset.convert(before, 12, ir_version=7)
    assert opset.convert(before, 12, ir_version=8).ir_version == 8


def test_constants_before_version_9_are_initializers_and_inputs_where_the_ir_version_wants_that():
    before = model([helper.make_node("Reshape", ["x"], ["y"], shape=[3, 2])], 4, ir=3)
    after = opset.convert(before, 7)
    assert [tensor.name for tensor in after.graph.initializer] == [value.name for value in after.graph.input[1:]]
    np.testing.assert_array_equal(run(after, x=X)[0], X.reshape(3, 2))


def test_initializers_are_listed_as_inputs_where_ir_version_3_is_asked_for():
    weight = numpy_helper.from_array(np.ones((2, 3), np.float32), "w")
    before = model([helper.make_node("Add", ["x", "w"], ["y"])], 13, ir=8, initializer=[weight])
    assert opset.convert(before, 8).ir_version == 4
    after = opset.convert(before, release="1.3")
    assert (after.ir_version, [value.name for value in after.graph.input]) == (3, ["x", "w"])
    onnx.checker.check_model(onnx.shape_inference.infer_shapes(after))
    np.testing.assert_array_equal(run(after, x=X)[0], X + 1)


def test_a_default_that_callers_may_override_keeps_ir_version_4():
    default = numpy_helper.from_array(np.ones((2, 3), np.float32), "w")
    before = model([helper.make_node("Add", ["x", "w"], ["y"])], 13, [info("x"), info("w")], initializer=[default])
    plan = opset.plan(before, 8)
    assert plan.ir_version == (8, 4)
    assert plan.notes == ["the IR version is 4, not 3, because of: initializers that a caller may override"]


def test_names_metadata_and_documentation_stay_with_the_node_and_new_names_are_fresh():
    node = squeeze_11()
    node.doc_string, node.metadata_props.add().key = "said", "key"
    before = model(
        [node, helper.make_node("Abs", ["x"], ["y__const"])], 11, outputs=[info("y", F, None), info("y__const")]
    )
    after = same(before, 21, x=X)
    constant, unsqueeze, other = after.graph.node
    assert (unsqueeze.name, unsqueeze.doc_string, unsqueeze.metadata_props[0].key) == ("u", "said", "key")
    assert constant.name == "u__Constant" and constant.metadata_props[0].key == "key"
    assert constant.output[0] == "y__const_1" and other.output[0] == "y__const"


def test_the_same_version_gives_identical_bytes_even_of_an_odd_encoding():
    data = model([squeeze_11()], 11).SerializeToString()
    odd = data + data[:2]
    assert opset.convert(odd, 11).SerializeToString() == odd


def test_an_import_that_nothing_uses_stays_where_the_model_is_at_the_opset_already():
    data = model([squeeze_11()], 11, extra=[("com.other", 1)]).SerializeToString()
    assert opset.convert(data + data[:2], 11).SerializeToString() == data + data[:2]
    assert not opset.plan(data, 11).changes


def test_nothing_is_touched_that_need_not_be():
    before = model(
        [squeeze_11(), helper.make_node("Abs", ["x"], ["z"], name="a")],
        11,
        ir=8,
        outputs=[info("y", F, None), info("z")],
        value_info=[info("w")],
    )
    annotation = before.graph.quantization_annotation.add(tensor_name="x")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="w")
    before.metadata_props.add(key="author", value="me")
    before.graph.doc_string = "about"
    before.graph.input[0].type.denotation = "IMAGE"
    after = opset.convert(before, 21)
    for part in (after, before):
        del part.graph.node[:-1]
        part.opset_import[0].version = 0
    assert after.SerializeToString() == before.SerializeToString()


def annotated():
    """Return a model with all that older readers skip, by the IR version that it came with."""
    made = model([helper.make_node("Neg", ["x"], ["y"])], 13, ir=11)
    made.configuration.add(name="one")
    made.graph.node[0].device_configurations.add(configuration_id="one")
    for entry in (made.graph, made.graph.node[0], made.graph.input[0]):
        entry.metadata_props.add(key="k", value="v")
    made.graph.quantization_annotation.add(tensor_name="x")
    neg = helper.make_node("Neg", ["a"], ["b"])
    made.functions.add(name="F", domain="f", input=["a"], output=["b"]).node.append(neg)
    made.functions[0].opset_import.add(version=13)
    made.functions[0].value_info.add(name="b").type.tensor_type.elem_type = F
    made.opset_import.add(domain="f", version=1)
    return made


def test_what_older_readers_skip_is_noted():
    metadata = ["value_info of functions", "metadata of values", "metadata of graphs, nodes or functions"]
    found = {11: ["device configurations"], 10: metadata}
    for wanted in (8, 10, 11):
        notes = opset.plan(annotated(), 12, ir_version=wanted).notes
        assert notes == [
            f"kept for readers of IR version {version}, older ones skip it: {name}"
            for version, names in found.items()
            for name in names
            if version > wanted
        ]


def test_what_a_large_model_may_take_is_in_proportion():
    before = model([squeeze_11()], 11)
    before.graph.doc_string = "of which there is much " * (1 << 18)
    assert opset.convert(before, 13).graph.doc_string == before.graph.doc_string


def test_the_result_does_not_depend_on_hash_seeds():
    script = (
        "import sys, opset\nfrom tests.version_converter.test_convert import loop_model, function_model\n"
        "for m in (loop_model(11), function_model()): "
        "sys.stdout.buffer.write(opset.convert(m, 21).SerializeToString(deterministic=False))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            cwd=Path(__file__).parents[2],
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda m: m.ClearField("opset_import"), "M107"),
        (lambda m: m.opset_import.add(domain="", version=12), "M108"),
        (lambda m: m.opset_import.add(domain="ai.onnx", version=12), "M108"),
        (lambda m: m.ClearField("graph"), "M109"),
        (lambda m: m.graph.node[0].input.__setitem__(0, "nowhere"), "M112"),
        (lambda m: m.graph.node.add(op_type="Abs", input=["x"], output=["y"]), "M113"),
    ],
)
@pytest.mark.parametrize("to", [11, 21])
def test_a_malformed_model_is_an_error_of_its_own(change, code, to):
    broken = model([squeeze_11()], 11)
    change(broken)
    with pytest.raises(ModelError) as caught:
        opset.convert(broken, to)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("node", "code"),
    [
        (helper.make_node("Nonsense", ["x"], ["y"]), "C101"),
        (helper.make_node("Gelu", ["x"], ["y"]), "C102"),
        (helper.make_node("Cast", ["x"], ["y"], domain="ai.onnx.ml"), "C102"),
        (helper.make_node("Unsqueeze", [], ["y"], axes=[0]), "C103"),
        (helper.make_node("Unsqueeze", ["x", "x", "x"], ["y"], axes=[0]), "C103"),
        (helper.make_node("Unsqueeze", ["x"], ["y", "z"], axes=[0]), "C103"),
        (helper.make_node("Unsqueeze", ["x"], ["y"], axes=0), "C103"),
        (helper.make_node("Unsqueeze", ["x"], ["y"]), "C103"),
        (helper.make_node("Unsqueeze", [""], ["y"], axes=[0]), "C103"),
        (helper.make_node("Unsqueeze", ["x"], ["y"], axes=[0], more=1), "C103"),
    ],
)
def test_a_node_that_does_not_fit_its_operator_is_refused_with_the_reason(node, code):
    refused(model([node], 11), 13, code)


@pytest.mark.parametrize(
    ("version", "to", "code", "why", "graph"),
    [
        (11, 12, "C103", "the attribute 'axis' is a duplicate",
         "(float[1,3] x) => (float[] y) { y = Softmax <axis = 1, axis = 0> (x) }"),
        # What the first node needs shows the rank, and that shows what the second one does not fit.
        (13, 11, "C103", "'axis' is 3: it has to be -rank <= x < rank (constraint C1)",
         "(float[2,3] x) => (float[] y) { a = Abs (x)  b = Softmax <axis = 0> (a)  y = Softmax <axis = 3> (a) }"),
        (28, 27, "C103", "the input 'X' cannot be tensor(int32)", "(int32[2] x) => (int32[] y) { y = Celu (x) }"),
        (11, 10, "C207", "the rank of 'x' is not known",
         "(float[] x, bool[2] c) => (float[] y) { y = Compress <axis = -1> (x, c) }"),
    ],
)  # fmt: skip
def test_a_node_whose_values_do_not_fit_is_refused_with_the_reason(version, to, code, why, graph):
    given = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {version}]> g {graph}')
    with pytest.raises(ConversionError) as caught:
        opset.convert(given, to)
    assert caught.value.code == code and why in caught.value.why


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"to": 1000},
        {"to": 0},
        {"to": "x"},
        {"to": {"com.acme": 1}},
        {"to": 21, "release": "1.15"},
        {"release": "9.9"},
        {"runtime": "onnxruntime==0.1"},
        {"runtime": "nothing"},
        {"to": 21, "ir_version": 99},
    ],
)
def test_a_target_that_is_not_known_is_a_usage_error(options):
    with pytest.raises(UsageError):
        opset.convert(model([squeeze_11()], 11), **options)


def test_a_large_chain_keeps_all_its_nodes():
    nodes = [helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"]) for i in range(5_000)]
    before = model(nodes, 13, [info("v0")], [info("v5000")])
    assert list(opset.convert(before, 21).graph.node) == nodes
    assert list(opset.convert(opset.convert(before, 21), 13).graph.node) == nodes


def test_a_runtime_that_does_not_follow_arithmetic_on_sizes_gets_the_shapes_of_a_scan():
    text = """<ir_version: 10, opset_import: ["": 21]> m (float[3, 2, 4] x) => (y, z) {
        one = Constant <value = int64[1] {1}> ()
        two = Constant <value = int64[1] {2}> ()
        last = Shape <start: int = 2> (x)
        half = Div (last, two)
        size = Concat <axis: int = 0> (two, half)
        zeros = ConstantOfShape (size)
        y, z = Scan (zeros, x) <num_scan_inputs: int = 1, body: graph = b (s, r) => (t, u) {
            cut = Slice (r, one, two, one)
            t = Add (s, cut)
            u = Identity (t)
        }>
    }"""
    model = onnx.parser.parse_model(text)
    for value in model.graph.output:
        value.type.tensor_type.elem_type = 1
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    x = np.random.default_rng(0).random((3, 2, 4), np.float32)
    for to in (15, 13, 11, 9):
        after = opset.convert(model, to)
        session = onnxruntime.InferenceSession(after.SerializeToString(), options, providers=["CPUExecutionProvider"])
        y, z = session.run(None, {"x": x})
        np.testing.assert_allclose(y, np.broadcast_to(x[:, :, 1:2].sum(0), (2, 2)), rtol=1e-6)
        assert z.shape == (3, 2, 2)
        (body,) = (each.g for node in after.graph.node for each in node.attribute if each.name == "body")
        ranks = [len(value.type.tensor_type.shape.dim) for value in body.output]
        assert ranks == ([0, 0] if to == 15 else [2, 2])


INVALID = {
    "C101": helper.make_node("Nope", ["x"], ["y"]),
    "C102": helper.make_node("Gelu", ["x"], ["y"]),
    "C103": helper.make_node("Relu", ["x"], ["y"], alpha=1.0),
}


@pytest.mark.parametrize("to", [12, 13, 17])
@pytest.mark.parametrize(("code", "node"), INVALID.items())
def test_an_invalid_node_is_refused_at_its_own_opset_too(code, node, to):
    error = refused(model([node], 13), to, code)
    assert error.findings[0].message == f"{node.op_type} is not valid at version 13"


@pytest.mark.parametrize("operators", [["Gelu"], ["Elu"]])
@pytest.mark.parametrize(("code", "node"), INVALID.items())
def test_an_invalid_node_is_refused_where_nothing_is_lowered(code, node, operators):
    with pytest.raises(ConversionError) as caught:
        opset.lower(model([node], 13), operators)
    assert caught.value.code == code


def test_an_invalid_node_in_a_branch_or_function_is_refused_at_its_own_opset():
    bad = INVALID["C103"]
    branch = helper.make_graph([helper.make_node("Relu", ["x"], ["b"], alpha=1.0)], "b", [], [info("b", F, None)])
    test = numpy_helper.from_array(np.array(True), "c")
    choice = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    error = refused(model([choice], 13, initializer=[test]), 13, "C103", "C103")
    assert "else_branch" in error.place
    function = helper.make_function("f", "g", ["x"], ["y"], [bad], [helper.make_opsetid("", 13)])
    call = helper.make_node("g", ["x"], ["y"], domain="f")
    error = refused(model([call], 13, functions=[function], extra=[("f", 1)]), 13, "C103")
    assert error.place.startswith("function 'f.g'")


def test_a_domain_that_is_not_imported_is_refused_at_every_target():
    before = model([helper.make_node("LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml")], 13)
    for to in (12, 13, 17):
        refused(before, to, "C102")


def test_versions_that_are_not_known_are_refused_where_they_would_change():
    """At what a model imports, nothing says what its operators mean."""
    text = """<ir_version: 8, opset_import: ["": 13, "ai.onnx.ml": 99, "f": 1]> g (float[2] x) => (float[2] y) {
        y = f.F (x)
    }
    <domain: "f", opset_import: ["": 99]> F (a) => (b) { b = Relu (a) }"""
    both = refused(onnx.parser.parse_model(text), {"": 12, "ai.onnx.ml": 3}, "C104", "C104")
    assert [finding.place for finding in both.findings] == ["graph 'g', opset_import", "function 'f.F', opset_import"]
    assert [finding.message.split(" is ")[0] for finding in both.findings] == ["ai.onnx.ml 99", "ai.onnx 99"]
    assert refused(onnx.parser.parse_model(text), 12, "C104").place.startswith("function")
    known = text.replace('"": 99', '"": 13')
    assert opset.convert(onnx.parser.parse_model(known), 12).opset_import[1].version == 99
    assert refused(onnx.parser.parse_model(known), "ai.onnx.ml=3", "C104").place.startswith("graph")


@pytest.mark.parametrize(
    ("text", "to", "steps", "place"),
    [
        ("y = Softmax <axis = 0> (x)", 12, 5, "graph 'g', node number 0 (Softmax)"),
        ("y = f.F (x)", 10, 0, "functions"),
        ("y = f.F (x)", 10, 1, "function 'f.F', node number 0 (Clip)"),
        ("a = Abs (x)  y = Softmax <axis = 99> (a)", 13, 0, "graph 'g', node number 1 (Softmax)"),
    ],
)
def test_a_conversion_that_may_take_no_more_says_where_it_stopped(text, to, steps, place):
    before = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 13, "f": 1]> g (float[2, 3] x) => (float[] y) {{ {text} }}'
        + '<domain: "f", opset_import: ["": 13]> F (a, least) => (b) { b = Clip (a, least) }' * text.count("f.F")
    )
    with pytest.raises(ConversionError) as caught:
        opset.convert(before, to, limits=opset.Limits(max_steps=steps))
    assert [(finding.code, finding.place) for finding in caught.value.findings] == [("C401", place)]


@pytest.mark.parametrize("stated", [3, 4, 5])
def test_a_feature_before_its_ir_version_raises_nothing(stated):
    """Exporters write ZipMap, a sequence of maps, with the IR versions 3 and 4."""
    model = onnx.parser.parse_model(
        f"""<ir_version: {stated}, opset_import: ["": 9, "ai.onnx.ml": 1]>
        g (float[N, 2] x) => (seq(map(int64, float)) z) {{
            y = Softmax <axis = 1> (x)
            z = ai.onnx.ml.ZipMap <classlabels_int64s = [0, 1]> (y)
        }}"""
    )
    assert opset.convert(model, 7).ir_version == stated
    assert opset.convert(model, 7, ir_version=stated).ir_version == stated
    if stated > 3:
        with pytest.raises(ConversionError, match="IR version 3 does not have sequence and map types"):
            opset.convert(model, 7, ir_version=3)


@pytest.mark.parametrize("kind", ["seq(float)", "map(int64, float)"])
def test_an_ir_version_before_a_kind_of_value_is_refused_where_it_is_asked_for(kind):
    text = f'<ir_version: 6, opset_import: ["": 9]> g ({kind} m, float[2] x) => (float[2] y) {{ y = Relu (x) }}'
    with pytest.raises(ConversionError, match="IR version 5 does not have sequence and map types"):
        opset.convert(onnx.parser.parse_model(text), 7, ir_version=5)


@pytest.mark.parametrize(("ir_version", "listed"), [(3, True), (4, False), (8, False)])
def test_constants_become_inputs_only_if_initializers_have_to_be_inputs(ir_version, listed):
    graph = "g (float[2] x, bool[2] c) => (float[M] y) { y = Compress <axis = 0> (x, c) }"
    found = opset.convert(opset.parse_model(f'<ir_version: {ir_version}, opset_import: ["": 9]> {graph}'), 8).graph
    made = [each.name for each in found.initializer]
    assert made and [each.name for each in found.input] == ["x", "c", *(made if listed else [])]


def test_a_constant_that_becomes_an_initializer_and_an_input_keeps_its_name():
    graph = "g (float[6] x) => (float[2, 3] y) { s = Constant <value = int64[2] {2, 3}> ()  y = Reshape (x, s) }"
    after = opset.convert(opset.parse_model(f'<ir_version: 3, opset_import: ["": 9]> {graph}'), 8).graph
    assert [each.name for each in after.initializer] == [each.name for each in after.input[1:]] == ["s"]
    assert [[*node.input] for node in after.node] == [["x", "s"]]


@pytest.mark.parametrize(("ir_version", "inside"), [(3, []), (4, ["s"]), (8, ["s"])])
def test_a_constant_of_a_branch_becomes_an_initializer_of_the_branch_where_it_need_not_be_an_input(ir_version, inside):
    model = opset.parse_model(f"""<ir_version: {ir_version}, opset_import: ["": 9]>
    g (float[6] x, bool c) => (float[2, 3] y) {{
        y = If (c) <then_branch = t () => (float[2, 3] a) {{
                        s = Constant <value = int64[2] {{2, 3}}> ()  a = Reshape (x, s) }},
                    else_branch = e () => (float[2, 3] b) {{ b = Neg (x) }}> }}""")
    after = opset.convert(model, 8).graph
    branch = after.node[0].attribute[0].g
    assert [each.name for each in branch.initializer] == inside
    assert [each.name for each in after.initializer] == [each.name for each in after.input[2:]]
    assert len(after.initializer) == 1 - len(inside)
    assert [node.op_type for node in branch.node] == ([] if inside else ["Identity"]) + ["Reshape"]
    read = branch.node[0].input[-1]
    assert [read] == [each.name for each in (*branch.initializer, *after.initializer)]


def test_a_number_of_groups_that_is_the_number_of_a_type_stays_where_types_become_wider():
    graph = "g (%s[1, 16, 3, 3] x, %s[16, 1, 3, 3] w) => (%s[1, 16, 1, 1] y) { y = Conv <group = 16> (x, w) }"
    for element in ("float", "bfloat16"):  # which has the number 16
        text = f'<ir_version: 10, opset_import: ["": 22]> {graph.replace("%s", element)}'
        (conv,) = (node for node in opset.convert(opset.parse_model(text), 21).graph.node if node.op_type == "Conv")
        assert [each.i for each in conv.attribute] == [16]


@pytest.mark.parametrize(("notes", "more"), [(SHOWN - 1, []), (SHOWN, []), (SHOWN + 2, ["  … and 2 more notes"])])
def test_the_first_notes_of_a_report_are_shown(notes, more):
    model = opset.parse_model('<ir_version: 8, opset_import: ["": 17]> g (float x) => (float y) { y = Neg (x) }')
    report = replace(conversion_report(opset.plan(model, 16)), notes=[f"note {number}" for number in range(notes)])
    lines = report_lines(report)
    assert len([each for each in lines if each.startswith("  note: ")]) == min(notes, SHOWN)
    assert [each for each in lines if "more notes" in each] == more


def test_ranks_are_known_in_each_graph_of_training():
    """Softmax before 13 flattens: with another axis than the last, the rank has to be known."""
    head = '<ir_version: 8, opset_import: ["": 13]> g (float[2, 3, 4] x) => (float[A, B, C] y)'
    before = onnx.parser.parse_model(f"{head} {{ y = Softmax <axis = 1> (x) }}")
    training = before.training_info.add()
    training.algorithm.CopyFrom(before.graph)
    training.initialization.CopyFrom(before.graph)
    after = opset.convert(before, 11)
    graphs = [after.graph, after.training_info[0].algorithm, after.training_info[0].initialization]
    assert [[node.op_type for node in graph.node] for graph in graphs] == [["Transpose", "Softmax", "Transpose"]] * 3
