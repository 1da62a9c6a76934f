"""A loaded model: its message without the weights, and where these lie."""

from __future__ import annotations

import copy
import io
import os
from collections.abc import Iterable
from typing import IO, Any, TypeAlias

from google.protobuf.message import DecodeError, EncodeError

from opset.errors import Finding, ModelError, UsageError
from opset.model import proto, tensor, wire, writing
from opset.model.external import Folder
from opset.model.source import BytesSource, Source, open_model_file, spool

ModelLike: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes] | Model | Any"
"""A path, a model's bytes, a binary stream, a Model, or a ModelProto of the onnx package."""


class Model:
    """A model whose large data stays where it lies until it is asked for.

    - `proto`: its ModelProto (of opset.model.proto), which may be changed. A tensor whose data was left in the file has
      a placeholder in `opset_payload` instead of that data; the placeholder goes where the tensor is copied, and has to
      be cleared (`clear_data`) before the tensor gets other data.
    - `path`: the path that it was read from, as given, or None.
    - `kind`: how it came: "path", "bytes", "stream", or "message" for a ModelProto.
    - `folder`: what its external data is resolved against, or None if it did not come from a path.
    """

    def __init__(self, source: Source, kind: str, folder: Folder | None = None, given: type[Any] | None = None) -> None:
        self.path = source.name if kind == "path" else None
        self.kind = kind
        self.folder = folder
        self._given = given
        self._source = source
        self._token = os.urandom(wire.TOKEN_SIZE)
        self.proto: Any = proto.ModelProto()
        try:
            with source.descriptor():
                self._skeleton, self._segments = wire.extract(source, self._token)
            self.proto.ParseFromString(self._skeleton)
        except (wire.WireError, DecodeError) as error:
            raise _refusal(source, str(error)) from error
        except UnicodeDecodeError as error:  # protobuf written in Python is stricter than the usual one
            raise ModelError(Finding("M106", "a name is not valid UTF-8", why=str(error), file=source.name)) from error
        if not (self.proto.HasField("graph") or self.proto.HasField("ir_version")):
            raise _no_model(source, "it holds neither a graph nor an IR version")

    def with_proto(self, message: Any, *, changed: bool = False) -> Model:
        """Return a model with another ModelProto over the same data; placeholders in it keep their meaning.

        `changed` says that the message is not equal to the source's, which saves the comparison when it is written.
        """
        other = copy.copy(self)
        other.proto = message
        if changed:
            other._skeleton = b""
        return other

    def payload(self, tensor_proto: Any, limit: int | None = None) -> bytes:
        """Return a tensor's data in the form of raw_data (see onnx.proto), wherever and however it is stored.

        Raises ModelError M206 if the data does not fit dims and type, if it is of strings, or if it has more than
        `limit` bytes; M2xx if external data is missing or unsafe; M105 if a file changed.
        """
        return tensor.tensor_bytes(self, tensor_proto, limit)

    def segments(self, tensor_proto: Any) -> list[wire.Segment]:
        """Return the data fields of a tensor that were left in the file, in their order."""
        indexes = (wire.placeholder_index(entry, self._token) for entry in tensor_proto.opset_payload)
        return [self._segments[index] for index in indexes if index is not None and index < len(self._segments)]

    def with_segments(self, message: Any, segments: Iterable[tuple[Any, wire.Segment]]) -> Model:
        """Return a model with another ModelProto, of which these tensors get these segments as data."""
        changed = self.with_proto(message)
        changed._segments = list(self._segments)
        for tensor_proto, segment in segments:
            tensor_proto.opset_payload.append(wire.placeholder_content(self._token, len(changed._segments)))
            changed._segments.append(segment)
        return changed

    def clear_data(self, tensor_proto: Any) -> None:
        """Take its data, wherever it is, from a tensor of this model's proto."""
        for name in ("raw_data", *wire.TYPED_FIELDS, "external_data", "data_location"):
            tensor_proto.ClearField(name)
        foreign = [e for e in tensor_proto.opset_payload if wire.placeholder_index(e, self._token) is None]
        tensor_proto.opset_payload[:] = foreign

    def pieces(self) -> tuple[list[bytes | wire.Segment], int]:
        """Return what the model's bytes consist of, and their number: the source's own if the proto was not changed.

        Raises ModelError M111 if a changed model is larger than protobuf can hold.
        """
        try:
            skeleton: bytes = self.proto.SerializeToString()
        except (EncodeError, ValueError) as error:
            raise wire.too_large(self.proto.ByteSize(), self.path or "") from error
        if proto.ModelProto.FromString(self._skeleton).SerializeToString() == skeleton:
            return [wire.Segment(self._source, 0, self._source.size)], self._source.size
        try:
            proto.ModelProto.FromString(skeleton)  # writing has no limit to nesting, reading has
        except DecodeError as error:
            raise _refusal(BytesSource(skeleton, self.path or ""), str(error)) from error
        pieces, size = wire.splice(skeleton, self._token, self._segments)
        if size > wire.LARGEST_MESSAGE:
            raise wire.too_large(size, self.path or "")
        return pieces, size

    def SerializeToString(self) -> bytes:
        """Return the whole model as bytes, external data left where it is.

        Raises ModelError M111 if they are more than protobuf can hold, M105 if the source changed.
        """
        pieces, size = self.pieces()
        if size > wire.LARGEST_MESSAGE:
            raise wire.too_large(size, self.path or "")
        whole = io.BytesIO()
        for chunk in writing.chunks(pieces):
            whole.write(chunk)
        return whole.getvalue()

    def as_given(self) -> Any:
        """Return the model as it was given: a ModelProto of the caller's class if it was one, else the Model itself."""
        return self if self._given is None else self._given.FromString(self.SerializeToString())

    def save(self, path: str | os.PathLike[str], *, external: str = "auto", force: bool = False) -> None:
        """Write the model, whole or not at all; see opset.model.writing.save."""
        writing.save(self, path, external=external, force=force)


