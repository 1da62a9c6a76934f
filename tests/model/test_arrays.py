"""Values as messages and back: every element type, sequences, optionals and maps; `onnx` is the judge."""

import numpy as np
import onnx
import onnx.numpy_helper
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opset.errors import ModelError
from opset.model import arrays as conversions
from opset.model import proto as pb
from opset.model.arrays import (
    DTYPES,
    array_of,
    data_type_of,
    decode_message,
    dense_of,
    message_of,
    tensor_of,
    value_of,
)
from opset.model.elements import ELEMENTS, STRING
from tests.bounds import draws

X = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
TEXT = np.array(["a", "", "é\0"], object)


@st.composite
def arrays(draw):
    """An array of any element type, of any bit patterns."""
    number = draw(st.sampled_from([*DTYPES]))
    shape = draw(st.lists(st.integers(0, 3), max_size=3))
    count = int(np.prod(shape, dtype=int))
    if number == STRING:
        texts = draw(st.lists(st.text() | st.just(b"\xff\xfe"), min_size=count, max_size=count))
        array = np.empty(count, object)
        array[:] = texts
        return array.reshape(shape)
    size = -(-count * ELEMENTS[number].bits // 8)
    raw = draw(st.binary(min_size=size, max_size=size))
    return array_of(None, pb.TensorProto(data_type=number, dims=shape, raw_data=raw))


def same(left, right):
    """Whether two values are the same to the bit."""
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return isinstance(right, dict) and [*left] == [*right] and same([*left.values()], [*right.values()])
    if left is None or right is None:
        return left is right
    left, right = np.asarray(left), np.asarray(right)
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    return left.tolist() == right.tolist() if left.dtype == object else left.tobytes() == right.tobytes()


@settings(max_examples=draws(150))
@given(arrays())
def test_a_tensor_of_an_array_holds_it_to_the_bit(array):
    tensor = tensor_of("x", array)
    assert same(array_of(None, tensor), array)
    theirs = onnx.TensorProto.FromString(tensor.SerializeToString())
    assert theirs.data_type == tensor.data_type
    if array.dtype != object and array.dtype.itemsize >= 1 and ELEMENTS[tensor.data_type].bits >= 8:
        assert onnx.numpy_helper.to_array(theirs).tobytes() == array.tobytes()


VALUES = {
    "tensor(float)": X,
    "tensor(string)": TEXT,
    "seq(tensor(float))": [X, X[:1], X[:0]],
    "seq(tensor(string))": [TEXT],
    "seq(seq(tensor(int64)))": [[np.array(1)], []],
    "optional(tensor(float))": X,
    "optional(seq(tensor(float)))": [X],
    "seq(optional(tensor(float)))": [X, None],
    "map(int64, float)": {3: np.float32(0.5), -1: np.float32(2)},
    "map(string, int64)": {"a": np.int64(1), "é": np.int64(2)},
    "map(int64, string)": {1: "one", 2: "two"},
    "seq(map(string, float))": [{"a": np.float32(1)}, {"b": np.float32(2)}],
    "map(int64, seq(tensor(float)))": {7: [X]},
}


@pytest.mark.parametrize("kind", VALUES)
def test_a_message_holds_a_value_of_any_type(kind):
    message = message_of("v", VALUES[kind], kind)
    assert message.name == "v"
    assert same(value_of(type(message).FromString(message.SerializeToString())), VALUES[kind])


@pytest.mark.parametrize("kind", ["seq(tensor(float))", "optional(tensor(float))", "optional(seq(tensor(float)))"])
@pytest.mark.parametrize("empty", [False, True])
def test_empty_values_keep_what_is_known(kind, empty):
    value = ([] if kind.startswith("seq") else None) if empty else VALUES[kind]
    message = message_of("v", value, kind)
    assert same(value_of(message), value)


JUDGES = {"SequenceProto": "to_list", "OptionalProto": "to_optional", "MapProto": "to_dict", "TensorProto": "to_array"}


@pytest.mark.parametrize(
    "kind",
    ["tensor(float)", "seq(tensor(float))", "seq(seq(tensor(int64)))", "optional(tensor(float))", "map(int64, float)"],
)
def test_onnx_reads_the_same(kind):
    message = message_of("v", VALUES[kind], kind)
    name = message.DESCRIPTOR.name
    theirs = getattr(onnx, name).FromString(message.SerializeToString())
    assert same(getattr(onnx.numpy_helper, JUDGES[name])(theirs), VALUES[kind])


def test_what_onnx_writes_is_read():
    for value, theirs in [
        ([X, X], onnx.numpy_helper.from_list([X, X])),
        ([], onnx.numpy_helper.from_list([])),
        (X, onnx.numpy_helper.from_optional(X)),
        (None, onnx.numpy_helper.from_optional(None)),
        ({1: X[0, 0], 2: X[1, 1]}, onnx.numpy_helper.from_dict({1: X[0, 0], 2: X[1, 1]})),
    ]:
        kind = getattr(pb, type(theirs).__name__)
        assert same(value_of(kind.FromString(theirs.SerializeToString())), value)


def mapping(keys, values):
    message = pb.MapProto(key_type=7, keys=keys)
    message.values.CopyFrom(message_of("", [np.float32(each) for each in values], "seq(tensor(float))"))
    return message


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (mapping([1, 2], [1]), "1 values, and 2 different keys of 2"),
        (mapping([1, 1], [1, 2]), "2 values, and 1 different keys of 2"),
        (pb.SequenceProto(elem_type=77), "77 is no kind"),
        (pb.SequenceProto(elem_type=1, map_values=[pb.MapProto()]), "map_value, and tensor_value is what it says"),
        (pb.MapProto(key_type=7, string_keys=[b"a"]), "it has keys that are text"),
        (pb.TensorProto(data_type=1, dims=[1] * 70, raw_data=bytes(4)), "no array of its dims"),
        (pb.TensorProto(data_type=8, dims=[0, 1 << 62, 1 << 62]), "no array of its dims"),
        (pb.OptionalProto(elem_type=-1), "-1 is no kind"),
        (pb.TensorProto(data_type=8, dims=[1 << 40]), "it has 0 strings, and its dims ask for 1099511627776"),
        (pb.TensorProto(data_type=1, dims=[1 << 40]), "it has 0 bytes, and dims and type ask for 4398046511104"),
        (pb.TensorProto(data_type=99, dims=[1]), "99 is no element type"),
        (pb.TensorProto(data_type=8, dims=[-1] * 8), "its dims [-1, -1, -1, -1, -1, -1, -1, -1] hold"),
        (pb.TensorProto(data_type=8, dims=[-1] * 9), "its dims [-1, -1, -1, -1, -1, -1, -1, -1, …] hold"),
    ],
)
def test_messages_that_do_not_fit_are_told(message, why):
    with pytest.raises(ModelError) as caught:
        value_of(message)
    assert caught.value.code == "M206" and why in caught.value.why


