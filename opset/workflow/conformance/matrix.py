"""Reports on the run of a corpus: operator by version by result, as data, Markdown and HTML."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from opset.errors import Finding, UsageError, listing
from opset.plain_text import count_text
from opset.schemas.names import domain_name
from opset.schemas.untrusted_files import file_bytes, parse_json
from opset.workflow.conformance.results import ACCEPTED, BAD, GOOD, KINDS, REFUSED, RESULTS, Result

__all__ = ["compare_results", "corpus_results", "counts_text", "html_text", "markdown_text", "read_report"]

FORMAT = 1
LETTERS = {"wrong": "w", "error": "e", "crash": "c", "timeout": "t", "refused": "r", "accepted": "a", "missing": "m"}
"""What follows the number of cases in a cell of a matrix, for all results but the good ones."""
MEANINGS = {
    "pass": "the outputs are those of the case, within its tolerance",
    "rejected": "a case that breaks a constraint of its operator fails, as it should",
    "wrong": "an output is not the expected one",
    "error": "the runtime fails on a valid case",
    "crash": "the process of the runtime died",
    "timeout": "the case did not come to an end",
    "accepted": "a case that breaks a constraint of its operator is computed",
    "refused": "the runtime says that it lacks the operator, its version or an element type",
    "missing": "a file of the case is not there, or is not the one of the manifest",
}
_REPORT_SIZE = 1 << 27
_EXAMPLES = 3
"""Examples that a row for several cases names."""
_NUMBER = re.compile(r"(?<=\w)\(\d+\)")
"""The version in a reason of a runtime: "no implementation for Abs(1)"."""


class ResultChanges(NamedTuple):
    """Cases with a worse or a better result than in an earlier report, each as (name, old result, new result)."""

    worse: list[tuple[str, str, str]]
    better: list[tuple[str, str, str]]


class RuntimeUnderTest(NamedTuple):
    """The runtime on which the cases of a corpus were run."""

    name: str
    version: str
    providers: Sequence[str] = ()


class OperatorResults(NamedTuple):
    """Numbers of an operator's cases by version and result; cases that break a constraint are apart, in `invalid`."""

    domain: str
    operator: str
    versions: Mapping[str, Mapping[str, int]]
    invalid: Mapping[str, int]


class GreatestDifference(NamedTuple):
    """The number of the output that differs most from the expected one, None if none does, and its difference."""

    output: int | None
    absolute: float
    relative: float


@dataclass(frozen=True)
class JudgedCase:
    """A case with its result, the choice that the standard leaves open, and the reason of an expected disagreement."""

    name: str
    kind: str
    domain: str
    operator: str
    version: int
    example: str
    shows: str
    types: Sequence[str]
    result: str
    why: str = ""
    difference: GreatestDifference | None = None
    chosen: str = ""
    expected: str = ""


@dataclass(frozen=True)
class CorpusResults:
    """The results of a run: numbers by kind of case, operator and element type, each case, changes since another."""

    format: int
    runtime: RuntimeUnderTest
    totals: Mapping[str, Mapping[str, int]]
    operators: Sequence[OperatorResults]
    types: Mapping[str, Mapping[str, int]]
    cases: Sequence[JudgedCase]
    changes: ResultChanges | None = None


def corpus_results(
    runtime: RuntimeUnderTest,
    results: Sequence[Result],
    reasons: Mapping[str, str],
    changed: ResultChanges | None = None,
) -> CorpusResults:
    """Return the results of a run in the form that reports show.

    Args:
        runtime: The runtime.
        results: Results of the run.
        reasons: Reasons of expected disagreements, by name of the case.
        changed: Changes since an earlier report, if there is one.
    """
    totals = {kind: _count_results(each for each in results if each.case.kind == kind) for kind in KINDS}
    cases = [_judged_case(each, reasons.get(each.case.name, "")) for each in results]
    types = _type_counts(results)
    return CorpusResults(FORMAT, runtime, totals, _operator_results(results), types, cases, changed)


def _count_results(results: Iterable[Result]) -> dict[str, int]:
    """Return the number of cases with each result, such as {"pass": 10, "wrong": 2}.

    A result that no case has is not a key.
    """
    counts = Counter(each.result for each in results)
    return {name: counts[name] for name in RESULTS if counts[name]}


