"""What conversion owes to models with functions: their imports, and operators that they hide."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

import opset
from opset.errors import ConversionError

node = helper.make_node
FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
ML = "ai.onnx.ml"


def imports(**versions):
    return [helper.make_opsetid(domain.replace("_", "."), version) for domain, version in versions.items()]


def model(nodes, functions, opset_imports, inputs, outputs, ir_version=9):
    values = [[helper.make_tensor_value_info(*value) for value in each] for each in (inputs, outputs)]
    graph = helper.make_graph(nodes, "g", *values)
    return helper.make_model(graph, opset_imports=opset_imports, ir_version=ir_version, functions=functions)


def ran(proto, **feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(proto.SerializeToString(), options, ["CPUExecutionProvider"]).run(None, feeds)


@pytest.mark.parametrize("standard", [13, 17, None])
def test_a_function_gets_the_standard_at_the_version_of_the_model(standard):
    table = {"keys_floats": [np.nan, 1.0], "values_int64s": [7, 8], "default_int64": 9}
    encoder = node("LabelEncoder", ["a"], ["b"], domain=ML, **table)
    known = imports(ai_onnx_ml=4)
    function = helper.make_function("local", "F", ["a"], ["b"], [encoder], known)
    given = [*known, *imports(local=1), *([helper.make_opsetid("", standard)] if standard else [])]
    call = node("F", ["x"], ["y"], domain="local")
    before = model([call], [function], given, [("x", FLOAT, [3])], [("y", INT64, [3])])
    after = opset.convert(before, {"ai.onnx.ml": 3})
    found = {entry.domain: entry.version for entry in after.functions[0].opset_import}
    whole = {entry.domain: entry.version for entry in after.opset_import}
    assert found == {ML: 3, "": whole.get("", 18)}
    onnx.checker.check_model(after)
    x = np.array([np.nan, 1, 2], np.float32)
    np.testing.assert_array_equal(ran(after, x=x)[0], [7, 8, 9])


def hiding(name, body, version):
    """A function of the standard's domain that has the name of an operator, and means something else."""
    return helper.make_function("", name, ["a"], ["b"], body, [*imports(local=1), helper.make_opsetid("", version)])


def test_an_operator_that_a_function_hides_is_not_written():
    nodes = [node("Squeeze", ["x"], ["y"], axes=[0])]
    for name in ("Constant", "Neg"):
        function = hiding(name, [node("Abs", ["a"], ["b"])], 11)
        before = model(nodes, [function], [helper.make_opsetid("", 11)], [("x", FLOAT, [1, 3])], [("y", FLOAT, [3])])
        if name == "Neg":
            assert [each.op_type for each in opset.convert(before, 13).graph.node] == ["Constant", "Squeeze"]
            continue
        with pytest.raises(ConversionError, match="needs the operator Constant") as caught:
            opset.convert(before, 13)
        assert [finding.code for finding in caught.value.findings] == ["C204"]


def test_an_operator_in_a_new_graph_is_not_hidden_either():
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [node("Not", ["c"], ["d"]), node("Neg", ["x"], ["e"])],
        "body",
        [value("i", INT64, []), value("c", onnx.TensorProto.BOOL, [])],
        [value("d", onnx.TensorProto.BOOL, []), value("e", FLOAT, [1])],
    )
    nodes = [node("Loop", ["n", ""], ["y"], body=body)]
    identity = hiding("Identity", [node("Abs", ["a"], ["b"])], 11)
    inputs = [("n", INT64, []), ("x", FLOAT, [1])]
    before = model(nodes, [identity], [helper.make_opsetid("", 11)], inputs, [("y", FLOAT, [None, 1])])
    with pytest.raises(ConversionError, match="needs the operator Identity"):
        opset.convert(before, 10)
    assert opset.convert(before, 13).graph.node[0].op_type == "Loop"


@pytest.mark.parametrize("ir_version", [1, 2])
def test_imports_of_operator_sets_need_ir_version_3(ir_version):
    ends = [("x", FLOAT, [1])], [("y", FLOAT, [1])]
    before = model([node("Neg", ["x"], ["y"])], [], [helper.make_opsetid("", 7)], *ends)
    with pytest.raises(ConversionError, match="imports of operator sets") as caught:
        opset.convert(before, 6, ir_version=ir_version)
    assert [finding.code for finding in caught.value.findings] == ["C301"]
    early = onnx.ModelProto.FromString(before.SerializeToString())
    early.ir_version = ir_version
    del early.opset_import[:]
    early.graph.node[0].op_type = "Relu"
    after = opset.convert(early, 7)
    assert after.ir_version == 3
    onnx.checker.check_model(after)


