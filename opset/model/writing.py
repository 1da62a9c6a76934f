"""Writing a model: whole or not at all, its data copied from its file without passing through memory.

Every file is written under a temporary name in its own folder, flushed to the disk and renamed. No existing file is
ever written into, and data files come before the model that refers to them. So a kill at any moment leaves either the
old model or the new one; only where `force` replaces a data file too can it fall between the two renames.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import IO, Any, Final

from opset.errors import Finding, ModelError, OpsetError, UsageError, quoted
from opset.model import external as external_data
from opset.model import proto, wire
from opset.model import tensor as tensors
from opset.model.elements import ELEMENTS, STRING
from opset.model.encoding import data_size
from opset.model.parts import ModelParts, Piece, chunks
from opset.model.source import CHUNK, NO_FOLLOW, OPEN, changed, read_into, write_all

MODES: Final = ("auto", "keep", "copy", "link", "inline", "move")
ALIGNMENT: Final = 4096
"""Where `move` lets the data of each tensor start: at multiples of a page, so that it can be mapped into memory."""

COPIED_AT_ONCE: Final = 4 << 20
FLUSHED_AT_ONCE: Final = 16 << 20


def save(model: ModelParts, path: str | os.PathLike[str], *, external: str = "auto", force: bool = False) -> None:
    """Write a model to a path, whole or not at all; an existing file is replaced only with `force`.

    A pipe or a device, /dev/stdout for one, is written to as it is. `external` is what becomes of external data:

    - "auto": as "keep" where the output is in the model's own folder or the model has none, else as "copy";
    - "keep": locations stay as they are, and the files are not opened;
    - "copy": the files are copied beside the output, under the same relative locations;
    - "link": the same, by hard links (which the onnx package refuses to read);
    - "inline": the data goes into the model;
    - "move": this and the large data of all other dense tensors goes into one new file beside the output,
      `<output's name>.data` (few readers take sparse tensors from there).

    Raises UsageError: U102 an output exists, U103 the mode does not fit, U104 an output cannot be written; ModelError:
    M105 a source changed, M111 the model is too large, M2xx external data is missing or unsafe.
    """
    output = os.fsdecode(path)
    if "\0" in output:
        raise UsageError(Finding("U104", "the output cannot be written", why="its name holds NUL", file=output))
    if external not in MODES:
        raise UsageError(Finding("U103", f"external={quoted(external)} is not known", help=", ".join(MODES)))
    try:
        if (stream := _open_stream(output)) is not None:
            with stream:
                write_stream(model, stream, external=external)
            return
        _check_output(model, output, force)
        with _Files(force) as files:
            folder = os.path.dirname(os.path.abspath(output))
            if external == "auto":
                kept = model.folder is None or model.folder.holds(folder)
                external = "keep" if kept else "copy"
            if external in ("copy", "link"):
                _bring(model, output, files, link=external == "link")
            elif external == "move":
                model = _moved(model, output, files)
            elif external == "inline":
                model = _inlined(model)
            files.write(output, model.pieces()[0])
            files.commit()
    except OSError as error:
        raise _cannot_write(output, error) from error


def write_stream(model: ModelParts, file: IO[bytes], *, external: str = "keep") -> None:
    """Write a model's bytes to a binary stream; `external` is "keep" (or "auto", the same) or "inline", as for `save`.

    Raises UsageError U103 for another mode or a stream of text, U104 if writing fails, BrokenPipeError as it is, and
    ModelError as `save` does.
    """
    if external not in ("auto", "keep", "inline"):
        why = f"external={quoted(external)} needs a folder to put the data into"
        raise UsageError(Finding("U103", "a stream takes no external data", why=why, help="keep or inline"))
    if isinstance(file, io.TextIOBase):
        raise UsageError(Finding("U103", "a model is binary, and this stream takes text", help="write to its .buffer"))
    if external == "inline":
        model = _inlined(model)
    try:
        for chunk in chunks(model.pieces()[0]):
            rest = memoryview(chunk)
            while rest:
                written = file.write(rest)
                rest = rest[len(rest) if written is None else written :]
        file.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _cannot_write(str(getattr(file, "name", "")), error) from error


def write_files(files: Mapping[str, bytes], *, force: bool = False) -> None:
    """Write files that belong together, all or none, making their folders.

    Raises UsageError U102 where one exists and `force` does not allow it, U104 where writing fails.
    """
    if existing := [path for path in files if os.path.lexists(path) and not force]:
        raise UsageError(finding for path in existing for finding in _exists(path).findings)
    path = ""
    try:
        with _Files(force) as together:
            for path, data in files.items():
                together.folder(os.path.dirname(os.path.abspath(path)))
                together.write(path, [data])
            together.commit()
    except OSError as error:
        raise _cannot_write(path, error) from error


class _Files:
    """Files that are written together: each is written under a temporary name, and `commit` renames them in order.

    What was not committed is removed at the end; if a commit fails halfway, so is what it put where nothing was before.
    """

    def __init__(self, force: bool) -> None:
        self.force = force
        self._waiting: list[tuple[str, str]] = []
        self._created: list[str] = []

    def __enter__(self) -> _Files:
        return self

    def write(self, target: str, pieces: Iterable[Piece]) -> None:
        """Write a file, to be renamed to `target`, with the access rights of what is there now."""
        temporary = self._temporary(target)
        descriptor = os.open(temporary, _CREATE, 0o666)
        try:
            with suppress(FileNotFoundError):
                status = os.lstat(target)
                if stat.S_ISREG(status.st_mode):
                    os.chmod(temporary, stat.S_IMODE(status.st_mode) & 0o777)
            _write(descriptor, pieces)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def link(self, target: str, file: external_data.ExternalFile) -> None:
        """Make a second name for a file, to be renamed to `target`."""
        temporary = self._temporary(target)
        try:
            os.link(file.real, temporary)
        except OSError as error:
            raise UsageError(
                Finding(
                    "U104",
                    "a hard link cannot be made",
                    why=error.strerror or str(error),
                    help="copy the data instead: external='copy'",
                    file=target,
                )
            ) from error
        with file.descriptor() as descriptor:
            if not os.path.samestat(os.lstat(temporary), os.fstat(descriptor)):
                raise changed(file.name)

    def folder(self, path: str) -> None:
        """Make sure that a folder exists."""
        missing = []
        while not os.path.isdir(path):
            missing.append(path)
            path = os.path.dirname(path)
        for folder in reversed(missing):
            os.mkdir(folder)
            self._created.append(folder)

    def commit(self) -> None:
        """Rename every file to its target, the last one when the others are safe on the disk."""
        *before, last = self._waiting
        for group in (before, [last]):
            for temporary, target in group:
                existed = os.path.lexists(target)
                _rename(temporary, target, self.force)
                self._waiting.remove((temporary, target))
                if not existed:
                    self._created.append(target)
            if group == [last]:
                self._created.clear()  # from here on the files belong to the model that is there
            for folder in {os.path.dirname(target) for _, target in group}:
                _flush_folder(folder)

    def _temporary(self, target: str) -> str:
        target = os.path.abspath(target)
        temporary = os.path.join(os.path.dirname(target), f".opset-{os.urandom(8).hex()}.tmp")
        self._waiting.append((temporary, target))
        return temporary

    def __exit__(self, *_: object) -> None:
        for path in (*(temporary for temporary, _ in self._waiting), *reversed(self._created)):
            with suppress(OSError):
                (os.rmdir if os.path.isdir(path) else os.unlink)(path)


_CREATE: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | NO_FOLLOW | OPEN


def _rename(temporary: str, target: str, force: bool) -> None:
    """Rename a file, over an existing one only with `force`; raise UsageError U102."""
    if not force:
        try:
            os.link(temporary, target)  # unlike a rename, this fails where something is
        except FileExistsError as error:
            raise _exists(target) from error
        except OSError as error:  # a file system without hard links
            if os.path.lexists(target):
                raise _exists(target) from error
        else:
            os.unlink(temporary)
            return
    os.replace(temporary, target)


def _flush_folder(folder: str) -> None:
    """Make renames in a folder safe on the disk, where the system opens folders."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            with suppress(OSError):  # some file systems do not flush folders
                os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _write(descriptor: int, pieces: Iterable[Piece]) -> None:
    """Write pieces one after the other, data of files from file to file."""
    flushed = 0
    with open(descriptor, "wb", CHUNK, closefd=False) as file:
        for piece in pieces:
            flushed = _write_piece(file, piece, flushed)


