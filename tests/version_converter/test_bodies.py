"""Function bodies of operators, in place of nodes, beside the operators' kernels."""

import numpy as np
import pytest

import opset
from judges.conformance.bodies import compared
from opset import ConversionError, ReferenceEvaluator
from opset.errors import SchemaError
from opset.extend import lower, parse_model
from opset.model.storage.tensor import tensor_values
from opset.opsets.hooks import unregister
from opset.opsets.registry import default_registry, get_schema
from opset.workflow.examples.conversions import body_opsets


@pytest.mark.parametrize("name", ["Elu", "Softplus", "Gelu", "Clip", "GreaterOrEqual", "HardSwish", "Relu", "PRelu"])
def test_a_body_is_right_for_all_values(name):
    schema = get_schema(name)
    row = compared(schema, body_opsets(default_registry(), schema)[-1], ["sweep"])
    assert row.wrong == []
    assert row.counts["cases"] > 3


def model(text, version, type_="float[3]"):
    return parse_model(f'<ir_version: 8, opset_import: ["": {version}]> g ({type_} x) => ({type_} y) {{ {text} }}')


def test_a_conversion_expresses_what_the_target_lacks():
    given = model("y = Mish (x)", 18)
    found = opset.convert(given, 11)
    assert "Mish" not in [node.op_type for node in found.graph.node]
    feeds = {"x": np.array([-1, 0, 2], np.float32)}
    expected, actual = (ReferenceEvaluator(each).run(None, feeds)[0] for each in (given, found))
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


def test_what_no_body_is_right_for_is_refused():
    with pytest.raises(ConversionError) as caught:
        opset.convert(model("y = Celu (x)", 28, "bfloat16[3]"), 11)
    assert caught.value.code == "C202"


OWN = """\
operator: Half
family: acme
versions:
- since: 1
  doc: Halves, or multiplies.
  inputs:
  - {name: X, type: T, doc: values}
  outputs:
  - {name: Y, type: T, doc: results}
  attributes:
    by: {type: float, default: 0.5, doc: factor}
  types:
    T: [float, float16, int32]
  function:
  - opset: 7
    types: {T: [float, float16]}
    nodes: |
      by_float = Constant <value_float: float = @by> ()
      factor = CastLike (by_float, X)
      Y = Mul (X, factor)
"""


def own(folder, text, type_="float", nodes="", version=1):
    """Lower a node of an operator of the folder com.acme."""
    (folder / "com.acme").mkdir(exist_ok=True)
    (folder / "com.acme" / "Half.yaml").write_text(text)
    given = model(nodes or "y = com.acme.Half (x)", 13, f"{type_}[3]")
    for domain in ("com.acme", "com.foreign"):
        given.opset_import.add(domain=domain, version=version)
    return opset.lower(given, ["com.acme.Half"], schemas=[folder])


def test_operators_of_ones_own_have_bodies(tmp_path):
    found = own(tmp_path, OWN)
    assert [node.op_type for node in found.graph.node] == ["Constant", "Mul"]
    feeds = {"x": np.array([-1, 0, 2], np.float32)}
    np.testing.assert_array_equal(ReferenceEvaluator(found).run(None, feeds)[0], feeds["x"] / 2)


def test_a_lowering_counts_before_a_body(tmp_path):
    lower("Half", since=2, domain="com.acme")(lambda op, node: op.Neg(node.input(0), domain=""))
    try:
        found = own(tmp_path, OWN.replace("since: 1", "since: 2"), version=2)
    finally:
        unregister("lower", "com.acme", "Half")
    assert [node.op_type for node in found.graph.node] == ["Neg"]


def test_a_constant_that_a_body_casts_is_one_of_that_type(tmp_path):
    body = OWN.replace("float16]", "float16, bool]").replace("int32]", "bool]").replace("Mul", "And")
    constant, conjunction = own(tmp_path, body, "bool").graph.node
    held = constant.attribute[0].t
    assert (conjunction.op_type, held.data_type, tensor_values(None, held)) == ("And", 9, [True])


@pytest.mark.parametrize("constant", ["2.75", "-2.75", "3000000000.0", "inf", "nan"])
def test_a_constant_is_cast_as_a_cast_does(tmp_path, constant):
    body = OWN.replace("types: {T: [float, float16]}", "types: {T: [float, int32]}")
    nodes = own(tmp_path, body, "int32", f"y = com.acme.Half <by = {constant}> (x)").graph.node
    if constant[-2:] == "75":
        assert [node.op_type for node in nodes] == ["Constant", "Mul"]
        assert tensor_values(None, nodes[0].attribute[0].t) == [int(float(constant))]
    else:  # beyond the type
        assert [node.op_type for node in nodes] == ["Constant", "Cast", "Mul"]


def test_a_type_that_no_body_is_right_for(tmp_path):
    with pytest.raises(ConversionError) as caught:
        own(tmp_path, OWN, "int32")
    assert (caught.value.code, caught.value.why) == ("C202", "nothing expresses Half exactly in int32")


