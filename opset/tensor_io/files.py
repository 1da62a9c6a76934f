"""Files of values: the inputs and outputs of a model, by name, read and written.

    .npz      arrays by name; "input/x" is x of the inputs alone, and "output/x" of the outputs
    .npy      one array
    .pb       a TensorProto, SequenceProto, OptionalProto or MapProto
    .json     see opset.tensor_io.json_values; names as in .npz
    a folder  input_0.pb, output_0.pb …: the layout of the test data in the standard's repository, holds every type

Files are untrusted: nothing is unpickled, and sizes are known before memory is taken. Raises RunError R105.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, Final

from opset.errors import Finding, ModelError, RunError, UsageError, listing, quote, safe_text
from opset.model.arrays import MESSAGES, decode_message, dtype_of_element, encode_message, message_of, value_of
from opset.model.storage.source import NO_WAIT, OPEN
from opset.model.storage.writing import write_files
from opset.reference.numerics.memory import nbytes
from opset.reference.value_info import ValueInfo
from opset.reference.values import type_of
from opset.tensor_io import json_values, npz
from opset.tensor_io.limits import MAX_JSON

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMATS: Final = (".npz", ".npy", ".pb", ".json")
_NUMBERED: Final = re.compile(r"(input|output)_(\d{1,6})\.pb")


_UNREADABLE: Final = "the file of values cannot be read"
_CANNOT: Final = "the file cannot hold a value"
_FOLDER: Final = "write a folder, which holds every value: -o FOLDER/"


def read_values(path: str, declared: Sequence[ValueInfo], limit: int, role: str, name: str = "") -> dict[str, Any]:
    """Return the values in a file or folder by the names of the inputs or outputs that they are for.

    A .npy or .pb file holds one value, which is for `name` if that is stated. If not, a .pb file called "input_1.pb" is
    for the input with index 1, and another .pb file for the input that its message names. In any other case, the value
    is for the only input.

    Args:
        path: The file or folder.
        declared: The inputs or outputs, in order; their types decide how .pb and .json are read.
        limit: The number of bytes that the values may take together.
        role: "input" or "output".
        name: The input or output that a file of one value is for, "" if the file says it.

    Raises:
        RunError: R105 with all problems of the file.
    """
    if os.path.isdir(path):
        _refuse_name(name, path, role)
        return _read_folder(path, declared, limit, role)
    file_format = os.path.splitext(path)[1].lower()
    if file_format not in FORMATS:
        help = f"files of values end in {', '.join(FORMATS)}; a folder holds {role}_0.pb and so on"
        raise RunError(Finding("R105", "the form of the file is not known", help=help, file=path))
    if file_format in (".npz", ".json"):
        _refuse_name(name, path, role)
    with _open_file(path, limit) as (file, size):
        match file_format:
            case ".npz":
                return npz.read_npz(file, limit, lambda names: _names_to_read(names, declared, role))
            case ".npy":
                name = name or _only_name(declared, role, path)
                return {name: npz.read_array(file, size, limit)}
            case ".json":
                return values_in_json(file.read(MAX_JSON + 1), declared, role, limit)
        return dict([_read_message(file.read(size), os.path.basename(path), declared, limit, role, name)])


class _Unnamed(ValueError):
    """Nothing says which input or output a file is for, or a folder has no files of values; `help` says what to do."""

    def __init__(self, why: str, help: str) -> None:
        super().__init__(why)
        self.help = help


def _refuse_name(name: str, path: str, role: str) -> None:
    """Raise RunError R105 if `name` is not "", for a file or folder that names its values itself."""
    if name:
        why = f"its values have names, so it is not for the {role} {quote(name)} alone"
        help = f"leave the name out: {safe_text(path)}; NAME= is for .npy and .pb"
        raise RunError(Finding("R105", _UNREADABLE, why=why, help=help, file=path))


@contextmanager
def _open_file(path: str, limit: int) -> Iterator[tuple[IO[bytes], int]]:
    """Open a regular file of at most `limit` bytes for the block, and yield (the open file, its size in bytes).

    Raises RunError R105 if the file cannot be opened, or for an error in the block, as `_report_errors` does.
    """
    with _report_errors(path):
        descriptor = os.open(path, os.O_RDONLY | NO_WAIT | OPEN)
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise ValueError("it is no regular file")
            if status.st_size > limit:
                raise ValueError(f"it has {status.st_size:,} bytes, and the limit is {limit:,}")
            yield file, status.st_size


@contextmanager
def _report_errors(path: str) -> Iterator[None]:
    """Turn a ModelError, OSError, ValueError or MemoryError in the block into RunError R105, with the path."""
    try:
        yield
    except (ModelError, OSError, ValueError, MemoryError) as error:
        why = (error.why or error.message) if isinstance(error, ModelError) else getattr(error, "strerror", None)
        why = why or str(error) or "there is not enough memory"
        help = ""
        if isinstance(error, FileNotFoundError):
            why, help = "there is no such file or folder", "check the path"
        elif isinstance(error, _Unnamed):
            help = error.help
        raise RunError(Finding("R105", _UNREADABLE, why=why[:1000], help=help, file=path)) from error


def _names_to_read(names: Iterable[str], declared: Sequence[ValueInfo], role: str) -> dict[str, str]:
    """Return the names in a file that are to be read, each with its name in the model.

    A name in `declared` stands for itself. Of other names, a prefix "input/" or "output/" is removed if it is that of
    `role`; names with the other prefix are not read.
    """
    declared_names = {value.name for value in declared}
    return {
        name: name if name in declared_names else name.removeprefix(f"{role}/")
        for name in names
        if name in declared_names or name.startswith(f"{role}/") or not name.startswith(("input/", "output/"))
    }


def values_in_stream(stream: IO[bytes], declared: Sequence[ValueInfo], role: str, limit: int) -> dict[str, Any]:
    """Return the values by name of a JSON object in a stream; `read_values` describes the parameters.

    The stream may have no end: at most `limit` bytes, and MAX_JSON, are read. Raises RunError R105 with all problems.
    """
    with _report_errors("<stdin>"):
        most = min(limit, MAX_JSON)
        text = bytearray()
        while len(text) <= most and (more := stream.read1(most + 1 - len(text))):  # type: ignore[attr-defined]
            text += more
            start = text[:64]
            # A character whose bytes are not all there yet is not decoded.
            decoder = codecs.getincrementaldecoder(json.detect_encoding(start))("replace")
            head = decoder.decode(start).lstrip("\ufeff \t\r\n")
            if len(start) >= 4 and head and head[0] != "{":
                raise ValueError("it is no object of values by name")
        if len(text) > most:
            raise ValueError(f"it has more than {most:,} bytes")
        return values_in_json(bytes(text), declared, role, limit)


def values_in_json(text: bytes | str, declared: Sequence[ValueInfo], role: str, limit: int) -> dict[str, Any]:
    """Return the values by name of a JSON object; `read_values` describes the parameters.

    A value whose name is not in `declared` is returned as parsed JSON; the evaluator refuses it. Raises ValueError with
    all problems.
    """
    data = json_values.parse(text)
    if not isinstance(data, dict):
        raise ValueError("it is no object of values by name")
    declarations = {value_info.name: value_info for value_info in declared}
    values: dict[str, Any] = {}
    wrong = []
    for key, name in _names_to_read(data, declared, role).items():
        try:
            if name in values:
                raise ValueError("it occurs twice in it, with and without a prefix")
            values[name] = declared_value(data[key], declarations[name], limit) if name in declarations else data[key]
            limit -= nbytes(values[name])
        except ValueError as error:
            wrong.append(f"'{safe_text(name)}': {error}")
    if wrong:
        raise ValueError("; ".join(wrong))
    return values


def declared_value(data: Any, declared: ValueInfo, limit: int) -> Any:
    """Return a value from parsed JSON, of the type that its declaration states.

    Raises ValueError if the declaration states no type, or if the value does not fit the type or takes more than
    `limit` bytes.
    """
    if declared.type is None:
        raise ValueError("the model does not declare its type: pass it as .npz or .pb")
    value = json_values.value_of(data, declared.type)
    if (size := nbytes(value)) > limit:  # until here, the bound on the text is one on memory, too
        raise ValueError(f"it takes {size:,} bytes, and the limit is {limit:,}")
    return value


def _read_message(
    data: bytes, file: str, declared: Sequence[ValueInfo], limit: int, role: str, name: str
) -> tuple[str, Any]:
    """Return (name, value) of a .pb file, as `read_values` determines the name.

    Args:
        data: The content of the file.
        file: The name of the file, without its folder.
        declared: The inputs or outputs, in order.
        limit: The number of bytes that the value may take.
        role: "input" or "output".
        name: The name that the caller states, "" if none.

    Raises:
        ValueError: The file is for no certain input or output, or its type has no message.
        ModelError: The message is malformed.
    """
    declarations = {value_info.name: value_info for value_info in declared}
    numbered = _NUMBERED.fullmatch(file)
    if not name and numbered and numbered[1] == role:
        if int(numbered[2]) >= len(declared):
            raise ValueError(f"the model has only {len(declared)} {role}s")
        name = declared[int(numbered[2])].name
    if not name:
        stated = []
        for message in MESSAGES.values():
            with suppress(ModelError):
                stated.append(getattr(decode_message(message, data), "name", ""))
        name = next((each for each in stated if each in declarations), "") or _only_name(declared, role, file)
    kind = declarations[name].type if name in declarations else None
    if (word := (kind or "tensor(").partition("(")[0]) not in MESSAGES:
        raise ValueError(f"no message holds {kind}")
    return name, value_of(decode_message(MESSAGES[word], data), limit, kind)


def _only_name(declared: Sequence[ValueInfo], role: str, file: str) -> str:
    """Return the name of the only input or output.

    Raises ValueError, which names `file`, if there are several or none.
    """
    if len(declared) != 1:
        names = listing([each.name for each in declared]) or "none"
        raise _Unnamed(f"it names no {role}", f"write NAME={safe_text(file)}; the {role}s are {names}")
    return declared[0].name


def _read_folder(path: str, declared: Sequence[ValueInfo], limit: int, role: str) -> dict[str, Any]:
    """Return the values in a folder of test data by name: `<role>_<n>.pb` is for the value at index n of `declared`.

    If there are just as many files as inputs without a default value, only these inputs count. Raises RunError R105
    with the problems of all files, or if the folder has no such files of either role.
    """
    with _report_errors(path):
        numbered = sorted(filter(_NUMBERED.fullmatch, os.listdir(path)))
        if not numbered:
            help = f"name a folder of test data, with {role}_0.pb, {role}_1.pb and so on, or a file"
            raise _Unnamed(f"there is no {role}_0.pb in it", help)
    values: dict[str, Any] = {}
    findings: list[Finding] = []
    # A folder that holds only values of the other role belongs to a model without inputs.
    files = [file for file in numbered if file.startswith(role)]
    # Initializers may be listed among the inputs, and test data has no files for them.
    free = [value_info for value_info in declared if not value_info.has_default]
    if {*files} == {f"{role}_{number}.pb" for number in range(len(free))}:
        declared = free
    for file in files:
        try:
            values_of_file = read_values(os.path.join(path, file), declared, limit, role)
            limit = max(limit - sum(map(nbytes, values_of_file.values())), 0)
            values.update(values_of_file)
        except RunError as error:
            findings += error.findings
    if findings:
        raise RunError(findings)
    return values


def format_of(path: str) -> str:
    """Return the format in which values are written to a path: ".npz", ".json", or "/" for a folder.

    Raises UsageError U103 if the path has another ending and is no folder.
    """
    file_format = os.path.splitext(path)[1].lower()
    if path.endswith(("/", os.sep)) or os.path.isdir(path):
        return "/"
    if file_format in (".npz", ".json"):
        return file_format
    help = "name a file .npz or .json, or a folder with a / at its end"
    message = "the file name does not determine the form of the values"
    raise UsageError(Finding("U103", message, help=help, file=path))


def check_format(path: str, declared: Iterable[ValueInfo]) -> None:
    """Raise UsageError U103 if a file to be written cannot hold values of the declared types; each is named.

    A path whose format is not known is an error, too.
    """
    if format_of(path) != ".npz":
        return
    findings = []
    for value_info in declared:
        kind = value_info.type or "tensor(float)"
        if not kind.startswith("tensor("):
            why = f"'{value_info.name}' is {kind}, and a .npz file holds tensors alone"
        elif not npz.has_type(dtype_of_element(kind[7:-1])):
            why = f"'{value_info.name}' is {kind}, and a .npz file loses that type"
        else:
            continue
        findings.append(Finding("U103", _CANNOT, why=why, help=_FOLDER, file=path))
    if findings:
        raise UsageError(findings)


def bytes_to_write(path: str, values: Mapping[str, Mapping[str, Any]]) -> int:
    """Return about how many bytes of memory it takes to write `values`, by role and name, to a path.

    These are copies of the values; for JSON, they are its text and the objects from which it is made. Raises UsageError
    U103 if the format is not known.
    """
    all_values = [value for by_name in values.values() for value in by_name.values()]
    elements = sum(int(getattr(value, "size", 0)) for value in all_values) if format_of(path) == ".json" else 0
    return (2 if format_of(path) == ".npz" else 3) * sum(map(nbytes, all_values)) + 80 * elements


def write_values(
    path: str, values: Mapping[str, Mapping[str, Any]], declared: Mapping[str, Sequence[ValueInfo]], force: bool
) -> None:
    """Write values to a .npz or .json file or a folder, whole or not at all.

    If there are values of inputs, the names in a file begin with "input/" and "output/".

    Args:
        path: The file, or the folder with a "/" at its end.
        values: The values by name, of "output", and perhaps of "input".
        declared: The inputs and outputs, by role and in order, with their types.
        force: Whether existing files are replaced.

    Raises:
        UsageError: U102 if something exists already, U103 if the format cannot hold a value, U104 if writing fails.
    """
    file_format = format_of(path)
    named = {
        name if [*values] == ["output"] else f"{role}/{name}": value
        for role, values_of_role in values.items()
        for name, value in values_of_role.items()
    }
    try:
        if file_format == "/":
            files = {
                os.path.join(path, f"{role}_{number}.pb"): _encode_value(value_info, values_of_role[value_info.name])
                for role, values_of_role in values.items()
                for number, value_info in enumerate(declared[role])
                if value_info.name in values_of_role
            }
            _check_folder(path, files)
        elif file_format == ".npz":
            for name, value in named.items():
                if not hasattr(value, "dtype"):
                    raise ValueError(f"'{name}' is {type_of(value)}, and a .npz file holds tensors alone")
            files = {path: npz.npz_bytes(named)}
        else:
            text = json.dumps({name: json_values.json_of(value) for name, value in named.items()}, allow_nan=False)
            files = {path: f"{text}\n".encode()}
    except (ValueError, ModelError) as error:
        why = error.why if isinstance(error, ModelError) else str(error)
        raise UsageError(Finding("U103", _CANNOT, why=why, help=_FOLDER, file=path)) from error
    write_files(files, force=force)


def _encode_value(declared: ValueInfo, value: Any) -> bytes:
    """Return the bytes of the message of a value, of its declared type.

    Raises ModelError or ValueError if the value does not fit the type.
    """
    return encode_message(message_of(declared.name, value, declared.type or type_of(value)))


def _check_folder(path: str, files: Iterable[str]) -> None:
    """Raise UsageError U102 if a folder holds values that would not be replaced by `files`, the paths to be written.

    They would seem to belong to the same run.
    """
    if os.path.isdir(path):
        written = {os.path.basename(file) for file in files}
        others = sorted(entry for entry in os.listdir(path) if _NUMBERED.fullmatch(entry) and entry not in written)
        if others:
            why = f"it would still hold {others[0]} of another run"
            raise UsageError(Finding("U102", "the folder is in use", why=why, help="name another folder", file=path))