def _write_piece(file: IO[bytes], piece: Piece, flushed: int) -> int:
    """Write one piece; take and return up to where the file is being flushed."""
    if isinstance(piece, wire.Segment):
        with piece.source.descriptor() as origin:
            if origin is not None:
                file.write(piece.header)
                file.flush()
                count = piece.end - piece.start
                return _copy(origin, piece.start, count, file.fileno(), piece.source.name, flushed)
    for chunk in chunks([piece]):
        file.write(chunk)
    return flushed


def _copy(origin: int, offset: int, count: int, target: int, name: str, flushed: int) -> int:
    """Copy bytes from one file to another: by the system where pages lie alike in both, else through one buffer.

    Only then can a file system share blocks or move whole pages; elsewhere it copies more slowly than this does. Takes
    and returns up to where the target is being flushed.
    """
    alike = (os.lseek(target, 0, os.SEEK_CUR) - offset) % ALIGNMENT == 0
    while count and alike and hasattr(os, "copy_file_range"):
        try:
            done = os.copy_file_range(origin, target, min(count, 1 << 30), offset)
        except OSError as error:
            if error.errno not in _NOT_HERE:
                raise
            break
        if not done:
            break
        offset, count = offset + done, count - done
    buffer = memoryview(bytearray(min(count, COPIED_AT_ONCE)))
    while count:
        part = buffer[: min(count, len(buffer))]
        done = read_into(origin, offset, part, name)
        if not done:
            raise changed(name)
        write_all(target, part[:done])
        offset, count = offset + done, count - done
        flushed = _begin_flush(target, flushed)
    return flushed


