"""Types are spelled as schemas spell them."""

import pytest
from onnx import helper

from opset.model.elements import ELEMENTS
from opset.model.types import type_string
from opset.opsets.registry import default_registry


@pytest.mark.parametrize(
    ("text", "build"),
    [
        ("tensor(float)", lambda: helper.make_tensor_type_proto(1, None)),
        ("seq(tensor(int64))", lambda: helper.make_sequence_type_proto(helper.make_tensor_type_proto(7, [1]))),
        ("optional(seq(tensor(string)))", lambda: helper.make_optional_type_proto(
            helper.make_sequence_type_proto(helper.make_tensor_type_proto(8, None)))),
        ("map(int64, float)", lambda: helper.make_map_type_proto(7, helper.make_tensor_type_proto(1, []))),
        ("seq(map(string, float))", lambda: helper.make_sequence_type_proto(
            helper.make_map_type_proto(8, helper.make_tensor_type_proto(1, [])))),
        ("map(int64, seq(tensor(float)))", lambda: helper.make_map_type_proto(
            7, helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, [])))),
        ("sparse_tensor(float)", lambda: helper.make_sparse_tensor_type_proto(1, [1])),
        (None, lambda: helper.make_tensor_type_proto(99, [1])),
    ],
)  # fmt: skip
def test_types_as_text(text, build):
    assert type_string(build()) == text


def test_the_first_opset_of_each_element_type_is_that_of_the_first_operator_that_takes_it():
    registry = default_registry()
    first = {}
    for schema in (schema for name in registry.operators() for schema in registry.versions(name)):
        for text in (each for types in schema.types.values() for each in types):
            first[text] = min(first.get(text, schema.since_version), schema.since_version)
    assert {each.name: each.opset for each in ELEMENTS.values()} == {
        each.name: first[f"tensor({each.name})"] for each in ELEMENTS.values()
    }