def _operator_results(results: Sequence[Result]) -> list[OperatorResults]:
    """Return the results of each operator, sorted by domain and operator.

    These are the numbers of cases with each result, for each version. Cases of the kind "invalid" are counted apart,
    for all versions together.
    """
    groups: dict[tuple[str, str], list[Result]] = {}
    for each in results:
        groups.setdefault((each.case.domain, each.case.operator), []).append(each)
    rows = []
    for (domain, operator), group in sorted(groups.items()):
        nodes = [each for each in group if each.case.kind != "invalid"]
        versions = sorted({each.case.version for each in nodes})
        counts = {str(v): _count_results(each for each in nodes if each.case.version == v) for v in versions}
        invalid = _count_results(each for each in group if each.case.kind == "invalid")
        rows.append(OperatorResults(domain_name(domain), operator, counts, invalid))
    return rows


def _type_counts(results: Sequence[Result]) -> dict[str, dict[str, int]]:
    """Return the numbers of cases by element type and result; a case counts for each type of its inputs and outputs.

    Cases of the kind "invalid" are left out.
    """
    groups: dict[str, list[Result]] = {}
    for each in results:
        if each.case.kind != "invalid":
            for type_ in each.case.types:
                groups.setdefault(type_, []).append(each)
    return {type_: _count_results(groups[type_]) for type_ in sorted(groups)}


def _judged_case(result: Result, expected: str) -> JudgedCase:
    """Return a result in the form that a report shows.

    `expected` is the reason that the list of expected disagreements states for the case, else "". This reason is kept
    only if the result is bad or "accepted", and the standard does not leave the result open.
    """
    case = result.case
    greatest = result.difference
    facts = {key: getattr(case, key) for key in ("name", "kind", "operator", "version", "example", "shows", "types")}
    return JudgedCase(
        **facts,
        domain=domain_name(case.domain),
        result=result.result,
        why=result.why,
        difference=None
        if greatest is None
        else GreatestDifference(result.output, greatest.absolute, greatest.relative),
        chosen=case.chosen,
        expected=expected if not case.chosen and result.result in (*BAD, ACCEPTED) else "",
    )


def read_report(path: str) -> dict[str, str]:
    """Return the results in an earlier report, by name of the case.

    Raises UsageError U103 if the file cannot be read, or is no report.
    """
    try:
        data = parse_json(file_bytes(path, _REPORT_SIZE))
        if data["format"] != FORMAT:
            raise ValueError(f"its format is not {FORMAT}")
        results = {each["name"]: each["result"] for each in data["cases"]}
        if not all(isinstance(name, str) and result in RESULTS for name, result in results.items()):
            raise ValueError("a case has no result")
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        if isinstance(error, KeyError | TypeError):
            why = f"it has no {error}" if isinstance(error, KeyError) else "its parts have other types"
        help = "name the conformance.json of an earlier run"
        message = "the earlier report cannot be used"
        raise UsageError(Finding("U103", message, why=why[:1000], help=help, file=path)) from error
    return results


def compare_results(results: Sequence[Result], before: Mapping[str, str]) -> ResultChanges:
    """Return the cases whose results are worse or better than in an earlier run; `before` has its results by name.

    Results have three ranks: good results, then "refused" and "accepted", then all others. A change within a rank is
    neither better nor worse. A case that only one of the runs has is left out.
    """
    ranks = dict.fromkeys(RESULTS, 2) | dict.fromkeys(GOOD, 0) | dict.fromkeys((REFUSED, ACCEPTED), 1)
    changed = ResultChanges([], [])
    for each in results:
        old = before.get(each.case.name, each.result)
        if ranks[each.result] != ranks[old]:
            worse = ranks[each.result] > ranks[old]
            (changed.worse if worse else changed.better).append((each.case.name, old, each.result))
    return changed


