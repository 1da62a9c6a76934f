"""Models in the text forms of protobuf: its text format, and its JSON. Protobuf itself reads and writes both.

    parse_textproto('ir_version: 8 graph { name: "g" }')      # a ModelProto, as parse_json returns one
    model_text(model, PROTOBUF_TEXT)                          # the bytes of a file

The text is untrusted. Before protobuf reads it, messages in one another are counted, and long lines are cut, of which
protobuf would need a hundred times their memory. An error has its line and column, or in JSON the path of the field.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory, text_format
from google.protobuf.unknown_fields import UnknownFieldSet

from opset.errors import WIDTH, Finding, ModelError, UsageError, quote, safe_text
from opset.model import proto
from opset.model.limits import MAX_MESSAGE_DEPTH
from opset.model.proto import is_repeated
from opset.model.storage.parts import JSON, PROTOBUF_TEXT, ModelParts, chunks

_LONG: Final = 4096
"""Characters of a line, or of a number of JSON in quotes, that protobuf is given as they are."""
_BACKSLASHES: Final = "\\" * 64
"""A run of backslashes takes protobuf time in proportion to its square."""
_MARK: Final = re.compile(r"""(?P<open>[{<])|(?P<close>[}>])|"[^"\n]*"?|'[^'\n]*'?|\#[^\n]*""", re.VERBOSE)
_JSON_MARK: Final = re.compile(r"""(?P<open>[{\[])|(?P<close>[}\]])|"[^"]*"?""")
_RUN: Final = re.compile(r"""(?:[^"'#\s]+\s?|"[^"\\]{0,80}"|'[^'\\]{0,80}'){1,256}""")
_WHITE: Final = re.compile(r"\s+")
_STRING_PART: Final = {mark: re.compile(rf"[^{mark}\\]*(?:\\.[^{mark}\\]*){{0,64}}") for mark in "\"'"}
_UNKNOWN_FIELD: Final = re.compile(r'Message type "onnx\.(\w+)" has no field named "([^"]*)"')
_BASE64: Final = re.compile(r"[\w+/-]*={0,2}", re.ASCII)
_GREATEST: Final = float.fromhex("0x1.fffffep+127")
_TOO_GREAT: Final = float.fromhex("0x1.ffffffp+127")
_FLOATS: Final = frozenset(["f", "floats", "float_data"])
"""The fields of the format that hold floats."""
_OTHER_MODELS: Final = (
    (re.compile(r"^[ \t]*(?:layers?|input_dim|input_shape|solver_mode|base_lr)[ \t]*[:{]", re.MULTILINE), "Caffe"),
    (re.compile(r"^[ \t]*(?:op[ \t]*:?[ \t]*\{|external_input[ \t]*:)", re.MULTILINE), "Caffe2"),
    (re.compile(r"^[ \t]*(?:node|versions|library|meta_graphs)[ \t]*:?[ \t]*\{", re.MULTILINE), "TensorFlow"),
    (re.compile(r"^[ \t]*(?:max_batch_size|platform|backend)[ \t]*:", re.MULTILINE), "Triton"),
)
_NEWER: Final = "correct the name; if a newer version of ONNX has this field, opset does not know it yet"


def model_text(model: ModelParts, syntax: str) -> bytes:
    """Return the content of a file that holds the model in protobuf's text format, or in its JSON.

    All of it is ASCII: other characters are escapes, so that none reaches a terminal.

    Raises:
        ModelError: M106 if a name is not UTF-8, M111 or M105 as when a model is written.
        UsageError: U103 if the model has fields that the text cannot hold.
    """
    message = _model_class().FromString(b"".join(chunks(model.pieces()[0])))
    _check_writable(message, "", syntax)
    if syntax == JSON:
        content = json_format.MessageToDict(message, preserving_proto_field_name=True)
        _limit_floats(content)
        return (json.dumps(content, indent=2) + "\n").encode()
    return text_format.MessageToString(message, as_utf8=False).encode()


_NAMES: Final = {PROTOBUF_TEXT: "protobuf's text format", JSON: "protobuf's JSON"}


