"""The findings of a comparison, each with a rule, a severity and a requirement; as text, Markdown and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from opset.errors import escape_text, listing, safe_text
from opset.plain_text import count_text
from opset.schemas.names import domain_name

ERR, WARN, INFO = "ERR", "WARN", "INFO"
SEVERITIES = (ERR, WARN, INFO)
NONE, NEW_VERSION, NEW_OPSET, FORBIDDEN = "none", "new version", "new opset", "forbidden"
REQUIREMENTS = (NONE, NEW_VERSION, NEW_OPSET, FORBIDDEN)
SHOWN = 100
"""Findings of each severity that text and Markdown show; the others are counted, and JSON has all."""


class Break(NamedTuple):
    """One finding: the change of a version, the rule that it breaks, and the requirement of the rule.

    `version` is the since_version, 0 for an operator as a whole; `operator` is "" for a domain as a whole. `approved`
    is the reason in the entry of approved.yaml that approves it, "" if it is not approved.
    """

    rule: str
    severity: str
    requires: str
    domain: str
    operator: str
    version: int
    message: str
    place: str = ""
    why: str = ""
    help: str = ""
    approved: str = ""

    @property
    def title(self) -> str:
        """Domain, operator and version in the form of messages: "ai.onnx.Add 14"."""
        name = f"{domain_name(self.domain)}.{self.operator}" if self.operator else domain_name(self.domain)
        return f"{name} {self.version}" if self.version else name


class BreakingReport(NamedTuple):
    """The findings of a comparison, the strongest requirement of them, and whether the comparison is clean."""

    compared: str
    operators: int
    versions: int
    clean: bool
    requires: str
    counts: Mapping[str, int]
    notes: Sequence[str]
    findings: Sequence[Break]


@dataclass(frozen=True)
class ComparisonReport:
    """The findings of a comparison, the gravest first, with the names and sizes of the states."""

    compared: str
    operators: int
    versions: int
    findings: tuple[Break, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def breaks(self) -> tuple[Break, ...]:
        """The findings that fail the comparison: errors that nobody approved."""
        return tuple(each for each in self.findings if each.severity == ERR and not each.approved)

    @property
    def warnings(self) -> tuple[Break, ...]:
        """The warnings that nobody approved."""
        return tuple(each for each in self.findings if each.severity == WARN and not each.approved)

    @property
    def requires(self) -> str:
        """The strongest requirement of all findings: "none", "new version", "new opset" or "forbidden".

        Approved findings and notices count, too. If an edit is forbidden, it has to be taken back.
        """
        return max((each.requires for each in self.findings), key=REQUIREMENTS.index, default=NONE)

    def status(self, strict: bool = False) -> int:
        """Return the exit status: 1 if there are errors that nobody approved, else 0.

        If `strict`, warnings that nobody approved give 1, too.
        """
        return 1 if self.breaks or (strict and self.warnings) else 0

    def data(self, strict: bool = False) -> dict[str, Any]:
        """Return the report as plain data, with the fields of BreakingReport as keys.

        If `strict`, the report is not "clean" if there are warnings that nobody approved.
        """
        clean = self.status(strict) == 0
        findings = [each._replace(domain=domain_name(each.domain)) for each in self.findings]
        whole = BreakingReport(
            self.compared,
            self.operators,
            self.versions,
            clean,
            self.requires,
            self.counts(),
            list(self.notes),
            findings,
        )
        return whole._asdict() | {"findings": [each._asdict() for each in findings]}

    def counts(self) -> dict[str, int]:
        """Return the numbers of findings: {"ERR": 1, "WARN": 0, "INFO": 2, "approved": 0}.

        An approved finding counts only under "approved".
        """
        numbers = Counter("approved" if each.approved else each.severity for each in self.findings)
        return {key: numbers[key] for key in (*SEVERITIES, "approved")}

    def summary(self) -> str:
        """Return one line with the names of the compared states and the numbers of findings.

        An example is "2 operators of com.acme at v1.0 beside now: 1 break, 0 warnings, 2 notices".
        """
        counts = self.counts()
        nouns = {ERR: "break", WARN: "warning", INFO: "notice"}
        words = [count_text(counts[key], noun) for key, noun in nouns.items()]
        words += [f"{counts['approved']} approved"] if counts["approved"] else []
        return f"{self.compared}: {', '.join(words)}"


def sort_findings(findings: Iterable[Break]) -> tuple[Break, ...]:
    """Return findings without duplicates, the gravest first, then by domain, operator, version and rule."""

    def order(each: Break) -> tuple[Any, ...]:
        """Return the sort key of a finding."""
        return SEVERITIES.index(each.severity), each.domain, each.operator, each.version, each.rule

    return tuple(sorted(dict.fromkeys(findings), key=order))


_LABELS = {ERR: "error", WARN: "warning", INFO: "notice"}


def group_findings(findings: Iterable[Break]) -> list[tuple[Break, str]]:
    """Return (finding, title) for each group of findings that differ only in version, place and help.

    The finding is the first of its group, and groups keep the order of their first findings. The title has the operator
    and all versions of the group: "ai.onnx.Add 13, 14".
    """
    groups: dict[Break, list[Break]] = {}
    for finding in findings:
        groups.setdefault(finding._replace(version=0, place="", help=""), []).append(finding)
    titled = []
    for group in groups.values():
        versions = listing([str(finding.version) for finding in group if finding.version])
        titled.append((group[0], f"{group[0]._replace(version=0).title}{f' {versions}' if versions else ''}"))
    return titled


def text_lines(report: ComparisonReport, style: Callable[[str, str], str] = lambda text, kind: text) -> list[str]:
    """Return a report as lines of text for a terminal, the gravest findings first.

    Findings that differ only in version, place and help are shown as one. At most SHOWN findings of each severity are
    shown, followed by the number of those left out. `style(text, kind)` returns the beginning of a finding in color:
    `kind` is its severity, or "approved" if it was approved. By default, nothing is colored.
    """
    lines: list[str] = []
    for severity in SEVERITIES:
        findings = group_findings(finding for finding in report.findings if finding.severity == severity)
        for finding, title in findings[:SHOWN]:
            lines += _finding_lines(finding, title, style)
        if len(findings) > SHOWN:
            lines.append(f"… and {len(findings) - SHOWN:,} more {_LABELS[severity]}s; --format json has all")
    rules = dict.fromkeys(finding.rule for finding in report.findings if finding.severity != INFO)
    if rules:
        lines.append(f"more: opset explain {' '.join([*rules][:10])}")
    lines += [f"note: {safe_text(note)}" for note in report.notes]
    return [*lines, safe_text(report.summary())]


def _finding_lines(finding: Break, title: str, style: Callable[[str, str], str]) -> list[str]:
    """Return a finding as lines of text.

    The first line has the rule, the title of the rule, and the message. The lines after it have the place, requirement,
    reason and help; empty ones are left out. For an approved finding, the lines after the first have only the place and
    the reason of the approval. A notice has only the first line.

    `style(text, kind)` returns `text` in the color for `kind`, which is the severity of the finding, or "approved". It
    is called for the beginning of the first line, such as "error[B101]".
    """
    label = "approved" if finding.approved else _LABELS[finding.severity]
    head = f"{style(f'{label}[{finding.rule}]', 'approved' if finding.approved else finding.severity)} "
    head += f"{safe_text(title)}: {safe_text(finding.message)}"
    if finding.severity == INFO:
        return [head]
    needs = finding.requires if finding.requires != NONE else ""
    rows = [("where", finding.place), ("needs", needs), ("why", finding.why), ("help", finding.help)]
    if finding.approved:
        rows[1:] = [("reason", finding.approved)]
    return [head, *(f"  {name:<7} {safe_text(value)}" for name, value in rows if value)]


def markdown_lines(report: ComparisonReport, strict: bool = False) -> list[str]:
    """Return a report as Markdown for a pull request: the verdict, a table of findings, and how to mend errors.

    The verdict is "Breaking" if there are errors that nobody approved, else "Clean". If `strict`, warnings that nobody
    approved are "Breaking", too. The table, and the list of ways to mend errors, have at most SHOWN lines each.
    """
    verdict = "Clean" if report.status(strict) == 0 else "Breaking"
    lines = [f"### {verdict}: {_table_cell(report.summary())}", ""]
    for note in report.notes:
        lines += [_table_cell(note), ""]
    if report.findings:
        lines += ["| | rule | operator | what changed | requires | where |", "|---|---|---|---|---|---|"]
        findings = group_findings(report.findings)
        for finding, title in findings[:SHOWN]:
            label = f"approved: {finding.approved}" if finding.approved else _LABELS[finding.severity]
            cells = (label, finding.rule, title, finding.message, finding.requires, finding.place)
            lines.append(f"| {' | '.join(map(_table_cell, cells))} |")
        if len(findings) > SHOWN:
            lines += ["", f"… and {len(findings) - SHOWN:,} more."]
    mends = dict.fromkeys(finding.help for finding in report.breaks if finding.help)
    if mends:
        lines += ["", "What mends it:", "", *(f"- {_table_cell(help)}" for help in [*mends][:SHOWN])]
    return lines


_MARKDOWN = {ord(character): f"&#{ord(character)};" for character in "\\|<>&*_`[]#~!"}


def _table_cell(text: str) -> str:
    """Return text for a cell of a table, with Markdown and HTML escaped, and cut to 1000 characters."""
    return escape_text(text if len(text) <= 1000 else f"{text[:999]}…").translate(_MARKDOWN)
