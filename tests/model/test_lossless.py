"""Nothing is lost: every field of every message, however it is encoded, comes out as it went in."""

import math
import random
import struct
from functools import cache

import onnx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from opset.errors import Finding, ModelError
from opset.model import load, proto
from opset.model.storage import reading, source, wire
from opset.model.storage.external import findings, tensors
from opset.model.storage.tensor import tensor_values
from tests.bounds import draws

F = onnx.ModelProto.DESCRIPTOR.fields[0]
VARINTS = {F.TYPE_INT32, F.TYPE_INT64, F.TYPE_UINT64, F.TYPE_ENUM, F.TYPE_BOOL}
PAYLOADS = {"raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data"}
LARGE = wire.THRESHOLD + 8
INTEGERS = (0, 1, 2, 5, 127, 128, 8, 300, 2**31 - 1, 2**32 + 1, 2**63 - 1, 2**64 - 1)
FLOATS = (0.0, -0.0, 1.5, float("inf"), float("nan"))
TEXTS = (b"", b"x", b"value", b"\xff\xfe", "\u202edn".encode(), b"\0", b"a" * 40)


def varint(value, rng=None):
    """Return a varint, now and then longer than it need be."""
    out = wire.varint(value)
    if rng and len(out) < 9 and rng.random() < 0.05:
        out = out[:-1] + bytes((out[-1] | 0x80, 0x80, 0))
    return out


def delimited(number, content, rng=None):
    return varint(number << 3 | 2, rng) + varint(len(content), rng) + content


def scalar(rng, f):
    """Return the content of one element of a field that is neither text nor message."""
    if f.type in VARINTS:
        return varint(rng.choice(INTEGERS), rng)
    if f.type == F.TYPE_FLOAT:
        return rng.choice([struct.pack("<f", rng.choice(FLOATS)), b"\x01\x00\xa0\x7f"])  # the latter a signalling NaN
    return rng.choice([struct.pack("<d", rng.choice(FLOATS)), b"\x01\x00\x00\x00\x00\x00\xf4\x7f"])


def wire_type(f):
    return 0 if f.type in VARINTS else 5 if f.type == F.TYPE_FLOAT else 1


def field(rng, f, depth):
    """Return one occurrence of a field, encoded in any way that a reader has to accept."""
    if f.message_type:
        return delimited(f.number, message(rng, f.message_type, depth + 1), rng)
    large = f.name in PAYLOADS and rng.random() < 0.3
    if f.type in (F.TYPE_STRING, F.TYPE_BYTES):
        return delimited(f.number, rng.randbytes(LARGE) if large else rng.choice(TEXTS), rng)
    if f.is_repeated and (large or rng.random() < 0.5):
        count = LARGE if large else rng.randrange(4)
        return delimited(f.number, b"".join(scalar(rng, f) for _ in range(count)), rng)
    return varint(f.number << 3 | wire_type(f), rng) + scalar(rng, f)


def unknown(rng, depth=0):
    """Return a field that no message has, groups included."""
    number = rng.choice((99, 1000, 2**29 - 2))
    kind = rng.randrange(5 if depth < 3 else 4)
    head = varint(number << 3 | (0, 1, 2, 5, 3)[kind])
    if kind == 4:
        return head + b"".join(unknown(rng, depth + 1) for _ in range(rng.randrange(3))) + varint(number << 3 | 4)
    return head + (varint(rng.choice(INTEGERS)), rng.randbytes(8), varint(5) + rng.randbytes(5), rng.randbytes(4))[kind]


def message(rng, descriptor, depth=0):
    """Return an encoded message: fields in any order, any of them twice, with unknown ones among them."""
    fields = list(descriptor.fields)
    parts = []
    for _ in range(rng.randrange(6 if depth < 7 else 2)):
        f = rng.choice(fields)
        if depth >= 9 and f.message_type:
            continue
        parts += [field(rng, f, depth) for _ in range(rng.choice((1, 1, 1, 2)))]
    if rng.random() < 0.1:
        parts.append(unknown(rng))
    if rng.random() < 0.05:
        parts.append(varint(rng.choice(fields).number << 3) + b"\x07")  # a known number, mostly of another wire type
    rng.shuffle(parts)
    return b"".join(parts)


