"""Writing a model: whole or not at all, its data copied from its file without passing through memory.

Every file is written under a temporary name in its own folder, flushed to the disk and renamed. No existing file is
ever written into, and data files come before the model that refers to them. So a kill at any moment leaves either the
old model or the new one; only if `force` replaces a data file too can it fall between the two renames.
"""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import IO, Final

from opset.errors import Finding, ModelError, OpsetError, UsageError, quote
from opset.model import proto
from opset.model.elements import ELEMENTS, STRING
from opset.model.storage import external as external_data
from opset.model.storage import tensor as tensors
from opset.model.storage import wire
from opset.model.storage.atomic import TEMPORARY, Files, OpenFolder, OutputPlace, output_exists_error
from opset.model.storage.copying import ALIGNMENT, data_ranges
from opset.model.storage.encoding import data_size
from opset.model.storage.parts import ONNX_TEXT, ModelParts, Piece, chunks, syntax_for
from opset.model.storage.remote import is_remote, local_path, write_remote
from opset.model.storage.source import NO_WAIT, OPEN, Source, resolve_links

MODES: Final = ("auto", "keep", "copy", "link", "inline", "move")


def save(model: ModelParts, path: str | os.PathLike[str], *, external: str = "auto", force: bool = False) -> None:
    """Write a model to a path; see `Model.save`."""
    output = local_path(os.fsdecode(path))
    if is_remote(output):
        _save_remote(model, output, syntax_for(output), external, force)
        return
    with _report_os_errors(output):
        if (stream := _open_stream(output)) is not None:
            with stream:
                write_stream(model, stream, external=external, syntax=syntax_for(output))
            return
        if not os.path.isdir(os.path.dirname(os.path.abspath(output))):
            why = "the folder that it is to be in does not exist"
            raise UsageError(Finding("U104", "the output cannot be written", why=why, file=output))
        _check_output(model, output, force)
        with Files(force, _names_of_files(model)) as files:
            folder = files.folder(os.path.dirname(os.path.abspath(output)))
            place = OutputPlace(folder, os.path.basename(output))
            _write_model(model, place, syntax_for(output), external, files)


def save_below(model: ModelParts, folder: str, relative: str, *, external: str = "auto", force: bool = False) -> None:
    """Write a model to a path below a folder, as `save` does, but to a file alone, and on a way without links.

    Folders that do not exist are made. A model that was read from text keeps its syntax if the ending of the name
    allows it. Raises UsageError U104 if a link is on the way.
    """
    output = os.path.join(folder, relative)
    syntax = syntax_for(output)
    if syntax == ONNX_TEXT:
        syntax = model.syntax or syntax
    if is_remote(output):
        _save_remote(model, output, syntax, external, force)
        return
    with _report_os_errors(output):
        _check_output(model, output, force)
        with Files(force, _names_of_files(model)) as files:
            *parents, name = relative.split(os.sep)
            place = OutputPlace(files.inside(files.folder(folder), parents), name)
            _write_model(model, place, syntax, external, files)


def _save_remote(model: ModelParts, url: str, syntax: str, external: str, force: bool) -> None:
    """Write a model, and its external data if it goes to another folder, to a URL."""
    if external not in ("auto", "keep", "copy", "inline"):
        why = f"external={quote(external)} needs a folder of this system"
        raise UsageError(Finding("U103", "the mode does not fit a URL", why=why, help="keep, copy or inline", file=url))
    folder, _, name = url.rpartition("/")
    kept = model.folder is None or model.folder.is_own(folder)
    files: dict[str, Iterator[bytes]] = {}
    if external == "inline":
        model = _inline_data(model)
    elif (external == "copy" or (external == "auto" and not kept)) and (origin := _data_folder(model)) is not None:
        for location, where in external_data.locations(model.proto).items():
            file = origin.file(location, where)
            target = "/".join((folder, *_location_parts(location, name)))
            files[target] = chunks([wire.Segment(file, 0, file.size)])
    files[url] = chunks(_output_pieces(model, syntax))
    write_remote(files, force)


