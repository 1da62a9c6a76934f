"""The verification of two models as a page, and as sections of the page of a conversion."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from markupsafe import Markup

from opset.description.structure.folding import FoldedName, fold_names
from opset.reports.findings import finding_parts
from opset.reports.frame import (
    BAD,
    GOOD,
    WARN,
    Cell,
    ReportPage,
    ReportPart,
    first_rows,
    number_cell,
    page_text,
    words_cell,
)
from opset.verification.report import DIFFERENT, NOT_COMPARED, SAME, SHARES

KINDS: Final = {SAME: GOOD, DIFFERENT: BAD, NOT_COMPARED: WARN}
_WIDTH: Final = 18.0
_HEIGHT: Final = 30.0
_LABELS: Final = ("equal", *(f"up to {share:g}" for share in SHARES), f"above {SHARES[-1]:g}")
_MARKS: Final = ("=", "", ".01", "", "1", "", "100", "")
_ALLOWED: Final = 2 + SHARES.index(1)
"""Bars of differences that are allowed."""


def verification_page(document: Mapping[str, Any], command: str = "") -> str:
    """Return the page of `opset verify` as an HTML document.

    `document` is its report as JSON, `command` the command line, which the page shows.
    """
    outputs = document["outputs"]
    differ = sum(each["verdict"] == DIFFERENT for each in outputs)
    words = {
        SAME: "The models compute the same",
        DIFFERENT: f"The models differ: {differ:,} of {len(outputs):,} outputs",
        NOT_COMPARED: "Nothing could be compared",
    }
    verdict = Cell(words[document["verdict"]], KINDS[document["verdict"]])
    facts = [("Before", document["before"]), ("After", document["after"]), *run_facts(document), ("Command", command)]
    parts = [
        *finding_parts([document], "Differences"),
        *verification_parts([("", document)]),
    ]
    title = f"Verification of {document['before']} and {document['after']}"
    return page_text(ReportPage(title, verdict, [each for each in facts if each[1]], parts), document)


def run_facts(verification: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield facts on a verification, as (name, text): by what the models were run, and how often."""
    runs = verification["runs"]
    done = sum(run["verdict"] != NOT_COMPARED for run in runs)
    yield "Run with", verification["with"]
    yield "Runs", f"{done:,}" if done == len(runs) else f"{done:,} compared, of {len(runs):,}"


