"""A model in parts: its message without the large data, and the data's place. Reading and writing build on it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from google.protobuf.message import DecodeError, EncodeError

from opset.errors import Finding, ModelError
from opset.model import limits, proto
from opset.model.storage import wire
from opset.model.storage.external import Folder
from opset.model.storage.source import CHUNK, BytesSource, Source

Piece = bytes | wire.Segment
ONNX_TEXT, PROTOBUF_TEXT, JSON = "onnx", "protobuf", "json"
"""The syntaxes of models as text: ONNX text syntax, protobuf's text format, and protobuf's JSON."""
TEXT_SUFFIX = ".onnxtxt"
TEXT_SUFFIXES: dict[str, str] = {
    **dict.fromkeys((TEXT_SUFFIX, ".onnxtext"), ONNX_TEXT),
    **dict.fromkeys((".textproto", ".txtpb", ".prototxt", ".pbtxt"), PROTOBUF_TEXT),
    **dict.fromkeys((".onnxjson", ".json"), JSON),
}
"""Endings of the names of files with a model as text, and the syntax of each. A file in ONNX text syntax may be in one
of the others: its content decides."""
Self = TypeVar("Self", bound="ModelParts")


def text_suffix(name: str) -> str:
    """Return the ending of a name that is one of a model as text, "" if it is none."""
    return next((suffix for suffix in TEXT_SUFFIXES if name.endswith(suffix)), "")


def syntax_for(name: str) -> str:
    """Return the syntax in which a file of this name has a model, "" if it is binary."""
    return TEXT_SUFFIXES.get(text_suffix(name), "")


def recognize_syntax(text: str) -> str:
    """Return the syntax in which the text of a model begins, ONNX text syntax if it is neither of protobuf's."""
    gap, field = re.compile(r"\s*(#[^\n]*)?"), re.compile(r"[A-Za-z_]\w*\s*[:{]", re.ASCII)
    position, comment = 0, True
    while comment:
        blank: Any = gap.match(text, position)
        position, comment = blank.end(), blank[1]
    if text.startswith("{", position):
        return JSON
    return PROTOBUF_TEXT if field.match(text, position) else ONNX_TEXT


class ModelParts:
    """A ModelProto whose large data stays in its `source`; `opset.model.Model` describes the other attributes."""

    syntax = ""

    def __init__(self, source: Source, kind: str, folder: Folder | None = None, given: type[Any] | None = None) -> None:
        self.path = source.name if kind == "path" else None
        self.kind = kind
        self.folder = folder
        self._given = given
        self.source = source
        self.sources: tuple[Source, ...] = (source,)
        """All files with content of the model: `source`, the files of a joined model, and the files of inlined data."""
        self._token = os.urandom(wire.TOKEN_SIZE)
        self.proto: Any = proto.ModelProto()
        try:
            with source.descriptor():
                self._skeleton, self._segments = wire.extract(source, self._token)
            self.proto.ParseFromString(self._skeleton)
        except (wire.WireError, DecodeError) as error:
            raise malformed_model_error(source, str(error)) from error
        except UnicodeDecodeError as error:  # protobuf written in Python is stricter than the usual one
            raise ModelError(Finding("M106", "a name is not valid UTF-8", why=str(error), file=source.name)) from error
        if not (self.proto.HasField("graph") or self.proto.HasField("ir_version")):
            raise no_model_error(source, "it holds neither a graph nor an IR version")

    def with_proto(self: Self, message: Any, *, changed: bool = False) -> Self:
        """Return a model with another ModelProto over the same data.

        Args:
            message: The ModelProto; placeholders in it keep their meaning.
            changed: Whether the message surely differs from the source's: that saves a comparison when it is written.
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.proto = message
        if changed:
            other._skeleton = b""
        return other

    @property
    def has_segments(self) -> bool:
        """Whether data of tensors was left in the file."""
        return bool(self._segments)

    def segments(self, tensor_proto: Any) -> list[wire.Segment]:
        """Return the data fields of a tensor that were left in the file, in their order."""
        indexes = (wire.placeholder_index(entry, self._token) for entry in tensor_proto.opset_payload)
        return [self._segments[index] for index in indexes if index is not None and index < len(self._segments)]

    def with_segments(self: Self, message: Any, segments: Iterable[tuple[Any, wire.Segment]]) -> Self:
        """Return a model with another ModelProto, of which these tensors get these segments as data."""
        changed = self.with_proto(message)
        changed._segments = list(self._segments)
        sources = dict.fromkeys(self.sources)
        for tensor_proto, segment in segments:
            tensor_proto.opset_payload.append(wire.placeholder_content(self._token, len(changed._segments)))
            changed._segments.append(segment)
            sources[segment.source] = None
        changed.sources = (*sources,)
        return changed

    def take_segments(self, tensor_proto: Any) -> list[wire.Segment]:
        """Return the data fields of a tensor that were left in the file, which the tensor loses."""
        segments = self.segments(tensor_proto)
        self._drop_placeholders(tensor_proto)
        return segments

    def clear_data(self, tensor_proto: Any) -> None:
        """Take its data, wherever it is, from a tensor of this model's proto."""
        for name in ("raw_data", *wire.TYPED_FIELDS, "external_data", "data_location"):
            tensor_proto.ClearField(name)
        self._drop_placeholders(tensor_proto)

    def _drop_placeholders(self, tensor_proto: Any) -> None:
        """Remove the placeholders of this model's data from a tensor."""
        foreign = [e for e in tensor_proto.opset_payload if wire.placeholder_index(e, self._token) is None]
        tensor_proto.opset_payload[:] = foreign

    def pieces(self, *, checked: bool = True) -> tuple[list[Piece], int]:
        """Return the pieces of the model's bytes, and the number of bytes.

        Args:
            checked: Whether a changed model is read again, as nesting may be too deep for that.

        Returns:
            One piece, the whole source, if the proto was not changed.

        Raises:
            ModelError: M111 if a changed model is larger than protobuf can hold, M104 if `checked` and it is nested too
                deeply.
        """
        try:
            skeleton: bytes = self.proto.SerializeToString()
        except (EncodeError, ValueError) as error:
            raise wire.too_large_error(self.proto.ByteSize(), self.path or "") from error
        if proto.ModelProto.FromString(self._skeleton).SerializeToString() == skeleton:
            return [wire.Segment(self.source, 0, self.source.size)], self.source.size
        if checked:
            parse_message(proto.ModelProto, skeleton, self.path or "")  # writing has no limit to nesting, reading has
        pieces, size = wire.splice(skeleton, self._token, self._segments)
        if size > limits.MAX_MESSAGE:
            raise wire.too_large_error(size, self.path or "")
        return pieces, size