def counts_text(counts: Mapping[str, int]) -> str:
    """Return numbers of cases by result as text: "12" if 12 are good, "10 2w" if 10 are good and 2 are wrong.

    LETTERS has the letters of results. The text is "" if there are no cases.
    """
    good = sum(counts.get(each, 0) for each in GOOD)
    others = [f"{counts[each]}{letter}" for each, letter in LETTERS.items() if counts.get(each)]
    return " ".join(([str(good)] if good else []) + others)


def _title(run: CorpusResults) -> str:
    """Return the title of a report, such as "Conformance of onnxruntime 1.31.1"."""
    return f"Conformance of {run.runtime.name} {run.runtime.version}".strip()


class MatrixTable(NamedTuple):
    """A table of text: its title, an introduction, heads of columns, rows, and whether it is a matrix."""

    title: str
    text: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    matrix: bool = False


def tables(run: CorpusResults) -> list[MatrixTable]:
    """Return the tables of a report, in the order in which it shows them.

    They are totals by result, changes since an earlier report, disagreements, expected disagreements, choices that the
    standard leaves open, a matrix for each domain, element types, refused and accepted cases. Tables of cases are left
    out if they are empty.
    """
    result_tables = [_totals_table(run)]
    if run.changes is not None:
        rows = [[key, *each] for key, changed in run.changes._asdict().items() for each in changed]
        result_tables.append(MatrixTable("Changes", "Beside the earlier report.", ("", "case", "before", "now"), rows))
    domains_of = Counter(each.operator for each in run.operators)
    cases = [
        each if domains_of[each.operator] == 1 else replace(each, operator=f"{each.domain}.{each.operator}")
        for each in run.cases
    ]
    bad = [each for each in cases if each.result in BAD]
    chosen = [each for each in bad if each.chosen]
    plain = [each for each in bad if not each.chosen and not each.expected]
    rows = [[each.name, each.result, each.why] for each in plain]
    if rows:
        result_tables.append(MatrixTable("Disagreements", "", ("case", "result", "what happens"), rows))
    expected = [each for each in bad if each.expected]
    result_tables += _case_tables("Expected disagreements", "Each with its reason.", expected, "expected", "reason")
    text = "What the standard leaves open: these are no faults, and fail no run."
    result_tables += _case_tables("Choices", text, chosen, "chosen", "what is open")
    letters = ", ".join(f"{letter} {name}" for name, letter in LETTERS.items())
    for domain in dict.fromkeys(each.domain for each in run.operators):
        text = (
            "The columns are the versions that introduced a definition. A number is that of cases that pass; a letter "
            f"says what others do: {letters}. The last column has the cases that break a constraint."
        )
        operators = [each for each in run.operators if each.domain == domain]
        result_tables.append(_matrix_table(f"Operators of {domain}", text, operators))
    names = [each for each in RESULTS if any(each in counts for counts in run.types.values())]
    rows = [[type_, *(str(counts.get(name, "")) for name in names)] for type_, counts in run.types.items()]
    text = "Cases count for each type that their inputs and outputs have."
    result_tables.append(MatrixTable("Element types", text, ("type", *names), rows, True))
    refused = [each for each in cases if each.result == REFUSED]
    result_tables += _case_tables("Refused", "What the runtime says it lacks.", refused, "why", "what it says")
    text = "Cases that break a constraint of their operator, and are computed all the same."
    accepted = [each for each in cases if each.result == ACCEPTED]
    result_tables += _case_tables("Accepted", text, accepted, "shows", "what is broken")
    return result_tables


def _totals_table(run: CorpusResults) -> MatrixTable:
    """Return the table with the number of cases by result, over all operators."""
    whole: Counter[str] = Counter()
    for counts in run.totals.values():
        whole.update(counts)
    rows = [[name, f"{whole[name]:,}", MEANINGS[name]] for name in RESULTS if whole[name]]
    versions = sum(len(each.versions) for each in run.operators)
    text = (
        f"{count_text(sum(whole.values()), 'case')} of {count_text(len(run.operators), 'operator')} in "
        f"{count_text(versions, 'version')} ran on "
        f"{' '.join(filter(None, run.runtime[:2]))}."
    )
    return MatrixTable("", text, ("result", "cases", "meaning"), rows)


