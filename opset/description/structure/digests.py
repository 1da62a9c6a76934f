"""Digests of tensors: SHA-256 of their data in the form of raw_data, which is read in parts and never held whole."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from opset.errors import ModelError
from opset.model.elements import STRING, element_name
from opset.model.storage.encoding import data_size, tensor_label
from opset.model.storage.external import is_external, reference
from opset.model.storage.parts import ModelParts, chunks
from opset.model.storage.source import Source
from opset.model.storage.tensor import data_range, tensor_bytes
from opset.model.storage.wire import Segment

MAX_DIGESTED: Final = 1 << 36
"""Bytes of data that are read to compare two models; data beyond them is not compared."""
_MAX_DECODED: Final = 1 << 28
"""Bytes of a tensor that may be decoded in memory; of a larger one, the encoded fields are digested."""
_SHOWN: Final = 12
"""Hexadecimal digits of a digest that are shown."""


class Unread(NamedTuple):
    """The reason why data has no digest."""

    why: str


class Reading:
    """The data of two models that is read, `left` bytes at most; each range of a file is read once.

    `unread` lists the tensors whose data was not read, and why.
    """

    def __init__(self, left: int = MAX_DIGESTED) -> None:
        self.left = left
        self.unread: list[str] = []
        self._known: dict[tuple[object, int, int], str] = {}

    def digest(self, model: ModelParts, tensor: Any) -> str | Unread:
        """Return the digest of a tensor's data, or the reason why there is none."""
        try:
            digest = self._digest(model, tensor)
        except ModelError as error:
            digest = Unread(error.message)
        if isinstance(digest, Unread):
            self.unread.append(f"{tensor_label(tensor)}: {digest.why}")
        return digest

    def _digest(self, model: ModelParts, tensor: Any) -> str | Unread:
        """Return the digest of a tensor's data; raise ModelError if it cannot be read."""
        if tensor.data_type == STRING and not is_external(tensor):
            return _sum(b"%d " % len(each) + each for each in tensor.string_data)
        segment = data_range(model, tensor)
        size = data_size(tensor)
        if size > self.left:
            return Unread("more data than is compared at once")
        if segment is None:
            self.left -= size
            if size > _MAX_DECODED and (left := model.segments(tensor)):
                return f"encoded {_sum(chunks(left))}"
            return _sum([tensor_bytes(model, tensor)])
        key = identity(segment.source), segment.start, segment.end
        if key not in self._known:
            self.left -= size
            self._known[key] = _sum(chunks([Segment(*segment[:3])]))
        return self._known[key]


def is_one_place(old: ModelParts, tensor: Any, new: ModelParts, other: Any) -> bool:
    """Whether two tensors have their data in the same bytes of the same file, which is not read to see it."""
    try:
        if is_external(tensor) and is_external(other):
            stated, now = reference(tensor), reference(other)
            paths = [
                model.folder and model.folder.real_path(each.location) for model, each in ((old, stated), (new, now))
            ]
            if paths[0] and paths[0] == paths[1]:
                return (stated.offset, _size(tensor, stated.length)) == (now.offset, _size(other, now.length))
        first, second = data_range(old, tensor), data_range(new, other)
    except ModelError:
        return False
    if first is None or second is None:
        return False
    return first[1:3] == second[1:3] and identity(first.source) == identity(second.source)


def _size(tensor: Any, stated: int | None) -> int:
    """Return the bytes of external data: the stated ones, or those that follow from dims and type."""
    return data_size(tensor) if stated is None else stated


def identity(source: Source) -> object:
    """Return what tells the file of a source from others, or the source itself in memory."""
    with source.descriptor() as descriptor:
        if descriptor is None:
            return id(source)
        status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def digest_text(digest: str | Unread) -> str:
    """Return the beginning of a digest, or why there is none, as people see it."""
    return f"unread: {digest.why}" if isinstance(digest, Unread) else f"sha256:{digest[:_SHOWN]}"


def tensor_words(tensor: Any) -> str:
    """Return the type and shape of a TensorProto: "float[3, 2]"."""
    sizes = [str(dim) for dim in tensor.dims[:16]]
    return f"{element_name(tensor.data_type) or 'unknown'}[{', '.join([*sizes, *['…'] * (len(tensor.dims) > 16)])}]"


def _sum(parts: Iterable[bytes]) -> str:
    """Return the SHA-256 digest of bytes in hexadecimal digits."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def metadata_of(message: Any) -> dict[str, str]:
    """Return the entries of a message's metadata_props."""
    return {entry.key: entry.value for entry in message.metadata_props}