def model(seed):
    """Return an encoded model: now and then of anything, mostly with data where it is usually found."""
    rng = random.Random(seed)
    types = onnx.onnx_ml_pb2.DESCRIPTOR.message_types_by_name
    parts = [b"\x08\x0a", message(rng, types["ModelProto"])]
    for _ in range(rng.randrange(4)):
        tensor = message(rng, types["TensorProto"], 4)
        attribute = delimited(5, tensor) + (
            delimited(5, message(rng, types["TensorProto"], 5)) if rng.random() < 0.5 else b""
        )
        graph = rng.choice(
            [delimited(5, tensor), delimited(1, delimited(5, attribute)), message(rng, types["GraphProto"])]
        )
        parts.append(delimited(7, graph))
    rng.shuffle(parts)
    return b"".join(parts)


models = st.integers(0, 2**64).map(model)
many = settings(max_examples=draws(400), suppress_health_check=list(HealthCheck))


def plain(message):
    return message.SerializeToString(deterministic=True)


def touched(data):
    theirs = onnx.ModelProto.FromString(data)
    theirs.producer_name = "touched"
    return plain(theirs)


@many
@given(models)
def test_an_unchanged_model_keeps_every_byte(data):
    assert load(data).SerializeToString() == data


@many
@given(models)
def test_a_changed_model_keeps_all_that_was_not_changed(data):
    ours = load(data)
    ours.proto.producer_name = "touched"
    assert plain(onnx.ModelProto.FromString(ours.SerializeToString())) == touched(data)


@settings(max_examples=50, suppress_health_check=list(HealthCheck))
@given(models)
def test_the_same_holds_for_files_that_stay_on_disk(tmp_path, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "IN_MEMORY", 0)
        (tmp_path / "in.onnx").write_bytes(data)
        ours = load(tmp_path / "in.onnx")
        ours.save(tmp_path / "same.onnx", force=True)
        ours.proto.producer_name = "touched"
        ours.save(tmp_path / "touched.onnx", force=True)
    assert (tmp_path / "same.onnx").read_bytes() == data
    assert plain(onnx.load_model(tmp_path / "touched.onnx", load_external_data=False)) == touched(data)


@many
@given(models)
def test_every_tensor_has_values_or_an_error(data):
    ours = load(data)
    assert all(isinstance(finding, Finding) for finding in findings(ours.proto, ours.folder))
    for tensor in tensors(ours.proto):
        try:
            count = len(tensor_values(ours, tensor, 10_000))
        except ModelError as error:
            assert error.code in ("M202", "M204", "M206", "M207")
        else:
            assert count == math.prod(tensor.dims)


@cache
def paths():
    """Return, for each message type that a model can hold, the numbers of the fields on a shortest way to it."""
    found = {onnx.ModelProto.DESCRIPTOR: ()}
    for descriptor, path in (pending := list(found.items())):
        for f in descriptor.fields:
            if f.message_type and f.message_type not in found:
                found[f.message_type] = (*path, f.number)
                pending.append((f.message_type, found[f.message_type]))
    return found


def test_each_field_of_each_message_alone():
    rng = random.Random(0)
    fields = [(f, path) for descriptor, path in paths().items() for f in descriptor.fields]
    assert len(fields) > 130
    for f, path in fields:
        if f.message_type:
            contents = [delimited(f.number, b"")]
        elif f.type in (F.TYPE_STRING, F.TYPE_BYTES):
            contents = [delimited(f.number, text) for text in (*TEXTS, rng.randbytes(LARGE))]
        else:
            contents = [varint(f.number << 3 | wire_type(f)) + scalar(rng, f) for _ in range(12)]
            if f.is_repeated:
                contents += [delimited(f.number, b"".join(scalar(rng, f) for _ in range(n))) for n in (0, 1, LARGE)]
        for content in contents:
            for number in reversed(path):
                content = delimited(number, content)
            data = b"\x08\x0a" + content
            ours = load(data)
            assert ours.SerializeToString() == data, f.full_name
            ours.proto.producer_name = "touched"
            assert plain(onnx.ModelProto.FromString(ours.SerializeToString())) == touched(data), f.full_name


def in_tensor(*fields):
    return b"\x08\x0a" + delimited(7, delimited(5, b"".join(fields)))


BIG, SMALL = bytes(LARGE), b"\1\2\3\4"


