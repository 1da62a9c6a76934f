"""The report of a verification, and its text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from opset.errors import FindingList, brief_name, safe_text
from opset.html_text import Table, findings_table, html_of, one_line
from opset.plain_text import count_text

SAME, DIFFERENT, NOT_COMPARED = "same", "different", "not compared"
SHARES = (0.001, 0.01, 0.1, 1, 10, 100)
"""Shares of the difference that is allowed for an element, by which a histogram counts differences."""
RANDOM = "only type and shape were compared: it depends on random numbers"
DISTRIBUTED = "only type, shape and distribution were compared: it depends on random numbers"


@dataclass(frozen=True)
class OutputComparison:
    """An output of both models: the greatest differences over all runs, and the tolerance.

    - `after`: its name in the second model;
    - `absolute`, `relative`, `ulps`: the greatest differences of numbers, in units of the last place too;
    - `nan_before`, `nan_after`: how many elements were NaN, of `elements` in all;
    - `rtol`, `atol`: relative to each element; `atol` None if it is `rtol` times the output's median magnitude;
    - `longest_sum`: the terms of the longest sum on the way to it; `varies`: whether runs gave different values;
    - `histogram`: how many elements are equal, how many differ by at most each of SHARES of the tolerance, and how
      many by more;
    - `why`: the first difference beyond the tolerance, or why less was compared.
    """

    name: str
    after: str
    verdict: str
    absolute: float | str
    relative: float | str
    ulps: float | str
    elements: int
    nan_before: int
    nan_after: int
    rtol: float
    atol: float | None
    longest_sum: int
    varies: bool
    why: str = ""
    histogram: Sequence[int] = ()


@dataclass(frozen=True)
class FirstDifference:
    """The first value inside that differs: its name, the nodes that compute it in both models, and the difference."""

    value: str
    before: str
    after: str
    why: str


@dataclass(frozen=True)
class VerifiedRun:
    """A run of both models: the source of its inputs, the seed, the open sizes, and the verdict."""

    source: str
    seed: int | None
    sizes: Mapping[str, int]
    verdict: str
    why: str = ""


@dataclass(frozen=True, repr=False)
class Verification:
    """Whether two models compute the same, on the runs that were made.

    `verdict` is "same", "different" or "not compared"; `errors` say why it is not "same". `notes` name outputs
    that were compared less than it seems, and say which inputs and outputs were matched by position.
    """

    before: str
    after: str
    with_: str = field(metadata={"key": "with"})
    verdict: str
    runs: Sequence[VerifiedRun]
    outputs: Sequence[OutputComparison]
    first_difference: FirstDifference | None
    notes: Sequence[str]
    errors: FindingList

    @property
    def same(self) -> bool:
        """Whether all that was compared is the same within the tolerances."""
        return self.verdict == SAME

    def __repr__(self) -> str:
        """Return one line with the verdict, the numbers of outputs and runs, and the first difference."""
        numbers = f"{count_text(len(self.outputs), 'output')}, {_runs_in_words(self.runs)}"
        first = f"; first difference: {self.first_difference.value}" if self.first_difference else ""
        return one_line("Verification", f"{self.verdict} with {self.with_}: {numbers}{first}")

    def _repr_html_(self) -> str:
        """Return tables of the outputs, and of the errors, for notebooks."""
        columns = ("output", "verdict", "greatest difference", "relative", "ulp", "why")
        rows = [(each.name, each.verdict, each.absolute, each.relative, each.ulps, each.why) for each in self.outputs]
        notes = Table("notes", (), [(note,) for note in self.notes])
        tables = [Table("outputs", columns, rows), findings_table("errors", self.errors), notes]
        return html_of(repr(self).strip("<>"), tables)


def verification_lines(report: Verification) -> Iterator[str]:
    """Yield the report as lines of text, without its errors."""
    yield f"  verified with {safe_text(report.with_)}: {report.verdict}, {_runs_in_words(report.runs)}"
    for each in report.outputs:
        name = brief_name(each.name)
        name += "" if each.after == each.name else f" ({brief_name(each.after)} after)"
        yield f"  {name}: {each.verdict}{_measure_words(each)}"
        if each.why:
            yield f"    {safe_text(each.why)}"
    first = report.first_difference
    if first is not None:
        yield f"  first difference: {brief_name(first.value)}, {safe_text(first.why)}"
        yield f"    before  {safe_text(first.before)}"
        yield f"    after   {safe_text(first.after)}"
    yield from (f"  note: {safe_text(note)}" for note in report.notes)


def _runs_in_words(runs: Sequence[VerifiedRun]) -> str:
    """Return as text how many runs compared the models, and with which sizes."""
    done = [run for run in runs if run.verdict in (SAME, DIFFERENT)]
    sizes = dict.fromkeys(" ".join(f"{safe_text(name)}={size}" for name, size in run.sizes.items()) for run in done)
    named = [each for each in sizes if each]
    words = count_text(len(done), "run")
    return f"{words} ({'; '.join(named)})" if named else words


def _measure_words(each: OutputComparison) -> str:
    """Return the greatest differences of an output and its tolerance as text, "" if nothing was compared."""
    if not each.elements:
        return ""
    words = ""
    if each.absolute:
        words = f", by {_number(each.absolute)} at most ({_number(each.relative)} relative, {_number(each.ulps)} ulp)"
    if each.rtol or each.atol:
        words += f"; allowed {each.rtol:.1e} relative"
        if (
            each.atol is None
            and isinstance(each.relative, float)
            and each.verdict == SAME
            and each.relative > each.rtol
        ):
            words += " or of the median"
        words += f", {each.atol:.1e} absolute" if each.atol is not None else ""
        words += f", sums of {each.longest_sum:,}" if each.longest_sum > 1 else ""
    if each.nan_before or each.nan_after:
        words += f"; NaN in {each.nan_before:,} and {each.nan_after:,} of {each.elements:,}"
    return words


def _number(number: float | str) -> str:
    """Return a number as text with two significant digits; text is returned unchanged."""
    return number if isinstance(number, str) else f"{number:.2g}"
