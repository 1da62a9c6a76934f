"""The wire format of protobuf, walked without building messages and without recursion.

A model's large data is not read: `extract` returns the model's bytes with a small placeholder in place of each large
data field of a TensorProto, the *skeleton*; `splice` puts the data back into the bytes of a skeleton, changed or not.
A placeholder is an entry of the field TensorProto.opset_payload: a random token of the load and an index. The token is
drawn after the file was written, so no file can hold it, and an entry without it is the file's own.

The descriptors of onnx.proto name the fields of each message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from operator import itemgetter
from typing import Final, NamedTuple

from google.protobuf.descriptor import FieldDescriptor

from opset.errors import Finding, ModelError
from opset.model import limits, proto
from opset.model.limits import MAX_CHECKED, MAX_DIAGNOSED, MAX_MESSAGE_DEPTH, MAX_TEXT_START
from opset.model.storage.source import BytesSource, Source

THRESHOLD: Final = 1024
"""A data field of more bytes than this stays in the file; a smaller message is not searched for one."""
TOKEN_SIZE: Final = 16
VARINT, FIXED64, LENGTH, START_GROUP, END_GROUP, FIXED32 = range(6)

_WINDOW: Final = 16384
_HEADER: Final = 20  # a tag and a length are ten bytes each at most
_PAYLOAD_FIELD: Final = 536870911
RAW_DATA: Final = 9
_STRING_DATA: Final = 6
_ATTRIBUTE_LISTS: Final = frozenset({7, 8, 9})  # floats, ints, strings
TYPED_FIELDS: Final = {"float_data": 4, "int32_data": 5, "int64_data": 7, "double_data": 10, "uint64_data": 11}
# The data fields, and the wire type of their elements where they are not packed.
_DATA_FIELDS: Final = {RAW_DATA: LENGTH, 4: FIXED32, 5: VARINT, 7: VARINT, 10: FIXED64, 11: VARINT}

_CUT: Final = "the message ends inside a number"
_LONG: Final = "a number is longer than 64 bits"
_DEEPER: Final = f"more than {MAX_MESSAGE_DEPTH} messages are nested here, and protobuf reads no more than that"


class WireError(Exception):
    """Bytes that are no message: the code of the error, the offset at which it shows, and the reason."""

    def __init__(self, code: str, offset: int, why: str) -> None:
        super().__init__(code, offset, why)
        self.code, self.offset, self.why = code, offset, why
        self.path = ""

    def __str__(self) -> str:
        return self.why


class Field(NamedTuple):
    """One field of a message: number, wire type, and the offsets of its tag and of its content's start and end."""

    number: int
    wire: int
    tag: int
    start: int
    end: int


class Segment(NamedTuple):
    """Whole fields of a TensorProto that stay in their source: `header`, then its bytes from start to end."""

    source: Source
    start: int
    end: int
    header: bytes = b""

    @property
    def size(self) -> int:
        """Number of bytes that it adds to a message."""
        return len(self.header) + self.end - self.start

    def read(self) -> bytes:
        """Return its bytes; raise ModelError M105 if the source changed."""
        with self.source.descriptor():
            return self.header + self.source.read(self.start, self.end - self.start)


class SubMessage(NamedTuple):
    """A field that holds a message: its name, the message's type, and whether it is repeated."""

    name: str
    type: str
    repeated: bool


@cache
def sub_messages() -> dict[str, dict[int, SubMessage]]:
    """Return, for each message type, its fields that hold messages, by number."""
    fields_of: dict[str, dict[int, SubMessage]] = {}
    pending = list(proto.FILE.message_types_by_name.values())
    for descriptor in pending:
        pending.extend(descriptor.nested_types)
        fields_of[descriptor.full_name] = {
            f.number: SubMessage(f.name, f.message_type.full_name, proto.is_repeated(f))
            for f in descriptor.fields
            if f.message_type is not None
        }
    return fields_of


@cache
def fields_toward_tensors() -> dict[str, dict[int, str]]:
    """Return, for each message type, its fields below which a TensorProto can be, and the type of their messages."""
    fields_of = sub_messages()
    leading = {"onnx.TensorProto"}
    while more := {t for t, fs in fields_of.items() if any(f.type in leading for f in fs.values())} - leading:
        leading |= more
    return {t: {n: f.type for n, f in fs.items() if f.type in leading} for t, fs in fields_of.items()}