def _begin_flush(descriptor: int, flushed: int) -> int:
    """Start to write what follows `flushed` to the disk, once it is much; return the offset up to which that is done.

    Linux does so for pages that are said not to be needed, and little is left to wait for at the end.
    """
    position = os.lseek(descriptor, 0, os.SEEK_CUR)
    if position - flushed < FLUSHED_AT_ONCE or not hasattr(os, "posix_fadvise"):
        return flushed
    os.posix_fadvise(descriptor, flushed, position - flushed, os.POSIX_FADV_DONTNEED)
    return position


_NOT_HERE: Final = frozenset({errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM})


def _open_stream(output: str) -> IO[bytes] | None:
    """Open an output that is written to as it is, a pipe or a device; return None for what is to become a file."""
    if own := re.fullmatch(r"/dev/(stdout|stderr|fd/(\d+))|/proc/self/fd/(\d+)", os.path.abspath(output)):
        number = {"stdout": 1, "stderr": 2}.get(own[1]) or int(own[2] or own[3])
        return open(os.dup(number), "wb")
    try:
        mode = os.stat(output).st_mode
    except FileNotFoundError:
        return None
    return open(output, "wb") if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode) else None


def _check_output(model: ModelParts, output: str, force: bool) -> None:
    """Raise UsageError where the output is a folder, exists, or is a data file of the model itself."""
    if os.path.isdir(output) or not os.path.basename(output):
        raise UsageError(Finding("U104", "the output cannot be written", why="it is a folder", file=output))
    if not os.path.isdir(os.path.dirname(os.path.abspath(output))):
        why = "the folder that it is to be in does not exist"
        raise UsageError(Finding("U104", "the output cannot be written", why=why, file=output))
    if os.path.lexists(output):
        if not force:
            raise _exists(output)
        _spare_data(model, output)


def _spare_data(model: ModelParts, target: str) -> None:
    """Raise UsageError U102 if a file that is about to be replaced holds data of the model."""
    if model.folder is None:
        return
    real = os.path.realpath(target)
    if real in map(model.folder.real_path, external_data.locations(model.proto)):
        raise UsageError(
            Finding(
                "U102",
                "the output would replace data that the model uses",
                help="choose another name for the output",
                file=target,
            )
        )


def _exists(path: str) -> UsageError:
    return UsageError(
        Finding("U102", "the output exists already", help="choose another name, or allow it: force, --force", file=path)
    )


def _cannot_write(path: str, error: OSError) -> UsageError:
    why = error.strerror or str(error)
    return UsageError(Finding("U104", "the output cannot be written", why=why, file=path))


def _folder(model: ModelParts) -> external_data.Folder | None:
    if model.folder is None and external_data.locations(model.proto):
        raise UsageError(
            Finding(
                "U103",
                "the folder of the model's external data is not known",
                why="it did not come from a path, and locations are relative to the model's folder",
                help="load it by its path, or keep its external data as it is: external='keep'",
            )
        )
    return model.folder


