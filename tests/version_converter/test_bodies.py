"""Function bodies of operators, in place of nodes, beside the operators' kernels."""

import numpy as np
import pytest

import opset
from opset import ConversionError, ReferenceEvaluator
from opset.extend import parse_model
from opset.model.syntax import parse_node
from opset.opsets.registry import get_schema
from opset.schemas.bodies import function_of
from tests.conformance.bodies import compared, opsets_of, schemas_with_bodies

SCHEMAS = [pytest.param(each, id=f"{each.name}-{each.since_version}") for each in schemas_with_bodies()]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_body_gives_what_the_kernel_gives(schema):
    for version in {opsets_of(schema)[0], opsets_of(schema)[-1]}:
        row = compared(schema, version, ["examples"])
        assert row.wrong == []
        assert row.counts["cases"]


@pytest.mark.parametrize("name", ["Elu", "Softplus", "Gelu", "Clip", "GreaterOrEqual", "HardSwish", "Relu", "PRelu"])
def test_a_body_is_right_for_all_values(name):
    schema = get_schema(name)
    row = compared(schema, opsets_of(schema)[-1], ["sweep"])
    assert row.wrong == []
    assert row.counts["cases"] > 3


def model(text, version, type_="float[3]"):
    return parse_model(
        f'<ir_version: 8, opset_import: ["": {version}]> g ({type_} x) => ({type_} y) {{ {text} }}'
    )


def test_a_conversion_expresses_what_the_target_lacks():
    given = model("y = Mish (x)", 18)
    found = opset.convert(given, 11)
    assert "Mish" not in [node.op_type for node in found.graph.node]
    feeds = {"x": np.array([-1, 0, 2], np.float32)}
    expected, actual = (ReferenceEvaluator(each).run(None, feeds)[0] for each in (given, found))
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


def test_what_no_body_is_right_for_is_refused():
    with pytest.raises(ConversionError) as caught:
        opset.convert(model("y = Shrink (x)", 9, "int8[3]"), 8)
    assert (caught.value.code, caught.value.why) == ("C201", "Shrink came with version 9")
    with pytest.raises(ConversionError) as caught:
        opset.convert(model("y = Celu (x)", 28, "bfloat16[3]"), 11)
    assert caught.value.code == "C202"


def test_a_body_as_a_function():
    assert function_of(get_schema("Add"), 20) is None
    assert function_of(get_schema("Gelu"), 20) is None  # it depends on the node
    assert function_of(get_schema("Gelu"), 8, parse_node("y = Gelu (x)")) is None
    function = function_of(get_schema("Gelu"), 20, parse_node('y = Gelu <approximate = "tanh"> (x)'))
    assert "Tanh" in [node.op_type for node in function.node]
    elu = function_of(get_schema("Elu"), 20)
    assert [each.name for each in elu.attribute_proto] == ["alpha"]
    assert ([*elu.input], [*elu.output], elu.opset_import[0].version) == (["X"], ["Y"], 20)


def test_a_function_body_computes_as_a_local_function():
    given = model("y = my.Elu <alpha = 2.0> (x)", 20)
    given.opset_import.add(domain="my", version=1)
    given.functions.append(function_of(get_schema("Elu"), 20))
    given.functions[0].domain = "my"
    feeds = {"x": np.array([-1, 0, 2], np.float32)}
    (expected,) = ReferenceEvaluator(model("y = Elu <alpha = 2.0> (x)", 20)).run(None, feeds)
    np.testing.assert_allclose(ReferenceEvaluator(given).run(None, feeds)[0], expected, rtol=1e-6)
