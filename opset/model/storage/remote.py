"""Models behind URLs: s3://, gs://, az://, hf://, https:// and whatever else fsspec knows, read piece by piece.

What is read next is asked for in one request: a block from the place on, which grows as long as reading goes straight
on, small gaps included, and is small again after a jump over weights.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from opset.errors import Finding, ModelError, UsageError, safe_text
from opset.model.storage.external import Folder, outside_error
from opset.model.storage.source import Access, file_changed_error

BLOCK: Final = 128 << 10
"""Bytes of a request after a jump, and of a gap that is read through."""
LARGEST_BLOCK: Final = 8 << 20
_LOCAL = "file"
_PACKAGES: Mapping[str, str] = {
    "s3": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs", "hf": "huggingface_hub",
    "http": "aiohttp", "https": "aiohttp",
}  # fmt: skip
_MARKS = ("ETag", "etag", "mtime", "LastModified", "last_modified", "updated", "created", "blob_id")
"""Entries of a file's description that change with its content."""


def is_remote(path: str) -> bool:
    """Whether a path is a URL, of another scheme than file://."""
    return _scheme_of(path) not in ("", _LOCAL)


def local_path(path: str) -> str:
    """Return the path of a file:// URL, any other path as it is."""
    return path.partition("://")[2] if _scheme_of(path) == _LOCAL else path


def _scheme_of(path: str) -> str:
    """Return the scheme of a URL in lower case, "" for a path that is none."""
    scheme, separator, _ = path.partition("://")
    return scheme.lower() if separator and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]+", scheme) else ""


def file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it. Raises UsageError U110 if there is none for the scheme."""
    try:
        from fsspec.core import url_to_fs

        system, path = url_to_fs(url)
    except ImportError as error:
        packages = " ".join(["'opset[remote]'", *filter(None, [_PACKAGES.get(_scheme_of(url))])])
        raise _place_error(url, f"a package is missing: {error}", f"pip install {packages}") from error
    except Exception as error:
        raise _place_error(url, f"{type(error).__name__}: {error}") from error
    return system, path


def _place_error(url: str, why: str, help: str = "") -> UsageError:
    return UsageError(Finding("U110", "the place cannot be used", why=safe_text(why, 300), help=help, file=url))


class RemoteSource:
    """A file behind a URL."""

    access: Access | None = None

    def __init__(self, url: str) -> None:
        """Open the file, of which the size is asked for at once.

        Raises:
            ModelError: M101 if the file cannot be read.
            UsageError: U110 if the scheme is not known.
        """
        self.name = self.real = url
        self._system, self._path = file_system(url)
        self._start, self._block, self._ahead = 0, b"", BLOCK
        size = _description(self._system, self._path, url).get("size")
        if size is None:
            raise _unreadable_error(url, "the server does not tell its size")
        self.size = int(size)

    def read(self, offset: int, count: int) -> bytes:
        """Return exactly `count` bytes from `offset`; raise ModelError M105 if the file no longer has them."""
        end = self._start + len(self._block)
        if self._start <= offset and offset + count <= end:
            return self._block[offset - self._start : offset - self._start + count]
        known = self._block[offset - self._start :] if self._start <= offset < end else b""
        goes_on = bool(self._block) and 0 <= offset + len(known) - end <= BLOCK
        self._ahead = min(2 * self._ahead, LARGEST_BLOCK) if goes_on else BLOCK
        begin = offset + len(known)
        wanted = max(count - len(known), self._ahead)
        self._start, self._block = offset, known + self._fetch(begin, min(begin + wanted, self.size))
        if len(self._block) < count:
            raise file_changed_error(self.name)
        return self._block[:count]

    def _fetch(self, start: int, end: int) -> bytes:
        """Return the bytes from start to end, which one request asks for."""
        if start >= end:
            return b""
        try:
            data: bytes = self._system.cat_file(self._path, start=start, end=end)
        except Exception as error:
            raise _unreadable_error(self.name, f"{type(error).__name__}: {error}") from error
        if len(data) == self.size != end - start:  # the server knows no ranges
            data = data[start:end]
        if len(data) != end - start:
            raise file_changed_error(self.name)
        return data

    @contextmanager
    def descriptor(self) -> Iterator[None]:
        """Return None: there is no file of this system."""
        yield None


def _description(system: Any, path: str, url: str) -> Mapping[str, Any]:
    """Return a file system's description of a file; raise ModelError M101 if it cannot."""
    try:
        described: Mapping[str, Any] = system.info(path)
    except FileNotFoundError as error:
        raise _unreadable_error(url, "there is no such file") from error
    except Exception as error:
        raise _unreadable_error(url, f"{type(error).__name__}: {error}") from error
    if described.get("type") == "directory":
        raise _unreadable_error(url, "it is a folder")
    return described


