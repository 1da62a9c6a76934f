"""External data: which file holds a tensor's data, and whether that file may be read.

A model is untrusted, and so is the path that it states. With every link resolved, the path must lead to a regular file
inside the model's folder. If the model file itself is a link, as in the cache of a model hub, the folder of its target
counts too. The file is opened part by part below that folder, following no link any more, and judged
by its descriptor, so that nothing can be exchanged between the look and the read. It must have no second name: a hard
link is a way out of the folder that cannot be seen.
"""

from __future__ import annotations

import errno
import os
import posixpath
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from opset.errors import Finding, FindingList, ModelError, UsageError, quote
from opset.file_names import list_paths
from opset.model.limits import MAX_OFFSET
from opset.model.storage.encoding import data_size, tensor_error, tensor_label
from opset.model.storage.source import (
    FOLDER,
    NO_FOLLOW,
    NO_WAIT,
    OPEN,
    Access,
    Source,
    access_of,
    file_changed_error,
    file_state,
    read_exactly,
    resolve_links,
)
from opset.model.storage.wire import Segment

EXTERNAL = 1
KEYS = ("location", "offset", "length", "checksum")
ODD_KEYS = "external data has keys without a clear meaning"


class Reference(NamedTuple):
    """The entries of a tensor's external_data; `length` is None if it is not stated, and then follows from the dims."""

    location: str
    offset: int
    length: int | None
    checksum: str


class DataFile(Source, Protocol):
    """A file of external data; `real` is its path with every link resolved."""

    real: str


class Folder:
    """The folder of a model file, and the folders that its external data may be in."""

    def __init__(self, model_path: str, allowed: Iterable[str | os.PathLike[str]] = ()) -> None:
        path = os.path.abspath(model_path)
        self.path = os.path.dirname(path)
        self._own = [resolve_links(self.path)]
        if os.path.islink(path):
            self._own.append(os.path.dirname(resolve_links(path)))
        self._allowed = [resolve_links(os.fsdecode(root)) for root in list_paths(allowed)]

    def file(self, location: str, where: str) -> DataFile:
        """Return the file at a location.

        Raises:
            ModelError: M201 if the file is outside of all folders, M202 if it is missing, M203 if it is not regular,
                M209 if it has other names.
        """
        if "\0" in location:
            raise outside_error(location, where, "the location holds a NUL character")
        real = self.real_path(location)
        for roots, trusted in ((self._allowed, True), (self._own, False)):
            for root in roots:
                if real.startswith(os.path.join(root, "")):
                    name = os.path.join(self.path, location)
                    return ExternalFile(root, os.path.relpath(real, root), name, where, trusted)
        raise outside_error(location, where, f"it leads to {real}")

    def real_path(self, location: str) -> str:
        """Return the path that a location leads to with every link resolved, or "" if it cannot lead anywhere."""
        return "" if "\0" in location else resolve_links(os.path.join(self.path, location))

    def location_from(self, folder: str, location: str) -> str:
        """Return the location that leads from another folder to the same file."""
        way = os.path.relpath(resolve_links(self.path), resolve_links(folder)).replace(os.sep, "/")
        return location if way == os.curdir else posixpath.join(way, location)

    def is_own(self, folder: str) -> bool:
        """Return whether a folder is the model's own."""
        return resolve_links(folder) == self._own[0]


class JoinedFolder(Folder):
    """The folder of a model to which another model of another folder was joined, whose locations are rewritten."""

    def __init__(self, first: Folder, second: Folder, located: Mapping[str, str]) -> None:
        """Join two folders; `located` has the locations of the second model's files before, by the new ones."""
        self.path = first.path
        self._first, self._second, self._located = first, second, located

    def file(self, location: str, where: str) -> DataFile:
        """Return the file at a location; raise ModelError as the folder that it belongs to does."""
        if location in self._located:
            return self._second.file(self._located[location], where)
        return self._first.file(location, where)

    def real_path(self, location: str) -> str:
        """Return the path that a location leads to with every link resolved, or "" if it cannot lead anywhere."""
        if location in self._located:
            return self._second.real_path(self._located[location])
        return self._first.real_path(location)

    def is_own(self, folder: str) -> bool:
        """Return whether a folder is the first model's own, and has all files."""
        return self._first.is_own(folder) and not any(map(leads_out, self._located))

    def location_from(self, folder: str, location: str) -> str:
        """Return the location that leads from another folder to the same file."""
        if location in self._located:
            return self._second.location_from(folder, self._located[location])
        return self._first.location_from(folder, location)

    def brought_inside(self, taken: Iterable[str]) -> tuple[JoinedFolder, dict[str, str]]:
        """Return the folder with locations that do not lead out of it, and the new location of each that did.

        Args:
            taken: The locations that the whole model has.
        """
        inside = {*taken}
        located, moved = dict[str, str](), dict[str, str]()
        for location, origin in self._located.items():
            new = location
            if leads_out(location):
                stem, extension = posixpath.splitext(posixpath.basename(location.replace("\\", "/")) or "data")
                new, number = f"{stem}{extension}", 0
                while new in inside:
                    number += 1
                    new = f"{stem}_{number}{extension}"
                inside.add(new)
                moved[location] = new
            located[new] = origin
        return JoinedFolder(self._first, self._second, located), moved