@pytest.mark.parametrize(
    ("value", "kind", "why"),
    [
        ({1: np.float32(1)}, "map(?)", "not declared"),
        ({1 << 70: np.float32(1)}, "map(int64, float)", "no integer of 64 bits"),
    ],
)
def test_values_that_no_message_holds_are_told(value, kind, why):
    with pytest.raises(ModelError) as caught:
        message_of("v", value, kind)
    assert caught.value.code == "M206" and why in caught.value.why


def test_a_dtype_that_no_tensor_has_is_told():
    with pytest.raises(ModelError, match="datetime64"):
        tensor_of("x", np.array(["2020-01-01"], "datetime64[D]"))


ONE = tensor_of("", X[0, :1])
BITS = np.array([0x3F80, 0xC000], np.uint16)


def test_uint16_is_the_bits_of_a_declared_bfloat16():
    numbers = np.array([1, -2], DTYPES[16])
    assert same(value_of(tensor_of("", BITS), kind="tensor(bfloat16)"), numbers)
    assert same(value_of(tensor_of("", BITS), kind="tensor(uint16)"), BITS)
    assert same(value_of(tensor_of("", BITS)), BITS)
    sequence = message_of("", [BITS], "seq(tensor(uint16))")
    assert same(value_of(sequence, kind="seq(tensor(bfloat16))"), [numbers])
    assert same(value_of(sequence, kind="seq(?)"), [BITS])
    assert same(value_of(ONE, kind="tensor(int64)"), X[0, :1])  # of another type than declared: the caller knows more


