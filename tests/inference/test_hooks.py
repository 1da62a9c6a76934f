"""Operators of one's own: a rule in their YAML, a function in an inference.py beside it, or one in Python."""

from types import SimpleNamespace

import pytest
from onnx import parser

from opset import InferenceError, UsageError, infer
from opset.extend import Violation
from opset.inference import registration as inference
from opset.inference.building.ml_outputs import MAX_RANK, tensor_length
from opset.inference.engine.outcomes import problems_of
from opset.inference.registration import LAYER, registered_rules
from opset.model import proto as pb
from opset.opsets.hooks import unregister

SCALE = """\
operator: Scale
family: example
versions:
- since: 1
  doc: Repeats and scales.
  inputs: [{name: X, type: T, doc: values}]
  outputs: [{name: Y, type: T, doc: results}]
  attributes: {times: {type: int, default: 2, doc: how often}}
  types: {T: [float]}
"""
FUNCTIONS = """\
from opset.extend import Violation, infer

@infer("Scale", domain="com.example")
def scale(call):
    times = call.attribute("times")
    if times < 0:
        raise Violation("C1", f"times is {times}")
    first, *others = call.require_shape(0)
    return (first * times, *others)
"""


BODY = "y = com.example.Scale <times: int = 3> (x)"


@pytest.fixture(autouse=True)
def _forget():
    """Forget what a test has registered."""
    yield
    unregister("infer", "com.example", "Scale")


def result(path, *, yaml=SCALE, functions=None, body=BODY, inputs="float[N, 2] x"):
    domain = path / "com.example"
    domain.mkdir(exist_ok=True)
    (domain / "Scale.yaml").write_text(yaml)
    if functions is not None:
        (domain / "inference.py").write_text(functions)
    head = f'<ir_version: 8, opset_import: ["": 17, "com.example": 1]> main ({inputs}) => (float y)'
    text = f"{head} {{ {body} }}"
    model = parser.parse_model(text)
    model.graph.output[0].ClearField("type")
    return infer(model, schemas=(path,))


def test_a_rule_in_yaml(tmp_path):
    assert str(result(tmp_path, yaml=SCALE + "  shape: same(X)\n").type("y")) == "float[N, 2]"


@pytest.mark.parametrize("given, shape", [("x, , v", "[3, N, 2]"), ("x, v", "[3, N, 2]"), ("x", "[N, 2]")])
def test_inputs_that_are_left_out_are_not_broadcast(given, shape, tmp_path):
    optional = ", ".join(f"{{name: {name}, type: T, optional: true, doc: more}}" for name in "AB")
    yaml = SCALE.replace("doc: values}", f"doc: values}}, {optional}") + "  shape: broadcast\n"
    found = result(
        tmp_path, yaml=yaml, body=f"y = com.example.Scale ({given})", inputs="float[N, 2] x, float[3, 1, 1] v"
    )
    assert str(found.type("y")) == f"float{shape}"


def test_a_rule_in_yaml_reports_shapes_that_do_not_fit(tmp_path):
    yaml = SCALE.replace(
        "doc: values}", "doc: values}, {name: A, type: T, doc: factors}, {name: B, type: T, doc: factors}"
    )
    yaml += "  shape: onto(X, A, B)\n"
    body = "y = com.example.Scale (x, z, b)"
    wrong = [
        ("N, 2", "1, 1, 2", ["C1: B of shape [1, 1, 2] does not broadcast to [N, 2]"]),
        ("1, 2", "3, 2", ["C1: B of shape [3, 2] does not broadcast to [1, 2]"]),
        ("N, 2", "3, 1", []),
    ]
    for shape, other, why in wrong:
        inputs = f"float[{shape}] x, float z, float[{other}] b"  # the rank of z is not known
        found = result(tmp_path, yaml=yaml, inputs=inputs, body=body)
        assert ([each.why for each in found.findings], str(found.type("y"))) == (why, "float" if why else "float[N, 2]")


def test_a_function_beside_the_yaml(tmp_path):
    assert str(result(tmp_path, functions=FUNCTIONS).type("y")) == "float[3*N, 2]"
    (finding,) = result(tmp_path, body="y = com.example.Scale <times: int = -1> (x)").findings
    assert (finding.code, finding.why) == ("I201", "C1: times is -1")


def test_a_function_in_python(tmp_path):
    inference.infer("Scale", domain="com.example")(lambda call: ())
    assert str(result(tmp_path).type("y")) == "float[]"


