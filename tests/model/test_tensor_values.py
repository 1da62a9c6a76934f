"""Values of tensors, of every type and in every place, compared with what onnx and ml_dtypes make of the same bytes."""

import math
import struct
from itertools import pairwise

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from opset.errors import ModelError
from opset.model import load, proto
from opset.model.elements import ELEMENTS, STRING
from opset.model.storage.encoding import element_bits, pattern_values
from opset.model.storage.tensor import held_entries, make_tensor, tensor_bytes, tensor_values, whole_tensor
from tests.bounds import draws

TYPES = sorted(ELEMENTS.keys() - {STRING})
NAMES = {number: ELEMENTS[number].name.upper() for number in TYPES}
SMALL = [number for number in TYPES if ELEMENTS[number].bits <= 8]
FLOATS = [10, 11, 16, 1, 17, 18, 19, 20, 23, 24, 27, 28]
by_name = pytest.mark.parametrize("data_type", TYPES, ids=NAMES.values())


def ours(theirs):
    return proto.TensorProto.FromString(theirs.SerializeToString())


def listed(array):
    """Return the elements of an array as Python objects; the small types of ml_dtypes are no numbers of Python."""
    flat = array.ravel()
    if flat.dtype.name.endswith(("int4", "int2")):
        return flat.astype(np.int64).tolist()
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return flat.astype(np.float64).tolist() if "float" in flat.dtype.name else flat.tolist()


def same(found, expected):
    """Return whether two lists hold the same values: NaN is NaN, and zero has a sign."""
    assert len(found) == len(expected)
    assert [type(value) for value in found] == [type(value) for value in expected]
    assert [repr(value) for value in found] == [repr(value) for value in expected]


def raw(data_type, data):
    count = len(data) * 8 // ELEMENTS[data_type].bits
    if data_type == TensorProto.BOOL:
        data = bytes(byte & 1 for byte in data)
    return TensorProto(data_type=data_type, dims=[count], raw_data=data)


def test_the_table_of_types():
    names = dict(TensorProto.DataType.items())
    assert {element.name.upper(): number for number, element in ELEMENTS.items()} | {"UNDEFINED": 0} == names
    for number, element in ELEMENTS.items():
        assert helper.tensor_dtype_to_field(number) == element.field
    assert [element_bits(number) for number in (1, 15, 22, 26, 28)] == [32, 128, 4, 2, 6]
    for number in (0, STRING, 99):
        with pytest.raises(ModelError) as caught:
            element_bits(number)
        assert caught.value.code == "M206"


