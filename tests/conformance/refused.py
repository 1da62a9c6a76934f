"""Writes the page of what is refused, by operator and reason, from the outcomes of the matrix.

    python -m tests.conformance.matrix --json plain.json
    python -m tests.conformance.matrix --bake --json baked.json
    python -m tests.conformance.refused plain.json baked.json > docs/refused.md
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.conformance.matrix import Outcome, ranges

QUOTED = re.compile(r"'[^']*'")
WHY = re.compile(r"^  why +(.*)$", re.MULTILINE)
HEAD = """# What is refused

Every node test case of the standard ({cases:,} models) is converted to each opset from {lowest} to {highest}, and
the result is judged by onnxruntime, or by onnx's evaluator where onnxruntime has no kernel. "Constant" are the same
cases with shapes, axes and sizes as initializers, as exporters write them, where the cases have them as inputs.

| cases | direction | conversions | same | refused | wrong |
|---|---|---|---|---|---|
{totals}

The table below has what is refused of the cases as they are, on the way to older opsets: an operator, the targets, how
many cases and conversions, and the reason. A conversion may have several. The page is written by
`python -m tests.conformance.refused`.

| operator | targets | cases | conversions | code | reason |
|---|---|---|---|---|---|"""


def page(plain: Sequence[Outcome], baked: Sequence[Outcome]) -> Iterator[str]:
    """Yield the lines of the page in Markdown, most refusals first."""
    versions = [o.to[1] for o in plain]
    totals = "\n".join([*total("as they are", plain), *total("constant", baked)])
    cases = len({o.case for o in plain})
    yield HEAD.format(cases=cases, lowest=min(versions), highest=max(versions), totals=totals)
    found: dict[tuple[str, str, str], set[tuple[str, int]]] = defaultdict(set)
    for outcome in plain:
        for code, operator, message in outcome.reasons if outcome.kind == "refused" else ():
            found[operator, code, reason(message)].add((outcome.case, outcome.to[1]))
    for (operator, code, why), places in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        count = len({case for case, _ in places})
        yield f"| {operator} | {ranges(to for _, to in places)} | {count} | {len(places)} | {code} | {why} |"


def total(what: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the rows of the directions."""
    for direction in ("down", "up"):
        rows = [o for o in outcomes if o.direction == direction]
        same, refused, wrong = (sum(o.kind == kind for o in rows) for kind in ("same", "refused", "wrong"))
        if rows:
            share = 100 * same / len(rows)
            yield f"| {what} | {direction} | {len(rows):,} | {same:,} ({share:.1f} %) | {refused:,} | {wrong:,} |"


def reason(message: str) -> str:
    """Return why something is refused, without the names of one model."""
    why = WHY.search(message)
    return QUOTED.sub("'…'", why.group(1) if why else message.split("\n")[0]).replace("|", "\\|")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the page; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.refused", description=about)
    parser.add_argument("plain", type=Path, help="what the matrix wrote with --json")
    parser.add_argument("baked", type=Path, help="and with --bake --json")
    options = parser.parse_args(arguments)
    read = [[Outcome(**{**each, "to": tuple(each["to"])}) for each in json.loads(path.read_text())]
            for path in (options.plain, options.baked)]  # fmt: skip
    print("\n".join(page(*read)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
