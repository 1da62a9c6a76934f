"""The types that a kernel takes, as short text."""

import pytest

from opset.opsets.registry import default_registry
from opset.opsets.runtime_kernels import MAX_LISTED_TYPES, _accepting_releases, _allowed_types, _types_text
from opset.opsets.runtimes.model import RuntimeRelease

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


@pytest.mark.parametrize(
    ("operator", "domain", "since", "first", "last"),
    [
        ("Relu", "", 6, "1", "5"), ("Relu", "", 13, "3", "5"), ("Relu", "", 14, "3", "3"),
        ("LabelEncoder", "ai.onnx.ml", 2, "2", "5"), ("LabelEncoder", "ai.onnx.ml", 4, "5", "5"),
        ("Gelu", "", 20, None, None),
    ],
)  # fmt: skip
def test_a_release_of_which_no_opset_is_known_accepts_no_version(operator, domain, since, first, last):
    limits = [((7, 12), None), ((7, None), 3), ((7, 14), 3), ((None, None), None), ((7, 13), 4)]
    rows = [RuntimeRelease(str(number), opset, ml) for number, (opset, ml) in enumerate(limits, 1)]
    found = _accepting_releases(default_registry().schema(operator, since, domain), rows)
    assert found == (None if first is None else (first, last))
