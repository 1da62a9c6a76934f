"""The option `--report`: the files that a call writes beside its product."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import click

from opset.reports.files import SUFFIXES, check_page_file


class ReportFiles(NamedTuple):
    """The files that a call writes beside its product: a journal, and a page."""

    journal: str | None = None
    page: str | None = None


def _parse_report_files(ctx: click.Context, param: click.Parameter, paths: Sequence[str]) -> ReportFiles:
    """Return the files that `--report` names, by their suffix. Raises BadParameter for two of one form."""
    pages = [path for path in paths if path.lower().endswith(SUFFIXES)]
    journals = [path for path in paths if path not in pages]
    if len(pages) > 1 or len(journals) > 1:
        raise click.BadParameter("give one page, FILE.html, and one file of JSON lines")
    return ReportFiles(*journals or (None,), *pages)


def report_option(pages: bool) -> Callable[[Any], Any]:
    """Return the option `--report` of a verb that has pages to look at, or has none."""
    lines = "rite a line of JSON for each model to the file; a further call goes on where this one stopped."
    page = "FILE.html: also write the report as a page to look at. Another FILE: w"
    return click.option(
        "--report",
        "reports",
        multiple=True,
        callback=_parse_report_files,
        metavar="FILE",
        help=f"{page if pages else 'W'}{lines}",
    )


def _check_page_option(ctx: click.Context, param: click.Parameter, path: str | None) -> str | None:
    """Return the path of a page. Raises UsageError U102 if another file is there, BadParameter for another suffix."""
    if path is not None:
        if not path.lower().endswith(SUFFIXES):
            raise click.BadParameter("its name ends in .html")
        check_page_file(path)
    return path


page_option = click.option(
    "--report",
    "page",
    callback=_check_page_option,
    metavar="FILE.html",
    help="Also write the report as a page to look at.",
)
"""The option of verbs that write one report."""