def varint(value: int) -> bytes:
    """Return a non-negative number in protobuf's variable-length form."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def header(number: int, length: int) -> bytes:
    """Return the tag and the length of a length-delimited field."""
    return varint(number << 3 | LENGTH) + varint(length)


def fields(source: Source, start: int, end: int, depth: int = 0, least: int = 0) -> Iterator[Field]:
    """Yield the fields of the message between `start` and `end`, in order; raise WireError if it is malformed.

    A group is given as one field. Contents are not read. `depth` is how many messages the message is nested in.
    With `least`, numbers and length-delimited fields whose content has fewer bytes need not be yielded.
    """
    window, base, position = b"", start, start
    groups: list[int] = []
    outermost = start
    while position < end:
        index = position - base
        if index + _HEADER > len(window) and base + len(window) < end:
            base, index = position, 0
            window = source.read(base, min(_WINDOW, end - base))
        if least:
            after = _skip_small_fields(window, index, end - base, least)
            if after > index:
                position = base + after
                continue
        tag_start = position
        tag = window[index]
        index += 1
        if tag > 0x7F:
            tag, index = _varint_at(window, index - 1, base)
        number, wire = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise WireError("M103", tag_start, f"{number} is not a field number")
        content = base + index
        if wire == LENGTH:
            if index >= len(window):
                raise WireError("M103", content, "the message ends where a length is expected")
            length = window[index]
            index += 1
            if length > 0x7F:
                length, index = _varint_at(window, index - 1, base)
            content = base + index
            position = content + length
        elif wire == VARINT:
            position = base + _varint_at(window, index, base)[1]
        elif wire == FIXED32:
            position = content + 4
        elif wire == FIXED64:
            position = content + 8
        elif wire == START_GROUP:
            position = content
            if not groups:
                outermost = tag_start
            groups.append(number)
            if depth + len(groups) > MAX_MESSAGE_DEPTH:
                raise WireError("M104", tag_start, _DEEPER)
        elif wire == END_GROUP:
            position = content
            if not groups or groups.pop() != number:
                raise WireError("M103", tag_start, f"a group {number} ends that did not begin")
            if not groups:
                yield Field(number, START_GROUP, outermost, outermost, position)
            continue
        else:
            raise WireError("M103", tag_start, f"{wire} is not a wire type")
        if position > end:
            why = f"field {number} needs {position - content} bytes, and {end - content} are left"
            raise WireError("M103", tag_start, why)
        if not groups:
            yield Field(number, wire, tag_start, content, position)
    if groups:
        raise WireError("M103", outermost, f"group {groups[0]} does not end")


def _skip_small_fields(window: bytes, index: int, limit: int, least: int) -> int:
    """Return the index behind the numbers and fields of fewer than `least` bytes that follow and end within `limit`."""
    last = len(window) - _HEADER
    while index <= last:
        tag = window[index]
        if tag & 0x87 != LENGTH or tag <= 0x07:
            numbers = _NUMBERS.match(window, index)
            if numbers is None:
                return index
            index = numbers.end()
            continue
        length, start = window[index + 1], index + 2
        if length > 0x7F:
            if window[start] > 0x7F:
                return index
            length, start = length & 0x7F | window[start] << 7, start + 1
        if length >= least or start + length > limit:
            return index
        index = start + length
    return index


def _tag_pattern(wire: int) -> bytes:
    """Return a pattern for the tags of fields of a wire type, of the numbers up to 2047."""
    short = b"".join(b"\\x%02x" % (number << 3 | wire) for number in range(1, 16))
    long = b"".join(b"\\x%02x" % (number << 3 | wire | 0x80) for number in range(16))
    return rb"(?:[%b]|[%b][\x01-\x7f])" % (short, long)


# What a file holds is its author's choice: many small numbers are skipped by the regular expression's loop.
_NUMBERS: Final = re.compile(
    rb"(?:%b[\x80-\xff]{0,9}[\x00-\x7f]|%b.{4}|%b.{8})+"
    % (_tag_pattern(VARINT), _tag_pattern(FIXED32), _tag_pattern(FIXED64)),
    re.DOTALL,
)


def _varint_at(window: bytes, index: int, base: int) -> tuple[int, int]:
    """Return the varint at window[index] and the index behind it."""
    value = shift = 0
    start = index
    while True:
        if index >= len(window):
            raise WireError("M103", base + start, _CUT)
        byte = window[index]
        index += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, index
        shift += 7
        if shift >= 70:
            raise WireError("M103", base + start, _LONG)


class _Message:
    """A message that is being walked; something in it was `edited`, and `growth` bytes were added to it.

    Args:
        kind: The type of the message.
        remaining: The fields that remain.
        place: The field that it is the content of.
        forced: See `_edit_tensors`.
    """

    __slots__ = ("edited", "fields", "forced", "growth", "place", "type")

    def __init__(self, kind: str, remaining: Iterator[Field], place: Field, forced: bool = False) -> None:
        self.type = kind
        self.fields = remaining
        self.place = place
        self.forced = forced
        self.edited = False
        self.growth = 0


Edit = tuple[int, int, "bytes | Segment"]
"""Bytes from, to, and what replaces them."""

_MERGED: Final = frozenset({"onnx.TensorProto", "onnx.SparseTensorProto", "onnx.AttributeProto"})


def _is_large(item: Field) -> bool:
    return item.end - item.start > THRESHOLD


def _holds_no_data(kind: str, item: Field) -> bool:
    """Whether this field shows that its message keeps its values in many small fields, which are not searched."""
    if kind == "onnx.AttributeProto":
        return item.number in _ATTRIBUTE_LISTS
    return kind == "onnx.TensorProto" and (
        item.number == _STRING_DATA or (item.number in _DATA_FIELDS and item.wire != LENGTH)
    )


def _edit_tensors(
    source: Source,
    descend: Callable[[Field], bool],
    replace: Callable[[Field, bool], bytes | Segment | None],
    leave: Callable[[str, Field], bool],
    least: int = 0,
) -> tuple[list[Edit], int]:
    """Replace fields of the TensorProtos of a model; return the edits in order, and by how much they lengthen it.

    A message is walked if `descend`, up to a field after which to `leave` it; `replace` returns None to keep a field,
    and those of fewer bytes than `least` are skipped.
    """
    # A tensor may be in pieces: if a field that is not repeated occurs twice, protobuf merges, and the order counts. In
    # a serialized skeleton the replacements come last, so after a replaced field everything that could be merged with
    # it is replaced too, however small: it is `forced`.
    ways = fields_toward_tensors()
    edits: list[Edit] = []
    root = _Message("onnx.ModelProto", fields(source, 0, source.size, least=least), Field(0, LENGTH, 0, 0, source.size))
    stack = [root]
    while stack:
        message = stack[-1]
        children = ways[message.type]
        tensor = message.type == "onnx.TensorProto"
        merged = message.type in _MERGED
        for item in message.fields:
            forced = merged and (message.forced or message.edited)
            if item.number in children:
                if item.wire != LENGTH or not (forced or descend(item)):
                    continue
                if len(stack) > MAX_MESSAGE_DEPTH:
                    raise WireError("M104", item.tag, _DEEPER)
                kind = children[item.number]
                inner = fields(source, item.start, item.end, len(stack), 0 if kind in _MERGED else least)
                stack.append(_Message(kind, inner, item, forced))
                break
            elif tensor and (piece := replace(item, forced)) is not None:
                size = len(piece) if isinstance(piece, bytes) else piece.size
                edits.append((item.tag, item.end, piece))
                message.growth += size - (item.end - item.tag)
                message.edited = True
            elif not forced and leave(message.type, item):
                message.fields = iter(())
                break
        else:
            stack.pop()
            if message.edited and stack:
                place = message.place
                new = header(place.number, place.end - place.start + message.growth)
                edits.append((place.tag, place.start, new))
                stack[-1].edited = True
                stack[-1].growth += message.growth + len(new) - (place.start - place.tag)
    return sorted(edits, key=itemgetter(0)), root.growth


def extract(source: Source, token: bytes) -> tuple[bytes, list[Segment]]:
    """Return the skeleton of a model, and the data that its placeholders stand for, by index.

    Raises:
        WireError: If the walk meets malformed bytes.
        ModelError: M111 if the skeleton is larger than protobuf can hold.
    """
    segments: list[Segment] = []

    def replace(item: Field, forced: bool) -> bytes | None:
        if item.wire == LENGTH:
            wanted = item.number in _DATA_FIELDS and (forced or _is_large(item))
        else:
            wanted = forced and item.wire == _DATA_FIELDS.get(item.number)
        if not wanted:
            return None
        if segments and segments[-1].end == item.tag:
            segments[-1] = Segment(source, segments[-1].start, item.end)
            return b""
        segments.append(Segment(source, item.tag, item.end))
        content = placeholder_content(token, len(segments) - 1)
        return header(_PAYLOAD_FIELD, len(content)) + content

    edits, growth = _edit_tensors(source, _is_large, replace, _holds_no_data, THRESHOLD + 1)
    if source.size + growth > limits.MAX_MESSAGE:
        raise too_large_error(source.size + growth, source.name)
    parts: list[bytes] = []
    position = 0
    for start, end, piece in edits:
        assert isinstance(piece, bytes)
        parts += (source.read(position, start - position), piece)
        position = end
    parts.append(source.read(position, source.size - position))
    return b"".join(parts), segments


def splice(skeleton: bytes, token: bytes, segments: Sequence[Segment]) -> tuple[list[bytes | Segment], int]:
    """Return the pieces of a model's bytes, a skeleton with its data put back, and the number of bytes."""
    found, start = [], skeleton.find(token)
    if start < 0:
        return [skeleton], len(skeleton)
    while start >= 0:
        found.append(start)
        start = skeleton.find(token, start + len(token))
    found.append(len(skeleton))
    source = BytesSource(skeleton)
    upcoming = 0

    def descend(item: Field) -> bool:
        nonlocal upcoming
        while found[upcoming] < item.start:
            upcoming += 1
        return found[upcoming] < item.end

    def replace(item: Field, forced: bool) -> Segment | None:
        content = skeleton[item.start : item.end] if item.number == _PAYLOAD_FIELD else b""
        index = placeholder_index(content, token)
        return None if index is None or index >= len(segments) else segments[index]

    edits, growth = _edit_tensors(source, descend, replace, lambda kind, item: False)
    pieces: list[bytes | Segment] = []
    position = 0
    for start, end, piece in edits:
        if start > position:
            pieces.append(skeleton[position:start])
        pieces.append(piece)
        position = end
    pieces.append(skeleton[position:])
    return pieces, len(skeleton) + growth


