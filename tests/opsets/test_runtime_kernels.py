"""The types that a kernel takes, as short text."""

import pytest

from opset.opsets.registry import default_registry
from opset.opsets.runtime_kernels import MAX_LISTED_TYPES, _allowed_types, _types_text

NAMES = ["float16", "float", "double", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
TYPES = [f"tensor({name})" for name in NAMES]


@pytest.mark.parametrize(
    ("types", "allowed", "text"),
    [
        (TYPES[:MAX_LISTED_TYPES], TYPES, ", ".join(NAMES[:MAX_LISTED_TYPES])),
        (TYPES[:-3], TYPES, "all but bool, uint32, uint64"),
        (TYPES, [*TYPES, *(f"seq({each})" for each in TYPES)], "12 of 24 types"),
        (TYPES, TYPES, ", ".join(NAMES)),
        (TYPES, (), "12 types"),
        (TYPES[:2], (), "float16, float"),
    ],
)
def test_types_are_listed_counted_or_told_by_those_that_are_missing(types, allowed, text):
    assert _types_text(types, allowed) == text


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("T", ["tensor(bool)", "tensor(float)"]),
        ("condition", ["tensor(bool)"]),
        ("Y", ["tensor(bool)", "tensor(float)"]),
        ("nonesuch", ["tensor(bool)", "tensor(float)", "seq(tensor(float))"]),
    ],
)
def test_types_of_kernels_are_those_that_the_version_allows(name, types):
    schema = default_registry().schema("Where", 16)
    assert [*_allowed_types(schema, name, ["bool", "float", "seq(tensor(float))"])] == types
