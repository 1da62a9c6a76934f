"""Breaks that somebody approved, each with a reason and its last day: `approved.yaml` beside lock.json.

- rule: B125
  operator: com.acme.Thin        or domain: com.acme, for a finding about a domain as a whole
  versions: [1, 2]               left out if the finding names no version
  message: "the default of the attribute 'alpha' changed: 1.0 -> 2.0"
  reason: no model was written with version 1 yet
  until: 2026-12-31

An entry approves exactly the findings that it names: there are no wildcards, so that another break is never hidden.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from opset.errors import ComparisonError, Finding, SchemaError
from opset.schemas.names import domain_name, normalize_domain
from opset.schemas.untrusted_files import file_bytes
from opset.schemas.yaml.fields import Fields
from opset.schemas.yaml.reader import MAX_SIZE, Findings, YamlNode, read
from opset.workflow.breaking.report import ERR, INFO, NONE, WARN, Break, ComparisonReport, sort_findings
from opset.workflow.breaking.rules import BREAKING

APPROVED_FILE = "approved.yaml"
KEYS = ("rule", "operator", "domain", "versions", "message", "reason", "until")
MAX_ENTRIES = 1000
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
WHY = "an approved break names what it approves, why, and until when"


class Approval(NamedTuple):
    """An entry of approved.yaml; `subject` is the operator, or the domain if `is_domain`, `place` path:line:column."""

    rule: str
    subject: str
    versions: tuple[int, ...]
    message: str
    reason: str
    until: datetime.date
    place: str
    is_domain: bool = False

    def matches(self, each: Break) -> bool:
        """Return whether this entry of approved.yaml is about the finding `each`; a notice never matches.

        Rule, message and operator (or domain) must be the same, and the entry must list the finding's version. Whether
        the entry has expired does not matter.
        """
        name = f"{domain_name(each.domain)}.{each.operator}" if each.operator else domain_name(each.domain)
        versions = self.versions or (0,)
        subject = self.subject, self.is_domain
        same = (self.rule, subject, self.message) == (each.rule, (name, not each.operator), each.message)
        return same and each.version in versions and each.severity != INFO


def approve(
    report: ComparisonReport, approvals: Sequence[Approval], faults: Iterable[Break], today: datetime.date
) -> ComparisonReport:
    """Return a copy of a report in which each finding that an entry approves has the entry's reason as its `approved`.

    If several entries match a finding, the first one that has not expired counts. Findings about entries are added: an
    error B187 for each expired entry that matches a finding, and a warning B188 for each entry that matches none. All
    `faults` are added, too.

    Args:
        report: Report of a comparison.
        approvals: Entries of all approved.yaml files.
        faults: Findings about malformed entries.
        today: The day; an entry still approves on its last day.
    """
    findings: list[Break] = [*faults]
    used: set[Approval] = set()
    for finding in report.findings:
        matching = [entry for entry in approvals if entry.matches(finding)]
        used.update(matching)
        valid = next((entry for entry in matching if entry.until >= today), None)
        approved = f"{valid.reason} (until {valid.until})" if valid is not None else ""
        findings.append(finding._replace(approved=approved or finding.approved))
    for entry in approvals:
        if entry.until >= today and entry in used:
            continue
        rule, severity = ("B187", ERR) if entry in used else ("B188", WARN)
        message = f"the approval ended on {entry.until}"
        help = "remove the cause, or set a later day in 'until'"
        if entry not in used:
            message = f"the approval of {entry.rule} matches no finding"
            help = "remove the entry, or copy the message of the finding into it"
        domain, _, operator = (entry.subject, "", "") if entry.is_domain else entry.subject.rpartition(".")
        facts = normalize_domain(domain), operator, entry.versions[0] if entry.versions else 0
        findings.append(Break(rule, severity, NONE, *facts, message, entry.place, WHY, help))
    return replace(report, findings=sort_findings(findings))


def read_approvals(path: Path) -> tuple[list[Approval], list[Break]]:
    """Return the entries of an approved.yaml, and findings B186 about malformed entries, which are left out.

    If there is no such file, both are empty.

    Raises:
        ComparisonError: B194 if the file cannot be read, or is no list.
    """
    findings = Findings(str(path))
    try:
        root = read(file_bytes(path, MAX_SIZE), findings)
    except (FileNotFoundError, NotADirectoryError):
        return [], []
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise _unreadable_list(path, [Finding("B194", why, place=str(path))]) from None
    except SchemaError as error:
        raise _unreadable_list(path, error.findings) from None
    if findings:
        raise _unreadable_list(path, findings)
    entries = root.value if isinstance(root.value, list) else []
    if not isinstance(root.value, list) or len(entries) > MAX_ENTRIES:
        why = f"it is no list of at most {MAX_ENTRIES:,} entries"
        raise _unreadable_list(path, [Finding("B194", why, place=str(path))])
    approvals: list[Approval] = []
    faults: list[Break] = []
    for node in entries:
        reading = _EntryReader(Findings(str(path)))
        entry = reading.read_entry(node, f"{path}:{node.line}:{node.column}")
        if entry is not None and not reading.findings:
            approvals.append(entry)
        help = f"an entry has {', '.join(KEYS)}"
        for each in reading.findings:
            place, mend = each.place, each.help or help
            faults.append(Break("B186", ERR, NONE, APPROVED_FILE, "", 0, each.message, place, WHY, mend))
    return approvals, faults


def _unreadable_list(path: Path, findings: Iterable[Finding]) -> ComparisonError:
    """Return the error B194: an approved.yaml cannot be read, for the reasons in `findings`."""
    head = Finding("B194", "the list of approved findings cannot be read", place=str(path), help="nothing was compared")
    return ComparisonError([head, *findings])


class _EntryReader(Fields):
    """Reads one entry of approved.yaml, and collects findings."""

    def read_entry(self, node: YamlNode, place: str) -> Approval | None:
        """Return the Approval that an entry of approved.yaml describes; None if the entry is no mapping.

        Each part that is malformed or missing is empty in the result, and adds a finding to `findings`. `place` is the
        entry's path:line:column.
        """
        fields = self.mapping(node, KEYS, ("rule", "message", "reason", "until"))
        if not isinstance(node.value, dict):
            return None
        rule = self.name(fields.get("rule"))
        reason = self.phrase(fields.get("reason")).strip()
        if rule and rule not in BREAKING.by_code:
            self.report_unknown(fields["rule"], "rule", rule, BREAKING.by_code)
        if ("operator" in fields) == ("domain" in fields):
            self.findings.add("S104", "one of 'operator' and 'domain' is needed", node)
        if "reason" in fields and not reason:
            self.findings.add("S105", "the reason is empty", fields["reason"])
        listed = fields.get("versions")
        versions = tuple([self.within(each, 1, 2**31 - 1, 1) for each in self.items(listed)]) if listed else ()
        subject = self.name(fields.get("operator") or fields.get("domain"))
        message = self.phrase(fields.get("message"))
        until, is_domain = self.read_date(fields), "operator" not in fields
        return Approval(rule, subject, versions, message, reason, until, place, is_domain)

    def read_date(self, fields: dict[str, YamlNode]) -> datetime.date:
        """Return the day in the field `until`; if it is malformed, add a finding and return the earliest day."""
        node = fields.get("until")
        if node is not None:
            try:
                return parse_date(node.value)
            except ValueError:
                self.findings.add("S105", "'until' is no day", node, "write 2027-03-31")
        return datetime.date.min


def parse_date(text: object) -> datetime.date:
    """Return the day in a text such as "2027-03-31"; raise ValueError if it is malformed, or no text."""
    if not isinstance(text, str) or not _DATE.fullmatch(text):
        raise ValueError("this is no day")
    return datetime.date.fromisoformat(text)
