"""The checklist of a contribution: what the standard asks of an operator that is added or changed, point by point.

    points = checklist(Candidate(registry, schema, folder), {"model": "…"})
    markdown(candidate, points)

Each point is passed, missing, or does not apply; what no machine can judge is for the author to state, and is never
passed. The points are those of the standard's guide to adding an operator.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from opset.errors import Finding, UsageError, quote, safe_text
from opset.schemas.names import near_miss, shown
from opset.workflow.contribution.candidate import (
    CHECKS,
    MISSING,
    NOT_APPLICABLE,
    OPEN,
    PASSED,
    SECTIONS,
    STATED,
    Candidate,
    Check,
    Item,
)

__all__ = ["STATES", "Candidate", "Item", "Point", "checklist", "checks", "markdown", "point_data", "state_counts"]

STATES = (MISSING, OPEN, STATED, PASSED, NOT_APPLICABLE)
"""What a point can be, the worst first."""


class Point(NamedTuple):
    """One point of the checklist of a candidate, and what was found for it; `required` is what it asks for."""

    name: str
    section: str
    required: str
    items: tuple[Item, ...]

    @property
    def state(self) -> str:
        """The state of the point: the worst of its items."""
        return min((each.state for each in self.items), key=STATES.index)


def checks() -> list[Check]:
    """Return the points that there are, in the order of the standard's guide."""
    for name in ("points", "type_points", "example_points"):
        import_module(f"opset.workflow.contribution.{name}")
    return sorted(CHECKS.values(), key=lambda each: SECTIONS.index(each.section))


def checklist(candidate: Candidate, stated: Mapping[str, str] | None = None) -> list[Point]:
    """Return all points for a version of an operator; `stated` has what its author states, by name of the point.

    Raises UsageError U103 for a statement on a point that is not there, or that files and examples have to show.
    """
    stated = stated or {}
    known = checks()
    for name in stated:
        if name not in CHECKS:
            help = near_miss(name, CHECKS) or f"there are {', '.join(each.name for each in known)}"
            raise UsageError(Finding("U103", f"there is no point {quote(name)}", help=safe_text(help)))
    points = []
    for check in known:
        if check.withdrawn is not None and check.withdrawn != candidate.schema.deprecated:
            why = f"it is {'not ' if check.withdrawn else ''}withdrawn"
            items = [Item(NOT_APPLICABLE, why, candidate.place("deprecated"))]
        else:
            items = [*check.function(candidate)]
        if check.name in stated:
            items = [_stated(check, each, stated[check.name]) for each in items]
        points.append(Point(check.name, check.section, check.required, tuple(items)))
    return points


def _stated(check: Check, item: Item, text: str) -> Item:
    """Return an item as its author states it. Raises UsageError U103 for one that files and examples have to show."""
    if item.state == MISSING and not check.statable:
        finding = Finding("U103", f"the point {check.name} cannot be stated", item.place, item.why, item.help)
        raise UsageError(finding)
    return item._replace(state=STATED, why=text, help="") if item.state in (MISSING, OPEN) else item


def state_counts(points: Iterable[Point]) -> dict[str, int]:
    """Return how many points are in each state."""
    found = Counter(point.state for point in points)
    return {state: found[state] for state in STATES}


def point_data(candidate: Candidate, points: Sequence[Point]) -> dict[str, Any]:
    """Return a checklist as plain data."""
    return {
        "domain": shown(candidate.schema.domain),
        "operator": candidate.schema.name,
        "since": candidate.since,
        "counts": state_counts(points),
        "points": [
            {
                "name": point.name,
                "section": point.section,
                "required": point.required,
                "state": point.state,
                "found": [{**item._asdict(), "place": relative(item.place)} for item in point.items],
            }
            for point in points
        ],
    }


def markdown(candidate: Candidate, points: Sequence[Point]) -> Iterator[str]:
    """Yield the lines of a checklist for a pull request, with ticks where a point is passed or stated."""
    yield f"## `{candidate.title}` {candidate.since}"
    section = ""
    for point in points:
        if point.state == NOT_APPLICABLE:
            continue
        if point.section != section:
            section = point.section
            yield from ("", f"### {section[0].upper()}{section[1:]}", "")
        yield f"- [{'x' if point.state in (PASSED, STATED) else ' '}] {point.required} (`{point.name}`): {point.state}"
        for item in point.items:
            help = f". To do: {_plain(item.help)}" if item.help and item.state in (MISSING, OPEN) else ""
            yield f"  - {_plain(item.why)} (`{_code(relative(item.place))}`){help}"
    left_out = [point.name for point in points if point.state == NOT_APPLICABLE]
    if left_out:
        yield from ("", f"Not applicable: {', '.join(left_out)}.")


def _plain(text: str) -> str:
    """Return text that Markdown shows as it is; what stands in backticks stays code."""
    parts = safe_text(text).split("`")
    if len(parts) % 2 == 0:
        parts = ["'".join(parts)]
    for index in range(0, len(parts), 2):
        parts[index] = "".join(f"\\{each}" if each in "\\*_[]<>#|" else each for each in parts[index])
    return "`".join(parts)


def _code(text: str) -> str:
    return safe_text(text).replace("`", "'")


def relative(place: str) -> str:
    """Return a location with its path relative to the working folder, where it is below that."""
    path, colon, rest = place.partition(":")
    if not os.path.isabs(path):
        return place
    below = os.path.relpath(path)
    return place if below.startswith(os.pardir) else f"{below}{colon}{rest}"
