"""The report on all models of a call together, with the sums of their findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from opset.cli.records import ModelReport
from opset.errors import CODES, Finding, safe_text
from opset.plain_text import count_text
from opset.schemas.names import qualified_name

MOST_TOTALS = 1000
"""Kinds of findings that are summed; a file may cause any number."""


class FindingTotal(NamedTuple):
    """Findings with one code and reason, on one operator: how many, and in how many models."""

    operator: str
    code: str
    why: str
    help: str
    findings: int
    models: int


@dataclass(frozen=True)
class BatchReport:
    """The reports on all models of a call, how many ended with each status, and the sums of findings and notes."""

    models: Sequence[ModelReport[Any]]
    summary: Mapping[str, int]
    notes: Sequence[str] = ()
    totals: Sequence[FindingTotal] = ()


class Totals:
    """The sums of findings over models, by operator, code and reason."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, ...], FindingTotal] = {}

    def add(self, findings: Iterable[Finding]) -> None:
        """Add the findings on one model."""
        seen = set()
        for finding in findings:
            at = getattr(finding.place, "at", None)
            operator = qualified_name(at.domain, at.op_type) if at is not None else ""
            key = (operator, finding.code, *finding.kind[2:4])
            total = self._sums.get(key)
            if total is None:
                if len(self._sums) >= MOST_TOTALS:
                    continue
                why, help = (finding.why, finding.help) if finding.kind else ("", "")
                total = FindingTotal(operator, finding.code, why, help, 0, 0)
            self._sums[key] = total._replace(findings=total.findings + 1, models=total.models + (key not in seen))
            seen.add(key)

    def rows(self) -> list[FindingTotal]:
        """Return the sums: most models first, then most findings."""
        # The name of an operator is bytes if it is no UTF-8.
        return sorted(
            self._sums.values(), key=lambda each: (-each.models, -each.findings, str(each.operator), each.code)
        )


def total_lines(totals: Sequence[FindingTotal], most: int) -> list[str]:
    """Return the lines about sums of findings, the first of many."""
    lines = []
    for each in totals[:most]:
        name = f"{safe_text(each.operator)}: " if each.operator else ""
        counts = f"{count_text(each.findings, 'finding')} in {count_text(each.models, 'model')}"
        lines.append(f"{each.code} {name}{counts}: {safe_text(each.why) or CODES.get(each.code, '')}")
        lines += [f"  help: {safe_text(each.help)}"] if each.help else []
    return [*lines, f"… and {len(totals) - most:,} more"] if len(totals) > most else lines
