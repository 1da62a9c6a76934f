"""Types of values: as messages and as texts, and what two of them say together."""

import re

import onnx
import pytest
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st

import opset
from opset.inference.building.dimensions import equal, parse_size, variable
from opset.inference.building.types import (
    Type,
    combine_types,
    fill_proto,
    join_types,
    map_sizes,
    optional,
    parse_type,
    sequence,
    shape_text,
    tensor,
    type_from_proto,
    type_to_proto,
)
from opset.model import proto as pb
from opset.model.elements import NUMBERS
from opset.opsets.registry import default_registry

N, M = variable("N"), variable("M")
ELEMENTS = sorted(NUMBERS)
DIMS = [N, M, 2 * N + 1, N // 2, (N - 3) // 2 + 1]
SIZES = st.none() | st.integers(0, 2**63 - 1) | st.integers(0, 3) | st.sampled_from(DIMS)
SHAPES = st.none() | st.lists(SIZES, max_size=3).map(tuple)
TENSORS = st.builds(
    Type, st.sampled_from(["tensor", "sparse_tensor"]), st.none() | st.sampled_from(ELEMENTS), SHAPES, st.none()
)
TYPES = st.recursive(
    TENSORS,
    lambda inner: (
        st.builds(sequence, inner | st.none())
        | st.builds(optional, inner | st.none())
        | st.builds(
            Type, st.just("map"), st.none() | st.sampled_from(["int64", "string"]), st.none(), inner | st.none()
        )
    ),
    max_leaves=3,
)


def size_of(dim):
    """Read a Dimension message."""
    kind = dim.WhichOneof("value")
    return None if kind is None else dim.dim_value if kind == "dim_value" else parse_size(dim.dim_param)


def stated(stated_size, found_size):
    return False


def found(stated_size, found_size):
    return True


@given(TYPES)
def test_types_survive_as_messages(type_):
    assert type_from_proto(type_to_proto(type_), size_of) == type_


@given(TYPES)
def test_messages_are_those_of_the_standard(type_):
    """The onnx package reads them, and nothing in them is lost on it."""
    data = type_to_proto(type_).SerializeToString()
    message = onnx.TypeProto.FromString(data)
    assert message.SerializeToString(deterministic=True) == data
    kinds = {"tensor": "tensor_type", "seq": "sequence_type", "sparse_tensor": "sparse_tensor_type"}
    assert message.WhichOneof("value") == kinds.get(type_.kind, f"{type_.kind}_type")


def test_sizes_that_no_message_holds_stay_unset():
    proto = type_to_proto(tensor("float", [2**63, -1, 3, N]))
    assert [dim.WhichOneof("value") for dim in proto.tensor_type.shape.dim] == [None, None, "dim_value", "dim_param"]


@pytest.mark.parametrize("text", ["domain: 'own' name: 'handle'", "name: 'handle'"])
@pytest.mark.parametrize("around", ["", "sequence_type", "optional_type"])
def test_opaque_types_survive_as_messages(text, around):
    proto = outer = onnx.TypeProto()
    if around:
        getattr(outer, around).SetInParent()
        proto = getattr(outer, around).elem_type
    text_format.Parse(text, proto.opaque_type)
    found_type = type_from_proto(outer, size_of)
    made = onnx.TypeProto.FromString(type_to_proto(found_type).SerializeToString())
    opaque = (getattr(made, around).elem_type if around else made).opaque_type
    assert (opaque.domain, opaque.name) == (proto.opaque_type.domain, proto.opaque_type.name)
    assert type_from_proto(made, size_of) == found_type
    assert text.split("'")[-2] in str(found_type)


@pytest.mark.parametrize(("depth", "known"), [(63, True), (64, False), (90, False)])
def test_a_type_in_too_many_others_is_not_known(depth, known):
    deep = innermost = onnx.TypeProto()
    for _ in range(depth):
        innermost.sequence_type.SetInParent()
        innermost = innermost.sequence_type.elem_type
    innermost.tensor_type.elem_type = 1
    assert type_from_proto(deep, size_of).text == (f"{'seq(' * depth}tensor(float){')' * depth}" if known else None)


def test_a_message_may_state_nothing_or_sizes_without_end():
    assert type_from_proto(onnx.TypeProto(), size_of) is None
    wide = onnx.TypeProto()
    for _ in range(5000):
        wide.tensor_type.shape.dim.add()
    assert type_from_proto(wide, size_of) == tensor(None)


def test_unknown_numbers_of_element_types_are_not_known():
    proto = onnx.TypeProto()
    proto.tensor_type.elem_type = 9999
    assert type_from_proto(proto, size_of) == tensor(None)


SIZED = """tensor_type { elem_type: 1 shape { dim { dim_param: 'K' denotation: 'D' } dim { dim_value: 0 }
    dim {} dim { dim_value: -1 } dim { dim_value: -1 } } }"""
KEYED = "map_type { key_type: 7 value_type { tensor_type { elem_type: 1 } } }"
NUMBER = tensor("int8", ())


@pytest.mark.parametrize(
    ("text", "known", "filled", "replaced"),
    [
        ("", tensor("int8", (2, N)), "int8[2, N]", "int8[2, N]"),
        ("tensor_type {}", tensor("int8", (2, N)), "int8[2, N]", "int8[2, N]"),
        ("tensor_type { elem_type: 1 }", tensor("int8", (2, N)), "float[2, N]", "int8[2, N]"),
        (SIZED, tensor("int8", (4, 4, 4, 4, M)), "float[4, 0, 4, 4, M]", "int8[4, 4, 4, 4, M]"),
        (SIZED, tensor(None, (M, M, M, M, None)), "float[K, 0, M, M, -1]", "float[M, M, M, M, -1]"),
        (SIZED, tensor("int8", (2, N)), "float[K, 0, ?, -1, -1]", "int8[2, N]"),
        (SIZED, tensor("int8"), "float[K, 0, ?, -1, -1]", "int8[K, 0, ?, -1, -1]"),
        (SIZED, sequence(NUMBER), "float[K, 0, ?, -1, -1]", "seq(int8[])"),
        ("sequence_type {}", NUMBER, "seq(?)", "int8[]"),
        ("sequence_type {}", sequence(NUMBER), "seq(int8[])", "seq(int8[])"),
        ("sequence_type {}", optional(NUMBER), "seq(?)", "optional(int8[])"),
        ("optional_type { elem_type { tensor_type { elem_type: 1 } } }", optional(None), *["optional(float)"] * 2),
        ("optional_type { elem_type { sequence_type {} } }", optional(sequence(NUMBER)),
         *["optional(seq(int8[]))"] * 2),
        ("map_type {}", Type("map", "string", None, NUMBER), *["map(string, int8[])"] * 2),
        (KEYED, Type("map", "string", None, NUMBER), "map(int64, float[])", "map(string, int8[])"),
        ("opaque_type { name: 'a' }", Type("opaque", "a"), *["opaque(a)"] * 2),
        (KEYED, Type("map", None, None, None), *["map(int64, float)"] * 2),
    ],
)  # fmt: skip
def test_a_type_that_is_stated_in_part_is_filled(text, known, filled, replaced):
    for overwrite, expected in ((False, filled), (True, replaced)):
        proto = text_format.Parse(text, pb.TypeProto())
        fill_proto(proto, known, overwrite)
        assert str(type_from_proto(proto, size_of)) == expected
    sized = text_format.Parse(SIZED, pb.TypeProto())
    fill_proto(sized, tensor("int8", (4, 4, 4, 4, M)), True)
    assert sized.tensor_type.shape.dim[0].denotation == "D"


# Texts


def texts_of_onnx():
    """Return every type string of the signatures of the onnx package."""
    schemas = onnx.defs.get_all_schemas_with_history()
    return {text for schema in schemas for part in (*schema.inputs, *schema.outputs) for text in part.types}


def test_texts_are_those_of_onnx():
    """It spells a map's scalar as a tensor, and has no space after a comma; otherwise they are alike."""
    texts = texts_of_onnx()
    assert len(texts) > 50
    for text in texts:
        assert parse_type(text).text == re.sub(r"map\((\w+),tensor\((\w+)\)\)", r"map(\1, \2)", text)
        assert type_from_proto(type_to_proto(parse_type(text)), size_of) == parse_type(text)


def test_texts_of_signatures_are_read_as_they_are_printed():
    registry = default_registry()
    texts = {
        text
        for domain in registry.domains
        for name in registry.operators(domain)
        for schema in registry.versions(name, domain)
        for formal in (*schema.inputs, *schema.outputs)
        for text in schema.allowed_types(formal)
    }
    assert {text: parse_type(text).text for text in texts} == {text: text for text in texts}


@given(TYPES)
def test_texts_leave_out_shapes_alone(type_):
    if type_.text is None:
        assert "?" in str(type_)
    else:
        assert parse_type(type_.text).text == type_.text
        assert parse_type(type_.text) == map_sizes(without_shape(type_), lambda size: size)


def without_shape(type_):
    return None if type_ is None else type_._replace(shape=None, inner=without_shape(type_.inner))


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (tensor("float", [2, N, None]), "float[2, N, ?]"),
        (tensor("float", []), "float[]"),
        (tensor(None), "?"),
        (sequence(tensor("int64", [3])), "seq(int64[3])"),
        (optional(sequence(None)), "optional(seq(?))"),
        (Type("map", "string", None, tensor("float")), "map(string, float)"),
        (Type("sparse_tensor", "double", (2 * N,)), "sparse double[2*N]"),
    ],
)
def test_types_print_with_their_shapes(type_, text):
    assert str(type_) == text


