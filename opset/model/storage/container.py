"""A loaded model: its message without the weights, and the locations of these."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias, TypeVar

from google.protobuf.message import EncodeError

from opset.errors import Finding, ModelError, UsageError, listing
from opset.html_text import Table, html_of, missing_attribute, one_line
from opset.model import limits
from opset.model.proto import GraphProto, ModelProto
from opset.model.storage import tensor, wire, writing
from opset.model.storage.external import Folder
from opset.model.storage.parts import (
    JSON,
    ONNX_TEXT,
    ModelParts,
    Piece,
    chunks,
    parse_message,
    recognize_syntax,
    syntax_for,
)
from opset.model.storage.reading import open_model_file, read_stream
from opset.model.storage.remote import RemoteFolder, RemoteSource, is_remote, local_path
from opset.model.storage.source import BytesSource, Source
from opset.model.types import described_type
from opset.options import checked_options

if TYPE_CHECKING:
    import onnx
    import onnx_ir

ModelLike: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes] | Model | Any"
"""A path, a model's bytes, a binary stream, a Model, or a ModelProto of the onnx package."""
ModelSource: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes] | Model"
"""What a function returns a Model for."""


class Message(Protocol):
    """A message of the onnx package: a function returns one of the same class for it."""

    def SerializeToString(self) -> bytes:
        """Return the message as bytes."""

    def ByteSize(self) -> int:
        """Return the number of these bytes."""


MessageT = TypeVar("MessageT", bound=Message)