def load(source: ModelLike, *, allow_external_roots: Iterable[str | os.PathLike[str]] = ()) -> Model:
    """The model that lies at a path, in bytes, in a binary stream or in a ModelProto; a Model comes back as it is.

    Neither the weights nor external data are read. `allow_external_roots` are folders, besides the model's own, that
    external data may lie in.

    Raises ModelError: M101 cannot be read, M102 no model, M103 damaged, M104 nested too deeply, M105 changed meanwhile,
    M111 too large without its weights; UsageError U103 for anything else than the above.
    """
    if isinstance(source, Model):
        return source
    if isinstance(source, (str, os.PathLike)):
        path = os.fsdecode(source)
        file, kind = open_model_file(path)
        return Model(file, kind, Folder(path, allow_external_roots) if kind == "path" else None)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Model(BytesSource(bytes(source)), "bytes")
    message: Any = source
    if getattr(getattr(source, "DESCRIPTOR", None), "full_name", "") == "onnx.ModelProto":
        try:
            data = message.SerializeToString()
        except (EncodeError, ValueError) as error:
            raise wire.too_large(message.ByteSize(), "") from error
        return Model(BytesSource(data), "message", given=type(source))
    if hasattr(source, "read"):
        return Model(spool(source, str(getattr(source, "name", ""))), "stream")
    raise UsageError(
        Finding(
            "U103",
            f"a {type(source).__name__} is no model",
            help="give a path, bytes, a binary stream, an opset.Model or an onnx.ModelProto",
        )
    )


def _refusal(source: Source, why: str) -> ModelError:
    """Return the error for bytes that protobuf does not accept, with the place at which they are off."""
    head = source.read(0, min(source.size, 512))
    if not wire.starts_like_model(head):
        return _no_model(source, "it does not begin like one")
    with source.descriptor():
        found = wire.diagnose(source)
    if found is None:
        return ModelError(Finding("M103", "the file is damaged or cut short", why=why, file=source.name))
    place = f"{found.path or 'model'}, byte {found.offset}"
    if found.code == "M104":
        return ModelError(Finding("M104", "the model is nested too deeply", place, found.why, file=source.name))
    return ModelError(
        Finding(
            "M103",
            "the file is damaged or cut short",
            place,
            found.why,
            "copy or download it again, and compare sizes or checksums",
            source.name,
        )
    )


_OTHER_FILES = {
    b"version https://git-lfs": "this is a Git LFS pointer; fetch the file itself with: git lfs pull",
    b"PK\x03\x04": "this is a zip archive: unpack it first, or export a PyTorch checkpoint to ONNX",
    b"\x1f\x8b": "this is compressed with gzip; unpack it first",
    b"\x89HDF": "this is an HDF5 file; export it to ONNX",
    b"GGUF": "this is a GGUF file, which is another format",
}


def _no_model(source: Source, why: str) -> ModelError:
    """Return the error for bytes that are something else, with a hint where it is known what they are."""
    head = source.read(0, min(source.size, 32))
    hint = next((hint for magic, hint in _OTHER_FILES.items() if head.startswith(magic)), "")
    return ModelError(
        Finding("M102", "this is not an ONNX model", why=why if head else "it is empty", help=hint, file=source.name)
    )
