"""Writes the list of named disagreements with onnxruntime from a report, with the reasons of corpus_reasons.

    opset testgen --all --every-version -o corpus
    opset conformance corpus --runtime onnxruntime -j 2 -o report
    python -m judges disagreements report/conformance.json

Reasons are decided there alone. A disagreement without one is printed, and the exit status is then 1.
"""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from judges.conformance.corpus_reasons import reason_for
from opset.workflow.conformance.expectations import VARIES
from opset.workflow.conformance.results import BAD

FILE = Path(__file__).with_name("disagreements.yaml")
UNSET = "unset"
"""What the reason says where a runtime returns memory that nothing set: the result is another one from run to run."""
HEAD = """# Cases of the conformance corpus with which runtimes are known to disagree, for `opset conformance --expect`.
# Made by: python -m judges disagreements report/conformance.json
"""


def named(cases: Iterable[Mapping[str, Any]], runtime: str) -> tuple[dict[tuple[str, str], list[str]], list[str]]:
    """Return the names of cases by result and reason, and those for which no reason is known."""
    found: dict[tuple[str, str], list[str]] = {}
    unknown = []
    for case in cases:
        if "chosen" in case:  # which fails no run
            continue
        reason = reason_for(runtime, case["name"], case.get("why", ""))
        if UNSET in reason and case["result"] in (*BAD, "pass"):  # what is read from such memory may be right
            found.setdefault((reason, VARIES), []).append(case["name"])
        elif case["result"] in BAD and reason:
            found.setdefault((reason, case["result"]), []).append(case["name"])
        elif case["result"] in BAD:
            unknown.append(f"{case['name']} {case['result']}: {case.get('why', '')}")
    return found, unknown


def text_of(runtime: str, found: Mapping[tuple[str, str], Sequence[str]]) -> str:
    """Return the list of a runtime as YAML."""
    lines = [f"{runtime}:"]
    for (reason, result), names in sorted(found.items()):
        lines += ["- cases:", *(f"  - {name}" for name in sorted(names)), f"  result: {result}"]
        lines += textwrap.wrap(
            f"reason: {json.dumps(reason, ensure_ascii=False)}", 116, initial_indent="  ", subsequent_indent="    "
        )
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the list; return the exit status."""
    parser = argparse.ArgumentParser(prog="judges disagreements", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("report", type=Path, help="the JSON of a report of opset conformance")
    data = json.loads(parser.parse_args(arguments).report.read_text(encoding="utf-8"))
    runtime = data["runtime"]["name"]
    found, unknown = named(data["cases"], runtime)
    FILE.write_text(HEAD + text_of(runtime, found), encoding="utf-8")
    print(f"{sum(map(len, found.values())):,} cases in {len(found)} entries; {len(unknown):,} without a reason")
    print(*unknown, sep="\n")
    return 1 if unknown else 0
