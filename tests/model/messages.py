"""Random messages of onnx.proto, by their descriptors: whatever a file can hold, sensible or not."""

from google.protobuf import message_factory
from hypothesis import strategies as st

from opset.model import proto as pb
from opset.model.proto import is_repeated

TEXT = st.one_of(
    st.sampled_from(["", "x", "a.b", "float", "none", "a b", '"\\', "\x1b[1m\t\r\n", "é\u202e", "inf"]),
    st.text(max_size=4),
)
BYTES = st.one_of(st.binary(max_size=4), TEXT.map(str.encode))
FLOATS = st.floats(width=32)
NUMBERS = {
    "int32": st.one_of(st.integers(0, 30), st.integers(-(1 << 31), (1 << 31) - 1)),
    "int64": st.one_of(st.integers(-2, 3), st.integers(-(1 << 63), (1 << 63) - 1)),
    "uint64": st.integers(0, (1 << 64) - 1),
}


def scalars(field):
    """Return the values of a field that holds no message."""
    kinds = {
        field.CPPTYPE_FLOAT: FLOATS,
        field.CPPTYPE_DOUBLE: st.floats(),
        field.CPPTYPE_INT32: NUMBERS["int32"],
        field.CPPTYPE_INT64: NUMBERS["int64"],
        field.CPPTYPE_UINT64: NUMBERS["uint64"],
    }
    if field.cpp_type == field.CPPTYPE_ENUM:
        return st.sampled_from([value.number for value in field.enum_type.values])
    if field.cpp_type == field.CPPTYPE_STRING:
        return BYTES if field.type == field.TYPE_BYTES else TEXT
    return kinds[field.cpp_type]


@st.composite
def messages(draw, name, depth=3):
    """Return a message of this name with some fields set, and others in it."""
    message = getattr(pb, name)() if isinstance(name, str) else name()
    for field in message.DESCRIPTOR.fields:
        if field.name == "opset_payload" or not draw(st.booleans()):
            continue
        count = draw(st.integers(0, 2)) if is_repeated(field) else 1
        for _ in range(count):
            if field.message_type is not None:
                if depth:
                    part = draw(messages(message_factory.GetMessageClass(field.message_type), depth - 1))
                    where = getattr(message, field.name)
                    where.append(part) if is_repeated(field) else where.CopyFrom(part)
                continue
            value = draw(scalars(field))
            if is_repeated(field):
                getattr(message, field.name).append(value)
            else:
                setattr(message, field.name, value)
    if draw(st.integers(0, 9)) == 0:
        message.MergeFromString(b"\xca\x3e\x02hi")
    return message