def test_shapes_print_in_brackets():
    assert shape_text(None) == ""
    assert shape_text((1, None, N + 1)) == "[1, ?, N + 1]"


@pytest.mark.parametrize("text", ["", "float", "tensor", "sequence(tensor(float))", "list(tensor(float))"])
def test_other_texts_are_no_types(text):
    assert parse_type(text) is None


# What two say together


@given(TYPES, TYPES)
def test_join_does_not_ask_for_an_order(left, right):
    assert join_types(left, right) == join_types(right, left)
    assert join_types(left, left) == left
    assert join_types(left, None) is None
    assert join_types(None, left) is None


@given(TYPES, TYPES)
def test_join_says_nothing_that_is_not_true_of_both(left, right):
    both = join_types(left, right)
    assert join_types(both, left) == both
    assert join_types(both, right) == both
    if both is not None and both.shape is not None:
        for size, one, other in zip(both.shape, left.shape, right.shape, strict=True):
            assert size is None or size == one == other


@given(TYPES, TYPES, st.booleans())
def test_meet_keeps_what_either_says(left, right, better):
    both, why = combine_types(left, right, found if better else stated)
    assert combine_types(left, left, stated) == (left, "")
    assert combine_types(left, None, stated) == (left, "")
    assert combine_types(None, right, stated) == (right, "")
    if why:
        assert str(left) in why or left.inner is not None
        return
    assert both.kind == left.kind == right.kind
    assert both.element == (right.element or left.element)
    assert left.element in (None, both.element)
    shapes = [each.shape for each in (left, right) if each.shape is not None]
    assert (both.shape is None) == (not shapes)
    for axis, size in enumerate(both.shape or ()):
        sizes = [shape[axis] for shape in shapes if shape[axis] is not None]
        assert (size is None) == (not sizes)
        assert not sizes or size in sizes
        assert all(equal(size, each) is not False for each in sizes)