def _bring(model: ModelParts, output: str, files: _Files, *, link: bool) -> None:
    """Copy or link every data file of the model beside the output, under its relative location."""
    folder = _folder(model)
    if folder is None:
        return
    base = os.path.realpath(os.path.dirname(os.path.abspath(output)))
    brought: dict[str, str] = {}
    problems: list[Finding] = []
    for location, place in external_data.locations(model.proto).items():
        try:
            file = folder.file(location, place)
            target = _target(base, location, output)
            if brought.setdefault(target, location) != location or not _needs_copy(file, target, files.force):
                continue  # two ways to write one path, such as ./data and data, or a file that is there already
            files.folder(os.path.dirname(target))
            if link:
                files.link(target, file)
            else:
                files.write(target, [wire.Segment(file, 0, file.size)])
        except OpsetError as error:
            problems += error.findings
    if problems:
        kind = ModelError if any(finding.code.startswith("M") for finding in problems) else UsageError
        raise kind(problems)


def _target(base: str, location: str, output: str) -> str:
    """Return where a data file belongs below the output's folder, on a way without links and never outside of it."""
    parts = location.split("/")
    if os.path.isabs(location) or ".." in parts:
        raise _misplaced(location, "its location is not one inside a folder")
    target = os.path.normpath(os.path.join(base, location))
    if target == os.path.join(base, os.path.basename(output)):
        raise _misplaced(location, "it has the name of the output")
    if os.path.realpath(os.path.dirname(target)) != os.path.dirname(target):
        raise _misplaced(location, "there is a link on the way in the output's folder")
    return target


def _misplaced(location: str, why: str) -> UsageError:
    return UsageError(
        Finding(
            "U103",
            f"external data {quoted(location)} cannot be put beside the output",
            why=why,
            help="external='move' puts the data into a new file, external='inline' puts it into the model",
        )
    )


def _needs_copy(file: external_data.ExternalFile, target: str, force: bool) -> bool:
    """Return whether a data file has to be put at its target; raise UsageError U102 if something else is there."""
    if not os.path.lexists(target):
        return True
    if os.path.realpath(target) == file.real or _same_content(file, target):
        return False
    if not force:
        raise _exists(target)
    return True


def _same_content(file: external_data.ExternalFile, target: str) -> bool:
    status = os.lstat(target)
    if not stat.S_ISREG(status.st_mode) or status.st_size != file.size:
        return False
    with open(target, "rb") as other:
        return all(other.read(len(chunk)) == chunk for chunk in chunks([wire.Segment(file, 0, file.size)]))


def _moved(model: ModelParts, output: str, files: _Files) -> ModelParts:
    """Put all large data into a new file beside the output; return the model that refers to it."""
    _folder(model)
    message = proto.ModelProto()
    message.CopyFrom(model.proto)
    dense = [tensor for tensor in external_data.constants(message) if tensor.DESCRIPTOR.name == "TensorProto"]
    large = [tensor for tensor in dense if not external_data.is_external(tensor) and _is_large(tensor)]
    large += filter(external_data.is_external, external_data.tensors(message))
    if not large:
        return model
    target = os.path.abspath(output) + ".data"
    if os.path.lexists(target):
        if not files.force:
            raise _exists(target)
        _spare_data(model, target)

    def pieces() -> Iterator[Piece]:
        offset = 0
        for tensor in large:
            size = data_size(tensor)
            padding = -offset % ALIGNMENT
            yield bytes(padding)
            yield tensors.data_range(model, tensor) or tensors.tensor_bytes(model, tensor)
            model.clear_data(tensor)
            external_data.refer(tensor, os.path.basename(target), offset + padding, size)
            offset += padding + size

    files.write(target, pieces())
    return model.with_proto(message)


def _is_large(tensor: Any) -> bool:
    return tensor.data_type in ELEMENTS and tensor.data_type != STRING and data_size(tensor) > wire.THRESHOLD


def _inlined(model: ModelParts) -> ModelParts:
    """Return the model with its external data as raw_data, still to be read."""
    folder = _folder(model)
    message = proto.ModelProto()
    message.CopyFrom(model.proto)
    segments = []
    for tensor in filter(external_data.is_external, external_data.tensors(message)):
        data = external_data.data_range(folder, tensor)
        model.clear_data(tensor)
        header = wire.header(wire.RAW_DATA, data.size)
        segments.append((tensor, wire.Segment(data.source, data.start, data.end, header)))
    return model.with_segments(message, segments)
