"""Files of numpy: .npy and .npz are read within bounds and without pickle, and .npz is written.

The sizes that a file states are compared with its own size before memory is taken, so neither a shape of 2^40 nor an
archive that unpacks to much more than it is costs more than `limit` bytes. All functions raise ValueError with the
reason if a file or value does not fit; opset.tensor_io.files names the file.
"""

from __future__ import annotations

import io
import math
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from opset.model.arrays import TEXT_SIZE
from opset.model.storage.source import CHUNK
from opset.model.storage.tensor import text_of
from opset.reference.numerics.memory import nbytes
from opset.tensor_io.limits import MAX_DIRECTORY, MAX_HEADER

Array = NDArray[Any]

_READERS: Final = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_NUMBERS: Final = frozenset(map(np.dtype, "?bhilqBHILQefdFD"))
_DAMAGED: Final = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, struct.error)
_TIME: Final = (1980, 1, 1, 0, 0, 0)  # of all members, so that the same values give the same bytes


def read_array(file: IO[bytes], size: int, limit: int) -> Array:
    """Return the array in an open .npy file of `size` bytes.

    Raises ValueError if the file is damaged, holds anything but a tensor, or takes more than `limit` bytes of memory.
    """
    start = io.BytesIO(file.read(MAX_HEADER))
    shape, dtype, fortran = _read_header(start)
    available = size - start.tell()
    count = math.prod(shape)
    needed = count * dtype.itemsize
    if count and not needed:
        raise ValueError("its elements have no size")
    if needed != available:
        stated = f"{needed:,}" if needed < 1 << 64 else "more than 2^64"
        raise ValueError(f"shape {_shape_text(shape)} of {dtype} needs {stated} bytes, and {available:,} are there")
    if (taken := needed + (count * TEXT_SIZE if dtype.kind in "SU" else 0)) > limit:
        raise ValueError(f"it takes {taken:,} bytes, and the limit is {limit:,}")
    data = _read_exactly(start.read(), file, needed)
    flat: Array = np.frombuffer(data, np.uint8 if dtype.kind == "b" else dtype) if needed else np.empty(0, dtype)
    if dtype.kind == "b":
        flat = flat.astype(bool)
    elif dtype.kind in "SU":
        flat = _decode_texts(flat)
    try:
        return flat.reshape(shape, order="F" if fortran else "C")
    except (ValueError, OverflowError) as error:
        raise ValueError(f"no array has the shape {_shape_text(shape)}") from error


def _read_header(start: io.BytesIO) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
    """Return (shape, dtype, whether columns come first) of a .npy file from its first bytes.

    `start` has these bytes, and is then at the beginning of the data. Raises ValueError if the header is damaged, or
    states something that no tensor is.
    """
    try:
        version = np.lib.format.read_magic(start)
    except ValueError as error:
        raise ValueError("it does not begin as .npy files do") from error
    if version not in _READERS:
        raise ValueError(f"it is of version {version[0]}.{version[1]} of the format, and only 1.0 and 2.0 hold tensors")
    try:
        shape, fortran, dtype = _READERS[version](start, max_header_size=MAX_HEADER)
    except Exception as error:  # whatever Python's parser and tokenizer raise
        raise ValueError("its header is damaged") from error
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are never loaded: they may run code. Save text as dtype U")
    if dtype.kind == "V" and dtype.names is None:
        raise ValueError("its type is lost, as is that of bfloat16 and narrower types in such files: use .pb or .json")
    if dtype.kind not in "SU" and dtype.newbyteorder("=") not in _NUMBERS:
        raise ValueError("it holds elements that no tensor has")
    if not all(type(size) is int and 0 <= size < 1 << 62 for size in shape):
        raise ValueError("its shape is damaged")
    return shape, dtype, fortran


def _read_exactly(start: bytes, file: IO[bytes], count: int) -> bytearray:
    """Return exactly `count` bytes: `start`, then bytes read from the file. Raises ValueError if the file ends before.

    They are read in pieces, so that they are never in memory twice.
    """
    data = bytearray(count)
    data[: len(start)] = start
    filled = len(start)
    while filled < count:
        piece = file.read(min(count - filled, CHUNK))
        if not piece:
            raise ValueError(f"it ends after {filled:,} of {count:,} bytes")
        data[filled : filled + len(piece)] = piece
        filled += len(piece)
    return data


def _shape_text(shape: tuple[int, ...]) -> str:
    """Return a shape as text, such as "[2, 3]", with at most eight sizes."""
    return str([*shape]) if len(shape) <= 8 else f"{str([*shape[:8]])[:-1]}, …]"


