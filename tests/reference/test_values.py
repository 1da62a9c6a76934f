"""Values that a caller feeds: how they are taken, and why they do not fit what the model declares."""

import numpy as np
import pytest

from opset.model import proto as pb
from opset.opsets.registry import default_registry
from opset.reference.example_models import attribute_of, model_of, model_with_inputs, value_of
from opset.reference.values import _can_be, fit_value
from opset.schemas.example import ExampleValue


class Declared:
    """What a model declares of an input."""

    def __init__(self, type_, shape=None):
        self.type, self.shape = type_, shape

    def __str__(self):
        return "what it declares"


FLOATS = np.array([1, 2], np.float32)


@pytest.mark.parametrize(
    ("value", "type_", "why"),
    [
        ([1, 2], "tensor(float)", ""),
        (3, "tensor(int64)", ""),
        (FLOATS.astype(">f4"), "tensor(float)", ""),
        (FLOATS, "sparse_tensor(float)", ""),
        (FLOATS, None, ""),
        (np.float64(1), "tensor(float)", "it is tensor(double), and the model declares tensor(float)"),
        (["a"], "tensor(float)", "it is no tensor(float): 'a' is no number"),
        ("1.5", "tensor(float)", "it is no tensor(float): '1.5' is no number"),
        ([1, None], "tensor(float)", "it is no tensor(float): None is no number"),
        ([[1e39, 1]], "tensor(float)", "it is no tensor(float): 1e+39 is no float32"),
        (2**200, "tensor(float)", f"it is no tensor(float): {2**200} is no float32"),
        (500, "tensor(float8e4m3fn)", "it is no tensor(float8e4m3fn): 500 is no float8_e4m3fn"),
        ([float("inf"), float("-inf"), 1], "tensor(float16)", ""),
        ([1, 3.7], "tensor(int64)", "it is no tensor(int64): 3.7 is no int64"),
        ([1, 3.0, True], "tensor(int64)", ""),
        ([2**63 - 1, -(2**63)], "tensor(int64)", ""),
        (2.5, "tensor(int4)", "it is no tensor(int4): 2.5 is no int4"),
        (
            np.datetime64(1, "s").tolist(),
            "tensor(int64)",
            "it is no tensor(int64): datetime.datetime(1970, 1, 1, 0, 0, 1) is no number",
        ),
        ([0, 1, True], "tensor(bool)", ""),
        (2, "tensor(bool)", "it is no tensor(bool): 2 is no bool"),
        ("False", "tensor(bool)", "it is no tensor(bool): 'False' is no number"),
        (["a", "é"], "tensor(string)", ""),
        (["a", 1], "tensor(string)", "it is no tensor(string): 1 is no text"),
        (np.array(["a", None], object), "tensor(string)", "it is no tensor(string): None is no text"),
        ([7, -8], "tensor(int4)", ""),
        ([9], "tensor(int4)", "it is no tensor(int4): an integer is out of bounds for int4, -8 to 7"),
        ([[-1]], "tensor(uint4)", "it is no tensor(uint4): an integer is out of bounds for uint4, 0 to 15"),
        (2, "tensor(int2)", "it is no tensor(int2): an integer is out of bounds for int2, -2 to 1"),
        (2**70, "tensor(uint2)", "it is no tensor(uint2): an integer is out of bounds for uint2, 0 to 3"),
        (FLOATS, "seq(tensor(float))", "it is tensor(float), and the model declares seq(tensor(float))"),
        ([FLOATS], "seq(tensor(float))", ""),
        ([], "seq(tensor(float))", ""),
        ([FLOATS], "optional(seq(tensor(float)))", ""),
        (None, "optional(tensor(float))", ""),
        ({"a": 1.0}, "map(string,tensor(float))", ""),
    ],
)
def test_which_values_fit_a_declaration(value, type_, why):
    taken, found = fit_value(value, Declared(type_))
    assert found == why
    if not why and not isinstance(value, dict):
        assert np.array_equal(taken, value)
        assert not isinstance(taken, np.ndarray) or taken.dtype.isnative


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="numpy 1 has no such dtype")
def test_text_of_variable_width_is_taken():
    taken, why = fit_value(np.array(["a", "é"], np.dtypes.StringDType()), Declared("tensor(string)"))
    assert (taken.dtype, taken.tolist(), why) == (np.dtype(object), ["a", "é"], "")


@pytest.mark.parametrize(
    ("shape", "fits"),
    [(None, True), ((2,), True), (("N",), True), ((None,), True), ((3,), False), ((2, 1), False), ((), False)],
)
def test_which_shapes_fit_a_declaration(shape, fits):
    why = "" if fits else "its shape is [2], and the model declares what it declares"
    assert fit_value(FLOATS, Declared("tensor(float)", shape))[1] == why


def test_only_the_first_element_of_a_list_is_looked_at():
    assert _can_be([FLOATS, 3], "seq(tensor(float))") and not _can_be([3, FLOATS], "seq(tensor(float))")
    assert not _can_be(FLOATS, "map(string,tensor(float))") and not _can_be(None, "tensor(float)")


def test_attributes_of_every_kind():
    tensor = ExampleValue("tensor(float)", [1.0, 2.0], (2,))
    assert np.array_equal(value_of(tensor), FLOATS)
    graph = "g (float x) => (float y) { y = Neg (x) }"
    values = {
        "float": 0.5, "int": 3, "string": "é", "floats": [0.5, 1.5], "ints": [3, 4], "strings": ["é", "b"],
        "tensor": tensor, "tensors": [tensor, tensor], "graph": graph, "graphs": [graph, graph],
        "type_proto": "tensor(int64)", "type_protos": ["tensor(int64)", "seq(tensor(float))"],
    }  # fmt: skip
    made = {kind: attribute_of("a", kind, value) for kind, value in values.items()}
    assert all(each.name == "a" for each in made.values())
    types = {kind: pb.AttributeProto.AttributeType.Name(each.type) for kind, each in made.items()}
    assert types == {kind: kind.upper() for kind in values}
    assert (made["float"].f, made["int"].i, made["string"].s) == (0.5, 3, "é".encode())
    assert ([*made["floats"].floats], [*made["ints"].ints]) == ([0.5, 1.5], [3, 4])
    assert [*made["strings"].strings] == ["é".encode(), b"b"]
    assert [each.raw_data for each in made["tensors"].tensors] == [made["tensor"].t.raw_data] * 2
    assert [each.node[0].op_type for each in (made["graph"].g, *made["graphs"].graphs)] == ["Neg"] * 3
    elements = [made["type_proto"].tp, *made["type_protos"].type_protos]
    assert [each.WhichOneof("value") for each in elements] == ["tensor_type", "tensor_type", "sequence_type"]


def test_the_model_of_an_example_that_breaks_a_constraint_has_the_fewest_outputs():
    (example,) = [each for each in default_registry().examples("TopK") if each.name == "too_many"]
    model = model_of(default_registry().schema("TopK", 21), example)
    assert [*model.graph.node[0].output] == ["output_0", "output_1"]


@pytest.mark.parametrize(("version", "ir"), [(7, 4), (14, 7)])
def test_the_model_of_an_example_may_have_constants_that_are_no_inputs(version, ir):
    schema, example = default_registry().schema("Add", version), default_registry().examples("Add")[0]
    model, _ = model_with_inputs(schema, example, {0: FLOATS, 1: FLOATS}, lambda value: True, False)
    assert (model.ir_version, len(model.graph.input), len(model.graph.initializer)) == (ir, 0, 2)
