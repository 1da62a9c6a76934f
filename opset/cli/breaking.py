"""`opset diff --against`: whether two states of schemas break what was released."""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from opset.cli import output
from opset.cli.configuration import folders_for
from opset.errors import Finding, UsageError, printable
from opset.opsets.releases import RELEASES, Release, release
from opset.schemas.index import FOLDER
from opset.text import styled
from opset.workflow.breaking.approvals import APPROVED_FILE, approve, parse_date, read_approvals
from opset.workflow.breaking.comparison import compare
from opset.workflow.breaking.documents import file_state
from opset.workflow.breaking.report import ERR, INFO, WARN, markdown_lines, text_lines
from opset.workflow.breaking.revisions import revision_state
from opset.workflow.breaking.states import State, folder_state, merged, release_state

COLOURS = {ERR: "red", WARN: "yellow", INFO: "dim", "approved": "green"}
KINDS = ("folder", "file", "release", "rev")
"""What `--against` may be, in the order in which it is tried; each is also a prefix that says which: `rev:v1.2`."""


def against_command(
    against: str, folders: tuple[Path, ...], approved: Path | None, today: str | None, strict: bool, form: str
) -> int:
    """Compare the schemas of folders with an older state of them, write the report, and return the exit status."""
    day = _day(today)
    found = folders_for(())
    named = list(folders) or [*found.trusted, *found.data] or [FOLDER]
    new = merged([folder_state(folder, "now") for folder in named])
    old, partial = _older(against, named, new)
    if partial:
        new = new.within(old.operators)
    if approved is not None and not os.path.isfile(approved):
        raise UsageError(Finding("U103", f"there is no file '{printable(approved)}'", help="--approved takes a file"))
    files = [approved] if approved is not None else [folder / APPROVED_FILE for folder in named]
    read = [read_approvals(file) for file in files]
    report = compare(old, new, partial=partial)
    report = approve(report, [each for one, _ in read for each in one], [each for _, one in read for each in one], day)
    if form == "markdown":
        sys.stdout.writelines(f"{line}\n" for line in markdown_lines(report, strict))
    else:
        output.write_product(report.data(strict), lambda: text_lines(report, _style), form)
    return report.status(strict)


def _style(text: str, kind: str) -> str:
    return styled(text, COLOURS[kind], sys.stdout)


def _day(text: str | None) -> datetime.date:
    try:
        return datetime.date.today() if text is None else parse_date(text)
    except ValueError:
        raise UsageError(Finding("U103", "--today is no day", help="write 2027-03-31")) from None


def _older(against: str, folders: Sequence[Path], new: State) -> tuple[State, bool]:
    """Return the state to compare with, and whether it is of one operator alone."""
    kind, text = _kind(against, new)
    if kind == "release":
        return release_state(release(text), new), False
    if kind == "rev":
        return replace(merged([revision_state(folder, text, new) for folder in folders]), name=text), False
    if len(folders) > 1:
        help = "compare one folder at a time: --schemas DIR"
        raise UsageError(Finding("U103", f"{len(folders)} folders cannot be compared with one {kind}", help=help))
    if kind == "folder":
        return folder_state(Path(text), text), False
    return file_state(Path(text), new)


def _kind(against: str, new: State) -> tuple[str, str]:
    """Return what `--against` is: what its prefix says, else the first that there is of KINDS."""
    prefix, colon, rest = against.partition(":")
    if colon and prefix in KINDS:
        return prefix, rest
    if os.path.isdir(against):
        return "folder", against
    if os.path.lexists(against):
        return "file", against
    standard = any(RELEASES[-1].opset_of(domain) for domain in new.domains)
    return ("release" if standard and _is_release(against) else "rev"), against


def _is_release(text: str) -> bool:
    try:
        found: Release = release(text)
    except UsageError:
        return False
    return "." in text and bool(found)