class Model(ModelParts):
    """A model whose large data stays in the file until it is read.

    - `proto`: its ModelProto (of opset.model.proto), which may be changed. A tensor whose data was left in the file has
      a placeholder in `opset_payload` instead of that data. The placeholder is copied with the tensor, and has to be
      cleared (`clear_data`) before the tensor gets other data.
    - `path`: the path that it was read from, as given, or None.
    - `kind`: the kind of its source: "path", "bytes", "stream", or "message" for a ModelProto.
    - `syntax`: the syntax of the text that it was read from: "onnx", "protobuf" or "json"; "" if it was binary.
    - `folder`: the folder that locations of external data start from, or None if the model did not come from a path.
    """

    @property
    def graph(self) -> Any:
        """The main graph, a GraphProto."""
        return self.proto.graph

    @property
    def opset_import(self) -> Any:
        """The imports of operator sets, each with `domain` and `version`."""
        return self.proto.opset_import

    @property
    def ir_version(self) -> int:
        """The IR version."""
        return int(self.proto.ir_version)

    def to_onnx(self) -> onnx.ModelProto:
        """Return the model as a ModelProto of the onnx package, which has to be installed; external data stays outside.

        Raises:
            UsageError: U103 if the package is not installed.
            ModelError: M111 if the model is larger than protobuf can hold.
        """
        kind: type[onnx.ModelProto] = _import_package("onnx").ModelProto
        return kind.FromString(self.SerializeToString())

    def to_ir(self) -> onnx_ir.Model:
        """Return the model as one of the package onnx-ir, which has to be installed; external data stays outside.

        Raises:
            UsageError: U103 if the package is not installed.
            ModelError: M111 if the model is larger than protobuf can hold.
        """
        ir = _import_package("onnx_ir")
        made: onnx_ir.Model = ir.from_proto(self.to_onnx())
        if self.folder is not None:
            ir.external_data.set_base_dir(made.graph, os.path.dirname(self.path or ""))
        return made

    def __repr__(self) -> str:
        graph = self.proto.graph
        names = [f"{word} {listing([each.name for each in values], 3)}" for word, values in _sides(graph) if values]
        return one_line("Model", ", ".join([f"{self.path or self.kind}: {self._versions()}", *names]))

    def _repr_html_(self) -> str:
        graph = self.proto.graph
        title = f"{self.path or self.kind}: {self._versions()}"
        tables = [
            Table(f"{word}s", ("name", "type"), [(each.name, described_type(each.type)) for each in values])
            for word, values in _sides(graph)
        ]
        return html_of(title, tables)

    def _versions(self) -> str:
        """Return the versions of the model, and how many nodes and initializers its main graph has."""
        opsets = listing([f"{each.domain or 'ai.onnx'} {each.version}" for each in self.proto.opset_import], 5)
        graph = self.proto.graph
        sizes = f"{len(graph.node):,} nodes, {len(graph.initializer):,} initializers"
        return f"{opsets}, IR version {self.proto.ir_version}, {sizes}"

    if not TYPE_CHECKING:  # a checker of types knows the names

        def __getattr__(self, name: str) -> NoReturn:
            raise missing_attribute("Model", name, _places(), dir(type(self)))

    def payload(self, tensor_proto: Any, limit: int | None = None) -> bytes:
        """Return a tensor's data in the form of raw_data (see onnx.proto), however it is stored.

        Args:
            tensor_proto: A TensorProto of this model.
            limit: The most bytes that may be read; None for any number.

        Returns:
            The bytes, of external data as well.

        Raises:
            ModelError: M206 if the data does not fit dims and type, consists of strings, or has more than `limit`
                bytes; M2xx if external data is missing or unsafe; M105 if a file changed.
        """
        return tensor.tensor_bytes(self, tensor_proto, limit)

    def SerializeToString(self) -> bytes:
        """Return the whole model as bytes; external data stays in its files.

        Raises:
            ModelError: M111 if the bytes are more than protobuf can hold, M105 if the source changed.
        """
        return self._join_pieces(*self.pieces())

    def as_given(self) -> Any:
        """Return the model in the form in which it was loaded.

        Returns:
            A ModelProto of the caller's class if one was loaded, else the Model itself.

        Raises:
            ModelError: M104 if the model is now nested too deeply, M111 if it is larger than protobuf can hold.
        """
        if self._given is None:
            return self
        return parse_message(self._given, self._join_pieces(*self.pieces(checked=False)), self.path or "")

    def _join_pieces(self, pieces: Sequence[Piece], size: int) -> bytes:
        """Return pieces as bytes; raise ModelError M111 if they are more than protobuf can hold."""
        if size > limits.MAX_MESSAGE:
            raise wire.too_large_error(size, self.path or "")
        whole = io.BytesIO()
        for chunk in chunks(pieces):
            whole.write(chunk)
        return whole.getvalue()

    def save(self, path: str | os.PathLike[str], *, external: str = "auto", force: bool = False) -> None:
        """Write the model to a path, whole or not at all.

        Args:
            path: The file, as a binary model; its text if the path ends with .onnxtxt (ONNX text syntax), .textproto
                (protobuf's text format; also .prototxt, .pbtxt and .txtpb) or .json (its JSON; also .onnxjson). A pipe
                or a device, such as /dev/stdout, is opened and written to.
            external: The treatment of external data:

                - "auto": "keep" if the output is in the model's own folder or the model has none, else "copy";
                - "keep": locations stay the same, those of a merged model lead to the files of both, and no file is
                  opened;
                - "copy": the files are copied beside the output, under the same relative locations (a file system
                  that can share blocks between files does so);
                - "link": the same, by hard links, which need no space; from then on a folder that holds one of the two
                  names has to be allowed (`allow_external_roots`), and the onnx package reads neither;
                - "inline": the data goes into the model;
                - "move": external data and the large data of all other dense tensors go into one new file beside the
                  output, `<output's name>.data` (few readers take sparse tensors from there).
            force: Whether existing files are replaced.

        Raises:
            UsageError: U102 if an output exists, U103 if the mode does not fit or the text cannot hold all fields,
                U104 if an output cannot be written.
            ModelError: M105 if a source changed, M111 if the model is too large, M2xx if external data is missing or
                unsafe.
        """
        writing.save(self, path, external=external, force=force)


def _sides(graph: Any) -> list[tuple[str, Any]]:
    """Return the inputs and outputs of a graph, each behind its name."""
    return [("input", graph.input), ("output", graph.output)]


def _places() -> dict[str, str]:
    """Return the places of the fields of a ModelProto and of its graph, and of functions, by name."""
    of_model = {field.name: f"model.proto.{field.name}" for field in ModelProto.DESCRIPTOR.fields}
    of_graph = {field.name: f"model.graph.{field.name}" for field in GraphProto.DESCRIPTOR.fields}
    functions = ("convert", "plan", "lower", "infer", "infer_shapes", "check", "info", "to_text", "inline_functions")
    opsets = dict.fromkeys(("opset", "opsets", "opset_version"), "model.opset_import")
    return {**of_graph, **of_model, **opsets, **{name: f"opset.{name}(model)" for name in functions}}


