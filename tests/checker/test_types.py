"""Further paths of the rules on stated types, each by a small model."""

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, TypeProto, helper

import opset
from opset.checker.table import CHECKER
from opset.errors import ModelError
from tests.bounds import draws

CODES = {code for code in CHECKER.by_code if code[:2] in ("G6", "W6")} | {"G212"}


def tensor_type(element=TensorProto.FLOAT, shape=None):
    return helper.make_tensor_type_proto(element, shape)


def model_of(*types, initializer=(), sparse=(), node=None):
    """A model with values v0, v1 … of these types."""
    node = node or helper.make_node("Constant", [], ["y"], value_float=1.0)
    graph = helper.make_graph([node], "g", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])])
    graph.value_info.extend(onnx.ValueInfoProto(name=f"v{number}", type=each) for number, each in enumerate(types))
    graph.initializer.extend(initializer)
    graph.sparse_initializer.extend(sparse)
    return helper.make_model(graph, ir_version=13)


def findings_of(model, codes=CODES):
    return opset.check(model, full=False, select=codes)


def codes_of(*types, **parts):
    return [each.code for each in findings_of(model_of(*types, **parts))]


NESTED = tensor_type()
for _ in range(20):
    NESTED = helper.make_sequence_type_proto(NESTED)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (tensor_type(), []),
        (tensor_type(shape=[2, "N", None]), []),
        (NESTED, []),
        (helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, [2]), []),
        (helper.make_map_type_proto(TensorProto.STRING, tensor_type()), []),
        (helper.make_optional_type_proto(helper.make_sequence_type_proto(tensor_type())), []),
        (helper.make_optional_type_proto(helper.make_map_type_proto(TensorProto.UINT8, tensor_type())), []),
        (TypeProto(), ["G601"]),
        (helper.make_sequence_type_proto(TypeProto()), ["G601"]),
        (TypeProto(tensor_type=TypeProto.Tensor()), ["G602"]),
        (tensor_type(99), ["G602"]),
        (helper.make_sparse_tensor_type_proto(0, [2]), ["G602"]),
        (helper.make_sequence_type_proto(helper.make_sequence_type_proto(tensor_type(0))), ["G602"]),
        (helper.make_map_type_proto(TensorProto.BOOL, tensor_type()), ["G603"]),
        (TypeProto(map_type=TypeProto.Map()), ["G603", "G604"]),
        (helper.make_map_type_proto(TensorProto.INT64, tensor_type(0)), ["G602"]),
        (TypeProto(sequence_type=TypeProto.Sequence()), ["G604"]),
        (TypeProto(optional_type=TypeProto.Optional()), ["G604"]),
        (helper.make_optional_type_proto(helper.make_optional_type_proto(tensor_type())), ["G605"]),
        (tensor_type(shape=[-1, "*"]), ["G606", "G607"]),
        (helper.make_sequence_type_proto(tensor_type(shape=[-(2**63)])), ["G606"]),
        (tensor_type(shape=[0]), []),
        (TypeProto(opaque_type=TypeProto.Opaque(domain="d")), ["G609"]),
        (tensor_type(shape=["", ""]), ["W602"]),
        (tensor_type(shape=["a b"]), ["W601"]),
        (tensor_type(shape=["été"]), ["W601"]),
        (TypeProto(denotation="IMAGE", tensor_type=tensor_type().tensor_type), []),
    ],
)
def test_types(made, expected):
    assert codes_of(made) == expected


def test_denotations_of_dimensions():
    made = tensor_type(shape=[1, 2])
    made.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    made.tensor_type.shape.dim[1].denotation = "DATA_WIDTH"
    (finding,) = findings_of(model_of(made))
    assert (finding.code, finding.message[:30]) == ("W603", "the denotation 'DATA_WIDTH' of")


@pytest.mark.parametrize(
    ("key", "shown"), [(TensorProto.BOOL, "bool"), (99, "99, which does not exist"), (0, "missing")]
)
def test_the_type_of_keys_that_a_map_cannot_have_is_shown(key, shown):
    made = TypeProto(map_type=TypeProto.Map(key_type=key, value_type=tensor_type()))
    assert [each.message for each in findings_of(model_of(made))] == [f"the type of the map's keys is {shown}"]


def test_the_place_of_a_type():
    assert [each.place for each in findings_of(model_of(tensor_type(), tensor_type(0), tensor_type(0)))] == [
        "graph 'g', value_info 'v1'",
        "graph 'g', value_info 'v2'",
    ]


def test_types_in_attributes():
    node = helper.make_node("Optional", [], ["y"], "n", type=tensor_type(0))
    assert [(each.code, each.place) for each in findings_of(model_of(node=node))] == [
        ("G602", "graph 'g', node 'n' (Optional), attribute 'type'")
    ]
    several = helper.make_node("f", [], ["y"], domain="d", types=[tensor_type(), TypeProto()])
    assert codes_of(node=several) == ["G601"]


def test_types_in_functions():
    model = model_of()
    function = helper.make_function("d", "f", ["x"], ["y"], [helper.make_node("Relu", ["x"], ["y"])], [])
    function.value_info.append(onnx.ValueInfoProto(name="x", type=tensor_type(0)))
    model.functions.append(function)
    assert [(each.code, each.place) for each in findings_of(model)] == [("G602", "function 'd.f', value_info 'x'")]


def initializer(data_type=TensorProto.FLOAT, dims=(2, 3)):
    return TensorProto(name="v0", data_type=data_type, dims=dims)


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (tensor_type(), []),
        (tensor_type(shape=[2, "N"]), []),
        (tensor_type(shape=[2, None]), []),
        (tensor_type(shape=[2, 4]), ["G212"]),
        (tensor_type(shape=[2]), ["G212"]),
        (tensor_type(TensorProto.DOUBLE), ["G212"]),
        (tensor_type(0), ["G602"]),
        (tensor_type(shape=[-1, 3]), ["G606"]),
        (TypeProto(), ["G601"]),
        (helper.make_sequence_type_proto(tensor_type()), ["G212"]),
        (helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, [2, 3]), ["G212"]),
    ],
)
def test_initializers_have_the_type_that_is_stated(stated, expected):
    assert codes_of(stated, initializer=[initializer()]) == expected


def test_sparse_initializers_have_the_type_that_is_stated():
    made = onnx.SparseTensorProto(values=initializer(dims=[1]), dims=[2, 3])
    assert codes_of(helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, [2, 3]), sparse=[made]) == []
    assert codes_of(tensor_type(shape=[2, 3]), sparse=[made]) == []
    assert codes_of(tensor_type(shape=[1]), sparse=[made]) == ["G212"]


SEEDS = [
    model_of(tensor_type(shape=[-1, "*", ""]), NESTED, initializer=[initializer()]),
    model_of(helper.make_optional_type_proto(helper.make_map_type_proto(TensorProto.STRING, tensor_type(shape=[2])))),
    model_of(node=helper.make_node("Optional", [], ["y"], "n", type=tensor_type(shape=["N"]))),
]


@given(st.sampled_from([each.SerializeToString() for each in SEEDS]), st.data())
@settings(max_examples=draws(300))
def test_no_bytes_give_anything_but_findings_or_a_model_error(data, drawn):
    changed = bytearray(data)
    for _ in range(drawn.draw(st.integers(1, 6))):
        changed[drawn.draw(st.integers(0, len(data) - 1))] = drawn.draw(st.integers(0, 255))
    try:
        found = {each.code for each in findings_of(bytes(changed))}
    except ModelError:
        return
    assert found <= CODES