def save_in_place(
    model: ModelParts,
    folder: str,
    relative: str,
    roots: Iterable[str | os.PathLike[str]] = (),
    *,
    external: str = "auto",
    force: bool = False,
) -> None:
    """Replace the model at a path below a folder by its result; a link stays, and its target is replaced.

    Args:
        roots: Folders into which a link may lead.
        external: The treatment of external data, as for `Model.save`.
        force: Whether data files are replaced.

    Raises:
        UsageError: U104 if a link leads out of its own folder and into none of `roots`, U102 if a data file exists and
            `force` is false, U103 if `external` would put data beside a model that is reached by a link.
    """
    path = os.path.join(folder, relative)
    if os.path.islink(path):
        folder, relative = _target_of_link(path, roots)
        if external in ("copy", "link", "move") and os.path.dirname(relative):
            why = "its data would be in another folder than the link"
            help = "write to where the link leads, or keep the data there: external='keep', --external-data keep"
            raise UsageError(
                Finding("U103", f"external='{external}' does not fit a link", why=why, help=help, file=path)
            )
        external = "keep" if external == "auto" else external
    data = os.path.join(folder, f"{relative}.data")
    if not force and external == "move" and os.path.lexists(data):  # to be replaced is the model alone
        raise output_exists_error(data)
    save_below(model, folder, relative, external=external, force=True)


def _target_of_link(path: str, roots: Iterable[str | os.PathLike[str]]) -> tuple[str, str]:
    """Return an allowed folder, and below it the path that a link leads to."""
    real = resolve_links(path)
    for root in (os.path.dirname(os.path.abspath(path)), *map(os.fsdecode, roots)):
        root = resolve_links(root)
        if real.startswith(os.path.join(root, "")):
            return root, os.path.relpath(real, root)
    why = f"it is a link, and leads out of its folder, to {real}"
    help = "name the file itself, write elsewhere with -o, or allow its folder: --allow-external-root DIR"
    raise UsageError(Finding("U104", "the output cannot be written", why=why, help=help, file=path))


@contextmanager
def _report_os_errors(output: str) -> Iterator[None]:
    """Raise UsageError U104 for errors of the system in the block."""
    if "\0" in output:
        raise UsageError(Finding("U104", "the output cannot be written", why="its name holds NUL", file=output))
    try:
        yield
    except OSError as error:
        raise _write_error(output, error) from error


def _names_of_files(model: ModelParts) -> set[str]:
    """Return the names of the model's files: they are not removed though they look like temporary files."""
    return {os.path.basename(name) for name in (model.path or "", *external_data.locations(model.proto))}


def _write_model(model: ModelParts, place: OutputPlace, syntax: str, external: str, files: Files) -> None:
    """Write a model and its external data, all or nothing."""
    if external not in MODES:
        raise UsageError(Finding("U103", f"external={quote(external)} is not known", help=", ".join(MODES)))
    if external == "auto":
        kept = model.folder is None or model.folder.is_own(place.folder.path)
        external = "keep" if kept else "copy"
    if external == "keep":
        model = _with_locations_from(model, place.folder.path)
    elif external in ("copy", "link"):
        model = _with_locations_inside(model)
        _bring_data_files(model, place, files, link=external == "link")
    elif external == "move":
        model = _move_data(model, place, files)
    elif external == "inline":
        model = _inline_data(model)
    pieces = _output_pieces(model, syntax)
    files.write(place, pieces, model.sources)
    files.commit()


def write_stream(model: ModelParts, file: IO[bytes], *, external: str = "keep", syntax: str = "") -> None:
    """Write a model's bytes, or its text in a syntax (see `parts`), to a binary stream.

    `external` is "keep" (or "auto", the same) or "inline", as for `save`.

    Raises UsageError U103 for another mode or a stream of text, U104 if writing fails, BrokenPipeError as it is, and
    ModelError as `save` does.
    """
    if external not in ("auto", "keep", "inline"):
        why = f"external={quote(external)} needs a folder to put the data into"
        raise UsageError(Finding("U103", "a stream takes no external data", why=why, help="keep or inline"))
    if isinstance(file, io.TextIOBase):
        raise UsageError(Finding("U103", "a model is binary, and this stream takes text", help="write to its .buffer"))
    if external == "inline":
        model = _inline_data(model)
    try:
        for chunk in chunks(_output_pieces(model, syntax)):
            rest = memoryview(chunk)
            while rest:
                written = file.write(rest)
                rest = rest[len(rest) if written is None else written :]
        file.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _write_error(str(getattr(file, "name", "")), error) from error


