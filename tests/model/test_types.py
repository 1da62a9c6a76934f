"""Types are spelled as schemas spell them."""

import pytest
from onnx import helper

from opset.model import proto as pb
from opset.model.elements import ELEMENTS, FLOAT8, element_name
from opset.model.types import MOST_DIMS, described_type, nest_elements, shape_of, type_string
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


def test_element_types_by_their_numbers():
    assert {"float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"} == FLOAT8
    assert [element_name(each) for each in (0, 1, 28, 29, -1)] == [None, "float", "float6e3m2", None, None]


def test_the_ir_version_from_which_a_model_may_have_an_element_type():
    names = {}
    for each in sorted(ELEMENTS.values(), key=lambda each: each.name):
        names.setdefault(each.ir_version, []).append(each.name)
    assert len(names.pop(1)) == 15
    assert names == {
        4: ["bfloat16"],
        9: ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"],
        10: ["int4", "uint4"],
        11: ["float4e2m1"],
        12: ["float8e8m0"],
        13: ["int2", "uint2"],
        14: ["float6e2m3", "float6e3m2"],
    }  # fmt: skip


def tensor_type(*sizes, element=1):
    """A type with sizes: numbers, names, or None for a size of which nothing is said."""
    proto = pb.TypeProto()
    proto.tensor_type.elem_type = element
    proto.tensor_type.shape.SetInParent()
    for size in sizes:
        dim = proto.tensor_type.shape.dim.add()
        if isinstance(size, str):
            dim.dim_param = size
        elif size is not None:
            dim.dim_value = size
    return proto


@pytest.mark.parametrize(
    ("sizes", "shape", "text"),
    [
        ((), (), "[]"),
        ((2, "N"), (2, "N"), "[2, N]"),
        ((0, -1, None, ""), (0, None, None, None), "[0, ?, ?, ?]"),
        ((1,) * MOST_DIMS, (1,) * MOST_DIMS, f"[{', '.join('1' * MOST_DIMS)}]"),
        ((*(1,) * MOST_DIMS, 2), (*(1,) * MOST_DIMS, 2), f"[{', '.join('1' * MOST_DIMS)}, …]"),
    ],
)
def test_sizes_of_a_type(sizes, shape, text):
    assert shape_of(tensor_type(*sizes)) == shape
    assert described_type(tensor_type(*sizes)) == f"tensor(float){text}"


def test_types_without_a_shape():
    unranked = pb.TypeProto()
    unranked.tensor_type.elem_type = 1
    sparse = pb.TypeProto()
    sparse.sparse_tensor_type.elem_type = 1
    sparse.sparse_tensor_type.shape.dim.add(dim_value=2)
    types = [unranked, sparse, pb.TypeProto(), tensor_type(2, element=99)]
    assert [shape_of(each) for each in types] == [None, None, None, (2,)]
    assert [described_type(each) for each in types] == ["tensor(float)", "sparse_tensor(float)", "", ""]


def test_types_with_a_part_that_is_missing():
    of_nothing, keyless, opaque = pb.TypeProto(), pb.TypeProto(), pb.TypeProto()
    of_nothing.sequence_type.elem_type.optional_type.elem_type.SetInParent()
    keyless.sequence_type.elem_type.map_type.value_type.tensor_type.elem_type = 1
    opaque.opaque_type.domain, opaque.opaque_type.name = "d", "n"
    assert [type_string(each) for each in (of_nothing, keyless, opaque)] == [None, None, "opaque(d, n)"]
    opaque.opaque_type.domain = ""
    assert type_string(opaque) == "opaque(n)"


@pytest.mark.parametrize(
    ("flat", "shape", "nested"),
    [
        ([1], (), 1),
        ([], (), []),
        ([1, 2, 3], (3,), [1, 2, 3]),
        ([], (2, 0), []),
        (list(range(6)), (2, 3), [[0, 1, 2], [3, 4, 5]]),
        (list(range(6)), (3, 1, 2), [[[0, 1]], [[2, 3]], [[4, 5]]]),
    ],
)
def test_elements_as_nested_lists(flat, shape, nested):
    assert nest_elements(flat, shape) == nested
