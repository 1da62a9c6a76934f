"""Reports on models that are written one by one, so that there may be any number of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any, Protocol

import click

from opset.cli import output
from opset.cli.batch_reports import BatchReport
from opset.cli.records import ModelReport
from opset.errors import Finding, UsageError
from opset.reports.files import VERBS, check_page_file, write_page

MOST_ON_PAGE = 1000
"""Models on a page, and as many of those with faults behind them; the others are counted."""


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


class PageStream:
    """The report on all models as a page, which is written at the end."""

    def __init__(self, path: str, verb: str, words: Mapping[str, str], force: bool) -> None:
        self._path, self._verb, self._words, self._force = path, verb, words, force
        self._texts: list[str] = []
        self._faulty = self._left_out = 0

    def begin(self) -> None:
        """Write nothing: the verdict on all models comes first."""

    def add(self, report: ModelReport[Any], data: str) -> None:
        """Keep the report on a model."""
        is_further = len(self._texts) - self._faulty >= MOST_ON_PAGE
        if is_further and (not report.exit_status or self._faulty == MOST_ON_PAGE):
            self._left_out += 1
            return
        self._faulty += is_further
        self._texts.append(data)

    def end(self, whole: BatchReport) -> None:
        """Write the page."""
        from opset.reports.models import models_page  # which imports Jinja

        document = output.document_of(whole) | {"models": [*map(json.loads, self._texts)]}
        page = models_page(self._verb, document, self._words, call_text(), self._left_out)
        write_page(self._path, page, self._force)


def page_stream(path: str, words: Mapping[str, str], force: bool) -> PageStream:
    """Return the report of the current verb on models as a page; `words` name each status.

    Raises:
        UsageError: U102 if another file is at its path and `force` is false, U103 if the verb makes no page.
    """
    verb = click.get_current_context().info_name or ""
    if verb not in VERBS:
        help = f"{', '.join(sorted(VERBS))} have one; or name FILE.jsonl"
        raise UsageError(Finding("U103", f"there is no page of opset {verb}", help=help))
    check_page_file(path, force)
    return PageStream(path, verb, words, force)


def call_text() -> str:
    """Return the call as it was written."""
    import shlex  # pages alone show the call

    root = click.get_current_context().find_root()
    return shlex.join(["opset", *getattr(root.command, "arguments", ())])