UNKNOWN = "u = com.foreign.Magic (x)  v = com.acme.Half (u)  y = Identity (x)"


@pytest.mark.parametrize(
    ("stated", "instead"),
    [
        ("    types: {T: [float, float16]}\n", ""),
        ("types: {T: [float, float16]}", "emulate: {float16: float}"),
        ("types: {T: [float, float16]}", "types: {T: [float, float16, int32]}"),
    ],
)
def test_types_that_a_body_needs_to_know(tmp_path, stated, instead):
    with pytest.raises(ConversionError) as caught:
        own(tmp_path, OWN.replace(stated, instead), nodes=UNKNOWN)
    assert (caught.value.code, caught.value.why) == ("C203", "the type of 'u' is not known")


EMULATED = """\
operator: Half
family: acme
versions:
- since: 1
  doc: Adds itself.
  inputs:
  - {name: X, type: T, doc: values}
  - {name: W, type: tensor(float16), optional: true, doc: not read}
  - {name: V, type: T, optional: true, doc: not read}
  outputs:
  - {name: Y, type: T, doc: results}
  types:
    T: [float, float16]
  function:
  - opset: 7
    emulate: {float16: float}
    nodes: Y = Add (X, X)
"""


@pytest.mark.parametrize(
    ("nodes", "made"),
    [
        ("y = com.acme.Half (x)", ["Cast", "Add", "Cast"]),
        ("y = com.acme.Half (x, x)", ["Cast", "Add", "Cast"]),
        ("u = com.foreign.Magic (x)  y = com.acme.Half (x, u)", ["Magic", "Cast", "Add", "Cast"]),
        (UNKNOWN, None),
    ],
)
def test_inputs_of_a_type_that_a_body_computes_in_a_wider_one_are_cast(tmp_path, nodes, made):
    (tmp_path / "com.acme").mkdir()
    (tmp_path / "com.acme" / "Cast.yaml").write_text(EMULATED.replace("operator: Half", "operator: Cast"))
    if made is None:
        with pytest.raises(ConversionError) as caught:
            own(tmp_path, EMULATED, "float16", nodes)
        assert (caught.value.code, caught.value.why) == ("C203", "the type of 'u' is not known")
        return
    found = own(tmp_path, EMULATED, "float16", nodes).graph.node
    assert [node.op_type for node in found] == made
    assert all(node.domain in ("", "ai.onnx") for node in found if node.op_type != "Magic")
    assert [node.attribute[0].i for node in found if node.op_type == "Cast"] == [1, 10]


def test_ranks_of_later_inputs_choose_a_body(tmp_path):
    body = OWN.replace("doc: values}\n", "doc: values}\n  - {name: W, type: T, doc: factors}\n", 1)
    body = body.replace("  - opset: 7\n", "  - opset: 7\n    where: {rank(W): 0}\n")
    found = own(tmp_path, body, nodes="w = Constant <value_float: float = 1.0> ()  y = com.acme.Half (x, w)")
    assert [node.op_type for node in found.graph.node] == ["Constant", "Mul"]


def test_a_body_without_types_is_right_for_all(tmp_path):
    lines = OWN.splitlines()
    body = "\n".join([*lines[: lines.index("  function:") + 2], "    nodes: |", "      Y = Add (X, X)", ""])
    found = own(tmp_path, body, nodes=UNKNOWN)
    assert [node.op_type for node in found.graph.node] == ["Magic", "Add", "Identity"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("Y = Mul (X", "S233"),
        ("Y = Mul (X, Z)", "S234"),
        ("Z = Mul (X, X)", "S234"),
        ("Y = Mul <axis = 1> (X, factor)", "S235"),
        ("Y = Mull (X, factor)", "S235"),
        ("a = Constant <value_float: float = @c> () b = Mul (a, factor) Y = Mul (X, b)", "S236"),
        ("a = Constant <sparse_value: sparse_tensor = @c> () b = Mul (a, factor) Y = Mul (X, b)", "S236"),
    ],
)
def test_a_wrong_body_is_an_error_of_the_schema(line, code, tmp_path):
    with pytest.raises(SchemaError) as caught:
        own(tmp_path, OWN.replace("Y = Mul (X, factor)", line))
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("by", "type_", "code", "why"),
    [
        ("0.5", "float", None, ""),
        ("2.0", "float", "C201", "nothing expresses this Half at version 13"),
        ("2.0", "int32", "C201", "nothing expresses this Half at version 13"),
        ("0.5", "int32", "C202", "nothing expresses Half exactly in int32"),
    ],
)
def test_a_body_that_serves_other_nodes_alone_is_not_used(tmp_path, by, type_, code, why):
    text = OWN.replace("  - opset: 7\n", "  - opset: 7\n    where: {by: 0.5}\n")
    node = f"y = com.acme.Half <by = {by}> (x)"
    if code is None:
        assert "Mul" in [each.op_type for each in own(tmp_path, text, type_, node).graph.node]
        return
    with pytest.raises(ConversionError) as caught:
        own(tmp_path, text, type_, node)
    assert (caught.value.code, caught.value.why) == (code, why)