def _import_package(name: str) -> Any:
    """Return a package that is not needed otherwise. Raises UsageError U103 if it is not installed."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        package = name.replace("_", "-")
        help = f"install it, pip install {package}, or use model.proto"
        raise UsageError(Finding("U103", f"the package {package} is not installed", help=help)) from error


@checked_options
def load(source: ModelLike, *, allow_external_roots: Iterable[str | os.PathLike[str]] = ()) -> Model:
    """Return the model of a path, of bytes, of a binary stream or of a ModelProto, without reading its weights.

    Args:
        source: The model, or its file, bytes or message.
        allow_external_roots: Folders, besides the model's own, that external data may be in.

    Returns:
        The model; a Model unchanged. Weights and external data are read when they are needed.

    Raises:
        ModelError: M101 if the file cannot be read, M102 if it is no model, M103 if it is damaged, M104 if it is nested
            too deeply, M105 if it changed meanwhile, M111 if it is too large without its weights, M301 if it is text
            that breaks its syntax.
        UsageError: U103 if the source is anything else.
    """
    if isinstance(source, Model):
        return source
    if isinstance(source, (str, os.PathLike)):
        return load_file(os.fsdecode(source), allow_external_roots)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Model(BytesSource(bytes(source)), "bytes")
    message: Any = source
    if getattr(getattr(source, "DESCRIPTOR", None), "full_name", "") == "onnx.ModelProto":
        try:
            data = message.SerializeToString()
        except (EncodeError, ValueError) as error:
            raise wire.too_large_error(message.ByteSize(), "") from error
        return Model(BytesSource(data), "message", given=type(source))
    if hasattr(source, "read"):
        return Model(read_stream(source, str(getattr(source, "name", ""))), "stream")
    help = "give a path, bytes, a binary stream, an opset.Model or an onnx.ModelProto"
    raise UsageError(Finding("U103", f"a model is needed, not {type(source).__name__}", help=help))


def load_file(path: str, allow_external_roots: Iterable[str | os.PathLike[str]], *, pipes: bool = True) -> Model:
    """Return the model of a path.

    Args:
        path: The file of a model, or of its text if it has such an ending; its URL as well.
        allow_external_roots: Folders, besides the model's own, that external data may be in.
        pipes: Whether a named pipe is read to its end.

    Raises:
        ModelError: As `load` does; M101 if the path is a named pipe and `pipes` is false.
    """
    syntax = syntax_for(path)
    if is_remote(path):
        remote = RemoteSource(path)
        folder = RemoteFolder(path)
        return _load_text_file(remote, syntax, "path", folder) if syntax else Model(remote, "path", folder)
    path = local_path(path)
    file, kind = open_model_file(path, pipes=pipes, text=bool(syntax))
    place = Folder(path, allow_external_roots) if kind == "path" else None
    return _load_text_file(file, syntax, kind, place) if syntax else Model(file, kind, place)


def load_text(stream: IO[bytes]) -> Model:
    """Return the model whose text a binary stream holds. Raises ModelError M301, or the errors of `load`."""
    return _load_text_file(read_stream(stream, str(getattr(stream, "name", "")), text=True), ONNX_TEXT, "stream")


def _load_text_file(file: Source, syntax: str, kind: str, folder: Folder | None = None) -> Model:
    """Return the model whose text a file holds; raise ModelError M301 with line and column.

    What is named as ONNX text may be in another syntax, which its content shows.
    """
    if file.size > limits.MAX_MESSAGE:
        raise wire.too_large_error(file.size, file.name)
    with file.descriptor():
        data = file.read(0, file.size)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        place = f"{line}:{column}"
        raise ModelError(Finding("M301", "the text is not UTF-8", place, error.reason, file=file.name)) from error
    try:
        message, syntax = _parse_text(text, syntax)
        source = BytesSource(message.SerializeToString(), file.name, file.access)
    except ModelError as error:
        raise error.in_file(file.name) from None
    except (EncodeError, ValueError) as error:
        raise wire.too_large_error(message.ByteSize(), file.name) from error
    model = Model(source, kind, folder)
    model.syntax = syntax
    return model


def _parse_text(text: str, syntax: str) -> tuple[Any, str]:
    """Return the ModelProto of a text, and its syntax; few models are text, so that parsers are imported here."""
    if syntax == ONNX_TEXT:
        syntax = recognize_syntax(text)
    if syntax == ONNX_TEXT:
        from opset.model.text.syntax import parse_model

        return parse_model(text), syntax
    from opset.model.text.protobuf import parse_json, parse_textproto

    return (parse_json(text) if syntax == JSON else parse_textproto(text)), syntax