def _decode_texts(flat: Array) -> Array:
    """Return texts of numpy (dtype S or U) as an array of objects: str, or bytes if they are not valid UTF-8.

    Raises ValueError if a text has numbers that are no characters of Unicode.
    """
    texts = np.empty(flat.size, object)
    if flat.dtype.kind == "S":
        texts[:] = [text_of(text) for text in flat.tolist()]
        return texts
    codes = flat.view(np.dtype(np.uint32).newbyteorder(flat.dtype.byteorder))
    if np.any(codes > 0x10FFFF) or np.any((codes >= 0xD800) & (codes < 0xE000)):
        raise ValueError("it holds numbers that are no characters of Unicode")
    texts[:] = flat.tolist()
    return texts


def read_npz(file: IO[bytes], limit: int, choose_names: Callable[[list[str]], Mapping[str, str]]) -> dict[str, Array]:
    """Return the arrays of an open .npz file that the caller chooses, by name.

    Args:
        file: The open file.
        limit: The number of bytes that the arrays may take together.
        choose_names: A function that is called with the names in the file. It returns the names to read, each with its
            name in the result.

    Raises:
        ValueError: The file is damaged, holds something else, or its arrays take more than `limit` bytes.
    """
    try:
        with zipfile.ZipFile(_Pieces(file)) as archive:
            members: dict[str, zipfile.ZipInfo] = {}
            for info in archive.infolist():
                if not info.filename.endswith(".npy"):
                    raise ValueError(f"'{info.filename[:100]}' in it is no .npy file")
                if members.setdefault(info.filename[:-4], info) is not info:
                    raise ValueError(f"'{info.filename[:100]}' occurs twice in it")
            names = choose_names([*members])
            if (size := sum(members[name].file_size for name in names)) > limit:
                raise ValueError(f"it unpacks to {size:,} bytes, and the limit is {limit:,}")
            arrays: dict[str, Array] = {}
            for name, result_name in names.items():
                if result_name in arrays:
                    raise ValueError(f"'{result_name[:100]}' occurs twice in it, with and without a prefix")
                arrays[result_name] = _read_member(archive, members[name], limit)
                limit -= nbytes(arrays[result_name])
            return arrays
    except _DAMAGED as error:
        raise ValueError(f"it is no archive as numpy writes them, or damaged: {error}") from error


class _Pieces:
    """An open archive of which zipfile reads no more than MAX_DIRECTORY bytes at once.

    It reads the directory of an archive at once, however large it is.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek = file.seek
        self.tell = file.tell
        self.seekable = file.seekable

    def read(self, count: int = -1) -> bytes:
        """Return the next `count` bytes, or at most MAX_DIRECTORY if `count` is negative.

        Raises ValueError if `count` is above MAX_DIRECTORY.
        """
        if count > MAX_DIRECTORY:
            raise ValueError(f"its directory has {count:,} bytes, and at most {MAX_DIRECTORY:,} are read")
        return self._file.read(MAX_DIRECTORY if count < 0 else count)


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int) -> Array:
    """Return the array in one file of an archive. Raises ValueError, which names it, if it cannot be read."""
    name = info.filename[:100]
    if info.flag_bits & 1:
        raise ValueError(f"'{name}' in it is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"'{name}' in it is compressed in a way that numpy does not write")
    with archive.open(info) as member:
        try:
            array = read_array(member, info.file_size, limit)
        except ValueError as error:
            raise ValueError(f"'{name}' in it: {error}") from error
        member.read(1)  # the checksum is verified at the end
        return array


def npz_bytes(arrays: Mapping[str, Array]) -> bytes:
    """Return the content of a .npz file of these arrays, by name.

    Raises ValueError for a name or value that such a file cannot hold.
    """
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, array in arrays.items():
            if "\0" in name or len(name.encode()) > 60_000:
                raise ValueError(f"the name {name[:100]!r} cannot be that of a file in an archive")
            with archive.open(zipfile.ZipInfo(f"{name}.npy", _TIME), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, _storable_array(name, array), allow_pickle=False)
    return whole.getvalue()


def has_type(dtype: np.dtype[Any]) -> bool:
    """Whether a .npz file keeps the type: only numpy's own types and text are kept, not bfloat16 and narrower types."""
    return dtype.kind in "biufcO" and dtype.type.__module__ == "numpy"


def _storable_array(name: str, array: Array) -> Array:
    """Return the array `name` in a type of .npy files: text becomes numpy's fixed-width text.

    Raises ValueError if the array would be read as something else, or would take much more space in the file.
    """
    if not has_type(array.dtype):
        raise ValueError(f"'{name}' is {array.dtype}, and a .npz file loses that type")
    if array.dtype.kind != "O":
        return array
    texts = array.ravel().tolist()
    if not all(isinstance(text, str) and not text.endswith("\0") for text in texts):
        raise ValueError(f"'{name}' holds text that a .npz file changes: bytes, or an end in NUL")
    if sum(map(len, texts)) * 16 + 4096 < max(map(len, texts), default=0) * len(texts):
        raise ValueError(f"'{name}' holds texts of very different lengths, and all take the space of the longest")
    return array.astype(np.str_)