def test_constants_of_integers_in_a_function_below_9():
    function = helper.make_function("local", "F", ["a"], ["b"], [node("Relu", ["a"], ["b"], name="r")], imports(_=14))
    function.opset_import[0].domain = ""
    known, ends = [helper.make_opsetid("", 14), *imports(local=1)], ([("x", INT64, [3])], [("y", INT64, [3])])
    call = node("F", ["x"], ["y"], domain="local")
    after = opset.convert(model([call], [function], known, *ends), 8)
    assert not after.graph.initializer and "Cast" in [each.op_type for each in after.functions[0].node]
    x = np.array([-(2**62), 0, 2**62 + 1])
    np.testing.assert_array_equal(opset.ReferenceEvaluator(after).run(None, {"x": x})[0], np.maximum(x, 0))
    large = onnx.numpy_helper.from_array(np.array([2**53 + 1]), "c")
    function.node.extend([node("Constant", [], ["c"], value=large), node("Add", ["b", "c"], ["d"])])
    function.output[0] = "d"
    with pytest.raises(ConversionError, match="a Constant before version 9 cannot hold int64"):
        opset.convert(model([call], [function], known, *ends), 8)


@pytest.mark.parametrize("declared", ["<axes>", "<axes: ints = [0]>", ""])
def test_an_attribute_that_becomes_an_input_may_refer_to_one_of_the_function(declared):
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 11, "f": 1]>
        g (float[1, 2] x) => (float[?, ?, ?] y) {{ y = f.F <axes = [0]> (x) }}
        <domain: "f", opset_import: ["": 11]>
        F {declared} (a) => (b) {{ b = Unsqueeze <axes: ints = @axes> (a) }}""")
    if not declared:
        with pytest.raises(opset.ConversionError, match="'axes' takes the value of the function's attribute 'axes'"):
            opset.convert(model, 13)
        return
    (function,) = opset.convert(model, 13).functions
    constant, node = function.node
    ((name, kind, reference),) = ((each.name, each.type, each.ref_attr_name) for each in constant.attribute)
    assert (constant.op_type, name, kind, reference) == ("Constant", "value_ints", onnx.AttributeProto.INTS, "axes")
    assert (node.op_type, [*node.input]) == ("Unsqueeze", ["a", constant.output[0]])


DEFAULT_GRAPH = """<ir_version: 9, opset_import: ["": 17, "local": 1]>
main (float[2, 3] x, bool c) => (float[2, 3] y) {
  y = local.outer (x, c)
}
<domain: "local", opset_import: ["": 17]>
outer <body: graph = p () => (p1) {
    p0 = Constant <value: tensor = float[2, 3] {1, 2, 3, 4, 5, 6}> ()
    p1 = OPERATOR (p0)
  }> (a, c) => (b) {
  b = If <then_branch: graph = @body, else_branch: graph = q () => (q1) {
    q1 = Neg (a)
  }> (c)
}"""


@pytest.mark.parametrize(
    ("operator", "target"),
    [
        ("ReduceMax", {"to": 18}),
        (
            "If <then_branch = r () => (r) { r = ReduceMax (p0) }, else_branch = s () => (s) { s = Abs (p0) }>",
            {"to": 18},
        ),
        ("Abs", {"runtime": "onnxruntime==1.10"}),
        ("Elu", {"lower": ["Elu"]}),
    ],
)
def test_a_graph_that_is_a_default_is_not_left_at_the_old_version(operator, target):
    proto = opset.parse_model(DEFAULT_GRAPH.replace("OPERATOR", operator))
    with pytest.raises(ConversionError) as caught:
        opset.lower(proto, target["lower"]) if "lower" in target else opset.convert(proto, **target)
    (refusal,) = [each for each in caught.value.findings if each.code == "C208"]
    assert refusal.message.startswith("the default of the attribute 'body' is a graph with ")
    assert refusal.place == "function 'local.outer'"


def test_a_graph_that_is_a_default_stays_with_its_function():
    proto = opset.parse_model(DEFAULT_GRAPH.replace("OPERATOR", "Abs"))
    converted = opset.convert(proto, 18)
    assert converted.ir_version == 9
    assert not converted.graph.node[0].attribute
    assert [each.name for each in converted.functions[0].attribute_proto] == ["body"]
    with pytest.raises(ConversionError, match="C301"):
        opset.convert(proto, 18, ir_version=8)


def test_a_reference_to_a_graph_holds_no_graph():
    proto = opset.parse_model(DEFAULT_GRAPH.replace("OPERATOR", "Abs"))
    assert [each.code for each in opset.check(proto) if each.code[0] == "G"] == []