def leads_out(location: str) -> bool:
    """Whether a location begins above the folder that it is relative to, or is absolute."""
    return posixpath.isabs(location) or posixpath.normpath(location).split("/")[0] == os.pardir


class ExternalFile:
    """A data file. It is opened whenever it is read and must then still be the file that it was at first.

    In a folder that the user trusts it may have several names, elsewhere only one.
    """

    def __init__(self, root: str, relative: str, name: str, where: str, trusted: bool) -> None:
        self.name = name
        self.real = os.path.join(root, relative)
        self._root, self._relative, self._where, self._trusted = root, relative, where, trusted
        self._identity: tuple[int, ...] | None = None
        with self.descriptor() as descriptor:
            status = os.fstat(descriptor)
            self.size = status.st_size
            self.access: Access | None = access_of(descriptor, status)

    @contextmanager
    def descriptor(self) -> Iterator[int]:
        """Return a descriptor of the file; raise ModelError M105 if it changed since it was first opened."""
        descriptor = _open_below(self._root, self._relative, self.name, self._where)
        try:
            if not self._trusted and os.fstat(descriptor).st_nlink > 1:
                why = "there are hard links to it, and one of them may be a file outside of the model's folder"
                help = "copy the file, or allow its folder: allow_external_roots, or --allow-external-root DIR"
                message = "an external data file has more than one name"
                raise ModelError(Finding("M209", message, self._where, why, help, self.name))
            self._check_identity(descriptor)
            yield descriptor
            self._check_identity(descriptor)
        finally:
            os.close(descriptor)

    def read(self, offset: int, count: int) -> bytes:
        """Return exactly `count` bytes from `offset`; raise ModelError M105 if the file no longer has them."""
        with self.descriptor() as descriptor:
            return read_exactly(descriptor, offset, count, self.name)

    def _check_identity(self, descriptor: int) -> None:
        """Raise ModelError M105 if the file is another one than before, or was written to."""
        status = os.fstat(descriptor)
        identity = (status.st_dev, status.st_ino, *file_state(status))
        if self._identity is None:
            self._identity = identity
        elif self._identity != identity:
            raise file_changed_error(self.name)


class KnownFiles:
    """The files in a folder, each looked at once: a later look finds the same file, or the same fault."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._found: dict[str, DataFile | ModelError] = {}

    def file(self, location: str, where: str) -> DataFile:
        """Return the file at a location; raise ModelError as `Folder.file` does, `where` being the first one asked."""
        if location not in self._found:
            try:
                self._found[location] = self._folder.file(location, where)
            except ModelError as error:
                self._found[location] = error
        found = self._found[location]
        if isinstance(found, ModelError):
            raise ModelError(found.finding_list)
        return found


def is_external(tensor: Any) -> bool:
    """Return whether a tensor's data is in another file."""
    return bool(tensor.data_location == EXTERNAL)


def reference(tensor: Any) -> Reference:
    """Return the entries of a tensor's external_data; of duplicate keys the last counts.

    Raises:
        ModelError: M207 if there is no location, M204 if offset or length is not a plain number.
    """
    entries = {_path_text(entry.key): _path_text(entry.value) for entry in tensor.external_data}
    faults = FindingList()
    if not entries.get("location"):
        faults.append(Finding("M207", "external data has no location", tensor_label(tensor)))
    numbers = {key: entries.get(key) for key in ("offset", "length")}
    for key, text in numbers.items():
        if text is not None and not _is_plain_number(text):
            message = "offset or length of external data is not a plain number"
            faults.append(Finding("M204", message, tensor_label(tensor), f"{key} is {quote(text)}"))
    if faults:
        raise ModelError(faults)
    offset, length = (None if text is None else int(text) for text in numbers.values())
    return Reference(entries["location"], offset or 0, length, entries.get("checksum", ""))


