"""The checklist of a contribution: the standard's demands on an operator that is added or changed, item by item.

    items = checklist(ReviewedVersion(registry, schema), {"model": "…"})
    markdown_lines(version, items)

Each item is passed, missing, or does not apply. Items that no machine can judge are for the author to state, and never
pass. The items follow the standard's guide to adding an operator.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from opset.errors import Finding, UsageError, quote, safe_text
from opset.rules import Rule
from opset.schemas.names import domain_name, near_miss
from opset.workflow.contribution.reviewed_version import (
    MISSING,
    NOT_APPLICABLE,
    OPEN,
    PASSED,
    POINTS,
    SECTIONS,
    STATED,
    STATEMENT,
    Evidence,
    ReviewedVersion,
)

__all__ = [
    "STATES",
    "ChecklistItem",
    "Evidence",
    "ReviewedVersion",
    "checklist",
    "checklist_report",
    "checks",
    "markdown_lines",
    "state_counts",
]

STATES = (MISSING, OPEN, STATED, PASSED, NOT_APPLICABLE)
"""The states of an item, the worst first."""


class ChecklistItem(NamedTuple):
    """One demand of the standard's guide (`required`), its section there, and the evidence that decides its state."""

    name: str
    section: str
    required: str
    evidence: tuple[Evidence, ...]

    @property
    def state(self) -> str:
        """The state of the item: the worst state of its evidence.

        From worst to best: "missing", "to state", "stated", "passed", "not applicable". There must be evidence.
        """
        return min((each.state for each in self.evidence), key=STATES.index)


def checks() -> list[Rule[Evidence]]:
    """Return the rules that check the items of the checklist, in the order of the standard's guide."""
    return sorted(POINTS.rules, key=lambda check: SECTIONS.index(check.clause))


def checklist(version: ReviewedVersion, stated: Mapping[str, str] | None = None) -> list[ChecklistItem]:
    """Check a version of an operator, and return all items of the checklist with the evidence for each.

    Some items apply only to withdrawn versions, and some only to other versions. An item that does not apply to this
    version is "not applicable".

    Args:
        version: The version under review.
        stated: The author's statements, by name of the item: `{"model": "Whisper needs it"}`. A statement replaces
            evidence in the state "missing" or "to state".

    Raises:
        UsageError: U103 if `stated` names an unknown item. Also U103 if it names an item that is "missing" because a
            file or an example is absent; a statement cannot replace one.
    """
    stated = stated or {}
    all_checks = checks()
    for name in stated:
        if name not in POINTS.by_code:
            help = near_miss(name, POINTS.by_code) or f"there are {', '.join(each.code for each in all_checks)}"
            raise UsageError(Finding("U103", f"there is no point {quote(name)}", help=safe_text(help)))
    items = []
    for check in all_checks:
        if check.applies(version):
            evidence = [*check.check(version)]
        else:
            why = f"it is {'' if version.schema.deprecated else 'not '}withdrawn"
            evidence = [Evidence(NOT_APPLICABLE, why, version.place_of("deprecated"))]
        if check.code in stated:
            evidence = [_apply_statement(check, each, stated[check.code]) for each in evidence]
        items.append(ChecklistItem(check.code, check.clause, check.title, tuple(evidence)))
    return items


def _apply_statement(check: Rule[Evidence], evidence: Evidence, text: str) -> Evidence:
    """Return a copy of evidence in the state "stated", with the author's text as its reason.

    The copy is made only if the state is "missing" or "to state". Evidence in any other state is returned unchanged.

    Args:
        check: The rule of the checklist that gave the evidence.
        evidence: The evidence.
        text: The reason in the author's words.

    Raises:
        UsageError: U103 if the state is "missing", and the rule accepts only files or examples.
    """
    if evidence.state == MISSING and check.requires != STATEMENT:
        message = f"the point {check.code} cannot be stated"
        raise UsageError(Finding("U103", message, evidence.place, evidence.why, evidence.help))
    return evidence._replace(state=STATED, why=text, help="") if evidence.state in (MISSING, OPEN) else evidence


def state_counts(items: Iterable[ChecklistItem]) -> dict[str, int]:
    """Return the number of checklist items in each state, in the order of STATES; 0 for a state that no item has."""
    counts = Counter(item.state for item in items)
    return {state: counts[state] for state in STATES}


@dataclass(frozen=True)
class Point:
    """A point of a checklist, its state, and the evidence that decides it."""

    name: str
    section: str
    required: str
    state: str
    found: Sequence[Evidence]


@dataclass(frozen=True)
class Checklist:
    """The checklist of a version of an operator, with the number of points in each state."""

    domain: str
    operator: str
    since: int
    counts: Mapping[str, int]
    points: Sequence[Point]


@dataclass(frozen=True)
class ContributionReport:
    """The checklists of operators, and notes about files that were not run."""

    operators: Sequence[Checklist]
    notes: Sequence[str] = ()


def checklist_report(version: ReviewedVersion, items: Sequence[ChecklistItem]) -> Checklist:
    """Return checklist items as the Checklist of a report; paths of evidence become relative to the working folder."""
    points = [
        Point(
            item.name,
            item.section,
            item.required,
            item.state,
            [evidence._replace(place=relative_place(evidence.place)) for evidence in item.evidence],
        )
        for item in items
    ]
    schema = version.schema
    return Checklist(domain_name(schema.domain), schema.name, version.since, state_counts(items), points)


def markdown_lines(version: ReviewedVersion, items: Sequence[ChecklistItem]) -> Iterator[str]:
    """Yield a checklist as lines of Markdown for a pull request; items that are passed or stated are ticked.

    Items that are not applicable are only named, in the last line.
    """
    yield f"## `{version.title}` {version.since}"
    section = ""
    for item in items:
        if item.state == NOT_APPLICABLE:
            continue
        if item.section != section:
            section = item.section
            yield from ("", f"### {section[0].upper()}{section[1:]}", "")
        yield f"- [{'x' if item.state in (PASSED, STATED) else ' '}] {item.required} (`{item.name}`): {item.state}"
        for evidence in item.evidence:
            place = safe_text(relative_place(evidence.place)).replace("`", "'")
            to_do = evidence.help and evidence.state in (MISSING, OPEN)
            help = f". To do: {_escape_text(evidence.help)}" if to_do else ""
            yield f"  - {_escape_text(evidence.why)} (`{place}`){help}"
    left_out = [item.name for item in items if item.state == NOT_APPLICABLE]
    if left_out:
        yield from ("", f"Not applicable: {', '.join(left_out)}.")


def _escape_text(text: str) -> str:
    """Return text with its Markdown characters escaped, except inside of code in backticks.

    If the number of backticks is odd, each becomes an apostrophe, and all text is escaped.
    """
    parts = safe_text(text).split("`")
    if len(parts) % 2 == 0:
        parts = ["'".join(parts)]
    for index in range(0, len(parts), 2):
        parts[index] = "".join(f"\\{each}" if each in "\\*_[]<>#|" else each for each in parts[index])
    return "`".join(parts)


def relative_place(place: str) -> str:
    """Return "path:line" with an absolute path made relative to the working folder.

    It is unchanged if the path is relative already, or outside of that folder.
    """
    path, colon, rest = place.partition(":")
    if not os.path.isabs(path):
        return place
    below = os.path.relpath(path)
    return place if below.startswith(os.pardir) else f"{below}{colon}{rest}"