def parse_message(message: Any, data: bytes, name: str) -> Any:
    """Return the message of a class from bytes of a model.

    Raises:
        ModelError: M102, M103 or M104 if the bytes hold no such message.
    """
    try:
        return message.FromString(data)
    except DecodeError as error:
        raise malformed_model_error(BytesSource(data, name), str(error)) from error


def chunks(pieces: Iterable[Piece]) -> Iterator[bytes]:
    """Yield the bytes of pieces, at most CHUNK of a source at a time; raise ModelError M105 if a source changed."""
    for piece in pieces:
        if isinstance(piece, bytes):
            yield piece
            continue
        yield piece.header
        with piece.source.descriptor():
            for position in range(piece.start, piece.end, CHUNK):
                yield piece.source.read(position, min(CHUNK, piece.end - position))


def malformed_model_error(source: Source, why: str) -> ModelError:
    """Return the error for bytes that protobuf does not accept, with the location of the first error."""
    head = source.read(0, min(source.size, 512))
    if not wire.starts_like_model(head):
        return no_model_error(source, "it does not begin like one")
    with source.descriptor():
        fault = wire.diagnose(source)
    if fault is None:
        return ModelError(Finding("M103", "the file is damaged or cut short", why=why, file=source.name))
    place = f"{fault.path or 'model'}, byte {fault.offset}"
    if fault.code == "M104":
        return ModelError(Finding("M104", "the model is nested too deeply", place, fault.why, file=source.name))
    help = "copy or download it again, and compare sizes or checksums"
    return ModelError(Finding("M103", "the file is damaged or cut short", place, fault.why, help, source.name))


_OTHER_FILES = {
    b"version https://git-lfs": "this is a Git LFS pointer; fetch the file itself with: git lfs pull",
    b"PK\x03\x04": "this is a zip archive: unpack it first, or export a PyTorch checkpoint to ONNX",
    b"\x1f\x8b": "this is compressed with gzip; unpack it first",
    b"\x89HDF": "this is an HDF5 file; export it to ONNX",
    b"GGUF": "this is a GGUF file, which is another format",
    b"<!DOCTYPE": "this is a page of the web: download the file itself",
    b"<html": "this is a page of the web: download the file itself",
    b"ir_version:": "this is a model as text: name it *.textproto, or give text:- for stdin",
    b"<ir_version": "this is a model as text: name it *.onnxtxt, or give text:- for stdin",
}
_OTHER_NAMES = {
    ".npz": "this is a file of values: opset run MODEL FILE.npz",
    ".npy": "this is a file of values: opset run MODEL FILE.npy",
    ".yaml": "operator YAML is checked by opset lint, and shown by opset show OPERATOR --schemas DIR",
    ".yml": "operator YAML is checked by opset lint, and shown by opset show OPERATOR --schemas DIR",
    ".onnxopset": "an operator-set document is checked by opset check, and given to other verbs by --schemas FILE",
}


def no_model_error(source: Source, why: str) -> ModelError:
    """Return the error M102 for bytes of another format, with a hint if the format is known."""
    head = source.read(0, min(source.size, 32))
    hint = _OTHER_NAMES.get(os.path.splitext(source.name)[1].lower(), "") if head else ""
    hint = hint or next((hint for magic, hint in _OTHER_FILES.items() if head.startswith(magic)), "")
    why = why if head else "it is empty"
    return ModelError(Finding("M102", "this is not an ONNX model", why=why, help=hint, file=source.name))
