"""The files of a model's external data, as the checker looks at them: each one once."""

from __future__ import annotations

import hashlib

from opset.model.storage.external import DataFile, Folder, KnownFiles
from opset.model.storage.parts import chunks
from opset.model.storage.wire import Segment


class DataFiles(KnownFiles):
    """The files of external data of one model; `reported` are locations whose file has a finding already."""

    def __init__(self, folder: Folder) -> None:
        """Look for files in a model's folder; none has been reported yet."""
        super().__init__(folder)
        self.reported: set[str] = set()
        self._checksums: dict[str, str] = {}

    def checksum(self, file: DataFile) -> str:
        """Return the SHA-1 digest of a whole file in hexadecimal digits. Each file is read once, then cached."""
        if file.real not in self._checksums:
            digest = hashlib.sha1(usedforsecurity=False)
            for chunk in chunks([Segment(file, 0, file.size)]):
                digest.update(chunk)
            self._checksums[file.real] = digest.hexdigest()
        return self._checksums[file.real]