@pytest.mark.parametrize(
    ("number", "raw", "elements"),
    [(22, b"\xf8\x07", [-8, -1, 7, 0]), (21, b"\xf8\x07", [8, 15, 7, 0]), (26, b"\xe4", [0, 1, -2, -1]),
     (25, b"\xe4", [0, 1, 2, 3])],
)  # fmt: skip
def test_integers_of_few_bits_have_a_sign_or_none(number, raw, elements):
    tensor = pb.TensorProto(data_type=number, dims=[4], raw_data=raw)
    array = array_of(None, tensor)
    assert array.astype(int).tolist() == elements and tensor_of("", array).raw_data == raw


def test_bytes_of_truth_values_are_true_unless_they_are_0():
    found = array_of(None, pb.TensorProto(data_type=9, dims=[3], raw_data=b"\0\1\2"))
    assert (found.dtype, found.tobytes()) == (np.dtype(bool), b"\0\1\1")


@pytest.mark.parametrize(
    ("message", "kind", "why"),
    [
        (pb.SequenceProto(map_values=[mapping([1], [1])]), "seq(tensor(float))",
         "it holds map_value, and seq(tensor(float)) is declared"),
        (pb.SequenceProto(tensor_values=[ONE], map_values=[mapping([1], [1])]), "seq(tensor(float))", "map_value"),
        (pb.OptionalProto(elem_type=1, tensor_value=ONE), "optional(seq(tensor(float)))",
         "it holds tensor_value, and optional(seq(tensor(float))) is declared"),
        (pb.SequenceProto(tensor_values=[ONE]), "seq(tensor(int64))", "of float32, and tensor(int64) is declared"),
        (pb.OptionalProto(elem_type=1, tensor_value=ONE), "optional(tensor(int64))",
         "of float32, and tensor(int64) is declared"),
        (pb.SequenceProto(tensor_values=[ONE], map_values=[mapping([1], [1])]), None,
         "it holds map_value, and tensor_value is what it says"),
        (pb.SequenceProto(tensor_values=[ONE]), "tensor(float)", "a SequenceProto, and tensor(float) is declared"),
        (mapping([1], [1]), "map(string, float)", "it has keys that are no text, and map(string, float) is declared"),
        (pb.MapProto(key_type=8, string_keys=[b"a"]), "map(int64, float)", "it has keys that are text"),
        (mapping([1], [1]), "map(int64, int64)", "of float32, and tensor(int64) is declared"),
        (pb.MapProto(keys=[1, 2], values=pb.SequenceProto(tensor_values=[ONE, tensor_of("", X)])), "map(int64, float)",
         "a tensor that is no single value"),
    ],
)  # fmt: skip
def test_a_message_of_something_else_than_is_declared_is_refused(message, kind, why):
    with pytest.raises(ModelError) as caught:
        value_of(message, kind=kind)
    assert caught.value.code == "M206" and why in caught.value.why


def test_bytes_that_are_no_message_are_refused():
    with pytest.raises(ModelError) as caught:
        decode_message("TensorProto", b"\x42\x05w")
    assert caught.value.code == "M103"


def test_python_numbers_become_elements_of_the_declared_type():
    assert same(value_of(message_of("x", [1, 2], "tensor(float)")), np.float32([1, 2]))
    assert value_of(message_of("x", [-8, 7], "tensor(int4)")).tolist() == [-8, 7]
    for beyond in (-9, 8):
        with pytest.raises(OverflowError, match="out of bounds for int4, -8 to 7"):
            message_of("x", [0, beyond], "tensor(int4)")