def _output_pieces(model: ModelParts, syntax: str) -> list[Piece]:
    """Return the content of a file that holds the model, or its text in a syntax."""
    if not syntax:
        return model.pieces()[0]
    if syntax == ONNX_TEXT:  # few models are written as text
        from opset.model.text.printing import to_text

        return [to_text(model).encode()]
    from opset.model.text.protobuf import model_text

    return [model_text(model, syntax)]


def write_files(files: Mapping[str, bytes], *, force: bool = False) -> None:
    """Write files that belong together, all or none, making their folders.

    Raises UsageError U102 if one exists and `force` does not allow it, U104 if writing fails.
    """
    if existing := [path for path in files if os.path.lexists(path) and not force]:
        raise UsageError(finding for path in existing for finding in output_exists_error(path).findings)
    with _report_os_errors(next(iter(files), "")), Files(force) as together:
        for path, data in files.items():
            folder, name = os.path.split(os.path.abspath(path))
            together.write(OutputPlace(together.folder(folder), name), [data])
        together.commit()


def write_below(folder: str | os.PathLike[str], files: Mapping[str, bytes], *, durable: bool = True) -> None:
    """Write files at paths below a folder, all or none, over those that are there, and on ways without links.

    They are put in place in their order. Many files that can be made again need not be `durable`, which takes long.
    Raises UsageError U104 if there is a link, or writing fails.
    """
    with _report_os_errors(os.fspath(folder)), Files(force=True, durable=durable) as together:
        root = together.folder(os.fspath(folder))
        for relative, data in files.items():
            *parents, name = relative.split(os.sep)
            place = OutputPlace(together.inside(root, parents), name)
            old = place.status()
            if old is not None and not stat.S_ISREG(old.st_mode):
                help = "name the folder that the file is in"
                raise UsageError(Finding("U104", "a link is not written to", help=help, file=place.path))
            together.write(place, [data])
        together.commit()


def remove_below(folder: str | os.PathLike[str], files: Iterable[str]) -> None:
    """Remove those files at paths below a folder that are there, on ways without links, and folders that this empties.

    Raises UsageError U104 if that fails.
    """
    below: dict[tuple[str, ...], list[str]] = {}
    for relative in files:
        *parents, name = relative.split(os.sep)
        below.setdefault((*parents,), []).append(name)
    with _report_os_errors(os.fspath(folder)):
        for way, names in below.items():
            with suppress(FileNotFoundError, NotADirectoryError), ExitStack() as stack:  # gone, or another one by now
                _remove_files(os.fspath(folder), way, names, stack)


def _remove_files(folder: str, way: Sequence[str], names: Iterable[str], stack: ExitStack) -> None:
    """Remove files in the folder at the end of a way, and the folders on it that are empty then."""
    opened = [OpenFolder(folder)]
    stack.callback(opened[0].close)
    for part in way:
        opened.append(OpenFolder(os.path.join(opened[-1].path, part), opened[-1]))
        stack.callback(opened[-1].close)
    for name in names:
        status = opened[-1].status(name)
        if status is not None and stat.S_ISREG(status.st_mode):
            opened[-1].remove(name)
    with suppress(OSError):  # the first one that is not empty
        for above, part in reversed([*zip(opened, way, strict=False)]):
            above.remove(part)


_DESCRIPTOR = r"/dev/(stdout|stderr|fd/(\d+))|/proc/self/fd/(\d+)"


def _open_stream(output: str) -> IO[bytes] | None:
    """Open an output that is a pipe or a device; return None for any other, which becomes a file."""
    path = os.path.abspath(output)
    if path.startswith(("/dev/", "/proc/")) and (stream := re.fullmatch(_DESCRIPTOR, path)):
        number = {"stdout": 1, "stderr": 2}.get(stream[1]) or int(stream[2] or stream[3])
        return open(os.dup(number), "wb")
    try:
        if not _is_stream(os.stat(output)):
            return None
    except FileNotFoundError:
        return None
    descriptor = os.open(output, os.O_WRONLY | OPEN)  # a file that is put there meanwhile is not emptied
    if not _is_stream(os.fstat(descriptor)):
        os.close(descriptor)
        return None
    return open(descriptor, "wb")


