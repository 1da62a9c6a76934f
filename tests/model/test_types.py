"""Types are spelled as schemas spell them."""

import pytest
from onnx import helper

from opset.model.types import type_string


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