@by_name
@settings(max_examples=30)
@given(data=st.data())
def test_raw_data(data_type, data):
    unit = 48 if ELEMENTS[data_type].bits == 6 else 16
    theirs = raw(
        data_type, data.draw(st.binary(min_size=0, max_size=6 * unit).map(lambda b: b[: len(b) // unit * unit]))
    )
    same(tensor_values(None, ours(theirs)), listed(numpy_helper.to_array(theirs)))


@pytest.mark.parametrize("data_type", SMALL, ids=[NAMES[number] for number in SMALL])
def test_every_pattern_of_the_small_types(data_type):
    theirs = raw(data_type, bytes(range(256)) * 3)
    same(tensor_values(None, ours(theirs)), listed(numpy_helper.to_array(theirs)))
    if ELEMENTS[data_type].small_float and ELEMENTS[data_type].bits == 8:  # made anew, whatever was made before
        same([*pattern_values.__wrapped__(data_type)] * 3, listed(numpy_helper.to_array(theirs)))


@pytest.mark.parametrize("data_type", [4, 5, 10, 16], ids=["UINT16", "INT16", "FLOAT16", "BFLOAT16"])
def test_every_pattern_of_the_16_bit_types(data_type):
    theirs = raw(data_type, np.arange(65536, dtype="<u2").tobytes())
    same(tensor_values(None, ours(theirs)), listed(numpy_helper.to_array(theirs)))


def values_of(data_type):
    table = {
        2: [0, 255], 3: [-128, 127, -1], 4: [0, 65535], 5: [-32768, 32767], 6: [-(2**31), 2**31 - 1],
        7: [-(2**63), 2**63 - 1], 9: [True, False, True], 12: [0, 2**32 - 1], 13: [0, 2**64 - 1], 14: [1 + 2j, -0.5j],
        15: [1e300 + 2j, -3.5], 21: [0, 15, 7], 22: [-8, 7, -1], 24: [1.0, 0.5, 4.0], 25: [0, 3, 1, 2, 3],
        26: [-2, 1, -1, 0, 1],
    }  # fmt: skip
    return table.get(data_type, [0.0, 1.0, -1.5, 0.5, 2.0])


@by_name
def test_typed_fields_and_what_we_write(data_type):
    values = values_of(data_type)
    dims = [len(values), 1]
    typed = helper.make_tensor("t", data_type, dims, values)
    expected = listed(numpy_helper.to_array(typed))
    same(tensor_values(None, ours(typed)), expected)
    written = make_tensor("t", data_type, dims, values)
    same(tensor_values(None, written), expected)
    same(listed(numpy_helper.to_array(onnx.TensorProto.FromString(written.SerializeToString()))), expected)
    assert tensor_bytes(None, ours(typed)) == written.raw_data == tensor_bytes(None, written)


@by_name
def test_data_that_stays_in_the_file(data_type):
    values = values_of(data_type) * 1500
    typed = helper.make_tensor("t", data_type, [len(values)], values)
    model = load(helper.make_model(helper.make_graph([], "g", [], [], [typed])).SerializeToString())
    (tensor,) = model.proto.graph.initializer
    assert len(tensor.opset_payload) == 1
    expected = listed(numpy_helper.to_array(typed))
    same(tensor_values(model, tensor), expected)
    assert model.payload(tensor) == make_tensor("t", data_type, [len(values)], values).raw_data
    with pytest.raises(ModelError) as caught:
        tensor_values(None, tensor)
    assert caught.value.code == "M206"


def test_strings():
    texts = ["", "plain", "\u00fcml\u00e4ut", b"\xff\xfe"]
    tensor = make_tensor("t", STRING, [2, 2], texts)
    assert tensor_values(None, tensor) == texts
    with pytest.raises(ModelError):
        tensor_bytes(None, tensor)
    tensor.dims[:] = [3]
    with pytest.raises(ModelError, match="4 strings"):
        tensor_values(None, tensor)
    tensor.data_location = 1
    tensor.dims[:] = [4]
    with pytest.raises(ModelError, match="external"):
        tensor_values(None, tensor)


def test_scalars_and_empty_tensors():
    assert tensor_values(None, make_tensor("t", 7, [], [5])) == [5]
    assert tensor_values(None, make_tensor("t", 1, [3, 0], [])) == []
    assert tensor_values(None, ours(TensorProto(data_type=1, dims=[0]))) == []


def test_a_signalling_nan_keeps_its_bits():
    bits = b"\x01\x00\xa0\x7f"
    for count in (1, 1000):
        tensor = TensorProto.FromString(b"\x08" + bytes([count & 0x7F | 0x80, count >> 7]) + b"\x10\x01")
        packed = onnx.TensorProto(float_data=[0.0] * count).SerializeToString().replace(bytes(4), bits)
        data = tensor.SerializeToString() + packed
        model = load(b"\x08\x0a" + field(7, field(5, data)))
        assert model.payload(model.proto.graph.initializer[0]) == bits * count
    unpacked = b"\x08\x02\x10\x01" + (b"\x25" + bits) * 2 + b"\x22\x00"
    assert tensor_bytes(None, proto.TensorProto.FromString(unpacked)) == bits * 2


def field(number, content):
    size = len(content)
    return bytes([number << 3 | 2, size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14]) + content


@pytest.mark.parametrize(
    "made",
    [
        TensorProto(data_type=1, dims=[2], raw_data=bytes(7)),
        TensorProto(data_type=1, dims=[2], raw_data=bytes(9)),
        TensorProto(data_type=1, dims=[2], raw_data=b""),
        TensorProto(data_type=1, dims=[2]),
        TensorProto(data_type=1, dims=[2], float_data=[1]),
        TensorProto(data_type=1, dims=[2], float_data=[1, 2, 3]),
        TensorProto(data_type=7, dims=[2], int32_data=[1, 2]),
        TensorProto(data_type=1, dims=[-1]),
        TensorProto(data_type=1, dims=[2**40, 2**40]),
        TensorProto(data_type=1, dims=[2**40], raw_data=b"1234"),
        TensorProto(data_type=0, dims=[1], raw_data=b"1234"),
        TensorProto(data_type=99, dims=[1], raw_data=b"1234"),
        TensorProto(data_type=2, dims=[1], int32_data=[256]),
        TensorProto(data_type=2, dims=[2], int32_data=[1, 256]),
        TensorProto(data_type=3, dims=[1], int32_data=[-129]),
        TensorProto(data_type=12, dims=[1], uint64_data=[2**32]),
        TensorProto(data_type=22, dims=[3], int32_data=[1]),
        TensorProto(data_type=22, dims=[3], raw_data=bytes(3)),
        TensorProto(data_type=28, dims=[4], raw_data=bytes(4)),
        TensorProto(data_type=1, dims=[1], raw_data=bytes(4), segment=TensorProto.Segment(begin=0, end=1)),
    ],
)
def test_data_that_does_not_fit(made):
    for read in (tensor_values, tensor_bytes):
        with pytest.raises(ModelError) as caught:
            read(None, ours(made))
        assert caught.value.code == "M206"


def test_limits():
    tensor = make_tensor("t", 1, [10], range(10))
    assert len(tensor_values(None, tensor, 10)) == 10
    assert len(tensor_bytes(None, tensor, 40)) == 40
    for read in (lambda: tensor_values(None, tensor, 9), lambda: tensor_bytes(None, tensor, 39)):
        with pytest.raises(ModelError, match="no more than"):
            read()


def test_damaged_data_that_stays_in_the_file():
    numbers = field(7, b"\x01" * 2000 + b"\x80")
    model = load(b"\x08\x0a" + field(7, field(5, b"\x08\xd0\x0f\x10\x07" + numbers)))
    with pytest.raises(ModelError) as caught:
        model.payload(model.proto.graph.initializer[0])
    assert caught.value.code == "M206"


def stored(*fields):
    """Return a model with a tensor of these bytes, and the tensor."""
    model = load(b"\x08\x0a" + field(7, field(5, b"\x42\x01w" + b"".join(fields))))
    return model, model.proto.graph.initializer[0]


FLOAT_FIELD, INT32_FIELD, STRING_FIELD, INT64_FIELD, RAW_FIELD, DOUBLE_FIELD, UINT64_FIELD = 4, 5, 6, 7, 9, 10, 11


@pytest.mark.parametrize(
    ("fields", "held"),
    [
        ([field(FLOAT_FIELD, bytes(4000))], {"float_data": (1000, 1000)}),
        ([field(FLOAT_FIELD, bytes(4000)), b"\x25\0\0\0\0" * 500], {"float_data": (1500, 1500)}),
        ([field(DOUBLE_FIELD, bytes(4000))], {"double_data": (500, 500)}),
        ([field(DOUBLE_FIELD, bytes(80_000))], {"double_data": (10_000, 10_000)}),
        ([field(INT32_FIELD, b"\x01" * 2000 + b"\x80\x01" * 3)], {"int32_data": (2003, 2003)}),
        ([field(UINT64_FIELD, b"\x81\x01" * 1000)], {"uint64_data": (1000, 1000)}),
        ([field(INT64_FIELD, b"\x01" * 65536)], {"int64_data": (65536, 65536)}),
        ([field(INT64_FIELD, b"\x01" * 65537)], {"int64_data": (6554, 65537)}),
        ([field(INT64_FIELD, b"\x01" * 65540), b"\x38\x01" * 3], {"int64_data": (6557, 65543)}),
        ([field(RAW_FIELD, bytes(3000)), field(RAW_FIELD, bytes(2000))], {"raw_data": (2000, 2000)}),
        ([field(RAW_FIELD, bytes(3000)), field(RAW_FIELD, bytes(20))], {"raw_data": (20, 20)}),
        ([field(RAW_FIELD, bytes(20))], {"raw_data": (20, 20)}),
        ([field(RAW_FIELD, b"")], {"raw_data": (0, 0)}),
        ([field(STRING_FIELD, b"text"), field(STRING_FIELD, b""), field(RAW_FIELD, bytes(3000))],
         {"string_data": (2, 2), "raw_data": (3000, 3000)}),
        ([field(FLOAT_FIELD, bytes(4000)), field(INT64_FIELD, b"\x01" * 2000)],
         {"float_data": (1000, 1000), "int64_data": (2000, 2000)}),
    ],
)  # fmt: skip
def test_entries_are_counted_where_they_are(fields, held):
    assert held_entries(*stored(*fields)) == held


@pytest.mark.parametrize(
    ("number", "size", "name"), [(FLOAT_FIELD, 4001, "float_data"), (DOUBLE_FIELD, 4004, "double_data")]
)
def test_numbers_that_end_early_are_not_counted(number, size, name):
    with pytest.raises(ModelError) as caught:
        held_entries(*stored(field(number, bytes(size))))
    (finding,) = caught.value.findings
    assert (finding.code, finding.place) == ("M206", "tensor 'w'")
    assert finding.why == f"{name} is damaged: it has {size} bytes"


def test_a_tensor_is_whole_with_the_data_that_stays_in_the_file():
    model, tensor = stored(field(INT64_FIELD, b"\x02" * 2000), field(FLOAT_FIELD, bytes(4000)))
    (size,) = (segment.size for segment in model.segments(tensor))
    assert whole_tensor(model, tensor, size - 1) is None
    whole = whole_tensor(model, tensor, size)
    assert (whole.name, [*whole.int64_data], len(whole.float_data)) == ("w", [2] * 2000, 1000)
    model, tensor = stored(field(INT64_FIELD, b"\x02" * 9))
    assert whole_tensor(model, tensor, 0) is tensor
    with pytest.raises(ModelError, match=r"tensor 'w'\n.*its data is damaged: .") as caught:
        whole_tensor(*stored(field(INT64_FIELD, b"\x02" * 2000 + b"\x80")), 4000)
    assert caught.value.code == "M206"


# Writing


@pytest.mark.parametrize("data_type", FLOATS, ids=[NAMES[number] for number in FLOATS])
@settings(max_examples=draws(200))
@given(value=st.floats(width=64, allow_nan=False) | st.floats(-8, 8) | st.floats(-500, 500, width=16))
def test_floats_are_rounded_to_the_nearest_even(data_type, value):
    dtype = helper.tensor_dtype_to_np_dtype(data_type)
    known = (
        {float(v): v for v in tensor_values(None, ours(raw(data_type, bytes(range(256)))))}
        if data_type in SMALL
        else {}
    )
    if data_type in SMALL:
        largest = max(size for size in known if math.isfinite(size))
        fits = abs(value) <= largest or value in known
        if data_type == 24:
            fits = value in known
    else:
        with np.errstate(over="ignore"):
            fits = math.isinf(value) or math.isfinite(
                float(np.float64(value).astype(np.float32 if data_type == 16 else dtype))
            )
        if data_type == 16 and fits and math.isfinite(value):
            fits = abs(value) < 3.3961775292304957e38  # half a step above the greatest
    if not fits:
        with pytest.raises(ModelError):
            make_tensor("t", data_type, [1], [value])
        return
    (found,) = tensor_values(None, make_tensor("t", data_type, [1], [value]))
    if data_type == 16:
        exact = min(neighbours(value), key=lambda v: (abs(v - value), struct.pack("<f", v)[2] & 1))
        assert found == exact
        return
    assert found == float(np.array([value], dtype=np.float64).astype(dtype)[0])


@pytest.mark.parametrize("data_type", [17, 18, 19, 20, 23, 27, 28])
def test_ties_go_to_the_even_pattern(data_type):
    dtype = helper.tensor_dtype_to_np_dtype(data_type)
    numbers = sorted({abs(v) for v in tensor_values(None, ours(raw(data_type, bytes(range(255))))) if math.isfinite(v)})
    middles = [(low + high) / 2 for low, high in pairwise(numbers)]
    found = tensor_values(None, make_tensor("t", data_type, [len(middles)], middles))
    assert found == np.array(middles).astype(dtype).astype(np.float64).tolist()


def neighbours(value):
    """Return the BFLOAT16 numbers around a value."""
    near = float(np.float64(value).astype(np.float32).astype(ml_dtypes.bfloat16))
    if not math.isfinite(near):
        return [near]
    around = [np.nextafter(ml_dtypes.bfloat16(near), ml_dtypes.bfloat16(way)) for way in (-np.inf, np.inf)]
    return [v for v in (near, *map(float, around)) if math.isfinite(v)]


@pytest.mark.parametrize(
    ("data_type", "value"),
    [
        (2, 256), (2, -1), (3, 128), (6, 2**31), (7, 2**63), (13, -1), (1, 1e39), (10, 65520.0), (16, 3.4e38),
        (17, 449.0), (19, 65536.0), (21, 16), (21, -1), (22, 8), (25, 4), (26, 2), (23, 7.0), (23, math.nan),
        (24, 0.0), (24, 3.0), (24, -1.0), (23, math.inf), (17, math.inf), (7, 1.5), (7, "text"), (1, None),
        (1, "text"), (22, 0.5), (23, "text"),
    ],
)  # fmt: skip
def test_values_that_no_element_can_hold(data_type, value):
    with pytest.raises(ModelError) as caught:
        make_tensor("t", data_type, [1], [value])
    assert caught.value.code == "M206"


def test_nan_infinity_and_negative_zero():
    for data_type in (1, 10, 11, 16, 19):
        same(
            tensor_values(None, make_tensor("t", data_type, [3], [math.nan, -math.inf, -0.0])),
            [math.nan, -math.inf, -0.0],
        )
    for data_type in (17, 18, 20, 24):
        (found,) = tensor_values(None, make_tensor("t", data_type, [1], [math.nan]))
        assert math.isnan(found)
    for data_type, zero in ((17, "-0.0"), (18, "0.0"), (20, "0.0"), (23, "-0.0"), (27, "-0.0")):
        assert repr(tensor_values(None, make_tensor("t", data_type, [1], [-0.0]))[0]) == zero


def test_wrong_numbers_of_values():
    for dims, values in [([2], [1]), ([2], [1, 2, 3]), ([], []), ([-1], [1]), ([2**40, 2**40], [])]:
        with pytest.raises(ModelError):
            make_tensor("t", 1, dims, values)
    with pytest.raises(ModelError):
        make_tensor("t", 0, [1], [1])


@pytest.mark.parametrize(
    ("value", "pattern"),
    [(2.0**-133, 1), (1.5 * 2.0**-133, 2), (2.5 * 2.0**-133, 2), (2.0**-126, 0x80), (2.0**-126 * (1 + 2.0**-8), 0x80)],
)
def test_small_numbers_of_bfloat16_are_rounded_to_even(value, pattern):
    for sign in (1, -1):
        data = make_tensor("", 16, [1], [sign * value]).raw_data
        assert int.from_bytes(data, "little") == pattern | (sign < 0) << 15