def _is_stream(status: os.stat_result) -> bool:
    """Whether a file is a pipe, a device or a socket."""
    return stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode) or stat.S_ISSOCK(status.st_mode)


def _check_output(model: ModelParts, output: str, force: bool) -> None:
    """Raise UsageError if the output is a folder, exists, or is a data file of the model itself."""
    if os.path.isdir(output) or not os.path.basename(output):
        raise UsageError(Finding("U104", "the output cannot be written", why="it is a folder", file=output))
    if os.path.lexists(output):
        if not force:
            raise output_exists_error(output)
        _check_not_own_data(model, output)


def _check_not_own_data(model: ModelParts, target: str) -> None:
    """Raise UsageError U102 if a file that is about to be replaced holds data of the model."""
    if model.folder is None:
        return
    real = resolve_links(target)
    if real in map(model.folder.real_path, external_data.locations(model.proto)):
        message, help = "the output would replace data that the model uses", "choose another name for the output"
        raise UsageError(Finding("U102", message, help=help, file=target))


def _write_error(path: str, error: OSError) -> UsageError:
    """Return the error U104 for an error of the system."""
    why = error.strerror or str(error)
    return UsageError(Finding("U104", "the output cannot be written", why=why, file=path))


def _data_folder(model: ModelParts) -> external_data.Folder | None:
    """Return the folder of the model's external data, None if it has none; raise UsageError U103 if it is unknown."""
    if model.folder is None and external_data.locations(model.proto):
        why = "it did not come from a path, and locations are relative to the model's folder"
        help = "load it by its path, or keep its external data as it is: external='keep', --external-data keep"
        message = "the folder of the model's external data is not known"
        raise UsageError(Finding("U103", message, why=why, help=help))
    return model.folder


def _with_locations_inside(model: ModelParts) -> ModelParts:
    """Return the model with names beside it for data files of another folder."""
    if not isinstance(model.folder, external_data.JoinedFolder):
        return model
    folder, moved = model.folder.brought_inside(external_data.locations(model.proto))
    changed = _with_locations(model, moved)
    changed.folder = folder
    return changed


def _with_locations_from(model: ModelParts, folder: str) -> ModelParts:
    """Return the model with locations that lead from a folder to its data files, if it was joined."""
    origin = model.folder
    if not isinstance(origin, external_data.JoinedFolder):
        return model
    led = {each: origin.location_from(folder, each) for each in external_data.locations(model.proto)}
    new = {location: way for location, way in led.items() if way != location}
    return _with_locations(model, new) if new else model


def _with_locations(model: ModelParts, new: Mapping[str, str]) -> ModelParts:
    """Return the model with new locations of external data."""
    message = proto.ModelProto()
    message.CopyFrom(model.proto)
    external_data.replace_locations(message, new)
    return model.with_proto(message, changed=True)


def _bring_data_files(model: ModelParts, output: OutputPlace, files: Files, *, link: bool) -> None:
    """Copy or link every data file of the model beside the output, under its relative location."""
    folder = _data_folder(model)
    if folder is None:
        return
    brought: dict[tuple[str, ...], str] = {}
    problems: list[Finding] = []
    for location, where in external_data.locations(model.proto).items():
        try:
            file = folder.file(location, where)
            parts = _location_parts(location, output.name)
            if brought.setdefault(parts, location) != location:
                continue  # two ways to write one path, such as ./data and data
            target = OutputPlace(files.inside(output.folder, parts[:-1]), parts[-1])
            if target.status() is not None:
                if resolve_links(target.path) == file.real or _has_same_content(file, target):
                    continue
                if not files.force:
                    raise output_exists_error(target.path)
            if link:
                _link_file(files, target, location, file)
            else:
                files.write(target, [wire.Segment(file, 0, file.size)], [file])
        except NotADirectoryError as error:
            problems += _location_error(location, str(error.strerror)).findings
        except OpsetError as error:
            problems += error.findings
    if problems:
        kind = ModelError if any(finding.code.startswith("M") for finding in problems) else UsageError
        raise kind(problems)


