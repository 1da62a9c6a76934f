"""The files of numpy, .npy and .npz, read within bounds and without pickle, and .npz written.

What a file says of its sizes is held against what is there before memory is taken, so neither a shape of 2^40 nor an
archive that unpacks to much more than it is costs more than `limit` bytes. All functions raise ValueError with the
reason where that does not fit; opset.tensor_io.files names the file.
"""

from __future__ import annotations

import ast
import io
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from opset.model.arrays import TEXT_SIZE
from opset.model.source import CHUNK
from opset.model.tensor import text_of
from opset.reference.numerics.memory import nbytes

Array = NDArray[Any]

_MAGIC: Final = b"\x93NUMPY"
_HEADER: Final = 8192
"""Bytes of the longest header that is read; numpy writes some hundred."""
_DTYPE: Final = re.compile(r"[<>|=]?(b1|[iu][1248]|f[248]|c8|c16|[SU]\d{1,9})")
_DAMAGED: Final = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, struct.error)
_TIME: Final = (1980, 1, 1, 0, 0, 0)  # of all members, so that the same values give the same bytes


def read_array(file: IO[bytes], size: int, limit: int) -> Array:
    """Return the array in a .npy file of `size` bytes."""
    shape, dtype, fortran, start = _header(file)
    count = math.prod(shape)
    needed = count * dtype.itemsize
    if count and not needed:
        raise ValueError("its elements have no size")
    if needed != size - start:
        asked = f"{needed:,}" if needed < 1 << 64 else "endless"
        raise ValueError(f"shape {_short(shape)} of {dtype} asks for {asked} bytes, and {size - start:,} are there")
    if (taken := needed + (count * TEXT_SIZE if dtype.kind in "SU" else 0)) > limit:
        raise ValueError(f"it takes {taken:,} bytes, and no more than {limit:,} were to be read")
    data = _read(file, needed)
    flat: Array = np.frombuffer(data, np.uint8 if dtype.kind == "b" else dtype) if needed else np.empty(0, dtype)
    if dtype.kind == "b":
        flat = flat.astype(bool)
    elif dtype.kind in "SU":
        flat = _texts(flat)
    try:
        return flat.reshape(shape, order="F" if fortran else "C")
    except (ValueError, OverflowError) as error:
        raise ValueError(f"no array has the shape {_short(shape)}") from error


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any], bool, int]:
    """Return shape, dtype, whether columns come first, and how many bytes the header has."""
    head = file.read(8)
    if head[:6] != _MAGIC:
        raise ValueError("it does not begin as .npy files do")
    if len(head) < 8 or head[6] not in (1, 2, 3):
        raise ValueError("it is of a version of the format that is not known")
    width = 2 if head[6] == 1 else 4
    length = int.from_bytes(file.read(width), "little")
    if length > _HEADER:
        raise ValueError(f"its header has {length:,} bytes, and no more than {_HEADER:,} are read")
    try:
        fields = ast.literal_eval(file.read(length).decode("utf-8" if head[6] == 3 else "latin-1").strip())
        descr, fortran, shape = fields["descr"], fields["fortran_order"], fields["shape"]
    except (ValueError, SyntaxError, TypeError, LookupError, MemoryError, RecursionError) as error:
        raise ValueError("its header is damaged") from error
    if isinstance(descr, str) and descr.lstrip("<>|=")[:1] == "O":
        raise ValueError("it holds Python objects, which are never loaded: they may run code. Save text as dtype U")
    if isinstance(descr, str) and descr.lstrip("<>|=")[:1] == "V":
        raise ValueError("its type is lost, as is that of bfloat16 and narrower types in such files: use .pb or .json")
    if not isinstance(descr, str) or not _DTYPE.fullmatch(descr):
        raise ValueError("it holds elements that no tensor has")
    if not isinstance(shape, tuple) or not all(type(each) is int and 0 <= each < 1 << 62 for each in shape):
        raise ValueError("its shape is damaged")
    try:
        return shape, np.dtype(descr), bool(fortran), len(head) + width + length
    except (TypeError, ValueError) as error:
        raise ValueError(f"'{descr}' is no type of numpy's") from error