def test_elements_of_few_bits_are_packed_piece_by_piece(monkeypatch):
    monkeypatch.setattr(conversions, "_PIECE", 8)
    for element in ELEMENTS.values():
        if 0 < element.bits < 8:
            array = np.arange(21, dtype=np.uint8).astype(np.int8).astype(DTYPES[element.number])
            tensor = tensor_of("x", array)
            assert len(tensor.raw_data) == -(-21 * element.bits // 8) and same(array_of(None, tensor), array)


@pytest.mark.parametrize("kind", VALUES)
def test_a_message_is_read_as_it_is_declared(kind):
    assert same(value_of(message_of("v", VALUES[kind], kind), kind=kind), VALUES[kind])


def test_parts_that_are_there_count_where_the_message_does_not_say_of_which_kind_they_are():
    assert same(value_of(pb.SequenceProto(tensor_values=[ONE])), [X[0, :1]])
    assert value_of(pb.OptionalProto(elem_type=3), kind="optional(tensor(float))") is None


def test_a_limit_holds_for_all_tensors_together_and_what_a_sparse_one_unfolds_to():
    two = message_of("v", {1: [X, X]}, "map(int64, seq(tensor(float)))")
    assert same(value_of(two, 48), {1: [X, X]})
    with pytest.raises(ModelError, match="it takes 48 bytes, and no more than 47 were to be read"):
        value_of(two, 47)
    with pytest.raises(ModelError, match="it takes 196 bytes"):
        value_of(tensor_of("", TEXT), 100)
    sparse = pb.SparseTensorProto(dims=[1 << 30])
    sparse.values.CopyFrom(tensor_of("", X[0]))
    sparse.indices.CopyFrom(tensor_of("", np.array([1, 3, 5])))
    sparse.values.name = "s"
    with pytest.raises(ModelError, match="no more than 1000 bytes") as caught:
        dense_of(None, sparse, 1000)
    assert caught.value.place == "tensor 's'"
    sparse.dims[:] = [2, 3]
    assert value_of(sparse, 1000).tolist() == [[0, 1, 0], [2, 0, 3]]
    small = pb.TensorProto(data_type=22, dims=[4], raw_data=b"\x21\x43")  # int4: two in a byte
    assert array_of(None, small, 4).tolist() == [1, 2, 3, 4]
    with pytest.raises(ModelError, match="it has 4 elements of a byte each, and 3 bytes are allowed"):
        array_of(None, small, 3)


@pytest.mark.parametrize(
    ("indices", "why"),
    [
        (np.array([[0, 1], [1, 0], [1, 2]]), ""),
        (np.array([1, 3, 5], np.int32), "one int64"),
        (np.array([1, 3]), "for each value"),
        (np.zeros((3, 2, 1), int), "one row"),
        (np.array([[0], [1], [1]]), "outside its dims"),
        (np.array([[0, 1], [1, 0], [-1, 2]]), "outside its dims"),
        (np.array([[0, 1], [1, 0], [1, 3]]), "outside its dims"),
        (np.array([-1, 3, 5]), "outside its dims"),
        (np.array([1, 3, 6]), "outside its dims"),
    ],
)
def test_indices_fit_values_and_dims(indices, why):
    sparse = pb.SparseTensorProto(dims=[2, 3])
    sparse.values.CopyFrom(tensor_of("", X[0]))
    sparse.indices.CopyFrom(tensor_of("", indices))
    if not why:
        assert dense_of(None, sparse).tolist() == [[0, 1, 0], [2, 0, 3]]
        for part in (sparse.values, sparse.indices):  # one of each, and no row of them
            part.CopyFrom(pb.TensorProto(data_type=part.data_type, raw_data=bytes(4 if part is sparse.values else 8)))
        why = "one int64, or one row"
    with pytest.raises(ModelError, match=why) as caught:
        dense_of(None, sparse)
    assert caught.value.code == "M206"


@pytest.mark.parametrize(
    ("dtype", "number"),
    [
        ("<f4", 1), (">f4", 1), ("=f4", 1), (">i8", 7), ("u1", 2), ("?", 9), (">f2", 10), (">c16", 15), ("U3", STRING),
        ("S1", STRING), ("O", STRING), ("M8[s]", None), ("f16", None),
    ],
)  # fmt: skip
def test_the_element_type_of_a_dtype_in_any_byte_order(dtype, number):
    assert data_type_of(np.dtype(dtype)) == number
