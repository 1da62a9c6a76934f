"""The steps by which nodes reach a target, and the exact reasons for which they do not."""

from types import SimpleNamespace

import pytest
from onnx import parser

import opset
from opset.errors import ConversionError
from opset.model.attributes import stated_integer
from opset.model.graph.walking import count_operators
from opset.version_converter.crossing import (
    OLDEST,
    Crossing,
    _is_taken_instead,
    _refusal_without_lowering,
)
from opset.version_converter.rewrite import Refusal
from opset.version_converter.routes import another_target
from tests.version_converter.npu import runtime_file, takes

RELEASE = "choose another release, or a provider that has it: opset targets show"
UNRULY = "nodes that compute in a type in which results may differ: "


def model_of(nodes, opset_version=17, given="float[2] x", made="float[2] y", ir=8, more="", functions=""):
    text = f'<ir_version: {ir}, opset_import: ["": {opset_version}{more}]> m ({given}) => ({made}) {{ {nodes} }}'
    return parser.parse_model(f"{text} {functions}")


def fault(name, **keys):
    return {"faults": {"ai.onnx": {name: [{"versions": [1, None], "result": "wrong", "gives": "nonsense"} | keys]}}}


ELU, HALF, WIDE = "y = Elu (x)", ("float16[2] x", "float16[2] y"), ("double[2] x", "double[2] y")
FLOAT = [{"types": {"T": ["float"]}}]
NO_TANH, NO_TYPE, NO_OTHER = (
    "it is expressed by Tanh, and npu 1.0 has no Tanh",
    "no wider type gives certainly the same",
    "no other type helps",
)
POINT = "k = Constant <value_float = 1.0> () y = Clip (x, k)"


@pytest.mark.parametrize(
    ("kernels", "keys", "nodes", "values", "steps", "notes"),
    [
        (takes(Less=[{"types": {"T": ["int32", "float"]}}]), {}, "y = Less (x, x)", ("int16[2] x", "bool[2] y"),
         ["Less 13 in float"], []),
        (takes("Elu"), fault("Elu"), ELU, (), [],
         ["kernels with faults, as npu 1.0 computes otherwise than the standard: Elu 6: nonsense (1)"]),
        (takes(Cast=[{"types": {"T1": ["float"]}}]), {}, "y = Cast <to = 11> (x)", WIDE, ["Cast 13 left out"], []),
        (takes(Reshape=[{"constant_inputs": ["shape"]}]), {}, "s = Shape (x) y = Reshape (x, s)", (),
         ["Reshape 14 with constants"], []),
        (takes("Clip"), fault("Clip", scalars=["min"]), POINT, (), ["Clip 13 with vectors"], []),
        (takes("Elu"), fault("Elu", attributes={"alpha": 1.0}, states={"alpha": "X.0"}), ELU, (),
         ["Elu 6 with alpha"], []),
        *[(takes("Elu"), fault("Elu", attributes={"alpha": 1.0}, states={"alpha": f"{parameter}.{axis}"}), ELU,
           (f"{x} x", "float[m] y"), [],
           ["kernels with faults, as npu 1.0 computes otherwise than the standard: Elu 6: nonsense (1)"])
          for parameter, axis, x in [
              ("X", 0, "float[]"), ("X", 0, "float[n]"), ("X", 0, "float"), ("X", 1, "float[2]"), ("B", 0, "float[2]")
          ]],  # of a size that is not known
        (takes(Squeeze=[{"versions": [1, 12]}]), {}, "k = Constant <value_ints = [0]> () y = Squeeze (x, k)",
         ("float[1, 4] x", "float[4] y"), ["Squeeze 13 -> 11"], []),
        (takes("Tanh", "Softplus"), {}, "y = Mish (x)", (), ["Mish 18 lowered"], []),
    ],
)  # fmt: skip
def test_steps_for_a_runtime(tmp_path, kernels, keys, nodes, values, steps, notes):
    file = runtime_file(tmp_path, kernels, **keys)
    opset_version = 18 if "Mish" in nodes else 17
    conversion = opset.plan(model_of(nodes, opset_version, *values), runtime="npu==1.0", targets=[file])
    assert (conversion.refusals, [step for each in conversion.actions for step in each.steps]) == ([], steps)
    assert conversion.notes == notes


def test_what_only_replaced_nodes_read_does_not_stay_for_a_runtime(tmp_path):
    nodes = "k = Constant <value_ints = [0]> () a = Squeeze (x, k) b = Squeeze (x, l) c = Abs (x) y = Add (a, b)"
    model = model_of(nodes, 17, "float[1, 4] x, int64[1] l", "float[4] y")
    model.graph.initializer.add(name="l", data_type=7, dims=[1], int64_data=[0])
    del model.graph.input[1]
    file = runtime_file(tmp_path, takes("Abs", Squeeze=[{"versions": [1, 12]}]))
    after = opset.convert(model, runtime="npu==1.0", targets=[file]).graph
    assert [each.op_type for each in after.node] == ["Squeeze", "Squeeze", "Abs", "Add"]
    assert not after.initializer