def verification_parts(verifications: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[ReportPart]:
    """Yield the section on one verification or several: outputs, first differences, and for one verification, runs.

    `verifications` has (name of the model, verification as JSON) pairs; the name is "" if there is only one. There must
    be one at least.
    """
    several = len(verifications) > 1
    rows = [
        [*([Cell(name)] if several else []), *_output_row(folded, group)]
        for name, each in verifications
        for folded, group in _folded_outputs(each["outputs"])
    ]
    head = [
        *(["model"] if several else []),
        *("output", "verdict", "greatest difference", "relative", "ulp", "elements", "NaN before, after", "allowed"),
        *("differences", "why"),
    ]
    caption = "Outputs of both models, over all runs"
    tables = [first_rows(caption, head, rows)] if rows else []
    text = (
        "Bars count elements by their difference as a share of what is allowed for the element: equal, then up to "
        f"{', '.join(f'{share:g}' for share in SHARES)} times that, and more. What is right of the dashed line "
        "is beyond it. Heights are logarithmic."
    )
    texts = [text] if any(each["outputs"] for _, each in verifications) else []
    for name, each in verifications:
        if (first := each["first_difference"]) is not None:
            subject = f"{name}: the" if name else "The"
            words = f"{subject} first inner value that differs is {first['value']}: {first['why']}"
            texts.append(f"{words}. Before: {first['before']}; after: {first['after']}.")
    if not several:
        tables += _runs_tables(verifications[0][1]["runs"])
    lines = [f"{name}: {note}" if name else note for name, each in verifications for note in each["notes"]]
    yield ReportPart("verification", "Verification", texts, tables, lines)


def _runs_tables(runs: Sequence[Mapping[str, Any]]) -> Iterator[Any]:
    """Yield the table of runs; runs that differ only in a number share a row. Nothing is yielded without runs."""
    names = [
        f"{run['source']}\0{' '.join(f'{name}={size}' for name, size in run['sizes'].items())}\0{run['verdict']}\0"
        f"{run.get('why', '')}"
        for run in runs
    ]
    rows = []
    for folded in fold_names(names):
        source, sizes, verdict, why = folded.first.split("\0")
        count = len(folded.indices)
        times = f"x {count}{f': {folded.numbers}' if folded.numbers else ''}" if count > 1 else ""
        rows.append([words_cell(source, times), Cell(sizes), Cell(verdict, KINDS[verdict]), Cell(why)])
    if rows:
        yield first_rows("Runs, each of both models", ["inputs", "sizes", "verdict", "why"], rows)


def _folded_outputs(
    outputs: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[FoldedName, Sequence[Mapping[str, Any]]]]:
    """Yield groups of outputs that have the same verdict, and whose names differ only in numbers.

    A group is (its folded name, its outputs). Outputs that differ between the models come first, then those that were
    not compared.
    """
    for verdict in (DIFFERENT, NOT_COMPARED, SAME):
        found = [each for each in outputs if each["verdict"] == verdict]
        for folded in fold_names([_output_name(each) for each in found]):
            yield folded, [found[index] for index in folded.indices]


def _output_name(output: Mapping[str, Any]) -> str:
    """Return the name of an output; if the models name it differently, both names: "y → z"."""
    name, after = output["name"], output["after"]
    return f"{name}" if name == after else f"{name} → {after}"


def _output_row(folded: FoldedName, group: Sequence[Mapping[str, Any]]) -> list[Cell]:
    """Return the row for a group of outputs: its greatest differences and tolerances, and sums of its counts.

    `folded` is the name of the group.
    """
    greatest = [max((each[key] for each in group), key=float) for key in ("absolute", "relative", "ulps")]
    elements, nan_before, nan_after = (
        sum(each[key] for each in group) for key in ("elements", "nan_before", "nan_after")
    )
    rtol, length = max(each["rtol"] for each in group), max(each["longest_sum"] for each in group)
    atol = max((each["atol"] for each in group if each["atol"] is not None), default=None)
    allowed = f"{rtol:.1e} relative" if rtol or atol else "none"
    allowed += f", {atol:.1e} absolute" if atol else ""
    allowed += f"; sums of {length:,}" if length > 1 else ""
    histogram = [sum(counts) for counts in zip(*(each.get("histogram") or () for each in group), strict=False)]
    verdict = group[0]["verdict"]
    return [
        Cell(str(folded)),
        Cell(verdict, KINDS[verdict]),
        *(number_cell(_number_text(each)) for each in greatest),
        number_cell(f"{elements:,}"),
        number_cell(f"{nan_before:,}, {nan_after:,}" if nan_before or nan_after else "0"),
        Cell(allowed),
        Cell(picture=histogram_picture(histogram)),
        Cell(next((each["why"] for each in group if each.get("why")), "")),
    ]


def _number_text(number: float | str) -> str:
    """Return a number in two significant digits; a text, such as "inf", is returned unchanged."""
    return number if isinstance(number, str) else f"{number:.2g}"


def histogram_picture(counts: Sequence[int]) -> Markup:
    """Return a bar chart (SVG) of how many elements differ by how much; empty markup if there are no elements.

    `counts` has the number of elements for each class of differences, from equal to the largest: one for each of
    _LABELS. Heights are logarithmic.
    """
    if not any(counts):
        return Markup("")
    top = math.log1p(max(counts))
    words = "; ".join(f"{label}: {count:,}" for label, count in zip(_LABELS, counts, strict=True) if count)
    drawn = []
    for place, (count, mark) in enumerate(zip(counts, _MARKS, strict=True)):
        if count:
            height = max(_HEIGHT * math.log1p(count) / top, 2)
            kind = ' class="beyond"' if place >= _ALLOWED else ""
            left = place * _WIDTH + 2
            drawn.append(f'<rect{kind} x="{left:g}" y="{_HEIGHT - height:.1f}" width="14" height="{height:.1f}"/>')
        if mark:
            drawn.append(f'<text x="{place * _WIDTH + 9:g}" y="{_HEIGHT + 10:g}" text-anchor="middle">{mark}</text>')
    width = len(counts) * _WIDTH
    line = f'<path d="M{_ALLOWED * _WIDTH:g} 0V{_HEIGHT:g}"/>'
    return Markup(
        f'<svg class="bars" role="img" aria-label="Elements by difference: {words}" width="{width:g}" '
        f'height="{_HEIGHT + 12:g}" viewBox="0 0 {width:g} {_HEIGHT + 12:g}"><title>{words}</title>'
        f"{''.join(drawn)}{line}</svg>"
    )