def _check_writable(message: Any, path: str, syntax: str) -> None:
    """Raise an error if a message has fields without a name, or texts that are not UTF-8, which protobuf writes."""
    if len(UnknownFieldSet(message)):
        why = f"{message.DESCRIPTOR.name} has fields or values there that have no name which could be written"
        help = "write ONNX text syntax, which keeps them: a file *.onnxtxt; or a binary model"
        raise UsageError(Finding("U103", f"the model has fields that {_NAMES[syntax]} cannot hold", path, why, help))
    for field, value in message.ListFields():
        where = f"{path}.{field.name}" if path else field.name
        values = value if is_repeated(field) else [value]
        if field.message_type is not None:
            for index, part in enumerate(values):
                _check_writable(part, f"{where}[{index}]" if is_repeated(field) else where, syntax)
        elif field.type == field.TYPE_STRING and any(isinstance(each, bytes) for each in values):
            raise ModelError(Finding("M106", "a name is not valid UTF-8, which this text needs", where))


def _limit_floats(content: dict[str, Any]) -> None:
    """Replace numbers that a float holds as the greatest one by just this: rounded, it is too large to protobuf."""
    for name, value in content.items():
        if isinstance(value, dict):
            _limit_floats(value)
        elif name in _FLOATS:
            content[name] = [*map(_limited_float, value)] if isinstance(value, list) else _limited_float(value)
        elif isinstance(value, list) and isinstance(value[0], dict):
            for each in value:
                _limit_floats(each)


@cache
def _model_class() -> Any:
    """Return the class of ModelProto as others have it: without the field that this package adds to tensors."""
    file = descriptor_pb2.FileDescriptorProto()
    proto.FILE.CopyToProto(file)
    tensor = next(each for each in file.message_type if each.name == "TensorProto")
    fields = [field for field in tensor.field if field.name != "opset_payload"]
    del tensor.field[:]
    tensor.field.extend(fields)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("onnx.ModelProto"))


# Protobuf's text format


def parse_textproto(text: str) -> Any:
    """Return the ModelProto of a text in protobuf's text format.

    Raises:
        ModelError: M301 if protobuf does not take the text, M102 if the text holds another kind of file, M104 if
            messages are nested too deeply. The place is line:column.
    """
    _check_depth(text, _MARK, MAX_MESSAGE_DEPTH)
    message = _model_class()()
    lines = _Lines(text)
    try:
        text_format.ParseLines(lines, message)  # type: ignore[attr-defined]  # its stubs lack it
    except text_format.ParseError as error:
        raise _textproto_error(error, lines, message) from None
    return message


def _textproto_error(error: text_format.ParseError, lines: _Lines, message: Any) -> ModelError:
    """Return the error for a text that protobuf does not take; `message` holds the part that was read."""
    line, column = error.GetLine(), error.GetColumn()
    place = "" if line is None else lines.place(line, column or 1)
    why = str(error).removeprefix(f"{line}:{column} : ")
    for shown in (lines.last, ""):
        why = why.removeprefix(f"'{shown}': ")
    unknown = _UNKNOWN_FIELD.match(why)
    if unknown and unknown[1] == "ModelProto" and not _is_begun(message):
        return _no_model_error(unknown[2], place, lines.text)
    if unknown:
        return _unknown_field_error(unknown[1], unknown[2], place)
    return ModelError(Finding("M301", "this is not protobuf's text format of a model", place, safe_text(why, WIDTH)))


def _is_begun(message: Any) -> bool:
    """Whether a message has what each model has."""
    return bool(message.HasField("ir_version") or message.HasField("graph"))


def _unknown_field_error(kind: str, name: str, place: str) -> ModelError:
    """Return the error for a field that messages of a kind do not have."""
    return ModelError(Finding("M301", f"{kind} has no field {quote(name)}", place, help=_NEWER))