def data_range(folder: Folder | None, tensor: Any) -> Segment:
    """Return the part of a file that holds a tensor's external data, without reading it.

    Raises:
        ModelError: M201 to M207, or M209, if the data cannot be used.
    """
    segment, faults = locate(folder, tensor)
    if segment is None and not faults:
        why = f"it is in {quote(reference(tensor).location)} beside the model's file"
        message = "the model has external data, and no folder to look for it"
        faults.append(Finding("M202", message, tensor_label(tensor), why, "load the model by its path"))
    if segment is None or faults:
        raise ModelError(faults)
    return segment


def locate(folder: Folder | KnownFiles | None, tensor: Any) -> tuple[Segment | None, FindingList]:
    """Return the part of a file that holds a tensor's external data, and all reasons why it cannot be used.

    Without a folder no file is looked for, and the part is None; a location may still lead out of any folder.
    """
    faults = FindingList()
    said = size = None
    try:
        said = reference(tensor)
    except ModelError as error:
        faults += error.findings
    try:
        size = data_size(tensor)
    except ModelError as error:
        faults += error.findings
    if said is None or size is None:
        return None, faults
    if said.length is not None and said.length != size:
        why = f"external data is {said.length} bytes long, and dims and type ask for {size}"
        faults += tensor_error(tensor, why).findings
    if folder is None:
        if leads_out(said.location) and not posixpath.isabs(said.location):
            faults += outside_error(said.location, tensor_label(tensor), "it begins above the model's folder").findings
        return None, faults
    try:
        file = folder.file(said.location, tensor_label(tensor))
    except ModelError as error:
        faults += error.findings
        return None, faults
    if said.offset + size > file.size:
        why = f"it needs bytes {said.offset} to {said.offset + size}, and the file has {file.size}"
        what = "external data ends before offset plus length"
        faults.append(Finding("M205", what, tensor_label(tensor), why, file=file.name))
    return Segment(file, said.offset, said.offset + size), faults


def findings(model: Any, folder: Folder | None) -> FindingList:
    """Return the findings on the external data of a ModelProto, which is not read.

    M201 to M207 and M209 are reasons why a tensor's data cannot be used; M208 names keys without a meaning, and
    duplicates.
    """
    problems = odd_keys(model)
    for tensor in filter(is_external, tensors(model)):
        try:
            data_range(folder, tensor)
        except ModelError as error:
            problems += error.findings
    return problems


def odd_keys(model: Any) -> FindingList:
    """Return a finding M208 for each tensor of a ModelProto whose external data has keys without a clear meaning."""
    problems = FindingList()
    if locations(model):
        for tensor in filter(is_external, tensors(model)):
            if why := odd_keys_of(tensor):
                problems.append(Finding("M208", ODD_KEYS, tensor_label(tensor), why))
    return problems


def odd_keys_of(tensor: Any) -> str:
    """Return a reason that names the keys of a tensor's external data without a clear meaning, "" if there are none."""
    keys = Counter(_path_text(entry.key) for entry in tensor.external_data)
    odd = [key for key, count in keys.items() if key not in KEYS or count > 1]
    return "not known, or given twice: " + ", ".join(map(quote, odd[:8])) if odd else ""


def set_reference(tensor: Any, location: str, offset: int, length: int) -> None:
    """Make a tensor, which must have no data, refer to data in another file."""
    tensor.data_location = EXTERNAL
    for key, value in (("location", location), ("offset", str(offset)), ("length", str(length))):
        tensor.external_data.add(key=key, value=value)


def locations(model: Any) -> dict[str, str]:
    """Return the locations that a ModelProto's tensors refer to, each with the name of the first tensor that does."""
    first_names: dict[str, str] = {}
    if b"location" not in model.SerializeToString():  # most models, and walking all nodes takes longer
        return first_names
    for tensor in filter(is_external, tensors(model)):
        for entry in tensor.external_data:
            if entry.key == "location":
                first_names.setdefault(_path_text(entry.value), tensor_label(tensor))
    return first_names