def placeholder_content(token: bytes, index: int) -> bytes:
    """Return the entry of TensorProto.opset_payload that stands for the data of this index."""
    return token + index.to_bytes(8, "big")


def placeholder_index(entry: bytes, token: bytes) -> int | None:
    """Return the index that an entry of TensorProto.opset_payload stands for, or None if it is not of this load."""
    if len(entry) != TOKEN_SIZE + 8 or not entry.startswith(token):
        return None
    return int.from_bytes(entry[TOKEN_SIZE:], "big")


def too_large_error(size: int, name: str) -> ModelError:
    """Return the error for a message that protobuf cannot hold."""
    why = f"it has {size} bytes, and {limits.MAX_MESSAGE} is the limit"
    help = "keep the tensors' data in a file of its own: external='move', --external-data move"
    return ModelError(Finding("M111", "the message is larger than protobuf can hold", why=why, help=help, file=name))


def diagnose(source: Source) -> WireError | None:
    """Walk the messages of a model; return the first reason for which protobuf refuses it, with its path, if any.

    After MAX_DIAGNOSED fields there is none.
    """
    message_fields = sub_messages()
    stack = [("onnx.ModelProto", fields(source, 0, source.size), "", dict[int, int]())]
    walked = 0
    try:
        while stack:
            kind, items, _, counts = stack[-1]
            for item in items:
                walked += 1
                if walked > MAX_DIAGNOSED:
                    return None
                if item.wire != LENGTH or (child := message_fields[kind].get(item.number)) is None:
                    _check_numbers(source, kind, item)
                    continue
                index = counts[item.number] = counts.get(item.number, -1) + 1
                label = f"{child.name}[{index}]" if child.repeated else child.name
                if len(stack) > MAX_MESSAGE_DEPTH:
                    raise WireError("M104", item.tag, _DEEPER)
                stack.append((child.type, fields(source, item.start, item.end, len(stack)), label, {}))
                break
            else:
                stack.pop()
    except WireError as error:
        labels = [label for _, _, label, _ in stack[1:]]
        if len(labels) > 8:
            labels[4:-3] = ["…"]
        error.path = ".".join(labels)
        return error
    return None