def _no_model_error(name: str, place: str, text: str) -> ModelError:
    """Return the error for a text of other messages, which begins with a field that no model has."""
    why = f"its field {quote(name)} is none of a model"
    help = "a model in protobuf's text format has fields such as ir_version and graph"
    maker = next((maker for pattern, maker in _OTHER_MODELS if pattern.search(text[: 1 << 16])), None)
    if maker is not None:
        why, help = f"{why}; it looks like a file of {maker}", "give the model that is exported to ONNX"
    return ModelError(Finding("M102", "this is not an ONNX model", place, why, help))


class _Lines:
    """The lines of a text as protobuf is given them, one after the other: long ones in pieces, each as a line.

    For one character in a long string, or between words, protobuf needs a hundred bytes; and strings may be in pieces.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.last = ""
        """The line that was given last."""
        self._starts = [_Start(1, 1, 0)]
        """Where pieces begin, and the lines behind them."""

    def __iter__(self) -> Iterator[str]:
        given = number = 0
        start = 0
        while start <= len(self.text):
            end = self.text.find("\n", start)
            end = len(self.text) if end < 0 else end
            line = self.text[start:end]
            number += 1
            if len(line) <= _LONG and _BACKSLASHES not in line:
                given += 1
                self.last = line
                yield line
            else:
                for column, piece in _pieces(line):
                    given += 1
                    self._starts.append(_Start(given, number, column))
                    self.last = piece
                    yield piece
                self._starts.append(_Start(given + 1, number + 1, 0))
            start = end + 1

    def place(self, line: int, column: int) -> str:
        """Return line:column in the text for those in what was given."""
        start = self._starts[bisect_right(self._starts, line, key=lambda each: each.given) - 1]
        shift = start.column if line == start.given else 0
        return f"{start.line + line - start.given}:{max(1, column + shift)}"


class _Start(NamedTuple):
    """The number of a line that is given, its line in the text, and the characters that come before it there."""

    given: int
    line: int
    column: int


def _pieces(line: str) -> Iterator[tuple[int, str]]:
    """Yield the pieces of a long line without blanks and comments, each behind the number of characters before it."""
    position = 0
    while position < len(line) and line[position] != "#":
        if run := _RUN.match(line, position):
            yield position, run[0]
            position = run.end()
        elif white := _WHITE.match(line, position):
            position = white.end()
        else:
            mark, position = line[position], position + 1
            while True:
                part = _STRING_PART[mark].match(line, position)
                assert part is not None  # it may be empty
                closed = line.startswith(mark, part.end())
                ended = closed or part.end() >= len(line) - 1  # a single backslash may be left
                yield position - 1, f"{mark}{part[0]}{mark if closed or not ended else line[part.end() :]}"
                position = part.end() + closed
                if ended:
                    break


# JSON


def parse_json(text: str) -> Any:
    """Return the ModelProto of a text in protobuf's JSON.

    Raises:
        ModelError: M301 if the text is no JSON, at line:column, or if a value does not fit its field, at the
            field's path; M102 if the text holds another kind of file, M104 if messages are nested too deeply.
    """
    _check_depth(text, _JSON_MARK, MAX_MESSAGE_DEPTH + 1)
    try:
        content = json.loads(text, object_pairs_hook=tuple)
    except json.JSONDecodeError as error:
        raise _json_error(f"{error.lineno}:{error.colno}", error.msg) from None
    except ValueError:
        raise _json_error("", "a number has too many digits") from None
    message = _model_class()()
    if not isinstance(content, tuple) or not _fields(message.DESCRIPTOR).keys() & dict(content):
        why = "it is an object without a field of a model" if isinstance(content, tuple) else "it is no object"
        help = "a model in protobuf's JSON has fields such as irVersion and graph"
        raise ModelError(Finding("M102", "this is not an ONNX model", "", why, help))
    _fill(message, content, "")
    return message


def _fill(message: Any, content: Any, path: str) -> None:
    """Fill a message from an object of JSON, which is the tuple of its keys with their values."""
    if not isinstance(content, tuple):
        raise _json_error(path, "an object is expected")
    fields = _fields(message.DESCRIPTOR)
    seen = set()
    for name, value in content:
        field = fields.get(name)
        if field is None:
            raise _unknown_field_error(message.DESCRIPTOR.name, name, path)
        where = f"{path}.{name}" if path else name
        if field.name in seen:
            raise _json_error(where, "it is there twice")
        seen.add(field.name)
        if value is None:
            continue
        if isinstance(value, list) is not is_repeated(field):
            raise _json_error(where, f"{'a' if is_repeated(field) else 'no'} list is expected")
        oneof = field.containing_oneof
        if oneof is not None and (other := message.WhichOneof(oneof.name)):
            raise _json_error(where, f"it excludes {other}, which is there")
        if field.message_type is None:
            _set_values(message, field, value, where)
        elif is_repeated(field):
            for index, entry in enumerate(value):
                _fill(getattr(message, field.name).add(), entry, f"{where}[{index}]")
        else:
            part = getattr(message, field.name)
            part.SetInParent()
            _fill(part, value, where)


@cache
def _fields(kind: Any) -> dict[str, Any]:
    """Return the fields of a kind of messages by their names, in both spellings: ir_version and irVersion."""
    return {name: field for field in kind.fields for name in (field.name, field.json_name)}


def _set_values(message: Any, field: Any, value: Any, where: str) -> None:
    """Set a field that holds no messages; protobuf decides, but takes bytes that are no base64, and any length."""
    values = value if is_repeated(field) else [value]
    if field.type == field.TYPE_BYTES:
        if not all(isinstance(each, str) and _BASE64.fullmatch(each) for each in values):
            raise _json_error(where, "bytes are written in base64")
    elif field.type != field.TYPE_STRING and any(isinstance(each, str) and len(each) > _LONG for each in values):
        raise _json_error(where, "a text is too long for this field")
    elif field.type == field.TYPE_FLOAT:
        value = [*map(_limited_float, values)] if is_repeated(field) else _limited_float(value)
    try:
        json_format.ParseDict({field.name: value}, message)
    except (json_format.Error, ValueError, TypeError, SystemError) as error:  # the last is upb's, of half a surrogate
        cause = error.__cause__ or error
        why, _, index = str(cause).partition(f" at {message.DESCRIPTOR.name}.{field.name}")
        if isinstance(cause, TypeError):
            kind = descriptor_pb2.FieldDescriptorProto.Type.Name(field.type)
            why = f"a value of type {kind.removeprefix('TYPE_').lower()} is expected"
        raise _json_error(where + index, why) from None


def _limited_float(value: Any) -> Any:
    """Return a number of JSON, or the greatest float in place of one that is rounded to it, which protobuf refuses."""
    if isinstance(value, float) and _GREATEST < abs(value) < _TOO_GREAT:
        return math.copysign(_GREATEST, value)
    return value


def _json_error(place: str, why: str) -> ModelError:
    """Return the error M301 for a text that is no JSON, or for JSON that does not fit a model."""
    return ModelError(Finding("M301", "this is not protobuf's JSON of a model", place, safe_text(why, WIDTH)))


# Both


def _check_depth(text: str, marks: re.Pattern[str], most: int) -> None:
    """Raise ModelError M104 if the messages of a text are nested deeper than a binary model may nest them."""
    depth: Counter[bool] = Counter()
    for mark in marks.finditer(_without_escapes(text)):
        if mark.lastgroup is None:
            continue
        is_list = mark[0] in "[]"
        depth[is_list] += 1 if mark.lastgroup == "open" else -1
        if depth[is_list] > most:
            why = f"protobuf reads {MAX_MESSAGE_DEPTH} messages inside each other"
            raise ModelError(Finding("M104", "the model is nested too deeply", _place_at(text, mark.start()), why))


def _without_escapes(text: str) -> str:
    """Return a text of the same length in which no quote and no backslash is behind a backslash."""
    for escape in ("\\\\", '\\"', "\\'"):
        text = text.replace(escape, "__")
    return text


def _place_at(text: str, position: int) -> str:
    """Return line:column of a position."""
    return f"{text.count(chr(10), 0, position) + 1}:{position - text.rfind(chr(10), 0, position)}"