@pytest.mark.parametrize(
    ("kernels", "keys", "nodes", "values", "why"),
    [
        (takes(Elu=FLOAT), {}, ELU, WIDE, ["npu 1.0: no kernel of Elu 6 takes double as 'X'", NO_TANH, NO_TYPE]),
        (takes("Elu"), fault("Elu", result="fails"), ELU, (), ["Elu 6: nonsense", NO_TANH, NO_OTHER]),
        (takes("Less"), {}, ELU, (), ["npu 1.0 has no Elu", NO_TANH, NO_OTHER]),
        (takes(Elu=FLOAT), fault("Elu", types={"T": ["float"]}), ELU, HALF,
         ["npu 1.0: no kernel of Elu 6 takes float16 as 'X'", NO_TANH]),
        (takes(Cast=[{"types": {"T1": ["float"]}}]), {}, "y = Cast <to = 1> (x)", ("double[2] x", "float[2] y"),
         ["npu 1.0: no kernel of Cast 13 takes double as 'input'", "there is no lowering of Cast", NO_TYPE]),
        (takes(Reshape=[{"constant_inputs": ["shape"]}]), {}, "y = Reshape (x, s)",
         ("float[2] x, int64[1] s", "float[n] y"),
         ["npu 1.0: 'shape' has to be constant", "there is no lowering of Reshape", NO_OTHER]),
    ],
)  # fmt: skip
def test_all_reasons_for_which_a_runtime_does_not_run_a_node(tmp_path, kernels, keys, nodes, values, why):
    file = runtime_file(tmp_path, kernels, **keys)
    (found,) = opset.plan(model_of(nodes, 17, *values), runtime="npu==1.0", targets=[file]).refusals
    assert (found.code, found.why, found.help) == ("C209", "; ".join(why), RELEASE)
    with pytest.raises(ConversionError, match=r"cannot run on npu 1\.0"):
        opset.convert(model_of(nodes, 17, *values), runtime="npu==1.0", targets=[file])


@pytest.mark.parametrize(
    ("has", "element", "step"),
    [
        ("float", "double", "float"), ("int32", "int64", "int32"), ("int64", "uint64", "int64"),
        ("int32", "uint32", "int32"), ("int64", "uint32", None), ("double", "float", None), ("int64", "int32", None),
    ],
)  # fmt: skip
def test_types_with_other_results_have_to_be_permitted(tmp_path, has, element, step):
    file = runtime_file(tmp_path, takes(Add=[{"types": {"T": [has]}}]))
    model = model_of("y = Add (x, x)", 17, f"{element}[2] x", f"{element}[2] y")
    (refused,) = opset.plan(model, runtime="npu==1.0", targets=[file]).refusals
    assert refused.why.startswith(f"npu 1.0: no kernel of Add 14 takes {element} as 'A'; there is no lowering of Add; ")
    permitted = opset.plan(model, runtime="npu==1.0", targets=[file], inexact_types=True)
    found = [each for action in permitted.actions for each in action.steps]
    assert found == ([f"Add 14 in {step}, which may differ"] if step else [])
    assert permitted.notes == ([f"{UNRULY}Add 14 in {step} (1)"] if step else [])
    assert bool(permitted.refusals) == (step is None)


@pytest.mark.parametrize(
    ("nodes", "version", "to", "element", "since"),
    [
        ("y = Relu (x)", 22, 13, "int4", 21), ("y = Identity (x)", 22, 20, "int4", 21),
        ("y = Identity (x)", 22, 12, "bfloat16", 13), ("y = Abs (x)", 22, 12, "bfloat16", 13),
        ("y = Identity (x)", 22, 18, "float8e5m2", 19),
    ],
)  # fmt: skip
def test_an_element_type_that_the_target_lacks_is_the_reason(nodes, version, to, element, since):
    model = model_of(nodes, version, f"{element}[2] x", f"{element}[2] y", ir=10)
    (found,) = opset.plan(model, to).refusals
    assert (found.code, found.why, found.help) == (
        "C202", f"there is no element type {element} at opset {to}; it came with {since}",
        f"convert to {since} or newer",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("operator", "lower", "made"),
    [
        ("Mish", ["Mish"], ["Softplus", "Tanh", "Mul"]),
        ("Mish", ["Mish", "Softplus"], None),
        ("Relu", ["Relu"], ["Constant", "Less", "Where"]),
        ("Mish", ["Mish", "Exp", "Softplus"], "it is expressed by Exp, and there is no lowering of Exp"),
    ],
)
def test_lowered_operators_have_no_part_in_lowerings(operator, lower, made):
    model = model_of(f"y = {operator} (x)", 18)
    if isinstance(made, str):
        with pytest.raises(ConversionError, match=made):
            opset.lower(model, lower)
        return
    found = [node.op_type for node in opset.lower(model, lower).graph.node]
    assert not set(found) & set(lower)
    assert made is None or found == made