@pytest.mark.parametrize(
    ("left", "right", "rule", "both"),
    [
        (tensor("float", [None, 3]), tensor(None, [2, None]), stated, tensor("float", [2, 3])),
        (tensor("float", [N]), tensor("float", [M]), stated, tensor("float", [N])),
        (tensor("float", [N]), tensor("float", [M]), found, tensor("float", [M])),
        (tensor("float", [N]), tensor("float", [4]), stated, tensor("float", [4])),
        (tensor("float", [4]), tensor("float", [N]), stated, tensor("float", [4])),
        (tensor("float", [4]), tensor("float"), stated, tensor("float", [4])),
        (sequence(tensor("float", [4])), sequence(None), stated, sequence(tensor("float", [4]))),
    ],
)
def test_meet_gives_what_is_more_exact(left, right, rule, both):
    assert combine_types(left, right, rule) == (both, "")


@pytest.mark.parametrize(
    ("left", "right", "why"),
    [
        (tensor("float", [2]), tensor("float", [3]), "float[2] is stated, float[3] is inferred"),
        (tensor("float", [N]), tensor("float", [N + 1]), "float[N] is stated, float[N + 1] is inferred"),
        (tensor("float", [2]), tensor("float", [2, 1]), "float[2] is stated, float[2, 1] is inferred"),
        (tensor("float"), tensor("int64"), "float is stated, int64 is inferred"),
        (tensor("float"), sequence(tensor("float")), "float is stated, seq(float) is inferred"),
        (sequence(tensor("float")), sequence(tensor("int64")), "float is stated, int64 is inferred"),
    ],
)
def test_meet_names_both_sides_of_a_contradiction_and_believes_what_was_found(left, right, why):
    assert combine_types(left, right, stated) == (right, why)


def test_meet_of_sizes_that_are_too_complex_to_compare_is_none_that_fails():
    left, right = (sum((variable(f"{letter}{number}") for number in range(20)), start=N) for letter in "ab")
    assert combine_types(tensor("float", [left]), tensor("float", [right]), stated) == (tensor("float", [left]), "")


@pytest.mark.parametrize(
    ("stated", "node"),
    [
        ("opaque_type { name: 'a' }", "SequenceConstruct (x, z)"),
        ("sequence_type { elem_type { opaque_type { name: 'a' } } }", "SequenceInsert (x, z)"),
        ("sequence_type { elem_type { opaque_type { name: 'a' } } }", "ConcatFromSequence <axis = 0> (x)"),
        (
            "map_type { key_type: 7 value_type { opaque_type { name: 'a' } } }",
            'ai.onnx.ml.DictVectorizer <string_vocabulary = ["w"]> (x)',
        ),
    ],
)
def test_the_name_of_an_opaque_type_is_no_element_type(stated, node):
    imports = 'opset_import: ["": 17, "ai.onnx.ml": 3]'
    model = opset.parse_model(f"<ir_version: 8, {imports}> g (float x, float z) => (float y) {{ y = {node} }}")
    for value, text in ((model.graph.input[0], stated), (model.graph.input[1], ""), (model.graph.output[0], "")):
        value.ClearField("type")
        value.type.CopyFrom(text_format.Parse(text, pb.TypeProto()))
    (inferred,) = [each.type for each in opset.infer(model).values() if each.name == "y"]
    assert "'a'" not in repr(inferred)
    opset.infer(model).written()