def tensors(model: Any) -> Iterator[Any]:
    """Yield every TensorProto of a ModelProto, the parts of sparse tensors included."""
    for tensor in constants(model):
        yield from (tensor.values, tensor.indices) if tensor.DESCRIPTOR.name == "SparseTensorProto" else (tensor,)


def replace_locations(model: Any, new: Mapping[str, str]) -> None:
    """Replace locations that the tensors of a ModelProto refer to by new ones.

    Raises:
        UsageError: U103 if a new one is not valid UTF-8.
    """
    for given in new.values():
        if given.encode(errors="replace").decode() != given:
            why = f"the path {quote(given)} is not valid UTF-8"
            help = "rename the file, and the location in the tensor"
            raise UsageError(Finding("U103", "external data cannot be found from another folder", why=why, help=help))
    for tensor in filter(is_external, tensors(model)):
        for entry in tensor.external_data:
            if entry.key == "location" and (location := new.get(_path_text(entry.value))) is not None:
                entry.value = location


def constants(model: Any) -> Iterator[Any]:
    """Yield every TensorProto and SparseTensorProto of a ModelProto, in graphs, functions, subgraphs and attributes."""
    bodies = [model.graph, *model.functions]
    for training in model.training_info:
        bodies += [training.initialization, training.algorithm]
    while bodies:
        body = bodies.pop()
        attributes = [attribute for node in body.node for attribute in node.attribute]
        if body.DESCRIPTOR.name == "GraphProto":
            yield from body.initializer
            yield from body.sparse_initializer
        else:
            attributes += body.attribute_proto
        for attribute in attributes:
            if attribute.HasField("t"):
                yield attribute.t
            if attribute.HasField("sparse_tensor"):
                yield attribute.sparse_tensor
            yield from attribute.tensors
            yield from attribute.sparse_tensors
            if attribute.HasField("g"):
                bodies.append(attribute.g)
            bodies += attribute.graphs


def _path_text(value: str | bytes) -> str:
    """Return a protobuf string, which is bytes if it is not valid UTF-8, as the system takes file names."""
    return os.fsdecode(value)


def _is_plain_number(text: str) -> bool:
    """Whether a text consists of plain ASCII digits, for a number of at most 63 bits."""
    return text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= MAX_OFFSET


def outside_error(location: str, where: str, why: str) -> ModelError:
    """Return the error M201 for a location outside of all allowed folders."""
    help = "allow its folder if you trust the model: allow_external_roots, or --allow-external-root DIR"
    message = f"external data {quote(location)} lies outside the model's folder"
    return ModelError(Finding("M201", message, where, why, help))


def _open_below(root: str, relative: str, name: str, where: str) -> int:
    """Return a descriptor of the regular file at a path below a folder, with no link on the way."""
    folder = -1
    try:
        if os.open in os.supports_dir_fd:
            folder = os.open(root, FOLDER)
            *parents, last = relative.split(os.sep)
            for parent in parents:
                inner = os.open(parent, FOLDER | NO_FOLLOW, dir_fd=folder)
                os.close(folder)
                folder = inner
            descriptor = os.open(last, os.O_RDONLY | NO_FOLLOW | NO_WAIT | OPEN, dir_fd=folder)
        else:
            descriptor = os.open(os.path.join(root, relative), os.O_RDONLY | OPEN)
    except (OSError, ValueError) as error:
        code = getattr(error, "errno", None)
        if code in (errno.ENXIO, errno.ENODEV):
            raise _not_regular_error(name, where, "it is a socket or a device") from error
        if code == errno.ELOOP:
            why = "there is a link on the way: it leads in a circle, or was put there meanwhile"
            raise outside_error(name, where, why) from error
        why = getattr(error, "strerror", None) or str(error)
        raise ModelError(Finding("M202", "an external data file cannot be opened", where, why, file=name)) from error
    finally:
        if folder >= 0:
            os.close(folder)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe" if stat.S_ISFIFO(mode) else "a device"
        raise _not_regular_error(name, where, f"it is {kind}")
    return descriptor


def _not_regular_error(name: str, where: str, why: str) -> ModelError:
    """Return the error M203 for a file that is not regular."""
    return ModelError(Finding("M203", "external data is not a regular file", where, why, file=name))
