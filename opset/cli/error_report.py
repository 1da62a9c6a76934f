"""The report of a call that is wrong: its errors."""

from __future__ import annotations

from dataclasses import dataclass

from opset.cli.output import write_product
from opset.errors import FindingList


@dataclass(frozen=True)
class ErrorReport:
    """The errors of a call that is wrong itself, so that there is no other report."""

    errors: FindingList
    exit_status: int


def write_error_report(errors: FindingList, exit_status: int) -> None:
    """Write the report of a call as JSON to stdout."""
    write_product(ErrorReport(errors, exit_status), tuple, "json")