def _read(file: IO[bytes], count: int) -> bytearray:
    """Return exactly so many bytes; they are read in pieces, so that no second copy of them is ever there."""
    data = bytearray(count)
    filled = 0
    while filled < count:
        piece = file.read(min(count - filled, CHUNK))
        if not piece:
            raise ValueError(f"it ends after {filled:,} of {count:,} bytes")
        data[filled : filled + len(piece)] = piece
        filled += len(piece)
    return data


def _short(shape: tuple[int, ...]) -> str:
    return str([*shape]) if len(shape) <= 8 else f"{str([*shape[:8]])[:-1]}, …]"


def _texts(flat: Array) -> Array:
    """Return text as objects: str, or bytes where they are not valid UTF-8."""
    texts = np.empty(flat.size, object)
    if flat.dtype.kind == "S":
        texts[:] = [text_of(each) for each in flat.tolist()]
        return texts
    codes = flat.view(np.dtype(np.uint32).newbyteorder(flat.dtype.byteorder))
    if np.any(codes > 0x10FFFF) or np.any((codes >= 0xD800) & (codes < 0xE000)):
        raise ValueError("it holds numbers that are no characters of Unicode")
    texts[:] = flat.tolist()
    return texts


def read_archive(file: IO[bytes], limit: int, wanted: Callable[[list[str]], Mapping[str, str]]) -> dict[str, Array]:
    """Return arrays of a .npz file that take no more than `limit` bytes together.

    `wanted` gives, of the names in it, those to read and what to call them.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            members: dict[str, zipfile.ZipInfo] = {}
            for info in archive.infolist():
                if not info.filename.endswith(".npy"):
                    raise ValueError(f"'{info.filename[:100]}' in it is no .npy file")
                if members.setdefault(info.filename[:-4], info) is not info:
                    raise ValueError(f"'{info.filename[:100]}' stands in it twice")
            names = wanted([*members])
            if (size := sum(members[name].file_size for name in names)) > limit:
                raise ValueError(f"it unpacks to {size:,} bytes, and no more than {limit:,} were to be read")
            found: dict[str, Array] = {}
            for name, called in names.items():
                if called in found:
                    raise ValueError(f"'{called[:100]}' stands in it twice, with and without a prefix")
                found[called] = _member(archive, members[name], limit)
                limit -= nbytes(found[called])
            return found
    except _DAMAGED as error:
        raise ValueError(f"it is no archive as numpy writes them, or damaged: {error}") from error


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int) -> Array:
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
        member.read(1)  # at the end the checksum is looked at
        return array


def archive_bytes(arrays: Mapping[str, Array]) -> bytes:
    """Return the .npz file of arrays; raises ValueError for what it cannot hold."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, array in arrays.items():
            if "\0" in name or len(name.encode()) > 60_000:
                raise ValueError(f"the name {name[:100]!r} cannot be that of a file in an archive")
            with archive.open(zipfile.ZipInfo(f"{name}.npy", _TIME), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, _storable(name, array), allow_pickle=False)
    return whole.getvalue()


def has_type(dtype: np.dtype[Any]) -> bool:
    """Return whether these files keep a type: numpy's own, and text."""
    return dtype.kind in "biufcO" and dtype.type.__module__ == "numpy"


def _storable(name: str, array: Array) -> Array:
    """Return an array in a type that .npy files know. What would come back as something else is refused."""
    if not has_type(array.dtype):
        raise ValueError(f"'{name}' is {array.dtype}, and a .npz file loses that type")
    if array.dtype.kind != "O":
        return array
    texts = array.ravel().tolist()
    if not all(isinstance(each, str) and not each.endswith("\0") for each in texts):
        raise ValueError(f"'{name}' holds text that a .npz file changes: bytes, or an end in NUL")
    if sum(map(len, texts)) * 16 + 4096 < max(map(len, texts), default=0) * len(texts):
        raise ValueError(f"'{name}' holds texts of very different lengths, and all take the space of the longest")
    return array.astype(np.str_)