def test_a_bug_in_a_function_of_elements_is_no_fault_of_the_node(tmp_path):
    functions = (
        FUNCTIONS
        + """

from opset.inference.registration import data

@data("Scale", domain="com.example")
def scale_data(call):
    return call.elements(0)[9]
"""
    )
    body = "c = Constant <value_floats = [1.0, 2.0]> () y = com.example.Scale (c)"
    (finding,) = result(tmp_path, functions=functions, body=body).findings
    assert (finding.code, finding.message) == ("I303", "there is a bug in the inference function of Scale 1")
    assert finding.why.startswith("IndexError: ") and "inference.py:" in finding.why


def test_elements_are_followed_of_the_outputs_of_which_a_function_knows_them(tmp_path):
    functions = f"""{FUNCTIONS.replace("return (first * times, *others)", "return [(2,), (0,), (2,)]")}
from opset.inference.registration import data

@data("Scale", domain="com.example")
def scale_data(call):
    return [None, (), (3.0, 5.0)]
"""
    yaml = SCALE.replace("doc: results}", "doc: results}, {name: Z, type: T, doc: more}, {name: V, type: T, doc: more}")
    body = (
        "o, n, v = com.example.Scale (x) c = Concat <axis = 0> (o, n, v) s = Cast <to = 7> (c) y = ConstantOfShape (s)"
    )
    found = result(tmp_path, yaml=yaml, functions=functions, body=body, inputs="float[2] x")
    assert (found.findings, str(found.type("y"))) == ((), "float[y_d0, y_d1, 3, 5]")


def test_a_variadic_output_of_several_types_has_none_by_the_signature(tmp_path):
    more = ", {name: Z, type: T, variadic: true, heterogeneous: true, doc: more}"
    yaml = SCALE.replace("doc: results}", f"doc: results}}{more}").replace("[float]", "[float, double]")
    found = result(tmp_path, yaml=yaml, body="y, z, v = com.example.Scale (x)")
    assert [found.type(name) and str(found.type(name)) for name in "yzv"] == ["float", None, None]
    yaml = yaml.replace("doc: values}", "variadic: true, heterogeneous: true, doc: values}")
    assert result(tmp_path, yaml=yaml, body="y = com.example.Scale (x)").type("y") is None


def test_the_signature_tells_the_type_beside_what_is_unknown_and_what_should_not_be_there(tmp_path):
    yaml = SCALE.replace("[float]", "[float, double]").replace(
        "doc: values}", "doc: values}, {name: A, type: T, doc: more}"
    )
    found = result(tmp_path, yaml=yaml, body="u = What (x) y = com.example.Scale (u, x)")
    assert str(found.type("y")) == "float"
    without = yaml[: yaml.index("  inputs")] + yaml[yaml.index("  outputs") :]
    assert result(tmp_path, yaml=without).type("y") is None
    without = yaml[: yaml.index("  outputs")] + yaml[yaml.index("  attributes") :]
    assert result(tmp_path, yaml=without).type("y") is None


def test_without_either_the_signature_tells_the_type(tmp_path):
    found = result(tmp_path)
    assert str(found.type("y")) == "float"
    assert [gap.reason for gap in found.gaps] == ["there is no rule for the outputs of Scale 1"]


def test_what_cannot_be_used_is_told(tmp_path):
    with pytest.raises(InferenceError) as caught:
        result(tmp_path, functions="x = 1\n1 / 0\n")
    assert (caught.value.code, caught.value.place) == ("I301", f"{tmp_path / 'com.example' / 'inference.py'}:2")
    (tmp_path / "com.example" / "inference.py").unlink()
    with pytest.raises(InferenceError) as caught:
        result(tmp_path, yaml=SCALE + "  shape: sane(X)\n")
    assert (caught.value.code, caught.value.place) == ("I302", "com.example/Scale.yaml")


def test_the_standards_operators_have_their_rules():
    with pytest.raises(InferenceError) as caught:
        inference.infer("Add")(lambda call: ())
    assert caught.value.code == "I301"


def test_the_functions_that_families_register_are_listed_by_kind():
    listed = registered_rules(["reshape", "slicing"])
    assert {("", "Reshape", 0), ("", "Slice", 0)} <= listed
    assert ("", "Neg", 0) in LAYER.hook_versions("data", ["unary"]) - registered_rules(["unary"])


@pytest.mark.parametrize("error", ["MemoryError('full')", "UsageError([Finding('U103', 'full')])"])
def test_an_error_that_is_no_bug_of_a_function_is_passed_on(tmp_path, error):
    functions = FUNCTIONS.replace("return (first * times, *others)", f"raise {error}")
    with pytest.raises((MemoryError, UsageError), match="full"):
        result(tmp_path, functions=f"from opset.errors import Finding, UsageError\n{functions}")