def _link_file(files: Files, target: OutputPlace, location: str, file: external_data.DataFile) -> None:
    """Make another name for a data file; raise UsageError U103 if it is behind a URL."""
    with file.descriptor() as descriptor:
        if descriptor is None:
            raise _location_error(location, "it is behind a URL, and cannot be linked")
        files.link(target, file.real, descriptor)


def _location_parts(location: str, output: str) -> tuple[str, ...]:
    """Return the folders below the output's, and the name, at which a data file belongs."""
    parts = tuple(part for part in re.split(_SEPARATORS, location) if part not in ("", os.curdir))
    if os.path.isabs(location) or os.path.splitdrive(location)[0] or os.pardir in parts:
        raise _location_error(location, "its location is not one inside a folder")
    if parts == (output,):
        raise _location_error(location, "it has the name of the output")
    if TEMPORARY.fullmatch(parts[-1]):
        raise _location_error(location, "it has the name of a temporary file")
    return parts


_SEPARATORS: Final = r"[/\\]" if os.sep == "\\" else "/"


def _location_error(location: str, why: str) -> UsageError:
    """Return the error U103 for external data that has no place beside the output."""
    message = f"external data {quote(location)} cannot be put beside the output"
    help = "external='move', --external-data move, puts the data into a new file, 'inline' puts it into the model"
    return UsageError(Finding("U103", message, why=why, help=help))


def _has_same_content(file: external_data.DataFile, target: OutputPlace) -> bool:
    """Whether the file at a place holds the same bytes as a data file, with the same holes."""
    status = target.status()
    if status is None or not stat.S_ISREG(status.st_mode) or status.st_size != file.size or status.st_nlink > 1:
        return False
    with open(target.folder.open(target.name, os.O_RDONLY | NO_WAIT), "rb") as other, file.descriptor() as one:
        if one is None:
            return False
        ranges = [*data_ranges(one, 0, file.size)]
        if ranges != [*data_ranges(other.fileno(), 0, file.size)]:
            return False  # or else both would have to be read, however large their holes are
        for start, end in ranges:
            other.seek(start)
            if any(other.read(len(chunk)) != chunk for chunk in chunks([wire.Segment(file, start, end)])):
                return False
        return True


def _move_data(model: ModelParts, output: OutputPlace, files: Files) -> ModelParts:
    """Put all large data into a new file beside the output; return the model that refers to it."""
    folder = _data_folder(model)
    message = proto.ModelProto()
    message.CopyFrom(model.proto)
    dense = [tensor for tensor in external_data.constants(message) if tensor.DESCRIPTOR.name == "TensorProto"]
    inside = [each for each in dense if not external_data.is_external(each) and each.data_type in ELEMENTS]
    large = [each for each in inside if each.data_type != STRING and data_size(each) > wire.THRESHOLD]
    beside = [*filter(external_data.is_external, external_data.tensors(message))]
    if not (large := large + beside):
        return model
    target = OutputPlace(output.folder, f"{output.name}.data")
    if target.status() is not None:
        if not files.force:
            raise output_exists_error(target.path)
        _check_not_own_data(model, target.path)
    sources: list[Source] = [*model.sources]
    if folder is not None:
        named = {external_data.reference(tensor).location: tensor for tensor in beside}
        sources += (external_data.data_range(folder, tensor).source for tensor in named.values())

    def pieces() -> Iterator[Piece]:
        offset = 0
        for tensor in large:
            size = data_size(tensor)
            padding = -offset % ALIGNMENT
            yield bytes(padding)
            yield tensors.data_range(model, tensor) or tensors.tensor_bytes(model, tensor)
            model.clear_data(tensor)
            external_data.set_reference(tensor, target.name, offset + padding, size)
            offset += padding + size

    files.write(target, pieces(), sources)
    return model.with_proto(message)


def _inline_data(model: ModelParts) -> ModelParts:
    """Return the model with its external data as raw_data, still to be read."""
    folder = _data_folder(model)
    message = proto.ModelProto()
    message.CopyFrom(model.proto)
    segments = []
    for tensor in filter(external_data.is_external, external_data.tensors(message)):
        data = external_data.data_range(folder, tensor)
        model.clear_data(tensor)
        header = wire.header(wire.RAW_DATA, data.size)
        segments.append((tensor, wire.Segment(data.source, data.start, data.end, header)))
    return model.with_segments(message, segments)