def _unreadable_error(url: str, why: str) -> ModelError:
    return ModelError(Finding("M101", "the file cannot be read", why=safe_text(why, 300), file=url))


def mark_of(url: str) -> tuple[int, str]:
    """Return the size of a file, and a mark that changes with its content; -1 and "" if it cannot be described."""
    try:
        described = _description(*file_system(url), url)
    except (ModelError, UsageError):
        return -1, ""
    marks = [str(described[each]) for each in _MARKS if described.get(each) is not None]
    return int(described.get("size") or 0), " ".join(marks)


def list_models(url: str, suffixes: tuple[str, ...]) -> tuple[str, list[str]] | None:
    """Return the folder that a URL names, or that a pattern begins at, and the URLs of the models below; else None.

    Raises UsageError U110 if the place cannot be listed.
    """
    if url.lower().startswith(("http://", "https://")):
        return None
    system, path = file_system(url)
    try:
        if re.search(r"[*?\[]", path):
            start = posixpath.dirname(path[: re.search(r"[*?\[]", path).start()])  # type: ignore[union-attr]
            found = system.glob(path)
        elif url.endswith("/") or (not url.endswith(suffixes) and system.isdir(path)):
            start, found = path.rstrip("/"), [each for each in system.find(path) if each.endswith(suffixes)]
        else:
            return None
        return str(system.unstrip_protocol(start)), [str(system.unstrip_protocol(each)) for each in sorted(found)]
    except Exception as error:
        raise _place_error(url, f"{type(error).__name__}: {error}") from error


class RemoteFolder(Folder):
    """The folder of a model behind a URL, in which its external data may be, and nowhere else."""

    def __init__(self, url: str) -> None:
        self.path = url.rpartition("/")[0]

    def file(self, location: str, where: str) -> RemoteSource:
        """Return the file at a location. Raises ModelError M201 if it is out of the folder, M101 if there is none."""
        real = self.real_path(location)
        if not real:
            raise outside_error(location, where, "it leads out of the model's folder")
        return RemoteSource(real)

    def real_path(self, location: str) -> str:
        """Return the URL that a location leads to, or "" if it leads out of the folder."""
        inner = posixpath.normpath(location)
        is_outside = inner.startswith(("/", "..")) or _scheme_of(location) or re.search(r"[\0\\?#%]", location)
        return "" if is_outside else f"{self.path}/{inner}"

    def location_from(self, folder: str, location: str) -> str:
        """Return the location itself: nothing leads from a folder to a URL."""
        return location

    def is_own(self, folder: str) -> bool:
        """Return whether a folder is the model's own."""
        return folder.rstrip("/") == self.path


def write_remote(files: Mapping[str, Any], force: bool) -> None:
    """Write files at URLs of one file system: each under a temporary key, then all are put in their place in order.

    Args:
        files: Iterables of the chunks of each, by URL.
        force: Whether existing files are replaced.

    Raises:
        UsageError: U102 if a file exists, U104 if it cannot be written.
    """
    temporary: list[tuple[Any, str, str, str]] = []
    url = ""
    try:
        for url, data in files.items():
            system, path = file_system(url)
            if not force and system.exists(path):
                help = "name another file, or give --force"
                raise UsageError(Finding("U102", "the output exists already", help=help, file=url))
            key = f"{posixpath.dirname(path)}/.opset-{os.urandom(8).hex()}.tmp"
            temporary.append((system, key, path, url))
            system.makedirs(posixpath.dirname(path), exist_ok=True)
            with system.open(key, "wb") as file:
                for chunk in data:
                    file.write(chunk)
        while temporary:
            system, key, path, url = temporary[0]
            system.mv(key, path)
            temporary.pop(0)
    except (UsageError, ModelError):
        raise
    except Exception as error:
        why = "nothing can be written there" if isinstance(error, NotImplementedError) else str(error)
        why = safe_text(why or type(error).__name__, 300)
        raise UsageError(Finding("U104", "the output cannot be written", why=why, file=url)) from error
    finally:
        for system, key, _, _ in temporary:
            _remove(system, key)


def _remove(system: Any, key: str) -> None:
    """Remove a file that may not be there."""
    try:
        system.rm(key)
    except Exception:
        return