@cache
def _packed_fields() -> dict[str, dict[int, int]]:
    """Return, for each message type, the wire type of the elements of its repeated numbers."""
    kind = FieldDescriptor
    wires = {kind.TYPE_FLOAT: FIXED32, kind.TYPE_DOUBLE: FIXED64}
    wires |= dict.fromkeys((kind.TYPE_INT32, kind.TYPE_INT64, kind.TYPE_UINT64), VARINT)
    return {
        message.full_name: {f.number: wires[f.type] for f in message.fields if f.type in wires and proto.is_repeated(f)}
        for message in proto.FILE.message_types_by_name.values()
    }


def _check_numbers(source: Source, kind: str, item: Field) -> None:
    """Raise WireError if a number, or a packed list of them, is not one."""
    size = item.end - item.start
    wire = _packed_fields().get(kind, {}).get(item.number) if item.wire == LENGTH else item.wire
    if wire in (FIXED32, FIXED64) and size % (4 if wire == FIXED32 else 8):
        raise WireError("M103", item.start, f"{size} bytes are no whole number of elements")
    if wire == VARINT:
        for position in range(item.start, item.end, _WINDOW):
            if long := _TOO_LONG.search(source.read(position, min(_WINDOW + 9, item.end - position))):
                raise WireError("M103", position + long.start(), _LONG)
        if size and source.read(item.end - 1, 1) > b"\x7f":
            raise WireError("M103", item.end - 1, "a list of numbers ends inside a number")