@given(st.lists(st.sampled_from([9, 4, 5]).flatmap(lambda n: st.sampled_from([(n, BIG), (n, SMALL)])), max_size=6))
@example([(9, BIG), (9, SMALL)])
@example([(9, BIG), (9, b"")])
@example([(4, BIG), (4, SMALL), (4, BIG)])
def test_fields_that_stand_twice_keep_their_order(fields):
    data = in_tensor(*(delimited(number, content) for number, content in fields))
    attribute = b"".join(delimited(5, delimited(number, content)) for number, content in fields)
    merged = b"\x08\x0a" + delimited(7, delimited(1, delimited(5, attribute)))
    for bytes_in in (data, merged):
        ours = load(bytes_in)
        ours.proto.producer_name = "touched"
        assert plain(onnx.ModelProto.FromString(ours.SerializeToString())) == touched(bytes_in)


def test_large_data_is_left_out_of_the_message():
    for number in (9, 4, 5, 7, 10, 11):
        ours = load(in_tensor(delimited(number, bytes(80_000))))
        assert ours.proto.ByteSize() < 100
        assert len(ours.proto.graph.initializer[0].opset_payload) == 1


def test_a_file_that_holds_the_placeholder_field_itself_is_harmless():
    number = 536870911
    for entry in (b"", bytes(24), b"x" * 24, bytes(3000)):
        data = in_tensor(delimited(number, entry), delimited(9, BIG))
        ours = load(data)
        assert ours.SerializeToString() == data
        assert len(ours.segments(ours.proto.graph.initializer[0])) == 1
        ours.proto.producer_name = "touched"
        assert plain(onnx.ModelProto.FromString(ours.SerializeToString())) == touched(data)
    wrong_wire = in_tensor(varint(number << 3) + b"\x05", delimited(9, BIG))
    assert load(wrong_wire).SerializeToString() == wrong_wire


def test_a_token_of_another_load_is_harmless():
    first, second = load(in_tensor(delimited(9, BIG))), load(in_tensor(delimited(9, SMALL)))
    second.proto.graph.initializer[0].CopyFrom(first.proto.graph.initializer[0])
    assert second.segments(second.proto.graph.initializer[0]) == []
    assert onnx.ModelProto.FromString(second.SerializeToString()).graph.initializer[0].raw_data == b""


def test_a_token_outside_of_tensors_is_plain_bytes():
    ours = load(in_tensor(delimited(9, BIG)))
    entry = ours.proto.graph.initializer[0].opset_payload[0]
    ours.proto.graph.node.add(op_type="A").attribute.add(name="a", s=entry)
    ours.proto.graph.initializer[0].string_data.append(entry)
    theirs = onnx.ModelProto.FromString(ours.SerializeToString())
    assert theirs.graph.node[0].attribute[0].s == theirs.graph.initializer[0].string_data[0] == entry
    assert theirs.graph.initializer[0].raw_data == BIG


def test_tensors_may_be_copied_moved_and_dropped():
    ours = load(in_tensor(delimited(8, b"w"), delimited(9, BIG)))
    tensor = ours.proto.graph.initializer[0]
    ours.proto.graph.node.add(op_type="Constant").attribute.add(name="value").t.CopyFrom(tensor)
    del ours.proto.graph.initializer[:]
    theirs = onnx.ModelProto.FromString(ours.SerializeToString())
    assert theirs.graph.node[0].attribute[0].t.raw_data == BIG
    assert not theirs.graph.initializer


def test_another_message_over_the_same_data():
    ours = load(in_tensor(delimited(9, BIG)))
    copy = proto.ModelProto()
    copy.CopyFrom(ours.proto)
    copy.producer_name = "copy"
    assert onnx.ModelProto.FromString(ours.with_proto(copy).SerializeToString()).graph.initializer[0].raw_data == BIG
    assert ours.proto.producer_name == ""


def test_a_model_comes_back_as_what_it_was_given_as():
    theirs = onnx.ModelProto.FromString(in_tensor(delimited(9, BIG)))
    back = load(theirs).as_given()
    assert isinstance(back, onnx.ModelProto) and back == theirs
    ours = load(plain(theirs))
    assert ours.as_given() is ours
    assert load(ours) is ours


def test_numbers_and_fields_of_the_wire_format():
    assert [wire.varint(value) for value in (0, 127, 128, 300)] == [b"\0", b"\x7f", b"\x80\1", b"\xac\2"]
    data = b"\x08\1\x13\x0b\x08\1\x0c\x14\x1a\1a"  # a number, a group that holds a group, and bytes
    assert [*wire.fields(source.BytesSource(data), 0, len(data))] == [
        (1, wire.VARINT, 0, 1, 2), (2, wire.START_GROUP, 2, 2, 8), (3, wire.LENGTH, 8, 10, 11),
    ]  # fmt: skip