def test_a_function_with_the_name_of_a_needed_operator_refuses():
    function = '<opset_import: ["": 20], domain: ""> Erf (a) => (b) { b = Relu (a) }'
    (found,) = opset.plan(model_of("y = Gelu (x)", 20, functions=function), 19).refusals
    assert (found.code, found.why, found.help) == (
        "C204", "it needs the operator Erf, and the model has a function of that name in its domain",
        "rename the function, or convert to 20 or newer",
    )  # fmt: skip
    other = function.replace("Erf", "Sinh")
    assert opset.plan(model_of("y = Gelu (x)", 20, functions=other), 19).refusals == []


def test_a_body_that_calls_a_function_of_an_operators_name_goes_with_its_node():
    body = "body = b (float[3] v) => (float[3] o) { o = Erf (v) }"
    function = '<opset_import: ["": 8], domain: ""> Erf (a) => (b) { b = Relu (a) }'
    values = ("float[1, 2, 3] x", "float[1, 2, 3] y")
    scan = model_of(f"y = Scan <num_scan_inputs = 1, {body}> (, x)", 8, *values, functions=function)
    conversion = opset.plan(scan, 9)
    assert (conversion.refusals, conversion.actions[0].steps) == ([], ("Scan 8 -> 9",))


@pytest.mark.parametrize(
    ("why", "label", "wording"),
    [
        ("'a' and 'b' differ", "", "`a` and `b` differ"),
        ("the node's inputs", "", "the node's inputs"),
        ("7 of 9", "some of 'x'", "some of `x`"),
        ("none", "", "none"),
    ],
)
def test_names_in_the_reason_of_a_refusal_are_code_in_documentation(why, label, wording):
    assert Refusal("C204", why, label=label).wording == wording


def test_small_answers():
    pairs = (("double", "float"), ("float", "double"), ("int64", "int32"), ("float", "float"))
    assert [_is_taken_instead(each, frozenset({"float"})) for each in pairs] == [True, False, False, False]
    node = parser.parse_node("y = Cast <to = 7, saturate = 0> (x)")
    assert [stated_integer(node, name) for name in ("to", "saturate", "round")] == [7, 0, 0]
    node.attribute[0].ref_attr_name = "there"
    assert stated_integer(node, "to") == 0
    refusal = _refusal_without_lowering(Refusal("C204", "else"), "Relu")
    assert (refusal.code, refusal.why) == ("C201", "there is no lowering of Relu")
    kept = Refusal("C105", "not loaded")
    assert _refusal_without_lowering(kept, "Relu") is kept
    old, new = SimpleNamespace(since_version=7), SimpleNamespace(since_version=13)
    up, down = SimpleNamespace(version=13, source=old, target=new), SimpleNamespace(version=7, source=new, target=old)
    assert another_target(up, "", 12) == "convert to 12 or older"
    assert another_target(down, "", 13) == "convert to 13 or newer"
    assert another_target(down, "ai.onnx.ml", 13) == "convert to ai.onnx.ml 13 or newer"
    assert OLDEST == 7


def test_operators_of_subgraphs_are_counted():
    nodes = """a = Neg (x) y = If (b) <then_branch = t () => (z) { c = Neg (x) z = com.acme.F (c) },
        else_branch = e () => (q) { q = If (b) <then_branch = u () => (r) { r = Neg (x) },
        else_branch = w () => (s) { s = Abs (x) }> }>"""
    graph = model_of(nodes, given="bool b, float[2] x", more=', "com.acme": 1').graph
    counts = {(domain, op_type): count for (domain, op_type, _), count in count_operators(graph.node).items()}
    assert counts == {("", "Neg"): 3, ("", "If"): 2, ("", "Abs"): 1, ("com.acme", "F"): 1}


def test_reasons_are_told_once_and_the_first_help_about_an_unknown_fact_is_the_advice():
    crossing = Crossing.__new__(Crossing)
    crossing._reasons, crossing._advice = [], ""
    found = []
    for code, why, help in (
        ("C201", "one", "another target"),
        ("C207", "two", ""),
        ("C207", "one", "fix sizes"),
        ("C205", "three", "make it constant"),
        ("C209", "two", "another runtime"),
    ):
        crossing._add_reason(Refusal(code, why, help))
        found.append((*crossing._reasons, crossing._advice))
    assert found == [
        ("one", ""),
        ("one", "two", ""),
        ("one", "two", "fix sizes"),
        ("one", "two", "three", "fix sizes"),
        ("one", "two", "three", "fix sizes"),
    ]