# Protobuf takes a number of more than 64 bits in some places and refuses it in others.
_TOO_LONG: Final = re.compile(rb"[\x80-\xff]{9}[\x02-\xff]")


def starts_like_model(head: bytes) -> bool:
    """Return whether bytes begin with a field of ModelProto, and are not just text."""
    try:
        tag = _varint_at(head, 0, 0)[0]
    except WireError:
        return False
    return tag in _model_tags() and not _is_text(head)


@cache
def _model_tags() -> frozenset[int]:
    """Return the tags of the fields of ModelProto."""
    members = proto.ModelProto.DESCRIPTOR.fields
    return frozenset(f.number << 3 | (VARINT if f.type == f.TYPE_INT64 else LENGTH) for f in members)


def _is_text(data: bytes) -> bool:
    """Whether bytes have no control characters."""
    return not data.translate(None, _TEXT)


_TEXT: Final = bytes([*b"\t\n\r\f", *range(32, 256)])


class TopLevel:
    """The fields of a ModelProto that arrives piece by piece: whether it can still be one.

    The content of fields is not examined, nor the rest after a group or after MAX_CHECKED fields: that is left to
    readers that have all of it.
    """

    def __init__(self) -> None:
        self._arrived = 0
        self._next = 0  # where the next field begins
        self._rest = b""  # what has arrived of it
        self._fields = 0
        self._is_text = True

    def feed(self, data: bytes) -> int:
        """Return how many bytes the message has at least, now that these came; raise WireError if it is none."""
        window = self._rest + data
        base = self._arrived - len(self._rest)
        self._arrived += len(data)
        self._rest = b""
        if self._is_text:
            self._is_text = _is_text(data)
            if self._is_text and self._arrived >= MAX_TEXT_START:
                raise WireError("M102", 0, "it is text")
        while self._next < self._arrived and self._fields < MAX_CHECKED:
            index = self._next - base
            try:
                after = _end_of_field(window, index, base)
            except WireError as error:
                if error.why != _CUT:
                    raise
                self._rest = window[index:]
                break
            self._fields = MAX_CHECKED if after is None else self._fields + 1
            self._next = base + (after or len(window))
        return max(self._arrived, self._next)


def _end_of_field(window: bytes, index: int, base: int) -> int | None:
    """Return the index behind a field of a ModelProto, perhaps behind the window; None if it is a group."""
    start = base + index
    tag, index = _varint_at(window, index, base)
    if start == 0 and tag not in _model_tags():
        raise WireError("M102", 0, "it does not begin like one")
    if not 0 < tag >> 3 < 1 << 29:
        raise WireError("M103", start, f"{tag >> 3} is not a field number")
    match tag & 7:
        case 0:  # VARINT
            return _varint_at(window, index, base)[1]
        case 1:  # FIXED64
            return index + 8
        case 2:  # LENGTH
            length, index = _varint_at(window, index, base)
            return index + length
        case 3:  # START_GROUP
            return None
        case 5:  # FIXED32
            return index + 4
    raise WireError("M103", start, f"{tag & 7} is not a wire type that begins a field")
