"""Named disagreements: cases with which a runtime is known to disagree, each with its result and the reason.

    onnxruntime:
    - {cases: [test_relu_v1_plain, "test_resize_v1?_*"], result: wrong, reason: It rounds halves up.}

A file has a list for each runtime, by its name. `cases` are names or patterns. The list is strict: a case that it names
has exactly this result, unless the standard leaves it open. `varies` stands for any result, for a runtime that reads
memory that nothing set.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from opset.errors import Finding, SchemaError, UsageError, listing, safe_text
from opset.schemas.untrusted_files import file_bytes
from opset.schemas.yaml.reader import Findings, YamlNode, read
from opset.workflow.conformance.results import ACCEPTED, BAD, GOOD, Result

__all__ = ["Expectation", "ExpectationReport", "compare_expectations", "read_expectations"]

VARIES = "varies"
RESULTS = (*BAD, ACCEPTED, VARIES)
_KEYS = {"cases", "result", "reason"}
_SIZE = 1 << 20
_LONGEST = 1000


class Expectation(NamedTuple):
    """An entry of the list: the names or patterns of cases, the expected result, the reason, and the entry's line."""

    cases: tuple[str, ...]
    result: str
    reason: str
    line: int


class ExpectationReport(NamedTuple):
    """The comparison of results with a list of expected disagreements.

    - `reasons`: the reason of the entry that names a case, by name of the case;
    - `findings`: cases with another result than expected; `unused`: patterns that match no case.
    """

    reasons: dict[str, str]
    findings: list[Finding]
    unused: list[str]


def read_expectations(path: str, runtime: str) -> tuple[Expectation, ...]:
    """Return the entries that a file of expected disagreements has for a runtime.

    `runtime` is the runtime's name in the file. Raises UsageError T227 if the file cannot be read, is malformed, or has
    no list for the runtime.
    """
    findings = Findings(path)
    try:
        root = read(file_bytes(path, _SIZE), findings)
    except (OSError, ValueError) as error:
        help = "check the path" if isinstance(error, FileNotFoundError) else ""
        raise _unusable_list(path, getattr(error, "strerror", None) or str(error), help=help) from error
    except SchemaError as error:
        raise _unusable_list(path, error.message, error.place) from error
    if findings:
        raise _unusable_list(path, findings[0].message, findings[0].place)
    if not isinstance(root.value, dict) or runtime not in root.value:
        names = listing([*root.value]) if isinstance(root.value, dict) else "none"
        help = "write the list below the runtime's name; --name names a runtime"
        raise _unusable_list(path, f"it has no list for the runtime '{runtime}', only for: {names}", help=help)
    entries = root.value[runtime]
    if not isinstance(entries.value, list):
        raise _unusable_list(path, "it is no list of entries", _place_of(path, entries))
    return tuple(_parse_entry(path, each) for each in entries.value)


def _unusable_list(path: str, why: str, place: str = "", help: str = "") -> UsageError:
    """Return the error T227: a file of expectations cannot be used, for the reason `why`."""
    help = help or "an entry is {cases: [NAME, …], result: wrong, reason: why}"
    message = "the list of expected disagreements cannot be used"
    return UsageError(Finding("T227", message, place=place, why=why[:_LONGEST], help=help, file="" if place else path))


def _place_of(path: str, node: YamlNode) -> str:
    """Return path:line:column of a YAML node."""
    return f"{path}:{node.line}:{node.column}"


def _parse_entry(path: str, node: YamlNode) -> Expectation:
    """Return the entry of a file of expectations at a YAML node. Raises UsageError T227 if it is malformed."""
    plain = node.plain()
    if not isinstance(plain, dict) or plain.keys() != _KEYS:
        why = f"an entry has the keys {', '.join(sorted(_KEYS))}, all of them"
        raise _unusable_list(path, why, _place_of(path, node))
    cases, result, reason = plain["cases"], plain["result"], plain["reason"]
    if not isinstance(cases, list) or not cases or not all(isinstance(each, str) and each for each in cases):
        raise _unusable_list(path, "`cases` is no list of names or patterns", _place_of(path, node.value["cases"]))
    if result not in RESULTS:
        why = f"`result` is {safe_text(result, 60)!r}, and not one of {', '.join(RESULTS)}"
        raise _unusable_list(path, why, _place_of(path, node.value["result"]))
    if not isinstance(reason, str) or not reason.strip():
        raise _unusable_list(path, "`reason` is no text", _place_of(path, node.value["reason"]))
    return Expectation(tuple(cases), result, " ".join(reason.split()), node.line)


def compare_expectations(
    expectations: Iterable[Expectation], results: Sequence[Result], file: str
) -> ExpectationReport:
    """Compare the results of a run with a list of expected disagreements, and return an ExpectationReport.

    Each entry has names of cases, or patterns for names, and the result that is expected of them. A case with another
    result is a finding T226. If several cases of one pattern have the same unexpected result, only the first of them is
    a finding. Entries that expect "varies" yield no finding, and neither do cases whose result the standard leaves
    open. Names and patterns without a case are listed as unused. Cases that no entry lists are ignored.

    Args:
        expectations: Entries of the list. If several entries list a case, the first one counts.
        results: Results of the run.
        file: Path of the list, for findings.
    """
    by_name = {each.case.name: each for each in results}
    report = ExpectationReport({}, [], [])
    for entry in expectations:
        for pattern in entry.cases:
            names = [*_matching_names(pattern, by_name)]
            if not names:
                report.unused.append(pattern)
            fresh = [name for name in names if name not in report.reasons]
            report.reasons.update(dict.fromkeys(fresh, entry.reason))
            others: dict[str, str] = {}
            for name in fresh:
                if not by_name[name].case.chosen:
                    others.setdefault(by_name[name].result, name)
            others.pop(entry.result, None)
            if entry.result == VARIES:
                continue
            for result, name in others.items():
                message = f"{name} is expected to be {entry.result}, and is {result}"
                better = result in GOOD or result == "refused"
                help = "remove the entry, or this case from it" if better else "state what happens now, and why"
                why = f"the entry says: {entry.reason}"
                report.findings.append(Finding("T226", message, place=f"{file}:{entry.line}", why=why, help=help))
    return report


def _matching_names(pattern: str, known: dict[str, Result]) -> Iterator[str]:
    """Yield the names in `known` that match `pattern`, in their order; upper and lower case differ.

    A pattern with `*`, `?` or `[` matches whole names, as a shell matches file names: "test_relu_v1?_*". Any other
    pattern matches only the equal name.
    """
    if not re.search(r"[*?\[]", pattern):
        yield from [pattern] if pattern in known else []
        return
    matches = re.compile(fnmatch.translate(pattern)).match
    yield from (name for name in known if matches(name))
