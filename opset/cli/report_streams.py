"""Reports on models that are written one by one, so that there may be any number of them."""

from __future__ import annotations

import json
from typing import IO, Any, Protocol

from opset.cli import output
from opset.cli.records import BatchReport, ModelReport


class ReportStream(Protocol):
    """The report on all models in one form, on a stream."""

    def begin(self) -> None:
        """Write the part before the first model."""

    def add(self, report: ModelReport[Any], data: str) -> None:
        """Write the report on a model; `data` is the report as JSON, with its result."""

    def end(self, whole: BatchReport) -> None:
        """Write the part after the last model; `whole` has no models."""


class JsonStream:
    """The report on all models as one JSON object."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._is_first = True

    def begin(self) -> None:
        """Write the beginning of the object."""
        self._stream.write(f'{{\n  "schema_version": {output.SCHEMA_VERSION},\n  "models": [')

    def add(self, report: ModelReport[Any], data: str) -> None:
        """Write the report on a model."""
        text = data if "\n" in data else json.dumps(json.loads(data), indent=2)
        separator = "" if self._is_first else ","
        self._is_first = False
        self._stream.write(f"{separator}\n{text}".replace("\n", "\n    "))

    def end(self, whole: BatchReport) -> None:
        """Write the summary, and the rest of the report on all models."""
        rest = output.pretty_text(whole).removeprefix('{\n  "models": []')
        closing = "]" if self._is_first else "\n  ]"
        self._stream.write(f"{closing}{rest}\n")
