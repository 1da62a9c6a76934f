"""An operator set: the operators of a domain at one version, as a document holds them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from opset.errors import Finding, UsageError
from opset.html_text import Table, html_of, one_line
from opset.model.storage.writing import write_files
from opset.opsets.documents.writing import FORMS, MAGIC, write_document
from opset.plain_text import count_text
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name
from opset.schemas.yaml.loader import Operator

SUFFIXES = {".yaml": "yaml", ".yml": "yaml", ".json": "json"}
"""The form of a document by the suffix of its file; any other is protobuf."""


@dataclass(frozen=True, repr=False)
class OperatorSet:
    """The operators of a domain at a version of its operator set, as a document holds them.

    `operators` have their versions up to that one, withdrawn ones included; `sets` are named sets of types that they
    use beside the standard's. `notes` name facts that the document lacks, and parts of it that are left out.
    """

    domain: str
    version: int
    operators: tuple[Operator, ...]
    sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ir_version: int = 0
    doc: str = ""
    prerelease: str = ""
    build_metadata: str = ""
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        count = count_text(len(self.operators), "operator")
        return one_line("OperatorSet", f"{domain_name(self.domain)} {self.version}: {count}")

    def _repr_html_(self) -> str:
        rows = [
            (each.name, ", ".join(str(version.since_version) for version in each.schemas)) for each in self.operators
        ]
        return html_of(repr(self).strip("<>"), [Table("", ("operator", "versions"), rows)])

    @cached_property
    def schemas(self) -> tuple[OpSchema, ...]:
        """The operators in force at the version, sorted by name; withdrawn ones are not among them."""
        newest = [operator.schemas[-1] for operator in self.operators]
        return tuple(schema for schema in newest if not schema.deprecated)

    def to_bytes(self, form: str = "proto") -> bytes:
        """Return the document as "proto" (an OperatorSetProto), "yaml" or "json"; each holds the same."""
        if form not in FORMS:
            raise UsageError(Finding("U103", f"there is no form {form!r} of a document", help=f"{', '.join(FORMS)}"))
        return write_document(self._header, self.operators, self.sets, form)

    @property
    def _header(self) -> dict[str, Any]:
        """The fields of the standard's message but its operators."""
        return {
            "magic": MAGIC,
            "ir_version": self.ir_version,
            "ir_version_prerelease": self.prerelease,
            "ir_build_metadata": self.build_metadata,
            "domain": domain_name(self.domain),
            "opset_version": self.version,
            "doc_string": self.doc,
        }

    def save(self, path: str | os.PathLike[str], form: str | None = None, *, force: bool = False) -> None:
        """Write the document to a file, in the form that its suffix says unless another is given.

        Raises:
            UsageError: U102 if the file exists and `force` is false, U104 if writing fails.
        """
        path = os.fspath(path)
        form = form or SUFFIXES.get(os.path.splitext(path)[1].lower(), "proto")
        write_files({path: self.to_bytes(form)}, force=force)