def _matrix_table(title: str, text: str, operators: Sequence[OperatorResults]) -> MatrixTable:
    """Return the table of case counts, with a row for each operator and a column for each version.

    A cell such as "10 2w" says that 10 cases are good and 2 are wrong; LETTERS has the letters. A cell is "" if there
    are no cases. The last column counts the cases that break a constraint of the operator, at all versions together.
    """
    versions = sorted({int(version) for each in operators for version in each.versions})
    rows = []
    for each in operators:
        cells = [counts_text(each.versions.get(str(version), {})) for version in versions]
        rows.append([each.operator, *cells, counts_text(each.invalid)])
    return MatrixTable(title, text, ("operator", *map(str, versions), "invalid"), rows, True)


def _case_tables(title: str, text: str, cases: Sequence[JudgedCase], key: str, head: str) -> list[MatrixTable]:
    """Return a list with one table of `cases`; [] if there are no cases.

    Cases of an operator with the same result and the same text in the field `key` share a row.

    Args:
        title: The title of the table.
        text: The introduction of the table.
        cases: The cases.
        key: The field of JudgedCase for the last column, such as "why".
        head: The head of the last column.
    """
    groups: dict[tuple[str, str, str], list[JudgedCase]] = {}
    for each in cases:
        why = _NUMBER.sub("", getattr(each, key))
        groups.setdefault((each.operator, each.result, why), []).append(each)
    rows = [
        [
            operator,
            ", ".join(map(str, sorted({each.version for each in group}))),
            ", ".join(sorted({type_ for each in group for type_ in each.types})),
            f"{len(group)}{LETTERS.get(result, '')}",
            listing(sorted({each.example for each in group}), _EXAMPLES),
            why,
        ]
        for (operator, result, why), group in sorted(groups.items())
    ]
    return (
        [MatrixTable(title, text, ("operator", "versions", "types", "cases", "examples", head), rows)] if rows else []
    )


def markdown_text(run: CorpusResults) -> str:
    """Return a report as a Markdown page, in which texts of the runtime are escaped."""
    from opset.docgen.prose import escape

    lines = [f"# {escape(_title(run))}", ""]
    for table in tables(run):
        lines += [f"## {escape(table.title)}", ""] if table.title else []
        lines += [escape(table.text), ""] if table.text else []
        rows = [[*map(escape, table.head)], ["---"] * len(table.head), *([*map(escape, row)] for row in table.rows)]
        lines += [*(f"| {' | '.join(row)} |" for row in rows), ""]
    return "\n".join(lines)


def html_text(run: CorpusResults) -> str:
    """Return a report as an HTML page, which needs no other file and no script."""
    from opset.reports import frame  # which imports Jinja

    parts = []
    for number, table in enumerate(tables(run), 1):
        rows = [[_html_cell(text, table.matrix and place > 0) for place, text in enumerate(row)] for row in table.rows]
        title = table.title or "Results"
        shown = frame.ReportTable(f"Table: {title}", table.head, rows, kind="matrix" * table.matrix)
        parts.append(frame.ReportPart(f"part{number}", title, [table.text] * bool(table.text), [shown]))
    return frame.page_text(frame.ReportPage(_title(run), None, [], parts))


def _html_cell(text: str, is_count: bool) -> Any:
    """Return a cell of an HTML table with a text.

    If `is_count`, the text is numbers of cases, such as "10 2w", and the cell stands out if any case is not good.
    """
    from opset.reports.frame import Cell

    return Cell(text, column="other" if is_count and text and not text.isdecimal() else "")


def report_paths(folder: str) -> dict[str, str]:
    """Return the paths of a report's files by form: {"json": "FOLDER/conformance.json", "md": …, "html": …}."""
    return {form: os.path.join(folder, f"conformance.{form}") for form in ("json", "md", "html")}


def report_files(run: CorpusResults, text: str, folder: str) -> dict[str, bytes]:
    """Return the contents of a report's files by path: JSON, Markdown and HTML; nothing is written.

    `text` is the report in JSON. The paths begin with `folder`.
    """
    forms = {"json": text, "md": markdown_text(run), "html": html_text(run)}
    return {path: forms[form].encode() for form, path in report_paths(folder).items()}