def test_an_output_without_a_shape_leaves_the_others(tmp_path):
    yaml = SCALE.replace("doc: results}", "doc: results}, {name: Z, type: T, doc: more}, {name: V, type: T, doc: more}")
    functions = FUNCTIONS.replace("return (first * times, *others)", 'return ["odd", None, (first * times, *others)]')
    found = result(tmp_path, yaml=yaml, functions=functions, body="y, z, v = com.example.Scale <times = 3> (x)")
    assert [(each.code, each.message[-21:]) for each in found.findings] == [("I302", "no shape for output 0")]
    assert [str(found.type(name)) for name in "yzv"] == ["float", "float", "float[3*N, 2]"]


@pytest.mark.parametrize("error", ["TooComplex()", "Unknown('half of it')", "AttributeError('no')"])
def test_an_error_in_a_function_leaves_the_type_open_or_is_told(tmp_path, error):
    functions = FUNCTIONS.replace("return (first * times, *others)", f"raise {error}")
    functions = functions.replace(
        ", infer", ", Unknown, infer\nfrom opset.inference.building.dimensions import TooComplex"
    )
    found = result(tmp_path, functions=functions)
    assert str(found.type("y")) == "float"
    if error.startswith("Attribute"):
        (finding,) = found.findings
        assert (finding.code, finding.message) == ("I303", "there is a bug in the inference function of Scale 1")
        assert finding.why.startswith("AttributeError: no")
    else:
        assert not found.findings
        why = "half of it" if "half" in error else "the sizes are too complex to be followed"
        assert [gap.reason for gap in found.gaps] == [why]


@pytest.mark.parametrize(
    ("value", "why"),
    [("(2.5,)", "float"), ("3", "not iterable"), ("'N'", "str"), ("Type('tensor', 'float', (2.5,))", "float")],
)
def test_a_result_that_is_no_shape_is_told(tmp_path, value, why):
    functions = FUNCTIONS.replace("(first * times, *others)", value).replace(", infer", ", Type, infer")
    (finding,) = result(tmp_path, functions=functions).findings
    assert finding.code == "I302" and "node number 0 (Scale)" in finding.place and why in finding.why
    assert finding.message == "the inference function of Scale 1 returns no shape for output 0"
    assert finding.help.startswith("return a shape, ")


def test_whole_numbers_of_numpy_are_sizes(tmp_path):
    functions = f"import numpy\n{FUNCTIONS}".replace("first * times", "numpy.int64(6)")
    assert str(result(tmp_path, functions=functions).type("y")) == "float[6, 2]"


@pytest.mark.parametrize("dims", [[-1], [2, -1], [-2, -2], [1] * (MAX_RANK + 1)])
def test_attributes_of_tensors_have_sizes(dims):
    with pytest.raises(Violation):
        tensor_length(pb.TensorProto(dims=dims))
    assert (tensor_length(None), tensor_length(pb.TensorProto(dims=[2, 3]))) == (0, 6)


def test_an_operator_of_ones_own_has_no_form_of_the_standards_operator_of_its_name(tmp_path):
    """Runtimes accept bounds of shape [1] of the standard's Clip; the rule of another Clip says what it takes."""
    (tmp_path / "com.example").mkdir()
    (tmp_path / "com.example" / "Clip.yaml").write_text(
        SCALE.replace("Scale", "Clip")
        .replace("since: 1", "since: 13")
        .replace("doc: values}", "doc: values}, {name: low, type: T, doc: a bound}")
    )
    (tmp_path / "com.example" / "inference.py").write_text("""
from opset.extend import Violation, infer

@infer("Clip", domain="com.example")
def clip(call):
    if call.shape(1):
        raise Violation("C1", "a bound of one dimension")
    return call.shape(0)
""")
    text = """<ir_version: 8, opset_import: ["": 17, "com.example": 13]>
        main (float[3] x, float[{}] low) => (float[3] y) {{ y = {}Clip (x, low) }}"""
    for bound, domain, told in (("1", "", 0), ("1", "com.example.", 1), ("2", "", 1), ("2", "com.example.", 1)):
        found = infer(parser.parse_model(text.format(bound, domain)), schemas=(tmp_path,))
        assert [each.code for each in found.findings] == ["I201"] * told
        strict = infer(parser.parse_model(text.format(bound, domain)), schemas=(tmp_path,), strict=True)
        assert [each.code for each in strict.findings] == ["I201"]


def test_a_bug_of_the_package_is_no_malformed_node():
    with pytest.raises(AssertionError, match="a bug"):
        problems_of(SimpleNamespace(schema=None), AssertionError("a bug"), SimpleNamespace(is_ours=True))
